// SPDX-License-Identifier: Apache-2.0
// tendril modes and tendril bench stvk as a user meets them.
#include "program.h"

static const char scene[] = "tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n"
                            "  - name: bar\n    fixed: [{group: xmin}, {all: true, axes: yz}]\n"
                            "    mesh: {box: [[0, 0, 0], [1, 0.02, 0.02]], cells: [20, 1, 1], elements: hexahedra}\n"
                            "    material: {law: stvk, young: 400, poisson: 0, density: 4}\n"
                            "  - name: sheet\n    plane: stress\n"
                            "    mesh: {rectangle: [[0, 0], [1, 1]], cells: [6, 6]}\n"
                            "    material: {law: neo_hookean, young: 1e5, poisson: 0.3, density: 1000}\n";

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("scene.yaml", scene);
    return 0;
}

// First frequency of the bar, (1/4 L) sqrt(E/rho) = 2.5 Hz, less 0.03 % for 20 lumped elements.
static void test_bar(void **state)
{
    (void)state;
    assert_int_equal(run_command("modes", "scene.yaml --modes 3 --derivatives 2 --basis 4 --json --quiet --out out"),
                     0);
    assert_near(json_number("rigid_modes"), 0, 0);
    assert_near(json_number("derivatives"), 3, 0);
    assert_near(json_number("columns"), 4, 0);
    assert_true(json_number("residual") < 1e-9 && json_number("polynomials_bytes") > 0);
    char *list = json_value("frequencies_hz");
    assert_near(strtod(list + 1, NULL), 2.5, 1e-3);
    free(list);
    assert_true(exists("out/modes.png") && exists("out/derivatives.png"));
    char *table = read_text("out/frequencies.csv");
    assert_int_equal(strncmp(table, "mode,frequency [Hz],lambda [1/s^2]\n1,2.49", 41), 0);
    free(table);
    assert_refuses("modes", "scene.yaml --modes 3 --quiet --out out", 3, "already holds an earlier run");
    assert_int_equal(run_command("modes", "scene.yaml --modes 3 --quiet --out out --force"), 0);
    assert_false(exists("out/derivatives.png")); // of the run before
}

static void test_free_sheet(void **state)
{
    (void)state;
    assert_int_equal(run_command("modes", "scene.yaml --body sheet --modes 4 --quiet"), 0);
    assert_says("stdout.txt", "3 rigid modes put aside");
}

static void test_refusals(void **state)
{
    (void)state;
    assert_refuses("modes", "scene.yaml --body nobody", 2, "no body 'nobody'");
    assert_refuses("modes", "scene.yaml --modes 2 --derivatives 3", 2, "--derivatives");
    assert_refuses("modes", "scene.yaml --modes 2 --basis 3", 2, "--basis 3");
    assert_refuses("modes", "scene.yaml --modes 5000", 3, "request fewer");
    assert_refuses("modes", "scene.yaml --modes none", 2, "--modes");
    assert_refuses("modes", "other.yaml", 3, "other.yaml");
    assert_refuses("bench", "svtk", 2, "stvk");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bar), cmocka_unit_test(test_free_sheet),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
