// SPDX-License-Identifier: Apache-2.0
// Inverse control beside constraints: unknowns y of actuators, and the convex problem that answers to them.
//
//     v*(y) = v*(y0) + X (y - y0)           motion without constraints, over the blocks
//     A (v - v*(y)) = J' gamma              solved at each y (sap.h)
//     z(y) = z*(y) + Q' J' gamma            what is read of the bodies: errors of effectors, displacements of actuators
//     dgamma/dy by the Hessian at the solution (td_sap_slope)
//
// The motion is a continuous function of y, smooth as long as contacts stick, slide and are open as they are. Where one
// of them switches, slopes jump. So y moves by steps in a region of trust: slopes at y, a step that the owner chooses
// by them within that region (a quadratic program, inverse.h), the convex problem at its end, and what it says decides
// whether the step is taken and how far the next may go.
//
// With `exact` contact is that of Signorini and Coulomb (exact.h), and the search goes from piece to piece of the
// motion (qpcc.c): a quadratic program with complementarity constraints.
//
// It knows blocks and rows, not bodies, effectors or contacts.
#pragma once
#include "base/status.h"
#include "base/task.h"

struct tdProblem;
struct tdSapSide;

/// What a y is worth.
typedef struct tdSteerPlace
{
    double error;     ///< weighted distance from the targets
    double violation; ///< of limits, relative to their sizes
} tdSteerPlace;

/// A step by slopes.
typedef struct tdSteerStep
{
    double error;    ///< what slopes say of the error at its end
    double gain;     ///< root of what the square of the error falls by, without what constraints give way by
    double length;   ///< in the measure of the region of trust; 0: there is no better y
    int ways;        ///< 0: constraints stay as they are; else they switch on the way, and there are so many such steps
    bool infeasible; ///< limits contradict each other
} tdSteerStep;

/// Whether a gain is worth a step of its own.
bool td_steer_is_little(double gain, double error, double tolerance);
/// Whether slopes themselves say that a step will not bring enough of its gain, because what it presses on gives way.
bool td_steer_is_vain(const tdSteerStep *step, double error);

typedef enum tdSteerEnd
{
    TD_STEER_OPTIMAL,    ///< error within the tolerance
    TD_STEER_STATIONARY, ///< no step by slopes makes it less
    TD_STEER_STALLED,    ///< steps became too short, or too many
    TD_STEER_INFEASIBLE  ///< limits contradict each other; they are broken as little as can be
} tdSteerEnd;

/// Arrays belong to the owner and lie still until the problem is solved.
typedef struct tdSteer
{
    int n;                  ///< unknowns; 0: there is no steering
    int n_z;                ///< what is read
    const double *const *X; ///< by block: n columns; NULL: y leaves it alone
    const double *const *Q; ///< by block: n_z columns; NULL: nothing is read of it
    double *y;              ///< on entry where v_star of the blocks holds, then the solution
    double tolerance;       ///< of the error
    int most;               ///< steps in a region of trust; 0: y stays
    void *context;
    /// Laws as they are before the problem is solved for the first time. NULL: they never change.
    void (*restart)(void *context);
    /// reads  y, push, gamma of the problem
    tdSteerPlace (*measure)(void *context);
    /// reads  the same and slopes      writes  next, within `reach`; across switches within `leap`
    tdSteerStep (*propose)(void *context, double reach, double leap, double *next);
    bool exact;         ///< laws of contact as they are, by pieces
    int pivots;         ///< exact: hard bound on places that are tried; 0: a default
    int starts;         ///< exact: other places to start from when the first search has ended; < 0: a default
    const double *warm; ///< exact: impulses to start from, TD_SAP_ROWS a constraint; NULL: none. What is read of
                        ///< contacts that stay far from bearing is zero then, and they cost nothing
    /// exact, NULL without: the best y within `reach` and within the rows `kept`, by slopes of one piece; its gain
    /// is that over `place`. slack: efforts may press less.
    tdSteerStep (*choose)(void *context, double reach, bool slack, double *next);
    bool gain_only;     ///< exact: of the next choice only the gain counts, not which of the best y it is
    bool or_nothing;    ///< exact: and nothing of it where rows contradict each other
    signed char *guess; ///< exact: n + TD_STEER_KEPT, working set (qp.h) that the choice begins with, and ended with
    int n_kept;         ///< rows kept y >= kept_low, TD_STEER_KEPT at most
    double *kept, *kept_low; ///< n each
    // what the owner reads
    int64_t n_rows;        ///< TD_SAP_ROWS a constraint
    double *W;             ///< n_z x n_rows: Q' J'
    double *push;          ///< n_z: W gamma
    double *dpush;         ///< n_z x n
    double *dgamma, *dv_c; ///< TD_SAP_ROWS a constraint x n
    int failed;            ///< steps across switches that failed, since the last good one
    double *change;        ///< by row: NAN, or the change of its impulse that td_steer_release takes as given
    double *released;      ///< n_z x (n + 1): slopes of what is read then, and by how much it changes
    tdTasks *tasks;
    // results
    tdSteerPlace place;
    tdSteerEnd end;
    int steps, solutions; ///< steps that were tried; problems of contact solved
    int pieces;           ///< exact: pieces whose slopes were made
    int32_t blocking;     ///< exact: the constraint that blocks most where it ended; -1: none
} tdSteer;

#define TD_STEER_KEPT 32

/// For the owner, when it proposes a step: `released`, at y, for the changes in `change`. False: it has none.
bool td_steer_release(struct tdProblem *problem);

struct tdSolveResult;
/// y of the problem's steering, and the solution of the convex problem there.
tdStatus td_steer_solve(struct tdProblem *problem, double tolerance, tdTasks *tasks, struct tdSolveResult *result,
                        tdError *error);

// ---------------------------------------------------------------- for those who search

/// Arrays that the owner reads.
bool td_steer_room(struct tdProblem *problem, tdTasks *tasks);
/// W, of those constraints alone; NULL: of all. False: no memory.
bool td_steer_readings(struct tdProblem *problem, const bool *only);
/// push = W gamma
void td_steer_read(struct tdProblem *problem);
/// sum += J x of one row over a block; x has n numbers side by side for each velocity.
void td_steer_along(const struct tdSapSide *side, int row, const double *x, int n, double *sum);
/// out = W dgamma, n columns
void td_steer_read_slopes(const tdSteer *steer, int n, const double *dgamma, double *out);
/// v_star of the blocks for y; at y0 it is v0, the blocks one after the other.
void td_steer_set(struct tdProblem *problem, const double *y0, const double *v0, const double *y);
/// Whether what came of a step is good, and what share of the promise that was.
bool td_steer_is_better(const tdSteerPlace *was, const tdSteerStep *step, const tdSteerPlace *is, double tolerance,
                        double *share);
/// The same as td_steer_solve with the exact laws.
tdStatus td_qpcc_solve(struct tdProblem *problem, double tolerance, tdTasks *tasks, struct tdSolveResult *result,
                       tdError *error);
