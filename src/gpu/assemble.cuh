// SPDX-License-Identifier: Apache-2.0
// Forces and tangents of 16 robots by one block, on the matrix units. Elements come in chunks of 16:
//
//     1  F = F0 + B q for 2 elements x 16 robots a warp: one product over q with both split into two halves of fp16,
//        passed round within the warp so that a thread owns the nine numbers of an element and a robot; then stress and
//        rows of the tangent (robot.h)
//     2  the rows times B, four an element and robot; forces split, summed where they are made
//     3  the rank update of each robot's matrix, two robots a warp, lower triangle in 16 x 8 tiles
//
// Rows are split too, and so is the rank update, three products in the place of one; or both take one pass of fp16,
// which is faster: where a body turns more than it strains, most of what is constant in its tangent is taken away
// again, and of what is left fewer digits are right.
//
// Numbers are scaled so that halves hold them: modes by the largest number of their column of B, points by the root of
// their weight. A robot whose numbers are not finite stays alone with them: it is a row or a column of every product.
#pragma once
#include "gpu/factor.cuh"

#include <cuda_fp16.h>

#define CHUNK   16 // elements
#define GROUP   16 // robots
#define WARPS   8
#define POINT   20 // numbers of a point
#define Q_SCALE 64.0f
#define B_SCALE 64.0f

/// What the kernel reads, made from a plan (back_cuda.cu).
typedef struct tdFragments
{
    const uint4 *gradient; ///< B for F
    const uint4 *rows;     ///< B for rows
    const uint4 *columns;  ///< B for the update of whole tangents, high and low
    const float *point;    ///< POINT a point: F0, root of the weight, mu, lambda, law; kappa, c10, c01, kind of volume
    const float *mode;     ///< r: what q is multiplied by
    int chunks;
    float of_row, of_stress; ///< scales of rows and stresses
    // Of rotations that are kept (lagged.cuh)
    const float *rest;        ///< REST a point: the rotation at rest
    const uint32_t *cofactor; ///< by pair of modes: TURNED halves a point
    const int *place;         ///< of every other pair of modes, in K; -1: none
    uint32_t *turned;         ///< by robot, as cofactor: rotations beside those at rest
} tdFragments;

/// What it writes, by part (see gridDim.y) and robot.
typedef struct tdAssembled
{
    float *K;     ///< RP x RP: tiles of the lower triangle
    float *f;     ///< RP
    float *other; ///< 2: energy, odd points
} tdAssembled;

template <int R_, bool SPLIT> struct Shape
{
    enum
    {
        KIND = SPLIT ? 10 : 5,   // words of a row: halves, and what they leave
        KEPT = 4 * KIND + 10,    // words of an element and robot: R, three rows, stress in both parts
        STORE = SPLIT ? 52 : 36, // their distance, so that no bank is met twice
        RP = (R_ + 7) / 8 * 8,
        NJ = RP / 8,
        NI = (RP + 15) / 16,
        NP = RP / 2,           // pairs of modes
        KS = (3 * NP + 7) / 8, // steps of 16 in the product for F
        KH = (KS + 1) / 2,     // pairs of them
        FST = 24,              // numbers of F of two elements, each filled up to twelve
        AST = ((KS * 8 + 27) / 32) * 32 + 4,
        RSTR = RP * 32 + 4,
        ES = GROUP * STORE + 2, // stores of elements and robots next to each other meet no bank twice
        WORDS_R = CHUNK * ES,
        WORDS_H = GROUP * RSTR,
        WORDS_A = GROUP * AST,
        SMEM = (WORDS_R + (SPLIT ? 2 : 1) * WORDS_H + WORDS_A) * 4,
        BLOCKS = RP <= 16 && !SPLIT ? 2 : 1 // on a multiprocessor; with more modes two would have to spill registers
    };
};

