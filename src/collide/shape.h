// SPDX-License-Identifier: Apache-2.0
// Shapes of rigid links for contact, in their own frame, and their signed distance.
//
// A shape occupies the points with phi(x) <= 0; phi is the distance to its surface, negative inside, and its
// gradient is the unit normal outwards. Of convex shapes phi is convex, inside as well as outside.
//
//   plane      half-space z <= 0, normal +z
//   sphere     |x| <= radius
//   capsule    within radius of the segment from -half[2] to +half[2] on the z axis
//   box        |x_i| <= half[i]
//   cylinder   axis z: x^2 + y^2 <= radius^2, |z| <= half[2]
//   hull       convex hull of points
//   mesh       closed triangle surface with normals outwards, not necessarily convex
#pragma once
#include "base/memory.h"
#include "base/status.h"

typedef enum tdShapeType
{
    TD_SHAPE_PLANE,
    TD_SHAPE_SPHERE,
    TD_SHAPE_CAPSULE,
    TD_SHAPE_BOX,
    TD_SHAPE_CYLINDER,
    TD_SHAPE_HULL,
    TD_SHAPE_MESH,
    TD_SHAPE_TYPES
} tdShapeType;

/// Rotation and translation: x = R X + t takes a point from the local frame to the outer one.
typedef struct tdPose
{
    double R[9]; ///< rows
    double t[3];
} tdPose;

#define TD_HULL_POINTS 4096 // most corners of a convex hull
#define TD_HULL_INPUT  4000000

/// Convex polytope: corners, polygons with normals outwards, edges. Made by td_shape_hull().
typedef struct tdHull
{
    int n_points, n_faces, n_edges;
    double *x;        ///< 3 * n_points
    double *plane;    ///< 4 * n_faces: unit normal and offset, n . x <= d inside
    int32_t *first;   ///< n_faces + 1: where the corners of a face start
    int32_t *corner;  ///< corners, counter-clockwise seen from outside
    int32_t *edge;    ///< 4 * n_edges: two corners a < b, then the faces left and right of a -> b
    int32_t *ring;    ///< n_points + 1: where the neighbours of a corner start
    int32_t *near_to; ///< neighbours of corners, for hill climbing
    double center[3]; ///< mean of the corners, strictly inside
} tdHull;

/// Triangles with their nodes. Made by td_shape_mesh().
typedef struct tdTriMesh
{
    int64_t n_nodes, n_tris;
    double *x;     ///< 3 * n_nodes
    int32_t *tris; ///< 3 * n_tris
} tdTriMesh;

/// A shape; sizes in metres. What a type does not use is zero.
typedef struct tdShape
{
    tdShapeType type;
    double radius;         ///< sphere, capsule, cylinder
    double half[3];        ///< box; capsule and cylinder: half[2], half of the length along the axis
    const tdHull *hull;    ///< of the arena it was made in
    const tdTriMesh *mesh; ///< the same
} tdShape;

// ---------------------------------------------------------------- making shapes

static inline tdShape td_shape_plane(void)
{
    return (tdShape){.type = TD_SHAPE_PLANE};
}

static inline tdShape td_shape_sphere(double radius)
{
    return (tdShape){.type = TD_SHAPE_SPHERE, .radius = radius};
}

/// `length` of the segment, without the caps.
static inline tdShape td_shape_capsule(double radius, double length)
{
    return (tdShape){.type = TD_SHAPE_CAPSULE, .radius = radius, .half = {0, 0, 0.5 * length}};
}

/// Full lengths of the sides.
static inline tdShape td_shape_box(double x, double y, double z)
{
    return (tdShape){.type = TD_SHAPE_BOX, .half = {0.5 * x, 0.5 * y, 0.5 * z}};
}

static inline tdShape td_shape_cylinder(double radius, double length)
{
    return (tdShape){.type = TD_SHAPE_CYLINDER, .radius = radius, .half = {0, 0, 0.5 * length}};
}

/// Convex hull of n points. Fails, saying so, when they lie in a plane (to 1e-6 of their extent), when a number is not
/// finite, or when the hull has more than TD_HULL_POINTS corners. Points within 1e-9 of the extent are one.
tdStatus td_shape_hull(tdArena *arena, int64_t n, const double *x, tdShape *out, tdError *error);

/// Copies a triangle surface. Its numbers are checked here; how good a surface it is, by td_collide_world().
tdStatus td_shape_mesh(tdArena *arena, int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris,
                       tdShape *out, tdError *error);

/// Sizes finite and positive, hull or mesh present. `field` names the shape in the message; may be NULL.
tdStatus td_shape_check(const tdShape *shape, const char *field, tdError *error);

const char *td_shape_name(tdShapeType type); ///< "plane", "sphere", ...

// ---------------------------------------------------------------- geometry, all types but the mesh

/// Signed distance of x (local frame) and unit normal. Where the nearest point is not unique (axis of a cylinder,
/// centre of a sphere) one is chosen, always the same. `facing` (may be NULL) is the outward normal of the surface that
/// x belongs to: inside of a box, cylinder or hull, faces that look the same way as it does are passed over, so that a
/// corner that dips in beside an edge is not pushed out along the edge's other face.
double td_shape_distance(const tdShape *shape, const double x[3], const double *facing, double normal[3]);

/// Point of the shape farthest along d (any length but zero). Not for planes.
void td_shape_support(const tdShape *shape, const double d[3], double out[3]);

/// Bounding box {min, max} in the outer frame; infinite for planes. Meshes too.
void td_shape_bounds(const tdShape *shape, const tdPose *pose, double box[6]);

// ---------------------------------------------------------------- poses

static inline tdPose td_pose_identity(void)
{
    return (tdPose){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
}

/// out = R X
static inline void td_turn(const tdPose *pose, const double X[3], double out[3])
{
    const double *R = pose->R;
    double x = X[0], y = X[1], z = X[2];
    for (int i = 0; i < 3; i++)
        out[i] = R[3 * i] * x + R[3 * i + 1] * y + R[3 * i + 2] * z;
}

/// out = R' x
static inline void td_turn_back(const tdPose *pose, const double x[3], double out[3])
{
    const double *R = pose->R;
    double a = x[0], b = x[1], c = x[2];
    for (int i = 0; i < 3; i++)
        out[i] = R[i] * a + R[3 + i] * b + R[6 + i] * c;
}

/// out = R X + t
static inline void td_place(const tdPose *pose, const double X[3], double out[3])
{
    td_turn(pose, X, out);
    for (int i = 0; i < 3; i++)
        out[i] += pose->t[i];
}

/// out = R' (x - t)
static inline void td_place_back(const tdPose *pose, const double x[3], double out[3])
{
    double d[3] = {x[0] - pose->t[0], x[1] - pose->t[1], x[2] - pose->t[2]};
    td_turn_back(pose, d, out);
}

/// a after b: x = a(b(X))
static inline tdPose td_pose_multiply(const tdPose *a, const tdPose *b)
{
    tdPose out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out.R[3 * i + j] = a->R[3 * i] * b->R[j] + a->R[3 * i + 1] * b->R[3 + j] + a->R[3 * i + 2] * b->R[6 + j];
    td_place(a, b->t, out.t);
    return out;
}
