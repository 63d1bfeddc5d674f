// SPDX-License-Identifier: Apache-2.0
// The same irregular mesh solved by Tendril and by CalculiX.
#include "verify_bar.h"

static barDifference compare(const char *law, const char *ends, bool large)
{
    char folder[256];
    make_folder(folder);
    bar_write(folder, VERIFY_SLOW ? (int[]){10, 2, 2} : (int[]){20, 4, 4}, BAR_TETS);
    tdModel *model = verify_model("tendril: 1\n"
                                  "integrator: {method: static, tolerance: 1e-9, max_iterations: 100}\n"
                                  "solver: {tolerance: 1e-12}\n"
                                  "bodies:\n"
                                  "  - name: bar\n"
                                  "    mesh: %s/bar.vtu\n"
                                  "    material: {law: %s, young: 100 kPa, poisson: 0.3}\n"
                                  "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}]\n"
                                  "%s",
                                  folder, law, ends);
    tdState *state = verify_state(model);
    verify_step(model, state);
    ccxResult theirs = ccx_solve(model, folder, large);
    barDifference r = bar_difference(model, state, &theirs, 0);
    ccx_free(&theirs);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
    return r;
}

// Both solve the same equations on the same mesh. CalculiX prints seven digits, and both end their
// Newton iterations at residuals that leave less than this of a displacement.
#define SAME 1e-5

static void test_linear(void **context)
{
    (void)context;
    barDifference r = compare(
        "linear", "loads: [{type: point, body: bar, " BAR_FAR_END ", force: [0.2 N, 0.05 N, -0.1 N]}]\n", false);
    verify_relative("linear, jittered bar, largest displacement [m]", BAR_CCX, r.tip, r.tip_ours, SAME);
    verify_absolute("linear, jittered bar, all displacements, relative L2 difference", BAR_CCX, 0, r.field, SAME);
}

static void test_stretch(void **context)
{
    (void)context;
    barDifference r = compare("neo_hookean", "    prescribed: [{" BAR_FAR_END ", displacement: [0.1, 0, 0]}]\n", true);
    verify_relative("neo-Hookean bar stretched by 50 %, reaction [N]", BAR_CCX, r.force, r.ours, SAME);
    verify_absolute("neo-Hookean bar stretched by 50 %, all displacements, relative L2 difference", BAR_CCX, 0, r.field,
                    SAME);
}

static void test_bend(void **context)
{
    (void)context;
    barDifference r =
        compare("neo_hookean", "loads: [{type: point, body: bar, " BAR_FAR_END ", force: [0, 0, 3 N]}]\n", true);
    verify_relative("neo-Hookean bar bent far, largest displacement [m]", BAR_CCX, r.tip, r.tip_ours, SAME);
    verify_absolute("neo-Hookean bar bent far, all displacements, relative L2 difference", BAR_CCX, 0, r.field, SAME);
    assert_true(r.tip > 0.5 * BAR_LENGTH); // or it was not far
}

// With NLGEOM CalculiX pairs *ELASTIC with Green's strain and the second Piola-Kirchhoff stress, which is
// St. Venant-Kirchhoff.
static void test_stvk(void **context)
{
    (void)context;
    barDifference r = compare("stvk", "loads: [{type: point, body: bar, " BAR_FAR_END ", force: [0, 0, 3 N]}]\n", true);
    verify_relative("StVK bar bent far, largest displacement [m]", BAR_CCX, r.tip, r.tip_ours, SAME);
    verify_absolute("StVK bar bent far, all displacements, relative L2 difference", BAR_CCX, 0, r.field, SAME);
    assert_true(r.tip > 0.5 * BAR_LENGTH);
}

// Pressure on one side, which turns with the bar: a follower load in both. On a surface that is not closed its
// tangent is not symmetric; Newton with the symmetric part gains a constant factor an iteration, and CalculiX gives
// up at 400 Pa.
static void test_pressure(void **context)
{
    (void)context;
    barDifference r =
        compare("neo_hookean",
                "loads: [{type: surface, body: bar, box: [[-1, -1, 0.035], [1, 1, 1]], pressure: 250 Pa}]\n", true);
    verify_relative("neo-Hookean bar bent by pressure, largest displacement [m]", BAR_CCX, r.tip, r.tip_ours, SAME);
    verify_absolute("neo-Hookean bar bent by pressure, all displacements, relative L2 difference", BAR_CCX, 0, r.field,
                    SAME);
    assert_true(r.tip > 0.25 * BAR_LENGTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear), cmocka_unit_test(test_stretch),
                                       cmocka_unit_test(test_bend), cmocka_unit_test(test_stvk),
                                       cmocka_unit_test(test_pressure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
