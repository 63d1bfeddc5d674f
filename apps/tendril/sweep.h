// SPDX-License-Identifier: Apache-2.0
// Runs of a scene with some of its keys varied, and the table that comes of them.
#pragma once
#include "cli.h"
#include "vary.h"

#define SWEEP_AXES 16

typedef enum sweepTake
{
    SWEEP_LAST, // at the end of the run
    SWEEP_MEAN, // over its steps
    SWEEP_LEAST,
    SWEEP_MOST
} sweepTake;

/// One run: which values, and what came of it.
typedef struct sweepRun
{
    int32_t done; ///< its numbers are known
    int32_t status;
    int64_t steps;
} sweepRun;

typedef struct Sweep
{
    tdArena arena;
    int n_axes;
    varyAxis axis[SWEEP_AXES];
    int64_t seeds; ///< 0: nothing is drawn
    int64_t runs;
    int width;           ///< numbers of a run
    const char **titles; ///< of these: "tip_x [m]"
    sweepRun *run;
    double *values; ///< runs x width
} Sweep;

/// Which value of an axis a run has, and its seed, from 1 (0: none).
int sweep_index(const Sweep *sweep, int64_t run, int axis);
uint64_t sweep_seed(const Sweep *sweep, int64_t run);

/// Titles of all numbers of the outputs, in the sweep's arena. sweep_table.c, like what follows.
tdStatus sweep_titles(Sweep *sweep, const tdModel *model, const tdOutputs *outputs, tdError *error);
/// OUT/table.csv and OUT/table.png.
tdStatus sweep_write(const Sweep *sweep, const char *folder, tdError *error);
