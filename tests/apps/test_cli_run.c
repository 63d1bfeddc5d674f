// SPDX-License-Identifier: Apache-2.0
// 'tendril run' as a user meets it: exit codes, streams, JSON, files, going on, interruption.
#include "program.h"

static const char good_scene[] = "tendril: 1\n"
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

// Of two cables one is asked for more than it may give from 50 ms on; a third actuator pushes.
static const char pulled_scene[] =
    "tendril: 1\n"
    "units: {length: mm, mass: kg, time: s}\n"
    "time_step: 10 ms\n"
    "steps: 10\n"
    "bodies:\n"
    "  - name: arm\n"
    "    mesh: {box: [[0, 0, 0], [100, 20, 20]], cells: [5, 2, 2]}\n"
    "    material: {law: corotational, young: 200 kPa, poisson: 0.4, density: 1 g/cm^3}\n"
    "    fixed: [{group: xmin}]\n"
    "actuators:\n"
    "  - {name: top, type: cable, body: arm, path: [[90, 10, 18]], pull_point: [-20, 10, 18], drive: displacement,\n"
    "     range: [0, 20]}\n"
    "  - {name: side, type: cable, body: arm, path: [[90, 18, 10]], pull_point: [-20, 18, 10], drive: force,\n"
    "     range: [0, 0.5 N], friction: 0}\n"
    "effectors:\n"
    "  - {name: tip, body: arm, point: [100, 10, 10]}\n"
    "  - {name: reach, type: length, actuator: top}\n"
    "motion: {keyframes: [{t: 0, top: 0, side: 0}, {t: 0.1, top: 3, side: 1 N}]}\n"
    "output: {every: 5, formats: [csv]}\n";

// Pressed, and then away beyond what numbers hold: after some good steps there is no equilibrium any more.
static const char failing_scene[] =
    "tendril: 1\n"
    "time_step: 10 ms\n"
    "steps: 10\n"
    "bodies:\n"
    "  - name: block\n"
    "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [2, 2, 2]}\n"
    "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.4, density: 1000}\n"
    "    fixed: [{group: zmin}]\n"
    "    prescribed: [{name: press, group: zmax, displacement: [0, 0, -1.5]}]\n"
    "motion: {keyframes: [{t: 0, press: 0}, {t: 0.05, press: 0.2}, {t: 0.1, press: 1e17}]}\n"
    "integrator: {method: static}\n"
    "output: {every: 1, formats: [vtu, csv]}\n";

static pid_t start(const char *arguments)
{
    return start_command("run", arguments);
}

static int run(const char *arguments)
{
    return finish(start(arguments));
}

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("good.yaml", good_scene);
    write_text("failing.yaml", failing_scene);
    write_text("pulled.yaml", pulled_scene);
    return 0;
}

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(run("good.yaml"), 0);
    assert_says("stdout.txt", "beam: 54 nodes, 120 elements");
    assert_says("stdout.txt", "tip ");
    assert_says("stdout.txt", "factorizations");
    assert_says("stderr.txt", "simulating: 12 of 12");
    // Without --out nothing is written.
    assert_false(exists("run.pvd") || exists("checkpoint.h5") || exists("probes.csv"));
    assert_int_equal(run("good.yaml --quiet"), 0);
    char *text = read_text("stderr.txt");
    assert_string_equal(text, "");
    free(text);
}

