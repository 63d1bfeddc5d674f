// SPDX-License-Identifier: Apache-2.0
#include "mesh/members.h"

#include <stdlib.h>
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

int td_mesh_named_group(tdMesh *mesh, tdHash *names, const char *text, size_t n, int dim, int tag)
{
    uint64_t key = td_hash_bytes(text, n);
    int64_t probe = -1;
    const int32_t *found;
    while ((found = td_hash_next(names, key, &probe)) != NULL)
    {
        const char *name = mesh->groups[*found].name;
        if (strlen(name) == n && memcmp(name, text, n) == 0)
            return *found;
    }
    char *name = strndup(text, n);
    int made = name == NULL ? -1 : td_mesh_new_group(mesh, name, dim, tag);
    free(name);
    return made >= 0 && td_hash_add(names, key, made) ? made : -1;
}

bool td_mesh_fan_overlaps(const tdMesh *mesh, const int32_t *corners, int64_t count)
{
    double sum[3] = {0}, least = 0;
    for (int64_t k = 0; k < count; k++)
        if (corners[k] >= mesh->n_nodes)
            return false; // not yet defined
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 1; k + 1 < count; k++)
        {
            double a[3], b[3];
            for (int d = 0; d < 3; d++)
            {
                double first = mesh->x[3 * (int64_t)corners[0] + d];
                a[d] = mesh->x[3 * (int64_t)corners[k] + d] - first;
                b[d] = mesh->x[3 * (int64_t)corners[k + 1] + d] - first;
            }
            double along = 0;
            for (int d = 0; d < 3; d++)
            {
                double normal = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
                sum[d] += pass == 0 ? normal : 0;
                along += normal * sum[d];
            }
            least = pass == 1 && along < least ? along : least;
        }
    return least < 0;
}
