// SPDX-License-Identifier: Apache-2.0
// tendril estimate: unknown loads from where points of a body were measured.
#include "study/loads.h"

#include "folder.h"
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: tendril estimate SCENE --measured CSV [options]\n\n"
    "Finds the loads that explain a measured shape: the efforts of all actuators of type force, cavity and cable\n"
    "that the scene's motion does not drive, such that points of the body come as close as possible to their measured\n"
    "positions. The scene is treated as static; everything else acts as at its end. Describe a force of unknown "
    "direction by\n"
    "three actuators of type force, one along each axis.\n\n"
    "  --measured CSV  x0, y0, z0, x, y, z of each point: position at rest, and measured position; in SI\n"
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
    printf("residual    %.4g m per coordinate; noise %.4g m (%s)\n", estimate->residual, estimate->sigma,
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
                    "warning: the points cannot distinguish load '%s' from the others, or do not react to it at all; "
                    "measure elsewhere, or remove unknown loads\n",
                    td_model_actuator(model, estimate->actuator[j]).name);
}

static int estimate_loads(const estimateArguments *arguments, const tdEstimateSettings *what,
                          const tdSettings *settings, tdLoads **out)
{
    tdError error = {0};
    if (td_loads_estimate(arguments->scene, what, settings, out, &error) != TD_OK)
        return cli_fail(&error);
    const tdLoads *loads = *out;
    if (arguments->out != NULL && td_loads_write(loads, arguments->out, &error) != TD_OK)
        return cli_fail(&error);
    if (cli_json())
        print_json(arguments, loads->model, &loads->marks, &loads->estimate, loads->seconds);
    else
        print_table(arguments, loads->model, &loads->marks, &loads->estimate, loads->seconds);
    warn(loads->model, &loads->estimate);
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
    tdEstimateSettings what = td_default_estimate();
    if (arguments.measured == NULL)
        return cli_usage("--measured CSV is missing: the measured points; --help shows the form");
    if (arguments.noise != NULL && !cli_number("--noise", arguments.noise, &what.noise))
        return TD_ERROR_USAGE;
    if (what.noise < 0)
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
    what.measured = arguments.measured;
    what.body = arguments.body;
    tdLoads *loads = NULL;
    code = estimate_loads(&arguments, &what, &settings, &loads);
    td_loads_free(loads);
    out_release(&folder);
    return code;
}