static void test_json(void **state)
{
    (void)state;
    assert_int_equal(run("good.yaml --json --quiet --threads 1"), 0);
    static const char *const keys[] = {"wall_s",        "steps_per_s",    "realtime_rate", "bodies",
                                       "probes",        "reactions",      "residual",      "newton_iterations",
                                       "cg_iterations", "factorizations", "stage_seconds", "status"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        free(json_value(keys[i]));
    assert_near(json_number("steps"), 12, 0);
    assert_near(json_number("dofs"), 3 * (54 - 9), 0);
    assert_near(json_number("time"), 0.12, 1e-15);
    assert_true(json_number("peak_rss") > 1e6);
    assert_true(json_number("residual") < 1e-6);
    char *tip = json_value("tip"), *text = read_text("stdout.txt");
    double x = 0, y = 0, z = 0;
    assert_int_equal(sscanf(tip, "[%lf, %lf, %lf", &x, &y, &z), 3);
    assert_true(z < 0.01 && z > -0.1);
    // One object, on one line.
    assert_int_equal(text[0], '{');
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    free(tip);
    free(text);
}

static void test_length(void **state)
{
    (void)state;
    assert_int_equal(run("good.yaml --json --steps 5"), 0);
    assert_near(json_number("steps"), 5, 0);
    assert_int_equal(run("good.yaml --json --time 0.03"), 0);
    assert_near(json_number("steps"), 3, 0);
    assert_int_equal(run("good.yaml --json --time 0.031"), 0);
    assert_near(json_number("steps"), 4, 0);
}

static void test_bad_options(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "good.yaml --steps 0",
                                      "good.yaml --steps two",
                                      "good.yaml --steps 3 --time 1",
                                      "good.yaml --time -1",
                                      "good.yaml --time nan",
                                      "good.yaml --threads 0",
                                      "good.yaml --every 2",
                                      "good.yaml --compress",
                                      "good.yaml --out ''",
                                      "good.yaml --out",
                                      "good.yaml --rom-whole",
                                      "good.yaml extra"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        int code = run(bad[i]);
        if (code != 2)
            fail_msg("'run %s' ends with %d", bad[i], code);
        char *out = read_text("stdout.txt"), *err = read_text("stderr.txt");
        assert_string_equal(out, "");
        assert_true(strlen(err) > 10);
        free(out);
        free(err);
    }
    assert_int_equal(run("good.yaml --step 3"), 2);
    assert_says("stderr.txt", "--steps");
    assert_int_equal(run("--help"), 0);
    assert_says("stdout.txt", "--resume");
}

static void test_bad_input(void **state)
{
    (void)state;
    assert_int_equal(run("missing.yaml"), 3);
    assert_says("stderr.txt", "missing.yaml");
    write_text("bad.yaml", "tendril: 1\ntime_stop: 3\n");
    assert_int_equal(run("bad.yaml"), 3);
    assert_says("stderr.txt", "bad.yaml:2");
    assert_int_equal(run("good.yaml --resume good.yaml"), 3);
    assert_says("stderr.txt", "not a checkpoint");
    assert_int_equal(run("good.yaml --out good.yaml"), 6);
    assert_int_equal(run("good.yaml --checkpoint nowhere/state.h5"), 6);
    assert_says("stderr.txt", "nowhere/state.h5");
}

static void test_resume_equals_a_straight_run(void **state)
{
    (void)state;
    assert_int_equal(run("good.yaml --json --out straight --checkpoint straight.h5"), 0);
    char *straight = json_value("tip");
    assert_int_equal(run("good.yaml --steps 7 --out parts --checkpoint part.h5"), 0);
    assert_int_equal(run("good.yaml --json --resume part.h5 --out parts --checkpoint parts.h5 --threads 2"), 0);
    char *parts = json_value("tip");
    assert_string_equal(parts, straight);
    assert_near(json_number("steps"), 5, 0);
    assert_near(json_number("last_step"), 12, 0);
    free(straight);
    free(parts);
    char command[512];
    // Step 7 was the end of the first part, so that it has a frame that the straight run has not.
    snprintf(command, sizeof command,
             "cd %s && cmp straight.h5 parts.h5 && cmp straight/beam_000012.vtu parts/beam_000012.vtu && "
             "grep -v beam_000007 parts/run.pvd | cmp - straight/run.pvd && "
             "grep -v ^7, parts/probes.csv | cmp - straight/probes.csv",
             folder);
    assert_int_equal(system(command), 0);
    // Nothing left to do is no error.
    assert_int_equal(run("good.yaml --json --resume parts.h5"), 0);
    assert_near(json_number("steps"), 0, 0);
    assert_says("stderr.txt", "nothing left");
}

