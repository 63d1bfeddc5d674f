// SPDX-License-Identifier: Apache-2.0
// One step, top to bottom.
//
//     latch       inputs from the scene's motion and the caller              -> input
//     kinematics  deformation gradients, rotations                           -> F, R
//     forces      internal, external, damping, inertia; tangent              -> m, A
//     constrain   rows of all constraints, at the efforts known so far       -> J, m, A
//     free        motion without a change of efforts                         -> dv to v*
//     solve       the condensed problem                                      -> efforts, dv
//     integrate   advance positions and velocities, judge what came of it    -> q, v, energies
//     publish     reactions, report                                          -> output
//
// Rows come before the free motion because their stiffness (a cable that turns, a pressure on a moving surface) is
// part of A. The stages free and solve are in solve.c. Kinematics to solve repeat within a step when Newton iterates
// (newton.c). A step is judged before it is accepted (monitor.h): one linearization that went wrong is taken again by
// Newton's method (attempt.c), a static load that is too much is brought on in parts (load_step.c), and a step that
// fails leaves the state as it was.
#include "base/timer.h"
#include "constraint/condense.h"
#include "constraint/friction.h"
#include "constraint/tool.h"
#include "contact/contact.h"
#include "step/monitor.h"
#include "step/sensor.h"
#include "step/stage.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// Charges the time since *clock to a stage.
void td_stage_charge(tdState *state, tdStage stage, double *clock)
{
    double now = td_seconds();
    state->report.stage_seconds[stage] += now - *clock;
    *clock = now;
}

// ---------------------------------------------------------------- latch

// reads  time, scene's motion, override      writes  input, input_end, gravity
void td_stage_latch(const tdModel *model, tdState *state)
{
    double load_time = state->time + model->scheme.load_time, end = state->time + model->scheme.h;
    const double *offset = td_state_offsets(model, state);
    for (int i = 0; i < model->n_inputs; i++)
    {
        bool set = !isnan(state->override[i]);
        state->input[i] = (set ? state->override[i] : td_input_value(model, i, load_time)) + offset[i];
        state->input_end[i] = (set ? state->override[i] : td_input_value(model, i, end)) + offset[i];
        state->load_next[i] = state->input_end[i];
    }
    state->gravity = state->weight;
    state->load_next[model->n_inputs] = state->weight;
    td_tools_latch(model, state);
    td_constraint_start(model, state);
    td_constraint_latch(model, state, 1);
}

// Static: the share of the way from the last equilibrium's loads to the next one's.
void td_stage_latch_share(const tdModel *model, tdState *state, double share)
{
    const double *last = state->load_last, *next = state->load_next;
    for (int i = 0; i <= model->n_inputs; i++)
    {
        double value = last[i] + share * (next[i] - last[i]);
        if (i == model->n_inputs)
            state->gravity = value;
        else
            state->input[i] = state->input_end[i] = value;
    }
    td_constraint_latch(model, state, share);
}

// ---------------------------------------------------------------- kinematics, forces, constrain

void td_stage_kinematics(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
        model->bodies[b].ops->kinematics(model, &model->bodies[b], state);
}

tdStatus td_stage_forces(const tdModel *model, tdState *state, bool tangent, double *clock)
{
    state->scale = 0;
    state->bad_element = -1;
    state->report.inverted_elements = state->report.extended_elements = 0;
    for (int b = 0; b < model->n_bodies; b++)
        TD_TRY(model->bodies[b].ops->forces(model, &model->bodies[b], state, tangent));
    td_stage_charge(state, TD_STAGE_FORCES, clock);
    td_constrain(model, state, tangent);
    // A new linearization finds the motion without contact first.
    if (tangent)
        td_contact_expect(model, state, state->m);
    else
        td_contact_push(model, state, state->m);
    td_stage_charge(state, TD_STAGE_CONSTRAIN, clock);
    return TD_OK;
}

// ---------------------------------------------------------------- integrate, publish

// Held coordinates, see evaluation_point: Newmark ends with the acceleration it began with if that is the
// mean of the step.
static void mean_acceleration(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
        for (int32_t k = 0; k < model->bodies[b].n_held; k++)
        {
            int64_t i = model->bodies[b].first + model->bodies[b].held[k];
            state->a[i] = (state->v_new[i] - state->v[i]) / model->scheme.h;
        }
}

