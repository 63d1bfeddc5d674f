// SPDX-License-Identifier: Apache-2.0
// From contacts and driven actuators to the blocks and rows of the convex problem.
#include "contact/contact.h"

#include "constraint/condense.h"
#include "constraint/constraint.h"
#include "core/state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void td_contact_frame(const double normal[3], double frame[3][3])
{
    // The axis that is farthest from the normal.
    int least = fabs(normal[0]) <= fabs(normal[1]) ? 0 : 1;
    least = fabs(normal[least]) <= fabs(normal[2]) ? least : 2;
    double along = normal[least], length = sqrt(1 - along * along);
    for (int k = 0; k < 3; k++)
    {
        frame[0][k] = ((k == least) - along * normal[k]) / length;
        frame[2][k] = normal[k];
    }
    for (int k = 0; k < 3; k++)
    {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        frame[1][k] = normal[i] * frame[0][j] - normal[j] * frame[0][i];
    }
}

// ---------------------------------------------------------------- blocks

tdStatus td_contact_blocks(const tdModel *model, tdState *state, bool first)
{
    tdContactState *cs = state->contact;
    int64_t used = 0;
    cs->n_blocks = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        tdContactBody *mine = &cs->bodies[b];
        mine->block = -1;
        if (!mine->acted_on)
            continue;
        tdSapBlock *block = &cs->blocks[cs->n_blocks];
        TD_TRY(body->ops->condense(body, state, &mine->part));
        const tdBodyBlock *part = &mine->part;
        if (part->n == 0)
            continue;
        *block = (tdSapBlock){.n = part->n, .stride = part->stride, .A = part->A};
        cs->factors[cs->n_blocks] = part->L;
        double *v_star = cs->v_star + used, *v = cs->v_block + used;
        for (int32_t i = 0; i < block->n; i++)
        {
            int64_t k = body->first + (part->coord != NULL ? part->coord[i] : i);
            v_star[i] = state->v_new[k] + state->dv[k];
            v[i] = first ? state->v[k] : state->v_new[k];
            cs->ahead[used + i] = td_scheme_drift(&model->scheme, state->v[k], state->a[k]);
        }
        block->v_star = v_star;
        block->v = v;
        used += block->n;
        mine->block = cs->n_blocks++;
    }
    return TD_OK;
}

// ---------------------------------------------------------------- room

static bool grow_constraints(tdContactState *cs, int64_t need)
{
    int64_t room[9];
    for (int k = 0; k < 9; k++)
        room[k] = cs->constraint_room;
    if (need <= cs->constraint_room)
        return true;
    bool good = td_grow((void **)&cs->constraints, &room[0], need, sizeof *cs->constraints) &&
                td_grow((void **)&cs->rows, &room[1], need, sizeof *cs->rows) &&
                td_grow((void **)&cs->drift, &room[2], need, TD_SAP_ROWS * sizeof *cs->drift) &&
                td_grow((void **)&cs->gamma, &room[3], need, TD_SAP_ROWS * sizeof *cs->gamma) &&
                td_grow((void **)&cs->v_c, &room[4], need, TD_SAP_ROWS * sizeof *cs->v_c) &&
                td_grow((void **)&cs->w, &room[5], need, sizeof *cs->w) &&
                td_grow((void **)&cs->contact_of, &room[6], need, sizeof *cs->contact_of) &&
                td_grow((void **)&cs->w_own, &room[7], need, sizeof *cs->w_own) &&
                td_grow((void **)&cs->gap, &room[8], need, sizeof *cs->gap);
    if (!good)
        return false;
    cs->constraint_room = room[0];
    for (int k = 1; k < 9; k++)
        cs->constraint_room = room[k] < cs->constraint_room ? room[k] : cs->constraint_room;
    return true;
}

static tdStatus make_room(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    int64_t columns = 0, rows = cs->n;
    for (int64_t i = 0; i < cs->n; i++)
        columns += td_contact_side_columns(model, cs, &cs->contacts[i].a) +
                   td_contact_side_columns(model, cs, &cs->contacts[i].b);
    int64_t entries = 3 * columns + cs->n_body_rows + model->contact->bond_entries;
    rows += cs->n_body_rows + model->contact->n_bonds;
    columns += cs->n_body_rows + model->contact->bond_columns;
    for (int a = 0; a < model->n_actuators; a++)
        if (td_contact_drives(model, state, a))
        {
            int row = model->actuators[a].row;
            int64_t most = model->row_start[row + 1] - model->row_start[row];
            rows++;
            entries += most;
            columns += most;
        }
    if (!grow_constraints(cs, rows) || !td_grow((void **)&cs->pool, &cs->pool_room, entries, sizeof *cs->pool) ||
        !td_grow((void **)&cs->columns, &cs->columns_room, columns, sizeof *cs->columns) ||
        !td_grow((void **)&cs->impulse, &cs->impulse_room, 3 * cs->n, sizeof *cs->impulse) ||
        !td_grow((void **)&cs->points, &cs->point_room, cs->n, sizeof *cs->points))
        return td_fail_memory(&state->report.error, "the contacts of a step");
    cs->pool_used = cs->columns_used = 0;
    return TD_OK;
}

