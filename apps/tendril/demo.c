// SPDX-License-Identifier: Apache-2.0
// tendril demo: the first thing to try. Makes a reduced model of a robot, tells what it costs and gains, lets it follow
// a path, and writes a report of all that.
#include "demo.h"

#include "base/file.h"
#include "base/isa.h"
#include "base/timer.h"
#include "control/control.h"
#include "folder.h"
#include "reduce.h"
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tendril demo [--out DIR] [--scene FILE --path CSV]\n\n"
    "The first thing to try: makes a reduced model of a soft robot, compares it with full order, has the robot\n"
    "follow a path by inverse control, and writes a report with pictures: out/demo/report.html. Takes about a\n"
    "minute on two cores. On a terminal the robot is then shown live in the browser; Ctrl-C ends that.\n\n"
    "  --out DIR     where to write (default: out/demo)\n"
    "  --scene FILE  another robot: a scene with actuators, an effector and a 'reduction'\n"
    "  --path CSV    the path for its effector, as for 'tendril control --target'\n"
    "  --no-view     exit when the report is written, even on a terminal\n"
    "  --json        print one JSON object instead of the table\n"
    "  --quiet       no progress\n\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 out of memory, 6 a file could not be\n"
    "written, 130 interrupted.\n\n"
    "example: tendril demo --scene my_robot.yaml --path my_path.csv --out out/mine\n";

// ---------------------------------------------------------------- what is told

static void announce(demoStage stage, const char *text)
{
    if (!cli_quiet())
        fprintf(stderr, "[%d/%d] %s\n", (int)stage + 1, DEMO_STAGES, text);
}

static void conclude(Demo *demo, demoStage stage, double start, const char *text)
{
    demo->seconds[stage] = td_seconds() - start;
    if (!cli_quiet())
        fprintf(stderr, "      %s (%.1f s)\n", text, demo->seconds[stage]);
}

// ---------------------------------------------------------------- files

// A file as one would type it: from here, where it lies below.
static void shorten(const char *path, char out[PATH_MAX])
{
    char *real = realpath(path, NULL), *here = realpath(".", NULL);
    size_t n = here != NULL ? strlen(here) : 0;
    bool below = real != NULL && n > 1 && strncmp(real, here, n) == 0 && real[n] == '/';
    snprintf(out, PATH_MAX, "%s", below ? real + n + 1 : real != NULL ? real : path);
    free(real);
    free(here);
}

static tdStatus set_paths(Demo *demo, const char *out, const char *scene, const char *path, tdError *error)
{
    char folder[PATH_MAX], found[PATH_MAX];
    demo->out = out;
    if (scene == NULL && !cli_shipped("robots/parallel/coarse.yaml", found, sizeof found))
        return td_fail(error, TD_ERROR_USAGE,
                       "the robot parallel/coarse.yaml was not found next to the program; name one with --scene FILE "
                       "and --path CSV");
    shorten(scene != NULL ? scene : found, demo->scene);
    td_path_folder(folder, sizeof folder, demo->scene);
    if (path != NULL)
        snprintf(demo->path, sizeof demo->path, "%s", path);
    else if (!td_path_join(demo->path, sizeof demo->path, folder, "circle.csv"))
        return td_fail_at(error, TD_ERROR_USAGE, folder, 0, NULL, "the path is too long");
    if (!td_path_join(demo->rom, sizeof demo->rom, out, "robot.h5") ||
        !td_path_join(demo->page, sizeof demo->page, out, "report.html"))
        return td_fail_at(error, TD_ERROR_USAGE, out, 0, NULL, "the path is too long");
    return TD_OK;
}

// ---------------------------------------------------------------- 1: the robot

// "4 cables", "5 cavities and 1 translation"
static void count_actuators(const tdModel *model, char *out, size_t size)
{
    static const char *const kinds[][2] = {{"cable", "cables"},
                                           {"cavity", "air chambers"},
                                           {"force", "forces"},
                                           {"translation", "slides"},
                                           {"rotation", "rotations"}};
    out[0] = '\0';
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    {
        int n = 0;
        for (int a = 0; a < td_model_actuators(model); a++)
            n += strcmp(td_model_actuator(model, a).kind, kinds[k][0]) == 0;
        size_t used = strlen(out);
        if (n > 0)
            snprintf(out + used, size - used, "%s%d %s", used > 0 ? " and " : "", n,
                     n > 1 || k == 1 ? kinds[k][1] : kinds[k][0]);
    }
}

