// SPDX-License-Identifier: Apache-2.0
// Pictures of meshes without a display: a software rasterizer for documentation and reports.
//
//   nodes --camera--> screen --z-buffer, samples by pixel--> surface, depth, normal
//   surface * occlusion + background * ground shadow --> translucent layers --> legend, title, axes
//
// The same input gives the same bytes, whatever the number of threads: bands of pixel rows are
// independent pieces of work and everything within a band runs in a fixed order. Light is summed
// in linear space; colours in this interface are sRGB from 0 to 1.
#pragma once
#include "base/file.h"
#include "base/status.h"
#include "base/task.h"

#define TD_IMAGE_MAX 8192 // pixels along a side

typedef struct tdImage
{
    int width, height;
    uint8_t *rgb; ///< 3 * width * height, rows from the top; td_image_free()
} tdImage;

tdStatus td_image_create(int width, int height, tdImage *image, tdError *error);
void td_image_free(tdImage *image);
/// PNG in memory (8-bit RGB, no time stamp).
tdStatus td_image_encode_png(const tdImage *image, tdText *out, tdError *error);
tdStatus td_image_write_png(const tdImage *image, const char *path, tdError *error);

/// A moving picture: an animated PNG, which programs that show stills show as its first frame. Zero-initialize.
typedef struct tdMovie
{
    int width, height;
    int n;             ///< frames so far
    uint32_t sequence; ///< of the next chunk
    uint8_t *last;     ///< pixels of the last frame
    tdText head, frames;
} tdMovie;

/// Adds a frame, shown for 1 to 65,535 ms.
tdStatus td_movie_add(tdMovie *movie, const tdImage *image, int milliseconds, tdError *error);
tdStatus td_movie_write(tdMovie *movie, const char *path, tdError *error);
void td_movie_free(tdMovie *movie);

// ---------------------------------------------------------------- colours

typedef enum tdColourMap
{
    TD_COLOURS_LAGOON,  // violet, teal, green, yellow: lightness linear in the value
    TD_COLOURS_EMBER,   // plum, red, orange, cream: lightness linear in the value
    TD_COLOURS_BALANCE, // blue, white, red: for signed values, white at the middle
    TD_COLOURS_GREY,
    TD_COLOURS
} tdColourMap;

const char *td_colour_map_name(tdColourMap map);
/// Colour of t in [0, 1] (clamped). A NaN gives the grey that marks missing values.
void td_colour_map(tdColourMap map, double t, double rgb[3]);
double td_srgb_to_linear(double c);
double td_linear_to_srgb(double c);
/// Step of 1, 2 or 5 times a power of ten that cuts [lo, hi] into about n parts; lo < hi.
double td_nice_step(double lo, double hi, int n);
/// SI prefix ("k", "m", "µ", ...) that suits a quantity of this size, and its factor.
const char *td_si_prefix(double size, double *factor);
/// Least and greatest finite value; false when there is none.
bool td_field_range(int64_t n, const double *field, double range[2]);

// ---------------------------------------------------------------- drawing

/// Where from. The whole of what is drawn fits the picture at zoom 1.
typedef struct tdView
{
    double azimuth;       ///< [deg] of the viewer about the up axis
    double elevation;     ///< [deg] of the viewer above the horizon, -90 to 90
    int up;               ///< axis that points up in the picture: 0, 1 or 2
    double zoom;          ///< 1 = fits
    double field_of_view; ///< [deg]; 0 = parallel projection
    const double *fit;    ///< least and greatest corner (6) of a box that fits the picture; NULL: what is drawn does
} tdView;

/// A surface. Start from td_default_draw(), which is opaque and plain.
typedef struct tdDrawMesh
{
    const double *x; ///< 3 * n_nodes
    int64_t n_nodes;
    const int32_t *tris; ///< 3 * n_tris; either orientation, both sides are lit
    int64_t n_tris;
    const double *field;      ///< by node, or NULL; NaN = missing
    const double *tri_field;  ///< by triangle, or NULL; not together with field
    const uint8_t *edge_mask; ///< bit i: the edge from corner i to i + 1 is an edge of the mesh; NULL = all are
    double colour[3];         ///< sRGB, where there is no field
    double opacity;           ///< 1 = opaque; below, the nearest layer is laid over what is behind it
    bool edges;               ///< draw the mesh's edges
    bool features;            ///< draw sharp edges, borders and the outline
    bool floor; ///< what others stand on: need not fit the picture, and shadows fall on it where it is level
} tdDrawMesh;

tdDrawMesh td_default_draw(void);

typedef enum tdBackground
{
    TD_BACKGROUND_LIGHT, // soft grey gradient
    TD_BACKGROUND_WHITE,
    TD_BACKGROUND_DARK,
    TD_BACKGROUNDS
} tdBackground;

/// A line of the key: what a colour stands for.
typedef struct tdKeyLine
{
    const char *name;
    double colour[3]; ///< sRGB
    double opacity;
} tdKeyLine;

/// Start from td_default_render().
typedef struct tdRenderSettings
{
    int width, height;
    int supersample; ///< samples along a pixel's side, 1 to 4
    tdView view;
    tdBackground background;
    bool ground_shadow; ///< soft shadow on the plane under the lowest point
    bool occlusion;     ///< darken creases and contacts
    double crease;      ///< [deg] an edge sharper than this is drawn and shaded as an edge
    double line_width;  ///< [pixels] of edges
    tdColourMap colours;
    double range[2];                        ///< of the field; NaN = from the data
    bool legend;                            ///< where some mesh has a field
    const char *legend_label, *legend_unit; ///< NULL = none; an SI unit gets a prefix that suits the range
    const char *title;                      ///< NULL = none
    int n_keys;                             ///< lines of the key in the upper left corner
    const tdKeyLine *keys;
    bool triad;             ///< directions of the axes
    const char *scale_unit; ///< draws a scale bar; unit of the coordinates, NULL = no bar
    tdTasks *tasks;         ///< NULL = serial
} tdRenderSettings;

tdRenderSettings td_default_render(void);

/// Draws n meshes into a new image. *image is empty on failure.
tdStatus td_render(const tdRenderSettings *settings, int n, const tdDrawMesh *meshes, tdImage *image, tdError *error);
