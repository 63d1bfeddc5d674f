// SPDX-License-Identifier: Apache-2.0
// Inside of the closed loop, for the program's report.
#pragma once
#include "core/state.h"

/// Whether a scene has something to steer and something to steer it with.
tdStatus td_control_check(const tdModel *model, tdError *error);

/// Takes actuators out of the motion, so that control finds what they do: a tdSceneEdit whose context is a text of
/// names with commas between them, or "all".
tdStatus td_control_free_actuators(void *names, tdScene *scene, tdError *error);

/// Distance of an effector's value from a goal, over the components that count: [m], [rad], [m^3].
double td_control_error(const tdModel *model, int effector, const double *value, const double *goal);

/// What was measured of an effector at a time; false when there is nothing.
bool td_control_measured(const tdControl *control, int effector, double time, double measured[3]);

/// An effector of the file of measurements that has no goal, so that nothing would come of them; -1: none.
int td_control_measured_in_vain(const tdControl *control);

/// What tables put behind the name of an effector for one of its numbers: ".x", ".y", ".z"; "" where it has one only.
const char *td_effector_suffix(int rows, int row);
