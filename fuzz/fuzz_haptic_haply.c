// SPDX-License-Identifier: Apache-2.0
// Any bytes as what the Haply Inverse service sends: frames of a WebSocket, and messages. What is accepted is a pose
// that a device can have.
#include "haptic/haply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_message(const uint8_t *data, size_t size)
{
    // A copy of exactly the size, so that a read behind the end is seen.
    char *copy = malloc(size + (size == 0)), text[256];
    tdHaplyState state;
    const double none[3] = {0, 0, 0};
    if (copy == NULL)
        return;
    if (size > 0)
        memcpy(copy, data, size);
    if (td_haply_read(copy, size, &state) == NULL)
    {
        for (int k = 0; k < 3 && state.has_position; k++)
            if (!(fabs(state.position[k]) <= 10))
                abort();
        for (int k = 0; k < 4 && state.has_rotation; k++)
            if (!(fabs(state.rotation[k]) <= 1.1))
                abort();
        if (strlen(state.device) >= TD_HAPLY_ID || td_haply_write(state.device, none, text, sizeof text) == 0)
            abort();
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdWebFrame frame;
    size_t at = 0;
    read_message(data, size);
    while (td_web_read(data + at, size - at, 4096, &frame) == TD_WEB_FRAME)
    {
        if (frame.whole > size - at || frame.data + frame.size != data + at + frame.whole)
            abort();
        read_message(frame.data, frame.size);
        at += frame.whole;
    }
    return 0;
}
