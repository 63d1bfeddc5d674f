// SPDX-License-Identifier: Apache-2.0
// Dual active-set method (D. Goldfarb, A. Idnani 1983) for
//
//     min 1/2 |E x + e0|² + 1/2 eps |(x - near) / unit|²     subject to   xl <= x <= xu,   cl <= C x <= cu
//
// It begins at the minimum without bounds and takes in one violated bound after the other, each at the cost of n²:
// where few of many rows hold, this is many times quicker than to go from one feasible x to the next (active_set.h).
// What it pays is accuracy: E'E is formed, and eps = 1e-7 keeps it definite, so that |E x + e0| is the least there is
// to seven digits, at an x near `near`. For choices whose gain alone counts.
#pragma once
#include "base/memory.h"

#include <stdbool.h>

typedef struct tdDualSet
{
    int n, m;                       ///< room
    double *H, *J, *T, *unit, *row; ///< n x n: the Hessian, L^-T Q, the triangle of what holds; n, m: scales
    double *C, *x, *g, *d, *z;      ///< m x n: rows over scaled unknowns; n each
    double *u, *r;                  ///< n + 1: multipliers of what holds; how they change
    int *held;                      ///< n: bounds that hold, unknowns first
    signed char *side;              ///< n + m: -1 lower, 1 upper, 0 does not hold
} tdDualSet;

bool td_dual_set_take(tdDualSet *set, tdArena *arena, int n, int m);

typedef struct tdDualSetProblem
{
    int n, e, m; ///< unknowns, rows of E and of C, row-major
    const double *E, *e0;
    const double *xl, *xu;
    const double *C, *cl, *cu;
} tdDualSetProblem;

/// x: on entry what it is to be near. active: n + m, as in tdQpSolution. False: bounds contradict each other as far as
/// it can tell, or numbers are none; x and active are as they were.
bool td_dual_set_solve(tdDualSet *set, const tdDualSetProblem *problem, double *x, signed char *active,
                       int *iterations);
