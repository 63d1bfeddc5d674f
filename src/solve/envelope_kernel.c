// SPDX-License-Identifier: Apache-2.0
// See envelope.h.
#include "base/simd.h"
#include "solve/envelope.h"

static inline double dot(int64_t n, const double *a, const double *b)
{
    td4 sum = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        sum += td4_load(a + i) * td4_load(b + i);
    double rest = 0;
    if (n & 2)
    {
        rest = a[i] * b[i] + a[i + 1] * b[i + 1];
        i += 2;
    }
    if (n & 1)
        rest += a[i] * b[i];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

// y -= f a
static inline void subtract(int64_t n, double f, const double *a, double *y)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        td4_store(y + i, td4_load(y + i) - f * td4_load(a + i));
    for (; i < n; i++)
        y[i] -= f * a[i];
}

// The same where three numbers behind the end of y are never read.
static inline void subtract_over(int64_t n, double f, const double *a, double *y)
{
    for (int64_t i = 0; i < n; i += 4)
        td4_store(y + i, td4_load(y + i) - f * td4_load(a + i));
}

static bool factor_reverse(tdEnvelope *e)
{
    for (int64_t k = e->n - 1; k >= 0; k--)
    {
        double *row = e->H + k * e->stride, pivot = row[k];
        if (!(pivot > 0) || !isfinite(pivot))
            return false;
        row[k] = sqrt(pivot);
        double scale = e->inverse[k] = 1 / row[k];
        for (int64_t j = 0; j < k; j++)
            row[j] *= scale;
        for (int64_t i = 0; i < k; i++)
            if (row[i] != 0)
                subtract_over(i + 1, row[i], row, e->H + i * e->stride);
    }
    return true;
}

static void solve_reverse(const tdEnvelope *e, double *x)
{
    for (int64_t k = e->n - 1; k >= 0; k--)
    {
        double f = x[k] *= e->inverse[k];
        if (f != 0)
            subtract(k, f, e->H + k * e->stride, x);
    }
    for (int64_t k = 0; k < e->n; k++)
        x[k] = (x[k] - dot(k, e->H + k * e->stride, x)) * e->inverse[k];
}

#define TOGETHER 8   // rows that begin at the same column, as those of a body do
#define WIDE     384 // columns of them, at most
#define NARROW   8   // columns that are not worth it

// Columns [begin, i) of m rows from i on at once, side by side, so that a row above is read once for all of them.
static void solve_together(const tdEnvelope *e, int64_t i, int64_t m, int64_t begin)
{
    double side[TOGETHER * WIDE];
    for (int64_t j = begin; j < i; j++)
        for (int64_t r = 0; r < TOGETHER; r++)
            side[TOGETHER * (j - begin) + r] = r < m ? e->H[(i + r) * e->stride + j] : 0;
    for (int64_t j = begin; j < i; j++)
    {
        const double *l = e->H + j * e->stride;
        double *mine = side + TOGETHER * (j - begin);
        td4 low[2] = {{0}, {0}}, high[2] = {{0}, {0}};
        int64_t k = e->first[j] > begin ? e->first[j] : begin;
        for (; k + 2 <= j; k += 2)
        {
            const double *x = side + TOGETHER * (k - begin);
            for (int c = 0; c < 2; c++)
            {
                td4 f = td4_set(l[k + c]);
                low[c] += f * td4_load(x + TOGETHER * (int64_t)c);
                high[c] += f * td4_load(x + TOGETHER * (int64_t)c + TD_LANES);
            }
        }
        for (; k < j; k++)
        {
            td4 f = td4_set(l[k]);
            low[0] += f * td4_load(side + TOGETHER * (k - begin));
            high[0] += f * td4_load(side + TOGETHER * (k - begin) + TD_LANES);
        }
        td4 scale = td4_set(e->inverse[j]);
        td4_store(mine, (td4_load(mine) - (low[0] + low[1])) * scale);
        td4_store(mine + TD_LANES, (td4_load(mine + TD_LANES) - (high[0] + high[1])) * scale);
    }
    for (int64_t r = 0; r < m; r++)
        for (int64_t j = begin; j < i; j++)
            e->H[(i + r) * e->stride + j] = side[TOGETHER * (j - begin) + r];
}

// How many rows from i on are solved together up to column i; 0: none.
static int64_t rows_together(const tdEnvelope *e, int64_t i)
{
    int64_t m = 1, begin = e->first[i];
    while (m < TOGETHER && i + m < e->n && e->first[i + m] == begin)
        m++;
    return m > 2 && i - begin >= NARROW && i - begin <= WIDE ? m : 0;
}

