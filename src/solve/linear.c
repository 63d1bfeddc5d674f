// SPDX-License-Identifier: Apache-2.0
#include "solve/linear.h"

#include "solve/refine.h"

#include <assert.h>
#include <cholmod.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ITERATIONS 500
#define AMG_PATIENCE    150 // iterations with a multigrid hierarchy that is kept
#define MOST_REFINING   12  // by a factor of A in single precision; more: it is too near singular for that

enum
{
    DOUBLE = 1, // of counts.has_factor
    SINGLE = 2,
};

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
    tdRefine refine;           // where factors are in single precision: in the place of the one before
    double *turned, *solution; // over unknowns
    tdAmg *amg;                // in the place of all that
    tdLinearCounts counts;
};

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
    if (model->amg != NULL)
        return td_amg_create(model->amg, arena, isa, &linear->amg, error);
    linear->turned = TD_TAKE(arena, double, model->n);
    linear->solution = TD_TAKE(arena, double, model->n);
    if (linear->turned == NULL || linear->solution == NULL)
        return td_fail_memory(error, "the linear solver");
    // By the machine's own kernels, as the factor is made.
    TD_TRY(td_substitution_create(arena, &model->shape, td_isa_pick_wide(false), &linear->substitution, error));
    TD_TRY(td_triangular_create(arena, &model->shape, isa, &linear->triangular, error));
    if (model->single || model->rough)
        TD_TRY(td_refine_create(model, arena, &linear->refine, error));
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
    td_refine_free(&linear->refine);
    td_amg_free(linear->amg);
    free(linear->work);
}

tdLinearCounts *td_linear_counts(tdLinear *linear)
{
    return &linear->counts;
}

// Numeric factor of the values, or what stands for it. *definite tells whether A is positive definite.
static tdStatus factorize(tdLinear *linear, tdTasks *tasks, const double *values, const double *at, bool *definite,
                          tdError *error)
{
    if (linear->amg != NULL)
    {
        TD_TRY(td_amg_set(linear->amg, tasks, values, at, definite, error));
        linear->counts = (tdLinearCounts){.has_factor = *definite ? DOUBLE : 0};
        return TD_OK;
    }
    const tdFactorPlan *plan = &linear->model->plan;
    if (linear->work == NULL && (linear->work = td_take((size_t)plan->room + 1, sizeof *linear->work)) == NULL)
        return td_fail(error, TD_ERROR_MEMORY, "the factor of the matrix needs %.1f GB; use a coarser mesh",
                       8e-9 * (double)(linear->factor->xsize + (size_t)plan->room));
    TD_TRY(td_factor_ready(linear->factor, &linear->common, error));
    *definite = td_factor_numbers(plan, tasks, values, linear->work, linear->factor);
    linear->counts = (tdLinearCounts){.has_factor = *definite ? DOUBLE : 0};
    linear->triangular_set = false;
    return TD_OK;
}

// In single precision, in which it is the preconditioner of later steps as it stands.
static tdStatus factorize_single(tdLinear *linear, tdTasks *tasks, const double *values, bool *definite, tdError *error)
{
    linear->counts.has_factor = 0;
    TD_TRY(td_refine_factor(&linear->refine, tasks, values, linear->triangular.values, definite, error));
    if (!*definite)
        return TD_OK;
    linear->counts = (tdLinearCounts){.has_factor = SINGLE};
    linear->triangular_set = true;
    return TD_OK;
}

// In single precision where that pays, in double precision where it seems not to be definite. block: it is made for
// several right-hand sides.
static tdStatus factorize_quickly(tdLinear *linear, tdTasks *tasks, const double *values, const double *at, bool block,
                                  bool *definite, tdError *error)
{
    const tdLinearModel *model = linear->model;
    if (!model->single || (block && !td_refine_pays(model->plan.flops, (double)model->shape.values, true)))
        return factorize(linear, tasks, values, at, definite, error);
    TD_TRY(factorize_single(linear, tasks, values, definite, error));
    return *definite ? TD_OK : factorize(linear, tasks, values, at, definite, error);
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
    assert(linear->amg == NULL);
    if (linear->model->n > 0)
        substitute(linear, tasks, b, x, NULL);
}

void td_linear_cycle(tdLinear *linear, tdTasks *tasks, const double *r, double *z)
{
    assert(linear->amg != NULL);
    td_amg_apply(linear->amg, tasks, r, z);
}

// Iterations that a solve with a factor kept from a step or two ago takes, as measured on bending robots.
#define ITERATIONS_KEPT 8

bool td_linear_directly(const tdLinear *linear, tdSolverKind kind, bool same, int n)
{
    if (kind == TD_SOLVER_CG || linear->amg != NULL)
        return false;
    if (kind == TD_SOLVER_CHOLESKY || (same && linear->counts.has_factor))
        return true;
    return linear->model->factor_cost <= ITERATIONS_KEPT * n;
}

