// SPDX-License-Identifier: Apache-2.0
// 'tendril haptic' as a user meets it: shipped scenes, recorded motions, what it refuses. Nothing here looks at the
// clock: in lockstep there is none.
#include "program.h"

#define HAPTIC TD_SOURCE_DIR "/scenes/haptic/"

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("short.csv", "t,z [mm]\n0,0\n0.1,-3\n0.15,-3\n");
    write_text("bad.csv", "t,q\n0,0\n");
    write_text("plain.yaml",
               "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - {name: a, type: rigid, shape: {sphere: "
               "1}, density: 1}\n");
    write_text("two.yaml",
               "tendril: 1\ntime_step: 1 ms\nsteps: 1\ncontact: {}\nbodies:\n"
               "  - {name: a, type: rigid, shape: {sphere: 1}, density: 1}\n"
               "  - {name: b, type: rigid, shape: {sphere: 1}, guided: true, transform: {translate: [5, 0, 0]}}\n"
               "  - {name: c, type: rigid, shape: {sphere: 1}, guided: true, transform: {translate: [9, 0, 0]}}\n");
    return 0;
}

// A row of forces.csv: time, tool z, force z.
static void last_row(const char *file, double *time, double *tool, double *force)
{
    char *text = read_text(file), *line = strrchr(text, '\n');
    *line = '\0';
    line = strrchr(text, '\n') + 1;
    double n[13];
    assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5],
                            &n[6], &n[7], &n[8], &n[9]),
                     10);
    *time = n[0];
    *tool = n[6];
    *force = n[9];
    free(text);
}

static void test_lockstep(void **state)
{
    (void)state;
    double time, tool, force;
    for (int k = 0; k < 2; k++)
    {
        char words[400];
        snprintf(words, sizeof words,
                 HAPTIC "cube.yaml --device short.csv --lockstep --out out%d --threads %d --json --quiet", k, k + 1);
        assert_int_equal(run_command("haptic", words), 0);
        assert_near(json_number("ticks"), 151, 1);
        assert_near(json_number("steps"), 15, 1);
        assert_near(json_number("faults"), 0, 0);
        assert_true(json_number("largest_force") > 0.1 && json_number("largest_force") < 3);
    }
    last_row("out0/forces.csv", &time, &tool, &force);
    assert_near(time, 0.15, 2e-3);
    assert_true(force > 0.1);
    assert_near(tool, 0.076 - 3e-3 + force / 1000, 1e-6); // behind the device by what the coupling gives
    // The same bits each time, with one thread and two.
    char *a = read_text("out0/forces.csv"), *b = read_text("out1/forces.csv");
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_refuses("haptic", HAPTIC "cube.yaml --device short.csv --lockstep --out out0 --quiet", 3,
                   "already holds an earlier run");
}

// A simulated hand feels, and stays behind where it wants to be.
static void test_hand(void **state)
{
    (void)state;
    assert_int_equal(
        run_command("haptic", HAPTIC "cube.yaml --device hand:short.csv --lockstep --out hand --json --quiet"), 0);
    assert_true(json_number("energy_given") <= 1e-3);
    assert_says("stdout.txt", "the hand was given");
    assert_int_equal(run_command("haptic", HAPTIC "cube.yaml --device hand:short.csv --lockstep --quiet"), 0);
    assert_says("stdout.txt", "too heavy?");
}

// The other shipped scenes with their motions, as far as a tenth of a second goes; and a reduced body with a step for
// each tick.
static void test_scenes(void **state)
{
    (void)state;
    assert_int_equal(
        run_command("haptic", HAPTIC "slab.yaml --device " HAPTIC "rub.csv --lockstep --time 0.3 --json --quiet"), 0);
    assert_near(json_number("faults"), 0, 0);
    assert_int_equal(
        run_command("haptic", HAPTIC "nodule.yaml --device " HAPTIC "stroke.csv --lockstep --time 0.1 --json --quiet"),
        0);
    assert_near(json_number("ticks"), 100, 1);
    assert_int_equal(run_command("reduce", HAPTIC "reduced.yaml -o cube.h5 --quiet"), 0);
    assert_int_equal(run_command("haptic",
                                 HAPTIC "reduced.yaml --rom cube.h5 --device short.csv --lockstep --rate 2000 "
                                        "--out reduced --json --quiet"),
                     0);
    assert_near(json_number("ticks"), json_number("steps"), 1);
    assert_true(json_number("largest_force") > 0.1);
}