static void test_frames(void **state)
{
    (void)state;
    assert_int_equal(run("good.yaml --out frames --every 5 --compress"), 0);
    assert_true(exists("frames/beam_000000.vtu") && exists("frames/beam_000005.vtu") &&
                exists("frames/beam_000010.vtu") && exists("frames/beam_000012.vtu"));
    assert_false(exists("frames/beam_000002.vtu"));
    assert_true(exists("frames/run.pvd") && exists("frames/probes.csv") && exists("frames/reactions.csv") &&
                exists("frames/run.h5"));
    assert_false(exists("frames/checkpoint.h5"));
    assert_int_equal(run("good.yaml --out last --every 0"), 0);
    assert_true(exists("last/beam_000012.vtu"));
    assert_false(exists("last/beam_000000.vtu"));
}

static void test_failure(void **state)
{
    (void)state;
    assert_int_equal(run("failing.yaml --json --out failing"), 4);
    assert_says("stderr.txt", "failed");
    char *status = json_value("status");
    assert_string_equal(status, "\"failed\"");
    free(status);
    int last = (int)json_number("last_step");
    assert_true(last < 10);
    // What came before is there, and the run can be taken up where it stood.
    char name[64];
    snprintf(name, sizeof name, "failing/block_%06d.vtu", last);
    assert_true(exists(name));
    assert_true(exists("failing/run.pvd") && exists("failing/checkpoint.h5"));
    assert_int_equal(run("failing.yaml --resume failing/checkpoint.h5"), 4);
    assert_int_equal(run("failing.yaml"), 4);
}

static void test_interrupted(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++)
    {
        char command[128], name[64];
        snprintf(command, sizeof command, "good.yaml --json --steps 1000000 --every 2 --out stopped%d", i);
        pid_t pid = start(command);
        snprintf(name, sizeof name, "stopped%d/beam_000010.vtu", i);
        await_file(pid, name);
        kill(pid, signals[i]);
        assert_int_equal(finish(pid), 130);
        char *status = json_value("status");
        assert_string_equal(status, "\"interrupted\"");
        free(status);
        int last = (int)json_number("last_step");
        snprintf(name, sizeof name, "stopped%d/beam_%06d.vtu", i, last);
        assert_true(exists(name));
        snprintf(command, sizeof command, "good.yaml --json --steps %d --resume stopped%d/checkpoint.h5", last + 1, i);
        assert_int_equal(run(command), 0);
        assert_near(json_number("steps"), 1, 0);
    }
}

static void test_killed_run_can_be_read(void **state)
{
    (void)state;
    pid_t pid = start("good.yaml --steps 1000000 --every 1 --out killed");
    await_file(pid, "killed/beam_000010.vtu");
    kill(pid, SIGKILL);
    assert_int_equal(finish(pid), -SIGKILL);
    char *pvd = read_text("killed/run.pvd"), *csv = read_text("killed/probes.csv");
    assert_non_null(strstr(pvd, "beam_000009.vtu"));
    assert_non_null(strstr(pvd, "</VTKFile>"));
    assert_int_equal(csv[strlen(csv) - 1], '\n');
    free(pvd);
    free(csv);
}

// A path is bytes, JSON is UTF-8.
static void test_json_of_odd_names(void **state)
{
    (void)state;
    write_text("o\xFF\x01\xC3\xA9.yaml", good_scene);
    assert_int_equal(run("'o\xFF\x01\xC3\xA9.yaml' --json --quiet --steps 1 --checkpoint '\xED\xA0\x80.h5'"), 0);
    assert_says("stdout.txt", "\"scene\": \"o\xEF\xBF\xBD\\u0001\xC3\xA9.yaml\"");
    assert_says("stdout.txt", "\"checkpoint\": \"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD.h5\""); // half a pair is none
    assert_int_equal(run("'none\xFE.yaml' --json --quiet"), 3);
    assert_says("stdout.txt", "\"file\": \"none\xEF\xBF\xBD.yaml\"");
    char *kind = json_value("kind"); // of an object that is whole
    assert_string_equal(kind, "\"bad input\"");
    free(kind);
}

