// SPDX-License-Identifier: Apache-2.0
// tendril render: a picture of a mesh or of a result, made without a display.
#include "cli.h"

#include "base/memory.h"
#include "base/timer.h"
#include "render/render.h"
#include "subject.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 8

static const char help[] =
    "usage: tendril render FILE... -o picture.png [options]\n"
    "\n"
    "Draws a scene (.yaml), the folder of a run, a result (.vtu) or any mesh file as a PNG picture. Of scenes and\n"
    "runs, cables, cavities, effectors (balls) and their targets (crosses) are drawn too. Several files are\n"
    "superposed: the first as usual, the others translucent in colours of their own, named in a key.\n"
    "\n"
    "  -o FILE              the picture to write\n"
    "  --width N --height N size in pixels (1200 x 800)\n"
    "  --supersample N      samples along a pixel's side, 1 to 4 (3)\n"
    "  --title TEXT\n"
    "  --background NAME    light (default), white, dark\n"
    "\n"
    "what is drawn\n"
    "  --step N             the shape after step N: a scene is simulated (default: at rest), of a folder that\n"
    "                       frame is read (default: the last)\n"
    "  --names A,B,...      names of superposed files in the key\n"
    "  --opacity F          of the bodies, 0 to 1; default: 1, less where it would hide cables or cavities\n"
    "  --supports           mark the held nodes of a scene\n"
    "  --no-marks           no cables, cavities, effectors and targets\n"
    "  --field NAME         colour by a point or cell array of a .vtu file, or by the tension of cables\n"
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
    "example: tendril render out/beam/beam_000100.vtu -o beam.png --field von_mises --ghost --edges\n"
    "         tendril render out/fine out/coarse -o both.png --names fine,coarse\n";

typedef struct Options
{
    const char *inputs[MAX_FILES], *names, *step, *opacity, *output, *width, *height, *supersample, *title, *background;
    const char *field, *component, *range, *colormap, *unit, *deform;
    const char *azimuth, *elevation, *zoom, *up;
    bool supports, no_marks, flat, edges, features, ghost, parallel, scale_bar, no_axes, no_legend, no_shadow;
} Options;

