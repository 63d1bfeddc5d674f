// SPDX-License-Identifier: Apache-2.0
// Actuators in the step: their rows and stiffness by differences, forces at corners, friction, limits, held nodes,
// pairs of bodies, and what is refused.
#include "actuators.h"

// ---------------------------------------------------------------- rows and stiffness by differences

// A hollow ball of tetrahedra with everything that has a row: two cables, one through the wall with a corner, its
// cavity as a group and as a surface of its own, forces at a point and on nodes.
static tdModel *everything(void)
{
    static char mesh[SCENE_PATH], surface[SCENE_PATH];
    const actBall ball = {.n = 4, .layers = 2, .inner = 0.6, .outer = 1, .tetrahedra = true};
    ball_files(&ball, 6, mesh, surface);
    tdModel *model = scene_model(
        ACT_STATIC "bodies:\n  - name: ball\n    mesh: %s\n"
                   "    material: {law: neo_hookean, young: 1e5, poisson: 0.3}\n"
                   "    fixed: [{box: [[-2, -2, -2], [2, 2, -0.5]]}]\n"
                   "actuators:\n"
                   "  - {name: straight, type: cable, body: ball, path: [[0, 0.1, 0.8]], pull_point: [0.3, 0.2, 2], "
                   "drive: force}\n"
                   "  - {name: bent, type: cable, body: ball, path: [[0.1, 0.8, 0.1], [0.8, 0.05, 0.2], [0.1, -0.8, "
                   "0.3]], pull_point: [-1, -1, 1], drive: force}\n"
                   "  - {name: walls, type: cavity, body: ball, group: inner, drive: pressure}\n"
                   "  - {name: file, type: cavity, body: ball, surface: %s, drive: pressure}\n"
                   "  - {name: point, type: force, body: ball, point: [0.2, 0.1, 0.8], direction: [1, 2, 3], "
                   "drive: force}\n"
                   "  - {name: nodes, type: force, body: ball, box: [[-2, -2, 0.7], [2, 2, 2]], direction: [0, 1, 1], "
                   "drive: force}\n",
        mesh, surface);
    unlink(mesh);
    unlink(surface);
    return model;
}

static void shake(const tdModel *model, tdState *state, double size)
{
    uint64_t seed = 3;
    for (int64_t i = 0; i < model->coords; i++)
        state->q[i] += size * next_random(&seed);
}

// Rows are exact: a difference over h = 1e-5 of sizes around one leaves h^2 and 1e-16 / h, both 1e-10.
static void rows_are_gradients_of_displacements(void **unused)
{
    (void)unused;
    tdModel *model = everything();
    tdState *state = scene_state(model);
    tdConstraintState *cs = state->constraint;
    int n = model->n_actuators;
    shake(model, state, 0.03);
    memcpy(state->q_c, state->q, (size_t)model->coords * sizeof(double));
    td_constrain(model, state, false);
    double worst = 0, h = 1e-5, *row = calloc((size_t)(n * model->coords), sizeof *row);
    for (int a = 0; a < n; a++)
        for (int64_t k = model->row_start[a]; k < model->row_start[a + 1]; k++)
            row[a * model->coords + model->row_coord[k]] += cs->J[k];
    for (int64_t i = 0; i < model->coords; i++)
    {
        double at = state->q[i], plus[8];
        state->q[i] = at + h;
        td_constraint_measure(model, state);
        memcpy(plus, cs->displacement, (size_t)n * sizeof *plus);
        state->q[i] = at - h;
        td_constraint_measure(model, state);
        state->q[i] = at;
        for (int a = 0; a < n; a++)
            worst = fmax(worst, fabs((plus[a] - cs->displacement[a]) / (2 * h) - row[a * model->coords + i]));
    }
    print_message("rows against differences: %.1e\n", worst);
    assert_true(worst < 1e-9);
    // Pressure in the group and in the surface of its own push at the same places with nearly the same force.
    double apart = 0, size = 0;
    for (int64_t i = 0; i < model->coords; i++)
    {
        apart += pow(row[2 * model->coords + i] - row[3 * model->coords + i], 2);
        size += pow(row[2 * model->coords + i], 2);
    }
    assert_true(apart > 0 && sqrt(apart / size) < 0.3);
    free(row);
    scene_free(model, state);
}

// Forces without tangents at q.
static void residual(const tdModel *model, tdState *state, const double *q, double *m)
{
    memcpy(state->q_e, q, (size_t)model->coords * sizeof(double));
    const tdBody *body = &model->bodies[0];
    body->ops->kinematics(model, body, state);
    assert_int_equal(body->ops->forces(model, body, state, false), TD_OK);
    td_constrain(model, state, false);
    memcpy(m, state->m, (size_t)model->coords * sizeof(double));
}

