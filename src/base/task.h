// SPDX-License-Identifier: Apache-2.0
// Task layer. Work is cut into pieces whose number depends on the data only, never on the
// number of threads; a reduction sums the pieces in their order. So the same bits come out
// of 1, 2 or more threads. A NULL pool runs everything in the caller.
#pragma once
#include "base/log.h"

typedef struct tdTasks tdTasks;

/// Work on piece i of n. Pieces of one call must not touch the same data.
typedef void (*tdTaskFn)(void *context, int i);

/// threads = 0: all cores. The caller's thread is one of them.
tdStatus td_tasks_create(int threads, tdTasks **out, tdError *error);
/// The caller's thread alone, which belongs to another pool: what linear algebra needs is reserved by that one.
tdStatus td_tasks_create_within(tdTasks **out, tdError *error);
void td_tasks_free(tdTasks *tasks);
int td_tasks_threads(const tdTasks *tasks);

/// Runs task(context, i) for all 0 <= i < n and returns when all are done. Allocates nothing.
void td_parallel(tdTasks *tasks, int n, tdTaskFn task, void *context);

/// From now on td_tasks_cancelled asks settings->cancel, which must outlive it; NULL: nobody is asked.
void td_tasks_ask(tdTasks *tasks, const tdSettings *settings);
/// Whether the caller wants the work to end, asked by any thread inside of long work. Once it was true it stays so
/// until the next td_tasks_ask: what a solver that was cut short says of its matrix is then not to be believed.
bool td_tasks_cancelled(tdTasks *tasks);
/// TD_CANCELLED when it does.
tdStatus td_check_cancel(tdTasks *tasks, tdError *error);

/// Fixed cut of [0, n) into pieces of about `grain`: the number of pieces, and the start of piece i.
static inline int td_pieces(int64_t n, int64_t grain)
{
    return n <= 0 ? 0 : (int)((n + grain - 1) / grain);
}

/// Parallel dot product with a fixed order of summation.
double td_dot(tdTasks *tasks, int64_t n, const double *a, const double *b);
