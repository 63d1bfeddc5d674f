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

#define TD_SUBSTITUTE_LANES  8  ///< right-hand sides at once, at most
#define TD_SUBSTITUTE_FLOATS 16 ///< the same in single precision, and in double by vectors of 512 bits

// Types are not expressions. NOLINTBEGIN(bugprone-macro-parentheses)
/// Room for solves: belongs to a state.
#define TD_SUBSTITUTION(real)                                                                                          \
    struct                                                                                                             \
    {                                                                                                                  \
        const tdTriangularShape *shape;                                                                                \
        tdIsa isa;                                                                                                     \
        int lanes;     /* of the solve at hand: 1, 4, 8 or 16, in single precision 8 or 16 */                          \
        const real *L; /* likewise */                                                                                  \
        real *x;       /* rows in the factor's order */                                                                \
        real *buffer;  /* what subtrees add to rows above them */                                                      \
        real *work;    /* by subtree, and one for the top: rows of a supernode */                                      \
    }
typedef TD_SUBSTITUTION(double) tdSubstitution;
typedef TD_SUBSTITUTION(float) tdSubstitutionSingle;
// NOLINTEND(bugprone-macro-parentheses)

tdStatus td_substitution_create(tdArena *arena, const tdTriangularShape *shape, tdIsa isa, tdSubstitution *out,
                                tdError *error);
tdStatus td_substitution_create_single(tdArena *arena, const tdTriangularShape *shape, tdIsa isa,
                                       tdSubstitutionSingle *out, tdError *error);

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
/// x += (L L')^-1 b by a factor in single precision, for TD_SUBSTITUTE_LANES right-hand sides whose numbers stand
/// beside each other, by coordinate. scale: what makes each of them about one, so that 1e-40 does not vanish; 0: it is
/// left alone.
void td_substitute_single(tdSubstitutionSingle *s, tdTasks *tasks, const float *L, const int32_t *coord,
                          const double *scale, const double *b, double *x);
/// x = (L L')^-1 b by a factor in single precision, for n <= TD_SUBSTITUTE_FLOATS columns over coordinates; x is
/// written where unknowns are, and nowhere else. coord: by unknown.
void td_substitute_columns(tdSubstitutionSingle *s, tdTasks *tasks, const float *L, const int32_t *coord, int n,
                           const double *const *b, double *const *x);

// ---------------------------------------------------------------- kernels (substitute_panels.h)

// NOLINTBEGIN(bugprone-macro-parentheses)
/// Columns of a supernode: `columns` of them, column-major with the given stride; y: its rows, `lanes` numbers each.
#define TD_SUBSTITUTE_PANEL(real)                                                                                      \
    struct                                                                                                             \
    {                                                                                                                  \
        const real *L;                                                                                                 \
        int64_t stride;                                                                                                \
        int columns, lanes;                                                                                            \
        real *y;                                                                                                       \
    }
typedef TD_SUBSTITUTE_PANEL(double) tdSubstitutePanel;
typedef TD_SUBSTITUTE_PANEL(float) tdSubstitutePanelSingle;

// forward_triangle: rows of the triangle: y = L_cc^-1 y.
// forward_rows: rows [begin, end) below it: y -= L_rc y_c.
// backward_columns: columns [begin, end), of the rows [columns, rows): y_c -= L_rc' y_r.
// backward_triangle: y = L_cc^-T y
#define TD_SUBSTITUTE_KERNELS(panel, set)                                                                              \
    void td_forward_triangle_##set(const panel *p);                                                                    \
    void td_forward_rows_##set(const panel *p, int begin, int end);                                                    \
    void td_backward_columns_##set(const panel *p, int begin, int end, int rows);                                      \
    void td_backward_triangle_##set(const panel *p)
TD_SUBSTITUTE_KERNELS(tdSubstitutePanel, portable);
TD_SUBSTITUTE_KERNELS(tdSubstitutePanelSingle, single_portable);
#if defined(__x86_64__)
TD_SUBSTITUTE_KERNELS(tdSubstitutePanel, avx2);
TD_SUBSTITUTE_KERNELS(tdSubstitutePanelSingle, single_avx2);
TD_SUBSTITUTE_KERNELS(tdSubstitutePanel, avx512);
TD_SUBSTITUTE_KERNELS(tdSubstitutePanelSingle, single_avx512);
#endif
// NOLINTEND(bugprone-macro-parentheses)
