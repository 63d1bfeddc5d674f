// SPDX-License-Identifier: Apache-2.0
// What contact sees of a reduced body: where nodes of its surface are, and rows of points over its coordinates. Cost
// grows with the nodes that are asked for, never with the mesh.
//
// On a frame, with R and y those of the start of the step, a point moves by
//
//     dx/dt = v + R (Phi a - [y] w)
//
// and f there has the torque R (y x R'f) about the centre. The rows of theta are those of virtual turns where the frame
// is by now (q_c), R1 T1 d theta in space, so that the torque enters the balance of angular momentum as it is:
//
//     row of theta = T1' R1' R (y x R'f)
//
// which in the first pass of a step is y x R'f. With T1 theta = theta and w = theta / h, J v is the velocity above.
#include "reduce/reduced_body.h"

#include "base/vector.h"

#include <string.h>

void td_reduced_surface(const tdBody *body, const tdState *state, int32_t n, const int32_t *nodes, double *x, double *u)
{
    const tdReduced *reduced = td_reduced_of(body);
    const double *q = state->q + body->first, *v = state->v + body->first, *rest = reduced->soft->rest;
    td_reduced_kernels(state->isa)->expand(reduced->n, reduced->stride, reduced->basis, n, nodes, q, v, x, u);
    if (reduced->floating == NULL)
    {
        for (int32_t i = 0; i < n; i++)
            for (int c = 0; c < 3; c++)
                x[3 * (int64_t)nodes[i] + c] += rest[3 * (int64_t)nodes[i] + c];
        td_reduced_dents_nodes(body, state, n, nodes, x);
        return;
    }
    const double *centre = reduced->floating->centre;
    int r = reduced->r;
    tdFramePose pose;
    td_frame_pose_at(td_reduced_mine(body, state)->floating->turn, q + r + 3, &pose);
    for (int32_t i = 0; i < n; i++)
    {
        int64_t at = 3 * (int64_t)nodes[i];
        double y[3], moved[3];
        for (int c = 0; c < 3; c++)
            y[c] = rest[at + c] - centre[c] + x[at + c];
        td_cross3(v + r + 3, y, moved);
        for (int c = 0; c < 3; c++)
            moved[c] += u[at + c];
        td_mat3_apply(pose.R, y, x + at);
        td_mat3_apply(pose.R, moved, u + at);
        for (int c = 0; c < 3; c++)
        {
            x[at + c] += centre[c] + q[r + c];
            u[at + c] += v[r + c];
        }
    }
    td_reduced_dents_nodes(body, state, n, nodes, x);
}

/// A point of a body on a frame.
typedef struct touch
{
    double R[9]; // at the start of the step
    double y[3];
    double turn[9]; // T1'R1'R
} touch;

static void find_touch(const tdBody *body, const tdState *state, int n, const int32_t *nodes, const double *weights,
                       touch *out)
{
    const tdReduced *reduced = td_reduced_of(body);
    const double *q = state->q + body->first, *turn = td_reduced_mine(body, state)->floating->turn;
    int r = reduced->r;
    tdFramePose start, now;
    td_frame_pose_at(turn, q + r + 3, &start);
    td_frame_pose_at(turn, state->q_c + body->first + r + 3, &now);
    memcpy(out->R, start.R, sizeof out->R);
    memset(out->y, 0, sizeof out->y);
    for (int k = 0; k < n; k++)
        for (int c = 0; c < 3; c++)
        {
            int64_t i = 3 * (int64_t)nodes[k] + c;
            double y = reduced->soft->rest[i] - reduced->floating->centre[c];
            for (int j = 0; j < r; j++)
                y += reduced->basis[i * reduced->stride + j] * q[j];
            out->y[c] += weights[k] * y;
        }
    double dent[3] = {0}, local[3];
    td_reduced_dents_arm(body, state, n, nodes, weights, dent);
    td_mat3_back(start.R, dent, local);
    for (int c = 0; c < 3; c++)
        out->y[c] += local[c];
    for (int c = 0; c < 3; c++) // columns
    {
        const double axis[3] = {start.R[c], start.R[3 + c], start.R[6 + c]};
        double back[3], row[3];
        td_mat3_back(now.R, axis, back);
        td_mat3_back(now.T, back, row);
        for (int d = 0; d < 3; d++)
            out->turn[3 * d + c] = row[d];
    }
}

