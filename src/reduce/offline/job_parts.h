// SPDX-License-Identifier: Apache-2.0
// What the phases of the offline stage share.
#pragma once
#include "base/task.h"
#include "reduce/offline/job.h"
#include "reduce/offline/sample.h"
#include "reduce/offline/snapshot.h"
#include "reduce/offline/work.h"
#include "reduce/rom.h"

#include <pthread.h>

typedef struct tdJob
{
    const tdReduceTask *task;
    tdReduceReport *report;
    tdArena arena;
    tdModel *model, *moving; ///< of full order, for td_walker
    tdTasks *tasks;
    tdWork work;
    tdTrainee trainee;
    tdSamplePath path;     ///< of training
    tdSamplePath held_out; ///< of the check
    tdRom rom;             ///< filled phase by phase; what it points to lives in `arena`
    int64_t n_k;           ///< snapshots
    double *alpha, *u;     ///< n_k x r, n_k x n_u
    // Progress of work in several threads
    pthread_mutex_t mutex;
    tdReducePhase phase;
    int64_t done, total;
    double clock; ///< since when time is not charged to a phase
    bool stopped;
} tdJob;

/// Counts `more` of what the phase has to do. False: stop.
bool td_job_progress(tdJob *job, int64_t more);
void td_job_begin(tdJob *job, tdReducePhase phase, int64_t total);

/// Arrays of one trajectory's snapshots and the pieces of its part. `positions`: q too.
typedef struct tdJobTrajectory
{
    tdSnapshots found;
    double *memory;
} tdJobTrajectory;
tdStatus td_job_take(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions, tdJobTrajectory *out,
                     tdError *error);
void td_job_drop(tdJobTrajectory *trajectory);
/// Reads the part NAME-NUMBER; false when it is not there.
bool td_job_load(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, bool positions,
                 tdJobTrajectory *out);
/// job_snapshots.c: computes the trajectories of a path that are not there, in several threads.
tdStatus td_job_visit(tdJob *job, const char *name, const tdSamplePath *path, bool positions, tdError *error);

/// job_train.c: snapshots -> modes; modes -> domains.
tdStatus td_job_pod(tdJob *job, tdError *error);
tdStatus td_job_ecsw(tdJob *job, tdError *error);
/// job_stvk.c: refuses what is no polynomial or does not fit, and tells what the work will take; a basis of vibration
/// modes; polynomials.
tdStatus td_job_stvk_plan(tdJob *job, tdError *error);
tdStatus td_job_modes(tdJob *job, tdError *error);
tdStatus td_job_polynomials(tdJob *job, tdError *error);
/// job_frame.c: the translations of a frame that translates, before the modes of the snapshots.
tdStatus td_job_frame(tdJob *job, tdError *error);
/// job_check.c: against full order on the held-out path.
tdStatus td_job_check(tdJob *job, tdError *error);
