// SPDX-License-Identifier: Apache-2.0
// A static equilibrium, load step by load step.
#include "constraint/constraint.h"
#include "step/monitor.h"
#include "step/stage.h"

#include <string.h>

// From the last equilibrium to the next in load steps: whole at first, halved when Newton fails, doubled
// when it succeeds.
tdStatus td_step_static(const tdModel *model, tdState *state, double *clock)
{
    double done = 0, next = 1, least = 1.0 / model->scene.settings.min_load_step_inverse;
    size_t bytes = (size_t)model->coords * sizeof(double);
    memcpy(state->start, state->q, bytes);
    memcpy(state->a_start, state->monitor->last, bytes); // no accelerations here
    while (done < 1)
    {
        double share = done + next < 1 - 1e-9 ? done + next : 1;
        td_stage_latch_share(model, state, share);
        tdStatus status = td_step_balance(model, state, clock);
        if (status == TD_OK)
            status = td_stage_integrate(model, state);
        td_stage_charge(state, TD_STAGE_INTEGRATE, clock);
        if (status == TD_OK)
        {
            td_constraint_accept(model, state);
            state->report.work += td_monitor_increment(model, state);
            done = share;
            next *= 2;
            state->report.load_steps++;
            continue;
        }
        td_constraint_reject(model, state);
        state->report.load_cuts++;
        next *= 0.5;
        if (status != TD_ERROR_NUMERIC || next < least)
        {
            memcpy(state->q, state->start, bytes);
            memcpy(state->monitor->last, state->a_start, bytes);
            if (status == TD_CANCELLED)
                return status;
            tdError why = state->report.error;
            return td_fail(&state->report.error, status, "no equilibrium beyond %.1f %% of the load; %s", 100 * done,
                           why.message);
        }
    }
    memcpy(state->load_last, state->load_next, ((size_t)model->n_inputs + 1) * sizeof(double));
    // The next way of an actuator starts where this one ended, whoever drove it here.
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdConstraintState *cs = state->constraint;
        const tdActuator *actuator = &model->actuators[a];
        if (actuator->held)
            state->load_last[actuator->input] =
                actuator->given->drive == TD_DRIVE_EFFORT ? cs->given[a] : cs->displacement[a];
        else if (actuator->given->drive == TD_DRIVE_EFFORT)
            state->load_last[actuator->input] = cs->effort[a];
        else if (cs->role[a] != TD_ROLE_INVERSE)
            state->load_last[actuator->input] = cs->given[a];
        else if (actuator->given->drive == TD_DRIVE_DISPLACEMENT)
            state->load_last[actuator->input] = cs->travel[a] + actuator->compliance * cs->effort[a];
    }
    return TD_OK;
}
