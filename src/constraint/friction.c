// SPDX-License-Identifier: Apache-2.0
#include "constraint/friction.h"

#include "core/state.h"

#include <math.h>
#include <string.h>

#define ROUNDS 60
#define STEADY 1e-8 // of the sense of sliding, and of the effort

typedef struct tdFriction
{
    int n;            ///< cables in this linearization
    int *cable;       ///< their actuators
    double *b, *Y;    ///< by cable, over all coordinates: of a unit of slide, or of effort
    double *dv, *m;   ///< the free motion
    double *effort;   ///< by actuator: before the problem
    double *followed; ///< by actuator: as the free motion has it
} tdFriction;

tdStatus td_friction_create(const tdModel *model, tdState *state, tdError *error)
{
    int64_t cables = 0;
    for (int a = 0; a < model->n_actuators; a++)
        cables += model->actuators[a].given->friction > 0;
    if (cables == 0)
        return TD_OK;
    tdArena *arena = &state->arena;
    tdFriction *friction = state->friction = TD_TAKE(arena, tdFriction, 1);
    if (friction == NULL)
        return td_fail_memory(error, "the friction of cables");
    friction->cable = TD_TAKE(arena, int, cables);
    friction->b = TD_TAKE(arena, double, cables * model->coords);
    friction->Y = TD_TAKE(arena, double, cables * model->coords);
    friction->dv = TD_TAKE(arena, double, model->coords);
    friction->m = TD_TAKE(arena, double, model->coords);
    friction->effort = TD_TAKE(arena, double, model->n_actuators);
    friction->followed = TD_TAKE(arena, double, model->n_actuators);
    if (friction->cable == NULL || friction->b == NULL || friction->Y == NULL || friction->dv == NULL ||
        friction->m == NULL || friction->effort == NULL || friction->followed == NULL)
        return td_fail_memory(error, "the friction of cables");
    return TD_OK;
}

static bool is_slid(const tdState *state, int a)
{
    return state->constraint->role[a] == TD_ROLE_EFFORT;
}

// Whether a cable's friction has to be found with the motion.
static bool takes_part(const tdModel *model, const tdState *state, int a)
{
    if (!(model->actuators[a].given->friction > 0))
        return false;
    return is_slid(state, a) ? state->constraint->effort[a] > 0 : state->joined;
}

bool td_friction_slides(const tdModel *model, const tdState *state)
{
    for (int a = 0; state->friction != NULL && a < model->n_actuators; a++)
        if (takes_part(model, state, a) && is_slid(state, a))
            return true;
    return false;
}

// b of a cable, what it is multiplied by being the change of its slide or of its effort; and what bodies answer. Cables
// between bodies act on both.
static tdStatus answer(const tdModel *model, tdState *state, int a, double *b, double *Y)
{
    const tdConstraintState *cs = state->constraint;
    int row = model->actuators[a].row;
    memset(b, 0, (size_t)model->coords * sizeof *b);
    memset(Y, 0, (size_t)model->coords * sizeof *Y);
    if (is_slid(state, a))
        td_constraint_slide_force(model, state, a, b);
    else
        for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
            b[model->row_coord[k]] += model->scheme.s * (cs->F[k] - cs->J[k]);
    for (int i = 0; i < model->n_bodies; i++)
    {
        const tdBody *body = &model->bodies[i];
        TD_TRY(body->ops->apply_inverse(model, body, state, 1, model->coords, b + body->first, Y + body->first));
    }
    return TD_OK;
}

