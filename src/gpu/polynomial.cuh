// SPDX-License-Identifier: Apache-2.0
// Forces and tangents of bodies whose energy is a polynomial of degree four (reduce/stvk.h), 32 robots a block, a lane
// each. With x the products of pairs of coordinates, y2 = Q q and y3 = S x are products with matrices that all robots
// share, 16 rows at a time; then K = P + 2 y2 + 3 y3 and f = (P + y2 + y3) q.
#pragma once
#include "gpu/assemble.cuh"

#define LINE 33 // numbers of 32 robots, so that lanes meet no bank twice along either way

static __host__ __device__ size_t polynomial_shared(int r)
{
    return ((size_t)r + 3 * (size_t)TD_GPU_PAIRS(r) + WARPS) * LINE * sizeof(float);
}

/// y += the columns of a tile times x.
static __device__ __forceinline__ void add_columns(const float *tile, int columns, const float *x, float *y)
{
    for (int c = 0; c < columns; c++)
    {
        const float by = x[c * LINE];
#pragma unroll
        for (int k = 0; k < TD_GPU_TILE; k += 4)
        {
            const float4 m = __ldg((const float4 *)(tile + c * TD_GPU_TILE + k));
            y[k] = fmaf(m.x, by, y[k]);
            y[k + 1] = fmaf(m.y, by, y[k + 1]);
            y[k + 2] = fmaf(m.z, by, y[k + 2]);
            y[k + 3] = fmaf(m.w, by, y[k + 3]);
        }
    }
}

/// Whether a triangle is that of a definite matrix, which it is no more afterwards.
static __device__ bool definite(int r, float *K)
{
    for (int k = 0; k < r; k++)
    {
        float *own = K + (size_t)TD_GPU_PAIRS(k) * LINE, d = own[k * LINE];
        if (!(d > 0))
            return false;
        float inverse = 1 / d;
        for (int i = k + 1; i < r; i++)
        {
            float *row = K + (size_t)TD_GPU_PAIRS(i) * LINE, x = row[k * LINE] * inverse;
            for (int j = k + 1; j <= i; j++)
                row[j * LINE] -= x * K[(size_t)(TD_GPU_PAIRS(j) + k) * LINE];
        }
    }
    return true;
}

static __global__ void __launch_bounds__(WARPS * 32)
    polynomial_kernel(const tdGpuPlan *plan, const double *rows, int n, int stride, tdAssembled out)
{
    extern __shared__ uint32_t sm[];
    const int r = plan->r, pairs = TD_GPU_PAIRS(r), columns = 1 + r + pairs, lane = threadIdx.x & 31,
              w = threadIdx.x >> 5, first = blockIdx.x * 32;
    const float *table = (const float *)((const char *)plan + plan->polynomial);
    float *q = (float *)sm, *x = q + r * LINE, *Y = x + pairs * LINE, *K = Y + pairs * LINE, *sums = K + pairs * LINE;
    for (int k = threadIdx.x; k < 32 * r; k += WARPS * 32)
    {
        const int robot = min(first + k / r, n - 1);
        q[k % r * LINE + k / r] = (float)rows[(size_t)robot * plan->at.width + plan->at.q + k % r];
    }
    __syncthreads();
    for (int j = w; j < r; j += WARPS)
        for (int i = 0; i <= j; i++)
            x[(TD_GPU_PAIRS(j) + i) * LINE + lane] =
                (i < j ? 2.0f : 1.0f) * q[i * LINE + lane] * q[j * LINE + lane];
    __syncthreads();
    float energy = 0;
    for (int first_row = TD_GPU_TILE * w; first_row < pairs; first_row += TD_GPU_TILE * WARPS)
    {
        const float *tile = table + (size_t)first_row * columns;
        float y2[TD_GPU_TILE], y3[TD_GPU_TILE];
#pragma unroll
        for (int k = 0; k < TD_GPU_TILE; k++)
            y2[k] = y3[k] = 0;
        add_columns(tile + TD_GPU_TILE, r, q + lane, y2);
        add_columns(tile + (1 + r) * TD_GPU_TILE, pairs, x + lane, y3);
#pragma unroll
        for (int k = 0; k < TD_GPU_TILE; k++)
        {
            const int at = (first_row + k) * LINE + lane;
            const float P = __ldg(tile + k);
            if (first_row + k < pairs)
            {
                Y[at] = P + y2[k] + y3[k];
                K[at] = P + 2 * y2[k] + 3 * y3[k];
                energy += x[at] * (0.5f * P + (1.0f / 3) * y2[k] + 0.25f * y3[k]);
            }
        }
    }
    sums[w * LINE + lane] = energy;
    __syncthreads();
    for (int j = w; j < r; j += WARPS)
    {
        float sum = 0;
        for (int i = 0; i < r; i++)
            sum += Y[(i < j ? TD_GPU_PAIRS(j) + i : TD_GPU_PAIRS(i) + j) * LINE + lane] * q[i * LINE + lane];
        if (first + lane < n)
            out.f[(size_t)(first + lane) * stride + j] = sum;
    }
    for (int robot = w; robot < 32 && first + robot < n; robot += WARPS)
    {
        const float scale = 1 + td_robot_damped(plan, rows + (size_t)(first + robot) * plan->at.width);
        for (int j = 0; j < r; j++)
            if (lane <= j)
                out.K[((size_t)(first + robot) * stride + j) * stride + lane] =
                    scale * K[(TD_GPU_PAIRS(j) + lane) * LINE + robot];
    }
    __syncthreads();
    if (w == 0)
    {
        float all = 0;
        for (int k = 0; k < WARPS; k++)
            all += sums[k * LINE + lane];
        // Damping by a stiffness that is negative somewhere is another one than the CPU's.
        bool odd = plan->beta > 0 && !definite(r, K + lane);
        if (first + lane < n)
            ((float2 *)out.other)[first + lane] = make_float2(all, odd ? 1.0f : 0.0f);
    }
}