// Trouble that must not come out late, or not at all.
static void test_trouble_is_told(void **state)
{
    (void)state;
    assert_int_equal(run("nothere.yaml --json"), 3);
    assert_says("stdout.txt", "\"kind\": \"bad input\"");
    assert_says("stdout.txt", "\"file\": \"nothere.yaml\"");
    assert_int_equal(run("failing.yaml --json --quiet"), 4);
    assert_says("stdout.txt", "\"kind\": \"numerical failure\"");
    assert_int_equal(run("good.yaml --checkpoint nowhere/state.h5"), 6);
    assert_says("stderr.txt", "there is no folder 'nowhere'");
    assert_int_equal(run("good.yaml --checkpoint ."), 6);
    assert_says("stderr.txt", "is a folder");
    assert_int_equal(run("good.yaml --checkpoint ''"), 2);
    assert_int_equal(run("/dev/zero"), 3);
    assert_says("stderr.txt", "is a device");
    if (access("/dev/full", W_OK) != 0)
        skip_because("there is no /dev/full to write to");
    assert_int_equal(run("good.yaml --quiet >/dev/full 2>stderr.txt #"), 6);
    assert_int_equal(run("good.yaml --quiet --json >/dev/full 2>stderr.txt #"), 6);
    assert_says("stderr.txt", "cannot be written to stdout");
}

static void test_tells_of_actuators(void **state)
{
    (void)state;
    assert_int_equal(run("pulled.yaml --quiet --out pulled"), 0);
    assert_says("stdout.txt", "\nactuator ");
    assert_says("stdout.txt", "effort at its maximum");
    assert_says("stdout.txt", "\nreach ");
    assert_says("stdout.txt", "\ndrives ");
    // 1/2 N is reached at 50 ms and held in the five steps behind.
    assert_says("stderr.txt", "'side' reached its limits at 0.06 s");
    assert_says("stderr.txt", "in 5 of 10 steps");
    assert_true(exists("pulled/actuators.csv") && exists("pulled/effectors.csv"));
    assert_false(exists("pulled/cables.pvd")); // no VTU was asked for

    assert_int_equal(run("pulled.yaml --quiet --json"), 0);
    assert_near(json_number("saturated_steps"), 5, 0);
    assert_near(json_number("out_of_reach_steps"), 0, 0);
    assert_true(json_number("constraint_error") < 1e-2); // one linearization a step leaves second-order misses
    char *top = json_value("top"), *side = json_value("side"), *tip = json_value("tip");
    assert_true(strstr(top, "\"effort\": ") != NULL && strstr(tip, "\"value\": [") != NULL);
    assert_non_null(strstr(side, "\"effort\": 0.5"));
    free(top);
    free(side);
    free(tip);
}

// A target that no cable can reach, and a file of where it was tried.
static void test_tells_what_is_out_of_reach(void **state)
{
    (void)state;
    char *scene = strdup(pulled_scene), *motion = strstr(scene, "motion:"),
         *point = strstr(scene, "10, 10]}\n  - {name: r");
    assert_true(motion != NULL && point != NULL);
    char text[2000];
    snprintf(text, sizeof text, "%.*s10, 10], target: [400, 10, 60]}\n", (int)(point - scene), scene);
    write_text("far.yaml", text);
    free(scene);
    assert_int_equal(run("far.yaml --quiet --out far"), 0);
    assert_says("stderr.txt", "out of reach of the actuators within their limits in 10 of 10 steps");
    assert_says("stdout.txt", "\ninverse     10 steps");
    assert_says("stdout.txt", "  target ");
    char *table = read_text("far/effectors.csv");
    assert_non_null(strstr(table, "tip.error [m],residual,out_of_reach\n"));
    assert_int_equal(table[strlen(table) - 2], '1');
    free(table);
    assert_int_equal(run("far.yaml --quiet --json"), 0);
    assert_near(json_number("out_of_reach_steps"), 10, 0);
    assert_true(json_number("error") > 0.3); // of an arm of 0.1 m, 0.4 m away
}

