// SPDX-License-Identifier: Apache-2.0
// See monitor.h.
#include "step/monitor.h"

#include "base/log.h"
#include "body/soft.h"
#include "contact/contact.h"
#include "material/law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Shares of the most energy that a body came by honestly.
#define GAIN_DOUBTFUL 0.05 // energy from nothing: worth a word
#define MOVING        2.0  // kinetic energy: no physics. What is only elastic may be gone in the next step
#define GAIN_ABSURD   1e6  // energy from nothing: no physics, wherever it sits
#define EXPLICIT      20   // explicit steps keep another energy near this one: times the above
#define SWING         0.1  // and by this share the two may differ without a word
#define LONGEST_WAIT  256  // steps until the next attempt, after attempts in vain
#define ROUNDING      1e-9 // of the terms of a balance: none of it is gained
#define STILL         1e-6 // of the body's size in a step: energies of such motion are noise
#define SLOWED        0.05 // of its spin that a body loses to nothing: worth a word
#define SPINS         0.1  // of its energy: what a body that spins has in it, at least
#define UNPAID        1e-3 // of its energy, that a step too long for the motion would have lifted a tree by
// Of the work that internal forces do in a step, the share that is not quadratic in the motion.
#define CURVED 0.5
#define LONG   10  // steps in a row with elements inside out
#define DEEP   0.1 // penetration, as a share of the smaller body
#define STRAY  0.6 // |F - I| of the linear law: turned by 25 degrees, where lengths are off by a tenth
#define SLOW   10  // steps in a row in which iterations cost more than twice as much as a new factor

static double *numbers_of(double *all, int body)
{
    return all + TD_MONITOR_NUMBERS * (int64_t)body;
}

tdStatus td_monitor_create(const tdModel *model, tdState *state, tdError *error)
{
    tdMonitor *monitor = state->monitor = TD_TAKE(&state->arena, tdMonitor, 1);
    if (monitor == NULL)
        return td_fail_memory(error, "the state");
    bool ends = model->scheme.method != TD_METHOD_THETA; // both ends of a step are needed
    monitor->kept = TD_TAKE(&state->arena, double, TD_MONITOR_NUMBERS * model->n_bodies);
    monitor->next = TD_TAKE(&state->arena, double, TD_MONITOR_NUMBERS * model->n_bodies);
    monitor->outside = TD_TAKE(&state->arena, double, model->coords);
    monitor->last = ends ? TD_TAKE(&state->arena, double, model->coords) : monitor->outside;
    monitor->change = TD_TAKE(&state->arena, double, model->n_bodies);
    monitor->doubts = TD_TAKE(&state->arena, unsigned, model->n_bodies);
    monitor->told = TD_TAKE(&state->arena, unsigned, model->n_bodies);
    if (monitor->kept == NULL || monitor->next == NULL || monitor->outside == NULL || monitor->last == NULL ||
        monitor->change == NULL || monitor->doubts == NULL || monitor->told == NULL)
        return td_fail_memory(error, "the state");
    return TD_OK;
}

void td_monitor_forget(const tdModel *model, tdState *state)
{
    tdMonitor *monitor = state->monitor;
    memset(monitor->kept, 0, TD_MONITOR_NUMBERS * (size_t)model->n_bodies * sizeof(double));
    monitor->known = monitor->waiting = monitor->wait = 0;
    monitor->ejected = 0;
}

void td_monitor_begin(const tdModel *model, tdState *state)
{
    tdMonitor *monitor = state->monitor;
    if (monitor->off)
        return;
    for (int b = 0; b < model->n_bodies && !monitor->known; b++)
    {
        double *kept = numbers_of(monitor->kept, b);
        model->bodies[b].ops->energy(model, &model->bodies[b], state, &kept[TD_MONITOR_KINETIC],
                                     &kept[TD_MONITOR_ELASTIC]);
        kept[TD_MONITOR_MOST] = kept[TD_MONITOR_KINETIC] + kept[TD_MONITOR_ELASTIC];
        for (int c = 0; c < 3; c++)
            kept[TD_MONITOR_TURNING + c] = NAN;
    }
    monitor->known = true;
    monitor->before[0] = monitor->waiting;
    monitor->before[1] = monitor->wait;
}

