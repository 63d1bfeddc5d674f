// SPDX-License-Identifier: Apache-2.0
// From a checked scene to a model: meshes are read and placed, names resolved, tables built.
#pragma once
#include "body/soft.h"
#include "mesh/topology.h"

/// What the compilation of one body hands around.
typedef struct tdBodyWork
{
    tdModel *model;
    const tdSceneBody *given;
    const tdSettings *settings;
    tdSoft *soft;
    tdArena scratch;
    bool *chosen;         ///< by node, for the moment only
    tdSurface surface;    ///< boundary of the volume
    int n_lists;          ///< what the body is made of
    tdElementList *lists; ///< in scratch
    int index;
} tdBodyWork;

/// compile_body.c: the mesh, supports, loads and tables of one soft body.
tdStatus td_compile_soft(tdModel *model, int index, const tdSettings *settings, tdError *error);
/// compile_material.c: which elements are made of what.
tdStatus td_compile_materials(tdBodyWork *work, tdError *error);
bool td_body_is_flat(const tdBodyWork *work); ///< made of triangles only
/// compile_load.c; the blocks of the matrix that a pressure adds to are found when the pattern is there.
tdStatus td_compile_loads(tdBodyWork *work, tdError *error);
void td_compile_pressure_blocks(tdSoft *soft);
/// select.c: by node of the mesh, whether the selector chooses it. Choosing none is an error.
tdStatus td_select_nodes(const tdModel *model, const tdMesh *mesh, const tdSelect *select, const char *field,
                         bool *chosen, tdError *error);
/// Index of an input by name, or -1 for NULL.
int td_compile_input(const tdModel *model, const char *name);
