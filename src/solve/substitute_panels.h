// SPDX-License-Identifier: Apache-2.0
// Triangular solves with several right-hand sides, supernode by supernode: see substitute.h. A few columns are taken at
// a time, whose numbers stay in registers; with two vectors of right-hand sides four, with one eight. How rows or
// columns are shared out changes no bits: an entry gets its terms by ascending columns forward, by ascending rows
// backward.
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

// Columns that are taken together, from j on, of `left` that are left.
INLINE int group_of(int lanes, int left)
{
    return lanes == TD_REALS && left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

INLINE void forward_group(const tdRealPanel *p, int group, int j, int begin, int end)
{
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
