// SPDX-License-Identifier: Apache-2.0
// tendril estimate: unknown loads from where points of a body were measured.
#include "control/estimate.h"

#include "base/print.h"
#include "base/timer.h"
#include "folder.h"
#include "output/csv.h"
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: tendril estimate SCENE --measured CSV [options]\n\n"
    "Finds the loads that explain a measured shape: the efforts of all actuators of type force, cavity and cable\n"
    "that the scene's motion does not drive, such that points of the body come nearest to where they were measured.\n"
    "The scene is taken as a static one; all else acts as at its end. A force of unknown direction is three actuators\n"
    "of type force, one along each axis.\n\n"
    "  --measured CSV  x0, y0, z0, x, y, z of each point: at rest on the body, and where it was measured; in SI\n"
    "                  units or with a unit in the header, e.g. 'x0 [mm]'\n"
    "  --noise SIGMA   standard deviation of a measured coordinate [m] (default: from the residual)\n"
    "  --body NAME     the body that the points are on, where the scene has several\n"
    "  --out DIR       write loads.csv and points.csv there\n" OUT_HELP("         ") CLI_ROM_HELP("     ") //
    "  --threads N     worker threads (default: all cores)\n"
    "  --json          print one JSON object: efforts, their standard deviations, residual\n\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 out of memory, 6 a file could not be written.\n\n"
    "example: tendril estimate finger.yaml --measured camera.csv --noise 1e-4\n";

typedef struct estimateArguments
{
    const char *scene, *measured, *noise, *body, *out, *threads;
} estimateArguments;

static void put_numbers(tdText *text, int n, const double *values, const char *before)
{
    for (int k = 0; k < n; k++)
    {
        td_text_format(text, "%s", k == 0 ? before : ",");
        td_print_number(text, values[k]);
    }
}

static tdStatus write_files(const char *folder, const tdModel *model, const tdMarks *marks, const tdEstimate *estimate,
                            tdError *error)
{
    tdText text = {0};
    td_text_format(&text, "load,unit,effort,deviation\n");
    for (int j = 0; j < estimate->n; j++)
    {
        tdActuatorInfo info = td_model_actuator(model, estimate->actuator[j]);
        td_text_format(&text, "%s,%s", info.name, info.effort_unit);
        put_numbers(&text, 1, &estimate->effort[j], ",");
        put_numbers(&text, 1, &estimate->deviation[j], ",");
        td_text_append(&text, "\n", 1);
    }
    tdStatus status = cli_write(folder, "loads.csv", &text, error);
    text.size = 0;
    td_text_format(&text, "x0 [m],y0 [m],z0 [m],x [m],y [m],z [m],fitted.x [m],fitted.y [m],fitted.z [m],error [m]\n");
    for (int i = 0; i < marks->n; i++)
    {
        const double *measured = marks->measured + 3 * i, *fitted = estimate->fitted + 3 * i;
        double miss = hypot(hypot(measured[0] - fitted[0], measured[1] - fitted[1]), measured[2] - fitted[2]);
        put_numbers(&text, 3, marks->rest + 3 * i, "");
        put_numbers(&text, 3, measured, ",");
        put_numbers(&text, 3, fitted, ",");
        put_numbers(&text, 1, &miss, ",");
        td_text_append(&text, "\n", 1);
    }
    if (status == TD_OK)
        status = cli_write(folder, "points.csv", &text, error);
    free(text.data);
    return status;
}

