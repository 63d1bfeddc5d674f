// SPDX-License-Identifier: Apache-2.0
// Dense matrices of trees, by rows. Coordinates of a link come after those that carry it, and rows of links that do not
// carry each other are zero where they meet. Elimination from the last coordinate to the first keeps these zeros (R.
// Featherstone: LTL factorization) and passes over them. Rows are short: four numbers at a time, then two, then one.
#include "base/simd.h"
#include "body/articulated.h"

static inline double sum_of(td4 a)
{
    return (a[0] + a[1]) + (a[2] + a[3]);
}

static inline double dot_of(int64_t n, const double *a, const double *b)
{
    td4 sum = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        sum += td4_load(a + i) * td4_load(b + i);
    double rest = 0;
    if (n & 2)
    {
        rest = a[i] * b[i] + a[i + 1] * b[i + 1];
        i += 2;
    }
    if (n & 1)
        rest += a[i] * b[i];
    return sum_of(sum) + rest;
}

// y -= f a
static inline void subtract(int64_t n, double f, const double *a, double *y)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        td4_store(y + i, td4_load(y + i) - f * td4_load(a + i));
    if (n & 2)
    {
        y[i] -= f * a[i];
        y[i + 1] -= f * a[i + 1];
        i += 2;
    }
    if (n & 1)
        y[i] -= f * a[i];
}

// The same where three numbers behind the end of y may be lost.
static inline void subtract_over(int64_t n, double f, const double *a, double *y)
{
    for (int64_t i = 0; i < n; i += 4)
        td4_store(y + i, td4_load(y + i) - f * td4_load(a + i));
}

static double dot(int64_t n, const double *a, const double *b)
{
    return dot_of(n, a, b);
}

static void multiply(int64_t n, double factor, const double *A, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += factor * dot_of(n, A + i * n, x);
}

static double product(int64_t n, const double *M, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += dot_of(n, M + i * n, x) * x[i];
    return sum;
}

static bool cholesky(int n, const double *A, double *L)
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
            if (row[i] == 0)
                continue;
            else if (i + 4 < n) // what is right of the diagonal is never read
                subtract_over(i + 1, row[i], row, L + i * n);
            else
                subtract(i + 1, row[i], row, L + i * n);
    }
    return true;
}

static void solve(int n, const double *L, double *x)
{
    for (int64_t k = n - 1; k >= 0; k--)
    {
        const double *row = L + k * n;
        x[k] *= row[k];
        subtract(k, x[k], row, x);
    }
    for (int64_t k = 0; k < n; k++)
        x[k] = (x[k] - dot_of(k, L + k * n, x)) * L[k * n + k];
}

// What a drift solves (articulated_drift.c): with mean = (M0 + M1)/2 and turn = (M1 - M0)/2 + time G, G in B,
// w = [mean - (1 - late) turn] v and B = mean + late turn.
static void mix(int64_t n, double time, double late, const double *M0, const double *M1, const double *v, double *B,
                double *w)
{
    double early = 1 - late;
    for (int64_t i = 0; i < n; i++)
    {
        const double *m0 = M0 + i * n, *m1 = M1 + i * n;
        double *b = B + i * n, rest = 0;
        td4 sum = {0};
        int64_t j = 0;
        for (; j + 4 <= n; j += 4)
        {
            td4 a = td4_load(m0 + j), c = td4_load(m1 + j), mean = 0.5 * (a + c);
            td4 turn = 0.5 * (c - a) + time * td4_load(b + j);
            sum += (mean - early * turn) * td4_load(v + j);
            td4_store(b + j, mean + late * turn);
        }
        for (; j < n; j++)
        {
            double mean = 0.5 * (m0[j] + m1[j]), turn = 0.5 * (m1[j] - m0[j]) + time * b[j];
            rest += (mean - early * turn) * v[j];
            b[j] = mean + late * turn;
        }
        w[i] = sum_of(sum) + rest;
    }
}

static bool unravel(int n, double *B, double *x)
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
            if (k + 3 < n) // columns from k on are done with
                subtract_over(k, f, row, other);
            else
                subtract(k, f, row, other);
            x[i] -= f * x[k];
        }
    }
    for (int64_t k = 0; k < n; k++)
        x[k] = (x[k] - dot_of(k, B + k * n, x)) / B[k * n + k];
    return true;
}

static bool eliminate(int n, double *B, double *x)
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

const tdSmallKernel TD_ISA(td_small_kernel) = {dot, multiply, product, cholesky, solve, mix, unravel, eliminate};
