// SPDX-License-Identifier: Apache-2.0
// The lowest eigenpairs of K x = lambda M x by locally optimal block conjugate gradients (LOBPCG: Knyazev 2001), for
// bodies whose matrix has no factor, only a preconditioner near its inverse:
//
//     W = T (K X - M X theta)                        where each pair wants to go
//     theta, X <- Rayleigh and Ritz on [X P W]       the best in what is known
//     P <- what of the new X is not of the old       where it went
//
// Its iterations grow with the preconditioner's quality, not with the mesh. Sums are in a fixed order.
#pragma once
#include "base/status.h"
#include "base/task.h"

typedef struct tdModesBlock
{
    int64_t n; ///< coordinates
    int k;     ///< wanted
    tdTasks *tasks;
    double tolerance;   ///< |K x - lambda M x| <= tolerance |K x| for each of the wanted
    int most;           ///< iterations
    const double *mask; ///< n: 0 on coordinates that are held, else 1
    void (*stiffness)(void *user, const double *x, double *y);
    void (*mass)(void *user, const double *x, double *y);
    void (*precondition)(void *user, const double *r, double *z);
    void (*clean)(void *user, double *x); ///< takes out motions that are no modes
    void *user;
} tdModesBlock;

typedef struct tdModesBlockResult
{
    int iterations, products; ///< products with the preconditioner
    int found;                ///< of the wanted, within the tolerance
    double residual;          ///< the largest of them
} tdModesBlockResult;

/// Vectors at a time: some more than wanted, because the last of a block come late.
int td_modes_block_size(int64_t n, int k);
/// Bytes that it takes.
double td_modes_block_bytes(int64_t n, int k);
/// lambda: k, ascending; X: n x k by columns, orthonormal by mass. Fewer may be found than wanted.
tdStatus td_modes_block(const tdModesBlock *task, double *lambda, double *X, tdModesBlockResult *result,
                        tdError *error);
