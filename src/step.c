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
// part of A. Kinematics to solve repeat within a step when Newton iterates. A step is judged before it is accepted
// (monitor.h): one linearization that went wrong is taken again by Newton's method, and a step that fails leaves the
// state as it was.
#include "base/log.h"
#include "base/timer.h"
#include "constraint/tool.h"
#include "contact/contact.h"
#include "monitor.h"
#include "solve/condense.h"
#include "solve/friction.h"
#include "state.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

// Charges the time since *clock to a stage.
static void charge(tdState *state, tdStage stage, double *clock)
{
    double now = td_seconds();
    state->report.stage_seconds[stage] += now - *clock;
    *clock = now;
}

// ---------------------------------------------------------------- latch

// reads  time, scene's motion, override      writes  input, input_end, gravity
static void latch(const tdModel *model, tdState *state)
{
    double load_time = state->time + model->scheme.load_time, end = state->time + model->scheme.h;
    for (int i = 0; i < model->n_inputs; i++)
    {
        bool set = !isnan(state->override[i]);
        state->input[i] = set ? state->override[i] : td_input_value(model, i, load_time);
        state->input_end[i] = set ? state->override[i] : td_input_value(model, i, end);
        state->load_next[i] = state->input_end[i];
    }
    state->gravity = state->weight;
    state->load_next[model->n_inputs] = state->weight;
    td_tools_latch(model, state);
    td_constraint_start(model, state);
    td_constraint_latch(model, state, 1);
}

// Static: the share of the way from the last equilibrium's loads to the next one's.
static void latch_share(const tdModel *model, tdState *state, double share)
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

// ---------------------------------------------------------------- held coordinates

// The share of the way from the start to the end of the step at which forces are taken.
static double force_share(const tdScheme *scheme)
{
    return scheme->method == TD_METHOD_THETA ? scheme->theta : 1;
}

// Fixed and prescribed coordinates are not unknowns: they are put where they belong. In the first pass
// forces are taken at the start of the step and the way still to go (`held`) enters through the tangent,
// so that the pass is the linearization at the start; after it they have arrived.
static void place_held(const tdModel *model, tdState *state)
{
    const tdScheme *scheme = &model->scheme;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        body->ops->place(model, body, state);
        for (int32_t k = 0; k < body->n_held; k++)
        {
            int64_t i = body->first + body->held[k];
            double way = state->q_end[i] - state->q[i];
            state->held[i] = force_share(scheme) * way;
            state->v_new[i] = scheme->method == TD_METHOD_STATIC ? way : way / scheme->h;
        }
    }
}

// reads  q, v, a, v_new      writes  q_e, v_e, inertia
static void evaluation_point(const tdModel *model, tdState *state, bool arrived)
{
    const tdScheme *scheme = &model->scheme;
    td_scheme_evaluate(scheme, model->coords, state->q, state->v, state->a, state->v_new, state->q_e, state->v_e,
                       state->inertia);
    if (td_scheme_ends_apart(scheme))
        td_scheme_end(scheme, model->coords, state->q, state->v, state->v_new, state->q_c);
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int32_t k = 0; k < body->n_held; k++)
        {
            int64_t i = body->first + body->held[k];
            state->q_e[i] = state->q[i] + (arrived ? force_share(scheme) * (state->q_end[i] - state->q[i]) : 0);
            if (td_scheme_ends_apart(scheme))
                state->q_c[i] = arrived ? state->q_end[i] : state->q[i];
            // Newmark's own acceleration would answer every change of speed by ringing for ever, because
            // nothing damps a coordinate whose motion is given: its acceleration is the mean of the step.
            if (scheme->method == TD_METHOD_NEWMARK)
                state->inertia[i] = scheme->gamma * (state->v_new[i] - state->v[i]);
        }
    }
}

// ---------------------------------------------------------------- stages

static void kinematics(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
        model->bodies[b].ops->kinematics(model, &model->bodies[b], state);
}

