// SPDX-License-Identifier: Apache-2.0
// The convex problem of a step: laws, solution, and what it does to velocities, efforts and the momentum balance.
#include "contact/contact.h"

#include "constraint/constraint.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- laws

// Friction: harmonic mean. Torsion and rolling, which come of how large the patch is and how it gives way: of the side
// that has more, and none on surfaces of soft bodies, which touch at several points. Stiffness: of the softer side.
// Dissipation: of the slower one. Give: of the thinner one.
static double smaller(double a, double b)
{
    return b < a ? b : a;
}

static double larger(double a, double b)
{
    return b > a ? b : a;
}

tdContactPair td_contact_pair(const tdModel *model, const tdContact *contact)
{
    const tdContactCollider *a = &model->contact->colliders[contact->a.collider];
    const tdContactCollider *b = &model->contact->colliders[contact->b.collider];
    double sum = a->friction + b->friction;
    bool parts = model->turning && a->field < 0 && b->field < 0;
    return (tdContactPair){.mu = sum > 0 ? 2 * a->friction * (b->friction / sum) : 0,
                           .torsion = parts ? larger(a->torsion, b->torsion) : 0,
                           .rolling = parts ? larger(a->rolling, b->rolling) : 0,
                           .stiffness = smaller(a->stiffness, b->stiffness),
                           .dissipation = larger(a->dissipation, b->dissipation),
                           .give = smaller(a->give, b->give)};
}

#define LEAVING 0.3 // [m/s]: what comes out of an overlap has no more energy than its body at this speed

// The speed at which a point may come out of an overlap that was there at the start. A point near the axis of a joint
// moves its link by many times its own way: what counts is energy, v^2 / 2 w.
static double leaving_speed(const tdModel *model, const tdContact *contact, double w)
{
    const tdContactCollider *colliders = model->contact->colliders;
    double a = model->bodies[colliders[contact->a.collider].body].mass;
    double b = model->bodies[colliders[contact->b.collider].body].mass;
    return LEAVING * sqrt(w * (a > 0 && b > 0 ? fmin(a, b) : fmax(a, b)));
}

static tdSapLaw contact_law(const tdModel *model, const tdState *state, int32_t i, double w)
{
    const tdContactState *cs = state->contact;
    const tdContact *contact = &cs->contacts[i];
    tdContactPair pair = td_contact_pair(model, contact);
    double mu = td_state_friction(state) * pair.mu, gap = cs->gap[i];
    tdSapLaw law = td_sap_contact(&model->contact->tuning, mu, gap, pair.stiffness, pair.dissipation, w);
    if (gap < 0 && td_contact_overlap(cs, contact) > 0 && isinf(pair.stiffness))
        law.v_hat[2] = fmin(law.v_hat[2], leaving_speed(model, contact, w));
    return law;
}

// Torque is limited by the force along the normal, which is that of the solution before (bear_turns).
static tdSapLaw turning_law(const tdModel *model, const tdState *state, int32_t i, const double drift[3], double w)
{
    const tdContactState *cs = state->contact;
    tdContactPair pair = td_contact_pair(model, &cs->contacts[i]);
    double most = td_state_friction(state) * cs->bears[i];
    tdSapLaw law = td_sap_turning(&model->contact->tuning, pair.rolling * most, pair.torsion * most, w);
    for (int r = 0; r < 3; r++)
        law.v_hat[r] = -drift[r];
    return law;
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

static tdSapLaw drive_law(const tdModel *model, const tdContactDrive *drive, double error, double w)
{
    double k = drive->compliance > 0 ? 1 / drive->compliance : INFINITY, s = model->scheme.s;
    tdSapLaw law = td_sap_box(&model->contact->tuning, error, k, 0, w, s * (drive->limit[0] - drive->now),
                              s * (drive->limit[1] - drive->now));
    law.R[0] = fmax(law.R[0] - drive->share, 0.1 * law.R[0]); // the share is of this pass, w of the first
    return law;
}

static void make_laws(const tdModel *model, tdState *state)
{
    const tdContactState *cs = state->contact;
    tdProblem *problem = cs->problem;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        tdSapLaw *law = &problem->constraints[c].law;
        const double *drift = problem->drift + TD_SAP_ROWS * (int64_t)c;
        int32_t i = problem->owner[c].index;
        double w = problem->w[c];
        switch (problem->owner[c].kind)
        {
        case TD_OWNER_CONTACT:
            *law = contact_law(model, state, i, w);
            for (int r = 0; r < 3; r++)
                law->v_hat[r] -= drift[r];
            law->v_hat[2] -= cs->ride[i];
            for (int r = 0; r < 2; r++)
                law->v_hat[r] += law->R[r] * cs->hold[2 * (int64_t)i + r];
            break;
        case TD_OWNER_TURNING: *law = turning_law(model, state, i, drift, w); break;
        case TD_OWNER_ACTUATOR: *law = drive_law(model, &cs->drives[i], drift[0], w); break;
        case TD_OWNER_STOP: *law = td_sap_box(&model->contact->tuning, drift[0], INFINITY, 0, w, 0, INFINITY); break;
        case TD_OWNER_BODY: *law = body_law(&model->contact->tuning, &cs->body_rows[i], w); break;
        default: *law = td_bond_law(model, state, i, drift, cs->bond_dead + 3 * (int64_t)i, w);
        }
    }
}

