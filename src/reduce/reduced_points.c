// SPDX-License-Identifier: Apache-2.0
// What constraints see of a reduced body. Positions of a set of points are x = rest + X q with X of three rows a point,
// whatever the mesh. A stiffness H between points i and j adds H X_j to the rows Y_i of the set, so that all of a set
// goes to the matrix by one product X'Y.
//
// On a frame the points are x + R y with y = rest + X alpha, and their motion seen from the frame is
//
//     R'dx = X d alpha + R'dx_frame - [y] T d theta      rows of `wide`, made where constraints are taken
//
// so that H is turned into the frame; forces f at points that turn have a stiffness of their own, `bend`.
//
// The volume that a surface encloses is a cubic in q. With y = (1, q) and the symmetric tensor T,
//
//     V = T_ijk y_i y_j y_k      S_ij = T_ijk y_k      dV/dy = 3 S y      d2V/dy2 = 6 S
//
// and T comes from the second derivatives of the volume of the triangles at each column of X in place of positions.
#include "body/spring.h"
#include "reduce/reduced_body.h"

#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tdReducedSet *set_of(const tdPointSet *set)
{
    return set->data;
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

// Three rows with one vector: one would wait for its own sum.
static void dot3(int n, int64_t stride, const double *rows, const double *x, double out[3])
{
    const double *a = rows, *b = rows + stride, *c = rows + 2 * stride;
    double sum[3] = {0};
    for (int j = 0; j < n; j++)
    {
        sum[0] += a[j] * x[j];
        sum[1] += b[j] * x[j];
        sum[2] += c[j] * x[j];
    }
    memcpy(out, sum, sizeof sum);
}

// ---------------------------------------------------------------- points

// Adds a set to the body, with coordinates for a row over all of them.
static tdStatus add_set(tdModel *model, const tdBody *body, tdPointSet *set, tdReducedSet **out, tdError *error)
{
    tdReduced *reduced = body->data;
    tdReducedSet *own = TD_TAKE(&model->arena, tdReducedSet, 1);
    set->size = reduced->coords;
    set->coord = TD_TAKE(&model->arena, int32_t, reduced->coords);
    if (own == NULL || set->coord == NULL)
        return td_fail_memory(error, "the points of a reduced body");
    if (reduced->n_sets == TD_REDUCED_SETS)
        return td_fail(error, TD_ERROR_INPUT,
                       "reduced body '%s' has more than %d actuators, effectors and probes; leave some out", body->name,
                       TD_REDUCED_SETS);
    for (int i = 0; i < reduced->coords; i++)
        set->coord[i] = i;
    own->number = reduced->n_sets;
    reduced->sets[reduced->n_sets++] = own;
    set->data = *out = own;
    return TD_OK;
}

// Row 3 p + c of a matrix of `stride` columns: weighted means of rows of the basis, from column `at`.
static void fill_rows(const tdReduced *reduced, const tdPointSet *set, int stride, int at, double *X)
{
    for (int32_t p = 0; p < set->n; p++)
        for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
            for (int c = 0; c < 3; c++)
            {
                const double *from = reduced->basis + (3 * (int64_t)set->nodes[k] + c) * reduced->stride;
                double *to = X + (3 * (int64_t)p + c) * stride + at;
                for (int j = 0; j < reduced->n; j++)
                    to[j] += set->weights[k] * from[j];
            }
}

// On a frame: from its centre.
static double rest_of(const tdReduced *reduced, const tdPointSet *set, int32_t p, int c)
{
    double sum = 0, centre = reduced->floating == NULL ? 0 : reduced->floating->centre[c];
    for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
        sum += set->weights[k] * (reduced->soft->rest[3 * (int64_t)set->nodes[k] + c] - centre);
    return sum;
}

tdStatus td_reduced_point_set(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error)
{
    tdReduced *reduced = body->data;
    tdReducedSet *own = NULL;
    TD_TRY(add_set(model, body, set, &own, error));
    own->n = set->n;
    own->first = reduced->set_rows;
    reduced->set_rows += 3 * (int64_t)set->n;
    own->X = TD_TAKE(&model->arena, double, 3 * (int64_t)set->n * reduced->stride);
    own->rest = TD_TAKE(&model->arena, double, 3 * (int64_t)set->n);
    if (own->X == NULL || own->rest == NULL)
        return td_fail_memory(error, "the points of a reduced body");
    fill_rows(reduced, set, reduced->stride, 0, own->X);
    for (int32_t p = 0; p < set->n; p++)
        for (int c = 0; c < 3; c++)
            own->rest[3 * (int64_t)p + c] = rest_of(reduced, set, p, c);
    return TD_OK;
}

static void local_positions(const tdReduced *reduced, const tdPointSet *set, const double *q, double *x)
{
    const tdReducedSet *own = set_of(set);
    bool compiled = own != NULL && own->X != NULL;
    for (int64_t i = 0; i < 3 * (int64_t)set->n && compiled; i += 3)
    {
        dot3(reduced->n, reduced->stride, own->X + i * reduced->stride, q, x + i);
        for (int c = 0; c < 3; c++)
            x[i + c] += own->rest[i + c];
    }
    // The points of a volume and of a spring, which have no rows of their own.
    for (int32_t p = 0; p < set->n && !compiled; p++)
        for (int c = 0; c < 3; c++)
        {
            double sum = rest_of(reduced, set, p, c);
            for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
                sum += set->weights[k] *
                       dot(reduced->n, reduced->basis + (3 * (int64_t)set->nodes[k] + c) * reduced->stride, q);
            x[3 * (int64_t)p + c] = sum;
        }
}

static void pose_of(const tdReduced *reduced, const tdReducedState *mine, const double *q, tdFramePose *pose)
{
    td_frame_pose_at(mine->floating->turn, q + reduced->r + 3, pose);
}

void td_reduced_positions(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, double *x)
{
    const tdReduced *reduced = td_reduced_of(body);
    local_positions(reduced, set, q, x);
    if (reduced->floating == NULL)
        return;
    tdFramePose pose;
    pose_of(reduced, td_reduced_mine(body, state), q, &pose);
    for (int32_t p = 0; p < set->n; p++)
    {
        double *at = x + 3 * (int64_t)p, turned[3];
        td_mat3_apply(pose.R, at, turned);
        for (int c = 0; c < 3; c++)
            at[c] = reduced->floating->centre[c] + q[reduced->r + c] + turned[c];
    }
}

// One point of a set, from the centre of the frame.
static void local_point(const tdReduced *reduced, const tdReducedSet *own, int32_t p, const double *q, double y[3])
{
    int64_t i = 3 * (int64_t)p;
    dot3(reduced->n, reduced->stride, own->X + i * reduced->stride, q, y);
    for (int c = 0; c < 3; c++)
        y[c] += own->rest[i + c];
}

static void pull_frame(const tdReduced *reduced, const tdReducedState *mine, const tdPointSet *set, const double *q,
                       const double *f, double *row)
{
    const tdReducedSet *own = set_of(set);
    int r = reduced->r;
    double torque[3] = {0, 0, 0};
    tdFramePose pose;
    pose_of(reduced, mine, q, &pose);
    for (int32_t p = 0; p < set->n; p++)
    {
        const double *at = f + 3 * (int64_t)p, *X = own->X + 3 * (int64_t)p * reduced->stride;
        double g[3], y[3], moment[3];
        td_mat3_back(pose.R, at, g);
        local_point(reduced, own, p, q, y);
        td_cross3(y, g, moment);
        for (int c = 0; c < 3; c++)
        {
            row[r + c] += at[c];
            torque[c] += moment[c];
            for (int j = 0; j < r; j++)
                row[j] += g[c] * X[c * reduced->stride + j];
        }
    }
    td_mat3_back(pose.T, torque, row + r + 3);
}

void td_reduced_pull(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, const double *f,
                     double *row)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdReducedSet *own = set_of(set);
    memset(row, 0, (size_t)reduced->coords * sizeof *row);
    if (reduced->floating != NULL)
    {
        pull_frame(reduced, td_reduced_mine(body, state), set, q, f, row);
        return;
    }
    for (int64_t i = 0; i < 3 * (int64_t)set->n; i++)
        for (int j = 0; j < reduced->n; j++)
            row[j] += f[i] * own->X[i * reduced->stride + j];
}