static tdStatus look_at_robot(Demo *demo, tdError *error)
{
    double start = td_seconds();
    tdSettings settings = cli_settings();
    settings.level = TD_LOG_WARNING;
    tdModel *model = NULL;
    tdState *state = NULL;
    char text[200], nodes[32], elements[32];
    announce(DEMO_ROBOT, demo->scene);
    char names[] = "all";
    TD_TRY(td_model_load_edited(demo->scene, &settings, td_control_free_actuators, names, &model, error));
    tdStatus status = td_control_check(model, error);
    if (status == TD_OK)
        status = td_state_create(model, &settings, &state, error);
    const tdSubjectSettings what = {.step = -1, .time = NAN, .marks = true, .supports = true};
    if (status == TD_OK)
        status = td_subject_take(&demo->rest, demo->scene, model, state, &what, error);
    for (int b = 0; b < td_model_bodies(model); b++)
    {
        demo->nodes += td_model_body_nodes(model, b);
        demo->elements += td_model_body_elements(model, b);
    }
    demo->unknowns = td_model_dofs(model);
    demo->time_step = td_model_time_step(model);
    count_actuators(model, demo->actuators, sizeof demo->actuators);
    td_state_free(state);
    td_model_free(model);
    snprintf(text, sizeof text, "%s nodes, %s elements, %s", td_page_count(demo->nodes, nodes),
             td_page_count(demo->elements, elements), demo->actuators);
    if (status == TD_OK)
        conclude(demo, DEMO_ROBOT, start, text);
    return status;
}

// ---------------------------------------------------------------- 2: the reduced model

// Of all but the elements that stand for all there is nothing to see in it.
static tdStatus take_domain(Demo *demo, tdError *error)
{
    tdSettings settings = cli_settings();
    settings.level = TD_LOG_WARNING;
    settings.rom = demo->rom;
    tdModel *model = NULL;
    tdState *state = NULL;
    const tdSubjectSettings what = {.step = -1, .time = NAN, .domain = true};
    TD_TRY(td_model_load(demo->scene, &settings, &model, error));
    tdStatus status = td_state_create(model, &settings, &state, error);
    if (status == TD_OK)
        status = td_subject_take(&demo->domain, demo->scene, model, state, &what, error);
    td_state_free(state);
    td_model_free(model);
    return status;
}

static tdStatus reduce(Demo *demo, tdError *error)
{
    double start = td_seconds();
    char text[200], chosen[32], all[32];
    reduceProgress progress = {0};
    tdReduceTask task = {
        .scene = demo->scene, .out = demo->rom, .settings = cli_settings(), .progress = reduce_show, .user = &progress};
    task.settings.level = TD_LOG_WARNING;
    announce(DEMO_REDUCE, "reducing it: shapes across the ranges of its actuators, their modes, a few elements");
    sigBefore before = sig_catch();
    tdStatus status = td_reduce(&task, &demo->reduced, error);
    sig_release(&before);
    reduce_shown(&progress);
    TD_TRY(status);
    if (demo->reduced.stopped)
        return TD_OK;
    if (demo->reduced.polynomial_bytes > 0)
        return td_fail_at(error, TD_ERROR_INPUT, demo->scene, 0, "reduction",
                          "the demonstration shows hyper-reduced models; remove 'kind: stvk'");
    TD_TRY(take_domain(demo, error));
    snprintf(text, sizeof text, "%" PRId64 " shapes gave %d modes; %s of %s elements represent all",
             demo->reduced.snapshots + demo->reduced.weight_snapshots, demo->reduced.modes,
             td_page_count(demo->reduced.rid_elements, chosen), td_page_count(demo->reduced.elements, all));
    conclude(demo, DEMO_REDUCE, start, text);
    return TD_OK;
}

// ---------------------------------------------------------------- 3: what it costs and gains

static tdStatus compare(Demo *demo, tdError *error)
{
    double start = td_seconds();
    tdComparison *run = &demo->compared;
    char text[200];
    announce(DEMO_COMPARE, "comparing full order, reduced and hyper-reduced on a motion that training never saw");
    run->silent = true; // the report tells what was warned of
    run->settings = cli_settings();
    run->progress = cli_study;
    run->scene = demo->scene;
    TD_TRY(td_compare_add(run, TD_COMPARE_FULL, demo->scene, NULL, error));
    TD_TRY(td_compare_add(run, TD_COMPARE_REDUCED, demo->scene, demo->rom, error));
    TD_TRY(td_compare_add(run, TD_COMPARE_HYPER, demo->scene, demo->rom, error));
    TD_TRY(td_compare_prepare(run, 0, error));
    sigBefore before = sig_catch();
    tdStatus status = td_compare_measure(run, error);
    sig_release(&before);
    TD_TRY(status);
    for (int i = 0; i < run->n; i++)
        if (run->models[i].failure.status != TD_OK)
        {
            *error = run->models[i].failure;
            return error->status;
        }
    demo->hyper = run->n - 1;
    snprintf(text, sizeof text, "hyper-reduced is %.0f times as fast as full order, on one thread",
             run->models[demo->hyper].rate / run->models[0].rate);
    if (!sig_came())
        conclude(demo, DEMO_COMPARE, start, text);
    return TD_OK;
}

