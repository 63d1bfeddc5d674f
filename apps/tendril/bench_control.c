// SPDX-License-Identifier: Apache-2.0
// tendril bench control: robots that follow their paths by inverse control, one thread. Rates of whole control steps,
// where their time goes, the time of the inverse problem, and how far the tip is from its goal.
#include "bench.h"

#include "base/file.h"
#include "base/timer.h"
#include "control/control.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum
{
    MOST_STEPS = 1000
};

typedef struct controlRow
{
    const char *robot, *mesh, *goals;
    bool is_static;
    int steps; // at most; 0: the whole path
} controlRow;

typedef struct controlResult
{
    int64_t nodes, elements;
    int actuators, steps, out_of_reach, bounds;
    double step_s[MOST_STEPS], solve_us[MOST_STEPS]; // of the last run; the inverse problem by linearization
    double stage_s[TD_STAGES], inverse_s, total_s;
    double error; // of the tip [m]
    int newton, factorizations, cg;
} controlResult;

static tdStatus edit_scene(void *context, tdScene *scene, tdError *error)
{
    const controlRow *row = context;
    if (row->is_static)
        scene->settings.method = TD_METHOD_STATIC;
    return td_control_free_actuators((void *)"all", scene, error);
}

static double distance(const double *a, const double *b)
{
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

static tdStatus take_step(const tdModel *model, tdState *state, tdControl *control, int step, controlResult *out)
{
    double start = td_seconds();
    tdStatus status = td_control_step(control, model, state);
    double taken = td_seconds() - start, goal[3], tip[3];
    const tdReport *report = td_state_report(state);
    if (status != TD_OK)
        return status;
    out->step_s[step] = taken;
    out->solve_us[step] = 1e6 * report->inverse_seconds / report->newton_iterations;
    out->total_s += taken;
    out->inverse_s += report->inverse_seconds;
    for (int s = 0; s < TD_STAGES; s++)
        out->stage_s[s] += report->stage_seconds[s];
    out->newton += report->newton_iterations;
    out->factorizations += report->factorizations;
    out->cg += report->cg_iterations;
    out->out_of_reach += report->out_of_reach;
    out->bounds += report->active_bounds;
    td_state_effector(model, state, 0, tip);
    if (td_control_goal(control, 0, td_state_time(state), goal))
        out->error = fmax(out->error, distance(tip, goal));
    out->steps = step + 1;
    return TD_OK;
}

// The path from its start, after a step that makes the first factorization and touches the memory.
static tdStatus follow(const tdModel *model, const char *goals, int most, const tdSettings *settings,
                       controlResult *out, tdError *error)
{
    tdState *state = NULL;
    tdControl *control = NULL;
    tdControlSettings loop = td_default_control(model);
    tdStatus status = td_state_create(model, settings, &state, error);
    if (status == TD_OK)
        status = td_control_create(model, &loop, &control, error);
    if (status == TD_OK)
        status = td_control_load_goals(control, model, goals, error);
    *out = (controlResult){
        .nodes = model->bodies[0].nodes, .elements = model->bodies[0].elements, .actuators = td_model_actuators(model)};
    int steps = status == TD_OK ? (int)fmin(td_control_duration(control) / td_model_time_step(model) + 0.5, 1e6) : 0;
    steps = most > 0 && steps > most + 1 ? most + 1 : steps;
    steps = steps > MOST_STEPS ? MOST_STEPS : steps;
    if (status == TD_OK && (status = td_control_step(control, model, state)) != TD_OK)
        *error = td_state_report(state)->error;
    for (int step = 0; step + 1 < steps && status == TD_OK; step++)
        if ((status = take_step(model, state, control, step, out)) != TD_OK)
            *error = td_state_report(state)->error;
    td_control_free(control);
    td_state_free(state);
    return status;
}

static double percentile(const double *sorted, int n, int percent)
{
    return sorted[(n - 1) * percent / 100];
}

static void put_percentiles(tdJson *json, const char *key, const double *sorted, int n)
{
    td_json_open(json, key, '{');
    td_json_number(json, "p50", percentile(sorted, n, 50));
    td_json_number(json, "p90", percentile(sorted, n, 90));
    td_json_number(json, "p99", percentile(sorted, n, 99));
    td_json_number(json, "max", sorted[n - 1]);
    td_json_close(json, '}');
}

static void put_json(tdJson *json, const controlRow *row, const controlResult *r, spread rate)
{
    td_json_open(json, NULL, '{');
    td_json_string(json, "robot", row->robot);
    td_json_string(json, "mesh", row->mesh);
    td_json_string(json, "method", row->is_static ? "static" : "dynamic");
    td_json_integer(json, "nodes", r->nodes);
    td_json_integer(json, "elements", r->elements);
    td_json_integer(json, "actuators", r->actuators);
    td_json_integer(json, "steps", r->steps);
    bench_json_spread(json, "steps_per_s", rate);
    put_percentiles(json, "step_s", r->step_s, r->steps);
    put_percentiles(json, "inverse_us", r->solve_us, r->steps);
    td_json_number(json, "tip_error_max", r->error);
    td_json_integer(json, "out_of_reach_steps", r->out_of_reach);
    td_json_number(json, "active_bounds", (double)r->bounds / r->steps);
    td_json_number(json, "linearizations", (double)r->newton / r->steps);
    td_json_number(json, "factorizations", (double)r->factorizations / r->steps);
    td_json_number(json, "cg_iterations", (double)r->cg / r->steps);
    td_json_open(json, "stage_s", '{');
    for (int s = 0; s < TD_STAGES; s++)
        td_json_number(json, td_stage_name(s), r->stage_s[s]);
    td_json_number(json, "inverse", r->inverse_s);
    td_json_close(json, '}');
    td_json_close(json, '}');
}

static void print_row(const controlRow *row, const controlResult *r, spread rate, int runs)
{
    printf("  %s %s, %s: %.1f control steps a second (%.1f to %.1f, %d runs of %d); a step %.2f ms, 99 %% below %.2f\n"
           "    inverse problem of %d actuators %.1f us, 99 %% below %.1f; tip at most %.1e m off; %d steps out of "
           "reach\n"
           "    %.2f linearizations, %.2f factorizations, %.1f iterations a step;",
           row->robot, row->mesh, row->is_static ? "static" : "dynamic", rate.median, rate.low, rate.high, runs,
           r->steps, 1e3 * percentile(r->step_s, r->steps, 50), 1e3 * percentile(r->step_s, r->steps, 99), r->actuators,
           percentile(r->solve_us, r->steps, 50), percentile(r->solve_us, r->steps, 99), r->error, r->out_of_reach,
           (double)r->newton / r->steps, (double)r->factorizations / r->steps, (double)r->cg / r->steps);
    for (int s = 0; s < TD_STAGES; s++)
        printf(" %s %.1f %%", td_stage_name(s), 100 * r->stage_s[s] / r->total_s);
    printf("\n");
}

static tdStatus measure(const controlRow *row, const char *folder, const tdSettings *settings, int runs, bool print,
                        tdJson *json, tdError *error)
{
    char path[PATH_MAX], goals[PATH_MAX], file[64];
    td_path_join(goals, sizeof goals, folder, row->goals);
    snprintf(file, sizeof file, "%s/%s.msh", row->robot, row->mesh);
    td_path_join(path, sizeof path, folder, file);
    if (access(path, R_OK) != 0)
    {
        if (print)
            printf("  %s %s: no mesh %s ('make robots' makes it)\n", row->robot, row->mesh, path);
        return TD_OK;
    }
    snprintf(file, sizeof file, "%s/%s.yaml", row->robot, row->mesh);
    td_path_join(path, sizeof path, folder, file);
    tdModel *model = NULL;
    TD_TRY(td_model_load_edited(path, settings, edit_scene, (void *)row, &model, error));
    static controlResult result; // 16 kB
    double rates[BENCH_MOST_RUNS];
    runs = row->steps > 0 ? 1 : runs;
    tdStatus status = TD_OK;
    for (int run = 0; run < runs && status == TD_OK; run++)
    {
        status = follow(model, goals, row->steps, settings, &result, error);
        rates[run] = result.steps / result.total_s;
    }
    td_model_free(model);
    TD_TRY(status);
    if (result.steps < 1)
        return td_fail_at(error, TD_ERROR_INPUT, goals, 0, "", "the goals end before the second step of the scene");
    spread rate = bench_spread(rates, runs);
    bench_spread(result.step_s, result.steps); // sorts
    bench_spread(result.solve_us, result.steps);
    put_json(json, row, &result, rate);
    if (print)
        print_row(row, &result, rate, runs);
    return TD_OK;
}

// ---------------------------------------------------------------- in contact

typedef struct touchRow
{
    const char *scene, *goals, *mesh; // mesh: in the folder of the scene; NULL: as the scene has it
    int steps, touched;               // of the path; from this step on it touches
} touchRow;

static tdStatus change_mesh(void *path, tdScene *scene, tdError *error)
{
    for (int b = 0; b < scene->n_bodies && path != NULL; b++)
        if (scene->bodies[b].mesh != NULL && (scene->bodies[b].mesh = td_arena_copy(&scene->arena, path)) == NULL)
            return td_fail_memory(error, "the name of a mesh");
    return TD_OK;
}

// The whole path, and its part in contact alone; processor time with one thread, the clock's with two.
static tdStatus measure_touch(const touchRow *row, const char *folder, int runs, bool print, tdJson *json,
                              tdError *error)
{
    char path[PATH_MAX], goals[PATH_MAX], mesh[PATH_MAX], own[64] = "";
    tdModel *model = NULL;
    if (row->mesh != NULL)
        snprintf(own, sizeof own, "%.*s/%s", (int)strcspn(row->scene, "/"), row->scene, row->mesh);
    td_path_join(path, sizeof path, folder, row->scene);
    td_path_join(goals, sizeof goals, folder, row->goals);
    td_path_join(mesh, sizeof mesh, folder, own);
    if (row->mesh != NULL && access(mesh, R_OK) != 0)
    {
        if (print)
            printf("  %s: no mesh %s ('make robots' makes it)\n", row->scene, mesh);
        return TD_OK;
    }
    TD_TRY(td_model_load_edited(path, NULL, change_mesh, row->mesh != NULL ? mesh : NULL, &model, error));
    tdStatus status = TD_OK;
    for (int k = 0; k < 4 && status == TD_OK; k++)
    {
        bool touched = k % 2 == 1;
        benchTimes t;
        benchSteps how = {.threads = 1 + k / 2,
                          .settle = touched ? row->touched : 1,
                          .steps = row->steps - (touched ? row->touched : 1),
                          .runs = row->mesh != NULL ? 1 : runs,
                          .goals = goals};
        status = bench_time_steps(model, &how, &t, error);
        if (status != TD_OK)
            break;
        td_json_open(json, NULL, '{');
        td_json_string(json, "scene", row->scene);
        td_json_integer(json, "elements", model->bodies[0].elements);
        td_json_integer(json, "threads", how.threads);
        td_json_bool(json, "touching", touched);
        td_json_number(json, "steps_per_s", t.rate);
        td_json_number(json, "step_p50_s", t.middle);
        td_json_number(json, "step_p99_s", t.late);
        td_json_number(json, "contacts_active", t.points);
        td_json_close(json, '}');
        if (print)
            printf("  %s, %lld elements, %s, %d thread%s: %.1f control steps a second; a step %.2f ms, 99 %% below "
                   "%.2f; %.1f points bear\n",
                   row->scene, (long long)model->bodies[0].elements, touched ? "while it touches" : "the whole path",
                   how.threads, how.threads > 1 ? "s" : "", t.rate, 1e3 * t.middle, 1e3 * t.late, t.points);
    }
    td_model_free(model);
    return status;
}

// The trunk that leans on the rim of a tube, and that bends round the wall of another.
static tdStatus measure_touches(const char *folder, int runs, bool print, tdJson *json, tdError *error)
{
    static const touchRow rows[] = {{"trunk/tube.yaml", "trunk/tube.csv", NULL, 177, 95},
                                    {"trunk/tube.yaml", "trunk/tube.csv", "fine.msh", 177, 95},
                                    {"trunk/bend.yaml", "trunk/bend.csv", NULL, 400, 60},
                                    {"trunk/bend.yaml", "trunk/bend.csv", "fine.msh", 400, 60}};
    if (print)
        printf("  In contact: processor time with one thread, the clock's with two\n");
    td_json_open(json, "control_in_contact", '[');
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        TD_TRY(measure_touch(&rows[i], folder, runs, print, json, error));
    td_json_close(json, ']');
    return TD_OK;
}

tdStatus bench_control(int runs, bool print, tdJson *json, tdError *error)
{
    static const controlRow rows[] = {
        {"parallel", "coarse", "parallel/circle.csv", false, 0}, {"trunk", "coarse", "trunk/path.csv", false, 0},
        {"parallel", "coarse", "parallel/circle.csv", true, 0},  {"trunk", "coarse", "trunk/path.csv", true, 0},
        {"parallel", "fine", "parallel/circle.csv", false, 20},  {"trunk", "fine", "trunk/path.csv", false, 60},
        {"parallel", "fine", "parallel/circle.csv", true, 5},    {"trunk", "fine", "trunk/path.csv", true, 20},
    };
    char folder[PATH_MAX];
    if (!cli_shipped("robots", folder, sizeof folder))
        return td_fail(
            error, TD_ERROR_INPUT,
            "the robots were not found next to the program; run it from the build folder of the source tree, "
            "or install it");
    tdSettings settings = cli_settings();
    settings.threads = 1;
    if (print)
        printf("Control: robots along their paths, inverse control in every step, one thread\n\n");
    td_json_open(json, "control", '[');
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    {
        cli_progress("bench control", (int64_t)i, (int64_t)(sizeof rows / sizeof rows[0]));
        TD_TRY(measure(&rows[i], folder, &settings, runs, print, json, error));
    }
    td_json_close(json, ']');
    TD_TRY(measure_touches(folder, runs, print, json, error));
    if (print)
        printf("\n");
    return TD_OK;
}