// ---------------------------------------------------------------- stiffness

// Y += H X, three rows of each
static void add_rows(int stride, const double H[9], const double *X, double *Y)
{
    for (int r = 0; r < 3; r++)
        for (int j = 0; j < stride; j++)
            Y[r * (int64_t)stride + j] +=
                H[3 * r] * X[j] + H[3 * r + 1] * X[stride + j] + H[3 * r + 2] * X[2 * (int64_t)stride + j];
}

// Rows of a set on a frame, made when the first of its stiffness comes.
static const double *wide_rows(const tdReduced *reduced, tdReducedState *mine, const tdReducedSet *own, const double *q)
{
    int r = reduced->r, wide = reduced->wide;
    double *to = mine->floating->X + own->first * wide;
    if (mine->stiffened[2 * own->number] || mine->stiffened[2 * own->number + 1])
        return to;
    tdFramePose pose;
    pose_of(reduced, mine, q, &pose);
    for (int32_t p = 0; p < own->n; p++)
    {
        double y[3];
        local_point(reduced, own, p, q, y);
        const double turn[9] = {0, y[2], -y[1], -y[2], 0, y[0], y[1], -y[0], 0}; // -[y]
        for (int c = 0; c < 3; c++)
        {
            int64_t i = 3 * (int64_t)p + c;
            memcpy(to + i * wide, own->X + i * reduced->stride, (size_t)r * sizeof *to);
            for (int d = 0; d < 3; d++)
            {
                to[i * wide + r + d] = pose.R[3 * d + c];
                to[i * wide + r + 3 + d] =
                    turn[3 * c] * pose.T[d] + turn[3 * c + 1] * pose.T[3 + d] + turn[3 * c + 2] * pose.T[6 + d];
            }
        }
    }
    return to;
}

