// SPDX-License-Identifier: Apache-2.0
// Contacts of rigid shapes: least distance of every pair of convex shapes against its definition, patches of boxes,
// cylinders and hulls, names that stay.
#include "shapes.h"

#include "base/vector.h"
#include "collide/gjk.h"

static const tdShapeType convex[] = {TD_SHAPE_SPHERE, TD_SHAPE_CAPSULE, TD_SHAPE_BOX, TD_SHAPE_CYLINDER, TD_SHAPE_HULL};
enum
{
    CONVEX = sizeof convex / sizeof convex[0]
};

static void point_of(const tdContactSide *side, const tdPose *poses, double out[3])
{
    td_place(&poses[side->collider], side->local, out);
}

// The least phi is the signed distance of the shapes, no contact is deeper, and each joins two points of the shapes.
static void check_pair(const tdShape *A, const tdShape *B, const tdPose poses[2], draw *d, double tolerance, int *met)
{
    double margin = 0.05;
    scene s = scene_of_two(A, B, margin);
    tdCollideInput input = {.poses = poses};
    int64_t n = 0;
    const tdContact *c = scene_contacts(&s, &input, &n);
    double exact = signed_distance(d, A, &poses[0], B, &poses[1]), least = INFINITY;
    int64_t deepest = 0;
    check_contacts(c, n);
    for (int64_t i = 0; i < n; i++)
    {
        double p[3], q[3], way[3];
        point_of(&c[i].a, poses, p);
        point_of(&c[i].b, poses, q);
        td_subtract3(q, p, way);
        assert_near(td_dot3(way, c[i].normal), c[i].phi, 1e-9);
        deepest = c[i].phi < least ? i : deepest;
        least = fmin(least, c[i].phi);
    }
    // The search finds no direction in which they are farther apart, and along the normal they are so far apart: both
    // together prove the distance. Deeper than its axis a capsule has the normal of one of two faces; where it lies
    // nearly flat its deepest contacts are at the ends of that part, with the normals there. A rim of a cylinder is a
    // polygon to within a hundredth of the margin.
    bool capsule = A->type == TD_SHAPE_CAPSULE || B->type == TD_SHAPE_CAPSULE;
    bool axis_inside =
        (A->type == TD_SHAPE_CAPSULE && least < -A->radius) || (B->type == TD_SHAPE_CAPSULE && least < -B->radius);
    if (n > 0 && !(exact <= least + tolerance))
        fail_msg("%s and %s: least of %d contacts %.9g, but there is a way of %.9g", td_shape_name(A->type),
                 td_shape_name(B->type), (int)n, least, exact);
    if (n > 0 && !axis_inside)
        assert_near(apart_along(A, &poses[0], B, &poses[1], c[deepest].normal), least,
                    capsule ? 1e-3 : (tolerance > 1e-5 ? 0.01 * margin : 1e-9));
    *met += n > 0;
    if (exact > margin)
        assert_int_equal(n, 0);
    else
        assert_true(n > 0 || exact > margin - 1e-3); // the search stops short of narrow ridges
    scene_free(&s);
}

static void least_distance_of_every_pair(void **unused)
{
    (void)unused;
    draw d = {11};
    tdArena arena = {0};
    for (int i = 0; i < CONVEX; i++)
        for (int j = i; j < CONVEX; j++)
        {
            int met = 0;
            for (int round = 0; round < 40; round++)
            {
                tdShape A = draw_shape(&d, convex[i], &arena), B = draw_shape(&d, convex[j], &arena);
                tdPose poses[2] = {draw_pose(&d, 0.4), draw_pose(&d, 0.4)};
                // Rounding; inside curved faces the polytope that finds the depth has a finite number of corners; a
                // capsule that lies nearly flat has contacts within 2.5e-5 of the margin.
                bool curved = convex[i] == TD_SHAPE_CYLINDER || convex[j] == TD_SHAPE_CYLINDER,
                     axis = convex[i] == TD_SHAPE_CAPSULE || convex[j] == TD_SHAPE_CAPSULE;
                check_pair(&A, &B, poses, &d, curved ? 5e-4 : (axis ? 5e-6 : 1e-9), &met);
            }
            assert_true(met >= 15);
        }
    td_arena_free(&arena);
}

