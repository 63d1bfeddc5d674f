// SPDX-License-Identifier: Apache-2.0
// Loops over the elements of a soft body: block after block, the chunks of a colour in parallel.
#include "body/soft.h"

#include <math.h>
#include <string.h>

#define DECLARE(name, isa)                                                                                             \
    void td_##name##_gradients_##isa(const tdElementWork *work, int32_t chunk);                                        \
    void td_##name##_forces_##isa(const tdElementWork *work, int32_t chunk);                                           \
    void td_##name##_damping_##isa(const tdElementWork *work, int32_t chunk);
#define KERNELS(name, isa)                                                                                             \
    {                                                                                                                  \
        td_##name##_gradients_##isa, td_##name##_forces_##isa, td_##name##_damping_##isa                               \
    }
#define ALL_KINDS(isa)                                                                                                 \
    {                                                                                                                  \
        [TD_ELEMENT_TET4] = KERNELS(tet, isa), [TD_ELEMENT_HEX8] = KERNELS(hex, isa),                                  \
        [TD_ELEMENT_TET10] = KERNELS(tet10, isa), [TD_ELEMENT_TRI3] = KERNELS(tri, isa),                               \
    }
#define DECLARE_ALL(isa) DECLARE(tet, isa) DECLARE(hex, isa) DECLARE(tet10, isa) DECLARE(tri, isa)

DECLARE_ALL(portable)
#if defined(__x86_64__)
DECLARE_ALL(avx2)
#endif

const tdElementKernels *td_element_kernels(tdElementKind kind, tdIsa isa)
{
    static const tdElementKernels portable[TD_ELEMENT_KINDS] = ALL_KINDS(portable);
#if defined(__x86_64__)
    static const tdElementKernels avx2[TD_ELEMENT_KINDS] = ALL_KINDS(avx2);
    if (isa == TD_ISA_AVX2)
        return &avx2[kind];
#endif
    (void)isa;
    return &portable[kind];
}

typedef struct loopWork
{
    tdElementWork element;
    tdElementKernel kernel;
    const int32_t *chunks; // of a colour, or NULL: all in order
} loopWork;

static void run_chunk(void *context, int i)
{
    const loopWork *loop = context;
    loop->kernel(&loop->element, loop->chunks == NULL ? i : loop->chunks[i]);
}

// What the kernels of a block read and write.
static loopWork work_of(const tdSoft *soft, int b, tdSoftState *mine, const tdState *state)
{
    const tdElements *block = &soft->blocks[b];
    const tdMaterial *material = &block->material;
    loopWork loop = {.element = {.block = block, .gamma = 1}};
    tdElementWork *work = &loop.element;
    work->F = mine->F + 36 * block->first;
    work->R = mine->R == NULL ? NULL : mine->R + 36 * block->first;
    work->law = material->law->kernel[state->isa];
    work->damping = td_damping_law(material)->kernel[state->isa];
    work->parameters = material->mean_dilatation ? material->isochoric : material->parameters;
    work->sums = mine->sums + block->first_chunk;
    if (material->n_prony > 0)
    {
        work->gamma = mine->gamma[b];
        work->H = mine->H + block->H;
    }
    return loop;
}

void td_soft_gradients(const tdSoft *soft, tdSoftState *mine, tdState *state, const double *x, bool lagged)
{
    mine->placed = mine->arrived = false;
    mine->relaxed = NAN;
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdElements *block = &soft->blocks[b];
        tdRotationUse use = block->material.law->rotation;
        loopWork loop = work_of(soft, b, mine, state);
        loop.element.x = x;
        if (use == TD_ROTATION_CURRENT || (use == TD_ROTATION_LAGGED && lagged))
            loop.element.polar = td_polar(state->isa);
        loop.kernel = td_element_kernels(block->kind, state->isa)->gradients;
        td_parallel(state->tasks, block->chunks, run_chunk, &loop);
    }
}

bool td_soft_placed(const tdSoft *soft, const tdSoftState *mine, const double *x)
{
    return mine->placed && memcmp(x, mine->arrived_q, 3 * (size_t)soft->n_nodes * sizeof *x) == 0;
}

// Chunks of one colour share no node.
static void run_colours(loopWork *loop, tdState *state)
{
    const tdElements *block = loop->element.block;
    for (int32_t c = 0; c < block->colours; c++)
    {
        loop->chunks = block->coloured + block->colour[c];
        td_parallel(state->tasks, block->colour[c + 1] - block->colour[c], run_chunk, loop);
    }
}

