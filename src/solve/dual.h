// SPDX-License-Identifier: Apache-2.0
// The dual of the problem: impulses instead of velocities.
//
//     W = J A^-1 J' = sum over blocks of Y'Y,   Y = L^-1 J'        A = L L' of each block
//     J v = W gamma + J v*
//
// Of all rows, or of those that are touched: what these rows feel of each other is all that a solver on impulses, or a
// haptic loop, needs to know of the bodies.
#pragma once
#include "solve/sap.h"

typedef struct tdDual
{
    int n;          ///< rows
    int32_t *first; ///< by constraint: its first row; -1: it is left out
    double *W;      ///< n x n symmetric, row-major
    double *b;      ///< n: J v*
    // scratch
    double *gamma, *velocity; ///< n: for who solves it
    tdSapLaw *laws;           ///< by constraint that is in it
    double *S, *Y, *L, *p;
    int32_t *row;
    int64_t first_room, W_room, b_room, law_room, S_room, Y_room, L_room, p_room, row_room;
} tdDual;

void td_dual_free(tdDual *dual);

/// factors: by block the Cholesky factor of A where it is known (stride n), else NULL. touched: by constraint; NULL:
/// all.
tdStatus td_dual_make(tdDual *dual, const tdSapProblem *problem, const double *const *factors, const bool *touched,
                      tdError *error);
/// v = v* + A^-1 J' gamma of all blocks, gamma over the rows of the dual.
tdStatus td_dual_move(tdDual *dual, const tdSapProblem *problem, const double *const *factors, const double *gamma,
                      tdError *error);
