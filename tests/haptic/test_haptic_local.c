// SPDX-License-Identifier: Apache-2.0
// The local model: what it says of the next motion of the hand is what a step would have come to.
#include "../seam/mass.h"
#include "felt.h"
#include "reduced.h"

#include "core/rotation.h"

#define COLUMN(law, nu, density)                                                                                       \
    "  - name: column\n"                                                                                               \
    "    mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [2, 2, 2]}\n"                                      \
    "    material: {law: " law ", young: 10 kPa, poisson: " nu ", density: " density " kg/m^3}\n"                      \
    "    fixed: [{box: [[-1, -1, -0.001], [1, 1, 0.001]]}]\n"
#define PLATE                                                                                                          \
    "  - {name: plate, type: rigid, shape: {box: [0.3, 0.3, 0.02]}, guided: true, transform: {translate: [0, 0, "      \
    "0.11]}}\n"

// ---------------------------------------------------------------- closed form

// A column of Poisson's ratio 0 under a plate: E A d / L, in the step, in the local model where the tool is, and where
// the hand has gone on since. Whatever the time step.
static void test_column(void **unused)
{
    (void)unused;
    static const char *const steps[] = {"2 ms", "10 ms", "40 ms"};
    for (int i = 0; i < 3; i++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ngravity: [0, 0, 0]\ntime_step: %s\nsteps: 10\n"
            "integrator: {method: backward_euler}\n"
            "contact: {friction: 0, margin: 5 mm, softness: 0.1}\nbodies:\n" PLATE COLUMN("linear", "0", "1"),
            steps[i]);
        touched *t = touched_create(model, 0, RIGID_COUPLING);
        const double down[6] = {0, 0, -4e-3};
        double stiffness = 1e4 * 0.01 / 0.1;
        touched_place(t, down);
        touched_steps(t, 60);
        assert_true(t->local.n == 9 && t->local.left_out == 0);
        tdFelt felt = touched_at(t, 0, 0, 0, 0);
        assert_near(felt.force[2], 4e-3 * stiffness, 1e-2 * 4e-3 * stiffness);
        assert_near(felt.force[2], t->local.force[2], 1e-9 * felt.force[2]);
        assert_near(felt.force[0], 0, 1e-9 * felt.force[2]);
        assert_near(felt.torque[0], 0, 1e-6 * felt.force[2]);
        // A millimetre farther, and back beyond where it lets go.
        felt = touched_at(t, 0, 0, -1e-3, 0);
        assert_near(felt.force[2], 5e-3 * stiffness, 2e-2 * 5e-3 * stiffness);
        felt = touched_at(t, 0, 0, 4.5e-3, 0);
        assert_near(felt.force[2], 0, 0);
        assert_int_equal(felt.active, 0);
        touched_free(t);
    }
}

// A coupling of 500 N/m before a column of 1,000 N/m: the tool stays behind the device, and so does the force.
static void test_coupling(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 10\n"
                                 "integrator: {method: backward_euler}\ncontact: {friction: 0, margin: 5 mm}\n"
                                 "bodies:\n" PLATE COLUMN("linear", "0", "1"));
    touched *t = touched_create(model, 0, (tdCoupling){.stiffness = 500, .angular_stiffness = INFINITY});
    double q[6] = {0};
    tdFelt felt = {0};
    for (int k = 0; k < 30; k++)
    {
        // The device is held 6 mm down; the simulation's tool goes where the loop says that it is.
        touched_steps(t, 1);
        felt = touched_at(t, 0, 0, -6e-3 - q[2], 0);
        q[2] = felt.tool.t[2] - 0.11;
        touched_place(t, q);
    }
    double expected = 6e-3 / (1. / 500 + 1. / 1000);
    assert_near(felt.force[2], expected, 1e-2 * expected);
    assert_near(q[2], -expected / 1000, 1e-2 * expected / 1000);
    touched_free(t);
}

// ---------------------------------------------------------------- against steps

// A step from the same state with the tool somewhere else comes to what the local model said.
static void check_prediction(tdModel *model, int tool, int steps, const double q[6], const double way[3],
                             double tolerance)
{
    touched *t = touched_create(model, tool, RIGID_COUPLING);
    tdKeptState *kept = NULL;
    tdError error = {0};
    double there[6];
    touched_place(t, q);
    touched_steps(t, steps - 1);
    assert_ok(td_state_keep(model, t->state, &kept, &error), error);
    touched_steps(t, 1);
    assert_true(t->local.n > 0);
    tdFelt here = touched_at(t, 0, 0, 0, 0), felt = touched_at(t, way[0], way[1], way[2], 0);
    memcpy(there, q, sizeof there);
    for (int k = 0; k < 3; k++)
        there[k] += way[k];
    assert_ok(td_state_go_back(model, t->state, kept, &error), error);
    touched_place(t, there);
    touched_steps(t, 1);
    double change = 0, off = 0;
    for (int k = 0; k < 3; k++)
    {
        change = fmax(change, fabs(t->local.force[k] - here.force[k]));
        off = fmax(off, fabs(t->local.force[k] - felt.force[k]));
    }
    assert_true(change > 0.02 * fabs(here.force[2]));
    if (!(off <= tolerance * change))
        fail_msg("force [%g %g %g], after the way [%g %g %g], a step says [%g %g %g]", here.force[0], here.force[1],
                 here.force[2], felt.force[0], felt.force[1], felt.force[2], t->local.force[0], t->local.force[1],
                 t->local.force[2]);
    td_kept_state_free(kept);
    touched_free(t);
}