// Stress is proportional to the moduli, whatever the law: a factor on them is one on what elements add up to.
static void scale(const tdSoftState *mine, int64_t n, double *x)
{
    double factor = mine->factors[TD_FACTOR_YOUNG];
    for (int64_t i = 0; factor != 1 && i < n; i++)
        x[i] *= factor;
}

void td_soft_forces(const tdSoft *soft, tdSoftState *mine, tdState *state, double *force, double *K)
{
    memset(force, 0, 3 * (size_t)soft->n_nodes * sizeof *force);
    if (K != NULL)
        memset(K, 0, 9 * (size_t)soft->pattern.blocks * sizeof *K);
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdElements *block = &soft->blocks[b];
        const tdLaw *law = block->material.law;
        loopWork loop = work_of(soft, b, mine, state);
        loop.element.force = force;
        loop.element.K = K;
        loop.element.project = mine->projecting && !(law->semidefinite && block->material.n_prony == 0);
        // Fused with the sums over nodes the form by invariants wins whatever the law; a projection needs D itself.
        if (block->kind == TD_ELEMENT_TET4 && !mine->dense && !(loop.element.project && K != NULL))
            loop.element.mjed = law->mjed[state->isa];
        loop.kernel = td_element_kernels(block->kind, state->isa)->forces;
        run_colours(&loop, state);
    }
    scale(mine, 3 * (int64_t)soft->n_nodes, force);
    if (K != NULL)
        scale(mine, 9 * soft->pattern.blocks, K);
}

void td_soft_damping(const tdSoft *soft, tdSoftState *mine, tdState *state, double *K)
{
    memset(K, 0, 9 * (size_t)soft->pattern.blocks * sizeof *K);
    for (int b = 0; b < soft->n_blocks; b++)
    {
        loopWork loop = work_of(soft, b, mine, state);
        loop.element.K = K;
        loop.kernel = td_element_kernels(soft->blocks[b].kind, state->isa)->damping;
        run_colours(&loop, state);
    }
    scale(mine, 9 * soft->pattern.blocks, K);
}

double td_soft_energy(const tdSoft *soft, const tdSoftState *mine)
{
    double sum = 0;
    for (int32_t c = 0; c < soft->chunks; c++)
        sum += mine->sums[c].energy;
    return mine->factors[TD_FACTOR_YOUNG] * sum;
}

double td_soft_relaxed(const tdSoft *soft, const tdSoftState *mine)
{
    double sum = mine->relaxed;
    for (int b = 0; b < soft->n_blocks; b++)
        for (int32_t c = 0; c < soft->blocks[b].chunks && soft->blocks[b].material.n_prony == 0; c++)
            sum += mine->sums[soft->blocks[b].first_chunk + c].energy;
    return mine->factors[TD_FACTOR_YOUNG] * sum;
}

// ---------------------------------------------------------------- rotations of the nodes

typedef struct turnWork
{
    const tdSoft *soft;
    const double *F;
    double *turn;
    tdPolarKernel polar;
} turnWork;

#define TURN_GRAIN 256 // nodes a task, a multiple of the four lanes

static void turn_nodes(void *context, int piece)
{
    const turnWork *w = context;
    const tdSoft *soft = w->soft;
    for (int32_t first = piece * TURN_GRAIN; first < (piece + 1) * TURN_GRAIN && first < soft->n_nodes; first += 4)
    {
        _Alignas(64) double F[36] = {0}, R[36];
        for (int l = 0; l < 4 && first + l < soft->n_nodes; l++)
            for (int64_t k = soft->node_start[first + l]; k < soft->node_start[first + l + 1]; k++)
            {
                int32_t lane = soft->node_lane[k];
                const double *from = w->F + 36 * (int64_t)(lane / 4) + lane % 4;
                for (int p = 0; p < soft->node_points[k]; p++, lane += 4, from += 36)
                    for (int c = 0; c < 9; c++)
                        F[4 * c + l] += soft->weight[lane] * from[4 * c];
            }
        w->polar(F, R);
        for (int l = 0; l < 4 && first + l < soft->n_nodes; l++)
            for (int c = 0; c < 9; c++)
                w->turn[9 * (int64_t)(first + l) + c] = R[4 * c + l];
    }
}

void td_soft_turns(const tdSoft *soft, const tdSoftState *mine, tdState *state, double *turn)
{
    turnWork work = {soft, mine->F, turn, td_polar(state->isa)};
    td_parallel(state->tasks, td_pieces(soft->n_nodes, TURN_GRAIN), turn_nodes, &work);
}
