// SPDX-License-Identifier: Apache-2.0
#include "render/plot.h"

#include "base/memory.h"
#include "render/canvas.h"
#include "render/plot_axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tdPlotSettings td_default_plot(void)
{
    return (tdPlotSettings){.width = 1000, .height = 640, .x_range = {NAN, NAN}, .y_range = {NAN, NAN}};
}

typedef struct Plot
{
    const tdPlotSettings *settings;
    int n;
    const tdSeries *series;
    tdCanvas canvas;
    tdAxis x, y;
    double size; // height of a capital
} Plot;

static bool is_bars(const Plot *p)
{
    return p->settings->n_categories > 0;
}

// ---------------------------------------------------------------- colours

static tdInk ink_of(const Plot *p, double light, double dark)
{
    double v = p->settings->dark ? dark : light;
    return (tdInk){{v, v + 0.01, v + 0.03}, 1};
}

static tdInk text_ink(const Plot *p)
{
    return ink_of(p, 0.15, 0.90);
}

static tdInk paper_ink(const Plot *p)
{
    return p->settings->dark ? (tdInk){{0.11, 0.12, 0.14}, 1} : (tdInk){{1, 1, 1}, 1};
}

// Distinct also for colour-blind readers and in print: they differ in lightness as well as in hue.
static const double palette[TD_PALETTE][3] = {{0.10, 0.40, 0.72}, {0.88, 0.42, 0.10}, {0.09, 0.60, 0.49},
                                              {0.74, 0.17, 0.30}, {0.48, 0.33, 0.70}, {0.90, 0.67, 0.08},
                                              {0.29, 0.69, 0.89}, {0.46, 0.31, 0.20}};

static tdInk series_ink(const Plot *p, int i)
{
    int colour = p->series[i].colour;
    if (colour < 0)
        return ink_of(p, 0.45, 0.62);
    const double *c = palette[(colour > 0 ? colour - 1 : i) % TD_PALETTE];
    tdInk ink = {{c[0], c[1], c[2]}, 1};
    for (int k = 0; p->settings->dark && k < 3; k++)
        ink.rgb[k] += 0.25 * (1 - ink.rgb[k]);
    return ink;
}

// ---------------------------------------------------------------- ticks

static void draw_tick_text(Plot *p, double x, double y, double align, const char *text, bool power)
{
    double size = 0.85 * p->size, small = 0.68 * size;
    if (!power)
    {
        td_canvas_text(&p->canvas, x, y, (tdTextStyle){.size = size, .align = align}, text_ink(p), text);
        return;
    }
    double base = td_text_width(size, "10") + 0.3 * size, wide = base + td_text_width(small, text);
    double left = x - align * wide;
    td_canvas_text(&p->canvas, left, y, (tdTextStyle){.size = size}, text_ink(p), "10");
    td_canvas_text(&p->canvas, left + base, y - 0.62 * size, (tdTextStyle){.size = small}, text_ink(p), text);
}

static void draw_grid_line(Plot *p, bool vertical, double at, bool strong)
{
    double xs[] = {at, p->y.p0, at, p->y.p1}, ys[] = {p->x.p0, at, p->x.p1, at};
    tdInk ink = strong ? ink_of(p, 0.86, 0.26) : ink_of(p, 0.93, 0.19);
    td_canvas_line(&p->canvas, 2, vertical ? xs : ys, 1, ink);
}

static void draw_axis_ticks(Plot *p, bool vertical)
{
    const tdAxis *a = vertical ? &p->y : &p->x;
    tdTick ticks[TD_TICKS];
    double step = 1, factor = td_axis_factor(a);
    int wanted = (int)(fabs(a->p1 - a->p0) / (p->size * (vertical ? 4.5 : 8))) + 1;
    int n = td_axis_ticks(a, wanted, &step, ticks);
    for (int i = 0; i < n; i++)
    {
        double at = a->p0 + (a->p1 - a->p0) * (ticks[i].at - a->lo) / (a->hi - a->lo);
        char text[48];
        draw_grid_line(p, !vertical, floor(at) + 0.5, ticks[i].labelled);
        if (!ticks[i].labelled)
            continue;
        bool power = td_axis_tick_text(a, ticks[i], step, factor, text, sizeof text);
        if (vertical)
            draw_tick_text(p, p->x.p0 - 0.7 * p->size, at + 0.42 * p->size, 1, text, power);
        else
            draw_tick_text(p, at, p->y.p0 + 1.75 * p->size, 0.5, text, power);
    }
}

