// SPDX-License-Identifier: Apache-2.0
// A x = b for the sparse symmetric positive definite matrix of one body.
//
// Conjugate gradients preconditioned by a Cholesky factor (order and structure by CHOLMOD, numbers by factor.h). With a
// factor of A itself one iteration solves it; a factor kept from earlier steps costs some more iterations and saves the
// factorization. When to refresh is decided by counts alone, never by the clock, so that a run repeats
// bit for bit: a factorization is worth `factor_cost` iterations, and a kept factor is replaced as soon
// as the last solve cost more than the average since it was made, its own cost included.
//
// The ordering and the symbolic factor belong to the model; numbers belong to the state.
//
// A body whose factor would take more memory than it may has a multigrid hierarchy in its place (amg.h), which is kept
// and refreshed in the same way but never exact: every system is iterated, to the same tolerance.
#pragma once
#include "base/block.h"
#include "describe/scene.h"
#include "solve/amg.h"
#include "solve/factor.h"
#include "solve/substitute.h"

/// The part that never changes.
typedef struct tdLinearModel
{
    const tdBlockPattern *pattern;
    int32_t n;        ///< free coordinates
    int32_t *dof;     ///< by coordinate: its unknown, or -1 when it is held
    int32_t *coord;   ///< by unknown: its coordinate
    int32_t *Ap, *Ai; ///< lower triangle by columns
    int32_t *source;  ///< where each entry stands in the block values
    struct cholmod_common_struct *common;
    struct cholmod_factor_struct *symbolic;
    tdFactorPlan plan; ///< of the numeric factorization
    tdTriangularShape shape;
    bool *turning; ///< by node: its three coordinates are all unknowns, so that its frame may turn
    double factor_flops, factor_entries;
    bool single;         ///< factors are made in single precision, and solutions refined (refine.h)
    bool rough;          ///< td_linear_rough pays
    double factor_bytes; ///< that a factor takes in all, work included; INFINITY: more than can be counted
    int factor_cost;     ///< of a factorization, in iterations
    tdAmgModel *amg;     ///< in the place of a factor; NULL: there is one
} tdLinearModel;

/// How a model is to be solved. The bound holds before anything is allocated that grows with the factor.
typedef struct tdLinearChoice
{
    tdSolverKind kind;
    double memory; ///< [bytes] that a factor may take; with TD_SOLVER_AUTO, multigrid takes its place beyond
} tdLinearChoice;

/// held: by coordinate, true where it is not an unknown. choice NULL: by a factor, whatever it takes.
tdStatus td_linear_model_create(tdArena *arena, const tdBlockPattern *pattern, const bool *held,
                                const tdLinearChoice *choice, tdLinearModel *out, tdError *error);
void td_linear_model_free(tdLinearModel *model);

typedef struct tdLinear tdLinear;

typedef struct tdLinearResult
{
    int iterations;
    int factorizations;
    double residual; ///< |b - A x| / |b|
    bool refreshed;  ///< the kept factor is now that of this A
    bool indefinite; ///< A is not positive definite: nothing was solved
} tdLinearResult;

tdStatus td_linear_create(const tdLinearModel *model, tdArena *arena, tdIsa isa, tdLinear **out, tdError *error);
void td_linear_free(tdLinear *linear);

/// Right-hand sides that go with one where there is a factor of A, so that it is read once for all of them.
typedef struct tdLinearMore
{
    int n;
    int64_t stride; ///< between columns
    const double *b;
    double *x;
    bool done; ///< they were solved
} tdLinearMore;

