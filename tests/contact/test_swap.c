// SPDX-License-Identifier: Apache-2.0
// One body in one scene, as it may be represented: full order, reduced with all modes and with few, rigid. What the
// floor bears over time is the same, at a stated stiffness of contact points.
#include "frames.h"

#include "contact/contact.h"

// A block of 0.5 kg falls by 2 mm, bounces, slides to rest and stays. Its mesh has four nodes below, at the corners
// where a rigid box has its points, so that all have the same springs; it is low and wide, so that friction does not
// tip it, and so stiff that it deforms by a thousandth of what the springs do (E A / L = 1e9 0.01 / 0.05 N/m, 4 k =
// 2e5).
#define STEPS 200
#define HEAD                                                                                                           \
    "tendril: 1\ntime_step: 1 ms\nsteps: 10\ngravity: [0, 0, -9.81]\n"                                                 \
    "contact: {friction: 0.2, stiffness: 5e4 N/m, dissipation: 1 ms}\nbodies:\n"
#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define SOFT                                                                                                           \
    HEAD "  - {name: block, mesh: {box: [[-0.05, -0.05, 0.002], [0.05, 0.05, 0.052]], cells: [1, 1, 2]}, velocity: "   \
         "[0.1, "                                                                                                      \
         "0.05, 0], material: {law: corotational_lagged, young: 1 GPa, poisson: 0.3, density: 1000 kg/m^3}}\n" FLOOR
#define RIGID                                                                                                          \
    HEAD "  - {name: block, type: rigid, shape: {box: [0.1, 0.1, 0.05]}, total_mass: 0.5, velocity: [0.1, 0.05, 0], "  \
         "transform: {translate: [0, 0, 0.027]}}\n" FLOOR
#define WEIGHT (0.5 * 9.81)

typedef double History[STEPS][3];

static void run(tdModel *model, History out)
{
    tdState *state = scene_state(model);
    for (int k = 0; k < STEPS; k++)
    {
        scene_steps(model, state, 1);
        td_state_contact_force(state, 1, 0, out[k]);
    }
    scene_free(model, state);
}

// Sum of differences over sum of forces: impulses that are at another time count twice.
static double apart(History a, History b)
{
    double off = 0, size = 0;
    for (int k = 0; k < STEPS; k++)
        for (int c = 0; c < 3; c++)
        {
            off += fabs(a[k][c] - b[k][c]);
            size += fabs(a[k][c]);
        }
    return off / size;
}

static void test_swap(void **unused)
{
    (void)unused;
    static History full, all, few, rigid;
    tdModel *model = scene_parse(SOFT);
    tdRom rom_all = frame_rom(model, 0, 1), rom_few = frame_rom(model, 3, 1);
    run(rom_model(SOFT, &rom_all, true), all);
    run(rom_model(SOFT, &rom_few, true), few);
    run(model, full);
    run(scene_parse(RIGID), rigid);
    double most = 0, slid = 0;
    for (int k = 0; k < STEPS; k++)
    {
        most = fmax(most, full[k][2]);
        slid = fmax(slid, fabs(full[k][0]));
    }
    assert_true(most > 5 * WEIGHT && slid > 0.1 * WEIGHT); // it did fall, and slide
    assert_near(full[STEPS - 1][2], WEIGHT, 0.01 * WEIGHT);
    double d_all = apart(full, all), d_few = apart(full, few), d_rigid = apart(full, rigid);
    print_message("apart from full order: all modes %.2e, few %.2e, rigid %.2e\n", d_all, d_few, d_rigid);
    // The same equations in other coordinates: what is left are the tolerances of the two solvers (1e-6 each step).
    assert_true(d_all < 1e-5);
    // Shapes that are left out are a thousandth of the motion, and of the stiffness that the floor sees.
    assert_true(d_few < 1e-3);
    // The same, and another inertia: mass at nodes against mass throughout, which friction makes rock.
    assert_true(d_rigid < 5e-3);
    td_rom_free(&rom_all);
    td_rom_free(&rom_few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_swap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
