// SPDX-License-Identifier: Apache-2.0
// The rows of G are sketched, S = Omega G with Omega Gaussian: lengths of all combinations of a few hundred columns
// come out right to some percent, so that the sketch finds good elements. Weights and residual are then those of all
// rows: the chosen columns are made again in full, few as they are, and fitted to y = G 1.
#include "reduce/offline/ecsw_work.h"

#include "base/hash.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SKETCH 1024 // rows; a choice of k columns is judged too well by about k / (2 rows)
#define GRAIN  64   // columns a task

void td_ecsw_work_free(tdEcswMaker *w)
{
    free(w->omega);
    free(w->sketch);
    free(w->y);
    free(w->sy);
    free(w->columns);
    free(w->sum);
}

// Two Gaussian numbers from a counter (Box and Muller), so that the sketch depends on its seed alone.
static void gaussian(uint64_t seed, uint64_t counter, double *out)
{
    uint64_t a = td_hash_mix(seed + 2 * counter), b = td_hash_mix(seed + 2 * counter + 1);
    double u = ((double)(a >> 11) + 0.5) * 0x1p-53, v = ((double)(b >> 11) + 0.5) * 0x1p-53;
    double radius = sqrt(-2 * log(u));
    out[0] = radius * cos(6.283185307179586 * v);
    out[1] = radius * sin(6.283185307179586 * v);
}

tdStatus td_ecsw_work_prepare(tdEcswMaker *w, size_t n, tdError *error)
{
    const tdEcswTask *task = w->task;
    size_t rows = (size_t)task->rows, many = (size_t)w->s;
    bool whole = w->s == task->rows;
    w->omega = td_take(whole ? 1 : many * rows + 1, sizeof(double));
    w->sketch = td_take(many * n, sizeof(double));
    w->y = td_take(rows, sizeof(double));
    w->sy = td_take(many, sizeof(double));
    w->columns = td_take(rows * (size_t)task->block, sizeof(double));
    w->sum = td_take(rows, sizeof(double));
    if (w->omega == NULL || w->sketch == NULL || w->y == NULL || w->sy == NULL || w->columns == NULL || w->sum == NULL)
        return td_fail(error, TD_ERROR_MEMORY, "the sketch of the training data needs %.1f GB; train on fewer samples",
                       8e-9 * (double)(many * (n + rows) + rows * (size_t)task->block));
    double scale = 1 / sqrt((double)w->s);
    for (size_t i = 0; !whole && i < many * rows; i += 2)
    {
        gaussian(task->seed, i / 2, w->omega + i);
        w->omega[i] *= scale;
        w->omega[i + 1] *= scale;
    }
    return TD_OK;
}

static void sketch_piece(void *context, int piece)
{
    const tdEcswMaker *w = context;
    int64_t rows = w->task->rows, first = (int64_t)piece * GRAIN, count = w->end - w->begin - first;
    count = count < GRAIN ? count : GRAIN;
    double *out = w->sketched + first * w->s;
    if (w->s == rows)
        memcpy(out, w->columns + first * rows, (size_t)(count * rows) * sizeof(double));
    else
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, w->s, (int)count, (int)rows, 1, w->omega, w->s,
                    w->columns + first * rows, (int)rows, 0, out, w->s);
}

void td_ecsw_go_to_block(tdEcswMaker *w, int64_t begin)
{
    const tdEcswTask *task = w->task;
    w->begin = begin;
    w->end = begin + task->block < task->n ? begin + task->block : task->n;
}

tdStatus td_ecsw_make_block(tdEcswMaker *w, tdError *error)
{
    const tdEcswTask *task = w->task;
    TD_TRY(task->columns(task->user, w->begin, w->end, w->columns, error));
    td_parallel(task->tasks, td_pieces(w->end - w->begin, GRAIN), sketch_piece, w);
    memset(w->sum, 0, (size_t)task->rows * sizeof(double));
    for (int64_t j = 0; j < w->end - w->begin; j++)
        cblas_daxpy((int)task->rows, 1, w->columns + j * task->rows, 1, w->sum, 1);
    if (task->save != NULL)
        TD_TRY(task->save(task->user, w->s, w->begin, w->end, w->sketched, w->sum, error));
    return TD_OK;
}

