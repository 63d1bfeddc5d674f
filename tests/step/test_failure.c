// SPDX-License-Identifier: Apache-2.0
// Steps that cannot be taken: what they say, that they leave the state alone, and how to go on.
#include "scenes.h"

#include "constraint/constraint.h"
#include "step/monitor.h"

typedef struct snapshot
{
    double *values;
    int64_t count;
    double time;
    int64_t steps;
} snapshot;

static snapshot take(const tdModel *model, const tdState *state)
{
    size_t n = (size_t)model->coords;
    snapshot s = {malloc((3 * n + (size_t)model->n_inputs + 1) * sizeof(double)), 0, state->time, state->steps};
    const double *const arrays[] = {state->q, state->v, state->reaction};
    for (int k = 0; k < 3; k++)
        memcpy(s.values + (size_t)k * n, arrays[k], n * sizeof(double));
    memcpy(s.values + 3 * n, state->load_last, ((size_t)model->n_inputs + 1) * sizeof(double));
    s.count = (int64_t)(3 * n) + model->n_inputs + 1;
    return s;
}

// Bit for bit what it was.
static void compare(const tdModel *model, const tdState *state, snapshot *before)
{
    snapshot now = take(model, state);
    assert_memory_equal(now.values, before->values, (size_t)now.count * sizeof(double));
    assert_true(now.time == before->time);
    assert_int_equal(now.steps, before->steps);
    free(now.values);
    free(before->values);
}

static tdModel *crusher(const char *law, const char *integrator)
{
    return scene_model("tendril: 1\ntime_step: 2 ms\nsteps: 10\nintegrator: %s\nbodies:\n  - name: jelly\n"
                       "    mesh: %s\n    material: {law: %s, young: 1e5, poisson: 0.3, density: 1000}\n"
                       "    fixed: [{group: zmin}]\n"
                       "    prescribed: [{name: press, group: zmax, displacement: [0, 0, -1]}]\n"
                       "motion: {keyframes: [{t: 0, press: 0}, {t: 1, press: 0.2}]}\n",
                       integrator, scene_cube(3, 0.2, false), law);
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' does not say '%s'", text, part);
}

// Laws are finite for flat and inverted elements, so only a motion whose powers overflow fails.
#define ABSURD 1e120

// Newton finds no way past the elements that overflow and says which; with a gentler input it goes on.
static void crushing_fails_and_recovers(void **unused)
{
    (void)unused;
    const char *const integrators[] = {"{method: backward_euler, newton: true}", "{method: newmark, newton: true}",
                                       "{method: static, min_load_step: 0.25}"};
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = crusher("neo_hookean", integrators[k]);
        tdState *state = scene_state(model);
        scene_steps(model, state, 3);
        snapshot before = take(model, state);
        assert_int_equal(td_state_set_input(model, state, 0, ABSURD), TD_OK);
        assert_int_equal(td_step(model, state), TD_ERROR_NUMERIC);
        const tdReport *report = td_state_report(state);
        assert_int_equal(report->status, TD_ERROR_NUMERIC);
        assert_contains(report->error.message, "element ");
        assert_contains(report->error.message, "'jelly'");
        assert_contains(report->error.message, "step 4");
        compare(model, state, &before);
        assert_int_equal(td_state_set_input(model, state, 0, NAN), TD_OK);
        scene_steps(model, state, 3);
        assert_int_equal(td_state_report(state)->status, TD_OK);
        assert_string_equal(td_state_report(state)->error.message, "");
        assert_int_equal(td_state_steps(state), 6);
        scene_free(model, state);
    }
}

// One linearization a step: a motion beyond all numbers fails in the step itself, one that is only absurd
// where the law is next evaluated there.
static void linearized_steps_fail(void **unused)
{
    (void)unused;
    tdModel *model = crusher("neo_hookean", "{method: backward_euler}");
    tdState *state = scene_state(model);
    scene_steps(model, state, 3);
    snapshot before = take(model, state);
    td_state_set_input(model, state, 0, 1e300);
    assert_int_equal(td_step(model, state), TD_ERROR_NUMERIC);
    assert_contains(td_state_report(state)->error.message, "not finite");
    compare(model, state, &before);
    td_state_set_input(model, state, 0, NAN);
    scene_steps(model, state, 1);

    td_state_set_input(model, state, 0, ABSURD);
    tdStatus status = TD_OK;
    int steps = 0;
    for (; steps < 5 && status == TD_OK; steps++)
    {
        before = take(model, state);
        status = td_step(model, state);
        if (status == TD_OK)
            free(before.values);
    }
    assert_int_equal(status, TD_ERROR_NUMERIC);
    assert_contains(td_state_report(state)->error.message, "element ");
    char step[32];
    snprintf(step, sizeof step, "step %d", 4 + steps);
    assert_contains(td_state_report(state)->error.message, step);
    compare(model, state, &before);
    scene_free(model, state);
}

