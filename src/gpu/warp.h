// SPDX-License-Identifier: Apache-2.0
// Symmetric matrices by a warp, in double precision, on the matrix units: the lower triangle in blocks of 8 x 8, of
// which lane 4 g + t holds the numbers (g, 2 t) and (g, 2 t + 1), as products of the matrix units leave them. There is
// room for up to 8 N - 1 rows; the last one takes a right-hand side, so that it is solved for as the matrix is
// factored. What is beyond n is one on the diagonal, else zero.
//
// A product takes its factors with one number a lane, (g, 4 s + t) of steps s = 0, 1: a block comes from one form to
// the other by way of `room`.
#pragma once
#include "gpu/robot.h"

#define TD_WARP_FEW      4 // blocks in a row, of up to 31 coordinates
#define TD_WARP_MANY     7 // of up to 55
#define TD_WARP_ROWS(n)  ((n) < 8 * TD_WARP_FEW ? TD_WARP_FEW : TD_WARP_MANY)
#define TD_WARP_PAIRS(N) ((N) * ((N) + 1) / 2)

#define TD_WHOLE(n)             (8 * TD_WARP_ROWS(n))
#define TD_MATRIX(n)            (64 * TD_WARP_PAIRS(TD_WARP_ROWS(n)))
#define TD_MATRIX_ROOM(n)       (64 * TD_WARP_ROWS(n)) // an inertia of a frame has room there too
#define TD_MATRIX_COLUMNS(plan) (TD_WARP_FRAME * (int64_t)((plan)->frame != 0 ? (plan)->touches : 0))
#define TD_WARP_FRAME           24 // numbers of a contact there: 3 rows over the frame's coordinates, each filled up to 8

/// The same sizes, of the lanes' shape, which is a constant of a kernel.
TD_BOTH int td_matrix_whole(int n, tdLanes lanes)
{
    (void)n;
    return 8 * lanes.shape;
}

TD_BOTH int td_matrix_size(int n, tdLanes lanes)
{
    (void)n;
    return 64 * TD_WARP_PAIRS(lanes.shape);
}

TD_BOTH int td_matrix_room(int n, tdLanes lanes)
{
    (void)n;
    return 64 * lanes.shape;
}

#if defined(__CUDACC__)
#define TD_FROM(x, lane) td_warp_from(x, lane)
TD_BOTH double td_warp_from(double x, int lane)
{
#if defined(__CUDA_ARCH__)
    return __shfl_sync(~0u, x, lane);
#else
    return lane == 0 ? x : NAN; // no warp: never called
#endif
}

/// c += a b, 8 x 4 times 4 x 8.
TD_BOTH void td_warp_product(double *c, double a, double b)
{
#if defined(__CUDA_ARCH__)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
#else
    c[0] += a * b;
#endif
}

TD_BOTH double td_warp_inverse_root(double x)
{
#if defined(__CUDA_ARCH__)
    return rsqrt(x);
#else
    return 1 / sqrt(x);
#endif
}
#endif

TD_BOTH int td_warp_block(int i, int j)
{
    return i * (i + 1) / 2 + j;
}

/// Row and column of number t of a matrix.
TD_BOTH void td_matrix_place(int t, int *row, int *column)
{
    int block = t / 64, i = 0;
    while (td_warp_block(i + 1, 0) <= block)
        i++;
    *row = 8 * i + t % 64 / 8;
    *column = 8 * (block - td_warp_block(i, 0)) + t % 8;
}

/// Number (i, i) of a matrix.
TD_BOTH double td_matrix_diagonal(const double *A, int i)
{
    return A[64 * td_warp_block(i / 8, i / 8) + 9 * (i % 8)];
}

/// The sum over lanes of one t, or of one g.
TD_BOTH double td_warp_along(tdLanes lanes, double x)
{
    x += td_lanes_across(lanes, x, 1);
    return x + td_lanes_across(lanes, x, 2);
}

TD_BOTH double td_warp_down(tdLanes lanes, double x)
{
    x += td_lanes_across(lanes, x, 4);
    x += td_lanes_across(lanes, x, 8);
    return x + td_lanes_across(lanes, x, 16);
}

/// Of eight numbers, two of each t in x0 and x1, the one of the lane's g.
TD_BOTH double td_warp_own(tdLanes lanes, double x0, double x1)
{
    int from = lanes.lane >> 3; // the lane with t = g / 2
    double even = TD_FROM(x0, from), odd = TD_FROM(x1, from);
    return (lanes.lane >> 2 & 1) != 0 ? odd : even;
}