// reads  v_new, q_end      writes  q, v, a. Nothing is written when a number is not finite.
tdStatus td_stage_integrate(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
        for (int64_t i = 0; i < model->bodies[b].count; i++)
            if (!isfinite(state->v_new[model->bodies[b].first + i]))
            {
                bool by_node = model->bodies[b].count == 3 * model->bodies[b].nodes;
                return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                               "%s %lld of body '%s' has a velocity that is not finite at t = %g s (step %lld); %s",
                               by_node ? "node" : "coordinate", (long long)(by_node ? i / 3 : i), model->bodies[b].name,
                               state->time + model->scheme.h, (long long)state->steps + 1, td_step_advice(model));
            }
    if (model->scheme.method == TD_METHOD_NEWMARK)
        mean_acceleration(model, state);
    td_scheme_finish(&model->scheme, model->coords, state->q, state->v, state->a, state->v_new);
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int32_t k = 0; k < body->n_held; k++)
            state->q[body->first + body->held[k]] = state->q_end[body->first + body->held[k]];
    }
    return TD_OK;
}

// reads  m, q      writes  reaction, what materials remember
static void publish(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int32_t k = 0; k < body->n_held; k++)
        {
            int64_t i = body->first + body->held[k];
            state->reaction[i] = state->m[i] / model->scheme.s;
        }
        if (body->ops->judge != NULL)
            body->ops->judge(model, body, state);
        body->ops->commit(model, body, state);
    }
    td_constraint_commit(model, state);
    td_tools_commit(model, state);
    td_contact_commit(model, state);
    td_condense_report(model, state);
    state->steps++;
    // A product rather than a sum, so that time does not drift.
    state->time = (double)state->steps * model->scheme.h;
    if (model->scheme.method != TD_METHOD_STATIC)
        td_monitor_commit(model, state);
    else
        td_monitor_static(model, state);
    td_sensors_read(model, state);
}

// ---------------------------------------------------------------- the step

// Newmark needs the acceleration that the first loads cause.
tdStatus td_step_start(const tdModel *model, tdState *state)
{
    memcpy(state->q_e, state->q, (size_t)model->coords * sizeof(double));
    memcpy(state->v_e, state->v, (size_t)model->coords * sizeof(double));
    memset(state->inertia, 0, (size_t)model->coords * sizeof(double));
    for (int i = 0; i < model->n_inputs; i++)
        if (isnan(state->override[i]))
            state->input[i] = td_input_value(model, i, state->time) + td_state_offsets(model, state)[i];
    td_constraint_latch(model, state, 1);
    for (int b = 0; b < model->n_bodies; b++)
        model->bodies[b].ops->begin(model, &model->bodies[b], state);
    td_stage_kinematics(model, state);
    double clock = td_seconds();
    TD_TRY(td_stage_forces(model, state, true, &clock));
    td_monitor_start(model, state);
    for (int b = 0; b < model->n_bodies; b++)
        TD_TRY(model->bodies[b].ops->start_acceleration(model, &model->bodies[b], state));
    return TD_OK;
}

tdStatus td_step(const tdModel *model, tdState *state)
{
    assert(state->model == model);
    double clock = td_seconds();
    state->report = (tdReport){0};
    state->newton = model->settings.newton;
    state->follow = false;
    td_tasks_ask(state->tasks, &state->settings);
    td_sensors_start(model, state);
    td_stage_latch(model, state);
    tdStatus status = TD_OK;
    if (model->scheme.method == TD_METHOD_NEWMARK && state->steps == 0)
    {
        status = td_step_start(model, state);
        td_step_reject_efforts(model, state); // what it measured on its way
        td_stage_latch(model, state);
    }
    td_stage_charge(state, TD_STAGE_LATCH, &clock);
    if (status == TD_OK)
        status = model->scheme.method == TD_METHOD_STATIC ? td_step_static(model, state, &clock)
                                                          : td_step_dynamic(model, state, &clock);
    td_tasks_ask(state->tasks, NULL);
    state->report.status = status;
    if (status != TD_OK && state->steps == 0) // the start's, to be made again
    {
        memset(state->a, 0, (size_t)model->coords * sizeof(double));
        memset(state->monitor->last, 0, (size_t)model->coords * sizeof(double));
    }
    if (status != TD_OK)
    {
        td_step_reject_efforts(model, state);
        if (model->scheme.method != TD_METHOD_STATIC)
            td_monitor_reject(state);
        return status;
    }
    state->report.error = (tdError){0};
    publish(model, state);
    td_stage_charge(state, TD_STAGE_PUBLISH, &clock);
    return TD_OK;
}

const char *td_stage_name(tdStage stage)
{
    static const char *const names[TD_STAGES] = {"latch", "collide", "kinematics", "forces", "constrain",
                                                 "free",  "solve",   "integrate",  "publish"};
    return stage >= 0 && stage < TD_STAGES ? names[stage] : "unknown";
}
