// SPDX-License-Identifier: Apache-2.0
// What of contact is made of matrices, by a warp (warp.h). Lane 4 g + t has to do with columns g of blocks, and with
// number t of a contact: rows of it fill up to four, as a product takes them.
#pragma once
#include "gpu/touch.h"

/// Where number 0 of column j of rows P of contact k is, j below n; *apart: how far the next two are.
TD_BOTH const double *td_warp_column(const tdTouchWork *work, int k, int j, int *apart)
{
    int r = work->plan->r;
    *apart = j < r ? r : 8;
    return j < r ? td_touch_rows(work, k) + j : work->columns + TD_WARP_FRAME * (int64_t)k + j - r;
}

/// Rows of all contacts over the coordinates of a frame.
TD_BOTH void td_warp_frames(const tdTouchWork *work)
{
    tdLanes lanes = work->lanes;
    TD_SYNC(lanes);
    for (int at = lanes.lane; at < TD_WARP_FRAME * work->touches && work->plan->frame != 0; at += lanes.n)
        work->columns[at] = at % 8 < 6 ? td_touch_frame(work, at / TD_WARP_FRAME, at % TD_WARP_FRAME / 8, at % 8) : 0;
    TD_SYNC(lanes);
}

/// Row J of a box over coordinate j.
TD_BOTH double td_warp_box(const tdTouchWork *work, int k, int j)
{
    int r = work->plan->r;
    return j < r ? work->robot->S[td_row(r, r + 1 + (int)*td_box_at(work, TD_BOX_ACTUATOR, k)) + j] : 0;
}

/// Products of eight rows with Z', tile after tile, as they are summed: each row's with itself and with `next`.
TD_BOTH void td_warp_squares(int N, tdLanes lanes, double (*a)[2], double (*Z)[2], int next, double *self,
                             double *other)
{
    double s = 0, o = 0;
    TD_UNROLL
    for (int i = 0; i < N; i++)
    {
        double c[2] = {0, 0};
        TD_UNROLL
        for (int j = 0; j <= i; j++)
        {
            td_warp_product(c, a[j][0], Z[td_warp_block(i, j)][0]);
            td_warp_product(c, a[j][1], Z[td_warp_block(i, j)][1]);
        }
        double x0 = TD_FROM(c[0], next), x1 = TD_FROM(c[1], next);
        s += c[0] * c[0] + c[1] * c[1];
        o += c[0] * x0 + c[1] * x1;
    }
    *self = td_warp_along(lanes, s);
    *other = td_warp_along(lanes, o);
}

/// w of all contacts and rows with bounds, as td_touch_weigh() of touch_tiles.h.
TD_BOTH void td_warp_weigh(int N, const tdTouchWork *work, double (*L)[2], double (*M)[2])
{
    tdLanes lanes = work->lanes;
    const int g = lanes.lane >> 2, t = lanes.lane & 3, c = g & 3;
    double Z[TD_WARP_PAIRS(TD_WARP_MANY)][2], a[TD_WARP_MANY][2], self, other;
    td_warp_frames(work);
    td_warp_inverse(N, lanes, work->room, L, M, Z);
    for (int two = 0; two < work->touches; two += 2)
    {
        int k = two + (g >> 2);
        bool mine = c < 3 && k < work->touches;
        TD_UNROLL
        for (int i = 0; i < N; i++)
        {
            TD_UNROLL
            for (int s = 0; s < 2; s++)
            {
                const int j = 8 * i + 4 * s + t;
                int apart = 0;
                const double *x = mine && j < work->n ? td_warp_column(work, k, j, &apart) : NULL;
                a[i][s] = x != NULL ? x[c * apart] : 0;
            }
        }
        td_warp_squares(N, lanes, a, Z, (lanes.lane & 16) + 4 * (c == 2 ? 0 : c + 1) + t, &self, &other);
        double square = c < 3 ? self * self + 2 * other * other : 0;
        square += td_lanes_across(lanes, square, 4);
        square += td_lanes_across(lanes, square, 8);
        if ((lanes.lane & 15) == 0 && mine)
            *td_touch_at(work, TD_TOUCH_OWN, k) = *td_touch_at(work, TD_TOUCH_W, k) = fmax(sqrt(square) / 3, 1e-30);
    }
    for (int eight = 0; eight < work->boxes; eight += 8)
    {
        int k = eight + g;
        TD_UNROLL
        for (int i = 0; i < N; i++)
        {
            TD_UNROLL
            for (int s = 0; s < 2; s++)
                a[i][s] = k < work->boxes ? td_warp_box(work, k, 8 * i + 4 * s + t) : 0;
        }
        td_warp_squares(N, lanes, a, Z, lanes.lane, &self, &other);
        // What was there is the compliance of an elastic cable, as a share of a step.
        if (t == 0 && k < work->boxes)
            *td_box_at(work, TD_BOX_R, k) = fmax(TD_BOX_NEAR_RIGID * self, *td_box_at(work, TD_BOX_R, k));
    }
    TD_SYNC(lanes);
}

TD_BOTH void td_warp_load(int N, tdLanes lanes, const double *A, double (*L)[2])
{
    TD_UNROLL
    for (int b = 0; b < TD_WARP_PAIRS(N); b++)
    {
        L[b][0] = A[64 * b + 2 * lanes.lane];
        L[b][1] = A[64 * b + 2 * lanes.lane + 1];
    }
}

