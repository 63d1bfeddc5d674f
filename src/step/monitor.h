// SPDX-License-Identifier: Apache-2.0
// Whether a step is to be believed, before it is accepted (docs/theory/energy.md).
//
// Of each body the step knows the work that everything from outside does on it (loads, weight, actuators, supports,
// contact), because that is what stands in its momentum balance beside inertia and internal forces. So
//
//     gain = (T + U)' - (T + U) - work          <= 0 in nature: damping takes, nothing gives
//
// is what the discretization itself adds. It costs no evaluation of its own: elastic energy comes with the forces, and
// those at the end of a step are the ones that the next step starts from (tdBodyOps.arrive).
#pragma once
#include "core/state.h"

struct tdLaw;

enum
{
    TD_MONITOR_KINETIC,                         // [J] at the end of the last step
    TD_MONITOR_ELASTIC,                         //
    TD_MONITOR_GAIN,                            // [J] come from nothing since damping last took all of it back
    TD_MONITOR_MOST,                            // [J] the most energy that it came by honestly
    TD_MONITOR_INVERTED,                        // steps in a row with elements inside out
    TD_MONITOR_TURNING,                         // [kg m^2/s] angular momentum, 3 numbers; NAN: not known
    TD_MONITOR_SLOWED = TD_MONITOR_TURNING + 3, // share of its spin that was lost to nothing
    TD_MONITOR_NUMBERS
};

typedef struct tdMonitor
{
    double *kept, *next; ///< TD_MONITOR_NUMBERS a body: after the last step, and after the one that is judged
    int64_t known;       ///< kept is filled
    int64_t waiting;     ///< steps until one that is doubtful is attempted again, since the last time was in vain,
    int64_t wait;        ///< and how many it was told to wait then
    int64_t before[2];   ///< both when the step began
    double ejected;      ///< [J] that near-rigid contact gave and did not take back
    double *outside;     ///< over coordinates: s times the forces from outside in this step,
    double *last;        ///< and [N] at the end of the one before (Newmark, static)
    double *change;      ///< by body that relaxes: [J] of its elastic energy in this step, by its potential; else NAN
    unsigned *doubts;    ///< by body: of this step,
    unsigned *told;      ///< and those that the log has been told of
    bool off; ///< nothing is judged: for measuring what that takes (tendril bench reduced), and for nothing else
    int slow; ///< steps in a row whose linear solver was slower than need be
} tdMonitor;

tdStatus td_monitor_create(const tdModel *model, tdState *state, tdError *error);
/// Bodies were placed or changed by the caller: balances start anew.
void td_monitor_forget(const tdModel *model, tdState *state);
/// Start of a step: what is known of where it begins.
void td_monitor_begin(const tdModel *model, tdState *state);
/// Newmark's first step: forces from outside at its start, from own and m.
void td_monitor_start(const tdModel *model, tdState *state);
/// Of the step that was solved: forces from outside, before tdBodyOps.balance; then those of supports, after it.
void td_monitor_outside(const tdModel *model, tdState *state);
void td_monitor_supports(const tdModel *model, tdState *state);
/// Static: the work of an increment of the load that was found, by the mean of the forces at its two ends.
double td_monitor_increment(const tdModel *model, tdState *state);
/// After integration: fills the report. What is no physics is refused (TD_ERROR_NUMERIC, with the reason); whether the
/// rest is worth another attempt is in *doubtful. reads  q, v, start      writes  report, next
tdStatus td_monitor_judge(const tdModel *model, tdState *state, bool *doubtful);
/// Whether a doubtful step is to be attempted again; and how that went: after one that failed the next ones wait.
bool td_monitor_tries(tdState *state);
void td_monitor_tried(tdState *state, bool good);
/// The step has failed: what is known is what was known before.
void td_monitor_reject(tdState *state);
/// The step is accepted; the log hears of new doubts.
void td_monitor_commit(const tdModel *model, tdState *state);
/// An equilibrium was found: there is no balance of energy to judge, but laws have their ranges.
void td_monitor_static(const tdModel *model, tdState *state);
int td_monitor_arrays(const tdModel *model, tdState *state, tdStateArray *out, int most);

/// Why a pair of law and integrator can add energy, in a sentence with the way out; NULL: it cannot.
const char *td_monitor_caveat(const tdScheme *scheme, bool newton, const struct tdLaw *law);
