// SPDX-License-Identifier: Apache-2.0
#include "mesh/members.h"

#include <string.h>

bool td_mesh_members(const tdMesh *mesh, tdCellType type, tdArena *arena, tdMembers *members)
{
    int64_t n = mesh->cells[type].count;
    int64_t *start = members->start = TD_TAKE(arena, int64_t, n + 2);
    if (start == NULL)
        return false;
    for (int g = 0; g < mesh->n_groups; g++)
        for (int64_t i = 0; i < mesh->groups[g].count[type]; i++)
            start[mesh->groups[g].cells[type][i] + 2]++;
    for (int64_t c = 0; c < n; c++)
        start[c + 2] += start[c + 1];
    members->list = TD_TAKE(arena, int32_t, start[n + 1]);
    if (members->list == NULL)
        return false;
    // The starts are one place too far; filling the list moves each to where it belongs.
    for (int g = 0; g < mesh->n_groups; g++)
        for (int64_t i = 0; i < mesh->groups[g].count[type]; i++)
            members->list[start[mesh->groups[g].cells[type][i] + 1]++] = g;
    return true;
}

bool td_members_equal(const tdMembers *a, int64_t cell_a, const tdMembers *b, int64_t cell_b)
{
    int64_t n = a->start[cell_a + 1] - a->start[cell_a];
    return n == b->start[cell_b + 1] - b->start[cell_b] &&
           memcmp(a->list + a->start[cell_a], b->list + b->start[cell_b], (size_t)n * sizeof(int32_t)) == 0;
}
