// SPDX-License-Identifier: Apache-2.0
// The folder of --out: one run at a time, nothing written over unasked, nothing written twice.
#include "program.h"

#include <hdf5.h>

static const char scene[] = "tendril: 1\n"
                            "gravity: [0, 0, -9.81 m/s^2]\n"
                            "time_step: 10 ms\n"
                            "steps: 12\n"
                            "bodies:\n"
                            "  - name: beam\n"
                            "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 2, 2]}\n"
                            "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n"
                            "    fixed: [{group: xmin}]\n"
                            "probes: [{name: tip, body: beam, point: [0.1, 0.01, 0.01]}]\n"
                            "output: {every: 2, formats: [vtu, csv, hdf5]}\n";

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("good.yaml", scene);
    return 0;
}

// Frames that run.h5 of a folder has; fails when it cannot be read.
static int frames_of(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/run.h5", folder, name);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    hid_t set = H5Dopen2(file, "/frames/step", H5P_DEFAULT), space = H5Dget_space(set);
    int n = (int)H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
    return n;
}

static int entries_of(const char *name)
{
    char *text = read_text(name);
    int n = 0;
    for (const char *at = text; (at = strstr(at, "<DataSet")) != NULL; at++)
        n++;
    free(text);
    return n;
}

// Every step once and in order.
static void assert_no_hole(const char *name, int every)
{
    char *text = read_text(name);
    long next = 0;
    for (const char *at = strchr(text, '\n'); at != NULL && at[1] != '\0'; at = strchr(at + 1, '\n'))
    {
        long step = strtol(at + 1, NULL, 10);
        bool last = strchr(at + 1, '\n')[1] == '\0';
        if (step != next && !(last && step < next))
            fail_msg("%s: step %ld where %ld was expected", name, step, next);
        next += every;
    }
    free(text);
}

static void test_second_run_is_kept_out(void **state)
{
    (void)state;
    pid_t first = start_command("run", "good.yaml --steps 100000000 --every 1 --out busy --quiet");
    await("busy/beam_000020.vtu");
    char who[64], command[1024];
    snprintf(who, sizeof who, "busy: process %ld is writing there; ", (long)first);
    static const char *const words[] = {"", "--force", "--resume none.h5", "--every 0 --force"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    {
        // Its streams are its own, since the first run's are being written.
        snprintf(command, sizeof command, "cd %s && %s run good.yaml --out busy %s >second.txt 2>&1", folder,
                 TD_PROGRAM, words[i]);
        int code = system(command);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 3);
        assert_says("second.txt", who);
    }
    snprintf(command, sizeof command, "cd %s && %s control good.yaml --target none.csv --out busy >second.txt 2>&1",
             folder, TD_PROGRAM);
    int code = system(command);
    assert_int_equal(WEXITSTATUS(code), 3);
    assert_says("second.txt", who);
    kill(first, SIGINT);
    assert_int_equal(finish(first), 130);
    assert_no_hole("busy/probes.csv", 1);
    assert_no_hole("busy/report.csv", 1);
    int rows = rows_of("busy/probes.csv");
    assert_true(rows > 20);
    assert_int_equal(frames_of("busy"), rows);
    assert_int_equal(entries_of("busy/run.pvd"), rows);
    assert_false(exists("busy/.lock"));
}

static void test_killed_run_blocks_nobody(void **state)
{
    (void)state;
    pid_t first = start_command("run", "good.yaml --steps 100000000 --every 1 --out killed --quiet");
    await("killed/beam_000003.vtu");
    kill(first, SIGKILL);
    assert_int_equal(finish(first), -SIGKILL);
    assert_true(exists("killed/.lock"));
    assert_int_equal(run_command("run", "good.yaml --out killed --force --quiet"), 0);
    assert_int_equal(rows_of("killed/probes.csv"), 7);
    assert_false(exists("killed/.lock"));
}

