// SPDX-License-Identifier: Apache-2.0
// Runs a scene and judges it.
//
// A run is silently wrong when one of these is broken. Energy and penetration may be broken in a run that warns of it,
// or that was warned of when it was loaded (explicit steps of joints with friction, limits or servos):
//
//   finite       all numbers of the state, of the report and of what is told of contacts and actuators
//   energy       kinetic + elastic + potential of gravity <= at the start + work of loads, prescribed motion and
//                actuators + 10 % of (kinetic energy at the start + all work, each step by its size): methods that damp
//                lose energy, none may gain it
//   momentum     of each body that nothing drives or holds: its change in a step is h (m g + contact forces), to 1e-6
//   of
//                the sizes of these terms
//   third law    contact forces of a pair are opposite, to rounding
//   penetration  near-rigid contact: no deeper than 10 % of the size of the smaller body
//   threads      two threads give the same bits as one
//   resume       a run that goes on from a checkpoint in its middle, with three threads, gives the same bits
//   failure      a step that fails says the time and the step, and leaves every bit of the state as it was
//
// Two more are judged from outside (random_scenes.c): a crash, and a hang.
#pragma once
#include "scene.h"

typedef enum verdictKind
{
    VERDICT_FINE,
    VERDICT_STOPPED, ///< a step failed, with a reason and a good state
    VERDICT_WARNED,  ///< something is wrong, and the run said so
    VERDICT_REFUSED, ///< the scene, with a reason
    VERDICT_FINITE,  ///< from here on: silently wrong
    VERDICT_ENERGY,
    VERDICT_MOMENTUM,
    VERDICT_THIRD_LAW,
    VERDICT_PENETRATION,
    VERDICT_THREADS,
    VERDICT_RESUME,
    VERDICT_FAILURE,
    VERDICT_CRASH,
    VERDICT_HANG,
    VERDICTS
} verdictKind;

typedef struct runVerdict
{
    verdictKind kind;
    int step;         ///< at which it was seen
    double energy;    ///< largest gain of energy beyond the work, in shares of the scale of the rule
    double depth;     ///< deepest near-rigid contact, in sizes of the smaller body
    double momentum;  ///< largest error of momentum, in shares of the sizes of its terms
    char reason[512]; ///< one line
} runVerdict;

/// Short name, e.g. "energy".
const char *verdict_name(verdictKind kind);
static inline bool verdict_is_wrong(verdictKind kind)
{
    return kind >= VERDICT_FINITE;
}

/// Runs the scene in this process; `folder` is for its files and a checkpoint.
void scene_judge(const randomScene *scene, const char *folder, runVerdict *verdict);