// A plane meets every shape at its lowest point.
static void lowest_point_on_a_plane(void **unused)
{
    (void)unused;
    draw d = {12};
    tdArena arena = {0};
    tdShape plane = td_shape_plane();
    for (int i = 0; i < CONVEX; i++)
        for (int round = 0; round < 200; round++)
        {
            tdShape B = draw_shape(&d, convex[i], &arena);
            tdPose poses[2] = {draw_pose(&d, 0.3), draw_pose(&d, 0.3)};
            double n[3] = {-poses[0].R[2], -poses[0].R[5], -poses[0].R[8]};
            double exact = -highest(&B, &poses[1], n) + td_dot3(n, poses[0].t), least = INFINITY;
            scene s = scene_of_two(&plane, &B, 0.05);
            tdCollideInput input = {.poses = poses};
            int64_t count = 0;
            const tdContact *c = scene_contacts(&s, &input, &count);
            check_contacts(c, count);
            for (int64_t k = 0; k < count; k++)
            {
                assert_near(td_dot3(c[k].normal, n), -1, 1e-12);
                least = fmin(least, c[k].phi);
            }
            if (exact <= 0.05)
                assert_near(least, exact, 1e-9);
            else
                assert_int_equal(count, 0);
            scene_free(&s);
        }
    td_arena_free(&arena);
}

// Which of the two comes first changes signs only.
static void swapped_shapes_give_mirrored_contacts(void **unused)
{
    (void)unused;
    draw d = {13};
    tdArena arena = {0};
    for (int round = 0; round < 100; round++)
        for (int i = 0; i < CONVEX; i++)
        {
            tdShape A = draw_shape(&d, convex[i], &arena), B = draw_shape(&d, convex[(i + round) % CONVEX], &arena);
            tdPose poses[2] = {draw_pose(&d, 0.4), draw_pose(&d, 0.4)}, turned[2] = {poses[1], poses[0]};
            scene s = scene_of_two(&A, &B, 0.05), t = scene_of_two(&B, &A, 0.05);
            tdCollideInput input = {.poses = poses}, back = {.poses = turned};
            int64_t n = 0, m = 0;
            const tdContact *c = scene_contacts(&s, &input, &n), *e = scene_contacts(&t, &back, &m);
            double least = INFINITY, other = INFINITY;
            for (int64_t k = 0; k < n; k++)
                least = fmin(least, c[k].phi);
            for (int64_t k = 0; k < m; k++)
                other = fmin(other, e[k].phi);
            if (n > 0 && m > 0)
                assert_near(least, other, 5e-4); // curved faces, as above
            scene_free(&s);
            scene_free(&t);
        }
    td_arena_free(&arena);
}

// ---------------------------------------------------------------- patches

static int64_t contacts_at(const scene *s, const tdPose *poses, const tdContact **c)
{
    tdCollideInput input = {.poses = poses};
    int64_t n = 0;
    *c = scene_contacts(s, &input, &n);
    check_contacts(*c, n);
    return n;
}

// A small box on a large one, turned about the vertical: its four corners carry, whatever the angle.
static void box_on_box_stands_on_four_corners(void **unused)
{
    (void)unused;
    tdShape large = td_shape_box(2, 2, 1), small = td_shape_box(0.5, 0.4, 0.3);
    const double up[3] = {0, 0, 1};
    for (int k = 0; k < 40; k++)
    {
        scene s = scene_of_two(&large, &small, 0.01);
        double gap = k % 3 == 0 ? 1e-3 : (k % 3 == 1 ? 0 : -1e-3); // apart, touching, overlapping
        tdPose poses[2] = {td_pose_identity(), pose_about(up, 0.17 * k, 0.1, -0.2, 0.65 + gap)};
        const tdContact *c;
        int64_t n = contacts_at(&s, poses, &c);
        assert_int_equal(n, 4);
        for (int i = 0; i < 4; i++)
        {
            assert_near(c[i].phi, gap, 1e-12);
            assert_near(c[i].normal[2], 1, 1e-12);
            assert_near(fabs(c[i].b.local[0]), 0.25, 1e-9);
            assert_near(fabs(c[i].b.local[1]), 0.2, 1e-9);
        }
        scene_free(&s);
    }
}

