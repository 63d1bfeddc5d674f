// SPDX-License-Identifier: Apache-2.0
// What a picture is composed of: bodies and the marks of what acts on them, each in its colour, named in a key.
#pragma once
#include "render/render.h"
#include "study/subject.h"

#define TD_SHOW_FILES 8

/// How it looks. Start from td_show_default().
typedef struct tdShowLook
{
    double opacity; ///< of bodies; NAN: chosen so that what is in them can be seen
    bool edges;     ///< of the mesh
    bool features;  ///< sharp edges and the outline
    bool ghost;     ///< the shape at rest beside the deformed one
} tdShowLook;

/// All that is drawn, in order. Zero-initialize; set n_files, subjects and names, then td_show_set().
typedef struct tdShow
{
    int n_files;
    tdSubject subjects[TD_SHOW_FILES];
    char names[TD_SHOW_FILES][64]; ///< in the key, where there are several
    bool by_tension;               ///< cables are coloured by it
    int n, capacity;
    tdDrawMesh *meshes;
    int n_keys;
    tdKeyLine keys[2 * TD_SHOW_FILES + 10];
} tdShow;

tdShowLook td_show_default(void);
/// Fills meshes and keys.
tdStatus td_show_set(tdShow *stage, const tdShowLook *look, tdError *error);
void td_show_free(tdShow *stage);