static tdStatus forces(const tdModel *model, tdState *state, bool tangent, double *clock)
{
    state->scale = 0;
    state->bad_element = -1;
    state->report.inverted_elements = state->report.extended_elements = 0;
    for (int b = 0; b < model->n_bodies; b++)
        TD_TRY(model->bodies[b].ops->forces(model, &model->bodies[b], state, tangent));
    charge(state, TD_STAGE_FORCES, clock);
    td_constrain(model, state, tangent);
    // A new linearization finds the motion without contact first.
    if (tangent)
        td_contact_expect(model, state, state->m);
    else
        td_contact_push(model, state, state->m);
    charge(state, TD_STAGE_CONSTRAIN, clock);
    return TD_OK;
}

static tdStatus free_motion(const tdModel *model, tdState *state)
{
    state->rhs = state->slope = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        tdStatus status = model->bodies[b].ops->free_motion(model, &model->bodies[b], state);
        if (status == TD_OK)
            continue;
        char why[sizeof state->report.error.message];
        memcpy(why, state->report.error.message, sizeof why);
        return td_fail(&state->report.error, status, "body '%s', t = %g s (step %lld): %.480s", model->bodies[b].name,
                       state->time + model->scheme.h, (long long)state->steps + 1, why);
    }
    return TD_OK;
}

// What to do about a step that failed.
static const char *advice(const tdModel *model)
{
    return model->scheme.method == TD_METHOD_STATIC
               ? "bring the load on in more steps (motion, steps), or allow a smaller min_load_step"
               : "use a smaller time_step or smaller loads";
}

static tdStatus fail_element(const tdModel *model, tdState *state)
{
    const tdBody *body = &model->bodies[state->bad_body];
    char element[256] = "an element";
    body->ops->describe(body, state->bad_element, element, sizeof element);
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "%s turned inside out or flew apart at t = %g s (step %lld); %s", element,
                   state->time + model->scheme.h, (long long)state->steps + 1, advice(model));
}

// Size of m on the coordinates that are unknowns.
static double residual_size(const tdModel *model, tdState *state)
{
    memcpy(state->work, state->m, (size_t)model->coords * sizeof(double));
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int32_t k = 0; k < body->n_held; k++)
            state->work[body->first + body->held[k]] = 0;
    }
    return sqrt(td_dot(state->tasks, model->coords, state->work, state->work));
}

// ---------------------------------------------------------------- Newton

#define RETRY_TOLERANCE 1e-5 // of residuals and misses

// Held coordinates that an effort or inverse control moves: how far they have come.
static void place_unknown(const tdModel *model, tdState *state, double length)
{
    if (td_condense_place(model, state, length))
        for (int b = 0; b < model->n_bodies; b++)
            model->bodies[b].ops->place(model, &model->bodies[b], state);
}

// Forces at v_new = saved + length dv. *size is infinite where an element cannot be evaluated, *slope is
// the derivative of the potential along dv.
static tdStatus try_length(const tdModel *model, tdState *state, double length, double *size, double *slope,
                           double *clock)
{
    for (int64_t i = 0; i < model->coords; i++)
        state->v_new[i] = state->saved[i] + length * state->dv[i];
    if (state->contact != NULL)
        state->contact->whole = length == 1;
    place_unknown(model, state, length);
    evaluation_point(model, state, true);
    kinematics(model, state);
    charge(state, TD_STAGE_KINEMATICS, clock);
    TD_TRY(forces(model, state, false, clock));
    *size = residual_size(model, state);
    *slope = td_dot(state->tasks, model->coords, state->dv, state->work);
    if (state->bad_element >= 0 || !isfinite(*size))
        *size = INFINITY;
    return TD_OK;
}