#define HEAD "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 10\nintegrator: {method: backward_euler}\n"
#define BALL                                                                                                           \
    "  - {name: ball, type: rigid, shape: {sphere: 0.06}, guided: true, transform: {translate: [0.013, 0.011, "        \
    "0.1605]}}\n"

static const double down[6] = {0, 0, -6e-3}, push[3] = {0, 0, -3e-4}, drag[3] = {2e-4, 1e-4, -1e-4};

// A full-order body of a law that is linear within a step.
static void test_soft(void **unused)
{
    (void)unused;
    check_prediction(scene_model(HEAD "contact: {friction: 0, margin: 5 mm, points: 2}\nbodies:\n" BALL COLUMN(
                         "corotational_lagged", "0.4", "1000")),
                     0, 20, down, push, 0.02);
}

// With friction, where it sticks.
static void test_sticking(void **unused)
{
    (void)unused;
    check_prediction(
        scene_model(HEAD "contact: {friction: 2, margin: 5 mm, points: 2, solver: nlcp}\nbodies:\n" BALL COLUMN(
            "corotational_lagged", "0.4", "1000")),
        0, 20, down, drag, 0.05);
}

// A block that lies on a floor: without the floor's contacts it would give way like something that falls.
static void test_on_floor(void **unused)
{
    (void)unused;
    check_prediction(
        scene_model(HEAD
                    "contact: {friction: 0.5, margin: 5 mm, points: 2}\nbodies:\n" BALL
                    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true, transform: {translate: [0, 0, "
                    "-0.0001]}}\n"
                    "  - name: block\n"
                    "    mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [2, 2, 2]}\n"
                    "    material: {law: corotational_lagged, young: 10 kPa, poisson: 0.3, density: 1000 kg/m^3}\n"),
        0, 40, (const double[6]){0, 0, -10e-3}, push, 0.05);
}

// ---------------------------------------------------------------- attached

#define GLUED "attachments: [{name: glue, a: column, group: zmax, b: plate%s}]\n"

// A plate that is glued onto a column: E A d / L, pulled and pushed, in the step, where the tool is and farther. The
// glue gives way by itself where it is soft: 4 springs of 500 N/m before 1,000 N/m.
static void test_glued(void **unused)
{
    (void)unused;
    for (int i = 0; i < 4; i++)
    {
        double sign = i % 2 == 0 ? 1 : -1, stiffness = i < 2 ? 1000 : 1 / (1. / 1000 + 1. / 2000);
        touched *t = touched_create(
            scene_model(
                "tendril: 1\ngravity: [0, 0, 0]\ntime_step: 40 ms\nsteps: 10\nintegrator: {method: "
                "backward_euler}\ncontact: {}\nbodies:\n" PLATE "  - name: column\n"
                "    mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [1, 1, 1], elements: hexahedra}\n"
                "    material: {law: linear, young: 10 kPa, poisson: 0, density: 1}\n"
                "    fixed: [{group: zmin}]\n" GLUED,
                i < 2 ? "" : ", stiffness: 500 N/m"),
            0, RIGID_COUPLING);
        touched_place(t, (const double[6]){0, 0, sign * 4e-3});
        touched_steps(t, 200);
        assert_int_equal(t->local.n, 2);
        tdFelt felt = touched_at(t, 0, 0, 0, 0);
        double force = -sign * 4e-3 * stiffness;
        assert_near(felt.force[2], force, 1e-2 * fabs(force));
        assert_near(felt.force[2], t->local.force[2], 1e-9 * fabs(force));
        assert_near(felt.force[0], 0, 1e-6 * fabs(force));
        assert_true(felt.converged && felt.sweeps <= 3);
        felt = touched_at(t, 0, 0, sign * 1e-3, 0);
        assert_near(felt.force[2], 1.25 * force, 2e-2 * fabs(force));
        felt = touched_at(t, 0, 0, -sign * 8e-3, 0); // the other way round: it holds, and does not let go
        assert_near(felt.force[2], -force, 3e-2 * fabs(force));
        touched_free(t);
    }
}

// A step from the same state with the tool moved and turned comes to the force and torque that the local model said.
static void check_turn(tdModel *model, int tool, int n, const double way[6], double tolerance)
{
    touched *t = touched_create(model, tool, RIGID_COUPLING);
    tdKeptState *kept = NULL;
    tdError error = {0};
    const double start[6] = {0, 0, -2e-3, 0.05, 0, 0};
    double there[6], turn[4], worst = 0, change = 0;
    touched_place(t, start);
    touched_steps(t, 60);
    assert_ok(td_state_keep(model, t->state, &kept, &error), error);
    touched_steps(t, 1);
    assert_int_equal(t->local.n, n);
    tdPose device = t->local.tool, by = {.t = {0, 0, 0}};
    tdFelt here, felt;
    td_feel(&t->feel, &t->coupling, &device, t->local.clock, &here);
    td_rotation_from_vector(way + 3, turn);
    td_rotation_matrix(turn, by.R);
    device = td_pose_multiply(&by, &t->local.tool);
    for (int k = 0; k < 3; k++)
        device.t[k] = t->local.tool.t[k] + way[k];
    td_feel(&t->feel, &t->coupling, &device, t->local.clock, &felt);
    assert_ok(td_state_go_back(model, t->state, kept, &error), error);
    for (int k = 0; k < 6; k++)
        there[k] = start[k] + way[k];
    touched_place(t, there);
    touched_steps(t, 1);
    for (int k = 0; k < 6; k++)
    {
        double size = k < 3 ? 1 : 0.05, now = k < 3 ? here.force[k] : here.torque[k - 3] / size;
        double said = k < 3 ? felt.force[k] : felt.torque[k - 3] / size;
        double came = k < 3 ? t->local.force[k] : t->local.torque[k - 3] / size;
        change = fmax(change, fabs(came - now));
        worst = fmax(worst, fabs(came - said));
    }
    print_message("%d rows: changes by %.4f N, off by %.4f N\n", 3 * n, change, worst);
    assert_true(change > 0.05);
    assert_true(worst < tolerance * change);
    td_kept_state_free(kept);
    touched_free(t);
}

// Glued by a face, by one point, by two; and glued to one body while it presses another.
static void test_glued_turns(void **unused)
{
    (void)unused;
    static const double ways[][6] = {{3e-4, 1e-4, -2e-4, 2e-3, 3e-3, 2e-3}, {3e-4, 1e-4, -2e-4, 2e-3, 0, 0}};
    static const char *const points[] = {"group: zmax", "points: [[0.05, 0.05, 0.1]]",
                                         "points: [[0.05, 0.05, 0.1], [-0.05, 0.05, 0.1]]"};
    for (int i = 0; i < 6; i++)
        check_turn(scene_model(HEAD "contact: {friction: 0.3, margin: 5 mm}\nbodies:\n" PLATE COLUMN(
                                   "corotational_lagged", "0.4", "1000") "attachments: [{name: glue, a: column, %s, b: "
                                                                         "plate}]\n",
                               points[i / 2]),
                   0, 2, ways[i % 2], 0.05);
    static const double press[6] = {1e-4, 0, -3e-4, 0, 0, 0};
    check_turn(scene_model(HEAD "contact: {friction: 2, margin: 2 mm, solver: nlcp}\nbodies:\n" PLATE COLUMN(
                   "corotational_lagged", "0.4",
                   "1000") "  - name: other\n    mesh: {box: [[0.07, -0.02, 0], [0.14, 0.02, 0.1]], cells: [2, 2, 2]}\n"
                           "    material: {law: corotational_lagged, young: 10 kPa, poisson: 0.3, density: 1000}\n"
                           "    fixed: [{group: zmin}]\n"
                           "attachments: [{name: glue, a: column, group: zmax, b: plate}]\n"),
               0, 6, press, 0.08);
}

// Reduced bodies, by elements and by polynomials.
static void test_reduced(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        HEAD "contact: {friction: 0, margin: 5 mm, points: 2}\nbodies:\n" COLUMN("corotational", "0.4", "1000") BALL,
        HEAD "contact: {friction: 0, margin: 5 mm, points: 2}\nbodies:\n" COLUMN("stvk", "0.4", "1000") BALL};
    for (int i = 0; i < 2; i++)
    {
        tdModel *full = scene_parse(texts[i]);
        tdRom rom = rom_of(full, 0, 1);
        if (i == 1)
            rom_polynomials(full, &rom);
        check_prediction(rom_model(texts[i], &rom, false), 1, 20, down, push, 0.05);
        td_rom_free(&rom);
        td_model_free(full);
    }
}

// ---------------------------------------------------------------- a kind of body that the library does not know

static tdStatus add_mass(void *context, tdScene *scene, tdError *error)
{
    (void)context;
    (void)error;
    scene->bodies[1].compiler = mass_compile;
    return TD_OK;
}

// A mass on a spring, held by a stamp: C = h^2 / (m + h^2 k) of backward Euler; and without a tool in its way the
// surface moves on by itself.
static void test_mass(void **unused)
{
    (void)unused;
    static const char text[] =
        "tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 10\nintegrator: {method: backward_euler}\n"
        "contact: {friction: 0, margin: 20 mm}\nbodies:\n"
        "  - {name: stamp, type: rigid, shape: {sphere: 0.05}, guided: true, transform: {translate: [0, 0, 0.11]}}\n"
        "  - {name: mass, type: rigid, shape: {sphere: 0.05}, total_mass: 0.1, velocity: [0, 0, 0.1]}\n";
    tdModel *model = NULL;
    tdError error = {0};
    assert_ok(td_model_parse_edited(text, strlen(text), "mass.yaml", NULL, NULL, add_mass, NULL, &model, &error),
              error);
    touched *t = touched_create(model, 0, RIGID_COUPLING);
    // Below the stamp by 10 mm, moving up at 0.1 m/s: seen before it touches, and felt as it would come.
    touched_steps(t, 2);
    assert_int_equal(t->local.n, 1);
    double h = 0.01, k = MASS_STIFFNESS, m = 0.1, soft = h * h / (m + h * h * k);
    assert_near(t->local.contact[0].rate[2], -t->state->v[8], 1e-9);
    double gap = 0.01 - t->state->q[8];
    assert_near(t->local.contact[0].b[2], gap, 1e-7);
    tdFelt felt = touched_at(t, 0, 0, -gap - 1e-3, 0);
    assert_near(felt.force[2], 1e-3 / soft, 0.02 * 1e-3 / soft);
    felt = touched_at(t, 0, 0, -gap, 0.5 * h); // it comes on at its speed
    assert_near(felt.force[2], 0.5 * h * t->state->v[8] / soft, 0.02 * 0.5 * h * t->state->v[8] / soft);
    // Pressed and at rest: nothing moves by itself, and the force is that of the spring.
    touched_place(t, (const double[6]){0, 0, -30e-3});
    touched_steps(t, 200);
    assert_near(t->local.force[2], k * 20e-3, 0.01 * k * 20e-3);
    assert_near(t->local.contact[0].rate[2], 0, 1e-6);
    touched_free(t);
}

// ---------------------------------------------------------------- age, bad poses

static void test_age(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 10\n"
                                 "integrator: {method: backward_euler}\ncontact: {friction: 0, margin: 5 mm}\n"
                                 "bodies:\n" PLATE COLUMN("linear", "0", "1"));
    touched *t = touched_create(model, 0, RIGID_COUPLING);
    tdFelt nothing = touched_at(t, 0, 0, 0, 0);
    assert_near(nothing.force[2], 0, 0);
    touched_place(t, (const double[6]){0, 0, -4e-3});
    touched_steps(t, 60);
    double full = touched_at(t, 0, 0, 0, 0).force[2];
    assert_near(touched_at(t, 0, 0, 0, 0.04).force[2], full, 1e-3 * full); // four steps are not late
    assert_near(touched_at(t, 0, 0, 0, 0.09).force[2], 0.5 * full, 1e-3 * full);
    assert_near(touched_at(t, 0, 0, 0, 0.14).force[2], 0, 1e-12);
    assert_near(touched_at(t, 0, 0, 0, 100).force[2], 0, 0);
    tdFelt felt = touched_at(t, NAN, 0, -1e-3, 0);
    assert_true(felt.force[2] == 0 && felt.fade == 0 && isfinite(felt.tool.t[0]));
    felt = touched_at(t, 0, INFINITY, -1e-3, 0);
    assert_true(felt.force[2] == 0 && isfinite(felt.tool.t[1]));
    touched_free(t);
}

static void test_refusals(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n" PLATE COLUMN("linear", "0", "1"));
    tdLocalMaker *maker = NULL;
    tdError error = {0};
    const tdCoupling coupling = RIGID_COUPLING;
    assert_int_equal(td_local_create(model, 1, &coupling, &maker, &error), TD_ERROR_USAGE);
    assert_non_null(strstr(error.message, "guided"));
    assert_int_equal(td_local_create(model, 0, &coupling, &maker, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "contact"));
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_column),   cmocka_unit_test(test_coupling),    cmocka_unit_test(test_soft),
        cmocka_unit_test(test_sticking), cmocka_unit_test(test_on_floor),    cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_mass),     cmocka_unit_test(test_age),         cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_glued),    cmocka_unit_test(test_glued_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