// Columns from zero by the factor in single precision. False: they want one in double precision.
static bool refine_many(tdLinear *linear, tdTasks *tasks, const double *values, int n, int64_t stride, const double *b,
                        double *x, tdLinearResult *result)
{
    for (int first = 0; first < n; first += TD_REFINE_LANES)
    {
        tdRefineTask task = {
            .values = values, .L = linear->triangular.values, .tolerance = TD_LINEAR_REFINED, .zero = true};
        int rounds = 0;
        double residual = 0;
        for (int j = first; j < n && task.n < TD_REFINE_LANES; j++, task.n++)
        {
            task.b[task.n] = b + j * stride;
            task.x[task.n] = x + j * stride;
        }
        if (!td_refine_solve(&linear->refine, tasks, &task, &rounds, &residual))
            return false;
        result->iterations += rounds;
        result->residual = fmax(result->residual, residual);
    }
    return true;
}

tdStatus td_linear_solve_many(tdLinear *linear, tdTasks *tasks, const double *values, bool same, int n, int64_t stride,
                              const double *b, double *x, tdLinearResult *result, tdError *error)
{
    const tdLinearModel *model = linear->model;
    int64_t coords = 3 * (int64_t)model->pattern->n;
    assert(linear->amg == NULL);
    *result = (tdLinearResult){0};
    for (int j = 0; j < n; j++)
        memset(x + j * stride, 0, (size_t)coords * sizeof *x);
    if (model->n == 0 || n == 0)
        return TD_OK;
    for (bool made = same && linear->counts.has_factor; !made || linear->counts.has_factor == SINGLE; made = true)
    {
        bool definite = true, refined = made && refine_many(linear, tasks, values, n, stride, b, x, result);
        if (refined)
            return TD_OK;
        TD_TRY(made ? factorize(linear, tasks, values, NULL, &definite, error)
                    : factorize_quickly(linear, tasks, values, NULL, true, &definite, error));
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

tdStatus td_linear_refresh(tdLinear *linear, tdTasks *tasks, const double *values, const double *at, tdError *error)
{
    bool definite = true;
    TD_TRY(factorize(linear, tasks, values, at, &definite, error));
    if (!definite)
        return td_fail(error, TD_ERROR_NUMERIC, "the matrix is not positive definite");
    return TD_OK;
}

tdStatus td_linear_restore(tdLinear *linear, tdTasks *tasks, const double *values, const double *at, tdError *error)
{
    bool definite = true;
    if (linear->counts.has_factor != SINGLE || !(linear->model->single || linear->model->rough))
        return td_linear_refresh(linear, tasks, values, at, error);
    TD_TRY(factorize_single(linear, tasks, values, &definite, error));
    if (!definite)
        return td_linear_refresh(linear, tasks, values, at, error);
    return definite ? TD_OK : td_fail(error, TD_ERROR_NUMERIC, "the matrix is not positive definite");
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

// z = P^-1 r with the kept factor: in double precision while it is the factor of A and was made so, else in single
// precision and turned with the body.
static void precondition(tdLinear *linear, tdTasks *tasks, bool exact, const double *Q, tdLinearMore *more)
{
    const tdLinearModel *model = linear->model;
    if (exact && linear->counts.has_factor == DOUBLE)
    {
        solve_exactly(linear, tasks, more);
        return;
    }
    if (linear->amg != NULL)
    {
        const double *turned = linear->r;
        if (Q != NULL)
        {
            td_linear_turn(model, Q, false, linear->r, linear->Ap); // which is free until the next product
            turned = linear->Ap;
        }
        td_amg_apply(linear->amg, tasks, turned, linear->z);
        if (Q != NULL)
            td_linear_turn(model, Q, true, linear->z, linear->z);
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
                       "the linear solver met numbers that are not finite; use a smaller time_step or smaller loads");
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

static void count_solve(tdLinear *linear, tdLinearResult *result, int iterations)
{
    result->iterations += iterations;
    linear->counts.solves++;
    linear->counts.iterations += iterations;
    linear->counts.last = iterations;
}

tdStatus td_linear_rough(tdLinear *linear, tdTasks *tasks, const double *values, const double *b, double *x,
                         tdLinearMore *more, tdLinearResult *result, tdError *error)
{
    const tdLinearModel *model = linear->model;
    int n = 1 + more->n;
    bool definite = true;
    *result = (tdLinearResult){0};
    TD_TRY(factorize_single(linear, tasks, values, &definite, error));
    result->factorizations = 1;
    result->refreshed = definite;
    result->indefinite = !definite;
    if (!definite)
        return TD_OK;
    for (int first = 0; first < n; first += TD_SUBSTITUTE_FLOATS)
    {
        const double *from[TD_SUBSTITUTE_FLOATS];
        double *to[TD_SUBSTITUTE_FLOATS];
        int count = 0;
        for (int j = first; j < n && count < TD_SUBSTITUTE_FLOATS; j++, count++)
        {
            from[count] = j == 0 ? b : more->b + (j - 1) * more->stride;
            to[count] = j == 0 ? x : more->x + (j - 1) * more->stride;
            memset(to[count], 0, 3 * (size_t)model->pattern->n * sizeof(double));
        }
        td_substitute_columns(&linear->refine.substitution, tasks, linear->triangular.values, model->coord, count, from,
                              to);
    }
    more->done = true;
    count_solve(linear, result, 1);
    return TD_OK;
}

void td_linear_rough_apply(tdLinear *linear, tdTasks *tasks, const double *b, double *x)
{
    const tdLinearModel *model = linear->model;
    assert(linear->counts.has_factor == SINGLE);
    for (int32_t k = 0; k < model->n; k++)
        linear->turned[k] = b[model->coord[k]];
    td_triangular_solve(&linear->triangular, tasks, linear->turned, linear->solution);
    memset(x, 0, 3 * (size_t)model->pattern->n * sizeof *x);
    for (int32_t k = 0; k < model->n; k++)
        x[model->coord[k]] = linear->solution[k];
}

// With what goes with it, by the factor of A in single precision. False: it wants one in double precision.
static bool refine(tdLinear *linear, tdTasks *tasks, const tdLinearTask *task, tdLinearResult *result)
{
    size_t bytes = 3 * (size_t)linear->model->pattern->n * sizeof(double);
    tdRefineTask block = {.values = task->values,
                          .L = linear->triangular.values,
                          .tolerance = task->tolerance,
                          .n = 1,
                          .b = {task->b},
                          .x = {task->x},
                          .zero = true}; // what is known of the last step saves no round
    tdLinearMore *more = task->more;
    int rounds = 0, together = more->n < TD_REFINE_LANES ? more->n : TD_REFINE_LANES - 1;
    for (int j = 0; j < together; j++)
    {
        block.b[block.n] = more->b + j * more->stride;
        block.x[block.n] = memset(more->x + j * more->stride, 0, bytes);
        block.n++;
    }
    if (!td_refine_solve(&linear->refine, tasks, &block, &rounds, &result->residual))
        return false;
    count_solve(linear, result, rounds);
    for (int j = together; j < more->n; j++)
        memset(more->x + j * more->stride, 0, bytes);
    int64_t rest = together * more->stride;
    more->done = refine_many(linear, tasks, task->values, more->n - together, more->stride, more->b + rest,
                             more->x + rest, result);
    return true;
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
    bool quickly = true;
    for (int attempt = 0; attempt < 3; attempt++)
    {
        bool other = task->precondition != NULL;
        bool fresh = !other && (attempt > 0 || worth_refreshing(linear, task->kind, task->same));
        bool newest = fresh || (task->same && !other), exact = newest && linear->amg == NULL, definite = true;
        if (fresh)
        {
            bool many = task->kind == TD_SOLVER_CHOLESKY; // or as good as asked for
            TD_TRY(quickly ? factorize_quickly(linear, tasks, task->values, task->at, many, &definite, error)
                           : factorize(linear, tasks, task->values, task->at, &definite, error));
            result->factorizations++;
            result->refreshed = true;
        }
        bool block = exact && task->more != NULL && task->more->n > 0;
        if (definite && block && linear->counts.has_factor == SINGLE)
        {
            if (refine(linear, tasks, task, result))
                return TD_OK;
            TD_TRY(factorize(linear, tasks, task->values, task->at, &definite, error));
            result->factorizations++;
            result->refreshed = true;
        }
        if (!definite)
        {
            result->indefinite = true;
            return TD_OK;
        }
        const double *Q = newest || task->rotations == NULL ? NULL : task->rotations(task->context);
        residual(linear, tasks, task->values, task->b, task->x);
        bool single = exact && linear->counts.has_factor == SINGLE;
        int patience = single                         ? MOST_REFINING
                       : linear->amg != NULL          ? (newest ? MOST_ITERATIONS : AMG_PATIENCE)
                       : task->kind == TD_SOLVER_AUTO ? 3 * model->factor_cost + 10
                                                      : MOST_ITERATIONS;
        iterateResult done;
        TD_TRY(iterate(linear, tasks, task, exact, Q, target, patience, &done, error));
        count_solve(linear, result, done.iterations);
        result->indefinite = done.indefinite;
        result->residual = done.norm / scale;
        if ((done.indefinite && !single) || done.norm <= target || (exact && !single) || other)
            return TD_OK;
        if (linear->amg != NULL && newest)
            return td_fail(
                error, TD_ERROR_NUMERIC,
                "conjugate gradients with multigrid reach a relative residual of %.1e in %d iterations, not %.1e; "
                "elements "
                "that are flat or nearly incompressible, or very different stiffnesses side by side do that; repair "
                "the mesh, or use 'solver: {type: cholesky}' where memory allows",
                result->residual, done.iterations, task->tolerance);
        quickly = !single;
    }
    return TD_OK;
}
