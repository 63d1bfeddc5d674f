// SPDX-License-Identifier: Apache-2.0
// A simulated hand against a wall through a channel that delays and loses messages, with the guard at the device.
#pragma once
#include "felt.h"

#include "base/vector.h"
#include "haptic/guard.h"
#include "haptic/hand.h"

typedef struct closedLoop
{
    tdHandSettings hand;
    double stiffness, mu; ///< of the wall at z = 0
    double unrest;        ///< models are replaced every ten ticks: by how much they differ, as a share
    double max_force;
    bool guarded;
    uint64_t seed;
    // what comes of it
    double given; ///< most energy that the hand was given at any time [J]
    double most;  ///< force on the motors [N]
    double jump;  ///< by which a force grew at most in a tick, but where energy is taken back [N]
    int64_t limited;
} closedLoop;

static inline double between(uint64_t *seed, double low, double high)
{
    return low + (high - low) * 0.5 * (1 + next_random(seed));
}

/// Random numbers of everything that a motion depends on.
static inline closedLoop random_loop(uint64_t seed)
{
    closedLoop loop = {.hand = td_default_hand(), .seed = seed, .guarded = true};
    for (int k = 0; k < 5; k++)
        next_random(&loop.seed);
    loop.hand.mass = between(&loop.seed, 0.05, 0.5);
    loop.hand.damping = between(&loop.seed, 0, 1);
    loop.hand.stiffness = between(&loop.seed, 100, 1000);
    loop.hand.arm_damping = between(&loop.seed, 1, 10);
    loop.hand.delay = (int)between(&loop.seed, 0, 20.999);
    loop.hand.loss = 0.1;
    loop.hand.seed = loop.seed;
    loop.stiffness = between(&loop.seed, 200, 3000);
    loop.mu = between(&loop.seed, 0, 0.8);
    loop.unrest = between(&loop.seed, 0, 0.3);
    loop.max_force = between(&loop.seed, 3, 10);
    return loop;
}

static inline void make_wall(const closedLoop *loop, uint64_t *seed, tdLocal *local)
{
    double soft = (1 + loop->unrest * next_random(seed)) / loop->stiffness;
    memset(local, 0, offsetof(tdLocal, C));
    local->tool = td_pose_identity();
    local->h = 0.01;
    local->n = 1;
    for (int r = 0; r < 3; r++)
    {
        local->contact[0].direction[r][r] = 1;
        local->C[4 * r] = soft;
    }
    local->contact[0].mu = loop->mu;
    local->contact[0].b[2] = 1e-3 * loop->unrest * next_random(seed);
}

/// `ticks` of a motion in and out of the wall and along it.
static inline void run_loop(closedLoop *loop, int ticks)
{
    static tdLocal local;
    uint64_t seed = loop->seed;
    const tdCoupling rigid = RIGID_COUPLING;
    tdFeelSettings feel_settings = td_default_feel();
    tdGuardSettings guard_settings = td_default_guard(loop->hand.period, loop->max_force);
    guard_settings.resolution = loop->hand.resolution;
    double start[3] = {0, 0, 5e-3}, wave[3][4], asked[3] = {0}, force[3] = {0};
    tdHand hand;
    tdGuard guard;
    tdFeel feel;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++)
            wave[k][i] = between(&seed, 0, 1);
    local.C[1] = 0;
    make_wall(loop, &seed, &local);
    td_hand_start(&hand, &loop->hand, start);
    td_guard_start(&guard, &guard_settings);
    td_feel_start(&feel, &feel_settings);
    td_feel_take(&feel, &local);
    tdPose device = td_pose_identity();
    memcpy(device.t, start, sizeof start);
    for (int tick = 0; tick < ticks; tick++)
    {
        double x[3], at[3], goal[3], torque[3] = {0}, t = tick * loop->hand.period, before[3];
        tdFelt felt;
        // the loop
        if (tick % 10 == 9)
        {
            make_wall(loop, &seed, &local);
            td_feel_take(&feel, &local);
        }
        if (td_hand_receive(&hand, true, at))
        {
            memcpy(device.t, at, sizeof at);
            td_feel(&feel, &rigid, &device, 0, &felt);
            td_hand_send(&hand, false, felt.force);
        }
        // the device
        td_hand_measure(&hand, x);
        td_hand_send(&hand, true, x);
        bool heard = td_hand_receive(&hand, false, asked);
        memcpy(force, asked, sizeof force);
        memcpy(before, guard.force, sizeof before);
        bool owes = guard.energy > 0;
        if (loop->guarded)
            td_guard(&guard, x, heard, force, torque);
        for (int k = 0; k < 3; k++)
        {
            double sway = wave[k][0] * sin(2 * M_PI * (1 + 4 * wave[k][1]) * t) +
                          wave[k][2] * sin(2 * M_PI * (2 + 8 * wave[k][3]) * t);
            goal[k] = start[k] + 0.01 * sway;
            loop->most = fmax(loop->most, fabs(force[k]));
        }
        double grown = sqrt(td_dot3(force, force)) - sqrt(td_dot3(before, before));
        loop->jump = owes ? loop->jump : fmax(loop->jump, grown);
        td_hand_move(&hand, force, goal);
    }
    loop->given = hand.most;
    loop->limited = guard.limited;
}
