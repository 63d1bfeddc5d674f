// SPDX-License-Identifier: Apache-2.0
// A soft body in the step: what each stage of src/step/step.c asks of it.
#include "body/soft.h"
#include "body/spring.h"
#include "solve/async.h"

#include <math.h>
#include <string.h>

static const tdSoft *soft_of(const tdBody *body)
{
    return body->data;
}

static tdSoftState *mine_of(const tdBody *body, tdState *state)
{
    return (tdSoftState *)state->bodies[body->index];
}

// ---------------------------------------------------------------- life

static void free_model(tdBody *body)
{
    tdSoft *soft = body->data;
    td_linear_model_free(&soft->linear);
    td_mesh_free(&soft->mesh);
}

static size_t coupling_size(const tdSoft *soft)
{
    return 18 * (size_t)soft->n_coupled;
}

static tdStatus state_create(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    const tdSoft *soft = soft_of(body);
    tdArena *arena = &state->arena;
    tdSoftState *mine = TD_TAKE(arena, tdSoftState, 1);
    if (mine == NULL)
        return td_fail_memory(error, "the state of a soft body");
    state->bodies[body->index] = (tdBodyState *)mine;
    mine->factors = td_state_factors(state, body->index);
    int64_t lanes = 36 * soft->point_batches, values = 9 * soft->pattern.blocks;
    mine->F = TD_TAKE(arena, double, lanes);
    mine->R = soft->turning ? TD_TAKE(arena, double, lanes) : NULL;
    mine->K = TD_TAKE(arena, double, values);
    mine->A = TD_TAKE(arena, double, values);
    mine->K_apart = soft->beta > 0 ? TD_TAKE(arena, double, values) : mine->K;
    mine->K_damping = mine->K;
    mine->arrived_q = TD_TAKE(arena, double, body->count);
    mine->sums = TD_TAKE(arena, tdChunkSums, soft->chunks);
    mine->history = TD_TAKE(arena, double, soft->history);
    mine->gamma = TD_TAKE(arena, double, td_soft_step_history(soft));
    mine->factor_history = TD_TAKE(arena, double, td_soft_step_history(soft));
    mine->turn = TD_TAKE(arena, double, 3 * body->count);
    mine->turn_factor = TD_TAKE(arena, double, 3 * body->count);
    mine->factor_q = TD_TAKE(arena, double, body->count);
    mine->factor_start = TD_TAKE(arena, double, body->count);
    mine->damping_q = TD_TAKE(arena, double, body->count);
    mine->factor_damping = TD_TAKE(arena, double, body->count);
    mine->factor_input = TD_TAKE(arena, double, model->n_inputs + 1);
    mine->coupling = TD_TAKE(arena, double, coupling_size(soft));
    mine->factor_coupling = TD_TAKE(arena, double, coupling_size(soft));
    mine->balanced = TD_TAKE(arena, double, body->count);
    mine->factor_springs = TD_TAKE(arena, double, TD_SPRINGS *TD_SPRING_NUMBERS);
    if (mine->F == NULL || (soft->turning && mine->R == NULL) || mine->K == NULL || mine->A == NULL ||
        mine->K_apart == NULL || mine->arrived_q == NULL || mine->turn == NULL || mine->turn_factor == NULL ||
        mine->sums == NULL || mine->factor_q == NULL || mine->factor_start == NULL || mine->damping_q == NULL ||
        mine->factor_damping == NULL || mine->factor_input == NULL || mine->history == NULL || mine->gamma == NULL ||
        mine->factor_history == NULL || mine->coupling == NULL || mine->factor_coupling == NULL ||
        mine->factor_springs == NULL || mine->balanced == NULL)
        return td_fail_memory(error, "the state of a soft body");
    mine->H = mine->gamma + td_soft_step_history(soft) - soft->H;
    td_soft_history_begin(soft, mine, 0);
    for (int64_t i = 0; i < body->count; i++)
    {
        state->q[body->first + i] = soft->rest[i];
        state->v[body->first + i] = soft->held[i] ? 0 : soft->velocity[i % 3];
    }
    TD_TRY(td_linear_create(&soft->linear, arena, state->isa, &mine->linear, error));
    TD_TRY(td_soft_async_create(model, body, state, error));
    return model->contact != NULL ? td_soft_part_create(body, state, error) : TD_OK;
}

