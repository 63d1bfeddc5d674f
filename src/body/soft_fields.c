// SPDX-License-Identifier: Apache-2.0
// Fields of a soft body for output, by element: von Mises stress and strain energy density, each the mean
// over the points of the element. Of a viscoelastic element the stress is the present one, and the energy the
// part that would be left after relaxation. And what an element is called.
#include "body/soft.h"

#include <math.h>
#include <stdio.h>

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

// Adds the share of a point of one lane to the means of its element.
static void add_point(const double *P, const double *F, const double *H, double gamma, int l, double share,
                      double *von_mises)
{
    double p[9], f[9];
    for (int c = 0; c < 9; c++)
    {
        p[c] = gamma * P[4 * c + l];
        f[c] = F[4 * c + l];
    }
    for (int i = 0; i < 9 && H != NULL; i++)
        for (int j = 0; j < 3; j++)
        {
            int row = i % 3 > j ? i % 3 : j, column = i % 3 > j ? j : i % 3;
            p[i] += f[i / 3 * 3 + j] * H[4 * TD_PACKED(row, column) + l];
        }
    *von_mises += share * von_mises_of(p, f);
}

static void batch_fields(const tdSoft *soft, const tdSoftState *mine, const tdState *state, int k, int32_t b,
                         double *von_mises, double *energy)
{
    const tdElements *block = &soft->blocks[k];
    const tdMaterial *material = &block->material;
    int points = td_element_shape[block->kind].points;
    const double *F = mine->F + 36 * block->first;
    double pressure[4], stress[4] = {0}, density[4] = {0}, volume[4] = {0};
    if (material->mean_dilatation)
        td_soft_mean_pressure(block, F, b, pressure, density);
    for (int p = 0; p < points; p++)
        for (int l = 0; l < 4; l++)
            volume[l] += block->weight[4 * (points * (int64_t)b + p) + l];
    for (int p = 0; p < points; p++)
    {
        _Alignas(64) double psi[4], P[36];
        int64_t point = points * (int64_t)b + p;
        const double *R = mine->R == NULL ? NULL : mine->R + 36 * (block->first + point);
        const double *H = material->n_prony > 0 ? mine->H + block->H + 24 * point : NULL;
        td_soft_stress(block, material->law->kernel[state->isa], F + 36 * point, R,
                       material->mean_dilatation ? pressure : NULL, psi, P);
        for (int l = 0; l < 4; l++)
        {
            // A single point is its own mean, to the last bit.
            double share = points == 1 ? 1 : block->weight[4 * point + l] / volume[l];
            density[l] += share * psi[l];
            add_point(P, F + 36 * point, H, mine->gamma[k], l, share, &stress[l]);
        }
    }
    for (int l = 0; l < 4; l++)
    {
        int32_t element = block->element[4 * (int64_t)b + l];
        if (element >= 0 && von_mises != NULL)
            von_mises[element] = mine->factors[TD_FACTOR_YOUNG] * stress[l];
        if (element >= 0 && energy != NULL)
            energy[element] = mine->factors[TD_FACTOR_YOUNG] * mine->gamma[k] * density[l];
    }
}

void td_soft_fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *energy)
{
    const tdSoft *soft = body->data;
    tdSoftState *mine = (tdSoftState *)state->bodies[body->index];
    (void)model;
    td_soft_history_present(soft, mine);
    td_soft_fields_at(soft, mine, state, state->q + body->first, von_mises, energy);
}

void td_soft_fields_at(const tdSoft *soft, tdSoftState *mine, tdState *state, const double *x, double *von_mises,
                       double *energy)
{
    td_soft_gradients(soft, mine, state, x, true);
    for (int k = 0; k < soft->n_blocks; k++)
        for (int32_t b = 0; b < soft->blocks[k].batches; b++)
            batch_fields(soft, mine, state, k, b, von_mises, energy);
}

void td_soft_describe(const tdBody *body, int64_t element, char *out, size_t size)
{
    const tdSoft *soft = body->soft;
    for (int k = 0; k < TD_ELEMENT_KINDS; k++)
    {
        tdCellType type = td_element_shape[k].cell;
        if (element >= soft->element_start[type] && element < soft->element_start[type + 1])
            snprintf(out, size, "element %d of body '%s' (a %s)", soft->element_cell[element], body->name,
                     td_element_shape[k].name);
    }
}
