// SPDX-License-Identifier: Apache-2.0
// The seam of the engine. Whatever a body is made of, a step sees it through these few calls; they leave
// behind the same small problem
//
//     A (v - v*) = J' lambda
//
// with A = dm/dv, v* the motion without constraints, and J the rows of all constraints. A new kind of
// body implements tdBodyOps and gets contact, actuation, control and haptics; a new constraint adds rows
// and works on every kind of body.
#pragma once
#include "base/status.h"

typedef struct tdBodyOps tdBodyOps;
typedef struct tdBodyState tdBodyState;

/// A body in the model. Its coordinates are [first, first + count) of the state's vectors.
typedef struct tdBody
{
    const tdBodyOps *ops;
    const char *name;
    int index;
    int64_t first, count; ///< coordinates
    int64_t unknowns;     ///< coordinates that are neither fixed nor prescribed
    int64_t nodes, elements;
    void *data; ///< of its kind, e.g. tdSoft
} tdBody;

struct tdBodyOps
{
    const char *kind;
    void (*free_model)(tdBody *body);

    tdStatus (*state_create)(const tdModel *model, const tdBody *body, tdState *state, tdError *error);
    void (*state_free)(const tdBody *body, tdState *state);

    /// Start of a step or of a static increment: what is kept constant during it (lagged rotations).
    void (*begin)(const tdModel *model, const tdBody *body, tdState *state);
    /// reads state->q_e      writes the body's deformation gradients, rotations, frames
    void (*kinematics)(const tdModel *model, const tdBody *body, tdState *state);
    /// reads kinematics, state->v_e, inertia, inputs      writes state->m, force, and A when `tangent`
    tdStatus (*forces)(const tdModel *model, const tdBody *body, tdState *state, bool tangent);
    /// reads state->m, A      writes state->dv = -A^-1 (m + A dv_held), the way to the free motion v*
    tdStatus (*free_motion)(const tdModel *model, const tdBody *body, tdState *state);
    /// x = A^-1 b over the body's coordinates, for the condensed problem W = J A^-1 J'
    tdStatus (*apply_inverse)(const tdModel *model, const tdBody *body, tdState *state, const double *b, double *x);
    /// End of the step: reactions.
    void (*publish)(const tdModel *model, const tdBody *body, tdState *state);
    /// After a checkpoint was read: rebuilds what is derived (kept factors).
    tdStatus (*restore)(const tdModel *model, const tdBody *body, tdState *state, tdError *error);
    /// Kinetic and elastic energy [J] of the present q and v.
    void (*energy)(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic);
};