// Crossed bars: the common rectangle; crossed edges: one point.
static void crossed_boxes(void **unused)
{
    (void)unused;
    tdShape bar = td_shape_box(2, 0.2, 0.2);
    const double up[3] = {0, 0, 1};
    scene s = scene_of_two(&bar, &bar, 0.01);
    tdPose poses[2] = {td_pose_identity(), pose_about(up, 1.5707963267948966, 0, 0, 0.199)};
    const tdContact *c;
    assert_int_equal(contacts_at(&s, poses, &c), 4);
    for (int i = 0; i < 4; i++)
    {
        assert_near(fabs(c[i].position[0]), 0.1, 1e-9);
        assert_near(fabs(c[i].position[1]), 0.1, 1e-9);
        assert_near(c[i].phi, -1e-3, 1e-12);
    }
    // Each turned by 45 degrees about its own length: edge on edge.
    const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
    double reach = 0.1 * sqrt(2.0);
    tdPose second = pose_about(y, 0.7853981633974483, 0, 0, 2 * reach - 1e-3);
    poses[0] = pose_about(x, 0.7853981633974483, 0, 0, 0);
    tdPose quarter = pose_about(up, 1.5707963267948966, 0, 0, 0);
    poses[1] = td_pose_multiply(&second, &quarter);
    int64_t n = contacts_at(&s, poses, &c);
    double least = INFINITY;
    for (int64_t i = 0; i < n; i++)
    {
        least = fmin(least, c[i].phi);
        assert_near(fabs(c[i].normal[2]), 1, 1e-9);
    }
    assert_near(least, -1e-3, 1e-9);
    assert_true(n >= 1);
    scene_free(&s);
}

static void cylinders_stand_and_lie(void **unused)
{
    (void)unused;
    tdShape cylinder = td_shape_cylinder(0.5, 2), box = td_shape_box(4, 4, 1), plane = td_shape_plane();
    const double x[3] = {1, 0, 0};
    const tdContact *c;
    scene on_plane = scene_of_two(&plane, &cylinder, 0.01), on_box = scene_of_two(&box, &cylinder, 0.01),
          both = scene_of_two(&cylinder, &cylinder, 0.01);
    tdPose poses[2] = {td_pose_identity(), pose_about(x, 0, 0, 0, 0.999)};
    assert_int_equal(contacts_at(&on_plane, poses, &c), 8);
    poses[1] = pose_about(x, 1.5707963267948966, 0, 0, 0.499); // lies: the two ends of its line
    assert_int_equal(contacts_at(&on_plane, poses, &c), 2);
    assert_near(fabs(c[0].position[1]), 1, 1e-9);
    poses[1] = pose_about(x, 0, 0, 0, 1.499);
    assert_int_equal(contacts_at(&on_box, poses, &c), 8);
    for (int i = 0; i < 8; i++)
        assert_near(c[i].phi, -1e-3, 1e-9);
    poses[1] = pose_about(x, 1.5707963267948966, 0, 0, 0.999);
    int64_t n = contacts_at(&on_box, poses, &c);
    assert_true(n >= 2);
    for (int64_t i = 0; i < n; i++)
        assert_near(c[i].phi, -1e-3, 1e-9);
    tdPose side[2] = {td_pose_identity(), pose_about(x, 0, 0.999, 0, 0.5)}; // side by side, shifted
    n = contacts_at(&both, side, &c);
    assert_true(n >= 2);
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++)
    {
        low = fmin(low, c[i].position[2]);
        high = fmax(high, c[i].position[2]);
    }
    assert_near(low, -0.5, 1e-6); // the common part of the two lines
    assert_near(high, 1, 1e-6);
    scene_free(&on_plane);
    scene_free(&on_box);
    scene_free(&both);
}

// A long capsule over a box touches where it crosses the rims of its top.
static void capsule_over_box(void **unused)
{
    (void)unused;
    tdShape capsule = td_shape_capsule(0.1, 4), box = td_shape_box(1, 1, 1);
    const double y[3] = {0, 1, 0};
    scene s = scene_of_two(&box, &capsule, 0.01);
    tdPose poses[2] = {td_pose_identity(), pose_about(y, 1.5707963267948966, 0, 0, 0.599)};
    const tdContact *c;
    int64_t n = contacts_at(&s, poses, &c);
    double reach[2] = {0, 0};
    for (int64_t i = 0; i < n; i++)
        if (c[i].phi < -9e-4) // the others are a little beyond the rims, a quarter of the margin higher
        {
            reach[0] = fmin(reach[0], c[i].position[0]);
            reach[1] = fmax(reach[1], c[i].position[0]);
        }
    assert_near(reach[0], -0.5, 0.005);
    assert_near(reach[1], 0.5, 0.005);
    scene_free(&s);
}

