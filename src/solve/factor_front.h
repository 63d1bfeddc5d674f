// SPDX-License-Identifier: Apache-2.0
// The numbers of a factor, front by front: see factor.h. In double or single precision, see real.h.
#pragma once
#include "base/isa.h"
#include "solve/factor_shape.h"
#include "solve/real.h"

#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#define TILE        192
#define DEEP        96  // from where products are worth copying their operands for
#define LARGE_FRONT 384 // rows from which a front above the trees is cut into tiles

#define CHUNK 64 // columns of deep products that are taken at a time by vectors of 512 bits

// ---------------------------------------------------------------- numbers

typedef struct factorWork
{
    const tdFactorPlan *plan;
    tdTasks *tasks; // asked whether to go on
    const double *values;
    tdReal *x, *work;
    tdIsa isa;
    atomic_bool failed;
} factorWork;

// Adds columns [begin, end) of what a child leaves, by its own columns, to a front whose column c stands at to + c
// stride.
static void add_child(const factorWork *w, int32_t c, int64_t begin, int64_t end, tdReal *to, int64_t stride)
{
    const tdFactorPlan *p = w->plan;
    const tdFactorRun *run = p->runs + p->run_at[c];
    const tdReal *from = w->work + p->update_at[c];
    int size = (int)below_of(p, c);
    TD_REAL_CALL(td_factor_add, w->isa, true, run, (int)begin, (int)end, size, from, to, stride);
}

// How many of the rows that a child leaves are columns of its parent, which has n.
static int64_t child_columns(const tdFactorPlan *p, int32_t c, int32_t n)
{
    const int32_t *at = p->relative + rows_at(p, c) + columns_of(p, c);
    int64_t k = 0, size = below_of(p, c);
    while (k < size && at[k] < n)
        k++;
    return k;
}

// The columns of a supernode, before they are factored.
static void gather_columns(const factorWork *w, int32_t s, tdReal *L)
{
    const tdFactorPlan *p = w->plan;
    int64_t n = columns_of(p, s), rows = rows_of(p, s);
    memset(L, 0, (size_t)(n * rows) * sizeof *L);
    for (int32_t k = p->entry_at[s]; k < p->entry_at[s + 1]; k++)
        w->x[p->entry_to[k]] = (tdReal)w->values[p->entry_from[k]];
    for (int32_t c = p->child[s]; c >= 0; c = p->next[c])
        add_child(w, c, 0, child_columns(p, c, (int32_t)n), L, rows);
}

// What children leave beyond them, once U = -L_rc L_rc' has been written.
static void gather_rest(const factorWork *w, int32_t s, tdReal *U)
{
    const tdFactorPlan *p = w->plan;
    int32_t n = columns_of(p, s);
    int64_t m = below_of(p, s);
    for (int32_t c = p->child[s]; c >= 0; c = p->next[c])
        add_child(w, c, child_columns(p, c, n), below_of(p, c), U - n - n * m, m);
}

// ---------------------------------------------------------------- fronts

// A front while its columns are factored in blocks, from left to right: [begin, begin + k) is the present one.
typedef struct frontWork
{
    tdReal *L, *U;
    int n, rows; // of the supernode; rows is the stride too
    int span;    // rows that are factored
    int begin, k;
    tdIsa isa;
    tdReal inverse[TD_FACTOR_BLOCK]; // of the diagonal of the present block
} frontWork;

static int least(int a, int b)
{
    return a < b ? a : b;
}

#if defined(__x86_64__)
static void multiply_wide(const tdRealProduct *product)
{
    tdRealProduct p = *product;
    for (int k = 0; k < product->depth; k += p.depth)
    {
        p.depth = least(product->depth - k, product->depth - k < 2 * CHUNK ? 2 * CHUNK : CHUNK);
        TD_REAL_KERNEL(td_factor_product, avx512)(&p);
        p.A += (int64_t)p.depth * p.a_stride;
        p.B += (int64_t)p.depth * p.b_stride;
        p.add = true;
    }
}
#endif

// Deep products are the library's, which copies its operands first, where its vectors are no shorter.
static void multiply(const tdRealProduct *p, tdIsa isa)
{
    bool deep = p->depth >= DEEP;
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX512 && deep)
    {
        multiply_wide(p);
        return;
    }
#endif
    if (deep && p->rows >= DEEP && !p->lower)
        td_real_gemm(CblasColMajor, CblasNoTrans, CblasTrans, p->rows, p->columns, p->depth, -1, p->A, p->a_stride,
                     p->B, p->b_stride, p->add ? 1 : 0, p->C, p->c_stride);
    else if (deep && p->rows >= DEEP && !p->add)
        td_real_syrk(CblasColMajor, CblasLower, CblasNoTrans, p->rows, p->depth, -1, p->A, p->a_stride, 0, p->C,
                     p->c_stride);
    else
        TD_REAL_CALL(td_factor_product, isa, true, p);
}

// Rows [first, first + m) of the block, less what the columns before it give.
static void update_rows(const frontWork *f, int first, int m)
{
    tdRealProduct p = {m, f->k, f->begin, f->L + first, f->rows, f->L + f->begin, f->rows, NULL, f->rows, true, false};
    p.C = f->L + (int64_t)f->begin * f->rows + first;
    if (f->begin > 0 && m > 0)
        multiply(&p, f->isa);
}

// Rows below the triangle of the block, divided by it.
static void divide_rows(const frontWork *f, int first, int m)
{
    tdReal *block = f->L + (int64_t)f->begin * f->rows;
    TD_REAL_CALL(td_factor_divide, f->isa, true, f->k, m, block + f->begin, f->rows, f->inverse, block + first,
                 f->rows);
}

