// SPDX-License-Identifier: Apache-2.0
// Neo-Hookean, isochoric form: psi = mu/2 (J^(-2/3) I1 - 3) + kappa/2 (J - 1)^2, I1 = |F|^2, J = det F.
// parameters: mu, kappa [Pa] (mu = 2 C10, kappa = 2 / D1 in the usual names). Small strain: the E and nu
// with these moduli of shear and volume. Defined for J > 0 only: an inverted point gets psi = NaN.
//     a = mu J^(-2/3), C = cof F, b = I1 / (3 J)
//     P = a (F - b C) + kappa (J - 1) C
//     D = a I + (kappa (J - 1) - a b) dC/dF - 2 a/(3 J) (F x C + C x F) + (5/9 a I1/J^2 + kappa) C x C
#include "material/tensor.h"

void TD_ISA(td_law_neo_hookean)(const double *, const double *, const double *, double *, double *, double *);

void TD_ISA(td_law_neo_hookean)(const double *p, const double *F_in, const double *R_in, double *psi, double *P,
                                double *D)
{
    (void)R_in;
    td4 F[9], C[9], PK[9], a, I1 = td4_set(0);
    td_load9(F_in, F);
    td4 J = td_cofactor(F, C);
    for (int i = 0; i < 9; i++)
        I1 += F[i] * F[i];
    for (int l = 0; l < TD_LANES; l++)
    {
        double root = cbrt(J[l]);
        a[l] = p[0] / (root * root);
    }
    td4 good = td4_select(J > 0.0, td4_set(0), td4_set((double)NAN));
    td4 inverse = 1.0 / J, pressure = p[1] * (J - 1.0), b = I1 * inverse * (1.0 / 3.0);
    td4_store(psi, 0.5 * (a * I1 - 3.0 * p[0]) + 0.5 * pressure * (J - 1.0) + good);
    td4 c1 = pressure - a * b;
    for (int i = 0; i < 9; i++)
        PK[i] = a * F[i] + c1 * C[i];
    td_store9(PK, P);
    if (D == NULL)
        return;
    td4 c2 = (-2.0 / 3.0) * a * inverse, c3 = (5.0 / 3.0) * a * b * inverse + p[1], U[9];
    for (int i = 0; i < 9; i++)
        U[i] = c2 * F[i] + c3 * C[i];
    for (int i = 0; i < 9; i++)
        for (int j = 0; j <= i; j++)
        {
            int r = i / 3, s = i % 3, t = j / 3, u = j % 3;
            td4 value = U[i] * C[j] + c2 * C[i] * F[j];
            if (i == j)
                value = value + a;
            if (r != t && s != u)
            {
                // dC_rs/dF_tu = e_rtm e_sun F_mn
                int m = 3 - r - t, n = 3 - s - u;
                bool even = ((t - r + 3) % 3 == 1) == ((u - s + 3) % 3 == 1);
                value = value + (even ? c1 : -c1) * F[3 * m + n];
            }
            td4_store(D + 4 * TD_PACKED(i, j), value);
        }
}
