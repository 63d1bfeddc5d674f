// SPDX-License-Identifier: Apache-2.0
// The convex problem of a step: laws, solution, and what it does to velocities, efforts and the momentum balance.
#include "contact/contact.h"

#include "constraint/constraint.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- laws

// Friction: harmonic mean. Stiffness: of the softer side. Dissipation: of the slower one. Give: of the thinner one.
tdContactPair td_contact_pair(const tdModel *model, const tdContact *contact)
{
    const tdContactCollider *a = &model->contact->colliders[contact->a.collider];
    const tdContactCollider *b = &model->contact->colliders[contact->b.collider];
    double sum = a->friction + b->friction;
    return (tdContactPair){.mu = sum > 0 ? 2 * a->friction * (b->friction / sum) : 0,
                           .stiffness = fmin(a->stiffness, b->stiffness),
                           .dissipation = fmax(a->dissipation, b->dissipation),
                           .give = fmin(a->give, b->give)};
}

static tdSapLaw contact_law(const tdModel *model, const tdContact *contact, double gap, double w)
{
    tdContactPair pair = td_contact_pair(model, contact);
    return td_sap_contact(&model->contact->tuning, pair.mu, gap, pair.stiffness, pair.dissipation, w);
}

// effort = clamp(-k error - d (rate - asked)) at the end of the step is a box row as it stands; only what is stiffer
// than the solver takes is softened.
static tdSapLaw body_law(const tdSapTuning *tuning, const tdBodyRow *row, double w)
{
    if (row->stiffness > 0)
        return td_sap_box(tuning, row->error, row->stiffness, row->damping / row->stiffness, w, row->low, row->high);
    tdSapLaw law = td_sap_box(tuning, 0, INFINITY, 0, w, row->low, row->high);
    law.R[0] = fmax(law.R[0], 1 / (tuning->s * row->damping));
    law.v_hat[0] = row->rate;
    return law;
}

static void make_laws(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    double s = model->scheme.s;
    for (int32_t c = 0; c < cs->n_constraints; c++)
    {
        tdSapConstraint *constraint = &cs->constraints[c];
        double w = cs->w[c], *drift = cs->drift + TD_SAP_ROWS * c;
        if (cs->contact_of[c] >= 0)
        {
            constraint->law = contact_law(model, &cs->contacts[cs->contact_of[c]], cs->gap[c], w);
            for (int r = 0; r < 3; r++)
                constraint->law.v_hat[r] -= drift[r];
            continue;
        }
        const tdContactRow *row = &cs->rows[c];
        if (row->actuator == TD_ROW_BOND)
        {
            constraint->law = td_bond_law(model, state, row->bond, drift, row->dead, w);
            continue;
        }
        if (row->actuator == TD_ROW_BODY)
        {
            constraint->law = body_law(&model->contact->tuning, &row->own, w);
            continue;
        }
        double k = row->compliance > 0 ? 1 / row->compliance : INFINITY;
        constraint->law = td_sap_box(&model->contact->tuning, drift[0], k, 0, w, s * (row->limit[0] - row->now),
                                     s * (row->limit[1] - row->now));
    }
}

// ---------------------------------------------------------------- what comes of it

// |A v| over the blocks: what the solver's own residual is relative to. Bodies that glide along without forces have a
// balance of next to nothing, beside which rounding of the impulses would be much.
static double momentum(const tdContactState *cs)
{
    double square = 0;
    for (int32_t b = 0; b < cs->n_blocks; b++)
    {
        const tdSapBlock *block = &cs->blocks[b];
        for (int32_t i = 0; i < block->n; i++)
        {
            double sum = 0;
            for (int32_t j = 0; j < block->n; j++)
                sum += block->A[i >= j ? i + (int64_t)j * block->stride : j + (int64_t)i * block->stride] * block->v[j];
            square += sum * sum;
        }
    }
    return sqrt(square);
}

static tdStatus correct_velocities(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const tdContactBody *mine = &cs->bodies[b];
        if (mine->block < 0)
            continue;
        tdSapBlock *block = &cs->blocks[mine->block];
        double *dv = state->dv + body->first;
        for (int32_t i = 0; i < block->n; i++)
            block->v[i] -= block->v_star[i];
        if (mine->part.coord == NULL)
        {
            for (int32_t i = 0; i < block->n; i++)
                dv[i] += block->v[i];
            continue;
        }
        double *change = state->scratch + body->first;
        TD_TRY(body->ops->recover(body, state, block->v, change));
        for (int64_t i = 0; i < body->count; i++)
            dv[i] += change[i];
    }
    return TD_OK;
}

