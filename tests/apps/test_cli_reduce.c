// SPDX-License-Identifier: Apache-2.0
// 'tendril reduce', '--rom' and 'tendril info' of a reduced model as a user meets them.
#include "program.h"

#define SCENE(young)                                                                                                   \
    LAW_SCENE("corotational", young) "reduction: {samples: corners, pod_tolerance: 1e-3, ecsw_tolerance: 0.005}\n"
#define LAW_SCENE(law, young) BODY_SCENE(law, young, "    fixed: [{group: xmin}]\n")
#define BODY_SCENE(law, young, supports)                                                                               \
    "tendril: 1\n"                                                                                                     \
    "gravity: [0, 0, -9.81]\n"                                                                                         \
    "time_step: 20 ms\n"                                                                                               \
    "steps: 10\n"                                                                                                      \
    "bodies:\n"                                                                                                        \
    "  - name: arm\n"                                                                                                  \
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [6, 1, 1]}\n"                                              \
    "    material: {law: " law ", young: " young ", poisson: 0.4, density: 1000}\n" supports "actuators:\n"            \
    "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.02], [0, 0.01, 0.02]], drive: displacement, "       \
    "range: "                                                                                                          \
    "[0, 8 mm]}\n"                                                                                                     \
    "effectors: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n"                                                  \
    "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n"                                                     \
    "motion: {keyframes: [{t: 0, top: 0}, {t: 0.2, top: 4 mm}]}\n"                                                     \
    "validation: {random: {steps: 20, moves: 2}}\n"

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("arm.yaml", SCENE("100 kPa"));
    write_text("other.yaml", SCENE("90 kPa"));
    write_text("stvk.yaml", LAW_SCENE("stvk", "100 kPa") "reduction: {kind: stvk, modes: 4, columns: 9}\n");
    write_text("law.yaml", LAW_SCENE("corotational", "100 kPa") "reduction: {kind: stvk}\n");
    write_text("large.yaml",
               LAW_SCENE("stvk", "100 kPa") "reduction: {kind: stvk, modes: 20, columns: 100, memory: 16 MB}\n");
    write_text("thick.yaml",
               "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 20 ms\nsteps: 4\nsolver: {type: amg}\nbodies:\n"
               "  - name: arm\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [30, 6, 5]}\n"
               "    material: {law: linear, young: 100 kPa, poisson: 0.4, density: 1000}\n"
               "    fixed: [{group: xmin}]\nactuators:\n"
               "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.02], [0, 0.01, 0.02]], drive: force,\n"
               "     range: [0, 0.05]}\n"
               "reduction: {samples: latin_hypercube, count: 150, pod_tolerance: 1e-3, ecsw_tolerance: 1e-2}\n"
               "validation: {random: {steps: 4, moves: 2}}\n");
    write_text("free.yaml", BODY_SCENE("corotational", "100 kPa", "") "reduction: {ecsw_tolerance: 0.005}\n");
    write_text("fixed.yaml",
               BODY_SCENE("corotational", "100 kPa", "") "reduction: {ecsw_tolerance: 0.005, frame: fixed}\n");
    return 0;
}

static void test_reduces(void **state)
{
    (void)state;
    assert_int_equal(run_command("reduce", "arm.yaml -o arm.h5 --json --quiet"), 0);
    assert_near(json_number("snapshots"), 10, 0);
    assert_true(json_number("modes") >= 1);
    assert_near(json_number("elements"), 36, 0);
    assert_true(json_number("rid_elements") >= 1 && json_number("rid_elements") < 36);
    assert_true(json_number("pod_error") <= 1e-3);
    assert_true(json_number("ecsw_error") <= 0.005);
    assert_true(json_number("held_out_error") < 0.1);
    assert_true(json_number("peak_rss") > 0);
    assert_true(exists("arm.h5"));
    assert_false(exists("arm.h5.work"));
    assert_int_equal(run_command("reduce", "arm.yaml -o arm.h5 --keep"), 0);
    assert_true(exists("arm.h5.work"));
    assert_refuses("reduce", "other.yaml -o arm.h5 --quiet", 3, "was left by another job");
    assert_int_equal(run_command("reduce", "arm.yaml -o arm.h5 --quiet"), 0);
    assert_false(exists("arm.h5.work"));
}

