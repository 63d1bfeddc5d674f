// SPDX-License-Identifier: Apache-2.0
// Which compiled set of kernels to run.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef enum tdIsa
{
    TD_ISA_PORTABLE,
    TD_ISA_AVX2,
    TD_ISAS
} tdIsa;

/// The best set that this processor runs; the portable one if asked for.
tdIsa td_isa_pick(bool portable);

/// Name of the processor, as its maker gives it.
void td_machine_name(char *out, size_t size);
