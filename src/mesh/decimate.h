// SPDX-License-Identifier: Apache-2.0
// A surface with fewer nodes, all of them its own: edges are drawn together onto one of their ends, the cheapest first.
//
//     cost of moving v to u = (Q_v + Q_u)(u) + LENGTH a |v - u|²
//
// Q the squared distances from the planes of the triangles that a node stands for, times their areas (Garland and
// Heckbert 1997), and a the area around both. The second term keeps triangles of flat places in shape. A step that
// would fold the surface, or join what is not neighboured, is not taken.
#pragma once
#include "base/status.h"

/// Leaves about `nodes` nodes of a surface of triangles, whose edges have two of them at most; more where it would
/// fold. out has room for 3 n_tris; its nodes are numbered as those of the surface. Depends on the surface only.
tdStatus td_surface_decimate(int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris, int64_t nodes,
                             int32_t *out, int64_t *out_tris, int64_t *out_nodes, tdError *error);

/// The largest distance between two surfaces of triangles: from the nodes of the first to the second, and from corners
/// and middles of the second's triangles and edges to the first.
tdStatus td_surface_distance(const double *x, int64_t n_tris, const int32_t *tris, const double *other_x,
                             int64_t other_n_tris, const int32_t *other_tris, double *out, tdError *error);
