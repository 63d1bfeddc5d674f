// SPDX-License-Identifier: Apache-2.0
// Nodes at one place: finding and joining them.
#include "base/memory.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A grid whose boxes are some tolerances wide. A box holds the first node of each place only, and these
// are at least a tolerance apart, so no box holds many, whatever the input.
typedef struct nodeGrid
{
    const double *x;
    double origin[3], inverse, tolerance;
    int64_t slots; // power of two
    int32_t *head; // first node + 1 of a slot
    int32_t *next; // next node + 1 of the same slot
} nodeGrid;

enum
{
    BOX_TOLERANCES = 4
};

static int64_t grid_slot(const nodeGrid *grid, const int64_t at[3])
{
    uint64_t hash = 0;
    for (int k = 0; k < 3; k++)
    {
        hash = (hash ^ (uint64_t)at[k]) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 29;
    }
    return (int64_t)(hash & (uint64_t)(grid->slots - 1));
}

// An earlier node within the tolerance of node i, or -1.
static int64_t find_earlier(const nodeGrid *grid, int64_t i)
{
    const double *p = grid->x + 3 * i;
    int64_t low[3], high[3];
    for (int k = 0; k < 3; k++)
    {
        low[k] = (int64_t)floor((p[k] - grid->tolerance - grid->origin[k]) * grid->inverse);
        high[k] = (int64_t)floor((p[k] + grid->tolerance - grid->origin[k]) * grid->inverse);
    }
    int64_t at[3];
    for (at[0] = low[0]; at[0] <= high[0]; at[0]++)
        for (at[1] = low[1]; at[1] <= high[1]; at[1]++)
            for (at[2] = low[2]; at[2] <= high[2]; at[2]++)
                for (int32_t j = grid->head[grid_slot(grid, at)]; j != 0; j = grid->next[j - 1])
                {
                    const double *q = grid->x + 3 * (int64_t)(j - 1);
                    double d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
                    if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= grid->tolerance * grid->tolerance)
                        return j - 1;
                }
    return -1;
}

static void insert_node(nodeGrid *grid, int64_t i)
{
    int64_t at[3];
    for (int k = 0; k < 3; k++)
        at[k] = (int64_t)floor((grid->x[3 * i + k] - grid->origin[k]) * grid->inverse);
    int64_t slot = grid_slot(grid, at);
    grid->next[i] = grid->head[slot];
    grid->head[slot] = (int32_t)i + 1;
}

tdStatus td_mesh_equal_nodes(const tdMesh *mesh, double tolerance, int32_t *first, tdError *error)
{
    nodeGrid grid = {.x = mesh->x, .tolerance = tolerance, .slots = 64};
    double extent = 0;
    for (int k = 0; k < 3 && mesh->n_nodes > 0; k++)
    {
        double high = mesh->x[k];
        grid.origin[k] = mesh->x[k];
        for (int64_t i = 1; i < mesh->n_nodes; i++)
        {
            grid.origin[k] = fmin(grid.origin[k], mesh->x[3 * i + k]);
            high = fmax(high, mesh->x[3 * i + k]);
        }
        extent = fmax(extent, high - grid.origin[k]);
    }
    // Box numbers stay below 2^40, whatever the tolerance.
    double width = fmax(BOX_TOLERANCES * tolerance, extent * 0x1p-40);
    grid.inverse = width > 0 ? 1 / width : 0;
    while (grid.slots < 2 * mesh->n_nodes)
        grid.slots *= 2;
    grid.head = td_take((size_t)grid.slots, sizeof *grid.head);
    grid.next = td_take((size_t)mesh->n_nodes, sizeof *grid.next);
    bool good = grid.head != NULL && grid.next != NULL;
    for (int64_t i = 0; good && i < mesh->n_nodes; i++)
    {
        int64_t earlier = find_earlier(&grid, i);
        first[i] = (int32_t)(earlier < 0 ? i : earlier);
        if (earlier < 0)
            insert_node(&grid, i);
    }
    free(grid.head);
    free(grid.next);
    return good ? TD_OK : td_fail_memory(error, "the search for equal nodes");
}

tdStatus td_mesh_merge(tdMesh *mesh, double tolerance, int64_t *merged, tdError *error)
{
    *merged = 0;
    int32_t *number = td_take((size_t)mesh->n_nodes, sizeof *number);
    if (number == NULL)
        return td_fail_memory(error, "merging nodes");
    tdStatus status = td_mesh_equal_nodes(mesh, tolerance, number, error);
    int32_t kept = 0;
    for (int64_t i = 0; status == TD_OK && i < mesh->n_nodes; i++)
    {
        if (number[i] != i)
        {
            number[i] = number[number[i]]; // an earlier node, already renumbered
            (*merged)++;
            continue;
        }
        memmove(mesh->x + 3 * (int64_t)kept, mesh->x + 3 * i, 3 * sizeof(double));
        number[i] = kept++;
    }
    for (int t = 0; status == TD_OK && t < TD_CELL_TYPES; t++)
        for (int64_t i = 0; i < mesh->cells[t].count * td_cell_nodes((tdCellType)t); i++)
            mesh->cells[t].nodes[i] = number[mesh->cells[t].nodes[i]];
    if (status == TD_OK)
        mesh->n_nodes = kept;
    free(number);
    return status;
}
