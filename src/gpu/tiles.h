// SPDX-License-Identifier: Apache-2.0
// A symmetric matrix in tiles of 4 x 4 doubles, its lower triangle, for the lanes of a robot: sums of rows with rows,
// Cholesky's method and solutions. Filled up to whole tiles by ones on the diagonal. What is between two TD_SYNC is
// shared out among the lanes, always in the same way, so that results do not depend on when lanes run.
#pragma once
#include "gpu/robot.h"

#define TD_TILE         4
#define TD_TILES(n)     (((n) + TD_TILE - 1) / TD_TILE)              // in a row
#define TD_SQUARE(n)    (16 * (TD_TILES(n) * (TD_TILES(n) + 1) / 2)) // doubles of a matrix
#define TD_STAGED       9                                            // rows that are added together
#define TD_SIDE_BY_SIDE 30                                           // columns that are solved together

#define TD_WHOLE(n)             (TD_TILE * TD_TILES(n))
#define TD_MATRIX(n)            TD_SQUARE(n)
#define TD_MATRIX_ROOM(n)       (TD_SQUARE(n) + TD_STAGED * TD_WHOLE(n)) // enough for an inertia of a frame too
#define TD_MATRIX_COLUMNS(plan) (TD_SIDE_BY_SIDE * TD_WHOLE((plan)->coords))

/// The same sizes.
TD_BOTH int td_matrix_whole(int n, tdLanes lanes)
{
    (void)lanes;
    return TD_WHOLE(n);
}

TD_BOTH int td_matrix_size(int n, tdLanes lanes)
{
    (void)lanes;
    return TD_MATRIX(n);
}

TD_BOTH int td_matrix_room(int n, tdLanes lanes)
{
    (void)lanes;
    return TD_MATRIX_ROOM(n);
}

TD_BOTH int td_tile(int i, int j)
{
    return 16 * (i * (i + 1) / 2 + j);
}

/// Row and column of tile number t.
TD_BOTH void td_tile_place(int t, int *row, int *column)
{
    int i = (int)((sqrtf(8.0f * (float)t + 1) - 1) * 0.5f);
    i += (i + 1) * (i + 2) / 2 <= t;
    i -= i * (i + 1) / 2 > t;
    *row = i;
    *column = t - i * (i + 1) / 2;
}

/// Row and column of number t of a matrix.
TD_BOTH void td_matrix_place(int t, int *row, int *column)
{
    td_tile_place(t / 16, row, column);
    *row = TD_TILE * *row + t % 16 / TD_TILE;
    *column = TD_TILE * *column + t % TD_TILE;
}

/// Number (i, i) of a matrix.
TD_BOTH double td_matrix_diagonal(const double *A, int i)
{
    return A[td_tile(i / TD_TILE, i / TD_TILE) + (TD_TILE + 1) * (i % TD_TILE)];
}

/// y = A x, whole lengths; a lane writes rows lane, lane + n, ...
TD_BOTH void td_matrix_times(int n, const double *A, const double *x, tdLanes lanes, double *y)
{
    int tiles = TD_TILES(n);
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < TD_WHOLE(n); i += lanes.n)
    {
        int row = i / TD_TILE, k = i % TD_TILE;
        double sum = 0;
        for (int j = 0; j < tiles; j++)
        {
            const double *t = A + (j <= row ? td_tile(row, j) + TD_TILE * k : td_tile(j, row) + k),
                         *z = x + TD_TILE * j;
            int apart = j < row ? 1 : TD_TILE;
            if (j == row) // of tiles on the diagonal the lower triangle alone is there
                for (int m = 0; m < TD_TILE; m++)
                    sum += (m <= k ? t[m] : A[td_tile(row, row) + TD_TILE * m + k]) * z[m];
            else
                sum += t[0] * z[0] + t[apart] * z[1] + t[2 * apart] * z[2] + t[3 * apart] * z[3];
        }
        y[i] = sum;
    }
    TD_SYNC(lanes);
}

