// SPDX-License-Identifier: Apache-2.0
// See schur_tree.h.
#include "solve/schur_tree.h"

#include <cblas.h>
#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

tdStatus td_schur_tree_create(tdArena *arena, int32_t n, tdSchurTree *out, tdError *error)
{
    *out = (tdSchurTree){.n = n,
                         .super = TD_TAKE(arena, int32_t, n),
                         .parent = TD_TAKE(arena, int32_t, n),
                         .begin = TD_TAKE(arena, int32_t, n),
                         .place = TD_TAKE(arena, int32_t, n),
                         .path = TD_TAKE(arena, int32_t, n),
                         .low = TD_TAKE(arena, int32_t, n),
                         .high = TD_TAKE(arena, int32_t, n),
                         .row = TD_TAKE(arena, int32_t, n),
                         .visited = TD_TAKE(arena, bool, n)};
    if (out->super == NULL || out->parent == NULL || out->begin == NULL || out->place == NULL || out->path == NULL ||
        out->low == NULL || out->high == NULL || out->row == NULL || out->visited == NULL)
        return td_fail_memory(error, "the condensation");
    return TD_OK;
}

void td_schur_tree_free(tdSchurTree *tree)
{
    free(tree->Z);
    free(tree->update);
    tree->Z = tree->update = NULL;
    tree->Z_room = tree->update_room = 0;
}

static int32_t first_of(const tdSchurTree *t, int32_t s)
{
    return ((const int32_t *)t->factor->super)[s];
}

static int32_t columns_of(const tdSchurTree *t, int32_t s)
{
    return first_of(t, s + 1) - first_of(t, s);
}

static int32_t rows_of(const tdSchurTree *t, int32_t s)
{
    const int32_t *at = t->factor->pi;
    return at[s + 1] - at[s];
}

static const int32_t *list_of(const tdSchurTree *t, int32_t s)
{
    return (const int32_t *)t->factor->s + ((const int32_t *)t->factor->pi)[s];
}

static const double *values_of(const tdSchurTree *t, int32_t s)
{
    return (const double *)t->factor->x + ((const int32_t *)t->factor->px)[s];
}

void td_schur_tree_set(tdSchurTree *tree, const struct cholmod_factor_struct *factor)
{
    const int32_t *order = factor->Perm;
    tree->factor = factor;
    tree->supers = (int32_t)factor->nsuper;
    tree->longest = 0;
    tree->n_path = 0;
    for (int32_t i = 0; i < tree->n; i++)
        tree->place[order[i]] = i;
    for (int32_t s = 0; s < tree->supers; s++)
    {
        tree->begin[s] = first_of(tree, s);
        tree->visited[s] = false;
        for (int32_t c = first_of(tree, s); c < first_of(tree, s + 1); c++)
            tree->super[c] = s;
    }
    for (int32_t s = 0; s < tree->supers; s++)
    {
        int32_t below = rows_of(tree, s) - columns_of(tree, s);
        tree->longest = below > tree->longest ? below : tree->longest;
        int32_t parent = tree->parent[s] = below == 0 ? -1 : tree->super[list_of(tree, s)[columns_of(tree, s)]];
        if (parent >= 0 && tree->begin[s] < tree->begin[parent])
            tree->begin[parent] = tree->begin[s];
    }
}

