// SPDX-License-Identifier: Apache-2.0
// The offline stage from end to end, on a small arm with two cables: accurate where training was not, the same bits
// whatever the number of threads and wherever it was killed, and nothing continued that belongs to another job.
#define SCENE "test_reduce.yaml"
#define OUT   "test_reduce.h5"
#include "reduce_job.h"

#include "base/lock.h"

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

    tdModel *reduced = load(OUT);
    assert_int_equal(td_model_dofs(reduced), report.modes);
    td_model_free(reduced);
    assert_true(worst_on_the_way() < 0.04); // the drop at the start excites waves that no equilibrium has
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

#define WORK "test_reduce.shares"

// Any number of jobs gives the model of one process, to the bit; what is missing is refused by name.
static void test_shares(void **unused)
{
    (void)unused;
    static const int numbers[] = {1, 2, 3, 7};
    tdReduceReport report;
    tdError error;
    write_scene(scene);
    assert_ok(reduce(0, true, &report, &error), error);
    uint64_t content = report.content;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    {
        int n = numbers[i];
        remove_work(WORK);
        for (int k = n; k >= 1; k--) // whoever comes first
            share_and_die(WORK, k, n, TD_REDUCE_PHASES, -1);
        unlink(OUT);
        assert_ok(merge(WORK, &report, &error), error);
        assert_true(report.content == content);
        assert_int_equal(report.trajectories, 3);
        assert_int_equal(report.reused[TD_REDUCE_SNAPSHOTS] + report.reused[TD_REDUCE_CHECK], report.places);
        assert_true(report.longest_trajectory > 0 && report.longest_trajectory <= report.trajectory_seconds);
        assert_true(exists(WORK));
    }
    unlink(WORK "/snapshots-00001.part");
    expect(merge(WORK, &report, &error), &error,
           "1 of 3 trajectories are missing: snapshots 1. Run the unfinished jobs");
    unlink(WORK "/snapshots-00000.part");
    unlink(WORK "/check-full-00000.part");
    expect(merge(WORK, &report, &error), &error, "3 of 3 trajectories are missing: snapshots 0-1; check-full 0. Run");
    remove_work(WORK);
}

// Two processes with the same share at the same time, killed here and there, begun again: the model is the same. A job
// of another scene is kept out, and so is a merge while jobs are at work.
static void test_shares_killed(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    write_scene(scene);
    assert_ok(reduce(0, true, &report, &error), error);
    uint64_t content = report.content;
    remove_work(WORK);
    share_and_die(WORK, 1, 2, TD_REDUCE_SNAPSHOTS, 9);
    share_and_die(WORK, 2, 2, TD_REDUCE_SNAPSHOTS, 1);
    share_and_die(WORK, 2, 2, TD_REDUCE_CHECK, 3);
    expect(merge(WORK, &report, &error), &error, "trajectories are missing");
    tdLock other = TD_UNLOCKED;
    assert_ok(td_lock_share(&other, WORK "/lock", WORK, "wait", &error), error);
    expect(merge(WORK, &report, &error), &error, "is writing there");
    pid_t twins[2];
    fflush(NULL);
    for (int i = 0; i < 2; i++)
    {
        twins[i] = fork();
        assert_true(twins[i] >= 0);
        if (twins[i] == 0)
        {
            share_and_die(WORK, 1, 1, TD_REDUCE_PHASES, -1);
            _exit(0);
        }
    }
    for (int i = 0; i < 2; i++)
    {
        int status = 0;
        assert_int_equal(waitpid(twins[i], &status, 0), twins[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    td_lock_release(&other);
    write_scene(TEXT("90 kPa", USUAL));
    expect(merge(WORK, &report, &error), &error, "was left by another job");
    write_scene(scene);
    unlink(OUT);
    assert_ok(merge(WORK, &report, &error), error);
    assert_true(report.content == content);
    remove_work(WORK);
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
    write_scene(TEXT("100 kPa", "samples: grid, levels: 3, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3"));
    expect(reduce(0, false, &report, &error), &error, "it has 'steps_between 3' where this one has 'steps_between 1'");
    assert_ok(reduce(0, true, &report, &error), error); // --restart
    assert_false(report.resumed);
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

// Along the scene's motion, where nothing touches: equilibria at as many places as were asked for, after gravity has
// come on. (What touches follows the motion step by step: test_crawl.)
static void motion_without_contact(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    write_scene(TEXT("100 kPa", "samples: motion, count: 6, pod_tolerance: 1e-3, ecsw_tolerance: 1e-2"));
    assert_ok(reduce(1, true, &report, &error), error);
    assert_int_equal(report.snapshots, 6);
    assert_true(report.weight_snapshots > 0);
    unlink(OUT);
    write_scene(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(motion_without_contact), cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_threads),           cmocka_unit_test(test_killed),
        cmocka_unit_test(test_damaged_part),      cmocka_unit_test(test_other_job),
        cmocka_unit_test(test_other_scene),       cmocka_unit_test(test_stop),
        cmocka_unit_test(test_refusals),          cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shares_killed),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
