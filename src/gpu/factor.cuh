// SPDX-License-Identifier: Apache-2.0
// The factor of robot.h in registers: a few lanes a robot, row i in lane i % L, columns by exchange among them. The
// matrix comes there from what was assembled, without a stop in shared memory; what is left there is L. A shape says
// how many lanes there are, the largest number of columns (a multiple of 4) and the rows of a lane.
#pragma once

#define TD_FACTOR factor_lanes
#define TD_BACK   back_lanes

#define SHAPE_OF(lanes, columns, each) ((lanes)*1000 + (columns)*10 + (each))

struct tdLanes;
struct tdRobotWork;
struct tdGpuPlan;
static __device__ __host__ bool factor_lanes(const tdGpuPlan *plan, const tdRobotWork *work, tdLanes lanes, float mass,
                                             float stiff, int left);
static __device__ __host__ void back_lanes(int r, const float *S, float *y, tdLanes lanes);

#include "gpu/robot.h"

/// What was assembled of a robot, and what is constant in its matrix.
struct tdAssembledRobot
{
    const float *K;             ///< by part, `apart` numbers from each other: r rows of `stride`
    const float *scale;         ///< of K, filled up with zeros
    const float *K0;            ///< r rows of TD_GPU_ROW(r), as M
    int stride, parts;
    size_t apart;
    float constant;  ///< factor of K0
    float varying;   ///< factor of K
    bool near;       ///< K is in shared memory
};

/// Rows of the lower triangle that belong to a lane, from one part of what was assembled. Other blocks may have written
/// it while this one ran, so that the nearest cache does not count.
template <int L, int COLUMNS, int EACH, bool FIRST>
static __device__ __forceinline__ void take_part(int r, const float *K, int stride, bool near, int lane,
                                                 float (*a)[COLUMNS])
{
#pragma unroll
    for (int s = 0; s < EACH; s++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 4)
            if (j <= L * s + L - 1)
            {
                const int i = lane + L * s;
                float4 k = make_float4(0, 0, 0, 0);
                if (i < r && j <= i)
                {
                    const float4 *from = (const float4 *)(K + i * stride + j);
                    k = near ? *from : __ldcg(from);
                }
                a[s][j] = FIRST ? k.x : a[s][j] + k.x;
                a[s][j + 1] = FIRST ? k.y : a[s][j + 1] + k.y;
                a[s][j + 2] = FIRST ? k.z : a[s][j + 2] + k.z;
                a[s][j + 3] = FIRST ? k.w : a[s][j + 3] + k.w;
            }
}

/// The rows behind the matrix are the last ones there is room for; with up to four actuators, filled up to four with
/// zeros, they are at places that are constant, and so their products with each other come with the factor.
template <int L, int COLUMNS, int EACH>
static __device__ __forceinline__ bool factor(const tdGpuPlan *plan, const tdRobotWork *work, tdLanes lanes, float mass,
                                              float stiff, int left)
{
    const int r = plan->r, n = plan->actuators, row = TD_GPU_ROW(r);
    const int behind = L * EACH - 1 - (n > TD_SMALL_FEW ? n : TD_SMALL_FEW);
    const tdAssembledRobot in = *work->from;
    const float *M = TD_GPU_TABLE(work->tables, plan, float, M), constant = stiff * in.constant;
    float *S = work->S, a[EACH][COLUMNS], products[1 + TD_SMALL_FEW];
    bool good = true;
    take_part<L, COLUMNS, EACH, true>(r, in.K, in.stride, L == 32 && in.near, lanes.lane, a);
#pragma unroll(L == 32 ? 3 : 1)
    for (int p = 1; p < in.parts; p++)
        take_part<L, COLUMNS, EACH, false>(r, in.K + p * in.apart, in.stride, false, lanes.lane, a);
#pragma unroll
    for (int s = 0; s < EACH; s++)
    {
        const int i = lanes.lane + L * s;
        if (i < r)
        {
            const float mine = stiff * in.varying * in.scale[i];
#pragma unroll
            for (int j = 0; j < COLUMNS; j += 4)
                if (j <= L * s + L - 1 && j <= i)
                {
                    const float4 k0 = *(const float4 *)(in.K0 + i * row + j), m = *(const float4 *)(M + i * row + j),
                                 of = *(const float4 *)(in.scale + j);
                    a[s][j] = mine * of.x * a[s][j] + (constant * k0.x + mass * m.x);
                    a[s][j + 1] = mine * of.y * a[s][j + 1] + (constant * k0.y + mass * m.y);
                    a[s][j + 2] = mine * of.z * a[s][j + 2] + (constant * k0.z + mass * m.z);
                    a[s][j + 3] = mine * of.w * a[s][j + 3] + (constant * k0.w + mass * m.w);
                }
            if (plan->gathers != 0)
            {
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    if (j <= L * s + L - 1 && j <= i)
                        a[s][j] += S[td_row(r, i) + j];
            }
        }
        else if (i >= behind && i <= behind + n)
        {
            const float *from = S + td_row(r, r) + (i - behind) * r;
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                if (j <= L * s + L - 1)
                    a[s][j] = j < r ? from[j] : 0.0f;
        }
    }
    for (int m = 0; m < left; m++)
    {
        const float *u = work->u + m * TD_ROW_U(r);
        float x[EACH];
#pragma unroll
        for (int s = 0; s < EACH; s++)
            x[s] = lanes.lane + L * s < r ? u[lanes.lane + L * s] : 0.0f;
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 4)
            if (j < r)
            {
                const float4 y = *(const float4 *)(u + j);
#pragma unroll
                for (int s = 0; s < EACH; s++)
                    if (j <= L * s + L - 1)
                    {
                        a[s][j] = fmaf(x[s], y.x, a[s][j]);
                        a[s][j + 1] = fmaf(x[s], y.y, a[s][j + 1]);
                        a[s][j + 2] = fmaf(x[s], y.z, a[s][j + 2]);
                        a[s][j + 3] = fmaf(x[s], y.w, a[s][j + 3]);
                    }
            }
    }
    __syncwarp(lanes.mask);
