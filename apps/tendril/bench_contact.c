// SPDX-License-Identifier: Apache-2.0
// tendril bench contact: the scenes of Table I of Han et al. 2023, from shipped files. The realtime rate is
// simulated time over time spent: of the processor on one thread, as S5 counts it, and of the clock on all cores. A
// constraint is a point of contact, an attachment or a row of a joint or actuator. A step is converged where the convex
// solver met its tolerance.
#include "bench.h"

#include "base/file.h"
#include "base/memory.h"
#include "render/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WARM    2  // steps that are not measured: the first ones allocate
#define WINDOWS 10 // that the spread is of
#define CHANGES 2

typedef struct table
{
    const char *name, *file;
    int settle;                  ///< steps before measuring, in which it comes to rest
    int steps;                   ///< measured; 0: the scene's
    const char *change[CHANGES]; ///< "from|to" in the scene's text
    // S5
    int dofs;
    double step, rate, average;
    int most;
} table;

// Of Table I of Han et al. 2023, on one thread of an Intel Xeon Gold 6226R.
static const table rows[] = {
    {"arch, mu 0.2", "arch_low.yaml", WARM, 0, {NULL}, 225, 0.04, 7.26, 259.5, 357},
    {"arch, mu 1.0", "arch.yaml", WARM, 0, {NULL}, 225, 0.04, 6.29, 320.2, 364},
    {"cylinder press", "cylinder_4.yaml", WARM, 0, {NULL}, 3796, 0.01, 0.06, 248.3, 335},
    {"hand", "grasp.yaml", WARM, 0, {NULL}, 410, 0.01, 1.13, 380.7, 863},
    {"bubble gripper", "bubbles.yaml", WARM, 0, {NULL}, 2043, 0.02, 0.37, 236.5, 464},
    {"chain of 100 links", "chain.yaml", 150, 100, {"count: 10|count: 100"}, 90000, 0.02, 0.020, 3880.2, 5663},
    {"single torus", "torus.yaml", WARM, 50, {NULL}, 28800, 0.02, 0.017, 53.0, 394},
};
#define ROWS (int)(sizeof rows / sizeof rows[0])

