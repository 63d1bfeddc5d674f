// SPDX-License-Identifier: Apache-2.0
// Factors of small dense matrices that are not symmetric, P A = L U, for matrices of a few dozen rows, where calls and
// copies of LAPACK cost as much as its arithmetic. Matrices lie by rows, a row beginning every td_lu_stride(n) numbers;
// what stands behind its last column is read and written, and means nothing.
#pragma once
#include "base/isa.h"

#define TD_LU_LANES 4 ///< numbers at once

static inline int td_lu_stride(int n)
{
    return (n + TD_LU_LANES - 1) / TD_LU_LANES * TD_LU_LANES;
}

/// A, m x m, becomes its factors; pivots: the row that each was exchanged with. False: it is singular.
bool td_lu_factor(tdIsa isa, int m, double *A, int *pivots);
/// B, m x n, becomes A^-1 B. With one column the numbers of B follow each other.
void td_lu_solve(tdIsa isa, int m, const double *A, const int *pivots, int n, double *B);

// ---------------------------------------------------------------- kernels

bool td_lu_factor_portable(int m, double *A, int *pivots);
void td_lu_solve_portable(int m, const double *A, int n, double *B);
#if defined(__x86_64__)
bool td_lu_factor_avx2(int m, double *A, int *pivots);
void td_lu_solve_avx2(int m, const double *A, int n, double *B);
#endif
