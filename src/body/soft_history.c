// SPDX-License-Identifier: Apache-2.0
// Viscoelasticity by a Prony series on the whole second Piola-Kirchhoff stress. With S0 the law's stress (its
// parameters are the instantaneous moduli) and the stress h_i of each term,
//
//     S(t) = (1 - sum g_i) S0(t) + sum h_i,      dh_i/dt + h_i / tau_i = g_i dS0/dt
//
// and S0 taken to be linear in time within a step of length h,
//
//     h_i(t + h) = e_i h_i + g_i a_i (S0(t + h) - S0(t)),   e_i = exp(-h/tau_i),   a_i = (1 - e_i) tau_i / h
//     S(t + h) = gamma S0(t + h) + H,    gamma = 1 - sum g_i (1 - a_i),    H = sum (e_i h_i - g_i a_i S0(t))
//
// which is exact for a strain held constant and for any length of the step. Static scenes have h = infinity:
// everything has relaxed, gamma = 1 - sum g_i.
#include "body/soft_points.h"

#include <math.h>
#include <string.h>

#define SYMMETRIC 24 // doubles of a symmetric tensor of four lanes

static double decay(double h, double tau)
{
    return exp(-h / tau);
}

// (1 - exp(-h/tau)) tau/h
static double mean_decay(double h, double tau)
{
    return h > 0 ? -expm1(-h / tau) * tau / h : 1;
}

static int64_t point_batches(const tdElements *block)
{
    return (int64_t)block->batches * td_element_shape[block->kind].points;
}

// H of a block in a step of length h: one pass over what is kept.
static void begin_block(const tdMaterial *material, int64_t n, const double *S0, double h, double *gamma, double *H)
{
    double e[TD_PRONY_TERMS], of_S0 = 0;
    for (int k = 0; k < material->n_prony; k++)
    {
        double ga = material->g[k] * mean_decay(h, material->tau[k]);
        e[k] = decay(h, material->tau[k]);
        *gamma += ga - material->g[k];
        of_S0 += ga;
    }
    if (isinf(h)) // nothing is left of what was
    {
        memset(H, 0, (size_t)n * sizeof *H);
        return;
    }
    for (int64_t i = 0; i < n; i++)
    {
        double sum = 0;
        for (int k = 0; k < material->n_prony; k++)
            sum += e[k] * S0[(k + 1) * n + i];
        H[i] = sum - of_S0 * S0[i];
    }
}

void td_soft_history_begin(const tdSoft *soft, tdSoftState *mine, double h)
{
    mine->relaxed = NAN;
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdElements *block = &soft->blocks[b];
        mine->gamma[b] = 1;
        if (block->material.n_prony > 0)
            begin_block(&block->material, SYMMETRIC * point_batches(block), mine->history + block->history, h,
                        &mine->gamma[b], mine->H + block->H);
    }
}

typedef struct commitWork
{
    const tdSoft *soft;
    const tdElements *block;
    tdSoftState *mine;
    tdLawKernel law;
    double h;
} commitWork;

void td_soft_mean_pressure(const tdElements *block, const double *F, int32_t batch, double pressure[4],
                           double energy[4])
{
    int points = td_element_shape[block->kind].points;
    for (int l = 0; l < 4; l++)
    {
        double volume = 0, present = 0, ddU;
        for (int p = 0; p < points; p++)
        {
            int64_t point = points * (int64_t)batch + p;
            const double *f = F + 36 * point + l;
            double w = block->weight[4 * point + l];
            volume += w;
            present += w * (f[0] * (f[16] * f[32] - f[20] * f[28]) - f[4] * (f[12] * f[32] - f[20] * f[24]) +
                            f[8] * (f[12] * f[28] - f[16] * f[24]));
        }
        pressure[l] = energy[l] = 0;
        if (volume > 0)
            td_volumetric(block->material.parameters, present / volume, &energy[l], &pressure[l], &ddU);
    }
}

