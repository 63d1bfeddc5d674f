// SPDX-License-Identifier: Apache-2.0
#include "base/task_watch.h"

#include "base/blas.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256
// Rounds a worker looks for work before it sleeps: about 20 us, the gap between two loops of a step.
#define SPINS 4000

struct tdTasks
{
    int threads;
    int reserved; // that BLAS has memory for
    pthread_t worker[MAX_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_int sleeping;
    atomic_bool stop;
    const tdSettings *asked; // whether to go on; NULL: nobody
    atomic_bool cancelled;
    double *seconds; // by piece, see td_tasks_watch(); NULL: nobody watches

    // The current loop. `ticket` counts loops; it is odd while a loop is being set up, so that a
    // worker that saw an older loop cannot take a piece of the new one with the old arguments.
    atomic_uint ticket;
    atomic_int next;   // piece to be taken
    atomic_int active; // workers inside the loop
    atomic_int n;
    _Atomic(tdTaskFn) task;
    _Atomic(void *) context;
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void run_piece(const tdTasks *tasks, tdTaskFn task, void *context, int i)
{
    double start = tasks->seconds != NULL ? processor_seconds() : 0;
    task(context, i);
    if (tasks->seconds != NULL)
        tasks->seconds[i] += processor_seconds() - start;
}

static void run_pieces(tdTasks *tasks)
{
    int n = atomic_load(&tasks->n);
    tdTaskFn task = atomic_load(&tasks->task);
    void *context = atomic_load(&tasks->context);
    for (;;)
    {
        int i = atomic_fetch_add(&tasks->next, 1);
        if (i >= n)
            return;
        run_piece(tasks, task, context, i);
    }
}

static void *worker_main(void *argument)
{
    tdTasks *tasks = argument;
    unsigned seen = 0;
    for (;;)
    {
        int spins = 0;
        unsigned ticket = atomic_load(&tasks->ticket);
        while ((ticket == seen || (ticket & 1U)) && !atomic_load(&tasks->stop))
        {
            if (++spins < SPINS)
                relax();
            else
            {
                pthread_mutex_lock(&tasks->lock);
                atomic_fetch_add(&tasks->sleeping, 1);
                while (atomic_load(&tasks->ticket) == seen && !atomic_load(&tasks->stop))
                    pthread_cond_wait(&tasks->wake, &tasks->lock);
                atomic_fetch_sub(&tasks->sleeping, 1);
                pthread_mutex_unlock(&tasks->lock);
                spins = 0;
            }
            ticket = atomic_load(&tasks->ticket);
        }
        if (atomic_load(&tasks->stop))
            return NULL;
        // Enter, then look again: the loop may have ended and the next one begun in between.
        atomic_fetch_add(&tasks->active, 1);
        if (atomic_load(&tasks->ticket) == ticket)
            run_pieces(tasks);
        atomic_fetch_sub(&tasks->active, 1);
        seen = ticket;
    }
}

tdStatus td_tasks_create_within(tdTasks **out, tdError *error)
{
    *out = td_take(1, sizeof **out);
    if (*out == NULL)
        return td_fail_memory(error, "the worker threads");
    pthread_mutex_init(&(*out)->lock, NULL);
    pthread_cond_init(&(*out)->wake, NULL);
    (*out)->threads = 1;
    return TD_OK;
}

tdStatus td_tasks_create(int threads, tdTasks **out, tdError *error)
{
    *out = NULL;
    if (threads < 0 || threads > MAX_THREADS)
        return td_fail(error, TD_ERROR_USAGE, "%d threads requested; give 0 (all cores) to %d", threads, MAX_THREADS);
    if (threads == 0)
    {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    }
    tdTasks *tasks = NULL;
    TD_TRY(td_tasks_create_within(&tasks, error));
    tdStatus status = td_blas_reserve(threads, error);
    if (status != TD_OK)
    {
        td_tasks_free(tasks);
        return status;
    }
    tasks->reserved = threads;
    for (int i = 1; i < threads; i++)
    {
        if (pthread_create(&tasks->worker[i], NULL, worker_main, tasks) != 0)
        {
            td_tasks_free(tasks);
            return td_fail(error, TD_ERROR_MEMORY, "the system provided only %d of %d threads; request fewer", i,
                           threads);
        }
        tasks->threads = i + 1;
    }
    *out = tasks;
    return TD_OK;
}

void td_tasks_free(tdTasks *tasks)
{
    if (tasks == NULL)
        return;
    pthread_mutex_lock(&tasks->lock);
    atomic_store(&tasks->stop, true);
    pthread_cond_broadcast(&tasks->wake);
    pthread_mutex_unlock(&tasks->lock);
    for (int i = 1; i < tasks->threads; i++)
        pthread_join(tasks->worker[i], NULL);
    pthread_cond_destroy(&tasks->wake);
    pthread_mutex_destroy(&tasks->lock);
    td_blas_release(tasks->reserved);
    free(tasks);
}

int td_tasks_threads(const tdTasks *tasks)
{
    return tasks == NULL ? 1 : tasks->threads;
}

void td_tasks_watch(tdTasks *tasks, double *seconds)
{
    tasks->seconds = seconds;
}

void td_tasks_ask(tdTasks *tasks, const tdSettings *settings)
{
    tasks->asked = settings;
    atomic_store(&tasks->cancelled, false);
}

bool td_tasks_cancelled(tdTasks *tasks)
{
    if (tasks == NULL || tasks->asked == NULL || tasks->asked->cancel == NULL)
        return false;
    if (atomic_load(&tasks->cancelled))
        return true;
    bool ends = tasks->asked->cancel(tasks->asked->cancel_user);
    if (ends)
        atomic_store(&tasks->cancelled, true);
    return ends;
}

tdStatus td_check_cancel(tdTasks *tasks, tdError *error)
{
    if (!td_tasks_cancelled(tasks))
        return TD_OK;
    return td_fail(error, TD_CANCELLED, "the step was interrupted; the state before it was kept");
}

void td_parallel(tdTasks *tasks, int n, tdTaskFn task, void *context)
{
    if (tasks == NULL || tasks->threads == 1 || n <= 1)
    {
        for (int i = 0; i < n && tasks != NULL; i++)
            run_piece(tasks, task, context, i);
        for (int i = 0; i < n && tasks == NULL; i++)
            task(context, i);
        return;
    }
    atomic_fetch_add(&tasks->ticket, 1); // odd: being set up
    while (atomic_load(&tasks->active) != 0)
        relax(); // a late worker is still leaving the loop before
    atomic_store(&tasks->task, task);
    atomic_store(&tasks->context, context);
    atomic_store(&tasks->n, n);
    atomic_store(&tasks->next, 0);
    atomic_fetch_add(&tasks->ticket, 1); // even: go
    if (atomic_load(&tasks->sleeping) > 0)
    {
        pthread_mutex_lock(&tasks->lock);
        pthread_cond_broadcast(&tasks->wake);
        pthread_mutex_unlock(&tasks->lock);
    }
    run_pieces(tasks);
    // A worker that has lost its core to somebody else comes to its end sooner if this thread does not hold another.
    for (int spins = 0; atomic_load(&tasks->active) != 0; spins++)
        if (spins < SPINS)
            relax();
        else
            sched_yield();
}

#define DOT_GRAIN  4096
#define DOT_PIECES 256

typedef struct dotWork
{
    const double *a, *b;
    int64_t n, grain;
    double partial[DOT_PIECES];
} dotWork;

static void dot_piece(void *context, int i)
{
    dotWork *work = context;
    int64_t begin = i * work->grain, end = begin + work->grain;
    if (end > work->n)
        end = work->n;
    // Four chains, always in this order, whatever the compiler vectorizes.
    double s[4] = {0};
    int64_t k = begin;
    for (; k + 4 <= end; k += 4)
        for (int j = 0; j < 4; j++)
            s[j] += work->a[k + j] * work->b[k + j];
    for (; k < end; k++)
        s[0] += work->a[k] * work->b[k];
    work->partial[i] = (s[0] + s[1]) + (s[2] + s[3]);
}

double td_dot(tdTasks *tasks, int64_t n, const double *a, const double *b)
{
    dotWork work;
    work.a = a;
    work.b = b;
    work.n = n;
    work.grain = DOT_GRAIN;
    if (td_pieces(n, work.grain) > DOT_PIECES)
        work.grain = (n + DOT_PIECES - 1) / DOT_PIECES;
    int pieces = td_pieces(n, work.grain);
    td_parallel(tasks, pieces, dot_piece, &work);
    double sum = 0;
    for (int i = 0; i < pieces; i++)
        sum += work.partial[i];
    return sum;
}
