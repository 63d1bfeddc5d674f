// SPDX-License-Identifier: Apache-2.0
#include "mesh/doctor.h"

#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Volumes are cubes of lengths and are squared once: beyond this the numbers overflow or vanish.
#define LARGEST_DIAGONAL  1e40
#define SMALLEST_DIAGONAL 1e-40

static void list_cell(tdCellList *list, tdCellType type, int64_t cell)
{
    if (list->n < TD_REPORT_LIST)
    {
        list->type[list->n] = type;
        list->cell[list->n++] = cell;
    }
    list->count++;
}

// ---------------------------------------------------------------- nodes

static tdStatus measure_box(const tdMesh *mesh, tdMeshReport *report, tdError *error)
{
    double square = 0;
    for (int k = 0; k < 3; k++)
    {
        report->min[k] = report->max[k] = mesh->x[k];
        for (int64_t i = 1; i < mesh->n_nodes; i++)
        {
            report->min[k] = fmin(report->min[k], mesh->x[3 * i + k]);
            report->max[k] = fmax(report->max[k], mesh->x[3 * i + k]);
        }
        double side = report->max[k] - report->min[k];
        square += side * side;
    }
    report->diagonal = sqrt(square);
    if (report->diagonal > LARGEST_DIAGONAL || (report->diagonal > 0 && report->diagonal < SMALLEST_DIAGONAL))
        return td_fail(error, TD_ERROR_INPUT,
                       "the mesh is %g across, so its volumes cannot be computed; scale it to a sensible unit",
                       report->diagonal);
    return TD_OK;
}

static tdStatus find_same_nodes(const tdMesh *mesh, tdMeshReport *report, tdError *error)
{
    int32_t *first = td_take((size_t)mesh->n_nodes, sizeof *first);
    if (first == NULL)
        return td_fail_memory(error, "the search for equal nodes");
    tdStatus status = td_mesh_equal_nodes(mesh, TD_NEARLY_SAME * report->diagonal, first, error);
    for (int64_t i = 0; status == TD_OK && i < mesh->n_nodes; i++)
    {
        if (first[i] == i)
            continue;
        const double *p = mesh->x + 3 * i, *q = mesh->x + 3 * (int64_t)first[i];
        bool exact = p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
        tdNodePairs *pairs = exact ? &report->same : &report->nearly_same;
        if (pairs->count++ == 0)
        {
            pairs->first[0] = first[i];
            pairs->first[1] = i;
        }
    }
    free(first);
    return status;
}

static tdStatus find_unused_nodes(const tdMesh *mesh, tdMeshReport *report, tdError *error)
{
    int8_t *dim = td_take((size_t)mesh->n_nodes, 1); // highest dimension of a cell at the node, + 1
    if (dim == NULL)
        return td_fail_memory(error, "the search for unused nodes");
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        int8_t d = (int8_t)(td_cell_dim((tdCellType)t) + 1);
        for (int64_t i = 0; i < mesh->cells[t].count * td_cell_nodes((tdCellType)t); i++)
            if (dim[mesh->cells[t].nodes[i]] < d)
                dim[mesh->cells[t].nodes[i]] = d;
    }
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        if (dim[i] == 0 && report->unused++ == 0)
            report->first_unused = i;
        report->loose += dim[i] > 0 && dim[i] <= report->dim;
    }
    free(dim);
    return TD_OK;
}

// ---------------------------------------------------------------- cells

typedef struct cellHash
{
    uint64_t hash;
    int64_t cell;
} cellHash;

