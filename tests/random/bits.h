// SPDX-License-Identifier: Apache-2.0
// The bits of a state, to compare runs and to see what a step has changed.
#pragma once
#include "core/state.h"

#define MOST_ARRAYS 512

/// By array of a checkpoint.
typedef struct stateBits
{
    int n;
    tdStateArray arrays[MOST_ARRAYS];
    uint64_t bits[MOST_ARRAYS];
} stateBits;

void take_bits(const tdModel *model, tdState *state, stateBits *out);
/// Name of the first array that differs; NULL: none. all: also what solvers and the monitor keep.
const char *other_bits(const stateBits *one, const stateBits *two, bool all);
