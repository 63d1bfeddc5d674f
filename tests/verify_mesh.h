// SPDX-License-Identifier: Apache-2.0
// Meshes that verification needs and no generator of the library makes.
#pragma once
#include "mesh/generate.h"
#include "verify.h"

/// Writes a mesh to `folder`/`file` and frees it.
static inline void mesh_save(tdMesh *mesh, const char *folder, const char *file)
{
    char path[300];
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_ok(td_mesh_write(mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error), error);
    td_mesh_free(mesh);
    *mesh = (tdMesh){0};
}

/// The middle of the edge a, b: found among those made, or made. `table` holds (a, b, middle) by hash.
static inline int32_t mesh_middle(tdMesh *mesh, int32_t *table, int64_t size, int32_t a, int32_t b)
{
    int32_t low = a < b ? a : b, high = a < b ? b : a;
    int64_t at = (int64_t)(((uint64_t)low * 2654435761U + (uint64_t)high * 40503U) % (uint64_t)size);
    for (; table[3 * at + 2] != 0; at = (at + 1) % size)
        if (table[3 * at] == low && table[3 * at + 1] == high)
            return table[3 * at + 2];
    const double *p = mesh->x + 3 * (int64_t)low, *q = mesh->x + 3 * (int64_t)high;
    double x = (p[0] + q[0]) / 2, y = (p[1] + q[1]) / 2, z = (p[2] + q[2]) / 2;
    table[3 * at] = low;
    table[3 * at + 1] = high;
    table[3 * at + 2] = (int32_t)mesh->n_nodes; // never 0: corners come first
    assert_true(td_mesh_add_node(mesh, x, y, z));
    return table[3 * at + 2];
}

/// Makes the tetrahedra of a mesh quadratic, with straight edges. Its groups and other cells go.
static inline void mesh_quadratic(tdMesh *mesh)
{
    static const int edge[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}}; // VTK's order
    tdMesh out = {0};
    const tdCells *tets = &mesh->cells[TD_CELL_TET];
    int64_t size = 13 * tets->count + 7;
    int32_t *table = calloc(3 * (size_t)size, sizeof *table);
    assert_non_null(table);
    for (int64_t i = 0; i < mesh->n_nodes; i++)
        assert_true(td_mesh_add_node(&out, mesh->x[3 * i], mesh->x[3 * i + 1], mesh->x[3 * i + 2]));
    for (int64_t e = 0; e < tets->count; e++)
    {
        int32_t n[10];
        memcpy(n, tets->nodes + 4 * e, 4 * sizeof *n);
        for (int k = 0; k < 6; k++)
            n[4 + k] = mesh_middle(&out, table, size, n[edge[k][0]], n[edge[k][1]]);
        assert_true(td_mesh_add_cell(&out, TD_CELL_TET10, n));
    }
    free(table);
    td_mesh_free(mesh);
    *mesh = out;
}
