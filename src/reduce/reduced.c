// SPDX-License-Identifier: Apache-2.0
// A reduced body in the step: what each stage of src/step/step.c asks of it. Everything is dense and small; nothing
// here looks at the mesh but what expands positions for those who ask.
#include "reduce/reduced_body.h"

#include "base/room.h"
#include "body/soft_points.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- kernels

#define DECLARE(isa)                                                                                                   \
    void td_reduced_gradients_##isa(const tdReducedWork *work);                                                        \
    void td_reduced_forces_##isa(const tdReducedWork *work);                                                           \
    void td_reduced_damping_##isa(const tdReducedWork *work);                                                          \
    void td_reduced_stress_##isa(const tdReducedWork *work, int32_t batch, double *P);                                 \
    void td_dense_gram_##isa(int64_t rows, int n, const double *X, const double *Y, double *K);                        \
    bool td_dense_cholesky_##isa(int n, int stride, const double *A, double *L);                                       \
    void td_dense_solve_##isa(int n, int stride, const double *L, int count, int64_t step, double *x);                 \
    void td_dense_expand_##isa(int n, int stride, const double *basis, int32_t n_nodes, const int32_t *nodes,          \
                               const double *a, const double *b, double *x, double *y);
#define KERNELS(isa)                                                                                                   \
    {                                                                                                                  \
        td_reduced_gradients_##isa, td_reduced_forces_##isa, td_reduced_damping_##isa, td_reduced_stress_##isa,        \
            td_dense_gram_##isa, td_dense_cholesky_##isa, td_dense_solve_##isa, td_dense_expand_##isa                  \
    }

DECLARE(portable)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#endif

const tdReducedKernels *td_reduced_kernels(tdIsa isa)
{
    static const tdReducedKernels portable = KERNELS(portable);
#if defined(__x86_64__)
    static const tdReducedKernels avx2 = KERNELS(avx2), avx512 = KERNELS(avx512);
    if (isa == TD_ISA_AVX2)
        return td_isa_pick_wide(false) == TD_ISA_AVX512 ? &avx512 : &avx2;
#endif
    (void)isa;
    return &portable;
}

tdReducedWork td_reduced_work(const tdReduced *reduced, int b, tdReducedState *mine, const tdState *state)
{
    const tdElements *block = &reduced->domain.blocks[b];
    const tdMaterial *material = &block->material;
    tdReducedWork work = {.points = {.block = block, .gamma = 1}, .stride = reduced->stride, .rows = mine->rows};
    tdElementWork *points = &work.points;
    points->F = mine->points.F + 36 * block->first;
    points->R = mine->points.R == NULL ? NULL : mine->points.R + 36 * block->first;
    points->law = material->law->kernel[state->isa];
    points->damping = td_damping_law(material)->kernel[state->isa];
    points->parameters = material->mean_dilatation ? material->isochoric : material->parameters;
    points->sums = mine->points.sums + b;
    if (material->n_prony > 0)
    {
        points->gamma = mine->points.gamma[b];
        points->H = mine->points.H + block->H;
    }
    work.B = reduced->B + 36 * reduced->stride * block->first;
    work.F0 = reduced->F0 + 36 * block->first;
    work.n = reduced->n;
    work.lanes = reduced->lanes[b];
    work.lanes_single = reduced->lanes_single != NULL ? reduced->lanes_single[b] : NULL;
    work.stride_single = reduced->stride_single;
    if (reduced->B_single != NULL)
        work.B_single = reduced->B_single + 36 * (int64_t)reduced->stride_single * block->first;
    return work;
}

// ---------------------------------------------------------------- life

static void free_model(tdBody *body)
{
    tdReduced *reduced = body->data;
    td_residual_free(reduced->residual);
    td_stvk_free(&reduced->stvk);
    td_linear_model_free(&reduced->soft->linear);
    td_mesh_free(&reduced->soft->mesh);
}

