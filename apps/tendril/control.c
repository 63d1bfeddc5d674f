// SPDX-License-Identifier: Apache-2.0
// tendril control: inverse control along a path.
#include "control/control.h"

#include "folder.h"
#include "simulate.h"
#include "tracking.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char help[] =
    "usage: tendril control SCENE --target CSV [options]\n\n"
    "Finds what the actuators of a scene have to do so that its effectors follow goals, step by step. Actuators\n"
    "driven by the scene's motion follow it (see --free); all others are found. In a static scene every step is an\n"
    "equilibrium at its time in the file.\n\n"
    "  --target CSV    goals over time: t, NAME.x, NAME.y, NAME.z for each effector (NAME alone for a volume or a\n"
    "                  length), in SI units or with a unit in the header, e.g. 'tip.x [mm]'\n"
    "  --free NAMES    remove these actuators from the scene's motion: names separated by commas, or 'all'\n"
    "  --measured CSV  measurements of the real robot, in the same form: an integral term corrects the targets\n"
    "  --gain G        of the integral term [1/s] (default: 1 / (20 time steps); 0 = measurements are only compared)\n"
    "  --delay T       known delay of the measurements [s] (0)\n"
    "  --steps N       end at step N (default: the last time of the goals)\n"
    "  --time T        end at time T in seconds, likewise\n"
    "  --out DIR       write actuation.csv, tracking.csv, pictures of both, and frames as 'tendril run' "
    "does\n" OUT_HELP("         ")                                                                              //
    "  --every N       a frame each N steps, instead of the scene's; 0 = only the last\n" CLI_ROM_HELP("     ") //
    "  --report FILE   write a page (.html) with the path, the errors and the actuation\n"
    "  --threads N     worker threads (default: all cores); the result does not depend on it\n"
    "  --json          print one JSON object: errors by effector (mean, max, rms), percentiles of times, files\n"
    "  --quiet         no progress\n\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 out of memory, 6 a file could not be written,\n"
    "130 interrupted. Targets that are out of reach are counted, but are not a failure.\n\n"
    "example: tendril control robot.yaml --target circle.csv --out out/circle\n";

typedef struct controlArguments
{
    const char *scene, *target, *measured, *free, *gain, *delay, *steps, *time, *out, *every, *threads, *report;
} controlArguments;

/// What the loop's callbacks share.
typedef struct Follow
{
    tdControl *control;
    tdTracking *table;
} Follow;

static tdStatus take_step(void *user, const tdModel *model, tdState *state)
{
    return td_control_step(((Follow *)user)->control, model, state);
}

static tdStatus keep_step(void *user, const tdModel *model, const tdState *state, double seconds, tdError *error)
{
    (void)model;
    return td_tracking_add(((Follow *)user)->table, state, seconds, error);
}

static bool read_settings(const controlArguments *arguments, tdControlSettings *settings)
{
    return (arguments->gain == NULL || cli_number("--gain", arguments->gain, &settings->gain)) &&
           (arguments->delay == NULL || cli_number("--delay", arguments->delay, &settings->delay));
}

static tdStatus open_control(const controlArguments *arguments, const tdControlSettings *settings, const tdModel *model,
                             Follow *follow, tdError *error)
{
    TD_TRY(td_control_create(model, settings, &follow->control, error));
    TD_TRY(td_control_load_goals(follow->control, model, arguments->target, error));
    if (arguments->measured != NULL)
    {
        TD_TRY(td_control_load_measurements(follow->control, model, arguments->measured, error));
        int vain = td_control_measured_in_vain(follow->control);
        if (vain >= 0)
            return td_fail_at(
                error, TD_ERROR_INPUT, arguments->measured, 0, td_model_effector(model, vain).name,
                "the effector is measured, but has no goal that could be corrected; give it one in %.200s",
                arguments->target);
    }
    return td_tracking_create(model, follow->control, arguments->out, arguments->measured != NULL, &follow->table,
                              error);
}

static void report(const controlArguments *arguments, const tdModel *model, const tdState *state,
                   const simResult *result, const tdTracking *table)
{
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        sim_json(&json, arguments->scene, model, state, result);
        td_json_string(&json, "target", arguments->target);
        track_json(table, model, &json);
        td_json_integer(&json, "frames", result->frames);
        td_json_integer(&json, "peak_rss", sim_peak_memory());
        td_json_close(&json, '}');
        cli_print_json(&json);
        return;
    }
    sim_print(arguments->scene, model, state, result);
    track_print(table, model);
    if (arguments->out != NULL)
        printf("\nfiles       %s/actuation.csv, tracking.csv, their pictures, and %" PRId64 " frames\n", arguments->out,
               result->frames);
}

