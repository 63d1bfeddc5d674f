// SPDX-License-Identifier: Apache-2.0
// One side of a contact: where its material points are, their rows over the coordinates of the body, and what a force
// there does to the momentum balance. All that contact knows of the kinds of bodies is here and in td_contact_blocks.
#include "contact/contact.h"

#include "body/articulated.h"
#include "reduce/reduced_body.h"

#include <string.h>

static bool is_full_order(const tdBody *body)
{
    return body->ops == &td_soft_ops;
}

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
    bool full = is_full_order(body);
    if (!full) // only nodes of the surface: a reduced body expands what can touch
        td_reduced_surface(body, state, field->n_nodes, field->nodes, cs->field_x[f], cs->field_v[f]);
    cs->x[f] = full ? state->q + body->first : cs->field_x[f];
    cs->v[f] = full ? state->v + body->first : cs->field_v[f];
}

// ---------------------------------------------------------------- rows

int64_t td_contact_side_columns(const tdModel *model, const tdContactState *cs, const tdContactSide *side)
{
    const tdBody *body = side_body(model, side);
    const tdContactBody *mine = &cs->bodies[body->index];
    return mine->block < 0 ? 0 : is_full_order(body) ? 9 : mine->unknowns;
}

// Each adds its columns to the pools, and what given motion does to drift; returns how many columns.
static int32_t soft_side(const tdBody *body, tdState *state, const tdContactSide *side, double sign, double frame[3][3],
                         double *J, int32_t *columns, double *drift)
{
    const tdContactBody *mine = &state->contact->bodies[body->index];
    int32_t n = 0, coord[9];
    double weight[9];
    for (int k = 0; k < side->n; k++)
        for (int c = 0; c < 3; c++)
        {
            int32_t i = 3 * side->node[k] + c;
            if (mine->block >= 0 && mine->column[i] >= 0)
            {
                columns[n] = mine->column[i];
                coord[n] = c;
                weight[n++] = sign * side->weight[k];
                continue;
            }
            for (int r = 0; r < 3; r++)
                drift[r] += sign * side->weight[k] * frame[r][c] * state->v_new[body->first + i];
        }
    for (int r = 0; r < 3; r++)
        for (int32_t j = 0; j < n; j++)
            J[r * n + j] = weight[j] * frame[r][coord[j]];
    return n;
}

static int32_t reduced_side(const tdBody *body, tdState *state, const tdContactSide *side, double sign,
                            double frame[3][3], double *J, int32_t *columns, double *drift)
{
    int n = td_reduced_unknowns(td_reduced_of(body));
    td_reduced_touch(body, state, side->n, side->node, side->weight, sign, frame, J, drift);
    for (int j = 0; j < n; j++)
        columns[j] = j;
    return n;
}

static int32_t link_side(const tdModel *model, const tdBody *body, tdState *state, const tdContactSide *side,
                         double sign, double frame[3][3], double *J, int32_t *columns)
{
    int link = model->contact->colliders[side->collider].link;
    double *D = state->contact->jacobian;
    td_articulated_jacobian(body, state, state->q + body->first, link, side->local, D);
    int n = td_articulated_path(body, link, columns);
    for (int r = 0; r < 3; r++)
        for (int j = 0; j < n; j++)
        {
            double sum = 0;
            for (int c = 0; c < 3; c++)
                sum += frame[r][c] * D[c * body->count + columns[j]];
            J[r * n + j] = sign * sum;
        }
    return n;
}

void td_contact_side(const tdModel *model, tdState *state, const tdContactSide *side, double sign, double frame[3][3],
                     tdSapConstraint *constraint, double *drift)
{
    tdContactState *cs = state->contact;
    const tdBody *body = side_body(model, side);
    double *J = cs->pool + cs->pool_used;
    int32_t *columns = cs->columns + cs->columns_used, n = 0;
    if (is_full_order(body))
        n = soft_side(body, state, side, sign, frame, J, columns, drift);
    else if (cs->bodies[body->index].block < 0)
        return;
    else if (td_body_is_articulated(body))
        n = link_side(model, body, state, side, sign, frame, J, columns);
    else
        n = reduced_side(body, state, side, sign, frame, J, columns, drift);
    if (n == 0)
        return;
    constraint->side[constraint->sides++] =
        (tdSapSide){.block = cs->bodies[body->index].block, .count = n, .columns = columns, .J = J};
    cs->pool_used += 3 * (int64_t)n;
    cs->columns_used += n;
}

// ---------------------------------------------------------------- forces

void td_contact_push_side(const tdModel *model, const tdState *state, const tdContactSide *side, const double f[3],
                          double *m)
{
    const tdContactCollider *collider = &model->contact->colliders[side->collider];
    const tdBody *body = &model->bodies[collider->body];
    m += body->first;
    if (td_body_is_articulated(body))
        td_articulated_push(body, state, state->q + body->first, collider->link, side->local, f, m);
    else if (body->ops == &td_soft_ops)
        for (int k = 0; k < side->n; k++)
            for (int c = 0; c < 3; c++)
                m[3 * (int64_t)side->node[k] + c] += side->weight[k] * f[c];
    else
        td_reduced_push(body, state, side->n, side->node, side->weight, f, m);
}
