// SPDX-License-Identifier: Apache-2.0
// A static equilibrium, load step by load step.
#include "constraint/constraint.h"
#include "contact/contact.h"
#include "step/monitor.h"
#include "step/stage.h"

#include <string.h>

#define LOOKS 8 // for contacts on the way of one increment

// Contacts are looked for where an increment begins. Where it came to another one that was not seen from there, it
// begins again, and the search follows the way that it took.
static tdStatus look_again(const tdModel *model, tdState *state, int *looks, bool *again)
{
    const double *start = state->v_start;
    TD_TRY(td_contact_overlooks(model, state, again));
    *again = *again && (*looks)++ < LOOKS;
    if (!*again)
        *looks = 0;
    for (int64_t i = 0; i < model->coords; i++)
        state->v[i] = *again ? (state->q[i] - start[i]) / model->scheme.h : 0;
    if (*again)
        memcpy(state->q, start, (size_t)model->coords * sizeof(double));
    return TD_OK;
}

// From the last equilibrium to the next in load steps: whole at first, halved when Newton fails, doubled
// when it succeeds.
tdStatus td_step_static(const tdModel *model, tdState *state, double *clock)
{
    int looks = 0;
    double done = 0, next = 1, least = 1.0 / model->settings.min_load_step_inverse;
    size_t bytes = (size_t)model->coords * sizeof(double);
    memcpy(state->start, state->q, bytes);
    memcpy(state->a_start, state->monitor->last, bytes); // no accelerations here
    while (done < 1)
    {
        double share = done + next < 1 - 1e-9 ? done + next : 1;
        bool again = false;
        memcpy(state->v_start, state->q, bytes); // where the increment begins
        td_stage_latch_share(model, state, share);
        tdStatus status = td_step_balance(model, state, clock);
        if (status == TD_OK)
            status = td_stage_integrate(model, state);
        if (status == TD_OK)
            status = look_again(model, state, &looks, &again);
        td_stage_charge(state, TD_STAGE_INTEGRATE, clock);
        if (status == TD_OK && again)
        {
            td_constraint_reject(model, state);
            continue;
        }
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
        memset(state->v, 0, bytes);
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
