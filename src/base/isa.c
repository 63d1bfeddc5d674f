// SPDX-License-Identifier: Apache-2.0
#include "base/isa.h"

#include <stdio.h>
#include <string.h>

tdIsa td_isa_pick(bool portable)
{
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return TD_ISA_AVX2;
#endif
    (void)portable;
    return TD_ISA_PORTABLE;
}

tdIsa td_isa_pick_wide(bool portable)
{
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma"))
        return TD_ISA_AVX512;
#endif
    return td_isa_pick(portable);
}

void td_machine_name(char *out, size_t size)
{
    snprintf(out, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
    {
        const char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (colon == NULL || colon[1] == '\0')
            continue;
        snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file != NULL)
        fclose(file);
}