// ---------------------------------------------------------------- 4: a path

static tdStatus take_step(void *user, const tdModel *model, tdState *state)
{
    return td_control_step(((Demo *)user)->control, model, state);
}

static tdStatus keep_step(void *user, const tdModel *model, const tdState *state, double seconds, tdError *error)
{
    Demo *demo = user;
    const tdSubjectSettings what = {.step = -1, .time = NAN, .marks = true};
    TD_TRY(td_tracking_add(demo->table, state, seconds, error));
    if (demo->n_poses < DEMO_POSES && td_state_steps(state) == demo->pose_steps[demo->n_poses])
        TD_TRY(td_subject_take(&demo->poses[demo->n_poses++], demo->scene, model, state, &what, error));
    return TD_OK;
}

static tdStatus follow(Demo *demo, tdError *error)
{
    tdSettings settings = cli_settings();
    settings.level = TD_LOG_WARNING;
    settings.rom = demo->rom;
    char names[] = "all", folder[PATH_MAX];
    if (!td_path_join(folder, sizeof folder, demo->out, "path"))
        return td_fail_at(error, TD_ERROR_USAGE, demo->out, 0, NULL, "the path is too long");
    TD_TRY(td_model_load_edited(demo->scene, &settings, td_control_free_actuators, names, &demo->model, error));
    TD_TRY(td_state_create(demo->model, &settings, &demo->state, error));
    tdControlSettings closed = td_default_control(demo->model);
    TD_TRY(td_control_create(demo->model, &closed, &demo->control, error));
    TD_TRY(td_control_load_goals(demo->control, demo->model, demo->path, error));
    TD_TRY(td_tracking_create(demo->model, demo->control, folder, false, &demo->table, error));
    double steps = ceil(td_control_duration(demo->control) / td_model_time_step(demo->model) - 1e-6);
    if (!(steps >= DEMO_POSES && steps <= 1e6))
        return td_fail_at(error, TD_ERROR_INPUT, demo->path, 0, NULL,
                          "the path takes %g steps of the scene; give one of %d to 1e6", steps, DEMO_POSES);
    // The first part of a path leads to where it becomes interesting.
    for (int k = 0; k < DEMO_POSES; k++)
        demo->pose_steps[k] = (int64_t)(steps * (0.25 + 0.75 * k / DEMO_POSES)) + 1;
    const simOptions options = {.what = "following",
                                .until = (int64_t)steps,
                                .out = folder,
                                .every = td_model_frames_every(demo->model),
                                .step = take_step,
                                .stepped = keep_step,
                                .user = demo};
    simResult result;
    TD_TRY(sim_run(demo->model, demo->state, &options, &result, error));
    if (result.end == SIM_FAILED)
    {
        *error = result.error;
        return error->status;
    }
    return td_tracking_finish(demo->table, error);
}

static bool can_replay(const tdModel *model)
{
    for (int a = 0; a < td_model_actuators(model); a++)
        if (strcmp(td_model_actuator(model, a).drive, "gas") == 0)
            return false;
    return true;
}

// What the reduced model found, done by the robot of full order, which knows nothing of the goal.
static tdStatus replay_steps(Demo *demo, const tdModel *model, tdState *state, tdError *error)
{
    const tdTracking *table = demo->table;
    demo->value = td_take(3 * (size_t)table->n, sizeof *demo->value);
    demo->error = td_take((size_t)table->n, sizeof *demo->error);
    if (demo->value == NULL || demo->error == NULL)
        return td_fail_memory(error, "the path");
    for (int64_t i = 0; i < table->n && !sig_came(); i++)
    {
        for (int a = 0; a < table->n_actuators; a++)
        {
            tdActuatorInfo info = td_model_actuator(model, a);
            bool effort = strcmp(info.drive, "effort") == 0;
            int column = effort ? td_tracking_effort_column(table, a) : td_tracking_displacement_column(table, a);
            td_state_set_input(model, state, info.input, td_tracking_at(table, i, column));
        }
        tdStatus status = td_step(model, state);
        if (status == TD_CANCELLED)
            return TD_OK;
        if (status != TD_OK)
        {
            *error = td_state_report(state)->error;
            return error->status;
        }
        double goal[3];
        for (int c = 0; c < 3; c++)
            goal[c] = td_tracking_at(table, i, td_tracking_goal_column(table, 0) + c);
        td_state_effector(model, state, table->effector[0], demo->value + 3 * i);
        demo->error[i] = td_control_error(model, table->effector[0], demo->value + 3 * i, goal);
        demo->mean_error += demo->error[i] / (double)table->n;
        demo->largest_error = fmax(demo->largest_error, demo->error[i]);
        cli_progress("full order", i + 1, table->n);
    }
    return TD_OK;
}

