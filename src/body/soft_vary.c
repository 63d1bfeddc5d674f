// SPDX-License-Identifier: Apache-2.0
// A soft body whose stiffness, mass or damping differs from state to state.
#include "body/soft.h"

#include "solve/async.h"

// A factor on damping that is not there would do nothing.
unsigned td_soft_varies(const tdBody *body)
{
    const tdSoft *soft = body->soft;
    return TD_VARIES_YOUNG | TD_VARIES_MASS | (soft->alpha > 0 || soft->beta > 0 ? TD_VARIES_DAMPING : 0);
}

// Nothing that was made with the old factor is used again. Without a kept factor, as at the start: which steps make one
// must not depend on what was there before, or a checkpoint, which makes it again with the present factors, would go on
// otherwise.
void td_soft_vary(const tdModel *model, const tdBody *body, tdState *state)
{
    tdSoftState *mine = (tdSoftState *)state->bodies[body->index];
    (void)model;
    mine->K_valid = mine->same = mine->exact = mine->damping_kept = mine->placed = mine->arrived = false;
    mine->factor_flags = 0;
    *td_linear_counts(mine->linear) = (tdLinearCounts){0};
    if (mine->async != NULL)
        td_async_forget(mine->async);
}

// A v' = s de D v of the next velocity v': what is damped creeps on. Inertia is left out: it is little where tissue is
// touched, and would take a solution.
double td_soft_keeps(const tdBody *body, const tdState *state)
{
    const tdScheme *scheme = &state->model->scheme;
    double damped = scheme->de * td_soft_beta(body->soft, (const tdSoftState *)state->bodies[body->index]);
    return damped > 0 ? damped / (damped + scheme->ce) : 0;
}