// The law's own stress at a point batch: P, with the element's pressure where volume changes are averaged.
void td_soft_stress(const tdElements *block, tdLawKernel law, const double *F, const double *R, const double *pressure,
                    double *psi, double *P)
{
    const tdMaterial *material = &block->material;
    law(material->mean_dilatation ? material->isochoric : material->parameters, F,
        material->fibre != NULL ? material->fibre : R, psi, P, NULL);
    for (int c = 0; c < 9 && pressure != NULL; c++)
    {
        int i = c / 3, j = c % 3, p = (i + 1) % 3, q = (i + 2) % 3, r = (j + 1) % 3, s = (j + 2) % 3;
        for (int l = 0; l < 4; l++)
            P[4 * c + l] += pressure[l] * (F[4 * (3 * p + r) + l] * F[4 * (3 * q + s) + l] -
                                           F[4 * (3 * p + s) + l] * F[4 * (3 * q + r) + l]);
    }
}

// S = F^-1 P, symmetric, packed. A flat point has none; its step was not accepted, or it is padding.
static void second_stress(const double *F, const double *P, double *S)
{
    double C[9][4], inverse[4];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            int p = (i + 1) % 3, q = (i + 2) % 3, r = (j + 1) % 3, s = (j + 2) % 3;
            for (int l = 0; l < 4; l++)
                C[3 * i + j][l] =
                    F[4 * (3 * p + r) + l] * F[4 * (3 * q + s) + l] - F[4 * (3 * p + s) + l] * F[4 * (3 * q + r) + l];
        }
    for (int l = 0; l < 4; l++)
    {
        double det = F[l] * C[0][l] + F[4 + l] * C[1][l] + F[8 + l] * C[2][l];
        inverse[l] = det != 0 ? 1 / det : 0;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++)
            for (int l = 0; l < 4; l++)
                S[4 * TD_PACKED(i, j) + l] =
                    (C[i][l] * P[4 * j + l] + C[3 + i][l] * P[12 + 4 * j + l] + C[6 + i][l] * P[24 + 4 * j + l]) *
                    inverse[l];
}

static void commit_chunk(void *context, int chunk)
{
    const commitWork *w = context;
    const tdElements *block = w->block;
    const tdMaterial *material = &block->material;
    int points = td_element_shape[block->kind].points;
    int64_t n = SYMMETRIC * point_batches(block);
    double *history = w->mine->history + block->history, e[TD_PRONY_TERMS], ga[TD_PRONY_TERMS];
    double *relaxed = &w->mine->sums[block->first_chunk + chunk].relaxed;
    const double *F = w->mine->F + 36 * block->first;
    for (int k = 0; k < material->n_prony; k++)
    {
        e[k] = decay(w->h, material->tau[k]);
        ga[k] = material->g[k] * mean_decay(w->h, material->tau[k]);
    }
    *relaxed = 0;
    for (int32_t b = block->chunk[chunk]; b < block->chunk[chunk + 1]; b++)
    {
        _Alignas(64) double psi[4], P[36], S[SYMMETRIC], pressure[4], energy[4];
        double stored[4] = {0};
        if (material->mean_dilatation)
            td_soft_mean_pressure(block, F, b, pressure, energy);
        for (int p = 0; p < points; p++)
        {
            int64_t point = points * (int64_t)b + p;
            const double *weight = block->weight + 4 * point;
            const double *R = w->mine->R == NULL ? NULL : w->mine->R + 36 * (block->first + point);
            td_soft_stress(block, w->law, F + 36 * point, R, material->mean_dilatation ? pressure : NULL, psi, P);
            second_stress(F + 36 * point, P, S);
            for (int l = 0; l < 4; l++)
                stored[l] += weight[l] * (material->mean_dilatation ? psi[l] + energy[l] : psi[l]);
            double *S0 = history + SYMMETRIC * point;
            for (int k = 0; k < material->n_prony; k++)
            {
                double *term = S0 + (k + 1) * n;
                for (int c = 0; c < SYMMETRIC; c++)
                    term[c] = e[k] * term[c] + ga[k] * (S[c] - S0[c]);
            }
            memcpy(S0, S, sizeof S);
        }
        for (int l = 0; l < 4; l++)
            *relaxed += block->element[4 * (int64_t)b + l] >= 0 ? stored[l] : 0;
    }
}

