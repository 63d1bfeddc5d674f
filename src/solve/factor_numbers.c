// SPDX-License-Identifier: Apache-2.0
// Numbers of a factor in double precision, and panels of dense matrices by the same means.
#include "solve/factor_front.h"

#include <math.h>

bool td_factor_numbers(const tdFactorPlan *plan, tdTasks *tasks, const double *values, double *work,
                       struct cholmod_factor_struct *factor)
{
    bool good = td_factor_fill(plan, tasks, values, work, factor->x);
    factor->minor = good ? factor->n : 0;
    return good;
}

#define SMALL_PANEL 24 // columns up to which the bits are the same on any machine

// Column by column, each taken from those behind it.
static bool factor_small(int n, int rows, double *L, int stride)
{
    for (int j = 0; j < n; j++)
    {
        double *l = L + (int64_t)j * stride;
        if (!(l[j] > 0)) // not a number too
            return false;
        double scale = 1 / sqrt(l[j]);
        for (int i = j; i < rows; i++)
            l[i] *= scale;
        for (int c = j + 1; c < n; c++)
        {
            double *to = L + (int64_t)c * stride, f = l[c];
            for (int i = c; i < rows; i++)
                to[i] -= f * l[i];
        }
    }
    return true;
}

bool td_factor_panel(int n, int rows, double *L, int stride)
{
    if (n <= SMALL_PANEL)
        return factor_small(n, rows, L, stride);
    frontWork f = {.L = L, .n = n, .rows = stride, .span = rows, .isa = td_isa_pick_wide(false)};
    return factor_columns(&f);
}
