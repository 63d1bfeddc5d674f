// SPDX-License-Identifier: Apache-2.0
// Element work of hexahedra, quadratic tetrahedra and triangles: gradients, forces, tangents and damping of four
// elements at a time. One source for all kinds; the numbers of nodes and points are constants in each.
// The equations are in body/soft.h.
#include "body/point.h"
#include "material/project.h"

#define ALWAYS static inline __attribute__((always_inline))

void TD_ISA(td_hex_gradients)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_hex_forces)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_hex_damping)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tet10_gradients)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tet10_forces)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tet10_damping)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tri_gradients)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tri_forces)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tri_damping)(const tdElementWork *work, int32_t chunk);

// ---------------------------------------------------------------- gradients

ALWAYS void gradients(const tdElementWork *work, int32_t chunk, const int nodes, const int n_points, const bool flat)
{
    const tdElements *block = work->block;
    int32_t inverted = 0, extended = 0;
    for (int32_t b = block->chunk[chunk]; b < block->chunk[chunk + 1]; b++)
    {
        const int32_t *node = block->nodes + 4 * nodes * (int64_t)b;
        td4 x[TD_ELEMENT_NODES][3], least = td4_set(INFINITY);
        for (int a = 0; a < nodes; a++)
            td_gather(work->x, node + 4 * a, x[a]);
        for (int p = 0; p < n_points; p++)
        {
            int64_t point = n_points * (int64_t)b + p;
            const double *g = block->gradient + 12 * nodes * point;
            td4 F[9], n[3];
            for (int c = 0; c < 9; c++)
                F[c] = td4_set(0);
            for (int a = 0; a < nodes; a++)
                for (int c = 0; c < 9; c++)
                    F[c] += x[a][c / 3] * td4_load(g + 12 * a + 4 * (c % 3));
            for (int c = 0; c < 3 && flat; c++)
                n[c] = td4_load(block->normal + 12 * (int64_t)b + 4 * c);
            if (flat && block->material.through == TD_THROUGH_FREE)
                td_solve_through(work, point, n, F);
            else if (flat)
                for (int c = 0; c < 9; c++)
                    F[c] += n[c / 3] * n[c % 3];
            td_store9(F, work->F + 36 * point);
            least = td4_min(least, td_det(F));
            if (work->polar != NULL && !(flat && block->material.through == TD_THROUGH_FREE))
                work->polar(work->F + 36 * point, work->R + 36 * point);
        }
        for (int l = 0; l < 4; l++)
        {
            bool real = block->element[4 * (int64_t)b + l] >= 0;
            inverted += !(least[l] > 0) && real;
            extended += least[l] < TD_COMPRESSION && real;
        }
    }
    work->sums[chunk].inverted = inverted;
    work->sums[chunk].extended = extended;
}

// ---------------------------------------------------------------- forces

ALWAYS void add_tangent(const double *D, const td4 g[][3], td4 weight, const int nodes, td4 (*blocks)[9])
{
    for (int b = 0; b < nodes; b++)
    {
        td4 weighted[3] = {weight * g[b][0], weight * g[b][1], weight * g[b][2]}, T[9][3];
        td_contract(D, weighted, T);
        for (int a = b; a < nodes; a++)
        {
            td4 *to = blocks[TD_PACKED(a, b)];
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++)
                    to[3 * i + k] += g[a][0] * T[3 * i][k] + g[a][1] * T[3 * i + 1][k] + g[a][2] * T[3 * i + 2][k];
        }
    }
}

