// SPDX-License-Identifier: Apache-2.0
#include "solve/linear.h"

#include "base/log.h"

#include <cblas.h>
#include <cholmod.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A factorization runs near the peak of the arithmetic, a solve near that of the memory: a flop of the
// first costs about a tenth of one of the second. Each iteration makes 4 flops an entry of the factor.
#define FLOP_RATIO      10.0
#define MOST_ITERATIONS 500

// Of the OpenMP run time that CHOLMOD is linked with; its header comes with one compiler only.
extern int omp_get_max_active_levels(void);
extern void omp_set_max_active_levels(int levels);

struct tdLinear
{
    const tdLinearModel *model;
    cholmod_common common;
    cholmod_factor *factor;
    double *work;           // of a factorization, made with the first one
    double *r, *z, *p, *Ap; // over coordinates
    tdSubstitution substitution;
    tdTriangular triangular; // the factor in single precision, for the time that it is not exact anyway
    bool triangular_set;
    double *turned, *solution; // over unknowns
    tdLinearCounts counts;
};

// Debian's CHOLMOD opens OpenMP regions of its own inside a factorization, whatever OMP_NUM_THREADS
// says; on busy cores they cost a multiple of what they save, and they are not our threads. With no
// active level allowed, a region runs on the calling thread. The setting belongs to that thread.
int td_openmp_quiet(void)
{
    int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(0);
    return levels;
}

void td_openmp_restore(int levels)
{
    omp_set_max_active_levels(levels);
}

void td_cholmod_start(cholmod_common *common)
{
    cholmod_start(common);
    common->print = 0;
    common->error_handler = NULL;
    common->supernodal = CHOLMOD_SUPERNODAL;
    common->final_ll = 1;
    common->quick_return_if_not_posdef = 1;
    // Supernodes of four nodes rather than four unknowns at least: on robots of a thousand nodes calls of BLAS for
    // smaller ones cost more than the zeros.
    common->nrelax[0] = 12;
    common->nrelax[1] = 32;
    common->nrelax[2] = 64;
    common->zrelax[1] = 0.2;
    common->zrelax[2] = 0.1;
    // OpenBLAS with several threads gives other bits than with one, and the threads are ours to use.
    openblas_set_num_threads(1);
}

// Fill-reducing order of the nodes; the three unknowns of a node stay together, which makes the
// ordering nine times smaller and the supernodes wider.
static tdStatus order_nodes(cholmod_common *common, const tdBlockPattern *pattern, int32_t *order, tdError *error)
{
    cholmod_sparse *graph = cholmod_allocate_sparse((size_t)pattern->n, (size_t)pattern->n, (size_t)pattern->blocks, 1,
                                                    1, 1, CHOLMOD_PATTERN, common);
    if (graph == NULL)
        return td_fail_memory(error, "the ordering of the matrix");
    // Rows of the lower triangle are columns of the upper one.
    int32_t *p = graph->p, *i = graph->i;
    for (int32_t k = 0; k <= pattern->n; k++)
        p[k] = (int32_t)pattern->row[k];
    memcpy(i, pattern->column, (size_t)pattern->blocks * sizeof *i);
    // METIS gives less fill on large meshes of solids, AMD is quicker and as good on small ones.
    bool done = pattern->n > 300 ? cholmod_metis(graph, NULL, 0, 1, order, common) != 0
                                 : cholmod_amd(graph, NULL, 0, order, common) != 0;
    if (!done)
        done = cholmod_amd(graph, NULL, 0, order, common) != 0;
    cholmod_free_sparse(&graph, common);
    return done ? TD_OK
                : td_fail(error, TD_ERROR_NUMERIC, "CHOLMOD could not order the matrix (status %d)", common->status);
}

