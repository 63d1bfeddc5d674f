// SPDX-License-Identifier: Apache-2.0
// A rigid body whose motion is given: the instrument in a user's hand, a stamp that follows a table over time.
//
//     x = start.t + d + exp(r) start.R X             d, r: six inputs, a way and a rotation vector in the world's axes
//
// Its six coordinates are (d, r), all of them held, so that steps treat it as they treat prescribed nodes: others feel
// its motion, nothing moves it, and what is left of the momentum balance is the reaction, the force and torque that
// guide it. It has no mass: a hand feels what the body touches, not the body.
#pragma once
#include "body/articulated.h"

typedef struct tdGuided
{
    tdArticulated rigid; ///< first: shape, nodes and parts are those of a fixed body; it has no coordinates. Its
                         ///< link's origin is the start
    int32_t input[6];
    int32_t held[6];
    bool through; ///< its shaft passes through `trocar`
    double trocar[3];
    int follows;     ///< the guided body that it moves with, or -1
    double close[3]; ///< what a hand's grip moves it by
} tdGuided;

typedef struct tdGuidedState
{
    double *node_x, *node_v;
} tdGuidedState;

extern const tdBodyOps td_guided_ops;

/// Where it is for the coordinates q of the body.
tdPose td_guided_pose(const tdGuided *guided, const double q[6]);
/// Where its inputs have it: as coordinates, turned about its tip so that the shaft passes through the trocar,
///
///     x = R_t x_own,   R_t: from (trocar - start.t) to (trocar - tip)
tdPose td_guided_held(const tdGuided *guided, const double input[6]);
/// The coordinates of a pose, the rotation vector that is nearest to `near` (NULL: zero).
void td_guided_coordinates(const tdGuided *guided, const tdPose *pose, const double *near, double q[6]);
