// SPDX-License-Identifier: Apache-2.0
// Kinematics, recursive Newton-Euler and composite rigid bodies (R. Featherstone: Rigid body dynamics algorithms),
// all vectors in world axes at one point O, the origin of the root link:
//
//     v_i = v_p + S_i qd_i                     a_i = a_p + S_i qdd_i + dS_i/dt qd_i
//     f_i = I_i a_i + v_i x* I_i v_i + sum of the children's f          tau_i = S_i' f_i
//     M_ij = S_i' C_i S_j for j = i or an ancestor of i, C_i the sum of I over the subtree of i
//
// Axes that are fixed in a link move with it, dS/dt = v_i x S. The translations of a free joint are along axes of its
// parent and move with that.
#include "base/simd.h"
#include "base/vector.h"
#include "body/articulated.h"
#include "core/rotation.h"

// ---------------------------------------------------------------- spatial vectors (angular, linear)

static inline double dot6(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

// out += v x m, of motions
static inline void add_cross_motion(const double v[6], const double m[6], double out[6])
{
    double a[3], b[3], c[3];
    td_cross3(v, m, a);
    td_cross3(v, m + 3, b);
    td_cross3(v + 3, m, c);
    for (int k = 0; k < 3; k++)
    {
        out[k] += a[k];
        out[3 + k] += b[k] + c[k];
    }
}

// out += v x* f, of a motion and a force
static inline void add_cross_force(const double v[6], const double f[6], double out[6])
{
    double a[3], b[3], c[3];
    td_cross3(v, f, a);
    td_cross3(v + 3, f + 3, b);
    td_cross3(v, f + 3, c);
    for (int k = 0; k < 3; k++)
    {
        out[k] += a[k] + b[k];
        out[3 + k] += c[k];
    }
}

// out = I m: (moment w + h x u, mass u - h x w)
static inline void apply_inertia(const double *I, const double m[6], double out[6])
{
    const double *h = I + 1, *J = I + 4;
    double hu[3], hw[3];
    td_cross3(h, m + 3, hu);
    td_cross3(h, m, hw);
    out[0] = J[0] * m[0] + J[3] * m[1] + J[4] * m[2] + hu[0];
    out[1] = J[3] * m[0] + J[1] * m[1] + J[5] * m[2] + hu[1];
    out[2] = J[4] * m[0] + J[5] * m[1] + J[2] * m[2] + hu[2];
    for (int k = 0; k < 3; k++)
        out[3 + k] = I[0] * m[3 + k] - hw[k];
}

// ---------------------------------------------------------------- places

// out = a after b. Rows are multiplied four numbers at a time: what a row has too many is written over by the next one.
static inline void multiply_poses(const tdPose *a, const tdPose *b, tdPose *out)
{
    const double *B = (const double *)b;
    td4 b0 = td4_load(B), b1 = td4_load(B + 3), b2 = td4_load(B + 6);
    for (int i = 0; i < 3; i++)
    {
        const double *row = a->R + 3 * (size_t)i;
        td4_store((double *)out + 3 * (size_t)i, row[0] * b0 + row[1] * b1 + row[2] * b2);
    }
    td_place(a, b->t, out->t);
}

// R = 1 + sin [a] + (1 - cos) [a]^2, of a unit vector a.
static void turn_about(const double a[3], double angle, double R[9])
{
    double s = sin(angle), half = sin(0.5 * angle), c = 2 * half * half; // 1 - cos, without cancellation
    double x = s * a[0], y = s * a[1], z = s * a[2], xy = c * a[0] * a[1], xz = c * a[0] * a[2], yz = c * a[1] * a[2];
    R[0] = 1 - c * (a[1] * a[1] + a[2] * a[2]);
    R[1] = xy - z;
    R[2] = xz + y;
    R[3] = xy + z;
    R[4] = 1 - c * (a[0] * a[0] + a[2] * a[2]);
    R[5] = yz - x;
    R[6] = xz - y;
    R[7] = yz + x;
    R[8] = 1 - c * (a[0] * a[0] + a[1] * a[1]);
}

// R <- R times a turn about axis k of the frame: its two other columns.
static inline void turn_columns(double *R, int k, double angle)
{
    static const int next[3] = {1, 2, 0};
    int i = next[k], j = next[i];
    double s = sin(angle), c = cos(angle);
    for (int r = 0; r < 9; r += 3)
    {
        double a = R[r + i], b = R[r + j];
        R[r + i] = c * a + s * b;
        R[r + j] = c * b - s * a;
    }
}

// The motion of a joint at the coordinates q of its body.
static tdPose joint_motion(const tdLink *link, const double *q, const double *reference)
{
    tdPose motion = td_pose_identity();
    if (link->columns == 1)
    {
        double x = link->ratio * q[link->coord] + link->offset;
        if (link->kind == TD_JOINT_PRISMATIC)
            for (int k = 0; k < 3; k++)
                motion.t[k] = x * link->axis[k];
        else
            turn_about(link->axis, x, motion.R);
    }
    else if (link->columns >= 3)
    {
        bool free = link->kind == TD_JOINT_FREE;
        double turn[4], all[4];
        td_rotation_from_vector(q + link->coord + (free ? 3 : 0), turn);
        td_rotation_multiply(reference + 4 * (int64_t)link->ball, turn, all);
        td_rotation_matrix(all, motion.R);
        if (free)
            memcpy(motion.t, q + link->coord, sizeof motion.t);
    }
    return motion;
}

// Column: a unit rate along d, or about the axis d through the link's origin.
static inline void set_column(double *S, const double d[3], const double *arm, double ratio)
{
    double linear[3] = {d[0], d[1], d[2]};
    if (arm != NULL)
        td_cross3(arm, d, linear);
    for (int k = 0; k < 3; k++)
    {
        S[k] = arm != NULL ? ratio * d[k] : 0;
        S[3 + k] = ratio * linear[k];
    }
}

static void set_columns(const tdLink *link, const tdPose *joint, const tdPose *pose, const double arm[3], double *S)
{
    double d[3];
    if (link->columns == 1)
    {
        bool slides = link->kind == TD_JOINT_PRISMATIC;
        td_turn(slides ? joint : pose, link->axis, d);
        set_column(S, d, slides ? NULL : arm, link->ratio);
        return;
    }
    for (int c = 0; c < link->columns; c++)
    {
        bool slides = link->columns == 6 && c < 3;
        const double *R = slides ? joint->R : pose->R;
        for (int k = 0; k < 3; k++)
            d[k] = R[3 * k + c % 3];
        set_column(S + 6 * (int64_t)c, d, slides ? NULL : arm, 1);
    }
}

// Spatial inertia about O: R J R' and the shares of the mass.
static void place_inertia(const tdLink *link, const tdPose *pose, const double arm[3], double *I)
{
    const double *R = pose->R, *J = link->inertia;
    const double full[9] = {J[0], J[3], J[4], J[3], J[1], J[5], J[4], J[5], J[2]};
    double c[3], RJ[9];
    td_turn(pose, link->center, c);
    for (int k = 0; k < 3; k++)
        c[k] += arm[k];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            RJ[3 * i + j] = R[3 * i] * full[j] + R[3 * i + 1] * full[3 + j] + R[3 * i + 2] * full[6 + j];
    double m = link->mass, square = td_dot3(c, c);
    static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    I[0] = m;
    for (int k = 0; k < 3; k++)
        I[1 + k] = m * c[k];
    for (int e = 0; e < 6; e++)
    {
        int i = pair[e][0], j = pair[e][1];
        I[4 + e] = td_dot3(RJ + 3 * (size_t)i, R + 3 * (size_t)j) + m * ((i == j ? square : 0) - c[i] * c[j]);
    }
}

// The frame of a link's joint, before it moves.
static inline void place_joint(const tdLink *link, const tdPose *parent, tdPose *joint)
{
    if (parent == NULL)
        *joint = link->origin;
    else if (!link->straight)
        multiply_poses(parent, &link->origin, joint);
    else
    {
        memcpy(joint->R, parent->R, sizeof joint->R);
        td_place(parent, link->origin.t, joint->t);
    }
}

static void kinematics(const tdArticulated *body, const double *q, const double *reference, tdTreeWork *work)
{
    work->summed = false;
    for (int l = 0; l < body->n_links; l++)
    {
        const tdLink *link = &body->links[l];
        tdPose joint, *pose = &work->pose[l];
        place_joint(link, link->parent < 0 ? NULL : &work->pose[link->parent], &joint);
        if (link->along > 0)
        {
            *pose = joint;
            turn_columns(pose->R, link->along - 1, link->sense * (link->ratio * q[link->coord] + link->offset));
        }
        else if (link->columns == 0)
            *pose = joint;
        else
        {
            tdPose motion = joint_motion(link, q, reference);
            multiply_poses(&joint, &motion, pose);
        }
        if (l == 0)
            memcpy(work->origin, pose->t, sizeof work->origin);
        double arm[3];
        td_subtract3(pose->t, work->origin, arm);
        set_columns(link, &joint, pose, arm, work->S + 6 * (int64_t)link->column);
        place_inertia(link, pose, arm, work->I + 10 * (int64_t)l);
    }
}

// ---------------------------------------------------------------- velocities, forces

static inline void add_rates(const tdLink *link, const double *S, const double *rate, int first, int last,
                             double out[6])
{
    for (int c = first; c < last; c++)
        for (int k = 0; k < 6; k++)
            out[k] += S[6 * (int64_t)(link->column + c) + k] * rate[link->coord + c];
}

static void velocities(const tdArticulated *body, const double *v, tdTreeWork *work)
{
    for (int l = 0; l < body->n_links; l++)
    {
        const tdLink *link = &body->links[l];
        double *out = work->v + 6 * (int64_t)l;
        if (link->parent < 0)
            memset(out, 0, 6 * sizeof *out);
        else
            memcpy(out, work->v + 6 * (int64_t)link->parent, 6 * sizeof *out);
        add_rates(link, work->S, v, 0, link->columns, out);
    }
}

// a_i without f; v_i is known
static void accelerate(const tdArticulated *body, int l, const double *v, const double *dv, const double a0[6],
                       tdTreeWork *work)
{
    const tdLink *link = &body->links[l];
    double *a = work->a + 6 * (int64_t)l, slide[6] = {0}, turn[6] = {0};
    memcpy(a, link->parent < 0 ? a0 : work->a + 6 * (int64_t)link->parent, 6 * sizeof *a);
    if (dv != NULL)
        add_rates(link, work->S, dv, 0, link->columns, a);
    int slides = link->columns == 6 ? 3 : 0;
    add_rates(link, work->S, v, 0, slides, slide);
    add_rates(link, work->S, v, slides, link->columns, turn);
    add_cross_motion(work->v + 6 * (int64_t)l, turn, a);
    if (slides > 0 && link->parent >= 0)
        add_cross_motion(work->v + 6 * (int64_t)link->parent, slide, a);
}

static void inverse(const tdArticulated *body, const double *v, const double *dv, const double gravity[3],
                    tdTreeWork *work, double *tau)
{
    const double a0[6] = {0, 0, 0, -gravity[0], -gravity[1], -gravity[2]};
    velocities(body, v, work);
    for (int l = 0; l < body->n_links; l++)
    {
        const double *I = work->I + 10 * (int64_t)l, *vl = work->v + 6 * (int64_t)l;
        double momentum[6], *f = work->f + 6 * (int64_t)l;
        accelerate(body, l, v, dv, a0, work);
        apply_inertia(I, work->a + 6 * (int64_t)l, f);
        apply_inertia(I, vl, momentum);
        add_cross_force(vl, momentum, f);
    }
    memset(tau, 0, (size_t)body->n * sizeof *tau);
    for (int l = body->n_links - 1; l >= 0; l--)
    {
        const tdLink *link = &body->links[l];
        const double *f = work->f + 6 * (int64_t)l;
        for (int c = 0; c < link->columns; c++)
        {
            tau[link->coord + c] += dot6(work->S + 6 * (int64_t)(link->column + c), f);
            if (dv != NULL)
                tau[link->coord + c] += link->ratio * link->ratio * link->armature * dv[link->coord + c];
        }
        for (int k = 0; k < 6 && link->parent >= 0; k++)
            work->f[6 * (int64_t)link->parent + k] += f[k];
    }
}

// What gravity does to the coordinates: the wrench of each link's weight, added up from the tips.
static void weights(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *load)
{
    for (int l = 0; l < body->n_links; l++)
    {
        const double *I = work->I + 10 * (int64_t)l;
        double *f = work->f + 6 * (int64_t)l;
        td_cross3(I + 1, gravity, f);
        for (int k = 0; k < 3; k++)
            f[3 + k] = I[0] * gravity[k];
    }
    memset(load, 0, (size_t)body->n * sizeof *load);
    for (int l = body->n_links - 1; l >= 0; l--)
    {
        const tdLink *link = &body->links[l];
        const double *f = work->f + 6 * (int64_t)l;
        for (int c = 0; c < link->columns; c++)
            load[link->coord + c] += dot6(work->S + 6 * (int64_t)(link->column + c), f);
        for (int k = 0; k < 6 && link->parent >= 0; k++)
            work->f[6 * (int64_t)link->parent + k] += f[k];
    }
}

// ---------------------------------------------------------------- mass matrix

// Columns of all joints by component, out[c n + k] = in[6 k + c], so that the loops over those above a column are
// products of whole rows.
static void by_component(int64_t n, const double *in, double *out)
{
    for (int64_t k = 0; k < n; k++)
        for (int c = 0; c < 6; c++)
            out[c * n + k] = in[6 * k + c];
}

// Inertias of subtrees, and columns by component: once for a place.
static void add_up_inertias(const tdArticulated *body, tdTreeWork *work)
{
    if (work->summed)
        return;
    work->summed = true;
    if (body->plain)
        by_component(body->n, work->S, work->by_component);
    memcpy(work->C, work->I, 10 * (size_t)body->n_links * sizeof *work->C);
    for (int l = body->n_links - 1; l > 0; l--)
        for (int k = 0; k < 10; k++)
            work->C[10 * (int64_t)body->links[l].parent + k] += work->C[10 * (int64_t)l + k];
}

// Adds to the entry of two coordinates below the diagonal; a joint and one that mimics it share a coordinate and meet
// twice on it.
static inline void add_lower(double *M, int64_t n, int32_t i, int32_t j, double value)
{
    if (i == j)
        value *= 2;
    M[i > j ? i * n + j : j * n + i] += value;
}

// What is above the diagonal, from below; sign -1 of a skew matrix.
static void mirror(double *M, int64_t n, double sign)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            M[j * n + i] = sign * M[i * n + j];
}

