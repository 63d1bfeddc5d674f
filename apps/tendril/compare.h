// SPDX-License-Identifier: Apache-2.0
// What 'tendril compare' measures: models of one robot on one motion, side by side, against full order.
#pragma once
#include "cli.h"
#include "core/model.h"
#include "report/page.h"

#define CMP_MODELS 24

typedef enum cmpKind
{
    CMP_FULL,    // the reference
    CMP_REDUCED, // modes, all elements
    CMP_HYPER,   // modes, few elements
    CMP_SCENE    // another scene of full order: a coarser mesh
} cmpKind;

/// One of the models. Errors are by probe of the reference, and one more of the shape as a whole.
typedef struct cmpModel
{
    cmpKind kind;
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
} cmpModel;

typedef struct cmpRun
{
    tdArena arena;
    int n;
    cmpModel models[CMP_MODELS]; ///< [0] is the reference
    int n_errors;
    double *amplitude; ///< n_errors [m]: largest displacement of the reference
    int64_t steps;
    const char *motion_name;
    const tdSceneMotion *motion; ///< NULL: nothing moves but what loads do
    double *places;              ///< inputs of the motion, at one step
    bool silent;                 ///< warnings are counted and not told
    int shown;                   ///< model that pictures show, -1: none
    double *shape[2];            ///< all nodes of the reference and of that model, at its worst step
} cmpRun;

/// Loads a model behind those that are there.
tdStatus cmp_add(cmpRun *run, cmpKind kind, const char *scene, const char *rom, tdError *error);
/// Chooses the motion, with `steps` > 0 of it, takes room and matches probes and inputs.
tdStatus cmp_prepare(cmpRun *run, int64_t steps, tdError *error);
/// All models step by step, then those that are fast once more for their speed.
tdStatus cmp_measure(cmpRun *run, tdError *error);
void cmp_free(cmpRun *run);

/// Name of an error: of a probe, or "shape".
const char *cmp_error_name(const cmpRun *run, int i);
/// compare_path.c: paths.csv, where the probes went, and paths.png, along the axis on which they went farthest.
tdStatus cmp_write_paths(const cmpRun *run, const char *folder, tdError *error);
/// A name without what would cut a row of a table: "hyper-reduced 34 376".
void cmp_plain_name(const char *name, char *out, size_t size);
/// errors.csv, paths.csv and pictures: shapes.png, error.png, rates.png, paths.png.
tdStatus cmp_write(const cmpRun *run, const char *folder, tdError *error);

/// Pictures of the reference and of the model that is shown, at the step where they are farthest apart.
typedef enum cmpPicture
{
    CMP_SHAPES, // on top of each other
    CMP_ERROR   // how far each node is off, as colours
} cmpPicture;
bool cmp_has_shapes(const cmpRun *run);
tdStatus cmp_draw(const cmpRun *run, cmpPicture which, const tdRenderSettings *settings, tdImage *image,
                  tdError *error);

/// What a report shows: the table, errors over time, speed, both pictures. compare_page.c
tdStatus cmp_page(tdPage *page, const cmpRun *run, tdError *error);
/// The same as a whole report.
tdStatus cmp_write_page(const cmpRun *run, const char *scene, const char *path, tdError *error);
