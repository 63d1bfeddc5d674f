// SPDX-License-Identifier: Apache-2.0
// The momentum balance of a step: one linearization, or Newton's method with a line search, to the tolerance.
#include "base/log.h"
#include "constraint/bonded.h"
#include "constraint/condense.h"
#include "constraint/constraint.h"
#include "contact/contact.h"
#include "step/monitor.h"
#include "step/stage.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

// Held coordinates that an effort or inverse control moves: how far they have come.
static void place_unknown(const tdModel *model, tdState *state, double length)
{
    if (td_condense_place(model, state, length))
        for (int b = 0; b < model->n_bodies; b++)
            model->bodies[b].ops->place(model, &model->bodies[b], state);
}

// reads  q, v, a, v_new      writes  q_e, v_e, inertia
static void evaluation_point(const tdModel *model, tdState *state, bool arrived)
{
    const tdScheme *scheme = &model->scheme;
    state->q_r = state->q_c;
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

// The first pass takes most bodies where the step begins, but those that set out by themselves where forces begin to
// act on them, later. A rod or a cable between the two is as long and points the way that it does at one time: the
// later one.
static void place_together(const tdModel *model, tdState *state)
{
    const tdScheme *scheme = &model->scheme;
    bool late = false;
    for (int b = 0; b < model->n_bodies; b++)
        late = late || model->bodies[b].ops->set_out != NULL;
    if (!late || !td_scheme_sets_out_late(scheme))
        return;
    state->q_r = state->q_together;
    double *none = td_scratch_take(state);
    memset(none, 0, (size_t)model->coords * sizeof *none);
    td_scheme_end(scheme, model->coords, state->q, state->v, none, state->q_r);
    td_scratch_give(state, none);
    for (int b = 0; b < model->n_bodies; b++)
        for (int32_t k = 0; k < model->bodies[b].n_held; k++)
        {
            int64_t i = model->bodies[b].first + model->bodies[b].held[k];
            state->q_r[i] = state->q[i] + (1 - scheme->theta_vq) * (state->q_end[i] - state->q[i]);
        }
}

// ---------------------------------------------------------------- what went wrong

// What to do about a step that failed.
const char *td_step_advice(const tdModel *model)
{
    if (model->scheme.method != TD_METHOD_STATIC)
        return "use a smaller time_step or smaller loads";
    return model->touches ? "something may slide or tip over, which has no equilibrium: hold it, or use a dynamic "
                            "integrator; else bring the load on in more steps (motion, steps)"
                          : "bring the load on in more steps (motion, steps), or allow a smaller min_load_step";
}

tdStatus td_step_fail_element(const tdModel *model, tdState *state)
{
    const tdBody *body = &model->bodies[state->bad_body];
    char element[256] = "an element";
    body->ops->describe(body, state->bad_element, element, sizeof element);
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "%s turned inside out or flew apart at t = %g s (step %lld); %s", element,
                   state->time + model->scheme.h, (long long)state->steps + 1, td_step_advice(model));
}

// ---------------------------------------------------------------- tolerance

#define RETRY_TOLERANCE 1e-5 // of residuals and misses

// Where a step of one linearization is taken again, a solution that is good enough ends it.
static double newton_tolerance(const tdModel *model, const tdState *state)
{
    double tolerance = model->settings.tolerance;
    return state->follow ? fmax(tolerance, RETRY_TOLERANCE) : tolerance;
}

// ---------------------------------------------------------------- line search

// Size of m on the coordinates that are unknowns.
double td_step_residual(const tdModel *model, tdState *state)
{
    memcpy(state->m_free, state->m, (size_t)model->coords * sizeof(double));
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int32_t k = 0; k < body->n_held; k++)
            state->m_free[body->first + body->held[k]] = 0;
    }
    return sqrt(td_dot(state->tasks, model->coords, state->m_free, state->m_free));
}

// Forces at v_new = v_before + length dv. *size is infinite where an element cannot be evaluated, *slope is
// the derivative of the potential along dv.
static tdStatus try_length(const tdModel *model, tdState *state, double length, double *size, double *slope,
                           double *clock)
{
    for (int64_t i = 0; i < model->coords; i++)
        state->v_new[i] = state->v_before[i] + length * state->dv[i];
    if (state->contact != NULL)
        state->contact->whole = length == 1;
    place_unknown(model, state, length);
    evaluation_point(model, state, true);
    td_stage_kinematics(model, state);
    td_stage_charge(state, TD_STAGE_KINEMATICS, clock);
    TD_TRY(td_stage_forces(model, state, false, clock));
    *size = td_step_residual(model, state);
    *slope = td_dot(state->tasks, model->coords, state->dv, state->m_free);
    if (state->bad_element >= 0 || !isfinite(*size))
        *size = INFINITY;
    return TD_OK;
}

