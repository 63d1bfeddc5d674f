// SPDX-License-Identifier: Apache-2.0
// VTK's cells and labels -> cells by type and named groups; the names of arrays.
#include "mesh/vtk.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A label array with more values than this is no label: it would only make useless groups.
#define MOST_LABELS 4096

enum
{
    VTK_EMPTY = 0,
    VTK_VERTEX = 1,
    VTK_POLY_VERTEX = 2,
    VTK_LINE = 3,
    VTK_POLY_LINE = 4,
    VTK_TRIANGLE = 5,
    VTK_TRIANGLE_STRIP = 6,
    VTK_POLYGON = 7,
    VTK_PIXEL = 8,
    VTK_QUAD = 9,
    VTK_TETRA = 10,
    VTK_VOXEL = 11,
    VTK_HEXAHEDRON = 12,
    VTK_QUADRATIC_TETRA = 24
};

const uint8_t td_vtk_cell_codes[TD_CELL_TYPES] = {
    [TD_CELL_VERTEX] = VTK_VERTEX,
    [TD_CELL_LINE] = VTK_LINE,
    [TD_CELL_TRI] = VTK_TRIANGLE,
    [TD_CELL_QUAD] = VTK_QUAD,
    [TD_CELL_TET] = VTK_TETRA,
    [TD_CELL_HEX] = VTK_HEXAHEDRON,
    [TD_CELL_TET10] = VTK_QUADRATIC_TETRA,
};

// Cells that we do not hold. Those of the boundary carry no matter and are passed over with a note;
// to leave out part of a volume would change the body, so that is an error.
static const struct
{
    int type;
    bool volume;
    const char *name;
} foreign_cells[] = {
    {VTK_EMPTY, false, "empty cell"},
    {21, false, "quadratic edge"},
    {22, false, "quadratic triangle"},
    {23, false, "quadratic quadrilateral"},
    {28, false, "biquadratic quadrilateral"},
    {30, false, "quadratic linear quadrilateral"},
    {34, false, "biquadratic triangle"},
    {35, false, "cubic line"},
    {36, false, "quadratic polygon"},
    {68, false, "Lagrange curve"},
    {69, false, "Lagrange triangle"},
    {70, false, "Lagrange quadrilateral"},
    {75, false, "Bezier curve"},
    {76, false, "Bezier triangle"},
    {77, false, "Bezier quadrilateral"},
    {13, true, "wedge"},
    {14, true, "pyramid"},
    {15, true, "pentagonal prism"},
    {16, true, "hexagonal prism"},
    {25, true, "quadratic hexahedron"},
    {26, true, "quadratic wedge"},
    {27, true, "quadratic pyramid"},
    {29, true, "triquadratic hexahedron"},
    {31, true, "quadratic linear wedge"},
    {32, true, "biquadratic quadratic wedge"},
    {33, true, "biquadratic quadratic hexahedron"},
    {37, true, "triquadratic pyramid"},
    {41, true, "convex point set"},
    {42, true, "polyhedron"},
    {71, true, "Lagrange tetrahedron"},
    {72, true, "Lagrange hexahedron"},
    {73, true, "Lagrange wedge"},
    {74, true, "Lagrange pyramid"},
    {78, true, "Bezier tetrahedron"},
    {79, true, "Bezier hexahedron"},
    {80, true, "Bezier wedge"},
    {81, true, "Bezier pyramid"},
};

#define N_FOREIGN ((int)(sizeof foreign_cells / sizeof foreign_cells[0]))

// ---------------------------------------------------------------- cells

static tdStatus add(tdVtkCells *cells, tdCellType type, const int32_t *nodes, tdError *error)
{
    int64_t k = cells->mesh->cells[type].count;
    if (!td_grow((void **)&cells->source[type], &cells->capacity[type], k + 1, sizeof(int32_t)) ||
        !td_mesh_add_cell(cells->mesh, type, nodes))
        return td_fail_memory(error, "the cells of a mesh");
    cells->source[type][k] = (int32_t)cells->n;
    return TD_OK;
}

