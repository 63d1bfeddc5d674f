// SPDX-License-Identifier: Apache-2.0
// Contact points between rigid shapes and soft surfaces: broad phase, narrow phase, names from step to step.
//
// A world of colliders is compiled once and never changes; a state holds what a step changes. A collider is a rigid
// shape on a frame (a link, or the world) or a surface of triangles over an array of positions (nodes of a soft body,
// or points of a reduced one).
//
// A contact joins a material point p_A of side A to one p_B of side B, A the collider with the lower number:
//
//   normal n    unit, from A to B: B is pushed along +n, A along -n
//   phi         signed distance, phi = n . (p_B - p_A); negative is penetration
//   d phi/dt    n . (v_B - v_A) of the two material points
//
// A contact exists while phi <= margin, so before bodies touch. Two bodies that approach each other slower than
// margin / h cannot pass through each other unseen; with velocities in the input the margin grows for each point by
// its speed of approach times h, and no such limit is left (for motion that is straight within the step).
#pragma once
#include "base/task.h"
#include "collide/shape.h"

#define TD_COLLIDERS 8192 // most of a world

typedef enum tdColliderKind
{
    TD_COLLIDER_RIGID,
    TD_COLLIDER_SOFT
} tdColliderKind;

/// One collider, as the caller describes it. Start from td_default_collider(). All arrays are copied.
typedef struct tdColliderDef
{
    const char *name; ///< for messages; may be NULL
    const char *file; ///< the same: where it is from; may be NULL
    int line;
    tdColliderKind kind;
    int32_t body;   ///< colliders of one body meet each other only if `within_body`
    int32_t link;   ///< those of one body and link never do
    uint32_t group; ///< bits: what it is
    uint32_t mask;  ///< bits: what it meets. Two meet when each mask has a bit of the other's group.
    bool within_body;

    // rigid
    tdShape shape;
    tdPose pose;   ///< of the shape in its frame
    int32_t frame; ///< which of the input's poses; -1: fixed in the world

    // soft
    int32_t field;       ///< which of the input's arrays of positions
    int64_t n_nodes;     ///< in that array
    const double *rest;  ///< 3 * n_nodes, at rest
    int64_t n_tris;      ///< of the surface
    const int32_t *tris; ///< 3 * n_tris, normals outwards
    bool inward;         ///< it is the wall of a void, into which its normals point
    bool self;           ///< the surface meets itself
    double self_gap;     ///< parts nearer than this at rest never meet each other [m]; 0: two edges, or margins
    int points;          ///< n: n x n points of each triangle touch besides vertices
    double depth;        ///< deeper than this a vertex or corner does not find this surface [m]; 0: half an edge
} tdColliderDef;

tdColliderDef td_default_collider(tdColliderKind kind);

/// Two colliders that never meet, e.g. of neighbouring links.
typedef struct tdColliderPair
{
    int32_t a, b;
} tdColliderPair;

typedef struct tdCollideDef
{
    int n_colliders;
    const tdColliderDef *colliders;
    int64_t n_excluded;
    const tdColliderPair *excluded;
    double margin; ///< contacts exist while phi <= margin [m], > 0
    double sharp;  ///< edges that bend more than this are sharp and meet other edges [rad]; 0: 20 degrees
} tdCollideDef;

typedef struct tdCollideWorld tdCollideWorld;
typedef struct tdCollideState tdCollideState;

/// Compiles. Errors name the collider and the triangle, edge or node: numbers out of range or not finite, edges of
/// more than two triangles, triangles that disagree about the outside. Warnings go to the settings' log: triangles
/// without area, open edges, surfaces that cut themselves.
tdStatus td_collide_world(const tdCollideDef *def, const tdSettings *settings, tdCollideWorld **out, tdError *error);
void td_collide_world_free(tdCollideWorld *world);
double td_collide_margin(const tdCollideWorld *world);
int td_collide_colliders(const tdCollideWorld *world);
/// Whether two of them may meet; one with itself: a surface that meets itself.
bool td_collide_may_meet(const tdCollideWorld *world, int a, int b);
/// Shape of a rigid collider, and its pose in its frame. False: it is soft.
bool td_collide_rigid(const tdCollideWorld *world, int collider, tdShape *shape, tdPose *pose);
/// Surface of a soft collider, and how deep a corner of a shape finds it [m].
const struct tdSkin *td_collide_skin(const tdCollideWorld *world, int collider, double *depth);

