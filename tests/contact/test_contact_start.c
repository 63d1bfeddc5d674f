// SPDX-License-Identifier: Apache-2.0
// Bodies that start inside others come out of them without a launch.
#include "rigid.h"

#include "base/vector.h"
#include "contact/contact.h"

#define G 9.81

static double kinetic_of(const tdModel *model, tdState *state)
{
    double kinetic = 0;
    td_state_energy(model, state, &kinetic, NULL);
    return kinetic;
}

// A box of 0.2 m that starts 8 cm in the floor, at steps from 0.5 to 20 ms: it rises no higher than it is to lie, never
// faster than sqrt(g depth), and lies on the floor at rest in the end.
static void test_box(void **unused)
{
    (void)unused;
    static const double steps[] = {0.5, 2, 5, 20};
    for (int i = 0; i < 4; i++)
    {
        tdModel *model =
            scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: %g ms\nsteps: 1\ncontact: {}\nbodies:\n"
                        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                        "  - {name: box, type: rigid, shape: {box: [0.2, 0.2, 0.2]}, total_mass: 3, "
                        "transform: {rotate: [3 deg, 2 deg, 0 deg], translate: [0, 0, 0.02]}}\n",
                        steps[i]);
        tdState *state = scene_state(model);
        double highest = 0, most = 0;
        for (int k = 0; k < 6000 / steps[i]; k++) // what lags behind is waited for: longest at large steps
        {
            scene_steps(model, state, 1);
            highest = fmax(highest, state->q[2]);
            most = fmax(most, kinetic_of(model, state));
            assert_int_equal(state->report.doubts & TD_DOUBT_EJECTION, 0);
        }
        print_message("%g ms: rises to %.1f mm, %.2g J at most\n", steps[i], 1e3 * highest, most);
        assert_true(highest < 0.1 + 0.008); // its corners are 7 mm lower as long as it is tilted
        assert_true(most < 0.5 * 3 * G * 0.08);
        assert_near(state->q[2], 0.1, 5e-4);
        assert_near(kinetic_of(model, state), 0, 1e-6);
        scene_free(model, state);
    }
}

#define LINKS "5"
// A chain that lies 3 cm deep in the floor, free at both ends.
static void test_chain(void **unused)
{
    (void)unused;
    sceneText urdf = {0};
    scene_add(&urdf, "<robot name=\"r\">");
    for (int l = 0; l < 5; l++)
        scene_add(
            &urdf,
            "<link name=\"l%d\"><inertial><origin xyz=\"0.1 0 0\"/><mass value=\"1\"/><inertia ixx=\"1e-3\" ixy=\"0\" "
            "ixz=\"0\" iyy=\"4e-3\" iyz=\"0\" izz=\"4e-3\"/></inertial><collision><origin xyz=\"0.1 0 0\" rpy=\"0 "
            "1.5708 0\"/><geometry><capsule radius=\"0.04\" length=\"0.16\"/></geometry></collision></link>",
            l);
    for (int l = 1; l < 5; l++)
        scene_add(
            &urdf,
            "<joint name=\"j%d\" type=\"continuous\"><parent link=\"l%d\"/><child link=\"l%d\"/><origin xyz=\"0.2 0 "
            "0\"/><axis xyz=\"0 1 0\"/></joint>",
            l, l - 1, l);
    scene_add(&urdf, "</robot>");
    tdModel *model = robot_model(urdf.text, "gravity: [0, 0, -9.81]\ntime_step: 2 ms\nsteps: 1\ncontact: {}",
                                 "base: free, transform: {translate: [0, 0, 0.01]}",
                                 "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n");
    tdState *state = robot_state(model);
    double most = 0;
    for (int k = 0; k < 1500; k++)
    {
        robot_steps(model, state, 1);
        most = fmax(most, kinetic_of(model, state));
    }
    robotSums sums = robot_sums(model, state, 0);
    print_message("%.2g J at most, lies at %.1f mm\n", most, 1e3 * sums.center[2]);
    assert_true(most < 0.5 * 5 * G * 0.03); // lifted by 3 cm, not thrown
    assert_near(sums.center[2], 0.04, 2e-3);
    assert_true(kinetic_of(model, state) < 1e-3);
    scene_free(model, state);
}

// What starts deep bears what rests on it meanwhile, and a checkpoint on the way goes on to the bit.
static void test_load_and_checkpoint(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_parse("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 2 ms\nsteps: 1\ncontact: {}\nbodies:\n"
                    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                    "  - {name: low, type: rigid, shape: {box: [0.2, 0.2, 0.2]}, total_mass: 3, transform: "
                    "{translate: [0, 0, 0.04]}}\n"
                    "  - {name: top, type: rigid, shape: {box: [0.2, 0.2, 0.2]}, total_mass: 3, transform: "
                    "{translate: [0, 0, 0.24]}}\n");
    tdState *state = scene_state(model), *other = scene_state(model);
    double apart = 1, force[3];
    for (int k = 0; k < 1000; k++)
    {
        scene_steps(model, state, 1);
        apart = fmin(apart, state->q[8] - state->q[2]);
        if (k == 100)
        {
            char path[] = "/tmp/tendril_start_XXXXXX";
            tdError error = {0};
            close(mkstemp(path));
            assert_ok(td_state_save(model, state, path, &error), error);
            assert_ok(td_state_load(model, other, path, &error), error);
            unlink(path);
        }
        if (k > 100)
            scene_steps(model, other, 1);
    }
    assert_true(apart > 0.199);
    td_state_contact_force(state, 0, 1, force);
    assert_near(force[2], 6 * G, 0.1);
    assert_near(state->q[2], 0.1, 1e-3);
    assert_true(td_state_hash(model, state) == td_state_hash(model, other));
    td_state_free(other);
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_box), cmocka_unit_test(test_chain),
                                       cmocka_unit_test(test_load_and_checkpoint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
