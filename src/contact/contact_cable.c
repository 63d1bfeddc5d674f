// SPDX-License-Identifier: Apache-2.0
// Friction of cables beside contact. Rows of the convex problem push as they measure, by J'. A cable with friction
// pushes by F', which differs by what the guides take:
//
//     effort is given       F changes with the sense of sliding, which goes with the motion (constraint/friction.h)
//     effort is unknown     the problem finds it with J'; s (F - J)' times its change is left over
//
// Both are answered by A^-1 as part of the free motion, and the problem is solved again until nothing changes: friction
// takes a share of a tension, so that each round leaves a part of the change before.
#include "contact/contact.h"

#include "constraint/constraint.h"
#include "constraint/friction.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

#define ROUNDS 60
#define STEADY 1e-8 // of the sense of sliding, and of the effort

static bool has_friction(const tdModel *model, int a)
{
    return model->actuators[a].given->friction > 0;
}

tdStatus td_contact_cables_create(const tdModel *model, tdState *state, tdError *error)
{
    tdContactState *cs = state->contact;
    int cables = 0;
    for (int a = 0; a < model->n_actuators; a++)
        cables += has_friction(model, a);
    if (cables == 0 || model->contact->by_response)
        return TD_OK;
    cs->cable_b = TD_TAKE(&state->arena, double, cables * model->coords);
    cs->cable_Y = TD_TAKE(&state->arena, double, cables * model->coords);
    cs->free_dv = TD_TAKE(&state->arena, double, model->coords);
    cs->free_m = TD_TAKE(&state->arena, double, model->coords);
    cs->effort_before = TD_TAKE(&state->arena, double, 2 * (int64_t)model->n_actuators);
    if (cs->cable_b == NULL || cs->cable_Y == NULL || cs->free_dv == NULL || cs->free_m == NULL ||
        cs->effort_before == NULL)
        return td_fail_memory(error, "the friction of cables");
    return TD_OK;
}

static bool is_slid(const tdState *state, int a)
{
    return state->constraint->role[a] == TD_ROLE_EFFORT;
}

// b of a cable, what it is multiplied by being the change of its slide or of its effort; and what bodies answer.
static tdStatus answer(const tdModel *model, tdState *state, int a, double *b, double *Y)
{
    const tdConstraintState *rows = state->constraint;
    memset(b, 0, (size_t)model->coords * sizeof *b);
    if (is_slid(state, a))
        td_constraint_slide_force(model, state, a, b);
    else
        for (int64_t k = model->row_start[model->actuators[a].row]; k < model->row_start[model->actuators[a].row + 1];
             k++)
            b[model->row_coord[k]] += model->scheme.s * (rows->F[k] - rows->J[k]);
    return td_friction_answer(model, state, b, Y);
}

// The free motion as the last solution has it, from the change of cable a since; the largest change of all.
static double follow(const tdModel *model, tdState *state, int a, const double *b, const double *Y)
{
    tdContactState *cs = state->contact;
    tdConstraintState *rows = state->constraint;
    double *known = cs->effort_before + model->n_actuators + a, change = 0, size = 1;
    if (is_slid(state, a))
    {
        double slide = rows->effort[a] > 0 ? td_friction_slide(model, state, a, Y) : rows->slide[a];
        change = slide - rows->slide[a];
        rows->slide[a] = slide;
        for (int64_t i = 0; i < model->coords; i++)
            cs->free_m[i] -= change * b[i];
    }
    else
    {
        change = rows->effort[a] - *known;
        size = fmax(fabs(rows->effort[a]), fabs(cs->effort_before[a]));
        *known = rows->effort[a];
    }
    for (int64_t i = 0; i < model->coords; i++)
        cs->free_dv[i] += change * Y[i];
    return size > 0 ? fabs(change) / size : 0;
}

tdStatus td_contact_solve_cables(const tdModel *model, tdState *state, bool first)
{
    tdContactState *cs = state->contact;
    tdConstraintState *rows = state->constraint;
    size_t coords = (size_t)model->coords * sizeof(double), actuators = (size_t)model->n_actuators * sizeof(double);
    if (cs->cable_b == NULL)
        return td_contact_solve(model, state, first);
    memcpy(cs->free_dv, state->dv, coords);
    memcpy(cs->free_m, state->m, coords);
    memcpy(cs->effort_before, rows->effort, actuators);
    memcpy(cs->effort_before + model->n_actuators, rows->effort, actuators);
    int64_t at = 0;
    for (int a = 0; a < model->n_actuators; a++)
        if (has_friction(model, a))
        {
            TD_TRY(answer(model, state, a, cs->cable_b + at, cs->cable_Y + at));
            at += model->coords;
        }
    for (int round = 0;; round++)
    {
        double change = 0;
        TD_TRY(td_contact_solve(model, state, first));
        at = 0;
        for (int a = 0; a < model->n_actuators; a++)
            if (has_friction(model, a))
            {
                change = fmax(change, follow(model, state, a, cs->cable_b + at, cs->cable_Y + at));
                at += model->coords;
            }
        if (change <= STEADY || round + 1 == ROUNDS)
        {
            state->report.contact_limit = state->report.contact_limit || change > 1e-3;
            return TD_OK;
        }
        memcpy(state->dv, cs->free_dv, coords);
        memcpy(state->m, cs->free_m, coords);
        memcpy(rows->effort, cs->effort_before, actuators);
    }
}
