// SPDX-License-Identifier: Apache-2.0
// Every key of a scene file: how it is written, its default, its limits and what it means. The
// reader checks by these tables and the reference manual is printed from them.
#include "describe/scene.h"
#include "scene/schema.h"

#define LIMIT_STEPS 1000000000

// ---------------------------------------------------------------- units, placement

static const tdKey units_keys[] = {
    {.name = "length", .kind = TD_KEY_UNIT, .dim = TD_DIM_LENGTH, .standard = "m", .doc = "unit of length"},
    {.name = "mass", .kind = TD_KEY_UNIT, .dim = TD_DIM_MASS, .standard = "kg", .doc = "unit of mass"},
    {.name = "time", .kind = TD_KEY_UNIT, .dim = TD_DIM_TIME, .standard = "s", .doc = "unit of time"},
    {0},
};
const tdSchema td_schema_units = {
    .title = "units",
    .doc = "The base units in which bare numbers of the scene are read, and the numbers in its mesh files. Derived "
           "quantities follow: with `{length: mm, mass: kg, time: s}` a bare pressure is in kg/(mm s^2), which is kPa.",
    .example = "units: {length: mm, mass: kg, time: s}",
    .keys = units_keys,
};

static const tdKey transform_keys[] = {
    {.name = "scale",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_POSITIVE,
     .standard = "1",
     .doc = "factor on the mesh's coordinates, applied first"},
    {.name = "rotate",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_ANGLE,
     .standard = "[0, 0, 0]",
     .doc = "angles about the fixed axes: about x first, then y, then z; an angle needs `deg` or `rad`"},
    {.name = "translate",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .standard = "[0, 0, 0]",
     .doc = "shift, applied last"},
    {0},
};
const tdSchema td_schema_transform = {
    .title = "transform",
    .doc = "Places the mesh in the world: scaled, then rotated, then shifted.",
    .example = "transform: {scale: 1, rotate: [90 deg, 0, 0], translate: [0, 0, 35]}",
    .keys = transform_keys,
};

// ---------------------------------------------------------------- selectors

static const tdKey sphere_keys[] = {
    {.name = "center", .kind = TD_KEY_VECTOR, .dim = TD_DIM_LENGTH, .required = true, .doc = "center of the sphere"},
    {.name = "radius",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .required = true,
     .doc = "radius of the sphere"},
    {0},
};
const tdSchema td_schema_sphere = {
    .title = "sphere",
    .doc = "Nodes not farther than `radius` from `center`.",
    .example = "sphere: {center: [0, 0, 10], radius: 5}",
    .keys = sphere_keys,
};

static const tdKey plane_keys[] = {
    {.name = "point", .kind = TD_KEY_VECTOR, .dim = TD_DIM_LENGTH, .required = true, .doc = "a point of the plane"},
    {.name = "normal",
     .kind = TD_KEY_VECTOR,
     .required = true,
     .doc = "direction across the plane, of any nonzero length"},
    {.name = "tolerance",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "1e-6 of the body's size",
     .doc = "distance from the plane within which nodes are chosen"},
    {0},
};
const tdSchema td_schema_plane = {
    .title = "plane",
    .doc = "Nodes on a plane.",
    .example = "plane: {point: [0, 0, 0], normal: [0, 0, 1], tolerance: 0.1}",
    .keys = plane_keys,
};

static const tdChoice shell_choices[] = {
    {"any", TD_SHELL_ANY, "all of the boundary", NULL},
    {"outer", TD_SHELL_OUTER, "its outer surface", NULL},
    {"inner", TD_SHELL_INNER, "walls of cavities: closed parts of the boundary that are inside another", NULL},
    {0},
};
static const tdKey side_keys[] = {
    {.name = "of", .kind = TD_KEY_CHOICE, .choices = shell_choices, .standard = "any", .doc = "which surface"},
    {.name = "facing",
     .kind = TD_KEY_VECTOR,
     .standard_doc = "every direction",
     .doc = "direction that the outward normals of the faces have, of any nonzero length"},
    {.name = "angle",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_ANGLE,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "45 deg",
     .doc = "largest angle between a normal and `facing`, below 180 deg"},
    {0},
};
const tdSchema td_schema_side = {
    .title = "side",
    .doc = "Faces of the boundary, or their nodes, by the surface that they belong to and by their direction.",
    .example = "side: {of: outer, facing: [0, 0, -1], angle: 30 deg}",
    .keys = side_keys,
};

