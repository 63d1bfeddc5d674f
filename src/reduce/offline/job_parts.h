// SPDX-License-Identifier: Apache-2.0
// What the phases of the offline stage share.
#pragma once
#include "base/task.h"
#include "reduce/offline/crew.h"
#include "reduce/offline/ecsw.h"
#include "reduce/offline/estimate.h"
#include "reduce/offline/job.h"
#include "reduce/offline/pod.h"
#include "reduce/offline/sample.h"
#include "reduce/offline/snapshot.h"
#include "reduce/offline/tsqr.h"
#include "reduce/offline/work.h"
#include "reduce/rom.h"

#include <pthread.h>

/// Errors of the reduced model beside full order, at places or in steps.
typedef struct tdJobErrors
{
    double off, size; ///< sums of squares of the difference and of the displacement
    double worst;     ///< difference, of all
    double largest;   ///< displacement
    int64_t n, failed, most;
    double *indicator, *distance, *found; ///< most: as the reduced model says, and how far off it is
    int64_t *place;                       ///< most: at places, which one
} tdJobErrors;

#define TD_JOB_FAR_OFF 0.05 ///< error of a model from which on its cause is looked for

/// What a round of training may change.
typedef struct tdJobSettings
{
    double ecsw_tolerance, share; ///< as in tdJob
    tdSamplePath path;            ///< a later one only has more places
} tdJobSettings;

typedef struct tdJob
{
    const tdReduceTask *task;
    char *alone;        ///< name of the body that is trained alone, for td_walk_edit_*; NULL: with all others
    const tdCrew *crew; ///< NULL: one process
    tdReduceReport *report;
    tdArena arena;
    tdModel *model, *moving; ///< of full order, for td_walker
    tdTasks *tasks;
    tdWork work;
    uint64_t equilibria, basis, training; ///< keys: of all full-order work, of the modes, of their forces
    uint64_t keys[TD_REDUCE_PHASES];      ///< of the phases' times
    tdTrainee trainee;
    tdSamplePath path;     ///< of training
    int n_runs;            ///< of the scene with other numbers each (job_runs.c); 0: as it is
    const char **runs;     ///< by trajectory of `path`: changes of the scene, as tdSettings.set; NULL: none
    const char *unseen;    ///< those of the check
    tdSamplePath held_out; ///< of the check
    tdRom rom;             ///< filled phase by phase; what it points to lives in `arena`
    int64_t n_found;       ///< snapshots
    int64_t failure;       ///< place of training that is the first without an equilibrium, if there is one
    // Of the present round (job_rounds.c): settings, and what came of them
    tdArena round;
    int rounds; ///< before it
    bool later; ///< it is not the first of this run
    double ecsw_tolerance;
    double last_excess;       ///< of the error over that asked for, in the round before,
    double best_excess;       ///< the least of all,
    tdJobSettings best;       ///< and with which settings that was
    bool returned;            ///< the round is that one once more: none came near it since
    int stale;                ///< rounds since it fell
    double tightened;         ///< by which share ecsw_tolerance is smaller since then; 0: not
    double share;             ///< of the error asked for that modes may leave of held-out shapes
    double left[2], least[2]; ///< of held-out places and of the motion: what modes leave; what all there are leave
    tdJobErrors *places;      ///< at held-out places,
    tdJobErrors *motion;      ///< and along the motion
    int64_t n_k;              ///< states of training: the snapshots, and those in which modes beside theirs vibrate
    double *metric;    ///< r x r: L of L L' = K0, by which the forces of training are measured; NULL: as they are
    double *alpha, *u; ///< n_k x r, n_k x n_u
    // Progress of work in several threads
    pthread_mutex_t mutex;
    tdReducePhase phase;
    int64_t done, total;
    double clock; ///< since when time is not charged to a phase
    bool begun[TD_REDUCE_PHASES];
    bool stopped;
    tdEstimator *estimator; ///< job_tries.c
    char tried[PATH_MAX];   ///< file of its model
    bool counted;           ///< what an earlier run had done of the equilibria is in the report
} tdJob;

