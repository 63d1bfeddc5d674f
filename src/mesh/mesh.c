// SPDX-License-Identifier: Apache-2.0
#include "mesh/mesh.h"

#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct
{
    int nodes, dim;
    const char *name;
} cell_facts[TD_CELL_TYPES] = {
    [TD_CELL_VERTEX] = {1, 0, "vertices"},
    [TD_CELL_LINE] = {2, 1, "lines"},
    [TD_CELL_TRI] = {3, 2, "triangles"},
    [TD_CELL_QUAD] = {4, 2, "quadrilaterals"},
    [TD_CELL_TET] = {4, 3, "tetrahedra"},
    [TD_CELL_HEX] = {8, 3, "hexahedra"},
    [TD_CELL_TET10] = {10, 3, "quadratic tetrahedra"},
};

int td_cell_nodes(tdCellType type)
{
    return cell_facts[type].nodes;
}

int td_cell_dim(tdCellType type)
{
    return cell_facts[type].dim;
}

const char *td_cell_name(tdCellType type)
{
    return cell_facts[type].name;
}

bool td_mesh_add_node(tdMesh *mesh, double x, double y, double z)
{
    if (mesh->n_nodes >= INT32_MAX ||
        !td_grow((void **)&mesh->x, &mesh->nodes_capacity, mesh->n_nodes + 1, 3 * sizeof(double)))
        return false;
    double *p = mesh->x + 3 * mesh->n_nodes++;
    p[0] = x;
    p[1] = y;
    p[2] = z;
    return true;
}

bool td_mesh_add_cell(tdMesh *mesh, tdCellType type, const int32_t *nodes)
{
    tdCells *cells = &mesh->cells[type];
    size_t n = (size_t)cell_facts[type].nodes;
    if (cells->count >= INT32_MAX ||
        !td_grow((void **)&cells->nodes, &cells->capacity, cells->count + 1, n * sizeof(int32_t)))
        return false;
    memcpy(cells->nodes + cells->count * (int64_t)n, nodes, n * sizeof(int32_t));
    cells->count++;
    return true;
}

int td_mesh_find_group(const tdMesh *mesh, const char *name)
{
    for (int g = 0; g < mesh->n_groups; g++)
        if (strcmp(mesh->groups[g].name, name) == 0)
            return g;
    return -1;
}

int td_mesh_group(tdMesh *mesh, const char *name, int dim, int tag)
{
    int found = td_mesh_find_group(mesh, name);
    if (found >= 0)
    {
        if (mesh->groups[found].dim != dim)
            mesh->groups[found].dim = -1;
        return found;
    }
    return td_mesh_new_group(mesh, name, dim, tag);
}

int td_mesh_new_group(tdMesh *mesh, const char *name, int dim, int tag)
{
    if (!td_grow((void **)&mesh->groups, &mesh->groups_capacity, mesh->n_groups + 1, sizeof(tdGroup)))
        return -1;
    char *copy = strdup(name);
    if (copy == NULL)
        return -1;
    mesh->groups[mesh->n_groups] = (tdGroup){.name = copy, .dim = dim, .tag = tag};
    return mesh->n_groups++;
}

void td_mesh_group_dims(tdMesh *mesh)
{
    for (int g = 0; g < mesh->n_groups; g++)
    {
        tdGroup *group = &mesh->groups[g];
        int dims = 0, last = -1;
        for (int t = 0; t < TD_CELL_TYPES; t++)
            if (group->count[t] > 0)
            {
                dims += cell_facts[t].dim != last;
                last = cell_facts[t].dim;
            }
        group->dim = dims == 1 ? last : -1;
    }
}

bool td_mesh_group_add(tdMesh *mesh, int group, tdCellType type, int64_t cell)
{
    tdGroup *g = &mesh->groups[group];
    int64_t n = g->count[type];
    if (n > 0 && g->cells[type][n - 1] >= cell)
        return true;
    if (!td_grow((void **)&g->cells[type], &g->capacity[type], n + 1, sizeof(int32_t)))
        return false;
    g->cells[type][n] = (int32_t)cell;
    g->count[type]++;
    return true;
}

void td_mesh_note(tdMesh *mesh, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t old = mesh->notes == NULL ? 0 : strlen(mesh->notes);
    char *grown = realloc(mesh->notes, old + strlen(line) + 2);
    if (grown == NULL)
        return; // a note is not worth failing for
    mesh->notes = grown;
    snprintf(grown + old, strlen(line) + 2, "%s\n", line);
}

void td_mesh_free(tdMesh *mesh)
{
    free(mesh->x);
    for (int t = 0; t < TD_CELL_TYPES; t++)
        free(mesh->cells[t].nodes);
    for (int g = 0; g < mesh->n_groups; g++)
    {
        free(mesh->groups[g].name);
        for (int t = 0; t < TD_CELL_TYPES; t++)
            free(mesh->groups[g].cells[t]);
    }
    free(mesh->groups);
    free(mesh->notes);
    *mesh = (tdMesh){0};
}

tdStatus td_mesh_check(const tdMesh *mesh, const char *file, tdError *error)
{
    if (mesh->n_nodes == 0)
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL, "the file holds no nodes");
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
        if (!isfinite(mesh->x[i]))
            return td_fail_at(error, TD_ERROR_INPUT, file, 0, "nodes",
                              "node %lld has a coordinate that is not a finite number", (long long)(i / 3));
    int64_t total = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        const tdCells *cells = &mesh->cells[t];
        int n = cell_facts[t].nodes;
        total += cells->count;
        for (int64_t i = 0; i < cells->count * n; i++)
            if (cells->nodes[i] < 0 || cells->nodes[i] >= mesh->n_nodes)
                return td_fail_at(error, TD_ERROR_INPUT, file, 0, cell_facts[t].name,
                                  "cell %lld names node %d, but nodes go from 0 to %lld", (long long)(i / n),
                                  cells->nodes[i], (long long)(mesh->n_nodes - 1));
    }
    if (total == 0)
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL, "the file holds %lld nodes but no cells",
                          (long long)mesh->n_nodes);
    return TD_OK;
}
