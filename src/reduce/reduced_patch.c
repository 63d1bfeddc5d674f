// SPDX-License-Identifier: Apache-2.0
// Large dents: what the elements under a touched place add to a response that is linear.
//
// The shape of a dent is that of small forces a, u = G a, but its force is that of the elements: with the gradient F of
// modes alone and dF of dents, both seen along the axes of rest,
//
//     rho_c = G_c' sum V dN (P(F + dF) - P(F) - C : dF)         force on the dents: D^-1 (d + rho)
//
// With the shape of first order the force is right to second order, as the shape is that of least energy. Strains under
// a point fall with the square of the distance and what is summed here with the sixth power: two layers of elements
// around forces are enough. Elements with an averaged pressure and triangles stay linear.
#include "base/vector.h"
#include "reduce/reduced_body.h"

#include <math.h>
#include <string.h>

#define SMALL 0.02 // of the largest force: not worth a look at its elements

bool td_reduced_patch_take(tdArena *arena, const tdReduced *reduced, tdPatch *patch)
{
    const tdSoft *soft = reduced->soft;
    patch->lane = TD_TAKE(arena, int32_t, TD_PATCH_ELEMENTS);
    patch->from = TD_TAKE(arena, int32_t, TD_PATCH_ELEMENTS);
    patch->corner = TD_TAKE(arena, int32_t, TD_PATCH_ELEMENTS * TD_PATCH_CORNERS);
    patch->node = TD_TAKE(arena, int32_t, TD_PATCH_NODES);
    patch->x = TD_TAKE(arena, double, 3 * TD_PATCH_NODES);
    patch->w = TD_TAKE(arena, double, 3 * TD_PATCH_NODES);
    patch->force = TD_TAKE(arena, double, 3 * TD_PATCH_NODES);
    patch->rest = TD_TAKE(arena, double, (int64_t)soft->n_blocks * 4 * TD_TANGENT);
    return patch->lane != NULL && patch->from != NULL && patch->corner != NULL && patch->node != NULL &&
           patch->x != NULL && patch->w != NULL && patch->force != NULL && patch->rest != NULL;
}

static bool is_nonlinear(const tdElements *block)
{
    return block->kind != TD_ELEMENT_TRI3 && !block->material.mean_dilatation && !block->material.law->constant;
}

void td_reduced_patch_rest(const tdReduced *reduced, tdIsa isa, tdPatch *patch)
{
    _Alignas(64) double one[36] = {0}, psi[4], P[36];
    for (int l = 0; l < 4; l++)
        one[l] = one[16 + l] = one[32 + l] = 1;
    for (int b = 0; b < reduced->soft->n_blocks; b++)
    {
        const tdMaterial *m = &reduced->soft->blocks[b].material;
        if (is_nonlinear(&reduced->soft->blocks[b]))
            m->law->kernel[isa](m->parameters, one, m->fibre != NULL ? m->fibre : one, psi, P,
                                patch->rest + (int64_t)b * 4 * TD_TANGENT);
    }
}

// ---------------------------------------------------------------- elements around forces

static int block_of(const tdSoft *soft, int32_t lane)
{
    int b = 0;
    while (b + 1 < soft->n_blocks && lane / 4 >= soft->blocks[b + 1].first)
        b++;
    return b;
}

// Place of an element among those of its block: 4 batch + lane.
static int64_t place_of(const tdElements *block, int32_t lane)
{
    return 4 * ((lane / 4 - block->first) / td_element_shape[block->kind].points) + lane % 4;
}

static int32_t corner_of(const tdElements *block, int64_t place, int a)
{
    return block->nodes[4 * (td_element_shape[block->kind].nodes * (place / 4) + a) + place % 4];
}

static int32_t number_of(tdPatch *patch, int32_t node)
{
    for (int32_t i = 0; i < patch->n_nodes; i++)
        if (patch->node[i] == node)
            return i;
    if (patch->n_nodes == TD_PATCH_NODES)
        return -1;
    patch->node[patch->n_nodes] = node;
    return patch->n_nodes++;
}

