// SPDX-License-Identifier: Apache-2.0
// A scene as the user wrote it: checked, in SI units, not yet compiled. The parser fills it
// (scene/parse.c), the compiler turns it into a tdModel (scene/compile.c). Every item keeps the
// line it came from, so that the compiler can name it too ("line 12: group 'tip' is not in the mesh").
#pragma once
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "describe/tree.h"

typedef enum tdSelectKind
{
    TD_SELECT_ALL,
    TD_SELECT_BOX,    // min <= x <= max
    TD_SELECT_SPHERE, // |x - center| <= radius
    TD_SELECT_PLANE,  // |(x - point) . normal| <= tolerance
    TD_SELECT_GROUP,  // nodes of the cells in a named group
    TD_SELECT_NODES,  // by number, from 0
    TD_SELECT_SIDE,   // nodes of faces of the boundary
    TD_SELECT_PART    // nodes of a connected part of the mesh
} tdSelectKind;

/// Which parts of the boundary a side is of.
typedef enum tdSelectShell
{
    TD_SHELL_ANY,
    TD_SHELL_OUTER, // parts that are not inside another
    TD_SHELL_INNER  // walls of cavities
} tdSelectShell;

/// Chooses nodes of a body in its placed rest shape.
typedef struct tdSelect
{
    tdSelectKind kind;
    int line;
    double a[3],
        b[3];      ///< box: min, max; sphere: center; plane: point, unit normal; side: facing (a), 0 = any; part: point
    double radius; ///< sphere: radius; plane: tolerance, < 0 = 1e-6 of the body's size; side: largest angle [rad]
    tdSelectShell shell; ///< side
    const char *group;
    int n_nodes;
    const int64_t *nodes;
} tdSelect;

/// Bits of `axes`.
enum
{
    TD_AXIS_X = 1,
    TD_AXIS_Y = 2,
    TD_AXIS_Z = 4,
    TD_AXIS_ALL = 7
};

typedef struct tdSceneFixed
{
    tdSelect select;
    int axes; ///< held components, default all
} tdSceneFixed;

/// Nodes moved by `displacement` times the value of the input `name` (1 when no motion names it).
typedef struct tdScenePrescribed
{
    const char *name; ///< NULL: not driven by name
    tdSelect select;
    int axes; ///< components that are prescribed, default all
    double displacement[3];
} tdScenePrescribed;

/// Axis-aligned box of tetrahedra or hexahedra, for scenes without a mesh file. Its sides are the
/// groups xmin, xmax, ymin, ymax, zmin, zmax. With cells[2] = 0 a rectangle of triangles at z = 0, min[2] = max[2] = 0
/// (td_mesh_rectangle()).
typedef struct tdSceneBox
{
    double min[3], max[3];
    int cells[3];
    bool hexahedra;
} tdSceneBox;

/// Torus about the z axis (td_mesh_torus()).
typedef struct tdSceneTorus
{
    double major, minor;
    int cells[3]; ///< sections, points around, circles; 0: none
} tdSceneTorus;

typedef enum tdLawKind
{
    TD_LAW_LINEAR,
    TD_LAW_COROTATIONAL,
    TD_LAW_COROTATIONAL_LAGGED,
    TD_LAW_STVK,
    TD_LAW_NEO_HOOKEAN,
    TD_LAW_MOONEY_RIVLIN,
    TD_LAW_OGDEN,
    TD_LAW_ARRUDA_BOYCE,
    TD_LAW_VERONDA_WESTMANN,
    TD_LAW_COSTA,
    TD_LAWS
} tdLawKind;

/// Energy of a change of volume, for the laws that split it off.
typedef enum tdVolumetric
{
    TD_VOLUMETRIC_SQUARE, // kappa/2 (J - 1)^2
    TD_VOLUMETRIC_LOG,    // kappa/2 ln(J)^2
    TD_VOLUMETRIC_MIXED   // kappa/2 ((J^2 - 1)/2 - ln J)
} tdVolumetric;

#define TD_LAW_VALUES  16 // parameters a law may have of its own
#define TD_OGDEN_TERMS 6
#define TD_PRONY_TERMS 8

