// SPDX-License-Identifier: Apache-2.0
// Messages by MPI, a library of its own (libtendril_mpi.so) that is built where MPI is. MPI's waiting takes a whole
// core; here everything is begun and looked at from time to time.
#include "reduce/offline/crew.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

#define PIECE (INT64_C(1) << 28) // counts are int
#define SOON  20000              // [ns] until the second look,
#define LATE  2000000            // and at most

enum
{
    TAG_DATA = 1,
    TAG_ASK,
    TAG_ANSWER
};

// Until MPI_Wait, which follows, has nothing to wait for.
static void await(MPI_Request request)
{
    long pause = SOON;
    for (int done = 0;;)
    {
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        pause = 2 * pause < LATE ? 2 * pause : LATE;
    }
}

static int piece_of(int64_t left)
{
    return (int)(left < PIECE ? left : PIECE);
}

static const char *begin(int *rank, int *size, int *local)
{
    int provided = 0, there = 0;
    MPI_Comm machine;
    MPI_Initialized(&there);
    if (!there && MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
        return "MPI could not be started";
    if (there)
        MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_SERIALIZED)
    {
        if (!there)
            MPI_Finalize();
        return "this MPI was built without threads";
    }
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, local);
    MPI_Comm_free(&machine);
    return NULL;
}

static void end(void)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    await(request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE); // it is: this gives the request back
    MPI_Finalize();
}

static void broadcast(void *data, int64_t bytes)
{
    for (char *at = data, *last = at + bytes; at < last;)
    {
        MPI_Request request;
        int n = piece_of(last - at);
        MPI_Ibcast(at, n, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        await(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        at += n;
    }
}

static void gather(const void *mine, int64_t bytes, void *all)
{
    MPI_Request request;
    MPI_Igather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    await(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void send_data(int to, const void *data, int64_t bytes)
{
    for (const char *at = data, *last = at + bytes; at < last;)
    {
        MPI_Request request;
        int n = piece_of(last - at);
        MPI_Isend(at, n, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD, &request);
        await(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        at += n;
    }
}

static void receive(int from, void *data, int64_t bytes)
{
    for (char *at = data, *last = at + bytes; at < last;)
    {
        MPI_Request request;
        int n = piece_of(last - at);
        MPI_Irecv(at, n, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD, &request);
        await(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        at += n;
    }
}

static int asked(void *data, int64_t bytes)
{
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_ASK, MPI_COMM_WORLD, &there, &status);
    if (!there)
        return -1;
    MPI_Recv(data, (int)bytes, MPI_BYTE, status.MPI_SOURCE, TAG_ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return status.MPI_SOURCE;
}

static void ask(const void *data, int64_t bytes, int64_t *answer)
{
    MPI_Request request;
    MPI_Isend(data, (int)bytes, MPI_BYTE, 0, TAG_ASK, MPI_COMM_WORLD, &request);
    await(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(answer, sizeof *answer, MPI_BYTE, 0, TAG_ANSWER, MPI_COMM_WORLD, &request);
    await(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void answer(int to, int64_t number)
{
    MPI_Request request;
    MPI_Isend(&number, sizeof number, MPI_BYTE, to, TAG_ANSWER, MPI_COMM_WORLD, &request);
    await(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

__attribute__((visibility("default"))) const tdCrewBackEnd *tendril_crew_back_end(void);

const tdCrewBackEnd *tendril_crew_back_end(void)
{
    static const tdCrewBackEnd back = {.version = TD_CREW_VERSION,
                                       .begin = begin,
                                       .end = end,
                                       .broadcast = broadcast,
                                       .gather = gather,
                                       .send = send_data,
                                       .receive = receive,
                                       .asked = asked,
                                       .ask = ask,
                                       .answer = answer};
    return &back;
}