// row[k] = F . column k, for k below `count` and some more: rows have room for four.
static inline void dot_columns(int64_t n, int64_t count, const double *columns, const double F[6], double *row)
{
    for (int64_t k = 0; k < count; k += TD_LANES)
    {
        const double *at = columns + k;
        td4 a = F[0] * td4_load(at) + F[2] * td4_load(at + 2 * n) + F[4] * td4_load(at + 4 * n);
        td4 b = F[1] * td4_load(at + n) + F[3] * td4_load(at + 3 * n) + F[5] * td4_load(at + 5 * n);
        td4_store(row + k, a + b);
    }
}

// Zero where entries are added up or never written: on the diagonal, and between branches.
static inline void clear(const tdArticulated *body, double *M)
{
    int64_t n = body->n;
    for (int64_t i = 0; i < n && body->chain; i++)
        M[i * (n + 1)] = 0;
    if (!body->chain)
        memset(M, 0, (size_t)(n * n) * sizeof *M);
}

// Of a body that is alone: the mass, and the inertia in the axes that its rotation has coordinates in.
static void mass_alone(const tdLink *link, double *M)
{
    static const int place[6] = {21, 28, 35, 22, 23, 29}, mirrored[6] = {21, 28, 35, 27, 33, 34};
    memset(M, 0, 36 * sizeof *M);
    M[0] = M[7] = M[14] = link->mass;
    for (int k = 0; k < 6; k++)
        M[place[k]] = M[mirrored[k]] = link->inertia[k];
}

