// SPDX-License-Identifier: Apache-2.0
// Elimination by rows, four columns at a time: see lu.h.
#include "base/simd.h"
#include "solve/lu.h"

#define INLINE  static inline __attribute__((always_inline))
#define COLUMNS TD_LU_LANES // that are eliminated together
#define MOST    4           // vectors of right-hand sides at once

static void exchange(double *a, double *b, int stride)
{
    for (int j = 0; j < stride; j += TD_LANES)
    {
        td4 x = td4_load(a + j), y = td4_load(b + j);
        td4_store(a + j, y);
        td4_store(b + j, x);
    }
}

// Columns [first, first + n) below and on the diagonal; rows are exchanged as a whole.
static bool eliminate(int m, int first, int n, double *A, int *pivots)
{
    int stride = td_lu_stride(m);
    for (int k = first; k < first + n; k++)
    {
        int pivot = k;
        double most = fabs(A[k * stride + k]);
        for (int i = k + 1; i < m; i++)
        {
            double size = fabs(A[i * stride + k]);
            pivot = size > most ? i : pivot;
            most = size > most ? size : most;
        }
        pivots[k] = pivot;
        if (!(most > 0) || !isfinite(most))
            return false;
        double *row = A + k * stride;
        if (pivot != k)
            exchange(row, A + pivot * stride, stride);
        double inverse = 1 / row[k];
        for (int i = k + 1; i < m; i++)
        {
            double *to = A + i * stride, factor = to[k] * inverse;
            to[k] = factor;
            for (int j = k + 1; j < first + n; j++)
                to[j] -= factor * row[j];
        }
    }
    return true;
}

// n rows from `to` on: minus their first COLUMNS numbers from `at` on times the rows that were eliminated, behind
// these.
INLINE void subtract_rows(int n, int at, int stride, const double *from, double *to)
{
    td4 factor[2][COLUMNS];
    for (int i = 0; i < n; i++)
        for (int c = 0; c < COLUMNS; c++)
            factor[i][c] = td4_set(to[i * stride + at + c]);
    for (int j = at + COLUMNS; j < stride; j += TD_LANES)
    {
        td4 sum[2];
        for (int i = 0; i < n; i++)
            sum[i] = td4_load(to + i * stride + j);
        for (int c = 0; c < COLUMNS; c++)
        {
            td4 row = td4_load(from + c * stride + j);
            for (int i = 0; i < n; i++)
                sum[i] -= factor[i][c] * row;
        }
        for (int i = 0; i < n; i++)
            td4_store(to + i * stride + j, sum[i]);
    }
}

bool TD_ISA(td_lu_factor)(int m, double *A, int *pivots)
{
    int stride = td_lu_stride(m);
    for (int k = 0; k < m; k += COLUMNS)
    {
        int n = m - k < COLUMNS ? m - k : COLUMNS;
        if (!eliminate(m, k, n, A, pivots))
            return false;
        double *rows = A + k * stride;
        for (int r = 1; r < n; r++)
            for (int c = 0; c < r; c++)
                for (int j = k + COLUMNS; j < stride; j += TD_LANES)
                    td4_store(rows + r * stride + j,
                              td4_load(rows + r * stride + j) -
                                  td4_set(rows[r * stride + k + c]) * td4_load(rows + c * stride + j));
        int i = k + n;
        for (; i + 2 <= m; i += 2)
            subtract_rows(2, k, stride, rows, A + i * stride);
        if (i < m)
            subtract_rows(1, k, stride, rows, A + i * stride);
    }
    return true;
}

// The first vectors of each row of B.
INLINE void solve_vectors(int m, const double *A, int vectors, int stride_b, double *B)
{
    int stride = td_lu_stride(m);
    for (int i = 1; i < m; i++)
    {
        td4 sum[MOST];
        for (int v = 0; v < vectors; v++)
            sum[v] = td4_load(B + i * stride_b + TD_LANES * v);
        for (int k = 0; k < i; k++)
            for (int v = 0; v < vectors; v++)
                sum[v] -= A[i * stride + k] * td4_load(B + k * stride_b + TD_LANES * v);
        for (int v = 0; v < vectors; v++)
            td4_store(B + i * stride_b + TD_LANES * v, sum[v]);
    }
    for (int i = m - 1; i >= 0; i--)
    {
        td4 sum[MOST];
        double inverse = 1 / A[i * stride + i];
        for (int v = 0; v < vectors; v++)
            sum[v] = td4_load(B + i * stride_b + TD_LANES * v);
        for (int k = i + 1; k < m; k++)
            for (int v = 0; v < vectors; v++)
                sum[v] -= A[i * stride + k] * td4_load(B + k * stride_b + TD_LANES * v);
        for (int v = 0; v < vectors; v++)
            td4_store(B + i * stride_b + TD_LANES * v, sum[v] * inverse);
    }
}

// a . b
INLINE double dot(int n, const double *a, const double *b)
{
    td4 sum = {0}, other = {0};
    int k = 0;
    for (; k + 2 * TD_LANES <= n; k += 2 * TD_LANES)
    {
        sum += td4_load(a + k) * td4_load(b + k);
        other += td4_load(a + k + TD_LANES) * td4_load(b + k + TD_LANES);
    }
    sum += other;
    double all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (; k < n; k++)
        all += a[k] * b[k];
    return all;
}

static void solve_one(int m, const double *A, double *b)
{
    int stride = td_lu_stride(m);
    for (int i = 1; i < m; i++)
        b[i] -= dot(i, A + i * stride, b);
    for (int i = m - 1; i >= 0; i--)
        b[i] = (b[i] - dot(m - 1 - i, A + i * stride + i + 1, b + i + 1)) / A[i * stride + i];
}

void TD_ISA(td_lu_solve)(int m, const double *A, int n, double *B)
{
    int stride = td_lu_stride(n), vectors = stride / TD_LANES;
    if (n == 1)
    {
        solve_one(m, A, B);
        return;
    }
    for (int v = 0; v < vectors; v += MOST)
        switch (vectors - v)
        {
        case 1: solve_vectors(m, A, 1, stride, B + TD_LANES * v); break;
        case 2: solve_vectors(m, A, 2, stride, B + TD_LANES * v); break;
        case 3: solve_vectors(m, A, 3, stride, B + TD_LANES * v); break;
        default: solve_vectors(m, A, MOST, stride, B + TD_LANES * v);
        }
}
