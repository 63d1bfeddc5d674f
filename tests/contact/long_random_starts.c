// SPDX-License-Identifier: Apache-2.0
// A thousand random starts, a second or more of each.
#include "random_starts.h"

static void test_starts(void **unused)
{
    (void)unused;
    double worst = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++)
        random_run(seed, 400, &worst);
    print_message("1000 starts: energy of motion is %.2f of what it may be, at most\n", worst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_starts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
