// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of mesh files share: what was read must be sound and survive a round trip.
#pragma once
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

typedef tdStatus (*readFn)(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);

// Readers ask for a zero byte behind the end; a copy of exact size lets the sanitizer see reads beyond.
static inline tdStatus fuzz_read(readFn read, const void *data, size_t size, tdMesh *mesh)
{
    char *copy = malloc(size + 1);
    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    tdError error = {0};
    *mesh = (tdMesh){0};
    tdStatus status = read(copy, size, "fuzz", mesh, &error);
    if (status != TD_OK && error.message[0] == '\0')
        abort();
    if (status == TD_OK && td_mesh_check(mesh, "fuzz", NULL) != TD_OK)
        abort();
    for (int g = 0; g < mesh->n_groups && status == TD_OK; g++)
        for (int t = 0; t < TD_CELL_TYPES; t++)
            for (int64_t i = 0; i < mesh->groups[g].count[t]; i++)
                if (mesh->groups[g].cells[t][i] < 0 || mesh->groups[g].cells[t][i] >= mesh->cells[t].count ||
                    (i > 0 && mesh->groups[g].cells[t][i] <= mesh->groups[g].cells[t][i - 1]))
                    abort();
    free(copy);
    return status;
}

// Frees both; aborts when cells were lost, or groups where the format keeps them.
static inline void fuzz_compare(tdMesh *a, tdMesh *b, bool nodes, bool groups)
{
    if (nodes && (a->n_nodes != b->n_nodes || memcmp(a->x, b->x, (size_t)a->n_nodes * 24) != 0))
        abort();
    if (groups && a->n_groups != b->n_groups)
        abort();
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        if (a->cells[t].count != b->cells[t].count)
            abort();
        for (int g = 0; g < a->n_groups && groups; g++)
            if (a->groups[g].count[t] != b->groups[g].count[t])
                abort();
    }
    td_mesh_free(b);
}

static inline void fuzz_check(bool condition)
{
    if (!condition)
        abort();
}

// The same counts of nodes, cells and groups; the meshes stay the caller's.
static inline void fuzz_same(const tdMesh *a, const tdMesh *b)
{
    fuzz_check(a->n_nodes == b->n_nodes && a->n_groups == b->n_groups);
    for (int t = 0; t < TD_CELL_TYPES; t++)
        fuzz_check(a->cells[t].count == b->cells[t].count);
    for (int g = 0; g < a->n_groups; g++)
        for (int t = 0; t < TD_CELL_TYPES; t++)
            fuzz_check(a->groups[g].count[t] == b->groups[g].count[t]);
}