// out = R'H R
static void turn_back(const tdReduced *reduced, const tdReducedState *mine, const double *q, const double H[9],
                      double out[9])
{
    tdFramePose pose;
    double half[9];
    pose_of(reduced, mine, q, &pose);
    for (int i = 0; i < 3; i++)
        td_mat3_back(pose.R, H + 3 * i, half + 3 * i); // rows of H R
    for (int j = 0; j < 3; j++)
    {
        const double column[3] = {half[j], half[3 + j], half[6 + j]};
        double turned[3];
        td_mat3_back(pose.R, column, turned);
        for (int i = 0; i < 3; i++)
            out[3 * i + j] = turned[i];
    }
}

void td_reduced_stiffen(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                        int32_t j, const double H[9], bool definite)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const tdReducedSet *own = set_of(set);
    (void)model;
    int64_t step = 3 * (int64_t)reduced->wide;
    const double *X = own->X;
    double *Y = mine->stiff[!definite] + own->first * reduced->wide, turned[9];
    if (reduced->floating != NULL)
    {
        const double *q = state->q_c + body->first;
        X = wide_rows(reduced, mine, own, q);
        turn_back(reduced, mine, q, H, turned);
        H = turned;
    }
    mine->stiffened[2 * own->number + !definite] = true;
    add_rows(reduced->wide, H, X + j * step, Y + i * step);
    if (i == j)
        return;
    const double transposed[9] = {H[0], H[3], H[6], H[1], H[4], H[7], H[2], H[5], H[8]};
    add_rows(reduced->wide, transposed, X + i * step, Y + j * step);
}