static void test_runs(void **state)
{
    (void)state;
    assert_int_equal(run_command("reduce", "arm.yaml -o arm.h5 --quiet"), 0);
    assert_int_equal(run_command("run", "arm.yaml --json --quiet"), 0);
    double dofs = json_number("dofs");
    assert_int_equal(run_command("run", "arm.yaml --rom arm.h5 --json --quiet"), 0);
    assert_true(json_number("dofs") < dofs / 4);
    assert_int_equal(run_command("run", "arm.yaml --rom arm.h5 --rom-whole --out out --json --quiet"), 0);
    assert_int_equal(run_command("check", "arm.yaml --rom arm.h5 --quiet"), 0);
    assert_int_equal(run_command("workspace", "arm.yaml --rom arm.h5 --samples 3 --json --quiet"), 0);
    assert_near(json_number("reached"), 3, 0);
    // Of another scene, of no file, and without any.
    assert_refuses("run", "other.yaml --rom arm.h5 --quiet", 3, "made for another scene");
    assert_refuses("run", "arm.yaml --rom none.h5 --quiet", 3, "none.h5: cannot be opened");
    assert_refuses("run", "arm.yaml --rom arm.yaml --quiet", 3, "is not a reduced model");
    assert_refuses("run", "arm.yaml --rom-whole --quiet", 2, "give --rom FILE too");
}

static void test_info(void **state)
{
    (void)state;
    assert_int_equal(run_command("reduce", "arm.yaml -o arm.h5 --quiet"), 0);
    assert_int_equal(run_command("info", "arm.h5 --plot modes.png"), 0);
    assert_says("stdout.txt", "reduced model of body 'arm'");
    assert_true(exists("modes.png"));
    assert_int_equal(run_command("info", "arm.h5 --json"), 0);
    assert_near(json_number("snapshots"), 10, 0);
    write_text("bad.h5", "not HDF5");
    assert_refuses("info", "bad.h5", 3, "is not a reduced model");
}

static void test_polynomials(void **state)
{
    (void)state;
    assert_int_equal(run_command("reduce", "stvk.yaml -o stvk.h5 --accept --json"), 0);
    assert_says("stderr.txt", "polynomials of 9 columns from 36 elements");
    assert_near(json_number("modes"), 9, 0);
    assert_near(json_number("vibration_modes"), 4, 0);
    assert_near(json_number("snapshots"), 0, 0);
    assert_int_equal(run_command("info", "stvk.h5 --plot modes.png"), 0);
    assert_says("stdout.txt", "polynomials of 9 coordinates");
    assert_int_equal(run_command("run", "stvk.yaml --rom stvk.h5 --json --quiet"), 0);
    assert_near(json_number("dofs"), 9, 0);
    assert_int_equal(run_command("run", "stvk.yaml --rom stvk.h5 --rom-whole --json --quiet"), 0);
    assert_refuses("reduce", "law.yaml -o law.h5 --quiet", 3, "law.yaml:8: material.law: found 'corotational'");
    assert_refuses("reduce", "large.yaml -o large.h5 --quiet", 3, "polynomials of 100 modes need");
    assert_false(exists("large.h5.work"));
}

// What is far from full order is not written unless it is asked for, and says so whenever it is used.
static void test_accepts(void **state)
{
    (void)state;
    assert_refuses("reduce", "stvk.yaml -o far.h5 --quiet", 4, "not trained on, and was not written");
    assert_says("stderr.txt", "--accept");
    assert_false(exists("far.h5"));
    assert_true(exists("far.h5.work"));
    assert_int_equal(run_command("reduce", "stvk.yaml -o far.h5 --accept --json --quiet"), 0);
    assert_true(json_number("held_out_error") > 0.2 && json_number("motion_steps") > 0);
    assert_false(exists("far.h5.work"));
    assert_int_equal(run_command("run", "stvk.yaml --rom far.h5"), 0);
    assert_says("stderr.txt", "of the displacements where it was checked");
}

