// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define LONGEST 48

// Edit distance with swaps of neighbours counted once, letters compared without case.
static int distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    int row[3][LONGEST + 1];
    for (size_t j = 0; j <= m; j++)
        row[1][j] = (int)j;
    for (size_t i = 1; i <= n; i++)
    {
        int *two = row[(i - 1) % 3], *one = row[i % 3], *now = row[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++)
        {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            int best = one[j - 1] + (x != y);
            if (one[j] + 1 < best)
                best = one[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]) &&
                two[j - 2] + 1 < best)
                best = two[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[(n + 1) % 3][m];
}

const char *td_suggest(const char *given, const char *const *names, int n)
{
    const char *nearest = NULL;
    int least = 1 + (int)strlen(given) / 3; // a third of the letters may be wrong
    for (int i = 0; i < n; i++)
    {
        int d = distance(given, names[i]);
        if (d <= least && (nearest == NULL || d < least))
        {
            nearest = names[i];
            least = d;
        }
    }
    return nearest;
}
