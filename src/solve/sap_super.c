// SPDX-License-Identifier: Apache-2.0
// Supernodes of an island, and where blocks and constraints fall into them; see sap_plan.h.
#include "solve/sap_plan.h"

#include <string.h>

#define SUPER_COST 4000 // operations that a supernode costs beside its arithmetic: calls, scatter

// ---------------------------------------------------------------- patches

// Lists are short, or a few ascending runs one after the other.
static void sort_places(int32_t *at, int32_t n)
{
    for (int32_t i = 1; i < n; i++)
    {
        int32_t value = at[i], j = i;
        for (; j > 0 && at[j - 1] > value; j--)
            at[j] = at[j - 1];
        at[j] = value;
    }
}

bool td_sap_gather_link(tdStack *stack, const tdSapProblem *problem, const int32_t *first, const int32_t *place,
                        int32_t *mark, tdSapLink *link)
{
    const tdSapConstraint *c = &problem->constraints[link->constraint];
    int rows = c->law.rows;
    tdSapPatch *patch = &link->patch;
    int32_t most = c->side[0].count + (c->sides == 2 ? c->side[1].count : 0), n = 0;
    patch->at = TD_STACK_TAKE(stack, int32_t, most);
    if (stack->failed)
        return false;
    for (int s = 0; s < c->sides; s++)
        for (int32_t j = 0; j < c->side[s].count; j++)
        {
            const tdSapSide *side = &c->side[s];
            patch->at[n++] = place[first[side->block] + (side->columns == NULL ? j : side->columns[j])];
        }
    sort_places(patch->at, n);
    for (int32_t j = 0; j < n; j++)
        if (j == 0 || patch->at[j] != patch->at[j - 1])
        {
            mark[patch->at[j]] = patch->n;
            patch->at[patch->n++] = patch->at[j];
        }
    link->J = TD_STACK_TAKE(stack, double, (int64_t)rows * patch->n);
    link->T = TD_STACK_TAKE(stack, double, (int64_t)rows * patch->n);
    if (stack->failed)
        return false;
    memset(link->J, 0, (size_t)rows * (size_t)patch->n * sizeof *link->J);
    for (int s = 0; s < c->sides; s++)
    {
        const tdSapSide *side = &c->side[s];
        for (int32_t j = 0; j < side->count; j++)
        {
            int32_t at = mark[place[first[side->block] + (side->columns == NULL ? j : side->columns[j])]];
            for (int r = 0; r < rows; r++)
                link->J[r * (int64_t)patch->n + at] += side->J[r * (int64_t)side->count + j];
        }
    }
    return true;
}

// Unknowns of the blocks by place: one walk along the places gives each block its own in order.
static bool gather_members(tdStack *stack, const tdSapProblem *problem, tdSapUnits *u, tdSapIsland *island)
{
    int32_t *owner = u->mark, *coordinate = u->scratch;
    for (int32_t k = 0; k < island->n_members; k++)
    {
        tdSapMember *member = &island->members[k];
        int32_t n = problem->blocks[member->block].n;
        member->patch = (tdSapPatch){.at = TD_STACK_TAKE(stack, int32_t, n)};
        member->column = TD_STACK_TAKE(stack, int32_t, n);
        member->in = TD_STACK_TAKE(stack, double, n);
        member->out = TD_STACK_TAKE(stack, double, n);
        if (stack->failed)
            return false;
        for (int32_t i = 0; i < n; i++)
        {
            owner[u->place[member->first + i]] = k;
            coordinate[u->place[member->first + i]] = i;
        }
    }
    for (int32_t p = 0; p < island->n; p++)
    {
        tdSapMember *member = &island->members[owner[p]];
        member->column[member->patch.n] = coordinate[p];
        member->patch.at[member->patch.n++] = p;
    }
    return true;
}

