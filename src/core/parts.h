// SPDX-License-Identifier: Apache-2.0
// What a body consists of, as others ask for it: rigid parts (links) with shapes and joints, or shapes that coordinates
// are the amplitudes of. Made with the model; a kind of body that has neither moves node by node.
#pragma once
#include "collide/shape.h"

struct tdSoft;

/// A joint with one coordinate: position = ratio q[coord] + offset.
typedef struct tdBodyJoint
{
    int part; ///< that it carries
    const char *name;
    bool slides; ///< [m]; else it turns [rad]
    int32_t coord;
    double ratio, offset;
    double start; ///< position at the start
} tdBodyJoint;

/// A shape of a part that collides.
typedef struct tdBodyShape
{
    int part;
    const tdShape *shape;
    tdPose pose;      ///< in the part's frame
    const char *file; ///< where it is from, for messages
    int line;
    bool rubs; ///< `friction` is its own, else it is that of the body
    double friction;
    bool turns; ///< `torsion` and `rolling` are its own
    double torsion, rolling;
    uint32_t type, meets; ///< two of one body meet when the type of one has a bit of what the other meets; both zero of
                          ///< either: always
} tdBodyShape;

/// Triangles of a body's surface that are of one part and one colour; a plane is always one of its own.
typedef struct tdBodyDrawing
{
    int part;
    int64_t triangle, triangles; ///< first of the surface, how many
    bool plane, coloured;
    float colour[4]; ///< where it is coloured: red, green, blue, opacity
} tdBodyDrawing;

typedef struct tdBodyParts
{
    int n;
    const char **names;
    tdPose *start;    ///< where they are at the start
    int32_t *parent;  ///< part that the joint of each hangs on; -1: the world. Parents come first
    int32_t *piece;   ///< parts that nothing moves against each other have the same; -1: that of the world
    int32_t *hangs;   ///< the piece that the joint of the part's piece hangs on; -1: the world
    bool *light;      ///< by piece: it has no mass
    int64_t frames;   ///< nodes [0, frames) stand for axes of parts, not for corners of shapes
    int32_t *of_node; ///< by node
    int n_joints, n_shapes, n_drawings;
    tdBodyJoint *joints;
    tdBodyShape *shapes;
    int n_excluded, n_pairs;
    int (*excluded)[2];      ///< parts that do not meet
    int (*pairs)[2];         ///< shapes that meet whatever else is said of parts of one body
    tdBodyDrawing *drawings; ///< triangles that belong to none are not drawn
} tdBodyParts;

/// Nodes at rest + basis q[0 .. n), carried by a frame of the body where it is `framed` (tdBodyOps.frame).
typedef struct tdBodyModes
{
    int n;           ///< coordinates: `free` ones, then those whose motion is given
    int free, given; ///< n = free + given
    int stride;
    const double *basis; ///< 3 rows of `stride` a node
    bool framed;
    const struct tdSoft *domain; ///< blocks of the elements that stand for all
    int64_t domain_elements;
    const double *low, *high; ///< free: range of each amplitude in training; NULL: not known
} tdBodyModes;

/// Row i of the basis times amplitudes.
static inline double td_modes_along(const tdBodyModes *modes, int64_t i, const double *q)
{
    const double *row = modes->basis + i * modes->stride;
    double sum = 0;
    for (int j = 0; j < modes->n; j++)
        sum += row[j] * q[j];
    return sum;
}

/// Joint that carries a part; NULL: it has none with one coordinate.
static inline const tdBodyJoint *td_parts_joint(const tdBodyParts *parts, int part)
{
    for (int k = 0; k < parts->n_joints; k++)
        if (parts->joints[k].part == part)
            return &parts->joints[k];
    return NULL;
}
