// SPDX-License-Identifier: Apache-2.0
// Inertia of a tree without energy from nothing (docs/theory/articulated-energy.md). A step of the theta-method is
//
//     drift   q_k = q0 + (1 - theta_vq) h v0       w_k = what v0 has become there, without any force
//     kick    M(q_k) (v - w_k) = s forces          all else of the step: A is M(q_k) and slopes, symmetric and definite
//     drift   q1 = q0 + h [theta_vq v + (1 - theta_vq) w_k]       v1 = what v has become there
//
// so that Coriolis and gyroscopic forces b are in the drifts alone. They do no work, and a drift keeps the kinetic
// energy to rounding, however far it goes: with b = 1/2 dM/dt v + G v, G skew, it solves
//
//     (M_0 + M_1)/2 (w - v) + (M_1 - M_0)/2 (w + v)/2 + h G (w + v)/2 = 0        G halfway
//
// which is linear in w, whose matrix is definite whatever h is, and which changes the energy by (w - v)'(M_1 - M_0)
// (w - v)/8; the length of w makes up for that. With backward Euler (theta_vq = 1) there is no first drift. Of a tree
// that flies, the velocity of its center of mass has no part in it: momentum is kept to rounding too.
//
// What is left is the work of gravity. Forces do work along q1 - q0 as if gravity did not turn with the links, so that
// a step gains the difference to what the potential tells. It loses 1/2 |v - w_k|^2 with backward Euler. The sum of
// both is kept (`account`), and what it is above zero is taken out of the motion: without other forces that keeps the
// energy at or below that of the start. What was lost may come back as far as a step of first order has it swing, no
// farther.
#include "body/articulated.h"

#include <math.h>
#include <string.h>

bool td_articulated_drifts(const tdModel *model)
{
    return model->scheme.method == TD_METHOD_THETA;
}

// ---------------------------------------------------------------- drift

static bool is_free(const tdArticulated *given)
{
    return given->links[0].kind == TD_JOINT_FREE;
}

// Takes the velocity u of the center of mass out of v, where the root is free; else u is zero. Its translations are the
// first coordinates, and stand in M with the mass on their diagonal and their momentum in their rows.
static void leave_center(const tdArticulated *given, const double *M, double *v, double u[3])
{
    int64_t n = given->n;
    u[0] = u[1] = u[2] = 0;
    if (!is_free(given))
        return;
    for (int64_t k = 0; k < 3; k++)
    {
        for (int64_t j = 0; j < n; j++)
            u[k] += M[k * n + j] * v[j];
        u[k] /= M[k * n + k];
    }
    for (int k = 0; k < 3; k++)
        v[k] -= u[k];
}

// One solution for w, G taken at the velocity `about`. late: which share of w and v the forces are those of; 1/2 keeps
// the energy.
static bool turn_velocity(const tdArticulated *given, tdArticulatedState *mine, double time, double late,
                          const double *M0, const double *M1, const double *about, const double *v, double *w)
{
    double *B = mine->slope_A;
    td_tree_gyration(given, about, &mine->at, B);
    td_small_mix(given->n, time, late, M0, M1, v, B, w);
    return td_small_unravel(given->n, B, w);
}

#define SLOW     1e-12 // [rad, m] of a step: such turns do nothing to a velocity that anybody could see
#define RESOLVED 1.0   // change of the velocity in a drift, as a share of it, that is followed without loss
// x' M x <= most for certain, by |M_ij| <= sqrt(M_ii M_jj).
static bool is_slight(int64_t n, const double *M, const double *x, double most)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += M[i * (n + 1)] * x[i] * x[i];
    return (double)n * sum <= most;
}

#define STRETCH 2 // the length of w is mended by no more than this: a drift may lose energy, never gain