static void print_json(const estimateArguments *arguments, const tdModel *model, const tdMarks *marks,
                       const tdEstimate *estimate, double wall_s)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", "done");
    td_json_string(&json, "scene", arguments->scene);
    td_json_integer(&json, "points", marks->n);
    td_json_number(&json, "residual", estimate->residual);
    td_json_number(&json, "sigma", estimate->sigma);
    td_json_open(&json, "loads", '[');
    for (int j = 0; j < estimate->n; j++)
    {
        tdActuatorInfo info = td_model_actuator(model, estimate->actuator[j]);
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "name", info.name);
        td_json_string(&json, "unit", info.effort_unit);
        td_json_number(&json, "effort", estimate->effort[j]);
        td_json_number(&json, "deviation", estimate->deviation[j]);
        td_json_bool(&json, "limited", estimate->bound[j]);
        td_json_close(&json, '}');
    }
    td_json_close(&json, ']');
    td_json_integer(&json, "equilibria", estimate->steps);
    td_json_number(&json, "wall_s", wall_s);
    if (arguments->out != NULL)
        td_json_string(&json, "out", arguments->out);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static void print_table(const estimateArguments *arguments, const tdModel *model, const tdMarks *marks,
                        const tdEstimate *estimate, double wall_s)
{
    printf("scene       %s\n", arguments->scene);
    printf("points      %d of %s\n", marks->n, arguments->measured);
    printf("residual    %.4g m by coordinate; noise %.4g m (%s)\n", estimate->residual, estimate->sigma,
           arguments->noise != NULL ? "given" : "from the residual");
    printf("wall time   %.3g s, %d equilibria\n", wall_s, estimate->steps);
    if (arguments->out != NULL)
        printf("files       %s/loads.csv, points.csv\n", arguments->out);
    printf("\n%-16s %-5s %14s %14s\n", "load", "", "effort", "deviation");
    for (int j = 0; j < estimate->n; j++)
    {
        tdActuatorInfo info = td_model_actuator(model, estimate->actuator[j]);
        printf("%-16s %-5s %14.6g %14.4g%s\n", info.name, info.effort_unit, estimate->effort[j], estimate->deviation[j],
               estimate->bound[j] ? "   at a limit" : "");
    }
}

static void warn(const tdModel *model, const tdEstimate *estimate)
{
    for (int j = 0; j < estimate->n; j++)
        if (isinf(estimate->deviation[j]) && isfinite(estimate->sigma))
            fprintf(stderr,
                    "warning: the points do not tell load '%s' apart from the others, or do not feel it at all; "
                    "measure elsewhere, or take unknown loads away\n",
                    td_model_actuator(model, estimate->actuator[j]).name);
}

static int estimate_loads(const estimateArguments *arguments, double noise, const tdSettings *settings, tdArena *arena,
                          tdModel **model, tdState **state)
{
    tdError error = {0};
    tdMarks marks = {0};
    tdEstimate estimate = {0};
    if (td_marks_read(arguments->measured, arena, &marks, &error) != TD_OK ||
        td_estimate_load(arguments->scene, arguments->body, &marks, settings, model, &error) != TD_OK ||
        td_state_create(*model, settings, state, &error) != TD_OK)
        return cli_fail(&error);
    double start = td_seconds();
    if (td_estimate(*model, *state, &marks, noise, arena, &estimate, &error) != TD_OK)
        return cli_fail(&error);
    double wall_s = td_seconds() - start;
    if (arguments->out != NULL && write_files(arguments->out, *model, &marks, &estimate, &error) != TD_OK)
        return cli_fail(&error);
    if (cli_json())
        print_json(arguments, *model, &marks, &estimate, wall_s);
    else
        print_table(arguments, *model, &marks, &estimate, wall_s);
    warn(*model, &estimate);
    return 0;
}

int cmd_estimate(int argc, char **argv)
{
    estimateArguments arguments = {0};
    const cliOption options[] = {
        {"--measured", &arguments.measured, NULL}, {"--noise", &arguments.noise, NULL},
        {"--body", &arguments.body, NULL},         OUT_OPTIONS(arguments.out),
        {"--threads", &arguments.threads, NULL},   CLI_ROM_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &arguments.scene, 1, 1);
    if (code >= 0)
        return code;
    double noise = NAN;
    if (arguments.measured == NULL)
        return cli_usage("--measured CSV is missing: the measured points; --help shows the form");
    if (arguments.noise != NULL && !cli_number("--noise", arguments.noise, &noise))
        return TD_ERROR_USAGE;
    if (noise < 0)
        return cli_usage("--noise takes a length of 0 or more, not '%s'", arguments.noise);
    tdSettings settings = cli_settings();
    code = sim_check_common(arguments.threads, arguments.out, &settings);
    if (code >= 0)
        return code;
    static const char *const names[] = {"loads.csv", "points.csv", NULL};
    outFolder folder;
    code = out_take(&folder, arguments.out, names, false);
    if (code >= 0)
        return code;
    tdArena arena = {0};
    tdModel *model = NULL;
    tdState *state = NULL;
    code = estimate_loads(&arguments, noise, &settings, &arena, &model, &state);
    td_state_free(state);
    td_model_free(model);
    td_arena_free(&arena);
    out_release(&folder);
    return code;
}
