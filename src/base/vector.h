// SPDX-License-Identifier: Apache-2.0
// Vectors of three numbers.
#pragma once
#include <math.h>

/// out = a - b
static inline void td_subtract3(const double *a, const double *b, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[k] - b[k];
}

static inline double td_dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// out = a x b; out is neither a nor b.
static inline void td_cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/// a . b x c: six times the signed volume of the tetrahedron 0, a, b, c.
static inline double td_triple3(const double a[3], const double b[3], const double c[3])
{
    double n[3];
    td_cross3(b, c, n);
    return td_dot3(a, n);
}

/// Signed solid angle W under which the triangle a, b, c is seen from 0 (Van Oosterom and Strackee 1983):
/// tan(W/2) = a . b x c / (|a||b||c| + (a . b)|c| + (b . c)|a| + (c . a)|b|). Over a closed surface they sum up to 4 pi
/// inside and to 0 outside.
static inline double td_solid_angle(const double a[3], const double b[3], const double c[3])
{
    double la = sqrt(td_dot3(a, a)), lb = sqrt(td_dot3(b, b)), lc = sqrt(td_dot3(c, c));
    return 2 * atan2(td_triple3(a, b, c), la * lb * lc + td_dot3(a, b) * lc + td_dot3(b, c) * la + td_dot3(c, a) * lb);
}
