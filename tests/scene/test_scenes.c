// SPDX-License-Identifier: Apache-2.0
// The first steps of every shipped scene; long_scenes takes all of them.
#include "shipped.h"

static void test_shipped_scenes(void **unused)
{
    (void)unused;
    run_shipped(6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped_scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
