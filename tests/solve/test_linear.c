// SPDX-License-Identifier: Apache-2.0
// The linear solver against a dense Cholesky factorization, when it keeps and when it remakes its factor, and
// the seam of the engine: W = J A^-1 J' through a body's apply_inverse.
#include "scenes.h"

// ---------------------------------------------------------------- random systems

typedef struct fixture
{
    tdArena arena;
    tdMesh mesh;
    tdBlockPattern pattern;
    bool *held;
    tdLinearModel model;
    int n; // coordinates
    double *b, *x;
} fixture;

static void make(fixture *f)
{
    *f = (fixture){0};
    tdError error = {0};
    tdStatus status = td_mesh_box((double[3]){0}, (double[3]){3, 2, 2}, (int[3]){3, 2, 2}, false, &f->mesh, &error);
    assert_ok(status, error);
    const tdCells *tets = &f->mesh.cells[TD_CELL_TET];
    status = td_block_pattern(&f->arena, (int32_t)f->mesh.n_nodes, tets->count, 4, tets->nodes, &f->pattern, &error);
    assert_ok(status, error);
    f->n = 3 * f->pattern.n;
    f->held = TD_TAKE(&f->arena, bool, f->n);
    f->b = TD_TAKE(&f->arena, double, f->n);
    f->x = TD_TAKE(&f->arena, double, f->n);
    for (int i = 0; i < f->n; i++)
        f->held[i] = i < 6 || i % 17 == 0; // whole nodes and single coordinates
    status = td_linear_model_create(&f->arena, &f->pattern, f->held, NULL, &f->model, &error);
    assert_ok(status, error);
    uint64_t seed = 41;
    for (int i = 0; i < f->n; i++)
        f->b[i] = next_random(&seed);
}

static void drop(fixture *f)
{
    td_linear_model_free(&f->model);
    td_mesh_free(&f->mesh);
    td_arena_free(&f->arena);
}

static tdLinear *solver_of(fixture *f, bool portable)
{
    tdLinear *linear = NULL;
    tdError error = {0};
    tdStatus status = td_linear_create(&f->model, &f->arena, td_isa_pick(portable), &linear, &error);
    assert_ok(status, error);
    return linear;
}

static tdLinear *solver(fixture *f)
{
    return solver_of(f, false);
}

// Adds factor B'B of a random 12 x 12 matrix B for each element: positive definite over the pattern.
static double *random_matrix(fixture *f, uint64_t seed)
{
    double *values = TD_TAKE(&f->arena, double, 9 * f->pattern.blocks);
    const tdCells *tets = &f->mesh.cells[TD_CELL_TET];
    for (int64_t e = 0; e < tets->count; e++)
    {
        double B[12][12];
        for (int i = 0; i < 144; i++)
            B[i / 12][i % 12] = next_random(&seed) + (i % 13 == 0);
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 12; j++)
            {
                int32_t a = tets->nodes[4 * e + i / 3], b = tets->nodes[4 * e + j / 3];
                double sum = 0;
                for (int k = 0; k < 12; k++)
                    sum += B[k][i] * B[k][j];
                if (a >= b)
                    values[9 * (int64_t)td_block_find(&f->pattern, a, b) + 3 * (i % 3) + j % 3] += sum;
            }
    }
    return values;
}

// |x - A^-1 b| / |A^-1 b| by dense Cholesky; held coordinates of x must be zero.
static double distance(fixture *f, const double *values, const double *b, const double *x)
{
    double *A = dense_of(&f->pattern, values), *y = malloc((size_t)f->n * sizeof *y), off = 0, size = 0;
    for (int i = 0; i < f->n; i++)
    {
        y[i] = f->held[i] ? 0 : b[i];
        for (int j = 0; j < f->n; j++)
            if (f->held[i] || f->held[j])
                A[i * f->n + j] = i == j;
    }
    assert_true(dense_factor(f->n, A));
    dense_solve(f->n, A, y, y);
    for (int i = 0; i < f->n; i++)
    {
        off += (x[i] - y[i]) * (x[i] - y[i]);
        size += y[i] * y[i];
        assert_true(!f->held[i] || x[i] == 0);
    }
    free(A);
    free(y);
    return sqrt(off / size);
}

