// SPDX-License-Identifier: Apache-2.0
// What a report shows of a comparison: a table of errors and speeds, errors over time, shapes.
#include "study/compare.h"

#include "base/isa.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS     9
#define MOST_SERIES TD_PALETTE
#define CELL        128
#define MOST_STEPS  600 // of a curve

// ---------------------------------------------------------------- table

static void put_percent(char *cell, double value)
{
    if (isnan(value))
        snprintf(cell, CELL, "\xE2\x80\x93");
    else
        snprintf(cell, CELL,
                 value >= 0.1                  ? "%.1f %%"
                 : value >= 1e-4 || value == 0 ? "%.2f %%"
                                               : "%.1e %%",
                 100 * value);
}

static void put_row(const tdComparison *run, const tdCompared *m, char (*cell)[CELL])
{
    int last = run->n_errors - 1, first = 0;
    char number[32];
    snprintf(cell[0], CELL, "%s", m->name);
    snprintf(cell[1], CELL, "%s", td_page_count(m->elements, number));
    snprintf(cell[2], CELL, "%s", td_page_count(td_model_dofs(m->model), number));
    put_percent(cell[3], m->mean[first]);
    put_percent(cell[4], m->max[first]);
    put_percent(cell[5], m->mean[last]);
    put_percent(cell[6], m->max[last]);
    snprintf(cell[7], CELL, "%s", td_page_count((int64_t)llround(m->rate), number));
    snprintf(cell[8], CELL, "%.3g", m->rate / run->models[0].rate);
    if (m->kind != TD_COMPARE_FULL)
        return;
    for (int c = 3; c < 7; c++)
        snprintf(cell[c], CELL, "\xE2\x80\x93"); // it is what the others are measured against
}

static int fastest(const tdComparison *run)
{
    int best = -1;
    for (int i = 1; i < run->n; i++)
        if (run->models[i].rate > 0 && (best < 0 || run->models[i].rate > run->models[best].rate))
            best = i;
    return best;
}

static tdStatus put_table(tdPage *page, const tdComparison *run, tdError *error)
{
    static const char *const head[COLUMNS] = {"model",          "elements",       "unknowns",
                                              "%s: mean error", "at most",        "whole shape: mean error",
                                              "at most",        "steps a second", "times full order"};
    int rows = run->n + 1;
    char(*cell)[CELL] = td_take((size_t)(rows * COLUMNS), sizeof *cell), caption[400];
    const char **cells = td_take((size_t)(rows * COLUMNS), sizeof *cells);
    if (cell == NULL || cells == NULL)
    {
        free(cell);
        free(cells);
        return td_fail_memory(error, "the table");
    }
    for (int c = 0; c < COLUMNS; c++)
        snprintf(cell[c], CELL, "%s", head[c]);
    snprintf(cell[3], CELL, "%.80s: mean error", td_comparison_error_name(run, 0));
    for (int i = 0; i < run->n; i++)
        put_row(run, &run->models[i], cell + (i + 1) * COLUMNS);
    for (int k = 0; k < rows * COLUMNS; k++)
        cells[k] = cell[k];
    snprintf(caption, sizeof caption,
             "%s, %" PRId64
             " steps of %g s. Errors are distances from full order, relative to the largest displacement "
             "there. Speed is of one thread: the median step.",
             run->motion_name, run->steps, run->models[0].model->scheme.h);
    caption[0] = (char)(caption[0] >= 'a' && caption[0] <= 'z' ? caption[0] - 'a' + 'A' : caption[0]);
    td_page_table(page, rows, COLUMNS, cells, "lrrrrrrrr", fastest(run) + 1, caption);
    free(cell);
    free(cells);
    return TD_OK;
}

// ---------------------------------------------------------------- plots