// ---------------------------------------------------------------- frame

static double y_label_room(const Plot *p)
{
    tdTick ticks[TD_TICKS];
    double step = 1, widest = 0, factor = td_axis_factor(&p->y);
    int n = td_axis_ticks(&p->y, 6, &step, ticks);
    for (int i = 0; i < n; i++)
    {
        char text[48];
        if (!ticks[i].labelled)
            continue;
        bool power = td_axis_tick_text(&p->y, ticks[i], step, factor, text, sizeof text);
        widest = fmax(widest, td_text_width(0.85 * p->size, text) * (power ? 0.7 : 1) + (power ? 2.2 * p->size : 0));
    }
    return widest;
}

static void lay_out(Plot *p)
{
    const tdPlotSettings *s = p->settings;
    p->x.p0 = floor(2.0 * p->size + y_label_room(p) + (s->y_label != NULL ? 2.4 * p->size : 0)) + 0.5;
    p->x.p1 = floor(s->width - 2.2 * p->size) + 0.5;
    p->y.p0 = floor(s->height - 3.2 * p->size - (s->x_label != NULL ? 2.4 * p->size : 0)) + 0.5;
    p->y.p1 = floor((s->title != NULL ? 4.6 : 2.0) * p->size + (is_bars(p) ? 2.2 * p->size : 0)) + 0.5;
}

static void draw_labels(Plot *p)
{
    const tdPlotSettings *s = p->settings;
    double middle_x = 0.5 * (p->x.p0 + p->x.p1), middle_y = 0.5 * (p->y.p0 + p->y.p1), size = p->size;
    char text[200];
    td_axis_label(&p->x, s->x_label, text, sizeof text);
    td_canvas_text(&p->canvas, middle_x, s->height - 1.5 * size, (tdTextStyle){.size = size, .align = 0.5}, text_ink(p),
                   text);
    td_axis_label(&p->y, s->y_label, text, sizeof text);
    td_canvas_text(&p->canvas, 2.2 * size, middle_y, (tdTextStyle){.size = size, .align = 0.5, .angle = 90},
                   text_ink(p), text);
    if (s->title == NULL)
        return;
    double big = 1.25 * size;
    big *= fmin(1, 0.94 * s->width / fmax(td_text_width(big, s->title), 1));
    td_canvas_text(&p->canvas, 0.5 * s->width, 1.6 * size + big,
                   (tdTextStyle){.size = big, .align = 0.5, .weight = 1.15}, text_ink(p), s->title);
}

static void draw_frame(Plot *p)
{
    double open[] = {p->x.p0, p->y.p1, p->x.p0, p->y.p0, p->x.p1, p->y.p0};
    td_canvas_line(&p->canvas, 3, open, 1.2, ink_of(p, 0.35, 0.70));
}

static void set_clip(Plot *p, bool on)
{
    int *c = p->canvas.clip;
    double reach = 0.5 * p->size; // so that a marker on the border is whole
    c[0] = on ? (int)(p->x.p0 - reach) : 0;
    c[1] = on ? (int)(p->y.p1 - reach) : 0;
    c[2] = on ? (int)(p->x.p1 + reach) : p->settings->width;
    c[3] = on ? (int)(p->y.p0 + reach) : p->settings->height;
}

// ---------------------------------------------------------------- series

static void draw_marker(Plot *p, tdMarker marker, double x, double y, double r, tdInk ink)
{
    double square[] = {x - r, y - r, x + r, y - r, x + r, y + r, x - r, y + r};
    double q = 1.3 * r, diamond[] = {x, y - q, x + q, y, x, y + q, x - q, y};
    double triangle[] = {x, y - q, x + q, y + 0.85 * r, x - q, y + 0.85 * r};
    double dot[] = {x, y};
    switch (marker)
    {
    case TD_MARKER_CIRCLE: td_canvas_line(&p->canvas, 1, dot, 2.15 * r, ink); break;
    case TD_MARKER_SQUARE: td_canvas_polygon(&p->canvas, 4, square, ink); break;
    case TD_MARKER_DIAMOND: td_canvas_polygon(&p->canvas, 4, diamond, ink); break;
    case TD_MARKER_TRIANGLE: td_canvas_polygon(&p->canvas, 3, triangle, ink); break;
    case TD_MARKER_DOT: td_canvas_line(&p->canvas, 1, dot, 1.1 * r, ink); break;
    default: break;
    }
}

