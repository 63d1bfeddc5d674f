// SPDX-License-Identifier: Apache-2.0
// The rubber cylinder of S5 section VII-A, 0.4 m across, Mooney-Rivlin with C1 = 0.293 MPa, C2 = 0.177 MPa and a bulk
// modulus of 1410 MPa (Poisson's ratio 0.49967), plane strain. Instead of touching the plates it is bonded to them
// along strips of 30 degrees. By symmetry a quarter is enough.
#pragma once
#include "verify_calculix.h"
#include "verify_mesh.h"
#include "verify_plot.h"

#define CYLINDER_RADIUS 0.2         // [m]
#define CYLINDER_DEPTH  0.02        // of the slice
#define CYLINDER_STRIP  0.051763809 // half its width: 15 degrees of the circle
#define CYLINDER_PRESS  0.04        // way of one plate
#define CYLINDER_POINTS 4

typedef enum cylinderCells
{
    CYLINDER_HEX,
    CYLINDER_HEX_MEAN,
    CYLINDER_TET10,
    CYLINDER_TET10_MEAN
} cylinderCells;

// Group "strip": nodes at the circle (or in the middle of its chords) up to the strip's end.
static inline void cylinder_strip(tdMesh *mesh, int n)
{
    int64_t nodes = mesh->n_nodes;
    int group = td_mesh_group(mesh, "strip", 0, 0);
    assert_true(group >= 0);
    for (int32_t i = 0; i < nodes; i++)
    {
        double x = mesh->x[3 * i], y = mesh->x[3 * i + 1];
        if (sqrt(x * x + y * y) < CYLINDER_RADIUS * (1 - 0.1 / n) || y < x || x > CYLINDER_STRIP + 1e-6)
            continue;
        assert_true(td_mesh_add_cell(mesh, TD_CELL_VERTEX, &i));
        assert_true(td_mesh_group_add(mesh, group, TD_CELL_VERTEX, mesh->cells[TD_CELL_VERTEX].count - 1));
    }
}

/// n: see mesh_disc; a multiple of 3, so that the strip ends at a node.
static inline tdModel *cylinder_model(const char *folder, cylinderCells cells, int n)
{
    assert_true(n % 3 == 0);
    tdMesh mesh = mesh_disc(CYLINDER_RADIUS, CYLINDER_DEPTH, n, cells < CYLINDER_TET10);
    if (cells >= CYLINDER_TET10)
        mesh_quadratic(&mesh);
    cylinder_strip(&mesh, n);
    mesh_save(&mesh, folder, "cylinder.msh");
    return verify_model("tendril: 1\n"
                        "integrator: {method: static, tolerance: 1e-8, max_iterations: 100}\n"
                        "solver: {type: cholesky}\n"
                        "time_step: %.17g\n"
                        "duration: 1\n"
                        "bodies:\n"
                        "  - name: cylinder\n"
                        "    mesh: %s/cylinder.msh\n"
                        "    material: {law: mooney_rivlin, c10: 0.293 MPa, c01: 0.177 MPa, bulk: 1410 MPa}\n"
                        "    formulation: %s\n"
                        "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}, axes: x},\n"
                        "            {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, axes: y}, {all: true, axes: z},\n"
                        "            {group: strip, axes: x}]\n"
                        "    prescribed: [{name: plate, group: strip, axes: y,\n"
                        "                  displacement: [0, %.17g, 0]}]\n"
                        "motion: {keyframes: [{t: 0, plate: 0}, {t: 1, plate: 1}]}\n",
                        1.0 / CYLINDER_POINTS, folder,
                        cells == CYLINDER_HEX_MEAN || cells == CYLINDER_TET10_MEAN ? "mean_dilatation" : "standard",
                        -CYLINDER_PRESS);
}

// Force on the plate [N] per length of the cylinder: a quarter holds half the strip.
static inline double cylinder_force(const tdSoft *soft, const double *reaction)
{
    double sum = 0;
    for (int64_t i = 0; i < soft->n_nodes; i++)
        sum += soft->rest[3 * i + 1] > CYLINDER_RADIUS / 2 ? reaction[3 * i + 1] : 0;
    return -2 * sum / CYLINDER_DEPTH;
}

static inline void cylinder_curve(cylinderCells cells, int n, double *force)
{
    char folder[256];
    make_folder(folder);
    tdModel *model = cylinder_model(folder, cells, n);
    tdState *state = verify_state(model);
    for (int k = 0; k < CYLINDER_POINTS; k++)
    {
        verify_step(model, state);
        force[k] = cylinder_force(verify_soft(model), state->reaction);
    }
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
}

