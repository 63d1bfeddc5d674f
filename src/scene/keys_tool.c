// SPDX-License-Identifier: Apache-2.0
// Keys of tools: links that follow poses by the servos of their joints.
#include "describe/scene.h"
#include "scene/schema.h"

static const tdKey tool_keys[] = {
    {.name = "name",
     .kind = TD_KEY_NAME,
     .required = true,
     .doc = "of the tool; its six inputs are NAME.x, NAME.y, NAME.z (lengths), NAME.rx, NAME.ry, NAME.rz (angles)"},
    {.name = "body", .kind = TD_KEY_NAME, .required = true, .doc = "an articulated body"},
    {.name = "link", .kind = TD_KEY_TEXT, .required = true, .doc = "link that is to follow"},
    {.name = "point",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .standard_doc = "the link's origin",
     .doc = "point of the link that is brought to the target, where it is at the start; it turns with the link"},
    {.name = "joints",
     .kind = TD_KEY_OTHER,
     .form = "list of names of joints",
     .standard_doc = "all that move the link and have an actuator with `drive: position` and `stiffness`",
     .doc = "joints whose servos the tool commands; the motion must not drive them"},
    {.name = "damping",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_HALF_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "0.01",
     .doc = "of the least squares: joint motions that move the tool by less than this factor times the arm's length "
            "per radian are damped"},
    {.name = "lever",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "a quarter of the arm's length",
     .doc = "an error of one radian weighs as much as one of this length where not both can be met"},
    {.name = "speed",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_VELOCITY,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "what the joints allow",
     .doc = "largest commanded velocity of the point"},
    {.name = "turning",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TURNING,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "what the joints allow",
     .doc = "largest commanded angular velocity of the link"},
    {0},
};
const tdSchema td_schema_tool = {
    .title = "tools",
    .doc = "A link that follows a target pose: in every step the commands of the position servos of its joints move so "
           "that it comes nearest to the target, by damped least squares, within the limits of their positions and the "
           "`velocity` of the robot's file. The inputs of the tool are the offset of the target from the pose at the "
           "start, along the world's axes, a displacement and a rotation vector: see [tools](rigid.md#tools).",
    .example = "tools:\n"
               "  - {name: hand, body: robot, link: palm, speed: 0.5 m/s}\n"
               "motion:\n"
               "  keyframes:\n"
               "    - {t: 0, hand.z: 0}\n"
               "    - {t: 1 s, hand.z: 200 mm, hand.rz: 30 deg}",
    .keys = tool_keys,
};