// Column by column: the lower triangle of the free unknowns, with the place of each entry in the blocks.
static void list_entries(tdLinearModel *out, bool count_only)
{
    const tdBlockPattern *pattern = out->pattern;
    int32_t entries = 0;
    for (int32_t j = 0; j < pattern->n; j++)
        for (int c = 0; c < 3; c++)
        {
            int32_t column = out->dof[3 * j + c];
            if (column < 0)
                continue;
            out->Ap[column] = entries;
            for (int64_t k = pattern->below[j] - 1; k < pattern->below[j + 1]; k++)
            {
                bool diagonal = k < pattern->below[j];
                int32_t i = diagonal ? j : pattern->below_row[k];
                int64_t block = diagonal ? pattern->row[j + 1] - 1 : pattern->below_block[k];
                for (int r = diagonal ? c : 0; r < 3; r++)
                {
                    int32_t row = out->dof[3 * i + r];
                    if (row < 0)
                        continue;
                    if (!count_only)
                    {
                        out->Ai[entries] = row;
                        out->source[entries] = (int32_t)(9 * block + 3 * r + c);
                    }
                    entries++;
                }
            }
        }
    out->Ap[out->n] = entries;
}

cholmod_sparse td_cholmod_lower(int32_t n, int32_t *start, int32_t *row)
{
    return (cholmod_sparse){.nrow = (size_t)n,
                            .ncol = (size_t)n,
                            .nzmax = n > 0 ? (size_t)start[n] : 0,
                            .p = start,
                            .i = row,
                            .stype = -1,
                            .itype = CHOLMOD_INT,
                            .xtype = CHOLMOD_PATTERN,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1};
}

tdStatus td_linear_model_create(tdArena *arena, const tdBlockPattern *pattern, const bool *held, tdLinearModel *out,
                                tdError *error)
{
    *out = (tdLinearModel){.pattern = pattern};
    int64_t coords = 3 * (int64_t)pattern->n;
    out->dof = TD_TAKE(arena, int32_t, coords);
    out->coord = TD_TAKE(arena, int32_t, coords);
    out->common = td_take(1, sizeof *out->common);
    if (out->dof == NULL || out->coord == NULL || out->common == NULL)
        return td_fail_memory(error, "the matrix");
    td_cholmod_start(out->common);
    for (int64_t i = 0; i < coords; i++)
    {
        out->dof[i] = held[i] ? -1 : out->n;
        if (!held[i])
            out->coord[out->n++] = (int32_t)i;
    }
    if (out->n == 0)
        return TD_OK; // everything is held: nothing to solve
    out->Ap = TD_TAKE(arena, int32_t, out->n + 1);
    if (out->Ap == NULL)
        return td_fail_memory(error, "the matrix");
    list_entries(out, true);
    out->Ai = TD_TAKE(arena, int32_t, out->Ap[out->n]);
    out->source = TD_TAKE(arena, int32_t, out->Ap[out->n]);
    out->turning = TD_TAKE(arena, bool, pattern->n);
    int32_t *nodes = td_take((size_t)pattern->n, sizeof *nodes), *order = td_take((size_t)out->n, sizeof *order);
    tdStatus status = TD_OK;
    if (out->Ai == NULL || out->source == NULL || out->turning == NULL || nodes == NULL || order == NULL)
        status = td_fail_memory(error, "the matrix");
    else
        status = order_nodes(out->common, pattern, nodes, error);
    if (status == TD_OK)
    {
        list_entries(out, false);
        int32_t at = 0;
        for (int32_t k = 0; k < pattern->n; k++)
            for (int c = 0; c < 3; c++)
                if (out->dof[3 * nodes[k] + c] >= 0)
                    order[at++] = out->dof[3 * nodes[k] + c];
        cholmod_sparse A = td_cholmod_lower(out->n, out->Ap, out->Ai);
        out->common->nmethods = 1;
        out->common->method[0].ordering = CHOLMOD_GIVEN;
        out->common->postorder = 1;
        out->symbolic = cholmod_analyze_p(&A, order, NULL, 0, out->common);
        if (out->symbolic == NULL)
            status = td_fail_memory(error, "the factor of the matrix");
    }
    free(nodes);
    free(order);
    if (status == TD_OK)
    {
        tdFactorMatrix matrix = {out->n, out->Ap, out->Ai, out->source};
        status = td_factor_plan(out->symbolic, &matrix, &out->plan, error);
    }
    if (status == TD_OK)
        status = td_triangular_shape(arena, out->symbolic, &out->shape, error);
    if (status == TD_OK)
    {
        for (int32_t i = 0; i < pattern->n; i++)
            out->turning[i] = out->dof[3 * i] >= 0 && out->dof[3 * i + 1] >= 0 && out->dof[3 * i + 2] >= 0;
        out->factor_flops = out->common->fl;
        out->factor_entries = out->common->lnz;
        double cost = out->factor_flops / (4 * FLOP_RATIO * out->factor_entries);
        out->factor_cost = cost < 2 ? 2 : (int)cost;
    }
    return status;
}

