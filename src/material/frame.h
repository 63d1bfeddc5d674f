// SPDX-License-Identifier: Apache-2.0
// Laws that are functions psi(c, J) of the six components c_ab = n_a . C n_b of C in an orthonormal frame n
// (constant fibres, or the principal axes of C) and of J. With y_a = F n_a the components are y_a . y_b, so
//     Z_aa = dc_aa/dF = 2 y_a x n_a,   Z_ab = dc_ab/dF = y_a x n_b + y_b x n_a,
//     P = sum psi_m Z_m + psi_J cof F
//     D = sum psi_mn Z_m x Z_n + sum psi_mJ (Z_m x cof F + cof F x Z_m) + psi_JJ cof F x cof F
//         + sum psi_m d2c_m + psi_J d cof(F)/dF
// The order of components is 11, 22, 33, 12, 13, 23, each off-diagonal one counted once.
#pragma once
#include "material/isochoric.h"

static const int td_frame_pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

/// Derivatives of psi: psi_mn = diag(k) + weight v x v + mixed, where mixed couples 11 with 22, 11 with 33 and
/// 22 with 33. A law in principal axes has no off-diagonal s, sJ and no v, one with fibres (`full`) no mixed.
typedef struct tdFrameEnergy
{
    td4 s[6], sJ[6], k[6], v[6], mixed[3], weight, J, JJ;
} tdFrameEnergy;

/// y_a = F n_a, as rows.
TD_FLAT void td_frame_map(const td4 *F, const td4 *n, td4 *y)
{
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++)
            y[3 * a + i] = F[3 * i] * n[3 * a] + F[3 * i + 1] * n[3 * a + 1] + F[3 * i + 2] * n[3 * a + 2];
}

TD_FLAT void td_frame_gradients(const td4 *n, const td4 *y, td4 Z[6][9])
{
    for (int m = 0; m < 6; m++)
        for (int i = 0; i < 9; i++)
        {
            int a = td_frame_pair[m][0], b = td_frame_pair[m][1], r = i / 3, s = i % 3;
            Z[m][i] = y[3 * a + r] * n[3 * b + s] + y[3 * b + r] * n[3 * a + s];
        }
}

TD_FLAT void td_frame_stress(const tdFrameEnergy *e, const td4 Z[6][9], const td4 *C, double *P, bool full)
{
    for (int i = 0; i < 9; i++)
    {
        td4 sum = e->J * C[i];
        for (int m = 0; m < (full ? 6 : 3); m++)
            sum += e->s[m] * Z[m][i];
        td4_store(P + 4 * i, sum);
    }
}

TD_FLAT void td_frame_tangent(const tdFrameEnergy *e, const td4 *F, const td4 *n, const td4 Z[6][9], const td4 *C,
                              double *D, bool full)
{
    const int terms = full ? 6 : 3;
    td4 T[9], V[9], S[9];
    for (int i = 0; i < 9; i++)
    {
        T[i] = 0.5 * e->JJ * C[i];
        V[i] = S[i] = td4_set(0);
        for (int m = 0; m < terms; m++)
        {
            // d2c_ab/dF2 = delta_ik (n_a x n_b + n_b x n_a)
            int a = td_frame_pair[m][0], b = td_frame_pair[m][1], r = i / 3, s = i % 3;
            T[i] += e->sJ[m] * Z[m][i];
            S[i] += e->s[m] * (n[3 * a + r] * n[3 * b + s] + n[3 * b + r] * n[3 * a + s]);
            if (full)
                V[i] += e->v[m] * Z[m][i];
        }
    }
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
    {
        td4 kZ[6], wV = e->weight * V[i];
        for (int m = 0; m < 6; m++)
            kZ[m] = e->k[m] * Z[m][i];
        if (!full)
        {
            kZ[0] += e->mixed[0] * Z[1][i] + e->mixed[1] * Z[2][i];
            kZ[1] += e->mixed[0] * Z[0][i] + e->mixed[2] * Z[2][i];
            kZ[2] += e->mixed[1] * Z[0][i] + e->mixed[2] * Z[1][i];
        }
#pragma GCC unroll 9
        for (int j = 0; j <= i; j++)
        {
            td4 value = T[i] * C[j] + C[i] * T[j];
            for (int m = 0; m < 6; m++)
                value += kZ[m] * Z[m][j];
            if (full)
                value += wV * V[j];
            if (i / 3 == j / 3)
                value += S[3 * (i % 3) + j % 3];
            td4_store(D + 4 * TD_PACKED(i, j), td_add_cofactor(value, e->J, F, i, j));
        }
    }
}