static void take_impulses(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    if (cs->n > 0)
        memset(cs->impulse, 0, 3 * (size_t)cs->n * sizeof *cs->impulse);
    for (int32_t c = 0; c < cs->n_constraints; c++)
    {
        const double *gamma = cs->gamma + TD_SAP_ROWS * c;
        int32_t i = cs->contact_of[c];
        if (i >= 0)
        {
            double frame[3][3];
            td_contact_frame(cs->contacts[i].normal, frame);
            for (int k = 0; k < 3; k++)
                cs->impulse[3 * i + k] = gamma[0] * frame[0][k] + gamma[1] * frame[1][k] + gamma[2] * frame[2][k];
            continue;
        }
        const tdContactRow *row = &cs->rows[c];
        if (row->actuator == TD_ROW_BOND)
            td_bond_take(model, state, c);
        if (row->actuator < 0)
            continue;
        double effort = fmin(fmax(row->now + gamma[0] / model->scheme.s, row->limit[0]), row->limit[1]);
        td_constraint_push(model, state, row->actuator, effort - row->now);
        state->constraint->effort[row->actuator] = effort;
    }
}

void td_contact_push(const tdModel *model, tdState *state, double *m)
{
    const tdContactState *cs = state->contact;
    if (!state->joined && state->bonded == NULL)
        return;
    for (int64_t i = 0; i < cs->n; i++)
    {
        const double *p = cs->impulse + 3 * i, back[3] = {-p[0], -p[1], -p[2]};
        if (p[0] == 0 && p[1] == 0 && p[2] == 0)
            continue;
        td_contact_push_side(model, state, &cs->contacts[i].a, p, m);
        td_contact_push_side(model, state, &cs->contacts[i].b, back, m);
    }
    for (int32_t c = 0; c < cs->n_constraints; c++)
        if (cs->contact_of[c] < 0 && cs->rows[c].actuator == TD_ROW_BODY)
        {
            const tdContactRow *row = &cs->rows[c];
            m[model->bodies[row->body].first + row->own.coord] -= row->own.ratio * cs->gamma[TD_SAP_ROWS * c];
        }
    td_bond_push(model, state, cs->bond_effort, m);
}

// Forces that hold bodies together are much the same from step to step. Without them joints and turning bodies would be
// found at speeds that they never have, and what goes with the square of the speed would be far off. Newton's method
// takes all of that at the iterate.
void td_contact_expect(const tdModel *model, tdState *state, double *m)
{
    tdContactState *cs = state->contact;
    if (cs == NULL || model->contact->n_bonds == 0)
        return;
    size_t bytes = 3 * (size_t)model->contact->n_bonds * sizeof(double);
    if (state->newton)
        memset(cs->bond_base, 0, bytes);
    else
        memcpy(cs->bond_base, cs->bond_told, bytes);
    td_bond_push(model, state, cs->bond_base, m);
}

double td_contact_miss(const tdModel *model, const tdState *state)
{
    const tdContactState *cs = state->contact;
    const tdConstraintState *rows = state->constraint;
    double miss = 0;
    if (!state->joined && state->bonded == NULL)
        return 0;
    if (!cs->whole)
        return INFINITY;
    if (!state->joined)
        return td_bonds_miss(model, state);
    for (int32_t c = 0; c < cs->n_constraints; c++)
    {
        const tdContactRow *row = &cs->rows[c];
        int a = cs->contact_of[c] < 0 ? row->actuator : TD_ROW_BODY;
        if (a == TD_ROW_BOND)
            miss = fmax(miss, td_bond_miss(model, state, row->bond, cs->constraints[c].law.R,
                                           cs->gamma + TD_SAP_ROWS * (int64_t)c, row->dead) /
                                  model->size);
        if (a >= 0 && row->limit[0] < rows->effort[a] && rows->effort[a] < row->limit[1])
            miss = fmax(miss, fabs(rows->travel[a] + row->compliance * rows->effort[a] - row->target) /
                                  model->actuators[a].size);
    }
    return miss;
}

// ---------------------------------------------------------------- together

static tdStatus fail(const tdModel *model, tdState *state, tdStatus status)
{
    char why[sizeof state->report.error.message];
    memcpy(why, state->report.error.message, sizeof why);
    return td_fail(&state->report.error, status, "contact, t = %g s (step %lld): %.480s", state->time + model->scheme.h,
                   (long long)state->steps + 1, why);
}

// Newton's own tolerance is beyond that of the contact problem.
static double tolerance(const tdModel *model, const tdState *state, double standard)
{
    return state->newton ? fmin(standard, 0.1 * model->scene.settings.tolerance) : standard;
}

