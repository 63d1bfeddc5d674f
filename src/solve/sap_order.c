// SPDX-License-Identifier: Apache-2.0
// Order of elimination of an island; see sap_plan.h.
//
// The unknowns of a block are cut into units by the blocks they are in contact with: a link of a chain has one unit for
// the link above and one for the link below, and the Hessian of the chain is block tridiagonal in them. Units are
// ordered by minimum degree, counted in unknowns.
#include "solve/sap_plan.h"

#include <string.h>

#define LEAST_UNIT   12    // unknowns; smaller units of a block are put together
#define WHOLE_BLOCK  24    // unknowns up to which a block is one unit
#define SMALL_ISLAND 48    // unknowns up to which one dense factor is quickest, whatever the structure
#define MOST_UNITS   16384 // whose graph is ordered; its bits take 32 MB

// ---------------------------------------------------------------- units

static bool joins_blocks(const tdSapConstraint *c)
{
    return c->sides == 2 && c->side[0].block != c->side[1].block && c->side[0].count > 0 && c->side[1].count > 0;
}

// Which of a block's neighbours a coordinate is in contact with, one bit each (the last stands for all from the 64th
// on). owner: by coordinate, its member. lists: 64 neighbours for each member.
static void neighbour_bits(const tdSapProblem *problem, const tdSapIsland *island, const int32_t *first,
                           const int32_t *owner, int32_t *lists, int32_t *count, uint64_t *bits)
{
    memset(bits, 0, (size_t)island->n * sizeof *bits);
    memset(count, 0, (size_t)island->n_members * sizeof *count);
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapConstraint *c = &problem->constraints[island->links[l].constraint];
        if (!joins_blocks(c))
            continue;
        for (int s = 0; s < 2; s++)
        {
            const tdSapSide *side = &c->side[s];
            int32_t other = c->side[1 - s].block, begin = first[side->block], k = 0;
            int32_t member = owner[begin], *list = lists + 64 * (int64_t)member;
            while (k < count[member] && list[k] != other)
                k++;
            if (k == count[member] && k < 64)
                list[count[member]++] = other;
            uint64_t bit = UINT64_C(1) << (k < 64 ? k : 63);
            for (int32_t j = 0; j < side->count; j++)
                bits[begin + (side->columns == NULL ? j : side->columns[j])] |= bit;
        }
    }
}

#define MOST_SETS 64 // of neighbours that are told apart in a block

// Units of one block from the bits of its coordinates: one for each set of neighbours with enough coordinates, and one
// for the rest.
static void cut_block(tdSapUnits *u, int32_t member, int32_t first, int32_t n, const uint64_t *bits)
{
    uint64_t set[MOST_SETS];
    int32_t size[MOST_SETS], unit[MOST_SETS], sets = 0, rest = -1;
    for (int32_t i = 0; i < n && n > WHOLE_BLOCK; i++)
    {
        int32_t k = 0;
        while (k < sets && set[k] != bits[first + i])
            k++;
        if (k == sets && k < MOST_SETS)
        {
            set[k] = bits[first + i];
            size[k] = 0;
            unit[k] = -1;
            sets++;
        }
        if (k < MOST_SETS)
            size[k]++;
    }
    for (int32_t i = 0; i < n; i++)
    {
        int32_t k = 0;
        while (k < sets && set[k] != bits[first + i])
            k++;
        int32_t *mine = k < sets && size[k] >= LEAST_UNIT ? &unit[k] : &rest;
        if (*mine < 0)
        {
            *mine = u->n++;
            u->size[*mine] = 0;
            u->block[*mine] = member;
        }
        u->of[first + i] = *mine;
        u->size[*mine]++;
    }
}

static bool cut_blocks(tdStack *stack, const tdSapProblem *problem, const tdSapIsland *island, const int32_t *first,
                       tdSapUnits *u)
{
    int32_t *lists = TD_STACK_TAKE(stack, int32_t, 64 * (int64_t)island->n_members);
    int32_t *owner = TD_STACK_TAKE(stack, int32_t, island->n),
            *count = TD_STACK_TAKE(stack, int32_t, island->n_members);
    uint64_t *bits = TD_STACK_TAKE(stack, uint64_t, island->n);
    int64_t most = island->n_members + (int64_t)island->n / LEAST_UNIT;
    u->size = TD_STACK_TAKE(stack, int32_t, most);
    u->block = TD_STACK_TAKE(stack, int32_t, most);
    if (stack->failed)
        return false;
    for (int32_t k = 0; k < island->n_members; k++)
        for (int32_t i = 0; i < problem->blocks[island->members[k].block].n; i++)
            owner[island->members[k].first + i] = k;
    neighbour_bits(problem, island, first, owner, lists, count, bits);
    for (int32_t k = 0; k < island->n_members; k++)
        cut_block(u, k, island->members[k].first, problem->blocks[island->members[k].block].n, bits);
    return true;
}