// Shortens the Newton step until the residual falls or, as when a slender body turns and the full step
// would stretch it, the slope of the potential along the step does: then its minimum is near.
static tdStatus line_search(const tdModel *model, tdState *state, double before, double *size, double *clock)
{
    memcpy(state->v_before, state->v_new, (size_t)model->coords * sizeof(double));
    double length = 1, slope = 0;
    for (int k = 0; k < 10; k++)
    {
        TD_TRY(try_length(model, state, length, size, &slope, clock));
        // What is within the tolerance is not sent back: below it a residual may have nothing but rounding to fall by.
        bool falls = *size <= (1 - 1e-4 * length) * before || *size <= newton_tolerance(model, state) * state->scale;
        if (falls || (isfinite(*size) && fabs(slope) <= 0.9 * fabs(state->slope)))
            return TD_OK;
        state->report.line_search_steps++;
        // Where the slope, taken as linear, vanishes; not too near either end.
        double guess = isfinite(*size) && slope > 0 ? state->slope / (state->slope - slope) : 0.5;
        length *= fmin(fmax(guess, 0.1), 0.5);
    }
    if (isfinite(*size))
        return TD_OK;
    return state->bad_element >= 0
               ? td_step_fail_element(model, state)
               : td_fail(&state->report.error, TD_ERROR_NUMERIC,
                         "the forces are not finite at t = %g s (step %lld); %s", state->time + model->scheme.h,
                         (long long)state->steps + 1, td_step_advice(model));
}

// ---------------------------------------------------------------- whether it is solved

#define LAG 1e-6 // of the friction of cables

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

#define NOISE 4 // times what rounding does to forces

// What the rounding of positions leaves in the momentum balance, however many iterations there are: A times changes of
// a last digit, with signs as they come. Without loads that is all there is, and nothing to be relative to.
static double rounding_of_forces(const tdModel *model, tdState *state)
{
    double size = model->size, square = 0, *moved = td_scratch_take(state), *force = td_scratch_take(state);
    for (int64_t i = 0; i < model->coords; i++)
        size = fmax(size, fabs(state->q_e[i]));
    for (int b = 0; b < model->n_bodies && model->scheme.ce > 0; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int64_t i = 0; i < body->count; i++)
            moved[i] = ((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15) >> 63 ? 1 : -1) * DBL_EPSILON * size;
        body->ops->multiply(model, body, state, moved, force);
        for (int64_t i = 0; i < body->count; i++)
            square += force[i] * force[i];
    }
    td_scratch_give(state, moved);
    return model->scheme.ce > 0 ? sqrt(square) / model->scheme.ce : 0;
}

// What residuals are relative to.
static double residual_scale(const tdState *state)
{
    return state->joined ? fmax(state->scale, state->contact->scale) : state->scale;
}

// The residual as a share of the forces; where a pass did not halve it and rounding is as large, of that.
static double relative_residual(const tdModel *model, tdState *state, double size, double last)
{
    double tolerance = newton_tolerance(model, state), scale = residual_scale(state);
    if (size > tolerance * scale && size > 0.5 * last && isfinite(size))
        scale = fmax(scale, NOISE * rounding_of_forces(model, state) / tolerance);
    return scale > 0 ? size / scale : 0;
}

// Whether a Newton iterate is the solution: forces in balance and, where efforts are unknown, displacements and
// effectors as the linearization said. In inverse control the next linearization must not lead elsewhere either.
static bool is_solved(const tdModel *model, const tdState *state, double miss, int unknowns)
{
    double tolerance = newton_tolerance(model, state);
    if (state->report.residual > tolerance && !is_rounding(model, state))
        return false;
    if (td_constraint_lag(model, state) > LAG)
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

// Forces in balance are an equilibrium where they obey the laws of contact as well. A solver that stopped at its bound
// leaves some that do not; in motion the next step goes on from there, but here nothing would say so.
static tdStatus check_contact(const tdModel *model, tdState *state)
{
    if (model->scheme.method != TD_METHOD_STATIC || !state->joined || !state->contact->limit)
        return TD_OK;
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "the contact solver reached its iteration limit at t = %g s (step %lld), with a residual of %.2g: "
                   "its forces do not obey the law of friction; %s",
                   state->time + model->scheme.h, (long long)state->steps + 1, state->report.contact_residual,
                   model->contact_solver == TD_CONTACT_NLCP ? "use 'contact: {solver: sap, sliding: corrected}'"
                                                            : td_step_advice(model));
}

// What of is_solved was not met in all those passes.
static tdStatus fail_to_converge(const tdModel *model, tdState *state, double miss, int passes)
{
    double tolerance = newton_tolerance(model, state);
    char why[200];
    if (state->report.residual > tolerance)
        snprintf(why, sizeof why, "relative residual %.2e after %d iterations, %.2e required", state->report.residual,
                 passes, tolerance);
    else if (isinf(miss))
        snprintf(why, sizeof why, "forces are in balance, but %d iterations were cut short by the line search", passes);
    else if (miss > tolerance)
        snprintf(why, sizeof why,
                 "forces are in balance, but prescribed displacements have a relative error of %.2e after %d "
                 "iterations, %.2e required",
                 miss, passes, tolerance);
    else
        snprintf(why, sizeof why, "forces are in balance, but %s still changes after %d iterations",
                 td_constraint_lag(model, state) > LAG ? "the friction of a cable" : "the choice of inverse control",
                 passes);
    return td_fail(&state->report.error, TD_ERROR_NUMERIC, "Newton did not converge at t = %g s (step %lld): %s; %s",
                   state->time + model->scheme.h, (long long)state->steps + 1, why, td_step_advice(model));
}

