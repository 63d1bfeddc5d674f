// SPDX-License-Identifier: Apache-2.0
// Blocks of the problem: the velocities of each body that take part, and the motion of scalar rows.
//
// A driven actuator acts on all nodes along a cable or around a chamber, but it is one scalar row. On a body that is
// condensed its motion z = J v is one more velocity of the block, and its nodes need not take part:
//
//     z   = C lambda + U' f          Y = A^-1 J',  C = J Y,  U = Y_p        f: forces on what takes part
//     v_p = U lambda + S^-1 f        S: A condensed to what takes part
//
//     A of the block = [  K^-1      -K^-1 G'     ]        G = S U,  K = C - U' G
//                      [ -G K^-1   S + G K^-1 G' ]
//     its factor     = [  L_K      0  ]                   K^-1 = L_K L_K',  S = L_S L_S'
//                      [ -G L_K   L_S ]
//
// K vanishes where all nodes of an actuator take part. Half of the row's own regularization keeps it away from zero:
// it is added to K, and the row's law has that much less, so that the problem stays the same (z then means J v plus
// that share times the impulse).
//
// Nodes that an effort moves by u = u_now + r (its rate, or the change itself in statics) take the whole body along, by
// X r. What takes part is then v_p = v_p' + X_p r, and the block has r, which does not feel v_p', beside v_p'; all rows
// have a column J X for it. So has r of nodes that inverse control moves. It is as the search for efforts puts it,
// whatever pushes: its inertia is beyond that of anything around.
#include "contact/contact.h"

#include "base/lapack.h"
#include "constraint/condense.h"
#include "core/state.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <string.h>

#define SHARE (0.5 * TD_SAP_NEAR_RIGID(TD_SAP_BETA_BOX)) // of C, added to K
#define LED   1e9                                        // times the inertia of nodes that inverse control moves

// ---------------------------------------------------------------- who acts by columns

// Bodies that are condensed and that bonds join with one, itself included.
static int company_of(const tdModel *model, int body)
{
    int n = 1;
    for (int b = 0; b < model->n_bodies; b++)
    {
        bool joined = false;
        for (int i = 0; i < model->contact->n_bonds && b != body && !joined; i++)
        {
            const tdPointSet *side = model->contact->bonds[i].side;
            joined = (side[0].body == body && side[1].body == b) || (side[0].body == b && side[1].body == body);
        }
        n += joined && model->bodies[b].ops->recover != NULL;
    }
    return n;
}

tdStatus td_contact_blocks_create(const tdModel *model, tdState *state, tdError *error)
{
    tdContactState *cs = state->contact;
    tdArena *arena = &state->arena;
    cs->bodies = TD_TAKE(arena, tdContactBody, model->n_bodies);
    cs->ahead = TD_TAKE(arena, double *, model->n_bodies);
    cs->drives = TD_TAKE(arena, tdContactDrive, 2 * model->n_actuators);
    cs->held = TD_TAKE(arena, bool, model->coords);
    cs->softness = TD_TAKE(arena, double, model->n_bodies + model->n_actuators);
    cs->v_end = TD_TAKE(arena, double, model->coords);
    if (cs->v_end == NULL || cs->softness == NULL || cs->bodies == NULL || cs->ahead == NULL || cs->drives == NULL ||
        cs->held == NULL)
        return td_fail_memory(error, "the contacts");
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        cs->bodies[b].company = company_of(model, b);
        cs->bodies[b].scalar = TD_TAKE(arena, int32_t, model->n_actuators);
        cs->bodies[b].share = TD_TAKE(arena, double, model->n_actuators);
        cs->bodies[b].moved = TD_TAKE(arena, int32_t, model->n_actuators);
        if (cs->bodies[b].scalar == NULL || cs->bodies[b].share == NULL || cs->bodies[b].moved == NULL)
            return td_fail_memory(error, "the contacts");
        for (int32_t k = 0; k < body->n_held; k++)
            cs->held[body->first + body->held[k]] = true;
    }
    return TD_OK;
}

bool td_contact_acts_on(const tdActuator *actuator, int body)
{
    for (int s = 0; s < actuator->measure.n_sets; s++)
        if (actuator->measure.sets[s].body == body)
            return true;
    return false;
}