// ---------------------------------------------------------------- what comes of it

static void take_impulses(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    const tdProblem *problem = cs->problem;
    if (cs->n > 0)
        memset(cs->impulse, 0, 3 * (size_t)cs->n * sizeof *cs->impulse);
    if (cs->n > 0 && model->turning)
        memset(cs->turn, 0, 3 * (size_t)cs->n * sizeof *cs->turn);
    td_contact_bear(model, cs);
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const double *gamma = problem->gamma + TD_SAP_ROWS * (int64_t)c;
        int32_t i = problem->owner[c].index;
        if (problem->owner[c].kind == TD_OWNER_CONTACT || problem->owner[c].kind == TD_OWNER_TURNING)
        {
            double(*frame)[3] = cs->frame[i], *of = problem->owner[c].kind == TD_OWNER_CONTACT ? cs->impulse : cs->turn;
            for (int k = 0; k < 3; k++)
                of[3 * i + k] = gamma[0] * frame[0][k] + gamma[1] * frame[1][k] + gamma[2] * frame[2][k];
        }
        if (problem->owner[c].kind == TD_OWNER_BOND)
            td_bond_take(model, state, c);
        if (problem->owner[c].kind != TD_OWNER_ACTUATOR)
            continue;
        const tdContactDrive *drive = &cs->drives[i];
        double effort = fmin(fmax(drive->now + gamma[0] / model->scheme.s, drive->limit[0]), drive->limit[1]);
        td_constraint_push(model, state, i / 2, effort - drive->now);
        double *all = &state->constraint->effort[i / 2]; // of both stops; limits are met exactly
        *all = *all == drive->now ? effort : *all + effort - drive->now;
    }
}

// Of a body all of whose coordinates are velocities of its block, the rows say what an impulse does. False: they do
// not.
static bool push_by_rows(const tdModel *model, const tdContactState *cs, int32_t c, const tdContactSide *side,
                         double *m)
{
    const tdSapConstraint *constraint = &cs->problem->constraints[c];
    const tdBody *body = &model->bodies[model->contact->colliders[side->collider].body];
    const tdContactBody *mine = &cs->bodies[body->index];
    const double *gamma = cs->problem->gamma + TD_SAP_ROWS * (int64_t)c;
    if (mine->block < 0 || !mine->acted_on || mine->condensed || body->n_held > 0 ||
        mine->n_scalar + mine->n_moved > 0 || mine->part.coord != NULL || mine->part.n != body->count ||
        mine->part.n_own > 0)
        return false;
    int s = constraint->side[0].block == mine->block ? 0 : 1;
    const tdSapSide *rows = &constraint->side[s];
    if (s >= constraint->sides || rows->block != mine->block)
        return false;
    const double *J = rows->J, *J1 = J + rows->count, *J2 = J1 + rows->count;
    double *to = m + body->first;
    for (int32_t j = 0; j < rows->count; j++)
        to[rows->columns != NULL ? rows->columns[j] : j] -= gamma[0] * J[j] + gamma[1] * J1[j] + gamma[2] * J2[j];
    return true;
}

// p: on side a, and against it on side b. row: of the problem; -1: none.
static void push_contact(const tdModel *model, const tdState *state, int64_t i, int32_t row, bool turns,
                         const double p[3], double *m)
{
    const tdContactState *cs = state->contact;
    const tdContact *contact = &cs->contacts[i];
    const double back[3] = {-p[0], -p[1], -p[2]};
    const tdContactCollider *colliders = model->contact->colliders;
    if (p[0] == 0 && p[1] == 0 && p[2] == 0)
        return;
    bool known = row >= 0 && colliders[contact->a.collider].body != colliders[contact->b.collider].body;
    if (!known || !push_by_rows(model, cs, row, &contact->a, m))
        td_contact_push_side(model, state, &contact->a, turns, p, m);
    if (!known || !push_by_rows(model, cs, row, &contact->b, m))
        td_contact_push_side(model, state, &contact->b, turns, back, m);
}

