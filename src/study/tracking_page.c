// SPDX-License-Identifier: Apache-2.0
// What a report shows of control: the path that was asked for and the one that came of it, errors, and the actuators.
#include "base/isa.h"
#include "base/memory.h"
#include "study/tracking.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_POINTS 500 // of a curve: more than a page is wide would be waste

/// What the plots of a section share.
typedef struct Section
{
    tdPage *page;
    const tdTracking *table;
    const tdModel *model;
    const tdTrackingOther *other;
    tdArena arena;
    int64_t points, stride;
} Section;

static int64_t row_of(const Section *s, int64_t i)
{
    return i == s->points - 1 ? s->table->n - 1 : i * s->stride;
}

// Numbers of a column over `scale`; NULL when out of memory.
static double *column(Section *s, int c, double scale)
{
    double *out = TD_TAKE(&s->arena, double, s->points);
    for (int64_t i = 0; i < s->points && out != NULL; i++)
        out[i] = td_tracking_at(s->table, row_of(s, i), c) / scale;
    return out;
}

// The same of an array of the other run, `width` a row.
static double *other_column(Section *s, const double *values, int width, int c, double scale)
{
    double *out = TD_TAKE(&s->arena, double, s->points);
    for (int64_t i = 0; i < s->points && out != NULL; i++)
        out[i] = values[row_of(s, i) * width + c] / scale;
    return out;
}

static double largest(const tdTracking *table, int c)
{
    double most = 0;
    for (int64_t i = 0; i < table->n; i++)
        most = fmax(most, fabs(td_tracking_at(table, i, c)));
    return most;
}

// "[mm]" and the factor that leads there. Prefixes of m^3 would mislead.
static const char *unit_of(Section *s, const char *unit, double size, double *scale)
{
    const char *prefix = "";
    *scale = 1;
    if (size > 0 && (strcmp(unit, "m") == 0 || strcmp(unit, "N") == 0 || strcmp(unit, "Pa") == 0))
        prefix = td_si_prefix(size, scale);
    char *text = TD_TAKE(&s->arena, char, 32);
    if (text != NULL)
        snprintf(text, 32, "%s%s%s%s", unit[0] == '\0' ? "" : " [", unit[0] == '\0' ? "" : prefix, unit,
                 unit[0] == '\0' ? "" : "]");
    return text != NULL ? text : "";
}

static char *label(Section *s, const char *what, const char *unit)
{
    char *text = TD_TAKE(&s->arena, char, 128);
    if (text != NULL)
        snprintf(text, 128, "%.80s%.40s", what, unit);
    return text;
}

// ---------------------------------------------------------------- path

// The two axes along which the goal moves most, in order.
static void widest_axes(const tdTracking *table, int k, int axis[2])
{
    double extent[3];
    for (int c = 0; c < 3; c++)
    {
        double lo = INFINITY, hi = -INFINITY;
        for (int64_t i = 0; i < table->n; i++)
        {
            lo = fmin(lo, td_tracking_at(table, i, td_tracking_goal_column(table, k) + c));
            hi = fmax(hi, td_tracking_at(table, i, td_tracking_goal_column(table, k) + c));
        }
        extent[c] = hi - lo;
    }
    int least = 0;
    for (int c = 1; c < 3; c++)
        least = extent[c] <= extent[least] ? c : least;
    axis[0] = least == 0 ? 1 : 0;
    axis[1] = least == 2 ? 1 : 2;
}

