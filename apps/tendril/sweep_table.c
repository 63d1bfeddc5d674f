// SPDX-License-Identifier: Apache-2.0
// The table of a sweep, a row a run, and its picture.
#include "sweep.h"

#include "base/print.h"
#include "output/csv.h"
#include "render/plot.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PANELS 12
#define MOST_CURVES 8

// ---------------------------------------------------------------- titles

// As the tables of a run name them: probe:tip is tip_x, tip_y, tip_z; effort:north is north.effort.
static void title_of(const tdModel *model, const tdOutputInfo *info, int64_t k, tdText *out)
{
    static const char *const axes[] = {"x", "y", "z"};
    char suffix[64] = "";
    size_t length = strcspn(info->name, ":");
    const char *of = info->name[length] == ':' ? info->name + length + 1 : info->name, *unit = info->unit;
    int sensor = strncmp(info->name, "sensor:", 7) == 0 ? td_model_find_sensor(model, of) : -1;
    if (sensor >= 0)
    {
        tdSensorInfo measured = td_model_sensor(model, sensor);
        snprintf(suffix, sizeof suffix, ".%s", measured.columns[k]);
        unit = measured.units[k];
    }
    else if (of == info->name) // one number of the whole scene
        suffix[0] = '\0';
    else if (strncmp(info->name, "probe:", 6) == 0)
        snprintf(suffix, sizeof suffix, "_%s", axes[k % 3]);
    else if (strncmp(info->name, "effector:", 9) == 0)
        snprintf(suffix, sizeof suffix, "%s%s", info->count == 3 ? "." : "", info->count == 3 ? axes[k] : "");
    else if (info->count == 1)
        snprintf(suffix, sizeof suffix, ".%.*s", (int)(length < 40 ? length : 40), info->name);
    else if (info->count == 3)
        snprintf(suffix, sizeof suffix, ".%.*s_%s", (int)(length < 40 ? length : 40), info->name, axes[k]);
    else
        snprintf(suffix, sizeof suffix, ".%.*s_%lld", (int)(length < 40 ? length : 40), info->name, (long long)k);
    td_csv_title(out, of, suffix, unit);
}

tdStatus sweep_titles(Sweep *sweep, const tdModel *model, const tdOutputs *outputs, tdError *error)
{
    int n = 0;
    sweep->width = (int)td_outputs_width(outputs);
    sweep->titles = TD_TAKE(&sweep->arena, const char *, sweep->width + 1);
    for (int i = 0; i < td_outputs_count(outputs) && sweep->titles != NULL; i++)
    {
        tdOutputInfo info = td_outputs_info(outputs, i);
        for (int64_t k = 0; k < info.count; k++)
        {
            tdText title = {0};
            title_of(model, &info, k, &title);
            sweep->titles[n] = title.data != NULL ? td_arena_copy(&sweep->arena, title.data + 1) : NULL; // after ','
            free(title.data);
            if (sweep->titles[n++] == NULL)
                return td_fail_memory(error, "the titles of the table");
        }
    }
    return sweep->titles != NULL ? TD_OK : td_fail_memory(error, "the titles of the table");
}

// ---------------------------------------------------------------- table