// Whether so many velocities of a body take part that all do. A solver on impulses has no use for that, nor have nodes
// that an effort or inverse control moves; and the compliance that a hand feels (haptic/publish.c) is that of a dense
// block.
static bool takes_all(const tdModel *model, tdState *state, const tdBody *body)
{
    if (body->ops->part_all == NULL || model->contact_solver == TD_CONTACT_NLCP || model->contact->guided)
        return false;
    for (int a = 0; a < model->n_actuators; a++)
        if (model->actuators[a].held && model->actuators[a].given->body == body->index &&
            (state->constraint->role[a] == TD_ROLE_EFFORT || state->constraint->role[a] == TD_ROLE_INVERSE))
            return false;
    return body->ops->part_all(body, state, state->contact->bodies[body->index].company);
}

// Bodies that driven actuators act on: those that are condensed by a column, of the others all velocities take part.
void td_contact_touch_scalars(const tdModel *model, tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        tdContactBody *mine = &state->contact->bodies[b];
        mine->n_scalar = 0;
        mine->condensed = body->ops->recover != NULL && !takes_all(model, state, body);
        for (int a = 0; a < model->n_actuators; a++)
        {
            if (!td_contact_drives(model, state, a) || !td_contact_acts_on(&model->actuators[a], b))
                continue;
            if (!mine->condensed)
                mine->acted_on = mine->acted_on || body->unknowns > 0;
            else if (body->unknowns > 0)
                mine->scalar[mine->n_scalar++] = a;
        }
    }
}

// Cables with friction, bonds by columns, inverse control and effectors look at the free motion; Newton's method
// measures by it.
bool td_contact_spares(const tdModel *model, const tdState *state)
{
    if (!state->joined || state->newton || state->friction != NULL || state->bonded != NULL ||
        model->contact_solver == TD_CONTACT_NLCP || model->scheme.mass == 0 || model->n_effectors > 0)
        return false;
    for (int a = 0; a < model->n_actuators; a++)
        if (state->constraint->role[a] == TD_ROLE_INVERSE || model->actuators[a].held)
            return false;
    return true;
}

#define SURE_EVERY 8    // steps, in which A is looked at whatever happens
#define EFFORT     0.2  // of the larger of two efforts: a change in a step that may matter to A
#define WAY        0.03 // of the size of an actuator's displacements, the same

// What chambers add to A may make it indefinite; a step in which they change little will not begin with that, and if it
// does, its energy tells (step/monitor.h).
bool td_contact_is_calm(const tdModel *model, const tdState *state)
{
    const tdConstraintState *rows = state->constraint;
    if (state->steps % SURE_EVERY == 0)
        return false;
    for (int a = 0; a < model->n_actuators; a++)
    {
        double given = rows->given[a], before = rows->effort_start[a];
        bool effort =
            rows->role[a] == TD_ROLE_EFFORT && fabs(given - before) <= EFFORT * fmax(fabs(given), fabs(before));
        bool displacement = rows->role[a] == TD_ROLE_DISPLACEMENT &&
                            fabs(given - rows->displacement_start[a]) <= WAY * model->actuators[a].size;
        if (!effort && !displacement && rows->role[a] != TD_ROLE_SERVO)
            return false;
    }
    return true;
}

bool td_contact_spared(const tdModel *model, const tdState *state)
{
    for (int b = 0; b < model->n_bodies; b++)
        if (state->contact->bodies[b].block >= 0 && state->contact->bodies[b].part.impulse != NULL)
            return true;
    return false;
}

int td_contact_columns(const tdModel *model, const tdState *state)
{
    int n = 0;
    for (int b = 0; state->joined && b < model->n_bodies; b++)
        n += state->contact->bodies[b].n_scalar;
    n += td_condense_touch_count(model, state);
    return n; // those of moved nodes are unknowns of the condensed problem
}

// ---------------------------------------------------------------- columns

// Columns of the condensed problem, s A^-1 J' by actuator. Where rows of contacts act its own unknowns are only the
// moved nodes and free efforts, whose columns come first.
static double *column_of(const tdModel *model, const tdState *state, double *columns, int actuator)
{
    int64_t k = state->constraint->condensed->n;
    for (int a = 0; a < actuator; a++)
        k += td_contact_drives(model, state, a);
    return columns + k * model->coords;
}

