// SPDX-License-Identifier: Apache-2.0
// Every shipped scene to its end: what judges steps raises no false alarm. Scenes of robots are in long_robots.
#include "shipped.h"

static void test_whole_scenes(void **unused)
{
    (void)unused;
    run_shipped(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole_scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
