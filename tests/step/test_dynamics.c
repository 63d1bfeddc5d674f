// SPDX-License-Identifier: Apache-2.0
// Dynamics as the caller asks for them, springs and rates of joints, servos that carry the robot's own weight: against
// closed forms and against what steps do.
#include "rigid.h"

#include "contact/contact.h"

#define G    9.81
#define HEAD "gravity: [0, 0, -9.81]\ntime_step: 1 ms\nsteps: 1\n"

// Two bars in a plane, about y: 1 m and 2 kg, 0.6 m and 1 kg; angles from the x axis downwards.
#define ARM                                                                                                            \
    ROBOT(BASE LINK("a", "2", "0.5 0 0", "0.01", "0.2", "0.2") LINK("b", "1", "0.3 0 0", "0.01", "0.04", "0.04")       \
              JOINT("j1", "continuous", "base", "a", "0 0 0", "0 1 0", "")                                             \
                  JOINT("j2", "continuous", "a", "b", "1 0 0", "0 1 0", "<dynamics damping=\"0\"/>"))

// The equations of the textbook.
static void test_closed_form(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(ARM, HEAD, "joints: [{name: j1, position: 20 deg}, {name: j2, position: 50 deg}]", "");
    tdState *state = robot_state(model);
    double q1 = M_PI / 9, q2 = M_PI * 5 / 18, v1 = 1.3, v2 = -2.1, M[4], bias[2], hold[2], efforts[2];
    state->v[0] = v1;
    state->v[1] = v2;
    assert_int_equal(td_state_mass_matrix(model, state, 0, M), TD_OK);
    assert_int_equal(td_state_bias_forces(model, state, 0, bias), TD_OK);
    assert_int_equal(td_state_gravity_compensation(model, state, 0, hold), TD_OK);
    double m22 = 0.04 + 1 * 0.09, m12 = m22 + 1 * 1 * 0.3 * cos(q2);
    double m11 = 0.2 + 2 * 0.25 + m22 + 1 + 2 * 0.3 * cos(q2), h = 1 * 1 * 0.3 * sin(q2);
    assert_near(M[0], m11, 1e-12);
    assert_near(M[1], m12, 1e-12);
    assert_near(M[2], m12, 1e-12);
    assert_near(M[3], m22, 1e-12);
    double g2 = -1 * G * 0.3 * cos(q1 + q2), g1 = g2 - (2 * 0.5 + 1) * G * cos(q1);
    assert_near(hold[0], g1, 1e-10);
    assert_near(hold[1], g2, 1e-10);
    assert_near(bias[0], g1 - h * (2 * v1 * v2 + v2 * v2), 1e-10);
    assert_near(bias[1], g2 + h * v1 * v1, 1e-10);
    const double a[2] = {0.7, 1.9};
    assert_int_equal(td_state_inverse_dynamics(model, state, 0, a, efforts), TD_OK);
    assert_near(efforts[0], bias[0] + m11 * a[0] + m12 * a[1], 1e-10);
    assert_near(efforts[1], bias[1] + m12 * a[0] + m22 * a[1], 1e-10);
    scene_free(model, state);
}

// Forward and back: efforts of inverse dynamics, given to the joints, bring the accelerations that they were asked for.
static void test_there_and_back(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(ARM, "gravity: [0, 0, -9.81]\ntime_step: 10 us\nsteps: 1\n",
                                 "joints: [{name: j1, velocity: 1 rad/s}, {name: j2, velocity: -0.5 rad/s}]",
                                 "actuators:\n  - {name: a, type: joint, body: r, joint: j1, drive: effort}\n"
                                 "  - {name: b, type: joint, body: r, joint: j2, drive: effort}\n");
    tdState *state = robot_state(model);
    const double a[2] = {0.7, 1.9};
    double efforts[2], before[2];
    assert_near(state->v[0], 1, 0);
    assert_near(state->v[1], -0.5, 0);
    assert_int_equal(td_state_inverse_dynamics(model, state, 0, a, efforts), TD_OK);
    memcpy(before, state->v, sizeof before);
    for (int k = 0; k < 2; k++)
        assert_int_equal(td_state_set_input(model, state, td_model_find_input(model, k == 0 ? "a" : "b"), efforts[k]),
                         TD_OK);
    robot_steps(model, state, 1);
    for (int k = 0; k < 2; k++)
    {
        assert_near((state->v[k] - before[k]) / 1e-5, a[k], 1e-3);
        assert_near(td_state_joint_effort(model, state, 0, k), efforts[k], 1e-9);
    }
    scene_free(model, state);
}

