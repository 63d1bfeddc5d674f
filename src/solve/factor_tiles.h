// SPDX-License-Identifier: Apache-2.0
// Products and divisions of fronts, column-major: tiles of three vectors of rows and four columns stay in registers,
// columns as scalars. In tdReal or single precision, see real.h. Fronts of soft robots have some twenty columns and a
// hundred rows: there a library's products spend more on copying and calling than on arithmetic, and these take the
// matrices as they lie.
//
// Every entry is C - (sum over k, ascending), whatever tile it falls into, so that bits do not depend on how rows are
// shared out. Where rows do not fill a vector, the last one begins earlier and stores only
// what is new; vectors of 512 bits are masked instead.
#pragma once
#include "base/simd.h"
#include "solve/factor.h"
#include "solve/real.h"

#if defined(TD_WIDE)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define TALL   3 // vectors of rows in a tile
#define TILE   (TALL * TD_REALS)

// tail: 0 for whole vectors; else what rows at the end need.
#if defined(TD_WIDE)
#define TAIL_AT(rows) 0      // begins with them
#define TAIL(rows)    (rows) // and has so many
#define LEAST_ROWS    1
#ifdef TD_SINGLE
#define MASK(rows)   ((__mmask16)((1U << (rows)) - 1))
#define masked_load  _mm512_maskz_loadu_ps
#define masked_store _mm512_mask_storeu_ps
#else
#define MASK(rows)   ((__mmask8)((1U << (rows)) - 1))
#define masked_load  _mm512_maskz_loadu_pd
#define masked_store _mm512_mask_storeu_pd
#endif

INLINE tdReals load_tail(const tdReal *p, int tail)
{
    return tail == 0 ? td_reals_load(p) : (tdReals)masked_load(MASK(tail), p);
}

INLINE void store_tail(tdReal *to, tdReals value, int tail)
{
    if (tail == 0)
        td_reals_store(to, value);
    else
        masked_store(to, MASK(tail), value);
}
#else
#define TAIL_AT(rows) ((rows)-TD_REALS)   // begins before them
#define TAIL(rows)    (TD_REALS - (rows)) // and stores from this lane on
#define LEAST_ROWS    TD_REALS

INLINE tdReals load_tail(const tdReal *p, int tail)
{
    (void)tail;
    return td_reals_load(p);
}

INLINE void store_tail(tdReal *to, tdReals value, int tail)
{
    if (tail == 0)
    {
        td_reals_store(to, value);
        return;
    }
    tdReal lane[TD_REALS];
    td_reals_store(lane, value);
    for (int l = tail; l < TD_REALS; l++)
        to[l] = lane[l];
}
#endif

// sum[c][v] = vector v of rows of A times row c of B; v < nv, c < nc, which are constants where it is inlined.
INLINE void multiply_tile(int nv, int nc, int tail, int depth, const tdReal *A, int64_t a_stride, const tdReal *B,
                          int64_t b_stride, tdReals (*sum)[TALL])
{
    for (int c = 0; c < nc; c++)
        for (int v = 0; v < nv; v++)
            sum[c][v] = td_reals_set(0);
    for (int64_t k = depth; k > 0; k--, A += a_stride, B += b_stride)
    {
        tdReals a[TALL];
        for (int v = 0; v < nv; v++)
            a[v] = load_tail(A + TD_REALS * v, tail);
        for (int c = 0; c < nc; c++)
            for (int v = 0; v < nv; v++)
                sum[c][v] += a[v] * B[c];
    }
}

INLINE void product_tile(int nv, int nc, int tail, tdRealProduct p, int64_t row, int64_t column)
{
    tdReals sum[4][TALL];
    multiply_tile(nv, nc, tail, p.depth, p.A + row, p.a_stride, p.B + column, p.b_stride, sum);
    for (int c = 0; c < nc; c++)
        for (int v = 0; v < nv; v++)
        {
            tdReal *to = p.C + row + TD_REALS * v + (column + c) * (int64_t)p.c_stride;
            store_tail(to, p.add ? load_tail(to, tail) - sum[c][v] : -sum[c][v], tail);
        }
}

