// SPDX-License-Identifier: Apache-2.0
// Meshes that verification needs and no generator of the library makes.
#pragma once
#include "mesh/generate.h"
#include "verify.h"

/// A number within 15 % of zero. A small generator of our own, so that meshes are the same everywhere.
static inline double mesh_jitter(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return 0.15 * ((double)(*seed >> 11) / 4503599627370496.0 - 1);
}

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

/// Moves every node by a map.
static inline void mesh_map(tdMesh *mesh, void (*map)(double x[3]))
{
    for (int64_t i = 0; i < mesh->n_nodes; i++)
        map(mesh->x + 3 * i);
}

/// The brick's sides in x, y, z are [0, 1] x [0, 1] x [0, depth].
static inline tdMesh mesh_brick(double depth, int nx, int ny, bool hexahedra)
{
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_box((double[]){0, 0, 0}, (double[]){1, 1, depth}, (int[]){nx, ny, 1}, hexahedra, &mesh, &error),
              error);
    return mesh;
}

// ---------------------------------------------------------------- quarter of a disc

// Grid points of a quarter of a disc of radius 1, in three blocks of n x n cells: 0 is a quadrilateral at the centre,
// u along x and v along y, 1 goes from its right side to the circle, u outwards, and 2 mirrors that at x = y.
static inline void disc_point(int block, double u, double v, double p[2])
{
    const double near = 0.55, far = 0.42; // corners of the quadrilateral on the axes and on the diagonal
    if (block == 0)
    {
        p[0] = u * ((1 - v) * near + v * far);
        p[1] = v * ((1 - u) * near + u * far);
        return;
    }
    double out = block == 1 ? u : v, t = block == 1 ? v : u, angle = t * atan(1), q[2];
    q[0] = (1 - out) * ((1 - t) * near + t * far) + out * cos(angle);
    q[1] = (1 - out) * t * far + out * sin(angle);
    p[0] = q[block - 1];
    p[1] = q[2 - block];
}

// The node at p, made if there is none yet.
static inline int32_t disc_node(tdMesh *mesh, const double p[2])
{
    for (int32_t i = 0; i < mesh->n_nodes; i++)
        if (fabs(mesh->x[3 * i] - p[0]) + fabs(mesh->x[3 * i + 1] - p[1]) < 1e-9)
            return i;
    assert_true(td_mesh_add_node(mesh, p[0], p[1], 0));
    return (int32_t)mesh->n_nodes - 1;
}

// Three tetrahedra of a prism over the triangle t, whose nodes at the other end are t + shift. Each side is cut
// from its lower-numbered node at the bottom, so that neighbours agree.
static inline void disc_prism(tdMesh *mesh, int32_t *t, int32_t shift)
{
    bool turned = false; // sorting by an odd number of swaps turns the triangle over
    for (int pass = 0; pass < 3; pass++)
        for (int k = 0; k < 2; k++)
            if (t[k] > t[k + 1])
            {
                int32_t swap = t[k];
                t[k] = t[k + 1];
                t[k + 1] = swap;
                turned = !turned;
            }
    for (int k = 0; k < 3; k++)
    {
        int32_t n[4]; // bottom nodes 0 .. 2 - k, top nodes 2 - k .. 2; the middle one is turned over
        int m = 0;
        for (int a = 0; a < 3 - k; a++)
            n[m++] = t[a];
        for (int a = 2 - k; a < 3; a++)
            n[m++] = t[a] + shift;
        if (turned != (k == 1))
        {
            int32_t swap = n[2];
            n[2] = n[3];
            n[3] = swap;
        }
        assert_true(td_mesh_add_cell(mesh, TD_CELL_TET, n));
    }
}

/// A slice of a quarter of a cylinder about z, one cell thick: hexahedra or tetrahedra.
static inline tdMesh mesh_disc(double radius, double depth, int n, bool hexahedra)
{
    tdMesh mesh = {0};
    int32_t *quads = calloc(12 * (size_t)(n * n), sizeof *quads), *q = quads;
    assert_non_null(quads);
    for (int block = 0; block < 3; block++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                for (int k = 0; k < 4; k++)
                {
                    double p[2];
                    disc_point(block, (i + (k == 1 || k == 2)) / (double)n, (j + (k > 1)) / (double)n, p);
                    *q++ = disc_node(&mesh, p);
                }
    int32_t layer = (int32_t)mesh.n_nodes;
    for (int32_t i = 0; i < layer; i++)
    {
        mesh.x[3 * i] *= radius;
        mesh.x[3 * i + 1] *= radius;
        assert_true(td_mesh_add_node(&mesh, mesh.x[3 * i], mesh.x[3 * i + 1], depth));
    }
    for (q = quads; q < quads + 12 * (int64_t)n * n; q += 4)
    {
        int32_t hex[8] = {q[0], q[1], q[2], q[3], q[0] + layer, q[1] + layer, q[2] + layer, q[3] + layer};
        if (hexahedra)
            assert_true(td_mesh_add_cell(&mesh, TD_CELL_HEX, hex));
        else
        {
            disc_prism(&mesh, (int32_t[]){q[0], q[1], q[2]}, layer);
            disc_prism(&mesh, (int32_t[]){q[0], q[2], q[3]}, layer);
        }
    }
    free(quads);
    return mesh;
}
