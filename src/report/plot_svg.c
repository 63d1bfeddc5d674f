// SPDX-License-Identifier: Apache-2.0
// The plots of render/plot.h as vector graphics for a page: axes and ticks are the same, colours are classes of the
// page's style, the legend is a list above the plot, so that it hides nothing.
#include "base/memory.h"
#include "render/plot_axis.h"
#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 12.5 // height of a line of text [points]

typedef struct Svg
{
    const tdPlotSettings *settings;
    int n;
    const tdSeries *series;
    tdAxis x, y;
    tdText *out;
} Svg;

tdPlotSettings td_default_page_plot(void)
{
    tdPlotSettings settings = td_default_plot();
    settings.width = 560;
    settings.height = 320;
    return settings;
}

static void put(const Svg *s, const char *text)
{
    td_text_append(s->out, text, strlen(text));
}

static bool is_bars(const Svg *s)
{
    return s->settings->n_categories > 0;
}

static int colour_of(const Svg *s, int i)
{
    int colour = s->series[i].colour;
    return colour < 0 ? 0 : (colour > 0 ? colour - 1 : i) % TD_PALETTE + 1;
}

// A guess is enough to leave room for numbers beside an axis: digits of most fonts are about that wide.
static double width_of(const char *text)
{
    double n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return 0.58 * TEXT * n;
}

// ---------------------------------------------------------------- axes

