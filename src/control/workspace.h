// SPDX-License-Identifier: Apache-2.0
// What a robot can reach: its actuators are set to places in their ranges, one after the other, and every place has an
// equilibrium. Places are visited so that each is near the one before, because an equilibrium is found from the last.
#pragma once
#include "core/state.h"

/// What can be set on its own: an actuator, or a group of them that shares a motor or a valve.
typedef struct tdWorkspaceAxis
{
    int n;
    const int *actuators;
    const double *ratio; ///< of each to the common value
    double range[2];     ///< of the common value: least, most
} tdWorkspaceAxis;

/// Makes any scene static and takes targets away, so that actuators stay where they are set: a tdSceneEdit.
tdStatus td_workspace_edit(void *context, tdScene *scene, tdError *error);
/// Only that: actuators stay where they are set.
tdStatus td_workspace_edit_targets(void *context, tdScene *scene, tdError *error);

/// The axes, in the arena. A range that is not limited on both sides is an error that names the actuator.
tdStatus td_workspace_axes(const tdModel *model, tdArena *arena, int *n, tdWorkspaceAxis **axes, tdError *error);

/// Places in the order of the visit, places[count][n] in the axes' ranges. All `each`^n of a grid, the ends of the
/// ranges included; or `count` samples: the corners where they are not more than half of them, else scrambled Halton
/// points. Memory of the arena.
tdStatus td_workspace_grid(tdArena *arena, int n, const tdWorkspaceAxis *axes, int each, int64_t *count,
                           double **places, tdError *error);
tdStatus td_workspace_samples(tdArena *arena, int n, const tdWorkspaceAxis *axes, int64_t count, double **places,
                              tdError *error);

/// A share of an axis's range, 0 to 1, as a value; and the share where rest is.
double td_workspace_value(const tdWorkspaceAxis *axis, double share);
double td_workspace_rest(const tdWorkspaceAxis *axis);
/// Orders shares[count][n] so that each place is near the one before: from rest always on to the nearest.
void td_workspace_walk(int n, int64_t count, double *shares, const double *rest);

#define TD_WORKSPACE_AXES    40      // most axes
#define TD_WORKSPACE_GRID    1000000 // most places of a grid
#define TD_WORKSPACE_SAMPLES 20000   // of samples: the walk through them takes their square

/// Loads, prescribed motions and actuators that are not among the axes act from now on as they do at a time.
tdStatus td_hold_inputs(const tdModel *model, tdState *state, double time);
/// Sets the axes to a place and finds its equilibrium. On failure the state keeps the last one.
tdStatus td_workspace_visit(const tdModel *model, tdState *state, int n, const tdWorkspaceAxis *axes,
                            const double *place);
