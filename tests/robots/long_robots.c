// SPDX-License-Identifier: Apache-2.0
// Every shipped robot scene runs without a warning or a failure: coarse ones through their whole motion, fine ones for
// some steps, and coarse ones from equilibrium to equilibrium to the ends of their ranges.
#include "robots.h"

#include <glob.h>

#define FINE_STEPS   10
#define CORNER_STEPS 20 // equilibria on the way to the end of a range

static void complain(void *user, tdLogLevel level, const char *message)
{
    if (level != TD_LOG_WARNING)
        return;
    ++*(int *)user;
    print_message("warning: %s\n", message);
}

// Runs a scene for at most `most` steps (0: all) and says what was wrong; false then.
static bool run_scene(const char *path, int most)
{
    int warnings = 0;
    tdSettings settings = td_default_settings();
    settings.log = complain;
    settings.log_user = &warnings;
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    assert_ok(td_model_load(path, &settings, &model, &error), error);
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    int steps = most > 0 ? most : td_model_steps(model), inverted = 0;
    tdStatus status = TD_OK;
    for (int k = 0; k < steps && status == TD_OK; k++)
    {
        status = td_step(model, state);
        inverted += td_state_report(state)->inverted_elements > 0;
        if (status != TD_OK)
            print_message("%s: step %d of %d: %s\n", path, k + 1, steps, td_state_report(state)->error.message);
    }
    if (inverted > 0)
        print_message("%s: elements were inverted in %d of %d steps\n", path, inverted, steps);
    if (warnings > 0)
        print_message("%s: %d warnings\n", path, warnings);
    scene_free(model, state);
    return status == TD_OK && inverted == 0 && warnings == 0;
}

static void run_all(const char *pattern, int most)
{
    glob_t found;
    int failed = 0, ran = 0;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
    {
        char fine[512];
        snprintf(fine, sizeof fine, "%.*s/fine.msh", (int)(strrchr(found.gl_pathv[i], '/') - found.gl_pathv[i]),
                 found.gl_pathv[i]);
        if (most > 0 && access(fine, R_OK) != 0)
        {
            print_message("%s is not there ('make robots' makes it)\n", fine);
            continue;
        }
        failed += !run_scene(found.gl_pathv[i], most);
        ran++;
    }
    print_message("%d scenes, %d failed\n", ran, failed);
    globfree(&found);
    assert_int_equal(failed, 0);
}

static void test_coarse_motions(void **context)
{
    (void)context;
    run_all(ROBOTS "*/coarse*.yaml", 0);
}

static void test_fine_starts(void **context)
{
    (void)context;
    run_all(ROBOTS "*/fine*.yaml", FINE_STEPS);
}

// ---------------------------------------------------------------- equilibria

// To the end of the ranges of the actuators whose bit is set, from rest; the others stay at rest.
static bool go_to_corner(const char *scene, const tdModel *model, unsigned corner)
{
    tdState *state = scene_state(model);
    tdStatus status = TD_OK;
    for (int k = 0; k <= CORNER_STEPS && status == TD_OK; k++)
    {
        for (int a = 0; a < td_model_actuators(model); a++)
        {
            tdActuatorInfo info = td_model_actuator(model, a);
            const double *range = strcmp(info.drive, "effort") == 0 ? info.effort : info.displacement;
            td_state_set_input(model, state, info.input, corner & 1U << a ? range[1] * k / CORNER_STEPS : 0);
        }
        status = td_step(model, state);
        if (status != TD_OK)
            print_message("%s, corner 0x%x: %d of %d: %s\n", scene, corner, k, CORNER_STEPS,
                          td_state_report(state)->error.message);
    }
    td_state_free(state);
    return status == TD_OK;
}

static int go_to_corners(const char *scene)
{
    tdModel *model = robot_load(scene, (robotEdit){.forward = true, .time_step = 0.01});
    int n = td_model_actuators(model), failed = 0;
    for (int a = 0; a < n; a++)
        failed += !go_to_corner(scene, model, 1U << a);
    for (int a = 0; a < n && n > 2; a++) // in the order of the scene
        failed += !go_to_corner(scene, model, 1U << a | 1U << (a + 1) % n);
    failed += !go_to_corner(scene, model, (1U << n) - 1);
    td_model_free(model);
    return failed;
}

static void test_static_corners(void **context)
{
    (void)context;
    static const char *const scenes[] = {"parallel/coarse.yaml",  "parallel/coarse_mooney.yaml", "trunk/coarse.yaml",
                                         "multigait/coarse.yaml", "finger/coarse.yaml",          "gripper/coarse.yaml"};
    int failed = 0;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        failed += go_to_corners(scenes[i]);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_coarse_motions), cmocka_unit_test(test_fine_starts),
                                       cmocka_unit_test(test_static_corners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