static int compare_hashes(const void *first, const void *second)
{
    const cellHash *a = first, *b = second;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static void sorted_nodes(const tdCells *cells, int n, int64_t cell, int32_t out[10])
{
    for (int i = 0; i < n; i++)
    {
        int32_t node = cells->nodes[cell * n + i];
        int at = i;
        for (; at > 0 && out[at - 1] > node; at--)
            out[at] = out[at - 1];
        out[at] = node;
    }
}

static int compare_cell_numbers(const void *first, const void *second)
{
    int64_t a = *(const int64_t *)first, b = *(const int64_t *)second;
    return (a > b) - (a < b);
}

// Cells with the same set of nodes as an earlier one. Equal hashes are checked node by node against the
// first cell of their run, so a collision can hide a duplicate but never invent one.
static tdStatus find_duplicates(const tdMesh *mesh, tdCellType type, tdCellList *list, tdError *error)
{
    const tdCells *cells = &mesh->cells[type];
    int n = td_cell_nodes(type);
    cellHash *hashes = td_take((size_t)cells->count, sizeof *hashes);
    int64_t *found = td_take((size_t)cells->count, sizeof *found), n_found = 0;
    if (hashes == NULL || found == NULL)
    {
        free(hashes);
        free(found);
        return td_fail_memory(error, "the search for equal cells");
    }
    int32_t a[10] = {0}, b[10] = {0};
    for (int64_t c = 0; c < cells->count; c++)
    {
        uint64_t hash = 0;
        sorted_nodes(cells, n, c, a);
        for (int i = 0; i < n; i++)
        {
            hash = (hash ^ (uint64_t)a[i]) * 0x9E3779B97F4A7C15U;
            hash ^= hash >> 32;
        }
        hashes[c] = (cellHash){hash, c};
    }
    qsort(hashes, (size_t)cells->count, sizeof *hashes, compare_hashes);
    for (int64_t i = 1, run = 0; i < cells->count; i++)
    {
        if (hashes[i].hash != hashes[run].hash)
        {
            run = i;
            continue;
        }
        sorted_nodes(cells, n, hashes[run].cell, a);
        sorted_nodes(cells, n, hashes[i].cell, b);
        if (memcmp(a, b, (size_t)n * sizeof *a) == 0)
            found[n_found++] = hashes[i].cell;
    }
    qsort(found, (size_t)n_found, sizeof *found, compare_cell_numbers);
    for (int64_t i = 0; i < n_found; i++)
        list_cell(list, type, found[i]);
    free(hashes);
    free(found);
    return TD_OK;
}

static void judge_cells(const tdMesh *mesh, tdCellType type, tdMeshReport *report)
{
    tdQuality *q = &report->quality[type];
    bool solid = td_cell_dim(type) == 3;
    q->count = mesh->cells[type].count;
    q->min = q->count > 0 ? INFINITY : 0;
    double sum = 0;
    for (int64_t c = 0; c < q->count; c++)
    {
        double quality = td_cell_quality(mesh, type, c);
        int bin = (int)(quality * TD_REPORT_BINS);
        q->bins[bin < TD_REPORT_BINS ? bin : TD_REPORT_BINS - 1]++;
        sum += quality;
        if (quality < q->min)
        {
            q->min = quality;
            q->worst = c;
        }
        double volume = solid ? td_cell_volume(mesh, type, c) : 1;
        report->volume += solid ? volume : 0;
        // A hexahedron can have a positive volume and a corner turned inside out.
        if (volume <= 0 || (type == TD_CELL_HEX && quality <= 0))
            list_cell(&report->inverted, type, c);
        else if (quality < TD_DEGENERATE)
            list_cell(&report->degenerate, type, c);
    }
    q->mean = q->count > 0 ? sum / (double)q->count : 0;
}

static void measure_edges(const tdMesh *mesh, tdMeshReport *report)
{
    static const int8_t line[] = {0, 1}, tri[] = {0, 1, 1, 2, 2, 0}, quad[] = {0, 1, 1, 2, 2, 3, 3, 0};
    static const int8_t tet[] = {0, 1, 1, 2, 2, 0, 0, 3, 1, 3, 2, 3};
    static const int8_t hex[] = {0, 1, 1, 2, 2, 3, 3, 0, 4, 5, 5, 6, 6, 7, 7, 4, 0, 4, 1, 5, 2, 6, 3, 7};
    static const struct
    {
        int n;
        const int8_t *ends;
    } edges[TD_CELL_TYPES] = {[TD_CELL_LINE] = {1, line}, [TD_CELL_TRI] = {3, tri},  [TD_CELL_QUAD] = {4, quad},
                              [TD_CELL_TET] = {6, tet},   [TD_CELL_HEX] = {12, hex}, [TD_CELL_TET10] = {6, tet}};
    double sum = 0, least = INFINITY;
    int64_t count = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t c = 0; td_cell_dim((tdCellType)t) == report->dim && c < mesh->cells[t].count; c++)
            for (int e = 0; e < edges[t].n; e++, count++)
            {
                const int32_t *nodes = mesh->cells[t].nodes + c * td_cell_nodes((tdCellType)t);
                const double *p = mesh->x + 3 * (int64_t)nodes[edges[t].ends[2 * e]];
                const double *q = mesh->x + 3 * (int64_t)nodes[edges[t].ends[2 * e + 1]];
                double d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
                double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
                sum += length;
                least = fmin(least, length);
                report->edge_max = fmax(report->edge_max, length);
            }
    report->edge_min = count > 0 ? least : 0;
    report->edge_mean = count > 0 ? sum / (double)count : 0;
}

