// SPDX-License-Identifier: Apache-2.0
// The rotation that fits x to X best is that of the polar decomposition of
//
//     A = sum (x - mean x)(X - mean X)' = R S
//
// Its quaternion belongs to the largest eigenvalue of a symmetric 4 x 4 matrix N(A) (Horn 1987), which gives a proper
// rotation also of points in a plane and of sets turned inside out. From dA = dR S + R dS and the symmetry of S,
//
//     dA R' - R dA' = skew((tr(B) I - B) d theta),   B = A R' = R S R'
//
// and dA = sum dx (X - mean X)' puts sum Y x dx on the left. The eigenvalues of tr(B) I - B are sums of two stretches;
// one that vanishes is an axis about which the points tell nothing.
#include "core/rotation.h"

#include "base/vector.h"
#include "core/measure.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SWEEPS 30 // Jacobi's method squares the rest in each sweep: five or six are enough

// ---------------------------------------------------------------- rotations

void td_rotation_from_vector(const double r[3], double q[4])
{
    double angle = sqrt(td_dot3(r, r));
    // sin(a/2)/a, of which the limit is 1/2
    double scale = angle > 1e-8 ? sin(0.5 * angle) / angle : 0.5;
    q[0] = cos(0.5 * angle);
    for (int k = 0; k < 3; k++)
        q[1 + k] = scale * r[k];
}

void td_rotation_vector(const double q[4], const double *near, double r[3])
{
    const double turn = 8 * atan(1);
    double sign = q[0] < 0 ? -1 : 1; // q and -q are the same rotation: take the turn of at most pi
    double v[3] = {sign * q[1], sign * q[2], sign * q[3]};
    double size = sqrt(td_dot3(v, v));
    double angle = 2 * atan2(size, sign * q[0]);
    double scale = size > 1e-150 ? angle / size : 2;
    for (int k = 0; k < 3; k++)
        r[k] = scale * v[k];
    if (near == NULL)
        return;
    // A whole number of turns more, about the same axis. Without a rotation every axis is right: that of `near`.
    const double *axis = size > 1e-12 ? v : near;
    double length = sqrt(td_dot3(axis, axis));
    if (!(length > 0))
        return;
    double turns = nearbyint((td_dot3(near, axis) - td_dot3(r, axis)) / (length * turn));
    for (int k = 0; k < 3; k++)
        r[k] += turns * turn * axis[k] / length;
}

void td_rotation_difference(const double a[4], const double b[4], double q[4])
{
    double across[3];
    td_cross3(a + 1, b + 1, across);
    q[0] = a[0] * b[0] + td_dot3(a + 1, b + 1);
    for (int k = 0; k < 3; k++)
        q[1 + k] = b[0] * a[1 + k] - a[0] * b[1 + k] - across[k];
}

void td_rotation_apply(const double q[4], const double v[3], double out[3])
{
    double t[3], u[3];
    td_cross3(q + 1, v, t);
    td_cross3(q + 1, t, u);
    for (int k = 0; k < 3; k++)
        out[k] = v[k] + 2 * (q[0] * t[k] + u[k]);
}

// The largest of the four components is computed first, so that none is lost.
void td_rotation_from_matrix(const double R[9], double q[4])
{
    double square[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8], 1 - R[0] - R[4] + R[8]};
    int k = 0;
    for (int i = 1; i < 4; i++)
        k = square[i] > square[k] ? i : k;
    const double off[4][4] = {{0, R[7] - R[5], R[2] - R[6], R[3] - R[1]},
                              {R[7] - R[5], 0, R[1] + R[3], R[2] + R[6]},
                              {R[2] - R[6], R[1] + R[3], 0, R[5] + R[7]},
                              {R[3] - R[1], R[2] + R[6], R[5] + R[7], 0}};
    double scale = 0.5 / sqrt(square[k]);
    for (int i = 0; i < 4; i++)
        q[i] = scale * (i == k ? square[k] : off[k][i]);
}

void td_rotation_matrix(const double q[4], double R[9])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    const double made[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                            2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                            2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, made, sizeof made);
}

void td_rotation_multiply(const double a[4], const double b[4], double out[4])
{
    double c[3], w = a[0] * b[0] - td_dot3(a + 1, b + 1);
    td_cross3(a + 1, b + 1, c);
    for (int k = 0; k < 3; k++)
        out[1 + k] = a[0] * b[1 + k] + b[0] * a[1 + k] + c[k];
    out[0] = w;
}

// ---------------------------------------------------------------- small symmetric matrices

// Eigenvalues of the symmetric n x n matrix A (n <= 4, rows of 4) on its diagonal, eigenvectors in the rows of V.
static void eigen(int n, double A[4][4], double V[4][4])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            V[i][j] = i == j;
    bool turned = true;
    for (int sweep = 0; turned && sweep < SWEEPS; sweep++)
    {
        turned = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
            {
                if (A[p][q] == 0)
                    continue;
                double ratio = 0.5 * (A[q][q] - A[p][p]) / A[p][q];
                double t = (ratio < 0 ? -1 : 1) / (fabs(ratio) + sqrt(1 + ratio * ratio));
                double c = 1 / sqrt(1 + t * t), s = t * c;
                if (!(fabs(s) > 0))
                    continue; // beyond rounding
                turned = turned || fabs(A[p][q]) > 1e-17 * (fabs(A[p][p]) + fabs(A[q][q]));
                for (int k = 0; k < n; k++)
                {
                    double a = A[k][p], b = A[k][q];
                    A[k][p] = c * a - s * b;
                    A[k][q] = s * a + c * b;
                }
                for (int k = 0; k < n; k++)
                {
                    double a = A[p][k], b = A[q][k], d = V[p][k], e = V[q][k];
                    A[p][k] = c * a - s * b;
                    A[q][k] = s * a + c * b;
                    V[p][k] = c * d - s * e;
                    V[q][k] = s * d + c * e;
                }
                A[p][q] = A[q][p] = 0;
            }
    }
}