// The row of an actuator times a vector over all coordinates, where it is of a body and unknown.
double td_contact_dot_row(const tdModel *model, const tdState *state, int a, const tdBody *body, const double *x)
{
    int row = model->actuators[a].row;
    double sum = 0;
    for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
    {
        int64_t i = model->row_coord[k];
        if (i >= body->first && i < body->first + body->count && !state->contact->held[i])
            sum += state->constraint->J[k] * x[i];
    }
    return sum;
}

// The column of each scalar row that acts on a body.
static tdStatus make_columns(const tdModel *model, tdState *state, const tdBody *body)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    const tdContactBody *mine = &state->contact->bodies[body->index];
    for (int32_t j = 0; j < mine->n_scalar; j++)
    {
        int a = mine->scalar[j], row = model->actuators[a].row;
        double *b = column_of(model, state, cd->B, a);
        memset(b + body->first, 0, (size_t)body->count * sizeof *b);
        for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
            if (model->row_coord[k] >= body->first && model->row_coord[k] < body->first + body->count)
                b[model->row_coord[k]] += model->scheme.s * state->constraint->J[k];
    }
    // Runs of actuators that follow each other go together.
    for (int32_t j = 0, end = 0; j < mine->n_scalar; j = end)
    {
        const double *b = column_of(model, state, cd->B, mine->scalar[j]);
        double *X = column_of(model, state, cd->X, mine->scalar[j]);
        for (end = j + 1;
             end < mine->n_scalar && column_of(model, state, cd->B, mine->scalar[end]) == b + (end - j) * model->coords;
             end++)
            ;
        TD_TRY(body->ops->apply_inverse(model, body, state, end - j, model->coords, b + body->first, X + body->first));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- blocks

// C, then K; K^-1 into the first rows of A, and its factor into those of L.
static tdStatus invert(tdState *state, int m, double *K, int stride, double *A, double *L)
{
    int info = 0;
    dpotrf_("L", &m, K, &m, &info, 1);
    if (info == 0)
        dpotri_("L", &m, K, &m, &info, 1);
    for (int j = 0; j < m; j++)
        for (int i = j; i < m; i++)
            A[i + (int64_t)j * stride] = K[i + j * m];
    if (info == 0)
        dpotrf_("L", &m, K, &m, &info, 1);
    for (int j = 0; j < m; j++)
        for (int i = j; i < m; i++)
            L[i + (int64_t)j * stride] = K[i + j * m];
    if (info == 0)
        return TD_OK;
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "the driven actuators do the same to a body, to rounding error; drive one of them by effort");
}

bool td_contact_is_led(const tdState *state, const tdContactBody *body, int32_t moved)
{
    return state->constraint->role[state->constraint->condensed->unknown[body->moved[moved]]] == TD_ROLE_INVERSE;
}

// psi' A psi of the nodes themselves, which is more than all that they carry resists with.
static double led_inertia(const tdModel *model, const struct tdCondensed *cd, int k)
{
    const tdBody *body = &model->bodies[model->actuators[cd->unknown[k]].given->body];
    const double *X = cd->X + k * model->coords + body->first, *B = cd->B + k * model->coords + body->first;
    double per_step = td_condense_per_step(model), sum = 0;
    for (int32_t i = 0; i < body->n_held; i++)
        sum -= X[body->held[i]] * B[body->held[i]];
    return sum > 0 ? sum / (per_step * per_step) : 1;
}

// Their inertia M, and how fast they move without constraints: M r = s (effort given - effort now).
static tdStatus add_moved(const tdModel *model, tdState *state, const tdContactBody *mine, int all, double *A,
                          double *L, double *v_star)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    int n = mine->n_moved, one = 1, info = 0, at = mine->n_scalar;
    double unit = model->scheme.s / td_condense_per_step(model);
    double *M = A + at + (int64_t)at * all, *F = L + at + (int64_t)at * all;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
        {
            double value =
                0.5 * unit *
                (cd->M[mine->moved[i] * cd->n + mine->moved[j]] + cd->M[mine->moved[j] * cd->n + mine->moved[i]]);
            if (td_contact_is_led(state, mine, i) || td_contact_is_led(state, mine, j))
                value = i == j ? LED * led_inertia(model, cd, mine->moved[i]) : 0;
            M[i + (int64_t)j * all] = F[i + (int64_t)j * all] = value;
        }
    dpotrf_("L", &n, F, &all, &info, 1);
    if (info != 0)
        return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                       "nodes that an effort moves feel no resistance; hold the body, or use a smaller time_step");
    for (int i = 0; i < n; i++)
    {
        double given = state->constraint->given[cd->unknown[mine->moved[i]]];
        v_star[i] = td_contact_is_led(state, mine, i) ? 0 : model->scheme.s * (given - cd->second[mine->moved[i]]);
    }
    dpotrs_("L", &n, &one, F, &all, v_star, &n, &info, 1);
    return TD_OK;
}