__device__ __forceinline__ void mma(float *c, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                    uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/// c = the product, without zeros in registers before it.
__device__ __forceinline__ void mma_first(float *c, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                          uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,"
                 "%10};"
                 : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(0.0f));
}

__device__ __forceinline__ uint32_t pack(float a, float b)
{
    __half2 h = __floats2half2_rn(a, b);
    return *(uint32_t *)&h;
}

__device__ __forceinline__ void split(float a, float b, uint32_t *high, uint32_t *low)
{
    __half2 h = __floats2half2_rn(a, b);
    float2 f = __half22float2(h);
    *high = *(uint32_t *)&h;
    *low = pack(a - f.x, b - f.y);
}

/// Words of nine numbers: five of halves, and five of what they leave.
template <bool SPLIT> __device__ __forceinline__ void pack9(const float *x, float scale, uint32_t *to)
{
#pragma unroll
    for (int k = 0; k < 5; k++)
    {
        float a = scale * x[2 * k], b = k < 4 ? scale * x[2 * k + 1] : 0.0f;
        if (SPLIT)
            split(a, b, &to[k], &to[5 + k]);
        else
            to[k] = pack(a, b);
    }
}

template <int N> __device__ __forceinline__ void store_words(uint32_t *to, const uint32_t *words)
{
#pragma unroll
    for (int k = 0; k < N / 2; k++)
        ((uint2 *)to)[k] = make_uint2(words[2 * k], words[2 * k + 1]);
}

/// What a thread needs of a row of one element, of the robots up to 7 (x) and 8 on (y): nine numbers, and where they
/// are split their rests, in 32 places instead of 27.
template <bool SPLIT> __device__ __forceinline__ void take_row(const uint32_t *x, const uint32_t *y, int t, uint32_t *a)
{
    const int special = SPLIT && t == 1 ? 9 : 4;
    const bool has = t < (SPLIT ? 3 : 1);
    a[0] = x[t];
    a[1] = y[t];
    a[2] = has ? x[special] : 0;
    a[3] = has ? y[special] : 0;
    if (SPLIT)
    {
        a[4] = x[5 + t];
        a[5] = y[5 + t];
    }
}

/// c += the row times B of the element (FIRST: c = it): halves alone, or with what they leave of both.
template <bool SPLIT, bool FIRST>
__device__ __forceinline__ void row_product(float *c, const uint32_t *a, const uint32_t *b)
{
    if (SPLIT)
    {
        if (FIRST)
            mma_first(c, a[0], a[1], a[4], a[5], b[0], b[0]);
        else
            mma(c, a[0], a[1], a[4], a[5], b[0], b[0]);
        mma(c, a[0], a[1], a[2], a[3], b[1], b[2]);
    }
    else if (FIRST)
        mma_first(c, a[0], a[1], a[2], a[3], b[0], b[2]);
    else
        mma(c, a[0], a[1], a[2], a[3], b[0], b[2]);
}

/// B of a warp's four elements, of every other column of tiles.
template <class s, int JJ> __device__ __forceinline__ void load_rows(const tdFragments &in, int chunk, uint32_t (*b)[12])
{
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    const uint4 *B = in.rows + ((size_t)(chunk * 4 + (w >> 1)) * s::NJ * 3) * 32 + lane;
#pragma unroll
    for (int jj = 0; jj < JJ; jj++)
        if (2 * jj + 1 < s::NJ || (w & 1) == 0)
#pragma unroll
            for (int k = 0; k < 3; k++)
                *(uint4 *)&b[jj][4 * k] = __ldg(B + (2 * jj + (w & 1)) * 96 + 32 * k);
}

/// Stresses of four elements times B, for robots up to 7 (x) and 8 on (y).
template <class s, int JJ>
__device__ __forceinline__ void add_forces(const uint32_t *x, const uint32_t *y, const uint32_t (*b)[12],
                                           float (*force)[4])
{
    const int t = threadIdx.x & 3, w = threadIdx.x >> 5;
#pragma unroll
    for (int e = 0; e < 4; e++)
    {
        uint32_t a[6];
        take_row<true>(x + e * s::ES, y + e * s::ES, t, a);
#pragma unroll
        for (int jj = 0; jj < JJ; jj++)
            if (2 * jj + 1 < s::NJ || (w & 1) == 0)
                row_product<true, false>(force[jj], a, b[jj] + 3 * e);
    }
}

