// SPDX-License-Identifier: Apache-2.0
#include "base/isa.h"

tdIsa td_isa_pick(bool portable)
{
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return TD_ISA_AVX2;
#endif
    (void)portable;
    return TD_ISA_PORTABLE;
}