static void state_free(const tdBody *body, tdState *state)
{
    tdSoftState *mine = mine_of(body, state);
    if (mine == NULL)
        return;
    td_linear_free(mine->linear);
    td_async_free(mine->async);
    td_schur_free(mine->part.schur);
}

// ---------------------------------------------------------------- stages

// Time from the start of the step to where forces are taken. Static: everything has relaxed.
static double force_time(const tdScheme *scheme)
{
    return scheme->method == TD_METHOD_STATIC  ? INFINITY
           : scheme->method == TD_METHOD_THETA ? scheme->theta * scheme->h
                                               : scheme->h;
}

// A static equilibrium must not depend on its load steps: there the lagged rotation follows each iterate.
static bool rotation_follows(const tdModel *model, const tdState *state)
{
    return model->scheme.method == TD_METHOD_STATIC || state->follow;
}

static void begin(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    mine->projecting = false;
    mine->damping_kept = false;
    mine->K_damping = state->newton || !soft->semidefinite ? mine->K_apart : mine->K;
    mine->first = true;
    mine->same = mine->same && mine->spring_changes == state->spring_changes;
    mine->spring_changes = state->spring_changes;
    td_soft_history_begin(soft, mine, force_time(&model->scheme));
    if (soft->lagged && !rotation_follows(model, state) && !td_soft_placed(soft, mine, state->q + body->first))
        td_soft_gradients(soft, mine, state, state->q + body->first, true);
}

static void commit(const tdModel *model, const tdBody *body, tdState *state)
{
    if (model->scheme.method != TD_METHOD_STATIC)
        td_soft_history_commit(soft_of(body), mine_of(body, state), state, state->q + body->first, model->scheme.h);
}

static void kinematics(const tdModel *model, const tdBody *body, tdState *state)
{
    tdSoftState *mine = mine_of(body, state);
    if (soft_of(body)->n_coupled > 0)
        memset(mine->coupling, 0, coupling_size(soft_of(body)) * sizeof(double));
    if (!td_soft_placed(soft_of(body), mine, state->q_e + body->first))
        td_soft_gradients(soft_of(body), mine, state, state->q_e + body->first, rotation_follows(model, state));
}