static tdStatus state_create(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdArena *arena = &state->arena;
    tdReducedState *mine = TD_TAKE(arena, tdReducedState, 1);
    if (mine == NULL)
        return td_fail_memory(error, "the state of a reduced body");
    state->bodies[body->index] = (tdBodyState *)mine;
    mine->factors = td_state_factors(state, body->index);
    int64_t stride = reduced->stride, square = stride * stride, y = stride + 4, wide = reduced->wide;
    struct
    {
        double **array;
        int64_t count;
    } list[] = {
        {&mine->K, square},
        {&mine->at, stride},
        {&mine->sum, stride},
        {&mine->y, reduced->n_sets > 0 ? y : 0},
        {&mine->S, reduced->n_sets > 0 ? y * y : 0},
    };
    // Of one pass of a step, or of one call. `stiffened` says what is in `stiff` and `coupling`, and goes with them.
    const tdRoomPiece scratch[] = {
        {&mine->A, wide * wide},
        {&mine->L, wide * wide},
        {&mine->rows, TD_REDUCED_WORK(stride)},
        {&mine->stiff[0], reduced->set_rows * wide},
        {&mine->stiff[1], reduced->set_rows * wide},
        {&mine->coupling, square},
        {&mine->polynomial, td_reduced_stvk_scratch(reduced)},
        {&mine->node_x, 3 * body->nodes},
        {&mine->node_v, 3 * body->nodes},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if ((*list[i].array = TD_TAKE(arena, double, list[i].count)) == NULL)
            return td_fail_memory(error, "the state of a reduced body");
    if (!td_room_take_all(arena, scratch, (int)(sizeof scratch / sizeof scratch[0])))
        return td_fail_memory(error, "the state of a reduced body");
    mine->K_apart = reduced->soft->beta > 0 ? TD_ROOM_TAKE(arena, double, &mine->K_apart, square) : mine->K;
    mine->K_damping = mine->K;
    mine->stiffened = TD_ROOM_TAKE(arena, bool, &mine->stiffened, 2 * reduced->n_sets + 1);
    if (mine->K_apart == NULL || mine->stiffened == NULL || !td_reduced_take_points(arena, reduced, mine) ||
        !td_reduced_check_take(model, arena, reduced, mine, state) ||
        !td_reduced_dents_take(model, arena, reduced, mine, state->isa))
        return td_fail_memory(error, "the state of a reduced body");
    memcpy(state->v + body->first, reduced->start, (size_t)reduced->coords * sizeof(double));
    return td_reduced_frame_take(arena, reduced, mine, error);
}

// ---------------------------------------------------------------- points of the domain

bool td_reduced_take_points(tdArena *arena, const tdReduced *reduced, tdReducedState *mine)
{
    const tdSoft *domain = &reduced->domain;
    int64_t count = 36 * domain->point_batches;
    mine->holder = TD_ROOM_TAKE(arena, const void *, &mine->holder, 1);
    mine->points.F = TD_ROOM_TAKE(arena, double, &mine->points.F, count);
    mine->points.R = domain->turning ? TD_ROOM_TAKE(arena, double, &mine->points.R, count) : NULL;
    return mine->holder != NULL && mine->points.F != NULL && (!domain->turning || mine->points.R != NULL) &&
           td_soft_take_history(arena, domain, &mine->points);
}

bool td_reduced_rotation_follows(const tdModel *model, const tdState *state)
{
    return model->scheme.method == TD_METHOD_STATIC || state->follow;
}

static tdPolarKernel polar_of(const tdState *state, const tdElements *block, bool lagged)
{
    tdRotationUse use = block->material.law->rotation;
    return use == TD_ROTATION_CURRENT || (use == TD_ROTATION_LAGGED && lagged) ? td_polar(state->isa) : NULL;
}

bool td_reduced_move(const tdReduced *reduced, tdReducedState *mine, const double *q)
{
    size_t bytes = (size_t)reduced->n * sizeof *q;
    if ((mine->current || mine->arrived) && memcmp(mine->at, q, bytes) == 0) // F may be gone all the same
        return false;
    memcpy(mine->at, q, bytes);
    mine->current = mine->arrived = false;
    mine->points.relaxed = NAN;
    return true;
}

void td_reduced_gradients(const tdReduced *reduced, tdReducedState *mine, const tdState *state, bool lagged)
{
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        tdReducedWork work = td_reduced_work(reduced, b, mine, state);
        work.q = mine->at;
        work.points.polar = polar_of(state, work.points.block, lagged);
        td_reduced_kernels(state->isa)->gradients(&work);
    }
    td_reduced_set_current(mine);
}

static void mirror(int n, int stride, double *K)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            K[j * (int64_t)stride + i] = K[i * (int64_t)stride + j];
}

