// SPDX-License-Identifier: Apache-2.0
// The larger of the shipped scenes that are controlled while they touch, through their whole motion.
#include "controlled.h"

// The gripper takes the ball, lifts it and carries it while it presses with what it is asked to.
static void test_hold(void **context)
{
    (void)context;
    Run run = begin(TD_SOURCE_DIR "/robots/gripper/hold.yaml", TD_SOURCE_DIR "/robots/gripper/hold.csv");
    double force = 0, same = 0, replayed = 0, top = -INFINITY, ball[3];
    for (int k = 0; k < 180; k++)
    {
        follow(&run);
        td_state_probe(run.model, run.state, 0, ball);
        top = fmax(top, ball[2]);
        force = k > 60 ? fmax(force, off(&run, 0, run.state, 0)) : 0;
        same = fmax(same, apart(&run, 0, 0));
        replayed = k > 60 ? fmax(replayed, off(&run, 0, run.fresh, 0)) : 0;
        if (off(&run, 0, run.fresh, 0) > 2e-3 && k > 60)
            print_message("step %d: replayed %.1e N off, from the same state %.1e N\n", k, off(&run, 0, run.fresh, 0),
                          apart(&run, 0, 0));
    }
    print_message("hold: force to %.1e N (a step replayed from its own state %.1e N, all of them %.1e N) of 0.4 N, "
                  "ball lifted by %.1f mm\n",
                  force, same, replayed, 1e3 * (top + 0.105));
    assert_true(force < 2e-3);
    assert_true(replayed < 0.02);      // in one step, in which a contact switches
    assert_true(top > -0.105 + 0.027); // by 30 mm, and sinks a little between the fingers
    finish(&run);
}

// The robot crawls while its back and its legs are where targets lead them.
static void test_led(void **context)
{
    (void)context;
    Run run = begin(TD_SOURCE_DIR "/robots/multigait/led.yaml", TD_SOURCE_DIR "/robots/multigait/led.csv");
    double height = 0, same = 0, replayed = 0, foot[3], other[3], again[3];
    for (int k = 0; k < 190; k++)
    {
        follow(&run);
        for (int e = 0; e < 5; e++)
        {
            height = fmax(height, off(&run, e, run.state, 2));
            same = fmax(same, apart(&run, e, 2));
            replayed = fmax(replayed, off(&run, e, run.fresh, 2));
        }
    }
    td_state_probe(run.model, run.state, 0, foot);
    td_state_probe(run.model, run.state, 1, other);
    td_state_probe(run.model, run.fresh, 0, again);
    print_message("led: heights to %.2f mm (a step replayed from its own state %.1e mm, all of them %.2f mm), feet "
                  "went %.2f and %.2f mm (replayed %.2f mm)\n",
                  1e3 * height, 1e3 * same, 1e3 * replayed, 1e3 * (foot[0] - 0.068), 1e3 * (other[0] + 0.068),
                  1e3 * (again[0] - 0.068));
    assert_true(height < 1e-4);
    assert_true(replayed < 5e-4);
    assert_true(foot[0] > 0.068 + 5e-4 && other[0] > -0.068 + 5e-4);
    assert_true(fabs(again[0] - foot[0]) < 3e-4);
    finish(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hold), cmocka_unit_test(test_led)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