static const tdKey connected_keys[] = {
    {.name = "point",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .required = true,
     .doc = "a point of the part; for a point outside the mesh the nearest element counts"},
    {0},
};
const tdSchema td_schema_connected = {
    .title = "part",
    .doc = "The elements that are connected through shared nodes to the one at a point.",
    .example = "part: {point: [0, 0, 10]}",
    .keys = connected_keys,
};

static const tdKey select_keys[] = {
    {.name = "all", .kind = TD_KEY_BOOL, .either = 's', .required = true, .doc = "`true`: every node of the body"},
    {.name = "box",
     .kind = TD_KEY_BOX,
     .dim = TD_DIM_LENGTH,
     .either = 's',
     .required = true,
     .doc = "nodes in an axis-aligned box, its surface included"},
    {.name = "sphere",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_sphere,
     .either = 's',
     .required = true,
     .doc = "nodes in a sphere"},
    {.name = "plane",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_plane,
     .either = 's',
     .required = true,
     .doc = "nodes on a plane"},
    {.name = "side",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_side,
     .either = 's',
     .required = true,
     .doc = "nodes of the outer surface, of walls of cavities, or of faces in one direction"},
    {.name = "part",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_connected,
     .either = 's',
     .required = true,
     .doc = "nodes of a connected part of the mesh"},
    {.name = "group",
     .kind = TD_KEY_TEXT,
     .either = 's',
     .required = true,
     .doc = "nodes of the cells in a named group of the mesh"},
    {.name = "nodes",
     .kind = TD_KEY_NUMBERS,
     .least = 0,
     .most = INT32_MAX,
     .either = 's',
     .required = true,
     .doc = "nodes by number, from 0, in the order of the mesh file"},
    {0},
};
const tdSchema td_schema_select = {
    .title = "selector",
    .doc = "Exactly one of these keys chooses nodes of a body, in its placed rest shape. They are written among the "
           "keys of the item itself.",
    .example = "fixed: [{box: [[-15, -15, -40], [15, 15, 10]]}]",
    .keys = select_keys,
};

// ---------------------------------------------------------------- bodies

static const tdKey fixed_keys[] = {
    {.name = "axes", .kind = TD_KEY_AXES, .standard = "xyz", .doc = "components that are held"},
    {0},
};
const tdSchema td_schema_fixed = {
    .title = "fixed",
    .doc = "Nodes that do not move.",
    .example = "fixed: [{group: xmin, axes: x}, {nodes: [0]}]",
    .keys = fixed_keys,
    .also = &td_schema_select,
};

static const tdKey prescribed_keys[] = {
    {.name = "name",
     .kind = TD_KEY_NAME,
     .doc = "name by which a motion drives it; must also be unique among loads and actuators"},
    {.name = "axes", .kind = TD_KEY_AXES, .standard = "xyz", .doc = "components that are prescribed"},
    {.name = "displacement",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .required = true,
     .doc = "displacement from the placed rest shape when the motion's value is 1, or always without a motion"},
    {0},
};
const tdSchema td_schema_prescribed = {
    .title = "prescribed",
    .doc = "Nodes whose displacement is given: `displacement` times the value of the motion of the same name.",
    .example = "prescribed: [{name: pull, group: right, axes: x, displacement: [10, 0, 0]}]",
    .keys = prescribed_keys,
    .also = &td_schema_select,
};

static const tdKey damping_keys[] = {
    {.name = "mass",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_FREQUENCY,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard = "0",
     .doc = "factor α of the mass matrix"},
    {.name = "stiffness",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TIME,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard = "0",
     .doc = "factor β of the stiffness matrix"},
    {0},
};
const tdSchema td_schema_damping = {
    .title = "damping",
    .doc = "Rayleigh damping, D = α M + β K. K is the stiffness at rest, carried along by the deformation, so that it "
           "takes "
           "energy and never gives any.",
    .example = "damping: {mass: 0.1 1/s, stiffness: 0.01 s}",
    .keys = damping_keys,
};

