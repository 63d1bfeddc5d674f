// SPDX-License-Identifier: Apache-2.0
// Every shipped scene loads without a warning and runs, and no step of it is doubtful, but where it should be.
#include "test.h"

#include "tendril/tendril.h"

#include <dirent.h>
#include <stdbool.h>

// Of the lagged law, in steps in which bodies turn far: elastic energies are sixty times what there is to be had.
static bool is_doubtful(const char *path)
{
    return strstr(path, "arch_low.yaml") != NULL || strstr(path, "cantilever_1s.yaml") != NULL;
}

static void complain(void *user, tdLogLevel level, const char *message)
{
    if (level == TD_LOG_WARNING && !(is_doubtful(user) && strstr(message, "from nothing") != NULL))
        fail_msg("%s: %s", (const char *)user, message);
}

static void run_scene(const char *path)
{
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    settings.log = complain;
    settings.log_user = (void *)path;
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    assert_ok(td_model_load(path, &settings, &model, &error), error);
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    int steps = td_model_steps(model) < 6 ? td_model_steps(model) : 6;
    unsigned doubts = 0;
    for (int i = 0; i < steps; i++)
    {
        assert_ok(td_step(model, state), td_state_report(state)->error);
        doubts |= td_state_report(state)->doubts;
    }
    assert_int_equal(doubts & ~(is_doubtful(path) ? (unsigned)TD_DOUBT_ENERGY : 0), 0);
    assert_int_equal(td_state_report(state)->inverted_elements, 0);
    td_state_free(state);
    td_model_free(model);
}

static int run_folder(const char *place)
{
    DIR *folder = opendir(place);
    assert_non_null(folder);
    int scenes = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
    {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".yaml") != 0)
            continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        run_scene(path);
        scenes++;
    }
    closedir(folder);
    return scenes;
}

static void test_shipped_scenes(void **unused)
{
    (void)unused;
    assert_true(run_folder(TD_SOURCE_DIR "/scenes") >= 4);
    assert_true(run_folder(TD_SOURCE_DIR "/scenes/contact") >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped_scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
