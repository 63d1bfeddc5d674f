// SPDX-License-Identifier: Apache-2.0
// How often the warnings of the shipped reduced robots are wrong, on motions that neither training nor calibration has
// seen: alarms on random motions inside of the ranges; and outside of them, steps that are far from full order without
// an alarm. The table is that of docs/reduction-errors.md.
//
//     long_alarms [FOLDER [SCENE...]]    FOLDER: keeps the reduced models, and takes those that are there
#include "test.h"

#include "base/hash.h"
#include "control/workspace.h"
#include "reduce/offline/job.h"

#include <sys/stat.h>
#include <unistd.h>

#define INSIDE  100 // motions,
#define OUTSIDE 10  // and beside full order
#define MOVES   4
#define STEPS   25   // of a move
#define FAR     0.05 // an error, relative to the largest displacement at full order, that calls for a warning
#define ALLOWED 0.01 // share of the steps inside that may be warned of, and of those outside that are far off without

static const char *const shipped[] = {"finger/coarse"};
static const char *folder = "long_alarms_models";
static int n_scenes;
static const char *const *scenes;

static double pick(uint64_t *seed, double low, double high)
{
    *seed = td_hash_mix(*seed + 1);
    return low + (high - low) * (double)(*seed >> 11) * 0x1p-53;
}

// Targets are taken away, and ranges are twice as wide.
static tdStatus widen(void *context, tdScene *scene, tdError *error)
{
    for (int a = 0; a < scene->n_actuators; a++)
        for (int k = 0; k < 2; k++)
        {
            scene->actuators[a].effort[k] *= 2;
            scene->actuators[a].displacement[k] *= 2;
        }
    return td_workspace_edit_targets(context, scene, error);
}

/// A robot at full order and reduced; ranges are those of the scene.
typedef struct Robot
{
    tdModel *full, *reduced;
    int n;
    tdWorkspaceAxis *axes;
    tdArena arena;
} Robot;

static void open_robot(const char *name, Robot *robot)
{
    char scene[1000], rom[1000];
    tdSettings settings = td_default_settings();
    tdError error = {0};
    struct stat info;
    tdModel *narrow = NULL;
    snprintf(scene, sizeof scene, "%s/robots/%s.yaml", TD_SOURCE_DIR, name);
    snprintf(rom, sizeof rom, "%s/%.*s.h5", folder, (int)strcspn(name, "/"), name);
    if (stat(rom, &info) != 0)
    {
        tdReduceReport report;
        tdReduceTask task = {.scene = scene, .out = rom, .settings = settings};
        assert_ok(td_reduce(&task, &report, &error), error);
    }
    *robot = (Robot){0};
    assert_ok(td_model_load_edited(scene, &settings, widen, NULL, &robot->full, &error), error);
    settings.rom = rom;
    assert_ok(td_model_load_edited(scene, &settings, widen, NULL, &robot->reduced, &error), error);
    settings.rom = NULL;
    assert_ok(td_model_load(scene, &settings, &narrow, &error), error);
    tdWorkspaceAxis *axes = NULL;
    assert_ok(td_workspace_axes(narrow, &robot->arena, &robot->n, &axes, &error), error);
    robot->axes = axes; // of the arena
    td_model_free(narrow);
}

static void set_place(const Robot *robot, const tdModel *model, tdState *state, const double *from, const double *to,
                      double share)
{
    for (int k = 0; k < robot->n; k++)
        for (int j = 0; j < robot->axes[k].n; j++)
        {
            int input = model->actuators[robot->axes[k].actuators[j]].input;
            double value = robot->axes[k].ratio[j] * (from[k] + share * (to[k] - from[k]));
            assert_int_equal(td_state_set_input(model, state, input, value), TD_OK);
        }
}

