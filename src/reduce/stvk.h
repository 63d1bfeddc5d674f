// SPDX-License-Identifier: Apache-2.0
// Reduced St. Venant-Kirchhoff bodies (S2, after Barbic and James 2005): in u = U q the elastic energy is exactly a
// quartic polynomial, whose coefficients hold all there is to know of the mesh,
//
//     W   = 1/2 P_ij q_i q_j + 1/3 Q_ijk q_i q_j q_k + 1/4 S_ijkl q_i q_j q_k q_l
//     f_l = P_li q_i + Q_lij q_i q_j + S_lijk q_i q_j q_k                              (S2 eq. 9)
//     K_lm = P_lm + 2 Q_lmi q_i + 3 S_lmij q_i q_j                                     (S2 eq. 10)
//
// P, Q and S are symmetric in all their indices, so each group is kept once: for i <= j <= k <= l
//
//     pair (i, j)  at  j (j + 1) / 2 + i               r (r + 1) / 2 of them
//     triple       at  k (k + 1) (k + 2) / 6 + pair    quadruple  at  l (l + 1) (l + 2) (l + 3) / 24 + triple
//
// so that the coefficients of the first modes alone come first. docs/theory/reduced-stvk.md derives them.
//
// For every q, evaluation takes the products of pairs x_ij = (2 if i < j, else 1) q_i q_j through two matrices over
// pairs, y3 = S x and y2 = Q q; then K = P + 2 y2 + 3 y3 and f = (P + y2 + y3) q: the force costs next to nothing.
#pragma once
#include "base/isa.h"
#include "base/memory.h"
#include "base/task.h"

struct tdSoft;

#define TD_STVK_MEMORY 2e9 ///< [bytes] a sensible limit of what making the coefficients may take

static inline int64_t td_stvk_pairs(int64_t r)
{
    return r * (r + 1) / 2;
}

static inline int64_t td_stvk_triples(int64_t r)
{
    return r * (r + 1) * (r + 2) / 6;
}

static inline int64_t td_stvk_quadruples(int64_t r)
{
    return r * (r + 1) / 2 * ((r + 2) * (r + 3) / 2) / 6;
}

typedef struct tdStvk
{
    tdArena arena;
    int r;
    double *P, *Q, *S; ///< by pair, triple, quadruple
    // The same as evaluation reads it. Rows are pairs, filled up with zeros to a multiple of four.
    int64_t rows;
    double *pair;    ///< rows: P
    double *linear;  ///< Q as rows x r: four rows at a time, column after column
    double *squared; ///< S as the lower triangle of rows x rows: four columns at a time, from the diagonal down
} tdStvk;

/// What making the coefficients of a body takes: known before.
typedef struct tdStvkCost
{
    double flops;
    double bytes; ///< at the highest
    double kept;  ///< bytes afterwards: coefficients and their form for evaluation
} tdStvkCost;
tdStvkCost td_stvk_cost(const struct tdSoft *soft, int r);

/// Coefficients from the elements and materials of a body and the basis U (3 n_nodes x r row-major; columns may be of
/// any length and kind, prescribed motions included). Refused where an element has another law, and where it would take
/// more than `limit` bytes. The same bits for any number of threads.
///
/// Exact for tetrahedra, hexahedra (at their points) and triangles in plane strain; for membranes and plane stress as
/// long as the thickness that P n = 0 asks for is real, tr E < 1/2 + mu / lambda, and the polynomial goes on beyond.
tdStatus td_stvk_create(const struct tdSoft *soft, tdTasks *tasks, int r, const double *basis, double limit,
                        tdStvk *out, tdError *error);
/// From coefficients that were kept, e.g. in a file.
tdStatus td_stvk_set(int r, const double *P, const double *Q, const double *S, tdStvk *out, tdError *error);
void td_stvk_free(tdStvk *stvk);

/// Numbers of scratch that an evaluation needs.
int64_t td_stvk_scratch(int r);
/// Multiplications and additions of an evaluation.
double td_stvk_flops(int r);

/// Force f[r], stiffness K (r rows `stride` apart, both triangles) and energy at q; each may be NULL. Allocates
/// nothing, calls nothing.
typedef void (*tdStvkKernel)(const tdStvk *stvk, const double *q, double *scratch, double *f, double *K, int stride,
                             double *energy);
tdStvkKernel td_stvk_kernel(tdIsa isa);
