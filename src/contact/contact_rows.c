// SPDX-License-Identifier: Apache-2.0
// From contacts and driven actuators to the blocks and rows of the convex problem.
#include "contact/contact.h"

#include "body/articulated.h"
#include "constraint/condense.h"
#include "constraint/constraint.h"
#include "reduce/reduced_body.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool is_full_order(const tdBody *body)
{
    return body->ops == &td_soft_ops;
}

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

static void dense_block(const tdBody *body, const tdState *state, tdContactBody *mine, tdSapBlock *block)
{
    if (td_body_is_articulated(body))
    {
        block->A = td_articulated_mine(body, state)->A;
        block->n = block->stride = (int32_t)body->count;
    }
    else
    {
        const tdReduced *reduced = td_reduced_of(body);
        block->A = td_reduced_mine(body, state)->A;
        block->n = td_reduced_unknowns(reduced);
        block->stride = reduced->wide;
    }
    mine->coord = mine->column = NULL;
}

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
        cs->factors[cs->n_blocks] = NULL;
        if (is_full_order(body))
        {
            tdSchurBody condensed;
            TD_TRY(td_schur_condense(mine->schur, true, &condensed, &state->report.error));
            *block = (tdSapBlock){.n = condensed.n, .stride = condensed.n, .A = condensed.A};
            cs->factors[cs->n_blocks] = condensed.L;
            mine->coord = condensed.coord;
            mine->column = condensed.column;
        }
        else
            dense_block(body, state, mine, block);
        mine->unknowns = block->n;
        if (block->n == 0)
            continue;
        double *v_star = cs->v_star + used, *v = cs->v_block + used;
        for (int32_t i = 0; i < block->n; i++)
        {
            int64_t k = body->first + (mine->coord != NULL ? mine->coord[i] : i);
            v_star[i] = state->v_new[k] + state->dv[k];
            v[i] = first ? state->v[k] : state->v_new[k];
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
    int64_t room[8];
    for (int k = 0; k < 8; k++)
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
                td_grow((void **)&cs->w_own, &room[7], need, sizeof *cs->w_own);
    if (!good)
        return false;
    cs->constraint_room = room[0];
    for (int k = 1; k < 8; k++)
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
    int64_t entries = 3 * columns + cs->n_joint_rows + model->contact->bond_entries;
    rows += cs->n_joint_rows + model->contact->n_bonds;
    columns += cs->n_joint_rows + model->contact->bond_columns;
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
            int32_t at = (int32_t)(i - body->first);
            int32_t column = mine->block < 0        ? -1
                             : mine->column != NULL ? mine->column[at]
                             : at < mine->unknowns  ? at
                                                    : -1;
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

// ---------------------------------------------------------------- joints

#define FAST 50 // rad/s, m/s: a rate that no joint gains in a step, by which limits are looked for

static bool add_joint_row(tdContactState *cs, tdContactRow row)
{
    if (!td_grow((void **)&cs->joint_rows, &cs->joint_room, cs->n_joint_rows + 1, sizeof row))
        return false;
    row.actuator = TD_ROW_JOINT;
    cs->joint_rows[cs->n_joint_rows++] = row;
    return true;
}

static bool add_limits(const tdModel *model, const tdBody *body, tdState *state, const tdJointLimit *limit)
{
    int64_t i = body->first + limit->coord;
    double x = limit->ratio * state->q[i] + limit->offset, rate = limit->ratio * state->v[i];
    double reach = model->scheme.h * (2 * fabs(rate) + FAST);
    tdContactRow row = {.coord = i, .stiffness = limit->stiffness, .damping = limit->damping, .high = INFINITY};
    row.ratio = limit->ratio;
    row.error = x - limit->lower;
    if (row.error < reach && !add_joint_row(state->contact, row))
        return false;
    row.ratio = -limit->ratio;
    row.error = limit->upper - x;
    return !(row.error < reach) || add_joint_row(state->contact, row);
}

static bool add_servo(const tdModel *model, const tdBody *body, tdState *state, const tdServo *servo)
{
    int64_t i = body->first + servo->coord;
    double h = model->scheme.h, input = state->input[servo->input];
    tdContactRow row = {.coord = i,
                        .ratio = servo->ratio,
                        .error = servo->rate ? 0 : servo->ratio * state->q[i] + servo->offset - input,
                        .stiffness = servo->rate ? 0 : servo->stiffness,
                        .damping = servo->damping,
                        .rate = servo->rate ? input : 0,
                        .low = h * servo->effort[0],
                        .high = h * servo->effort[1]};
    return add_joint_row(state->contact, row);
}

bool td_contact_joints(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const tdArticulated *mine = td_body_is_articulated(body) ? td_articulated_of(body) : NULL;
        if (mine == NULL || !mine->limits_apart)
            continue;
        int64_t before = state->contact->n_joint_rows;
        for (int k = 0; k < mine->n_limits; k++)
            if (!add_limits(model, body, state, &mine->limits[k]))
                return false;
        for (int k = 0; k < mine->n_servos; k++)
            if (td_servo_is_limited(&mine->servos[k]) && !add_servo(model, body, state, &mine->servos[k]))
                return false;
        if (state->contact->n_joint_rows > before)
            state->contact->bodies[b].acted_on = true;
    }
    return true;
}

static void add_joint(const tdModel *model, tdContactState *cs, const tdContactRow *row)
{
    int b = 0;
    while (row->coord >= model->bodies[b].first + model->bodies[b].count)
        b++;
    double *J = cs->pool + cs->pool_used++;
    int32_t *column = cs->columns + cs->columns_used++;
    *J = row->ratio;
    *column = (int32_t)(row->coord - model->bodies[b].first);
    tdSapConstraint *constraint = &cs->constraints[cs->n_constraints];
    *constraint = (tdSapConstraint){.law = {.kind = TD_SAP_BOX, .rows = 1}, .sides = 1};
    constraint->side[0] = (tdSapSide){.block = cs->bodies[b].block, .count = 1, .columns = column, .J = J};
    cs->rows[cs->n_constraints] = *row;
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
    for (int64_t k = 0; k < cs->n_joint_rows; k++)
        add_joint(model, cs, &cs->joint_rows[k]);
    td_bond_rows(model, state, first);
    return TD_OK;
}
