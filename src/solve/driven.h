// SPDX-License-Identifier: Apache-2.0
// Small dense box problems of driven actuators: y with
//
//     r = b + M y      lo < y < hi  =>  r = 0,    y = lo  =>  r >= 0,    y = hi  =>  r <= 0
//
// A pull-only cable that is wound in has y = tension >= 0 and r = shortening - what was asked for. M need not be
// symmetric (friction, held coordinates). Block pivoting, and single pivots when blocks go in circles: each pivot
// solves for the free unknowns by elimination with row exchange.
#pragma once
#include "base/memory.h"

typedef struct tdDrivenProblem
{
    int n;
    const double *M; ///< n x n row-major
    const double *b; ///< n
    const double *lo, *hi;
} tdDrivenProblem;

/// Numbers of scratch that the solver needs.
#define TD_DRIVEN_SCRATCH(n) ((int64_t)(n) * ((n) + 2))

/// active: -1 at lo, 1 at hi, 0 free; a warm start on entry. Returns false when no complementary solution was found
/// within the bound on pivots or M is singular: y is then the last try within its bounds.
bool td_driven_solve(const tdDrivenProblem *problem, double *scratch, double *y, signed char *active);
