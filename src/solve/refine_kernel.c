// SPDX-License-Identifier: Apache-2.0
// What is left of a block of right-hand sides: see refine.h.
#include "base/simd.h"
#include "solve/refine.h"

#define VECTORS (TD_REFINE_LANES / TD_LANES)

// sum -= B x, or B' x
static inline __attribute__((always_inline)) void subtract(const double *B, int across, int down, const double *x,
                                                           td4 (*sum)[VECTORS])
{
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < VECTORS; v++)
        {
            td4 at = td4_load(x + TD_REFINE_LANES * c + TD_LANES * v);
            for (int r = 0; r < 3; r++)
                sum[r][v] -= at * B[down * r + across * c];
        }
}

void TD_ISA(td_refine_rows)(const tdBlockPattern *p, const double *values, const double *x, const double *b, double *r,
                            int32_t begin, int32_t end)
{
    for (int32_t i = begin; i < end; i++)
    {
        td4 sum[3][VECTORS];
        for (int c = 0; c < 3; c++)
            for (int v = 0; v < VECTORS; v++)
                sum[c][v] = td4_load(b + TD_REFINE_LANES * (3 * (int64_t)i + c) + TD_LANES * v);
        for (int64_t k = p->row[i]; k < p->row[i + 1]; k++)
            subtract(values + 9 * k, 1, 3, x + 3 * TD_REFINE_LANES * (int64_t)p->column[k], sum);
        for (int64_t k = p->below[i]; k < p->below[i + 1]; k++)
            subtract(values + 9 * (int64_t)p->below_block[k], 3, 1, x + 3 * TD_REFINE_LANES * (int64_t)p->below_row[k],
                     sum);
        for (int c = 0; c < 3; c++)
            for (int v = 0; v < VECTORS; v++)
                td4_store(r + TD_REFINE_LANES * (3 * (int64_t)i + c) + TD_LANES * v, sum[c][v]);
    }
}
