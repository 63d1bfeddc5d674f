// SPDX-License-Identifier: Apache-2.0
// tendril bench robots: steps a second of the shipped robots at full order along their own motion, coarse and fine,
// without contact and on a floor, with one thread, two and all. Settling leaves out the start, in which most robots
// only sag. Inverse control of them is 'bench control', steps of reduced bodies are 'bench reduced'.
#include "bench.h"

#include "base/file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct robotRow
{
    const char *scene, *what;
    int settle, steps;
} robotRow;

static const robotRow rows[] = {
    {"parallel/coarse.yaml", "4 cables by displacement", 55, 100},
    {"parallel/fine.yaml", "4 cables by displacement", 55, 8},
    {"trunk/coarse.yaml", "8 cables and a slide by displacement", 20, 100},
    {"trunk/fine.yaml", "8 cables and a slide by displacement", 20, 10},
    {"finger/coarse.yaml", "3 chambers by pressure", 20, 100},
    {"gripper/coarse.yaml", "chambers by pressure", 10, 30},
    {"multigait/coarse.yaml", "5 chambers by pressure", 20, 60},
    {"multigait/fine.yaml", "5 chambers by pressure", 10, 8},
    {"multigait/crawl.yaml", "5 chambers by pressure, on a floor", 20, 20},
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
static tdStatus measure(const robotRow *row, const char *path, int runs, int cores, bool print, tdJson *json,
                        int64_t *elements, double *median, tdError *error)
{
    tdModel *model = NULL;
    TD_TRY(td_model_load(path, NULL, &model, error));
    *elements = elements_of(model);
    td_json_open(json, NULL, '{');
    td_json_string(json, "scene", row->scene);
    td_json_string(json, "driven", row->what);
    td_json_integer(json, "elements", *elements);
    td_json_integer(json, "dofs", td_model_dofs(model));
    td_json_open(json, "by_threads", '[');
    const int threads[3] = {1, 2, cores};
    tdStatus status = TD_OK;
    for (int k = 0; k < 3 && status == TD_OK; k++)
    {
        if (k > 0 && (threads[k] > cores || threads[k] == threads[k - 1]))
            continue;
        benchSteps how = {.threads = threads[k], .settle = row->settle, .steps = row->steps, .runs = runs};
        benchTimes t;
        status = bench_time_steps(model, &how, &t, error);
        if (status != TD_OK)
            break;
        put_times(json, threads[k], &t);
        *median = k == 0 ? t.middle : *median;
        if (print)
            printf("  %-22s %8lld %8lld %8d %10.1f %9.3f %9.3f %9.3f %7.1f %6.1f\n", k == 0 ? row->scene : "",
                   (long long)*elements, (long long)td_model_dofs(model), threads[k], t.rate, 1e3 * t.middle,
                   1e3 * t.late, 1e3 * t.worst, t.points, t.passes);
    }
    td_json_close(json, ']');
    td_json_close(json, '}');
    td_model_free(model);
    return status;
}

tdStatus bench_robots(int runs, bool print, tdJson *json, tdError *error)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (!cli_shipped("robots", folder, sizeof folder))
        return td_fail(error, TD_ERROR_INPUT,
                       "the robots were not found beside the program; run it from the build folder of the source tree, "
                       "or install it");
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (print)
        printf("Robots at full order along their motion: processor time with one thread, the clock's with more\n\n"
               "  %-22s %8s %8s %8s %10s %9s %9s %9s %7s %6s\n",
               "", "elements", "dofs", "threads", "steps/s", "p50 ms", "p99 ms", "worst ms", "points", "passes");
    td_json_open(json, "robots", '[');
    int64_t elements[ROWS];
    double median[ROWS];
    for (int i = 0; i < ROWS; i++)
    {
        td_path_join(path, sizeof path, folder, rows[i].scene);
        cli_progress("bench robots", i, ROWS);
        TD_TRY(measure(&rows[i], path, runs, cores, print, json, &elements[i], &median[i], error));
        // A fine mesh behind the coarse one of the same robot: how the time of a step grows with the elements.
        if (print && i > 0 && strstr(rows[i].scene, "fine") != NULL)
            printf("  %-22s a step grows like elements^%.2f\n", "",
                   log(median[i] / median[i - 1]) / log((double)elements[i] / (double)elements[i - 1]));
    }
    td_json_close(json, ']');
    if (print)
        printf("\n");
    return TD_OK;
}
