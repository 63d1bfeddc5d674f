// SPDX-License-Identifier: Apache-2.0
// tendril render: a picture of a mesh or of a result, made without a display.
#include "cli.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "base/timer.h"
#include "body/soft.h"
#include "mesh/mesh.h"
#include "mesh/topology.h"
#include "render/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril render FILE -o picture.png [options]\n"
    "\n"
    "Draws a scene (.yaml), a result (.vtu) or any mesh file as a PNG picture.\n"
    "\n"
    "  -o FILE              the picture to write\n"
    "  --width N --height N size in pixels (1200 x 800)\n"
    "  --supersample N      samples along a pixel's side, 1 to 4 (3)\n"
    "  --title TEXT\n"
    "  --background NAME    light (default), white, dark\n"
    "\n"
    "what is drawn\n"
    "  --field NAME         colour by a point or cell array of a .vtu file\n"
    "  --component C        x, y, z or magnitude (default) of a vector\n"
    "  --flat               cell arrays by cell, instead of smoothed to the nodes\n"
    "  --range LO:HI        of the colours; either may be left out (from the data)\n"
    "  --colormap NAME      lagoon, ember, balance, grey; default: lagoon, balance for signed values\n"
    "  --unit TEXT          SI unit of the field, if it is not one of Tendril's own\n"
    "  --edges              draw the mesh's edges\n"
    "  --features           draw sharp edges and the outline\n"
    "  --deform SCALE       displacement drawn SCALE times (.vtu with \"displacement\")\n"
    "  --ghost              the rest shape beside the deformed one, translucent\n"
    "\n"
    "where from\n"
    "  --azimuth DEG        about the up axis (-60)\n"
    "  --elevation DEG      above the horizon, -90 to 90 (22)\n"
    "  --zoom F             1 = all fits\n"
    "  --up AXIS            x, y or z (default)\n"
    "  --parallel           parallel projection\n"
    "  --scale-bar          a bar of known length\n"
    "  --no-axes --no-legend --no-shadow\n"
    "\n"
    "  --json               what was drawn, as one JSON object\n"
    "\n"
    "example: tendril render out/beam/beam_000100.vtu -o beam.png --field von_mises --ghost --edges\n";

typedef struct Options
{
    const char *input, *output, *width, *height, *supersample, *title, *background;
    const char *field, *component, *range, *colormap, *unit, *deform;
    const char *azimuth, *elevation, *zoom, *up;
    bool flat, edges, features, ghost, parallel, scale_bar, no_axes, no_legend, no_shadow;
} Options;

// What is drawn: the surface of a mesh, with the field that colours it.
typedef struct Picture
{
    tdMesh mesh;
    tdFields fields;
    int64_t n_tris;
    int32_t *tris;
    int32_t *cell;      // by triangle: the cell behind it, in the order of cell arrays
    uint8_t *edge_mask; // by triangle: edges that are edges of a cell
    double *rest;       // 3 by node, for the ghost
    double *values;     // of the field, by node or by triangle
    bool by_tri;
} Picture;

static void picture_free(Picture *p)
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

static bool surface_room(Picture *p)
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
static tdStatus take_volume(Picture *p, tdError *error)
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
static tdStatus take_surface(Picture *p, tdError *error)
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

static tdStatus take_triangles(Picture *p, const char *path, tdError *error)
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

// The bodies of a scene as they are placed, all in one mesh.
static tdStatus load_scene(const char *path, Picture *p, tdError *error)
{
    tdSettings settings = cli_settings();
    tdModel *model = NULL;
    TD_TRY(td_model_load(path, &settings, &model, error));
    tdStatus status = TD_OK;
    for (int b = 0; b < model->n_bodies && status == TD_OK; b++)
    {
        const tdSoft *soft = model->bodies[b].soft;
        int32_t first = (int32_t)p->mesh.n_nodes;
        bool room = true;
        for (int32_t i = 0; i < soft->n_nodes && room; i++)
            room = td_mesh_add_node(&p->mesh, soft->rest[3 * i], soft->rest[3 * i + 1], soft->rest[3 * i + 2]);
        for (int t = 0; t < TD_CELL_TYPES; t++)
            for (int64_t e = soft->element_start[t]; e < soft->element_start[t + 1] && room; e++)
            {
                int32_t n[TD_ELEMENT_NODES];
                int m = td_cell_nodes((tdCellType)t);
                for (int a = 0; a < m; a++)
                    n[a] = first + soft->mesh.cells[t].nodes[m * (int64_t)soft->element_cell[e] + a];
                room = td_mesh_add_cell(&p->mesh, (tdCellType)t, n);
            }
        if (!room)
            status = td_fail_memory(error, "the scene");
    }
    td_model_free(model);
    return status == TD_OK ? take_triangles(p, path, error) : status;
}