/// q of the robots of the block, as halves: the high ones, what they leave, and the high ones again.
template <class s>
__device__ void place_modes(const tdGpuPlan *plan, const double *rows, int n, tdFragments in, int first, uint32_t *sA)
{
    for (int i = threadIdx.x; i < GROUP * s::KS * 8; i += WARPS * 32)
    {
        int robot = i / (s::KS * 8), p = i % (s::KS * 8);
        uint32_t v = 0;
        if (p < 3 * s::NP)
        {
            int k = 2 * (p % s::NP);
            int at = min(first + robot, n - 1);
            const double *q = rows + (size_t)at * plan->at.width + plan->at.q; // perhaps just written by another block
            float a = k < plan->r ? (float)__ldcg(q + k) * in.mode[k] * Q_SCALE : 0.0f;
            float b = k + 1 < plan->r ? (float)__ldcg(q + k + 1) * in.mode[k + 1] * Q_SCALE : 0.0f;
            uint32_t high, low;
            split(a, b, &high, &low);
            v = p / s::NP == 1 ? low : high;
        }
        sA[robot * s::AST + p] = v;
    }
}

/// F of the thread's element and robot: 2 elements x 16 robots a warp, by way of `round`, 16 rows of FST.
template <class s>
__device__ __forceinline__ void gradients(const tdFragments &in, int chunk, const uint32_t *sA, float *round,
                                          const float *F0, float *F)
{
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
    const uint4 *B = in.gradient + (size_t)(chunk * WARPS + w) * 3 * s::KH * 32 + lane;
    float f[3][4];
#pragma unroll
    for (int m = 0; m < 3; m++)
        f[m][0] = f[m][1] = f[m][2] = f[m][3] = 0;
    const uint32_t *q = sA + g * s::AST + t, *q8 = q + 8 * s::AST;
#pragma unroll
    for (int k = 0; k < s::KH; k++)
    {
        uint4 b[3];
#pragma unroll
        for (int m = 0; m < 3; m++)
            b[m] = __ldg(B + (m * s::KH + k) * 32);
        uint32_t a0 = q[k * 16], a1 = q8[k * 16], a2 = q[k * 16 + 4], a3 = q8[k * 16 + 4];
#pragma unroll
        for (int m = 0; m < 3; m++)
            mma(f[m], a0, a1, a2, a3, b[m].x, b[m].y);
        if (2 * k + 1 < s::KS)
        {
            a0 = q[k * 16 + 8];
            a1 = q8[k * 16 + 8];
            a2 = q[k * 16 + 12];
            a3 = q8[k * 16 + 12];
#pragma unroll
            for (int m = 0; m < 3; m++)
                mma(f[m], a0, a1, a2, a3, b[m].z, b[m].w);
        }
    }
#pragma unroll
    for (int m = 0; m < 3; m++)
    {
        *(float2 *)(round + g * s::FST + 8 * m + 2 * t) = make_float2(f[m][0], f[m][1]);
        *(float2 *)(round + (g + 8) * s::FST + 8 * m + 2 * t) = make_float2(f[m][2], f[m][3]);
    }
    __syncwarp();
    const float *own = round + (lane >> 1) * s::FST + 12 * (lane & 1);
    const float4 f0 = *(const float4 *)own, f1 = *(const float4 *)(own + 4);
    const float nine[9] = {f0.x, f0.y, f0.z, f0.w, f1.x, f1.y, f1.z, f1.w, own[8]};
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 9; k++)
        F[k] = F0[k] + nine[k] * (1 / (Q_SCALE * B_SCALE));
}

