// SPDX-License-Identifier: Apache-2.0
// R of a tall matrix X (n x m) that is never in memory as a whole, X = Q R, by a tree of small decompositions (TSQR:
// Demmel, Grigori, Hoemmen and Langou 2012):
//
//     leaves      blocks of rows, each decomposed
//     tree        pairs of R's, one above the other, decomposed to one, and so on
//
// R has the singular values of X and its right singular vectors, to rounding: nothing is squared, as in a Gram matrix.
// Leaves and tree follow from n and m alone. A unit, eight leaves with their tree, is what one process does at a time;
// whoever does which, R is the same to the bit.
#pragma once
#include "base/memory.h"
#include "base/status.h"

/// Rows [begin, end) of X, by columns, end - begin apart. Several threads may call it.
typedef tdStatus (*tdRowsFn)(void *user, int64_t begin, int64_t end, double *out, tdError *error);

typedef struct tdTsqr
{
    int64_t n;
    int m;
    int64_t leaf;  ///< rows
    int64_t units; ///< how many there are
} tdTsqr;

tdTsqr td_tsqr_plan(int64_t n, int m);
/// Bytes that one unit takes while it is decomposed.
double td_tsqr_bytes(const tdTsqr *plan);
/// Rows of a unit: [*begin, *end).
void td_tsqr_rows(const tdTsqr *plan, int64_t unit, int64_t *begin, int64_t *end);
/// R (m x m by columns, zero below the diagonal) of one unit.
tdStatus td_tsqr_unit(const tdTsqr *plan, int64_t unit, tdRowsFn rows, void *user, double *R, tdError *error);

/// The tree over units, to which they come in their order.
typedef struct tdTsqrTree tdTsqrTree;
tdStatus td_tsqr_tree_create(int m, tdTsqrTree **out, tdError *error);
void td_tsqr_tree_free(tdTsqrTree *tree);
tdStatus td_tsqr_tree_add(tdTsqrTree *tree, const double *R, tdError *error);
/// R of all, which stays the tree's.
tdStatus td_tsqr_tree_end(tdTsqrTree *tree, const double **R, tdError *error);
