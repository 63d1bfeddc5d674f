// SPDX-License-Identifier: Apache-2.0
// What the element kernels share. Included only by *_kernel.c.
#pragma once
#include "body/soft.h"
#include "material/tensor.h"

// F is F0 of the rest frame: P = gamma P0 + F H, from the potential gamma psi0 + 1/2 H : (F'F - I). H is
// symmetric, packed as the lower triangle.
static inline void td_add_history(double gamma, const double *H, const double *F_in, double *psi, double *P, double *D)
{
    td4 F[9], h[6], twice = td4_set(0);
    td_load9(F_in, F);
    for (int c = 0; c < 6; c++)
        h[c] = td4_load(H + 4 * c);
    for (int i = 0; i < 3; i++)
    {
        td4 a = F[3 * i], b = F[3 * i + 1], c = F[3 * i + 2];
        td4 row[3] = {a * h[0] + b * h[1] + c * h[3], a * h[1] + b * h[2] + c * h[4], a * h[3] + b * h[4] + c * h[5]};
        twice += a * row[0] + b * row[1] + c * row[2];
        for (int j = 0; j < 3; j++)
            td4_store(P + 4 * (3 * i + j), gamma * td4_load(P + 4 * (3 * i + j)) + row[j]);
    }
    td4_store(psi, gamma * td4_load(psi) + 0.5 * (twice - h[0] - h[2] - h[5]));
    if (D == NULL)
        return;
    for (int c = 0; c < TD_TANGENT; c++)
        td4_store(D + 4 * c, gamma * td4_load(D + 4 * c));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k <= j; k++)
            {
                double *to = D + 4 * TD_PACKED(3 * i + j, 3 * i + k);
                td4_store(to, td4_load(to) + h[TD_PACKED(j, k)]);
            }
}

// What damps a point, D of P = D dF/dt: the stress beta C : dE/dt of the rate of Green's strain with the stiffness C at
// rest, so that D_iJkL = F_iI C_IJKL F_kK. Never negative, and zero for a body that turns as a whole.
static inline void td_carry_stiffness(const double *C, const double *F_in, double *D)
{
    td4 F[9], T[9][9];
    td_load9(F_in, F);
    for (int row = 0; row < 9; row++)
        for (int column = 0; column < 9; column++)
        {
            td4 sum = td4_set(0);
            for (int m = 0; m < 3; m++)
            {
                int from = 3 * m + row % 3;
                int at = from >= column ? TD_PACKED(from, column) : TD_PACKED(column, from);
                sum += F[3 * (row / 3) + m] * td4_load(C + 4 * at);
            }
            T[row][column] = sum;
        }
    for (int row = 0; row < 9; row++)
        for (int column = 0; column <= row; column++)
        {
            const td4 *to = F + 3 * (column / 3);
            int l = column % 3;
            td4_store(D + 4 * TD_PACKED(row, column),
                      T[row][l] * to[0] + T[row][3 + l] * to[1] + T[row][6 + l] * to[2]);
        }
}

// The same of an isotropic C of Lame's constants, added: lambda F_iJ F_kL + mu ((FF')_ik d_JL + F_iL F_kJ).
static inline void td_add_lame(double lambda, double mu, const double *F_in, double *D)
{
    td4 F[9], B[6];
    td_load9(F_in, F);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k <= i; k++)
            B[TD_PACKED(i, k)] = mu * (F[3 * i] * F[3 * k] + F[3 * i + 1] * F[3 * k + 1] + F[3 * i + 2] * F[3 * k + 2]);
#pragma GCC unroll 9
    for (int row = 0; row < 9; row++)
#pragma GCC unroll 9
        for (int column = 0; column <= row; column++)
        {
            int i = row / 3, j = row % 3, k = column / 3, l = column % 3;
            double *to = D + 4 * TD_PACKED(row, column);
            td4 d = td4_load(to) + lambda * F[row] * F[column] + mu * F[3 * i + l] * F[3 * k + j];
            td4_store(to, j == l ? d + B[TD_PACKED(i, k)] : d);
        }
}

// T = D b: T[row][k] = sum_L D(row, kL) b_L.
static inline void td_contract(const double *D, const td4 *b, td4 T[9][3])
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

static inline void td_gather(const double *x, const int32_t *nodes, td4 out[3])
{
    const double *p0 = x + 3 * (int64_t)nodes[0], *p1 = x + 3 * (int64_t)nodes[1], *p2 = x + 3 * (int64_t)nodes[2],
                 *p3 = x + 3 * (int64_t)nodes[3];
    for (int i = 0; i < 3; i++)
        out[i] = (td4){p0[i], p1[i], p2[i], p3[i]};
}

static inline void td_scatter_force(const int32_t *nodes, const td4 f[3], double *force)
{
    for (int l = 0; l < 4; l++)
    {
        double *to = force + 3 * (int64_t)nodes[l];
        to[0] += f[0][l];
        to[1] += f[1][l];
        to[2] += f[2][l];
    }
}

// Adds a 3 x 3 block of each lane to the matrix, lane after lane: two may go to the same place.
static inline void td_scatter_block(const int32_t *block, td4 values[9], double *K)
{
#if !defined(__AVX__)
    // Where four lanes are two registers, turning them costs more than it saves.
    for (int l = 0; l < 4; l++)
        for (int c = 0; c < 9; c++)
            K[9 * (int64_t)block[l] + c] += values[c][l];
    return;
#endif
    td4_transpose(values);
    td4_transpose(values + 4);
    for (int l = 0; l < 4; l++)
    {
        double *to = K + 9 * (int64_t)block[l];
        td4_store(to, td4_load(to) + values[l]);
        td4_store(to + 4, td4_load(to + 4) + values[4 + l]);
        to[8] += values[8][l];
    }
}

static inline td4 td_det(const td4 *F)
{
    return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
}

// What a law is told about rotations at a point batch.
static inline const double *td_rotation_at(const tdElementWork *work, int64_t batch)
{
    if (work->block->material.fibre != NULL)
        return work->block->material.fibre;
    return work->R != NULL ? work->R + 36 * batch : NULL;
}

// D of what damps a point batch: the stiffness at rest, `rest`, carried along, or the tangent of a law that is never
// negative.
static inline void td_damping_tangent(const tdElementWork *work, const double *rest, int64_t batch, double *D)
{
    _Alignas(64) double psi[4], P[36];
    const double *F = work->F + 36 * batch;
    if (rest != NULL)
        td_carry_stiffness(rest, F, D);
    else
        work->damping(work->parameters, F, td_rotation_at(work, batch), psi, P, D);
}
