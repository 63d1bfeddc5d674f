// SPDX-License-Identifier: Apache-2.0
// The offline stage from end to end, on a small arm with two cables: accurate where training was not, the same bits
// whatever the number of threads and wherever it was killed, and nothing continued that belongs to another job.
#include "test.h"

#include "base/file.h"
#include "reduce/offline/job.h"
#include "reduce/rom.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCENE "test_reduce.yaml"
#define OUT   "test_reduce.h5"

// Two trajectories of 23 snapshots.
#define USUAL "samples: grid, levels: 4, steps_between: 3, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3"

// S: something to change, R: keys of the reduction.
#define TEXT(S, R)                                                                                                     \
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
    "validation: {random: {steps: 12, moves: 4, seed: 2}}\n"

static const char scene[] = TEXT("100 kPa", USUAL);

static void write_scene(const char *text)
{
    tdError error = {0};
    assert_ok(td_file_write(SCENE, text, strlen(text), &error), error);
}

static tdStatus reduce(int threads, bool restart, tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {.scene = SCENE, .out = OUT, .restart = restart, .settings = td_default_settings()};
    task.settings.threads = threads;
    *error = (tdError){0};
    return td_reduce(&task, report, error);
}

static bool exists(const char *path)
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

static bool kill_there(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    const killAt *at = user;
    (void)total;
    if (phase == at->phase && done >= at->done)
        kill(getpid(), SIGKILL);
    return true;
}

static void reduce_and_die(tdReducePhase phase, int64_t done)
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

static tdModel *load(const char *rom)
{
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    tdError error = {0};
    settings.rom = rom;
    assert_ok(td_model_load(SCENE, &settings, &model, &error), error);
    return model;
}

// A beam needs few modes and elements. The modes leave 1e-4 of the snapshots behind and the domain 0.1 % of the
// training forces; at equilibria elsewhere errors are a few times those.
static void test_accuracy(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    write_scene(scene);
    assert_ok(reduce(0, true, &report, &error), error);
    assert_int_equal(report.snapshots, 46);
    assert_int_equal(report.failures, 0);
    assert_in_range(report.modes, 4, 14);
    assert_true(report.pod_error <= 1e-4);
    assert_int_equal(report.elements, 240);
    assert_true(report.rid_elements < report.elements / 2);
    assert_true(report.ecsw_error <= 1e-3);
    assert_int_equal(report.held_out_places, 12);
    assert_true(report.held_out_error < 0.01);
    assert_false(exists(OUT ".work"));

    tdModel *full = load(NULL), *reduced = load(OUT);
    tdState *a = NULL, *b = NULL;
    assert_ok(td_state_create(full, NULL, &a, &error), error);
    assert_ok(td_state_create(reduced, NULL, &b, &error), error);
    assert_int_equal(td_model_dofs(reduced), report.modes);
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
    assert_true(most > 0.01);       // it bends
    assert_true(off < 0.04 * most); // the drop at the start excites waves that no equilibrium has
    td_state_free(a);
    td_state_free(b);
    td_model_free(full);
    td_model_free(reduced);
}

static void test_threads(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    uint64_t content = 0;
    write_scene(scene);
    for (int threads = 1; threads <= 3; threads++)
    {
        assert_ok(reduce(threads, true, &report, &error), error);
        assert_true(threads == 1 || report.content == content);
        content = report.content;
    }
}

// Killed in every phase, and the same command goes on; the file has the same content to the bit.
static void test_killed(void **unused)
{
    (void)unused;
    static const killAt places[] = {{TD_REDUCE_SNAPSHOTS, 40}, {TD_REDUCE_POD, 1},   {TD_REDUCE_TRAINING, 1},
                                    {TD_REDUCE_ECSW, 3},       {TD_REDUCE_CHECK, 7}, {TD_REDUCE_CHECK, 12}};
    tdReduceReport report;
    tdError error;
    write_scene(scene);
    assert_ok(reduce(0, true, &report, &error), error);
    uint64_t content = report.content;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    {
        unlink(OUT);
        reduce_and_die(places[i].phase, places[i].done);
        assert_false(exists(OUT));
        assert_true(exists(OUT ".work"));
        assert_ok(reduce(0, false, &report, &error), error);
        assert_true(report.resumed);
        assert_true(report.content == content);
        assert_false(exists(OUT ".work"));
        tdRom rom;
        assert_ok(td_rom_read(OUT, &rom, &error), error);
        assert_true(td_rom_hash(&rom) == content);
        td_rom_free(&rom);
    }
    // One after the other, without an end in between.
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (i == 0 || places[i].phase != places[i - 1].phase)
            reduce_and_die(places[i].phase, places[i].done);
    assert_ok(reduce(0, false, &report, &error), error);
    assert_true(report.content == content);
}

