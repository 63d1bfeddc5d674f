// SPDX-License-Identifier: Apache-2.0
// Which compiled set of kernels to run.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef enum tdIsa
{
    TD_ISA_PORTABLE,
    TD_ISA_AVX2,
    TD_ISAS,                 ///< that all kernels have
    TD_ISA_AVX512 = TD_ISAS, ///< that those of factors, solves and reduced bodies have beside
} tdIsa;

/// The best set that this processor runs; the portable one if asked for.
tdIsa td_isa_pick(bool portable);

/// The same of kernels that vectors of 512 bits have too.
tdIsa td_isa_pick_wide(bool portable);

/// Name of the processor, as its maker gives it.
void td_machine_name(char *out, size_t size);
