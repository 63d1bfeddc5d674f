// SPDX-License-Identifier: Apache-2.0
// What came of td_loads_estimate().
#pragma once
#include "control/estimate.h"

struct tdLoads
{
    tdArena arena;
    tdModel *model;
    tdState *state;
    tdMarks marks;
    tdEstimate estimate;
    double seconds;
};
