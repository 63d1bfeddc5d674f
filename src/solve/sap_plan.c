// SPDX-License-Identifier: Apache-2.0
// The convex problem checked and cut into islands; see sap_plan.h.
#include "solve/sap_plan.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- checks

static bool all_finite(const double *a, int64_t n)
{
    double sum[4] = {0}; // of zeros, unless there is an infinity or a NaN
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sum[k] += 0 * a[i + k];
    for (; i < n; i++)
        sum[0] += 0 * a[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) == 0;
}

static tdStatus check_block(const tdSapBlock *block, bool numbers, int32_t number, tdError *error)
{
    if (block->n < 0 || (block->sparse == NULL && block->stride < block->n) || block->n > INT32_MAX / TD_SAP_ROWS)
        return td_fail(error, TD_ERROR_USAGE, "block %d of the contact problem has %d velocities with stride %d",
                       number, block->n, block->stride);
    for (int32_t i = 0; i < block->n; i++)
    {
        double d = td_sap_diagonal(block, i);
        if (!(d > 0 && d < INFINITY))
            return td_fail(error, TD_ERROR_NUMERIC,
                           "block %d of the contact problem is not positive definite: its diagonal entry %d is %g",
                           number, i, d);
    }
    if (numbers && (!all_finite(block->v_star, block->n) || !all_finite(block->v, block->n)))
        return td_fail(error, TD_ERROR_NUMERIC, "block %d of the contact problem has velocities that are not finite",
                       number);
    return TD_OK;
}

static tdStatus check_side(const tdSapProblem *problem, const tdSapSide *side, bool numbers, int rows, int32_t number,
                           tdError *error)
{
    if (side->block < 0 || side->block >= problem->n_blocks)
        return td_fail(error, TD_ERROR_USAGE, "constraint %d acts on block %d of %d", number, side->block,
                       problem->n_blocks);
    int32_t n = problem->blocks[side->block].n;
    if (side->count < 0 || side->count > INT32_MAX / TD_SAP_ROWS || (side->columns == NULL && side->count != n))
        return td_fail(error, TD_ERROR_USAGE, "constraint %d lists %d columns of a block of %d", number, side->count,
                       n);
    for (int32_t k = 0; k < side->count && side->columns != NULL; k++)
        if (side->columns[k] < 0 || side->columns[k] >= n)
            return td_fail(error, TD_ERROR_USAGE, "constraint %d lists column %d of a block of %d", number,
                           side->columns[k], n);
    if (numbers && !all_finite(side->J, (int64_t)rows * side->count))
        return td_fail(error, TD_ERROR_NUMERIC, "constraint %d has rows that are not finite", number);
    return TD_OK;
}

tdStatus td_sap_check(const tdSapProblem *problem, bool numbers, tdError *error)
{
    int64_t unknowns = 0;
    if (problem->n_blocks < 0 || problem->n_constraints < 0)
        return td_fail(error, TD_ERROR_USAGE, "the contact problem has a negative number of blocks or constraints");
    for (int32_t b = 0; b < problem->n_blocks; b++)
    {
        TD_TRY(check_block(&problem->blocks[b], numbers, b, error));
        unknowns += problem->blocks[b].n;
    }
    if (unknowns > INT32_MAX / TD_SAP_ROWS)
        return td_fail(error, TD_ERROR_INPUT, "the contact problem has %lld unknowns; touch fewer nodes",
                       (long long)unknowns);
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const tdSapConstraint *constraint = &problem->constraints[c];
        const char *reason = NULL;
        if (numbers && !td_sap_law_valid(&constraint->law, &reason))
            return td_fail(error, TD_ERROR_NUMERIC, "constraint %d: %s", c, reason);
        if (constraint->law.rows < 1 || constraint->law.rows > TD_SAP_ROWS)
            return td_fail(error, TD_ERROR_USAGE, "constraint %d has %d rows; 1 to 3 are possible", c,
                           constraint->law.rows);
        if (constraint->sides < 1 || constraint->sides > 2)
            return td_fail(error, TD_ERROR_USAGE, "constraint %d has %d sides; 1 or 2 are possible", c,
                           constraint->sides);
        for (int s = 0; s < constraint->sides; s++)
            TD_TRY(check_side(problem, &constraint->side[s], numbers, constraint->law.rows, c, error));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- islands

static int32_t root_of(int32_t *parent, int32_t b)
{
    while (parent[b] != b)
        b = parent[b] = parent[parent[b]];
    return b;
}

// Joins blocks that share a constraint; the root of an island is its lowest block.
static void join(const tdSapProblem *problem, int32_t *parent, bool *touched)
{
    for (int32_t b = 0; b < problem->n_blocks; b++)
    {
        parent[b] = b;
        touched[b] = false;
    }
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const tdSapConstraint *constraint = &problem->constraints[c];
        int32_t a = root_of(parent, constraint->side[0].block);
        touched[constraint->side[0].block] = true;
        if (constraint->sides == 1)
            continue;
        int32_t b = root_of(parent, constraint->side[1].block);
        touched[constraint->side[1].block] = true;
        parent[a < b ? b : a] = a < b ? a : b;
    }
}

