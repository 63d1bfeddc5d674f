// SPDX-License-Identifier: Apache-2.0
// What the files of collision share: the compiled world, the state, and the way a contact gets into a list.
#pragma once
#include "collide/collide.h"
#include "collide/skin.h"

#define TD_FEATURE_BITS 28
#define TD_FEATURE_MOST ((1U << TD_FEATURE_BITS) - 1)
#define TD_SKIN_POINTS  (1 << 27) // names: nodes of a surface have 27 bits, its points the other half
#define TD_RIM_POINTS   16        // points on a rim of a cylinder that meet surfaces

/// Corners and edges of a convex shape, in its own frame, that may meet the triangles and edges of a surface.
typedef struct tdFeatures
{
    double point_radius, edge_radius; ///< around its points and edges
    int n_points, n_edges;
    double *points;  ///< 3 each
    int32_t *cone;   ///< n_points + 1: where the unit ways into the shape from a point start
    double *ways;    ///< 3 each; a point has none: it is round
    double *edges;   ///< 6 each: its ends
    double *normals; ///< 6 each: unit normals left and right of it; zero: it is round
} tdFeatures;

typedef struct tdCollider
{
    const char *name;
    tdColliderKind kind;
    int32_t body, link, frame, field;
    uint32_t group, mask;
    bool within_body, self;
    double self_gap, depth;
    tdShape shape;       ///< rigid
    tdPose pose;         ///< of the shape in its frame
    tdSkin *skin;        ///< soft, or a rigid mesh; else NULL
    int64_t n_nodes;     ///< of the field
    const tdHull *hull;  ///< of a box or a hull
    tdFeatures features; ///< of a convex shape
} tdCollider;

struct tdCollideWorld
{
    tdArena arena;
    int n;
    tdCollider *colliders;
    uint8_t *meets; ///< n x n bits, row by row
    double margin, sharp;
};

/// A collider where it is now.
typedef struct tdPlaced
{
    tdPose frame, pose; ///< of its link, of its shape
    double twist[6];
    double box[6];     ///< grown by half of what contacts reach, and swept
    double deepest;    ///< penetration of its contacts in the last step [m]
    double fastest;    ///< most way of one of its points within the step [m]
    double reach;      ///< how far from its surface contacts may be: margin or depth
    double *x;         ///< skin: positions of vertices and points
    double *x_end;     ///< at the end of the step; NULL: velocities are not known
    double *sweep;     ///< room for x_end
    double *normal;    ///< skin that meets itself: normals of vertices and points, not scaled
    tdBox *boxes;      ///< skin
    tdBox *facing;     ///< skin that meets itself: box of the normals of each node of the tree
    double bare[6];    ///< skin: box of its vertices
    double grown;      ///< reach that the boxes of the tree were grown for; 0: never fitted
    bool still;        ///< rigid, and where it was in the last step
    bool same;         ///< and will meet whatever has not moved either as it did in the last call
    double same_reach; ///< `reach` of that call
    bool fitted;       ///< its tree is needed in this step
} tdPlaced;

typedef struct tdCandidate
{
    int32_t vert, tri;
    int32_t region;
    double square, w[3];
} tdCandidate;

typedef struct tdKey
{
    uint64_t key;
    int64_t at;
} tdKey;

/// Lists of one piece of work.
typedef struct tdPiece
{
    tdContact *contacts;
    int64_t n, room;
    tdCandidate *candidates;
    int64_t n_candidates, candidate_room;
    tdKey *keys; ///< room to sort
    int64_t key_room;
    int64_t looked_at;
    bool failed; ///< out of memory
} tdPiece;

typedef struct tdPair
{
    int32_t a, b;
} tdPair;

