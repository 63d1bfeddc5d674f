// SPDX-License-Identifier: Apache-2.0
// Keys of what joins bodies: attachments.
#include "scene/scene.h"
#include "scene/schema.h"

#define PER_LENGTH ((tdDim){0, 1, -2, 0}) // N/m

static const tdKey attachment_keys[] = {
    {.name = "name", .kind = TD_KEY_NAME, .required = true, .doc = "unique name, by which its force is told"},
    {.name = "a", .kind = TD_KEY_NAME, .required = true, .doc = "the body whose nodes or points are attached"},
    {.name = "points",
     .kind = TD_KEY_OTHER,
     .form = "[[x, y, z], ...]: 1 to 10000 points, lengths",
     .either = 's',
     .required = true,
     .doc = "instead of nodes: the material points of `a` that are here in the placed rest shape. One point of a "
            "rigid body is a ball joint, two are a hinge"},
    {.name = "link_a",
     .kind = TD_KEY_TEXT,
     .standard_doc = "the nearest",
     .doc = "`a` rigid or articulated: link that carries `points`, which may then be anywhere"},
    {.name = "b",
     .kind = TD_KEY_NAME,
     .either = 'o',
     .required = true,
     .doc = "the body that they are attached to: the points of it that are at the same places at rest"},
    {.name = "space",
     .kind = TD_KEY_BOOL,
     .either = 'o',
     .required = true,
     .doc = "`true` instead of `b`: they stay where they are in space"},
    {.name = "link",
     .kind = TD_KEY_TEXT,
     .standard_doc = "the nearest",
     .doc = "`b` rigid or articulated: link that carries them, however far away they are"},
    {.name = "gap",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "1 % of the size of `b`",
     .doc =
         "how far points may be outside of a soft `b`; the nearest element then carries them as if it reached there"},
    {.name = "stiffness",
     .kind = TD_KEY_QUANTITY,
     .dim = PER_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "rigid, to rounding",
     .doc = "of each point"},
    {.name = "dissipation",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TIME,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard = "0",
     .doc = "with `stiffness`: time in which an error relaxes, beyond the time step"},
    {.name = "meets",
     .kind = TD_KEY_BOOL,
     .standard = "false",
     .doc =
         "with the scene's `contact`: `true`: the two bodies touch elsewhere. Of an articulated body this is about the "
         "links that carry points"},
    {0},
};
const tdSchema td_schema_attachment = {
    .title = "attachments",
    .doc = "Nodes or points of a body, of any kind, that are welded to another one, to a link or to a place in space. "
           "Needs the integrator `backward_euler`; `contact` is not needed.",
    .example = "attachments:\n"
               "  - {name: pad, a: bubble, group: rim, b: gripper, link: finger_left}\n"
               "  - {name: seam, a: sleeve, box: [[0, 0, 0], [1, 10, 10]], b: core, gap: 0.1 mm}\n"
               "  - {name: pin, a: rod, points: [[0, 0, 0.1]], space: true}",
    .keys = attachment_keys,
    .also = &td_schema_select,
};
