// SPDX-License-Identifier: Apache-2.0
// The factor of robot.h in registers: eight lanes a robot, row i in lane i % 8, columns by exchange among them. A shape
// is 10 times the largest number of columns (a multiple of 8) plus the rows of a lane.
#pragma once

#define TD_FACTOR factor_lanes

struct tdLanes;
static __device__ __host__ bool factor_lanes(int r, int rows, int ld, float *S, tdLanes lanes);

#include "gpu/robot.h"

template <int COLUMNS, int EACH>
static __device__ __forceinline__ bool factor(int r, int rows, int ld, float *S, tdLanes lanes)
{
    float a[EACH][COLUMNS];
    bool good = true;
#pragma unroll
    for (int s = 0; s < EACH; s++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (j <= 8 * s + 7)
            {
                int i = lanes.lane + 8 * s;
                a[s][j] = i < rows && j < r ? S[i * ld + j] : 0.0f;
            }
    __syncwarp(lanes.mask);
#pragma unroll
    for (int k = 0; k < COLUMNS; k++)
        if (k < r)
        {
            float d = __shfl_sync(lanes.mask, a[k / 8][k], k % 8, 8);
            good = good && d > 0;
            float inverse = rsqrtf(d > 0 ? d : 1.0f);
#pragma unroll
            for (int s = k / 8; s < EACH; s++)
                a[s][k] *= inverse;
#pragma unroll
            for (int j = k + 1; j < COLUMNS; j++)
            {
                float b = __shfl_sync(lanes.mask, a[j / 8][k], j % 8, 8);
#pragma unroll
                for (int s = j / 8; s < EACH; s++)
                    a[s][j] = fmaf(-a[s][k], b, a[s][j]);
            }
            if (lanes.lane == k % 8) // the reciprocal of the diagonal is what is kept
                a[k / 8][k] = inverse;
        }
#pragma unroll
    for (int s = 0; s < EACH; s++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (j <= 8 * s + 7)
            {
                int i = lanes.lane + 8 * s;
                if (i < rows && j < r && (j <= i || i >= r))
                    S[i * ld + j] = a[s][j];
            }
    __syncwarp(lanes.mask);
    return good;
}

/// The shape is a constant of the kernel, so that one branch is left.
static __device__ __host__ __forceinline__ bool factor_lanes(int r, int rows, int ld, float *S, tdLanes lanes)
{
#if defined(__CUDA_ARCH__)
    switch (lanes.shape)
    {
    case 324: return factor<32, 4>(r, rows, ld, S, lanes);
    case 405: return factor<40, 5>(r, rows, ld, S, lanes);
    case 406: return factor<40, 6>(r, rows, ld, S, lanes);
    default: break;
    }
#endif
    return td_robot_factor(r, rows, ld, S, lanes);
}
