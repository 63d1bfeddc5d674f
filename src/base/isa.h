// SPDX-License-Identifier: Apache-2.0
// Which compiled set of kernels to run.
#pragma once
#include <stdbool.h>

typedef enum tdIsa
{
    TD_ISA_PORTABLE,
    TD_ISA_AVX2,
    TD_ISAS
} tdIsa;

/// The best set that this processor runs; the portable one if asked for.
tdIsa td_isa_pick(bool portable);
