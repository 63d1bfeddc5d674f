// SPDX-License-Identifier: Apache-2.0
// Models of one robot on one motion, side by side, against full order: td_compare() and its parts.
#pragma once
#include "core/model.h"
#include "report/page.h"
#include "tendril/study.h"

/// One of the models. Errors are by probe of the reference, and one more of the shape as a whole.
typedef struct tdCompared
{
    tdCompareKind kind;
    const char *file; ///< scene, or reduced model
    char name[96];
    tdModel *model;
    tdState *state;
    int modes; ///< 0: full order
    int64_t elements;
    int *probe, *input; ///< by probe and by input of the reference: numbers here
    int64_t done;       ///< steps that it came through
    tdError failure;    ///< of the next, when it did not come through all
    double *error;      ///< steps x n_errors [m]
    double *path;       ///< steps x probes x 3 [m]: displacements
    double *mean, *max; ///< n_errors: relative; NAN: not known
    int64_t worst;      ///< step with the largest error of the shape, from 1
    double *seconds;    ///< steps: of each, at its fastest
    double rate;        ///< steps a second
    double indicator, foretold, distance;
    int64_t warnings;
} tdCompared;

struct tdComparison
{
    tdArena arena;
    tdSettings settings;   ///< of the caller
    tdProgressFn progress; ///< NULL: none
    void *user;
    bool stopped;      ///< by `progress`
    const char *scene; ///< file of the reference
    int n;
    tdCompared models[TD_COMPARE_MODELS]; ///< [0] is the reference
    int n_errors;
    double *amplitude; ///< n_errors [m]: largest displacement of the reference
    int64_t steps;
    const char *motion_name;
    const tdSceneMotion *motion; ///< NULL: nothing moves but what loads do
    double *places;              ///< inputs of the motion, at one step
    bool silent;                 ///< warnings are counted and not told
    int shown;                   ///< model that pictures show, -1: none
    double *shape[2];            ///< all nodes of the reference and of that model, at its worst step
};

/// Loads a model behind those that are there; settings, progress and silent are set before.
tdStatus td_compare_add(tdComparison *run, tdCompareKind kind, const char *scene, const char *rom, tdError *error);
/// Chooses the motion, with `steps` > 0 of it, takes room and matches probes and inputs.
tdStatus td_compare_prepare(tdComparison *run, int64_t steps, tdError *error);
/// All models step by step, then those that are fast once more for their speed.
tdStatus td_compare_measure(tdComparison *run, tdError *error);
/// What it holds, not the object.
void td_compare_clear(tdComparison *run);

/// compare_path.c: paths.csv, where the probes went, and paths.png, along the axis on which they went farthest.
tdStatus td_compare_write_paths(const tdComparison *run, const char *folder, tdError *error);
/// A name without what would cut a row of a table: "hyper-reduced 34 376".
void td_compare_plain_name(const char *name, char *out, size_t size);
/// Pictures of the reference and of the model that is shown, at the step where they are farthest apart.
typedef enum tdComparePicture
{
    TD_COMPARE_SHAPES, // on top of each other
    TD_COMPARE_ERROR   // how far each node is off, as colours
} tdComparePicture;
bool td_compare_has_shapes(const tdComparison *run);
tdStatus td_compare_draw(const tdComparison *run, tdComparePicture which, const tdRenderSettings *settings,
                         tdImage *image, tdError *error);

/// What a report shows: the table, errors over time, speed, both pictures. compare_page.c
tdStatus td_compare_page(tdPage *page, const tdComparison *run, tdError *error);
