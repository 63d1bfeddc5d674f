// SPDX-License-Identifier: Apache-2.0
// Small dense least squares by orthogonal transformations: nothing is squared, so that twice as many digits of
// badly conditioned fits survive as with normal equations.
#pragma once
#include <stdbool.h>

#define TD_LEAST_SQUARES 16 // most unknowns

/// Householder: A (m x n, row-major, rows of `stride`) becomes upper triangular.
void td_triangulate(int m, int n, int stride, double *A);

/// Step of Levenberg and Marquardt: d of min |R d + b|^2 + lambda |N d|^2, N the norms of R's columns, over the
/// coordinates that are not held. R is k x (k + 1) with b as last column.
void td_damped_step(int k, const double *R, const bool *held, double lambda, double *d);

/// t with P(|T| <= t) = 0.95 for Student's distribution; NAN for less than one degree of freedom.
double td_student_95(int dof);
