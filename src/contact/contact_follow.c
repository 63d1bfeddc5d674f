// SPDX-License-Identifier: Apache-2.0
// Points that are followed, and those of them that act.
//
// Points are looked for as far as the margin and the speed lead (collide.h), so that a soft body near a floor has many
// that will not touch within the step. In the problem each would cost a node that takes part, and blocks are dense:
// the cube of their number. So only those have rows that are closed, or will be by the velocities at the start; the
// nearest point of each pair of colliders is always among them, so that the body is condensed. With the solution it is
// known where the others come to. One that would bear a force there,
//
//     v_n - v_hat < mu |v_t|          v_hat = -phi / (c + tau)                     sap_law.h
//
// begins to act, and the problem is solved again on the same factor. The solution is that with all points: those
// without a force change nothing in it.
#include "contact/contact.h"

#include "constraint/constraint.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

#define FEW    160  // nodes of a body that would take part: less are not worth a second look
#define AHEAD  1e-3 // of the smallest extent of the thinner collider: points that come as near as this act at once
#define ROUNDS 3    // in which points begin to act one by one; then all do

static const tdBody *body_of(const tdModel *model, const tdContactSide *side)
{
    return &model->bodies[model->contact->colliders[side->collider].body];
}

// Whether the motion of a side follows from the velocities of nodes, or nothing moves it.
static bool is_plain(const tdModel *model, const tdContactSide *side)
{
    const tdBody *body = body_of(model, side);
    return body->ops->part_point != NULL || body->unknowns == 0;
}

// Whether points may be left out at all: the problem is the convex one, of velocities at the end of the step alone, and
// nobody asks what points that are open would do.
static bool may_leave_out(const tdModel *model, const tdState *state)
{
    if (model->contact_solver == TD_CONTACT_NLCP || model->contact->guided)
        return false;
    if (model->scheme.method == TD_METHOD_STATIC || model->scheme.c != model->scheme.h)
        return false;
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdRole role = state->constraint->role[a];
        if (role == TD_ROLE_INVERSE || (model->actuators[a].held && role == TD_ROLE_EFFORT))
            return false;
    }
    return true;
}

// Velocity of a contact in its frame by state->v_new. Of plain sides only.
static void velocity_at(const tdModel *model, tdState *state, const tdContact *contact, double v[3])
{
    double frame[3][3];
    const tdContactSide *sides[2] = {&contact->a, &contact->b};
    td_contact_frame(contact->normal, frame);
    v[0] = v[1] = v[2] = 0;
    for (int s = 0; s < 2; s++)
    {
        const tdBody *body = body_of(model, sides[s]);
        tdSidePoint at;
        body->ops->touch(body, state, td_contact_side_point(model, sides[s], &at),
                         model->contact->colliders[sides[s]->collider].link, NULL, s == 0 ? -1 : 1, frame, NULL, NULL,
                         v);
    }
}

// How far a contact is from bearing a force at the end of the step, by velocities at its start. What slides rides on a
// gap (docs/theory/contact.md), so that a body that slides has open points only, which all bear.
static double gap_at_end(const tdModel *model, tdState *state, const tdContact *contact, double mu)
{
    double v[3];
    if (contact->phi <= 0)
        return contact->phi; // what is closed acts, whatever it does
    velocity_at(model, state, contact, v);
    return contact->phi +
           model->scheme.h * (fmin(v[2], 0) - mu * hypot(v[0], v[1])); // nothing says that it goes on to leave
}

static double near_by(const tdModel *model, const tdContact *contact)
{
    double a = model->contact->colliders[contact->a.collider].thin;
    double b = model->contact->colliders[contact->b.collider].thin;
    return AHEAD * (a < b ? a : b);
}

// Of each body, whether so many points are followed on it that leaving some out pays.
static void count_points(const tdModel *model, tdContactState *cs)
{
    for (int b = 0; b < model->n_bodies; b++)
        cs->bodies[b].followed = 0;
    for (int64_t i = 0; i < cs->n; i++)
    {
        cs->bodies[body_of(model, &cs->contacts[i].a)->index].followed++;
        cs->bodies[body_of(model, &cs->contacts[i].b)->index].followed++;
    }
}

static bool has_many(const tdModel *model, const tdContactState *cs, const tdContactSide *side)
{
    const tdBody *body = body_of(model, side);
    // Several points may be on one node.
    return body->ops->part_point != NULL && body->nodes >= FEW && cs->bodies[body->index].followed >= FEW;
}

