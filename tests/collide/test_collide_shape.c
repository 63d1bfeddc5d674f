// SPDX-License-Identifier: Apache-2.0
// Signed distances and supports of shapes, and convex hulls, against what defines them.
#include "shapes.h"

#include "base/vector.h"

static const tdShapeType convex[] = {TD_SHAPE_PLANE, TD_SHAPE_SPHERE,   TD_SHAPE_CAPSULE,
                                     TD_SHAPE_BOX,   TD_SHAPE_CYLINDER, TD_SHAPE_HULL};

// x - phi n is on the surface, and the plane there with the normal n has the whole shape behind it: outside that proves
// phi to be the distance. Inside, no other direction is a shorter way out.
static void distance_is_distance(void **unused)
{
    (void)unused;
    draw d = {1};
    tdArena arena = {0};
    tdPose identity = td_pose_identity();
    for (int round = 0; round < 400; round++)
        for (size_t k = 1; k < sizeof convex / sizeof convex[0]; k++)
        {
            tdShape shape = draw_shape(&d, convex[k], &arena);
            double x[3], n[3], foot[3], m[3];
            for (int i = 0; i < 3; i++)
                x[i] = draw_between(&d, -0.8, 0.8);
            double phi = td_shape_distance(&shape, x, NULL, n);
            assert_near(td_dot3(n, n), 1, 1e-12);
            for (int i = 0; i < 3; i++)
                foot[i] = x[i] - phi * n[i];
            // Rounding of a few operations on numbers near one.
            assert_near(td_shape_distance(&shape, foot, NULL, m), 0, 1e-12);
            assert_near(td_dot3(n, foot), highest(&shape, &identity, n), 1e-7); // faces of hulls are planes to 1e-7
            for (int i = 0; i < 200 && phi < 0; i++)
            {
                draw_direction(&d, m);
                assert_true(td_dot3(m, x) - highest(&shape, &identity, m) <= phi + 1e-7);
            }
        }
    td_arena_free(&arena);
}

static void normal_is_gradient(void **unused)
{
    (void)unused;
    draw d = {2};
    tdArena arena = {0};
    int kinks = 0, points = 0;
    for (int round = 0; round < 300; round++)
        for (size_t k = 0; k < sizeof convex / sizeof convex[0]; k++)
        {
            tdShape shape = draw_shape(&d, convex[k], &arena);
            double x[3], n[3], m[3], h = 1e-6, worst = 0;
            for (int i = 0; i < 3; i++)
                x[i] = draw_between(&d, -0.8, 0.8);
            td_shape_distance(&shape, x, NULL, n);
            for (int i = 0; i < 3; i++)
            {
                double up[3] = {x[0], x[1], x[2]}, down[3] = {x[0], x[1], x[2]};
                up[i] += h;
                down[i] -= h;
                double slope =
                    (td_shape_distance(&shape, up, NULL, m) - td_shape_distance(&shape, down, NULL, m)) / (2 * h);
                worst = fmax(worst, fabs(slope - n[i]));
            }
            // Truncation h^2 / r^2 and rounding 1e-16 / h; next to a ridge inside the gradient jumps.
            kinks += worst > 1e-6;
            points++;
        }
    assert_true(kinks <= points / 500);
    td_arena_free(&arena);
}

static void facing_chooses_the_face(void **unused)
{
    (void)unused;
    tdShape box = td_shape_box(2, 2, 2), cylinder = td_shape_cylinder(1, 2);
    double n[3], x[3] = {1 - 1e-9, 0.3, 1 - 1e-5}, corner[3] = {1, 0, -1};
    // 1e-9 below the side and 1e-5 below the top; a corner that points to the side and down came through the top.
    assert_near(td_shape_distance(&box, x, NULL, n), -1e-9, 1e-15);
    assert_near(n[0], 1, 0);
    assert_near(td_shape_distance(&box, x, corner, n), -1e-5, 1e-15);
    assert_near(n[2], 1, 0);
    double y[3] = {1 - 1e-9, 0, 1 - 1e-5};
    assert_near(td_shape_distance(&cylinder, y, NULL, n), -1e-9, 1e-15);
    assert_near(td_shape_distance(&cylinder, y, corner, n), -1e-5, 1e-15);
    assert_near(n[2], 1, 0);
}

