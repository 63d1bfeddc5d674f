// SPDX-License-Identifier: Apache-2.0
// One thing to draw, from a scene, the folder of a run or a mesh file: bodies, and the marks of what acts on them.
#pragma once
#include "marks.h"
#include "picture.h"

typedef struct Subject
{
    const char *path;
    int n_pictures;
    Picture *pictures;  ///< one for all bodies of a scene, or one for each file
    double radius;      ///< of a cable; other marks follow it [m]
    Marks cables;       ///< values: tension [N]
    Marks cavities;     ///< walls
    Marks effectors;    ///< of positions, as balls
    Marks targets;      ///< of positions, as crosses
    Marks supports;     ///< fixed nodes
    int64_t n_segments; ///< of cables
    int64_t n_effectors, n_targets;
} Subject;

typedef struct SubjectSettings
{
    long step;     ///< shape after this step: of a scene simulated, of a folder read; -1: at rest, the last frame
    bool marks;    ///< cables, cavities, effectors, targets
    bool supports; ///< fixed nodes of a scene
} SubjectSettings;

tdStatus subject_load(Subject *subject, const char *path, const SubjectSettings *settings, tdError *error);
void subject_free(Subject *subject);