// A marker on a rim in the background's colour, so that it stands off its own line.
static void draw_rimmed_marker(Plot *p, tdMarker marker, double x, double y, tdInk ink)
{
    double r = 0.36 * p->size;
    if (marker != TD_MARKER_DOT)
        draw_marker(p, marker, x, y, r + 1.4, paper_ink(p));
    draw_marker(p, marker, x, y, r, ink);
}

static void draw_spread(Plot *p, double x, double low, double high, double half, tdInk ink)
{
    double a = td_axis_place(&p->y, low), b = td_axis_place(&p->y, high);
    double stem[] = {x, a, x, b}, foot[] = {x - half, a, x + half, a}, head[] = {x - half, b, x + half, b};
    td_canvas_line(&p->canvas, 2, stem, 1.3, ink);
    td_canvas_line(&p->canvas, 2, foot, 1.3, ink);
    td_canvas_line(&p->canvas, 2, head, 1.3, ink);
}

static void stroke(Plot *p, const tdSeries *s, int64_t n, const double *xy, tdInk ink)
{
    double width = 0.19 * p->size;
    if (s->line == TD_LINE_SOLID)
        td_canvas_line(&p->canvas, n, xy, width, ink);
    else if (s->line == TD_LINE_DASHED && n > 1)
        td_canvas_dashes(&p->canvas, n, xy, width, 0.75 * p->size, 0.6 * p->size, ink);
}

static void draw_curve(Plot *p, int i, double *xy)
{
    const tdSeries *s = &p->series[i];
    tdInk ink = series_ink(p, i);
    int64_t from = 0;
    for (int64_t k = 0; k <= s->n; k++)
    {
        bool gap = k == s->n || isnan(s->x[k]) || isnan(s->y[k]);
        if (gap)
        {
            stroke(p, s, k - from, xy + 2 * from, ink);
            from = k + 1;
            continue;
        }
        xy[2 * k] = td_axis_place(&p->x, s->x[k]);
        xy[2 * k + 1] = td_axis_place(&p->y, s->y[k]);
    }
    for (int64_t k = 0; k < s->n; k++)
    {
        if (isnan(s->x[k]) || isnan(s->y[k]))
            continue;
        if (s->low != NULL && s->high != NULL && !isnan(s->low[k]) && !isnan(s->high[k]))
            draw_spread(p, xy[2 * k], s->low[k], s->high[k], 0.35 * p->size, ink);
        if (s->marker != TD_MARKER_NONE)
            draw_rimmed_marker(p, s->marker, xy[2 * k], xy[2 * k + 1], ink);
    }
}

static void draw_bars(Plot *p, int i)
{
    const tdSeries *s = &p->series[i];
    tdInk ink = series_ink(p, i);
    double room = (p->x.p1 - p->x.p0) / p->settings->n_categories, width = 0.74 * room / p->n;
    double zero = p->y.log ? p->y.p0 : td_axis_place(&p->y, 0);
    zero = fmin(fmax(zero, p->y.p1), p->y.p0);
    for (int64_t k = 0; k < s->n; k++)
    {
        if (isnan(s->y[k]))
            continue;
        double left = td_axis_place(&p->x, (double)k) - 0.37 * room + i * width, top = td_axis_place(&p->y, s->y[k]);
        td_canvas_rectangle(&p->canvas, left + 0.04 * width, fmin(top, zero), left + 0.96 * width, fmax(top, zero),
                            ink);
        double end = top;
        if (s->low != NULL && s->high != NULL && !isnan(s->low[k]) && !isnan(s->high[k]))
        {
            draw_spread(p, left + 0.5 * width, s->low[k], s->high[k], fmin(0.35 * p->size, 0.3 * width), text_ink(p));
            end = fmin(top, td_axis_place(&p->y, s->high[k]));
        }
        char text[32];
        bool whole = fabs(s->y[k]) >= 100 && fabs(s->y[k]) < 1e6;
        snprintf(text, sizeof text, whole ? "%.0f" : "%.3g", s->y[k]);
        bool below = s->y[k] < 0 && !p->y.log;
        if (p->settings->bar_values && td_text_width(0.75 * p->size, text) < 1.3 * width)
            td_canvas_text(&p->canvas, left + 0.5 * width, below ? top + 1.3 * p->size : end - 0.5 * p->size,
                           (tdTextStyle){.size = 0.75 * p->size, .align = 0.5}, text_ink(p), text);
    }
}