void td_linear_model_free(tdLinearModel *model)
{
    if (model->common == NULL)
        return;
    td_factor_plan_free(&model->plan);
    if (model->symbolic != NULL)
        cholmod_free_factor(&model->symbolic, model->common);
    cholmod_finish(model->common);
    free(model->common);
    model->common = NULL;
}

tdStatus td_linear_create(const tdLinearModel *model, tdArena *arena, tdIsa isa, tdLinear **out, tdError *error)
{
    *out = NULL;
    tdLinear *linear = TD_TAKE(arena, tdLinear, 1);
    if (linear == NULL)
        return td_fail_memory(error, "the linear solver");
    linear->model = model;
    td_cholmod_start(&linear->common);
    *out = linear; // from here on td_linear_free releases what there is
    int64_t coords = 3 * (int64_t)model->pattern->n;
    linear->r = TD_TAKE(arena, double, coords);
    linear->z = TD_TAKE(arena, double, coords);
    linear->p = TD_TAKE(arena, double, coords);
    linear->Ap = TD_TAKE(arena, double, coords);
    if (linear->r == NULL || linear->z == NULL || linear->p == NULL || linear->Ap == NULL)
        return td_fail_memory(error, "the linear solver");
    if (model->n == 0)
        return TD_OK;
    linear->turned = TD_TAKE(arena, double, model->n);
    linear->solution = TD_TAKE(arena, double, model->n);
    if (linear->turned == NULL || linear->solution == NULL)
        return td_fail_memory(error, "the linear solver");
    // By the machine's own kernels, as the factor is made.
    TD_TRY(td_substitution_create(arena, &model->shape, td_isa_pick(false), &linear->substitution, error));
    TD_TRY(td_triangular_create(arena, &model->shape, isa, &linear->triangular, error));
    linear->factor = cholmod_copy_factor(model->symbolic, &linear->common);
    if (linear->factor == NULL)
        return td_fail_memory(error, "the linear solver");
    return TD_OK;
}

void td_linear_free(tdLinear *linear)
{
    if (linear == NULL)
        return;
    cholmod_free_factor(&linear->factor, &linear->common);
    cholmod_finish(&linear->common);
    free(linear->work);
}

tdLinearCounts *td_linear_counts(tdLinear *linear)
{
    return &linear->counts;
}

// Numeric factor of the values. *definite tells whether A is positive definite.
static tdStatus factorize(tdLinear *linear, tdTasks *tasks, const double *values, bool *definite, tdError *error)
{
    const tdFactorPlan *plan = &linear->model->plan;
    if (linear->work == NULL && (linear->work = td_take((size_t)plan->room + 1, sizeof *linear->work)) == NULL)
        return td_fail(error, TD_ERROR_MEMORY, "the factor of the matrix needs %.1f GB; use a coarser mesh",
                       8e-9 * (double)(linear->factor->xsize + (size_t)plan->room));
    TD_TRY(td_factor_ready(linear->factor, &linear->common, error));
    *definite = td_factor_numbers(plan, tasks, values, linear->work, linear->factor);
    linear->counts = (tdLinearCounts){.has_factor = *definite};
    linear->triangular_set = false;
    return TD_OK;
}

