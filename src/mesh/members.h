// SPDX-License-Identifier: Apache-2.0
// The groups of each cell: the mesh's lists of cells by group, turned round. For writers.
#pragma once
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