tdStatus td_ecsw_maker_create(const tdEcswTask *task, int sketch, tdEcswMaker **out, tdError *error)
{
    tdEcswMaker *w = *out = td_take(1, sizeof *w);
    if (w == NULL)
        return td_fail_memory(error, "the training data");
    *w = (tdEcswMaker){.task = task, .s = sketch};
    openblas_set_num_threads(1);
    tdStatus status =
        td_ecsw_work_prepare(w, (size_t)(td_ecsw_parts(task) > 1 ? td_ecsw_part_columns(task) : task->block), error);
    if (status != TD_OK)
    {
        td_ecsw_maker_free(w);
        *out = NULL;
        return status;
    }
    w->sketched = w->sketch;
    return TD_OK;
}

void td_ecsw_maker_free(tdEcswMaker *maker)
{
    if (maker == NULL)
        return;
    td_ecsw_work_free(maker);
    free(maker);
}

tdStatus td_ecsw_make(tdEcswMaker *maker, int64_t block, tdError *error)
{
    td_ecsw_go_to_block(maker, block * maker->task->block);
    return td_ecsw_make_block(maker, error);
}

tdStatus td_ecsw_take_block(tdEcswMaker *w, bool sketched, tdError *error)
{
    const tdEcswTask *task = w->task;
    if (task->load != NULL && task->load(task->user, w->s, w->begin, w->end, sketched ? w->sketched : NULL, w->sum))
        return TD_OK;
    return td_ecsw_make_block(w, error);
}

// y += the sum of the block.
static tdStatus add_sum(tdEcswMaker *w, tdError *error)
{
    for (int64_t i = 0; i < w->task->rows; i++)
        if (!isfinite(w->sum[i]))
            return td_fail(error, TD_ERROR_NUMERIC, "the training forces of elements %lld to %lld are not finite",
                           (long long)w->begin, (long long)w->end - 1);
    cblas_daxpy((int)w->task->rows, 1, w->sum, 1, w->y, 1);
    return TD_OK;
}

static void sketch_sum(tdEcswMaker *w)
{
    int rows = (int)w->task->rows;
    if (w->s == rows)
        memcpy(w->sy, w->y, (size_t)rows * sizeof(double));
    else
        cblas_dgemv(CblasColMajor, CblasNoTrans, w->s, rows, 1, w->omega, w->s, w->y, 1, 0, w->sy, 1);
}

tdStatus td_ecsw_sum_up(tdEcswMaker *w, bool sketched, tdError *error)
{
    const tdEcswTask *task = w->task;
    w->sketched = w->sketch;
    if (task->spread != NULL)
        TD_TRY(task->spread(task->user, w, w->s, error));
    for (w->begin = 0; w->begin < task->n; w->begin = w->end)
    {
        td_ecsw_go_to_block(w, w->begin);
        w->sketched = w->sketch + (sketched ? w->begin * w->s : 0);
        TD_TRY(td_ecsw_take_block(w, sketched, error));
        TD_TRY(add_sum(w, error));
    }
    sketch_sum(w);
    return TD_OK;
}

// Weights of chosen columns on all rows. `column` and `value` shrink to those that stay positive.
static tdStatus fit_all_rows(const tdEcswMaker *w, int *count, int32_t *column, double *value, double *relative,
                             tdError *error)
{
    const tdEcswTask *task = w->task;
    size_t k = (size_t)*count;
    double *G = td_take((size_t)task->rows * k, sizeof(double));
    int32_t *place = td_take(k, sizeof *place);
    tdNnls *nnls = NULL;
    tdStatus status = G == NULL || place == NULL ? td_fail_memory(error, "the chosen columns") : TD_OK;
    for (size_t i = 0; i < k && status == TD_OK; i++)
        status = task->columns(task->user, column[i], column[i] + 1, G + i * (size_t)task->rows, error);
    if (status == TD_OK)
        status = td_nnls_create(task->rows, *count, G, w->y, NULL, *count, &nnls, error);
    if (status == TD_OK)
    {
        td_nnls_run(nnls, task->tau, task->tasks, NULL);
        *count = td_nnls_count(nnls);
        *relative = td_nnls_residual(nnls);
        td_nnls_result(nnls, place, value);
        for (int i = 0; i < *count; i++)
            column[i] = column[place[i]];
    }
    td_nnls_free(nnls);
    free(G);
    free(place);
    return status;
}

