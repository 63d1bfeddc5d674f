// SPDX-License-Identifier: Apache-2.0
// From a mesh to the tables that a soft body runs on: batches of elements by colour, the pattern of the
// matrix, the mass and the symbolic factor.
#include "body/soft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Chunks small enough that a coarse mesh still gives work to several cores, large enough that the
// elements at their borders are few.
#define LEAST_CHUNK   8 // batches
#define LARGEST_CHUNK 64

typedef struct elementKey
{
    uint64_t curve;
    int32_t element;
} elementKey;

static int compare_keys(const void *a, const void *b)
{
    const elementKey *x = a, *y = b;
    if (x->curve != y->curve)
        return x->curve < y->curve ? -1 : 1;
    return (x->element > y->element) - (x->element < y->element);
}

// Interleaves 21 bits of each coordinate: the Morton curve.
static uint64_t spread(uint64_t v)
{
    v &= 0x1fffff;
    v = (v | v << 32) & 0x1f00000000ffff;
    v = (v | v << 16) & 0x1f0000ff0000ff;
    v = (v | v << 8) & 0x100f00f00f00f00f;
    v = (v | v << 4) & 0x10c30c30c30c30c3;
    return (v | v << 2) & 0x1249249249249249;
}

static void sort_elements(const tdSoft *soft, const int32_t *tets, int64_t n, elementKey *keys)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = 0; i < soft->n_nodes; i++)
        for (int c = 0; c < 3; c++)
        {
            low[c] = fmin(low[c], soft->rest[3 * i + c]);
            high[c] = fmax(high[c], soft->rest[3 * i + c]);
        }
    double size = fmax(fmax(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
    for (int64_t e = 0; e < n; e++)
    {
        uint64_t curve = 0;
        for (int c = 0; c < 3; c++)
        {
            double centre = 0;
            for (int a = 0; a < 4; a++)
                centre += 0.25 * soft->rest[3 * (int64_t)tets[4 * e + a] + c];
            curve |= spread((uint64_t)((centre - low[c]) / size * 2097151.0)) << c;
        }
        keys[e] = (elementKey){curve, (int32_t)e};
    }
    qsort(keys, (size_t)n, sizeof *keys, compare_keys);
}

// Gradients of the shape functions of nodes 1 to 3 and the signed volume.
static double shape_gradients(const double *rest, const int32_t nodes[4], double g[9])
{
    double e[9], c[9];
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++)
            e[3 * a + i] = rest[3 * (int64_t)nodes[a + 1] + i] - rest[3 * (int64_t)nodes[0] + i];
    for (int a = 0; a < 3; a++)
    {
        const double *u = e + 3 * ((a + 1) % 3), *w = e + 3 * ((a + 2) % 3);
        c[3 * a] = u[1] * w[2] - u[2] * w[1];
        c[3 * a + 1] = u[2] * w[0] - u[0] * w[2];
        c[3 * a + 2] = u[0] * w[1] - u[1] * w[0];
    }
    double det = e[0] * c[0] + e[1] * c[1] + e[2] * c[2];
    for (int i = 0; i < 9; i++)
        g[i] = c[i] / det;
    return det / 6;
}

static void sort4(int32_t *n)
{
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0 && n[j - 1] > n[j]; j--)
        {
            int32_t t = n[j];
            n[j] = n[j - 1];
            n[j - 1] = t;
        }
}

static void fill_lane(tdSoft *soft, const int32_t *tets, int32_t batch, int lane, int32_t element, bool padding)
{
    tdTets *t = &soft->tets;
    int32_t nodes[4];
    double g[9];
    memcpy(nodes, tets + 4 * (int64_t)element, sizeof nodes);
    sort4(nodes);
    double volume = fabs(shape_gradients(soft->rest, nodes, g));
    for (int a = 0; a < 4; a++)
        t->nodes[16 * (int64_t)batch + 4 * a + lane] = nodes[a];
    for (int c = 0; c < 9; c++)
        t->gradient[36 * (int64_t)batch + 4 * c + lane] = g[c];
    t->volume[4 * (int64_t)batch + lane] = padding ? 0 : volume;
    t->element[4 * (int64_t)batch + lane] = padding ? -1 : element;
    for (int a = 0, pair = 0; a < 4; a++)
        for (int b = 0; b <= a; b++, pair++)
            t->block[4 * TD_PAIRS * (int64_t)batch + 4 * pair + lane] =
                td_block_find(&soft->pattern, nodes[a], nodes[b]);
    if (!padding)
        soft->rest_volume += volume;
}

