// SPDX-License-Identifier: Apache-2.0
// Reduced bodies that nothing holds: what a rigid frame adds to the stages of a step. Forces inside the body know of
// the modes alone; the frame has inertia, weight, and what constraints do to it.
//
//     theta-method   m_x = m (v - v0)      m_theta = T'R1' (L1 - L0)      m_alpha = p1 - p0 - h dT/dalpha
//     Newmark        the equations of motion at the end of the step, times gamma h
//
// with the angular momentum L = R l in space, which nothing but a torque changes, in whatever steps. At the midpoint
// with constant J the kinetic energy is kept too (Simo and Wong 1991). Rows of theta are those of virtual rotations
// T d theta at the end of the step, where constraints are taken.
//
// The matrix A has the symmetric part of the derivative: the mass over (alpha, x, theta). What gyroscopic terms add is
// of the order of the angle of a step and not symmetric; Newton goes without. A first pass begins where no velocity is
// meant (forces at the start of the step): it takes inertia at a velocity that is, that of a frame which turns on by
// itself, and goes on linearly from there.
#include "reduce/reduced_body.h"

#include "base/room.h"

#include "base/vector.h"

#include <math.h>
#include <string.h>

#define PREDICTIONS 4 // each gains a factor of the angle of a step

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

// ---------------------------------------------------------------- life

tdStatus td_reduced_frame_compile(tdModel *model, tdReduced *reduced, const tdRom *rom, tdError *error)
{
    if (rom->frame != TD_FRAME_FREE)
        return TD_OK;
    tdFloating *floating = reduced->floating = TD_TAKE(&model->arena, tdFloating, 1);
    if (floating == NULL)
        return td_fail_memory(error, "the frame of a reduced body");
    TD_TRY(
        td_floating_create(&model->arena, reduced->soft, reduced->r, reduced->stride, reduced->basis, floating, error));
    reduced->coords = reduced->n + TD_FLOATING;
    reduced->wide = (reduced->coords + 3) / 4 * 4;
    return TD_OK;
}