static tdStatus replay(Demo *demo, tdError *error)
{
    tdSettings settings = cli_settings();
    settings.level = TD_LOG_WARNING;
    tdModel *model = NULL;
    tdState *state = NULL;
    if (!can_replay(demo->model))
        return TD_OK;
    TD_TRY(td_model_load(demo->scene, &settings, &model, error));
    tdStatus status = td_state_create(model, &settings, &state, error);
    sigBefore before = sig_catch();
    if (status == TD_OK)
        status = replay_steps(demo, model, state, error);
    sig_release(&before);
    td_state_free(state);
    td_model_free(model);
    return status;
}

static tdStatus control(Demo *demo, tdError *error)
{
    double start = td_seconds(), times[4];
    char text[240];
    announce(DEMO_CONTROL, "following a path by inverse control, then doing the same at full order");
    TD_TRY(follow(demo, error));
    if (!sig_came())
        TD_TRY(replay(demo, error));
    td_tracking_percentiles(demo->table, TD_TRACKING_STEP, times);
    demo->step_ms = 1e3 * times[0];
    if (demo->error != NULL)
        snprintf(text, sizeof text, "%.3g ms a step; the robot of full order is %.2f mm from the path in the mean",
                 demo->step_ms, 1e3 * demo->mean_error);
    else
        snprintf(text, sizeof text, "%.3g ms a step", demo->step_ms);
    if (!sig_came())
        conclude(demo, DEMO_CONTROL, start, text);
    return TD_OK;
}

// ---------------------------------------------------------------- result

bool demo_was_busy(const Demo *demo)
{
    return demo->load > 0.5 * demo->cores;
}

static void print_table(const Demo *demo)
{
    const tdComparison *run = &demo->compared;
    int last = run->n_errors - 1;
    printf("\n%-24s %9s %9s %13s %13s %11s %8s\n", "model", "elements", "unknowns", "mean error", "largest error",
           "steps/s", "times");
    for (int i = 0; i < run->n; i++)
    {
        const tdCompared *m = &run->models[i];
        printf("%-24s %9" PRId64 " %9" PRId64 " %11.2f %% %11.2f %% %11.0f %8.1f\n", m->name, m->elements,
               td_model_dofs(m->model), 100 * m->mean[last], 100 * m->max[last], m->rate,
               m->rate / run->models[0].rate);
    }
    printf("\nErrors of the whole shape, relative to its largest displacement; %s of %" PRId64 " steps.\n",
           run->motion_name, run->steps);
    if (demo->error != NULL)
        printf("Path: the robot of full order stays within %.2f mm of the goal, %.2f mm in the mean.\n",
               1e3 * demo->largest_error, 1e3 * demo->mean_error);
    if (demo_was_busy(demo))
        printf("The machine was busy with other work (load %.1f on %d cores): speeds are too low, ratios uncertain.\n",
               demo->load, demo->cores);
    printf("\nThe report with pictures: %s\nThe reduced model: %s\n", demo->page, demo->rom);
}

