// SPDX-License-Identifier: Apache-2.0
#include "study/tracking.h"

#include "base/memory.h"
#include "control/control.h"
#include "output/csv.h"
#include "render/plot.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_POINTS 4000 // of a curve in a picture

// ---------------------------------------------------------------- tables

// Goal of an effector: of the control, or the scene's own.
static bool goal_of(const tdTracking *table, const tdModel *model, const tdState *state, int effector, double goal[3])
{
    return td_control_goal(table->control, effector, td_state_time(state), goal) ||
           td_state_target(model, state, effector, goal);
}

static void title_values(tdText *header, tdEffectorInfo info, const char *what)
{
    for (int k = 0; k < info.rows; k++)
    {
        char suffix[32];
        snprintf(suffix, sizeof suffix, ".%s%s", what, td_effector_suffix(info.rows, k));
        td_csv_title(header, info.name, suffix, info.unit);
    }
}

static tdStatus open_tables(tdTracking *table, const tdModel *model, tdError *error)
{
    tdText titles = {0};
    for (int a = 0; a < table->n_actuators; a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        td_csv_title(&titles, info.name, ".effort", info.effort_unit);
        td_csv_title(&titles, info.name, ".displacement", info.displacement_unit);
    }
    tdStatus status = td_csv_open(table->folder, "actuation.csv", &titles, -1, &table->actuation, error);
    titles.size = 0;
    for (int k = 0; k < table->n_effectors; k++)
    {
        tdEffectorInfo info = td_model_effector(model, table->effector[k]);
        title_values(&titles, info, "goal");
        title_values(&titles, info, "value");
        td_csv_title(&titles, info.name, ".error", info.unit);
        if (table->measured)
        {
            title_values(&titles, info, "measured");
            td_csv_title(&titles, info.name, ".measured_error", info.unit);
        }
    }
    td_csv_title(&titles, "residual", "", "");
    td_csv_title(&titles, "out_of_reach", "", "");
    td_csv_title(&titles, "active_bounds", "", "");
    td_csv_title(&titles, "blocked", "", "");
    if (status == TD_OK)
        status = td_csv_open(table->folder, "tracking.csv", &titles, -1, &table->tracking, error);
    free(titles.data);
    return status;
}

static tdStatus find_effectors(tdTracking *table, const tdModel *model)
{
    table->effector = td_take((size_t)td_model_effectors(model), sizeof *table->effector);
    if (table->effector == NULL)
        return TD_ERROR_MEMORY;
    for (int e = 0; e < td_model_effectors(model); e++)
    {
        double goal[3];
        if (td_control_goal(table->control, e, 0, goal) || td_model_effector_has_target(model, e))
            table->effector[table->n_effectors++] = e;
    }
    table->n_actuators = td_model_actuators(model);
    table->width = td_tracking_value_column(table, table->n_effectors);
    table->line = td_take((size_t)(11 * table->n_effectors + 2 * table->n_actuators + 4), sizeof *table->line);
    return table->line == NULL ? TD_ERROR_MEMORY : TD_OK;
}

tdStatus td_tracking_create(const tdModel *model, tdControl *control, const char *folder, bool measured,
                            tdTracking **out, tdError *error)
{
    *out = NULL;
    tdTracking *table = td_take(1, sizeof *table);
    if (table == NULL)
        return td_fail_memory(error, "the table of the control");
    table->model = model;
    table->control = control;
    table->measured = measured;
    tdStatus status = find_effectors(table, model);
    if (status != TD_OK)
        td_fail_memory(error, "the table of the control");
    if (status == TD_OK && folder != NULL)
    {
        snprintf(table->folder, sizeof table->folder, "%s", folder);
        status = td_path_make(folder, error);
        if (status == TD_OK)
            status = open_tables(table, model, error);
    }
    if (status != TD_OK)
    {
        td_tracking_free(table);
        return status;
    }
    *out = table;
    return TD_OK;
}

void td_tracking_free(tdTracking *table)
{
    if (table == NULL)
        return;
    td_csv_close(table->actuation, NULL);
    td_csv_close(table->tracking, NULL);
    free(table->effector);
    free(table->rows);
    free(table->line);
    free(table);
}

// ---------------------------------------------------------------- steps

