// SPDX-License-Identifier: Apache-2.0
// Trajectories in threads: each has a state of its own on the one model and a part of the work folder, so that they
// could as well be computed on other machines. A trajectory gives the same bits in whichever thread and order.
#include "reduce/offline/job_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t places_of(const tdSamplePath *path, int trajectory)
{
    return path->start[trajectory + 1] - path->start[trajectory];
}

tdStatus td_job_take(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions, tdJobTrajectory *out,
                     tdError *error)
{
    const tdTrainee *trainee = &job->trainee;
    int64_t places = places_of(path, trajectory), n = trainee->n, n_u = trainee->n_u;
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
    int64_t reached, failed;
    char why[sizeof((tdSnapshots *)0)->why];
} Counts;

static void name_part(const char *name, const tdSamplePath *path, int trajectory, char out[64])
{
    snprintf(out, 64, "%s-%05d.part", name, path->number != NULL ? path->number[trajectory] : trajectory);
}

// In a part, places are counted from the first of the trajectory: what comes before it may change.
static void count_from(const tdSamplePath *path, int trajectory, int sign, const tdJobTrajectory *data)
{
    for (int64_t k = 0; k < data->found.reached; k++)
        data->found.place[k] += sign * path->start[trajectory];
}

// Parts have room for all places of the trajectory, so that their size is known.
static void list_pieces(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions, Counts *counts,
                        const tdJobTrajectory *data, tdWorkPart pieces[2])
{
    int64_t places = places_of(path, trajectory);
    int64_t numbers = places * (1 + job->trainee.n_u + job->trainee.n * (positions ? 2 : 1));
    pieces[0] = (tdWorkPart){counts, sizeof *counts};
    pieces[1] = (tdWorkPart){data->memory, (size_t)numbers * sizeof(double)};
}

uint64_t td_job_trajectory_key(const tdJob *job, const tdSamplePath *path, int trajectory, bool positions)
{
    int64_t first = path->start[trajectory], places = places_of(path, trajectory);
    const int64_t about[] = {places, path->n, positions};
    uint64_t key = td_work_key(job->equilibria, about, sizeof about);
    key = td_work_key(key, path->values + first * path->n, (size_t)(places * path->n) * sizeof(double));
    return td_work_key(key, path->weight + first, (size_t)places * sizeof(double));
}

bool td_job_load(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, bool positions,
                 tdJobTrajectory *out)
{
    char part[64];
    Counts counts = {0};
    tdWorkPart pieces[2];
    name_part(name, path, trajectory, part);
    list_pieces(job, path, trajectory, positions, &counts, out, pieces);
    uint64_t key = td_job_trajectory_key(job, path, trajectory, positions);
    if (!td_work_load(&job->work, key, part, 2, pieces))
        return false;
    out->found.reached = counts.reached;
    out->found.failed = counts.failed;
    memcpy(out->found.why, counts.why, sizeof counts.why);
    count_from(path, trajectory, 1, out);
    return true;
}

static tdStatus save(const tdJob *job, const char *name, const tdSamplePath *path, int trajectory, bool positions,
                     const tdJobTrajectory *data, tdError *error)
{
    char part[64];
    Counts counts = {.reached = data->found.reached, .failed = data->found.failed};
    tdWorkPart pieces[2];
    memcpy(counts.why, data->found.why, sizeof counts.why);
    name_part(name, path, trajectory, part);
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
    tdJobTrajectory data;
    int trajectory = visit->pending[i];
    tdStatus status = td_job_take(job, visit->path, trajectory, visit->positions, &data, &error);
    if (status == TD_OK)
        status = td_snapshot_trajectory(&job->trainee, &visit->settings, visit->path, trajectory, visit->positions,
                                        visited, job, &data.found, &stopped, &error);
    if (status == TD_OK && !stopped)
        status = save(job, visit->name, visit->path, trajectory, visit->positions, &data, &error);
    td_job_drop(&data);
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
static tdStatus find_pending(tdJob *job, Visit *visit, int first, int *count, tdError *error)
{
    int64_t done = 0;
    *count = 0;
    for (int t = first; t < visit->path->n_trajectories; t++)
    {
        tdJobTrajectory data;
        TD_TRY(td_job_take(job, visit->path, t, visit->positions, &data, error));
        if (td_job_load(job, visit->name, visit->path, t, visit->positions, &data))
            done += places_of(visit->path, t);
        else
            visit->pending[(*count)++] = t;
        td_job_drop(&data);
    }
    if (first == 0) // later ones may have been found by a search that was killed: they count as its work
        job->report->reused[job->phase] += done;
    if (done > 0)
        td_job_progress(job, done);
    return TD_OK;
}

tdStatus td_job_visit(tdJob *job, const char *name, const tdSamplePath *path, bool positions, tdError *error)
{
    return td_job_visit_from(job, name, path, 0, positions, error);
}

tdStatus td_job_visit_from(tdJob *job, const char *name, const tdSamplePath *path, int first, bool positions,
                           tdError *error)
{
    Visit visit = {.job = job, .name = name, .path = path, .positions = positions, .settings = job->task->settings};
    visit.pending = td_take((size_t)path->n_trajectories, sizeof *visit.pending);
    if (visit.pending == NULL)
        return td_fail_memory(error, "the trajectories");
    int count = 0, threads = td_tasks_threads(job->tasks);
    tdStatus status = find_pending(job, &visit, first, &count, error);
    if (status == TD_OK && count > 0)
    {
        // As many states at a time as memory allows; each has its share of the threads.
        double fits = (double)job->model->scene.reduction.memory / td_snapshot_memory(job->model);
        int workers = fits < threads ? (int)fits : threads;
        workers = workers < 1 ? 1 : workers < count ? workers : count;
        visit.settings.threads = threads / workers;
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
