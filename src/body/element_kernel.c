// SPDX-License-Identifier: Apache-2.0
// Element work of hexahedra, quadratic tetrahedra and triangles: gradients, forces and tangents of four
// elements at a time. One source for all kinds; the numbers of nodes and points are constants in each.
// The equations are in body/soft.h.
#include "body/element.h"

#define ALWAYS static inline __attribute__((always_inline))

#define THROUGH_PASSES 40 // of the iteration for P n = 0

void TD_ISA(td_hex_gradients)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_hex_forces)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tet10_gradients)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tet10_forces)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tri_gradients)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tri_forces)(const tdElementWork *work, int32_t chunk);

// ---------------------------------------------------------------- thickness of a triangle

// M = D n, S = n . D . n and its inverse times the determinant (symmetric: 00 10 11 20 21 22).
static void through_parts(const double *D, const td4 n[3], td4 M[9][3], td4 inverse[6])
{
    td4 S[3][3];
    td_contract(D, n, M);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            S[i][k] = n[0] * M[3 * i][k] + n[1] * M[3 * i + 1][k] + n[2] * M[3 * i + 2][k];
    td4 c00 = S[1][1] * S[2][2] - S[1][2] * S[2][1], c10 = S[1][2] * S[2][0] - S[1][0] * S[2][2],
        c20 = S[1][0] * S[2][1] - S[1][1] * S[2][0];
    td4 det = S[0][0] * c00 + S[0][1] * c10 + S[0][2] * c20;
    inverse[0] = c00 / det;
    inverse[1] = c10 / det;
    inverse[2] = (S[0][0] * S[2][2] - S[0][2] * S[2][0]) / det;
    inverse[3] = c20 / det;
    inverse[4] = (S[0][1] * S[2][0] - S[0][0] * S[2][1]) / det;
    inverse[5] = (S[0][0] * S[1][1] - S[0][1] * S[1][0]) / det;
}

static inline void times_symmetric(const td4 A[6], const td4 x[3], td4 y[3])
{
    y[0] = A[0] * x[0] + A[1] * x[1] + A[3] * x[2];
    y[1] = A[1] * x[0] + A[2] * x[1] + A[4] * x[2];
    y[2] = A[3] * x[0] + A[4] * x[1] + A[5] * x[2];
}

// D - M S^-1 M'
static void condense(const td4 n[3], double *D)
{
    td4 M[9][3], inverse[6], Y[9][3];
    through_parts(D, n, M, inverse);
    for (int r = 0; r < 9; r++)
        times_symmetric(inverse, M[r], Y[r]);
    for (int r = 0; r < 9; r++)
        for (int c = 0; c <= r; c++)
        {
            double *to = D + 4 * TD_PACKED(r, c);
            td4_store(to, td4_load(to) - (Y[r][0] * M[c][0] + Y[r][1] * M[c][1] + Y[r][2] * M[c][2]));
        }
}

static void law_at(const tdElementWork *work, int64_t point, const double *F, double *psi, double *P, double *D)
{
    work->law(work->parameters, F, td_rotation_at(work, point), psi, P, D);
    if (work->H != NULL)
        td_add_history(work->gamma, work->H + 24 * point, F, psi, P, D);
}

// F += f3 (x) n with P n = 0. The first guess keeps the volume and depends on the other two columns only, so
// that f3 is a function of the state; a step changes it by at most a half. Where the iteration fails, f3 is
// not finite, so that the element is reported.
static void solve_through(const tdElementWork *work, int64_t point, const td4 n[3], td4 F[9])
{
    _Alignas(64) double Fs[36], psi[4], P[36], D[4 * TD_TANGENT];
    td4 cof[9], f3[3], flat[9], change = td4_set(0);
    memcpy(flat, F, sizeof flat);
    td_cofactor(F, cof);
    for (int i = 0; i < 3; i++)
        f3[i] = cof[3 * i] * n[0] + cof[3 * i + 1] * n[1] + cof[3 * i + 2] * n[2];
    td4 area = f3[0] * f3[0] + f3[1] * f3[1] + f3[2] * f3[2];
    for (int i = 0; i < 3; i++)
        f3[i] = f3[i] / area;
    for (int pass = 0; pass < THROUGH_PASSES; pass++)
    {
        for (int c = 0; c < 9; c++)
            F[c] = flat[c] + f3[c / 3] * n[c % 3];
        td_store9(F, Fs);
        // For a normal f3 the rotation does not depend on its length.
        if (pass == 0 && work->polar != NULL)
            work->polar(Fs, work->R + 36 * point);
        law_at(work, point, Fs, psi, P, D);
        td4 M[9][3], inverse[6], r[3], d[3];
        through_parts(D, n, M, inverse);
        for (int i = 0; i < 3; i++)
            r[i] = td4_load(P + 12 * i) * n[0] + td4_load(P + 12 * i + 4) * n[1] + td4_load(P + 12 * i + 8) * n[2];
        times_symmetric(inverse, r, d);
        td4 size = td4_sqrt(f3[0] * f3[0] + f3[1] * f3[1] + f3[2] * f3[2]),
            way = td4_sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        td4 share = td4_select(way > 0.5 * size, 0.5 * size / way, td4_set(1));
        for (int i = 0; i < 3; i++)
            f3[i] -= share * d[i];
        change = way / size;
        bool done = true;
        for (int l = 0; l < 4; l++)
            done = done && !(change[l] > 1e-14);
        if (done)
            break;
    }
    td4 good = td4_select(change < 1e-6, td4_set(0), td4_set((double)NAN));
    for (int c = 0; c < 9; c++)
        F[c] = flat[c] + (f3[c / 3] + good) * n[c % 3];
}

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
                solve_through(work, point, n, F);
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

