// SPDX-License-Identifier: Apache-2.0
// Hyperelastic laws: a bar stretched by half its length, step by step, beside CalculiX with the same mesh.
#include "verify_bar.h"

#define POINTS 5

// Both solve the same equations on the same mesh; CalculiX prints seven digits.
#define SAME 1e-5

static void stretch(const char *title, const char *material, barCells cells)
{
    char folder[256], name[160];
    make_folder(folder);
    bar_write(folder, VERIFY_SLOW ? (int[]){5, 1, 1} : cells == BAR_TETS ? (int[]){15, 3, 3} : (int[]){8, 2, 2}, cells);
    tdModel *model = verify_model("tendril: 1\n"
                                  "integrator: {method: static, tolerance: 1e-10}\n"
                                  "solver: {tolerance: 1e-12}\n"
                                  "time_step: %.17g\n"
                                  "duration: 1\n"
                                  "bodies:\n"
                                  "  - name: bar\n"
                                  "    mesh: %s/bar.vtu\n"
                                  "    material: {%s}\n"
                                  "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}]\n"
                                  "    prescribed: [{name: pull, " BAR_FAR_END ", displacement: [0.1, 0, 0]}]\n"
                                  "motion: {keyframes: [{t: 0, pull: 0}, {t: 1, pull: 1}]}\n",
                                  1.0 / POINTS, folder, material);
    tdState *state = verify_state(model);
    ccxResult theirs = ccx_curve(model, folder, true, POINTS);
    barDifference end = {0};
    double worst_force = 0, worst_field = 0;
    for (int k = 0; k < POINTS; k++)
    {
        verify_step(model, state);
        end = bar_difference(model, state, &theirs, k);
        worst_force = fmax(worst_force, fabs(end.ours / end.force - 1));
        worst_field = fmax(worst_field, end.field);
    }
    snprintf(name, sizeof name, "%s, reaction at 50 %% [N]", title);
    verify_relative(name, BAR_CCX, end.force, end.ours, SAME);
    snprintf(name, sizeof name, "%s, reaction, largest relative difference of the curve", title);
    verify_absolute(name, BAR_CCX, 0, worst_force, SAME);
    snprintf(name, sizeof name, "%s, displacements, largest relative L2 difference", title);
    verify_absolute(name, BAR_CCX, 0, worst_field, SAME);
    ccx_free(&theirs);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
}

#define NEO_HOOKEAN   "law: neo_hookean, mu: 40 kPa, bulk: 400 kPa"
#define MOONEY_RIVLIN "law: mooney_rivlin, c10: 15 kPa, c01: 5 kPa, bulk: 400 kPa"
#define OGDEN_ONE     "law: ogden, terms: [{mu: 40 kPa, alpha: 3.5}], bulk: 400 kPa"
#define OGDEN_TWO     "law: ogden, terms: [{mu: 30 kPa, alpha: 1.3}, {mu: 10 kPa, alpha: -2.5}], bulk: 400 kPa"
#define ARRUDA_BOYCE  "law: arruda_boyce, mu: 40 kPa, lambda_m: 1.7, bulk: 400 kPa, volumetric: mixed"

static void test_neo_hookean(void **context)
{
    (void)context;
    stretch("neo-Hookean", NEO_HOOKEAN, BAR_TETS);
}

static void test_mooney_rivlin(void **context)
{
    (void)context;
    stretch("Mooney-Rivlin", MOONEY_RIVLIN, BAR_TETS);
}

static void test_ogden(void **context)
{
    (void)context;
    stretch("Ogden, 1 term", OGDEN_ONE, BAR_TETS);
    stretch("Ogden, 2 terms", OGDEN_TWO, BAR_TETS);
}

static void test_arruda_boyce(void **context)
{
    (void)context;
    stretch("Arruda-Boyce", ARRUDA_BOYCE, BAR_TETS);
}

// Integrated with as many points as CalculiX takes.
static void test_elements(void **context)
{
    (void)context;
    stretch("Mooney-Rivlin, hexahedra", MOONEY_RIVLIN, BAR_HEXES);
    stretch("Ogden, 2 terms, quadratic tetrahedra", OGDEN_TWO, BAR_TETS10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_neo_hookean), cmocka_unit_test(test_mooney_rivlin),
                                       cmocka_unit_test(test_ogden), cmocka_unit_test(test_arruda_boyce),
                                       cmocka_unit_test(test_elements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
