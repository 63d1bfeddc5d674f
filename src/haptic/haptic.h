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
    double q[6]; ///< of the guided body: way, rotation vector
} tdHapticPose;

struct tdHaptic
{
    tdHapticSettings settings;
    int body;
    int input[6];
    tdPose start; ///< of the tool
    tdCoupling coupling;
    // simulation
    tdLocalMaker *maker;
    int64_t published, left_out; ///< local models; those without all contacts within reach
    int most_contacts;
    // between
    tdLocalSlots *locals;
    tdExchange poses;
    tdHapticPose pose[3];
    // device
    tdFeel feel;
    tdGuard guard;
    tdPose device; ///< the last that was believed
    double turn[3];
    int64_t ticks, taken;
    int64_t unsolved; ///< ticks in which the bound on sweeps was reached
};
