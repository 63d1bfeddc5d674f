// SPDX-License-Identifier: Apache-2.0
// tendril bench robots: steps a second of the shipped robots at full order along their own motion, coarse and fine,
// without contact and on a floor, and under inverse control along their paths; a reduced arm beside them. With one
// thread, two and all. Settling leaves out the start, in which most robots only sag. How well inverse control does is
// 'bench control', where the time of reduced bodies goes 'bench reduced'.
#include "bench.h"

#include "base/file.h"
#include "control/control.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct robotRow
{
    const char *scene, *what;
    int settle, steps;
    const char *goals; // NULL: along the scene's own motion
    bool by_volume;    // chambers are given volumes in the place of the scene's pressures,
    double margin;     // [m] of contact; 0: as the scene has it,
    const char *mesh;  // in the folder of the scene; NULL: as the scene has it
} robotRow;

static const robotRow rows[] = {
    {"parallel/coarse.yaml", "4 cables by displacement", 55, 100, NULL, false, 0, NULL},
    {"parallel/fine.yaml", "4 cables by displacement", 55, 16, NULL, false, 0, "large-34000.msh"},
    {"parallel/fine.yaml", "4 cables by displacement", 55, 8, NULL, false, 0, NULL},
    {"trunk/coarse.yaml", "8 cables and a slide by displacement", 20, 100, NULL, false, 0, NULL},
    {"trunk/fine.yaml", "8 cables and a slide by displacement", 20, 10, NULL, false, 0, NULL},
    {"finger/coarse.yaml", "3 chambers by pressure", 20, 100, NULL, false, 0, NULL},
    {"gripper/coarse.yaml", "chambers by pressure", 10, 30, NULL, false, 0, NULL},
    {"multigait/coarse.yaml", "5 chambers by pressure", 20, 60, NULL, false, 0, NULL},
    {"multigait/fine.yaml", "5 chambers by pressure", 10, 8, NULL, false, 0, NULL},
    {"multigait/crawl.yaml", "5 chambers by pressure, on a floor", 20, 20, NULL, false, 0, NULL},
    {"multigait/crawl.yaml", "5 chambers by volume, on a floor", 20, 60, NULL, true, 0, NULL},
    {"multigait/crawl.yaml", "the same, margin 0.02 mm", 20, 60, NULL, true, 2e-5, NULL},
    {"multigait/crawl.yaml", "the same, margin 0.1 mm", 20, 60, NULL, true, 1e-4, NULL},
    {"multigait/crawl.yaml", "the same, margin 0.5 mm", 20, 60, NULL, true, 5e-4, NULL},
    {"multigait/crawl.yaml", "the same, margin 1 mm", 20, 60, NULL, true, 1e-3, NULL},
    {"multigait/crawl.yaml", "the same, margin 5 mm", 20, 60, NULL, true, 5e-3, NULL},
    {"multigait/crawl.yaml", "the same, fine mesh", 6, 6, NULL, true, 0, "fine.msh"},
    {"parallel/coarse.yaml", "inverse control of 4 cables", 20, 100, "parallel/circle.csv", false, 0, NULL},
    {"parallel/fine.yaml", "inverse control of 4 cables", 4, 8, "parallel/circle.csv", false, 0, NULL},
    {"trunk/coarse.yaml", "inverse control of 8 cables and a slide", 20, 100, "trunk/path.csv", false, 0, NULL},
    {"trunk/fine.yaml", "inverse control of 8 cables and a slide", 4, 10, "trunk/path.csv", false, 0, NULL},
};
#define ROWS ((int)(sizeof rows / sizeof rows[0]))

static int64_t elements_of(const tdModel *model)
{
    int64_t count = 0;
    for (int b = 0; b < td_model_bodies(model); b++)
        count += td_model_body_elements(model, b);
    return count;
}

static void put_times(tdJson *json, int threads, const benchTimes *t)
{
    td_json_open(json, NULL, '{');
    td_json_integer(json, "threads", threads);
    td_json_number(json, "steps_per_s", t->rate);
    td_json_number(json, "step_p50_s", t->middle);
    td_json_number(json, "step_p99_s", t->late);
    td_json_number(json, "step_worst_s", t->worst);
    td_json_number(json, "contacts_active", t->points);
    td_json_number(json, "contact_iterations", t->passes);
    td_json_close(json, '}');
}

