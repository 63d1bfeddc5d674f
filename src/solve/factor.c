// SPDX-License-Identifier: Apache-2.0
// See factor.h.
#include "solve/factor.h"

#include <cblas.h>
#include <cholmod.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TREES  32
#define LEAST_FLOPS 2e7 // of a factorization that is worth cutting into trees
#define TILE        192
#define DEEP        96  // from where products are worth copying their operands for
#define LARGE_FRONT 384 // rows from which a front above the trees is cut into tiles

#if defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

static int32_t first_of(const tdFactorPlan *p, int32_t s)
{
    return ((const int32_t *)p->shape->super)[s];
}

static int32_t columns_of(const tdFactorPlan *p, int32_t s)
{
    return first_of(p, s + 1) - first_of(p, s);
}

static int32_t rows_at(const tdFactorPlan *p, int32_t s)
{
    return ((const int32_t *)p->shape->pi)[s];
}

static int32_t rows_of(const tdFactorPlan *p, int32_t s)
{
    return rows_at(p, s + 1) - rows_at(p, s);
}

static int64_t below_of(const tdFactorPlan *p, int32_t s)
{
    return rows_of(p, s) - columns_of(p, s);
}

static const int32_t *list_of(const tdFactorPlan *p, int32_t s)
{
    return (const int32_t *)p->shape->s + rows_at(p, s);
}

static double super_flops(const tdFactorPlan *p, int32_t s)
{
    double n = columns_of(p, s), m = (double)below_of(p, s);
    return n * n * n / 3 + n * n * m + n * m * m;
}

// ---------------------------------------------------------------- structure

// Parents, children and the rows of each supernode in the front of its parent. super: by place.
static void find_relatives(tdFactorPlan *p, int32_t *super, int32_t *where)
{
    for (int32_t s = 0; s < p->supers; s++)
    {
        p->child[s] = p->next[s] = -1;
        for (int32_t c = first_of(p, s); c < first_of(p, s + 1); c++)
            super[c] = s;
    }
    for (int32_t s = p->supers - 1; s >= 0; s--) // backwards: lists of children ascend
    {
        p->parent[s] = below_of(p, s) == 0 ? -1 : super[list_of(p, s)[columns_of(p, s)]];
        if (p->parent[s] < 0)
            continue;
        p->next[s] = p->child[p->parent[s]];
        p->child[p->parent[s]] = s;
    }
    for (int32_t s = 0; s < p->supers; s++)
    {
        const int32_t *list = list_of(p, s);
        for (int32_t i = 0; i < rows_of(p, s); i++)
            where[list[i]] = i;
        for (int32_t c = p->child[s]; c >= 0; c = p->next[c])
            for (int32_t i = columns_of(p, c); i < rows_of(p, c); i++)
                p->relative[rows_at(p, c) + i] = where[list_of(p, c)[i]];
    }
}

static void list_runs(tdFactorPlan *p)
{
    int32_t at = 0;
    for (int32_t s = 0; s < p->supers; s++)
    {
        const int32_t *to = p->relative + rows_at(p, s) + columns_of(p, s);
        int32_t m = (int32_t)below_of(p, s);
        p->run_at[s] = at;
        for (int32_t i = 0; i < m; i++)
            if (i == 0 || to[i] != to[i - 1] + 1)
                p->runs[at++] = (tdFactorRun){i, to[i]};
        p->runs[at++] = (tdFactorRun){m, 0};
    }
}

