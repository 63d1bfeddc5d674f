// SPDX-License-Identifier: Apache-2.0
// What of contact is made of matrices, by one lane (tiles.h).
#pragma once
#include "gpu/touch.h"

/// Column j of P of contact k: three numbers.
TD_BOTH void td_touch_column(const tdTouchWork *work, int k, int j, double *out)
{
    int r = work->plan->r;
    for (int c = 0; c < 3; c++)
        out[c] = j < r ? td_touch_rows(work, k)[c * r + j] : j < work->n ? td_touch_frame(work, k, c, j - r) : 0;
}

/// force = J' gamma, from the impulses in the axes of the body.
TD_BOTH void td_touch_transposed(const tdTouchWork *work, int bearing)
{
    int r = work->plan->r;
    for (int j = 0; j < work->whole; j++)
        work->force[j] = 0;
    for (int m = 0; m < bearing; m++)
        for (int j = 0; j < work->n; j++)
        {
            int k = work->list[m];
            double row[3];
            td_touch_column(work, k, j, row);
            for (int c = 0; c < 3; c++)
                work->force[j] += row[c] * *td_touch_at(work, TD_TOUCH_PUSH + c, k);
        }
    for (int k = 0; k < work->boxes; k++)
        for (int j = 0; j < r; j++)
            work->force[j] += work->robot->S[td_row(r, r + 1 + (int)*td_box_at(work, TD_BOX_ACTUATOR, k)) + j] *
                              *td_box_at(work, TD_BOX_GAMMA, k);
}

/// w = |P A^-1 P'| / 3 of each contact, J A^-1 J' of each row with bounds, with the factor of A in H.
TD_BOTH void td_touch_weigh(const tdTouchWork *work)
{
    const tdGpuPlan *plan = work->plan;
    tdLanes lanes = work->lanes;
    int each = TD_SIDE_BY_SIDE / 3, r = plan->r;
    double *X = work->columns;
    const double *H = work->room;
    for (int first = 0; first < work->touches; first += each)
    {
        int count = work->touches - first < each ? work->touches - first : each;
        TD_SYNC(lanes);
        for (int k = lanes.lane; k < count * work->whole; k += lanes.n)
        {
            double row[3];
            int c = k / work->whole, j = k % work->whole;
            td_touch_column(work, first + c, j, row);
            for (int e = 0; e < 3; e++)
                X[j * TD_SIDE_BY_SIDE + 3 * c + e] = row[e];
        }
        td_tiles_solve_many(work->n, H, 3 * count, lanes, X);
        for (int k = lanes.lane; k < count; k += lanes.n)
        {
            double W[6] = {0, 0, 0, 0, 0, 0};
            for (int j = 0; j < work->whole; j++)
            {
                const double *x = X + j * TD_SIDE_BY_SIDE + 3 * k;
                W[0] += x[0] * x[0];
                W[1] += x[1] * x[1];
                W[2] += x[2] * x[2];
                W[3] += x[0] * x[1];
                W[4] += x[1] * x[2];
                W[5] += x[2] * x[0];
            }
            double square = W[0] * W[0] + W[1] * W[1] + W[2] * W[2] + 2 * (W[3] * W[3] + W[4] * W[4] + W[5] * W[5]);
            *td_touch_at(work, TD_TOUCH_OWN, first + k) = *td_touch_at(work, TD_TOUCH_W, first + k) =
                fmax(sqrt(square) / 3, 1e-30);
        }
    }
    for (int first = 0; first < work->boxes; first += TD_SIDE_BY_SIDE)
    {
        int count = work->boxes - first < TD_SIDE_BY_SIDE ? work->boxes - first : TD_SIDE_BY_SIDE;
        TD_SYNC(lanes);
        for (int c = lanes.lane; c < count; c += lanes.n)
            for (int j = 0; j < work->whole; j++)
                X[j * TD_SIDE_BY_SIDE + c] =
                    j < r ? work->robot->S[td_row(r, r + 1 + (int)*td_box_at(work, TD_BOX_ACTUATOR, first + c)) + j]
                          : 0;
        td_tiles_solve_many(work->n, H, count, lanes, X);
        for (int c = lanes.lane; c < count; c += lanes.n)
        {
            double w = 0;
            for (int j = 0; j < work->whole; j++)
                w += X[j * TD_SIDE_BY_SIDE + c] * X[j * TD_SIDE_BY_SIDE + c];
            // What was there is the compliance of an elastic cable, as a share of a step.
            *td_box_at(work, TD_BOX_R, first + c) = fmax(TD_BOX_NEAR_RIGID * w, *td_box_at(work, TD_BOX_R, first + c));
        }
    }
    TD_SYNC(lanes);
}

/// star = A^-1 star, and w of what touches. False: A is not definite.
TD_BOTH bool td_touch_start(const tdTouchWork *work)
{
    double *H = work->room;
    for (int k = 0; k < TD_MATRIX(work->n); k++)
        H[k] = work->A[k];
    bool good = td_tiles_factor(work->n, work->lanes, H);
    if (!good)
        return false;
    td_tiles_solve(work->n, H, work->lanes, work->star);
    if (work->touches + work->boxes > 0)
        td_touch_weigh(work);
    return true;
}

/// dv = -(A + J'G J)^-1 gradient. False: not definite.
TD_BOTH bool td_touch_direction(const tdTouchWork *work, int bearing)
{
    const int r = work->plan->r, whole = work->whole;
    double *H = work->room, *U = H + TD_MATRIX(work->n);
    int staged = 0;
    for (int k = 0; k < TD_MATRIX(work->n); k++)
        H[k] = work->A[k];
    for (int m = 0; m < bearing + work->boxes; m++)
    {
        if (staged + 3 > TD_STAGED)
        {
            td_tiles_add(work->n, staged, U, work->lanes, H);
            staged = 0;
        }
        if (m >= bearing)
        {
            int box = m - bearing;
            double slope = *td_box_at(work, TD_BOX_SLOPE, box);
            if (slope == 0)
                continue;
            const float *J = work->robot->S + td_row(r, r + 1 + (int)*td_box_at(work, TD_BOX_ACTUATOR, box));
            for (int j = 0; j < whole; j++)
                U[staged * whole + j] = j < r ? slope * J[j] : 0;
            staged++;
            continue;
        }
        double slope[9];
        int k = work->list[m];
        for (int e = 0; e < 9; e++)
            slope[e] = *td_touch_at(work, TD_TOUCH_SLOPE + e, k);
        for (int j = 0; j < whole; j++)
        {
            double x[3];
            td_touch_column(work, k, j, x);
            for (int c = 0; c < 3; c++)
                U[(staged + c) * whole + j] = slope[3 * c] * x[0] + slope[3 * c + 1] * x[1] + slope[3 * c + 2] * x[2];
        }
        staged += 3;
    }
    td_tiles_add(work->n, staged, U, work->lanes, H);
    bool good = td_tiles_factor(work->n, work->lanes, H);
    for (int i = 0; i < whole; i++)
        work->dv[i] = -work->gradient[i];
    td_tiles_solve(work->n, H, work->lanes, work->dv);
    return good;
}
