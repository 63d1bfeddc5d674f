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

// ---------------------------------------------------------------- contacts

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
        const double *ahead = cs->ahead[side->block];
        for (int32_t k = 0; k < side->count; k++)
            gap += side->J[2 * side->count + k] * ahead[side->columns != NULL ? side->columns[k] : k];
    }
    return gap + (whole - scheme->c) * drift;
}

// The two bodies' angular velocity against each other, in the frame of the contact.
static bool add_turning(const tdModel *model, tdState *state, int32_t i, double frame[3][3])
{
    tdContactState *cs = state->contact;
    const tdContact *contact = &cs->contacts[i];
    int32_t c = td_problem_row(cs->problem, (tdOwner){TD_OWNER_TURNING, i}, TD_SAP_TURNING, 3);
    if (c < 0)
        return false;
    double *drift = cs->problem->drift + TD_SAP_ROWS * (int64_t)c;
    return td_contact_side(model, state, &contact->a, true, -1, frame, drift) &&
           td_contact_side(model, state, &contact->b, true, 1, frame, drift);
}

// Whether something at the contact can give way: more than nodes that are where inverse control puts them.
static bool gives_way(const tdModel *model, const tdState *state, const tdContact *contact,
                      const tdSapConstraint *constraint)
{
    const tdContactSide *sides[2] = {&contact->a, &contact->b};
    for (int s = 0; s < constraint->sides; s++)
        for (int k = 0; k < 2; k++)
        {
            const tdContactBody *mine = &state->contact->bodies[model->contact->colliders[sides[k]->collider].body];
            bool any = constraint->side[s].count > mine->n_moved;
            for (int32_t m = 0; m < mine->n_moved && !any; m++)
                any = !td_contact_is_led(state, mine, m);
            if (mine->block == constraint->side[s].block && any)
                return true;
        }
    return false;
}

static bool add_contact(const tdModel *model, tdState *state, int32_t i)
{
    tdContactState *cs = state->contact;
    const tdContact *contact = &cs->contacts[i];
    double(*frame)[3] = cs->frame[i];
    int32_t c = td_problem_row(cs->problem, (tdOwner){TD_OWNER_CONTACT, i}, TD_SAP_CONTACT, 3);
    if (c < 0)
        return false;
    double *drift = cs->problem->drift + TD_SAP_ROWS * (int64_t)c;
    td_contact_frame(contact->normal, frame);
    if (!td_contact_side(model, state, &contact->a, false, -1, frame, drift) ||
        !td_contact_side(model, state, &contact->b, false, 1, frame, drift))
        return false;
    const tdSapConstraint *constraint = &cs->problem->constraints[c];
    cs->gap[i] = td_contact_held(model, cs, contact, gap_ahead(model, cs, constraint, contact->phi, drift[2]));
    if (!gives_way(model, state, contact, constraint))
    {
        td_problem_drop(cs->problem);
        return true;
    }
    if (!model->turning)
        return true;
    tdContactPair pair = td_contact_pair(model, contact);
    return (pair.torsion == 0 && pair.rolling == 0) || add_turning(model, state, i, frame);
}

// ---------------------------------------------------------------- driven actuators

static bool has_stops(const tdConstraintState *rows, int a)
{
    return isfinite(rows->travel_limit[2 * a]) || isfinite(rows->travel_limit[2 * a + 1]);
}

bool td_contact_drives(const tdModel *model, const tdState *state, int actuator)
{
    tdRole role = state->constraint->role[actuator];
    return !model->actuators[actuator].held && (role == TD_ROLE_DISPLACEMENT || role == TD_ROLE_GAS ||
                                                (role == TD_ROLE_EFFORT && has_stops(state->constraint, actuator)));
}

// An effort that is given is as given between the stops, less than that at the upper one, more at the lower one: a row
// for each stop, and the effort is what the two say, less the one that is given. Which of them a step comes to is not
// known before: it may cross more than half of a range, and a rate limits both ways alike.
static void stop_row(const tdConstraintState *rows, int a, bool upper, tdContactDrive *row)
{
    double given = rows->given[a];
    row->target = rows->travel_limit[2 * a + upper];
    row->now = upper ? fmin(row->now, given) : fmax(row->now, given);
    row->limit[0] = upper ? fmin(rows->effort_limit[2 * a], given) : given;
    row->limit[1] = upper ? given : fmax(rows->effort_limit[2 * a + 1], given);
}

// The row of an actuator, of one body, times the motion of nodes that an effort moves.
static double row_along(const tdModel *model, const tdState *state, int a, const tdBody *body, const double *motion)
{
    int row = model->actuators[a].row;
    double sum = 0;
    for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
        if (model->row_coord[k] >= body->first && model->row_coord[k] < body->first + body->count)
            sum += state->constraint->J[k] * motion[model->row_coord[k]];
    return sum / td_condense_per_step(model);
}