static int put(double *line, int n, int count, const double *values)
{
    memcpy(line + n, values, (size_t)count * sizeof *values);
    return n + count;
}

// Fills the errors of a row, and the line of tracking.csv. Returns the length of the line.
static int add_effectors(tdTracking *table, const tdModel *model, const tdState *state, double *row)
{
    int n = 0;
    for (int k = 0; k < table->n_effectors; k++)
    {
        int e = table->effector[k], rows = td_model_effector(model, e).rows;
        double goal[3] = {NAN, NAN, NAN}, value[3] = {0}, measured[3] = {NAN, NAN, NAN};
        bool has = goal_of(table, model, state, e, goal);
        td_state_effector(model, state, e, value);
        put(row, td_tracking_goal_column(table, k), 3, goal);
        put(row, td_tracking_value_column(table, k), 3, value);
        row[td_tracking_error_column(k)] = has ? td_control_error(model, e, value, goal) : NAN;
        n = put(table->line, n, rows, goal);
        n = put(table->line, n, rows, value);
        table->line[n++] = row[td_tracking_error_column(k)];
        row[td_tracking_measured_column(table, k)] = NAN;
        if (!table->measured)
            continue;
        if (td_control_measured(table->control, e, td_state_time(state), measured) && has)
            row[td_tracking_measured_column(table, k)] = td_control_error(model, e, measured, goal);
        n = put(table->line, n, rows, measured);
        table->line[n++] = row[td_tracking_measured_column(table, k)];
    }
    return n;
}

tdStatus td_tracking_add(tdTracking *table, const tdState *state, double seconds, tdError *error)
{
    const tdModel *model = table->model;
    const tdReport *report = td_state_report(state);
    if (!td_grow((void **)&table->rows, &table->capacity, (table->n + 1) * table->width, sizeof(double)))
        return td_fail_memory(error, "the table of the control");
    double *row = table->rows + table->n * table->width, time = td_state_time(state);
    int64_t step = td_state_steps(state);
    row[TD_TRACKING_TIME] = time;
    row[TD_TRACKING_SOLVE] = report->inverse_seconds;
    row[TD_TRACKING_STEP] = seconds;
    int n = add_effectors(table, model, state, row);
    n = put(table->line, n, 4,
            (double[]){report->inverse_residual, report->out_of_reach ? 1 : 0, report->active_bounds,
                       report->contact_blocks ? 1 : 0});
    if (table->tracking != NULL)
        TD_TRY(td_csv_row(table->tracking, step, time, n, table->line, error));
    for (int a = 0; a < table->n_actuators; a++)
    {
        tdActuation does = td_state_actuation(model, state, a);
        row[td_tracking_effort_column(table, a)] = table->line[2 * a] = does.effort;
        row[td_tracking_displacement_column(table, a)] = table->line[2 * a + 1] = does.displacement;
    }
    if (table->actuation != NULL)
        TD_TRY(td_csv_row(table->actuation, step, time, 2 * table->n_actuators, table->line, error));
    table->out_of_reach += report->out_of_reach;
    table->limited += report->active_bounds > 0;
    table->blocked += report->contact_blocks;
    if (report->contact_blocks)
        memcpy(table->blocked_by, report->blocking_body, sizeof table->blocked_by);
    table->stopped += report->inverse_limit;
    table->violation = fmax(table->violation, report->bound_violation);
    table->n++;
    return TD_OK;
}

// ---------------------------------------------------------------- pictures

// A column of the memory as a curve. Curves of one quantity and unit share a panel.
typedef struct Curve
{
    const char *name, *quantity, *unit;
    int column;
} Curve;

// Numbers in a prefix that suits them; `scale` divides. Prefixes of m^3 would mislead.
static void label_of(const Curve *curve, double largest, char *label, size_t size, double *scale)
{
    static const char *const prefixed[] = {"m", "N", "Pa", "N m"};
    const char *prefix = "";
    *scale = 1;
    for (size_t i = 0; i < sizeof prefixed / sizeof prefixed[0] && largest > 0; i++)
        if (strcmp(curve->unit, prefixed[i]) == 0)
            prefix = td_si_prefix(largest, scale);
    snprintf(label, size, curve->unit[0] == '\0' ? "%s" : "%s [%s%s]", curve->quantity, prefix, curve->unit);
}

