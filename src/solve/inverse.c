// SPDX-License-Identifier: Apache-2.0
#include "solve/inverse.h"
struct tdInverseWork
{
    int n;
};
tdInverseWork *td_inverse_work(tdArena *arena, int n_a, int n_e, int n_c)
{
    (void)n_a;
    (void)n_e;
    (void)n_c;
    return TD_TAKE(arena, tdInverseWork, 1);
}
void td_inverse_solve(const tdInverse *problem, tdInverseWork *work, bool warm, tdInverseResult *result)
{
    (void)problem;
    (void)work;
    (void)warm;
    (void)result;
}
