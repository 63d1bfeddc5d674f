// SPDX-License-Identifier: Apache-2.0
// Shipped scenes: all of scenes/ and its folders load without a warning and run, and no step of them is doubtful, but
// where it should be.
#pragma once
#include "test.h"

#include "tendril/tendril.h"

#include <glob.h>
#include <stdbool.h>

// Of the lagged law, in steps in which bodies turn far: elastic energies are sixty times what there is to be had.
static bool is_doubtful(const char *path)
{
    return strstr(path, "arch_low.yaml") != NULL || strstr(path, "cantilever_1s.yaml") != NULL;
}

typedef struct shipped
{
    const char *path;
    int alarms; ///< warnings that should not be
    int due;    ///< and those that should
} shipped;

static void complain(void *user, tdLogLevel level, const char *message)
{
    shipped *scene = user;
    if (level != TD_LOG_WARNING)
        return;
    bool due = is_doubtful(scene->path) && strstr(message, "from nothing") != NULL;
    scene->due += due;
    scene->alarms += !due;
    if (!due)
        print_message("%s: %s\n", scene->path, message);
}

// Runs a scene for at most `most` steps (0: all) and returns how many alarms were false; failed steps count as one.
static int false_alarms(const char *path, int most, long *told)
{
    shipped scene = {.path = path};
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    settings.log = complain;
    settings.log_user = &scene;
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    assert_ok(td_model_load(path, &settings, &model, &error), error);
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    int steps = most > 0 && most < td_model_steps(model) ? most : td_model_steps(model);
    tdStatus status = TD_OK;
    unsigned doubts = 0;
    int inverted = 0, k = 0;
    for (; k < steps && status == TD_OK; k++)
    {
        status = td_step(model, state);
        doubts |= td_state_report(state)->doubts;
        inverted += td_state_report(state)->inverted_elements > 0;
    }
    *told += k;
    unsigned wrong = doubts & ~(is_doubtful(path) ? (unsigned)TD_DOUBT_ENERGY : 0);
    if (status != TD_OK)
        print_message("%s: step %d of %d: %s\n", path, k, steps, td_state_report(state)->error.message);
    if (wrong != 0 || inverted > 0)
        print_message("%s: doubts 0x%x, inverted elements in %d of %d steps\n", path, wrong, inverted, steps);
    // A test that cannot tell the two that are doubtful from the others would see nothing.
    if (most == 0 && is_doubtful(path) && (scene.due == 0 || (doubts & TD_DOUBT_ENERGY) == 0))
    {
        print_message("%s: nothing was said of energy from nothing\n", path);
        scene.alarms++;
    }
    td_state_free(state);
    td_model_free(model);
    return scene.alarms + (wrong != 0) + (inverted > 0) + (status != TD_OK);
}

static void run_shipped(int most)
{
    glob_t found;
    int alarms = 0;
    long steps = 0;
    assert_int_equal(glob(TD_SOURCE_DIR "/scenes/*.yaml", 0, NULL, &found), 0);
    assert_int_equal(glob(TD_SOURCE_DIR "/scenes/*/*.yaml", GLOB_APPEND, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        alarms += false_alarms(found.gl_pathv[i], most, &steps);
    print_message("%d scenes, %ld steps, %d false alarms\n", (int)found.gl_pathc, steps, alarms);
    assert_true(found.gl_pathc >= 30);
    globfree(&found);
    assert_int_equal(alarms, 0);
}
