// SPDX-License-Identifier: Apache-2.0
// The rubber cylinder of S5 section VII-A between two plates that it touches without friction: the shipped scenes
// cylinder_1 to cylinder_4. Reference: force per length at two displacements of the plate, as the verification manual
// of ANSYS (VM201, and VM211, which solves it again) quotes them from the curve of Sussman and Bathe (1987): 250 kN/m
// at 0.1 m and 1400 kN/m at 0.2 m, read off a graph. S5 presses with up to 1.4 MN/m.
#pragma once
#include "contact/contact_physics.h"
#include "verify_plot.h"

#define PRESS_DEPTH  0.05 // of the slice [m]
#define PRESS_POINTS 20   // of a curve, every 10 mm

/// Force [kN/m] at the displacements 10 mm, 20 mm, ... of the plate. contacts: mean number of points.
static inline void press_curve(int mesh, double force[PRESS_POINTS], double *contacts)
{
    char file[64];
    snprintf(file, sizeof file, "cylinder_%d.yaml", mesh);
    tdModel *model = contact_scene(file);
    tdState *state = scene_state(model);
    int steps = td_model_steps(model);
    *contacts = 0;
    for (int i = 1; i <= steps; i++)
    {
        scene_steps(model, state, 1);
        *contacts += (double)td_state_report(state)->contacts / steps;
        if (i * PRESS_POINTS % steps == 0)
            force[i * PRESS_POINTS / steps - 1] = td_state_actuation(model, state, 0).effort / PRESS_DEPTH / 1e3;
    }
    assert_near(td_state_actuation(model, state, 0).displacement, 0.2, 1e-6);
    scene_free(model, state);
}

/// Meshes 1 to `meshes`, each nearer to the reference than the one before it.
static inline void verify_press(int meshes, const char *picture)
{
    static double x[PRESS_POINTS + 1], y[5][PRESS_POINTS + 1];
    const double at[2] = {0.1, 0.2}, reference[2] = {250, 1400}, allowed[4] = {0.5, 0.1, 0.05, 0.02};
    double contacts = 0, last[2] = {INFINITY, INFINITY};
    char name[160];
    for (int k = 0; k <= PRESS_POINTS; k++)
        x[k] = 200.0 * k / PRESS_POINTS;
    for (int m = 0; m < meshes; m++)
    {
        press_curve(m + 1, y[m] + 1, &contacts);
        for (int k = 0; k < 2; k++)
        {
            double force = y[m][(k + 1) * PRESS_POINTS / 2], error = fabs(force - reference[k]);
            assert_true(error < last[k]);
            last[k] = error;
            snprintf(name, sizeof name, "cylinder between plates, mesh %d, pressed by %g mm [kN/m]", m + 1,
                     1e3 * at[k]);
            verify_relative(name, "Sussman and Bathe 1987, by VM201", reference[k], force, allowed[m]);
        }
    }
    if (picture == NULL)
        return;
    tdSeries series[5] = {{0}};
    static const char *const titles[4] = {"12 cells", "48 cells", "192 cells", "768 cells"};
    for (int m = 0; m < meshes; m++)
        series[m] = (tdSeries){
            .name = titles[m], .n = PRESS_POINTS + 1, .x = x, .y = y[m], .line = m + 1 == meshes ? 0 : TD_LINE_DASHED};
    const double mm[2] = {100, 200};
    series[meshes] = (tdSeries){
        .name = "reference", .n = 2, .x = mm, .y = reference, .marker = TD_MARKER_CIRCLE, .line = TD_LINE_NONE};
    tdPlotSettings settings = td_default_plot();
    settings.title = "Rubber cylinder between two plates";
    settings.x_label = "way of the plate [mm]";
    settings.y_label = "force [kN/m]";
    verify_plot(picture, &settings, meshes + 1, series);
}