// Where a contact is at the end of the step if velocities are zero there. Given motion is in `drift` as a rate: what it
// covers in the step is more than c times that where the velocity before counts too.
static double gap_ahead(const tdModel *model, const tdContactState *cs, const tdSapConstraint *constraint, double phi,
                        double drift)
{
    const tdScheme *scheme = &model->scheme;
    double gap = phi, whole = scheme->method == TD_METHOD_STATIC ? 1 : scheme->h;
    if (scheme->c == whole)
        return gap; // as in backward Euler's method nothing is ahead
    for (int s = 0; s < constraint->sides; s++)
    {
        const tdSapSide *side = &constraint->side[s];
        const double *ahead = cs->ahead + (cs->blocks[side->block].v_star - cs->v_star);
        for (int32_t k = 0; k < side->count; k++)
            gap += side->J[2 * side->count + k] * ahead[side->columns != NULL ? side->columns[k] : k];
    }
    return gap + (whole - scheme->c) * drift;
}

static void add_contact(const tdModel *model, tdState *state, int64_t i)
{
    tdContactState *cs = state->contact;
    const tdContact *contact = &cs->contacts[i];
    tdSapConstraint *constraint = &cs->constraints[cs->n_constraints];
    double frame[3][3], *drift = cs->drift + TD_SAP_ROWS * cs->n_constraints;
    *constraint = (tdSapConstraint){.law = {.kind = TD_SAP_CONTACT, .rows = 3}};
    drift[0] = drift[1] = drift[2] = 0;
    td_contact_frame(contact->normal, frame);
    td_contact_side(model, state, &contact->a, -1, frame, constraint, drift);
    td_contact_side(model, state, &contact->b, 1, frame, constraint, drift);
    if (constraint->sides == 0)
        return;
    cs->gap[cs->n_constraints] = gap_ahead(model, cs, constraint, contact->phi, drift[2]);
    cs->contact_of[cs->n_constraints++] = (int32_t)i;
}

// ---------------------------------------------------------------- driven actuators

bool td_contact_drives(const tdModel *model, const tdState *state, int actuator)
{
    tdRole role = state->constraint->role[actuator];
    return !model->actuators[actuator].held && (role == TD_ROLE_DISPLACEMENT || role == TD_ROLE_GAS);
}

// One side for each body. A row may name a coordinate more than once: entries are summed in state->scratch.
static void add_actuator_sides(const tdModel *model, tdState *state, int a, tdSapConstraint *constraint,
                               double *of_free, double *of_held, bool first)
{
    tdContactState *cs = state->contact;
    const tdConstraintState *rows = state->constraint;
    int row = model->actuators[a].row;
    double *sum = state->scratch;
    int64_t start = model->row_start[row], end = model->row_start[row + 1];
    for (int64_t k = start; k < end; k++)
        sum[model->row_coord[k]] = 0;
    for (int64_t k = start; k < end; k++)
        sum[model->row_coord[k]] += rows->J[k];
    *of_free = *of_held = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const tdContactBody *mine = &cs->bodies[b];
        double *J = cs->pool + cs->pool_used;
        int32_t *columns = cs->columns + cs->columns_used, n = 0;
        for (int64_t k = start; k < end; k++)
        {
            int64_t i = model->row_coord[k];
            if (i < body->first || i >= body->first + body->count || sum[i] == 0)
                continue;
            int32_t column = td_contact_column(mine, i - body->first);
            if (column >= 0)
            {
                columns[n] = column;
                J[n++] = sum[i];
                *of_free += sum[i] * state->v_new[i];
            }
            else if (first)
                *of_held += sum[i] * (state->q_end[i] - state->q_c[i]);
            sum[i] = 0;
        }
        if (n == 0)
            continue;
        assert(constraint->sides < 2); // td_compile_contact
        constraint->side[constraint->sides++] =
            (tdSapSide){.block = mine->block, .count = n, .columns = columns, .J = J};
        cs->pool_used += n;
        cs->columns_used += n;
    }
}