// ---------------------------------------------------------------- passes

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

#define FORCED 0.03 // of a right-hand side, that linear solvers may leave at most

// Newton's method by linear systems that are solved as far as the pass can use: what they leave is lost in what the
// linearization leaves, which near the solution is as the square of the residual (Eisenstat and Walker 1996). The last
// pass goes no further than the tolerance.
static double forcing(const tdModel *model, const tdState *state, int pass, double size)
{
    double scale = residual_scale(state);
    if (pass == 0 || !(size < scale))
        return FORCED;
    return fmin(FORCED, fmax(size / scale, 0.1 * newton_tolerance(model, state) * scale / size));
}

#define STRIDE 0.001 // by which residual and misses fall in a pass that is not worth new columns

// One linearization, or Newton to the tolerance.
static tdStatus balance(const tdModel *model, tdState *state, double *clock)
{
    const tdSceneSettings *settings = &model->settings;
    bool newton = state->newton || model->scheme.method == TD_METHOD_STATIC;
    td_scheme_start(&model->scheme, model->coords, state->v, state->a, state->v_new);
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].ops->set_out != NULL)
            model->bodies[b].ops->set_out(model, &model->bodies[b], state);
    place_held(model, state);
    evaluation_point(model, state, false);
    place_together(model, state);
    td_stage_charge(state, TD_STAGE_KINEMATICS, clock);
    TD_TRY(td_contact_find(model, state));
    td_stage_charge(state, TD_STAGE_COLLIDE, clock);
    for (int b = 0; b < model->n_bodies; b++)
        model->bodies[b].ops->begin(model, &model->bodies[b], state);
    td_stage_kinematics(model, state);
    td_stage_charge(state, TD_STAGE_KINEMATICS, clock);
    double size = INFINITY, miss = INFINITY, last_size = INFINITY, last_miss = INFINITY;
    for (int pass = 0;; pass++)
    {
        // Columns of the condensed problem, and the factor they need, are kept as long as Newton makes strides.
        bool steers = state->joined && state->constraint->inverse;
        bool strides =
            pass > 0 && !steers && state->bonded == NULL && size < STRIDE * last_size && miss < STRIDE * last_miss;
        state->columns =
            strides ? 0 : td_condense_unknowns(model, state) + (state->bonded != NULL ? state->bonded->most : 0);
        state->columns += td_contact_columns(model, state);
        // Which efforts cost least energy depends on columns to more digits than that targets are reached.
        state->forcing = newton && !state->constraint->inverse ? forcing(model, state, pass, size) : 0;
        last_size = size;
        last_miss = miss;
        TD_TRY(td_check_cancel(state->tasks, &state->report.error));
        TD_TRY(td_stage_forces(model, state, true, clock));
        if (state->bad_element >= 0)
            return td_step_fail_element(model, state);
        if (!newton)
            td_constraint_lead(model, state);
        TD_TRY(td_stage_free(model, state));
        td_stage_charge(state, TD_STAGE_FREE, clock);
        int unknowns = 0;
        TD_TRY(td_stage_solve(model, state, pass == 0, &unknowns));
        td_stage_charge(state, TD_STAGE_SOLVE, clock);
        state->report.newton_iterations++;
        if (!newton)
        {
            finish_linear(model, state);
            return TD_OK;
        }
        memset(state->held, 0, (size_t)model->coords * sizeof(double));
        TD_TRY(line_search(model, state, pass == 0 || unknowns > 0 ? state->rhs : size, &size, clock));
        state->report.residual = relative_residual(model, state, size, last_size);
        miss = fmax(td_condense_miss(model, state), td_contact_miss(model, state));
        if (is_solved(model, state, miss, unknowns))
        {
            TD_TRY(check_contact(model, state));
            td_monitor_outside(model, state);
            td_monitor_supports(model, state);
            return TD_OK;
        }
        if (pass + 1 >= settings->max_iterations)
            return fail_to_converge(model, state, miss, pass + 1);
    }
}

// Momentum balance at the latched inputs.
// reads  q, v, a, inputs      writes  v_new, m
tdStatus td_step_balance(const tdModel *model, tdState *state, double *clock)
{
    tdStatus status = balance(model, state, clock);
    state->forcing = 0;
    if (status != TD_OK) // of what was cut short nothing else is to be said
        TD_TRY(td_check_cancel(state->tasks, &state->report.error));
    return status;
}