static void mass(const tdArticulated *body, tdTreeWork *work, double *M)
{
    int64_t n = body->n;
    double *row = work->row;
    if (body->alone)
    {
        mass_alone(&body->links[0], M);
        return;
    }
    add_up_inertias(body, work);
    clear(body, M);
    for (int p = body->n_columns - 1; p >= 0; p--)
    {
        int32_t i = body->coord_of[p];
        const tdLink *link = &body->links[body->carries[p]];
        const double *S = work->S + 6 * (int64_t)p;
        double F[6];
        apply_inertia(work->C + 10 * (int64_t)body->carries[p], S, F);
        M[i * n + i] += dot6(S, F) + link->ratio * link->ratio * link->armature;
        if (body->plain)
        {
            dot_columns(n, body->above[p] + 1, work->by_component, F, row);
            for (int k = body->above[p]; k >= 0; k = body->above[k])
                M[k * n + i] = M[i * n + k] = row[k];
        }
        else
            for (int k = body->above[p]; k >= 0; k = body->above[k])
                add_lower(M, n, i, body->coord_of[k], dot6(work->S + 6 * (int64_t)k, F));
    }
    if (!body->plain)
        mirror(M, n, 1);
}

// With V the velocity of its link, of a free joint's slides that of its parent: dS/dt = V x S of a column.
static void column_rate(const tdArticulated *body, const tdTreeWork *work, int l, int c, double out[6])
{
    const tdLink *link = &body->links[l];
    int of = link->columns == 6 && c < 3 ? link->parent : l;
    memset(out, 0, 6 * sizeof *out);
    if (of >= 0)
        add_cross_motion(work->v + 6 * (int64_t)of, work->S + 6 * (int64_t)(link->column + c), out);
}