void td_contact_push(const tdModel *model, tdState *state, double *m)
{
    const tdContactState *cs = state->contact;
    if (!state->joined && state->bonded == NULL)
        return;
    const tdProblem *problem = cs->problem;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        tdOwner owner = problem->owner[c];
        if (owner.kind == TD_OWNER_CONTACT)
            push_contact(model, state, owner.index, c, false, cs->impulse + 3 * (int64_t)owner.index, m);
        if (owner.kind == TD_OWNER_TURNING)
            push_contact(model, state, owner.index, c, true, cs->turn + 3 * (int64_t)owner.index, m);
    }
    for (int64_t i = 0; i < cs->n; i++) // what sleeps bears without rows
    {
        if (cs->acts[i])
            continue;
        push_contact(model, state, i, -1, false, cs->impulse + 3 * i, m);
        if (model->turning)
            push_contact(model, state, i, -1, true, cs->turn + 3 * i, m);
    }
    for (int32_t c = 0; c < problem->n_constraints; c++)
        if (problem->owner[c].kind == TD_OWNER_BODY)
        {
            int32_t k = problem->owner[c].index;
            m[model->bodies[cs->row_body[k]].first + cs->body_rows[k].coord] -=
                cs->body_rows[k].ratio * problem->gamma[TD_SAP_ROWS * (int64_t)c];
        }
    td_bond_push(model, state, cs->bond_effort, m);
}

// Forces that hold bodies together are much the same from step to step. Without them joints and turning bodies would be
// found at speeds that they never have, and what goes with the square of the speed would be far off. Newton's method
// takes all of that at the iterate. In equilibria a body that nothing else holds would fall a million times its own
// deformation in each pass, and rounding of that would be all that is left in the end: there they are those of the last
// pass.
void td_contact_expect(const tdModel *model, tdState *state, double *m)
{
    tdContactState *cs = state->contact;
    if (cs == NULL || model->contact->n_bonds == 0)
        return;
    size_t bytes = 3 * (size_t)model->contact->n_bonds * sizeof(double);
    if (model->scheme.method == TD_METHOD_STATIC)
        memcpy(cs->bond_base, cs->bond_effort, bytes);
    else if (state->newton)
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
    const tdProblem *problem = cs->problem;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        tdOwner owner = problem->owner[c];
        if (owner.kind == TD_OWNER_BOND)
            miss = fmax(miss, td_bond_miss(model, state, owner.index, problem->constraints[c].law.R,
                                           cs->bond_effort + 3 * (int64_t)owner.index,
                                           cs->bond_dead + 3 * (int64_t)owner.index) /
                                  model->size);
        if (owner.kind != TD_OWNER_ACTUATOR)
            continue;
        const tdContactDrive *drive = &cs->drives[owner.index];
        int a = owner.index / 2;
        double effort = rows->effort[a], size = model->actuators[a].size;
        if (drive->limit[0] < effort && effort < drive->limit[1])
            miss = fmax(miss, fabs(rows->travel[a] + drive->compliance * effort - drive->target) / size);
    }
    return miss;
}

// ---------------------------------------------------------------- together

tdStatus td_contact_fail(const tdModel *model, tdState *state, tdStatus status)
{
    char why[sizeof state->report.error.message];
    memcpy(why, state->report.error.message, sizeof why);
    return td_fail(&state->report.error, status, "contact, t = %g s (step %lld): %.480s", state->time + model->scheme.h,
                   (long long)state->steps + 1, why);
}

#define TIGHTER 3 // times: for ratios of masses of 1e9 and more

enum
{
    SOLVED = -1, // for good
    FIRST = 0,   // with w of the points' own bodies; then how often they were made tighter
};

