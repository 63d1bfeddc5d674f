// SPDX-License-Identifier: Apache-2.0
// tendril workspace: where the effectors of a robot can get.
#include "control/workspace.h"

#include "base/print.h"
#include "base/suggest.h"
#include "base/timer.h"
#include "control/control.h"
#include "folder.h"
#include "mesh/mesh.h"
#include "output/csv.h"
#include "render/plot.h"
#include "simulate.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril workspace SCENE [options]\n\n"
    "Sets the actuators of a scene to places all over their ranges and finds the equilibrium of each: where the\n"
    "effectors can get. Every actuator needs a range of what drives it. A dynamic scene is taken as a static one;\n"
    "loads and prescribed motions act as at its end. Places are visited from neighbour to neighbour.\n\n"
    "  --samples N      so many places (200): the ends of all ranges, then points that fill them evenly\n"
    "  --grid N         N values of every actuator instead, in all combinations\n"
    "  --effector NAME  the one to draw (default: the first)\n"
    "  --out DIR        write points.csv, points.vtu for ParaView and workspace.png there\n" OUT_HELP("          ")
        CLI_ROM_HELP("      ") //
    "  --threads N      worker threads (default: all cores); the result does not depend on it\n"
    "  --json           print one JSON object: places, failures, bounding box of each effector, files\n"
    "  --quiet          no progress\n\n"
    "Places without an equilibrium are counted, and listed in failures.csv; they are no failure of the command\n"
    "unless there is nothing else. Exit codes: 0 done, 2 usage, 3 bad input, 4 no equilibrium at all, 5 out of\n"
    "memory, 6 a file could not be written, 130 interrupted.\n\n"
    "example: tendril workspace robot.yaml --grid 5 --out out/workspace\n";

typedef struct workspaceArguments
{
    const char *scene, *samples, *grid, *effector, *out, *threads;
} workspaceArguments;

typedef struct Workspace
{
    const outFolder *folder;
    tdArena arena;
    tdModel *model;
    tdState *state;
    int n; // axes
    tdWorkspaceAxis *axes;
    int64_t count;  // places
    double *places; // count x n
    int n_values;
    int chosen;     // effector to draw
    double *rest;   // n_values: effectors at rest
    double *found;  // reached x n_values
    int64_t *index; // of each reached place
    int64_t reached, failed;
    double (*box)[2]; // by value
    tdError first;    // failure
    bool interrupted;
    double wall_s;
} Workspace;

// ---------------------------------------------------------------- visits

static void read_effectors(const Workspace *w, double *out)
{
    for (int e = 0; e < td_model_effectors(w->model); e++)
    {
        double value[3] = {0};
        int rows = td_model_effector(w->model, e).rows;
        td_state_effector(w->model, w->state, e, value);
        memcpy(out, value, (size_t)rows * sizeof *out);
        out += rows;
    }
}

// First value of an effector.
static int value_of(const Workspace *w, int effector)
{
    int at = 0;
    for (int e = 0; e < effector; e++)
        at += td_model_effector(w->model, e).rows;
    return at;
}

static tdStatus prepare(const workspaceArguments *arguments, long each, long samples, Workspace *w, tdError *error)
{
    const tdModel *model = w->model;
    TD_TRY(td_workspace_axes(model, &w->arena, &w->n, &w->axes, error));
    w->count = samples;
    if (arguments->grid != NULL)
        TD_TRY(td_workspace_grid(&w->arena, w->n, w->axes, (int)each, &w->count, &w->places, error));
    else
        TD_TRY(td_workspace_samples(&w->arena, w->n, w->axes, w->count, &w->places, error));
    w->n_values = value_of(w, td_model_effectors(model));
    w->rest = TD_TAKE(&w->arena, double, w->n_values);
    w->found = TD_TAKE(&w->arena, double, w->count * w->n_values);
    w->index = TD_TAKE(&w->arena, int64_t, w->count);
    w->box = td_arena_take(&w->arena, (size_t)w->n_values, sizeof *w->box);
    if (w->rest == NULL || w->found == NULL || w->index == NULL || w->box == NULL)
        return td_fail_memory(error, "the workspace");
    for (int k = 0; k < w->n_values; k++)
    {
        w->box[k][0] = INFINITY;
        w->box[k][1] = -INFINITY;
    }
    read_effectors(w, w->rest);
    return td_hold_inputs(model, w->state, td_model_steps(model) * td_model_time_step(model));
}

