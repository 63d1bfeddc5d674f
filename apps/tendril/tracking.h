// SPDX-License-Identifier: Apache-2.0
// What 'control' says of a run.
#pragma once
#include "cli.h"
#include "study/tracking.h"

/// Errors by effector, over all steps and from the step where the start is over. Percentiles of times. Files.
void track_json(const tdTracking *table, const tdModel *model, tdJson *json);
void track_print(const tdTracking *table, const tdModel *model);
