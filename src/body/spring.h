// SPDX-License-Identifier: Apache-2.0
// Springs from points of bodies to places in space, set while a scene runs (td_state_set_spring). To a body a spring is
// a load with a stiffness,
//
//     f = k (anchor - x)      x = sum_a w_a x_a      -df/dx = k I
//
// taken where the body takes its forces, so that it is as implicit as they are. Any point can be tied without memory
// or tables of its own: nodes of one element have their blocks in the matrix of a soft body, and rows of the basis in a
// reduced one.
#pragma once
#include "core/model.h"

#define TD_SPRING_NUMBERS 11 // stiffness (0: not tied), body, nodes, weights, anchor: as numbers, for checkpoints

/// Spring k of an array of TD_SPRINGS; false when it is not tied.
bool td_spring_get(const double *springs, int k, tdSpring *out);
/// Whether an array that comes from a file holds springs of this model.
tdStatus td_springs_check(const tdModel *model, const double *springs, tdError *error);
/// Whether two arrays add the same to a matrix: all but anchors.
bool td_springs_same_matrix(const double *a, const double *b);

/// Of a soft body: forces at q_e into state->load; A += factor times the stiffness.
void td_soft_spring_loads(const tdBody *body, tdState *state);
void td_soft_spring_stiffness(const tdBody *body, const double *springs, double factor, double *A);
