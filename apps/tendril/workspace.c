// SPDX-License-Identifier: Apache-2.0
// tendril workspace: where the effectors of a robot can get.
#include "study/workspace.h"

#include "actuation.h"
#include "folder.h"
#include "simulate.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril workspace SCENE [options]\n\n"
    "Sets the actuators of a scene to values across their ranges and finds the equilibrium of each: what the\n"
    "effectors can reach. Every actuator needs a range of what drives it. A dynamic scene is treated as static;\n"
    "loads and prescribed motions act as at its end. Samples are visited from neighbour to neighbour.\n\n"
    "  --samples N      number of samples (200): the ends of all ranges, then points that fill them evenly\n"
    "  --grid N         N values of every actuator instead, in all combinations\n"
    "  --effector NAME  the one to draw (default: the first)\n"
    "  --out DIR        write points.csv, points.vtu for ParaView and workspace.png there\n" OUT_HELP("          ")
        CLI_ROM_HELP("      ") //
    "  --threads N      worker threads (default: all cores); the result does not depend on it\n"
    "  --json           print one JSON object: places, failures, bounding box of each effector, files\n"
    "  --quiet          no progress\n\n"
    "Samples without an equilibrium are counted and listed in failures.csv; the command fails only if no\n"
    "sample has one. Exit codes: 0 done, 2 usage, 3 bad input, 4 no equilibrium at all, 5 out of\n"
    "memory, 6 a file could not be written, 130 interrupted.\n\n"
    "example: tendril workspace robot.yaml --grid 5 --out out/workspace\n";

typedef struct workspaceArguments
{
    const char *scene, *samples, *grid, *effector, *out, *threads;
} workspaceArguments;

// ---------------------------------------------------------------- result

static void print_json(const workspaceArguments *arguments, const tdWorkspace *w)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", w->stopped ? "interrupted" : "done");
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
            low[k] = w->reached > 0 ? w->box[td_workspace_value_of(w, e) + k][0] : NAN;
            high[k] = w->reached > 0 ? w->box[td_workspace_value_of(w, e) + k][1] : NAN;
        }
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "name", info.name);
        td_json_string(&json, "unit", info.unit);
        td_json_numbers(&json, "rest", info.rows, w->rest + td_workspace_value_of(w, e));
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

static void print_table(const workspaceArguments *arguments, const tdWorkspace *w)
{
    printf("scene       %s\n", arguments->scene);
    printf("places      %" PRId64 " of %d axes: %" PRId64 " equilibria, %" PRId64 " without one\n",
           w->reached + w->failed, w->n, w->reached, w->failed);
    printf("wall time   %.3g s\n", w->wall_s);
    if (w->failed > 0)
        printf("first failure %s\n", w->first.message);
    if (arguments->out != NULL)
        printf("files       %s/points.csv, points.vtu, workspace.png\n", arguments->out);
    printf("\n%-16s %-5s %14s %14s %14s\n", "effector", "", "rest", "least", "most");
    for (int e = 0; w->reached > 0 && e < td_model_effectors(w->model); e++)
    {
        tdEffectorInfo info = td_model_effector(w->model, e);
        for (int k = 0; k < info.rows; k++)
        {
            int at = td_workspace_value_of(w, e) + k;
            const char *unit;
            double factor = act_unit(w->model, info.unit, fmax(fabs(w->box[at][0]), fabs(w->box[at][1])), &unit);
            printf("%-16s %-5s %14.6g %14.6g %14.6g\n", k == 0 ? info.name : "", unit, w->rest[at] / factor,
                   w->box[at][0] / factor, w->box[at][1] / factor);
        }
    }
}

// ---------------------------------------------------------------- the command

static int explore(const workspaceArguments *arguments, const tdWorkspaceSettings *what, const tdSettings *settings,
                   const outFolder *folder, tdWorkspace **out)
{
    tdError error = {0};
    sigBefore before = sig_catch();
    tdStatus status = td_workspace_explore(arguments->scene, what, settings, out, &error);
    sig_release(&before);
    if (status != TD_OK)
        return cli_fail(&error);
    const tdWorkspace *w = *out;
    out_clear(folder);
    if (arguments->out != NULL && td_workspace_write(w, arguments->out, &error) != TD_OK)
        return cli_fail(&error);
    if (w->reached == 0 && w->failed > 0)
        return cli_fail(&w->first);
    if (cli_json())
        print_json(arguments, w);
    else
        print_table(arguments, w);
    if (w->stopped)
        fprintf(stderr, "tendril: interrupted after %" PRId64 " of %" PRId64 " places\n", w->reached + w->failed,
                w->count);
    return w->stopped ? 130 : 0;
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
    tdWorkspaceSettings what = td_default_workspace();
    what.samples = samples;
    what.grid = arguments.grid != NULL ? (int)each : 0;
    what.effector = arguments.effector;
    what.progress = cli_study;
    tdWorkspace *w = NULL;
    code = explore(&arguments, &what, &settings, &folder, &w);
    out_release(&folder);
    td_workspace_free(w);
    return code;
}
