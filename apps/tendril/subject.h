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
    bool tension_known; ///< a step has been taken: taut cables can be told from slack ones
    Marks cables;       ///< those that pull, all where that is not known; values: tension [N]
    Marks slack;        ///< those that do not, dashed
    Marks cavities;     ///< walls
    Marks effectors;    ///< of positions, as balls
    Marks targets;      ///< of positions, as crosses
    Marks course;       ///< that an effector is to follow
    Marks probes;       ///< as small balls
    Marks supports;     ///< fixed nodes
    Marks domain;       ///< elements that stand for all, of a reduced body
    int64_t n_segments; ///< of cables,
    int64_t n_slack;    ///< those among them that are slack
    int64_t n_effectors, n_targets, n_probes, n_supports, n_chosen;
    int64_t step; ///< that is shown; -1: of a mesh, which has none
    double time;  ///< [s] of it; NAN: not known
} Subject;

typedef struct SubjectSettings
{
    long step;   ///< shape after this step: of a scene simulated, of a folder read; -1: at rest, the last frame
    double time; ///< [s] likewise, the nearest step or frame; NAN: not given
    bool marks;  ///< cables, cavities, effectors, targets
    bool supports, probes, domain;
} SubjectSettings;

/// Loads a file by its kind.
tdStatus subject_load(Subject *subject, const char *path, const SubjectSettings *settings, tdError *error);
/// The present shape of a state. `path` stands for it in messages.
tdStatus subject_take(Subject *subject, const char *path, const tdModel *model, const tdState *state,
                      const SubjectSettings *settings, tdError *error);
/// A curve through n points, for an effector to follow.
tdStatus subject_add_path(Subject *subject, int64_t n, const double *x, tdError *error);
void subject_free(Subject *subject);
