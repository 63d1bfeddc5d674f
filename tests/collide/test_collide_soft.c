// SPDX-License-Identifier: Apache-2.0
// Contacts of soft surfaces with rigid shapes and with each other, against all pairs one by one.
#include "collide_soft.h"

#include "base/vector.h"
#include "collide/geometry.h"

static const double up[3] = {0, 0, 1};

// Normals of vertices by areas; to be freed.
static double *normals_of(const soft *s)
{
    double *out = calloc((size_t)s->n_nodes * 3, sizeof *out);
    assert_non_null(out);
    for (int64_t t = 0; t < s->n_tris; t++)
    {
        const int32_t *v = s->tris + 3 * t;
        double a[3], b[3], n[3];
        td_subtract3(s->x + 3 * v[1], s->x + 3 * v[0], a);
        td_subtract3(s->x + 3 * v[2], s->x + 3 * v[0], b);
        td_cross3(a, b, n);
        for (int k = 0; k < 3; k++)
            td_along3(out + 3 * v[k], 1, n, out + 3 * v[k]);
    }
    return out;
}

// ---------------------------------------------------------------- soft on rigid

// Every vertex within the margin of the shape is a contact with the shape's distance and normal, and no other is.
static void vertices_by_signed_distance(void **unused)
{
    (void)unused;
    draw d = {21};
    tdArena arena = {0};
    const tdShapeType types[] = {TD_SHAPE_PLANE, TD_SHAPE_SPHERE,   TD_SHAPE_CAPSULE,
                                 TD_SHAPE_BOX,   TD_SHAPE_CYLINDER, TD_SHAPE_HULL};
    soft ball = soft_sphere(0, 0, 0, 0.5, 3);
    int met = 0;
    double *outward = normals_of(&ball);
    for (int round = 0; round < 60; round++)
    {
        tdShape shape = draw_shape(&d, types[round % 6], &arena);
        tdColliderDef c[2] = {rigid_collider(&shape, 0), soft_collider(&ball, 0)};
        scene s = scene_with(c, 2, 0.03);
        tdPose pose = draw_pose(&d, 0.5);
        const double *x[1] = {ball.x};
        tdCollideInput input = {.x = x, .poses = &pose};
        int64_t n = 0, at = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
        for (int64_t v = 0; v < ball.n_nodes; v++)
        {
            double local[3], m[3], normal[3], facing[3];
            td_place_back(&pose, ball.x + 3 * v, local);
            td_turn_back(&pose, outward + 3 * v, facing);
            double phi = td_shape_distance(&shape, local, facing, m);
            if (phi >= 0)
                phi = td_shape_distance(&shape, local, NULL, m);
            if (phi > 0.03)
                continue;
            while (at < n && !(contacts[at].kind == TD_CONTACT_VERTEX_B && contacts[at].b.node[0] == v))
                at++;
            assert_true(at < n); // in the order of nodes
            td_turn(&pose, m, normal);
            assert_near(contacts[at].phi, phi, 1e-12);
            assert_int_equal(contacts[at].b.n, 1);
            assert_near(td_square_between(contacts[at].normal, normal), 0, 1e-12);
            met++;
        }
        scene_free(&s);
    }
    assert_true(met > 3000);
    free(outward);
    soft_free(&ball);
    td_arena_free(&arena);
}

// Distance of the nearest point of a surface from p, and the normal there; the sign by the solid angle under which the
// surface is seen.
static double surface_distance(const soft *s, const double p[3], double normal[3])
{
    double best = INFINITY, angle = 0;
    normal[0] = normal[1] = normal[2] = 0;
    for (int64_t t = 0; t < s->n_tris; t++)
    {
        const double *a = s->x + 3 * s->tris[3 * t], *b = s->x + 3 * s->tris[3 * t + 1],
                     *c = s->x + 3 * s->tris[3 * t + 2];
        double w[3], q[3], u[3], v[3], z[3];
        td_nearest_on_triangle(p, a, b, c, w);
        td_mix3(a, b, c, w, q);
        if (td_square_between(p, q) < best)
        {
            best = td_square_between(p, q);
            td_subtract3(b, a, u);
            td_subtract3(c, a, v);
            td_cross3(u, v, normal);
        }
        td_subtract3(a, p, u);
        td_subtract3(b, p, v);
        td_subtract3(c, p, z);
        angle += td_solid_angle(u, v, z);
    }
    return angle > 6.28 ? -sqrt(best) : sqrt(best);
}