// One robot with each number of threads. median: of a step on one thread.
static tdStatus measure(const benchRobots *bench, const robotRow *row, const tdModel *model, const char *goals,
                        bool print, tdJson *json, int64_t *elements, double *median, tdError *error)
{
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    *elements = elements_of(model);
    td_json_open(json, NULL, '{');
    td_json_string(json, "scene", row->scene);
    td_json_string(json, "driven", row->what);
    td_json_integer(json, "elements", *elements);
    td_json_integer(json, "dofs", td_model_dofs(model));
    td_json_open(json, "by_threads", '[');
    const int threads[3] = {bench->threads > 0 ? bench->threads : 1, 2, cores};
    tdStatus status = TD_OK;
    for (int k = 0; k < (bench->threads > 0 ? 1 : 3) && status == TD_OK; k++)
    {
        if (k > 0 && (threads[k] > cores || threads[k] == threads[k - 1]))
            continue;
        benchSteps how = {
            .threads = threads[k], .settle = row->settle, .steps = row->steps, .runs = bench->runs, .goals = goals};
        benchTimes t;
        status = bench_time_steps(model, &how, &t, error);
        if (status != TD_OK)
            break;
        put_times(json, threads[k], &t);
        *median = k == 0 ? t.middle : *median;
        if (print)
            printf("  %-22s %8lld %8lld %8d %10.1f %9.3f %9.3f %9.3f %7.1f %6.1f  %s\n", k == 0 ? row->scene : "",
                   (long long)*elements, (long long)td_model_dofs(model), threads[k], t.rate, 1e3 * t.middle,
                   1e3 * t.late, 1e3 * t.worst, t.points, t.passes, k == 0 ? row->what : "");
    }
    td_json_close(json, ']');
    td_json_close(json, '}');
    return status;
}

#define VOLUME 1.2e-11 // [m^3/Pa]: a volume that arches the crawling robot as its pressure does, about

/// What a row changes of its scene.
typedef struct rowChange
{
    const robotRow *row;
    const char *mesh; ///< its path
} rowChange;

static tdStatus change_scene(void *context, tdScene *scene, tdError *error)
{
    const robotRow *row = ((const rowChange *)context)->row;
    const char *mesh = ((const rowChange *)context)->mesh;
    scene->contact.margin = row->margin > 0 ? row->margin : scene->contact.margin;
    for (int b = 0; b < scene->n_bodies && row->mesh != NULL; b++)
        if (scene->bodies[b].mesh != NULL && (scene->bodies[b].mesh = td_arena_copy(&scene->arena, mesh)) == NULL)
            return td_fail_memory(error, "the name of a mesh");
    for (int a = 0; a < scene->n_actuators && row->by_volume; a++)
    {
        tdSceneActuator *actuator = &scene->actuators[a];
        actuator->drive = TD_DRIVE_DISPLACEMENT;
        actuator->effort[0] = -INFINITY;
        actuator->effort[1] = INFINITY;
    }
    for (int64_t k = 0; k < (int64_t)scene->motion.n_times * scene->motion.n_names && row->by_volume; k++)
        scene->motion.values[k] *= VOLUME;
    return TD_OK;
}

static tdStatus load(const robotRow *row, const char *path, const char *mesh, tdModel **out, tdError *error)
{
    rowChange change = {row, mesh};
    if (row->goals != NULL)
        return td_model_load_edited(path, NULL, td_control_free_actuators, (void *)"all", out, error);
    return td_model_load_edited(path, NULL, change_scene, &change, out, error);
}

// Of its own mesh, in the folder of the scene.
static void mesh_of(const robotRow *row, const char *folder, char *path, size_t size)
{
    char own[64] = "";
    if (row->mesh != NULL)
        snprintf(own, sizeof own, "%.*s/%s", (int)strcspn(row->scene, "/"), row->scene, row->mesh);
    td_path_join(path, size, folder, own);
}

