// SPDX-License-Identifier: Apache-2.0
#include "bits.h"

#include <string.h>

// What solvers keep from step to step to be quick, and what the monitor knows of the start, which a step that fails may
// leave anew.
static bool is_solvers(const char *name)
{
    return strncmp(name, "factor_", 7) == 0 || strncmp(name, "solver_", 7) == 0 || strncmp(name, "contact_", 8) == 0 ||
           strncmp(name, "energy", 6) == 0 || strncmp(name, "retry", 5) == 0 || strcmp(name, "columns") == 0;
}

static uint64_t array_bits(const tdStateArray *array)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < array->count; i++)
    {
        uint64_t word = 0;
        memcpy(&word, (const char *)array->data + 8 * i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

void take_bits(const tdModel *model, tdState *state, stateBits *out)
{
    out->n = td_state_arrays(model, state, out->arrays, MOST_ARRAYS);
    for (int a = 0; a < out->n; a++)
        out->bits[a] = array_bits(&out->arrays[a]);
}

const char *other_bits(const stateBits *one, const stateBits *two, bool all)
{
    for (int a = 0; a < one->n; a++)
        if (one->bits[a] != two->bits[a] && (all || !is_solvers(one->arrays[a].name)))
            return one->arrays[a].name;
    return NULL;
}