// m = mass M (v - v_hat) + s [alpha M v_e + beta K v_e + f_int - f_ext]
static tdStatus forces(const tdModel *model, const tdBody *body, tdState *state, bool tangent)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    const tdScheme *scheme = &model->scheme;
    int64_t first = body->first, n = body->count;
    bool assemble = tangent && !mine->K_valid && (scheme->ce > 0 || soft->beta > 0);
    if (!mine->arrived || mine->projecting)
        td_soft_forces(soft, mine, state, state->force + first, assemble ? mine->K : NULL);
    td_soft_sum_chunks(soft, body, mine, state);
    if (mine->first)
        mine->energy_start = td_soft_energy(soft, mine);
    mine->first = false;
    if (assemble)
    {
        mine->same = false;
        mine->K_valid = soft->constant;
    }
    // The damping of a step is that of its first pass.
    if (tangent && !mine->damping_kept)
    {
        if (mine->K_damping != mine->K && soft->semidefinite)
            memcpy(mine->K_damping, mine->K, 9 * (size_t)soft->pattern.blocks * sizeof *mine->K);
        else if (mine->K_damping != mine->K)
            td_soft_damping(soft, mine, state, mine->K_damping);
        memcpy(mine->damping_q, state->q_e + first, (size_t)n * sizeof(double));
        mine->damping_kept = true;
    }
    td_soft_loads(model, body, state);

    double *m = state->m + first, *product = td_scratch_take(state), *stiff = td_scratch_take(state),
           *own = state->own + first;
    const double *force = state->force + first, *load = state->load + first;
    memset(m, 0, (size_t)n * sizeof *m);
    if (scheme->mass > 0)
        td_soft_add_mass(soft, state->tasks, scheme->mass * td_soft_mass_factor(mine), state->inertia + first, m,
                         product);
    double inertia = td_dot(state->tasks, n, m, m);
    if (scheme->mass > 0 && soft->alpha > 0)
        td_soft_add_mass(soft, state->tasks, scheme->s * td_soft_alpha(soft, mine) * td_soft_mass_factor(mine),
                         state->v_e + first, m, product);
    bool damped = scheme->mass > 0 && soft->beta > 0;
    double beta = td_soft_beta(soft, mine);
    if (damped)
        td_block_multiply(state->tasks, &soft->pattern, mine->K_damping, state->v_e + first, stiff, false);
    for (int64_t i = 0; i < n; i++)
    {
        own[i] = m[i] + scheme->s * (force[i] + (damped ? beta * stiff[i] : 0));
        m[i] = own[i] - scheme->s * load[i];
    }
    td_scratch_give(state, product);

    double s2 = scheme->s * scheme->s;
    double largest =
        fmax(inertia, s2 * fmax(td_dot(state->tasks, n, force, force), td_dot(state->tasks, n, load, load)));
    state->scale = fmax(state->scale, sqrt(largest));
    return TD_OK;
}

typedef struct matrixWork
{
    const tdSoft *soft;
    const double *K, *K_damping;
    double *A;
    double of_mass, of_K, of_damping;
} matrixWork;

#define MATRIX_GRAIN 8192 // blocks a task

static void matrix_piece(void *context, int piece)
{
    const matrixWork *w = context;
    int64_t begin = (int64_t)piece * MATRIX_GRAIN, end = begin + MATRIX_GRAIN;
    if (end > w->soft->pattern.blocks)
        end = w->soft->pattern.blocks;
    for (int64_t b = begin; b < end; b++)
    {
        const double *K = w->K + 9 * b, *D = w->K_damping + 9 * b;
        double *A = w->A + 9 * b, mass = w->of_mass * w->soft->mass[b];
        for (int c = 0; c < 9; c++)
            A[c] = w->of_K * K[c] + w->of_damping * D[c];
        A[0] += mass;
        A[4] += mass;
        A[8] += mass;
    }
}

// A = (mass + s de alpha) M + s ce K + s de beta K_damping (+ stiffness of pressures, constraints and springs)
// A body that nothing but others holds has six motions without stiffness. A little more on the diagonal of A, not of
// the forces, resists what a pass of Newton's method changes and is gone in the solution.
#define LEAN 1e-6

static void stiffen_diagonal(const tdSoft *soft, double *A)
{
    for (int64_t i = 0; i < soft->n_nodes; i++)
        for (int c = 0; c < 3; c++)
            A[9 * (soft->pattern.row[i + 1] - 1) + 4 * c] *= 1 + LEAN;
}

static void build_matrix(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    const tdScheme *scheme = &model->scheme;
    bool moving = scheme->mass > 0;
    matrixWork work = {.soft = soft, .K = mine->K, .K_damping = mine->K_damping, .A = mine->A};
    work.of_mass = td_soft_of_mass(scheme, soft, mine);
    work.of_K = scheme->s * scheme->ce;
    work.of_damping = moving ? scheme->s * scheme->de * td_soft_beta(soft, mine) : 0;
    td_parallel(state->tasks, td_pieces(soft->pattern.blocks, MATRIX_GRAIN), matrix_piece, &work);
    // Dropped where the tangent had to be projected: it has no sign of its own.
    if (!mine->projecting)
        td_soft_pressure_stiffness(model, body, state, work.of_K, mine->A);
    td_soft_add_coupling(soft, mine, work.of_K, mine->A);
    td_soft_spring_stiffness(body, state->springs, work.of_K, mine->A);
    if (soft->leans)
        stiffen_diagonal(soft, mine->A);
    mine->exact = false;
}

