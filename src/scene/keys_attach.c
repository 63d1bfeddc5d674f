// SPDX-License-Identifier: Apache-2.0
// Keys of what joins bodies: attachments, couplings.
#include "describe/scene.h"
#include "scene/schema.h"

#define PER_LENGTH ((tdDim){0, 1, -2, 0}) // N/m

static const tdKey attachment_keys[] = {
    {.name = "name", .kind = TD_KEY_NAME, .required = true, .doc = "unique name, by which its force is reported"},
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
     .doc = "`a` rigid or articulated: link that carries `points`, which need not lie on it"},
    {.name = "b",
     .kind = TD_KEY_NAME,
     .either = 'o',
     .required = true,
     .doc = "the body that they are attached to: its points at the same positions at rest"},
    {.name = "space",
     .kind = TD_KEY_BOOL,
     .either = 'o',
     .required = true,
     .doc = "`true` instead of `b`: they stay where they are in space"},
    {.name = "link",
     .kind = TD_KEY_TEXT,
     .standard_doc = "the nearest",
     .doc = "`b` rigid or articulated: link that carries them, at any distance"},
    {.name = "gap",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "1 % of the size of `b`",
     .doc = "how far points may lie outside a soft `b`; the nearest element, extended, then carries them"},
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
     .doc = "with the scene's `contact`: `true`: the two bodies can touch elsewhere. For an articulated body this "
            "refers to the links that carry points"},
    {0},
};
const tdSchema td_schema_attachment = {
    .title = "attachments",
    .doc = "Nodes or points of a body, of any kind, that are welded to another one, to a link or to a place in space. "
           "Needs an integrator that damps, or `static`; `contact` is not needed.",
    .example = "attachments:\n"
               "  - {name: pad, a: bubble, group: rim, b: gripper, link: finger_left}\n"
               "  - {name: seam, a: sleeve, box: [[0, 0, 0], [1, 10, 10]], b: core, gap: 0.1 mm}\n"
               "  - {name: pin, a: rod, points: [[0, 0, 0.1]], space: true}",
    .keys = attachment_keys,
    .also = &td_schema_select,
};

static const tdKey term_keys[] = {
    {.name = "body", .kind = TD_KEY_NAME, .required = true, .doc = "an articulated body"},
    {.name = "joint",
     .kind = TD_KEY_TEXT,
     .required = true,
     .doc = "a joint of it with one coordinate: revolute, continuous, prismatic"},
    {.name = "factor",
     .kind = TD_KEY_OTHER,
     .form = "number; length per angle or angle per length where one turns and the other slides; not 0",
     .standard_doc = "1",
     .doc = "of its position. The sum has the unit of the first term's position, whose factor is a number"},
    {0},
};
const tdSchema td_schema_coupling_term = {
    .title = "coupling-terms",
    .doc = "Positions of joints whose sum, each multiplied by its factor, is constant.",
    .example = "couplings:\n"
               "  - name: rack\n"
               "    terms: [{body: robot, joint: slide}, {body: robot, joint: pinion, factor: -5 mm}]",
    .keys = term_keys,
};

static const tdKey rod_keys[] = {
    {.name = "a", .kind = TD_KEY_NAME, .required = true, .doc = "a body"},
    {.name = "point_a",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .required = true,
     .doc = "the material point of it that is here in the placed rest shape"},
    {.name = "link_a",
     .kind = TD_KEY_TEXT,
     .standard_doc = "the nearest",
     .doc = "`a` rigid or articulated: link that carries the point, which may then be anywhere"},
    {.name = "b", .kind = TD_KEY_NAME, .standard_doc = "none: fixed in space", .doc = "another body, or the same"},
    {.name = "point_b", .kind = TD_KEY_VECTOR, .dim = TD_DIM_LENGTH, .required = true, .doc = "the other end"},
    {.name = "link_b", .kind = TD_KEY_TEXT, .standard_doc = "the nearest", .doc = "as `link_a`"},
    {.name = "stiffness",
     .kind = TD_KEY_QUANTITY,
     .dim = PER_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "rigid, to rounding",
     .doc = "of the rod"},
    {.name = "dissipation",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TIME,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard = "0",
     .doc = "with `stiffness`: time in which an error of its length relaxes, beyond the time step"},
    {0},
};
const tdSchema td_schema_rod = {
    .title = "rod",
    .doc = "A rod without mass between two points, free to turn at both: their distance stays what it is at rest.",
    .example = "couplings:\n"
               "  - {name: strut, rod: {a: arm, link_a: elbow, point_a: [0, 0, 0.3], point_b: [0, 0.2, 0]}}",
    .keys = rod_keys,
};

static const tdKey coupling_keys[] = {
    {.name = "name", .kind = TD_KEY_NAME, .required = true, .doc = "unique name, by which its effort is reported"},
    {.name = "terms",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_coupling_term,
     .either = 'k',
     .required = true,
     .least = 1,
     .most = 100,
     .doc = "joints of one or two bodies"},
    {.name = "rod",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_rod,
     .either = 'k',
     .required = true,
     .doc = "two points that keep their distance"},
    {.name = "offset",
     .kind = TD_KEY_OTHER,
     .form = "angle, or length where the first joint slides",
     .standard_doc = "what it is at the start",
     .doc = "value of the sum of `terms`; the initial positions of the joints must satisfy it"},
    {0},
};
const tdSchema td_schema_coupling = {
    .title = "couplings",
    .doc = "Joints that depend on each other, of one or of two bodies, and rods. Needs an integrator "
           "that damps, or `static`; `contact` is not needed.",
    .example = "couplings:\n"
               "  - {name: gear, terms: [{body: gripper, joint: left}, {body: gripper, joint: right, factor: -1}]}",
    .keys = coupling_keys,
};
