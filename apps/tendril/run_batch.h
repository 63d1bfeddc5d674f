// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli.h"

typedef struct runBatch
{
    const char *scene, *inputs, *out, *outputs, *hold;
} runBatch;

/// `run` with --batch. Returns the exit code.
int run_batch(const runBatch *arguments, const tdSettings *settings);
