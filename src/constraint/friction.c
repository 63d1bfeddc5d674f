// SPDX-License-Identifier: Apache-2.0
#include "constraint/friction.h"

#include "core/state.h"

#include <math.h>
#include <string.h>

#define ROUNDS 60
#define STEADY 1e-8 // of the sense of sliding, and of the effort

typedef struct tdFriction
{
    int n;            ///< what may change in this linearization: slide or effort of a cable
    int *cable;       ///< their actuators
    bool *slides;     ///< which of the two
    double *b, *Y;    ///< of a unit of it, over all coordinates
    double *dv, *m;   ///< the free motion
    double *effort;   ///< by actuator: before the problem
    double *followed; ///< by actuator: effort as the free motion has it
    double *slid;     ///< by actuator: effort with which its slide has it
    double *first;    ///< by actuator: slide before the problem
} tdFriction;

tdStatus td_friction_create(const tdModel *model, tdState *state, tdError *error)
{
    int64_t cables = 0;
    for (int a = 0; a < model->n_actuators; a++)
        cables += 2 * (model->actuators[a].given->friction > 0);
    if (cables == 0)
        return TD_OK;
    tdArena *arena = &state->arena;
    tdFriction *friction = state->friction = TD_TAKE(arena, tdFriction, 1);
    if (friction == NULL)
        return td_fail_memory(error, "the friction of cables");
    friction->cable = TD_TAKE(arena, int, cables);
    friction->slides = TD_TAKE(arena, bool, cables);
    friction->b = TD_TAKE(arena, double, cables * model->coords);
    friction->Y = TD_TAKE(arena, double, cables * model->coords);
    friction->dv = TD_TAKE(arena, double, model->coords);
    friction->m = TD_TAKE(arena, double, model->coords);
    friction->effort = TD_TAKE(arena, double, model->n_actuators);
    friction->followed = TD_TAKE(arena, double, model->n_actuators);
    friction->first = TD_TAKE(arena, double, model->n_actuators);
    friction->slid = TD_TAKE(arena, double, model->n_actuators);
    if (friction->cable == NULL || friction->b == NULL || friction->Y == NULL || friction->dv == NULL ||
        friction->m == NULL || friction->effort == NULL || friction->followed == NULL || friction->first == NULL ||
        friction->slid == NULL || friction->slides == NULL)
        return td_fail_memory(error, "the friction of cables");
    return TD_OK;
}

// Whether the sense in which a cable slides has to be found with the motion: where its force is given.
static bool slides(const tdModel *model, const tdState *state, int a)
{
    const tdConstraintState *cs = state->constraint;
    return model->actuators[a].given->friction > 0 && cs->role[a] == TD_ROLE_EFFORT && cs->effort[a] > 0;
}

// Whether its effort may change by a row beside contact, which pushes by J where the cable does by F: one that is
// driven by displacement, or held back by a stop. Inverse control has columns of its own, by F.
static bool pushes(const tdModel *model, const tdState *state, int a)
{
    const tdConstraintState *cs = state->constraint;
    const double *stop = cs->travel_limit + 2 * a;
    bool stops = cs->role[a] == TD_ROLE_EFFORT && (isfinite(stop[0]) || isfinite(stop[1]));
    return model->actuators[a].given->friction > 0 && state->joined && (stops || cs->role[a] == TD_ROLE_DISPLACEMENT);
}

bool td_friction_slides(const tdModel *model, const tdState *state)
{
    for (int a = 0; state->friction != NULL && a < model->n_actuators; a++)
        if (slides(model, state, a))
            return true;
    return false;
}

// b of a cable, what it is multiplied by being the change of its slide or of its effort; and what bodies answer. Cables
// between bodies act on both.
static tdStatus answer(const tdModel *model, tdState *state, int a, bool by_slide, double *b, double *Y)
{
    const tdConstraintState *cs = state->constraint;
    int row = model->actuators[a].row;
    memset(b, 0, (size_t)model->coords * sizeof *b);
    memset(Y, 0, (size_t)model->coords * sizeof *Y);
    if (by_slide)
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
        for (int by_slide = 0; by_slide < 2; by_slide++)
            if (by_slide ? slides(model, state, a) : pushes(model, state, a))
            {
                friction->slides[friction->n] = by_slide;
                friction->cable[friction->n++] = a;
            }
    for (int k = 0; k < friction->n; k++)
        TD_TRY(answer(model, state, friction->cable[k], friction->slides[k], friction->b + k * model->coords,
                      friction->Y + k * model->coords));
    memcpy(friction->dv, state->dv, (size_t)model->coords * sizeof(double));
    memcpy(friction->m, state->m, (size_t)model->coords * sizeof(double));
    memcpy(friction->effort, state->constraint->effort, (size_t)model->n_actuators * sizeof(double));
    memcpy(friction->followed, state->constraint->effort, (size_t)model->n_actuators * sizeof(double));
    memcpy(friction->slid, state->constraint->effort, (size_t)model->n_actuators * sizeof(double));
    memcpy(friction->first, state->constraint->slide, (size_t)model->n_actuators * sizeof(double));
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

// The sense of sliding that goes with dv, where a change of it by one moves bodies by Y times `share`.
static double slide_of(const tdModel *model, const tdState *state, int a, double share, const double *Y)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdConstraintState *cs = state->constraint;
    double slope = fmin(model->scheme.c * share * td_row_dot(model, cs->J, actuator->row, Y), 0) / actuator->slip;
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
    if (friction->slides[k])
    {
        // b is that of the effort before; at a stop there is less of it.
        double share = cs->effort[a] / friction->effort[a], before = friction->slid[a] / friction->effort[a];
        double slide = cs->effort[a] > 0 ? slide_of(model, state, a, share, Y) : cs->slide[a];
        change = share * (slide - cs->slide[a]) + (share - before) * (cs->slide[a] - friction->first[a]);
        cs->slide[a] = slide;
        friction->slid[a] = cs->effort[a];
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
