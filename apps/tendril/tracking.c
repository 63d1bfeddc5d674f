// SPDX-License-Identifier: Apache-2.0
#include "tracking.h"

#include "actuation.h"
#include "control/control.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

static void json_statistics(tdJson *json, const char *key, const tdTracking *table, int column)
{
    td_json_open(json, key, '{');
    for (int settled = 0; settled < 2; settled++)
    {
        tdTrackingStatistics s = td_tracking_statistics(table, column, settled);
        if (settled)
        {
            td_json_open(json, "settled", '{');
            td_json_integer(json, "step", s.from + 1);
        }
        td_json_number(json, "mean", s.mean);
        td_json_number(json, "max", s.max);
        td_json_number(json, "rms", s.rms);
    }
    td_json_close(json, '}');
    td_json_close(json, '}');
}

static void json_percentiles(tdJson *json, const char *key, const tdTracking *table, int column)
{
    static const char *const names[] = {"p50", "p90", "p99", "max"};
    double p[4];
    td_tracking_percentiles(table, column, p);
    td_json_open(json, key, '{');
    for (int k = 0; k < 4; k++)
        td_json_number(json, names[k], p[k]);
    td_json_close(json, '}');
}

static void json_file(tdJson *json, const char *key, const tdTracking *table, const char *name)
{
    char path[PATH_MAX];
    if (table->folder[0] != '\0' && td_path_join(path, sizeof path, table->folder, name))
        td_json_string(json, key, path);
}

void track_json(const tdTracking *table, const tdModel *model, tdJson *json)
{
    td_json_open(json, "effectors", '[');
    for (int k = 0; k < table->n_effectors; k++)
    {
        tdEffectorInfo info = td_model_effector(model, table->effector[k]);
        double correction[3];
        td_control_correction(table->control, table->effector[k], correction);
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", info.name);
        td_json_string(json, "unit", info.unit);
        json_statistics(json, "error", table, td_tracking_error_column(k));
        if (table->measured)
            json_statistics(json, "measured_error", table, td_tracking_measured_column(table, k));
        td_json_numbers(json, "correction", info.rows, correction);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    json_percentiles(json, "solve_s", table, TD_TRACKING_SOLVE);
    json_percentiles(json, "step_s", table, TD_TRACKING_STEP);
    td_json_integer(json, "out_of_reach_steps", table->out_of_reach);
    td_json_integer(json, "limited_steps", table->limited);
    td_json_integer(json, "blocked_steps", table->blocked);
    if (table->blocked > 0)
    {
        td_json_open(json, "blocked_by", '[');
        for (int k = 0; k < 2; k++)
            td_json_string(json, NULL, td_model_body_name(model, table->blocked_by[k]));
        td_json_close(json, ']');
    }
    td_json_integer(json, "iteration_limit_steps", table->stopped);
    td_json_number(json, "bound_violation", table->violation);
    json_file(json, "actuation", table, "actuation.csv");
    json_file(json, "tracking", table, "tracking.csv");
}

static void print_statistics(const tdModel *model, const char *name, const char *si, const tdTracking *table,
                             int column)
{
    tdTrackingStatistics all = td_tracking_statistics(table, column, false),
                         settled = td_tracking_statistics(table, column, true);
    const char *unit;
    double factor = act_unit(model, si, all.max, &unit);
    printf("%-16s %-5s %11.4g %11.4g %11.4g %8" PRId64 " %11.4g %11.4g\n", name, unit, all.mean / factor,
           all.max / factor, all.rms / factor, settled.from + 1, settled.mean / factor, settled.max / factor);
}

void track_print(const tdTracking *table, const tdModel *model)
{
    double solve[4], step[4];
    td_tracking_percentiles(table, TD_TRACKING_SOLVE, solve);
    td_tracking_percentiles(table, TD_TRACKING_STEP, step);
    printf("solver      median %.3g ms, 99 %% of the steps below %.3g ms, maximum %.3g ms\n", 1e3 * solve[0],
           1e3 * solve[2], 1e3 * solve[3]);
    printf("step        median %.3g ms, 99 %% of the steps below %.3g ms, maximum %.3g ms\n", 1e3 * step[0],
           1e3 * step[2], 1e3 * step[3]);
    printf("targets     out of reach in %" PRId64 " steps; an actuator was at a limit in %" PRId64 "\n",
           table->out_of_reach, table->limited);
    if (table->blocked > 0)
        printf("contact     keeps targets out of reach in %" PRId64
               " steps, most recently the contact of '%s' and '%s'\n",
               table->blocked, td_model_body_name(model, table->blocked_by[0]),
               td_model_body_name(model, table->blocked_by[1]));
    if (table->stopped > 0)
        printf("warning     the solver reached its iteration limit in %" PRId64 " steps\n", table->stopped);
    printf("\n%-16s %-5s %11s %11s %11s %8s %11s %11s\n", "error of", "", "mean", "max", "rms", "settled", "mean",
           "max");
    for (int k = 0; k < table->n_effectors; k++)
    {
        tdEffectorInfo info = td_model_effector(model, table->effector[k]);
        print_statistics(model, info.name, info.unit, table, td_tracking_error_column(k));
        if (table->measured)
            print_statistics(model, "  measured", info.unit, table, td_tracking_measured_column(table, k));
    }
    printf("\n%-16s %-5s %14s %14s   %-5s %14s %14s\n", "actuator", "", "least effort", "most", "", "least displ.",
           "most");
    for (int a = 0; a < table->n_actuators; a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        double e[2] = {INFINITY, -INFINITY}, d[2] = {INFINITY, -INFINITY};
        for (int64_t i = 0; i < table->n; i++)
        {
            double effort = td_tracking_at(table, i, td_tracking_effort_column(table, a)),
                   way = td_tracking_at(table, i, td_tracking_displacement_column(table, a));
            e[0] = fmin(e[0], effort);
            e[1] = fmax(e[1], effort);
            d[0] = fmin(d[0], way);
            d[1] = fmax(d[1], way);
        }
        const char *of_effort, *of_way;
        double effort = act_unit(model, info.effort_unit, fmax(fabs(e[0]), fabs(e[1])), &of_effort),
               way = act_unit(model, info.displacement_unit, fmax(fabs(d[0]), fabs(d[1])), &of_way);
        printf("%-16s %-5s %14.5g %14.5g   %-5s %14.5g %14.5g\n", info.name, of_effort, e[0] / effort, e[1] / effort,
               of_way, d[0] / way, d[1] / way);
    }
}