tdStatus td_reduced_frame_take(tdArena *arena, const tdReduced *reduced, tdReducedState *mine, tdError *error)
{
    if (reduced->floating == NULL)
        return TD_OK;
    tdFloatingState *own = mine->floating = TD_TAKE(arena, tdFloatingState, 1);
    if (own == NULL)
        return td_fail_memory(error, "the frame of a reduced body");
    int64_t coords = reduced->coords, wide = reduced->wide;
    struct
    {
        double **array;
        int64_t count;
    } list[] = {
        {&own->turn, 4},
        {&own->p0, reduced->r},
        {&own->p, reduced->r},
        {&own->slope, reduced->r},
        {&own->coriolis, reduced->r},
        {&own->mass, wide * wide},
        {&own->bend[0], wide * wide},
        {&own->bend[1], wide * wide},
        {&own->v, coords},
        {&own->q_e, coords},
        {&own->q_c, coords},
        {&own->v_e, coords},
        {&own->change, coords},
        {&own->part, coords},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if ((*list[i].array = TD_TAKE(arena, double, list[i].count)) == NULL)
            return td_fail_memory(error, "the frame of a reduced body");
    // Goes with `stiffened`, which says whether it has been made.
    if ((own->X = TD_ROOM_TAKE(arena, double, &own->X, reduced->set_rows *wide)) == NULL)
        return td_fail_memory(error, "the frame of a reduced body");
    own->turn[0] = 1;
    TD_TRY(td_inertia_take(arena, reduced->r, &own->at_e, error));
    return td_inertia_take(arena, reduced->r, &own->at_c, error);
}

void td_reduced_frame_begin(const tdReduced *reduced, tdReducedState *mine, const double *q, const double *v)
{
    tdFloatingState *own = mine->floating;
    own->damping = mine->factors[TD_FACTOR_DAMPING];
    td_inertia_at(reduced->floating, q, &own->at_c);
    td_inertia_momentum(&own->at_c, reduced->r, reduced->M, reduced->stride, v, own->l0, own->p0);
    own->looks = 0;
}

// ---------------------------------------------------------------- inertia

/// Where inertia is taken: as td_scheme_evaluate() and td_scheme_end() give it.
typedef struct moment
{
    const double *q_e, *q_c, *v, *v_e, *change;
    const double *rows; // theta of the virtual rotations
} moment;

// out = T(rows)'E(rows)'E(theta) x: from the axes of the frame at theta to rows
static void to_rows(const double reference[4], const double *rows, const double *theta, const double x[3],
                    double out[3])
{
    tdFramePose to, from;
    double turned[3], back[3];
    td_frame_pose_at(reference, rows, &to);
    td_frame_pose_at(reference, theta, &from);
    td_mat3_apply(from.E, x, turned);
    td_mat3_back(to.E, turned, back);
    td_mat3_back(to.T, back, out);
}

// Momenta at the end less those of the start, and forces of inertia on the modes where forces are taken.
static void momentum_balance(const tdScheme *scheme, const tdReduced *reduced, tdFloatingState *own, const moment *at,
                             double *m)
{
    const tdFloating *floating = reduced->floating;
    int r = reduced->r;
    double l[3], start[3], end[3];
    td_inertia_at(floating, at->q_c, &own->at_c);
    td_inertia_momentum(&own->at_c, r, reduced->M, reduced->stride, at->v, l, own->p);
    static const double none[3] = {0, 0, 0};
    to_rows(own->turn, at->rows, at->q_c + r + 3, l, end);
    to_rows(own->turn, at->rows, none, own->l0, start);
    td_inertia_at(floating, at->q_e, &own->at_e);
    td_inertia_slope(floating, &own->at_e, at->v_e, own->slope, NULL);
    for (int j = 0; j < r; j++)
        m[j] = own->p[j] - own->p0[j] - scheme->s * own->slope[j];
    for (int c = 0; c < 3; c++)
        own->gain[c] = m[r + 3 + c] = end[c] - start[c];
}

// J dw + C da + s (dJ/dt w + w x l); M da + C'dw - s (2 w . D a + centrifugal force); dC/dt a = 0, as D is
// antisymmetric.
static void acceleration_balance(const tdScheme *scheme, const tdReduced *reduced, tdFloatingState *own,
                                 const moment *at, double *m)
{
    const tdFloating *floating = reduced->floating;
    int r = reduced->r;
    double l[3], gained[3], grown[3], across[3];
    td_inertia_at(floating, at->q_e, &own->at_e);
    td_inertia_momentum(&own->at_e, r, reduced->M, reduced->stride, at->change, gained, m);
    td_inertia_momentum(&own->at_e, r, reduced->M, reduced->stride, at->v_e, l, NULL);
    td_inertia_slope(floating, &own->at_e, at->v_e, own->slope, own->coriolis);
    td_inertia_change(&own->at_e, r, at->v_e, grown);
    td_cross3(at->v_e + r + 3, l, across);
    for (int j = 0; j < r; j++)
        m[j] -= scheme->s * (own->slope[j] + own->coriolis[j]);
    for (int c = 0; c < 3; c++)
        gained[c] += scheme->s * (grown[c] + across[c]);
    to_rows(own->turn, at->rows, at->q_e + r + 3, gained, m + r + 3);
}

// Inertia and damping alpha M: m over all coordinates.
static void inertia(const tdScheme *scheme, const tdReduced *reduced, tdFloatingState *own, const moment *at, double *m)
{
    int r = reduced->r;
    double mass = reduced->floating->mass, damping = scheme->s * reduced->soft->alpha * own->damping;
    (scheme->method == TD_METHOD_NEWMARK ? acceleration_balance : momentum_balance)(scheme, reduced, own, at, m);
    for (int c = 0; c < 3; c++)
        m[r + c] = mass * (at->change[r + c] + damping * at->v_e[r + c]);
    if (!(damping > 0))
        return;
    double l[3], row[3];
    td_inertia_momentum(&own->at_e, r, reduced->M, reduced->stride, at->v_e, l, own->p);
    to_rows(own->turn, at->rows, at->q_e + r + 3, l, row);
    for (int j = 0; j < r; j++)
        m[j] += damping * own->p[j];
    for (int c = 0; c < 3; c++)
        m[r + 3 + c] += damping * row[c];
}

// Kinetic energy is 1/2 v'(mass) v: at alpha of own->at_e.
static void mass_matrix(const tdReduced *reduced, tdFloatingState *own)
{
    int r = reduced->r, wide = reduced->wide;
    double *A = own->mass;
    for (int i = 0; i < r; i++)
    {
        memcpy(A + i * (int64_t)wide, reduced->M + i * (int64_t)reduced->stride, (size_t)r * sizeof *A);
        for (int c = 0; c < 3; c++)
            A[i * (int64_t)wide + r + 3 + c] = A[(r + 3 + c) * (int64_t)wide + i] = own->at_e.C[c * r + i];
    }
    for (int c = 0; c < 3; c++)
    {
        A[(r + c) * (int64_t)(wide + 1)] = reduced->floating->mass;
        for (int d = 0; d < 3; d++)
            A[(r + 3 + c) * (int64_t)wide + r + 3 + d] = own->at_e.J[3 * c + d];
    }
}

// x = J^-1 b, J symmetric and definite; zero where it is not.
static void solve3(const double J[9], const double b[3], double x[3])
{
    double cofactor[9], other[3];
    for (int i = 0; i < 3; i++)
    {
        td_cross3(J + 3 * ((i + 1) % 3), J + 3 * ((i + 2) % 3), other);
        memcpy(cofactor + 3 * i, other, sizeof other);
    }
    double determinant = td_dot3(J, cofactor);
    td_mat3_back(cofactor, b, x);
    for (int i = 0; i < 3; i++)
        x[i] = determinant > 0 ? x[i] / determinant : 0;
}

// The velocity at the end of the step if nothing but the frame's own turning acts; Newmark's goes on as it did.
static void predict(const tdScheme *scheme, const tdReduced *reduced, tdFloatingState *own, const double *q,
                    const double *v, const double *a)
{
    int r = reduced->r, coords = reduced->coords;
    double *w = own->v + r + 3;
    memcpy(own->v, v, (size_t)coords * sizeof *v);
    if (scheme->method == TD_METHOD_NEWMARK)
        for (int i = 0; i < coords; i++)
            own->v[i] += scheme->h * a[i];
    for (int k = 0; k < PREDICTIONS && scheme->method == TD_METHOD_THETA; k++)
    {
        tdFramePose end;
        double l[3], turned[3], miss[3], step[3];
        td_scheme_end(scheme, coords, q, v, own->v, own->q_c);
        if (k == 0)
            td_inertia_at(reduced->floating, own->q_c, &own->at_c);
        td_inertia_momentum(&own->at_c, r, reduced->M, reduced->stride, own->v, l, NULL);
        td_frame_pose_at(own->turn, own->q_c + r + 3, &end);
        td_mat3_apply(end.E, l, turned);
        td_subtract3(turned, own->l0, miss);
        solve3(own->at_c.J, miss, step);
        for (int c = 0; c < 3; c++)
            w[c] -= step[c];
    }
}

static bool all_zero(int n, const double *a)
{
    for (int i = 0; i < n; i++)
        if (a[i] != 0)
            return false;
    return true;
}

// m of inertia in a first pass: at the predicted velocity, linear from there to v_new.
static void first_inertia(const tdModel *model, const tdBody *body, const tdState *state, tdFloatingState *own,
                          double *m)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdScheme *scheme = &model->scheme;
    int coords = reduced->coords, wide = reduced->wide;
    int64_t first = body->first;
    const double *q = state->q + first, *v = state->v + first, *a = state->a + first, *v_new = state->v_new + first;
    static const double none[3] = {0, 0, 0};
    predict(scheme, reduced, own, q, v, a);
    td_scheme_evaluate(scheme, coords, q, v, a, own->v, own->q_e, own->v_e, own->change);
    if (td_scheme_ends_apart(scheme))
        td_scheme_end(scheme, coords, q, v, own->v, own->q_c);
    const moment at = {own->q_e, td_scheme_ends_apart(scheme) ? own->q_c : own->q_e, own->v, own->v_e, own->change,
                       none};
    inertia(scheme, reduced, own, &at, m);
    td_inertia_at(reduced->floating, q, &own->at_e);
    mass_matrix(reduced, own);
    double factor = scheme->mass + scheme->s * scheme->de * reduced->soft->alpha * own->damping;
    for (int i = 0; i < coords; i++)
        own->part[i] = factor * (v_new[i] - own->v[i]);
    for (int i = 0; i < coords; i++)
        m[i] += dot(coords, own->mass + i * (int64_t)wide, own->part);
}