static const tdChoice body_choices[] = {
    {"soft", TD_BODY_SOFT, "deformable body of finite elements", NULL},
    {"rigid", TD_BODY_RIGID, "one piece with a `shape`", NULL},
    {"articulated", TD_BODY_ARTICULATED, "tree of rigid links from a `urdf` file", NULL},
    {"membrane", -1, "", "a membrane is a soft body with `materials` of type membrane"},
    {0},
};
static const tdChoice mass_choices[] = {
    {"lumped", 0, "masses at the nodes", NULL},
    {"consistent", 1, "mass matrix of the shape functions", NULL},
    {0},
};
static const tdChoice plane_choices[] = {
    {"strain", TD_PLANE_STRAIN, "no strain across the plane: a slice of a long body", NULL},
    {"stress", TD_PLANE_STRESS, "no stress across the plane: a sheet", NULL},
    {0},
};
static const tdChoice formulation_choices[] = {
    {"standard", TD_FORMULATION_STANDARD, "the change of volume at each point", NULL},
    {"mean_dilatation", TD_FORMULATION_MEAN_DILATATION,
     "one change of volume for an element: does not lock near incompressibility; needs laws from neo_hookean on", NULL},
    {0},
};
static const tdChoice collision_choices[] = {
    {"surface", TD_COLLISION_SURFACE,
     "as they are where they are closed, else by their convex hulls, which a warning says", NULL},
    {"hull", TD_COLLISION_HULL, "by their convex hulls, which is faster and fills what is hollow", NULL},
    {0},
};

