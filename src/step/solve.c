// SPDX-License-Identifier: Apache-2.0
// The stages free and solve: motion without a change of efforts, then everything that acts as rows of one problem.
//
//     free   v* of each body, by a factor of its A         -> dv
//     solve  rows -> td_solve -> dv, efforts               again where points that were left out would bear a force,
//                                                          where friction of cables changes, and where columns are
//                                                          approximate, until the momentum balance is met
#include "constraint/condense.h"
#include "constraint/friction.h"
#include "contact/contact.h"
#include "step/stage.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- free

// sure: of each body, although the problem might find it on its way.
static tdStatus free_motion(const tdModel *model, tdState *state, bool sure)
{
    state->rhs = state->slope = 0;
    state->sparing = !sure && td_contact_spares(model, state);
    state->calm = state->sparing && td_contact_is_calm(model, state);
    td_condense_ahead(model, state);
    for (int b = 0; b < model->n_bodies; b++)
    {
        if (td_contact_sleeps(state->contact, b))
            continue;
        tdStatus status = model->bodies[b].ops->free_motion(model, &model->bodies[b], state);
        if (status == TD_OK)
            continue;
        char why[sizeof state->report.error.message];
        memcpy(why, state->report.error.message, sizeof why);
        return td_fail(&state->report.error, status, "body '%s', t = %g s (step %lld): %.480s", model->bodies[b].name,
                       state->time + model->scheme.h, (long long)state->steps + 1, why);
    }
    td_contact_lull(model, state, false);
    return TD_OK;
}

tdStatus td_stage_free(const tdModel *model, tdState *state)
{
    return free_motion(model, state, false);
}

// ---------------------------------------------------------------- solve

// reads  rows, A, dv      writes  problem
static tdStatus add_rows(const tdModel *model, tdState *state, bool first, bool fresh)
{
    td_problem_clear(state->problem);
    TD_TRY(td_bonds_respond(model, state, first, fresh));
    TD_TRY(td_condense_rows(model, state, first, fresh));
    return state->joined ? td_contact_problem(model, state, first, fresh) : TD_OK;
}

// reads  solution      writes  dv, m, efforts
static tdStatus take_solution(const tdModel *model, tdState *state, const tdSolveResult *result)
{
    if (state->problem->steer.n > 0)
        td_contact_steer_take(model, state);
    TD_TRY(td_condense_take(model, state));
    if (state->joined)
        TD_TRY(td_contact_take(model, state, result));
    td_bonds_take(model, state);
    td_contact_lull(model, state, true);
    return TD_OK;
}

static tdSolveMethod method_of(const tdModel *model, const tdState *state)
{
    if (state->problem->scalar.inverse != NULL || state->problem->steer.n > 0)
        return TD_SOLVE_INVERSE;
    return model->contact_solver == TD_CONTACT_NLCP ? TD_SOLVE_COULOMB : TD_SOLVE_CONVEX;
}

// The problem, until none of the points that were left out of it would bear a force.
static tdStatus solve_grown(const tdModel *model, tdState *state, bool first, bool fresh, double tolerance,
                            tdSolveResult *result)
{
    bool grown = false, again = false;
    int before = 0; // iterations
    do
    {
        TD_TRY(add_rows(model, state, first, fresh && (!grown || again)));
        tdStatus status =
            td_solve(state->problem, method_of(model, state), tolerance, state->tasks, result, &state->report.error);
        TD_TRY(td_check_cancel(state->tasks, &state->report.error));
        bool unsure = state->joined && td_contact_spared(model, state);
        again = unsure && (result->shifted || status == TD_ERROR_NUMERIC);
        if (again)
        {
            // Its A may not be definite, which the free motion finds out and mends.
            TD_TRY(free_motion(model, state, true));
            continue;
        }
        if (status != TD_OK)
            return td_contact_fail(model, state, status);
        TD_TRY(td_contact_grow(model, state, &grown, &again));
        if (again)
            TD_TRY(free_motion(model, state, false));
        before = result->iterations += before;
    } while (grown || again);
    return TD_OK;
}

// What a solution by approximate columns began with: corrections put it back.
typedef struct tdBegun
{
    double *dv, *m;
    double scale;
} tdBegun;

static bool is_rough(const tdModel *model, const tdState *state)
{
    bool rough = false;
    for (int b = 0; b < model->n_bodies && state->ahead.n > 0; b++)
        rough = rough || state->ahead.rough[b];
    return rough;
}

