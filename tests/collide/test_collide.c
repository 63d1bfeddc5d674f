// SPDX-License-Identifier: Apache-2.0
// Collision from step to step: names, self-contact, speed, filters; and what is refused.
#include "collide_soft.h"

#include "base/vector.h"
#include "collide/geometry.h"

static const double up[3] = {0, 0, 1};

// ---------------------------------------------------------------- names

typedef struct names
{
    int64_t n[3];
    uint64_t *key[3]; ///< of the last three steps
} names;

static void names_add(names *list, const tdContact *c, int64_t n)
{
    free(list->key[0]);
    for (int k = 0; k < 2; k++)
    {
        list->n[k] = list->n[k + 1];
        list->key[k] = list->key[k + 1];
    }
    list->n[2] = n;
    list->key[2] = malloc((size_t)(n + 1) * sizeof(uint64_t));
    assert_non_null(list->key[2]);
    for (int64_t i = 0; i < n; i++)
        list->key[2][i] = c[i].key;
}

static bool names_hold(const names *list, int step, uint64_t key)
{
    for (int64_t i = 0; i < list->n[step]; i++)
        if (list->key[step][i] == key)
            return true;
    return false;
}

// Contacts that were there, went and came back.
static int names_flicker(const names *list)
{
    int count = 0;
    for (int64_t i = 0; i < list->n[0]; i++)
        count += names_hold(list, 2, list->key[0][i]) && !names_hold(list, 1, list->key[0][i]);
    return count;
}

static void names_free(names *list)
{
    for (int k = 0; k < 3; k++)
        free(list->key[k]);
}

// Boxes on a soft pad, finer and coarser than they are: at rest the set stays, sliding nothing flickers.
static void names_stay_on_a_soft_pad(void **unused)
{
    (void)unused;
    const double min[3] = {-1, -1, -0.3}, max[3] = {1, 1, 0};
    draw d = {31};
    tdShape shapes[] = {td_shape_box(0.5, 0.4, 0.3), td_shape_cylinder(0.2, 0.3), td_shape_sphere(0.15)};
    for (int cells = 1; cells <= 16; cells *= 4)
        for (int k = 0; k < 3; k++)
            for (int slides = 0; slides < 2; slides++)
            {
                soft pad = soft_box(min, max, cells, cells, 2);
                tdColliderDef c[2] = {soft_collider(&pad, 0), rigid_collider(&shapes[k], 0)};
                scene s = scene_with(c, 2, 0.01);
                names list = {0};
                int64_t first = 0, came = 0, total = 0;
                int flicker = 0;
                for (int step = 0; step < 80; step++)
                {
                    double axis[3], t = slides ? 0.002 * step : 0;
                    draw_direction(&d, axis);
                    tdPose tremble = pose_about(axis, 1e-6 * draw_unit(&d), 0, 0, 0);
                    tdPose at = pose_about(up, 0.4 + t, 0.03 + t, 0.5 * t, 0.15 - 1e-4 + 1e-6 * draw_unit(&d));
                    tdPose pose = td_pose_multiply(&at, &tremble);
                    const double *x[1] = {pad.x};
                    tdCollideInput input = {.x = x, .poses = &pose};
                    int64_t n = 0;
                    const tdContact *contacts = scene_contacts(&s, &input, &n);
                    check_contacts(contacts, n);
                    assert_true(n >= 1);
                    names_add(&list, contacts, n);
                    flicker += step >= 2 ? names_flicker(&list) : 0;
                    first = step == 0 ? n : first;
                    for (int64_t i = 0; i < n && step > 0; i++)
                        came += contacts[i].previous < 0;
                    total += n;
                    if (!slides)
                        assert_int_equal(n, first);
                }
                if (flicker > 0 || (!slides && came > 0) || came * 10 > total)
                    fail_msg("%s on %d cells, %s: %d flicker, %d of %d are new", td_shape_name(shapes[k].type), cells,
                             slides ? "sliding" : "at rest", flicker, (int)came, (int)total);
                names_free(&list);
                scene_free(&s);
                soft_free(&pad);
            }
}

