// SPDX-License-Identifier: Apache-2.0
// The last thing before the motors: whatever it is asked for, a device is given forces that are finite, within limits,
// that change no faster than stated, and that on the whole give a hand no energy.
//
//     E_k = E_(k-1) + F_(k-1) . (x_k - x_(k-1))        energy given to the hand, with the force that was held
//
// (time-domain passivity, Hannaford and Ryu 2002). As long as E < 0 the hand has put in more than it got. A force may
// give back what is there, and no more: it is shortened to what the coming tick can give at most, and what was given
// too much is taken back by damping. What the hand put in counts up to `store` only, so that rubbing for an hour
// does not pay for a blow. Torques and turns are part of it where the device knows its rotation (td_guard_turn), a turn
// counted as the way of a point `lever` from the hand; else they are cut and ramped only.
//
// The guard stands where positions are measured and forces applied without delay between them: in the haptic loop of a
// device that is plugged in, in the client of one that is far away (examples/haptic_client.c).
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct tdGuardSettings
{
    double period;     ///< of the loop [s]
    double max_force;  ///< [N] forces are cut to it
    double max_torque; ///< [N m]
    double fault;      ///< times max_force: a demand beyond it is a fault, and ends in no force
    double slew;       ///< [N/s] how fast a force may change; what passivity and faults take away goes at once
    double resolution; ///< [m] of the encoders: what they do not see is counted against us
    double store;      ///< [J] most that is kept of what the hand put in
    double allowance;  ///< [J] that a hand may be given on the whole: what one tick cannot know
    double mass;       ///< [kg] least that the motors move: device and hand
    double lever;      ///< [m] at which that mass stands against turns
    double damping;    ///< [N s/m] most that takes back what was given too much
    bool passive;      ///< false: energies are observed, and nothing is done about them
    double silence;    ///< [s] in which nothing is heard, after which the force goes to zero
    double ramp;       ///< [s] within which it does
} tdGuardSettings;

/// max_force of the device; the others as documented in docs/haptics.md.
tdGuardSettings td_default_guard(double period, double max_force);

/// Why there is no force.
typedef enum tdGuardFault
{
    TD_GUARD_FINE,
    TD_GUARD_SILENT,    ///< nothing was heard for too long
    TD_GUARD_BAD_POSE,  ///< numbers that are not finite, or that no hand makes
    TD_GUARD_BAD_FORCE, ///< a demand that is not finite, or beyond the limit
} tdGuardFault;

typedef struct tdGuard
{
    tdGuardSettings settings;
    bool started;
    double last[3];                 ///< position
    double seen[3];                 ///< the same without steps of the encoders to and fro
    double force[3], torque[3];     ///< as applied
    double rotation[4];             ///< of the device, when `turned`
    bool turned, turns;             ///< it is known; the last tick brought one
    double turn[3];                 ///< since the last one [rad]
    double energy;                  ///< given to the hand: E [J]
    double most;                    ///< the largest it ever was
    double held[3], held_torque[3]; ///< when the last pose came
    double blind;                   ///< [s] since the last pose
    double silent;                  ///< [s] since the other side was heard
    tdGuardFault fault;
    double left;                           ///< share of the force that a ramp to zero has left
    int64_t limited, faults, cuts;         ///< ticks: of passivity; faults that began; forces cut to the maximum
    int64_t begun[TD_GUARD_BAD_FORCE + 1]; ///< of these faults, by their kind
} tdGuard;

void td_guard_start(tdGuard *guard, const tdGuardSettings *settings);
/// Before a tick whose pose has a rotation, a unit quaternion: the energy of torques is observed too.
void td_guard_turn(tdGuard *guard, const double rotation[4]);
/// One tick. position: of the device, NULL: none has come. heard: a message of the other side has come: a pose from the
/// device; in the client of a device that is far away, a force. force, torque: what is asked for; then what to apply.
void td_guard(tdGuard *guard, const double *position, bool heard, double force[3], double torque[3]);
const char *td_guard_fault(tdGuardFault fault);
