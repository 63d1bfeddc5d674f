// SPDX-License-Identifier: Apache-2.0
// Condensation of a full-order body to the coordinates that constraints touch (S5 VI-A, VI-B).
//
//     [A_nn A_np] [dv_n]   [   0     ]         A_hat = A_pp - A_pn A_nn^-1 A_np = L_pp L_pp'
//     [A_pn A_pp] [dv_p] = [J_p' gamma]        dv_n  = -A_nn^-1 A_np dv_p
//
// Two ways, both by one Cholesky factor that gives the free motion too:
//   last      participating nodes are ordered last; A_hat is read off the factor. A new set of nodes needs a new
//             symbolic factor, made from the standing order with those nodes moved to its end.
//   standing  the factor keeps its order; (A^-1)_pp from triangular solves that visit only the paths from the touched
//             nodes to the root of the elimination tree; A_hat is its inverse. A new set costs nothing.
// The choice counts operations, never the clock. Nodes stay participating for a while after their last touch and are
// condensed away densely, so that a flickering contact does not ask for a new order.
#pragma once
#include "solve/linear.h"

typedef struct tdSchur tdSchur;

typedef enum tdSchurWay
{
    TD_SCHUR_AUTO,
    TD_SCHUR_LAST,
    TD_SCHUR_STANDING
} tdSchurWay;

typedef struct tdSchurSettings
{
    tdSchurWay way;
    int patience; ///< steps a node stays in the order after its last touch
} tdSchurSettings;

tdSchurSettings td_default_schur(void);

typedef struct tdSchurReport
{
    tdSchurWay way;        ///< the one taken
    bool analysed;         ///< a new symbolic factor was made: memory was allocated
    bool indefinite;       ///< A is not positive definite: nothing was made
    int32_t participating; ///< coordinates of A_hat
    int32_t ordered;       ///< coordinates ordered last (way last)
    double flops;          ///< counted, of this call
} tdSchurReport;

/// The model (pattern, held coordinates, standing symbolic factor) must outlive it.
tdStatus td_schur_create(const tdLinearModel *model, const tdSchurSettings *settings, tdSchur **out, tdError *error);
void td_schur_free(tdSchur *schur);

/// Factors A (values over the model's pattern) for the given nodes (each once, any order). Once a step, or once for
/// each new A.
tdStatus td_schur_factor(tdSchur *schur, const double *values, int32_t n_nodes, const int32_t *nodes,
                         tdSchurReport *report, tdError *error);
/// x = A^-1 b over all coordinates by that factor; held ones become zero. b and x may be the same.
tdStatus td_schur_solve(tdSchur *schur, const double *b, double *x, tdError *error);

/// The condensed body after td_schur_factor; valid until the next one.
typedef struct tdSchurBody
{
    int32_t n;
    const int32_t *coord;  ///< n: coordinate of the body of each row, in the order of `nodes` as given
    const int32_t *column; ///< by coordinate of the body: its row in A_hat, or -1
    const double *A;       ///< n x n, lower triangle, stride n
    const double *L;       ///< its Cholesky factor, lower triangle, stride n
} tdSchurBody;

/// Makes A_hat and its factor (once; again only returns them).
tdStatus td_schur_condense(tdSchur *schur, tdSchurBody *out, tdError *error);
/// dv over all coordinates of the body from dv_p; held ones become zero.
tdStatus td_schur_recover(tdSchur *schur, const double *dv_p, double *dv, tdError *error);
/// W = J A^-1 J' (rows x rows, row-major) for sparse rows over the body's coordinates: row r has entries
/// [start[r], start[r + 1]) of coord and J. Entries of held coordinates are left out.
tdStatus td_schur_dual(tdSchur *schur, int rows, const int64_t *start, const int32_t *coord, const double *J, double *W,
                       tdError *error);
