// SPDX-License-Identifier: Apache-2.0
#include "mesh/generate.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#define TWO_PI 6.283185307179586476925

// ---------------------------------------------------------------- box

typedef struct boxGrid
{
    int n[3];
    int32_t step[3]; // difference of node numbers along each axis
} boxGrid;

static int32_t grid_node(const boxGrid *g, int i, int j, int k)
{
    return i * g->step[0] + j * g->step[1] + k * g->step[2];
}

static tdStatus check_grid(const char *what, int dims, const double *min, const double *max, const int *cells,
                           tdError *error)
{
    double nodes = 1;
    for (int k = 0; k < dims; k++)
    {
        if (!isfinite(min[k]) || !isfinite(max[k]) || !(max[k] > min[k]))
            return td_fail(error, TD_ERROR_INPUT, "a %s needs min < max along each axis; along %c it is %g to %g", what,
                           "xyz"[k], min[k], max[k]);
        if (cells[k] < 1)
            return td_fail(error, TD_ERROR_INPUT, "a %s needs at least 1 cell along %c, not %d", what, "xyz"[k],
                           cells[k]);
        nodes *= cells[k] + 1.0;
    }
    if (nodes > 1e8)
        return td_fail(error, TD_ERROR_INPUT, "a %s of %g nodes is too large; use at most 1e8", what, nodes);
    return TD_OK;
}

// The last node is exactly at max.
static double grid_place(const double *min, const double *max, const int *cells, int axis, int i)
{
    return i == cells[axis] ? max[axis] : min[axis] + (max[axis] - min[axis]) * i / cells[axis];
}

// Every other brick is mirrored, along each axis. Were all diagonals parallel, the mesh would be stiffer
// along one of them than along its mirror image, and a straight beam would bend sideways.
static bool mirrored(int i)
{
    return i % 2 == 1;
}