bool td_contact_choose(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    int64_t end = 0;
    cs->n_left_out = 0;
    cs->growths = 0;
    cs->recovered = cs->regrown = false;
    if (!td_grow((void **)&cs->acts, &cs->act_room, cs->n, sizeof *cs->acts))
        return false;
    bool may = may_leave_out(model, state);
    double *v_new = state->v_new;
    if (may)
        count_points(model, cs);
    state->v_new = state->v; // what velocity_at reads: the first iterate may be at rest
    for (int64_t begin = 0; begin < cs->n; begin = end)
    {
        // Contacts are sorted by the pairs of colliders that they are between.
        const tdContact *first = &cs->contacts[begin];
        bool settled = td_contact_is_settled(model, cs, first); // of both bodies, and so are all of the pair
        bool plain = may && !settled && is_plain(model, &first->a) && is_plain(model, &first->b) &&
                     (has_many(model, cs, &first->a) || has_many(model, cs, &first->b));
        double least = INFINITY, mu = plain ? td_state_friction(state) * td_contact_pair(model, first).mu : 0;
        int64_t nearest = begin;
        for (end = begin; end < cs->n && cs->contacts[end].a.collider == first->a.collider &&
                          cs->contacts[end].b.collider == first->b.collider;
             end++)
        {
            double gap = plain ? gap_at_end(model, state, &cs->contacts[end], mu) : 0;
            if (settled)
            {
                cs->acts[end] = false;
                continue;
            }
            cs->acts[end] = !(gap > near_by(model, first)) || gap <= 0;
            cs->n_left_out += !cs->acts[end];
            nearest = gap < least ? end : nearest;
            least = fmin(least, gap);
        }
        cs->n_left_out -= !settled && !cs->acts[nearest];
        cs->acts[nearest] = !settled;
    }
    state->v_new = v_new;
    return true;
}

void td_contact_act_all(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    for (int64_t i = 0; i < cs->n && cs->n_left_out > 0; i++)
        if (!cs->acts[i] && !td_contact_is_settled(model, cs, &cs->contacts[i]))
        {
            cs->acts[i] = true;
            td_contact_touch(model, state, &cs->contacts[i]);
        }
    cs->n_left_out = 0;
}

// ---------------------------------------------------------------- growth

// Whether a point that was left out bears a force at the velocities of state->v_new.
static bool would_bear(const tdModel *model, tdState *state, const tdContact *contact)
{
    tdContactPair pair = td_contact_pair(model, contact);
    double v[3];
    velocity_at(model, state, contact, v);
    double drawn = -contact->phi / (model->contact->tuning.c + pair.dissipation);
    return v[2] - drawn < td_state_friction(state) * pair.mu * hypot(v[0], v[1]);
}

static int64_t find_bearing(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    int64_t found = 0;
    for (int64_t i = 0; i < cs->n; i++)
        if (!cs->acts[i] && !td_contact_is_settled(model, cs, &cs->contacts[i]) &&
            would_bear(model, state, &cs->contacts[i]))
        {
            cs->acts[i] = true;
            cs->n_left_out--;
            td_contact_touch(model, state, &cs->contacts[i]);
            found++;
        }
    return found;
}

// Whether so many points act by now that a body which was condensed is to be solved whole; then all act.
static bool outgrows(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    bool outgrown = false;
    for (int b = 0; b < model->n_bodies; b++)
        cs->bodies[b].was_condensed = cs->bodies[b].condensed;
    td_contact_touch_scalars(model, state);
    for (int b = 0; b < model->n_bodies; b++)
        outgrown = outgrown || (cs->bodies[b].was_condensed && !cs->bodies[b].condensed);
    if (outgrown && cs->n_left_out > 0)
    {
        td_contact_act_all(model, state);
        td_contact_touch_scalars(model, state);
    }
    return outgrown;
}

tdStatus td_contact_grow(const tdModel *model, tdState *state, bool *grown, bool *outgrown)
{
    tdContactState *cs = state->contact;
    *grown = *outgrown = false;
    if (!state->joined || cs->n_left_out == 0)
        return TD_OK;
    double *before = td_scratch_take(state), *v_end = cs->v_end, *v_new = state->v_new;
    memcpy(before, state->dv, (size_t)model->coords * sizeof *before);
    tdStatus status = td_contact_recover(model, state);
    for (int64_t i = 0; i < model->coords && status == TD_OK; i++)
        v_end[i] = v_new[i] + state->dv[i];
    state->v_new = v_end; // what velocity_at reads
    *grown = status == TD_OK && find_bearing(model, state) > 0;
    state->v_new = v_new;
    if (*grown)
    {
        memcpy(state->dv, before, (size_t)model->coords * sizeof *before);
        if (++cs->growths == ROUNDS)
            td_contact_act_all(model, state);
        *outgrown = outgrows(model, state);
    }
    cs->regrown = *grown;
    cs->recovered = status == TD_OK && !*grown;
    td_scratch_give(state, before);
    return status == TD_OK ? TD_OK : td_contact_fail(model, state, status);
}