// Shortens the Newton step until the residual falls or, as when a slender body turns and the full step
// would stretch it, the slope of the potential along the step does: then its minimum is near.
static tdStatus line_search(const tdModel *model, tdState *state, double before, double *size, double *clock)
{
    memcpy(state->saved, state->v_new, (size_t)model->coords * sizeof(double));
    double length = 1, slope = 0;
    for (int k = 0; k < 10; k++)
    {
        TD_TRY(try_length(model, state, length, size, &slope, clock));
        bool falls = *size <= (1 - 1e-4 * length) * before || *size <= 1e-12 * state->scale;
        if (falls || (isfinite(*size) && fabs(slope) <= 0.9 * fabs(state->slope)))
            return TD_OK;
        state->report.line_search_steps++;
        // Where the slope, taken as linear, vanishes; not too near either end.
        double guess = isfinite(*size) && slope > 0 ? state->slope / (state->slope - slope) : 0.5;
        length *= fmin(fmax(guess, 0.1), 0.5);
    }
    if (isfinite(*size))
        return TD_OK;
    return state->bad_element >= 0 ? fail_element(model, state)
                                   : td_fail(&state->report.error, TD_ERROR_NUMERIC,
                                             "the forces are not finite at t = %g s (step %lld); %s",
                                             state->time + model->scheme.h, (long long)state->steps + 1, advice(model));
}

// Whether a Newton step is lost in the rounding of the positions it would change: then there is no nearer
// solution in these numbers, whatever the tolerance.
static bool is_rounding(const tdModel *model, const tdState *state)
{
    double step = 0, size = model->size; // amplitudes of modes are small next to the positions they change
    for (int64_t i = 0; i < model->coords; i++)
    {
        step = fmax(step, fabs(state->dv[i]));
        size = fmax(size, fabs(state->q_e[i]));
    }
    return model->scheme.ce * step <= 4 * DBL_EPSILON * size;
}

// The condensed problem, which corrects dv by A^-1 J' times the change of the efforts; without unknown efforts the
// free motion is the motion. Newton's line search goes with the new efforts from the start, so that dv leads downhill.
static tdStatus solve(const tdModel *model, tdState *state, bool first, int *unknowns)
{
    bool slid = false, contact = td_contact_acts(state);
    TD_TRY(td_condense(model, state, first, state->columns > 0, unknowns));
    if (contact)
        TD_TRY(td_contact_solve(model, state, first));
    *unknowns += contact;
    if (*unknowns > contact)
        state->rhs = fmax(state->rhs, td_condense_push(model, state));
    TD_TRY(td_friction_solve(model, state, &slid));
    *unknowns += slid;
    if (*unknowns == 0)
        return TD_OK;
    state->rhs = fmax(state->rhs, residual_size(model, state));
    state->slope = td_dot(state->tasks, model->coords, state->dv, state->work);
    return TD_OK;
}

// The end of a step of one linearization: the momentum balance, which leaves the reactions, and v.
static void finish_linear(const tdModel *model, tdState *state)
{
    for (int64_t i = 0; i < model->coords; i++)
        state->v_new[i] += state->dv[i];
    td_monitor_outside(model, state);
    for (int b = 0; b < model->n_bodies; b++)
        model->bodies[b].ops->balance(model, &model->bodies[b], state);
    td_monitor_supports(model, state);
    place_unknown(model, state, 1);
}

// What residuals are relative to.
static double residual_scale(const tdState *state)
{
    return td_contact_acts(state) ? fmax(state->scale, state->contact->scale) : state->scale;
}

// Where a step of one linearization is taken again, a solution that is good enough ends it.
static double newton_tolerance(const tdModel *model, const tdState *state)
{
    double tolerance = model->scene.settings.tolerance;
    return state->follow ? fmax(tolerance, RETRY_TOLERANCE) : tolerance;
}

// Whether a Newton iterate is the solution: forces in balance and, where efforts are unknown, displacements and
// effectors as the linearization said. In inverse control the next linearization must not lead elsewhere either.
static bool is_solved(const tdModel *model, const tdState *state, double size, double miss, int unknowns)
{
    double tolerance = newton_tolerance(model, state);
    if (size > tolerance * residual_scale(state) && !is_rounding(model, state))
        return false;
    if (td_constraint_lag(model, state) > 1e-6) // a millionth of the friction
        return false;
    if (unknowns == 0)
        return true;
    if (miss > tolerance)
        return false;
    if (!state->constraint->inverse)
        return true;
    double step = 0;
    for (int64_t i = 0; i < model->coords; i++)
        step = fmax(step, fabs(state->dv[i]));
    return model->scheme.c * step <= 1e-5 * model->size;
}

