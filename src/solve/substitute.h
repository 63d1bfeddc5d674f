// SPDX-License-Identifier: Apache-2.0
// Solves with a supernodal Cholesky factor in double precision, several right-hand sides at once.
//
//     L L' X = B
//
// A solve reads the factor twice, so that right-hand sides that go together cost little more than one. X is kept by
// rows of TD_SUBSTITUTE_LANES numbers, one of each right-hand side: an entry of L is then one number times a vector,
// and nothing is copied or called for small supernodes. Trees and top are those of triangular.h: subtrees in parallel,
// what each adds to the rows above it kept apart and summed in order, so that bits do not depend on threads.
#pragma once
#include "base/isa.h"
#include "solve/triangular.h"

#define TD_SUBSTITUTE_LANES 8 ///< right-hand sides at once, at most

/// Room for solves: belongs to a state.
typedef struct tdSubstitution
{
    const tdTriangularShape *shape;
    tdIsa isa;
    int lanes;       ///< of the solve at hand: 4 or 8
    const double *L; ///< likewise
    double *x;       ///< rows in the factor's order
    double *buffer;  ///< what subtrees add to rows above them
    double *work;    ///< by subtree, and one for the top: rows of a supernode
} tdSubstitution;

tdStatus td_substitution_create(tdArena *arena, const tdTriangularShape *shape, tdIsa isa, tdSubstitution *out,
                                tdError *error);

/// Columns of B and X, over coordinates. X is written where unknowns are, and nowhere else; the two may be the same.
typedef struct tdSubstituteTask
{
    const double *values; ///< of the factor
    const int32_t *coord; ///< by unknown: its place in a column; NULL: the unknown itself
    const double *b;      ///< the first
    double *x;
    int more; ///< that go with it
    int64_t stride;
    const double *more_b; ///< `stride` apart
    double *more_x;
    /// Between forward and backward, where there is no more than one pass over the factor: y = L^-1 b by its order,
    /// `lanes` numbers a row, of which the first is of the first right-hand side. NULL: none.
    void (*between)(void *context, int lanes, double *y);
    void *context;
} tdSubstituteTask;

void td_substitute(tdSubstitution *s, tdTasks *tasks, const tdSubstituteTask *task);

// ---------------------------------------------------------------- kernels (substitute_kernel.c)

/// Columns of a supernode: `columns` of them, column-major with the given stride; y: its rows, `lanes` numbers each.
typedef struct tdSubstitutePanel
{
    const double *L;
    int64_t stride;
    int columns, lanes;
    double *y;
} tdSubstitutePanel;

/// Rows of the triangle: y = L_cc^-1 y.
void td_forward_triangle_portable(const tdSubstitutePanel *p);
/// Rows [begin, end) below it: y -= L_rc y_c.
void td_forward_rows_portable(const tdSubstitutePanel *p, int begin, int end);
/// Columns [begin, end), of the rows [columns, rows): y_c -= L_rc' y_r.
void td_backward_columns_portable(const tdSubstitutePanel *p, int begin, int end, int rows);
/// y = L_cc^-T y
void td_backward_triangle_portable(const tdSubstitutePanel *p);
#if defined(__x86_64__)
void td_forward_triangle_avx2(const tdSubstitutePanel *p);
void td_forward_rows_avx2(const tdSubstitutePanel *p, int begin, int end);
void td_backward_columns_avx2(const tdSubstitutePanel *p, int begin, int end, int rows);
void td_backward_triangle_avx2(const tdSubstitutePanel *p);
#endif
