// SPDX-License-Identifier: Apache-2.0
// Element work of linear tetrahedra: gradients, forces and tangents of four elements at a time.
//
//     F = sum_a (x_a - x_0) g_a'            g_a gradient of the shape function of node a = 1, 2, 3
//     f_a = V P g_a                         f_0 = - f_1 - f_2 - f_3
//     K_ab = V g_a . D . g_b                K_a0 = - sum_b K_ab
//
// Laws of the invariants of C need no D (S3 section III-B): with p_a = F g_a, B = F F', c_a = cof(F) g_a
//
//     dI1/dx_a = 2 p_a     dI2/dx_a = 2 (I1 p_a - B p_a) = 2 s_a     dJ/dx_a = c_a
//     d2I1/dx_a dx_b = 2 (g_a.g_b) I
//     d2I2/dx_a dx_b = 2 [2 p_a p_b' - p_b p_a' + (I1 g_a.g_b - p_a.p_b) I - (g_a.g_b) B]
//     d2J/dx_a dx_b  = - [F (g_a x g_b)]x
#include "body/element.h"
#include "material/project.h"

#define PAIRS 10
#define FLAT  static inline __attribute__((always_inline))

void TD_ISA(td_tet_gradients)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tet_forces)(const tdElementWork *work, int32_t chunk);
void TD_ISA(td_tet_damping)(const tdElementWork *work, int32_t chunk);

void TD_ISA(td_tet_gradients)(const tdElementWork *work, int32_t chunk)
{
    const tdElements *tets = work->block;
    int32_t inverted = 0, extended = 0;
    for (int32_t b = tets->chunk[chunk]; b < tets->chunk[chunk + 1]; b++)
    {
        const int32_t *nodes = tets->nodes + 16 * (int64_t)b;
        const double *g = tets->gradient + 36 * (int64_t)b;
        td4 x[4][3], F[9];
        for (int a = 0; a < 4; a++)
            td_gather(work->x, nodes + 4 * a, x[a]);
        for (int i = 0; i < 3; i++)
        {
            td4 d1 = x[1][i] - x[0][i], d2 = x[2][i] - x[0][i], d3 = x[3][i] - x[0][i];
            for (int j = 0; j < 3; j++)
                F[3 * i + j] = d1 * td4_load(g + 4 * j) + d2 * td4_load(g + 12 + 4 * j) + d3 * td4_load(g + 24 + 4 * j);
        }
        double *out = work->F + 36 * (int64_t)b;
        td_store9(F, out);
        td4 det = td_det(F);
        for (int l = 0; l < 4; l++)
        {
            bool real = tets->element[4 * (int64_t)b + l] >= 0;
            inverted += !(det[l] > 0) && real;
            extended += det[l] < TD_COMPRESSION && real;
        }
        if (work->polar != NULL)
            work->polar(out, work->R + 36 * (int64_t)b);
    }
    work->sums[chunk].inverted = inverted;
    work->sums[chunk].extended = extended;
}

// Places of the pairs (a, b), a >= b, of nodes 1 to 3 in tdElements.block.
static const int place[3][3] = {{2, 0, 0}, {4, 5, 0}, {7, 8, 9}};

// The blocks of node 0 from those of nodes 1 to 3.
FLAT void close_blocks(td4 blocks[PAIRS][9])
{
    static const int with_0[3] = {1, 3, 6};
#pragma GCC unroll 9
    for (int i = 0; i < 3; i++)
#pragma GCC unroll 9
        for (int k = 0; k < 3; k++)
        {
            int c = 3 * i + k, t = 3 * k + i;
            blocks[1][c] = -(blocks[2][c] + blocks[4][t] + blocks[7][t]);
            blocks[3][c] = -(blocks[4][c] + blocks[5][c] + blocks[8][t]);
            blocks[6][c] = -(blocks[7][c] + blocks[8][c] + blocks[9][c]);
        }
#pragma GCC unroll 9
    for (int c = 0; c < 9; c++)
        blocks[0][c] = -(blocks[with_0[0]][c] + blocks[with_0[1]][c] + blocks[with_0[2]][c]);
}

FLAT void tangent(const double *D, const td4 g[3][3], td4 volume, td4 blocks[PAIRS][9])
{
#pragma GCC unroll 9
    for (int b = 0; b < 3; b++)
    {
        td4 weighted[3] = {volume * g[b][0], volume * g[b][1], volume * g[b][2]}, T[9][3];
        td_contract(D, weighted, T);
#pragma GCC unroll 9
        for (int a = b; a < 3; a++)
#pragma GCC unroll 9
            for (int i = 0; i < 3; i++)
#pragma GCC unroll 9
                for (int k = 0; k < 3; k++)
                    blocks[place[a][b]][3 * i + k] =
                        g[a][0] * T[3 * i][k] + g[a][1] * T[3 * i + 1][k] + g[a][2] * T[3 * i + 2][k];
    }
    close_blocks(blocks);
}