// One side for each body: the motion that is a velocity of its block, or the row over its velocities. A row may name a
// coordinate more than once: entries are summed in `sum`.
static bool add_sides_by(const tdModel *model, tdState *state, int a, double *sum)
{
    tdContactState *cs = state->contact;
    const tdConstraintState *rows = state->constraint;
    int row = model->actuators[a].row;
    int64_t start = model->row_start[row], end = model->row_start[row + 1];
    for (int64_t k = start; k < end; k++)
        sum[model->row_coord[k]] = 0;
    for (int64_t k = start; k < end; k++)
        sum[model->row_coord[k]] += rows->J[k];
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const tdContactBody *mine = &cs->bodies[b];
        double *J = NULL;
        int32_t *columns = NULL, n = 0;
        if (mine->block < 0 || !td_contact_acts_on(&model->actuators[a], b))
            continue;
        assert(cs->problem->constraints[cs->problem->n_constraints - 1].sides < 2); // td_compile_contact
        int64_t columns_most = end - start < mine->part.n ? end - start : mine->part.n;
        int32_t most = mine->n_moved + (mine->condensed ? 1 : (int32_t)columns_most);
        if (td_problem_side(cs->problem, mine->block, most, &J, &columns) == NULL)
            return false;
        for (int32_t j = 0; j < mine->n_scalar; j++)
            if (mine->scalar[j] == a)
            {
                columns[n] = j;
                J[n++] = 1;
            }
        for (int64_t k = start; k < end && !mine->condensed; k++)
        {
            int64_t i = model->row_coord[k];
            if (i < body->first || i >= body->first + body->count || sum[i] == 0)
                continue;
            int32_t column = td_contact_column(mine, i - body->first);
            if (column >= 0)
            {
                columns[n] = column;
                J[n++] = sum[i];
            }
            sum[i] = 0;
        }
        for (int32_t m = 0; m < mine->n_moved; m++)
        {
            columns[n] = mine->n_scalar + m;
            J[n++] = row_along(model, state, a, body, td_contact_motion(model, state, mine, m));
        }
        td_problem_side_is(cs->problem, n);
    }
    return true;
}

static bool add_actuator_sides(const tdModel *model, tdState *state, int a)
{
    double *sum = td_scratch_take(state);
    bool added = add_sides_by(model, state, a, sum);
    td_scratch_give(state, sum);
    return added;
}

// What v_new of unknowns, and the way of given motion in the first pass, make of the row.
static void known_motion(const tdModel *model, const tdState *state, int a, bool first, double *of_free,
                         double *of_held)
{
    const tdConstraintState *rows = state->constraint;
    int row = model->actuators[a].row;
    *of_free = *of_held = 0;
    for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
    {
        int64_t i = model->row_coord[k];
        if (!state->contact->held[i])
            *of_free += rows->J[k] * state->v_new[i];
        else if (first)
            *of_held += rows->J[k] * (state->q_end[i] - state->q_c[i]);
    }
}

// Half of the regularization of a row over blocks of its own velocities is in the blocks (contact_block.c).
static double share_of(const tdModel *model, const tdState *state, int a)
{
    double share = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdContactBody *mine = &state->contact->bodies[b];
        for (int32_t j = 0; j < mine->n_scalar; j++)
            if (mine->scalar[j] == a)
                share += mine->share[j];
    }
    return share;
}

static bool add_drive(const tdModel *model, tdState *state, int a, bool upper, bool first)
{
    tdContactState *cs = state->contact;
    const tdConstraintState *rows = state->constraint;
    tdContactDrive *row = &cs->drives[2 * a + upper];
    *row = (tdContactDrive){.now = rows->effort[a],
                            .compliance = model->actuators[a].compliance,
                            .target = rows->given[a],
                            .limit = {rows->effort_limit[2 * a], rows->effort_limit[2 * a + 1]},
                            .share = share_of(model, state, a),
                            .row = -1};
    if (rows->role[a] == TD_ROLE_EFFORT)
        stop_row(rows, a, upper, row);
    else if (upper)
        return true; // what is asked for is one row
    if (rows->role[a] == TD_ROLE_GAS)
        td_condense_gas(model, rows, a, &row->compliance, &row->target);
    if (!isfinite(row->target))
        return true;
    row->row = td_problem_row(cs->problem, (tdOwner){TD_OWNER_ACTUATOR, 2 * a + upper}, TD_SAP_BOX, 1);
    if (row->row < 0 || !add_actuator_sides(model, state, a))
        return false;
    if (cs->problem->constraints[row->row].sides == 0)
    {
        td_problem_drop(cs->problem);
        row->row = -1;
        return true;
    }
    // displacement at the end = travel + c J (v - v_new) + way of held coordinates; with the stretch, what is asked.
    double of_free = 0, of_held = 0;
    known_motion(model, state, a, first, &of_free, &of_held);
    cs->problem->drift[TD_SAP_ROWS * (int64_t)row->row] =
        rows->travel[a] + row->compliance * row->now + of_held - row->target - model->scheme.c * of_free;
    return true;
}

