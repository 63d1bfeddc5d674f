// SPDX-License-Identifier: Apache-2.0
// A body that nothing holds, carried by a rigid frame: the inertia of reduce/floating.h and what a step of
// reduce/reduced_frame.c makes of it, for the lanes of a robot. Coordinates are (alpha, x, theta) with theta = 0 where
// a step begins; velocities (a, v, w) with w in the axes of the frame. In double precision: what these integrals cancel
// to is what makes a body crawl.
#pragma once
#include "gpu/robot.h"

/// J, C and what their derivatives need, at some alpha, for all lanes.
typedef struct tdFrameInertia
{
    double *J;  ///< 9
    double *C;  ///< 3 x r
    double *Ez; ///< 6 x (1 + r)
} tdFrameInertia;

#define TD_FRAME_NUMBERS(r) (9 + 3 * (r) + 6 * (1 + (r))) // of an inertia

TD_BOTH tdFrameInertia td_frame_room(int r, double *memory)
{
    tdFrameInertia out = {memory, memory + 9, memory + 9 + 3 * r};
    return out;
}

TD_BOTH void td_turn3(const double *A, const double *x, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
}

TD_BOTH void td_turn3_back(const double *A, const double *x, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
}

TD_BOTH void td_gpu_cross3(const double *a, const double *b, double *out)
{
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

/// The matrix of a unit quaternion.
TD_BOTH void td_frame_matrix(const double *q, double *R)
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1 - 2 * (y * y + z * z);
    R[1] = 2 * (x * y - w * z);
    R[2] = 2 * (x * z + w * y);
    R[3] = 2 * (x * y + w * z);
    R[4] = 1 - 2 * (x * x + z * z);
    R[5] = 2 * (y * z - w * x);
    R[6] = 2 * (x * z - w * y);
    R[7] = 2 * (y * z + w * x);
    R[8] = 1 - 2 * (x * x + y * y);
}

/// exp(theta)
TD_BOTH void td_frame_turn(const double *t, double *E)
{
    double square = t[0] * t[0] + t[1] * t[1] + t[2] * t[2], angle = sqrt(square), half = sin(0.5 * angle);
    bool little = square < 1e-4; // as reduce/floating.c
    double a = little ? 1 - square / 6 * (1 - square / 20 * (1 - square / 42)) : sin(angle) / angle;
    double b = little ? 0.5 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56))) : 2 * half * half / square;
    const double skew[9] = {0, -t[2], t[1], t[2], 0, -t[0], -t[1], t[0], 0};
    for (int k = 0; k < 9; k++)
        E[k] = (k % 4 == 0 ? 1 - b * square : 0) + a * skew[k] + b * t[k / 3] * t[k % 3];
}

/// reference <- reference exp(theta), of unit length.
TD_BOTH void td_frame_commit(double *reference, const double *theta)
{
    double angle = sqrt(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]);
    double scale = angle > 1e-8 ? sin(0.5 * angle) / angle : 0.5, out[4];
    double a[4] = {reference[0], reference[1], reference[2], reference[3]},
           b[4] = {cos(0.5 * angle), scale * theta[0], scale * theta[1], scale * theta[2]};
    td_gpu_cross3(a + 1, b + 1, out + 1);
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    double square = out[0] * out[0];
    for (int k = 1; k < 4; k++)
    {
        out[k] += a[0] * b[k] + b[0] * a[k];
        square += out[k] * out[k];
    }
    for (int k = 0; k < 4; k++)
        reference[k] = out[k] / sqrt(square);
}

/// J, C and Ez at alpha + along rates.
TD_BOTH void td_frame_inertia(const tdGpuPlan *plan, const double *alpha, const double *rates, double along,
                              tdLanes lanes, tdFrameInertia out)
{
    int r = plan->r, n = r + 1;
    const double *E = TD_GPU_ARRAY(plan, double, E), *D = TD_GPU_ARRAY(plan, double, D);
    TD_SYNC(lanes);
    for (int k = lanes.lane; k < 9 * n; k += lanes.n)
    {
        int matrix = k / n, i = k % n; // E is symmetric, so that lanes read numbers that are next to each other
        const double *from = matrix < 6 ? E + (int64_t)matrix * n * n + i : D + (int64_t)(matrix - 6) * n * n + i;
        double sum = from[0];
        for (int j = 1; j < n; j++)
            sum += from[(int64_t)j * n] * (alpha[j - 1] + along * rates[j - 1]);
        if (matrix < 6)
            out.Ez[matrix * n + i] = sum;
        else if (i > 0)
            out.C[(matrix - 6) * r + i - 1] = sum;
    }
    TD_SYNC(lanes);
    for (int k = lanes.lane; k < 6; k += lanes.n)
    {
        const int entry[6] = {0, 4, 8, 5, 2, 1}, mirror[6] = {0, 4, 8, 7, 6, 3};
        double sum = out.Ez[k * n];
        for (int j = 1; j < n; j++)
            sum += out.Ez[k * n + j] * (alpha[j - 1] + along * rates[j - 1]);
        out.J[entry[k]] = out.J[mirror[k]] = sum;
    }
    TD_SYNC(lanes);
}

/// l = J w + C a, in all lanes.
TD_BOTH void td_frame_spin(const tdFrameInertia *at, int r, const double *a, const double *w, tdLanes lanes, double *l)
{
    double part[3] = {0, 0, 0};
    for (int j = lanes.lane; j < r; j += lanes.n)
    {
        TD_UNROLL
        for (int c = 0; c < 3; c++)
            part[c] += at->C[c * r + j] * a[j];
    }
    td_turn3(at->J, w, l);
    TD_UNROLL
    for (int c = 0; c < 3; c++)
        l[c] += td_lanes_sum(lanes, part[c]);
}

