// SPDX-License-Identifier: Apache-2.0
// tendril render: a picture of a mesh or of a result, made without a display.
#include "cli.h"

#include "base/memory.h"
#include "base/timer.h"
#include "render_draw.h"
#include "subject_load.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril render FILE... -o picture.png [options]\n"
    "\n"
    "Draws a scene (.yaml), the folder of a run, a result (.vtu) or any mesh file as a PNG picture. For scenes and\n"
    "runs, cables (dashed where slack), cavities, effectors (balls), their targets (crosses) and contact forces\n"
    "(arrows, after a step) are drawn too. Links have the colours of their robot; planes are drawn as a square floor.\n"
    "Several files are superposed: the first as usual, the others translucent in their own colours, named in a "
    "legend.\n"
    "\n"
    "  -o FILE              the picture to write\n"
    "  --movie N            a moving picture of N frames of a run, as animated PNG; browsers play it\n"
    "  --seconds S          how long it plays (default: as long as the run took)\n"
    "  --width N --height N size in pixels (1200 x 800)\n"
    "  --supersample N      samples along a pixel's side, 1 to 4 (3)\n"
    "  --title TEXT\n"
    "  --background NAME    light (default), white, dark\n"
    "\n"
    "what is drawn\n"
    "  --step N             the shape after step N: a scene is simulated (default: at rest); from a folder that\n"
    "                       frame is read (default: the last)\n"
    "  --time T             the same by time in seconds: the nearest step or frame\n"
    "  --rom FILE           simulate scenes with the reduced model of a body, made by 'tendril reduce'\n"
    "  --rom-whole          with it: integrate over all elements, not over the reduced domain\n" CLI_SCENE_HELP
    "  --names A,B,...      names of superposed files in the legend\n"
    "  --opacity F          of the bodies, 0 to 1; default: 1, less where it would hide cables or cavities\n"
    "  --supports           mark the held nodes of a scene\n"
    "  --probes             mark the probes of a scene or a run\n"
    "  --domain             show the elements that represent all others in a reduced model (--rom)\n"
    "  --no-marks           no cables, cavities, effectors, targets and contact forces\n"
    "  --field NAME         colour by a point or cell array of a .vtu file, or by the tension of cables\n"
    "  --component C        x, y, z or magnitude (default) of a vector\n"
    "  --flat               cell arrays by cell, instead of smoothed to the nodes\n"
    "  --range LO:HI        of the colours; either may be left out (from the data)\n"
    "  --colormap NAME      lagoon, ember, balance, grey; default: lagoon, balance for signed values\n"
    "  --unit TEXT          SI unit of the field, if it is not one of Tendril's own\n"
    "  --edges              draw the mesh's edges\n"
    "  --features           draw sharp edges and the outline\n"
    "  --deform SCALE       scale the displacement by SCALE (.vtu with \"displacement\")\n"
    "  --ghost              also draw the rest shape, translucent\n"
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
    "  --json               print one JSON object: what was drawn\n"
    "\n"
    "example: tendril render out/beam/beam_000100.vtu -o beam.png --field von_mises --ghost --edges\n"
    "         tendril render robot.yaml --rom robot.h5 --time 2.5 -o robot.png --ghost --probes\n"
    "         tendril render out/fine out/coarse -o both.png --names fine,coarse\n"
    "         tendril render out/beam -o swing.png --movie 40 --width 480 --height 360\n";

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

static bool parse_size(const RenderOptions *o, tdRenderSettings *s)
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

static bool parse_view(const RenderOptions *o, tdView *v)
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

static bool parse_look(const RenderOptions *o, tdRenderSettings *s, int *component)
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
void render_colours(const double found[2], const RenderOptions *o, tdRenderSettings *s)
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

