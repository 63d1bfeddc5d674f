// SPDX-License-Identifier: Apache-2.0
// Corotational laws on few modes: four points at a time from B to the matrix. Included only by reduced_kernel.c.
//
// B stands by point batch, mode, component, point here, so that each number of a mode is a register of four points:
// gradients need no sums across registers, R : B and Q_k : B are made for all four points at once, and no column is
// there only to fill a register. B is read from memory once; forces are added up on the same way. Rows S and T of a
// piece stand by mode, so that
//
//     K_ij += sum_k S_ik T_jk        k: point batches of the piece x 4 rows x 4 points
//
// has registers of four k. Their sums stay as they are from piece to piece, and are added across at the end.
//
// In single precision the same goes for pairs of point batches, eight points. What is added across is no more than 128
// numbers, in double precision; forces are in double precision always.
#pragma once
#include "base/simd.h"
#include "reduce/reduced_body.h"

#define LANES_PIECE 4 // point batches; in single precision pairs of them

// Rows of the products of modes: four at a time, or eight; in single precision eight or sixteen.
#if defined(TD_WIDE)
typedef td8 tdLong;
typedef td16f tdLongSingle;
#else
typedef td4 tdLong;
typedef td8f tdLongSingle;
#endif
#define LONG        ((int)(sizeof(tdLong) / sizeof(double)))
#define LONG_SINGLE ((int)(sizeof(tdLongSingle) / sizeof(float)))

