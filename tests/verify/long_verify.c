// SPDX-License-Identifier: Apache-2.0
// The verification cases on finer meshes, with tighter tolerances; and their pictures.
#include "verify_beam.h"
#include "verify_convergence.h"
#include "verify_plot.h"

// ---------------------------------------------------------------- convergence

#define WAVE_LEVELS 4 // 4 to 32 cells
#define BEAM_LEVELS 5 // 4 to 64 cells

static void plot_convergence(const double *wave_errors, const double *beam_errors)
{
    double cells[BEAM_LEVELS], slope[BEAM_LEVELS];
    for (int k = 0; k < BEAM_LEVELS; k++)
    {
        cells[k] = 4 << k;
        slope[k] = 0.5 / (cells[k] * cells[k]);
    }
    const tdSeries series[] = {
        {.name = "manufactured solution, L2",
         .n = WAVE_LEVELS,
         .x = cells,
         .y = wave_errors,
         .marker = TD_MARKER_CIRCLE},
        {.name = "cantilever strip, tip", .n = BEAM_LEVELS, .x = cells, .y = beam_errors, .marker = TD_MARKER_SQUARE},
        {.name = "order 2", .n = BEAM_LEVELS, .x = cells, .y = slope, .colour = -1, .line = TD_LINE_DASHED}};
    tdPlotSettings settings = td_default_plot();
    settings.title = "Error under refinement";
    settings.x_label = "cells along the edge or over the height";
    settings.y_label = "relative error";
    settings.x_log = settings.y_log = true;
    verify_plot("convergence.png", &settings, 3, series);
}

static void test_order(void **context)
{
    (void)context;
    double wave_errors[WAVE_LEVELS], beam_errors[BEAM_LEVELS];
    verify_wave(4, WAVE_LEVELS, wave_errors);
    for (int k = 0; k < BEAM_LEVELS; k++)
    {
        verifyBeam b = {"linear", 1, 0.1, 0.1, true, 4 << k};
        beam_errors[k] = fabs(beam_deflection(&b, 1) / timoshenko_deflection(&b, 1) - 1);
    }
    plot_convergence(wave_errors, beam_errors);
}

static void test_strip(void **context)
{
    (void)context;
    verify_deflection(true, 32, 0.002, 0.001);
}

// 16 cells over the height: 245,760 tetrahedra.
static void test_square(void **context)
{
    (void)context;
    verify_deflection(false, 8, 0.015, 0.002);
}

// ---------------------------------------------------------------- elastica

#define LAWS 3

// The axis of the beam under each load; the laws take turns along it, since they would cover each other.
static void plot_elastica(const char *const *laws, const elasticaResult *results)
{
    enum
    {
        POINTS = ELASTICA_POINTS + 1,
        SERIES = (1 + LAWS) * ELASTICA_LOADS
    };
    static double x[SERIES][POINTS], y[SERIES][POINTS];
    tdSeries series[SERIES];
    int n = 0;
    for (int load = 0; load < ELASTICA_LOADS; load++)
    {
        double path[POINTS][2], down, shorter;
        elastica(elastica_a[load], &down, &shorter, path);
        for (int k = 0; k < POINTS; k++)
        {
            x[n][k] = path[k][0];
            y[n][k] = -path[k][1];
        }
        series[n] = (tdSeries){.name = load == 0 ? "elastica" : NULL, .n = POINTS, .x = x[n], .y = y[n], .colour = -1};
        n++;
    }
    for (int law = 0; law < LAWS; law++)
        for (int load = 0; load < ELASTICA_LOADS; load++)
        {
            int points = 0;
            for (int k = 4 + 2 * law; k < POINTS; k += 2 * LAWS, points++)
            {
                x[n][points] = results[law].path[load][k][0];
                y[n][points] = -results[law].path[load][k][1];
            }
            series[n] = (tdSeries){.name = load == 0 ? laws[law] : NULL,
                                   .n = points,
                                   .x = x[n],
                                   .y = y[n],
                                   .colour = law + 1,
                                   .marker = TD_MARKER_CIRCLE + law,
                                   .line = TD_LINE_NONE};
            n++;
        }
    tdPlotSettings settings = td_default_plot();
    settings.title = "Cantilever under a dead tip load, P L² / E I = 1, 2, 5, 10";
    settings.x_label = "x / L";
    settings.y_label = "z / L";
    settings.height = settings.width * 9 / 10; // about the same scale on both axes
    verify_plot("elastica.png", &settings, n, series);
}

// 40 times as long as high, so that shear and stretch are a quarter of those in the short test.
static void test_elastica(void **context)
{
    (void)context;
    static const char *const laws[LAWS] = {"corotational", "stvk", "neo_hookean"};
    elasticaResult results[LAWS];
    for (int law = 0; law < LAWS; law++)
        verify_elastica(laws[law], 40, 8, 0.004, &results[law]);
    plot_elastica(laws, results);
}

static void test_frequencies(void **context)
{
    (void)context;
    verify_bar(8, 0.001);
    verify_swing(16, 200, 0.003, 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_strip),
                                       cmocka_unit_test(test_square), cmocka_unit_test(test_elastica),
                                       cmocka_unit_test(test_frequencies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
