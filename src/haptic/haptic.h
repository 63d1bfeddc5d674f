// SPDX-License-Identifier: Apache-2.0
// The object of both threads (tendril.h): who writes what.
//
//     simulation  state, maker ── local ─▶ three slots ─▶ feel, guard  device's thread
//                 inputs of the tool ◀─ three slots ◀── pose
//
// Each side owns what is on its side; slots pass by exchange (base/exchange.h).
#pragma once
#include "haptic/feel.h"
#include "haptic/guard.h"
#include "tendril/tendril.h"

/// What the device's thread tells the simulation: where the tool is.
typedef struct tdHapticPose
{
    double q[6]; ///< inputs of the guided body: way, rotation vector
    double grip; ///< 0: open, 1: closed
    double clock;
} tdHapticPose;

struct tdHaptic
{
    tdHapticSettings settings;
    int body;
    const struct tdGuided *guided;
    int input[6];
    int jaw_input[3];    ///< of the body that follows the tool; -1: none does
    double jaw_close[3]; ///< what a whole grip moves it by [m]
    tdPose start;        ///< of the tool
    tdCoupling coupling;
    // simulation
    tdLocalMaker *maker;
    double posed;                ///< clock of the pose that the simulation has
    int64_t published, left_out; ///< local models; those without all contacts within reach
    int most_contacts;
    // between
    tdLocalSlots *locals;
    tdExchange poses;
    tdHapticPose pose[3];
    // device
    tdFeel feel;
    tdGuard guard;
    double most_force; ///< [N] that a tick gave
    tdPose device;     ///< the last that was believed
    double turn[3];
    double grip, grip_target; ///< where the jaw is, and where the hand wants it
    int64_t ticks, taken;
    int64_t unsolved; ///< ticks in which the bound on sweeps was reached
    double residual;  ///< of these, the largest change of a force in the last sweep, relative to the largest force
};