ALWAYS void forces(const tdElementWork *work, int32_t chunk, const int nodes, const int n_points, const bool flat)
{
    enum
    {
        PAIRS_MOST = TD_ELEMENT_NODES * (TD_ELEMENT_NODES + 1) / 2
    };
    const tdElements *block = work->block;
    const int pairs = nodes * (nodes + 1) / 2;
    const bool mean = !flat && block->material.mean_dilatation;
    _Alignas(64) double psi[4], P[36], D[4 * TD_TANGENT];
    double *wanted = work->K != NULL ? D : NULL;
    tdChunkSums sums = {
        .bad = INT64_MAX, .inverted = work->sums[chunk].inverted, .extended = work->sums[chunk].extended};
    for (int32_t b = block->chunk[chunk]; b < block->chunk[chunk + 1]; b++)
    {
        const int32_t *node = block->nodes + 4 * nodes * (int64_t)b, *element = block->element + 4 * (int64_t)b;
        td4 f[TD_ELEMENT_NODES][3], dV[TD_ELEMENT_NODES][3], blocks[PAIRS_MOST][9], energy = td4_set(0), n[3];
        int changed = 0;
        memset(f, 0, sizeof f);
        memset(dV, 0, sizeof dV);
        if (wanted != NULL)
            memset(blocks, 0, (size_t)pairs * sizeof blocks[0]);
        for (int c = 0; c < 3 && flat; c++)
            n[c] = td4_load(block->normal + 12 * (int64_t)b + 4 * c);
        tdDilatation dilation = {0};
        if (mean)
        {
            dilation = td_mean_dilatation(work, n_points * (int64_t)b, n_points);
            energy = work->gamma * dilation.energy;
        }
        for (int p = 0; p < n_points; p++)
        {
            int64_t point = n_points * (int64_t)b + p;
            const double *gradient = block->gradient + 12 * nodes * point, *F = work->F + 36 * point;
            td4 g[TD_ELEMENT_NODES][3], weight = td4_load(block->weight + 4 * point), cof[9];
            for (int a = 0; a < nodes; a++)
                for (int j = 0; j < 3; j++)
                    g[a][j] = td4_load(gradient + 12 * a + 4 * j);
            work->law(work->parameters, F, td_rotation_at(work, point), psi, P, wanted);
            if (mean)
                td_add_pressure(F, dilation.pressure, P, wanted, cof);
            if (work->H != NULL)
                td_add_history(work->gamma, work->H + 24 * point, F, psi, P, wanted);
            energy += weight * td4_load(psi);
            for (int a = 0; a < nodes; a++)
                for (int i = 0; i < 3; i++)
                {
                    f[a][i] += weight * (td4_load(P + 12 * i) * g[a][0] + td4_load(P + 12 * i + 4) * g[a][1] +
                                         td4_load(P + 12 * i + 8) * g[a][2]);
                    if (mean)
                        dV[a][i] +=
                            weight * (cof[3 * i] * g[a][0] + cof[3 * i + 1] * g[a][1] + cof[3 * i + 2] * g[a][2]);
                }
            if (wanted == NULL)
                continue;
            if (flat && block->material.through == TD_THROUGH_FREE)
                td_condense_through(n, D);
            if (work->project)
                changed |= td_project4(D);
            add_tangent(D, (const td4(*)[3])g, weight, nodes, blocks);
        }
        for (int l = 0; l < 4; l++)
        {
            if (element[l] < 0)
                continue;
            sums.projected += changed >> l & 1;
            sums.energy += energy[l];
            if (!isfinite(energy[l]) && element[l] < sums.bad)
                sums.bad = element[l];
        }
        for (int a = 0; a < nodes; a++)
            td_scatter_force(node + 4 * a, f[a], work->force);
        if (wanted == NULL)
            continue;
        if (mean)
        {
            td4 stiffness =
                work->gamma * (work->project ? td4_max(dilation.stiffness, td4_set(0)) : dilation.stiffness);
            for (int a = 0; a < nodes; a++)
                for (int c = 0; c <= a; c++)
                    for (int k = 0; k < 9; k++)
                        blocks[TD_PACKED(a, c)][k] += stiffness * dV[a][k / 3] * dV[c][k % 3];
        }
        for (int pair = 0; pair < pairs; pair++)
            td_scatter_block(block->block + 4 * (pairs * (int64_t)b + pair), blocks[pair], work->K);
    }
    work->sums[chunk] = sums;
}

// ---------------------------------------------------------------- damping

