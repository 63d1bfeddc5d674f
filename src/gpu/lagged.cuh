// SPDX-License-Identifier: Apache-2.0
// Forces and tangents where every point is of the law whose tangent keeps the rotation. With G = R'dF,
// tr(G^2) = tr(G)^2 - 2 R : cof(dF), because cof(R) = R, so that
//
//     K = sum w mu B'B  +  sum w (lambda + mu) b'b  -  2 sum w mu R : cof(B),     b = R : B
//
// one row an element in the place of four, a constant, and what is linear in R: one product of a table of cofactors of
// pairs of modes, which all robots share, with the rotations of all robots. Of these what they are at rest belongs to
// the constant, which is exact. So one pass of halves takes away far less than it does with four rows, and comes out far
// nearer; where everything is split the product would cost more than three rows, and assemble.cuh does it.
//
//     1  F, stress and rotation as in assemble.cuh; the rotations go to memory as halves
//     2  one row an element times B; forces
//     3  its rank update, two robots a warp
//     4  another kernel: K += rotations times cofactors, 128 robots by 128 pairs of modes a block
#pragma once
#include "gpu/assemble.cuh"

#define TURNED       10      // halves of a rotation, the last one 0
#define REST         12      // numbers of one at rest, the last three 0
#define COFACTOR     1024.0f // scale of their table
#define PRODUCT_TILE 128     // robots and pairs of a block of the product
#define PRODUCT_K    64      // halves of a stage of it
#define PRODUCT_DEEP 3       // stages
#define PRODUCT_WARPS 4      // of a block
#define AT_ONCE      2       // chunks

template <int R_> struct LaggedShape : Shape<R_, false>
{
    typedef Shape<R_, false> base;
    enum
    {
        ROTATION = 10, // words of an element and robot: stress in both parts, the rotation,
        TURN = 15,     // and what it is beside that at rest
        STORE = 20,    // their distance, so that no bank is met twice
        ES = GROUP * STORE + 2,
        ROB = AT_ONCE * base::RP * 8 + 4,
        WORDS_R = AT_ONCE * CHUNK * ES,
        WORDS_T = GROUP * ROB,
        SMEM = (WORDS_R + WORDS_T + base::WORDS_A) * 4
    };
};

/// Where two words of a mode stand, those of elements 4 G to 4 G + 3.
__device__ __forceinline__ int pair_of(int mode, int G)
{
    return mode * 8 + 2 * (G ^ (mode >> 2 & 3));
}

/// Rotations of two chunks to memory, two robots a warp, words next to each other.
template <class s>
__device__ __forceinline__ void keep_turned(const tdFragments &in, int chunk, int first, int n, const uint32_t *sR)
{
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, words = in.chunks * CHUNK * TURNED / 2;
#pragma unroll
    for (int a = 0; a < 2; a++)
    {
        const int robot = 2 * w + a;
        uint32_t *to = in.turned + (size_t)(first + robot) * words + chunk * (CHUNK * TURNED / 2);
        if (first + robot < n)
#pragma unroll
            for (int k = lane; k < AT_ONCE * CHUNK * TURNED / 2; k += 32)
                to[k] = sR[k / 5 * s::ES + robot * s::STORE + s::TURN + k % 5];
    }
}

