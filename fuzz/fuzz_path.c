// SPDX-License-Identifier: Apache-2.0
// Any bytes as a strict table, over time or of rows that stand for themselves: what is accepted has no gaps and
// ascends.
#include "describe/csv.h"

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

// Of a table that a command has written: by the last letter, so that all ends are met.
static tdCsvOwn own(void *context, const char *name, char out[TD_CSV_NAME], char why[TD_UNIT_WHY])
{
    (void)context;
    size_t n = strlen(name);
    snprintf(out, TD_CSV_NAME, "%s", name);
    snprintf(why, TD_UNIT_WHY, "'%.60s' is not wanted", name);
    return n > 0 && name[n - 1] == '!' ? TD_CSV_REFUSE : n > 0 && name[n - 1] == '-' ? TD_CSV_SKIP : TD_CSV_TAKE;
}

static void parse(const char *text, size_t size, bool timeless)
{
    tdArena arena = {0};
    tdSceneMotion path = {0};
    tdError error = {0};
    const tdUnits units = {1e-3, 1, 1};
    const tdCsvFormat format = {.units = &units, .column = column, .what = "value", .timeless = timeless, .own = own};
    tdStatus status = td_csv_parse(text, size, "fuzz.csv", &format, &arena, &path, &error);
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
    parse(text, size, false);
    parse(text, size, true);
    free(text);
    return 0;
}
