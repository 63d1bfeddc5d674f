// SPDX-License-Identifier: Apache-2.0
// Values, gradients and second derivatives of measures.
//
// A volume is V = 1/6 sum (a - o) . (b - o) x (c - o) over its triangles, with o fixed in space: the first point at
// rest, near enough to keep the sums small. Where o is does not matter when the surface is closed; the derivatives are
// exact in any case.
//
//     dV/da = 1/6 (b - o) x (c - o)          d2V/da db = -1/6 skew(c - o)
#include "core/measure.h"

#include "base/vector.h"
#include "core/cable.h"
#include "core/rotation.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- volume

// Corners of a triangle from o.
static const int32_t *corners(const tdMeasure *measure, const double *x, int32_t triangle, double p[3][3])
{
    const int32_t *points = measure->tris + 3 * (int64_t)triangle;
    for (int i = 0; i < 3; i++)
        td_subtract3(x + 3 * (int64_t)points[i], measure->rest, p[i]);
    return points;
}

static double volume(const tdMeasure *measure, const double *x, double *gradient)
{
    double p[3][3], normal[3], sum = 0;
    if (gradient != NULL)
        memset(gradient, 0, 3 * (size_t)measure->n * sizeof *gradient);
    for (int32_t t = 0; t < measure->n_tris; t++)
    {
        const int32_t *points = corners(measure, x, t, p);
        sum += td_triple3(p[0], p[1], p[2]);
        for (int i = 0; i < 3 && gradient != NULL; i++)
        {
            td_cross3(p[(i + 1) % 3], p[(i + 2) % 3], normal);
            for (int k = 0; k < 3; k++)
                gradient[3 * (int64_t)points[i] + k] += normal[k] / 6;
        }
    }
    return sum / 6;
}

static void volume_stiffness(const tdMeasure *measure, const double *x, tdStiffnessFn emit, void *context)
{
    double p[3][3];
    for (int32_t t = 0; t < measure->n_tris; t++)
    {
        const int32_t *points = corners(measure, x, t, p);
        for (int i = 0; i < 3; i++)
        {
            if (points[i] == points[(i + 1) % 3])
                continue; // a collapsed triangle: its volume is zero wherever its points go
            const double *c = p[(i + 2) % 3];
            const double H[9] = {0, c[2] / 6, -c[1] / 6, -c[2] / 6, 0, c[0] / 6, c[1] / 6, -c[0] / 6, 0};
            emit(context, points[i], points[(i + 1) % 3], H);
        }
    }
}

// ---------------------------------------------------------------- best fit

// gradient[k][i] = (inverse h_k) x Y_i: rows h_k . d theta
static void fit_rows(const tdMeasure *measure, const tdRotationFit *fit, const double h[3][3], double *gradient)
{
    double g[3][3];
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++)
            g[r][k] = td_dot3(fit->inverse + 3 * k, h[r]);
    for (int32_t i = 0; i < measure->n; i++)
    {
        double arm[3], Y[3];
        td_subtract3(measure->rest + 3 * (int64_t)i, fit->mean, arm);
        td_rotation_apply(fit->q, arm, Y);
        for (int r = 0; r < 3; r++)
            td_cross3(g[r], Y, gradient + 3 * ((int64_t)r * measure->n + i));
    }
}

static void orientation(const tdMeasure *measure, const double *x, const double *near, double *value, double *gradient)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    tdRotationFit fit;
    td_rotation_fit(measure->n, measure->rest, x, &fit);
    td_rotation_vector(fit.q, near, value);
    if (gradient != NULL)
        fit_rows(measure, &fit, axes, gradient);
}

static void turned_direction(const tdMeasure *measure, const double *x, double *value, double *gradient)
{
    tdRotationFit fit;
    td_rotation_fit(measure->n, measure->rest, x, &fit);
    td_rotation_apply(fit.q, measure->direction, value);
    // d value = d theta x value: row r is (value x e_r) . d theta
    const double *v = value;
    const double h[3][3] = {{0, v[2], -v[1]}, {-v[2], 0, v[0]}, {v[1], -v[0], 0}};
    if (gradient != NULL)
        fit_rows(measure, &fit, h, gradient);
}

// ---------------------------------------------------------------- all kinds

void td_measure(const tdMeasure *measure, const double *x, const double *near, double *value, double *gradient)
{
    switch (measure->kind)
    {
    case TD_MEASURE_LENGTH:
        value[0] = td_cable_length(measure, x);
        if (gradient != NULL)
            td_cable_gradient(measure, x, NULL, gradient);
        break;
    case TD_MEASURE_VOLUME: value[0] = volume(measure, x, gradient); break;
    case TD_MEASURE_ALONG:
        assert(measure->n == 1);
        value[0] = 0;
        for (int k = 0; k < 3; k++)
            value[0] += measure->direction[k] * (x[k] - measure->rest[k]);
        if (gradient != NULL)
            memcpy(gradient, measure->direction, sizeof measure->direction);
        break;
    case TD_MEASURE_POSITION:
        assert(measure->n == 1);
        memcpy(value, x, 3 * sizeof *value);
        for (int k = 0; k < 9 && gradient != NULL; k++)
            gradient[k] = k % 4 == 0;
        break;
    case TD_MEASURE_ORIENTATION: orientation(measure, x, near, value, gradient); break;
    case TD_MEASURE_DIRECTION: turned_direction(measure, x, value, gradient); break;
    case TD_MEASURE_CONTACT:
    case TD_MEASURE_COORDINATE: assert(false); break; // not of points
    }
}

void td_measure_stiffness(const tdMeasure *measure, const double *x, const double *share, tdStiffnessFn emit,
                          void *context)
{
    assert(measure->rows == 1);
    if (measure->kind == TD_MEASURE_LENGTH)
        td_cable_stiffness(measure, x, share, emit, context);
    else if (measure->kind == TD_MEASURE_VOLUME)
        volume_stiffness(measure, x, emit, context);
}

void td_measure_error(tdMeasureKind kind, const double *value, const double *target, double *error)
{
    if (kind == TD_MEASURE_ORIENTATION)
    {
        double at[4], wanted[4], q[4];
        td_rotation_from_vector(value, at);
        td_rotation_from_vector(target, wanted);
        td_rotation_difference(at, wanted, q);
        td_rotation_vector(q, NULL, error);
        return;
    }
    int rows = kind == TD_MEASURE_POSITION || kind == TD_MEASURE_DIRECTION ? 3 : 1;
    for (int k = 0; k < rows; k++)
        error[k] = value[k] - target[k];
}