typedef struct islandCut
{
    int32_t *parent, *island, *first; // by block
    bool *touched;
} islandCut;

static bool count_islands(tdStack *stack, const tdSapProblem *problem, islandCut *cut, tdSapPlan *out)
{
    out->alone = TD_STACK_TAKE(stack, int32_t, problem->n_blocks);
    out->islands = TD_STACK_TAKE(stack, tdSapIsland, problem->n_blocks);
    if (stack->failed)
        return false;
    for (int32_t b = 0; b < problem->n_blocks; b++)
    {
        if (!cut->touched[b])
        {
            out->alone[out->n_alone++] = b;
            continue;
        }
        int32_t root = root_of(cut->parent, b);
        if (root == b)
            out->islands[cut->island[b] = out->n_islands++] = (tdSapIsland){0};
        tdSapIsland *island = &out->islands[cut->island[b] = cut->island[root]];
        cut->first[b] = island->n;
        island->n += problem->blocks[b].n;
        island->n_members++;
    }
    for (int32_t c = 0; c < problem->n_constraints; c++)
        out->islands[cut->island[problem->constraints[c].side[0].block]].n_links++;
    return true;
}

static bool fill_islands(tdStack *stack, const tdSapProblem *problem, const islandCut *cut, tdSapPlan *out)
{
    for (int32_t i = 0; i < out->n_islands; i++)
    {
        tdSapIsland *island = &out->islands[i];
        island->members = TD_STACK_TAKE(stack, tdSapMember, island->n_members);
        island->links = TD_STACK_TAKE(stack, tdSapLink, island->n_links);
        if (stack->failed)
            return false;
        island->n_members = island->n_links = 0;
    }
    for (int32_t b = 0; b < problem->n_blocks; b++)
        if (cut->touched[b])
        {
            tdSapIsland *island = &out->islands[cut->island[b]];
            island->members[island->n_members++] = (tdSapMember){.block = b, .first = cut->first[b]};
        }
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        tdSapIsland *island = &out->islands[cut->island[problem->constraints[c].side[0].block]];
        island->links[island->n_links++] = (tdSapLink){.constraint = c, .law = &problem->constraints[c].law};
    }
    return true;
}

#define ORDERED 64 // blocks, at most

