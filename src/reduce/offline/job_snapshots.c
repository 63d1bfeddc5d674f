// SPDX-License-Identifier: Apache-2.0
// Trajectories in threads: each has a state of its own on the one model and a part of the work folder, so that they
// can as well be computed on other machines (job_share.c). A trajectory gives the same bits in whichever thread and
// order.
#include "reduce/offline/job_parts.h"

#include "base/timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t places_of(const tdSamplePath *path, int trajectory)
{
    return path->start[trajectory + 1] - path->start[trajectory];
}

// Snapshots of it, at most.
static int64_t room_of(const tdSamplePath *path, int trajectory)
{
    return path->every > 1 ? places_of(path, trajectory) / path->every : places_of(path, trajectory);
}

tdStatus td_job_take(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions, tdJobTrajectory *out,
                     tdError *error)
{
    const tdTrainee *trainee = &job->trainee;
    int64_t places = room_of(path, trajectory), n = trainee->n, n_u = trainee->n_u;
    *out = (tdJobTrajectory){0};
    out->memory = td_take((size_t)(places * (1 + n_u + n * (positions ? 2 : 1))), sizeof(double));
    if (out->memory == NULL)
        return td_fail_memory(error, "a trajectory of snapshots");
    out->found.place = (int64_t *)out->memory;
    out->found.u = out->memory + places;
    out->found.d = out->found.u + places * n_u;
    out->found.q = positions ? out->found.d + places * n : NULL;
    return TD_OK;
}

void td_job_drop(tdJobTrajectory *trajectory)
{
    free(trajectory->memory);
    *trajectory = (tdJobTrajectory){0};
}

/// The counts of a part, before its arrays.
typedef struct Counts
{
    int64_t reached, failed, failure, iterations;
    double seconds;
    char why[sizeof((tdSnapshots *)0)->why];
} Counts;

void td_job_name(const char *name, const tdSamplePath *path, int trajectory, char out[64])
{
    snprintf(out, 64, "%s-%05d.part", name, path->number != NULL ? path->number[trajectory] : trajectory);
}

// In a part, places are counted from the first of the trajectory: what comes before it may change.
static void count_from(const tdSamplePath *path, int trajectory, int sign, const tdJobTrajectory *data)
{
    for (int64_t k = 0; k < data->found.reached; k++)
        data->found.place[k] += sign * path->start[trajectory];
}

// Parts have room for all snapshots of the trajectory, so that their size is known.
static void list_pieces(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions, Counts *counts,
                        const tdJobTrajectory *data, tdWorkPart pieces[2])
{
    int64_t places = room_of(path, trajectory);
    int64_t numbers = places * (1 + job->trainee.n_u + job->trainee.n * (positions ? 2 : 1));
    pieces[0] = (tdWorkPart){counts, sizeof *counts};
    pieces[1] = (tdWorkPart){data->memory, (size_t)numbers * sizeof(double)};
}

uint64_t td_job_trajectory_key(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions)
{
    int64_t first = path->start[trajectory], places = places_of(path, trajectory);
    const int64_t about[] = {places, path->n, positions};
    uint64_t key = td_work_key(job->equilibria, about, sizeof about);
    if (path->every > 1)
        key = td_work_key(key, &path->every, sizeof path->every);
    if (job->n_runs > trajectory && job->runs[trajectory] != NULL) // held-out paths have one, in the scene as it is
        key = td_work_key(key, job->runs[trajectory], strlen(job->runs[trajectory]));
    key = td_work_key(key, path->values + first * path->n, (size_t)(places * path->n) * sizeof(double));
    return td_work_key(key, path->weight + first, (size_t)places * sizeof(double));
}

bool td_job_load(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, bool positions,
                 tdJobTrajectory *out)
{
    char part[64];
    Counts counts = {0};
    tdWorkPart pieces[2];
    td_job_name(name, path, trajectory, part);
    list_pieces(job, path, trajectory, positions, &counts, out, pieces);
    uint64_t key = td_job_trajectory_key(job, path, trajectory, positions);
    if (!td_work_load(&job->work, key, part, 2, pieces))
        return false;
    out->found.reached = counts.reached;
    out->found.failed = counts.failed;
    out->found.iterations = counts.iterations;
    out->seconds = counts.seconds;
    out->found.failure = counts.failure + path->start[trajectory];
    memcpy(out->found.why, counts.why, sizeof counts.why);
    count_from(path, trajectory, 1, out);
    return true;
}

