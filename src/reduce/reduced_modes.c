// SPDX-License-Identifier: Apache-2.0
// A reduced body as those see it that draw it or follow it: shapes, the frame that carries them, and where nodes are
// for coordinates that somebody kept.
#include "base/vector.h"
#include "core/parts.h"
#include "reduce/reduced_body.h"

#include <math.h>
#include <string.h>

void td_reduced_list_modes(tdReduced *reduced)
{
    const tdSoft *domain = &reduced->domain;
    reduced->modes = (tdBodyModes){.n = reduced->n,
                                   .free = reduced->r,
                                   .given = reduced->n_u,
                                   .stride = reduced->stride,
                                   .basis = reduced->basis,
                                   .framed = reduced->floating != NULL,
                                   .domain = domain,
                                   .low = reduced->low,
                                   .high = reduced->high};
    for (int k = 0; k < domain->n_blocks; k++)
        reduced->modes.domain_elements += domain->blocks[k].count;
}

double *td_reduced_turns(const tdBody *body, const tdState *state)
{
    return td_reduced_mine(body, state)->floating->turn;
}

void td_reduced_frame_motion(const tdBody *body, const double *turn, const double *q, tdPose *pose)
{
    const tdReduced *reduced = td_reduced_of(body);
    const double *centre = reduced->floating->centre;
    tdFramePose frame;
    double turned[3];
    td_frame_pose_at(turn, q + reduced->r + 3, &frame);
    memcpy(pose->R, frame.R, sizeof pose->R);
    td_turn(pose, centre, turned);
    for (int c = 0; c < 3; c++)
        pose->t[c] = centre[c] + q[reduced->r + c] - turned[c];
}

// With y = rest + modes . q:
//
//     x = t + R y      dx/dt = dx_frame/dt + R (w x (y - centre) + modes . dq/dt)
//
// without a frame R is the identity and t, w are zero.
void td_reduced_expand(const tdBody *body, const double *turn, const double *q, const double *v, double *x, double *dx)
{
    const tdReduced *reduced = td_reduced_of(body);
    bool framed = reduced->floating != NULL;
    int r = reduced->r;
    tdPose pose = td_pose_identity();
    if (framed)
        td_reduced_frame_motion(body, turn, q, &pose);
    for (int64_t i = 0; i < body->nodes; i++)
    {
        double y[3], rate[3], arm[3], across[3];
        for (int c = 0; c < 3; c++)
        {
            y[c] = body->soft->rest[3 * i + c] + td_modes_along(body->modes, 3 * i + c, q);
            rate[c] = td_modes_along(body->modes, 3 * i + c, v);
            arm[c] = framed ? y[c] - reduced->floating->centre[c] : 0;
        }
        if (framed)
        {
            td_cross3(v + r + 3, arm, across);
            for (int c = 0; c < 3; c++)
                rate[c] += across[c];
        }
        td_place(&pose, y, x + 3 * i);
        td_turn(&pose, rate, dx + 3 * i);
        for (int c = 0; c < 3 && framed; c++)
            dx[3 * i + c] += v[r + c];
    }
}

// ---------------------------------------------------------------- at the present coordinates

static const double *expand(const tdReduced *reduced, const double *rest, const double *q, double *out)
{
    int64_t coords = 3 * (int64_t)reduced->soft->n_nodes;
    for (int64_t i = 0; i < coords; i++)
        out[i] = (rest == NULL ? 0 : rest[i]) + td_modes_along(&reduced->modes, i, q);
    return out;
}

const double *td_reduced_nodes(const tdModel *model, const tdBody *body, const tdState *state)
{
    (void)model;
    const tdReduced *reduced = td_reduced_of(body);
    const tdReducedState *mine = td_reduced_mine(body, state);
    if (reduced->floating == NULL)
        expand(reduced, reduced->soft->rest, state->q + body->first, mine->node_x);
    else
        td_reduced_frame_nodes(reduced, mine, state->q + body->first, mine->node_x);
    td_reduced_dents_nodes(body, state, reduced->soft->n_nodes, NULL, mine->node_x);
    return mine->node_x;
}

const double *td_reduced_node_velocities(const tdModel *model, const tdBody *body, const tdState *state)
{
    (void)model;
    const tdReduced *reduced = td_reduced_of(body);
    const tdReducedState *mine = td_reduced_mine(body, state);
    if (reduced->floating == NULL)
        return expand(reduced, NULL, state->v + body->first, mine->node_v);
    td_reduced_frame_velocities(reduced, mine, state->q + body->first, state->v + body->first, mine->node_v);
    return mine->node_v;
}

// Over all elements at the expanded positions. What they remember is known of the domain alone, so that a viscoelastic
// stress is the relaxed one. Room for so many points is taken when somebody first asks: most of a thousand robots are
// never drawn.
void td_reduced_fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *density)
{
    tdReducedState *mine = td_reduced_mine(body, state);
    if (mine->whole.F == NULL && !td_soft_take_points(&state->arena, body->soft, &mine->whole))
    {
        mine->whole.F = NULL;
        for (int64_t e = 0; e < body->elements; e++)
        {
            if (von_mises != NULL)
                von_mises[e] = NAN;
            if (density != NULL)
                density[e] = NAN;
        }
        return;
    }
    mine->whole.factors = mine->factors;
    td_soft_history_begin(body->soft, &mine->whole, INFINITY);
    td_soft_fields_at(body->soft, &mine->whole, state, td_reduced_nodes(model, body, state), von_mises, density);
}
