// SPDX-License-Identifier: Apache-2.0
// Elements chosen in parts. Each part of the columns chooses for its own sum y_p = G_p 1 until
//
//     |G_p xi_p - y_p| <= tau |y| / sqrt(parts)
//
// on the sketch: the same share of the whole for all, so that a part whose forces hardly matter chooses hardly any, and
// together they could meet tau if their errors do not add up by chance. The final choice is one among the columns of
// all parts, for the whole sum: what several parts chose for the same reason is left out there. Where these columns do
// not suffice, all parts choose again with half of what they were allowed.
//
// A part needs the sketch of its own columns only, and parts know nothing of each other: memory is that of one part,
// and several processes may take one each. Which parts there are depends on the task alone.
#include "reduce/offline/ecsw_work.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t blocks_of(const tdEcswTask *task)
{
    return (task->n + task->block - 1) / task->block;
}

int64_t td_ecsw_part_columns(const tdEcswTask *task)
{
    int64_t blocks = blocks_of(task), parts = task->parts < 1 ? 1 : task->parts;
    return (blocks + parts - 1) / parts * task->block;
}

int td_ecsw_parts(const tdEcswTask *task)
{
    int64_t each = td_ecsw_part_columns(task);
    return (int)((task->n + each - 1) / each);
}

static void find_part(const tdEcswTask *task, int64_t part, double target, tdEcswShare *share)
{
    int64_t each = td_ecsw_part_columns(task), begin = part * each;
    *share = (tdEcswShare){.part = part, .begin = begin, .end = begin + each, .target = target};
    share->end = share->end < task->n ? share->end : task->n;
}

static void drop(tdEcswShare *share)
{
    free(share->column);
    free(share->sketched);
    share->column = NULL;
    share->sketched = NULL;
}

// What the choice of a part found, with the sketch of its columns.
static tdStatus note_share(const tdEcswMaker *w, const tdNnls *nnls, tdEcswShare *share, tdError *error)
{
    size_t count = (size_t)td_nnls_count(nnls), s = (size_t)w->s;
    double *value = td_take(count + 1, sizeof *value);
    share->count = (int64_t)count;
    share->column = td_take(count + 1, sizeof *share->column);
    share->sketched = td_take(count * s + 1, sizeof *share->sketched);
    tdStatus status = value == NULL || share->column == NULL || share->sketched == NULL
                          ? td_fail_memory(error, "the elements of a part")
                          : TD_OK;
    if (status == TD_OK)
        td_nnls_result(nnls, share->column, value);
    for (size_t i = 0; status == TD_OK && i < count; i++)
    {
        memcpy(share->sketched + i * s, w->sketch + (size_t)share->column[i] * s, s * sizeof(double));
        share->column[i] += (int32_t)share->begin;
    }
    free(value);
    return status;
}

// Chooses in the part, whose arrays share->... are empty.
static tdStatus choose_share(tdEcswMaker *w, tdEcswShare *share, tdError *error)
{
    const tdEcswTask *task = w->task;
    const tdNnlsProgress progress = {td_ecsw_note_stop, w};
    int64_t n = share->end - share->begin;
    for (w->begin = share->begin; w->begin < share->end; w->begin = w->end)
    {
        td_ecsw_go_to_block(w, w->begin);
        w->sketched = w->sketch + (w->begin - share->begin) * w->s;
        TD_TRY(td_ecsw_take_block(w, true, error));
    }
    double *sum = td_take((size_t)w->s, sizeof *sum);
    if (sum == NULL)
        return td_fail_memory(error, "the elements of a part");
    for (int64_t j = 0; j < n; j++)
        cblas_daxpy(w->s, 1, w->sketch + j * w->s, 1, sum, 1);
    double size = cblas_dnrm2(w->s, sum, 1);
    tdNnls *nnls = NULL;
    const uint8_t *skip = task->skip != NULL ? task->skip + share->begin : NULL;
    tdStatus status = td_nnls_create(w->s, n, w->sketch, sum, skip, task->most, &nnls, error);
    if (status == TD_OK)
    {
        if (size > share->target)
            td_nnls_run(nnls, share->target / size, task->tasks, &progress);
        status = note_share(w, nnls, share, error);
    }
    td_nnls_free(nnls);
    free(sum);
    if (status == TD_OK && !w->stopped && task->save_share != NULL)
        status = task->save_share(task->user, w->s, share, error);
    return status;
}