/// Counts `more` of what the phase has to do. False: stop.
bool td_job_progress(tdJob *job, int64_t more);
/// key: of what the phase does, under which its time is kept.
void td_job_begin(tdJob *job, tdReducePhase phase, uint64_t key, int64_t total);

/// Arrays of one trajectory's snapshots and the pieces of its part. `positions`: q too.
typedef struct tdJobTrajectory
{
    tdSnapshots found;
    double seconds; ///< that it took
    double *memory;
} tdJobTrajectory;
tdStatus td_job_take(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions, tdJobTrajectory *out,
                     tdError *error);
void td_job_drop(tdJobTrajectory *trajectory);
/// Key of a trajectory's part.
uint64_t td_job_trajectory_key(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions);
/// Its name.
void td_job_name(const char *name, const tdSamplePath *path, int trajectory, char out[64]);
/// Reads the part NAME-NUMBER; false when it is not there.
bool td_job_load(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, bool positions,
                 tdJobTrajectory *out);
/// Coordinates [begin, end) of the deviations of its first `count` snapshots, one after the other; not of a part with
/// positions. False when it is not there.
bool td_job_load_rows(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, int64_t count,
                      int64_t begin, int64_t end, double *out);
/// job_explain.c: ranges within which places of training are reached, found by bisection; in words. most: share of the
/// ranges beyond which the model is off, whatever is reached there; 1: it is not.
tdStatus td_job_explain(const tdJob *job, double most, char *out, size_t size, tdError *error);
/// job_causes.c: why the model is farther off than is good, at held-out places or along the motion, in words; and the
/// share of the ranges within which it is not, 1 where the ranges are not to blame.
tdStatus td_job_find_cause(tdJob *job, char *out, size_t size, double *within, tdError *error);
/// By actuator, how far it goes in training; room for all.
void td_job_farthest(const tdJob *job, double *most);
/// job_snapshots.c: computes the trajectories of a path that are not there, in several threads.
tdStatus td_job_visit(tdJob *job, const char *name, const tdSamplePath *path, bool positions, tdError *error);
/// The same for trajectories from `first` on; those before are there. mine: by trajectory, whether it is wanted; NULL:
/// all are.
tdStatus td_job_visit_some(tdJob *job, const char *name, const tdSamplePath *path, int first, const bool *mine,
                           bool positions, tdError *error);
/// One trajectory of a path: computes it and leaves its part, or finds that another process has.
tdStatus td_job_compute(tdJob *job, const tdSettings *settings, const char *name, const tdSamplePath *path,
                        int trajectory, bool positions, tdError *error);
/// What one trajectory at a time takes: its states and its snapshots [bytes]. most: also where it has to settle.
double td_job_worker_bytes(const tdJob *job, bool most);
/// How many trajectories at a time: as memory allows, `count` at most. threads: of each of them.
int td_job_workers(const tdJob *job, int64_t count, int *threads);

/// job_runs.c: the scenes of `reduction.vary`, each of which is loaded once to see that it is good.
tdStatus td_job_plan_runs(tdJob *job, tdError *error);
/// The moving model in the scene of a run.
tdStatus td_job_run_model(const tdJob *job, const char *set, tdModel **out, tdError *error);
uint64_t td_job_runs_hash(const tdJob *job);

/// A path that full order goes along, and the name of its parts.
typedef struct tdJobWay
{
    const char *name;
    const tdSamplePath *path;
    bool positions;
    tdReducePhase phase;
    bool *mine; ///< by trajectory: of this share
} tdJobWay;
#define TD_JOB_WAYS 2

/// job_share.c: the paths of full order as they are known from the scene; how many.
int td_job_ways(const tdJob *job, tdJobWay ways[TD_JOB_WAYS]);
/// Computes a share of all trajectories of full order; whether all of them are there.
tdStatus td_job_share(tdJob *job, tdError *error);
tdStatus td_job_complete(tdJob *job, tdError *error);

