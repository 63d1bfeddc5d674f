// SPDX-License-Identifier: Apache-2.0
// A bar with random nodes, for comparison with CalculiX.
#pragma once
#include "mesh/generate.h"
#include "verify_calculix.h"
#include "verify_mesh.h"

#define BAR_LENGTH  0.2 // [m]
#define BAR_HEIGHT  0.04
#define BAR_FAR_END "plane: {point: [0.2, 0, 0], normal: [1, 0, 0]}"
#define BAR_CCX     "CalculiX, same mesh"

typedef enum barCells
{
    BAR_TETS,
    BAR_HEXES,
    BAR_TETS10
} barCells;

/// Writes bar.vtu into `folder`. Nodes are moved by up to 15 % of a cell, within the end faces at the ends;
/// middles of edges stay in the middle.
static inline void bar_write(const char *folder, const int cells[3], barCells kind)
{
    tdMesh mesh = {0};
    tdError error = {0};
    double min[3] = {0, 0, 0}, max[3] = {BAR_LENGTH, BAR_HEIGHT, BAR_HEIGHT};
    assert_ok(td_mesh_box(min, max, cells, kind == BAR_HEXES, &mesh, &error), error);
    uint64_t seed = 7;
    for (int64_t i = 0; i < mesh.n_nodes; i++)
        for (int c = 0; c < 3; c++)
        {
            double shift = mesh_jitter(&seed) * max[c] / cells[c];
            bool end = mesh.x[3 * i] == 0 || mesh.x[3 * i] == BAR_LENGTH;
            mesh.x[3 * i + c] += c == 0 && end ? 0 : shift;
        }
    if (kind == BAR_TETS10)
        mesh_quadratic(&mesh);
    char path[300];
    snprintf(path, sizeof path, "%s/bar.vtu", folder);
    assert_ok(td_mesh_write(&mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error), error);
    td_mesh_free(&mesh);
}

typedef struct barDifference
{
    double field;       ///< |u - u_ccx| / |u_ccx| over all nodes
    double tip;         ///< largest displacement by CalculiX [m]
    double tip_ours;    ///< at the same node [m]
    double force, ours; ///< x reaction of the nodes at the far end, by CalculiX and by us [N]
} barDifference;

static inline barDifference bar_difference(tdModel *model, const tdState *state, const ccxResult *theirs, int moment)
{
    const tdSoft *soft = verify_soft(model);
    const double *q = td_state_positions(model, state, 0), *rest = soft->rest;
    const double *u_ccx = theirs->u + 3 * (int64_t)soft->n_nodes * moment;
    const double *force = theirs->force + 3 * (int64_t)soft->n_nodes * moment;
    barDifference r = {0};
    double square = 0;
    for (int64_t i = 0; i < soft->n_nodes; i++)
    {
        double size = 0, mine = 0;
        for (int c = 0; c < 3; c++)
        {
            double u = q[3 * i + c] - rest[3 * i + c], v = u_ccx[3 * i + c];
            r.field += (u - v) * (u - v);
            size += v * v;
            mine += u * u;
        }
        square += size;
        if (sqrt(size) > r.tip)
        {
            r.tip = sqrt(size);
            r.tip_ours = sqrt(mine);
        }
        if (rest[3 * i] == BAR_LENGTH)
        {
            r.force += force[3 * i];
            r.ours += state->reaction[3 * i];
        }
    }
    r.field = sqrt(r.field / square);
    return r;
}
