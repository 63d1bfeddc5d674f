// SPDX-License-Identifier: Apache-2.0
// The free motion of an articulated body with one linearization a step,
//
//     A (v - start) + m + s [ laws(v) + b(v) ] = 0          A, m: without laws and Coriolis forces b, at the first q_e
//
// The laws of joints and b are taken at the velocity that comes out, for different reasons. Half of the laws are not
// there at the start of the step: a limit that is not reached yet, a servo that will be at the end of its effort. b,
// here with Newmark's method alone (articulated_drift.c has it otherwise), does no work, but taken at the start of the
// step it feeds a body that tumbles with energy until it bursts.
//
// In sweeps, laws are linear about the last velocity: friction by its secant at first, which never overshoots, then by
// its tangent, which is faster. b is as it was at the last velocity, which gains a factor of the step times the rates;
// where that is not enough, Newton's method, whose matrix is not symmetric, finds the velocity. In the end A has the
// slopes of the laws, of friction the secant: then friction only brakes, whatever constraints do to the velocity
// afterwards. m has all the rest, and A is symmetric and definite.
//
// Where a contact solver takes limits and servos (rows_apart), the free motion has neither: arms would fall and
// fingers whirl. Sweeps find the velocity with them, as far as contacts leave it, and friction is that of this
// velocity; then A and m are made without them.
//
// A joint whose position is given has that rate, not the one that the effort of the last step would give it: a light
// joint would run far away, and laws and b would be taken there. Sweeps hold it, and A and m are made without that, at
// the velocity that was found.
#include "body/articulated.h"

#include <math.h>
#include <string.h>

#define SWEEPS  40   // limits and clamps are right after a few
#define PATIENT 6    // sweeps before Newton's method
#define CAREFUL 1    // sweeps with secants
#define ENOUGH  1e-6 // of momentum and Coriolis forces,
#define FINE    1e-3 // and of the laws
#define HOLD    1e8  // times its inertia: a joint that is held at a rate

// ---------------------------------------------------------------- joints whose position is given

// Their rates into `asked`, of the others NAN. False: there is none.
static bool ask_rates(const tdBody *body, const tdState *state)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    bool any = false;
    for (int64_t i = 0; i < body->count; i++)
    {
        mine->asked[i] = state->asked[body->first + i];
        any = any || !isnan(mine->asked[i]);
    }
    return any;
}

// Holds them, or lets go of them again.
static void hold_rates(const tdBody *body, const tdState *state, bool hold)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count;
    double *bias = mine->asked + n, *diagonal = mine->asked + 2 * n; // as they are without
    for (int64_t i = 0; i < n; i++)
    {
        if (isnan(mine->asked[i]))
            continue;
        if (!hold)
        {
            mine->bias[i] = bias[i];
            mine->diagonal[i] = diagonal[i];
            continue;
        }
        bias[i] = mine->bias[i];
        diagonal[i] = mine->diagonal[i];
        mine->diagonal[i] *= HOLD;
        mine->bias[i] = -mine->diagonal[i] * (mine->asked[i] - state->v_new[body->first + i]);
        mine->trial[i] = mine->asked[i];
    }
}

// ---------------------------------------------------------------- at a trial velocity

static bool has_laws(const tdArticulated *given)
{
    return given->n_frictions + given->n_servos + given->n_limits > 0;
}

// Laws, their slopes by v, and b at the trial velocity, of which v_e stays in `trial_v`.
static void evaluate(const tdModel *model, const tdBody *body, tdState *state, bool secant)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    const tdScheme scheme = td_articulated_law_scheme(model);
    const double none[3] = {0, 0, 0};
    int64_t n = body->count;
    double *q_e = td_scratch_take(state), *v_e = mine->trial_v;
    td_scheme_evaluate(&scheme, n, state->q + body->first, state->v + body->first, state->a + body->first, mine->trial,
                       q_e, v_e, mine->rhs);
    memcpy(mine->before, mine->turning, (size_t)n * sizeof(double));
    if (!td_articulated_drifts(model))
        td_tree_inverse(given, v_e, NULL, none, &mine->at, mine->turning);
    bool laws = has_laws(given);
    if (laws)
        td_articulated_laws(model, body, state, q_e, v_e, secant);
    td_scratch_give(state, q_e);
    for (int64_t i = 0; i < n && laws; i++)
        mine->slope[i] = scheme.ce * mine->law[n + i] + scheme.de * mine->law[2 * n + i];
}

// L of A. A body that is alone mostly has the A that it had.
static bool factor(const tdArticulated *given, tdArticulatedState *mine)
{
    size_t bytes = (size_t)given->n * (size_t)given->n * sizeof(double);
    if (!given->alone)
        return td_small_cholesky(given->n, mine->A, mine->L);
    if (mine->factor_known && memcmp(mine->factored, mine->A, bytes) == 0)
        return true;
    memcpy(mine->factored, mine->A, bytes);
    return mine->factor_known = td_small_cholesky(given->n, mine->A, mine->L);
}

