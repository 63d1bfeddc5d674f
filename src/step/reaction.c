// SPDX-License-Identifier: Apache-2.0
// What the supports of a body bear. Held nodes of a soft body have their reactions from the momentum balance of the
// step. Links on a fixed base have no coordinate there, so that the base is left over when all else is counted:
//
//     base = (p_end - p_start) / h - gravity - contacts - attachments and rods - cables and forces - springs
//
// with the momentum p of all links. Motors, servos and limits act between links and cancel.
#include "body/soft.h"
#include "body/spring.h"
#include "constraint/constraint.h"
#include "contact/contact.h"

#include <assert.h>
#include <math.h>

static void add(double sum[3], double factor, const double f[3])
{
    for (int c = 0; c < 3; c++)
        sum[c] += factor * f[c];
}

static void add_contacts(const tdState *state, int body, double sum[3])
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    for (int64_t i = 0; i < n; i++)
    {
        add(sum, points[i].body[1] == body, points[i].force);
        add(sum, -(points[i].body[0] == body), points[i].force);
    }
}

// Forces of cables and force actuators at the points of the body, where they are now.
static void add_actuator(const tdModel *model, const tdState *state, int a, int body, double sum[3])
{
    const tdActuator *actuator = &model->actuators[a];
    const tdMeasure *measure = &actuator->measure;
    tdConstraintState *cs = state->constraint;
    if (actuator->held || (measure->kind != TD_MEASURE_LENGTH && measure->kind != TD_MEASURE_ALONG))
        return;
    double value[3];
    td_constraint_points(model, state, measure, state->q, cs->x);
    if (actuator->given->friction > 0)
    {
        td_cable_shares(measure, cs->x, actuator->given->friction * cs->slide[a], cs->share);
        td_cable_gradient(measure, cs->x, cs->share, cs->gradient);
    }
    else
        td_measure(measure, cs->x, NULL, value, cs->gradient);
    int32_t first = 0;
    for (int s = 0; s < measure->n_sets; first += measure->sets[s++].n)
        for (int32_t p = 0; measure->sets[s].body == body && p < measure->sets[s].n; p++)
            add(sum, actuator->sign * cs->effort[a], cs->gradient + 3 * (int64_t)(first + p));
}

static void base_reaction(const tdModel *model, const tdState *state, int body, const double gain[3],
                          const double weight[3], double force[3])
{
    double outside[3] = {0, 0, 0}, point[3], f[3];
    add(outside, 1, weight);
    add_contacts(state, body, outside);
    td_bond_force(model, state, body, outside);
    for (int a = 0; a < model->n_actuators; a++)
        add_actuator(model, state, a, body, outside);
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
        if (td_spring_get(state->springs, k, &spring) && spring.body == body &&
            td_state_spring(model, state, k, point, f))
            add(outside, 1, f);
    for (int c = 0; c < 3; c++)
        force[c] = gain[c] - outside[c];
}

void td_state_reaction(const tdModel *model, const tdState *state, int body, double force[3])
{
    assert(state->model == model && body >= 0 && body < model->n_bodies);
    const tdBody *b = &model->bodies[body];
    double gain[3], weight[3];
    if (b->ops->gain != NULL && b->ops->gain(b, state, gain, weight))
    {
        base_reaction(model, state, body, gain, weight, force);
        return;
    }
    // The supports of a reduced body are in no mode; a body that nothing holds has none.
    force[0] = force[1] = force[2] = b->ops->nodal || !b->soft->supported ? 0 : NAN;
    for (int32_t k = 0; k < b->n_held && b->ops->nodal; k++)
        force[b->held[k] % 3] += state->reaction[b->first + b->held[k]];
}
