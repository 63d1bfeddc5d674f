// SPDX-License-Identifier: Apache-2.0
// Manipulation in short: the scenes' grips lift what they hold. tests/contact/long_grasp.c runs them to their ends.
#include "grasp.h"

// A servo with a limited effort and dry friction in its joint: a row of the contact problem, or part of the free
// motion. What moves is the same, step by step, also where friction holds it in the end.
#define SLIDE                                                                                                          \
    ROBOT(BASE LINK("a", "1", "0 0 0", "1", "1", "1")                                                                  \
              JOINT("x", "prismatic", "base", "a", "0 0 0", "1 0 0",                                                   \
                    "<limit lower=\"-1\" upper=\"1\" effort=\"30\" velocity=\"5\"/><dynamics friction=\"4\"/>"))

static void test_servo_with_friction(void **unused)
{
    (void)unused;
    const char *rest = "actuators: [{name: x, type: joint, body: r, joint: x, drive: position, stiffness: 1000 N/m, "
                       "damping: 40 N*s/m}]\nmotion: {keyframes: [{t: 0, x: 0}, {t: 0.2, x: 100 mm}]}";
    tdModel *alone = robot_model(SLIDE, "time_step: 5 ms\nsteps: 1\n", "", rest);
    tdModel *together = robot_model(SLIDE, "time_step: 5 ms\nsteps: 1\ncontact: {}\n", "", rest);
    tdState *a = robot_state(alone), *b = robot_state(together);
    for (int i = 0; i < 200; i++)
    {
        robot_steps(alone, a, 1);
        robot_steps(together, b, 1);
        assert_near(a->q[0], b->q[0], 2e-5);
    }
    // Friction bears a part of the servo's effort: it stays up to 4 mm behind.
    assert_true(b->q[0] < 0.0998 && b->q[0] > 0.0955);
    scene_free(alone, a);
    scene_free(together, b);
}

static void test_hand_lifts(void **unused)
{
    (void)unused;
    gripRun run = grip_start(GRASP, 1);
    double start[3], held[3], beside[3];
    grip_place(&run, start, beside);
    assert_true(td_model_dofs(run.model) >= 410);
    grip_to(&run, 1.1, NULL);
    grip_place(&run, held, beside);
    assert_true(held[2] > start[2] + 0.03); // on its way
    double slip = grip_to(&run, 1.4, beside);
    grip_place(&run, held, beside);
    print_message("lifted by %.0f mm, slips by %.2f mm; %.1f constraints, %.0f at most\n", 1e3 * (held[2] - start[2]),
                  1e3 * slip, run.constraints, run.most);
    assert_true(held[2] > start[2] + 0.14);
    assert_true(slip < 9e-3); // it settles as the thumb ends its way past the stand
    // Nothing but the hand holds it.
    double stand[3], hand[3];
    td_state_contact_force(run.state, 1, 2, stand);
    td_state_contact_force(run.state, 0, 2, hand);
    assert_near(sqrt(td_dot3(stand, stand)), 0, 0);
    double weight = run.model->bodies[2].soft->total_mass * 9.81;
    assert_true(hand[2] > 0.3 * weight && hand[2] < 3 * weight); // it is being slowed down
    grip_end(&run);
}

static void test_bubbles_lift(void **unused)
{
    (void)unused;
    gripRun run = grip_start(BUBBLES, 1);
    double start[3], held[3], beside[3];
    assert_true(td_model_dofs(run.model) >= 2043);
    grip_place(&run, start, beside);
    grip_to(&run, 0.9, NULL);
    grip_place(&run, held, beside);
    double slip = grip_to(&run, 1.2, beside);
    grip_place(&run, held, beside);
    print_message("lifted by %.0f mm, slips by %.2f mm; %.1f constraints, %.0f at most\n", 1e3 * (held[2] - start[2]),
                  1e3 * slip, run.constraints, run.most);
    assert_true(held[2] > start[2] + 0.12);
    assert_true(slip < 3e-3);
    double table[3];
    td_state_contact_force(run.state, 0, 4, table);
    assert_near(sqrt(td_dot3(table, table)), 0, 0);
    grip_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_servo_with_friction),
        cmocka_unit_test(test_hand_lifts),
        cmocka_unit_test(test_bubbles_lift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
