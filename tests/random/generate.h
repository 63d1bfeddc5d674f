// SPDX-License-Identifier: Apache-2.0
// What the parts of the generator tell each other while a scene is made.
#pragma once
#include "scene.h"

typedef enum madeKind
{
    MADE_BLOCK,     ///< of tetrahedra or hexahedra, with the groups of its sides
    MADE_QUADRATIC, ///< block of quadratic tetrahedra, from a file
    MADE_TORUS,
    MADE_PLANE,   ///< rectangle of triangles
    MADE_REDUCED, ///< block that modes stand for
    MADE_RIGID,
    MADE_ARTICULATED,
    MADE_FIXED ///< does not move: floor, obstacle
} madeKind;

#define MADE_JOINTS 6
#define MADE_BODIES 8

typedef struct madeBody
{
    madeKind kind;
    int piece;
    char name[16];
    double size[3];    ///< of its box, at rest, in its own axes
    double low[3];     ///< smallest corner of that box in its own axes
    double R[9], t[3]; ///< own axes to the world
    double young;      ///< about; of soft bodies [Pa]
    bool held;         ///< something holds its side xmin (soft), or its base
    bool end_taken;    ///< its side xmax is driven or welded
    int joints;
    bool slides[MADE_JOINTS];
    double range[MADE_JOINTS]; ///< how far each goes from the start
    double inertia;            ///< about, at its first joint, or mass where it slides
} madeBody;

typedef struct sceneMaking
{
    uint64_t seed;
    randomScene *scene;
    const char *method;
    bool newton, contact, supports; ///< supports: every body must be held (static)
    double size;                    ///< of bodies, about [m]
    double speed;                   ///< [m/s]
    double gravity[3];
    double top; ///< height at which the next body goes
    int inputs;
    int n;
    madeBody bodies[MADE_BODIES];
} sceneMaking;

/// A point of the box of a body, by shares of its sides, in the world.
void made_point(const madeBody *body, double x, double y, double z, double out[3]);

// generate_body.c
void make_soft(sceneMaking *making);
void make_plane(sceneMaking *making);
void make_reduced(sceneMaking *making);
void make_rigid(sceneMaking *making);
void make_fixed(sceneMaking *making, bool floor);

// generate_robot.c
void make_articulated(sceneMaking *making);
void make_joint_actuators(sceneMaking *making, const madeBody *body);
void make_joint_coupling(sceneMaking *making, const madeBody *body);

// generate_drive.c
void make_loads(sceneMaking *making, madeBody *body);
void make_actuators(sceneMaking *making, madeBody *body);
void make_attachments(sceneMaking *making);
/// A motion of the input of a piece: from `start`, between 0 and `most` at the keyframes.
void make_motion(sceneMaking *making, int owner, const char *name, const char *tag, double start, double most);

// generate.c
/// Chooses where a body of this box goes, and writes its transform.
madeBody *made_body(sceneMaking *making, madeKind kind, const char *name, const double low[3], const double size[3],
                    bool turn);
/// "transform: {...}" of it.
char *made_transform(const madeBody *body, const double angles[3]);