// Near-rigid points that give way too far bear more than their own bodies: what they bear is found first, and with it
// how soft they may be (contact_load.c). A solver that does not arrive has nothing to say about loads.
static bool weigh_loads(void *context, tdProblem *problem, const tdSolveResult *result)
{
    const struct tdContactLoads *loads = context;
    const tdModel *model = loads->model;
    tdState *state = loads->state;
    tdContactState *cs = state->contact;
    (void)problem;
    if (cs->phase == SOLVED || (cs->phase == FIRST && (result->limit || !td_contact_gives_way(model, state))))
        return false;
    bool tight = cs->phase > FIRST && td_contact_is_tight(model, state);
    if (cs->phase < TIGHTER && !tight && !result->limit)
    {
        cs->phase++;
        td_contact_tighten(model, state);
        return true;
    }
    cs->phase = SOLVED;
    if (!result->limit)
        td_contact_weigh_load(model, state);
    make_laws(model, state);
    return true;
}

// ---------------------------------------------------------------- what slides

#define ROUNDS 12   // of which a few are needed
#define STAYS  1e-3 // of the speed that is taken away: a change that does not matter

// The cone of the convex problem has a point that slides at v_t leave the other side at mu |v_t|. With that speed taken
// away from what its normal is drawn to, the problem's solution is that of Coulomb's law (G. De Saxce, Z.-Q. Feng
// 1998): found in rounds, each a convex problem that starts from the solution of the last.
static bool take_rides_away(const tdModel *model, tdState *state, const tdSolveResult *result)
{
    tdContactState *cs = state->contact;
    tdProblem *problem = cs->problem;
    bool changed = false;
    if (!model->contact->corrected || result->limit || cs->rounds++ >= ROUNDS)
        return false;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int32_t i = problem->owner[c].index;
        const double *v = problem->v_c + TD_SAP_ROWS * (int64_t)c, *drift = problem->drift + TD_SAP_ROWS * (int64_t)c;
        if (problem->owner[c].kind != TD_OWNER_CONTACT)
            continue;
        tdSapLaw *law = &problem->constraints[c].law;
        bool bears = problem->gamma[TD_SAP_ROWS * (int64_t)c + 2] > 0;
        double ride = bears ? law->mu * hypot(v[0] + drift[0], v[1] + drift[1]) : 0, more = ride - cs->ride[i];
        if (fabs(more) <= STAYS * ride)
            continue;
        changed = true;
        law->v_hat[2] -= more;
        cs->ride[i] = ride;
    }
    return changed;
}

// ---------------------------------------------------------------- what sticks

#define STILL 1e-6 // of what friction may bear: a change that does not matter

// A tangent of the convex problem gives way by R_t gamma_t before it bears gamma_t. Beside the speed of a moving body
// that is nothing, but in equilibria it is a displacement, once more in each of them, however constant the load. With
// the impulse that was found as the one which the point bears where it is, gamma_t = P(hold - v_t / R_t) ends at
// Coulomb's law without that softness (the method of multipliers): what sticks stays where it was, so that an
// equilibrium does not depend on how many there were before. R_t is so little beside the body's own softness that a
// round or two do.
static bool hold_still(const tdModel *model, tdState *state, const tdSolveResult *result)
{
    tdContactState *cs = state->contact;
    tdProblem *problem = cs->problem;
    bool changed = false;
    if (model->scheme.method != TD_METHOD_STATIC || model->contact_solver == TD_CONTACT_NLCP || result->limit ||
        cs->holds++ >= ROUNDS)
        return false;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const double *gamma = problem->gamma + TD_SAP_ROWS * (int64_t)c;
        if (problem->owner[c].kind != TD_OWNER_CONTACT)
            continue;
        tdSapLaw *law = &problem->constraints[c].law;
        double *hold = cs->hold + 2 * (int64_t)problem->owner[c].index;
        double more[2] = {gamma[0] - hold[0], gamma[1] - hold[1]};
        if (hypot(more[0], more[1]) <= STILL * law->mu * gamma[2])
            continue;
        changed = true;
        for (int r = 0; r < 2; r++)
        {
            law->v_hat[r] += law->R[r] * more[r];
            hold[r] = gamma[r];
        }
    }
    return changed;
}

// ---------------------------------------------------------------- what turns

#define BORNE 1e-6 // of the force along the normal: a change that does not matter