static tdStatus load(const char *path, Picture *p, tdError *error)
{
    char extension[16];
    td_path_extension(extension, sizeof extension, path);
    if (strcmp(extension, ".yaml") == 0 || strcmp(extension, ".yml") == 0)
        return load_scene(path, p, error);
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
    if (p->mesh.notes != NULL && !cli_quiet())
        fprintf(stderr, "%s: %s\n", path, p->mesh.notes);
    return take_triangles(p, path, error);
}

// ---------------------------------------------------------------- fields

static const struct tdFieldData *find_field(const Picture *p, const char *name)
{
    for (int i = 0; i < p->fields.n; i++)
        if (strcmp(p->fields.field[i].name, name) == 0)
            return &p->fields.field[i];
    return NULL;
}

static tdStatus no_field(const Picture *p, const char *path, const char *name, tdError *error)
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
static tdStatus smooth_to_nodes(Picture *p, const struct tdFieldData *field, int which, tdError *error)
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

static tdStatus take_field(Picture *p, const Options *o, int which, tdError *error)
{
    const struct tdFieldData *field = find_field(p, o->field);
    if (field == NULL)
        return no_field(p, o->input, o->field, error);
    if (o->component != NULL && field->components != 3)
        return td_fail_at(error, TD_ERROR_USAGE, o->input, 0, o->field,
                          "the array has %d component%s; --component is for vectors of 3", field->components,
                          field->components == 1 ? "" : "s");
    if (field->by_cell && !o->flat)
        return smooth_to_nodes(p, field, which, error);
    p->by_tri = field->by_cell;
    int64_t n = p->by_tri ? p->n_tris : p->mesh.n_nodes;
    p->values = td_take((size_t)n, sizeof(double));
    if (p->values == NULL)
        return td_fail_memory(error, "the field");
    for (int64_t i = 0; i < n; i++)
    {
        int64_t at = p->by_tri ? p->cell[i] : i;
        p->values[i] = component_of(field->data + at * field->components, field->components, which);
    }
    return TD_OK;
}

