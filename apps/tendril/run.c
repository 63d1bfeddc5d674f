// SPDX-License-Identifier: Apache-2.0
#include "actuation.h"
#include "base/file.h"
#include "model.h"
#include "output/supports.h"
#include "simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: tendril run SCENE [options]\n\n"
    "Simulates a scene and prints what came of it. Files are written only with --out or --checkpoint.\n\n"
    "  --steps N          end at step N, counted from the scene's start (default: what the scene says)\n"
    "  --time T           end at time T in seconds, likewise\n"
    "  --out DIR          write frames into this folder: VTU and run.pvd for ParaView, CSV tables, run.h5;\n"
    "                     which of them and how often, the scene says under 'output'\n"
    "  --every N          a frame each N steps, instead of the scene's; 0 = only the last\n"
    "  --compress         compress VTU and HDF5 files\n"
    "  --checkpoint FILE  write the state there at the end, and on the way as the scene says\n"
    "  --resume FILE      go on from a checkpoint; the result is bit for bit that of one long run. With the\n"
    "                     --out folder of the earlier run its frames are continued\n"
    "  --threads N        worker threads (default: all cores); the result does not depend on it\n"
    "  --portable         use kernels without AVX2, for results that are the same on any machine\n"
    "  --json             print one JSON object instead of the table\n"
    "  --quiet            no progress\n\n"
    "Ctrl-C ends after the step; with --out a checkpoint is left there. Exit codes: 0 done, 2 usage, 3 bad\n"
    "input, 4 numerical failure (the last good state is kept and written), 130 interrupted.\n\n"
    "example: tendril run scenes/beam.yaml --out out/beam && paraview out/beam/run.pvd\n";

typedef struct runArguments
{
    const char *scene, *steps, *time, *out, *every, *checkpoint, *resume, *threads;
    bool portable, compress;
} runArguments;

// ---------------------------------------------------------------- results

static void json_vectors(tdJson *json, const char *key, const tdModel *model, const tdState *state, bool probes)
{
    td_json_open(json, key, '{');
    int n = probes ? td_model_probes(model) : td_model_bodies(model);
    for (int i = 0; i < n; i++)
    {
        double value[3];
        if (probes)
            td_state_probe(model, state, i, value);
        else
            td_state_reaction(model, state, i, value);
        td_json_numbers(json, probes ? td_model_probe_name(model, i) : td_model_body_name(model, i), 3, value);
    }
    td_json_close(json, '}');
}

// Supports of prescribed motions; free(). Without memory there are none to show.
static int list_supports(const tdModel *model, tdSupport **supports)
{
    *supports = calloc((size_t)model->n_bodies * (size_t)model->n_inputs + 1, sizeof **supports);
    return *supports == NULL ? 0 : td_supports(model, *supports);
}

static void json_supports(tdJson *json, const tdModel *model, const tdState *state)
{
    tdSupport *supports = NULL;
    int n = list_supports(model, &supports);
    td_json_open(json, "prescribed", '{');
    for (int i = 0; i < n; i++)
    {
        char name[512];
        double force[3];
        td_support_name(model, &supports[i], name, sizeof name);
        td_support_force(model, state, &supports[i], force);
        td_json_numbers(json, name, 3, force);
    }
    td_json_close(json, '}');
    free(supports);
}

static void json_counts(tdJson *json, const tdTotals *totals)
{
    td_json_number(json, "residual", totals->residual);
    td_json_integer(json, "newton_iterations", totals->newton_iterations);
    td_json_integer(json, "line_search_steps", totals->line_search_steps);
    td_json_integer(json, "load_steps", totals->load_steps);
    td_json_integer(json, "load_cuts", totals->load_cuts);
    td_json_integer(json, "cg_iterations", totals->cg_iterations);
    td_json_integer(json, "factorizations", totals->factorizations);
    td_json_integer(json, "projected_elements", totals->projected_elements);
    td_json_integer(json, "inverted_elements", totals->inverted_elements);
    td_json_integer(json, "extended_elements", totals->extended_elements);
    td_json_number(json, "elastic_energy", totals->elastic_energy);
    td_json_number(json, "kinetic_energy", totals->kinetic_energy);
    td_json_open(json, "stage_seconds", '{');
    for (int i = 0; i < TD_STAGES; i++)
        td_json_number(json, td_stage_name((tdStage)i), totals->stage_seconds[i]);
    td_json_close(json, '}');
}