// Whether A has a part that changes even where the law's stiffness does not.
static bool follows(const tdSoft *soft)
{
    if (soft->n_coupled > 0)
        return true;
    for (int k = 0; k < soft->n_loads; k++)
        if (soft->loads[k].kind == TD_LOAD_SURFACE_PRESSURE)
            return true;
    return false;
}

// Rotations of the nodes since the kept factor was made, Q = R_now R_then'.
typedef struct sinceFactor
{
    const tdSoft *soft;
    tdSoftState *mine;
    tdState *state;
} sinceFactor;

static const double *turns_since_factor(void *context)
{
    const sinceFactor *w = context;
    double *turn = w->mine->turn;
    td_soft_turns(w->soft, w->mine, w->state, turn);
    return td_soft_turns_since(w->soft, turn, w->mine->turn_factor, turn);
}

#define FACTOR_ONCE 16 // of factor_flags

// The linear law has no rotations: its stiffness does not turn with the body.
static bool factor_turns(const tdSoft *soft, const tdSoftState *mine)
{
    return !soft->constant && !(mine->factor_flags & FACTOR_ONCE);
}

// once: the next step will make its own, so that nothing has to turn with the body; should it not, it does without.
void td_soft_remember_factor(const tdModel *model, const tdBody *body, tdState *state, bool once)
{
    tdSoftState *mine = mine_of(body, state);
    if (!once)
        td_soft_turns(soft_of(body), mine, state, mine->turn_factor);
    memcpy(mine->factor_q, state->q_e + body->first, (size_t)body->count * sizeof(double));
    memcpy(mine->factor_start, state->q + body->first, (size_t)body->count * sizeof(double));
    memcpy(mine->factor_damping, mine->damping_q, (size_t)body->count * sizeof(double));
    memcpy(mine->factor_input, state->input, (size_t)model->n_inputs * sizeof(double));
    memcpy(mine->factor_coupling, mine->coupling, coupling_size(soft_of(body)) * sizeof(double));
    memcpy(mine->factor_springs, state->springs, TD_SPRINGS * TD_SPRING_NUMBERS * sizeof(double));
    memcpy(mine->factor_history, mine->gamma, (size_t)td_soft_step_history(soft_of(body)) * sizeof(double));
    mine->factor_flags = 2 | (mine->projecting ? 1 : 0) | (mine->K_damping != mine->K ? 4 : 0) |
                         (state->follow ? 8 : 0) | (once ? FACTOR_ONCE : 0);
}

static tdStatus fail_indefinite(const tdModel *model, tdState *state)
{
    if (model->scheme.method == TD_METHOD_STATIC)
        return td_fail(
            &state->report.error, TD_ERROR_NUMERIC,
            "the stiffness matrix is singular or indefinite; hold the body so that it cannot move as a whole "
            "(fixed), or apply the load in smaller parts (motion)");
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "the matrix of the step is not positive definite; use a smaller time_step");
}

// Explicit with a lumped mass: A is diagonal and never built.
static bool is_diagonal(const tdScheme *scheme, const tdSoft *soft)
{
    return scheme->ce == 0 && (scheme->de == 0 || soft->beta == 0) && !soft->consistent;
}

static bool can_project(const tdSoft *soft, const tdSoftState *mine)
{
    return !mine->projecting && (!soft->semidefinite || follows(soft));
}

