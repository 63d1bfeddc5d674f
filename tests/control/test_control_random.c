// SPDX-License-Identifier: Apache-2.0
// The smooth way of inverse control beside contact on some two hundred random problems (smooth_random.h).
#include "smooth_random.h"

static void test_random(void **context)
{
    (void)context;
    smooth_check(0, 50, 8, 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
