// SPDX-License-Identifier: Apache-2.0
// An articulated body in the step: what each stage of src/step/step.c asks of it.
//
//     m = mass M (v - v_hat) + s [ -gravity + D v_e + laws of joints - efforts ]
//     A = mass M + s de D + slopes of the laws + stiffness of constraints
//
// M is that of one place of the step, and Coriolis and gyroscopic forces b act on the way to and from it
// (articulated_drift.c). With one linearization a step, the laws are found with the velocity at its end
// (articulated_free.c); Newton has them in m like all else, and adds the stiffness of gravity to A. Newmark's method
// has accelerations, so that b has to be among its forces, s b(q_e, v), and M goes with the place.
#include "body/articulated.h"
#include "base/vector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- life

static void free_model(tdBody *body)
{
    td_mesh_free(&((tdArticulated *)body->data)->shape->mesh);
}

static tdStatus state_create(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArena *arena = &state->arena;
    tdArticulatedState *mine = TD_TAKE(arena, tdArticulatedState, 1);
    (void)model;
    if (mine == NULL)
        return td_fail_memory(error, "the state of an articulated body");
    state->bodies[body->index] = (tdBodyState *)mine;
    int64_t n = given->n, square = n * n;
    struct
    {
        double **array;
        int64_t count;
    } list[] = {
        {&mine->reference, 4 * (int64_t)given->n_balls},
        {&mine->M, square},
        {&mine->A, square},
        {&mine->L, square},
        {&mine->coupling, 2 * square},
        {&mine->M_end, square},
        {&mine->sluggish, square},
        {&mine->kick_q, n},
        {&mine->kick_v, n},
        {&mine->drift, 4 * n},
        {&mine->weight, n},
        {&mine->at_q, n},
        {&mine->points_q, n},
        {&mine->folded_q, n},
        {&mine->arrived_v, n},
        {&mine->link_rates, n},
        {&mine->link_v, 6 * (int64_t)given->n_links},
        {&mine->folded, 4 * (int64_t)given->n_balls},
        {&mine->rhs, n},
        {&mine->trial, n},
        {&mine->mass_q, n},
        {&mine->trial_v, n},
        {&mine->bias, n},
        {&mine->law, 3 * n},
        {&mine->slope, n},
        {&mine->expected, n},
        {&mine->diagonal, n},
        {&mine->turning, n},
        {&mine->before, n},
        {&mine->asked, 3 * n},
        {&mine->slope_A, square},
        {&mine->factored, given->alone ? square : 0},
        {&mine->effort, given->n_servos},
        {&mine->feed, given->n_servos},
        {&mine->jacobian, 6 * n},
        {&mine->node_x, 3 * body->nodes},
        {&mine->node_v, 3 * body->nodes},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof list / sizeof list[0] && good; i++)
        good = (*list[i].array = TD_TAKE(arena, double, list[i].count)) != NULL;
    if (!good || !td_tree_work_take(arena, given, &mine->at) || !td_tree_work_take(arena, given, &mine->points))
        return td_fail_memory(error, "the state of an articulated body");
    memcpy(state->q + body->first, given->start, (size_t)n * sizeof(double));
    memcpy(state->v + body->first, given->start_v, (size_t)n * sizeof(double));
    if (given->n_balls > 0)
        memcpy(mine->reference, given->reference, 4 * (size_t)given->n_balls * sizeof(double));
    mine->gain[0] = mine->gain[1] = mine->gain[2] = NAN;
    return TD_OK;
}

// ---------------------------------------------------------------- stages

// No coordinate is held: a joint that does not move has none.
static void place(const tdModel *model, const tdBody *body, tdState *state)
{
    (void)model;
    (void)body;
    (void)state;
}

static void drive(const tdModel *model, const tdBody *body, const tdState *state, int input, double *psi)
{
    (void)model;
    (void)state;
    (void)input;
    memset(psi, 0, (size_t)body->count * sizeof *psi);
}

static void begin(const tdModel *model, const tdBody *body, tdState *state)
{
    (void)model;
    td_articulated_mine(body, state)->indefinite = false;
}

