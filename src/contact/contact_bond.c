// SPDX-License-Identifier: Apache-2.0
// Bonds: bilateral constraints between two bodies, of every kind, through the seam of core/body.h.
//
//     g = x_0 - x_1 - rest        (a weld; a rod: |x_0 - x_1| - length; joints: sum of their positions - offset)
//     g at the end of the step: g(q_r) + J (q_c - q_r) + c J (v - v_new), J = dg/dq at q_r
//     g + tau dg/dt = -R (c + tau) gamma,   R = max(beta_b^2 / 4 pi^2 w, 1 / (c k (c + tau)))        solve/sap_law.h
//
// Rows are taken at the iterate: with one linearization a step at its start, with Newton's method anew in each pass, so
// that in the end g itself is what the law says, however bodies have turned.
#include "contact/contact.h"

#include "constraint/condense.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- geometry

static void place(const tdModel *model, const tdState *state, const tdPointSet *set, const double *q, double x[3])
{
    if (set->body < 0)
        memcpy(x, set->rest, 3 * sizeof *x);
    else
    {
        const tdBody *body = &model->bodies[set->body];
        body->ops->positions(body, state, set, q + body->first, x);
    }
}

// From point 1 to point 0; returns their distance.
static double direction(const tdModel *model, const tdState *state, const tdBond *bond, const double *q, double d[3])
{
    double x[3], length = 0;
    place(model, state, &bond->side[0], q, d);
    place(model, state, &bond->side[1], q, x);
    for (int c = 0; c < 3; c++)
    {
        d[c] -= x[c];
        length += d[c] * d[c];
    }
    length = sqrt(length);
    for (int c = 0; c < 3 && length > 0; c++)
        d[c] /= length;
    return length;
}

void td_bond_error(const tdModel *model, const tdState *state, const tdBond *bond, const double *q, double g[3])
{
    double x[3];
    if (bond->kind == TD_BOND_ROD)
        g[0] = direction(model, state, bond, q, x) - bond->rest[0];
    else if (bond->kind == TD_BOND_COUPLING)
    {
        g[0] = -bond->rest[0];
        for (int s = 0; s < 2; s++)
            for (int64_t k = 0; k < bond->side[s].size; k++)
                g[0] += bond->side[s].weights[k] * q[model->bodies[bond->side[s].body].first + bond->side[s].coord[k]];
    }
    else
    {
        place(model, state, &bond->side[0], q, g);
        place(model, state, &bond->side[1], q, x);
        for (int c = 0; c < 3; c++)
            g[c] -= x[c] + bond->rest[c];
    }
}

// J' p of one side, for efforts p of the rows, into bond_row.
static void pull(const tdModel *model, const tdState *state, const tdBond *bond, int s, const double *p)
{
    const tdPointSet *set = &bond->side[s];
    const tdBody *body = &model->bodies[set->body];
    double f[3], sign = s == 0 ? 1 : -1, *row = state->contact->bond_row;
    if (bond->kind == TD_BOND_COUPLING)
    {
        for (int64_t k = 0; k < set->size; k++)
            row[k] = set->weights[k] * p[0];
        return;
    }
    if (bond->kind == TD_BOND_ROD)
        direction(model, state, bond, state->q_r, f);
    for (int c = 0; c < 3; c++)
        f[c] = bond->kind == TD_BOND_ROD ? sign * f[c] * p[0] : sign * p[c];
    body->ops->pull(body, state, set, state->q_r + body->first, f, row);
}

// Row r of one side: its share in dg_r/dt = J v.
void td_bond_row(const tdModel *model, const tdState *state, const tdBond *bond, int s, int r)
{
    double p[3] = {0};
    p[r] = 1;
    pull(model, state, bond, s, p);
}

void td_bond_errors(const tdModel *model, const tdState *state, const tdBond *bond, double g[3])
{
    td_bond_error(model, state, bond, state->q_r, g);
    for (int s = 0; s < 2 && state->q_r != state->q_c; s++)
        for (int r = 0; r < bond->rows && bond->side[s].body >= 0; r++)
        {
            const tdPointSet *set = &bond->side[s];
            int64_t first = model->bodies[set->body].first;
            td_bond_row(model, state, bond, s, r);
            for (int64_t k = 0; k < set->size; k++)
                g[r] += state->contact->bond_row[k] *
                        (state->q_c[first + set->coord[k]] - state->q_r[first + set->coord[k]]);
        }
}

