// SPDX-License-Identifier: Apache-2.0
// Jobs of the offline stage in tests, on a small arm with two cables. SCENE and OUT are the test's own files.
#pragma once
#include "test.h"

#include "base/file.h"
#include "reduce/offline/job.h"
#include "reduce/rom.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Two trajectories of 23 snapshots.
#define USUAL "samples: grid, levels: 4, steps_between: 3, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3"

// S: something to change, R: keys of the reduction.
#define TEXT(S, R) TEXT_HELD(S, R, "steps: 12, moves: 4, seed: 2")
#define TEXT_HELD(S, R, V)                                                                                             \
    "tendril: 1\n"                                                                                                     \
    "gravity: [0, 0, -9.81]\n"                                                                                         \
    "time_step: 20 ms\n"                                                                                               \
    "duration: 2 s\n"                                                                                                  \
    "bodies:\n"                                                                                                        \
    "  - name: arm\n"                                                                                                  \
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [10, 2, 2]}\n"                                             \
    "    material: {law: corotational, young: " S ", poisson: 0.4, density: 1000}\n"                                   \
    "    damping: {mass: 10 1/s}\n"                                                                                    \
    "    fixed: [{group: xmin}]\n"                                                                                     \
    "actuators:\n"                                                                                                     \
    "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]],\n"       \
    "     drive: displacement, range: [0, 10 mm]}\n"                                                                   \
    "  - {name: side, type: cable, body: arm, path: [[0.09, 0.02, 0.01], [0.05, 0.02, 0.01], [0, 0.02, 0.01]],\n"      \
    "     drive: displacement, range: [0, 10 mm]}\n"                                                                   \
    "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n"                                                     \
    "motion: {keyframes: [{t: 0, top: 0, side: 0}, {t: 1, top: 6 mm, side: 3 mm}, {t: 2, top: 2 mm, side: 8 "          \
    "mm}]}\n"                                                                                                          \
    "reduction: {" R "}\n"                                                                                             \
    "validation: {random: {" V "}}\n"

__attribute__((unused)) static const char scene[] = TEXT("100 kPa", USUAL);

static inline void write_scene(const char *text)
{
    tdError error = {0};
    assert_ok(td_file_write(SCENE, text, strlen(text), &error), error);
}

static inline tdStatus reduce(int threads, bool restart, tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {
        .scene = SCENE, .out = OUT, .restart = restart, .accept = true, .settings = td_default_settings()};
    task.settings.threads = threads;
    *error = (tdError){0};
    return td_reduce(&task, report, error);
}

static inline bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

// Ends the process, as a power failure would, at some point of a phase.
typedef struct killAt
{
    tdReducePhase phase;
    int64_t done;
} killAt;

static inline bool kill_there(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    const killAt *at = user;
    (void)total;
    if (phase == at->phase && done >= at->done)
        kill(getpid(), SIGKILL);
    return true;
}

static inline void reduce_and_die(tdReducePhase phase, int64_t done)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
    {
        killAt at = {phase, done};
        tdReduceReport report;
        tdError error = {0};
        tdReduceTask task = {
            .scene = SCENE, .out = OUT, .settings = td_default_settings(), .progress = kill_there, .user = &at};
        td_reduce(&task, &report, &error);
        _exit(1); // it came to an end: the test is at fault
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

// One job of several, in a process of its own, which ends at the given place of its work; done < 0: it comes to its
// end. Two threads, so that two trajectories are on their way.
static inline void share_and_die(const char *work, int share, int shares, tdReducePhase phase, int64_t done)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
    {
        killAt at = {phase, done};
        tdReduceReport report;
        tdError error = {0};
        tdReduceTask task = {
            .scene = SCENE, .work = work, .share = share, .shares = shares, .settings = td_default_settings()};
        task.settings.threads = 2;
        task.progress = done < 0 ? NULL : kill_there;
        task.user = &at;
        _exit(td_reduce(&task, &report, &error) == TD_OK ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    // A share that has no such place, or has passed it in an earlier run, comes to its end.
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL && done >= 0 : WEXITSTATUS(status) == 0);
}

static inline tdStatus merge(const char *work, tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {
        .scene = SCENE, .out = OUT, .work = work, .merge = true, .accept = true, .settings = td_default_settings()};
    *error = (tdError){0};
    return td_reduce(&task, report, error);
}

static inline void remove_work(const char *work)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    assert_int_equal(system(command), 0);
}

static inline tdModel *load(const char *rom)
{
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    tdError error = {0};
    settings.rom = rom;
    assert_ok(td_model_load(SCENE, &settings, &model, &error), error);
    return model;
}

// The largest distance of the tip from full order while the scene runs, relative to its largest displacement.
static inline double worst_on_the_way(void)
{
    tdModel *full = load(NULL), *reduced = load(OUT);
    tdState *a = NULL, *b = NULL;
    tdError error = {0};
    assert_ok(td_state_create(full, NULL, &a, &error), error);
    assert_ok(td_state_create(reduced, NULL, &b, &error), error);
    double most = 0, off = 0, rest[3];
    td_state_probe(full, a, 0, rest);
    for (int i = 0; i < td_model_steps(full); i++)
    {
        assert_int_equal(td_step(full, a), TD_OK);
        assert_int_equal(td_step(reduced, b), TD_OK);
        double x[3], y[3];
        td_state_probe(full, a, 0, x);
        td_state_probe(reduced, b, 0, y);
        most = fmax(most, hypot(hypot(x[0] - rest[0], x[1] - rest[1]), x[2] - rest[2]));
        off = fmax(off, hypot(hypot(x[0] - y[0], x[1] - y[1]), x[2] - y[2]));
    }
    td_state_free(a);
    td_state_free(b);
    td_model_free(full);
    td_model_free(reduced);
    assert_true(most > 0.01); // it bends
    return off / most;
}

static inline void expect(tdStatus status, const tdError *error, const char *words)
{
    assert_int_equal(status, TD_ERROR_INPUT);
    if (strstr(error->message, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, error->message);
}

static int remove_files(void **unused)
{
    (void)unused;
    unlink(SCENE);
    unlink(OUT);
    return 0;
}