static void name_field(const RenderOptions *o, char *text, size_t size, tdRenderSettings *s)
{
    bool vector = o->component != NULL && strcmp(o->component, "magnitude") != 0;
    const char *label = o->field, *unit = NULL;
    known_field(o->field, &label, &unit);
    snprintf(text, size, "%s%s%s", label, vector ? " " : "", vector ? o->component : "");
    s->legend_label = text;
    s->legend_unit = o->unit != NULL ? o->unit : unit;
}

// ---------------------------------------------------------------- drawing

tdStatus render_draw(const tdShow *stage, const RenderOptions *o, tdRenderSettings *s, tdImage *image, tdError *error)
{
    s->n_keys = o->no_legend ? 0 : stage->n_keys;
    s->keys = stage->keys;
    tdStatus status = td_tasks_create(0, &s->tasks, error);
    if (status == TD_OK)
        status = td_render(s, stage->n, stage->meshes, image, error);
    td_tasks_free(s->tasks);
    return status;
}

static void json_counts(tdJson *json, const tdShow *stage)
{
    int64_t nodes = 0, triangles = 0, count[8] = {0};
    static const char *const names[8] = {"cable_segments", "slack_segments", "effectors",       "targets",
                                         "probes",         "held_nodes",     "chosen_elements", "contacts"};
    for (int i = 0; i < stage->n_files; i++)
    {
        const tdSubject *s = &stage->subjects[i];
        const int64_t more[8] = {s->n_segments, s->n_slack,    s->n_effectors, s->n_targets,
                                 s->n_probes,   s->n_supports, s->n_chosen,    s->n_contacts};
        for (int p = 0; p < s->n_pictures; p++)
        {
            nodes += s->pictures[p].mesh.n_nodes;
            triangles += s->pictures[p].n_tris;
        }
        for (int p = 0; p < s->n_parts; p++)
        {
            nodes += s->parts[p].marks.n_nodes;
            triangles += s->parts[p].marks.n_tris;
        }
        for (int k = 0; k < 8; k++)
            count[k] += more[k];
    }
    td_json_integer(json, "files", stage->n_files);
    td_json_integer(json, "nodes", nodes);
    td_json_integer(json, "triangles", triangles);
    for (int k = 0; k < 8; k++)
        td_json_integer(json, names[k], count[k]);
}

static void report(const RenderDrawing *drawing, const RenderOptions *o, const tdRenderSettings *s, long frames,
                   double seconds)
{
    const tdShow *stage = &drawing->stage;
    const tdSubject *first = &stage->subjects[0];
    if (!cli_json())
    {
        if (!cli_quiet() && frames > 0)
            printf("%s: %d x %d pixels, %ld frames\n", o->output, s->width, s->height, frames);
        else if (!cli_quiet() && first->step >= 0)
            printf("%s: %d x %d pixels, step %" PRId64 ", %g s\n", o->output, s->width, s->height, first->step,
                   first->time);
        else if (!cli_quiet())
            printf("%s: %d x %d pixels\n", o->output, s->width, s->height);
        return;
    }
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "picture", o->output);
    td_json_integer(&json, "width", s->width);
    td_json_integer(&json, "height", s->height);
    if (frames > 0)
        td_json_integer(&json, "frames", frames);
    json_counts(&json, stage);
    if (first->step >= 0)
    {
        td_json_integer(&json, "step", first->step);
        td_json_number(&json, "time", first->time);
    }
    if (o->field != NULL)
    {
        td_json_string(&json, "field", o->field);
        td_json_numbers(&json, "field_range", 2, drawing->range);
        td_json_string(&json, "colormap", td_colour_map_name(s->colours));
    }
    td_json_number(&json, "wall_s", seconds);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// ---------------------------------------------------------------- the command

// Names in the key: as given, or those of the files; false after saying what is wrong.
static bool name_files(tdShow *stage, const RenderOptions *o)
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

void render_widen(double range[2], const double more[2])
{
    range[0] = isnan(range[0]) || more[0] < range[0] ? more[0] : range[0];
    range[1] = isnan(range[1]) || more[1] > range[1] ? more[1] : range[1];
}