void td_articulated_place(const tdArticulated *given, tdArticulatedState *mine, const double *q)
{
    size_t bytes = (size_t)given->n * sizeof *q;
    if (mine->at_valid && memcmp(mine->at_q, q, bytes) == 0)
        return;
    memcpy(mine->at_q, q, bytes);
    if (mine->points_valid && memcmp(mine->points_q, q, bytes) == 0)
        td_tree_copy(given, &mine->points, &mine->at);
    else
        td_tree_kinematics(given, q, mine->reference, &mine->at);
    mine->at_valid = true;
}

// One linearization takes forces where the kick is.
static void kinematics(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    double *q_e = state->q_e + body->first;
    if (td_articulated_drifts(model) && !td_articulated_iterates(model, state))
        memcpy(q_e, mine->kick_q, (size_t)given->n * sizeof *q_e);
    td_articulated_place(given, mine, q_e);
    if (mine->stiffened)
        memset(mine->coupling, 0, 2 * (size_t)given->n * (size_t)given->n * sizeof(double));
    mine->stiffened = false;
}

bool td_articulated_iterates(const tdModel *model, const tdState *state)
{
    return state->newton || model->scheme.method == TD_METHOD_STATIC;
}

void td_articulated_gravity(const tdArticulated *given, const tdState *state, double g[3])
{
    (void)given;
    for (int k = 0; k < 3; k++)
        g[k] = state->gravity * td_state_gravity(state)[k];
}

tdScheme td_articulated_law_scheme(const tdModel *model)
{
    tdScheme scheme = model->scheme;
    if (scheme.method == TD_METHOD_THETA && scheme.theta < 0.5)
    {
        scheme.theta = scheme.de = 1;
        scheme.ce = scheme.c;
    }
    return scheme;
}

void td_articulated_laws(const tdModel *model, const tdBody *body, const tdState *state, const double *q_e,
                         const double *v_e, bool secant)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count;
    memset(mine->law, 0, 3 * (size_t)n * sizeof(double));
    td_joint_laws(model, body, state, q_e, v_e, secant, mine->law, mine->law + n, mine->law + 2 * n);
}

// mass M (v - v_hat) into m. Newmark's M goes with the place, and is made with A.
static void add_inertia(const tdModel *model, const tdBody *body, tdState *state, bool tangent)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    double mass = model->scheme.mass, *m = state->m + body->first, *rest = mine->rhs;
    const double *inertia = state->inertia + body->first, none[3] = {0, 0, 0};
    int n = given->n;
    if (!(mass > 0))
        return;
    bool drifts = td_articulated_drifts(model);
    if (tangent && !drifts)
        td_tree_mass(given, &mine->at, mine->M);
    bool moves = false; // at the start of a step mostly nothing has changed yet
    for (int i = 0; i < n; i++)
        moves = moves || inertia[i] != 0;
    if (!moves)
        return;
    if (tangent || drifts)
    {
        td_small_multiply(n, mass, mine->M, inertia, m);
        if (mine->hangs)
            td_small_multiply(n, mass, mine->sluggish, inertia, m);
        return;
    }
    memset(rest, 0, (size_t)n * sizeof *rest);
    td_tree_inverse(given, rest, inertia, none, &mine->at, m);
    for (int i = 0; i < n; i++)
        m[i] *= mass;
}

// Damping and, with Newton, laws of joints into force.
static void add_laws(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    const tdScheme scheme = td_articulated_law_scheme(model);
    double *q_e = state->q_e + body->first, *v_e = state->v_e + body->first, *force = state->force + body->first;
    double *of_laws = td_scratch_take(state);
    int64_t n = given->n;
    if (scheme.theta != model->scheme.theta)
    {
        q_e = of_laws;
        v_e = td_scratch_take(state);
        td_scheme_evaluate(&scheme, n, state->q + body->first, state->v + body->first, state->a + body->first,
                           state->v_new + body->first, q_e, v_e, mine->rhs);
    }
    for (int64_t i = 0; i < n; i++)
        force[i] += given->damping[i] * v_e[i];
    bool iterates = td_articulated_iterates(model, state);
    if (iterates)
        td_articulated_laws(model, body, state, q_e, v_e, false);
    for (int64_t i = 0; i < n && iterates; i++)
        force[i] += mine->law[i];
    td_scratch_give(state, of_laws);
}

