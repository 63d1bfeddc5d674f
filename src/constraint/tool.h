// SPDX-License-Identifier: Apache-2.0
// Tools: differential inverse kinematics in the latch of a step. With the joints of a tool at their commands c, its
// link is at the pose P(c). In each step the commands move towards the target by
//
//     min over u of  1/2 |e - J u|^2 + 1/2 lambda^2 |u|^2      low <= c + u <= high
//
// e: way and rotation vector (world axes) from P(c) to the target, or to the part of it that the limits of speed allow
// in the step; J: the link's Jacobian. Bounds are the joints' ranges and what their rates allow in a step. Solved anew
// at the end of each u (Levenberg and Marquardt), so that e never grows: targets in reach are met to rounding, others
// as near as they can be, and a singularity damps and does not throw.
//
// Errors and motions are compared as numbers without a unit: ways over the arm's length, turns times lever over length,
// slides over the length.
#pragma once
#include "collide/shape.h"
#include "core/model.h"

/// A joint that a tool commands, by the input of its servo.
typedef struct tdToolJoint
{
    int actuator, input;
    int32_t coord; ///< of the body
    double ratio, offset;
    double lower, upper; ///< of the command
    double rate;         ///< most of it [rad/s, m/s]
    double unit;         ///< of its motions: 1 rad, or the arm's length
    double start;
} tdToolJoint;

typedef struct tdTool
{
    const tdSceneTool *given;
    const char *name;
    int body, link;
    double local[3]; ///< of its point, in the link's frame
    tdPose start;    ///< of the point, with the link's axes
    int input;       ///< the first of six
    int n;
    tdToolJoint *joints;
    double length, lever;
    int64_t first; ///< its numbers among those of all tools
} tdTool;

/// Numbers of a tool that are kept: the target's position and quaternion, twist, whether it is driven, commands.
enum
{
    TD_TOOL_PLACE = 0,
    TD_TOOL_TURN = 3,
    TD_TOOL_TWIST = 7,
    TD_TOOL_DRIVEN = 13,
    TD_TOOL_COMMAND = 14
};

typedef struct tdToolsState
{
    int64_t count;
    double *kept; ///< at the start of the step
    double *next; ///< at its end
    // for the moment only, as large as the largest needs
    double *q;              ///< coordinates of a body, at the commands that td_tool_pose() was last asked for
    double *J, *H, *g;      ///< 6 n, n^2, n
    double *low, *high, *u; ///< n
    double *least, *most;   ///< n: of u
    double *trial, *other;  ///< n: commands
    double *scratch;        ///< of td_driven_solve
    signed char *active;    ///< n
} tdToolsState;

tdStatus td_tools_create(const tdModel *model, tdState *state, tdError *error);
/// Whether numbers that came from a file make sense.
tdStatus td_tools_check(const tdModel *model, const tdState *state, tdError *error);
/// reads input_end, kept      writes next; inputs of the servos
void td_tools_latch(const tdModel *model, tdState *state);
/// The step was accepted: kept <- next.
void td_tools_commit(const tdModel *model, tdState *state);

/// Pose of the point with the joints at `command`, other coordinates as they are.
tdPose td_tool_pose(const tdModel *model, const tdState *state, int tool, const double *command);
