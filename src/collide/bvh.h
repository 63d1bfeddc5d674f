// SPDX-License-Identifier: Apache-2.0
// Binary tree of boxes over the triangles of a surface. Its shape is made once from the surface at rest; each step
// refits the boxes. Nodes stand in depth-first order: the left child follows its parent, so that one backward loop
// refits them all. Boxes are single precision, rounded outwards by whoever fills them.
#pragma once
#include "base/memory.h"

#define TD_LEAF_TRIS 4  // most triangles of a leaf
#define TD_BVH_DEPTH 64 // more than any tree has: it is balanced

typedef struct tdBox
{
    float min[3], max[3];
} tdBox;

/// Triangles are numbered by leaves. A leaf also owns the vertices and edges that it is the first to touch, and points
/// on those edges and on its triangles.
typedef struct tdBvhNode
{
    int32_t right; ///< right child; 0: a leaf
    int32_t tri, n_tris;
    int32_t vert, n_verts;
    int32_t edge, n_edges;
    int32_t point, n_points;
} tdBvhNode;

typedef struct tdBvh
{
    int32_t n_nodes;
    tdBvhNode *nodes;
} tdBvh;

/// Builds over n triangles with the given boxes' centres (3 n); order[i] becomes the old number of triangle i. NULL
/// nodes on failure.
bool td_bvh_build(tdArena *arena, int32_t n, const double *centers, int32_t *order, tdBvh *out);

static inline bool td_boxes_meet(const tdBox *a, const tdBox *b)
{
    return (a->min[0] <= b->max[0]) & (b->min[0] <= a->max[0]) & (a->min[1] <= b->max[1]) & (b->min[1] <= a->max[1]) &
           (a->min[2] <= b->max[2]) & (b->min[2] <= a->max[2]);
}

/// Whether p is in the box grown by `by`.
static inline bool td_in_box(const tdBox *box, const double p[3], double by)
{
    return (p[0] >= box->min[0] - by) & (p[0] <= box->max[0] + by) & (p[1] >= box->min[1] - by) &
           (p[1] <= box->max[1] + by) & (p[2] >= box->min[2] - by) & (p[2] <= box->max[2] + by);
}

static inline tdBox td_box_union(const tdBox *a, const tdBox *b)
{
    tdBox out;
    for (int k = 0; k < 3; k++)
    {
        out.min[k] = a->min[k] < b->min[k] ? a->min[k] : b->min[k];
        out.max[k] = a->max[k] > b->max[k] ? a->max[k] : b->max[k];
    }
    return out;
}

/// Half of the surface, the measure by which a traversal decides which node to open.
static inline float td_box_size(const tdBox *a)
{
    float x = a->max[0] - a->min[0], y = a->max[1] - a->min[1], z = a->max[2] - a->min[2];
    return x * y + y * z + z * x;
}
