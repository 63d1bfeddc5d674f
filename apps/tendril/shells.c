// SPDX-License-Identifier: Apache-2.0
#include "shells.h"

#include "base/memory.h"
#include "base/vector.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdlib.h>

// More shells than this are a broken surface rather than a design.
#define MOST_SHELLS 200
// Nodes of a shell that are looked at to tell whether it lies inside another.
#define SAMPLES 64

static tdStatus require_closed(const char *file, const tdMesh *surface, tdError *error)
{
    tdSurfaceCheck check;
    TD_TRY(td_surface_check(surface->n_nodes, surface->x, surface->cells[TD_CELL_TRI].count,
                            surface->cells[TD_CELL_TRI].nodes, &check, error));
    if (check.open > 0)
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL,
                          "the surface is open: %lld of its %lld edges have one triangle only, the first at (%g, %g, "
                          "%g); close the holes in the program that made it, then try again",
                          (long long)check.open, (long long)check.n_edges, check.open_at[0], check.open_at[1],
                          check.open_at[2]);
    if (check.crowded > 0)
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL,
                          "%lld edges of the surface have more than two triangles, the first at (%g, %g, %g); remove "
                          "inner walls and doubled faces, or move parts that touch along an edge apart",
                          (long long)check.crowded, check.crowded_at[0], check.crowded_at[1], check.crowded_at[2]);
    if (check.flipped > 0)
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL,
                          "neighbouring triangles face opposite ways at %lld edges, the first at (%g, %g, %g); make "
                          "the normals consistent in the program that made the surface",
                          (long long)check.flipped, check.flipped_at[0], check.flipped_at[1], check.flipped_at[2]);
    return TD_OK;
}

static void measure_shells(const tdMesh *surface, meshShells *shells)
{
    for (int s = 0; s < shells->n; s++)
        shells->shell[s] = (meshShell){.parent = -1, .first_node = -1};
    for (int64_t i = 0; i < surface->cells[TD_CELL_TRI].count; i++)
    {
        const int32_t *t = surface->cells[TD_CELL_TRI].nodes + 3 * i;
        meshShell *shell = &shells->shell[shells->part[i]];
        if (shell->n_tris++ == 0)
            shell->first_node = t[0];
        const double *o = surface->x + 3 * (int64_t)shell->first_node;
        double v[3][3];
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++)
            {
                double x = surface->x[3 * (int64_t)t[k] + c];
                v[k][c] = x - o[c];
                bool first = shell->n_tris == 1 && k == 0;
                shell->min[c] = first ? x : fmin(shell->min[c], x);
                shell->max[c] = first ? x : fmax(shell->max[c], x);
            }
        shell->volume += td_triple3(v[0], v[1], v[2]) / 6;
    }
}

static void sort_triangles(int64_t n_tris, meshShells *shells)
{
    int64_t at[MOST_SHELLS], sum = 0;
    for (int s = 0; s < shells->n; s++)
    {
        shells->shell[s].start = at[s] = sum;
        sum += shells->shell[s].n_tris;
    }
    for (int64_t i = 0; i < n_tris; i++)
        shells->order[at[shells->part[i]]++] = (int32_t)i;
}

// Does shell s go around the point? Its solid angle is 4π inside and 0 outside.
static bool surrounds(const tdMesh *surface, const meshShells *shells, int s, const double *p)
{
    const meshShell *shell = &shells->shell[s];
    for (int c = 0; c < 3; c++)
        if (p[c] < shell->min[c] || p[c] > shell->max[c])
            return false;
    double angle = 0;
    for (int64_t n = 0; n < shell->n_tris; n++)
    {
        int64_t i = shells->order[shell->start + n];
        double v[3][3];
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++)
                v[k][c] = surface->x[3 * (int64_t)surface->cells[TD_CELL_TRI].nodes[3 * i + k] + c] - p[c];
        angle += td_solid_angle(v[0], v[1], v[2]);
    }
    return fabs(angle) > 6.28318530717958647692; // half of 4π
}

// Is shell i inside shell j? A sample of its nodes must agree, else they cut each other: -1.
static int lies_inside(const tdMesh *surface, const meshShells *shells, int i, int j)
{
    const meshShell *a = &shells->shell[i], *b = &shells->shell[j];
    for (int c = 0; c < 3; c++)
        if (a->max[c] < b->min[c] || a->min[c] > b->max[c])
            return 0;
    int inside = 0, outside = 0;
    for (int64_t n = 0; n < a->n_tris; n += a->n_tris / SAMPLES + 1)
    {
        int64_t t = shells->order[a->start + n];
        const double *p = surface->x + 3 * (int64_t)surface->cells[TD_CELL_TRI].nodes[3 * t];
        if (surrounds(surface, shells, j, p))
            inside++;
        else
            outside++;
        if (inside > 0 && outside > 0)
            return -1;
    }
    return inside > 0;
}

