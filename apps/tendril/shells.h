// SPDX-License-Identifier: Apache-2.0
// Closed surfaces as the shells of bodies: which are outer walls, which are cavities inside them.
#pragma once
#include "mesh/mesh.h"

/// One connected closed surface.
typedef struct meshShell
{
    int64_t n_tris, start; ///< its triangles are order[start] ...
    int32_t first_node;
    double min[3], max[3];
    double volume; ///< enclosed, always positive after find_shells()
    int depth;     ///< shells around it: even = outer wall of a body, odd = cavity
    int parent;    ///< for a cavity, the outer wall around it; else -1
} meshShell;

typedef struct meshShells
{
    int n, cavities;
    int turned; ///< shells whose triangles faced the wrong way and were turned
    meshShell *shell;
    int32_t *part;  ///< shell of each triangle
    int32_t *order; ///< triangles sorted by shell
    double volume;  ///< of the bodies: outer walls less cavities
} meshShells;

/// Finds the shells of a surface of triangles and turns their triangles so that normals leave the
/// material. Refuses a surface that is not closed, or whose
/// parts cut each other, with the place.
tdStatus find_shells(const char *file, tdMesh *surface, meshShells *shells, tdError *error);
void free_shells(meshShells *shells);

/// The surface as MSH 2.2 for gmsh, shell i as the discrete surface i + 1.
void write_shells(const tdMesh *surface, const meshShells *shells, tdText *out);

/// gmsh script that makes a volume of each outer wall with its cavities, and the groups "body",
/// "outer" and "cavity_1", "cavity_2", ...
void write_volumes(const meshShells *shells, tdText *out);