static tdStatus plot_path(Section *s, int k, tdEffectorInfo info, tdError *error)
{
    static const char *const axes[] = {"x [mm]", "y [mm]", "z [mm]"};
    const double mm = 1e-3;
    int axis[2], goal = td_tracking_goal_column(s->table, k), value = td_tracking_value_column(s->table, k), n = 2;
    widest_axes(s->table, k, axis);
    tdSeries series[3] = {
        {.name = "goal", .x = column(s, goal + axis[0], mm), .y = column(s, goal + axis[1], mm), .colour = -1},
        {.name = "model under control",
         .x = column(s, value + axis[0], mm),
         .y = column(s, value + axis[1], mm),
         .colour = 1,
         .line = TD_LINE_DASHED},
    };
    if (s->other != NULL && k == 0)
        series[n++] = (tdSeries){.name = s->other->name,
                                 .x = other_column(s, s->other->value, 3, axis[0], mm),
                                 .y = other_column(s, s->other->value, 3, axis[1], mm),
                                 .colour = 2};
    for (int i = 0; i < n; i++)
    {
        series[i].n = s->points;
        if (series[i].x == NULL || series[i].y == NULL)
            return td_fail_memory(error, "a plot");
    }
    tdPlotSettings settings = td_default_page_plot();
    settings.equal = true;
    settings.height = 420;
    settings.x_label = axes[axis[0]];
    settings.y_label = axes[axis[1]];
    char caption[200];
    snprintf(caption, sizeof caption, "Path of %.80s: the goal and the path that was reached.", info.name);
    return td_page_plot(s->page, &settings, n, series, caption, error);
}

// ---------------------------------------------------------------- errors

static tdStatus plot_error(Section *s, int k, tdEffectorInfo info, tdError *error)
{
    int c = td_tracking_error_column(k), m = td_tracking_measured_column(s->table, k), n = 1;
    double scale = 1, size = largest(s->table, c);
    bool other = s->other != NULL && k == 0;
    for (int64_t i = 0; i < s->table->n && other; i++)
        size = fmax(size, s->other->error[i]);
    if (s->table->measured)
        size = fmax(size, largest(s->table, m));
    bool exact = strcmp(info.unit, "m") == 0 && size < 1e-6; // rounding: not worth a scale of its own
    const char *unit = unit_of(s, info.unit, exact ? 1e-6 : size, &scale);
    tdSeries series[3] = {{.name = "model under control", .y = column(s, c, scale), .colour = 1}};
    if (other)
        series[n++] =
            (tdSeries){.name = s->other->name, .y = other_column(s, s->other->error, 1, 0, scale), .colour = 2};
    if (s->table->measured)
        series[n++] = (tdSeries){.name = "measured", .y = column(s, m, scale), .colour = 3};
    const double *time = column(s, TD_TRACKING_TIME, 1);
    for (int i = 0; i < n; i++)
    {
        series[i].n = s->points;
        series[i].x = time;
        if (series[i].y == NULL || time == NULL)
            return td_fail_memory(error, "a plot");
    }
    tdPlotSettings settings = td_default_page_plot();
    settings.x_label = "time [s]";
    settings.y_label = label(s, "distance from the goal", unit);
    if (exact)
        memcpy(settings.y_range, (double[]){0, 1e-6 / scale}, sizeof settings.y_range);
    char caption[200];
    snprintf(caption, sizeof caption, "Distance of %.80s from its goal.", info.name);
    return td_page_plot(s->page, &settings, n, series, caption, error);
}

// ---------------------------------------------------------------- actuators

#define MOST_ACTUATORS TD_PALETTE // in one plot: more could not be told apart

static const char *unit_of_actuator(tdActuatorInfo info, bool effort)
{
    return effort ? info.effort_unit : info.displacement_unit;
}

// Those that share the unit of actuator `first`.
static tdStatus plot_actuators(Section *s, int first, bool effort, tdError *error)
{
    const tdTracking *table = s->table;
    const char *unit = unit_of_actuator(td_model_actuator(s->model, first), effort);
    tdSeries series[MOST_ACTUATORS];
    int which[MOST_ACTUATORS], n = 0, more = 0;
    double size = 0, scale = 1;
    for (int a = first; a < table->n_actuators; a++)
    {
        if (strcmp(unit_of_actuator(td_model_actuator(s->model, a), effort), unit) != 0)
            continue;
        size = fmax(size, largest(table, effort ? td_tracking_effort_column(table, a)
                                                : td_tracking_displacement_column(table, a)));
        if (n < MOST_ACTUATORS)
            which[n++] = a;
        else
            more++;
    }
    const char *bracket = unit_of(s, unit, size, &scale);
    const double *time = column(s, TD_TRACKING_TIME, 1);
    for (int i = 0; i < n; i++)
    {
        int a = which[i];
        series[i] = (tdSeries){
            .name = td_model_actuator(s->model, a).name,
            .n = s->points,
            .x = time,
            .y = column(s, effort ? td_tracking_effort_column(table, a) : td_tracking_displacement_column(table, a),
                        scale)};
        if (time == NULL || series[i].y == NULL)
            return td_fail_memory(error, "a plot");
    }
    tdPlotSettings settings = td_default_page_plot();
    settings.x_label = "time [s]";
    settings.y_label = label(s, effort ? "effort" : "displacement", bracket);
    char caption[200];
    snprintf(caption, sizeof caption, "Actuation found by control: %s.%s",
             effort ? "tension, pressure or force" : "length pulled, growth of volume or displacement",
             more > 0 ? " The first eight of them." : "");
    return td_page_plot(s->page, &settings, n, series, caption, error);
}

