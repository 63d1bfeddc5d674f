// SPDX-License-Identifier: Apache-2.0
// Quadratic programs by an interior-point method (Mehrotra 1992), dense and plain: nothing of it is shared with
// src/solve/qp.c, which it is compared with.
//
//     min 1/2 |R x + q|²,   xl <= x <= xu,   cl <= C x <= cu
//
// Sides that are equal are equations; those that are infinite are none.
#pragma once
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define INTERIOR_N     40  // unknowns
#define INTERIOR_SIDES 160 // inequalities
#define INTERIOR_SIZE  (INTERIOR_N + 80)

typedef struct interiorWork
{
    double H[INTERIOR_N * INTERIOR_N], c[INTERIOR_N];
    double G[INTERIOR_SIDES * INTERIOR_N], g[INTERIOR_SIDES], z[INTERIOR_SIDES], s[INTERIOR_SIDES];
    double A[80 * INTERIOR_N], b[80], y[80];
    double K[INTERIOR_SIZE * INTERIOR_SIZE], r[INTERIOR_SIZE], dz[INTERIOR_SIDES], ds[INTERIOR_SIDES];
    int n, p, e;
} interiorWork;

static inline double interior_dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static inline void interior_side(interiorWork *w, const double *row, double sign, double bound)
{
    for (int j = 0; j < w->n; j++)
        w->G[w->p * w->n + j] = sign * row[j];
    w->g[w->p++] = sign * bound;
}

static inline void interior_row(interiorWork *w, const double *row, double low, double high)
{
    if (low == high)
    {
        memcpy(w->A + w->e * w->n, row, (size_t)w->n * sizeof *row);
        w->b[w->e++] = low;
        return;
    }
    if (low > -INFINITY)
        interior_side(w, row, 1, low);
    if (high < INFINITY)
        interior_side(w, row, -1, high);
}

// K x = r by elimination with pivots.
static inline bool interior_solve(double *K, double *r, int n)
{
    for (int k = 0; k < n; k++)
    {
        int at = k;
        for (int i = k + 1; i < n; i++)
            at = fabs(K[i * n + k]) > fabs(K[at * n + k]) ? i : at;
        if (!(fabs(K[at * n + k]) > 1e-300))
            return false;
        for (int j = 0; j < n && at != k; j++)
        {
            double swap = K[k * n + j];
            K[k * n + j] = K[at * n + j];
            K[at * n + j] = swap;
        }
        double swap = r[k];
        r[k] = r[at];
        r[at] = swap;
        for (int i = k + 1; i < n; i++)
        {
            double f = K[i * n + k] / K[k * n + k];
            for (int j = k; j < n && f != 0; j++)
                K[i * n + j] -= f * K[k * n + j];
            r[i] -= f * r[k];
        }
    }
    for (int k = n - 1; k >= 0; k--)
    {
        r[k] -= interior_dot(K + k * n + k + 1, r + k + 1, n - k - 1);
        r[k] /= K[k * n + k];
    }
    return true;
}

// One direction: dx and dy into w->r, ds and dz. `target` is what s z is to become.
static inline bool interior_direction(interiorWork *w, const double *x, double target, bool correct)
{
    int n = w->n, p = w->p, e = w->e, all = n + e;
    double extra[INTERIOR_SIDES];
    for (int i = 0; i < p; i++)
        extra[i] = target - w->s[i] * w->z[i] - (correct ? w->ds[i] * w->dz[i] : 0);
    memset(w->K, 0, (size_t)(all * all) * sizeof *w->K);
    for (int i = 0; i < n; i++)
    {
        for (int j = 0; j < n; j++)
            w->K[i * all + j] = w->H[i * n + j];
        w->r[i] = -w->c[i] - interior_dot(w->H + i * n, x, n);
    }
    for (int k = 0; k < e; k++)
    {
        for (int j = 0; j < n; j++)
        {
            w->K[j * all + n + k] = -w->A[k * n + j];
            w->K[(n + k) * all + j] = w->A[k * n + j];
            w->r[j] += w->A[k * n + j] * w->y[k];
        }
        w->K[(n + k) * all + n + k] = 1e-12; // equations that follow from others
        w->r[n + k] = w->b[k] - interior_dot(w->A + k * n, x, n);
    }
    for (int i = 0; i < p; i++)
    {
        const double *row = w->G + i * n;
        double d = w->z[i] / w->s[i], miss = interior_dot(row, x, n) - w->g[i] - w->s[i];
        for (int j = 0; j < n; j++)
        {
            w->r[j] += row[j] * (w->z[i] + extra[i] / w->s[i] - d * miss);
            for (int k = 0; k < n && row[j] != 0; k++)
                w->K[j * all + k] += d * row[j] * row[k];
        }
    }
    if (!interior_solve(w->K, w->r, all))
        return false;
    for (int i = 0; i < p; i++)
    {
        const double *row = w->G + i * n;
        w->ds[i] = interior_dot(row, w->r, n) + interior_dot(row, x, n) - w->g[i] - w->s[i];
        w->dz[i] = (extra[i] - w->z[i] * w->ds[i]) / w->s[i];
    }
    return true;
}