static tdStatus forces(const tdModel *model, const tdBody *body, tdState *state, bool tangent)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    const tdScheme *scheme = &model->scheme;
    int n = given->n;
    double *m = state->m + body->first, *force = state->force + body->first, *load = state->load + body->first, g[3];
    double *own = state->own + body->first;
    const double *v_e = state->v_e + body->first, none[3] = {0, 0, 0};
    td_articulated_gravity(given, state, g);
    td_tree_weights(given, g, &mine->at, mine->weight);
    // Coriolis forces: none that drift; with one linearization they are found with the velocity at the end of the step.
    memset(force, 0, (size_t)n * sizeof *force);
    if (td_articulated_iterates(model, state) && !td_articulated_drifts(model))
        td_tree_inverse(given, v_e, NULL, none, &mine->at, force);
    for (int i = 0; i < n; i++)
    {
        load[i] = mine->weight[i];
        own[i] = scheme->s * force[i];
    }
    td_articulated_spring_loads(body, state, load);
    add_laws(model, body, state);
    memset(m, 0, (size_t)n * sizeof *m);
    add_inertia(model, body, state, tangent);
    double of_inertia = td_small_dot(n, m, m), s2 = scheme->s * scheme->s;
    for (int i = 0; i < n; i++)
    {
        own[i] += m[i];
        m[i] += scheme->s * (force[i] - load[i]);
    }
    state->scale = fmax(state->scale,
                        sqrt(fmax(of_inertia, s2 * fmax(td_small_dot(n, force, force), td_small_dot(n, load, load)))));
    return TD_OK;
}

#define LEAN 9.81 // [m/s^2]

// In equilibrium nothing but contacts and attachments holds a free body. Some of its inertia, in A and not in the
// forces, resists what a pass of Newton's method changes and is gone in the solution: about as much as its weight does
// where it hangs from its own surface, which A does not know of.
static void lean(const tdArticulated *given, tdArticulatedState *mine)
{
    int n = given->n;
    td_tree_mass(given, &mine->at, mine->M);
    double mass = mine->M[0], turns = 0;
    for (int64_t k = 3; k < 6; k++)
        turns += mine->M[k * n + k];
    double rate = LEAN / sqrt(turns / mass); // [1/s^2]
    for (int64_t k = 0; k < (int64_t)n * n; k++)
        mine->A[k] += rate * mine->M[k];
}

// A joint whose position is given is where it is, whatever its stiffness: with some of its own A has an inverse, and
// the effort that holds it is what the forces ask for.
static void stiffen_driven(const tdModel *model, const tdBody *body, tdArticulatedState *mine)
{
    int64_t n = body->count;
    for (int a = 0; a < model->n_actuators; a++)
    {
        int row = model->actuators[a].row;
        if (model->actuators[a].held || model->actuators[a].given->drive != TD_DRIVE_DISPLACEMENT ||
            model->row_start[row + 1] != model->row_start[row] + 1)
            continue;
        int64_t i = model->row_coord[model->row_start[row]] - body->first;
        double size = i >= 0 && i < n ? fabs(mine->weight[i]) : 0;
        for (int64_t k = 0; k < n && i >= 0 && i < n; k++)
            size += fabs(mine->A[i * n + k]) + fabs(mine->A[k * n + i]);
        if (i >= 0 && i < n)
            mine->A[i * n + i] += size > 0 ? size : 1;
    }
}

void td_articulated_matrix(const tdModel *model, const tdBody *body, tdState *state, bool all)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    const tdScheme *scheme = &model->scheme;
    int64_t n = given->n;
    double of_K = scheme->s * scheme->ce;
    bool pulled = td_articulated_iterates(model, state) && all && of_K > 0;
    if (pulled)
    {
        double g[3];
        td_articulated_gravity(given, state, g);
        td_tree_gravity_stiffness(given, g, &mine->at, mine->A);
    }
    double mass = scheme->mass, *A = mine->A;
    const double *M = mine->M, *more = mine->sluggish;
    for (int64_t k = 0; k < n * n && pulled; k++)
        A[k] = of_K * A[k] + mass * M[k];
    for (int64_t k = 0; k < n * n && !pulled; k++)
        A[k] = mass * M[k];
    for (int64_t k = 0; k < n * n && mine->hangs; k++)
        A[k] += mass * more[k];
    for (int64_t k = 0; k < n * n && mine->stiffened; k++)
        mine->A[k] += of_K * (mine->coupling[k] + (all ? mine->coupling[n * n + k] : 0));
    for (int64_t i = 0; i < n; i++)
        mine->A[i * n + i] += scheme->s * td_articulated_law_scheme(model).de * given->damping[i];
    td_articulated_spring_stiffness(body, state, of_K, mine->A);
    if (scheme->method == TD_METHOD_STATIC && given->links[0].kind == TD_JOINT_FREE)
        lean(given, mine);
    if (scheme->method == TD_METHOD_STATIC)
        stiffen_driven(model, body, mine);
}

