// SPDX-License-Identifier: Apache-2.0
// The cell at or nearest to a point, by a tree of boxes over the cells: a look-up visits few of them.
#pragma once
#include "mesh/mesh.h"
#include "mesh/shape.h"

typedef struct tdLocator
{
    const tdMesh *mesh;     ///< that it is of; NULL: not made
    bool linear;            ///< linear tetrahedra only, which need no iteration
    int64_t n;              ///< cells: of volume, or triangles where there is none
    int64_t first[5];       ///< number of the first tetrahedron, hexahedron, quadratic tetrahedron, triangle; n
    int64_t *order;         ///< numbers of cells, those of one node of the tree together
    double *boxes;          ///< low and high, 6 for each node of the tree; node k has the children 2k + 1, 2k + 2
    double low[3], high[3]; ///< of all nodes of the mesh [m]
    double size;            ///< its largest extent [m]
    double inside;          ///< squared distance that is rounding of the inverse mapping [m^2]
} tdLocator;

/// Where a point is in a mesh.
typedef struct tdPlace
{
    tdCellType type;
    int64_t cell;
    double weights[TD_SHAPE_NODES]; ///< of the cell's nodes, at its point nearest to the one asked for
    double distance;                ///< to that; 0: inside [m]
    int64_t looked_at;              ///< cells that were looked at
} tdPlace;

/// The mesh must stay as it is and where it is.
tdStatus td_locator_make(const tdMesh *mesh, tdLocator *locator, tdError *error);
void td_locator_free(tdLocator *locator);

/// The first cell that holds p, or else the first of the nearest ones; curved faces are taken as straight. False when
/// there are no cells.
bool td_locator_find(const tdLocator *locator, const double p[3], tdPlace *out);
