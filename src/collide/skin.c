// SPDX-License-Identifier: Apache-2.0
// Builds a surface for contact from the caller's triangles, in four stages: checked triangles, tree, numbering by
// leaves, edges with their bends.
#include "collide/skin.h"

#include "mesh/edges.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TRIS ((int64_t)1 << 27) // names of contacts have 28 bits for a feature

// ---------------------------------------------------------------- the caller's triangles

static tdStatus check_numbers(const char *name, int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris,
                              tdError *error)
{
    if (n_tris <= 0 || n_nodes <= 0 || x == NULL || tris == NULL)
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name, "the surface has no triangles; give it some");
    if (n_tris > MOST_TRIS || n_nodes > MOST_TRIS)
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name,
                          "the surface has %lld triangles and %lld nodes; at most %lld are possible, make it coarser",
                          (long long)n_tris, (long long)n_nodes, (long long)MOST_TRIS);
    for (int64_t i = 0; i < 3 * n_tris; i++)
        if (tris[i] < 0 || tris[i] >= n_nodes)
            return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name,
                              "triangle %lld names node %d, but nodes run from 0 to %lld", (long long)(i / 3), tris[i],
                              (long long)n_nodes - 1);
    for (int64_t i = 0; i < 3 * n_tris; i++)
        for (int k = 0; k < 3; k++)
            if (!(fabs(x[3 * (int64_t)tris[i] + k]) < 1e15))
                return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name,
                                  "node %d of triangle %lld is not at a finite place; correct its coordinates", tris[i],
                                  (long long)(i / 3));
    return TD_OK;
}

// Copies the triangles that have three nodes; *kept gets their old numbers.
static tdStatus keep_triangles(int64_t n_tris, const int32_t *tris, int32_t **copy, int32_t **kept, int64_t *n_kept,
                               tdSkinCheck *check, tdError *error)
{
    *copy = malloc((size_t)n_tris * 3 * sizeof **copy);
    *kept = malloc((size_t)n_tris * sizeof **kept);
    if (*copy == NULL || *kept == NULL)
        return td_fail_memory(error, "a surface for contact");
    int64_t n = 0;
    for (int64_t t = 0; t < n_tris; t++)
    {
        if (td_collapsed(tris + 3 * t))
        {
            if (check->collapsed++ == 0)
                check->first_collapsed = (int32_t)t;
            continue;
        }
        memcpy(*copy + 3 * n, tris + 3 * t, 3 * sizeof *tris);
        (*kept)[n++] = (int32_t)t;
    }
    *n_kept = n;
    return TD_OK;
}

// ---------------------------------------------------------------- numbering by leaves

static bool take_arrays(tdArena *arena, tdSkin *skin)
{
    size_t n_tris = (size_t)skin->n_tris, n_verts = (size_t)skin->n_verts;
    skin->node = TD_TAKE(arena, int32_t, n_verts);
    skin->rest = TD_TAKE(arena, double, 3 * n_verts);
    skin->ring_first = TD_TAKE(arena, int32_t, n_verts + 1);
    skin->tri = TD_TAKE(arena, int32_t, n_tris);
    skin->tris = TD_TAKE(arena, int32_t, 3 * n_tris);
    skin->tri_edges = TD_TAKE(arena, int32_t, 3 * n_tris);
    skin->ring = TD_TAKE(arena, int32_t, 3 * n_tris);
    return skin->node != NULL && skin->rest != NULL && skin->ring_first != NULL && skin->tri != NULL &&
           skin->tris != NULL && skin->tri_edges != NULL && skin->ring != NULL;
}

// Which leaf owns what: vertices and edges are numbered in the order in which the triangles of leaves touch them.
static void own_vertices(tdSkin *skin)
{
    int32_t seen = 0;
    for (int32_t i = 0; i < skin->bvh.n_nodes; i++)
    {
        tdBvhNode *leaf = &skin->bvh.nodes[i];
        if (leaf->right != 0)
            continue;
        leaf->vert = seen;
        for (int32_t c = 3 * leaf->tri; c < 3 * (leaf->tri + leaf->n_tris); c++)
            seen = skin->tris[c] >= seen ? skin->tris[c] + 1 : seen;
        leaf->n_verts = seen - leaf->vert;
    }
}

