// SPDX-License-Identifier: Apache-2.0
// Extreme numbers in the shipped scenes that are quick: soft, rigid and articulated bodies, contact, actuators,
// attachments. long_extremes.c has the others.
#include "extremes.h"

static void test_scenes(void **unused)
{
    (void)unused;
    static const char *const scenes[] = {"plates.yaml",  "incline.yaml",  "gear.yaml",
                                         "fingers.yaml", "pendulum.yaml", "cring.yaml"};
    Count count = {0};
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        extremes_scene(TD_SOURCE_DIR "/scenes/contact", scenes[i], false, &count);
    printf("%d refused, %d ran, %d failed in a step\n", count.refused, count.ran, count.failed);
    assert_int_equal(count.wrong, 0);
    assert_true(count.refused > 100 && count.ran > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
