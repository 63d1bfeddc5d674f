// SPDX-License-Identifier: Apache-2.0
// Islands with sparse blocks: bodies of which so many velocities take part that all do. A body of N nodes with
// thousands of contact points is then no denser than it is without them.
//
//     H = A + J' G J
//
// is a sparse matrix: a constraint joins the places of its columns, most of which A joins already. Its structure is
// analysed when it changes, which points that touch what does not move never do. A row of very many columns (a cable, a
// chamber) would fill it: it is a border,
//
//     H^-1 b = x - Z (G^-1 + J Z)^-1 J x,   x = H_n^-1 b,   Z = H_n^-1 J'        H_n: of the narrow rows
//
// Places are the blocks' velocities one after the other; the order of elimination is CHOLMOD's affair.
#include "base/lapack.h"
#include "solve/linear.h"
#include "solve/sap_plan.h"

#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

#define WIDE        128 // columns of a row from which on it is a border
#define MOST_KEPT   4   // structures that are kept
#define MOST_BORDER 64  // rows

typedef struct tdSapFactor
{
    struct tdSapFactor *next;
    cholmod_common common;
    cholmod_factor *factor;
    tdFactorPlan plan;
    int32_t n, *start, *row; // the structure that was analysed
    int64_t start_room, row_room, value_room, work_room;
    double *values, *work;
    tdArena arena; // of the next two
    tdTriangularShape shape;
    tdSubstitution substitution;
    bool in_use;
    // of this solution
    const int32_t *from; // by entry of the members' A, one after the other: its place in the structure
    int n_borders;
    int32_t *borders; // links
    double *Z;        // n a wide link
    double *C;        // factor of G^-1 + J Z
    double *small;    // 2 n_borders
    double *r;        // n
} tdSapFactor;

static void free_numbers(tdSapFactor *f)
{
    td_factor_plan_free(&f->plan);
    td_arena_free(&f->arena);
    cholmod_free_factor(&f->factor, &f->common);
}

void td_sap_sparse_free(tdSapFactor *f)
{
    while (f != NULL)
    {
        tdSapFactor *next = f->next;
        free_numbers(f);
        cholmod_finish(&f->common);
        free(f->start);
        free(f->row);
        free(f->values);
        free(f->work);
        free(f);
        f = next;
    }
}

void td_sap_sparse_start(tdSap *sap)
{
    for (tdSapFactor *f = sap->factors; f != NULL; f = f->next)
        f->in_use = false;
}

// ---------------------------------------------------------------- places

static bool gather(tdStack *stack, const tdSapProblem *problem, const int32_t *first, tdSapIsland *island)
{
    int32_t *mark = TD_STACK_TAKE(stack, int32_t, island->n), *place = TD_STACK_TAKE(stack, int32_t, island->n);
    for (int32_t i = 0; i < island->n && !stack->failed; i++)
        place[i] = i;
    for (int32_t k = 0; k < island->n_members; k++)
    {
        tdSapMember *member = &island->members[k];
        int32_t n = problem->blocks[member->block].n;
        member->patch = (tdSapPatch){.n = n, .at = TD_STACK_TAKE(stack, int32_t, n)};
        member->column = TD_STACK_TAKE(stack, int32_t, n);
        member->in = TD_STACK_TAKE(stack, double, n);
        member->out = TD_STACK_TAKE(stack, double, n);
        for (int32_t i = 0; i < n && !stack->failed; i++)
        {
            member->patch.at[i] = member->first + i;
            member->column[i] = i;
        }
    }
    for (int32_t l = 0; l < island->n_links && !stack->failed; l++)
        td_sap_gather_link(stack, problem, first, place, mark, &island->links[l]);
    return !stack->failed;
}

// ---------------------------------------------------------------- structure

static bool is_wide(const tdSapLink *link)
{
    return link->law->rows == 1 && link->patch.n > WIDE;
}

