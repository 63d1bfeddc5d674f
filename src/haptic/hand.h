// SPDX-License-Identifier: Apache-2.0
// A simulated hand on a simulated device, for closed loops without either: a mass with damping, drawn by the spring of
// the arm to where the hand wants to be, measured by encoders of a finite resolution, and joined to the haptic loop by
// a channel that delays and loses messages.
//
//     m dv/dt = F + k_arm (goal - x) + b_arm (dgoal/dt - v) - b v
//
// It knows exactly what energy the force gave it: the integral of F . v.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define TD_HAND_CHANNEL 64 // messages on the way at most

typedef struct tdHandSettings
{
    double period;                 ///< [s] of the device
    double mass, damping;          ///< of device and hand [kg, N s/m]
    double stiffness, arm_damping; ///< of the arm [N/m, N s/m]
    double resolution;             ///< of the encoders [m]; 0: exact
    int delay;                     ///< ticks from the loop to the motors, and back
    double loss;                   ///< share of messages that get lost
    uint64_t seed;
} tdHandSettings;

tdHandSettings td_default_hand(void);

/// A message either way.
typedef struct tdHandMessage
{
    bool there;
    int64_t due;
    double value[3];
} tdHandMessage;

typedef struct tdHand
{
    tdHandSettings settings;
    int64_t tick;
    double x[3], v[3], goal[3];
    double energy;   ///< that forces gave it [J]
    double most;     ///< the largest it ever was
    uint64_t random; ///< state of the generator
    tdHandMessage to[TD_HAND_CHANNEL], from[TD_HAND_CHANNEL];
} tdHand;

void td_hand_start(tdHand *hand, const tdHandSettings *settings, const double x[3]);
/// A tick with the force on the motors: moves, in pieces of a tenth of the period. goal: where the hand wants to be at
/// its end.
void td_hand_move(tdHand *hand, const double force[3], const double goal[3]);
/// What the encoders say.
void td_hand_measure(const tdHand *hand, double x[3]);
/// Channels: a message sets out; the newest that has arrived by now, false: none has.
void td_hand_send(tdHand *hand, bool to_loop, const double value[3]);
bool td_hand_receive(tdHand *hand, bool at_loop, double value[3]);