// ---------------------------------------------------------------- who takes part

void td_bond_touch(const tdModel *model, tdState *state)
{
    for (int i = 0; i < model->contact->n_bonds; i++)
        for (int s = 0; s < 2; s++)
        {
            const tdPointSet *set = &model->contact->bonds[i].side[s];
            if (set->body >= 0)
                td_contact_take_part(model, state, set->body, set->size, set->coord);
        }
}

// ---------------------------------------------------------------- rows

// Adds a side's columns; what v_new of unknowns, and the way and the speed of given motion, make of the rows.
static bool add_side(const tdModel *model, tdState *state, const tdBond *bond, int s, bool first, double *of_free,
                     double *of_held, double *held_rate)
{
    tdContactState *cs = state->contact;
    const tdPointSet *set = &bond->side[s];
    if (set->body < 0)
        return true;
    const tdBody *body = &model->bodies[set->body];
    const tdContactBody *mine = &cs->bodies[set->body];
    double *J = NULL;
    int32_t *columns = NULL, n = 0;
    for (int64_t k = 0; k < set->size; k++)
        n += td_contact_column(mine, set->coord[k]) >= 0;
    n += mine->block < 0 ? 0 : mine->n_moved;
    if (n > 0 && td_problem_side(cs->problem, mine->block, n, &J, &columns) == NULL)
        return false;
    for (int r = 0; r < bond->rows; r++)
    {
        int32_t j = 0;
        td_bond_row(model, state, bond, s, r);
        for (int64_t k = 0; k < set->size; k++)
        {
            int64_t i = body->first + set->coord[k];
            int32_t column = td_contact_column(mine, set->coord[k]);
            double value = cs->bond_row[k];
            if (column >= 0)
            {
                columns[j] = column;
                J[r * n + j++] = value;
                of_free[r] += value * state->v_new[i];
                continue;
            }
            of_held[r] += first ? value * (state->q_end[i] - state->q_c[i]) : 0;
            held_rate[r] += value * state->v_new[i];
        }
        for (int32_t m = 0; j < n; m++, j++)
        {
            const double *motion = td_contact_motion(model, state, mine, m) + body->first;
            columns[j] = mine->n_scalar + m;
            J[r * n + j] = 0;
            for (int64_t k = 0; k < set->size; k++)
                J[r * n + j] += cs->bond_row[k] * motion[set->coord[k]] / td_condense_per_step(model);
        }
    }
    return true;
}

// How far the points of a bond move, whichever way, by a unit of each coordinate: squared.
double td_bond_reach(const tdModel *model, tdState *state, const tdBond *bond)
{
    double size = 0;
    tdBond weld = *bond;
    weld.kind = bond->kind == TD_BOND_COUPLING ? TD_BOND_COUPLING : TD_BOND_WELD;
    for (int s = 0; s < 2; s++)
        for (int c = 0; c < 3 && bond->side[s].body >= 0; c++)
        {
            td_bond_row(model, state, &weld, s, c);
            for (int64_t k = 0; k < bond->side[s].size; k++)
                size += state->contact->bond_row[k] * state->contact->bond_row[k];
        }
    return size;
}

// Both sides of a bond may be of one piece, and a point may move along its row no more than rounding has it. What is
// left of such rows is noise, and its effort would be anything.
static bool moves_nothing(const tdSapConstraint *constraint, int r, double reach)
{
    double net = 0;
    for (int s = 0; s < constraint->sides; s++)
        for (int32_t k = 0; k < constraint->side[s].count; k++)
        {
            const tdSapSide *side = &constraint->side[s], *other = &constraint->side[1 - s];
            double sum = side->J[(int64_t)r * side->count + k];
            if (constraint->sides == 2 && other->block == side->block)
                for (int32_t j = 0; j < other->count; j++)
                    sum += other->columns[j] == side->columns[k] ? other->J[(int64_t)r * other->count + j] : 0;
            net += sum * sum;
        }
    return net <= 1e-20 * reach;
}