// Forces g = R'f at y: virtual turns w give w'(sym(g y') - g.y I) w, with modes 2 w . (X_j x g). Forces that balance
// each other, as those of a cable within the body, take away what H makes of a turn of the whole, which stretches
// nothing: that part is kept whatever happens to other stiffness that may be indefinite.
void td_reduced_bend(const tdBody *body, tdState *state, const tdPointSet *set, const double *q, const double *f)
{
    const tdReduced *reduced = td_reduced_of(body);
    if (reduced->floating == NULL)
        return;
    tdFloatingState *floating = td_reduced_mine(body, state)->floating;
    const tdReducedSet *own = set_of(set);
    int r = reduced->r, wide = reduced->wide;
    double sum[3] = {0, 0, 0}, size = 0, V[9] = {0}, S[9];
    for (int64_t i = 0; i < 3 * (int64_t)set->n; i++)
    {
        sum[i % 3] += f[i];
        size += fabs(f[i]);
    }
    bool other = fabs(sum[0]) + fabs(sum[1]) + fabs(sum[2]) > 1e-9 * size;
    double *B = floating->bend[other];
    tdFramePose pose;
    floating->bent[other] = true;
    pose_of(reduced, td_reduced_mine(body, state), q, &pose);
    for (int32_t p = 0; p < set->n; p++)
    {
        const double *X = own->X + 3 * (int64_t)p * reduced->stride;
        double g[3], y[3];
        td_mat3_back(pose.R, f + 3 * (int64_t)p, g);
        local_point(reduced, own, p, q, y);
        for (int k = 0; k < 9; k++)
            V[k] += 0.5 * (g[k / 3] * y[k % 3] + y[k / 3] * g[k % 3]) - (k % 4 == 0 ? td_dot3(g, y) : 0);
        for (int j = 0; j < r; j++)
        {
            const double mode[3] = {X[j], X[reduced->stride + j], X[2 * (int64_t)reduced->stride + j]};
            double across[3], row[3];
            td_cross3(mode, g, across);
            td_mat3_back(pose.T, across, row);
            for (int c = 0; c < 3; c++)
                B[(r + 3 + c) * (int64_t)wide + j] += row[c];
        }
    }
    for (int c = 0; c < 3; c++) // T'V T
    {
        const double column[3] = {pose.T[c], pose.T[3 + c], pose.T[6 + c]};
        td_mat3_apply(V, column, S + 3 * c);
    }
    for (int c = 0; c < 3; c++)
    {
        double row[3];
        td_mat3_back(pose.T, S + 3 * c, row);
        for (int d = 0; d < 3; d++)
            B[(r + 3 + d) * (int64_t)wide + r + 3 + c] += row[d];
    }
}

void td_reduced_clear_coupling(const tdReduced *reduced, tdReducedState *mine)
{
    for (int k = 0; k < 2 * reduced->n_sets; k++)
    {
        if (!mine->stiffened[k])
            continue;
        const tdReducedSet *own = reduced->sets[k / 2];
        int64_t stride = reduced->stride, wide = reduced->wide;
        if (own->T == NULL)
            memset(mine->stiff[k % 2] + own->first * wide, 0, 3 * (size_t)(own->n * wide) * sizeof(double));
        else
            memset(mine->coupling, 0, (size_t)(stride * stride) * sizeof(double));
        mine->stiffened[k] = false;
    }
    for (int k = 0; k < 2 && reduced->floating != NULL; k++)
    {
        if (mine->floating->bent[k])
            memset(mine->floating->bend[k], 0, (size_t)reduced->wide * (size_t)reduced->wide * sizeof(double));
        mine->floating->bent[k] = false;
    }
}