FLAT td4 dot3(const td4 *a, const td4 *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

FLAT void times(const td4 *A, const td4 *x, td4 *y)
{
#pragma GCC unroll 9
    for (int i = 0; i < 3; i++)
        y[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
}

// What the forces and the tangent of a batch are made of.
typedef struct invariantParts
{
    td4 F[9], B[9], I1;
    td4 p[3][3], s[3][3], c[3][3]; // first derivatives by node, see the head of the file
    td4 w[9];                      // the law's, times volume
} invariantParts;

// `second`: the law depends on I2; what does not is spared the work.
FLAT void invariant_blocks(const invariantParts *v, const td4 g[3][3], const td4 *H, td4 volume, const bool second,
                           td4 blocks[PAIRS][9])
{
    const td4 *w = v->w;
    td4 two1 = 2.0 * w[0], two2 = 2.0 * w[1], pp = 4.0 * (w[3] + w[1]), ps = 4.0 * w[4], ss = 4.0 * w[5],
        pc = 2.0 * w[6], sc = 2.0 * w[7], cc = w[8];
#pragma GCC unroll 9
    for (int b = 0; b < 3; b++)
    {
        const td4 *p = v->p[b], *s = v->s[b], *c = v->c[b];
        td4 with_p[3], with_s[3], with_c[3], h[3];
#pragma GCC unroll 9
        for (int k = 0; k < 3; k++)
        {
            with_p[k] = pp * p[k] + pc * c[k];
            with_c[k] = pc * p[k] + cc * c[k];
            if (!second)
                continue;
            with_p[k] += ps * s[k];
            with_s[k] = ps * p[k] + ss * s[k] + sc * c[k];
            with_c[k] += sc * s[k];
        }
        if (H != NULL)
            times(H, g[b], h);
#pragma GCC unroll 9
        for (int a = b; a < 3; a++)
        {
            td4 *to = blocks[place[a][b]], G = dot3(g[a], g[b]), ofB = two2 * G;
            td4 ofI = two1 * G;
            if (second)
                ofI += two2 * (v->I1 * G - dot3(v->p[a], p));
            if (H != NULL)
                ofI += volume * dot3(g[a], h);
#pragma GCC unroll 9
            for (int i = 0; i < 3; i++)
#pragma GCC unroll 9
                for (int k = 0; k < 3; k++)
                {
                    td4 value = v->p[a][i] * with_p[k] + v->c[a][i] * with_c[k];
                    if (second)
                        value += v->s[a][i] * with_s[k] - two2 * p[i] * v->p[a][k] - ofB * v->B[3 * i + k];
                    to[3 * i + k] = i == k ? value + ofI : value;
                }
            if (a == b)
                continue;
            td4 normal[3] = {g[a][1] * g[b][2] - g[a][2] * g[b][1], g[a][2] * g[b][0] - g[a][0] * g[b][2],
                             g[a][0] * g[b][1] - g[a][1] * g[b][0]};
            td4 m[3];
            times(v->F, normal, m);
#pragma GCC unroll 9
            for (int i = 0; i < 3; i++)
            {
                td4 turn = w[2] * m[i];
                to[3 * ((i + 1) % 3) + (i + 2) % 3] += turn;
                to[3 * ((i + 2) % 3) + (i + 1) % 3] -= turn;
            }
        }
    }
    close_blocks(blocks);
}

FLAT bool depends_on_second(const td4 w[9])
{
    td4 any = td4_abs(w[1]) + td4_abs(w[4]) + td4_abs(w[5]) + td4_abs(w[7]);
    return !(any[0] + any[1] + any[2] + any[3] == 0); // true for NaN
}

// Invariants of F, what the law says of them, and the forces of nodes 1 to 3.
FLAT void invariant_forces(const tdElementWork *work, int32_t b, const td4 g[3][3], td4 volume, invariantParts *v,
                           const td4 *H, double *psi, td4 f[4][3])
{
    _Alignas(64) double I1[4], I2[4], J[4], W[36];
    td4 cof[9], square = td4_set(0);
    td_load9(work->F + 36 * (int64_t)b, v->F);
    td4 det = td_cofactor(v->F, cof);
#pragma GCC unroll 9
    for (int i = 0; i < 3; i++)
#pragma GCC unroll 9
        for (int k = 0; k <= i; k++)
        {
            v->B[3 * i + k] = v->B[3 * k + i] = dot3(v->F + 3 * i, v->F + 3 * k);
            square += (i == k ? 1.0 : 2.0) * v->B[3 * i + k] * v->B[3 * i + k];
        }
    v->I1 = v->B[0] + v->B[4] + v->B[8];
    td4_store(I1, v->I1);
    td4_store(I2, 0.5 * (v->I1 * v->I1 - square));
    td4_store(J, det);
    work->mjed(work->parameters, I1, I2, J, psi, W, work->K != NULL);
    td4 scale = work->gamma * volume;
    for (int k = 0; k < (work->K != NULL ? 9 : 3); k++)
        v->w[k] = scale * td4_load(W + 4 * k);
#pragma GCC unroll 9
    for (int a = 0; a < 3; a++)
    {
        td4 Bp[3], h[3], Fh[3];
        times(v->F, g[a], v->p[a]);
        times(v->B, v->p[a], Bp);
        times(cof, g[a], v->c[a]);
#pragma GCC unroll 9
        for (int i = 0; i < 3; i++)
        {
            v->s[a][i] = v->I1 * v->p[a][i] - Bp[i];
            f[a + 1][i] = 2.0 * (v->w[0] * v->p[a][i] + v->w[1] * v->s[a][i]) + v->w[2] * v->c[a][i];
        }
        if (H == NULL)
            continue;
        times(H, g[a], h);
        times(v->F, h, Fh);
#pragma GCC unroll 9
        for (int i = 0; i < 3; i++)
            f[a + 1][i] += volume * Fh[i];
    }
    if (H == NULL)
        return;
    td4 C[9], twice = td4_set(0);
    td_mul_tn(v->F, v->F, C);
#pragma GCC unroll 9
    for (int c = 0; c < 9; c++)
        twice += H[c] * (c % 4 == 0 ? C[c] - 1.0 : C[c]);
    td4_store(psi, work->gamma * td4_load(psi) + 0.5 * twice);
}

FLAT void load_symmetric(const double *H, td4 *out)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k <= i; k++)
            out[3 * i + k] = out[3 * k + i] = td4_load(H + 4 * TD_PACKED(i, k));
}