static tdStatus measure_robot(const benchRobots *how, const robotRow *row, const char *folder, bool print, tdJson *json,
                              int64_t *elements, double *median, tdError *error)
{
    char path[PATH_MAX], goals[PATH_MAX], mesh[PATH_MAX];
    tdModel *model = NULL;
    td_path_join(path, sizeof path, folder, row->scene);
    mesh_of(row, folder, mesh, sizeof mesh);
    td_path_join(goals, sizeof goals, folder, row->goals != NULL ? row->goals : "");
    TD_TRY(load(row, path, mesh, &model, error));
    tdStatus status = measure(how, row, model, row->goals != NULL ? goals : NULL, print, json, elements, median, error);
    td_model_free(model);
    return status;
}

// A reduced arm, which is made here.
static const robotRow arm = {
    "arm, 25 modes", "4 cables by displacement; reduced, 150 elements", 200, 4000, NULL, false, 0, NULL};

static tdStatus measure_reduced(const benchRobots *how, bool print, tdJson *json, tdError *error)
{
    tdSettings settings = cli_settings();
    int64_t elements = 0;
    double median = 0;
    tdModel *model = NULL;
    tdStatus status = bench_arm_model(&settings, 25, 150, &model, error);
    if (status == TD_OK)
        status = measure(how, &arm, model, NULL, print, json, &elements, &median, error);
    td_model_free(model);
    return status;
}

static bool is_asked(const benchRobots *how, const robotRow *row)
{
    return how->only == NULL || strstr(row->scene, how->only) != NULL || strstr(row->what, how->only) != NULL;
}

tdStatus bench_robots(const benchRobots *how, bool print, tdJson *json, tdError *error)
{
    char folder[PATH_MAX];
    if (!cli_shipped("robots", folder, sizeof folder))
        return td_fail(
            error, TD_ERROR_INPUT,
            "the robots were not found next to the program; run it from the build folder of the source tree, "
            "or install it");
    if (print)
        printf("Robots along their motion and under inverse control: processor time with one thread, the clock's with "
               "more; dense product beside it: %.1f Gflop/s\n\n"
               "  %-22s %8s %8s %8s %10s %9s %9s %9s %7s %6s  %s\n",
               1e-9 * how->dense, "", "elements", "dofs", "threads", "steps/s", "p50 ms", "p99 ms", "worst ms",
               "points", "passes", "driven by");
    td_json_number(json, "dense_flops_per_s", how->dense);
    td_json_open(json, "robots", '[');
    int64_t elements[ROWS];
    double median[ROWS];
    for (int i = 0; i < ROWS; i++)
    {
        char mesh[PATH_MAX];
        cli_progress("bench robots", i, ROWS);
        mesh_of(&rows[i], folder, mesh, sizeof mesh);
        elements[i] = 1;
        median[i] = NAN;
        if (!is_asked(how, &rows[i]))
            continue;
        if (rows[i].mesh != NULL && access(mesh, R_OK) != 0)
        {
            if (print)
                printf("  %-22s left out: there is no mesh %s; 'scripts/robots' makes it, 'scripts/robots --tetrahedra "
                       "34000 "
                       "parallel' the one of 34,000\n",
                       rows[i].scene, rows[i].mesh);
            continue;
        }
        TD_TRY(measure_robot(how, &rows[i], folder, print, json, &elements[i], &median[i], error));
        // A fine mesh behind the coarse one of the same robot: how the time of a step grows with the elements.
        int before = i > 0 ? i - 1 : 0;
        while (before > 0 && isnan(median[before]))
            before--;
        if (print && i > 0 && !isnan(median[before]) && strstr(rows[i].scene, "fine") != NULL)
            printf("  %-22s a step grows like elements^%.2f\n", "",
                   log(median[i] / median[before]) / log((double)elements[i] / (double)elements[before]));
    }
    tdStatus status = is_asked(how, &arm) ? measure_reduced(how, print, json, error) : TD_OK;
    td_json_close(json, ']');
    if (print)
        printf("\n");
    return status;
}