// Place of row i in a list of ascending rows, or -1.
static int32_t find(const int32_t *row, int32_t begin, int32_t end, int32_t i)
{
    while (begin < end)
    {
        int32_t middle = begin + (end - begin) / 2;
        if (row[middle] < i)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

// The lower triangle by columns, in places of the island.
typedef struct structure
{
    int32_t *start, *row;
    int32_t *from; // by entry of the members
} structure;

// A pair of places that no block joins.
typedef struct extraPair
{
    int32_t column, row;
} extraPair;

static int compare_pairs(const void *a, const void *b)
{
    const extraPair *x = a, *y = b;
    int columns = (x->column > y->column) - (x->column < y->column);
    return columns != 0 ? columns : (x->row > y->row) - (x->row < y->row);
}

// Whether the block of a member joins two of its places.
static bool joins(const tdSapProblem *problem, const tdSapIsland *island, const int32_t *member_of, int32_t column,
                  int32_t row)
{
    if (member_of[column] != member_of[row])
        return false;
    const tdSapMember *member = &island->members[member_of[column]];
    const tdSapSparse *sparse = problem->blocks[member->block].sparse;
    if (sparse == NULL)
        return true;
    int32_t j = column - member->first, i = row - member->first;
    int32_t at = find(sparse->row, sparse->start[j], sparse->start[j + 1], i);
    return at < sparse->start[j + 1] && sparse->row[at] == i;
}

static int64_t list_extra(const tdSapProblem *problem, const tdSapIsland *island, const int32_t *member_of,
                          extraPair *out)
{
    int64_t n = 0;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapPatch *patch = &island->links[l].patch;
        for (int32_t j = 0; j < patch->n && !is_wide(&island->links[l]); j++)
            for (int32_t i = j + 1; i < patch->n; i++)
                if (!joins(problem, island, member_of, patch->at[j], patch->at[i]))
                {
                    if (out != NULL)
                        out[n] = (extraPair){patch->at[j], patch->at[i]};
                    n++;
                }
    }
    if (out == NULL || n == 0)
        return n;
    qsort(out, (size_t)n, sizeof *out, compare_pairs);
    int64_t unique = 0;
    for (int64_t k = 0; k < n; k++)
        if (k == 0 || compare_pairs(&out[k], &out[unique - 1]) != 0)
            out[unique++] = out[k];
    return unique;
}

// Rows of a column of a member, ascending: entry e of them.
static int32_t column_count(const tdSapBlock *block, int32_t j)
{
    return block->sparse != NULL ? block->sparse->start[j + 1] - block->sparse->start[j] : block->n - j;
}

static bool make_structure(tdStack *stack, const tdSapProblem *problem, tdSapIsland *island, structure *out)
{
    int32_t *member_of = TD_STACK_TAKE(stack, int32_t, island->n);
    int64_t entries = 0;
    for (int32_t k = 0; k < island->n_members && !stack->failed; k++)
    {
        const tdSapBlock *block = &problem->blocks[island->members[k].block];
        for (int32_t j = 0; j < block->n; j++)
        {
            member_of[island->members[k].first + j] = k;
            entries += column_count(block, j);
        }
    }
    if (stack->failed)
        return false;
    int64_t n_extra = list_extra(problem, island, member_of, NULL);
    extraPair *extra = TD_STACK_TAKE(stack, extraPair, n_extra);
    out->start = TD_STACK_TAKE(stack, int32_t, island->n + 1);
    out->row = TD_STACK_TAKE(stack, int32_t, entries + n_extra);
    out->from = TD_STACK_TAKE(stack, int32_t, entries);
    if (stack->failed || entries + n_extra > INT32_MAX)
        return false;
    n_extra = n_extra == 0 ? 0 : list_extra(problem, island, member_of, extra);
    int32_t at = 0, entry = 0;
    int64_t next = 0;
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapMember *member = &island->members[k];
        const tdSapBlock *block = &problem->blocks[member->block];
        for (int32_t j = 0; j < block->n; j++)
        {
            int32_t column = member->first + j, count = column_count(block, j);
            out->start[column] = at;
            for (int32_t e = 0; e < count; e++)
            {
                int32_t i =
                    member->first + (block->sparse != NULL ? block->sparse->row[block->sparse->start[j] + e] : j + e);
                for (; next < n_extra && extra[next].column == column && extra[next].row < i; next++)
                    out->row[at++] = extra[next].row;
                out->from[entry++] = at;
                out->row[at++] = i;
            }
            for (; next < n_extra && extra[next].column == column; next++)
                out->row[at++] = extra[next].row;
        }
    }
    out->start[island->n] = at;
    return true;
}