// reads  places      writes  found, index, box
static void visit_all(Workspace *w)
{
    sigBefore before = sig_catch();
    double start = td_seconds();
    for (int64_t i = 0; i < w->count && !sig_came(); i++)
    {
        double *values = w->found + w->reached * w->n_values;
        cli_progress("exploring", i + 1, w->count);
        tdStatus status = td_workspace_visit(w->model, w->state, w->n, w->axes, w->places + i * w->n);
        if (status == TD_CANCELLED)
            break;
        if (status != TD_OK)
        {
            if (w->failed++ == 0)
                w->first = td_state_report(w->state)->error;
            continue;
        }
        read_effectors(w, values);
        w->index[w->reached++] = i;
        for (int k = 0; k < w->n_values; k++)
        {
            w->box[k][0] = fmin(w->box[k][0], values[k]);
            w->box[k][1] = fmax(w->box[k][1], values[k]);
        }
    }
    w->wall_s = td_seconds() - start;
    w->interrupted = w->reached + w->failed < w->count;
    sig_release(&before);
}

// ---------------------------------------------------------------- files

static const char *input_unit(const tdActuatorInfo *info)
{
    return strcmp(info->drive, "effort") == 0 ? info->effort_unit : info->displacement_unit;
}

// What an actuator is set to at a place.
static double set_value(const Workspace *w, int64_t place, int actuator)
{
    for (int k = 0; k < w->n; k++)
        for (int j = 0; j < w->axes[k].n; j++)
            if (w->axes[k].actuators[j] == actuator)
                return w->axes[k].ratio[j] * w->places[place * w->n + k];
    return NAN;
}

static void title(tdText *text, const char *name, const char *suffix, const char *unit)
{
    tdText one = {0};
    td_csv_title(&one, name, suffix, unit);
    if (one.data != NULL)
        td_text_append(text, one.data + (text->size == 0 ? 1 : 0), (size_t)one.size - (text->size == 0 ? 1 : 0));
    text->failed = text->failed || one.failed;
    free(one.data);
}

static void put_place(const Workspace *w, int64_t place, tdText *text)
{
    for (int a = 0; a < td_model_actuators(w->model); a++)
    {
        if (a > 0)
            td_text_append(text, ",", 1);
        td_print_number(text, set_value(w, place, a));
    }
}

// Frees the text.
static tdStatus write_text(const char *folder, const char *name, tdText *text, tdError *error)
{
    tdStatus status = cli_write(folder, name, text, error);
    free(text->data);
    return status;
}

static tdStatus write_points(const Workspace *w, const char *folder, tdError *error)
{
    tdText text = {0};
    for (int a = 0; a < td_model_actuators(w->model); a++)
    {
        tdActuatorInfo info = td_model_actuator(w->model, a);
        title(&text, info.name, "", input_unit(&info));
    }
    for (int e = 0; e < td_model_effectors(w->model); e++)
    {
        tdEffectorInfo info = td_model_effector(w->model, e);
        for (int k = 0; k < info.rows; k++)
            title(&text, info.name, td_effector_suffix(info.rows, k), info.unit);
    }
    td_text_append(&text, "\n", 1);
    for (int64_t i = 0; i < w->reached; i++)
    {
        put_place(w, w->index[i], &text);
        for (int k = 0; k < w->n_values; k++)
        {
            td_text_append(&text, ",", 1);
            td_print_number(&text, w->found[i * w->n_values + k]);
        }
        td_text_append(&text, "\n", 1);
    }
    return write_text(folder, "points.csv", &text, error);
}

