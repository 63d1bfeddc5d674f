// SPDX-License-Identifier: Apache-2.0
// What of a batch others inside of the project use.
#pragma once
#include "tendril/tendril.h"

struct tdTasks;

/// Over which robots are shared out: robot by robot, in their order.
struct tdTasks *td_batch_tasks(tdBatch *batch);