void td_monitor_reject(tdState *state)
{
    state->monitor->waiting = state->monitor->before[0];
    state->monitor->wait = state->monitor->before[1];
}

// ---------------------------------------------------------------- work

void td_monitor_start(const tdModel *model, tdState *state)
{
    for (int64_t i = 0; i < model->coords; i++)
        state->monitor->last[i] = (state->own[i] - state->m[i]) / model->scheme.s;
    // What holds a coordinate bears what acts on it.
    for (int b = 0; b < model->n_bodies; b++)
        for (int32_t k = 0; k < model->bodies[b].n_held; k++)
        {
            int64_t i = model->bodies[b].first + model->bodies[b].held[k];
            state->monitor->last[i] = state->own[i] / model->scheme.s;
        }
}

void td_monitor_outside(const tdModel *model, tdState *state)
{
    double *f = state->monitor->outside;
    for (int b = 0; b < model->n_bodies && !state->monitor->off; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (body->ops->outside != NULL)
            body->ops->outside(model, body, state, f + body->first);
        else
            for (int64_t i = body->first; i < body->first + body->count; i++)
                f[i] = state->own[i] - state->m[i];
    }
}

void td_monitor_supports(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies && !state->monitor->off; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int32_t k = 0; k < body->n_held; k++)
            state->monitor->outside[body->first + body->held[k]] += state->m[body->first + body->held[k]];
    }
}

// Done on a body in the step [J]. Newmark's method and Runge-Kutta's have their balance at the ends of a step; the work
// of one is that of the mean of both, or with another share of its end.
static double work_on(const tdModel *model, const tdState *state, const tdBody *body, double end)
{
    const tdMonitor *monitor = state->monitor;
    bool ends = model->scheme.method != TD_METHOD_THETA;
    double sum = 0, s = model->scheme.s;
    for (int64_t i = body->first; i < body->first + body->count; i++)
    {
        double f = monitor->outside[i] / s;
        double acts = ends ? monitor->last[i] + end * (f - monitor->last[i]) : f;
        sum += acts * (state->q[i] - state->start[i]);
    }
    return sum;
}

// T + U is not what Newmark's method keeps unless gamma = 1/2 and beta = 1/4, but (T. J. R. Hughes, The Finite Element
// Method, 9.1)
//
//     T + U + (beta - gamma / 2) h^2 / 2 a'Ma,   with the work of gamma f_end + (1 - gamma) f_start
//
// falls for any motion if 2 beta >= gamma >= 1/2. What it gained beside that is what counts. Returns what is to be
// added to the gain of T + U.
static double newmark_share(const tdModel *model, tdState *state, const tdBody *body, double work)
{
    const tdScheme *scheme = &model->scheme;
    double over = 2 * scheme->beta - scheme->gamma;
    if (scheme->method != TD_METHOD_NEWMARK || scheme->gamma < 0.5 || over < 0 || (scheme->gamma == 0.5 && over == 0))
        return 0;
    double *v = state->v, start = 0, end = 0;
    state->v = state->a_start;
    body->ops->energy(model, body, state, &start, NULL);
    state->v = state->a;
    body->ops->energy(model, body, state, &end, NULL);
    state->v = v;
    return 0.5 * over * scheme->h * scheme->h * (end - start) + work - work_on(model, state, body, scheme->gamma);
}

double td_monitor_increment(const tdModel *model, tdState *state)
{
    tdMonitor *monitor = state->monitor;
    double sum = 0;
    for (int64_t i = 0; i < model->coords; i++)
        sum += 0.5 * (monitor->outside[i] + monitor->last[i]) * state->v_new[i];
    memcpy(monitor->last, monitor->outside, (size_t)model->coords * sizeof(double));
    return sum;
}

// ---------------------------------------------------------------- judging

// How far bounds are stretched.
static double patience(const tdScheme *scheme)
{
    return scheme->ce == 0 ? EXPLICIT : 1;
}

