// SPDX-License-Identifier: Apache-2.0
// Collada (.dae) beyond what every mesh file has: colours, and which way is up.
#pragma once
#include "mesh/mesh.h"

/// Colours of a mesh's groups, which are its materials.
typedef struct tdDaeColours
{
    int64_t n, capacity; ///< groups
    float (*rgba)[4];    ///< red, green, blue, opacity; red negative: not given. Released by free()
} tdDaeColours;

/// As td_mesh_read_dae, which turns the file's up axis to z. `as_written` leaves it as it is, which is how robots have
/// their meshes drawn. colours may be NULL.
tdStatus td_mesh_read_dae_colours(const char *data, size_t size, const char *name, bool as_written, tdMesh *mesh,
                                  tdDaeColours *colours, tdError *error);