static void print_json(const Demo *demo)
{
    static const char *const stages[DEMO_STAGES] = {"robot", "reduce", "compare", "control", "report"};
    static const char *const kinds[] = {"full", "reduced", "hyper_reduced", "scene"};
    const tdComparison *run = &demo->compared;
    int last = run->n_errors - 1;
    double all = 0;
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "scene", demo->scene);
    td_json_string(&json, "report", demo->page);
    td_json_string(&json, "rom", demo->rom);
    td_json_string(&json, "machine", demo->machine);
    td_json_integer(&json, "cores", demo->cores);
    td_json_number(&json, "load", demo->load);
    td_json_integer(&json, "modes", demo->reduced.modes);
    td_json_integer(&json, "elements", demo->reduced.elements);
    td_json_integer(&json, "rid_elements", demo->reduced.rid_elements);
    td_json_open(&json, "models", '[');
    for (int i = 0; i < run->n; i++)
    {
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "kind", kinds[run->models[i].kind]);
        td_json_number(&json, "error_mean", run->models[i].mean[last]);
        td_json_number(&json, "error_max", run->models[i].max[last]);
        td_json_number(&json, "steps_per_s", run->models[i].rate);
        td_json_close(&json, '}');
    }
    td_json_close(&json, ']');
    td_json_number(&json, "control_step_ms", demo->step_ms);
    td_json_number(&json, "path_error_mean", demo->error != NULL ? demo->mean_error : NAN);
    td_json_number(&json, "path_error_max", demo->error != NULL ? demo->largest_error : NAN);
    td_json_open(&json, "seconds", '{');
    for (int i = 0; i < DEMO_STAGES; i++)
    {
        td_json_number(&json, stages[i], demo->seconds[i]);
        all += demo->seconds[i];
    }
    td_json_close(&json, '}');
    td_json_number(&json, "wall_s", all);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// ---------------------------------------------------------------- the command

static void demo_free(Demo *demo)
{
    td_subject_free(&demo->rest);
    td_subject_free(&demo->domain);
    for (int k = 0; k < DEMO_POSES; k++)
        td_subject_free(&demo->poses[k]);
    td_compare_clear(&demo->compared);
    td_tracking_free(demo->table);
    td_control_free(demo->control);
    td_state_free(demo->state);
    td_model_free(demo->model);
    free(demo->value);
    free(demo->error);
    free(demo);
}

static tdStatus report(Demo *demo, tdError *error)
{
    double start = td_seconds();
    announce(DEMO_REPORT, "drawing pictures and writing the report");
    TD_TRY(demo_write_page(demo, error));
    conclude(demo, DEMO_REPORT, start, demo->page);
    return TD_OK;
}

// All stages; an interruption ends between them, or within one in order.
static tdStatus run_stages(Demo *demo, tdError *error)
{
    tdStatus (*const stages[])(Demo *, tdError *) = {look_at_robot, reduce, compare, control, report};
    for (int i = 0; i < DEMO_STAGES && !sig_came(); i++)
        TD_TRY(stages[i](demo, error));
    return TD_OK;
}

// The robot live in a browser, until it is interrupted.
static int show_live(const Demo *demo)
{
    char scene[PATH_MAX], rom[PATH_MAX], option[] = "--rom";
    snprintf(scene, sizeof scene, "%s", demo->scene);
    snprintf(rom, sizeof rom, "%s", demo->rom);
    char *arguments[] = {scene, option, rom};
    printf("\nNow see it move, pull its cables and drag its goal; Ctrl-C ends.\n");
    return cmd_view(3, arguments);
}

int cmd_demo(int argc, char **argv)
{
    const char *out = "out/demo", *scene = NULL, *path = NULL;
    bool no_view = false;
    const cliOption options[] = {
        {"--out", &out, NULL}, {"--scene", &scene, NULL}, {"--path", &path, NULL}, {"--no-view", NULL, &no_view}};
    int code = cli_parse(argc, argv, help, options, 4, NULL, 0, 0);
    if (code >= 0)
        return code;
    if (out[0] == '\0')
        return cli_usage("--out takes a folder, not an empty text");
    if ((scene == NULL) != (path == NULL))
        return cli_usage("--scene FILE and --path CSV belong together: a robot, and a path for its effector");
    tdError error = {0};
    outFolder folder; // of its own: what an earlier demonstration left there is gone on with, or written over
    code = out_take(&folder, out, NULL, true);
    if (code >= 0)
        return code;
    Demo *demo = calloc(1, sizeof *demo);
    if (demo == NULL)
        return td_fail_memory(&error, "the demonstration"), cli_fail(&error);
    td_machine_name(demo->machine, sizeof demo->machine);
    demo->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&demo->load, 1) != 1)
        demo->load = 0;
    if (!cli_quiet())
        fprintf(stderr, "Tendril %s on %s, %d cores: about a minute.\n\n", td_version(), demo->machine, demo->cores);
    tdStatus status = set_paths(demo, out, scene, path, &error);
    if (status == TD_OK)
        status = run_stages(demo, &error);
    if (status != TD_OK)
        code = cli_fail(&error);
    else if (sig_came())
    {
        fputs("tendril: interrupted; the same command resumes the reduced model where it stopped\n", stderr);
        code = 130;
    }
    else
    {
        code = 0;
        if (cli_json())
            print_json(demo);
        else
            print_table(demo);
        if (!no_view && !cli_json() && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
            code = show_live(demo);
    }
    demo_free(demo);
    out_release(&folder);
    return code;
}