/// A law with its parameters: engineering constants (`young` and `poisson`), or the law's own in `value` with one
/// of `bulk` and `poisson`. What was not given is NAN. The order of `value`:
///     neo_hookean       mu
///     mooney_rivlin     c10, c01
///     ogden             mu_1, alpha_1, mu_2, alpha_2, ...: n_terms pairs
///     arruda_boyce      mu, lambda_m
///     veronda_westmann  c1, c2
///     costa             c, b_ff, b_ss, b_nn, b_fs, b_fn, b_sn
typedef struct tdSceneMaterial
{
    int line;
    const char *group; ///< elements it is for; NULL: all that no other material names
    tdSelect select; ///< how they are chosen: by that group of the mesh, or by another selector, for which the compiled
                     ///< mesh gets a group of that name
    tdLawKind law;
    double young, poisson;
    double bulk; ///< kappa [Pa] beside a law's own parameters
    tdVolumetric volumetric;
    double value[TD_LAW_VALUES];
    int n_terms; ///< Ogden
    int n_prony;
    double prony_g[TD_PRONY_TERMS], prony_tau[TD_PRONY_TERMS]; ///< relative moduli, relaxation times [s]
    bool has_fibre;
    double fibre[9];            ///< rows: fibre, sheet and normal direction in the placed body, orthonormal
    double thickness;           ///< membranes and plane bodies [m]; 0: volume elements
    double density, total_mass; ///< one is given, the other 0
} tdSceneMaterial;

/// Bodies of triangles in the plane z = 0: their z coordinates are held.
typedef enum tdPlane
{
    TD_PLANE_NONE,
    TD_PLANE_STRAIN,
    TD_PLANE_STRESS
} tdPlane;

typedef enum tdFormulation
{
    TD_FORMULATION_STANDARD,
    TD_FORMULATION_MEAN_DILATATION // one volume change an element: does not lock near incompressibility
} tdFormulation;

typedef enum tdBodyType
{
    TD_BODY_SOFT,
    TD_BODY_RIGID,      // one link
    TD_BODY_ARTICULATED // a tree of links
} tdBodyType;

/// What differs from the scene's contact; NAN and -1: nothing.
typedef struct tdSceneBodyContact
{
    int line; ///< 0: not given
    double friction, stiffness, dissipation;
    double torsion, rolling; ///< [m]
    int self;                ///< it meets itself: 0, 1
    int points;              ///< n x n a triangle
    bool off;                ///< it touches nothing
    bool walls;              ///< walls of its cavities meet others too
    const char *surface;     ///< file of the surface that touches; NULL: that of the mesh
    int nodes;               ///< of a coarser surface; 0: all
} tdSceneBodyContact;

/// Makes body number `index` of a model: its kind, tables and coordinates.
typedef tdStatus tdBodyCompiler(tdModel *model, int index, const tdSettings *settings, tdError *error);

typedef enum tdEnrichment
{
    TD_ENRICHMENT_AUTO, // but where training had contact, or the scene has effectors
    TD_ENRICHMENT_ON,
    TD_ENRICHMENT_OFF
} tdEnrichment;

typedef struct tdSceneBody
{
    const char *name;
    int line;
    tdBodyType type;
    const char *mesh; ///< path as resolved against the scene's folder; NULL when `box` or `torus` is used
    int mesh_line;
    tdSceneBox box;
    tdSceneTorus torus;       ///< in the place of `box` where it has sections
    double scale;             ///< of the mesh's numbers, already times the scene's length unit
    double rotation[9];       ///< row-major; applied after the scale
    double translate[3];      ///< applied last
    tdSceneMaterial material; ///< of all elements that no entry of `materials` names
    int n_materials;
    tdSceneMaterial *materials; ///< by group: parts of another material, and membranes (thickness > 0)
    tdPlane plane;
    tdFormulation formulation;
    bool consistent_mass;
    double damping_mass, damping_stiffness; ///< Rayleigh alpha [1/s], beta [s]
    double velocity[3];                     ///< at the start
    const char *rom;                        ///< file of its reduced model; NULL: full order
    tdEnrichment enrichment;                ///< of a reduced body, where something touches
    int rom_line;
    double snap; ///< how far outside of it points may be that are given by their places [m]; NAN: half an element
    int n_fixed, n_prescribed;
    tdSceneFixed *fixed;
    tdScenePrescribed *prescribed;
    // rigid and articulated: placed by rotation and translate
    tdTree *tree; ///< checked; its root is fixed or free
    double angular_velocity[3];
    const char *guided[6]; ///< rigid: inputs that its pose is given by, name.x, .y, .z, .rx, .ry, .rz; NULL: none
    bool through;          ///< guided: it turns about its origin so that its shaft passes through `trocar`
    double trocar[3];
    const char *follows; ///< guided: the guided body that it moves with; NULL: none
    int follows_line;
    double close[3];          ///< follows: what a hand's grip moves it by
    tdBodyCompiler *compiler; ///< not of the file: what makes the body; NULL: that of its type
    bool adrift; ///< not of the file: nothing holds it, and training looks for its shapes (compile_adrift.c)
    tdSceneBodyContact contact;
} tdSceneBody;

