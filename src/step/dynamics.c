// SPDX-License-Identifier: Apache-2.0
// Dynamics of rigid and articulated bodies for the caller, at the present positions and velocities.
#include "core/parts.h"
#include "core/state.h"

#include <assert.h>

static const tdBody *body_of(const tdModel *model, const tdState *state, int body)
{
    assert(state->model == model && body >= 0 && body < model->n_bodies);
    (void)state; // without asserts
    return &model->bodies[body];
}

static void gravity_of(const tdState *state, double g[3])
{
    for (int k = 0; k < 3; k++)
        g[k] = state->weight * td_state_gravity(state)[k];
}

tdStatus td_state_mass_matrix(const tdModel *model, const tdState *state, int body, double *M)
{
    const tdBody *b = body_of(model, state, body);
    if (b->ops->mass_matrix == NULL)
        return TD_ERROR_USAGE;
    b->ops->mass_matrix(b, state, M);
    return TD_OK;
}

static tdStatus inverse(const tdModel *model, const tdState *state, int body, bool still, const double *accelerations,
                        double *efforts)
{
    const tdBody *b = body_of(model, state, body);
    double g[3];
    if (b->ops->inverse == NULL)
        return TD_ERROR_USAGE;
    gravity_of(state, g);
    b->ops->inverse(b, state, still, accelerations, g, efforts);
    return TD_OK;
}

tdStatus td_state_inverse_dynamics(const tdModel *model, const tdState *state, int body, const double *accelerations,
                                   double *efforts)
{
    return inverse(model, state, body, false, accelerations, efforts);
}

tdStatus td_state_bias_forces(const tdModel *model, const tdState *state, int body, double *efforts)
{
    return inverse(model, state, body, false, NULL, efforts);
}

tdStatus td_state_gravity_compensation(const tdModel *model, const tdState *state, int body, double *efforts)
{
    return inverse(model, state, body, true, NULL, efforts);
}

double td_state_joint_effort(const tdModel *model, const tdState *state, int body, int joint)
{
    const tdBody *b = body_of(model, state, body);
    double sum = 0;
    assert(b->parts != NULL && joint >= 0 && joint < b->parts->n_joints);
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdSceneActuator *given = model->actuators[a].given;
        bool of_joint = given->kind == TD_ACTUATOR_JOINT || given->kind == TD_ACTUATOR_SLIDE;
        if (of_joint && given->body == body && given->joint == b->parts->joints[joint].part)
            sum += td_state_actuation(model, state, a).effort;
    }
    return sum;
}