bool td_job_load_rows(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, int64_t count,
                      int64_t begin, int64_t end, double *out)
{
    char part[64];
    int64_t places = room_of(path, trajectory);
    size_t n = (size_t)job->trainee.n * sizeof(double);
    size_t at = sizeof(Counts) + (size_t)(places * (1 + job->trainee.n_u)) * sizeof(double);
    td_job_name(name, path, trajectory, part);
    return td_work_read(&job->work, td_job_trajectory_key(job, path, trajectory, false), part, count,
                        at + (size_t)begin * sizeof(double), n, (size_t)(end - begin) * sizeof(double), out);
}

static tdStatus save(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, bool positions,
                     const tdJobTrajectory *data, tdError *error)
{
    char part[64];
    Counts counts = {.reached = data->found.reached,
                     .failed = data->found.failed,
                     .failure = data->found.failure - path->start[trajectory],
                     .iterations = data->found.iterations,
                     .seconds = data->seconds};
    tdWorkPart pieces[2];
    memcpy(counts.why, data->found.why, sizeof counts.why);
    td_job_name(name, path, trajectory, part);
    list_pieces(job, path, trajectory, positions, &counts, data, pieces);
    count_from(path, trajectory, -1, data); // it is not looked at any more
    return td_work_save(&job->work, td_job_trajectory_key(job, path, trajectory, positions), part, 2, pieces, error);
}

// ---------------------------------------------------------------- threads

typedef struct Visit
{
    tdJob *job;
    const char *name;
    const tdSamplePath *path;
    bool positions; // of the held-out path, whose equilibria are to be stable ones
    int *pending;   // trajectories
    tdSettings settings;
    tdStatus status;
    tdError error; // of the first that failed
} Visit;

static bool visited(void *user)
{
    return td_job_progress(user, 1);
}

tdStatus td_job_compute(tdJob *job, const tdSettings *settings, const char *name, const tdSamplePath *path,
                        int trajectory, bool positions, tdError *error)
{
    tdJobTrajectory data;
    bool stopped = false;
    tdStatus status = td_job_take(job, path, trajectory, positions, &data, error);
    // Where several processes do the same share, another may have been quicker.
    bool there = status == TD_OK && job->work.shared && td_job_load(job, name, path, trajectory, positions, &data);
    if (there)
        td_job_progress(job, places_of(path, trajectory));
    double begin = td_seconds();
    tdTrainee trainee = job->trainee;
    tdModel *own = NULL;
    if (status == TD_OK && !there && job->n_runs > trajectory && job->runs[trajectory] != NULL)
    {
        status = td_job_run_model(job, job->runs[trajectory], &own, error);
        trainee.moving = own;
    }
    if (status == TD_OK && !there)
        status = td_snapshot_trajectory(&trainee, settings, path, trajectory, positions, visited, job, &data.found,
                                        &stopped, error);
    if (status == TD_OK && !stopped && !there)
    {
        data.seconds = td_seconds() - begin;
        status = save(job, name, path, trajectory, positions, &data, error);
    }
    td_model_free(own);
    td_job_drop(&data);
    return status;
}

static void visit_one(void *context, int i)
{
    Visit *visit = context;
    tdJob *job = visit->job;
    pthread_mutex_lock(&job->mutex);
    bool stopped = job->stopped || visit->status != TD_OK;
    pthread_mutex_unlock(&job->mutex);
    if (stopped)
        return;
    tdError error = {0};
    tdStatus status =
        td_job_compute(job, &visit->settings, visit->name, visit->path, visit->pending[i], visit->positions, &error);
    if (status == TD_OK)
        return;
    pthread_mutex_lock(&job->mutex);
    if (visit->status == TD_OK)
    {
        visit->status = status;
        visit->error = error;
    }
    pthread_mutex_unlock(&job->mutex);
}