static bool factor(tdEnvelope *e)
{
    if (e->reverse)
        return factor_reverse(e);
    int64_t from_row = 0, to_row = 0; // rows that are solved up to column from_row
    for (int64_t i = 0; i < e->n; i++)
    {
        double *row = e->H + i * e->stride;
        int64_t begin = e->first[i], m = i >= to_row ? rows_together(e, i) : 0;
        if (m > 0)
        {
            from_row = i;
            to_row = i + m;
            solve_together(e, i, m, begin);
        }
        for (int64_t j = i < to_row ? from_row : begin; j < i; j++)
        {
            int64_t from = e->first[j] > begin ? e->first[j] : begin;
            row[j] = (row[j] - dot(j - from, row + from, e->H + j * e->stride + from)) * e->inverse[j];
        }
        double pivot = row[i] - dot(i - begin, row + begin, row + begin);
        if (!(pivot > 0) || !isfinite(pivot))
            return false;
        row[i] = sqrt(pivot);
        e->inverse[i] = 1 / row[i];
    }
    return true;
}

static void solve(const tdEnvelope *e, double *x)
{
    if (e->reverse)
    {
        solve_reverse(e, x);
        return;
    }
    for (int64_t i = 0; i < e->n; i++)
    {
        int64_t begin = e->first[i];
        x[i] = (x[i] - dot(i - begin, e->H + i * e->stride + begin, x + begin)) * e->inverse[i];
    }
    for (int64_t i = e->n - 1; i >= 0; i--)
    {
        const double *row = e->H + i * e->stride;
        double f = x[i] *= e->inverse[i];
        int64_t j = e->first[i];
        for (; j + 4 <= i; j += 4)
            td4_store(x + j, td4_load(x + j) - f * td4_load(row + j));
        for (; j < i; j++)
            x[j] -= f * row[j];
    }
}

// row[k] += sum over r of J_r T_r[k], four at a time: T is zero behind its end, and what is right of the diagonal is
// never read.
static inline void add_to(double *row, int32_t count, const double J[3], const double *T)
{
    for (int32_t k = 0; k < count; k += TD_LANES, T += 3 * TD_LANES)
        td4_store(row + k, td4_load(row + k) + J[0] * td4_load(T) + J[1] * td4_load(T + 4) + J[2] * td4_load(T + 8));
}

// T = G J of a run of columns, in groups of four for each row.
static inline void times_G(int32_t n, int32_t begin, int32_t end, const double *J, const double *G, double *T)
{
    for (int32_t k = begin; k < end; k += TD_LANES, T += 3 * TD_LANES)
    {
        td4 a[3];
        for (int r = 0; r < 3; r++)
        {
            a[r] = td4_set(0);
            if (k + TD_LANES <= end)
                a[r] = td4_load(J + r * (int64_t)n + k);
            else
                for (int32_t i = 0; i < end - k; i++)
                    a[r][i] = J[r * (int64_t)n + k + i];
        }
        for (int r = 0; r < 3; r++)
            td4_store(T + TD_LANES * (size_t)r, G[3 * r] * a[0] + G[3 * r + 1] * a[1] + G[3 * r + 2] * a[2]);
    }
}

#define FREE 6 // coordinates of a free body

// The last two of them.
static inline td4 load_two(const double *p)
{
    return (td4){p[0], p[1], 0, 0};
}

static inline void add_three(double *row, const td4 own[3], td4 T[3][2])
{
    td4_store(row, td4_load(row) + own[0] * T[0][0] + own[1] * T[1][0] + own[2] * T[2][0]);
    td4_store(row + 4, td4_load(row + 4) + own[0] * T[0][1] + own[1] * T[1][1] + own[2] * T[2][1]);
}

// add() of one or two free bodies. What is written right of a block is zero or never read.
static inline __attribute__((always_inline)) void add_free(tdEnvelope *e, int sides, const int32_t *at, const double *J,
                                                           const double *G)
{
    const int n = FREE * sides;
    td4 T[2][3][2];
    for (int s = 0; s < sides; s++)
    {
        const double *from = J + FREE * s;
        td4 a[3][2];
        for (int r = 0; r < 3; r++)
        {
            a[r][0] = td4_load(from + r * n);
            a[r][1] = load_two(from + r * n + 4);
        }
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 2; k++)
                T[s][r][k] = G[3 * r] * a[0][k] + G[3 * r + 1] * a[1][k] + G[3 * r + 2] * a[2][k];
    }
    for (int s = 0; s < sides; s++)
        for (int i = 0; i < FREE; i++)
        {
            double *row = e->H + (at[FREE * s] + i) * (int64_t)e->stride;
            const double *mine = J + FREE * s + i;
            const td4 own[3] = {td4_set(mine[0]), td4_set(mine[n]), td4_set(mine[2 * n])};
            add_three(row + at[0], own, T[0]);
            if (s > 0)
                add_three(row + at[FREE], own, T[1]);
        }
}

