// SPDX-License-Identifier: Apache-2.0
// External forces on a soft body: gravity, dead loads on nodes (faces were turned into nodal forces when
// the scene was compiled) and pressure, which follows the deformed surface.
//
// A face (a, b, c), outward, under the pressure p pushes each of its nodes by -p/6 (b - a) x (c - a).
#include "body/soft.h"

#include <string.h>

static double load_input(const tdState *state, const tdSoftLoad *load)
{
    // A load without a name is constant in a dynamic scene and grows with gravity in static load steps.
    return load->input < 0 ? state->gravity : state->input[load->input];
}

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

void td_soft_loads(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdSoft *soft = body->data;
    const double *gravity = model->scene.settings.gravity, *x = state->q_e + body->first;
    double *out = state->load + body->first;
    for (int32_t i = 0; i < soft->n_nodes; i++)
        for (int c = 0; c < 3; c++)
            out[3 * i + c] = soft->node_mass[i] * gravity[c] * state->gravity;
    for (int k = 0; k < soft->n_loads; k++)
    {
        const tdSoftLoad *load = &soft->loads[k];
        double input = load_input(state, load);
        if (load->kind != TD_LOAD_SURFACE_PRESSURE)
        {
            for (int32_t i = 0; i < load->n; i++)
                for (int c = 0; c < 3; c++)
                    out[3 * (int64_t)load->nodes[i] + c] += input * load->force[3 * i + c];
            continue;
        }
        for (int32_t f = 0; f < load->n; f++)
        {
            const int32_t *n = load->nodes + 3 * (int64_t)f;
            double u[3], w[3], normal[3];
            for (int c = 0; c < 3; c++)
            {
                u[c] = x[3 * (int64_t)n[1] + c] - x[3 * (int64_t)n[0] + c];
                w[c] = x[3 * (int64_t)n[2] + c] - x[3 * (int64_t)n[0] + c];
            }
            cross(u, w, normal);
            for (int a = 0; a < 3; a++)
                for (int c = 0; c < 3; c++)
                    out[3 * (int64_t)n[a] + c] -= input * load->pressure / 6 * normal[c];
        }
    }
}

// The symmetric part of -d(force)/dx, which is all of it on a closed surface. The normal's derivative is
// d(u x w) = sum over nodes of [e]x dx with e the opposite edge, the same for the force on each node.
void td_soft_pressure_stiffness(const tdModel *model, const tdBody *body, tdState *state, double factor, double *A)
{
    const tdSoft *soft = body->data;
    const double *x = state->q_e + body->first;
    (void)model;
    for (int k = 0; k < soft->n_loads; k++)
    {
        const tdSoftLoad *load = &soft->loads[k];
        if (load->kind != TD_LOAD_SURFACE_PRESSURE)
            continue;
        double p = factor * load_input(state, load) * load->pressure / 6;
        for (int32_t f = 0; f < load->n; f++)
        {
            const int32_t *n = load->nodes + 3 * (int64_t)f;
            double skew[3][9];
            for (int a = 0; a < 3; a++)
            {
                // d(u x w)/dx_a = [edge]x with edge from node a+1 to node a+2, see above.
                const double *from = x + 3 * (int64_t)n[(a + 1) % 3], *to = x + 3 * (int64_t)n[(a + 2) % 3];
                double e[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
                double s[9] = {0, -e[2], e[1], e[2], 0, -e[0], -e[1], e[0], 0};
                memcpy(skew[a], s, sizeof s);
            }
            // K_ab = p [edge_b]x (force on a by x_b); symmetric part: (K_ab + K_ba') / 2.
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                {
                    if (n[a] < n[b])
                        continue;
                    double *to = A + 9 * (int64_t)load->block[9 * (int64_t)f + 3 * a + b];
                    for (int i = 0; i < 3; i++)
                        for (int j = 0; j < 3; j++)
                            to[3 * i + j] += 0.5 * p * (skew[b][3 * i + j] + skew[a][3 * j + i]);
                }
        }
    }
}
