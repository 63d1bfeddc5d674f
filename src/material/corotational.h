// SPDX-License-Identifier: Apache-2.0
// Tangents of the corotational laws. With the columns Q_k = R [e_k]x (9 numbers each) and R as such a column,
//
//     D = 2 mu I + lambda R R' + Q H Q'
//
// where H comes from the turning of R with F, dR = Q G^-1 Q' dF with G = tr(S) I - S, S = sym(R'F):
// H = (lambda (tr S - 3) - 2 mu) G^-1, and H = -mu I where R is kept. So all but the first, constant, term are of
// rank four. Included only by *_kernel.c.
#pragma once
#include "material/tensor.h"

/// H of a law whose rotation follows F; S = R'F, trace = tr S - 3. Symmetric.
static inline void td_corotational_spin(double mu, double lambda, const td4 *S, td4 trace, td4 *H)
{
    td4 G[9], c = lambda * trace - 2.0 * mu;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            G[3 * i + j] = -0.5 * (S[3 * i + j] + S[3 * j + i]) + (i == j ? trace + 3.0 : td4_set(0));
    td4 det = td_cofactor(G, H);
    // The rotation has no derivative where two stretches cancel; a floor keeps the tangent finite there.
    td4 size = trace + 3.0;
    td4 floor = 1e-9 * td4_abs(size * size * size) + 1e-300;
    td4 inverse = c / td4_select(td4_abs(det) > floor, det, floor);
    for (int i = 0; i < 9; i++)
        H[i] = inverse * H[i];
}
