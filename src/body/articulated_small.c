// SPDX-License-Identifier: Apache-2.0
// Dense matrices of trees, by rows. Coordinates of a link come after those that carry it, and rows of links that do not
// carry each other are zero where they meet. Elimination from the last coordinate to the first keeps these zeros (R.
// Featherstone: LTL factorization) and passes over them.
#include "body/articulated.h"

#include <math.h>
#include <string.h>

double td_small_dot(int64_t n, const double *a, const double *b)
{
    double sum[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) // four chains of additions, of which none waits for another
        for (int k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double td_small_product(int64_t n, const double *M, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += td_small_dot(n, M + i * n, x) * x[i];
    return sum;
}

bool td_small_cholesky(int n, const double *A, double *L)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(L + i * n, A + i * n, (size_t)(i + 1) * sizeof *L);
    for (int64_t k = n - 1; k >= 0; k--)
    {
        double *row = L + k * n, pivot = row[k];
        if (!(pivot > 1e-14 * fabs(A[k * n + k])) || !isfinite(pivot))
            return false;
        row[k] = 1 / sqrt(pivot);
        for (int64_t j = 0; j < k; j++)
            row[j] *= row[k];
        for (int64_t i = 0; i < k; i++)
        {
            double *other = L + i * n, f = row[i];
            if (f == 0)
                continue;
            for (int64_t j = 0; j <= i; j++)
                other[j] -= f * row[j];
        }
    }
    return true;
}

void td_small_solve(int n, const double *L, double *x)
{
    for (int64_t k = n - 1; k >= 0; k--)
    {
        const double *row = L + k * n;
        double f = x[k] *= row[k];
        for (int64_t j = 0; j < k; j++)
            x[j] -= f * row[j];
    }
    for (int64_t k = 0; k < n; k++)
        x[k] = (x[k] - td_small_dot(k, L + k * n, x)) * L[k * n + k];
}

bool td_small_unravel(int n, double *B, double *x)
{
    for (int64_t k = n - 1; k >= 0; k--)
    {
        const double *row = B + k * n;
        if (!(row[k] > 0) || !isfinite(row[k]))
            return false;
        double scale = 1 / row[k];
        for (int64_t i = 0; i < k; i++)
        {
            double *other = B + i * n, f = other[k] * scale;
            if (f == 0)
                continue;
            for (int64_t j = 0; j < k; j++)
                other[j] -= f * row[j];
            x[i] -= f * x[k];
        }
    }
    for (int64_t k = 0; k < n; k++)
        x[k] = (x[k] - td_small_dot(k, B + k * n, x)) / B[k * n + k];
    return true;
}

bool td_small_eliminate(int n, double *B, double *x)
{
    for (int k = 0; k < n; k++)
    {
        int64_t p = k;
        for (int64_t i = k + 1; i < n; i++)
            p = fabs(B[i * n + k]) > fabs(B[p * n + k]) ? i : p;
        if (!(fabs(B[p * n + k]) > 0))
            return false;
        for (int64_t j = k; j < n && p != k; j++)
        {
            double kept = B[k * (int64_t)n + j];
            B[k * (int64_t)n + j] = B[p * n + j];
            B[p * n + j] = kept;
        }
        double kept = x[k];
        x[k] = x[p];
        x[p] = kept;
        for (int64_t i = k + 1; i < n; i++)
        {
            double factor = B[i * n + k] / B[k * (int64_t)n + k];
            for (int64_t j = k + 1; j < n && factor != 0; j++)
                B[i * n + j] -= factor * B[k * (int64_t)n + j];
            x[i] -= factor * x[k];
        }
    }
    for (int64_t i = n - 1; i >= 0; i--)
    {
        for (int64_t j = i + 1; j < n; j++)
            x[i] -= B[i * n + j] * x[j];
        x[i] /= B[i * n + i];
    }
    return true;
}
