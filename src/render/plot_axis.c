// SPDX-License-Identifier: Apache-2.0
#include "render/plot_axis.h"

#include "render/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double td_axis_place(const tdAxis *a, double v)
{
    double t = ((a->log ? log10(v) : v) - a->lo) / (a->hi - a->lo);
    // Far outside is far enough: the clip hides it.
    return a->p0 + (a->p1 - a->p0) * fmin(fmax(t, -50), 50);
}

tdStatus td_axis_set(tdAxis *a, const char *name, const double given[2], double found[2], bool from_zero, bool tight,
                     tdError *error)
{
    if (isnan(found[0]))
        found[0] = found[1] = 1;
    double lo = found[0], hi = found[1];
    if (!a->log && lo > 0 && (from_zero || lo < 0.35 * hi))
        lo = 0;
    if (!a->log && hi < 0 && from_zero)
        hi = 0;
    if (a->log)
    {
        lo = log10(lo);
        hi = log10(hi);
    }
    if (hi - lo <= 1e-12 * fmax(fabs(lo), fabs(hi)))
    {
        lo -= a->log ? 0.5 : lo != 0 ? 0.5 * fabs(lo) : 1;
        hi += a->log ? 0.5 : hi != 0 ? 0.5 * fabs(hi) : 1;
    }
    double room = (tight ? 0.02 : 0.06) * (hi - lo);
    a->lo = lo == 0 && !a->log ? 0 : lo - room;
    a->hi = hi == 0 && !a->log ? 0 : hi + room;
    if (!isnan(given[0]))
        a->lo = a->log ? log10(given[0]) : given[0];
    if (!isnan(given[1]))
        a->hi = a->log ? log10(given[1]) : given[1];
    if (!isfinite(a->lo) || !isfinite(a->hi) || !isfinite(a->hi - a->lo) || !(a->lo < a->hi))
        return td_fail(error, TD_ERROR_USAGE, "the %s axis cannot be drawn from %s%g to %s%g; the first must be less%s",
                       name, a->log ? "10^" : "", a->lo, a->log ? "10^" : "", a->hi, a->log ? " and both above 0" : "");
    return TD_OK;
}

// Log axis: a mark at 1 to 9 of each decade, labels at decades, or at 1, 2, 5 when there are few.
static int log_ticks(const tdAxis *a, tdTick *ticks)
{
    int n = 0, decades = (int)(floor(a->hi) - ceil(a->lo)) + 1, skip = decades > 10 ? (decades + 7) / 8 : 1;
    for (int d = (int)floor(a->lo); d <= (int)ceil(a->hi); d++)
        for (int m = 1; m < 10 && n < TD_TICKS; m++)
        {
            double at = d + log10(m);
            if (at < a->lo - 1e-9 || at > a->hi + 1e-9 || (m > 1 && skip > 1) || (m == 1 && d % skip != 0))
                continue;
            ticks[n++] = (tdTick){at, m == 1 || (decades < 2 && (m == 2 || m == 5))};
        }
    return n;
}

static int linear_ticks(const tdAxis *a, int wanted, double *step, tdTick *ticks)
{
    int n = 0;
    *step = td_nice_step(a->lo, a->hi, wanted);
    double first = ceil((a->lo - 1e-9 * (a->hi - a->lo)) / *step);
    for (; n < TD_TICKS && (first + n) * *step <= a->hi + 1e-9 * (a->hi - a->lo); n++)
        ticks[n] = (tdTick){(first + n) * *step, true};
    return n;
}

int td_axis_ticks(const tdAxis *a, int wanted, double *step, tdTick *ticks)
{
    *step = 1;
    return a->log ? log_ticks(a, ticks) : linear_ticks(a, wanted, step, ticks);
}

bool td_axis_tick_text(const tdAxis *a, tdTick t, double step, double factor, char *text, size_t size)
{
    if (!a->log)
    {
        td_tick_label(t.at / factor, step / factor, text, size);
        return false;
    }
    int power = (int)lrint(floor(t.at + 1e-9));
    if (a->lo < -3.01 || a->hi > 4.3)
    {
        if (fabs(t.at - power) < 1e-9)
        {
            snprintf(text, size, "%s%d", power < 0 ? "\xE2\x88\x92" : "", abs(power));
            return true;
        }
    }
    snprintf(text, size, "%.6g", pow(10, t.at));
    return false;
}

