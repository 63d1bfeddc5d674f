// SPDX-License-Identifier: Apache-2.0
// Free motion and columns that are left approximate, and corrected with the solution of the small problem
// (src/step/solve.c).
#include "base/log.h"
#include "body/soft.h"

#include <math.h>
#include <string.h>

static const tdSoft *soft_of(const tdBody *body)
{
    return body->data;
}

static tdSoftState *mine_of(const tdBody *body, tdState *state)
{
    return (tdSoftState *)state->bodies[body->index];
}

#define ROUGH_TOLERANCE 1e-10 // below, corrections are more work than an exact factor

// Whether free motion and columns are left approximate, to be corrected with the solution. Where A is constant, an
// exact factor is kept; where Newton iterates, passes without columns want it.
bool td_soft_is_rough(const tdModel *model, const tdBody *body, const tdState *state)
{
    const tdSoft *soft = soft_of(body);
    const tdSceneSettings *settings = &model->settings;
    return state->ahead.n > 0 && state->ahead.wanted[body->index] && soft->linear.rough && !soft->constant &&
           !state->ahead.exactly && !state->newton && model->scheme.mass > 0 && state->bonded == NULL &&
           settings->solver == TD_SOLVER_AUTO && settings->solver_tolerance >= ROUGH_TOLERANCE;
}

bool td_soft_columns_ahead(const tdModel *model, const tdBody *body, const struct tdColumnsAhead *ahead,
                           tdLinearMore *out)
{
    if (ahead->n == 0 || !ahead->wanted[body->index])
        return false;
    *out = (tdLinearMore){
        .n = ahead->n, .stride = model->coords, .b = ahead->b + body->first, .x = ahead->x + body->first};
    return true;
}

// *done false: as it stands it cannot be.
tdStatus td_soft_solve_roughly(const tdModel *model, const tdBody *body, tdState *state, const double *rhs, bool *done)
{
    tdSoftState *mine = mine_of(body, state);
    struct tdColumnsAhead *ahead = &state->ahead;
    tdLinearMore more = {0};
    td_soft_columns_ahead(model, body, ahead, &more);
    tdLinearResult result;
    TD_TRY(td_linear_rough(mine->linear, state->tasks, mine->A, rhs, state->dv + body->first, &more, &result,
                           &state->report.error));
    state->report.factorizations += result.factorizations;
    *done = !result.indefinite;
    if (!*done)
        return TD_OK;
    state->report.cg_iterations += result.iterations;
    td_soft_remember_factor(model, body, state, true);
    ahead->done[body->index] = ahead->rough[body->index] = true;
    mine->projecting = mine->same = false;
    mine->exact = true;
    mine->rhs_size = sqrt(td_dot(state->tasks, body->count, rhs, rhs));
    return TD_OK;
}

bool td_soft_held_moves(const tdSoft *soft, const double *held)
{
    bool moved = false;
    for (int32_t k = 0; k < soft->n_held; k++)
        moved = moved || held[soft->held_list[k]] != 0;
    return moved;
}

// m += A dv + s K held
void td_soft_add_motion(const tdModel *model, const tdBody *body, tdState *state, double *m)
{
    const tdSoft *soft = soft_of(body);
    const tdSoftState *mine = mine_of(body, state);
    const tdScheme *scheme = &model->scheme;
    td_block_multiply(state->tasks, &soft->pattern, mine->A, state->dv + body->first, m, true);
    if (!td_soft_held_moves(soft, state->held + body->first))
        return;
    double *force = td_scratch_take(state);
    td_block_multiply(state->tasks, &soft->pattern, mine->K, state->held + body->first, force, false);
    for (int64_t i = 0; i < body->count; i++)
        m[i] += scheme->s * force[i];
    td_scratch_give(state, force);
}

#define MOST_CORRECTIONS 6
#define BRINGS           0.1 // of what is left, that a correction may leave at most

tdStatus td_soft_correct(const tdModel *model, const tdBody *body, tdState *state, int round, double *x, bool *met)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    double *r = mine->balanced, left = 0, scale = mine->rhs_size;
    int64_t n = body->count;
    memcpy(r, state->m + body->first, (size_t)n * sizeof *r);
    // Of the right-hand side: before efforts changed, or since.
    for (int64_t i = 0; i < n; i++)
        x[i] = soft->held[i] ? 0 : r[i];
    scale = fmax(scale, sqrt(td_dot(state->tasks, n, x, x)));
    td_soft_add_motion(model, body, state, r);
    for (int64_t i = 0; i < n; i++)
        x[i] = soft->held[i] ? 0 : -r[i];
    left = sqrt(td_dot(state->tasks, n, x, x));
    if (!isfinite(left))
        return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                       "the linear solver met numbers that are not finite; use a smaller time_step or smaller loads");
    *met = left <= model->settings.solver_tolerance * scale;
    mine->has_balanced = *met;
    if (*met)
    {
        state->report.residual = fmax(state->report.residual, scale > 0 ? left / scale : 0);
        return TD_OK;
    }
    bool slow = round >= MOST_CORRECTIONS || (round > 0 && left > BRINGS * mine->left * scale);
    mine->left = left / scale;
    if (slow)
    {
        td_log(&state->settings, TD_LOG_INFO,
               "body '%s', t = %g s: a factor in single precision leaves a residual of %.1e; factored again in double "
               "precision",
               body->name, state->time + model->scheme.h, mine->left);
        state->ahead.rough[body->index] = state->ahead.done[body->index] = false;
        return TD_OK;
    }
    memcpy(r, x, (size_t)n * sizeof *r);
    state->report.cg_iterations++;
    td_linear_rough_apply(mine->linear, state->tasks, r, x);
    return TD_OK;
}