// The load of a chain grows with its length. With a stiffness that grows alike, patches do not, and a link has as many
// points in a short chain as in a long one.
#define LINKS(n, k)                                                                                                    \
    {                                                                                                                  \
        .name = #n " links", .file = "chain.yaml", .settle = 150, .steps = 50,                                         \
        .change = {"count: 10|count: " #n, "stiffness: 1e4|stiffness: " #k},                                           \
    }
static const table chains[] = {LINKS(10, 1e3), LINKS(25, 2.5e3), LINKS(50, 5e3), LINKS(100, 1e4)};
#define CELLS "sections: 96, around: 20, circles: 5|sections: "
static const table tori[] = {
    {.name = "30 x 10 x 1",
     .file = "torus.yaml",
     .settle = WARM,
     .steps = 20,
     .change = {CELLS "30, around: 10, circles: 1"}},
    {.name = "48 x 14 x 2",
     .file = "torus.yaml",
     .settle = WARM,
     .steps = 20,
     .change = {CELLS "48, around: 14, circles: 2"}},
    {.name = "64 x 16 x 3",
     .file = "torus.yaml",
     .settle = WARM,
     .steps = 20,
     .change = {CELLS "64, around: 16, circles: 3"}},
    {.name = "80 x 18 x 4",
     .file = "torus.yaml",
     .settle = WARM,
     .steps = 20,
     .change = {CELLS "80, around: 18, circles: 4"}},
    {.name = "96 x 20 x 5", .file = "torus.yaml", .settle = WARM, .steps = 20},
};
#define SIZES 5

typedef struct result
{
    int64_t dofs, steps, converged;
    double h, rate, spent; ///< spent: seconds of processor (one thread) or clock
    spread window;         ///< rates of windows
    double average, active, iterations;
    int most, most_iterations;
    double stage[TD_STAGES]; ///< shares
} result;

// ---------------------------------------------------------------- one scene

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The text with every "from" of a change as its "to". A change that finds nothing is a scene that was rewritten.
static tdStatus change_text(char **text, size_t *length, const char *change, tdError *error)
{
    const char *bar = strchr(change, '|'), *to = bar + 1;
    size_t from = (size_t)(bar - change), size = strlen(to);
    char key[128];
    snprintf(key, sizeof key, "%.*s", (int)from, change);
    char *at = strstr(*text, key);
    if (at == NULL)
        return td_fail(error, TD_ERROR_INPUT,
                       "the scene has no '%s' to change; take the one that came with the program", key);
    char *made = malloc(*length + size + 1);
    if (made == NULL)
        return td_fail_memory(error, "the scene");
    size_t head = (size_t)(at - *text);
    int made_length = snprintf(made, *length + size + 1, "%.*s%s%s", (int)head, *text, to, at + from);
    free(*text);
    *text = made;
    *length = (size_t)made_length;
    return TD_OK;
}

// *out NULL: the scene is not there.
static tdStatus load(const table *t, const tdSettings *settings, tdModel **out, tdError *error)
{
    char name[128], path[4096], folder[4096], *text = NULL;
    size_t length = 0;
    *out = NULL;
    snprintf(name, sizeof name, "scenes/contact/%s", t->file);
    if (!cli_shipped(name, path, sizeof path))
        return TD_OK;
    tdStatus status = td_file_read(path, &text, &length, error);
    for (int i = 0; i < CHANGES && t->change[i] != NULL && status == TD_OK; i++)
        status = change_text(&text, &length, t->change[i], error);
    td_path_folder(folder, sizeof folder, path);
    if (status == TD_OK)
        status = td_model_parse(text, length, path, folder, settings, out, error);
    free(text);
    return status;
}

static void count(const tdReport *report, result *r)
{
    r->steps++;
    r->converged += !report->contact_limit && report->contact_residual <= 1.0000001e-6;
    r->average += report->constraints;
    r->active += report->contacts_active;
    r->iterations += report->contact_iterations;
    r->most = report->constraints > r->most ? report->constraints : r->most;
    r->most_iterations =
        report->contact_iterations > r->most_iterations ? report->contact_iterations : r->most_iterations;
    for (int s = 0; s < TD_STAGES; s++)
        r->stage[s] += report->stage_seconds[s];
}

static tdStatus simulate(const tdModel *model, tdState *state, int settle, int64_t steps, clockid_t clock, result *r)
{
    double rates[WINDOWS], window = 0;
    int64_t done = 0;
    for (int k = 0; k < settle; k++)
        TD_TRY(td_step(model, state));
    for (int w = 0; w < WINDOWS; w++)
    {
        int64_t end = steps * (w + 1) / WINDOWS, first = done;
        window = seconds(clock);
        for (; done < end; done++)
        {
            TD_TRY(td_step(model, state));
            count(td_state_report(state), r);
        }
        window = seconds(clock) - window;
        rates[w] = (double)(end - first) * r->h / window;
        r->spent += window;
    }
    double total = 0;
    for (int s = 0; s < TD_STAGES; s++)
        total += r->stage[s];
    for (int s = 0; s < TD_STAGES; s++)
        r->stage[s] /= total;
    r->rate = (double)steps * r->h / r->spent;
    r->window = bench_spread(rates, WINDOWS);
    r->average /= (double)steps;
    r->active /= (double)steps;
    r->iterations /= (double)steps;
    return TD_OK;
}

// *there false: the scene is not shipped.
static tdStatus measure(const table *t, const tdSettings *given, int threads, result *r, bool *there, tdError *error)
{
    tdSettings settings = *given;
    tdModel *model = NULL;
    tdState *state = NULL;
    settings.threads = threads;
    *r = (result){0};
    TD_TRY(load(t, &settings, &model, error));
    *there = model != NULL;
    if (model == NULL)
        return TD_OK;
    tdStatus status = td_state_create(model, &settings, &state, error);
    if (status == TD_OK)
    {
        int64_t steps = t->steps > 0 ? t->steps : td_model_steps(model) - t->settle;
        r->h = td_model_time_step(model);
        r->dofs = td_model_dofs(model);
        status = simulate(model, state, t->settle, steps < WINDOWS ? WINDOWS : steps,
                          threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, r);
        if (status != TD_OK && error != NULL)
            *error = td_state_report(state)->error;
    }
    td_state_free(state);
    td_model_free(model);
    return status;
}

// ---------------------------------------------------------------- Table I

static void json_result(tdJson *json, const char *key, const result *r)
{
    td_json_open(json, key, '{');
    td_json_integer(json, "dofs", r->dofs);
    td_json_number(json, "time_step", r->h);
    td_json_integer(json, "steps", r->steps);
    td_json_number(json, "rate", r->rate);
    bench_json_spread(json, "rate_of_windows", r->window);
    td_json_number(json, "step_ms", 1e3 * r->spent / (double)r->steps);
    td_json_number(json, "constraints", r->average);
    td_json_integer(json, "most_constraints", r->most);
    td_json_number(json, "points_with_force", r->active);
    td_json_number(json, "iterations", r->iterations);
    td_json_integer(json, "most_iterations", r->most_iterations);
    td_json_number(json, "converged", (double)r->converged / (double)r->steps);
    td_json_open(json, "stages", '{');
    for (int s = 0; s < TD_STAGES; s++)
        td_json_number(json, td_stage_name((tdStage)s), r->stage[s]);
    td_json_close(json, '}');
    td_json_close(json, '}');
}

static void print_stages(const result *r)
{
    double forces = r->stage[TD_STAGE_KINEMATICS] + r->stage[TD_STAGE_FORCES];
    double rest = 1 - forces - r->stage[TD_STAGE_COLLIDE] - r->stage[TD_STAGE_FREE] - r->stage[TD_STAGE_SOLVE];
    printf("%5.0f %5.0f %6.0f %5.0f %5.0f", 100 * r->stage[TD_STAGE_COLLIDE], 100 * forces,
           100 * r->stage[TD_STAGE_FREE], 100 * r->stage[TD_STAGE_SOLVE], 100 * rest);
}

static void print_row(const table *t, const result *one, const result *all)
{
    printf("  %-18s %6lld %5.0f %8.3f (%.3f to %.3f) %7.3f %6.1f %8.3f %7.1f %7.1f %5d %7.1f %6.1f %3d %5.1f ", t->name,
           (long long)one->dofs, 1e3 * one->h, one->rate, one->window.low, one->window.high, t->rate,
           one->rate / t->rate, all->rate, one->average, t->average, one->most, one->active, one->iterations,
           one->most_iterations, 100 * (double)one->converged / (double)one->steps);
    print_stages(one);
    printf("\n");
    fflush(stdout);
}

static tdStatus plot_rates(const char *folder, int n, const char *const *names, const double *ours, const double *s5,
                           tdError *error)
{
    char path[4096];
    tdSeries series[] = {{.name = "Tendril, one thread", .n = n, .y = ours},
                         {.name = "Han et al. 2023", .n = n, .y = s5}};
    tdPlotSettings plot = td_default_plot();
    plot.title = "Contact: simulated time over processor time";
    plot.y_label = "realtime rate";
    plot.y_log = true;
    plot.n_categories = n;
    plot.categories = names;
    plot.bar_values = true;
    tdImage image = {0};
    TD_TRY(td_plot(&plot, 2, series, &image, error));
    td_path_join(path, sizeof path, folder, "contact.png");
    tdStatus status = td_image_write_png(&image, path, error);
    td_image_free(&image);
    return status;
}

static tdStatus bench_table(const tdSettings *settings, const char *folder, const char *only, bool print, tdJson *json,
                            tdError *error)
{
    const char *names[ROWS];
    double ours[ROWS], s5[ROWS];
    int n = 0;
    if (print)
        printf("\nContact: Table I of Han et al. 2023 (realtime rate of one thread by processor time; shares of "
               "time in %%)\n\n"
               "  %-18s %6s %5s %8s %18s %7s %6s %8s %7s %7s %5s %7s %6s %3s %5s %5s %5s %6s %5s %5s\n",
               "", "dofs", "h ms", "rate", "windows", "theirs", "ratio", "all", "constr", "theirs", "most", "bearing",
               "iter", "max", "conv", "geom", "FEM", "factor", "SAP", "rest");
    td_json_open(json, "table", '[');
    for (int i = 0; i < ROWS; i++)
    {
        result one, all;
        bool there = false;
        if (only != NULL && strstr(rows[i].name, only) == NULL)
            continue;
        TD_TRY(measure(&rows[i], settings, 1, &one, &there, error));
        if (!there)
        {
            if (print)
                printf("  %-18s left out: scenes/contact/%s is missing\n", rows[i].name, rows[i].file);
            continue;
        }
        all = one;
        if (settings->threads != 1)
            TD_TRY(measure(&rows[i], settings, 0, &all, &there, error));
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", rows[i].name);
        json_result(json, "one_thread", &one);
        json_result(json, "all_cores", &all);
        td_json_open(json, "s5", '{');
        td_json_integer(json, "dofs", rows[i].dofs);
        td_json_number(json, "time_step", rows[i].step);
        td_json_number(json, "rate", rows[i].rate);
        td_json_number(json, "constraints", rows[i].average);
        td_json_integer(json, "most_constraints", rows[i].most);
        td_json_close(json, '}');
        td_json_number(json, "ratio", one.rate / rows[i].rate);
        td_json_close(json, '}');
        if (print)
            print_row(&rows[i], &one, &all);
        names[n] = rows[i].name;
        ours[n] = one.rate;
        s5[n++] = rows[i].rate;
    }
    td_json_close(json, ']');
    return folder != NULL && n > 0 ? plot_rates(folder, n, names, ours, s5, error) : TD_OK;
}

// ---------------------------------------------------------------- growth

// Slope of log y over log x by least squares.
static double exponent(int n, const double *x, const double *y)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (int i = 0; i < n; i++)
    {
        mx += log(x[i]) / n;
        my += log(y[i]) / n;
    }
    for (int i = 0; i < n; i++)
    {
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
    }
    return xy / xx;
}

