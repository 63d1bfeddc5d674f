// SPDX-License-Identifier: Apache-2.0
// What a file of a robot leaves open: masses that joints need, and starts outside of limits.
#include "body/drawing.h"
#include "scene/robot.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- masses

// Whether a link alone gives its joint something to move.
static bool is_heavy(const tdTreeLink *link)
{
    bool extended = link->inertia[0] + link->inertia[1] + link->inertia[2] > 0; // of a link that is sound
    bool turns = link->kind == TD_JOINT_BALL || link->kind == TD_JOINT_FREE;
    return turns ? extended : link->mass > 0 || extended;
}

// By link, whether it or anything that hangs on it is heavy.
static void find_heavy(const tdTree *tree, bool *heavy)
{
    for (int l = 0; l < tree->n_links; l++)
        heavy[l] = false;
    for (int l = tree->n_links - 1; l >= 0; l--)
    {
        heavy[l] = heavy[l] || is_heavy(&tree->links[l]);
        if (tree->links[l].parent >= 0 && heavy[l])
            heavy[tree->links[l].parent] = true;
    }
}

// Whether the coordinate of a link's joint moves something: what hangs on it, or on joints that follow it.
static bool moves_something(const tdTree *tree, const bool *heavy, int l)
{
    bool turns = tree->links[l].kind == TD_JOINT_BALL || tree->links[l].kind == TD_JOINT_FREE;
    bool any = heavy[l] || (!turns && tree->links[l].armature > 0);
    for (int k = 0; k < tree->n_links && !any; k++)
        any = tree->links[k].mimic == l && heavy[k];
    return any;
}

// The mass of a link by the volume of its shapes; false: they have none.
static bool weigh(const tdTree *tree, int l)
{
    tdTreeLink *link = &tree->links[l];
    bool collides = false;
    double volume = 0, center[3] = {0}, sum[6] = {0};
    for (int s = 0; s < tree->n_shapes; s++)
        collides = collides || (tree->shapes[s].link == l && tree->shapes[s].collides);
    for (int s = 0; s < tree->n_shapes; s++)
    {
        const tdTreeShape *shape = &tree->shapes[s];
        double V, c[3], I[6], turned[6], at[3];
        if (shape->link != l || (collides ? !shape->collides : !shape->drawn))
            continue;
        td_shape_mass(&shape->shape, &V, c, I);
        if (!(V > 0)) // a surface that is drawn need not be closed
            continue;
        td_inertia_turn(shape->pose.R, I, turned);
        td_place(&shape->pose, c, at);
        td_inertia_shift(V, at, 1, turned, sum);
        for (int k = 0; k < 3; k++)
            center[k] += V * at[k];
        volume += V;
    }
    if (!(volume > 0))
        return false;
    for (int k = 0; k < 3; k++)
        center[k] /= volume;
    memset(link->inertia, 0, sizeof link->inertia);
    td_inertia_shift(volume, center, -1, sum, link->inertia);
    link->mass = TD_ROBOT_DENSITY * volume;
    memcpy(link->center, center, sizeof center);
    for (int e = 0; e < 6; e++)
        link->inertia[e] *= TD_ROBOT_DENSITY;
    return true;
}

// Whether a joint at or above a link moves nothing that has a mass.
static bool lacks_mass(const tdTree *tree, const bool *heavy, int l)
{
    for (int at = l; at >= 0; at = tree->links[at].parent)
        if (td_joint_coordinates(tree->links[at].kind) > 0 && tree->links[at].mimic < 0 &&
            !moves_something(tree, heavy, at))
            return true;
    return false;
}

static void hold(tdTreeLink *link)
{
    link->kind = TD_JOINT_FIXED;
    link->lower = -INFINITY;
    link->upper = INFINITY;
    link->damping = link->friction = link->armature = 0;
    link->start = 0;
}

// ---------------------------------------------------------------- inertias

#define NO_INERTIA 1e-12 // [kg m^2] about an axis

