// SPDX-License-Identifier: Apache-2.0
// Small dense factorizations by Householder reflections, matrices stored by columns: for sizes where a call to LAPACK
// costs more than the work. A reflection is I - tau v v' with v[0] = 1; v[1...] is kept below the factor's diagonal.
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/// Makes a = (a0, ..., a_n-1) into (beta, v1, ..., v_n-1); returns tau, 0 where nothing needs reflecting.
static inline double td_house(double *a, int n)
{
    double tail = 0;
    for (int i = 1; i < n; i++)
        tail += a[i] * a[i];
    if (tail == 0)
        return 0;
    double norm = sqrt(a[0] * a[0] + tail), beta = a[0] > 0 ? -norm : norm, v0 = a[0] - beta;
    for (int i = 1; i < n; i++)
        a[i] /= v0;
    double tau = (beta - a[0]) / beta;
    a[0] = beta;
    return tau;
}

/// Applies the reflection kept in v (v[0] stands for 1) to a.
static inline void td_house_apply(const double *v, double tau, int n, double *a)
{
    if (tau == 0)
        return;
    double w = a[0];
    for (int i = 1; i < n; i++)
        w += v[i] * a[i];
    w *= tau;
    a[0] -= w;
    for (int i = 1; i < n; i++)
        a[i] -= w * v[i];
}

static inline double td_norm(const double *a, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * a[i];
    return sqrt(s);
}

static inline double td_dot(const double *a, const double *b, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

static inline double td_largest(const double *a, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s = fmax(s, fabs(a[i]));
    return s;
}

static inline bool td_all_finite(const double *a, size_t n)
{
    double sum = 0; // of zeros, unless there is an infinity or a NaN
    for (size_t i = 0; i < n; i++)
        sum += 0 * a[i];
    return sum == 0;
}

/// The power of two nearest below a > 0: scaling by it rounds nothing.
static inline double td_power_of_two(double a)
{
    int exponent;
    frexp(a, &exponent);
    return ldexp(1, exponent - 1);
}

/// Q R of the rows x columns matrix A with the largest remaining column first; column j of the factor is column
/// order[j] of A, and order may permute. Stops where no remaining column is longer than `tolerance`; returns the rank.
int td_pivoted_qr(double *A, int rows, int columns, int stride, double *tau, int *order, double tolerance);

/// H = R'R of the n x n symmetric positive semi-definite H whose diagonal is near 1 or 0: row i of R at R + i n, in the
/// order of H's columns. Stops where no pivot is above `tolerance`; returns the rank. `left` is scratch of n.
int td_pivoted_cholesky(const double *H, int n, double *R, double *left, double tolerance);