/// y = A x of N blocks, whole lengths.
TD_BOTH void td_warp_times(int N, const double *A, const double *x, tdLanes lanes, double *y)
{
    const int g = lanes.lane >> 2, t = lanes.lane & 3;
    TD_SYNC(lanes);
    TD_UNROLL
    for (int i = 0; i < N; i++)
    {
        double sum = 0;
        TD_UNROLL
        for (int j = 0; j < N; j++)
        {
            const double *block = A + 64 * (j <= i ? td_warp_block(i, j) : td_warp_block(j, i)), *z = x + 8 * j;
            sum += j <= i ? block[8 * g + t] * z[t] + block[8 * g + t + 4] * z[t + 4]
                          : block[8 * t + g] * z[t] + block[8 * t + 32 + g] * z[t + 4];
        }
        sum = td_warp_along(lanes, sum);
        if (t == 0)
            y[8 * i + g] = sum;
    }
    TD_SYNC(lanes);
}

// ---------------------------------------------------------------- factor

/// L of a block on the diagonal, of which the first columns are there, and its inverse m. False: not definite.
TD_BOTH bool td_warp_diagonal(tdLanes lanes, int columns, double *c, double *m)
{
    const int g = lanes.lane >> 2, t = lanes.lane & 3;
    bool good = true;
    m[0] = g == 2 * t;
    m[1] = g == 2 * t + 1;
    TD_ROLL
    for (int k = 0; k < columns; k++)
    {
        const int from = k >> 1;
        double column = (k & 1) != 0 ? c[1] : c[0], d = TD_FROM(column, 4 * k + from);
        good = good && d > 0;
        double inverse = td_warp_inverse_root(d > 0 ? d : 1), own = TD_FROM(column, 4 * g + from) * inverse,
               left = TD_FROM(column, 8 * t + from) * inverse, right = TD_FROM(column, 8 * t + 4 + from) * inverse,
               m0 = TD_FROM(m[0], 4 * k + t) * inverse, m1 = TD_FROM(m[1], 4 * k + t) * inverse;
        c[0] = 2 * t > k ? c[0] - own * left : 2 * t == k ? own : c[0];
        c[1] = 2 * t + 1 > k ? c[1] - own * right : 2 * t + 1 == k ? own : c[1];
        m[0] = g > k ? m[0] - own * m0 : g == k ? m0 : m[0];
        m[1] = g > k ? m[1] - own * m1 : g == k ? m1 : m[1];
    }
    return good;
}

/// A block as products leave it to `room`, and back as a factor of products: of itself, or turned over.
TD_BOTH void td_warp_put(tdLanes lanes, const double *c, double *room)
{
    room[2 * lanes.lane] = c[0];
    room[2 * lanes.lane + 1] = c[1];
}

TD_BOTH void td_warp_take(tdLanes lanes, const double *room, double *a)
{
    const int g = lanes.lane >> 2, t = lanes.lane & 3;
    a[0] = room[8 * g + t];
    a[1] = room[8 * g + t + 4];
}

TD_BOTH void td_warp_take_over(tdLanes lanes, const double *room, double *a)
{
    const int g = lanes.lane >> 2, t = lanes.lane & 3;
    a[0] = room[8 * t + g];
    a[1] = room[8 * t + 32 + g];
}

/// The right-hand side b times `sign` into the last row.
TD_BOTH void td_warp_behind(int N, tdLanes lanes, const double *b, double sign, double (*L)[2])
{
    const int g = lanes.lane >> 2, t = lanes.lane & 3;
    TD_UNROLL
    for (int j = 0; j < N; j++)
    {
        double x0 = sign * b[8 * j + 2 * t], x1 = j == N - 1 && t == 3 ? 1 : sign * b[8 * j + 2 * t + 1];
        double *c = L[td_warp_block(N - 1, j)];
        c[0] = g == 7 ? x0 : c[0];
        c[1] = g == 7 ? x1 : c[1];
    }
}