// Whether what hangs on link l has an inertia about its joint's axis, all other joints at zero; if not, below[] says
// what hangs on it.
static bool resists(const tdTree *tree, const tdPose *pose, bool *below, int l)
{
    double axis[3], sum = tree->links[l].armature;
    td_turn(&pose[l], tree->links[l].axis, axis);
    for (int k = l; k < tree->n_links && !(sum > NO_INERTIA); k++)
    {
        const tdTreeLink *link = &tree->links[k];
        below[k] = k == l || (link->parent >= l && below[link->parent]);
        if (!below[k])
            continue;
        double I[6], at[3], away[3], along = 0;
        td_inertia_turn(pose[k].R, link->inertia, I);
        td_place(&pose[k], link->center, at);
        for (int i = 0; i < 3; i++)
        {
            away[i] = at[i] - pose[l].t[i];
            along += away[i] * axis[i];
        }
        for (int i = 0; i < 3; i++)
            sum += link->mass * (away[i] - along * axis[i]) * (away[i] - along * axis[i]);
        sum += axis[0] * axis[0] * I[0] + axis[1] * axis[1] * I[1] + axis[2] * axis[2] * I[2] +
               2 * (axis[0] * axis[1] * I[3] + axis[0] * axis[2] * I[4] + axis[1] * axis[2] * I[5]);
    }
    return sum > NO_INERTIA;
}

// A mass without an inertia gets that of its shapes or, without any, of a ball.
static void extend(const tdTree *tree, int l)
{
    tdTreeLink *link = &tree->links[l], own = *link;
    if (weigh(tree, l))
        for (int e = 0; e < 6; e++)
            link->inertia[e] *= own.mass / link->mass;
    else
    {
        double radius = cbrt(own.mass / TD_ROBOT_DENSITY * 0.75 / (4 * atan(1)));
        for (int e = 0; e < 3; e++)
            link->inertia[e] = 0.4 * own.mass * radius * radius;
    }
    link->mass = own.mass;
    memcpy(link->center, own.center, sizeof own.center);
}

// Joints whose axis goes through all that they turn, as points: nothing would resist them.
static tdStatus extend_points(tdArena *arena, tdTree *tree, tdError *error)
{
    tdPose *pose = TD_TAKE(arena, tdPose, tree->n_links);
    bool *below = TD_TAKE(arena, bool, tree->n_links);
    int extended = 0, first = 0;
    if (pose == NULL || below == NULL)
        return td_fail_memory(error, "the links");
    for (int l = 0; l < tree->n_links; l++)
    {
        const tdTreeLink *link = &tree->links[l];
        pose[l] = link->parent < 0 ? link->origin : td_pose_multiply(&pose[link->parent], &link->origin);
    }
    for (int l = 0; l < tree->n_links; l++)
    {
        tdJointKind kind = tree->links[l].kind;
        if ((kind != TD_JOINT_REVOLUTE && kind != TD_JOINT_CONTINUOUS) || tree->links[l].mimic >= 0 ||
            resists(tree, pose, below, l))
            continue;
        for (int k = l; k < tree->n_links; k++)
            if (below[k] && tree->links[k].mass > 0 &&
                !(tree->links[k].inertia[0] + tree->links[k].inertia[1] + tree->links[k].inertia[2] > 0))
            {
                first = extended++ == 0 ? k : first;
                extend(tree, k);
            }
    }
    bool good = extended == 0 ||
                td_tree_warn(arena, tree,
                             "%s: %d link%s a mass but no inertia about the axes of their joints (the first is '%s', "
                             "line %d); the inertias of their shapes with these masses are used",
                             tree->file, extended, extended == 1 ? " has" : "s have", tree->links[first].name,
                             tree->links[first].line);
    return good ? TD_OK : td_fail_memory(error, "the links");
}