// A block of the motion of scalar rows, of moved nodes, and of what takes part.
static tdStatus join(const tdModel *model, tdState *state, const tdBody *body, double **A_out, double **L_out,
                     double *moved)
{
    tdContactState *cs = state->contact;
    const tdContactBody *mine = &cs->bodies[body->index];
    int m = mine->n_scalar, n = mine->acted_on ? mine->part.n : 0, lead = m + mine->n_moved, all = lead + n;
    tdStack *stack = &cs->problem->entries;
    double *A = *A_out = td_stack_take(stack, (int64_t)all * all, sizeof *A);
    double *L = *L_out = td_stack_take(stack, (int64_t)all * all, sizeof *L);
    double *K = td_stack_take(stack, (int64_t)m * m, sizeof *K);
    double *U = td_stack_take(stack, (int64_t)m * n, sizeof *U), *G = td_stack_take(stack, (int64_t)m * n, sizeof *G);
    if (A == NULL || L == NULL || K == NULL || U == NULL || G == NULL)
        return td_fail_memory(&state->report.error, "the constraint problem");
    for (int j = 0; j < m; j++)
    {
        const double *X = column_of(model, state, state->constraint->condensed->X, mine->scalar[j]);
        for (int i = 0; i < m; i++)
            K[i + j * m] = td_contact_dot_row(model, state, mine->scalar[i], body, X) / model->scheme.s;
        mine->share[j] = SHARE * K[j + j * m];
        K[j + j * m] += mine->share[j];
        for (int i = 0; i < n; i++)
            U[i + j * n] = X[body->first + mine->part.coord[i]] / model->scheme.s;
    }
    if (n > 0 && m > 0)
    {
        cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, n, m, 1, mine->part.A, mine->part.stride, U, n, 0, G, n);
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, m, n, -1, U, n, G, n, 1, K, m);
    }
    for (int j = 0; j < lead; j++)
    {
        memset(A + (int64_t)j * all, 0, (size_t)all * sizeof *A);
        memset(L + (int64_t)j * all, 0, (size_t)all * sizeof *L);
    }
    if (m > 0)
        TD_TRY(invert(state, m, K, all, A, L));
    if (mine->n_moved > 0)
        TD_TRY(add_moved(model, state, mine, all, A, L, moved));
    // L_21 = -G L_K, A_21 = L_21 L_K', A_22 = S + L_21 L_21'
    for (int j = 0; j < n; j++)
    {
        int64_t at = (int64_t)(lead + j) * all + lead + j, from = j + (int64_t)j * mine->part.stride;
        memcpy(A + at, mine->part.A + from, (size_t)(n - j) * sizeof *A);
        if (mine->part.L != NULL)
            memcpy(L + at, mine->part.L + j + (int64_t)j * n, (size_t)(n - j) * sizeof *L);
    }
    if (mine->part.L == NULL)
        *L_out = NULL;
    if (n == 0 || m == 0)
        return TD_OK;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, m, m, -1, G, n, L, all, 0, L + lead, all);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, m, m, 1, L + lead, all, L, all, 0, A + lead, all);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, m, 1, L + lead, all, 1, A + lead + (int64_t)lead * all,
                all);
    return TD_OK;
}

