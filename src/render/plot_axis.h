// SPDX-License-Identifier: Apache-2.0
// Inside of the plots: an axis, its range and its ticks.
#pragma once
#include "render/plot.h"

/// Values lo to hi (their logarithms on a log axis) to pixels p0 to p1.
typedef struct tdAxis
{
    bool log;
    double lo, hi, p0, p1;
} tdAxis;

typedef struct tdTick
{
    double at; ///< value (its logarithm on a log axis)
    bool labelled;
} tdTick;

#define TD_TICKS 256

double td_axis_place(const tdAxis *axis, double value); ///< [pixels]
/// Range from the data (found, NaN if there is none) with some room, unless given (NaN = not).
tdStatus td_axis_set(tdAxis *axis, const char *name, const double given[2], double found[2], bool from_zero, bool tight,
                     tdError *error);
/// At most TD_TICKS ticks, about `wanted` on a linear axis. Returns how many.
int td_axis_ticks(const tdAxis *axis, int wanted, double *step, tdTick *ticks);
/// Common factor of a linear axis whose numbers would be long; 1 if none.
double td_axis_factor(const tdAxis *axis);
/// Text of a tick. True: it is the exponent of ten, because the axis goes far from 1.
bool td_axis_tick_text(const tdAxis *axis, tdTick tick, double step, double factor, char *text, size_t size);
/// The axis' label with the factor behind it.
void td_axis_label(const tdAxis *axis, const char *label, char *out, size_t size);

/// Ranges of both axes from the settings and the data. Checks the series.
tdStatus td_plot_ranges(const tdPlotSettings *settings, int n, const tdSeries *series, tdAxis *x, tdAxis *y,
                        tdError *error);
/// Where the settings ask for it, widens the range of the axis whose unit is longer; p0 and p1 are set.
void td_plot_equal_units(const tdPlotSettings *settings, tdAxis *x, tdAxis *y);
