// SPDX-License-Identifier: Apache-2.0
// Numbers along the paths of a factor's tree, see schur_tree.h. In double or single precision, see real.h.
#pragma once
#include "solve/real.h"
#include "solve/schur_tree.h"

#include <cblas.h>
#include <cholmod.h>
#include <string.h>

#ifdef TD_SINGLE
#define td_real_trsm cblas_strsm
#define td_real_gemv cblas_sgemv
#else
#define td_real_trsm cblas_dtrsm
#define td_real_gemv cblas_dgemv
#endif

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

tdStatus TD_REAL_NAME(td_schur_tree_square)(tdSchurTree *tree, const tdReal *values, int32_t n, const int32_t *places,
                                            tdReal *W, tdError *error)
{
    const int32_t *value_at = tree->factor->px;
    int64_t stride = tree->rows;
    if (n == 0)
        return TD_OK;
    if (!td_grow(&tree->Z, &tree->Z_room, stride * n * (int64_t)sizeof(tdReal), 1) ||
        !td_grow(&tree->update, &tree->update_room, (int64_t)tree->longest * n * (int64_t)sizeof(tdReal), 1))
        return td_fail_memory(error, "the condensation");
    tdReal *Z = tree->Z, *update = tree->update;
    memset(Z, 0, (size_t)(stride * n) * sizeof *Z);
    memset(W, 0, (size_t)n * (size_t)n * sizeof *W);
    for (int32_t i = 0; i < n; i++)
        Z[tree->row[places[i]] + i * stride] = 1;
    for (int32_t k = 0; k < tree->n_path; k++)
    {
        int32_t s = tree->path[k], columns = columns_of(tree, s), rows = rows_of(tree, s), below = rows - columns;
        int32_t low = tree->low[k], reach = tree->high[k] - low;
        const tdReal *L = values + value_at[s];
        tdReal *B = Z + tree->row[first_of(tree, s)] + low * stride;
        td_real_trsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, columns, reach, 1, L, rows, B,
                     (int)stride);
        td_real_syrk(CblasColMajor, CblasLower, CblasTrans, reach, columns, 1, B, (int)stride, 1,
                     W + low + low * (int64_t)n, n);
        if (below == 0)
            continue;
        td_real_gemm(CblasColMajor, CblasNoTrans, CblasNoTrans, below, reach, columns, 1, L + columns, rows, B,
                     (int)stride, 0, update, below);
        const int32_t *list = list_of(tree, s) + columns;
        for (int32_t j = 0; j < reach; j++)
        {
            tdReal *z = Z + (low + j) * stride;
            for (int32_t i = 0; i < below; i++)
                z[tree->row[list[i]]] -= update[i + j * (int64_t)below];
        }
    }
    return TD_OK;
}

// Rows of Z that a supernode on the path has, by its columns; only right-hand sides that reach it are not zero there.
void TD_REAL_NAME(td_schur_tree_gather)(const tdSchurTree *tree, int32_t n, const tdReal *y, tdReal *t)
{
    const tdReal *Z = tree->Z;
    memset(t, 0, (size_t)n * sizeof *t);
    for (int32_t k = 0; k < tree->n_path; k++)
    {
        int32_t first = first_of(tree, tree->path[k]), columns = columns_of(tree, tree->path[k]);
        td_real_gemv(CblasColMajor, CblasTrans, columns, tree->high[k] - tree->low[k], 1,
                     Z + tree->row[first] + tree->low[k] * tree->rows, (int)tree->rows, y + first, 1, 1,
                     t + tree->low[k], 1);
    }
}

void TD_REAL_NAME(td_schur_tree_scatter)(const tdSchurTree *tree, const tdReal *t, tdReal *y)
{
    const tdReal *Z = tree->Z;
    for (int32_t k = 0; k < tree->n_path; k++)
    {
        int32_t first = first_of(tree, tree->path[k]), columns = columns_of(tree, tree->path[k]);
        td_real_gemv(CblasColMajor, CblasNoTrans, columns, tree->high[k] - tree->low[k], -1,
                     Z + tree->row[first] + tree->low[k] * tree->rows, (int)tree->rows, t + tree->low[k], 1, 1,
                     y + first, 1);
    }
}
