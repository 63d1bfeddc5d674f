// SPDX-License-Identifier: Apache-2.0
#include "describe/tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LARGE 1e12 // numbers beyond this are not metres or newtons of anything
#define HEAVY 1e30 // nor these kilograms, or kilograms times square metres

tdTreeLink td_default_link(void)
{
    return (tdTreeLink){.name = "",
                        .joint = "",
                        .parent = -1,
                        .kind = TD_JOINT_FIXED,
                        .origin = td_pose_identity(),
                        .axis = {1, 0, 0},
                        .lower = -INFINITY,
                        .upper = INFINITY,
                        .effort = INFINITY,
                        .velocity = INFINITY,
                        .mimic = -1,
                        .ratio = 1};
}

int td_joint_coordinates(tdJointKind kind)
{
    static const int count[TD_JOINT_KINDS] = {0, 1, 1, 1, 3, 6};
    return count[kind];
}

const char *td_joint_name(tdJointKind kind)
{
    static const char *const names[TD_JOINT_KINDS] = {"fixed", "revolute", "continuous", "prismatic", "ball", "free"};
    return names[kind];
}

int td_tree_link(const tdTree *tree, const char *name)
{
    for (int l = 0; l < tree->n_links; l++)
        if (strcmp(tree->links[l].name, name) == 0)
            return l;
    return -1;
}

int td_tree_joint(const tdTree *tree, const char *name)
{
    for (int l = 0; l < tree->n_links; l++)
        if (strcmp(tree->links[l].joint, name) == 0)
            return l;
    return -1;
}

// Rotation about a unit axis.
static void turn_about(const double n[3], double angle, double R[9])
{
    double c = cos(angle), s = sin(angle);
    const double skew[9] = {0, -n[2], n[1], n[2], 0, -n[0], -n[1], n[0], 0};
    for (int i = 0; i < 9; i++)
        R[i] = (i % 4 == 0 ? c : 0) + (1 - c) * n[i / 3] * n[i % 3] + s * skew[i];
}

tdPose td_tree_start(const tdTree *tree, int link)
{
    tdPose out = td_pose_identity();
    for (int l = link; l >= 0; l = tree->links[l].parent)
    {
        const tdTreeLink *at = &tree->links[l];
        double x = at->mimic >= 0 ? at->ratio * tree->links[at->mimic].start + at->offset : at->start;
        tdPose motion = td_pose_identity();
        if (at->kind == TD_JOINT_REVOLUTE || at->kind == TD_JOINT_CONTINUOUS)
            turn_about(at->axis, x, motion.R);
        for (int k = 0; k < 3 && at->kind == TD_JOINT_PRISMATIC; k++)
            motion.t[k] = x * at->axis[k];
        motion = td_pose_multiply(&at->origin, &motion);
        out = td_pose_multiply(&motion, &out);
    }
    return out;
}

static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

void td_inertia_turn(const double R[9], const double I[6], double out[6])
{
    const double full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    for (int e = 0; e < 6; e++)
    {
        const double *a = R + 3 * (size_t)pairs[e][0], *b = R + 3 * (size_t)pairs[e][1];
        out[e] = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                out[e] += a[i] * full[3 * i + j] * b[j];
    }
}

void td_inertia_shift(double mass, const double at[3], double sign, const double I[6], double sum[6])
{
    double square = at[0] * at[0] + at[1] * at[1] + at[2] * at[2];
    for (int e = 0; e < 6; e++)
        sum[e] += I[e] + sign * mass * ((e < 3 ? square : 0) - at[pairs[e][0]] * at[pairs[e][1]]);
}

