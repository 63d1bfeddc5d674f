// SPDX-License-Identifier: Apache-2.0
// One side of a contact: where its material points are, their rows over the block of the body, and what a force there
// does to the momentum balance.
#include "contact/contact.h"

#include "core/state.h"

static const tdBody *side_body(const tdModel *model, const tdContactSide *side)
{
    return &model->bodies[model->contact->colliders[side->collider].body];
}

// ---------------------------------------------------------------- where it is

void td_contact_place(const tdModel *model, tdState *state, int f)
{
    const tdContactField *field = &model->contact->fields[f];
    tdContactState *cs = state->contact;
    const tdBody *body = &model->bodies[field->body];
    if (!body->ops->nodal) // only nodes of the surface: a reduced body expands what can touch
        body->ops->surface(body, state, field->n_nodes, field->nodes, cs->field_x[f], cs->field_v[f]);
    cs->x[f] = body->ops->nodal ? state->q + body->first : cs->field_x[f];
    cs->v[f] = body->ops->nodal ? state->v + body->first : cs->field_v[f];
}

// ---------------------------------------------------------------- rows

int64_t td_contact_side_columns(const tdModel *model, const tdContactState *cs, const tdContactSide *side)
{
    const tdContactBody *mine = &cs->bodies[side_body(model, side)->index];
    return mine->block < 0 ? 0 : mine->part.touched;
}

void td_contact_side(const tdModel *model, tdState *state, const tdContactSide *side, double sign, double frame[3][3],
                     tdSapConstraint *constraint, double *drift)
{
    tdContactState *cs = state->contact;
    const tdBody *body = side_body(model, side);
    const tdContactBody *mine = &cs->bodies[body->index];
    double *J = cs->pool + cs->pool_used;
    int32_t *columns = cs->columns + cs->columns_used;
    int32_t n = body->ops->touch(body, state, side, model->contact->colliders[side->collider].link,
                                 mine->block < 0 ? NULL : &mine->part, sign, frame, J, columns, drift);
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
    body->ops->push(body, state, side, collider->link, f, m + body->first);
}