// Energy of motions so small that nobody would see them.
static double noise(const tdModel *model, const tdBody *body)
{
    double v = STILL * model->size / model->scheme.h;
    return body->mass * v * v;
}

static const char *remedy(const tdModel *model, const tdBody *body)
{
    if (model->scheme.ce == 0)
        return "use a smaller time_step, or an implicit integrator";
    // To the linear law Newton's method is the same as one linearization.
    bool newton = model->settings.newton || (body->ops->nodal && body->soft->constant);
    if (!td_scheme_settles(&model->scheme))
        return newton ? "use 'method: backward_euler' or a smaller time_step"
                      : "use 'method: backward_euler', 'newton: true' or a smaller time_step";
    return newton ? "use a smaller time_step" : "use 'newton: true' or a smaller time_step";
}

static void doubt(tdState *state, tdDoubt kind, int body)
{
    if (state->report.doubts == 0)
        state->report.doubt_body = body;
    state->report.doubts |= (unsigned)kind;
    state->monitor->doubts[body] |= (unsigned)kind;
}

// The balance of one body. Returns what was gained so far, as a share of the most energy that it came by honestly.
static double account(const tdModel *model, tdState *state, const tdBody *body, const tdArrival *arrival, double noise)
{
    const double *kept = numbers_of(state->monitor->kept, body->index);
    double *next = numbers_of(state->monitor->next, body->index);
    tdReport *report = &state->report;
    double before = kept[TD_MONITOR_KINETIC] + arrival->elastic_start, after = arrival->kinetic + arrival->elastic;
    double work = work_on(model, state, body, 0.5);
    double gain = after - before - work + newmark_share(model, state, body, work);
    double size = fabs(before) + fabs(after) + fabs(work);
    if (fabs(gain) <= ROUNDING * size)
        gain = 0;
    next[TD_MONITOR_KINETIC] = arrival->kinetic;
    next[TD_MONITOR_ELASTIC] = arrival->elastic;
    state->monitor->change[body->index] = arrival->remembers ? arrival->elastic - arrival->elastic_start : NAN;
    next[TD_MONITOR_GAIN] = fmax(0, kept[TD_MONITOR_GAIN] + gain);
    next[TD_MONITOR_MOST] = fmax(kept[TD_MONITOR_MOST], fmax(before + fmax(work, 0), after) - next[TD_MONITOR_GAIN]);
    report->energy += after;
    report->work += work;
    report->dissipated += work - (after - before);
    double share = next[TD_MONITOR_GAIN]; // NaN: not finite
    if (share > 0)
        share /= next[TD_MONITOR_MOST] + noise;
    report->energy_gain = share <= report->energy_gain ? report->energy_gain : share;
    return share;
}

// What of the work of internal forces the two ends of the step do not explain. A body at rest has nothing but rounding,
// of which nothing is explained: energies below `noise` are no motion.
static double curvature(const tdArrival *arrival, double most, double noise)
{
    double mean = 0.5 * (arrival->force_work_start + arrival->force_work);
    double change = arrival->elastic - arrival->elastic_start;
    double size =
        fabs(change) + 0.5 * fabs(arrival->force_work_start) + 0.5 * fabs(arrival->force_work) + 0.01 * most + noise;
    return size > 0 ? fabs(change - mean) / size : 0;
}