tdStatus td_robot_masses(tdArena *arena, tdTree *tree, tdError *error)
{
    bool *heavy = TD_TAKE(arena, bool, tree->n_links), good = heavy != NULL;
    int weighed = 0, first = -1;
    double total = 0;
    if (heavy == NULL)
        return td_fail_memory(error, "the links");
    find_heavy(tree, heavy); // as the file has it: so whole arms without a mass get theirs, not their tips alone
    for (int l = 0; l < tree->n_links; l++)
        if (!is_heavy(&tree->links[l]) && lacks_mass(tree, heavy, l) && weigh(tree, l))
        {
            first = weighed++ == 0 ? l : first;
            total += tree->links[l].mass;
        }
    if (weighed > 0)
        good = td_tree_warn(arena, tree,
                            "%s: %d link%s that joints move (the first is '%s', line %d) %s no mass; the masses of "
                            "their shapes at %g kg/m^3 are used, %.4g kg in all. Add an <inertial> to change this",
                            tree->file, weighed, weighed == 1 ? "" : "s", tree->links[first].name,
                            tree->links[first].line, weighed == 1 ? "has" : "have", TD_ROBOT_DENSITY, total);
    find_heavy(tree, heavy);
    for (int l = tree->n_links - 1; l >= 1 && good; l--)
    {
        tdTreeLink *link = &tree->links[l];
        if (td_joint_coordinates(link->kind) == 0 || link->mimic >= 0 || moves_something(tree, heavy, l))
            continue;
        good = td_tree_warn(arena, tree,
                            "%s:%d: joint '%s' moves nothing that has a mass or a shape, so it is fixed; give link "
                            "'%s' an <inertial> to have it move",
                            tree->file, link->joint_line, link->joint, link->name);
        hold(link);
        for (int k = 0; k < tree->n_links; k++) // weightless too
            if (tree->links[k].mimic == l)
            {
                tree->links[k].mimic = -1;
                tree->links[k].ratio = 1;
                tree->links[k].offset = 0;
                hold(&tree->links[k]);
            }
    }
    return good ? extend_points(arena, tree, error) : td_fail_memory(error, "the links");
}

// ---------------------------------------------------------------- starts

// The interval in which a joint may start: its own limits, and those of the joints that follow it.
static void allowed(const tdTree *tree, int l, double *lower, double *upper)
{
    *lower = tree->links[l].lower;
    *upper = tree->links[l].upper;
    for (int k = 0; k < tree->n_links; k++)
    {
        const tdTreeLink *link = &tree->links[k];
        if (link->mimic != l)
            continue;
        double a = (link->lower - link->offset) / link->ratio, b = (link->upper - link->offset) / link->ratio;
        *lower = fmax(*lower, fmin(a, b));
        *upper = fmin(*upper, fmax(a, b));
    }
}

tdStatus td_robot_starts(tdArena *arena, tdTree *tree, const bool *given, tdError *error)
{
    for (int l = 1; l < tree->n_links; l++)
    {
        tdTreeLink *link = &tree->links[l];
        double lower, upper;
        if (td_joint_coordinates(link->kind) != 1 || link->mimic >= 0 || given[l])
            continue;
        allowed(tree, l, &lower, &upper);
        // Where no start is within all limits the joints contradict each other, which the caller's check says.
        if (!(lower <= upper) || (link->start >= lower && link->start <= upper))
            continue;
        double start = fmin(fmax(link->start, lower), upper);
        const char *unit = link->kind == TD_JOINT_PRISMATIC ? "m" : "rad";
        if (!td_tree_warn(
                arena, tree,
                "%s:%d: joint '%s' would start at %g %s, but its limits are %g and %g %s; it starts at %g %s. "
                "'joints: [{name: %s, position: ...}]' sets another start",
                tree->file, link->joint_line, link->joint, link->start, unit, lower, upper, unit, start, unit,
                link->joint))
            return td_fail_memory(error, "the links");
        link->start = start;
    }
    return TD_OK;
}
