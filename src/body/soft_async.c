// SPDX-License-Identifier: Apache-2.0
// A soft body whose factor is not that of the present matrix: asynchronous, or that at rest (solve/async.h). The
// free motion is exact, by conjugate gradients; what contacts do follows the factor P:
//
//     v = v_free + A^-1 E f_last + P^-1 E (f - f_last)        f: impulses on the touched nodes, f_last: of the last
//     step
//
// With f_last = 0, as S3 has it, the error of P is one of the whole force, and a factor two steps old is 3 % off while
// a tool presses quickly. Forces are much the same from step to step, so that only their change is left to P. It costs
// one more solution; the step sees v_free + (A^-1 - P^-1) E f_last as its free motion. At rest: as S3 has it.
#include "body/soft.h"

#include "solve/async.h"

#include <math.h>
#include <string.h>

static tdSoftState *mine_of(const tdBody *body, const tdState *state)
{
    return (tdSoftState *)state->bodies[body->index];
}

tdStatus td_soft_async_create(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    const tdSceneSettings *settings = &model->settings;
    if (settings->solver != TD_SOLVER_ASYNCHRONOUS && settings->solver != TD_SOLVER_REST)
        return TD_OK;
    tdSoftState *mine = mine_of(body, state);
    tdAsyncSettings how = {.rest = settings->solver == TD_SOLVER_REST, .lag = settings->solver_lag};
    return td_async_create(&body->soft->linear, &how, &mine->async, error);
}

// ---------------------------------------------------------------- rotations

const double *td_soft_turns_since(const tdSoft *soft, const double *now, const double *then, double *turn)
{
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        const double *from = then + 9 * (int64_t)i, *to = now + 9 * (int64_t)i;
        double Q[9];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                Q[3 * r + c] =
                    to[3 * r] * from[3 * c] + to[3 * r + 1] * from[3 * c + 1] + to[3 * r + 2] * from[3 * c + 2];
        memcpy(turn + 9 * (int64_t)i, Q, sizeof Q);
    }
    return turn;
}

// The linear law has no rotations, and a factor at rest is one of small displacements, as S3 has it.
static bool turns(const tdModel *model, const tdSoft *soft)
{
    return !soft->constant && model->settings.solver != TD_SOLVER_REST;
}

// ---------------------------------------------------------------- solutions

static void precondition(void *context, tdTasks *tasks, const double *r, double *z)
{
    const tdSoftState *mine = context;
    td_async_apply(mine->async, tasks, mine->Q, r, z);
}

// x holds a first guess.
static tdStatus iterate(const tdModel *model, const tdBody *body, tdState *state, const double *b, double *x,
                        tdLinearResult *result)
{
    tdSoftState *mine = mine_of(body, state);
    tdLinearTask task = {.kind = TD_SOLVER_CG,
                         .tolerance = model->settings.solver_tolerance,
                         .values = mine->A,
                         .b = b,
                         .x = x,
                         .precondition = precondition,
                         .context = mine};
    return td_linear_solve(mine->linear, state->tasks, &task, result, &state->report.error);
}

// x += (A^-1 - P^-1) E f_last, over the nodes that take part now. push and room: over the body's coordinates.
static tdStatus add_last_contacts(const tdModel *model, const tdBody *body, tdState *state, double *push, double *room,
                                  double *x, tdLinearResult *result)
{
    const tdSoftState *mine = mine_of(body, state);
    const tdSoftPart *part = &mine->part;
    const double *last = td_async_push(mine->async);
    bool any = false;
    memset(push, 0, (size_t)body->count * sizeof *push);
    for (int32_t k = 0; k < part->n_nodes; k++)
        for (int c = 0; c < 3; c++)
        {
            double f = last[3 * (int64_t)part->nodes[k] + c];
            push[3 * (int64_t)part->nodes[k] + c] = isfinite(f) ? f : 0;
            any = any || (isfinite(f) && f != 0);
        }
    if (!any)
        return TD_OK;
    tdLinearResult more;
    td_async_apply(mine->async, state->tasks, mine->Q, push, room);
    for (int64_t i = 0; i < body->count; i++)
        x[i] -= room[i];
    TD_TRY(iterate(model, body, state, push, room, &more));
    for (int64_t i = 0; i < body->count; i++)
        x[i] += room[i];
    result->iterations += more.iterations;
    result->indefinite = more.indefinite;
    return TD_OK;
}

