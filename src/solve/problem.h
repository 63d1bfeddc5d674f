// SPDX-License-Identifier: Apache-2.0
// The one problem of a step. Whatever acts on bodies is a row of it:
//
//     A (v - v*) = J' gamma,   gamma = law(J v)
//
// Blocks are velocities of bodies that take part, with the inertia of all others condensed into A (core/body.h). A
// constraint has up to three rows over one or two blocks, a law (sap_law.h) and an owner. Scalar rows, whose motion is
// a velocity of a block (constraint/columns.h), cost no more than that; where nothing else acts they are all there is,
// and their problem is given by its compliance alone (driven.h, inverse.h).
//
// Who acts adds rows by td_problem_row and td_problem_side; td_solve finds velocities and impulses. It knows blocks,
// not bodies. What is added lies still until the problem is cleared, and nothing is allocated unless there is more than
// ever before.
#pragma once
#include "solve/driven.h"
#include "solve/dual.h"
#include "solve/inverse.h"
#include "solve/sap.h"
#include "solve/steer.h"

/// Whose a constraint is, in the words of those who add them.
typedef struct tdOwner
{
    int kind;
    int32_t index;
} tdOwner;

/// Rows given by their compliance: unknowns y and their second quantities (driven.h), or inverse control's choice of y.
typedef struct tdScalarRows
{
    tdDrivenProblem driven; ///< n = 0: none
    double *y;              ///< the solution
    signed char *active;    ///< as in driven.h, a warm start
    double *scratch;        ///< TD_DRIVEN_SCRATCH(n)
    bool solved;            ///< it has a solution
    const tdInverse *inverse;
    tdInverseWork *work;
    tdInverseResult result; ///< on entry its arrays
    bool warm;
} tdScalarRows;

typedef struct tdProblem tdProblem;

typedef struct tdSolveResult
{
    int iterations;
    double residual; ///< of the method
    bool limit;      ///< a hard bound was reached before the tolerance
    bool shifted;    ///< some matrix was not positive definite as it was
} tdSolveResult;

struct tdProblem
{
    int32_t n_blocks, n_constraints;
    tdSapBlock *blocks;
    const double **factors; ///< by block: the Cholesky factor of A, stride n; NULL: it is not known
    tdSapConstraint *constraints;
    tdOwner *owner;      ///< by constraint
    double *drift;       ///< TD_SAP_ROWS a constraint, for its owner: what given motion adds to J v, or an error
    double *gamma;       ///< the same: impulses; effort = gamma / s of the scheme
    double *v_c;         ///< the same: J v at the solution
    double *w;           ///< by constraint: size of J A^-1 J', of which laws are made
    tdScalarRows scalar; ///< where there are no constraints
    tdSteer steer;       ///< inverse control beside constraints
    /// After a solution: whether laws were changed and it is to be solved again. NULL: never.
    bool (*again)(void *context, tdProblem *problem, const tdSolveResult *result);
    void *context;
    // room
    int64_t block_room, constraint_room;
    tdStack entries; ///< of rows, and velocities of blocks
    tdSap *sap;
    tdDual dual;
};

tdStatus td_problem_create(tdProblem **out, tdError *error);
void td_problem_free(tdProblem *problem);

/// No blocks, no rows.
void td_problem_clear(tdProblem *problem);
/// A block of n velocities; the caller fills in v_star and v. Returns its number, -1: no memory.
int32_t td_problem_block(tdProblem *problem, int32_t n, int32_t stride, const double *A, const double *L);
/// A constraint without sides. Returns its number, -1: no memory.
int32_t td_problem_row(tdProblem *problem, tdOwner owner, tdSapKind kind, int rows);
/// Room for a side of at most `most` columns, to be filled in; NULL: no memory. Of the last constraint only.
tdSapSide *td_problem_side(tdProblem *problem, int32_t block, int32_t most, double **J, int32_t **columns);
/// The side has `count` columns; 0: there is none.
void td_problem_side_is(tdProblem *problem, int32_t count);
/// Takes the last constraint away again.
void td_problem_drop(tdProblem *problem);

/// w of all constraints by the factors of the blocks, none of them zero.
tdStatus td_problem_weigh(tdProblem *problem, tdTasks *tasks, tdError *error);

/// |A v| over the blocks: what the solver's own residual is relative to. Bodies that glide along without forces have a
/// balance of next to nothing, beside which rounding of the impulses would be much.
double td_problem_momentum(tdProblem *problem);

typedef enum tdSolveMethod
{
    TD_SOLVE_CONVEX,  ///< by velocities (sap.h)
    TD_SOLVE_COULOMB, ///< by impulses, on the dual (nlcp.h)
    TD_SOLVE_INVERSE  ///< control chooses (inverse.h), beside constraints in steps (steer.h)
} tdSolveMethod;

/// Of td_solve: the convex problem as it stands; and how its solution answers to a change of v_star (td_sap_slope).
tdStatus td_problem_by_velocities(tdProblem *problem, double tolerance, tdTasks *tasks, tdSolveResult *result,
                                  tdError *error);
tdStatus td_problem_slope(tdProblem *problem, tdTasks *tasks, int n, const double *const *X, const double *change,
                          double *dgamma, double *dv_c, tdError *error);

/// v of the blocks, gamma, v_c; or y of scalar rows. Numbers that are not finite are errors; reaching a bound is in the
/// result.
tdStatus td_solve(tdProblem *problem, tdSolveMethod method, double tolerance, tdTasks *tasks, tdSolveResult *result,
                  tdError *error);