// Greedy colours: a chunk takes the first colour that none of its nodes has seen. More than 64 colours
// would need a node shared by 64 chunks; then the last one runs its chunks one by one.
static tdStatus colour_chunks(tdArena *arena, tdSoft *soft, tdError *error)
{
    tdTets *t = &soft->tets;
    uint64_t *seen = td_take((size_t)soft->n_nodes, sizeof *seen);
    int32_t *colour_of = td_take((size_t)t->chunks, sizeof *colour_of);
    t->colour = TD_TAKE(arena, int32_t, t->chunks + 1);
    t->coloured = TD_TAKE(arena, int32_t, t->chunks);
    if (seen == NULL || colour_of == NULL || t->colour == NULL || t->coloured == NULL)
    {
        free(seen);
        free(colour_of);
        return td_fail_memory(error, "the elements");
    }
    int32_t extra = 64;
    for (int32_t c = 0; c < t->chunks; c++)
    {
        uint64_t used = 0;
        const int32_t *begin = t->nodes + 16 * (int64_t)t->chunk[c], *end = t->nodes + 16 * (int64_t)t->chunk[c + 1];
        for (const int32_t *n = begin; n < end; n++)
            used |= seen[*n];
        if (used == UINT64_MAX)
        {
            colour_of[c] = extra++;
            continue;
        }
        colour_of[c] = __builtin_ctzll(~used);
        for (const int32_t *n = begin; n < end; n++)
            seen[*n] |= UINT64_C(1) << colour_of[c];
    }
    int32_t at = 0;
    for (int32_t k = 0; k < extra; k++)
    {
        int32_t before = at;
        for (int32_t c = 0; c < t->chunks; c++)
            if (colour_of[c] == k)
                t->coloured[at++] = c;
        if (at > before)
            t->colour[t->colours++] = before;
    }
    t->colour[t->colours] = at;
    free(seen);
    free(colour_of);
    return TD_OK;
}

static tdStatus build_batches(tdArena *arena, tdSoft *soft, const int32_t *tets, int64_t n, tdError *error)
{
    tdTets *t = &soft->tets;
    t->batches = (int32_t)((n + 3) / 4);
    int32_t size = t->batches / 64;
    size = size < LEAST_CHUNK ? LEAST_CHUNK : size > LARGEST_CHUNK ? LARGEST_CHUNK : size;
    t->chunks = (t->batches + size - 1) / size;
    t->nodes = TD_TAKE(arena, int32_t, 16 * (int64_t)t->batches);
    t->block = TD_TAKE(arena, int32_t, 4 * TD_PAIRS * (int64_t)t->batches);
    t->element = TD_TAKE(arena, int32_t, 4 * (int64_t)t->batches);
    t->gradient = TD_TAKE(arena, double, 36 * (int64_t)t->batches);
    t->volume = TD_TAKE(arena, double, 4 * (int64_t)t->batches);
    t->chunk = TD_TAKE(arena, int32_t, t->chunks + 1);
    elementKey *keys = td_take((size_t)n, sizeof *keys);
    if (t->nodes == NULL || t->block == NULL || t->element == NULL || t->gradient == NULL || t->volume == NULL ||
        t->chunk == NULL || keys == NULL)
    {
        free(keys);
        return td_fail_memory(error, "the elements");
    }
    sort_elements(soft, tets, n, keys);
    for (int32_t b = 0; b < t->batches; b++)
        for (int l = 0; l < 4; l++)
        {
            int64_t k = 4 * (int64_t)b + l;
            fill_lane(soft, tets, b, l, keys[k < n ? k : n - 1].element, k >= n);
        }
    free(keys);
    for (int32_t c = 0; c <= t->chunks; c++)
        t->chunk[c] = c * size < t->batches ? c * size : t->batches;
    return colour_chunks(arena, soft, error);
}

