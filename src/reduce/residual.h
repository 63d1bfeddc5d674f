// SPDX-License-Identifier: Apache-2.0
// What the modes of a reduced body lack where something touches it: the residual flexibility (MacNeal 1971, Rubin 1975)
//
//     G = K^-1 - Phi (Phi'K Phi)^-1 Phi'                                   K: stiffness of full order at rest
//
// Modes and G together give the response of full order to small forces at any nodes. G K Phi = 0: the dents that it
// makes and the modes do not overlap, and G K G = G, so that forces f at some nodes T store 1/2 f'G_TT f. Of a body
// that nothing holds K is singular; there forces are balanced by the body's own inertia, and K^-1 is taken in the
// complement of the rigid motions.
//
// Columns of G are made by node, each when it is first asked for, and are the same for all states of a model: they
// belong to it. What makes them, the factor of K, does so too.
#pragma once
#include "body/soft.h"

typedef struct tdResidual tdResidual;

/// Of the first `r` columns of `basis`, `skipped` of which move the body as a whole; `loose`: nothing holds it. Refers
/// to soft and basis. Nothing is computed yet.
tdStatus td_residual_create(const tdSoft *soft, int r, int skipped, int stride, const double *basis, bool loose,
                            tdResidual **out, tdError *error);
void td_residual_free(tdResidual *residual);

/// Makes the factor, and all columns of the surface where that takes no time, so that steps need not. Whether there is
/// flexibility to be had: not where K is indefinite.
bool td_residual_prepare(tdResidual *residual);
/// Responses to unit forces on a node: G[9 i + 3 c + d] is how far node i moves along c by a force along d [m/N]. NULL:
/// there is none, or no memory for more of them.
const double *td_residual_column(tdResidual *residual, int32_t node);
/// Mean of the diagonal of K^-1 at a node whose column is there [m/N].
double td_residual_size(const tdResidual *residual, int32_t node);
/// f'Phi (Phi'K Phi)^-1 Phi'f for forces f [3 n] at nodes; scratch: r numbers.
double td_residual_modal(const tdResidual *residual, int n, const int32_t *nodes, const double *f, double *scratch);
/// A triangle of the surface that a node is a corner of; NULL: none.
const int32_t *td_residual_triangle(const tdResidual *residual, int32_t node);