// A part that was damaged is made again.
static void test_damaged_part(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    write_scene(scene);
    assert_ok(reduce(0, true, &report, &error), error);
    uint64_t content = report.content;
    reduce_and_die(TD_REDUCE_CHECK, 12);
    char *bytes = NULL;
    size_t size = 0;
    static const char part[] = OUT ".work/snapshots-00000.part";
    assert_ok(td_file_read(part, &bytes, &size, &error), error);
    bytes[size / 2] ^= 1;
    assert_ok(td_file_write(part, bytes, size, &error), error);
    free(bytes);
    assert_ok(reduce(0, false, &report, &error), error);
    assert_true(report.content == content);
}

static void expect(tdStatus status, const tdError *error, const char *words)
{
    assert_int_equal(status, TD_ERROR_INPUT);
    if (strstr(error->message, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, error->message);
}

static void test_other_job(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    write_scene(scene);
    unlink(OUT);
    reduce_and_die(TD_REDUCE_POD, 0);
    write_scene(TEXT("90 kPa", USUAL));
    expect(reduce(0, false, &report, &error), &error, "was left by another job: it has 'scene ");
    write_scene(TEXT("100 kPa", USUAL ", max_modes: 3"));
    expect(reduce(0, false, &report, &error), &error, "it has 'max_modes 200' where this one has 'max_modes 3'");
    assert_ok(reduce(0, true, &report, &error), error); // --restart
    assert_int_equal(report.modes, 3);
    assert_true(report.pod_error > 1e-4);
    // The user's own folder is not taken for one of ours.
    assert_int_equal(mkdir(OUT ".work", 0777), 0);
    assert_ok(td_file_write(OUT ".work/notes.md", "mine", 4, &error), error);
    expect(reduce(0, true, &report, &error), &error, "is in the way");
    assert_true(exists(OUT ".work/notes.md"));
    unlink(OUT ".work/notes.md");
    unlink(OUT ".work/lock");
    rmdir(OUT ".work");
}

// A reduced model of another scene is refused when it is used.
static void test_other_scene(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    write_scene(scene);
    assert_ok(reduce(0, true, &report, &error), error);
    write_scene(TEXT("90 kPa", USUAL));
    settings.rom = OUT;
    expect(td_model_load(SCENE, &settings, &model, &error), &error, "made for another scene");
}

static bool stop_there(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    (void)user;
    (void)total;
    return !(phase == TD_REDUCE_SNAPSHOTS && done >= 30);
}

// A stop in order is no error and keeps the work.
static void test_stop(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error = {0};
    write_scene(scene);
    unlink(OUT);
    tdReduceTask task = {.scene = SCENE, .out = OUT, .restart = true, .settings = td_default_settings()};
    task.progress = stop_there;
    assert_ok(td_reduce(&task, &report, &error), error);
    assert_true(report.stopped);
    assert_false(exists(OUT));
    assert_ok(reduce(0, false, &report, &error), error);
    assert_true(report.resumed && !report.stopped && exists(OUT));
}

static void test_refusals(void **unused)
{
    (void)unused;
    static const char *const cases[][2] = {
        {"tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n"
         "  - {name: a, mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}, material: {law: linear, young: 1 kPa, "
         "poisson: 0.3, density: 1}, fixed: [{group: xmin}]}\n",
         "the scene has no actuator"},
        {"tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n"
         "  - {name: a, mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}, material: {law: linear, young: 1 kPa, "
         "poisson: 0.3, density: 1}}\n"
         "actuators: [{name: f, type: force, body: a, group: xmax, direction: [1, 0, 0], drive: force, range: [0, "
         "1]}]\n",
         "which nothing holds"},
        {TEXT("100 kPa", "samples: greedy, count: 3"), "greedy are not supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdReduceReport report;
        tdError error;
        write_scene(cases[i][0]);
        expect(reduce(0, true, &report, &error), &error, cases[i][1]);
        assert_false(exists(OUT ".work"));
    }
}

static int remove_files(void **unused)
{
    (void)unused;
    unlink(SCENE);
    unlink(OUT);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),     cmocka_unit_test(test_threads),   cmocka_unit_test(test_killed),
        cmocka_unit_test(test_damaged_part), cmocka_unit_test(test_other_job), cmocka_unit_test(test_other_scene),
        cmocka_unit_test(test_stop),         cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