#define STRIDE 0.001 // by which residual and misses fall in a pass that is not worth new columns

// Momentum balance at the latched inputs: one linearization, or Newton to the tolerance.
// reads  q, v, a, inputs      writes  v_new, m
static tdStatus balance(const tdModel *model, tdState *state, double *clock)
{
    const tdSceneSettings *settings = &model->scene.settings;
    bool newton = state->newton || model->scheme.method == TD_METHOD_STATIC;
    td_scheme_start(&model->scheme, model->coords, state->v, state->a, state->v_new);
    place_held(model, state);
    evaluation_point(model, state, false);
    charge(state, TD_STAGE_KINEMATICS, clock);
    TD_TRY(td_contact_find(model, state));
    charge(state, TD_STAGE_COLLIDE, clock);
    for (int b = 0; b < model->n_bodies; b++)
        model->bodies[b].ops->begin(model, &model->bodies[b], state);
    kinematics(model, state);
    charge(state, TD_STAGE_KINEMATICS, clock);
    double size = INFINITY, miss = INFINITY, last_size = INFINITY, last_miss = INFINITY;
    for (int pass = 0;; pass++)
    {
        // Columns of the condensed problem, and the factor they need, are kept as long as Newton makes strides.
        bool strides = pass > 0 && size < STRIDE * last_size && miss < STRIDE * last_miss;
        state->columns = strides ? 0 : td_condense_unknowns(model, state);
        last_size = size;
        last_miss = miss;
        TD_TRY(td_check_cancel(&state->settings, &state->report.error));
        TD_TRY(forces(model, state, true, clock));
        if (state->bad_element >= 0)
            return fail_element(model, state);
        TD_TRY(free_motion(model, state));
        charge(state, TD_STAGE_FREE, clock);
        int unknowns = 0;
        TD_TRY(solve(model, state, pass == 0, &unknowns));
        charge(state, TD_STAGE_SOLVE, clock);
        state->report.newton_iterations++;
        if (!newton)
        {
            finish_linear(model, state);
            return TD_OK;
        }
        memset(state->held, 0, (size_t)model->coords * sizeof(double));
        TD_TRY(line_search(model, state, pass == 0 || unknowns > 0 ? state->rhs : size, &size, clock));
        state->report.residual = residual_scale(state) > 0 ? size / residual_scale(state) : 0;
        miss = fmax(td_condense_miss(model, state), td_contact_miss(model, state));
        if (is_solved(model, state, size, miss, unknowns))
        {
            td_monitor_outside(model, state);
            td_monitor_supports(model, state);
            return TD_OK;
        }
        if (pass + 1 >= settings->max_iterations)
            return td_fail(
                &state->report.error, TD_ERROR_NUMERIC,
                "Newton did not converge at t = %g s (step %lld): relative residual %.2e after %d iterations, "
                "%.2e asked for; %s",
                state->time + model->scheme.h, (long long)state->steps + 1, state->report.residual, pass + 1,
                newton_tolerance(model, state), advice(model));
    }
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
static tdStatus integrate(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
        for (int64_t i = 0; i < model->bodies[b].count; i++)
            if (!isfinite(state->v_new[model->bodies[b].first + i]))
            {
                bool by_node = model->bodies[b].count == 3 * model->bodies[b].nodes;
                return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                               "%s %lld of body '%s' has a velocity that is not finite at t = %g s (step %lld); %s",
                               by_node ? "node" : "coordinate", (long long)(by_node ? i / 3 : i), model->bodies[b].name,
                               state->time + model->scheme.h, (long long)state->steps + 1, advice(model));
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
}

// ---------------------------------------------------------------- the step

// Efforts and displacements of actuators as they were when the step began.
static void reject_efforts(const tdModel *model, tdState *state)
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
    state->follow = newton && !model->scene.settings.newton;
    *doubtful = false;
    TD_TRY(balance(model, state, clock));
    tdStatus status = integrate(model, state);
    charge(state, TD_STAGE_INTEGRATE, clock);
    if (status == TD_OK)
    {
        state->bad_element = -1;
        state->report.inverted_elements = state->report.extended_elements = 0;
        status = td_monitor_judge(model, state, doubtful);
        charge(state, TD_STAGE_FORCES, clock);
        if (state->bad_element >= 0)
            status = fail_element(model, state);
    }
    if (status != TD_OK)
        take_back(model, state);
    return status;
}

