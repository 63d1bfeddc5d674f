// SPDX-License-Identifier: Apache-2.0
// What the tests of collision share: random shapes and poses, a plain second opinion on supports, small worlds.
#pragma once
#include "collide/collide.h"
#include "mesh/generate.h"
#include "mesh/topology.h"
#include "test.h"

typedef struct draw
{
    uint64_t state;
} draw;

static inline double draw_unit(draw *d) // 0 to 1
{
    d->state = d->state * 6364136223846793005U + 1442695040888963407U;
    uint64_t x = d->state ^ (d->state >> 29);
    x *= 0xbf58476d1ce4e5b9U;
    return (double)((x ^ (x >> 32)) >> 11) * 0x1p-53;
}

static inline double draw_between(draw *d, double low, double high)
{
    return low + (high - low) * draw_unit(d);
}

static inline void draw_direction(draw *d, double n[3])
{
    double z = draw_between(d, -1, 1), angle = draw_between(d, 0, 6.283185307179586), r = sqrt(1 - z * z);
    n[0] = r * cos(angle);
    n[1] = r * sin(angle);
    n[2] = z;
}

static inline tdPose pose_about(const double axis[3], double angle, double x, double y, double z)
{
    double s = sin(0.5 * angle), a = s * axis[0], b = s * axis[1], c = s * axis[2], w = cos(0.5 * angle);
    return (tdPose){{1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w), 2 * (a * b + c * w),
                     1 - 2 * (a * a + c * c), 2 * (b * c - a * w), 2 * (a * c - b * w), 2 * (b * c + a * w),
                     1 - 2 * (a * a + b * b)},
                    {x, y, z}};
}

static inline tdPose draw_pose(draw *d, double far)
{
    double axis[3];
    draw_direction(d, axis);
    double angle = draw_between(d, 0, 6.28), x = draw_between(d, -far, far), y = draw_between(d, -far, far);
    return pose_about(axis, angle, x, y, draw_between(d, -far, far));
}

/// Convex shapes of about one metre, not the plane. A hull has 12 points.
static inline tdShape draw_shape(draw *d, tdShapeType type, tdArena *arena)
{
    double a = draw_between(d, 0.3, 1), b = draw_between(d, 0.3, 1), c = draw_between(d, 0.3, 1), x[36];
    tdShape shape = td_shape_plane();
    tdError error = {0};
    switch (type)
    {
    case TD_SHAPE_SPHERE: return td_shape_sphere(0.5 * a);
    case TD_SHAPE_CAPSULE: return td_shape_capsule(0.4 * a, b);
    case TD_SHAPE_BOX: return td_shape_box(a, b, c);
    case TD_SHAPE_CYLINDER: return td_shape_cylinder(0.5 * a, b);
    case TD_SHAPE_HULL:
        for (int i = 0; i < 36; i++)
            x[i] = draw_between(d, -0.5, 0.5) * (i % 3 == 0 ? a : (i % 3 == 1 ? b : c));
        assert_ok(td_shape_hull(arena, 12, x, &shape, &error), error);
        return shape;
    default: return shape;
    }
}

/// Greatest n . x over the shape at its pose, without the library's supports.
static inline double highest(const tdShape *shape, const tdPose *pose, const double n[3])
{
    double d[3], top = 0, across;
    td_turn_back(pose, n, d);
    across = sqrt(d[0] * d[0] + d[1] * d[1]);
    switch (shape->type)
    {
    case TD_SHAPE_SPHERE: top = shape->radius; break;
    case TD_SHAPE_CAPSULE: top = shape->radius + shape->half[2] * fabs(d[2]); break;
    case TD_SHAPE_CYLINDER: top = shape->radius * across + shape->half[2] * fabs(d[2]); break;
    case TD_SHAPE_BOX:
        top = shape->half[0] * fabs(d[0]) + shape->half[1] * fabs(d[1]) + shape->half[2] * fabs(d[2]);
        break;
    case TD_SHAPE_HULL:
        top = -INFINITY;
        for (int i = 0; i < shape->hull->n_points; i++)
        {
            const double *x = shape->hull->x + 3 * i;
            top = fmax(top, x[0] * d[0] + x[1] * d[1] + x[2] * d[2]);
        }
        break;
    default: top = 0;
    }
    return top + n[0] * pose->t[0] + n[1] * pose->t[1] + n[2] * pose->t[2];
}

