// SPDX-License-Identifier: Apache-2.0
// Batches of reduced robots on one device or another, driven alike, in tests.
#pragma once
#include "reduced.h"
#include "scenes.h"
#include "test.h"

#include "core/state.h"

#define OWN   TD_SOURCE_DIR "/tests/golden/scenes/"
#define HOST  TD_BUILD_DIR "/libtendril_gpu_host.so"
#define WARPS TD_BUILD_DIR "/libtendril_gpu_warp.so"
#define CUDA  TD_BUILD_DIR "/libtendril_gpu.so"

enum
{
    ROBOTS = 5,
    ROWS = 50,
    HOLD = 2
};

/// A scene with the modes and elements of a golden robot, whatever its law and what is around it.
static inline tdModel *reduced_as(const char *text, const char *file)
{
    tdError error = {0};
    tdRom rom = {0};
    tdModel *full = scene_parse(text), *model = NULL;
    assert_ok(td_rom_read(file, &rom, &error), error);
    rom.physics = td_soft_physics(full, 0);
    tdSettings settings = td_default_settings();
    assert_ok(td_model_parse_reduced(text, strlen(text), "scene.yaml", NULL, &settings, &rom, &model, &error), error);
    td_arena_free(&rom.arena);
    td_model_free(full);
    return model;
}

/// gpu: file of a back end; NULL: the CPU.
static inline tdBatch *make_with(const tdModel *model, int robots, const char *gpu, tdRomPrecision precision)
{
    tdBatch *batch = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    settings.device = gpu == NULL ? TD_DEVICE_CPU : TD_DEVICE_GPU;
    settings.gpu = gpu;
    settings.rom_precision = precision;
    assert_ok(td_batch_create(model, &settings, robots, &batch, &error), error);
    return batch;
}

/// ROWS rows of the chosen inputs, HOLD steps each; outputs by row, to be freed. Every robot has to arrive.
static inline double *roll_outputs(tdBatch *batch, int robots, int n_inputs, const int *chosen, int n,
                                   const char *const *outputs, const double *inputs)
{
    tdError error = {0};
    int32_t *status = malloc(sizeof *status * (size_t)robots);
    assert_ok(td_batch_choose_inputs(batch, n_inputs, chosen, &error), error);
    assert_ok(td_batch_choose_outputs(batch, n, outputs, &error), error);
    int64_t width = td_outputs_width(td_batch_outputs(batch));
    double *out = malloc(sizeof(double) * (size_t)(robots * ROWS * width));
    tdRollout rollout = td_default_rollout();
    rollout.rows = ROWS;
    rollout.hold = HOLD;
    rollout.inputs = (tdSpan){(double *)inputs, (int64_t)ROWS * n_inputs, n_inputs, 1};
    rollout.outputs = (tdSpan){out, ROWS * width, width, 1};
    rollout.status = status;
    assert_ok(td_batch_rollout(batch, &rollout, &error), error);
    for (int i = 0; i < robots; i++)
        if (status[i] != TD_OK)
            fail_msg("robot %d: %s", i, td_batch_error(batch, i)->message);
    free(status);
    return out;
}