/// Quadratic tetrahedra in both programs.
static inline void verify_cylinder_calculix(int n)
{
    char folder[256], name[128];
    make_folder(folder);
    tdModel *model = cylinder_model(folder, CYLINDER_TET10, n);
    tdState *state = verify_state(model);
    const tdSoft *soft = verify_soft(model);
    ccxResult theirs = ccx_curve(model, folder, true, CYLINDER_POINTS);
    for (int k = 0; k < CYLINDER_POINTS; k++)
    {
        verify_step(model, state);
        double force = cylinder_force(soft, theirs.force + 3 * (int64_t)soft->n_nodes * k);
        snprintf(name, sizeof name, "cylinder pressed by %g mm [N/m]",
                 2e3 * CYLINDER_PRESS * (k + 1) / CYLINDER_POINTS);
        verify_relative(name, "CalculiX, same mesh", force, cylinder_force(soft, state->reaction), 1e-5);
    }
    ccx_free(&theirs);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
}

// Limit of the last force with n, 2n and 4n cells. The ends of the strips are singular.
static inline double cylinder_limit(cylinderCells cells, int n, double force[CYLINDER_POINTS])
{
    double last[3];
    for (int k = 0; k < 3; k++)
    {
        cylinder_curve(cells, n << k, force);
        last[k] = force[CYLINDER_POINTS - 1];
    }
    return verify_aitken(last);
}

/// Ways around locking meet: quadratic tetrahedra with mean dilatation on the mesh of `n_reference`, which have
/// converged first, and the limit of hexahedra with mean dilatation (n, 2n, 4n); standard hexahedra do not.
/// picture: file of the curves, or NULL.
static inline void verify_cylinder_formulations(int n_reference, int n, double tolerance, const char *picture)
{
    double best[CYLINDER_POINTS], mean[CYLINDER_POINTS], locked[CYLINDER_POINTS];
    int last = CYLINDER_POINTS - 1;
    char name[160];
    cylinder_curve(CYLINDER_TET10_MEAN, n_reference, best);
    double limit = cylinder_limit(CYLINDER_HEX_MEAN, n, mean);
    cylinder_curve(CYLINDER_HEX, 4 * n, locked);
    snprintf(name, sizeof name,
             "cylinder pressed by 80 mm, hexahedra with mean dilatation, limit of %d, %d and %d [N/m]", n, 2 * n,
             4 * n);
    verify_relative(name, "quadratic tetrahedra with mean dilatation", best[last], limit, tolerance);
    verify_above("cylinder pressed by 80 mm, standard hexahedra lock: force over the reference", "the same", 1.2,
                 locked[last] / best[last]);
    if (picture == NULL)
        return;
    tdPlotSettings settings = td_default_plot();
    settings.title = "Rubber cylinder bonded to two plates";
    settings.x_label = "way of the plates [mm]";
    settings.y_label = "force [kN/m]";
    const double *force[3] = {best, mean, locked};
    static const char *const titles[3] = {"quadratic tetrahedra, mean dilatation", "hexahedra, mean dilatation",
                                          "hexahedra"};
    double x[CYLINDER_POINTS + 1], y[3][CYLINDER_POINTS + 1];
    tdSeries series[3] = {{0}};
    for (int i = 0; i < 3; i++)
    {
        for (int k = 0; k <= CYLINDER_POINTS; k++)
        {
            x[k] = 2e3 * CYLINDER_PRESS * k / CYLINDER_POINTS;
            y[i][k] = k == 0 ? 0 : force[i][k - 1] / 1e3;
        }
        series[i] =
            (tdSeries){.name = titles[i], .n = CYLINDER_POINTS + 1, .x = x, .y = y[i], .marker = (tdMarker)(i + 1)};
    }
    verify_plot(picture, &settings, 3, series);
}

/// The limit of quadratic tetrahedra of the standard formulation, which hardly lock.
static inline void verify_cylinder_quadratic(int n_reference, int n, double tolerance)
{
    double best[CYLINDER_POINTS], force[CYLINDER_POINTS];
    char name[160];
    cylinder_curve(CYLINDER_TET10_MEAN, n_reference, best);
    snprintf(name, sizeof name, "cylinder pressed by 80 mm, quadratic tetrahedra, limit of %d, %d and %d [N/m]", n,
             2 * n, 4 * n);
    verify_relative(name, "quadratic tetrahedra with mean dilatation", best[CYLINDER_POINTS - 1],
                    cylinder_limit(CYLINDER_TET10, n, force), tolerance);
}