// Entries of each pair of places of a narrow link, columns first.
static bool place_links(tdStack *stack, tdSapIsland *island, const structure *s)
{
    for (int32_t l = 0; l < island->n_links; l++)
    {
        tdSapLink *link = &island->links[l];
        const tdSapPatch *patch = &link->patch;
        link->entry = NULL;
        link->border = NULL;
        if (!is_wide(link))
            link->entry = TD_STACK_TAKE(stack, int32_t, (int64_t)patch->n * (patch->n + 1) / 2);
        if (stack->failed)
            return false;
        int32_t k = 0;
        for (int32_t j = 0; j < patch->n && link->entry != NULL; j++)
            for (int32_t i = j; i < patch->n; i++)
                link->entry[k++] = find(s->row, s->start[patch->at[j]], s->start[patch->at[j] + 1], patch->at[i]);
    }
    return true;
}

// ---------------------------------------------------------------- analysis

// One sparse block keeps its own order, and what it touches comes last; several are ordered anew.
static bool given_order(const tdSapProblem *problem, const tdSapIsland *island, int32_t *order)
{
    const tdSapMember *sparse = NULL;
    int32_t at = 0;
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapMember *member = &island->members[k];
        if (problem->blocks[member->block].sparse == NULL)
            continue;
        if (sparse != NULL)
            return false;
        sparse = member;
    }
    const tdSapBlock *block = &problem->blocks[sparse->block];
    if (block->sparse->order == NULL)
        return false;
    for (int32_t i = 0; i < block->n; i++)
        order[at++] = sparse->first + block->sparse->order[i];
    for (int32_t i = 0; i < island->n; i++)
        if (i < sparse->first || i >= sparse->first + block->n)
            order[at++] = i;
    return true;
}

static tdStatus analyse(tdSapFactor *f, const tdSapProblem *problem, const tdSapIsland *island, tdError *error)
{
    free_numbers(f);
    cholmod_sparse A = td_cholmod_lower(f->n, f->start, f->row);
    int32_t *order = td_take((size_t)f->n, sizeof *order);
    if (order == NULL)
        return td_fail_memory(error, "the contact problem");
    bool given = given_order(problem, island, order);
    int levels = td_openmp_quiet();
    f->common.nmethods = 1;
    f->common.method[0].ordering = given ? CHOLMOD_GIVEN : CHOLMOD_METIS;
    f->common.postorder = 1;
    f->factor = cholmod_analyze_p(&A, given ? order : NULL, NULL, 0, &f->common);
    td_openmp_restore(levels);
    free(order);
    if (f->factor == NULL)
        return td_fail_memory(error, "the contact problem");
    tdFactorMatrix matrix = {f->n, f->start, f->row, NULL};
    TD_TRY(td_factor_plan(f->factor, &matrix, &f->plan, error));
    TD_TRY(td_factor_ready(f->factor, &f->common, error));
    if (!td_grow((void **)&f->values, &f->value_room, f->start[f->n], sizeof *f->values) ||
        !td_grow((void **)&f->work, &f->work_room, f->plan.room, sizeof *f->work))
        return td_fail_memory(error, "the contact problem");
    TD_TRY(td_triangular_shape(&f->arena, f->factor, &f->shape, error));
    // By the machine's own kernels, as the factor is made.
    return td_substitution_create(&f->arena, &f->shape, td_isa_pick(false), &f->substitution, error);
}

static bool is_same(const tdSapFactor *f, int32_t n, const structure *s)
{
    return f->factor != NULL && f->n == n && memcmp(f->start, s->start, ((size_t)n + 1) * sizeof *s->start) == 0 &&
           memcmp(f->row, s->row, (size_t)s->start[n] * sizeof *s->row) == 0;
}