// Velocities of a block: without constraints, where to start from, and what is ahead. Those of moved nodes are known.
static tdStatus fill(const tdModel *model, tdState *state, const tdBody *body, bool first)
{
    tdContactState *cs = state->contact;
    const tdContactBody *mine = &cs->bodies[body->index];
    tdSapBlock *block = &cs->problem->blocks[mine->block];
    int32_t lead = mine->n_scalar + mine->n_moved;
    double *v_star = (double *)block->v_star, *v = block->v;
    const double *start = cs->regrown ? cs->v_end : first ? state->v : state->v_new;
    double *ahead = cs->ahead[mine->block] = td_stack_take(&cs->problem->entries, block->n, sizeof *ahead);
    if (ahead == NULL)
        return td_fail_memory(&state->report.error, "the constraint problem");
    double *free_v = td_scratch_take(state);
    for (int64_t i = body->first; i < body->first + body->count && mine->n_scalar > 0; i++)
        free_v[i] = state->v_new[i] + state->dv[i];
    for (int32_t j = 0; j < lead; j++)
    {
        bool scalar = j < mine->n_scalar;
        v_star[j] = scalar ? td_contact_dot_row(model, state, mine->scalar[j], body, free_v) : v_star[j];
        v[j] = scalar ? td_contact_dot_row(model, state, mine->scalar[j], body, start) : v_star[j];
        ahead[j] = 0;
    }
    td_scratch_give(state, free_v);
    // Velocities that are off by what the tolerance allows are thrown back by the next step, since near-rigid points
    // are where they were led to. At rest and in a creep the mean of many steps has none of that.
    bool goes_on = first && !cs->regrown && lead == 0 && mine->part.n_own == 0 && state->steps > 0 &&
                   model->scheme.method == TD_METHOD_THETA;
    double *change = goes_on ? td_stack_take(&cs->problem->entries, block->n, sizeof *change) : NULL;
    if (goes_on && change == NULL)
        return td_fail_memory(&state->report.error, "the constraint problem");
    block->change = change;
    for (int32_t i = lead; i < block->n; i++)
    {
        int64_t coord = td_block_coord(&mine->part, i - lead), k = body->first + coord;
        if (coord < 0)
        {
            int32_t own = i - (block->n - mine->part.n_own);
            v_star[i] = mine->part.own_star[own];
            v[i] = mine->part.own_v[own];
            ahead[i] = 0;
            continue;
        }
        v_star[i] = state->v_new[k] + state->dv[k];
        v[i] = start[k];
        if (change != NULL)
            change[i] = state->a[k] - start[k];
        ahead[i] = td_scheme_drift(&model->scheme, state->v[k], state->a[k]);
    }
    return TD_OK;
}

// Unknowns of the condensed problem that move nodes of a body.
static void list_moved(const tdModel *model, const tdState *state, const tdBody *body, tdContactBody *mine)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    mine->n_moved = 0;
    for (int k = 0; cd != NULL && k < cd->n; k++)
        if (model->actuators[cd->unknown[k]].held && model->actuators[cd->unknown[k]].given->body == body->index)
            mine->moved[mine->n_moved++] = k;
}

tdStatus td_contact_blocks(const tdModel *model, tdState *state, bool first, bool fresh)
{
    tdContactState *cs = state->contact;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        tdContactBody *mine = &cs->bodies[b];
        mine->block = -1;
        mine->part = (tdBodyBlock){0};
        if (mine->acted_on)
            TD_TRY(body->ops->condense(body, state, &mine->part));
        mine->acted_on = mine->part.n > 0;
        list_moved(model, state, body, mine);
        int32_t lead = mine->n_scalar + mine->n_moved, n = lead + mine->part.n;
        if (n == 0)
            continue;
        double *A = NULL, *L = NULL;
        // Where nothing is before what takes part its own matrix does.
        mine->block = td_problem_block(cs->problem, n, lead > 0 ? n : mine->part.stride, mine->part.A, mine->part.L);
        if (mine->block < 0)
            return td_fail_memory(&state->report.error, "the constraint problem");
        tdSapBlock *block = &cs->problem->blocks[mine->block];
        block->sparse = mine->part.sparse;
        block->reverse = lead == 0 ? mine->part.reverse : NULL;
        if (mine->part.impulse != NULL)
        {
            double *impulse = td_stack_take(&cs->problem->entries, n, sizeof *impulse);
            if (impulse == NULL)
                return td_fail_memory(&state->report.error, "the constraint problem");
            for (int32_t i = 0; i < n; i++)
                impulse[i] = mine->part.impulse[mine->part.coord[i]];
            block->b = impulse;
        }
        if (mine->n_scalar > 0 && fresh)
            TD_TRY(make_columns(model, state, body));
        if (lead > 0)
        {
            TD_TRY(join(model, state, body, &A, &L, (double *)block->v_star + mine->n_scalar));
            block->A = A;
            cs->problem->factors[mine->block] = L;
        }
        TD_TRY(fill(model, state, body, first));
    }
    return TD_OK;
}

