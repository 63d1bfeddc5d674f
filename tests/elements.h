// SPDX-License-Identifier: Apache-2.0
// Bodies of every kind of element for tests: distorted meshes, and forces at given positions.
#pragma once
#include "scenes.h"

/// Edges of a tetrahedron in the order of its middle nodes.
static inline void split_edges(tdMesh *mesh)
{
    static const int edge[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    int64_t n = mesh->cells[TD_CELL_TET].count, corners = mesh->n_nodes;
    int32_t *middle = malloc((size_t)(corners * corners) * sizeof *middle);
    memset(middle, -1, (size_t)(corners * corners) * sizeof *middle);
    int group = td_mesh_group(mesh, "whole", 3, 99);
    for (int64_t e = 0; e < n; e++)
    {
        int32_t nodes[10];
        memcpy(nodes, mesh->cells[TD_CELL_TET].nodes + 4 * e, 4 * sizeof *nodes);
        for (int k = 0; k < 6; k++)
        {
            int32_t a = nodes[edge[k][0]], b = nodes[edge[k][1]];
            int32_t *m = &middle[a < b ? a * corners + b : b * corners + a];
            if (*m < 0)
            {
                *m = (int32_t)mesh->n_nodes;
                const double *x = mesh->x + 3 * a, *y = mesh->x + 3 * b;
                assert_true(td_mesh_add_node(mesh, (x[0] + y[0]) / 2, (x[1] + y[1]) / 2, (x[2] + y[2]) / 2));
            }
            nodes[4 + k] = *m;
        }
        assert_true(td_mesh_add_cell(mesh, TD_CELL_TET10, nodes) && td_mesh_group_add(mesh, group, TD_CELL_TET10, e));
    }
    free(middle);
    mesh->cells[TD_CELL_TET].count = 0;
    for (int g = 0; g < mesh->n_groups; g++)
        mesh->groups[g].count[TD_CELL_TET] = 0;
}

typedef enum meshKind
{
    MESH_TET,
    MESH_HEX,
    MESH_TET10,
    MESH_CURVED, // quadratic tetrahedra with moved middles
    MESH_FLAT,
    MESHES
} meshKind;

static inline void shake_nodes(tdMesh *mesh, int dim, double size, bool all)
{
    uint64_t seed = 7;
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        double *x = mesh->x + 3 * i;
        bool inside = true;
        for (int c = 0; c < dim; c++)
            inside = inside && x[c] > 1e-9 && x[c] < 1 - 1e-9;
        for (int c = 0; c < dim; c++)
        {
            double move = size * next_random(&seed);
            x[c] += inside || all ? move : 0;
        }
    }
}

/// Writes the unit cube (square) of n cells a side; nodes inside, and with `all` those on the sides too, are moved
/// by up to `shake` cells.
static inline const char *element_mesh(meshKind kind, int n, double shake, bool all)
{
    static char path[SCENE_PATH];
    const char *other = scene_cube(1, 0, false); // names a file of the test's own, removed at its end
    snprintf(path, sizeof path, "%s", other);
    tdMesh mesh = {0};
    tdError error = {0};
    const double low[3] = {0, 0, 0}, high[3] = {1, 1, 1};
    tdStatus status = kind == MESH_FLAT ? td_mesh_rectangle(low, high, (int[2]){n, n}, &mesh, &error)
                                        : td_mesh_box(low, high, (int[3]){n, n, n}, kind == MESH_HEX, &mesh, &error);
    assert_ok(status, error);
    shake_nodes(&mesh, kind == MESH_FLAT ? 2 : 3, shake / n, all);
    if (kind == MESH_TET10 || kind == MESH_CURVED)
        split_edges(&mesh);
    if (kind == MESH_CURVED)
        shake_nodes(&mesh, 3, 0.2 * shake / n, all);
    status = td_mesh_write(&mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error);
    assert_ok(status, error);
    td_mesh_free(&mesh);
    return path;
}

typedef struct fixture
{
    tdModel *model;
    tdState *state;
    const tdSoft *soft;
    tdSoftState *mine;
    int n; // coordinates
} fixture;

/// A body in a dynamic scene; `text` is the rest of its entry, indented by four.
static inline fixture element_fixture(const char *mesh, const char *text, int threads, bool portable)
{
    fixture f = {.model = scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {newton: true}\nbodies:\n"
                                      "  - name: a\n    mesh: %s\n%s",
                                      mesh, text)};
    f.state = scene_state_with(f.model, threads, portable);
    f.soft = scene_soft(f.model);
    f.mine = scene_mine(f.state);
    f.n = (int)f.model->coords;
    return f;
}

static inline void fixture_free(fixture *f)
{
    scene_free(f->model, f->state);
}

/// Forces (and tangent) at x; the energy. `start` also sets lagged rotations.
static inline double evaluate(fixture *f, const double *x, bool start, double *force, double *K)
{
    td_soft_gradients(f->soft, f->mine, f->state, x, start);
    td_soft_forces(f->soft, f->mine, f->state, force, K);
    return td_soft_energy(f->soft, f->mine);
}

/// x = F X + shift + shake
static inline void deform(const fixture *f, const double F[9], double shake, uint64_t seed, double *x)
{
    for (int i = 0; i < f->n; i++)
    {
        const double *X = f->soft->rest + i / 3 * 3, *r = F + 3 * (i % 3);
        x[i] = r[0] * X[0] + r[1] * X[1] + r[2] * X[2] + shake * next_random(&seed);
    }
}