// Stress is proportional to the moduli, whatever the law: a factor on them is one on what elements add up to.
static void scale(const tdReducedState *mine, int64_t n, double *x)
{
    double factor = mine->factors[TD_FACTOR_YOUNG];
    for (int64_t i = 0; factor != 1 && i < n; i++)
        x[i] *= factor;
}

void td_reduced_domain_forces(const tdModel *model, const tdReduced *reduced, tdReducedState *mine,
                              const tdState *state, double *force, double *K)
{
    int stride = reduced->stride;
    if (td_reduced_polynomial(reduced))
    {
        td_reduced_stvk_forces(reduced, mine, state->isa, force, K);
        scale(mine, reduced->n, force);
        if (K != NULL)
            scale(mine, (int64_t)stride * stride, K);
        return;
    }
    memset(mine->sum, 0, (size_t)stride * sizeof *force);
    if (K != NULL)
        memset(K, 0, (size_t)stride * (size_t)stride * sizeof *K);
    bool current = td_reduced_current(mine);
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        tdReducedWork work = td_reduced_work(reduced, b, mine, state);
        const tdElements *block = work.points.block;
        if (!current)
        {
            work.q = mine->at;
            work.points.polar = polar_of(state, block, td_reduced_rotation_follows(model, state));
        }
        work.force = mine->sum;
        work.K = K;
        work.damped = mine->damped;
        work.points.project = mine->projecting && !(block->material.law->semidefinite && block->material.n_prony == 0);
        if (K != NULL && reduced->constant[b] != NULL && !work.points.project)
        {
            work.spin = block->material.law->rotation;
            for (int64_t k = 0; k < (int64_t)stride * stride; k++)
                K[k] += (1 + mine->damped) * reduced->constant[b][k];
        }
        td_reduced_kernels(state->isa)->forces(&work);
    }
    td_reduced_set_current(mine);
    memcpy(force, mine->sum, (size_t)reduced->n * sizeof *force);
    scale(mine, reduced->n, force);
    if (K == NULL)
        return;
    scale(mine, (int64_t)stride * stride, K);
    mirror(stride, stride, K);
}

// K of the damping beta K where F is: as td_soft_damping().
static void domain_damping(const tdModel *model, const tdReduced *reduced, tdReducedState *mine, const tdState *state,
                           double *K)
{
    int stride = reduced->stride;
    if (!td_reduced_current(mine)) // of lagged laws R is there, see begin_domain()
        td_reduced_gradients(reduced, mine, state, td_reduced_rotation_follows(model, state));
    memset(K, 0, (size_t)stride * (size_t)stride * sizeof *K);
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        tdReducedWork work = td_reduced_work(reduced, b, mine, state);
        work.K = K;
        work.points.gamma = 1;
        td_reduced_kernels(state->isa)->damping(&work);
    }
    scale(mine, (int64_t)stride * stride, K);
    mirror(stride, stride, K);
}

