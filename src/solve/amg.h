// SPDX-License-Identifier: Apache-2.0
// Algebraic multigrid by smoothed aggregation (Vanek, Mandel and Brezina 1996; Vanek, Brezina and Mandel 2001): a
// preconditioner for the matrix of a body whose Cholesky factor would not fit into memory. Its memory and its work grow
// with the nodes alone, and so, nearly, do the iterations not.
//
//     level 0      the nodes, 3 unknowns each
//     aggregates   a node and its neighbours become one node of the next level, with 6 unknowns: how it moves and
//                  turns as a rigid piece, the motions that cost a body nothing
//     T            those rigid motions, orthonormal in each aggregate
//     P = (I - 4/3 / lambda D^-1 A) T          smoothed, so that neighbouring aggregates bend into each other
//     A' = P' A P                              of the next level, and so on until a factor is little
//
// A cycle smooths by Chebyshev polynomials of D^-1 A (D: blocks of the diagonal), corrects on the next level and
// smooths again. The last level is solved by a Cholesky factor (linear.h). It is the first one whose factor takes no
// more than a few times what the finest matrix takes: for a million nodes the second one. Two levels need the fewest
// iterations, and as many on any mesh; visits of further ones would cost more than the factor. Aggregates follow from
// the pattern and belong to the model; numbers belong to a state. All sums are by rows in a fixed order: the same bits
// for any number of threads. P and the finest matrix are kept in single precision, which a preconditioner does not
// feel; the matrices of the other levels are not, because the softest motions are small differences there.
#pragma once
#include "base/block.h"
#include "base/isa.h"

typedef struct tdAmgModel tdAmgModel;
typedef struct tdAmg tdAmg;

/// held: by coordinate, true where it is no unknown. Both refer to memory of the arena; pattern and held must outlive
/// them.
/// memory: [bytes] that the factor of the last level may take, if more than a little. *out is to be freed, even after
/// an error.
tdStatus td_amg_model_create(tdArena *arena, const tdBlockPattern *pattern, const bool *held, double memory,
                             tdAmgModel **out, tdError *error);
void td_amg_model_free(tdAmgModel *model);
/// What a preconditioner on it takes [bytes].
double td_amg_bytes(const tdAmgModel *model);
/// Rows of blocks of each level, the finest first: how many levels there are.
int td_amg_levels(const tdAmgModel *model, int64_t *rows, int most);

/// *out is to be freed, even after an error.
tdStatus td_amg_create(const tdAmgModel *model, tdArena *arena, tdIsa isa, tdAmg **out, tdError *error);
void td_amg_free(tdAmg *amg);
/// Makes it for these values; x: where the nodes are, whose rigid motions are taken. *definite false: the matrix is not
/// positive definite, and the preconditioner is not to be used.
tdStatus td_amg_set(tdAmg *amg, tdTasks *tasks, const double *values, const double *x, bool *definite, tdError *error);
/// z = about A^-1 r, over all coordinates; r is zero on held ones, and so is z. Symmetric and positive.
void td_amg_apply(tdAmg *amg, tdTasks *tasks, const double *r, double *z);

// ---- between amg_shape.c and amg.c

#define TD_AMG_RIGID  6
#define TD_AMG_LEVELS 12

/// The structure of one level: a symmetric matrix of full rows, and how it hangs together with the next.
typedef struct tdAmgShape
{
    int32_t n; ///< rows of blocks
    int b;     ///< size of a block: 3 on the finest level, then 6
    int64_t *row;
    int32_t *column;  ///< ascending in each row
    int32_t *at;      ///< finest: block of the pattern,
    bool *turned;     ///< which is to be transposed
    int64_t *middle;  ///< by row: the block of the diagonal
    int32_t next;     ///< rows of the next level; 0: this is the last
    int32_t *joined;  ///< by row: its aggregate; -1: held as a whole
    int64_t *members; ///< next + 1: by aggregate its rows,
    int32_t *member;  ///< ascending
    int64_t *p_row;   ///< P by rows,
    int32_t *p_column;
    int64_t *t_row; ///< and by columns: rows and blocks of it
    int32_t *t_from;
    int64_t *t_block;
    int64_t *ap_row; ///< A P
    int32_t *ap_column;
} tdAmgShape;

struct tdAmgModel
{
    const tdBlockPattern *pattern;
    const bool *held;
    int levels;
    tdAmgShape level[TD_AMG_LEVELS];
    tdArena last_arena; ///< of the factor of the last level:
    tdBlockPattern last_pattern;
    struct tdLinearModel *last;
};

// ---- kernels (amg_kernel.c), for rows [begin, end)

/// r = f - A x with the finest matrix: blocks column by column, and three numbers behind the last.
#define TD_AMG_RESIDUAL(set)                                                                                           \
    void td_amg_residual_rows_##set(const tdAmgShape *s, const float *fine, const double *f, const double *x,          \
                                    double *r, int32_t begin, int32_t end)
/// to (of the next level) = P' from; two numbers behind the last of P.
#define TD_AMG_RESTRICT(set)                                                                                           \
    void td_amg_restrict_rows_##set(const tdAmgShape *s, const float *P, const double *from, double *to,               \
                                    int32_t begin, int32_t end)
TD_AMG_RESIDUAL(portable);
TD_AMG_RESTRICT(portable);
#if defined(__x86_64__)
TD_AMG_RESIDUAL(avx2);
TD_AMG_RESTRICT(avx2);
#endif
