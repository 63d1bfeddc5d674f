// SPDX-License-Identifier: Apache-2.0
// Where training looks: values of the inputs at places that are visited one after the other, each with an equilibrium
// that is a snapshot. The path is cut into trajectories that start from rest, so that they can be computed one by one,
// in any order and anywhere; where it is cut depends on the scene alone.
#pragma once
#include "core/model.h"

typedef struct tdSamplePath
{
    int n;          ///< inputs of the model
    int64_t count;  ///< places
    double *values; ///< count x n
    double *weight; ///< count: share of gravity
    int n_trajectories;
    int64_t *start; ///< n_trajectories + 1: their first places
    int *number;    ///< by trajectory: under which it is known, whatever comes before it; NULL: its own
    int every;      ///< one place of so many is a snapshot; 0: all are
    int n_pilots;   ///< samples auto: trajectories to corners, behind the first,
    int64_t spread; ///< and places beside those
} tdSamplePath;

/// The path of the scene's `reduction`, after some places at which gravity comes on: a reduced model starts at rest,
/// and finds no way to shapes that its modes have but what lies between. Inputs that are not sampled stay as at the
/// scene's end. Memory of the arena. Samples greedy: what it begins with, each actuator alone from rest to its ends,
/// with room for `count` trajectories more.
/// Samples auto: what it begins with, some corners and a Latin hypercube, with room for `count` places beside corners.
tdStatus td_sample_path(const tdModel *model, tdArena *arena, tdSamplePath *out, tdError *error);
/// Places that samples greedy may add, in no trajectories: the corners of the ranges, where they are not more than
/// TD_SAMPLE_CORNERS_MOST, and `count` places of a Latin hypercube.
tdStatus td_sample_candidates(const tdModel *model, tdArena *arena, int64_t count, tdSamplePath *out, tdError *error);
/// Adds a trajectory from rest to the place with these values of all inputs, where there is room.
void td_sample_append(const tdModel *model, tdSamplePath *path, const double *values, int number);

/// Samples auto: adds places, which `spread` counts: every other one near one of n_near places, given by values of all
/// inputs, in turn; the others all over the ranges. There must be room.
tdStatus td_sample_more(const tdModel *model, tdArena *arena, int64_t count, int64_t n_near, const double *const *near,
                        tdSamplePath *path, tdError *error);

/// The motion of the scene's `validation`, and how long it takes [s]. A random one goes from rest through random places
/// so that every actuator goes from one end of its range to the other.
tdStatus td_sample_validation(const tdModel *model, tdArena *arena, const tdSceneMotion **motion, double *duration,
                              tdError *error);
/// Another random one, as fast, for training.
tdStatus td_sample_wander(const tdModel *model, tdArena *arena, const tdSceneMotion **motion, double *duration,
                          tdError *error);
/// `count` places of a motion, evenly spread over its time, the end included; the start is left out.
tdStatus td_sample_motion(const tdModel *model, tdArena *arena, const tdSceneMotion *motion, double duration,
                          int64_t count, tdSamplePath *out, tdError *error);

#define TD_SAMPLE_MOST         1000000 // snapshots
#define TD_SAMPLE_CORNERS_MOST 128     // of candidates
#define TD_SAMPLE_PILOT        8       // corners of samples auto