static tdStatus write_failures(const Workspace *w, const char *folder, tdError *error)
{
    tdText text = {0};
    for (int a = 0; a < td_model_actuators(w->model); a++)
    {
        tdActuatorInfo info = td_model_actuator(w->model, a);
        title(&text, info.name, "", input_unit(&info));
    }
    td_text_append(&text, "\n", 1);
    for (int64_t i = 0, next = 0; i < w->reached + w->failed; i++)
    {
        if (next < w->reached && w->index[next] == i)
        {
            next++;
            continue;
        }
        put_place(w, i, &text);
        td_text_append(&text, "\n", 1);
    }
    return write_text(folder, "failures.csv", &text, error);
}

static tdStatus write_cloud(const Workspace *w, const char *folder, tdError *error)
{
    int n = td_model_actuators(w->model), at = value_of(w, w->chosen);
    tdMesh mesh = {0};
    tdText text = {0};
    double *numbers = td_take((size_t)(n * w->reached), sizeof *numbers);
    tdField *fields = td_take((size_t)n, sizeof *fields);
    bool good = numbers != NULL && fields != NULL;
    for (int64_t i = 0; good && i < w->reached; i++)
    {
        const double *x = w->found + i * w->n_values + at;
        int32_t node = (int32_t)i;
        good = td_mesh_add_node(&mesh, x[0], x[1], x[2]) && td_mesh_add_cell(&mesh, TD_CELL_VERTEX, &node);
    }
    for (int a = 0; good && a < n; a++)
    {
        fields[a] = (tdField){td_model_actuator(w->model, a).name, 1, numbers + a * w->reached};
        for (int64_t i = 0; i < w->reached; i++)
            numbers[a * w->reached + i] = set_value(w, w->index[i], a);
    }
    tdStatus status = good ? td_mesh_write_vtu(&mesh, TD_MESH_BINARY, n, fields, 0, NULL, &text, error)
                           : td_fail_memory(error, "the points");
    td_mesh_free(&mesh);
    free(numbers);
    free(fields);
    return status == TD_OK ? write_text(folder, "points.vtu", &text, error) : status;
}