// ---------------------------------------------------------------- self-contact

// A bar bent about the y axis to an arc that leaves a gap between its ends.
static void bend(const double *straight, int64_t n, double length, double gap, double *out)
{
    double radius = (length + gap) / 6.283185307179586;
    for (int64_t i = 0; i < n; i++)
    {
        double angle = (straight[3 * i] + 0.5 * gap) / radius, r = radius + straight[3 * i + 2];
        out[3 * i] = r * cos(angle);
        out[3 * i + 1] = straight[3 * i + 1];
        out[3 * i + 2] = -r * sin(angle);
    }
}

typedef struct tip
{
    int32_t vertex, tri;
    double phi, normal[3]; ///< from the vertex to the triangle
} tip;

static int compare_tips(const void *a, const void *b)
{
    return ((const tip *)a)->vertex - ((const tip *)b)->vertex;
}

static int64_t tips_of(const scene *s, const double *const *x, tip *out)
{
    tdCollideInput input = {.x = x};
    int64_t n = 0;
    const tdContact *c = scene_contacts(s, &input, &n);
    for (int64_t i = 0; i < n; i++)
    {
        bool a = c[i].kind == TD_CONTACT_VERTEX_A;
        assert_true(a || c[i].kind == TD_CONTACT_VERTEX_B);
        out[i] = (tip){(a ? c[i].a : c[i].b).feature, (a ? c[i].b : c[i].a).feature, c[i].phi, {0, 0, 0}};
        for (int k = 0; k < 3; k++)
            out[i].normal[k] = (a ? 1 : -1) * c[i].normal[k];
    }
    qsort(out, (size_t)n, sizeof *out, compare_tips);
    return n;
}

// A ring that closes: its ends meet as if they were of two bodies.
static void closing_ring_equals_two_bodies(void **unused)
{
    (void)unused;
    const double min[3] = {0, -0.15, -0.15}, max[3] = {4, 0.15, 0.15};
    soft straight = soft_box(min, max, 40, 4, 4), ring = soft_box(min, max, 40, 4, 4);
    bend(straight.x, straight.n_nodes, 4, 0.8, ring.x); // at rest the gap is wide
    soft half[2] = {{.n_nodes = ring.n_nodes, .x = ring.x}, {.n_nodes = ring.n_nodes, .x = ring.x}};
    for (int k = 0; k < 2; k++)
        half[k].tris = malloc((size_t)ring.n_tris * 3 * sizeof(int32_t));
    int32_t *number[2] = {malloc((size_t)ring.n_tris * 4), malloc((size_t)ring.n_tris * 4)};
    for (int64_t t = 0; t < ring.n_tris; t++)
    {
        double middle = 0;
        for (int k = 0; k < 3; k++)
            middle += straight.x[3 * ring.tris[3 * t + k]] / 3;
        int k = middle > 2;
        memcpy(half[k].tris + 3 * half[k].n_tris, ring.tris + 3 * t, 3 * sizeof(int32_t));
        number[k][half[k].n_tris++] = (int32_t)t;
    }
    tdColliderDef one = soft_collider(&ring, 0), two[2] = {soft_collider(&half[0], 0), soft_collider(&half[1], 0)};
    one.self = true;
    one.depth = two[0].depth = two[1].depth = 0.02;
    scene self = scene_with(&one, 1, 0.02), apart = scene_with(two, 2, 0.02);
    double *x = malloc((size_t)ring.n_nodes * 3 * sizeof *x);
    tip *mine = malloc(10000 * sizeof *mine), *theirs = malloc(10000 * sizeof *theirs);
    int met = 0;
    for (int step = 0; step <= 20; step++)
    {
        double gap = 0.8 * (1 - step / 20.0) + 0.01 * (step > 18) - 0.02 * (step == 20);
        const double *field[1] = {x};
        bend(straight.x, ring.n_nodes, 4, gap, x);
        int64_t n = tips_of(&self, field, mine), m = tips_of(&apart, field, theirs);
        assert_int_equal(n, m);
        for (int64_t i = 0; i < n; i++)
        {
            assert_int_equal(mine[i].vertex, theirs[i].vertex);
            assert_near(mine[i].phi, theirs[i].phi, 1e-15);
            assert_near(td_square_between(mine[i].normal, theirs[i].normal), 0, 1e-15);
        }
        met += n > 0;
        if (gap > 0.1)
            assert_int_equal(n, 0);
        if (step == 20)
        {
            assert_int_equal(n, 50); // 5 x 5 vertices of each end
            for (int64_t i = 0; i < n; i++)
                assert_near(mine[i].phi, -0.01, 0.003); // they lean towards each other
        }
    }
    assert_true(met >= 1);
    scene_free(&self);
    scene_free(&apart);
    for (int k = 0; k < 2; k++)
    {
        free(half[k].tris);
        free(number[k]);
    }
    free(x);
    free(mine);
    free(theirs);
    soft_free(&straight);
    soft_free(&ring);
}