// By the kept factor alone; more: NULL, or what goes with it.
static void substitute(tdLinear *linear, tdTasks *tasks, const double *b, double *x, const tdLinearMore *more)
{
    tdSubstituteTask task = {.values = linear->factor->x, .coord = linear->model->coord, .b = b, .x = x};
    if (more != NULL)
    {
        task.more = more->n;
        task.stride = more->stride;
        task.more_b = more->b;
        task.more_x = more->x;
    }
    td_substitute(&linear->substitution, tasks, &task);
}

void td_linear_apply(tdLinear *linear, tdTasks *tasks, const double *b, double *x)
{
    if (linear->model->n > 0)
        substitute(linear, tasks, b, x, NULL);
}

// Iterations that a solve with a factor kept from a step or two ago takes, as measured on bending robots.
#define ITERATIONS_KEPT 8

bool td_linear_directly(const tdLinear *linear, tdSolverKind kind, bool same, int n)
{
    if (kind == TD_SOLVER_CG)
        return false;
    if (kind == TD_SOLVER_CHOLESKY || (same && linear->counts.has_factor))
        return true;
    return linear->model->factor_cost <= ITERATIONS_KEPT * n;
}

tdStatus td_linear_solve_many(tdLinear *linear, tdTasks *tasks, const double *values, bool same, int n, int64_t stride,
                              const double *b, double *x, tdLinearResult *result, tdError *error)
{
    const tdLinearModel *model = linear->model;
    int64_t coords = 3 * (int64_t)model->pattern->n;
    *result = (tdLinearResult){0};
    for (int j = 0; j < n; j++)
        memset(x + j * stride, 0, (size_t)coords * sizeof *x);
    if (model->n == 0 || n == 0)
        return TD_OK;
    if (!same || !linear->counts.has_factor)
    {
        bool definite = true;
        TD_TRY(factorize(linear, tasks, values, &definite, error));
        result->factorizations++;
        result->refreshed = definite;
        result->indefinite = !definite;
        if (!definite)
            return TD_OK;
    }
    tdLinearMore more = {n - 1, stride, b + stride, x + stride, false};
    substitute(linear, tasks, b, x, &more);
    return TD_OK;
}

tdStatus td_linear_refresh(tdLinear *linear, tdTasks *tasks, const double *values, tdError *error)
{
    bool definite = true;
    TD_TRY(factorize(linear, tasks, values, &definite, error));
    if (!definite)
        return td_fail(error, TD_ERROR_NUMERIC, "the matrix is not positive definite");
    return TD_OK;
}

static bool worth_refreshing(const tdLinear *linear, tdSolverKind kind, bool same)
{
    const tdLinearCounts *c = &linear->counts;
    if (!c->has_factor)
        return true;
    if (same || kind == TD_SOLVER_CG)
        return false;
    if (kind == TD_SOLVER_CHOLESKY)
        return true;
    // The last solve against the average of all since the factor was made, cross-multiplied.
    return c->last * c->solves > linear->model->factor_cost + c->iterations;
}

// r = b - A x on the free coordinates
static void residual(tdLinear *linear, tdTasks *tasks, const double *values, const double *b, const double *x)
{
    const tdLinearModel *model = linear->model;
    bool zero = true; // as in the first pass of a step: there is nothing to multiply
    for (int32_t k = 0; k < model->n && zero; k++)
        zero = x[model->coord[k]] == 0;
    if (!zero)
        td_block_multiply(tasks, model->pattern, values, x, linear->Ap, false);
    for (int32_t k = 0; k < model->n; k++)
    {
        int32_t i = model->coord[k];
        linear->r[i] = zero ? b[i] : b[i] - linear->Ap[i];
    }
}

