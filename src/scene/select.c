// SPDX-License-Identifier: Apache-2.0
// Selectors: which nodes of a placed mesh a box, sphere, plane, group or list of numbers means. (select_side.c: sides
// of the boundary and connected parts.)
#include "base/suggest.h"
#include "scene/compile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double mesh_size(const tdMesh *mesh)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
    {
        low[i % 3] = fmin(low[i % 3], mesh->x[i]);
        high[i % 3] = fmax(high[i % 3], mesh->x[i]);
    }
    for (int c = 0; c < 3; c++)
        square += (high[c] - low[c]) * (high[c] - low[c]);
    return sqrt(square);
}

static bool inside(const tdSelect *s, const double *x, double size)
{
    // Coordinates went through files, units and rotations: a face that lies on a box's side is meant.
    double slack = 1e-9 * size, square = 0, distance = 0;
    switch (s->kind)
    {
    case TD_SELECT_ALL: return true;
    case TD_SELECT_BOX:
        for (int c = 0; c < 3; c++)
            if (x[c] < s->a[c] - slack || x[c] > s->b[c] + slack)
                return false;
        return true;
    case TD_SELECT_SPHERE:
        for (int c = 0; c < 3; c++)
            square += (x[c] - s->a[c]) * (x[c] - s->a[c]);
        return sqrt(square) <= s->radius + slack;
    case TD_SELECT_PLANE:
        for (int c = 0; c < 3; c++)
            distance += (x[c] - s->a[c]) * s->b[c];
        return fabs(distance) <= (s->radius < 0 ? 1e-6 * size : s->radius);
    default: return false;
    }
}

double td_select_size(const tdMesh *mesh)
{
    return mesh_size(mesh);
}

bool td_select_holds(const tdSelect *select, const double x[3], double size)
{
    return inside(select, x, size);
}

static int compare_pairs(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t pair_of(int32_t a, int32_t b)
{
    return a < b ? (int64_t)a << 32 | b : (int64_t)b << 32 | a;
}

// Faces of quadratic tetrahedra are listed by their corners: their mid-edge nodes belong to them too.
static bool select_middles(const tdMesh *mesh, const tdGroup *group, bool *chosen)
{
    static const int8_t edge[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    const tdCells *tets = &mesh->cells[TD_CELL_TET10];
    int64_t n = 0, tris = group->count[TD_CELL_TRI], lines = group->count[TD_CELL_LINE];
    if (tets->count == 0 || tris + lines == 0)
        return true;
    int64_t *pairs = td_take((size_t)(3 * tris + lines), sizeof *pairs);
    if (pairs == NULL)
        return false;
    for (int64_t k = 0; k < 3 * tris; k++)
    {
        const int32_t *t = mesh->cells[TD_CELL_TRI].nodes + 3 * (int64_t)group->cells[TD_CELL_TRI][k / 3];
        pairs[n++] = pair_of(t[k % 3], t[(k + 1) % 3]);
    }
    for (int64_t k = 0; k < lines; k++)
    {
        const int32_t *l = mesh->cells[TD_CELL_LINE].nodes + 2 * (int64_t)group->cells[TD_CELL_LINE][k];
        pairs[n++] = pair_of(l[0], l[1]);
    }
    qsort(pairs, (size_t)n, sizeof *pairs, compare_pairs);
    for (int64_t k = 0; k < 6 * tets->count; k++)
    {
        const int32_t *t = tets->nodes + 10 * (k / 6);
        int64_t pair = pair_of(t[edge[k % 6][0]], t[edge[k % 6][1]]);
        if (bsearch(&pair, pairs, (size_t)n, sizeof *pairs, compare_pairs) != NULL)
            chosen[t[4 + k % 6]] = true;
    }
    free(pairs);
    return true;
}

static tdStatus select_group(const tdModel *model, const tdMesh *mesh, const tdSelect *s, const char *field,
                             bool *chosen, tdError *error)
{
    int g = td_mesh_find_group(mesh, s->group);
    if (g < 0)
    {
        const char *names[64];
        int n = mesh->n_groups < 64 ? mesh->n_groups : 64;
        for (int i = 0; i < n; i++)
            names[i] = mesh->groups[i].name;
        const char *nearest = td_suggest(s->group, names, n);
        if (n == 0)
            return td_fail_at(
                error, TD_ERROR_INPUT, model->scene.file, s->line, field,
                "group '%s' is not in the mesh, which has no groups; choose nodes by box, sphere, plane, side or part",
                s->group);
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, s->line, field,
                          "group '%s' is not in the mesh; %s '%s'%s", s->group,
                          nearest != NULL ? "did you mean" : "its groups begin with",
                          nearest != NULL ? nearest : names[0], nearest != NULL ? "?" : " ('tendril info' lists them)");
    }
    const tdGroup *group = &mesh->groups[g];
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t k = 0; k < group->count[t]; k++)
            for (int a = 0; a < td_cell_nodes(t); a++)
                chosen[mesh->cells[t].nodes[(int64_t)group->cells[t][k] * td_cell_nodes(t) + a]] = true;
    return select_middles(mesh, group, chosen) ? TD_OK : td_fail_memory(error, "a group");
}

tdStatus td_select_nodes(const tdModel *model, const tdMesh *mesh, const tdSelect *s, const char *field, bool *chosen,
                         tdError *error)
{
    memset(chosen, 0, (size_t)mesh->n_nodes * sizeof *chosen);
    if (s->kind == TD_SELECT_GROUP)
        TD_TRY(select_group(model, mesh, s, field, chosen, error));
    else if (s->kind == TD_SELECT_SIDE)
        TD_TRY(td_select_side(model, mesh, s, field, chosen, error));
    else if (s->kind == TD_SELECT_PART)
        TD_TRY(td_select_part(model, mesh, s, field, chosen, error));
    else if (s->kind == TD_SELECT_NODES)
        for (int k = 0; k < s->n_nodes; k++)
        {
            if (s->nodes[k] < 0 || s->nodes[k] >= mesh->n_nodes)
                return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, s->line, field,
                                  "node %lld is not in the mesh; nodes go from 0 to %lld", (long long)s->nodes[k],
                                  (long long)mesh->n_nodes - 1);
            chosen[s->nodes[k]] = true;
        }
    else
    {
        double size = mesh_size(mesh);
        for (int64_t i = 0; i < mesh->n_nodes; i++)
            chosen[i] = inside(s, mesh->x + 3 * i, size);
    }
    for (int64_t i = 0; i < mesh->n_nodes; i++)
        if (chosen[i])
            return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, s->line, field,
                      "selects no node of the body; 'tendril info' shows where the mesh is, and the scene's units and "
                      "transform apply to it");
}