void td_reduced_add_coupling(const tdReduced *reduced, tdReducedState *mine, const tdState *state, double factor,
                             double *A)
{
    const tdReducedKernels *kernels = td_reduced_kernels(state->isa);
    int64_t stride = reduced->stride, wide = reduced->wide, square = wide * wide;
    double *sum = mine->L; // free until the matrix is there
    bool any = false;
    memset(sum, 0, (size_t)square * sizeof *sum);
    for (int k = 0; k < 2 * reduced->n_sets; k++)
    {
        const tdReducedSet *own = reduced->sets[k / 2];
        if (!mine->stiffened[k] || own->T != NULL || (k % 2 != 0 && mine->projecting))
            continue;
        const double *X = reduced->floating != NULL ? mine->floating->X + own->first * wide : own->X;
        kernels->gram(3 * (int64_t)own->n, reduced->wide, X, mine->stiff[k % 2] + own->first * wide, sum);
        any = true;
    }
    for (int64_t k = 0; k < square && any; k++)
        A[k] += factor * sum[k];
    for (int64_t i = 0; i < reduced->n && !mine->projecting; i++)
        for (int64_t j = 0; j <= i; j++)
            A[i * wide + j] += factor * mine->coupling[i * stride + j];
    for (int n = 0; n < (mine->projecting ? 1 : 2) && reduced->floating != NULL; n++)
        for (int64_t k = 0; k < square && mine->floating->bent[n]; k++)
            A[k] += factor * mine->floating->bend[n][k];
}

// ---------------------------------------------------------------- springs

// J = dx/dq (3 x wide) of a spring's point into the scratch of the kernels, and the point x itself.
static const double *spring_rows(const tdReduced *reduced, tdReducedState *mine, const tdSpring *spring,
                                 const double *q, double x[3])
{
    int64_t stride = reduced->stride, wide = reduced->wide;
    double *J = mine->rows, y[3] = {0, 0, 0};
    memset(J, 0, 3 * (size_t)wide * sizeof *J);
    for (int c = 0; c < 3; c++)
    {
        double *row = J + c * wide;
        for (int a = 0; a < 3; a++)
        {
            int64_t i = 3 * (int64_t)spring->nodes[a] + c;
            for (int j = 0; j < reduced->n; j++)
                row[j] += spring->weights[a] * reduced->basis[i * stride + j];
            y[c] += spring->weights[a] * reduced->soft->rest[i];
        }
        y[c] += dot(reduced->n, row, q);
    }
    memcpy(x, y, 3 * sizeof *x);
    if (reduced->floating == NULL)
        return J;
    // On a frame: x = centre + q_x + R y, with y and the rows above from the centre.
    tdFramePose pose;
    int r = reduced->r;
    pose_of(reduced, mine, q, &pose);
    for (int c = 0; c < 3; c++)
        y[c] -= reduced->floating->centre[c];
    for (int j = 0; j < r; j++)
    {
        double local[3] = {J[j], J[wide + j], J[2 * wide + j]}, turned[3];
        td_mat3_apply(pose.R, local, turned);
        for (int c = 0; c < 3; c++)
            J[c * wide + j] = turned[c];
    }
    td_mat3_apply(pose.R, y, x);
    for (int c = 0; c < 3; c++)
    {
        double unit[3] = {c == 0, c == 1, c == 2}, g[3], moment[3];
        td_mat3_back(pose.R, unit, g);
        td_cross3(y, g, moment);
        J[c * wide + r + c] = 1;
        td_mat3_back(pose.T, moment, J + c * wide + r + 3);
        x[c] += reduced->floating->centre[c] + q[r + c];
    }
    return J;
}

void td_reduced_spring_point(const tdBody *body, const tdState *state, const tdSpring *spring, const double *q,
                             double x[3])
{
    spring_rows(td_reduced_of(body), td_reduced_mine(body, state), spring, q, x);
}