static double rate(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

static void print_json(const runArguments *arguments, const tdModel *model, const tdState *state,
                       const simResult *result)
{
    static const char *const ends[] = {"done", "failed", "interrupted"};
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", ends[result->end]);
    if (result->end == SIM_FAILED)
        cli_json_error(&json, &result->error);
    td_json_string(&json, "scene", arguments->scene);
    td_json_integer(&json, "steps", result->totals.steps);
    td_json_integer(&json, "last_step", td_state_steps(state));
    td_json_number(&json, "time", td_state_time(state));
    td_json_number(&json, "wall_s", result->wall_s);
    td_json_number(&json, "output_s", result->output_s);
    td_json_number(&json, "steps_per_s", rate((double)result->totals.steps, result->wall_s));
    td_json_number(&json, "realtime_rate", rate(result->simulated_s, result->wall_s));
    td_json_integer(&json, "dofs", td_model_dofs(model));
    td_json_open(&json, "bodies", '[');
    for (int b = 0; b < td_model_bodies(model); b++)
    {
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "name", td_model_body_name(model, b));
        td_json_integer(&json, "nodes", td_model_body_nodes(model, b));
        td_json_integer(&json, "elements", td_model_body_elements(model, b));
        td_json_close(&json, '}');
    }
    td_json_close(&json, ']');
    json_vectors(&json, "probes", model, state, true);
    json_vectors(&json, "reactions", model, state, false);
    json_supports(&json, model, state);
    act_json_state(&json, model, state);
    act_json_totals(&json, model, result);
    json_counts(&json, &result->totals);
    td_json_integer(&json, "frames", result->frames);
    if (result->checkpoint[0] != '\0')
        td_json_string(&json, "checkpoint", result->checkpoint);
    td_json_integer(&json, "peak_rss", sim_peak_memory());
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static void print_stages(const tdTotals *totals)
{
    double sum = 0;
    for (int i = 0; i < TD_STAGES; i++)
        sum += totals->stage_seconds[i];
    if (!(sum > 0))
        return;
    fputs("stages", stdout);
    const char *between = "      ";
    for (int i = 0; i < TD_STAGES; i++)
    {
        double share = 100 * totals->stage_seconds[i] / sum;
        if (share < 0.1)
            continue;
        printf("%s%s %.1f %%", between, td_stage_name((tdStage)i), share);
        between = ", ";
    }
    fputs("\n", stdout);
}

static void print_vectors(const tdModel *model, const tdState *state)
{
    if (td_model_probes(model) > 0)
        printf("\n%-16s %14s %14s %14s\n", "probe", "x [m]", "y [m]", "z [m]");
    for (int i = 0; i < td_model_probes(model); i++)
    {
        double x[3];
        td_state_probe(model, state, i, x);
        printf("%-16s %14.6g %14.6g %14.6g\n", td_model_probe_name(model, i), x[0], x[1], x[2]);
    }
    printf("\n%-16s %14s %14s %14s\n", "reaction on", "x [N]", "y [N]", "z [N]");
    for (int b = 0; b < td_model_bodies(model); b++)
    {
        double f[3];
        td_state_reaction(model, state, b, f);
        printf("%-16s %14.6g %14.6g %14.6g\n", td_model_body_name(model, b), f[0], f[1], f[2]);
    }
    tdSupport *supports = NULL;
    int n = list_supports(model, &supports);
    for (int i = 0; i < n; i++)
    {
        char name[512];
        double f[3];
        td_support_name(model, &supports[i], name, sizeof name);
        td_support_force(model, state, &supports[i], f);
        printf("  %-14s %14.6g %14.6g %14.6g\n", name, f[0], f[1], f[2]);
    }
    free(supports);
}

static void print_table(const runArguments *arguments, const tdModel *model, const tdState *state,
                        const simResult *result)
{
    const tdTotals *totals = &result->totals;
    double steps = totals->steps > 0 ? (double)totals->steps : 1;
    printf("scene       %s\n", arguments->scene);
    for (int b = 0; b < td_model_bodies(model); b++)
        printf("%-11s %s: %d nodes, %d elements\n", b == 0 ? "bodies" : "", td_model_body_name(model, b),
               td_model_body_nodes(model, b), td_model_body_elements(model, b));
    printf("unknowns    %" PRId64 "\n", td_model_dofs(model));
    printf("steps       %" PRId64 " of %g s, up to step %" PRId64 " at %g s%s\n", totals->steps,
           td_model_time_step(model), td_state_steps(state), td_state_time(state),
           result->end == SIM_DONE ? "" : (result->end == SIM_FAILED ? " (failed)" : " (interrupted)"));
    printf("wall time   %.3g s: %.4g steps/s, %.3g times real time\n", result->wall_s,
           rate((double)totals->steps, result->wall_s), rate(result->simulated_s, result->wall_s));
    printf("Newton      %" PRId64 " iterations (%.2f a step), %" PRId64 " shortened\n", totals->newton_iterations,
           (double)totals->newton_iterations / steps, totals->line_search_steps);
    if (totals->load_steps > 0)
        printf("load        %" PRId64 " increments, %" PRId64 " cut\n", totals->load_steps, totals->load_cuts);
    printf("linear      %" PRId64 " conjugate-gradient iterations, %" PRId64 " factorizations\n", totals->cg_iterations,
           totals->factorizations);
    printf("residual    %.2e at most\n", totals->residual);
    act_print_totals(result);
    if (totals->projected_elements > 0 || totals->inverted_elements > 0 || totals->extended_elements > 0)
        printf("elements    %" PRId64
               " tangents made positive, %d inverted and %d crushed beyond their law's range at the "
               "end\n",
               totals->projected_elements, totals->inverted_elements, totals->extended_elements);
    print_stages(totals);
    printf("memory      %.1f MiB at the peak\n", (double)sim_peak_memory() / (1024 * 1024));
    if (arguments->out != NULL)
        printf("files       %" PRId64 " frames in %s (%.3g s)\n", result->frames, arguments->out, result->output_s);
    if (result->checkpoint[0] != '\0')
        printf("checkpoint  %s\n", result->checkpoint);
    print_vectors(model, state);
    act_print_state(model, state);
}

// ---------------------------------------------------------------- the command

// The step to end at: --steps, --time or the scene's. False after a usage error.
static bool last_step(const runArguments *arguments, const tdModel *model, int64_t *out)
{
    *out = td_model_steps(model);
    if (arguments->steps != NULL)
    {
        long steps = 0;
        if (!cli_integer("--steps", arguments->steps, 1, &steps))
            return false;
        *out = steps;
    }
    if (arguments->time != NULL)
    {
        double time = 0;
        if (!cli_number("--time", arguments->time, &time))
            return false;
        // Rounding must not add a step to a time that is a multiple of the step.
        double steps = ceil(time / td_model_time_step(model) - 1e-6);
        if (!(time > 0) || !(steps <= 1e9))
        {
            cli_usage("--time takes a time above zero and below 1e9 steps of the scene, not '%s'", arguments->time);
            return false;
        }
        *out = (int64_t)steps;
    }
    return true;
}

// A checkpoint is written at the end: that its place is wrong must not come out after hours.
static int check_checkpoint(const char *path)
{
    char folder[PATH_MAX];
    struct stat info;
    if (path[0] == '\0')
        return cli_usage("--checkpoint takes a file, not an empty text");
    tdError error = {0};
    td_path_folder(folder, sizeof folder, path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        td_fail_at(&error, TD_ERROR_IO, path, 0, "--checkpoint", "is a folder; give a file");
    else if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        td_fail_at(&error, TD_ERROR_IO, path, 0, "--checkpoint", "there is no folder '%s'; make it first", folder);
    else if (access(folder, W_OK) != 0)
        td_fail_at(&error, TD_ERROR_IO, path, 0, "--checkpoint", "nothing can be written into '%s': %s", folder,
                   strerror(errno));
    return error.status == TD_OK ? -1 : cli_fail(&error);
}

// What can be wrong before the scene is known.
static int check_arguments(const runArguments *arguments, tdSettings *settings, simOptions *options)
{
    long number = 0;
    if (arguments->steps != NULL && arguments->time != NULL)
        return cli_usage("--steps and --time exclude each other; give one");
    if (arguments->out == NULL && (arguments->every != NULL || arguments->compress))
        return cli_usage("%s says how frames are written, so it needs --out DIR",
                         arguments->every != NULL ? "--every" : "--compress");
    if (arguments->out != NULL && arguments->out[0] == '\0')
        return cli_usage("--out takes a folder, not an empty text");
    if (arguments->threads != NULL)
    {
        if (!cli_integer("--threads", arguments->threads, 1, &number))
            return TD_ERROR_USAGE;
        settings->threads = (int)number;
    }
    if (arguments->checkpoint != NULL)
    {
        int code = check_checkpoint(arguments->checkpoint);
        if (code >= 0)
            return code;
    }
    options->every = -1;
    if (arguments->every != NULL)
    {
        if (!cli_integer("--every", arguments->every, 0, &number))
            return TD_ERROR_USAGE;
        options->every = (int)number;
    }
    settings->portable = arguments->portable;
    options->what = "simulating";
    options->out = arguments->out;
    options->compressed = arguments->compress;
    options->checkpoint = arguments->checkpoint;
    options->resumed = arguments->resume != NULL;
    return -1;
}

static int report_result(const runArguments *arguments, const tdModel *model, const tdState *state,
                         const simResult *result)
{
    if (cli_json())
        print_json(arguments, model, state, result);
    else
        print_table(arguments, model, state, result);
    if (result->end == SIM_FAILED)
    {
        fprintf(stderr, "tendril: step %" PRId64 " failed at %g s; the state before it was kept\n",
                td_state_steps(state) + 1, td_state_time(state));
        cli_fail(&result->error);
    }
    if (result->totals.inverted_elements > 0)
        fprintf(
            stderr,
            "warning: %d elements are turned inside out at the end, so the result is not to be trusted; use a smaller "
            "time_step, smaller loads or a finer mesh\n",
            result->totals.inverted_elements);
    act_warn(model, result);
    if (result->end == SIM_INTERRUPTED)
        fprintf(stderr, "tendril: interrupted after step %" PRId64 "%s%s\n", td_state_steps(state),
                result->checkpoint[0] == '\0' ? "" : "; to go on, add --resume ", result->checkpoint);
    return sim_exit_code(result);
}

static int simulate(const runArguments *arguments, const tdModel *model, tdState *state, simOptions *options)
{
    tdError error = {0};
    if (!last_step(arguments, model, &options->until))
        return TD_ERROR_USAGE;
    if (options->every < 0)
        options->every = model->scene.output.every;
    options->checkpoint_every = model->scene.output.checkpoint_every;
    if (arguments->resume != NULL && td_state_load(model, state, arguments->resume, &error) != TD_OK)
        return cli_fail(&error);
    if (arguments->resume != NULL && td_state_steps(state) >= options->until && !cli_quiet())
        fprintf(stderr,
                "tendril: %s is at step %" PRId64 " already, there is nothing left to do up to step %" PRId64 "\n",
                arguments->resume, td_state_steps(state), options->until);
    simResult result;
    if (sim_run(model, state, options, &result, &error) != TD_OK)
        return cli_fail(&error);
    return report_result(arguments, model, state, &result);
}

int cmd_run(int argc, char **argv)
{
    runArguments arguments = {0};
    const cliOption options[] = {
        {"--steps", &arguments.steps, NULL},       {"--time", &arguments.time, NULL},
        {"--out", &arguments.out, NULL},           {"--every", &arguments.every, NULL},
        {"--compress", NULL, &arguments.compress}, {"--checkpoint", &arguments.checkpoint, NULL},
        {"--resume", &arguments.resume, NULL},     {"--threads", &arguments.threads, NULL},
        {"--portable", NULL, &arguments.portable},
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &arguments.scene, 1, 1);
    if (code >= 0)
        return code;
    tdSettings settings = cli_settings();
    simOptions simulation = {0};
    code = check_arguments(&arguments, &settings, &simulation);
    if (code >= 0)
        return code;
    tdError error = {0};
    tdModel *model = NULL;
    tdState *state = NULL;
    if (td_model_load(arguments.scene, &settings, &model, &error) != TD_OK)
        return cli_fail(&error);
    if (td_state_create(model, &settings, &state, &error) != TD_OK)
        code = cli_fail(&error);
    else
        code = simulate(&arguments, model, state, &simulation);
    td_state_free(state);
    td_model_free(model);
    return code;
}
