// SPDX-License-Identifier: Apache-2.0
// From a checked scene to a model: meshes are read and placed, names resolved, tables built.
#pragma once
#include "body/soft.h"

/// compile_body.c: the mesh, supports, loads and tables of one soft body.
tdStatus td_compile_soft(tdModel *model, int index, const tdSettings *settings, tdError *error);
/// select.c: by node of the mesh, whether the selector chooses it. Choosing none is an error.
tdStatus td_select_nodes(const tdModel *model, const tdMesh *mesh, const tdSelect *select, const char *field,
                         bool *chosen, tdError *error);
/// Index of an input by name, or -1 for NULL.
int td_compile_input(const tdModel *model, const char *name);
