// SPDX-License-Identifier: Apache-2.0
// Evaluation of the polynomials of a reduced St. Venant-Kirchhoff body: see stvk.h.
#include "reduce/stvk.h"

#include "base/simd.h"

void TD_ISA(td_stvk_evaluate)(const tdStvk *stvk, const double *q, double *scratch, double *f, double *K, int stride,
                              double *energy);

// x = q_i q_j, twice where i < j: with it a sum over pairs is one over all i, j.
static void products(int r, int64_t rows, const double *q, double *x)
{
    double *to = x;
    for (int j = 0; j < r; j++, to += j)
    {
        double twice = 2 * q[j];
        for (int i = 0; i < j; i++)
            to[i] = twice * q[i];
        to[j] = q[j] * q[j];
    }
    for (; to < x + rows; to++)
        *to = 0;
}

// y = M x with the lower triangle of the symmetric M in tiles of 4 x 4: each is read once and used for its rows and
// for its columns.
static void multiply_symmetric(int64_t rows, const double *M, const double *x, double *y)
{
    memset(y, 0, (size_t)rows * sizeof *y);
    for (int64_t j = 0; j < rows; j += 4)
    {
        td4 x0 = td4_set(x[j]), x1 = td4_set(x[j + 1]), x2 = td4_set(x[j + 2]), x3 = td4_set(x[j + 3]);
        td4 sum[4] = {td4_set(0), td4_set(0), td4_set(0), td4_set(0)};
        td4 own = td4_load(M) * x0 + td4_load(M + 4) * x1 + td4_load(M + 8) * x2 + td4_load(M + 12) * x3;
        M += 16;
        for (int64_t i = j + 4; i < rows; i += 4, M += 16)
        {
            td4 m0 = td4_load(M), m1 = td4_load(M + 4), m2 = td4_load(M + 8), m3 = td4_load(M + 12),
                xi = td4_load(x + i);
            td4_store(y + i, td4_load(y + i) + (m0 * x0 + m1 * x1) + (m2 * x2 + m3 * x3));
            sum[0] += m0 * xi;
            sum[1] += m1 * xi;
            sum[2] += m2 * xi;
            sum[3] += m3 * xi;
        }
        td4_transpose(sum);
        td4_store(y + j, td4_load(y + j) + own + ((sum[0] + sum[1]) + (sum[2] + sum[3])));
    }
}

// y = M x for a matrix of few columns, stored four rows at a time.
static void multiply_tall(int64_t rows, int columns, const double *M, const double *x, double *y)
{
    for (int64_t i = 0; i < rows; i += 4)
    {
        td4 even = td4_set(0), odd = td4_set(0);
        int k = 0;
        for (; k + 1 < columns; k += 2, M += 8)
        {
            even += td4_load(M) * x[k];
            odd += td4_load(M + 4) * x[k + 1];
        }
        if (k < columns)
        {
            even += td4_load(M) * x[k];
            M += 4;
        }
        td4_store(y + i, even + odd);
    }
}

void TD_ISA(td_stvk_evaluate)(const tdStvk *stvk, const double *q, double *scratch, double *f, double *K, int stride,
                              double *energy)
{
    int r = stvk->r;
    int64_t rows = stvk->rows;
    double *x = scratch, *y2 = x + rows, *y3 = y2 + rows;
    const double *P = stvk->pair;
    products(r, rows, q, x);
    multiply_symmetric(rows, stvk->squared, x, y3);
    multiply_tall(rows, r, stvk->linear, q, y2);
    if (energy != NULL)
    {
        td4 sum = td4_set(0);
        for (int64_t i = 0; i < rows; i += 4)
            sum += td4_load(x + i) * (0.5 * td4_load(P + i) + (1.0 / 3) * td4_load(y2 + i) + 0.25 * td4_load(y3 + i));
        *energy = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    if (K != NULL)
        for (int64_t j = 0, at = 0; j < r; j++, at += j)
        {
            for (int64_t i = 0; i <= j; i++)
                K[j * stride + i] = P[at + i] + 2 * y2[at + i] + 3 * y3[at + i];
            for (int64_t i = 0; i < j; i++)
                K[i * stride + j] = K[j * stride + i];
        }
    if (f == NULL)
        return;
    for (int64_t i = 0; i < rows; i += 4)
        td4_store(y3 + i, td4_load(P + i) + td4_load(y2 + i) + td4_load(y3 + i));
    for (int64_t j = 0, at = 0; j < r; j++, at += j)
    {
        double sum = y3[at + j] * q[j], qj = q[j];
        for (int64_t i = 0; i < j; i++)
        {
            f[i] += y3[at + i] * qj;
            sum += y3[at + i] * q[i];
        }
        f[j] = sum;
    }
}
