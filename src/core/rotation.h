// SPDX-License-Identifier: Apache-2.0
// Rotations as unit quaternions (w, x, y, z): their rotation vectors, and the one that fits a set of points best.
#pragma once
#include <stdint.h>

/// A direction along which a set extends less than the square root of this, compared to its longest, does not count:
/// the turn that only such a direction would show is not determined.
#define TD_FIT_RANK 1e-12

/// Quaternion of the rotation by |r| about r.
void td_rotation_from_vector(const double r[3], double q[4]);
/// Rotation vector of q nearest to `near`. (NULL: zero, so that |r| <= pi.)
void td_rotation_vector(const double q[4], const double *near, double r[3]);
/// q = a b': first b backwards, then a.
void td_rotation_difference(const double a[4], const double b[4], double q[4]);
/// Quaternion of a rotation matrix R[9] (rows), and back.
void td_rotation_from_matrix(const double R[9], double q[4]);
void td_rotation_matrix(const double q[4], double R[9]);
/// out = a b: first b, then a; out is neither a nor b.
void td_rotation_multiply(const double a[4], const double b[4], double out[4]);
/// out = R v
void td_rotation_apply(const double q[4], const double v[3], double out[3]);

/// Best fit x ~ R X + c of n points, equal weights: with Y = R (X - mean X), the motion d theta of the fit (R <-
/// exp(d theta) R) under motions dx of the points is
///
///     d theta = inverse sum_i Y_i x dx_i
///
typedef struct tdRotationFit
{
    double q[4];
    double mean[3];    ///< of X
    double inverse[9]; ///< (tr(B) I - B)^-1, B = sum (x - mean x) Y'; zero about axes that are not determined
} tdRotationFit;

/// Points on a line leave the turn about it open: the least one is taken, and it does not move. Points at one place:
/// no rotation.
void td_rotation_fit(int32_t n, const double *X, const double *x, tdRotationFit *fit);