// y += factor K x, K rows x columns
void td_reduced_multiply_add(int rows, int columns, int stride, double factor, const double *K, const double *x,
                             double *y)
{
    int i = 0;
    for (; i + 4 <= rows; i += 4) // one row would wait for its own sum
    {
        const double *k0 = K + i * (int64_t)stride, *k1 = k0 + stride, *k2 = k1 + stride, *k3 = k2 + stride;
        double sum[4] = {0};
        for (int j = 0; j < columns; j++)
        {
            sum[0] += k0[j] * x[j];
            sum[1] += k1[j] * x[j];
            sum[2] += k2[j] * x[j];
            sum[3] += k3[j] * x[j];
        }
        for (int l = 0; l < 4; l++)
            y[i + l] += factor * sum[l];
    }
    for (; i < rows; i++)
    {
        double sum = 0;
        for (int j = 0; j < columns; j++)
            sum += K[i * (int64_t)stride + j] * x[j];
        y[i] += factor * sum;
    }
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

// ---------------------------------------------------------------- stages

static double force_time(const tdScheme *scheme)
{
    return scheme->method == TD_METHOD_STATIC  ? INFINITY
           : scheme->method == TD_METHOD_THETA ? scheme->theta * scheme->h
                                               : scheme->h;
}

// An input without a name is constant in a dynamic scene and follows the load in a static one.
static void place(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    (void)model;
    for (int k = 0; k < reduced->n_u; k++)
        state->q_end[body->first + reduced->r + k] =
            reduced->input[k] < 0 ? state->gravity : state->input_end[reduced->input[k]];
}

static void drive(const tdModel *model, const tdBody *body, const tdState *state, int input, double *psi)
{
    const tdReduced *reduced = td_reduced_of(body);
    (void)model;
    (void)state;
    for (int i = 0; i < reduced->n; i++)
        psi[i] = i >= reduced->r && reduced->input[i - reduced->r] == input;
}

void td_reduced_history_begin(const tdReduced *reduced, tdReducedState *mine, double h)
{
    td_soft_history_begin(&reduced->domain, &mine->points, h);
    if (reduced->domain.history > 0)
        mine->current = mine->arrived = false; // the thickness of a membrane depends on it
}

static void begin_domain(const tdModel *model, const tdReduced *reduced, tdReducedState *mine, const tdState *state,
                         const double *q)
{
    td_reduced_history_begin(reduced, mine, force_time(&model->scheme));
    // Where the last step arrived, rotations are there already.
    if (reduced->domain.lagged && !td_reduced_rotation_follows(model, state) &&
        (td_reduced_move(reduced, mine, q) || !mine->arrived || !td_reduced_current(mine)))
        td_reduced_gradients(reduced, mine, state, true);
}

// One linearization of backward Euler begins with v_e = 0, so that damping is in A alone: there its D is added to that
// of the law before the products that a step spends its time on, K + (s de beta / s ce) K_damping at the cost of K.
// Where nodes are moved K is needed by itself; where volume changes are averaged the rows of the two differ.
static double damping_in_tangent(const tdModel *model, const tdReduced *reduced, const tdState *state,
                                 const double *factors)
{
    const tdScheme *scheme = &model->scheme;
    bool euler = scheme->method == TD_METHOD_THETA && scheme->theta == 1 && scheme->theta_vq == 1;
    if (!euler || state->newton || reduced->n_u > 0 || reduced->domain.semidefinite || td_reduced_polynomial(reduced))
        return 0;
    for (int b = 0; b < reduced->domain.n_blocks; b++)
        if (reduced->domain.blocks[b].material.mean_dilatation)
            return 0;
    return scheme->de * reduced->soft->beta * factors[TD_FACTOR_DAMPING] / scheme->ce;
}

static void begin(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    mine->projecting = false;
    mine->damping_kept = false;
    mine->first = true;
    bool apart = state->newton || td_reduced_polynomial(reduced) || !reduced->domain.semidefinite;
    double damped = damping_in_tangent(model, reduced, state, mine->factors);
    mine->K_damping = apart ? mine->K_apart : mine->K;
    mine->arrived = mine->arrived && damped == mine->damped;
    mine->damped = damped;
    begin_domain(model, reduced, mine, state, state->q + body->first);
    if (reduced->check != NULL)
        begin_domain(model, reduced->check, mine->check, state, state->q + body->first);
    if (reduced->floating != NULL)
        td_reduced_frame_begin(reduced, mine, state->q + body->first, state->v + body->first);
}

static void commit_domain(const tdModel *model, const tdReduced *reduced, tdReducedState *mine, tdState *state,
                          const double *q)
{
    if (model->scheme.method == TD_METHOD_STATIC || reduced->domain.history == 0)
        return;
    td_reduced_history_begin(reduced, mine, model->scheme.h);
    td_reduced_move(reduced, mine, q);
    td_reduced_gradients(reduced, mine, state, false);
    td_soft_history_update(&reduced->domain, &mine->points, state, model->scheme.h);
}

static void commit(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    commit_domain(model, reduced, mine, state, state->q + body->first);
    if (reduced->check != NULL)
        commit_domain(model, reduced->check, mine->check, state, state->q + body->first);
    td_reduced_dents_commit(model, body, state);
    if (reduced->floating != NULL)
        td_reduced_frame_commit(reduced, mine, state->q + body->first);
}

// Gradients are taken together with the forces, so that B is read once.
static void kinematics(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    (void)model;
    td_reduced_clear_coupling(reduced, mine);
    td_reduced_move(reduced, mine, state->q_e + body->first);
    if (reduced->floating != NULL)
        mine->floating->looks++;
}

static void add_loads(const tdModel *model, const tdBody *body, const tdState *state, double *load)
{
    const tdReduced *reduced = td_reduced_of(body);
    if (reduced->floating != NULL)
    {
        td_reduced_frame_loads(model, body, state, load);
        return;
    }
    double share = state->gravity * td_state_factors(state, body->index)[TD_FACTOR_MASS];
    const double *g = td_state_gravity_differs(model, state) ? td_state_gravity(state) : NULL, *w = reduced->weight;
    for (int i = 0, n = reduced->n; i < n; i++)
        load[i] = share * (g == NULL ? reduced->gravity[i] : g[0] * w[i] + g[1] * w[n + i] + g[2] * w[2 * n + i]);
    for (int k = 0; k < reduced->n_loads; k++)
    {
        const tdReducedLoad *dead = &reduced->loads[k];
        double input = dead->input < 0 ? state->gravity : state->input[dead->input];
        for (int i = 0; i < reduced->n; i++)
            load[i] += input * dead->force[i];
    }
}

// m = mass M (v - v_hat) + s alpha M v_e. Returns the square of the size of the first.
static double add_inertia(const tdModel *model, const tdBody *body, tdState *state, bool tangent, double *m)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdScheme *scheme = &model->scheme;
    const double *factors = td_state_factors(state, body->index);
    int n = reduced->n, stride = reduced->stride;
    if (scheme->mass == 0)
        return 0;
    if (reduced->floating != NULL)
        return td_reduced_frame_inertia(model, body, state, tangent, m);
    double mass = factors[TD_FACTOR_MASS], alpha = reduced->soft->alpha * factors[TD_FACTOR_DAMPING];
    td_reduced_multiply_add(n, n, stride, scheme->mass * mass, reduced->M, state->inertia + body->first, m);
    double inertia = dot(n, m, m);
    if (alpha > 0)
        td_reduced_multiply_add(n, n, stride, scheme->s * alpha * mass, reduced->M, state->v_e + body->first, m);
    return inertia;
}

