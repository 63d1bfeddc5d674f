// SPDX-License-Identifier: Apache-2.0
// Points of a surface that touch beside its vertices: the corners of a finer grid on its triangles. They are material
// points with fixed weights, so that they have the same names for ever.
#include "collide/internal.h"

#include <string.h>

// On an edge; `parts` - 1 of them. One that bends inwards has none: nothing can meet it first.
static void edge_points(const tdSkin *skin, int32_t e, int parts, tdSkinPoint *out, int32_t *n)
{
    const int32_t *edge = skin->edges + 4 * e;
    for (int i = 1; i < parts && skin->bend[e] != TD_EDGE_HOLLOW; i++)
        out[(*n)++] = (tdSkinPoint){.n = 2,
                                    .vert = {edge[0], edge[1], edge[0]},
                                    .tri = {edge[2], edge[3]},
                                    .w = {1 - (double)i / parts, (double)i / parts, 0}};
}

static void triangle_points(const tdSkin *skin, int32_t t, int parts, tdSkinPoint *out, int32_t *n)
{
    const int32_t *v = skin->tris + 3 * t;
    for (int i = 1; i < parts; i++)
        for (int j = 1; i + j < parts; j++)
            out[(*n)++] = (tdSkinPoint){
                .n = 3,
                .vert = {v[0], v[1], v[2]},
                .tri = {t, -1},
                .w = {1 - (double)(i + j) / parts, (double)i / parts, (double)j / parts},
            };
}

tdStatus td_skin_points(tdArena *arena, const char *name, int parts, tdSkin *skin, tdError *error)
{
    int64_t inside = (int64_t)(parts - 1) * (parts - 2) / 2;
    int64_t most = skin->n_edges * (int64_t)(parts - 1) + skin->n_tris * inside;
    if (parts < 1 || parts > TD_SKIN_PARTS || most > TD_SKIN_POINTS)
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name,
                          "cutting each edge into %d parts makes %lld points of contact; give 1 to %d parts, and %d "
                          "points at most",
                          parts, (long long)most, TD_SKIN_PARTS, TD_SKIN_POINTS);
    if (parts == 1)
        return TD_OK;
    double *rest = TD_TAKE(arena, double, 3 * (skin->n_verts + most));
    skin->points = TD_TAKE(arena, tdSkinPoint, most);
    if (rest == NULL || skin->points == NULL)
        return td_fail_memory(error, "the points of a surface");
    for (int32_t i = 0; i < skin->bvh.n_nodes; i++)
    {
        tdBvhNode *leaf = &skin->bvh.nodes[i];
        if (leaf->right != 0)
            continue;
        leaf->point = skin->n_points;
        for (int32_t e = leaf->edge; e < leaf->edge + leaf->n_edges; e++)
            edge_points(skin, e, parts, skin->points, &skin->n_points);
        for (int32_t t = leaf->tri; t < leaf->tri + leaf->n_tris; t++)
            triangle_points(skin, t, parts, skin->points, &skin->n_points);
        leaf->n_points = skin->n_points - leaf->point;
    }
    memcpy(rest, skin->rest, 3 * (size_t)skin->n_verts * sizeof *rest);
    skin->rest = rest;
    td_skin_place_points(skin, rest);
    return TD_OK;
}

void td_skin_place_points(const tdSkin *skin, double *x)
{
    for (int32_t i = 0; i < skin->n_points; i++)
    {
        const tdSkinPoint *p = &skin->points[i];
        td_mix3(x + 3 * p->vert[0], x + 3 * p->vert[1], x + 3 * p->vert[2], p->w, x + 3 * (skin->n_verts + i));
    }
}
