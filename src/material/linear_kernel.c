// SPDX-License-Identifier: Apache-2.0
// The quadratic laws: psi = mu |e|^2 + lambda/2 tr(e)^2 with the strain
//     linear               e = sym(F) - I
//     corotational         e = sym(R'F) - I, R the polar rotation of F
//     corotational_lagged  e = sym(R'F) - I, R the polar rotation at the start of the step
// parameters: mu, lambda [Pa]. Small strain: E and nu as given. All stay finite for any F.
#include "material/corotational.h"

void TD_ISA(td_law_linear)(const double *, const double *, const double *, double *, double *, double *);
void TD_ISA(td_law_corotational)(const double *, const double *, const double *, double *, double *, double *);
void TD_ISA(td_law_corotational_lagged)(const double *, const double *, const double *, double *, double *, double *);

// e = sym(S) - I and the stress T = 2 mu e + lambda tr(e) I; returns psi.
static td4 stress(double mu, double lambda, const td4 *S, td4 *T, td4 *trace_out)
{
    td4 e[9], trace = S[0] + S[4] + S[8] - 3.0, square = td4_set(0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            e[3 * i + j] = 0.5 * (S[3 * i + j] + S[3 * j + i]) - (i == j ? 1.0 : 0.0);
            T[3 * i + j] = 2.0 * mu * e[3 * i + j] + (i == j ? lambda * trace : td4_set(0));
            square += e[3 * i + j] * e[3 * i + j];
        }
    *trace_out = trace;
    return mu * square + 0.5 * lambda * trace * trace;
}

void TD_ISA(td_law_linear)(const double *p, const double *F_in, const double *R_in, double *psi, double *P, double *D)
{
    (void)R_in;
    td4 F[9], T[9], trace;
    td_load9(F_in, F);
    td4_store(psi, stress(p[0], p[1], F, T, &trace));
    td_store9(T, P);
    if (D == NULL)
        return;
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
#pragma GCC unroll 9
        for (int j = 0; j <= i; j++)
        {
            int a = i / 3, b = i % 3, c = j / 3, d = j % 3;
            double value = p[0] * ((a == c && b == d) + (a == d && b == c)) + p[1] * (a == b && c == d);
            td4_store(D + 4 * TD_PACKED(i, j), td4_set(value));
        }
}

// D = d/dF of R T(sym(R'F)) at constant R:
//     mu (delta_ik delta_JL + R_iL R_kJ) + lambda R_iJ R_kL
void TD_ISA(td_law_corotational_lagged)(const double *p, const double *F_in, const double *R_in, double *psi, double *P,
                                        double *D)
{
    td4 F[9], R[9], S[9], T[9], Q[9], trace;
    td_load9(F_in, F);
    td_load9(R_in, R);
    td_mul_tn(R, F, S);
    td4_store(psi, stress(p[0], p[1], S, T, &trace));
    td_mul_nn(R, T, Q);
    td_store9(Q, P);
    if (D == NULL)
        return;
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
#pragma GCC unroll 9
        for (int j = 0; j <= i; j++)
        {
            int a = i / 3, b = i % 3, c = j / 3, d = j % 3;
            td4 value = p[0] * R[3 * a + d] * R[3 * c + b] + p[1] * R[i] * R[j];
            if (i == j)
                value = value + p[0];
            td4_store(D + 4 * TD_PACKED(i, j), value);
        }
}

// With R = R(F): psi = mu |F - R|^2 + lambda/2 (R:F - 3)^2,
//     P  = 2 mu (F - R) + lambda (tr S - 3) R
//     dP = 2 mu dF + lambda (R:dF) R + (lambda (tr S - 3) - 2 mu) dR
//     dR = R [w]x with (tr S I - S) w = axial(R'dF - dF'R), so dR = Q G^-1 Q' dF (material/corotational.h).
void TD_ISA(td_law_corotational)(const double *p, const double *F_in, const double *R_in, double *psi, double *P,
                                 double *D)
{
    td4 F[9], R[9], S[9], T[9], PK[9], trace;
    td_load9(F_in, F);
    td_load9(R_in, R);
    td_mul_tn(R, F, S);
    td4_store(psi, stress(p[0], p[1], S, T, &trace));
    td4 c = p[1] * trace - 2.0 * p[0];
    for (int i = 0; i < 9; i++)
        PK[i] = 2.0 * p[0] * F[i] + c * R[i];
    td_store9(PK, P);
    if (D == NULL)
        return;
    td4 H[9], Q[3][9], QH[3][9];
    td_corotational_spin(p[0], p[1], S, trace, H);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
        {
            // R [e_k]x: columns k+1, k+2 of the result are columns k+2 of R and minus k+1 of R.
            int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            Q[k][3 * i + k] = td4_set(0);
            Q[k][3 * i + k1] = R[3 * i + k2];
            Q[k][3 * i + k2] = -R[3 * i + k1];
        }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 9; i++)
            QH[k][i] = H[3 * k] * Q[0][i] + H[3 * k + 1] * Q[1][i] + H[3 * k + 2] * Q[2][i];
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
#pragma GCC unroll 9
        for (int j = 0; j <= i; j++)
        {
            td4 value = p[1] * R[i] * R[j] + Q[0][i] * QH[0][j] + Q[1][i] * QH[1][j] + Q[2][i] * QH[2][j];
            if (i == j)
                value = value + 2.0 * p[0];
            td4_store(D + 4 * TD_PACKED(i, j), value);
        }
}