// Inertia + s [beta K v_e + f_int - f_ext]; the force inside a body does not know of its frame.
static tdStatus forces(const tdModel *model, const tdBody *body, tdState *state, bool tangent)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdSoft *soft = reduced->soft;
    tdReducedState *mine = td_reduced_mine(body, state);
    const tdScheme *scheme = &model->scheme;
    int n = reduced->coords, stride = reduced->stride;
    double *m = state->m + body->first, *force = state->force + body->first, *load = state->load + body->first;
    double *own = state->own + body->first;
    bool assemble = tangent && !mine->K_valid && (scheme->ce > 0 || soft->beta > 0);
    if (!mine->arrived || mine->projecting)
        td_reduced_domain_forces(model, reduced, mine, state, force, assemble ? mine->K : NULL);
    td_reduced_sum_blocks(reduced, body, mine, state);
    if (mine->first)
        mine->energy_start = td_reduced_elastic(reduced, mine);
    mine->first = false;
    if (assemble)
    {
        mine->K_valid = reduced->domain.constant;
        if (td_reduced_polynomial(reduced) && mine->projecting)
            state->report.projected_elements += td_reduced_stvk_project(reduced, mine, state->isa, mine->K);
    }
    // The damping of a step is that of its first pass.
    if (tangent && !mine->damping_kept && mine->K_damping != mine->K && mine->damped == 0)
    {
        if (td_reduced_polynomial(reduced) || reduced->domain.semidefinite)
            memcpy(mine->K_damping, mine->K, (size_t)stride * (size_t)stride * sizeof(double));
        else
            domain_damping(model, reduced, mine, state, mine->K_damping);
        if (td_reduced_polynomial(reduced))
            td_reduced_stvk_project(reduced, mine, state->isa, mine->K_damping);
    }
    mine->damping_kept = mine->damping_kept || tangent;
    add_loads(model, body, state, load);
    td_reduced_spring_loads(body, state);
    memset(m, 0, (size_t)n * sizeof *m);
    double inertia = add_inertia(model, body, state, tangent, m);
    if (scheme->mass > 0 && soft->beta > 0 && mine->damped == 0)
        td_reduced_multiply_add(reduced->n, reduced->n, stride,
                                scheme->s * soft->beta * mine->factors[TD_FACTOR_DAMPING], mine->K_damping,
                                state->v_e + body->first, m);
    for (int i = 0; i < n; i++)
    {
        own[i] = m[i] + scheme->s * force[i];
        m[i] = own[i] - scheme->s * load[i];
    }
    double s2 = scheme->s * scheme->s;
    state->scale = fmax(state->scale, sqrt(fmax(inertia, s2 * fmax(dot(n, force, force), dot(n, load, load)))));
    return TD_OK;
}

