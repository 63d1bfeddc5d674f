// SPDX-License-Identifier: Apache-2.0
// 'tendril control', 'workspace' and 'estimate' as a user meets them.
#include "program.h"

#include "arm.h"

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("arm.yaml", ARM_BODY("250 kPa") ARM_CABLES("[0, 1]") ARM_TIP ARM_STATIC);
    write_text("moving.yaml", ARM_BODY("250 kPa") ARM_CABLES("[0, 1]") ARM_TIP);
    write_text("plain.yaml", ARM_BODY("250 kPa"));
    write_text("driven.yaml", ARM_BODY("250 kPa") ARM_CABLES("[0, 1]") ARM_TIP
               "motion: {keyframes: [{t: 0, north: 0, south: 0, up: 0, down: 0}]}\n");
    write_text("endless.yaml", ARM_BODY("250 kPa") ARM_CABLES("[0, none]") ARM_TIP);
    write_text("goals.csv", "t, tip.x [mm], tip.y [mm], tip.z [mm]\n"
                            "0, 99.5, 0, 0\n"
                            "0.1 s, 98.5, 4, 2\n"
                            "0.2 s, 98.5, 0, -4\n");
    write_text("far.csv", "t,tip.x,tip.y,tip.z\n0,0.05,0.08,0\n0.05,0.05,0.08,0\n");
    write_text("gap.csv", "t,tip.x,tip.y,tip.z\n0,0.1,0,0\n0.1,0.1,,0\n");
    write_text("nan.csv", "t,tip.x,tip.y,tip.z\n0,0.1,0,nan\n");
    return 0;
}

// ---------------------------------------------------------------- control