static void put_text(tdText *out, const char *text)
{
    bool quoted = strpbrk(text, ",\"") != NULL;
    td_text_append(out, ",\"", quoted ? 2 : 1);
    for (const char *c = text; *c != '\0'; c++)
        td_text_append(out, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    if (quoted)
        td_text_append(out, "\"", 1);
}

static void put_row(const Sweep *sweep, int64_t run, tdText *out)
{
    char value[VARY_VALUE];
    double number;
    td_text_format(out, "%lld", (long long)run + 1);
    for (int a = 0; a < sweep->n_axes; a++)
    {
        vary_value(&sweep->axis[a], sweep_index(sweep, run, a), sweep_seed(sweep, run), a, value, &number);
        if (sweep->axis[a].numeric)
        {
            td_text_append(out, ",", 1);
            td_print_number(out, number);
        }
        else
            put_text(out, value);
    }
    if (sweep->seeds > 0)
        td_text_format(out, ",%llu", (unsigned long long)sweep_seed(sweep, run));
    td_text_format(out, ",%s,%lld", td_status_name((tdStatus)sweep->run[run].status), (long long)sweep->run[run].steps);
    for (int k = 0; k < sweep->width; k++)
    {
        double x = sweep->values[run * sweep->width + k];
        td_text_append(out, ",", 1);
        if (!isnan(x))
            td_print_number(out, x);
    }
    td_text_append(out, "\n", 1);
}

static tdStatus write_table(const Sweep *sweep, const char *folder, tdError *error)
{
    tdText out = {0};
    td_text_append(&out, "run", 3);
    for (int a = 0; a < sweep->n_axes; a++)
        td_csv_title(&out, sweep->axis[a].path, "", sweep->axis[a].unit);
    td_text_format(&out, "%s,status,steps", sweep->seeds > 0 ? ",seed" : "");
    for (int k = 0; k < sweep->width; k++)
        td_text_format(&out, ",%s", sweep->titles[k]);
    td_text_append(&out, "\n", 1);
    for (int64_t i = 0; i < sweep->runs; i++)
        put_row(sweep, i, &out);
    tdStatus status = cli_write(folder, "table.csv", &out, error);
    free(out.data);
    return status;
}

// ---------------------------------------------------------------- picture

// Over which axis: the first that has numbers and more than one of them, or draws; -1: the number of the run.
static int axis_of_picture(const Sweep *sweep)
{
    for (int a = 0; a < sweep->n_axes; a++)
        if (sweep->axis[a].numeric && (sweep->axis[a].n > 1 || vary_is_drawn(&sweep->axis[a])))
            return a;
    return -1;
}

// Curves: one for each combination of the other axes that are not drawn.
static int64_t curve_of(const Sweep *sweep, int64_t run, int shown)
{
    int64_t curve = 0;
    for (int a = 0; a < sweep->n_axes; a++)
        if (a != shown)
            curve = curve * sweep->axis[a].n + sweep_index(sweep, run, a);
    return curve;
}

static void name_curve(const Sweep *sweep, int64_t run, int shown, char out[120])
{
    size_t at = 0;
    out[0] = '\0';
    for (int a = 0; a < sweep->n_axes && at < 100; a++)
    {
        char value[VARY_VALUE];
        double number;
        if (a == shown || vary_is_drawn(&sweep->axis[a]) || sweep->axis[a].n < 2)
            continue;
        const char *last = strrchr(sweep->axis[a].path, '.');
        vary_value(&sweep->axis[a], sweep_index(sweep, run, a), 0, a, value, &number);
        at += (size_t)snprintf(out + at, 120 - at, "%s%.30s %.40s", at > 0 ? ", " : "",
                               last != NULL ? last + 1 : sweep->axis[a].path, value);
    }
}

typedef struct Picture
{
    int shown;
    bool joined; ///< points are joined by a line: they are in order, one for each place
    char label[300];
    double *x;
    int n_curves;
    int64_t *runs[MOST_CURVES]; ///< of each curve
    int64_t n[MOST_CURVES];
    char name[MOST_CURVES][120];
} Picture;

static tdStatus plan_picture(const Sweep *sweep, Picture *p, tdArena *arena, tdError *error)
{
    p->shown = axis_of_picture(sweep);
    p->joined = sweep->seeds == 0 && p->shown >= 0;
    p->x = TD_TAKE(arena, double, sweep->runs + 1);
    if (p->x == NULL)
        return td_fail_memory(error, "the picture");
    snprintf(p->label, sizeof p->label, "run");
    if (p->shown >= 0)
        snprintf(p->label, sizeof p->label, "%.200s%s%.40s%s", sweep->axis[p->shown].path,
                 sweep->axis[p->shown].unit[0] != '\0' ? " [" : "", sweep->axis[p->shown].unit,
                 sweep->axis[p->shown].unit[0] != '\0' ? "]" : "");
    for (int64_t i = 0; i < sweep->runs; i++)
    {
        char value[VARY_VALUE];
        p->x[i] = (double)i + 1;
        if (p->shown >= 0)
            vary_value(&sweep->axis[p->shown], sweep_index(sweep, i, p->shown), sweep_seed(sweep, i), p->shown, value,
                       &p->x[i]);
        int64_t curve = curve_of(sweep, i, p->shown);
        if (curve >= MOST_CURVES)
            continue; // the table has them all
        while (p->n_curves <= curve)
        {
            p->runs[p->n_curves] = TD_TAKE(arena, int64_t, sweep->runs);
            if (p->runs[p->n_curves++] == NULL)
                return td_fail_memory(error, "the picture");
        }
        if (p->n[curve] == 0)
            name_curve(sweep, i, p->shown, p->name[curve]);
        p->runs[curve][p->n[curve]++] = i;
    }
    return TD_OK;
}

static tdStatus draw(const Sweep *sweep, const char *path, tdArena *arena, tdError *error)
{
    Picture p = {0};
    tdPanel panels[MOST_PANELS];
    int n = 0;
    TD_TRY(plan_picture(sweep, &p, arena, error));
    for (int k = 0; k < sweep->width && n < MOST_PANELS; k++)
    {
        tdSeries *series = TD_TAKE(arena, tdSeries, p.n_curves);
        double least = INFINITY, most = -INFINITY;
        if (series == NULL)
            return td_fail_memory(error, "the picture");
        for (int c = 0; c < p.n_curves; c++)
        {
            double *x = TD_TAKE(arena, double, p.n[c] + 1), *y = TD_TAKE(arena, double, p.n[c] + 1);
            if (x == NULL || y == NULL)
                return td_fail_memory(error, "the picture");
            for (int64_t i = 0; i < p.n[c]; i++)
            {
                x[i] = p.x[p.runs[c][i]];
                y[i] = sweep->values[p.runs[c][i] * sweep->width + k];
                least = fmin(least, y[i]); // NAN is passed over
                most = fmax(most, y[i]);
            }
            series[c] = (tdSeries){.name = p.name[c][0] != '\0' ? p.name[c] : NULL, .n = p.n[c], .x = x, .y = y};
            series[c].marker = TD_MARKER_CIRCLE;
            series[c].line = p.joined ? TD_LINE_SOLID : TD_LINE_NONE;
        }
        if (!(most > least)) // nothing to be seen: all runs have the same, or none has any
            continue;
        panels[n] = (tdPanel){.settings = td_default_plot(), .n = p.n_curves, .series = series};
        panels[n].settings.width = 640;
        panels[n].settings.height = 400;
        panels[n].settings.x_label = p.label;
        panels[n++].settings.y_label = sweep->titles[k];
    }
    return n > 0 ? td_plot_panels(n < 3 ? n : 3, n, panels, path, error) : TD_OK;
}

tdStatus sweep_write(const Sweep *sweep, const char *folder, tdError *error)
{
    char path[PATH_MAX];
    tdArena arena = {0};
    if (!td_path_join(path, sizeof path, folder, "table.png"))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    tdStatus status = draw(sweep, path, &arena, error);
    td_arena_free(&arena);
    return status == TD_OK ? write_table(sweep, folder, error) : status; // last: where it is, all is done
}