// The kept factor of this structure; else the one that was used longest ago is taken for it.
static tdStatus choose(tdSap *sap, const tdSapProblem *problem, tdSapIsland *island, const structure *s, tdError *error)
{
    tdSapFactor **at = &sap->factors, *f = NULL;
    int kept = 0;
    for (; *at != NULL; at = &(*at)->next)
    {
        kept++;
        if (!(*at)->in_use && is_same(*at, island->n, s))
            break;
        if ((*at)->next == NULL && kept >= MOST_KEPT && !(*at)->in_use)
            break;
    }
    if (*at == NULL)
    {
        f = td_take(1, sizeof *f);
        if (f == NULL)
            return td_fail_memory(error, "the contact problem");
        td_cholmod_start(&f->common);
    }
    else
    {
        f = *at;
        *at = f->next;
    }
    f->next = sap->factors; // most recent first
    sap->factors = f;
    f->in_use = true;
    f->from = s->from;
    island->factor = f;
    if (is_same(f, island->n, s))
        return TD_OK;
    sap->stack.grown = true;
    f->n = island->n;
    if (!td_grow((void **)&f->start, &f->start_room, island->n + 1, sizeof *f->start) ||
        !td_grow((void **)&f->row, &f->row_room, s->start[island->n], sizeof *f->row))
        return td_fail_memory(error, "the contact problem");
    memcpy(f->start, s->start, ((size_t)island->n + 1) * sizeof *f->start);
    memcpy(f->row, s->row, (size_t)s->start[island->n] * sizeof *f->row);
    return analyse(f, problem, island, error);
}

tdStatus td_sap_sparse_order(tdSap *sap, const tdSapProblem *problem, const int32_t *first, tdSapIsland *island,
                             tdError *error)
{
    tdStack *stack = &sap->stack;
    structure s;
    if (!gather(stack, problem, first, island) || !make_structure(stack, problem, island, &s) ||
        !place_links(stack, island, &s))
        return td_fail_memory(error, "the contact problem");
    TD_TRY(choose(sap, problem, island, &s, error));
    tdSapFactor *f = island->factor;
    f->borders = TD_STACK_TAKE(stack, int32_t, MOST_BORDER);
    int32_t wide = 0;
    for (int32_t l = 0; l < island->n_links; l++)
        wide += is_wide(&island->links[l]);
    f->Z = TD_STACK_TAKE(stack, double, (int64_t)(wide < MOST_BORDER ? wide : MOST_BORDER) * island->n);
    f->C = TD_STACK_TAKE(stack, double, (int64_t)MOST_BORDER *MOST_BORDER);
    f->small = TD_STACK_TAKE(stack, double, 2 * MOST_BORDER);
    f->r = TD_STACK_TAKE(stack, double, island->n);
    if (stack->failed)
        return td_fail_memory(error, "the contact problem");
    island->sparse = true;
    island->n_trees = 2; // it shares the threads
    island->flops = f->plan.flops;
    return TD_OK;
}

// ---------------------------------------------------------------- numbers

void td_sap_sparse_multiply(const tdSapSparse *A, int32_t n, const double *x, double *y)
{
    memset(y, 0, (size_t)n * sizeof *y);
    for (int32_t j = 0; j < n; j++)
    {
        int32_t k = A->start[j];
        double sum = A->values[A->source != NULL ? A->source[k] : k] * x[j];
        for (k++; k < A->start[j + 1]; k++)
        {
            double a = A->values[A->source != NULL ? A->source[k] : k];
            sum += a * x[A->row[k]];
            y[A->row[k]] += a * x[j];
        }
        y[j] += sum;
    }
}

static void assemble(const tdSapProblem *problem, tdSapIsland *island, double shift)
{
    tdSapFactor *f = island->factor;
    int32_t entry = 0;
    memset(f->values, 0, (size_t)f->start[f->n] * sizeof *f->values);
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapBlock *block = &problem->blocks[island->members[k].block];
        const tdSapSparse *sparse = block->sparse;
        for (int32_t j = 0; j < block->n; j++)
            for (int32_t e = 0, count = column_count(block, j); e < count; e++, entry++)
            {
                int32_t at = sparse != NULL ? sparse->start[j] + e : 0;
                double a = sparse == NULL           ? block->A[j + e + (int64_t)j * block->stride]
                           : sparse->source != NULL ? sparse->values[sparse->source[at]]
                                                    : sparse->values[at];
                f->values[f->from[entry]] += e == 0 ? (1 + shift) * a : a;
            }
    }
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        int32_t n = link->patch.n, k = 0;
        if (link->idle || link->entry == NULL)
            continue;
        for (int32_t j = 0; j < n; j++)
            for (int32_t i = j; i < n; i++, k++)
                for (int r = 0; r < link->law->rows; r++)
                    f->values[link->entry[k]] += link->J[r * (int64_t)n + i] * link->T[r * (int64_t)n + j];
    }
}