// to = Q' from (into the frame of the factor) or Q from (back), node by node, from coordinates to
// coordinates; nodes with a held coordinate keep their frame.
void td_linear_turn(const tdLinearModel *model, const double *Q, bool back, const double *from, double *to)
{
    if (Q == NULL && from != to)
        memcpy(to, from, 3 * (size_t)model->pattern->n * sizeof *to);
    if (Q == NULL)
        return;
    for (int32_t i = 0; i < model->pattern->n; i++)
    {
        const double *q = Q + 9 * (int64_t)i, *f = from + 3 * (int64_t)i;
        double x = f[0], y = f[1], z = f[2], *t = to + 3 * (int64_t)i;
        for (int c = 0; c < 3; c++)
        {
            if (!model->turning[i])
                t[c] = c == 0 ? x : c == 1 ? y : z;
            else
                t[c] =
                    back ? q[3 * c] * x + q[3 * c + 1] * y + q[3 * c + 2] * z : q[c] * x + q[3 + c] * y + q[6 + c] * z;
        }
    }
}

// z = A^-1 r by its factor, and what else there is with it.
static void solve_exactly(tdLinear *linear, tdTasks *tasks, tdLinearMore *more)
{
    const tdLinearModel *model = linear->model;
    substitute(linear, tasks, linear->r, linear->z, more);
    if (more == NULL)
        return;
    for (int64_t i = 0; i < 3 * (int64_t)model->pattern->n; i++)
        for (int j = 0; model->dof[i] < 0 && j < more->n; j++)
            more->x[j * more->stride + i] = 0;
    more->done = true;
}

// z = P^-1 r with the kept factor: exact in double precision while it is the factor of A, else in single
// precision and turned with the body.
static void precondition(tdLinear *linear, tdTasks *tasks, bool exact, const double *Q, tdLinearMore *more)
{
    const tdLinearModel *model = linear->model;
    if (exact)
    {
        solve_exactly(linear, tasks, more);
        return;
    }
    if (!linear->triangular_set)
        td_triangular_set(&linear->triangular, tasks, linear->factor->x);
    linear->triangular_set = true;
    const double *source = linear->r;
    if (Q != NULL)
    {
        td_linear_turn(model, Q, false, linear->r, linear->z);
        source = linear->z;
    }
    for (int32_t k = 0; k < model->n; k++)
        linear->turned[k] = source[model->coord[k]];
    td_triangular_solve(&linear->triangular, tasks, linear->turned, linear->solution);
    for (int32_t k = 0; k < model->n; k++)
        linear->z[model->coord[k]] = linear->solution[k];
    if (Q != NULL)
        td_linear_turn(model, Q, true, linear->z, linear->z);
}

typedef struct iterateResult
{
    int iterations;
    double norm; // of the residual
    bool indefinite;
} iterateResult;

// |r|
static tdStatus measure(const tdLinear *linear, tdTasks *tasks, double *norm, tdError *error)
{
    *norm = sqrt(td_dot(tasks, 3 * (int64_t)linear->model->pattern->n, linear->r, linear->r));
    if (!isfinite(*norm))
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the linear solve met numbers that are not finite; use a smaller time_step or smaller loads");
    return TD_OK;
}

