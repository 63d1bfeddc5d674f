// SPDX-License-Identifier: Apache-2.0
// Products of multigrid in which the finest level spends its time: see amg.h. Four numbers are loaded where three or
// two are meant; the others belong to what follows and fall into lanes that nobody reads.
#include "base/simd.h"
#include "solve/amg.h"

static inline td4 load(const float *p)
{
    td4f a;
    memcpy(&a, p, sizeof a);
    return __builtin_convertvector(a, td4);
}

void TD_ISA(td_amg_residual_rows)(const tdAmgShape *s, const float *fine, const double *f, const double *x, double *r,
                                  int32_t begin, int32_t end)
{
    for (int32_t i = begin; i < end; i++)
    {
        td4 sum[3] = {td4_set(0), td4_set(0), td4_set(0)};
        for (int64_t k = s->row[i]; k < s->row[i + 1]; k++)
        {
            const float *A = fine + 9 * k;
            const double *at = x + 3 * (int64_t)s->column[k];
            for (int c = 0; c < 3; c++)
                sum[c] += load(A + 3 * c) * td4_set(at[c]);
        }
        td4 y = (sum[0] + sum[1]) + sum[2];
        for (int c = 0; c < 3; c++)
            r[3 * (int64_t)i + c] = f[3 * (int64_t)i + c] - y[c];
    }
}

void TD_ISA(td_amg_restrict_rows)(const tdAmgShape *s, const float *P, const double *from, double *to, int32_t begin,
                                  int32_t end)
{
    int b = s->b;
    for (int32_t a = begin; a < end; a++)
    {
        td4 low = td4_set(0), high = td4_set(0);
        for (int64_t k = s->t_row[a]; k < s->t_row[a + 1]; k++)
        {
            const float *block = P + (int64_t)b * TD_AMG_RIGID * s->t_block[k];
            const double *f = from + (int64_t)b * s->t_from[k];
            for (int r = 0; r < b; r++)
            {
                low += load(block + TD_AMG_RIGID * r) * td4_set(f[r]);
                high += load(block + TD_AMG_RIGID * r + 4) * td4_set(f[r]);
            }
        }
        double *t = to + TD_AMG_RIGID * (int64_t)a;
        td4_store(t, low);
        t[4] = high[0];
        t[5] = high[1];
    }
}
