// SPDX-License-Identifier: Apache-2.0
// Where the effectors of a robot can get: td_workspace_explore(), and what it writes.
#include "study/workspace.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/print.h"
#include "base/suggest.h"
#include "base/timer.h"
#include "control/control.h"
#include "mesh/mesh.h"
#include "output/csv.h"
#include "render/plot.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- visits

static void read_effectors(const tdWorkspace *w, double *out)
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

int td_workspace_value_of(const tdWorkspace *w, int effector)
{
    int at = 0;
    for (int e = 0; e < effector; e++)
        at += td_model_effector(w->model, e).rows;
    return at;
}

static tdStatus prepare(const tdWorkspaceSettings *what, tdWorkspace *w, tdError *error)
{
    const tdModel *model = w->model;
    TD_TRY(td_workspace_axes(model, &w->arena, &w->n, &w->axes, error));
    w->count = what->samples;
    if (what->grid > 0)
        TD_TRY(td_workspace_grid(&w->arena, w->n, w->axes, what->grid, &w->count, &w->places, error));
    else
        TD_TRY(td_workspace_samples(&w->arena, w->n, w->axes, w->count, &w->places, error));
    w->n_values = td_workspace_value_of(w, td_model_effectors(model));
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
static void visit_all(const tdWorkspaceSettings *what, tdWorkspace *w)
{
    double start = td_seconds();
    for (int64_t i = 0; i < w->count; i++)
    {
        double *values = w->found + w->reached * w->n_values;
        if (what->progress != NULL && !what->progress(what->user, "exploring", i, w->count))
            break;
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
    w->stopped = w->reached + w->failed < w->count;
    if (!w->stopped && what->progress != NULL)
        what->progress(what->user, "exploring", w->count, w->count);
}

// ---------------------------------------------------------------- files

static const char *input_unit(const tdActuatorInfo *info)
{
    return strcmp(info->drive, "effort") == 0 ? info->effort_unit : info->displacement_unit;
}

// What an actuator is set to at a place.
static double set_value(const tdWorkspace *w, int64_t place, int actuator)
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

static void put_place(const tdWorkspace *w, int64_t place, tdText *text)
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
    char path[PATH_MAX];
    tdStatus status = TD_OK;
    if (text->failed)
        status = td_fail_memory(error, "a file");
    else if (!td_path_join(path, sizeof path, folder, name))
        status = td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    else
        status = td_file_write(path, text->data, (size_t)text->size, error);
    free(text->data);
    return status;
}

static tdStatus write_points(const tdWorkspace *w, const char *folder, tdError *error)
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

static tdStatus write_failures(const tdWorkspace *w, const char *folder, tdError *error)
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

static tdStatus write_cloud(const tdWorkspace *w, const char *folder, tdError *error)
{
    int n = td_model_actuators(w->model), at = td_workspace_value_of(w, w->chosen);
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
static tdStatus draw_cloud(const tdWorkspace *w, const char *folder, tdError *error)
{
    static const int sides[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    tdEffectorInfo info = td_model_effector(w->model, w->chosen);
    int at = td_workspace_value_of(w, w->chosen);
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

tdStatus td_workspace_write(const tdWorkspace *w, const char *folder, tdError *error)
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

// ---------------------------------------------------------------- the study

tdWorkspaceSettings td_default_workspace(void)
{
    return (tdWorkspaceSettings){.samples = 200};
}

static tdStatus check(const tdWorkspaceSettings *what, tdError *error)
{
    if (what->grid < 0 || what->grid == 1)
        return td_fail(error, TD_ERROR_USAGE, "a grid of %d values of each actuator; at least 2 are needed",
                       what->grid);
    if (what->grid == 0 && what->samples < 1)
        return td_fail(error, TD_ERROR_USAGE, "%lld samples; at least 1 is needed", (long long)what->samples);
    if (what->grid == 0 && what->samples > TD_WORKSPACE_SAMPLES)
        return td_fail(error, TD_ERROR_USAGE, "%lld samples; at most %d are supported, for more use a grid",
                       (long long)what->samples, TD_WORKSPACE_SAMPLES);
    return TD_OK;
}

static tdStatus choose_effector(const char *scene, const tdWorkspaceSettings *what, tdWorkspace *w, tdError *error)
{
    int n = td_model_effectors(w->model);
    if (n == 0)
        return td_fail_at(error, TD_ERROR_INPUT, scene, 0, "effectors",
                          "the scene has no effector, so there is nothing to record; add one, e.g. 'effectors: "
                          "[{name: tip, body: %s, point: [0, 0, 0.1]}]'",
                          td_model_body_name(w->model, 0));
    w->chosen = what->effector == NULL ? 0 : td_model_find_effector(w->model, what->effector);
    if (w->chosen >= 0)
        return TD_OK;
    const char **names = td_take((size_t)n, sizeof *names), *nearest = NULL;
    for (int e = 0; names != NULL && e < n; e++)
        names[e] = td_model_effector(w->model, e).name;
    nearest = names != NULL ? td_suggest(what->effector, names, n) : NULL;
    free(names);
    if (nearest != NULL)
        return td_fail(error, TD_ERROR_USAGE, "there is no effector '%.60s'; did you mean '%s'?", what->effector,
                       nearest);
    return td_fail(error, TD_ERROR_USAGE, "there is no effector '%.60s'; the first is '%s'", what->effector,
                   td_model_effector(w->model, 0).name);
}

tdStatus td_workspace_explore(const char *scene_path, const tdWorkspaceSettings *what, const tdSettings *settings,
                              tdWorkspace **out, tdError *error)
{
    const tdWorkspaceSettings standard = td_default_workspace();
    what = what != NULL ? what : &standard;
    *out = NULL;
    TD_TRY(check(what, error));
    tdWorkspace *w = td_take(1, sizeof *w);
    if (w == NULL)
        return td_fail_memory(error, "the workspace");
    tdStatus status = td_model_load_edited(scene_path, settings, td_workspace_edit, NULL, &w->model, error);
    if (status == TD_OK)
        status = choose_effector(scene_path, what, w, error);
    if (status == TD_OK)
        status = td_state_create(w->model, settings, &w->state, error);
    if (status == TD_OK)
        status = prepare(what, w, error);
    if (status != TD_OK)
    {
        td_workspace_free(w);
        return status;
    }
    visit_all(what, w);
    *out = w;
    return TD_OK;
}

void td_workspace_free(tdWorkspace *workspace)
{
    if (workspace == NULL)
        return;
    td_state_free(workspace->state);
    td_model_free(workspace->model);
    td_arena_free(&workspace->arena);
    free(workspace);
}

tdWorkspaceInfo td_workspace_info(const tdWorkspace *w)
{
    return (tdWorkspaceInfo){.axes = w->n,
                             .actuators = td_model_actuators(w->model),
                             .values = w->n_values,
                             .places = w->count,
                             .reached = w->reached,
                             .failed = w->failed,
                             .failure = w->failed > 0 ? &w->first : NULL,
                             .stopped = w->stopped,
                             .seconds = w->wall_s};
}

const tdModel *td_workspace_model(const tdWorkspace *workspace)
{
    return workspace->model;
}

const double *td_workspace_points(const tdWorkspace *workspace)
{
    return workspace->found;
}

const double *td_workspace_at_rest(const tdWorkspace *workspace)
{
    return workspace->rest;
}

void td_workspace_actuation(const tdWorkspace *workspace, int64_t place, double *out)
{
    assert(place >= 0 && place < workspace->reached);
    for (int a = 0; a < td_model_actuators(workspace->model); a++)
        out[a] = set_value(workspace, workspace->index[place], a);
}