// Entries of A by supernode of their column in the factor. super, place, where: scratch over places and unknowns.
static void list_entries(tdFactorPlan *p, const tdFactorMatrix *m, const int32_t *super, int32_t *place, int32_t *where)
{
    const int32_t *order = p->shape->Perm, *value_at = p->shape->px;
    for (int32_t i = 0; i < p->n; i++)
        place[order[i]] = i;
    for (int pass = 0; pass < 2; pass++)
    {
        for (int32_t j = 0; j < m->n; j++)
            for (int32_t k = m->start[j]; k < m->start[j + 1]; k++)
            {
                int32_t a = place[j], b = place[m->row[k]], column = a < b ? a : b, row = a < b ? b : a;
                if (pass == 0)
                    p->entry_at[super[column] + 1]++;
                else
                {
                    int32_t at = p->entry_at[super[column]]++;
                    p->entry_from[at] = m->source != NULL ? m->source[k] : k;
                    p->entry_to[at] = ((int64_t)column << 32) | row;
                }
            }
        for (int32_t s = 0; s < p->supers && pass == 0; s++)
            p->entry_at[s + 1] += p->entry_at[s];
    }
    for (int32_t s = p->supers; s > 0; s--) // what the second pass moved
        p->entry_at[s] = p->entry_at[s - 1];
    p->entry_at[0] = 0;
    for (int32_t s = 0; s < p->supers; s++)
    {
        const int32_t *list = list_of(p, s);
        for (int32_t i = 0; i < rows_of(p, s); i++)
            where[list[i]] = i;
        for (int32_t k = p->entry_at[s]; k < p->entry_at[s + 1]; k++)
        {
            int64_t column = (p->entry_to[k] >> 32) - first_of(p, s);
            p->entry_to[k] = value_at[s] + column * rows_of(p, s) + where[(int32_t)(p->entry_to[k] & 0xffffffff)];
        }
    }
}

// Cuts the heaviest subtrees at their roots until the pieces are small. Columns are in postorder, so that a subtree is
// a range of supernodes that ends with its root. begin: first supernode of the subtree.
static void cut_trees(tdFactorPlan *p, double *weight, int32_t *begin, char *kind)
{
    enum
    {
        INSIDE,
        ROOT,
        TOP
    };
    for (int32_t s = 0; s < p->supers; s++)
    {
        begin[s] = s;
        weight[s] = 0;
        kind[s] = INSIDE;
    }
    for (int32_t s = 0; s < p->supers; s++)
    {
        int32_t parent = p->parent[s];
        double own = super_flops(p, s);
        weight[s] += own;
        p->flops += own;
        if (parent < 0)
            kind[s] = ROOT;
        else
        {
            weight[parent] += weight[s];
            begin[parent] = begin[s] < begin[parent] ? begin[s] : begin[parent];
        }
    }
    for (;;)
    {
        int32_t heaviest = -1, pieces = 0;
        for (int32_t s = 0; s < p->supers; s++)
            if (kind[s] == ROOT)
            {
                pieces++;
                heaviest = heaviest < 0 || weight[s] > weight[heaviest] ? s : heaviest;
            }
        if (heaviest < 0 || p->flops < LEAST_FLOPS || weight[heaviest] < p->flops / 16 || pieces > MOST_TREES - 4)
            break;
        kind[heaviest] = TOP;
        for (int32_t c = p->child[heaviest]; c >= 0; c = p->next[c])
            kind[c] = ROOT;
    }
    for (int32_t s = 0; s < p->supers; s++)
        if (kind[s] == ROOT)
        {
            p->tree_first[p->n_trees] = begin[s];
            p->tree_last[p->n_trees++] = s;
        }
        else if (kind[s] == TOP)
            p->top[p->n_top++] = s;
}

// Numbers that a front packs for its square.
static int64_t pack_size(const tdFactorPlan *p, int32_t s)
{
    return (below_of(p, s) + 3) / 4 * 4 * columns_of(p, s);
}

// Room for the largest of these, by tree; fronts above the trees are factored one after the other.
static void place_packs(tdFactorPlan *p)
{
    for (int32_t t = 0; t <= p->n_trees; t++)
    {
        int64_t largest = 0;
        for (int32_t s = 0; t < p->n_trees && s <= p->tree_last[t] - p->tree_first[t]; s++)
            largest = pack_size(p, p->tree_first[t] + s) > largest ? pack_size(p, p->tree_first[t] + s) : largest;
        for (int32_t k = 0; t == p->n_trees && k < p->n_top; k++)
            largest = pack_size(p, p->top[k]) > largest ? pack_size(p, p->top[k]) : largest;
        p->pack_at[t] = p->room;
        p->room += (largest + 7) / 8 * 8;
    }
}

