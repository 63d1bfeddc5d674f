// SPDX-License-Identifier: Apache-2.0
// One side of a contact: where its material points are, their rows over the block of the body, and what a force there
// does to the momentum balance.
#include "contact/contact.h"

#include "constraint/condense.h"
#include "core/state.h"

#include <assert.h>
#include <string.h>

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
    out->point = (tdTouchPoint){.n = side->n, .node = side->node, .weight = side->weight, .local = side->local};
    if (field == NULL || field->n_points == 0)
        return &out->point;
    out->point = (tdTouchPoint){.node = out->node, .weight = out->weight, .local = side->local};
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

// What a point does: its rows over the block, and what given motion adds to drift.
static int32_t touch(const tdModel *model, tdState *state, const tdContactSide *side, const tdTouchPoint *point,
                     double sign, double frame[3][3], double *J, int32_t *columns, double *drift)
{
    const tdContactCollider *collider = &model->contact->colliders[side->collider];
    const tdBody *body = &model->bodies[collider->body];
    const tdContactBody *mine = &state->contact->bodies[collider->body];
    int32_t lead = mine->n_scalar + mine->n_moved;
    int32_t n =
        body->ops->touch(body, state, point, collider->link, mine->block < 0 || !mine->acted_on ? NULL : &mine->part,
                         sign, frame, J, columns, drift);
    for (int32_t k = 0; k < n && lead > 0; k++)
        columns[k] += lead;
    return n;
}

// Columns of nodes that efforts move: the rows times the motion of a unit of each. Coordinates that have a column move
// by the rows, the others as given motion does. J: n columns, then wider ones.
static bool add_moved(const tdModel *model, tdState *state, const tdContactSide *side, const tdTouchPoint *point,
                      double sign, double frame[3][3], int32_t n, double *J, int32_t *columns)
{
    tdContactState *cs = state->contact;
    const tdBody *body = side_body(model, side);
    const tdContactBody *mine = &cs->bodies[body->index];
    int32_t lead = mine->n_scalar + mine->n_moved, wide = n + mine->n_moved;
    tdStackMark mark = td_stack_mark(&cs->problem->entries);
    double *again = td_stack_take(&cs->problem->entries, 3 * (int64_t)n, sizeof *again), *v_new = state->v_new;
    double *rates = td_stack_take(&cs->problem->entries, 3 * (int64_t)mine->n_moved, sizeof *rates);
    int32_t *unused = td_stack_take(&cs->problem->entries, n, sizeof *unused);
    if (again == NULL || rates == NULL || unused == NULL)
        return false;
    for (int32_t k = 0; k < mine->n_moved; k++)
    {
        const double *motion = td_contact_motion(model, state, mine, k);
        double *rate = rates + 3 * k;
        rate[0] = rate[1] = rate[2] = 0;
        state->v_new = (double *)motion; // what is given moves so
        touch(model, state, side, point, sign, frame, again, unused, rate);
        state->v_new = v_new;
        for (int32_t j = 0; j < n; j++)
        {
            int64_t coord = td_block_coord(&mine->part, columns[j] - lead);
            double moves = coord < 0 ? 0 : motion[body->first + coord];
            for (int r = 0; r < 3; r++)
                rate[r] += J[r * n + j] * moves;
        }
        columns[n + k] = mine->n_scalar + k;
    }
    for (int r = 2; r >= 0; r--)
    {
        memmove(J + r * wide, J + r * n, (size_t)n * sizeof *J);
        for (int32_t k = 0; k < mine->n_moved; k++)
            J[r * wide + n + k] = rates[3 * k + r] / td_condense_per_step(model);
    }
    td_stack_release(&cs->problem->entries, mark);
    return true;
}

bool td_contact_side(const tdModel *model, tdState *state, const tdContactSide *side, bool turns, double sign,
                     double frame[3][3], double *drift)
{
    tdContactState *cs = state->contact;
    const tdContactBody *mine = &cs->bodies[model->contact->colliders[side->collider].body];
    double *J = NULL;
    tdSidePoint at;
    td_contact_side_point(model, side, &at);
    at.point.turns = turns;
    int32_t own = 3 * at.point.n > mine->part.touched ? 3 * at.point.n : mine->part.touched;
    int32_t *columns = NULL, most = mine->n_moved + (mine->acted_on ? own : 0);
    if (mine->block < 0 || most == 0)
    {
        touch(model, state, side, &at.point, sign, frame, NULL, NULL, drift);
        return true;
    }
    tdSapSide *entry = td_problem_side(cs->problem, mine->block, most, &J, &columns);
    if (entry == NULL)
        return false;
    int32_t n = touch(model, state, side, &at.point, sign, frame, J, columns, drift);
    if (mine->n_moved > 0 && !add_moved(model, state, side, &at.point, sign, frame, n, J, columns))
        return false;
    td_problem_side_is(cs->problem, n + mine->n_moved);
    bool whole = n == cs->problem->blocks[mine->block].n;
    for (int32_t k = 0; k < n && whole; k++)
        whole = columns[k] == k;
    if (whole)
        entry->columns = NULL; // each in its place
    return true;
}

// ---------------------------------------------------------------- forces

void td_contact_push_side(const tdModel *model, const tdState *state, const tdContactSide *side, bool turns,
                          const double f[3], double *m)
{
    const tdContactCollider *collider = &model->contact->colliders[side->collider];
    const tdBody *body = &model->bodies[collider->body];
    tdSidePoint at;
    td_contact_side_point(model, side, &at);
    at.point.turns = turns;
    body->ops->push(body, state, &at.point, collider->link, f, m + body->first);
}