static tdStatus by_velocities(const tdModel *model, tdState *state, const tdSapProblem *problem, bool *limit)
{
    tdSapSettings settings = td_default_sap();
    settings.tolerance = tolerance(model, state, settings.tolerance);
    tdSapResult result;
    TD_TRY(td_sap_solve(state->contact->sap, state->tasks, problem, &settings, &result, &state->report.error));
    state->report.contact_iterations += result.iterations;
    // An island where nothing moves ends by its absolute bound; relative to next to nothing its residual says nothing.
    bool all = result.bound + result.roundoff == 0;
    state->report.contact_residual = all ? fmin(result.residual, settings.tolerance) : result.residual;
    *limit = result.bound > 0;
    return TD_OK;
}

static tdStatus by_impulses(const tdModel *model, tdState *state, const tdSapProblem *problem, bool *limit)
{
    tdNlcpSettings settings = td_default_nlcp();
    settings.tolerance = tolerance(model, state, settings.tolerance);
    tdNlcpResult result;
    TD_TRY(td_contact_nlcp(state->contact, problem, &settings, &result, &state->report.error));
    state->report.contact_iterations += result.iterations;
    state->report.contact_residual = result.residual;
    *limit = !result.converged;
    return TD_OK;
}

static tdStatus solve_once(const tdModel *model, tdState *state, const tdSapProblem *problem, bool *limit)
{
    return model->scene.contact.solver == TD_CONTACT_NLCP ? by_impulses(model, state, problem, limit)
                                                          : by_velocities(model, state, problem, limit);
}

#define TIGHTER 3 // times: for ratios of masses of 1e9 and more

// Near-rigid points that give way too far bear more than their own bodies: what they bear is found first, and with it
// how soft they may be (contact_load.c). A solver that does not arrive has nothing to say about loads.
static tdStatus solve_by_load(const tdModel *model, tdState *state, const tdSapProblem *problem, bool weigh)
{
    bool limit = false;
    make_laws(model, state);
    TD_TRY(solve_once(model, state, problem, &limit));
    if (weigh && !limit && td_contact_gives_way(model, state))
    {
        bool tight = false;
        for (int k = 0; k < TIGHTER && !tight && !limit; k++)
        {
            td_contact_tighten(model, state);
            TD_TRY(solve_once(model, state, problem, &limit));
            tight = td_contact_is_tight(model, state);
        }
        if (!limit)
            td_contact_weigh_load(model, state);
        make_laws(model, state);
        TD_TRY(solve_once(model, state, problem, &limit));
    }
    state->report.contact_limit = state->report.contact_limit || limit;
    return TD_OK;
}

static tdStatus weigh_bodies(tdState *state, const tdSapProblem *problem)
{
    tdContactState *cs = state->contact;
    double largest = 0;
    TD_TRY(td_sap_weights(cs->sap, state->tasks, problem, TD_SAP_EXACT, cs->factors, cs->w, &state->report.error));
    for (int32_t c = 0; c < cs->n_constraints; c++)
        largest = fmax(largest, cs->w[c]);
    // A point that no coordinate of its bodies moves, as on the axis of a joint, has none.
    for (int32_t c = 0; c < cs->n_constraints; c++)
        cs->w_own[c] = cs->w[c] = fmax(cs->w[c], fmax(1e-12 * largest, 1e-30));
    cs->n_weighed = cs->n_constraints;
    return TD_OK;
}

static tdStatus solve(const tdModel *model, tdState *state, bool first)
{
    tdContactState *cs = state->contact;
    TD_TRY(td_contact_blocks(model, state, first));
    TD_TRY(td_contact_rows(model, state, first));
    tdSapProblem problem = {.n_blocks = cs->n_blocks,
                            .n_constraints = cs->n_constraints,
                            .blocks = cs->blocks,
                            .constraints = cs->constraints,
                            .gamma = cs->gamma,
                            .v_c = cs->v_c};
    // Regularizations are those of the first pass: with others in each the passes would have no common solution.
    bool weigh = first || cs->n_weighed != cs->n_constraints;
    if (weigh)
        TD_TRY(weigh_bodies(state, &problem));
    TD_TRY(solve_by_load(model, state, &problem, weigh));
    cs->scale = state->newton ? momentum(cs) : 0;
    state->report.constraints = cs->n_constraints;
    return TD_OK;
}

tdStatus td_contact_solve(const tdModel *model, tdState *state, bool first)
{
    tdContactState *cs = state->contact;
    tdStatus status = solve(model, state, first);
    if (status == TD_OK)
        status = correct_velocities(model, state);
    if (status != TD_OK)
        return fail(model, state, status);
    take_impulses(model, state);
    td_contact_push(model, state, state->m);
    for (int64_t i = 0; i < 3 * (int64_t)model->contact->n_bonds; i++)
        cs->bond_effort[i] += cs->bond_base[i];
    return TD_OK;
}
