// SPDX-License-Identifier: Apache-2.0
// 'tendril compare' as a user meets it: an arm on two cables at full order, reduced, hyper-reduced and on a coarser
// mesh; and what 'tendril run' says of a reduced model that it cannot trust.
#include "program.h"

#include "indicator.h"

// Writes the scene with a text in it replaced by another.
static void write_scene(const char *name, double range, const char *more, const char *from, const char *to)
{
    static char text[6000], changed[7000];
    arm_text(text, sizeof text, range, more);
    char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    write_text(name, changed);
}

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_scene("arm.yaml", 6, "", "tendril: 1", "tendril: 1");
    write_scene("coarse.yaml", 6, "", "cells: [12, 2, 2]", "cells: [6, 1, 1]");
    write_scene("slow.yaml", 6, "", "time_step: 50 ms", "time_step: 20 ms");
    write_scene("tipless.yaml", 6, "", "name: tip", "name: end");
    write_scene("other.yaml", 6, "", "name: side", "name: left");
    write_scene("stiffer.yaml", 6, "", "young: 300 kPa", "young: 310 kPa");
    write_scene("moved.yaml", 6, "motion: {keyframes: [{t: 0, side: 0, top: 0}, {t: 3 s, side: 5, top: 2}]}\n",
                "validation: {random: {steps: 60, moves: 4}}", "");
    write_scene("pushed.yaml", 6, ARM_PUSH, "tendril: 1", "tendril: 1");
    arm_train(folder);
    return 0;
}

// Number n of a key among those of the output.
static double number_of(const char *key, int n)
{
    char *text = read_text("stdout.txt"), quoted[64], *at = text;
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    for (int i = 0; i <= n; i++)
    {
        at = strstr(at, quoted);
        if (at == NULL)
            fail_msg("there is no '%s' number %d", key, n);
        at += strlen(quoted);
    }
    double value = strtod(at, NULL);
    free(text);
    return value;
}

// Models in the order full, coarse, reduced, hyper-reduced; of each the errors of tip, middle and shape.
static void test_table(void **state)
{
    (void)state;
    assert_int_equal(run_command("compare", "arm.yaml --rom arm.h5 --coarse coarse.yaml --out out --json --quiet"), 0);
    assert_says("stdout.txt", "\"motion\": \"a random path\"");
    char *result = read_text("stdout.txt"); // what follows is about it
    assert_refuses("compare", "arm.yaml --rom arm.h5 --out out --quiet", 3, "already holds an earlier run");
    write_text("stdout.txt", result);
    free(result);
    assert_near(number_of("steps", 0), 60, 0);
    for (int k = 0; k < 3; k++)
        assert_true(number_of("max", k) == 0); // full order against itself
    double coarse = number_of("mean", 3), reduced = number_of("mean", 6), hyper = number_of("mean", 9);
    // Reduction costs about a percent here, half as many elements along the arm many: S1's point.
    assert_true(reduced > 0 && reduced < 0.015);
    assert_true(hyper > 0 && hyper < 0.015);
    assert_true(coarse > 3 * hyper);
    for (int k = 0; k < 12; k++)
        if (k % 3 < 2)
            assert_true(number_of("mean", k) <= number_of("max", k));
    assert_says("stdout.txt", "\"shape\": { \"mean\": null, \"max\": null}"); // other nodes
    assert_true(number_of("ratio", 0) == 1);
    assert_true(number_of("ratio", 3) > number_of("ratio", 2)); // fewer elements are faster
    assert_true(number_of("unknowns", 3) < 30 && number_of("elements", 3) < number_of("elements", 0) / 4);
    assert_true(number_of("rom_warnings", 0) == 0 && number_of("rom_indicator", 0) > 0);
    static const char *const files[] = {"out/errors.csv", "out/shapes.png", "out/error.png", "out/rates.png"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        assert_true(exists(files[i]));
    assert_says("out/errors.csv", "\n60,3,");
    char *text = read_text("out/errors.csv"); // as many titles as values: step, time, three models of three errors
    int commas = 0;
    for (char *c = text; *c != '\n'; c++)
        commas += *c == ',';
    assert_int_equal(commas, 10);
    free(text);
}

// What is printed for people; more than one reduced model; steps.
static void test_print(void **state)
{
    (void)state;
    assert_int_equal(run_command("compare", "arm.yaml --rom arm.h5 arm.h5 coarse.yaml --no-whole --steps 7 --quiet"),
                     0);
    assert_says("stdout.txt", "a random path, 7 steps of 0.05 s");
    assert_says("stdout.txt", "full order");
    assert_says("stdout.txt", "hyper-reduced (");
    assert_says("stdout.txt", "coarse.yaml");
    assert_says("stdout.txt", "not to be trusted in 0 steps");
    char *text = read_text("stdout.txt");
    assert_null(strstr(text, "\nreduced ("));
    free(text);
}

// Without a validation it is the motion of the scene, which other scenes follow though they have none.
static void test_own_motion(void **state)
{
    (void)state;
    assert_int_equal(run_command("compare", "moved.yaml coarse.yaml --rom arm.h5 --no-whole --json --quiet"), 0);
    assert_says("stdout.txt", "\"motion\": \"the scene's motion\"");
    assert_near(number_of("steps", 0), 60, 0);
    assert_true(number_of("tip", 0) > 0.01); // amplitude [m]
    assert_true(number_of("mean", 3) > 0 && number_of("mean", 3) < 0.01);
    assert_true(number_of("mean", 6) > 0.02 && number_of("mean", 6) < 0.5);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_refuses("compare", "arm.yaml", 2, "nothing to compare with");
    assert_refuses("compare", "arm.yaml --rom arm.h5 --steps 0", 2, "--steps");
    assert_refuses("compare", "arm.yaml --rom none.h5", 3, "none.h5");
    assert_refuses("compare", "stiffer.yaml --rom arm.h5", 3, "is the materials");
    assert_refuses("compare", "arm.yaml --coarse slow.yaml", 3, "time_step: is 0.02 s");
    assert_refuses("compare", "arm.yaml --coarse tipless.yaml", 3, "there is no probe 'tip'");
    assert_refuses("compare", "arm.yaml other.yaml", 3, "there is no actuator or load 'side'");
}

// A force that training has not seen: every step says so, and the summary counts them.
static void test_run_warns(void **state)
{
    (void)state;
    assert_int_equal(run_command("run", "pushed.yaml --rom arm.h5 --json --quiet"), 0);
    assert_near(number_of("rom_warnings", 0), 60, 0);
    assert_says("stderr.txt", "in 60 of 60 steps the reduced model left its training range");
    assert_says("stderr.txt", "(step 1): the reduced model of body 'arm' leaves");
    assert_int_equal(run_command("run", "arm.yaml --rom arm.h5 --json --quiet"), 0);
    assert_near(number_of("rom_warnings", 0), 0, 0);
    char *text = read_text("stderr.txt");
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),    cmocka_unit_test(test_print),     cmocka_unit_test(test_own_motion),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_run_warns),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
