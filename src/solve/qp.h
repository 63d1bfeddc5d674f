// SPDX-License-Identifier: Apache-2.0
// Small dense convex quadratic programs, for control: tens of unknowns, microseconds, no allocation.
//
//     min  1/2 x' H x + g' x     subject to   xl <= x <= xu,   cl <= C x <= cu
//
// H is symmetric positive semi-definite, possibly singular; bounds may be infinite; cl = cu is an equality.
// Rows that cannot be met are violated least in the sum of squares, each in its length over the unknowns that are not
// fixed, these measured by the objective's curvature (1 / root of H's diagonal), else by their range.
// Active set with warm start and a hard bound on the number of iterations. The same problem gives the same bits.
#pragma once
#include "base/memory.h"
#include "base/status.h"

typedef enum tdQpStatus
{
    TD_QP_OPTIMAL,
    TD_QP_ITERATIONS, // the bound was reached: x is feasible as far as it could be made, not optimal
    TD_QP_INFEASIBLE  // the rows C cannot be met within the bounds: x violates them least, and is optimal so
} tdQpStatus;

typedef struct tdQp
{
    int n, m;              ///< unknowns, rows of C
    const double *H;       ///< n x n row-major
    const double *g;       ///< n
    const double *xl, *xu; ///< n, may be infinite, xl <= xu
    const double *C;       ///< m x n row-major
    const double *cl, *cu; ///< m, may be infinite, cl <= cu
    int max_iterations;    ///< 0: a default that grows with n + m
} tdQp;

typedef struct tdQpSolution
{
    tdQpStatus status;
    int iterations;
    double violation;    ///< largest of C x beyond its bounds
    double *x;           ///< n; on entry the warm start, used when `warm`
    signed char *active; ///< n + m: -1 at the lower, 1 at the upper bound, 0 free; on entry the warm start
    double *z;           ///< n + m: multipliers, H x + g = z_x + C' z_c; z >= 0 at a lower, <= 0 at an upper bound
} tdQpSolution;

typedef struct tdQpWork tdQpWork;
/// Scratch for problems of at most n unknowns and m rows; NULL when memory runs out.
tdQpWork *td_qp_work(tdArena *arena, int n, int m);

void td_qp_solve(const tdQp *qp, tdQpWork *work, bool warm, tdQpSolution *solution);

/// The same with the objective 1/2 |R x + q|², R of k <= n rows (row-major): H and g are not read, and the condition
/// of R is not squared. Reduce a taller matrix by QR first.
void td_qp_solve_squares(const tdQp *qp, int k, const double *R, const double *q, tdQpWork *work, bool warm,
                         tdQpSolution *solution);