const double *td_contact_motion(const tdModel *model, const tdState *state, const tdContactBody *body, int32_t moved)
{
    return state->constraint->condensed->X + body->moved[moved] * model->coords;
}

// ---------------------------------------------------------------- weights

#define SAMPLES 4 // points

// The row of the side of a constraint on a block, over the body's coordinates; of a contact its normal. What its size
// is by the diagonal of A.
static double sample_row(const tdSapConstraint *constraint, int32_t block, const tdBodyBlock *part, double *b)
{
    int r = constraint->law.kind == TD_SAP_CONTACT ? 2 : 0;
    double size = 0;
    for (int s = 0; s < constraint->sides; s++)
        for (int32_t j = 0; j < constraint->side[s].count && constraint->side[s].block == block; j++)
        {
            const tdSapSide *side = &constraint->side[s];
            const tdSapSparse *A = part->sparse;
            int32_t column = side->columns != NULL ? side->columns[j] : j;
            double J = side->J[r * (int64_t)side->count + j];
            b[part->coord[column]] += J;
            size += J * J / A->values[A->source[A->start[column]]];
        }
    return size;
}

// How much softer the body is than its diagonal says, where a row acts.
static tdStatus softness(const tdModel *model, tdState *state, const tdBody *body, int32_t c, double *out)
{
    tdContactState *cs = state->contact;
    const tdContactBody *mine = &cs->bodies[body->index];
    double *b = td_scratch_take(state), *x = td_scratch_take(state), flat = 0, sum = 0;
    memset(b + body->first, 0, (size_t)body->count * sizeof *b);
    memset(x + body->first, 0, (size_t)body->count * sizeof *x);
    flat = sample_row(&cs->problem->constraints[c], mine->block, &mine->part, b + body->first);
    tdStatus status = body->ops->apply_inverse(model, body, state, 1, model->coords, b + body->first, x + body->first);
    for (int64_t i = body->first; i < body->first + body->count; i++)
        sum += b[i] * x[i];
    td_scratch_give(state, b);
    *out = flat > 0 ? fmax(sum / flat, 1) : 1;
    return status;
}

#define LASTS 50 // steps: how soft a body is changes little

// It is part of the state, so that a run that is resumed goes on as it was.
tdStatus td_contact_soften(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    tdProblem *problem = cs->problem;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const tdContactBody *mine = &cs->bodies[b];
        double sum = 0, one = 0;
        int samples = 0;
        if (mine->block < 0 || mine->part.sparse == NULL)
            continue;
        bool old = cs->softness[b] == 0 || state->steps % LASTS == 0;
        // Contacts are listed as they lie along the surface: some far from each other.
        int64_t stride = cs->n > SAMPLES ? cs->n / SAMPLES : 1;
        for (int32_t c = 0; c < problem->n_constraints; c++)
        {
            const tdSapConstraint *constraint = &problem->constraints[c];
            tdOwner owner = problem->owner[c];
            bool acts = constraint->side[0].block == mine->block ||
                        (constraint->sides == 2 && constraint->side[1].block == mine->block);
            bool sampled =
                old && owner.kind == TD_OWNER_CONTACT && owner.index % stride == stride / 2 && samples < SAMPLES;
            double *row = owner.kind == TD_OWNER_ACTUATOR ? &cs->softness[model->n_bodies + owner.index / 2] : NULL;
            if (!acts || !(sampled || (row != NULL && (old || *row == 0))))
                continue;
            TD_TRY(softness(model, state, body, c, &one));
            if (row != NULL)
                *row = one;
            sum += sampled ? one : 0;
            samples += sampled;
        }
        if (samples > 0)
            cs->softness[b] = sum / samples;
        problem->blocks[mine->block].softness = cs->softness[b];
    }
    return TD_OK;
}

