// SPDX-License-Identifier: Apache-2.0
// A whole run in one HDF5 file, to be read by h5py, MATLAB or HDFView.
//
//   /                  attributes tendril (version), scene (hash), units
//   /frames/step, time and the columns of the report that do not come from the clock
//   /probes/NAME       frame x 3, position
//   /actuators/effort, displacement            frame x actuator; attributes names, units
//   /effectors/value, target                   frame x effector x 3, NaN where there is none; attributes names, units
//   /attachments/force, torque, point          frame x attachment x 3: on side a, about point; attributes names, units
//   /couplings/effort                          frame x coupling; attributes names, units
//   /contacts/...                              points that bear a force: contact_series.h
//   /bodies/NAME/rest, surface                 once
//   /bodies/NAME/tris, tets, hexes, tets10     once: nodes of the elements, those kinds that there are; fields by
//                                              element follow this order
//   /bodies/NAME/position, velocity, reaction  frame x node x 3
//   /bodies/NAME/von_mises, strain_energy      frame x element
//
// Equal runs give equal bytes. The file is flushed at each frame, so that one whose run was killed can be
// read up to its last frame; only a kill in the middle of a flush can damage it.
#pragma once
#include "output/actuation.h"
#include "output/bonds.h"
#include "output/totals.h"

typedef struct tdTrajectory tdTrajectory;

/// Arrays of a body at a frame.
typedef struct tdBodyFrame
{
    const double *position, *velocity, *reaction; ///< 3 a node
    const double *von_mises, *strain_energy;      ///< by element
} tdBodyFrame;

/// keep < 0: a new file; else frames up to that step of an earlier run are kept, later ones dropped.
tdStatus td_trajectory_open(const tdModel *model, const char *path, bool compressed, int64_t keep, tdTrajectory **out,
                            tdError *error);
/// Last step of which a frame was kept; -1: none.
int64_t td_trajectory_kept(const tdTrajectory *trajectory);
/// A step of which a frame was kept is not written again. bodies: by body; probes: 3 a probe; actuation: NULL arrays
/// where the scene has neither actuators nor effectors; sensed: values of all sensors; state: for its contacts.
tdStatus td_trajectory_frame(tdTrajectory *trajectory, int64_t step, double time, const tdTotals *totals,
                             const tdBodyFrame *bodies, const double *probes, const tdActuationFrame *actuation,
                             const tdBondFrame *bonds, const double *sensed, const tdState *state, tdError *error);
/// Also releases it. A NULL is fine.
tdStatus td_trajectory_close(tdTrajectory *trajectory, tdError *error);
