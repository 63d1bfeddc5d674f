// SPDX-License-Identifier: Apache-2.0
// Progress of the offline stage on stderr, for 'reduce' and 'demo'.
#pragma once
#include "reduce/offline/job.h"

/// Zero-initialize.
typedef struct reduceProgress
{
    tdReducePhase phase;
    double begin; ///< of the phase
    int64_t done; ///< last that was told,
    double when;  ///< and when
    double pace;  ///< [s] for one, smoothed; 0: not known
    double left;  ///< [s] of the phase, when it was last told, smoothed; 0: not known
    double shown; ///< when
    int tenth;    ///< last that was shown without a terminal
} reduceProgress;

/// For tdReduceTask.progress, with a reduceProgress as `user`. False after an interruption.
bool reduce_show(void *user, tdReducePhase phase, int64_t done, int64_t total);
/// Ends the last line.
void reduce_shown(const reduceProgress *progress);