// Neither neighbours nor the two sides of a wall meet, however the body is squeezed and bent by a third.
static void body_at_rest_does_not_meet_itself(void **unused)
{
    (void)unused;
    const double min[3] = {0, 0, 0}, max[3] = {1, 0.5, 0.05};
    soft wall = soft_box(min, max, 20, 10, 1);
    tdColliderDef c = soft_collider(&wall, 0);
    c.self = true;
    scene s = scene_with(&c, 1, 0.02);
    double *x = malloc((size_t)wall.n_nodes * 3 * sizeof *x);
    for (int step = 0; step < 10; step++)
    {
        for (int64_t i = 0; i < wall.n_nodes; i++)
        {
            double squeeze = 1 - 0.033 * step, X = wall.x[3 * i], Z = wall.x[3 * i + 2];
            x[3 * i] = X;
            x[3 * i + 1] = wall.x[3 * i + 1];
            x[3 * i + 2] = squeeze * Z + 0.02 * step * sin(6 * X);
        }
        const double *field[1] = {x};
        tdCollideInput input = {.x = field};
        int64_t n = 0;
        scene_contacts(&s, &input, &n);
        assert_int_equal(n, 0);
    }
    free(x);
    scene_free(&s);
    soft_free(&wall);
}

// ---------------------------------------------------------------- speed

// What falls on what: at the last step before it would be through, contacts say so.
static void nothing_passes_unseen(void **unused)
{
    (void)unused;
    draw d = {32};
    const double min[3] = {-1, -1, -0.01}, max[3] = {1, 1, 0};
    tdShape plate = td_shape_box(2, 2, 0.02), ball = td_shape_sphere(0.2), brick = td_shape_box(0.3, 0.3, 0.3);
    plate.half[2] = 0.01;
    soft sheet = soft_box(min, max, 10, 10, 1);
    for (int round = 0; round < 60; round++)
    {
        bool swept = round % 2 == 1, soft_floor = round / 2 % 2 == 1;
        int faller = round / 4 % 3; // a soft ball, a ball, a brick
        double margin = 0.01, h = 0.01, speed = swept ? 40 * margin / h : margin / h;
        soft drop = soft_sphere(0, 0, 0, 0.2, 2);
        tdColliderDef c[2] = {soft_floor ? soft_collider(&sheet, 0) : rigid_collider(&plate, 0),
                              faller == 0 ? soft_collider(&drop, 1) : rigid_collider(faller == 1 ? &ball : &brick, 1)};
        scene s = scene_with(c, 2, margin);
        double z = 0.2 + 0.1 + speed * h * draw_unit(&d) + 0.05, start = z;
        double *v[2] = {calloc((size_t)sheet.n_nodes * 3, sizeof(double)),
                        calloc((size_t)drop.n_nodes * 3, sizeof(double))};
        for (int64_t i = 0; i < drop.n_nodes; i++)
        {
            drop.x[3 * i + 2] += z;
            v[1][3 * i + 2] = -speed;
        }
        bool warned = false;
        for (int step = 0; step < 200; step++)
        {
            tdPose poses[2] = {pose_about(up, 0, 0, 0, -0.01), pose_about(up, 0.3, 0, 0, z)};
            double twists[2][6] = {{0}, {0, 0, -speed, 0, 0, 0}};
            const double *x[2] = {sheet.x, drop.x};
            tdCollideInput input = {.x = x, .poses = poses, .h = h};
            if (swept)
            {
                input.v = (const double *const *)v;
                input.twists = (const double(*)[6])twists;
            }
            double low = z - (faller == 2 ? 0.15 : 0.2);
            if (low < 0) // now it is in: it must have been known before
                break;
            int64_t n = 0;
            const tdContact *contacts = scene_contacts(&s, &input, &n);
            for (int64_t i = 0; i < n; i++)
                warned = warned || (contacts[i].phi - speed * h <= 1e-9 && contacts[i].normal[2] > 0.9);
            z -= speed * h;
            for (int64_t i = 0; i < drop.n_nodes; i++)
                drop.x[3 * i + 2] -= speed * h;
        }
        if (!warned)
            fail_msg("faller %d on a %s floor from %g passes unseen", faller, soft_floor ? "soft" : "rigid", start);
        free(v[0]);
        free(v[1]);
        scene_free(&s);
        soft_free(&drop);
    }
    soft_free(&sheet);
}