// Shapes smaller than the triangles they lie on: a contact at the lowest point, with the distance of the face.
static void small_shapes_on_large_triangles(void **unused)
{
    (void)unused;
    draw d = {22};
    tdArena arena = {0};
    const double min[3] = {-1, -1, -1}, max[3] = {1, 1, 0};
    soft block = soft_box(min, max, 1, 1, 1);
    const tdShapeType types[] = {TD_SHAPE_SPHERE, TD_SHAPE_CAPSULE, TD_SHAPE_BOX, TD_SHAPE_CYLINDER, TD_SHAPE_HULL};
    for (int round = 0; round < 200; round++)
    {
        tdShape shape = draw_shape(&d, types[round % 5], &arena);
        tdPose pose = draw_pose(&d, 0.2);
        double down[3] = {0, 0, -1}, asked = draw_between(&d, -0.03, 0.02), least = INFINITY;
        pose.t[2] += highest(&shape, &pose, down) + asked; // the lowest point comes to the height asked for
        tdColliderDef c[2] = {soft_collider(&block, 0), rigid_collider(&shape, 0)};
        scene s = scene_with(c, 2, 0.03);
        const double *x[1] = {block.x};
        tdCollideInput input = {.x = x, .poses = &pose};
        int64_t n = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
        for (int64_t i = 0; i < n; i++)
        {
            least = fmin(least, contacts[i].phi);
            if (fabs(contacts[i].normal[2] - 1) > 1e-9)
                fail_msg("%s: kind %d, normal %g %g %g, phi %g at %g %g %g", td_shape_name(shape.type),
                         contacts[i].kind, contacts[i].normal[0], contacts[i].normal[1], contacts[i].normal[2],
                         contacts[i].phi, contacts[i].position[0], contacts[i].position[1], contacts[i].position[2]);
            double p[3] = {0, 0, 0}, weight = 0;
            for (int k = 0; k < contacts[i].a.n; k++)
            {
                td_along3(p, contacts[i].a.weight[k], block.x + 3 * contacts[i].a.node[k], p);
                weight += contacts[i].a.weight[k];
            }
            assert_near(weight, 1, 1e-12);
            assert_near(p[2], 0, 1e-12); // the soft point is on the top, below the contact
            // Edges that cross at a slant are met a little to the side of each other.
            assert_near(p[0], contacts[i].position[0], contacts[i].kind == TD_CONTACT_EDGES ? 0.04 : 1e-9);
        }
        assert_true(n >= 1);
        // A rim has 16 points: the lowest one is off by at most 1 - cos(pi / 16) of its radius.
        double rim = shape.type == TD_SHAPE_CYLINDER ? 0.02 * shape.radius : 1e-9;
        assert_true(least >= asked - 1e-9 && least <= asked + rim);
        scene_free(&s);
    }
    soft_free(&block);
    td_arena_free(&arena);
}

