// SPDX-License-Identifier: Apache-2.0
// What is left of a block of right-hand sides: see refine.h.
#include "base/simd.h"
#include "solve/refine.h"

#if defined(TD_WIDE)
#define lanes      td8
#define lanes_load td8_load
#define WIDTH      8
#else
#define lanes      td4
#define lanes_load td4_load
#define WIDTH      4
#endif
#define VECTORS (TD_REFINE_LANES / WIDTH)

// sum -= B x, or B' x
static inline __attribute__((always_inline)) void subtract(const double *B, int across, int down, const double *x,
                                                           lanes (*sum)[VECTORS])
{
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < VECTORS; v++)
        {
            lanes at = lanes_load(x + TD_REFINE_LANES * c + WIDTH * v);
            for (int r = 0; r < 3; r++)
                sum[r][v] -= at * B[down * r + across * c];
        }
}

void TD_ISA(td_refine_rows)(const tdBlockPattern *p, const double *values, const double *x, const double *b, double *r,
                            int32_t begin, int32_t end)
{
    for (int32_t i = begin; i < end; i++)
    {
        lanes sum[3][VECTORS];
        for (int c = 0; c < 3; c++)
            for (int v = 0; v < VECTORS; v++)
                sum[c][v] = lanes_load(b + TD_REFINE_LANES * (3 * (int64_t)i + c) + WIDTH * v);
        for (int64_t k = p->row[i]; k < p->row[i + 1]; k++)
            subtract(values + 9 * k, 1, 3, x + 3 * TD_REFINE_LANES * (int64_t)p->column[k], sum);
        for (int64_t k = p->below[i]; k < p->below[i + 1]; k++)
            subtract(values + 9 * (int64_t)p->below_block[k], 3, 1, x + 3 * TD_REFINE_LANES * (int64_t)p->below_row[k],
                     sum);
        for (int c = 0; c < 3; c++)
            for (int v = 0; v < VECTORS; v++)
                memcpy(r + TD_REFINE_LANES * (3 * (int64_t)i + c) + WIDTH * v, &sum[c][v], sizeof sum[c][v]);
    }
}
