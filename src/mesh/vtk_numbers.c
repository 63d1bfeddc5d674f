// SPDX-License-Identifier: Apache-2.0
// Lists of numbers in text.
#include "base/number.h"
#include "mesh/vtk.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// The number at c, which may reach `end` but not go beyond it; NULL when there is none. What stands behind the
// end may look like more of it: VTU's texts follow each other without a gap.
static const char *parse_number(const char *c, const char *end, double *out)
{
    char *stop = NULL, last[512];
    *out = td_number(c, &stop);
    if (stop <= end)
        return stop == c ? NULL : stop;
    size_t length = (size_t)(end - c);
    if (length >= sizeof last)
        return NULL;
    memcpy(last, c, length);
    last[length] = '\0';
    *out = td_number(last, &stop);
    return stop == last ? NULL : c + (stop - last);
}

int64_t td_vtk_parse(const char **at, const char *end, int64_t count, double *out)
{
    const char *c = *at;
    int64_t n = 0;
    for (; n < count; n++)
    {
        while (c < end && is_space(*c))
            c++;
        if (c >= end)
            break;
        double value = 0;
        const char *behind = parse_number(c, end, &value);
        if (behind == NULL || (behind < end && !is_space(*behind)))
            break;
        c = behind;
        if (out != NULL)
            out[n] = value;
    }
    *at = c;
    return n;
}
