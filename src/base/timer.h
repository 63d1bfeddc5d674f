// SPDX-License-Identifier: Apache-2.0
// Wall-clock time for reports. No decision of the engine depends on it.
#pragma once
#include <time.h>

static inline double td_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