static void draw_categories(Plot *p)
{
    double room = (p->x.p1 - p->x.p0) / p->settings->n_categories;
    for (int k = 0; k < p->settings->n_categories; k++)
    {
        double size = 0.9 * p->size, wide = td_text_width(size, p->settings->categories[k]);
        size *= fmin(1, 0.95 * room / fmax(wide, 1));
        td_canvas_text(&p->canvas, td_axis_place(&p->x, k), p->y.p0 + 1.9 * p->size,
                       (tdTextStyle){.size = size, .align = 0.5}, text_ink(p), p->settings->categories[k]);
    }
}

// ---------------------------------------------------------------- legend

// How much of the data a box covers: points, and steps along the lines between them.
static int covered(const Plot *p, double x0, double y0, double x1, double y1)
{
    int count = 0;
    for (int i = 0; i < p->n; i++)
        for (int64_t k = 0; k < p->series[i].n; k++)
        {
            const tdSeries *s = &p->series[i];
            if (isnan(s->y[k]) || isnan(s->x[k]))
                continue;
            double x = td_axis_place(&p->x, s->x[k]), y = td_axis_place(&p->y, s->y[k]), u = x, v = y;
            bool joined = k + 1 < s->n && s->line != TD_LINE_NONE && !isnan(s->x[k + 1] + s->y[k + 1]);
            if (joined)
            {
                u = td_axis_place(&p->x, s->x[k + 1]);
                v = td_axis_place(&p->y, s->y[k + 1]);
            }
            for (int t = 0; t < 8; t++)
            {
                double a = x + (u - x) * t / 8, b = y + (v - y) * t / 8;
                count += a >= x0 && a <= x1 && b >= y0 && b <= y1;
            }
        }
    return count;
}

// Of bars: one row above the plot, where no bar can be.
static void draw_bar_legend(Plot *p)
{
    double size = 0.9 * p->size, wide = -2.0 * size;
    for (int i = 0; i < p->n; i++)
        if (p->series[i].name != NULL)
            wide += td_text_width(size, p->series[i].name) + 3.7 * size;
    double x = 0.5 * (p->x.p0 + p->x.p1 - wide), y = p->y.p1 - 1.6 * size;
    for (int i = 0; i < p->n; i++)
    {
        const char *name = p->series[i].name;
        if (name == NULL)
            continue;
        td_canvas_rectangle(&p->canvas, x, y - 0.55 * size, x + 1.1 * size, y + 0.55 * size, series_ink(p, i));
        td_canvas_text(&p->canvas, x + 1.7 * size, y + 0.5 * size, (tdTextStyle){.size = size}, text_ink(p), name);
        x += td_text_width(size, name) + 3.7 * size;
    }
}

// The corner, top right first, where a box of this size hides least.
static void best_corner(const Plot *p, double w, double h, double gap, double *left, double *top)
{
    int best = -1;
    for (int corner = 0; corner < 4; corner++)
    {
        double x = corner % 2 == 0 ? p->x.p1 - w - gap : p->x.p0 + gap;
        double y = corner / 2 == 0 ? p->y.p1 + gap : p->y.p0 - h - gap;
        int cover = covered(p, x - gap, y - gap, x + w + gap, y + h + gap);
        if (best >= 0 && cover >= best)
            continue;
        best = cover;
        *left = x;
        *top = y;
    }
}