// A failed step leaves no trace: the run goes on as one that never failed. (The law is linear in what its
// matrices are: a kept factor that the failed step refreshed may change the last bits of others.)
static void failure_leaves_no_trace(void **unused)
{
    (void)unused;
    tdModel *model = crusher("linear", "{method: newmark}");
    tdState *state = scene_state(model), *other = scene_state(model);
    for (int k = 0; k < 20; k++)
    {
        if (k % 5 == 0)
        {
            td_state_set_input(model, state, 0, 1e300);
            assert_int_equal(td_step(model, state), TD_ERROR_NUMERIC);
            td_state_set_input(model, state, 0, NAN);
        }
        scene_steps(model, state, 1);
        scene_steps(model, other, 1);
        assert_memory_equal(state->q, other->q, (size_t)model->coords * sizeof(double));
        assert_memory_equal(state->v, other->v, (size_t)model->coords * sizeof(double));
    }
    td_state_free(other);
    scene_free(model, state);
}

// Nor does a first step, in which Newmark's method looks for the acceleration that it starts with: the cable is to keep
// its length, and the angle moves all nodes that it is tied to.
static void failed_start_leaves_no_trace(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 2 ms\nsteps: 10\nintegrator: {method: newmark}\nbodies:\n"
                    "  - name: jelly\n    mesh: {box: [[0, 0, 0], [0.03, 0.06, 0.11]], cells: [1, 2, 2]}\n"
                    "    material: {law: linear, young: 1e5, poisson: 0.3, density: 1000}\n"
                    "    fixed: [{group: xmin}]\nactuators:\n"
                    "  - {name: a, type: cable, body: jelly, path: [[0, 0.03, 0.01], [0.03, 0.013, 0.1]], "
                    "drive: displacement}\n"
                    "  - {name: b, type: rotation, body: jelly, group: xmax, axis: [0.7, 0.9, 0.6], center: "
                    "[0.03, 0.03, 0.05], drive: angle}\n");
    tdState *state = scene_state(model), *other = scene_state(model);
    td_state_set_input(model, state, 0, 0.01);
    assert_int_equal(td_step(model, state), TD_ERROR_NUMERIC);
    for (int a = 0; a < 2; a++)
        assert_true(state->constraint->displacement[a] == other->constraint->displacement[a] &&
                    state->constraint->effort[a] == other->constraint->effort[a]);
    assert_memory_equal(state->monitor->last, other->monitor->last, (size_t)model->coords * sizeof(double));
    td_state_free(other);
    scene_free(model, state);
}

// ---------------------------------------------------------------- static

// A strip bent into an S with its end carried over by most of its length.
static tdModel *bent(const char *integrator)
{
    return scene_model("tendril: 1\nintegrator: {method: static, %s}\nbodies:\n  - name: strip\n"
                       "    mesh: {box: [[0, 0, 0], [10, 1, 1]], cells: [10, 1, 1]}\n"
                       "    material: {law: neo_hookean, young: 1e5, poisson: 0.3}\n    fixed: [{group: xmin}]\n"
                       "    prescribed: [{name: far, group: xmax, displacement: [-3, 0, 8]}]\n",
                       integrator);
}

static void load_steps_adapt(void **unused)
{
    (void)unused;
    tdModel *model = bent("max_iterations: 6, min_load_step: 1"); // whole or not at all
    tdState *state = scene_state(model);
    snapshot before = take(model, state);
    assert_int_equal(td_step(model, state), TD_ERROR_NUMERIC);
    assert_contains(td_state_report(state)->error.message, "no equilibrium beyond 0.0 % of the load");
    assert_true(td_state_report(state)->load_cuts > 0);
    compare(model, state, &before);
    scene_free(model, state);

    model = bent("max_iterations: 6, tolerance: 1e-9");
    state = scene_state(model);
    scene_steps(model, state, 1);
    int cuts = td_state_report(state)->load_cuts, parts = td_state_report(state)->load_steps;
    assert_true(cuts > 0 && parts > 1);
    assert_true(parts < 1 << cuts); // they grow again: fewer than if all were as small as the smallest
    double force[3], torque = 0;
    td_state_reaction(model, state, 0, force);
    for (int c = 0; c < 3; c++)
        assert_near(force[c], 0, 1e-3);
    for (int64_t i = 0; i < model->coords; i += 3)
        torque += state->q[i + 2] * state->reaction[i] - state->q[i] * state->reaction[i + 2];
    assert_near(torque, 0, 1e-2);
    assert_int_equal(td_state_report(state)->inverted_elements, 0);
    // Once there, it stays there, in one load step.
    scene_steps(model, state, 1);
    assert_int_equal(td_state_report(state)->load_steps, 1);
    assert_int_equal(td_state_report(state)->load_cuts, 0);
    scene_free(model, state);
}

