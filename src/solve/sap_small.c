// SPDX-License-Identifier: Apache-2.0
// Islands of few unknowns: in the order in which blocks are numbered, the Hessian as an envelope. What is saved is not
// arithmetic but looking for an order and for supernodes, and many small calls; see sap_plan.h.
#include "solve/envelope.h"
#include "solve/sap_plan.h"

#include <string.h>

static const tdEnvelopeKernel *kernel(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &td_envelope_kernel_avx2;
#endif
    return &td_envelope_kernel_portable;
}

bool td_envelope_factor(tdEnvelope *e)
{
    return kernel()->factor(e);
}

void td_envelope_solve(const tdEnvelope *e, double *x)
{
    kernel()->solve(e, x);
}

void td_envelope_add(tdEnvelope *e, int32_t n, int32_t split, const int32_t *at, const double *J, const double G[9])
{
    kernel()->add(e, n, split, at, J, G);
}

void td_envelope_weigh(int32_t n, int32_t begin, const double *L, double *X, double W[9])
{
    kernel()->weigh(n, begin, L, X, W);
}

void td_envelope_weigh_reverse(int32_t n, int32_t end, const double *L, double *X, double W[9])
{
    kernel()->weigh_reverse(n, end, L, X, W);
}

void td_envelope_weigh_whole(int32_t n, const double *L, const double *J, double *X, double W[9])
{
    kernel()->weigh_whole(n, L, J, X, W);
}

void td_envelope_weigh_free(int sides, const double *const *L, const double *const *J, double W[9])
{
    kernel()->weigh_free(sides, L, J, W);
}

void td_envelope_multiply(int32_t n, int32_t stride, const double *A, const double *x, double *y)
{
    kernel()->multiply(n, stride, A, x, y);
}

void td_envelope_rates(int32_t n, int32_t split, const int32_t *at, const double *J, const double *x, double out[3])
{
    kernel()->rates(n, split, at, J, x, out);
}

void td_envelope_forces(int32_t n, int32_t split, const int32_t *at, const double *J, const double g[3], double *f)
{
    kernel()->forces(n, split, at, J, g, f);
}

// ---------------------------------------------------------------- order

#define FEW    96  // unknowns that are always few,
#define MOST   384 // and with a narrow envelope
#define NARROW 4e5 // operations of a factor

bool td_sap_is_small(tdStack *stack, const tdSapProblem *problem, const int32_t *first_of_block,
                     const tdSapIsland *island)
{
    if (island->n <= FEW || island->n > MOST)
        return island->n <= FEW;
    tdStackMark mark = td_stack_mark(stack);
    int32_t *begin = TD_STACK_TAKE(stack, int32_t, island->n); // by first unknown of a block: where its rows begin
    if (stack->failed)
        return false;
    for (int32_t i = 0; i < island->n; i++)
        begin[i] = i;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapConstraint *c = &problem->constraints[island->links[l].constraint];
        int32_t a = first_of_block[c->side[0].block], b = c->sides == 2 ? first_of_block[c->side[1].block] : a;
        int32_t low = a < b ? a : b, high = a < b ? b : a;
        begin[high] = low < begin[high] ? low : begin[high];
    }
    double operations = 0;
    for (int32_t k = 0; k < island->n_members; k++)
    {
        int32_t n = problem->blocks[island->members[k].block].n, first = island->members[k].first;
        double width = first + n - begin[first];
        operations += n * width * width / 2;
    }
    td_stack_release(stack, mark);
    return operations <= NARROW;
}

// Whether the columns of a side ascend.
static bool ascends(const tdSapSide *side)
{
    for (int32_t k = 1; k < side->count && side->columns != NULL; k++)
        if (side->columns[k - 1] >= side->columns[k])
            return false;
    return true;
}

static bool is_run(const int32_t *at, int32_t begin, int32_t end)
{
    return end <= begin || at[end - 1] - at[begin] == end - 1 - begin;
}

#define SPREAD 48 // columns over which a side of three rows is spread out, with zeros between

// Columns that a side has in the island: from the first to the last where that makes it a run.
static int32_t width_of(const tdSapSide *side, int rows)
{
    int32_t run =
        side->columns == NULL || side->count == 0 ? side->count : side->columns[side->count - 1] - side->columns[0] + 1;
    return rows == TD_SAP_ROWS && run <= SPREAD ? run : side->count;
}

// A row over the columns from `low` on, with zeros between.
static void scatter(int32_t count, const int32_t *columns, int32_t low, const double *from, int32_t width, double *to)
{
    for (int32_t j = 0; j < width; j++)
        to[j] = 0;
    for (int32_t j = 0; j < count; j++)
        to[columns[j] - low] = from[j];
}