// x = H_n^-1 x for `count` columns, one after the other
static void solve(tdSapFactor *f, tdTasks *tasks, int count, double *x)
{
    tdSubstituteTask task = {.values = f->factor->x, .b = x, .x = x, .more = count - 1, .stride = f->n};
    task.more_b = task.more_x = x + f->n;
    if (count > 0)
        td_substitute(&f->substitution, tasks, &task);
}

static double dot_row(const tdSapLink *link, const double *x)
{
    double sum = 0;
    for (int32_t i = 0; i < link->patch.n; i++)
        sum += link->J[i] * x[link->patch.at[i]];
    return sum;
}

static void add_row(const tdSapLink *link, double times, double *x)
{
    for (int32_t i = 0; i < link->patch.n; i++)
        x[link->patch.at[i]] += times * link->J[i];
}

static double slope_of(const tdSapIsland *island, int32_t l)
{
    return island->G[(int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l];
}

static bool make_borders(tdSapIsland *island, tdTasks *tasks)
{
    tdSapFactor *f = island->factor;
    int info = 0;
    f->n_borders = 0;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        tdSapLink *link = &island->links[l];
        if (link->idle || !is_wide(link))
            continue;
        if (f->n_borders == MOST_BORDER)
            return false;
        link->border = f->Z + f->n_borders * (int64_t)f->n;
        f->borders[f->n_borders++] = l;
        memset(link->border, 0, (size_t)f->n * sizeof *f->r);
        add_row(link, 1, link->border);
    }
    solve(f, tasks, f->n_borders, f->Z);
    int m = f->n_borders;
    for (int j = 0; j < m; j++)
        for (int i = j; i < m; i++)
            f->C[i + j * m] = dot_row(&island->links[f->borders[i]], island->links[f->borders[j]].border) +
                              (i == j ? 1 / slope_of(island, f->borders[i]) : 0);
    if (m > 0)
        dpotrf_("L", &m, f->C, &m, &info, 1);
    return info == 0;
}

bool td_sap_sparse_factor(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks, double shift)
{
    tdSapFactor *f = island->factor;
    td_sap_prepare_links(island, tasks);
    assemble(problem, island, shift);
    return td_factor_numbers(&f->plan, tasks, f->values, f->work, f->factor) && make_borders(island, tasks);
}

// x += H^-1 r; r is used up.
static void correct(const tdSapIsland *island, double *r, double *x)
{
    tdSapFactor *f = island->factor;
    int m = f->n_borders, one = 1, info = 0;
    double *y = f->small;
    solve(f, NULL, 1, r);
    for (int k = 0; k < m; k++)
        y[k] = dot_row(&island->links[f->borders[k]], r);
    if (m > 0)
        dpotrs_("L", &m, &one, f->C, &m, y, &m, &info, 1);
    for (int32_t i = 0; i < f->n; i++)
        x[i] += r[i];
    for (int k = 0; k < m; k++)
        for (int32_t i = 0; i < f->n; i++)
            x[i] -= y[k] * island->links[f->borders[k]].border[i];
}

// Near-rigid rows are so stiff that rounding in x would be much of their effort: what is left is looked at, and solved
// for once more where it is worth it.
#define LEFT 1e-10

void td_sap_sparse_substitute(const tdSapIsland *island, const double *b, double *x)
{
    tdSapFactor *f = island->factor;
    double *r = f->r, *right = island->y, size = 0, left = 0;
    memcpy(right, b, (size_t)f->n * sizeof *b);
    memcpy(r, b, (size_t)f->n * sizeof *b);
    memset(x, 0, (size_t)f->n * sizeof *x);
    correct(island, r, x);
    tdSapSparse H = {.start = f->start, .row = f->row, .values = f->values};
    td_sap_sparse_multiply(&H, f->n, x, r);
    for (int k = 0; k < f->n_borders; k++)
    {
        const tdSapLink *link = &island->links[f->borders[k]];
        add_row(link, slope_of(island, f->borders[k]) * dot_row(link, x), r);
    }
    for (int32_t i = 0; i < f->n; i++)
    {
        r[i] = right[i] - r[i];
        size = fmax(size, island->scale[i] * fabs(right[i]));
        left = fmax(left, island->scale[i] * fabs(r[i]));
    }
    if (left > LEFT * size)
        correct(island, r, x);
}