static void static_nonconvergence_is_reported(void **unused)
{
    (void)unused;
    tdModel *model = bent("max_iterations: 1, min_load_step: 0.25");
    tdState *state = scene_state(model);
    snapshot before = take(model, state);
    assert_int_equal(td_step(model, state), TD_ERROR_NUMERIC);
    const tdReport *report = td_state_report(state);
    assert_contains(report->error.message, "no equilibrium beyond");
    assert_contains(report->error.message, "after 1 iterations");
    assert_int_equal(report->load_cuts, 3); // 1, 1/2, 1/4
    assert_int_equal(report->load_steps, 0);
    compare(model, state, &before);
    scene_free(model, state);
}

static void refuse(const char *supports, const char *part)
{
    char text[1000];
    snprintf(text, sizeof text,
             "tendril: 1\ngravity: [0, 0, -1]\nintegrator: {method: static}\nbodies:\n  - name: loose\n"
             "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [2, 2, 2]}\n"
             "    material: {law: linear, young: 1e5, poisson: 0.3, density: 1000}\n%s",
             supports);
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse(text, strlen(text), "loose.yaml", NULL, NULL, &model, &error);
    if (model != NULL)
    {
        tdState *state = scene_state(model);
        status = td_step(model, state);
        error = td_state_report(state)->error;
        for (int64_t i = 0; i < model->coords; i++)
            assert_true(state->q[i] == scene_soft(model)->rest[i]);
        scene_free(model, state);
    }
    assert_true(status != TD_OK);
    assert_contains(error.message, part);
}

static void unsupported_bodies_are_refused(void **unused)
{
    (void)unused;
    refuse("", "nothing holds it");
    refuse("    fixed: [{group: zmin, axes: x}]\n", "hold the body"); // free to fall
    refuse("    fixed: [{nodes: [0]}]\n", "hold the body");           // free to turn
}

// Where the tangent is indefinite the step projects it, says so, and finds the equilibrium all the same.
static void projection_is_reported(void **unused)
{
    (void)unused;
    tdModel *model = bent("tolerance: 1e-9");
    tdState *state = scene_state(model);
    scene_steps(model, state, 1);
    assert_true(td_state_report(state)->projected_elements > 0);
    assert_int_equal(td_state_report(state)->load_steps, 1);
    assert_true(td_state_report(state)->newton_iterations < 15); // near the end it must not project: slow
    scene_steps(model, state, 1);
    assert_int_equal(td_state_report(state)->projected_elements, 0);
    scene_free(model, state);
}

// What is at rest without loads has forces of rounding alone, to which no residual is small: it is solved all the same,
// and stays where it is.
static void rest_is_a_solution(void **unused)
{
    (void)unused;
    const char *const integrators[] = {"{method: backward_euler, newton: true}",
                                       "{method: theta, theta: 0.7, theta_vq: 0.7, newton: true}",
                                       "{method: newmark, gamma: 0.6, beta: 0.3025, newton: true}"};
    for (int k = 0; k < 6; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 10 ms\nsteps: 5\nintegrator: %s\n%sbodies:\n"
            "  - {name: block, type: soft, mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [3, 3, 3]}, material: "
            "{law: "
            "neo_hookean, young: 1e9, poisson: 0.4, density: 1000}, transform: {rotate: [10 deg, 20 deg, 30 deg], "
            "translate: [3, 2, 1]}}\n"
            "  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, density: 1000, transform: {rotate: [10 deg, "
            "20 "
            "deg, 30 deg], translate: [3, 2, 1]}}\n"
            "attachments:\n  - {name: glue, a: block, group: zmin, b: box}\n",
            integrators[k % 3], k < 3 ? "" : "contact: {}\n");
        tdState *state = scene_state(model);
        snapshot start = take(model, state);
        scene_steps(model, state, 5);
        assert_true(state->report.residual <= 1e-8 || state->report.newton_iterations < 5);
        for (int64_t i = 0; i < model->coords; i++)
            assert_near(state->q[i], start.values[i], 1e-12);
        free(start.values);
        scene_free(model, state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crushing_fails_and_recovers),
        cmocka_unit_test(linearized_steps_fail),
        cmocka_unit_test(failure_leaves_no_trace),
        cmocka_unit_test(failed_start_leaves_no_trace),
        cmocka_unit_test(load_steps_adapt),
        cmocka_unit_test(static_nonconvergence_is_reported),
        cmocka_unit_test(unsupported_bodies_are_refused),
        cmocka_unit_test(projection_is_reported),
        cmocka_unit_test(rest_is_a_solution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
