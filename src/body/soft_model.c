// SPDX-License-Identifier: Apache-2.0
// From a mesh to the tables that a soft body runs on: blocks of elements in batches by colour, the pattern of
// the matrix, the mass and the symbolic factor.
#include "body/soft.h"
#include "mesh/shape.h"

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

const tdElementShape td_element_shape[TD_ELEMENT_KINDS] = {
    [TD_ELEMENT_TET4] = {TD_CELL_TET, 4, 1, 10, "tetrahedron"},
    [TD_ELEMENT_HEX8] = {TD_CELL_HEX, 8, 8, 36, "hexahedron"},
    [TD_ELEMENT_TET10] = {TD_CELL_TET10, 10, 4, 55, "quadratic tetrahedron"},
    [TD_ELEMENT_TRI3] = {TD_CELL_TRI, 3, 1, 6, "triangle"},
};

// What the construction hands around.
typedef struct build
{
    tdArena *arena;
    tdSoft *soft;
    const tdSceneBody *body;
    const char *file;
    int n_couplings;
    const tdBlockCells *couplings;
    int32_t *number[TD_CELL_TYPES]; // by cell: its number among the elements of the body
} build;

static const int32_t *cell_nodes(const tdSoft *soft, tdElementKind kind, int32_t cell)
{
    const tdElementShape *shape = &td_element_shape[kind];
    return soft->mesh.cells[shape->cell].nodes + shape->nodes * (int64_t)cell;
}

// ---------------------------------------------------------------- geometry

// Gradients (nodes x 3) and weight at each point of an element; returns the least weight.
static double element_points(const tdSoft *soft, tdElementKind kind, double thickness, const int32_t *nodes,
                             double (*gradient)[3 * TD_ELEMENT_NODES], double *weight, double normal[3])
{
    const tdElementShape *shape = &td_element_shape[kind];
    const double *X[TD_ELEMENT_NODES];
    for (int a = 0; a < shape->nodes; a++)
        X[a] = soft->rest + 3 * (int64_t)nodes[a];
    if (kind == TD_ELEMENT_TRI3)
    {
        // dN_a = n x edge / |2 A|, with the edge opposite to a
        double e[3][3], area2 = 0;
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++)
                e[a][c] = X[(a + 2) % 3][c] - X[(a + 1) % 3][c];
        for (int c = 0; c < 3; c++)
            normal[c] = e[0][(c + 1) % 3] * e[1][(c + 2) % 3] - e[0][(c + 2) % 3] * e[1][(c + 1) % 3];
        for (int c = 0; c < 3; c++)
            area2 += normal[c] * normal[c];
        area2 = sqrt(area2);
        for (int c = 0; c < 3; c++)
            normal[c] /= area2;
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++)
                gradient[0][3 * a + c] =
                    (normal[(c + 1) % 3] * e[a][(c + 2) % 3] - normal[(c + 2) % 3] * e[a][(c + 1) % 3]) / area2;
        return weight[0] = 0.5 * area2 * thickness;
    }
    tdRule rule = td_rule_stiffness(shape->cell);
    double least = INFINITY;
    for (int p = 0; p < rule.n; p++)
    {
        weight[p] = rule.weight[p] * td_shape_gradients(shape->cell, X, rule.xi[p], gradient[p]);
        least = isfinite(weight[p] + gradient[p][0]) ? fmin(least, weight[p]) : NAN;
    }
    return least;
}

// By the rule of the mass, which is exact for curved cells too, so that masses add up.
static double element_volume(const tdElements *t, const tdSoft *soft, const int32_t *nodes)
{
    const tdElementShape *shape = &td_element_shape[t->kind];
    double gradient[8][3 * TD_ELEMENT_NODES], weight[8], normal[3], volume = 0;
    const double *X[TD_ELEMENT_NODES];
    if (shape->points == 1)
        return element_points(soft, t->kind, t->material.thickness, nodes, gradient, weight, normal);
    for (int a = 0; a < shape->nodes; a++)
        X[a] = soft->rest + 3 * (int64_t)nodes[a];
    tdRule rule = td_rule_mass(shape->cell);
    for (int p = 0; p < rule.n; p++)
        volume += rule.weight[p] * td_shape_gradients(shape->cell, X, rule.xi[p], gradient[0]);
    return volume;
}