static const tdChoice base_choices[] = {
    {"fixed", 0, "held where the transform places it", NULL},
    {"free", 1, "moves freely", NULL},
    {0},
};
static const tdKey body_keys[] = {
    {.name = "name", .kind = TD_KEY_NAME, .required = true, .doc = "unique name"},
    {.name = "type", .kind = TD_KEY_CHOICE, .choices = body_choices, .standard = "soft", .doc = "kind of body"},
    {.name = "mesh",
     .kind = TD_KEY_FILE_OR_MAP,
     .schema = &td_schema_mesh_box,
     .standard_doc = "required by soft bodies",
     .doc = "mesh file, relative to the scene's folder, its coordinates in the scene's length unit; or a block, "
            "rectangle or torus"},
    {.name = "transform", .kind = TD_KEY_MAP, .schema = &td_schema_transform, .doc = "where the mesh is placed"},
    {.name = "repeat", .kind = TD_KEY_MAP, .schema = &td_schema_repeat, .doc = "soft: makes several of it"},
    {.name = "material",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_material,
     .standard_doc = "required by soft bodies",
     .doc = "material of all elements that `materials` does not list"},
    {.name = "materials",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_part,
     .least = 1,
     .most = 1000,
     .doc = "groups of another material, and membranes"},
    {.name = "plane",
     .kind = TD_KEY_CHOICE,
     .choices = plane_choices,
     .standard_doc = "none: a body in space",
     .doc = "makes it a plane body: a mesh of triangles at z = 0 that moves in x and y only"},
    {.name = "thickness",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "1 m, whatever the unit of length",
     .doc = "extent of a plane body along z, by which its mass, forces and stiffness count"},
    {.name = "formulation",
     .kind = TD_KEY_CHOICE,
     .choices = formulation_choices,
     .standard = "standard",
     .doc = "how the elements measure the change of volume"},
    {.name = "mass",
     .kind = TD_KEY_CHOICE,
     .choices = mass_choices,
     .standard = "lumped",
     .doc = "form of the mass matrix"},
    {.name = "damping", .kind = TD_KEY_MAP, .schema = &td_schema_damping, .doc = "Rayleigh damping"},
    {.name = "velocity",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_VELOCITY,
     .standard = "[0, 0, 0]",
     .doc = "velocity of all nodes at the start, or of a free root link"},
    {.name = "snap",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "half the mean edge of the element nearest to the point",
     .doc =
         "soft: how far outside the body points may lie that are given by coordinates (of actuators, walls of "
         "cavities, effectors, probes, attachments and rods). They are moved to the nearest point of the body. Without "
         "`snap` a warning gives the distance if it exceeds 1 % of an edge. Points farther away are an error"},
    {.name = "rom",
     .kind = TD_KEY_FILE,
     .standard_doc = "full order",
     .doc = "soft: reduced model of this body, from `tendril reduce` with the same body. Several bodies may have one "
            "each; `--rom FILE` replaces one of them, `--full-order` ignores all"},
    {.name = "enrichment",
     .kind = TD_KEY_BOOL,
     .standard_doc = "`true`; `false` in a scene with effectors; neither for a model that was trained with contact",
     .doc = "soft, with a reduced model: points that are touched or pulled have the local flexibility of full order "
            "([reduction](reduction.md#where-something-touches)); `false`: that of the modes alone, and steps warn "
            "where this is too stiff"},
    {.name = "fixed",
     .kind = TD_KEY_LIST_OR_BOOL,
     .schema = &td_schema_fixed,
     .most = 10000,
     .doc = "soft: fixed nodes; rigid: `true` for a body that does not move"},
    {.name = "guided",
     .kind = TD_KEY_BOOL,
     .standard = "false",
     .doc = "rigid: `true` for a body without mass whose motion is given, by the scene's motion, the caller or a "
            "[haptic device](haptics.md): the inputs NAME.x, NAME.y, NAME.z (lengths) and NAME.rx, NAME.ry, NAME.rz "
            "(a rotation vector) are its displacement from its initial pose, along the world's axes"},
    {.name = "trocar",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .doc = "guided: a fixed point that its shaft passes through, as an instrument passes a trocar: NAME.x, .y, .z "
            "move its origin, the tip, and it rotates so that the point stays on the line through tip and trocar at "
            "the start. Forces at the tip follow the law of the lever"},
    {.name = "follows",
     .kind = TD_KEY_NAME,
     .doc = "guided: another guided body that it moves with, as the second jaw of a grasper does; its own inputs are "
            "then relative to that body"},
    {.name = "close",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .doc = "follows: displacement from its initial pose when the hand's grip is closed"},
    {.name = "prescribed",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_prescribed,
     .most = 10000,
     .doc = "nodes that are moved"},
    {.name = "urdf",
     .kind = TD_KEY_FILE,
     .standard_doc = "this or `mjcf` is required by articulated bodies",
     .doc = "articulated: the robot; its numbers are in SI units"},
    {.name = "mjcf",
     .kind = TD_KEY_FILE,
     .doc = "articulated: the robot, or all that is in the world of the file, with its drives; in SI units"},
    {.name = "keyframe",
     .kind = TD_KEY_TEXT,
     .doc = "articulated: keyframe of the MJCF file at which joints and drives start"},
    {.name = "base",
     .kind = TD_KEY_CHOICE,
     .choices = base_choices,
     .standard = "fixed",
     .doc = "articulated: how the root link is joined to the world"},
    {.name = "collision_mesh",
     .kind = TD_KEY_CHOICE,
     .choices = collision_choices,
     .standard = "surface",
     .doc = "articulated: how collision meshes are treated"},
    {.name = "joints",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_joint,
     .most = 4096,
     .doc = "articulated: initial positions of joints, and properties that the file does not give"},
    {.name = "shape",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_shape,
     .standard_doc = "required by rigid bodies",
     .doc = "rigid: its shape"},
    {.name = "density",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_DENSITY,
     .range = TD_RANGE_POSITIVE,
     .either = 'm',
     .standard_doc = "this or `total_mass` is required by rigid bodies that are neither fixed nor guided",
     .doc = "rigid: mass per volume of the shape"},
    {.name = "total_mass",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_MASS,
     .range = TD_RANGE_POSITIVE,
     .either = 'm',
     .doc = "rigid: mass, spread evenly over the shape"},
    {.name = "angular_velocity",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_TURNING,
     .standard = "[0, 0, 0]",
     .doc = "rigid, and articulated with a free base: of the root link at the start, about the world's axes"},
    {.name = "contact", .kind = TD_KEY_MAP, .schema = &td_schema_body_contact, .doc = "how it touches others"},
    {0},
};
const tdSchema td_schema_body = {
    .title = "bodies",
    .doc = "Soft bodies, rigid bodies and robots made of rigid links.",
    .keys = body_keys,
};