static void add(tdEnvelope *e, int32_t n, int32_t split, const int32_t *at, const double *J, const double *G)
{
    if (split == FREE && (n == FREE || n == 2 * FREE))
    {
        if (n == FREE)
            add_free(e, 1, at, J, G);
        else
            add_free(e, 2, at, J, G);
        return;
    }
    double low[3 * (TD_ENVELOPE_COLUMNS + TD_LANES)], high[3 * (TD_ENVELOPE_COLUMNS + TD_LANES)];
    times_G(n, 0, split, J, G, low);
    times_G(n, split, n, J, G, high);
    for (int32_t i = 0; i < n; i++)
    {
        double *row = e->H + at[i] * (int64_t)e->stride;
        const double own[3] = {J[i], J[n + i], J[2 * (int64_t)n + i]};
        if (own[0] == 0 && own[1] == 0 && own[2] == 0) // a gap in a side that was spread out
            continue;
        add_to(row + at[0], i < split ? i + 1 : split, own, low);
        if (i >= split)
            add_to(row + at[split], i + 1 - split, own, high);
    }
}

static inline void sum_up(td4 squares, td4 products, double *W)
{
    W[0] = squares[0];
    W[4] = squares[1];
    W[8] = squares[2];
    W[1] = W[3] = products[0];
    W[5] = W[7] = products[1];
    W[2] = W[6] = products[2];
}

static void weigh(int32_t n, int32_t begin, const double *L, double *X, double *W)
{
    td4 squares = {0}, products = {0};
    for (int32_t j = begin; j < n; j++)
    {
        const double *l = L + j * (int64_t)n;
        td4 x = td4_load(X + 4 * (int64_t)j) / td4_set(l[j]);
        for (int32_t i = j + 1; i < n; i++)
            td4_store(X + 4 * (int64_t)i, td4_load(X + 4 * (int64_t)i) - l[i] * x);
        squares += x * x;
        products += x * (td4){x[1], x[2], x[0], 0};
    }
    sum_up(squares, products, W);
}

static void weigh_reverse(int32_t n, int32_t end, const double *L, double *X, double *W)
{
    td4 squares = {0}, products = {0};
    for (int32_t j = end - 1; j >= 0; j--)
    {
        const double *l = L + j * (int64_t)n;
        td4 x = td4_load(X + 4 * (int64_t)j);
        if (x[0] == 0 && x[1] == 0 && x[2] == 0)
            continue;
        x *= td4_set(l[j]);
        for (int32_t i = 0; i < j; i++)
            td4_store(X + 4 * (int64_t)i, td4_load(X + 4 * (int64_t)i) - l[i] * x);
        squares += x * x;
        products += x * (td4){x[1], x[2], x[0], 0};
    }
    sum_up(squares, products, W);
}

// Of a body that moves freely all of it fits in registers.
static inline void add_weight(const double *L, const double *J, td4 *squares, td4 *products)
{
    td4 x[FREE];
    for (int k = 0; k < FREE; k++)
        x[k] = (td4){J[k], J[FREE + k], J[2 * FREE + k], 0};
    for (int j = FREE - 1; j >= 0; j--)
    {
        const double *l = L + FREE * (size_t)j;
        td4 at = x[j] * td4_set(l[j]);
        for (int i = 0; i < j; i++)
            x[i] -= l[i] * at;
        *squares += at * at;
        *products += at * (td4){at[1], at[2], at[0], 0};
    }
}

static void weigh_free(int sides, const double *const *L, const double *const *J, double *W)
{
    td4 squares = {0}, products = {0};
    for (int s = 0; s < sides; s++)
        add_weight(L[s], J[s], &squares, &products);
    sum_up(squares, products, W);
}

static void weigh_whole(int32_t n, const double *L, const double *J, double *X, double *W)
{
    for (int32_t k = 0; k < n; k++)
        td4_store(X + 4 * (int64_t)k, (td4){J[k], J[n + k], J[2 * (int64_t)n + k], 0});
    weigh_reverse(n, n, L, X, W);
}

static inline void multiply_free(int32_t stride, const double *A, const double *x, double *y)
{
    double sum[FREE] = {0};
    for (int j = 0; j < FREE; j++)
    {
        const double *a = A + j * (int64_t)stride;
        sum[j] += a[j] * x[j];
        for (int i = j + 1; i < FREE; i++)
        {
            sum[i] += a[i] * x[j];
            sum[j] += a[i] * x[i];
        }
    }
    for (int i = 0; i < FREE; i++)
        y[i] = sum[i];
}