static void add_element(const tdSoft *soft, tdPatch *patch, int32_t lane, int from)
{
    const tdElements *block = &soft->blocks[block_of(soft, lane)];
    int corners = td_element_shape[block->kind].nodes;
    if (patch->n == TD_PATCH_ELEMENTS || corners > TD_PATCH_CORNERS || !is_nonlinear(block))
        return;
    for (int e = 0; e < patch->n; e++)
        if (patch->lane[e] == lane)
            return;
    for (int a = 0; a < corners; a++)
        if ((patch->corner[patch->n * TD_PATCH_CORNERS + a] =
                 number_of(patch, corner_of(block, place_of(block, lane), a))) < 0)
            return;
    patch->lane[patch->n] = lane;
    patch->from[patch->n++] = from;
}

// Two layers: elements of the node, and of their nodes.
static void add_around(const tdSoft *soft, tdPatch *patch, int32_t node, int from)
{
    for (int64_t k = soft->node_start[node]; k < soft->node_start[node + 1]; k++)
        add_element(soft, patch, soft->node_lane[k], from);
    for (int64_t k = soft->node_start[node]; k < soft->node_start[node + 1]; k++)
    {
        const tdElements *block = &soft->blocks[block_of(soft, soft->node_lane[k])];
        for (int a = 0; a < td_element_shape[block->kind].nodes; a++)
        {
            int32_t next = corner_of(block, place_of(block, soft->node_lane[k]), a);
            for (int64_t i = soft->node_start[next]; i < soft->node_start[next + 1]; i++)
                add_element(soft, patch, soft->node_lane[i], from);
        }
    }
}

static void gather(const tdReduced *reduced, tdPatch *patch, int n, const tdDentSource *sources)
{
    bool same = n == patch->n_around;
    for (int k = 0; k < n && same; k++)
        same = patch->around[k] == sources[k].node;
    if (same)
        return;
    patch->n = patch->n_nodes = 0;
    patch->n_around = n;
    for (int k = 0; k < n; k++)
        patch->around[k] = sources[k].node;
    for (int k = 0; k < n; k++)
        add_around(reduced->soft, patch, sources[k].node, k);
}

// ---------------------------------------------------------------- stresses

static void gradient_of(const tdElements *block, int64_t place, int point, int a, double g[3])
{
    const tdElementShape *shape = &td_element_shape[block->kind];
    int skip = block->kind == TD_ELEMENT_TET4, n = shape->nodes - skip;
    const double *from = block->gradient + 12 * (n * (shape->points * (place / 4) + point)) + place % 4;
    for (int c = 0; c < 3; c++)
        g[c] = a >= skip ? from[4 * (3 * (a - skip) + c)] : -(from[4 * c] + from[4 * (3 + c)] + from[4 * (6 + c)]);
}

// One point of up to four elements of a block.
static void add_point(const tdReduced *reduced, tdPatch *patch, tdIsa isa, const tdDentSource *sources, int b,
                      int point, int n, const int32_t *elements)
{
    const tdElements *block = &reduced->soft->blocks[b];
    const tdMaterial *m = &block->material;
    const tdElementShape *shape = &td_element_shape[block->kind];
    _Alignas(64) double F[36], whole[36], R[36], psi[4], P[36], P0[36];
    double relaxed = 1, g[4][TD_PATCH_CORNERS][3];
    for (int k = 0; k < m->n_prony; k++)
        relaxed -= m->g[k];
    for (int c = 0; c < 9; c++)
        for (int l = 0; l < 4; l++)
            F[4 * c + l] = whole[4 * c + l] = c % 4 == 0;
    for (int l = 0; l < n; l++)
    {
        int64_t place = place_of(block, patch->lane[elements[l]]);
        const int32_t *corner = patch->corner + elements[l] * TD_PATCH_CORNERS;
        double by_modes[9] = {0}, by_dents[9] = {0};
        for (int a = 0; a < shape->nodes; a++)
        {
            gradient_of(block, place, point, a, g[l][a]);
            for (int c = 0; c < 9; c++)
            {
                by_modes[c] += patch->x[3 * corner[a] + c / 3] * g[l][a][c % 3];
                by_dents[c] += patch->w[3 * corner[a] + c / 3] * g[l][a][c % 3];
            }
        }
        const double *turn = sources[patch->from[elements[l]]].R_modes;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
            {
                double back = turn[i] * by_modes[j] + turn[3 + i] * by_modes[3 + j] + turn[6 + i] * by_modes[6 + j];
                F[4 * (3 * i + j) + l] = back;
                whole[4 * (3 * i + j) + l] = back + by_dents[3 * i + j];
            }
    }
    bool turns = m->law->rotation == TD_ROTATION_CURRENT || m->law->rotation == TD_ROTATION_LAGGED;
    if (turns)
        td_polar(isa)(F, R);
    m->law->kernel[isa](m->parameters, F, turns ? R : m->fibre, psi, P0, NULL);
    if (turns)
        td_polar(isa)(whole, R);
    m->law->kernel[isa](m->parameters, whole, turns ? R : m->fibre, psi, P, NULL);
    const double *C = patch->rest + (int64_t)b * 4 * TD_TANGENT;
    for (int l = 0; l < n; l++)
    {
        int64_t place = place_of(block, patch->lane[elements[l]]);
        const int32_t *corner = patch->corner + elements[l] * TD_PATCH_CORNERS;
        double volume = relaxed * block->weight[4 * (shape->points * (place / 4) + point) + place % 4];
        for (int row = 0; row < 9; row++)
        {
            double rest = P[4 * row + l] - P0[4 * row + l];
            for (int column = 0; column < 9; column++)
                rest -= C[4 * (row >= column ? TD_PACKED(row, column) : TD_PACKED(column, row)) + l] *
                        (whole[4 * column + l] - F[4 * column + l]);
            for (int a = 0; a < shape->nodes; a++)
                patch->force[3 * corner[a] + row / 3] += volume * rest * g[l][a][row % 3];
        }
    }
}