/// How far B is above A along n.
static inline double apart_along(const tdShape *A, const tdPose *a, const tdShape *B, const tdPose *b,
                                 const double n[3])
{
    double back[3] = {-n[0], -n[1], -n[2]};
    return -highest(B, b, back) - highest(A, a, n);
}

/// Signed distance of two convex shapes by definition: the greatest way apart over all directions, negative when they
/// overlap. Directions all round, then the best of them are improved by shrinking random steps.
static inline double signed_distance(draw *d, const tdShape *A, const tdPose *a, const tdShape *B, const tdPose *b)
{
    enum
    {
        FIRST = 3000,
        KEPT = 12
    };
    double best[KEPT][4];
    for (int i = 0; i < KEPT; i++)
        best[i][3] = -INFINITY;
    for (int i = 0; i < FIRST; i++)
    {
        // A spiral of even density.
        double z = 1 - (2 * i + 1.0) / FIRST, r = sqrt(1 - z * z), angle = 2.399963229728653 * i;
        double n[3] = {r * cos(angle), r * sin(angle), z}, way = apart_along(A, a, B, b, n);
        int low = 0;
        for (int j = 1; j < KEPT; j++)
            low = best[j][3] < best[low][3] ? j : low;
        if (way > best[low][3])
        {
            memcpy(best[low], n, sizeof n);
            best[low][3] = way;
        }
    }
    double result = -INFINITY;
    for (int i = 0; i < KEPT; i++)
    {
        double step = 0.05;
        for (int k = 0; k < 1500 && step > 1e-9; k++)
        {
            double n[3], length = 0;
            draw_direction(d, n);
            for (int c = 0; c < 3; c++)
            {
                n[c] = best[i][c] + step * n[c];
                length += n[c] * n[c];
            }
            for (int c = 0; c < 3; c++)
                n[c] /= sqrt(length);
            double way = apart_along(A, a, B, b, n);
            if (way > best[i][3])
            {
                memcpy(best[i], n, sizeof n);
                best[i][3] = way;
                step *= 1.3;
            }
            else
                step *= 0.9;
        }
        result = fmax(result, best[i][3]);
    }
    return result;
}

/// A world and its state, with what they take as input.
typedef struct scene
{
    tdCollideWorld *world;
    tdCollideState *state;
    tdTasks *tasks;
} scene;

static inline scene scene_of(const tdCollideDef *def, int threads)
{
    scene s = {0};
    tdError error = {0};
    assert_ok(td_collide_world(def, NULL, &s.world, &error), error);
    if (threads > 0)
        assert_ok(td_tasks_create(threads, &s.tasks, &error), error);
    assert_ok(td_collide_state(s.world, s.tasks, &s.state, &error), error);
    return s;
}

static inline void scene_free(scene *s)
{
    td_collide_state_free(s->state);
    td_tasks_free(s->tasks);
    td_collide_world_free(s->world);
    *s = (scene){0};
}

static inline const tdContact *scene_contacts(const scene *s, const tdCollideInput *input, int64_t *n)
{
    tdError error = {0};
    assert_ok(td_collide(s->world, s->state, input, &error), error);
    return td_collide_contacts(s->state, n);
}

/// Two rigid shapes on frames 0 and 1.
static inline scene scene_of_two(const tdShape *A, const tdShape *B, double margin)
{
    tdColliderDef c[2] = {td_default_collider(TD_COLLIDER_RIGID), td_default_collider(TD_COLLIDER_RIGID)};
    c[0].shape = *A;
    c[1].shape = *B;
    c[0].frame = 0;
    c[1].frame = 1;
    tdCollideDef def = {.n_colliders = 2, .colliders = c, .margin = margin};
    return scene_of(&def, 0);
}

/// Whatever is true of every contact: unit normal, distance along it, sorted, names that stand once.
static inline void check_contacts(const tdContact *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
    {
        double *normal = (double *)c[i].normal;
        assert_near(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2], 1, 1e-12);
        assert_true(isfinite(c[i].phi) && isfinite(c[i].position[0] + c[i].position[1] + c[i].position[2]));
        assert_true(c[i].a.collider <= c[i].b.collider);
        if (i == 0)
            continue;
        bool same = c[i].a.collider == c[i - 1].a.collider && c[i].b.collider == c[i - 1].b.collider;
        bool later = c[i].a.collider > c[i - 1].a.collider ||
                     (c[i].a.collider == c[i - 1].a.collider && c[i].b.collider > c[i - 1].b.collider);
        assert_true(later || (same && c[i].key > c[i - 1].key));
    }
}
