// SPDX-License-Identifier: Apache-2.0
// Multigrid in the place of a factor: the same equilibria, in iterations that do not grow with the mesh, with the same
// bits for any number of threads and after a checkpoint; where it stands in for a factor, and where it cannot.
#include "scenes.h"

#include "reduce/modes.h"
#include "solve/amg.h"

// A bar that bends under its weight, `n` cells across and four times as many along.
static tdModel *bar_of(int n, const char *law, const char *solver, const char *settings)
{
    return scene_model("tendril: 1\ngravity: [0, 0, -9.81]\n%s\nsolver: {%s}\nbodies:\n"
                       "  - name: bar\n    mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [%d, %d, %d]}\n"
                       "    material: {law: %s, young: 1e5, poisson: 0.45, density: 1000}\n"
                       "    fixed: [{group: xmin}]\n",
                       settings, solver, 4 * n, n, n, law);
}

static tdModel *bar(int n, const char *solver, const char *settings)
{
    return bar_of(n, "corotational", solver, settings);
}

#define STATIC "integrator: {method: static}"

static double size_of(int64_t n, const double *a)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

// Iterations of conjugate gradients for one linear system: a step so long that inertia is nothing.
static double iterations_of(int n)
{
    tdModel *model = bar_of(n, "linear", "type: amg", "time_step: 1000 s\nsteps: 1\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 1);
    const tdReport *report = td_state_report(state);
    assert_true(report->newton_iterations == 1 && report->cg_iterations > 0);
    double iterations = (double)report->cg_iterations;
    scene_free(model, state);
    return iterations;
}

// 600 to 12,000 nodes, three times as many across: without the coarser levels iterations would grow by as much.
static void iterations_do_not_grow(void **unused)
{
    (void)unused;
    double few = iterations_of(5), many = iterations_of(15);
    assert_true(many < 1.3 * few);
    assert_true(many < 30);
}

// Passes of Newton's method far from the solution are not solved to the tolerance of a linear system.
static void newton_solves_as_far_as_it_uses(void **unused)
{
    (void)unused;
    tdModel *model = bar(4, "type: amg", STATIC), *exact = bar(4, "type: cholesky", STATIC);
    tdState *state = scene_state(model), *other = scene_state(exact);
    scene_steps(model, state, 1);
    scene_steps(exact, other, 1);
    const tdReport *report = td_state_report(state);
    assert_true(report->newton_iterations <= td_state_report(other)->newton_iterations + 1);
    assert_true(report->residual <= model->settings.tolerance);
    assert_true((double)report->cg_iterations < 0.6 * iterations_of(4) * report->newton_iterations);
    scene_free(exact, other);
    scene_free(model, state);
}

static void same_equilibrium(void **unused)
{
    (void)unused;
    tdModel *exact = bar(4, "type: cholesky", STATIC), *model = bar(4, "type: amg", STATIC);
    tdState *one = scene_state_with(exact, 1, false), *two = scene_state_with(model, 1, false),
            *three = scene_state_with(model, 3, false);
    scene_steps(exact, one, 1);
    scene_steps(model, two, 1);
    scene_steps(model, three, 1);
    int64_t n = model->coords;
    const double *rest = scene_soft(model)->rest;
    double off = 0, moved = 0;
    for (int64_t i = 0; i < n; i++)
    {
        off = fmax(off, fabs(one->q[i] - two->q[i]));
        moved = fmax(moved, fabs(one->q[i] - rest[i]));
        assert_true(two->q[i] == three->q[i]);
    }
    assert_true(moved > 0.02);
    assert_true(off < 1e-6 * moved); // Newton's tolerance
    assert_int_equal(td_state_hash(model, two), td_state_hash(model, three));
    scene_free(exact, one);
    td_state_free(three);
    scene_free(model, two);
}

// A hierarchy that was made some steps ago is made again at the same place.
static void goes_on_after_a_checkpoint(void **unused)
{
    (void)unused;
    tdModel *model = bar(3, "type: amg", "time_step: 10 ms\nsteps: 20");
    tdState *state = scene_state(model), *other = scene_state(model);
    scene_steps(model, state, 7);
    assert_true(td_state_report(state)->cg_iterations > 0);
    size_t size = td_state_size(model, state);
    void *memory = malloc(size);
    tdError error = {0};
    assert_ok(td_state_write(model, state, memory, size, &error), error);
    assert_ok(td_state_read(model, other, memory, size, &error), error);
    free(memory);
    scene_steps(model, state, 5);
    scene_steps(model, other, 5);
    assert_int_equal(td_state_hash(model, state), td_state_hash(model, other));
    td_state_free(other);
    scene_free(model, state);
}

// As a preconditioner it has to be symmetric and positive; held coordinates stay zero.
static void symmetric_and_positive(void **unused)
{
    (void)unused;
    tdModel *model = bar(4, "type: amg", STATIC);
    tdState *state = scene_state(model);
    scene_steps(model, state, 1);
    const tdSoft *soft = scene_soft(model);
    tdArena arena = {0};
    tdAmg *amg = NULL;
    tdError error = {0};
    int64_t n = model->coords, rows[TD_AMG_LEVELS];
    assert_true(td_amg_levels(soft->linear.amg, rows, TD_AMG_LEVELS) >= 2);
    assert_true(rows[0] == soft->n_nodes && rows[1] < rows[0] / 4);
    assert_ok(td_amg_create(soft->linear.amg, &arena, td_isa_pick(true), &amg, &error), error);
    // The factor of the last level in double precision is not in the arena.
    const tdLinearModel *last = soft->linear.amg->last;
    double taken = (double)arena.bytes + last->factor_bytes - 4 * (double)last->shape.values;
    assert_true(td_amg_bytes(soft->linear.amg) < 1.1 * taken);
    assert_true(td_amg_bytes(soft->linear.amg) > 0.8 * taken);
    double *vectors = calloc((size_t)n, 4 * sizeof *vectors), *a = vectors, *b = a + n, *Ba = b + n, *Bb = Ba + n;
    uint64_t seed = 5;
    for (int64_t i = 0; i < n; i++)
    {
        a[i] = soft->held[i] ? 0 : next_random(&seed);
        b[i] = soft->held[i] ? 0 : next_random(&seed);
    }
    bool definite = false;
    assert_ok(td_amg_set(amg, NULL, scene_mine(state)->A, state->q, &definite, &error), error);
    assert_true(definite);
    td_amg_apply(amg, NULL, a, Ba);
    td_amg_apply(amg, NULL, b, Bb);
    double ab = 0, ba = 0, aa = 0;
    for (int64_t i = 0; i < n; i++)
    {
        ab += a[i] * Bb[i];
        ba += b[i] * Ba[i];
        aa += a[i] * Ba[i];
        assert_true(!soft->held[i] || (Ba[i] == 0 && Bb[i] == 0));
    }
    assert_true(aa > 0);
    // Single precision, beside the product of both sizes.
    assert_near(ab, ba, 1e-5 * size_of(n, a) * size_of(n, Bb));
    double *bad = malloc((size_t)soft->pattern.blocks * 9 * sizeof *bad);
    for (int64_t i = 0; i < 9 * soft->pattern.blocks; i++)
        bad[i] = -scene_mine(state)->A[i];
    assert_ok(td_amg_set(amg, NULL, bad, state->q, &definite, &error), error);
    assert_false(definite);
    td_amg_free(amg);
    free(bad);
    free(vectors);
    td_arena_free(&arena);
    scene_free(model, state);
}

// ---------------------------------------------------------------- where it stands in for a factor

static void take_line(void *user, tdLogLevel level, const char *line)
{
    (void)level;
    char *all = user;
    strncat(all, line, 1000 - strlen(all) - 1);
}

static tdStatus load(const char *solver, const char *more, char *log, tdModel **model, tdError *error)
{
    char text[2000];
    int n = snprintf(text, sizeof text,
                     "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 1\nsolver: {%s}\n%sbodies:\n"
                     "  - name: bar\n    mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [20, 5, 5]}\n"
                     "    material: {law: corotational, young: 1e5, poisson: 0.45, density: 1000}\n"
                     "    fixed: [{group: xmin}]\n",
                     solver, more);
    tdSettings settings = td_default_settings();
    settings.log = log != NULL ? take_line : NULL;
    settings.log_user = log;
    settings.level = TD_LOG_INFO;
    *error = (tdError){0};
    return td_model_parse(text, (size_t)n, "bar.yaml", ".", &settings, model, error);
}

static void expect(tdStatus status, tdStatus wanted, const tdError *error, const char *words)
{
    assert_int_equal(status, wanted);
    if (strstr(error->message, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, error->message);
}

static void where_a_factor_does_not_fit(void **unused)
{
    (void)unused;
    tdModel *model = NULL;
    tdError error;
    char log[1000] = "";
    // Its factor takes some 3 MB.
    assert_ok(load("type: auto", "", log, &model, &error), error);
    double bytes = scene_soft(model)->linear.factor_bytes;
    assert_true(scene_soft(model)->linear.amg == NULL && bytes > 1.1e6);
    assert_null(strstr(log, "multigrid"));
    td_model_free(model);
    assert_ok(load("type: auto, memory: 1 MB", "", log, &model, &error), error);
    assert_true(scene_soft(model)->linear.amg != NULL && scene_soft(model)->linear.factor_bytes == bytes);
    assert_non_null(strstr(log, "more than solver.memory; multigrid of"));
    tdModesSettings wanted = {.modes = 401, .memory = 4e9};
    tdModes modes;
    expect(td_modes(model, 0, NULL, &wanted, &modes, &error), TD_ERROR_INPUT, &error, "request 400 at most");
    tdState *state = scene_state(model);
    scene_steps(model, state, 2);
    assert_true(td_state_report(state)->cg_iterations > 2);
    scene_free(model, state);
    expect(load("type: cholesky, memory: 1 MB", "", NULL, &model, &error), TD_ERROR_MEMORY, &error,
           "more than solver.memory allows (0.0 GB)");
    expect(load("type: amg", "contact: {}\n", NULL, &model, &error), TD_ERROR_INPUT, &error,
           "uses multigrid instead; set 'solver: {type: cholesky}'");
    expect(load("memory: 10 kB", "", NULL, &model, &error), TD_ERROR_INPUT, &error, "expected 1 MB to 1000 TB");
    expect(load("memory: lots", "", NULL, &model, &error), TD_ERROR_INPUT, &error, "e.g. 4 GB or 500 MB");
}

// Vibration modes and derivatives of a body without a factor, held and free, are those of one that has it; the same
// bits for any number of threads.
static void same_modes(void **unused)
{
    (void)unused;
    for (int held = 0; held < 2; held++)
    {
        tdModes found[3];
        tdError error = {0};
        for (int k = 0; k < 3; k++)
        {
            tdModel *model = scene_model(
                "tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {newton: true}\nsolver: {type: %s}\nbodies:\n"
                "  - name: bar\n    mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.07]], cells: [12, 4, 3]}\n"
                "    material: {law: stvk, young: 1e5, poisson: 0.45, density: 1000}\n%s",
                k == 0 ? "cholesky" : "amg", held ? "    fixed: [{group: xmin}]\n" : "");
            tdModesSettings wanted = {.modes = 6, .derivatives = 2, .memory = 4e9};
            tdSettings settings = td_default_settings();
            settings.threads = k == 2 ? 3 : 1;
            assert_ok(td_modes(model, 0, &settings, &wanted, &found[k], &error), error);
            assert_int_equal(found[k].n_rigid, held ? 0 : 6);
            td_model_free(model);
        }
        const tdModes *exact = &found[0], *block = &found[1];
        double sign[6];
        assert_true(block->residual < 1e-6);
        for (int i = 0; i < 6; i++)
        {
            assert_near(block->lambda[i], exact->lambda[i], 1e-10 * exact->lambda[i]);
            double off = 0, along = 0; // of two largest entries of one size either may be the positive one
            for (int64_t c = i * exact->n; c < (i + 1) * exact->n; c++)
                along += block->psi[c] * exact->psi[c];
            sign[i] = along < 0 ? -1 : 1;
            for (int64_t c = i * exact->n; c < (i + 1) * exact->n; c++)
                off = fmax(off, fabs(sign[i] * block->psi[c] - exact->psi[c]));
            assert_true(off < 1e-5 * size_of(exact->n, exact->psi + i * exact->n));
        }
        for (int d = 0; d < 3; d++)
        {
            double off = 0, turn = sign[d == 2] * sign[d > 0]; // of the pairs 00, 01, 11
            for (int64_t c = d * exact->n; c < (d + 1) * exact->n; c++)
                off = fmax(off, fabs(turn * block->derived[c] - exact->derived[c]));
            assert_true(off < 1e-4 * size_of(exact->n, exact->derived + d * exact->n));
        }
        assert_memory_equal(found[1].psi, found[2].psi, (size_t)(6 * exact->n) * sizeof(double));
        assert_memory_equal(found[1].lambda, found[2].lambda, 6 * sizeof(double));
        for (int k = 0; k < 3; k++)
            td_modes_free(&found[k]);
    }
}

// Pieces that hang together by one node, lines of elements, few nodes: structures that coarsening must survive.
static void odd_bodies(void **unused)
{
    (void)unused;
    static const char *const meshes[] = {"{box: [[0, 0, 0], [1, 0.1, 0.1]], cells: [40, 1, 1]}",
                                         "{box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}",
                                         "{box: [[0, 0, 0], [1, 1, 0.02]], cells: [12, 12, 1]}"};
    for (int k = 0; k < 3; k++)
    {
        double tip[2];
        for (int amg = 0; amg < 2; amg++)
        {
            tdModel *model = scene_model("tendril: 1\ngravity: [0, 0, -9.81]\n" STATIC
                                         "\nsolver: {type: %s}\nbodies:\n  - name: bar\n    mesh: %s\n"
                                         "    material: {law: linear, young: 1e7, poisson: 0.3, density: 1000}\n"
                                         "    fixed: [{group: xmin}]\n",
                                         amg ? "amg" : "cholesky", meshes[k]);
            tdState *state = scene_state(model);
            scene_steps(model, state, 1);
            tip[amg] = 0;
            for (int64_t i = 2; i < model->coords; i += 3)
                tip[amg] = fmin(tip[amg], state->q[i]);
            scene_free(model, state);
        }
        assert_true(tip[0] < 0);
        assert_near(tip[0], tip[1], 1e-6 * fabs(tip[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetric_and_positive),
        cmocka_unit_test(same_equilibrium),
        cmocka_unit_test(iterations_do_not_grow),
        cmocka_unit_test(newton_solves_as_far_as_it_uses),
        cmocka_unit_test(goes_on_after_a_checkpoint),
        cmocka_unit_test(where_a_factor_does_not_fit),
        cmocka_unit_test(odd_bodies),
        cmocka_unit_test(same_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