static void add_stresses(const tdReduced *reduced, tdPatch *patch, tdIsa isa, const tdDentSource *sources)
{
    const tdSoft *soft = reduced->soft;
    for (int b = 0; b < soft->n_blocks; b++)
        for (int e = 0; e < patch->n;)
        {
            int n = 0;
            int32_t four[4];
            for (; n < 4 && e < patch->n; e++)
                if (block_of(soft, patch->lane[e]) == b)
                    four[n++] = e;
            for (int p = 0; n > 0 && p < td_element_shape[soft->blocks[b].kind].points; p++)
                add_point(reduced, patch, isa, sources, b, p, n, four);
        }
}

int td_reduced_patch(const tdBody *body, const tdState *state, tdPatch *patch, int n, const tdDentSource *sources)
{
    const tdReduced *reduced = td_reduced_of(body);
    const double *q = state->q + body->first;
    tdDentSource strong[TD_DENT_KEPT];
    double most = 0;
    int count = 0;
    for (int k = 0; k < n; k++)
        most = fmax(most, td_dot3(sources[k].g, sources[k].g));
    for (int k = 0; k < n; k++) // by node: which of them an element goes with must not depend on rounding
    {
        int at = count;
        if (td_dot3(sources[k].g, sources[k].g) <= SMALL * SMALL * most)
            continue;
        for (; at > 0 && strong[at - 1].node > sources[k].node; at--)
            strong[at] = strong[at - 1];
        strong[at] = sources[k];
        count++;
    }
    gather(reduced, patch, count, strong);
    for (int32_t i = 0; i < patch->n_nodes; i++)
    {
        int64_t node = patch->node[i];
        for (int c = 0; c < 3; c++)
        {
            patch->x[3 * i + c] = reduced->soft->rest[3 * node + c] + td_modes_along(&reduced->modes, 3 * node + c, q);
            patch->w[3 * i + c] = patch->force[3 * i + c] = 0;
        }
        for (int k = 0; k < n; k++)
        {
            double moved[3];
            td_mat3_apply(sources[k].G + 9 * node, sources[k].g, moved);
            for (int c = 0; c < 3; c++)
                patch->w[3 * i + c] += moved[c];
        }
    }
    add_stresses(reduced, patch, state->isa, strong);
    return patch->n;
}

void td_reduced_patch_along(const tdPatch *patch, const double *G, double rho[3])
{
    rho[0] = rho[1] = rho[2] = 0;
    for (int32_t i = 0; i < patch->n_nodes; i++)
    {
        double part[3];
        td_mat3_back(G + 9 * (int64_t)patch->node[i], patch->force + 3 * i, part);
        for (int c = 0; c < 3; c++)
            rho[c] += part[c];
    }
}