static void test_follows(void **state)
{
    (void)state;
    static const char *const scenes[] = {"arm.yaml", "moving.yaml"};
    for (int k = 0; k < 2; k++)
    {
        char words[256];
        snprintf(words, sizeof words, "%s --target goals.csv --out out%d --every 0 --json --quiet", scenes[k], k);
        assert_int_equal(run_command("control", words), 0);
        assert_near(json_number("steps"), 20, 0);
        assert_near(json_number("out_of_reach_steps"), 0, 0);
        // A static step ends at its goal; a dynamic one is as near as one linearization a step gets.
        assert_true(json_number("max") < (k == 0 ? 1e-6 : 2e-4));
        assert_true(json_number("p50") > 0 && json_number("p99") >= json_number("p50"));
        assert_says("stdout.txt", "\"actuation\": \"out");
        assert_says("stdout.txt", "\"settled\": {");
        assert_says("stdout.txt", "steps_per_s");
        char *text = read_text("stdout.txt");
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        free(text);
    }
    static const char *const files[] = {"out0/actuation.csv", "out0/tracking.csv", "out0/tracking.png",
                                        "out0/actuation.png", "out0/arm_000020.vtu"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        assert_true(exists(files[i]));
    assert_says("out0/actuation.csv", "step,time [s],north.effort [N],north.displacement [m],south.effort [N]");
    assert_says("out0/tracking.csv", "tip.goal.x [m],tip.goal.y [m],tip.goal.z [m],tip.value.x [m]");
    assert_says("out0/tracking.csv", "tip.error [m],residual,out_of_reach,active_bounds,blocked\n1,0.01,");
    assert_says("out0/tracking.csv", "\n20,0.2,0.0985,0,-0.004,");
}

// What control found drives a run, and what a run wrote is a goal and a measurement, without a change of a file.
static void test_round_trip(void **state)
{
    (void)state;
    assert_int_equal(run_command("control", "arm.yaml --target goals.csv --out found --every 1 --quiet"), 0);
    assert_int_equal(run_command("run", "arm.yaml --set 'motion={csv: found/actuation.csv}' --steps 20 --every 1 --out "
                                        "again --quiet"),
                     0);
    assert_int_equal(run_command("plot", "found again --column tip --json"), 0);
    assert_true(json_number("largest") < 1e-8 && json_number("scale") > 1e-4);
    assert_int_equal(run_command("control", "arm.yaml --target again/effectors.csv --steps 20 --json --quiet"), 0);
    assert_true(json_number("max") < 1e-6);
    assert_int_equal(run_command("control", "arm.yaml --target goals.csv --measured found/tracking.csv --json -q"), 0);
    assert_true(json_number("max") < 1e-6);
    // A table without anything that drives the scene; a servo, whose position is not its command.
    assert_refuses("run", "arm.yaml --set 'motion={csv: again/effectors.csv}'", 3, "none of the columns");
    assert_refuses("run",
                   "arm.yaml --set 'motion={csv: again/actuators.csv}' --set 'actuators[up].stiffness=100 N' "
                   "--set 'actuators[up].drive=displacement' --set 'actuators[up].range=[0, 1 mm]'",
                   3, "not what drove it");
}

// The forces that control found, replayed by a motion, bring the tip to the goal.
static void test_replay(void **state)
{
    (void)state;
    assert_int_equal(run_command("control", "arm.yaml --target goals.csv --out replay --every 0 --quiet"), 0);
    assert_refuses("control", "arm.yaml --target goals.csv --out replay --quiet", 3, "already holds an earlier run");
    char *text = read_text("replay/actuation.csv"), *last = text, motion[1024];
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        last = line;
    double step, time, e[4], d[4];
    assert_int_equal(sscanf(last, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &step, &time, &e[0], &d[0], &e[1], &d[1],
                            &e[2], &d[2], &e[3], &d[3]),
                     10);
    free(text);
    snprintf(motion, sizeof motion,
             "%smotion: {keyframes: [{t: 0, north: %.15g, south: %.15g, up: %.15g, down: %.15g}]}\n"
             "probes: [{name: end, body: arm, point: [0.1, 0, 0]}]\n",
             ARM_BODY("250 kPa") ARM_CABLES("[0, 1]") ARM_STATIC, e[0], e[1], e[2], e[3]);
    write_text("replay.yaml", motion);
    assert_int_equal(run_command("run", "replay.yaml --steps 1 --json --quiet"), 0);
    char *tip = json_value("end");
    double x = 0, y = 0, z = 0;
    assert_int_equal(sscanf(tip, "[%lf, %lf, %lf", &x, &y, &z), 3);
    free(tip);
    assert_near(x, 0.0985, 1e-6);
    assert_near(y, 0, 1e-6);
    assert_near(z, -0.004, 1e-6);
}

// The same scene with a motion that drives all actuators gives the same efforts once they are freed.
static void test_freed(void **state)
{
    (void)state;
    assert_int_equal(run_command("control", "moving.yaml --target goals.csv --out a --every 0 --quiet"), 0);
    assert_int_equal(run_command("control", "driven.yaml --target goals.csv --free all --out b --every 0 --quiet"), 0);
    assert_int_equal(
        run_command("control", "driven.yaml --target goals.csv --free north,south,up,down --out c --every 0 --quiet"),
        0);
    char *a = read_text("a/actuation.csv"), *b = read_text("b/actuation.csv"), *c = read_text("c/actuation.csv");
    assert_string_equal(a, b);
    assert_string_equal(a, c);
    free(a);
    free(b);
    free(c);
    // One that the motion keeps does what it says: nothing.
    assert_int_equal(
        run_command("control", "driven.yaml --target goals.csv --free north,up,down --out d --every 0 --quiet"), 0);
    char *d = read_text("d/actuation.csv");
    strtok(d, "\n");
    for (char *line = strtok(NULL, "\n"); line != NULL; line = strtok(NULL, "\n"))
    {
        double north, south;
        assert_int_equal(sscanf(line, "%*f,%*f,%lf,%*f,%lf", &north, &south), 2);
        assert_true(north >= 0 && south == 0);
    }
    free(d);
}

static void test_out_of_reach_is_counted(void **state)
{
    (void)state;
    assert_int_equal(run_command("control", "arm.yaml --target far.csv --json --quiet"), 0);
    assert_near(json_number("steps"), 5, 0);
    assert_near(json_number("out_of_reach_steps"), 5, 0);
    assert_near(json_number("limited_steps"), 5, 0);
    assert_false(exists("actuation.csv"));
    assert_int_equal(run_command("control", "arm.yaml --target far.csv"), 0);
    assert_says("stdout.txt", "out of reach in 5 steps");
    assert_says("stderr.txt", "following: 5 of 5");
}

static void test_measured(void **state)
{
    (void)state;
    write_text("seen.csv", "t,tip.x [mm],tip.y [mm],tip.z [mm]\n0,99.5,-1,0\n0.2,99.5,-1,0\n");
    write_text("hold.csv", "t,tip.x [mm],tip.y [mm],tip.z [mm]\n0,99.5,0,0\n");
    assert_int_equal(run_command("control", "arm.yaml --target hold.csv --steps 10 --measured seen.csv --json --quiet"),
                     0);
    assert_says("stdout.txt", "measured_error");
    char *text = json_value("correction");
    double c[3];
    assert_int_equal(sscanf(text, "[%lf, %lf, %lf", &c[0], &c[1], &c[2]), 3);
    free(text);
    // Nine measurements of 1 mm, a twentieth each.
    assert_near(c[1], 9 * 0.05e-3, 1e-12);
    assert_near(c[0], 0, 1e-12);
    assert_int_equal(
        run_command("control", "arm.yaml --target hold.csv --steps 10 --measured seen.csv --gain 0 --json --quiet"), 0);
    text = json_value("correction");
    assert_string_equal(text, "[0, 0, 0");
    free(text);
}

static void test_control_refuses(void **state)
{
    (void)state;
    assert_refuses("control", "arm.yaml", 2, "--target CSV is missing");
    assert_refuses("control", "arm.yaml --target goals.csv --gain 3", 2, "--measured");
    assert_refuses("control", "arm.yaml --target goals.csv --measured goals.csv --gain -3", 2, "gain");
    assert_refuses("control", "arm.yaml --target goals.csv --steps 3 --time 1", 2, "exclude");
    assert_refuses("control", "arm.yaml --target goals.csv --every 3", 2, "--out");
    assert_refuses("control", "arm.yaml --targets goals.csv", 2, "did you mean --target?");
    assert_refuses("control", "arm.yaml --target missing.csv", 3, "missing.csv");
    assert_refuses("control", "arm.yaml --target gap.csv", 3, "gap.csv:3: tip.y: ");
    assert_refuses("control", "arm.yaml --target nan.csv", 3, "nan.csv:2: tip.z: ");
    assert_refuses("control", "plain.yaml --target goals.csv", 3, "no effector");
    assert_refuses("control", "driven.yaml --target goals.csv", 3, "--free all");
    assert_refuses("control", "driven.yaml --target goals.csv --free north,west", 2, "'west'");
    assert_refuses("control", "driven.yaml --target goals.csv --free ''", 2, "''");
    write_text("two.yaml",
               ARM_BODY("250 kPa") ARM_CABLES("[0, 1]") "effectors: [{name: tip, body: arm, point: [0.1, 0, 0]}, "
                                                        "{name: mid, body: arm, point: [0.05, 0, 0]}]\n");
    write_text("mid.csv", "t,mid.x,mid.y,mid.z\n0,0.05,0,0\n");
    assert_refuses("control", "two.yaml --target goals.csv --measured mid.csv", 3, "mid.csv: mid: ");
    assert_int_equal(run_command("control", "--help"), 0);
    assert_says("stdout.txt", "--measured");
}

// ---------------------------------------------------------------- workspace

static void test_workspace(void **state)
{
    (void)state;
    assert_int_equal(run_command("workspace", "moving.yaml --grid 2 --out ws --json --quiet"), 0);
    assert_near(json_number("places"), 16, 0);
    assert_near(json_number("reached"), 16, 0);
    assert_near(json_number("failures"), 0, 0);
    char *low = json_value("least"), *high = json_value("most");
    double a[3], b[3];
    assert_int_equal(sscanf(low, "[%lf, %lf, %lf", &a[0], &a[1], &a[2]), 3);
    assert_int_equal(sscanf(high, "[%lf, %lf, %lf", &b[0], &b[1], &b[2]), 3);
    assert_true(a[1] < -0.005 && b[1] > 0.005 && a[2] < -0.005 && b[2] > 0.005 && a[0] < 0.099 && b[0] < 0.1 + 1e-9);
    free(low);
    free(high);
    assert_true(exists("ws/workspace.png") && exists("ws/points.vtu") && !exists("ws/failures.csv"));
    assert_says("ws/points.csv", "north [N],south [N],up [N],down [N],tip.x [m],tip.y [m],tip.z [m]\n0,0,0,0,0.1,");
    assert_int_equal(run_command("info", "ws/points.vtu"), 0);
    assert_refuses("workspace", "moving.yaml --grid 2 --out ws --quiet", 3, "already holds an earlier run");
    assert_int_equal(run_command("workspace", "arm.yaml --samples 40"), 0);
    assert_says("stdout.txt", "40 equilibria");
    assert_says("stderr.txt", "exploring: 40 of 40");
}

static void test_workspace_refuses(void **state)
{
    (void)state;
    assert_refuses("workspace", "endless.yaml", 3, "'north'");
    assert_refuses("workspace", "plain.yaml", 3, "no effector");
    assert_refuses("workspace", "arm.yaml --effector tap", 2, "did you mean 'tip'?");
    assert_refuses("workspace", "arm.yaml --grid 1", 2, "--grid");
    assert_refuses("workspace", "arm.yaml --grid 2 --samples 3", 2, "exclude");
    assert_refuses("workspace", "arm.yaml --grid 100", 2, "points; use fewer");
    assert_refuses("workspace", "arm.yaml --samples 1000000", 2, "at most");
}

// ---------------------------------------------------------------- estimate

static void test_estimate(void **state)
{
    (void)state;
    static const char scene[] = ARM_BODY("250 kPa") "actuators:\n"
                                                    "  - {name: push, type: force, body: arm, group: xmax, direction: "
                                                    "[0, 0, 1], drive: force}\n";
    char driven[2048], points[4096];
    snprintf(driven, sizeof driven, "%smotion: {keyframes: [{t: 0, push: 0.02}]}\nprobes:\n", scene);
    for (int k = 1; k <= 8; k++)
        snprintf(driven + strlen(driven), sizeof driven - strlen(driven),
                 "  - {name: p%d, body: arm, point: [%g, 0, 0]}\n", k, 0.0125 * k);
    strcat(driven, ARM_STATIC);
    write_text("pushed.yaml", driven);
    write_text("push.yaml", scene);
    assert_int_equal(run_command("run", "pushed.yaml --steps 1 --json --quiet"), 0);
    snprintf(points, sizeof points, "x0,y0,z0,x,y,z\n");
    for (int k = 1; k <= 8; k++)
    {
        char name[16], *text;
        snprintf(name, sizeof name, "p%d", k);
        text = json_value(name);
        snprintf(points + strlen(points), sizeof points - strlen(points), "%g,0,0,%s\n", 0.0125 * k, text + 1);
        free(text);
    }
    write_text("points.csv", points);
    assert_int_equal(run_command("estimate", "push.yaml --measured points.csv --noise 1e-5 --out est --json"), 0);
    assert_near(json_number("effort"), 0.02, 1e-6 * 0.02);
    assert_true(json_number("deviation") > 0 && json_number("deviation") < 0.01 * 0.02);
    assert_near(json_number("sigma"), 1e-5, 0);
    assert_true(json_number("residual") < 1e-9);
    assert_says("est/loads.csv", "load,unit,effort,deviation\npush,N,0.0");
    assert_says("est/points.csv", "fitted.x [m]");
    assert_refuses("estimate", "push.yaml --measured points.csv --out est", 3, "already holds an earlier run");
    assert_int_equal(run_command("estimate", "push.yaml --measured points.csv --out est --force"), 0);
    assert_int_equal(run_command("estimate", "push.yaml --measured points.csv"), 0);
    assert_says("stdout.txt", "from the residual");
}

static void test_estimate_refuses(void **state)
{
    (void)state;
    write_text("bad.csv", "x0,y0,z0,x,y,z\n0.1,0,0,0.1,0,zero\n");
    assert_refuses("estimate", "arm.yaml", 2, "--measured CSV is missing");
    assert_refuses("estimate", "arm.yaml --measured bad.csv", 3, "bad.csv:2: z: ");
    assert_refuses("estimate", "arm.yaml --measured bad.csv --noise -1", 2, "--noise");
    write_text("one.csv", "x0,y0,z0,x,y,z\n0.1,0,0,0.1,0,0\n");
    assert_refuses("estimate", "arm.yaml --measured one.csv", 3, "too few");
    assert_refuses("estimate", "plain.yaml --measured one.csv", 3, "no unknown load");
    assert_refuses("estimate", "arm.yaml --measured one.csv --body leg", 2, "'leg'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_out_of_reach_is_counted),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_control_refuses),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_workspace_refuses),
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_estimate_refuses),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
