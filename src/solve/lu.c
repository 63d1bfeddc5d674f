// SPDX-License-Identifier: Apache-2.0
#include "solve/lu.h"

#include <stdint.h>

bool td_lu_factor(tdIsa isa, int m, double *A, int *pivots)
{
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX2)
        return td_lu_factor_avx2(m, A, pivots);
#endif
    (void)isa;
    return td_lu_factor_portable(m, A, pivots);
}

void td_lu_solve(tdIsa isa, int m, const double *A, const int *pivots, int n, double *B)
{
    int stride = n == 1 ? 1 : td_lu_stride(n);
    for (int k = 0; k < m; k++)
        for (int j = 0; j < n && pivots[k] != k; j++)
        {
            double *a = B + (int64_t)k * stride + j, *b = B + (int64_t)pivots[k] * stride + j, value = *a;
            *a = *b;
            *b = value;
        }
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX2)
    {
        td_lu_solve_avx2(m, A, n, B);
        return;
    }
#endif
    (void)isa;
    td_lu_solve_portable(m, A, n, B);
}
