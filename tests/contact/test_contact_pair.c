// SPDX-License-Identifier: Apache-2.0
// What two bodies make of their own coefficients, and rows beside contacts: held nodes that push, servos, limits.
#include "rigid.h"

#include "contact/contact.h"

#define G              9.81
#define HEAD           "tendril: 1\ntime_step: 1 ms\nsteps: 10\n"
#define FLOOR_OF(keys) "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true, contact: {" keys "}}\n"
#define BLOCK_OF(keys, z)                                                                                              \
    "  - {name: block, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, " z    \
    "]}, contact: {" keys "}}\n"

// Harmonic mean of the coefficients, whichever body has which.
static void test_friction(void **unused)
{
    (void)unused;
    const char *const bodies[] = {FLOOR_OF("friction: 0.9") BLOCK_OF("friction: 0.3", "0.05"),
                                  FLOOR_OF("friction: 0.3") BLOCK_OF("friction: 0.9", "0.05"),
                                  FLOOR_OF("friction: 0") BLOCK_OF("friction: 0.9", "0.05")};
    for (int i = 0; i < 3; i++)
    {
        tdModel *model = scene_model(HEAD "gravity: [4.905, 0, -9.81]\ncontact: {}\nbodies:\n%s", bodies[i]);
        tdState *state = scene_state(model);
        scene_steps(model, state, 50);
        double before = state->v[0], expected = (0.5 - (i < 2 ? 0.45 : 0)) * G * 0.2;
        scene_steps(model, state, 200);
        assert_near(state->v[0] - before, expected, 0.02 * expected);
        scene_free(model, state);
    }
}

// The softer of two stiffnesses.
static void test_stiffness(void **unused)
{
    (void)unused;
    const char *const bodies[] = {
        FLOOR_OF("stiffness: 10 kN/m, dissipation: 10 ms") BLOCK_OF("stiffness: 40 kN/m", "0.05"),
        FLOOR_OF("stiffness: 40 kN/m, dissipation: 10 ms") BLOCK_OF("stiffness: 10 kN/m", "0.05")};
    for (int i = 0; i < 2; i++)
    {
        tdModel *model = scene_model(HEAD "gravity: [0, 0, -9.81]\ncontact: {}\nbodies:\n%s", bodies[i]);
        tdState *state = scene_state(model);
        scene_steps(model, state, 1000);
        assert_near(0.05 - state->q[2], G / 4e4, 0.01 * G / 4e4);
        scene_free(model, state);
    }
}

// The slower of two dissipations: a block that starts 1 mm deep leaves at depth / (h + tau).
static void test_dissipation(void **unused)
{
    (void)unused;
    const char *const bodies[] = {FLOOR_OF("dissipation: 5 ms") BLOCK_OF("dissipation: 50 ms", "0.049"),
                                  FLOOR_OF("dissipation: 50 ms") BLOCK_OF("dissipation: 5 ms", "0.049")};
    for (int i = 0; i < 2; i++)
    {
        tdModel *model = scene_model(HEAD "gravity: [0, 0, 0]\ncontact: {stiffness: 1e9}\nbodies:\n%s", bodies[i]);
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        assert_near(state->v[2], 1e-3 / 51e-3, 0.05 * 1e-3 / 51e-3);
        scene_free(model, state);
    }
}

// A soft pusher, all of it moved by hand at 0.5 m/s: what is before it goes with it in the same step.
static void test_held_push(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, 0]\ncontact: {friction: 0}\nbodies:\n"
                    "  - name: pusher\n    mesh: {box: [[-0.1, -0.05, -0.05], [0, 0.05, 0.05]], cells: [1, 2, 2]}\n"
                    "    material: {law: corotational_lagged, young: 1 MPa, poisson: 0.3, density: 1000}\n"
                    "    prescribed: [{name: way, box: [[-1, -1, -1], [1, 1, 1]], displacement: [1, 0, 0]}]\n"
                    "  - {name: cube, type: rigid, shape: {box: [0.1, 0.08, 0.08]}, total_mass: 1, transform: "
                    "{translate: [0.06, 0, "
                    "0]}}\nmotion: {keyframes: [{t: 0, way: 0}, {t: 10, way: 5}]}\n");
    tdState *state = scene_state(model);
    for (int k = 1; k <= 40; k++)
    {
        scene_steps(model, state, 1);
        double face = 0.5 * 5e-3 * k, gap = state->q[model->bodies[1].first] - 0.05 - face;
        assert_true(gap > -1e-4); // 0.5 m/s are 2.5 mm a step
        if (k > 10)
            assert_near(state->v[model->bodies[1].first], 0.5, 0.02);
    }
    scene_free(model, state);
}