double td_reduced_frame_inertia(const tdModel *model, const tdBody *body, tdState *state, bool tangent, double *m)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdFloatingState *own = td_reduced_mine(body, state)->floating;
    int coords = reduced->coords, r = reduced->r;
    int64_t first = body->first;
    const double *change = state->inertia + first, *v_e = state->v_e + first, *q_c = state->q_c + first;
    double l[3], p2 = 0;
    // The start of Newmark's method asks for the forces of the present motion: there is no step, and no change.
    own->linear = own->looks == 1 && (model->scheme.method == TD_METHOD_THETA || !all_zero(coords, change));
    if (own->linear)
        first_inertia(model, body, state, own, m);
    else
    {
        const moment at = {state->q_e + first, q_c, state->v_new + first, v_e, change, q_c + r + 3};
        inertia(&model->scheme, reduced, own, &at, m);
        if (tangent)
            mass_matrix(reduced, own);
    }
    // The size of what is in balance: changes of momenta, and what turning does even when nothing changes.
    td_inertia_momentum(&own->at_e, r, reduced->M, reduced->stride, change, l, own->p);
    for (int c = 0; c < 3; c++)
        p2 += reduced->floating->mass * change[r + c] * reduced->floating->mass * change[r + c] + l[c] * l[c];
    p2 += dot(r, own->p, own->p);
    td_inertia_momentum(&own->at_e, r, reduced->M, reduced->stride, state->v + first, l, NULL);
    const double *w = state->v + first + r + 3;
    double s = model->scheme.s;
    return p2 + s * s * (td_dot3(w, w) * td_dot3(l, l) + dot(r, own->slope, own->slope));
}