// Places for what supernodes leave. In a tree children stand before their parent, so that stacks do: one for each
// parity of the depth, since a supernode is written while its children are still read. Each of the top has its own.
// depth: scratch.
static void place_updates(tdFactorPlan *p, int32_t *depth)
{
    for (int32_t s = p->supers - 1; s >= 0; s--)
        depth[s] = p->parent[s] < 0 ? 0 : depth[p->parent[s]] + 1;
    for (int32_t t = 0; t < p->n_trees; t++)
        for (int parity = 0; parity < 2; parity++)
        {
            int64_t base = p->room, level = base;
            for (int32_t s = p->tree_first[t]; s <= p->tree_last[t]; s++)
                if (depth[s] % 2 == parity)
                {
                    p->update_at[s] = level;
                    level += below_of(p, s) * below_of(p, s);
                    p->room = level > p->room ? level : p->room;
                }
                else if (p->child[s] >= 0) // read for the last time
                    level = p->update_at[p->child[s]];
            p->room = (p->room + 7) / 8 * 8;
        }
    for (int32_t k = 0; k < p->n_top; k++)
    {
        int32_t s = p->top[k];
        p->update_at[s] = p->room;
        p->room += (below_of(p, s) * below_of(p, s) + 7) / 8 * 8;
    }
}

tdStatus td_factor_plan(const struct cholmod_factor_struct *symbolic, const tdFactorMatrix *matrix, tdFactorPlan *out,
                        tdError *error)
{
    *out = (tdFactorPlan){.shape = symbolic, .n = (int32_t)symbolic->n, .supers = (int32_t)symbolic->nsuper};
    int32_t supers = out->supers, entries = matrix->n > 0 ? matrix->start[matrix->n] : 0;
    tdArena *arena = &out->arena, scratch = {0};
    out->parent = TD_TAKE(arena, int32_t, supers);
    out->child = TD_TAKE(arena, int32_t, supers);
    out->next = TD_TAKE(arena, int32_t, supers);
    out->relative = TD_TAKE(arena, int32_t, rows_at(out, supers));
    out->run_at = TD_TAKE(arena, int32_t, supers);
    out->runs = TD_TAKE(arena, tdFactorRun, rows_at(out, supers) + supers);
    out->entry_at = TD_TAKE(arena, int32_t, supers + 2);
    out->entry_from = TD_TAKE(arena, int32_t, entries);
    out->entry_to = TD_TAKE(arena, int64_t, entries);
    out->tree_first = TD_TAKE(arena, int32_t, supers);
    out->tree_last = TD_TAKE(arena, int32_t, supers);
    out->top = TD_TAKE(arena, int32_t, supers);
    out->update_at = TD_TAKE(arena, int64_t, supers);
    out->pack_at = TD_TAKE(arena, int64_t, supers + 1);
    int32_t *super = TD_TAKE(&scratch, int32_t, out->n), *place = TD_TAKE(&scratch, int32_t, out->n);
    int32_t *where = TD_TAKE(&scratch, int32_t, out->n), *begin = TD_TAKE(&scratch, int32_t, supers);
    double *weight = TD_TAKE(&scratch, double, supers);
    char *kind = TD_TAKE(&scratch, char, supers);
    bool good = out->parent != NULL && out->child != NULL && out->next != NULL && out->relative != NULL &&
                out->run_at != NULL && out->runs != NULL && out->entry_at != NULL && out->entry_from != NULL &&
                out->entry_to != NULL && out->tree_first != NULL && out->tree_last != NULL && out->top != NULL &&
                out->update_at != NULL && out->pack_at != NULL && super != NULL && place != NULL && where != NULL &&
                begin != NULL && weight != NULL && kind != NULL;
    if (good)
    {
        find_relatives(out, super, where);
        list_runs(out);
        list_entries(out, matrix, super, place, where);
        cut_trees(out, weight, begin, kind);
        place_updates(out, begin);
        place_packs(out);
    }
    td_arena_free(&scratch);
    if (!good)
        td_factor_plan_free(out);
    return good ? TD_OK : td_fail_memory(error, "the factor of the matrix");
}

