// SPDX-License-Identifier: Apache-2.0
// Costa, Holmes and McCulloch 2001, orthotropic, for muscle: W = c/2 (exp(Q) - 1),
//     Q = b_ff Eff^2 + b_ss Ess^2 + b_nn Enn^2 + 2 b_fs Efs^2 + 2 b_fn Efn^2 + 2 b_sn Esn^2,
// E = (f(J) C - I)/2 in the frame of fibre, sheet and normal (rows of R), f = J^(-2/3).
// Own parameters: c [Pa], b_ff, b_ss, b_nn, b_fs, b_fn, b_sn (numbers). Small strain: psi = c/2 Q + U; with
// all b equal it is isotropic with the shear modulus c b/2. exp goes on as a parabola beyond TD_EXPONENT.
#include "material/frame.h"

void TD_ISA(td_law_costa)(const double *, const double *, const double *, double *, double *, double *);

// Q_m = dQ/dE_m and its (constant, diagonal) derivative; an off-diagonal E_m stands for both places. With
// E_m = (f c_m - delta)/2 the chain rule gives the derivatives by c_m and J.
static tdFrameEnergy energy(const double *p, td4 J, const td4 *c_m, td4 *psi)
{
    const double *own = p + TD_PARAMETER_OWN, half = 0.5 * own[0];
    tdJet f, unused, U = td_volumetric4(p, J);
    td4 q[6], Q = td4_set(0), qc = td4_set(0), qcc = td4_set(0);
    td_isochoric(J, &f, &unused);
    for (int m = 0; m < 6; m++)
    {
        double slope = (m < 3 ? 2 : 4) * own[1 + m];
        td4 E = 0.5 * (f.v * c_m[m] - (m < 3 ? 1.0 : 0.0));
        q[m] = slope * E;
        Q += 0.5 * q[m] * E;
        qc += q[m] * c_m[m];
        qcc += slope * c_m[m] * c_m[m];
    }
    tdJet e = td_exponential(Q);
    *psi = half * (e.v - 1.0) + U.v;
    td4 e1 = half * e.d, e2 = half * e.dd, df = 0.5 * f.d, f2 = 0.5 * f.v;
    tdFrameEnergy out = {.weight = e2};
    for (int m = 0; m < 6; m++)
    {
        double slope = (m < 3 ? 2 : 4) * own[1 + m];
        out.s[m] = e1 * q[m] * f2;
        out.k[m] = e1 * slope * f2 * f2;
        out.v[m] = q[m] * f2;
        out.sJ[m] = df * (e1 * (q[m] + slope * f2 * c_m[m]) + e2 * q[m] * f2 * qc);
    }
    out.J = e1 * df * qc + U.d;
    out.JJ = e1 * (0.5 * f.dd * qc + df * df * qcc) + e2 * df * df * qc * qc + U.dd;
    return out;
}

void TD_ISA(td_law_costa)(const double *p, const double *F_in, const double *R_in, double *psi_out, double *P,
                          double *D)
{
    td4 F[9], C[9], n[9], y[9], Z[6][9], c_m[6], psi;
    td_load9(F_in, F);
    td_load9(R_in, n);
    td4 J = td_cofactor(F, C);
    td_frame_map(F, n, y);
    for (int m = 0; m < 6; m++)
    {
        const td4 *a = y + 3 * td_frame_pair[m][0], *b = y + 3 * td_frame_pair[m][1];
        c_m[m] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }
    tdFrameEnergy e = energy(p, J, c_m, &psi);
    td4_store(psi_out, psi);
    td_frame_gradients(n, y, Z);
    td_frame_stress(&e, Z, C, P, true);
    if (D != NULL)
        td_frame_tangent(&e, F, n, Z, C, D, true);
}
