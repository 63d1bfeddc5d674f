// SPDX-License-Identifier: Apache-2.0
// Nearest points of segments and triangles. Degenerate input (points that coincide, triangles without area, parallel
// segments) gives some pair of nearest points and never a division by zero.
#pragma once
#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>

static inline double td_clamp01(double t)
{
    return t > 0 ? (t < 1 ? t : 1) : 0; // NaN becomes 0
}

/// out = a + s b
static inline void td_along3(const double a[3], double s, const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[k] + s * b[k];
}

static inline double td_length3(const double a[3])
{
    return sqrt(td_dot3(a, a));
}

static inline double td_square_between(const double a[3], const double b[3])
{
    double d[3];
    td_subtract3(a, b, d);
    return td_dot3(d, d);
}

/// Scales a to unit length and returns its length; below `least` it is left alone.
static inline double td_unit3(double a[3], double least)
{
    double length = td_length3(a);
    if (!(length > least))
        return length;
    for (int k = 0; k < 3; k++)
        a[k] /= length;
    return length;
}

/// Some unit vector normal to the unit vector n, a continuous function of n but at a jump.
static inline void td_across3(const double n[3], double out[3])
{
    double s = n[2] >= 0 ? 1 : -1, a = -1 / (s + n[2]), b = n[0] * n[1] * a; // Duff et al. 2017
    out[0] = 1 + s * n[0] * n[0] * a;
    out[1] = s * b;
    out[2] = -s * n[0];
}

/// Part t of the way from a to b that is nearest to p.
static inline double td_nearest_on_segment(const double p[3], const double a[3], const double b[3])
{
    double ab[3], ap[3];
    td_subtract3(b, a, ab);
    td_subtract3(p, a, ap);
    double square = td_dot3(ab, ab);
    return square > 0 ? td_clamp01(td_dot3(ap, ab) / square) : 0;
}

/// What part of a triangle a point is nearest to.
typedef enum tdRegion
{
    TD_REGION_CORNER,   // + number 0 to 2
    TD_REGION_SIDE = 3, // + number: side k runs from corner k to the next
    TD_REGION_FACE = 6
} tdRegion;

/// Weights of the point of triangle abc nearest to p (Ericson 2005, 5.1.5); returns the region.
static inline int td_nearest_on_triangle(const double p[3], const double *a, const double *b, const double *c,
                                         double w[3])
{
    double ab[3], ac[3], ap[3], bp[3], cp[3];
    td_subtract3(b, a, ab);
    td_subtract3(c, a, ac);
    td_subtract3(p, a, ap);
    double d1 = td_dot3(ab, ap), d2 = td_dot3(ac, ap);
    w[0] = 1;
    w[1] = w[2] = 0;
    if (d1 <= 0 && d2 <= 0)
        return TD_REGION_CORNER;
    td_subtract3(p, b, bp);
    double d3 = td_dot3(ab, bp), d4 = td_dot3(ac, bp);
    if (d3 >= 0 && d4 <= d3)
    {
        w[0] = 0;
        w[1] = 1;
        return TD_REGION_CORNER + 1;
    }
    double vc = d1 * d4 - d3 * d2;
    if (vc <= 0 && d1 >= 0 && d3 <= 0)
    {
        w[1] = d1 - d3 > 0 ? d1 / (d1 - d3) : 0;
        w[0] = 1 - w[1];
        return TD_REGION_SIDE;
    }
    td_subtract3(p, c, cp);
    double d5 = td_dot3(ab, cp), d6 = td_dot3(ac, cp);
    if (d6 >= 0 && d5 <= d6)
    {
        w[0] = 0;
        w[2] = 1;
        return TD_REGION_CORNER + 2;
    }
    double vb = d5 * d2 - d1 * d6;
    if (vb <= 0 && d2 >= 0 && d6 <= 0)
    {
        w[2] = d2 - d6 > 0 ? d2 / (d2 - d6) : 0;
        w[0] = 1 - w[2];
        return TD_REGION_SIDE + 2;
    }
    double va = d3 * d6 - d5 * d4;
    if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0)
    {
        double sum = (d4 - d3) + (d5 - d6);
        w[0] = 0;
        w[2] = sum > 0 ? (d4 - d3) / sum : 0;
        w[1] = 1 - w[2];
        return TD_REGION_SIDE + 1;
    }
    double sum = va + vb + vc;
    w[1] = vb / sum;
    w[2] = vc / sum;
    w[0] = 1 - w[1] - w[2];
    return TD_REGION_FACE;
}

static inline void td_mix3(const double *a, const double *b, const double *c, const double w[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = w[0] * a[k] + w[1] * b[k] + w[2] * c[k];
}

/// Nearest points a + s (b - a), c + t (d - c) of two segments (Ericson 2005, 5.1.9). Returns the square of the sine of
/// the angle between them; near zero, s and t are one choice of many.
static inline double td_nearest_segments(const double a[3], const double b[3], const double c[3], const double d[3],
                                         double *s, double *t)
{
    double u[3], v[3], r[3];
    td_subtract3(b, a, u);
    td_subtract3(d, c, v);
    td_subtract3(a, c, r);
    double uu = td_dot3(u, u), vv = td_dot3(v, v), uv = td_dot3(u, v), ur = td_dot3(u, r), vr = td_dot3(v, r);
    double square = uu * vv - uv * uv;
    *s = square > 1e-14 * uu * vv ? td_clamp01((uv * vr - ur * vv) / square) : 0;
    *t = vv > 0 ? (uv * *s + vr) / vv : 0;
    if (!(*t >= 0 && *t <= 1))
    {
        *t = td_clamp01(*t);
        *s = uu > 0 ? td_clamp01((uv * *t - ur) / uu) : 0;
    }
    return uu > 0 && vv > 0 ? square / (uu * vv) : 0;
}