// Three projections in one scale.
static tdStatus draw_cloud(const Workspace *w, const char *folder, tdError *error)
{
    static const int sides[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    tdEffectorInfo info = td_model_effector(w->model, w->chosen);
    int at = value_of(w, w->chosen);
    double scale = 1, wide = 0;
    for (int c = 0; c < 3; c++)
        wide = fmax(wide, w->box[at + c][1] - w->box[at + c][0]);
    const char *prefix = strcmp(info.unit, "m") == 0 && wide > 0 ? td_si_prefix(wide, &scale) : "";
    char labels[3][64], path[PATH_MAX], text[3][160];
    double *x = td_take((size_t)(3 * w->reached), sizeof *x), rest[3];
    if (x == NULL)
        return td_fail_memory(error, "a picture");
    for (int c = 0; c < 3; c++)
    {
        snprintf(labels[c], sizeof labels[c], info.unit[0] == '\0' ? "%c" : "%c [%s%s]", "xyz"[c], prefix, info.unit);
        rest[c] = w->rest[at + c] / scale;
        for (int64_t i = 0; i < w->reached; i++)
            x[c * w->reached + i] = w->found[i * w->n_values + at + c] / scale;
    }
    tdPanel panels[3];
    tdSeries series[3][2];
    for (int p = 0; p < 3; p++)
    {
        int a = sides[p][0], b = sides[p][1];
        series[p][0] = (tdSeries){.n = w->reached,
                                  .x = x + a * w->reached,
                                  .y = x + b * w->reached,
                                  .marker = TD_MARKER_DOT,
                                  .line = TD_LINE_NONE};
        series[p][1] = (tdSeries){
            .name = "at rest", .n = 1, .x = rest + a, .y = rest + b, .marker = TD_MARKER_DIAMOND, .line = TD_LINE_NONE};
        panels[p] = (tdPanel){td_default_plot(), 2, series[p]};
        panels[p].settings.width = 640;
        panels[p].settings.height = 600;
        snprintf(text[p], sizeof text[p], "%.80s along %c", info.name, "xyz"[3 - a - b]);
        panels[p].settings.title = text[p];
        panels[p].settings.x_label = labels[a];
        panels[p].settings.y_label = labels[b];
        panels[p].settings.equal = true;
    }
    tdStatus status = td_path_join(path, sizeof path, folder, "workspace.png")
                          ? td_plot_panels(3, 3, panels, path, error)
                          : td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    free(x);
    return status;
}

static tdStatus write_files(const Workspace *w, const char *folder, tdError *error)
{
    TD_TRY(td_path_make(folder, error));
    TD_TRY(write_points(w, folder, error));
    if (w->failed > 0)
        TD_TRY(write_failures(w, folder, error));
    if (w->reached == 0 || td_model_effector(w->model, w->chosen).rows < 3)
        return TD_OK;
    TD_TRY(write_cloud(w, folder, error));
    return draw_cloud(w, folder, error);
}

// ---------------------------------------------------------------- result

static void print_json(const workspaceArguments *arguments, const Workspace *w)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", w->interrupted ? "interrupted" : "done");
    td_json_string(&json, "scene", arguments->scene);
    td_json_integer(&json, "axes", w->n);
    td_json_integer(&json, "places", w->reached + w->failed);
    td_json_integer(&json, "reached", w->reached);
    td_json_integer(&json, "failures", w->failed);
    if (w->failed > 0)
        td_json_string(&json, "first_failure", w->first.message);
    td_json_number(&json, "wall_s", w->wall_s);
    td_json_open(&json, "effectors", '[');
    for (int e = 0; e < td_model_effectors(w->model); e++)
    {
        tdEffectorInfo info = td_model_effector(w->model, e);
        double low[3], high[3];
        for (int k = 0; k < info.rows; k++)
        {
            low[k] = w->reached > 0 ? w->box[value_of(w, e) + k][0] : NAN;
            high[k] = w->reached > 0 ? w->box[value_of(w, e) + k][1] : NAN;
        }
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "name", info.name);
        td_json_string(&json, "unit", info.unit);
        td_json_numbers(&json, "rest", info.rows, w->rest + value_of(w, e));
        td_json_numbers(&json, "least", info.rows, low);
        td_json_numbers(&json, "most", info.rows, high);
        td_json_close(&json, '}');
    }
    td_json_close(&json, ']');
    if (arguments->out != NULL)
        td_json_string(&json, "out", arguments->out);
    td_json_integer(&json, "peak_rss", sim_peak_memory());
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static void print_table(const workspaceArguments *arguments, const Workspace *w)
{
    printf("scene       %s\n", arguments->scene);
    printf("places      %" PRId64 " of %d axes: %" PRId64 " equilibria, %" PRId64 " without one\n",
           w->reached + w->failed, w->n, w->reached, w->failed);
    printf("wall time   %.3g s\n", w->wall_s);
    if (w->failed > 0)
        printf("first fault %s\n", w->first.message);
    if (arguments->out != NULL)
        printf("files       %s/points.csv, points.vtu, workspace.png\n", arguments->out);
    printf("\n%-16s %-5s %14s %14s %14s\n", "effector", "", "rest", "least", "most");
    for (int e = 0; w->reached > 0 && e < td_model_effectors(w->model); e++)
    {
        tdEffectorInfo info = td_model_effector(w->model, e);
        for (int k = 0; k < info.rows; k++)
        {
            int at = value_of(w, e) + k;
            printf("%-16s %-5s %14.6g %14.6g %14.6g\n", k == 0 ? info.name : "", info.unit, w->rest[at], w->box[at][0],
                   w->box[at][1]);
        }
    }
}

// ---------------------------------------------------------------- the command