typedef enum tdLoadKind
{
    TD_LOAD_POINT_TOTAL,     // `vector` [N] shared evenly by the chosen nodes
    TD_LOAD_POINT_EACH,      // `vector` [N] at every chosen node
    TD_LOAD_SURFACE_TOTAL,   // `vector` [N] spread over the area of the chosen faces
    TD_LOAD_SURFACE_STRESS,  // `vector` [Pa] on the undeformed area, fixed direction
    TD_LOAD_SURFACE_PRESSURE // `pressure` [Pa] against the outer normal of the deformed face
} tdLoadKind;

typedef struct tdSceneLoad
{
    const char *name; ///< NULL: not driven by name
    int line;
    tdLoadKind kind;
    int body;
    tdSelect select; ///< a surface load takes the boundary faces all of whose nodes are chosen
    double vector[3];
    double pressure;
} tdSceneLoad;

typedef struct tdSceneProbe
{
    const char *name;
    int line;
    int body;
    bool at_point; ///< follow the material point that is at `point`; else the mean of the chosen nodes
    double point[3];
    const char *link; ///< of a rigid or articulated body, that carries the point; NULL: the nearest
    tdSelect select;
} tdSceneProbe;

// ---------------------------------------------------------------- actuators, effectors, control

typedef enum tdActuatorKind
{
    TD_ACTUATOR_CABLE,       // effort: tension [N]; displacement: how much shorter the path is than at rest [m]
    TD_ACTUATOR_CAVITY,      // pressure above ambient [Pa]; growth of the volume [m^3]
    TD_ACTUATOR_FORCE,       // force along `direction` [N]; mean displacement of the nodes along it [m]
    TD_ACTUATOR_TRANSLATION, // of a set of nodes as one piece along `direction`: force [N], displacement [m]
    TD_ACTUATOR_ROTATION,    // of a set of nodes as one piece about `center` and `direction`: torque [N m], angle [rad]
    TD_ACTUATOR_JOINT,       // of an articulated body, one that turns: torque [N m], position [rad]
    TD_ACTUATOR_SLIDE,       // one that slides: force [N], position [m]
    TD_ACTUATOR_KINDS
} tdActuatorKind;

/// What a motion, or the caller, gives of an actuator.
typedef enum tdDrive
{
    TD_DRIVE_EFFORT,
    TD_DRIVE_DISPLACEMENT,
    TD_DRIVE_GAS,  // cavity: gas pumped in, as its volume at ambient pressure [m^3]; (p + ambient) V is constant
                   // otherwise
    TD_DRIVE_SERVO // joint: position, or rate, by an effort that grows with the error
} tdDrive;

typedef struct tdSceneActuator
{
    const char *name; ///< also the name of its input
    int line;
    tdActuatorKind kind;
    tdDrive drive;
    int body;
    // cable
    int n_path;
    double *path;     ///< 3 n_path: points of the body it slides through, the first is where it is tied
    bool has_pull;    ///< ends at a pull point, else at the last point of the path
    double pull[3];   ///< in the placed scene at rest
    int pull_body;    ///< body that carries it, -1: fixed in space
    double stiffness; ///< E A of the cable [N]; 0: does not stretch
    double friction;  ///< coefficient of the capstan law, 0: slides freely
    double
        slip; ///< displacement [m] over which friction turns round when the motion does; 0: 1e-3 of the length at rest
    // cavity
    const char *surface; ///< mesh file of a closed surface, or NULL; placed by the transform of the body
    const char *group;   ///< group of boundary triangles of the body's own mesh, or NULL
    double ambient;      ///< pressure outside [Pa], for TD_DRIVE_GAS
    // force, translation, rotation
    const char *link; ///< force: of a rigid or articulated body, that carries `point`; NULL: the nearest
    bool on_surface;  ///< force: spread over the area of the chosen faces, else evenly over the nodes
    bool at_point;    ///< force: at the material point that is at `point`, else at the chosen nodes
    double point[3];
    tdSelect select;     ///< nodes
    double direction[3]; ///< unit vector: of force and translation, axis of rotation
    double center[3];    ///< rotation
    // joint; `stiffness` [N m/rad, N/m] of a servo
    int joint;       ///< link of the body's tree whose joint it is
    double damping;  ///< [N m s/rad, N s/m]
    bool rate;       ///< servo: of the rate, else of the position
    bool weightless; ///< servo: adds what holds the robot against gravity
    bool rests;      ///< `rest` is given
    double rest;     ///< what its input is without a motion; else the start of a position, or zero
    // limits; infinite where there are none
    double effort[2], displacement[2];     ///< least, most; the least effort of a cable is not negative
    double gas[2];                         ///< the same of the gas pumped in, for TD_DRIVE_GAS [m^3]
    double effort_rate, displacement_rate; ///< most change a second
} tdSceneActuator;