/// Where the half k of a row of the rank update stands: mode c, group of four elements G, words of t and of k / 8. In
/// every other pair of robots two groups change places, which the sum over them does not notice and banks do.
__device__ __forceinline__ int place_of(int c, int t, int G)
{
    return c * 32 + (((t * 2 + (G >> 1)) ^ (c & 7)) << 2) + (G & 1) * 2;
}

/// c += x'(signs) y over eight elements.
__device__ __forceinline__ void rank_update(float *c, uint4 x, uint4 x8, uint4 y, uint32_t low, uint32_t high)
{
    mma(c, x.x ^ low, x8.x ^ low, x.y ^ high, x8.y ^ high, y.x, y.y);
    mma(c, x.z ^ low, x8.z ^ low, x.w ^ high, x8.w ^ high, y.z, y.w);
}

/// Lower triangles in 16 x 8 tiles, of two robots a warp.
template <class s>
__device__ __forceinline__ void write_matrices(int n, int first, const float (*acc)[s::NI * s::NJ][4], tdAssembled out)
{
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int a = 0; a < 2; a++)
    {
        const int robot = first + 2 * w + a;
        float *K = out.K + ((size_t)blockIdx.y * n + robot) * s::RP * s::RP;
        if (robot >= n)
            continue;
#pragma unroll
        for (int i = 0; i < s::NI; i++)
#pragma unroll
            for (int j = 0; j < s::NJ; j++)
                if (j <= 2 * i + 1)
                {
                    const float *c = acc[a][i * s::NJ + j];
                    int top = 16 * i + g, column = 8 * j + 2 * t;
                    if (top < s::RP)
                        *(float2 *)(K + top * s::RP + column) = make_float2(c[0], c[1]);
                    if (top + 8 < s::RP)
                        *(float2 *)(K + (top + 8) * s::RP + column) = make_float2(c[2], c[3]);
                }
    }
}

/// Sums over warps, in their order: forces over groups of elements, energies over all.
template <class s>
__device__ __forceinline__ void write_sums(int n, int first, const float (*force)[4], float energy, float odd, float *sum,
                                           tdAssembled out)
{
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
    float *sums = sum + 4 * GROUP * s::RP;
    const int G = w >> 1;
#pragma unroll
    for (int jj = 0; jj < (s::NJ + 1) / 2; jj++)
#pragma unroll
        for (int q = 0; q < 4; q++)
        {
            const int j = 2 * jj + (w & 1);
            if (j < s::NJ)
                sum[(G * GROUP + g + (q >> 1) * 8) * s::RP + 8 * j + 2 * t + (q & 1)] = force[jj][q];
        }
    energy += __shfl_xor_sync(~0u, energy, 1); // both elements
    odd += __shfl_xor_sync(~0u, odd, 1);
    sums[w * 32 + lane] = lane & 1 ? odd : energy;
    __syncthreads();
    for (int i = threadIdx.x; i < GROUP * s::RP; i += WARPS * 32)
    {
        int robot = first + i / s::RP;
        if (robot < n)
            out.f[((size_t)blockIdx.y * n + robot) * s::RP + i % s::RP] =
                (sum[i] + sum[GROUP * s::RP + i]) + (sum[2 * GROUP * s::RP + i] + sum[3 * GROUP * s::RP + i]);
    }
    if (threadIdx.x < 32 && first + threadIdx.x / 2 < n)
    {
        float all = 0;
        for (int k = 0; k < WARPS; k++)
            all += sums[k * 32 + threadIdx.x];
        out.other[((size_t)blockIdx.y * n + first + threadIdx.x / 2) * 2 + threadIdx.x % 2] = all;
    }
}

