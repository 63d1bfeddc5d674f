// SPDX-License-Identifier: Apache-2.0
#include "haptic/hand.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define PIECES 10

tdHandSettings td_default_hand(void)
{
    return (tdHandSettings){.period = 1e-3,
                            .mass = 0.15,
                            .damping = 0.5,
                            .stiffness = 300,
                            .arm_damping = 5,
                            .resolution = 1e-5,
                            .seed = 1};
}

void td_hand_start(tdHand *hand, const tdHandSettings *settings, const double x[3])
{
    assert(2 * settings->delay + 2 < TD_HAND_CHANNEL);
    memset(hand, 0, sizeof *hand);
    hand->settings = *settings;
    hand->random = settings->seed;
    memcpy(hand->x, x, sizeof hand->x);
    memcpy(hand->goal, x, sizeof hand->goal);
}

void td_hand_move(tdHand *hand, const double force[3], const double goal[3])
{
    const tdHandSettings *s = &hand->settings;
    double dt = s->period / PIECES;
    for (int piece = 1; piece <= PIECES; piece++)
        for (int k = 0; k < 3; k++)
        {
            double rate = (goal[k] - hand->goal[k]) / s->period, at = hand->goal[k] + rate * dt * piece;
            // Implicit in the arm, so that no stiffness of it gives energy.
            double lean = force[k] + s->stiffness * (at - hand->x[k]) + s->arm_damping * rate;
            double heavy = s->mass + dt * (s->damping + s->arm_damping) + dt * dt * s->stiffness;
            hand->v[k] = (s->mass * hand->v[k] + dt * lean) / heavy;
            hand->x[k] += dt * hand->v[k];
            hand->energy += force[k] * dt * hand->v[k];
        }
    hand->most = fmax(hand->most, hand->energy);
    memcpy(hand->goal, goal, sizeof hand->goal);
    hand->tick++;
}

void td_hand_measure(const tdHand *hand, double x[3])
{
    double step = hand->settings.resolution;
    for (int k = 0; k < 3; k++)
        x[k] = step > 0 ? step * floor(hand->x[k] / step + 0.5) : hand->x[k];
}

// ---------------------------------------------------------------- channel

static double random_share(tdHand *hand)
{
    hand->random = hand->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(hand->random >> 11) / 9007199254740992.0;
}

void td_hand_send(tdHand *hand, bool to_loop, const double value[3])
{
    tdHandMessage *list = to_loop ? hand->from : hand->to;
    if (random_share(hand) < hand->settings.loss)
        return;
    tdHandMessage *slot = &list[hand->tick % TD_HAND_CHANNEL];
    *slot = (tdHandMessage){.there = true, .due = hand->tick + hand->settings.delay};
    memcpy(slot->value, value, sizeof slot->value);
}

bool td_hand_receive(tdHand *hand, bool at_loop, double value[3])
{
    tdHandMessage *list = at_loop ? hand->from : hand->to, *newest = NULL;
    for (int i = 0; i < TD_HAND_CHANNEL; i++)
    {
        if (!list[i].there || list[i].due > hand->tick)
            continue;
        if (newest == NULL || list[i].due > newest->due)
            newest = &list[i];
        list[i].there = false;
    }
    if (newest != NULL)
        memcpy(value, newest->value, sizeof newest->value);
    return newest != NULL;
}
