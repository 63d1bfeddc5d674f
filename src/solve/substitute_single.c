// SPDX-License-Identifier: Apache-2.0
// See substitute.h: in single precision, by eight or sixteen right-hand sides.
#define TD_SINGLE
#include "solve/substitute_sweep.h"

#include <math.h>

#define LANES TD_SUBSTITUTE_LANES

void td_substitute_single(tdSubstitutionSingle *t, tdTasks *tasks, const float *L, const int32_t *coord,
                          const double *scale, const double *b, double *x)
{
    const tdTriangularShape *shape = t->shape;
    double back[LANES];
    t->L = L;
    t->lanes = LANES;
    for (int j = 0; j < LANES; j++)
        back[j] = scale[j] > 0 ? 1 / scale[j] : 0;
    for (int32_t i = 0; i < shape->n; i++)
    {
        const double *from = b + LANES * (int64_t)coord[shape->order[i]];
        for (int j = 0; j < LANES; j++)
            t->x[LANES * (int64_t)i + j] = (float)(scale[j] * from[j]);
    }
    sweep(t, tasks, NULL);
    for (int32_t i = 0; i < shape->n; i++)
    {
        double *to = x + LANES * (int64_t)coord[shape->order[i]];
        for (int j = 0; j < LANES; j++)
            to[j] += back[j] * (double)t->x[LANES * (int64_t)i + j];
    }
}

void td_substitute_columns(tdSubstitutionSingle *t, tdTasks *tasks, const float *L, const int32_t *coord, int n,
                           const double *const *b, double *const *x)
{
    const tdTriangularShape *shape = t->shape;
    double scale[TD_SUBSTITUTE_FLOATS] = {0}, back[TD_SUBSTITUTE_FLOATS] = {0};
    t->L = L;
    t->lanes = n > TD_SUBSTITUTE_LANES ? TD_SUBSTITUTE_FLOATS : TD_SUBSTITUTE_LANES;
    for (int j = 0; j < n; j++)
    {
        double square = 0;
        for (int32_t i = 0; i < shape->n; i++)
            square += b[j][coord[i]] * b[j][coord[i]];
        back[j] = sqrt(square);
        scale[j] = back[j] > 0 ? 1 / back[j] : 0;
    }
    for (int32_t i = 0; i < shape->n; i++)
    {
        int32_t place = coord[shape->order[i]];
        float *to = t->x + (int64_t)i * t->lanes;
        for (int j = 0; j < n; j++)
            to[j] = (float)(scale[j] * b[j][place]);
        for (int j = n; j < t->lanes; j++)
            to[j] = 0;
    }
    sweep(t, tasks, NULL);
    for (int32_t i = 0; i < shape->n; i++)
    {
        int32_t place = coord[shape->order[i]];
        for (int j = 0; j < n; j++)
            x[j][place] = back[j] * (double)t->x[(int64_t)i * t->lanes + j];
    }
}
