// SPDX-License-Identifier: Apache-2.0
// Cholesky of the small dense matrix of a reduced body, by rows, four dot products at a time. Its own rather than
// LAPACK's: a step calls nothing that may allocate or lock. And motion of nodes from that of modes.
#include "base/simd.h"

#include <stdbool.h>

bool TD_ISA(td_dense_cholesky)(int n, int stride, const double *A, double *L);
void TD_ISA(td_dense_solve)(int n, int stride, const double *L, double *x);
void TD_ISA(td_dense_expand)(int n, int stride, const double *basis, int32_t n_nodes, const int32_t *nodes,
                             const double *a, const double *b, double *x, double *y);

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

void TD_ISA(td_dense_expand)(int n, int stride, const double *basis, int32_t n_nodes, const int32_t *nodes,
                             const double *a, const double *b, double *x, double *y)
{
    for (int32_t i = 0; i < n_nodes; i++)
    {
        int64_t at = 3 * (int64_t)nodes[i];
        const double *row = basis + at * stride;
        td4 of_a[3] = {td4_set(0), td4_set(0), td4_set(0)}, of_b[3] = {td4_set(0), td4_set(0), td4_set(0)};
        int k = 0;
        for (; k + 4 <= n; k += 4)
            for (int c = 0; c < 3; c++)
            {
                td4 column = td4_load(row + c * (int64_t)stride + k);
                of_a[c] += column * td4_load(a + k);
                of_b[c] += column * td4_load(b + k);
            }
        for (int c = 0; c < 3; c++)
        {
            double sum_a = (of_a[c][0] + of_a[c][1]) + (of_a[c][2] + of_a[c][3]);
            double sum_b = (of_b[c][0] + of_b[c][1]) + (of_b[c][2] + of_b[c][3]);
            for (int l = k; l < n; l++)
            {
                sum_a += row[c * (int64_t)stride + l] * a[l];
                sum_b += row[c * (int64_t)stride + l] * b[l];
            }
            x[at + c] = sum_a;
            y[at + c] = sum_b;
        }
    }
}