static tdStatus wrong_count(const tdVtkCells *cells, int vtk_type, int64_t n, const char *expected, tdError *error)
{
    return td_fail_at(error, TD_ERROR_INPUT, cells->file, cells->line, "cells",
                      "cell %lld (from 0) of VTK type %d has %lld nodes, expected %s; export the file again",
                      (long long)cells->n, vtk_type, (long long)n, expected);
}

static tdStatus foreign(tdVtkCells *cells, int vtk_type, tdError *error)
{
    const char *name = "unknown cell type";
    for (int i = 0; i < N_FOREIGN; i++)
    {
        if (foreign_cells[i].type != vtk_type)
            continue;
        if (!foreign_cells[i].volume)
        {
            cells->passed[vtk_type]++;
            return TD_OK;
        }
        name = foreign_cells[i].name;
    }
    return td_fail_at(error, TD_ERROR_INPUT, cells->file, cells->line, "cells",
                      "cell %lld (from 0) has VTK type %d (%s), which is not supported; mesh the body with tetrahedra "
                      "(types 10 and 24) or hexahedra (type 12), or split such cells before exporting",
                      (long long)cells->n, vtk_type, name);
}

// Cells with any number of nodes, cut into what we hold.
static tdStatus add_many(tdVtkCells *cells, int vtk_type, const int32_t *v, int64_t n, tdError *error)
{
    int64_t least = vtk_type == VTK_POLY_VERTEX ? 1 : vtk_type == VTK_POLY_LINE ? 2 : 3;
    if (n < least)
        return wrong_count(cells, vtk_type, n,
                           least == 1   ? "1 or more"
                           : least == 2 ? "2 or more"
                                        : "3 or more",
                           error);
    if (vtk_type == VTK_POLYGON && n == 4)
        return add(cells, TD_CELL_QUAD, v, error);
    cells->fans += vtk_type == VTK_POLYGON && n > 4;
    for (int64_t i = 0; i <= n - least; i++)
    {
        if (vtk_type == VTK_POLY_VERTEX)
            TD_TRY(add(cells, TD_CELL_VERTEX, v + i, error));
        else if (vtk_type == VTK_POLY_LINE)
            TD_TRY(add(cells, TD_CELL_LINE, v + i, error));
        else if (vtk_type == VTK_POLYGON)
            TD_TRY(add(cells, TD_CELL_TRI, (int32_t[]){v[0], v[i + 1], v[i + 2]}, error));
        else // every other triangle of a strip turns the other way round
            TD_TRY(add(cells, TD_CELL_TRI, (int32_t[]){v[i], v[i + 1 + i % 2], v[i + 2 - i % 2]}, error));
    }
    return TD_OK;
}

static tdStatus add_fixed(tdVtkCells *cells, int vtk_type, tdCellType type, const int32_t *v, int64_t n, tdError *error)
{
    static const char *const names[] = {[1] = "1", [2] = "2", [3] = "3", [4] = "4", [8] = "8", [10] = "10"};
    if (n != td_cell_nodes(type))
        return wrong_count(cells, vtk_type, n, names[td_cell_nodes(type)], error);
    if (vtk_type == VTK_PIXEL)
        return add(cells, type, (int32_t[]){v[0], v[1], v[3], v[2]}, error);
    if (vtk_type == VTK_VOXEL)
        return add(cells, type, (int32_t[]){v[0], v[1], v[3], v[2], v[4], v[5], v[7], v[6]}, error);
    return add(cells, type, v, error);
}