// Whether a body that nothing holds loses its spin. Impulses act at a = x + (1 - theta_vq) h v, so that
//
//     L_end - L_start = sum a x s f_out - sum a x s f_int
//
// Inner forces have no torque. Those of one linearization have, of second order in the motion of the step: that is what
// is lost, beside (2 theta - 1) (h w)^2 of L that the integrator itself takes at the rate of turn w. A body spins if a
// good part of its energy is in it; of others nothing is said. Returns the share that was lost so far.
static double slowed(const tdModel *model, tdState *state, const tdBody *body, const tdArrival *arrival, double noise)
{
    const tdScheme *scheme = &model->scheme;
    const double *kept = numbers_of(state->monitor->kept, body->index), *impulse = state->monitor->outside;
    double *next = numbers_of(state->monitor->next, body->index);
    double late = (1 - scheme->theta_vq) * scheme->h, lost = 0, square = 0, twist[3] = {0};
    next[TD_MONITOR_SLOWED] = 0;
    for (int c = 0; c < 3; c++)
    {
        next[TD_MONITOR_TURNING + c] = arrival->turns ? arrival->turning[c] : NAN;
        square += arrival->spin[c] * arrival->spin[c];
    }
    if (!arrival->turns || scheme->method != TD_METHOD_THETA || isnan(kept[TD_MONITOR_TURNING]) ||
        !(square > 2 * SPINS * arrival->inertia * (next[TD_MONITOR_MOST] + noise)))
        return 0;
    for (int64_t i = body->first; i < body->first + body->count; i += 3)
        for (int c = 0; c < 3; c++)
        {
            int64_t d = i + (c + 1) % 3, e = i + (c + 2) % 3;
            twist[c] += (state->start[d] + late * state->v_start[d]) * impulse[e] -
                        (state->start[e] + late * state->v_start[e]) * impulse[d];
        }
    for (int c = 0; c < 3; c++)
        lost += (kept[TD_MONITOR_TURNING + c] + twist[c] - arrival->turning[c]) * arrival->spin[c] / square;
    double turn = scheme->h * 2 * (arrival->kinetic - arrival->drift) / sqrt(square);
    lost -= scheme->h * arrival->braked + fmax(2 * scheme->theta - 1, 0) * turn * turn;
    return next[TD_MONITOR_SLOWED] = fmax(0, kept[TD_MONITOR_SLOWED] + lost);
}

static tdStatus refuse(const tdModel *model, tdState *state, const tdBody *body)
{
    const double *next = numbers_of(state->monitor->next, body->index);
    double end = state->time + model->scheme.h;
    long long step = (long long)state->steps + 1;
    if (!isfinite(next[TD_MONITOR_KINETIC]) || !isfinite(next[TD_MONITOR_ELASTIC]))
        return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                       "the energy of body '%s' is not finite at t = %g s (step %lld); %s", body->name, end, step,
                       remedy(model, body));
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "body '%s' has gained %.3g J from nothing by t = %g s (step %lld), and never received more than "
                   "%.3g J as work: this is not physical; %s",
                   body->name, next[TD_MONITOR_GAIN], end, step, next[TD_MONITOR_MOST], remedy(model, body));
}

// Whether a law of small displacements still holds.
static void judge_law(tdState *state, const tdBody *body)
{
    double turn, far = body->ops->stray != NULL ? body->ops->stray(body, state, &turn) : 0;
    if (far > STRAY)
        doubt(state, TD_DOUBT_LAW, body->index);
}

tdStatus td_monitor_judge(const tdModel *model, tdState *state, bool *doubtful)
{
    tdMonitor *monitor = state->monitor;
    tdReport *report = &state->report;
    double limit = patience(&model->scheme);
    report->doubts = 0;
    report->energy = report->work = report->dissipated = report->energy_gain = report->linearization_error = 0;
    *doubtful = false;
    if (monitor->off)
        return TD_OK;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const double *kept = numbers_of(monitor->kept, b);
        double *next = numbers_of(monitor->next, b);
        int inverted = report->inverted_elements;
        tdArrival arrival = {0};
        monitor->doubts[b] = 0;
        body->ops->arrive(model, body, state, &arrival);
        double unseen = noise(model, body), share = account(model, state, body, &arrival, unseen);
        double honest = next[TD_MONITOR_MOST] + unseen;
        if (!isfinite(arrival.elastic) || !(arrival.kinetic <= MOVING * limit * honest) || !(share <= GAIN_ABSURD))
            return refuse(model, state, body);
        if (share > (limit > 1 ? SWING : GAIN_DOUBTFUL))
            doubt(state, TD_DOUBT_ENERGY, b);
        if (share > GAIN_DOUBTFUL * limit && next[TD_MONITOR_GAIN] > kept[TD_MONITOR_GAIN])
            *doubtful = true;
        if (slowed(model, state, body, &arrival, unseen) > SLOWED)
        {
            doubt(state, TD_DOUBT_SPIN, b);
            *doubtful = *doubtful || next[TD_MONITOR_SLOWED] > kept[TD_MONITOR_SLOWED];
        }
        double curved = state->newton ? 0 : curvature(&arrival, next[TD_MONITOR_MOST], unseen);
        if (arrival.unpaid > UNPAID * honest)
            curved = fmax(curved, CURVED + arrival.unpaid / honest);
        report->linearization_error = fmax(report->linearization_error, curved);
        if (curved > CURVED)
        {
            doubt(state, TD_DOUBT_LINEARIZATION, b);
            *doubtful = true;
        }
        bool inside_out = report->inverted_elements > inverted;
        next[TD_MONITOR_INVERTED] = inside_out ? kept[TD_MONITOR_INVERTED] + 1 : 0;
        if (next[TD_MONITOR_INVERTED] > LONG)
            doubt(state, TD_DOUBT_INVERSION, b);
        judge_law(state, body);
    }
    return TD_OK;
}

