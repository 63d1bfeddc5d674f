// SPDX-License-Identifier: Apache-2.0
// What follows from a mesh's cells alone: its boundary, its connected parts, whether a surface is
// closed, what it encloses, and which tetrahedron holds a point.
//
// All results depend on the mesh only: the same mesh gives the same order, always.
#pragma once
#include "mesh/mesh.h"

/// Triangles of a boundary. Zero-initialize or let td_mesh_boundary_faces() fill it; td_surface_free().
typedef struct tdSurface
{
    int64_t n_tris;
    int32_t *tris;   ///< 3 * n_tris, node numbers of the mesh
    int32_t *cell;   ///< n_tris, the volume cell behind: tetrahedra, then hexahedra, then quadratic tetrahedra
    int64_t crowded; ///< faces that more than two cells share; cells overlap there
} tdSurface;

/// The faces that belong to one volume cell only, normals away from that cell (its geometry decides,
/// so cells numbered the other way round do no harm). A quadrilateral is cut by the diagonal at its
/// least node number; the face of a quadratic tetrahedron gives four triangles, so that its mid-edge
/// nodes are on the surface. Ordered by cell, then by face. A mesh without volume cells has none.
/// Cost: O(n log k), k the number of faces at a node.
tdStatus td_mesh_boundary_faces(const tdMesh *mesh, tdSurface *surface, tdError *error);
void td_surface_free(tdSurface *surface);

/// The boundary as a mesh of triangles. Nodes keep their order and lose those not on the boundary.
/// Groups of triangles or quadrilaterals that lie on it are kept; what does not is counted in
/// surface->notes. A mesh without volume cells is its own surface: its triangles as they are, its
/// quadrilaterals cut in two. *surface is zero-initialized by the caller, who frees it also on failure.
tdStatus td_mesh_boundary(const tdMesh *mesh, tdMesh *surface, tdError *error);

/// Connected parts of the cells of one dimension, connected through shared nodes. `part` (may be
/// NULL) gets a number for each such cell, by type then number; parts are numbered by their first cell.
tdStatus td_mesh_components(const tdMesh *mesh, int dim, int64_t *n_parts, int32_t *part, tdError *error);

/// What td_surface_check() finds. An edge is good when two triangles use it, in opposite directions.
typedef struct tdSurfaceCheck
{
    bool closed; ///< every edge is good, and there is at least one
    int64_t n_edges;
    int64_t open;      ///< edges of one triangle
    int64_t crowded;   ///< edges of more than two triangles
    int64_t flipped;   ///< edges of two triangles that disagree about which side is outside
    double open_at[3]; ///< middle of the first open edge
    double crowded_at[3];
    double flipped_at[3];
    double area;
    double volume; ///< enclosed, positive with normals outwards; means something only when closed
} tdSurfaceCheck;

tdStatus td_surface_check(int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris, tdSurfaceCheck *check,
                          tdError *error);

/// Whether a surface encloses a volume, and what keeps it from doing so.
typedef struct tdClosedResult
{
    bool closed;           ///< every edge has two triangles, and the surface has two sides
    int64_t parts;         ///< connected through edges
    int64_t inner;         ///< parts within another: walls of what it encloses, facing inwards
    int64_t turned;        ///< triangles that were turned round
    double volume;         ///< enclosed; 0 unless closed
    int64_t flat;          ///< closed parts that enclose nothing; they keep the side of their first triangle
    int64_t open, crowded; ///< edges of one triangle, of more than two
    int64_t one_sided;     ///< edges at which no choice of sides agrees (a Moebius strip)
    int64_t degenerate;    ///< triangles of no area
    int32_t open_edge[2];  ///< nodes of the first such edge
    int32_t crowded_edge[2];
    int32_t one_sided_edge[2];
    int64_t degenerate_tri; ///< the first
} tdClosedResult;

#define TD_CLOSED_PARTS 1000 // most parts of a closed surface

/// Finds out whether triangles enclose a volume and, if so, turns them so that their normals point out of it: from each
/// part outwards, but inwards from a part within another, whose inside is not enclosed. A surface that is not closed
/// stays as it is. Nodes at the same place must have been merged; collapsed triangles do no harm. A bad surface is not
/// a failure, more than TD_CLOSED_PARTS parts are.
tdStatus td_surface_closed(int64_t n_nodes, const double *x, int64_t n_tris, int32_t *tris, tdClosedResult *out,
                           tdError *error);

/// The parts of a closed surface that are within another, as td_surface_closed() finds them: inner[t] is the number of
/// the one that triangle t belongs to, -1 for the others and everywhere when the surface is not closed.
tdStatus td_surface_inner(int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris, int32_t *inner,
                          int32_t *n_inner, tdError *error);

/// Why the surface does not enclose a volume (or is flat), and what to do about it; nothing when it does.
void td_closed_reason(const tdClosedResult *result, const double *x, char *out, size_t size);

/// Signed volume of cell number `cell` of a volume type; positive when numbered as VTK does. A
/// quadratic tetrahedron counts as the straight one of its corners.
double td_cell_volume(const tdMesh *mesh, tdCellType type, int64_t cell);

/// Renumbers the nodes of volume cells with negative volume so that it is positive. Returns how many.
int64_t td_mesh_orient(tdMesh *mesh);

/// first[i] = the first node within `tolerance` of node i, or i itself. Such first nodes are farther
/// than the tolerance from each other.
tdStatus td_mesh_equal_nodes(const tdMesh *mesh, double tolerance, int32_t *first, tdError *error);

/// Joins each node to the first one within `tolerance` of it. Cells stay, though some may collapse.
tdStatus td_mesh_merge(tdMesh *mesh, double tolerance, int64_t *merged, tdError *error);
