// SPDX-License-Identifier: Apache-2.0
// What the simulation did, step by step, for one who does it again (view/mirror.h): records of numbers in a ring
// between one who writes and one who reads. Neither waits; what does not fit is left out, which the numbers of the
// steps show.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TD_VIEW_LOG (1 << 20) // numbers: minutes of a reduced robot

typedef struct tdViewLog
{
    atomic_bool open;            ///< somebody reads
    atomic_ullong written, read; ///< numbers since the start
    double numbers[TD_VIEW_LOG];
} tdViewLog;

/// Of a record, before the values of actuators, the springs where there are any, reference rotations, and the
/// coordinates and velocities.
typedef struct tdViewStepHead
{
    double size; ///< of the record, this included
    double generation, resets, step, time;
    double actuators, springs, turns, coords; ///< how many numbers of each
} tdViewStepHead;

#define TD_VIEW_STEP_HEAD ((int)(sizeof(tdViewStepHead) / sizeof(double)))

/// Whether a record of this size fits; begins it.
static inline bool td_view_log_fits(tdViewLog *log, uint64_t size)
{
    uint64_t used = atomic_load_explicit(&log->written, memory_order_relaxed) -
                    atomic_load_explicit(&log->read, memory_order_acquire);
    return used + size <= TD_VIEW_LOG;
}

/// Numbers at an offset from where the next record goes; td_view_log_commit() makes them seen.
static inline void td_view_log_put(tdViewLog *log, uint64_t *offset, const double *numbers, int64_t n)
{
    uint64_t at = atomic_load_explicit(&log->written, memory_order_relaxed) + *offset;
    for (int64_t i = 0; i < n; i++)
        log->numbers[(at + (uint64_t)i) % TD_VIEW_LOG] = numbers[i];
    *offset += (uint64_t)n;
}

static inline void td_view_log_commit(tdViewLog *log, uint64_t size)
{
    atomic_fetch_add_explicit(&log->written, size, memory_order_release);
}

static inline bool td_view_log_any(tdViewLog *log)
{
    return atomic_load_explicit(&log->written, memory_order_acquire) !=
           atomic_load_explicit(&log->read, memory_order_relaxed);
}

/// Numbers at an offset from the oldest record; td_view_log_done() gives its place away.
static inline void td_view_log_get(const tdViewLog *log, uint64_t *offset, double *numbers, int64_t n)
{
    uint64_t at = atomic_load_explicit(&log->read, memory_order_relaxed) + *offset;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = log->numbers[(at + (uint64_t)i) % TD_VIEW_LOG];
    *offset += (uint64_t)n;
}

static inline void td_view_log_done(tdViewLog *log, uint64_t size)
{
    atomic_fetch_add_explicit(&log->read, size, memory_order_release);
}
