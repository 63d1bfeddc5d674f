// SPDX-License-Identifier: Apache-2.0
// Keys of rigid and articulated bodies.
#include "describe/scene.h"
#include "scene/schema.h"

static const tdKey round_keys[] = {
    {.name = "radius",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .required = true,
     .doc = "of the circle"},
    {.name = "length",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .required = true,
     .doc = "along z; of a capsule without its caps"},
    {0},
};
const tdSchema td_schema_round = {
    .title = "cylinder",
    .doc = "A cylinder or a capsule about the z axis of its body, centred.",
    .example = "shape: {capsule: {radius: 20 mm, length: 100 mm}}",
    .keys = round_keys,
};

static const tdKey shape_keys[] = {
    {.name = "box",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .either = 's',
     .required = true,
     .doc = "lengths of its sides; centred"},
    {.name = "sphere",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .either = 's',
     .required = true,
     .doc = "its radius"},
    {.name = "cylinder",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_round,
     .either = 's',
     .required = true,
     .doc = "about z"},
    {.name = "capsule",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_round,
     .either = 's',
     .required = true,
     .doc = "about z: a cylinder with half balls at its ends"},
    {.name = "torus",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_torus,
     .either = 's',
     .required = true,
     .doc = "about z, as a closed surface"},
    {.name = "mesh",
     .kind = TD_KEY_FILE,
     .either = 's',
     .required = true,
     .doc = "closed surface from an STL or OBJ file, in the scene's length unit"},
    {.name = "plane",
     .kind = TD_KEY_BOOL,
     .either = 's',
     .required = true,
     .doc = "`true`: everything below z = 0 of a body that is fixed"},
    {0},
};
const tdSchema td_schema_shape = {
    .title = "shape",
    .doc = "Shape of a rigid body, in its own axes. The body's transform places it.",
    .example = "bodies:\n"
               "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
               "  - {name: cube, type: rigid, shape: {box: [50 mm, 50 mm, 50 mm]}, density: 1000 kg/m^3, transform: "
               "{translate: [0, 0, 0.2]}}",
    .keys = shape_keys,
};

static const tdKey joint_keys[] = {
    {.name = "name", .kind = TD_KEY_TEXT, .required = true, .doc = "of a joint of the file"},
    {.name = "position",
     .kind = TD_KEY_OTHER,
     .form = "angle, or length of a joint that slides",
     .standard_doc = "0",
     .doc = "initial position, which also defines the rest shape for points and selectors"},
    {.name = "velocity",
     .kind = TD_KEY_OTHER,
     .form = "angular rate, or velocity of a joint that slides",
     .standard_doc = "0",
     .doc = "how fast it moves at the start"},
    {.name = "spring",
     .kind = TD_KEY_OTHER,
     .form = "torque per angle, or force per length, >= 0",
     .standard_doc = "none, or that of the file",
     .doc =
         "stiffness of a spring in the joint, in addition to its drives. Its effort is reported as that of an actuator "
         "JOINT_spring"},
    {.name = "spring_rest",
     .kind = TD_KEY_OTHER,
     .form = "angle, or length of a joint that slides",
     .standard_doc = "the position at the start",
     .doc = "with `spring`: where it is relaxed"},
    {.name = "damping",
     .kind = TD_KEY_OTHER,
     .form = "torque per angular rate, or force per velocity, >= 0",
     .standard_doc = "that of the file",
     .doc = "viscous damping"},
    {.name = "friction",
     .kind = TD_KEY_OTHER,
     .form = "torque or force, >= 0",
     .standard_doc = "that of the file",
     .doc = "dry friction"},
    {.name = "armature",
     .kind = TD_KEY_OTHER,
     .form = "moment of inertia, or mass, >= 0",
     .standard_doc = "that of the file",
     .doc = "inertia of the motor, times the square of the gear ratio"},
    {0},
};
const tdSchema td_schema_joint = {
    .title = "joints",
    .doc = "Joints of an articulated body with one coordinate: revolute, continuous, prismatic. A joint that mimics "
           "another one follows it and has no position of its own.",
    .example = "bodies:\n"
               "  - name: arm\n"
               "    type: articulated\n"
               "    urdf: arm.urdf\n"
               "    joints: [{name: elbow, position: 90 deg, armature: 0.1 kg*m^2}]",
    .keys = joint_keys,
};