static bool add_bond(const tdModel *model, tdState *state, int i, bool first)
{
    tdContactState *cs = state->contact;
    const tdBond *bond = &model->contact->bonds[i];
    double tau = model->contact->groups[bond->group].dissipation;
    double g[3], of_free[3] = {0}, of_held[3] = {0}, held_rate[3] = {0};
    int32_t c = td_problem_row(cs->problem, (tdOwner){TD_OWNER_BOND, i}, TD_SAP_BILATERAL, bond->rows);
    if (c < 0)
        return false;
    for (int s = 0; s < 2; s++)
        if (!add_side(model, state, bond, s, first, of_free, of_held, held_rate))
            return false;
    const tdSapConstraint *constraint = &cs->problem->constraints[c];
    if (constraint->sides == 0)
    {
        td_problem_drop(cs->problem);
        return true;
    }
    td_bond_errors(model, state, bond, g);
    for (int r = 0; r < bond->rows; r++)
        cs->problem->drift[TD_SAP_ROWS * (int64_t)c + r] =
            g[r] + of_held[r] + tau * held_rate[r] - model->scheme.c * of_free[r];
    double reach = td_bond_reach(model, state, bond);
    for (int r = 0; r < bond->rows; r++)
    {
        bool dead = cs->bond_dead[3 * (int64_t)i + r] = moves_nothing(constraint, r, reach);
        for (int s = 0; s < constraint->sides && dead; s++)
            memset((double *)constraint->side[s].J + (int64_t)r * constraint->side[s].count, 0,
                   (size_t)constraint->side[s].count * sizeof(double));
    }
    return true;
}

bool td_bond_rows(const tdModel *model, tdState *state, bool first)
{
    bool good = true;
    for (int i = 0; i < model->contact->n_bonds && state->bonded == NULL && good; i++)
        good = add_bond(model, state, i, first);
    return good;
}

tdSapLaw td_bond_law(const tdModel *model, const tdState *state, int i, const double *error, const bool *dead, double w)
{
    const tdBond *bond = &model->contact->bonds[i];
    const tdBondGroup *group = &model->contact->groups[bond->group];
    tdSapLaw law =
        td_sap_bilateral(&model->contact->tuning, bond->rows, error, group->stiffness, group->dissipation, w);
    // gamma + base = -(J v - v_hat) / R
    for (int r = 0; r < bond->rows; r++)
    {
        law.v_hat[r] = dead[r] ? 0 : law.v_hat[r];
        law.v_hat[r] -= law.R[r] * state->contact->bond_base[3 * (int64_t)i + r];
    }
    return law;
}

// ---------------------------------------------------------------- what comes of it

void td_bond_take(const tdModel *model, tdState *state, int32_t c)
{
    tdContactState *cs = state->contact;
    int bond = cs->problem->owner[c].index;
    for (int r = 0; r < model->contact->bonds[bond].rows; r++)
        cs->bond_effort[3 * (int64_t)bond + r] = cs->problem->gamma[TD_SAP_ROWS * (int64_t)c + r];
}

void td_bond_push(const tdModel *model, tdState *state, const double *impulse, double *m)
{
    tdContactState *cs = state->contact;
    for (int i = 0; i < model->contact->n_bonds; i++)
        for (int s = 0; s < 2; s++)
        {
            const tdBond *bond = &model->contact->bonds[i];
            const tdPointSet *set = &bond->side[s];
            if (set->body < 0)
                continue;
            pull(model, state, bond, s, impulse + 3 * (int64_t)i);
            for (int64_t k = 0; k < set->size; k++)
                m[model->bodies[set->body].first + set->coord[k]] -= cs->bond_row[k];
        }
}

static double rate_of(const tdModel *model, const tdState *state, const tdBond *bond, int r)
{
    double sum = 0;
    for (int s = 0; s < 2; s++)
    {
        const tdPointSet *set = &bond->side[s];
        if (set->body < 0)
            continue;
        td_bond_row(model, state, bond, s, r);
        for (int64_t k = 0; k < set->size; k++)
            sum += state->contact->bond_row[k] * state->v_new[model->bodies[set->body].first + set->coord[k]];
    }
    return sum;
}

double td_bond_miss(const tdModel *model, const tdState *state, int i, const double *R, const double *effort,
                    const bool *dead)
{
    const tdBond *bond = &model->contact->bonds[i];
    double g[3], tau = model->contact->groups[bond->group].dissipation, miss = 0;
    td_bond_errors(model, state, bond, g);
    for (int r = 0; r < bond->rows; r++)
    {
        if (dead[r])
            continue;
        double rate = tau > 0 ? rate_of(model, state, bond, r) : 0;
        miss = fmax(miss, fabs(g[r] + tau * rate + (model->scheme.c + tau) * R[r] * effort[r]));
    }
    return miss;
}

