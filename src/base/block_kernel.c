// SPDX-License-Identifier: Apache-2.0
// Products with block matrices: see block.h. A row of a block is loaded as four numbers, of which the last belongs to
// what follows and falls into a lane that nobody reads. The diagonal block is the last of its row, so that behind every
// other block and behind x of every other column there is a number to load.
#include "base/block.h"
#include "base/simd.h"

void TD_ISA(td_block_rows)(const tdBlockPattern *p, const double *values, const double *x, double *y, bool add,
                           int32_t begin, int32_t end)
{
    for (int32_t i = begin; i < end; i++)
    {
        td4 across[3] = {td4_set(0), td4_set(0), td4_set(0)}, down[3] = {td4_set(0), td4_set(0), td4_set(0)};
        int64_t diagonal = p->row[i + 1] - 1;
        for (int64_t b = p->row[i]; b < diagonal; b++)
        {
            const double *B = values + 9 * b;
            td4 at = td4_load(x + 3 * (int64_t)p->column[b]);
            for (int r = 0; r < 3; r++)
                across[r] += td4_load(B + 3 * r) * at;
        }
        for (int64_t k = p->below[i]; k < p->below[i + 1]; k++)
        {
            const double *B = values + 9 * (int64_t)p->below_block[k], *at = x + 3 * (int64_t)p->below_row[k];
            for (int r = 0; r < 3; r++)
                down[r] += td4_load(B + 3 * r) * td4_set(at[r]);
        }
        const double *D = values + 9 * diagonal, *mine = x + 3 * (int64_t)i;
        td4 sum = (down[0] + down[1]) + down[2];
        for (int r = 0; r < 3; r++)
        {
            double own = (D[3 * r] * mine[0] + D[3 * r + 1] * mine[1]) + D[3 * r + 2] * mine[2];
            double *to = y + 3 * (int64_t)i + r;
            *to = (add ? *to : 0) + ((((across[r][0] + across[r][1]) + across[r][2]) + sum[r]) + own);
        }
    }
}
