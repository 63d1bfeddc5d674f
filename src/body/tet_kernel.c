// SPDX-License-Identifier: Apache-2.0
// Element work of linear tetrahedra: gradients, forces and tangents of four elements at a time.
//
//     F = sum_a (x_a - x_0) g_a'            g_a gradient of the shape function of node a = 1, 2, 3
//     f_a = V P g_a                         f_0 = - f_1 - f_2 - f_3
//     K_ab = V g_a . D . g_b                K_a0 = - sum_b K_ab
#include "base/simd.h"
#include "body/soft.h"

void TD_ISA(td_tet_gradients)(const tdTetWork *work, int32_t chunk)
{
    const tdTets *tets = work->tets;
    int32_t inverted = 0;
    for (int32_t b = tets->chunk[chunk]; b < tets->chunk[chunk + 1]; b++)
    {
        const int32_t *nodes = tets->nodes + 16 * (int64_t)b;
        const double *g = tets->gradient + 36 * (int64_t)b;
        td4 x[4][3], F[9];
        for (int a = 0; a < 4; a++)
        {
            const double *p0 = work->x + 3 * (int64_t)nodes[4 * a], *p1 = work->x + 3 * (int64_t)nodes[4 * a + 1],
                         *p2 = work->x + 3 * (int64_t)nodes[4 * a + 2], *p3 = work->x + 3 * (int64_t)nodes[4 * a + 3];
            for (int i = 0; i < 3; i++)
                x[a][i] = (td4){p0[i], p1[i], p2[i], p3[i]};
        }
        for (int i = 0; i < 3; i++)
        {
            td4 d1 = x[1][i] - x[0][i], d2 = x[2][i] - x[0][i], d3 = x[3][i] - x[0][i];
            for (int j = 0; j < 3; j++)
                F[3 * i + j] = d1 * td4_load(g + 4 * j) + d2 * td4_load(g + 12 + 4 * j) + d3 * td4_load(g + 24 + 4 * j);
        }
        double *out = work->F + 36 * (int64_t)b;
        for (int c = 0; c < 9; c++)
            td4_store(out + 4 * c, F[c]);
        td4 det = F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) +
                  F[2] * (F[3] * F[7] - F[4] * F[6]);
        for (int l = 0; l < 4; l++)
            inverted += !(det[l] > 0) && tets->element[4 * (int64_t)b + l] >= 0;
        if (work->polar != NULL)
            work->polar(out, work->R + 36 * (int64_t)b);
    }
    work->sums[chunk].inverted = inverted;
}

// Block (i, k) = sum_J sum_L a_J D(iJ, kL) b_L, from T = D b.
static void contract(const double *D, const td4 *b, td4 T[9][3])
{
    for (int row = 0; row < 9; row++)
        for (int k = 0; k < 3; k++)
        {
            td4 sum = td4_set(0);
            for (int j = 0; j < 3; j++)
            {
                int column = 3 * k + j;
                int at = row >= column ? TD_PACKED(row, column) : TD_PACKED(column, row);
                sum += td4_load(D + 4 * at) * b[j];
            }
            T[row][k] = sum;
        }
}

// The ten blocks of the lower triangle, in the order of tdTets.block.
static void tangent(const double *D, const td4 g[3][3], td4 volume, td4 blocks[TD_PAIRS][9])
{
    static const int place[3][3] = {{2, 0, 0}, {4, 5, 0}, {7, 8, 9}}; // (a, b), a >= b, of nodes 1 to 3
    td4 sums[3][9];                                                   // K_a0 = - sum over b = 1 to 3 of K_ab
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 9; c++)
            sums[a][c] = td4_set(0);
    for (int b = 0; b < 3; b++)
    {
        td4 weighted[3] = {volume * g[b][0], volume * g[b][1], volume * g[b][2]}, T[9][3];
        contract(D, weighted, T);
        for (int a = b; a < 3; a++)
        {
            td4 *block = blocks[place[a][b]];
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++)
                {
                    td4 value = g[a][0] * T[3 * i][k] + g[a][1] * T[3 * i + 1][k] + g[a][2] * T[3 * i + 2][k];
                    block[3 * i + k] = value;
                    sums[a][3 * i + k] -= value;
                    if (a != b)
                        sums[b][3 * k + i] -= value;
                }
        }
    }
    for (int c = 0; c < 9; c++)
    {
        blocks[1][c] = sums[0][c];
        blocks[3][c] = sums[1][c];
        blocks[6][c] = sums[2][c];
        blocks[0][c] = -(sums[0][c] + sums[1][c] + sums[2][c]);
    }
}

static void scatter_blocks(const int32_t *block, td4 blocks[TD_PAIRS][9], double *K)
{
    for (int pair = 0; pair < TD_PAIRS; pair++)
        for (int l = 0; l < 4; l++)
        {
            double *to = K + 9 * (int64_t)block[4 * pair + l];
            for (int c = 0; c < 9; c++)
                to[c] += blocks[pair][c][l];
        }
}

void TD_ISA(td_tet_forces)(const tdTetWork *work, int32_t chunk)
{
    const tdTets *tets = work->tets;
    _Alignas(64) double psi[4], P[36], D[4 * TD_TANGENT];
    tdChunkSums sums = {.bad = INT64_MAX, .inverted = work->sums[chunk].inverted};
    for (int32_t b = tets->chunk[chunk]; b < tets->chunk[chunk + 1]; b++)
    {
        const int32_t *nodes = tets->nodes + 16 * (int64_t)b, *element = tets->element + 4 * (int64_t)b;
        const double *gradient = tets->gradient + 36 * (int64_t)b;
        td4 volume = td4_load(tets->volume + 4 * (int64_t)b), g[3][3], f[4][3];
        work->law(work->parameters, work->F + 36 * (int64_t)b, work->R + 36 * (int64_t)b, psi, P,
                  work->K != NULL ? D : NULL);
        for (int l = 0; l < 4; l++)
        {
            if (element[l] < 0)
                continue;
            sums.energy += volume[l] * psi[l];
            if (!isfinite(psi[l]) && element[l] < sums.bad)
                sums.bad = element[l];
        }
        for (int a = 0; a < 3; a++)
            for (int j = 0; j < 3; j++)
                g[a][j] = td4_load(gradient + 12 * a + 4 * j);
        for (int i = 0; i < 3; i++)
        {
            f[0][i] = td4_set(0);
            for (int a = 0; a < 3; a++)
            {
                f[a + 1][i] = volume * (td4_load(P + 12 * i) * g[a][0] + td4_load(P + 12 * i + 4) * g[a][1] +
                                        td4_load(P + 12 * i + 8) * g[a][2]);
                f[0][i] -= f[a + 1][i];
            }
        }
        for (int a = 0; a < 4; a++)
            for (int l = 0; l < 4; l++)
            {
                double *to = work->force + 3 * (int64_t)nodes[4 * a + l];
                to[0] += f[a][0][l];
                to[1] += f[a][1][l];
                to[2] += f[a][2][l];
            }
        if (work->K == NULL)
            continue;
        if (work->project)
        {
            int changed = td_law_project(D);
            for (int l = 0; l < 4; l++)
                sums.projected += (changed >> l & 1) && element[l] >= 0;
        }
        td4 blocks[TD_PAIRS][9];
        tangent(D, (const td4(*)[3])g, volume, blocks);
        scatter_blocks(tets->block + 4 * TD_PAIRS * (int64_t)b, blocks, work->K);
    }
    work->sums[chunk] = sums;
}
