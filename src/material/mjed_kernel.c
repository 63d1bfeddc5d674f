// SPDX-License-Identifier: Apache-2.0
// What all laws by invariants share (S3 section III-B): stress and tangent from the ten numbers of a point,
//     P = psi_1 Z1 + psi_2 Z2 + psi_J Z3,        Z1 = dI1/dF = 2 F, Z2 = dI2/dF = 2 (I1 F - F F'F), Z3 = cof F
//     D = psi_1 d2I1 + psi_2 d2I2 + psi_J d cof(F)/dF + sum_ab psi_ab Za x Zb
#include "material/isochoric.h"

void TD_ISA(td_mjed_invariants)(const double *F_in, double *I1_out, double *I2_out, double *J_out)
{
    td4 F[9], C[9], I1 = td4_set(0), I2 = td4_set(0);
    td_load9(F_in, F);
    td4_store(J_out, td_cofactor(F, C));
    for (int i = 0; i < 9; i++)
    {
        I1 += F[i] * F[i];
        I2 += C[i] * C[i]; // I2(C) = tr cof C = |cof F|^2
    }
    td4_store(I1_out, I1);
    td4_store(I2_out, I2);
}

void TD_ISA(td_mjed_expand)(const double *F_in, const double *W_in, double *P, double *D)
{
    td4 F[9], C[9], left[9], right[9], G[9], PK[9], W[9], I1 = td4_set(0);
    td_load9(F_in, F);
    for (int i = 0; i < (D == NULL ? 3 : 9); i++)
        W[i] = td4_load(W_in + 4 * i);
    td_cofactor(F, C);
    for (int i = 0; i < 9; i++)
        I1 += F[i] * F[i];
    td_left(F, left);
    td_second_gradient(F, left, I1, G);
    for (int i = 0; i < 9; i++)
        PK[i] = 2.0 * W[0] * F[i] + W[1] * G[i] + W[2] * C[i];
    td_store9(PK, P);
    if (D == NULL)
        return;
    td_mul_tn(F, F, right);
    td4 U1[9], U2[9], U3[9], diagonal = 2.0 * (W[0] + W[1] * I1), scale = -2.0 * W[1];
    for (int i = 0; i < 9; i++)
    {
        left[i] *= scale;
        right[i] *= scale;
        U1[i] = 4.0 * (W[3] + W[1]) * F[i] + 2.0 * (W[4] * G[i] + W[6] * C[i]); // with the 4 F x F of d2I2
        U2[i] = 2.0 * W[4] * F[i] + W[5] * G[i] + W[7] * C[i];
        U3[i] = 2.0 * W[6] * F[i] + W[7] * G[i] + W[8] * C[i];
    }
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
#pragma GCC unroll 9
        for (int j = 0; j <= i; j++)
        {
            td4 value = U1[i] * F[j] + U2[i] * G[j] + U3[i] * C[j] + td_second_hessian(F, left, right, W[1], i, j);
            if (i == j)
                value += diagonal;
            td4_store(D + 4 * TD_PACKED(i, j), td_add_cofactor(value, W[2], F, i, j));
        }
}
