// SPDX-License-Identifier: Apache-2.0
// Any bytes as a strict table over time: what is accepted has no gaps and ascends.
#include "scene/path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Dimensions by the first letter, so that all branches of units are met.
static bool column(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY])
{
    (void)context;
    static const tdDim dims[] = {TD_DIM_LENGTH, TD_DIM_ANGLE, TD_DIM_NONE, TD_DIM_VOLUME, TD_DIM_PRESSURE};
    *dim = dims[(unsigned char)name[0] % 5];
    if (name[0] != '?')
        return true;
    snprintf(why, TD_UNIT_WHY, "there is no '%.60s'", name);
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // A copy of exactly the size, so that a read behind the end is seen.
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    tdArena arena = {0};
    tdSceneMotion path = {0};
    tdError error = {0};
    const tdUnits units = {1e-3, 1, 1};
    tdStatus status = td_path_parse_csv(text, size, "fuzz.csv", &units, column, NULL, &arena, &path, &error);
    if (status == TD_OK && (path.n_times < 1 || path.n_names < 1))
        abort();
    for (int i = 0; status == TD_OK && i < path.n_times; i++)
        if (!isfinite(path.times[i]) || (i > 0 && !(path.times[i] > path.times[i - 1])))
            abort();
    for (int64_t i = 0; status == TD_OK && i < (int64_t)path.n_times * path.n_names; i++)
        if (!isfinite(path.values[i]))
            abort();
    if (status != TD_OK && (error.message[0] == '\0' || strpbrk(error.message, "\r\n\t") != NULL))
        abort();
    td_arena_free(&arena);
    free(text);
    return 0;
}
