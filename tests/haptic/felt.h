// SPDX-License-Identifier: Apache-2.0
// A scene with a tool, its local model and what a hand feels of it.
#pragma once
#include "scenes.h"

#include "body/guided.h"
#include "haptic/feel.h"

// A plate in the hand above a column that it presses.
#define COLUMN_SCENE                                                                                                   \
    "tendril: 1\ngravity: [0, 0, 0]\ntime_step: 5 ms\nsteps: 10\nintegrator: {method: backward_euler}\n"               \
    "contact: {friction: 0.3, margin: 5 mm}\nbodies:\n"                                                                \
    "  - {name: plate, type: rigid, shape: {box: [0.3, 0.3, 0.02]}, guided: true, transform: {translate: [0, 0, "      \
    "0.11]}}\n"                                                                                                        \
    "  - name: column\n"                                                                                               \
    "    mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [1, 1, 1]}\n"                                      \
    "    material: {law: linear, young: 10 kPa, poisson: 0, density: 10 kg/m^3}\n"                                     \
    "    fixed: [{box: [[-1, -1, -0.001], [1, 1, 0.001]]}]\n"

#define RIGID_COUPLING ((tdCoupling){.stiffness = INFINITY, .angular_stiffness = INFINITY})

typedef struct touched
{
    tdModel *model;
    tdState *state;
    int tool;
    tdCoupling coupling;
    tdLocalMaker *maker;
    tdLocal local;
    tdFeel feel;
} touched;

/// A state of a model whose tool is body number `tool`. To be freed by touched_free(), with the model.
static inline touched *touched_create(tdModel *model, int tool, tdCoupling coupling)
{
    touched *t = calloc(1, sizeof *t);
    tdError error = {0};
    tdFeelSettings settings = td_default_feel();
    settings.sweeps = 2000;
    settings.tolerance = 1e-12;
    t->model = model;
    t->state = scene_state(model);
    t->tool = tool;
    t->coupling = coupling;
    assert_ok(td_local_create(model, tool, &t->coupling, &t->maker, &error), error);
    td_feel_start(&t->feel, &settings);
    return t;
}

static inline void touched_free(touched *t)
{
    td_local_free(t->maker);
    scene_free(t->model, t->state);
    free(t);
}

/// Steps, and the local model after the last; each is made, as in a session.
static inline void touched_steps(touched *t, int n)
{
    tdError error = {0};
    for (int k = 0; k < n; k++)
    {
        scene_steps(t->model, t->state, 1);
        assert_ok(td_local_make(t->maker, t->model, t->state, t->state->time, &t->local, &error), error);
    }
    td_feel_take(&t->feel, &t->local);
}

/// What is felt at a way from where the tool is in the step, `after` it.
static inline tdFelt touched_at(touched *t, double x, double y, double z, double after)
{
    tdFelt felt;
    tdPose device = t->local.tool;
    device.t[0] += x;
    device.t[1] += y;
    device.t[2] += z;
    td_feel(&t->feel, &t->coupling, &device, t->local.clock + after, &felt);
    return felt;
}

/// Sets the way of the tool that the next steps have it at.
static inline void touched_place(touched *t, const double q[6])
{
    for (int k = 0; k < 6; k++)
        t->state->override[t->model->bodies[t->tool].guided->input[k]] = q[k];
}
