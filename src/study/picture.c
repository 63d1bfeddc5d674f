// SPDX-License-Identifier: Apache-2.0
#include "study/picture.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "body/soft.h"
#include "core/parts.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void td_picture_free(tdPicture *p)
{
    td_mesh_free(&p->mesh);
    td_fields_free(&p->fields);
    free(p->tris);
    free(p->cell);
    free(p->edge_mask);
    free(p->rest);
    free(p->values);
}

// ---------------------------------------------------------------- surface

static int64_t cells_before(const tdMesh *mesh, tdCellType type)
{
    int64_t n = 0;
    for (int t = 0; t < (int)type; t++)
        n += mesh->cells[t].count;
    return n;
}

// The cell with this number among all cells; its type and its nodes.
static const int32_t *cell_nodes(const tdMesh *mesh, int64_t cell, tdCellType *type)
{
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        if (cell < mesh->cells[t].count)
        {
            *type = (tdCellType)t;
            return mesh->cells[t].nodes + cell * td_cell_nodes((tdCellType)t);
        }
        cell -= mesh->cells[t].count;
    }
    *type = TD_CELL_TYPES;
    return NULL;
}

// Whether two local nodes of a cell are joined by one of its edges. A face that was cut into
// triangles has edges that are not.
static bool cell_has_edge(tdCellType type, int a, int b)
{
    switch (type)
    {
    case TD_CELL_HEX:
        if (a / 4 != b / 4)
            return a % 4 == b % 4;
        return (b - a + 4) % 4 != 2;
    case TD_CELL_QUAD: return (b - a + 4) % 4 != 2;
    case TD_CELL_TET10: return (a < 4) != (b < 4);
    default: return true;
    }
}

static uint8_t edges_of(const tdMesh *mesh, int64_t cell, const int32_t tri[3])
{
    tdCellType type;
    const int32_t *nodes = cell_nodes(mesh, cell, &type);
    if (nodes == NULL)
        return 7;
    int local[3] = {0}, n = td_cell_nodes(type);
    for (int c = 0; c < 3; c++)
        while (local[c] < n - 1 && nodes[local[c]] != tri[c])
            local[c]++;
    uint8_t mask = 0;
    for (int c = 0; c < 3; c++)
        if (cell_has_edge(type, local[c], local[(c + 1) % 3]))
            mask |= (uint8_t)(1u << c);
    return mask;
}

static bool has_volume(const tdMesh *mesh)
{
    return mesh->cells[TD_CELL_TET].count + mesh->cells[TD_CELL_HEX].count + mesh->cells[TD_CELL_TET10].count > 0;
}

static bool surface_room(tdPicture *p)
{
    p->tris = td_take((size_t)p->n_tris * 3, sizeof(int32_t));
    p->cell = td_take((size_t)p->n_tris, sizeof(int32_t));
    p->edge_mask = td_take((size_t)p->n_tris, 1);
    return p->tris != NULL && p->cell != NULL && p->edge_mask != NULL;
}

// The nodes of volume cells.
static bool *nodes_of_volume(const tdMesh *mesh)
{
    bool *inside = td_take((size_t)mesh->n_nodes, sizeof *inside);
    for (int t = 0; t < TD_CELL_TYPES && inside != NULL; t++)
        for (int64_t i = 0; td_cell_dim((tdCellType)t) == 3 && i < mesh->cells[t].count * td_cell_nodes((tdCellType)t);
             i++)
            inside[mesh->cells[t].nodes[i]] = true;
    return inside;
}

// The boundary of the volume cells, and triangles that do not lie on them: membranes, plane bodies of a scene.
static tdStatus take_volume(tdPicture *p, tdError *error)
{
    tdSurface surface = {0};
    const tdCells *tri = &p->mesh.cells[TD_CELL_TRI];
    bool *inside = nodes_of_volume(&p->mesh);
    tdStatus status =
        inside != NULL ? td_mesh_boundary_faces(&p->mesh, &surface, error) : td_fail_memory(error, "the surface");
    if (status == TD_OK)
    {
        p->n_tris = surface.n_tris + tri->count;
        if (!surface_room(p))
            status = td_fail_memory(error, "the surface");
    }
    int32_t first = (int32_t)cells_before(&p->mesh, TD_CELL_TET);
    for (int64_t t = 0; status == TD_OK && t < surface.n_tris; t++)
    {
        memcpy(p->tris + 3 * t, surface.tris + 3 * t, 3 * sizeof(int32_t));
        p->cell[t] = first + surface.cell[t];
    }
    p->n_tris = surface.n_tris;
    int32_t first_tri = (int32_t)cells_before(&p->mesh, TD_CELL_TRI);
    for (int64_t i = 0; status == TD_OK && i < tri->count; i++)
    {
        const int32_t *n = tri->nodes + 3 * i;
        if (inside[n[0]] && inside[n[1]] && inside[n[2]])
            continue;
        memcpy(p->tris + 3 * p->n_tris, n, 3 * sizeof(int32_t));
        p->cell[p->n_tris++] = first_tri + (int32_t)i;
    }
    free(inside);
    td_surface_free(&surface);
    return status;
}

