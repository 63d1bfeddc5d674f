// SPDX-License-Identifier: Apache-2.0
// What `tendril render` draws: still pictures (render.c) and moving ones (render_movie.c).
#pragma once
#include "render/render.h"
#include "study/show.h"

typedef struct RenderOptions
{
    const char *inputs[TD_SHOW_FILES], *names, *step, *time, *opacity, *output, *width, *height, *supersample, *title,
        *background, *movie, *seconds;
    const char *field, *component, *range, *colormap, *unit, *deform;
    const char *azimuth, *elevation, *zoom, *up;
    bool supports, probes, domain, no_marks, flat, edges, features, ghost, parallel, scale_bar, no_axes, no_legend,
        no_shadow;
} RenderOptions;

// RenderOptions that are numbers.
typedef struct RenderNumbers
{
    long step, movie;
    double time, deform, opacity, seconds;
} RenderNumbers;

/// A stage for several files, and the field that colours it.
typedef struct RenderDrawing
{
    tdShow stage;
    double range[2]; ///< of the field that was found, NAN: none
} RenderDrawing;

/// Widens a range by another one; NAN: none.
void render_widen(double range[2], const double more[2]);
/// Colours that the user left open, from the range of the field.
void render_colours(const double found[2], const RenderOptions *o, tdRenderSettings *s);
/// Loads what is meant by step or time and composes it. *named: false after saying what is wrong with --names.
tdStatus render_compose(RenderDrawing *drawing, const RenderOptions *o, int component, const RenderNumbers *numbers,
                        bool *named, tdError *error);
tdStatus render_draw(const tdShow *stage, const RenderOptions *o, tdRenderSettings *s, tdImage *image, tdError *error);
/// Frames of a run as an animated PNG; drawing holds the last one.
tdStatus render_movie(RenderDrawing *drawing, const RenderOptions *o, tdRenderSettings *s, int component,
                      const RenderNumbers *numbers, bool *named, tdError *error);