void td_reduced_spring_loads(const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    double *load = state->load + body->first, x[3];
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        if (!td_spring_get(state->springs, k, &spring) || spring.body != body->index)
            continue;
        const double *J = spring_rows(reduced, td_reduced_mine(body, state), &spring, state->q_e + body->first, x);
        double H[9], way[3], f[3];
        if (td_reduced_dents_spring(body, state, &spring, H))
            td_reduced_dents_at(body, state, &spring, x);
        for (int c = 0; c < 3; c++)
            way[c] = spring.anchor[c] - x[c];
        td_mat3_apply(H, way, f);
        for (int c = 0; c < 3; c++)
            for (int j = 0; j < reduced->coords; j++)
                load[j] += f[c] * J[c * (int64_t)reduced->wide + j];
    }
}

void td_reduced_spring_stiffness(const tdBody *body, const tdState *state, double factor, double *A)
{
    const tdReduced *reduced = td_reduced_of(body);
    int64_t wide = reduced->wide;
    double x[3];
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        if (!td_spring_get(state->springs, k, &spring) || spring.body != body->index)
            continue;
        const double *J = spring_rows(reduced, td_reduced_mine(body, state), &spring, state->q_e + body->first, x);
        double H[9];
        td_reduced_dents_spring(body, state, &spring, H);
        for (int c = 0; c < 9; c++)
            for (int i = 0; i < reduced->coords && H[c] != 0; i++)
                for (int j = 0; j <= i; j++)
                    A[i * wide + j] += factor * H[c] * J[c / 3 * wide + i] * J[c % 3 * wide + j];
    }
}

// ---------------------------------------------------------------- volumes

static int64_t packed(int64_t i, int64_t j)
{
    return i * (i + 1) * (i + 2) / 6 + j * (j + 1) / 2;
}

// Columns of y in whole registers.
static int width_of(const tdReduced *reduced)
{
    return reduced->stride + 4;
}

// Y = d2V/dx2 X at the positions in column k of X.
static void curvature(const tdMeasure *measure, int width, const double *X, int k, double *Y)
{
    memset(Y, 0, 3 * (size_t)measure->n * (size_t)width * sizeof *Y);
    for (int32_t t = 0; t < measure->n_tris; t++)
        for (int i = 0; i < 3; i++)
        {
            const int32_t *p = measure->tris + 3 * (int64_t)t;
            int64_t a = 3 * (int64_t)p[i] * width, b = 3 * (int64_t)p[(i + 1) % 3] * width,
                    c = 3 * (int64_t)p[(i + 2) % 3] * width + k;
            double c0 = X[c] / 6, c1 = X[c + width] / 6, c2 = X[c + 2 * (int64_t)width] / 6;
            const double H[9] = {0, c2, -c1, -c2, 0, c0, c1, -c0, 0},
                         transposed[9] = {0, -c2, c1, c2, 0, -c0, -c1, c0, 0};
            add_rows(width, H, X + b, Y + a);
            add_rows(width, transposed, X + a, Y + b);
        }
}

static void fill_tensor(const tdReduced *reduced, const tdMeasure *measure, const double *X, double *Y, double *G,
                        double *T)
{
    int width = width_of(reduced);
    for (int k = 0; k <= reduced->n; k++)
    {
        curvature(measure, width, X, k, Y);
        memset(G, 0, (size_t)width * (size_t)width * sizeof *G);
        // The portable kernel, so that a model has the same numbers on every machine.
        td_reduced_kernels(TD_ISA_PORTABLE)->gram(3 * (int64_t)measure->n, width, X, Y, G);
        for (int i = k; i <= reduced->n; i++)
            for (int j = k; j <= i; j++)
                T[packed(i, j) + k] = G[i * (int64_t)width + j] / 6;
    }
}

