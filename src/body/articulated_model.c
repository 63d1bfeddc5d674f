// SPDX-License-Identifier: Apache-2.0
// From a tree of links to the tables of an articulated body.
#include "base/vector.h"
#include "body/articulated.h"
#include "core/rotation.h"

#include <math.h>
#include <string.h>

// A limit acts like a spring of this frequency with the joint's inertia at the start, critically damped, or stiffer,
// so that a joint's own drive does not press it in farther than `GIVE`.
#define LIMIT_FREQUENCY  314.0   // [rad/s], 50 Hz
#define LIMIT_FASTEST    12566.0 // [rad/s], 2 kHz
#define LIMIT_GIVE_TURN  1e-3    // [rad]
#define LIMIT_GIVE_SLIDE 1e-4    // [m]
#define FRICTION_SLIP    1e-3    // [rad/s, m/s]

static bool slides(tdJointKind kind)
{
    return kind == TD_JOINT_PRISMATIC;
}

// ---------------------------------------------------------------- links

static void count(const tdTree *tree, tdArticulated *body)
{
    body->n_links = tree->n_links;
    for (int l = 0; l < tree->n_links; l++)
    {
        int columns = td_joint_coordinates(tree->links[l].kind);
        body->n_columns += columns;
        body->n += tree->links[l].mimic < 0 ? columns : 0;
        body->n_balls += columns >= 3;
        body->n_limits += columns == 1 && (isfinite(tree->links[l].lower) || isfinite(tree->links[l].upper));
        body->n_frictions += columns > 0 && columns < 6 && tree->links[l].friction > 0 ? columns : 0;
    }
}

// The way from each column to the root, column by column.
static void fill_columns(tdArticulated *body)
{
    for (int l = 0; l < body->n_links; l++)
    {
        const tdLink *link = &body->links[l];
        int carrier = link->parent;
        while (carrier >= 0 && body->links[carrier].columns == 0)
            carrier = body->links[carrier].parent;
        int32_t above = carrier < 0 ? -1 : body->links[carrier].column + body->links[carrier].columns - 1;
        for (int c = 0; c < link->columns; c++)
        {
            body->above[link->column + c] = above;
            body->coord_of[link->column + c] = link->coord + c;
            body->carries[link->column + c] = l;
            above = link->column + c;
        }
    }
}

static bool take(tdArena *arena, tdArticulated *body)
{
    body->links = TD_TAKE(arena, tdLink, body->n_links);
    body->link_of = TD_TAKE(arena, int32_t, body->n);
    body->start = TD_TAKE(arena, double, body->n);
    body->start_v = TD_TAKE(arena, double, body->n);
    body->above = TD_TAKE(arena, int32_t, body->n_columns);
    body->coord_of = TD_TAKE(arena, int32_t, body->n_columns);
    body->carries = TD_TAKE(arena, int32_t, body->n_columns);
    body->reference = TD_TAKE(arena, double, 4 * (int64_t)body->n_balls);
    body->damping = TD_TAKE(arena, double, body->n);
    body->limits = TD_TAKE(arena, tdJointLimit, body->n_limits);
    body->frictions = TD_TAKE(arena, tdJointFriction, body->n_frictions);
    return body->links != NULL && body->link_of != NULL && body->start != NULL && body->start_v != NULL &&
           body->above != NULL && body->coord_of != NULL && body->carries != NULL && body->reference != NULL &&
           body->damping != NULL && body->limits != NULL && body->frictions != NULL;
}

static void lay_out(const tdTree *tree, tdArticulated *body)
{
    int32_t column = 0, coord = 0, ball = 0;
    for (int l = 0; l < tree->n_links; l++)
    {
        const tdTreeLink *given = &tree->links[l];
        tdLink *link = &body->links[l];
        int columns = td_joint_coordinates(given->kind);
        *link = (tdLink){.parent = given->parent,
                         .kind = given->kind,
                         .coord = -1,
                         .column = column,
                         .columns = columns,
                         .ball = columns >= 3 ? ball++ : -1,
                         .ratio = given->mimic >= 0 ? given->ratio : 1,
                         .offset = given->mimic >= 0 ? given->offset : 0,
                         .origin = given->origin,
                         .mass = given->mass,
                         .armature = columns < 6 ? given->armature : 0};
        memcpy(link->axis, given->axis, sizeof link->axis);
        memcpy(link->center, given->center, sizeof link->center);
        memcpy(link->inertia, given->inertia, sizeof link->inertia);
        column += columns;
        if (given->mimic >= 0 || columns == 0)
            continue;
        link->coord = coord;
        for (int c = 0; c < columns; c++)
            body->link_of[coord++] = l;
    }
    for (int l = 0; l < tree->n_links; l++)
        if (tree->links[l].mimic >= 0)
            body->links[l].coord = body->links[tree->links[l].mimic].coord;
    fill_columns(body);
}