static tdStatus check_elements(const build *w, const tdElementList *list, tdError *error)
{
    double gradient[8][3 * TD_ELEMENT_NODES], weight[8], normal[3];
    for (int64_t k = 0; k < list->count; k++)
    {
        const int32_t *nodes = cell_nodes(w->soft, list->kind, list->cells[k]);
        double least = element_points(w->soft, list->kind, 1, nodes, gradient, weight, normal);
        if (!(least > 0))
            return td_fail_at(
                error, TD_ERROR_INPUT, w->file, w->body->mesh_line, "mesh",
                "element %d of body '%s' (a %s) is flat or folded (%s %g m^%d at a point of it); 'tendril "
                "info' lists bad elements, and 'tendril mesh' makes a new mesh",
                list->cells[k], w->body->name, td_element_shape[list->kind].name,
                list->kind == TD_ELEMENT_TRI3 ? "area" : "volume", least, list->kind == TD_ELEMENT_TRI3 ? 2 : 3);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- blocks

static void sort_elements(const tdSoft *soft, const tdElementList *list, elementKey *keys)
{
    const tdElementShape *shape = &td_element_shape[list->kind];
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = 0; i < soft->n_nodes; i++)
        for (int c = 0; c < 3; c++)
        {
            low[c] = fmin(low[c], soft->rest[3 * i + c]);
            high[c] = fmax(high[c], soft->rest[3 * i + c]);
        }
    double size = fmax(fmax(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
    for (int64_t e = 0; e < list->count; e++)
    {
        uint64_t curve = 0;
        const int32_t *nodes = cell_nodes(soft, list->kind, list->cells[e]);
        for (int c = 0; c < 3; c++)
        {
            double centre = 0;
            for (int a = 0; a < shape->nodes; a++)
                centre += soft->rest[3 * (int64_t)nodes[a] + c];
            curve |= spread((uint64_t)((centre / shape->nodes - low[c]) / size * 2097151.0)) << c;
        }
        keys[e] = (elementKey){curve, list->cells[e]};
    }
    qsort(keys, (size_t)list->count, sizeof *keys, compare_keys);
}

// order[a]: the element's own number of its a-th smallest node.
static void ascending(int n, const int32_t *nodes, int *order)
{
    for (int i = 0; i < n; i++)
    {
        int j = i;
        for (; j > 0 && nodes[order[j - 1]] > nodes[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

static void fill_lane(build *w, tdElements *t, int32_t batch, int lane, int32_t cell, bool padding)
{
    tdSoft *soft = w->soft;
    const tdElementShape *shape = &td_element_shape[t->kind];
    const int32_t *own = cell_nodes(soft, t->kind, cell);
    int n = shape->nodes, order[TD_ELEMENT_NODES];
    double gradient[8][3 * TD_ELEMENT_NODES], weight[8], normal[3] = {0};
    element_points(soft, t->kind, t->material.thickness, own, gradient, weight, normal);
    ascending(n, own, order);
    for (int a = 0; a < n; a++)
        t->nodes[4 * (n * (int64_t)batch + a) + lane] = own[order[a]];
    for (int a = 0, pair = 0; a < n; a++)
        for (int b = 0; b <= a; b++, pair++)
            t->block[4 * (shape->pairs * (int64_t)batch + pair) + lane] =
                td_block_find(&soft->pattern, own[order[a]], own[order[b]]);
    t->element[4 * (int64_t)batch + lane] = padding ? -1 : w->number[shape->cell][cell];
    int skip = t->kind == TD_ELEMENT_TET4; // the first node follows from the others
    for (int p = 0; p < shape->points; p++)
    {
        int64_t point = shape->points * (int64_t)batch + p;
        for (int a = skip; a < n; a++)
            for (int c = 0; c < 3; c++)
                t->gradient[4 * (3 * ((n - skip) * point + a - skip) + c) + lane] = gradient[p][3 * order[a] + c];
        t->weight[4 * point + lane] = padding ? 0 : weight[p];
    }
    t->volume += padding ? 0 : element_volume(t, soft, own);
    for (int c = 0; c < 3 && t->normal != NULL; c++)
        t->normal[4 * (3 * (int64_t)batch + c) + lane] = normal[c];
}

// Greedy colours: a chunk takes the first colour that none of its nodes has seen. More than 64 colours
// would need a node shared by 64 chunks; then the last one runs its chunks one by one.
static tdStatus colour_chunks(const build *w, tdElements *t, tdError *error)
{
    int64_t stride = 4 * td_element_shape[t->kind].nodes;
    uint64_t *seen = td_take((size_t)w->soft->n_nodes, sizeof *seen);
    int32_t *colour_of = td_take((size_t)t->chunks, sizeof *colour_of);
    t->colour = TD_TAKE(w->arena, int32_t, t->chunks + 1);
    t->coloured = TD_TAKE(w->arena, int32_t, t->chunks);
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
        const int32_t *begin = t->nodes + stride * t->chunk[c], *end = t->nodes + stride * t->chunk[c + 1];
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

// The block's batches; its weights are a part of the body's.
static tdStatus build_block(build *w, const tdElementList *list, tdElements *t, tdError *error)
{
    tdSoft *soft = w->soft;
    const tdElementShape *shape = &td_element_shape[list->kind];
    int64_t n = list->count, skip = list->kind == TD_ELEMENT_TET4, points = (int64_t)t->batches * shape->points;
    // Chunks by work rather than by elements.
    int32_t least = LEAST_CHUNK / shape->points > 1 ? LEAST_CHUNK / shape->points : 1;
    int32_t size = t->batches / 64;
    size = size < least ? least : size > LARGEST_CHUNK ? LARGEST_CHUNK : size;
    t->chunks = (t->batches + size - 1) / size;
    t->weight = soft->weight + 4 * t->first;
    t->nodes = TD_TAKE(w->arena, int32_t, 4 * shape->nodes * (int64_t)t->batches);
    t->block = TD_TAKE(w->arena, int32_t, 4 * shape->pairs * (int64_t)t->batches);
    t->element = TD_TAKE(w->arena, int32_t, 4 * (int64_t)t->batches);
    t->gradient = TD_TAKE(w->arena, double, 12 * (shape->nodes - skip) * points);
    if (list->kind == TD_ELEMENT_TRI3)
        t->normal = TD_TAKE(w->arena, double, 12 * (int64_t)t->batches);
    t->chunk = TD_TAKE(w->arena, int32_t, t->chunks + 1);
    elementKey *keys = td_take((size_t)n, sizeof *keys);
    if (t->nodes == NULL || t->block == NULL || t->element == NULL || t->gradient == NULL || t->chunk == NULL ||
        keys == NULL || (list->kind == TD_ELEMENT_TRI3 && t->normal == NULL))
    {
        free(keys);
        return td_fail_memory(error, "the elements");
    }
    sort_elements(soft, list, keys);
    for (int32_t b = 0; b < t->batches; b++)
        for (int l = 0; l < 4; l++)
        {
            int64_t k = 4 * (int64_t)b + l;
            fill_lane(w, t, b, l, keys[k < n ? k : n - 1].element, k >= n);
        }
    free(keys);
    soft->rest_volume += t->volume;
    for (int32_t c = 0; c <= t->chunks; c++)
        t->chunk[c] = c * size < t->batches ? c * size : t->batches;
    return colour_chunks(w, t, error);
}

// lambda and mu of the stiffness at rest, C_ijkl = lambda d_ij d_kl + mu (d_ik d_jl + d_il d_jk).
static void find_lame(tdMaterial *material)
{
    double lambda = material->rest[4 * TD_PACKED(4, 0)], mu = material->rest[4 * TD_PACKED(1, 1)], off = 0;
    for (int r = 0; r < 9; r++)
        for (int c = 0; c <= r; c++)
        {
            int i = r / 3, j = r % 3, k = c / 3, l = c % 3;
            double is = lambda * (i == j && k == l) + mu * ((i == k && j == l) + (i == l && j == k));
            off = fmax(off, fabs(material->rest[4 * TD_PACKED(r, c)] - is));
        }
    bool isotropic = off <= 1e-10 * (fabs(lambda) + mu);
    material->lame[0] = isotropic ? lambda : NAN;
    material->lame[1] = isotropic ? mu : NAN;
}

// Damping takes a tangent where there is one that is never negative (td_damping_law).
static tdStatus keep_rest_stiffness(build *w, tdMaterial *material, tdError *error)
{
    const tdLaw *law = material->law;
    _Alignas(64) double I[36], psi[4], P[36];
    if ((law->semidefinite && material->n_prony == 0) || law->rotation == TD_ROTATION_CURRENT)
        return TD_OK;
    material->rest = TD_TAKE(w->arena, double, 4 * TD_TANGENT);
    if (material->rest == NULL)
        return td_fail_memory(error, "the materials");
    for (int c = 0; c < 36; c++)
        I[c] = c / 4 % 4 == 0;
    law->kernel[TD_ISA_PORTABLE](material->mean_dilatation ? material->isochoric : material->parameters, I,
                                 material->fibre != NULL ? material->fibre : I, psi, P, material->rest);
    td_law_project(material->rest);
    find_lame(material);
    return TD_OK;
}

static tdStatus build_blocks(build *w, int n_lists, const tdElementList *lists, tdError *error)
{
    tdSoft *soft = w->soft;
    soft->blocks = TD_TAKE(w->arena, tdElements, n_lists);
    for (int k = 0; k < n_lists; k++)
        soft->point_batches += (lists[k].count + 3) / 4 * td_element_shape[lists[k].kind].points;
    soft->weight = TD_TAKE(w->arena, double, 4 * soft->point_batches);
    if (soft->blocks == NULL || soft->weight == NULL)
        return td_fail_memory(error, "the elements");
    if (soft->point_batches > INT32_MAX / 4)
        return td_fail(error, TD_ERROR_INPUT, "the mesh of body '%s' is too large", w->body->name);
    int64_t first = 0;
    soft->constant = soft->semidefinite = true;
    for (int k = 0; k < n_lists; k++)
    {
        tdElements *t = &soft->blocks[soft->n_blocks++];
        *t = (tdElements){.kind = lists[k].kind, .material = lists[k].material, .count = lists[k].count};
        t->batches = (int32_t)((t->count + 3) / 4);
        t->first = first;
        TD_TRY(build_block(w, &lists[k], t, error));
        TD_TRY(keep_rest_stiffness(w, &t->material, error));
        int64_t points = (int64_t)t->batches * td_element_shape[t->kind].points;
        first += points;
        t->first_chunk = soft->chunks;
        soft->chunks += t->chunks;
        const tdLaw *law = t->material.law;
        soft->constant = soft->constant && law->constant && t->material.n_prony == 0;
        soft->semidefinite = soft->semidefinite && law->semidefinite && t->material.n_prony == 0;
        soft->lagged = soft->lagged || law->rotation == TD_ROTATION_LAGGED;
        soft->turning = soft->turning || law->rotation == TD_ROTATION_LAGGED || law->rotation == TD_ROTATION_CURRENT;
        if (t->material.n_prony > 0)
        {
            t->history = soft->history;
            t->H = soft->H;
            soft->history += 24 * points * (1 + t->material.n_prony);
            soft->H += 24 * points;
        }
    }
    return TD_OK;
}

// ---------------------------------------------------------------- mass

// int N_a N_b and int N_a over an element, times density.
static void element_mass(const tdSoft *soft, const tdElements *t, const int32_t *nodes,
                         double M[TD_ELEMENT_NODES][TD_ELEMENT_NODES])
{
    const tdElementShape *shape = &td_element_shape[t->kind];
    const double *X[TD_ELEMENT_NODES];
    double N[TD_ELEMENT_NODES], gradient[8][3 * TD_ELEMENT_NODES], weight[8], normal[3];
    for (int a = 0; a < shape->nodes; a++)
    {
        X[a] = soft->rest + 3 * (int64_t)nodes[a];
        memset(M[a], 0, sizeof M[a]);
    }
    if (t->kind == TD_ELEMENT_TRI3)
        element_points(soft, t->kind, t->material.thickness, nodes, gradient, weight, normal);
    tdRule rule = td_rule_mass(shape->cell);
    for (int p = 0; p < rule.n; p++)
    {
        td_shape(shape->cell, rule.xi[p], N, NULL);
        double w =
            t->kind == TD_ELEMENT_TRI3 ? 2 * weight[0] : td_shape_gradients(shape->cell, X, rule.xi[p], gradient[0]);
        w *= rule.weight[p] * t->material.density;
        for (int a = 0; a < shape->nodes; a++)
            for (int b = 0; b < shape->nodes; b++)
                M[a][b] += w * N[a] * N[b];
    }
}

// Lumped mass of each node. Row sums are negative at the corners of quadratic tetrahedra: there the diagonal
// of M, scaled to the element's mass, is taken (Hinton, Rock and Zienkiewicz).
static void lump(int n, bool quadratic, double M[TD_ELEMENT_NODES][TD_ELEMENT_NODES], double *row, double *lumped)
{
    double total = 0, trace = 0;
    for (int a = 0; a < n; a++)
    {
        row[a] = 0;
        for (int b = 0; b < n; b++)
            row[a] += M[a][b];
        total += row[a];
        trace += M[a][a];
    }
    for (int a = 0; a < n; a++)
        lumped[a] = !quadratic ? row[a] : trace > 0 ? total * M[a][a] / trace : 0; // a static body may have no mass
}

// `at_rest`: gravity acts on the row sums of the consistent matrix, which is the best for an equilibrium; in
// motion it must act on the rows of the matrix that is used, or free fall would strain the body.
static tdStatus build_mass(build *w, bool at_rest, tdError *error)
{
    tdSoft *soft = w->soft;
    soft->node_mass = TD_TAKE(w->arena, double, soft->n_nodes);
    soft->node_weight = TD_TAKE(w->arena, double, soft->n_nodes);
    soft->mass = TD_TAKE(w->arena, double, soft->pattern.blocks);
    if (soft->node_mass == NULL || soft->node_weight == NULL || soft->mass == NULL)
        return td_fail_memory(error, "the mass matrix");
    soft->consistent = w->body->consistent_mass;
    for (int k = 0; k < soft->n_blocks; k++)
    {
        const tdElements *t = &soft->blocks[k];
        const tdElementShape *shape = &td_element_shape[t->kind];
        soft->total_mass += t->material.density * t->volume;
        for (int64_t lane = 0; lane < 4 * (int64_t)t->batches; lane++)
        {
            if (t->element[lane] < 0)
                continue;
            int32_t nodes[TD_ELEMENT_NODES];
            double M[TD_ELEMENT_NODES][TD_ELEMENT_NODES], row[TD_ELEMENT_NODES], lumped[TD_ELEMENT_NODES];
            const int32_t *own = cell_nodes(soft, t->kind, soft->element_cell[t->element[lane]]);
            int order[TD_ELEMENT_NODES];
            ascending(shape->nodes, own, order);
            memcpy(nodes, own, (size_t)shape->nodes * sizeof *nodes);
            element_mass(soft, t, nodes, M);
            lump(shape->nodes, t->kind == TD_ELEMENT_TET10, M, row, lumped);
            for (int a = 0, pair = 0; a < shape->nodes; a++)
            {
                int i = order[a];
                soft->node_mass[nodes[i]] += lumped[i];
                soft->node_weight[nodes[i]] += soft->consistent || at_rest ? row[i] : lumped[i];
                for (int b = 0; b <= a; b++, pair++)
                {
                    double share = soft->consistent ? M[i][order[b]] : a == b ? lumped[i] : 0;
                    soft->mass[t->block[4 * (shape->pairs * (lane / 4) + pair) + lane % 4]] += share;
                }
            }
        }
    }
    return TD_OK;
}

// ---------------------------------------------------------------- lists

static tdStatus list_node_elements(build *w, tdError *error)
{
    tdSoft *soft = w->soft;
    int64_t uses = 0;
    for (int k = 0; k < soft->n_blocks; k++)
        uses += soft->blocks[k].count * td_element_shape[soft->blocks[k].kind].nodes;
    soft->node_start = TD_TAKE(w->arena, int64_t, soft->n_nodes + 1);
    soft->node_lane = TD_TAKE(w->arena, int32_t, uses);
    soft->node_points = TD_TAKE(w->arena, uint8_t, uses);
    if (soft->node_start == NULL || soft->node_lane == NULL || soft->node_points == NULL)
        return td_fail_memory(error, "the elements");
    int64_t *start = soft->node_start;
    for (int pass = 0; pass < 2; pass++)
    {
        for (int b = 0; b < soft->n_blocks; b++)
        {
            const tdElements *t = &soft->blocks[b];
            const tdElementShape *shape = &td_element_shape[t->kind];
            int64_t stride = 4 * shape->nodes;
            for (int64_t k = 0; k < stride * t->batches; k++)
            {
                int64_t batch = k / stride, lane = k % 4;
                if (t->element[4 * batch + lane] < 0)
                    continue;
                if (pass == 0)
                    start[t->nodes[k] + 1]++;
                else
                {
                    soft->node_points[start[t->nodes[k]]] = (uint8_t)shape->points;
                    soft->node_lane[start[t->nodes[k]]++] = (int32_t)(4 * (t->first + shape->points * batch) + lane);
                }
            }
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

// Numbers the elements by type of cell, then by cell.
static tdStatus number_elements(build *w, int n_lists, const tdElementList *lists, tdArena *scratch, tdError *error)
{
    tdSoft *soft = w->soft;
    for (int k = 0; k < n_lists; k++)
        soft->elements += lists[k].count;
    soft->element_cell = TD_TAKE(w->arena, int32_t, soft->elements);
    if (soft->element_cell == NULL)
        return td_fail_memory(error, "the elements");
    int64_t at = 0;
    for (int type = 0; type < TD_CELL_TYPES; type++)
    {
        soft->element_start[type] = at;
        if (type != TD_CELL_TRI && td_cell_dim((tdCellType)type) < 3)
            continue;
        int64_t cells = soft->mesh.cells[type].count;
        int32_t *number = w->number[type] = TD_TAKE(scratch, int32_t, cells);
        if (number == NULL)
            return td_fail_memory(error, "the elements");
        for (int k = 0; k < n_lists; k++)
            for (int64_t i = 0; i < lists[k].count && td_element_shape[lists[k].kind].cell == (tdCellType)type; i++)
                number[lists[k].cells[i]] = 1;
        for (int64_t c = 0; c < cells; c++)
            if (number[c] != 0)
            {
                soft->element_cell[at] = (int32_t)c;
                number[c] = (int32_t)at++;
            }
    }
    soft->element_start[TD_CELL_TYPES] = at;
    return TD_OK;
}

// The pattern of all elements: runs of cells of one number of nodes.
// The blocks that constraints may stiffen, each once.
static tdStatus list_coupled(build *w, tdArena *scratch, tdError *error)
{
    tdSoft *soft = w->soft;
    bool *coupled = TD_TAKE(scratch, bool, soft->pattern.blocks);
    if (coupled == NULL)
        return td_fail_memory(error, "the pattern of the matrix");
    for (int r = 0; r < w->n_couplings; r++)
        for (int64_t c = 0; c < w->couplings[r].count; c++)
        {
            const int32_t *n = w->couplings[r].nodes + c * w->couplings[r].k;
            for (int i = 0; i < w->couplings[r].k; i++)
                for (int j = 0; j < w->couplings[r].k; j++)
                    if (n[i] >= n[j])
                        coupled[td_block_find(&soft->pattern, n[i], n[j])] = true;
        }
    for (int64_t b = 0; b < soft->pattern.blocks; b++)
        soft->n_coupled += coupled[b];
    if (soft->n_coupled == 0)
        return TD_OK;
    soft->coupled = TD_TAKE(w->arena, int32_t, soft->n_coupled);
    soft->coupled_column = TD_TAKE(w->arena, int32_t, soft->n_coupled);
    soft->coupled_row = TD_TAKE(w->arena, int32_t, soft->n_nodes + 1);
    if (soft->coupled == NULL || soft->coupled_column == NULL || soft->coupled_row == NULL)
        return td_fail_memory(error, "the pattern of the matrix");
    int32_t n = 0;
    for (int64_t i = 0; i < soft->n_nodes; i++)
    {
        for (int64_t b = soft->pattern.row[i]; b < soft->pattern.row[i + 1]; b++)
            if (coupled[b])
            {
                soft->coupled_column[n] = soft->pattern.column[b];
                soft->coupled[n++] = (int32_t)b;
            }
        soft->coupled_row[i + 1] = n;
    }
    return TD_OK;
}

static tdStatus build_pattern(build *w, int n_lists, const tdElementList *lists, tdArena *scratch, tdError *error)
{
    tdSoft *soft = w->soft;
    int n = 0;
    tdBlockCells *runs = TD_TAKE(scratch, tdBlockCells, TD_ELEMENT_KINDS + w->n_couplings);
    if (runs == NULL)
        return td_fail_memory(error, "the pattern of the matrix");
    for (int kind = 0; kind < TD_ELEMENT_KINDS; kind++)
    {
        const tdElementShape *shape = &td_element_shape[kind];
        int64_t count = 0;
        for (int k = 0; k < n_lists; k++)
            count += lists[k].kind == (tdElementKind)kind ? lists[k].count : 0;
        int32_t *nodes = TD_TAKE(scratch, int32_t, shape->nodes * count);
        if (nodes == NULL)
            return td_fail_memory(error, "the pattern of the matrix");
        runs[n++] = (tdBlockCells){count, shape->nodes, nodes};
        for (int k = 0; k < n_lists; k++)
            for (int64_t i = 0; i < lists[k].count && lists[k].kind == (tdElementKind)kind; i++, nodes += shape->nodes)
                memcpy(nodes, cell_nodes(soft, lists[k].kind, lists[k].cells[i]), (size_t)shape->nodes * sizeof *nodes);
    }
    for (int k = 0; k < w->n_couplings; k++)
        runs[n++] = w->couplings[k];
    TD_TRY(td_block_pattern_of(w->arena, soft->n_nodes, n, runs, &soft->pattern, error));
    return list_coupled(w, scratch, error);
}

// What total_mass means: the whole body has it, and what its other materials and membranes leave of it is shared by the
// volume of all blocks of that material.
static tdStatus share_mass(const build *w, int n_lists, const tdElementList *lists, tdError *error)
{
    const tdSceneMaterial *own = &w->body->material;
    double volume = 0, others = 0;
    if (!(own->total_mass > 0))
        return TD_OK;
    for (int k = 0; k < n_lists; k++)
    {
        const tdElements *block = &w->soft->blocks[k];
        bool shares = lists[k].given->total_mass > 0; // parts have none
        volume += shares ? block->volume : 0;
        others += shares ? 0 : block->material.density * block->volume;
    }
    if (!(volume > 0))
        return td_fail_at(error, TD_ERROR_INPUT, w->file, own->line, "total_mass",
                          "body '%s': no element is left to the material that has its 'total_mass'; give 'density'",
                          w->body->name);
    if (!(own->total_mass > others))
        return td_fail_at(
            error, TD_ERROR_INPUT, w->file, own->line, "total_mass",
            "body '%s': its 'total_mass' is %g kg, and its other materials and membranes alone weigh %g kg; "
            "check their densities",
            w->body->name, own->total_mass, others);
    for (int k = 0; k < n_lists; k++)
        if (lists[k].given->total_mass > 0)
            w->soft->blocks[k].material.density = (own->total_mass - others) / volume;
    return TD_OK;
}

static tdStatus build_tables(build *w, int n_lists, const tdElementList *lists, bool at_rest, tdArena *scratch,
                             tdError *error)
{
    for (int k = 0; k < n_lists; k++)
        TD_TRY(check_elements(w, &lists[k], error));
    TD_TRY(number_elements(w, n_lists, lists, scratch, error));
    TD_TRY(build_pattern(w, n_lists, lists, scratch, error));
    TD_TRY(build_blocks(w, n_lists, lists, error));
    TD_TRY(share_mass(w, n_lists, lists, error));
    TD_TRY(list_node_elements(w, error));
    return build_mass(w, at_rest, error);
}

tdStatus td_soft_build(tdArena *arena, tdSoft *soft, int n_lists, const tdElementList *lists, int n_couplings,
                       const tdBlockCells *couplings, const tdSceneBody *body, const tdSceneSettings *settings,
                       const char *file, tdError *error)
{
    build w = {
        .arena = arena, .soft = soft, .body = body, .file = file, .n_couplings = n_couplings, .couplings = couplings};
    tdArena scratch = {0};
    tdStatus status = build_tables(&w, n_lists, lists, settings->method == TD_METHOD_STATIC, &scratch, error);
    td_arena_free(&scratch);
    TD_TRY(status);
    soft->alpha = body->damping_mass;
    soft->beta = body->damping_stiffness;
    memcpy(soft->velocity, body->velocity, sizeof soft->velocity);
    const tdLinearChoice choice = {settings->solver, (double)settings->solver_memory};
    return td_linear_model_create(arena, &soft->pattern, soft->held, &choice, &soft->linear, error);
}
