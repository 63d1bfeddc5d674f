// SPDX-License-Identifier: Apache-2.0
// Dense products in single precision for the triangular solves: eight columns at a time, so that the
// vector is read once for eight columns of the matrix and the time is that of reading the matrix.
#include "base/simd.h"
#include "solve/triangular.h"

#if defined(TD_WIDE)

#include <immintrin.h>

// Sixteen rows at a time, the last ones masked. Triangles by blocks of four columns: scalars in the corner, vectors
// below, so that nothing waits for what was just stored number by number.

#define INLINE static inline __attribute__((always_inline))
#define CORNER 4

INLINE __mmask16 rows_left(int32_t n)
{
    return n >= 16 ? (__mmask16)0xffff : (__mmask16)((1U << n) - 1);
}

// y[0 .. m) -= A x of nv vectors of rows.
INLINE void gemv_rows(int nv, int32_t m, int32_t k, const float *A, int64_t stride, const float *x, float *y)
{
    __m512 sum[4];
    const __mmask16 last = rows_left(m - 16 * (nv - 1));
    for (int v = 0; v < nv; v++)
        sum[v] = _mm512_setzero_ps();
    for (int32_t j = 0; j < k; j++, A += stride)
    {
        __m512 at = _mm512_set1_ps(x[j]);
        for (int v = 0; v < nv - 1; v++)
            sum[v] = _mm512_fmadd_ps(_mm512_loadu_ps(A + 16 * (int64_t)v), at, sum[v]);
        sum[nv - 1] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(last, A + 16 * (int64_t)(nv - 1)), at, sum[nv - 1]);
    }
    for (int v = 0; v < nv - 1; v++)
        _mm512_storeu_ps(y + 16 * (int64_t)v, _mm512_sub_ps(_mm512_loadu_ps(y + 16 * (int64_t)v), sum[v]));
    float *end = y + 16 * (int64_t)(nv - 1);
    _mm512_mask_storeu_ps(end, last, _mm512_sub_ps(_mm512_maskz_loadu_ps(last, end), sum[nv - 1]));
}

void TD_ISA(td_gemv)(int32_t m, int32_t k, const float *A, int32_t stride, const float *x, float *y)
{
    for (; m > 0; m -= 64, A += 64, y += 64)
        switch (m > 48 ? 4 : (m + 15) / 16)
        {
        case 4: gemv_rows(4, m < 64 ? m : 64, k, A, stride, x, y); break;
        case 3: gemv_rows(3, m, k, A, stride, x, y); break;
        case 2: gemv_rows(2, m, k, A, stride, x, y); break;
        default: gemv_rows(1, m, k, A, stride, x, y); break;
        }
}

// dot[c] = column c of A times x, of nc columns.
INLINE void dots(int nc, int32_t m, const float *A, int64_t stride, const float *x, float *dot)
{
    __m512 sum[8];
    for (int c = 0; c < nc; c++)
        sum[c] = _mm512_setzero_ps();
    for (int32_t i = 0; i < m; i += 16)
    {
        const __mmask16 rows = rows_left(m - i);
        __m512 at = _mm512_maskz_loadu_ps(rows, x + i);
        for (int c = 0; c < nc; c++)
            sum[c] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(rows, A + c * stride + i), at, sum[c]);
    }
    for (int c = 0; c < nc; c++)
        dot[c] = _mm512_reduce_add_ps(sum[c]);
}

void TD_ISA(td_gemv_transposed)(int32_t m, int32_t k, const float *A, int32_t stride, const float *x, float *y)
{
    float dot[8];
    for (; k > 0; k -= 8, A += 8 * (int64_t)stride, y += 8)
    {
        int nc = k < 8 ? k : 8;
        if (nc == 8)
            dots(8, m, A, stride, x, dot);
        else
            for (int c = 0; c < nc; c++)
                dots(1, m, A + c * (int64_t)stride, stride, x, dot + c);
        for (int c = 0; c < nc; c++)
            y[c] -= dot[c];
    }
}

void TD_ISA(td_triangle_forward)(int32_t k, const float *A, int32_t stride, float *y)
{
    for (int32_t j = 0; j < k; j += CORNER)
    {
        const float *corner = A + j + j * (int64_t)stride;
        int nc = k - j < CORNER ? k - j : CORNER;
        for (int a = 0; a < nc; a++)
        {
            float value = y[j + a];
            for (int b = 0; b < a; b++)
                value -= corner[a + b * (int64_t)stride] * y[j + b];
            y[j + a] = value * (1 / corner[a + a * (int64_t)stride]);
        }
        if (k - j > CORNER)
            TD_ISA(td_gemv)(k - j - CORNER, CORNER, corner + CORNER, stride, y + j, y + j + CORNER);
    }
}

void TD_ISA(td_triangle_backward)(int32_t k, const float *A, int32_t stride, float *y)
{
    for (int32_t j = (k - 1) / CORNER * CORNER; j >= 0; j -= CORNER)
    {
        const float *corner = A + j + j * (int64_t)stride;
        int nc = k - j < CORNER ? k - j : CORNER;
        float dot[CORNER] = {0};
        if (nc == CORNER && k - j > CORNER)
            dots(CORNER, k - j - CORNER, corner + CORNER, stride, y + j + CORNER, dot);
        for (int a = nc - 1; a >= 0; a--)
        {
            float value = y[j + a] - dot[a];
            for (int b = a + 1; b < nc; b++)
                value -= corner[b + a * (int64_t)stride] * y[j + b];
            y[j + a] = value * (1 / corner[a + a * (int64_t)stride]);
        }
    }
}

#else

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

#endif