// Rows [begin, end) of nc columns.
INLINE void product_columns(int nc, tdRealProduct p, int begin, int end, int64_t column)
{
    int row = begin;
    for (; row + TILE <= end; row += TILE)
        product_tile(3, nc, 0, p, row, column);
    if (row + 2 * TD_REALS <= end)
    {
        product_tile(2, nc, 0, p, row, column);
        row += 2 * TD_REALS;
    }
    if (row + TD_REALS <= end)
    {
        product_tile(1, nc, 0, p, row, column);
        row += TD_REALS;
    }
    if (row < end)
        product_tile(1, nc, TAIL(end - row), p, row + TAIL_AT(end - row), column);
}

// Fewer rows in all than a vector has.
static void product_thin(const tdRealProduct *p)
{
    for (int c = 0; c < p->columns; c++)
        for (int r = p->lower ? c : 0; r < p->rows; r++)
        {
            tdReal sum = 0, *to = p->C + r + c * (int64_t)p->c_stride;
            for (int k = 0; k < p->depth; k++)
                sum += p->A[r + k * (int64_t)p->a_stride] * p->B[c + k * (int64_t)p->b_stride];
            *to = p->add ? *to - sum : -sum;
        }
}

// Numbers of A that stay in the first cache while columns of B pass by.
#define KEPT_ROWS 2048

void TD_REAL_ISA(td_factor_product)(const tdRealProduct *product)
{
    tdRealProduct p = *product; // which the compiler need not read again behind every store
    if (p.rows < LEAST_ROWS)
    {
        product_thin(product);
        return;
    }
    int piece = p.depth * 2 * TILE > KEPT_ROWS ? 2 * TILE : KEPT_ROWS / (p.depth + 1) / TILE * TILE;
    for (int begin = 0; begin < p.rows; begin += piece)
    {
        int end = begin + piece < p.rows ? begin + piece : p.rows;
        int last = p.lower && end < p.columns ? end : p.columns, column = 0;
        for (; column + 4 <= last; column += 4)
            product_columns(4, p, p.lower && column > begin ? column : begin, end, column);
        int from = p.lower && column > begin ? column : begin;
        if (last - column == 3)
            product_columns(3, p, from, end, column);
        else if (last - column == 2)
            product_columns(2, p, from, end, column);
        else if (last - column == 1)
            product_columns(1, p, from, end, column);
    }
}

// ---------------------------------------------------------------- squares of tall panels

// Rows by vectors, all of their columns one after the other; zeros behind the last.
static void pack_rows(int m, int depth, const tdReal *L, int64_t stride, tdReal *to)
{
    int full = m / TD_REALS * TD_REALS;
    for (int row = 0; row < full; row += TD_REALS)
        for (int k = 0; k < depth; k++, to += TD_REALS)
            td_reals_store(to, td_reals_load(L + row + k * stride));
    for (int k = 0; k < depth && full < m; k++, to += TD_REALS)
        for (int l = 0; l < TD_REALS; l++)
            to[l] = full + l < m ? L[full + l + k * stride] : 0;
}

// Rows of the vectors i, i + 1, ... by the four columns that begin at 4 j.
INLINE void square_tile(int nv, int m, int depth, const tdReal *pack, int64_t i, int64_t j, tdReal *U, int64_t stride)
{
    tdReals sum[4][TALL];
    const tdReal *A = pack + TD_REALS * i * depth;
    const tdReal *B = pack + 4 * j / TD_REALS * TD_REALS * depth + 4 * j % TD_REALS;
    for (int c = 0; c < 4; c++)
        for (int v = 0; v < nv; v++)
            sum[c][v] = td_reals_set(0);
    for (int64_t k = depth; k > 0; k--, A += TD_REALS, B += TD_REALS)
    {
        tdReals a[TALL];
        for (int v = 0; v < nv; v++)
            a[v] = td_reals_load(A + TD_REALS * (int64_t)v * depth);
        for (int c = 0; c < 4; c++)
            for (int v = 0; v < nv; v++)
                sum[c][v] += a[v] * B[c];
    }
    for (int c = 0; c < 4 && 4 * j + c < m; c++)
        for (int v = 0; v < nv; v++)
        {
            int64_t row = TD_REALS * (i + v);
            tdReal *to = U + row + (4 * j + c) * stride;
            if (row + TD_REALS <= m)
            {
                td_reals_store(to, -sum[c][v]);
                continue;
            }
#if defined(TD_WIDE)
            store_tail(to, -sum[c][v], (int)(m - row));
#else
            tdReal lane[TD_REALS];
            td_reals_store(lane, -sum[c][v]);
            for (int64_t l = 0; row + l < m; l++)
                to[l] = lane[l];
#endif
        }
}