// Preconditioned conjugate gradients from x with its residual in r.
static tdStatus iterate(tdLinear *linear, tdTasks *tasks, const tdLinearTask *task, bool exact, const double *Q,
                        double target, int most, iterateResult *out, tdError *error)
{
    const tdLinearModel *model = linear->model;
    double *x = task->x;
    int64_t coords = 3 * (int64_t)model->pattern->n;
    double *r = linear->r, *z = linear->z, *p = linear->p, *Ap = linear->Ap;
    double rho = 0;
    *out = (iterateResult){0};
    TD_TRY(measure(linear, tasks, &out->norm, error));
    while (out->norm > target && out->iterations < most)
    {
        // Not behind a new factor, of which the caller would then not learn.
        if (!exact)
            TD_TRY(td_check_cancel(tasks, error));
        if (task->precondition != NULL)
            task->precondition(task->context, tasks, r, z);
        else
            precondition(linear, tasks, exact, Q, out->iterations == 0 ? task->more : NULL);
        double next = td_dot(tasks, coords, r, z);
        double ratio = out->iterations == 0 ? 0 : next / rho;
        rho = next;
        for (int32_t k = 0; k < model->n; k++)
        {
            int32_t i = model->coord[k];
            p[i] = z[i] + ratio * p[i];
        }
        td_block_multiply(tasks, model->pattern, task->values, p, Ap, false);
        double curvature = td_dot(tasks, coords, p, Ap);
        out->iterations++;
        if (!(curvature > 0) || !(rho > 0))
        {
            // Rounding at the end of the road looks like this too; only a real descent is an answer.
            out->indefinite = curvature < 0;
            return TD_OK;
        }
        double length = rho / curvature;
        for (int32_t k = 0; k < model->n; k++)
        {
            int32_t i = model->coord[k];
            x[i] += length * p[i];
            r[i] -= length * Ap[i];
        }
        TD_TRY(measure(linear, tasks, &out->norm, error));
    }
    return TD_OK;
}

tdStatus td_linear_solve(tdLinear *linear, tdTasks *tasks, const tdLinearTask *task, tdLinearResult *result,
                         tdError *error)
{
    const tdLinearModel *model = linear->model;
    int64_t coords = 3 * (int64_t)model->pattern->n;
    *result = (tdLinearResult){0};
    // Held coordinates take no part: zero in x, r, p and z throughout.
    for (int64_t i = 0; i < coords; i++)
        if (model->dof[i] < 0)
            task->x[i] = 0;
    if (model->n == 0)
        return TD_OK;
    for (int64_t i = 0; i < coords; i++)
        if (model->dof[i] < 0)
            linear->r[i] = linear->p[i] = linear->z[i] = 0;
    double square = 0;
    for (int32_t k = 0; k < model->n; k++)
        square += task->b[model->coord[k]] * task->b[model->coord[k]];
    double scale = sqrt(square), target = task->tolerance * scale;
    if (!isfinite(scale))
        return td_fail(error, TD_ERROR_NUMERIC, "the forces are not finite; use a smaller time_step or smaller loads");
    if (scale == 0)
    {
        memset(task->x, 0, (size_t)coords * sizeof *task->x);
        return TD_OK;
    }
    for (int attempt = 0; attempt < 2; attempt++)
    {
        bool other = task->precondition != NULL;
        bool fresh = !other && (attempt == 1 || worth_refreshing(linear, task->kind, task->same));
        if (fresh)
        {
            bool definite = true;
            TD_TRY(factorize(linear, tasks, task->values, &definite, error));
            result->factorizations++;
            result->refreshed = true;
            if (!definite)
            {
                result->indefinite = true;
                return TD_OK;
            }
        }
        bool exact = fresh || (task->same && !other);
        const double *Q = exact || task->rotations == NULL ? NULL : task->rotations(task->context);
        residual(linear, tasks, task->values, task->b, task->x);
        int patience = task->kind == TD_SOLVER_AUTO ? 3 * model->factor_cost + 10 : MOST_ITERATIONS;
        iterateResult done;
        TD_TRY(iterate(linear, tasks, task, exact, Q, target, patience, &done, error));
        result->iterations += done.iterations;
        result->indefinite = done.indefinite;
        result->residual = done.norm / scale;
        linear->counts.solves++;
        linear->counts.iterations += done.iterations;
        linear->counts.last = done.iterations;
        if (done.indefinite || done.norm <= target || exact || other)
            return TD_OK;
    }
    return TD_OK;
}