bool td_monitor_tries(tdState *state)
{
    tdMonitor *monitor = state->monitor;
    if (monitor->waiting == 0)
        return true;
    monitor->waiting--;
    return false;
}

void td_monitor_tried(tdState *state, bool good)
{
    tdMonitor *monitor = state->monitor;
    int64_t longer = monitor->wait == 0 ? 1 : 2 * monitor->wait;
    monitor->wait = monitor->waiting = good ? 0 : longer < LONGEST_WAIT ? longer : LONGEST_WAIT;
}

// ---------------------------------------------------------------- what is said

// The two bodies that are deepest inside each other, at the start or at the end of the step.
static const int *deepest(const tdReport *report)
{
    return report->penetration_found > report->penetration_ratio ? report->penetration_found_body
                                                                 : report->penetration_body;
}

static void tell(const tdModel *model, tdState *state, tdDoubt kind, int b)
{
    const tdReport *report = &state->report;
    const double *kept = numbers_of(state->monitor->kept, b);
    const char *name = model->bodies[b].name, *way = remedy(model, &model->bodies[b]);
    char text[400] = "";
    switch (kind)
    {
    case TD_DOUBT_ENERGY:
        snprintf(text, sizeof text,
                 "body '%s' has gained %.3g J from nothing, %.0f %% of all the energy that it was given%s; %s", name,
                 kept[TD_MONITOR_GAIN], 100 * kept[TD_MONITOR_GAIN] / kept[TD_MONITOR_MOST],
                 patience(&model->scheme) > 1 ? ": its energy swings where the time step is near the longest stable one"
                                              : "",
                 way);
        break;
    case TD_DOUBT_SPIN:
        snprintf(
            text, sizeof text,
            "body '%s' has lost %.0f %% of its angular momentum to discretization error; use 'newton: true', 'law: "
            "corotational_lagged' or a smaller time_step",
            name, 100 * kept[TD_MONITOR_SLOWED]);
        break;
    case TD_DOUBT_LINEARIZATION:
        snprintf(text, sizeof text, "body '%s' moves too far in a step for one linearization (error %.2g); %s", name,
                 report->linearization_error, way);
        break;
    case TD_DOUBT_INVERSION:
        snprintf(text, sizeof text,
                 "body '%s' has had inverted elements for %d steps; use a smaller time_step, smaller loads or a "
                 "finer mesh",
                 name, LONG);
        break;
    case TD_DOUBT_LAW:
    {
        double turn = 0, far = model->bodies[b].ops->stray(&model->bodies[b], state, &turn);
        snprintf(text, sizeof text,
                 "body '%s' has left the range of 'law: linear': an element has turned by %.0f degrees (|F - I| = "
                 "%.2g), and positions and lengths are wrong; use 'law: corotational'",
                 name, turn * 57.29577951308232, far);
        break;
    }
    case TD_DOUBT_PENETRATION:
        snprintf(text, sizeof text,
                 "bodies '%s' and '%s' are inside each other by %.0f %% of the smaller one; use a smaller time_step, a "
                 "larger contact stiffness, or start them apart",
                 name, model->bodies[deepest(report)[1]].name,
                 100 * fmax(report->penetration_found, report->penetration_ratio));
        break;
    case TD_DOUBT_EJECTION:
        snprintf(
            text, sizeof text,
            "contact that was found deep has pushed bodies apart with %.3g J from nothing; start them apart, or use "
            "a smaller time_step",
            state->monitor->ejected);
        break;
    case TD_DOUBT_TUNNELLING:
        snprintf(text, sizeof text,
                 "%d pairs of bodies are so fast that they may have passed through each other; use a smaller time_step "
                 "or a larger contact margin",
                 report->tunnelled);
        break;
    }
    td_log(&state->settings, TD_LOG_WARNING, "t = %g s (step %lld): %s", state->time, (long long)state->steps, text);
}

