// SPDX-License-Identifier: Apache-2.0
// Points of a surface that touch beside its vertices: a triangle is cut into n x n equal ones, whose centres they are.
// They are material points with fixed weights, so that they have the same names for ever; and they lie inside the
// triangle, so that on faces which meet edge to edge a small shift takes none of them past an edge.
#include "collide/internal.h"

#include <string.h>

// Centres of the triangles of the grid with corners (i, j) / n, those that look as the whole does and those turned
// round.
static void triangle_points(const tdSkin *skin, int32_t t, int n, tdSkinPoint *out)
{
    const int32_t *v = skin->tris + 3 * t;
    for (int i = 0; i < n; i++)
        for (int j = 0; i + j < n; j++)
            for (int turned = 0; turned < 2 && i + j + turned < n; turned++)
            {
                double a = (i + (1 + turned) / 3.0) / n, b = (j + (1 + turned) / 3.0) / n;
                *out++ = (tdSkinPoint){.tri = t, .vert = {v[0], v[1], v[2]}, .w = {1 - a - b, a, b}};
            }
}

tdStatus td_skin_points(tdArena *arena, const char *name, int n, tdSkin *skin, tdError *error)
{
    int64_t each = (int64_t)n * n, most = skin->n_tris * each;
    if (n < 0 || n > TD_SKIN_GRID || most > TD_SKIN_POINTS)
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name,
                          "%d x %d points on each triangle are %lld in all; give 0 to %d, and %d points at most", n, n,
                          (long long)most, TD_SKIN_GRID, TD_SKIN_POINTS);
    if (n == 0)
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
        leaf->point = (int32_t)(leaf->tri * each);
        leaf->n_points = (int32_t)(leaf->n_tris * each);
        for (int32_t t = leaf->tri; t < leaf->tri + leaf->n_tris; t++)
            triangle_points(skin, t, n, skin->points + t * each);
    }
    skin->n_points = (int32_t)most;
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
