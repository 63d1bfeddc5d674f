// SPDX-License-Identifier: Apache-2.0
// Any bytes as frames of a client of the viewer: they mean the same whether they come at once or one by one, and what
// comes out of them keeps to its limits.
#include "view/frames.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t add(uint64_t sum, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return sum;
}

// All events of the bytes, read in pieces of a size, in one number.
static uint64_t read_all(const unsigned char *data, size_t size, size_t piece)
{
    tdViewReader *reader = calloc(1, sizeof *reader);
    uint64_t sum = 0xcbf29ce484222325;
    tdViewEvent event = TD_VIEW_NOTHING;
    for (size_t from = 0; from < size && event != TD_VIEW_BROKEN; from += piece)
    {
        size_t n = size - from < piece ? size - from : piece;
        for (size_t at = 0; at < n && event != TD_VIEW_BROKEN;)
        {
            size_t used = td_view_reader_take(reader, data + from + at, n - at, &event);
            if (used == 0 || used > n - at || (event == TD_VIEW_NOTHING && used != n - at))
                abort();
            at += used;
            if (reader->size > sizeof reader->message || reader->control_size > sizeof reader->control)
                abort();
            if (event == TD_VIEW_NOTHING)
                continue;
            sum = add(sum, &event, sizeof event);
            if (event == TD_VIEW_TEXT || event == TD_VIEW_BINARY)
                sum = add(sum, reader->message, reader->size);
            if (event == TD_VIEW_PINGED)
                sum = add(sum, reader->control, reader->control_size);
            if (event == TD_VIEW_CLOSED || event == TD_VIEW_BROKEN)
            {
                if (reader->code < 1000 || reader->code >= 5000)
                    abort();
                sum = add(sum, &reader->code, sizeof reader->code);
            }
        }
    }
    free(reader);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    // A copy of exactly the size, so that a read behind the end is seen.
    unsigned char *bytes = malloc(size);
    if (bytes == NULL)
        return 0;
    memcpy(bytes, data, size);
    uint64_t whole = read_all(bytes, size, size);
    if (whole != read_all(bytes, size, 1) || whole != read_all(bytes, size, 7))
        abort();
    free(bytes);
    return 0;
}