static void draw_legend(Plot *p)
{
    int rows = 0;
    double wide = 0, size = 0.9 * p->size, line = 1.9 * size, x0 = 0, y0 = 0;
    for (int i = 0; i < p->n; i++)
        if (p->series[i].name != NULL)
        {
            rows++;
            wide = fmax(wide, td_text_width(size, p->series[i].name));
        }
    if (rows == 0)
        return;
    double w = wide + 4.8 * size, h = rows * line + 0.9 * size;
    best_corner(p, w, h, size, &x0, &y0);
    tdInk paper = paper_ink(p);
    paper.alpha = 0.88;
    td_canvas_rectangle(&p->canvas, x0, y0, x0 + w, y0 + h, paper);
    double box[] = {x0, y0, x0 + w, y0, x0 + w, y0 + h, x0, y0 + h, x0, y0};
    td_canvas_line(&p->canvas, 5, box, 1, ink_of(p, 0.80, 0.35));
    double y = y0 + 0.45 * size + 0.5 * line;
    for (int i = 0; i < p->n; i++)
    {
        if (p->series[i].name == NULL)
            continue;
        tdInk ink = series_ink(p, i);
        double x = x0 + 0.9 * size, mark[] = {x, y, x + 2.3 * size, y};
        stroke(p, &p->series[i], 2, mark, ink);
        draw_rimmed_marker(p, p->series[i].marker, x + 1.15 * size, y, ink);
        td_canvas_text(&p->canvas, x + 3.1 * size, y + 0.5 * size, (tdTextStyle){.size = size}, text_ink(p),
                       p->series[i].name);
        y += line;
    }
}

// ---------------------------------------------------------------- all

static tdStatus draw_all(Plot *p, tdError *error)
{
    int64_t most = 0;
    for (int i = 0; i < p->n; i++)
        most = p->series[i].n > most ? p->series[i].n : most;
    double *xy = td_take((size_t)most, 2 * sizeof(double));
    if (xy == NULL)
        return td_fail_memory(error, "the plot's points");
    td_canvas_rectangle(&p->canvas, 0, 0, p->settings->width, p->settings->height, paper_ink(p));
    lay_out(p);
    td_plot_equal_units(p->settings, &p->x, &p->y);
    if (!is_bars(p))
        draw_axis_ticks(p, false);
    draw_axis_ticks(p, true);
    set_clip(p, true);
    for (int i = 0; i < p->n; i++)
    {
        if (is_bars(p))
            draw_bars(p, i);
        else
            draw_curve(p, i, xy);
    }
    set_clip(p, false);
    draw_frame(p);
    if (is_bars(p))
        draw_categories(p);
    draw_labels(p);
    if (is_bars(p))
        draw_bar_legend(p);
    else
        draw_legend(p);
    free(xy);
    return TD_OK;
}

tdStatus td_plot(const tdPlotSettings *settings, int n, const tdSeries *series, tdImage *image, tdError *error)
{
    *image = (tdImage){0};
    Plot p = {.settings = settings, .n = n, .series = series};
    if (n < 1)
        return td_fail(error, TD_ERROR_USAGE, "a plot needs at least one series");
    if (settings->n_categories > 4096)
        return td_fail(error, TD_ERROR_USAGE, "%d categories are too many to draw", settings->n_categories);
    TD_TRY(td_plot_ranges(settings, n, series, &p.x, &p.y, error));
    TD_TRY(td_image_create(settings->width, settings->height, image, error));
    p.size = fmax(fmin(settings->height / 46.0, settings->width / 72.0), 6);
    tdStatus status = td_canvas_open(image, &p.canvas, error);
    if (status == TD_OK)
        status = draw_all(&p, error);
    td_canvas_close(&p.canvas);
    if (status != TD_OK)
        td_image_free(image);
    return status;
}

tdStatus td_plot_panels(int columns, int n, const tdPanel *panels, const char *path, tdError *error)
{
    tdImage all = {0}, part = {0};
    int width = panels[0].settings.width, height = panels[0].settings.height;
    TD_TRY(td_image_create((n < columns ? n : columns) * width, (n + columns - 1) / columns * height, &all, error));
    memset(all.rgb, panels[0].settings.dark ? 0x1e : 0xff, 3 * (size_t)all.width * (size_t)all.height);
    tdStatus status = TD_OK;
    for (int k = 0; status == TD_OK && k < n; k++)
    {
        tdPlotSettings settings = panels[k].settings;
        settings.width = width;
        settings.height = height;
        status = td_plot(&settings, panels[k].n, panels[k].series, &part, error);
        size_t left = (size_t)(k % columns) * (size_t)width, top = (size_t)(k / columns) * (size_t)height;
        for (size_t row = 0; status == TD_OK && row < (size_t)height; row++)
            memcpy(all.rgb + 3 * ((top + row) * (size_t)all.width + left), part.rgb + 3 * row * (size_t)width,
                   3 * (size_t)width);
        td_image_free(&part);
    }
    if (status == TD_OK)
        status = td_image_write_png(&all, path, error);
    td_image_free(&all);
    return status;
}
