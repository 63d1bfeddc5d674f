// SPDX-License-Identifier: Apache-2.0
// Any bytes as a CSV file of measurements.
#include "material/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // The first byte chooses --mode; a copy of exactly the size, so that a read behind the end is seen.
    tdTest test = size > 0 ? (tdTest)(data[0] % (TD_TESTS + 1)) : TD_TESTS;
    size -= size > 0;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data + 1, size);
    text[size] = '\0';
    tdArena arena = {0};
    tdFitData read;
    tdError error = {0};
    tdStatus status = td_fit_read_csv(text, size, "fuzz.csv", test, &arena, &read, &error);
    if (status != TD_OK && error.message[0] == '\0')
        abort();
    int total = 0;
    for (int t = 0; status == TD_OK && t < TD_TESTS; t++)
        total += read.count[t];
    if (status == TD_OK && (read.n < 1 || total != read.n))
        abort();
    for (int i = 0; status == TD_OK && i < read.n; i++)
        if (!isfinite(read.x[i]) || !isfinite(read.stress[i]) || read.test[i] >= TD_TESTS ||
            (read.test[i] != TD_TEST_SHEAR && !(read.x[i] > 0)))
            abort();
    td_arena_free(&arena);
    free(text);
    return 0;
}
