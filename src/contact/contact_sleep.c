// SPDX-License-Identifier: Apache-2.0
// Bodies that sleep (key `sleep` of contact).
//
// A rigid body that only weight and contact act on, and that has been slower than `sleep` for a while, may sleep.
// Bodies that contacts join, those that are near without touching included, sleep together or not at all. A sleeping
// body stays where it is, without velocity; contacts between sleeping bodies, and between them and what is fixed, have
// no rows and bear what they bore.
//
//     calm  < drowsy        awake
//           = drowsy        the first step of rest: solved as before, and then it stops
//           = drowsy + 1    settles: solved at rest, for what its contacts bear
//           = drowsy + 2    nothing of it is solved
//
// Who sleeps is found anew in each step from how long each body has been slow and who is near it. What comes towards a
// sleeping body is near it a step before it touches (the margin grows with the speed of approach), so that a blow meets
// bodies that are awake, and what wakes goes on from the state that it has. A caller who moves bodies or changes
// parameters wakes all (td_contact_wake), a spring the body that it is tied to. After a checkpoint was read all that
// sleep settle once more, at the same places and at rest, so that motion has the same bits.
#include "contact/contact.h"

#include "base/vector.h"
#include "body/spring.h"
#include "core/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETTLED 2 // steps of rest until nothing is solved

typedef struct Borne // what a contact bore in the last step that was accepted
{
    int32_t a, b;
    uint64_t key;
    double impulse[3], turn[3];
} Borne;

struct tdContactSleep
{
    int64_t *calm;  ///< by body: for how many steps it has been slow
    int64_t *least; ///< by body that stands for an island: calm of the one of it that moved last
    bool *asleep;   ///< by body, in this step
    bool *settled;  ///< likewise: nothing of it is solved
    bool *borne_up; ///< by body: a contact bears something of it
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
    sleep->least = TD_TAKE(arena, int64_t, model->n_bodies);
    sleep->asleep = TD_TAKE(arena, bool, model->n_bodies);
    sleep->settled = TD_TAKE(arena, bool, model->n_bodies);
    sleep->borne_up = TD_TAKE(arena, bool, model->n_bodies);
    sleep->other = TD_TAKE(arena, int32_t, model->n_bodies);
    sleep->reach = TD_TAKE(arena, double, model->n_bodies);
    if (sleep->calm == NULL || sleep->least == NULL || sleep->asleep == NULL || sleep->settled == NULL ||
        sleep->borne_up == NULL || sleep->other == NULL || sleep->reach == NULL)
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
        sleep->least[b] = INT64_MAX;
    }
    for (int64_t i = 0; i < cs->n; i++)
    {
        int a = body_of(model, &cs->contacts[i].a), b = body_of(model, &cs->contacts[i].b);
        if (contact->rest[a] != TD_REST_FIXED && contact->rest[b] != TD_REST_FIXED)
            sleep->other[stand_in(sleep->other, a)] = stand_in(sleep->other, b);
    }
    // Newton's method measures by the momentum balance of all bodies.
    for (int b = 0; b < model->n_bodies; b++)
    {
        int64_t calm = contact->rest[b] == TD_REST_SLEEPS && !state->newton ? sleep->calm[b] : -1;
        int64_t *least = &sleep->least[stand_in(sleep->other, b)];
        *least = calm < *least ? calm : *least;
    }
    for (int b = 0; b < model->n_bodies; b++)
    {
        int64_t least = sleep->least[stand_in(sleep->other, b)];
        sleep->asleep[b] = contact->rest[b] == TD_REST_SLEEPS && least >= contact->drowsy;
        sleep->settled[b] = sleep->asleep[b] && least >= contact->drowsy + SETTLED && sleep->known;
    }
}

bool td_contact_sleeps(const tdContactState *cs, int body)
{
    return cs != NULL && cs->sleep != NULL && cs->sleep->settled[body];
}