static inline __attribute__((always_inline)) tdLong long_load(const double *p)
{
    tdLong a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline __attribute__((always_inline)) tdLongSingle long_load_single(const float *p)
{
    tdLongSingle a;
    memcpy(&a, p, sizeof a);
    return a;
}
#define LANES_ROWS (16 * LANES_PIECE)

// F = F0 + B q
static inline __attribute__((always_inline)) void affine_lanes(const double *B, const double *F0, const double *q,
                                                               int n, td4 F[9])
{
    td4 sum[9];
    memset(sum, 0, sizeof sum);
    for (int j = 0; j < n; j++, B += 36)
    {
        td4 x = td4_set(q[j]);
        for (int c = 0; c < 9; c++)
            sum[c] += td4_load(B + 4 * c) * x;
    }
    for (int c = 0; c < 9; c++)
        F[c] = td4_load(F0 + 4 * c) + sum[c];
}

// Rows R : B and Q_k : B of a point batch into S, and (along, H) times them into T; f += p : B.
static void spin_lanes(const double *B, int n, const td4 R[9], td4 along, const td4 H[9], const double *p, double *f,
                       double *S, double *T)
{
    for (int j = 0; j < n; j++, B += 36, f += 4, S += LANES_ROWS, T += LANES_ROWS)
    {
        td4 s = td4_set(0), q0 = s, q1 = s, q2 = s, force = td4_load(f);
        for (int i = 0; i < 36; i += 8)
            __builtin_prefetch(B + 36 * (int64_t)n + i);
        for (int i = 0; i < 3; i++)
        {
            td4 b0 = td4_load(B + 12 * i), b1 = td4_load(B + 12 * i + 4), b2 = td4_load(B + 12 * i + 8);
            td4 r0 = R[3 * i], r1 = R[3 * i + 1], r2 = R[3 * i + 2];
            s += r0 * b0 + r1 * b1 + r2 * b2;
            q0 += r2 * b1 - r1 * b2;
            q1 += r0 * b2 - r2 * b0;
            q2 += r1 * b0 - r0 * b1;
            force += td4_load(p + 12 * i) * b0 + td4_load(p + 12 * i + 4) * b1 + td4_load(p + 12 * i + 8) * b2;
        }
        td4_store(f, force);
        td4_store(S, s);
        td4_store(S + 4, q0);
        td4_store(S + 8, q1);
        td4_store(S + 12, q2);
        td4_store(T, along * s);
        td4_store(T + 4, H[0] * q0 + H[1] * q1 + H[2] * q2);
        td4_store(T + 8, H[3] * q0 + H[4] * q1 + H[5] * q2);
        td4_store(T + 12, H[6] * q0 + H[7] * q1 + H[8] * q2);
    }
}

// Sums of `rows` modes with four others: sum[4 a + b] of modes a and b.
static inline __attribute__((always_inline)) void lanes_tile(int k, const double *S, const double *T, double *sums,
                                                             const int rows)
{
    tdLong sum[12];
    for (int a = 0; a < 4 * rows; a++)
        sum[a] = long_load(sums + LONG * a);
    for (int i = 0; i < k; i += LONG)
    {
        tdLong t[4];
        for (int b = 0; b < 4; b++)
            t[b] = long_load(T + b * LANES_ROWS + i);
        for (int a = 0; a < rows; a++)
        {
            tdLong s = long_load(S + a * LANES_ROWS + i);
            for (int b = 0; b < 4; b++)
                sum[4 * a + b] += s * t[b];
        }
    }
    for (int a = 0; a < 4 * rows; a++)
        memcpy(sums + LONG * a, &sum[a], sizeof sum[a]);
}

// Lower triangle, in tiles of three modes by four, of k rows. T has zeros where modes end within four.
static void lanes_gram(int k, int n, const double *S, const double *T, double *sums)
{
    for (int i = 0; i < n; i += 3)
        for (int j = 0; j <= i + 2 && j < n; j += 4, sums += 12 * LONG)
        {
            const double *s = S + i * LANES_ROWS, *t = T + j * LANES_ROWS;
            if (i + 3 <= n)
                lanes_tile(k, s, t, sums, 3);
            else if (i + 2 == n)
                lanes_tile(k, s, t, sums, 2);
            else
                lanes_tile(k, s, t, sums, 1);
        }
}

// Sums that lanes_gram uses.
static int lanes_sums(int n)
{
    int tiles = 0;
    for (int i = 0; i < n; i += 3)
        tiles += ((i + 2 < n - 1 ? i + 2 : n - 1) + 4) / 4;
    return 12 * tiles;
}

// K += sums across registers
static void lanes_sum(int n, int stride, const double *sums, double *K)
{
    for (int i = 0; i < n; i += 3)
        for (int j = 0; j <= i + 2 && j < n; j += 4, sums += 12 * LONG)
            for (int a = 0; a < 3 && i + a < n; a++)
            {
                td4 part[4];
                for (int b = 0; b < 4; b++)
                {
                    const double *sum = sums + LONG * (4 * a + b);
                    part[b] = td4_load(sum);
                    for (int l = 4; l < LONG; l += 4)
                        part[b] += td4_load(sum + l);
                }
                td4_transpose(part);
                double *to = K + (i + a) * (int64_t)stride + j;
                td4_store(to, td4_load(to) + ((part[0] + part[1]) + (part[2] + part[3])));
            }
}

// ---------------------------------------------------------------- single precision

#define LANES_ROWS_SINGLE (32 * LANES_PIECE) // a piece has as many pairs
#define LANES_FLUSH       32                 // pairs, a multiple of LANES_PIECE

// f += p : B
static void force_lanes(const double *B, int n, const double *p, double *f)
{
    td4 P[9];
    for (int c = 0; c < 9; c++)
        P[c] = td4_load(p + 4 * c);
    for (int j = 0; j < n; j++, B += 36, f += 4)
    {
        td4 a = td4_load(f), b = td4_set(0), c = b;
        for (int i = 0; i < 36; i += 8)
            __builtin_prefetch(B + 36 * (int64_t)n + i);
        for (int i = 0; i < 3; i++)
        {
            a += P[i] * td4_load(B + 4 * i);
            b += P[3 + i] * td4_load(B + 12 + 4 * i);
            c += P[6 + i] * td4_load(B + 24 + 4 * i);
        }
        td4_store(f, a + (b + c));
    }
}

static void spin_lanes_single(const float *B, int n, const td8f R[9], td8f along, const td8f H[9], float *S, float *T)
{
    for (int j = 0; j < n; j++, B += 72, S += LANES_ROWS_SINGLE, T += LANES_ROWS_SINGLE)
    {
        td8f s = td8f_set(0), q0 = s, q1 = s, q2 = s;
        for (int i = 0; i < 3; i++)
        {
            td8f b0 = td8f_load(B + 24 * i), b1 = td8f_load(B + 24 * i + 8), b2 = td8f_load(B + 24 * i + 16);
            td8f r0 = R[3 * i], r1 = R[3 * i + 1], r2 = R[3 * i + 2];
            s += r0 * b0 + r1 * b1 + r2 * b2;
            q0 += r2 * b1 - r1 * b2;
            q1 += r0 * b2 - r2 * b0;
            q2 += r1 * b0 - r0 * b1;
        }
        td8f_store(S, s);
        td8f_store(S + 8, q0);
        td8f_store(S + 16, q1);
        td8f_store(S + 24, q2);
        td8f_store(T, along * s);
        td8f_store(T + 8, H[0] * q0 + H[1] * q1 + H[2] * q2);
        td8f_store(T + 16, H[3] * q0 + H[4] * q1 + H[5] * q2);
        td8f_store(T + 24, H[6] * q0 + H[7] * q1 + H[8] * q2);
    }
}

static inline __attribute__((always_inline)) void lanes_tile_single(int k, const float *S, const float *T, float *sums,
                                                                    const int rows)
{
    tdLongSingle sum[12];
    for (int a = 0; a < 4 * rows; a++)
        sum[a] = long_load_single(sums + LONG_SINGLE * a);
    for (int i = 0; i < k; i += LONG_SINGLE)
    {
        tdLongSingle t[4];
        for (int b = 0; b < 4; b++)
            t[b] = long_load_single(T + b * LANES_ROWS_SINGLE + i);
        for (int a = 0; a < rows; a++)
        {
            tdLongSingle s = long_load_single(S + a * LANES_ROWS_SINGLE + i);
            for (int b = 0; b < 4; b++)
                sum[4 * a + b] += s * t[b];
        }
    }
    for (int a = 0; a < 4 * rows; a++)
        memcpy(sums + LONG_SINGLE * a, &sum[a], sizeof sum[a]);
}

static void lanes_gram_single(int k, int n, const float *S, const float *T, float *sums)
{
    for (int i = 0; i < n; i += 3)
        for (int j = 0; j <= i + 2 && j < n; j += 4, sums += 12 * LONG_SINGLE)
        {
            const float *s = S + i * LANES_ROWS_SINGLE, *t = T + j * LANES_ROWS_SINGLE;
            if (i + 3 <= n)
                lanes_tile_single(k, s, t, sums, 3);
            else if (i + 2 == n)
                lanes_tile_single(k, s, t, sums, 2);
            else
                lanes_tile_single(k, s, t, sums, 1);
        }
}

// K += sums across registers, which are zero after it
static void lanes_sum_single(int n, int stride, float *sums, double *K)
{
    for (int i = 0; i < n; i += 3)
        for (int j = 0; j <= i + 2 && j < n; j += 4, sums += 12 * LONG_SINGLE)
            for (int a = 0; a < 3 && i + a < n; a++)
            {
                td4 part[4];
                for (int b = 0; b < 4; b++)
                {
                    part[b] = td4_set(0);
                    for (int l = 0; l < LONG_SINGLE; l += 4)
                    {
                        td4f some;
                        memcpy(&some, sums + LONG_SINGLE * (4 * a + b) + l, sizeof some);
                        part[b] += __builtin_convertvector(some, td4);
                    }
                }
                td4_transpose(part);
                double *to = K + (i + a) * (int64_t)stride + j;
                td4_store(to, td4_load(to) + ((part[0] + part[1]) + (part[2] + part[3])));
                memset(sums + 4 * LONG_SINGLE * a, 0, 4 * LONG_SINGLE * sizeof *sums);
            }
}

// Two times four numbers as eight.
static inline td8f td8f_join(td4 a, td4 b)
{
    td4f half[2] = {__builtin_convertvector(a, td4f), __builtin_convertvector(b, td4f)};
    td8f both;
    memcpy(&both, half, sizeof both);
    return both;
}
