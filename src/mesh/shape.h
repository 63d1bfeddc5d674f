// SPDX-License-Identifier: Apache-2.0
// Shape functions and quadrature of cells, x(xi) = sum_a N_a(xi) x_a, in VTK's order of nodes.
//
// Reference cells: triangle and tetrahedron with corners at the origin and the unit points; quadrilateral
// and hexahedron [-1, 1]^d. A quadratic triangle, which is the face of a quadratic tetrahedron and no cell of
// a mesh, is told by its number of nodes.
#pragma once
#include "mesh/mesh.h"

#define TD_SHAPE_NODES 10
#define TD_RULE_POINTS 27

/// N (n) and dN/dxi (n x 3, the third zero for faces) at xi. Either may be NULL.
void td_shape(tdCellType type, const double xi[3], double *N, double *dN);
/// The same of a face with 3, 4 or 6 nodes (corners, then the middles of 01 12 20); dN is n x 2.
void td_shape_face(int n, const double xi[2], double *N, double *dN);

/// Points and weights on the reference cell.
typedef struct tdRule
{
    int n;
    double xi[TD_RULE_POINTS][3];
    double weight[TD_RULE_POINTS];
} tdRule;

/// What stiffness is integrated with: 1 point for linear simplices, 2 x 2 x 2 for hexahedra, 4 for quadratic
/// tetrahedra (degree 2: exact for straight edges and small strain, and of full rank: 4 x 6 = 30 - 6).
tdRule td_rule_stiffness(tdCellType type);
/// Exact for products of two shape functions on straight cells: what mass is integrated with.
tdRule td_rule_mass(tdCellType type);
/// Exact for N_a (x_,1 x x_,2) on a face of 3, 4 or 6 nodes.
tdRule td_rule_face(int n);

/// Gradients dN/dX (n x 3) of a volume cell with corners X (3 each) at xi; returns det(dX/dxi).
double td_shape_gradients(tdCellType type, const double *const *X, const double xi[3], double *gradient);

/// The point of a triangle or volume cell with corners X nearest to p, curved faces taken as straight: weights of its
/// nodes; returns the squared distance, with the rounding of an iteration where p is inside.
double td_shape_nearest(tdCellType type, const double *const *X, const double p[3], double *weights);