static void test_vibrations(void **state)
{
    (void)state;
    write_text("beside.yaml", LAW_SCENE("corotational", "100 kPa") "reduction: {samples: corners, modes: 3}\n");
    assert_int_equal(run_command("reduce", "beside.yaml -o beside.h5 --accept"), 0);
    assert_says("stdout.txt", "among them 3 vibration modes from");
    assert_int_equal(run_command("info", "beside.h5 --plot modes.png"), 0);
    assert_says("stdout.txt", "of 3 vibration modes");
    assert_says("stdout.txt", "10 snapshots; the modes leave");
    write_text("alone.yaml", LAW_SCENE("corotational", "100 kPa") "reduction: {basis: modes, modes: 4}\n");
    assert_int_equal(run_command("reduce", "alone.yaml -o alone.h5 --accept --json --quiet"), 0);
    assert_near(json_number("modes"), 14, 0);
    assert_near(json_number("snapshots"), 0, 0);
    assert_true(json_number("ecsw_error") <= 0.05);
    assert_int_equal(run_command("info", "alone.h5 --plot modes.png"), 0);
    assert_says("stdout.txt", "and their derivatives");
    assert_int_equal(run_command("run", "alone.yaml --rom alone.h5 --json --quiet"), 0);
}

// A sweep over tolerances computes equilibria once.
static void test_sweep(void **state)
{
    (void)state;
    assert_int_equal(
        run_command("reduce", "arm.yaml -o a.h5 --work sweep --ecsw-tolerance 0.1 --accept --json --quiet"), 0);
    double few = json_number("rid_elements");
    assert_near(json_number("ecsw_error"), 0.05, 0.05);
    assert_int_equal(run_command("reduce", "arm.yaml -o b.h5 --work sweep --ecsw-tolerance 0.001 --json --quiet"), 0);
    assert_true(json_number("rid_elements") > few);
    assert_true(json_number("ecsw_error") <= 0.001);
    char *reused = json_value("reused");
    assert_non_null(strstr(reused, "\"snapshots\": 19"));
    free(reused);
    assert_int_equal(run_command("reduce", "arm.yaml -o b.h5 --work sweep --max-modes 1 --pod-tolerance 0.5 --accept"),
                     0);
    assert_says("stdout.txt", "reused      19 equilibria, 20 held-out points, of an earlier run");
    assert_true(exists("a.h5") && exists("b.h5") && exists("sweep/job.txt"));
    assert_refuses("reduce", "other.yaml -o c.h5 --work sweep --quiet", 3, "was left by another job");
    assert_refuses("reduce", "arm.yaml -o c.h5 --ecsw-tolerance 1", 2, "expected a number > 0 and < 1");
    assert_refuses("reduce", "arm.yaml -o c.h5 --max-modes 2001", 2, "expected at most 2000");
    assert_refuses("reduce", "stvk.yaml -o c.h5 --ecsw-tolerance 0.1", 3, "the polynomials of kind stvk are exact");
    assert_refuses("reduce", "stvk.yaml -o c.h5 --max-modes 3", 3, "basis modes has no snapshots");
    assert_false(exists("c.h5"));
}

// A body that nothing holds: on a frame of its own.
static void test_frame(void **state)
{
    (void)state;
    assert_int_equal(run_command("reduce", "free.yaml -o free.h5 --json --quiet"), 0);
    assert_true(json_number("held_out_error") < 0.1);
    double modes = json_number("modes");
    assert_int_equal(run_command("info", "free.h5"), 0);
    assert_says("stdout.txt", "a rigid frame carries the modes");
    assert_int_equal(run_command("run", "free.yaml --rom free.h5 --out out_free --json --quiet"), 0);
    assert_near(json_number("dofs"), modes + 6, 0);
    assert_int_equal(run_command("compare", "free.yaml --rom free.h5 --quiet"), 0);
    assert_refuses("run", "arm.yaml --rom free.h5 --quiet", 3, "supports");
    assert_refuses("reduce", "fixed.yaml -o fixed.h5 --quiet", 3, "its frame cannot be fixed");
}

#define ARM(name, y, more)                                                                                             \
    "  - name: " name "\n"                                                                                             \
    "    mesh: {box: [[0, " y ", 0], [0.1, 0.02, 0.02]], cells: [4, 1, 1]}\n"                                          \
    "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n"                                 \
    "    fixed: [{group: xmin}]\n" more
