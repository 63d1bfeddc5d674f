// SPDX-License-Identifier: Apache-2.0
// Triangular solves with several right-hand sides, supernode by supernode: see substitute.h. A few columns are taken at
// a time, whose numbers stay in registers; with two vectors of right-hand sides four, with one eight. How rows or
// columns are shared out changes no bits: an entry gets its terms by ascending columns forward, by ascending rows
// backward (of one right-hand side some at once).
#pragma once
#include "base/simd.h"
#include "solve/real.h"
#include "solve/substitute.h"

#define INLINE static inline __attribute__((always_inline))
#define MOST   8 // columns at a time

// Numbers of vectors a row (nv) and of columns (nc) are constants where these are inlined.

INLINE void load_rows(int nv, int n, const tdReal *y, tdReals (*x)[2])
{
    for (int c = 0; c < n; c++)
        for (int v = 0; v < nv; v++)
            x[c][v] = td_reals_load(y + TD_REALS * (c * nv + v));
}

// Rows [begin, end): y_i -= sum_c L_ic x_c, for the columns that begin at j.
INLINE void forward_some(int nv, int nc, const tdRealPanel *p, int j, int begin, int end)
{
    tdReals x[MOST][2];
    load_rows(nv, nc, p->y + TD_REALS * (int64_t)j * nv, x);
    const tdReal *L = p->L + j * p->stride;
    int64_t stride = p->stride;
    tdReal *y = p->y;
    for (int64_t i = begin; i < end; i++)
    {
        tdReals sum[2];
        for (int v = 0; v < nv; v++)
            sum[v] = td_reals_load(y + TD_REALS * (i * nv + v));
        for (int c = 0; c < nc; c++)
            for (int v = 0; v < nv; v++)
                sum[v] -= x[c][v] * L[i + c * stride];
        for (int v = 0; v < nv; v++)
            td_reals_store(y + TD_REALS * (i * nv + v), sum[v]);
    }
}

// y_c -= sum_i L_ic y_i over rows [begin, end), for the columns that begin at j.
INLINE void backward_some(int nv, int nc, const tdRealPanel *p, int j, int begin, int end)
{
    tdReals sum[MOST][2];
    tdReal *to = p->y + TD_REALS * (int64_t)j * nv;
    load_rows(nv, nc, to, sum);
    const tdReal *L = p->L + j * p->stride, *y = p->y;
    int64_t stride = p->stride;
    for (int64_t i = begin; i < end; i++)
        for (int v = 0; v < nv; v++)
        {
            tdReals x = td_reals_load(y + TD_REALS * (i * nv + v));
            for (int c = 0; c < nc; c++)
                sum[c][v] -= x * L[i + c * stride];
        }
    for (int c = 0; c < nc; c++)
        for (int v = 0; v < nv; v++)
            td_reals_store(to + TD_REALS * (c * nv + v), sum[c][v]);
}

// One right-hand side: rows of the factor lie beside each other, so that vectors are of rows instead.

INLINE void forward_one(int nc, const tdRealPanel *p, int j, int begin, int end)
{
    tdReal x[MOST], *y = p->y;
    const tdReal *L = p->L + j * p->stride;
    int64_t stride = p->stride, i = begin;
    for (int c = 0; c < nc; c++)
        x[c] = y[j + c];
    for (; i + TD_REALS <= end; i += TD_REALS)
    {
        tdReals sum = td_reals_load(y + i);
        for (int c = 0; c < nc; c++)
            sum -= x[c] * td_reals_load(L + i + c * stride);
        td_reals_store(y + i, sum);
    }
    for (; i < end; i++)
        for (int c = 0; c < nc; c++)
            y[i] -= x[c] * L[i + c * stride];
}

INLINE void backward_one(int nc, const tdRealPanel *p, int j, int begin, int end)
{
    tdReals sum[MOST];
    tdReal rest[MOST], *y = p->y;
    const tdReal *L = p->L + j * p->stride;
    int64_t stride = p->stride, i = begin;
    for (int c = 0; c < nc; c++)
    {
        sum[c] = td_reals_set(0);
        rest[c] = 0;
    }
    for (; i + TD_REALS <= end; i += TD_REALS)
    {
        tdReals x = td_reals_load(y + i);
        for (int c = 0; c < nc; c++)
            sum[c] += x * td_reals_load(L + i + c * stride);
    }
    for (; i < end; i++)
        for (int c = 0; c < nc; c++)
            rest[c] += y[i] * L[i + c * stride];
    for (int c = 0; c < nc; c++)
    {
        for (int l = 0; l < TD_REALS; l++)
            rest[c] += sum[c][l];
        y[j + c] -= rest[c];
    }
}

INLINE void corner_one(int nc, const tdRealPanel *p, bool forward, int j)
{
    tdReal x[MOST], *y = p->y + j;
    const tdReal *L = p->L + j + j * p->stride;
    for (int a = 0; a < nc; a++)
        x[a] = y[a];
    for (int k = 0; k < nc; k++)
    {
        int a = forward ? k : nc - 1 - k;
        for (int b = a + 1; b < nc && !forward; b++)
            x[a] -= x[b] * L[b + a * p->stride];
        x[a] *= 1 / L[a + a * p->stride];
        for (int b = a + 1; b < nc && forward; b++)
            x[b] -= x[a] * L[b + a * p->stride];
        y[a] = x[a];
    }
}