// Rows of the frame for a force f, and g = R'f.
static void frame_row(const touch *at, const double f[3], double g[3], double turn[3])
{
    double torque[3];
    td_mat3_back(at->R, f, g);
    td_cross3(at->y, g, torque);
    td_mat3_apply(at->turn, torque, turn);
}

// row += Phi' g at the point, over the first n columns
static void add_modes(const tdReduced *reduced, int n_nodes, const int32_t *nodes, const double *weights,
                      const double g[3], int n, double *row)
{
    for (int k = 0; k < n_nodes; k++)
        for (int c = 0; c < 3; c++)
        {
            const double *X = reduced->basis + (3 * (int64_t)nodes[k] + c) * reduced->stride;
            double factor = weights[k] * g[c];
            for (int j = 0; j < n; j++)
                row[j] += factor * X[j];
        }
}

static double given_motion(const tdReduced *reduced, int n_nodes, const int32_t *nodes, const double *weights,
                           const double g[3], const double *v)
{
    double sum = 0;
    for (int k = 0; k < n_nodes; k++)
        for (int c = 0; c < 3; c++)
        {
            const double *X = reduced->basis + (3 * (int64_t)nodes[k] + c) * reduced->stride;
            for (int j = reduced->r; j < reduced->n; j++)
                sum += weights[k] * g[c] * X[j] * v[j];
        }
    return sum;
}

tdStatus td_reduced_condense(const tdBody *body, tdState *state, tdBodyBlock *out)
{
    const tdReduced *reduced = td_reduced_of(body);
    int n = td_reduced_unknowns(reduced);
    *out = (tdBodyBlock){.n = n, .stride = reduced->wide, .A = td_reduced_mine(body, state)->A, .touched = n};
    td_reduced_dents_block(body, state, out);
    return TD_OK;
}

int32_t td_reduced_touch(const tdBody *body, tdState *state, const tdTouchPoint *point, int part,
                         const tdBodyBlock *block, double sign, double axes[3][3], double *J, int32_t *columns,
                         double *drift)
{
    const tdReduced *reduced = td_reduced_of(body);
    int r = reduced->r, unknowns = td_reduced_unknowns(reduced), n = point->n;
    const int32_t *nodes = point->node;
    const double *weights = point->weight;
    touch at;
    (void)part;
    if (block == NULL)
        return 0;
    int32_t dents[3 * TD_TOUCH_NODES];
    double shares[TD_TOUCH_NODES];
    int32_t n_dents = td_reduced_dents_touch(body, state, point, block, dents, shares), all = unknowns + 3 * n_dents;
    for (int j = 0; j < all; j++)
        columns[j] = j < unknowns ? j : dents[j - unknowns];
    memset(J, 0, 3 * (size_t)all * sizeof *J);
    if (reduced->floating != NULL)
        find_touch(body, state, n, nodes, weights, &at);
    for (int i = 0; i < 3; i++)
    {
        double *row = J + (int64_t)i * all, f[3], g[3];
        for (int c = 0; c < 3; c++)
            f[c] = g[c] = sign * axes[i][c];
        if (reduced->floating != NULL)
        {
            memcpy(row + r, f, sizeof f);
            frame_row(&at, f, g, row + r + 3);
        }
        add_modes(reduced, n, nodes, weights, g, r, row);
        for (int j = 0; j < 3 * n_dents; j++) // dents are along the axes of the world
            row[unknowns + j] = shares[j / 3] * f[j % 3];
        drift[i] += given_motion(reduced, n, nodes, weights, g, state->v_new + body->first);
    }
    return all;
}

void td_reduced_push(const tdBody *body, const tdState *state, const tdTouchPoint *point, int part, const double f[3],
                     double *m)
{
    const tdReduced *reduced = td_reduced_of(body);
    double g[3] = {f[0], f[1], f[2]};
    (void)part;
    if (reduced->floating != NULL)
    {
        double turn[3];
        touch at;
        find_touch(body, state, point->n, point->node, point->weight, &at);
        frame_row(&at, f, g, turn);
        for (int c = 0; c < 3; c++)
        {
            m[reduced->r + c] += f[c];
            m[reduced->r + 3 + c] += turn[c];
        }
    }
    add_modes(reduced, point->n, point->node, point->weight, g, reduced->n, m);
}
