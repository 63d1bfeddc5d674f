// SPDX-License-Identifier: Apache-2.0
// Sensors for tables: sensors.csv has NAME.force_x [N] and so on of each, one after the other.
#pragma once
#include "core/state.h"
#include "output/csv.h"

/// Values of all sensors together.
int td_sensor_values(const tdModel *model);
void td_sensor_titles(const tdModel *model, tdText *header);
/// What they measured in the last step, into values.
void td_sensor_frame(const tdModel *model, const tdState *state, double *values);
