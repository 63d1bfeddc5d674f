// SPDX-License-Identifier: Apache-2.0
// Stiffness of what actuators pull and press on: their forces turn with the points they act at.
//
//     d force_i = -H_ij d x_j,   H = -effort sign d2 measure / dx2
//
// H_ij of points of one body belong to its A. Bodies have an A each, so that between two of them there is no place for
// H_ij. Left out, a cable from a to b would hold each end back as if the other stood still in space, and brake two
// bodies that fly side by side. So in the first pass, where forces are those of the start of the step, the other end
// moves on as it did: what moves uniformly feels nothing. Newton's method takes forces at the iterate and needs none of
// this.
#include "constraint/constraint.h"

#include "core/cable.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

typedef struct stiffening
{
    const tdModel *model;
    tdState *state;
    const tdMeasure *measure;
    double factor;
    bool definite;
    // of td_constraint_lead
    const double *own, *other; ///< by point: its way to where A has it, and to where it is expected
    double *force;             ///< by point
} stiffening;

static const tdPointSet *set_of(const tdMeasure *measure, int32_t *point)
{
    const tdPointSet *set = measure->sets;
    while (*point >= set->n)
        *point -= (set++)->n;
    return set;
}

static bool is_between_bodies(const tdMeasure *measure)
{
    int bodies = 0;
    for (int s = 0; s < measure->n_sets; s++)
        bodies += measure->sets[s].body >= 0;
    return bodies > 1;
}

const double *td_measure_place(const tdState *state, const tdMeasure *measure)
{
    return is_between_bodies(measure) ? state->q_r : state->q_c;
}

// ---------------------------------------------------------------- inside a body

static void stiffen(void *context, int32_t i, int32_t j, const double H[9])
{
    const stiffening *w = context;
    const tdPointSet *a = set_of(w->measure, &i), *b = set_of(w->measure, &j);
    if (a != b || a->body < 0)
        return;
    double scaled[9];
    for (int k = 0; k < 9; k++)
        scaled[k] = w->factor * H[k];
    const tdBody *body = &w->model->bodies[a->body];
    body->ops->stiffen(w->model, body, w->state, a, i, j, scaled, w->definite);
}

// Bodies that turn: the gradient, in cs->gradient, times a factor is that of a potential.
static void bend(const tdModel *model, tdState *state, const tdMeasure *measure, double factor)
{
    double *f = state->constraint->gradient;
    for (int s = 0; s < measure->n_sets; f += 3 * (int64_t)measure->sets[s].n, s++)
    {
        const tdPointSet *set = &measure->sets[s];
        const tdBody *body = set->body < 0 ? NULL : &model->bodies[set->body];
        if (body == NULL || body->ops->bend == NULL)
            continue;
        for (int64_t k = 0; k < 3 * (int64_t)set->n; k++)
            f[k] *= factor;
        body->ops->bend(body, state, set, state->q_c + body->first, f);
    }
}

void td_constraint_stiffen(const tdModel *model, tdState *state, int a, const double *share)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdMeasure *measure = &actuator->measure;
    const tdConstraintState *cs = state->constraint;
    bend(model, state, measure, share == NULL ? -cs->effort[a] * actuator->sign : -cs->effort[a]);
    if (measure->kind == TD_MEASURE_ALONG)
        return;
    // A taut cable stiffens (its length is a convex function), a pressure may do either.
    stiffening w = {.model = model,
                    .state = state,
                    .measure = measure,
                    .factor = -cs->effort[a] * actuator->sign,
                    .definite = measure->kind == TD_MEASURE_LENGTH};
    td_measure_stiffness(measure, cs->x, share, stiffen, &w);
}

// ---------------------------------------------------------------- between bodies

static void turn(const double H[9], double factor, const double way[3], double force[3])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            force[r] += factor * H[3 * r + c] * way[c];
}

// H is symmetric.
static void lead(void *context, int32_t i, int32_t j, const double H[9])
{
    const stiffening *w = context;
    int32_t at_i = i, at_j = j;
    bool same = set_of(w->measure, &at_i) == set_of(w->measure, &at_j);
    const double *way = same ? w->own : w->other;
    turn(H, w->factor, way + 3 * (int64_t)j, w->force + 3 * (int64_t)i);
    if (i != j)
        turn(H, w->factor, way + 3 * (int64_t)i, w->force + 3 * (int64_t)j);
}

// Where coordinates are taken if they go on as they did, or are moved as is known.
static void expect(const tdModel *model, const tdState *state, double *q)
{
    for (int64_t i = 0; i < model->coords; i++)
        q[i] = state->q_c[i] + model->scheme.c * (state->v[i] - state->v_new[i]);
    for (int b = 0; b < model->n_bodies; b++)
        for (int32_t k = 0; k < model->bodies[b].n_held; k++)
        {
            int64_t i = model->bodies[b].first + model->bodies[b].held[k];
            q[i] = state->q_end[i];
        }
}

static void lead_cable(const tdModel *model, tdState *state, int a, const double *q)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdMeasure *measure = &actuator->measure;
    const tdScheme *scheme = &model->scheme;
    tdConstraintState *cs = state->constraint;
    int64_t n = 3 * (int64_t)measure->n;
    double *own = cs->gradient, *other = own + n, *force = other + n,
           *share = actuator->given->friction > 0 ? cs->share : NULL;
    td_constraint_points(model, state, measure, state->q_c, own);
    td_constraint_points(model, state, measure, q, other);
    td_constraint_points(model, state, measure, state->q_r, cs->x);
    for (int64_t k = 0; k < n; k++)
    {
        own[k] -= cs->x[k];
        other[k] -= cs->x[k];
        force[k] = 0;
    }
    if (share != NULL)
        td_cable_shares(measure, cs->x, actuator->given->friction * cs->slide[a], share);
    // A has s ce H against velocities, which go c as far.
    stiffening w = {.measure = measure,
                    .factor = -cs->effort[a] * actuator->sign * scheme->s * scheme->ce / scheme->c,
                    .own = own,
                    .other = other,
                    .force = force};
    td_measure_stiffness(measure, cs->x, share, lead, &w);
    td_constraint_carry(model, state, measure, state->q_r, force, cs->row);
    int64_t start = model->row_start[actuator->row];
    for (int64_t k = start; k < model->row_start[actuator->row + 1]; k++)
        state->m[model->row_coord[k]] += cs->row[k - start];
}

void td_constraint_lead(const tdModel *model, tdState *state)
{
    double *q = NULL;
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdMeasure *measure = &model->actuators[a].measure;
        if (measure->kind != TD_MEASURE_LENGTH || state->constraint->effort[a] == 0 || !is_between_bodies(measure))
            continue;
        if (q == NULL)
        {
            q = td_scratch_take(state);
            expect(model, state, q);
        }
        lead_cable(model, state, a, q);
    }
    if (q != NULL)
        td_scratch_give(state, q);
}