// Where the nearest point is not unique some unit normal comes out.
static void degenerate_points(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    draw d = {3};
    double zero[3] = {0, 0, 0}, n[3];
    for (size_t k = 0; k < sizeof convex / sizeof convex[0]; k++)
    {
        tdShape shape = draw_shape(&d, convex[k], &arena);
        assert_true(isfinite(td_shape_distance(&shape, zero, NULL, n)));
        assert_near(td_dot3(n, n), 1, 1e-12);
        assert_true(isfinite(td_shape_distance(&shape, zero, zero, n)));
    }
    td_arena_free(&arena);
}

static void supports_and_bounds(void **unused)
{
    (void)unused;
    draw d = {4};
    tdArena arena = {0};
    for (int round = 0; round < 200; round++)
        for (size_t k = 1; k < sizeof convex / sizeof convex[0]; k++)
        {
            tdShape shape = draw_shape(&d, convex[k], &arena);
            tdPose identity = td_pose_identity(), pose = draw_pose(&d, 3);
            double m[3], p[3], box[6];
            draw_direction(&d, m);
            td_shape_support(&shape, m, p);
            assert_near(td_dot3(p, m), highest(&shape, &identity, m), 1e-12);
            td_shape_bounds(&shape, &pose, box);
            for (int i = 0; i < 3; i++)
            {
                double up[3] = {i == 0, i == 1, i == 2}, down[3] = {-(i == 0), -(i == 1), -(i == 2)};
                assert_near(box[3 + i], highest(&shape, &pose, up), 1e-12);
                assert_near(box[i], -highest(&shape, &pose, down), 1e-12);
            }
        }
    td_arena_free(&arena);
}

// Euler's formula, planes that hold every point, polygons that turn left, edges with both of their faces.
static void check_hull(const tdHull *hull, int64_t n, const double *x, double tolerance)
{
    assert_int_equal(hull->n_points - hull->n_edges + hull->n_faces, 2);
    for (int f = 0; f < hull->n_faces; f++)
    {
        const double *plane = hull->plane + 4 * f;
        for (int64_t i = 0; i < n; i++)
            assert_true(td_dot3(plane, x + 3 * i) <= plane[3] + tolerance);
        int first = hull->first[f], sides = hull->first[f + 1] - first;
        assert_true(sides >= 3);
        for (int i = 0; i < sides; i++)
        {
            const double *a = hull->x + 3 * hull->corner[first + i];
            const double *b = hull->x + 3 * hull->corner[first + (i + 1) % sides];
            const double *c = hull->x + 3 * hull->corner[first + (i + 2) % sides];
            double u[3], v[3];
            td_subtract3(b, a, u);
            td_subtract3(c, b, v);
            assert_true(td_triple3(plane, u, v) > -tolerance);
        }
    }
    for (int e = 0; e < hull->n_edges; e++)
        for (int side = 0; side < 2; side++)
        {
            int face = hull->edge[4 * e + 2 + side], sides = hull->first[face + 1] - hull->first[face], at = -1;
            int from = hull->edge[4 * e + side], to = hull->edge[4 * e + 1 - side];
            for (int i = 0; i < sides; i++)
                if (hull->corner[hull->first[face] + i] == from &&
                    hull->corner[hull->first[face] + (i + 1) % sides] == to)
                    at = i;
            assert_true(at >= 0);
        }
}