// Momenta of subtrees, at the velocities of the links, into f.
static void add_up_momenta(const tdArticulated *body, tdTreeWork *work)
{
    for (int l = 0; l < body->n_links; l++)
        apply_inertia(work->I + 10 * (int64_t)l, work->v + 6 * (int64_t)l, work->f + 6 * (int64_t)l);
    for (int l = body->n_links - 1; l > 0; l--)
        for (int k = 0; k < 6; k++)
            work->f[6 * (int64_t)body->links[l].parent + k] += work->f[6 * (int64_t)l + k];
}

// The Coriolis matrix that has dM/dt = C + C' is C = sum over links of J' (I dJ/dt + B J), B = 1/2 (V x* I - I V x) +
// 1/2 N with N m = m x* I V (S. Echeandia, P. Wensing 2021). The symmetric part of B cancels in C - C', N is skew and
// adds up over links by their momenta: G_ij = 1/2 [ (C_i S_i)' dS_j - (C_i dS_i)' S_j - S_j' (S_i x* p_i) ], C_i and
// p_i the inertia and momentum of the subtree of i.
static void gyration(const tdArticulated *body, const double *v, tdTreeWork *work, double *G)
{
    int64_t n = body->n;
    velocities(body, v, work);
    add_up_inertias(body, work);
    add_up_momenta(body, work);
    clear(body, G);
    for (int l = 0; l < body->n_links; l++)
        for (int c = 0; c < body->links[l].columns; c++)
            column_rate(body, work, l, c, work->rate + 6 * (int64_t)(body->links[l].column + c));
    double *row = work->row, *rates = work->by_component + 6 * n;
    if (body->plain)
        by_component(n, work->rate, rates);
    for (int p = body->n_columns - 1; p >= 0; p--)
    {
        int64_t l = body->carries[p], i = body->coord_of[p];
        const double *S = work->S + 6 * (int64_t)p, *I = work->C + 10 * l;
        double F[6], turned[6];
        apply_inertia(I, S, F);
        apply_inertia(I, work->rate + 6 * (int64_t)p, turned);
        add_cross_force(S, work->f + 6 * l, turned);
        if (body->plain)
        {
            double *other = row + n + TD_LANES;
            dot_columns(n, body->above[p] + 1, rates, F, row);
            dot_columns(n, body->above[p] + 1, work->by_component, turned, other);
            for (int k = body->above[p]; k >= 0; k = body->above[k])
            {
                G[i * n + k] = 0.5 * (row[k] - other[k]);
                G[k * n + i] = -G[i * n + k];
            }
            continue;
        }
        for (int k = body->above[p]; k >= 0; k = body->above[k])
        {
            double value = 0.5 * (dot6(F, work->rate + 6 * (int64_t)k) - dot6(turned, work->S + 6 * (int64_t)k));
            int64_t j = body->coord_of[k];
            G[i > j ? i * n + j : j * n + i] += i > j ? value : i < j ? -value : 0;
        }
    }
    if (!body->plain)
        mirror(G, n, -1);
}