tdStatus td_friction_start(const tdModel *model, tdState *state)
{
    tdFriction *friction = state->friction;
    if (friction == NULL)
        return TD_OK;
    friction->n = 0;
    for (int a = 0; a < model->n_actuators; a++)
        if (takes_part(model, state, a))
            friction->cable[friction->n++] = a;
    for (int k = 0; k < friction->n; k++)
        TD_TRY(
            answer(model, state, friction->cable[k], friction->b + k * model->coords, friction->Y + k * model->coords));
    memcpy(friction->dv, state->dv, (size_t)model->coords * sizeof(double));
    memcpy(friction->m, state->m, (size_t)model->coords * sizeof(double));
    memcpy(friction->effort, state->constraint->effort, (size_t)model->n_actuators * sizeof(double));
    memcpy(friction->followed, state->constraint->effort, (size_t)model->n_actuators * sizeof(double));
    return TD_OK;
}

// The travel at the end of the step as dv has it.
static double travel_ahead(const tdModel *model, const tdState *state, int a)
{
    const tdConstraintState *cs = state->constraint;
    double *way = td_scratch_take(state);
    for (int64_t i = 0; i < model->coords; i++)
        way[i] = model->scheme.c * state->dv[i];
    for (int b = 0; b < model->n_bodies; b++)
        for (int32_t k = 0; k < model->bodies[b].n_held; k++)
        {
            int64_t i = model->bodies[b].first + model->bodies[b].held[k];
            way[i] += state->q_end[i] - state->q_c[i];
        }
    double travel = cs->travel[a] + td_row_dot(model, cs->J, model->actuators[a].row, way);
    td_scratch_give(state, way);
    return travel;
}

// The sense of sliding that goes with dv, where a change of it by one moves bodies by Y.
static double slide_of(const tdModel *model, const tdState *state, int a, const double *Y)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdConstraintState *cs = state->constraint;
    double slope = fmin(model->scheme.c * td_row_dot(model, cs->J, actuator->row, Y), 0) / actuator->slip;
    double start = cs->displacement_start[a] - actuator->compliance * cs->effort_start[a];
    double ahead = cs->slide_start[a] + (travel_ahead(model, state, a) - start) / actuator->slip;
    return fmin(fmax((ahead - slope * cs->slide[a]) / (1 - slope), -1), 1);
}

// The free motion as the last solution has it, from the change of a cable since; returns that change.
static double follow(const tdModel *model, tdState *state, int k)
{
    tdFriction *friction = state->friction;
    tdConstraintState *cs = state->constraint;
    const double *b = friction->b + k * model->coords, *Y = friction->Y + k * model->coords;
    int a = friction->cable[k];
    double change = 0, size = 1;
    if (is_slid(state, a))
    {
        double slide = cs->effort[a] > 0 ? slide_of(model, state, a, Y) : cs->slide[a];
        change = slide - cs->slide[a];
        cs->slide[a] = slide;
        // The next cable sees it.
        for (int64_t i = 0; i < model->coords; i++)
        {
            friction->m[i] -= change * b[i];
            state->m[i] -= change * b[i];
            state->dv[i] += change * Y[i];
        }
    }
    else
    {
        change = cs->effort[a] - friction->followed[a];
        size = fmax(fabs(cs->effort[a]), fabs(friction->effort[a]));
        friction->followed[a] = cs->effort[a];
    }
    for (int64_t i = 0; i < model->coords; i++)
        friction->dv[i] += change * Y[i];
    return size > 0 ? fabs(change) / size : 0;
}

bool td_friction_changed(const tdModel *model, tdState *state, int round)
{
    tdFriction *friction = state->friction;
    double change = 0;
    for (int k = 0; friction != NULL && k < friction->n; k++)
        change = fmax(change, follow(model, state, k));
    if (change <= STEADY)
        return false;
    if (round + 1 == ROUNDS)
    {
        state->report.contact_limit = state->report.contact_limit || change > 1e-3;
        return false;
    }
    memcpy(state->dv, friction->dv, (size_t)model->coords * sizeof(double));
    memcpy(state->m, friction->m, (size_t)model->coords * sizeof(double));
    memcpy(state->constraint->effort, friction->effort, (size_t)model->n_actuators * sizeof(double));
    return true;
}