double td_axis_factor(const tdAxis *a)
{
    double size = fmax(fabs(a->lo), fabs(a->hi));
    return a->log || (size < 1e5 && size >= 1e-2) ? 1 : pow(10, 3 * floor(log10(size) / 3));
}

void td_axis_label(const tdAxis *a, const char *label, char *out, size_t size)
{
    double factor = td_axis_factor(a);
    if (factor == 1)
        snprintf(out, size, "%s", label != NULL ? label : "");
    else
        snprintf(out, size, "%s (\xC3\x97 1e%d)", label != NULL ? label : "", (int)lrint(log10(factor)));
}

// ---------------------------------------------------------------- ranges

static void widen(double range[2], double v)
{
    range[0] = isnan(range[0]) || v < range[0] ? v : range[0];
    range[1] = isnan(range[1]) || v > range[1] ? v : range[1];
}

static tdStatus gather(int s, const char *axis, bool log_axis, int64_t n, const double *v, double range[2],
                       tdError *error)
{
    for (int64_t i = 0; v != NULL && i < n; i++)
    {
        if (isnan(v[i]))
            continue;
        if (isinf(v[i]) || (log_axis && v[i] <= 0))
            return td_fail(error, TD_ERROR_INPUT, "value %lld of series %d is %g, which the %s%s axis cannot show",
                           (long long)i, s, v[i], log_axis ? "logarithmic " : "", axis);
        widen(range, v[i]);
    }
    return TD_OK;
}

tdStatus td_plot_ranges(const tdPlotSettings *s, int n, const tdSeries *series, tdAxis *ax, tdAxis *ay, tdError *error)
{
    bool bars = s->n_categories > 0;
    double x[2] = {NAN, NAN}, y[2] = {NAN, NAN};
    ax->log = s->x_log && !bars;
    ay->log = s->y_log;
    for (int i = 0; i < n; i++)
    {
        const tdSeries *one = &series[i];
        if (one->n < 0 || (one->n > 0 && (one->y == NULL || (one->x == NULL && !bars))))
            return td_fail(error, TD_ERROR_USAGE, "series %d has %lld values but no data", i, (long long)one->n);
        if (bars && one->n != s->n_categories)
            return td_fail(error, TD_ERROR_USAGE, "series %d has %lld bars for %d categories", i, (long long)one->n,
                           s->n_categories);
        if (!bars)
            TD_TRY(gather(i, "x", ax->log, one->n, one->x, x, error));
        TD_TRY(gather(i, "y", ay->log, one->n, one->y, y, error));
        TD_TRY(gather(i, "y", ay->log, one->n, one->low, y, error));
        TD_TRY(gather(i, "y", ay->log, one->n, one->high, y, error));
    }
    if (bars)
    {
        ax->lo = -0.5;
        ax->hi = s->n_categories - 0.5;
    }
    else
        TD_TRY(td_axis_set(ax, "x", s->x_range, x, false, true, error));
    // Bars on a log axis start a little below the least, not at it.
    if (bars && ay->log && !isnan(y[0]))
        y[0] *= 0.5;
    return td_axis_set(ay, "y", s->y_range, y, bars, false, error);
}

// Widens the range of the axis whose unit is longer.
void td_plot_equal_units(const tdPlotSettings *settings, tdAxis *ax, tdAxis *ay)
{
    if (!settings->equal || settings->n_categories > 0 || ax->log || ay->log)
        return;
    double x = fabs(ax->p1 - ax->p0) / (ax->hi - ax->lo), y = fabs(ay->p1 - ay->p0) / (ay->hi - ay->lo);
    tdAxis *axis = x > y ? ax : ay;
    double more = 0.5 * (axis->hi - axis->lo) * (fmax(x, y) / fmin(x, y) - 1);
    axis->lo -= more;
    axis->hi += more;
}