struct tdCollideState
{
    tdArena arena;
    tdTasks *tasks;
    const tdCollideWorld *world;
    const tdCollideInput *input;
    tdPlaced *placed;
    int32_t *order;  ///< colliders by the lower end of their boxes
    int32_t *active; ///< of the sweep
    tdPair *pairs;
    int64_t n_pairs, pair_room;
    int64_t *piece_first; ///< pairs of each piece
    int n_pieces;
    tdPiece *pieces;
    bool known;  ///< there was a step before this one
    bool listed; ///< contacts, places and the next two are of one call, the last one
    double h, slide;
    tdContact *contacts, *last;
    int64_t n_contacts, contact_room, n_last, last_room;
    int32_t *bad; ///< by collider, the first vertex that is not finite
    tdCollideReport report;
};

/// A contact on its way into the list, from side 0 to side 1. VERTEX_A stands for a vertex of side 0.
typedef struct tdMeet
{
    tdContactKind kind;
    uint32_t name[2]; ///< 28 bits each
    double phi, n[3];
    double p[2][3];     ///< points of the sides
    tdContactSide s[2]; ///< collider, feature; nodes and weights of soft sides
} tdMeet;

#define TD_PIECES 32

/// What a narrow phase works with.
typedef struct tdNarrow
{
    const tdCollideWorld *world;
    const tdCollideState *state;
    tdPiece *piece;
    double sweep; ///< most approach of the pair at hand within the step [m]
} tdNarrow;

/// Adds the contact if it is within the margin (grown by the approach of its points).
void td_meet_add(tdNarrow *narrow, tdMeet *meet);

#define TD_PATCH_POINTS 8 // most contacts of a flat patch of two convex shapes

/// Corner of a patch of contact.
typedef struct tdSpot
{
    uint32_t name[2];
    double phi, q[3];
} tdSpot;

/// Of many corners keeps those farthest out in eight directions, which turn with the body at `pose`, and the lowest
/// where it is lower than those by more than `slack`. Returns how many are left; their order stays.
int td_spread_out(tdSpot *spots, int n, const tdPose *pose, const double normal[3], double slack);

/// Both convex; plane, sphere, capsule, box, cylinder, hull. a < b.
void td_meet_convex(tdNarrow *narrow, int32_t a, int32_t b);
/// Box, cylinder or hull against another such (manifold.c).
void td_meet_faces(tdNarrow *narrow, int32_t a, int32_t b);
/// Surface `skin` against the convex collider.
void td_meet_skin_convex(tdNarrow *narrow, int32_t skin, int32_t convex);
/// Two surfaces, or one with itself.
void td_meet_skins(tdNarrow *narrow, int32_t a, int32_t b);

/// Side of a surface: the triangle with weights, an edge, a vertex. Sets nodes of a soft one.
void td_side_of_triangle(const tdNarrow *narrow, int32_t collider, int32_t tri, const double w[3], tdContactSide *side);
void td_side_of_edge(const tdNarrow *narrow, int32_t collider, int32_t edge, double t, tdContactSide *side);
void td_side_of_vertex(const tdNarrow *narrow, int32_t collider, int32_t vert, tdContactSide *side);

/// Features of a convex shape for surfaces; false when memory runs out.
bool td_features_make(tdArena *arena, const tdShape *shape, const tdHull *hull, double sharp, tdFeatures *out);

/// Whether the unit direction d lies between the unit normals left and right of an edge along t, give or take 10
/// degrees; beyond them it becomes the nearer of the two.
bool td_within_arc(const double left[3], const double right[3], const double t[3], double d[3]);

/// Pairs of colliders whose boxes overlap and that may meet, sorted. False when memory runs out.
bool td_broad_phase(tdCollideState *state);

static inline bool td_may_meet(const tdCollideWorld *world, int32_t a, int32_t b)
{
    int64_t bit = (int64_t)a * world->n + b;
    return (world->meets[bit >> 3] >> (bit & 7)) & 1;
}

static inline uint64_t td_contact_key(tdContactKind kind, uint32_t a, uint32_t b)
{
    return (uint64_t)kind << (2 * TD_FEATURE_BITS) | (uint64_t)(a & TD_FEATURE_MOST) << TD_FEATURE_BITS |
           (b & TD_FEATURE_MOST);
}
