// SPDX-License-Identifier: Apache-2.0
// Corners and edges of convex shapes that may meet a surface whose triangles are larger than they are, and the sides
// of contacts on surfaces.
#include "collide/internal.h"

#include <string.h>

#define PI 3.14159265358979323846

// A face that touches flatly has the normal of its edges' rim; so far outside of the arc is still met.
#define ARC_SLACK 0.17 // sin 10 degrees

static bool take(tdArena *arena, int n_points, int n_ways, int n_edges, tdFeatures *f)
{
    f->n_points = n_points;
    f->n_edges = n_edges;
    f->points = TD_TAKE(arena, double, 3 * (size_t)n_points);
    f->cone = TD_TAKE(arena, int32_t, n_points + 1);
    f->ways = TD_TAKE(arena, double, 3 * (size_t)n_ways);
    f->edges = TD_TAKE(arena, double, 6 * (size_t)n_edges);
    f->normals = TD_TAKE(arena, double, 6 * (size_t)n_edges);
    return f->points != NULL && f->cone != NULL && f->ways != NULL && f->edges != NULL && f->normals != NULL;
}

static bool hull_features(tdArena *arena, const tdHull *hull, double sharp, tdFeatures *f)
{
    if (!take(arena, hull->n_points, hull->ring[hull->n_points], hull->n_edges, f))
        return false;
    memcpy(f->points, hull->x, (size_t)hull->n_points * 3 * sizeof *f->points);
    memcpy(f->cone, hull->ring, (size_t)(hull->n_points + 1) * sizeof *f->cone);
    for (int i = 0; i < hull->n_points; i++)
        for (int32_t j = hull->ring[i]; j < hull->ring[i + 1]; j++)
        {
            td_subtract3(hull->x + 3 * hull->near_to[j], hull->x + 3 * i, f->ways + 3 * j);
            td_unit3(f->ways + 3 * j, 0);
        }
    f->n_edges = 0;
    for (int e = 0; e < hull->n_edges; e++)
    {
        const int32_t *edge = hull->edge + 4 * e;
        const double *left = hull->plane + 4 * edge[2], *right = hull->plane + 4 * edge[3];
        if (td_dot3(left, right) > cos(sharp))
            continue;
        int at = f->n_edges++;
        memcpy(f->edges + 6 * at, hull->x + 3 * edge[0], 3 * sizeof(double));
        memcpy(f->edges + 6 * at + 3, hull->x + 3 * edge[1], 3 * sizeof(double));
        memcpy(f->normals + 6 * at, left, 3 * sizeof(double));
        memcpy(f->normals + 6 * at + 3, right, 3 * sizeof(double));
    }
    return true;
}

static void set_axis(const tdShape *shape, tdFeatures *f)
{
    f->edge_radius = shape->radius;
    f->edges[2] = -shape->half[2];
    f->edges[5] = shape->half[2];
}

static bool cylinder_features(tdArena *arena, const tdShape *shape, tdFeatures *f)
{
    int n = 2 * TD_RIM_POINTS;
    if (!take(arena, n, 4 * n, 1, f))
        return false;
    for (int i = 0; i < n; i++)
    {
        double angle = 2 * PI * (i % TD_RIM_POINTS) / TD_RIM_POINTS, s = i < TD_RIM_POINTS ? -1 : 1;
        double c = cos(angle), d = sin(angle), *p = f->points + 3 * i, *w = f->ways + 12 * i;
        const double point[3] = {shape->radius * c, shape->radius * d, s * shape->half[2]};
        const double ways[12] = {0, 0, -s, -c, -d, 0, d, -c, 0, -d, c, 0};
        memcpy(p, point, sizeof point);
        memcpy(w, ways, sizeof ways);
        f->cone[i + 1] = 4 * (i + 1);
    }
    set_axis(shape, f);
    return true;
}

bool td_features_make(tdArena *arena, const tdShape *shape, const tdHull *hull, double sharp, tdFeatures *out)
{
    *out = (tdFeatures){0};
    switch (shape->type)
    {
    case TD_SHAPE_SPHERE: out->point_radius = shape->radius; return take(arena, 1, 0, 0, out);
    case TD_SHAPE_CAPSULE:
        out->point_radius = shape->radius;
        if (!take(arena, 2, 0, 1, out))
            return false;
        out->points[2] = -shape->half[2];
        out->points[5] = shape->half[2];
        set_axis(shape, out);
        return true;
    case TD_SHAPE_CYLINDER: return cylinder_features(arena, shape, out);
    case TD_SHAPE_BOX:
    case TD_SHAPE_HULL: return hull_features(arena, hull, sharp, out);
    default: return true;
    }
}

bool td_within_arc(const double left[3], const double right[3], const double t[3], double d[3])
{
    double a[3], b[3];
    td_cross3(left, d, a);
    td_cross3(d, right, b);
    double past_left = -td_dot3(a, t), past_right = -td_dot3(b, t);
    if (past_left > ARC_SLACK || past_right > ARC_SLACK || td_dot3(left, d) + td_dot3(right, d) <= 0)
        return false;
    if (past_left > 0 || past_right > 0)
        memcpy(d, past_left > past_right ? left : right, 3 * sizeof *d);
    return true;
}

// ---------------------------------------------------------------- sides

static void set_nodes(const tdCollider *collider, const int32_t *verts, const double *weight, int n,
                      tdContactSide *side)
{
    if (collider->kind != TD_COLLIDER_SOFT)
        return;
    side->n = n;
    for (int i = 0; i < n; i++)
    {
        side->node[i] = collider->skin->node[verts[i]];
        side->weight[i] = weight[i];
    }
}

void td_side_of_triangle(const tdNarrow *narrow, int32_t collider, int32_t tri, const double w[3], tdContactSide *side)
{
    const tdCollider *c = &narrow->world->colliders[collider];
    *side = (tdContactSide){.collider = collider, .feature = c->skin->tri[tri]};
    set_nodes(c, c->skin->tris + 3 * tri, w, 3, side);
}

void td_side_of_edge(const tdNarrow *narrow, int32_t collider, int32_t edge, double t, tdContactSide *side)
{
    const tdCollider *c = &narrow->world->colliders[collider];
    double w[2] = {1 - t, t};
    *side = (tdContactSide){.collider = collider, .feature = edge};
    set_nodes(c, c->skin->edges + 4 * edge, w, 2, side);
}

void td_side_of_vertex(const tdNarrow *narrow, int32_t collider, int32_t vert, tdContactSide *side)
{
    const tdCollider *c = &narrow->world->colliders[collider];
    if (vert >= c->skin->n_verts)
    {
        const tdSkinPoint *p = &c->skin->points[vert - c->skin->n_verts];
        *side = (tdContactSide){.collider = collider, .feature = TD_SKIN_POINTS + vert - c->skin->n_verts};
        set_nodes(c, p->vert, p->w, 3, side);
        return;
    }
    double w = 1;
    *side = (tdContactSide){.collider = collider, .feature = c->skin->node[vert]};
    set_nodes(c, &vert, &w, 1, side);
}
