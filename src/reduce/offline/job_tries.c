// SPDX-License-Identifier: Apache-2.0
// Estimates of errors at candidates of samples greedy (estimate.h), by all ranks: each has an estimator of its own,
// with the modes that rank 0 has found, and takes every size-th candidate. An estimate is the same whoever makes it.
#include "reduce/offline/job_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Kind
{
    TRIES_CREATE,
    TRIES_SET,
    TRIES_MAKE
} Kind;

static tdJobTries about_what(Kind kind, int64_t count)
{
    return (tdJobTries){.kind = kind, .count = count};
}

// From rank 0 to all others.
static void pass(const tdJob *job, void *data, size_t bytes)
{
    job->crew->back->broadcast(data, (int64_t)bytes);
}

// ---------------------------------------------------------------- the three orders, by each rank

// Each rank puts its reduced model into a file of its own.
static tdStatus create(tdJob *job, tdError *error)
{
    char name[32];
    snprintf(name, sizeof name, "greedy-%d.part", job->crew != NULL ? job->crew->rank : 0);
    td_work_path(&job->work, name, job->tried);
    return td_estimator_create(&job->trainee, job->task->scene, job->alone, job->tried, &job->task->settings,
                               &job->estimator, error);
}

static tdStatus set(tdJob *job, const tdJobTries *about, const tdRom *rom, tdError *error)
{
    return td_estimator_set(job->estimator, rom, about->amplitude, about->settle != 0, error);
}

// Candidates rank, rank + size, ... of `values`; what is found goes to rank 0, which has room for all.
static tdStatus make(tdJob *job, int64_t count, const double *values, double *found, double *d, tdError *error)
{
    const tdCrew *crew = job->crew;
    int64_t n = job->trainee.n, n_inputs = job->model->n_inputs;
    const double *mine[TD_ESTIMATES];
    double estimate[TD_ESTIMATES];
    int taken = 0;
    for (int64_t i = crew->rank; i < count; i += crew->size)
        mine[taken++] = values + i * n_inputs;
    double *shape = td_take((size_t)(taken * n) + 1, sizeof *shape);
    tdStatus status = shape == NULL ? td_fail_memory(error, "the estimates of errors")
                                    : td_estimator_try(job->estimator, job->tasks, taken, mine, estimate, shape, error);
    status = td_crew_agree(crew, status, error);
    for (int64_t i = 0; i < count && status == TD_OK; i++)
    {
        int from = (int)(i % crew->size);
        int64_t at = i / crew->size;
        if (from == crew->rank && from != 0)
        {
            crew->back->send(0, &estimate[at], sizeof estimate[at]);
            crew->back->send(0, shape + at * n, n * (int64_t)sizeof *shape);
        }
        else if (from == 0 && crew->rank == 0)
        {
            found[i] = estimate[at];
            memcpy(d + i * n, shape + at * n, (size_t)n * sizeof *shape);
        }
        else if (crew->rank == 0)
        {
            crew->back->receive(from, &found[i], sizeof found[i]);
            crew->back->receive(from, d + i * n, n * (int64_t)sizeof *d);
        }
    }
    free(shape);
    return status;
}

// ---------------------------------------------------------------- rank 0, or a process alone

tdStatus td_job_tries_create(tdJob *job, tdError *error)
{
    if (job->crew == NULL)
        return create(job, error);
    const tdJobTries about = about_what(TRIES_CREATE, 0);
    td_job_order_tries(job, &about);
    return td_crew_agree(job->crew, create(job, error), error);
}

tdStatus td_job_tries_set(tdJob *job, const tdRom *rom, double amplitude, bool settle, tdError *error)
{
    tdJobTries about = about_what(TRIES_SET, rom->r);
    about.amplitude = amplitude;
    about.settle = settle;
    if (job->crew == NULL)
        return set(job, &about, rom, error);
    td_job_order_tries(job, &about);
    TD_TRY(td_crew_agree(job->crew, TD_OK, error)); // all have room
    pass(job, rom->phi, (size_t)(job->trainee.n * rom->r) * sizeof(double));
    return td_crew_agree(job->crew, set(job, &about, rom, error), error);
}

tdStatus td_job_tries_make(tdJob *job, int count, const double *const *values, double *found, double *d, tdError *error)
{
    if (job->crew == NULL)
        return td_estimator_try(job->estimator, job->tasks, count, values, found, d, error);
    const tdJobTries about = about_what(TRIES_MAKE, count);
    size_t each = (size_t)job->model->n_inputs;
    double *all = td_take(TD_ESTIMATES * each + 1, sizeof *all);
    td_job_order_tries(job, &about);
    tdStatus status = all == NULL ? td_fail_memory(error, "the estimates of errors") : TD_OK;
    status = td_crew_agree(job->crew, status, error);
    if (status == TD_OK)
    {
        for (int i = 0; i < count; i++)
            memcpy(all + (size_t)i * each, values[i], each * sizeof *all);
        pass(job, all, (size_t)count * each * sizeof *all);
        status = make(job, count, all, found, d, error);
    }
    free(all);
    return status;
}

void td_job_tries_free(tdJob *job)
{
    td_estimator_free(job->estimator);
    job->estimator = NULL;
}

// ---------------------------------------------------------------- other ranks

static void follow_set(tdJob *job, const tdJobTries *about, tdError *error)
{
    size_t n = (size_t)job->trainee.n, r = (size_t)about->count;
    tdRom rom = job->rom;
    rom.kind = TD_ROM_DOMAINS;
    rom.r = (int)r;
    rom.phi = td_take(n * r, sizeof(double));
    rom.low = td_take(3 * r, sizeof(double));
    bool room = rom.phi != NULL && rom.low != NULL;
    tdStatus status = td_crew_agree(job->crew, room ? TD_OK : td_fail_memory(error, "the modes"), error);
    if (status == TD_OK)
    {
        rom.high = rom.low + r;
        rom.spread = rom.high + r;
        pass(job, rom.phi, n * r * sizeof(double));
        td_crew_agree(job->crew, set(job, about, &rom, error), error);
    }
    free(rom.phi);
    free(rom.low);
}

static void follow_make(tdJob *job, const tdJobTries *about, tdError *error)
{
    size_t all = (size_t)(about->count * job->model->n_inputs);
    double *values = td_take(all + 1, sizeof *values);
    tdStatus status = values == NULL ? td_fail_memory(error, "the estimates of errors") : TD_OK;
    if (td_crew_agree(job->crew, status, error) == TD_OK)
    {
        pass(job, values, all * sizeof *values);
        make(job, about->count, values, NULL, NULL, error); // agreed upon: rank 0 acts on it
    }
    free(values);
}

void td_job_follow_tries(tdJob *job, const tdJobTries *about)
{
    tdError error = {0};
    if (about->kind == TRIES_SET)
        follow_set(job, about, &error);
    else if (about->kind == TRIES_MAKE)
        follow_make(job, about, &error);
    else
    {
        td_job_tries_free(job);
        td_crew_agree(job->crew, create(job, &error), &error);
    }
}