static tdStatus nest_shells(const char *file, const tdMesh *surface, meshShells *shells, tdError *error)
{
    int n = shells->n;
    bool *around = td_take((size_t)n * (size_t)n, sizeof *around);
    if (around == NULL)
        return td_fail_memory(error, "the parts of the surface");
    tdStatus status = TD_OK;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n && status == TD_OK; j++)
        {
            int inside = i == j ? 0 : lies_inside(surface, shells, i, j);
            const double *p = surface->x + 3 * (int64_t)shells->shell[i].first_node;
            if (inside < 0)
                status = td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL,
                                    "the closed parts %d and %d cut each other (one is at (%g, %g, %g)); unite them in "
                                    "the program that made the surface",
                                    (i < j ? i : j) + 1, (i < j ? j : i) + 1, p[0], p[1], p[2]);
            around[i * n + j] = inside > 0;
            shells->shell[i].depth += inside > 0;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n && shells->shell[i].depth % 2 == 1; j++)
            if (around[i * n + j] && shells->shell[j].depth == shells->shell[i].depth - 1)
                shells->shell[i].parent = j;
    free(around);
    return status;
}

static void turn_shells(tdMesh *surface, meshShells *shells)
{
    bool turn[MOST_SHELLS] = {false};
    for (int s = 0; s < shells->n; s++)
    {
        meshShell *shell = &shells->shell[s];
        bool cavity = shell->depth % 2 == 1;
        turn[s] = (shell->volume < 0) != cavity;
        shells->turned += turn[s];
        shells->cavities += cavity;
        shell->volume = fabs(shell->volume);
        shells->volume += cavity ? -shell->volume : shell->volume;
    }
    for (int64_t i = 0; i < surface->cells[TD_CELL_TRI].count; i++)
        if (turn[shells->part[i]])
        {
            int32_t *t = surface->cells[TD_CELL_TRI].nodes + 3 * i, kept = t[1];
            t[1] = t[2];
            t[2] = kept;
        }
}

tdStatus find_shells(const char *file, tdMesh *surface, meshShells *shells, tdError *error)
{
    *shells = (meshShells){0};
    TD_TRY(require_closed(file, surface, error));
    int64_t n = 0;
    shells->part = td_take((size_t)surface->cells[TD_CELL_TRI].count, sizeof *shells->part);
    if (shells->part == NULL)
        return td_fail_memory(error, "the parts of the surface");
    TD_TRY(td_mesh_components(surface, 2, &n, shells->part, error));
    if (n > MOST_SHELLS)
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL,
                          "the surface falls into %lld closed parts; at most %d are meshed: keep those that matter",
                          (long long)n, MOST_SHELLS);
    shells->n = (int)n;
    shells->shell = td_take((size_t)n, sizeof *shells->shell);
    shells->order = td_take((size_t)surface->cells[TD_CELL_TRI].count, sizeof *shells->order);
    if (shells->shell == NULL || shells->order == NULL)
        return td_fail_memory(error, "the parts of the surface");
    measure_shells(surface, shells);
    sort_triangles(surface->cells[TD_CELL_TRI].count, shells);
    TD_TRY(nest_shells(file, surface, shells, error));
    turn_shells(surface, shells);
    if (!(shells->volume > 0))
        return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL, "the surface encloses no volume (%g); it is flat",
                          shells->volume);
    return TD_OK;
}

void free_shells(meshShells *shells)
{
    free(shells->shell);
    free(shells->part);
    free(shells->order);
    *shells = (meshShells){0};
}

void write_shells(const tdMesh *surface, const meshShells *shells, tdText *out)
{
    const tdCells *tris = &surface->cells[TD_CELL_TRI];
    td_text_format(out, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%lld\n", (long long)surface->n_nodes);
    for (int64_t i = 0; i < surface->n_nodes; i++)
        td_text_format(out, "%lld %.17g %.17g %.17g\n", (long long)i + 1, surface->x[3 * i], surface->x[3 * i + 1],
                       surface->x[3 * i + 2]);
    td_text_format(out, "$EndNodes\n$Elements\n%lld\n", (long long)tris->count);
    for (int64_t i = 0; i < tris->count; i++)
        td_text_format(out, "%lld 2 2 0 %d %d %d %d\n", (long long)i + 1, shells->part[i] + 1, tris->nodes[3 * i] + 1,
                       tris->nodes[3 * i + 1] + 1, tris->nodes[3 * i + 2] + 1);
    td_text_format(out, "$EndElements\n");
}

void write_volumes(const meshShells *shells, tdText *out)
{
    int volumes = 0, cavities = 0;
    for (int s = 0; s < shells->n; s++)
        td_text_format(out, "Surface Loop(%d) = {%d};\n", s + 1, s + 1);
    for (int s = 0; s < shells->n; s++)
    {
        if (shells->shell[s].depth % 2 == 1)
        {
            td_text_format(out, "Physical Surface(\"cavity_%d\") = {%d};\n", ++cavities, s + 1);
            continue;
        }
        td_text_format(out, "Volume(%d) = {%d", ++volumes, s + 1);
        for (int c = 0; c < shells->n; c++)
            if (shells->shell[c].parent == s)
                td_text_format(out, ", %d", c + 1);
        td_text_format(out, "};\n");
    }
    td_text_format(out, "Physical Volume(\"body\") = {1:%d};\nPhysical Surface(\"outer\") = {", volumes);
    const char *separator = "";
    for (int s = 0; s < shells->n; s++)
        if (shells->shell[s].depth % 2 == 0)
        {
            td_text_format(out, "%s%d", separator, s + 1);
            separator = ", ";
        }
    td_text_format(out, "};\n");
}
