// SPDX-License-Identifier: Apache-2.0
// A tree of rigid links as a scene or a URDF file describes it: checked, in SI units, not yet compiled.
//
// Every link has one joint, which joins it to its parent; the joint of the first link, the root, joins it to the world.
// Links stand in an order in which parents come before their children. In the parent's frame the joint is at `origin`;
// the link's own frame is the joint's frame, moved by the joint:
//
//     pose(link) = pose(parent) origin motion(joint position)
//
// A joint that mimics another has no coordinate of its own: position = ratio position(other) + offset.
#pragma once
#include "collide/shape.h"

typedef enum tdJointKind
{
    TD_JOINT_FIXED,
    TD_JOINT_REVOLUTE,   // about `axis`, with limits [rad]
    TD_JOINT_CONTINUOUS, // about `axis`, without limits [rad]
    TD_JOINT_PRISMATIC,  // along `axis`, with limits [m]
    TD_JOINT_BALL,       // three rotations
    TD_JOINT_FREE,       // three translations, three rotations
    TD_JOINT_KINDS
} tdJointKind;

#define TD_TREE_LINKS  4096    // most links of a body
#define TD_TREE_SHAPES 65536   // most shapes of a body
#define TD_TREE_TRIS   4000000 // most triangles of a body's shapes

typedef struct tdTreeLink
{
    const char *name;
    int line;   ///< in the file that it is from
    int parent; ///< -1: the world
    // inertia, in the link's frame
    double mass;       ///< [kg]; 0: none
    double center[3];  ///< of mass [m]
    double inertia[6]; ///< about the center of mass, axes of the link: xx, yy, zz, xy, xz, yz [kg m^2]
    // joint to the parent
    const char *joint; ///< name
    int joint_line;
    tdJointKind kind;
    tdPose origin;       ///< of the joint in the parent's frame
    double axis[3];      ///< unit vector in the joint's frame
    double lower, upper; ///< position [rad, m]; infinite: none
    double effort;       ///< most that a drive exerts [N m, N]; infinite: no limit
    double velocity;     ///< most rate [rad/s, m/s]; infinite: no limit. Kept, not enforced.
    double damping;      ///< [N m s/rad, N s/m]
    double friction;     ///< dry [N m, N]
    double armature;     ///< inertia of the motor, seen at the joint [kg m^2, kg]
    int mimic;           ///< link whose joint it follows, with a coordinate of its own; -1: none
    double ratio, offset;
    double start;      ///< position at the start, of joints with one coordinate,
    double start_rate; ///< and rate there [rad/s, m/s]
} tdTreeLink;

/// A shape that is fixed to a link: for contact, for pictures, or for both.
typedef struct tdTreeShape
{
    int link;
    int line;
    tdPose pose; ///< in the link's frame
    tdShape shape;
    bool collides, drawn;
    float colour[4];      ///< red, green, blue, opacity; negative: not given
    const char *name;     ///< NULL: none
    bool rubs;            ///< `friction` is given
    double friction;      ///< Coulomb coefficient
    bool turns;           ///< `torsion` and `rolling` are given
    double torsion;       ///< torque about the normal over the force along it [m]
    double rolling;       ///< the same about the tangents
    uint32_t type, meets; ///< of one body two shapes meet when the type of one has a bit of what the other meets; both
                          ///< zero: always
} tdTreeShape;

/// How a robot's file has a joint driven.
typedef enum tdTreeDriveKind
{
    TD_TREE_EFFORT,
    TD_TREE_POSITION, // servo
    TD_TREE_RATE      // the same
} tdTreeDriveKind;

typedef struct tdTreeDrive
{
    const char *name;
    int line;
    int link; ///< whose joint, with a coordinate of its own
    tdTreeDriveKind kind;
    double stiffness, damping; ///< of servos [N m/rad, N/m], [N m s/rad, N s/m]
    double effort[2];          ///< least, most [N m, N]; infinite: no limit
    double range[2];           ///< of targets [rad, m]; infinite: none
    double target;             ///< of a servo, as long as nothing else is said [rad, m, or a rate]; NAN: the start
} tdTreeDrive;

/// Points of a link that another one carries: a ball joint (1) or a weld (3) that closes a loop.
typedef struct tdTreeBond
{
    const char *name;
    int line;
    int link[2];
    int n_points;
    double points[9]; ///< in the frame of link[0]
} tdTreeBond;

typedef struct tdTree
{
    const char *file; ///< for messages
    int n_links, n_shapes;
    tdTreeLink *links;
    tdTreeShape *shapes; ///< by link
    int n_warnings;
    const char **warnings; ///< what was read and is not used, or looks wrong
    // what some files have besides
    bool meets_itself; ///< links meet each other, unless the scene says otherwise
    int n_drives, n_bonds, n_excluded, n_pairs;
    tdTreeDrive *drives;
    tdTreeBond *bonds;
    int (*excluded)[2]; ///< links that do not meet
    int (*pairs)[2];    ///< shapes that meet whatever else is said
} tdTree;

/// A link without mass, joint at the parent's origin, no limits, ratio 1.
tdTreeLink td_default_link(void);
/// Coordinates of a joint kind: 0, 1, 3 or 6.
int td_joint_coordinates(tdJointKind kind);
const char *td_joint_name(tdJointKind kind);
/// Checks numbers, order, mimics, that every moving part has inertia. Warnings for inertias that no body can have.
tdStatus td_tree_check(tdArena *arena, tdTree *tree, tdError *error);
/// Adds a warning; false: no memory.
bool td_tree_warn(tdArena *arena, tdTree *tree, const char *format, ...) TD_PRINTF(3, 4);
/// Inertia [kg m^2, kg] that the joint of a link with one coordinate moves, all joints at zero; with its armature.
double td_tree_moved(const tdTree *tree, int link);
/// Where a link is when all joints are at their start, in the frame that the root's joint hangs on.
tdPose td_tree_start(const tdTree *tree, int link);
/// R I R': inertia (xx, yy, zz, xy, xz, yz) in axes that R turns those of I to.
void td_inertia_turn(const double R[9], const double I[6], double out[6]);
/// sum += I + sign mass (|at|^2 1 - at at'): from the center of mass to a point `at` away, or back (sign -1).
void td_inertia_shift(double mass, const double at[3], double sign, const double I[6], double sum[6]);
/// Index by name of a link or of a joint, -1: none.
int td_tree_link(const tdTree *tree, const char *name);
int td_tree_joint(const tdTree *tree, const char *name);