tdStatus td_ecsw_choose_part(tdEcswMaker *maker, int64_t part, double target, tdError *error)
{
    tdEcswShare share;
    find_part(maker->task, part, target, &share);
    tdStatus status = choose_share(maker, &share, error);
    drop(&share);
    return status;
}

/// The columns of all parts, as far as they have chosen.
typedef struct Pool
{
    int64_t n, room;
    int32_t *column;
    double *sketch;
} Pool;

static tdStatus add_share(const tdEcswMaker *w, Pool *pool, const tdEcswShare *share, tdError *error)
{
    int64_t n = pool->n + share->count;
    if (n > pool->room)
    {
        size_t room = 2 * (size_t)n;
        int32_t *column = realloc(pool->column, room * sizeof *column);
        pool->column = column != NULL ? column : pool->column;
        double *sketch = column == NULL ? NULL : realloc(pool->sketch, room * (size_t)w->s * sizeof *sketch);
        pool->sketch = sketch != NULL ? sketch : pool->sketch;
        if (sketch == NULL)
            return td_fail_memory(error, "the elements of all parts");
        pool->room = (int64_t)room;
    }
    if (share->count > 0)
    {
        memcpy(pool->column + pool->n, share->column, (size_t)share->count * sizeof *pool->column);
        memcpy(pool->sketch + pool->n * w->s, share->sketched, (size_t)(share->count * w->s) * sizeof *pool->sketch);
    }
    pool->n = n;
    return TD_OK;
}

// All parts choose, here or elsewhere, or have chosen in an earlier run.
static tdStatus fill(tdEcswMaker *w, double target, Pool *pool, tdError *error)
{
    const tdEcswTask *task = w->task;
    pool->n = 0;
    if (task->spread_shares != NULL)
        TD_TRY(task->spread_shares(task->user, w, w->s, target, error));
    tdStatus status = TD_OK;
    for (int p = 0; p < td_ecsw_parts(task) && status == TD_OK && !w->stopped; p++)
    {
        tdEcswShare share;
        find_part(task, p, target, &share);
        if (task->load_share == NULL || !task->load_share(task->user, w->s, &share))
            status = choose_share(w, &share, error);
        if (status == TD_OK)
            status = add_share(w, pool, &share, error);
        drop(&share);
    }
    return status;
}

static tdStatus choose_from_parts(tdEcswMaker *w, tdArena *arena, tdEcswResult *result, tdError *error)
{
    const tdEcswTask *task = w->task;
    Pool pool = {0};
    tdStatus status = TD_OK;
    double target = task->tau * cblas_dnrm2(w->s, w->sy, 1) / sqrt(td_ecsw_parts(task));
    int64_t before = -1;
    result->sketch_rows = w->s;
    result->end = TD_ECSW_COLUMNS;
    result->sketched_error = result->error = 1; // of no element
    for (int attempt = 0; attempt < TD_ECSW_ATTEMPTS && status == TD_OK && !w->stopped; attempt++, target /= 2)
    {
        bool short_of = false;
        status = fill(w, target, &pool, error);
        const tdEcswPool chosen = {pool.n, pool.sketch, pool.column, NULL};
        if (status == TD_OK && !w->stopped && pool.n > 0)
            status = td_ecsw_choose(w, &chosen, arena, result, &short_of, error);
        // More from the parts would help only where the pool was short.
        bool enough = pool.n > 0 && (!short_of || result->end == TD_ECSW_WITHIN || result->end == TD_ECSW_MOST);
        if (status != TD_OK || w->stopped || enough || pool.n == before)
            break;
        result->end = TD_ECSW_COLUMNS;
        before = pool.n > 0 ? pool.n : -1;
    }
    if (w->stopped)
        result->end = TD_ECSW_STOPPED;
    free(pool.column);
    free(pool.sketch);
    return status;
}

tdStatus td_ecsw_in_parts(const tdEcswTask *task, int rows, tdArena *arena, tdEcswResult *result, tdError *error)
{
    tdEcswMaker w = {.task = task, .s = rows};
    tdStatus status = td_ecsw_work_prepare(&w, (size_t)td_ecsw_part_columns(task), error);
    if (status == TD_OK)
        status = td_ecsw_sum_up(&w, false, error);
    if (status == TD_OK)
        status = choose_from_parts(&w, arena, result, error);
    td_ecsw_work_free(&w);
    return status;
}
