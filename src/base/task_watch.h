// SPDX-License-Identifier: Apache-2.0
// What pieces of parallel work take, for measurements.
#pragma once
#include "base/task.h"

/// From now on the processor time [s] of piece i of every loop is added to seconds[i], which has to have room for all;
/// NULL: no more.
void td_tasks_watch(tdTasks *tasks, double *seconds);
