// SPDX-License-Identifier: Apache-2.0
// What a checkpoint keeps of a reduced body, and what may differ from state to state.
#include "reduce/reduced_body.h"

#include <math.h>

int td_reduced_arrays(const tdModel *model, const tdBody *body, tdState *state, tdStateArray *out, int most)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdReducedState *mine = td_reduced_mine(body, state);
    (void)model;
    int n = 0;
    if (most < 6)
        return 0;
    out[n++] = (tdStateArray){"history", body->index, false, reduced->domain.history, mine->points.history};
    if (reduced->check != NULL)
        out[n++] = (tdStateArray){"check_history", body->index, false, reduced->check->domain.history,
                                  mine->check->points.history};
    if (reduced->floating != NULL)
        out[n++] = (tdStateArray){"turn", body->index, false, 4, mine->floating->turn};
    if (reduced->n_ranges > 0)
        out[n++] = (tdStateArray){"excess", body->index, false, 1, mine->excess};
    if (mine->dents != NULL)
    {
        out[n++] = (tdStateArray){"dent_node", body->index, true, TD_DENT_KEPT, mine->dents->node};
        out[n++] = (tdStateArray){"dent_force", body->index, false, 3 * TD_DENT_KEPT, mine->dents->force};
    }
    return n;
}

// Nothing is kept from step to step but q, v, what the material remembers, how far a frame has turned and what makes
// dents.
tdStatus td_reduced_restore(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    tdReducedState *mine = td_reduced_mine(body, state);
    (void)model;
    if (mine->excess != NULL && !(mine->excess[0] >= 0))
        return td_fail(error, TD_ERROR_INPUT, "the checkpoint has an excess of actuators of body '%s' that cannot be",
                       body->name);
    for (int k = 0; mine->dents != NULL && k < TD_DENT_KEPT; k++)
    {
        bool good = mine->dents->node[k] >= -1 && mine->dents->node[k] < body->nodes;
        for (int c = 0; c < 3; c++)
            good = good && isfinite(mine->dents->force[3 * k + c]);
        if (!good)
            return td_fail(error, TD_ERROR_INPUT, "the checkpoint has a force on a node of body '%s' that cannot be",
                           body->name);
    }
    mine->current = mine->arrived = mine->K_valid = mine->damping_kept = mine->projecting = mine->warned =
        mine->warned_of_touch = false;
    if (mine->check != NULL)
        mine->check->current = false;
    return TD_OK;
}

// The inertia of a frame is made of integrals that are kept with the model.
unsigned td_reduced_varies(const tdBody *body)
{
    const tdReduced *reduced = td_reduced_of(body);
    bool damps = reduced->soft->alpha > 0 || reduced->soft->beta > 0;
    return TD_VARIES_YOUNG | (reduced->floating == NULL ? TD_VARIES_MASS : 0) | (damps ? TD_VARIES_DAMPING : 0);
}

void td_reduced_vary(const tdModel *model, const tdBody *body, tdState *state)
{
    tdError unused;
    td_reduced_restore(model, body, state, &unused);
}

// As a soft body: what is damped creeps on.
double td_reduced_keeps(const tdBody *body, const tdState *state)
{
    const tdScheme *scheme = &state->model->scheme;
    const tdReducedState *mine = (const tdReducedState *)state->bodies[body->index];
    double damped = scheme->de * td_reduced_of(body)->soft->beta * mine->factors[TD_FACTOR_DAMPING];
    return damped > 0 ? damped / (damped + scheme->ce) : 0;
}
