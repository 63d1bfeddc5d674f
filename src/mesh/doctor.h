// SPDX-License-Identifier: Apache-2.0
// Examines a mesh: what it holds, how good its cells are, what is wrong and what to do about it.
//
// Quality is 1 for the regular cell and 0 for a flat or inverted one:
//   tetrahedra (quadratic ones by their corners)   12 (3 V)^(2/3) / Σ l²        mean ratio
//   triangles                                      4 √3 A / Σ l²               mean ratio
//   hexahedra, quadrilaterals                      least scaled Jacobian of the corners
#pragma once
#include "mesh/topology.h"

#define TD_REPORT_LIST     20   // cells named in a list; the rest is counted
#define TD_REPORT_BINS     10   // bins of a histogram of quality, each 0.1 wide
#define TD_REPORT_PROBLEMS 24   // kinds of problems there can be at once
#define TD_DEGENERATE      1e-4 // a cell of less quality is degenerate
#define TD_NEARLY_SAME     1e-9 // nodes nearer than this part of the diagonal are nearly the same

/// Quality of the cells of one type.
typedef struct tdQuality
{
    int64_t count;
    double min, mean;
    int64_t worst; ///< number of the cell with the least quality
    int64_t bins[TD_REPORT_BINS];
} tdQuality;

/// Cells with a fault: how many, and the first of them.
typedef struct tdCellList
{
    int64_t count;
    int n; ///< named below, at most TD_REPORT_LIST
    tdCellType type[TD_REPORT_LIST];
    int64_t cell[TD_REPORT_LIST]; ///< number within its type, from 0
} tdCellList;

/// Pairs of nodes at one place: how many nodes too many, and the first pair.
typedef struct tdNodePairs
{
    int64_t count;
    int64_t first[2];
} tdNodePairs;

/// One sentence on what is wrong and one on what to do.
typedef struct tdMeshProblem
{
    bool blocks; ///< a simulation with this mesh would fail or be wrong
    char what[240];
    char advice[240];
} tdMeshProblem;

typedef struct tdMeshReport
{
    int64_t n_nodes;
    int64_t count[TD_CELL_TYPES];
    int dim;                ///< highest dimension of a cell
    double min[3], max[3];  ///< bounding box of all nodes
    double diagonal;        ///< of that box
    double volume;          ///< of the volume cells, or enclosed by a closed surface; else 0
    double area;            ///< of the boundary, or of the surface cells when there is no volume
    int64_t components;     ///< of the cells of the highest dimension
    tdSurfaceCheck surface; ///< of the boundary, or of the surface itself
    int64_t boundary_tris;
    int64_t crowded_faces; ///< faces that more than two volume cells share

    tdNodePairs same;        ///< nodes exactly at the place of an earlier one
    tdNodePairs nearly_same; ///< within TD_NEARLY_SAME of an earlier one
    int64_t unused;          ///< nodes of no cell
    int64_t first_unused;
    int64_t loose; ///< nodes of lower cells only, e.g. of a line beside the body

    tdCellList duplicate;  ///< cells of the highest dimension with the same nodes as an earlier one
    int64_t lower_repeats; ///< the same for cells of lower dimension, counted only
    tdCellList inverted;   ///< volume <= 0, or a corner of a hexahedron turned inside out
    tdCellList degenerate; ///< not inverted but of quality below TD_DEGENERATE
    tdQuality quality[TD_CELL_TYPES];
    double edge_min, edge_mean, edge_max; ///< of the cells of the highest dimension, each cell's edges counted

    int n_problems;
    tdMeshProblem problem[TD_REPORT_PROBLEMS];
} tdMeshReport;

/// Fills *report (no need to free). Fails only when memory runs out or the numbers cannot be worked
/// with (node numbers out of range, coordinates that are not finite, or so large or small that volumes
/// overflow); a bad mesh is not a failure.
tdStatus td_mesh_examine(const tdMesh *mesh, tdMeshReport *report, tdError *error);

/// Quality of one cell of dimension 2 or 3, see above.
double td_cell_quality(const tdMesh *mesh, tdCellType type, int64_t cell);