static tdStatus add_any(tdVtkCells *cells, int vtk_type, const int32_t *nodes, int64_t n_nodes, tdError *error)
{
    switch (vtk_type)
    {
    case VTK_POLY_VERTEX:
    case VTK_POLY_LINE:
    case VTK_TRIANGLE_STRIP:
    case VTK_POLYGON: return add_many(cells, vtk_type, nodes, n_nodes, error);
    case VTK_VERTEX: return add_fixed(cells, vtk_type, TD_CELL_VERTEX, nodes, n_nodes, error);
    case VTK_LINE: return add_fixed(cells, vtk_type, TD_CELL_LINE, nodes, n_nodes, error);
    case VTK_TRIANGLE: return add_fixed(cells, vtk_type, TD_CELL_TRI, nodes, n_nodes, error);
    case VTK_PIXEL:
    case VTK_QUAD: return add_fixed(cells, vtk_type, TD_CELL_QUAD, nodes, n_nodes, error);
    case VTK_TETRA: return add_fixed(cells, vtk_type, TD_CELL_TET, nodes, n_nodes, error);
    case VTK_VOXEL:
    case VTK_HEXAHEDRON: return add_fixed(cells, vtk_type, TD_CELL_HEX, nodes, n_nodes, error);
    case VTK_QUADRATIC_TETRA: return add_fixed(cells, vtk_type, TD_CELL_TET10, nodes, n_nodes, error);
    default: return foreign(cells, vtk_type, error);
    }
}

tdStatus td_vtk_cell_add(tdVtkCells *cells, double vtk_type, const double *nodes, int64_t n_nodes, int64_t first_node,
                         int64_t n_points, tdError *error)
{
    if (cells->n >= INT32_MAX)
        return td_fail_at(error, TD_ERROR_INPUT, cells->file, cells->line, "cells", "more than %d cells", INT32_MAX);
    if (!(vtk_type >= 0 && vtk_type <= 255) || vtk_type != (double)(int)vtk_type)
        return td_fail_at(error, TD_ERROR_INPUT, cells->file, cells->line, "cells",
                          "cell %lld (from 0) has the type %.17g; VTK's types go from 0 to 255", (long long)cells->n,
                          vtk_type);
    if (!td_grow((void **)&cells->ids, &cells->ids_capacity, n_nodes, sizeof(int32_t)))
        return td_fail_memory(error, "the cells of a mesh");
    for (int64_t i = 0; i < n_nodes; i++)
    {
        // The range comes first (and fails for NaN), so that the cast is safe.
        if (!(nodes[i] >= 0 && nodes[i] < (double)n_points) || nodes[i] != (double)(int32_t)nodes[i])
            return td_fail_at(error, TD_ERROR_INPUT, cells->file, cells->line, "cells",
                              "cell %lld (from 0) names node %.17g, but nodes go from 0 to %lld", (long long)cells->n,
                              nodes[i], (long long)n_points - 1);
        cells->ids[i] = (int32_t)(first_node + (int64_t)nodes[i]);
    }
    TD_TRY(add_any(cells, (int)vtk_type, cells->ids, n_nodes, error));
    cells->n++;
    return TD_OK;
}

void td_vtk_cells_note(tdVtkCells *cells)
{
    for (int i = 0; i < N_FOREIGN; i++)
    {
        int64_t count = cells->passed[foreign_cells[i].type];
        if (count > 0)
            td_mesh_note(cells->mesh, "skipped %lld cells of VTK type %d (%s)", (long long)count, foreign_cells[i].type,
                         foreign_cells[i].name);
    }
    if (cells->fans > 0)
        td_mesh_note(cells->mesh, "cut %lld polygons of more than four corners into triangles from their first corner",
                     (long long)cells->fans);
}

void td_vtk_cells_free(tdVtkCells *cells)
{
    for (int t = 0; t < TD_CELL_TYPES; t++)
        free(cells->source[t]);
    free(cells->ids);
    *cells = (tdVtkCells){0};
}

int64_t td_vtk_cells_total(const tdMesh *mesh)
{
    int64_t total = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        total += mesh->cells[t].count;
    return total;
}

void td_vtk_cells_permute(const tdVtkCells *cells, int components, const double *in, double *out)
{
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t k = 0; k < cells->mesh->cells[t].count; k++, out += components)
            memcpy(out, in + (int64_t)cells->source[t][k] * components, (size_t)components * sizeof(double));
}

