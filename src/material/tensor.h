// SPDX-License-Identifier: Apache-2.0
// Small tensors of four lanes, for the kernels. Matrices are row-major: A[3 i + j].
#pragma once
#include "base/simd.h"
#include "material/law.h"

static inline void td_load9(const double *from, td4 *to)
{
    for (int i = 0; i < 9; i++)
        to[i] = td4_load(from + 4 * i);
}

static inline void td_store9(const td4 *from, double *to)
{
    for (int i = 0; i < 9; i++)
        td4_store(to + 4 * i, from[i]);
}

// C = A' B
static inline void td_mul_tn(const td4 *A, const td4 *B, td4 *C)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            C[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
}

// C = A B
static inline void td_mul_nn(const td4 *A, const td4 *B, td4 *C)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

// C = cof A = det(A) A^-T; returns det A
static inline td4 td_cofactor(const td4 *A, td4 *C)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            C[3 * i + j] = A[3 * a + c] * A[3 * b + d] - A[3 * a + d] * A[3 * b + c];
        }
    return A[0] * C[0] + A[1] * C[1] + A[2] * C[2];
}

// value + scale d cof(F)_i / dF_j; i and j are components 3 r + s. The derivative is e_rtm e_sun F_mn.
static inline td4 td_add_cofactor(td4 value, td4 scale, const td4 *F, int i, int j)
{
    int r = i / 3, s = i % 3, t = j / 3, u = j % 3;
    if (r == t || s == u)
        return value;
    int m = 3 - r - t, n = 3 - s - u;
    bool even = ((t - r + 3) % 3 == 1) == ((u - s + 3) % 3 == 1);
    return even ? value + scale * F[3 * m + n] : value - scale * F[3 * m + n];
}

// B = F F', symmetric
static inline void td_left(const td4 *F, td4 *B)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k <= i; k++)
            B[3 * i + k] = B[3 * k + i] =
                F[3 * i] * F[3 * k] + F[3 * i + 1] * F[3 * k + 1] + F[3 * i + 2] * F[3 * k + 2];
}

// G = d I2/dF = 2 (I1 F - B F), I2 = (tr(C)^2 - tr(C^2))/2
static inline void td_second_gradient(const td4 *F, const td4 *B, td4 I1, td4 *G)
{
    td_mul_nn(B, F, G);
    for (int i = 0; i < 9; i++)
        G[i] = 2.0 * (I1 * F[i] - G[i]);
}

// Entry i, j of scale d2 I2/dF2 without its parts 2 I1 on the diagonal and 4 F x F; left and right are
// -2 scale F F' and -2 scale F'F.
static inline td4 td_second_hessian(const td4 *F, const td4 *left, const td4 *right, td4 scale, int i, int j)
{
    int a = i / 3, b = i % 3, c = j / 3, d = j % 3;
    td4 value = -2.0 * scale * F[3 * a + d] * F[3 * c + b];
    if (a == c)
        value += right[3 * b + d];
    if (b == d)
        value += left[3 * a + c];
    return value;
}