// Runs of a patch in the supernodes. Both lists of rows ascend, so one is found by walking along the other.
static bool find_runs(tdStack *stack, const tdSapIsland *island, const tdSapUnits *u, tdSapPatch *patch)
{
    for (int32_t i = 0; i < patch->n; i++)
        patch->n_runs += i == 0 || u->super[patch->at[i]] != u->super[patch->at[i - 1]];
    patch->runs = TD_STACK_TAKE(stack, tdSapRun, patch->n_runs);
    if (stack->failed)
        return false;
    int32_t k = 0;
    for (int32_t i = 0; i < patch->n; k++)
    {
        tdSapRun *run = &patch->runs[k];
        *run = (tdSapRun){.super = u->super[patch->at[i]], .begin = i};
        run->row = TD_STACK_TAKE(stack, int32_t, patch->n - i);
        if (stack->failed)
            return false;
        const tdSapSuper *super = &island->supers[run->super];
        for (; i < patch->n && u->super[patch->at[i]] == run->super; i++)
            run->row[i - run->begin] = patch->at[i] - super->first;
        run->end = i;
        int32_t row = 0;
        for (int32_t j = i; j < patch->n; j++)
        {
            while (super->rows[row] != patch->at[j])
                row++;
            run->row[j - run->begin] = super->n + row;
        }
    }
    return true;
}

// ---------------------------------------------------------------- supernodes

static const tdSapPatch *patch_of(const tdSapIsland *island, int32_t p)
{
    return p < island->n_links ? &island->links[p].patch : &island->members[p - island->n_links].patch;
}

// Patches that touch each unit: start (n + 1) and list.
static bool list_patches(tdStack *stack, const tdSapIsland *island, const tdSapUnits *u, int32_t **starts,
                         int32_t **lists)
{
    int32_t n = island->n_supers, *start = TD_STACK_TAKE(stack, int32_t, n + 2), *list = NULL;
    if (stack->failed)
        return false;
    memset(start, 0, ((size_t)n + 2) * sizeof *start);
    for (int pass = 0; pass < 2; pass++)
    {
        for (int32_t p = 0; p < island->n_links + island->n_members; p++)
        {
            const tdSapPatch *patch = patch_of(island, p);
            for (int32_t i = 0; i < patch->n; i++)
            {
                int32_t s = u->super[patch->at[i]];
                if (i > 0 && u->super[patch->at[i - 1]] == s)
                    continue;
                if (pass == 0)
                    start[s + 2]++;
                else
                    list[start[s + 1]++] = p;
            }
        }
        for (int32_t s = 0; s < n && pass == 0; s++)
            start[s + 2] += start[s + 1];
        if (pass == 0 && (list = TD_STACK_TAKE(stack, int32_t, start[n + 1])) == NULL)
            return false;
    }
    *starts = start;
    *lists = list;
    return true;
}

static void mark_rows(uint64_t *bits, const int32_t *rows, int32_t n, int32_t end, int32_t *last)
{
    for (int32_t i = n - 1; i >= 0 && rows[i] >= end; i--)
    {
        bits[rows[i] / 64] |= UINT64_C(1) << (rows[i] % 64);
        *last = rows[i] > *last ? rows[i] : *last;
    }
}

// Rows below each unit: what its constraints and its block touch further on, and what its children leave.
static bool find_rows(tdStack *stack, tdSapIsland *island, const tdSapUnits *u, int32_t *parent)
{
    int32_t n = island->n_supers, words = island->n / 64 + 1, *start = NULL, *list = NULL;
    int32_t *child = TD_STACK_TAKE(stack, int32_t, n), *next = TD_STACK_TAKE(stack, int32_t, n);
    uint64_t *bits = TD_STACK_TAKE(stack, uint64_t, words);
    if (stack->failed || !list_patches(stack, island, u, &start, &list))
        return false;
    memset(bits, 0, (size_t)words * sizeof *bits);
    for (int32_t s = 0; s < n; s++)
        child[s] = next[s] = -1;
    for (int32_t s = 0; s < n; s++)
    {
        tdSapSuper *super = &island->supers[s];
        int32_t end = super->first + super->n, last = -1;
        for (int32_t k = start[s]; k < start[s + 1]; k++)
            mark_rows(bits, patch_of(island, list[k])->at, patch_of(island, list[k])->n, end, &last);
        for (int32_t c = child[s]; c >= 0; c = next[c])
            mark_rows(bits, island->supers[c].rows, island->supers[c].m, end, &last);
        for (int32_t w = end / 64; w <= last / 64 && last >= 0; w++)
            super->m += __builtin_popcountll(bits[w]);
        super->rows = TD_STACK_TAKE(stack, int32_t, super->m);
        if (stack->failed)
            return false;
        int32_t m = 0;
        for (int32_t w = end / 64; m < super->m; w++)
        {
            for (uint64_t rest = bits[w]; rest != 0; rest &= rest - 1)
                super->rows[m++] = 64 * w + __builtin_ctzll(rest);
            bits[w] = 0;
        }
        parent[s] = m == 0 ? -1 : u->super[super->rows[0]];
        if (m > 0)
        {
            next[s] = child[parent[s]];
            child[parent[s]] = s;
        }
    }
    return true;
}

