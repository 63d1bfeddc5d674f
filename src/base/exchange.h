// SPDX-License-Identifier: Apache-2.0
// Three slots between one who writes and one who reads, neither of whom ever waits: the writer fills its own slot and
// exchanges it for the one in the middle; the reader takes the one in the middle when it is new.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#define TD_EXCHANGE_NEW 4 // bit beside the number of the slot in the middle

typedef struct tdExchange
{
    int writing, reading; ///< slots of the two sides
    atomic_int middle;
} tdExchange;

static inline void td_exchange_init(tdExchange *e)
{
    e->writing = 0;
    e->reading = 1;
    atomic_init(&e->middle, 2);
}

/// The writer's slot is full; it goes on with another.
static inline void td_exchange_publish(tdExchange *e)
{
    e->writing = atomic_exchange_explicit(&e->middle, e->writing | TD_EXCHANGE_NEW, memory_order_acq_rel) & 3;
}

/// True: the reader's slot is a newer one now.
static inline bool td_exchange_take(tdExchange *e)
{
    if (!(atomic_load_explicit(&e->middle, memory_order_relaxed) & TD_EXCHANGE_NEW))
        return false;
    e->reading = atomic_exchange_explicit(&e->middle, e->reading, memory_order_acq_rel) & 3;
    return true;
}
