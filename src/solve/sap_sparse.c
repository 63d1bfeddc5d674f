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
#include "solve/sap_sparse.h"

#include <stdlib.h>
#include <string.h>

#define MOST_KEPT 4 // structures that are kept

static void free_numbers(tdSapFactor *f)
{
    td_factor_plan_free(&f->plan);
    td_schur_tree_free(&f->tree);
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
        free(f->work_single);
        free(f->change_room);
        free(f->narrow);
        free(f->pivots);
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
        const tdSapSparse *sparse = problem->blocks[member->block].sparse;
        if (sparse == NULL)
            continue;
        int64_t coords = sparse->pattern != NULL ? 3 * (int64_t)sparse->pattern->n : 0;
        for (int way = 0; way < 2; way++)
            member->wide[way] = TD_STACK_TAKE(stack, double, coords);
        if (!stack->failed && coords > 0)
            memset(member->wide[0], 0, (size_t)coords * sizeof(double));
        double *values = TD_STACK_TAKE(stack, double, sparse->start[n]);
        for (int32_t e = 0; e < sparse->start[n] && !stack->failed; e++)
            values[e] = sparse->values[sparse->source != NULL ? sparse->source[e] : e];
        member->plain = (tdSapSparse){.start = sparse->start, .row = sparse->row, .values = values};
    }
    for (int32_t l = 0; l < island->n_links && !stack->failed; l++)
        td_sap_gather_link(stack, problem, first, place, mark, &island->links[l]);
    return !stack->failed;
}

// ---------------------------------------------------------------- structure

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
        for (int32_t j = 0; j < patch->n && !td_sap_is_wide(&island->links[l]); j++)
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
            entries += td_sap_column_count(block, j);
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
            int32_t column = member->first + j, count = td_sap_column_count(block, j);
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
        if (!td_sap_is_wide(link))
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
    f->common.method[0].ordering = given ? CHOLMOD_GIVEN : CHOLMOD_NESDIS;
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
    TD_TRY(td_schur_tree_create(&f->arena, f->n, &f->tree, error));
    td_schur_tree_set(&f->tree, f->factor);
    // By the machine's own kernels, as the factor is made.
    TD_TRY(td_triangular_create(&f->arena, &f->shape, td_isa_pick(false), &f->triangular, error));
    TD_TRY(td_substitution_create_single(&f->arena, &f->shape, td_isa_pick_wide(false), &f->columns, error));
    f->between = TD_TAKE(&f->arena, double, f->n);
    f->self = TD_TAKE(&f->arena, int32_t, f->n);
    if (f->between == NULL || f->self == NULL)
        return td_fail_memory(error, "the contact problem");
    for (int32_t i = 0; i < f->n; i++)
        f->self[i] = i;
    return td_substitution_create(&f->arena, &f->shape, td_isa_pick_wide(false), &f->substitution, error);
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
    f->based = f->changed = f->anew = f->single = f->exactly = false;
    f->problem = problem;
    f->stack = &sap->stack;
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
    f->borders = TD_STACK_TAKE(stack, int32_t, TD_SAP_BORDERS);
    int32_t wide = 0;
    for (int32_t l = 0; l < island->n_links; l++)
        wide += td_sap_is_wide(&island->links[l]);
    wide = wide < TD_SAP_BORDERS ? wide : TD_SAP_BORDERS;
    f->Z = TD_STACK_TAKE(stack, double, (int64_t)wide * island->n);
    f->HZ = TD_STACK_TAKE(stack, double, (int64_t)wide * island->n);
    f->HnZ = TD_STACK_TAKE(stack, double, (int64_t)wide * island->n);
    f->E = TD_STACK_TAKE(stack, double, (int64_t)wide *wide);
    f->C = TD_STACK_TAKE(stack, double, (int64_t)TD_SAP_BORDERS *TD_SAP_BORDERS);
    f->small = TD_STACK_TAKE(stack, double, 2 * TD_SAP_BORDERS);
    f->r = TD_STACK_TAKE(stack, double, island->n);
    f->p = TD_STACK_TAKE(stack, double, island->n);
    f->Hp = TD_STACK_TAKE(stack, double, island->n);
    f->G = TD_STACK_TAKE(stack, double, (int64_t)TD_SAP_ROWS *TD_SAP_ROWS * island->n_links);
    f->mark = TD_STACK_TAKE(stack, int32_t, island->n);
    f->places = TD_STACK_TAKE(stack, int32_t, island->n);
    f->at = TD_STACK_TAKE(stack, int32_t, island->n);
    f->moved = TD_STACK_TAKE(stack, int32_t, island->n_links);
    if (stack->failed)
        return td_fail_memory(error, "the contact problem");
    td_sap_sparse_forget(f);
    island->sparse = true;
    island->n_trees = 2; // it shares the threads
    island->flops = f->plan.flops;
    return TD_OK;
}
