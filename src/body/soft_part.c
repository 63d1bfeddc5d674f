// SPDX-License-Identifier: Apache-2.0
// A body of full order in a problem that several bodies share: nodes take part that something touches, and the others
// are condensed away (solve/schur.h). One factor gives both the free motion and the block.
#include "body/soft.h"

#include "solve/async.h"

#include <cholmod.h>
#include <math.h>
#include <string.h>

static tdSoftPart *part_of(const tdBody *body, const tdState *state)
{
    return &((tdSoftState *)state->bodies[body->index])->part;
}

// ---------------------------------------------------------------- life

tdStatus td_soft_part_create(const tdBody *body, tdState *state, tdError *error)
{
    tdSoftPart *part = part_of(body, state);
    tdArena *arena = &state->arena;
    part->nodes = TD_TAKE(arena, int32_t, body->nodes);
    part->takes_part = TD_TAKE(arena, bool, body->nodes);
    part->ordered = TD_TAKE(arena, int64_t, body->nodes);
    part->left = TD_TAKE(arena, int64_t, body->nodes);
    part->impulse = TD_TAKE(arena, double, body->count);
    if (part->impulse == NULL || part->nodes == NULL || part->takes_part == NULL || part->ordered == NULL ||
        part->left == NULL)
        return td_fail_memory(error, "the contacts of a body");
    tdSchurSettings settings = td_default_schur();
    return td_schur_create(&body->soft->linear, &settings, &part->schur, error);
}

// ---------------------------------------------------------------- who takes part

void td_soft_part_none(const tdBody *body, tdState *state)
{
    tdSoftPart *part = part_of(body, state);
    for (int32_t k = 0; k < part->n_nodes; k++)
        part->takes_part[part->nodes[k]] = false;
    part->n_nodes = 0;
    part->all = part->spared = false;
}

static bool take_part(const tdBody *body, tdSoftPart *part, int32_t node)
{
    const bool *held = body->soft->held + 3 * (int64_t)node;
    if (held[0] && held[1] && held[2])
        return false;
    if (!part->takes_part[node])
        part->nodes[part->n_nodes++] = node;
    part->takes_part[node] = true;
    return true;
}

bool td_soft_part_coords(const tdBody *body, tdState *state, int64_t n, const int32_t *coord)
{
    bool any = false;
    for (int64_t k = 0; k < n; k++)
        if (take_part(body, part_of(body, state), coord[k] / 3))
            any = true;
    return any;
}

bool td_soft_part_point(const tdBody *body, tdState *state, const tdTouchPoint *point)
{
    bool any = false;
    for (int k = 0; k < point->n; k++)
        if (take_part(body, part_of(body, state), point->node[k]))
            any = true;
    return any;
}

// ---------------------------------------------------------------- the block

// How long both ways take, by counts of operations and usual rates [1/s]: factors of the body alone in double
// precision, of the whole problem in single precision where nothing is welded, solutions at the rate of memory.
#define FACTOR_RATE   28e9
#define SINGLE_RATE   45e9
#define SOLVE_RATE    3e9
#define SINGLE_SOLVES 8.6e9
#define DENSE_RATE    60e9
#define PASSES        4.0  // of the convex problem
#define CONDENSING    4.0  // n^3 to condense and to weigh points, before the first
#define SOLUTIONS     3.0  // of the body alone: free motion, columns, and what contacts add
#define FACTORS       1.5  // of all passes: what changes in the others is of low rank
#define ITERATIONS    10.0 // solutions in all passes
#define WORTH         2e-3 // [s] less: with few nodes it is known exactly how soft a body is at each point,
#define SHARE         0.1  // and this much less

bool td_soft_part_all(const tdBody *body, tdState *state, int company)
{
    tdSoftPart *part = part_of(body, state);
    const tdLinearModel *linear = &body->soft->linear;
    bool single = company == 1;
    double n = 3.0 * part->n_nodes, flops = linear->factor_flops, entries = 4 * linear->factor_entries;
    double dense = flops / FACTOR_RATE + SOLUTIONS * entries / SOLVE_RATE +
                   (PASSES / 3 + CONDENSING) * n * n * n / DENSE_RATE * company * company;
    double sparse = FACTORS * flops / (single ? SINGLE_RATE : FACTOR_RATE) +
                    ITERATIONS * entries / (single ? SINGLE_SOLVES : SOLVE_RATE);
    part->all = part->n_nodes > 0 && dense - sparse > fmax(WORTH, SHARE * dense);
    return part->all;
}

tdStatus td_soft_condense(const tdBody *body, tdState *state, tdBodyBlock *out)
{
    tdSoftPart *part = part_of(body, state);
    const tdLinearModel *linear = &body->soft->linear;
    if (part->all)
    {
        part->whole = (tdSapSparse){.start = linear->Ap,
                                    .row = linear->Ai,
                                    .source = linear->source,
                                    .values = ((tdSoftState *)state->bodies[body->index])->A,
                                    .order = linear->symbolic->Perm,
                                    .pattern = linear->pattern,
                                    .blocks = ((tdSoftState *)state->bodies[body->index])->A,
                                    .coord = linear->coord};
        *out = (tdBodyBlock){
            .n = linear->n, .coord = linear->coord, .column = linear->dof, .touched = 9, .sparse = &part->whole};
        out->impulse = part->spared ? part->impulse : NULL;
        return TD_OK;
    }
    tdSchurBody condensed;
    const tdSoftState *mine = (const tdSoftState *)state->bodies[body->index];
    if (mine->async != NULL)
        TD_TRY(td_async_condense(mine->async, mine->Q, part->n_nodes, part->nodes, &condensed, &state->report.error));
    else
    {
        TD_TRY(td_schur_extend(part->schur, part->n_nodes, part->nodes, &state->report.error));
        TD_TRY(td_schur_condense(part->schur, true, &condensed, &state->report.error));
    }
    *out = (tdBodyBlock){.n = condensed.n,
                         .stride = condensed.n,
                         .A = condensed.A,
                         .L = condensed.L,
                         .coord = condensed.coord,
                         .column = condensed.column,
                         .touched = 9};
    return TD_OK;
}