template <int R_>
__global__ void __launch_bounds__(WARPS * 32, 1)
    lagged_kernel(const tdGpuPlan *plan, const double *rows, int n, tdFragments in, tdAssembled out)
{
    typedef LaggedShape<R_> s;
    extern __shared__ uint32_t sm[];
    uint32_t *sR = sm, *sA = sm + s::WORDS_R, *sH = sA + s::WORDS_A;
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, g = lane >> 2, t = lane & 3, G = w >> 1;
    const int first = blockIdx.x * GROUP, element = 2 * w + (lane & 1), mine = lane >> 1;
    const int JJ = (s::NJ + 1) / 2; // columns of tiles that a warp does, at most
    place_modes<s>(plan, rows, n, in, first, sA);
    float acc[2][s::NI * s::NJ][4], force[JJ][4], energy = 0;
#pragma unroll
    for (int a = 0; a < 2; a++)
#pragma unroll
        for (int b = 0; b < s::NI * s::NJ; b++)
            acc[a][b][0] = acc[a][b][1] = acc[a][b][2] = acc[a][b][3] = 0;
#pragma unroll
    for (int j = 0; j < JJ; j++)
        force[j][0] = force[j][1] = force[j][2] = force[j][3] = 0;
    __syncthreads();
    for (int chunk = 0; chunk < in.chunks; chunk += AT_ONCE)
    {
        {
            // Two points a thread, step by step together: while one waits the other goes on.
            float F[AT_ONCE][9], R[AT_ONCE][9], C[AT_ONCE][6], cof[AT_ONCE][9];
            tdPolar polar[AT_ONCE];
            tdPolarRoot root[AT_ONCE];
            bool found[AT_ONCE], more = false;
#pragma unroll
            for (int h = 0; h < AT_ONCE; h++)
            {
                const float4 *from = (const float4 *)(in.point + (size_t)((chunk + h) * CHUNK + element) * POINT);
                const float4 p0 = __ldg(from), p1 = __ldg(from + 1), p2 = __ldg(from + 2);
                const float F0[9] = {p0.x, p0.y, p0.z, p0.w, p1.x, p1.y, p1.z, p1.w, p2.x};
                // Round the warp by way of the place where its own elements are kept later.
                gradients<s>(in, chunk + h, sA, (float *)(sR + (2 * w + h * CHUNK) * s::ES), F0, F[h]);
                found[h] = td_polar_begin(F[h], cof[h], C[h], &polar[h], &root[h]);
                more = more || found[h];
            }
            for (int i = 0; i < 12 && more; i++)
            {
                more = false;
#pragma unroll
                for (int h = 0; h < AT_ONCE; h++)
                {
                    const bool goes_on = td_polar_step(&root[h]);
                    more = more || (found[h] && goes_on);
                }
            }
#pragma unroll
            for (int h = 0; h < AT_ONCE; h++)
            {
                const int at = (chunk + h) * CHUNK + element;
                const float4 p2 = __ldg((const float4 *)(in.point + (size_t)at * POINT) + 2);
                const float weight = p2.y, mu = p2.z, lambda = p2.w;
                uint32_t *to = sR + (element + h * CHUNK) * s::ES + mine * s::STORE, words[10];
                float P[9];
                td_polar_end(F[h], cof[h], C[h], found[h], &root[h], &polar[h], R[h]);
                energy += weight * weight * td_turned_stress(F[h], R[h], polar[h].trace, mu, lambda, P);
                pack9<true>(P, weight * in.of_stress, words);
                store_words<10>(to, words);
                pack9<false>(R[h], sqrtf(lambda + mu) * in.of_row, words);
                const float4 *rest = (const float4 *)(in.rest + (size_t)at * REST);
                const float4 r0 = __ldg(rest), r1 = __ldg(rest + 1), r2 = __ldg(rest + 2);
                const float turn[9] = {R[h][0] - r0.x, R[h][1] - r0.y, R[h][2] - r0.z, R[h][3] - r0.w, R[h][4] - r1.x,
                                       R[h][5] - r1.y, R[h][6] - r1.z, R[h][7] - r1.w, R[h][8] - r2.x};
                pack9<false>(turn, 1.0f, words + 5);
                store_words<10>(to + s::ROTATION, words);
            }
        }
        __syncthreads();
        keep_turned<s>(in, chunk, first, n, sR);
#pragma unroll
        for (int h = 0; h < AT_ONCE; h++)
        {
            const uint32_t *r0 = sR + (4 * G + h * CHUNK) * s::ES + g * s::STORE, *r1 = r0 + 8 * s::STORE;
            alignas(16) uint32_t b[JJ][12];
            load_rows<s, JJ>(in, chunk + h, b);
            add_forces<s, JJ>(r0, r1, b, force);
            uint32_t a[4][6];
#pragma unroll
            for (int e = 0; e < 4; e++)
                take_row<false>(r0 + e * s::ES + s::ROTATION, r1 + e * s::ES + s::ROTATION, t, a[e]);
#pragma unroll
            for (int jj = 0; jj < JJ; jj++)
                if (2 * jj + 1 < s::NJ || (w & 1) == 0)
                {
                    float c[4][4];
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        row_product<false, true>(c[e], a[e], b[jj] + 3 * e);
#pragma unroll
                    for (int q = 0; q < 4; q++)
                    {
                        const int mode = 8 * (2 * jj + (w & 1)) + 2 * t + (q & 1);
                        const int at = (g + (q >> 1) * 8) * s::ROB + h * s::RP * 8 + pair_of(mode, G);
                        *(uint2 *)(sH + at) = make_uint2(pack(c[0][q], c[1][q]), pack(c[2][q], c[3][q]));
                    }
                }
        }
        __syncthreads();
#pragma unroll
        for (int a = 0; a < 2; a++)
#pragma unroll
            for (int h = 0; h < AT_ONCE; h++)
            {
                uint2 H[2 * s::NI];
#pragma unroll
                for (int b = 0; b < 2 * s::NI; b++)
                {
                    const int at = (2 * w + a) * s::ROB + h * s::RP * 8 + pair_of(8 * b + g, t);
                    H[b] = b < s::NJ ? *(const uint2 *)(sH + at) : make_uint2(0, 0);
                }
#pragma unroll
                for (int i = 0; i < s::NI; i++)
#pragma unroll
                    for (int j = 0; j < s::NJ; j++)
                        if (j <= 2 * i + 1)
                            mma(acc[a][i * s::NJ + j], H[2 * i].x, H[2 * i + 1].x, H[2 * i].y, H[2 * i + 1].y, H[j].x,
                                H[j].y);
            } // who is early may begin with the next chunks: what it writes first is not read here
    }
    write_matrices<s>(n, first, acc, out);
    __syncthreads();
    write_sums<s>(n, first, force, energy, 0.0f, (float *)sH, out);
}

