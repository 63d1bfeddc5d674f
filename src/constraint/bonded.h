// SPDX-License-Identifier: Apache-2.0
// Bodies that bilateral rows join, seen as one: whatever acts on one of them moves the others.
//
//     B v + R gamma = aim                              rows of bonds in this linearization
//     A~^-1 = A^-1 - Y S^-1 Y',   Y = A^-1 B',   S = B Y + R
//
// With A~^-1 in place of A^-1, and the free motion of the joined bodies, actuators, friction of cables and inverse
// control need to know nothing of bonds: each column of theirs is corrected, and says what it does to gamma.
// S is dense and each row costs a solution with A, so this is for some hundred rows; the contact problem takes more.
#pragma once
#include "core/state.h"

typedef struct tdBonded
{
    int n;          ///< rows
    int most;       ///< of them, by the model
    int64_t *start; ///< n + 1: entries of each
    int64_t *coord; ///< over the state's vectors; coordinates whose motion is given are among them
    double *B;
    double *R, *aim;
    double *Y;     ///< by row, over all coordinates
    double *load;  ///< the same: B', what Y answers to
    double *S;     ///< most x most: B Y, then the Cholesky factor of S
    double *gamma; ///< impulses
    double *G;     ///< by column of the last td_bonded_project: what a unit of it does to gamma
    double *right; ///< scratch, a right-hand side of S
    bool *held;    ///< by coordinate: its motion is given
} tdBonded;

/// Takes the arrays for `rows` rows with `entries` entries, and `columns` columns to correct.
tdStatus td_bonded_create(const tdModel *model, tdState *state, int rows, int64_t entries, int columns, tdError *error);
/// reads rows      writes Y, and B Y into S
tdStatus td_bonded_answer(const tdModel *model, tdState *state);
/// After R is known: the factor of S.
tdStatus td_bonded_factor(const tdModel *model, tdState *state);
/// After aim is known: gamma of the free motion, which becomes that of the joined bodies in state->dv.
tdStatus td_bonded_free(const tdModel *model, tdState *state);
/// Corrects columns X = A^-1 b, `coords` apart, and writes G from column `at` on.
void td_bonded_project(const tdModel *model, const tdBonded *bonded, int at, int n, double *X);
/// gamma += change times column k of G
void td_bonded_change(tdBonded *bonded, int k, double change);
/// psi' B' gamma: the impulses along a motion of held coordinates.
double td_bonded_along(const tdBonded *bonded, const double *gamma, const double *psi);