/// job_crew.c: one piece of full order that is to be done.
typedef struct tdJobPiece
{
    int32_t way;        ///< -1: a motion, 0 the one of the check, 1 of training
    int32_t trajectory; ///< or which motion
} tdJobPiece;
/// Rank 0: deals pieces out to all ranks and computes its part of them. The longest come first.
tdStatus td_job_deal(tdJob *job, int n, const tdJobWay *ways, int64_t count, tdJobPiece *pieces, tdError *error);
/// Rank 0: all of full order that the scene asks for and that is not there, in one deal, so that no rank waits for the
/// last of one kind before it takes one of the next.
tdStatus td_job_spread(tdJob *job, tdError *error);
/// A path that rank 0 passes to the others, which hold a copy until td_job_heard_free(); all of them fail together.
typedef struct tdJobHeard
{
    char name[32];
    tdSamplePath path;
    char *memory;
} tdJobHeard;
tdStatus td_job_pass_path(const tdJob *job, tdJobWay *way, tdJobHeard *heard, tdError *error);
void td_job_heard_free(tdJobHeard *heard);
/// job_tsqr.c: modes of all snapshots at once, found in blocks of rows. reached: by trajectory, its snapshots. moments:
/// deviations of a motion's moments, which come behind those; NULL: none. At most `most` modes.
tdStatus td_job_tsqr(tdJob *job, const int64_t *reached, int64_t n_moments, const double *moments, int most,
                     tdPod **out, tdError *error);
/// What other ranks are to do of it.
typedef struct tdJobTsqr
{
    int64_t m;    ///< snapshots,
    int64_t rank; ///< modes that are to be made of them; 0: R is to be found
    int64_t n_moments;
    uint64_t key;
} tdJobTsqr;
void td_job_order_tsqr(tdJob *job, const tdJobTsqr *about);
void td_job_follow_tsqr(tdJob *job, const tdJobTsqr *about);
/// Work on a force field's training that comes in numbers: blocks of elements whose forces are projected, or parts that
/// choose elements.
typedef struct tdJobTraining
{
    int field, sketch;
    double target;       ///< of the parts' choices; 0: blocks
    const uint8_t *skip; ///< by element of the field, whether it may not be chosen; NULL: all may
} tdJobTraining;
/// Rank 0: deals them out; the maker does its share.
tdStatus td_job_deal_blocks(tdJob *job, const tdJobTraining *training, int64_t count, int64_t *numbers,
                            tdEcswMaker *maker, tdError *error);
/// job_tries.c: estimates of errors for samples greedy, by all ranks. Rank 0 makes and sets all estimators and has them
/// try TD_ESTIMATES places at most, as td_estimator_*() does.
tdStatus td_job_tries_create(tdJob *job, tdError *error);
tdStatus td_job_tries_set(tdJob *job, const tdRom *rom, double amplitude, bool settle, tdError *error);
tdStatus td_job_tries_make(tdJob *job, int count, const double *const *values, double *found, double *d,
                           tdError *error);
void td_job_tries_free(tdJob *job);
/// What other ranks are to do of it.
typedef struct tdJobTries
{
    int64_t kind, count; ///< modes, or places
    int64_t settle;
    double amplitude;
} tdJobTries;
void td_job_order_tries(tdJob *job, const tdJobTries *about);
void td_job_follow_tries(tdJob *job, const tdJobTries *about);
/// Other ranks: do what rank 0 orders, until it has come to its end, with this status.
tdStatus td_job_follow(tdJob *job, tdError *error);
/// Rank 0: tells the others the end.
void td_job_dismiss(tdJob *job, tdStatus status, const tdError *error);
/// job_greedy.c: refuses bodies that have no reduced equilibria; snapshots of samples greedy.
tdStatus td_job_greedy_plan(const tdJob *job, tdError *error);
tdStatus td_job_greedy(tdJob *job, tdError *error);