// ---------------------------------------------------------------- names

// Every contact of a body that rests and trembles, or slides, is that of the step before.
static void names_stay(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    draw d = {14};
    double points[3 * 16];
    for (int i = 0; i < 16; i++) // a prism with eight sides
    {
        double angle = 0.7853981633974483 * (i % 8);
        points[3 * i] = 0.5 * cos(angle);
        points[3 * i + 1] = 0.5 * sin(angle);
        points[3 * i + 2] = i < 8 ? -0.25 : 0.25;
    }
    tdShape prism = {0};
    tdError error = {0};
    assert_ok(td_shape_hull(&arena, 16, points, &prism, &error), error);
    tdShape floors[] = {td_shape_plane(), td_shape_box(8, 8, 1)};
    tdShape bodies[] = {td_shape_box(1, 0.8, 0.5), prism, td_shape_cylinder(0.5, 0.5), td_shape_sphere(0.25)};
    for (int f = 0; f < 2; f++)
        for (int b = 0; b < 4; b++)
            for (int slides = 0; slides < 2; slides++)
            {
                scene s = scene_of_two(&floors[f], &bodies[b], 0.01);
                const double up[3] = {0, 0, 1};
                int64_t first = 0;
                for (int step = 0; step < 100; step++)
                {
                    double axis[3], t = slides ? 0.01 * step : 0;
                    draw_direction(&d, axis);
                    tdPose tremble = pose_about(axis, 1e-6 * draw_unit(&d), 0, 0, 0);
                    tdPose at = pose_about(up, 0.3 + 0.2 * t, t, 0.5 * t,
                                           (f == 1 ? 0.5 : 0) + 0.25 - 1e-4 + 1e-6 * draw_unit(&d));
                    tdPose poses[2] = {td_pose_identity(), td_pose_multiply(&at, &tremble)};
                    const tdContact *c;
                    int64_t n = contacts_at(&s, poses, &c);
                    first = step == 0 ? n : first;
                    // The lowest point of a cylinder's rim has no place of its own when it stands upright; it may come
                    // and go. The eight beside it stay.
                    int64_t known = 0;
                    for (int64_t i = 0; i < n && step > 0; i++)
                        known += c[i].previous >= 0;
                    if (b == 2)
                        assert_true(n >= 8 && (step == 0 || known >= 7));
                    else
                    {
                        assert_int_equal(n, first);
                        assert_true(step == 0 || known == n);
                    }
                }
                scene_free(&s);
            }
    td_arena_free(&arena);
}

// Same place, same axes, parallel everything: numbers stay finite.
static void degenerate_poses(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    draw d = {15};
    for (int i = 0; i < CONVEX; i++)
        for (int j = 0; j < CONVEX; j++)
            for (int k = 0; k < 6; k++)
            {
                tdShape A = draw_shape(&d, convex[i], &arena),
                        B = i == j && k < 3 ? A : draw_shape(&d, convex[j], &arena);
                scene s = scene_of_two(&A, &B, 0.01);
                tdPose poses[2] = {td_pose_identity(), td_pose_identity()};
                poses[1].t[k % 3] = k < 3 ? 0 : 0.1;
                const tdContact *c;
                if (contacts_at(&s, poses, &c) == 0)
                    fail_msg("no contact of %s and %s, pose %d", td_shape_name(A.type), td_shape_name(B.type), k);
                scene_free(&s);
            }
    td_arena_free(&arena);
}

