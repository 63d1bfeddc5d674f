// SPDX-License-Identifier: Apache-2.0
// The offline stage by several ranks (crew.h). Rank 0 runs it; the others wait for its orders:
//
//     visit   trajectories and motions of full order: each rank takes the next that nobody has, the longest first
//     train   blocks of elements whose forces are projected, and parts of the mesh that choose elements
//     tsqr    rows of the snapshots (job_tsqr.c)
//     tries   candidates of samples greedy (job_tries.c)
//     end     with the status of all
//
// Whatever a rank makes is a part of the work folder, which rank 0 reads as it reads those of an earlier run. What is
// too small to be shared, or follows from what came before, rank 0 does alone.
#include "reduce/offline/job_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum What
{
    ORDER_END,
    ORDER_VISIT,
    ORDER_TRAIN,
    ORDER_TSQR,
    ORDER_TRIES
} What;

typedef struct Order
{
    int64_t what;
    int64_t count;                 // pieces, or blocks
    int64_t ways;                  // visit
    int64_t field, sketch, r, n_k; // train
    int64_t skips;                 // whether elements that may not be chosen come too
    double target;
    uint64_t training;
    tdJobTsqr tsqr;
    tdJobTries tries;
    int64_t status; // end
    tdError error;
} Order;

// From rank 0 to all others.
static void pass(const tdJob *job, void *data, size_t bytes)
{
    job->crew->back->broadcast(data, (int64_t)bytes);
}

// ---------------------------------------------------------------- visit

typedef struct Visit
{
    tdJob *job;
    tdDeal deal;
    int n;
    const tdJobWay *ways;
    const tdJobPiece *pieces;
    tdSettings settings;
    pthread_mutex_t motion; // one at a time: it takes memory of the job's arenas
    tdStatus status;        // the first that failed; guarded by the job's mutex
    tdError error;
} Visit;

static int64_t places_of(const tdJobWay *ways, tdJobPiece piece)
{
    const int64_t *start = piece.way >= 0 ? ways[piece.way].path->start + piece.trajectory : NULL;
    return start != NULL ? start[1] - start[0] : INT64_MAX;
}

static bool noted(void *user, int64_t done)
{
    return td_job_progress(user, done);
}

static tdStatus run_motion(Visit *visit, bool training, tdError *error)
{
    tdJobMotion motion = {0};
    pthread_mutex_lock(&visit->motion);
    tdStatus status = td_job_full_motion(visit->job, training, &motion, error);
    pthread_mutex_unlock(&visit->motion);
    free(motion.q);
    return status;
}

// What one thread of a rank does.
static void visit_dealt(void *context, int thread)
{
    (void)thread;
    Visit *visit = context;
    tdJob *job = visit->job;
    int64_t done = 0;
    for (int64_t i = 0; (i = td_deal_next(&visit->deal, done)) >= 0;)
    {
        tdError error = {0};
        tdJobPiece piece = visit->pieces[i];
        const tdJobWay *way = piece.way >= 0 ? &visit->ways[piece.way] : NULL;
        tdStatus status = way == NULL ? run_motion(visit, piece.trajectory == 1, &error)
                                      : td_job_compute(job, &visit->settings, way->name, way->path, piece.trajectory,
                                                       way->positions, &error);
        done = way != NULL ? places_of(visit->ways, piece) : TD_JOB_MOTION_STEPS;
        pthread_mutex_lock(&job->mutex);
        if (status != TD_OK && visit->status == TD_OK)
        {
            visit->status = status;
            visit->error = error;
        }
        bool stop = job->stopped || visit->status != TD_OK;
        pthread_mutex_unlock(&job->mutex);
        if (stop)
            td_deal_stop(&visit->deal);
    }
}

// All ranks together.
static tdStatus visit_all(Visit *visit, int64_t count, tdError *error)
{
    tdJob *job = visit->job;
    tdTasks *tasks = NULL;
    visit->settings = job->task->settings;
    int workers = td_job_workers(job, count, &visit->settings.threads);
    pthread_mutex_init(&visit->motion, NULL);
    td_deal_begin(&visit->deal, job->crew, count, noted, job);
    visit->status = td_tasks_create(workers, &tasks, &visit->error);
    if (visit->status == TD_OK)
        td_parallel(tasks, workers, visit_dealt, visit);
    else
        td_deal_stop(&visit->deal);
    td_deal_end(&visit->deal);
    td_tasks_free(tasks);
    pthread_mutex_destroy(&visit->motion);
    tdStatus status = visit->status == TD_OK && job->stopped ? TD_CANCELLED : visit->status;
    if (status != TD_OK && error != NULL)
        *error = visit->error;
    return td_crew_agree(job->crew, status, error);
}

/// A piece and how long it is, to put them in order.
typedef struct Sized
{
    tdJobPiece piece;
    int64_t places;
} Sized;