static tdStatus plot_all_actuators(Section *s, bool effort, tdError *error)
{
    for (int a = 0; a < s->table->n_actuators; a++)
    {
        bool shown = false;
        for (int b = 0; b < a; b++)
            shown = shown || strcmp(unit_of_actuator(td_model_actuator(s->model, a), effort),
                                    unit_of_actuator(td_model_actuator(s->model, b), effort)) == 0;
        if (!shown)
            TD_TRY(plot_actuators(s, a, effort, error));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- all

static tdStatus plot_section(Section *s, tdError *error)
{
    td_page_columns(s->page);
    for (int k = 0; k < s->table->n_effectors; k++)
    {
        tdEffectorInfo info = td_model_effector(s->model, s->table->effector[k]);
        if (strcmp(info.kind, "position") == 0)
            TD_TRY(plot_path(s, k, info, error));
        TD_TRY(plot_error(s, k, info, error));
    }
    TD_TRY(plot_all_actuators(s, false, error));
    TD_TRY(plot_all_actuators(s, true, error));
    td_page_columns_end(s->page);
    return TD_OK;
}

tdStatus td_tracking_page(tdPage *page, const tdTracking *table, const tdTrackingOther *other, tdError *error)
{
    if (table->n == 0 || table->n_effectors == 0)
        return td_fail(error, TD_ERROR_INPUT, "no step was taken, so there is nothing to report");
    Section s = {.page = page, .table = table, .model = table->model, .other = other};
    s.stride = (table->n + MOST_POINTS - 1) / MOST_POINTS;
    s.points = (table->n + s.stride - 1) / s.stride;
    tdStatus status = plot_section(&s, error);
    td_arena_free(&s.arena);
    return status;
}

tdStatus td_tracking_report(const tdTracking *table, const char *lead, bool early, const char *path, tdError *error)
{
    const tdModel *model = table->model;
    tdPage page = {0};
    char machine[128];
    double step[4];
    td_page_begin(&page, "Inverse control along a path", lead != NULL ? lead : "");
    td_page_section(&page, "Tracking");
    td_tracking_percentiles(table, TD_TRACKING_STEP, step);
    for (int k = 0; k < table->n_effectors; k++)
    {
        tdTrackingStatistics s = td_tracking_statistics(table, td_tracking_error_column(k), false);
        tdEffectorInfo info = td_model_effector(model, table->effector[k]);
        td_page_text(&page, "**%s** is %.3g %s from its goal in the mean, %.3g %s at most, over %" PRId64 " steps.",
                     info.name, s.mean, info.unit, s.max, info.unit, table->n);
    }
    td_page_text(&page,
                 "A step of %.3g ms takes %.3g ms (median; 99 %% of the steps take less than %.3g ms). Goals were out "
                 "of reach in "
                 "%" PRId64 " steps; an actuator was at a limit in %" PRId64 ".%s",
                 1e3 * td_model_time_step(model), 1e3 * step[0], 1e3 * step[2], table->out_of_reach, table->limited,
                 early ? " **The run ended early.**" : "");
    tdStatus status = td_tracking_page(&page, table, NULL, error);
    td_machine_name(machine, sizeof machine);
    td_page_note(&page, "Made by tendril %s. Machine: %s.", td_version(), machine);
    if (status == TD_OK)
        status = td_page_write(&page, path, error);
    td_page_free(&page);
    return status;
}
