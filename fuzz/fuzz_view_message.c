// SPDX-License-Identifier: Apache-2.0
// Any bytes as a message of a client of the viewer: what is accepted is in its ranges, what is refused says why in
// plain letters.
#include "view/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const tdViewMessage *m)
{
    double sum = m->weights[0] + m->weights[1] + m->weights[2];
    if (m->action < 0 || m->action >= TD_VIEW_ACTIONS || memchr(m->name, '\0', sizeof m->name) == NULL)
        abort();
    if (m->n_values < 0 || m->n_values > 3 || m->count < 0 || m->mesh < 0 || m->triangle < 0)
        abort();
    for (int i = 0; i < 3; i++)
        if (!isfinite(m->value[i]) || !isfinite(m->anchor[i]) || !(m->weights[i] >= 0 && m->weights[i] <= 1))
            abort();
    if (m->n_list < 0 || m->n_list > TD_VIEW_LIST)
        abort();
    for (int i = 0; i < m->n_list; i++)
        if (m->list[i] < 0)
            abort();
    for (int i = 0; i < 3; i++)
        if (!(fabs(m->turn[i]) <= 100) || (m->action == TD_VIEW_TOOL && !(fabs(m->value[i]) <= 100)))
            abort();
    if (m->tied && !(fabs(sum - 1) < 1e-12 && (isnan(m->stiffness) || m->stiffness > 0)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // A copy of exactly the size, so that a read behind the end is seen.
    char *text = malloc(size + (size == 0)), why[TD_VIEW_WHY];
    tdViewMessage message;
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    if (td_view_message(text, size, &message, why))
        check(&message);
    else if (why[0] == '\0')
        abort();
    for (const char *c = why; *c != '\0'; c++)
        if (*c < 0x20 || *c > 0x7e)
            abort();
    free(text);
    return 0;
}
