// SPDX-License-Identifier: Apache-2.0
#include "render/canvas.h"
#include "render/raster.h"

#include <math.h>
#include <stdio.h>

// All sizes follow the picture's height, so that a thumbnail and a poster look alike.
static double unit_of(const tdRenderSettings *s)
{
    return fmin(s->height / 800.0, s->width / 1000.0);
}

static double capital(const tdRenderSettings *s)
{
    return fmax(13.0 * unit_of(s), 7.0);
}

static bool has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

void td_overlay_area(const tdRenderSettings *s, bool has_field, double area[4])
{
    double margin = 0.07 * fmin(s->width, s->height);
    area[0] = area[1] = margin;
    area[2] = s->width - margin;
    area[3] = s->height - margin;
    if (has_text(s->title))
        area[1] += 2.4 * capital(s);
    if (s->legend && has_field)
        area[2] -= 8.5 * capital(s);
    if (s->scale_unit != NULL || s->triad)
        area[3] -= 1.5 * capital(s);
    // In a very small picture the body comes first, even under the legend.
    area[2] = fmax(area[2], area[0] + 0.4 * s->width);
    area[3] = fmax(area[3], area[1] + 0.3 * s->height);
}

static tdInk text_ink(const tdRenderSettings *s)
{
    return s->background == TD_BACKGROUND_DARK ? (tdInk){{0.90, 0.92, 0.95}, 1} : (tdInk){{0.12, 0.14, 0.18}, 1};
}

static double x_height_shift(double size)
{
    return 0.5 * size; // from the middle of a capital to its baseline
}

// Unit with prefix and factor for values up to `size`; "10^k" where there is no unit to prefix.
static void legend_scale(const char *unit, double size, double *factor, char *text, size_t room)
{
    *factor = 1;
    text[0] = '\0';
    if (has_text(unit))
        snprintf(text, room, "%s%s", td_si_prefix(size, factor), unit);
    else if (size > 0 && (size >= 1e5 || size < 1e-3))
    {
        int power = (int)floor(log10(size));
        *factor = pow(10, power);
        snprintf(text, room, "\xC3\x97 1e%d", power);
    }
}

static void draw_bar(tdCanvas *canvas, const tdRenderSettings *s, double x, double y0, double y1, double width)
{
    for (int y = (int)y0; y < (int)y1; y++)
    {
        tdInk ink = {.alpha = 1};
        td_colour_map(s->colours, (y1 - y - 0.5) / (y1 - y0), ink.rgb);
        td_canvas_rectangle(canvas, x, y, x + width, y + 1, ink);
    }
    double frame[] = {x, y0, x + width, y0, x + width, y1, x, y1, x, y0};
    tdInk ink = text_ink(s);
    ink.alpha = 0.55;
    td_canvas_line(canvas, 5, frame, fmax(unit_of(s), 1), ink);
}

static void draw_legend(tdCanvas *canvas, const tdRenderSettings *s, const double range[2])
{
    double size = capital(s), width = 1.6 * size, x = floor(s->width - 8.0 * size);
    double y0 = floor(0.22 * s->height), y1 = floor(0.80 * s->height), factor = 1;
    char unit[64], label[160], number[48];
    legend_scale(s->legend_unit, fmax(fabs(range[0]), fabs(range[1])), &factor, unit, sizeof unit);
    draw_bar(canvas, s, x, y0, y1, width);

    tdInk ink = text_ink(s);
    double lo = range[0] / factor, hi = range[1] / factor, step = td_nice_step(lo, hi, 6);
    double slack = 1e-6 * (hi - lo);
    for (int i = 0; i < 30; i++)
    {
        double v = (ceil((lo - slack) / step) + i) * step;
        if (v > hi + slack)
            break;
        double y = y1 - (v - lo) / (hi - lo) * (y1 - y0);
        double tick[] = {x + width, y, x + width + 0.45 * size, y};
        td_canvas_line(canvas, 2, tick, fmax(unit_of(s), 1), ink);
        td_tick_label(v, step, number, sizeof number);
        td_canvas_text(canvas, x + width + 0.85 * size, y + x_height_shift(0.9 * size),
                       (tdTextStyle){.size = 0.9 * size}, ink, number);
    }
    if (has_text(unit))
        snprintf(label, sizeof label, "%s [%s]", has_text(s->legend_label) ? s->legend_label : "", unit);
    else
        snprintf(label, sizeof label, "%s", has_text(s->legend_label) ? s->legend_label : "");
    double longest = td_text_width(size, label), room = s->width - 1.2 * size - x;
    tdTextStyle style = {.size = size, .weight = 1.1};
    double at = x;
    if (longest > room)
    {
        style.align = 1; // a long name grows to the left
        at = s->width - 1.2 * size;
    }
    td_canvas_text(canvas, at, y0 - 1.2 * size, style, ink, label);
}

