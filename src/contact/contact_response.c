// SPDX-License-Identifier: Apache-2.0
// Bonds as part of the response of the bodies that they join: with inverse control, friction of cables, stops of an
// effort and nodes that an effort moves, whose small problems are made of columns A^-1 b.
#include "contact/contact.h"

#include "constraint/bonded.h"

#include <math.h>
#include <string.h>

tdStatus td_bonds_create(const tdModel *model, tdState *state, tdError *error)
{
    const tdContactModel *contact = model->contact;
    tdContactState *cs = state->contact;
    int rows = 0;
    if (!contact->by_response)
        return TD_OK;
    for (int i = 0; i < contact->n_bonds; i++)
        rows += contact->bonds[i].rows;
    cs->bond_w = TD_TAKE(&state->arena, double, contact->n_bonds);
    if (cs->bond_w == NULL)
        return td_fail_memory(error, "the attachments");
    return td_bonded_create(model, state, rows, contact->bond_entries, model->n_actuators, error);
}

// Row r of a bond over the state's vectors, both sides.
static void add_row(const tdModel *model, tdState *state, const tdBond *bond, int r)
{
    tdBonded *bonded = state->bonded;
    int64_t used = bonded->start[bonded->n];
    for (int s = 0; s < 2; s++)
    {
        const tdPointSet *set = &bond->side[s];
        if (set->body < 0)
            continue;
        td_bond_row(model, state, bond, s, r);
        for (int64_t k = 0; k < set->size; k++, used++)
        {
            bonded->coord[used] = model->bodies[set->body].first + set->coord[k];
            bonded->B[used] = state->contact->bond_row[k];
        }
    }
    bonded->start[++bonded->n] = used;
}

// What of the row's error at the end of the step is known beforehand: all but c B v of coordinates that are unknowns.
static double known_error(const tdModel *model, const tdState *state, int row, double g, double tau, bool first)
{
    const tdBonded *bonded = state->bonded;
    double error = g;
    for (int64_t k = bonded->start[row]; k < bonded->start[row + 1]; k++)
    {
        int64_t i = bonded->coord[k];
        if (!bonded->held[i])
            error -= model->scheme.c * bonded->B[k] * state->v_new[i];
        else
            error += bonded->B[k] * (tau * state->v_new[i] + (first ? state->q_end[i] - state->q_c[i] : 0));
    }
    return error;
}

// A row between points of one piece moves nothing: what is left of it is noise.
static bool is_dead(tdState *state, int row, double reach)
{
    const tdBonded *bonded = state->bonded;
    double net = 0, *sum = td_scratch_take(state);
    for (int64_t k = bonded->start[row]; k < bonded->start[row + 1]; k++)
        sum[bonded->coord[k]] = 0;
    for (int64_t k = bonded->start[row]; k < bonded->start[row + 1]; k++)
        sum[bonded->coord[k]] += bonded->held[bonded->coord[k]] ? 0 : bonded->B[k];
    for (int64_t k = bonded->start[row]; k < bonded->start[row + 1]; k++)
    {
        net += sum[bonded->coord[k]] * sum[bonded->coord[k]];
        sum[bonded->coord[k]] = 0;
    }
    td_scratch_give(state, sum);
    return net <= 1e-20 * reach;
}

static void make_rows(const tdModel *model, tdState *state)
{
    tdBonded *bonded = state->bonded;
    tdContactState *cs = state->contact;
    bonded->n = 0;
    bonded->start[0] = 0;
    for (int i = 0; i < model->contact->n_bonds; i++)
    {
        const tdBond *bond = &model->contact->bonds[i];
        double reach = td_bond_reach(model, state, bond);
        for (int r = 0; r < bond->rows; r++)
        {
            add_row(model, state, bond, r);
            bool dead = cs->bond_dead[3 * i + r] = is_dead(state, bonded->n - 1, reach);
            for (int64_t k = bonded->start[bonded->n - 1]; dead && k < bonded->start[bonded->n]; k++)
                bonded->B[k] = 0;
        }
    }
}

// w of each bond by its block of B Y, in the first pass: with others in each the passes would have no common solution.
static void weigh(const tdModel *model, tdState *state)
{
    const tdBonded *bonded = state->bonded;
    tdContactState *cs = state->contact;
    double largest = 0;
    for (int i = 0, row = 0; i < model->contact->n_bonds; row += model->contact->bonds[i++].rows)
    {
        int rows = model->contact->bonds[i].rows;
        double W[9];
        for (int r = 0; r < rows; r++)
            for (int k = 0; k < rows; k++)
                W[r * rows + k] = bonded->S[row + r + (int64_t)(row + k) * bonded->n];
        cs->bond_w[i] = td_sap_weight(rows, W);
        largest = fmax(largest, cs->bond_w[i]);
    }
    for (int i = 0; i < model->contact->n_bonds; i++)
        cs->bond_w[i] = fmax(cs->bond_w[i], fmax(1e-12 * largest, 1e-30));
}

tdStatus td_bonds_respond(const tdModel *model, tdState *state, bool first, bool fresh)
{
    tdBonded *bonded = state->bonded;
    tdContactState *cs = state->contact;
    if (bonded == NULL)
        return TD_OK;
    if (!fresh)
        return td_bonded_free(model, state);
    make_rows(model, state);
    TD_TRY(td_bonded_answer(model, state));
    if (first)
        weigh(model, state);
    for (int i = 0, row = 0; i < model->contact->n_bonds; row += model->contact->bonds[i++].rows)
    {
        const tdBond *bond = &model->contact->bonds[i];
        double g[3], error[3] = {0}, tau = model->contact->groups[bond->group].dissipation;
        td_bond_errors(model, state, bond, g);
        for (int r = 0; r < bond->rows; r++)
            error[r] = known_error(model, state, row + r, g[r], tau, first);
        tdSapLaw law = td_bond_law(model, state, i, error, cs->bond_dead + 3 * i, cs->bond_w[i]);
        for (int r = 0; r < bond->rows; r++)
        {
            bonded->R[row + r] = law.R[r];
            bonded->aim[row + r] = law.v_hat[r];
        }
    }
    TD_TRY(td_bonded_factor(model, state));
    return td_bonded_free(model, state);
}

void td_bonds_take(const tdModel *model, tdState *state)
{
    const tdBonded *bonded = state->bonded;
    tdContactState *cs = state->contact;
    if (bonded == NULL)
        return;
    for (int i = 0, row = 0; i < model->contact->n_bonds; i++)
        for (int r = 0; r < model->contact->bonds[i].rows; r++, row++)
            cs->bond_effort[3 * (int64_t)i + r] = bonded->gamma[row];
    td_bond_push(model, state, cs->bond_effort, state->m);
    for (int64_t i = 0; i < 3 * (int64_t)model->contact->n_bonds; i++)
        cs->bond_effort[i] += cs->bond_base[i];
    state->report.constraints = model->contact->n_bonds;
}

double td_bonds_miss(const tdModel *model, const tdState *state)
{
    const tdBonded *bonded = state->bonded;
    const tdContactState *cs = state->contact;
    double miss = 0;
    for (int i = 0, row = 0; i < model->contact->n_bonds; row += model->contact->bonds[i++].rows)
        miss =
            fmax(miss, td_bond_miss(model, state, i, bonded->R + row, cs->bond_effort + 3 * i, cs->bond_dead + 3 * i));
    return miss / model->size;
}