double td_tree_moved(const tdTree *tree, int link)
{
    const tdTreeLink *joint = &tree->links[link];
    double sum = joint->armature;
    for (int l = link; l < tree->n_links; l++)
    {
        tdPose pose = td_pose_identity(); // of l in the frame of the link
        int at = l;
        for (; at > link; at = tree->links[at].parent)
            pose = td_pose_multiply(&tree->links[at].origin, &pose);
        if (at != link)
            continue;
        double I[6], center[3], about[6] = {0};
        const double *a = joint->axis;
        td_inertia_turn(pose.R, tree->links[l].inertia, I);
        td_place(&pose, tree->links[l].center, center);
        td_inertia_shift(tree->links[l].mass, center, 1, I, about);
        sum += joint->kind == TD_JOINT_PRISMATIC
                   ? tree->links[l].mass
                   : a[0] * a[0] * about[0] + a[1] * a[1] * about[1] + a[2] * a[2] * about[2] +
                         2 * (a[0] * a[1] * about[3] + a[0] * a[2] * about[4] + a[1] * a[2] * about[5]);
    }
    return sum;
}

bool td_tree_warn(tdArena *arena, tdTree *tree, const char *format, ...)
{
    enum
    {
        MOST = 100
    };
    char text[4000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (tree->warnings == NULL)
        tree->warnings = TD_TAKE(arena, const char *, MOST);
    if (tree->warnings == NULL)
        return false;
    if (tree->n_warnings == MOST)
        return true;
    // One file may have thousands of the same kind: the last place says that there are more.
    const char *kept = tree->n_warnings == MOST - 1 ? "there are more warnings of this file; these are the first"
                                                    : td_arena_copy(arena, text);
    if (kept == NULL)
        return false;
    tree->warnings[tree->n_warnings++] = kept;
    return true;
}

// ---------------------------------------------------------------- numbers

static bool sound(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i]) <= LARGE))
            return false;
    return true;
}

static bool not_negative(double x)
{
    return x >= 0 && x <= LARGE;
}

// Of a limit, which may be missing.
static bool limit_sound(double x)
{
    return isinf(x) || fabs(x) <= LARGE;
}

static bool is_rotation(const double R[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            double sum = R[i] * R[j] + R[3 + i] * R[3 + j] + R[6 + i] * R[6 + j];
            if (!(fabs(sum - (i == j)) < 1e-9))
                return false;
        }
    return true;
}

// Eigenvalues of a symmetric 3 x 3 matrix (xx, yy, zz, xy, xz, yz), ascending; by the trigonometric formula.
static void moments(const double I[6], double e[3])
{
    double mean = (I[0] + I[1] + I[2]) / 3, off = I[3] * I[3] + I[4] * I[4] + I[5] * I[5];
    double a = I[0] - mean, b = I[1] - mean, c = I[2] - mean;
    double p = sqrt((a * a + b * b + c * c + 2 * off) / 6);
    if (!(p > 0))
    {
        e[0] = e[1] = e[2] = mean;
        return;
    }
    double det = a * (b * c - I[5] * I[5]) - I[3] * (I[3] * c - I[5] * I[4]) + I[4] * (I[3] * I[5] - b * I[4]);
    double angle = acos(fmin(fmax(0.5 * det / (p * p * p), -1), 1)) / 3, third = acos(-0.5); // of a turn
    e[2] = mean + 2 * p * cos(angle);
    e[0] = mean + 2 * p * cos(angle + third);
    e[1] = 3 * mean - e[0] - e[2];
}

static tdStatus fail(const tdTree *tree, int line, tdError *error, const char *name, const char *message)
{
    return td_fail_at(error, TD_ERROR_INPUT, tree->file, line, name, "%s", message);
}

#define ROUNDED 1e-15 // moments below, by mass, are those of nothing, rounded [m^2]
#define LEAST   1e-6  // of the largest moment: what the smallest is made where it is negative

// Moments on the diagonal are positive, but products of inertia too large for them: all are made larger by the least
// that makes it the inertia of something.
static bool mend_inertia(tdArena *arena, tdTree *tree, tdTreeLink *link, double e[3])
{
    double more = LEAST * e[2] - e[0];
    bool good = td_tree_warn(arena, tree,
                             "%s:%d: the inertia of link '%s' is not positive: its principal moments are %g, %g, %g kg "
                             "m^2; %g is added to each. Check the signs of its products ixy, ixz, iyz",
                             tree->file, link->line, link->name, e[0], e[1], e[2], more);
    for (int k = 0; k < 3; k++)
    {
        link->inertia[k] += more;
        e[k] += more;
    }
    return good;
}

