// SPDX-License-Identifier: Apache-2.0
// What constraints see of a soft body: positions of material points, the coordinates they depend on, and how
// held coordinates follow their inputs.
//
// A point is x = sum_a w_a x_a over some nodes, so that a force f at it is w_a f at each of them and a
// stiffness H between two points is w_a w_b H between each pair of their nodes.
#include "body/soft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tdStatus td_soft_point_set(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error)
{
    (void)body;
    set->size = 3 * (int64_t)set->start[set->n];
    set->coord = TD_TAKE(&model->arena, int32_t, set->size);
    if (set->coord == NULL)
        return td_fail_memory(error, "the rows of constraints");
    for (int64_t k = 0; k < set->size; k++)
        set->coord[k] = 3 * set->nodes[k / 3] + (int32_t)(k % 3);
    return TD_OK;
}

void td_soft_positions(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, double *x)
{
    (void)body;
    (void)state;
    for (int32_t p = 0; p < set->n; p++)
    {
        double sum[3] = {0, 0, 0};
        for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
            for (int c = 0; c < 3; c++)
                sum[c] += set->weights[k] * q[3 * (int64_t)set->nodes[k] + c];
        memcpy(x + 3 * (int64_t)p, sum, sizeof sum);
    }
}

void td_soft_pull(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, const double *f,
                  double *row)
{
    (void)body;
    (void)state;
    (void)q;
    for (int32_t p = 0; p < set->n; p++)
        for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
            for (int c = 0; c < 3; c++)
                row[3 * (int64_t)k + c] = set->weights[k] * f[3 * (int64_t)p + c];
}

// Adds weight H to the block (a, b) of the pair, transposed when it is stored the other way round. A constraint of
// which no stiffness was announced has no block: it is only a matter of convergence.
static void add_block(const tdSoft *soft, double *to, int32_t a, int32_t b, double weight, const double H[9])
{
    bool turned = a < b;
    int32_t row = turned ? b : a, column = turned ? a : b;
    if (soft->coupled_row == NULL)
        return;
    int32_t slot = soft->coupled_row[row], end = soft->coupled_row[row + 1]; // some ten
    while (slot < end && soft->coupled_column[slot] != column)
        slot++;
    if (slot == end)
        return;
    double *B = to + 9 * (int64_t)slot;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            B[3 * r + c] += weight * (turned ? H[3 * c + r] : H[3 * r + c]);
}

void td_soft_stiffen(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                     int32_t j, const double H[9], bool definite)
{
    (void)model;
    const tdSoft *soft = body->data;
    tdSoftState *mine = (tdSoftState *)state->bodies[body->index];
    double *to = mine->coupling + (definite ? 0 : 9 * (int64_t)soft->n_coupled);
    const double transposed[9] = {H[0], H[3], H[6], H[1], H[4], H[7], H[2], H[5], H[8]};
    for (int32_t k = set->start[i]; k < set->start[i + 1]; k++)
        for (int32_t l = set->start[j]; l < set->start[j + 1]; l++)
        {
            int32_t a = set->nodes[k], b = set->nodes[l];
            double weight = set->weights[k] * set->weights[l];
            // Of the two blocks (a, b) and (b, a) of the symmetric matrix one is stored; a pair i != j stands
            // for itself and its transpose, which meet on the diagonal when the points share a node.
            if (i != j)
            {
                add_block(soft, to, a, b, weight, H);
                if (a == b)
                    add_block(soft, to, a, a, weight, transposed);
            }
            else if (a >= b)
                add_block(soft, to, a, b, weight, H);
        }
}

void td_soft_add_coupling(const tdSoft *soft, const tdSoftState *mine, double factor, double *A)
{
    const double *definite = mine->coupling, *other = mine->coupling + 9 * (int64_t)soft->n_coupled;
    for (int32_t k = 0; k < soft->n_coupled; k++)
        for (int c = 0; c < 9; c++)
            A[9 * (int64_t)soft->coupled[k] + c] +=
                factor * (definite[9 * (int64_t)k + c] + (mine->projecting ? 0 : other[9 * (int64_t)k + c]));
}

// ---------------------------------------------------------------- held coordinates

// Rodrigues: y = x turned about the unit axis by the angle.
static void turn(const double axis[3], double angle, const double x[3], double y[3])
{
    double c = cos(angle), s = sin(angle);
    double along = axis[0] * x[0] + axis[1] * x[1] + axis[2] * x[2];
    const double cross[3] = {axis[1] * x[2] - axis[2] * x[1], axis[2] * x[0] - axis[0] * x[2],
                             axis[0] * x[1] - axis[1] * x[0]};
    for (int k = 0; k < 3; k++)
        y[k] = c * x[k] + s * cross[k] + (1 - c) * along * axis[k];
}

// A driver without a name is constant in a dynamic scene and follows the load in a static one.
static double driven_value(const tdState *state, int32_t input)
{
    return input < 0 ? state->gravity : state->input_end[input];
}

void td_soft_place(const tdModel *model, const tdBody *body, tdState *state)
{
    (void)model;
    const tdSoft *soft = body->data;
    double *q_end = state->q_end + body->first;
    for (int32_t k = 0; k < soft->n_held; k++)
        q_end[soft->held_list[k]] = soft->rest[soft->held_list[k]];
    for (int32_t k = 0; k < soft->n_driven; k++)
    {
        const tdDriven *d = &soft->driven[k];
        q_end[d->coord] += d->displacement * driven_value(state, d->input);
    }
    for (int32_t k = 0; k < soft->n_turned; k++)
    {
        const tdTurned *t = &soft->turned[k];
        double arm[3], turned[3], *x = q_end + 3 * (int64_t)t->node;
        for (int c = 0; c < 3; c++)
            arm[c] = x[c] - t->center[c];
        turn(t->axis, driven_value(state, t->input), arm, turned);
        for (int c = 0; c < 3; c++)
            x[c] = t->center[c] + turned[c];
    }
}

void td_soft_drive(const tdModel *model, const tdBody *body, const tdState *state, int input, double *psi)
{
    (void)model;
    const tdSoft *soft = body->data;
    memset(psi, 0, (size_t)body->count * sizeof *psi);
    for (int32_t k = 0; k < soft->n_driven; k++)
        if (soft->driven[k].input == input)
            psi[soft->driven[k].coord] = soft->driven[k].displacement;
    for (int32_t k = 0; k < soft->n_turned; k++)
    {
        const tdTurned *t = &soft->turned[k];
        if (t->input != input)
            continue;
        const double *x = state->q_end + body->first + 3 * (int64_t)t->node;
        double *p = psi + 3 * (int64_t)t->node;
        const double arm[3] = {x[0] - t->center[0], x[1] - t->center[1], x[2] - t->center[2]};
        p[0] = t->axis[1] * arm[2] - t->axis[2] * arm[1];
        p[1] = t->axis[2] * arm[0] - t->axis[0] * arm[2];
        p[2] = t->axis[0] * arm[1] - t->axis[1] * arm[0];
    }
}
