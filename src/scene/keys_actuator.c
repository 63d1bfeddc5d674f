// SPDX-License-Identifier: Apache-2.0
// Keys of actuators, effectors and inverse control. Which of them belong to which type, and what hangs on `drive`, is
// checked in scene/parse_actuator.c and scene/parse_effector.c.
#include "describe/scene.h"
#include "scene/schema.h"

// ---------------------------------------------------------------- actuators

static const tdChoice actuator_choices[] = {
    {"cable", TD_ACTUATOR_CABLE,
     "inextensible unless it has a `stiffness`; effort: tension, displacement: how much "
     "shorter its path is than at rest",
     NULL},
    {"cavity", TD_ACTUATOR_CAVITY, "effort: pressure above ambient, displacement: growth of the volume", NULL},
    {"force", TD_ACTUATOR_FORCE, "effort: force along `direction`, displacement: the mean of the nodes along it", NULL},
    {"translation", TD_ACTUATOR_TRANSLATION,
     "moves nodes as one piece along `direction`; effort: force, displacement: distance", NULL},
    {"rotation", TD_ACTUATOR_ROTATION,
     "turns nodes as one piece about `axis` through `center`; effort: torque, displacement: angle", NULL},
    {"joint", TD_ACTUATOR_JOINT,
     "a joint of an articulated body; effort: torque, or force where it slides, displacement: its position", NULL},
    {0},
};
static const tdChoice drive_choices[] = {
    {"displacement", TD_CHOICE_DISPLACEMENT, "length (cable, force, translation)", NULL},
    {"force", TD_CHOICE_FORCE, "force (cable, force, translation)", NULL},
    {"pressure", TD_CHOICE_PRESSURE, "pressure above ambient (cavity)", NULL},
    {"volume", TD_CHOICE_VOLUME, "growth of the volume (cavity), e.g. in mL", NULL},
    {"gas", TD_CHOICE_GAS, "gas pumped in, as its volume at ambient pressure (cavity)", NULL},
    {"angle", TD_CHOICE_ANGLE, "angle (rotation)", NULL},
    {"torque", TD_CHOICE_TORQUE, "torque (rotation)", NULL},
    {"effort", TD_CHOICE_EFFORT, "torque or force (joint)", NULL},
    {"position", TD_CHOICE_POSITION,
     "position (joint): met exactly within the limits of the effort, or with a `stiffness` by a servo", NULL},
    {"velocity", TD_CHOICE_RATE, "rate (joint), by a servo with `damping`", NULL},
    {0},
};
static const tdChoice on_choices[] = {
    {"nodes", TD_ON_NODES, "shared evenly by the chosen nodes", NULL},
    {"surface", TD_ON_SURFACE, "spread over the area of the boundary faces all of whose nodes are chosen", NULL},
    {0},
};
static const tdKey actuator_keys[] = {
    {.name = "name",
     .kind = TD_KEY_NAME,
     .required = true,
     .doc = "name by which a motion drives it; must also be unique among loads and prescribed motions"},
    {.name = "type", .kind = TD_KEY_CHOICE, .choices = actuator_choices, .required = true, .doc = "kind of actuator"},
    {.name = "body", .kind = TD_KEY_NAME, .required = true, .doc = "name of the body that it drives"},
    {.name = "drive",
     .kind = TD_KEY_CHOICE,
     .choices = drive_choices,
     .required = true,
     .doc = "the quantity that a motion prescribes and `range` limits"},
    {.name = "range",
     .kind = TD_KEY_OTHER,
     .form = "[minimum, maximum] of what `drive` names; `none` for no limit",
     .standard_doc = "no limits; a cable's force is never negative",
     .doc = "limits of what `drive` names"},
    {.name = "effort_range",
     .kind = TD_KEY_OTHER,
     .form = "[minimum, maximum]: forces, pressures (cavity) or torques (rotation)",
     .standard_doc = "no limits; a cable's force is never negative",
     .doc = "limits of the effort, where `range` does not give them"},
    {.name = "displacement_range",
     .kind = TD_KEY_OTHER,
     .form = "[minimum, maximum]: lengths, volumes (cavity) or angles (rotation)",
     .standard_doc = "no limits",
     .doc = "limits of the displacement, where `range` does not give them"},
    {.name = "effort_rate",
     .kind = TD_KEY_OTHER,
     .form = "force, pressure or torque per time, > 0",
     .standard_doc = "no limit",
     .doc = "fastest change of the effort"},
    {.name = "displacement_rate",
     .kind = TD_KEY_OTHER,
     .form = "length, volume or angle per time, > 0",
     .standard_doc = "no limit",
     .doc = "fastest change of the displacement"},
    {.name = "path",
     .kind = TD_KEY_OTHER,
     .form = "[[x, y, z], ...]: 1 to 1000 points, lengths",
     .standard_doc = "required by cables",
     .doc = "cable: points of the body in its placed rest shape through which it slides; it is tied to the first"},
    {.name = "pull_point",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .standard_doc = "the last point of `path`",
     .doc = "cable: where it leaves the body to be pulled; required when `path` has one point"},
    {.name = "pull_body",
     .kind = TD_KEY_NAME,
     .standard_doc = "none: fixed in space",
     .doc = "cable: another body that carries the pull point"},
    {.name = "joint", .kind = TD_KEY_TEXT, .standard_doc = "required by joint", .doc = "joint: its name"},
    {.name = "stiffness",
     .kind = TD_KEY_OTHER,
     .form = "force (cable), or torque per angle or force per length (joint), > 0",
     .standard_doc = "does not stretch; a joint's position is met exactly",
     .doc = "cable: E A, the force that would double its length; joint driven by position: effort per error, of a "
            "servo"},
    {.name = "damping",
     .kind = TD_KEY_OTHER,
     .form = "torque per angular rate, or force per velocity, >= 0",
     .standard_doc = "0; required by joint driven by velocity",
     .doc = "joint with a servo: effort per rate, against the motion or towards the commanded rate"},
    {.name = "gravity_compensation",
     .kind = TD_KEY_BOOL,
     .standard = "false",
     .doc = "joint with a servo: adds the effort that holds the robot's own links against gravity at the start of the "
            "step, within its limits; a payload is not included"},
    {.name = "friction",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_CLOSED,
     .lo = 0,
     .hi = 10,
     .standard = "0",
     .doc = "cable: coefficient where it bends, by the capstan law; needs three points in all"},
    {.name = "slip",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "1e-3 of the cable's length at rest",
     .doc = "cable with friction: displacement over which friction reverses with the motion"},
    {.name = "surface",
     .kind = TD_KEY_FILE,
     .doc = "cavity: mesh file of its closed surface, in the coordinates of the body's mesh; the body's transform "
            "places it too. A cavity takes this or `group`, a group of boundary triangles of the body's mesh"},
    {.name = "ambient",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_PRESSURE,
     .range = TD_RANGE_POSITIVE,
     .standard = "101325 Pa",
     .doc = "cavity driven by gas: pressure outside"},
    {.name = "on", .kind = TD_KEY_CHOICE, .choices = on_choices, .standard = "nodes", .doc = "force: how it is shared"},
    {.name = "point",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .either = 's',
     .doc = "force: acts at the material point that is here in the placed rest shape, instead of at chosen nodes"},
    {.name = "link",
     .kind = TD_KEY_TEXT,
     .standard_doc = "the nearest",
     .doc = "force on a rigid or articulated body: link that carries `point`, which may then be anywhere"},
    {.name = "direction",
     .kind = TD_KEY_VECTOR,
     .standard_doc = "required by force and translation",
     .doc = "force, translation: direction in space, of any nonzero length"},
    {.name = "axis",
     .kind = TD_KEY_VECTOR,
     .standard_doc = "required by rotation",
     .doc = "rotation: direction of the axis, of any nonzero length; angles turn it like a right-handed screw"},
    {.name = "center",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .standard_doc = "required by rotation",
     .doc = "rotation: a point of the axis"},
    {0},
};
const tdSchema td_schema_actuator = {
    .title = "actuators",
    .doc = "What drives the bodies. Each has an effort and a displacement whose product is work; `drive` says which of "
           "them a motion gives. While an effector has a target, actuators that no motion drives are determined by "
           "inverse "
           "[control](#control).",
    .example =
        "actuators:\n"
        "  - {name: north, type: cable, body: robot, path: [[0, 97, 45]], pull_point: [0, 10, 30], drive: "
        "displacement, range: [0, 40]}\n"
        "  - {name: left, type: cavity, body: robot, surface: left_cavity.stl, drive: pressure, range: [0, 50 "
        "kPa]}\n"
        "  - {name: push, type: force, body: robot, group: top, direction: [0, 0, -1], drive: force}\n"
        "  - {name: twist, type: rotation, body: robot, group: base, axis: [0, 0, 1], center: [0, 0, 0], drive: "
        "angle}\n"
        "  - {name: elbow, type: joint, body: arm, joint: elbow, drive: position, stiffness: 200 N*m/rad, damping: "
        "20 N*m*s/rad}",
    .keys = actuator_keys,
    .also = &td_schema_select,
    .also_when = "by translation and rotation, and by force without `point`; a cavity takes `group` alone",
};