// What kept the last run, which was to bring the residual on the sketch to `asked`, from going on.
static tdEcswEnd find_end(const tdEcswMaker *w, const tdNnls *nnls, double asked, const tdEcswResult *result)
{
    const tdEcswTask *task = w->task;
    int count = td_nnls_count(nnls);
    if (result->error <= task->tau)
        return TD_ECSW_WITHIN;
    if (task->most > 0 && count >= task->most)
        return TD_ECSW_MOST;
    // A sketch with many more rows than columns were chosen is to be trusted when it finds no further one.
    if (w->s == task->rows || (2 * count < w->s && td_nnls_residual(nnls) > asked))
        return TD_ECSW_COLUMNS;
    return TD_ECSW_SKETCH;
}

bool td_ecsw_note_stop(void *user, int count, double residual)
{
    tdEcswMaker *w = user;
    const tdNnlsProgress *told = &w->task->progress;
    w->stopped = told->fn != NULL && !told->fn(told->user, count, residual);
    return !w->stopped;
}

tdStatus td_ecsw_choose(tdEcswMaker *w, const tdEcswPool *pool, tdArena *arena, tdEcswResult *result, bool *short_of,
                        tdError *error)
{
    const tdNnlsProgress progress = {td_ecsw_note_stop, w};
    const tdEcswTask *task = w->task;
    tdNnls *nnls = NULL;
    TD_TRY(td_nnls_create(w->s, pool->n, pool->sketch, w->sy, pool->skip, task->most, &nnls, error));
    tdStatus status = TD_OK;
    double tau = 0.9 * task->tau, last = INFINITY;
    result->sketch_rows = w->s;
    for (int attempt = 0; attempt < TD_ECSW_ATTEMPTS && status == TD_OK; attempt++)
    {
        td_nnls_run(nnls, tau, task->tasks, &progress);
        int count = td_nnls_count(nnls);
        int32_t *column = TD_TAKE(arena, int32_t, count);
        double *value = TD_TAKE(arena, double, count);
        if (column == NULL || value == NULL)
        {
            status = td_fail_memory(error, "the chosen elements");
            break;
        }
        td_nnls_result(nnls, column, value);
        for (int i = 0; i < count && pool->column != NULL; i++)
            column[i] = pool->column[column[i]];
        result->sketched_error = td_nnls_residual(nnls);
        *short_of = result->sketched_error > tau;
        if (count > 0)
            status = fit_all_rows(w, &count, column, value, &result->error, error);
        else
            result->error = td_nnls_residual(nnls);
        result->count = count;
        result->element = column;
        result->weight = value;
        result->end = w->stopped ? TD_ECSW_STOPPED : find_end(w, nnls, tau, result);
        // No further: within the tolerance, or nothing more to choose from.
        if (w->stopped || status != TD_OK || result->error <= task->tau || *short_of || result->error >= last)
            break;
        last = result->error;
        tau *= fmin(0.95 * task->tau / result->error, 0.95);
    }
    td_nnls_free(nnls);
    return status;
}

static tdStatus try_sketch(const tdEcswTask *task, int rows, tdArena *arena, tdEcswResult *result, tdError *error)
{
    tdEcswMaker w = {.task = task, .s = rows};
    bool short_of = false;
    *result = (tdEcswResult){0};
    if (td_ecsw_parts(task) > 1)
        return td_ecsw_in_parts(task, rows, arena, result, error);
    tdStatus status = td_ecsw_work_prepare(&w, (size_t)task->n, error);
    if (status == TD_OK)
        status = td_ecsw_sum_up(&w, true, error);
    const tdEcswPool all = {task->n, w.sketch, NULL, task->skip};
    if (status == TD_OK)
        status = td_ecsw_choose(&w, &all, arena, result, &short_of, error);
    td_ecsw_work_free(&w);
    return status;
}

tdStatus td_ecsw(const tdEcswTask *task, tdArena *arena, tdEcswResult *result, tdError *error)
{
    int64_t most = task->most_sketch > 0 && task->most_sketch < task->rows ? task->most_sketch : task->rows;
    int64_t rows = task->sketch > 0 ? task->sketch : SKETCH;
    openblas_set_num_threads(1);
    for (rows = rows < most ? rows : most;; rows = 2 * rows < most ? 2 * rows : most)
    {
        TD_TRY(try_sketch(task, (int)rows, arena, result, error));
        if (result->end != TD_ECSW_SKETCH || rows == most)
            return TD_OK;
    }
}
