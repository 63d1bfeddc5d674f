// SPDX-License-Identifier: Apache-2.0
// A million random motions of a simulated hand: what forces give it on the whole.
#include "passive.h"

static void test_million(void **unused)
{
    (void)unused;
    double worst = 0;
    for (uint64_t seed = 1; seed <= 1000000; seed++)
    {
        closedLoop loop = random_loop(seed);
        run_loop(&loop, 400);
        worst = fmax(worst, loop.given);
        if (!(loop.given <= 1e-3))
            fail_msg("motion %d: %g mJ were given", (int)seed, 1e3 * loop.given);
    }
    print_message("most energy given in a million motions: %.3g mJ\n", 1e3 * worst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_million)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