// A mesh of triangles and quadrilaterals is drawn as it is.
static tdStatus take_surface(tdPicture *p, tdError *error)
{
    const tdCells *tri = &p->mesh.cells[TD_CELL_TRI], *quad = &p->mesh.cells[TD_CELL_QUAD];
    p->n_tris = tri->count + 2 * quad->count;
    if (!surface_room(p))
        return td_fail_memory(error, "the surface");
    int32_t first_tri = (int32_t)cells_before(&p->mesh, TD_CELL_TRI), *out = p->tris;
    int32_t first_quad = (int32_t)cells_before(&p->mesh, TD_CELL_QUAD), *cell = p->cell;
    for (int64_t i = 0; i < tri->count; i++, out += 3)
    {
        memcpy(out, tri->nodes + 3 * i, 3 * sizeof(int32_t));
        *cell++ = first_tri + (int32_t)i;
    }
    for (int64_t i = 0; i < quad->count; i++, out += 6)
    {
        const int32_t *q = quad->nodes + 4 * i;
        memcpy(out, (int32_t[]){q[0], q[1], q[2], q[0], q[2], q[3]}, 6 * sizeof(int32_t));
        *cell++ = first_quad + (int32_t)i;
        *cell++ = first_quad + (int32_t)i;
    }
    return TD_OK;
}

tdStatus td_picture_surface(tdPicture *p, const char *path, tdError *error)
{
    TD_TRY(has_volume(&p->mesh) ? take_volume(p, error) : take_surface(p, error));
    if (p->n_tris == 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL,
                          "there is no surface to draw: the mesh has no triangles, quadrilaterals or volume cells");
    for (int64_t t = 0; t < p->n_tris; t++)
        p->edge_mask[t] = edges_of(&p->mesh, p->cell[t], p->tris + 3 * t);
    return TD_OK;
}

// ---------------------------------------------------------------- files

// Whether an element of a body is drawn.
static bool is_shown(const tdBody *body, int64_t element, bool links)
{
    for (int k = 0; body->parts != NULL && links && k < body->parts->n_drawings; k++)
    {
        const tdBodyDrawing *drawing = &body->parts->drawings[k];
        if (drawing->plane && element >= drawing->triangle && element < drawing->triangle + drawing->triangles)
            return false;
    }
    return links || body->parts == NULL;
}

tdStatus td_picture_add_bodies(tdPicture *p, const tdModel *model, const tdState *state, bool links, tdError *error)
{
    bool room = true;
    for (int b = 0; b < model->n_bodies && room; b++)
    {
        const tdSoft *soft = model->bodies[b].soft;
        const double *x = td_state_positions(model, state, b);
        int32_t first = (int32_t)p->mesh.n_nodes;
        for (int32_t i = 0; i < soft->n_nodes && room; i++)
            room = td_mesh_add_node(&p->mesh, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
        for (int t = 0; t < TD_CELL_TYPES; t++)
            for (int64_t e = soft->element_start[t]; e < soft->element_start[t + 1] && room; e++)
            {
                int32_t n[TD_ELEMENT_NODES];
                int m = td_cell_nodes((tdCellType)t);
                if (!is_shown(&model->bodies[b], e, links))
                    continue;
                for (int a = 0; a < m; a++)
                    n[a] = first + soft->mesh.cells[t].nodes[m * (int64_t)soft->element_cell[e] + a];
                room = td_mesh_add_cell(&p->mesh, (tdCellType)t, n);
            }
    }
    // With its displacement, a shape that was simulated can be drawn like one from a file.
    struct tdFieldData *field = room ? calloc(1, sizeof *field) : NULL;
    double *u = room ? td_take((size_t)p->mesh.n_nodes * 3, sizeof *u) : NULL;
    char *name = strdup("displacement");
    if (field == NULL || u == NULL || name == NULL)
    {
        free(field);
        free(u);
        free(name);
        return td_fail_memory(error, "the scene");
    }
    int64_t at = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdSoft *soft = model->bodies[b].soft;
        const double *x = td_state_positions(model, state, b);
        for (int64_t i = 0; i < 3 * (int64_t)soft->n_nodes; i++)
            u[at++] = x[i] - soft->rest[i];
    }
    *field = (struct tdFieldData){.name = name, .components = 3, .data = u};
    p->fields = (tdFields){.n = 1, .capacity = 1, .field = field};
    return TD_OK;
}

