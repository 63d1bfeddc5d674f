// SPDX-License-Identifier: Apache-2.0
#include "constraint/friction.h"

#include "constraint/bonded.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

// The travel at the end of the step as dv has it.
static double travel_ahead(const tdModel *model, const tdState *state, int a)
{
    const tdConstraintState *cs = state->constraint;
    double *way = state->scratch;
    for (int64_t i = 0; i < model->coords; i++)
        way[i] = model->scheme.c * state->dv[i];
    for (int b = 0; b < model->n_bodies; b++)
        for (int32_t k = 0; k < model->bodies[b].n_held; k++)
        {
            int64_t i = model->bodies[b].first + model->bodies[b].held[k];
            way[i] += state->q_end[i] - state->q_c[i];
        }
    return cs->travel[a] + td_row_dot(model, cs->J, model->actuators[a].row, way);
}

// Y = A^-1 b. Cables between bodies act on both.
static tdStatus answer(const tdModel *model, tdState *state, const double *b, double *Y)
{
    memset(Y, 0, (size_t)model->coords * sizeof *Y);
    for (int i = 0; i < model->n_bodies; i++)
    {
        const tdBody *body = &model->bodies[i];
        TD_TRY(body->ops->apply_inverse(model, body, state, 1, model->coords, b + body->first, Y + body->first));
    }
    if (state->bonded != NULL)
        td_bonded_project(model, state->bonded, model->n_actuators, 1, Y);
    return TD_OK;
}

static tdStatus solve_cable(const tdModel *model, tdState *state, int a)
{
    const tdActuator *actuator = &model->actuators[a];
    tdConstraintState *cs = state->constraint;
    double *b = state->work, *Y = state->saved, now = cs->slide[a];
    memset(b, 0, (size_t)model->coords * sizeof *b);
    td_constraint_slide_force(model, state, a, b);
    TD_TRY(answer(model, state, b, Y));
    double slope = fmin(model->scheme.c * td_row_dot(model, cs->J, actuator->row, Y), 0) / actuator->slip;
    double start = cs->displacement_start[a] - actuator->compliance * cs->effort_start[a];
    double ahead = cs->slide_start[a] + (travel_ahead(model, state, a) - start) / actuator->slip;
    double slide = fmin(fmax((ahead - slope * now) / (1 - slope), -1), 1);
    for (int64_t i = 0; i < model->coords; i++)
    {
        state->dv[i] += (slide - now) * Y[i];
        state->m[i] -= (slide - now) * b[i];
    }
    if (state->bonded != NULL)
        td_bonded_change(state->bonded, model->n_actuators, slide - now);
    cs->slide[a] = slide;
    return TD_OK;
}

tdStatus td_friction_solve(const tdModel *model, tdState *state, bool *slid)
{
    const tdConstraintState *cs = state->constraint;
    *slid = false;
    for (int a = 0; a < model->n_actuators; a++)
        if (model->actuators[a].given->friction > 0 && cs->role[a] == TD_ROLE_EFFORT && cs->effort[a] > 0)
        {
            TD_TRY(solve_cable(model, state, a));
            *slid = true;
        }
    return TD_OK;
}