/// Block (x, y): part y of the elements for the robots of group x. SHORT: with less code, for blocks that have so few
/// elements that it is not in the cache when they come to it.
template <int R_, bool SPLIT, bool SHORT>
static __device__ __forceinline__ void assemble(const tdGpuPlan *plan, const double *rows, int n, tdFragments in,
                                                tdAssembled out, uint32_t *sm)
{
    typedef Shape<R_, SPLIT> s;
    const int STORE = s::STORE, KIND = s::KIND, STRESS = 4 * KIND;
    uint32_t *sR = sm, *sH = sm + s::WORDS_R, *sA = sH + s::WORDS_H, *sL = sA + s::WORDS_A;
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
    const int first = blockIdx.x * GROUP;
    place_modes<s>(plan, rows, n, in, first, sA);
    float acc[2][s::NI * s::NJ][4], force[(s::NJ + 1) / 2][4], energy = 0;
    int odd_points = 0;
#pragma unroll
    for (int a = 0; a < 2; a++)
#pragma unroll
        for (int b = 0; b < s::NI * s::NJ; b++)
            acc[a][b][0] = acc[a][b][1] = acc[a][b][2] = acc[a][b][3] = 0;
#pragma unroll
    for (int j = 0; j < (s::NJ + 1) / 2; j++)
        force[j][0] = force[j][1] = force[j][2] = force[j][3] = 0;
    const int element = 2 * w + (lane & 1), mine = lane >> 1; // of a chunk, of the robots
    const double *row = rows + (size_t)min(first + mine, n - 1) * plan->at.width;
    const float damped = td_robot_damped(plan, row);
    __syncthreads();
    const int per = (in.chunks + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * per,
              end = min(begin + per, in.chunks);
    for (int chunk = begin; chunk < end; chunk++)
    {
        {
            const float4 *from = (const float4 *)(in.point + (size_t)(chunk * CHUNK + element) * POINT);
            const float4 p0 = __ldg(from), p1 = __ldg(from + 1), p2 = __ldg(from + 2), p3 = __ldg(from + 3);
            const float F0[9] = {p0.x, p0.y, p0.z, p0.w, p1.x, p1.y, p1.z, p1.w, p2.x};
            const float root = p2.y, mu = p2.z, lambda = p2.w;
            uint32_t *to = sR + element * s::ES + mine * STORE;
            float R[9], C[6], V[3][9], along;
            tdPolar polar;
            bool odd;
            {
                float F[9], P[9];
                uint32_t words[10];
                // Round the warp by way of the place where its own elements are kept later.
                gradients<s>(in, chunk, sA, (float *)(sR + 2 * w * s::ES), F0, F);
                energy += root * root * td_point_stress(F, mu, lambda, P, R, C, &polar);
                pack9<true>(P, root * in.of_stress, words);
                store_words<10>(to + STRESS, words);
            }
            td_point_rows(&polar, C, R, mu, lambda, __float_as_int(p3.x), damped, V, &along, &odd);
            odd_points += odd;
            // Two rows at a time: pairs of words are stored together.
            uint32_t words[2 * KIND];
            pack9<SPLIT>(R, along * in.of_row, words);
            pack9<SPLIT>(V[0], in.of_row, words + KIND);
            store_words<2 * KIND>(to, words);
            pack9<SPLIT>(V[1], in.of_row, words);
            pack9<SPLIT>(V[2], in.of_row, words + KIND);
            store_words<2 * KIND>(to + 2 * KIND, words);
        }
        __syncthreads();
        {
            const int G = w >> 1;
            const uint32_t *r0 = sR + 4 * G * s::ES + g * STORE, *r1 = r0 + 8 * STORE;
            const int JJ = (s::NJ + 1) / 2; // columns of tiles that a warp does, at most
            alignas(16) uint32_t b[JJ][12];
            load_rows<s, JJ>(in, chunk, b);
            add_forces<s, JJ>(r0 + STRESS, r1 + STRESS, b, force);
#pragma unroll(SHORT ? 1 : 2)
            for (int half = 0; half < 2; half++) // kinds 0 and 2, then 1 and 3
#pragma unroll
                for (int pair = 0; pair < 2; pair++) // of elements
                {
                    uint32_t a[2][2][6];
#pragma unroll
                    for (int k = 0; k < 2; k++)
#pragma unroll
                        for (int e = 0; e < 2; e++)
                        {
                            const uint32_t *x = r0 + (2 * pair + e) * s::ES + KIND * (half + 2 * k);
                            take_row<SPLIT>(x, x + 8 * STORE, t, a[k][e]);
                        }
#pragma unroll
                    for (int jj = 0; jj < JJ; jj++)
                        if (2 * jj + 1 < s::NJ || (w & 1) == 0)
                        {
                            const int j = 2 * jj + (w & 1);
                            float c[2][2][4];
#pragma unroll
                            for (int k = 0; k < 2; k++)
#pragma unroll
                                for (int e = 0; e < 2; e++)
                                    row_product<SPLIT, true>(c[k][e], a[k][e], b[jj] + 3 * (2 * pair + e));
#pragma unroll
                            for (int q = 0; q < 4; q++)
                            {
                                const int robot = g + (q >> 1) * 8, mode = 8 * j + 2 * t + (q & 1);
                                const int at = robot * s::RSTR + place_of(mode, 2 * half + pair, G ^ (g >> 1 & 1));
                                uint2 high, low;
                                if (SPLIT)
                                {
                                    split(c[0][0][q], c[0][1][q], &high.x, &low.x);
                                    split(c[1][0][q], c[1][1][q], &high.y, &low.y);
                                    *(uint2 *)(sL + at) = low;
                                }
                                else
                                    high = make_uint2(pack(c[0][0][q], c[0][1][q]), pack(c[1][0][q], c[1][1][q]));
                                *(uint2 *)(sH + at) = high;
                            }
                        }
                }
        }
        __syncthreads();
        // Of k = 4 kind + element the first kind is added and the others are taken away.
        const uint32_t low = t >= 2 ? 0x80008000u : 0, high = 0x80008000u; // signs
#pragma unroll
        for (int a = 0; a < 2; a++)
        {
            const int robot = 2 * w + a;
#pragma unroll(SHORT ? 1 : 2)
            for (int part = 0; part < 2; part++)
            {
                uint4 H[2 * s::NI], L[2 * s::NI];
#pragma unroll
                for (int b = 0; b < 2 * s::NI; b++)
                {
                    const int at = robot * s::RSTR + place_of(8 * b + g, t, 2 * part);
                    H[b] = b < s::NJ ? *(const uint4 *)(sH + at) : make_uint4(0, 0, 0, 0);
                    L[b] = SPLIT && b < s::NJ ? *(const uint4 *)(sL + at) : make_uint4(0, 0, 0, 0);
                }
#pragma unroll
                for (int i = 0; i < s::NI; i++)
#pragma unroll
                    for (int j = 0; j < s::NJ; j++)
                        if (j <= 2 * i + 1)
                        {
                            float *c = acc[a][i * s::NJ + j];
                            rank_update(c, H[2 * i], H[2 * i + 1], H[j], low, high);
                            if (SPLIT)
                            {
                                rank_update(c, H[2 * i], H[2 * i + 1], L[j], low, high);
                                rank_update(c, L[2 * i], L[2 * i + 1], H[j], low, high);
                            }
                        }
            }
        } // who is early may begin with the next chunk: what it writes first is not read here
    }
    write_matrices<s>(n, first, acc, out);
    __syncthreads();
    write_sums<s>(n, first, force, energy, (float)odd_points, (float *)sH, out);
}

template <int R_, bool SPLIT>
__global__ void __launch_bounds__(WARPS * 32, Shape<R_, SPLIT>::BLOCKS)
    assemble_kernel(const tdGpuPlan *plan, const double *rows, int n, tdFragments in, tdAssembled out)
{
    extern __shared__ uint32_t sm[];
    assemble<R_, SPLIT, false>(plan, rows, n, in, out, sm);
}
