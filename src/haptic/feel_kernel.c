// SPDX-License-Identifier: Apache-2.0
// What forces of one contact do to all gaps, and products of ways: see feel.h.
#include "base/simd.h"
#include "haptic/feel.h"

void TD_ISA(td_feel_push)(int rows, const double *C, const double force[3], double *gap)
{
    const double *a = C, *b = C + rows, *c = b + rows;
    int j = 0;
    for (; j + TD_LANES <= rows; j += TD_LANES)
        td4_store(gap + j, td4_load(gap + j) + td4_load(a + j) * force[0] + td4_load(b + j) * force[1] +
                               td4_load(c + j) * force[2]);
    for (; j < rows; j++)
        gap[j] += a[j] * force[0] + b[j] * force[1] + c[j] * force[2];
}

void TD_ISA(td_feel_dots)(int rows, int n, const double *b, int stride, const double *a, double *out)
{
    for (int k = 0; k < n; k++, b += stride)
    {
        td4 sum = td4_set(0);
        int j = 0;
        for (; j + TD_LANES <= rows; j += TD_LANES)
            sum += td4_load(a + j) * td4_load(b + j);
        out[k] = sum[0] + sum[1] + sum[2] + sum[3];
        for (; j < rows; j++)
            out[k] += a[j] * b[j];
    }
}