static double entries_of(double n, double m)
{
    return n * (n + 1) / 2 + n * m;
}

// Merges supernodes with their parent where the zeros this stores cost less than another round of calls.
static void merge(tdSapIsland *island, tdSapUnits *u, const int32_t *parent)
{
    int32_t kept = 0;
    double real = 0; // entries that are not zero in the supernode being made
    for (int32_t s = 0; s < island->n_supers; s++)
    {
        tdSapSuper *mine = &island->supers[s], *before = kept > 0 ? &island->supers[kept - 1] : NULL;
        double own = entries_of(mine->n, mine->m);
        if (before != NULL && s > 0 && parent[s - 1] == s)
        {
            int32_t n = before->n + mine->n;
            double all = entries_of(n, mine->m), zeros = (all - real - own) / all;
            if (n <= 16 || (n <= 48 && zeros < 0.5) || zeros < 0.1)
            {
                *before = (tdSapSuper){.first = before->first, .n = n, .m = mine->m, .rows = mine->rows};
                real += own;
                continue;
            }
        }
        island->supers[kept++] = *mine;
        real = own;
    }
    island->n_supers = kept;
    for (int32_t s = 0; s < kept; s++)
        for (int32_t i = 0; i < island->supers[s].n; i++)
            u->super[island->supers[s].first + i] = s;
}

static double super_flops(const tdSapSuper *super)
{
    double n = super->n, m = super->m;
    return n * n * n / 3 + n * n * m + n * m * m + SUPER_COST;
}

static double factor_flops(const tdSapIsland *island)
{
    double flops = 0;
    for (int32_t s = 0; s < island->n_supers; s++)
        flops += super_flops(&island->supers[s]);
    return flops;
}

// Parts of constraints by supernode, and whether their rows are stacked: where they fill most of a panel, a product of
// matrices runs ten times as fast as a scatter.
static bool list_parts(tdStack *stack, tdSapIsland *island)
{
    double *scatter = TD_STACK_TAKE(stack, double, island->n_supers);
    if (stack->failed)
        return false;
    memset(scatter, 0, (size_t)island->n_supers * sizeof *scatter);
    for (int pass = 0; pass < 2; pass++)
    {
        for (int32_t l = 0; l < island->n_links; l++)
        {
            const tdSapPatch *patch = &island->links[l].patch;
            for (int32_t k = 0; k < patch->n_runs; k++)
            {
                const tdSapRun *run = &patch->runs[k];
                tdSapSuper *super = &island->supers[run->super];
                int rows = island->links[l].law->rows;
                if (pass == 1)
                {
                    super->parts[2 * super->n_parts] = l;
                    super->parts[2 * super->n_parts + 1] = k;
                }
                super->n_parts++;
                super->n_stacked += pass == 0 ? rows : 0;
                scatter[run->super] += (double)rows * (run->end - run->begin) * (patch->n - run->begin);
            }
        }
        for (int32_t s = 0; s < island->n_supers && pass == 0; s++)
        {
            tdSapSuper *super = &island->supers[s];
            int64_t rows = super->n + super->m;
            super->parts = TD_STACK_TAKE(stack, int32_t, 2 * (int64_t)super->n_parts);
            super->n_parts = 0;
            if (super->n_stacked >= 12 && 10 * scatter[s] > (double)super->n_stacked * (double)(rows * super->n))
                super->stacked = TD_STACK_TAKE(stack, double, super->n_stacked *rows);
            if (stack->failed)
                return false;
        }
    }
    return true;
}

