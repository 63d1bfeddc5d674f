// SPDX-License-Identifier: Apache-2.0
// One body of a scene as if it were alone: for training, where what it touches, carries and is welded to has no
// equilibria of its own.
#pragma once
#include "core/model.h"

/// Leaves one body, its loads, probes and actuators, and what a motion gives of those. Gone are all others, contact,
/// couplings, effectors, tools and sensors. What of the body was attached to another one is attached to space, and a
/// cable that ended on another body ends where that is at rest.
/// A body that nothing drives is reduced by vibration modes where the scene asks for snapshots.
void td_scene_alone(tdScene *scene, int body);
/// Nodes of the body, which is alone, that are attached to space are held instead: an equilibrium then takes a few
/// passes of Newton's method.
tdStatus td_scene_hold_attached(tdScene *scene, tdError *error);

/// Bodies of a scene that name the file of their reduced model.
typedef struct tdReduceBodies
{
    tdArena arena;
    int n;
    const char **names, **files;
} tdReduceBodies;
/// td_arena_free(&out->arena) also after failure.
tdStatus td_reduce_bodies(const char *scene, const tdSettings *settings, tdReduceBodies *out, tdError *error);
