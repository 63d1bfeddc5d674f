// SPDX-License-Identifier: Apache-2.0
#include "haptic/loop.h"

#include "base/memory.h"
#include "base/timer.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define STACK ((size_t)512 * 1024)

struct tdLoop
{
    tdHaptic *haptic;
    tdDevice *device;
    tdLoopSettings settings;
    pthread_t thread;
    bool running;
    atomic_bool stop, ended;
    atomic_int fault; ///< of the last tick
    double start;     ///< td_seconds()
    tdLoopReport report;
    tdLoopRecord *records;
    int64_t n_records;
};

// ---------------------------------------------------------------- times

void td_times_add(tdTimes *times, double seconds)
{
    double micro = floor(1e6 * fmax(seconds, 0));
    times->least = times->n == 0 ? seconds : fmin(times->least, seconds);
    times->most = times->n == 0 ? seconds : fmax(times->most, seconds);
    times->sum += seconds;
    times->bucket[micro < TD_LOOP_BUCKETS - 1 ? (int)micro : TD_LOOP_BUCKETS - 1]++;
    times->n++;
}

double td_times_quantile(const tdTimes *times, double share)
{
    int64_t below = (int64_t)ceil(share * (double)times->n), sum = 0;
    for (int k = 0; k < TD_LOOP_BUCKETS - 1; k++)
    {
        sum += times->bucket[k];
        if (sum >= below && times->n > 0)
            return fmin(1e-6 * (k + 1), times->most);
    }
    return times->most;
}

// ---------------------------------------------------------------- a tick

// Returns why there is no force; 0: there may be one.
static int tick(tdHaptic *haptic, tdDevice *device, double clock, tdLoopRecord *record)
{
    tdReading reading;
    tdHapticForce felt;
    bool fresh = device->ops->read(device, clock, &reading);
    if (fresh)
        td_haptic_grip(haptic, reading.grip);
    td_haptic_tick(haptic, clock, fresh ? reading.position : NULL, fresh && reading.turned ? reading.rotation : NULL,
                   &felt);
    device->ops->write(device, clock, felt.force, felt.torque, felt.fault);
    if (record == NULL)
        return felt.fault;
    *record = (tdLoopRecord){
        .time = clock, .fade = felt.fade, .contacts = felt.contacts, .slipping = felt.slipping, .fault = felt.fault};
    for (int k = 0; k < 3; k++)
    {
        record->position[k] = fresh ? reading.position[k] : NAN;
        record->tool[k] = felt.tool[k];
        record->force[k] = felt.force[k];
        record->asked[k] = felt.asked[k];
        record->torque[k] = felt.torque[k];
    }
    return felt.fault;
}

void td_loop_lockstep(tdHaptic *haptic, tdDevice *device, double period, int64_t *tick_number, double clock,
                      tdLoopRecord *records, int64_t most, int64_t *n)
{
    while ((double)*tick_number * period < clock - 1e-9 * period)
    {
        tick(haptic, device, (double)*tick_number * period, *n < most ? &records[*n] : NULL);
        *n += *n < most;
        ++*tick_number;
    }
}

// ---------------------------------------------------------------- the thread

static struct timespec time_of(double seconds)
{
    double whole = floor(seconds);
    return (struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (seconds - whole))};
}

static void *run(void *user)
{
    tdLoop *loop = user;
    const tdLoopSettings *s = &loop->settings;
    for (int64_t k = 0; !atomic_load_explicit(&loop->stop, memory_order_relaxed); k++)
    {
        double due = loop->start + (double)k * s->period;
        struct timespec until = time_of(due);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
        double began = td_seconds(), clock = began - loop->start;
        if (s->step != NULL)
            loop->report.status = s->step(s->user, clock);
        if (loop->report.status != TD_OK)
            break;
        tdLoopRecord *record = loop->n_records < s->records ? &loop->records[loop->n_records] : NULL;
        atomic_store_explicit(&loop->fault, tick(loop->haptic, loop->device, clock, record), memory_order_relaxed);
        loop->n_records += loop->n_records < s->records;
        double done = td_seconds();
        td_times_add(&loop->report.late, began - due);
        td_times_add(&loop->report.work, done - began);
        loop->report.ticks++;
        // What is missed is not made up for: a burst of ticks would be felt.
        int64_t next = (int64_t)floor((done - loop->start) / s->period);
        loop->report.missed += next > k ? next - k : 0;
        k = next > k ? next : k;
        if (done - loop->start >= s->duration || loop->device->ops->ended(loop->device, clock))
            break;
    }
    const double none[3] = {0, 0, 0};
    loop->device->ops->write(loop->device, td_seconds() - loop->start, none, none, 0);
    atomic_store_explicit(&loop->ended, true, memory_order_release);
    return NULL;
}