static void connect(tdSapUnits *u, int32_t a, int32_t b)
{
    if (a == b)
        return;
    u->bits[(int64_t)a * u->words + b / 64] |= UINT64_C(1) << (b % 64);
    u->bits[(int64_t)b * u->words + a / 64] |= UINT64_C(1) << (a % 64);
}

// Units of one block are adjacent, and units that a constraint touches together.
static bool make_graph(tdStack *stack, const tdSapProblem *problem, const tdSapIsland *island, const int32_t *first,
                       tdSapUnits *u)
{
    u->words = (u->n + 63) / 64;
    u->bits = TD_STACK_TAKE(stack, uint64_t, (int64_t)u->n * u->words);
    u->order = TD_STACK_TAKE(stack, int32_t, u->n);
    u->parent = TD_STACK_TAKE(stack, int32_t, u->n);
    if (stack->failed)
        return false;
    memset(u->bits, 0, (size_t)u->n * (size_t)u->words * sizeof *u->bits);
    for (int32_t a = 0; a < u->n; a++)
        for (int32_t b = a + 1; b < u->n && u->block[b] == u->block[a]; b++)
            connect(u, a, b);
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapConstraint *c = &problem->constraints[island->links[l].constraint];
        if (!joins_blocks(c))
            continue;
        const tdSapSide *s = &c->side[0], *t = &c->side[1];
        int32_t last = -1;
        for (int32_t i = 0; i < s->count; i++)
        {
            int32_t a = u->of[first[s->block] + (s->columns == NULL ? i : s->columns[i])];
            if (a == last)
                continue;
            last = a;
            for (int32_t j = 0, before = -1; j < t->count; j++)
            {
                int32_t b = u->of[first[t->block] + (t->columns == NULL ? j : t->columns[j])];
                if (b != before)
                    connect(u, a, b);
                before = b;
            }
        }
    }
    return true;
}

// ---------------------------------------------------------------- minimum degree

static int64_t degree_of(const tdSapUnits *u, int32_t a)
{
    const uint64_t *row = u->bits + (int64_t)a * u->words;
    int64_t degree = 0;
    for (int32_t w = 0; w < u->words; w++)
        for (uint64_t rest = row[w]; rest != 0; rest &= rest - 1)
            degree += u->size[64 * w + __builtin_ctzll(rest)];
    return degree;
}

// Degrees are told apart by a fifth: among those alike the one with the lowest tree below it goes first, so that trees
// grow side by side and can be factored at the same time.
static int degree_class(int64_t degree)
{
    return (int)(4 * log2((double)degree + 1));
}

// Eliminates units one after the other; what is left in the bits of a unit is the structure of its columns.
static bool minimum_degree(tdStack *stack, tdSapUnits *u)
{
    int *degree = TD_STACK_TAKE(stack, int, u->n), *height = TD_STACK_TAKE(stack, int, u->n);
    bool *done = TD_STACK_TAKE(stack, bool, u->n);
    int32_t *step = TD_STACK_TAKE(stack, int32_t, u->n);
    if (stack->failed)
        return false;
    for (int32_t a = 0; a < u->n; a++)
    {
        degree[a] = degree_class(degree_of(u, a));
        height[a] = 0;
        done[a] = false;
    }
    for (int32_t k = 0; k < u->n; k++)
    {
        int32_t least = -1;
        for (int32_t a = 0; a < u->n; a++)
            if (!done[a] &&
                (least < 0 || degree[a] < degree[least] || (degree[a] == degree[least] && height[a] < height[least])))
                least = a;
        done[least] = true;
        u->order[k] = least;
        step[least] = k;
        const uint64_t *row = u->bits + (int64_t)least * u->words;
        for (int32_t w = 0; w < u->words; w++)
            for (uint64_t rest = row[w]; rest != 0; rest &= rest - 1)
            {
                int32_t b = 64 * w + __builtin_ctzll(rest);
                uint64_t *other = u->bits + (int64_t)b * u->words;
                for (int32_t x = 0; x < u->words; x++)
                    other[x] |= row[x];
                other[b / 64] &= ~(UINT64_C(1) << (b % 64));
                other[least / 64] &= ~(UINT64_C(1) << (least % 64));
                degree[b] = degree_class(degree_of(u, b));
                height[b] = height[b] > height[least] ? height[b] : height[least] + 1;
            }
    }
    for (int32_t a = 0; a < u->n; a++)
    {
        u->parent[a] = -1;
        const uint64_t *row = u->bits + (int64_t)a * u->words;
        for (int32_t w = 0; w < u->words; w++)
            for (uint64_t rest = row[w]; rest != 0; rest &= rest - 1)
            {
                int32_t b = 64 * w + __builtin_ctzll(rest);
                if (u->parent[a] < 0 || step[b] < step[u->parent[a]])
                    u->parent[a] = b;
            }
    }
    return true;
}

