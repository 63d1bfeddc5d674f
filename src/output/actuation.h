// SPDX-License-Identifier: Apache-2.0
// Actuators and effectors in the files of a run.
//
//   actuators.csv      NAME.effort, NAME.displacement of each actuator
//   effectors.csv      NAME.x, NAME.y, NAME.z (NAME for one number), NAME.target..., NAME.error of each effector; then
//                      residual and out_of_reach of inverse control. What there is not (a target, inverse control)
//                      leaves its fields empty. The columns of values and targets have the form of goals.
//   cables_000123.vtu  the cables after step 123 as lines; by cell tension [N], displacement [m], actuator (number)
//   cavities_000123.vtu  the walls of the cavities as triangles; by cell pressure [Pa], displacement [m^3], actuator
//   cables.pvd, cavities.pvd  their series
#pragma once
#include "core/state.h"
#include "output/csv.h"
#include "output/totals.h"

typedef struct tdActuationOutput tdActuationOutput;

/// Arrays at a frame.
typedef struct tdActuationFrame
{
    const double *effort, *displacement; ///< by actuator
    const double *value, *target;        ///< 3 by effector; NAN: there is none
} tdActuationFrame;

/// How far an effector is from its target in the components that count, in its unit; NAN without a target.
double td_effector_error(const tdModel *model, const tdState *state, int effector);
/// The first actuator that the scene or the caller drives but that its limits held back in the last step; -1: none.
int td_actuation_saturated(const tdModel *model, const tdState *state);

/// What of the files is wanted; keep as in tdOutputSettings.
typedef struct tdActuationSettings
{
    bool vtu, csv, compressed;
    int64_t keep;
} tdActuationSettings;

/// *out is NULL when the scene has neither actuators nor effectors.
tdStatus td_actuation_open(const tdModel *model, const char *folder, const tdActuationSettings *settings,
                           tdActuationOutput **out, tdError *error);
/// Writes a frame. `frame` gets the arrays, valid until the next call.
tdStatus td_actuation_frame(tdActuationOutput *output, const tdState *state, tdActuationFrame *frame, tdError *error);
/// Also releases it. A NULL is fine.
tdStatus td_actuation_close(tdActuationOutput *output, tdError *error);
tdStatus td_actuation_flush(tdActuationOutput *output, tdError *error);