// Lumped: a quarter of each element's mass to its nodes. Consistent: V rho / 20 (1 + delta_ab).
static tdStatus build_mass(tdArena *arena, tdSoft *soft, const tdSceneBody *body, tdError *error)
{
    const tdTets *t = &soft->tets;
    soft->node_mass = TD_TAKE(arena, double, soft->n_nodes);
    soft->mass = TD_TAKE(arena, double, soft->pattern.blocks);
    if (soft->node_mass == NULL || soft->mass == NULL)
        return td_fail_memory(error, "the mass matrix");
    soft->density = body->material.density > 0 ? body->material.density : body->material.total_mass / soft->rest_volume;
    soft->total_mass = soft->density * soft->rest_volume;
    soft->consistent = body->consistent_mass;
    for (int64_t k = 0; k < 4 * (int64_t)t->batches; k++)
    {
        int64_t batch = k / 4, lane = k % 4;
        double m = soft->density * t->volume[k];
        for (int a = 0, pair = 0; a < 4; a++)
        {
            soft->node_mass[t->nodes[16 * batch + 4 * a + lane]] += m / 4;
            for (int b = 0; b <= a; b++, pair++)
            {
                double share = soft->consistent ? (a == b ? m / 10 : m / 20) : a == b ? m / 4 : 0;
                soft->mass[t->block[4 * TD_PAIRS * batch + 4 * pair + lane]] += share;
            }
        }
    }
    return TD_OK;
}

static tdStatus list_node_elements(tdArena *arena, tdSoft *soft, tdError *error)
{
    const tdTets *t = &soft->tets;
    soft->node_start = TD_TAKE(arena, int64_t, soft->n_nodes + 1);
    soft->node_lane = TD_TAKE(arena, int32_t, 16 * (int64_t)t->batches);
    if (soft->node_start == NULL || soft->node_lane == NULL)
        return td_fail_memory(error, "the elements");
    int64_t *start = soft->node_start;
    for (int pass = 0; pass < 2; pass++)
    {
        for (int64_t k = 0; k < 16 * (int64_t)t->batches; k++)
        {
            int32_t lane = (int32_t)(4 * (k / 16) + k % 4);
            if (t->element[lane] < 0)
                continue;
            if (pass == 0)
                start[t->nodes[k] + 1]++;
            else
                soft->node_lane[start[t->nodes[k]]++] = lane;
        }
        // Counts become starts; after the second pass, which moved them on, they are put back.
        for (int32_t i = 0; pass == 0 && i < soft->n_nodes; i++)
            start[i + 1] += start[i];
    }
    for (int32_t i = soft->n_nodes; i > 0; i--)
        start[i] = start[i - 1];
    start[0] = 0;
    return TD_OK;
}

tdStatus td_soft_build(tdArena *arena, tdSoft *soft, const tdSceneBody *body, const char *file, tdError *error)
{
    const tdCells *cells = &soft->mesh.cells[TD_CELL_TET];
    for (int64_t e = 0; e < cells->count; e++)
    {
        double g[9];
        double volume = shape_gradients(soft->rest, cells->nodes + 4 * e, g);
        if (!(fabs(volume) > 0) || !isfinite(g[0] + g[4] + g[8]))
            return td_fail_at(
                error, TD_ERROR_INPUT, file, body->mesh_line, "mesh",
                "element %lld of body '%s' is flat (volume %g m^3); 'tendril info' lists bad elements, and "
                "'tendril mesh' makes a new mesh",
                (long long)e, body->name, volume);
    }
    TD_TRY(td_block_pattern(arena, soft->n_nodes, cells->count, 4, cells->nodes, &soft->pattern, error));
    TD_TRY(build_batches(arena, soft, cells->nodes, cells->count, error));
    TD_TRY(list_node_elements(arena, soft, error));
    TD_TRY(build_mass(arena, soft, body, error));
    soft->law = td_law(body->material.law);
    soft->law->parameters(&body->material, soft->parameters);
    soft->alpha = body->damping_mass;
    soft->beta = body->damping_stiffness;
    return td_linear_model_create(arena, &soft->pattern, soft->held, &soft->linear, error);
}
