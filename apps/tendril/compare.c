// SPDX-License-Identifier: Apache-2.0
// tendril compare: what reduction costs and gains, as S1's Tables I to III and Figs. 3 and 6 tell it.
#include "study/compare.h"

#include "cli.h"
#include "folder.h"
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: tendril compare SCENE --rom FILE.h5 [OTHER ...] [--coarse SCENE2] [--out DIR]\n\n"
    "Runs the scene at full order, reduced (all elements) and hyper-reduced along the same motion, and reports the\n"
    "differences and the speed of each: one thread, median over the steps. The motion is the scene's 'validation', "
    "otherwise\n"
    "its own motion, otherwise a random path over the actuators' ranges. The error at a probe is the distance from "
    "its\n"
    "full-order position, divided by its largest full-order displacement in the motion; mean and maximum over the "
    "steps.\n\n"
    "  --rom FILE     reduced model, made by 'tendril reduce'\n"
    "  OTHER               further models to compare: reduced models (*.h5), or scenes of the same robot on other "
    "meshes, "
    "which\n"
    "                      have the same probes and actuators by name\n"
    "  --coarse FILE  a scene, likewise\n"
    "  --steps N      only the first N steps\n"
    "  --no-whole     leave out the reduced model over all elements, which is slow\n"
    "  --out DIR      write errors.csv, shapes.png (full and reduced on top of each other at the worst step),\n"
    "                 error.png (by node, as colours), rates.png (errors against steps a second), paths.csv and\n"
    "                 paths.png (paths of the probes in each model)\n" OUT_HELP("        ") //
    "  --report FILE  write a page (.html) with the table, plots and pictures\n" CLI_SCENE_HELP
    "  --json         print one JSON object with the whole table\n"
    "  --quiet        no progress\n\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 out of memory, 6 a file could not be written,\n"
    "130 interrupted.\n\n"
    "examples:\n"
    "  tendril compare robot.yaml --rom robot.h5 --coarse coarse.yaml --out out/compare\n"
    "  tendril compare robot.yaml --rom tau3.h5 tau5.h5 tau10.h5 --no-whole --out out/sweep\n";

typedef struct compareArguments
{
    const char *files[TD_COMPARE_MODELS]; // the scene, then others
    const char *rom, *coarse, *steps, *out, *report;
    bool no_whole;
} compareArguments;

// ---------------------------------------------------------------- table

static void print_error(double value)
{
    if (isnan(value))
        printf(" %8s", "-");
    else
        printf(" %8.4f", value);
}

static void print_table(const tdComparison *run, const compareArguments *arguments)
{
    int width = 12;
    for (int i = 0; i < run->n; i++)
        width = (int)strlen(run->models[i].name) > width ? (int)strlen(run->models[i].name) : width;
    printf("scene       %s\n", arguments->files[0]);
    printf("motion      %s, %" PRId64 " steps of %g s\n", run->motion_name, run->steps,
           td_model_time_step(run->models[0].model));
    printf("errors      relative to the largest displacement at full order: mean and maximum over the steps\n\n");
    printf("%-*s %9s %9s", width, "model", "elements", "unknowns");
    for (int k = 0; k < run->n_errors; k++)
        printf("  %16.16s", td_comparison_error_name(run, k));
    printf(" %11s %8s\n", "steps/s", "times");
    for (int i = 0; i < run->n; i++)
    {
        const tdCompared *m = &run->models[i];
        printf("%-*s %9" PRId64 " %9" PRId64, width, m->name, m->elements, td_model_dofs(m->model));
        for (int k = 0; k < run->n_errors; k++)
        {
            print_error(m->mean[k]);
            print_error(m->max[k]);
        }
        printf(" %11.4g %8.3g\n", m->rate, m->rate / run->models[0].rate);
    }
    printf("\n");
    for (int i = 0; i < run->n; i++)
    {
        const tdCompared *m = &run->models[i];
        if (m->kind == TD_COMPARE_HYPER && (m->indicator > 0 || m->distance > 0))
            printf("%-*s not to be trusted in %" PRId64
                   " steps; error about %.2g at most (indicator %.3g, distance %.3g)\n",
                   width, m->name, m->warnings, m->foretold, m->indicator, m->distance);
    }
}