// When joint j, an ancestor of i or i itself, moves by s_j, all that tau_i = S_i' C_i a0 is made of moves along, which
// is as if a0 moved the other way: d tau_i / dq_j = -S_i' C_i (s_j x a0).
static void gravity_stiffness(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *K)
{
    const double a0[6] = {0, 0, 0, -gravity[0], -gravity[1], -gravity[2]};
    int64_t n = body->n;
    add_up_inertias(body, work);
    memset(K, 0, (size_t)(n * n) * sizeof *K);
    for (int p = body->n_columns - 1; p >= 0; p--)
    {
        int32_t i = body->coord_of[p];
        double F[6], turned[6] = {0};
        apply_inertia(work->C + 10 * (int64_t)body->carries[p], work->S + 6 * (int64_t)p, F);
        add_cross_motion(work->S + 6 * (int64_t)p, a0, turned);
        K[i * n + i] -= dot6(F, turned);
        for (int k = body->above[p]; k >= 0; k = body->above[k])
        {
            memset(turned, 0, sizeof turned);
            add_cross_motion(work->S + 6 * (int64_t)k, a0, turned);
            add_lower(K, n, i, body->coord_of[k], -dot6(F, turned));
        }
    }
    mirror(K, n, 1);
}

// What turns with link l at its joint, as gravity has it: its own mass, and the masses beyond each of its joints at
// these, against its origin.
static void hanging_moment(const tdArticulated *body, const tdTreeWork *work, int l, double r[3])
{
    const double *own = work->I + 10 * (int64_t)l;
    for (int k = 0; k < 3; k++)
        r[k] += own[1 + k] + own[0] * (work->origin[k] - work->pose[l].t[k]);
    int parent = body->links[l].parent;
    for (int k = 0; k < 3 && parent >= 0; k++)
        work->hang[9 * (int64_t)parent + k] +=
            work->C[10 * (int64_t)l] * (work->pose[l].t[k] - work->pose[parent].t[k]);
}