// Torsional and rolling friction resist with a torque of no more than so much times the force along the normal. In one
// problem with that force they would not be convex; with the limits of the last solution they are (sap_law.h). The
// force along the normal hardly depends on them, so that a round or two do.
static bool bear_turns(const tdModel *model, tdState *state, const tdSolveResult *result)
{
    tdContactState *cs = state->contact;
    const tdProblem *problem = cs->problem;
    bool changed = false;
    if (!model->turning || result->limit || cs->turns++ >= ROUNDS)
        return false;
    for (int32_t c = 1; c < problem->n_constraints; c++)
    {
        if (problem->owner[c].kind != TD_OWNER_TURNING)
            continue;
        int32_t i = problem->owner[c].index;
        double bears = problem->gamma[TD_SAP_ROWS * (int64_t)(c - 1) + 2]; // of the contact before it
        if (fabs(bears - cs->bears[i]) <= BORNE * bears)
            continue;
        changed = true;
        cs->bears[i] = bears;
        problem->constraints[c].law =
            turning_law(model, state, i, problem->drift + TD_SAP_ROWS * (int64_t)c, problem->w[c]);
    }
    return changed;
}

static bool solve_again(void *context, tdProblem *problem, const tdSolveResult *result)
{
    const struct tdContactLoads *loads = context;
    return weigh_loads(context, problem, result) || take_rides_away(loads->model, loads->state, result) ||
           hold_still(loads->model, loads->state, result) || bear_turns(loads->model, loads->state, result);
}

void td_contact_restart(void *context)
{
    const struct tdContactLoads *loads = context;
    tdContactState *cs = loads->state->contact;
    tdProblem *problem = cs->problem;
    if (!cs->weighed)
        return;
    for (int32_t c = 0; c < problem->n_constraints; c++)
        if (problem->owner[c].kind == TD_OWNER_CONTACT)
            problem->w[c] = cs->w_own[problem->owner[c].index];
    make_laws(loads->model, loads->state);
    cs->phase = FIRST;
}

// w of the bodies, in the first pass: with others in each the passes would have no common solution. The share of R that
// blocks have already is that of contact_block.c.
static tdStatus weigh(const tdModel *model, tdState *state, bool first, bool *weighed)
{
    tdContactState *cs = state->contact;
    tdProblem *problem = cs->problem;
    *weighed = first || cs->n_weighed != problem->n_constraints;
    if (!*weighed)
        return TD_OK;
    TD_TRY(td_contact_soften(model, state));
    TD_TRY(td_problem_weigh(problem, state->tasks, &state->report.error));
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int32_t i = problem->owner[c].index;
        if (problem->owner[c].kind == TD_OWNER_CONTACT)
            cs->w_own[i] = problem->w[c];
        if (problem->owner[c].kind == TD_OWNER_ACTUATOR &&
            problem->blocks[problem->constraints[c].side[0].block].sparse != NULL)
            problem->w[c] *= fmax(cs->softness[model->n_bodies + i / 2], 1);
    }
    cs->n_weighed = problem->n_constraints;
    return TD_OK;
}

static tdStatus make_problem(const tdModel *model, tdState *state, bool first, bool fresh)
{
    tdContactState *cs = state->contact;
    bool weighed = false;
    TD_TRY(td_contact_blocks(model, state, first, fresh));
    TD_TRY(td_contact_rows(model, state, first));
    TD_TRY(weigh(model, state, first, &weighed));
    make_laws(model, state);
    cs->phase = weighed ? FIRST : SOLVED;
    cs->weighed = weighed;
    cs->loads = (struct tdContactLoads){model, state};
    cs->rounds = cs->holds = cs->turns = 0;
    cs->problem->again = solve_again;
    cs->problem->context = &cs->loads;
    return td_contact_steer(model, state);
}

tdStatus td_contact_problem(const tdModel *model, tdState *state, bool first, bool fresh)
{
    tdStatus status = make_problem(model, state, first, fresh);
    return status == TD_OK ? TD_OK : td_contact_fail(model, state, status);
}

tdStatus td_contact_take(const tdModel *model, tdState *state, const tdSolveResult *result)
{
    tdContactState *cs = state->contact;
    state->report.contact_iterations += result->iterations;
    state->report.contact_residual = result->residual;
    state->report.contact_limit = state->report.contact_limit || result->limit;
    cs->limit = result->limit;
    state->report.constraints = cs->problem->n_constraints;
    cs->scale = state->newton ? td_problem_momentum(cs->problem) : 0;
    tdStatus status = cs->recovered ? TD_OK : td_contact_recover(model, state);
    cs->recovered = false;
    if (status != TD_OK)
        return td_contact_fail(model, state, status);
    take_impulses(model, state);
    td_contact_push(model, state, state->m);
    for (int64_t i = 0; i < 3 * (int64_t)model->contact->n_bonds; i++)
        cs->bond_effort[i] += cs->bond_base[i];
    return TD_OK;
}
