// SPDX-License-Identifier: Apache-2.0
// Symmetric sparse matrices of 3 x 3 blocks over the nodes of a body: the lower triangle, by rows, each
// block row-major. The pattern belongs to the model and is shared; values belong to a state.
//
// A product reads row i as sum_j<=i B_ij x_j + sum_j>i B_ji' x_j through a second list of the blocks in
// the column below the diagonal, so that every row is summed by one thread in one order.
#pragma once
#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

typedef struct tdBlockPattern
{
    int32_t n;            ///< rows of blocks
    int64_t blocks;       ///< stored blocks
    int64_t *row;         ///< n + 1; the diagonal block is the last of its row
    int32_t *column;      ///< blocks, ascending in each row
    int64_t *below;       ///< n + 1: where the blocks below the diagonal of column i are listed
    int32_t *below_row;   ///< their rows
    int32_t *below_block; ///< their numbers
} tdBlockPattern;

/// Pattern of n nodes joined by cells of `k` nodes each.
tdStatus td_block_pattern(tdArena *arena, int32_t n, int64_t cells, int k, const int32_t *nodes, tdBlockPattern *out,
                          tdError *error);
/// Cells of `k` nodes each.
typedef struct tdBlockCells
{
    int64_t count;
    int k;
    const int32_t *nodes;
} tdBlockCells;
/// The same for several kinds of cells.
tdStatus td_block_pattern_of(tdArena *arena, int32_t n, int n_runs, const tdBlockCells *runs, tdBlockPattern *out,
                             tdError *error);
/// Number of the block (i, j), i >= j, or -1.
int32_t td_block_find(const tdBlockPattern *pattern, int32_t i, int32_t j);

/// y = A x, or with `add` y += A x.
void td_block_multiply(tdTasks *tasks, const tdBlockPattern *pattern, const double *values, const double *x, double *y,
                       bool add);
/// The same where each block is a number times the identity (consistent mass).
void td_block_multiply_scalar(tdTasks *tasks, const tdBlockPattern *pattern, const double *values, const double *x,
                              double *y, bool add);

// ---- kernel (block_kernel.c): rows [begin, end) of td_block_multiply
void td_block_rows_portable(const tdBlockPattern *pattern, const double *values, const double *x, double *y, bool add,
                            int32_t begin, int32_t end);
#if defined(__x86_64__)
void td_block_rows_avx2(const tdBlockPattern *pattern, const double *values, const double *x, double *y, bool add,
                        int32_t begin, int32_t end);
#endif