// Tangents anew, projected. The forces are the same and what constraints added to them must stay.
static tdStatus project(const tdModel *model, const tdBody *body, tdState *state)
{
    double *m = state->m + body->first, *saved = td_scratch_take(state);
    mine_of(body, state)->projecting = true;
    memcpy(saved, m, (size_t)body->count * sizeof *m);
    tdStatus status = forces(model, body, state, true);
    memcpy(m, saved, (size_t)body->count * sizeof *m);
    td_scratch_give(state, saved);
    return status;
}

// What a line search judges by.
static void solved(const tdBody *body, tdState *state, const double *rhs)
{
    double size = td_dot(state->tasks, body->count, rhs, rhs);
    state->rhs = sqrt(state->rhs * state->rhs + size);
    state->slope -= td_dot(state->tasks, body->count, rhs, state->dv + body->first);
}

// Of a relative residual. By multigrid, passes of Newton's method are solved as far as they can use; a factor solves
// them to rounding anyway.
static double forced(const tdSoft *soft, const tdState *state, double tolerance)
{
    return soft->linear.amg != NULL ? fmax(tolerance, state->forcing) : tolerance;
}

// The matrix, then dv = -A^-1 (m + s K held), once more with projected tangents if A is not definite; rhs is room.
static tdStatus solve_free(const tdModel *model, const tdBody *body, tdState *state, double *rhs)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    const tdScheme *scheme = &model->scheme;
    int64_t first = body->first, n = body->count;
    double *dv = state->dv + first;
    const double *m = state->m + first, *held = state->held + first;
    struct tdColumnsAhead *ahead = &state->ahead;
    if (is_diagonal(scheme, soft))
    {
        double factor = td_soft_of_mass(scheme, soft, mine);
        for (int64_t i = 0; i < n; i++)
            dv[i] = soft->held[i] ? 0 : -m[i] / (factor * soft->node_mass[i / 3]);
        return TD_OK;
    }
    for (int attempt = 0; attempt < 2; attempt++)
    {
        memset(rhs, 0, (size_t)n * sizeof *rhs);
        if (td_soft_held_moves(soft, held))
            td_block_multiply(state->tasks, &soft->pattern, mine->K, held, rhs, false);
        for (int64_t i = 0; i < n; i++)
            rhs[i] = soft->held[i] ? 0 : -m[i] - scheme->s * rhs[i];
        if (!mine->same)
            build_matrix(model, body, state);
        mine->has_balanced = false;
        if (state->ahead.n > 0 && state->ahead.wanted[body->index] && state->ahead.complete != NULL)
            state->ahead.complete(model, state, body->index);
        const tdSoftPart *part = &mine->part;
        mine->condensed = part->n_nodes > 0 && !part->all;
        if (mine->condensed && mine->async == NULL)
        {
            tdSchurReport report;
            TD_TRY(td_schur_factor(part->schur, state->tasks, mine->A, part->n_nodes, part->nodes, &report,
                                   &state->report.error));
            if (report.indefinite && can_project(soft, mine))
            {
                TD_TRY(project(model, body, state));
                continue;
            }
            if (report.indefinite)
                break;
            tdLinearMore more = {0};
            bool with = td_soft_columns_ahead(model, body, ahead, &more);
            TD_TRY(td_schur_solve_with(part->schur, state->tasks, rhs, dv, with ? &more : NULL, &state->report.error));
            state->report.factorizations++;
            if (with)
                ahead->done[body->index] = more.done;
            mine->projecting = false;
            mine->exact = mine->same;
            solved(body, state, rhs);
            return TD_OK;
        }
        if (td_soft_part_spare(body, state, rhs))
        {
            solved(body, state, rhs);
            return TD_OK;
        }
        const tdSceneSettings *settings = &model->settings;
        bool rough = mine->async == NULL && td_soft_is_rough(model, body, state);
        if (rough)
            TD_TRY(td_soft_solve_roughly(model, body, state, rhs, &rough));
        if (rough)
            return TD_OK;
        tdLinearResult result;
        sinceFactor since = {soft, mine, state};
        // Where the columns of the condensed problem are wanted too, a factor of this A pays.
        bool direct = mine->async == NULL && state->columns > 0 &&
                      td_linear_directly(mine->linear, settings->solver, mine->same, 1 + state->columns);
        // The velocity of the step before is a good guess of this one. A factor of A needs none.
        for (int64_t i = 0; i < n; i++)
            dv[i] = scheme->mass > 0 && !direct ? state->v[first + i] - state->v_new[first + i] : 0;
        bool rounded = soft->linear.single && settings->solver == TD_SOLVER_CHOLESKY; // asked for
        double tolerance = rounded ? fmin(settings->solver_tolerance, TD_LINEAR_REFINED) : settings->solver_tolerance;
        tdLinearTask task = {.kind = direct ? TD_SOLVER_CHOLESKY : settings->solver,
                             .tolerance = forced(soft, state, tolerance),
                             .values = mine->A,
                             .same = mine->same,
                             .b = rhs,
                             .x = dv,
                             .at = state->q_e + first,
                             .context = &since};
        tdLinearMore more = {0};
        if (mine->async == NULL && td_soft_columns_ahead(model, body, ahead, &more))
            task.more = &more;
        task.rotations = factor_turns(soft, mine) ? turns_since_factor : NULL;
        TD_TRY(mine->async != NULL ? td_soft_async_solve(model, body, state, rhs, dv, &result)
                                   : td_linear_solve(mine->linear, state->tasks, &task, &result, &state->report.error));
        state->report.cg_iterations += result.iterations;
        state->report.factorizations += result.factorizations;
        if (!result.indefinite)
        {
            if (result.refreshed)
                td_soft_remember_factor(model, body, state, direct && !state->newton && scheme->mass > 0);
            if (task.more != NULL)
                ahead->done[body->index] = more.done;
            mine->projecting = false; // the next pass may do without: nearer the solution it converges faster
            mine->exact = mine->same || result.refreshed;
            mine->same = mine->exact && mine->K_valid && !follows(soft);
            state->report.residual = fmax(state->report.residual, result.residual);
            solved(body, state, rhs);
            return TD_OK;
        }
        if (!can_project(soft, mine))
            break;
        TD_TRY(project(model, body, state));
    }
    return fail_indefinite(model, state);
}