// A and m with what was evaluated at the trial velocity, and dv. Another factor only where slopes have changed.
static bool solve_about(const tdModel *model, const tdBody *body, tdState *state, bool first)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count;
    double s = model->scheme.s, *m = state->m + body->first, *dv = state->dv + body->first;
    const double *start = state->v_new + body->first;
    bool same = !first;
    for (int64_t i = 0; i < n; i++)
    {
        double diagonal = mine->diagonal[i] + s * mine->slope[i];
        same = same && mine->A[i * n + i] == diagonal;
        mine->A[i * n + i] = diagonal;
        m[i] = mine->bias[i] + s * (mine->law[i] + mine->turning[i] - mine->slope[i] * (mine->trial[i] - start[i]));
        dv[i] = -m[i];
    }
    if (!same && !factor(td_articulated_of(body), mine))
        return false;
    td_small_solve((int)n, mine->L, dv);
    return true;
}

// What is left of the balance at the trial velocity, A (trial - start - dv), into rhs. Returns how large it is, in
// units of what would be small beside the terms of each coordinate; *turned: the same of the last change of b.
static double imbalance(const tdModel *model, const tdBody *body, const tdState *state, double *turned)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count;
    const double *start = state->v_new + body->first, *dv = state->dv + body->first;
    double s = model->scheme.s, size = 0, worst = 0;
    double *off = mine->expected; // for the moment only
    memset(mine->rhs, 0, (size_t)n * sizeof *mine->rhs);
    for (int64_t i = 0; i < n; i++)
        off[i] = mine->trial[i] - start[i] - dv[i];
    td_small_multiply(n, 1, mine->A, off, mine->rhs);
    for (int64_t i = 0; i < n; i++)
        if (isnan(mine->asked[i]))
            size = fmax(size, fabs(mine->bias[i]) + s * (fabs(mine->law[i]) + fabs(mine->turning[i])));
    *turned = 0;
    for (int64_t i = 0; i < n; i++)
    {
        double small =
            ENOUGH * (fabs(mine->bias[i]) + s * fabs(mine->turning[i]) + 1e-4 * size) + FINE * s * fabs(mine->law[i]);
        worst = fmax(worst, small > 0 ? fabs(mine->rhs[i]) / small : 0);
        *turned = fmax(*turned, small > 0 ? s * fabs(mine->turning[i] - mine->before[i]) / small : 0);
    }
    return worst;
}

// Newton's step from the trial velocity: b is quadratic, db/dv e = b(v + e) - b(v) - b(e).
static bool newton_step(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = given->n;
    const double *v_e = mine->trial_v, none[3] = {0, 0, 0};
    double *at = td_scratch_take(state), *both = mine->expected, *alone = mine->before; // both for the moment only
    memcpy(mine->slope_A, mine->A, (size_t)(n * n) * sizeof(double));
    for (int64_t j = 0; j < n; j++)
    {
        memset(at, 0, (size_t)n * sizeof *at);
        at[j] = 1;
        td_tree_inverse(given, at, NULL, none, &mine->at, alone);
        memcpy(at, v_e, (size_t)n * sizeof *at);
        at[j] += 1;
        td_tree_inverse(given, at, NULL, none, &mine->at, both);
        for (int64_t i = 0; i < n; i++)
            mine->slope_A[i * n + j] += model->scheme.s * model->scheme.de * (both[i] - mine->turning[i] - alone[i]);
    }
    td_scratch_give(state, at);
    if (!td_small_eliminate((int)n, mine->slope_A, mine->rhs))
        return false;
    for (int64_t i = 0; i < n; i++)
        mine->trial[i] -= mine->rhs[i];
    return true;
}

// No law acts at the trial velocity: no limit is near, no joint has friction or a servo.
static bool is_quiet(const tdModel *model, const tdBody *body, const tdState *state)
{
    const tdArticulatedState *mine = td_articulated_mine(body, state);
    if (!td_articulated_drifts(model))
        return false;
    for (int64_t i = 0; i < body->count; i++)
        if (mine->law[i] != 0 || mine->slope[i] != 0)
            return false;
    return true;
}

// Where no law acts at the velocity of the start, nor at the one that comes out, one solution is all there is to do.
// reads  A, trial      writes  dv, trial      *found: so it was      returns  false: A is not definite
static bool find_quietly(const tdModel *model, const tdBody *body, tdState *state, bool *found)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    evaluate(model, body, state, true);
    *found = false;
    if (!is_quiet(model, body, state))
        return true;
    if (!solve_about(model, body, state, true))
        return false;
    for (int64_t i = 0; i < body->count; i++)
        mine->trial[i] = state->v_new[body->first + i] + state->dv[body->first + i];
    evaluate(model, body, state, true);
    *found = is_quiet(model, body, state);
    return true;
}