#define BOTH(left, right)                                                                                              \
    "tendril: 1\ntime_step: 10 ms\nsteps: 20\ngravity: [0, 0, -9.81]\nbodies:\n" ARM("left", "0", left) ARM(           \
        "right", "-0.02",                                                                                              \
        right) "  - name: cube\n"                                                                                      \
               "    mesh: {box: [[0, 1, 1], [0.02, 1.02, 1.02]], cells: [1, 1, 1]}\n"                                  \
               "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n"                      \
               "actuators:\n"                                                                                          \
               "  - {name: up, type: cable, body: left, path: [[0.09, 0.01, 0.02], [0, 0.01, 0.02]], drive: "          \
               "displacement,\n"                                                                                       \
               "     range: [0, 8 mm]}\n"                                                                              \
               "  - {name: down, type: cable, body: right, path: [[0.09, 0, 0], [0, 0, 0]], drive: displacement,\n"    \
               "     range: [0, 5 mm]}\n"                                                                              \
               "probes: [{name: tip, body: left, point: [0.1, 0.01, 0.01]}]\n"                                         \
               "motion: {keyframes: [{t: 0, up: 0, down: 0}, {t: 0.2, up: 4 mm, down: 2 mm}]}\n"                       \
               "reduction: {body: left, ecsw_tolerance: 0.005}\n"                                                      \
               "validation: {random: {steps: 20, moves: 2}}\n"

// Several reduced bodies beside one of full order, which is free: each is reduced on its own, whatever the others are,
// and moves as it does where it alone is reduced.
static void test_several(void **state)
{
    (void)state;
    write_text("both.yaml", BOTH("", ""));
    write_text("reduced.yaml", BOTH("    rom: left.h5\n", "    rom: right.h5\n"));
    assert_refuses("check", "reduced.yaml --quiet", 3, "reduced.yaml:10: bodies[0].rom: ");
    assert_refuses("reduce", "both.yaml -o left.h5 --body middle --quiet", 3, "there is no body 'middle'");
    assert_int_equal(run_command("reduce", "both.yaml -o left.h5 --json --accept --quiet"), 0);
    double left = json_number("modes");
    assert_int_equal(run_command("reduce", "reduced.yaml -o right.h5 --body right --json --accept --quiet"), 0);
    double right = json_number("modes"), cube = 24;
    assert_int_equal(run_command("run", "reduced.yaml --json --quiet --out several --force"), 0);
    assert_near(json_number("dofs"), left + right + cube, 0);
    assert_int_equal(run_command("run", "both.yaml --rom left.h5 --json --quiet --out one --force"), 0);
    char *several = read_text("several/probes.csv"), *one = read_text("one/probes.csv");
    assert_string_equal(several, one);
    free(several);
    free(one);
    assert_int_equal(run_command("run", "reduced.yaml --full-order --json --quiet"), 0);
    assert_true(json_number("dofs") > 2 * cube + left + right);
    assert_int_equal(run_command("compare", "reduced.yaml --rom left.h5 --json --quiet"), 0);
    // Each alone, into the file that the scene names: as if it were the only body.
    assert_refuses("reduce", "both.yaml --all --quiet", 3, "no body names the file of its reduced model");
    assert_refuses("reduce", "reduced.yaml --all -o left.h5 --quiet", 2, "--all takes bodies and files from the scene");
    assert_int_equal(run_command("reduce", "reduced.yaml --all --accept --quiet"), 0);
    assert_int_equal(run_command("run", "reduced.yaml --json --quiet --out several --force"), 0);
}