// A ball in a groove touches both walls, and one that lies across two ridges both of them, wherever its middle is:
// contacts do not come and go with which of them is nearer.
static void ball_in_a_groove(void **unused)
{
    (void)unused;
    const double min[3] = {-1, -1, -1}, max[3] = {1, 1, 0}, radius = 0.5, deep = 0.01;
    for (int ridges = 0; ridges < 2; ridges++)
    {
        soft block = soft_box(min, max, ridges ? 4 : 2, 1, 1);
        for (int64_t v = 0; v < block.n_nodes; v++)
        {
            double *x = block.x + 3 * v;
            if (x[2] > -1e-9)
                x[2] = ridges ? (fabs(fabs(x[0]) - 0.5) < 1e-9 ? 0 : -0.8) : 0.4 * (fabs(x[0]) - 1);
        }
        tdShape ball = td_shape_sphere(radius);
        tdColliderDef c[2] = {soft_collider(&block, 0), rigid_collider(&ball, 0)};
        scene s = scene_with(c, 2, 0.02);
        for (int i = -3; i <= 3; i++)
        {
            // Walls of the slope 0.4, or ridges at x = -0.5 and 0.5, z = 0; the ball is `deep` in both, more or less.
            double aside = 1e-3 * i, slope = sqrt(1 + 0.4 * 0.4);
            double z = ridges ? sqrt((radius - deep) * (radius - deep) - 0.16) : -0.4 + (radius - deep) * slope;
            if (ridges)
                for (int64_t v = 0; v < block.n_nodes; v++) // the ridges come nearer
                    if (fabs(fabs(block.x[3 * v]) - 0.5) < 1e-9 && block.x[3 * v + 2] > -1e-9)
                        block.x[3 * v] *= 0.8;
            tdPose pose = pose_about(up, 0, aside, 0.13, z);
            const double *x[1] = {block.x};
            tdCollideInput input = {.x = x, .poses = &pose};
            int64_t n = 0, sides[2] = {0, 0};
            const tdContact *contacts = scene_contacts(&s, &input, &n);
            check_contacts(contacts, n);
            for (int64_t k = 0; k < n; k++)
            {
                double left = contacts[k].normal[0] > 0 ? 1 : -1; // the wall on the left pushes to the right
                double at = ridges ? hypot(aside + left * 0.4, z) : (left * 0.4 * aside + z + 0.4) / slope;
                assert_near(contacts[k].phi, at - radius, 1e-9);
                sides[left < 0]++;
            }
            assert_int_equal(sides[0], 1);
            assert_int_equal(sides[1], 1);
        }
        scene_free(&s);
        soft_free(&block);
    }
}

// The edge of a long box, or a thin rod, across the diagonal of a large triangle: only edges meet.
static void knife_across_large_triangles(void **unused)
{
    (void)unused;
    const double min[3] = {-1, -1, -1}, max[3] = {1, 1, 0}, x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
    soft block = soft_box(min, max, 1, 1, 1);
    tdShape shapes[] = {td_shape_box(6, 0.2, 0.2), td_shape_capsule(0.05, 6), td_shape_cylinder(0.05, 6)};
    for (int k = 0; k < 3; k++)
    {
        double half = k == 0 ? 0.1 * sqrt(2.0) : 0.05;
        tdColliderDef c[2] = {soft_collider(&block, 0), rigid_collider(&shapes[k], 0)};
        scene s = scene_with(c, 2, 0.01);
        for (int i = 0; i < 20; i++)
        {
            tdPose turned =
                k == 0 ? pose_about(x, 0.7853981633974483, 0, 0, 0) : pose_about(y, 1.5707963267948966, 0, 0, 0);
            tdPose about = pose_about(up, 0.3 + 0.01 * i, 0.1, -0.05, half - 0.002);
            tdPose pose = td_pose_multiply(&about, &turned);
            const double *field[1] = {block.x};
            tdCollideInput input = {.x = field, .poses = &pose};
            int64_t n = 0;
            const tdContact *contacts = scene_contacts(&s, &input, &n);
            check_contacts(contacts, n);
            int64_t deep = 0;
            for (int64_t j = 0; j < n; j++)
            {
                bool put_back = contacts[j].phi > -0.002 + 1e-9; // the diagonal, where an end of it is nearly as deep
                deep += !put_back;
                if (!put_back)
                    assert_near(contacts[j].phi, -0.002, 1e-9);
                assert_near(contacts[j].normal[2], 1, 1e-9);
            }
            assert_true(deep >= 2); // two sides of the block at least, or its diagonal
        }
        scene_free(&s);
    }
    soft_free(&block);
}

// ---------------------------------------------------------------- soft on soft

static void point_of(const tdContactSide *side, const double *x, double out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (int k = 0; k < side->n; k++)
        td_along3(out, side->weight[k], x + 3 * side->node[k], out);
}