tdLoopSettings td_default_loop(double period)
{
    return (tdLoopSettings){.period = period, .duration = INFINITY, .priority = 80, .lock = true};
}

static void lament(tdLoop *loop, const char *what, int code)
{
    size_t n = strlen(loop->report.why);
    snprintf(loop->report.why + n, sizeof loop->report.why - n, "%s%s: %s", n > 0 ? "; " : "", what, strerror(code));
}

// With the priority that is asked for, else without.
static int start_thread(tdLoop *loop)
{
    pthread_attr_t attributes;
    struct sched_param parameter = {.sched_priority = loop->settings.priority};
    int code = pthread_attr_init(&attributes);
    if (code != 0)
        return code;
    pthread_attr_setstacksize(&attributes, STACK);
    code = EPERM;
    if (loop->settings.priority > 0)
    {
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        pthread_attr_setschedparam(&attributes, &parameter);
        code = pthread_create(&loop->thread, &attributes, run, loop);
        loop->report.priority = code == 0;
        if (code != 0)
            lament(loop, "real-time priority was not granted", code);
    }
    if (code != 0)
    {
        pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
        code = pthread_create(&loop->thread, &attributes, run, loop);
    }
    pthread_attr_destroy(&attributes);
    return code;
}

tdStatus td_loop_start(tdHaptic *haptic, tdDevice *device, const tdLoopSettings *settings, tdLoop **out, tdError *error)
{
    tdLoop *loop = td_take(1, sizeof *loop);
    *out = NULL;
    if (loop != NULL && settings->records > 0)
        loop->records = td_take((size_t)settings->records, sizeof *loop->records);
    if (loop == NULL || (settings->records > 0 && loop->records == NULL))
    {
        free(loop);
        return td_fail_memory(error, "the haptic loop");
    }
    loop->haptic = haptic;
    loop->device = device;
    loop->settings = *settings;
    atomic_init(&loop->stop, false);
    atomic_init(&loop->ended, false);
    atomic_init(&loop->fault, 0);
    if (settings->lock && mlockall(MCL_CURRENT) != 0)
        lament(loop, "memory could not be locked", errno);
    else
        loop->report.locked = settings->lock;
    loop->start = td_seconds();
    int code = start_thread(loop);
    if (code != 0)
    {
        td_loop_free(loop);
        return td_fail(error, TD_ERROR_INPUT, "the thread of the haptic loop could not be started: %s", strerror(code));
    }
    loop->running = true;
    *out = loop;
    return TD_OK;
}

double td_loop_clock(const tdLoop *loop)
{
    return td_seconds() - loop->start;
}

bool td_loop_ended(const tdLoop *loop)
{
    return atomic_load_explicit(&loop->ended, memory_order_acquire);
}

int td_loop_fault(const tdLoop *loop)
{
    return atomic_load_explicit(&loop->fault, memory_order_relaxed);
}

const tdLoopReport *td_loop_stop(tdLoop *loop)
{
    atomic_store_explicit(&loop->stop, true, memory_order_relaxed);
    if (loop->running)
        pthread_join(loop->thread, NULL);
    if (loop->running && loop->report.locked)
        munlockall();
    loop->running = false;
    return &loop->report;
}

const tdLoopRecord *td_loop_records(const tdLoop *loop, int64_t *n)
{
    *n = loop->n_records;
    return loop->records;
}

void td_loop_free(tdLoop *loop)
{
    if (loop == NULL)
        return;
    td_loop_stop(loop);
    free(loop->records);
    free(loop);
}
