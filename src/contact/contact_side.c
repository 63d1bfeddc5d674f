// SPDX-License-Identifier: Apache-2.0
// One side of a contact: where its material points are, their rows over the block of the body, and what a force there
// does to the momentum balance.
#include "contact/contact.h"

#include "core/state.h"

#include <assert.h>

static const tdBody *side_body(const tdModel *model, const tdContactSide *side)
{
    return &model->bodies[model->contact->colliders[side->collider].body];
}

// ---------------------------------------------------------------- where it is

static void add_node(tdSidePoint *out, int32_t node, double weight)
{
    int32_t k = 0;
    while (k < out->point.n && out->node[k] != node)
        k++;
    assert(k < TD_TOUCH_NODES);
    if (k == out->point.n)
    {
        out->node[out->point.n++] = node;
        out->weight[k] = 0;
    }
    out->weight[k] += weight;
}

const tdTouchPoint *td_contact_side_point(const tdModel *model, const tdContactSide *side, tdSidePoint *out)
{
    int f = model->contact->colliders[side->collider].field;
    const tdContactField *field = f >= 0 ? &model->contact->fields[f] : NULL;
    out->point = (tdTouchPoint){side->n, side->node, side->weight, side->local};
    if (field == NULL || field->n_points == 0)
        return &out->point;
    out->point = (tdTouchPoint){0, out->node, out->weight, side->local};
    for (int k = 0; k < side->n; k++)
        for (int32_t i = field->start[side->node[k]]; i < field->start[side->node[k] + 1]; i++)
            add_node(out, field->node[i], side->weight[k] * field->weight[i]);
    return &out->point;
}

// Points of a surface of its own from the nodes that carry them.
static void place_points(const tdContactField *field, const double *nodes, double *points)
{
    for (int32_t p = 0; p < field->n_points; p++)
        for (int c = 0; c < 3; c++)
        {
            double sum = 0;
            for (int32_t i = field->start[p]; i < field->start[p + 1]; i++)
                sum += field->weight[i] * nodes[3 * (int64_t)field->node[i] + c];
            points[3 * (int64_t)p + c] = sum;
        }
}

void td_contact_place(const tdModel *model, tdState *state, int f)
{
    const tdContactField *field = &model->contact->fields[f];
    tdContactState *cs = state->contact;
    const tdBody *body = &model->bodies[field->body];
    if (!body->ops->nodal) // only nodes of the surface: a reduced body expands what can touch
        body->ops->surface(body, state, field->n_nodes, field->nodes, cs->field_x[f], cs->field_v[f]);
    cs->x[f] = body->ops->nodal ? state->q + body->first : cs->field_x[f];
    cs->v[f] = body->ops->nodal ? state->v + body->first : cs->field_v[f];
    if (field->n_points == 0)
        return;
    place_points(field, cs->x[f], cs->point_x[f]);
    place_points(field, cs->v[f], cs->point_v[f]);
    cs->x[f] = cs->point_x[f];
    cs->v[f] = cs->point_v[f];
}

// ---------------------------------------------------------------- rows

int64_t td_contact_side_columns(const tdModel *model, const tdContactState *cs, const tdContactSide *side)
{
    const tdContactBody *mine = &cs->bodies[side_body(model, side)->index];
    tdSidePoint at;
    int32_t own = 3 * td_contact_side_point(model, side, &at)->n;
    return mine->block < 0 ? 0 : mine->part.touched > own ? mine->part.touched : own;
}

void td_contact_side(const tdModel *model, tdState *state, const tdContactSide *side, double sign, double frame[3][3],
                     tdSapConstraint *constraint, double *drift)
{
    tdContactState *cs = state->contact;
    const tdBody *body = side_body(model, side);
    const tdContactBody *mine = &cs->bodies[body->index];
    double *J = cs->pool + cs->pool_used;
    int32_t *columns = cs->columns + cs->columns_used;
    tdSidePoint at;
    int32_t n = body->ops->touch(body, state, td_contact_side_point(model, side, &at),
                                 model->contact->colliders[side->collider].link, mine->block < 0 ? NULL : &mine->part,
                                 sign, frame, J, columns, drift);
    if (n == 0)
        return;
    constraint->side[constraint->sides++] = (tdSapSide){.block = mine->block, .count = n, .columns = columns, .J = J};
    cs->pool_used += 3 * (int64_t)n;
    cs->columns_used += n;
}

// ---------------------------------------------------------------- forces

void td_contact_push_side(const tdModel *model, const tdState *state, const tdContactSide *side, const double f[3],
                          double *m)
{
    const tdContactCollider *collider = &model->contact->colliders[side->collider];
    const tdBody *body = &model->bodies[collider->body];
    tdSidePoint at;
    body->ops->push(body, state, td_contact_side_point(model, side, &at), collider->link, f, m + body->first);
}