// Those that no part holds yet; the others count as done.
static tdStatus find_pending(tdJob *job, Visit *visit, int first, const bool *mine, int *count, tdError *error)
{
    int64_t done = 0;
    *count = 0;
    for (int t = first; t < visit->path->n_trajectories; t++)
    {
        tdJobTrajectory data;
        if (mine != NULL && !mine[t])
            continue;
        TD_TRY(td_job_take(job, visit->path, t, visit->positions, &data, error));
        if (td_job_load(job, visit->name, visit->path, t, visit->positions, &data))
            done += places_of(visit->path, t);
        else
            visit->pending[(*count)++] = t;
        td_job_drop(&data);
    }
    // Later ones may have been found by a search that was killed: they count as its work.
    if (first == 0 && !job->later && !job->counted)
        job->report->reused[job->phase] += done;
    if (done > 0)
        td_job_progress(job, done);
    return TD_OK;
}

tdStatus td_job_visit(tdJob *job, const char *name, const tdSamplePath *path, bool positions, tdError *error)
{
    return td_job_visit_some(job, name, path, 0, NULL, positions, error);
}

double td_job_worker_bytes(const tdJob *job, bool most)
{
    tdJobWay ways[TD_JOB_WAYS];
    int n = td_job_ways(job, ways);
    double longest = 0;
    for (int w = 0; w < n; w++)
        for (int t = 0; t < ways[w].path->n_trajectories; t++)
        {
            double each = 1 + job->trainee.n_u + (double)job->trainee.n * (ways[w].positions ? 2 : 1);
            longest = fmax(longest, 8 * each * (double)room_of(ways[w].path, t));
        }
    // Where it has to settle, there is a moving state beside the static one. A tenth is for what is not counted.
    double states = most ? 2.2 : 1;
    states += job->n_runs > 0; // the model of a run is its own
    return states * td_snapshot_memory(job->model) + longest;
}

int td_job_workers(const tdJob *job, int64_t count, int *threads)
{
    int all = td_tasks_threads(job->tasks);
    double fits = (double)job->model->scene.reduction.memory / td_job_worker_bytes(job, job->task->memory > 0);
    int workers = fits < all ? (int)fits : all;
    workers = workers < 1 ? 1 : workers < count ? workers : (int)count;
    *threads = all / workers;
    return workers;
}

// The same by all ranks.
static tdStatus visit_dealt(tdJob *job, const Visit *visit, int count, tdError *error)
{
    const tdJobWay way = {visit->name, visit->path, visit->positions, job->phase, NULL};
    tdJobPiece *pieces = td_take((size_t)count, sizeof *pieces);
    if (pieces == NULL)
        return td_fail_memory(error, "the trajectories");
    for (int i = 0; i < count; i++)
        pieces[i] = (tdJobPiece){0, visit->pending[i]};
    tdStatus status = td_job_deal(job, 1, &way, count, pieces, error);
    free(pieces);
    return status;
}

tdStatus td_job_visit_some(tdJob *job, const char *name, const tdSamplePath *path, int first, const bool *mine,
                           bool positions, tdError *error)
{
    Visit visit = {.job = job, .name = name, .path = path, .positions = positions, .settings = job->task->settings};
    visit.pending = td_take((size_t)path->n_trajectories, sizeof *visit.pending);
    if (visit.pending == NULL)
        return td_fail_memory(error, "the trajectories");
    int count = 0;
    tdStatus status = find_pending(job, &visit, first, mine, &count, error);
    if (status == TD_OK && count > 0 && job->crew != NULL)
        status = visit_dealt(job, &visit, count, error);
    else if (status == TD_OK && count > 0)
    {
        // As many states at a time as memory allows; each has its share of the threads.
        int workers = td_job_workers(job, count, &visit.settings.threads);
        tdTasks *tasks = NULL;
        status = td_tasks_create(workers, &tasks, error);
        if (status == TD_OK)
            td_parallel(tasks, count, visit_one, &visit);
        td_tasks_free(tasks);
        if (status == TD_OK && visit.status != TD_OK)
        {
            status = visit.status;
            if (error != NULL)
                *error = visit.error;
        }
    }
    free(visit.pending);
    return status;
}