#pragma unroll
    for (int c = 0; c <= TD_SMALL_FEW; c++)
        products[c] = 0;
#pragma unroll
    for (int k = 0; k < COLUMNS; k++)
        if (k < r)
        {
            float d = __shfl_sync(lanes.mask, a[k / L][k], k % L, L);
            good = good && d > 0;
            float inverse = rsqrtf(d > 0 ? d : 1.0f);
#pragma unroll
            for (int s = k / L; s < EACH; s++)
                a[s][k] *= inverse;
#pragma unroll
            for (int j = k + 1; j < COLUMNS; j++)
            {
                float b = __shfl_sync(lanes.mask, a[j / L][k], j % L, L);
#pragma unroll
                for (int s = j / L; s < EACH; s++)
                    a[s][j] = fmaf(-a[s][k], b, a[s][j]);
            }
#pragma unroll
            for (int c = 0; c <= TD_SMALL_FEW; c++)
                products[c] = fmaf(a[EACH - 1][k], __shfl_sync(lanes.mask, a[EACH - 1][k], L - 1 - TD_SMALL_FEW + c, L),
                                   products[c]);
            if (lanes.lane == k % L) // the reciprocal of the diagonal is what is kept
                a[k / L][k] = inverse;
        }
#pragma unroll
    for (int s = 0; s < EACH; s++)
    {
        const int i = lanes.lane + L * s;
        const bool is_behind = i >= behind && i <= behind + n;
        float *to = S + (is_behind ? td_row(r, r) + (i - behind) * r : td_row(r, i));
        const int last = is_behind ? r - 1 : i < r ? i : -1;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (j <= L * s + L - 1 && j <= last)
                to[j] = a[s][j];
    }
    if (n <= TD_SMALL_FEW)
    {
        const int mine = lanes.lane - (L - 1 - TD_SMALL_FEW); // 0: motion; then actuators
#pragma unroll
        for (int c = 0; c <= TD_SMALL_FEW; c++)
            if (mine >= 1 && mine <= n && c <= mine)
                work->products[(mine - 1) * (n + 1) + c] = products[c];
    }
    __syncwarp(lanes.mask);
    if (n > TD_SMALL_FEW)
        td_robot_products(r, n, work, lanes);
    return good;
}

/// y <- L^-T y, number j in lane j % L.
template <int L, int COLUMNS>
static __device__ __forceinline__ void back(int r, const float *S, float *y, tdLanes lanes)
{
    enum
    {
        EACH = (COLUMNS + L - 1) / L
    };
    float x[EACH], inverse[EACH];
#pragma unroll
    for (int s = 0; s < EACH; s++)
    {
        const int j = lanes.lane + L * s;
        x[s] = j < r ? y[j] : 0.0f;
        inverse[s] = j < r ? S[j * (j + 1) / 2 + j] : 0.0f;
    }
#pragma unroll
    for (int k = COLUMNS - 1; k >= 0; k--)
        if (k < r)
        {
            const float now = __shfl_sync(lanes.mask, x[k / L] * inverse[k / L], k % L, L);
#pragma unroll
            for (int s = 0; s <= k / L; s++)
            {
                const int j = lanes.lane + L * s;
                if (j < k)
                    x[s] = fmaf(-S[k * (k + 1) / 2 + j], now, x[s]);
            }
        }
#pragma unroll
    for (int s = 0; s < EACH; s++)
        if (lanes.lane + L * s < r)
            y[lanes.lane + L * s] = x[s] * inverse[s];
    __syncwarp(lanes.mask);
}

// The shape is a constant of the kernel, so that one branch is left of each of these.

static __device__ __host__ __forceinline__ bool factor_lanes(const tdGpuPlan *plan, const tdRobotWork *work,
                                                             tdLanes lanes, float mass, float stiff, int left)
{
#if defined(__CUDA_ARCH__)
    switch (lanes.shape)
    {
    case SHAPE_OF(8, 28, 4): return factor<8, 28, 4>(plan, work, lanes, mass, stiff, left);
    case SHAPE_OF(8, 36, 5): return factor<8, 36, 5>(plan, work, lanes, mass, stiff, left);
    case SHAPE_OF(8, 40, 6): return factor<8, 40, 6>(plan, work, lanes, mass, stiff, left);
    case SHAPE_OF(32, 32, 1): return factor<32, 32, 1>(plan, work, lanes, mass, stiff, left);
    case SHAPE_OF(32, 40, 2): return factor<32, 40, 2>(plan, work, lanes, mass, stiff, left);
    default: break;
    }
#endif
    return td_robot_factored(plan, work, lanes, mass, stiff, left);
}

static __device__ __host__ __forceinline__ void back_lanes(int r, const float *S, float *y, tdLanes lanes)
{
#if defined(__CUDA_ARCH__)
    switch (lanes.shape)
    {
    case SHAPE_OF(8, 28, 4): return back<8, 28>(r, S, y, lanes);
    case SHAPE_OF(8, 36, 5): return back<8, 36>(r, S, y, lanes);
    case SHAPE_OF(8, 40, 6): return back<8, 40>(r, S, y, lanes);
    case SHAPE_OF(32, 32, 1): return back<32, 32>(r, S, y, lanes);
    case SHAPE_OF(32, 40, 2): return back<32, 40>(r, S, y, lanes);
    default: break;
    }
#endif
    td_robot_back(r, S, y, lanes);
}