static double largest(int n, double A[4][4])
{
    double most = A[0][0];
    for (int i = 1; i < n; i++)
        most = fmax(most, A[i][i]);
    return most;
}

// ---------------------------------------------------------------- best fit

static void mean_of(int32_t n, const double *x, double mean[3])
{
    // Counted from the first point, so that a set far from the origin keeps its digits.
    double sum[3] = {0};
    for (int32_t i = 1; i < n; i++)
        for (int k = 0; k < 3; k++)
            sum[k] += x[3 * (int64_t)i + k] - x[k];
    for (int k = 0; k < 3; k++)
        mean[k] = n > 0 ? x[k] + sum[k] / n : 0;
}

// A = sum (x - mean x)(X - mean X)'; returns its largest entry.
static double moments(int32_t n, const double *X, const double *mean_X, const double *x, double A[9])
{
    double mean[3], most = 0;
    mean_of(n, x, mean);
    memset(A, 0, 9 * sizeof *A);
    for (int32_t i = 0; i < n; i++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                A[3 * r + c] += (x[3 * (int64_t)i + r] - mean[r]) * (X[3 * (int64_t)i + c] - mean_X[c]);
    for (int k = 0; k < 9; k++)
        most = fmax(most, fabs(A[k]));
    return most;
}

// Of the rotations that fit equally well, the one nearest to none.
static void best_quaternion(const double A[9], double q[4])
{
    double N[4][4] = {{A[0] + A[4] + A[8], A[7] - A[5], A[2] - A[6], A[3] - A[1]},
                      {A[7] - A[5], A[0] - A[4] - A[8], A[1] + A[3], A[2] + A[6]},
                      {A[2] - A[6], A[1] + A[3], A[4] - A[0] - A[8], A[5] + A[7]},
                      {A[3] - A[1], A[2] + A[6], A[5] + A[7], A[8] - A[0] - A[4]}};
    double V[4][4], most, norm = 0;
    eigen(4, N, V);
    most = largest(4, N);
    memset(q, 0, 4 * sizeof *q);
    int best = 0;
    for (int i = 0; i < 4; i++)
    {
        if (N[i][i] == most)
            best = i;
        if (N[i][i] >= most * (1 - 2 * TD_FIT_RANK))
            for (int k = 0; k < 4; k++)
                q[k] += V[i][0] * V[i][k];
    }
    for (int k = 0; k < 4; k++)
        norm += q[k] * q[k];
    // q is the part of (1, 0, 0, 0) among the best: none is left of it after half a turn.
    const double *from = norm > 1e-16 ? q : V[best];
    double scale = norm > 1e-16 ? 1 / sqrt(norm) : 1;
    for (int k = 0; k < 4; k++)
        q[k] = scale * from[k];
}

// inverse = (tr(B) I - B)^-1 / size, B = A R'
static void fit_inverse(const double A[9], const double q[4], double size, double inverse[9])
{
    double B[9], G[4][4] = {{0}}, V[4][4];
    for (int r = 0; r < 3; r++) // row r of A R' is R applied to row r of A
        td_rotation_apply(q, A + 3 * r, B + 3 * r);
    double trace = B[0] + B[4] + B[8];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            G[r][c] = (r == c ? trace : 0) - 0.5 * (B[3 * r + c] + B[3 * c + r]);
    eigen(3, G, V);
    double least = TD_FIT_RANK * largest(3, G);
    memset(inverse, 0, 9 * sizeof *inverse);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 9 && G[i][i] > least; k++)
            inverse[k] += V[i][k / 3] * V[i][k % 3] / G[i][i] / size;
}

void td_rotation_fit(int32_t n, const double *X, const double *x, tdRotationFit *fit)
{
    *fit = (tdRotationFit){.q = {1, 0, 0, 0}};
    double A[9];
    mean_of(n, X, fit->mean);
    double size = moments(n, X, fit->mean, x, A);
    if (!(size > 0) || !isfinite(1 / size))
        return;
    for (int k = 0; k < 9; k++)
        A[k] /= size;
    best_quaternion(A, fit->q);
    fit_inverse(A, fit->q, size, fit->inverse);
}

int td_measure_fit_rank(int32_t n, const double *X)
{
    double mean[3], A[9], M[4][4] = {{0}}, V[4][4];
    mean_of(n, X, mean);
    moments(n, X, mean, X, A);
    for (int k = 0; k < 9; k++)
        M[k / 3][k % 3] = A[k];
    eigen(3, M, V);
    double most = largest(3, M);
    int rank = 0;
    for (int i = 0; i < 3; i++)
        rank += M[i][i] > TD_FIT_RANK * most;
    return rank;
}