static int choose_effector(const workspaceArguments *arguments, Workspace *w)
{
    tdError error = {0};
    int n = td_model_effectors(w->model);
    if (n == 0)
    {
        td_fail_at(&error, TD_ERROR_INPUT, arguments->scene, 0, "effectors",
                   "the scene has no effector, so that there is nothing to look at; add one, e.g. 'effectors: [{name: "
                   "tip, body: %s, point: [0, 0, 0.1]}]'",
                   td_model_body_name(w->model, 0));
        return cli_fail(&error);
    }
    w->chosen = arguments->effector == NULL ? 0 : td_model_find_effector(w->model, arguments->effector);
    if (w->chosen >= 0)
        return -1;
    const char **names = calloc((size_t)n, sizeof *names), *nearest = NULL;
    for (int e = 0; names != NULL && e < n; e++)
        names[e] = td_model_effector(w->model, e).name;
    nearest = names != NULL ? td_suggest(arguments->effector, names, n) : NULL;
    free(names);
    return nearest != NULL ? cli_usage("there is no effector '%s'; did you mean '%s'?", arguments->effector, nearest)
                           : cli_usage("there is no effector '%s'; the first is '%s'", arguments->effector,
                                       td_model_effector(w->model, 0).name);
}

static int explore(const workspaceArguments *arguments, long each, long samples, const tdSettings *settings,
                   Workspace *w)
{
    tdError error = {0};
    if (td_model_load_edited(arguments->scene, settings, td_workspace_edit, NULL, &w->model, &error) != TD_OK)
        return cli_fail(&error);
    int code = choose_effector(arguments, w);
    if (code >= 0)
        return code;
    if (td_state_create(w->model, settings, &w->state, &error) != TD_OK ||
        prepare(arguments, each, samples, w, &error) != TD_OK)
        return cli_fail(&error);
    visit_all(w);
    out_clear(w->folder);
    if (arguments->out != NULL && write_files(w, arguments->out, &error) != TD_OK)
        return cli_fail(&error);
    if (w->reached == 0 && w->failed > 0)
        return cli_fail(&w->first);
    if (cli_json())
        print_json(arguments, w);
    else
        print_table(arguments, w);
    if (w->interrupted)
        fprintf(stderr, "tendril: interrupted after %" PRId64 " of %" PRId64 " places\n", w->reached + w->failed,
                w->count);
    return w->interrupted ? 130 : 0;
}

int cmd_workspace(int argc, char **argv)
{
    workspaceArguments arguments = {0};
    const cliOption options[] = {
        {"--samples", &arguments.samples, NULL},   {"--grid", &arguments.grid, NULL},
        {"--effector", &arguments.effector, NULL}, OUT_OPTIONS(arguments.out),
        {"--threads", &arguments.threads, NULL},   CLI_ROM_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &arguments.scene, 1, 1);
    if (code >= 0)
        return code;
    long samples = 200, each = 2;
    if (arguments.samples != NULL && arguments.grid != NULL)
        return cli_usage("--samples and --grid exclude each other; give one");
    if (arguments.samples != NULL && !cli_integer("--samples", arguments.samples, 1, &samples))
        return TD_ERROR_USAGE;
    if (arguments.grid != NULL && !cli_integer("--grid", arguments.grid, 2, &each))
        return TD_ERROR_USAGE;
    if (samples > TD_WORKSPACE_SAMPLES)
        return cli_usage("--samples takes at most %d; for more, use --grid", TD_WORKSPACE_SAMPLES);
    tdSettings settings = cli_settings();
    code = sim_check_common(arguments.threads, arguments.out, &settings);
    if (code >= 0)
        return code;
    static const char *const names[] = {"points.csv", "points.vtu", "workspace.png", "failures.csv", NULL};
    outFolder folder;
    code = out_take(&folder, arguments.out, names, false);
    if (code >= 0)
        return code;
    Workspace w = {.folder = &folder};
    code = explore(&arguments, each, samples, &settings, &w);
    out_release(&folder);
    td_state_free(w.state);
    td_model_free(w.model);
    td_arena_free(&w.arena);
    return code;
}