static tdLinearResult solve(fixture *f, tdLinear *linear, tdSolverKind kind, const double *values, bool same)
{
    tdLinearTask task = {.kind = kind, .tolerance = 1e-10, .values = values, .same = same, .b = f->b, .x = f->x};
    tdLinearResult result;
    tdError error = {0};
    tdStatus status = td_linear_solve(linear, NULL, &task, &result, &error);
    assert_ok(status, error);
    return result;
}

static void solves_agree_with_dense(void **unused)
{
    (void)unused;
    const tdSolverKind kinds[] = {TD_SOLVER_AUTO, TD_SOLVER_CHOLESKY, TD_SOLVER_CG};
    fixture f;
    make(&f);
    for (int k = 0; k < 3; k++)
    {
        tdLinear *linear = solver(&f);
        for (int round = 0; round < 3; round++)
        {
            double *values = random_matrix(&f, 50 + (uint64_t)round);
            for (int i = 0; i < f.n; i++)
                f.x[i] = round; // any first guess, also on held coordinates
            tdLinearResult result = solve(&f, linear, kinds[k], values, false);
            assert_false(result.indefinite);
            assert_true(result.residual <= 1e-10);
            assert_true(distance(&f, values, f.b, f.x) < 1e-7); // the residual times the condition number
        }
        td_linear_free(linear);
    }
    drop(&f);
}

static void nothing_to_solve(void **unused)
{
    (void)unused;
    fixture f;
    make(&f);
    tdLinear *linear = solver(&f);
    double *values = random_matrix(&f, 1);
    memset(f.b, 0, (size_t)f.n * sizeof(double));
    f.x[40] = 3;
    tdLinearResult result = solve(&f, linear, TD_SOLVER_AUTO, values, false);
    assert_int_equal(result.factorizations, 0);
    for (int i = 0; i < f.n; i++)
        assert_true(f.x[i] == 0);
    f.b[30] = NAN;
    tdLinearTask task = {.tolerance = 1e-10, .values = values, .b = f.b, .x = f.x};
    tdError error = {0};
    assert_int_equal(td_linear_solve(linear, NULL, &task, &result, &error), TD_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "not finite"));
    td_linear_free(linear);
    drop(&f);
}

static void same_matrix_is_factored_once(void **unused)
{
    (void)unused;
    const tdSolverKind kinds[] = {TD_SOLVER_AUTO, TD_SOLVER_CHOLESKY, TD_SOLVER_CG};
    fixture f;
    make(&f);
    double *values = random_matrix(&f, 3);
    uint64_t seed = 5;
    for (int k = 0; k < 3; k++)
    {
        tdLinear *linear = solver(&f);
        for (int round = 0; round < 10; round++)
        {
            for (int i = 0; i < f.n; i++)
            {
                f.b[i] = next_random(&seed);
                f.x[i] = 0;
            }
            tdLinearResult result = solve(&f, linear, kinds[k], values, round > 0);
            assert_int_equal(result.factorizations, round == 0);
            assert_int_equal(result.refreshed, round == 0);
            assert_true(result.iterations <= 2); // its own factor: one, and one more for rounding
            assert_true(distance(&f, values, f.b, f.x) < 1e-7);
        }
        td_linear_free(linear);
    }
    drop(&f);
}