// As Slurm would run the shipped script: an array of two jobs, then the merge.
static int run_batch(const char *environment, const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && TENDRIL=%s TENDRIL_OPTIONS='--quiet --json' %s %s/examples/reduce.sbatch %s >stdout.txt "
             "2>stderr.txt",
             folder, TD_PROGRAM, environment, TD_SOURCE_DIR, arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_jobs(void **state)
{
    (void)state;
    assert_int_equal(run_command("reduce", "arm.yaml -o whole.h5 --json --quiet"), 0);
    char *whole = json_value("content");
    assert_int_equal(run_batch("SLURM_ARRAY_TASK_ID=2 SLURM_CPUS_PER_TASK=2", "arm.yaml shares 2"), 0);
    assert_near(json_number("job"), 2, 0);
    assert_near(json_number("reused"), 0, 0);
    assert_int_equal(run_batch("", "arm.yaml shares arm.h5"), 3);
    assert_says("stderr.txt", "shares: 1 of 2 trajectories are missing: check-full 0. Run the unfinished jobs");
    assert_int_equal(run_batch("SLURM_ARRAY_TASK_ID=1", "arm.yaml shares 2"), 0);
    double places = json_number("places");
    assert_int_equal(run_batch("SLURM_ARRAY_TASK_ID=1", "arm.yaml shares 2"), 0);
    assert_near(json_number("reused"), places, 0);
    assert_int_equal(run_command("reduce", "arm.yaml --work shares --job 5/5 --quiet"), 0);
    assert_says("stdout.txt", "job 5 of 5: nothing to do");
    assert_int_equal(run_batch("", "arm.yaml shares arm.h5"), 0);
    assert_near(json_number("trajectories"), 2, 0);
    assert_true(json_number("trajectory_s") > 0);
    char *merged = json_value("content");
    assert_string_equal(merged, whole);
    free(merged);
    free(whole);
    assert_int_equal(run_batch("", "arm.yaml shares"), 2);
    static const char *const bad[] = {"0/2", "3/2", "1", "1/", "/2", "1/2x", "-1/2", "1/0", "a/b", "1/100001"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        char arguments[80];
        snprintf(arguments, sizeof arguments, "arm.yaml --work shares --job %s", bad[i]);
        assert_refuses("reduce", arguments, 2, "expected I/N");
    }
    assert_refuses("reduce", "arm.yaml --job 1/2", 2, "needs --work FOLDER");
    assert_refuses("reduce", "arm.yaml --merge -o arm.h5", 2, "needs --work FOLDER");
    assert_refuses("reduce", "arm.yaml --work shares --merge", 2, "give -o FILE.h5");
    assert_refuses("reduce", "arm.yaml --work shares --job 1/2 --merge", 2, "give one of them");
    assert_refuses("reduce", "arm.yaml --work shares --job 1/2 -o arm.h5", 2, "writes no model");
    assert_refuses("reduce", "arm.yaml --work shares --job 1/2 --restart", 2, "remove the folder");
    assert_refuses("reduce", "arm.yaml --work shares --job 1/2 --max-modes 3", 2, "give them to --merge");
    assert_refuses("reduce", "other.yaml --work shares --job 1/2 --quiet", 3, "was left by another job");
}

// What work takes beside the scene stays within --memory, however many threads there are; what cannot is refused before
// any work.
static void test_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip_because("a sanitizer's own memory is among that of the program");
#endif
    assert_int_equal(run_command("reduce", "thick.yaml --work nothing --job 9/9 --json --quiet"), 0);
    double scene = json_number("peak_rss");
    assert_refuses("reduce", "thick.yaml -o thick.h5 --memory '16 MB' --quiet", 5, "one trajectory at a time takes");
    // Without the option what the scene allows for is not kept, and that is said.
    assert_int_equal(run_command("reduce", "thick.yaml --work nothing --job 9/9 --set 'reduction.memory=16 MB' --json"),
                     0);
    assert_says("stderr.txt", "more than the 0.016 GB of reduction.memory");
    // Four trajectories at a time would take three times as much.
    assert_int_equal(
        run_command("reduce", "thick.yaml -o thick.h5 --memory '30 MB' --threads 6 --json --quiet --accept"), 0);
    assert_true(json_number("peak_rss") <= scene + 30e6);
    assert_refuses("reduce", "arm.yaml -o arm.h5 --memory 12", 2, "expected a number with MB or GB");
    assert_refuses("reduce", "arm.yaml -o arm.h5 --memory '1 MB'", 2, "16 MB at least");
}

static void test_usage(void **state)
{
    (void)state;
    assert_int_equal(run_command("reduce", "--help"), 0);
    assert_refuses("reduce", "arm.yaml", 2, "give -o FILE.h5");
    assert_int_equal(run_command("reduce", "-o arm.h5"), 2);
    assert_int_equal(run_command("reduce", "none.yaml -o none.h5"), 3);
    assert_int_equal(run_command("reduce", "arm.yaml -o no/such/folder/arm.h5 --threads 0"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduces),     cmocka_unit_test(test_runs),  cmocka_unit_test(test_info),
        cmocka_unit_test(test_polynomials), cmocka_unit_test(test_sweep), cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_vibrations),  cmocka_unit_test(test_frame), cmocka_unit_test(test_several),
        cmocka_unit_test(test_jobs),        cmocka_unit_test(test_usage), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