static tdStatus examine_surface(const tdMesh *mesh, tdMeshReport *report, tdError *error)
{
    if (report->dim == 3)
    {
        tdSurface faces = {0};
        TD_TRY(td_mesh_boundary_faces(mesh, &faces, error));
        report->boundary_tris = faces.n_tris;
        report->crowded_faces = faces.crowded;
        tdStatus status = td_surface_check(mesh->n_nodes, mesh->x, faces.n_tris, faces.tris, &report->surface, error);
        td_surface_free(&faces);
        report->area = report->surface.area;
        return status;
    }
    if (report->dim != 2)
        return TD_OK;
    tdMesh surface = {0};
    tdStatus status = td_mesh_boundary(mesh, &surface, error);
    if (status == TD_OK)
        status = td_surface_check(surface.n_nodes, surface.x, surface.cells[TD_CELL_TRI].count,
                                  surface.cells[TD_CELL_TRI].nodes, &report->surface, error);
    report->boundary_tris = surface.cells[TD_CELL_TRI].count;
    td_mesh_free(&surface);
    report->area = report->surface.area;
    report->volume = report->surface.closed ? report->surface.volume : 0;
    return status;
}

// ---------------------------------------------------------------- advice

static tdMeshProblem *add_problem(tdMeshReport *report, bool blocks, const char *advice)
{
    tdMeshProblem *problem = &report->problem[report->n_problems];
    if (report->n_problems < TD_REPORT_PROBLEMS - 1)
        report->n_problems++;
    problem->blocks = blocks;
    snprintf(problem->advice, sizeof problem->advice, "%s", advice);
    return problem;
}

TD_PRINTF(4, 5)
static void tell(tdMeshReport *report, bool blocks, const char *advice, const char *format, ...)
{
    tdMeshProblem *problem = add_problem(report, blocks, advice);
    va_list args;
    va_start(args, format);
    vsnprintf(problem->what, sizeof problem->what, format, args);
    va_end(args);
}

static void tell_cells(tdMeshReport *report, const tdCellList *list, const char *fault, const char *advice)
{
    if (list->count > 0)
        tell(report, true, advice, "%lld %s cell%s; the first is number %lld of the %s", (long long)list->count, fault,
             list->count == 1 ? "" : "s", (long long)list->cell[0], td_cell_name(list->type[0]));
}

static void advise_on_nodes(tdMeshReport *r)
{
    const char *merge = "unmerged, the body comes apart there: 'tendril convert IN OUT --merge' joins them";
    if (r->same.count > 0)
        tell(r, true, merge, "%lld nodes are exactly at the place of an earlier one; the first is %lld, equal to %lld",
             (long long)r->same.count, (long long)r->same.first[1], (long long)r->same.first[0]);
    if (r->nearly_same.count > 0)
        tell(r, true, merge, "%lld nodes are nearly at the place of an earlier one; the first is %lld, next to %lld",
             (long long)r->nearly_same.count, (long long)r->nearly_same.first[1], (long long)r->nearly_same.first[0]);
    if (r->unused > 0)
        tell(r, false, "they carry no mass and are left out of a simulation; remove them to avoid confusion",
             "%lld nodes belong to no cell; the first is %lld", (long long)r->unused, (long long)r->first_unused);
    if (r->loose > 0)
        tell(r, false, "check that points, lines or faces apart from the body are intended",
             "%lld nodes belong to cells of lower dimension only, not to the %s", (long long)r->loose,
             r->dim == 3 ? "volume" : "surface");
}