// Crumpled balls that overlap: whatever the contacts are, their points are as far apart as they say.
static void points_are_as_far_apart_as_they_say(void **unused)
{
    (void)unused;
    draw d = {26};
    int64_t met = 0;
    for (int round = 0; round < 20; round++)
    {
        soft a = soft_sphere(0, 0, 0, 0.5, 3), b = soft_sphere(0, 0, 0.9, 0.5, 2);
        tdColliderDef c[2] = {soft_collider(&a, 0), soft_collider(&b, 1)};
        c[0].self = round % 2 == 0;
        scene s = scene_with(c, 2, 0.05);
        for (int64_t i = 0; i < 3 * a.n_nodes; i++)
            a.x[i] += draw_between(&d, -0.02, 0.02);
        for (int64_t i = 0; i < 3 * b.n_nodes; i++)
            b.x[i] += draw_between(&d, -0.04, 0.04);
        const double *x[2] = {a.x, b.x};
        tdCollideInput input = {.x = x};
        int64_t n = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
        for (int64_t i = 0; i < n; i++)
        {
            double p[3], q[3], way[3];
            point_of(&contacts[i].a, x[contacts[i].a.collider], p);
            point_of(&contacts[i].b, x[contacts[i].b.collider], q);
            td_subtract3(q, p, way);
            assert_near(td_dot3(way, contacts[i].normal), contacts[i].phi, 1e-12);
            for (int k = 0; k < 3; k++)
                assert_near(contacts[i].position[k], 0.5 * (p[k] + q[k]), 1e-12);
        }
        met += n;
        scene_free(&s);
        soft_free(&a);
        soft_free(&b);
    }
    assert_true(met > 300);
}

// Vertices of balls that overlap, against the nearest of all triangles and the solid angle.
static void trees_equal_all_pairs(void **unused)
{
    (void)unused;
    draw d = {23};
    int64_t met = 0, inside = 0;
    for (int round = 0; round < 12; round++)
    {
        soft a = soft_sphere(0, 0, 0, 0.5, 3), b = soft_torus(0.5, 0.2, 24, 12);
        tdPose pose = draw_pose(&d, 0);
        double margin = 0.02;
        soft_place(&b, &pose);
        double n[3];
        draw_direction(&d, n);
        for (int64_t i = 0; i < b.n_nodes; i++)
            td_along3(b.x + 3 * i, 0.75 + 0.03 * round, n, b.x + 3 * i);
        tdColliderDef c[2] = {soft_collider(&a, 0), soft_collider(&b, 1)};
        c[0].depth = c[1].depth = 0.1;
        scene s = scene_with(c, 2, margin);
        const double *x[2] = {a.x, b.x};
        tdCollideInput input = {.x = x};
        int64_t count = 0, at = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &count);
        double *outward[2] = {normals_of(&a), normals_of(&b)};
        check_contacts(contacts, count);
        for (int side = 0; side < 2; side++)
        {
            const soft *mine = side == 0 ? &a : &b, *other = side == 0 ? &b : &a;
            tdContactKind kind = side == 0 ? TD_CONTACT_VERTEX_A : TD_CONTACT_VERTEX_B;
            for (int64_t v = 0; v < mine->n_nodes; v++)
            {
                double q[3], phi = surface_distance(other, mine->x + 3 * v, q);
                // Where the nearest triangle looks the same way as the vertex it is passed over.
                double look = td_dot3(q, outward[side] + 3 * v) / (td_length3(q) * td_length3(outward[side] + 3 * v));
                bool faces = look < 0.28;
                bool found = at < count && contacts[at].kind == kind &&
                             (side == 0 ? contacts[at].a : contacts[at].b).node[0] == v;
                if (found)
                {
                    if (faces && phi > -0.06)
                        assert_near(contacts[at].phi, phi, 1e-9);
                    met++;
                    inside += phi < 0;
                    at++;
                }
                else // not there for a reason
                    assert_true(phi > margin - 1e-12 || phi < -0.06 || !faces);
            }
        }
        free(outward[0]);
        free(outward[1]);
        scene_free(&s);
        soft_free(&a);
        soft_free(&b);
    }
    if (met < 400 || inside < 100)
        fail_msg("only %d contacts, %d inside", (int)met, (int)inside);
}