// What the solution leaves of the momentum balance of a rough body is added to its free motion.
static tdStatus correct_body(const tdModel *model, tdState *state, const tdBody *body, int round, double *dv, bool *met)
{
    double *x = td_scratch_take(state) + body->first;
    tdStatus status = body->ops->correct(model, body, state, round, x, met);
    for (int64_t i = 0; i < body->count && status == TD_OK && !*met && state->ahead.rough[body->index]; i++)
        dv[body->first + i] += x[i];
    td_scratch_give(state, x - body->first);
    return status;
}

// Whether the solution leaves something of the momentum balance. Then the problem is to be solved again, from where it
// began, with free motions that were corrected. *fresh: with other columns, because corrections brought too little.
static tdStatus correct(const tdModel *model, tdState *state, const tdBegun *begun, int round, bool *again, bool *fresh)
{
    struct tdColumnsAhead *ahead = &state->ahead;
    *again = *fresh = false;
    for (int b = 0; b < model->n_bodies; b++)
    {
        bool met = true;
        ahead->redo[b] = ahead->rough[b];
        if (ahead->rough[b])
            TD_TRY(correct_body(model, state, &model->bodies[b], round, begun->dv, &met));
        ahead->redo[b] = ahead->redo[b] && !ahead->rough[b];
        *fresh = *fresh || ahead->redo[b];
        *again = *again || !met;
    }
    if (!*again)
        return TD_OK;
    memcpy(state->dv, begun->dv, (size_t)model->coords * sizeof(double));
    memcpy(state->m, begun->m, (size_t)model->coords * sizeof(double));
    state->scale = begun->scale;
    td_condense_back(model, state);
    ahead->exactly = true;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (!ahead->redo[b])
            continue;
        TD_TRY(body->ops->free_motion(model, body, state));
        memcpy(begun->dv + body->first, state->dv + body->first, (size_t)body->count * sizeof(double));
    }
    return td_check_cancel(state->tasks, &state->report.error);
}

// The problem by columns that are approximate, until the solution meets the momentum balance: what it misses is put
// into the free motion. The laws are those of the exact problem, so that it ends at its solution; columns decide only
// how fast.
static tdStatus solve_rough(const tdModel *model, tdState *state, bool first)
{
    tdBegun begun = {.dv = td_scratch_take(state), .scale = state->scale};
    begun.m = td_scratch_take(state);
    memcpy(begun.dv, state->dv, (size_t)model->coords * sizeof(double));
    memcpy(begun.m, state->m, (size_t)model->coords * sizeof(double));
    tdStatus status = TD_OK;
    bool again = true, fresh = true;
    for (int round = 0; again && status == TD_OK; round++)
    {
        tdSolveResult result;
        status = solve_grown(model, state, first, fresh, INFINITY, &result);
        if (status == TD_OK)
            status = take_solution(model, state, &result);
        if (status == TD_OK)
            status = correct(model, state, &begun, round, &again, &fresh);
    }
    td_scratch_give(state, begun.m);
    td_scratch_give(state, begun.dv);
    return status;
}

// Everything that acts, as rows of one problem. Its solution corrects dv by A^-1 J' times the change of the efforts;
// without rows the free motion is the motion. Friction of cables is part of the free motion and may change with it.
// Newton's line search goes with the new efforts from the start, so that dv leads downhill.
tdStatus td_stage_solve(const tdModel *model, tdState *state, bool first, int *unknowns)
{
    // Newton's own tolerance is beyond that of the problem.
    double tolerance = state->newton ? 0.1 * model->settings.tolerance : INFINITY;
    *unknowns =
        td_condense_unknowns(model, state) + td_friction_slides(model, state) + state->joined + (state->bonded != NULL);
    if (is_rough(model, state))
        return solve_rough(model, state, first); // of one linearization: no line search follows
    TD_TRY(td_friction_start(model, state));
    int round = 0;
    do
    {
        tdSolveResult result;
        TD_TRY(solve_grown(model, state, first, round == 0, tolerance, &result));
        TD_TRY(take_solution(model, state, &result));
    } while (td_friction_changed(model, state, round++));
    if (*unknowns == 0)
        return TD_OK;
    if (td_condense_unknowns(model, state) > 0)
        state->rhs = fmax(state->rhs, td_condense_push(model, state));
    state->rhs = fmax(state->rhs, td_step_residual(model, state));
    state->slope = td_dot(state->tasks, model->coords, state->dv, state->m_free);
    return TD_OK;
}