// ---------------------------------------------------------------- effectors

static const tdChoice effector_choices[] = {
    {"position", TD_EFFECTOR_POSITION, "of a material point, or the mean of the chosen nodes", NULL},
    {"orientation", TD_EFFECTOR_ORIENTATION, "rotation vector of the chosen nodes since rest", NULL},
    {"direction", TD_EFFECTOR_DIRECTION, "a direction that turns with the chosen nodes", NULL},
    {"volume", TD_EFFECTOR_VOLUME, "of the cavity of an actuator", NULL},
    {"length", TD_EFFECTOR_LENGTH, "of the cable of an actuator", NULL},
    {"contact_force", TD_EFFECTOR_CONTACT, "sum of the normal forces with which a body touches another", NULL},
    {"friction_use", TD_EFFECTOR_FRICTION,
     "share of their friction that is used, 0 to 1: the sum of tangential forces over that of the friction coefficient "
     "times normal forces",
     NULL},
    {0},
};
static const tdKey effector_keys[] = {
    {.name = "name", .kind = TD_KEY_NAME, .required = true, .doc = "unique name, the column in files"},
    {.name = "type",
     .kind = TD_KEY_CHOICE,
     .choices = effector_choices,
     .standard = "position",
     .doc = "what is measured"},
    {.name = "body",
     .kind = TD_KEY_NAME,
     .standard_doc = "required, except by volume and length",
     .doc = "name of the body"},
    {.name = "against",
     .kind = TD_KEY_NAME,
     .standard_doc = "all others",
     .doc = "contact_force, friction_use: name of the body that it touches"},
    {.name = "range",
     .kind = TD_KEY_OTHER,
     .form = "[minimum, maximum] of forces or shares; `none` on a side for no limit",
     .standard_doc = "no limits",
     .doc = "contact_force, friction_use: limits, which inverse control satisfies before it pursues targets"},
    {.name = "point",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .either = 's',
     .doc = "position: the material point that is here in the placed rest shape"},
    {.name = "link",
     .kind = TD_KEY_TEXT,
     .standard_doc = "the nearest",
     .doc = "position on a rigid or articulated body: link that carries `point`, which may then be anywhere"},
    {.name = "direction",
     .kind = TD_KEY_VECTOR,
     .standard_doc = "required by direction",
     .doc = "direction: at rest, of any nonzero length"},
    {.name = "actuator",
     .kind = TD_KEY_NAME,
     .standard_doc = "required by volume and length",
     .doc = "volume: name of a cavity; length: name of a cable"},
    {.name = "axes", .kind = TD_KEY_AXES, .standard = "xyz", .doc = "position: components that are controlled"},
    {.name = "weight",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_POSITIVE,
     .standard = "1",
     .doc = "factor on its error when not all targets can be reached; angles, directions, volumes and contact forces "
            "are first divided by 1 rad, 1, the volume at rest and 1 N, and multiplied by the body's size"},
    {.name = "priority",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 9,
     .standard = "1",
     .doc = "targets of priority 1 are reached as closely as possible; those of priority 2 as far as this permits, and "
            "so on"},
    {.name = "target",
     .kind = TD_KEY_OTHER,
     .form = "[x, y, z] of lengths (position), angles (orientation) or numbers (direction); a volume, a length, a "
             "force or a share; or "
             "the path of a `.csv` file",
     .standard_doc = "none: only recorded",
     .doc = "where it should be. A file has the columns `t,x,y,z`, or `t,value`, t in seconds; a column's header may "
            "give its unit, `x [mm]`; between lines the target is interpolated"},
    {0},
};
const tdSchema td_schema_effector = {
    .title = "effectors",
    .doc = "What inverse control brings to a target.",
    .example = "effectors:\n"
               "  - {name: tip, body: robot, point: [0, 0, 125], target: [10, 0, 120]}\n"
               "  - {name: head, type: orientation, body: robot, group: top, target: [0, 0, 90 deg]}\n"
               "  - {name: reach, type: length, actuator: north}\n"
               "  - {name: press, type: contact_force, body: robot, against: wall, target: 2 N, range: [0, 5 N]}",
    .keys = effector_keys,
    .also = &td_schema_select,
    .also_when = "by orientation and direction, and by position without `point`",
};

