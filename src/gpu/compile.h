// SPDX-License-Identifier: Apache-2.0
// A model as the plan of a back end.
#pragma once
#include "core/state.h"
#include "gpu/plan.h"

/// The plan of a model with what is to be read of its robots, to be released by free(). TD_ERROR_INPUT: there is
/// something in the scene that the GPU does not support; the message says what.
tdStatus td_gpu_compile(const tdModel *model, const tdSettings *settings, const tdOutputs *outputs, tdGpuPlan **out,
                        tdError *error);
/// A state as the row of a robot, and back.
void td_gpu_row(const tdModel *model, const tdState *state, const tdGpuPlan *plan, double *row);
tdStatus td_gpu_state(const tdModel *model, const tdGpuPlan *plan, const double *row, tdState *state, tdError *error);