static void add_actuator(const tdModel *model, tdState *state, int a, bool first)
{
    tdContactState *cs = state->contact;
    const tdConstraintState *rows = state->constraint;
    tdSapConstraint *constraint = &cs->constraints[cs->n_constraints];
    tdContactRow *row = &cs->rows[cs->n_constraints];
    *constraint = (tdSapConstraint){.law = {.kind = TD_SAP_BOX, .rows = 1}};
    *row = (tdContactRow){.actuator = a,
                          .now = rows->effort[a],
                          .compliance = model->actuators[a].compliance,
                          .target = rows->given[a],
                          .limit = {rows->effort_limit[2 * a], rows->effort_limit[2 * a + 1]}};
    if (rows->role[a] == TD_ROLE_GAS)
        td_condense_gas(model, rows, a, &row->compliance, &row->target);
    double of_free = 0, of_held = 0;
    add_actuator_sides(model, state, a, constraint, &of_free, &of_held, first);
    if (constraint->sides == 0)
        return;
    // displacement at the end = travel + c J (v - v_new) + way of held coordinates; with the stretch, what is asked.
    double error = rows->travel[a] + row->compliance * row->now + of_held - row->target - model->scheme.c * of_free;
    cs->drift[TD_SAP_ROWS * cs->n_constraints] = error;
    cs->contact_of[cs->n_constraints++] = -1;
}

// ---------------------------------------------------------------- rows that bodies bring

static bool grow_body_rows(tdContactState *cs, int64_t need)
{
    int64_t rows = cs->body_row_room, bodies = cs->body_row_room;
    if (need <= cs->body_row_room)
        return true;
    if (!td_grow((void **)&cs->body_rows, &rows, need, sizeof *cs->body_rows) ||
        !td_grow((void **)&cs->row_body, &bodies, need, sizeof *cs->row_body))
        return false;
    cs->body_row_room = rows < bodies ? rows : bodies;
    return true;
}

bool td_contact_body_rows(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (!body->rows_apart || body->ops->rows == NULL)
            continue;
        int64_t room = cs->body_row_room - cs->n_body_rows;
        int n = body->ops->rows(model, body, state, cs->body_rows + cs->n_body_rows, (int)room);
        if (!grow_body_rows(cs, cs->n_body_rows + n))
            return false;
        if (n > room)
            body->ops->rows(model, body, state, cs->body_rows + cs->n_body_rows, n);
        for (int k = 0; k < n; k++)
        {
            td_contact_take_part(model, state, b, 1, &cs->body_rows[cs->n_body_rows].coord);
            cs->row_body[cs->n_body_rows++] = b;
        }
    }
    return true;
}

static void add_body_row(tdContactState *cs, int64_t k)
{
    const tdBodyRow *own = &cs->body_rows[k];
    const tdContactBody *mine = &cs->bodies[cs->row_body[k]];
    double *J = cs->pool + cs->pool_used;
    int32_t *column = cs->columns + cs->columns_used;
    *J = own->ratio;
    *column = td_contact_column(mine, own->coord);
    if (*column < 0)
        return; // its motion is given
    cs->pool_used++;
    cs->columns_used++;
    tdSapConstraint *constraint = &cs->constraints[cs->n_constraints];
    *constraint = (tdSapConstraint){.law = {.kind = TD_SAP_BOX, .rows = 1}, .sides = 1};
    constraint->side[0] = (tdSapSide){.block = mine->block, .count = 1, .columns = column, .J = J};
    cs->rows[cs->n_constraints] = (tdContactRow){.actuator = TD_ROW_BODY, .body = cs->row_body[k], .own = *own};
    cs->contact_of[cs->n_constraints++] = -1;
}

tdStatus td_contact_rows(const tdModel *model, tdState *state, bool first)
{
    tdContactState *cs = state->contact;
    TD_TRY(make_room(model, state));
    cs->n_constraints = 0;
    for (int64_t i = 0; i < cs->n; i++)
        add_contact(model, state, i);
    for (int a = 0; a < model->n_actuators; a++)
        if (td_contact_drives(model, state, a))
            add_actuator(model, state, a, first);
    for (int64_t k = 0; k < cs->n_body_rows; k++)
        add_body_row(cs, k);
    td_bond_rows(model, state, first);
    return TD_OK;
}
