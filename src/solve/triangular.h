// SPDX-License-Identifier: Apache-2.0
// Solves with a supernodal Cholesky factor kept in single precision, on several threads.
//
// Used as a preconditioner only, where seven digits are plenty: a solve reads the whole factor twice and
// does little else, so half the bytes is half the time. The supernodes form a tree. Its lower part is cut
// into independent subtrees, solved in parallel; what they add to the top is kept apart for each subtree
// and summed in order. The few large supernodes of the top are solved one after the other, each by rows
// and columns in parallel. The cut depends on the factor alone, so the bits do not depend on the threads.
#pragma once
#include "base/isa.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

struct cholmod_factor_struct;

/// The shape: belongs to the model.
typedef struct tdTriangularShape
{
    int32_t n, supers;
    const int32_t *first;    ///< supers + 1: first column of each supernode
    const int32_t *row_at;   ///< supers + 1: where its rows begin in `rows` (its own columns, then those below)
    const int32_t *value_at; ///< supers + 1: where its values begin, column-major, one row of `rows` a row
    const int32_t *rows;
    const int32_t *order; ///< unknown at each place of the factor
    int64_t values;
    int32_t trees;
    int32_t *tree_first, *tree_last; ///< supernodes of each subtree
    int32_t n_top;
    int32_t *top; ///< supernodes above the subtrees, ascending
    int32_t top_columns;
    int32_t *top_place; ///< by column: its place among the columns of the top, or -1
    int32_t *top_column;
    int32_t longest;   ///< most rows of a supernode
    int64_t *above_at; ///< trees + 1: rows above each subtree, which are those below its root
    int32_t *near; ///< as `rows`, of subtrees: the row itself in the subtree, else the complement of its place among
                   ///< those above
} tdTriangularShape;

/// symbolic: a supernodal symbolic factor of CHOLMOD, which must outlive the shape.
tdStatus td_triangular_shape(tdArena *arena, const struct cholmod_factor_struct *symbolic, tdTriangularShape *out,
                             tdError *error);

/// The numbers: belong to a state.
typedef struct tdTriangular
{
    const tdTriangularShape *shape;
    tdIsa isa;
    float *values;
    float *x;      ///< right-hand side and solution, in the factor's order
    float *buffer; ///< by subtree: what it adds to the top
    float *work;   ///< by subtree, and one for the top: gathered rows
    /// Between forward and backward: y = L^-1 b by the factor's order, times some number. NULL: none.
    void (*between)(void *context, float *y);
    void *context;
} tdTriangular;

tdStatus td_triangular_create(tdArena *arena, const tdTriangularShape *shape, tdIsa isa, tdTriangular *out,
                              tdError *error);
/// Takes the values of a numeric factor of the same shape.
void td_triangular_set(tdTriangular *t, tdTasks *tasks, const double *values);
/// x = (L L')^-1 b, both over the unknowns.
void td_triangular_solve(tdTriangular *t, tdTasks *tasks, const double *b, double *x);

// ---------------------------------------------------------------- kernels (triangular_kernel.c)

// gemv: y -= A x: m rows, k columns, column-major with the given stride.
// gemv_transposed: y -= A' x
// triangle: y = L^-1 y by the triangle of k columns A, or L^-T y.
#define TD_TRIANGULAR_KERNELS(set)                                                                                     \
    void td_gemv_##set(int32_t m, int32_t k, const float *A, int32_t stride, const float *x, float *y);                \
    void td_gemv_transposed_##set(int32_t m, int32_t k, const float *A, int32_t stride, const float *x, float *y);     \
    void td_triangle_forward_##set(int32_t k, const float *A, int32_t stride, float *y);                               \
    void td_triangle_backward_##set(int32_t k, const float *A, int32_t stride, float *y)
TD_TRIANGULAR_KERNELS(portable);
#if defined(__x86_64__)
TD_TRIANGULAR_KERNELS(avx2);
TD_TRIANGULAR_KERNELS(avx512);
#endif