// ---------------------------------------------------------------- end of a step

// What a step of one linearization says of the angular momentum is right, as torques are what they are; but inertia was
// taken linear, and the angular velocity that has this momentum in the new shape is another one.
static void keep_momentum(const tdReduced *reduced, tdFloatingState *own, const double *q, double *v)
{
    int r = reduced->r;
    double l[3], wanted[3], miss[3], step[3];
    tdFramePose end;
    for (int c = 0; c < 3; c++)
    {
        const double *row = own->mass + (r + 3 + c) * (int64_t)reduced->wide;
        wanted[c] = own->l0[c] + own->gain[c];
        for (int i = 0; i < reduced->coords; i++)
            wanted[c] += row[i] * (v[i] - own->v[i]);
    }
    td_inertia_at(reduced->floating, q, &own->at_c);
    td_inertia_momentum(&own->at_c, r, reduced->M, reduced->stride, v, l, NULL);
    td_frame_pose_at(own->turn, q + r + 3, &end);
    double back[3];
    td_mat3_back(end.E, wanted, back);
    td_subtract3(back, l, miss);
    solve3(own->at_c.J, miss, step);
    for (int c = 0; c < 3; c++)
        v[r + 3 + c] += step[c];
}

void td_reduced_frame_arrive(const tdModel *model, const tdReduced *reduced, tdReducedState *mine, const tdState *state,
                             const double *q, double *v)
{
    if (!state->newton && model->scheme.method == TD_METHOD_THETA && mine->floating->linear)
        keep_momentum(reduced, mine->floating, q, v);
}

void td_reduced_frame_commit(const tdReduced *reduced, tdReducedState *mine, double *q)
{
    double *theta = q + reduced->r + 3;
    td_pose_turn(mine->floating->turn, theta);
    memset(theta, 0, 3 * sizeof *theta);
}

// ---------------------------------------------------------------- loads, energy

// Weight is mass times the place where it acts: another gravity acts at the same places. Those are read off the
// strongest component of the scene's own.
static void weight_of(const tdModel *model, const tdState *state, const tdFloating *floating, int i, double about[9],
                      double force[3])
{
    const double *own = model->settings.gravity, *g = td_state_gravity(state),
                 *part = floating->moment + 9 * (int64_t)i;
    int d = fabs(own[1]) > fabs(own[0]) ? 1 : 0;
    d = fabs(own[2]) > fabs(own[d]) ? 2 : d;
    for (int e = 0; e < 9; e++)
        about[e] = part[e - e % 3 + d] / own[d] * g[e % 3];
    for (int c = 0; c < 3; c++)
        force[c] = floating->force[d] / own[d] * g[c];
}