// Sweeps to the velocity at which the balance holds, into trial. False: A is not definite.
static bool find_velocity(const tdModel *model, const tdBody *body, tdState *state, bool *found)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count;
    const double *start = state->v_new + body->first, *dv = state->dv + body->first;
    bool secant = true;
    double last = INFINITY, turned = 0;
    if (!find_quietly(model, body, state, found))
        return false;
    if (*found)
        return true;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
    {
        evaluate(model, body, state, secant);
        if (!solve_about(model, body, state, sweep == 0))
            return false;
        double left = imbalance(model, body, state, &turned);
        if (left <= 1 && secant)
            break;
        // A tangent that leads away was none of the place where the solution is.
        secant = left <= 1 || sweep < CAREFUL || left > last || sweep == SWEEPS - 2;
        last = left;
        if (left <= 1)
            continue; // once more, with the secants
        if (sweep >= PATIENT && turned > 1 && model->scheme.de > 0 && newton_step(model, body, state))
            continue;
        for (int64_t i = 0; i < n; i++)
            mine->trial[i] = start[i] + dv[i];
    }
    return true;
}

tdStatus td_articulated_linear_motion(const tdModel *model, const tdBody *body, tdState *state)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count;
    td_articulated_matrix(model, body, state, true);
    if (mine->stiffened && !factor(td_articulated_of(body), mine))
        td_articulated_matrix(model, body, state, false);
    memcpy(mine->bias, state->m + body->first, (size_t)n * sizeof(double));
    memcpy(mine->trial, state->v + body->first, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++)
    {
        mine->diagonal[i] = mine->A[i * n + i];
        mine->law[i] = mine->slope[i] = mine->turning[i] = 0;
    }
    if (td_articulated_drifts(model) && !has_laws(td_articulated_of(body)))
    {
        if (!solve_about(model, body, state, true))
            return td_articulated_indefinite(model, state);
        td_articulated_solved(body, state);
        return TD_OK;
    }
    // Rows of the contact problem are all that is not linear: no velocity has to be known before.
    if (td_articulated_drifts(model) && body->rows_apart && td_articulated_of(body)->n_frictions == 0)
    {
        if (td_articulated_of(body)->n_servos > 0)
            evaluate(model, body, state, true);
        if (!solve_about(model, body, state, true))
            return td_articulated_indefinite(model, state);
        td_articulated_solved(body, state);
        return TD_OK;
    }
    mine->foreseeing = true;
    bool asked = ask_rates(body, state), quiet = false;
    hold_rates(body, state, true);
    bool good = find_velocity(model, body, state, &quiet);
    mine->foreseeing = false;
    hold_rates(body, state, false);
    if (good && (asked || (body->rows_apart && !quiet))) // where no law acts there is none to be left out
    {
        evaluate(model, body, state, true);
        good = solve_about(model, body, state, true);
    }
    if (!good)
        return td_articulated_indefinite(model, state);
    td_articulated_solved(body, state);
    return TD_OK;
}

// ---------------------------------------------------------------- what constraints made of it

#define FAR 1e-3 // of the largest change of velocity in the step: nearer, laws are as they were foreseen

// Constraints may change the velocity that the laws were taken at: a joint whose position is given and whose effort has
// an end, a cable, a rod. A servo that was foreseen at one end of its effort may then be at the other, and it would
// drive what it should brake. What such laws did in the step beyond what they can do at the velocity that came out, in
// J.
double td_articulated_astray(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count;
    const double *v = state->v_new + body->first, *before = state->v + body->first;
    double far = 0, change = 0, sum = 0;
    if (given->n_servos + given->n_limits == 0 || body->rows_apart)
        return 0;
    for (int64_t i = 0; i < n; i++)
    {
        far = fmax(far, fabs(v[i] - mine->trial[i]));
        change = fmax(change, fmax(fabs(v[i] - before[i]), fabs(mine->trial[i] - before[i])));
    }
    if (far <= FAR * change)
        return 0;
    double *did = td_scratch_take(state);
    for (int64_t i = 0; i < n; i++)
    {
        did[i] = mine->law[i] + mine->slope[i] * (v[i] - mine->trial[i]);
        mine->trial[i] = v[i];
    }
    evaluate(model, body, state, true);
    for (int64_t i = 0; i < n; i++)
        sum += fmax(0, (mine->law[i] - did[i]) * mine->trial_v[i]);
    td_scratch_give(state, did);
    return model->scheme.h * sum;
}