typedef struct Picture
{
    const tdTracking *table;
    int n, n_panels;
    const Curve *curves;
    int64_t points, stride;
    double *numbers; // of one curve after the other: x, y
    tdSeries *series;
    tdPanel *panels;
    char (*labels)[80];
} Picture;

static bool same_panel(const Curve *a, const Curve *b)
{
    return strcmp(a->quantity, b->quantity) == 0 && strcmp(a->unit, b->unit) == 0;
}

// One panel: the curves like `first`, from picture->series[from] on. Returns how many.
static int fill_panel(Picture *picture, int first, int from)
{
    const tdTracking *table = picture->table;
    double largest = 0, scale = 1;
    int n = 0;
    for (int c = first; c < picture->n; c++)
        for (int64_t i = 0; same_panel(&picture->curves[c], &picture->curves[first]) && i < table->n; i++)
            largest = fmax(largest, fabs(td_tracking_at(table, i, picture->curves[c].column)));
    char *label = picture->labels[picture->n_panels];
    label_of(&picture->curves[first], largest, label, sizeof picture->labels[0], &scale);
    for (int c = first; c < picture->n; c++)
    {
        if (!same_panel(&picture->curves[c], &picture->curves[first]))
            continue;
        double *x = picture->numbers + 2 * picture->points * (from + n), *y = x + picture->points;
        for (int64_t i = 0; i < picture->points; i++)
        {
            int64_t row = i == picture->points - 1 ? table->n - 1 : i * picture->stride;
            x[i] = td_tracking_at(table, row, TD_TRACKING_TIME);
            y[i] = td_tracking_at(table, row, picture->curves[c].column) / scale;
        }
        picture->series[from + n++] = (tdSeries){.name = picture->curves[c].name, .n = picture->points, .x = x, .y = y};
    }
    tdPanel *panel = &picture->panels[picture->n_panels++];
    *panel = (tdPanel){td_default_plot(), n, picture->series + from};
    panel->settings.height = 420;
    panel->settings.x_label = "time [s]";
    panel->settings.y_label = label;
    for (int k = 0; k < n && n > 12; k++)
        picture->series[from + k].name = NULL; // the legend would hide the curves
    return n;
}

static tdStatus draw(const tdTracking *table, const char *name, int n, const Curve *curves, tdError *error)
{
    char path[PATH_MAX];
    if (!td_path_join(path, sizeof path, table->folder, name))
        return td_fail_at(error, TD_ERROR_IO, table->folder, 0, NULL, "the path is too long");
    Picture picture = {.table = table, .n = n, .curves = curves};
    picture.stride = (table->n + MOST_POINTS - 1) / MOST_POINTS;
    picture.points = (table->n + picture.stride - 1) / picture.stride;
    picture.numbers = td_take((size_t)n * 2 * (size_t)picture.points, sizeof(double));
    picture.series = td_take((size_t)n, sizeof *picture.series);
    picture.panels = td_take((size_t)n, sizeof *picture.panels);
    picture.labels = td_take((size_t)n, sizeof *picture.labels);
    tdStatus status = TD_OK;
    if (picture.numbers == NULL || picture.series == NULL || picture.panels == NULL || picture.labels == NULL)
        status = td_fail_memory(error, "a picture");
    int done = 0;
    for (int c = 0; status == TD_OK && c < n; c++)
    {
        bool drawn = false;
        for (int d = 0; d < c; d++)
            drawn = drawn || same_panel(&curves[d], &curves[c]);
        done += drawn ? 0 : fill_panel(&picture, c, done);
    }
    if (status == TD_OK)
        status = td_plot_panels(1, picture.n_panels, picture.panels, path, error);
    free(picture.numbers);
    free(picture.series);
    free(picture.panels);
    free(picture.labels);
    return status;
}

