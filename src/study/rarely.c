// SPDX-License-Identifier: Apache-2.0
#include "base/timer.h"
#include "tendril/study.h"

#include <pthread.h>

bool td_cancel_rarely(void *rarely)
{
    tdRarely *r = rarely;
    if ((uint64_t)pthread_self() != r->thread) // so that no two threads touch what follows
        return false;
    double now = td_seconds();
    if (now - r->last < r->period)
        return false;
    r->last = now;
    return r->cancel(r->user);
}
