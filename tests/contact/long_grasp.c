// SPDX-License-Identifier: Apache-2.0
// The scenes of manipulation to their ends: close, lift, shake, and hold or place. Figures of S5, Table I, of their
// sizes.
#include "grasp.h"

static double distance(const double a[3], const double b[3])
{
    double way[3];
    td_subtract3(a, b, way);
    return sqrt(td_dot3(way, way));
}

// The ball follows the hand through the shake, where it is thrown about by several g, and then rests in it.
static void test_hand(void **unused)
{
    (void)unused;
    gripRun run = grip_start(GRASP, 1);
    double start[3], held[3], lifted[3], beside[3], rest[3];
    grip_place(&run, start, beside);
    grip_to(&run, 1.4, NULL);
    grip_place(&run, held, lifted);
    double shaken = grip_to(&run, 3, lifted);
    grip_place(&run, held, rest);
    double crept = grip_to(&run, 5, rest);
    grip_place(&run, held, beside);
    print_message(
        "shake: slips by %.2f mm; a second of rest: %.3f mm; %.1f constraints, %.0f at most, %.1f iterations\n",
        1e3 * shaken, 1e3 * crept, run.constraints, run.most, run.iterations);
    assert_true(held[2] > start[2] + 0.14);
    assert_true(shaken < 5e-3);
    assert_true(crept < 0.3e-3);
    assert_true(run.constraints >= 380.7);
    assert_true(run.iterations < 6); // 7.4 where contacts that stick are found one by one
    grip_end(&run);
}

static void test_bubbles(void **unused)
{
    (void)unused;
    gripRun run = grip_start(BUBBLES, 1);
    double start[3], held[3], lifted[3], beside[3];
    grip_to(&run, 0.2, NULL);
    grip_place(&run, start, beside); // where it sits under its weight
    grip_to(&run, 1.2, NULL);
    grip_place(&run, held, lifted);
    assert_true(held[2] > start[2] + 0.13);
    // The toy is soft: it swings in the grip, and comes back.
    double shaken = grip_to(&run, 2.4, lifted);
    double kept = grip_to(&run, 2.8, lifted);
    grip_to(&run, 4, NULL);
    grip_place(&run, held, beside);
    print_message(
        "shake: moves by %.2f mm, keeps %.2f mm; placed %.1f mm from its start; %.1f constraints, %.0f at most, "
        "%.1f iterations\n",
        1e3 * shaken, 1e3 * kept, 1e3 * distance(held, start), run.constraints, run.most, run.iterations);
    assert_true(shaken < 10e-3);
    assert_true(kept < 3e-3);
    assert_true(distance(held, start) < 15e-3);
    assert_true(run.constraints >= 236.5);
    // It sits on the table, still and let go.
    double table[3], left[3], right[3], weight = run.model->bodies[4].soft->total_mass * 9.81, fastest = 0;
    td_state_contact_force(run.state, 0, 4, table);
    td_state_contact_force(run.state, 2, 4, left);
    td_state_contact_force(run.state, 3, 4, right);
    assert_near(table[2], weight, 0.02 * weight);
    assert_near(sqrt(td_dot3(left, left)) + sqrt(td_dot3(right, right)), 0, 0.02 * weight);
    const double *v = td_state_velocities(run.model, run.state, 4);
    for (int i = 0; i < 3 * td_model_body_nodes(run.model, 4); i++)
        fastest = fmax(fastest, fabs(v[i]));
    assert_true(fastest < 5e-3);
    grip_end(&run);
}

// The same bits for one thread and for three.
static void test_threads(void **unused)
{
    (void)unused;
    const char *const paths[] = {GRASP, BUBBLES};
    for (int k = 0; k < 2; k++)
    {
        gripRun one = grip_start(paths[k], 1), three = grip_start(paths[k], 3);
        grip_to(&one, 1, NULL);
        grip_to(&three, 1, NULL);
        assert_memory_equal(one.state->q, three.state->q, (size_t)one.model->coords * sizeof(double));
        assert_memory_equal(one.state->v, three.state->v, (size_t)one.model->coords * sizeof(double));
        grip_end(&one);
        grip_end(&three);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand),
        cmocka_unit_test(test_bubbles),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
