// SPDX-License-Identifier: Apache-2.0
// Length of a polygon, with and without friction.
//
//     L = sum_k s_k l_k,   l_k = |p_k+1 - p_k|,   t_k = (p_k+1 - p_k) / l_k
//     dL/dp_k+1 += s_k t_k,  dL/dp_k -= s_k t_k          d2L/dp_k+1 dp_k+1 += s_k/l_k (I - t_k t_k')
#include "core/cable.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

// Length of segment k and its direction; 0 leaves the direction as it was.
static double segment(const double *x, int32_t k, double t[3])
{
    const double *p = x + 3 * (int64_t)k;
    double d[3];
    td_subtract3(p + 3, p, d);
    double length = sqrt(td_dot3(d, d));
    for (int i = 0; i < 3 && length > 0; i++)
        t[i] = d[i] / length;
    return length;
}

double td_cable_length(const tdMeasure *measure, const double *x)
{
    double sum = 0, t[3];
    for (int32_t k = 0; k + 1 < measure->n; k++)
        sum += segment(x, k, t);
    return sum;
}

void td_cable_gradient(const tdMeasure *measure, const double *x, const double *share, double *gradient)
{
    double t[3];
    memset(gradient, 0, 3 * (size_t)measure->n * sizeof *gradient);
    for (int32_t k = 0; k + 1 < measure->n; k++)
    {
        if (!(segment(x, k, t) > 0))
            continue;
        double s = share != NULL ? share[k] : 1;
        for (int i = 0; i < 3; i++)
        {
            gradient[3 * (int64_t)k + i] -= s * t[i];
            gradient[3 * (int64_t)k + 3 + i] += s * t[i];
        }
    }
}

void td_cable_shares(const tdMeasure *measure, const double *x, double turn, double *share)
{
    double tension = 1, after[3], t[3], across[3];
    bool started = false;
    for (int32_t k = measure->n - 2; k >= 0; k--)
    {
        // A segment of no length bends nothing; the angle is that between the segments around it.
        if (segment(x, k, t) > 0)
        {
            if (started)
            {
                td_cross3(t, after, across);
                tension *= exp(-turn * atan2(sqrt(td_dot3(across, across)), td_dot3(t, after)));
            }
            started = true;
            memcpy(after, t, sizeof after);
        }
        share[k] = tension;
    }
}

void td_cable_stiffness(const tdMeasure *measure, const double *x, const double *share, tdStiffnessFn emit,
                        void *context)
{
    double t[3], H[9], minus[9];
    for (int32_t k = 0; k + 1 < measure->n; k++)
    {
        double length = segment(x, k, t);
        if (!(length > 0))
            continue;
        double scale = (share != NULL ? share[k] : 1) / length;
        for (int i = 0; i < 9; i++)
        {
            H[i] = scale * ((i % 4 == 0) - t[i / 3] * t[i % 3]);
            minus[i] = -H[i];
        }
        emit(context, k, k, H);
        emit(context, k + 1, k + 1, H);
        emit(context, k, k + 1, minus);
    }
}