void td_reduced_frame_loads(const tdModel *model, const tdBody *body, const tdState *state, double *load)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdFloating *floating = reduced->floating;
    const tdFloatingState *own = td_reduced_mine(body, state)->floating;
    int r = reduced->r;
    const double *q_e = state->q_e + body->first, *q_c = state->q_c + body->first;
    tdFramePose pose;
    double torque[3] = {0, 0, 0};
    td_frame_pose_at(own->turn, q_e + r + 3, &pose);
    memset(load, 0, (size_t)reduced->coords * sizeof *load);
    for (int k = 0; k < floating->n_loads; k++)
    {
        int32_t input = k == 0 ? -1 : reduced->loads[k - 1].input;
        double value = input < 0 ? state->gravity : state->input[input];
        const double *part_of = floating->moment + 9 * (int64_t)(r + 1) * k;
        const double *force = floating->force + 3 * (int64_t)k;
        bool other = k == 0 && td_state_gravity_differs(model, state);
        double V[9] = {0}, about[9], weight[3];
        for (int i = 0; i <= r; i++)
        {
            const double *parts = part_of + 9 * (int64_t)i;
            if (other)
            {
                weight_of(model, state, floating, i, about, weight);
                parts = about;
                force = weight;
            }
            for (int e = 0; e < 9; e++)
            {
                double part = value * parts[e];
                V[e] += i == 0 ? part : q_e[i - 1] * part;
                if (i > 0)
                    load[i - 1] += part * pose.R[3 * (e % 3) + e / 3];
            }
        }
        for (int c = 0; c < 3; c++)
            load[r + c] += value * force[c];
        for (int c = 0; c < 3; c++)
        {
            int a = (c + 1) % 3, b = (c + 2) % 3;
            for (int d = 0; d < 3; d++)
                torque[c] += V[3 * a + d] * pose.R[3 * d + b] - V[3 * b + d] * pose.R[3 * d + a];
        }
    }
    to_rows(own->turn, q_c + r + 3, q_e + r + 3, torque, load + r + 3);
}

double td_reduced_frame_kinetic(const tdReduced *reduced, tdReducedState *mine, const double *q, const double *v)
{
    tdFloatingState *own = mine->floating;
    int r = reduced->r;
    double l[3];
    td_inertia_at(reduced->floating, q, &own->at_c);
    td_inertia_momentum(&own->at_c, r, reduced->M, reduced->stride, v, l, own->p);
    return 0.5 * (reduced->floating->mass * td_dot3(v + r, v + r) + td_dot3(v + r + 3, l) + dot(r, v, own->p));
}

// ---------------------------------------------------------------- matrix

void td_reduced_frame_matrix(const tdReduced *reduced, const tdReducedState *mine, double of_mass, double *A)
{
    int64_t square = (int64_t)reduced->wide * reduced->wide;
    for (int64_t k = 0; k < square; k++)
        A[k] = of_mass * mine->floating->mass[k];
}

// ---------------------------------------------------------------- nodes

// x = centre + x + R (Y0 + Phi alpha)
void td_reduced_frame_nodes(const tdReduced *reduced, const tdReducedState *mine, const double *q, double *out)
{
    const tdFloating *floating = reduced->floating;
    int r = reduced->r;
    tdFramePose pose;
    td_frame_pose_at(mine->floating->turn, q + r + 3, &pose);
    for (int64_t node = 0; node < reduced->soft->n_nodes; node++)
    {
        double y[3], x[3];
        for (int c = 0; c < 3; c++)
            y[c] = reduced->soft->rest[3 * node + c] - floating->centre[c] +
                   dot(r, reduced->basis + (3 * node + c) * reduced->stride, q);
        td_mat3_apply(pose.R, y, x);
        for (int c = 0; c < 3; c++)
            out[3 * node + c] = floating->centre[c] + q[r + c] + x[c];
    }
}

// v + R (w x y + Phi a)
void td_reduced_frame_velocities(const tdReduced *reduced, const tdReducedState *mine, const double *q, const double *v,
                                 double *out)
{
    int r = reduced->r;
    tdFramePose pose;
    td_frame_pose_at(mine->floating->turn, q + r + 3, &pose);
    for (int64_t node = 0; node < reduced->soft->n_nodes; node++)
    {
        double y[3], moved[3], x[3];
        for (int c = 0; c < 3; c++)
            y[c] = reduced->soft->rest[3 * node + c] - reduced->floating->centre[c] +
                   dot(r, reduced->basis + (3 * node + c) * reduced->stride, q);
        td_cross3(v + r + 3, y, moved);
        for (int c = 0; c < 3; c++)
            moved[c] += dot(r, reduced->basis + (3 * node + c) * reduced->stride, v);
        td_mat3_apply(pose.R, moved, x);
        for (int c = 0; c < 3; c++)
            out[3 * node + c] = v[r + c] + x[c];
    }
}