static int compare_sized(const void *a, const void *b)
{
    const Sized *one = a, *two = b;
    if (one->places != two->places)
        return one->places > two->places ? -1 : 1;
    if (one->piece.way != two->piece.way)
        return one->piece.way < two->piece.way ? -1 : 1;
    return one->piece.trajectory - two->piece.trajectory;
}

static tdStatus longest_first(const tdJobWay *ways, int64_t count, tdJobPiece *pieces, tdError *error)
{
    Sized *sized = td_take((size_t)count, sizeof *sized);
    if (sized == NULL)
        return td_fail_memory(error, "the trajectories");
    for (int64_t i = 0; i < count; i++)
        sized[i] = (Sized){pieces[i], places_of(ways, pieces[i])};
    qsort(sized, (size_t)count, sizeof *sized, compare_sized);
    for (int64_t i = 0; i < count; i++)
        pieces[i] = sized[i].piece;
    free(sized);
    return TD_OK;
}

/// A path on its way to other ranks: this, then its arrays.
typedef struct PathHead
{
    char name[32];
    int64_t positions, n, count, trajectories, numbered, every;
} PathHead;

static size_t path_bytes(const PathHead *head, size_t bytes[4])
{
    bytes[0] = (size_t)(head->count * head->n) * sizeof(double);
    bytes[1] = (size_t)head->count * sizeof(double);
    bytes[2] = (size_t)(head->trajectories + 1) * sizeof(int64_t);
    bytes[3] = head->numbered ? (size_t)head->trajectories * sizeof(int) : 0;
    return bytes[0] + bytes[1] + bytes[2] + bytes[3];
}

tdStatus td_job_pass_path(const tdJob *job, tdJobWay *way, tdJobHeard *heard, tdError *error)
{
    const tdSamplePath *path = way->path;
    bool leads = job->crew->rank == 0;
    PathHead head = {0};
    size_t bytes[4];
    *heard = (tdJobHeard){0};
    if (leads)
    {
        head = (PathHead){.positions = way->positions,
                          .n = path->n,
                          .count = path->count,
                          .trajectories = path->n_trajectories,
                          .numbered = path->number != NULL,
                          .every = path->every};
        snprintf(head.name, sizeof head.name, "%s", way->name);
        heard->path = *path;
    }
    pass(job, &head, sizeof head);
    size_t all = path_bytes(&head, bytes);
    heard->memory = leads ? NULL : td_take(all + 1, 1);
    bool room = leads || heard->memory != NULL;
    TD_TRY(td_crew_agree(job->crew, room ? TD_OK : td_fail_memory(error, "a path of samples"), error));
    tdSamplePath *copy = &heard->path;
    if (!leads)
    {
        char *at = heard->memory;
        *copy = (tdSamplePath){
            .n = (int)head.n, .count = head.count, .n_trajectories = (int)head.trajectories, .every = (int)head.every};
        copy->values = (double *)(void *)at;
        copy->weight = (double *)(void *)(at + bytes[0]);
        copy->start = (int64_t *)(void *)(at + bytes[0] + bytes[1]);
        copy->number = bytes[3] > 0 ? (int *)(void *)(at + bytes[0] + bytes[1] + bytes[2]) : NULL;
        memcpy(heard->name, head.name, sizeof heard->name);
        *way = (tdJobWay){heard->name, copy, head.positions != 0, TD_REDUCE_SNAPSHOTS, NULL};
    }
    pass(job, copy->values, bytes[0]);
    pass(job, copy->weight, bytes[1]);
    pass(job, copy->start, bytes[2]);
    if (bytes[3] > 0)
        pass(job, copy->number, bytes[3]);
    return TD_OK;
}

void td_job_heard_free(tdJobHeard *heard)
{
    free(heard->memory);
    *heard = (tdJobHeard){0};
}

static void await_parts(const tdJob *job, const tdJobWay *ways, int64_t count, const tdJobPiece *pieces)
{
    for (int64_t i = 0; i < count; i++)
    {
        char name[64];
        if (pieces[i].way < 0)
            continue; // made anew where it does not show up
        const tdJobWay *way = &ways[pieces[i].way];
        td_job_name(way->name, way->path, pieces[i].trajectory, name);
        td_work_await(&job->work, name);
    }
}

tdStatus td_job_deal(tdJob *job, int n, const tdJobWay *ways, int64_t count, tdJobPiece *pieces, tdError *error)
{
    TD_TRY(longest_first(ways, count, pieces, error));
    Order order = {.what = ORDER_VISIT, .count = count, .ways = n};
    pass(job, &order, sizeof order);
    tdStatus status = TD_OK;
    for (int w = 0; w < n && status == TD_OK; w++)
    {
        tdJobHeard own;
        tdJobWay way = ways[w];
        status = td_job_pass_path(job, &way, &own, error);
    }
    TD_TRY(td_crew_agree(job->crew, status, error));
    pass(job, pieces, (size_t)count * sizeof *pieces);
    Visit visit = {.job = job, .n = n, .ways = ways, .pieces = pieces};
    TD_TRY(visit_all(&visit, count, error));
    await_parts(job, ways, count, pieces);
    return TD_OK;
}

