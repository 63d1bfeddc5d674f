// SPDX-License-Identifier: Apache-2.0
// Groups for readers and writers of files: found by name at a cost that does not depend on their
// number, and the mesh's lists of cells by group turned round into lists of groups by cell. Polygons, which the mesh
// does not have, are cut into triangles as a fan.
#pragma once
#include "base/hash.h"
#include "base/memory.h"
#include "mesh/mesh.h"

/// Groups of cell c, ascending: list[start[c]] to list[start[c + 1] - 1].
typedef struct tdMembers
{
    int64_t *start;
    int32_t *list;
} tdMembers;

/// Fills *members for the cells of one type, from the arena. False when memory runs out.
bool td_mesh_members(const tdMesh *mesh, tdCellType type, tdArena *arena, tdMembers *members);

/// Whether two cells, of the same or of different types, are in the same groups.
bool td_members_equal(const tdMembers *a, int64_t cell_a, const tdMembers *b, int64_t cell_b);

/// Number of the group with this name (n bytes), added if missing; -1 when memory runs out. `names` is
/// zero-initialized before the first call, with no groups in the mesh, and freed after the last.
int td_mesh_named_group(tdMesh *mesh, tdHash *names, const char *text, size_t n, int dim, int tag);

/// Whether the fan of triangles from the first of a polygon's corners overlaps itself, because the polygon is not
/// convex. False where a corner is not among the nodes (yet).
bool td_mesh_fan_overlaps(const tdMesh *mesh, const int32_t *corners, int64_t count);