static tdStatus write_page(const controlArguments *arguments, const simResult *result, const tdTracking *table,
                           tdError *error)
{
    char lead[800];
    snprintf(lead, sizeof lead, "`%.200s` follows `%.200s` by inverse control.", arguments->scene, arguments->target);
    return td_tracking_report(table, lead, result->end != SIM_DONE, arguments->report, error);
}

static int follow_path(const controlArguments *arguments, const outFolder *folder, simOptions *options,
                       const tdModel *model, tdState *state)
{
    tdError error = {0};
    Follow follow = {0};
    tdControlSettings settings = td_default_control(model);
    if (!read_settings(arguments, &settings))
        return TD_ERROR_USAGE;
    int code = 0;
    simResult result;
    out_clear(folder);
    if (open_control(arguments, &settings, model, &follow, &error) != TD_OK)
        code = cli_fail(&error);
    double steps =
        follow.control == NULL ? 0 : ceil(td_control_duration(follow.control) / td_model_time_step(model) - 1e-6);
    if (code == 0 && !(steps <= 1e9))
        code = cli_usage("the goals end at %g s, more than 1e9 steps of the scene; give --steps or --time",
                         td_control_duration(follow.control));
    // A file of one row at t = 0 is a goal to go to: one step, in a static scene all that it takes.
    if (code == 0 &&
        !sim_last_step(arguments->steps, arguments->time, model, steps < 1 ? 1 : (int64_t)steps, &options->until))
        code = TD_ERROR_USAGE;
    if (code == 0)
    {
        options->every = options->every < 0 ? td_model_frames_every(model) : options->every;
        options->step = take_step;
        options->stepped = keep_step;
        options->user = &follow;
        tdStatus status = sim_run(model, state, options, &result, &error);
        if (status == TD_OK)
            status = td_tracking_finish(follow.table, &error);
        if (status == TD_OK && arguments->report != NULL && follow.table->n > 0)
            status = write_page(arguments, &result, follow.table, &error);
        if (status != TD_OK)
            code = cli_fail(&error);
        else
        {
            report(arguments, model, state, &result, follow.table);
            code = sim_end(state, &result);
        }
    }
    td_tracking_free(follow.table);
    td_control_free(follow.control);
    return code;
}

int cmd_control(int argc, char **argv)
{
    controlArguments arguments = {0};
    const cliOption options[] = {
        {"--target", &arguments.target, NULL}, {"--measured", &arguments.measured, NULL},
        {"--free", &arguments.free, NULL},     {"--gain", &arguments.gain, NULL},
        {"--delay", &arguments.delay, NULL},   {"--steps", &arguments.steps, NULL},
        {"--time", &arguments.time, NULL},     OUT_OPTIONS(arguments.out),
        {"--every", &arguments.every, NULL},   {"--threads", &arguments.threads, NULL},
        {"--report", &arguments.report, NULL}, CLI_ROM_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &arguments.scene, 1, 1);
    if (code >= 0)
        return code;
    tdSettings settings = cli_settings();
    simOptions simulation = {.what = "following", .out = arguments.out, .every = -1};
    long every = 0;
    if (arguments.target == NULL)
        return cli_usage("--target CSV is missing: the goals over time; --help shows the form");
    if (arguments.steps != NULL && arguments.time != NULL)
        return cli_usage("--steps and --time exclude each other; give one");
    if (arguments.every != NULL && arguments.out == NULL)
        return cli_usage("--every says how frames are written, so it needs --out DIR");
    if (arguments.measured == NULL && (arguments.gain != NULL || arguments.delay != NULL))
        return cli_usage("%s applies to measurements, so it needs --measured CSV",
                         arguments.gain != NULL ? "--gain" : "--delay");
    if (arguments.every != NULL && !cli_integer("--every", arguments.every, 0, &every))
        return TD_ERROR_USAGE;
    simulation.every = arguments.every != NULL ? (int)every : -1;
    if (!cli_check_report(arguments.report))
        return TD_ERROR_USAGE;
    code = sim_check_common(arguments.threads, arguments.out, &settings);
    if (code >= 0)
        return code;
    outFolder folder;
    code = out_take(&folder, arguments.out, out_frames, false);
    if (code >= 0)
        return code;
    tdError error = {0};
    tdModel *model = NULL;
    tdState *state = NULL;
    tdSceneEdit *edit = arguments.free != NULL ? td_control_free_actuators : NULL;
    if (td_model_load_edited(arguments.scene, &settings, edit, (void *)arguments.free, &model, &error) != TD_OK ||
        td_state_create(model, &settings, &state, &error) != TD_OK)
        code = cli_fail(&error);
    else
        code = follow_path(&arguments, &folder, &simulation, model, state);
    td_state_free(state);
    td_model_free(model);
    out_release(&folder);
    return code;
}
