// SPDX-License-Identifier: Apache-2.0
// For the tests of constitutive laws: random deformation gradients, and one point of a law at a time.
#pragma once
#include "test.h"

#include "material/law.h"

#include <stdbool.h>

static uint64_t laws_seed = 88172645463325252U;

static inline double random_number(double low, double high)
{
    laws_seed ^= laws_seed << 13;
    laws_seed ^= laws_seed >> 7;
    laws_seed ^= laws_seed << 17;
    return low + (high - low) * (double)(laws_seed >> 11) * 0x1p-53;
}

static inline void random_rotation(double *R)
{
    double q[4], n = 0;
    for (int i = 0; i < 4; i++)
    {
        q[i] = random_number(-1, 1);
        n += q[i] * q[i];
    }
    for (int i = 0; i < 4; i++)
        q[i] /= sqrt(n);
    double w = q[0], x = q[1], y = q[2], z = q[3];
    double M[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                   2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                   2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, M, sizeof M);
}

static inline void multiply(const double *A, const double *B, double *C)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

static inline double determinant(const double *F)
{
    return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
}

// Rotation times diag(s) times another rotation.
static inline void gradient_of(double s0, double s1, double s2, double *F)
{
    double U[9], V[9], S[9] = {s0, 0, 0, 0, s1, 0, 0, 0, s2}, T[9];
    random_rotation(U);
    random_rotation(V);
    multiply(U, S, T);
    multiply(T, V, F);
}

// The same with principal values in [low, high].
static inline void random_gradient(double low, double high, double *F)
{
    double a = random_number(low, high), b = random_number(low, high);
    gradient_of(a, b, random_number(low, high), F);
}

typedef struct point
{
    double psi, P[9], D[9][9];
} point;

// Evaluates a law at one F (in a lane of its own; the others hold the identity). R is the rotation of the
// start of the step or the frame of the fibres; NULL: the identity.
static inline point evaluate(const tdLaw *law, tdIsa isa, const double *parameters, const double *F, const double *R)
{
    _Alignas(64) double f[36], r[36], psi[4], P[36], D[4 * TD_TANGENT];
    const int lane = 2;
    for (int c = 0; c < 9; c++)
        for (int l = 0; l < 4; l++)
        {
            f[4 * c + l] = l == lane ? F[c] : c % 4 == 0;
            r[4 * c + l] = l == lane && R != NULL ? R[c] : c % 4 == 0;
        }
    if (law->rotation == TD_ROTATION_CURRENT)
        td_polar(isa)(f, r);
    law->kernel[isa](parameters, f, r, psi, P, D);
    point out = {.psi = psi[lane]};
    for (int i = 0; i < 9; i++)
    {
        out.P[i] = P[4 * i + lane];
        for (int j = 0; j <= i; j++)
            out.D[i][j] = out.D[j][i] = D[4 * TD_PACKED(i, j) + lane];
    }
    return out;
}
