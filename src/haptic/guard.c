// SPDX-License-Identifier: Apache-2.0
#include "haptic/guard.h"

#include "base/vector.h"

#include <string.h>

#define FASTEST 20 // [m/s] no hand moves a device faster: a pose beyond it is wrong

tdGuardSettings td_default_guard(double period, double max_force)
{
    return (tdGuardSettings){.period = period,
                             .max_force = max_force,
                             .max_torque = 0.1 * max_force,
                             .fault = 20,
                             .slew = 200 * max_force,
                             .resolution = 1e-5,
                             .store = 0.05 * max_force,
                             .allowance = 3e-4,
                             .mass = 0.05,
                             .lever = 0.05,
                             .damping = 20,
                             .passive = true,
                             .silence = 0.01,
                             .ramp = 0.005};
}

void td_guard_start(tdGuard *guard, const tdGuardSettings *settings)
{
    memset(guard, 0, sizeof *guard);
    guard->settings = *settings;
    guard->left = 1;
}

const char *td_guard_fault(tdGuardFault fault)
{
    static const char *const names[] = {"fine", "nothing was received for 10 ms", "the device sent an impossible pose",
                                        "the simulation requested an impossible force"};
    return names[fault];
}

static bool is_finite3(const double x[3])
{
    return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

// The rotation vector from b to a. (Clients of devices that are far away take this file alone.)
static void turn_since(const double a[4], const double b[4], double out[3])
{
    double w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], v[3];
    for (int k = 0; k < 3; k++)
    {
        int i = 1 + (k + 1) % 3, j = 1 + (k + 2) % 3;
        v[k] = b[0] * a[1 + k] - a[0] * b[1 + k] - (a[i] * b[j] - a[j] * b[i]);
    }
    double size = sqrt(td_dot3(v, v)), angle = 2 * atan2(w < 0 ? -size : size, fabs(w));
    for (int k = 0; k < 3; k++)
        out[k] = size > 0 ? angle / size * v[k] : 0;
}

void td_guard_turn(tdGuard *guard, const double rotation[4])
{
    double turn[3] = {0, 0, 0};
    if (guard->turned)
        turn_since(rotation, guard->rotation, turn);
    if (!is_finite3(turn) || !isfinite(rotation[0]))
        return; // the pose is refused by the one who read it
    memcpy(guard->rotation, rotation, sizeof guard->rotation);
    memcpy(guard->turn, turn, sizeof turn);
    guard->turns = guard->turned;
    guard->turned = true;
}

// ---------------------------------------------------------------- faults

// A position is believed when it is finite and a hand can have come there since the last.
static bool is_pose(const tdGuard *guard, const double *x)
{
    if (!is_finite3(x))
        return false;
    double d[3] = {0, 0, 0};
    if (guard->started)
        td_subtract3(x, guard->last, d);
    return sqrt(td_dot3(d, d)) <= FASTEST * (guard->settings.period + guard->blind);
}

static void begin_fault(tdGuard *guard, tdGuardFault fault)
{
    guard->faults += guard->fault == TD_GUARD_FINE;
    guard->begun[fault] += guard->fault == TD_GUARD_FINE;
    guard->fault = fault;
}

// Faults end when what caused them does: the device is heard again, the demand has gone through zero.
static void watch(tdGuard *guard, bool heard, bool bad, const double force[3], const double torque[3])
{
    const tdGuardSettings *s = &guard->settings;
    bool finite = is_finite3(force) && is_finite3(torque);
    double size = finite ? sqrt(td_dot3(force, force)) : INFINITY;
    guard->silent = heard ? 0 : guard->silent + s->period;
    if (bad)
        begin_fault(guard, TD_GUARD_BAD_POSE);
    else if (size > s->fault * s->max_force)
        begin_fault(guard, TD_GUARD_BAD_FORCE);
    else if (guard->silent > s->silence + 0.5 * s->period)
        begin_fault(guard, TD_GUARD_SILENT);
    else if (guard->fault != TD_GUARD_FINE && heard && (guard->fault != TD_GUARD_BAD_FORCE || size == 0))
        guard->fault = TD_GUARD_FINE;
    // Positions that are wrong say nothing about the motion, and a demand that is no number nothing about forces: zero
    // at once. The others ramp.
    bool at_once = guard->fault == TD_GUARD_BAD_POSE || !finite;
    double step = at_once ? 1 : s->period / s->ramp;
    guard->left = guard->fault == TD_GUARD_FINE ? 1 : fmax(0, guard->left - step);
}

// ---------------------------------------------------------------- limits

static bool cut(double x[3], double most)
{
    double size = sqrt(td_dot3(x, x));
    for (int k = 0; k < 3 && size > most; k++)
        x[k] *= most / size;
    return size > most;
}

// From what was applied last, by no more than the slew allows.
static void follow(const tdGuard *guard, double force[3])
{
    double step[3];
    td_subtract3(force, guard->force, step);
    cut(step, guard->settings.slew * guard->settings.period);
    for (int k = 0; k < 3; k++)
        force[k] = guard->force[k] + step[k];
}

// ---------------------------------------------------------------- energy

