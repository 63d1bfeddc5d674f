// SPDX-License-Identifier: Apache-2.0
// Forces and tangents of 16 robots by one block where a law's tangent has no short form: D is made whole, as rows of
// 9 numbers, and K = sum w B'(D B). B is the same for all robots, so that of the second product one factor is ready.
// Elements come in chunks of 16:
//
//     1  F, stress and D of an element and a robot a thread
//     2  three rows of D B at a time, split into two halves
//     3  K += B' times them, over the 16 elements, two robots a warp
//
// A volume that hardly changes makes D stiff where most modes do not move, so that D B is always split: what is left of
// it there has to be right. The second product is split too, or takes one pass.
#pragma once
#include "gpu/lagged.cuh"

template <int R_, bool SPLIT> struct WholeShape : Shape<R_, true>
{
    typedef Shape<R_, true> base;
    enum
    {
        TOGETHER = R_ > 40 ? 1 : 3, // rows of D B: as many as shared memory has room for
        STRESS = 90,             // where it stands behind D, in words
        STORE = 100,             // words of an element and robot
        ES = GROUP * STORE + 2,  // stores of elements and robots next to each other meet no bank twice
        ROB = TOGETHER * base::RP * 8 + 4,
        WORDS_R = CHUNK * ES,
        WORDS_T = GROUP * ROB,
        SMEM = (WORDS_R + 2 * WORDS_T + base::WORDS_A) * 4
    };
};

