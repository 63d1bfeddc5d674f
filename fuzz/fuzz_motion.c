// SPDX-License-Identifier: Apache-2.0
// Any bytes as the CSV file of a motion.
#include "describe/csv.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    tdSceneMotion motion = {0};
    tdError error = {0};
    const tdUnits si = {1, 1, 1};
    const tdCsvFormat format = {.units = &si, .what = "load", .gaps = true};
    tdStatus status = td_csv_parse(text, size, "fuzz.csv", &format, &arena, &motion, &error);
    for (int i = 1; status == TD_OK && i < motion.n_times; i++)
        if (!(motion.times[i] > motion.times[i - 1]))
            abort();
    if (status == TD_OK && (motion.n_times < 1 || motion.n_names < 1))
        abort();
    if (status != TD_OK && error.message[0] == '\0')
        abort();
    td_arena_free(&arena);
    free(text);
    return 0;
}