tdStatus td_reduced_volume_set(tdModel *model, const tdBody *body, const tdMeasure *measure, tdPointSet *set,
                               tdError *error)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedSet *own = NULL;
    TD_TRY(add_set(model, body, set, &own, error));
    int width = width_of(reduced);
    own->T = TD_TAKE(&model->arena, double, packed(reduced->n + 1, 0));
    double *X = td_take(3 * (size_t)set->n, (size_t)width * sizeof *X);
    double *Y = td_take(3 * (size_t)set->n, (size_t)width * sizeof *Y);
    double *G = td_take((size_t)width, (size_t)width * sizeof *G);
    bool good = own->T != NULL && X != NULL && Y != NULL && G != NULL;
    if (good)
    {
        fill_rows(reduced, set, width, 1, X);
        for (int32_t p = 0; p < set->n; p++)
            for (int c = 0; c < 3; c++) // from the first point, as a measure takes it
                X[(3 * (int64_t)p + c) * width] = rest_of(reduced, set, p, c) - rest_of(reduced, set, 0, c);
        fill_tensor(reduced, measure, X, Y, G, own->T);
    }
    free(X);
    free(Y);
    free(G);
    return good ? TD_OK : td_fail_memory(error, "the volume of a reduced body");
}

// S_ij = sum_k T_ijk y_k, both triangles. Each entry of T stands for all permutations of its indices.
static void contract(const tdReduced *reduced, const double *T, const double *y, double *S)
{
    int width = width_of(reduced);
    memset(S, 0, (size_t)width * (size_t)width * sizeof *S);
    for (int i = 0; i <= reduced->n; i++)
        for (int j = 0; j <= i; j++)
        {
            const double *t = T + packed(i, j);
            double *Si = S + i * (int64_t)width, *Sj = S + j * (int64_t)width, sum = 0;
            for (int k = 0; k <= j; k++)
                sum += t[k] * y[k];
            for (int k = 0; k < j; k++)
                Si[k] += t[k] * y[j];
            for (int k = 0; k <= j && j < i; k++)
                Sj[k] += t[k] * y[i];
            Si[j] += sum;
        }
    for (int i = 0; i <= reduced->n; i++)
        for (int j = 0; j < i; j++)
            S[j * (int64_t)width + i] = S[i * (int64_t)width + j];
}

// S of a set at q, which stiffness is asked for right after the row.
static const double *contracted(const tdReduced *reduced, tdReducedState *mine, const tdReducedSet *own,
                                const double *q)
{
    size_t bytes = (size_t)reduced->n * sizeof *q;
    if (mine->volume == own && memcmp(mine->y + 1, q, bytes) == 0)
        return mine->S;
    mine->volume = own;
    mine->y[0] = 1;
    memcpy(mine->y + 1, q, bytes);
    contract(reduced, own->T, mine->y, mine->S);
    return mine->S;
}

double td_reduced_volume(const tdBody *body, tdState *state, const tdPointSet *set, const double *q, double *row)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const double *S = contracted(reduced, mine, set_of(set), q);
    double volume = 0;
    for (int i = 0; i <= reduced->n; i++)
    {
        double sum = 0;
        for (int j = 0; j <= reduced->n; j++)
            sum += S[i * (int64_t)width_of(reduced) + j] * mine->y[j];
        volume += mine->y[i] * sum;
        if (i > 0 && row != NULL)
            row[i - 1] = 3 * sum;
    }
    for (int i = reduced->n; i < reduced->coords && row != NULL; i++)
        row[i] = 0; // a frame moves it as it is
    return volume;
}

void td_reduced_volume_stiffen(const tdBody *body, tdState *state, const tdPointSet *set, const double *q,
                               double factor)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const double *S = contracted(reduced, mine, set_of(set), q);
    for (int i = 0; i < reduced->n; i++)
        for (int j = 0; j < reduced->n; j++)
            mine->coupling[i * (int64_t)reduced->stride + j] +=
                6 * factor * S[(i + 1) * (int64_t)width_of(reduced) + j + 1];
    mine->stiffened[2 * set_of(set)->number + 1] = true;
}
