// SPDX-License-Identifier: Apache-2.0
// What the supports of a body bear. Held nodes of a soft body have their reactions from the momentum balance of the
// step. Links on a fixed base have no coordinate there, so that the base is left over when all else is counted:
//
//     base = (p_end - p_start) / h - gravity - contacts - attachments and rods - cables and forces - springs
//
// with the momentum p of all links. Motors, servos and limits act between links and cancel.
#include "step/reaction.h"

#include "body/soft.h"
#include "body/spring.h"
#include "constraint/constraint.h"
#include "contact/contact.h"
#include "core/parts.h"

#include <assert.h>
#include <math.h>

// ---------------------------------------------------------------- forces from outside

static void visit_contacts(const tdModel *model, const tdState *state, int b, tdLoadVisit *visit, void *context)
{
    const tdContactPoint *points = NULL;
    const tdBody *body = &model->bodies[b];
    int64_t n = td_state_contacts(state, &points);
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < 2; s++)
        {
            const tdContact *contact = &state->contact->contacts[i];
            double x[3], f[3], torque[3];
            tdPose pose;
            if (points[i].body[s] != b)
                continue;
            body->ops->part(body, state, state->q + body->first, NULL, points[i].link[s], &pose, NULL);
            td_place(&pose, s == 0 ? contact->a.local : contact->b.local, x);
            for (int c = 0; c < 3; c++)
            {
                f[c] = s == 0 ? -points[i].force[c] : points[i].force[c];
                torque[c] = s == 0 ? -points[i].torque[c] : points[i].torque[c];
            }
            visit(context, points[i].link[s], x, f, torque);
        }
}

static void visit_bonds(const tdModel *model, const tdState *state, int b, tdLoadVisit *visit, void *context)
{
    for (int i = 0; model->contact != NULL && i < model->contact->n_bonds; i++)
        for (int s = 0; s < 2; s++)
        {
            const tdPointSet *set = &model->contact->bonds[i].side[s];
            double x[3], f[3];
            if (set->body == b && td_bond_side_force(model, state, i, s, x, f))
                visit(context, model->bodies[b].parts->of_node[set->nodes[0]], x, f, NULL);
        }
}

// A force at a point, which is a mean of nodes: of one part, or each node's share at its own part.
static void visit_point(const tdModel *model, const tdState *state, const tdPointSet *set, int32_t p, const double x[3],
                        const double f[3], tdLoadVisit *visit, void *context)
{
    const tdBody *body = &model->bodies[set->body];
    const int32_t *of_node = body->parts->of_node;
    bool one = true;
    for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
        one = one && of_node[set->nodes[k]] == of_node[set->nodes[set->start[p]]];
    if (one)
    {
        visit(context, of_node[set->nodes[set->start[p]]], x, f, NULL);
        return;
    }
    const double *nodes = body->ops->nodes(model, body, state);
    for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
    {
        double share[3];
        for (int c = 0; c < 3; c++)
            share[c] = set->weights[k] * f[c];
        visit(context, of_node[set->nodes[k]], nodes + 3 * (int64_t)set->nodes[k], share, NULL);
    }
}

// Cables and force actuators at the points of the body, where they are now.
static void visit_actuator(const tdModel *model, const tdState *state, int a, int b, tdLoadVisit *visit, void *context)
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
        for (int32_t p = 0; measure->sets[s].body == b && p < measure->sets[s].n; p++)
        {
            double f[3];
            for (int c = 0; c < 3; c++)
                f[c] = actuator->sign * cs->effort[a] * cs->gradient[3 * (int64_t)(first + p) + c];
            visit_point(model, state, &measure->sets[s], p, cs->x + 3 * (int64_t)(first + p), f, visit, context);
        }
}

void td_part_loads(const tdModel *model, const tdState *state, int b, tdLoadVisit *visit, void *context)
{
    double x[3], f[3];
    tdSpring spring;
    visit_contacts(model, state, b, visit, context);
    visit_bonds(model, state, b, visit, context);
    for (int a = 0; a < model->n_actuators; a++)
        visit_actuator(model, state, a, b, visit, context);
    for (int k = 0; k < TD_SPRINGS; k++)
        if (td_spring_get(state->springs, k, &spring) && spring.body == b && td_state_spring(model, state, k, x, f))
            visit(context, model->bodies[b].parts->of_node[spring.nodes[0]], x, f, NULL);
}

// ---------------------------------------------------------------- the base

static void take_away(void *context, int part, const double x[3], const double f[3], const double *torque)
{
    double *force = context;
    (void)part;
    (void)torque;
    (void)x;
    for (int c = 0; c < 3; c++)
        force[c] -= f[c];
}

void td_state_reaction(const tdModel *model, const tdState *state, int body, double force[3])
{
    assert(state->model == model && body >= 0 && body < model->n_bodies);
    const tdBody *b = &model->bodies[body];
    double gain[3], weight[3];
    if (b->ops->gain != NULL && b->ops->gain(b, state, gain, weight))
    {
        for (int c = 0; c < 3; c++)
            force[c] = gain[c] - weight[c];
        td_part_loads(model, state, body, take_away, force);
        return;
    }
    // The supports of a reduced body are in no mode; a body that nothing holds has none.
    force[0] = force[1] = force[2] = b->ops->nodal || !b->soft->supported ? 0 : NAN;
    for (int32_t k = 0; k < b->n_held && b->ops->nodal; k++)
        force[b->held[k] % 3] += state->reaction[b->first + b->held[k]];
}