/// job_basis.c: snapshots -> modes.
tdStatus td_job_pod(tdJob *job, tdError *error);
/// Ranges of the amplitudes in training.
void td_job_ranges(tdJob *job);
/// job_train.c: modes -> domains.
tdStatus td_job_ecsw(tdJob *job, tdError *error);
/// For ranks that follow: does the work of which `next` gives the numbers until -1.
tdStatus td_job_train_blocks(tdJob *job, const tdJobTraining *training, int64_t (*next)(void *user), void *user,
                             tdError *error);
/// job_train.c: elements of a field.
int64_t td_job_field_elements(tdJob *job, int field);
/// Warns of domains that miss their tolerance.
void td_job_note_domains(const tdJob *job);
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
/// job_check.c: how far two shapes of the body are apart, and how far the first is from rest, from positions of nodes.
/// Where a body that nothing holds has gone is of no matter; `shape` has room for two of them.
double td_job_apart(const tdTrainee *trainee, const double *full, const double *reduced, double *shape, double *size);
/// One more error, with what the reduced model said of it.
void td_job_add_error(tdJobErrors *errors, double off, double size, const tdReport *report);
/// job_motion.c: whether single precision will do, of the candidate that was checked last.
tdStatus td_job_precision(tdJob *job, tdError *error);
/// A motion of full order, as the scene runs: its steps, every `stride`-th of them, as positions of all nodes.
typedef struct tdJobMotion
{
    int64_t n; ///< steps that were reached
    double *q; ///< n x coordinates of the body
} tdJobMotion;
/// That of the check, or one for training; from its part, or now. Released by free(q).
tdStatus td_job_full_motion(tdJob *job, bool training, tdJobMotion *out, tdError *error);
/// The same, counted as progress whichever way it came.
tdStatus td_job_look_at_motion(tdJob *job, bool training, tdJobMotion *out, tdError *error);
/// Whether training sees a motion, too.
bool td_job_learns_motion(const tdJob *job);
/// job_motion.c: the motion of the check, and how long it takes [s].
tdStatus td_job_motion_of(tdJob *job, const tdSceneMotion **motion, double *duration, tdError *error);
/// job_check.c: the candidate, static (NULL where there is no such model) and moving. whole: with all elements.
tdStatus td_job_candidate_models(tdJob *job, bool whole, tdModel **at_rest, tdModel **moving, tdError *error);
/// job_check.c: at held-out places, of the candidate that was checked last, with all elements: what its modes are off.
tdStatus td_job_whole_error(tdJob *job, double *out, tdError *error);
/// job_rounds.c: what held-out shapes leave beside the first r of the modes, for r up to all, relative.
tdStatus td_job_count_modes(tdJob *job, const tdPod *pod, int *r, tdError *error);
/// Whether a round of training is to follow with other settings, which it makes.
tdStatus td_job_again(tdJob *job, bool *again, tdError *error);
/// Rounds of an earlier run whose outcome is known are not done again.
tdStatus td_job_skip_rounds(tdJob *job, tdError *error);
/// Forgets what the last round made.
void td_job_begin_round(tdJob *job);
/// Whether settings depend on the held-out error.
bool td_job_adapts(const tdJob *job);
/// The model in the file `rom` beside full order, in steps of a motion; and how many those are at most.
tdStatus td_job_motion(tdJob *job, const char *rom, tdJobErrors *errors, tdError *error);
#define TD_JOB_MOTION_STEPS 100
/// The same of the candidate that was checked last: its file.
void td_job_candidate(const tdJob *job, char out[PATH_MAX]);
/// job_frame.c: the translations of a frame that translates, before the modes of the snapshots.
tdStatus td_job_frame(tdJob *job, tdError *error);
/// job_check.c: against full order on the held-out path.
tdStatus td_job_check(tdJob *job, tdError *error);
