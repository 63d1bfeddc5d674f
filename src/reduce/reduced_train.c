// SPDX-License-Identifier: Apache-2.0
// Forces of single elements on the modes, for the choice of a domain (S1 eq. 20): columns of the matrix G.
#include "reduce/reduced_body.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define GRAIN 8 // batches of elements a task

typedef struct training
{
    const tdSoft *soft;
    tdSoft domain;
    const int32_t *lane; // by lane of the domain: its lane in the block of `soft`
    const tdReducedKernels *kernels;
    tdIsa isa;
    int r, n, stride, block;
    double *basis; // 3 n_nodes x stride
    double *q;     // n_k x stride
    double *F, *R; // 36 a point batch of the domain
    int64_t n_k, begin;
    double *out;
    atomic_bool failed;
} training;

static int64_t first_lane(const tdSoft *domain, int block)
{
    int64_t lanes = 0;
    for (int k = 0; k < block; k++)
        lanes += 4 * (int64_t)domain->blocks[k].batches;
    return lanes;
}

// What relaxes has relaxed: the share of a viscoelastic stress that stays.
static double relaxed(const tdMaterial *material)
{
    double share = 1;
    for (int k = 0; k < material->n_prony; k++)
        share -= material->g[k];
    return share;
}

// out = sum over the points of B' P of each lane
static void project(const training *t, const tdElements *block, int32_t b, int64_t k, const double *B, const double *P)
{
    int points = td_element_shape[block->kind].points;
    double share = relaxed(&block->material);
    for (int l = 0; l < 4; l++)
    {
        int32_t e = block->element[4 * (int64_t)b + l];
        if (e < 0)
            continue;
        double *to = t->out + ((e - t->begin) * t->n_k + k) * t->r;
        memset(to, 0, (size_t)t->r * sizeof *to);
        for (int c = 0; c < 9 * points; c++)
        {
            double p = share * P[4 * c + l];
            const double *row = B + (4 * c + l) * (int64_t)t->stride;
            for (int j = 0; j < t->r; j++)
                to[j] += p * row[j];
        }
    }
}

static void train_batch(const training *t, int32_t b, double *B, double *F0)
{
    const tdElements *block = &t->domain.blocks[t->block];
    const tdMaterial *material = &block->material;
    int points = td_element_shape[block->kind].points;
    const int32_t *lane = t->lane + first_lane(&t->domain, t->block) + 4 * (int64_t)b;
    tdRotationUse use = material->law->rotation;
    double P[36 * 8];
    for (int p = 0; p < points; p++)
        td_reduced_rows(t->soft, t->basis, t->stride, &t->soft->blocks[t->block], lane, p,
                        B + 36 * (int64_t)t->stride * p, F0 + 36 * p);
    tdReducedWork work = {
        .points = {.block = block, .gamma = 1}, .stride = t->stride, .B = B, .F0 = F0, .first = points * (int64_t)b};
    work.points.F = t->F + 36 * block->first;
    work.points.R = t->R + 36 * block->first;
    work.points.law = material->law->kernel[t->isa];
    work.points.parameters = material->mean_dilatation ? material->isochoric : material->parameters;
    if (use == TD_ROTATION_CURRENT || use == TD_ROTATION_LAGGED)
        work.points.polar = td_polar(t->isa);
    for (int64_t k = 0; k < t->n_k; k++)
    {
        work.q = t->q + k * t->stride;
        t->kernels->stress(&work, b, P);
        project(t, block, b, k, B, P);
    }
}

static void train_piece(void *context, int piece)
{
    training *t = context;
    const tdElements *block = &t->domain.blocks[t->block];
    size_t rows = 36 * (size_t)td_element_shape[block->kind].points;
    double *B = td_take(rows * (size_t)t->stride, sizeof *B), *F0 = td_take(rows, sizeof *F0);
    if (B == NULL || F0 == NULL)
        atomic_store(&t->failed, true);
    for (int32_t b = piece * GRAIN; b < (piece + 1) * GRAIN && b < block->batches && B != NULL && F0 != NULL; b++)
        train_batch(t, b, B, F0);
    free(B);
    free(F0);
}

static bool fill(tdArena *arena, training *t, const tdRom *rom, const double *alpha, const double *u)
{
    int64_t coords = 3 * (int64_t)t->soft->n_nodes;
    t->basis = TD_TAKE(arena, double, coords * t->stride);
    t->q = TD_TAKE(arena, double, t->n_k * t->stride);
    t->F = TD_TAKE(arena, double, 36 * t->domain.point_batches);
    t->R = TD_TAKE(arena, double, 36 * t->domain.point_batches);
    if (t->basis == NULL || t->q == NULL || t->F == NULL || t->R == NULL)
        return false;
    for (int64_t i = 0; i < coords; i++)
    {
        memcpy(t->basis + i * t->stride, rom->phi + i * rom->r, (size_t)rom->r * sizeof(double));
        for (int k = 0; k < rom->n_u; k++)
            t->basis[i * t->stride + rom->r + k] = rom->psi[i * rom->n_u + k];
    }
    for (int64_t k = 0; k < t->n_k; k++)
    {
        memcpy(t->q + k * t->stride, alpha + k * rom->r, (size_t)rom->r * sizeof(double));
        for (int j = 0; j < rom->n_u; j++)
            t->q[k * t->stride + rom->r + j] = u[k * rom->n_u + j];
    }
    return true;
}

static tdStatus train(tdArena *arena, training *t, const tdRom *rom, const double *alpha, const double *u, int64_t end,
                      tdTasks *tasks, tdError *error)
{
    double *weight = TD_TAKE(arena, double, t->soft->elements);
    int32_t *lane = TD_TAKE(arena, int32_t, t->soft->elements + 4 * (int64_t)t->soft->n_blocks);
    if (weight == NULL || lane == NULL)
        return td_fail_memory(error, "the training of a reduced model");
    for (int64_t e = t->begin; e < end; e++)
        weight[e] = 1;
    TD_TRY(td_reduced_domain(arena, t->soft, weight, &t->domain, lane, error));
    t->lane = lane;
    if (!fill(arena, t, rom, alpha, u))
        return td_fail_memory(error, "the training of a reduced model");
    for (t->block = 0; t->block < t->domain.n_blocks; t->block++)
        td_parallel(tasks, td_pieces(t->domain.blocks[t->block].batches, GRAIN), train_piece, t);
    return atomic_load(&t->failed) ? td_fail_memory(error, "the training of a reduced model") : TD_OK;
}

tdStatus td_reduced_training(const tdModel *model, int body, const tdRom *basis, int64_t n_k, const double *alpha,
                             const double *u, int64_t begin, int64_t end, tdTasks *tasks, double *out, tdError *error)
{
    const tdSoft *soft = model->bodies[body].soft;
    training t = {.soft = soft, .isa = td_isa_pick(false), .n_k = n_k, .begin = begin, .out = out};
    if (begin < 0 || end > soft->elements || begin > end || basis->n_nodes != soft->n_nodes || n_k < 0)
        return td_fail(error, TD_ERROR_USAGE, "training requests elements %lld to %lld of %lld", (long long)begin,
                       (long long)end, (long long)soft->elements);
    t.kernels = td_reduced_kernels(t.isa);
    t.r = basis->r;
    t.n = basis->r + basis->n_u;
    t.stride = (t.n + 3) / 4 * 4;
    tdArena arena = {0};
    tdStatus status = train(&arena, &t, basis, alpha, u, end, tasks, error);
    td_arena_free(&arena);
    return status;
}