static void follow_visit(tdJob *job, const Order *order)
{
    tdError error = {0};
    tdJobWay ways[TD_JOB_WAYS] = {{0}};
    tdJobHeard heard[TD_JOB_WAYS] = {0};
    tdStatus status = TD_OK;
    for (int w = 0; w < order->ways && status == TD_OK; w++)
        status = td_job_pass_path(job, &ways[w], &heard[w], &error);
    tdJobPiece *pieces = td_take((size_t)order->count, sizeof *pieces);
    if (status == TD_OK && pieces == NULL)
        status = td_fail_memory(&error, "the trajectories");
    status = td_crew_agree(job->crew, status, &error);
    if (status == TD_OK)
    {
        pass(job, pieces, (size_t)order->count * sizeof *pieces);
        Visit visit = {.job = job, .n = (int)order->ways, .ways = ways, .pieces = pieces};
        visit_all(&visit, order->count, &error); // agreed upon: rank 0 acts on it
    }
    free(pieces);
    for (int w = 0; w < TD_JOB_WAYS; w++)
        td_job_heard_free(&heard[w]);
}

// Which trajectories of a way are not there; counts those that are.
static tdStatus list_missing(tdJob *job, int w, const tdJobWay *way, tdJobPiece *pieces, int64_t *count, tdError *error)
{
    for (int t = 0; t < way->path->n_trajectories; t++)
    {
        tdJobTrajectory data;
        tdJobPiece piece = {w, t};
        TD_TRY(td_job_take(job, way->path, t, way->positions, &data, error));
        if (!td_job_load(job, way->name, way->path, t, way->positions, &data))
            pieces[(*count)++] = piece;
        else
        {
            job->report->reused[way->phase] += places_of(way - w, piece);
            td_job_progress(job, places_of(way - w, piece));
        }
        td_job_drop(&data);
    }
    return TD_OK;
}

tdStatus td_job_spread(tdJob *job, tdError *error)
{
    tdJobWay ways[TD_JOB_WAYS];
    int n = td_job_ways(job, ways);
    int64_t most = 2, places = 0, count = 0, steps = TD_JOB_MOTION_STEPS;
    if (job->model->scene.reduction.basis != TD_BASIS_SNAPSHOTS)
        return TD_OK;
    for (int w = 0; w < n; w++)
    {
        most += ways[w].path->n_trajectories;
        places += ways[w].path->count;
    }
    tdJobPiece *pieces = td_take((size_t)most, sizeof *pieces);
    if (pieces == NULL)
        return td_fail_memory(error, "the trajectories");
    int motions = td_job_learns_motion(job) ? 2 : 1;
    td_job_begin(job, TD_REDUCE_SNAPSHOTS, job->work.key, places + motions * steps);
    for (int k = 0; k < motions; k++) // found at once where they are there
        pieces[count++] = (tdJobPiece){-1, k};
    tdStatus status = TD_OK;
    for (int w = 0; w < n && status == TD_OK; w++)
        status = list_missing(job, w, &ways[w], pieces, &count, error);
    job->counted = true;
    if (status == TD_OK && count > 0 && !job->stopped)
        status = td_job_deal(job, n, ways, count, pieces, error);
    free(pieces);
    return status;
}

// ---------------------------------------------------------------- train

/// Blocks or parts that are dealt out.
typedef struct Blocks
{
    tdJob *job;
    tdDeal deal;
    const int64_t *number;
} Blocks;

static int64_t next_block(void *user)
{
    Blocks *blocks = user;
    pthread_mutex_lock(&blocks->job->mutex);
    bool stopped = blocks->job->stopped;
    pthread_mutex_unlock(&blocks->job->mutex);
    if (stopped)
        td_deal_stop(&blocks->deal);
    int64_t i = td_deal_next(&blocks->deal, 0);
    return i < 0 ? -1 : blocks->number[i];
}

// Modes and states of training, to ranks that have room for them.
static void pass_basis(const tdJob *job)
{
    const tdRom *rom = &job->rom;
    pass(job, rom->phi, (size_t)(job->trainee.n * rom->r) * sizeof(double));
    pass(job, job->alpha, (size_t)(job->n_k * rom->r) * sizeof(double));
    if (job->trainee.n_u > 0)
        pass(job, job->u, (size_t)(job->n_k * job->trainee.n_u) * sizeof(double));
}

