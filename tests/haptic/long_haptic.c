// SPDX-License-Identifier: Apache-2.0
// A million random motions of a simulated hand: what forces give it on the whole. Some five minutes of one core.
#include "passive.h"

#define MOTIONS 1000000

static void test_million(void **unused)
{
    (void)unused;
    double worst[21] = {0}, most = 0;
    int64_t limited = 0;
    for (uint64_t seed = 1; seed <= MOTIONS; seed++)
    {
        closedLoop loop = random_loop(seed);
        run_loop(&loop, 400);
        worst[loop.hand.delay] = fmax(worst[loop.hand.delay], loop.given);
        most = fmax(most, loop.given);
        limited += loop.limited > 0;
        if (!(loop.given <= 1e-3))
            fail_msg("motion %d: %g mJ were given", (int)seed, 1e3 * loop.given);
        assert_true(loop.most <= loop.max_force + 1e-12);
        assert_true(loop.jump <= 200 * loop.max_force * loop.hand.period * (1 + 1e-9));
    }
    print_message("most energy given in %d motions: %.3g mJ; %d needed the guard\nby delay:", MOTIONS, 1e3 * most,
                  (int)limited);
    for (int delay = 0; delay <= 20; delay++)
        print_message(" %d ms %.3g", delay, 1e3 * worst[delay]);
    print_message("\n");
    assert_true(limited > MOTIONS / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_million)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