// Several tools, each with its device; a grasper; the asynchronous factor by one setting.
static void test_tools(void **state)
{
    (void)state;
    assert_int_equal(run_command("haptic", HAPTIC "eye.yaml --device needle=" HAPTIC "needle.csv,light=" HAPTIC
                                                  "light.csv --lockstep --time 0.4 --out eye --json --quiet"),
                     0);
    assert_says("stdout.txt", "\"tool\": \"needle\"");
    assert_says("stdout.txt", "\"tool\": \"light\"");
    double time, tool, force;
    last_row("eye/forces_light.csv", &time, &tool, &force);
    assert_near(time, 0.4, 2e-3);
    assert_int_equal(run_command("haptic", HAPTIC "abdomen.yaml --device left=" HAPTIC "left.csv,right=" HAPTIC
                                                  "right.csv --lockstep --time 0.1 --quiet"),
                     0);
    assert_says("stdout.txt", "tool        right");
    assert_int_equal(
        run_command("haptic", HAPTIC "grasp.yaml --device " HAPTIC "pull.csv --lockstep --time 0.6 --json --quiet"), 0);
    assert_true(json_number("most_contacts") > 10);
    assert_int_equal(run_command("haptic", HAPTIC "cube.yaml --device short.csv --lockstep --json --quiet --set "
                                                  "solver.type=asynchronous --set solver.lag=3"),
                     0);
    assert_true(json_number("largest_force") > 0.1);
    assert_refuses("haptic", HAPTIC "eye.yaml --device needle=short.csv,needle=short.csv", 2, "has two devices");
    assert_refuses("haptic", HAPTIC "eye.yaml --device short.csv,short.csv", 2, "given as TOOL=DEVICE");
    assert_refuses("haptic", HAPTIC "eye.yaml --device needle=short.csv,", 2, "with commas between them");
    assert_refuses("haptic", HAPTIC "grasp.yaml --device lower=short.csv", 3, "there is no body 'lower'");
}

// A device that is not heard of: no force, said at once and in the end, and the simulation goes on. Also in the loop
// that steps itself.
static void test_silent(void **state)
{
    (void)state;
    assert_int_equal(run_command("haptic", HAPTIC "cube.yaml --device udp:0 --time 2 --json --quiet"), 0);
    assert_says("stderr.txt", "warning: no force");
    assert_says("stderr.txt", "nothing was received for 10 ms");
    assert_near(json_number("nothing_received"), 1, 0);
    assert_near(json_number("faults"), 1, 0);
    assert_near(json_number("impossible_pose"), 0, 0);
    assert_near(json_number("largest_force"), 0, 0);
    assert_true(json_number("steps") >= 1);
    assert_says("stdout.txt", "\"kernel\": \"Linux");
    assert_says("stdout.txt", "\"late_histogram\": [");
}

static void test_refusals(void **state)
{
    (void)state;
    assert_refuses("haptic", HAPTIC "cube.yaml --device hand:", 2, "write hand:FILE.csv");
    assert_refuses("haptic", HAPTIC "cube.yaml --device short.csv --stiffness -3", 2, "--stiffness -3 is not above 0");
    assert_refuses("haptic", HAPTIC "cube.yaml --device short.csv --max-force 0", 2, "--max-force 0 is not above 0");
    assert_refuses("haptic", HAPTIC "cube.yaml --device short.csv --tool prob", 3, "there is 'probe'");
    assert_refuses("haptic", HAPTIC "eye.yaml --device short.csv", 2, "--device needle=DEVICE,light=DEVICE");
    assert_refuses("haptic", HAPTIC "cube.yaml", 2, "--device is missing");
    assert_refuses("haptic", HAPTIC "cube.yaml --device phantom", 2, "there is no device 'phantom'");
    assert_refuses("haptic", HAPTIC "cube.yaml --device bad.csv", 3, "columns t, x, y, z");
    assert_refuses("haptic", HAPTIC "cube.yaml --device auto", 3, "no device was found");
    assert_refuses("haptic", HAPTIC "cube.yaml --device udp:0 --lockstep", 2, "--lockstep needs a recorded motion");
    assert_refuses("haptic", HAPTIC "cube.yaml --device short.csv --inside", 2, "must be the period of the loop");
    assert_refuses("haptic", HAPTIC "cube.yaml --device short.csv --rate 5", 2, "not between 10 and 10000");
    assert_refuses("haptic", HAPTIC "cube.yaml --device short.csv --tool cube", 3, "there is no body 'cube'");
    assert_refuses("haptic", "plain.yaml --device short.csv", 3, "the scene has no tool");
    assert_refuses("haptic", "two.yaml --device short.csv", 2, "say which one the hand holds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lockstep), cmocka_unit_test(test_hand),   cmocka_unit_test(test_scenes),
        cmocka_unit_test(test_tools),    cmocka_unit_test(test_silent), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
