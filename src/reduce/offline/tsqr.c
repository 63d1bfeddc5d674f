// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/tsqr.h"

#include "base/lapack.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#define LEAVES     8    // of a unit
#define LEAF_ROWS  4096 // at least, and
#define LEAF_SHAPE 4    // times the columns: the tree then costs less than the leaves
#define WORK       64   // of LAPACK, for each column
#define DEPTH      48   // of the tree, more than there can be

tdTsqr td_tsqr_plan(int64_t n, int m)
{
    tdTsqr plan = {.n = n, .m = m, .leaf = (int64_t)LEAF_SHAPE * m};
    plan.leaf = plan.leaf < LEAF_ROWS ? LEAF_ROWS : plan.leaf;
    plan.units = (n + LEAVES * plan.leaf - 1) / (LEAVES * plan.leaf);
    return plan;
}

double td_tsqr_bytes(const tdTsqr *plan)
{
    // a leaf, a pair, and what waits in the tree
    double m = plan->m;
    return 8 * ((double)plan->leaf * m + 2 * m * m + 6 * m * m + WORK * m);
}

void td_tsqr_rows(const tdTsqr *plan, int64_t unit, int64_t *begin, int64_t *end)
{
    *begin = unit * LEAVES * plan->leaf;
    *end = *begin + LEAVES * plan->leaf < plan->n ? *begin + LEAVES * plan->leaf : plan->n;
}

// ---------------------------------------------------------------- the tree

// Those that wait have ever more leaves below them, the last the fewest: as the digits of a counter.
struct tdTsqrTree
{
    int m, depth;
    double *R[DEPTH];
    int64_t size[DEPTH];
    double *pair, *tau, *work;
};

tdStatus td_tsqr_tree_create(int m, tdTsqrTree **out, tdError *error)
{
    tdTsqrTree *tree = *out = td_take(1, sizeof *tree);
    if (tree == NULL)
        return td_fail_memory(error, "the decomposition of snapshots");
    tree->m = m;
    tree->pair = td_take(2 * (size_t)m * (size_t)m, sizeof(double));
    tree->tau = td_take((size_t)m, sizeof(double));
    tree->work = td_take(WORK * (size_t)m, sizeof(double));
    if (tree->pair != NULL && tree->tau != NULL && tree->work != NULL)
        return TD_OK;
    td_tsqr_tree_free(tree);
    *out = NULL;
    return td_fail_memory(error, "the decomposition of snapshots");
}

void td_tsqr_tree_free(tdTsqrTree *tree)
{
    if (tree == NULL)
        return;
    for (int i = 0; i < DEPTH; i++)
        free(tree->R[i]);
    free(tree->pair);
    free(tree->tau);
    free(tree->work);
    free(tree);
}

// R of `rows` rows of A, in place; then the upper triangle into R.
static tdStatus decompose(int64_t rows, int m, double *A, double *tau, double *work, double *R, tdError *error)
{
    int n = (int)rows, lwork = WORK * m, info = 0;
    dgeqrf_(&n, &m, A, &n, tau, work, &lwork, &info);
    if (info != 0)
        return td_fail(error, TD_ERROR_NUMERIC, "the snapshots could not be factored; are they finite?");
    memset(R, 0, (size_t)m * (size_t)m * sizeof *R);
    for (int j = 0; j < m; j++)
        for (int i = 0; i <= j && i < rows; i++)
            R[i + (int64_t)m * j] = A[i + rows * j];
    return TD_OK;
}

// The last two that wait become one.
static tdStatus join(tdTsqrTree *tree, tdError *error)
{
    int m = tree->m, top = tree->depth - 2;
    for (int j = 0; j < m; j++)
        for (int i = 0; i < m; i++)
        {
            tree->pair[i + (int64_t)2 * m * j] = tree->R[top][i + (int64_t)m * j];
            tree->pair[m + i + (int64_t)2 * m * j] = tree->R[top + 1][i + (int64_t)m * j];
        }
    TD_TRY(decompose(2 * (int64_t)m, m, tree->pair, tree->tau, tree->work, tree->R[top], error));
    tree->size[top] += tree->size[top + 1];
    tree->depth--;
    return TD_OK;
}

tdStatus td_tsqr_tree_add(tdTsqrTree *tree, const double *R, tdError *error)
{
    size_t all = (size_t)tree->m * (size_t)tree->m;
    double **to = &tree->R[tree->depth];
    if (*to == NULL)
        *to = td_take(all, sizeof(double));
    if (*to == NULL)
        return td_fail_memory(error, "the decomposition of snapshots");
    memcpy(*to, R, all * sizeof(double));
    tree->size[tree->depth++] = 1;
    while (tree->depth > 1 && tree->size[tree->depth - 2] == tree->size[tree->depth - 1])
        TD_TRY(join(tree, error));
    return TD_OK;
}

tdStatus td_tsqr_tree_end(tdTsqrTree *tree, const double **R, tdError *error)
{
    while (tree->depth > 1)
        TD_TRY(join(tree, error));
    *R = tree->R[0];
    return TD_OK;
}

// ---------------------------------------------------------------- a unit

tdStatus td_tsqr_unit(const tdTsqr *plan, int64_t unit, tdRowsFn rows, void *user, double *R, tdError *error)
{
    int64_t begin = 0, end = 0;
    tdTsqrTree *tree = NULL;
    const double *root = NULL;
    size_t m = (size_t)plan->m;
    double *block = td_take((size_t)plan->leaf * m, sizeof *block), *leaf = td_take(m * m, sizeof *leaf);
    tdStatus status = block == NULL || leaf == NULL ? td_fail_memory(error, "a block of snapshots")
                                                    : td_tsqr_tree_create(plan->m, &tree, error);
    td_tsqr_rows(plan, unit, &begin, &end);
    openblas_set_num_threads(1);
    for (int64_t at = begin; at < end && status == TD_OK; at += plan->leaf)
    {
        int64_t to = at + plan->leaf < end ? at + plan->leaf : end;
        status = rows(user, at, to, block, error);
        if (status == TD_OK)
            status = decompose(to - at, plan->m, block, tree->tau, tree->work, leaf, error);
        if (status == TD_OK)
            status = td_tsqr_tree_add(tree, leaf, error);
    }
    if (status == TD_OK)
        status = td_tsqr_tree_end(tree, &root, error);
    if (status == TD_OK)
        memcpy(R, root, m * m * sizeof *R);
    td_tsqr_tree_free(tree);
    free(block);
    free(leaf);
    return status;
}