// phi moves with its nodes as normal and weights say, for every kind of contact.
static void phi_follows_its_points(void **unused)
{
    (void)unused;
    draw d = {24};
    const double min[3] = {-0.5, -0.5, -0.5}, max[3] = {0.5, 0.5, 0.5};
    soft a = soft_box(min, max, 3, 3, 3), b = soft_box(min, max, 2, 2, 2);
    tdPose pose = pose_about((double[3]){0.6, 0.64, 0.48}, 0.12, 0.3, 0.2, 1.25);
    soft_place(&b, &pose);
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < b.n_nodes; i++)
        low = fmin(low, b.x[3 * i + 2]);
    for (int64_t i = 0; i < b.n_nodes; i++)
        b.x[3 * i + 2] += 0.5 - low - 0.02;
    for (int64_t i = 0; i < a.n_nodes; i++)
        high = fmax(high, a.x[3 * i + 2]);
    tdColliderDef c[2] = {soft_collider(&a, 0), soft_collider(&b, 1)};
    scene s = scene_with(c, 2, 0.05);
    double *x[2] = {a.x, b.x};
    tdCollideInput input = {.x = (const double *const *)x};
    int64_t n = 0, tried = 0;
    const tdContact *first = scene_contacts(&s, &input, &n);
    tdContact *contacts = malloc((size_t)n * sizeof *contacts);
    assert_non_null(contacts);
    memcpy(contacts, first, (size_t)n * sizeof *contacts);
    for (int64_t i = 0; i < n; i++)
        for (int side = 0; side < 2; side++)
        {
            const tdContactSide *at = side == 0 ? &contacts[i].a : &contacts[i].b;
            for (int k = 0; k < at->n; k++)
            {
                double way[3], phi[2] = {0, 0}, h = 1e-6, *p = x[side] + 3 * at->node[k];
                draw_direction(&d, way);
                for (int sign = 0; sign < 2; sign++)
                {
                    int64_t m = 0, found = -1;
                    td_along3(p, sign == 0 ? h : -h, way, p);
                    const tdContact *moved = scene_contacts(&s, &input, &m);
                    for (int64_t j = 0; j < m; j++)
                        if (moved[j].key == contacts[i].key)
                            found = j;
                    assert_true(found >= 0);
                    phi[sign] = moved[found].phi;
                    td_along3(p, sign == 0 ? -h : h, way, p);
                }
                double expected = (side == 0 ? -1 : 1) * at->weight[k] * td_dot3(way, contacts[i].normal);
                // Curvature times h, rounding over h.
                assert_near((phi[0] - phi[1]) / (2 * h), expected, 1e-5);
                tried++;
            }
        }
    assert_true(tried > 10);
    free(contacts);
    scene_free(&s);
    soft_free(&a);
    soft_free(&b);
    (void)high;
}

// Two blocks, one on the other, edges and all in line: corners that dip in are pushed up, not to the side.
static void aligned_blocks_push_upwards(void **unused)
{
    (void)unused;
    const double min[3] = {0, 0, 0}, max[3] = {1, 1, 1};
    for (int k = 0; k < 3; k++)
    {
        soft a = soft_box(min, max, 2, 2, 2), b = soft_box(min, max, 2 + k, 2, 2);
        double shift = k == 0 ? 0 : (k == 1 ? 1e-9 : -1e-9);
        for (int64_t i = 0; i < b.n_nodes; i++)
        {
            b.x[3 * i] += shift;
            b.x[3 * i + 2] += 1 - 1e-5;
        }
        tdColliderDef c[2] = {soft_collider(&a, 0), soft_collider(&b, 1)};
        scene s = scene_with(c, 2, 1e-3);
        const double *x[2] = {a.x, b.x};
        tdCollideInput input = {.x = x};
        int64_t n = 0, vertices = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
        for (int64_t i = 0; i < n; i++)
        {
            assert_near(contacts[i].normal[2], 1, 1e-6);
            assert_near(contacts[i].phi, -1e-5, 1e-8);
            vertices += contacts[i].kind == TD_CONTACT_VERTEX_A || contacts[i].kind == TD_CONTACT_VERTEX_B;
        }
        assert_int_equal(vertices, 9 + 3 * (3 + k));
        scene_free(&s);
        soft_free(&a);
        soft_free(&b);
    }
}