// Sides one after the other, the lower block first.
static bool gather(tdStack *stack, const tdSapConstraint *c, const int32_t *first, tdSapLink *link)
{
    int lower = c->sides == 2 && first[c->side[1].block] < first[c->side[0].block], rows = c->law.rows;
    int32_t width[2] = {width_of(&c->side[lower], rows), 0}, k = 0;
    if (c->sides == 2)
        width[1] = width_of(&c->side[!lower], rows);
    int32_t n = width[0] + width[1];
    link->J = TD_STACK_TAKE(stack, double, (int64_t)rows *n + (n + 1) / 2);
    if (stack->failed)
        return false;
    link->patch.at = (int32_t *)(link->J + (int64_t)rows * n);
    link->patch.n = n;
    link->split = width[0];
    for (int s = 0; s < c->sides; k += width[s++])
    {
        const tdSapSide *side = &c->side[s ^ lower];
        int32_t begin = first[side->block], low = side->columns == NULL || side->count == 0 ? 0 : side->columns[0];
        int32_t count = side->count, *at = link->patch.at + k;
        bool spread = width[s] > count, run = side->columns == NULL || is_run(side->columns, 0, count);
        for (int r = 0; r < rows; r++)
        {
            const double *from = side->J + r * (int64_t)count;
            double *to = link->J + r * (int64_t)n + k;
            if (spread)
                scatter(count, side->columns, low, from, width[s], to);
            for (int32_t j = 0; j < count && !spread; j++)
                to[j] = from[j];
        }
        for (int32_t j = 0; j < width[s] && (run || spread); j++)
            at[j] = begin + low + j;
        for (int32_t j = 0; j < count && !(run || spread); j++)
            at[j] = begin + side->columns[j];
    }
    return true;
}

#define FREE TD_SAP_FREE

// The same of three rows over all velocities of one or two free bodies.
static bool gather_free(tdStack *stack, const tdSapConstraint *c, const int32_t *first, tdSapLink *link)
{
    int lower = c->sides == 2 && first[c->side[1].block] < first[c->side[0].block];
    int32_t n = FREE * c->sides;
    link->J = TD_STACK_TAKE(stack, double, (int64_t)TD_SAP_ROWS *n + n / 2);
    if (stack->failed)
        return false;
    link->patch.at = (int32_t *)(link->J + (int64_t)TD_SAP_ROWS * n);
    link->patch.n = n;
    link->split = FREE;
    link->lumped = true;
    for (int s = 0; s < c->sides; s++)
    {
        const tdSapSide *side = &c->side[s ^ lower];
        int32_t begin = first[side->block], *at = link->patch.at + FREE * s;
        for (int r = 0; r < TD_SAP_ROWS; r++)
            memcpy(link->J + r * n + FREE * s, side->J + FREE * (size_t)r, FREE * sizeof *side->J);
        for (int32_t j = 0; j < FREE; j++)
            at[j] = begin + j;
    }
    return true;
}

static bool gather_links(tdStack *stack, const tdSapProblem *problem, const int32_t *first, tdSapIsland *island,
                         const int32_t *natural)
{
    for (int32_t l = 0; l < island->n_links; l++)
    {
        tdSapLink *link = &island->links[l];
        const tdSapConstraint *c = &problem->constraints[link->constraint];
        if (td_sap_is_free(c))
        {
            if (!gather_free(stack, c, first, link))
                return false;
            continue;
        }
        bool apart = c->sides == 1 || c->side[0].block != c->side[1].block;
        bool plain = apart && ascends(&c->side[0]) && (c->sides == 1 || ascends(&c->side[1]));
        if (!plain)
        {
            int32_t *mark = TD_STACK_TAKE(stack, int32_t, island->n);
            if (stack->failed || !td_sap_gather_link(stack, problem, first, natural, mark, link))
                return false;
            link->split = link->patch.n;
        }
        else if (!gather(stack, c, first, link))
            return false;
        const tdSapPatch *patch = &link->patch;
        link->lumped = link->law->rows == 3 && patch->n <= TD_ENVELOPE_COLUMNS && is_run(patch->at, 0, link->split) &&
                       is_run(patch->at, link->split, patch->n);
    }
    return true;
}

// Rows begin with their block, or with the lowest unknown that shares a constraint with them.
static void find_first(const tdSapProblem *problem, const tdSapIsland *island, int32_t *first)
{
    for (int32_t k = 0; k < island->n_members; k++)
        for (int32_t i = 0; i < problem->blocks[island->members[k].block].n; i++)
            first[island->members[k].first + i] = island->members[k].first;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapPatch *patch = &island->links[l].patch;
        for (int32_t i = 0; i < patch->n; i++)
            if (first[patch->at[i]] > patch->at[0])
                first[patch->at[i]] = patch->at[0];
    }
}

