// SPDX-License-Identifier: Apache-2.0
// Attempts at a dynamic step: as the scene says, and by Newton's method where one linearization went wrong.
#include "constraint/constraint.h"
#include "step/monitor.h"
#include "step/stage.h"

#include <string.h>

// Efforts and displacements of actuators as they were when the step began.
void td_step_reject_efforts(const tdModel *model, tdState *state)
{
    tdConstraintState *cs = state->constraint;
    memcpy(cs->effort_good, cs->effort_start, (size_t)model->n_actuators * sizeof(double));
    memcpy(cs->displacement_good, cs->displacement_start, (size_t)model->n_actuators * sizeof(double));
    memcpy(cs->slide, cs->slide_start, (size_t)model->n_actuators * sizeof(double));
    td_constraint_reject(model, state);
}

// Back to where the step began.
static void take_back(const tdModel *model, tdState *state)
{
    size_t bytes = (size_t)model->coords * sizeof(double);
    memcpy(state->q, state->start, bytes);
    memcpy(state->v, state->v_start, bytes);
    memcpy(state->a, state->a_start, bytes);
}

// One attempt at a step: solved, integrated, judged. If it fails, the state is what it was.
static tdStatus attempt(const tdModel *model, tdState *state, bool newton, bool *doubtful, double *clock)
{
    state->newton = newton;
    state->follow = newton && !model->settings.newton;
    *doubtful = false;
    bool rk4 = model->scheme.method == TD_METHOD_RK4;
    tdStatus status = rk4 ? td_step_rk4(model, state, clock) : td_step_balance(model, state, clock);
    if (status == TD_OK)
        status = td_stage_integrate(model, state);
    td_stage_charge(state, TD_STAGE_INTEGRATE, clock);
    if (status == TD_OK)
    {
        state->bad_element = -1;
        state->report.inverted_elements = state->report.extended_elements = 0;
        status = td_monitor_judge(model, state, doubtful);
        td_stage_charge(state, TD_STAGE_FORCES, clock);
        if (state->bad_element >= 0)
            status = td_step_fail_element(model, state);
    }
    if (status != TD_OK)
        take_back(model, state);
    return status;
}

// A step again from its start, with the inputs that it had.
static tdStatus attempt_again(const tdModel *model, tdState *state, bool newton, bool *doubtful, double *clock)
{
    take_back(model, state);
    td_step_reject_efforts(model, state);
    td_stage_latch(model, state);
    state->report.retries++;
    return attempt(model, state, newton, doubtful, clock);
}

// As the scene says. What fails or is doubtful with one linearization is taken again by Newton's method; where that is
// no better, the first attempt counts, with its doubts.
tdStatus td_step_dynamic(const tdModel *model, tdState *state, double *clock)
{
    bool newton = model->settings.newton, doubtful = false, still = false;
    size_t bytes = (size_t)model->coords * sizeof(double);
    memcpy(state->start, state->q, bytes);
    memcpy(state->v_start, state->v, bytes);
    memcpy(state->a_start, state->a, bytes);
    td_monitor_begin(model, state);
    tdStatus status = attempt(model, state, newton, &doubtful, clock);
    bool failed = status == TD_ERROR_NUMERIC, helps = !newton && model->scheme.ce > 0;
    if (!helps || !(failed || (status == TD_OK && doubtful && td_monitor_tries(state))))
        return status;
    tdError why = state->report.error;
    double gain = state->report.energy_gain;
    status = attempt_again(model, state, true, &still, clock);
    td_monitor_tried(state, status == TD_OK);
    if (status == TD_OK && (failed || !still || state->report.energy_gain <= gain))
        return TD_OK;
    if (status != TD_OK && status != TD_ERROR_NUMERIC)
        return status;
    if (failed)
        return td_fail(&state->report.error, TD_ERROR_NUMERIC, "%s (Newton's method, tried next, failed too)",
                       why.message);
    return attempt_again(model, state, false, &doubtful, clock);
}
