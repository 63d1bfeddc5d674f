// SPDX-License-Identifier: Apache-2.0
// Bodies that sleep (key `sleep` of contact).
//
// A rigid body that only weight and contact act on, and that has been slower than `sleep` for a while, may sleep.
// Bodies that contacts join, those that are near without touching included, sleep together or not at all. A sleeping
// body stays where it is, without velocity; contacts between sleeping bodies, and between them and what is fixed, have
// no rows and bear what they bore.
//
// Who sleeps is found anew in each step from how long each body has been slow and who is near it. What comes towards a
// sleeping body is near it a step before it touches (the margin grows with the speed of approach), so that a blow meets
// bodies that are awake, and what wakes goes on from the state that it has. A caller who moves bodies or changes
// parameters wakes all (td_contact_wake), a spring the body that it is tied to.
#include "contact/contact.h"

#include "body/spring.h"
#include "core/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Borne // what a contact bore in the last step that was accepted
{
    int32_t a, b;
    uint64_t key;
    double impulse[3], turn[3];
} Borne;

struct tdContactSleep
{
    int64_t *calm;  ///< by body: for how many steps it has been slow, up to `drowsy`
    bool *asleep;   ///< by body, in this step
    bool *stirs;    ///< by body that stands for an island: somebody of it is awake
    int32_t *other; ///< by body: another one of its island, or itself
    double *reach;  ///< by body: largest extent of what touches [m]
    bool known;     ///< what contacts bore in the last step
    Borne *borne;   ///< sorted as contacts are
    int64_t n_borne, room;
};

tdStatus td_contact_sleep_create(const tdModel *model, tdState *state, tdError *error)
{
    const tdContactModel *contact = model->contact;
    if (!(contact->sleep > 0))
        return TD_OK;
    tdArena *arena = &state->arena;
    struct tdContactSleep *sleep = state->contact->sleep = TD_TAKE(arena, struct tdContactSleep, 1);
    if (sleep == NULL)
        return td_fail_memory(error, "the contacts");
    sleep->calm = TD_TAKE(arena, int64_t, model->n_bodies);
    sleep->asleep = TD_TAKE(arena, bool, model->n_bodies);
    sleep->stirs = TD_TAKE(arena, bool, model->n_bodies);
    sleep->other = TD_TAKE(arena, int32_t, model->n_bodies);
    sleep->reach = TD_TAKE(arena, double, model->n_bodies);
    if (sleep->calm == NULL || sleep->asleep == NULL || sleep->stirs == NULL || sleep->other == NULL ||
        sleep->reach == NULL)
        return td_fail_memory(error, "the contacts");
    for (int i = 0; contact->world != NULL && i < td_collide_colliders(contact->world); i++)
    {
        double *reach = &sleep->reach[contact->colliders[i].body];
        *reach = fmax(*reach, contact->colliders[i].size);
    }
    return TD_OK;
}

void td_contact_sleep_free(tdContactState *cs)
{
    if (cs->sleep != NULL)
        free(cs->sleep->borne);
}

void td_contact_wake(const tdModel *model, tdState *state)
{
    struct tdContactSleep *sleep = state->contact != NULL ? state->contact->sleep : NULL;
    if (sleep != NULL)
        memset(sleep->calm, 0, (size_t)model->n_bodies * sizeof *sleep->calm);
}

int64_t *td_contact_calm(const tdContactState *cs)
{
    return cs->sleep != NULL ? cs->sleep->calm : NULL;
}

void td_contact_sleep_restore(tdContactState *cs)
{
    if (cs->sleep != NULL)
        cs->sleep->known = false;
}

// ---------------------------------------------------------------- who sleeps

static int32_t stand_in(int32_t *other, int32_t b)
{
    while (other[b] != b)
        b = other[b] = other[other[b]];
    return b;
}

static int body_of(const tdModel *model, const tdContactSide *side)
{
    return model->contact->colliders[side->collider].body;
}

void td_contact_doze(const tdModel *model, tdState *state)
{
    const tdContactModel *contact = model->contact;
    const tdContactState *cs = state->contact;
    struct tdContactSleep *sleep = cs->sleep;
    if (sleep == NULL)
        return;
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
        if (td_spring_get(state->springs, k, &spring))
            sleep->calm[spring.body] = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        sleep->other[b] = b;
        sleep->stirs[b] = false;
    }
    for (int64_t i = 0; i < cs->n; i++)
    {
        int a = body_of(model, &cs->contacts[i].a), b = body_of(model, &cs->contacts[i].b);
        if (contact->rest[a] != TD_REST_FIXED && contact->rest[b] != TD_REST_FIXED)
            sleep->other[stand_in(sleep->other, a)] = stand_in(sleep->other, b);
    }
    // Newton's method measures by the momentum balance of all bodies.
    for (int b = 0; b < model->n_bodies; b++)
        if (contact->rest[b] == TD_REST_NEVER || sleep->calm[b] < contact->drowsy || state->newton)
            sleep->stirs[stand_in(sleep->other, b)] = true;
    for (int b = 0; b < model->n_bodies; b++)
        sleep->asleep[b] = contact->rest[b] == TD_REST_SLEEPS && !sleep->stirs[stand_in(sleep->other, b)];
}