// Right-hand sides that go with one: each as if solved alone, zero where coordinates are held; not where a kept factor
// is not that of the matrix, or where there is nothing to solve.
static void more_go_with_one(void **unused)
{
    (void)unused;
    enum
    {
        MORE = 9
    };
    fixture f;
    make(&f);
    double *A = random_matrix(&f, 5), *other = random_matrix(&f, 6);
    double *b = test_malloc((size_t)(MORE * f.n) * sizeof *b), *x = test_malloc((size_t)(MORE * f.n) * sizeof *x);
    uint64_t seed = 11;
    for (int64_t i = 0; i < MORE * f.n; i++)
    {
        b[i] = next_random(&seed) - 0.5;
        x[i] = 3;
    }
    for (int64_t i = 0; i < f.n; i++)
        f.b[i] = next_random(&seed) - 0.5;
    tdLinear *linear = solver(&f);
    tdError error = {0};
    tdLinearResult result;
    tdLinearMore more = {MORE, f.n, b, x, false};
    tdLinearTask task = {
        .kind = TD_SOLVER_CHOLESKY, .tolerance = 1e-10, .values = A, .b = f.b, .x = f.x, .more = &more};
    memset(f.x, 0, (size_t)f.n * sizeof(double));
    assert_ok(td_linear_solve(linear, NULL, &task, &result, &error), error);
    assert_true(more.done);
    assert_true(distance(&f, A, f.b, f.x) < 1e-9);
    for (int j = 0; j < MORE; j++)
    {
        assert_true(distance(&f, A, b + j * f.n, x + j * f.n) < 1e-9);
        for (int64_t i = 0; i < f.n; i++)
            if (f.model.dof[i] < 0)
                assert_true(x[j * f.n + i] == 0);
    }
    more.done = false;
    task.kind = TD_SOLVER_CG; // another matrix by the kept factor: these would not be exact
    task.values = other;
    memset(f.x, 0, (size_t)f.n * sizeof(double));
    assert_ok(td_linear_solve(linear, NULL, &task, &result, &error), error);
    assert_false(more.done);
    task.kind = TD_SOLVER_CHOLESKY;
    memset(f.b, 0, (size_t)f.n * sizeof(double));
    assert_ok(td_linear_solve(linear, NULL, &task, &result, &error), error);
    assert_false(more.done);
    test_free(b);
    test_free(x);
    td_linear_free(linear);
    drop(&f);
}

// A = A0 + t A1: the factor is kept while that pays, and what it decides repeats.
static void slow_change_keeps_the_factor(void **unused)
{
    (void)unused;
    fixture f;
    make(&f);
    double *A0 = random_matrix(&f, 3), *A1 = random_matrix(&f, 4);
    double *values = TD_TAKE(&f.arena, double, 9 * f.pattern.blocks), *first = TD_TAKE(&f.arena, double, f.n);
    tdLinear *a = solver(&f), *b = solver(&f), *c = solver(&f), *d = solver(&f);
    tdLinear *portable = solver_of(&f, true);
    int portable_iterations = 0, automatic = 0, fresh = 0, kept = 0, automatic_iterations = 0, kept_iterations = 0;
    for (int round = 0; round < 60; round++)
    {
        for (int64_t i = 0; i < 9 * f.pattern.blocks; i++)
            values[i] = A0[i] + 0.01 * round * A1[i];
        memset(f.x, 0, (size_t)f.n * sizeof(double));
        tdLinearResult result = solve(&f, a, TD_SOLVER_AUTO, values, false);
        assert_true(distance(&f, values, f.b, f.x) < 1e-7);
        automatic += result.factorizations;
        automatic_iterations += result.iterations;
        memcpy(first, f.x, (size_t)f.n * sizeof(double));

        memset(f.x, 0, (size_t)f.n * sizeof(double));
        tdLinearResult again = solve(&f, b, TD_SOLVER_AUTO, values, false);
        assert_int_equal(again.iterations, result.iterations);
        assert_int_equal(again.factorizations, result.factorizations);
        assert_memory_equal(first, f.x, (size_t)f.n * sizeof(double));
        assert_memory_equal(td_linear_counts(a), td_linear_counts(b), sizeof(tdLinearCounts));

        memset(f.x, 0, (size_t)f.n * sizeof(double));
        fresh += solve(&f, c, TD_SOLVER_CHOLESKY, values, false).factorizations;
        memset(f.x, 0, (size_t)f.n * sizeof(double));
        result = solve(&f, d, TD_SOLVER_CG, values, false);
        kept += result.factorizations;
        kept_iterations += result.iterations;
        assert_true(distance(&f, values, f.b, f.x) < 1e-7);

        memset(f.x, 0, (size_t)f.n * sizeof(double));
        portable_iterations += solve(&f, portable, TD_SOLVER_CG, values, false).iterations;
        assert_true(distance(&f, values, f.b, f.x) < 1e-7);
    }
    assert_int_equal(fresh, 60);
    assert_int_equal(kept, 1);
    assert_true(automatic >= 2 && automatic <= 30);
    assert_true(automatic_iterations < kept_iterations);
    assert_true(abs(portable_iterations - kept_iterations) <=
                60); // another rounding; a worse factor would take many more
    td_linear_free(a);
    td_linear_free(b);
    td_linear_free(c);
    td_linear_free(d);
    td_linear_free(portable);
    drop(&f);
}