static void test_earlier_run_is_not_written_over(void **state)
{
    (void)state;
    char often[sizeof scene + 32];
    snprintf(often, sizeof often, "%.*s, checkpoint_every: 4}\n", (int)(sizeof scene - 3), scene);
    write_text("often.yaml", often);
    assert_int_equal(run_command("run", "often.yaml --out kept --quiet"), 0);
    char *before = read_text("kept/report.csv");
    assert_refuses("run", "often.yaml --steps 4 --out kept --quiet", 3, "kept: already holds an earlier run (run.pvd)");
    assert_says("stderr.txt", "--resume kept/checkpoint.h5");
    assert_says("stderr.txt", "run often.yaml --steps 4 --out kept --quiet --force\n"); // to be typed as it is
    char *after = read_text("kept/report.csv");
    assert_string_equal(before, after);
    assert_int_equal(frames_of("kept"), 7);
    free(before);
    free(after);
    // A scene that is wrong does not cost the earlier run either.
    write_text("wrong.yaml", "tendril: 1\nbodies: 3\n");
    assert_int_equal(run_command("run", "wrong.yaml --out kept --force --quiet"), 3);
    assert_int_equal(rows_of("kept/report.csv"), 7);
    assert_int_equal(run_command("run", "good.yaml --steps 4 --out kept --force --quiet"), 0);
    assert_int_equal(rows_of("kept/report.csv"), 3);
    assert_int_equal(frames_of("kept"), 3);
    assert_false(exists("kept/checkpoint.h5")); // of the run that is no more
    assert_refuses("run", "good.yaml --force", 2, "--force applies to the folder of --out");
    assert_int_equal(run_command("run", "good.yaml --out 'with space' --quiet --steps 2"), 0);
    assert_refuses("run", "good.yaml --out 'with space' --quiet", 3, "--out 'with space' --quiet --force");
}

static void test_failed_start_leaves_no_folder(void **state)
{
    (void)state;
    assert_int_equal(run_command("run", "nothere.yaml --out fresh --quiet"), 3);
    assert_false(exists("fresh"));
}

// A run that is at its end already has its last frame.
// A run does not go on in the folder of another scene, and touches nothing there; with and without HDF5.
static void test_folder_of_another_scene(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
    {
        char text[2048];
        snprintf(text, sizeof text, "%s", scene);
        if (k == 1)
            memcpy(strstr(text, ", hdf5]"), "]      ", 7);
        write_text("one.yaml", text);
        memcpy(strstr(text, "100 kPa"), "300 kPa", 7);
        write_text("other.yaml", text);
        assert_int_equal(run_command("run", "one.yaml --steps 6 --checkpoint one.h5 --quiet"), 0);
        assert_int_equal(run_command("run", "other.yaml --out other --force --quiet"), 0);
        char *probes = read_text("other/probes.csv"), *pvd = read_text("other/run.pvd");
        assert_int_equal(run_command("run", "one.yaml --out other --resume one.h5"), 3);
        assert_says("stderr.txt", "holds a run of another scene");
        char *probes_now = read_text("other/probes.csv"), *pvd_now = read_text("other/run.pvd");
        assert_string_equal(probes, probes_now);
        assert_string_equal(pvd, pvd_now);
        free(probes);
        free(probes_now);
        free(pvd);
        free(pvd_now);
    }
}

static void test_finished_run_resumed_adds_nothing(void **state)
{
    (void)state;
    assert_int_equal(run_command("run", "good.yaml --out done --checkpoint done.h5 --quiet"), 0);
    char *report = read_text("done/report.csv");
    for (int i = 0; i < 3; i++)
    {
        assert_int_equal(run_command("run", "good.yaml --out done --resume done.h5 --checkpoint done.h5 --json"), 0);
        assert_near(json_number("frames"), 0, 0);
        assert_says("stderr.txt", "done has the frame of step 12 already; none was added");
        char *again = read_text("done/report.csv");
        assert_string_equal(report, again);
        free(again);
        assert_int_equal(rows_of("done/probes.csv"), 7);
        assert_int_equal(rows_of("done/reactions.csv"), 7);
        assert_int_equal(entries_of("done/run.pvd"), 7);
        assert_int_equal(frames_of("done"), 7);
    }
    free(report);
    // Where one table has the frame and another lost it, each gets what it lacks.
    char *table = read_text("done/probes.csv");
    char *last = strrchr(table, '\n'); // behind the last row
    *last = '\0';
    *(strrchr(table, '\n') + 1) = '\0';
    write_text("done/probes.csv", table);
    char *pvd = read_text("done/run.pvd"), *entry = strstr(pvd, "beam_000012.vtu");
    assert_non_null(entry);
    entry[9] = entry[10] = '9'; // of a step that is to come
    write_text("done/run.pvd", pvd);
    free(pvd);
    free(table);
    assert_int_equal(run_command("run", "good.yaml --out done --resume done.h5 --quiet"), 0);
    assert_int_equal(entries_of("done/run.pvd"), 7);
    assert_int_equal(rows_of("done/reactions.csv"), 7);
    assert_int_equal(rows_of("done/probes.csv"), 7);
    assert_int_equal(frames_of("done"), 7);
    // It goes on as ever.
    assert_int_equal(run_command("run", "good.yaml --steps 16 --out done --resume done.h5 --quiet"), 0);
    assert_int_equal(rows_of("done/probes.csv"), 9);
    assert_int_equal(frames_of("done"), 9);
}

