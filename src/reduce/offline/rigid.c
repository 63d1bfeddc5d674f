// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/rigid.h"

#include "body/soft.h"
#include "constraint/rotation.h"

#include <stdlib.h>
#include <string.h>

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