// The report tells of each step, the log of the first.
static void tell_all(const tdModel *model, tdState *state)
{
    tdMonitor *monitor = state->monitor;
    for (int b = 0; b < model->n_bodies && state->report.doubts != 0; b++)
    {
        unsigned fresh = monitor->doubts[b] & ~monitor->told[b];
        for (unsigned bit = 1; bit <= fresh; bit <<= 1)
            if (fresh & bit)
                tell(model, state, (tdDoubt)bit, b);
        monitor->told[b] |= fresh;
    }
}

// Near-rigid points hold bodies apart and store nothing: what they give, and bodies move by, is from nothing.
static void judge_contact(const tdModel *model, tdState *state)
{
    tdMonitor *monitor = state->monitor;
    double honest = 0, faster = 0, pushed = state->contact->pushed;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const double *kept = numbers_of(monitor->kept, b), *next = numbers_of(monitor->next, b);
        honest += next[TD_MONITOR_MOST] + noise(model, &model->bodies[b]);
        faster += next[TD_MONITOR_KINETIC] - kept[TD_MONITOR_KINETIC];
    }
    double gain = pushed > 0 ? fmin(pushed, fmax(0, faster)) : pushed;
    monitor->ejected = fmax(0, monitor->ejected + gain);
    if (gain > 0 && monitor->ejected > GAIN_DOUBTFUL * honest)
        doubt(state, TD_DOUBT_EJECTION, 0);
}

// A material that relaxes has another potential in each step, by which the step was judged. What it stores is what
// would be left after relaxation; the rest of the work, in its terms for a while and then lost, is dissipated.
static void book_relaxation(const tdModel *model, tdState *state)
{
    tdReport *report = &state->report;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const double *kept = numbers_of(state->monitor->kept, b);
        double *next = numbers_of(state->monitor->next, b), stored = 0;
        if (isnan(state->monitor->change[b]))
            continue;
        model->bodies[b].ops->energy(model, &model->bodies[b], state, NULL, &stored);
        report->dissipated -= stored - kept[TD_MONITOR_ELASTIC] - state->monitor->change[b];
        report->energy += stored - next[TD_MONITOR_ELASTIC];
        next[TD_MONITOR_ELASTIC] = stored;
    }
}

// 'cg' keeps the factor of the first step for all that follows, which becomes worse the farther bodies bend, and each
// actuator has a solve of its own.
static void judge_solver(const tdModel *model, tdState *state)
{
    const tdReport *report = &state->report;
    int cost = 0, passes = report->newton_iterations > 1 ? report->newton_iterations : 1;
    for (int b = 0; b < model->n_bodies; b++)
        cost += model->bodies[b].ops->nodal ? model->bodies[b].soft->linear.factor_cost : 0;
    bool slow = model->settings.solver == TD_SOLVER_CG && report->cg_iterations > 2 * passes * cost;
    int *count = &state->monitor->slow;
    if (*count < SLOW) // then it has been told
        *count = slow ? *count + 1 : 0;
    else
        return;
    if (*count == SLOW)
        td_log(
            &state->settings, TD_LOG_WARNING,
            "t = %g s (step %lld): conjugate gradients take %d iterations per step, and a factorization would cost "
            "about as much as %d of them; 'solver: {type: cg}' keeps the factor of the first step, use 'type: auto', "
            "which makes a new one when that is cheaper",
            state->time, (long long)state->steps, report->cg_iterations, passes * cost);
}

