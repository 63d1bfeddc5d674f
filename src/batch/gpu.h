// SPDX-License-Identifier: Apache-2.0
// A batch whose robots are on a GPU: what tdBatch asks of it, each as the public function of that name.
#pragma once
#include "core/state.h"

typedef struct tdGpuBatch tdGpuBatch;

tdStatus td_gpu_batch_create(const tdModel *model, const tdSettings *settings, int robots, tdGpuBatch **out,
                             tdError *error);
void td_gpu_batch_free(tdGpuBatch *batch);
/// A copy, until the next call; NULL: the device has failed.
tdState *td_gpu_batch_state(tdGpuBatch *batch, int robot);
/// Until the next call.
const tdError *td_gpu_batch_error(tdGpuBatch *batch, int robot);
tdStatus td_gpu_batch_choose(tdGpuBatch *batch, const tdOutputs *outputs, tdError *error);
tdStatus td_gpu_batch_reset(tdGpuBatch *batch, const uint8_t *mask, tdError *error);
tdStatus td_gpu_batch_set(tdGpuBatch *batch, tdParameter parameter, int index, const double *values, int64_t stride,
                          const uint8_t *mask, tdError *error);
tdStatus td_gpu_batch_write(tdGpuBatch *batch, void *memory, size_t stride, const uint8_t *mask, tdError *error);
tdStatus td_gpu_batch_read(tdGpuBatch *batch, const void *memory, size_t stride, const uint8_t *mask, tdError *error);
/// `inputs`: n_inputs, those that rows hold. rollout->hold 0: outputs alone.
tdStatus td_gpu_batch_rollout(tdGpuBatch *batch, const tdRollout *rollout, int n_inputs, const int *inputs,
                              tdError *error);
