// SPDX-License-Identifier: Apache-2.0
// The thread at the rate of a device: absolute timer, real-time priority and locked memory where the system grants
// them, and a report of what it kept to, in the manner of cyclictest.
#pragma once
#include "haptic/device.h"
#include "tendril/tendril.h"

#define TD_LOOP_BUCKETS 2000 // of a microsecond each; the last holds all that is longer

/// Times of one kind [s].
typedef struct tdTimes
{
    int64_t n;
    double least, most, sum;
    int64_t bucket[TD_LOOP_BUCKETS];
} tdTimes;

/// A tick, for the file of forces.
typedef struct tdLoopRecord
{
    double time, position[3], tool[3], force[3], asked[3], torque[3], fade;
    int contacts, slipping, fault;
} tdLoopRecord;

typedef struct tdLoopReport
{
    int64_t ticks;
    int64_t missed;  ///< ticks that had not begun when the next was due
    tdTimes late;    ///< how long after its time a tick began
    tdTimes work;    ///< what it took
    bool priority;   ///< SCHED_FIFO was granted
    bool locked;     ///< memory was locked
    char why[160];   ///< what was not granted, and why
    tdStatus status; ///< of `step`
} tdLoopReport;

typedef struct tdLoop tdLoop;

typedef struct tdLoopSettings
{
    double period;   ///< [s]
    double duration; ///< [s]; infinite: until it is stopped or the device ends
    int priority;    ///< of SCHED_FIFO; 0: as the caller
    bool lock;       ///< memory
    int64_t records; ///< room for so many ticks; later ones are not recorded
    /// Before each tick, in the thread: a step of a body that is small enough. Other than TD_OK ends the loop. NULL:
    /// none.
    tdStatus (*step)(void *user, double clock);
    void *user;
} tdLoopSettings;

tdLoopSettings td_default_loop(double period);
/// Starts the thread. haptic and device are its own until td_loop_stop(). clock 0 is now.
tdStatus td_loop_start(tdHaptic *haptic, tdDevice *device, const tdLoopSettings *settings, tdLoop **out,
                       tdError *error);
double td_loop_clock(const tdLoop *loop); ///< [s] since it was started, from any thread
bool td_loop_ended(const tdLoop *loop);   ///< the device has ended, or the time is over
/// Why there was no force in the last tick, see td_haptic_fault(); 0: none. From any thread.
int td_loop_fault(const tdLoop *loop);
/// Ends the thread and waits for it.
const tdLoopReport *td_loop_stop(tdLoop *loop);
const tdLoopRecord *td_loop_records(const tdLoop *loop, int64_t *n); ///< after it
void td_loop_free(tdLoop *loop);

/// The same without a thread or clock: ticks of the loop until `clock`, for what must come out the same each time.
void td_loop_lockstep(tdHaptic *haptic, tdDevice *device, double period, int64_t *tick, double clock,
                      tdLoopRecord *records, int64_t most, int64_t *n);

void td_times_add(tdTimes *times, double seconds);
/// The time that a share of all is below [s].
double td_times_quantile(const tdTimes *times, double share);