tdStatus td_job_deal_blocks(tdJob *job, const tdJobTraining *training, int64_t count, int64_t *numbers,
                            tdEcswMaker *maker, tdError *error)
{
    Blocks blocks = {.job = job, .number = numbers};
    Order order = {.what = ORDER_TRAIN,
                   .count = count,
                   .field = training->field,
                   .sketch = training->sketch,
                   .r = job->rom.r,
                   .n_k = job->n_k,
                   .skips = training->skip != NULL,
                   .target = training->target,
                   .training = job->training};
    pass(job, &order, sizeof order);
    TD_TRY(td_crew_agree(job->crew, TD_OK, error));
    pass_basis(job);
    pass(job, numbers, (size_t)count * sizeof *numbers);
    if (order.skips) // read only: broadcast from here
        pass(job, (void *)(uintptr_t)training->skip, (size_t)td_job_field_elements(job, training->field));
    td_deal_begin(&blocks.deal, job->crew, count, NULL, NULL);
    tdStatus status = TD_OK;
    for (int64_t number = 0; status == TD_OK && (number = next_block(&blocks)) >= 0;)
        status = training->target > 0 ? td_ecsw_choose_part(maker, number, training->target, error)
                                      : td_ecsw_make(maker, number, error);
    if (status != TD_OK)
        td_deal_stop(&blocks.deal);
    td_deal_end(&blocks.deal);
    return td_crew_agree(job->crew, status == TD_OK && job->stopped ? TD_CANCELLED : status, error);
}

static void follow_train(tdJob *job, const Order *order)
{
    tdError error = {0};
    tdRom *rom = &job->rom;
    size_t n = (size_t)job->trainee.n, n_k = (size_t)order->n_k, r = (size_t)order->r;
    rom->r = (int)order->r;
    job->n_k = order->n_k;
    job->training = order->training;
    rom->phi = td_take(n * r, sizeof(double));
    job->alpha = td_take(n_k * r + 1, sizeof(double));
    job->u = td_take(n_k * (size_t)job->trainee.n_u + 1, sizeof(double));
    int64_t *numbers = td_take((size_t)order->count, sizeof *numbers);
    size_t elements = (size_t)td_job_field_elements(job, (int)order->field);
    uint8_t *skip = td_take(elements, 1);
    bool room = rom->phi != NULL && job->alpha != NULL && job->u != NULL && numbers != NULL && skip != NULL;
    tdStatus status = td_crew_agree(job->crew, room ? TD_OK : td_fail_memory(&error, "the modes"), &error);
    if (status == TD_OK)
    {
        Blocks blocks = {.job = job, .number = numbers};
        pass_basis(job);
        pass(job, numbers, (size_t)order->count * sizeof *numbers);
        if (order->skips)
            pass(job, skip, elements);
        const tdJobTraining training = {.field = (int)order->field,
                                        .sketch = (int)order->sketch,
                                        .target = order->target,
                                        .skip = order->skips ? skip : NULL};
        td_deal_begin(&blocks.deal, job->crew, 0, NULL, NULL);
        status = td_job_train_blocks(job, &training, next_block, &blocks, &error);
        if (status != TD_OK)
            td_deal_stop(&blocks.deal);
        td_deal_end(&blocks.deal);
        td_crew_agree(job->crew, status == TD_OK && job->stopped ? TD_CANCELLED : status, &error);
    }
    free(rom->phi);
    free(job->alpha);
    free(job->u);
    free(numbers);
    free(skip);
    rom->phi = job->alpha = job->u = NULL;
}

// ---------------------------------------------------------------- orders

void td_job_order_tsqr(tdJob *job, const tdJobTsqr *about)
{
    Order order = {.what = ORDER_TSQR, .tsqr = *about};
    pass(job, &order, sizeof order);
}

void td_job_order_tries(tdJob *job, const tdJobTries *about)
{
    Order order = {.what = ORDER_TRIES, .tries = *about};
    pass(job, &order, sizeof order);
}

tdStatus td_job_follow(tdJob *job, tdError *error)
{
    for (;;)
    {
        Order order;
        pass(job, &order, sizeof order);
        if (order.what == ORDER_VISIT)
            follow_visit(job, &order);
        else if (order.what == ORDER_TRAIN)
            follow_train(job, &order);
        else if (order.what == ORDER_TSQR)
            td_job_follow_tsqr(job, &order.tsqr);
        else if (order.what == ORDER_TRIES)
            td_job_follow_tries(job, &order.tries);
        else
        {
            td_job_tries_free(job);
            if (error != NULL)
                *error = order.error;
            return (tdStatus)order.status;
        }
    }
}

void td_job_dismiss(tdJob *job, tdStatus status, const tdError *error)
{
    Order order = {.what = ORDER_END, .status = status};
    if (status != TD_OK && error != NULL)
        order.error = *error;
    pass(job, &order, sizeof order);
}