// The positive part of the second derivative of -g . exp(t) r by t, (g . r) 1 - 1/2 (g r' + r g'): its eigenvectors are
// along g |r| - r |g| and g x r.
static void hanging_part(const double g[3], const double r[3], double H[9])
{
    double a = td_dot3(g, r), gg = td_dot3(g, g), size = sqrt(td_dot3(r, r)), pull = sqrt(gg), b = pull * size, e[3],
           n[3];
    memset(H, 0, 9 * sizeof *H);
    if (!(b > 0))
        return;
    if (b - a < 1e-9 * b) // straight down: all axes across g alike
    {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                H[3 * i + j] = b * ((i == j) - g[i] * g[j] / gg);
        return;
    }
    for (int k = 0; k < 3; k++)
        e[k] = g[k] * size - r[k] * pull;
    td_cross3(g, r, n);
    double nn = td_dot3(n, n), of_e = 0.5 * (a + b) / td_dot3(e, e), of_n = nn > 0 && a > 0 ? a / nn : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            H[3 * i + j] = of_e * e[i] * e[j] + of_n * n[i] * n[j];
}

static void hanging_stiffness(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *K)
{
    int64_t n = body->n;
    add_up_inertias(body, work);
    clear(body, K);
    memset(work->hang, 0, 9 * (size_t)body->n_links * sizeof *work->hang);
    for (int l = body->n_links - 1; l >= 0; l--)
    {
        double r[3] = {0};
        memcpy(r, work->hang + 9 * (int64_t)l, sizeof r);
        hanging_moment(body, work, l, r);
        hanging_part(gravity, r, work->hang + 9 * (int64_t)l);
    }
    for (int l = body->n_links - 1; l > 0; l--)
        for (int k = 0; k < 9; k++)
            work->hang[9 * (int64_t)body->links[l].parent + k] += work->hang[9 * (int64_t)l + k];
    for (int p = body->n_columns - 1; p >= 0; p--)
    {
        int32_t i = body->coord_of[p];
        const double *H = work->hang + 9 * (int64_t)body->carries[p], *S = work->S + 6 * (int64_t)p;
        double F[3] = {td_dot3(H, S), td_dot3(H + 3, S), td_dot3(H + 6, S)};
        K[i * n + i] += td_dot3(F, S);
        if (body->plain)
        {
            const double whole[6] = {F[0], F[1], F[2]};
            dot_columns(n, body->above[p] + 1, work->by_component, whole, work->row);
            for (int k = body->above[p]; k >= 0; k = body->above[k])
                K[k * n + i] = K[i * n + k] = work->row[k];
        }
        else
            for (int k = body->above[p]; k >= 0; k = body->above[k])
                add_lower(K, n, i, body->coord_of[k], td_dot3(F, work->S + 6 * (int64_t)k));
    }
    if (!body->plain)
        mirror(K, n, 1);
}