typedef enum tdEffectorKind
{
    TD_EFFECTOR_POSITION,    // of a material point, or the mean of the chosen nodes [m]
    TD_EFFECTOR_ORIENTATION, // rotation vector of the chosen nodes since rest [rad]
    TD_EFFECTOR_DIRECTION,   // a direction that turns with the chosen nodes, unit vector
    TD_EFFECTOR_VOLUME,      // of the cavity of an actuator [m^3]
    TD_EFFECTOR_LENGTH,      // of the cable of an actuator [m]
    TD_EFFECTOR_CONTACT,     // sum of the normal forces between two bodies [N]
    TD_EFFECTOR_FRICTION, // share of their friction that is used: sum of tangential forces over that of mu times normal
                          // ones
    TD_EFFECTOR_KINDS
} tdEffectorKind;

/// Values of named inputs over time, see below.
typedef struct tdSceneMotion tdSceneMotion;

typedef struct tdSceneEffector
{
    const char *name;
    int line;
    tdEffectorKind kind;
    int body;
    bool at_point; ///< position: the material point at `point`, else the mean of the chosen nodes
    double point[3];
    const char *link; ///< of a rigid or articulated body, that carries the point; NULL: the nearest
    tdSelect select;
    double direction[3]; ///< unit vector at rest
    int actuator;        ///< volume, length: whose
    int bodies[2];       ///< contact, friction: between which; -1 in the second: any other
    double range[2];     ///< the same: limits, kept before targets are reached
    int axes;            ///< components that count, default all
    double weight;       ///< on its error, > 0
    int priority;        ///< 1 comes first
    bool has_target;     ///< constant `target`, or `path`
    double target[3];    ///< position [m], rotation vector [rad], unit vector, or the volume or length in [0]
    tdSceneMotion *path; ///< target over time: columns x, y, z or the single `value`; NULL: constant
} tdSceneEffector;

typedef enum tdEnergyMode
{
    TD_ENERGY_NULL_SPACE, // reach first, then the least energy among the solutions
    TD_ENERGY_S4          // S4 eq. 5: both at once, weighted by epsilon
} tdEnergyMode;

typedef enum tdInverseSolver
{
    TD_INVERSE_QP,
    TD_INVERSE_GAUSS_SEIDEL
} tdInverseSolver;

/// Actuators that share a motor or a valve: displacement (or effort) of each is `ratio` times a common value.
typedef struct tdSceneGroup
{
    int line;
    bool effort;
    int n;
    int *actuators;
    double *ratio;
} tdSceneGroup;

typedef struct tdSceneControl
{
    int line; ///< 0: all defaults
    tdEnergyMode energy;
    double epsilon; ///< of TD_ENERGY_S4, relative, default 1e-3
    tdInverseSolver solver;
    int max_iterations; ///< of the inverse solver, hard bound; 0: default
    double tolerance;   ///< [m] an effector nearer than this has reached its target; 0: 1e-6 of the body's size
    int n_groups;
    tdSceneGroup *groups;
} tdSceneControl;

/// Values of named inputs over time: piecewise linear, held before the first and after the last.
struct tdSceneMotion
{
    int line;
    bool smooth; ///< smoothstep between keyframes instead of straight lines
    int n_names, n_times;
    const char **names;
    double *times;  ///< n_times, strictly ascending [s]
    double *values; ///< n_times x n_names; NAN: not given at that time, interpolated
};