// A spring in a joint: the period of a mass on it, and its effort.
static void test_spring(void **unused)
{
    (void)unused;
    tdModel *model =
        robot_model(ROBOT(BASE LINK("a", "2", "0 0 0", "1", "1", "1")
                              JOINT("x", "prismatic", "base", "a", "0 0 0", "1 0 0",
                                    "<limit lower=\"-9\" upper=\"9\" effort=\"100\" velocity=\"9\"/>")),
                    "gravity: [0, 0, 0]\ntime_step: 0.1 ms\nsteps: 1\nintegrator: {method: midpoint}\n",
                    "joints: [{name: x, position: 0.2, velocity: 0.5 m/s, spring: 50 N/m, spring_rest: 0.1}]", "");
    tdState *state = robot_state(model);
    double w = sqrt(50. / 2), t = 0.7;
    robot_steps(model, state, 7000);
    double x = 0.1 + 0.1 * cos(w * t) + 0.5 / w * sin(w * t);
    assert_near(state->q[0], x, 1e-5);
    assert_near(td_state_joint_effort(model, state, 0, 0), -50 * (x - 0.1), 1e-2);
    scene_free(model, state);
}

// Soft servos that carry the robot's weight themselves leave no sag; without, they sag by the weight over their
// stiffness. Alone and as rows of the contact problem; driven by a rate the arm stays where it is.
static void test_compensation(void **unused)
{
    (void)unused;
    for (int contact = 0; contact < 2; contact++)
        for (int kind = 0; kind < 3; kind++)
        {
            char rest[600];
            const char *drive = kind == 2 ? "velocity" : "position, stiffness: 20 N*m/rad",
                       *more = kind == 0 ? "false" : "true";
            snprintf(rest, sizeof rest,
                     "actuators:\n  - {name: a, type: joint, body: r, joint: j1, drive: %s, damping: 10, effort_range: "
                     "[-100, 100], gravity_compensation: %s}\n"
                     "  - {name: b, type: joint, body: r, joint: j2, drive: %s, damping: 4, effort_range: [-100, 100], "
                     "gravity_compensation: %s}\n",
                     drive, more, drive, more);
            tdModel *model = robot_model(ARM, contact ? HEAD "contact: {}\n" : HEAD, "", rest);
            tdState *state = robot_state(model);
            double hold[2];
            robot_steps(model, state, kind == 0 ? 12000 : 4000); // sagging takes its time
            assert_int_equal(td_state_gravity_compensation(model, state, 0, hold), TD_OK);
            for (int k = 0; k < 2; k++)
            {
                assert_near(td_state_joint_effort(model, state, 0, k), hold[k], 1e-3);
                if (kind > 0)
                    assert_near(state->q[k], 0, 1e-6);
            }
            if (kind == 0)
                assert_near(state->q[1], 1 * G * 0.3 * cos(state->q[0] + state->q[1]) / 20, 1e-3);
            scene_free(model, state);
        }
    // Within the limits of its effort.
    tdModel *model =
        robot_model(ARM, HEAD, "",
                    "actuators: [{name: a, type: joint, body: r, joint: j1, drive: position, stiffness: 20, "
                    "damping: 10, effort_range: [-5, 5], gravity_compensation: true}]");
    tdState *state = robot_state(model);
    robot_steps(model, state, 100);
    assert_near(td_state_joint_effort(model, state, 0, 0), -5, 0);
    scene_free(model, state);
}

static void test_refusals(void **unused)
{
    (void)unused;
    robot_refused(ARM, HEAD, "joints: [{name: j1, spring_rest: 10 deg}]", "", "needs 'spring'");
    robot_refused(ARM, HEAD, "joints: [{name: j1, velocity: 3 m/s}]", "", "velocity");
    robot_refused(ARM, HEAD, "joints: [{name: j1, spring: -3 N*m/rad}]", "", "must not be negative");
    robot_refused(ARM, HEAD, "",
                  "actuators: [{name: a, type: joint, body: r, joint: j1, drive: effort, gravity_compensation: true}]",
                  "is for servos");
    robot_refused(ARM, "steps: 1\nintegrator: {method: static}\n", "joints: [{name: j1, velocity: 3 rad/s}]", "",
                  "no velocities");
    tdModel *model =
        scene_parse("tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - {name: pad, mesh: {box: [[0, 0, 0], [1, 1, "
                    "1]], cells: [1, 1, 1]}, material: {law: linear, young: 1 MPa, poisson: 0.3, density: 1000}}\n");
    tdState *state = scene_state(model);
    double M[4];
    assert_int_equal(td_state_mass_matrix(model, state, 0, M), TD_ERROR_USAGE);
    assert_int_equal(td_state_bias_forces(model, state, 0, M), TD_ERROR_USAGE);
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_form),  cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_spring),
        cmocka_unit_test(test_compensation), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