void td_factor_plan_free(tdFactorPlan *plan)
{
    td_arena_free(&plan->arena);
    *plan = (tdFactorPlan){0};
}

tdStatus td_factor_ready(struct cholmod_factor_struct *factor, struct cholmod_common_struct *common, tdError *error)
{
    if (factor->xtype == CHOLMOD_PATTERN && !cholmod_change_factor(CHOLMOD_REAL, 1, 1, 1, 1, factor, common))
        return td_fail(error, TD_ERROR_MEMORY, "the factor of the matrix needs %.1f GB; use a coarser mesh",
                       8e-9 * (double)factor->xsize);
    return TD_OK;
}

// ---------------------------------------------------------------- numbers

typedef struct factorWork
{
    const tdFactorPlan *plan;
    tdTasks *tasks; // asked whether to go on
    const double *values;
    double *x, *work;
    atomic_bool failed;
} factorWork;

// Adds columns [begin, end) of what a child leaves, by its own columns, to a front whose column c stands at to + c
// stride.
static void add_child(const factorWork *w, int32_t c, int64_t begin, int64_t end, double *to, int64_t stride)
{
    const tdFactorPlan *p = w->plan;
    const tdFactorRun *run = p->runs + p->run_at[c];
    const double *from = w->work + p->update_at[c];
    int size = (int)below_of(p, c);
#if defined(__x86_64__)
    if (has_avx2())
    {
        td_factor_add_avx2(run, (int)begin, (int)end, size, from, to, stride);
        return;
    }
#endif
    td_factor_add_portable(run, (int)begin, (int)end, size, from, to, stride);
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
static void gather_columns(const factorWork *w, int32_t s, double *L)
{
    const tdFactorPlan *p = w->plan;
    int64_t n = columns_of(p, s), rows = rows_of(p, s);
    memset(L, 0, (size_t)(n * rows) * sizeof *L);
    for (int32_t k = p->entry_at[s]; k < p->entry_at[s + 1]; k++)
        w->x[p->entry_to[k]] = w->values[p->entry_from[k]];
    for (int32_t c = p->child[s]; c >= 0; c = p->next[c])
        add_child(w, c, 0, child_columns(p, c, (int32_t)n), L, rows);
}

// What children leave beyond them, once U = -L_rc L_rc' has been written.
static void gather_rest(const factorWork *w, int32_t s, double *U)
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
    double *L, *U;
    int n, rows; // of the supernode; rows is the stride too
    int span;    // rows that are factored
    int begin, k;
    double inverse[TD_FACTOR_BLOCK]; // of the diagonal of the present block
} frontWork;

static int least(int a, int b)
{
    return a < b ? a : b;
}

// Deep products are the library's, which copies its operands first.
static void multiply(const tdProduct *p)
{
    if (p->depth >= DEEP && p->rows >= DEEP && !p->lower)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, p->rows, p->columns, p->depth, -1, p->A, p->a_stride, p->B,
                    p->b_stride, p->add ? 1 : 0, p->C, p->c_stride);
    else if (p->depth >= DEEP && p->rows >= DEEP && !p->add)
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, p->rows, p->depth, -1, p->A, p->a_stride, 0, p->C,
                    p->c_stride);
#if defined(__x86_64__)
    else if (has_avx2())
        td_factor_product_avx2(p);
#endif
    else
        td_factor_product_portable(p);
}

// Rows [first, first + m) of the block, less what the columns before it give.
static void update_rows(const frontWork *f, int first, int m)
{
    tdProduct p = {m, f->k, f->begin, f->L + first, f->rows, f->L + f->begin, f->rows, NULL, f->rows, true, false};
    p.C = f->L + (int64_t)f->begin * f->rows + first;
    if (f->begin > 0 && m > 0)
        multiply(&p);
}