// ---------------------------------------------------------------- loads, probes, motion

static const tdChoice load_choices[] = {
    {"point", TD_TYPE_POINT, "forces at nodes; takes `force` or `force_each`", NULL},
    {"surface", TD_TYPE_SURFACE,
     "on the boundary faces all of whose nodes are chosen; takes `pressure`, `traction` or `force`", NULL},
    {0},
};
static const tdKey load_keys[] = {
    {.name = "name", .kind = TD_KEY_NAME, .doc = "name by which a motion drives it"},
    {.name = "type", .kind = TD_KEY_CHOICE, .choices = load_choices, .required = true, .doc = "kind of load"},
    {.name = "body", .kind = TD_KEY_NAME, .required = true, .doc = "name of the body"},
    {.name = "force",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_FORCE,
     .either = 'v',
     .required = true,
     .doc = "total force: shared evenly by the nodes (point), or spread over the area (surface)"},
    {.name = "force_each",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_FORCE,
     .either = 'v',
     .required = true,
     .doc = "point: force at each of the nodes"},
    {.name = "pressure",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_PRESSURE,
     .either = 'v',
     .required = true,
     .doc = "surface: pressure against the outer normal of the deformed faces; negative pulls; not on the edges of a "
            "plane body"},
    {.name = "traction",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_PRESSURE,
     .either = 'v',
     .required = true,
     .doc = "surface: force per undeformed area, of fixed direction"},
    {0},
};
const tdSchema td_schema_load = {
    .title = "loads",
    .doc = "Forces on bodies, each times the value of the motion of the same name (1 without a motion).",
    .example = "loads:\n"
               "  - {name: tip, type: point, body: beam, group: xmax, force: [0, 0, -1 N]}\n"
               "  - {name: push, type: surface, body: beam, group: zmax, pressure: 1 kPa}",
    .keys = load_keys,
    .also = &td_schema_select,
};

static const tdKey probe_keys[] = {
    {.name = "name", .kind = TD_KEY_NAME, .required = true, .doc = "unique name, the column in the output"},
    {.name = "body", .kind = TD_KEY_NAME, .required = true, .doc = "name of the body"},
    {.name = "point",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .either = 's',
     .required = true,
     .doc = "follows the material point that is here in the placed rest shape"},
    {.name = "link",
     .kind = TD_KEY_TEXT,
     .standard_doc = "the nearest",
     .doc = "rigid and articulated bodies: link that carries `point`, which may then be anywhere"},
    {0},
};
const tdSchema td_schema_probe = {
    .title = "probes",
    .doc = "Points whose position is recorded: a material point, or the mean of chosen nodes.",
    .example = "probes: [{name: tip, body: beam, point: [100, 5, 5]}]",
    .keys = probe_keys,
    .also = &td_schema_select,
};

static const tdKey keyframe_keys[] = {
    {.name = "t", .kind = TD_KEY_QUANTITY, .dim = TD_DIM_TIME, .required = true, .doc = "time; ascending"},
    {0},
};
const tdSchema td_schema_keyframe = {
    .title = "keyframes",
    .doc = "Values of named loads, prescribed motions and actuators at one time. A name that a keyframe leaves out is "
           "interpolated between those that have it.",
    .keys = keyframe_keys,
    .open =
        "name of a load or a prescribed motion: the factor on it; name of an actuator: the value of what its `drive` "
        "names, e.g. `20 mm`",
};