// Six tetrahedra, one for each order in which a path from the first to the last corner takes the axes.
static bool add_kuhn(tdMesh *mesh, const boxGrid *g, int i, int j, int k)
{
    static const int paths[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    const bool flip[3] = {mirrored(i), mirrored(j), mirrored(k)};
    int32_t origin = grid_node(g, i + flip[0], j + flip[1], k + flip[2]), step[3];
    for (int a = 0; a < 3; a++)
        step[a] = flip[a] ? -g->step[a] : g->step[a];
    bool mirror = flip[0] != (flip[1] != flip[2]);
    for (int p = 0; p < 6; p++)
    {
        int32_t a = origin + step[paths[p][0]], b = a + step[paths[p][1]], c = b + step[paths[p][2]];
        bool odd = (p >= 3) != mirror; // an odd order of axes mirrors the tetrahedron
        if (!td_mesh_add_cell(mesh, TD_CELL_TET, (int32_t[]){origin, odd ? b : a, odd ? a : b, c}))
            return false;
    }
    return true;
}

static bool add_bricks(tdMesh *mesh, const boxGrid *g, bool hexahedra)
{
    int32_t x = g->step[0], y = g->step[1], z = g->step[2];
    for (int k = 0; k < g->n[2]; k++)
        for (int j = 0; j < g->n[1]; j++)
            for (int i = 0; i < g->n[0]; i++)
            {
                int32_t o = grid_node(g, i, j, k);
                int32_t brick[8] = {o, o + x, o + x + y, o + y, o + z, o + x + z, o + x + y + z, o + y + z};
                if (hexahedra ? !td_mesh_add_cell(mesh, TD_CELL_HEX, brick) : !add_kuhn(mesh, g, i, j, k))
                    return false;
            }
    return true;
}

// One side of the box. The diagonal of a square goes from its first to its last corner, as Kuhn's cut does,
// or in a brick that is mirrored along one of its axes between the other two.
static bool add_side(tdMesh *mesh, const boxGrid *g, int axis, bool upper, bool hexahedra, int group)
{
    int u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (int j = 0; j < g->n[v]; j++)
        for (int i = 0; i < g->n[u]; i++)
        {
            int32_t a = (upper ? g->n[axis] : 0) * g->step[axis] + i * g->step[u] + j * g->step[v];
            int32_t b = a + g->step[u], c = b + g->step[v], d = a + g->step[v];
            tdCellType type = hexahedra ? TD_CELL_QUAD : TD_CELL_TRI;
            int64_t first = mesh->cells[type].count;
            bool good;
            if (hexahedra)
                good = td_mesh_add_cell(mesh, type, (int32_t[]){a, upper ? b : d, c, upper ? d : b}) &&
                       td_mesh_group_add(mesh, group, type, first);
            else
            {
                if (mirrored(i) != mirrored(j))
                {
                    int32_t first_corner = a; // turned by one corner, the other diagonal is cut
                    a = b, b = c, c = d, d = first_corner;
                }
                good = td_mesh_add_cell(mesh, type, (int32_t[]){a, upper ? b : c, upper ? c : b}) &&
                       td_mesh_add_cell(mesh, type, (int32_t[]){a, upper ? c : d, upper ? d : c}) &&
                       td_mesh_group_add(mesh, group, type, first) && td_mesh_group_add(mesh, group, type, first + 1);
            }
            if (!good)
                return false;
        }
    return true;
}

tdStatus td_mesh_box(const double min[3], const double max[3], const int cells[3], bool hexahedra, tdMesh *mesh,
                     tdError *error)
{
    static const char *const sides[3][2] = {{"xmin", "xmax"}, {"ymin", "ymax"}, {"zmin", "zmax"}};
    TD_TRY(check_grid("box", 3, min, max, cells, error));
    boxGrid g = {{cells[0], cells[1], cells[2]}, {1, cells[0] + 1, (cells[0] + 1) * (cells[1] + 1)}};
    bool good = true;
    for (int k = 0; good && k <= cells[2]; k++)
        for (int j = 0; good && j <= cells[1]; j++)
            for (int i = 0; good && i <= cells[0]; i++)
                good = td_mesh_add_node(mesh, grid_place(min, max, cells, 0, i), grid_place(min, max, cells, 1, j),
                                        grid_place(min, max, cells, 2, k));
    good = good && add_bricks(mesh, &g, hexahedra);
    tdCellType type = hexahedra ? TD_CELL_HEX : TD_CELL_TET;
    int body = good ? td_mesh_group(mesh, "body", 3, 1) : -1;
    good = body >= 0;
    for (int64_t c = 0; good && c < mesh->cells[type].count; c++)
        good = td_mesh_group_add(mesh, body, type, c);
    for (int side = 0; good && side < 6; side++)
    {
        int group = td_mesh_group(mesh, sides[side / 2][side % 2], 2, side + 2);
        good = group >= 0 && add_side(mesh, &g, side / 2, side % 2 == 1, hexahedra, group);
    }
    return good ? TD_OK : td_fail_memory(error, "a box mesh");
}

// ---------------------------------------------------------------- rectangle

// The lines of one side, counterclockwise around the rectangle.
static bool add_border(tdMesh *mesh, const boxGrid *g, int axis, bool upper, int group)
{
    int along = 1 - axis;
    bool forward = (axis == 0) == upper; // ymin and xmax are run along their axis
    for (int i = 0; i < g->n[along]; i++)
    {
        int32_t a = (upper ? g->n[axis] : 0) * g->step[axis] + i * g->step[along], b = a + g->step[along];
        int64_t line = mesh->cells[TD_CELL_LINE].count;
        if (!td_mesh_add_cell(mesh, TD_CELL_LINE, (int32_t[]){forward ? a : b, forward ? b : a}) ||
            !td_mesh_group_add(mesh, group, TD_CELL_LINE, line))
            return false;
    }
    return true;
}

tdStatus td_mesh_rectangle(const double min[2], const double max[2], const int cells[2], tdMesh *mesh, tdError *error)
{
    static const char *const sides[4] = {"xmin", "xmax", "ymin", "ymax"};
    TD_TRY(check_grid("rectangle", 2, min, max, cells, error));
    boxGrid g = {{cells[0], cells[1], 0}, {1, cells[0] + 1, 0}};
    bool good = true;
    for (int j = 0; good && j <= cells[1]; j++)
        for (int i = 0; good && i <= cells[0]; i++)
            good = td_mesh_add_node(mesh, grid_place(min, max, cells, 0, i), grid_place(min, max, cells, 1, j), 0);
    // The triangles are those of a box's upper z side, at no height.
    int body = good ? td_mesh_group(mesh, "body", 2, 1) : -1;
    good = body >= 0 && add_side(mesh, &g, 2, true, false, body);
    for (int side = 0; good && side < 4; side++)
    {
        int group = td_mesh_group(mesh, sides[side], 1, side + 2);
        good = group >= 0 && add_border(mesh, &g, side / 2, side % 2 == 1, group);
    }
    return good ? TD_OK : td_fail_memory(error, "a rectangle");
}

// ---------------------------------------------------------------- sphere

// Middle nodes of edges: an open hash of the pair of nodes.
typedef struct edgeTable
{
    int64_t slots; // power of two
    uint64_t *pair;
    int32_t *node; // number + 1; 0 marks a free slot
} edgeTable;

static int32_t middle_node(edgeTable *table, tdMesh *mesh, int32_t a, int32_t b)
{
    uint64_t pair = (uint64_t)(a < b ? a : b) << 32 | (uint64_t)(a < b ? b : a);
    int64_t slot = (int64_t)(pair * 0x9E3779B97F4A7C15U >> 20) & (table->slots - 1);
    while (table->node[slot] != 0 && table->pair[slot] != pair)
        slot = (slot + 1) & (table->slots - 1);
    if (table->node[slot] != 0)
        return table->node[slot] - 1;
    const double *p = mesh->x + 3 * (int64_t)a, *q = mesh->x + 3 * (int64_t)b;
    double m[3] = {p[0] + q[0], p[1] + q[1], p[2] + q[2]};
    double length = sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
    if (!td_mesh_add_node(mesh, m[0] / length, m[1] / length, m[2] / length))
        return -1;
    table->pair[slot] = pair;
    table->node[slot] = (int32_t)mesh->n_nodes;
    return (int32_t)mesh->n_nodes - 1;
}

// Cuts each triangle of the unit sphere into four.
static bool subdivide(tdMesh *mesh)
{
    tdCells old = mesh->cells[TD_CELL_TRI];
    mesh->cells[TD_CELL_TRI] = (tdCells){0};
    edgeTable table = {.slots = 64};
    while (table.slots < 3 * old.count)
        table.slots *= 2;
    table.pair = td_take((size_t)table.slots, sizeof *table.pair);
    table.node = td_take((size_t)table.slots, sizeof *table.node);
    bool good = table.pair != NULL && table.node != NULL;
    for (int64_t i = 0; good && i < old.count; i++)
    {
        const int32_t *t = old.nodes + 3 * i;
        int32_t ab = middle_node(&table, mesh, t[0], t[1]), bc = middle_node(&table, mesh, t[1], t[2]);
        int32_t ca = middle_node(&table, mesh, t[2], t[0]);
        good = ab >= 0 && bc >= 0 && ca >= 0 && td_mesh_add_cell(mesh, TD_CELL_TRI, (int32_t[]){t[0], ab, ca}) &&
               td_mesh_add_cell(mesh, TD_CELL_TRI, (int32_t[]){t[1], bc, ab}) &&
               td_mesh_add_cell(mesh, TD_CELL_TRI, (int32_t[]){t[2], ca, bc}) &&
               td_mesh_add_cell(mesh, TD_CELL_TRI, (int32_t[]){ab, bc, ca});
    }
    free(table.pair);
    free(table.node);
    free(old.nodes);
    return good;
}

static bool group_surface(tdMesh *mesh)
{
    int group = td_mesh_group(mesh, "surface", 2, 1);
    for (int64_t i = 0; group >= 0 && i < mesh->cells[TD_CELL_TRI].count; i++)
        if (!td_mesh_group_add(mesh, group, TD_CELL_TRI, i))
            return false;
    return group >= 0;
}

tdStatus td_mesh_sphere_surface(const double center[3], double radius, int subdivisions, tdMesh *mesh, tdError *error)
{
    static const int32_t icosahedron[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                               {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                               {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                               {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
    if (!isfinite(radius) || radius <= 0 || !isfinite(center[0] + center[1] + center[2]))
        return td_fail(error, TD_ERROR_INPUT, "a sphere needs a finite center and a radius > 0, not %g", radius);
    if (subdivisions < 0 || subdivisions > 8)
        return td_fail(error, TD_ERROR_INPUT, "a sphere takes 0 to 8 subdivisions, not %d", subdivisions);
    // Corners (0, ±s, ±g) and their cyclic shifts, g/s the golden ratio, on the unit sphere.
    double golden = 0.5 * (1 + sqrt(5.0)), s = 1 / sqrt(1 + golden * golden), g = golden * s;
    const double corners[12][3] = {{-s, g, 0},  {s, g, 0},  {-s, -g, 0}, {s, -g, 0}, {0, -s, g},  {0, s, g},
                                   {0, -s, -g}, {0, s, -g}, {g, 0, -s},  {g, 0, s},  {-g, 0, -s}, {-g, 0, s}};
    bool good = true;
    for (int i = 0; good && i < 12; i++)
        good = td_mesh_add_node(mesh, corners[i][0], corners[i][1], corners[i][2]);
    for (int i = 0; good && i < 20; i++)
        good = td_mesh_add_cell(mesh, TD_CELL_TRI, icosahedron[i]);
    for (int i = 0; good && i < subdivisions; i++)
        good = subdivide(mesh);
    for (int64_t i = 0; good && i < mesh->n_nodes; i++)
        for (int k = 0; k < 3; k++)
            mesh->x[3 * i + k] = center[k] + radius * mesh->x[3 * i + k];
    return good && group_surface(mesh) ? TD_OK : td_fail_memory(error, "a sphere");
}

// ---------------------------------------------------------------- torus

tdStatus td_mesh_torus_surface(double major, double minor, int n_major, int n_minor, tdMesh *mesh, tdError *error)
{
    if (!isfinite(major) || !isfinite(minor) || !(minor > 0) || !(major > minor))
        return td_fail(error, TD_ERROR_INPUT, "a torus needs 0 < minor < major, not minor %g, major %g", minor, major);
    if (n_major < 3 || n_minor < 3 || n_major > 100000 || n_minor > 100000 || (int64_t)n_major * n_minor > 100000000)
        return td_fail(error, TD_ERROR_INPUT, "a torus takes 3 to 100000 points around each circle, not %d and %d",
                       n_major, n_minor);
    bool good = true;
    for (int i = 0; good && i < n_major; i++)
        for (int j = 0; good && j < n_minor; j++)
        {
            double a = TWO_PI * i / n_major, b = TWO_PI * j / n_minor, r = major + minor * cos(b);
            good = td_mesh_add_node(mesh, r * cos(a), r * sin(a), minor * sin(b));
        }
    for (int i = 0; good && i < n_major; i++)
        for (int j = 0; good && j < n_minor; j++)
        {
            int32_t a = i * n_minor + j, b = (i + 1) % n_major * n_minor + j;
            int32_t c = (i + 1) % n_major * n_minor + (j + 1) % n_minor, d = i * n_minor + (j + 1) % n_minor;
            good = td_mesh_add_cell(mesh, TD_CELL_TRI, (int32_t[]){a, b, c}) &&
                   td_mesh_add_cell(mesh, TD_CELL_TRI, (int32_t[]){a, c, d});
        }
    return good && group_surface(mesh) ? TD_OK : td_fail_memory(error, "a torus");
}