// ---------------------------------------------------------------- mean dilatation

// The element's part: U'(Jbar) a point, U''(Jbar)/V for the outer product of dV/dx.
typedef struct dilatation
{
    td4 energy, pressure, stiffness;
} dilatation;

static dilatation mean_dilatation(const tdElementWork *work, int64_t first, int n_points)
{
    const tdElements *block = work->block;
    td4 volume = td4_set(0), present = td4_set(0);
    dilatation out;
    for (int p = 0; p < n_points; p++)
    {
        td4 F[9], w = td4_load(block->weight + 4 * (first + p));
        td_load9(work->F + 36 * (first + p), F);
        volume += w;
        present += w * td_det(F);
    }
    for (int l = 0; l < 4; l++)
    {
        double U = 0, dU = 0, ddU = 0;
        if (volume[l] > 0)
            td_volumetric(block->material.parameters, present[l] / volume[l], &U, &dU, &ddU);
        out.energy[l] = volume[l] * U;
        out.pressure[l] = dU;
        out.stiffness[l] = volume[l] > 0 ? ddU / volume[l] : 0;
    }
    return out;
}

// P += U' cof F, D += U' d(cof F)/dF; returns cof F.
static void add_pressure(const double *F_in, td4 pressure, double *P, double *D, td4 cof[9])
{
    td4 F[9];
    td_load9(F_in, F);
    td_cofactor(F, cof);
    for (int c = 0; c < 9; c++)
        td4_store(P + 4 * c, td4_load(P + 4 * c) + pressure * cof[c]);
    for (int i = 0; i < 9 && D != NULL; i++)
        for (int j = 0; j < i; j++)
        {
            // d cof_rs / d F_tu = e_rtm e_sun F_mn
            int r = i / 3, s = i % 3, t = j / 3, u = j % 3;
            if (r == t || s == u)
                continue;
            int m = 3 - r - t, n = 3 - s - u;
            bool plus = ((t - r + 3) % 3 == 1) == ((u - s + 3) % 3 == 1);
            double *to = D + 4 * TD_PACKED(i, j);
            td4 term = pressure * F[3 * m + n];
            td4_store(to, plus ? td4_load(to) + term : td4_load(to) - term);
        }
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
        dilatation dilation = {0};
        if (mean)
        {
            dilation = mean_dilatation(work, n_points * (int64_t)b, n_points);
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
                add_pressure(F, dilation.pressure, P, wanted, cof);
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
                condense(n, D);
            if (work->project)
                changed |= td_law_project(D);
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

void TD_ISA(td_hex_gradients)(const tdElementWork *work, int32_t chunk)
{
    gradients(work, chunk, 8, 8, false);
}

void TD_ISA(td_hex_forces)(const tdElementWork *work, int32_t chunk)
{
    forces(work, chunk, 8, 8, false);
}

void TD_ISA(td_tet10_gradients)(const tdElementWork *work, int32_t chunk)
{
    gradients(work, chunk, 10, 4, false);
}

void TD_ISA(td_tet10_forces)(const tdElementWork *work, int32_t chunk)
{
    forces(work, chunk, 10, 4, false);
}

void TD_ISA(td_tri_gradients)(const tdElementWork *work, int32_t chunk)
{
    gradients(work, chunk, 3, 1, true);
}

void TD_ISA(td_tri_forces)(const tdElementWork *work, int32_t chunk)
{
    forces(work, chunk, 3, 1, true);
}