static void own_edges(tdSkin *skin)
{
    int32_t seen = 0;
    for (int32_t i = 0; i < skin->bvh.n_nodes; i++)
    {
        tdBvhNode *leaf = &skin->bvh.nodes[i];
        if (leaf->right != 0)
            continue;
        leaf->edge = seen;
        for (int32_t c = 3 * leaf->tri; c < 3 * (leaf->tri + leaf->n_tris); c++)
            seen = skin->tri_edges[c] >= seen ? skin->tri_edges[c] + 1 : seen;
        leaf->n_edges = seen - leaf->edge;
    }
}

static void make_rings(tdSkin *skin)
{
    for (int32_t c = 0; c < 3 * skin->n_tris; c++)
        skin->ring_first[skin->tris[c] + 1]++;
    for (int32_t v = 0; v < skin->n_verts; v++)
        skin->ring_first[v + 1] += skin->ring_first[v];
    // Filled from the starts, which therefore end one place on and are moved back.
    for (int32_t c = 0; c < 3 * skin->n_tris; c++)
        skin->ring[skin->ring_first[skin->tris[c]]++] = c / 3;
    memmove(skin->ring_first + 1, skin->ring_first, (size_t)skin->n_verts * sizeof(int32_t));
    skin->ring_first[0] = 0;
}

static tdStatus number(tdArena *arena, int64_t n_nodes, const double *x, int64_t n, const int32_t *tris,
                       const int32_t *kept, tdSkin *skin, tdError *error)
{
    double *centers = td_take(3 * (size_t)n, sizeof *centers);
    int32_t *order = td_take((size_t)n, sizeof *order), *map = td_take((size_t)n_nodes, sizeof *map);
    bool good = centers != NULL && order != NULL && map != NULL;
    for (int64_t t = 0; good && t < n; t++)
        for (int k = 0; k < 3; k++)
            centers[3 * t + k] = x[3 * (int64_t)tris[3 * t] + k] + x[3 * (int64_t)tris[3 * t + 1] + k] +
                                 x[3 * (int64_t)tris[3 * t + 2] + k];
    good = good && td_bvh_build(arena, (int32_t)n, centers, order, &skin->bvh);
    for (int64_t i = 0; good && i < n_nodes; i++)
        map[i] = -1;
    for (int64_t c = 0; good && c < 3 * n; c++)
        if (map[tris[3 * (int64_t)order[c / 3] + c % 3]] < 0)
            map[tris[3 * (int64_t)order[c / 3] + c % 3]] = skin->n_verts++;
    skin->n_tris = (int32_t)n;
    good = good && take_arrays(arena, skin);
    for (int64_t i = 0; good && i < n_nodes; i++)
        if (map[i] >= 0)
        {
            skin->node[map[i]] = (int32_t)i;
            memcpy(skin->rest + 3 * (int64_t)map[i], x + 3 * i, 3 * sizeof *x);
        }
    for (int64_t t = 0; good && t < n; t++)
    {
        skin->tri[t] = kept[order[t]];
        for (int k = 0; k < 3; k++)
            skin->tris[3 * t + k] = map[tris[3 * (int64_t)order[t] + k]];
    }
    free(centers);
    free(order);
    free(map);
    if (!good)
        return td_fail_memory(error, "a surface for contact");
    own_vertices(skin);
    make_rings(skin);
    return TD_OK;
}

// ---------------------------------------------------------------- edges

static tdStatus bad_edge(const tdSkin *skin, const char *name, const tdEdgeUse *uses, int64_t n, tdError *error)
{
    int a = skin->node[uses[0].low], b = skin->node[uses[0].high];
    if (n > 2)
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name,
                          "%lld triangles (%d, %d, %d, ...) share the edge of nodes %d and %d, so that there is no "
                          "inside; separate the parts that meet there, or remove duplicate triangles",
                          (long long)n, skin->tri[uses[0].side / 3], skin->tri[uses[1].side / 3],
                          skin->tri[uses[2].side / 3], a, b);
    return td_fail_at(
        error, TD_ERROR_INPUT, NULL, 0, name,
        "triangles %d and %d disagree at the edge of nodes %d and %d about which side is outside; reverse one of them",
        skin->tri[uses[0].side / 3], skin->tri[uses[1].side / 3], a, b);
}