// The same of a body that is alone, of whose velocity the center has none: (J + h/2 G) w = (J - h/2 G) v about its own
// axes, G = [1/2 tr(J) w - J w]x at the velocity `about`, solved by the adjugate.
static double spin(const double *M, double time, int passes, double *v)
{
    const double J[9] = {M[21], M[22], M[23], M[27], M[28], M[29], M[33], M[34], M[35]};
    double half = 0.5 * time, trace = 0.5 * (J[0] + J[4] + J[8]), about[3] = {v[3], v[4], v[5]}, w[3] = {0};
    double before = 0, after = 0;
    for (int i = 0; i < 3; i++)
        before += v[3 + i] * (J[3 * i] * v[3] + J[3 * i + 1] * v[4] + J[3 * i + 2] * v[5]);
    for (int pass = 0; pass < passes; pass++)
    {
        double g[3], b[3], minor[3][3];
        for (int i = 0; i < 3; i++)
            g[i] = half * (trace * about[i] - J[3 * i] * about[0] - J[3 * i + 1] * about[1] - J[3 * i + 2] * about[2]);
        const double B[3][3] = {
            {J[0], J[1] - g[2], J[2] + g[1]}, {J[3] + g[2], J[4], J[5] - g[0]}, {J[6] - g[1], J[7] + g[0], J[8]}};
        for (int i = 0; i < 3; i++) // J - h/2 G is the transpose
            b[i] = B[0][i] * v[3] + B[1][i] * v[4] + B[2][i] * v[5];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                minor[i][j] = B[(i + 1) % 3][(j + 1) % 3] * B[(i + 2) % 3][(j + 2) % 3] -
                              B[(i + 1) % 3][(j + 2) % 3] * B[(i + 2) % 3][(j + 1) % 3];
        double det = B[0][0] * minor[0][0] + B[0][1] * minor[0][1] + B[0][2] * minor[0][2];
        if (!(det > 0))
            return before;
        for (int i = 0; i < 3; i++)
        {
            w[i] = (minor[0][i] * b[0] + minor[1][i] * b[1] + minor[2][i] * b[2]) / det;
            about[i] = 0.5 * (v[3 + i] + w[i]);
        }
    }
    for (int i = 0; i < 3; i++)
        after += w[i] * (J[3 * i] * w[0] + J[3 * i + 1] * w[1] + J[3 * i + 2] * w[2]);
    double length = after > 0 ? fmin(sqrt(before / after), STRETCH) : 0;
    for (int i = 0; i < 3; i++)
        v[3 + i] = length * w[i];
    return length * length * after;
}

static bool is_slow(int64_t n, const double *v, double time)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(v[i]));
    return time * most <= SLOW;
}

// Twice the kinetic energy of the center of mass of a tree that flies.
static double of_center(const tdArticulated *given, const double *M, const double u[3])
{
    double sum = 0;
    for (int64_t k = 0; k < 3 && is_free(given); k++)
        sum += M[k * (given->n + 1)] * u[k] * u[k];
    return sum;
}

