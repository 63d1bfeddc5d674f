// SPDX-License-Identifier: Apache-2.0
// What 'control' keeps of a run: how near effectors came to their goals, what actuators did, how long it took.
#pragma once
#include "cli.h"

typedef struct trackTable trackTable;

/// For the effectors that have a goal. With a folder (else NULL) it writes there, a row a step,
///
///   actuation.csv  effort and displacement of every actuator
///   tracking.csv   goal, value and error of effectors (and what was measured of them), residual, limits
///
/// and at the end tracking.png and actuation.png.
tdStatus track_open(const tdModel *model, tdControl *control, const char *folder, bool measured, trackTable **out,
                    tdError *error);
void track_free(trackTable *table);

/// Adds a step that was taken in `seconds`.
tdStatus track_add(trackTable *table, const tdModel *model, const tdState *state, double seconds, tdError *error);
/// Closes the tables and draws the pictures.
tdStatus track_finish(trackTable *table, const tdModel *model, tdError *error);

/// Errors by effector, over all steps and from the step where the start is over: the first whose error is not above
/// the median. Percentiles of times. Files.
void track_json(const trackTable *table, const tdModel *model, tdJson *json);
void track_print(const trackTable *table, const tdModel *model);
