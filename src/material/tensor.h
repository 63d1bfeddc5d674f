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
