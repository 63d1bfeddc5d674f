// SPDX-License-Identifier: Apache-2.0
// The smooth way of inverse control beside contact on some four thousand random problems (smooth_random.h), of seeds
// that nothing was tuned on.
#include "smooth_random.h"

static void test_random(void **context)
{
    (void)context;
    smooth_check(UINT64_C(5000000), 1000, 40, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