// A step again from its start, with the inputs that it had.
static tdStatus attempt_again(const tdModel *model, tdState *state, bool newton, bool *doubtful, double *clock)
{
    take_back(model, state);
    reject_efforts(model, state);
    latch(model, state);
    state->report.retries++;
    return attempt(model, state, newton, doubtful, clock);
}

// As the scene says. What fails or is doubtful with one linearization is taken again by Newton's method; where that is
// no better, the first attempt counts, with its doubts.
static tdStatus dynamic_step(const tdModel *model, tdState *state, double *clock)
{
    bool newton = model->scene.settings.newton, doubtful = false, still = false;
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

// From the last equilibrium to the next in load steps: whole at first, halved when Newton fails, doubled
// when it succeeds.
static tdStatus static_step(const tdModel *model, tdState *state, double *clock)
{
    double done = 0, next = 1, least = 1.0 / model->scene.settings.min_load_step_inverse;
    size_t bytes = (size_t)model->coords * sizeof(double);
    memcpy(state->start, state->q, bytes);
    memcpy(state->a_start, state->monitor->last, bytes); // no accelerations here
    while (done < 1)
    {
        double share = done + next < 1 - 1e-9 ? done + next : 1;
        latch_share(model, state, share);
        tdStatus status = balance(model, state, clock);
        if (status == TD_OK)
            status = integrate(model, state);
        charge(state, TD_STAGE_INTEGRATE, clock);
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

// Newmark needs the acceleration that the first loads cause.
static tdStatus start_acceleration(const tdModel *model, tdState *state)
{
    memcpy(state->q_e, state->q, (size_t)model->coords * sizeof(double));
    memcpy(state->v_e, state->v, (size_t)model->coords * sizeof(double));
    memset(state->inertia, 0, (size_t)model->coords * sizeof(double));
    for (int i = 0; i < model->n_inputs; i++)
        if (isnan(state->override[i]))
            state->input[i] = td_input_value(model, i, state->time);
    td_constraint_latch(model, state, 1);
    for (int b = 0; b < model->n_bodies; b++)
        model->bodies[b].ops->begin(model, &model->bodies[b], state);
    kinematics(model, state);
    double clock = td_seconds();
    TD_TRY(forces(model, state, true, &clock));
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
    state->newton = model->scene.settings.newton;
    state->follow = false;
    latch(model, state);
    tdStatus status = TD_OK;
    if (model->scheme.method == TD_METHOD_NEWMARK && state->steps == 0)
    {
        status = start_acceleration(model, state);
        latch(model, state);
    }
    charge(state, TD_STAGE_LATCH, &clock);
    if (status == TD_OK)
        status = model->scheme.method == TD_METHOD_STATIC ? static_step(model, state, &clock)
                                                          : dynamic_step(model, state, &clock);
    state->report.status = status;
    if (status != TD_OK && state->steps == 0)
        memset(state->a, 0, (size_t)model->coords * sizeof(double)); // the start's, to be made again
    if (status != TD_OK)
    {
        reject_efforts(model, state);
        if (model->scheme.method != TD_METHOD_STATIC)
            td_monitor_reject(state);
        return status;
    }
    state->report.error = (tdError){0};
    publish(model, state);
    charge(state, TD_STAGE_PUBLISH, &clock);
    return TD_OK;
}

const char *td_stage_name(tdStage stage)
{
    static const char *const names[TD_STAGES] = {"latch", "collide", "kinematics", "forces", "constrain",
                                                 "free",  "solve",   "integrate",  "publish"};
    return stage >= 0 && stage < TD_STAGES ? names[stage] : "unknown";
}