#define MOST_TREES   16
#define LEAST_FLOPS  1e7  // of a factorization that is worth cutting
#define LEAST_SHARE  0.05 // of the work in a tree of its own
#define SERIAL_SHARE 0.15 // of the work that may be left for after the trees

// The elimination tree with the operations of each subtree.
typedef struct workTree
{
    int32_t *parent, *child, *next, *begin; // child, next: lists; begin: first supernode of the subtree
    double *weight;
    int32_t *open; // scratch
} workTree;

static bool make_tree(tdStack *stack, const tdSapIsland *island, const tdSapUnits *u, workTree *t)
{
    int32_t n = island->n_supers;
    *t = (workTree){.parent = TD_STACK_TAKE(stack, int32_t, n),
                    .child = TD_STACK_TAKE(stack, int32_t, n),
                    .next = TD_STACK_TAKE(stack, int32_t, n),
                    .begin = TD_STACK_TAKE(stack, int32_t, n),
                    .weight = TD_STACK_TAKE(stack, double, n),
                    .open = TD_STACK_TAKE(stack, int32_t, n)};
    if (stack->failed)
        return false;
    for (int32_t s = 0; s < n; s++)
    {
        t->child[s] = t->next[s] = -1;
        t->begin[s] = s;
        t->weight[s] = 0;
    }
    for (int32_t s = 0; s < n; s++)
    {
        const tdSapSuper *super = &island->supers[s];
        int32_t parent = t->parent[s] = super->m == 0 ? -1 : u->super[super->rows[0]];
        t->weight[s] += super_flops(super);
        if (parent < 0)
            continue;
        t->next[s] = t->child[parent];
        t->child[parent] = s;
        t->weight[parent] += t->weight[s];
        t->begin[parent] = t->begin[s] < t->begin[parent] ? t->begin[s] : t->begin[parent];
    }
    return true;
}

// From s down along the heaviest child to a supernode with two heavy children, or -1; *path: operations on the way.
static int32_t find_fork(const tdSapIsland *island, const workTree *t, int32_t s, double *path)
{
    *path = 0;
    for (;;)
    {
        int32_t heavy = 0, heaviest = -1;
        *path += super_flops(&island->supers[s]);
        for (int32_t c = t->child[s]; c >= 0; c = t->next[c])
        {
            heavy += t->weight[c] >= LEAST_SHARE * island->flops;
            heaviest = heaviest < 0 || t->weight[c] > t->weight[heaviest] ? c : heaviest;
        }
        if (heavy != 1)
            return heavy > 1 ? s : -1;
        s = heaviest;
    }
}

// Cuts the elimination tree into parts that can be factored at the same time: at a fork, each heavy child becomes a
// tree, and what is above is left for after them. A chain of supernodes is not cut. The cut depends on the structure
// alone, so the bits do not depend on the threads. Returns the roots in t->open.
static int32_t cut_trees(const tdSapIsland *island, workTree *t)
{
    int32_t waiting = 0, trees = 0, n = island->n_supers, *roots = t->open;
    double serial = 0;
    // Those that wait are kept at the end of the same list.
    for (int32_t s = 0; s < n; s++)
        if (t->parent[s] < 0 && t->weight[s] >= LEAST_SHARE * island->flops)
            roots[n - ++waiting] = s;
    while (waiting > 0)
    {
        int32_t s = roots[n - waiting--], fork;
        double path;
        fork = find_fork(island, t, s, &path);
        if (fork < 0 || trees + waiting + 2 > MOST_TREES || serial + path > SERIAL_SHARE * island->flops)
        {
            roots[trees++] = s;
            continue;
        }
        serial += path;
        for (int32_t c = t->child[fork]; c >= 0; c = t->next[c])
            if (t->weight[c] >= LEAST_SHARE * island->flops)
                roots[n - ++waiting] = c;
    }
    return trees;
}

