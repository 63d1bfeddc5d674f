// SPDX-License-Identifier: Apache-2.0
// Condensation of a full-order body to the coordinates that constraints touch (S5 VI-A, VI-B).
//
//     [A_nn A_np] [dv_n]   [   0     ]         A_hat = A_pp - A_pn A_nn^-1 A_np = L_pp L_pp'
//     [A_pn A_pp] [dv_p] = [J_p' gamma]        dv_n  = -A_nn^-1 A_np dv_p
//
// Two ways, both by one Cholesky factor that gives the free motion too:
//   last    participating nodes stand last in the order; A_hat is read off the factor. Nodes that do not stand there
//           need a new symbolic factor: the standing order with these moved to its end, which keeps its little fill.
//   path    the order stays; (A^-1)_pp = Z'Z from triangular solves Z = L^-1 E that visit only the paths from
//           touched nodes to the root of the elimination tree; A_hat is its inverse. A new set of nodes costs nothing.
// A step of the second costs more arithmetic than one of the first. When what has been spent so would have paid for a
// new symbolic factor, it is made: by counts of operations, never by the clock. Nodes stay in the order for some steps
// after their last touch and are condensed away densely, so that a contact that flickers does not ask for a new order.
#pragma once
#include "solve/linear.h"

typedef struct tdSchur tdSchur;

typedef enum tdSchurWay
{
    TD_SCHUR_AUTO,
    TD_SCHUR_LAST, ///< a new order whenever it is needed
    TD_SCHUR_PATH  ///< the standing order always
} tdSchurWay;

typedef struct tdSchurSettings
{
    tdSchurWay way;
    int patience; ///< steps that a node stays in the order after its last touch
} tdSchurSettings;

tdSchurSettings td_default_schur(void);

typedef struct tdSchurReport
{
    tdSchurWay way;        ///< the one taken
    bool analysed;         ///< a new symbolic factor was made: memory was allocated
    bool indefinite;       ///< A is not positive definite: nothing was made
    int32_t participating; ///< coordinates of A_hat
    int32_t ordered;       ///< coordinates that stand last
    double factor_flops;   ///< of the factorization
    double condense_flops; ///< of td_schur_condense, estimated
} tdSchurReport;

/// The model (pattern, held coordinates, standing symbolic factor) must outlive it.
tdStatus td_schur_create(const tdLinearModel *model, const tdSchurSettings *settings, tdSchur **out, tdError *error);
void td_schur_free(tdSchur *schur);

/// Factors A (values over the model's pattern) for the given nodes (each once, any order). Once a step, or once for
/// each new A.
tdStatus td_schur_factor(tdSchur *schur, tdTasks *tasks, const double *values, int32_t n_nodes, const int32_t *nodes,
                         tdSchurReport *report, tdError *error);
/// The same factor for more nodes: those given include all that it was made for. Nothing to do where they are the same.
tdStatus td_schur_extend(tdSchur *schur, int32_t n_nodes, const int32_t *nodes, tdError *error);
/// X = A^-1 B over all coordinates by that factor for n columns, `stride` apart; held ones become zero. B and X may be
/// the same.
tdStatus td_schur_solve(tdSchur *schur, tdTasks *tasks, int n, int64_t stride, const double *b, double *x,
                        tdError *error);
/// x = A^-1 b, and `more` columns that go with it at hardly more cost; NULL: none.
tdStatus td_schur_solve_with(tdSchur *schur, tdTasks *tasks, const double *b, double *x, tdLinearMore *more,
                             tdError *error);

/// The condensed body after td_schur_factor; valid until the next one.
typedef struct tdSchurBody
{
    int32_t n;
    const int32_t *coord;  ///< n: coordinate of the body of each row, in an order of the factor's own
    const int32_t *column; ///< by coordinate of the body: its row in A, or -1
    const double *A;       ///< n x n: A_hat, lower triangle by columns, stride n
    const double *L;       ///< its Cholesky factor, the same; NULL where it was not asked for
} tdSchurBody;

/// Makes A_hat, and its factor where asked for, once; again only returns them.
tdStatus td_schur_condense(tdSchur *schur, bool factor, tdSchurBody *out, tdError *error);
/// dv over all coordinates of the body from dv_p, in the order of the condensed body; held ones become zero. Equals
/// A^-1 of the force A_hat dv_p.
tdStatus td_schur_recover(tdSchur *schur, tdTasks *tasks, const double *dv_p, double *dv, tdError *error);
/// W += J A^-1 J' (rows x rows, row-major) for sparse rows over participating coordinates of the body: row r has
/// entries [start[r], start[r + 1]) of coord and J. Entries of held coordinates are left out.
tdStatus td_schur_dual(tdSchur *schur, int rows, const int64_t *start, const int32_t *coord, const double *J, double *W,
                       tdError *error);

/// What decides about orders, for a checkpoint: `nodes` numbers of each, and one of `spent`.
typedef struct tdSchurKept
{
    int32_t nodes;
    int32_t *ordered; ///< by node: it stands last
    int32_t *left;    ///< by node: steps that it stays so
    double *spent;    ///< operations on paths since the last order
} tdSchurKept;
tdSchurKept td_schur_kept(tdSchur *schur);
/// After a checkpoint was read: makes the order again.
tdStatus td_schur_restore(tdSchur *schur, tdError *error);