static uint8_t bend_of(const tdSkin *skin, const int32_t *edge, double sharp)
{
    if (edge[2] < 0 || edge[3] < 0)
        return TD_EDGE_FLAT;
    double left[3], right[3], along[3], turn[3];
    td_skin_normal(skin, skin->rest, edge[2], left);
    td_skin_normal(skin, skin->rest, edge[3], right);
    td_subtract3(skin->rest + 3 * edge[1], skin->rest + 3 * edge[0], along);
    td_unit3(along, 0);
    // The left triangle runs along the edge, so that over a ridge the normal turns about it from left to right.
    td_cross3(left, right, turn);
    double angle = atan2(td_dot3(turn, along), td_dot3(left, right));
    return angle > sharp ? TD_EDGE_SHARP : (angle < -sharp ? TD_EDGE_HOLLOW : TD_EDGE_FLAT);
}

// Edges take the order of the sides that name them first, which is that of leaves.
static tdStatus make_edges(tdArena *arena, const char *name, double sharp, tdSkin *skin, tdSkinCheck *check,
                           tdError *error)
{
    int64_t n_uses = 0;
    tdEdgeUse *uses = td_sorted_edges(skin->n_verts, skin->n_tris, skin->tris, &n_uses);
    if (uses == NULL)
        return td_fail_memory(error, "the edges of a surface");
    tdStatus status = TD_OK;
    for (int64_t i = 0; i < 3 * (int64_t)skin->n_tris; i++)
        skin->tri_edges[i] = -1;
    // First each side learns its partner (or itself), then sides count edges in their own order.
    for (int64_t i = 0, end = 0; i < n_uses && status == TD_OK; i = end)
    {
        end = td_edge_end(uses, n_uses, i);
        if (end - i > 2 || (end - i == 2 && uses[i].reversed == uses[i + 1].reversed))
            status = bad_edge(skin, name, uses + i, end - i, error);
        for (int64_t j = i; j < end; j++)
            skin->tri_edges[uses[j].side] = (int32_t)uses[end - 1 - (j - i)].side;
        if (end - i == 1 && check->open++ == 0)
        {
            check->first_open[0] = skin->node[uses[i].low];
            check->first_open[1] = skin->node[uses[i].high];
        }
        skin->n_edges++;
    }
    free(uses);
    if (status != TD_OK)
        return status;
    skin->edges = TD_TAKE(arena, int32_t, 4 * (size_t)skin->n_edges);
    skin->bend = TD_TAKE(arena, uint8_t, skin->n_edges);
    if (skin->edges == NULL || skin->bend == NULL)
        return td_fail_memory(error, "the edges of a surface");
    int32_t n = 0;
    for (int32_t side = 0; side < 3 * skin->n_tris; side++)
    {
        int32_t partner = skin->tri_edges[side];
        if (partner < side) // its number stands there already
        {
            skin->tri_edges[side] = skin->tri_edges[partner];
            continue;
        }
        int32_t *edge = skin->edges + 4 * n;
        edge[0] = skin->tris[side];
        edge[1] = skin->tris[td_next_side(side)];
        edge[2] = side / 3;
        edge[3] = partner == side ? -1 : partner / 3;
        skin->bend[n] = bend_of(skin, edge, sharp);
        skin->mean_edge += sqrt(td_square_between(skin->rest + 3 * edge[0], skin->rest + 3 * edge[1]));
        skin->tri_edges[side] = n++;
    }
    skin->mean_edge /= n;
    skin->closed = check->open == 0;
    own_edges(skin);
    return TD_OK;
}

// ---------------------------------------------------------------- the whole

static void find_flat(const tdSkin *skin, tdSkinCheck *check)
{
    for (int32_t t = 0; t < skin->n_tris; t++)
    {
        double area[3], longest = 0;
        td_skin_area(skin, skin->rest, t, area);
        for (int k = 0; k < 3; k++)
            longest = fmax(longest, td_square_between(skin->rest + 3 * skin->tris[3 * t + k],
                                                      skin->rest + 3 * skin->tris[3 * t + (k + 1) % 3]));
        if (!(td_length3(area) > 1e-9 * longest))
        {
            if (check->flat++ == 0 || skin->tri[t] < check->first_flat)
                check->first_flat = skin->tri[t];
        }
    }
}