static tdStatus check_inertia(tdArena *arena, tdTree *tree, tdTreeLink *link, tdError *error)
{
    if (!(link->mass >= 0 && link->mass <= HEAVY))
        return td_fail_at(error, TD_ERROR_INPUT, tree->file, link->line, link->name,
                          "the mass of link '%s' is %g kg; it must be a number from 0 to %g", link->name, link->mass,
                          HEAVY);
    bool finite = sound(link->center, 3);
    for (int k = 0; k < 6; k++)
        finite = finite && fabs(link->inertia[k]) <= HEAVY;
    if (!finite)
        return td_fail_at(error, TD_ERROR_INPUT, tree->file, link->line, link->name,
                          "the inertia of link '%s' must be numbers of at most %g kg m^2, about a center within %g m",
                          link->name, HEAVY, LARGE);
    double e[3];
    moments(link->inertia, e);
    double size = fmax(fabs(e[0]), fabs(e[2]));
    if (size < ROUNDED * (link->mass > 0 ? link->mass : 1))
    {
        memset(link->inertia, 0, sizeof link->inertia);
        size = e[0] = e[1] = e[2] = 0;
    }
    const double *I = link->inertia;
    if (e[0] < -1e-9 * size && !(I[0] >= 0 && I[1] >= 0 && I[2] >= 0))
        return td_fail_at(
            error, TD_ERROR_INPUT, tree->file, link->line, link->name,
            "the inertia of link '%s' is not positive: its principal moments are %g, %g, %g kg m^2; check "
            "the signs of ixx, iyy, izz",
            link->name, e[0], e[1], e[2]);
    if (e[0] < -1e-9 * size && !mend_inertia(arena, tree, link, e))
        return td_fail_memory(error, "the links");
    if (link->mass == 0 && size > 0 &&
        !td_tree_warn(arena, tree, "%s:%d: link '%s' has an inertia but no mass", tree->file, link->line, link->name))
        return td_fail_memory(error, "the links");
    if (e[2] > (e[0] + e[1]) * (1 + 1e-6) &&
        !td_tree_warn(arena, tree,
                      "%s:%d: no body has the inertia of link '%s': its largest moment %g kg m^2 is more than the sum "
                      "of the others, %g and %g",
                      tree->file, link->line, link->name, e[2], e[0], e[1]))
        return td_fail_memory(error, "the links");
    return TD_OK;
}

// ---------------------------------------------------------------- joints

static tdStatus check_limits(const tdTree *tree, const tdTreeLink *link, tdError *error)
{
    int line = link->joint_line;
    if (isnan(link->lower) || isnan(link->upper) || !limit_sound(link->lower) || !limit_sound(link->upper) ||
        link->lower > link->upper)
        return td_fail_at(error, TD_ERROR_INPUT, tree->file, line, link->joint,
                          "the limits of joint '%s' are %g to %g; the lower limit must not be above the upper one",
                          link->joint, link->lower, link->upper);
    if (!(link->effort >= 0) || !(link->velocity >= 0))
        return fail(tree, line, error, link->joint, "limits of effort and velocity must not be negative");
    if (!not_negative(link->damping) || !not_negative(link->friction) || !not_negative(link->armature))
        return fail(tree, line, error, link->joint, "damping, friction and armature must not be negative");
    if (!sound(&link->ratio, 1) || !sound(&link->offset, 1) || !sound(&link->start, 1))
        return fail(tree, line, error, link->joint, "a number of the joint is not finite");
    return TD_OK;
}

