// SPDX-License-Identifier: Apache-2.0
// Driven actuators where nothing touches: what each is asked for, as a box problem of their compliance
// (solve/driven.h).
//
//     second(y) = second(now) + M (y - now) = asked   where lo < y < hi
//
// y is an effort, second the displacement that goes with it; of held coordinates the other way round.
#include "constraint/condense.h"

#include "core/state.h"
#include "solve/problem.h"

#include <math.h>

// A cavity with a given amount of gas: (p + ambient) V = ambient (V_rest + gas). Linearized in V, that is a row with
// a compliance: V + R p = target.
void td_condense_gas(const tdModel *model, const tdConstraintState *cs, int a, double *compliance, double *target)
{
    const tdActuator *actuator = &model->actuators[a];
    double ambient = actuator->given->ambient;
    double rest = actuator->rest_value, amount = ambient * fmax(rest + cs->given[a], 1e-9 * rest);
    double volume = fmax(rest + cs->travel[a], 1e-9 * rest), pressure = amount / volume - ambient;
    *compliance = volume * volume / amount;
    *target = cs->travel[a] + *compliance * pressure;
}

// A little of the diagonal keeps actuators apart that do the same; it resists changes of effort only, so that nothing
// is left of it when they have settled.
#define SAME_TWICE TD_SAP_NEAR_RIGID(TD_SAP_BETA_BOX) // as rows of the convex problem

// Given effort: as given between the stops, less than that at one. Returns the second quantity that goes with it, which
// would be `there` with the effort that is given.
static double stop_law(const tdState *state, struct tdCondensed *cd, int k, double there)
{
    int a = cd->unknown[k];
    const tdConstraintState *cs = state->constraint;
    const double *effort = cs->effort_limit + 2 * a, *travel = cs->travel_limit + 2 * a;
    bool upper = there > travel[1], lower = there < travel[0];
    cd->lo[k] = upper ? effort[0] : cs->given[a];
    cd->hi[k] = lower ? effort[1] : cs->given[a];
    return upper ? travel[1] : lower ? travel[0] : there;
}

void td_condense_law(const tdModel *model, const tdState *state, struct tdCondensed *cd, int k)
{
    const tdConstraintState *cs = state->constraint;
    int a = cd->unknown[k];
    const double *effort = cs->effort_limit + 2 * a;
    double *diagonal = &cd->M[k * cd->n + k], target = cs->given[a];
    if (model->actuators[a].held)
    {
        cd->lo[k] = cs->travel_limit[2 * a];
        cd->hi[k] = cs->travel_limit[2 * a + 1];
    }
    else if (cs->role[a] == TD_ROLE_GAS)
    {
        double compliance = 0;
        td_condense_gas(model, cs, a, &compliance, &target);
        *diagonal += compliance;
        cd->second[k] += compliance * cd->now[k];
        cd->lo[k] = effort[0];
        cd->hi[k] = effort[1];
    }
    else if (cs->role[a] == TD_ROLE_DISPLACEMENT)
    {
        cd->lo[k] = effort[0];
        cd->hi[k] = effort[1];
    }
    else
        target = stop_law(state, cd, k, cd->second[k] + *diagonal * (cs->given[a] - cd->now[k]));
    *diagonal += SAME_TWICE * *diagonal;
    cd->b[k] = cd->second[k] - target;
}

// Whether unknowns between their limits do not do what is asked, because they do the same and are asked for different
// things: only the little that keeps them apart, with efforts beyond all measure, makes the equations hold. Of what
// is asked, relative to sizes, a hundredth counts; less than rounding leaves does not.
static bool contradicts(const tdModel *model, const struct tdCondensed *cd, double asked)
{
    if (asked < 1e-9)
        return false;
    for (int k = 0; k < cd->n; k++)
    {
        const tdActuator *actuator = &model->actuators[cd->unknown[k]];
        double apart = SAME_TWICE / (1 + SAME_TWICE) * cd->M[k * cd->n + k] * (cd->next[k] - cd->now[k]);
        if (!actuator->held && cd->lo[k] < cd->next[k] && cd->next[k] < cd->hi[k] &&
            fabs(apart) > 0.01 * asked * actuator->size)
            return true;
    }
    return false;
}

// How much is asked for, relative to sizes.
static double asked_for(const tdModel *model, const struct tdCondensed *cd)
{
    double asked = 0;
    for (int k = 0; k < cd->n; k++)
        if (!model->actuators[cd->unknown[k]].held)
            asked = fmax(asked, fabs(cd->b[k]) / model->actuators[cd->unknown[k]].size);
    return asked;
}

#define PAST 1e-9 // of its size: an actuator is past a stop

// Which stops actuators come to was guessed with the others as they were. Where the solution takes one past a stop all
// the same, that stop is its law, and the problem is solved again.
static bool passes_stop(void *context, tdProblem *problem, const tdSolveResult *result)
{
    const tdState *state = context;
    const tdModel *model = state->model;
    const tdConstraintState *cs = state->constraint;
    struct tdCondensed *cd = cs->condensed;
    bool changed = false;
    (void)result;
    if (!problem->scalar.solved || cd->stop_rounds++ >= 2 * cd->n)
        return false;
    for (int k = 0; k < cd->n; k++)
    {
        int a = cd->unknown[k];
        const double *travel = cs->travel_limit + 2 * a;
        double there = cd->second[k], past = PAST * model->actuators[a].size;
        if (model->actuators[a].held || cs->role[a] != TD_ROLE_EFFORT || cd->next[k] != cs->given[a])
            continue;
        for (int j = 0; j < cd->n; j++)
            there += cd->M[k * cd->n + j] * (cd->next[j] - cd->now[j]);
        if (there <= travel[1] + past && there >= travel[0] - past)
            continue;
        cd->b[k] = cd->second[k] - stop_law(state, cd, k, there);
        for (int j = 0; j < cd->n; j++)
            cd->b[k] -= cd->M[k * cd->n + j] * cd->now[j];
        cd->unknown_active[k] = 0;
        changed = true;
    }
    return changed;
}

void td_condense_driven(const tdModel *model, tdState *state, struct tdCondensed *cd)
{
    tdScalarRows *rows = &state->problem->scalar;
    for (int k = 0; k < cd->n; k++)
    {
        td_condense_law(model, state, cd, k);
        cd->unknown_active[k] = cd->active[cd->unknown[k]];
    }
    cd->asked = asked_for(model, cd);
    for (int k = 0; k < cd->n; k++)
        for (int j = 0; j < cd->n; j++)
            cd->b[k] -= cd->M[k * cd->n + j] * cd->now[j];
    rows->driven = (tdDrivenProblem){cd->n, cd->M, cd->b, cd->lo, cd->hi};
    rows->y = cd->next;
    rows->active = cd->unknown_active;
    rows->scratch = cd->scratch;
    cd->stop_rounds = 0;
    state->problem->again = passes_stop;
    state->problem->context = state;
}

tdStatus td_condense_driven_take(const tdModel *model, tdState *state, struct tdCondensed *cd)
{
    for (int k = 0; k < cd->n; k++)
        cd->active[cd->unknown[k]] = cd->unknown_active[k];
    if (state->problem->scalar.solved && !contradicts(model, cd, cd->asked))
        return TD_OK;
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "the driven actuators demand the impossible at t = %g s (step %lld): their displacements contradict "
                   "each other or the limits of their efforts; drive one of them by effort, or widen its effort_range",
                   state->time + model->scheme.h, (long long)state->steps + 1);
}