bool td_contact_is_settled(const tdModel *model, const tdContactState *cs, const tdContact *contact)
{
    int a = body_of(model, &contact->a), b = body_of(model, &contact->b);
    return td_contact_sleeps(cs, a) ? td_contact_sleeps(cs, b) || model->contact->rest[b] == TD_REST_FIXED
                                    : td_contact_sleeps(cs, b) && model->contact->rest[a] == TD_REST_FIXED;
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

// ---------------------------------------------------------------- whether they stay

#define COORDS 6 // of a rigid body

// No slower than any point of it.
static double speed_of(const tdBody *body, const tdState *state, const double *v, double reach)
{
    tdPose pose;
    double twist[6];
    body->ops->part(body, state, state->q + body->first, v, 0, &pose, twist);
    return sqrt(td_dot3(twist, twist)) + reach * sqrt(td_dot3(twist + 3, twist + 3));
}

static void find_borne_up(const tdModel *model, const tdContactState *cs)
{
    struct tdContactSleep *sleep = cs->sleep;
    memset(sleep->borne_up, 0, (size_t)model->n_bodies * sizeof *sleep->borne_up);
    for (int64_t i = 0; i < cs->n; i++)
    {
        if (!(td_dot3(cs->impulse + 3 * i, cs->contacts[i].normal) > 0))
            continue;
        sleep->borne_up[body_of(model, &cs->contacts[i].a)] = true;
        sleep->borne_up[body_of(model, &cs->contacts[i].b)] = true;
    }
}

// A body that nothing bears and that moves, however slowly, goes on for ever.
static bool is_slow(const tdModel *model, const tdState *state, int b, const double *v)
{
    const struct tdContactSleep *sleep = state->contact->sleep;
    double speed = speed_of(&model->bodies[b], state, v, sleep->reach[b]);
    return speed <= (sleep->borne_up[b] ? model->contact->sleep : 0);
}

// What is about to rest would go if what bore it has left in the last step.
static void wake_who_goes(const tdModel *model, tdState *state)
{
    struct tdContactSleep *sleep = state->contact->sleep;
    find_borne_up(model, state->contact);
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        double v[COORDS];
        if (!sleep->asleep[b] || sleep->settled[b])
            continue;
        for (int i = 0; i < COORDS; i++)
            v[i] = state->v_new[body->first + i] + state->dv[body->first + i];
        if (!is_slow(model, state, b, v))
            sleep->least[stand_in(sleep->other, b)] = -1;
    }
    for (int b = 0; b < model->n_bodies; b++)
        sleep->asleep[b] = sleep->asleep[b] && sleep->least[stand_in(sleep->other, b)] >= 0;
}

void td_contact_lull(const tdModel *model, tdState *state, bool solved)
{
    struct tdContactSleep *sleep = state->contact != NULL ? state->contact->sleep : NULL;
    if (sleep == NULL)
        return;
    if (solved)
        wake_who_goes(model, state);
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        bool rests = solved ? sleep->asleep[b] : sleep->settled[b];
        for (int64_t i = body->first; rests && i < body->first + body->count; i++)
            state->dv[i] = -state->v_new[i];
    }
}

// ---------------------------------------------------------------- after a step

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
    find_borne_up(model, state->contact);
    for (int b = 0; b < model->n_bodies; b++)
    {
        int64_t *calm = &sleep->calm[b], most = contact->drowsy + (sleep->asleep[b] ? SETTLED : 0);
        state->report.asleep += sleep->asleep[b];
        if (contact->rest[b] != TD_REST_SLEEPS)
            continue;
        if (sleep->asleep[b]) // what it bears is then a matter of where it is alone
            memset(state->a + model->bodies[b].first, 0, (size_t)model->bodies[b].count * sizeof *state->a);
        bool slow = sleep->asleep[b] || is_slow(model, state, b, state->v + model->bodies[b].first);
        *calm = !slow ? 0 : *calm < most ? *calm + 1 : most;
    }
}