// The thickness of a membrane that relaxes depends on the length of the step.
bool td_soft_thickness_relaxes(const tdSoft *soft)
{
    for (int b = 0; b < soft->n_blocks; b++)
        if (soft->blocks[b].material.n_prony > 0 && soft->blocks[b].material.through == TD_THROUGH_FREE)
            return true;
    return false;
}

void td_soft_history_commit(const tdSoft *soft, tdSoftState *mine, tdState *state, const double *x, double h)
{
    if (soft->history == 0)
        return;
    if (td_soft_thickness_relaxes(soft))
        td_soft_history_begin(soft, mine, h);
    if (!td_soft_placed(soft, mine, x))
        td_soft_gradients(soft, mine, state, x, false);
    td_soft_history_update(soft, mine, state, h);
}

// What would be left after relaxation is the law's own energy, less the share of the terms.
void td_soft_history_update(const tdSoft *soft, tdSoftState *mine, tdState *state, double h)
{
    mine->relaxed = td_soft_thickness_relaxes(soft) ? NAN : 0;
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdElements *block = &soft->blocks[b];
        const tdMaterial *material = &block->material;
        commitWork work = {soft, block, mine, material->law->kernel[state->isa], h};
        if (material->n_prony == 0)
            continue;
        td_parallel(state->tasks, block->chunks, commit_chunk, &work);
        double sum = 0, lasting = 1;
        for (int32_t c = 0; c < block->chunks; c++)
            sum += mine->sums[block->first_chunk + c].relaxed;
        for (int k = 0; k < material->n_prony; k++)
            lasting -= material->g[k];
        mine->relaxed += lasting * sum;
    }
}

void td_soft_history_present(const tdSoft *soft, tdSoftState *mine)
{
    td_soft_history_begin(soft, mine, INFINITY);
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdElements *block = &soft->blocks[b];
        int64_t n = SYMMETRIC * point_batches(block);
        for (int k = 0; k < block->material.n_prony; k++)
            for (int64_t i = 0; i < n; i++)
                mine->H[block->H + i] += mine->history[block->history + (k + 1) * n + i];
    }
}

// ---------------------------------------------------------------- room

// Numbers of gamma and H together; H begins on a cache line.
int64_t td_soft_step_history(const tdSoft *soft)
{
    return (soft->n_blocks + 7) / 8 * 8 + soft->H;
}

bool td_soft_take_history(tdArena *arena, const tdSoft *domain, tdSoftState *points)
{
    static const double ones[TD_FACTORS] = {1, 1, 1};
    points->factors = ones;
    points->sums = TD_TAKE(arena, tdChunkSums, domain->chunks);
    points->history = TD_TAKE(arena, double, domain->history);
    points->gamma = TD_TAKE(arena, double, td_soft_step_history(domain));
    if (points->sums == NULL || points->history == NULL || points->gamma == NULL)
        return false;
    points->H = points->gamma + td_soft_step_history(domain) - domain->H;
    td_soft_history_begin(domain, points, 0);
    return true;
}

bool td_soft_take_points(tdArena *arena, const tdSoft *domain, tdSoftState *points)
{
    points->F = TD_TAKE(arena, double, 36 * domain->point_batches);
    points->R = domain->turning ? TD_TAKE(arena, double, 36 * domain->point_batches) : NULL;
    return points->F != NULL && (!domain->turning || points->R != NULL) && td_soft_take_history(arena, domain, points);
}
