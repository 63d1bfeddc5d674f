// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/crew.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAY_OUT                                                                                                        \
    "build it where Open MPI is (scripts/setup mpi, then cmake again), start one process without mpirun, or give "     \
    "each "                                                                                                            \
    "rank its share by --job (docs/cluster.md)"

// ---------------------------------------------------------------- the library

int td_crew_started(void)
{
    // Open MPI; MPICH and Slurm's PMI; Slurm with PMIx, which says the rank alone.
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (getenv(sizes[i]) != NULL)
            return atoi(getenv(sizes[i]));
    const char *tasks = getenv("PMIX_RANK") != NULL ? getenv("SLURM_NTASKS") : NULL;
    return tasks != NULL ? atoi(tasks) : 1;
}

// A file in the folder of the library or program that this code is part of.
static void file_beside(char *to, size_t size)
{
    Dl_info info;
    bool known = dladdr((const void *)(size_t)&td_crew_open, &info) != 0 && info.dli_fname != NULL;
    const char *slash = known ? strrchr(info.dli_fname, '/') : NULL;
    snprintf(to, size, "%.*s" TD_CREW_LIBRARY, slash == NULL ? 0 : (int)(slash - info.dli_fname + 1),
             known ? info.dli_fname : "");
}

static tdStatus load(const char *file, tdCrew *out, tdError *error)
{
    char beside[1024], why[400];
    file_beside(beside, sizeof beside);
    // Global: the parts of Open MPI that it loads itself look for its symbols.
    out->handle = dlopen(file != NULL ? file : beside, RTLD_NOW | RTLD_GLOBAL);
    snprintf(why, sizeof why, "%s", out->handle == NULL ? dlerror() : "");
    if (out->handle == NULL && file == NULL)
        out->handle = dlopen(TD_CREW_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (out->handle != NULL)
        return TD_OK;
    return td_fail(error, TD_ERROR_INPUT,
                   "%d ranks were started, but they cannot work together, because the library for MPI cannot be loaded "
                   "(%s): " WAY_OUT,
                   td_crew_started(), why);
}

tdStatus td_crew_open(const char *file, tdCrew *out, tdError *error)
{
    *out = (tdCrew){0};
    TD_TRY(load(file, out, error));
    const tdCrewBackEnd *(*entry)(void) = NULL;
    void *symbol = dlsym(out->handle, TD_CREW_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    const char *name = file == NULL ? TD_CREW_LIBRARY : file;
    if (entry == NULL || (out->back = entry())->version != TD_CREW_VERSION)
    {
        out->back = NULL;
        return td_fail(error, TD_ERROR_INPUT,
                       "'%.300s' is not a library for MPI of this version: build both from the same source", name);
    }
    const char *why = out->back->begin(&out->rank, &out->size, &out->local);
    int started = td_crew_started();
    if (why == NULL && out->size == started)
        return TD_OK;
    if (why == NULL)
        out->back->end();
    int found = out->size;
    out->back = NULL;
    if (why != NULL)
        return td_fail(error, TD_ERROR_INPUT, "%d ranks were started, but they cannot work together: %.300s; " WAY_OUT,
                       started, why);
    return td_fail(error, TD_ERROR_INPUT,
                   "%d ranks were started, but '%.300s' finds %d: it was built with another MPI than that of the "
                   "launcher; " WAY_OUT,
                   started, name, found);
}

// A library that has threads and handlers of its own stays loaded.
void td_crew_close(tdCrew *crew)
{
    if (crew->back != NULL)
        crew->back->end();
    *crew = (tdCrew){0};
}

// ---------------------------------------------------------------- agreement

typedef struct Verdict
{
    int64_t status;
    tdError error;
} Verdict;

tdStatus td_crew_agree(const tdCrew *crew, tdStatus status, tdError *error)
{
    Verdict mine = {.status = status}, *all = NULL;
    if (status != TD_OK && error != NULL)
        mine.error = *error;
    if (crew->rank == 0)
        all = calloc((size_t)crew->size, sizeof *all); // without it, rank 0 speaks for all
    Verdict only;
    if (crew->rank == 0 && all == NULL)
    {
        mine.status = TD_ERROR_MEMORY;
        td_fail_memory(&mine.error, "what ranks report");
    }
    crew->back->gather(&mine, sizeof mine, all);
    only = mine;
    for (int r = 0; all != NULL && r < crew->size; r++)
        if (all[r].status != TD_OK)
        {
            only = all[r];
            break;
        }
    free(all);
    crew->back->broadcast(&only, sizeof only);
    if (only.status != TD_OK && error != NULL)
        *error = only.error;
    return (tdStatus)only.status;
}

// ---------------------------------------------------------------- deals

#define PATIENCE 1000000 // [ns] between two looks

/// What others say when they ask.
typedef struct Asking
{
    int64_t done, stop;
} Asking;

static bool leads(const tdDeal *deal)
{
    return deal->crew == NULL || deal->crew->rank == 0;
}

static int64_t take(tdDeal *deal)
{
    pthread_mutex_lock(&deal->mutex);
    int64_t number = !deal->stopped && deal->next < deal->n ? deal->next++ : -1;
    pthread_mutex_unlock(&deal->mutex);
    return number;
}

// Answers the others until each of them knows that there is nothing left.
static void *deal_out(void *context)
{
    tdDeal *deal = context;
    const tdCrewBackEnd *back = deal->crew->back;
    for (int left = deal->crew->size - 1; left > 0;)
    {
        Asking asking;
        int from = back->asked(&asking, sizeof asking);
        if (from < 0)
        {
            nanosleep(&(struct timespec){.tv_nsec = PATIENCE}, NULL);
            continue;
        }
        bool go_on = asking.done == 0 || deal->noted == NULL || deal->noted(deal->user, asking.done);
        if (asking.stop != 0 || !go_on)
            td_deal_stop(deal);
        int64_t number = take(deal);
        back->answer(from, number);
        left -= number < 0;
    }
    return NULL;
}

void td_deal_begin(tdDeal *deal, const tdCrew *crew, int64_t n, bool (*noted)(void *user, int64_t done), void *user)
{
    *deal = (tdDeal){.crew = crew, .n = n, .noted = noted, .user = user};
    pthread_mutex_init(&deal->mutex, NULL);
    deal->dealing = crew != NULL && crew->rank == 0 && pthread_create(&deal->dealer, NULL, deal_out, deal) == 0;
}

int64_t td_deal_next(tdDeal *deal, int64_t done)
{
    if (leads(deal))
        return take(deal);
    int64_t number = -1;
    pthread_mutex_lock(&deal->mutex);
    if (!deal->over)
    {
        const Asking asking = {.done = done, .stop = deal->stopped};
        deal->crew->back->ask(&asking, sizeof asking, &number);
        deal->over = number < 0;
    }
    pthread_mutex_unlock(&deal->mutex);
    return number;
}

void td_deal_stop(tdDeal *deal)
{
    pthread_mutex_lock(&deal->mutex);
    deal->stopped = true;
    pthread_mutex_unlock(&deal->mutex);
}

void td_deal_end(tdDeal *deal)
{
    while (!leads(deal) && !deal->over) // whoever failed early still has to hear it
        td_deal_next(deal, 0);
    if (deal->dealing)
        pthread_join(deal->dealer, NULL);
    else if (deal->crew != NULL && leads(deal)) // no thread was to be had: the others have waited
        deal_out(deal);
    pthread_mutex_destroy(&deal->mutex);
}
