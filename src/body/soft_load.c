// SPDX-License-Identifier: Apache-2.0
// External forces on a soft body: gravity, dead loads on nodes (faces were turned into nodal forces when
// the scene was compiled), pressure, which follows the deformed surface, and springs (body/spring.h).
//
// A face with shape functions N_a under the pressure p, outward x_,1 x x_,2, pushes its nodes by
//
//     f_a = -p int N_a (x_,1 x x_,2)
//
// which for a triangle is -p/6 (b - a) x (c - a) at each node.
#include "body/soft.h"
#include "body/spring.h"
#include "mesh/shape.h"

#include <string.h>

#define FACE_NODES 6

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

// Shape functions at the points of a face.
typedef struct faceTable
{
    tdRule rule;
    int nodes;
    double N[6][FACE_NODES], dN[6][2 * FACE_NODES];
} faceTable;

static faceTable face_table(int nodes)
{
    faceTable table = {.rule = td_rule_face(nodes), .nodes = nodes};
    for (int p = 0; p < table.rule.n; p++)
        td_shape_face(nodes, table.rule.xi[p], table.N[p], table.dN[p]);
    return table;
}

static void tangents(const faceTable *table, int p, const int32_t *n, const double *x, double t1[3], double t2[3])
{
    for (int c = 0; c < 3; c++)
    {
        t1[c] = t2[c] = 0;
        for (int a = 0; a < table->nodes; a++)
        {
            double value = x[3 * (int64_t)n[a] + c];
            t1[c] += table->dN[p][2 * a] * value;
            t2[c] += table->dN[p][2 * a + 1] * value;
        }
    }
}

void td_soft_loads(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdSoft *soft = body->data;
    const double *gravity = td_state_gravity(state), *x = state->q_e + body->first;
    double *out = state->load + body->first,
           share = state->gravity * td_state_factors(state, body->index)[TD_FACTOR_MASS];
    (void)model;
    for (int32_t i = 0; i < soft->n_nodes; i++)
        for (int c = 0; c < 3; c++)
            out[3 * i + c] = soft->node_weight[i] * gravity[c] * share;
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
        faceTable table = face_table(load->face_nodes);
        for (int32_t f = 0; f < load->n; f++)
        {
            const int32_t *n = load->nodes + load->face_nodes * (int64_t)f;
            for (int p = 0; p < table.rule.n; p++)
            {
                double t1[3], t2[3], normal[3], factor = input * load->pressure * table.rule.weight[p];
                tangents(&table, p, n, x, t1, t2);
                cross(t1, t2, normal);
                for (int a = 0; a < load->face_nodes; a++)
                    for (int c = 0; c < 3; c++)
                        out[3 * (int64_t)n[a] + c] -= factor * table.N[p][a] * normal[c];
            }
        }
    }
    td_soft_spring_loads(body, state);
}

// The symmetric part of -d(force)/dx, which is all of it on a closed surface: with
// d(t1 x t2) = sum_b (dN_b/d2 [t1]x - dN_b/d1 [t2]x) dx_b = sum_b [e_b]x dx_b the block (a, b) is p N_a [e_b]x.
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
        int m = load->face_nodes;
        faceTable table = face_table(m);
        double pressure = factor * load_input(state, load) * load->pressure;
        for (int32_t f = 0; f < load->n; f++)
        {
            const int32_t *n = load->nodes + m * (int64_t)f, *block = load->block + m * m * (int64_t)f;
            for (int p = 0; p < table.rule.n; p++)
            {
                double t1[3], t2[3], skew[FACE_NODES][9], half = 0.5 * pressure * table.rule.weight[p];
                tangents(&table, p, n, x, t1, t2);
                for (int a = 0; a < m; a++)
                {
                    double e[3];
                    for (int c = 0; c < 3; c++)
                        e[c] = table.dN[p][2 * a + 1] * t1[c] - table.dN[p][2 * a] * t2[c];
                    double s[9] = {0, -e[2], e[1], e[2], 0, -e[0], -e[1], e[0], 0};
                    memcpy(skew[a], s, sizeof s);
                }
                for (int a = 0; a < m; a++)
                    for (int b = 0; b < m; b++)
                    {
                        if (n[a] < n[b])
                            continue;
                        double *to = A + 9 * (int64_t)block[m * a + b];
                        for (int i = 0; i < 3; i++)
                            for (int j = 0; j < 3; j++)
                                to[3 * i + j] +=
                                    half * (table.N[p][a] * skew[b][3 * i + j] + table.N[p][b] * skew[a][3 * j + i]);
                    }
            }
        }
    }
}

// ---------------------------------------------------------------- the first acceleration

// M a = -m / s on the free coordinates; consistent mass by conjugate gradients with its diagonal, whose
// condition number does not grow with the mesh.
tdStatus td_soft_start_acceleration(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdSoft *soft = body->data;
    int64_t n = body->count;
    double *a = state->a + body->first, *r = td_scratch_take(state), *p = td_scratch_take(state),
           *Mp = td_scratch_take(state);
    const double *m = state->m + body->first;
    double s = model->scheme.s * td_state_factors(state, body->index)[TD_FACTOR_MASS];
    for (int64_t i = 0; i < n; i++)
        a[i] = soft->held[i] ? 0 : -m[i] / (s * soft->node_mass[i / 3]);
    if (!soft->consistent)
    {
        td_scratch_give(state, r);
        return TD_OK;
    }
    td_block_multiply_scalar(state->tasks, &soft->pattern, soft->mass, a, Mp, false);
    double first = 0, rho = 0;
    for (int64_t i = 0; i < n; i++)
        r[i] = soft->held[i] ? 0 : -m[i] / s - Mp[i];
    for (int k = 0; k < 200; k++)
    {
        double next = 0, curvature = 0;
        for (int64_t i = 0; i < n; i++)
            next += r[i] * r[i] / soft->node_mass[i / 3];
        if (k == 0)
            first = next;
        if (next <= 1e-28 * first || next == 0)
            break;
        for (int64_t i = 0; i < n; i++)
            p[i] = r[i] / soft->node_mass[i / 3] + (k == 0 ? 0 : next / rho * p[i]);
        rho = next;
        td_block_multiply_scalar(state->tasks, &soft->pattern, soft->mass, p, Mp, false);
        for (int64_t i = 0; i < n; i++)
            curvature += soft->held[i] ? 0 : p[i] * Mp[i];
        for (int64_t i = 0; i < n; i++)
            if (!soft->held[i])
            {
                a[i] += rho / curvature * p[i];
                r[i] -= rho / curvature * Mp[i];
            }
    }
    td_scratch_give(state, r);
    return TD_OK;
}