static void widen_by(const tdMarkMesh *cables, double range[2])
{
    double r[2];
    if (cables->n_nodes > 0 && td_field_range(cables->n_nodes, cables->value, r))
        render_widen(range, r);
}

// The field colours the first file alone, tension the cables of all.
static tdStatus take_field(RenderDrawing *drawing, const RenderOptions *o, int component, tdError *error)
{
    tdShow *stage = &drawing->stage;
    const tdSubject *first = &stage->subjects[0];
    for (int i = 0; i < stage->n_files; i++)
    {
        const tdSubject *subject = &stage->subjects[i];
        if (subject->n_segments == 0 || strcmp(o->field, "tension") != 0)
            continue;
        stage->by_tension = true;
        widen_by(&subject->cables, drawing->range);
        widen_by(&subject->slack, drawing->range);
    }
    for (int p = 0; p < first->n_pictures && !stage->by_tension; p++)
    {
        tdPicture *picture = &first->pictures[p];
        double r[2];
        TD_TRY(td_picture_field(picture, first->path, o->field, component, o->component != NULL, o->flat, error));
        if (td_field_range(picture->by_tri ? picture->n_tris : picture->mesh.n_nodes, picture->values, r))
            render_widen(drawing->range, r);
    }
    return TD_OK;
}

static tdStatus load(RenderDrawing *drawing, const RenderOptions *o, int component, const RenderNumbers *numbers,
                     tdError *error)
{
    tdShow *stage = &drawing->stage;
    // tdMarkMesh stand where things are, not where a larger displacement would draw them.
    const tdSubjectSettings settings = {.step = numbers->step,
                                        .time = numbers->time,
                                        .marks = !o->no_marks && numbers->deform == 1,
                                        .supports = o->supports,
                                        .probes = o->probes,
                                        .domain = o->domain,
                                        .coloured =
                                            o->field == NULL && o->inputs[1] == NULL && !o->ghost && o->deform == NULL};
    for (int i = 0; i < TD_SHOW_FILES && o->inputs[i] != NULL; i++)
    {
        stage->n_files++;
        TD_TRY(subject_load(&stage->subjects[i], o->inputs[i], &settings, error));
    }
    if (o->field != NULL)
        TD_TRY(take_field(drawing, o, component, error));
    for (int i = 0; i < stage->n_files && (o->deform != NULL || o->ghost); i++)
        for (int p = 0; p < stage->subjects[i].n_pictures; p++)
            TD_TRY(td_picture_deform(&stage->subjects[i].pictures[p], o->inputs[i], numbers->deform, error));
    return TD_OK;
}

tdStatus render_compose(RenderDrawing *drawing, const RenderOptions *o, int component, const RenderNumbers *numbers,
                        bool *named, tdError *error)
{
    const tdShowLook look = {o->opacity != NULL ? numbers->opacity : NAN, o->edges, o->features, o->ghost};
    *drawing = (RenderDrawing){.range = {NAN, NAN}};
    TD_TRY(load(drawing, o, component, numbers, error));
    *named = name_files(&drawing->stage, o);
    return *named ? td_show_set(&drawing->stage, &look, error) : TD_OK;
}

static tdStatus still(RenderDrawing *drawing, const RenderOptions *o, tdRenderSettings *s, int component,
                      const RenderNumbers *numbers, bool *named, tdError *error)
{
    tdImage image = {0};
    TD_TRY(render_compose(drawing, o, component, numbers, named, error));
    if (!*named)
        return TD_OK;
    if (o->field != NULL)
        render_colours(drawing->range, o, s);
    TD_TRY(render_draw(&drawing->stage, o, s, &image, error));
    tdStatus status = td_image_write_png(&image, o->output, error);
    td_image_free(&image);
    return status;
}

