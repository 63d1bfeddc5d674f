// SPDX-License-Identifier: Apache-2.0
#include "actuation.h"
#include "base/file.h"
#include "folder.h"
#include "output/bonds.h"
#include "output/supports.h"
#include "run_batch.h"
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
    "Simulates a scene and prints a summary. Files are written only with --out or --checkpoint.\n\n"
    "  --steps N          end at step N, counted from the scene's start (default: the scene's duration)\n"
    "  --time T           end at time T in seconds, likewise\n"
    "  --out DIR          write frames into this folder: VTU and run.pvd for ParaView, CSV tables, run.h5;\n"
    "                     the scene's 'output' selects which of them, and how often\n" OUT_HELP("            ") //
    "  --every N          a frame each N steps, instead of the scene's; 0 = only the last\n"
    "  --compress         compress VTU and HDF5 files\n"
    "  --checkpoint FILE  write the state there at the end, and in between as the scene specifies\n"
    "  --resume FILE      resume from a checkpoint; the result is bit for bit that of one long run. With the\n"
    "                     --out folder of the earlier run its frames are continued\n" CLI_ROM_HELP("        ") //
    "  --batch FILE       simulate many robots at once: rows of inputs from an HDF5 file, 'inputs' (robots, rows, "
    "inputs) in "
    "SI\n"
    "                     units with the attribute 'names', and 'parameters/NAME' (robots); results go to --out\n"
    "                     FILE.h5. If killed or interrupted, the same command resumes (docs/python.md)\n"
    "  --outputs NAMES    with it: what to write, e.g. 'probe:tip effort:north' (default: probes and actuators)\n"
    "  --hold N           with it: number of steps for which a row holds (1)\n"
    "  --threads N        worker threads (default: all cores); the result does not depend on it\n"
    "  --portable         use kernels without AVX2, for results that are the same on any machine\n"
    "  --json             print one JSON object instead of the table\n"
    "  --quiet            no progress\n\n"
    "Ctrl-C stops after the current step; a long step is abandoned within seconds. With --out, a checkpoint is left "
    "there.\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure (the last good state is kept and written), 5 out\n"
    "of memory, 6 a file could not be written, 130 interrupted.\n\n"
    "example: tendril run scenes/beam.yaml --out out/beam && paraview out/beam/run.pvd\n";

typedef struct runArguments
{
    const char *scene, *steps, *time, *out, *every, *checkpoint, *resume, *threads, *batch, *outputs, *hold;
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
    *supports = calloc((size_t)td_model_bodies(model) * (size_t)td_model_inputs(model) + 1, sizeof **supports);
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
    td_json_integer(json, "rom_warnings", totals->rom_warnings);
    td_json_number(json, "rom_indicator", totals->rom_indicator);
    td_json_number(json, "rom_error", totals->rom_error);
    td_json_number(json, "rom_distance", totals->rom_distance);
    td_json_number(json, "rom_local", totals->rom_local);
    td_json_integer(json, "contacts", totals->contacts);
    td_json_integer(json, "contacts_active", totals->contacts_active);
    td_json_integer(json, "asleep", totals->asleep);
    td_json_integer(json, "constraints", totals->constraints);
    td_json_integer(json, "contact_iterations", totals->contact_iterations);
    td_json_integer(json, "contact_limits", totals->contact_limits);
    td_json_number(json, "contact_residual", totals->contact_residual);
    td_json_number(json, "penetration", totals->penetration);
    td_json_number(json, "penetration_ratio", totals->penetration_ratio);
    td_json_integer(json, "tunnelled", totals->tunnelled);
    td_json_number(json, "attachment_error", totals->attachment_error);
    td_json_number(json, "energy_gain", totals->energy_gain);
    td_json_number(json, "linearization_error", totals->linearization_error);
    td_json_integer(json, "retries", totals->retries);
    td_json_integer(json, "doubtful_steps", totals->doubtful_steps);
    td_json_open(json, "doubts", '[');
    for (unsigned bit = 1; bit <= totals->doubts; bit <<= 1)
        if (totals->doubts & bit)
            td_json_string(json, NULL, td_doubt_name((tdDoubt)bit));
    td_json_close(json, ']');
    td_json_number(json, "work", totals->work);
    td_json_number(json, "dissipated", totals->dissipated);
    td_json_number(json, "elastic_energy", totals->elastic_energy);
    td_json_number(json, "kinetic_energy", totals->kinetic_energy);
    td_json_open(json, "stage_seconds", '{');
    for (int i = 0; i < TD_STAGES; i++)
        td_json_number(json, td_stage_name((tdStage)i), totals->stage_seconds[i]);
    td_json_close(json, '}');
}