// What the held force did on the way to x. Of a way on which nothing was heard the worst is taken: the force that was
// held at its start, for as long as there was any. (A device that comes back elsewhere after a while was not brought
// there by us; with that on its account it would have no force for a long time.)
static void observe(tdGuard *guard, const double x[3], double way[3])
{
    double acted = guard->settings.silence + guard->settings.ramp;
    // What goes to and fro between two steps of the encoders stands still. Taken for motion, it would cost a hand that
    // rests on a wall all the energy that it had put in, and then be damped, which can be felt.
    double slack = 0.5 * (1 + 1e-6) * guard->settings.resolution;
    for (int k = 0; k < 3; k++)
    {
        double away = x[k] - guard->seen[k];
        way[k] = away > slack ? away - slack : away < -slack ? away + slack : 0;
        guard->seen[k] += way[k];
    }
    double held = td_dot3(guard->held, way) + td_dot3(guard->held_torque, guard->turn);
    double now = td_dot3(guard->force, way) + td_dot3(guard->torque, guard->turn);
    guard->energy += guard->blind > 0 ? fmax(0, held) * fmin(1, acted / guard->blind) : now;
    guard->energy = fmax(guard->energy, -guard->settings.store);
    guard->most = fmax(guard->most, guard->energy);
    memcpy(guard->last, x, sizeof guard->last);
}

// What a force F gives in the next tick if nothing holds the device but its least mass: it goes on from where the last
// tick brought it, and gains speed by the forces of both,
//
//     F . (way + F_last q) + |F|^2 q,   q = T^2 / 2m        and the same of the torque with m lever^2
//
// F is shortened so that all that was given stays below the allowance; a brake is never too much. What was given too
// much is taken back, by no more damping than is allowed; not by one that is in a fault, whose force goes to zero.
static void be_passive(tdGuard *guard, const double way[3], double force[3], double torque[3])
{
    const tdGuardSettings *s = &guard->settings;
    double q = 0.5 * s->period * s->period / s->mass, lever2 = s->lever * s->lever, about = q / lever2;
    double along2 = td_dot3(way, way), there = s->allowance - guard->energy, share = 1;
    double b = td_dot3(force, way) + q * td_dot3(force, guard->force), a = q * td_dot3(force, force);
    there = fmax(there, 0);
    if (guard->turned)
    {
        a += about * td_dot3(torque, torque);
        b += td_dot3(torque, guard->turn) + about * td_dot3(torque, guard->torque);
        along2 += lever2 * td_dot3(guard->turn, guard->turn);
    }
    if (a + b > there)
        share = fmin(1, fmax(0, (sqrt(b * b + 4 * a * there) - b) / (2 * a)));
    double damping =
        along2 > 0 && guard->fault == TD_GUARD_FINE ? fmin(s->damping / s->period, fmax(0, guard->energy) / along2) : 0;
    guard->limited += share < 1 || damping > 0;
    for (int k = 0; k < 3; k++)
    {
        force[k] = share * force[k] - damping * way[k];
        if (guard->turned)
            torque[k] = share * torque[k] - damping * lever2 * guard->turn[k];
    }
}

// Straight down from what was applied when the fault began.
static void ramp_down(tdGuard *guard, double before, double force[3], double torque[3])
{
    double share = before > 0 ? guard->left / before : 0;
    for (int k = 0; k < 3; k++)
    {
        force[k] = share * guard->force[k];
        torque[k] = share * guard->torque[k];
    }
}

void td_guard(tdGuard *guard, const double *position, bool heard, double force[3], double torque[3])
{
    const tdGuardSettings *s = &guard->settings;
    bool bad = position != NULL && !is_pose(guard, position), good = position != NULL && !bad;
    double way[3] = {0, 0, 0}, before = guard->left, change[3], turn[3];
    if (!good || !guard->turns)
        memset(guard->turn, 0, sizeof guard->turn);
    guard->turns = false;
    watch(guard, heard && !bad, bad, force, torque);
    if (good && guard->started)
        observe(guard, position, way);
    else if (good)
    {
        memcpy(guard->last, position, sizeof guard->last);
        memcpy(guard->seen, position, sizeof guard->seen);
    }
    guard->started = guard->started || good;
    guard->blind = good ? 0 : guard->blind + s->period;
    if (guard->fault == TD_GUARD_FINE)
    {
        guard->cuts += cut(force, s->max_force);
        follow(guard, force);
        cut(torque, s->max_torque);
    }
    else
        ramp_down(guard, before, force, torque);
    if (s->passive)
        be_passive(guard, way, force, torque);
    cut(force, s->max_force);
    cut(torque, s->max_torque);
    // Positions are known to half a step of the encoders: while they move, the work of each change of the force is
    // uncertain by that. It uses up the allowance, and makes no debt: limited forces change much, and would never end.
    double unsure = 0;
    td_subtract3(force, guard->force, change);
    td_subtract3(torque, guard->torque, turn);
    if (td_dot3(way, way) > 0)
        unsure += 0.5 * s->resolution * sqrt(td_dot3(change, change));
    if (td_dot3(guard->turn, guard->turn) > 0)
        unsure += 0.5 * s->resolution / s->lever * sqrt(td_dot3(turn, turn));
    guard->energy = fmax(guard->energy, fmin(guard->energy + unsure, s->allowance));
    memcpy(guard->force, force, sizeof guard->force);
    memcpy(guard->torque, torque, sizeof guard->torque);
    if (good)
    {
        memcpy(guard->held, force, sizeof guard->held);
        memcpy(guard->held_torque, torque, sizeof guard->held_torque);
    }
}