// Blocks of eight nodes with points inside their faces: on a plane and on each other, shifted a little this way and
// that, they touch by the same points with the same names; past half a margin corners leave, points inside do not.
static void points_inside_faces(void **unused)
{
    (void)unused;
    draw d = {5};
    const double min[3] = {0, 0, 0}, max[3] = {1, 1, 1}, margin = 1e-2;
    soft a = soft_box(min, max, 1, 1, 1), b = soft_box(min, max, 1, 1, 1);
    tdShape plane = {.type = TD_SHAPE_PLANE};
    tdColliderDef c[3] = {soft_collider(&a, 0), soft_collider(&b, 1), rigid_collider(&plane, -1)};
    c[0].points = c[1].points = 3;
    scene s = scene_with(c, 3, margin);
    double *rest = malloc(3 * (size_t)b.n_nodes * sizeof *rest);
    assert_non_null(rest);
    memcpy(rest, b.x, 3 * (size_t)b.n_nodes * sizeof *rest);
    for (int k = 0; k < 40; k++)
    {
        double reach = k < 30 ? 0.35 * margin : 2 * margin, depth = draw_between(&d, -1e-4, 1e-4);
        double shift[2] = {draw_between(&d, -reach, reach), draw_between(&d, -reach, reach)};
        for (int64_t i = 0; i < b.n_nodes; i++)
        {
            b.x[3 * i] = rest[3 * i] + shift[0];
            b.x[3 * i + 1] = rest[3 * i + 1] + shift[1];
            b.x[3 * i + 2] = rest[3 * i + 2] + 1 + depth;
        }
        const double *x[2] = {a.x, b.x};
        tdCollideInput input = {.x = x};
        int64_t n = 0, between = 0, on_plane = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
        for (int64_t i = 0; i < n; i++)
        {
            bool stands = contacts[i].b.collider == 2;
            on_plane += stands;
            between += !stands;
            if (k < 30)
            {
                assert_near(contacts[i].normal[2], stands ? -1 : 1, 1e-9);
                assert_near(contacts[i].phi, stands ? 0 : depth, 1e-9);
                assert_true(k == 0 || contacts[i].previous >= 0);
            }
        }
        assert_int_equal(on_plane, 4 + 18);
        if (k < 30)
            assert_int_equal(between, 2 * (4 + 18));
        else
            assert_true(between >= 2 * 18 && between <= 2 * (4 + 18));
    }
    free(rest);
    scene_free(&s);
    soft_free(&a);
    soft_free(&b);
}

// Crossed bars of few elements, edge on edge.
static void sharp_edges_cross(void **unused)
{
    (void)unused;
    const double min[3] = {-2, -0.1, -0.1}, max[3] = {2, 0.1, 0.1}, x[3] = {1, 0, 0};
    soft a = soft_box(min, max, 3, 1, 1), b = soft_box(min, max, 3, 1, 1);
    tdPose edge = pose_about(x, 0.7853981633974483, 0.17, 0, 0),
           over = pose_about(up, 1.3, 0, 0, 0.2 * sqrt(2.0) - 1e-3);
    tdPose both = td_pose_multiply(&over, &edge);
    soft_place(&a, &edge);
    soft_place(&b, &both);
    tdColliderDef c[2] = {soft_collider(&a, 0), soft_collider(&b, 1)};
    scene s = scene_with(c, 2, 0.01);
    const double *field[2] = {a.x, b.x};
    tdCollideInput input = {.x = field};
    int64_t n = 0;
    const tdContact *contacts = scene_contacts(&s, &input, &n);
    assert_int_equal(n, 1);
    assert_int_equal(contacts[0].kind, TD_CONTACT_EDGES);
    assert_near(contacts[0].phi, -1e-3, 1e-9);
    assert_near(contacts[0].normal[2], 1, 1e-9);
    scene_free(&s);
    soft_free(&a);
    soft_free(&b);
}