// Limits of the motion of nodes that efforts move.
static bool add_stops(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    const struct tdCondensed *cd = state->constraint->condensed;
    for (int b = 0; b < model->n_bodies; b++)
        for (int32_t m = 0; m < cs->bodies[b].n_moved; m++)
            for (int upper = 0; upper < 2; upper++)
            {
                int k = cs->bodies[b].moved[m];
                double stop = upper ? cd->hi[k] : cd->lo[k], *J = NULL;
                int32_t *columns = NULL;
                tdOwner owner = {TD_OWNER_STOP, 2 * cd->unknown[k] + upper};
                if (!isfinite(stop) || td_contact_is_led(state, &cs->bodies[b], m)) // which choose within limits
                    continue;
                if (td_problem_row(cs->problem, owner, TD_SAP_BOX, 1) < 0 ||
                    td_problem_side(cs->problem, cs->bodies[b].block, 1, &J, &columns) == NULL)
                    return false;
                *columns = cs->bodies[b].n_scalar + m;
                *J = upper ? -1 : 1;
                // the way that is left
                cs->problem->drift[TD_SAP_ROWS * (int64_t)(cs->problem->n_constraints - 1)] =
                    upper ? stop - cd->now[k] : cd->now[k] - stop;
            }
    return true;
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

static bool add_body_row(tdContactState *cs, int32_t k)
{
    const tdBodyRow *own = &cs->body_rows[k];
    const tdContactBody *mine = &cs->bodies[cs->row_body[k]];
    int32_t column = td_contact_column(mine, own->coord), *columns = NULL;
    double *J = NULL;
    if (column < 0)
        return true; // its motion is given
    if (td_problem_row(cs->problem, (tdOwner){TD_OWNER_BODY, k}, TD_SAP_BOX, 1) < 0 ||
        td_problem_side(cs->problem, mine->block, 1, &J, &columns) == NULL)
        return false;
    *columns = column;
    *J = own->ratio;
    return true;
}

tdStatus td_contact_rows(const tdModel *model, tdState *state, bool first)
{
    tdContactState *cs = state->contact;
    bool good = td_grow((void **)&cs->gap, &cs->gap_room, cs->n, sizeof *cs->gap) &&
                td_grow((void **)&cs->ride, &cs->ride_room, cs->n, sizeof *cs->ride) &&
                td_grow((void **)&cs->hold, &cs->hold_room, 2 * cs->n, sizeof *cs->hold) &&
                td_grow((void **)&cs->w_own, &cs->own_room, cs->n, sizeof *cs->w_own) &&
                td_grow((void **)&cs->bears, &cs->bear_room, cs->n, sizeof *cs->bears) &&
                td_grow((void **)&cs->impulse, &cs->impulse_room, 3 * cs->n, sizeof *cs->impulse) &&
                td_grow((void **)&cs->turn, &cs->turn_room, model->turning ? 3 * cs->n : 0, sizeof *cs->turn) &&
                td_grow((void **)&cs->frame, &cs->frame_room, cs->n, sizeof *cs->frame) &&
                td_grow((void **)&cs->points, &cs->point_room, cs->n, sizeof *cs->points) &&
                td_grow((void **)&cs->sums, &cs->sum_room, cs->n, sizeof *cs->sums);
    if (good && first && cs->n > 0)
    {
        memset(cs->ride, 0, (size_t)cs->n * sizeof *cs->ride);
        memset(cs->hold, 0, 2 * (size_t)cs->n * sizeof *cs->hold);
        memset(cs->bears, 0, (size_t)cs->n * sizeof *cs->bears);
    }
    for (int32_t i = 0; i < cs->n && good; i++)
        good = !cs->acts[i] || add_contact(model, state, i);
    for (int a = 0; a < model->n_actuators && good; a++)
        if (td_contact_drives(model, state, a))
            good = add_drive(model, state, a, false, first) && add_drive(model, state, a, true, first);
    good = good && add_stops(model, state);
    for (int32_t k = 0; k < cs->n_body_rows && good; k++)
        good = add_body_row(cs, k);
    good = good && td_bond_rows(model, state, first);
    return good ? TD_OK : td_fail_memory(&state->report.error, "the contacts of a step");
}
