// SPDX-License-Identifier: Apache-2.0
// The convex problem of contact: bodies of every kind, condensed to their participating velocities.
//
//     min over v   1/2 (v - v*)' A (v - v*) + sum_i l_i(J_i v)            (S5 eq. 17, regularized; see sap_law.h)
//     at the minimum   A (v - v*) = J' gamma,   gamma = P(-(J v - v_hat) / R)
//
// A is block diagonal with one dense block for a body (or for an island of a body). Newton's method with exact line
// search converges from any start; islands of bodies joined by constraints are independent problems. The Hessian
// A + J' G J is factored whole where that is cheap, else by supernodes, one a block, with minimum degree on the graph
// of blocks; with blocks that are sparse as a sparse matrix (sap_sparse.c). Results do not depend on the number of
// threads.
#pragma once
#include "base/block.h"
#include "base/memory.h"
#include "base/task.h"
#include "solve/sap_law.h"

/// The lower triangle of a sparse matrix by columns, rows ascending.
typedef struct tdSapSparse
{
    const int32_t *start, *row;
    const int32_t *source; ///< where the value of each entry stands; NULL: in order
    const double *values;
    const int32_t *order; ///< of elimination, with little fill; NULL: none is known
    /// The same matrix by nodes, whose products are quicker: over coordinates, some of which are no unknowns. NULL: no.
    const tdBlockPattern *pattern;
    const double *blocks;
    const int32_t *coord; ///< by unknown
} tdSapSparse;

/// Participating velocities of a body.
typedef struct tdSapBlock
{
    int32_t n;
    int32_t stride;       ///< of A, >= n
    const double *A;      ///< symmetric positive definite; only i >= j of A[i + j stride] is read
    const double *v_star; ///< n: the motion without constraints, or
    const double *b; ///< n: of a sparse block, that motion is v_star + A^-1 b, which nobody has to know; NULL: none
    double *v;       ///< n: on entry where to start (the last step's, or v_star), then the solution
    const double *change; ///< n: v + change may be nearer to the solution than v; NULL: nothing is known
    /// A factor of A that keeps the zeros of a tree: L'L = A, lower triangle by rows, stride n, its diagonal as
    /// reciprocals. NULL: none.
    const double *reverse;
    /// A of a body of which so many velocities take part that all do; NULL: it is dense.
    const tdSapSparse *sparse;
    bool exactly;    ///< of a sparse block: no factor is made in single precision
    double softness; ///< of a sparse block: w of contacts is so many times what its diagonal says; 0: as that
} tdSapBlock;

/// What a constraint does to one block: v_c += J v[columns].
typedef struct tdSapSide
{
    int32_t block;
    int32_t count;
    const int32_t *columns; ///< count; NULL: all columns of the block in order (count = n)
    const double *J;        ///< rows x count, row-major
} tdSapSide;

typedef struct tdSapConstraint
{
    tdSapLaw law;
    int32_t sides;     ///< 1 (against something that is no unknown) or 2
    tdSapSide side[2]; ///< may be of one block: contact of a body with itself
} tdSapConstraint;

typedef struct tdSapProblem
{
    int32_t n_blocks, n_constraints;
    const tdSapBlock *blocks;
    const tdSapConstraint *constraints;
    double *gamma; ///< TD_SAP_ROWS a constraint: impulses; effort = gamma / s of the scheme
    double *v_c;   ///< the same: constraint velocities J v; NULL: not wanted
} tdSapProblem;

typedef enum tdSapStructure
{
    TD_SAP_AUTO,  ///< by the number of operations
    TD_SAP_DENSE, ///< one dense factor an island
    TD_SAP_SPARSE ///< supernodes
} tdSapStructure;