static tdStatus plot_errors(tdPage *page, const tdComparison *run, tdArena *arena, tdError *error)
{
    tdSeries series[MOST_SERIES];
    int n = 0, k = 0; // the first probe: what the table begins with
    int64_t stride = (run->steps + MOST_STEPS - 1) / MOST_STEPS;
    for (int i = 1; i < run->n && n < MOST_SERIES; i++)
    {
        const tdCompared *m = &run->models[i];
        int64_t points = (m->done + stride - 1) / stride;
        if (points == 0 || isnan(m->mean[k]))
            continue;
        double *x = TD_TAKE(arena, double, points), *y = TD_TAKE(arena, double, points);
        if (x == NULL || y == NULL)
            return td_fail_memory(error, "a plot");
        for (int64_t p = 0; p < points; p++)
        {
            x[p] = (double)(p * stride + 1) * run->models[0].model->scheme.h;
            y[p] = 100 * m->error[p * stride * run->n_errors + k] / run->amplitude[k];
        }
        series[n++] = (tdSeries){.name = m->name, .n = points, .x = x, .y = y, .colour = i % TD_PALETTE + 1};
    }
    if (n == 0)
        return TD_OK;
    char caption[300];
    snprintf(caption, sizeof caption, "Error of %.80s along the motion, relative to its largest displacement.",
             td_comparison_error_name(run, k));
    tdPlotSettings settings = td_default_page_plot();
    settings.x_label = "time [s]";
    settings.y_label = "error [%]";
    return td_page_plot(page, &settings, n, series, caption, error);
}

static tdStatus plot_speed(tdPage *page, const tdComparison *run, tdError *error)
{
    static const char *const kinds[] = {"full order", "reduced", "hyper-reduced", "other mesh"};
    const char *names[TD_COMPARE_MODELS];
    double rates[TD_COMPARE_MODELS];
    int n = 0;
    for (int i = 0; i < run->n && n < 6; i++)
        if (run->models[i].rate > 0)
        {
            names[n] = run->n > 4 ? run->models[i].name : kinds[run->models[i].kind];
            rates[n++] = run->models[i].rate;
        }
    if (n == 0)
        return TD_OK;
    tdPlotSettings settings = td_default_page_plot();
    settings.n_categories = n;
    settings.categories = names;
    settings.bar_values = true;
    settings.y_log = true;
    settings.y_label = "steps a second";
    const tdSeries series = {.n = n, .y = rates};
    return td_page_plot(page, &settings, 1, &series, "Speed on one thread. The scale is logarithmic.", error);
}

// ---------------------------------------------------------------- pictures

static tdStatus put_picture(tdPage *page, const tdComparison *run, tdComparePicture which, const char *alt,
                            const char *caption, tdError *error)
{
    tdImage light = {0}, dark = {0};
    tdRenderSettings settings = td_default_render();
    settings.width = 760; // so that letters stay legible in a column of the page
    settings.height = 560;
    settings.supersample = 2;
    tdStatus status = td_compare_draw(run, which, &settings, &light, error);
    settings.background = TD_BACKGROUND_DARK;
    if (status == TD_OK)
        status = td_compare_draw(run, which, &settings, &dark, error);
    if (status == TD_OK)
        status = td_page_picture(page, &light, &dark, alt, caption, error);
    td_image_free(&light);
    td_image_free(&dark);
    return status;
}

tdStatus td_compare_page(tdPage *page, const tdComparison *run, tdError *error)
{
    tdArena arena = {0};
    TD_TRY(put_table(page, run, error));
    td_page_columns(page);
    tdStatus status = plot_errors(page, run, &arena, error);
    if (status == TD_OK)
        status = plot_speed(page, run, error);
    td_arena_free(&arena);
    if (status == TD_OK && td_compare_has_shapes(run))
    {
        status = put_picture(page, run, TD_COMPARE_SHAPES, "Both shapes superposed, almost identical",
                             "Full order and the reduced model superposed at the step where they differ most.", error);
        if (status == TD_OK)
            status = put_picture(page, run, TD_COMPARE_ERROR, "The robot coloured by the distance of its nodes",
                                 "The same step: the distance of each node from its full-order position.", error);
    }
    td_page_columns_end(page);
    return status;
}

tdStatus td_comparison_report(const tdComparison *run, const char *path, tdError *error)
{
    tdPage page = {0};
    char machine[128], lead[600];
    td_machine_name(machine, sizeof machine);
    snprintf(lead, sizeof lead,
             "Models of `%.200s` along one motion: their errors relative to full order, and their speed.", run->scene);
    td_page_begin(&page, "Reduced models against full order", lead);
    td_page_section(&page, "Errors and speed");
    tdStatus status = td_compare_page(&page, run, error);
    for (int i = 0; i < run->n; i++)
        if (run->models[i].failure.status != TD_OK)
            td_page_text(&page,
                         "**%s failed** after %" PRId64 " of %" PRId64 " steps; its errors are over these only: %s",
                         run->models[i].name, run->models[i].done, run->steps, run->models[i].failure.message);
    td_page_note(&page, "Made by tendril %s. Machine: %s.", td_version(), machine);
    if (status == TD_OK)
        status = td_page_write(&page, path, error);
    td_page_free(&page);
    return status;
}