// ---------------------------------------------------------------- reduction

typedef enum tdSampleKind
{
    TD_SAMPLE_CORNERS,         // ends of all ranges, in all combinations (S1 Fig. 1)
    TD_SAMPLE_GRID,            // `levels` values of every actuator, in all combinations
    TD_SAMPLE_LATIN_HYPERCUBE, // `count` places, each value of an actuator once
    TD_SAMPLE_GREEDY,          // `count` places at most, where the reduced model is worst
    TD_SAMPLE_MOTION,          // along the scene's own motion
    TD_SAMPLE_SEQUENCE,        // a list of places
    TD_SAMPLE_AUTO             // places all over the ranges, and more where the held-out error is, `count` at most
} tdSampleKind;

/// How a reduced body is carried by its frame, as far as the scene says.
typedef enum tdFrameChoice
{
    TD_FRAME_CHOICE_AUTO,
    TD_FRAME_CHOICE_FIXED,
    TD_FRAME_CHOICE_TRANSLATION,
    TD_FRAME_CHOICE_FREE
} tdFrameChoice;

/// What stands for the elements of a reduced body.
typedef enum tdReductionKind
{
    TD_REDUCTION_DOMAINS, // few of them
    TD_REDUCTION_STVK     // polynomials: law stvk
} tdReductionKind;

typedef enum tdBasisKind
{
    TD_BASIS_SNAPSHOTS, // modes of equilibria
    TD_BASIS_MODES      // vibration modes and their derivatives
} tdBasisKind;

/// How a reduced model of one body is made.
/// What differs in the scene from run to run of training: a number within a range, or one of several values.
typedef struct tdSceneVary
{
    int line;
    const char *set; ///< which one, as for --set
    double from, to;
    const char *unit; ///< of both; "": none
    int n_values;     ///< 0: a range
    const char **values;
} tdSceneVary;

typedef enum tdEcswNorm
{
    TD_ECSW_AUTO, // energy where the tolerance is found, forces where it is given
    TD_ECSW_FORCES,
    TD_ECSW_ENERGY
} tdEcswNorm;

typedef struct tdSceneReduction
{
    int line; ///< 0: not given, all defaults
    int body; ///< -1: not given, and there are several
    tdReductionKind kind;
    tdBasisKind basis;
    int modes, derivatives, columns; ///< basis modes; columns 0: as many as there are, 20 at most
    double amplitude;                ///< [m]; NAN: a fifth of the body's size
    tdSampleKind samples;
    int levels, count;
    int candidates;           ///< samples greedy: among so many places the worst is looked for
    double greedy_tolerance;  ///< samples greedy: relative error below which no more points are added
    int steps_between;        ///< equilibria from one place to the next, the next included
    tdSceneMotion *sequence;  ///< rows of values of inputs; `times` holds the lines of the file
    double error;             ///< held-out error that is asked for
    double pod_tolerance;     ///< S1 eq. 15
    double ecsw_tolerance;    ///< S1 eq. 21
    tdEcswNorm ecsw_norm;     ///< by which forces are measured
    int ecsw_parts;           ///< of the mesh, each of which chooses elements first; 0: as memory needs
    bool find_pod, find_ecsw; ///< tolerances that were not given: those above are the ones to begin with
    int max_modes;
    tdFrameChoice frame;
    double contact_friction; ///< in training; NAN: that of the scene
    int runs, n_vary;        ///< samples motion, with contact: how often the scene runs, and what differs
    tdSceneVary *vary;
    int every;      ///< samples motion, with contact: one step of so many is a snapshot
    bool follow;    ///< not of the file: training runs the scene as it is, step by step (walker.h)
    int64_t memory; ///< [bytes] that the work may take
    uint64_t seed;
} tdSceneReduction;

/// A motion that training has not seen.
typedef struct tdSceneValidation
{
    int line;              ///< 0: not given, random with defaults
    tdSceneMotion *motion; ///< NULL: random
    int steps, moves;      ///< of the random path
    uint64_t seed;
} tdSceneValidation;

typedef enum tdContactSolver
{
    TD_CONTACT_SAP,
    TD_CONTACT_NLCP
} tdContactSolver;

