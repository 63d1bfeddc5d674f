// SPDX-License-Identifier: Apache-2.0
#include "study/material.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void td_material_pressure(double pascal, char *out, size_t size)
{
    static const char *const prefix[] = {"", "k", "M", "G"};
    int k = 0;
    while (k < 3 && fabs(pascal) >= 1000)
    {
        pascal /= 1000;
        k++;
    }
    snprintf(out, size, "%.4g %sPa", pascal, prefix[k]);
}

bool td_material_limited(tdTest test, const double range[2])
{
    if (test == TD_TEST_SHEAR)
        return range[1] < TD_RESPONSE_SHEAR;
    return range[0] > TD_RESPONSE_LOW || range[1] < TD_RESPONSE_HIGH;
}

void td_material_range(tdTest test, const double range[2], char *out, size_t size)
{
    if (td_material_limited(test, range))
        snprintf(out, size, "%.3g to %.3g", range[0], range[1]);
    else
        snprintf(out, size, "all");
}

void td_material_curve(const tdSpecimen *specimen, tdTest test, double low, double high, double *x, double *y)
{
    for (int i = 0; i < TD_MATERIAL_CURVE; i++)
    {
        x[i] = low + (high - low) * i / (TD_MATERIAL_CURVE - 1);
        td_response(specimen, test, x[i], &y[i], NULL); // leaves NAN where there is no answer
    }
}

// The prefix for all panels, and the numbers in it.
static const char *choose_unit(int n, tdMaterialPanel *panels)
{
    static const char *const names[] = {"nominal stress [Pa]", "nominal stress [kPa]", "nominal stress [MPa]",
                                        "nominal stress [GPa]"};
    double largest = 0, unit = 1;
    for (int p = 0; p < n; p++)
        for (int s = 0; s < panels[p].n; s++)
            for (int64_t i = 0; i < panels[p].series[s].n; i++)
                largest = fmax(largest, fabs(panels[p].series[s].y[i]));
    int k = 0;
    for (; k < 3 && largest >= 1000 * unit; k++)
        unit *= 1000;
    for (int p = 0; p < n; p++)
    {
        for (int s = 0; s < panels[p].n; s++)
            for (int64_t i = 0; i < panels[p].series[s].n; i++)
                ((double *)panels[p].series[s].y)[i] /= unit;
        panels[p].y_range[0] /= unit;
        panels[p].y_range[1] /= unit;
    }
    return names[k];
}

tdStatus td_material_draw(const char *path, const char *title, int n, tdMaterialPanel *panels, tdError *error)
{
    static const char *const names[TD_TESTS] = {"uniaxial", "equibiaxial", "planar (pure shear)", "simple shear"};
    const char *unit = choose_unit(n, panels);
    char first[200];
    tdPanel plots[TD_TESTS];
    for (int p = 0; p < n; p++)
    {
        tdPlotSettings *settings = &plots[p].settings;
        *settings = td_default_plot();
        settings->width = n == 1 ? 900 : 660;
        settings->height = 560;
        settings->title = names[panels[p].test];
        settings->x_label = panels[p].test == TD_TEST_SHEAR ? "amount of shear" : "stretch";
        settings->y_label = unit;
        memcpy(settings->x_range, panels[p].x_range, sizeof settings->x_range);
        memcpy(settings->y_range, panels[p].y_range, sizeof settings->y_range);
        plots[p].n = panels[p].n;
        plots[p].series = panels[p].series;
    }
    if (title != NULL && n > 0)
    {
        snprintf(first, sizeof first, "%s: %.120s", plots[0].settings.title, title);
        plots[0].settings.title = first;
    }
    return td_plot_panels(n, n, plots, path, error);
}