FLAT void sum_energy(const int32_t *element, td4 volume, const double *psi, tdChunkSums *sums)
{
    for (int l = 0; l < 4; l++)
    {
        if (element[l] < 0)
            continue;
        sums->energy += volume[l] * psi[l];
        if (!isfinite(psi[l]) && element[l] < sums->bad)
            sums->bad = element[l];
    }
}

// Forces of nodes 1 to 3 and the blocks, by the law's P and D.
FLAT void dense_forces(const tdElementWork *work, int32_t b, const td4 g[3][3], td4 volume, double *psi, td4 f[4][3],
                       td4 blocks[PAIRS][9], tdChunkSums *sums)
{
    _Alignas(64) double P[36], D[4 * TD_TANGENT];
    const double *F = work->F + 36 * (int64_t)b;
    double *wanted = work->K != NULL ? D : NULL;
    work->law(work->parameters, F, td_rotation_at(work, b), psi, P, wanted);
    if (work->H != NULL)
        td_add_history(work->gamma, work->H + 24 * (int64_t)b, F, psi, P, wanted);
#pragma GCC unroll 9
    for (int i = 0; i < 3; i++)
#pragma GCC unroll 9
        for (int a = 0; a < 3; a++)
            f[a + 1][i] = volume * (td4_load(P + 12 * i) * g[a][0] + td4_load(P + 12 * i + 4) * g[a][1] +
                                    td4_load(P + 12 * i + 8) * g[a][2]);
    if (wanted == NULL)
        return;
    if (work->project)
    {
        int changed = td_project4(D);
#pragma GCC unroll 9
        for (int l = 0; l < 4; l++)
            sums->projected += (changed >> l & 1) && work->block->element[4 * (int64_t)b + l] >= 0;
    }
    tangent(D, g, volume, blocks);
}