static void indefinite_is_detected(void **unused)
{
    (void)unused;
    fixture f;
    make(&f);
    double *good = random_matrix(&f, 3), *bad = TD_TAKE(&f.arena, double, 9 * f.pattern.blocks);
    memcpy(bad, good, 9 * (size_t)f.pattern.blocks * sizeof(double));
    for (int32_t i = 0; i < f.pattern.n; i++)
        bad[9 * (f.pattern.row[i + 1] - 1) + 4] -= 100;
    const tdSolverKind kinds[] = {TD_SOLVER_AUTO, TD_SOLVER_CHOLESKY, TD_SOLVER_CG};
    for (int k = 0; k < 3; k++)
        for (int before = 0; before < 2; before++) // without and with a factor of a good one
        {
            tdLinear *linear = solver(&f);
            memset(f.x, 0, (size_t)f.n * sizeof(double));
            if (before)
                assert_false(solve(&f, linear, kinds[k], good, false).indefinite);
            memset(f.x, 0, (size_t)f.n * sizeof(double));
            assert_true(solve(&f, linear, kinds[k], bad, false).indefinite);
            // and it recovers
            memset(f.x, 0, (size_t)f.n * sizeof(double));
            assert_false(solve(&f, linear, kinds[k], good, false).indefinite);
            assert_true(distance(&f, good, f.b, f.x) < 1e-7);
            td_linear_free(linear);
        }
    tdLinear *linear = solver(&f);
    tdError error = {0};
    assert_int_equal(td_linear_refresh(linear, NULL, bad, NULL, &error), TD_ERROR_NUMERIC);
    assert_int_equal(td_linear_refresh(linear, NULL, good, NULL, &error), TD_OK);
    memset(f.x, 0, (size_t)f.n * sizeof(double));
    td_linear_apply(linear, NULL, f.b, f.x);
    assert_true(distance(&f, good, f.b, f.x) < 1e-9);
    td_linear_free(linear);
    drop(&f);
}

// ---------------------------------------------------------------- factors in single precision

enum
{
    COLUMNS = 11 // with one more than a block
};

// Stiffens what two neighbours have in common, so that nothing else is left of them in single precision.
static double *nearly_rigid(fixture *f, double stiffness)
{
    double *values = random_matrix(f, 4);
    const double u[2][3] = {{-3, -1, -2}, {1, 2, 3}};
    int32_t i = f->pattern.n - 1, pair[2] = {f->pattern.column[f->pattern.row[i]], i};
    for (int a = 0; a < 2; a++)
        for (int b = 0; b <= a; b++)
        {
            double *to = values + 9 * (int64_t)td_block_find(&f->pattern, pair[a], pair[b]);
            for (int k = 0; k < 9; k++)
                to[k] += stiffness * u[a][k / 3] * u[b][k % 3];
        }
    return values;
}

// One right-hand side with others, then all of them again by the same factor. Returns factorizations.
static int check_block(fixture *f, tdLinear *linear, tdTasks *tasks, const double *values, double off, double *x)
{
    double *b = test_malloc((size_t)(COLUMNS * f->n) * sizeof *b), *y = test_malloc((size_t)f->n * sizeof *y);
    uint64_t seed = 12;
    for (int64_t i = 0; i < COLUMNS * (int64_t)f->n; i++)
    {
        b[i] = next_random(&seed) - 0.5;
        x[i] = 7; // what it holds does not matter
    }
    for (int i = 0; i < f->n; i++)
        y[i] = 1;
    tdLinearMore more = {.n = COLUMNS - 1, .stride = f->n, .b = b + f->n, .x = x + f->n};
    tdLinearTask task = {
        .kind = TD_SOLVER_CHOLESKY, .tolerance = 1e-9, .values = values, .b = b, .x = y, .more = &more};
    tdLinearResult result, again;
    tdError error = {0};
    assert_ok(td_linear_solve(linear, tasks, &task, &result, &error), error);
    assert_true(more.done && result.refreshed && result.residual <= 1e-9);
    memcpy(x, y, (size_t)f->n * sizeof *x);
    for (int j = 0; j < COLUMNS; j++)
        assert_true(distance(f, values, b + j * f->n, x + j * f->n) < off);
    assert_ok(td_linear_solve_many(linear, tasks, values, true, COLUMNS, f->n, b, x, &again, &error), error);
    assert_int_equal(again.factorizations, 0);
    for (int j = 0; j < COLUMNS; j++)
        assert_true(distance(f, values, b + j * f->n, x + j * f->n) < off);
    test_free(b);
    test_free(y);
    return result.factorizations;
}