typedef enum tdSlidingLaw
{
    TD_SLIDING_CONVEX,
    TD_SLIDING_CORRECTED
} tdSlidingLaw;

typedef enum tdOverlapChoice
{
    TD_OVERLAP_EXEMPT,
    TD_OVERLAP_MEET
} tdOverlapChoice;

/// Two bodies, or links of them, that do not meet.
typedef struct tdSceneExclude
{
    int body[2];
    int link[2]; ///< -1: all
} tdSceneExclude;

typedef struct tdSceneContact
{
    int line;           ///< 0: not given, no contact
    double friction;    ///< Coulomb coefficient
    double torsion;     ///< torque about the normal over the force along it [m]
    double rolling;     ///< the same about the tangents
    double stiffness;   ///< of a point [N/m]; infinite: near-rigid
    double dissipation; ///< relaxation time [s]
    double margin;      ///< [m]; 0: by the size of bodies
    double softness;    ///< beta of the normals
    double stiction;    ///< sigma of the tangents
    double sleep;       ///< speed below which bodies sleep [m/s]; 0: they do not
    int sleep_line;
    tdContactSolver solver;
    tdSlidingLaw sliding;
    int points; ///< n x n of each triangle touch besides nodes
    bool self;
    tdOverlapChoice overlapping; ///< links of one body that overlap at the start
    int n_exclude;
    tdSceneExclude *exclude;
} tdSceneContact;

/// Points of a body that are welded to another one, or to places in space.
typedef struct tdSceneAttachment
{
    int line;
    const char *name;
    int a, b;                  ///< bodies; b -1: space
    const char *link_a, *link; ///< of a and b; NULL: the nearest
    tdSelect select;           ///< nodes of a, unless there are points
    int n_points;              ///< 0: nodes
    double *points;            ///< 3 each, at rest
    double gap;                ///< [m]; NAN: by the size of b
    double stiffness;          ///< of a point [N/m]; infinite: rigid
    double dissipation;        ///< relaxation time [s]
    bool meets;                ///< contact between the two stays
} tdSceneAttachment;

/// A joint's position times a factor.
typedef struct tdSceneTerm
{
    int body, joint; ///< joint: its link
    double factor;   ///< in units of the first term's position per this one's
} tdSceneTerm;

/// Joints whose weighted sum of positions stays what it is, or two points that keep their distance.
typedef struct tdSceneCoupling
{
    int line;
    const char *name;
    int n_terms; ///< 0: a rod
    tdSceneTerm *terms;
    double offset; ///< NAN: as at the start
    // rod
    int body[2]; ///< -1: fixed in space
    double point[2][3];
    const char *link[2]; ///< NULL: the nearest
    double stiffness, dissipation;
} tdSceneCoupling;

/// A place on a link that is brought to a target pose by the servos of its joints.
typedef struct tdSceneTool
{
    const char *name;
    int line;
    const char *inputs[6]; ///< name.x, .y, .z, .rx, .ry, .rz
    int body, link;        ///< link of the body's tree
    bool at_point;         ///< else the link's origin
    double point[3];       ///< in the placed scene at the start
    int n_joints;
    int *actuators;        ///< servos of its joints, from the root to the link
    double damping;        ///< of the least squares, relative
    double lever;          ///< [m] an error of one radian weighs as much as this way; 0: by the arm's length
    double speed, turning; ///< most [m/s, rad/s]; infinite: none
} tdSceneTool;

typedef enum tdSensorKind
{
    TD_SENSOR_WRENCH,   // force and torque at a joint or attachment
    TD_SENSOR_TOUCH,    // contact on a link, a patch of it, or a soft body
    TD_SENSOR_INERTIAL, // acceleration and angular velocity of a link
    TD_SENSOR_JOINT     // position, rate and effort of a joint
} tdSensorKind;

/// What is measured, for tables and the caller. It changes nothing.
typedef struct tdSceneSensor
{
    const char *name;
    int line;
    tdSensorKind kind;
    int body;       ///< -1: of an attachment
    int link;       ///< of the body's tree, also that of a joint; -1: soft
    int attachment; ///< -1: none
    bool at_point;  ///< inertial: else the link's origin
    double point[3];
    bool patch; ///< touch: within a box, in the placed rest shape
    double box[6];
    double area; ///< touch [m^2]; NAN: not given
} tdSceneSensor;