TD_BOTH bool td_warp_start(int N, const tdTouchWork *work)
{
    double L[TD_WARP_PAIRS(TD_WARP_MANY)][2], M[TD_WARP_MANY][2];
    TD_SYNC(work->lanes);
    td_warp_load(N, work->lanes, work->A, L);
    td_warp_behind(N, work->lanes, work->star, 1, L);
    bool good = td_warp_factor(N, work->lanes, work->room, L, M);
    td_warp_back(N, work->lanes, L, M, work->star);
    if (good && work->touches + work->boxes > 0)
        td_warp_weigh(N, work, L, M);
    return good;
}

/// L += u'u of a row a lane: number t of four, columns g of all blocks.
TD_BOTH void td_warp_add(int N, const double *u, double (*L)[2])
{
    TD_UNROLL
    for (int i = 0; i < N; i++)
    {
        TD_UNROLL
        for (int j = 0; j <= i; j++)
            td_warp_product(L[td_warp_block(i, j)], u[i], u[j]);
    }
}

/// The root of the slope of contact k, of which a lane has row t.
TD_BOTH void td_warp_slope(const tdTouchWork *work, int k, double *slope)
{
    const int t = work->lanes.lane & 3;
    for (int c = 0; c < 3; c++)
        slope[c] = t < 3 ? *td_touch_at(work, TD_TOUCH_SLOPE + 3 * t + c, k) : 0;
}

TD_BOTH bool td_warp_direction(int N, const tdTouchWork *work, int bearing)
{
    tdLanes lanes = work->lanes;
    const int g = lanes.lane >> 2, t = lanes.lane & 3, r = work->plan->r;
    double L[TD_WARP_PAIRS(TD_WARP_MANY)][2], M[TD_WARP_MANY][2], u[TD_WARP_MANY], next[3];
    TD_SYNC(lanes);
    td_warp_load(N, lanes, work->A, L);
    int after = bearing > 0 ? work->list[0] : 0;
    if (bearing > 0)
        td_warp_slope(work, after, next);
    TD_ROLL
    for (int m = 0; m < bearing; m++)
    {
        const int k = after;
        double slope[3] = {next[0], next[1], next[2]};
        if (m + 1 < bearing) // on its way while this one is done
        {
            after = work->list[m + 1];
            td_warp_slope(work, after, next);
        }
        const double *own = td_touch_rows(work, k), *frame = work->columns + TD_WARP_FRAME * (int64_t)k - r;
        TD_UNROLL
        for (int i = 0; i < N; i++)
        {
            const int j = 8 * i + g, apart = j < r ? r : 8;
            const double *x = (j < r ? own : frame) + j;
            u[i] = j < work->n ? slope[0] * x[0] + slope[1] * x[apart] + slope[2] * x[2 * apart] : 0;
        }
        td_warp_add(N, u, L);
    }
    for (int four = 0; four < work->boxes; four += 4)
    {
        int k = four + t;
        double slope = k < work->boxes ? *td_box_at(work, TD_BOX_SLOPE, k) : 0;
        TD_UNROLL
        for (int i = 0; i < N; i++)
            u[i] = slope != 0 ? slope * td_warp_box(work, k, 8 * i + g) : 0;
        td_warp_add(N, u, L);
    }
    td_warp_behind(N, lanes, work->gradient, -1, L);
    bool good = td_warp_factor(N, lanes, work->room, L, M);
    td_warp_back(N, lanes, L, M, work->dv);
    return good;
}

/// force = J' gamma, from the impulses in the axes of the body.
TD_BOTH void td_touch_transposed(const tdTouchWork *work, int bearing)
{
    tdLanes lanes = work->lanes;
    TD_SYNC(lanes);
    for (int j = lanes.lane; j < work->whole; j += lanes.n)
    {
        const int column = j < work->n ? j : 0;
        double sum = 0;
        TD_UNROLL_BY(4)
        for (int m = 0; m < bearing; m++)
        {
            int k = work->list[m], apart;
            const double *x = td_warp_column(work, k, column, &apart);
            sum += x[0] * *td_touch_at(work, TD_TOUCH_PUSH, k) + x[apart] * *td_touch_at(work, TD_TOUCH_PUSH + 1, k) +
                   x[2 * apart] * *td_touch_at(work, TD_TOUCH_PUSH + 2, k);
        }
        for (int k = 0; k < work->boxes; k++)
            sum += td_warp_box(work, k, column) * *td_box_at(work, TD_BOX_GAMMA, k);
        work->force[j] = j < work->n ? sum : 0;
    }
    TD_SYNC(lanes);
}

/// star = A^-1 star, and w of what touches. False: A is not definite.
TD_BOTH bool td_touch_start(const tdTouchWork *work)
{
    return work->lanes.shape == TD_WARP_FEW ? td_warp_start(TD_WARP_FEW, work) : td_warp_start(TD_WARP_MANY, work);
}

/// dv = -(A + J'G J)^-1 gradient. False: not definite.
TD_BOTH bool td_touch_direction(const tdTouchWork *work, int bearing)
{
    return work->lanes.shape == TD_WARP_FEW ? td_warp_direction(TD_WARP_FEW, work, bearing)
                                            : td_warp_direction(TD_WARP_MANY, work, bearing);
}