// ---------------------------------------------------------------- joints that leave their limits to contact

#define SLIDER(limits)                                                                                                 \
    "<robot name=\"r\"><link name=\"base\"/><link name=\"car\"><inertial><mass value=\"2\"/><inertia ixx=\"0.01\" "    \
    "iyy=\"0.01\" izz=\"0.01\"/></inertial><collision><geometry><box size=\"0.1 0.1 0.1\"/></geometry></collision>"    \
    "</link><joint name=\"j\" type=\"prismatic\"><parent link=\"base\"/><child link=\"car\"/><axis xyz=\"1 0 0\"/>"    \
    "<limit " limits "/></joint></robot>"

// Full effort both ways: a servo of 30 N on 2 kg.
static void test_servo_limits(void **unused)
{
    (void)unused;
    for (int up = 0; up < 2; up++)
    {
        tdModel *model = robot_model(SLIDER("lower=\"-9\" upper=\"9\" effort=\"30\" velocity=\"9\""),
                                     "gravity: [0, 0, 0]\ntime_step: 1 ms\nsteps: 1\ncontact: {}", "",
                                     up ? "actuators: [{name: m, type: joint, body: r, joint: j, drive: position, "
                                          "stiffness: 1e4, damping: 10}]\n"
                                          "motion: {keyframes: [{t: 0, m: 5}]}"
                                        : "actuators: [{name: m, type: joint, body: r, joint: j, drive: position, "
                                          "stiffness: 1e4, damping: 10}]\n"
                                          "motion: {keyframes: [{t: 0, m: -5}]}");
        tdState *state = robot_state(model);
        robot_steps(model, state, 100);
        assert_near(state->v[0], (up ? 1 : -1) * 15 * 0.1, 1e-6);
        td_state_free(state);
        td_model_free(model);
    }
}

// A car that runs against its upper limit goes where one that runs against its lower limit goes, on the other side.
// With contact limits are rows of its problem, without they are forces of the joint.
static void test_limits_alike(void **unused)
{
    (void)unused;
    for (int contact = 0; contact < 2; contact++)
    {
        tdState *state[2];
        tdModel *model[2];
        for (int i = 0; i < 2; i++)
        {
            model[i] = robot_model(SLIDER("lower=\"-0.1\" upper=\"0.1\" effort=\"30\" velocity=\"9\""),
                                   contact ? "gravity: [0, 0, 0]\ntime_step: 1 ms\nsteps: 1\ncontact: {}"
                                           : "gravity: [0, 0, 0]\ntime_step: 1 ms\nsteps: 1",
                                   "", "");
            state[i] = robot_state(model[i]);
            state[i]->v[0] = i == 0 ? 2 : -2;
        }
        double most = 0;
        for (int k = 0; k < 200; k++)
        {
            for (int i = 0; i < 2; i++)
                robot_steps(model[i], state[i], 1);
            assert_near(state[0]->q[0], -state[1]->q[0], 1e-12);
            most = fmax(most, state[0]->q[0]);
        }
        assert_true(most > 0.099 && most < 0.11);
        for (int i = 0; i < 2; i++)
        {
            td_state_free(state[i]);
            td_model_free(model[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_friction),  cmocka_unit_test(test_stiffness),    cmocka_unit_test(test_dissipation),
        cmocka_unit_test(test_held_push), cmocka_unit_test(test_servo_limits), cmocka_unit_test(test_limits_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