typedef enum tdMethod
{
    TD_METHOD_THETA, // backward Euler, midpoint and symplectic are values of theta, theta_vq
    TD_METHOD_NEWMARK,
    TD_METHOD_RK4,
    TD_METHOD_STATIC
} tdMethod;

typedef enum tdSolverKind
{
    TD_SOLVER_AUTO, // cholesky or cg by counts
    TD_SOLVER_CHOLESKY,
    TD_SOLVER_CG,
    TD_SOLVER_AMG,          // cg with multigrid
    TD_SOLVER_ASYNCHRONOUS, // cg with the newest factor of a thread, which also gives the compliance of contacts (S3)
    TD_SOLVER_REST          // the same with the first factor for good, which does not turn
} tdSolverKind;

typedef struct tdSceneSettings
{
    double gravity[3];
    int gravity_line; ///< 0: not given
    double time_step;
    int steps;
    tdMethod method;
    double theta, theta_vq;    ///< backward Euler 1, 1; midpoint 1/2, 1/2; symplectic 0, 1
    double beta, gamma;        ///< Newmark, default 1/4, 1/2
    bool newton;               ///< iterate to `tolerance`; else one linearization a step. Static: always
    double tolerance;          ///< relative residual of Newton, default 1e-8
    int max_iterations;        ///< of Newton, default 30
    int min_load_step_inverse; ///< static: give up below a load increment of 1/this, default 1024
    tdSolverKind solver;
    double solver_tolerance; ///< relative residual of conjugate gradients, default 1e-8
    int64_t solver_memory;   ///< [bytes] that a factor may take
    int solver_lag;          ///< asynchronous: steps after which a factor is used; 0: when it is done
} tdSceneSettings;

typedef struct tdSceneOutput
{
    int every;            ///< steps between frames, default 1; 0 = only the last
    bool vtu, csv, hdf5;  ///< default: vtu and csv
    int checkpoint_every; ///< steps; 0 = none
} tdSceneOutput;

/// More lines than a file of a scene has.
#define TD_SCENE_LINES (1 << 24)

typedef struct tdScene
{
    tdArena arena;
    const char *file;   ///< as given, for messages
    const char **files; ///< included ones, for messages and for paths in them. A line of files[k] is counted from
                        ///< (k + 1) * TD_SCENE_LINES on (scene/include.h)
    int n_files;
    uint64_t hash;       ///< of the text, and once compiled of meshes and motion too; a checkpoint keeps it
    uint64_t equilibria; ///< the same without `reduction`, `validation`, `output`, `probes` and `sensors`: what
                         ///< equilibria depend on
    double length_unit;  ///< metres in the scene's length unit, for meshes and for reports
    tdSceneSettings settings;
    tdSceneOutput output;
    int n_bodies, n_loads, n_probes, n_actuators, n_effectors;
    tdSceneBody *bodies;
    tdSceneLoad *loads;
    tdSceneProbe *probes;
    tdSceneActuator *actuators;
    tdSceneEffector *effectors;
    tdSceneControl control;
    tdSceneMotion motion;
    tdSceneReduction reduction;
    tdSceneValidation validation;
    tdSceneContact contact;
    int n_attachments, n_couplings;
    tdSceneAttachment *attachments;
    tdSceneCoupling *couplings;
    int n_tools;
    tdSceneTool *tools;
    int n_sensors;
    tdSceneSensor *sensors;
} tdScene;

/// Factor from the numbers of a surface file that belongs to a body to metres: as the body's mesh has it.
static inline double td_scene_file_scale(const tdScene *scene, const tdSceneBody *body)
{
    // The scale of a body with a mesh file already has the length unit in it.
    return body->scale * (body->mesh != NULL ? 1 : scene->length_unit);
}

/// Parses and checks text. On failure *error names file, line and field. td_scene_free() also after failure.
tdStatus td_scene_parse(const char *text, size_t length, const char *name, const char *folder, tdScene *scene,
                        tdError *error);
/// The same, with the packages of robots and the changes of tdSettings; NULL: none.
tdStatus td_scene_parse_with(const char *text, size_t length, const char *name, const char *folder,
                             const char *packages, const char *set, tdScene *scene, tdError *error);
void td_scene_free(tdScene *scene);

/// Name of a law as a scene writes it.
const char *td_scene_law(tdLawKind law);

/// The scene reference in Markdown, generated from the schema that the parser uses.
void td_scene_reference(tdText *out);
