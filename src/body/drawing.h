// SPDX-License-Identifier: Apache-2.0
// Any shape as triangles, and its mass (articulated_shape.c).
#pragma once
#include "collide/shape.h"

/// Nodes and triangles that a shape is drawn with; a plane is a large square.
void td_shape_drawing_size(const tdShape *shape, int64_t *nodes, int64_t *tris);
/// x[3 nodes] in the shape's frame, tri[3 tris] counted from 0, normals outwards.
void td_shape_drawing(const tdShape *shape, double *x, int32_t *tri);
/// Mass properties of a closed shape of density 1: volume, center, inertia about the center (xx yy zz xy xz yz).
void td_shape_mass(const tdShape *shape, double *volume, double center[3], double inertia[6]);