// What td_tree_kinematics() need not multiply.
static void find_short_ways(tdArticulated *body)
{
    const tdLink *root = &body->links[0];
    body->plain = body->n == body->n_columns;
    body->chain = body->plain;
    for (int p = 0; p < body->n_columns; p++)
        body->chain = body->chain && body->above[p] == p - 1;
    body->alone = body->n_links == 1 && root->kind == TD_JOINT_FREE && root->center[0] == 0 && root->center[1] == 0 &&
                  root->center[2] == 0;
    for (int l = 0; l < body->n_links; l++)
    {
        tdLink *link = &body->links[l];
        const tdLink *parent = link->parent >= 0 ? &body->links[link->parent] : NULL;
        link->tip = link->columns > 0 ? link->column + link->columns - 1 : parent != NULL ? parent->tip : -1;
        link->path = (parent != NULL ? parent->path : 0) + link->columns;
        link->straight = true;
        for (int k = 0; k < 9; k++)
            link->straight = link->straight && link->origin.R[k] == (k % 4 == 0);
        link->along = 0;
        for (int k = 0; k < 3 && link->columns == 1 && !slides(link->kind); k++)
            if (fabs(link->axis[k]) == 1 && link->axis[(k + 1) % 3] == 0 && link->axis[(k + 2) % 3] == 0)
            {
                link->along = (int8_t)(k + 1);
                link->sense = link->axis[k];
            }
    }
}

// The joint of the root: in the world. A free one has its place as coordinates, in the world's axes.
static void place_root(tdArticulated *body, const tdPose *base, const double velocity[3], const double turning[3])
{
    tdLink *root = &body->links[0];
    tdPose at = td_pose_multiply(base, &root->origin);
    for (int l = 0; l < body->n_links; l++)
        if (body->links[l].ball >= 0)
            body->reference[4 * (int64_t)body->links[l].ball] = 1;
    root->origin = at;
    if (root->kind != TD_JOINT_FREE)
        return;
    root->origin = td_pose_identity();
    memcpy(body->start + root->coord, at.t, sizeof at.t);
    td_rotation_from_matrix(at.R, body->reference + 4 * (int64_t)root->ball);
    double lever[3], along[3]; // the velocity is that of the body's own origin
    td_subtract3(at.t, base->t, lever);
    td_cross3(turning, lever, along);
    for (int c = 0; c < 3; c++)
        body->start_v[root->coord + c] = velocity[c] + along[c];
    td_turn_back(&at, turning, body->start_v + root->coord + 3); // the link's axes
}

// ---------------------------------------------------------------- joints

static void add_frictions(const tdTree *tree, tdArticulated *body)
{
    int n = 0;
    for (int l = 0; l < tree->n_links; l++)
    {
        const tdLink *link = &body->links[l];
        const tdTreeLink *given = &tree->links[l];
        if (link->columns == 0 || link->columns == 6)
            continue;
        for (int c = 0; c < link->columns; c++)
        {
            body->damping[link->coord + c] += link->ratio * link->ratio * given->damping;
            if (given->friction > 0)
                body->frictions[n++] =
                    (tdJointFriction){l, link->coord + c, link->ratio, given->friction, FRICTION_SLIP};
        }
        if (link->columns == 1 && given->mimic < 0)
        {
            body->start[link->coord] = given->start;
            body->start_v[link->coord] = given->start_rate;
        }
    }
}

// M: at the start
static void add_limits(const tdTree *tree, const double *M, tdArticulated *body)
{
    int n = 0;
    for (int l = 0; l < tree->n_links; l++)
    {
        const tdLink *link = &body->links[l];
        const tdTreeLink *given = &tree->links[l];
        if (link->columns != 1 || (!isfinite(given->lower) && !isfinite(given->upper)))
            continue;
        double inertia = M[link->coord * (int64_t)body->n + link->coord] / (link->ratio * link->ratio);
        double stiffness = inertia * LIMIT_FREQUENCY * LIMIT_FREQUENCY;
        if (isfinite(given->effort))
            stiffness = fmax(stiffness, given->effort / (slides(link->kind) ? LIMIT_GIVE_SLIDE : LIMIT_GIVE_TURN));
        stiffness = fmin(stiffness, inertia * LIMIT_FASTEST * LIMIT_FASTEST);
        body->limits[n++] = (tdJointLimit){.link = l,
                                           .coord = link->coord,
                                           .ratio = link->ratio,
                                           .offset = link->offset,
                                           .lower = given->lower,
                                           .upper = given->upper,
                                           .stiffness = stiffness,
                                           .damping = 2 * sqrt(stiffness * inertia)};
    }
}

tdStatus td_articulated_build(tdArena *arena, const tdTree *tree, const tdPose *base, const double velocity[3],
                              const double turning[3], const double gravity[3], tdArticulated *body, tdError *error)
{
    *body = (tdArticulated){.tree = tree};
    count(tree, body);
    if (!take(arena, body))
        return td_fail_memory(error, "an articulated body");
    memcpy(body->gravity, gravity, sizeof body->gravity);
    lay_out(tree, body);
    place_root(body, base, velocity, turning);
    find_short_ways(body);
    add_frictions(tree, body);
    tdArena scratch = {0};
    tdTreeWork work;
    double *M = TD_TAKE(&scratch, double, (int64_t)body->n * body->n);
    bool good = M != NULL && td_tree_work_take(&scratch, body, &work);
    if (good)
    {
        td_tree_kinematics(body, body->start, body->reference, &work);
        td_tree_mass(body, &work, M);
        add_limits(tree, M, body);
    }
    td_arena_free(&scratch);
    return good ? TD_OK : td_fail_memory(error, "an articulated body");
}