// First of the n ascending places that is not below `limit`.
static int32_t lower_bound(const int32_t *places, int32_t n, int32_t limit)
{
    int32_t low = 0, high = n;
    while (low < high)
    {
        int32_t middle = (low + high) / 2;
        if (places[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void td_schur_tree_visit(tdSchurTree *tree, int32_t n, const int32_t *places, double *flops, double *square)
{
    for (int32_t k = 0; k < tree->n_path; k++)
        tree->visited[tree->path[k]] = false;
    tree->n_path = 0;
    tree->rows = 0;
    *flops = *square = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t s = tree->super[places[i]]; s >= 0 && !tree->visited[s]; s = tree->parent[s])
            tree->visited[s] = true;
    for (int32_t s = 0; s < tree->supers; s++)
    {
        if (!tree->visited[s])
            continue;
        int32_t k = tree->n_path++, columns = columns_of(tree, s);
        tree->path[k] = s;
        tree->low[k] = lower_bound(places, n, tree->begin[s]);
        tree->high[k] = lower_bound(places, n, first_of(tree, s + 1));
        double reach = tree->high[k] - tree->low[k], below = rows_of(tree, s) - columns;
        *flops += reach * columns * (columns + 2 * below);
        *square += reach * reach * columns;
        for (int32_t c = first_of(tree, s); c < first_of(tree, s + 1); c++)
            tree->row[c] = (int32_t)tree->rows++;
    }
}

tdStatus td_schur_tree_square(tdSchurTree *tree, int32_t n, const int32_t *places, double *W, tdError *error)
{
    int64_t stride = tree->rows;
    if (n == 0)
        return TD_OK;
    if (!td_grow((void **)&tree->Z, &tree->Z_room, stride * n, sizeof *tree->Z) ||
        !td_grow((void **)&tree->update, &tree->update_room, (int64_t)tree->longest * n, sizeof *tree->update))
        return td_fail_memory(error, "the condensation");
    memset(tree->Z, 0, (size_t)(stride * n) * sizeof *tree->Z);
    memset(W, 0, (size_t)n * (size_t)n * sizeof *W);
    for (int32_t i = 0; i < n; i++)
        tree->Z[tree->row[places[i]] + i * stride] = 1;
    for (int32_t k = 0; k < tree->n_path; k++)
    {
        int32_t s = tree->path[k], columns = columns_of(tree, s), rows = rows_of(tree, s), below = rows - columns;
        int32_t low = tree->low[k], reach = tree->high[k] - low;
        const double *L = values_of(tree, s);
        double *B = tree->Z + tree->row[first_of(tree, s)] + low * stride;
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, columns, reach, 1, L, rows, B,
                    (int)stride);
        cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, reach, columns, 1, B, (int)stride, 1,
                    W + low + low * (int64_t)n, n);
        if (below == 0)
            continue;
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, below, reach, columns, 1, L + columns, rows, B,
                    (int)stride, 0, tree->update, below);
        const int32_t *list = list_of(tree, s) + columns;
        for (int32_t j = 0; j < reach; j++)
        {
            double *z = tree->Z + (low + j) * stride;
            for (int32_t i = 0; i < below; i++)
                z[tree->row[list[i]]] -= tree->update[i + j * (int64_t)below];
        }
    }
    return TD_OK;
}

// Rows of Z that a supernode on the path has, by its columns; only right-hand sides that reach it are not zero there.
void td_schur_tree_gather(const tdSchurTree *tree, int32_t n, int lanes, const double *y, double *t)
{
    memset(t, 0, (size_t)n * sizeof *t);
    for (int32_t k = 0; k < tree->n_path; k++)
    {
        int32_t first = first_of(tree, tree->path[k]), columns = columns_of(tree, tree->path[k]);
        cblas_dgemv(CblasColMajor, CblasTrans, columns, tree->high[k] - tree->low[k], 1,
                    tree->Z + tree->row[first] + tree->low[k] * tree->rows, (int)tree->rows, y + (int64_t)first * lanes,
                    lanes, 1, t + tree->low[k], 1);
    }
}

void td_schur_tree_scatter(const tdSchurTree *tree, int lanes, const double *t, double *y)
{
    for (int32_t k = 0; k < tree->n_path; k++)
    {
        int32_t first = first_of(tree, tree->path[k]), columns = columns_of(tree, tree->path[k]);
        cblas_dgemv(CblasColMajor, CblasNoTrans, columns, tree->high[k] - tree->low[k], -1,
                    tree->Z + tree->row[first] + tree->low[k] * tree->rows, (int)tree->rows, t + tree->low[k], 1, 1,
                    y + (int64_t)first * lanes, lanes);
    }
}