// ---------------------------------------------------------------- what is told

double td_bonds_error(const tdModel *model, const tdState *state, bool points, int *body)
{
    const tdContactModel *contact = model->contact;
    double worst = 0;
    for (int i = 0; i < contact->n_bonds; i++)
    {
        const tdBond *bond = &contact->bonds[i];
        double g[3];
        if (isfinite(contact->groups[bond->group].stiffness) || (points && bond->kind == TD_BOND_COUPLING))
            continue;
        td_bond_error(model, state, bond, state->q, g);
        for (int r = 0; r < bond->rows; r++)
            if (!(fabs(g[r]) <= worst)) // or not a number
            {
                worst = fabs(g[r]);
                *body = bond->side[bond->side[0].body < 0].body;
            }
    }
    return worst / model->size;
}

void td_bond_commit(const tdModel *model, tdState *state)
{
    int body = 0;
    memcpy(state->contact->bond_told, state->contact->bond_effort,
           3 * (size_t)model->contact->n_bonds * sizeof(double));
    state->report.attachment_error = td_bonds_error(model, state, false, &body);
}

bool td_bond_side_force(const tdModel *model, const tdState *state, int i, int side, double x[3], double force[3])
{
    const tdBond *bond = &model->contact->bonds[i];
    const double *p = state->contact->bond_told + 3 * (int64_t)i;
    double d[3];
    if (bond->side[side].body < 0 || bond->kind == TD_BOND_COUPLING)
        return false;
    place(model, state, &bond->side[side], state->q, x);
    if (bond->kind == TD_BOND_ROD)
        direction(model, state, bond, state->q, d);
    for (int c = 0; c < 3; c++)
        force[c] = (side == 0 ? 1 : -1) * (bond->kind == TD_BOND_ROD ? d[c] * p[0] : p[c]) / model->scheme.s;
    return true;
}

int td_model_attachments(const tdModel *model)
{
    return model->n_attachments;
}

const char *td_model_attachment_name(const tdModel *model, int attachment)
{
    return attachment < 0 || attachment >= td_model_attachments(model) ? NULL : model->contact->groups[attachment].name;
}

void td_state_attachment_force(const tdState *state, int attachment, double force[3], double torque[3], double point[3])
{
    const tdModel *model = state->model;
    double sum[3] = {0}, turn[3] = {0}, middle[3] = {0}, x[3];
    bool known = attachment >= 0 && attachment < td_model_attachments(model);
    int begin = known ? model->contact->groups[attachment].first : 0;
    int count = known ? model->contact->groups[attachment].count : 0;
    for (int i = begin; i < begin + count; i++)
    {
        place(model, state, &model->contact->bonds[i].side[0], state->q, x);
        for (int c = 0; c < 3; c++)
            middle[c] += x[c] / count;
    }
    for (int i = begin; i < begin + count; i++)
    {
        const double *p = state->contact->bond_told + 3 * (int64_t)i;
        place(model, state, &model->contact->bonds[i].side[0], state->q, x);
        for (int c = 0; c < 3; c++)
        {
            int a = (c + 1) % 3, b = (c + 2) % 3;
            sum[c] += p[c] / model->scheme.s;
            turn[c] += ((x[a] - middle[a]) * p[b] - (x[b] - middle[b]) * p[a]) / model->scheme.s;
        }
    }
    memcpy(force, sum, sizeof sum);
    if (torque != NULL)
        memcpy(torque, turn, sizeof turn);
    if (point != NULL)
        memcpy(point, middle, sizeof middle);
}

int td_model_couplings(const tdModel *model)
{
    return model->n_couplings;
}

const char *td_model_coupling_name(const tdModel *model, int coupling)
{
    return coupling < 0 || coupling >= td_model_couplings(model)
               ? NULL
               : model->contact->groups[model->n_attachments + coupling].name;
}

double td_state_coupling_effort(const tdState *state, int coupling)
{
    const tdModel *model = state->model;
    if (coupling < 0 || coupling >= td_model_couplings(model))
        return 0;
    int bond = model->contact->groups[td_model_attachments(model) + coupling].first;
    return state->contact->bond_told[3 * (int64_t)bond] / model->scheme.s;
}
