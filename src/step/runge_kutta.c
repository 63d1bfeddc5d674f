// SPDX-License-Identifier: Apache-2.0
// Runge-Kutta of order 4, for references: accelerations M^-1 (forces - b) at four places of the step, nothing implicit.
//
//     k1 at the start, k2 and k3 halfway, k4 at the end        mean = (k1 + 2 k2 + 2 k3 + k4) / 6
//
// of rates and accelerations alike. Coordinates of rotations are vectors within a step, whose rates are not the angular
// velocity (tdBodyOps.rates).
#include "constraint/constraint.h"
#include "step/monitor.h"
#include "step/stage.h"

#include <math.h>
#include <string.h>

// Inputs at a time within the step; commands of tools are those of its start.
static void latch(const tdModel *model, tdState *state, double time)
{
    for (int i = 0; i < model->n_inputs; i++)
    {
        bool set = !isnan(state->override[i]);
        for (int a = 0; a < model->n_actuators; a++)
            set = set || (model->actuators[a].input == i && model->actuators[a].tool >= 0);
        if (!set)
            state->input[i] = td_input_value(model, i, time);
    }
    td_constraint_latch(model, state, 1);
}

// Rates of the coordinates at q_e, v_e.
static void rates(const tdModel *model, const tdState *state, double *dq)
{
    memcpy(dq, state->v_e, (size_t)model->coords * sizeof *dq);
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (body->ops->rates != NULL)
            body->ops->rates(body, state->q_e + body->first, state->v_e + body->first, dq + body->first);
    }
}

// Accelerations at q_e, v_e into state->a.
static tdStatus accelerations(const tdModel *model, tdState *state, double *clock)
{
    memset(state->inertia, 0, (size_t)model->coords * sizeof(double));
    td_stage_kinematics(model, state);
    td_stage_charge(state, TD_STAGE_KINEMATICS, clock);
    TD_TRY(td_stage_forces(model, state, true, clock));
    for (int b = 0; b < model->n_bodies; b++)
        TD_TRY(model->bodies[b].ops->start_acceleration(model, &model->bodies[b], state));
    td_stage_charge(state, TD_STAGE_FREE, clock);
    return TD_OK;
}

// mean: of the rates of the coordinates.
static tdStatus advance(const tdModel *model, tdState *state, double *mean, double *clock)
{
    static const double share[4] = {0, 0.5, 0.5, 1}, weight[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    int64_t n = model->coords;
    double h = model->scheme.h, *rate = state->dv;
    for (int b = 0; b < model->n_bodies; b++)
    {
        if (model->bodies[b].ops->set_out != NULL)
            model->bodies[b].ops->set_out(model, &model->bodies[b], state);
        model->bodies[b].ops->begin(model, &model->bodies[b], state);
    }
    memcpy(state->v_new, state->v, (size_t)n * sizeof(double));
    memcpy(state->q_e, state->q, (size_t)n * sizeof(double));
    memcpy(state->v_e, state->v, (size_t)n * sizeof(double));
    memset(mean, 0, (size_t)n * sizeof *mean);
    for (int k = 0; k < 4; k++)
    {
        latch(model, state, state->time + share[k] * h);
        rates(model, state, rate);
        TD_TRY(accelerations(model, state, clock));
        if (k == 0 || k == 3) // work is that of the mean of both ends
            td_monitor_outside(model, state);
        for (int64_t i = 0; i < n; i++)
        {
            if (k == 0)
                state->monitor->last[i] = state->monitor->outside[i] / model->scheme.s;
            mean[i] += weight[k] * rate[i];
            state->v_new[i] += h * weight[k] * state->a[i];
            if (k == 3)
                continue;
            state->q_e[i] = state->q[i] + share[k + 1] * h * rate[i];
            state->v_e[i] = state->v[i] + share[k + 1] * h * state->a[i];
        }
    }
    return TD_OK;
}

tdStatus td_step_rk4(const tdModel *model, tdState *state, double *clock)
{
    double *mean = td_scratch_take(state);
    tdStatus status = advance(model, state, mean, clock);
    if (status == TD_OK) // td_scheme_finish advances q by them
        memcpy(state->a, mean, (size_t)model->coords * sizeof *mean);
    td_scratch_give(state, mean);
    return status;
}