/// A += sum over m of U_m U_m', rows of whole length; `rows` of them.
TD_BOTH void td_tiles_add(int n, int rows, const double *U, tdLanes lanes, double *A)
{
    int tiles = TD_TILES(n), whole = TD_WHOLE(n);
    TD_SYNC(lanes);
    for (int t = lanes.lane; t < tiles * (tiles + 1) / 2; t += lanes.n)
    {
        int row, column;
        td_tile_place(t, &row, &column);
        double *to = A + 16 * t, sum[16];
        TD_UNROLL
        for (int k = 0; k < 16; k++)
            sum[k] = to[k];
        for (int m = 0; m < rows; m++)
        {
            const double *u = U + m * whole + TD_TILE * row, *v = U + m * whole + TD_TILE * column;
            TD_UNROLL
            for (int k = 0; k < 16; k++)
                sum[k] += u[k / TD_TILE] * v[k % TD_TILE];
        }
        TD_UNROLL
        for (int k = 0; k < 16; k++)
            to[k] = sum[k];
    }
    TD_SYNC(lanes);
}

/// L of a tile on the diagonal, in registers; its diagonal the reciprocals. False: not definite.
TD_BOTH bool td_tile_factor(const double *from, double *L)
{
    bool good = true;
    TD_UNROLL
    for (int j = 0; j < TD_TILE; j++)
    {
        double d = from[TD_TILE * j + j];
        TD_UNROLL
        for (int k = 0; k < j; k++)
            d -= L[TD_TILE * j + k] * L[TD_TILE * j + k];
        good = good && d > 0;
        double inverse = 1 / sqrt(d > 0 ? d : 1);
        L[TD_TILE * j + j] = inverse;
        TD_UNROLL
        for (int i = j + 1; i < TD_TILE; i++)
        {
            double x = from[TD_TILE * i + j];
            TD_UNROLL
            for (int k = 0; k < j; k++)
                x -= L[TD_TILE * i + k] * L[TD_TILE * j + k];
            L[TD_TILE * i + j] = x * inverse;
        }
    }
    return good;
}

/// L L' = A in the place of A, the diagonal of L as reciprocals. False: not definite.
TD_BOTH bool td_tiles_factor(int n, tdLanes lanes, double *A)
{
    int tiles = TD_TILES(n);
    bool good = true;
    for (int k = 0; k < tiles; k++)
    {
        double L[16], *own = A + td_tile(k, k);
        TD_SYNC(lanes);
        good = td_tile_factor(own, L) && good; // in all lanes: it is short, and all need it
        TD_SYNC(lanes);
        for (int i = k + 1 + lanes.lane; i < tiles; i += lanes.n)
        {
            double *to = A + td_tile(i, k);
            TD_UNROLL
            for (int row = 0; row < TD_TILE; row++)
            {
                double x[TD_TILE];
                TD_UNROLL
                for (int j = 0; j < TD_TILE; j++)
                {
                    x[j] = to[TD_TILE * row + j];
                    TD_UNROLL
                    for (int m = 0; m < j; m++)
                        x[j] -= x[m] * L[TD_TILE * j + m];
                    x[j] *= L[TD_TILE * j + j];
                }
                TD_UNROLL
                for (int j = 0; j < TD_TILE; j++)
                    to[TD_TILE * row + j] = x[j];
            }
        }
        if (lanes.lane == 0)
            for (int j = 0; j < 16; j++)
                if (j / TD_TILE >= j % TD_TILE)
                    own[j] = L[j];
        TD_SYNC(lanes);
        int left = tiles - k - 1;
        for (int t = lanes.lane; t < left * (left + 1) / 2; t += lanes.n)
        {
            int row, column;
            td_tile_place(t, &row, &column);
            row += k + 1;
            column += k + 1;
            const double *a = A + td_tile(row, k), *b = A + td_tile(column, k);
            double *to = A + td_tile(row, column), sum[16];
            TD_UNROLL
            for (int e = 0; e < 16; e++)
                sum[e] = to[e];
            TD_UNROLL
            for (int m = 0; m < TD_TILE; m++)
            {
                TD_UNROLL
                for (int e = 0; e < 16; e++)
                    sum[e] -= a[TD_TILE * (e / TD_TILE) + m] * b[TD_TILE * (e % TD_TILE) + m];
            }
            TD_UNROLL
            for (int e = 0; e < 16; e++)
                to[e] = sum[e];
        }
    }
    TD_SYNC(lanes);
    return good;
}