// ---------------------------------------------------------------- filters

static int64_t count_of(tdColliderDef *c, int n, const tdColliderPair *excluded, int n_excluded)
{
    tdCollideDef def = {
        .n_colliders = n, .colliders = c, .excluded = excluded, .n_excluded = n_excluded, .margin = 0.1};
    scene s = scene_of(&def, 0);
    tdPose poses[2] = {td_pose_identity(), td_pose_identity()};
    tdCollideInput input = {.poses = poses};
    int64_t count = 0;
    scene_contacts(&s, &input, &count);
    scene_free(&s);
    return count;
}

static void filters(void **unused)
{
    (void)unused;
    tdShape ball = td_shape_sphere(1);
    tdColliderDef c[2] = {rigid_collider(&ball, 0), rigid_collider(&ball, 1)};
    const tdColliderPair both = {1, 0};
    assert_int_equal(count_of(c, 2, NULL, 0), 1);
    assert_int_equal(count_of(c, 2, &both, 1), 0);
    c[0].body = c[1].body = 3;
    assert_int_equal(count_of(c, 2, NULL, 0), 0); // one body
    c[0].within_body = c[1].within_body = true;
    assert_int_equal(count_of(c, 2, NULL, 0), 0); // one link
    c[1].link = 1;
    assert_int_equal(count_of(c, 2, NULL, 0), 1);
    c[1].mask = 2;
    assert_int_equal(count_of(c, 2, NULL, 0), 0);
    c[0].group = 2;
    assert_int_equal(count_of(c, 2, NULL, 0), 1);
    c[0].frame = c[1].frame = -1;
    assert_int_equal(count_of(c, 2, NULL, 0), 0); // neither moves
}

// ---------------------------------------------------------------- what is refused

static char logged[4096];

static void keep_log(void *user, tdLogLevel level, const char *message)
{
    (void)user;
    (void)level;
    strncat(logged, message, sizeof logged - strlen(logged) - 2);
    strcat(logged, "\n");
}

static tdStatus world_of(const soft *s, tdError *error)
{
    tdColliderDef c = soft_collider(s, 0);
    c.name = "robot";
    tdCollideDef def = {.n_colliders = 1, .colliders = &c, .margin = 0.01};
    tdSettings settings = td_default_settings();
    settings.log = keep_log;
    tdCollideWorld *world = NULL;
    logged[0] = 0;
    tdStatus status = td_collide_world(&def, &settings, &world, error);
    td_collide_world_free(world);
    return status;
}