tdStatus td_skin_build(tdArena *arena, const char *name, int64_t n_nodes, const double *x, int64_t n_tris,
                       const int32_t *tris, double sharp, tdSkin *out, tdSkinCheck *check, tdError *error)
{
    *out = (tdSkin){0};
    *check = (tdSkinCheck){.first_collapsed = -1, .first_flat = -1, .first_cut = {-1, -1}, .first_open = {-1, -1}};
    int32_t *copy = NULL, *kept = NULL;
    int64_t n = 0;
    tdStatus status = check_numbers(name, n_nodes, x, n_tris, tris, error);
    if (status == TD_OK)
        status = keep_triangles(n_tris, tris, &copy, &kept, &n, check, error);
    if (status == TD_OK && n == 0)
        status = td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name, "every triangle names a node twice; none is left");
    if (status == TD_OK)
        status = number(arena, n_nodes, x, n, copy, kept, out, error);
    free(copy);
    free(kept);
    if (status == TD_OK)
        status = make_edges(arena, name, sharp, out, check, error);
    if (status != TD_OK)
        return status;
    double box[6];
    for (int k = 0; k < 3; k++)
        box[k] = box[3 + k] = out->rest[k];
    for (int32_t i = 0; i < 3 * out->n_verts; i++)
    {
        box[i % 3] = fmin(box[i % 3], out->rest[i]);
        box[3 + i % 3] = fmax(box[3 + i % 3], out->rest[i]);
    }
    out->extent = sqrt(td_square_between(box, box + 3));
    if (!(out->extent > 0))
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name, "all nodes of the surface are at one place");
    find_flat(out, check);
    return TD_OK;
}

// ---------------------------------------------------------------- each step

static inline void stretch(tdBox *box, const double *x)
{
    for (int k = 0; k < 3; k++)
    {
        float a = (float)x[k];
        box->min[k] = a < box->min[k] ? a : box->min[k];
        box->max[k] = a > box->max[k] ? a : box->max[k];
    }
}

void td_skin_refit(const tdSkin *skin, const double *x, const double *x_end, double grow, tdBox *boxes)
{
    for (int32_t i = skin->bvh.n_nodes - 1; i >= 0; i--)
    {
        const tdBvhNode *node = &skin->bvh.nodes[i];
        if (node->right != 0)
        {
            boxes[i] = td_box_union(&boxes[i + 1], &boxes[node->right]);
            continue;
        }
        tdBox box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
        for (int32_t c = 3 * node->tri; c < 3 * (node->tri + node->n_tris); c++)
            stretch(&box, x + 3 * skin->tris[c]);
        for (int32_t c = 3 * node->tri; x_end != NULL && c < 3 * (node->tri + node->n_tris); c++)
            stretch(&box, x_end + 3 * skin->tris[c]);
        for (int k = 0; k < 3; k++)
        {
            // Rounding to single precision errs by 6e-8 of a coordinate; twice that is added, outwards.
            float by = (float)grow + 1.2e-7F * (fabsf(box.min[k]) + fabsf(box.max[k]));
            box.min[k] -= by;
            box.max[k] += by;
        }
        boxes[i] = box;
    }
}

void td_skin_pseudo_normal(const tdSkin *skin, const double *x, int32_t tri, int region, double out[3])
{
    td_skin_normal(skin, x, tri, out);
    if (region >= TD_REGION_FACE)
        return;
    double other[3];
    if (region >= TD_REGION_SIDE)
    {
        const int32_t *edge = skin->edges + 4 * skin->tri_edges[3 * tri + region - TD_REGION_SIDE];
        int32_t across = edge[2] == tri ? edge[3] : edge[2];
        if (across < 0)
            return;
        td_skin_normal(skin, x, across, other);
        for (int k = 0; k < 3; k++)
            out[k] += other[k];
        return;
    }
    int32_t vert = skin->tris[3 * tri + region];
    out[0] = out[1] = out[2] = 0;
    for (int32_t i = skin->ring_first[vert]; i < skin->ring_first[vert + 1]; i++)
    {
        const int32_t *t = skin->tris + 3 * skin->ring[i];
        int corner = t[0] == vert ? 0 : (t[1] == vert ? 1 : 2);
        double u[3], v[3], turn[3];
        td_subtract3(x + 3 * t[(corner + 1) % 3], x + 3 * vert, u);
        td_subtract3(x + 3 * t[(corner + 2) % 3], x + 3 * vert, v);
        td_cross3(u, v, turn);
        double angle = atan2(td_length3(turn), td_dot3(u, v));
        td_skin_normal(skin, x, skin->ring[i], other);
        for (int k = 0; k < 3; k++)
            out[k] += angle * other[k];
    }
}