static void refined_in_double_precision(void **unused)
{
    (void)unused;
    fixture f;
    make(&f);
    f.model.single = true;
    f.model.plan.flops = 1e18; // as if it paid
    double *easy = random_matrix(&f, 3), *hard = nearly_rigid(&f, 1e7);
    double *harder = nearly_rigid(&f, 1e10);
    double *first = test_malloc((size_t)(COLUMNS * f.n) * sizeof *first);
    double *x = test_malloc((size_t)(COLUMNS * f.n) * sizeof *x);
    for (int threads = 1; threads <= 2; threads++)
    {
        tdTasks *tasks = NULL;
        tdError error = {0};
        assert_ok(td_tasks_create(threads, &tasks, &error), error);
        tdLinear *linear = solver(&f);
        assert_int_equal(check_block(&f, linear, tasks, easy, 1e-6, x), 1);
        assert_int_equal(td_linear_counts(linear)->has_factor, 2);
        if (threads == 1)
            memcpy(first, x, (size_t)(COLUMNS * f.n) * sizeof *x);
        assert_memory_equal(first, x, (size_t)(COLUMNS * f.n) * sizeof *x);
        // Where seven digits do not do, it is found out, and the factor is one in double precision.
        assert_int_equal(check_block(&f, linear, tasks, hard, 1e-3, x), 2);
        assert_int_equal(td_linear_counts(linear)->has_factor, 1);
        assert_int_equal(check_block(&f, linear, tasks, harder, 1e-3, x), 1); // not even definite there
        assert_int_equal(td_linear_counts(linear)->has_factor, 1);
        // One alone, by conjugate gradients; and a factor that was kept for it.
        for (int i = 0; i < f.n; i++)
            f.x[i] = 0;
        tdLinearResult result = solve(&f, linear, TD_SOLVER_CHOLESKY, easy, false);
        assert_int_equal(td_linear_counts(linear)->has_factor, 2);
        assert_true(result.factorizations == 1 && result.iterations <= 6 && distance(&f, easy, f.b, f.x) < 1e-7);
        for (int i = 0; i < f.n; i++)
            f.x[i] = 0;
        result = solve(&f, linear, TD_SOLVER_CG, hard, true);
        assert_true(distance(&f, hard, f.b, f.x) < 1e-3);
        // After a checkpoint it is the one that it was; asked for in double precision, it is in double precision.
        td_linear_counts(linear)->has_factor = 2;
        assert_ok(td_linear_restore(linear, tasks, easy, NULL, &error), error);
        assert_int_equal(td_linear_counts(linear)->has_factor, 2);
        assert_ok(td_linear_refresh(linear, tasks, easy, NULL, &error), error);
        assert_int_equal(td_linear_counts(linear)->has_factor, 1);
        td_linear_apply(linear, tasks, f.b, f.x);
        assert_true(distance(&f, easy, f.b, f.x) < 1e-9);
        td_linear_free(linear);
        td_tasks_free(tasks);
    }
    test_free(first);
    test_free(x);
    drop(&f);
}