static void json_model(tdJson *json, const tdComparison *run, const tdCompared *m)
{
    static const char *const kinds[] = {"full", "reduced", "hyper_reduced", "scene"};
    td_json_open(json, NULL, '{');
    td_json_string(json, "name", m->name);
    td_json_string(json, "kind", kinds[m->kind]);
    td_json_string(json, "file", m->file);
    td_json_integer(json, "modes", m->modes);
    td_json_integer(json, "elements", m->elements);
    td_json_integer(json, "unknowns", td_model_dofs(m->model));
    td_json_integer(json, "steps", m->done);
    if (m->failure.status != TD_OK)
        cli_json_error(json, &m->failure);
    td_json_open(json, "errors", '{');
    for (int k = 0; k < run->n_errors; k++)
    {
        td_json_open(json, td_comparison_error_name(run, k), '{');
        td_json_number(json, "mean", m->mean[k]);
        td_json_number(json, "max", m->max[k]);
        td_json_close(json, '}');
    }
    td_json_close(json, '}');
    if (m->kind != TD_COMPARE_SCENE)
        td_json_integer(json, "worst_step", m->worst);
    td_json_number(json, "steps_per_s", m->rate);
    td_json_number(json, "ratio", m->rate / run->models[0].rate);
    if (m->kind == TD_COMPARE_HYPER)
    {
        td_json_integer(json, "rom_warnings", m->warnings);
        td_json_number(json, "rom_indicator", m->indicator);
        td_json_number(json, "rom_error", m->foretold);
        td_json_number(json, "rom_distance", m->distance);
    }
    td_json_close(json, '}');
}

static void print_json(const tdComparison *run, const compareArguments *arguments)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", sig_came() ? "interrupted" : "done");
    td_json_string(&json, "scene", arguments->files[0]);
    td_json_string(&json, "motion", run->motion_name);
    td_json_integer(&json, "steps", run->steps);
    td_json_number(&json, "time_step", td_model_time_step(run->models[0].model));
    td_json_integer(&json, "threads", 1);
    td_json_open(&json, "amplitude", '{');
    for (int k = 0; k < run->n_errors; k++)
        td_json_number(&json, td_comparison_error_name(run, k), run->amplitude[k]);
    td_json_close(&json, '}');
    td_json_open(&json, "models", '[');
    for (int i = 0; i < run->n; i++)
        json_model(&json, run, &run->models[i]);
    td_json_close(&json, ']');
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// ---------------------------------------------------------------- the command

static int warn(const tdComparison *run)
{
    int code = 0;
    for (int i = 0; i < run->n; i++)
        if (run->models[i].failure.status != TD_OK)
        {
            fprintf(stderr,
                    "warning: '%s' failed after %" PRId64 " of %" PRId64 " steps; its errors are over these only: %s\n",
                    run->models[i].name, run->models[i].done, run->steps, run->models[i].failure.message);
            code = TD_ERROR_NUMERIC;
        }
    return sig_came() ? 130 : code;
}

static int compare(const compareArguments *arguments, const outFolder *folder, long steps)
{
    tdComparison *run = NULL;
    tdError error = {0};
    int code = 0;
    tdSettings settings = cli_settings();
    tdCompareSettings what = td_default_compare();
    what.rom = arguments->rom;
    what.coarse = arguments->coarse;
    what.others = arguments->files + 1;
    while (what.n_others + 1 < TD_COMPARE_MODELS && arguments->files[what.n_others + 1] != NULL)
        what.n_others++;
    what.no_whole = arguments->no_whole;
    what.steps = steps;
    what.progress = cli_study;
    sigBefore before = sig_catch();
    tdStatus status = td_compare(arguments->files[0], &what, &settings, &run, &error);
    sig_release(&before);
    if (status == TD_OK)
        out_clear(folder);
    if (status == TD_OK && arguments->out != NULL)
        status = td_comparison_write(run, arguments->out, &error);
    if (status == TD_OK && arguments->report != NULL)
        status = td_comparison_report(run, arguments->report, &error);
    if (status != TD_OK)
        code = cli_fail(&error);
    else
    {
        if (cli_json())
            print_json(run, arguments);
        else
            print_table(run, arguments);
        code = warn(run);
    }
    td_comparison_free(run);
    return code;
}

int cmd_compare(int argc, char **argv)
{
    compareArguments arguments = {0};
    const cliOption options[] = {
        {"--rom", &arguments.rom, NULL},
        {"--coarse", &arguments.coarse, NULL},
        {"--steps", &arguments.steps, NULL},
        OUT_OPTIONS(arguments.out),
        {"--no-whole", NULL, &arguments.no_whole},
        {"--report", &arguments.report, NULL},
        CLI_SCENE_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), arguments.files, 1,
                         TD_COMPARE_MODELS);
    if (code >= 0)
        return code;
    long steps = 0;
    if (arguments.steps != NULL && !cli_integer("--steps", arguments.steps, 1, &steps))
        return TD_ERROR_USAGE;
    if (arguments.out != NULL && arguments.out[0] == '\0')
        return cli_usage("--out takes a folder, not an empty text");
    if (!cli_check_report(arguments.report))
        return TD_ERROR_USAGE;
    if (arguments.rom == NULL && arguments.coarse == NULL && arguments.files[1] == NULL)
        return cli_usage("nothing to compare with; give --rom FILE.h5, or another scene");
    static const char *const names[] = {"errors.csv", "shapes.png", "error.png", "rates.png",
                                        "paths.csv",  "paths.png",  NULL};
    outFolder folder;
    code = out_take(&folder, arguments.out, names, false);
    if (code >= 0)
        return code;
    code = compare(&arguments, &folder, steps);
    out_release(&folder);
    return code;
}