// Arrow from the triad's origin along an axis of the world.
static void draw_axis(tdCanvas *canvas, const tdRenderSettings *s, const tdCamera *camera, int axis, const double o[2],
                      double length)
{
    static const double colours[3][3] = {{0.82, 0.20, 0.20}, {0.20, 0.60, 0.24}, {0.18, 0.36, 0.82}};
    static const char *const names[3] = {"x", "y", "z"};
    double size = 0.85 * capital(s), dx = camera->right[axis], dy = -camera->up[axis];
    double reach = sqrt(dx * dx + dy * dy);
    tdInk ink = {.alpha = 1};
    for (int k = 0; k < 3; k++)
        ink.rgb[k] = s->background == TD_BACKGROUND_DARK ? 0.35 + 0.65 * colours[axis][k] : colours[axis][k];
    if (reach < 0.08) // it points at the viewer
    {
        td_canvas_line(canvas, 1, o, 0.35 * size, ink);
        return;
    }
    double ux = dx / reach, uy = dy / reach, head = fmin(0.62 * size, 0.6 * length * reach);
    double tip[2] = {o[0] + length * dx, o[1] + length * dy};
    double line[] = {o[0], o[1], tip[0] - 0.8 * head * ux, tip[1] - 0.8 * head * uy};
    td_canvas_line(canvas, 2, line, 0.17 * size, ink);
    double triangle[] = {tip[0],
                         tip[1],
                         tip[0] - head * ux - 0.36 * head * uy,
                         tip[1] - head * uy + 0.36 * head * ux,
                         tip[0] - head * ux + 0.36 * head * uy,
                         tip[1] - head * uy - 0.36 * head * ux};
    td_canvas_polygon(canvas, 3, triangle, ink);
    td_canvas_text(canvas, tip[0] + 0.85 * size * ux, tip[1] + 0.85 * size * uy + 0.36 * size,
                   (tdTextStyle){.size = size, .align = 0.5}, ink, names[axis]);
}

static void draw_triad(tdCanvas *canvas, const tdRenderSettings *s, const tdCamera *camera)
{
    double length = 3.4 * capital(s), o[2] = {1.5 * length, s->height - 1.45 * length};
    int order[3] = {0, 1, 2};
    // The axis that points away most is drawn first.
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            if (camera->back[order[j]] > camera->back[order[j + 1]])
            {
                int swap = order[j];
                order[j] = order[j + 1];
                order[j + 1] = swap;
            }
    for (int i = 0; i < 3; i++)
        draw_axis(canvas, s, camera, order[i], o, length);
}

// A length of 1, 2 or 5 times a power of ten, true at the depth of the centre.
static void draw_scale_bar(tdCanvas *canvas, const tdRenderSettings *s, const tdCamera *camera)
{
    double size = capital(s), length = td_nice_step(0, s->width / camera->scale, 7), factor = 1;
    double pixels = length * camera->scale, x = 0.5 * (s->width - pixels), y = s->height - 1.6 * size;
    char label[64] = "";
    if (has_text(s->scale_unit))
    {
        const char *prefix = td_si_prefix(length, &factor);
        snprintf(label, sizeof label, "%g %s%s", length / factor, prefix, s->scale_unit);
    }
    else
        snprintf(label, sizeof label, "%g", length);
    tdInk ink = text_ink(s);
    double bar[] = {x, y, x + pixels, y}, left[] = {x, y - 0.35 * size, x, y + 0.35 * size};
    double right[] = {x + pixels, y - 0.35 * size, x + pixels, y + 0.35 * size}, width = fmax(1.6 * unit_of(s), 1);
    td_canvas_line(canvas, 2, bar, width, ink);
    td_canvas_line(canvas, 2, left, width, ink);
    td_canvas_line(canvas, 2, right, width, ink);
    td_canvas_text(canvas, x + 0.5 * pixels, y - 0.7 * size, (tdTextStyle){.size = 0.9 * size, .align = 0.5}, ink,
                   label);
}

// What colours stand for, one below the other in the upper left corner.
static void draw_keys(tdCanvas *canvas, const tdRenderSettings *s)
{
    double size = capital(s), x = 1.6 * size, y = (has_text(s->title) ? 4.6 : 1.6) * size, side = 1.25 * size;
    for (int i = 0; i < s->n_keys; i++, y += 2.1 * size)
    {
        const tdKeyLine *key = &s->keys[i];
        tdInk ink = {.alpha = fmax(key->opacity, 0.35)}, edge = {.alpha = 0.9};
        for (int k = 0; k < 3; k++)
        {
            ink.rgb[k] = key->colour[k];
            edge.rgb[k] = 0.75 * key->colour[k];
        }
        double frame[] = {x, y, x + side, y, x + side, y + side, x, y + side, x, y};
        td_canvas_rectangle(canvas, x, y, x + side, y + side, ink);
        td_canvas_line(canvas, 5, frame, fmax(unit_of(s), 1), edge);
        td_canvas_text(canvas, x + 1.7 * side, y + 0.5 * side + x_height_shift(0.95 * size),
                       (tdTextStyle){.size = 0.95 * size}, text_ink(s), key->name);
    }
}

tdStatus td_overlay(const tdRenderSettings *s, const tdCamera *camera, bool has_field, const double range[2],
                    tdImage *image, tdError *error)
{
    tdCanvas canvas;
    TD_TRY(td_canvas_open(image, &canvas, error));
    if (s->legend && has_field)
        draw_legend(&canvas, s, range);
    if (has_text(s->title))
    {
        double size = 1.35 * capital(s), wide = td_text_width(size, s->title);
        size *= fmin(1, 0.94 * s->width / fmax(wide, 1));
        td_canvas_text(&canvas, 0.5 * s->width, 1.5 * capital(s) + size,
                       (tdTextStyle){.size = size, .align = 0.5, .weight = 1.15}, text_ink(s), s->title);
    }
    draw_keys(&canvas, s);
    if (s->triad)
        draw_triad(&canvas, s, camera);
    if (s->scale_unit != NULL)
        draw_scale_bar(&canvas, s, camera);
    td_canvas_close(&canvas);
    return TD_OK;
}
