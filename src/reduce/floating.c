// SPDX-License-Identifier: Apache-2.0
#include "reduce/floating.h"

#include "base/block.h"
#include "base/vector.h"
#include "body/soft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- integrals

// Weight of each node for the centre of mass: row sums of the mass matrix. A body without mass has its nodes' mean.
static void node_weights(const tdSoft *soft, double *ones, double *weight)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    double sum = 0;
    for (int64_t i = 0; i < coords; i++)
        ones[i] = 1;
    td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, ones, weight, false);
    for (int64_t i = 0; i < coords; i += 3)
        sum += weight[i];
    for (int64_t i = 0; i < coords && !(sum > 0); i++)
        weight[i] = 1;
}

// The centre of mass of the shape at rest, and modes that leave it where it is: translations are the frame's matter.
static void centre_modes(const tdSoft *soft, const double *weight, int r, int stride, double *basis, tdFloating *out)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    double sum = 0;
    for (int64_t i = 0; i < coords; i++)
    {
        out->centre[i % 3] += weight[i] * soft->rest[i];
        sum += i % 3 == 0 ? weight[i] : 0;
    }
    for (int c = 0; c < 3; c++)
        out->centre[c] /= sum;
    for (int j = 0; j < r; j++)
    {
        double mean[3] = {0, 0, 0};
        for (int64_t i = 0; i < coords; i++)
            mean[i % 3] += weight[i] * basis[i * stride + j] / sum;
        for (int64_t i = 0; i < coords; i++)
            basis[i * stride + j] -= mean[i % 3];
    }
}

// G_ab,ij = sum over nodes of Y_i,a (m Y_j)_b goes to J_k and to D_c: int rho y_a y_b, and its antisymmetric part.
static void spread(int n, int a, int b, const double *G, tdFloating *out)
{
    static const int pair[3][3] = {{0, 5, 4}, {5, 1, 3}, {4, 3, 2}};
    int64_t square = (int64_t)n * n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            double g = G[i * n + j], both = 0.5 * (g + G[j * n + i]), odd = g - G[j * n + i];
            if (a == b)
                for (int c = 0; c < 3; c++)
                    out->E[square * c + i * n + j] += c != a ? both : 0;
            else
            {
                out->E[square * pair[a][b] + i * n + j] -= both;
                out->D[square * (3 - a - b) + i * n + j] += odd; // (a, b) is cyclic
            }
        }
}

static void integrate(const tdSoft *soft, int r, int stride, const double *basis, double *Y, double *mY, double *G,
                      double *work, tdFloating *out)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    int n = r + 1;
    double *x = work, *y = work + coords;
    for (int j = 0; j < n; j++)
    {
        for (int64_t i = 0; i < coords; i++)
            x[i] = j == 0 ? soft->rest[i] - out->centre[i % 3] : basis[i * stride + j - 1];
        td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, x, y, false);
        for (int64_t i = 0; i < coords; i++)
        {
            Y[i * n + j] = x[i];
            mY[i * n + j] = y[i];
        }
    }
    static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {2, 0}, {0, 1}};
    for (int k = 0; k < 6; k++)
    {
        int a = pairs[k][0], b = pairs[k][1];
        memset(G, 0, (size_t)n * (size_t)n * sizeof *G);
        for (int64_t node = 0; node < soft->n_nodes; node++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    G[i * n + j] += Y[(3 * node + a) * n + i] * mY[(3 * node + b) * n + j];
        spread(n, a, b, G, out);
    }
}

tdStatus td_floating_create(tdArena *arena, const tdSoft *soft, int r, int stride, double *basis, tdFloating *out,
                            tdError *error)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes, n = r + 1, square = n * n;
    *out = (tdFloating){.r = r, .mass = soft->total_mass};
    out->E = TD_TAKE(arena, double, 6 * square);
    out->D = TD_TAKE(arena, double, 3 * square);
    out->force = TD_TAKE(arena, double, 3 * ((int64_t)soft->n_loads + 1));
    out->moment = TD_TAKE(arena, double, 9 * n * ((int64_t)soft->n_loads + 1));
    double *Y = td_take((size_t)coords, (size_t)n * sizeof *Y), *mY = td_take((size_t)coords, (size_t)n * sizeof *mY);
    double *G = td_take((size_t)square, sizeof *G), *work = td_take(2 * (size_t)coords, sizeof *work);
    bool good = out->E != NULL && out->D != NULL && out->force != NULL && out->moment != NULL && Y != NULL &&
                mY != NULL && G != NULL && work != NULL;
    if (good)
    {
        node_weights(soft, work, work + coords);
        centre_modes(soft, work + coords, r, stride, basis, out);
        integrate(soft, r, stride, basis, Y, mY, G, work, out);
    }
    free(Y);
    free(mY);
    free(G);
    free(work);
    return good ? TD_OK : td_fail_memory(error, "the frame of a reduced body");
}