// Options that are numbers.
typedef struct Numbers
{
    long step;
    double deform, opacity;
} Numbers;

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
        {"tension", "tension", "N"},
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
static void choose_colours(const double found[2], const Options *o, tdRenderSettings *s)
{
    const double *r = found;
    if (o->range != NULL || isnan(r[0]) || r[0] == r[1])
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

#define MAX_KEYS (MAX_FILES + 5)

typedef struct Look
{
    const char *name;
    double colour[3];
} Look;

static const Look cable_look = {"cables", {0.84, 0.30, 0.14}}, cavity_look = {"cavities", {0.93, 0.66, 0.36}},
                  effector_look = {"effectors", {0.97, 0.76, 0.12}}, target_look = {"targets", {0.10, 0.60, 0.30}},
                  support_look = {"held nodes", {0.35, 0.37, 0.42}};

// Colours of superposed files; the first is that of a file alone.
static const double file_colours[MAX_FILES][3] = {
    {0.36, 0.56, 0.78}, {0.93, 0.49, 0.19}, {0.34, 0.67, 0.38}, {0.62, 0.42, 0.74},
    {0.80, 0.34, 0.42}, {0.45, 0.62, 0.66}, {0.72, 0.62, 0.26}, {0.50, 0.50, 0.52},
};

/// All that is drawn, in order.
typedef struct Stage
{
    int n_files;
    Subject subjects[MAX_FILES];
    char names[MAX_FILES][64];
    int n, capacity;
    tdDrawMesh *meshes;
    int n_keys;
    tdKeyLine keys[MAX_KEYS];
    double range[2]; ///< of the field that was found, NAN: none
    bool by_tension; ///< cables are coloured
} Stage;

static void stage_free(Stage *stage)
{
    for (int i = 0; i < stage->n_files; i++)
        subject_free(&stage->subjects[i]);
    free(stage->meshes);
}

static void add_key(Stage *stage, const char *name, const double colour[3], double opacity)
{
    for (int i = 0; i < stage->n_keys; i++)
    {
        const double *other = stage->keys[i].colour;
        bool alike = other[0] == colour[0] && other[1] == colour[1] && other[2] == colour[2];
        if (strcmp(stage->keys[i].name, name) == 0 && alike)
            return;
    }
    tdKeyLine *key = &stage->keys[stage->n_keys++];
    *key = (tdKeyLine){.name = name, .opacity = opacity};
    memcpy(key->colour, colour, sizeof key->colour);
}

static tdDrawMesh *add_mesh(Stage *stage)
{
    assert(stage->n < stage->capacity);
    tdDrawMesh *mesh = &stage->meshes[stage->n++];
    *mesh = td_default_draw();
    return mesh;
}

static void add_marks(Stage *stage, const Marks *marks, const Look *look, bool by_value)
{
    if (marks->n_tris == 0)
        return;
    tdDrawMesh *mesh = add_mesh(stage);
    mesh->x = marks->x;
    mesh->n_nodes = marks->n_nodes;
    mesh->tris = marks->tris;
    mesh->n_tris = marks->n_tris;
    mesh->field = by_value ? marks->value : NULL;
    memcpy(mesh->colour, look->colour, sizeof mesh->colour);
    if (!by_value)
        add_key(stage, look->name, look->colour, 1);
}

static void add_body(Stage *stage, const Picture *p, const Options *o, int file, double opacity)
{
    tdDrawMesh *body = add_mesh(stage);
    body->x = p->mesh.x;
    body->n_nodes = p->mesh.n_nodes;
    body->tris = p->tris;
    body->n_tris = p->n_tris;
    body->field = p->by_tri ? NULL : p->values;
    body->tri_field = p->by_tri ? p->values : NULL;
    body->edge_mask = p->edge_mask;
    body->edges = o->edges;
    body->features = o->features || opacity < 1; // or its edges would vanish
    body->opacity = opacity;
    memcpy(body->colour, file_colours[file], sizeof body->colour);
    if (!o->ghost || p->rest == NULL)
        return;
    tdDrawMesh *ghost = add_mesh(stage);
    *ghost = *body;
    ghost->x = p->rest;
    ghost->field = ghost->tri_field = NULL;
    ghost->edges = false;
    ghost->features = true;
    ghost->opacity = 0.13;
    memcpy(ghost->colour, (double[]){0.45, 0.50, 0.58}, sizeof ghost->colour);
}

// Bodies let what is in them shine through, unless their own colours are to be read. Of superposed ones, which often
// nearly coincide, the first keeps its colour under the others.
static double body_opacity(const Stage *stage, const Options *o, int file, double given)
{
    const Subject *subject = &stage->subjects[file];
    if (o->opacity != NULL)
        return given;
    if (file > 0)
        return 0.32;
    bool inside = subject->cables.n_tris + subject->cavities.n_tris + subject->effectors.n_tris > 0;
    if (!inside || subject->pictures[0].values != NULL)
        return 1;
    return stage->n_files > 1 ? 0.8 : 0.58;
}

static tdStatus set_stage(Stage *stage, const Options *o, double opacity, tdError *error)
{
    for (int i = 0; i < stage->n_files; i++)
        stage->capacity += 2 * stage->subjects[i].n_pictures + 5;
    stage->meshes = calloc((size_t)stage->capacity + 1, sizeof *stage->meshes);
    if (stage->meshes == NULL)
        return td_fail_memory(error, "the picture");
    for (int i = 0; i < stage->n_files; i++)
    {
        const Subject *subject = &stage->subjects[i];
        double own = body_opacity(stage, o, i, opacity);
        for (int p = 0; p < subject->n_pictures; p++)
            add_body(stage, &subject->pictures[p], o, i, own);
        if (stage->n_files > 1)
            add_key(stage, stage->names[i], file_colours[i], own);
    }
    for (int i = 0; i < stage->n_files; i++)
    {
        const Subject *subject = &stage->subjects[i];
        add_marks(stage, &subject->cables, &cable_look, stage->by_tension);
        add_marks(stage, &subject->cavities, &cavity_look, false);
        add_marks(stage, &subject->effectors, &effector_look, false);
        add_marks(stage, &subject->targets, &target_look, false);
        add_marks(stage, &subject->supports, &support_look, false);
    }
    return TD_OK;
}

static tdStatus draw(const Stage *stage, const Options *o, tdRenderSettings *s, tdError *error)
{
    tdImage image;
    s->n_keys = o->no_legend ? 0 : stage->n_keys;
    s->keys = stage->keys;
    tdStatus status = td_tasks_create(0, &s->tasks, error);
    if (status == TD_OK)
        status = td_render(s, stage->n, stage->meshes, &image, error);
    td_tasks_free(s->tasks);
    TD_TRY(status);
    status = td_image_write_png(&image, o->output, error);
    td_image_free(&image);
    return status;
}

static void report(const Stage *stage, const Options *o, const tdRenderSettings *s, double seconds)
{
    int64_t nodes = 0, triangles = 0, segments = 0, effectors = 0, targets = 0;
    for (int i = 0; i < stage->n_files; i++)
    {
        const Subject *subject = &stage->subjects[i];
        for (int p = 0; p < subject->n_pictures; p++)
        {
            nodes += subject->pictures[p].mesh.n_nodes;
            triangles += subject->pictures[p].n_tris;
        }
        segments += subject->n_segments;
        effectors += subject->n_effectors;
        targets += subject->n_targets;
    }
    if (!cli_json())
    {
        if (!cli_quiet())
            printf("%s: %d x %d pixels, %lld triangles\n", o->output, s->width, s->height, (long long)triangles);
        return;
    }
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "picture", o->output);
    td_json_integer(&json, "width", s->width);
    td_json_integer(&json, "height", s->height);
    td_json_integer(&json, "files", stage->n_files);
    td_json_integer(&json, "nodes", nodes);
    td_json_integer(&json, "triangles", triangles);
    td_json_integer(&json, "cable_segments", segments);
    td_json_integer(&json, "effectors", effectors);
    td_json_integer(&json, "targets", targets);
    if (o->field != NULL)
    {
        td_json_string(&json, "field", o->field);
        td_json_numbers(&json, "field_range", 2, stage->range);
        td_json_string(&json, "colormap", td_colour_map_name(s->colours));
    }
    td_json_number(&json, "wall_s", seconds);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// ---------------------------------------------------------------- the command

// Names in the key: as given, or those of the files; false after saying what is wrong.
static bool name_files(Stage *stage, const Options *o)
{
    const char *next = o->names;
    for (int i = 0; i < stage->n_files; i++)
    {
        const char *name = stage->subjects[i].path;
        size_t length = strlen(name);
        while (length > 1 && name[length - 1] == '/')
            length--;
        if (o->names != NULL)
        {
            name = next;
            length = name == NULL ? 0 : strcspn(name, ",");
            next = name == NULL || name[length] == '\0' ? NULL : name + length + 1;
        }
        if (length == 0 || (next != NULL && i + 1 == stage->n_files))
        {
            cli_usage("--names takes one name for each of the %d files, divided by commas, not '%s'", stage->n_files,
                      o->names);
            return false;
        }
        snprintf(stage->names[i], sizeof stage->names[i], "%.*s", (int)length, name);
    }
    return true;
}

static void widen(double range[2], const double more[2])
{
    range[0] = isnan(range[0]) || more[0] < range[0] ? more[0] : range[0];
    range[1] = isnan(range[1]) || more[1] > range[1] ? more[1] : range[1];
}

// The field colours the first file alone, tension the cables of all.
static tdStatus take_field(Stage *stage, const Options *o, int component, tdError *error)
{
    const Subject *first = &stage->subjects[0];
    double r[2];
    for (int i = 0; i < stage->n_files; i++)
    {
        const Marks *cables = &stage->subjects[i].cables;
        if (cables->n_tris == 0 || strcmp(o->field, "tension") != 0)
            continue;
        stage->by_tension = true;
        if (td_field_range(cables->n_nodes, cables->value, r))
            widen(stage->range, r);
    }
    for (int p = 0; p < first->n_pictures && !stage->by_tension; p++)
    {
        Picture *picture = &first->pictures[p];
        TD_TRY(picture_field(picture, first->path, o->field, component, o->component != NULL, o->flat, error));
        if (td_field_range(picture->by_tri ? picture->n_tris : picture->mesh.n_nodes, picture->values, r))
            widen(stage->range, r);
    }
    return TD_OK;
}

static tdStatus load(Stage *stage, const Options *o, int component, const Numbers *numbers, tdError *error)
{
    // Marks stand where things are, not where a larger displacement would draw them.
    const SubjectSettings settings = {numbers->step, !o->no_marks && numbers->deform == 1, o->supports};
    for (int i = 0; i < MAX_FILES && o->inputs[i] != NULL; i++)
    {
        stage->n_files++;
        TD_TRY(subject_load(&stage->subjects[i], o->inputs[i], &settings, error));
    }
    if (o->field != NULL)
        TD_TRY(take_field(stage, o, component, error));
    for (int i = 0; i < stage->n_files && (o->deform != NULL || o->ghost); i++)
        for (int p = 0; p < stage->subjects[i].n_pictures; p++)
            TD_TRY(picture_deform(&stage->subjects[i].pictures[p], o->inputs[i], numbers->deform, error));
    return TD_OK;
}

static int render(const Options *o, tdRenderSettings *s, int component, const Numbers *numbers)
{
    char label[160];
    double start = td_seconds();
    tdError error = {0};
    Stage *stage = calloc(1, sizeof *stage);
    if (stage == NULL)
        return td_fail_memory(&error, "the picture"), cli_fail(&error);
    stage->range[0] = stage->range[1] = NAN;
    tdStatus status = load(stage, o, component, numbers, &error);
    bool named = status != TD_OK || name_files(stage, o);
    if (status == TD_OK && o->field != NULL)
    {
        choose_colours(stage->range, o, s);
        name_field(o, label, sizeof label, s);
    }
    if (status == TD_OK && named)
        status = set_stage(stage, o, numbers->opacity, &error);
    if (status == TD_OK && named)
        status = draw(stage, o, s, &error);
    if (status == TD_OK && named)
        report(stage, o, s, td_seconds() - start);
    stage_free(stage);
    free(stage);
    s->legend_label = NULL; // it was on this function's stack
    return status != TD_OK ? cli_fail(&error) : named ? 0 : TD_ERROR_USAGE;
}

static bool parse_numbers(const Options *o, Numbers *n)
{
    if ((o->deform != NULL && !cli_number("--deform", o->deform, &n->deform)) ||
        (o->step != NULL && !cli_integer("--step", o->step, 0, &n->step)) ||
        (o->opacity != NULL && !cli_number("--opacity", o->opacity, &n->opacity)))
        return false;
    if (!(n->opacity > 0 && n->opacity <= 1))
        cli_usage("--opacity takes a number above 0 and up to 1, not '%s'", o->opacity);
    return n->opacity > 0 && n->opacity <= 1;
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
        {"--names", &o.names, NULL},
        {"--step", &o.step, NULL},
        {"--opacity", &o.opacity, NULL},
        {"--supports", NULL, &o.supports},
        {"--no-marks", NULL, &o.no_marks},
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
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof *options), o.inputs, 1, MAX_FILES);
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
    Numbers numbers = {.step = -1, .deform = 1, .opacity = 1};
    if (!parse_size(&o, &s) || !parse_view(&o, &s.view) || !parse_look(&o, &s, &component) ||
        !parse_numbers(&o, &numbers))
        return TD_ERROR_USAGE;
    s.title = o.title;
    s.triad = !o.no_axes;
    s.legend = !o.no_legend;
    s.ground_shadow = !o.no_shadow;
    s.scale_unit = o.scale_bar ? "m" : NULL;
    return render(&o, &s, component, &numbers);
}