static tdStatus free_motion(const tdModel *model, const tdBody *body, tdState *state)
{
    double *rhs = td_scratch_take(state);
    tdStatus status = solve_free(model, body, state, rhs);
    td_scratch_give(state, rhs);
    return status;
}

static void balance(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdSoft *soft = soft_of(body);
    const tdSoftState *mine = mine_of(body, state);
    double *m = state->m + body->first;
    if (soft->n_held == 0)
        return;
    if (is_diagonal(&model->scheme, soft))
        return; // nothing reaches the held coordinates
    if (mine->has_balanced)
        memcpy(m, mine->balanced, (size_t)body->count * sizeof *m);
    else
        td_soft_add_motion(model, body, state, m);
}

// One vector by conjugate gradients with the kept factor.
static tdStatus apply_iterating(const tdModel *model, const tdBody *body, tdState *state, const double *b, double *x,
                                tdLinearResult *result)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    const tdSceneSettings *settings = &model->settings;
    sinceFactor since = {soft, mine, state};
    tdLinearTask task = {.kind = settings->solver,
                         .tolerance = forced(soft, state, settings->solver_tolerance),
                         .values = mine->A,
                         .same = mine->exact,
                         .b = b,
                         .x = x,
                         .at = state->q_e + body->first,
                         .rotations = factor_turns(soft, mine) ? turns_since_factor : NULL,
                         .context = &since};
    return td_linear_solve(mine->linear, state->tasks, &task, result, &state->report.error);
}