// Children before their parent and next to it, so that a parent can be merged with its last child.
static bool postorder(tdStack *stack, tdSapUnits *u)
{
    int32_t *child = TD_STACK_TAKE(stack, int32_t, u->n), *next = TD_STACK_TAKE(stack, int32_t, u->n);
    int32_t *path = TD_STACK_TAKE(stack, int32_t, u->n), *sequence = TD_STACK_TAKE(stack, int32_t, u->n);
    if (stack->failed)
        return false;
    for (int32_t a = 0; a < u->n; a++)
        child[a] = next[a] = -1;
    int32_t roots = -1, k = 0;
    for (int32_t s = u->n - 1; s >= 0; s--) // backwards: lists come out in the order of elimination
    {
        int32_t a = u->order[s], *list = u->parent[a] < 0 ? &roots : &child[u->parent[a]];
        next[a] = *list;
        *list = a;
    }
    for (int32_t root = roots; root >= 0; root = next[root])
    {
        int32_t depth = 0;
        path[0] = root;
        while (depth >= 0)
        {
            int32_t a = path[depth], b = child[a];
            if (b >= 0)
            {
                child[a] = next[b];
                path[++depth] = b;
                continue;
            }
            sequence[k++] = a;
            depth--;
        }
    }
    memcpy(u->order, sequence, (size_t)u->n * sizeof *sequence);
    return true;
}

// ---------------------------------------------------------------- order

void td_sap_one_super(tdSapIsland *island, tdSapUnits *u)
{
    island->n_supers = 1;
    island->sparse = false;
    island->supers[0] = (tdSapSuper){.n = island->n};
    memset(u->super, 0, (size_t)island->n * sizeof *u->super);
}

// Order of the units, and their supernodes in island->supers; one for all where that costs less.
bool td_sap_units(tdStack *stack, const tdSapProblem *problem, tdSapStructure structure, const int32_t *first,
                  tdSapIsland *island, tdSapUnits *u)
{
    bool split =
        structure != TD_SAP_DENSE && island->n_members > 1 && (structure == TD_SAP_SPARSE || island->n > SMALL_ISLAND);
    if (split && !cut_blocks(stack, problem, island, first, u))
        return false;
    split = split && u->n > 1 && u->n <= MOST_UNITS;
    island->sparse = split;
    island->supers = TD_STACK_TAKE(stack, tdSapSuper, split ? u->n : 1);
    if (stack->failed)
        return false;
    for (int32_t i = 0; i < island->n; i++)
        u->place[i] = i;
    if (!split)
    {
        td_sap_one_super(island, u);
        return true;
    }
    int32_t *start = TD_STACK_TAKE(stack, int32_t, u->n);
    if (stack->failed || !make_graph(stack, problem, island, first, u) || !minimum_degree(stack, u) ||
        !postorder(stack, u))
        return false;
    int32_t at = 0;
    island->n_supers = u->n;
    for (int32_t k = 0; k < u->n; k++)
    {
        int32_t unit = u->order[k];
        start[unit] = at;
        island->supers[k] = (tdSapSuper){.first = at, .n = u->size[unit]};
        for (int32_t i = 0; i < u->size[unit]; i++)
            u->super[at++] = k;
    }
    for (int32_t i = 0; i < island->n; i++)
        u->place[i] = start[u->of[i]]++;
    return true;
}