// Files hold deformed points; rest = point - displacement, drawn = rest + scale * displacement.
static tdStatus deform(Picture *p, const Options *o, double scale, tdError *error)
{
    if (o->deform == NULL && !o->ghost)
        return TD_OK;
    const struct tdFieldData *u = find_field(p, "displacement");
    if (u == NULL || u->by_cell || u->components != 3)
        return td_fail_at(error, TD_ERROR_INPUT, o->input, 0, "displacement",
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

// Tendril's own arrays: how they read in a legend, and their SI units.
static bool known_field(const char *field, const char **label, const char **unit)
{
    static const char *const known[][3] = {
        {"displacement", "displacement", "m"},
        {"velocity", "velocity", "m/s"},
        {"force", "force", "N"},
        {"reaction", "reaction", "N"},
        {"von_mises", "von Mises stress", "Pa"},
        {"stress", "stress", "Pa"},
        {"pressure", "pressure", "Pa"},
        {"acceleration", "acceleration", "m/s\xC2\xB2"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i][0], field) == 0)
        {
            *label = known[i][1];
            *unit = known[i][2];
            return true;
        }
    return false;
}

// ---------------------------------------------------------------- options

// Index of a word in a list; -1 after saying what was expected.
static int choose(const char *option, const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    char list[200] = "";
    for (int i = 0; i < n; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "", words[i]);
    cli_usage("%s takes one of %s, not '%s'", option, list, word);
    return -1;
}

static bool parse_range(const char *text, double range[2])
{
    const char *colon = strchr(text, ':');
    char *end = NULL;
    bool good = colon != NULL;
    if (good && colon != text)
    {
        range[0] = strtod(text, &end);
        good = end == colon && isfinite(range[0]);
    }
    if (good && colon[1] != '\0')
    {
        range[1] = strtod(colon + 1, &end);
        good = *end == '\0' && isfinite(range[1]);
    }
    if (good && !(range[0] >= range[1]))
        return true;
    cli_usage("--range takes LO:HI with LO below HI, not '%s'", text);
    return false;
}

static bool parse_size(const Options *o, tdRenderSettings *s)
{
    long width = s->width, height = s->height, samples = s->supersample;
    if ((o->width != NULL && !cli_integer("--width", o->width, 16, &width)) ||
        (o->height != NULL && !cli_integer("--height", o->height, 16, &height)) ||
        (o->supersample != NULL && !cli_integer("--supersample", o->supersample, 1, &samples)))
        return false;
    s->width = (int)width;
    s->height = (int)height;
    s->supersample = (int)samples;
    return true;
}

static bool parse_view(const Options *o, tdView *v)
{
    static const char *const axes[] = {"x", "y", "z"};
    if ((o->azimuth != NULL && !cli_number("--azimuth", o->azimuth, &v->azimuth)) ||
        (o->elevation != NULL && !cli_number("--elevation", o->elevation, &v->elevation)) ||
        (o->zoom != NULL && !cli_number("--zoom", o->zoom, &v->zoom)))
        return false;
    if (o->up != NULL)
        v->up = choose("--up", o->up, axes, 3);
    if (o->parallel)
        v->field_of_view = 0;
    return v->up >= 0;
}

static bool parse_look(const Options *o, tdRenderSettings *s, int *component)
{
    static const char *const backgrounds[] = {"light", "white", "dark"};
    static const char *const components[] = {"x", "y", "z", "magnitude"};
    const char *maps[TD_COLOURS];
    int found = 0, which = 3;
    for (int i = 0; i < TD_COLOURS; i++)
        maps[i] = td_colour_map_name((tdColourMap)i);
    if (o->background != NULL && (found = choose("--background", o->background, backgrounds, 3)) >= 0)
        s->background = (tdBackground)found;
    if (found >= 0 && o->colormap != NULL && (found = choose("--colormap", o->colormap, maps, TD_COLOURS)) >= 0)
        s->colours = (tdColourMap)found;
    if (found >= 0 && o->component != NULL)
        found = which = choose("--component", o->component, components, 4);
    *component = which == 3 ? -1 : which;
    return found >= 0 && (o->range == NULL || parse_range(o->range, s->range));
}

// What the user left open: signed values get white at zero and as much on either side; positive
// ones that come near zero start there.
static void choose_colours(const Picture *p, const Options *o, tdRenderSettings *s)
{
    double r[2];
    if (p->values == NULL || o->range != NULL || !td_field_range(p->by_tri ? p->n_tris : p->mesh.n_nodes, p->values, r))
        return;
    if (r[0] >= 0 && r[0] < 0.15 * r[1])
        s->range[0] = 0;
    // A little undershoot on one side does not make a field signed.
    if (o->colormap != NULL || fmin(-r[0], r[1]) < 0.05 * fmax(-r[0], r[1]))
        return;
    s->colours = TD_COLOURS_BALANCE;
    s->range[1] = fmax(-r[0], r[1]);
    s->range[0] = -s->range[1];
}

static void name_field(const Options *o, char *text, size_t size, tdRenderSettings *s)
{
    bool vector = o->component != NULL && strcmp(o->component, "magnitude") != 0;
    const char *label = o->field, *unit = NULL;
    known_field(o->field, &label, &unit);
    snprintf(text, size, "%s%s%s", label, vector ? " " : "", vector ? o->component : "");
    s->legend_label = text;
    s->legend_unit = o->unit != NULL ? o->unit : unit;
}

// ---------------------------------------------------------------- drawing

static tdStatus draw(const Picture *p, const Options *o, tdRenderSettings *s, tdError *error)
{
    tdDrawMesh meshes[2] = {td_default_draw(), td_default_draw()}, *body = &meshes[0], *ghost = &meshes[1];
    body->x = p->mesh.x;
    body->n_nodes = p->mesh.n_nodes;
    body->tris = p->tris;
    body->n_tris = p->n_tris;
    body->field = p->by_tri ? NULL : p->values;
    body->tri_field = p->by_tri ? p->values : NULL;
    body->edge_mask = p->edge_mask;
    body->edges = o->edges;
    body->features = o->features;
    *ghost = *body;
    ghost->x = p->rest;
    ghost->field = ghost->tri_field = NULL;
    ghost->edges = false;
    ghost->features = true;
    ghost->opacity = 0.13;
    ghost->colour[0] = 0.45;
    ghost->colour[1] = 0.50;
    ghost->colour[2] = 0.58;

    tdImage image;
    tdStatus status = td_tasks_create(0, &s->tasks, error);
    if (status == TD_OK)
        status = td_render(s, o->ghost ? 2 : 1, meshes, &image, error);
    td_tasks_free(s->tasks);
    TD_TRY(status);
    status = td_image_write_png(&image, o->output, error);
    td_image_free(&image);
    return status;
}

static void report(const Picture *p, const Options *o, const tdRenderSettings *s, double seconds)
{
    double r[2] = {NAN, NAN};
    if (p->values != NULL)
        td_field_range(p->by_tri ? p->n_tris : p->mesh.n_nodes, p->values, r);
    if (!cli_json())
    {
        if (!cli_quiet())
            printf("%s: %d x %d pixels, %lld triangles\n", o->output, s->width, s->height, (long long)p->n_tris);
        return;
    }
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "picture", o->output);
    td_json_integer(&json, "width", s->width);
    td_json_integer(&json, "height", s->height);
    td_json_integer(&json, "nodes", p->mesh.n_nodes);
    td_json_integer(&json, "triangles", p->n_tris);
    if (p->values != NULL)
    {
        td_json_string(&json, "field", o->field);
        td_json_numbers(&json, "field_range", 2, r);
        td_json_string(&json, "colormap", td_colour_map_name(s->colours));
    }
    td_json_number(&json, "wall_s", seconds);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static tdStatus render(const Options *o, tdRenderSettings *s, int component, double scale, tdError *error)
{
    char label[160];
    double start = td_seconds();
    Picture p = {0};
    tdStatus status = load(o->input, &p, error);
    if (status == TD_OK && o->field != NULL)
        status = take_field(&p, o, component, error);
    if (status == TD_OK)
        status = deform(&p, o, scale, error);
    if (status == TD_OK && o->field != NULL)
    {
        choose_colours(&p, o, s);
        name_field(o, label, sizeof label, s);
    }
    if (status == TD_OK)
        status = draw(&p, o, s, error);
    if (status == TD_OK)
        report(&p, o, s, td_seconds() - start);
    picture_free(&p);
    return status;
}

int cmd_render(int argc, char **argv)
{
    Options o = {0};
    const cliOption options[] = {
        {"-o", &o.output, NULL},
        {"--width", &o.width, NULL},
        {"--height", &o.height, NULL},
        {"--supersample", &o.supersample, NULL},
        {"--title", &o.title, NULL},
        {"--background", &o.background, NULL},
        {"--field", &o.field, NULL},
        {"--component", &o.component, NULL},
        {"--range", &o.range, NULL},
        {"--colormap", &o.colormap, NULL},
        {"--unit", &o.unit, NULL},
        {"--deform", &o.deform, NULL},
        {"--azimuth", &o.azimuth, NULL},
        {"--elevation", &o.elevation, NULL},
        {"--zoom", &o.zoom, NULL},
        {"--up", &o.up, NULL},
        {"--flat", NULL, &o.flat},
        {"--edges", NULL, &o.edges},
        {"--features", NULL, &o.features},
        {"--ghost", NULL, &o.ghost},
        {"--parallel", NULL, &o.parallel},
        {"--scale-bar", NULL, &o.scale_bar},
        {"--no-axes", NULL, &o.no_axes},
        {"--no-legend", NULL, &o.no_legend},
        {"--no-shadow", NULL, &o.no_shadow},
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof *options), &o.input, 1, 1);
    if (code >= 0)
        return code;
    if (o.output == NULL)
        return cli_usage("render needs -o picture.png; --help shows the form");
    char extension[16];
    td_path_extension(extension, sizeof extension, o.output);
    if (strcmp(extension, ".png") != 0)
        return cli_usage("-o %s: pictures are written as PNG; give a name that ends in .png", o.output);
    if (o.field == NULL && (o.component != NULL || o.range != NULL || o.colormap != NULL || o.unit != NULL || o.flat))
        return cli_usage("--component, --range, --colormap, --unit and --flat say how to colour a field; give --field");
    tdRenderSettings s = td_default_render();
    int component = -1;
    double scale = 1;
    if (!parse_size(&o, &s) || !parse_view(&o, &s.view) || !parse_look(&o, &s, &component) ||
        (o.deform != NULL && !cli_number("--deform", o.deform, &scale)))
        return TD_ERROR_USAGE;
    s.title = o.title;
    s.triad = !o.no_axes;
    s.legend = !o.no_legend;
    s.ground_shadow = !o.no_shadow;
    s.scale_unit = o.scale_bar ? "m" : NULL;
    tdError error = {0};
    return render(&o, &s, component, scale, &error) == TD_OK ? 0 : cli_fail(&error);
}