void td_floating_add_load(const tdSoft *soft, int stride, const double *basis, const double *f, tdFloating *floating)
{
    int k = floating->n_loads++;
    double *force = floating->force + 3 * (int64_t)k;
    double *moment = floating->moment + 9 * (int64_t)(floating->r + 1) * k;
    for (int64_t node = 0; node < soft->n_nodes; node++)
    {
        const double *at = f + 3 * node;
        if (at[0] == 0 && at[1] == 0 && at[2] == 0)
            continue;
        for (int b = 0; b < 3; b++)
            force[b] += at[b];
        for (int i = 0; i <= floating->r; i++)
            for (int a = 0; a < 3; a++)
            {
                double y =
                    i == 0 ? soft->rest[3 * node + a] - floating->centre[a] : basis[(3 * node + a) * stride + i - 1];
                for (int b = 0; b < 3; b++)
                    moment[9 * i + 3 * a + b] += y * at[b];
            }
    }
}

// ---------------------------------------------------------------- inertia

tdStatus td_inertia_take(tdArena *arena, int r, tdInertia *out, tdError *error)
{
    out->C = TD_TAKE(arena, double, 3 * (int64_t)r);
    out->Ez = TD_TAKE(arena, double, 6 * ((int64_t)r + 1));
    out->z = TD_TAKE(arena, double, (int64_t)r + 1);
    return out->C == NULL || out->Ez == NULL || out->z == NULL ? td_fail_memory(error, "the inertia of a reduced body")
                                                               : TD_OK;
}

static double dot(int n, const double *a, const double *b)
{
    double sum[4] = {0, 0, 0, 0}, rest = 0; // four at a time: one sum would wait for itself
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; l++)
            sum[l] += a[i + l] * b[i + l];
    for (; i < n; i++)
        rest += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

// y += factor x
static void add(int n, double factor, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += factor * x[i];
}

void td_inertia_at(const tdFloating *floating, const double *alpha, tdInertia *out)
{
    static const int entry[6] = {0, 4, 8, 5, 2, 1}, mirror[6] = {0, 4, 8, 7, 6, 3};
    int r = floating->r, n = r + 1;
    out->z[0] = 1;
    memcpy(out->z + 1, alpha, (size_t)r * sizeof *alpha);
    for (int k = 0; k < 6; k++)
    {
        double *Ez = out->Ez + k * n;
        memset(Ez, 0, (size_t)n * sizeof *Ez);
        for (int i = 0; i < n; i++)
            add(n, out->z[i], floating->E + ((int64_t)k * n + i) * n, Ez);
        out->J[entry[k]] = out->J[mirror[k]] = dot(n, out->z, Ez);
    }
    memset(out->C, 0, 3 * (size_t)r * sizeof *out->C);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < n; i++)
            add(r, out->z[i], floating->D + ((int64_t)c * n + i) * n + 1, out->C + c * r);
}

void td_inertia_momentum(const tdInertia *inertia, int r, const double *M, int stride, const double *v, double l[3],
                         double *p)
{
    const double *w = v + r + 3;
    td_mat3_apply(inertia->J, w, l);
    for (int c = 0; c < 3; c++)
        l[c] += dot(r, inertia->C + c * r, v);
    for (int j = 0; j < r && p != NULL; j++)
        p[j] = dot(r, M + j * (int64_t)stride, v) + inertia->C[j] * w[0] + inertia->C[r + j] * w[1] +
               inertia->C[2 * r + j] * w[2];
}