// v at `from`, where M is M0, has become v at `to`, after `time`. passes: 1 is of first order, 2 of second.
// reads  mine->reference      writes  v, mine->at, slope_A, drift      returns  the kinetic energy
static double drift(const tdArticulated *given, tdArticulatedState *mine, const double *from, const double *to,
                    double time, int passes, const double *M0, const double *M1, double *v)
{
    int64_t n = given->n;
    if (given->alone)
    {
        bool spins = v[3] != 0 || v[4] != 0 || v[5] != 0;
        return 0.5 * (of_center(given, M0, v) + (spins ? spin(M0, time, passes, v) : 0));
    }
    double *half = mine->drift, *start = mine->drift + n, *about = mine->drift + 2 * n, u[3], none[3], late = 0.5;
    leave_center(given, M0, v, u);
    double before = td_small_product(n, M0, v);
    memcpy(start, v, (size_t)n * sizeof *v);
    memcpy(about, v, (size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++)
        half[i] = 0.5 * (from[i] + to[i]);
    bool turns =
        n > 1 && before > 0 && !is_slow(n, v, time); // a single coordinate has no G: its energy is all there is to it
    if (turns)
        td_articulated_place(given, mine, half);
    for (int pass = 0; pass < passes && turns; pass++)
    {
        if (!turn_velocity(given, mine, time, late, M0, M1, about, start, v))
            memcpy(v, start, (size_t)n * sizeof *v);
        for (int64_t i = 0; i < n; i++)
            half[i] = v[i] - start[i];
        if (late == 0.5 && given->n_links > 1 && !is_slight(n, M0, half, RESOLVED * RESOLVED * before))
            late = fmin(0.5 + fmax(sqrt(td_small_product(n, M0, half) / before) - RESOLVED, 0), 1);
        if (late > 0.5 && passes == 1)
            passes = 2;
        for (int64_t i = 0; i < n && late == 0.5; i++)
            about[i] = 0.5 * (start[i] + v[i]);
    }
    leave_center(given, M1, v, none);
    double after = td_small_product(n, M1, v),
           length = after > 0 ? fmin(sqrt(before / after), late > 0.5 ? 1 : STRETCH) : 0;
    for (int64_t i = 0; i < n; i++)
        v[i] *= length;
    for (int k = 0; k < 3 && is_free(given); k++)
        v[k] += u[k];
    return 0.5 * (length * length * after + of_center(given, M1, u));
}

// ---------------------------------------------------------------- around the kick

static int passes_of(const tdModel *model)
{
    return model->scheme.theta_vq == 1 ? 1 : 2;
}

void td_articulated_set_out(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    const double *q = state->q + body->first;
    double *v = state->v + body->first, g[3], first = (1 - model->scheme.theta_vq) * model->scheme.h;
    int64_t n = given->n;
    mine->at_valid = false;
    if (mine->points_folded) // of a step that was not taken
        mine->points_valid = mine->points_folded = mine->mass_known = false;
    td_articulated_gravity(given, state, g);
    td_articulated_place(given, mine, q);
    mine->potential = td_tree_potential(given, g, &mine->at);
    td_servo_feed(body, state, g);
    // Where the last step ended this one begins: M is known.
    bool known = mine->mass_known && memcmp(mine->mass_q, q, (size_t)n * sizeof *q) == 0;
    mine->mass_known = false;
    if (td_articulated_is_based(body) && known && memcmp(mine->arrived_v, v, (size_t)n * sizeof *v) == 0)
        memcpy(mine->momentum, mine->arrived, sizeof mine->momentum);
    else if (td_articulated_is_based(body))
        td_tree_momentum(given, v, &mine->at, NULL, mine->momentum, NULL, NULL);
    if (!td_articulated_drifts(model))
        return;
    if (known)
    {
        double *kept = mine->M;
        mine->M = mine->M_end;
        mine->M_end = kept;
    }
    else
        td_tree_mass(given, &mine->at, mine->M);
    for (int64_t i = 0; i < n; i++)
        mine->kick_q[i] = q[i] + first * v[i];
    if (first > 0)
    {
        memcpy(mine->M_end, mine->M, (size_t)(n * n) * sizeof(double));
        td_articulated_place(given, mine, mine->kick_q);
        td_tree_mass(given, &mine->at, mine->M);
        drift(given, mine, q, mine->kick_q, first, passes_of(model), mine->M_end, mine->M, v);
        // Forces at points are taken where the first guess leads: there too.
        if (model->scheme.ce > 0)
            memset(state->v_new + body->first, 0, (size_t)n * sizeof(double));
    }
    memcpy(mine->kick_v, v, (size_t)n * sizeof(double));
    mine->hangs = td_articulated_is_based(body) && n > 0 && g[0] * g[0] + g[1] * g[1] + g[2] * g[2] > 0;
    if (!mine->hangs)
        return;
    for (int k = 0; k < 3; k++) // to which it is proportional
        g[k] *= 0.25 * model->scheme.h * model->scheme.h;
    td_tree_hanging_stiffness(given, g, &mine->at, mine->sluggish);
}

// Takes energy out of the motion: all of it but that of the center of mass of a tree that flies. Returns how much.
static double take_energy(const tdArticulated *given, const double *M, double wanted, double *v)
{
    double u[3];
    int64_t n = given->n;
    leave_center(given, M, v, u);
    double there = 0.5 * td_small_product(n, M, v), taken = fmin(wanted, there);
    double length = taken < there ? sqrt((there - taken) / there) : 0;
    for (int64_t i = 0; i < n; i++)
        v[i] *= length;
    for (int k = 0; k < 3 && is_free(given); k++)
        v[k] += u[k];
    return taken;
}

// What the step gained by the work of gravity and lost by its own damping.
// reads  q, start, kick_v, v (of the kick), weight      returns  [J]
static double gained(const tdModel *model, const tdBody *body, const tdState *state, double potential)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = body->count, first = body->first;
    double sum = potential - mine->potential;
    for (int64_t i = 0; i < n; i++)
        mine->drift[i] = state->v[first + i] - mine->kick_v[i];
    double *slowed = mine->drift + n; // by what is added to M
    memset(slowed, 0, (size_t)n * sizeof *slowed);
    if (mine->hangs)
        td_small_multiply(n, 1 / model->scheme.h, mine->sluggish, mine->drift, slowed);
    for (int64_t i = 0; i < n; i++)
        sum += (mine->weight[i] - slowed[i]) * (state->q[first + i] - state->start[first + i]);
    return sum - (model->scheme.theta_vq - 0.5) * td_small_product(n, mine->M, mine->drift);
}