static void put_tick_text(const Svg *s, double x, double y, const char *anchor, const char *text, bool power)
{
    td_text_format(s->out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    if (power)
        td_text_format(s->out, "10<tspan dy=\"-4\" font-size=\"9\">%s</tspan>", text);
    else
        td_page_escape(s->out, text);
    put(s, "</text>\n");
}

static void put_axis(const Svg *s, bool vertical)
{
    const tdAxis *a = vertical ? &s->y : &s->x;
    tdTick ticks[TD_TICKS];
    double step = 1, factor = td_axis_factor(a);
    int wanted = (int)(fabs(a->p1 - a->p0) / (vertical ? 46 : 74)) + 1, n = td_axis_ticks(a, wanted, &step, ticks);
    for (int i = 0; i < n; i++)
    {
        double at = a->p0 + (a->p1 - a->p0) * (ticks[i].at - a->lo) / (a->hi - a->lo);
        char text[48];
        td_text_format(s->out, "<path class=\"grid%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                       ticks[i].labelled ? "" : " faint", vertical ? s->x.p0 : at, vertical ? at : s->y.p0,
                       vertical ? s->x.p1 : at, vertical ? at : s->y.p1);
        if (!ticks[i].labelled)
            continue;
        bool power = td_axis_tick_text(a, ticks[i], step, factor, text, sizeof text);
        if (vertical)
            put_tick_text(s, s->x.p0 - 7, at + 4, "end", text, power);
        else
            put_tick_text(s, at, s->y.p0 + 18, "middle", text, power);
    }
}

static double tick_room(const Svg *s)
{
    tdTick ticks[TD_TICKS];
    double step = 1, widest = 0, factor = td_axis_factor(&s->y);
    int n = td_axis_ticks(&s->y, 6, &step, ticks);
    for (int i = 0; i < n; i++)
    {
        char text[48];
        if (ticks[i].labelled)
        {
            bool power = td_axis_tick_text(&s->y, ticks[i], step, factor, text, sizeof text);
            widest = fmax(widest, width_of(text) + (power ? 14 : 0));
        }
    }
    return widest;
}

static void lay_out(Svg *s)
{
    const tdPlotSettings *given = s->settings;
    s->x.p0 = ceil(12 + tick_room(s) + (given->y_label != NULL ? 20 : 0));
    s->x.p1 = given->width - 14;
    s->y.p0 = given->height - 26 - (given->x_label != NULL ? 20 : 0);
    s->y.p1 = given->title != NULL ? 30 : is_bars(s) ? 20 : 10;
}

static void put_labels(const Svg *s)
{
    char text[200];
    double x = 0.5 * (s->x.p0 + s->x.p1), y = 0.5 * (s->y.p0 + s->y.p1);
    td_text_format(s->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x, s->settings->height - 6);
    td_axis_label(&s->x, s->settings->x_label, text, sizeof text);
    td_page_escape(s->out, text);
    td_text_format(s->out, "</text>\n<text transform=\"translate(13 %.1f) rotate(-90)\" text-anchor=\"middle\">", y);
    td_axis_label(&s->y, s->settings->y_label, text, sizeof text);
    td_page_escape(s->out, text);
    put(s, "</text>\n");
    if (s->settings->title == NULL)
        return;
    td_text_format(s->out, "<text class=\"title\" x=\"%.1f\" y=\"16\" text-anchor=\"middle\">", x);
    td_page_escape(s->out, s->settings->title);
    put(s, "</text>\n");
}

// ---------------------------------------------------------------- curves

static void put_marker(const Svg *s, tdMarker marker, int colour, double x, double y)
{
    double r = marker == TD_MARKER_DOT ? 1.8 : 4, q = 1.25 * r;
    switch (marker)
    {
    case TD_MARKER_SQUARE:
        td_text_format(s->out, "<path class=\"mark c%d\" d=\"M%.1f %.1fh%.1fv%.1fh-%.1fz\"/>", colour, x - r, y - r,
                       2 * r, 2 * r, 2 * r);
        break;
    case TD_MARKER_DIAMOND:
        td_text_format(s->out, "<path class=\"mark c%d\" d=\"M%.1f %.1fl%.1f %.1fl-%.1f %.1fl-%.1f -%.1fz\"/>", colour,
                       x, y - q, q, q, q, q, q, q);
        break;
    case TD_MARKER_TRIANGLE:
        td_text_format(s->out, "<path class=\"mark c%d\" d=\"M%.1f %.1fl%.1f %.1fh-%.1fz\"/>", colour, x, y - q, q,
                       q + 0.85 * r, 2 * q);
        break;
    case TD_MARKER_CIRCLE:
    case TD_MARKER_DOT:
        td_text_format(s->out, "<circle class=\"mark c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", colour, x, y, r);
        break;
    default: break;
    }
}

static void put_spread(const Svg *s, int colour, double x, double low, double high)
{
    double a = td_axis_place(&s->y, low), b = td_axis_place(&s->y, high);
    td_text_format(s->out, "<path class=\"curve c%d\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh8M%.1f %.1fh8\"/>", colour, x, a, b,
                   x - 4, a, x - 4, b);
}

static void put_curve(const Svg *s, int i)
{
    const tdSeries *one = &s->series[i];
    int colour = colour_of(s, i);
    if (one->line != TD_LINE_NONE)
    {
        td_text_format(s->out, "<path class=\"curve c%d%s\" d=\"", colour,
                       one->line == TD_LINE_DASHED ? " dashed" : "");
        bool pen = false;
        for (int64_t k = 0; k < one->n; k++)
        {
            bool gap = isnan(one->x[k]) || isnan(one->y[k]);
            if (!gap)
                td_text_format(s->out, "%c%.1f %.1f", pen ? 'L' : 'M', td_axis_place(&s->x, one->x[k]),
                               td_axis_place(&s->y, one->y[k]));
            pen = !gap;
        }
        put(s, "\"/>\n");
    }
    for (int64_t k = 0; k < one->n; k++)
    {
        if (isnan(one->x[k]) || isnan(one->y[k]))
            continue;
        double x = td_axis_place(&s->x, one->x[k]), y = td_axis_place(&s->y, one->y[k]);
        if (one->low != NULL && one->high != NULL && !isnan(one->low[k]) && !isnan(one->high[k]))
            put_spread(s, colour, x, one->low[k], one->high[k]);
        put_marker(s, one->marker, colour, x, y);
    }
    put(s, "\n");
}

// ---------------------------------------------------------------- bars

static void put_bars(const Svg *s, int i)
{
    const tdSeries *one = &s->series[i];
    double room = (s->x.p1 - s->x.p0) / s->settings->n_categories, width = 0.7 * room / s->n;
    double zero = s->y.log ? s->y.p0 : fmin(fmax(td_axis_place(&s->y, 0), s->y.p1), s->y.p0);
    for (int64_t k = 0; k < one->n; k++)
    {
        if (isnan(one->y[k]))
            continue;
        double left = td_axis_place(&s->x, (double)k) - 0.35 * room + i * width, top = td_axis_place(&s->y, one->y[k]);
        td_text_format(s->out,
                       "<rect class=\"bar c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\"/>\n",
                       s->n == 1 && one->colour == 0 ? (int)(k % TD_PALETTE) + 1 : colour_of(s, i), left + 0.05 * width,
                       fmin(top, zero), 0.9 * width, fabs(zero - top));
        if (one->low != NULL && one->high != NULL && !isnan(one->low[k]) && !isnan(one->high[k]))
            put_spread(s, 0, left + 0.5 * width, one->low[k], one->high[k]);
        if (!s->settings->bar_values)
            continue;
        bool whole = fabs(one->y[k]) >= 100 && fabs(one->y[k]) < 1e6;
        char number[32], text[32];
        snprintf(number, sizeof number, "%.3g", one->y[k]);
        td_text_format(s->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", left + 0.5 * width,
                       one->y[k] < 0 && !s->y.log ? top + 15 : top - 5,
                       whole ? td_page_count((int64_t)llround(one->y[k]), text) : number);
    }
}

static void put_categories(const Svg *s)
{
    for (int k = 0; k < s->settings->n_categories; k++)
    {
        td_text_format(s->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", td_axis_place(&s->x, k),
                       s->y.p0 + 18);
        td_page_escape(s->out, s->settings->categories[k]);
        put(s, "</text>\n");
    }
}

// ---------------------------------------------------------------- all

static void put_legend(const Svg *s)
{
    bool any = false;
    for (int i = 0; i < s->n; i++)
        any = any || s->series[i].name != NULL;
    if (!any)
        return;
    put(s, "<ul class=\"legend\">\n");
    for (int i = 0; i < s->n; i++)
    {
        const tdSeries *one = &s->series[i];
        if (one->name == NULL)
            continue;
        put(s, "<li><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\">");
        if (is_bars(s))
            td_text_format(s->out, "<rect class=\"bar c%d\" x=\"7\" width=\"12\" height=\"12\" rx=\"2\"/>",
                           colour_of(s, i));
        else if (one->line != TD_LINE_NONE)
            td_text_format(s->out, "<path class=\"curve c%d%s\" d=\"M2 6H24\"/>", colour_of(s, i),
                           one->line == TD_LINE_DASHED ? " dashed" : "");
        if (!is_bars(s))
            put_marker(s, one->marker, colour_of(s, i), 13, 6);
        put(s, "</svg>");
        td_page_escape(s->out, one->name);
        put(s, "</li>\n");
    }
    put(s, "</ul>\n");
}

tdStatus td_plot_svg(const tdPlotSettings *settings, int n, const tdSeries *series, const char *label, tdText *out,
                     tdError *error)
{
    Svg s = {.settings = settings, .n = n, .series = series, .out = out};
    if (n < 1)
        return td_fail(error, TD_ERROR_USAGE, "a plot needs at least one series");
    if (settings->width < 100 || settings->height < 80 || settings->n_categories > 4096)
        return td_fail(error, TD_ERROR_USAGE, "a plot of %d x %d points with %d categories cannot be drawn",
                       settings->width, settings->height, settings->n_categories);
    TD_TRY(td_plot_ranges(settings, n, series, &s.x, &s.y, error));
    lay_out(&s);
    td_plot_equal_units(settings, &s.x, &s.y);
    put_legend(&s);
    td_text_format(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", settings->width, settings->height);
    td_page_escape(out, label);
    put(&s, "\">\n");
    if (!is_bars(&s))
        put_axis(&s, false);
    put_axis(&s, true);
    // What lies outside of a range that was given is cut off.
    td_text_format(out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" viewBox=\"%.1f %.1f %.1f %.1f\">\n",
                   s.x.p0 - 5, s.y.p1 - 20, s.x.p1 - s.x.p0 + 10, s.y.p0 - s.y.p1 + 25, s.x.p0 - 5, s.y.p1 - 20,
                   s.x.p1 - s.x.p0 + 10, s.y.p0 - s.y.p1 + 25);
    for (int i = 0; i < n; i++)
    {
        if (is_bars(&s))
            put_bars(&s, i);
        else
            put_curve(&s, i);
    }
    put(&s, "</svg>\n");
    td_text_format(out, "<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", s.x.p0, s.y.p1, s.y.p0, s.x.p1);
    if (is_bars(&s))
        put_categories(&s);
    put_labels(&s);
    put(&s, "</svg>\n");
    return TD_OK;
}

// ---------------------------------------------------------------- a file of its own

#define LEGEND_ROW 18

// Colours by number: not every program that reads SVG knows variables.
static void put_style(tdText *out)
{
    static const char *const colours[TD_PALETTE + 1] = {"#73777d", "#1a66b8", "#d9640f", "#0f8f74", "#bd2b4d",
                                                        "#7a54b3", "#c99200", "#2f9fd0", "#754f33"};
    td_text_format(out, "<style>text{fill:#1c2530;font:12.5px sans-serif}.tick{fill:#5b6775}.title{font-weight:bold}"
                        ".grid{stroke:#dfe4ea}.faint{opacity:.5}.frame{fill:none;stroke:#5b6775}"
                        ".curve{fill:none;stroke-width:2;stroke-linejoin:round}.dashed{stroke-dasharray:6 5}"
                        ".mark{stroke:#fff}");
    for (int i = 0; i <= TD_PALETTE; i++)
        td_text_format(out, ".curve.c%d{stroke:%s}.mark.c%d,.bar.c%d{fill:%s}", i, colours[i], i, i, colours[i]);
    td_text_format(out, "</style>\n");
}

static int named(const tdPanel *panel)
{
    int n = 0;
    for (int i = 0; i < panel->n; i++)
        n += panel->series[i].name != NULL;
    return n;
}

// Names above the plot, one below the other, so that they hide nothing.
static void put_names(const tdPanel *panel, double top, tdText *out)
{
    Svg s = {.settings = &panel->settings, .n = panel->n, .series = panel->series, .out = out};
    double y = top + 4;
    for (int i = 0; i < panel->n; i++)
    {
        const tdSeries *one = &panel->series[i];
        if (one->name == NULL)
            continue;
        y += LEGEND_ROW;
        if (one->line != TD_LINE_NONE)
            td_text_format(out, "<path class=\"curve c%d%s\" d=\"M60 %.1fH84\"/>", colour_of(&s, i),
                           one->line == TD_LINE_DASHED ? " dashed" : "", y - 4);
        put_marker(&s, one->marker, colour_of(&s, i), 72, y - 4);
        td_text_format(out, "<text x=\"92\" y=\"%.1f\">", y);
        td_page_escape(out, one->name);
        put(&s, "</text>\n");
    }
}

// The plot as a page has it, without names.
static tdStatus put_panel(const tdPanel *panel, double top, tdText *out, tdError *error)
{
    const tdPlotSettings *settings = &panel->settings;
    tdSeries *series = td_take((size_t)panel->n + 1, sizeof *series);
    if (series == NULL)
        return td_fail_memory(error, "a plot");
    for (int i = 0; i < panel->n; i++)
    {
        series[i] = panel->series[i];
        series[i].name = NULL;
    }
    td_text_format(out, "<svg y=\"%.1f\" width=\"%d\" height=\"%d\">\n", top, settings->width, settings->height);
    const char *label = settings->title != NULL ? settings->title : settings->y_label != NULL ? settings->y_label : "";
    tdStatus status = td_plot_svg(settings, panel->n, series, label, out, error);
    td_text_format(out, "</svg>\n");
    free(series);
    return status;
}

tdStatus td_plot_svg_write(int n, const tdPanel *panels, const char *path, tdError *error)
{
    tdText out = {0};
    int width = 0, height = 0;
    for (int k = 0; k < n; k++)
    {
        width = panels[k].settings.width > width ? panels[k].settings.width : width;
        height += panels[k].settings.height + LEGEND_ROW * named(&panels[k]) + 8;
    }
    td_text_format(&out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
                   width, height, width, height);
    put_style(&out);
    td_text_format(&out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height);
    tdStatus status = TD_OK;
    double top = 0;
    for (int k = 0; k < n && status == TD_OK; k++)
    {
        put_names(&panels[k], top, &out);
        top += LEGEND_ROW * named(&panels[k]) + 8;
        status = put_panel(&panels[k], top, &out, error);
        top += panels[k].settings.height;
    }
    td_text_format(&out, "</svg>\n");
    if (status == TD_OK)
        status = out.failed ? td_fail_memory(error, path) : td_file_write(path, out.data, (size_t)out.size, error);
    free(out.data);
    return status;
}
