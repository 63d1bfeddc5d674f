// SPDX-License-Identifier: Apache-2.0
// The structure of a factor, see factor.h: relatives of supernodes, where entries of A go, trees and top, and room.
#include "solve/factor_shape.h"

#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TREES  32
#define LEAST_FLOPS 2e7 // of a factorization that is worth cutting into trees

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

// Numbers that a front packs for its square: whole vectors of rows, in single precision too.
static int64_t pack_size(const tdFactorPlan *p, int32_t s)
{
    return (below_of(p, s) + 15) / 16 * 16 * columns_of(p, s);
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