// ---------------------------------------------------------------- the solution

// By block: whether anything pushes on it.
static bool *find_pushed(tdProblem *problem)
{
    bool *pushed = TD_STACK_TAKE(&problem->entries, bool, problem->n_blocks + 1);
    for (int32_t b = 0; pushed != NULL && b < problem->n_blocks; b++)
        pushed[b] = false;
    for (int32_t c = 0; pushed != NULL && c < problem->n_constraints; c++)
        for (int r = 0; r < problem->constraints[c].law.rows; r++)
            for (int k = 0; k < problem->constraints[c].sides && problem->gamma[TD_SAP_ROWS * (int64_t)c + r] != 0; k++)
                pushed[problem->constraints[c].side[k].block] = true;
    return pushed;
}

// dv += X times the change of efforts, and what else moves what takes part moves the rest of the body with it.
static tdStatus recover(const tdModel *model, tdState *state, const tdBody *body)
{
    tdContactState *cs = state->contact;
    const tdContactBody *mine = &cs->bodies[body->index];
    const tdSapBlock *block = &cs->problem->blocks[mine->block];
    double *dv = state->dv + body->first;
    double *moved = block->v + mine->n_scalar + mine->n_moved; // now by how much
    for (int32_t i = 0; i < mine->part.n; i++)
        moved[i] -= block->v_star[mine->n_scalar + mine->n_moved + i];
    for (int32_t j = 0; j < mine->n_scalar; j++)
    {
        const tdContactDrive *drive = &cs->drives[2 * mine->scalar[j]];
        const double *X = column_of(model, state, state->constraint->condensed->X, mine->scalar[j]) + body->first;
        double step = 0;
        for (int k = 0; k < 2; k++)
            if (drive[k].row >= 0)
                step += cs->problem->gamma[TD_SAP_ROWS * (int64_t)drive[k].row] / model->scheme.s;
        for (int64_t i = 0; i < body->count && step != 0; i++)
            dv[i] += step * X[i];
        for (int32_t i = 0; i < mine->part.n && step != 0; i++)
            moved[i] -= step * X[mine->part.coord[i]];
    }
    if (mine->part.n == 0)
        return TD_OK;
    double *change = td_scratch_take(state);
    tdStatus status = body->ops->recover(body, state, moved, change);
    for (int64_t i = 0; i < body->count && status == TD_OK; i++)
        dv[i] += change[i];
    td_scratch_give(state, change);
    return status;
}

// Nodes that an effort moves, and all that they take along.
static void move(const tdModel *model, tdState *state, const tdBody *body, int k, double rate)
{
    struct tdCondensed *cd = state->constraint->condensed;
    const double *X = cd->X + k * model->coords;
    double change = rate / td_condense_per_step(model);
    cd->next[k] = cd->now[k] + change;
    for (int64_t i = body->first; i < body->first + body->count; i++)
        state->dv[i] += change * X[i];
}

tdStatus td_contact_recover(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    tdStackMark mark = td_stack_mark(&cs->problem->entries);
    const bool *pushed = find_pushed(cs->problem);
    if (pushed == NULL)
        return td_fail_memory(&state->report.error, "the constraint problem");
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const tdContactBody *mine = &cs->bodies[b];
        if (mine->block < 0)
            continue;
        const tdSapBlock *block = &cs->problem->blocks[mine->block];
        if (mine->condensed && pushed[mine->block])
            TD_TRY(recover(model, state, body));
        for (int32_t i = 0; i < mine->part.n && !mine->condensed; i++)
        {
            int64_t coord = td_block_coord(&mine->part, i);
            if (coord < 0)
                mine->part.own_v[i - (mine->part.n - mine->part.n_own)] = block->v[mine->n_moved + i];
            else
                state->dv[body->first + coord] += block->v[mine->n_moved + i] - block->v_star[mine->n_moved + i];
        }
        for (int32_t j = 0; j < mine->n_moved; j++)
            if (!td_contact_is_led(state, mine, j)) // the search for efforts says how far (condense_touch.c)
                move(model, state, body, mine->moved[j], block->v[mine->n_scalar + j]);
    }
    td_stack_release(&cs->problem->entries, mark);
    return TD_OK;
}
