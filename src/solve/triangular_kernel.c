// SPDX-License-Identifier: Apache-2.0
// Dense products in single precision for the triangular solves: eight columns at a time, so that the
// vector is read once for eight columns of the matrix and the time is that of reading the matrix.
#include "base/simd.h"
#include "solve/triangular.h"

typedef float tdF8 __attribute__((vector_size(32)));

static inline tdF8 load8(const float *p)
{
    tdF8 a;
    memcpy(&a, p, sizeof a);
    return a;
}

void TD_ISA(td_gemv)(int32_t m, int32_t k, const float *A, int32_t stride, const float *x, float *y)
{
    int64_t s = stride;
    int32_t j = 0;
    for (; j + 8 <= k; j += 8, A += 8 * s)
    {
        float x0 = x[j], x1 = x[j + 1], x2 = x[j + 2], x3 = x[j + 3], x4 = x[j + 4], x5 = x[j + 5], x6 = x[j + 6],
              x7 = x[j + 7];
        int32_t i = 0;
        for (; i + 8 <= m; i += 8)
        {
            const float *a = A + i;
            tdF8 sum = load8(a) * x0 + load8(a + s) * x1 + load8(a + 2 * s) * x2 + load8(a + 3 * s) * x3;
            tdF8 more = load8(a + 4 * s) * x4 + load8(a + 5 * s) * x5 + load8(a + 6 * s) * x6 + load8(a + 7 * s) * x7;
            tdF8 out = load8(y + i) - (sum + more);
            memcpy(y + i, &out, sizeof out);
        }
        for (; i < m; i++)
        {
            const float *a = A + i;
            float sum = a[0] * x0 + a[s] * x1 + a[2 * s] * x2 + a[3 * s] * x3;
            y[i] -= sum + (a[4 * s] * x4 + a[5 * s] * x5 + a[6 * s] * x6 + a[7 * s] * x7);
        }
    }
    for (; j < k; j++, A += s)
        for (int32_t i = 0; i < m; i++)
            y[i] -= A[i] * x[j];
}

static inline float sum8(tdF8 a)
{
    return ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7]));
}

void TD_ISA(td_gemv_transposed)(int32_t m, int32_t k, const float *A, int32_t stride, const float *x, float *y)
{
    int64_t s = stride;
    int32_t j = 0;
    for (; j + 4 <= k; j += 4, A += 4 * s)
    {
        tdF8 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        int32_t i = 0;
        for (; i + 8 <= m; i += 8)
        {
            tdF8 v = load8(x + i);
            s0 += load8(A + i) * v;
            s1 += load8(A + s + i) * v;
            s2 += load8(A + 2 * s + i) * v;
            s3 += load8(A + 3 * s + i) * v;
        }
        float r0 = sum8(s0), r1 = sum8(s1), r2 = sum8(s2), r3 = sum8(s3);
        for (; i < m; i++)
        {
            r0 += A[i] * x[i];
            r1 += A[s + i] * x[i];
            r2 += A[2 * s + i] * x[i];
            r3 += A[3 * s + i] * x[i];
        }
        y[j] -= r0;
        y[j + 1] -= r1;
        y[j + 2] -= r2;
        y[j + 3] -= r3;
    }
    for (; j < k; j++, A += s)
    {
        tdF8 s0 = {0};
        int32_t i = 0;
        for (; i + 8 <= m; i += 8)
            s0 += load8(A + i) * load8(x + i);
        float r0 = sum8(s0);
        for (; i < m; i++)
            r0 += A[i] * x[i];
        y[j] -= r0;
    }
}

void TD_ISA(td_triangle_forward)(int32_t k, const float *A, int32_t stride, float *y)
{
    for (int32_t j = 0; j < k; j++)
    {
        const float *column = A + (int64_t)j * stride;
        float value = y[j] /= column[j];
        for (int32_t i = j + 1; i < k; i++)
            y[i] -= column[i] * value;
    }
}

void TD_ISA(td_triangle_backward)(int32_t k, const float *A, int32_t stride, float *y)
{
    for (int32_t j = k - 1; j >= 0; j--)
    {
        const float *column = A + (int64_t)j * stride;
        tdF8 sums = {0};
        int32_t i = j + 1;
        for (; i + 8 <= k; i += 8)
            sums += load8(column + i) * load8(y + i);
        float sum = y[j] - sum8(sums);
        for (; i < k; i++)
            sum -= column[i] * y[i];
        y[j] = sum / column[j];
    }
}