// A = (mass + s de alpha) M + s ce K + s de beta K_damping + s ce (stiffness of constraints and springs)
static void build_matrix(const tdModel *model, const tdBody *body, const tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const tdScheme *scheme = &model->scheme;
    const tdSoft *soft = reduced->soft;
    bool moving = scheme->mass > 0;
    double damping = mine->factors[TD_FACTOR_DAMPING], mass = mine->factors[TD_FACTOR_MASS];
    double of_mass = mass * (scheme->mass + (moving ? scheme->s * scheme->de * soft->alpha * damping : 0));
    double of_K = scheme->s * scheme->ce,
           of_damping = moving && mine->damped == 0 ? scheme->s * scheme->de * soft->beta * damping : 0;
    int64_t stride = reduced->stride, wide = reduced->wide;
    // Where it has no part, nobody has made one, and what is there is another state's.
    const double *K_damping = of_damping != 0 ? mine->K_damping : mine->K;
    if (reduced->floating != NULL)
    {
        td_reduced_frame_matrix(reduced, mine, of_mass, mine->A);
        for (int64_t i = 0; i < reduced->n; i++)
            for (int64_t j = 0; j < reduced->n; j++)
                mine->A[i * wide + j] += of_K * mine->K[i * stride + j] + of_damping * K_damping[i * stride + j];
    }
    else
        for (int64_t k = 0; k < stride * stride; k++)
            mine->A[k] = of_mass * reduced->M[k] + of_K * mine->K[k] + of_damping * K_damping[k];
    td_reduced_add_coupling(reduced, mine, state, of_K, mine->A);
    td_reduced_spring_stiffness(body, state, of_K, mine->A);
    mirror(reduced->coords, reduced->wide, mine->A);
}

static tdStatus fail_indefinite(const tdModel *model, tdState *state)
{
    if (model->scheme.method == TD_METHOD_STATIC)
        return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                       "the reduced stiffness matrix is singular or indefinite; hold the body so that it cannot move "
                       "as a whole (fixed), or apply the load in smaller parts (motion)");
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "the reduced matrix of the step is not positive definite; use a smaller time_step");
}

// The matrix, then dv = -A^-1 (m + s K held), once more with projected tangents if A is not definite.
static tdStatus solve_free(const tdModel *model, const tdBody *body, tdState *state, double *rhs, double *saved)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const tdReducedKernels *kernels = td_reduced_kernels(state->isa);
    double *dv = state->dv + body->first, *m = state->m + body->first;
    int r = td_reduced_unknowns(reduced), n = reduced->coords, stride = reduced->stride, wide = reduced->wide;
    for (int attempt = 0; attempt < 2; attempt++)
    {
        build_matrix(model, body, state);
        if (kernels->cholesky(r, wide, mine->A, mine->L))
        {
            memset(rhs, 0, (size_t)n * sizeof *rhs);
            if (reduced->n_u > 0)
                td_reduced_multiply_add(r, reduced->n_u, stride, -model->scheme.s, mine->K + r,
                                        state->held + body->first + r, rhs);
            for (int i = 0; i < r; i++)
                dv[i] = rhs[i] -= m[i];
            memset(dv + r, 0, (size_t)reduced->n_u * sizeof *dv);
            kernels->solve(r, wide, mine->L, 1, 0, dv);
            state->report.factorizations++;
            mine->projecting = false; // the next pass may do without: nearer the solution it converges faster
            state->rhs = sqrt(state->rhs * state->rhs + dot(r, rhs, rhs));
            state->slope -= dot(r, rhs, dv);
            return TD_OK;
        }
        bool stiffened = reduced->n_sets > 0;
        if (mine->projecting || (reduced->domain.semidefinite && !stiffened))
            break;
        mine->projecting = true;
        // The forces are the same and what constraints added to them must stay.
        memcpy(saved, m, (size_t)n * sizeof *m);
        TD_TRY(forces(model, body, state, true));
        memcpy(m, saved, (size_t)n * sizeof *m);
    }
    return fail_indefinite(model, state);
}

static tdStatus free_motion(const tdModel *model, const tdBody *body, tdState *state)
{
    double *rhs = td_scratch_take(state), *saved = td_scratch_take(state);
    tdStatus status = solve_free(model, body, state, rhs, saved);
    td_scratch_give(state, rhs);
    return status;
}