// The end of the step as q and v (of the kick) have it: the drift there, and the account. Returns what the account is
// above zero by more than the motion can pay.
// reads  q, v      writes  v, M_end, next, kinetic
static double arrive_at(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    const tdScheme *scheme = &model->scheme;
    const double *q = state->q + body->first;
    double *v = state->v + body->first, g[3];
    int64_t n = given->n;
    td_articulated_place_end(body, state, q);
    td_tree_mass(given, &mine->points, mine->M_end);
    memcpy(mine->mass_q, q, (size_t)n * sizeof *q);
    mine->mass_known = true;
    td_articulated_gravity(given, state, g);
    double gain = gained(model, body, state, td_tree_potential(given, g, &mine->points));
    double kinetic =
        drift(given, mine, mine->kick_q, q, scheme->theta_vq * scheme->h, passes_of(model), mine->M, mine->M_end, v);
    // Along the way the energy of a step of first order swings by half of h g p, up and down.
    double pull = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    mine->next[1] = fmax(mine->account[1], kinetic);
    double swing = scheme->h * pull * sqrt(2 * body->mass * mine->next[1]);
    mine->next[0] = fmax(mine->account[0] + gain, -swing);
    mine->kinetic = kinetic;
    if (mine->next[0] > 0 && kinetic > 0)
    {
        mine->next[0] -= take_energy(given, mine->M_end, mine->next[0], v);
        mine->kinetic = 0.5 * td_small_product(n, mine->M_end, v);
    }
    return mine->next[0] - fmax(mine->account[0], 0);
}

#define HALVINGS 6    // and then it stays where it was
#define ROUNDING 1e-9 // of the most kinetic energy, and a thousandth of that of the potential: not worth a shorter way

// A step much longer than the motion can lift a tree above all the energy it has: then it goes a part of its way only.
void td_articulated_come_in(const tdModel *model, const tdBody *body, tdState *state)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    double *q = state->q + body->first, *v = state->v + body->first;
    const double *start = state->start + body->first;
    size_t bytes = (size_t)body->count * sizeof *q;
    double *whole = td_scratch_take(state), *kicked = td_scratch_take(state);
    memcpy(whole, q, bytes);
    memcpy(kicked, v, bytes);
    double unpaid = arrive_at(model, body, state), rounding = ROUNDING * (mine->next[1] + 1e-3 * fabs(mine->potential));
    mine->unpaid = fmax(unpaid, 0);
    for (int k = 1; k <= HALVINGS && unpaid > rounding && td_articulated_is_based(body) && body->n_held == 0; k++)
    {
        double share = k < HALVINGS ? ldexp(1, -k) : 0;
        for (int64_t i = 0; i < body->count; i++)
            q[i] = start[i] + share * (whole[i] - start[i]);
        memcpy(v, kicked, bytes);
        unpaid = arrive_at(model, body, state);
    }
    td_scratch_give(state, kicked);
    td_scratch_give(state, whole);
}
