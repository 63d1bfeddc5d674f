// SPDX-License-Identifier: Apache-2.0
// tendril bench sheet: a soft sheet that comes down on a rough floor with a speed along it, slides, and sticks, all of
// its lower nodes touching: how a step grows with the number of points. One thread.
#include "bench.h"

#include <math.h>
#include <stdio.h>

static const char scene[] = "tendril: 1\n"
                            "time_step: 10 ms\n"
                            "steps: 60\n"
                            "gravity: [2, 0, -9.81]\n"
                            "contact: {friction: 0.5}\n"
                            "bodies:\n"
                            "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                            "  - name: sheet\n"
                            "    mesh: {box: [[0, 0, 0.0005], [0.5, 0.5, 0.0205]], cells: [%d, %d, 1]}\n"
                            "    material: {law: corotational, young: 0.1 MPa, poisson: 0.3, density: 1000}\n"
                            "    velocity: [0.3, 0.1, 0]\n";

static const int cells[] = {16, 24, 34, 49, 70}; // 289 to 5,041 points
#define SIZES ((int)(sizeof cells / sizeof cells[0]))

static tdStatus measure(int size, int runs, bool print, tdJson *json, benchTimes *t, tdError *error)
{
    char text[2000];
    tdModel *model = NULL;
    tdSettings settings = cli_settings();
    settings.threads = 1;
    int length = snprintf(text, sizeof text, scene, size, size), points = (size + 1) * (size + 1);
    benchSteps how = {.threads = 1, .settle = 3, .steps = 24, .runs = runs < 3 ? runs : 3};
    TD_TRY(td_model_parse(text, (size_t)length, "bench", NULL, &settings, &model, error));
    tdStatus status = bench_time_steps(model, &how, t, error);
    if (status == TD_OK)
    {
        td_json_open(json, NULL, '{');
        td_json_integer(json, "points", points);
        td_json_integer(json, "dofs", td_model_dofs(model));
        td_json_number(json, "step_p50_s", t->middle);
        td_json_number(json, "step_mean_s", 1 / t->rate);
        td_json_number(json, "step_worst_s", t->worst);
        td_json_number(json, "contacts_active", t->points);
        td_json_number(json, "contact_iterations", t->passes);
        td_json_close(json, '}');
    }
    if (print && status == TD_OK)
        printf("  %8d %8lld %10.1f %8.1f %10.2f %10.2f %10.2f\n", points, (long long)td_model_dofs(model), t->points,
               t->passes, 1e3 / t->rate, 1e3 * t->middle, 1e3 * t->worst);
    td_model_free(model);
    return status;
}

tdStatus bench_sheet(int runs, bool print, tdJson *json, tdError *error)
{
    double x = 0, y = 0, xx = 0, xy = 0; // of logarithms
    if (print)
        printf("A soft sheet slides and sticks on a rough floor, one thread, processor time in ms\n\n"
               "  %8s %8s %10s %8s %10s %10s %10s\n",
               "points", "dofs", "bearing", "passes", "mean", "p50", "worst");
    td_json_open(json, "sheet", '[');
    for (int k = 0; k < SIZES; k++)
    {
        benchTimes t;
        cli_progress("bench sheet", k, SIZES);
        TD_TRY(measure(cells[k], runs, print, json, &t, error));
        double size = 2 * log(cells[k] + 1.0), time = log(1 / t.rate);
        x += size / SIZES;
        y += time / SIZES;
        xx += size * size / SIZES;
        xy += size * time / SIZES;
    }
    td_json_close(json, ']');
    td_json_number(json, "sheet_growth", (xy - x * y) / (xx - x * x));
    if (print)
        printf("\n  a step grows like points^%.2f\n\n", (xy - x * y) / (xx - x * x));
    return TD_OK;
}