/// x = A^-1 x with the factor of A.
TD_BOTH void td_tiles_solve(int n, const double *L, tdLanes lanes, double *x)
{
    int tiles = TD_TILES(n);
    TD_UNROLL
    for (int pass = 0; pass < 2; pass++) // L, then L'
        for (int step = 0; step < tiles; step++)
        {
            int k = pass == 0 ? step : tiles - 1 - step;
            const double *own = L + td_tile(k, k);
            double z[TD_TILE];
            TD_SYNC(lanes);
            TD_UNROLL
            for (int s = 0; s < TD_TILE; s++)
            {
                int i = pass == 0 ? s : TD_TILE - 1 - s;
                z[i] = x[TD_TILE * k + i];
                TD_UNROLL
                for (int m = 0; m < TD_TILE; m++)
                    if (pass == 0 ? m < i : m > i)
                        z[i] -= z[m] * (pass == 0 ? own[TD_TILE * i + m] : own[TD_TILE * m + i]);
                z[i] *= own[TD_TILE * i + i];
            }
            TD_SYNC(lanes);
            int first = pass == 0 ? TD_TILE * (k + 1) : 0, end = pass == 0 ? TD_WHOLE(n) : TD_TILE * k;
            for (int i = first + lanes.lane; i < end; i += lanes.n)
            {
                const double *t = pass == 0 ? L + td_tile(i / TD_TILE, k) + TD_TILE * (i % TD_TILE)
                                            : L + td_tile(k, i / TD_TILE) + i % TD_TILE;
                int apart = pass == 0 ? 1 : TD_TILE;
                x[i] -= t[0] * z[0] + t[apart] * z[1] + t[2 * apart] * z[2] + t[3 * apart] * z[3];
            }
            for (int i = lanes.lane; i < TD_TILE; i += lanes.n)
                x[TD_TILE * k + i] = i == 0 ? z[0] : i == 1 ? z[1] : i == 2 ? z[2] : z[3];
        }
    TD_SYNC(lanes);
}

/// X = L^-1 X of TD_SIDE_BY_SIDE columns, rows of them next to each other; a lane does whole columns.
TD_BOTH void td_tiles_solve_many(int n, const double *L, int columns, tdLanes lanes, double *X)
{
    int tiles = TD_TILES(n);
    TD_SYNC(lanes);
    for (int c = lanes.lane; c < columns; c += lanes.n)
        for (int i = 0; i < tiles; i++)
        {
            double z[TD_TILE];
            const double *own = L + td_tile(i, i);
            TD_UNROLL
            for (int k = 0; k < TD_TILE; k++)
                z[k] = X[(TD_TILE * i + k) * TD_SIDE_BY_SIDE + c];
            for (int j = 0; j < i; j++)
            {
                const double *t = L + td_tile(i, j);
                TD_UNROLL
                for (int m = 0; m < TD_TILE; m++)
                {
                    double x = X[(TD_TILE * j + m) * TD_SIDE_BY_SIDE + c];
                    TD_UNROLL
                    for (int k = 0; k < TD_TILE; k++)
                        z[k] -= t[TD_TILE * k + m] * x;
                }
            }
            TD_UNROLL
            for (int k = 0; k < TD_TILE; k++)
            {
                TD_UNROLL
                for (int m = 0; m < k; m++)
                    z[k] -= own[TD_TILE * k + m] * z[m];
                z[k] *= own[TD_TILE * k + k];
                X[(TD_TILE * i + k) * TD_SIDE_BY_SIDE + c] = z[k];
            }
        }
    TD_SYNC(lanes);
}