static int render(const RenderOptions *o, tdRenderSettings *s, int component, const RenderNumbers *numbers)
{
    char label[160];
    double start = td_seconds();
    tdError error = {0};
    bool named = true;
    RenderDrawing *drawing = calloc(1, sizeof *drawing);
    if (drawing == NULL)
        return td_fail_memory(&error, "the picture"), cli_fail(&error);
    if (o->field != NULL)
        name_field(o, label, sizeof label, s);
    tdStatus status = (numbers->movie > 0 ? render_movie : still)(drawing, o, s, component, numbers, &named, &error);
    if (status == TD_OK && named)
        report(drawing, o, s, numbers->movie, td_seconds() - start);
    td_show_free(&drawing->stage);
    free(drawing);
    s->legend_label = NULL; // it was on this function's stack
    return status != TD_OK ? cli_fail(&error) : named ? 0 : TD_ERROR_USAGE;
}

// A reduced model stands for a body of a scene.
static bool some_scene(const RenderOptions *o)
{
    for (int i = 0; i < TD_SHOW_FILES && o->inputs[i] != NULL; i++)
    {
        char extension[16];
        td_path_extension(extension, sizeof extension, o->inputs[i]);
        if (strcmp(extension, ".yaml") == 0 || strcmp(extension, ".yml") == 0)
            return true;
    }
    return false;
}

static bool parse_numbers(const RenderOptions *o, RenderNumbers *n)
{
    if ((o->deform != NULL && !cli_number("--deform", o->deform, &n->deform)) ||
        (o->step != NULL && !cli_integer("--step", o->step, 0, &n->step)) ||
        (o->time != NULL && !cli_number("--time", o->time, &n->time)) ||
        (o->movie != NULL && !cli_integer("--movie", o->movie, 2, &n->movie)) ||
        (o->seconds != NULL && !cli_number("--seconds", o->seconds, &n->seconds)) ||
        (o->opacity != NULL && !cli_number("--opacity", o->opacity, &n->opacity)))
        return false;
    if (n->time < 0)
        return cli_usage("--time takes a time in seconds from 0 on, not '%s'", o->time), false;
    if (n->movie > 10000)
        return cli_usage("--movie takes 2 to 10000 frames, not '%s'", o->movie), false;
    if (n->seconds <= 0)
        return cli_usage("--seconds takes a time above 0, not '%s'", o->seconds), false;
    if (!(n->opacity > 0 && n->opacity <= 1))
        cli_usage("--opacity takes a number above 0 and up to 1, not '%s'", o->opacity);
    return n->opacity > 0 && n->opacity <= 1;
}

int cmd_render(int argc, char **argv)
{
    RenderOptions o = {0};
    const cliOption options[] = {
        {"-o", &o.output, NULL},
        {"--width", &o.width, NULL},
        {"--height", &o.height, NULL},
        {"--supersample", &o.supersample, NULL},
        {"--movie", &o.movie, NULL},
        {"--seconds", &o.seconds, NULL},
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
        {"--time", &o.time, NULL},
        CLI_ROM_OPTIONS,
        {"--opacity", &o.opacity, NULL},
        {"--supports", NULL, &o.supports},
        {"--probes", NULL, &o.probes},
        {"--domain", NULL, &o.domain},
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
    int code =
        cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof *options), o.inputs, 1, TD_SHOW_FILES);
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
    if (o.movie != NULL && (o.step != NULL || o.time != NULL))
        return cli_usage("--movie shows the whole run; leave out --step and --time");
    if (o.seconds != NULL && o.movie == NULL)
        return cli_usage("--seconds says how long a moving picture plays; give --movie");
    if (o.step != NULL && o.time != NULL)
        return cli_usage("--step and --time exclude each other; give one");
    if (*cli_rom() != NULL && !some_scene(&o))
        return cli_usage("--rom is for scenes; give the scene (.yaml) that the reduced model belongs to");
    tdRenderSettings s = td_default_render();
    int component = -1;
    RenderNumbers numbers = {.step = -1, .time = NAN, .deform = 1, .opacity = 1, .seconds = NAN};
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