// An order of blocks in which rows of the envelope are short: always the block that brings the fewest new neighbours
// (I. P. King 1970), of several the one whose row would begin first. Bodies need not be numbered as they touch.
static void order_blocks(const tdSapProblem *problem, const islandCut *cut, tdSapIsland *island)
{
    int n = island->n_members;
    uint64_t near[ORDERED] = {0}, done = 0, front = 0, all = n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
    int32_t begin[ORDERED], next = 0;
    if (n < 3 || n > ORDERED)
        return;
    for (int k = 0; k < n; k++)
    {
        cut->first[island->members[k].block] = k; // for the moment its number
        begin[k] = INT32_MAX;
    }
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapConstraint *c = &problem->constraints[island->links[l].constraint];
        int32_t a = cut->first[c->side[0].block], b = c->sides == 2 ? cut->first[c->side[1].block] : a;
        near[a] |= UINT64_C(1) << b;
        near[b] |= UINT64_C(1) << a;
    }
    for (int k = 0; k < n; k++)
    {
        int best = -1, least = 0;
        for (uint64_t left = front != 0 ? front : all & ~done; left != 0; left &= left - 1)
        {
            int b = __builtin_ctzll(left), cost = __builtin_popcountll(near[b] & ~(done | front));
            if (best >= 0 && (cost > least || (cost == least && begin[b] >= begin[best])))
                continue;
            best = b;
            least = cost;
        }
        for (uint64_t left = near[best] & ~(done | front); left != 0; left &= left - 1)
            begin[__builtin_ctzll(left)] = k;
        done |= UINT64_C(1) << best;
        front = (front | near[best]) & ~done;
        island->members[best].first = next;
        next += problem->blocks[island->members[best].block].n;
    }
    for (int k = 0; k < n; k++)
        cut->first[island->members[k].block] = island->members[k].first;
}

static bool take_vectors(tdStack *stack, const tdSapProblem *problem, tdSapIsland *island)
{
    double **vectors[] = {&island->v,     &island->v_star,   &island->q,  &island->p,
                          &island->force, &island->gradient, &island->dv, &island->Adv,
                          &island->scale, &island->best,     &island->x,  &island->y};
    for (size_t k = 0; k < sizeof vectors / sizeof vectors[0]; k++)
        *vectors[k] = TD_STACK_TAKE(stack, double, island->n);
    island->b = NULL;
    for (int32_t k = 0; k < island->n_members && island->b == NULL && !stack->failed; k++)
        if (problem->blocks[island->members[k].block].b != NULL)
            island->b = TD_STACK_TAKE(stack, double, island->n);
    int64_t rows = (int64_t)TD_SAP_ROWS * island->n_links;
    island->v_c = TD_STACK_TAKE(stack, double, rows);
    island->dv_c = TD_STACK_TAKE(stack, double, rows);
    island->gamma = TD_STACK_TAKE(stack, double, rows);
    island->G = TD_STACK_TAKE(stack, double, TD_SAP_ROWS *rows);
    return !stack->failed;
}

static bool has_sparse(const tdSapProblem *problem, const tdSapIsland *island)
{
    for (int32_t k = 0; k < island->n_members; k++)
        if (problem->blocks[island->members[k].block].sparse != NULL)
            return true;
    return false;
}

tdStatus td_sap_plan(tdSap *sap, const tdSapProblem *problem, tdSapStructure structure, tdSapPlan *out, tdError *error)
{
    tdStack *stack = &sap->stack;
    td_sap_sparse_start(sap);
    *out = (tdSapPlan){0};
    TD_TRY(td_sap_check(problem, true, error));
    islandCut map = {.parent = TD_STACK_TAKE(stack, int32_t, problem->n_blocks),
                     .island = TD_STACK_TAKE(stack, int32_t, problem->n_blocks),
                     .first = TD_STACK_TAKE(stack, int32_t, problem->n_blocks),
                     .touched = TD_STACK_TAKE(stack, bool, problem->n_blocks)};
    bool good = !stack->failed;
    if (good)
        join(problem, map.parent, map.touched);
    good = good && count_islands(stack, problem, &map, out) && fill_islands(stack, problem, &map, out);
    for (int32_t i = 0; i < out->n_islands && good; i++)
    {
        tdSapIsland *island = &out->islands[i];
        bool sparse = has_sparse(problem, island), whole = structure == TD_SAP_AUTO && !sparse;
        good = take_vectors(stack, problem, island);
        if (whole)
            order_blocks(problem, &map, island);
        if (good && sparse)
            TD_TRY(td_sap_sparse_order(sap, problem, map.first, island, error));
        else if (good && whole && td_sap_is_small(stack, problem, map.first, island))
            good = td_sap_small_order(stack, problem, map.first, island);
        else
            good = good && td_sap_order(stack, problem, structure, map.first, island);
    }
    return good ? TD_OK : td_fail_memory(error, "the contact problem");
}
