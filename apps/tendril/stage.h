// SPDX-License-Identifier: Apache-2.0
// What a picture is composed of: bodies and the marks of what acts on them, each in its colour, named in a key.
#pragma once
#include "render/render.h"
#include "subject.h"

#define STAGE_FILES 8

/// How it looks. Start from stage_default().
typedef struct StageLook
{
    double opacity; ///< of bodies; NAN: chosen so that what is in them can be seen
    bool edges;     ///< of the mesh
    bool features;  ///< sharp edges and the outline
    bool ghost;     ///< the shape at rest beside the deformed one
} StageLook;

/// All that is drawn, in order. Zero-initialize; set n_files, subjects and names, then stage_set().
typedef struct Stage
{
    int n_files;
    Subject subjects[STAGE_FILES];
    char names[STAGE_FILES][64]; ///< in the key, where there are several
    bool by_tension;             ///< cables are coloured by it
    int n, capacity;
    tdDrawMesh *meshes;
    int n_keys;
    tdKeyLine keys[2 * STAGE_FILES + 10];
} Stage;

StageLook stage_default(void);
/// Fills meshes and keys.
tdStatus stage_set(Stage *stage, const StageLook *look, tdError *error);
void stage_free(Stage *stage);
