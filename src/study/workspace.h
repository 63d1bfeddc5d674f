// SPDX-License-Identifier: Apache-2.0
// What came of td_workspace_explore().
#pragma once
#include "control/workspace.h"
#include "tendril/study.h"

struct tdWorkspace
{
    tdArena arena;
    tdModel *model;
    tdState *state;
    int n; ///< axes
    tdWorkspaceAxis *axes;
    int64_t count;  ///< places
    double *places; ///< count x n
    int n_values;
    int chosen;     ///< effector to draw
    double *rest;   ///< n_values: effectors at rest
    double *found;  ///< reached x n_values
    int64_t *index; ///< of each reached place
    int64_t reached, failed;
    double (*box)[2]; ///< by value: least and most
    tdError first;    ///< failure
    bool stopped;
    double wall_s;
};

/// First value of an effector.
int td_workspace_value_of(const tdWorkspace *w, int effector);
