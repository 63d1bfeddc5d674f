// SPDX-License-Identifier: Apache-2.0
// Bodies that are so fast that they may pass through others within a step.
//
// Points are looked for as far as velocities at the start of the step lead (collide.h), and near-rigid contact holds
// them whatever the speed (contact_load.c). What is left are bodies that get their speed within the step, by a blow or
// a drive, and meet something where nobody looked. At the end of the step it is known how far everything went: a pair
// without a point between them, whose boxes were apart and met on the way, and of which one is now beyond the middle of
// the other, may have come out on the other side.
#include "contact/contact.h"

#include "core/state.h"

#include <math.h>
#include <string.h>

// No point of a body goes farther in a step than this, about: a coordinate of a link turns it, at most, about what is a
// whole scene away.
static double farthest(const tdModel *model, const tdState *state)
{
    double most = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        double arm = body->ops->nodal ? 1 : fmax(1, model->size);
        for (int64_t i = 0; i < body->count; i++)
            most = fmax(most, arm * fabs(state->v[body->first + i]));
    }
    return model->scheme.h * most;
}

// Boxes at the start of the step, and the ways of their middles.
static void find_ways(const tdModel *model, tdState *state)
{
    const tdContactModel *contact = model->contact;
    tdContactState *cs = state->contact;
    for (int f = 0; f < contact->n_fields; f++)
    {
        const tdBody *body = &model->bodies[contact->fields[f].body];
        bool known = body->ops->nodal && contact->fields[f].n_points == 0;
        cs->x_last[f] = known ? state->q + body->first : NULL;
    }
    for (int f = 0; f < contact->n_frames; f++)
    {
        const tdBody *body = &model->bodies[contact->frames[f].body];
        body->ops->part(body, state, state->q + body->first, NULL, contact->frames[f].link, &cs->poses_last[f], NULL);
    }
    for (int i = 0; i < td_collide_colliders(contact->world); i++)
    {
        double end[6];
        td_collide_boxes(cs->collide, i, cs->x_last, cs->poses_last, cs->ways[i].box, end);
        for (int k = 0; k < 3; k++)
        {
            const double *box = cs->ways[i].box;
            cs->ways[i].way[k] = 0.5 * (end[k] + end[3 + k] - box[k] - box[3 + k]);
        }
    }
}

// Whether box a, moved by its way beside that of b, meets b and ends beyond its middle.
static bool passes(const tdContactWay *a, const tdContactWay *b)
{
    double enter = 0, leave = 1, beyond = 0;
    bool apart = false;
    for (int k = 0; k < 3; k++)
    {
        double half = 0.5 * (a->box[3 + k] - a->box[k] + b->box[3 + k] - b->box[k]), way = a->way[k] - b->way[k];
        double from = 0.5 * (a->box[k] + a->box[3 + k] - b->box[k] - b->box[3 + k]);
        apart = apart || fabs(from) > half;
        beyond += (from + way) * way;
        if (way == 0)
        {
            if (fabs(from) > half)
                return false;
            continue;
        }
        enter = fmax(enter, (-half - copysign(1, way) * from) / fabs(way));
        leave = fmin(leave, (half - copysign(1, way) * from) / fabs(way));
    }
    return apart && enter < leave && beyond > 0;
}

static bool has_point(const tdContactState *cs, int a, int b)
{
    for (int64_t i = 0; i < cs->n; i++)
        if (cs->contacts[i].a.collider == (a < b ? a : b) && cs->contacts[i].b.collider == (a < b ? b : a))
            return true;
    return false;
}

int td_contact_tunnels(const tdModel *model, tdState *state)
{
    const tdContactModel *contact = model->contact;
    tdContactState *cs = state->contact;
    int n = contact->world != NULL ? td_collide_colliders(contact->world) : 0, found = 0;
    double thinnest = INFINITY;
    for (int i = 0; i < n; i++)
        thinnest = fmin(thinnest, contact->colliders[i].thin);
    if (n == 0 || 2 * farthest(model, state) <= thinnest)
        return 0;
    find_ways(model, state);
    for (int i = 0; i < n; i++)
    {
        const double *u = cs->ways[i].way;
        double fast = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        // Of two the faster one, which makes at least half of what they need to pass each other.
        for (int j = 0; j < n && 4 * fast > contact->colliders[i].thin + thinnest; j++)
        {
            const double *v = cs->ways[j].way;
            double other = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            bool mine = fast > other || (fast == other && i < j);
            if (i != j && mine && isfinite(contact->colliders[i].thin + contact->colliders[j].thin) &&
                td_collide_may_meet(contact->world, i, j) && passes(&cs->ways[i], &cs->ways[j]) && !has_point(cs, i, j))
                found++;
        }
    }
    return found;
}