static tdStatus draw_all(const tdTracking *table, const tdModel *model, tdError *error)
{
    int most = 2 * table->n_effectors > 2 * table->n_actuators ? 2 * table->n_effectors : 2 * table->n_actuators, n = 0;
    Curve *curves = td_take((size_t)most, sizeof *curves);
    if (curves == NULL)
        return td_fail_memory(error, "a picture");
    for (int k = 0; k < table->n_effectors; k++)
    {
        tdEffectorInfo info = td_model_effector(model, table->effector[k]);
        curves[n++] = (Curve){info.name, "error of the model", info.unit, td_tracking_error_column(k)};
        if (table->measured)
            curves[n++] = (Curve){info.name, "error of the robot", info.unit, td_tracking_measured_column(table, k)};
    }
    tdStatus status = draw(table, "tracking.png", n, curves, error);
    n = 0;
    for (int a = 0; a < table->n_actuators; a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        curves[n++] = (Curve){info.name, "effort", info.effort_unit, td_tracking_effort_column(table, a)};
        curves[n++] =
            (Curve){info.name, "displacement", info.displacement_unit, td_tracking_displacement_column(table, a)};
    }
    if (status == TD_OK)
        status = draw(table, "actuation.png", n, curves, error);
    free(curves);
    return status;
}

tdStatus td_tracking_finish(tdTracking *table, tdError *error)
{
    tdStatus status = td_csv_close(table->actuation, error), second = td_csv_close(table->tracking, error);
    bool files = table->actuation != NULL;
    table->actuation = table->tracking = NULL;
    if (status == TD_OK)
        status = second;
    return status == TD_OK && files && table->n > 0 ? draw_all(table, table->model, error) : status;
}

// ---------------------------------------------------------------- summary

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A column without its gaps, sorted; free(). *n is 0 when there is nothing, or no memory.
static double *sorted(const tdTracking *table, int column, int64_t *n)
{
    double *values = malloc((size_t)table->n * sizeof *values + 1);
    *n = 0;
    for (int64_t i = 0; values != NULL && i < table->n; i++)
        if (!isnan(td_tracking_at(table, i, column)))
            values[(*n)++] = td_tracking_at(table, i, column);
    if (*n > 0)
        qsort(values, (size_t)*n, sizeof *values, compare);
    return values;
}

static const double shares[] = {0.5, 0.9, 0.99, 1};

void td_tracking_percentiles(const tdTracking *table, int column, double out[4])
{
    int64_t n = 0;
    double *values = sorted(table, column, &n);
    for (int k = 0; k < 4; k++)
        out[k] = n > 0 ? values[(int64_t)ceil(shares[k] * (double)n) - 1] : NAN;
    free(values);
}

tdTrackingStatistics td_tracking_statistics(const tdTracking *table, int column, bool settled)
{
    int64_t n = 0, count = 0;
    tdTrackingStatistics s = {0};
    double *values = sorted(table, column, &n), median = n > 0 ? values[(n - 1) / 2] : NAN;
    free(values);
    while (settled && s.from < table->n && !(td_tracking_at(table, s.from, column) <= median))
        s.from++;
    for (int64_t i = s.from; i < table->n; i++)
    {
        double value = td_tracking_at(table, i, column);
        if (isnan(value))
            continue;
        s.mean += value;
        s.rms += value * value;
        s.max = fmax(s.max, value);
        count++;
    }
    s.mean = count > 0 ? s.mean / (double)count : NAN;
    s.rms = count > 0 ? sqrt(s.rms / (double)count) : NAN;
    s.max = count > 0 ? s.max : NAN;
    return s;
}

tdTrackingInfo td_tracking_info(const tdTracking *table)
{
    tdTrackingInfo info = {.effectors = table->n_effectors,
                           .steps = table->n,
                           .out_of_reach = table->out_of_reach,
                           .limited = table->limited,
                           .blocked = table->blocked,
                           .stopped = table->stopped};
    td_tracking_percentiles(table, TD_TRACKING_SOLVE, info.solve);
    td_tracking_percentiles(table, TD_TRACKING_STEP, info.step);
    return info;
}

tdTrackingError td_tracking_error(const tdTracking *table, int k, bool measured)
{
    if (k < 0 || k >= table->n_effectors)
        return (tdTrackingError){.effector = -1, .mean = NAN, .max = NAN, .rms = NAN};
    int column = measured ? td_tracking_measured_column(table, k) : td_tracking_error_column(k);
    tdTrackingStatistics all = td_tracking_statistics(table, column, false);
    tdTrackingStatistics settled = td_tracking_statistics(table, column, true);
    return (tdTrackingError){.effector = table->effector[k],
                             .mean = all.mean,
                             .max = all.max,
                             .rms = all.rms,
                             .settled = settled.from + 1,
                             .settled_mean = settled.mean,
                             .settled_max = settled.max};
}