static const tdChoice interpolation_choices[] = {
    {"linear", 0, "straight lines", NULL},
    {"smooth", 1, "smoothstep: at rest at each keyframe", NULL},
    {0},
};
static const tdKey motion_keys[] = {
    {.name = "keyframes",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_keyframe,
     .least = 1,
     .most = 100000,
     .either = 'k',
     .required = true,
     .doc = "values at times"},
    {.name = "csv",
     .kind = TD_KEY_FILE,
     .either = 'k',
     .required = true,
     .doc = "the same from a file with a header `t,NAME,...`; t in seconds, an empty cell is interpolated; bare "
            "numbers are in "
            "the scene's units, or in the unit that the header gives: `north [mm]`"},
    {.name = "interpolation",
     .kind = TD_KEY_CHOICE,
     .choices = interpolation_choices,
     .standard = "linear",
     .doc = "between keyframes; before the first and after the last the value is held"},
    {0},
};
const tdSchema td_schema_motion = {
    .title = "motion",
    .doc = "How named loads, prescribed displacements and actuators change over time.",
    .example = "motion: {keyframes: [{t: 0, pull: 0}, {t: 1 s, pull: 1}], interpolation: smooth}",
    .keys = motion_keys,
};

// ---------------------------------------------------------------- the scene

static const tdKey scene_keys[] = {
    {.name = "tendril",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 1,
     .required = true,
     .doc = "version of the file's format: 1"},
    {.name = "include",
     .kind = TD_KEY_OTHER,
     .form = "file or list of files",
     .doc = "other files with keys of a scene, relative to this file, and so are paths in them. Lists such as `bodies` "
            "are joined, those of the files first; every other key is given in one file"},
    {.name = "units", .kind = TD_KEY_MAP, .schema = &td_schema_units, .doc = "units of bare numbers"},
    {.name = "gravity",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_ACCELERATION,
     .standard = "[0, 0, 0]",
     .doc = "acceleration of all bodies"},
    {.name = "time_step",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TIME,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "required; 1 s when the method is static",
     .doc = "length of a step"},
    {.name = "duration",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TIME,
     .range = TD_RANGE_POSITIVE,
     .either = 't',
     .standard_doc = "this or `steps` is required unless the method is static",
     .doc = "simulated time, rounded up to whole steps"},
    {.name = "steps",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = LIMIT_STEPS,
     .either = 't',
     .standard_doc = "1 when the method is static",
     .doc = "number of steps"},
    {.name = "bodies",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_body,
     .least = 1,
     .most = 1000,
     .required = true,
     .doc = "the bodies, at least one"},
    {.name = "loads", .kind = TD_KEY_LIST, .schema = &td_schema_load, .most = 10000, .doc = "forces on bodies"},
    {.name = "probes", .kind = TD_KEY_LIST, .schema = &td_schema_probe, .most = 10000, .doc = "recorded points"},
    {.name = "actuators",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_actuator,
     .most = 1000,
     .doc = "cables, cavities, forces and motors that drive bodies"},
    {.name = "effectors",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_effector,
     .most = 1000,
     .doc = "what is to be controlled, or recorded"},
    {.name = "tools", .kind = TD_KEY_LIST, .schema = &td_schema_tool, .most = 100, .doc = "links that follow poses"},
    {.name = "sensors",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_sensor,
     .most = 10000,
     .doc = "forces and motions that are measured"},
    {.name = "control",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_control,
     .doc = "how the actuation is found that brings effectors to their targets"},
    {.name = "motion", .kind = TD_KEY_MAP, .schema = &td_schema_motion, .doc = "how loads and actuators are driven"},
    {.name = "integrator", .kind = TD_KEY_MAP, .schema = &td_schema_integrator, .doc = "how time is advanced"},
    {.name = "solver", .kind = TD_KEY_MAP, .schema = &td_schema_solver, .doc = "how linear systems are solved"},
    {.name = "output", .kind = TD_KEY_MAP, .schema = &td_schema_output, .doc = "what a run writes"},
    {.name = "reduction",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_reduction,
     .doc = "how `tendril reduce` computes a reduced model of a body"},
    {.name = "validation",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_validation,
     .standard_doc = "a random motion",
     .doc = "a motion not used in training, on which reduced models are tested"},
    {.name = "attachments",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_attachment,
     .most = 10000,
     .doc = "points of bodies that are welded to other bodies, or to fixed points in space"},
    {.name = "couplings",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_coupling,
     .most = 10000,
     .doc = "joints that depend on each other, rods"},
    {.name = "contact",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_contact,
     .doc = "contact between bodies; without this key there is none"},
    {0},
};
const tdSchema td_schema_scene = {
    .title = "The scene",
    .doc = "The outermost keys of the file.",
    .keys = scene_keys,
};
