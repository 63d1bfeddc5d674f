// SPDX-License-Identifier: Apache-2.0
// Meshes made from numbers: boxes of tetrahedra or hexahedra, tori of tetrahedra, rectangles and closed surfaces of
// triangles.
// *mesh is zero-initialized by the caller, who frees it also on failure.
#pragma once
#include "mesh/mesh.h"

/// Box cut into cells[0] x cells[1] x cells[2] bricks: hexahedra, or six tetrahedra each along the
/// brick's diagonal (Kuhn's cut, mirrored from brick to brick: with even numbers of cells the mesh is its own
/// mirror image along each axis). All volumes are positive. Groups:
/// "body", and "xmin", "xmax", "ymin", "ymax", "zmin", "zmax" of triangles (quadrilaterals for
/// hexahedra) with normals outwards. Nodes run along x first, then y, then z.
tdStatus td_mesh_box(const double min[3], const double max[3], const int cells[3], bool hexahedra, tdMesh *mesh,
                     tdError *error);

/// Rectangle at z = 0 cut into cells[0] x cells[1] cells of two triangles each, normals along z. The diagonal is
/// mirrored from cell to cell, as the box's are. Groups: "body", and "xmin", "xmax", "ymin", "ymax" of lines that
/// have the rectangle on their left. Nodes run along x first, then y.
tdStatus td_mesh_rectangle(const double min[2], const double max[2], const int cells[2], tdMesh *mesh, tdError *error);

/// Sphere of 20 * 4^subdivisions triangles from an icosahedron, 0 to 8 subdivisions, normals outwards.
/// Group "surface". Its nodes are on the sphere, so it encloses a little less.
tdStatus td_mesh_sphere_surface(const double center[3], double radius, int subdivisions, tdMesh *mesh, tdError *error);

/// Torus about the z axis at the origin, 2 * n_major * n_minor triangles, normals outwards. Group
/// "surface". 0 < minor < major.
tdStatus td_mesh_torus_surface(double major, double minor, int n_major, int n_minor, tdMesh *mesh, tdError *error);

/// Torus of tetrahedra about the z axis at the origin: cells[0] sections along it, each of `cells[2]` concentric
/// circles of `cells[1]` points. The innermost circle is cut into triangles without a point inside, so that one circle
/// alone gives cells[1] - 2 of them; between sections a triangle becomes a prism and a prism three tetrahedra. Volumes
/// are positive. Groups: "body", and "surface" of triangles with normals outwards. 0 < minor < major.
tdStatus td_mesh_torus(double major, double minor, const int cells[3], tdMesh *mesh, tdError *error);