bool td_sap_small_order(tdStack *stack, const tdSapProblem *problem, const int32_t *first_of_block, tdSapIsland *island)
{
    int32_t n = island->n, *natural = TD_STACK_TAKE(stack, int32_t, n), stride = td_envelope_stride(n);
    tdEnvelope *e = island->envelope = TD_STACK_TAKE(stack, tdEnvelope, 1);
    if (stack->failed)
        return false;
    *e = (tdEnvelope){.n = n,
                      .stride = stride,
                      .first = TD_STACK_TAKE(stack, int32_t, n),
                      .base = TD_STACK_TAKE(stack, double, (int64_t)n *stride),
                      .H = TD_STACK_TAKE(stack, double, (int64_t)n *stride),
                      .inverse = TD_STACK_TAKE(stack, double, n)};
    if (stack->failed)
        return false;
    for (int32_t i = 0; i < n; i++)
        natural[i] = i;
    for (int32_t k = 0; k < island->n_members; k++)
    {
        tdSapMember *member = &island->members[k];
        member->patch = (tdSapPatch){.n = problem->blocks[member->block].n, .at = natural + member->first};
        member->column = natural;
    }
    if (!gather_links(stack, problem, first_of_block, island, natural))
        return false;
    find_first(problem, island, e->first);
    e->reverse = island->n_members == 1 && problem->blocks[island->members[0].block].reverse != NULL;
    island->n_trees = 1;
    return true;
}

// ---------------------------------------------------------------- numbers

void td_sap_small_load(const tdSapProblem *problem, tdSapIsland *island)
{
    tdEnvelope *e = island->envelope;
    for (int64_t i = 0; i < e->n; i++)
        memset(e->base + i * e->stride + e->first[i], 0, (size_t)(i + 1 - e->first[i]) * sizeof *e->base);
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapMember *member = &island->members[k];
        const tdSapBlock *block = &problem->blocks[member->block];
        memcpy(island->v + member->first, block->v, (size_t)block->n * sizeof *block->v);
        memcpy(island->v_star + member->first, block->v_star, (size_t)block->n * sizeof *block->v);
        for (int32_t i = 0; i < block->n && island->foreseen; i++)
            island->best[member->first + i] = block->v[i] + (block->change != NULL ? block->change[i] : 0);
        for (int32_t i = 0; i < block->n; i++)
        {
            double *row = e->base + (member->first + i) * (int64_t)e->stride + member->first;
            for (int32_t j = 0; j <= i; j++)
                row[j] = block->A[i + j * (int64_t)block->stride];
            island->scale[member->first + i] = 1 / sqrt(row[i]);
        }
    }
}

// Columns that do not stand next to each other, and other numbers of rows.
static void add_scattered(tdEnvelope *e, const tdSapLink *link, const double *G)
{
    int32_t n = link->patch.n;
    int rows = link->law->rows;
    for (int32_t j = 0; j < n; j++)
    {
        double T[TD_SAP_ROWS] = {0};
        for (int r = 0; r < rows; r++)
            for (int s = 0; s < rows; s++)
                T[r] += G[r * rows + s] * link->J[s * (int64_t)n + j];
        for (int32_t i = j; i < n; i++)
        {
            double sum = 0;
            for (int r = 0; r < rows; r++)
                sum += link->J[r * (int64_t)n + i] * T[r];
            e->H[link->patch.at[i] * (int64_t)e->stride + link->patch.at[j]] += sum;
        }
    }
}

static bool is_idle(const double *G, int count)
{
    for (int i = 0; i < count; i++)
        if (G[i] != 0)
            return false;
    return true;
}

bool td_sap_small_factor(tdSapIsland *island, double shift)
{
    tdEnvelope *e = island->envelope;
    for (int64_t i = 0; i < e->n; i++)
        memcpy(e->H + i * e->stride + e->first[i], e->base + i * e->stride + e->first[i],
               (size_t)(i + 1 - e->first[i]) * sizeof *e->H);
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        const double *G = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        if (is_idle(G, link->law->rows * link->law->rows))
            continue;
        if (link->lumped)
            td_envelope_add(e, link->patch.n, link->split, link->patch.at, link->J, G);
        else
            add_scattered(e, link, G);
    }
    for (int64_t i = 0; i < e->n && shift > 0; i++)
        e->H[i * (e->stride + 1)] *= 1 + shift;
    return td_envelope_factor(e);
}
