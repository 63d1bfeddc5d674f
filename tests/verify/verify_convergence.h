// SPDX-License-Identifier: Apache-2.0
// Order of convergence on a manufactured solution.
//
// Linear elasticity on the unit cube with the displacement
//     u_i = A_i sin(k_i . x + p_i)                     a wave of its own for each component
// prescribed on the boundary, and inside held in balance by the body force f = -div sigma:
//     f_j = mu A_j |k_j|^2 sin(k_j . x + p_j) + (lambda + mu) sum over i of A_i k_ii k_ij sin(k_i . x + p_i)
// The force enters as nodal loads integrated with the shape functions. Linear elements promise an L2 error
// of order 2.
#pragma once
#include "verify.h"

#define WAVE_YOUNG   1e5
#define WAVE_POISSON 0.3

static const double wave_amplitude[3] = {0.010, 0.007, -0.012};
static const double wave_phase[3] = {0.3, 1.1, -0.4};
static const double wave_vector[3][3] = {{2.0, 1.5, -1.0}, {-1.2, 2.2, 1.4}, {1.7, -0.8, 1.9}};

static inline double wave(int i, const double *x)
{
    const double *k = wave_vector[i];
    return wave_amplitude[i] * sin(k[0] * x[0] + k[1] * x[1] + k[2] * x[2] + wave_phase[i]);
}

static inline void wave_force(const double *x, double *f)
{
    double mu = WAVE_YOUNG / (2 * (1 + WAVE_POISSON));
    double lambda = WAVE_YOUNG * WAVE_POISSON / ((1 + WAVE_POISSON) * (1 - 2 * WAVE_POISSON));
    for (int j = 0; j < 3; j++)
    {
        const double *k = wave_vector[j];
        f[j] = mu * (k[0] * k[0] + k[1] * k[1] + k[2] * k[2]) * wave(j, x);
        for (int i = 0; i < 3; i++)
            f[j] += (lambda + mu) * wave_vector[i][i] * wave_vector[i][j] * wave(i, x);
    }
}

// Quadrature of degree 5 with 14 points, by orbits of barycentric coordinates; weights of the unit volume.
#define RULE_POINTS 14
static inline void rule_point(int p, double bary[4], double *weight)
{
    static const double corner[2] = {0.0927352503108912264, 0.3108859192633006098};
    static const double corner_weight[2] = {0.0734930431163619495, 0.1126879257180158508};
    static const int edges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    const double edge = 0.0455037041256496494, edge_weight = 0.0425460207770814664;
    for (int a = 0; a < 4; a++)
        bary[a] = p < 8 ? corner[p / 4] : 0.5 - edge;
    if (p < 8)
        bary[p % 4] = 1 - 3 * corner[p / 4];
    else
        bary[edges[p - 8][0]] = bary[edges[p - 8][1]] = edge;
    *weight = p < 8 ? corner_weight[p / 4] : edge_weight;
}

static inline double tet_volume(const double *x, const int32_t *t)
{
    double e[3][3];
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3; c++)
            e[a][c] = x[3 * (int64_t)t[a + 1] + c] - x[3 * (int64_t)t[0] + c];
    return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
            e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

/// Square of the L2 error of the positions q; without q, of the displacement itself. Nodal loads when asked for.
static inline double wave_integrate(const tdSoft *soft, const double *q, double *loads)
{
    const tdCells *tets = &soft->mesh.cells[TD_CELL_TET];
    const double *rest = soft->rest;
    double sum = 0;
    for (int64_t e = 0; e < tets->count; e++)
    {
        const int32_t *t = tets->nodes + 4 * e;
        double volume = tet_volume(rest, t);
        for (int p = 0; p < RULE_POINTS; p++)
        {
            double bary[4], weight, x[3] = {0}, u[3] = {0}, f[3];
            rule_point(p, bary, &weight);
            for (int a = 0; a < 4; a++)
                for (int c = 0; c < 3; c++)
                {
                    int64_t i = 3 * (int64_t)t[a] + c;
                    x[c] += bary[a] * rest[i];
                    u[c] += q != NULL ? bary[a] * (q[i] - rest[i]) : 0;
                }
            wave_force(x, f);
            for (int c = 0; c < 3; c++)
            {
                sum += weight * volume * (u[c] - wave(c, x)) * (u[c] - wave(c, x));
                for (int a = 0; loads != NULL && a < 4; a++)
                    loads[3 * (int64_t)t[a] + c] += weight * volume * bary[a] * f[c];
            }
        }
    }
    return sum;
}

/// L2 error of the displacement over its L2 norm, with n cells along each edge of the cube.
static inline double wave_error(int n)
{
    tdModel *model = verify_model("tendril: 1\n"
                                  "integrator: {method: static, tolerance: 1e-9}\n"
                                  "solver: {tolerance: 1e-12}\n"
                                  "bodies:\n"
                                  "  - name: cube\n"
                                  "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [%d, %d, %d]}\n"
                                  "    material: {law: linear, young: %g, poisson: %g}\n"
                                  "    fixed: [{group: xmin}, {group: xmax}, {group: ymin}, {group: ymax},\n"
                                  "            {group: zmin}, {group: zmax}]\n",
                                  n, n, n, WAVE_YOUNG, WAVE_POISSON);
    tdSoft *soft = verify_soft(model);
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    double *loads = calloc((size_t)coords, sizeof *loads);
    int32_t *nodes = calloc((size_t)soft->n_nodes, sizeof *nodes);
    tdDriven *driven = calloc((size_t)soft->n_held, sizeof *driven);
    assert_true(loads != NULL && nodes != NULL && driven != NULL);
    double norm = sqrt(wave_integrate(soft, NULL, loads));
    for (int32_t i = 0; i < soft->n_nodes; i++)
        nodes[i] = i;
    for (int32_t k = 0; k < soft->n_held; k++)
    {
        int32_t i = soft->held_list[k];
        driven[k] = (tdDriven){i, -1, wave(i % 3, soft->rest + i - i % 3)};
    }
    tdSoftLoad load = {.kind = TD_LOAD_POINT_EACH, .input = -1, .n = soft->n_nodes, .nodes = nodes, .force = loads};
    soft->n_loads = 1;
    soft->loads = &load;
    soft->n_driven = soft->n_held;
    soft->driven = driven;

    tdState *state = verify_state(model);
    verify_step(model, state);
    double error = sqrt(wave_integrate(soft, td_state_positions(model, state, 0), NULL)) / norm;
    td_state_free(state);
    td_model_free(model);
    free(loads);
    free(nodes);
    free(driven);
    return error;
}

/// Meshes of first, 2 first, 4 first ... cells; the order between the two finest must be 2 within 0.1.
/// errors (may be NULL): of each mesh.
static inline void verify_wave(int first, int levels, double *errors)
{
    double last = 0;
    for (int k = 0, n = first; k < levels; k++, n *= 2)
    {
        double error = wave_error(n), order = k > 0 ? log2(last / error) : 0;
        if (errors != NULL)
            errors[k] = error;
        char name[128];
        snprintf(name, sizeof name, "manufactured solution, L2 order from %d³ to %d³ cells", n / 2, n);
        if (k > 0) // a coarse pair is not asymptotic yet
            verify_absolute(name, "a priori estimate", 2, order, k + 1 == levels ? 0.1 : 0.3);
        last = error;
    }
}