// A bar that two cables bend, by factors in single precision: as by those in double precision, to the tolerance, and
// the same bits with two threads.
static void robots_by_single_precision(void **unused)
{
    (void)unused;
    tdModel *models[3];
    tdState *states[3];
    for (int k = 0; k < 3; k++)
    {
        models[k] = scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 30\nbodies:\n"
                                "  - name: bar\n    mesh: {box: [[0, 0, 0], [0.12, 0.02, 0.02]], cells: [12, 2, 2]}\n"
                                "    material: {law: corotational, young: 0.2 MPa, poisson: 0.4, density: 1000}\n"
                                "    fixed: [{group: xmin}]\nactuators:\n"
                                "  - {name: up, type: cable, body: bar, path: [[0, 0.01, 0.02], [0.06, 0.01, 0.02], "
                                "[0.12, 0.01, 0.02]], drive: displacement}\n"
                                "  - {name: side, type: cable, body: bar, path: [[0, 0.02, 0.01], [0.06, 0.02, 0.01], "
                                "[0.12, 0.02, 0.01]], drive: displacement}\n"
                                "motion: {keyframes: [{t: 0, up: 0, side: 0}, {t: 0.3 s, up: 8e-3, side: 4e-3}]}\n");
        tdLinearModel *linear = &((tdSoft *)scene_soft(models[k]))->linear;
        linear->single = k > 0;
        linear->plan.flops = 1e18; // as if it paid
        states[k] = scene_state_with(models[k], k == 2 ? 2 : 1, false);
        scene_steps(models[k], states[k], 30);
        assert_int_equal(td_linear_counts(scene_mine(states[k])->linear)->has_factor, k > 0 ? 2 : 1);
    }
    double bent = 0;
    for (int64_t i = 0; i < models[0]->coords; i++)
    {
        bent = fmax(bent, fabs(states[0]->q[i] - scene_soft(models[0])->rest[i]));
        assert_near(states[1]->q[i], states[0]->q[i], 1e-7);
    }
    assert_true(bent > 0.003);
    assert_memory_equal(states[1]->q, states[2]->q, (size_t)models[0]->coords * sizeof(double));
    for (int k = 0; k < 3; k++)
        scene_free(models[k], states[k]);
}

// ---------------------------------------------------------------- a factor that turns

static double turns[9 * 64];

static const double *all_turns(void *context)
{
    *(int *)context += 1;
    return turns;
}