// ---------------------------------------------------------------- groups

static bool is_label(const char *name)
{
    return strcmp(name, "gmsh:physical") == 0 || strcmp(name, "CellEntityIds") == 0 || strcmp(name, "medit:ref") == 0;
}

bool td_vtk_is_group(const char *name, tdVtkType type, int components)
{
    if (components != 1)
        return false;
    return strncmp(name, TD_VTK_GROUP, strlen(TD_VTK_GROUP)) == 0 || (is_label(name) && td_vtk_type_integer(type));
}

// Two arrays may name the same group, so members can come out of order: td_vtk_finish_groups() sorts.
static bool append_member(tdGroup *group, tdCellType type, int64_t cell)
{
    int64_t n = group->count[type];
    if (!td_grow((void **)&group->cells[type], &group->capacity[type], n + 1, sizeof(int32_t)))
        return false;
    group->cells[type][n] = (int32_t)cell;
    group->count[type]++;
    return true;
}

static int compare_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int64_t sort_unique(int32_t *list, int64_t n)
{
    bool ascending = true;
    for (int64_t i = 1; i < n && ascending; i++)
        ascending = list[i - 1] < list[i];
    if (ascending)
        return n;
    qsort(list, (size_t)n, sizeof *list, compare_int32);
    int64_t kept = 1;
    for (int64_t i = 1; i < n; i++)
        if (list[i] != list[kept - 1])
            list[kept++] = list[i];
    return kept;
}

// The different labels of an array, sorted; returns why they make no groups, NULL if they do.
static const char *collect_labels(const tdVtkCells *cells, const double *values, int32_t *labels, int *n)
{
    *n = 0;
    for (int64_t i = 0; i < cells->n; i++)
    {
        if (!(values[i] >= INT32_MIN && values[i] <= INT32_MAX))
            return "a value does not fit into 32 bits";
        int32_t label = (int32_t)values[i];
        int low = 0, high = *n;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (labels[middle] < label)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < *n && labels[low] == label)
            continue;
        if (*n == MOST_LABELS)
            return "it has thousands of different values";
        memmove(labels + low + 1, labels + low, (size_t)(*n - low) * sizeof *labels);
        labels[low] = label;
        ++*n;
    }
    return NULL;
}

static tdStatus take_labels(tdVtkCells *cells, const char *name, const double *values, tdError *error)
{
    int32_t labels[MOST_LABELS];
    int groups[MOST_LABELS];
    int n = 0;
    const char *reason = collect_labels(cells, values, labels, &n);
    if (reason != NULL)
    {
        td_mesh_note(cells->mesh, "made no groups of '%.80s': %s", name, reason);
        return TD_OK;
    }
    for (int i = 0; i < n; i++)
    {
        char group[40];
        snprintf(group, sizeof group, "physical_%d", labels[i]);
        groups[i] = labels[i] == 0 ? -1 : td_mesh_group(cells->mesh, group, -1, labels[i]);
        if (groups[i] < 0 && labels[i] != 0)
            return td_fail_memory(error, "the groups of a mesh");
    }
    int64_t unlabelled = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t k = 0; k < cells->mesh->cells[t].count; k++)
        {
            int32_t label = (int32_t)values[cells->source[t][k]];
            unlabelled += label == 0;
            const int32_t *found = bsearch(&label, labels, (size_t)n, sizeof *labels, compare_int32);
            if (label != 0 && !append_member(&cells->mesh->groups[groups[found - labels]], (tdCellType)t, k))
                return td_fail_memory(error, "the groups of a mesh");
        }
    if (unlabelled > 0)
        td_mesh_note(cells->mesh, "%lld cells have '%.80s' 0, which means no group", (long long)unlabelled, name);
    return TD_OK;
}