static tdStatus check_joint(const tdTree *tree, int index, tdError *error)
{
    const tdTreeLink *link = &tree->links[index];
    int line = link->joint_line;
    if (!sound(link->origin.t, 3) || !sound(link->origin.R, 9) || !is_rotation(link->origin.R))
        return fail(tree, line, error, link->joint, "the origin of the joint is not a finite place and rotation");
    double length = sqrt(link->axis[0] * link->axis[0] + link->axis[1] * link->axis[1] + link->axis[2] * link->axis[2]);
    if (td_joint_coordinates(link->kind) == 1 && !(fabs(length - 1) < 1e-9))
        return fail(tree, line, error, link->joint, "the axis of the joint has no direction");
    TD_TRY(check_limits(tree, link, error));
    if (link->mimic < 0)
        return TD_OK;
    const tdTreeLink *other = link->mimic < tree->n_links ? &tree->links[link->mimic] : NULL;
    if (other == NULL || link->mimic == index || other->mimic >= 0 || td_joint_coordinates(link->kind) != 1 ||
        td_joint_coordinates(other->kind) != 1)
        return fail(tree, line, error, link->joint,
                    "a joint can mimic another one only when both are revolute, continuous or prismatic");
    if (link->ratio == 0)
        return fail(tree, line, error, link->joint,
                    "the multiplier of 'mimic' is zero, so the joint never moves; make it a fixed joint");
    return TD_OK;
}

// Every coordinate has to move some mass, by its own joint or by those that follow it; a chain that ends without has a
// singular mass matrix.
static tdStatus check_moved(const tdTree *tree, bool *heavy, tdError *error)
{
    for (int l = tree->n_links - 1; l >= 0; l--)
    {
        const tdTreeLink *link = &tree->links[l];
        double e[3];
        moments(link->inertia, e);
        bool extended = e[0] > 0; // a point mass turns about itself without effort
        bool turns = link->kind == TD_JOINT_BALL || link->kind == TD_JOINT_FREE;
        heavy[l] = heavy[l] || (turns ? extended : link->mass > 0 || extended);
        if (link->parent >= 0)
            heavy[link->parent] = heavy[link->parent] || heavy[l];
    }
    for (int l = tree->n_links - 1; l >= 0; l--)
    {
        const tdTreeLink *link = &tree->links[l];
        bool turns = link->kind == TD_JOINT_BALL || link->kind == TD_JOINT_FREE;
        bool moves = heavy[l] || link->mimic >= 0 || (link->armature > 0 && !turns);
        for (int k = 0; k < tree->n_links && !moves; k++)
            moves = tree->links[k].mimic == l && heavy[k];
        if (td_joint_coordinates(link->kind) > 0 && !moves)
            return td_fail_at(error, TD_ERROR_INPUT, tree->file, link->joint_line, link->joint,
                              "joint '%s' moves nothing that has %s: link '%s' and what it carries have none; add an "
                              "<inertial>, or make the joint fixed",
                              link->joint, link->mass > 0 ? "an inertia" : "a mass", link->name);
    }
    return TD_OK;
}

tdStatus td_tree_check(tdArena *arena, tdTree *tree, tdError *error)
{
    if (tree->n_links < 1 || tree->n_links > TD_TREE_LINKS)
        return td_fail_at(error, TD_ERROR_INPUT, tree->file, 0, NULL, "%d links; a body has 1 to %d", tree->n_links,
                          TD_TREE_LINKS);
    bool *heavy = TD_TAKE(arena, bool, tree->n_links);
    if (heavy == NULL)
        return td_fail_memory(error, "the links");
    for (int l = 0; l < tree->n_links; l++)
    {
        tdTreeLink *link = &tree->links[l];
        if (link->parent >= l || (link->parent < 0) != (l == 0))
            return fail(tree, link->line, error, link->name, "links must follow their parents, one root first");
        TD_TRY(check_inertia(arena, tree, link, error));
        TD_TRY(check_joint(tree, l, error));
    }
    for (int s = 0; s < tree->n_shapes; s++)
        if (tree->shapes[s].link < 0 || tree->shapes[s].link >= tree->n_links ||
            (s > 0 && tree->shapes[s].link < tree->shapes[s - 1].link))
            return fail(tree, tree->shapes[s].line, error, NULL, "shapes must be in the order of their links");
    return check_moved(tree, heavy, error);
}