void td_monitor_commit(const tdModel *model, tdState *state)
{
    tdMonitor *monitor = state->monitor;
    if (monitor->off)
        return;
    judge_solver(model, state);
    size_t bytes = TD_MONITOR_NUMBERS * (size_t)model->n_bodies * sizeof(double);
    if (fmax(state->report.penetration_found, state->report.penetration_ratio) > DEEP)
        doubt(state, TD_DOUBT_PENETRATION, deepest(&state->report)[0]);
    if (state->report.tunnelled > 0)
        doubt(state, TD_DOUBT_TUNNELLING, 0);
    if (state->contact != NULL)
        judge_contact(model, state);
    book_relaxation(model, state);
    memcpy(monitor->kept, monitor->next, bytes);
    for (int64_t i = 0; i < model->coords && monitor->last != monitor->outside; i++)
        monitor->last[i] = monitor->outside[i] / model->scheme.s;
    tell_all(model, state);
}

void td_monitor_static(const tdModel *model, tdState *state)
{
    judge_solver(model, state);
    for (int b = 0; b < model->n_bodies; b++)
    {
        state->monitor->doubts[b] = 0;
        judge_law(state, &model->bodies[b]);
    }
    tell_all(model, state);
}

int td_monitor_arrays(const tdModel *model, tdState *state, tdStateArray *out, int most)
{
    tdMonitor *monitor = state->monitor;
    tdStateArray list[] = {
        {"energy", -1, false, TD_MONITOR_NUMBERS * (int64_t)model->n_bodies, monitor->kept},
        {"energy_known", -1, true, 1, &monitor->known},
        {"ejected", -1, false, 1, &monitor->ejected},
        {"retry_waiting", -1, true, 1, &monitor->waiting},
        {"retry_wait", -1, true, 1, &monitor->wait},
        // Of Runge-Kutta's it is made anew in each step.
        {"outside", -1, false, model->scheme.method == TD_METHOD_NEWMARK ? model->coords : 0, monitor->last},
    };
    int n = 0;
    for (; n < (int)(sizeof list / sizeof list[0]) && n < most; n++)
        out[n] = list[n];
    return n;
}

const char *td_doubt_name(tdDoubt doubt)
{
    switch (doubt)
    {
    case TD_DOUBT_ENERGY: return "energy from nothing";
    case TD_DOUBT_LINEARIZATION: return "far from its linearization";
    case TD_DOUBT_INVERSION: return "inverted elements";
    case TD_DOUBT_PENETRATION: return "deep penetration";
    case TD_DOUBT_TUNNELLING: return "passed through";
    case TD_DOUBT_EJECTION: return "pushed apart";
    case TD_DOUBT_LAW: return "beyond the linear law";
    case TD_DOUBT_SPIN: return "angular momentum lost";
    }
    return "unknown";
}

// ---------------------------------------------------------------- known beforehand

const char *td_monitor_caveat(const tdScheme *scheme, bool newton, const tdLaw *law)
{
    bool damps = td_scheme_settles(scheme), lagged = law->rotation == TD_ROTATION_LAGGED;
    if (scheme->method == TD_METHOD_STATIC)
        return NULL;
    if (scheme->ce == 0)
        return "explicit steps keep energy bounded only below the time step that the smallest element allows";
    if (law->constant)
        return NULL;
    if (lagged && damps)
        return "elastic energy is too large in steps in which the body rotates far, and vanishes in the next one; use "
               "law "
               "'corotational' or a smaller time_step where that is reported";
    if (lagged)
        return "rotations of the step's start gain energy with an integrator that does not damp; use law "
               "'corotational', or 'method: backward_euler'";
    if (damps && newton)
        return NULL;
    if (damps)
        return "one linearization can gain energy where a step is large; such steps are repeated with Newton's method";
    return newton ? "an integrator that does not damp keeps the energy of this law to second order of the time step "
                    "only; watch energy_gain in the report"
                  : "one linearization with an integrator that does not damp can gain energy; use 'newton: true', or "
                    "'method: backward_euler'";
}
