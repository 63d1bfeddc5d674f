// SPDX-License-Identifier: Apache-2.0
// Fields of a soft body for output, by element: von Mises stress and strain energy density.
#include "body/soft.h"

#include <math.h>

// Cauchy stress P F' / J; its von Mises value. An inverted or flat element has none: NaN.
static double von_mises_of(const double *P, const double *F)
{
    double J =
        F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
    if (!(J > 0))
        return NAN;
    double s[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            s[3 * i + j] = (P[3 * i] * F[3 * j] + P[3 * i + 1] * F[3 * j + 1] + P[3 * i + 2] * F[3 * j + 2]) / J;
    double a = s[0] - s[4], b = s[4] - s[8], c = s[8] - s[0];
    double d = 0.5 * (s[1] + s[3]), e = 0.5 * (s[5] + s[7]), f = 0.5 * (s[2] + s[6]);
    return sqrt(0.5 * (a * a + b * b + c * c) + 3 * (d * d + e * e + f * f));
}

void td_soft_fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *energy)
{
    const tdSoft *soft = body->data;
    tdSoftState *mine = (tdSoftState *)state->bodies[body->index];
    const tdTets *tets = &soft->tets;
    (void)model;
    td_soft_gradients(soft, mine, state, state->q + body->first, soft->law->rotation != TD_ROTATION_NONE);
    for (int32_t b = 0; b < tets->batches; b++)
    {
        _Alignas(64) double psi[4], P[36];
        const double *F = mine->F + 36 * (int64_t)b;
        soft->law->kernel[state->isa](soft->parameters, F, mine->R + 36 * (int64_t)b, psi, P, NULL);
        for (int l = 0; l < 4; l++)
        {
            int32_t element = tets->element[4 * (int64_t)b + l];
            if (element < 0)
                continue;
            double p[9], f[9];
            for (int c = 0; c < 9; c++)
            {
                p[c] = P[4 * c + l];
                f[c] = F[4 * c + l];
            }
            if (von_mises != NULL)
                von_mises[element] = von_mises_of(p, f);
            if (energy != NULL)
                energy[element] = psi[l];
        }
    }
}