// ---------------------------------------------------------------- sums

static void momentum(const tdArticulated *body, const double *v, tdTreeWork *work, double *energy, double linear[3],
                     double angular[3], double center[3])
{
    double sum[6] = {0}, first[4] = {0}, twice = 0, shift[3];
    velocities(body, v, work);
    for (int l = 0; l < body->n_links; l++)
    {
        double p[6];
        apply_inertia(work->I + 10 * (int64_t)l, work->v + 6 * (int64_t)l, p);
        twice += dot6(p, work->v + 6 * (int64_t)l);
        for (int k = 0; k < 6; k++)
            sum[k] += p[k];
        for (int k = 0; k < 4; k++)
            first[k] += work->I[10 * (int64_t)l + k];
        const tdLink *link = &body->links[l];
        for (int c = 0; c < link->columns; c++)
            twice += link->ratio * link->ratio * link->armature * v[link->coord + c] * v[link->coord + c];
    }
    td_cross3(work->origin, sum + 3, shift);
    for (int k = 0; k < 3; k++)
    {
        if (linear != NULL)
            linear[k] = sum[3 + k];
        if (angular != NULL)
            angular[k] = sum[k] + shift[k];
        if (center != NULL)
            center[k] = work->origin[k] + (first[0] > 0 ? first[1 + k] / first[0] : 0);
    }
    if (energy != NULL)
        *energy = 0.5 * twice;
}

static void carried(const tdArticulated *body, const double *v, int part, tdTreeWork *work, tdCarried *out)
{
    double sum[6] = {0}, shift[3];
    *out = (tdCarried){0};
    velocities(body, v, work);
    for (int l = part; l < body->n_links; l++)
    {
        int at = l; // parents come first
        while (at > part)
            at = body->links[at].parent;
        if (at != part)
            continue;
        double p[6];
        const double *I = work->I + 10 * (int64_t)l;
        apply_inertia(I, work->v + 6 * (int64_t)l, p);
        for (int k = 0; k < 6; k++)
            sum[k] += p[k];
        out->mass += I[0];
        for (int k = 0; k < 3; k++)
            out->moment[k] += I[1 + k] + I[0] * work->origin[k];
    }
    td_cross3(work->origin, sum + 3, shift);
    for (int k = 0; k < 3; k++)
    {
        out->linear[k] = sum[3 + k];
        out->angular[k] = sum[k] + shift[k];
    }
}

static const double *along(const tdArticulated *body, tdTreeWork *work, int64_t count, const double *wrench)
{
    add_up_inertias(body, work); // for the columns
    dot_columns(body->n, count, work->by_component, wrench, work->row);
    return work->row;
}

static void rows(const tdArticulated *body, tdTreeWork *work, int tip, int count, double wrench[3][6], double *J)
{
    add_up_inertias(body, work); // for the columns
    for (int r = 0; r < 3; r++, J += count)
    {
        dot_columns(body->n, tip + 1, work->by_component, wrench[r], work->row);
        for (int p = tip, at = count; p >= 0; p = body->above[p])
            J[--at] = work->row[p];
    }
}

static double potential(const tdArticulated *body, const double gravity[3], const tdTreeWork *work)
{
    double sum = 0;
    for (int l = 0; l < body->n_links; l++)
    {
        const double *I = work->I + 10 * (int64_t)l;
        for (int k = 0; k < 3; k++)
            sum -= gravity[k] * (I[1 + k] + I[0] * work->origin[k]);
    }
    return sum;
}

const tdTreeKernel TD_ISA(td_tree_kernel) = {
    kinematics,        velocities, inverse, weights,   mass,  gyration, gravity_stiffness,
    hanging_stiffness, momentum,   carried, potential, along, rows};
