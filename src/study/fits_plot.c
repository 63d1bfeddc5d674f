// SPDX-License-Identifier: Apache-2.0
// Measured points and the curves of the laws that were fitted to them.
#include "study/fits.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#define DRAWN_LAWS 6

// Curves leave the picture where they leave the data by far, so that a bad law does not flatten the rest.
static void fill_panel(const tdFits *s, tdTest test, int n_laws, double *numbers, tdMaterialPanel *panel)
{
    int n = 0;
    double *x = numbers, *y = numbers + s->data.n;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (int i = 0; i < s->data.n; i++)
        if (s->data.test[i] == test)
        {
            x[n] = s->data.x[i];
            y[n++] = s->data.stress[i];
            low = fmin(low, s->data.stress[i]);
            high = fmax(high, s->data.stress[i]);
        }
    double rest = test == TD_TEST_SHEAR ? 0 : 1, margin = 0.12 * fmax(high - low, fmax(fabs(high), fabs(low)));
    low = fmin(low, 0) - margin * (low < 0 ? 1 : 0.2);
    high = fmax(high, 0) + margin;
    panel->series[panel->n++] = (tdSeries){
        .name = "measured", .n = n, .x = x, .y = y, .colour = -1, .marker = TD_MARKER_CIRCLE, .line = TD_LINE_NONE};
    for (int k = 0; k < n_laws; k++)
    {
        tdSpecimen specimen = td_fit_specimen(&s->results[k].fit);
        double *cx = numbers + 2 * (ptrdiff_t)s->data.n + (ptrdiff_t)2 * TD_MATERIAL_CURVE * k,
               *cy = cx + TD_MATERIAL_CURVE;
        td_material_curve(&specimen, test, fmin(s->data.low[test], rest), fmax(s->data.high[test], rest), cx, cy);
        for (int i = 0; i < TD_MATERIAL_CURVE; i++)
            cy[i] = cy[i] >= low && cy[i] <= high ? cy[i] : NAN;
        panel->series[panel->n++] = (tdSeries){
            .name = s->results[k].name, .n = TD_MATERIAL_CURVE, .x = cx, .y = cy, .colour = k % TD_PALETTE + 1};
    }
    panel->x_range[0] = fmin(s->data.low[test], rest);
    panel->x_range[1] = fmax(s->data.high[test], rest);
    panel->y_range[0] = low;
    panel->y_range[1] = high;
}

tdStatus td_fits_plot(const tdFits *s, const char *path, tdError *error)
{
    int n_laws = 0, n_panels = 0;
    while (n_laws < s->n && n_laws < DRAWN_LAWS && s->results[n_laws].status == TD_OK)
        n_laws++;
    size_t each = 2 * (size_t)s->data.n + 2 * (size_t)TD_MATERIAL_CURVE * DRAWN_LAWS;
    double *numbers = td_take(TD_TESTS * each, sizeof *numbers);
    if (numbers == NULL)
        return td_fail_memory(error, "the picture");
    tdSeries series[TD_TESTS][DRAWN_LAWS + 1];
    tdMaterialPanel panels[TD_TESTS];
    for (int t = 0; t < TD_TESTS; t++)
    {
        if (s->data.count[t] == 0)
            continue;
        panels[n_panels] = (tdMaterialPanel){.test = (tdTest)t, .series = series[n_panels]};
        fill_panel(s, (tdTest)t, n_laws, numbers + (size_t)t * each, &panels[n_panels]);
        n_panels++;
    }
    tdStatus status = td_material_draw(path, NULL, n_panels, panels, error);
    free(numbers);
    return status;
}
