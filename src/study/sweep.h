// SPDX-License-Identifier: Apache-2.0
// Rollouts from a file to a file: inputs of many robots over time, and what came of them.
//
//     inputs.h5    inputs (robots, rows, n)      attribute names: of the n inputs; none: all of the scene
//                  parameters/NAME (robots)      NAME: friction, young:BODY, offset:INPUT, delay [s], ...
//     out.h5       outputs/NAME (robots, rows, numbers), status and steps (robots)
//
// What is done lies in a folder beside the output, block by block of robots and piece by piece of rows, each with the
// states at its end, so that the job goes on where it was killed. The file that comes out is the same whatever
// happened.
#pragma once
#include "base/memory.h"
#include "store/h5.h"
#include "tendril/study.h"

#define TD_SWEEP_MOST 1000000000 // robots, rows or numbers

/// Numbers of each robot.
typedef struct tdSweepParameter
{
    const char *name;
    double *values;
} tdSweepParameter;

/// sweep_file.c: an open file of inputs. Zero-initialize; td_sweep_close().
typedef struct tdSweepInputs
{
    const char *path;
    tdArena arena;
    hid_t file, data; ///< 0: not open
    int64_t robots, rows, n;
    const char **names; ///< NULL: all of the scene
    int n_parameters;
    tdSweepParameter *parameters;
} tdSweepInputs;

tdStatus td_sweep_open(const char *path, tdSweepInputs *out, tdError *error);
void td_sweep_close(tdSweepInputs *inputs);
/// robots x rows x n numbers from a robot and a row on.
tdStatus td_sweep_read(const tdSweepInputs *inputs, int64_t robot, int64_t robots, int64_t row, int64_t rows,
                       double *out, tdError *error);

/// An output that is being written beside its place. Zero-initialize; td_sweep_finish().
typedef struct tdSweepFile
{
    const char *path;
    char temporary[4096];
    hid_t file;
    int n;
    hid_t *data;
    const tdOutputs *outputs;
    int64_t robots, rows;
} tdSweepFile;

tdStatus td_sweep_create(const char *path, const char *scene, double step, const tdOutputs *outputs, int64_t robots,
                         int64_t rows, tdSweepFile *out, tdError *error);
/// values: robots x rows x width.
tdStatus td_sweep_write(const tdSweepFile *file, int64_t robot, int64_t robots, int64_t row, int64_t rows,
                        const double *values, tdError *error);
/// Puts it in its place, whole; or, where status is not TD_OK, throws it away.
tdStatus td_sweep_finish(tdSweepFile *file, tdStatus status, const int32_t *ends, const int64_t *steps, tdError *error);
