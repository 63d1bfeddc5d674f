// SPDX-License-Identifier: Apache-2.0
// Positions and rates of the joints of articulated bodies, for tables: joints with one coordinate, those that mimic
// others too.
#pragma once
#include "base/file.h"
#include "core/state.h"

/// How many there are; two values each.
int td_joints(const tdModel *model);
/// Titles BODY.JOINT [rad] and BODY.JOINT_rate [rad/s], or in metres.
void td_joint_titles(const tdModel *model, tdText *header);
/// values[2 td_joints()]: position, rate.
void td_joint_values(const tdModel *model, const tdState *state, double *values);
