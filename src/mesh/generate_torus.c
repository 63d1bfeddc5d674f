// SPDX-License-Identifier: Apache-2.0
// A torus of tetrahedra; see generate.h.
#include "mesh/generate.h"

#include <math.h>

#define TWO_PI      6.283185307179586476925
#define MOST_POINTS 20000000

typedef struct torusGrid
{
    tdMesh *mesh;
    int sections, around, circles;
} torusGrid;

static int32_t point_of(const torusGrid *g, int section, int32_t point)
{
    return section % g->sections * (g->around * g->circles) + point;
}

// Of three points of a section, in ascending order: the prism to the next section as three tetrahedra. The diagonal of
// a side goes from its smaller number here to its larger one there, so that neighbours agree all around.
static bool add_prism(const torusGrid *g, int section, int32_t a, int32_t b, int32_t c)
{
    int32_t low[3] = {a, b, c}, here[3], next[3];
    for (int i = 1; i < 3; i++)
        for (int j = i; j > 0 && low[j - 1] > low[j]; j--)
        {
            int32_t swap = low[j];
            low[j] = low[j - 1];
            low[j - 1] = swap;
        }
    bool even = (low[0] == a && low[1] == b) || (low[0] == b && low[1] == c) || (low[0] == c && low[1] == a);
    for (int i = 0; i < 3; i++)
    {
        here[i] = point_of(g, section, low[i]);
        next[i] = point_of(g, section + 1, low[i]);
    }
    const int32_t cells[3][4] = {{here[0], here[1], here[2], next[2]},
                                 {here[0], here[1], next[2], next[1]},
                                 {here[0], next[0], next[1], next[2]}};
    for (int k = 0; k < 3; k++)
    {
        const int32_t *n = cells[k];
        const int32_t turned[4] = {n[0], n[2], n[1], n[3]};
        if (!td_mesh_add_cell(g->mesh, TD_CELL_TET, even ? turned : n))
            return false;
    }
    return true;
}

// Triangles of a section: rings between circles, the polygon inside by a zigzag, which keeps them from fanning out.
static bool fill_section(const torusGrid *g, int section)
{
    int n = g->around;
    bool good = true;
    for (int k = 0; good && k + 1 < g->circles; k++)
        for (int j = 0; good && j < n; j++)
        {
            int32_t a = k * n + j, b = k * n + (j + 1) % n, c = a + n, d = b + n;
            good = add_prism(g, section, a, c, d) && add_prism(g, section, a, d, b);
        }
    for (int low = 0, high = n - 1; good && high - low > 1;)
    {
        good = add_prism(g, section, low, low + 1, high);
        low++;
        if (good && high - low > 1)
            good = add_prism(g, section, low, high - 1, high);
        high--;
    }
    return good;
}

// The outer circles, with the diagonals of the prisms.
static bool add_surface(const torusGrid *g)
{
    int group = td_mesh_group(g->mesh, "surface", 2, 2);
    int32_t outer = (g->circles - 1) * g->around;
    for (int i = 0; group >= 0 && i < g->sections; i++)
        for (int j = 0; j < g->around; j++)
        {
            int32_t p = outer + j, q = outer + (j + 1) % g->around;
            int32_t a = point_of(g, i, p), b = point_of(g, i + 1, p), c = point_of(g, i + 1, q), d = point_of(g, i, q);
            const int32_t up[2][3] = {{a, b, c}, {a, c, d}}, down[2][3] = {{a, b, d}, {b, c, d}};
            for (int k = 0; k < 2; k++)
                if (!td_mesh_add_cell(g->mesh, TD_CELL_TRI, p < q ? up[k] : down[k]) ||
                    !td_mesh_group_add(g->mesh, group, TD_CELL_TRI, g->mesh->cells[TD_CELL_TRI].count - 1))
                    return false;
        }
    return group >= 0;
}

tdStatus td_mesh_torus(double major, double minor, const int cells[3], tdMesh *mesh, tdError *error)
{
    if (!isfinite(major) || !isfinite(minor) || !(minor > 0) || !(major > minor))
        return td_fail(error, TD_ERROR_INPUT, "a torus needs 0 < minor < major, not minor %g, major %g", minor, major);
    if (cells[0] < 3 || cells[1] < 3 || cells[2] < 1 || (double)cells[0] * cells[1] * cells[2] > MOST_POINTS)
        return td_fail(error, TD_ERROR_INPUT,
                       "a torus takes 3 sections of 3 points around and one circle at least, and %d points in all at "
                       "most, not %d x %d x %d",
                       MOST_POINTS, cells[0], cells[1], cells[2]);
    torusGrid g = {mesh, cells[0], cells[1], cells[2]};
    bool good = true;
    for (int i = 0; good && i < g.sections; i++)
        for (int k = 0; good && k < g.circles; k++)
            for (int j = 0; good && j < g.around; j++)
            {
                double a = TWO_PI * i / g.sections, b = TWO_PI * j / g.around, size = minor * (k + 1) / g.circles;
                double r = major + size * cos(b);
                good = td_mesh_add_node(mesh, r * cos(a), r * sin(a), size * sin(b));
            }
    for (int i = 0; good && i < g.sections; i++)
        good = fill_section(&g, i);
    int group = good ? td_mesh_group(mesh, "body", 3, 1) : -1;
    for (int64_t e = 0; group >= 0 && e < mesh->cells[TD_CELL_TET].count; e++)
        good = good && td_mesh_group_add(mesh, group, TD_CELL_TET, e);
    return good && group >= 0 && add_surface(&g) ? TD_OK : td_fail_memory(error, "a torus");
}