ALWAYS void damping(const tdElementWork *work, int32_t chunk, const int nodes, const int n_points, const bool flat)
{
    enum
    {
        PAIRS_MOST = TD_ELEMENT_NODES * (TD_ELEMENT_NODES + 1) / 2
    };
    const tdElements *block = work->block;
    const tdMaterial *material = &block->material;
    const int pairs = nodes * (nodes + 1) / 2;
    const bool mean = !flat && material->mean_dilatation;
    _Alignas(64) double D[4 * TD_TANGENT], thin[4 * TD_TANGENT];
    for (int32_t b = block->chunk[chunk]; b < block->chunk[chunk + 1]; b++)
    {
        td4 dV[TD_ELEMENT_NODES][3], blocks[PAIRS_MOST][9], n[3], volume = td4_set(0);
        const double *rest = material->rest;
        memset(dV, 0, sizeof dV);
        memset(blocks, 0, (size_t)pairs * sizeof blocks[0]);
        for (int c = 0; c < 3 && flat; c++)
            n[c] = td4_load(block->normal + 12 * (int64_t)b + 4 * c);
        if (flat && material->through == TD_THROUGH_FREE && rest != NULL)
        {
            memcpy(thin, rest, sizeof thin);
            td_condense_through(n, thin);
            rest = thin;
        }
        for (int p = 0; p < n_points; p++)
        {
            int64_t point = n_points * (int64_t)b + p;
            const double *gradient = block->gradient + 12 * nodes * point;
            td4 g[TD_ELEMENT_NODES][3], weight = td4_load(block->weight + 4 * point), F[9];
            for (int a = 0; a < nodes; a++)
                for (int j = 0; j < 3; j++)
                    g[a][j] = td4_load(gradient + 12 * a + 4 * j);
            td_damping_tangent(work, rest, point, D);
            if (flat && material->through == TD_THROUGH_FREE && rest == NULL)
                td_condense_through(n, D);
            add_tangent(D, (const td4(*)[3])g, weight, nodes, blocks);
            volume += weight;
            td_load9(work->F + 36 * point, F);
            for (int a = 0; a < nodes && mean; a++)
                for (int i = 0; i < 3; i++)
                    dV[a][i] += weight * (F[3 * i] * g[a][0] + F[3 * i + 1] * g[a][1] + F[3 * i + 2] * g[a][2]);
        }
        if (mean)
        {
            td4 bulk = td_rest_bulk(block, volume);
            for (int a = 0; a < nodes; a++)
                for (int c = 0; c <= a; c++)
                    for (int k = 0; k < 9; k++)
                        blocks[TD_PACKED(a, c)][k] += bulk * dV[a][k / 3] * dV[c][k % 3];
        }
        for (int pair = 0; pair < pairs; pair++)
            td_scatter_block(block->block + 4 * (pairs * (int64_t)b + pair), blocks[pair], work->K);
    }
}

// ---------------------------------------------------------------- by kind

void TD_ISA(td_hex_gradients)(const tdElementWork *work, int32_t chunk)
{
    gradients(work, chunk, 8, 8, false);
}

void TD_ISA(td_hex_forces)(const tdElementWork *work, int32_t chunk)
{
    forces(work, chunk, 8, 8, false);
}

void TD_ISA(td_hex_damping)(const tdElementWork *work, int32_t chunk)
{
    damping(work, chunk, 8, 8, false);
}

void TD_ISA(td_tet10_gradients)(const tdElementWork *work, int32_t chunk)
{
    gradients(work, chunk, 10, 4, false);
}

void TD_ISA(td_tet10_forces)(const tdElementWork *work, int32_t chunk)
{
    forces(work, chunk, 10, 4, false);
}

void TD_ISA(td_tet10_damping)(const tdElementWork *work, int32_t chunk)
{
    damping(work, chunk, 10, 4, false);
}

void TD_ISA(td_tri_gradients)(const tdElementWork *work, int32_t chunk)
{
    gradients(work, chunk, 3, 1, true);
}

void TD_ISA(td_tri_forces)(const tdElementWork *work, int32_t chunk)
{
    forces(work, chunk, 3, 1, true);
}

void TD_ISA(td_tri_damping)(const tdElementWork *work, int32_t chunk)
{
    damping(work, chunk, 3, 1, true);
}
