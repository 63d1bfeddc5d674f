// SPDX-License-Identifier: Apache-2.0
#include "render/canvas.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

tdStatus td_canvas_open(tdImage *image, tdCanvas *canvas, tdError *error)
{
    *canvas = (tdCanvas){.image = image, .x0 = image->width, .y0 = image->height};
    canvas->clip[2] = image->width;
    canvas->clip[3] = image->height;
    canvas->mask = td_take((size_t)image->width * (size_t)image->height, sizeof(float));
    return canvas->mask != NULL ? TD_OK : td_fail_memory(error, "the drawing's mask");
}

void td_canvas_close(tdCanvas *canvas)
{
    free(canvas->mask);
    *canvas = (tdCanvas){0};
}

// A NaN gives lo, so that it never reaches a conversion to int.
static double clamp(double v, double lo, double hi)
{
    return v > lo ? (v < hi ? v : hi) : lo;
}

typedef struct Box
{
    int x0, y0, x1, y1;
} Box;

// Pixels that [x0, x1] x [y0, y1] touches, and the part of the mask in use grown by them.
static Box touch(tdCanvas *canvas, double x0, double y0, double x1, double y1)
{
    const int *c = canvas->clip;
    Box box = {(int)clamp(floor(x0), c[0], c[2]), (int)clamp(floor(y0), c[1], c[3]), (int)clamp(ceil(x1), c[0], c[2]),
               (int)clamp(ceil(y1), c[1], c[3])};
    if (box.x0 >= box.x1 || box.y0 >= box.y1)
        return (Box){0};
    canvas->x0 = box.x0 < canvas->x0 ? box.x0 : canvas->x0;
    canvas->y0 = box.y0 < canvas->y0 ? box.y0 : canvas->y0;
    canvas->x1 = box.x1 > canvas->x1 ? box.x1 : canvas->x1;
    canvas->y1 = box.y1 > canvas->y1 ? box.y1 : canvas->y1;
    return box;
}

static void cover(tdCanvas *canvas, int x, int y, double coverage)
{
    float *m = &canvas->mask[(size_t)y * (size_t)canvas->image->width + (size_t)x];
    if ((float)coverage > *m)
        *m = (float)coverage;
}

void td_canvas_segment(tdCanvas *canvas, double ax, double ay, double bx, double by, double width)
{
    double reach = 0.5 * width + 0.5;
    Box box = touch(canvas, fmin(ax, bx) - reach, fmin(ay, by) - reach, fmax(ax, bx) + reach, fmax(ay, by) + reach);
    double dx = bx - ax, dy = by - ay, length2 = dx * dx + dy * dy;
    for (int y = box.y0; y < box.y1; y++)
        for (int x = box.x0; x < box.x1; x++)
        {
            double px = x + 0.5 - ax, py = y + 0.5 - ay;
            double t = length2 > 0 ? clamp((px * dx + py * dy) / length2, 0, 1) : 0;
            double ex = px - t * dx, ey = py - t * dy;
            double coverage = reach - sqrt(ex * ex + ey * ey);
            if (coverage > 0)
                cover(canvas, x, y, clamp(coverage, 0, fmin(1, width)));
        }
}

void td_canvas_flush(tdCanvas *canvas, tdInk ink)
{
    tdImage *image = canvas->image;
    for (int y = canvas->y0; y < canvas->y1; y++)
        for (int x = canvas->x0; x < canvas->x1; x++)
        {
            size_t i = (size_t)y * (size_t)image->width + (size_t)x;
            double a = canvas->mask[i] * ink.alpha;
            canvas->mask[i] = 0;
            for (int k = 0; a > 0 && k < 3; k++)
            {
                double c = image->rgb[3 * i + (size_t)k] * (1 - a) + 255 * ink.rgb[k] * a;
                image->rgb[3 * i + (size_t)k] = (uint8_t)clamp(c + 0.5, 0, 255);
            }
        }
    canvas->x0 = image->width;
    canvas->y0 = image->height;
    canvas->x1 = canvas->y1 = 0;
}

void td_canvas_line(tdCanvas *canvas, int64_t n, const double *xy, double width, tdInk ink)
{
    if (n == 1)
        td_canvas_segment(canvas, xy[0], xy[1], xy[0], xy[1], width);
    for (int64_t i = 0; i + 1 < n; i++)
        td_canvas_segment(canvas, xy[2 * i], xy[2 * i + 1], xy[2 * i + 2], xy[2 * i + 3], width);
    td_canvas_flush(canvas, ink);
}

void td_canvas_dashes(tdCanvas *canvas, int64_t n, const double *xy, double width, double dash, double gap, tdInk ink)
{
    double phase = 0, period = dash + gap;
    for (int64_t i = 0; i + 1 < n; i++)
    {
        const double *a = xy + 2 * i, *b = a + 2;
        double dx = b[0] - a[0], dy = b[1] - a[1], length = sqrt(dx * dx + dy * dy);
        for (double s = -phase; s < length; s += period)
        {
            double from = fmax(s, 0) / length, to = fmin(s + dash, length) / length;
            if (to > from)
                td_canvas_segment(canvas, a[0] + from * dx, a[1] + from * dy, a[0] + to * dx, a[1] + to * dy, width);
        }
        phase = fmod(phase + length, period);
    }
    td_canvas_flush(canvas, ink);
}

void td_canvas_rectangle(tdCanvas *canvas, double x0, double y0, double x1, double y1, tdInk ink)
{
    Box box = touch(canvas, x0, y0, x1, y1);
    for (int y = box.y0; y < box.y1; y++)
        for (int x = box.x0; x < box.x1; x++)
        {
            double w = fmin(x + 1, x1) - fmax(x, x0), h = fmin(y + 1, y1) - fmax(y, y0);
            cover(canvas, x, y, clamp(w, 0, 1) * clamp(h, 0, 1));
        }
    td_canvas_flush(canvas, ink);
}

// Signed area test of a point against all sides of a convex polygon.
static bool inside(int n, const double *xy, double x, double y)
{
    int left = 0, right = 0;
    for (int i = 0; i < n; i++)
    {
        const double *a = xy + 2 * i, *b = xy + 2 * ((i + 1) % n);
        double side = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
        left += side > 0;
        right += side < 0;
    }
    return left == 0 || right == 0;
}

void td_canvas_polygon(tdCanvas *canvas, int n, const double *xy, tdInk ink)
{
    const int s = 5;
    double lo[2] = {xy[0], xy[1]}, hi[2] = {xy[0], xy[1]};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
        {
            lo[k] = fmin(lo[k], xy[2 * i + k]);
            hi[k] = fmax(hi[k], xy[2 * i + k]);
        }
    Box box = touch(canvas, lo[0], lo[1], hi[0], hi[1]);
    for (int y = box.y0; y < box.y1; y++)
        for (int x = box.x0; x < box.x1; x++)
        {
            int count = 0;
            for (int row = 0; row < s; row++)
                for (int column = 0; column < s; column++)
                    count += inside(n, xy, x + (column + 0.5) / s, y + (row + 0.5) / s);
            cover(canvas, x, y, (double)count / (s * s));
        }
    td_canvas_flush(canvas, ink);
}

void td_tick_label(double value, double step, char *out, size_t size)
{
    int places = (int)clamp(-floor(log10(step) + 1e-9), 0, 12);
    bool zero = fabs(value) < 1e-9 * step;
    snprintf(out, size, "%s%.*f", value < 0 && !zero ? "\xE2\x88\x92" : "", places, zero ? 0.0 : fabs(value));
}
