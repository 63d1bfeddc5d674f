// SPDX-License-Identifier: Apache-2.0
// See refine.h.
#include "solve/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES TD_REFINE_LANES

tdStatus td_refine_create(const tdLinearModel *model, tdArena *arena, tdRefine *out, tdError *error)
{
    int64_t numbers = 3 * (int64_t)model->pattern->n * LANES;
    *out = (tdRefine){.model = model, .isa = td_isa_pick_wide(false)};
    out->b = TD_TAKE(arena, double, numbers);
    out->x = TD_TAKE(arena, double, numbers);
    out->r = TD_TAKE(arena, double, numbers);
    if (out->b == NULL || out->x == NULL || out->r == NULL)
        return td_fail_memory(error, "the linear solver");
    return td_substitution_create_single(arena, &model->shape, out->isa, &out->substitution, error);
}

void td_refine_free(tdRefine *refine)
{
    free(refine->work);
    refine->work = NULL;
}

// A factorization in single precision saves a little less than half its time. With one right-hand side an iteration or
// two more than with an exact factor cost no more than rounding that one to single precision, which later steps want
// anyway. With a block, two or three rounds take the time of 10 passes over the factor, as measured, in the place of 2
// or 3.
#define SAVED 0.45
#define RATE  19.0 // operations in a nanosecond
#define ROUND 7.7  // nanoseconds that the rounds of a block take longer than its solution in double precision, an entry
#define ONE   1.0  // the same for one right-hand side
#define LEAST 2e8  // operations: below, everything stays in the caches, and nothing is gained

bool td_refine_pays(double flops, double entries, bool block)
{
    return flops > LEAST && SAVED * flops / RATE > (block ? ROUND : ONE) * entries;
}

// Factor and block take half the time, one or two corrections a quarter of a block each. Below, a step has other
// worries.
#define LEAST_ROUGH 1e6

bool td_refine_rough_pays(double flops)
{
    return flops > LEAST_ROUGH;
}

tdStatus td_refine_factor(tdRefine *refine, tdTasks *tasks, const double *values, float *L, bool *definite,
                          tdError *error)
{
    const tdFactorPlan *plan = &refine->model->plan;
    if (refine->work == NULL && (refine->work = td_take((size_t)plan->room + 1, sizeof *refine->work)) == NULL)
        return td_fail(error, TD_ERROR_MEMORY, "the factor of the matrix needs %.1f GB; use a coarser mesh",
                       4e-9 * (double)(refine->model->shape.values + plan->room));
    *definite = td_factor_fill_single(plan, tasks, values, refine->work, L);
    return TD_OK;
}

// ---------------------------------------------------------------- rounds

typedef struct roundWork
{
    tdRefine *refine;
    const tdRefineTask *task;
} roundWork;

#define GRAIN 512 // nodes

static void residual_piece(void *context, int piece)
{
    const roundWork *w = context;
    const tdRefine *refine = w->refine;
    const tdBlockPattern *pattern = refine->model->pattern;
    int32_t begin = piece * GRAIN, end = begin + GRAIN < pattern->n ? begin + GRAIN : pattern->n;
#if defined(__x86_64__)
    if (refine->isa == TD_ISA_AVX512)
    {
        td_refine_rows_avx512(pattern, w->task->values, refine->x, refine->b, refine->r, begin, end);
        return;
    }
    if (refine->isa == TD_ISA_AVX2)
    {
        td_refine_rows_avx2(pattern, w->task->values, refine->x, refine->b, refine->r, begin, end);
        return;
    }
#endif
    td_refine_rows_portable(pattern, w->task->values, refine->x, refine->b, refine->r, begin, end);
}

// Squares of columns over unknowns.
static void measure(const tdRefine *refine, const double *rows, double *square)
{
    const tdLinearModel *model = refine->model;
    memset(square, 0, LANES * sizeof *square);
    for (int32_t k = 0; k < model->n; k++)
        for (int j = 0; j < LANES; j++)
        {
            double value = rows[LANES * (int64_t)model->coord[k] + j];
            square[j] += value * value;
        }
}

static void take_in(tdRefine *refine, const tdRefineTask *task)
{
    const tdLinearModel *model = refine->model;
    for (int64_t i = 0; i < 3 * (int64_t)model->pattern->n; i++)
        for (int j = 0; j < LANES; j++)
        {
            bool used = j < task->n && model->dof[i] >= 0;
            refine->b[LANES * i + j] = used ? task->b[j][i] : 0;
            refine->x[LANES * i + j] = used && !task->zero ? task->x[j][i] : 0;
        }
}

static void give_out(const tdRefine *refine, const tdRefineTask *task)
{
    for (int j = 0; j < task->n; j++)
        for (int64_t i = 0; i < 3 * (int64_t)refine->model->pattern->n; i++)
            task->x[j][i] = refine->x[LANES * i + j];
}

#define MOST  8    // rounds
#define BRING 0.25 // of the residual that a round may leave, at most

bool td_refine_solve(tdRefine *refine, tdTasks *tasks, const tdRefineTask *task, int *rounds, double *residual)
{
    roundWork work = {refine, task};
    double size[LANES], left[LANES], before = INFINITY;
    int pieces = td_pieces(refine->model->pattern->n, GRAIN);
    take_in(refine, task);
    measure(refine, refine->b, size);
    for (*rounds = 0; *rounds <= MOST; (*rounds)++)
    {
        double scale[LANES];
        if (*rounds > 0 || !task->zero)
            td_parallel(tasks, pieces, residual_piece, &work);
        else
            memcpy(refine->r, refine->b, 3 * (size_t)refine->model->pattern->n * LANES * sizeof *refine->r);
        measure(refine, refine->r, left);
        *residual = 0;
        for (int j = 0; j < LANES; j++)
        {
            *residual = fmax(*residual, size[j] > 0 ? sqrt(left[j] / size[j]) : 0);
            scale[j] = left[j] > 0 ? 1 / sqrt(left[j]) : 0;
        }
        if (*residual <= task->tolerance)
        {
            give_out(refine, task);
            return true;
        }
        // A first guess may be far off; the round behind it is not judged by it. Not a number is not less.
        if (!isfinite(*residual) || (*rounds > 1 && !(*residual < BRING * before)))
            return false;
        before = *residual;
        td_substitute_single(&refine->substitution, tasks, task->L, refine->model->coord, scale, refine->r, refine->x);
    }
    return false;
}
