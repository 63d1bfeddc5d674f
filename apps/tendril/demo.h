// SPDX-License-Identifier: Apache-2.0
// What 'tendril demo' makes, stage by stage, and the report that tells of it.
#pragma once
#include "reduce/offline/job.h"
#include "study/compare.h"
#include "study/subject.h"
#include "study/tracking.h"

#include <limits.h>

#define DEMO_POSES 4 // along the path

typedef enum demoStage
{
    DEMO_ROBOT,
    DEMO_REDUCE,
    DEMO_COMPARE,
    DEMO_CONTROL,
    DEMO_REPORT,
    DEMO_STAGES
} demoStage;

typedef struct Demo
{
    const char *out;
    char scene[PATH_MAX], path[PATH_MAX], rom[PATH_MAX], page[PATH_MAX];
    char machine[128];
    int cores;
    double load; ///< of the machine by others when it began, in cores; 0: not known
    double seconds[DEMO_STAGES];
    // the robot
    tdSubject rest;      ///< as it is made, with cables and held nodes
    char actuators[120]; ///< "4 cables"
    int64_t nodes, elements, unknowns;
    double time_step;
    // the reduced model
    tdReduceReport reduced;
    tdSubject domain; ///< with the elements that stand for all
    tdComparison compared;
    int hyper; ///< among the models compared
    // control of the reduced model, and the same actuation on full order
    tdModel *model;
    tdState *state;
    tdControl *control;
    tdTracking *table;
    tdSubject poses[DEMO_POSES];
    int64_t pose_steps[DEMO_POSES];
    int n_poses;
    double *value, *error; ///< of full order: 3 and 1 a step; NULL: the actuation cannot be replayed
    double mean_error, largest_error;
    double step_ms; ///< of control, median
} Demo;

/// Other work may have distorted what was measured.
bool demo_was_busy(const Demo *demo);
/// Writes demo->page. demo_page.c
tdStatus demo_write_page(Demo *demo, tdError *error);
