// SPDX-License-Identifier: Apache-2.0
// Anti-aliased lines, shapes and text on an image. A shape is first gathered as coverage in a
// mask, so that a polyline that crosses itself or a glyph of several strokes is blended once.
// Pixel coordinates run right and down; pixel (0, 0) covers [0, 1] x [0, 1].
#pragma once
#include "render/render.h"

typedef struct tdCanvas
{
    tdImage *image;
    float *mask;        ///< coverage of the shape being made, zero in between
    int x0, y0, x1, y1; ///< part of the mask that is in use
    int clip[4];        ///< x0, y0, x1, y1: nothing is drawn outside
} tdCanvas;

typedef struct tdInk
{
    double rgb[3]; ///< sRGB
    double alpha;
} tdInk;

tdStatus td_canvas_open(tdImage *image, tdCanvas *canvas, tdError *error);
void td_canvas_close(tdCanvas *canvas);

/// Round-ended polyline through n points x0 y0 x1 y1 ...; a single point gives a disc.
void td_canvas_line(tdCanvas *canvas, int64_t n, const double *xy, double width, tdInk ink);
/// The same cut into dashes of the given length and gap [pixels].
void td_canvas_dashes(tdCanvas *canvas, int64_t n, const double *xy, double width, double dash, double gap, tdInk ink);
void td_canvas_rectangle(tdCanvas *canvas, double x0, double y0, double x1, double y1, tdInk ink);
/// Convex polygon of n corners.
void td_canvas_polygon(tdCanvas *canvas, int n, const double *xy, tdInk ink);

/// How text stands. Zero-initialized: 10-pixel capitals are not set; give a size.
typedef struct tdTextStyle
{
    double size;   ///< [pixels] height of a capital
    double align;  ///< 0 = x is the left end, 0.5 the middle, 1 the right end
    double angle;  ///< [deg] counter-clockwise
    double weight; ///< width of a stroke relative to the normal one; 0 means 1
} tdTextStyle;

/// UTF-8 text with its baseline at (x, y). A character that the font lacks shows as a box.
void td_canvas_text(tdCanvas *canvas, double x, double y, tdTextStyle style, tdInk ink, const char *text);
double td_text_width(double size, const char *text); ///< [pixels]

/// A tick's number with as many decimals as its step needs and a true minus sign.
void td_tick_label(double value, double step, char *out, size_t size);

// ---- used between canvas.c and font.c

/// Adds a round-ended segment to the mask.
void td_canvas_segment(tdCanvas *canvas, double ax, double ay, double bx, double by, double width);
/// Blends what the mask holds and clears it.
void td_canvas_flush(tdCanvas *canvas, tdInk ink);
