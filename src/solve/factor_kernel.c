// SPDX-License-Identifier: Apache-2.0
// The triangle of a block of columns: A = L L' and L^-1, for TD_FACTOR_BLOCK columns at most. Rows below are then
// divided by a product with the inverse, which runs several times as fast as a triangular solve.
#include "base/simd.h"
#include "solve/factor.h"

#define B TD_FACTOR_BLOCK

bool TD_ISA(td_factor_triangle)(int n, double *A, int stride, double *inverse)
{
    double L[B * B], X[B * B] = {0};
    for (int j = 0; j < n; j++)
        memcpy(L + j * B + j, A + (int64_t)j * stride + j, (size_t)(n - j) * sizeof *L);
    for (int j = 0; j < n; j++)
    {
        double *l = L + j * B;
        if (!(l[j] > 0)) // not a number too
            return false;
        double scale = 1 / sqrt(l[j]);
        l[j] *= scale;
        for (int i = j + 1; i < n; i++)
            l[i] *= scale;
        X[j * B + j] = scale;
        for (int c = j + 1; c < n; c++)
        {
            double *to = L + c * B, f = l[c];
            for (int i = c; i < n; i++)
                to[i] -= f * l[i];
        }
    }
    // L X = I by columns: X_ij = -X_ii sum_k L_ik X_kj, the sums gathered in X as each X_kj is known.
    for (int j = 0; j < n; j++)
    {
        double *x = X + j * B;
        for (int k = j; k < n; k++)
        {
            const double *l = L + k * B;
            double f = k == j ? x[k] : (x[k] *= -X[k * B + k]);
            for (int i = k + 1; i < n; i++)
                x[i] += f * l[i];
        }
    }
    for (int j = 0; j < n; j++)
    {
        memcpy(A + (int64_t)j * stride + j, L + j * B + j, (size_t)(n - j) * sizeof *L);
        memcpy(inverse + j * B, X + j * B, (size_t)n * sizeof *X);
    }
    return true;
}