// A is the derivative of all forces, those of the actuators too: without it Newton would be slow.
static void stiffness_is_the_gradient_of_forces(void **unused)
{
    (void)unused;
    tdModel *model = everything();
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    tdConstraintState *cs = state->constraint;
    size_t bytes = (size_t)model->coords * sizeof(double);
    shake(model, state, 0.01);
    double *q = act_copy(model, state->q), *x = act_copy(model, q), *plus = malloc(bytes), *minus = malloc(bytes),
           *Ax = malloc(bytes), *at = malloc(bytes);
    const double efforts[6] = {2000, 3000, 8000, 8000, 100, 50};
    double *none = calloc((size_t)model->coords, sizeof *none);
    for (int only = -2; only < 6; only++) // none, all, one by one
    {
        for (int a = 0; a < 6; a++)
            cs->effort[a] = only == -1 || only == a ? efforts[a] : 0;
        uint64_t seed = 11;
        for (int64_t i = 0; i < model->coords; i++)
            x[i] = next_random(&seed);
        memcpy(state->q_e, q, bytes);
        state->scale = 0;
        state->bad_element = -1;
        body->ops->kinematics(model, body, state);
        assert_int_equal(body->ops->forces(model, body, state, true), TD_OK);
        td_constrain(model, state, true);
        assert_int_equal(body->ops->free_motion(model, body, state), TD_OK);
        body->ops->multiply(model, body, state, x, Ax);
        const double h = 1e-6;
        for (int64_t i = 0; i < model->coords; i++)
            at[i] = q[i] + h * x[i];
        residual(model, state, at, plus);
        for (int64_t i = 0; i < model->coords; i++)
            at[i] = q[i] - h * x[i];
        residual(model, state, at, minus);
        double worst = 0, size = 0, part = 0;
        for (int64_t i = 0; i < model->coords; i++)
        {
            worst = fmax(worst, fabs((plus[i] - minus[i]) / (2 * h) - Ax[i]));
            size = fmax(size, fabs(Ax[i]));
            part = fmax(part, fabs(Ax[i] - none[i]));
        }
        if (only == -2)
            memcpy(none, Ax, bytes);
        else
            print_message("A against differences, %s: %.1e; its part is %.1e\n",
                          only < 0 ? "all" : model->actuators[only].name, worst / size, part / size);
        assert_int_equal(state->report.projected_elements, 0);
        assert_true(worst < 1e-8 * size);                          // h^2 and 1e-16 / h of stiffnesses around one
        assert_true(part > 1e-3 * size || only == -2 || only > 3); // forces of fixed direction have none
    }
    free(none);
    free(q);
    free(x);
    free(plus);
    free(minus);
    free(Ax);
    free(at);
    scene_free(model, state);
}

// ---------------------------------------------------------------- refused

static void assert_refused(const char *actuator, int line, const char *because)
{
    char text[4096];
    tdModel *model = NULL;
    tdError error = {0};
    int n = snprintf(text, sizeof text, "%s%s%sactuators:\n  - {name: it, body: beam, %s}\n",
                     "tendril: 1\ntime_step: 10 ms\nsteps: 1\n", ACT_BEAM, "", actuator);
    tdStatus status = td_model_parse(text, (size_t)n, "scene.yaml", NULL, NULL, &model, &error);
    if (status != TD_ERROR_INPUT || strstr(error.message, because) == NULL || error.line != line)
        fail_msg("'%s': status %d, line %d, '%s'; should say '%s'", actuator, (int)status, error.line, error.message,
                 because);
    assert_string_equal(error.file, "scene.yaml");
    assert_true(error.field[0] != '\0');
    assert_null(model);
}

static void bad_actuators_are_refused(void **unused)
{
    (void)unused;
    const int line = 11;
    assert_refused("type: cable, path: [[0.2, 0.01, 0.01]], pull_point: [0.3, 0, 0], drive: force", line, "outside");
    assert_refused("type: cable, path: [[0.1, 0.01, 0.01], [0.05, 0.01, 0.05]], drive: force", line, "outside");
    assert_refused("type: force, point: [0, 0, 1], direction: [1, 0, 0], drive: force", line, "outside");
    assert_refused("type: cavity, group: xmax, drive: pressure", line, "does not enclose a volume");
    assert_refused("type: cavity, group: chamber, drive: pressure", line, "'chamber' is not in the mesh");
    assert_refused("type: cavity, group: body, drive: pressure", line, "no triangles");
    assert_refused("type: cavity, surface: nowhere.stl, drive: pressure", line, "nowhere.stl");
    assert_refused("type: force, group: lid, direction: [1, 0, 0], drive: force", line, "'lid' is not in the mesh");
    assert_refused("type: force, box: [[1, 1, 1], [2, 2, 2]], direction: [1, 0, 0], drive: force", line, "no node");
    assert_refused("type: translation, group: xmin, direction: [1, 0, 0], drive: displacement", line, "fixed");
    assert_refused("type: rotation, all: true, axis: [1, 0, 0], center: [0, 0, 0], drive: angle", line, "fixed");
    assert_refused("type: translation, group: xmax, direction: [1, 0, 0], drive: displacement, effort_range: [0, 1]",
                   line, "cannot be kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_gradients_of_displacements),
        cmocka_unit_test(stiffness_is_the_gradient_of_forces),
        cmocka_unit_test(bad_actuators_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