tdStatus td_soft_async_solve(const tdModel *model, const tdBody *body, tdState *state, const double *b, double *x,
                             tdLinearResult *result)
{
    const tdSoft *soft = body->soft;
    tdSoftState *mine = mine_of(body, state);
    tdAsync *async = mine->async;
    const double *now = turns(model, soft) ? mine->turn_factor : NULL;
    *result = (tdLinearResult){0};
    if (now != NULL)
        td_soft_turns(soft, mine, state, mine->turn_factor);
    td_async_take(async, state->steps);
    // A second time where the factor has become so old that it does not lead to the solution.
    for (int attempt = 0; attempt < 2; attempt++)
    {
        if (attempt == 1 || !td_async_ready(async))
        {
            bool definite = td_async_make(async, state->tasks, state->steps, mine->A, now);
            TD_TRY(td_check_cancel(state->tasks, &state->report.error));
            result->factorizations++;
            result->indefinite = !definite;
            if (!definite)
                return TD_OK;
        }
        int made = result->factorizations, before = result->iterations;
        mine->Q = now == NULL ? NULL : td_soft_turns_since(soft, now, td_async_turns(async), mine->turn);
        TD_TRY(iterate(model, body, state, b, x, result));
        result->factorizations += made;
        result->iterations += before;
        if (result->indefinite || !(result->residual > model->settings.solver_tolerance))
            break;
    }
    if (!result->indefinite && mine->condensed && model->settings.solver == TD_SOLVER_ASYNCHRONOUS)
    {
        double *push = td_scratch_take(state), *room = td_scratch_take(state);
        tdStatus status = add_last_contacts(model, body, state, push, room, x, result);
        td_scratch_give(state, room);
        td_scratch_give(state, push);
        TD_TRY(status);
    }
    if (!result->indefinite && td_async_idle(async))
        return td_async_offer(async, state->steps, mine->A, now, &state->report.error);
    return TD_OK;
}

tdStatus td_soft_async_inverse(const tdModel *model, const tdBody *body, tdState *state, int n, int64_t stride,
                               const double *b, double *x)
{
    tdSoftState *mine = mine_of(body, state);
    for (int j = 0; j < n; j++)
    {
        tdLinearResult result = {0};
        // Beside contacts, whose compliance is the factor's, columns are too.
        td_async_apply(mine->async, state->tasks, mine->Q, b + j * stride, x + j * stride);
        if (!mine->condensed)
            TD_TRY(iterate(model, body, state, b + j * stride, x + j * stride, &result));
        state->report.cg_iterations += result.iterations;
        if (result.indefinite)
            return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                           "the matrix of the step is not positive definite; use a smaller time_step");
    }
    return TD_OK;
}

// ---------------------------------------------------------------- checkpoints

int td_soft_async_arrays(const tdBody *body, tdState *state, tdStateArray *out, int most)
{
    tdSoftState *mine = mine_of(body, state);
    if (mine->async == NULL || most < 6)
        return 0;
    tdAsyncKept kept = td_async_kept(mine->async);
    out[0] = (tdStateArray){"async_steps", body->index, true, 2, kept.steps};
    out[1] = (tdStateArray){"async_values", body->index, false, kept.n_values, kept.values[0]};
    out[2] = (tdStateArray){"async_next_values", body->index, false, kept.n_values, kept.values[1]};
    out[3] = (tdStateArray){"async_turns", body->index, false, kept.n_turns, kept.turns[0]};
    out[4] = (tdStateArray){"async_next_turns", body->index, false, kept.n_turns, kept.turns[1]};
    out[5] = (tdStateArray){"async_push", body->index, false, body->count, td_async_push(mine->async)};
    return 6;
}
