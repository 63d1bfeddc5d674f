// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/rigid.h"

#include "base/vector.h"
#include "body/soft.h"
#include "core/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEAT_PASSES 30
#define SEATED      1e-12 // of the distance from the mean
#define SINGULAR    1e-10

tdStatus td_rigid_create(tdArena *arena, const tdSoft *soft, tdRigid *out, tdError *error)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    *out = (tdRigid){.n_nodes = soft->n_nodes};
    out->X = TD_TAKE(arena, double, coords);
    out->mX = TD_TAKE(arena, double, coords);
    out->weight = TD_TAKE(arena, double, soft->n_nodes);
    double *ones = td_take(2 * (size_t)coords, sizeof *ones), sum = 0;
    if (out->X == NULL || out->mX == NULL || out->weight == NULL || ones == NULL)
    {
        free(ones);
        return td_fail_memory(error, "the rigid motion of a body");
    }
    for (int64_t i = 0; i < coords; i++)
        ones[i] = 1;
    td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, ones, ones + coords, false);
    for (int64_t i = 0; i < soft->n_nodes; i++)
        sum += out->weight[i] = ones[coords + 3 * i];
    for (int64_t i = 0; i < coords; i++)
    {
        out->weight[i / 3] /= i % 3 == 0 ? sum : 1;
        out->centre[i % 3] += out->weight[i / 3] * soft->rest[i];
    }
    for (int64_t i = 0; i < coords; i++)
        out->X[i] = soft->rest[i] - out->centre[i % 3];
    td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, out->X, out->mX, false);
    free(ones);
    return TD_OK;
}

void td_rigid_split(const tdRigid *rigid, const double *q, double x[3], double R[9], double *d)
{
    // The polar rotation of A = sum q (m X)' is that of the points A e_k for e_k, with their opposites so that the
    // mean is 0.
    double A[9] = {0}, from[18] = {0}, to[18];
    tdRotationFit fit;
    x[0] = x[1] = x[2] = 0;
    for (int64_t i = 0; i < 3 * rigid->n_nodes; i++)
        x[i % 3] += rigid->weight[i / 3] * q[i];
    for (int64_t node = 0; node < rigid->n_nodes; node++)
        for (int k = 0; k < 9; k++)
            A[k] += (q[3 * node + k / 3] - x[k / 3]) * rigid->mX[3 * node + k % 3];
    for (int k = 0; k < 3; k++)
    {
        from[3 * k + k] = 1;
        from[9 + 3 * k + k] = -1;
        for (int c = 0; c < 3; c++)
        {
            to[3 * k + c] = A[3 * c + k];
            to[9 + 3 * k + c] = -A[3 * c + k];
        }
    }
    td_rotation_fit(6, from, to, &fit);
    for (int k = 0; k < 3; k++)
    {
        double turned[3];
        td_rotation_apply(fit.q, from + 3 * k, turned);
        for (int c = 0; c < 3; c++)
            R[3 * c + k] = turned[c];
    }
    for (int64_t node = 0; node < rigid->n_nodes; node++)
        for (int c = 0; c < 3; c++)
        {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += R[3 * k + c] * (q[3 * node + k] - x[k]);
            d[3 * node + c] = sum - rigid->X[3 * node + c];
        }
}

// ---------------------------------------------------------------- seat

static void mean_of(int32_t n_nodes, const double *q, double mean[3])
{
    mean[0] = mean[1] = mean[2] = 0;
    for (int64_t i = 0; i < 3 * (int64_t)n_nodes; i++)
        mean[i % 3] += q[i] / n_nodes;
}

// q <- to + R (q - from)
static void move(int32_t n_nodes, const double from[3], const double R[4], const double to[3], double *q)
{
    for (int64_t i = 0; i < 3 * (int64_t)n_nodes; i += 3)
    {
        double arm[3], turned[3];
        td_subtract3(q + i, from, arm);
        td_rotation_apply(R, arm, turned);
        for (int c = 0; c < 3; c++)
            q[i + c] = to[c] + turned[c];
    }
}

// A x = b by elimination, with the largest pivot of a column. False: singular.
static bool solve6(double A[6][6], double b[6])
{
    for (int k = 0; k < 6; k++)
    {
        int pivot = k;
        for (int i = k + 1; i < 6; i++)
            pivot = fabs(A[i][k]) > fabs(A[pivot][k]) ? i : pivot;
        if (!(fabs(A[pivot][k]) > SINGULAR))
            return false;
        for (int j = 0; j < 6; j++)
        {
            double swap = A[k][j];
            A[k][j] = A[pivot][j];
            A[pivot][j] = swap;
        }
        double first = b[k];
        b[k] = b[pivot];
        b[pivot] = first;
        for (int i = 0; i < 6; i++)
        {
            double share = i == k ? 0 : A[i][k] / A[k][k];
            for (int j = k; j < 6; j++)
                A[i][j] -= share * A[k][j];
            b[i] -= share * b[k];
        }
    }
    for (int k = 0; k < 6; k++)
        b[k] /= A[k][k];
    return true;
}

// Newton's method from the turn that fits all nodes best. Lengths are in units of the body, so that pivots are of
// order one.
bool td_rigid_seat(int32_t n_nodes, const double *rest, const int32_t held[6], double *q)
{
    double from[3], to[3], back[4], size = 0;
    tdRotationFit fit;
    mean_of(n_nodes, q, from);
    mean_of(n_nodes, rest, to);
    td_rotation_fit(n_nodes, rest, q, &fit);
    for (int k = 0; k < 4; k++)
        back[k] = k == 0 ? fit.q[0] : -fit.q[k];
    move(n_nodes, from, back, to, q);
    for (int64_t i = 0; i < 3 * (int64_t)n_nodes; i++)
        size = fmax(size, fabs(rest[i] - to[i % 3]));
    for (int pass = 0; pass < SEAT_PASSES && size > 0; pass++)
    {
        double A[6][6] = {{0}}, b[6], off = 0, turn[4];
        mean_of(n_nodes, q, from);
        for (int k = 0; k < 6; k++)
        {
            double arm[3];
            int c = held[k] % 3;
            td_subtract3(q + held[k] - c, from, arm);
            A[k][c] = 1;
            A[k][3 + (c + 1) % 3] = arm[(c + 2) % 3] / size; // (w x arm)_c
            A[k][3 + (c + 2) % 3] = -arm[(c + 1) % 3] / size;
            b[k] = (rest[held[k]] - q[held[k]]) / size;
            if (!isfinite(b[k]))
                return false;
            off = fmax(off, fabs(b[k]));
        }
        if (off <= SEATED)
        {
            for (int k = 0; k < 6; k++)
                q[held[k]] = rest[held[k]];
            return true;
        }
        if (!solve6(A, b))
            return false;
        td_rotation_from_vector(b + 3, turn);
        for (int c = 0; c < 3; c++)
            to[c] = from[c] + size * b[c];
        move(n_nodes, from, turn, to, q);
    }
    return false;
}
