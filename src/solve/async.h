// SPDX-License-Identifier: Apache-2.0
// A factor that a thread of its own keeps up with a body while its steps go on (S3 IV-A).
//
//     A ~ P = Q L L' Q'        L: of the newest matrix whose factorization is done; Q: rotations of the nodes since
//     then
//
// The thread factors one matrix after the other. Each goes over when it is done, by three slots (base/exchange.h): a
// step takes the newest there is and never waits. P preconditions conjugate gradients on the present A, and gives the
// compliance of the touched nodes and what forces at them do:
//
//     (P^-1)_pp = Q_p (Z'Z) Q_p',   Z = L^-1 E        A_hat = ((P^-1)_pp)^-1        dv = P^-1 E A_hat dv_p
//
// What the clock decides does not come out the same twice. With a lag of n steps a factor is used n steps after its
// matrix was there, whatever the thread does meanwhile; where it is not done by then, the step waits. At rest: the
// first factor for good, which does not turn.
#pragma once
#include "solve/linear.h"
#include "solve/schur.h"

typedef struct tdAsync tdAsync;

typedef struct tdAsyncSettings
{
    bool rest; ///< the first factor for good
    int lag;   ///< steps; 0: as soon as it is done
} tdAsyncSettings;

/// The model must outlive it.
tdStatus td_async_create(const tdLinearModel *model, const tdAsyncSettings *settings, tdAsync **out, tdError *error);
void td_async_free(tdAsync *async); ///< ends its thread

/// At the start of a step, by its number: takes the newest factor, or the one that is due.
void td_async_take(tdAsync *async, int64_t step);
/// Whether there is a factor.
bool td_async_ready(const tdAsync *async);
/// A factor of these values at once: at the start, or where the present one is of no use. False: not positive definite,
/// or cancelled. turns: rotation of each node now (9 numbers, row-major); NULL: nothing turns.
bool td_async_make(tdAsync *async, tdTasks *tasks, int64_t step, const double *values, const double *turns);
/// Whether the thread would take a matrix now.
bool td_async_idle(const tdAsync *async);
/// Gives it one; both are copied.
tdStatus td_async_offer(tdAsync *async, int64_t step, const double *values, const double *turns, tdError *error);
/// Rotations when the factor was made.
const double *td_async_turns(const tdAsync *async);

/// x = P^-1 b over all coordinates; held ones are zero. Q: rotation of each node since the factor was made; NULL: none.
/// b and x may be the same.
void td_async_apply(tdAsync *async, tdTasks *tasks, const double *Q, const double *b, double *x);
/// A_hat of nodes (each once), by P; see td_schur_condense. Valid until the next one.
tdStatus td_async_condense(tdAsync *async, const double *Q, int32_t n_nodes, const int32_t *nodes, tdSchurBody *out,
                           tdError *error);
/// dv over all coordinates from dv_p, in the order of the condensed body.
void td_async_recover(tdAsync *async, tdTasks *tasks, const double *Q, const double *dv_p, double *dv);
/// The impulses that did so last, A_hat dv_p: over all coordinates, zero where nothing touched. Part of a checkpoint.
double *td_async_push(tdAsync *async);

/// What a checkpoint keeps: the matrices of the present factor and of the one that is being made. Waits until the
/// thread is idle. After they were filled: td_async_restore().
typedef struct tdAsyncKept
{
    int64_t *steps; ///< two: of the present one and of the next; -1: there is none
    double *values[2], *turns[2];
    int64_t n_values, n_turns;
} tdAsyncKept;
tdAsyncKept td_async_kept(tdAsync *async);
tdStatus td_async_restore(tdAsync *async, tdTasks *tasks, tdError *error);
/// As at the start.
void td_async_forget(tdAsync *async);

typedef struct tdAsyncReport
{
    int64_t step;    ///< of the present factor
    int64_t made;    ///< factors by the thread
    int64_t refused; ///< matrices that were not positive definite
    double seconds;  ///< of the processor that the present one took, where the thread made it
} tdAsyncReport;
tdAsyncReport td_async_report(const tdAsync *async);