static void bad_surfaces(void **unused)
{
    (void)unused;
    double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, -1, 2, 0, 0};
    int32_t tet[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2, 0, 1, 4};
    tdError error = {0};
    soft s = {6, 4, x, tet};
    assert_ok(world_of(&s, &error), error);
    s.n_tris = 5; // a fin on the edge 0 1
    assert_int_equal(world_of(&s, &error), TD_ERROR_INPUT);
    assert_string_equal(error.field, "robot");
    assert_non_null(strstr(error.message, "edge of nodes 0 and 1"));
    s.n_tris = 4;
    tet[3] = 1; // turned round
    tet[4] = 0;
    assert_int_equal(world_of(&s, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "disagree"));
    int32_t inside_out[] = {0, 1, 2, 0, 3, 1, 1, 3, 2, 0, 2, 3};
    s.tris = inside_out;
    assert_int_equal(world_of(&s, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "inside out"));
    int32_t far[] = {0, 1, 6}, twice[] = {0, 1, 1}, flat[] = {0, 1, 5};
    s = (soft){6, 1, x, far};
    assert_int_equal(world_of(&s, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "node 6"));
    s.tris = twice;
    assert_int_equal(world_of(&s, &error), TD_ERROR_INPUT);
    int32_t second[] = {0, 1, 2, 3, 4, 3, 3, 3, 4, 0, 1, 3}; // two that name a node twice, behind a good one
    s = (soft){6, 3, x, second};
    assert_ok(world_of(&s, &error), error);
    assert_non_null(strstr(logged, "2 triangles name a node twice and are left out (the first is 1)"));
    s.tris = flat;
    s.n_tris = 1;
    assert_ok(world_of(&s, &error), error);
    assert_non_null(strstr(logged, "no area (the first is 0)"));
    assert_non_null(strstr(logged, "one triangle only"));
    s.n_tris = 0;
    assert_int_equal(world_of(&s, &error), TD_ERROR_INPUT);
    x[4] = NAN;
    int32_t one[] = {0, 1, 2};
    s = (soft){6, 1, x, one};
    assert_int_equal(world_of(&s, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "node 1"));
}

// Two balls that overlap, as one surface, cut each other; a ball alone does not.
static void surfaces_that_cut_themselves(void **unused)
{
    (void)unused;
    soft a = soft_sphere(0, 0, 0, 0.5, 2), b = soft_sphere(0.8, 0, 0, 0.5, 2);
    tdError error = {0};
    assert_ok(world_of(&a, &error), error);
    assert_string_equal(logged, "");
    soft both = {a.n_nodes + b.n_nodes, a.n_tris + b.n_tris, malloc((size_t)(a.n_nodes + b.n_nodes) * 24),
                 malloc((size_t)(a.n_tris + b.n_tris) * 12)};
    memcpy(both.x, a.x, (size_t)a.n_nodes * 24);
    memcpy(both.x + 3 * a.n_nodes, b.x, (size_t)b.n_nodes * 24);
    memcpy(both.tris, a.tris, (size_t)a.n_tris * 12);
    for (int64_t i = 0; i < 3 * b.n_tris; i++)
        both.tris[3 * a.n_tris + i] = b.tris[i] + (int32_t)a.n_nodes;
    assert_ok(world_of(&both, &error), error);
    assert_non_null(strstr(logged, "cut each other"));
    soft_free(&a);
    soft_free(&b);
    soft_free(&both);
}