// ---------------------------------------------------------------- control

static const tdChoice energy_choices[] = {
    {"null_space", TD_ENERGY_NULL_SPACE, "reach first, then the least energy among the solutions", NULL},
    {"s4", TD_ENERGY_S4, "both at once, weighted by `epsilon`, as in the SoftRobots plugin of SOFA", NULL},
    {0},
};
static const tdChoice inverse_choices[] = {
    {"qp", TD_INVERSE_QP, "quadratic program: the optimum within all limits", NULL},
    {"gauss_seidel", TD_INVERSE_GAUSS_SEIDEL, "one actuator after the other; does not minimize energy", NULL},
    {0},
};
static const tdChoice share_choices[] = {
    {"displacement", TD_SHARE_DISPLACEMENT, "as on one winch; all of one type", NULL},
    {"effort", TD_SHARE_EFFORT, "as behind one valve; all of one unit", NULL},
    {0},
};
static const tdKey group_keys[] = {
    {.name = "actuators",
     .kind = TD_KEY_OTHER,
     .form = "list of names, at least two",
     .required = true,
     .doc = "members; an actuator is in one group at most"},
    {.name = "ratio",
     .kind = TD_KEY_OTHER,
     .form = "list of nonzero numbers, one for each member",
     .standard_doc = "1 for all",
     .doc = "factors of the members on the common value"},
    {.name = "share",
     .kind = TD_KEY_CHOICE,
     .choices = share_choices,
     .standard = "displacement",
     .doc = "what is common"},
    {0},
};
const tdSchema td_schema_group = {
    .title = "groups",
    .doc = "Actuators that share a motor or a valve.",
    .example = "control: {groups: [{actuators: [north, south], ratio: [1, -1], share: displacement}]}",
    .keys = group_keys,
};

static const tdKey control_keys[] = {
    {.name = "energy",
     .kind = TD_KEY_CHOICE,
     .choices = energy_choices,
     .standard = "null_space",
     .doc = "how the deformation energy is minimized"},
    {.name = "epsilon",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "1e-3",
     .doc = "weight of the energy, relative; energy s4 only"},
    {.name = "solver",
     .kind = TD_KEY_CHOICE,
     .choices = inverse_choices,
     .standard = "qp",
     .doc = "method of solution"},
    {.name = "max_iterations",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 1000000,
     .standard_doc = "by the number of actuators",
     .doc = "limit on the solver's iterations"},
    {.name = "tolerance",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "1e-6 of the body's size",
     .doc = "distance at which an effector has reached its target; angles, directions and volumes have reached theirs "
            "within the same fraction of 1 rad, 1 or the volume at rest as this distance is of the body's size"},
    {.name = "groups",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_group,
     .most = 1000,
     .doc = "actuators that share a motor or a valve"},
    {0},
};
const tdSchema td_schema_control = {
    .title = "control",
    .doc = "How the actuation is found that brings effectors to their targets.",
    .example = "control: {energy: null_space, solver: qp, tolerance: 1 um}",
    .keys = control_keys,
};
