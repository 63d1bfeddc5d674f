// SPDX-License-Identifier: Apache-2.0
// A simulation and the loop of a device by turns, without a clock.
#pragma once
#include "felt.h"

#include "haptic/haptic.h"

typedef struct rig
{
    tdModel *model;
    tdState *state;
    tdHaptic *haptic;
    tdHapticForce felt;
    int64_t tick;
    double period;
    double largest_jump, speed_limit;
} rig;

/// A hand on the scene's tool, simulation and loop by turns.
static inline rig rig_at(tdModel *model, double stiffness, double period)
{
    rig r = {.model = model, .state = scene_state(model), .period = period};
    tdError error = {0};
    tdHapticSettings settings = td_default_haptic();
    settings.stiffness = stiffness;
    settings.max_force = 20;
    settings.period = period;
    assert_ok(td_haptic_create(model, &settings, &r.haptic, &error), error);
    return r;
}

static inline rig rig_of(tdModel *model, double stiffness)
{
    return rig_at(model, stiffness, 1e-3);
}

static inline void rig_free(rig *r)
{
    td_haptic_free(r->haptic);
    scene_free(r->model, r->state);
}

/// Ticks along a straight way to `to`, with the steps that belong to them.
static inline void go(rig *r, double from[3], const double to[3], int ticks)
{
    double start[3] = {from[0], from[1], from[2]};
    int per = (int)lround(td_model_time_step(r->model) / r->period);
    for (int k = 1; k <= ticks; k++, r->tick++)
    {
        if (r->tick % per == 0)
            assert_ok(td_haptic_step(r->haptic, r->model, r->state, r->period * (double)r->tick),
                      td_state_report(r->state)->error);
        double before[3], jump[3];
        memcpy(before, r->felt.force, sizeof before);
        for (int c = 0; c < 3; c++)
            from[c] = start[c] + (to[c] - start[c]) * k / ticks;
        td_haptic_tick(r->haptic, r->period * (double)r->tick, from, NULL, &r->felt);
        for (int c = 0; c < 3; c++)
            jump[c] = r->felt.force[c] - before[c];
        r->largest_jump = fmax(r->largest_jump, sqrt(jump[0] * jump[0] + jump[1] * jump[1] + jump[2] * jump[2]));
    }
}