#define KEPT_GROUPS 12 // of rows, that stay in the cache while columns pass by

void TD_REAL_ISA(td_factor_square)(int m, int depth, const tdReal *L, int l_stride, tdReal *U, int64_t u_stride,
                                   tdReal *pack)
{
    int64_t groups = (m + TD_REALS - 1) / TD_REALS;
    pack_rows(m, depth, L, l_stride, pack);
    for (int64_t first = 0; first < groups; first += KEPT_GROUPS)
    {
        int64_t end = first + KEPT_GROUPS < groups ? first + KEPT_GROUPS : groups;
        for (int64_t j = 0; 4 * j < TD_REALS * end && 4 * j < m; j++)
        {
            int64_t i = 4 * j / TD_REALS > first ? 4 * j / TD_REALS : first;
            for (; i + 3 <= end; i += 3)
                square_tile(3, m, depth, pack, i, j, U, u_stride);
            if (i + 2 == end)
                square_tile(2, m, depth, pack, i, j, U, u_stride);
            else if (i + 1 == end)
                square_tile(1, m, depth, pack, i, j, U, u_stride);
        }
    }
}

// ---------------------------------------------------------------- triangles and what is below them

// Rows of nc columns that begin at `column` of a panel, less what the columns before give, divided by their triangle.
// T: the panel's triangle, of which the rows of these columns are done; inverse: of its diagonal.
INLINE void divide_tile(int nv, int nc, int tail, int column, const tdReal *T, int64_t t_stride, const tdReal *inverse,
                        tdReal *rows, int64_t stride)
{
    tdReals x[4][TALL];
    multiply_tile(nv, nc, tail, column, rows, stride, T + column, t_stride, x);
    for (int c = 0; c < nc; c++)
    {
        const tdReal *t = T + column + c;
        for (int v = 0; v < nv; v++)
        {
            tdReal *to = rows + TD_REALS * v + (column + c) * stride;
            tdReals value = load_tail(to, tail) - x[c][v];
            for (int b = 0; b < c; b++)
                value -= x[b][v] * t[(column + b) * t_stride];
            x[c][v] = value * inverse[c];
            store_tail(to, x[c][v], tail);
        }
    }
}

INLINE void divide_columns(int nc, int m, int column, const tdReal *T, int64_t t_stride, const tdReal *inverse,
                           tdReal *rows, int64_t stride)
{
    int row = 0;
    for (; row + TILE <= m; row += TILE)
        divide_tile(3, nc, 0, column, T, t_stride, inverse, rows + row, stride);
    if (row + 2 * TD_REALS <= m)
    {
        divide_tile(2, nc, 0, column, T, t_stride, inverse, rows + row, stride);
        row += 2 * TD_REALS;
    }
    if (row + TD_REALS <= m)
    {
        divide_tile(1, nc, 0, column, T, t_stride, inverse, rows + row, stride);
        row += TD_REALS;
    }
    if (row < m)
        divide_tile(1, nc, TAIL(m - row), column, T, t_stride, inverse, rows + row + TAIL_AT(m - row), stride);
}

// One entry of the panel, as in divide_tile.
static void divide_one(int row, int column, const tdReal *T, int64_t t_stride, tdReal inverse, tdReal *rows,
                       int64_t stride)
{
    tdReal sum = 0;
    for (int k = 0; k < column; k++)
        sum += rows[row + k * stride] * T[column + k * t_stride];
    rows[row + column * stride] = (rows[row + column * stride] - sum) * inverse;
}

#define DIVIDED_ROWS 48

void TD_REAL_ISA(td_factor_divide)(int n, int m, const tdReal *T, int t_stride, const tdReal *inverse, tdReal *rows,
                                   int stride)
{
    if (m < LEAST_ROWS)
    {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                divide_one(i, j, T, t_stride, inverse[j], rows, stride);
        return;
    }
    for (int begin = 0; begin < m;)
    {
        int piece = m - begin < DIVIDED_ROWS + LEAST_ROWS ? m - begin : DIVIDED_ROWS, j = 0;
        for (; j + 4 <= n; j += 4)
            divide_columns(4, piece, j, T, t_stride, inverse + j, rows + begin, stride);
        if (n - j == 3)
            divide_columns(3, piece, j, T, t_stride, inverse + j, rows + begin, stride);
        else if (n - j == 2)
            divide_columns(2, piece, j, T, t_stride, inverse + j, rows + begin, stride);
        else if (n - j == 1)
            divide_columns(1, piece, j, T, t_stride, inverse + j, rows + begin, stride);
        begin += piece;
    }
}