static void add_slopes(const tdModel *model, int64_t n, const double *slope_q, const double *slope_v, double *A)
{
    const tdScheme scheme = td_articulated_law_scheme(model);
    for (int64_t i = 0; i < n; i++)
        A[i * n + i] += scheme.s * (scheme.ce * slope_q[i] + scheme.de * slope_v[i]);
}

tdStatus td_articulated_indefinite(const tdModel *model, tdState *state)
{
    if (model->scheme.method == TD_METHOD_STATIC)
        return td_fail(
            &state->report.error, TD_ERROR_NUMERIC,
            "nothing holds some of its joints at this load, so there is no stable equilibrium; drive them by "
            "'position', or use a dynamic integrator");
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "the matrix of the step is not positive definite; give small links a larger inertia, or joints an "
                   "armature");
}

void td_articulated_solved(const tdBody *body, tdState *state)
{
    int n = (int)body->count;
    const double *m = state->m + body->first, *dv = state->dv + body->first;
    state->report.factorizations++;
    state->rhs = sqrt(state->rhs * state->rhs + td_small_dot(n, m, m));
    state->slope += td_small_dot(n, m, dv);
}

// Newton: all is in m and A.
static tdStatus newton_motion(const tdModel *model, const tdBody *body, tdState *state)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int n = (int)body->count;
    double *m = state->m + body->first, *dv = state->dv + body->first;
    for (int attempt = mine->indefinite; attempt < 2; attempt++)
    {
        td_articulated_matrix(model, body, state, attempt == 0);
        add_slopes(model, n, mine->law + n, mine->law + 2 * (int64_t)n, mine->A);
        mine->factor_known = false;
        if (!td_small_cholesky(n, mine->A, mine->L))
        {
            mine->indefinite = true;
            continue;
        }
        for (int i = 0; i < n; i++)
            dv[i] = -m[i];
        td_small_solve(n, mine->L, dv);
        td_articulated_solved(body, state);
        return TD_OK;
    }
    return td_articulated_indefinite(model, state);
}

static tdStatus free_motion(const tdModel *model, const tdBody *body, tdState *state)
{
    return td_articulated_iterates(model, state) ? newton_motion(model, body, state)
                                                 : td_articulated_linear_motion(model, body, state);
}

static void multiply(const tdModel *model, const tdBody *body, tdState *state, const double *x, double *y)
{
    (void)model;
    memset(y, 0, (size_t)body->count * sizeof *y);
    td_small_multiply(body->count, 1, td_articulated_mine(body, state)->A, x, y);
}

static void balance(const tdModel *model, const tdBody *body, tdState *state)
{
    // m would be the forces on held coordinates, of which there are none.
    td_articulated_mine(body, state)->astray = td_articulated_astray(model, body, state);
}

// s times all forces but those of inertia and of limits, which are springs of the body's own. With one linearization a
// step, laws are in m with their slopes: what is left when inertia is taken away is simpler. Runge-Kutta's method has
// neither inertia nor laws in m.
static void outside(const tdModel *model, const tdBody *body, tdState *state, double *f)
{
    const tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count, first = body->first;
    const tdScheme scheme = td_articulated_law_scheme(model);
    const tdArticulated *given = td_articulated_of(body);
    double *of_laws = td_scratch_take(state), *q_e = of_laws, *v_e = td_scratch_take(state);
    bool rk4 = scheme.method == TD_METHOD_RK4;
    if (rk4)
    {
        q_e = state->q_e + first;
        v_e = state->v_e + first;
    }
    else
        td_scheme_evaluate(&scheme, n, state->q + first, state->v + first, state->a + first, state->v_new + first, q_e,
                           v_e, mine->rhs);
    bool of_inertia = td_articulated_drifts(model) || (!rk4 && !td_articulated_iterates(model, state));
    for (int64_t i = 0; i < n; i++)
        f[i] = of_inertia ? scheme.s * mine->turning[i]
                          : state->own[first + i] - state->m[first + i] - (rk4 ? scheme.s * mine->law[i] : 0);
    if (of_inertia)
        td_small_multiply(n, scheme.mass, mine->M, mine->rhs, f);
    bool springs = !body->rows_apart && given->n_limits > 0;
    if (springs)
    {
        memset(mine->rhs, 0, (size_t)n * sizeof(double));
        td_joint_limits(given, q_e, v_e, mine->rhs);
    }
    for (int64_t i = 0; i < n && springs; i++)
        f[i] += scheme.s * mine->rhs[i];
    td_scratch_give(state, of_laws);
}