static tdStatus apply_inverse(const tdModel *model, const tdBody *body, tdState *state, int n, int64_t stride,
                              const double *b, double *x)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    const tdScheme *scheme = &model->scheme;
    bool diagonal = is_diagonal(scheme, soft);
    for (int j = 0; diagonal && j < n; j++)
    {
        double factor = td_soft_of_mass(scheme, soft, mine);
        for (int64_t i = 0; i < body->count; i++)
            x[j * stride + i] = soft->held[i] ? 0 : b[j * stride + i] / (factor * soft->node_mass[i / 3]);
    }
    if (diagonal)
        return TD_OK;
    if (mine->async != NULL)
        return td_soft_async_inverse(model, body, state, n, stride, b, x);
    if (mine->condensed)
        return td_schur_solve(mine->part.schur, state->tasks, n, stride, b, x, &state->report.error);
    bool direct = td_linear_directly(mine->linear, model->settings.solver, mine->exact, n);
    for (int j = 0; j < (direct ? 1 : n); j++)
    {
        tdLinearResult result;
        TD_TRY(direct ? td_linear_solve_many(mine->linear, state->tasks, mine->A, mine->exact, n, stride, b, x, &result,
                                             &state->report.error)
                      : apply_iterating(model, body, state, b + j * stride, x + j * stride, &result));
        state->report.cg_iterations += result.iterations;
        state->report.factorizations += result.factorizations;
        if (result.indefinite)
            return fail_indefinite(model, state);
        if (result.refreshed)
            td_soft_remember_factor(model, body, state, false);
        mine->exact = mine->exact || result.refreshed;
    }
    return TD_OK;
}

static void multiply(const tdModel *model, const tdBody *body, tdState *state, const double *x, double *y)
{
    const tdSoft *soft = soft_of(body);
    const tdScheme *scheme = &model->scheme;
    if (is_diagonal(scheme, soft))
        for (int64_t i = 0; i < body->count; i++)
            y[i] = td_soft_of_mass(scheme, soft, mine_of(body, state)) * soft->node_mass[i / 3] * x[i];
    else
        td_block_multiply(state->tasks, &soft->pattern, mine_of(body, state)->A, x, y, false);
}

// ---------------------------------------------------------------- checkpoint

static int arrays(const tdModel *model, const tdBody *body, tdState *state, tdStateArray *out, int most)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    tdStateArray list[] = {
        {"factor_q", body->index, false, body->count, mine->factor_q},
        {"factor_start", body->index, false, body->count, mine->factor_start},
        {"factor_damping", body->index, false, body->count, mine->factor_damping},
        {"factor_input", body->index, false, model->n_inputs + 1, mine->factor_input},
        {"factor_coupling", body->index, false, (int64_t)coupling_size(soft), mine->factor_coupling},
        {"factor_springs", body->index, false, TD_SPRINGS * TD_SPRING_NUMBERS, mine->factor_springs},
        {"factor_flags", body->index, true, 1, &mine->factor_flags},
        {"history", body->index, false, soft->history, mine->history},
        {"factor_history", body->index, false, soft->history > 0 ? td_soft_step_history(soft) : 0,
         mine->factor_history},
        {"solver_counts", body->index, true, sizeof(tdLinearCounts) / sizeof(int64_t), td_linear_counts(mine->linear)},
    };
    int n = (int)(sizeof list / sizeof list[0]);
    for (int i = 0; i < n && i < most; i++)
        out[i] = list[i];
    if (n < most)
        n += td_soft_async_arrays(body, state, out + n, most - n);
    return n < most ? n + td_soft_part_arrays(body, state, out + n, most - n) : most;
}