/// The factor in the place of a matrix, with the inverses M of its blocks on the diagonal. False: not definite.
TD_BOTH bool td_warp_factor(int N, tdLanes lanes, double *room, double (*L)[2], double (*M)[2])
{
    const int g = lanes.lane >> 2;
    bool good = true;
    TD_SYNC(lanes);
    TD_UNROLL
    for (int k = 0; k < N; k++)
    {
        double m[2], l[TD_WARP_MANY][2];
        good = td_warp_diagonal(lanes, k < N - 1 ? 8 : 7, L[td_warp_block(k, k)], M[k]) && good;
        if (k == N - 1)
        {
            M[k][0] = g == 7 ? 0 : M[k][0];
            M[k][1] = g == 7 ? 0 : M[k][1];
            continue;
        }
        td_warp_put(lanes, M[k], room);
        TD_UNROLL
        for (int i = k + 1; i < N; i++)
            td_warp_put(lanes, L[td_warp_block(i, k)], room + 64 * i);
        TD_SYNC(lanes);
        td_warp_take(lanes, room, m);
        TD_UNROLL
        for (int i = k + 1; i < N; i++)
            td_warp_take(lanes, room + 64 * i, l[i]);
        TD_SYNC(lanes);
        TD_UNROLL
        for (int i = k + 1; i < N; i++)
        {
            double *c = L[td_warp_block(i, k)];
            c[0] = c[1] = 0;
            td_warp_product(c, l[i][0], m[0]);
            td_warp_product(c, l[i][1], m[1]);
            td_warp_put(lanes, c, room + 64 * i);
        }
        TD_SYNC(lanes);
        TD_UNROLL
        for (int i = k + 1; i < N; i++)
        {
            td_warp_take(lanes, room + 64 * i, l[i]);
            TD_UNROLL
            for (int j = k + 1; j <= i; j++)
            {
                td_warp_product(L[td_warp_block(i, j)], -l[i][0], l[j][0]);
                td_warp_product(L[td_warp_block(i, j)], -l[i][1], l[j][1]);
            }
        }
        TD_SYNC(lanes);
    }
    return good;
}

/// x = L^-T times what the last row has become.
TD_BOTH void td_warp_back(int N, tdLanes lanes, double (*L)[2], double (*M)[2], double *x)
{
    const int g = lanes.lane >> 2, t = lanes.lane & 3;
    double own[TD_WARP_MANY]; // numbers g of x; minus one for the row of the right-hand side
    TD_UNROLL
    for (int k = N - 1; k >= 0; k--)
    {
        const double *last = L[td_warp_block(N - 1, N - 1)];
        double s0 = k == N - 1 && g == 7 ? -last[0] : 0, s1 = k == N - 1 && g == 7 ? -last[1] : 0;
        TD_UNROLL
        for (int i = k + 1; i < N; i++)
        {
            s0 += L[td_warp_block(i, k)][0] * own[i];
            s1 += L[td_warp_block(i, k)][1] * own[i];
        }
        double mine = td_warp_own(lanes, td_warp_down(lanes, s0), td_warp_down(lanes, s1));
        double x0 = -td_warp_down(lanes, M[k][0] * mine), x1 = -td_warp_down(lanes, M[k][1] * mine);
        own[k] = td_warp_own(lanes, x0, x1);
        own[k] = k == N - 1 && g == 7 ? -1 : own[k];
        if (g == 0)
        {
            x[8 * k + 2 * t] = x0;
            x[8 * k + 2 * t + 1] = x1;
        }
    }
    TD_SYNC(lanes);
}

/// Z = L^-1, as a factor of products.
TD_BOTH void td_warp_inverse(int N, tdLanes lanes, double *room, double (*L)[2], double (*M)[2], double (*Z)[2])
{
    TD_SYNC(lanes);
    TD_UNROLL
    for (int i = 0; i < N; i++)
    {
        td_warp_put(lanes, M[i], room);
        TD_SYNC(lanes);
        td_warp_take(lanes, room, Z[td_warp_block(i, i)]);
        TD_SYNC(lanes);
        TD_UNROLL
        for (int j = i - 1; j >= 0; j--)
        {
            double c[2] = {0, 0}, over[2];
            TD_UNROLL
            for (int k = j + 1; k <= i; k++)
            {
                td_warp_put(lanes, L[td_warp_block(k, j)], room);
                TD_SYNC(lanes);
                td_warp_take_over(lanes, room, over);
                TD_SYNC(lanes);
                td_warp_product(c, Z[td_warp_block(i, k)][0], over[0]);
                td_warp_product(c, Z[td_warp_block(i, k)][1], over[1]);
            }
            double a[2], z[2] = {0, 0};
            td_warp_put(lanes, c, room);
            td_warp_put(lanes, M[j], room + 64);
            TD_SYNC(lanes);
            td_warp_take(lanes, room, a);
            td_warp_take_over(lanes, room + 64, over);
            TD_SYNC(lanes);
            td_warp_product(z, -a[0], over[0]);
            td_warp_product(z, -a[1], over[1]);
            td_warp_put(lanes, z, room);
            TD_SYNC(lanes);
            td_warp_take(lanes, room, Z[td_warp_block(i, j)]);
            TD_SYNC(lanes);
        }
    }
}

/// y = A x.
TD_BOTH void td_matrix_times(int n, const double *A, const double *x, tdLanes lanes, double *y)
{
    (void)n;
    if (lanes.shape == TD_WARP_FEW)
        td_warp_times(TD_WARP_FEW, A, x, lanes, y);
    else
        td_warp_times(TD_WARP_MANY, A, x, lanes, y);
}