tdStatus td_soft_recover(const tdBody *body, tdState *state, const double *dv_p, double *dv)
{
    const tdSoftState *mine = (const tdSoftState *)state->bodies[body->index];
    if (mine->async != NULL)
    {
        td_async_recover(mine->async, state->tasks, mine->Q, dv_p, dv);
        return TD_OK;
    }
    return td_schur_recover(part_of(body, state)->schur, state->tasks, dv_p, dv, &state->report.error);
}

// ---------------------------------------------------------------- free motion

// Whether A may be taken to be definite without a look at it, so that the problem finds the free motion on its way. A
// factor of A with what contacts add is made there in any case; should it fail, all is done again with a look.
static bool may_be_spared(const tdSoft *soft, const tdSoftState *mine, const tdState *state)
{
    if (!state->sparing || mine->projecting)
        return false;
    for (int k = 0; k < soft->n_loads; k++)
        if (soft->loads[k].kind == TD_LOAD_SURFACE_PRESSURE)
            return false;
    return (soft->n_coupled == 0 && soft->semidefinite) || state->calm;
}

bool td_soft_part_spare(const tdBody *body, tdState *state, const double *rhs)
{
    tdSoftState *mine = (tdSoftState *)state->bodies[body->index];
    tdSoftPart *part = &mine->part;
    part->spared = part->all && mine->async == NULL && may_be_spared(body->soft, mine, state);
    if (!part->spared)
        return false;
    memcpy(part->impulse, rhs, (size_t)body->count * sizeof *rhs);
    memset(state->dv + body->first, 0, (size_t)body->count * sizeof *rhs);
    mine->exact = mine->same;
    return true;
}

// ---------------------------------------------------------------- points

int32_t td_soft_touch(const tdBody *body, tdState *state, const tdTouchPoint *point, int link, const tdBodyBlock *block,
                      double sign, double frame[3][3], double *J, int32_t *columns, double *drift)
{
    int32_t n = 0, coord[3 * TD_TOUCH_NODES];
    double weight[3 * TD_TOUCH_NODES];
    (void)link;
    for (int k = 0; k < point->n; k++)
        for (int c = 0; c < 3; c++)
        {
            int32_t i = 3 * point->node[k] + c;
            if (block != NULL && block->column[i] >= 0)
            {
                columns[n] = block->column[i];
                coord[n] = c;
                weight[n++] = sign * point->weight[k];
                continue;
            }
            for (int r = 0; r < 3; r++)
                drift[r] += sign * point->weight[k] * frame[r][c] * state->v_new[body->first + i];
        }
    for (int r = 0; r < 3; r++)
        for (int32_t j = 0; j < n; j++)
            J[r * n + j] = weight[j] * frame[r][coord[j]];
    return n;
}

void td_soft_push(const tdBody *body, const tdState *state, const tdTouchPoint *point, int link, const double f[3],
                  double *m)
{
    (void)body;
    (void)state;
    (void)link;
    for (int k = 0; k < point->n; k++)
        for (int c = 0; c < 3; c++)
            m[3 * (int64_t)point->node[k] + c] += point->weight[k] * f[c];
}

// ---------------------------------------------------------------- checkpoints

int td_soft_part_arrays(const tdBody *body, tdState *state, tdStateArray *out, int most)
{
    tdSoftPart *part = part_of(body, state);
    if (part->schur == NULL || most < 3)
        return 0;
    tdSchurKept kept = td_schur_kept(part->schur);
    for (int32_t i = 0; i < kept.nodes; i++)
    {
        part->ordered[i] = kept.ordered[i];
        part->left[i] = kept.left[i];
    }
    part->spent = *kept.spent;
    out[0] = (tdStateArray){"contact_ordered", body->index, true, kept.nodes, part->ordered};
    out[1] = (tdStateArray){"contact_left", body->index, true, kept.nodes, part->left};
    out[2] = (tdStateArray){"contact_spent", body->index, false, 1, &part->spent};
    return 3;
}

tdStatus td_soft_part_restore(const tdBody *body, tdState *state, tdError *error)
{
    tdSoftPart *part = part_of(body, state);
    if (part->schur == NULL)
        return TD_OK;
    td_soft_part_none(body, state);
    tdSchurKept kept = td_schur_kept(part->schur);
    for (int32_t i = 0; i < kept.nodes; i++)
    {
        if (part->ordered[i] < 0 || part->ordered[i] > 1 || part->left[i] < 0 || part->left[i] > INT32_MAX)
            return td_fail(error, TD_ERROR_INPUT, "the checkpoint has an order of body '%s' that cannot be",
                           body->name);
        kept.ordered[i] = (int32_t)part->ordered[i];
        kept.left[i] = (int32_t)part->left[i];
    }
    *kept.spent = part->spent;
    return td_schur_restore(part->schur, error);
}
