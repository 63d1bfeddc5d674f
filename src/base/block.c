// SPDX-License-Identifier: Apache-2.0
#include "base/block.h"
#include "base/isa.h"

#include <stdlib.h>
#include <string.h>

#define GRAIN 256 // rows a task

static int compare_ints(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

// Lists of lower neighbours (with repetitions), sorted and made unique in place.
static int64_t unique_rows(int32_t n, const int64_t *start, int32_t *list, int64_t *row)
{
    int64_t kept = 0;
    for (int32_t i = 0; i < n; i++)
    {
        int64_t begin = start[i], end = start[i + 1];
        qsort(list + begin, (size_t)(end - begin), sizeof *list, compare_ints);
        row[i] = kept;
        for (int64_t k = begin; k < end; k++)
            if (k == begin || list[k] != list[k - 1])
                list[kept++] = list[k];
    }
    row[n] = kept;
    return kept;
}

static void list_below(tdBlockPattern *out)
{
    for (int32_t i = 0; i < out->n; i++)
        for (int64_t b = out->row[i]; b < out->row[i + 1] - 1; b++)
            out->below[out->column[b] + 1]++;
    for (int32_t i = 0; i < out->n; i++)
        out->below[i + 1] += out->below[i];
    // Filled row by row, so each list ascends; the starts are shifted while filling and put back after.
    for (int32_t i = 0; i < out->n; i++)
        for (int64_t b = out->row[i]; b < out->row[i + 1] - 1; b++)
        {
            int64_t at = out->below[out->column[b]]++;
            out->below_row[at] = i;
            out->below_block[at] = (int32_t)b;
        }
    for (int32_t i = out->n; i > 0; i--)
        out->below[i] = out->below[i - 1];
    out->below[0] = 0;
}

// Counts (list NULL) or lists the lower neighbours of each node: place[node + 1] or place[node] moves on.
static void lower_neighbours(int n_runs, const tdBlockCells *runs, int64_t *place, int32_t *list)
{
    for (int r = 0; r < n_runs; r++)
        for (int64_t c = 0; c < runs[r].count; c++)
        {
            const int32_t *nodes = runs[r].nodes + c * runs[r].k;
            for (int a = 0; a < runs[r].k; a++)
                for (int b = 0; b < runs[r].k; b++)
                    if (nodes[b] >= nodes[a])
                        continue;
                    else if (list == NULL)
                        place[nodes[a] + 1]++;
                    else
                        list[place[nodes[a]]++] = nodes[b];
        }
}

tdStatus td_block_pattern(tdArena *arena, int32_t n, int64_t cells, int k, const int32_t *nodes, tdBlockPattern *out,
                          tdError *error)
{
    return td_block_pattern_of(arena, n, 1, &(tdBlockCells){cells, k, nodes}, out, error);
}

tdStatus td_block_pattern_of(tdArena *arena, int32_t n, int n_runs, const tdBlockCells *runs, tdBlockPattern *out,
                             tdError *error)
{
    *out = (tdBlockPattern){.n = n};
    int64_t *start = td_take((size_t)n + 1, sizeof *start);
    out->row = TD_TAKE(arena, int64_t, n + 1);
    if (start == NULL || out->row == NULL)
    {
        free(start);
        return td_fail_memory(error, "the pattern of the matrix");
    }
    for (int32_t i = 0; i < n; i++)
        start[i + 1] = 1; // the diagonal
    lower_neighbours(n_runs, runs, start, NULL);
    for (int32_t i = 0; i < n; i++)
        start[i + 1] += start[i];
    int32_t *list = td_take((size_t)start[n], sizeof *list);
    int64_t *fill = td_take((size_t)n + 1, sizeof *fill);
    tdStatus status = TD_OK;
    if (list == NULL || fill == NULL)
        status = td_fail_memory(error, "the pattern of the matrix");
    else
    {
        memcpy(fill, start, ((size_t)n + 1) * sizeof *fill);
        for (int32_t i = 0; i < n; i++)
            list[fill[i]++] = i;
        lower_neighbours(n_runs, runs, fill, list);
        out->blocks = unique_rows(n, start, list, out->row);
        out->column = TD_TAKE(arena, int32_t, out->blocks);
        out->below = TD_TAKE(arena, int64_t, n + 1);
        out->below_row = TD_TAKE(arena, int32_t, out->blocks - n);
        out->below_block = TD_TAKE(arena, int32_t, out->blocks - n);
        if (out->blocks > INT32_MAX / 9)
            status = td_fail(error, TD_ERROR_INPUT, "the mesh is too large: its matrix has %lld blocks",
                             (long long)out->blocks);
        else if (out->column == NULL || out->below == NULL || out->below_row == NULL || out->below_block == NULL)
            status = td_fail_memory(error, "the pattern of the matrix");
        else
        {
            memcpy(out->column, list, (size_t)out->blocks * sizeof *list);
            list_below(out);
        }
    }
    free(start);
    free(list);
    free(fill);
    return status;
}

int32_t td_block_find(const tdBlockPattern *pattern, int32_t i, int32_t j)
{
    int64_t low = pattern->row[i], high = pattern->row[i + 1] - 1;
    while (low <= high)
    {
        int64_t middle = (low + high) / 2;
        if (pattern->column[middle] == j)
            return (int32_t)middle;
        if (pattern->column[middle] < j)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

typedef struct productWork
{
    const tdBlockPattern *pattern;
    const double *values, *x;
    double *y;
    bool add;
    tdIsa isa;
} productWork;

static void product_rows(void *context, int piece)
{
    const productWork *w = context;
    int32_t begin = piece * GRAIN, end = begin + GRAIN < w->pattern->n ? begin + GRAIN : w->pattern->n;
#if defined(__x86_64__)
    if (w->isa == TD_ISA_AVX2)
    {
        td_block_rows_avx2(w->pattern, w->values, w->x, w->y, w->add, begin, end);
        return;
    }
#endif
    td_block_rows_portable(w->pattern, w->values, w->x, w->y, w->add, begin, end);
}

void td_block_multiply(tdTasks *tasks, const tdBlockPattern *pattern, const double *values, const double *x, double *y,
                       bool add)
{
    productWork work = {pattern, values, x, y, add, td_isa_pick(false)}; // as solves, by the machine
    td_parallel(tasks, td_pieces(pattern->n, GRAIN), product_rows, &work);
}

static void scalar_rows(void *context, int piece)
{
    const productWork *w = context;
    const tdBlockPattern *p = w->pattern;
    int32_t end = (piece + 1) * GRAIN < p->n ? (piece + 1) * GRAIN : p->n;
    for (int32_t i = piece * GRAIN; i < end; i++)
        for (int c = 0; c < 3; c++)
        {
            double sum = 0;
            for (int64_t b = p->row[i]; b < p->row[i + 1]; b++)
                sum += w->values[b] * w->x[3 * (int64_t)p->column[b] + c];
            for (int64_t k = p->below[i]; k < p->below[i + 1]; k++)
                sum += w->values[p->below_block[k]] * w->x[3 * (int64_t)p->below_row[k] + c];
            double *y = w->y + 3 * (int64_t)i + c;
            *y = (w->add ? *y : 0) + sum;
        }
}

void td_block_multiply_scalar(tdTasks *tasks, const tdBlockPattern *pattern, const double *values, const double *x,
                              double *y, bool add)
{
    productWork work = {.pattern = pattern, .values = values, .x = x, .y = y, .add = add};
    td_parallel(tasks, td_pieces(pattern->n, GRAIN), scalar_rows, &work);
}