bool td_contact_sleeps(const tdContactState *cs, int body)
{
    return cs != NULL && cs->sleep != NULL && cs->sleep->asleep[body] && cs->sleep->known;
}

bool td_contact_is_settled(const tdModel *model, const tdContactState *cs, const tdContact *contact)
{
    int a = body_of(model, &contact->a), b = body_of(model, &contact->b);
    return td_contact_sleeps(cs, a) ? td_contact_sleeps(cs, b) || model->contact->rest[b] == TD_REST_FIXED
                                    : td_contact_sleeps(cs, b) && model->contact->rest[a] == TD_REST_FIXED;
}

void td_contact_lull(const tdModel *model, tdState *state)
{
    const tdContactState *cs = state->contact;
    for (int b = 0; cs != NULL && cs->sleep != NULL && b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int64_t i = body->first; cs->sleep->asleep[b] && i < body->first + body->count; i++)
            state->dv[i] = -state->v_new[i];
    }
}

// ---------------------------------------------------------------- what they bear

static int compare(const Borne *borne, const tdContact *contact)
{
    if (borne->a != contact->a.collider)
        return borne->a < contact->a.collider ? -1 : 1;
    if (borne->b != contact->b.collider)
        return borne->b < contact->b.collider ? -1 : 1;
    return borne->key < contact->key ? -1 : borne->key > contact->key;
}

void td_contact_bear(const tdModel *model, tdContactState *cs)
{
    const struct tdContactSleep *sleep = cs->sleep;
    if (sleep == NULL || !sleep->known)
        return;
    for (int64_t i = 0, at = 0; i < cs->n; i++)
    {
        if (!td_contact_is_settled(model, cs, &cs->contacts[i]))
            continue;
        while (at < sleep->n_borne && compare(&sleep->borne[at], &cs->contacts[i]) < 0)
            at++;
        if (at == sleep->n_borne || compare(&sleep->borne[at], &cs->contacts[i]) != 0)
            continue;
        memcpy(cs->impulse + 3 * i, sleep->borne[at].impulse, sizeof sleep->borne[at].impulse);
        if (model->turning)
            memcpy(cs->turn + 3 * i, sleep->borne[at].turn, sizeof sleep->borne[at].turn);
    }
}

// ---------------------------------------------------------------- after a step

// No slower than any point of it.
static double speed_of(const tdBody *body, const tdState *state, double reach)
{
    tdPose pose;
    double twist[6];
    body->ops->part(body, state, state->q + body->first, state->v + body->first, 0, &pose, twist);
    return sqrt(twist[0] * twist[0] + twist[1] * twist[1] + twist[2] * twist[2]) +
           reach * sqrt(twist[3] * twist[3] + twist[4] * twist[4] + twist[5] * twist[5]);
}

static void remember(const tdModel *model, tdContactState *cs, const tdState *state)
{
    struct tdContactSleep *sleep = cs->sleep;
    // Without memory all that is lost is that bodies sleep.
    sleep->known = td_grow((void **)&sleep->borne, &sleep->room, cs->n, sizeof *sleep->borne);
    sleep->n_borne = sleep->known && state->joined ? cs->n : 0;
    for (int64_t i = 0; i < sleep->n_borne; i++)
    {
        Borne *borne = &sleep->borne[i];
        *borne = (Borne){cs->contacts[i].a.collider, cs->contacts[i].b.collider, cs->contacts[i].key, {0}, {0}};
        memcpy(borne->impulse, cs->impulse + 3 * i, sizeof borne->impulse);
        if (model->turning)
            memcpy(borne->turn, cs->turn + 3 * i, sizeof borne->turn);
    }
}

void td_contact_sleep_commit(const tdModel *model, tdState *state)
{
    const tdContactModel *contact = model->contact;
    struct tdContactSleep *sleep = state->contact->sleep;
    if (sleep == NULL)
        return;
    remember(model, state->contact, state);
    for (int b = 0; b < model->n_bodies; b++)
    {
        state->report.asleep += sleep->asleep[b];
        if (contact->rest[b] != TD_REST_SLEEPS || sleep->asleep[b])
            continue;
        bool slow = speed_of(&model->bodies[b], state, sleep->reach[b]) <= contact->sleep;
        sleep->calm[b] = slow ? sleep->calm[b] + (sleep->calm[b] < contact->drowsy) : 0;
    }
}