static void json_bonds(tdJson *json, const tdModel *model, const tdState *state)
{
    td_json_open(json, "attachments", '{');
    for (int i = 0; i < td_model_attachments(model); i++)
    {
        double force[3];
        td_state_attachment_force(state, i, force, NULL, NULL);
        td_json_numbers(json, td_model_attachment_name(model, i), 3, force);
    }
    td_json_close(json, '}');
    td_json_open(json, "couplings", '{');
    for (int i = 0; i < td_model_couplings(model); i++)
        td_json_number(json, td_model_coupling_name(model, i), td_state_coupling_effort(state, i));
    td_json_close(json, '}');
}

// Names; a soft body has no link.
static void json_side(tdJson *json, const char *body_key, const char *link_key, const tdModel *model, int body,
                      int link)
{
    td_json_string(json, body_key, td_model_body_name(model, body));
    if (link >= 0)
        td_json_string(json, link_key, td_model_link_name(model, body, link));
    else
        td_json_number(json, link_key, NAN); // null
}

static void json_contacts(tdJson *json, const tdModel *model, const tdState *state)
{
    const tdContactSum *sums = NULL;
    int64_t n = td_state_contact_sums(state, &sums);
    td_json_open(json, "contact_pairs", '[');
    for (int64_t i = 0; i < n; i++)
    {
        td_json_open(json, NULL, '{');
        json_side(json, "body_a", "link_a", model, sums[i].body[0], sums[i].link[0]);
        json_side(json, "body_b", "link_b", model, sums[i].body[1], sums[i].link[1]);
        td_json_integer(json, "points", sums[i].points);
        td_json_numbers(json, "position", 3, sums[i].position);
        td_json_numbers(json, "force", 3, sums[i].force);
        td_json_numbers(json, "torque", 3, sums[i].torque);
        td_json_number(json, "pressing", sums[i].pressing);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void json_sensors(tdJson *json, const tdModel *model, const tdState *state)
{
    td_json_open(json, "sensors", '{');
    for (int i = 0; i < td_model_sensors(model); i++)
    {
        tdSensorInfo info = td_model_sensor(model, i);
        double values[TD_SENSOR_VALUES];
        td_state_sensor(model, state, i, values);
        td_json_open(json, info.name, '{');
        for (int k = 0; k < info.values; k++)
            td_json_number(json, info.columns[k], values[k]);
        td_json_close(json, '}');
    }
    td_json_close(json, '}');
}

static void print_json(const runArguments *arguments, const tdModel *model, const tdState *state,
                       const simResult *result)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    sim_json(&json, arguments->scene, model, state, result);
    json_vectors(&json, "probes", model, state, true);
    json_vectors(&json, "reactions", model, state, false);
    json_supports(&json, model, state);
    json_bonds(&json, model, state);
    json_contacts(&json, model, state);
    json_sensors(&json, model, state);
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
    const char *unit;
    double factor = act_unit(model, "m", 0, &unit);
    char title[3][16];
    for (int c = 0; c < 3; c++)
        snprintf(title[c], sizeof title[c], "%c [%s]", "xyz"[c], unit);
    if (td_model_probes(model) > 0)
        printf("\n%-16s %14s %14s %14s\n", "probe", title[0], title[1], title[2]);
    for (int i = 0; i < td_model_probes(model); i++)
    {
        double x[3];
        td_state_probe(model, state, i, x);
        printf("%-16s %14.6g %14.6g %14.6g\n", td_model_probe_name(model, i), x[0] / factor, x[1] / factor,
               x[2] / factor);
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

static void print_bonds(const tdModel *model, const tdState *state)
{
    if (td_model_attachments(model) > 0)
        printf("\n%-16s %14s %14s %14s\n", "attachment", "x [N]", "y [N]", "z [N]");
    for (int i = 0; i < td_model_attachments(model); i++)
    {
        double f[3];
        td_state_attachment_force(state, i, f, NULL, NULL);
        printf("%-16s %14.6g %14.6g %14.6g\n", td_model_attachment_name(model, i), f[0], f[1], f[2]);
    }
    if (td_model_couplings(model) > 0)
        printf("\n%-16s %14s\n", "coupling", "effort");
    for (int i = 0; i < td_model_couplings(model); i++)
        printf("%-16s %14.6g %s\n", td_model_coupling_name(model, i), td_state_coupling_effort(state, i),
               td_coupling_unit(model, i));
}

#define MOST_PAIRS 20 // that are printed; files and --json have all

static void side_name(const tdModel *model, int body, int link, char *out, size_t size)
{
    bool of_many = td_model_links(model, body) > 1;
    snprintf(out, size, "%s%s%s", td_model_body_name(model, body), of_many ? "." : "",
             of_many ? td_model_link_name(model, body, link) : "");
}

static void print_contacts(const tdModel *model, const tdState *state)
{
    const tdContactSum *sums = NULL;
    int64_t n = td_state_contact_sums(state, &sums);
    if (n > 0)
        printf("\n%-32s %10s %14s %14s %14s\n", "contact force on, by", "points", "x [N]", "y [N]", "z [N]");
    for (int64_t i = 0; i < n && i < MOST_PAIRS; i++)
    {
        char by[256], on[256], both[520];
        side_name(model, sums[i].body[0], sums[i].link[0], by, sizeof by);
        side_name(model, sums[i].body[1], sums[i].link[1], on, sizeof on);
        snprintf(both, sizeof both, "%s, %s", on, by);
        printf("%-32s %10d %14.6g %14.6g %14.6g\n", both, sums[i].points, sums[i].force[0], sums[i].force[1],
               sums[i].force[2]);
    }
    if (n > MOST_PAIRS)
        printf("and %" PRId64 " more: contact_pairs.csv of --out, or --json\n", n - MOST_PAIRS);
}

static void print_sensors(const tdModel *model, const tdState *state)
{
    for (int i = 0; i < td_model_sensors(model); i++)
    {
        tdSensorInfo info = td_model_sensor(model, i);
        double values[TD_SENSOR_VALUES];
        td_state_sensor(model, state, i, values);
        printf("%s%-16s", i == 0 ? "\nsensor\n" : "", info.name);
        for (int k = 0; k < info.values; k++)
            printf("%s%s %.6g%s%s", k == 0 ? " " : ", ", info.columns[k], values[k],
                   info.units[k][0] == '\0' ? "" : " ", info.units[k]);
        printf("\n");
    }
}

static void print_table(const runArguments *arguments, const tdModel *model, const tdState *state,
                        const simResult *result)
{
    const tdTotals *totals = &result->totals;
    double steps = totals->steps > 0 ? (double)totals->steps : 1;
    sim_print(arguments->scene, model, state, result);
    printf("Newton      %" PRId64 " iterations (%.2f per step), %" PRId64 " shortened\n", totals->newton_iterations,
           (double)totals->newton_iterations / steps, totals->line_search_steps);
    if (totals->load_steps > 0)
        printf("load        %" PRId64 " increments, %" PRId64 " cut\n", totals->load_steps, totals->load_cuts);
    printf("linear      %" PRId64 " conjugate-gradient iterations, %" PRId64 " factorizations\n", totals->cg_iterations,
           totals->factorizations);
    printf("residual    %.2e at most\n", totals->residual);
    if (totals->load_steps == 0)
        printf("energy      %.3g J of work done on the bodies, %.3g J dissipated; spurious energy at most %.2g %% of a "
               "body's\n",
               totals->work, totals->dissipated, 100 * totals->energy_gain);
    if (totals->retries > 0)
        printf("retries     %" PRId64 " steps were repeated, because one linearization was not accurate enough\n",
               totals->retries);
    if (totals->contact_iterations > 0 || totals->constraints > 0)
        printf("contact     %d of %d points carry a force at the end, %" PRId64
               " iterations (%.2f per step), residual %.2e at most, iteration limit reached in %" PRId64 " steps\n",
               totals->contacts_active, totals->contacts, totals->contact_iterations,
               (double)totals->contact_iterations / steps, totals->contact_residual, totals->contact_limits);
    if (totals->penetration > 0)
        printf("penetration %.2e m at most, %.2g %% of the smaller body\n", totals->penetration,
               100 * totals->penetration_ratio);
    if (totals->tunnelled > 0)
        printf("tunnelled   bodies may have passed through each other %" PRId64 " times; use a smaller time_step\n",
               totals->tunnelled);
    if (totals->attachment_error > 0)
        printf("attachments error at most %.2e of the scene's size\n", totals->attachment_error);
    act_print_totals(result);
    if (totals->rom_indicator > 0 || totals->rom_distance > 0 || totals->rom_local > 0)
        printf("reduced     not to be trusted in %" PRId64
               " steps; error about %.2g at most (indicator %.3g, distance %.3g), that of contact forces about %.2g\n",
               totals->rom_warnings, totals->rom_error, totals->rom_indicator, totals->rom_distance, totals->rom_local);
    if (totals->projected_elements > 0 || totals->inverted_elements > 0 || totals->extended_elements > 0)
        printf("elements    %" PRId64 " tangents projected to positive definite; at the end %d inverted and %d "
               "compressed beyond their law's range\n",
               totals->projected_elements, totals->inverted_elements, totals->extended_elements);
    print_stages(totals);
    printf("memory      %.1f MiB at the peak\n", (double)sim_peak_memory() / (1024 * 1024));
    if (arguments->out != NULL)
        printf("files       %" PRId64 " frames in %s (%.3g s)\n", result->frames, arguments->out, result->output_s);
    if (result->checkpoint[0] != '\0')
        printf("checkpoint  %s\n", result->checkpoint);
    print_vectors(model, state);
    print_bonds(model, state);
    print_contacts(model, state);
    print_sensors(model, state);
    act_print_state(model, state);
}

// ---------------------------------------------------------------- the command

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
    int code = sim_check_common(arguments->threads, arguments->out, settings);
    if (code < 0 && arguments->checkpoint != NULL)
        code = check_checkpoint(arguments->checkpoint);
    if (code >= 0)
        return code;
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
    act_warn(model, result);
    return sim_end(state, result);
}

static int simulate(const runArguments *arguments, const outFolder *folder, const tdModel *model, tdState *state,
                    simOptions *options)
{
    tdError error = {0};
    if (!sim_last_step(arguments->steps, arguments->time, model, td_model_steps(model), &options->until))
        return TD_ERROR_USAGE;
    if (options->every < 0)
        options->every = td_model_frames_every(model);
    options->checkpoint_every = td_model_checkpoint_every(model);
    if (arguments->resume != NULL && td_state_load(model, state, arguments->resume, &error) != TD_OK)
        return cli_fail(&error);
    if (arguments->resume != NULL && td_state_steps(state) > options->until)
        return cli_usage("%s is at step %" PRId64 ", beyond step %" PRId64
                         " where this run should end; give a later end (--steps, --time, the scene's duration) or an "
                         "earlier checkpoint",
                         arguments->resume, td_state_steps(state), options->until);
    if (arguments->resume != NULL && td_state_steps(state) == options->until && !cli_quiet())
        fprintf(stderr,
                "tendril: %s is at step %" PRId64 " already, there is nothing left to do up to step %" PRId64 "\n",
                arguments->resume, td_state_steps(state), options->until);
    if (arguments->resume == NULL)
        out_clear(folder);
    simResult result;
    if (sim_run(model, state, options, &result, &error) != TD_OK)
        return cli_fail(&error);
    if (arguments->resume != NULL && arguments->out != NULL && result.frames == 0 && !cli_quiet())
        fprintf(stderr, "tendril: %s has the frame of step %" PRId64 " already; none was added\n", arguments->out,
                td_state_steps(state));
    return report_result(arguments, model, state, &result);
}

static int start_batch(const runArguments *arguments, tdSettings *settings)
{
    const runBatch batch = {arguments->scene, arguments->batch, arguments->out, arguments->outputs, arguments->hold};
    if (arguments->steps != NULL || arguments->time != NULL || arguments->every != NULL ||
        arguments->checkpoint != NULL || arguments->resume != NULL || arguments->compress)
        return cli_usage("--batch runs for as many rows as its file has, and writes one file: --steps, --time, "
                         "--every, --compress, --checkpoint and --resume are for one robot");
    int code = sim_check_common(arguments->threads, NULL, settings);
    settings->portable = arguments->portable;
    return code >= 0 ? code : run_batch(&batch, settings);
}

int cmd_run(int argc, char **argv)
{
    runArguments arguments = {0};
    const cliOption options[] = {
        {"--steps", &arguments.steps, NULL},
        {"--time", &arguments.time, NULL},
        OUT_OPTIONS(arguments.out),
        {"--every", &arguments.every, NULL},
        {"--compress", NULL, &arguments.compress},
        {"--checkpoint", &arguments.checkpoint, NULL},
        {"--resume", &arguments.resume, NULL},
        {"--batch", &arguments.batch, NULL},
        {"--outputs", &arguments.outputs, NULL},
        {"--hold", &arguments.hold, NULL},
        {"--threads", &arguments.threads, NULL},
        {"--portable", NULL, &arguments.portable},
        CLI_ROM_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &arguments.scene, 1, 1);
    if (code >= 0)
        return code;
    tdSettings settings = cli_settings();
    if (arguments.batch != NULL)
        return start_batch(&arguments, &settings);
    if (arguments.outputs != NULL || arguments.hold != NULL)
        return cli_usage("%s belongs to --batch", arguments.outputs != NULL ? "--outputs" : "--hold");
    simOptions simulation = {0};
    code = check_arguments(&arguments, &settings, &simulation);
    if (code >= 0)
        return code;
    outFolder folder;
    code = out_take(&folder, arguments.out, out_frames, arguments.resume != NULL);
    if (code >= 0)
        return code;
    tdError error = {0};
    tdModel *model = NULL;
    tdState *state = NULL;
    if (td_model_load(arguments.scene, &settings, &model, &error) != TD_OK ||
        td_state_create(model, &settings, &state, &error) != TD_OK)
        code = cli_fail(&error);
    else
        code = simulate(&arguments, &folder, model, state, &simulation);
    td_state_free(state);
    td_model_free(model);
    out_release(&folder);
    return code;
}
