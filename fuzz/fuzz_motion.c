// SPDX-License-Identifier: Apache-2.0
// Any bytes as the CSV file of a motion.
#include "scene/parse.h"

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
    int header = 0;
    tdStatus status = td_motion_parse_csv(text, size, "fuzz.csv", &arena, &motion, &header, &error);
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
