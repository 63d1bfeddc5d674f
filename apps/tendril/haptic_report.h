// SPDX-License-Identifier: Apache-2.0
// A session of 'tendril haptic', and what is said of it.
#pragma once
#include "haptic/haptic.h"

#include "cli.h"
#include "haptic/loop.h"

typedef struct hapticArguments
{
    const char *scene, *device, *tool, *rate, *stiffness, *max_force, *time, *out, *threads;
    bool lockstep, inside;
} hapticArguments;

#define MOST_TOOLS 4

// A tool and the hand that holds it.
typedef struct hapticTool
{
    char name[128]; ///< empty: the only one
    tdHaptic *haptic;
    tdDevice *device;
    tdLoop *loop;
    tdLoopReport report;
    tdLoopRecord *records; ///< of lockstep
    const tdLoopRecord *felt;
    int64_t n_felt, tick;
    int told;         ///< the fault that the user knows of
    double told_when; ///< clock
} hapticTool;

typedef struct hapticSession
{
    const hapticArguments *arguments;
    tdModel *model;
    tdState *state;
    hapticTool tools[MOST_TOOLS];
    tdHaptic *haptics[MOST_TOOLS];
    int n;
    double period, until;
    double *seconds, *work;    ///< by step: time taken, and time of the processor in it
    int64_t steps, room, late; ///< late: steps that took longer than the time step
    int64_t work_room;
    double stage[TD_STAGES];
    tdStatus status;
    tdError error; ///< what status failed by
    bool interrupted;
} hapticSession;

/// Files of forces, the report or JSON, and whether the scene is too heavy. Returns the exit code.
int haptic_tell(hapticSession *s);
