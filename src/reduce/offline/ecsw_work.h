// SPDX-License-Identifier: Apache-2.0
// What the choice from all columns (ecsw.c) and the choice in parts (ecsw_parts.c) share.
#pragma once
#include "reduce/offline/ecsw.h"
#include "reduce/offline/nnls.h"

#define TD_ECSW_ATTEMPTS 12 // at a tolerance on the sketch that all rows agree with; at one of parts

struct tdEcswMaker
{
    const tdEcswTask *task;
    int s;           // rows of the sketch
    double *omega;   // s x rows, column-major
    double *sketch;  // s x as many columns as there is room for
    double *y;       // rows: sum of all columns
    double *sy;      // s
    double *columns; // rows x block
    double *sum;     // rows: of a block
    int64_t begin, end;
    double *sketched; // of the block: its place in `sketch`
    bool stopped;
};

/// n: columns that the sketch has room for.
tdStatus td_ecsw_work_prepare(tdEcswMaker *w, size_t n, tdError *error);
void td_ecsw_work_free(tdEcswMaker *w);

void td_ecsw_go_to_block(tdEcswMaker *w, int64_t begin);
/// The block where it stands: its sketch and its sum.
tdStatus td_ecsw_make_block(tdEcswMaker *w, tdError *error);
/// The same from an earlier run, or now. sketched: false: its sum alone is wanted, and the sketch has room for a block.
tdStatus td_ecsw_take_block(tdEcswMaker *w, bool sketched, tdError *error);
/// All blocks: y, the sum of their columns, and its sketch sy. sketched: the sketch of each too, one behind the other;
/// false: it is not held.
tdStatus td_ecsw_sum_up(tdEcswMaker *w, bool sketched, tdError *error);
/// For td_nnls_run: notes in `w` when `progress` of the task asks to stop.
bool td_ecsw_note_stop(void *w, int count, double residual);

/// Columns to choose from: `column` gives the number of each; NULL: they are all.
typedef struct tdEcswPool
{
    int64_t n;
    const double *sketch; // s x n
    const int32_t *column;
    const uint8_t *skip; // n
} tdEcswPool;
/// The sketch judges too well: its tolerance is tightened until all rows agree. *short_of: the pool has nothing more
/// that would bring the residual on the sketch to what was asked.
tdStatus td_ecsw_choose(tdEcswMaker *w, const tdEcswPool *pool, tdArena *arena, tdEcswResult *result, bool *short_of,
                        tdError *error);

/// A choice in parts, with a sketch of so many rows.
tdStatus td_ecsw_in_parts(const tdEcswTask *task, int rows, tdArena *arena, tdEcswResult *result, tdError *error);
