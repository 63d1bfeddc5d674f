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

bool td_contact_side(const tdModel *model, tdState *state, const tdContactSide *side, double sign, double frame[3][3],
                     double *drift)
{
    tdContactState *cs = state->contact;
    const tdBody *body = side_body(model, side);
    const tdContactBody *mine = &cs->bodies[body->index];
    const tdBodyBlock *part = mine->block < 0 || !mine->acted_on ? NULL : &mine->part;
    double *J = NULL;
    int32_t *columns = NULL;
    if (part != NULL && td_problem_side(cs->problem, mine->block, part->touched, &J, &columns) == NULL)
        return false;
    int32_t n = body->ops->touch(body, state, side, model->contact->colliders[side->collider].link, part, sign, frame,
                                 J, columns, drift);
    for (int32_t k = 0; k < n; k++)
        columns[k] += mine->n_scalar;
    if (part != NULL)
        td_problem_side_is(cs->problem, n);
    return true;
}

// ---------------------------------------------------------------- forces

void td_contact_push_side(const tdModel *model, const tdState *state, const tdContactSide *side, const double f[3],
                          double *m)
{
    const tdContactCollider *collider = &model->contact->colliders[side->collider];
    const tdBody *body = &model->bodies[collider->body];
    body->ops->push(body, state, side, collider->link, f, m + body->first);
}