tdStatus td_vtk_take_groups(tdVtkCells *cells, const char *name, const double *values, tdError *error)
{
    if (is_label(name))
        return take_labels(cells, name, values, error);
    int group = td_mesh_group(cells->mesh, name + strlen(TD_VTK_GROUP), -1, 0);
    if (group < 0)
        return td_fail_memory(error, "the groups of a mesh");
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t k = 0; k < cells->mesh->cells[t].count; k++)
            if (values[cells->source[t][k]] != 0 && !append_member(&cells->mesh->groups[group], (tdCellType)t, k))
                return td_fail_memory(error, "the groups of a mesh");
    return TD_OK;
}

void td_vtk_finish_groups(tdMesh *mesh)
{
    for (int g = 0; g < mesh->n_groups; g++)
    {
        tdGroup *group = &mesh->groups[g];
        int dims = 0;
        for (int t = 0; t < TD_CELL_TYPES; t++)
        {
            group->count[t] = sort_unique(group->cells[t], group->count[t]);
            if (group->count[t] > 0)
                dims |= 1 << td_cell_dim((tdCellType)t);
        }
        group->dim = __builtin_popcount((unsigned)dims) == 1 ? __builtin_ctz((unsigned)dims) : -1;
    }
}

void td_vtk_group_bytes(const tdMesh *mesh, int group, uint8_t *out)
{
    const tdGroup *g = &mesh->groups[group];
    memset(out, 0, (size_t)td_vtk_cells_total(mesh));
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        for (int64_t i = 0; i < g->count[t]; i++)
            out[g->cells[t][i]] = 1;
        out += mesh->cells[t].count;
    }
}

// ---------------------------------------------------------------- names

static void percent(tdText *text, unsigned char c)
{
    td_text_format(text, "%%%02X", c);
}

void td_vtk_encode_name(tdText *text, const char *name)
{
    for (; *name != '\0'; name++)
    {
        unsigned char c = (unsigned char)*name;
        if (c < 33 || c > 126 || c == '"' || c == '%')
            percent(text, c);
        else
            td_text_append(text, name, 1);
    }
}

// Length of the well-formed UTF-8 character at c, 0 if there is none that XML may hold.
static int utf8_length(const unsigned char *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = c[0] >= 0xF0 && c[0] <= 0xF4 ? 4 : c[0] >= 0xE0 && c[0] < 0xF0 ? 3 : c[0] >= 0xC2 && c[0] < 0xE0 ? 2 : 0;
    uint32_t code = n == 0 ? 0 : c[0] & (0xFFu >> (n + 1));
    for (int i = 1; i < n; i++)
    {
        if ((c[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3F);
    }
    bool good = n > 0 && code >= least[n] && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF) &&
                code != 0xFFFE && code != 0xFFFF;
    return good ? n : 0;
}

void td_vtk_encode_xml(tdText *text, const char *name)
{
    for (; *name != '\0'; name++)
    {
        unsigned char c = (unsigned char)*name;
        int wide = c >= 0x80 ? utf8_length((const unsigned char *)name) : 0;
        if (wide > 0)
        {
            td_text_append(text, name, (size_t)wide);
            name += wide - 1;
        }
        else if (c < 32 || c > 126)
            percent(text, c);
        // A percent sign needs it only where it would be taken for the start of %XX.
        else if (c == '%' && isxdigit((unsigned char)name[1]) && isxdigit((unsigned char)name[2]))
            percent(text, c);
        else if (c == '&' || c == '<' || c == '>' || c == '"')
            td_text_format(text, "&#%d;", c);
        else
            td_text_append(text, name, 1);
    }
}

void td_vtk_decode_name(char *name)
{
    char *out = name;
    for (; *name != '\0'; name++)
    {
        unsigned value = 0;
        if (name[0] == '%' && isxdigit((unsigned char)name[1]) && isxdigit((unsigned char)name[2]) &&
            sscanf(name + 1, "%2x", &value) == 1 && value != 0)
        {
            *out++ = (char)value;
            name += 2;
        }
        else
            *out++ = *name;
    }
    *out = '\0';
}