typedef struct tdSapSettings
{
    double tolerance;   ///< relative, in the norm scaled by diag(A)^(-1/2)
    double absolute;    ///< the same, absolute [sqrt(J)]: below it nothing is moving
    int max_iterations; ///< hard bound; reaching it is reported
    int max_search;     ///< evaluations of one line search
    tdSapStructure structure;
    double *history; ///< max_iterations + 1 costs of the first island with constraints, or NULL
} tdSapSettings;

tdSapSettings td_default_sap(void);

typedef enum tdSapEnd
{
    TD_SAP_CONVERGED,
    TD_SAP_ROUNDOFF, ///< rounding lets the residual not fall further; it is above the tolerance
    TD_SAP_BOUND     ///< the bound on iterations
} tdSapEnd;

typedef struct tdSapResult
{
    int islands;          ///< with constraints
    int largest;          ///< unknowns of the largest
    int iterations;       ///< of Newton, most of an island
    int total_iterations; ///< of all islands
    int evaluations;      ///< of line searches, all islands
    int sparse;           ///< islands factored by supernodes
    int shifted;          ///< factorizations that needed a larger diagonal
    double residual;      ///< largest of an island: |D grad| / (max(|D A v|, |D J' gamma|) + absolute / tolerance)
    double cost;          ///< sum over islands
    int converged, roundoff, bound; ///< islands by tdSapEnd
    double roundoff_residual;       ///< largest of those that ended at round-off
    int history;                    ///< costs written
    bool grown;                     ///< memory was allocated: the problem is larger than all before
} tdSapResult;

/// Scratch that grows with the largest problem met and allocates nothing otherwise.
typedef struct tdSap tdSap;
tdStatus td_sap_create(tdSap **out, tdError *error);
void td_sap_free(tdSap *sap);

/// Solves. Numbers that are not finite, and blocks that are not positive definite, are errors that name the block or
/// constraint, and v keeps its start; reaching a bound or round-off is in the result.
tdStatus td_sap_solve(tdSap *sap, tdTasks *tasks, const tdSapProblem *problem, const tdSapSettings *settings,
                      tdSapResult *result, tdError *error);

/// How the solution answers to a change of v* (sap_slope.c): dv*/dy = X, n columns over each block (NULL: y leaves the
/// block alone). Of the problem that was solved last, whose blocks and laws are what they were.
///
///     dv/dy = (A + J' G J)^-1 A X,   dv_c/dy = J dv/dy,   dgamma/dy = -G dv_c/dy
///
/// dgamma, dv_c: a row of n for each of TD_SAP_ROWS a constraint; rows that a constraint does not have are zero.
///
/// change: by row of each constraint, NAN where all is as it is. Elsewhere the impulse is taken to change by this much
/// and then to stay: G is zero there, and column n - 1, which X does not have, is how everything answers to that. NULL:
/// all is as it is, and X has n columns.
tdStatus td_sap_slope(tdSap *sap, tdTasks *tasks, const tdSapProblem *problem, int n, const double *const *X,
                      const double *change, double *dgamma, double *dv_c, tdError *error);

/// How w is estimated.
typedef enum tdSapWeighing
{
    TD_SAP_EXACT,   ///< J A^-1 J' by the factors of the blocks
    TD_SAP_DIAGONAL ///< J diag(A)^-1 J': cheap; too small for stiff bodies, which makes R smaller, never too large. Of
                    ///< sparse blocks always
} tdSapWeighing;

/// w[i] = |J_i A^-1 J_i'| / rows of each constraint, to choose R by before solving (of the laws only `rows` is read).
/// factors: by block the lower Cholesky factor of A where the caller has it (stride n), else NULL; or NULL for all.
tdStatus td_sap_weights(tdSap *sap, tdTasks *tasks, const tdSapProblem *problem, tdSapWeighing how,
                        const double *const *factors, double *w, tdError *error);

/// Cost and gradient at blocks' v, for tests and reports. gradient: over all blocks one after the other, or NULL.
double td_sap_evaluate(const tdSapProblem *problem, double *gradient);