static void arrive(const tdModel *model, const tdBody *body, tdState *state, tdArrival *arrival)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    if (td_articulated_drifts(model) && given->n > 0)
        td_articulated_come_in(model, body, state);
    bool known = td_articulated_drifts(model) && given->n > 0;
    arrival->kinetic = mine->kinetic;
    if (!known || td_articulated_is_based(body))
    {
        td_articulated_poses(body, state, state->q + body->first);
        td_tree_momentum(given, state->v + body->first, &mine->points, known ? NULL : &arrival->kinetic, mine->arrived,
                         NULL, NULL);
        memcpy(mine->arrived_v, state->v + body->first, (size_t)given->n * sizeof(double));
    }
    if (known)
        arrival->unpaid = mine->unpaid;
    if (!td_articulated_iterates(model, state) && model->scheme.method != TD_METHOD_RK4)
        arrival->unpaid += mine->astray;
    if (body->rows_apart)
        return; // contact has them
    arrival->elastic = td_joint_limit_energy(given, state->q + body->first);
    arrival->elastic_start = td_joint_limit_energy(given, state->start + body->first);
    arrival->force_work = arrival->force_work_start = arrival->elastic - arrival->elastic_start; // nothing to linearize
}

static tdStatus apply_inverse(const tdModel *model, const tdBody *body, tdState *state, int n, int64_t stride,
                              const double *b, double *x)
{
    const tdArticulatedState *mine = td_articulated_mine(body, state);
    (void)model;
    for (int j = 0; j < n; j++, b += stride, x += stride)
    {
        memcpy(x, b, (size_t)body->count * sizeof *x);
        td_small_solve((int)body->count, mine->L, x);
    }
    return TD_OK;
}

// M a = -m / s; with one linearization a step the laws of joints and Coriolis forces are not in m yet.
static tdStatus start_acceleration(const tdModel *model, const tdBody *body, tdState *state)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int n = (int)body->count;
    double *a = state->a + body->first;
    mine->factor_known = false;
    if (!td_small_cholesky(n, mine->M, mine->L))
        return td_articulated_indefinite(model, state);
    memset(mine->law, 0, 3 * (size_t)n * sizeof(double));
    memset(mine->turning, 0, (size_t)n * sizeof(double));
    if (!td_articulated_iterates(model, state))
    {
        const double none[3] = {0, 0, 0}, *v_e = state->v_e + body->first;
        td_articulated_laws(model, body, state, state->q_e + body->first, v_e, true);
        td_tree_inverse(td_articulated_of(body), v_e, NULL, none, &mine->at, mine->turning);
    }
    for (int i = 0; i < n; i++)
        a[i] = -state->m[body->first + i] / model->scheme.s - mine->law[i] - mine->turning[i];
    td_small_solve(n, mine->L, a);
    return TD_OK;
}

// A turn by phi, in the link's axes, that goes on at the angular velocity w: d(phi)/dt = w + 1/2 phi x w + c phi x (phi
// x w), c = (1 - |phi|/2 cot(|phi|/2)) / |phi|^2.
static void turn_rate(const double phi[3], const double w[3], double out[3])
{
    double size = sqrt(td_dot3(phi, phi)), once[3], twice[3];
    double c = size < 1e-3 ? 1. / 12 + size * size / 720 : (1 - 0.5 * size / tan(0.5 * size)) / (size * size);
    td_cross3(phi, w, once);
    td_cross3(phi, once, twice);
    for (int k = 0; k < 3; k++)
        out[k] = w[k] + 0.5 * once[k] + c * twice[k];
}

static void rates(const tdBody *body, const double *q, const double *v, double *dq)
{
    const tdArticulated *given = td_articulated_of(body);
    for (int l = 0; l < given->n_links; l++)
    {
        const tdLink *link = &given->links[l];
        int32_t at = link->coord + (link->kind == TD_JOINT_FREE ? 3 : 0);
        if (link->ball >= 0)
            turn_rate(q + at, v + at, dq + at);
    }
}