static void multiply(const tdModel *model, const tdBody *body, tdState *state, const double *x, double *y)
{
    const tdReduced *reduced = td_reduced_of(body);
    (void)model;
    memset(y, 0, (size_t)reduced->coords * sizeof *y);
    td_reduced_multiply_add(reduced->coords, reduced->coords, reduced->wide, 1, td_reduced_mine(body, state)->A, x, y);
}

static void balance(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdReducedState *mine = td_reduced_mine(body, state);
    double *m = state->m + body->first;
    td_reduced_multiply_add(reduced->coords, reduced->coords, reduced->wide, 1, mine->A, state->dv + body->first, m);
    td_reduced_multiply_add(reduced->n, reduced->n, reduced->stride, model->scheme.s, mine->K,
                            state->held + body->first, m);
}

static tdStatus apply_inverse(const tdModel *model, const tdBody *body, tdState *state, int n, int64_t stride,
                              const double *b, double *x)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdReducedState *mine = td_reduced_mine(body, state);
    int r = td_reduced_unknowns(reduced);
    (void)model;
    for (int j = 0; j < n; j++)
    {
        memcpy(x + j * stride, b + j * stride, (size_t)r * sizeof *x);
        memset(x + j * stride + r, 0, (size_t)reduced->n_u * sizeof *x);
    }
    td_reduced_kernels(state->isa)->solve(r, reduced->wide, mine->L, n, stride, x);
    return TD_OK;
}

// M a = -m / s on the unknowns. The factor is made anew in the first pass.
static tdStatus start_acceleration(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const tdReducedKernels *kernels = td_reduced_kernels(state->isa);
    double *a = state->a + body->first;
    int r = td_reduced_unknowns(reduced);
    const double *M = reduced->floating != NULL ? mine->floating->mass : reduced->M;
    if (!kernels->cholesky(r, reduced->wide, M, mine->L))
        return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                       "the mass matrix of the reduced body '%s' is singular; its modes depend on each other",
                       body->name);
    double s = model->scheme.s * mine->factors[TD_FACTOR_MASS];
    for (int i = 0; i < reduced->coords; i++)
        a[i] = i < r ? -state->m[body->first + i] / s : 0;
    kernels->solve(r, reduced->wide, mine->L, 1, 0, a);
    return TD_OK;
}

static double stray(const tdBody *body, const tdState *state, double *turn)
{
    return td_soft_stray(&td_reduced_of(body)->domain, &td_reduced_mine(body, state)->points, state->isa, turn);
}

const tdBodyOps td_reduced_ops = {
    .kind = "reduced",
    .free_model = free_model,
    .state_create = state_create,
    .place = place,
    .begin = begin,
    .kinematics = kinematics,
    .forces = forces,
    .free_motion = free_motion,
    .start_acceleration = start_acceleration,
    .balance = balance,
    .apply_inverse = apply_inverse,
    .multiply = multiply,
    .part_none = td_reduced_part_none,
    .part_point = td_reduced_part_point,
    .condense = td_reduced_condense,
    .surface = td_reduced_surface,
    .touch = td_reduced_touch,
    .push = td_reduced_push,
    .turns = td_reduced_turns,
    .frame = td_reduced_frame_motion,
    .expand = td_reduced_expand,
    .point_set = td_reduced_point_set,
    .positions = td_reduced_positions,
    .give = td_reduced_dents_move,
    .tie = td_reduced_dents_tie,
    .pull = td_reduced_pull,
    .stiffen = td_reduced_stiffen,
    .bend = td_reduced_bend,
    .volume_set = td_reduced_volume_set,
    .volume = td_reduced_volume,
    .volume_stiffen = td_reduced_volume_stiffen,
    .drive = drive,
    .arrays = td_reduced_arrays,
    .restore = td_reduced_restore,
    .varies = td_reduced_varies,
    .keeps = td_reduced_keeps,
    .vary = td_reduced_vary,
    .nodes = td_reduced_nodes,
    .node_velocities = td_reduced_node_velocities,
    .fields = td_reduced_fields,
    .energy = td_reduced_energy,
    .arrive = td_reduced_arrive,
    .stray = stray,
    .judge = td_reduced_judge,
    .commit = commit,
    .describe = td_soft_describe,
};