static tdStatus plot_growth(const char *folder, const char *file, const char *title, int n, const double *dofs,
                            const double *time, const double *constraints, tdError *error)
{
    char path[4096];
    double linear[SIZES];
    for (int i = 0; i < n; i++)
        linear[i] = time[0] * dofs[i] / dofs[0];
    tdSeries series[] = {{.name = "step, one thread [ms]", .n = n, .x = dofs, .y = time, .marker = TD_MARKER_CIRCLE},
                         {.name = "linear", .n = n, .x = dofs, .y = linear, .line = TD_LINE_DASHED, .colour = -1},
                         {.name = "constraints", .n = n, .x = dofs, .y = constraints, .marker = TD_MARKER_SQUARE}};
    tdPlotSettings plot = td_default_plot();
    plot.title = title;
    plot.x_label = "coordinates";
    plot.y_label = "milliseconds, number";
    plot.x_log = plot.y_log = true;
    tdImage image = {0};
    TD_TRY(td_plot(&plot, 3, series, &image, error));
    td_path_join(path, sizeof path, folder, file);
    tdStatus status = td_image_write_png(&image, path, error);
    td_image_free(&image);
    return status;
}

static tdStatus bench_growth(const tdSettings *settings, const char *folder, const char *name, const char *title, int n,
                             const table *subjects, bool print, tdJson *json, tdError *error)
{
    double dofs[SIZES], time[SIZES], constraints[SIZES];
    if (print)
        printf("\n%s\n\n  %-14s %7s %9s %19s %8s %6s %6s %5s %5s %6s %5s %5s\n", title, "", "dofs", "ms a step",
               "windows", "constr", "most", "iter", "geom", "FEM", "factor", "SAP", "rest");
    td_json_open(json, name, '{');
    td_json_open(json, "sizes", '[');
    for (int i = 0; i < n; i++)
    {
        result r;
        bool there = false;
        TD_TRY(measure(&subjects[i], settings, 1, &r, &there, error));
        if (!there)
            return td_fail(error, TD_ERROR_INPUT, "scenes/contact/%s is not there", subjects[i].file);
        json_result(json, NULL, &r);
        dofs[i] = (double)r.dofs;
        time[i] = 1e3 * r.spent / (double)r.steps;
        constraints[i] = r.average;
        if (!print)
            continue;
        printf("  %-14s %7lld %9.2f (%7.2f to %7.2f) %8.1f %6d %6.1f ", subjects[i].name, (long long)r.dofs, time[i],
               1e3 * r.h / r.window.high, 1e3 * r.h / r.window.low, r.average, r.most, r.iterations);
        print_stages(&r);
        printf("\n");
        fflush(stdout);
    }
    double power = exponent(n, dofs, time);
    td_json_close(json, ']');
    td_json_number(json, "exponent", power);
    td_json_close(json, '}');
    if (print)
        printf("  time of a step grows as dofs^%.2f\n", power);
    char file[64];
    snprintf(file, sizeof file, "contact_%s.png", name);
    return folder != NULL ? plot_growth(folder, file, title, n, dofs, time, constraints, error) : TD_OK;
}

tdStatus bench_contact(const tdSettings *settings, const char *folder, const char *only, bool print, tdJson *json,
                       tdError *error)
{
    td_json_open(json, "contact", '{');
    TD_TRY(bench_table(settings, folder, only, print, json, error));
    if (only == NULL)
    {
        TD_TRY(bench_growth(settings, folder, "chain", "Chain of links against its length",
                            (int)(sizeof chains / sizeof *chains), chains, print, json, error));
        TD_TRY(bench_growth(settings, folder, "torus", "One link against its mesh", (int)(sizeof tori / sizeof *tori),
                            tori, print, json, error));
    }
    td_json_close(json, '}');
    return TD_OK;
}
