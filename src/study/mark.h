// SPDX-License-Identifier: Apache-2.0
// Balls, rods and crosses as triangles: what 'tendril render' draws of cables, effectors and targets.
#pragma once
#include "base/status.h"

/// A growing mesh with a value by node. Zero-initialize; td_mark_free().
typedef struct tdMarkMesh
{
    int64_t n_nodes, n_tris, nodes_capacity, tris_capacity;
    double *x;     ///< 3 * n_nodes
    double *value; ///< by node
    int32_t *tris;
} tdMarkMesh;

void td_mark_free(tdMarkMesh *marks);

// All return false when out of memory.

bool td_mark_ball(tdMarkMesh *marks, const double centre[3], double radius, double value);
/// An open tube; one of no length adds nothing.
bool td_mark_rod(tdMarkMesh *marks, const double a[3], const double b[3], double radius, double value);
/// A rod with a tip.
bool td_mark_arrow(tdMarkMesh *marks, const double from[3], const double to[3], double radius, double value);
/// Three rods along the axes of the world, each 2 * reach long, with round ends.
bool td_mark_cross(tdMarkMesh *marks, const double centre[3], double reach, double radius);
/// Triangles between n points.
bool td_mark_triangles(tdMarkMesh *marks, int64_t n, const double *x, int64_t n_tris, const int32_t *tris,
                       double value);