// A rigid mesh of a box meets what the box meets.
static void mesh_of_a_box_equals_the_box(void **unused)
{
    (void)unused;
    const double min[3] = {-0.5, -0.5, -0.5}, max[3] = {0.5, 0.5, 0.5};
    soft cube = soft_box(min, max, 1, 1, 1), ball = soft_sphere(0, 0, 0.95, 0.5, 3);
    tdArena arena = {0};
    tdError error = {0};
    tdShape mesh = {0}, box = td_shape_box(1, 1, 1), plane = td_shape_plane();
    assert_ok(td_shape_mesh(&arena, cube.n_nodes, cube.x, cube.n_tris, cube.tris, &mesh, &error), error);
    draw d = {25};
    int met = 0;
    for (int round = 0; round < 30; round++)
    {
        tdPose pose = draw_pose(&d, 0.05);
        const double *x[1] = {ball.x};
        tdCollideInput input = {.x = x, .poses = &pose};
        int64_t n[2], deepest[2] = {0, 0};
        tdContact *list[2];
        for (int k = 0; k < 2; k++)
        {
            tdColliderDef c[2] = {rigid_collider(k == 0 ? &box : &mesh, 0), soft_collider(&ball, 0)};
            c[0].depth = c[1].depth = 0.3;
            scene s = scene_with(c, 2, 0.02);
            const tdContact *contacts = scene_contacts(&s, &input, &n[k]);
            check_contacts(contacts, n[k]);
            list[k] = malloc((size_t)(n[k] + 1) * sizeof **list);
            memcpy(list[k], contacts, (size_t)n[k] * sizeof **list);
            for (int64_t i = 1; i < n[k]; i++)
                deepest[k] = list[k][i].phi < list[k][deepest[k]].phi ? i : deepest[k];
            scene_free(&s);
        }
        assert_true(n[0] > 0 && n[1] > 0);
        // Every vertex of the ball has the same contact on both.
        for (int64_t i = 0, j = 0; i < n[0]; i++)
        {
            if (list[0][i].kind != TD_CONTACT_VERTEX_B)
                continue;
            // A vertex that faces away from the box's nearest side is not let down by a mesh that passes that side
            // over.
            const double *v = ball.x + 3 * list[0][i].b.node[0], out[3] = {v[0], v[1], v[2] - 0.95};
            if (td_dot3(out, list[0][i].normal) > 0.25 * 0.5)
                continue;
            while (j < n[1] &&
                   !(list[1][j].kind == TD_CONTACT_VERTEX_B && list[1][j].b.node[0] == list[0][i].b.node[0]))
                j++;
            assert_true(j < n[1]);
            met++;
            assert_near(list[0][i].phi, list[1][j].phi, 1e-9);
            assert_near(td_square_between(list[0][i].a.local, list[1][j].a.local), 0, 1e-15);
        }
        free(list[0]);
        free(list[1]);
    }
    assert_true(met > 300);
    // On a plane it stands on its four corners.
    tdColliderDef c[2] = {rigid_collider(&plane, -1), rigid_collider(&mesh, 0)};
    scene s = scene_with(c, 2, 0.02);
    tdPose pose = pose_about(up, 0.3, 0, 0, 0.499);
    tdCollideInput input = {.poses = &pose};
    int64_t n = 0;
    const tdContact *contacts = scene_contacts(&s, &input, &n);
    assert_int_equal(n, 4);
    assert_near(contacts[0].phi, -1e-3, 1e-12);
    scene_free(&s);
    td_arena_free(&arena);
    soft_free(&cube);
    soft_free(&ball);
}

