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
typedef struct tdStateArray tdStateArray;

/// A body in the model. Its coordinates are [first, first + count) of the state's vectors.
typedef struct tdBody
{
    const tdBodyOps *ops;
    const char *name;
    int index;
    int64_t first, count; ///< coordinates
    int64_t unknowns;     ///< coordinates that are neither fixed nor prescribed
    int64_t nodes, elements;
    int32_t n_held;
    const int32_t *held; ///< held coordinates, counted from `first`
    void *data;          ///< of its kind, e.g. tdSoft
} tdBody;

struct tdBodyOps
{
    const char *kind;
    void (*free_model)(tdBody *body);

    tdStatus (*state_create)(const tdModel *model, const tdBody *body, tdState *state, tdError *error);
    void (*state_free)(const tdBody *body, tdState *state);

    /// Places held coordinates for the end of the step: target positions into state->q_end (held only).
    void (*place)(const tdModel *model, const tdBody *body, tdState *state);
    /// Start of a step or of a static increment: what is kept constant during it (lagged rotations).
    void (*begin)(const tdModel *model, const tdBody *body, tdState *state);
    /// reads state->q_e      writes the body's deformation gradients, rotations, frames
    void (*kinematics)(const tdModel *model, const tdBody *body, tdState *state);
    /// reads kinematics, state->v_e, inertia, inputs      writes state->m, force, and A when `tangent`
    tdStatus (*forces)(const tdModel *model, const tdBody *body, tdState *state, bool tangent);
    /// reads state->m, A      writes state->dv = -A^-1 (m + A dv_held), the way to the free motion v*
    tdStatus (*free_motion)(const tdModel *model, const tdBody *body, tdState *state);
    /// Newmark's first step: state->a = M^-1 (external - internal forces) from state->m at q0, v0.
    tdStatus (*start_acceleration)(const tdModel *model, const tdBody *body, tdState *state);
    /// x = A^-1 b over the body's coordinates, for the condensed problem W = J A^-1 J'
    tdStatus (*apply_inverse)(const tdModel *model, const tdBody *body, tdState *state, const double *b, double *x);
    /// Before integration: state->m of the solved system on all coordinates, m + A dv + s K held (one
    /// linearization a step; Newton has m itself). What is left on held coordinates is s times the reaction.
    void (*balance)(const tdModel *model, const tdBody *body, tdState *state);
    /// After a step was accepted: what the material remembers of it. Reads state->q.
    void (*commit)(const tdModel *model, const tdBody *body, tdState *state);
    /// Names an element for a message: "element 12 of body 'arm' (a tetrahedron)".
    void (*describe)(const tdBody *body, int64_t element, char *out, size_t size);
    /// Lists what a checkpoint must keep of the body (see td_state_arrays).
    int (*arrays)(const tdModel *model, const tdBody *body, tdState *state, tdStateArray *out, int most);
    /// After a checkpoint was read: rebuilds what is derived (kept factors).
    tdStatus (*restore)(const tdModel *model, const tdBody *body, tdState *state, tdError *error);
    /// Kinetic and elastic energy [J] of the present q and v.
    void (*energy)(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic);
};
