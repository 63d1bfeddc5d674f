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
    uint64_t equilibria, basis, training; ///< keys: of all full-order work, of the modes, of their forces
    uint64_t keys[TD_REDUCE_PHASES];      ///< of the phases' times
    tdTrainee trainee;
    tdSamplePath path;     ///< of training
    tdSamplePath held_out; ///< of the check
    tdRom rom;             ///< filled phase by phase; what it points to lives in `arena`
    int64_t n_found;       ///< snapshots
    int64_t n_k;           ///< states of training: the snapshots, and those in which modes beside theirs vibrate
    double *alpha, *u;     ///< n_k x r, n_k x n_u
    // Progress of work in several threads
    pthread_mutex_t mutex;
    tdReducePhase phase;
    int64_t done, total;
    double clock; ///< since when time is not charged to a phase
    bool begun[TD_REDUCE_PHASES];
    bool stopped;
} tdJob;

/// Counts `more` of what the phase has to do. False: stop.
bool td_job_progress(tdJob *job, int64_t more);
/// key: of what the phase does, under which its time is kept.
void td_job_begin(tdJob *job, tdReducePhase phase, uint64_t key, int64_t total);

/// Arrays of one trajectory's snapshots and the pieces of its part. `positions`: q too.
typedef struct tdJobTrajectory
{
    tdSnapshots found;
    double *memory;
} tdJobTrajectory;
tdStatus td_job_take(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions, tdJobTrajectory *out,
                     tdError *error);
void td_job_drop(tdJobTrajectory *trajectory);
/// Key of a trajectory's part.
uint64_t td_job_trajectory_key(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions);
/// Reads the part NAME-NUMBER; false when it is not there.
bool td_job_load(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, bool positions,
                 tdJobTrajectory *out);
/// job_explain.c: ranges within which places of training are reached, found by bisection; in words.
void td_job_explain(const tdJob *job, char *out, size_t size);
/// job_snapshots.c: computes the trajectories of a path that are not there, in several threads.
tdStatus td_job_visit(tdJob *job, const char *name, const tdSamplePath *path, bool positions, tdError *error);
/// The same for trajectories from `first` on; those before are there.
tdStatus td_job_visit_from(tdJob *job, const char *name, const tdSamplePath *path, int first, bool positions,
                           tdError *error);
/// job_greedy.c: refuses bodies that have no reduced equilibria; snapshots of samples greedy.
tdStatus td_job_greedy_plan(const tdJob *job, tdError *error);
tdStatus td_job_greedy(tdJob *job, tdError *error);

/// job_basis.c: snapshots -> modes.
tdStatus td_job_pod(tdJob *job, tdError *error);
/// Ranges of the amplitudes in training.
void td_job_ranges(tdJob *job);
/// job_train.c: modes -> domains.
tdStatus td_job_ecsw(tdJob *job, tdError *error);
/// job_modes.c: a basis of vibration modes.
tdStatus td_job_modes(tdJob *job, tdError *error);

/// Vibration modes beside others.
typedef struct tdJobVibrations
{
    struct tdModes *modes; ///< of length 1
    int k;                 ///< modes
    int n;                 ///< of which the modes before do not hold
    double *column;        ///< n: orthonormal to those and to each other
    int states;            ///< random ones for training
} tdJobVibrations;
/// Those that the scene asks for, beside r orthonormal columns phi (row-major). td_job_vibrations_free() also after
/// failure.
tdStatus td_job_vibrations_create(tdJob *job, int r, const double *phi, tdJobVibrations *out, tdError *error);
void td_job_vibrations_free(tdJobVibrations *vibrations);
/// Fills the states of training behind the snapshots.
tdStatus td_job_vibrate(tdJob *job, const tdJobVibrations *vibrations, int64_t snapshots, tdError *error);

/// job_stvk.c: refuses what is no polynomial or does not fit, and tells what the work will take; polynomials.
tdStatus td_job_stvk_plan(tdJob *job, tdError *error);
tdStatus td_job_polynomials(tdJob *job, tdError *error);
/// Errors of the reduced model beside full order, at places or in steps.
typedef struct tdJobErrors
{
    double off, size; ///< sums of squares of the difference and of the displacement
    double worst;     ///< difference, of all
    double largest;   ///< displacement
    int64_t n, failed, most;
    double *indicator, *distance, *found; ///< most: as the reduced model says, and how far off it is
} tdJobErrors;
/// job_check.c: how far two shapes of the body are apart, and how far the first is from rest, from positions of nodes.
/// Where a body that nothing holds has gone is of no matter; `shape` has room for two of them.
double td_job_apart(const tdTrainee *trainee, const double *full, const double *reduced, double *shape, double *size);
/// One more error, with what the reduced model said of it.
void td_job_add_error(tdJobErrors *errors, double off, double size, const tdReport *report);
/// job_motion.c: whether single precision will do, of the model in the file `rom`.
tdStatus td_job_precision(tdJob *job, const char *rom, tdError *error);
/// The model in the file `rom` beside full order, in steps of a motion; and how many those are at most.
tdStatus td_job_motion(tdJob *job, const char *rom, tdJobErrors *errors, tdError *error);
int64_t td_job_motion_steps(const tdJob *job);
/// job_frame.c: the translations of a frame that translates, before the modes of the snapshots.
tdStatus td_job_frame(tdJob *job, tdError *error);
/// job_check.c: against full order on the held-out path.
tdStatus td_job_check(tdJob *job, tdError *error);