static void multiply(int32_t n, int32_t stride, const double *A, const double *x, double *y)
{
    if (n == FREE)
    {
        multiply_free(stride, A, x, y);
        return;
    }
    for (int32_t i = 0; i < n; i++)
        y[i] = 0;
    for (int32_t j = 0; j < n; j++)
    {
        const double *a = A + j * (int64_t)stride;
        double f = x[j], rest = a[j] * f;
        td4 sum = {0};
        int32_t i = j + 1;
        for (; i + 4 <= n; i += 4)
        {
            td4 c = td4_load(a + i);
            td4_store(y + i, td4_load(y + i) + f * c);
            sum += c * td4_load(x + i);
        }
        for (; i < n; i++)
        {
            y[i] += a[i] * f;
            rest += a[i] * x[i];
        }
        y[j] += ((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
    }
}

static inline void add_rates(int32_t n, int32_t begin, int32_t end, const double *J, const double *x, td4 sum[3],
                             double out[3])
{
    int32_t k = begin;
    for (; k + 4 <= end; k += 4, x += 4)
        for (int r = 0; r < 3; r++)
            sum[r] += td4_load(J + r * (int64_t)n + k) * td4_load(x);
    for (; k < end; k++, x++)
        for (int r = 0; r < 3; r++)
            out[r] += J[r * (int64_t)n + k] * *x;
}

static inline __attribute__((always_inline)) void rates_free(int sides, const int32_t *at, const double *J,
                                                             const double *x, double *out)
{
    const int n = FREE * sides;
    td4 sum[3] = {{0}, {0}, {0}};
    for (int s = 0; s < sides; s++)
    {
        const double *v = x + at[FREE * s], *from = J + FREE * s;
        td4 a = td4_load(v), b = load_two(v + 4);
        for (int r = 0; r < 3; r++)
            sum[r] += td4_load(from + r * n) * a + load_two(from + r * n + 4) * b;
    }
    for (int r = 0; r < 3; r++)
        out[r] = (sum[r][0] + sum[r][1]) + (sum[r][2] + sum[r][3]);
}

static inline __attribute__((always_inline)) void forces_free(int sides, const int32_t *at, const double *J,
                                                              const double *g, double *f)
{
    const int n = FREE * sides;
    for (int s = 0; s < sides; s++)
    {
        double *to = f + at[FREE * s];
        const double *from = J + FREE * s;
        td4_store(to, td4_load(to) + g[0] * td4_load(from) + g[1] * td4_load(from + n) + g[2] * td4_load(from + 2 * n));
        td4 rest = load_two(to + 4) + g[0] * load_two(from + 4) + g[1] * load_two(from + n + 4) +
                   g[2] * load_two(from + 2 * n + 4);
        to[4] = rest[0];
        to[5] = rest[1];
    }
}

static void rates(int32_t n, int32_t split, const int32_t *at, const double *J, const double *x, double *out)
{
    if (split == FREE && n == 2 * FREE)
    {
        rates_free(2, at, J, x, out);
        return;
    }
    if (split == FREE && n == FREE)
    {
        rates_free(1, at, J, x, out);
        return;
    }
    td4 sum[3] = {{0}, {0}, {0}};
    out[0] = out[1] = out[2] = 0;
    add_rates(n, 0, split, J, x + at[0], sum, out);
    if (split < n)
        add_rates(n, split, n, J, x + at[split], sum, out);
    for (int r = 0; r < 3; r++)
        out[r] += (sum[r][0] + sum[r][1]) + (sum[r][2] + sum[r][3]);
}

static inline void add_forces(int32_t n, int32_t begin, int32_t end, const double *J, const double g[3], double *f)
{
    const double *J1 = J + n, *J2 = J + 2 * (int64_t)n;
    int32_t k = begin;
    for (; k + 4 <= end; k += 4, f += 4)
        td4_store(f, td4_load(f) + g[0] * td4_load(J + k) + g[1] * td4_load(J1 + k) + g[2] * td4_load(J2 + k));
    for (; k < end; k++, f++)
        *f += g[0] * J[k] + g[1] * J1[k] + g[2] * J2[k];
}

static void forces(int32_t n, int32_t split, const int32_t *at, const double *J, const double *g, double *f)
{
    if (split == FREE && n == 2 * FREE)
    {
        forces_free(2, at, J, g, f);
        return;
    }
    if (split == FREE && n == FREE)
    {
        forces_free(1, at, J, g, f);
        return;
    }
    add_forces(n, 0, split, J, g, f + at[0]);
    if (split < n)
        add_forces(n, split, n, J, g, f + at[split]);
}

const tdEnvelopeKernel TD_ISA(td_envelope_kernel) = {factor,      solve,      add,      weigh, weigh_reverse,
                                                     weigh_whole, weigh_free, multiply, rates, forces};
