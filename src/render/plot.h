// SPDX-License-Identifier: Apache-2.0
// Line plots, clouds of points and bar charts on an image.
#pragma once
#include "render/render.h"

typedef enum tdMarker
{
    TD_MARKER_NONE,
    TD_MARKER_CIRCLE,
    TD_MARKER_SQUARE,
    TD_MARKER_DIAMOND,
    TD_MARKER_TRIANGLE,
    TD_MARKER_DOT, // small and without a rim, for clouds of points
    TD_MARKERS
} tdMarker;

typedef enum tdLineStyle
{
    TD_LINE_SOLID,
    TD_LINE_DASHED,
    TD_LINE_NONE
} tdLineStyle;

#define TD_PALETTE 8

/// One curve, or one bar in each category. Zero-initialized: a solid line in the next colour.
typedef struct tdSeries
{
    const char *name; ///< in the legend; NULL = not there
    int64_t n;
    const double *x;          ///< unused by bars
    const double *y;          ///< a NaN leaves a gap
    const double *low, *high; ///< ends of a spread about y, or NULL
    int colour;               ///< 1 to TD_PALETTE, -1 = grey, 0 = the next
    tdMarker marker;
    tdLineStyle line;
} tdSeries;

/// Start from td_default_plot().
typedef struct tdPlotSettings
{
    int width, height;
    const char *title, *x_label, *y_label; ///< NULL = none
    bool x_log, y_log;
    double x_range[2], y_range[2]; ///< NaN = from the data
    bool equal;                    ///< a unit is as long on both axes (linear ones): one range is widened
    int n_categories;              ///< more than 0: a bar chart, each series one bar in each
    const char *const *categories;
    bool bar_values; ///< write the value at the end of each bar
    bool dark;       ///< light on dark
} tdPlotSettings;

tdPlotSettings td_default_plot(void);

/// Draws n series into a new image. A value that a logarithmic axis cannot show is an error.
tdStatus td_plot(const tdPlotSettings *settings, int n, const tdSeries *series, tdImage *image, tdError *error);

/// A plot among others.
typedef struct tdPanel
{
    tdPlotSettings settings; ///< all panels of a picture have the size of the first
    int n;
    const tdSeries *series;
} tdPanel;

/// Draws plots in rows of `columns` into one picture and writes it as PNG.
tdStatus td_plot_panels(int columns, int n, const tdPanel *panels, const char *path, tdError *error);