static void test_check_lists_actuators(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) // info of a scene is its check
    {
        assert_int_equal(finish(start_command(i == 0 ? "check" : "info", "pulled.yaml")), 0);
        assert_says("stdout.txt",
                    "actuator top: cable on arm, by its displacement, driven by the motion, force from 0 N, "
                    "displacement 0 to 20 mm\n  2 points, 110 mm long at rest\n");
        assert_says("stdout.txt", "force 0 to 0.5 N");
        assert_says("stdout.txt", "effector tip: position of arm, [100, 10, 10] mm at rest, no target\n");
        assert_says("stdout.txt", "effector reach: length of top, 110 mm at rest");
    }
    assert_int_equal(finish(start_command("check", "pulled.yaml --json")), 0);
    assert_near(json_number("length"), 0.11, 1e-15); // a root of squares
    assert_near(json_number("points"), 2, 0);
    char *kind = json_value("drive");
    assert_string_equal(kind, "\"displacement\"");
    free(kind);
}

// What each selector chose is counted.
static void test_check_counts(void **state)
{
    (void)state;
    write_text("sides.yaml",
               "tendril: 1\ntime_step: 10 ms\nsteps: 2\nbodies:\n  - name: block\n"
               "    mesh: {box: [[0, 0, 0], [0.3, 0.2, 0.2]], cells: [3, 2, 2]}\n"
               "    material: {law: stvk, young: 1e5, poisson: 0.3, density: 1000}\n"
               "    materials: [{side: {of: outer, facing: [0, 0, 1]}, element: membrane, thickness: 1 mm, law: stvk, "
               "young: 1 MPa, poisson: 0.3, density: 1000}]\n"
               "    fixed: [{side: {facing: [-1, 0, 0], angle: 10 deg}}]\n"
               "loads: [{type: surface, body: block, part: {point: [0, 0, 0]}, pressure: 1 Pa}]\n");
    assert_int_equal(finish(start_command("check", "sides.yaml")), 0);
    assert_says("stdout.txt", "membrane materials[0], by its side, 12 triangles");
    assert_says("stdout.txt", "fixed: side, axes xyz, 9 nodes\n");
    assert_says("stdout.txt", "on connected part of block, 1 Pa, 36 nodes\n");
}

// Packages of robots: by the option, which may be given several times, or by the environment.
static void test_packages(void **unused)
{
    (void)unused;
    write_text("robot.yaml",
               "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies: [{name: r, type: articulated, urdf: r.urdf}]\n");
    write_text("r.urdf",
               "<robot name=\"r\"><link name=\"a\"><collision><geometry><mesh filename=\"package://far/tet.obj\"/>"
               "</geometry></collision></link></robot>");
    static const char *const folders[] = {"packages", "packages/deep", "packages/deep/far"};
    for (int k = 0; k < 3; k++)
    {
        char path[200];
        snprintf(path, sizeof path, "%s/%s", folder, folders[k]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    write_text("packages/deep/far/tet.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n");
    assert_refuses("check", "robot.yaml", 3, "--package far=FOLDER");
    assert_refuses("check", "robot.yaml --package far", 2, "--package takes NAME=DIR, not 'far'");
    assert_int_equal(run_command("check", "robot.yaml --package near=. --package far=packages/deep/far"), 0);
    setenv("ROS_PACKAGE_PATH", "/nowhere:packages/deep", 1);
    int code = run_command("check", "robot.yaml");
    unsetenv("ROS_PACKAGE_PATH");
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_resume_equals_a_straight_run),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_killed_run_can_be_read),
        cmocka_unit_test(test_json_of_odd_names),
        cmocka_unit_test(test_trouble_is_told),
        cmocka_unit_test(test_tells_of_actuators),
        cmocka_unit_test(test_tells_what_is_out_of_reach),
        cmocka_unit_test(test_check_counts),
        cmocka_unit_test(test_check_lists_actuators),
        cmocka_unit_test(test_packages),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