/// A system. b and x are over all coordinates; held ones are ignored and stay zero.
typedef struct tdLinearTask
{
    tdSolverKind kind;
    double tolerance;     ///< |b - A x| <= tolerance |b|
    const double *values; ///< of A, over the model's pattern
    bool same;            ///< A is the one the kept factor was made of
    const double *b;
    double *x;          ///< holds a first guess
    const double *at;   ///< where the coordinates are, for multigrid
    tdLinearMore *more; ///< NULL: none
    /// Rotation of each node (9 numbers, row-major) since the kept factor was made: a body that turns as
    /// a whole takes its stiffness along, A ~ Q L L' Q' (S3 eq. 13). Called only when it is needed; NULL: none.
    const double *(*rotations)(void *context);
    /// z = P^-1 r over all coordinates, in the place of the kept factor, which is then neither used nor made. NULL:
    /// none.
    void (*precondition)(void *context, tdTasks *tasks, const double *r, double *z);
    void *context;
} tdLinearTask;

tdStatus td_linear_solve(tdLinear *linear, tdTasks *tasks, const tdLinearTask *task, tdLinearResult *result,
                         tdError *error);

/// A X = B for n right-hand sides by the factor of A, made now unless it is the kept one (`same`). Columns of B and X
/// are over all coordinates, `stride` apart; held ones are zero in X. To rounding; by a factor in single precision to
/// TD_LINEAR_REFINED.
tdStatus td_linear_solve_many(tdLinear *linear, tdTasks *tasks, const double *values, bool same, int n, int64_t stride,
                              const double *b, double *x, tdLinearResult *result, tdError *error);
/// b and what goes with it by a factor of these values in single precision, made now, and not refined: what is left is
/// some 1e-4 of each right-hand side. For a caller that corrects the one combination of solutions that counts
/// (td_linear_rough_apply). As `b` and `x` of a task; only where model->rough. result->indefinite: A is not positive
/// definite but for rounding, and nothing was solved.
tdStatus td_linear_rough(tdLinear *linear, tdTasks *tasks, const double *values, const double *b, double *x,
                         tdLinearMore *more, tdLinearResult *result, tdError *error);
/// x = A^-1 b by that factor, as roughly.
void td_linear_rough_apply(tdLinear *linear, tdTasks *tasks, const double *b, double *x);
/// Whether a factorization and direct solves with n right-hand sides cost less than iterating with the kept factor.
bool td_linear_directly(const tdLinear *linear, tdSolverKind kind, bool same, int n);

#define TD_LINEAR_REFINED 1e-9 ///< |b - A x| / |b|

/// Makes the kept factor from these values, in double precision; at: as in a task.
tdStatus td_linear_refresh(tdLinear *linear, tdTasks *tasks, const double *values, const double *at, tdError *error);
/// The same after a checkpoint was read, in the precision that its counters say.
tdStatus td_linear_restore(tdLinear *linear, tdTasks *tasks, const double *values, const double *at, tdError *error);
/// x = A^-1 b by the factor of td_linear_refresh alone (to rounding when it is the factor of A).
void td_linear_apply(tdLinear *linear, tdTasks *tasks, const double *b, double *x);

/// Where multigrid stands for a factor: one cycle of what td_linear_refresh made, near A^-1 r.
void td_linear_cycle(tdLinear *linear, tdTasks *tasks, const double *r, double *z);

/// to = Q' from (into the frame of a factor) or Q from (back), node by node; nodes with a held coordinate keep their
/// frame. Q NULL: as they are.
void td_linear_turn(const tdLinearModel *model, const double *Q, bool back, const double *from, double *to);

/// Counters that decide about refreshing; part of a checkpoint.
typedef struct tdLinearCounts
{
    int64_t has_factor; ///< 0: none, 1: in double precision, 2: in single
    int64_t solves, iterations, last;
} tdLinearCounts;
tdLinearCounts *td_linear_counts(tdLinear *linear);

// ---------------------------------------------------------------- CHOLMOD as this engine uses it

/// Supernodal, silent, one thread of BLAS.
void td_cholmod_start(struct cholmod_common_struct *common);
/// The structure of a symmetric matrix: its lower triangle by columns, rows ascending, which it refers to.
struct cholmod_sparse_struct td_cholmod_lower(int32_t n, int32_t *start, int32_t *row);
/// Around calls of CHOLMOD: keeps its OpenMP regions on the calling thread. Returns what to restore.
int td_openmp_quiet(void);
void td_openmp_restore(int levels);