tdStatus td_picture_read(tdPicture *p, const char *path, tdError *error)
{
    char extension[16];
    td_path_extension(extension, sizeof extension, path);
    if (strcmp(extension, ".vtu") != 0)
        TD_TRY(td_mesh_read(path, &p->mesh, error));
    else
    {
        char *data = NULL;
        size_t size = 0;
        TD_TRY(td_file_read(path, &data, &size, error));
        tdStatus status = td_mesh_read_vtu_fields(data, size, path, &p->mesh, &p->fields, error);
        free(data);
        TD_TRY(status);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- fields

const struct tdFieldData *td_picture_find(const tdPicture *p, const char *name)
{
    for (int i = 0; i < p->fields.n; i++)
        if (strcmp(p->fields.field[i].name, name) == 0)
            return &p->fields.field[i];
    return NULL;
}

static tdStatus no_field(const tdPicture *p, const char *path, const char *name, tdError *error)
{
    const char *names[64];
    char list[400] = "";
    int n = p->fields.n < 64 ? p->fields.n : 64;
    for (int i = 0; i < n; i++)
    {
        size_t used = strlen(list);
        names[i] = p->fields.field[i].name;
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    if (n == 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, name, "the file has no arrays; only .vtu files hold them");
    const char *nearest = td_suggest(name, names, n);
    if (nearest != NULL)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, name, "no such array; did you mean %s? There are: %s",
                          nearest, list);
    return td_fail_at(error, TD_ERROR_INPUT, path, 0, name, "no such array; there are: %s", list);
}

// One number out of an array's components: -1 = magnitude.
static double component_of(const double *v, int components, int which)
{
    double sum = 0;
    if (components == 1)
        return v[0];
    if (which >= 0)
        return v[which];
    for (int c = 0; c < components; c++)
        sum += v[c] * v[c];
    return sqrt(sum);
}

// Mean of a cell array over the cells at each node; a cell without a value does not count.
static tdStatus smooth_to_nodes(tdPicture *p, const struct tdFieldData *field, int which, tdError *error)
{
    p->values = td_take((size_t)p->mesh.n_nodes, sizeof(double));
    int32_t *count = td_take((size_t)p->mesh.n_nodes, sizeof(int32_t));
    if (p->values == NULL || count == NULL)
    {
        free(count);
        return td_fail_memory(error, "the field");
    }
    int64_t cell = 0;
    int dim = has_volume(&p->mesh) ? 3 : 2;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t i = 0; i < p->mesh.cells[t].count; i++, cell++)
        {
            double v = component_of(field->data + cell * field->components, field->components, which);
            int n = td_cell_nodes((tdCellType)t);
            for (int c = 0; c < n && isfinite(v) && td_cell_dim((tdCellType)t) == dim; c++)
            {
                int32_t node = p->mesh.cells[t].nodes[i * n + c];
                p->values[node] += v;
                count[node]++;
            }
        }
    for (int64_t i = 0; i < p->mesh.n_nodes; i++)
        p->values[i] = count[i] > 0 ? p->values[i] / count[i] : NAN;
    free(count);
    return TD_OK;
}

tdStatus td_picture_field(tdPicture *p, const char *path, const char *name, int component, bool component_given,
                          bool flat, tdError *error)
{
    const struct tdFieldData *field = td_picture_find(p, name);
    if (field == NULL)
        return no_field(p, path, name, error);
    if (component_given && field->components != 3)
        return td_fail_at(error, TD_ERROR_USAGE, path, 0, name,
                          "the array has %d component%s; --component is for vectors of 3", field->components,
                          field->components == 1 ? "" : "s");
    if (field->by_cell && !flat)
        return smooth_to_nodes(p, field, component, error);
    p->by_tri = field->by_cell;
    int64_t n = p->by_tri ? p->n_tris : p->mesh.n_nodes;
    p->values = td_take((size_t)n, sizeof(double));
    if (p->values == NULL)
        return td_fail_memory(error, "the field");
    for (int64_t i = 0; i < n; i++)
    {
        int64_t at = p->by_tri ? p->cell[i] : i;
        p->values[i] = component_of(field->data + at * field->components, field->components, component);
    }
    return TD_OK;
}

// Files hold deformed points; rest = point - displacement, drawn = rest + scale * displacement.
tdStatus td_picture_deform(tdPicture *p, const char *path, double scale, tdError *error)
{
    const struct tdFieldData *u = td_picture_find(p, "displacement");
    if (u == NULL || u->by_cell || u->components != 3)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "displacement",
                          "--deform and --ghost need a point array of this name with 3 components");
    p->rest = td_take((size_t)p->mesh.n_nodes * 3, sizeof(double));
    if (p->rest == NULL)
        return td_fail_memory(error, "the rest shape");
    for (int64_t i = 0; i < 3 * p->mesh.n_nodes; i++)
    {
        p->rest[i] = p->mesh.x[i] - u->data[i];
        p->mesh.x[i] = p->rest[i] + scale * u->data[i];
    }
    return TD_OK;
}
