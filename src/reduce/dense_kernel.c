// SPDX-License-Identifier: Apache-2.0
// Cholesky of the small dense matrix of a reduced body, by rows, four dot products at a time. Its own rather than
// LAPACK's: a step calls nothing that may allocate or lock. And motion of nodes from that of modes.
#include "base/simd.h"

#include <stdbool.h>

bool TD_ISA(td_dense_cholesky)(int n, int stride, const double *A, double *L);
void TD_ISA(td_dense_solve)(int n, int stride, const double *L, int count, int64_t step, double *x);
void TD_ISA(td_dense_expand)(int n, int stride, const double *basis, int32_t n_nodes, const int32_t *nodes,
                             const double *a, const double *b, double *x, double *y);

#define LEAST_PIVOT 1e-14 // of the diagonal entry: less is rounding

// Columns [j, j + 4) of row i, as far as the diagonal: what lies to the left of them, then the block itself. Rows
// beyond i are not read.
static bool factor_row(int i, int j, int stride, const double *A, double *L)
{
    const double *a = A + i * (int64_t)stride, *other[4];
    double *row = L + i * (int64_t)stride;
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
    return true;
}

// The same of rows [i, i + 4), all below the diagonal block: one row would wait for itself in each column.
static void factor_rows(int i, int j, int stride, const double *A, double *L)
{
    const double *top = L + j * (int64_t)stride;
    td4 x[4];
    for (int r = 0; r < 4; r++)
    {
        const double *row = L + (i + r) * (int64_t)stride;
        td4 sum[4] = {td4_set(0), td4_set(0), td4_set(0), td4_set(0)};
        for (int k = 0; k < j; k += 4)
            for (int l = 0; l < 4; l++)
                sum[l] += td4_load(row + k) * td4_load(top + l * (int64_t)stride + k);
        td4_transpose(sum);
        x[r] = td4_load(A + (i + r) * (int64_t)stride + j) - ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
    td4_transpose(x);
    for (int l = 0; l < 4; l++)
    {
        const double *other = top + l * (int64_t)stride + j;
        for (int k = 0; k < l; k++)
            x[l] -= x[k] * other[k];
        x[l] *= other[l];
    }
    td4_transpose(x);
    for (int r = 0; r < 4; r++)
        td4_store(L + (i + r) * (int64_t)stride + j, x[r]);
}

bool TD_ISA(td_dense_cholesky)(int n, int stride, const double *A, double *L)
{
    for (int j = 0; j < n; j += 4)
    {
        int i = j;
        for (; i < j + 4 && i < n; i++)
            if (!factor_row(i, j, stride, A, L))
                return false;
        for (; i + 4 <= n; i += 4)
            factor_rows(i, j, stride, A, L);
        for (; i < n; i++)
            factor_row(i, j, stride, A, L);
    }
    return true;
}

// Some right-hand sides at once, `step` apart: each waits for itself in every row.
static inline __attribute__((always_inline)) void solve_some(int n, int stride, const double *L, int64_t step,
                                                             double *x, const int count)
{
    for (int i = 0; i < n; i++)
    {
        const double *row = L + i * (int64_t)stride;
        td4 sum[4];
        int k = 0;
        for (int c = 0; c < count; c++)
            sum[c] = td4_set(0);
        for (; k + 4 <= i; k += 4)
            for (int c = 0; c < count; c++)
                sum[c] += td4_load(row + k) * td4_load(x + c * step + k);
        for (int c = 0; c < count; c++)
        {
            double *y = x + c * step, s = (sum[c][0] + sum[c][1]) + (sum[c][2] + sum[c][3]);
            for (int l = k; l < i; l++)
                s += row[l] * y[l];
            y[i] = (y[i] - s) * row[i];
        }
    }
    for (int i = n - 1; i >= 0; i--)
    {
        const double *row = L + i * (int64_t)stride;
        for (int c = 0; c < count; c++)
        {
            double *y = x + c * step, at = y[i] *= row[i];
            int k = 0;
            for (; k + 4 <= i; k += 4)
                td4_store(y + k, td4_load(y + k) - at * td4_load(row + k));
            for (; k < i; k++)
                y[k] -= at * row[k];
        }
    }
}

void TD_ISA(td_dense_solve)(int n, int stride, const double *L, int count, int64_t step, double *x)
{
    for (; count >= 4; count -= 4, x += 4 * step)
        solve_some(n, stride, L, step, x, 4);
    if (count == 3)
        solve_some(n, stride, L, step, x, 3);
    else if (count == 2)
        solve_some(n, stride, L, step, x, 2);
    else if (count == 1)
        solve_some(n, stride, L, step, x, 1);
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