// A soft block pushed into another step by step, far beyond the margin: contacts stay and tell the depth, until it is
// deeper than what is looked for.
static void depth_is_followed(void **unused)
{
    (void)unused;
    const double min[3] = {0, 0, 0}, max[3] = {1, 1, 1};
    soft a = soft_box(min, max, 4, 4, 4), b = soft_box(min, max, 3, 3, 3);
    tdColliderDef c[2] = {soft_collider(&a, 0), soft_collider(&b, 1)};
    c[0].depth = c[1].depth = 0.1;
    scene s = scene_with(c, 2, 0.005);
    for (int64_t i = 0; i < b.n_nodes; i++)
        b.x[3 * i + 2] += 1.004;
    for (int step = 0; step < 24; step++)
    {
        const double *x[2] = {a.x, b.x};
        tdCollideInput input = {.x = x};
        int64_t n = 0, down = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
        for (int64_t i = 0; i < n; i++)
            if (contacts[i].normal[2] > 0.99)
            {
                assert_near(contacts[i].phi, 0.004 - 0.004 * step, 1e-9);
                down++;
            }
        if (down < 33)
            fail_msg("step %d: %d of %d down", step, (int)down, (int)n);
        for (int64_t i = 0; i < b.n_nodes; i++)
            b.x[3 * i + 2] -= 0.004;
    }
    scene_free(&s);
    soft_free(&a);
    soft_free(&b);
}

// A mesh that moves while nothing is near, and then stays, is met where it stays.
static void meshes_that_move_and_stay(void **unused)
{
    (void)unused;
    const double min[3] = {-0.5, -0.5, -0.5}, max[3] = {0.5, 0.5, 0.5};
    soft cube = soft_box(min, max, 3, 3, 3);
    tdArena arena = {0};
    tdError error = {0};
    tdShape mesh = {0};
    assert_ok(td_shape_mesh(&arena, cube.n_nodes, cube.x, cube.n_tris, cube.tris, &mesh, &error), error);
    tdColliderDef c[2] = {rigid_collider(&mesh, 0), rigid_collider(&mesh, 1)};
    scene s = scene_with(c, 2, 0.01);
    // Height of the second above the first, and how far aside both are, step by step.
    const double height[] = {0.998, 3, 3, 0.998, 0.998, 1.005, 1.005}, aside[] = {0, 0, 5, 5, 5, 5, 5};
    for (int step = 0; step < 7; step++)
    {
        tdPose poses[2] = {pose_about(up, 0, aside[step], 0, 0), pose_about(up, 0.4, aside[step], 0, height[step])};
        tdCollideInput input = {.poses = poses};
        int64_t n = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
        if (height[step] > 2)
        {
            assert_int_equal(n, 0);
            continue;
        }
        assert_true(n >= 8);
        for (int64_t i = 0; i < n; i++)
        {
            // Beyond the rim the nearest point is on it.
            assert_true(contacts[i].phi >= height[step] - 1 - 1e-9 && contacts[i].phi <= 0.01);
            double p[3], q[3], way[3];
            td_place(&poses[0], contacts[i].a.local, p);
            td_place(&poses[1], contacts[i].b.local, q);
            td_subtract3(q, p, way);
            assert_near(td_dot3(way, contacts[i].normal), contacts[i].phi, 1e-9);
        }
    }
    scene_free(&s);
    td_arena_free(&arena);
    soft_free(&cube);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vertices_by_signed_distance),
                                       cmocka_unit_test(small_shapes_on_large_triangles),
                                       cmocka_unit_test(ball_in_a_groove),
                                       cmocka_unit_test(knife_across_large_triangles),
                                       cmocka_unit_test(points_are_as_far_apart_as_they_say),
                                       cmocka_unit_test(trees_equal_all_pairs),
                                       cmocka_unit_test(phi_follows_its_points),
                                       cmocka_unit_test(aligned_blocks_push_upwards),
                                       cmocka_unit_test(sharp_edges_cross),
                                       cmocka_unit_test(mesh_of_a_box_equals_the_box),
                                       cmocka_unit_test(depth_is_followed),
                                       cmocka_unit_test(meshes_that_move_and_stay),
                                       cmocka_unit_test(points_inside_faces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
