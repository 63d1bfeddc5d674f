// SPDX-License-Identifier: Apache-2.0
// See substitute.h: in double precision, by one, four or eight right-hand sides, or sixteen where vectors are that
// long.
#include "solve/substitute_sweep.h"

static int32_t place_of(const tdTriangularShape *shape, const tdSubstituteTask *task, int32_t i)
{
    return task->coord == NULL ? shape->order[i] : task->coord[shape->order[i]];
}

// Right-hand sides [first, first + n) of a task, and their solutions.
static void list_columns(const tdSubstituteTask *task, int first, int n, const double **b, double **x)
{
    for (int j = 0; j < n; j++)
    {
        int64_t column = (first + j - 1) * task->stride;
        b[j] = first + j == 0 ? task->b : task->more_b + column;
        x[j] = first + j == 0 ? task->x : task->more_x + column;
    }
}

void td_substitute(tdSubstitution *t, tdTasks *tasks, const tdSubstituteTask *task)
{
    const tdTriangularShape *shape = t->shape;
    t->L = task->values;
    for (int first = 0; first < 1 + task->more; first += t->lanes)
    {
        int n = 1 + task->more - first;
        t->lanes = n > 8 && t->isa == TD_ISA_AVX512 ? 16 : n > 4 ? 8 : n > 1 ? 4 : 1;
        n = n < t->lanes ? n : t->lanes;
        const double *b[TD_SUBSTITUTE_FLOATS];
        double *x[TD_SUBSTITUTE_FLOATS];
        list_columns(task, first, n, b, x);
        for (int32_t i = 0; i < shape->n; i++)
        {
            int32_t place = place_of(shape, task, i);
            double *to = t->x + (int64_t)i * t->lanes;
            for (int j = 0; j < n; j++)
                to[j] = b[j][place];
            for (int j = n; j < t->lanes; j++)
                to[j] = 0;
        }
        sweep(t, tasks, task);
        for (int32_t i = 0; i < shape->n; i++)
        {
            int32_t place = place_of(shape, task, i);
            for (int j = 0; j < n; j++)
                x[j][place] = t->x[(int64_t)i * t->lanes + j];
        }
    }
}
