// SPDX-License-Identifier: Apache-2.0
// Proper orthogonal decomposition of snapshots that come in blocks: S = U Sigma V', of which a truncated form is kept,
// so that memory is bounded by the number of modes kept and the block, never by the number of snapshots.
//
//     nu^2 = sum_{i > p} sigma_i^2 / sum_i sigma_i^2     p modes leave nu behind (S1 eq. 15)
#pragma once
#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

typedef struct tdPod tdPod;

/// n rows; at most `most` modes are kept between blocks, and what falls below `drop` (or rounding, 1e-13) relative to
/// the largest.
tdStatus td_pod_create(int64_t n, int most, double drop, tdPod **out, tdError *error);
/// One that is done: `rank` modes U (n x rank by columns), which it takes over, with their singular values, and the sum
/// of squares of all snapshots.
tdStatus td_pod_adopt(int64_t n, int rank, double *U, const double *sigma, double square, tdPod **out, tdError *error);
void td_pod_free(tdPod *pod);
/// Adds k snapshots (columns, n apart); refused when they are not finite. The order of blocks matters to rounding only.
tdStatus td_pod_add(tdPod *pod, tdTasks *tasks, int k, const double *snapshots, tdError *error);
/// Modes needed for the tolerance nu (at least 1 when there is anything), with the error they leave.
int td_pod_modes(const tdPod *pod, double tolerance, double *error_left);
int td_pod_rank(const tdPod *pod);
const double *td_pod_sigma(const tdPod *pod); ///< td_pod_rank of them, descending
/// Amplitudes of a shape (n) on all td_pod_rank() modes, signs aside.
void td_pod_project(const tdPod *pod, const double *shape, double *amplitude);
/// The first r modes as an n x r row-major matrix, orthonormal columns, the largest entry of each positive.
void td_pod_basis(const tdPod *pod, int r, double *phi);
