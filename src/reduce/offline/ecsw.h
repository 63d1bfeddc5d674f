// SPDX-License-Identifier: Apache-2.0
// Energy-conserving sampling and weighting (Farhat et al.; S1 eq. 20-21): few elements with positive weights whose
// projected forces stand for those of all,
//
//     min |xi|_0   |G xi - y| <= tau |y|,   xi >= 0,     y = G 1
//
// by greedy non-negative least squares with an updated factorization. G has a column for each element and a row for
// each mode of each snapshot: it comes in blocks of columns and is never held whole; a sketch of its rows is, which
// finds the same elements, and the residual that counts is evaluated on all rows at the end. A sketch that turns out
// too small for the tolerance is made again with twice its rows, as far as it may grow.
//
// Where even the sketch is too large, or several processes are to share the work, columns are chosen in parts
// (ecsw_parts.c): each part chooses for its own sum, and the final choice is one among the columns of all these.
#pragma once
#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

/// Least squares with non-negative unknowns, greedy. Columns of A (rows x n, column-major). Stops when
/// |A xi - y| <= tau |y|, or after `most` columns. Returns how many are positive in *count.
typedef struct tdNnlsProgress
{
    bool (*fn)(void *user, int count, double residual); ///< false: stop early; may be NULL
    void *user;
} tdNnlsProgress;
tdStatus td_nnls(int64_t rows, int64_t n, const double *A, const double *y, double tau, int most, tdTasks *tasks,
                 const tdNnlsProgress *progress, double *xi, int *count, double *residual, tdError *error);

/// Fills columns [begin, end) of G, `rows` apart; may be called from one thread only.
typedef tdStatus (*tdColumnsFn)(void *user, int64_t begin, int64_t end, double *out, tdError *error);

/// Makes blocks of columns for a sketch, and the choices of parts.
typedef struct tdEcswMaker tdEcswMaker;

/// What a part of the columns has chosen for its own sum.
typedef struct tdEcswShare
{
    int64_t part, begin, end; ///< columns of the part
    double target;            ///< |residual| on the sketch that it was allowed
    int64_t count;
    int32_t *column;  ///< count, ascending; td_take
    double *sketched; ///< count x rows of the sketch; td_take
} tdEcswShare;

typedef struct tdEcswTask
{
    int64_t rows, n; ///< of G
    int64_t block;   ///< columns at a time
    tdColumnsFn columns;
    void *user;
    double tau;
    int most;            ///< columns chosen at most; 0: no bound
    int sketch;          ///< rows of the sketch to begin with; 0: chosen
    int most_sketch;     ///< to which it may grow; 0: all rows
    uint64_t seed;       ///< of the sketch
    const uint8_t *skip; ///< n: columns that may not be chosen (for a second, independent choice); NULL: none
    int parts;           ///< 0, 1: columns are chosen from all at once; more: first in so many parts of whole blocks
    tdTasks *tasks;
    tdNnlsProgress progress;
    // Resuming: called with the sketched columns (`sketch` rows) of each block as they are made; and asked for before,
    // returning true when it has them; sketched NULL: the sum alone is wanted. Both may be NULL.
    bool (*load)(void *user, int sketch, int64_t begin, int64_t end, double *sketched, double *sum);
    tdStatus (*save)(void *user, int sketch, int64_t begin, int64_t end, const double *sketched, const double *sum,
                     tdError *error);
    /// Several processes, with load and save: called before blocks are asked for one by one. It may make those that are
    /// missing, here by the maker and elsewhere, and returns when they are there. May be NULL.
    tdStatus (*spread)(void *user, tdEcswMaker *maker, int sketch, tdError *error);
    // The same for the choices of parts: load_share finds `column` and `sketched` by part and target.
    bool (*load_share)(void *user, int sketch, tdEcswShare *share);
    tdStatus (*save_share)(void *user, int sketch, const tdEcswShare *share, tdError *error);
    tdStatus (*spread_shares)(void *user, tdEcswMaker *maker, int sketch, double target, tdError *error);
} tdEcswTask;

/// Elsewhere: a maker of blocks for a sketch of so many rows. The task must outlive it.
tdStatus td_ecsw_maker_create(const tdEcswTask *task, int sketch, tdEcswMaker **out, tdError *error);
void td_ecsw_maker_free(tdEcswMaker *maker);
/// Makes block number `block` and saves it.
tdStatus td_ecsw_make(tdEcswMaker *maker, int64_t block, tdError *error);
/// Parts that there are: none is empty, so that they may be fewer than asked for.
int td_ecsw_parts(const tdEcswTask *task);
/// Columns of each but the last.
int64_t td_ecsw_part_columns(const tdEcswTask *task);
/// Chooses in one part, whose blocks have been made, and saves what it chose.
tdStatus td_ecsw_choose_part(tdEcswMaker *maker, int64_t part, double target, tdError *error);

/// Why there are no more elements.
typedef enum tdEcswEnd
{
    TD_ECSW_WITHIN,  // the residual is within the tolerance
    TD_ECSW_SKETCH,  // no more can be told apart by a sketch of this size
    TD_ECSW_COLUMNS, // none that may be chosen makes it smaller
    TD_ECSW_MOST,    // as many as were asked for at most
    TD_ECSW_STOPPED  // by `progress`
} tdEcswEnd;

typedef struct tdEcswResult
{
    int count;
    int32_t *element; ///< count, ascending
    double *weight;
    double sketched_error, error; ///< relative residuals: on the sketch, on all rows
    int sketch_rows;
    tdEcswEnd end;
} tdEcswResult;

/// Chooses with a tighter tolerance on the sketch, then with a larger sketch, until the true residual is within tau, or
/// `end` says what was in the way.
tdStatus td_ecsw(const tdEcswTask *task, tdArena *arena, tdEcswResult *result, tdError *error);
