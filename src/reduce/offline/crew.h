// SPDX-License-Identifier: Apache-2.0
// Processes that share the offline stage, started together by MPI. Rank 0 leads: it runs the stage as one process
// would, and where there is work in pieces it deals them out; the others do what it orders. What a piece makes goes
// through the work folder, which all of them see; messages carry orders, numbers of pieces and small sums. A piece is
// the same whoever makes it, so that the model does not depend on how many they are.
//
// MPI itself is a library that is loaded at run time (crew_mpi.c): nothing else needs it.
#pragma once
#include "base/status.h"

#include <pthread.h>

#define TD_CREW_LIBRARY "libtendril_mpi.so"
#define TD_CREW_SYMBOL  "tendril_crew_back_end"
#define TD_CREW_VERSION 1

/// What the library of messages provides. One thread of a process calls it at a time. All that wait sleep in between:
/// ranks may be more than cores.
typedef struct tdCrewBackEnd
{
    int32_t version;
    /// NULL: all is well; else why not. local: ranks on this machine.
    const char *(*begin)(int *rank, int *size, int *local);
    void (*end)(void);
    void (*broadcast)(void *data, int64_t bytes);                  ///< from rank 0
    void (*gather)(const void *mine, int64_t bytes, void *all);    ///< to rank 0; all: size x bytes there
    void (*send)(int to, const void *data, int64_t bytes);         ///< waits until it is taken
    void (*receive)(int from, void *data, int64_t bytes);          ///< what send() of that rank sent
    int (*asked)(void *data, int64_t bytes);                       ///< rank 0, does not wait: who asked; -1: nobody
    void (*ask)(const void *data, int64_t bytes, int64_t *answer); ///< of rank 0, and waits for
    void (*answer)(int to, int64_t answer);
} tdCrewBackEnd;

typedef struct tdCrew
{
    void *handle;
    const tdCrewBackEnd *back;
    int rank, size;
    int local; ///< ranks on this machine
} tdCrew;

/// How many ranks the launcher says it started: 1 when there was none.
int td_crew_started(void);
/// Joins the others. file: the library; NULL: TD_CREW_LIBRARY beside this one, then where the system looks. The message
/// says why ranks cannot be used and what to do.
tdStatus td_crew_open(const char *file, tdCrew *out, tdError *error);
void td_crew_close(tdCrew *crew);

/// Every rank says what became of it, and all return the same: the failure of the lowest rank, or TD_OK.
tdStatus td_crew_agree(const tdCrew *crew, tdStatus status, tdError *error);

/// Numbers from 0 on, each to one who asks for it. All ranks begin and end a deal together; in between they take
/// numbers from any of their threads, and rank 0 sends messages of no other kind.
typedef struct tdDeal
{
    const tdCrew *crew;
    pthread_mutex_t mutex;
    pthread_t dealer; // rank 0: answers the others
    bool dealing;
    int64_t next, n; // rank 0
    bool over;       // others: there are none left
    bool stopped;
    bool (*noted)(void *user, int64_t done); // rank 0
    void *user;
} tdDeal;

/// crew NULL: numbers for the threads of this process. n and noted matter at rank 0 alone. noted: told what others have
/// done, by one thread; false: deal no more.
void td_deal_begin(tdDeal *deal, const tdCrew *crew, int64_t n, bool (*noted)(void *user, int64_t done), void *user);
/// The next number; -1: none left. done: what was done since the last call, in whatever is counted.
int64_t td_deal_next(tdDeal *deal, int64_t done);
/// Nobody gets another number: something failed, or is to stop.
void td_deal_stop(tdDeal *deal);
void td_deal_end(tdDeal *deal);