// ---------------------------------------------------------------- the product that all robots share

__device__ __forceinline__ void copy16(uint32_t to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

/// Four 8 x 8 matrices of halves.
__device__ __forceinline__ void load_matrices(uint32_t *a, uint32_t from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(from));
}

/// Bytes of row `row` and 16 bytes `part` of a stage's tile, 128 bytes a row: eight rows meet no bank twice.
__device__ __forceinline__ int place_in_tile(int row, int part)
{
    return row * (2 * PRODUCT_K) + ((part ^ (row & 7)) << 4);
}

/// K += of 128 robots (y) and pairs (x), 64 x 64 a warp.
static __global__ void __launch_bounds__(PRODUCT_WARPS * 32, 2)
    cofactor_kernel(tdFragments in, int n, int stride, float *K)
{
    extern __shared__ uint32_t sm[];
    enum
    {
        TILE = PRODUCT_TILE * PRODUCT_K * 2, // bytes
        STAGE = 2 * TILE
    };
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
    const int first = blockIdx.y * PRODUCT_TILE, pairs = blockIdx.x * PRODUCT_TILE, one = in.chunks * CHUNK * TURNED;
    const int down = (w & 1) * 64, across = (w >> 1) * 64; // the warp's part of the tile
    const int steps = one / PRODUCT_K;
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(sm);
    // What a thread copies: 16 bytes of every 16th row.
    const int own_row = threadIdx.x >> 3, own_part = threadIdx.x & 7, own = place_in_tile(own_row, own_part);
    const __half *turned = (const __half *)in.turned + (size_t)(first + own_row) * one + 8 * own_part,
                 *table = (const __half *)in.cofactor + (size_t)(pairs + own_row) * one + 8 * own_part;
    float acc[4][8][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            acc[i][j][0] = acc[i][j][1] = acc[i][j][2] = acc[i][j][3] = 0;
    auto fetch = [&](int k)
    {
        const uint32_t to = base + (k % PRODUCT_DEEP) * STAGE + own;
        const __half *x = turned + k * PRODUCT_K, *c = table + k * PRODUCT_K;
#pragma unroll
        for (int i = 0; i < PRODUCT_TILE / 16; i++) // 16 rows on the swizzle is the same
        {
            copy16(to + i * (16 * 2 * PRODUCT_K), x + (size_t)(16 * i) * one);
            copy16(to + TILE + i * (16 * 2 * PRODUCT_K), c + (size_t)(16 * i) * one);
        }
    };
#pragma unroll
    for (int k = 0; k < PRODUCT_DEEP - 1; k++)
    {
        if (k < steps)
            fetch(k);
        asm volatile("cp.async.commit_group;");
    }
    for (int k = 0; k < steps; k++)
    {
        asm volatile("cp.async.wait_group %0;" ::"n"(PRODUCT_DEEP - 2));
        __syncthreads();
        if (k + PRODUCT_DEEP - 1 < steps)
            fetch(k + PRODUCT_DEEP - 1);
        asm volatile("cp.async.commit_group;");
        const uint32_t tile = base + (k % PRODUCT_DEEP) * STAGE;
#pragma unroll
        for (int part = 0; part < PRODUCT_K / 16; part++)
        {
            uint32_t a[4][4], b[4][4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                load_matrices(a[i], tile + place_in_tile(down + 16 * i + (lane & 15), 2 * part + (lane >> 4)));
#pragma unroll
            for (int j = 0; j < 4; j++)
                load_matrices(b[j], tile + TILE + place_in_tile(across + 16 * j + (lane & 7) + (lane >> 4) * 8,
                                                                2 * part + (lane >> 3 & 1)));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    mma(acc[i][j], a[i][0], a[i][1], a[i][2], a[i][3], b[j >> 1][2 * (j & 1)],
                        b[j >> 1][2 * (j & 1) + 1]);
        }
    }
#pragma unroll
    for (int j = 0; j < 8; j++)
    {
        const int place = __ldg(in.place + (pairs + across + 8 * j + 2 * t) / 2);
        float2 k[8]; // all of them before the first is written
#pragma unroll
        for (int i = 0; i < 8; i++)
        {
            const int robot = first + down + 8 * i + g;
            if (place >= 0 && robot < n)
                k[i] = __ldcg((const float2 *)(K + (size_t)robot * stride * stride + place));
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
        {
            const int robot = first + down + 8 * i + g;
            if (place >= 0 && robot < n)
                *(float2 *)(K + (size_t)robot * stride * stride + place) =
                    make_float2(k[i].x + acc[i >> 1][j][2 * (i & 1)] * (1 / COFACTOR),
                                k[i].y + acc[i >> 1][j][2 * (i & 1) + 1] * (1 / COFACTOR));
        }
    }
}

static size_t product_shared(void)
{
    return (size_t)PRODUCT_DEEP * 2 * PRODUCT_TILE * PRODUCT_K * 2;
}