// Four numbers, of rows or columns.
#ifdef TD_SINGLE
typedef td4f four;
#define square_root sqrtf
#else
typedef td4 four;
#define square_root sqrt
#endif

// Square of nc columns on the diagonal of n x n, less what the columns before it give; then by scalars.
static bool factor_corner(int nc, int column, tdReal *A, int64_t stride, tdReal *inverse)
{
    tdReal corner[4][4], sums[4][4] = {{0}};
    const tdReal *row = A + column;
    four sum[4] = {0};
    for (int64_t k = column; nc == 4 && k > 0; k--, row += stride)
    {
        four a;
        memcpy(&a, row, sizeof a);
        for (int c = 0; c < 4; c++)
            sum[c] += a * row[c];
    }
    if (nc == 4)
        memcpy(sums, sum, sizeof sums);
    for (int c = 0; c < nc; c++)
        for (int r = c; r < nc; r++)
        {
            for (int k = 0; k < column && nc < 4; k++)
                sums[c][r] += A[column + r + k * stride] * A[column + c + k * stride];
            corner[c][r] = A[column + r + (column + c) * stride] - sums[c][r];
        }
    for (int c = 0; c < nc; c++)
    {
        if (!(corner[c][c] > 0)) // not a number too
            return false;
        corner[c][c] = square_root(corner[c][c]);
        inverse[c] = 1 / corner[c][c];
        for (int r = c + 1; r < nc; r++)
            corner[c][r] *= inverse[c];
        for (int b = c + 1; b < nc; b++)
            for (int r = b; r < nc; r++)
                corner[b][r] -= corner[c][r] * corner[c][b];
    }
    for (int c = 0; c < nc; c++)
        for (int r = c; r < nc; r++)
            A[column + r + (column + c) * stride] = corner[c][r];
    return true;
}

bool TD_REAL_ISA(td_factor_triangle)(int n, tdReal *A, int stride, tdReal *inverse)
{
    for (int j = 0; j < n; j += 4, inverse += 4)
    {
        int nc = n - j < 4 ? n - j : 4, m = n - j - nc;
        if (!factor_corner(nc, j, A, stride, inverse))
            return false;
        if (m >= LEAST_ROWS)
            divide_columns(4, m, j, A, stride, inverse, A + j + nc, stride);
        else
            for (int c = 0; c < nc; c++)
                for (int i = 0; i < m; i++)
                    divide_one(j + nc + i, j + c, A, stride, inverse[c], A, stride);
    }
    return true;
}

// ---------------------------------------------------------------- what children leave

// to[0 .. n) += from[0 .. n): a row of a child, of which a run has some ten numbers.
#if defined(TD_WIDE)
INLINE void add_run(int n, const tdReal *from, tdReal *to)
{
    for (; n > TD_REALS; n -= TD_REALS, from += TD_REALS, to += TD_REALS)
        td_reals_store(to, td_reals_load(to) + td_reals_load(from));
    store_tail(to, load_tail(to, n) + load_tail(from, n), n);
}
#else
INLINE void add_run(int n, const tdReal *from, tdReal *to)
{
    int i = 0;
    for (; i + TD_REALS <= n; i += TD_REALS)
        td_reals_store(to + i, td_reals_load(to + i) + td_reals_load(from + i));
    for (; i < n; i++)
        to[i] += from[i];
}
#endif

void TD_REAL_ISA(td_factor_add)(const tdFactorRun *run, int begin, int end, int size, const tdReal *from, tdReal *to,
                                int64_t stride)
{
    const tdFactorRun *first = run;
    for (int j = begin; j < end; j++)
    {
        while (first[1].row <= j)
            first++;
        tdReal *column = to + (first->to + j - first->row) * stride;
        const tdReal *mine = from + (int64_t)j * size;
        int i = j;
        for (const tdFactorRun *r = first; i < size; i = (++r)->row)
            add_run(r[1].row - i, mine + i, column + (r->to - r->row) + i);
    }
}