// Columns that are taken together, from j on, of `left` that are left.
INLINE int group_of(int lanes, int left)
{
    return lanes <= TD_REALS && left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

INLINE void forward_group(const tdRealPanel *p, int group, int j, int begin, int end)
{
    if (p->lanes == 1)
        switch (group)
        {
        case 8: forward_one(8, p, j, begin, end); return;
        case 4: forward_one(4, p, j, begin, end); return;
        case 2: forward_one(2, p, j, begin, end); return;
        default: forward_one(1, p, j, begin, end); return;
        }
    if (p->lanes == TD_REALS)
        switch (group)
        {
        case 8: forward_some(1, 8, p, j, begin, end); return;
        case 4: forward_some(1, 4, p, j, begin, end); return;
        case 2: forward_some(1, 2, p, j, begin, end); return;
        default: forward_some(1, 1, p, j, begin, end); return;
        }
    switch (group)
    {
    case 4: forward_some(2, 4, p, j, begin, end); return;
    case 2: forward_some(2, 2, p, j, begin, end); return;
    default: forward_some(2, 1, p, j, begin, end); return;
    }
}

INLINE void backward_group(const tdRealPanel *p, int group, int j, int begin, int end)
{
    if (p->lanes == 1)
        switch (group)
        {
        case 8: backward_one(8, p, j, begin, end); return;
        case 4: backward_one(4, p, j, begin, end); return;
        case 2: backward_one(2, p, j, begin, end); return;
        default: backward_one(1, p, j, begin, end); return;
        }
    if (p->lanes == TD_REALS)
        switch (group)
        {
        case 8: backward_some(1, 8, p, j, begin, end); return;
        case 4: backward_some(1, 4, p, j, begin, end); return;
        case 2: backward_some(1, 2, p, j, begin, end); return;
        default: backward_some(1, 1, p, j, begin, end); return;
        }
    switch (group)
    {
    case 4: backward_some(2, 4, p, j, begin, end); return;
    case 2: backward_some(2, 2, p, j, begin, end); return;
    default: backward_some(2, 1, p, j, begin, end); return;
    }
}

// The triangle of the columns that begin at j, in registers.
INLINE void forward_corner(int nv, int nc, const tdRealPanel *p, int j)
{
    tdReals x[MOST][2];
    tdReal *y = p->y + TD_REALS * (int64_t)j * nv;
    const tdReal *L = p->L + j + j * p->stride;
    load_rows(nv, nc, y, x);
    for (int a = 0; a < nc; a++)
    {
        tdReal inverse = 1 / L[a + a * p->stride];
        for (int v = 0; v < nv; v++)
        {
            x[a][v] *= inverse;
            for (int b = a + 1; b < nc; b++)
                x[b][v] -= x[a][v] * L[b + a * p->stride];
            td_reals_store(y + TD_REALS * (a * nv + v), x[a][v]);
        }
    }
}

INLINE void backward_corner(int nv, int nc, const tdRealPanel *p, int j)
{
    tdReals x[MOST][2];
    tdReal *y = p->y + TD_REALS * (int64_t)j * nv;
    const tdReal *L = p->L + j + j * p->stride;
    load_rows(nv, nc, y, x);
    for (int a = nc - 1; a >= 0; a--)
    {
        tdReal inverse = 1 / L[a + a * p->stride];
        for (int v = 0; v < nv; v++)
        {
            for (int b = a + 1; b < nc; b++)
                x[a][v] -= x[b][v] * L[b + a * p->stride];
            x[a][v] *= inverse;
            td_reals_store(y + TD_REALS * (a * nv + v), x[a][v]);
        }
    }
}

INLINE void corner(const tdRealPanel *p, bool forward, int group, int j)
{
    if (p->lanes == 1)
        switch (group)
        {
        case 8: corner_one(8, p, forward, j); return;
        case 4: corner_one(4, p, forward, j); return;
        case 2: corner_one(2, p, forward, j); return;
        default: corner_one(1, p, forward, j); return;
        }
    if (p->lanes == TD_REALS)
        switch (group)
        {
        case 8: forward ? forward_corner(1, 8, p, j) : backward_corner(1, 8, p, j); return;
        case 4: forward ? forward_corner(1, 4, p, j) : backward_corner(1, 4, p, j); return;
        case 2: forward ? forward_corner(1, 2, p, j) : backward_corner(1, 2, p, j); return;
        default: forward ? forward_corner(1, 1, p, j) : backward_corner(1, 1, p, j); return;
        }
    switch (group)
    {
    case 4: forward ? forward_corner(2, 4, p, j) : backward_corner(2, 4, p, j); return;
    case 2: forward ? forward_corner(2, 2, p, j) : backward_corner(2, 2, p, j); return;
    default: forward ? forward_corner(2, 1, p, j) : backward_corner(2, 1, p, j); return;
    }
}

void TD_REAL_ISA(td_forward_triangle)(const tdRealPanel *p)
{
    for (int j = 0; j < p->columns;)
    {
        int group = group_of(p->lanes, p->columns - j);
        corner(p, true, group, j);
        forward_group(p, group, j, j + group, p->columns);
        j += group;
    }
}

void TD_REAL_ISA(td_forward_rows)(const tdRealPanel *p, int begin, int end)
{
    for (int j = 0; j < p->columns;)
    {
        int group = group_of(p->lanes, p->columns - j);
        forward_group(p, group, j, begin, end);
        j += group;
    }
}

void TD_REAL_ISA(td_backward_columns)(const tdRealPanel *p, int begin, int end, int rows)
{
    for (int j = begin; j < end;)
    {
        int group = group_of(p->lanes, end - j);
        backward_group(p, group, j, p->columns, rows);
        j += group;
    }
}

void TD_REAL_ISA(td_backward_triangle)(const tdRealPanel *p)
{
    for (int end = p->columns; end > 0;)
    {
        int group = group_of(p->lanes, end), j = end - group;
        backward_group(p, group, j, end, p->columns);
        corner(p, false, group, j);
        end = j;
    }
}