// Corners of faces that are parallel but for rounding make flat tetrahedra, of which rounding decides which side is
// which: the distance of boxes on a table was that of other faces then, and their contact was lost for a step.
static void faces_next_to_each_other(void **unused)
{
    (void)unused;
    const tdShape table = td_shape_box(0.4, 0.3, 0.02), box = td_shape_box(0.05, 0.05, 0.06);
    const tdPose found = {{0.99999999994739663, -1.390101361285607e-17, 1.0257038687773781e-05, 1.3907376231023823e-17,
                           1, -6.2031719191650336e-16, -1.0257038687773781e-05, 6.2031733453236866e-16,
                           0.99999999994739663},
                          {0.024740877786874702, -5.963501450731006e-17, 0.040029668846804969}};
    for (int round = 0; round < 3000; round++)
    {
        tdPose pose = found;
        if (round > 0) // turned by a little about x and y, lifted by a little
        {
            double x = (round % 2 == 0 ? 1e-15 : 1e-5) * sin(round), y = 1e-16 * (round % 9) * sin(3 * round);
            pose = (tdPose){{1, 0, x, 0, 1, -y, -x, y, 1},
                            {0.1 * cos(5 * round), 0.05 * cos(7 * round), 0.0401 + 5e-5 * sin(11 * round)}};
        }
        double lowest = INFINITY;
        for (int k = 0; k < 8; k++)
        {
            const double corner[3] = {k & 1 ? 0.025 : -0.025, k & 2 ? 0.025 : -0.025, k & 4 ? 0.03 : -0.03};
            double at[3];
            td_place(&pose, corner, at);
            lowest = fmin(lowest, at[2] - 0.01);
        }
        tdNearest nearest;
        assert_true(td_nearest_convex(&table, &box, &pose, 6e-4, &nearest));
        assert_true(fabs(nearest.phi - lowest) < 1e-10);
    }
}

// Two boxes by their separating axes and, as hulls, by the general method: the same distance or depth, points that are
// so far apart along a unit normal, and inside their boxes. Turned at random, and along each other.
static void boxes_by_their_axes(void **unused)
{
    (void)unused;
    draw d = {4711};
    int found = 0, overlapping = 0;
    for (int round = 0; round < 4000; round++)
    {
        tdArena arena = {0};
        const tdShape A = td_shape_box(draw_between(&d, 0.1, 1), draw_between(&d, 0.1, 1), draw_between(&d, 0.1, 1));
        const tdShape B = td_shape_box(draw_between(&d, 0.1, 1), draw_between(&d, 0.1, 1), draw_between(&d, 0.1, 1));
        tdShape hull;
        double corners[24], angle = draw_between(&d, 0, 3);
        tdPose pose = round % 2 == 0 ? draw_pose(&d, 0.7) : td_pose_identity();
        if (round % 4 == 1) // beside each other in one plane
            pose = (tdPose){{cos(angle), -sin(angle), 0, sin(angle), cos(angle), 0, 0, 0, 1}, {0}};
        for (int k = 0; k < 3 && round % 2 == 1; k++)
            pose.t[k] = draw_between(&d, -0.9, 0.9);
        for (int i = 0; i < 24; i++)
            corners[i] = (i / 3 >> i % 3) & 1 ? B.half[i % 3] : -B.half[i % 3];
        assert_int_equal(td_shape_hull(&arena, 8, corners, &hull, NULL), TD_OK);
        tdNearest quick, general;
        bool near = td_nearest_convex(&A, &hull, &pose, 0.2, &general);
        tdBoxes known = td_nearest_boxes(&A, &B, &pose, 0.2, &quick);
        if (known == TD_BOXES_FAR)
            assert_false(near);
        if (known == TD_BOXES_FOUND)
        {
            double way[3], back[3];
            assert_true(near);
            assert_near(quick.phi, general.phi, 1e-9);
            assert_near(td_dot3(quick.n, quick.n), 1, 1e-12);
            td_subtract3(quick.b, quick.a, way);
            td_place_back(&pose, quick.b, back);
            for (int k = 0; k < 3; k++)
            {
                assert_near(way[k], quick.phi * quick.n[k], 1e-12);
                assert_true(fabs(quick.a[k]) <= A.half[k] + 1e-9 && fabs(back[k]) <= B.half[k] + 1e-9);
            }
            found++;
            overlapping += quick.phi < 0;
        }
        td_arena_free(&arena);
    }
    printf("boxes: %d found, %d of them overlapping\n", found, overlapping);
    assert_true(overlapping > 1000 && found - overlapping > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(least_distance_of_every_pair),
                                       cmocka_unit_test(lowest_point_on_a_plane),
                                       cmocka_unit_test(swapped_shapes_give_mirrored_contacts),
                                       cmocka_unit_test(box_on_box_stands_on_four_corners),
                                       cmocka_unit_test(crossed_boxes),
                                       cmocka_unit_test(cylinders_stand_and_lie),
                                       cmocka_unit_test(capsule_over_box),
                                       cmocka_unit_test(names_stay),
                                       cmocka_unit_test(degenerate_poses),
                                       cmocka_unit_test(faces_next_to_each_other),
                                       cmocka_unit_test(boxes_by_their_axes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
