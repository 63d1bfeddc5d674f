// SPDX-License-Identifier: Apache-2.0
// What 'tendril render' draws of a file: a surface with the field that colours it.
#pragma once
#include "core/model.h"
#include "mesh/mesh.h"

// What is drawn: the surface of a mesh, with the field that colours it.
typedef struct tdPicture
{
    tdMesh mesh;
    tdFields fields;
    int64_t n_tris;
    int32_t *tris;
    int32_t *cell;      // by triangle: the cell behind it, in the order of cell arrays
    uint8_t *edge_mask; // by triangle: edges that are edges of a cell
    double *rest;       // 3 by node, for the ghost
    double *values;     // of the field, by node or by triangle
    bool by_tri;
} tdPicture;

void td_picture_free(tdPicture *p);

/// Cuts p->mesh into triangles: boundary of volume cells, triangles, quadrilaterals.
tdStatus td_picture_surface(tdPicture *p, const char *path, tdError *error);
/// Appends the bodies of a model where a state has them: all nodes, and the elements; of links the triangles where
/// `links` says so, of planes nothing.
tdStatus td_picture_add_bodies(tdPicture *p, const tdModel *model, const tdState *state, bool links, tdError *error);
/// Reads a mesh file, with its arrays if it is a .vtu.
tdStatus td_picture_read(tdPicture *p, const char *path, tdError *error);
/// The array of this name, or NULL.
const struct tdFieldData *td_picture_find(const tdPicture *p, const char *name);
/// Fills p->values with an array; component -1 = magnitude.
tdStatus td_picture_field(tdPicture *p, const char *path, const char *name, int component, bool component_given,
                          bool flat, tdError *error);
/// Draws displacements `scale` times and keeps the rest shape.
tdStatus td_picture_deform(tdPicture *p, const char *path, double scale, tdError *error);
