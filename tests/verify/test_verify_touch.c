// SPDX-License-Identifier: Apache-2.0
// A bar that is pulled down on a floor, at rest: Tendril's static contact beside CalculiX on the same mesh, whose floor
// is made of springs that bear from a height on.
#include "verify_bar.h"

#define GAP 0.02 // [m] between bar and floor

static void touch(const char *law, const char *what)
{
    char folder[256], path[300], text[160];
    make_folder(folder);
    bar_write(folder, VERIFY_SLOW ? (int[]){10, 2, 2} : (int[]){15, 3, 3}, BAR_TETS);
    tdModel *model = verify_model(
        "tendril: 1\nsteps: 4\nintegrator: {method: static, tolerance: 1e-8, max_iterations: 100}\n"
        "solver: {tolerance: 1e-12}\ncontact: {friction: 0}\n"
        "bodies:\n"
        "  - name: bar\n"
        "    mesh: %s/bar.vtu\n"
        "    material: {law: %s, young: 100 kPa, poisson: 0.3}\n"
        "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}]\n"
        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true, transform: {translate: [0, 0, %g]}}\n"
        "loads: [{name: pull, type: point, body: bar, " BAR_FAR_END ", force: [0, 0, -0.6 N]}]\n"
        "motion: {keyframes: [{t: 0, pull: 0}, {t: 4, pull: 1}]}\n",
        folder, law, -GAP);
    const tdSoft *soft = model->bodies[0].soft;
    tdState *state = verify_state(model);
    for (int k = 0; k < 4; k++)
        verify_step(model, state);
    snprintf(path, sizeof path, "%s/job.inp", folder);
    ccx_write(path, soft, true, 1, -GAP, 0.5 * BAR_HEIGHT);
    ccx_run(folder);
    snprintf(path, sizeof path, "%s/job.dat", folder);
    ccxResult theirs = ccx_read(path, soft->n_nodes, 1, ccx_unit(soft));
    const double *q = td_state_positions(model, state, 0), about[3] = {0};
    double difference = 0, size = 0, base = 0, force[3], torque[3];
    for (int64_t i = 0; i < 3 * (int64_t)soft->n_nodes; i++)
    {
        double u = theirs.u[i], mine = q[i] - soft->rest[i];
        difference += (u - mine) * (u - mine);
        size += u * u;
        base += i % 3 == 2 && soft->held[i] ? theirs.force[i] : 0; // what the wall bears
    }
    td_state_contact_wrench(state, 0, 1, about, force, torque);
    snprintf(text, sizeof text, "%s bar on a floor, all displacements, relative L2 difference", what);
    verify_absolute(text, BAR_CCX, 0, sqrt(difference / size), 0.01);
    snprintf(text, sizeof text, "%s bar on a floor, force on the floor [N]", what);
    verify_relative(text, BAR_CCX, 0.6 - base, fabs(force[2]), 0.01);
    assert_true(fabs(force[2]) > 0.1);
    ccx_free(&theirs);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
}

static void test_stvk(void **context)
{
    (void)context;
    touch("stvk", "StVK");
}

static void test_neo_hookean(void **context)
{
    (void)context;
    touch("neo_hookean", "neo-Hookean");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stvk), cmocka_unit_test(test_neo_hookean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