static inline double interior_length(const interiorWork *w)
{
    double most = 1;
    for (int i = 0; i < w->p; i++)
    {
        most = w->ds[i] < 0 ? fmin(most, -w->s[i] / w->ds[i]) : most;
        most = w->dz[i] < 0 ? fmin(most, -w->z[i] / w->dz[i]) : most;
    }
    return most;
}

/// False: no x meets the sides (or none was found). violation: of sides and equations at x.
static inline bool interior_squares(interiorWork *w, int n, int k, const double *R, const double *q, const double *xl,
                                    const double *xu, int m, const double *C, const double *cl, const double *cu,
                                    double *x)
{
    double unit[INTERIOR_N], scale = 0;
    w->n = n;
    w->p = w->e = 0;
    for (int i = 0; i < n; i++)
    {
        w->c[i] = 0;
        for (int l = 0; l < k; l++)
            w->c[i] += R[l * n + i] * q[l];
        for (int j = 0; j < n; j++)
        {
            double sum = i == j ? 1e-11 : 0; // of the many best x, one
            for (int l = 0; l < k; l++)
                sum += R[l * n + i] * R[l * n + j];
            w->H[i * n + j] = sum;
        }
    }
    for (int i = 0; i < n; i++)
    {
        memset(unit, 0, sizeof unit);
        unit[i] = 1;
        interior_row(w, unit, xl[i], xu[i]);
    }
    for (int i = 0; i < m; i++)
        interior_row(w, C + i * n, cl[i], cu[i]);
    for (int i = 0; i < n; i++)
        x[i] = isfinite(xl[i]) && isfinite(xu[i]) ? 0.5 * (xl[i] + xu[i]) : isfinite(xl[i]) ? fmax(xl[i], 0) : 0;
    for (int i = 0; i < w->p; i++)
    {
        w->s[i] = fmax(1, interior_dot(w->G + i * n, x, n) - w->g[i]);
        w->z[i] = 1;
        scale = fmax(scale, fabs(w->g[i]));
    }
    memset(w->y, 0, sizeof w->y);
    for (int round = 0; round < 80; round++)
    {
        double gap = w->p > 0 ? interior_dot(w->s, w->z, w->p) / w->p : 0, miss = 0;
        for (int i = 0; i < w->p; i++)
            miss = fmax(miss, w->g[i] - interior_dot(w->G + i * n, x, n));
        for (int i = 0; i < w->e; i++)
            miss = fmax(miss, fabs(interior_dot(w->A + i * n, x, n) - w->b[i]));
        if (gap < 1e-13 && round > 0)
            return miss < 1e-8 * (1 + scale);
        if (!interior_direction(w, x, 0, false))
            return false;
        double length = interior_length(w), after = 0;
        for (int i = 0; i < w->p; i++)
            after += (w->s[i] + length * w->ds[i]) * (w->z[i] + length * w->dz[i]) / w->p;
        double share = gap > 0 ? pow(after / gap, 3) : 0;
        if (w->p > 0 && !interior_direction(w, x, fmin(share, 1) * gap, true))
            return false;
        length = fmin(1, 0.995 * interior_length(w));
        for (int i = 0; i < n; i++)
            x[i] += length * w->r[i];
        for (int i = 0; i < w->e; i++)
            w->y[i] += length * w->r[n + i];
        for (int i = 0; i < w->p; i++)
        {
            w->s[i] += length * w->ds[i];
            w->z[i] += length * w->dz[i];
        }
        if (!isfinite(x[0]) || w->p == 0)
            return w->p == 0 && isfinite(x[0]);
    }
    return false;
}
