// SPDX-License-Identifier: Apache-2.0
// Random trees of links for tests, and the algorithms on them without a scene.
#pragma once
#include "scenes.h"

#include "body/articulated.h"
#include "core/rotation.h"

typedef struct treeFixture
{
    tdArena arena;
    tdTree tree;
    tdArticulated body;
    tdTreeWork work;
    double *q, *v, *dv, *reference;
} treeFixture;

static inline double random_between(uint64_t *seed, double low, double high)
{
    return low + 0.5 * (high - low) * (1 + next_random(seed));
}

static inline void random_pose(uint64_t *seed, double size, tdPose *pose)
{
    double r[3], q[4];
    for (int k = 0; k < 3; k++)
    {
        r[k] = 3 * next_random(seed);
        pose->t[k] = size * next_random(seed);
    }
    td_rotation_from_vector(r, q);
    for (int c = 0; c < 3; c++)
    {
        double e[3] = {c == 0, c == 1, c == 2}, out[3];
        td_rotation_apply(q, e, out);
        for (int k = 0; k < 3; k++)
            pose->R[3 * k + c] = out[k];
    }
}

/// Mass, center and inertia of an ellipsoid of masses that is turned and shifted.
static inline void random_inertia(uint64_t *seed, tdTreeLink *link)
{
    tdPose pose;
    double square[3];
    random_pose(seed, 0.2, &pose);
    link->mass = random_between(seed, 0.1, 3);
    for (int k = 0; k < 3; k++)
    {
        link->center[k] = pose.t[k];
        square[k] = link->mass * pow(random_between(seed, 0.02, 0.3), 2);
    }
    static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int e = 0; e < 6; e++)
    {
        int i = pair[e][0], j = pair[e][1];
        link->inertia[e] = i == j ? square[0] + square[1] + square[2] : 0;
        for (int k = 0; k < 3; k++)
            link->inertia[e] -= square[k] * pose.R[3 * i + k] * pose.R[3 * j + k];
    }
}

/// Builds the tables of f->tree and takes vectors of its size.
static inline void tree_build(treeFixture *f, const tdPose *base, const double gravity[3])
{
    const double none[3] = {0, 0, 0};
    tdError error = {0};
    assert_ok(td_tree_check(&f->arena, &f->tree, &error), error);
    assert_ok(td_articulated_build(&f->arena, &f->tree, base, none, none, gravity, &f->body, &error), error);
    assert_true(td_tree_work_take(&f->arena, &f->body, &f->work));
    f->q = TD_TAKE(&f->arena, double, f->body.n + 1);
    f->v = TD_TAKE(&f->arena, double, f->body.n + 1);
    f->dv = TD_TAKE(&f->arena, double, f->body.n + 1);
    f->reference = TD_TAKE(&f->arena, double, 4 * f->body.n_balls + 1);
    assert_true(f->q != NULL && f->v != NULL && f->dv != NULL && f->reference != NULL);
}

static inline void tree_shake(treeFixture *f, uint64_t *seed, bool folded)
{
    for (int i = 0; i < f->body.n; i++)
    {
        f->q[i] = 2 * next_random(seed);
        f->v[i] = 2 * next_random(seed);
        f->dv[i] = 2 * next_random(seed);
    }
    for (int k = 0; k < 4 * f->body.n_balls; k++)
        f->reference[k] = k % 4 == 0;
    if (folded)
        td_tree_fold(&f->body, f->q, f->reference);
    td_tree_kinematics(&f->body, f->q, f->reference, &f->work);
}

/// A tree of n links with joints of all kinds; every fourth joint with one coordinate mimics an earlier one when asked.
static inline void tree_random(treeFixture *f, uint64_t *seed, int n, bool mimics)
{
    static const char *const names[2] = {"link", "joint"};
    const double gravity[3] = {1, -2, -9.81};
    memset(f, 0, sizeof *f);
    f->tree = (tdTree){.file = "random", .n_links = n, .links = TD_TAKE(&f->arena, tdTreeLink, n)};
    assert_non_null(f->tree.links);
    for (int l = 0; l < n; l++)
    {
        tdTreeLink *link = &f->tree.links[l];
        *link = td_default_link();
        link->name = names[0];
        link->joint = names[1];
        link->parent = l == 0 ? -1 : (int)random_between(seed, 0, l - 1e-9);
        link->kind = (tdJointKind)random_between(seed, 0, TD_JOINT_KINDS - 1e-9);
        random_pose(seed, 0.5, &link->origin);
        random_inertia(seed, link);
        double length = 0;
        for (int k = 0; k < 3; k++)
            link->axis[k] = next_random(seed);
        length = sqrt(link->axis[0] * link->axis[0] + link->axis[1] * link->axis[1] + link->axis[2] * link->axis[2]);
        for (int k = 0; k < 3; k++)
            link->axis[k] /= length;
        link->armature = l % 3 == 0 ? random_between(seed, 0, 0.1) : 0;
        if (!mimics || td_joint_coordinates(link->kind) != 1 || next_random(seed) < 0.5)
            continue;
        for (int other = 0; other < l && link->mimic < 0; other++)
            if (td_joint_coordinates(f->tree.links[other].kind) == 1 && f->tree.links[other].mimic < 0)
                link->mimic = other;
        link->ratio = random_between(seed, 0.3, 2) * (next_random(seed) > 0 ? 1 : -1);
        link->offset = next_random(seed);
    }
    tdPose base;
    random_pose(seed, 100, &base);
    tree_build(f, &base, gravity);
    tree_shake(f, seed, true);
}

static inline void tree_free(treeFixture *f)
{
    td_arena_free(&f->arena);
}