// The most that p is in front of another triangle at the region.
static double beside(const tdSkin *skin, const double *x, int32_t tri, int region, const double way[3])
{
    double most = -INFINITY, n[3];
    if (region >= TD_REGION_SIDE)
    {
        const int32_t *edge = skin->edges + 4 * skin->tri_edges[3 * tri + region - TD_REGION_SIDE];
        int32_t across = edge[2] == tri ? edge[3] : edge[2];
        if (across < 0)
            return most;
        td_skin_normal(skin, x, across, n);
        return td_dot3(n, way);
    }
    int32_t vert = skin->tris[3 * tri + region];
    for (int32_t i = skin->ring_first[vert]; i < skin->ring_first[vert + 1]; i++)
        if (skin->ring[i] != tri)
        {
            td_skin_normal(skin, x, skin->ring[i], n);
            most = fmax(most, td_dot3(n, way));
        }
    return most;
}

bool td_skin_side(const tdSkin *skin, const double *x, int32_t tri, int region, const double p[3], const double q[3],
                  double normal[3], double *phi)
{
    double way[3];
    td_subtract3(p, q, way);
    double d = td_length3(way);
    td_skin_pseudo_normal(skin, x, tri, region, normal);
    double sign = td_dot3(way, normal) >= 0 ? 1 : -1;
    *phi = sign * d;
    if (region != TD_REGION_FACE)
    {
        // A little past the edge still counts as below it: blocks whose edges are in line.
        if (sign < 0 && beside(skin, x, tri, region, way) > 0.1 * d)
            return false;
        // On the edge itself the way has no direction; the triangle, which was chosen to face p, has one.
        if (d > 1e-6 * skin->mean_edge)
            for (int k = 0; k < 3; k++)
                normal[k] = sign * way[k] / d;
        else
        {
            td_skin_normal(skin, x, tri, normal);
            *phi = td_dot3(normal, way);
        }
    }
    return td_unit3(normal, 1e-300) > 1e-300; // not so for a triangle without area
}

bool td_skin_outside(const tdSkin *skin, const double *x, const tdBox *boxes, const double p[3], double depth)
{
    int32_t stack[TD_BVH_DEPTH], n = 0, best = -1;
    int region = TD_REGION_FACE;
    double square = depth * depth, nearest[3] = {0, 0, 0};
    stack[n++] = 0;
    while (n > 0)
    {
        int32_t i = stack[--n];
        const tdBvhNode *node = &skin->bvh.nodes[i];
        if (td_square_to_box(p, &boxes[i]) > square)
            continue;
        if (node->right != 0)
        {
            stack[n++] = node->right;
            stack[n++] = i + 1;
            continue;
        }
        for (int32_t tri = node->tri; tri < node->tri + node->n_tris; tri++)
        {
            const double *a = x + 3 * skin->tris[3 * tri], *b = x + 3 * skin->tris[3 * tri + 1],
                         *c = x + 3 * skin->tris[3 * tri + 2];
            double w[3], q[3];
            int at = td_nearest_on_triangle(p, a, b, c, w);
            td_mix3(a, b, c, w, q);
            double way = td_square_between(p, q);
            if (way > square || (way == square && best >= 0))
                continue;
            square = way;
            best = tri;
            region = at;
            memcpy(nearest, q, sizeof q);
        }
    }
    if (best < 0)
        return false;
    double way[3], normal[3];
    td_subtract3(p, nearest, way);
    td_skin_pseudo_normal(skin, x, best, region, normal);
    return td_dot3(way, normal) > 0 && square > 0.01 * depth * depth;
}
