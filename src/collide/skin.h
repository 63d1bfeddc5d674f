// SPDX-License-Identifier: Apache-2.0
// A surface of triangles prepared for contact: the boundary of a soft body, or a rigid mesh. Vertices, triangles and
// edges are renumbered by the leaves of its tree, so that what is near in space is near in memory.
#pragma once
#include "base/log.h"
#include "collide/bvh.h"
#include "collide/geometry.h"

typedef enum tdEdgeBend
{
    TD_EDGE_HOLLOW, ///< bends inwards: other edges cannot meet it first
    TD_EDGE_FLAT,   ///< bends little, or has one triangle only
    TD_EDGE_SHARP
} tdEdgeBend;

#define TD_SKIN_GRID 32 // most points along a side of a triangle

/// A material point of a triangle that touches as a vertex does.
typedef struct tdSkinPoint
{
    int32_t tri, vert[3];
    double w[3];
} tdSkinPoint;

typedef struct tdSkin
{
    int32_t n_verts, n_tris, n_edges;
    int32_t n_points; ///< besides the vertices, after which they are numbered
    tdSkinPoint *points;
    int32_t *node;       ///< n_verts: the caller's number of a vertex
    int32_t *tri;        ///< n_tris: the caller's number of a triangle
    int32_t *tris;       ///< 3 * n_tris: vertices
    int32_t *tri_edges;  ///< 3 * n_tris: edge from corner k to the next
    int32_t *edges;      ///< 4 * n_edges: two vertices, then the triangles left and right of it (-1: none)
    uint8_t *bend;       ///< n_edges: tdEdgeBend at rest
    int32_t *ring_first; ///< n_verts + 1
    int32_t *ring;       ///< triangles at a vertex
    double *rest;        ///< 3 * (n_verts + n_points)
    double mean_edge;    ///< mean length of edges at rest [m]
    double extent;       ///< diagonal of its box at rest [m]
    bool closed;
    tdBvh bvh;
} tdSkin;

/// What is wrong or doubtful about a surface; -1 where there is no first.
typedef struct tdSkinCheck
{
    int64_t collapsed; ///< triangles that name a node twice; they are left out
    int64_t flat;      ///< triangles without area
    int64_t open;      ///< edges of one triangle
    int64_t cuts;      ///< pairs of triangles that cut each other
    int32_t first_collapsed, first_flat, first_cut[2];
    int32_t first_open[2]; ///< nodes
} tdSkinCheck;

/// `name` stands in messages. sharp: bend of a sharp edge [rad].
tdStatus td_skin_build(tdArena *arena, const char *name, int64_t n_nodes, const double *x, int64_t n_tris,
                       const int32_t *tris, double sharp, tdSkin *out, tdSkinCheck *check, tdError *error);

/// Pairs of triangles that share no vertex and cut each other at the positions x (3 * n_verts, boxes refitted).
int64_t td_skin_cuts(const tdSkin *skin, const double *x, const tdBox *boxes, int32_t first[2]);

/// n x n points on each triangle; 0: none. `name` stands in messages.
tdStatus td_skin_points(tdArena *arena, const char *name, int n, tdSkin *skin, tdError *error);

/// Where the points are, from the positions of vertices (x has room for both).
void td_skin_place_points(const tdSkin *skin, double *x);

/// Refits boxes to the positions x, and to those at the end of the step unless x_end is NULL, grown by `grow`.
void td_skin_refit(const tdSkin *skin, const double *x, const double *x_end, double grow, tdBox *boxes);

/// Twice the area vector of a triangle.
static inline void td_skin_area(const tdSkin *skin, const double *x, int32_t tri, double out[3])
{
    const int32_t *t = skin->tris + 3 * tri;
    double u[3], v[3];
    td_subtract3(x + 3 * t[1], x + 3 * t[0], u);
    td_subtract3(x + 3 * t[2], x + 3 * t[0], v);
    td_cross3(u, v, out);
}

/// Unit normal of a triangle; zero where it has no area.
static inline void td_skin_normal(const tdSkin *skin, const double *x, int32_t tri, double out[3])
{
    td_skin_area(skin, x, tri, out);
    if (!(td_unit3(out, 1e-300) > 1e-300))
        out[0] = out[1] = out[2] = 0;
}

/// Normal of a vertex or point by areas, not scaled: cheap, and enough to tell which way it faces.
static inline void td_skin_facing(const tdSkin *skin, const double *x, int32_t vert, double out[3])
{
    if (vert >= skin->n_verts)
    {
        td_skin_area(skin, x, skin->points[vert - skin->n_verts].tri, out);
        return;
    }
    out[0] = out[1] = out[2] = 0;
    for (int32_t i = skin->ring_first[vert]; i < skin->ring_first[vert + 1]; i++)
    {
        double area[3];
        td_skin_area(skin, x, skin->ring[i], area);
        for (int k = 0; k < 3; k++)
            out[k] += area[k];
    }
}

/// Whether p is outside by more than a tenth of `depth`, judged by the nearest of all triangles within that distance:
/// what looks deep below one triangle may be in front of another.
bool td_skin_outside(const tdSkin *skin, const double *x, const tdBox *boxes, const double p[3], double depth);

/// Square of the distance from p to a box.
static inline double td_square_to_box(const double p[3], const tdBox *box)
{
    double square = 0;
    for (int k = 0; k < 3; k++)
    {
        double below = box->min[k] - p[k], above = p[k] - box->max[k], d = below > above ? below : above;
        square += d > 0 ? d * d : 0;
    }
    return square;
}

/// Unit normal at the nearest point q of triangle `tri` as p sees it, and the signed distance. False: p is neither in
/// front of the triangle nor behind it but beside it, past an edge whose other triangle was skipped.
bool td_skin_side(const tdSkin *skin, const double *x, int32_t tri, int region, const double p[3], const double q[3],
                  double normal[3], double *phi);

/// Pseudo-normal of a region of a triangle (Baerentzen and Aanaes 2005): the sign of its product with the way from the
/// nearest point tells outside from inside. Not scaled.
void td_skin_pseudo_normal(const tdSkin *skin, const double *x, int32_t tri, int region, double out[3]);