/// x = J^-1 b; zero where J is not definite.
TD_BOTH void td_frame_solve(const double *J, const double *b, double *x)
{
    double cofactor[9];
    for (int i = 0; i < 3; i++)
        td_gpu_cross3(J + 3 * ((i + 1) % 3), J + 3 * ((i + 2) % 3), cofactor + 3 * i);
    double determinant = J[0] * cofactor[0] + J[1] * cofactor[1] + J[2] * cofactor[2];
    td_turn3_back(cofactor, b, x);
    for (int i = 0; i < 3; i++)
        x[i] = determinant > 0 ? x[i] / determinant : 0;
}

/// Row i of the mass over (alpha, x, theta), entry j; both below r + 6. M: of the modes.
TD_BOTH double td_frame_mass(const tdGpuPlan *plan, const char *tables, const tdFrameInertia *at, int i, int j)
{
    int r = plan->r;
    if (i < r && j < r)
        return TD_GPU_TABLE(tables, plan, float, M)[i * TD_GPU_ROW(r) + j];
    if (i >= r + 3 && j >= r + 3)
        return at->J[3 * (i - r - 3) + j - r - 3];
    if (i >= r + 3 && j < r)
        return at->C[(i - r - 3) * r + j];
    if (j >= r + 3 && i < r)
        return at->C[(j - r - 3) * r + i];
    return i == j ? plan->body_mass : 0;
}

/// Momentum of mode j: M a + C'w.
TD_BOTH double td_frame_momentum(const tdGpuPlan *plan, const char *tables, const tdFrameInertia *at, int j,
                                 const double *a, const double *w)
{
    int r = plan->r;
    const float *M = TD_GPU_TABLE(tables, plan, float, M) + j * TD_GPU_ROW(r);
    double sum = at->C[j] * w[0] + at->C[r + j] * w[1] + at->C[2 * r + j] * w[2];
    for (int k = 0; k < r; k++)
        sum += M[k] * a[k];
    return sum;
}

/// dT/dalpha_j of what turning does: centrifugal and Coriolis forces.
TD_BOTH double td_frame_slope(const tdGpuPlan *plan, const tdFrameInertia *at, int j, const double *a, const double *w)
{
    int r = plan->r, n = r + 1;
    const double *D = TD_GPU_ARRAY(plan, double, D);
    const double square[6] = {w[0] * w[0], w[1] * w[1], w[2] * w[2], 2 * w[1] * w[2], 2 * w[2] * w[0], 2 * w[0] * w[1]};
    double sum = 0;
    TD_UNROLL
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < r; k++)
            sum -= w[c] * a[k] * D[((int64_t)c * n + k + 1) * n + j + 1];
    for (int k = 0; k < 6; k++)
        sum += square[k] * at->Ez[k * n + 1 + j];
    return sum;
}

#define TD_FRAME_PREDICTIONS 4 // as reduce/reduced_frame.c

/// The angular velocity at the end of a step in which nothing but the frame's own turning acts: w comes in and goes
/// out. `at`: where modes will be. In all lanes.
TD_BOTH void td_frame_predict(const tdFrameInertia *at, int r, double h, const double *a, const double *l0,
                              tdLanes lanes, double *w)
{
    TD_ROLL
    for (int k = 0; k < TD_FRAME_PREDICTIONS; k++)
    {
        double theta[3] = {h * w[0], h * w[1], h * w[2]}, E[9], l[3], turned[3], step[3];
        td_frame_spin(at, r, a, w, lanes, l);
        td_frame_turn(theta, E);
        td_turn3(E, l, turned);
        for (int c = 0; c < 3; c++)
            turned[c] -= l0[c];
        td_frame_solve(at->J, turned, step);
        for (int c = 0; c < 3; c++)
            w[c] -= step[c];
    }
}

/// Dead loads and weight on coordinate i of (alpha, x, theta), with the frame's R: sum over loads of input times force.
/// value: of each load, the weight first.
TD_BOTH double td_frame_load(const tdGpuPlan *plan, const double *gravity, const double *values, const double *alpha,
                             const double *R, int i)
{
    int r = plan->r;
    double sum = 0;
    for (int k = 0; k <= plan->loads; k++)
    {
        const double *force = TD_GPU_ARRAY(plan, double, force) + 3 * k,
                     *moment = TD_GPU_ARRAY(plan, double, moment) + 9 * (int64_t)(r + 1) * k;
        double value = k == 0 ? 1 : values[k - 1], V[9], part = 0;
        for (int m = 0; m <= (i < r + 3 ? 0 : r); m++) // of modes their own row, of turning the sum
            for (int e = 0; e < 9; e++)
            {
                const double *row = moment + 9 * (int64_t)(i < r ? i + 1 : m);
                // The weight is kept for 1 m/s^2 along each axis: the place does not depend on it.
                double x = k == 0 ? row[e - e % 3] * gravity[e % 3] : row[e];
                V[e] = (m == 0 ? 0 : V[e]) + (i < r || m == 0 ? x : alpha[m - 1] * x);
            }
        if (i < r)
            for (int e = 0; e < 9; e++)
                part += V[e] * R[3 * (e % 3) + e / 3];
        else if (i < r + 3)
            part = k == 0 ? force[0] * gravity[i - r] : force[i - r];
        else
        {
            int c = i - r - 3, a = (c + 1) % 3, b = (c + 2) % 3;
            for (int d = 0; d < 3; d++)
                part += V[3 * a + d] * R[3 * d + b] - V[3 * b + d] * R[3 * d + a];
        }
        sum += value * part;
    }
    return sum;
}
