// SPDX-License-Identifier: Apache-2.0
// The compiled scene: what never changes while it runs.
#pragma once
#include "base/memory.h"
#include "body/body.h"
#include "integrate/scheme.h"
#include "scene/scene.h"

/// A number that drives loads and prescribed motions: by a motion of the scene or set by the caller.
typedef struct tdInput
{
    const char *name;
    int column; ///< in scene.motion, or -1: constant 1
} tdInput;

/// Weighted mean of nodes of a body.
typedef struct tdProbe
{
    const char *name;
    int body;
    int32_t n;
    int32_t *nodes;
    double *weights;
} tdProbe;

struct tdModel
{
    tdArena arena;
    tdScene scene;
    tdScheme scheme;
    int n_bodies;
    tdBody *bodies;
    int64_t coords;   ///< of all bodies
    int64_t unknowns; ///< of all bodies
    int n_inputs;
    tdInput *inputs;
    int n_probes;
    tdProbe *probes;
};

/// Changes a scene between reading and compiling it. What it adds lives in the scene's arena.
typedef tdStatus tdSceneEdit(void *context, tdScene *scene, tdError *error);
/// td_model_parse() and td_model_load() of a scene that is changed on the way: another method, more effectors.
tdStatus td_model_parse_edited(const char *text, size_t length, const char *name, const char *folder,
                               const tdSettings *settings, tdSceneEdit *edit, void *context, tdModel **out,
                               tdError *error);
tdStatus td_model_load_edited(const char *scene_path, const tdSettings *settings, tdSceneEdit *edit, void *context,
                              tdModel **out, tdError *error);

/// Value of a column of a motion at a time; NAN when the column has none at all.
double td_motion_value(const tdSceneMotion *motion, int column, double time);
/// Value of an input in the scene's motion at a time.
double td_input_value(const tdModel *model, int input, double time);