static void bad_worlds_and_inputs(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdCollideWorld *world = NULL;
    tdShape ball = td_shape_sphere(1);
    tdColliderDef c = rigid_collider(&ball, 0);
    tdCollideDef def = {.n_colliders = 1, .colliders = &c, .margin = 0};
    assert_int_equal(td_collide_world(&def, NULL, &world, &error), TD_ERROR_INPUT);
    def.margin = NAN;
    assert_int_equal(td_collide_world(&def, NULL, &world, &error), TD_ERROR_INPUT);
    def.margin = 0.1;
    c.pose.R[0] = 2;
    assert_int_equal(td_collide_world(&def, NULL, &world, &error), TD_ERROR_INPUT);
    c.pose.R[0] = 1;
    tdColliderPair pair = {0, 5};
    def.excluded = &pair;
    def.n_excluded = 1;
    assert_int_equal(td_collide_world(&def, NULL, &world, &error), TD_ERROR_USAGE);
    assert_null(world);

    // A world of nothing has no contacts.
    scene empty = scene_with(NULL, 0, 0.1);
    tdCollideInput nothing = {0};
    int64_t n = 1;
    scene_contacts(&empty, &nothing, &n);
    assert_int_equal(n, 0);
    scene_free(&empty);

    // Numbers that are not finite name their node and leave the last contacts.
    soft drop = soft_sphere(0, 0, 0.45, 0.5, 2);
    tdShape plane = td_shape_plane();
    tdColliderDef two[2] = {rigid_collider(&plane, 0), soft_collider(&drop, 0)};
    two[1].name = "drop";
    scene s = scene_with(two, 2, 0.1);
    tdPose pose = td_pose_identity();
    const double *x[1] = {drop.x};
    tdCollideInput input = {.x = x, .poses = &pose};
    scene_contacts(&s, &input, &n);
    int64_t before = n;
    drop.x[3 * 7 + 1] = NAN;
    assert_int_equal(td_collide(s.world, s.state, &input, &error), TD_ERROR_NUMERIC);
    assert_string_equal(error.field, "drop");
    assert_non_null(strstr(error.message, "node 7"));
    drop.x[3 * 7 + 1] = 0;
    pose.t[0] = INFINITY;
    assert_int_equal(td_collide(s.world, s.state, &input, &error), TD_ERROR_NUMERIC);
    td_collide_contacts(s.state, &n);
    assert_true(before > 0 && n == before);
    scene_free(&s);
    soft_free(&drop);
}

// Triangles without area, nodes at one place: numbers stay finite.
static void degenerate_positions(void **unused)
{
    (void)unused;
    soft a = soft_sphere(0, 0, 0, 0.5, 2), b = soft_sphere(0, 0, 0.9, 0.5, 2);
    tdShape shapes[] = {td_shape_box(1, 1, 1), td_shape_capsule(0.2, 1), td_shape_cylinder(0.3, 1)};
    tdColliderDef c[5] = {soft_collider(&a, 0), soft_collider(&b, 1), rigid_collider(&shapes[0], 0),
                          rigid_collider(&shapes[1], 0), rigid_collider(&shapes[2], 0)};
    c[0].self = true;
    for (int i = 2; i < 5; i++) // on one frame, but not against each other
        c[i].body = 1;
    scene s = scene_with(c, 5, 0.05);
    tdPose pose = td_pose_identity();
    const double *x[2] = {a.x, b.x};
    tdCollideInput input = {.x = x, .poses = &pose};
    for (int k = 0; k < 4; k++)
    {
        for (int64_t i = 0; i < a.n_nodes; i++)
        {
            a.x[3 * i + 2] *= k == 0 ? 1 : 0; // flat
            a.x[3 * i + 1] *= k <= 1 ? 1 : 0; // a line
            a.x[3 * i] *= k <= 2 ? 1 : 0;     // a point
        }
        int64_t n = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
    }
    scene_free(&s);
    soft_free(&a);
    soft_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_stay_on_a_soft_pad),
                                       cmocka_unit_test(closing_ring_equals_two_bodies),
                                       cmocka_unit_test(body_at_rest_does_not_meet_itself),
                                       cmocka_unit_test(nothing_passes_unseen),
                                       cmocka_unit_test(filters),
                                       cmocka_unit_test(bad_surfaces),
                                       cmocka_unit_test(surfaces_that_cut_themselves),
                                       cmocka_unit_test(bad_worlds_and_inputs),
                                       cmocka_unit_test(degenerate_positions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