static bool take_tree(tdStack *stack, const tdSapIsland *island, tdSapTree *tree)
{
    int64_t most = 0;
    for (int32_t s = tree->first; s <= tree->last; s++)
        most = island->supers[s].m > most ? island->supers[s].m : most;
    tree->update = TD_STACK_TAKE(stack, double, most *most);
    tree->relative = TD_STACK_TAKE(stack, int32_t, most);
    return !stack->failed;
}

// Memory of the factor. The last tree is a list of all: it goes through the supernodes that are in no other.
static bool take_panels(tdStack *stack, tdSapIsland *island, const tdSapUnits *u)
{
    for (int32_t s = 0; s < island->n_supers; s++)
    {
        tdSapSuper *super = &island->supers[s];
        int64_t size = (int64_t)(super->n + super->m) * super->n;
        super->base = TD_STACK_TAKE(stack, double, size);
        super->panel = TD_STACK_TAKE(stack, double, size);
        super->tree = -1;
    }
    workTree t;
    island->flops = factor_flops(island);
    bool cut = island->n_supers > 2 && island->flops >= LEAST_FLOPS;
    if (cut && !make_tree(stack, island, u, &t))
        return false;
    int32_t trees = cut ? cut_trees(island, &t) : 0;
    trees = trees > 1 ? trees : 0;
    island->n_trees = trees + 1;
    island->trees = TD_STACK_TAKE(stack, tdSapTree, island->n_trees);
    if (stack->failed)
        return false;
    for (int32_t k = 0; k < trees; k++)
    {
        tdSapTree *tree = &island->trees[k];
        int64_t m = island->supers[t.open[k]].m;
        *tree = (tdSapTree){.first = t.begin[t.open[k]], .last = t.open[k]};
        tree->outside = TD_STACK_TAKE(stack, double, m *m);
        if (!take_tree(stack, island, tree))
            return false;
        for (int32_t s = tree->first; s <= tree->last; s++)
            island->supers[s].tree = k;
    }
    island->trees[trees] = (tdSapTree){.first = 0, .last = island->n_supers - 1};
    return take_tree(stack, island, &island->trees[trees]);
}

// ---------------------------------------------------------------- all of it

static bool take_units(tdStack *stack, const tdSapIsland *island, tdSapUnits *u)
{
    *u = (tdSapUnits){.of = TD_STACK_TAKE(stack, int32_t, island->n),
                      .place = TD_STACK_TAKE(stack, int32_t, island->n),
                      .super = TD_STACK_TAKE(stack, int32_t, island->n),
                      .scratch = TD_STACK_TAKE(stack, int32_t, island->n),
                      .mark = TD_STACK_TAKE(stack, int32_t, island->n)};
    return !stack->failed;
}

bool td_sap_order(tdStack *stack, const tdSapProblem *problem, tdSapStructure structure, const int32_t *first_of_block,
                  tdSapIsland *island)
{
    tdSapUnits u;
    if (!take_units(stack, island, &u) || !td_sap_units(stack, problem, structure, first_of_block, island, &u))
        return false;
    for (int32_t l = 0; l < island->n_links; l++)
        if (!td_sap_gather_link(stack, problem, first_of_block, u.place, u.scratch, &island->links[l]))
            return false;
    if (!gather_members(stack, problem, &u, island))
        return false;
    if (island->sparse)
    {
        int32_t *parent = TD_STACK_TAKE(stack, int32_t, island->n_supers);
        if (stack->failed || !find_rows(stack, island, &u, parent))
            return false;
        merge(island, &u, parent);
        double n = island->n, dense = n * n * n / 3 + SUPER_COST;
        if (structure == TD_SAP_AUTO && factor_flops(island) > 0.7 * dense)
            td_sap_one_super(island, &u);
    }
    for (int32_t l = 0; l < island->n_links; l++)
        if (!find_runs(stack, island, &u, &island->links[l].patch))
            return false;
    for (int32_t k = 0; k < island->n_members; k++)
        if (!find_runs(stack, island, &u, &island->members[k].patch))
            return false;
    return list_parts(stack, island) && take_panels(stack, island, &u);
}
