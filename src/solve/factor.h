// SPDX-License-Identifier: Apache-2.0
// Numeric Cholesky factorization on a symbolic factor of CHOLMOD, multifrontal (Duff and Reid 1983).
//
// A supernode s with columns c and rows r below them gathers a front from A and from what its children leave,
//
//     [F_cc     ]     F_cc = L_cc L_cc'        L_rc = F_rc L_cc^-T        U_rr = F_rr - L_rc L_rc'
//     [F_rc F_rr]
//
// and leaves U_rr to its parent. All of it but triangles of a few columns are products of matrices as large as they can
// be, divisions too, by inverses of those triangles. L is written
// where CHOLMOD would, so its solves work on it. Nothing is allocated by a factorization.
//
// The elimination tree is cut into subtrees that are factored at the same time; fronts above them are cut into tiles.
// Cuts depend on the structure alone: the bits are the same for any number of threads.
#pragma once
#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

struct cholmod_factor_struct;
struct cholmod_common_struct;

/// The lower triangle of a matrix by columns, in its own order.
typedef struct tdFactorMatrix
{
    int32_t n;
    const int32_t *start, *row;
    const int32_t *source; ///< where the value of each entry stands; NULL: in order
} tdFactorMatrix;

/// Rows next to each other below a supernode that are next to each other in the front of its parent too.
typedef struct tdFactorRun
{
    int32_t row, to; ///< the first, below its supernode and in the front; the next run begins behind the last
} tdFactorRun;

/// What follows from the structure alone.
typedef struct tdFactorPlan
{
    tdArena arena;
    const struct cholmod_factor_struct *shape; ///< must outlive it
    int32_t n, supers;
    int32_t *parent;       ///< by supernode, or -1
    int32_t *child, *next; ///< lists of children, in ascending order
    int32_t *relative;     ///< as the factor's row list: row of the parent's front of each row below a supernode
    int32_t *run_at;       ///< by supernode: its runs, which end with one of the row behind the last
    tdFactorRun *runs;
    int32_t *entry_at;                        ///< supers + 1: entries of A in the columns of a supernode
    int32_t *entry_from;                      ///< place of its value
    int64_t *entry_to;                        ///< place in the factor
    int32_t n_trees, *tree_first, *tree_last; ///< subtrees: supernodes [first, last]
    int32_t n_top, *top;                      ///< supernodes above them, ascending
    int64_t *update_at;                       ///< by supernode: where what it leaves is kept
    int64_t *pack_at;                         ///< by tree, and one for the top: scratch of squares
    int64_t room;                             ///< of all that
    double flops;
} tdFactorPlan;

tdStatus td_factor_plan(const struct cholmod_factor_struct *symbolic, const tdFactorMatrix *matrix, tdFactorPlan *out,
                        tdError *error);
void td_factor_plan_free(tdFactorPlan *plan);

/// Makes a symbolic factor ready to hold numbers.
tdStatus td_factor_ready(struct cholmod_factor_struct *factor, struct cholmod_common_struct *common, tdError *error);
/// factor->x from the values; work: plan->room numbers. False: not positive definite, or
/// the caller wants to end (td_tasks_cancelled), and the factor is not to be used.
bool td_factor_numbers(const tdFactorPlan *plan, tdTasks *tasks, const double *values, double *work,
                       struct cholmod_factor_struct *factor);

/// The first n columns of a dense matrix of `rows` rows: L_cc of A_cc = L_cc L_cc' and A_rc L_cc^-T in place, lower
/// triangle by columns. Quicker than dpotrf and dtrsm. False: not positive definite.
bool td_factor_panel(int n, int rows, double *L, int stride);

/// The same numbers wherever x has room for them, in double or single precision. x: as factor->x; work: plan->room
/// numbers.
bool td_factor_fill(const tdFactorPlan *plan, tdTasks *tasks, const double *values, double *work, double *x);
bool td_factor_fill_single(const tdFactorPlan *plan, tdTasks *tasks, const double *values, float *work, float *x);

// ---- between factor_front.h and factor_tiles.h

#define TD_FACTOR_BLOCK 48 ///< columns factored at once, at most

// Types are not expressions. NOLINTBEGIN(bugprone-macro-parentheses)
/// C = -A B', or C -= A B'; column-major.
#define TD_FACTOR_PRODUCT(real)                                                                                        \
    struct                                                                                                             \
    {                                                                                                                  \
        int rows, columns, depth; /* of C, and columns of A and B */                                                   \
        const real *A;                                                                                                 \
        int a_stride;                                                                                                  \
        const real *B;                                                                                                 \
        int b_stride;                                                                                                  \
        real *C;                                                                                                       \
        int c_stride;                                                                                                  \
        bool add;   /* to what is there */                                                                             \
        bool lower; /* rows from the diagonal on; what stands above it may be written too */                           \
    }
typedef TD_FACTOR_PRODUCT(double) tdProduct;
typedef TD_FACTOR_PRODUCT(float) tdProductSingle;

// product: that.
// triangle: lower triangle of n x n, n <= TD_FACTOR_BLOCK: A = L L' in place, and the inverses of its diagonal. False:
//     not positive definite.
// divide: m rows of n columns, divided by such a triangle: R = R T^-T.
// square: U = -L L', its lower triangle and some of what is above it; L: m rows, pack: room for m rows, filled up to
//     sixteens. As all that take rows by vectors, for vectors of 512 bits from sixteen rows on.
// add: columns [begin, end) of what a child leaves, of `size` rows and its own columns, added to a front whose column c
//     stands at to + c stride; run: that of column `begin` or one before.
#define TD_FACTOR_KERNELS(real, productOf, set)                                                                        \
    void td_factor_product_##set(const productOf *product);                                                            \
    bool td_factor_triangle_##set(int n, real *A, int stride, real *inverse);                                          \
    void td_factor_divide_##set(int n, int m, const real *T, int t_stride, const real *inverse, real *rows,            \
                                int stride);                                                                           \
    void td_factor_square_##set(int m, int depth, const real *L, int l_stride, real *U, int64_t u_stride, real *pack); \
    void td_factor_add_##set(const tdFactorRun *run, int begin, int end, int size, const real *from, real *to,         \
                             int64_t stride)
TD_FACTOR_KERNELS(double, tdProduct, portable);
TD_FACTOR_KERNELS(float, tdProductSingle, single_portable);
#if defined(__x86_64__)
TD_FACTOR_KERNELS(double, tdProduct, avx2);
TD_FACTOR_KERNELS(float, tdProductSingle, single_avx2);
TD_FACTOR_KERNELS(double, tdProduct, avx512);
TD_FACTOR_KERNELS(float, tdProductSingle, single_avx512);
#endif
// NOLINTEND(bugprone-macro-parentheses)
