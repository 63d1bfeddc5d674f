// SPDX-License-Identifier: Apache-2.0
// Extreme numbers in all shipped scenes and in the robots with coarse meshes.
#include "extremes.h"

#include <dirent.h>

static int all_of(const char *place, Count *count)
{
    DIR *folder = opendir(place);
    assert_non_null(folder);
    int scenes = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
    {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".yaml") != 0 || strncmp(entry->d_name, "fine", 4) == 0)
            continue;
        extremes_scene(place, entry->d_name, true, count);
        scenes++;
    }
    closedir(folder);
    return scenes;
}

static void test_all(void **unused)
{
    (void)unused;
    static const char *const folders[] = {"scenes",           "scenes/contact",  "robots/finger", "robots/gripper",
                                          "robots/multigait", "robots/parallel", "robots/trunk"};
    Count count = {0};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    {
        char place[1024];
        snprintf(place, sizeof place, TD_SOURCE_DIR "/%s", folders[i]);
        assert_true(all_of(place, &count) > 0);
    }
    printf("%d refused, %d ran, %d failed in a step\n", count.refused, count.ran, count.failed);
    assert_int_equal(count.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