// Frames every second step up to step 4, and a checkpoint of step 8 that another run left.
static void test_hole_is_told(void **state)
{
    (void)state;
    assert_int_equal(run_command("run", "good.yaml --steps 4 --out gap --quiet"), 0);
    assert_int_equal(run_command("run", "good.yaml --steps 8 --checkpoint later.h5 --quiet"), 0);
    assert_int_equal(run_command("run", "good.yaml --out gap --resume later.h5 --quiet"), 0);
    assert_says("stderr.txt",
                "gap has frames up to step 4 and the run continues from step 8: those in between are missing");
    assert_says("stderr.txt", "resume from a checkpoint at or before step 4, or into a new folder");
    assert_int_equal(run_command("run", "good.yaml --steps 4 --out whole --checkpoint four.h5 --quiet"), 0);
    assert_int_equal(run_command("run", "good.yaml --out whole --resume four.h5 --quiet"), 0);
    char *said = read_text("stderr.txt");
    assert_null(strstr(said, "missing"));
    free(said);
}

static void test_checkpoint_beyond_the_end(void **state)
{
    (void)state;
    assert_int_equal(run_command("run", "good.yaml --steps 8 --checkpoint eight.h5 --quiet"), 0);
    assert_int_equal(run_command("run", "good.yaml --steps 5 --resume eight.h5 --quiet"), 2);
    assert_says("stderr.txt", "eight.h5 is at step 8, beyond step 5 where this run should end; give a later end");
    assert_int_equal(run_command("run", "good.yaml --steps 8 --resume eight.h5 --quiet"), 0);
}

static void test_stale_files_are_cleared(void **state)
{
    (void)state;
    pid_t gone = start_command("info", "--help");
    assert_int_equal(finish(gone), 0);
    char command[128], name[64];
    snprintf(command, sizeof command, "mkdir %s/swept && touch %s/swept/beam_000007.vtu.tmp%ld", folder, folder,
             (long)gone);
    assert_int_equal(system(command), 0);
    assert_int_equal(run_command("run", "good.yaml --out swept --quiet"), 0);
    snprintf(name, sizeof name, "swept/beam_000007.vtu.tmp%ld", (long)gone);
    assert_false(exists(name));
}

// A shorter run over a longer one leaves no frame of the longer one behind, and no file that is not its own is touched.
static void test_force_removes_older_frames(void **state)
{
    (void)state;
    assert_int_equal(run_command("run", "good.yaml --out again --every 1 --quiet"), 0);
    assert_true(exists("again/beam_000011.vtu"));
    static const char *const others[] = {"again/other_000011.vtu", "again/beam.vtu", "again/beam_notes.vtu",
                                         "again/beam_000011.txt"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        write_text(others[i], "kept");
    // In long runs the list lags behind the frames.
    write_text("again/beam_000013.vtu", "a frame that the list lacks");
    assert_int_equal(run_command("run", "good.yaml --out again --steps 4 --every 2 --force --quiet"), 0);
    for (int step = 0; step <= 13; step++)
    {
        char name[64];
        snprintf(name, sizeof name, "again/beam_%06d.vtu", step);
        if (exists(name) != (step == 0 || step == 2 || step == 4))
            fail_msg("%s is %s", name, exists(name) ? "left of the older run" : "missing");
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_true(exists(others[i]));
    assert_int_equal(entries_of("again/run.pvd"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_force_removes_older_frames),
        cmocka_unit_test(test_second_run_is_kept_out),
        cmocka_unit_test(test_killed_run_blocks_nobody),
        cmocka_unit_test(test_earlier_run_is_not_written_over),
        cmocka_unit_test(test_failed_start_leaves_no_folder),
        cmocka_unit_test(test_finished_run_resumed_adds_nothing),
        cmocka_unit_test(test_hole_is_told),
        cmocka_unit_test(test_checkpoint_beyond_the_end),
        cmocka_unit_test(test_folder_of_another_scene),
        cmocka_unit_test(test_stale_files_are_cleared),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