static void hulls_hold_their_points(void **unused)
{
    (void)unused;
    draw d = {5};
    for (int round = 0; round < 60; round++)
    {
        enum
        {
            MOST = 300
        };
        double x[3 * MOST];
        int n = 4 + (int)(draw_unit(&d) * (MOST - 4));
        for (int i = 0; i < n; i++)
        {
            double m[3], r = round % 3 == 0 ? 1 : draw_unit(&d); // every third on a sphere
            draw_direction(&d, m);
            for (int k = 0; k < 3; k++)
                x[3 * i + k] = r * m[k];
        }
        tdArena arena = {0};
        tdShape shape = {0};
        tdError error = {0};
        assert_ok(td_shape_hull(&arena, n, x, &shape, &error), error);
        check_hull(shape.hull, n, x, 2e-7);
        if (round % 3 == 0)
            assert_int_equal(shape.hull->n_points, n);
        td_arena_free(&arena);
    }
}

// A cube of a lattice of points, with every one of them twice, has six faces and eight corners.
static void hull_of_a_lattice_is_a_cube(void **unused)
{
    (void)unused;
    enum
    {
        N = 5
    };
    double x[3 * 2 * N * N * N];
    int n = 0;
    tdPose pose = pose_about((double[3]){0.6, 0, 0.8}, 0.7, 10, 20, 30);
    for (int copy = 0; copy < 2; copy++)
        for (int i = 0; i < N * N * N; i++)
        {
            double p[3] = {i % N, i / N % N, i / (N * N)};
            td_place(&pose, p, x + 3 * n++);
        }
    tdArena arena = {0};
    tdShape shape = {0};
    tdError error = {0};
    assert_ok(td_shape_hull(&arena, n, x, &shape, &error), error);
    check_hull(shape.hull, n, x, 1e-6);
    assert_int_equal(shape.hull->n_points, 8);
    assert_int_equal(shape.hull->n_faces, 6);
    assert_int_equal(shape.hull->n_edges, 12);
    td_arena_free(&arena);
}

static void bad_hulls_are_refused(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdShape shape = {0};
    tdError error = {0};
    double flat[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1e-9, 0.5, 0.5, 0}, line[15], point[15] = {0};
    for (int i = 0; i < 15; i++)
        line[i] = i / 3;
    assert_int_equal(td_shape_hull(&arena, 5, flat, &shape, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "in a plane"));
    assert_int_equal(td_shape_hull(&arena, 5, line, &shape, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "on a line"));
    assert_int_equal(td_shape_hull(&arena, 5, point, &shape, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "at one place"));
    assert_int_equal(td_shape_hull(&arena, 3, flat, &shape, &error), TD_ERROR_INPUT);
    flat[7] = NAN;
    assert_int_equal(td_shape_hull(&arena, 5, flat, &shape, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "point 2"));
    td_arena_free(&arena);
}

static void bad_shapes_are_refused(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdShape shapes[] = {td_shape_sphere(0),      td_shape_sphere(NAN),    td_shape_box(1, -1, 1),
                        td_shape_capsule(1, -1), td_shape_cylinder(1, 0), td_shape_box(1, INFINITY, 1)};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        assert_int_equal(td_shape_check(&shapes[i], "links[2]", &error), TD_ERROR_INPUT);
    assert_string_equal(error.field, "links[2]");
    tdShape none = {.type = TD_SHAPE_HULL}, unknown = {.type = (tdShapeType)77};
    assert_int_equal(td_shape_check(&none, NULL, &error), TD_ERROR_USAGE);
    assert_int_equal(td_shape_check(&unknown, NULL, &error), TD_ERROR_USAGE);
    tdShape short_capsule = td_shape_capsule(1, 0);
    assert_int_equal(td_shape_check(&short_capsule, NULL, &error), TD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_is_distance),        cmocka_unit_test(normal_is_gradient),
        cmocka_unit_test(facing_chooses_the_face),     cmocka_unit_test(degenerate_points),
        cmocka_unit_test(supports_and_bounds),         cmocka_unit_test(hulls_hold_their_points),
        cmocka_unit_test(hull_of_a_lattice_is_a_cube), cmocka_unit_test(bad_hulls_are_refused),
        cmocka_unit_test(bad_shapes_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
