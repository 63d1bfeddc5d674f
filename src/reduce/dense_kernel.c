// SPDX-License-Identifier: Apache-2.0
// Cholesky of the small dense matrix of a reduced body, by rows, four dot products at a time. Its own rather than
// LAPACK's: a step calls nothing that may allocate or lock.
#include "base/simd.h"

#include <stdbool.h>

bool TD_ISA(td_dense_cholesky)(int n, int stride, const double *A, double *L);
void TD_ISA(td_dense_solve)(int n, int stride, const double *L, double *x);

#define LEAST_PIVOT 1e-14 // of the diagonal entry: less is rounding

bool TD_ISA(td_dense_cholesky)(int n, int stride, const double *A, double *L)
{
    for (int i = 0; i < n; i++)
    {
        const double *a = A + i * (int64_t)stride;
        double *row = L + i * (int64_t)stride;
        for (int j = 0; j <= i; j += 4)
        {
            // Four columns: what lies to the left of the block, then the block itself. Rows beyond i are not read.
            const double *other[4];
            for (int l = 0; l < 4; l++)
                other[l] = L + (j + l <= i ? j + l : i) * (int64_t)stride;
            td4 sum[4] = {td4_set(0), td4_set(0), td4_set(0), td4_set(0)};
            for (int k = 0; k < j; k += 4)
                for (int l = 0; l < 4; l++)
                    sum[l] += td4_load(row + k) * td4_load(other[l] + k);
            td4_transpose(sum);
            td4 dots = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            for (int l = 0; l < 4 && j + l <= i; l++)
            {
                double s = a[j + l] - dots[l];
                for (int k = j; k < j + l; k++)
                    s -= row[k] * other[l][k];
                if (j + l < i)
                    row[j + l] = s * other[l][j + l];
                else if (s > LEAST_PIVOT * a[i] && isfinite(s))
                    row[i] = 1 / sqrt(s);
                else
                    return false;
            }
        }
    }
    return true;
}

void TD_ISA(td_dense_solve)(int n, int stride, const double *L, double *x)
{
    for (int i = 0; i < n; i++)
    {
        const double *row = L + i * (int64_t)stride;
        td4 sum = td4_set(0);
        int k = 0;
        for (; k + 4 <= i; k += 4)
            sum += td4_load(row + k) * td4_load(x + k);
        double s = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        for (; k < i; k++)
            s += row[k] * x[k];
        x[i] = (x[i] - s) * row[i];
    }
    for (int i = n - 1; i >= 0; i--)
    {
        const double *row = L + i * (int64_t)stride;
        x[i] *= row[i];
        double xi = x[i];
        int k = 0;
        for (; k + 4 <= i; k += 4)
            td4_store(x + k, td4_load(x + k) - xi * td4_load(row + k));
        for (; k < i; k++)
            x[k] -= xi * row[k];
    }
}