/// THIN: some points are membranes, whose code would cost the others registers.
template <int R_, bool SPLIT, bool THIN>
__global__ void __launch_bounds__(WARPS * 32, 1)
    whole_kernel(const tdGpuPlan *plan, const double *rows, int n, tdFragments in, tdAssembled out)
{
    typedef WholeShape<R_, SPLIT> s;
    extern __shared__ uint32_t sm[];
    uint32_t *sR = sm, *sA = sm + s::WORDS_R, *const sT = sA + s::WORDS_A;
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, g = lane >> 2, t = lane & 3, G = w >> 1;
    const int first = blockIdx.x * GROUP, element = 2 * w + (lane & 1), mine = lane >> 1;
    const int JJ = (s::NJ + 1) / 2; // columns of tiles that a warp does, at most
    place_modes<s>(plan, rows, n, in, first, sA);
    float acc[2][s::NI * s::NJ][4], force[JJ][4], energy = 0;
    int odd_points = 0, turn = 0;
#pragma unroll
    for (int a = 0; a < 2; a++)
#pragma unroll
        for (int b = 0; b < s::NI * s::NJ; b++)
            acc[a][b][0] = acc[a][b][1] = acc[a][b][2] = acc[a][b][3] = 0;
#pragma unroll
    for (int j = 0; j < JJ; j++)
        force[j][0] = force[j][1] = force[j][2] = force[j][3] = 0;
    const float damped = td_robot_damped(plan, rows + (size_t)min(first + mine, n - 1) * plan->at.width);
    __syncthreads();
    const int per = (in.chunks + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * per,
              end = min(begin + per, in.chunks);
    for (int chunk = begin; chunk < end; chunk++)
    {
        {
            const float4 *from = (const float4 *)(in.point + (size_t)(chunk * CHUNK + element) * POINT);
            const float4 p0 = __ldg(from), p1 = __ldg(from + 1), p2 = __ldg(from + 2), p3 = __ldg(from + 3),
                         p4 = __ldg(from + 4);
            const float F0[9] = {p0.x, p0.y, p0.z, p0.w, p1.x, p1.y, p1.z, p1.w, p2.x}, root = p2.y;
            const tdGpuPoint point = {0, p2.z, p2.w, __float_as_int(p3.x), p3.y, p3.z, p3.w, __float_as_int(p4.x)};
            float F[9], P[9], D[TD_GPU_PACKED(9, 0)];
            bool odd;
            // Round the warp by way of the place where its own elements are kept later.
            gradients<s>(in, chunk, sA, (float *)(sR + 2 * w * s::ES), F0, F);
            energy += root * root * (THIN ? td_point_whole(&point, F, damped, P, D, &odd)
                                          : td_point_solid(&point, F, damped, P, D, &odd));
            odd_points += odd;
            uint32_t *to = sR + element * s::ES + mine * s::STORE;
#pragma unroll
            for (int i = 0; i < 10; i++)
            {
                float row[9];
                uint32_t words[10];
#pragma unroll
                for (int j = 0; j < 9; j++)
                    row[j] = i == 9 ? P[j] : D[i >= j ? TD_GPU_PACKED(i, j) : TD_GPU_PACKED(j, i)];
                pack9<true>(row, i == 9 ? root * in.of_stress : in.of_row, words);
                store_words<10>(to + 10 * i, words);
            }
        }
        __syncthreads();
        const uint32_t *r0 = sR + 4 * G * s::ES + g * s::STORE, *r1 = r0 + 8 * s::STORE;
        alignas(16) uint32_t b[JJ][12];
        load_rows<s, JJ>(in, chunk, b);
        add_forces<s, JJ>(r0 + s::STRESS, r1 + s::STRESS, b, force);
#pragma unroll 1
        for (int three = 0; three < 9; three += s::TOGETHER, turn ^= 1)
        {
            // Where there are no rests, turns have a place each, and none waits for the end of the last.
            uint32_t *sH = sT + (SPLIT ? 0 : turn * s::WORDS_T), *sL = sT + s::WORDS_T;
            {
                if (SPLIT) // there are no registers to keep them in
                    load_rows<s, JJ>(in, chunk, b);
#pragma unroll
                for (int k = 0; k < s::TOGETHER; k++)
                {
                    uint32_t a[4][6];
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        take_row<true>(r0 + e * s::ES + 10 * (three + k), r1 + e * s::ES + 10 * (three + k), t, a[e]);
#pragma unroll
                    for (int jj = 0; jj < JJ; jj++)
                        if (2 * jj + 1 < s::NJ || (w & 1) == 0)
                        {
                            float c[4][4];
#pragma unroll
                            for (int e = 0; e < 4; e++)
                                row_product<true, true>(c[e], a[e], b[jj] + 3 * e);
#pragma unroll
                            for (int q = 0; q < 4; q++)
                            {
                                const int mode = 8 * (2 * jj + (w & 1)) + 2 * t + (q & 1);
                                const int at = (g + (q >> 1) * 8) * s::ROB + k * s::RP * 8 + pair_of(mode, G);
                                uint2 high = make_uint2(pack(c[0][q], c[1][q]), pack(c[2][q], c[3][q])), low;
                                if (SPLIT)
                                {
                                    split(c[0][q], c[1][q], &high.x, &low.x);
                                    split(c[2][q], c[3][q], &high.y, &low.y);
                                    *(uint2 *)(sL + at) = low;
                                }
                                *(uint2 *)(sH + at) = high;
                            }
                        }
                }
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < s::TOGETHER; k++)
            {
                uint4 high[s::NI], low[s::NI];
                const uint4 *B = in.columns + ((size_t)(chunk * 9 + three + k) * s::NI * 2) * 32 + lane;
#pragma unroll
                for (int i = 0; i < s::NI; i++)
                {
                    high[i] = __ldg(B + 64 * i);
                    low[i] = SPLIT ? __ldg(B + 64 * i + 32) : make_uint4(0, 0, 0, 0);
                }
#pragma unroll
                for (int a = 0; a < 2; a++)
#pragma unroll
                    for (int j = 0; j < s::NJ; j++)
                    {
                        const int at = (2 * w + a) * s::ROB + k * s::RP * 8 + pair_of(8 * j + g, t);
                        const uint2 H = *(const uint2 *)(sH + at),
                                    L = SPLIT ? *(const uint2 *)(sL + at) : make_uint2(0, 0);
#pragma unroll
                        for (int i = 0; i < s::NI; i++)
                            if (j <= 2 * i + 1)
                            {
                                float *c = acc[a][i * s::NJ + j];
                                mma(c, high[i].x, high[i].y, high[i].z, high[i].w, H.x, H.y);
                                if (SPLIT)
                                {
                                    mma(c, high[i].x, high[i].y, high[i].z, high[i].w, L.x, L.y);
                                    mma(c, low[i].x, low[i].y, low[i].z, low[i].w, H.x, H.y);
                                }
                            }
                    }
            }
            if (SPLIT && three + s::TOGETHER < 9) // what the next chunk writes first is not read here
                __syncthreads();
        }
    }
    write_matrices<s>(n, first, acc, out);
    __syncthreads();
    write_sums<s>(n, first, force, energy, (float)odd_points, (float *)sT, out);
}