void td_inertia_slope(const tdFloating *floating, const tdInertia *inertia, const double *v, double *out,
                      double *coriolis)
{
    int r = floating->r, n = r + 1;
    const double *w = v + r + 3;
    const double square[6] = {w[0] * w[0], w[1] * w[1], w[2] * w[2], 2 * w[1] * w[2], 2 * w[2] * w[0], 2 * w[0] * w[1]};
    memset(out, 0, (size_t)r * sizeof *out);
    for (int c = 0; c < 3; c++)
        for (int j = 0; j < r; j++) // D is antisymmetric
            add(r, -w[c] * v[j], floating->D + ((int64_t)c * n + j + 1) * n + 1, out);
    if (coriolis != NULL)
        memcpy(coriolis, out, (size_t)r * sizeof *out);
    for (int k = 0; k < 6; k++)
        add(r, square[k], inertia->Ez + k * n + 1, out);
}

void td_inertia_change(const tdInertia *inertia, int r, const double *v, double out[3])
{
    double k[6];
    for (int i = 0; i < 6; i++)
        k[i] = 2 * dot(r, inertia->Ez + i * (r + 1) + 1, v);
    const double change[9] = {k[0], k[5], k[4], k[5], k[1], k[3], k[4], k[3], k[2]};
    td_mat3_apply(change, v + r + 3, out);
}

// ---------------------------------------------------------------- rotations

void td_mat3_apply(const double A[9], const double x[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
}

void td_mat3_back(const double A[9], const double x[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
}

// I + a [t] + b [t]^2, with [t]^2 = t t' - |t|^2 I
static void of_skew(double a, double b, const double t[3], double out[9])
{
    double square = td_dot3(t, t);
    const double skew[9] = {0, -t[2], t[1], t[2], 0, -t[0], -t[1], t[0], 0};
    for (int k = 0; k < 9; k++)
        out[k] = (k % 4 == 0 ? 1 - b * square : 0) + a * skew[k] + b * t[k / 3] * t[k % 3];
}

static void quaternion_matrix(const double q[4], double R[9])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1 - 2 * (y * y + z * z);
    R[1] = 2 * (x * y - w * z);
    R[2] = 2 * (x * z + w * y);
    R[3] = 2 * (x * y + w * z);
    R[4] = 1 - 2 * (x * x + z * z);
    R[5] = 2 * (y * z - w * x);
    R[6] = 2 * (x * z - w * y);
    R[7] = 2 * (y * z + w * x);
    R[8] = 1 - 2 * (x * x + y * y);
}

void td_frame_pose_at(const double reference[4], const double theta[3], tdFramePose *out)
{
    double square = td_dot3(theta, theta), angle = sqrt(square), R[9];
    // Below the threshold the next terms of the series are beyond rounding, above it no digit is lost.
    bool little = square < 1e-4;
    double a = little ? 1 - square / 6 * (1 - square / 20 * (1 - square / 42)) : sin(angle) / angle;
    double half = sin(0.5 * angle);
    double b = little ? 0.5 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56))) : 2 * half * half / square;
    double c = little ? (1 - square / 20 * (1 - square / 42 * (1 - square / 72))) / 6 : (1 - a) / square;
    of_skew(a, b, theta, out->E);
    of_skew(-b, c, theta, out->T);
    quaternion_matrix(reference, R);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out->R[3 * i + j] = R[3 * i] * out->E[j] + R[3 * i + 1] * out->E[3 + j] + R[3 * i + 2] * out->E[6 + j];
}

void td_pose_turn(double reference[4], const double theta[3])
{
    double angle = sqrt(td_dot3(theta, theta)), scale = angle > 1e-8 ? sin(0.5 * angle) / angle : 0.5;
    double a[4], b[4] = {cos(0.5 * angle), scale * theta[0], scale * theta[1], scale * theta[2]}, across[3];
    memcpy(a, reference, sizeof a);
    td_cross3(a + 1, b + 1, across);
    reference[0] = a[0] * b[0] - td_dot3(a + 1, b + 1);
    for (int k = 0; k < 3; k++)
        reference[1 + k] = a[0] * b[1 + k] + b[0] * a[1 + k] + across[k];
    double size = sqrt(reference[0] * reference[0] + td_dot3(reference + 1, reference + 1));
    for (int k = 0; k < 4; k++)
        reference[k] /= size;
}