static double apart(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/// What was counted.
typedef struct Count
{
    int64_t steps, warned, far, missed;
} Count;

// One motion; beside full order where it goes outside, and then error by step is known when all is over. What comes
// before it leaves the ranges counts as `before`.
static void move(const Robot *robot, uint64_t seed, bool outside, Count *before, Count *count)
{
    double places[MOVES + 1][TD_WORKSPACE_AXES] = {{0}}, off[MOVES * STEPS], largest = 0;
    bool warned[MOVES * STEPS];
    tdState *full = NULL, *reduced = NULL;
    tdError error = {0};
    int n = 0, leaves = outside ? MOVES * STEPS : 0, beyond = -1;
    int64_t coords = 3 * robot->full->bodies[0].nodes;
    for (int k = 0; k < robot->n; k++)
        for (int i = 1; i <= MOVES; i++)
            places[i][k] = td_workspace_value(&robot->axes[k], pick(&seed, 0, 1));
    if (outside)
    {
        beyond = (int)pick(&seed, 0, robot->n);
        places[2][beyond] = robot->axes[beyond].range[1] * pick(&seed, 1.2, 1.6);
    }
    assert_ok(td_state_create(robot->reduced, NULL, &reduced, &error), error);
    if (outside)
        assert_ok(td_state_create(robot->full, NULL, &full, &error), error);
    double *rest = td_take((size_t)coords, sizeof *rest);
    assert_non_null(rest);
    memcpy(rest, td_state_positions(robot->reduced, reduced, 0), (size_t)coords * sizeof *rest);
    for (; n < MOVES * STEPS; n++)
    {
        const double *from = places[n / STEPS], *to = places[n / STEPS + 1], share = (n % STEPS + 1.0) / STEPS;
        set_place(robot, robot->reduced, reduced, from, to, share);
        if (beyond >= 0 && from[beyond] + share * (to[beyond] - from[beyond]) > robot->axes[beyond].range[1])
            leaves = n < leaves ? n : leaves;
        if (td_step(robot->reduced, reduced) != TD_OK)
            break;
        warned[n] = td_state_report(reduced)->rom_warning;
        off[n] = 0;
        if (!outside)
            continue;
        set_place(robot, robot->full, full, from, to, share);
        if (td_step(robot->full, full) != TD_OK)
            break;
        const double *q = td_state_positions(robot->full, full, 0);
        off[n] = apart(coords, q, td_state_positions(robot->reduced, reduced, 0));
        largest = fmax(largest, apart(coords, q, rest));
    }
    for (int i = 0; i < n; i++)
    {
        bool far = outside && off[i] > FAR * largest;
        Count *to = i < leaves ? before : count;
        to->steps++;
        to->warned += warned[i];
        to->far += far;
        to->missed += far && !warned[i];
    }
    free(rest);
    td_state_free(full);
    td_state_free(reduced);
}

static void alarms_are_right(void **unused)
{
    (void)unused;
    bool good = true;
    mkdir(folder, 0777);
    for (int i = 0; i < n_scenes; i++)
    {
        Robot robot;
        Count inside = {0}, outside = {0}, before = {0};
        open_robot(scenes[i], &robot);
        for (int k = 0; k < INSIDE; k++)
            move(&robot, 7000 + 13 * (uint64_t)k, false, &before, &inside);
        for (int k = 0; k < OUTSIDE; k++)
            move(&robot, 9000 + 17 * (uint64_t)k, true, &before, &outside);
        print_message("| `%s` | %lld of %lld | %lld of %lld | %lld of %lld | %lld | %lld |\n", scenes[i],
                      (long long)inside.warned, (long long)inside.steps, (long long)before.far, (long long)before.steps,
                      (long long)outside.warned, (long long)outside.steps, (long long)outside.far,
                      (long long)outside.missed);
        good = good && inside.steps > 0 && (double)inside.warned <= ALLOWED * (double)inside.steps &&
               outside.warned > 0 && (double)outside.missed <= ALLOWED * (double)outside.steps;
        td_model_free(robot.full);
        td_model_free(robot.reduced);
        td_arena_free(&robot.arena);
    }
    assert_true(good);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(alarms_are_right)};
    folder = argc > 1 ? argv[1] : folder;
    scenes = argc > 2 ? (const char *const *)argv + 2 : shipped;
    n_scenes = argc > 2 ? argc - 2 : (int)(sizeof shipped / sizeof shipped[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