// A body that turned as a whole has the matrix Q A Q': its old factor, turned along, is as good as new.
static void factor_turns_with_the_body(void **unused)
{
    (void)unused;
    fixture f;
    make(&f);
    td_linear_model_free(&f.model);
    tdError error = {0};
    for (int i = 0; i < f.n; i++)
        f.held[i] = i < 12; // whole nodes only
    tdStatus status = td_linear_model_create(&f.arena, &f.pattern, f.held, NULL, &f.model, &error);
    assert_ok(status, error);
    double *values = random_matrix(&f, 3), *turned = TD_TAKE(&f.arena, double, 9 * f.pattern.blocks);
    const double c = cos(1.2), s = sin(1.2), R[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
    assert_true(f.pattern.n <= 64);
    for (int i = 0; i < 9 * f.pattern.n; i++)
        turns[i] = i < 36 ? i % 9 % 4 == 0 : R[i % 9]; // held nodes do not turn
    for (int32_t i = 0; i < f.pattern.n; i++)
        for (int64_t k = f.pattern.row[i]; k < f.pattern.row[i + 1]; k++)
        {
            const double *Qi = turns + 9 * i, *Qj = turns + 9 * f.pattern.column[k], *A = values + 9 * k;
            for (int e = 0; e < 9; e++)
                for (int m = 0; m < 9; m++)
                    turned[9 * k + e] += Qi[3 * (e / 3) + m / 3] * A[m] * Qj[3 * (e % 3) + m % 3];
        }
    int called = 0, iterations[2];
    for (int with = 0; with < 2; with++)
    {
        tdLinear *linear = solver(&f);
        memset(f.x, 0, (size_t)f.n * sizeof(double));
        solve(&f, linear, TD_SOLVER_CG, values, false);
        memset(f.x, 0, (size_t)f.n * sizeof(double));
        tdLinearTask task = {.kind = TD_SOLVER_CG,
                             .tolerance = 1e-10,
                             .values = turned,
                             .b = f.b,
                             .x = f.x,
                             .rotations = with ? all_turns : NULL,
                             .context = &called};
        tdLinearResult result;
        status = td_linear_solve(linear, NULL, &task, &result, &error);
        assert_ok(status, error);
        assert_true(distance(&f, turned, f.b, f.x) < 1e-7);
        assert_int_equal(result.factorizations, 0);
        iterations[with] = result.iterations;
        td_linear_free(linear);
    }
    assert_int_equal(called, 1);
    assert_true(iterations[1] <= 4 && iterations[0] > 10);
    drop(&f);
}

// ---------------------------------------------------------------- the seam

#define ROWS 6

// W = J A^-1 J' by apply_inverse after some steps, against dense matrices.
static void check_seam(const char *law, const char *solver_kind, const char *integrator)
{
    tdModel *model = scene_model("tendril: 1\ngravity: [0, 3, -9.81]\ntime_step: 2 ms\nsteps: 1\n"
                                 "solver: {type: %s, tolerance: 1e-12}\nintegrator: {%s}\n"
                                 "bodies:\n  - name: bar\n    mesh: %s\n"
                                 "    material: {law: %s, young: 1e5, poisson: 0.3, density: 1000}\n"
                                 "    damping: {mass: 0.5%s}\n    fixed: [{group: xmin}]\n",
                                 solver_kind, integrator, scene_cube(3, 0.2, true), law,
                                 strstr(integrator, "symplectic") == NULL ? ", stiffness: 1 ms" : "");
    tdState *state = scene_state(model);
    scene_steps(model, state, 7);
    const tdBody *body = &model->bodies[0];
    const tdSoft *soft = scene_soft(model);
    int n = (int)body->count;
    double *A = dense_of(&soft->pattern, scene_mine(state)->A), J[ROWS][192] = {{0}}, x[192], y[192];
    assert_int_equal(n, 192);
    bool explicit_step = strstr(integrator, "symplectic") != NULL;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (soft->held[i] || soft->held[j])
                A[i * n + j] = i == j;
            else if (explicit_step)
                A[i * n + j] = i == j ? soft->node_mass[i / 3] : 0;
    assert_true(dense_factor(n, A));
    uint64_t seed = 61;
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < 12; k++) // as a constraint does, a row touches a few coordinates, also held ones
            J[r][(int)(fabs(next_random(&seed)) * 191.9)] = next_random(&seed);
    double W[ROWS][ROWS], factor[ROWS * ROWS], largest = 0;
    for (int r = 0; r < ROWS; r++)
    {
        assert_int_equal(body->ops->apply_inverse(model, body, state, 1, 0, J[r], x), TD_OK);
        for (int i = 0; i < n; i++)
            y[i] = soft->held[i] ? 0 : J[r][i];
        dense_solve(n, A, y, y);
        for (int t = 0; t < ROWS; t++)
        {
            double exact = 0;
            W[r][t] = 0;
            for (int i = 0; i < n; i++)
            {
                W[r][t] += J[t][i] * x[i];
                exact += soft->held[i] ? 0 : J[t][i] * y[i];
            }
            largest = fmax(largest, fabs(exact));
            assert_near(W[r][t], exact, 1e-8 * largest);
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int t = 0; t < ROWS; t++)
        {
            assert_near(W[r][t], W[t][r], 1e-8 * largest);
            factor[r * ROWS + t] = W[r][t];
        }
    assert_true(dense_factor(ROWS, factor));
    scene_steps(model, state, 3); // and the step goes on
    free(A);
    scene_free(model, state);
}

static void inverse_through_the_seam(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST, *const kinds[] = {"auto", "cholesky", "cg", "amg"};
    for (int k = 0; k < 20; k++)
        check_seam(laws[k / 4], kinds[k % 4], k % 2 ? "method: backward_euler" : "method: newmark");
    check_seam("neo_hookean", "auto", "method: backward_euler, newton: true");
    check_seam("corotational", "auto", "method: static");
    check_seam("corotational", "auto", "method: symplectic");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_agree_with_dense),      cmocka_unit_test(nothing_to_solve),
        cmocka_unit_test(same_matrix_is_factored_once), cmocka_unit_test(slow_change_keeps_the_factor),
        cmocka_unit_test(indefinite_is_detected),       cmocka_unit_test(factor_turns_with_the_body),
        cmocka_unit_test(inverse_through_the_seam),     cmocka_unit_test(more_go_with_one),
        cmocka_unit_test(refined_in_double_precision),  cmocka_unit_test(robots_by_single_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