// Makes the kept factor again at the point where it was made, then puts the state back.
static tdStatus restore_factor(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    tdLinearCounts *counts = td_linear_counts(mine->linear), kept = *counts;
    double *springs = state->springs;
    mine->K_valid = mine->same = mine->damping_kept = mine->placed = mine->arrived = false;
    mine->K_damping = mine->factor_flags & 4 ? mine->K_apart : mine->K;
    TD_TRY(td_springs_check(model, mine->factor_springs, error));
    if (!(mine->factor_flags & 2) || !kept.has_factor)
        return TD_OK;
    state->follow = (mine->factor_flags & 8) != 0;
    memcpy(state->input, mine->factor_input, (size_t)model->n_inputs * sizeof(double));
    if (soft->history > 0)
        memcpy(mine->gamma, mine->factor_history, (size_t)td_soft_step_history(soft) * sizeof(double));
    if (soft->lagged)
        td_soft_gradients(soft, mine, state, mine->factor_start, true);
    if (mine->K_damping != mine->K)
    {
        // Newton's first pass took the damping, a later one may have made the factor.
        mine->projecting = false;
        memcpy(state->q_e + body->first, mine->factor_damping, (size_t)body->count * sizeof(double));
        kinematics(model, body, state);
        TD_TRY(forces(model, body, state, true));
    }
    mine->projecting = mine->factor_flags & 1;
    memcpy(state->q_e + body->first, mine->factor_q, (size_t)body->count * sizeof(double));
    kinematics(model, body, state);
    TD_TRY(forces(model, body, state, true));
    memcpy(mine->coupling, mine->factor_coupling, coupling_size(soft) * sizeof(double));
    state->springs = mine->factor_springs;
    build_matrix(model, body, state);
    state->springs = springs;
    TD_TRY(td_linear_restore(mine->linear, state->tasks, mine->A, mine->factor_q, error));
    td_soft_turns(soft, mine, state, mine->turn_factor);
    *counts = kept;
    state->follow = false;
    mine->same = mine->K_valid && !follows(soft) && td_springs_same_matrix(mine->factor_springs, springs);
    mine->spring_changes = state->spring_changes;
    mine->projecting = false;
    return TD_OK;
}

static tdStatus restore(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    tdSoftState *mine = mine_of(body, state);
    TD_TRY(restore_factor(model, body, state, error));
    if (mine->async != NULL)
        TD_TRY(td_async_restore(mine->async, state->tasks, error));
    return td_soft_part_restore(body, state, error);
}

static const double *nodes(const tdModel *model, const tdBody *body, const tdState *state)
{
    (void)model;
    return state->q + body->first;
}

static const double *node_velocities(const tdModel *model, const tdBody *body, const tdState *state)
{
    (void)model;
    return state->v + body->first;
}

const tdBodyOps td_soft_ops = {
    .kind = "soft",
    .free_model = free_model,
    .state_create = state_create,
    .state_free = state_free,
    .place = td_soft_place,
    .begin = begin,
    .kinematics = kinematics,
    .forces = forces,
    .free_motion = free_motion,
    .start_acceleration = td_soft_start_acceleration,
    .balance = balance,
    .apply_inverse = apply_inverse,
    .correct = td_soft_correct,
    .multiply = multiply,
    .part_none = td_soft_part_none,
    .part_coords = td_soft_part_coords,
    .part_point = td_soft_part_point,
    .part_all = td_soft_part_all,
    .condense = td_soft_condense,
    .recover = td_soft_recover,
    .nodal = true,
    .touch = td_soft_touch,
    .push = td_soft_push,
    .point_set = td_soft_point_set,
    .positions = td_soft_positions,
    .pull = td_soft_pull,
    .stiffen = td_soft_stiffen,
    .drive = td_soft_drive,
    .arrays = arrays,
    .restore = restore,
    .varies = td_soft_varies,
    .keeps = td_soft_keeps,
    .vary = td_soft_vary,
    .nodes = nodes,
    .node_velocities = node_velocities,
    .fields = td_soft_fields,
    .energy = td_soft_body_energy,
    .arrive = td_soft_arrive,
    .stray = td_soft_body_stray,
    .commit = commit,
    .describe = td_soft_describe,
};
