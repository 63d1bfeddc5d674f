// SPDX-License-Identifier: Apache-2.0
// St. Venant-Kirchhoff: psi = mu |E|^2 + lambda/2 tr(E)^2, E = (F'F - I)/2.
// parameters: mu, lambda [Pa]. Small strain: E and nu as given. Finite for any F, but it softens under
// compression and has no resistance to full collapse: its tangent is indefinite there.
//     P = F S, S = 2 mu E + lambda tr(E) I
//     D(iJ, kL) = delta_ik S_JL + mu (F F')_ik delta_JL + mu F_iL F_kJ + lambda F_iJ F_kL
#include "material/tensor.h"

void TD_ISA(td_law_stvk)(const double *, const double *, const double *, double *, double *, double *);

void TD_ISA(td_law_stvk)(const double *p, const double *F_in, const double *R_in, double *psi, double *P, double *D)
{
    (void)R_in;
    td4 F[9], C[9], S[9], PK[9], square = td4_set(0);
    td_load9(F_in, F);
    td_mul_tn(F, F, C);
    td4 trace = 0.5 * (C[0] + C[4] + C[8] - 3.0);
    for (int i = 0; i < 9; i++)
    {
        bool diagonal = i % 4 == 0;
        td4 e = 0.5 * (C[i] - (diagonal ? 1.0 : 0.0));
        square += e * e;
        S[i] = 2.0 * p[0] * e + (diagonal ? p[1] * trace : td4_set(0));
    }
    td4_store(psi, p[0] * square + 0.5 * p[1] * trace * trace);
    td_mul_nn(F, S, PK);
    td_store9(PK, P);
    if (D == NULL)
        return;
    td4 B[9];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            B[3 * i + k] = p[0] * (F[3 * i] * F[3 * k] + F[3 * i + 1] * F[3 * k + 1] + F[3 * i + 2] * F[3 * k + 2]);
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
#pragma GCC unroll 9
        for (int j = 0; j <= i; j++)
        {
            int a = i / 3, b = i % 3, c = j / 3, d = j % 3;
            td4 value = p[0] * F[3 * a + d] * F[3 * c + b] + p[1] * F[i] * F[j];
            if (a == c)
                value = value + S[3 * b + d];
            if (b == d)
                value = value + B[3 * a + c];
            td4_store(D + 4 * TD_PACKED(i, j), value);
        }
}
