// SPDX-License-Identifier: Apache-2.0
#include "base/blas.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

// Of OpenBLAS, whose header does not have them; a BLAS without them is trusted to look after itself.
extern void *blas_memory_alloc(int kind) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

// BUFFER_SIZE of OpenBLAS on 64-bit machines, and what its bookkeeping and other threads may need beside it.
#define BUFFER ((size_t)128 << 20)
#define SLACK  ((size_t)4 << 20)
#define MOST   1024 // threads; OpenBLAS has no more buffers either

// The buffers belong to the process, and so must the account of them: states that step at the same time share them.
static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static int users, mapped;

static tdStatus fail_reserve(int buffers, tdError *error)
{
    struct rlimit limit = {0};
    char bound[64] = "";
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(bound, sizeof bound, " (its limit is %llu MiB)", (unsigned long long)(limit.rlim_cur >> 20));
    return td_fail(error, TD_ERROR_MEMORY,
                   "out of memory: linear algebra needs %zu MiB of address space more, %zu MiB for each thread, and "
                   "this process cannot allocate them%s; raise the limit (ulimit -v) or use fewer threads",
                   (size_t)buffers * (BUFFER >> 20), BUFFER >> 20, bound);
}

// Has OpenBLAS map so many buffers. All at once, because one that is free would be given again; and only where the
// system has just shown that it has as much. Those that it has may be in use as long as others have threads.
static tdStatus map_buffers(int buffers, tdError *error)
{
    int more = users > 0 ? buffers : buffers - mapped;
    size_t size = (size_t)more * BUFFER + SLACK;
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return fail_reserve(more, error);
    munmap(room, size);
    void **held = calloc((size_t)buffers, sizeof *held);
    if (held == NULL)
        return td_fail_memory(error, "linear algebra");
    for (int i = 0; i < buffers; i++)
        held[i] = blas_memory_alloc(0);
    for (int i = 0; i < buffers; i++)
        blas_memory_free(held[i]);
    free(held);
    return TD_OK;
}

tdStatus td_blas_reserve(int threads, tdError *error)
{
    if (blas_memory_alloc == NULL || blas_memory_free == NULL)
        return TD_OK;
    tdStatus status = TD_OK;
    pthread_mutex_lock(&account);
    int wanted = users + threads > 0 ? users + threads : 1;
    if (wanted > mapped && wanted <= MOST)
        status = map_buffers(wanted, error);
    if (status == TD_OK)
    {
        users += threads;
        mapped = wanted > mapped ? wanted : mapped;
    }
    pthread_mutex_unlock(&account);
    return status;
}

void td_blas_release(int threads)
{
    pthread_mutex_lock(&account);
    users -= threads;
    pthread_mutex_unlock(&account);
}