// Rows below the triangle of the block, divided by it.
static void divide_rows(const frontWork *f, int first, int m)
{
    double *block = f->L + (int64_t)f->begin * f->rows;
#if defined(__x86_64__)
    if (has_avx2())
    {
        td_factor_divide_avx2(f->k, m, block + f->begin, f->rows, f->inverse, block + first, f->rows);
        return;
    }
#endif
    td_factor_divide_portable(f->k, m, block + f->begin, f->rows, f->inverse, block + first, f->rows);
}

static bool factor_triangle(frontWork *f)
{
    double *A = f->L + (int64_t)f->begin * f->rows + f->begin;
#if defined(__x86_64__)
    if (has_avx2())
        return td_factor_triangle_avx2(f->k, A, f->rows, f->inverse);
#endif
    return td_factor_triangle_portable(f->k, A, f->rows, f->inverse);
}

// Lower triangle of the tile of U at rows a, columns b: U = -L_r L_r'.
static void square_tile(const frontWork *f, int a, int m, int b, int n)
{
    int rest = f->rows - f->n;
    const double *L = f->L + f->n;
    tdProduct p = {m, n, f->n, L + a, f->rows, L + b, f->rows, f->U + a + (int64_t)b * rest, rest, false, a == b};
    multiply(&p);
}

static frontWork front_of(const factorWork *w, int32_t s)
{
    return (frontWork){.L = w->x + ((const int32_t *)w->plan->shape->px)[s],
                       .U = w->work + w->plan->update_at[s],
                       .n = columns_of(w->plan, s),
                       .rows = rows_of(w->plan, s),
                       .span = rows_of(w->plan, s)};
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

#define SMALL_PANEL 24 // columns up to which the bits are the same on any machine

// Column by column, each taken from those behind it.
static bool factor_small(int n, int rows, double *L, int stride)
{
    for (int j = 0; j < n; j++)
    {
        double *l = L + (int64_t)j * stride;
        if (!(l[j] > 0)) // not a number too
            return false;
        double scale = 1 / sqrt(l[j]);
        for (int i = j; i < rows; i++)
            l[i] *= scale;
        for (int c = j + 1; c < n; c++)
        {
            double *to = L + (int64_t)c * stride, f = l[c];
            for (int i = c; i < rows; i++)
                to[i] -= f * l[i];
        }
    }
    return true;
}

bool td_factor_panel(int n, int rows, double *L, int stride)
{
    if (n <= SMALL_PANEL)
        return factor_small(n, rows, L, stride);
    frontWork f = {.L = L, .n = n, .rows = stride, .span = rows};
    return factor_columns(&f);
}

#define PACKED 1024 // numbers of a panel that is packed for its square

static void square(const frontWork *f, double *pack)
{
    int m = f->rows - f->n;
    if (m * f->n < PACKED)
        square_tile(f, 0, m, 0, m);
#if defined(__x86_64__)
    else if (has_avx2())
        td_factor_square_avx2(m, f->n, f->L + f->n, f->rows, f->U, m, pack);
#endif
    else
        td_factor_square_portable(m, f->n, f->L + f->n, f->rows, f->U, m, pack);
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

bool td_factor_numbers(const tdFactorPlan *plan, tdTasks *tasks, const double *values, double *work,
                       struct cholmod_factor_struct *factor)
{
    factorWork w = {.plan = plan, .tasks = tasks, .values = values, .x = factor->x, .work = work};
    atomic_init(&w.failed, false);
    td_parallel(tasks, plan->n_trees, factor_tree, &w);
    bool good = !atomic_load(&w.failed);
    for (int32_t k = 0; k < plan->n_top && good; k++)
        good = rows_of(plan, plan->top[k]) >= LARGE_FRONT
                   ? factor_large(&w, tasks, plan->top[k])
                   : factor_super(&w, plan->top[k], plan->n_trees) && !ends_early(&w, plan->top[k]);
    factor->minor = good ? factor->n : 0;
    return good;
}