/// tasks may be NULL and must outlive the state.
tdStatus td_collide_state(const tdCollideWorld *world, tdTasks *tasks, tdCollideState **out, tdError *error);
void td_collide_state_free(tdCollideState *state);

/// Where everything is. Arrays are indexed by the colliders' `field` and `frame`.
typedef struct tdCollideInput
{
    const double *const *x;    ///< positions of each field
    const tdPose *poses;       ///< of each frame
    double h;                  ///< time step, for the velocities
    const double *const *v;    ///< velocities of each field; NULL: none, and h is not used
    const double (*twists)[6]; ///< of each frame: velocity of its origin, angular velocity; NULL with v == NULL
    double slide;              ///< the margin of a point grows by this times the way it slides in the step
} tdCollideInput;

/// Material point of one side.
typedef struct tdContactSide
{
    int32_t collider;
    int32_t feature;  ///< vertex, edge, triangle or face it lies on; see tdContact.kind
    int32_t n;        ///< nodes of a soft side, 1 to 3; 0: rigid
    int32_t node[3];  ///< soft: nodes of the field
    double weight[3]; ///< soft: their weights, >= 0, sum 1
    double local[3];  ///< rigid: the point in the collider's frame (the link's, not the shape's)
} tdContactSide;

/// What meets what. "vertex" is a corner of a polytope or surface, a point of a rim, or the centre of a ball.
typedef enum tdContactKind
{
    TD_CONTACT_VERTEX_A = 1, ///< vertex of A on the surface of B
    TD_CONTACT_VERTEX_B,     ///< vertex of B on the surface of A
    TD_CONTACT_EDGES,        ///< edge on edge
    TD_CONTACT_CLIPPED,      ///< corner of the common polygon of two faces
    TD_CONTACT_NEAREST       ///< nearest or deepest points of two convex shapes
} tdContactKind;

typedef struct tdContact
{
    uint64_t key;     ///< its name within its pair of colliders, the same from step to step
    int32_t previous; ///< the same contact in the last step's list, or -1
    tdContactKind kind;
    double phi;         ///< [m]
    double normal[3];   ///< from A to B
    double position[3]; ///< halfway between the two points
    tdContactSide a, b;
} tdContact;

typedef struct tdCollideReport
{
    int64_t pairs;                   ///< of colliders whose boxes overlap
    int64_t candidates;              ///< feature pairs looked at
    int64_t contacts;                ///< found
    int64_t deepest;                 ///< contact with the least phi; -1: none
    double bounds, near_phase, sort; ///< time of the stages [s]
} tdCollideReport;

/// Finds all contacts. They are sorted by (a.collider, b.collider, key) and do not depend on the number of threads.
/// Allocates only when there are more contacts than ever before. Fails on positions or poses that are not finite,
/// naming the collider and the node, and when memory runs out; the contacts of the last good call are then kept.
tdStatus td_collide(const tdCollideWorld *world, tdCollideState *state, const tdCollideInput *input, tdError *error);

/// What a step knows of the last one, so that it can be repeated: by collider how deep it was met [m], which says how
/// far to look next time; -1 in the first place: nothing yet.
void td_collide_depths(const tdCollideState *state, double *depths);
void td_collide_set_depths(tdCollideState *state, const double *depths);

/// Boxes {min, max} of a collider where the last call had it, and at other positions and poses (a field of NULL: where
/// its velocities would have brought it).
void td_collide_boxes(const tdCollideState *state, int collider, const double *const *x, const tdPose *poses,
                      double start[6], double end[6]);

/// The contacts of the last call; valid until the next.
const tdContact *td_collide_contacts(const tdCollideState *state, int64_t *n);
const tdCollideReport *td_collide_report(const tdCollideState *state);