static void advise_on_surface(tdMeshReport *r)
{
    const tdSurfaceCheck *s = &r->surface;
    bool solid = r->dim == 3;
    const char *what = solid ? "boundary" : "surface";
    if (r->crowded_faces > 0)
        tell(r, true, "cells overlap there: remove the doubled ones", "%lld faces are shared by more than two cells",
             (long long)r->crowded_faces);
    if (s->open > 0)
        tell(r, solid,
             solid ? "this happens where hexahedra meet tetrahedra or cells are collapsed: remesh the body"
                   : "fill the holes and merge equal vertices if it is to enclose a body or a cavity; a membrane may "
                     "be open",
             "the %s is open: %lld edges have one triangle only, the first at (%g, %g, %g)", what, (long long)s->open,
             s->open_at[0], s->open_at[1], s->open_at[2]);
    if (s->crowded > 0)
        tell(r, false, solid ? "parts touch along an edge only: join them or move them apart" : "remove inner walls",
             "the %s is not manifold: %lld edges have more than two triangles, the first at (%g, %g, %g)", what,
             (long long)s->crowded, s->crowded_at[0], s->crowded_at[1], s->crowded_at[2]);
    if (s->flipped > 0)
        tell(r, false, solid ? "repair the inverted cells" : "make the normals point outwards everywhere",
             "%lld edges of the %s lie between triangles that face opposite ways, the first at (%g, %g, %g)",
             (long long)s->flipped, what, s->flipped_at[0], s->flipped_at[1], s->flipped_at[2]);
    if (!solid && s->closed && s->volume < 0)
        tell(r, false, "reverse all triangles if it bounds a body; a cavity may face inwards",
             "the surface is inside out: it encloses %g", s->volume);
}

static void write_advice(const tdMesh *mesh, tdMeshReport *r)
{
    int64_t solids = r->count[TD_CELL_TET] + r->count[TD_CELL_HEX] + r->count[TD_CELL_TET10];
    if (r->dim < 3)
        tell(r, false, "turn a closed surface into a body with 'tendril mesh FILE -o BODY.msh --size H'",
             "there are no volume cells: the mesh can be a surface but not a solid body");
    if (r->inverted.count == solids && r->volume < 0)
        tell_cells(r, &r->inverted, "inverted (all of them)",
                   "the file numbers nodes the other way round: 'tendril convert IN OUT --orient' turns them");
    else
        tell_cells(
            r, &r->inverted, "inverted or flat",
            "mesh the body anew, finer or with optimization; if only the numbering is mirrored, 'tendril convert "
            "IN OUT --orient' turns them");
    tell_cells(r, &r->degenerate, "degenerate", "they ruin accuracy and the time step: mesh anew with optimization");
    tell_cells(r, &r->duplicate, "repeated", "remove them: their mass and stiffness would count twice");
    if (r->lower_repeats > 0)
        tell(r, false,
             "harmless unless a pressure or a membrane uses them; MSH 2.2 repeats a face for each of its groups",
             "%lld faces or lines are repeated", (long long)r->lower_repeats);
    advise_on_nodes(r);
    advise_on_surface(r);
    if (r->components > 1)
        tell(r, false, "if it should be one body, its parts are not joined: merge nodes or fuse the geometry",
             "the mesh falls into %lld parts that share no node", (long long)r->components);
    for (int g = 0; g < mesh->n_groups; g++)
    {
        int64_t total = 0;
        for (int t = 0; t < TD_CELL_TYPES; t++)
            total += mesh->groups[g].count[t];
        if (total > 0)
            continue;
        tell(r, false, "a scene that names it would select nothing; remove it or fill it", "group '%.60s' is empty",
             mesh->groups[g].name);
        break; // one example is enough; the list of groups shows them all
    }
}

tdStatus td_mesh_examine(const tdMesh *mesh, tdMeshReport *report, tdError *error)
{
    *report = (tdMeshReport){.n_nodes = mesh->n_nodes};
    TD_TRY(td_mesh_check(mesh, NULL, error));
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        report->count[t] = mesh->cells[t].count;
        if (report->count[t] > 0 && td_cell_dim((tdCellType)t) > report->dim)
            report->dim = td_cell_dim((tdCellType)t);
    }
    TD_TRY(measure_box(mesh, report, error));
    TD_TRY(find_same_nodes(mesh, report, error));
    TD_TRY(find_unused_nodes(mesh, report, error));
    for (int t = TD_CELL_LINE; t < TD_CELL_TYPES; t++)
    {
        tdCellList lower = {0};
        bool top = td_cell_dim((tdCellType)t) == report->dim;
        TD_TRY(find_duplicates(mesh, (tdCellType)t, top ? &report->duplicate : &lower, error));
        report->lower_repeats += lower.count;
    }
    for (int t = TD_CELL_TRI; t < TD_CELL_TYPES; t++)
        judge_cells(mesh, (tdCellType)t, report);
    measure_edges(mesh, report);
    TD_TRY(td_mesh_components(mesh, report->dim, &report->components, NULL, error));
    TD_TRY(examine_surface(mesh, report, error));
    write_advice(mesh, report);
    return TD_OK;
}