// ---------------------------------------------------------------- end of a step

// Rotations go into the reference; efforts of servos are told as the step had them.
static void commit(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    const double *q = state->q + body->first;
    const double *v = (model->scheme.method == TD_METHOD_STATIC ? state->v : state->v_new) + body->first;
    memcpy(mine->account, mine->next, sizeof mine->account);
    for (int k = 0; k < given->n_servos; k++)
    {
        const tdServo *servo = &given->servos[k];
        mine->effort[k] =
            td_servo_effort(servo, mine->feed[k], state->input[servo->input],
                            servo->ratio * q[servo->coord] + servo->offset, servo->ratio * v[servo->coord]);
    }
    for (int c = 0; c < 3 && td_articulated_is_based(body); c++)
        mine->gain[c] = (mine->arrived[c] - mine->momentum[c]) / model->scheme.h;
    td_articulated_fold(body, state, state->q + body->first);
}

static void describe(const tdBody *body, int64_t element, char *out, size_t size)
{
    snprintf(out, size, "triangle %lld of body '%s'", (long long)element, body->name);
}

static int arrays(const tdModel *model, const tdBody *body, tdState *state, tdStateArray *out, int most)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    (void)model;
    if (most < 3)
        return 0;
    out[0] = (tdStateArray){"orientation", body->index, false, 4 * (int64_t)given->n_balls, mine->reference};
    out[1] = (tdStateArray){"servo", body->index, false, given->n_servos, mine->effort};
    out[2] = (tdStateArray){"account", body->index, false, 2, mine->account};
    return 3;
}

static tdStatus restore(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    (void)model;
    (void)error;
    tdArticulatedState *mine = td_articulated_mine(body, state);
    mine->points_valid = mine->at_valid = mine->mass_known = false;
    mine->gain[0] = mine->gain[1] = mine->gain[2] = NAN;
    return TD_OK;
}

// A rigid link has no stress.
static void fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *energy)
{
    (void)model;
    (void)state;
    if (von_mises != NULL)
        memset(von_mises, 0, (size_t)body->elements * sizeof *von_mises);
    if (energy != NULL)
        memset(energy, 0, (size_t)body->elements * sizeof *energy);
}

static void energy(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    td_articulated_poses(body, state, state->q + body->first);
    td_tree_momentum(given, state->v + body->first, &mine->points, kinetic, NULL, NULL, NULL);
    if (elastic != NULL)
        *elastic = td_joint_energy(model, body, state);
}

// A single free link; joints may have springs and drives.
static double keeps(const tdBody *body, const tdState *state)
{
    const tdArticulated *mine = td_articulated_of(body);
    (void)state;
    return mine->n_links == 1 && mine->n == 6 ? 1 : 0;
}

const tdBodyOps td_articulated_ops = {
    .kind = "articulated",
    .free_model = free_model,
    .state_create = state_create,
    .place = place,
    .set_out = td_articulated_set_out,
    .begin = begin,
    .kinematics = kinematics,
    .forces = forces,
    .free_motion = free_motion,
    .start_acceleration = start_acceleration,
    .rates = rates,
    .apply_inverse = apply_inverse,
    .multiply = multiply,
    .condense = td_articulated_condense,
    .rows = td_joint_rows,
    .part = td_articulated_part_pose,
    .touch = td_articulated_touch,
    .push = td_articulated_push_side,
    .part_rate = td_articulated_part_rate,
    .carried = td_articulated_carried,
    .inverse = td_articulated_inverse,
    .mass_matrix = td_articulated_mass,
    .locate = td_articulated_locate,
    .hash = td_articulated_hash,
    .effort = td_articulated_effort,
    .gain = td_articulated_gain,
    .keeps = keeps,
    .turns = td_articulated_turns,
    .point_set = td_articulated_point_set,
    .positions = td_articulated_positions,
    .pull = td_articulated_pull,
    .stiffen = td_articulated_stiffen,
    .drive = drive,
    .balance = balance,
    .outside = outside,
    .arrive = arrive,
    .commit = commit,
    .describe = describe,
    .arrays = arrays,
    .restore = restore,
    .nodes = td_articulated_nodes,
    .node_velocities = td_articulated_node_velocities,
    .fields = fields,
    .energy = energy,
};
