// SPDX-License-Identifier: Apache-2.0
// Greedy non-negative least squares whose active set can be carried on: min |A xi - y|, xi >= 0, adding the column that
// explains most of what is left, after Lawson and Hanson. The factor L L' of the active columns' products is updated
// when a column comes and goes.
#pragma once
#include "reduce/offline/ecsw.h"

typedef struct tdNnls tdNnls;

/// A is kept by reference: rows x n, column-major. skip: n, columns that may not be chosen; NULL: none. At most `most`.
tdStatus td_nnls_create(int64_t rows, int64_t n, const double *A, const double *y, const uint8_t *skip, int most,
                        tdNnls **out, tdError *error);
void td_nnls_free(tdNnls *nnls);
/// Goes on until |A xi - y| <= tau |y| or nothing helps any more.
void td_nnls_run(tdNnls *nnls, double tau, tdTasks *tasks, const tdNnlsProgress *progress);
int td_nnls_count(const tdNnls *nnls);
double td_nnls_residual(const tdNnls *nnls); ///< relative
/// The chosen columns, ascending, and their values.
void td_nnls_result(const tdNnls *nnls, int32_t *column, double *value);