FLAT void forces(const tdElementWork *work, int32_t chunk, bool invariants)
{
    const tdElements *tets = work->block;
    _Alignas(64) double psi[4];
    tdChunkSums sums = {
        .bad = INT64_MAX, .inverted = work->sums[chunk].inverted, .extended = work->sums[chunk].extended};
    for (int32_t b = tets->chunk[chunk]; b < tets->chunk[chunk + 1]; b++)
    {
        const int32_t *nodes = tets->nodes + 16 * (int64_t)b;
        const double *gradient = tets->gradient + 36 * (int64_t)b;
        td4 volume = td4_load(tets->weight + 4 * (int64_t)b), g[3][3], f[4][3], blocks[PAIRS][9];
        for (int a = 0; a < 3; a++)
            for (int j = 0; j < 3; j++)
                g[a][j] = td4_load(gradient + 12 * a + 4 * j);
        if (invariants)
        {
            invariantParts parts;
            td4 full[9], *H = work->H != NULL ? full : NULL;
            if (H != NULL)
                load_symmetric(work->H + 24 * (int64_t)b, full);
            invariant_forces(work, b, (const td4(*)[3])g, volume, &parts, H, psi, f);
            if (work->K != NULL && depends_on_second(parts.w))
                invariant_blocks(&parts, (const td4(*)[3])g, H, volume, true, blocks);
            else if (work->K != NULL)
                invariant_blocks(&parts, (const td4(*)[3])g, H, volume, false, blocks);
        }
        else
            dense_forces(work, b, (const td4(*)[3])g, volume, psi, f, blocks, &sums);
        sum_energy(tets->element + 4 * (int64_t)b, volume, psi, &sums);
        for (int i = 0; i < 3; i++)
            f[0][i] = -(f[1][i] + f[2][i] + f[3][i]);
        for (int a = 0; a < 4; a++)
            td_scatter_force(nodes + 4 * a, f[a], work->force);
        for (int pair = 0; pair < PAIRS && work->K != NULL; pair++)
            td_scatter_block(tets->block + 4 * (PAIRS * (int64_t)b + pair), blocks[pair], work->K);
    }
    work->sums[chunk] = sums;
}

void TD_ISA(td_tet_forces)(const tdElementWork *work, int32_t chunk)
{
    if (work->mjed != NULL)
        forces(work, chunk, true);
    else
        forces(work, chunk, false);
}

// With p_a = F g_a, B = F F' and an isotropic stiffness at rest
//
//     K_ab = V [lambda p_a p_b' + mu ((g_a.g_b) B + p_b p_a')]
FLAT void isotropic_damping(const double *F_in, const td4 g[3][3], td4 lambda, td4 mu, td4 blocks[PAIRS][9])
{
    td4 F[9], B[9], p[3][3];
    td_load9(F_in, F);
#pragma GCC unroll 9
    for (int i = 0; i < 3; i++)
#pragma GCC unroll 9
        for (int k = 0; k <= i; k++)
            B[3 * i + k] = B[3 * k + i] = mu * dot3(F + 3 * i, F + 3 * k);
#pragma GCC unroll 9
    for (int a = 0; a < 3; a++)
        times(F, g[a], p[a]);
#pragma GCC unroll 9
    for (int b = 0; b < 3; b++)
#pragma GCC unroll 9
        for (int a = b; a < 3; a++)
        {
            td4 G = dot3(g[a], g[b]);
#pragma GCC unroll 9
            for (int i = 0; i < 3; i++)
#pragma GCC unroll 9
                for (int k = 0; k < 3; k++)
                    blocks[place[a][b]][3 * i + k] =
                        lambda * p[a][i] * p[b][k] + mu * p[b][i] * p[a][k] + G * B[3 * i + k];
        }
    close_blocks(blocks);
}

void TD_ISA(td_tet_damping)(const tdElementWork *work, int32_t chunk)
{
    const tdElements *tets = work->block;
    const tdMaterial *material = &tets->material;
    const bool isotropic = material->rest != NULL && !isnan(material->lame[0]);
    _Alignas(64) double D[4 * TD_TANGENT];
    for (int32_t b = tets->chunk[chunk]; b < tets->chunk[chunk + 1]; b++)
    {
        const double *gradient = tets->gradient + 36 * (int64_t)b;
        td4 volume = td4_load(tets->weight + 4 * (int64_t)b), g[3][3], blocks[PAIRS][9];
        for (int a = 0; a < 3; a++)
            for (int j = 0; j < 3; j++)
                g[a][j] = td4_load(gradient + 12 * a + 4 * j);
        if (isotropic)
            isotropic_damping(work->F + 36 * (int64_t)b, (const td4(*)[3])g, material->lame[0] * volume,
                              material->lame[1] * volume, blocks);
        else
        {
            td_damping_tangent(work, material->rest, b, D);
            tangent(D, (const td4(*)[3])g, volume, blocks);
        }
        for (int pair = 0; pair < PAIRS; pair++)
            td_scatter_block(tets->block + 4 * (PAIRS * (int64_t)b + pair), blocks[pair], work->K);
    }
}
