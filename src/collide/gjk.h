// SPDX-License-Identifier: Apache-2.0
// Nearest points of two convex shapes that are apart, deepest points of two that overlap.
//
// Apart: the point of A - B nearest to the origin, by Gilbert, Johnson and Keerthi (1988). Overlapping: the face of
// A - B nearest to the origin, by a polytope that grows inside A - B (van den Bergen 2001). Both need support points
// only, so a cylinder is exact and not a prism.
#pragma once
#include "collide/shape.h"

/// In the frame of A. n points from A to B, phi = n . (b - a).
typedef struct tdNearest
{
    double phi, n[3], a[3], b[3];
} tdNearest;

/// `b` is the pose of shape B in the frame of A. Boxes, cylinders, hulls; others work, less well than by their
/// distance. Returns false when they are farther apart than `reach`; *out then only has a direction in which they are.
bool td_nearest_convex(const tdShape *A, const tdShape *B, const tdPose *b, double reach, tdNearest *out);

/// The same of two boxes, quicker; where it does not know, td_nearest_convex() finds out by itself.
typedef enum tdBoxes
{
    TD_BOXES_FOUND,
    TD_BOXES_FAR, ///< out of reach
    TD_BOXES_UNKNOWN
} tdBoxes;
tdBoxes td_nearest_boxes(const tdShape *A, const tdShape *B, const tdPose *b, double reach, tdNearest *out);