static bool factor_triangle(frontWork *f)
{
    tdReal *A = f->L + (int64_t)f->begin * f->rows + f->begin;
    return TD_REAL_CALL(td_factor_triangle, f->isa, true, f->k, A, f->rows, f->inverse);
}

// Lower triangle of the tile of U at rows a, columns b: U = -L_r L_r'.
static void square_tile(const frontWork *f, int a, int m, int b, int n)
{
    int rest = f->rows - f->n;
    const tdReal *L = f->L + f->n;
    tdRealProduct p = {m, n, f->n, L + a, f->rows, L + b, f->rows, f->U + a + (int64_t)b * rest, rest, false, a == b};
    multiply(&p, f->isa);
}

static frontWork front_of(const factorWork *w, int32_t s)
{
    return (frontWork){.L = w->x + ((const int32_t *)w->plan->shape->px)[s],
                       .U = w->work + w->plan->update_at[s],
                       .n = columns_of(w->plan, s),
                       .rows = rows_of(w->plan, s),
                       .span = rows_of(w->plan, s),
                       .isa = w->isa};
}

static bool factor_columns(frontWork *f)
{
    for (f->begin = 0; f->begin < f->n; f->begin += f->k)
    {
        f->k = least(TD_FACTOR_BLOCK, f->n - f->begin);
        update_rows(f, f->begin, f->span - f->begin);
        if (!factor_triangle(f))
            return false;
        divide_rows(f, f->begin + f->k, f->span - f->begin - f->k);
    }
    return true;
}

#define PACKED 1024 // numbers of a panel that is packed for its square

static void square(const frontWork *f, tdReal *pack)
{
    int m = f->rows - f->n;
    if (m * f->n < PACKED)
        square_tile(f, 0, m, 0, m);
    else
        TD_REAL_CALL(td_factor_square, f->isa, true, m, f->n, f->L + f->n, f->rows, f->U, m, pack);
}

// tree: that it is of, whose room it uses
static bool factor_super(const factorWork *w, int32_t s, int tree)
{
    frontWork f = front_of(w, s);
    gather_columns(w, s, f.L);
    if (!factor_columns(&f))
        return false;
    if (f.rows > f.n)
        square(&f, w->work + w->plan->pack_at[tree]);
    gather_rest(w, s, f.U);
    return true;
}

// Asked behind fronts that take a millisecond or so.
static bool ends_early(const factorWork *w, int32_t s)
{
    return super_flops(w->plan, s) > 1e7 && td_tasks_cancelled(w->tasks);
}

static void factor_tree(void *context, int tree)
{
    factorWork *w = context;
    for (int32_t s = w->plan->tree_first[tree]; s <= w->plan->tree_last[tree] && !atomic_load(&w->failed); s++)
        if (!factor_super(w, s, tree) || ends_early(w, s))
            atomic_store(&w->failed, true);
}

// ---------------------------------------------------------------- large fronts, shared among threads

static void update_piece(void *context, int piece)
{
    const frontWork *f = context;
    int first = f->begin + piece * TILE;
    update_rows(f, first, least(TILE, f->rows - first));
}

static void divide_piece(void *context, int piece)
{
    const frontWork *f = context;
    int first = f->begin + f->k + piece * TILE;
    divide_rows(f, first, least(TILE, f->rows - first));
}

// Tiles of the lower triangle, by rows of tiles.
static void square_piece(void *context, int piece)
{
    const frontWork *f = context;
    int i = 0, rest = f->rows - f->n;
    while ((i + 1) * (i + 2) / 2 <= piece)
        i++;
    int a = i * TILE, b = (piece - i * (i + 1) / 2) * TILE;
    square_tile(f, a, least(TILE, rest - a), b, least(TILE, rest - b));
}

static bool factor_large(const factorWork *w, tdTasks *tasks, int32_t s)
{
    frontWork f = front_of(w, s);
    gather_columns(w, s, f.L);
    for (f.begin = 0; f.begin < f.n; f.begin += f.k)
    {
        f.k = least(TD_FACTOR_BLOCK, f.n - f.begin);
        if (td_tasks_cancelled(tasks))
            return false;
        td_parallel(tasks, td_pieces(f.rows - f.begin, TILE), update_piece, &f);
        if (!factor_triangle(&f))
            return false;
        td_parallel(tasks, td_pieces(f.rows - f.begin - f.k, TILE), divide_piece, &f);
    }
    int tiles = td_pieces(f.rows - f.n, TILE);
    td_parallel(tasks, tiles * (tiles + 1) / 2, square_piece, &f);
    gather_rest(w, s, f.U);
    return true;
}

bool TD_REAL_NAME(td_factor_fill)(const tdFactorPlan *plan, tdTasks *tasks, const double *values, tdReal *work,
                                  tdReal *x)
{
    factorWork w = {
        .plan = plan, .tasks = tasks, .values = values, .x = x, .work = work, .isa = td_isa_pick_wide(false)};
    atomic_init(&w.failed, false);
    td_parallel(tasks, plan->n_trees, factor_tree, &w);
    bool good = !atomic_load(&w.failed);
    for (int32_t k = 0; k < plan->n_top && good; k++)
        good = rows_of(plan, plan->top[k]) >= LARGE_FRONT
                   ? factor_large(&w, tasks, plan->top[k])
                   : factor_super(&w, plan->top[k], plan->n_trees) && !ends_early(&w, plan->top[k]);
    return good;
}
