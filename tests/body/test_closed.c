// SPDX-License-Identifier: Apache-2.0
// Surfaces that enclose a volume, and the many ways not to. Volumes of cubes are exact but for rounding.
#include "base/status.h"
#include "mesh/topology.h"
#include "test.h"

static const int32_t cube_tris[36] = {0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4,
                                      1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7};

typedef struct soup
{
    int64_t n_nodes, n_tris;
    double x[300];
    int32_t tris[600];
} soup;

// A cube of side s, its normals outwards or inwards.
static void add_cube(soup *to, double at, double s, bool inwards)
{
    static const double corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                        {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    for (int i = 0; i < 36; i++)
    {
        int from = inwards && i % 3 != 0 ? i - i % 3 + 3 - i % 3 : i;
        to->tris[3 * to->n_tris + i] = cube_tris[from] + (int32_t)to->n_nodes;
    }
    for (int i = 0; i < 24; i++)
        to->x[3 * to->n_nodes + i] = at + s * corner[i / 3][i % 3];
    to->n_tris += 12;
    to->n_nodes += 8;
}

static void turn(soup *s, int tri)
{
    int32_t kept = s->tris[3 * tri];
    s->tris[3 * tri] = s->tris[3 * tri + 1];
    s->tris[3 * tri + 1] = kept;
}

static tdClosedResult closed(soup *s)
{
    tdClosedResult result;
    tdError error = {0};
    assert_ok(td_surface_closed(s->n_nodes, s->x, s->n_tris, s->tris, &result, &error), error);
    char text[400];
    td_closed_reason(&result, s->x, text, sizeof text);
    assert_true((text[0] == '\0') == (result.closed && result.flat < result.parts));
    return result;
}

// The check of surfaces agrees.
static void assert_closed(const soup *s, double volume)
{
    tdSurfaceCheck check;
    tdError error = {0};
    assert_ok(td_surface_check(s->n_nodes, s->x, s->n_tris, s->tris, &check, &error), error);
    assert_true(check.closed);
    assert_near(check.volume, volume, 1e-12);
}

static void assert_reason(soup *s, const char *words)
{
    soup before = *s;
    tdClosedResult result = closed(s);
    char text[400];
    td_closed_reason(&result, s->x, text, sizeof text);
    if (strstr(text, words) == NULL)
        fail_msg("expected '%s' in '%s'", words, text);
    assert_false(result.closed);
    assert_memory_equal(&before, s, sizeof before); // what is not understood is not touched
}

static void test_cube(void **state)
{
    (void)state;
    soup s = {0};
    add_cube(&s, 100, 2, false);
    soup before = s;
    tdClosedResult r = closed(&s);
    assert_true(r.closed);
    assert_int_equal(r.parts, 1);
    assert_int_equal(r.turned + r.inner + r.flat + r.open + r.crowded + r.one_sided + r.degenerate, 0);
    assert_near(r.volume, 8, 1e-12);
    assert_memory_equal(&before, &s, sizeof s);
}

static void test_open_cube(void **state)
{
    (void)state;
    soup s = {0};
    add_cube(&s, 0, 1, false);
    s.n_tris = 11; // without 3 4 7
    tdClosedResult r = closed(&s);
    assert_int_equal(r.open, 3);
    assert_int_equal(r.open_edge[0], 3);
    assert_int_equal(r.open_edge[1], 4);
    assert_reason(&s, "3 edges, the first from (0, 1, 0) to (0, 0, 1)");
    soup none = {0};
    assert_reason(&none, "no triangles");
}

static void test_flipped_triangles(void **state)
{
    (void)state;
    for (int mask = 1; mask < 4096; mask++) // every choice
    {
        soup s = {0};
        add_cube(&s, 0, 1, false);
        int turned = 0;
        for (int t = 0; t < 12; t++)
            if (mask >> t & 1)
            {
                turn(&s, t);
                turned++;
            }
        tdClosedResult r = closed(&s);
        assert_true(r.closed);
        assert_int_equal(r.turned, turned);
        assert_near(r.volume, 1, 1e-14);
        assert_closed(&s, 1);
    }
}

static void test_two_parts(void **state)
{
    (void)state;
    soup s = {0};
    add_cube(&s, 0, 1, false);
    add_cube(&s, 3, 2, true);
    tdClosedResult r = closed(&s);
    assert_true(r.closed);
    assert_int_equal(r.parts, 2);
    assert_int_equal(r.turned, 12);
    assert_int_equal(r.inner, 0);
    assert_near(r.volume, 9, 1e-13);
    assert_closed(&s, 9);
}

static void test_parts_within_parts(void **state)
{
    (void)state;
    for (int mask = 0; mask < 8; mask++)
    {
        soup s = {0};
        add_cube(&s, 2, 2, mask & 1); // a room within a block within a room
        add_cube(&s, 0, 10, mask & 2);
        add_cube(&s, 1, 4, mask & 4);
        tdClosedResult r = closed(&s);
        assert_true(r.closed);
        assert_int_equal(r.inner, 1);
        assert_near(r.volume, 1000 - 64 + 8, 1e-10);
        assert_closed(&s, 1000 - 64 + 8);
    }
}

// A box around is not enough: the second cube is in the corner that an L leaves free.
static void test_beside_is_not_within(void **state)
{
    (void)state;
    soup s = {0};
    add_cube(&s, 0, 3, false);
    for (int k = 0; k < 3; k++)
        s.x[3 * 6 + k] = 0.5; // pushes the far corner in
    add_cube(&s, 2, 0.5, false);
    tdClosedResult r = closed(&s);
    assert_true(r.closed);
    assert_int_equal(r.inner, 0);
    assert_int_equal(r.turned, 0);
}

static void test_moebius_strip(void **state)
{
    (void)state;
    enum
    {
        N = 10
    };
    soup s = {.n_nodes = 2 * N, .n_tris = 2 * N};
    for (int i = 0; i < N; i++)
    {
        double phi = 2 * acos(-1) * i / N;
        for (int side = 0; side < 2; side++)
        {
            double w = (side - 0.5) * 0.6, *p = s.x + 6 * i + 3 * side;
            p[0] = (1 + w * cos(phi / 2)) * cos(phi);
            p[1] = (1 + w * cos(phi / 2)) * sin(phi);
            p[2] = w * sin(phi / 2);
        }
        int32_t a = 2 * i, b = a + 1, c = i == N - 1 ? 1 : a + 2, d = i == N - 1 ? 0 : a + 3;
        memcpy(s.tris + 6 * i, (int32_t[]){a, b, c, b, d, c}, 6 * sizeof *s.tris);
    }
    tdClosedResult r = closed(&s);
    assert_int_equal(r.parts, 1);
    assert_int_equal(r.open, 2 * N);
    assert_true(r.one_sided > 0);
    assert_reason(&s, "open");
}

// The projective plane of six nodes: every edge is good, yet it has one side only.
static void test_one_sided_without_edges(void **state)
{
    (void)state;
    soup s = {.n_nodes = 6, .n_tris = 10};
    const int32_t tris[30] = {0, 1, 2, 0, 2, 3, 0, 3, 4, 0, 4, 5, 0, 5, 1, 1, 2, 4, 2, 3, 5, 3, 4, 1, 4, 5, 2, 5, 1, 3};
    memcpy(s.tris, tris, sizeof tris);
    for (int i = 0; i < 18; i++)
        s.x[i] = sin(i * i);
    tdClosedResult r = closed(&s);
    assert_int_equal(r.open + r.crowded, 0);
    assert_true(r.one_sided > 0);
    assert_reason(&s, "one side only");
}

// A node in the middle of an edge that only one of its two triangles knows of.
static void test_t_junction(void **state)
{
    (void)state;
    soup s = {0};
    add_cube(&s, 0, 1, false);
    s.n_nodes = 9; // node 8 halves the edge 0-1 in triangle 0 1 5
    memcpy(s.x + 24, (double[]){0.5, 0, 0}, 3 * sizeof(double));
    memcpy(s.tris + 12, (int32_t[]){0, 8, 5}, 3 * sizeof(int32_t));
    memcpy(s.tris + 36, (int32_t[]){8, 1, 5}, 3 * sizeof(int32_t));
    s.n_tris = 13;
    tdClosedResult r = closed(&s);
    assert_int_equal(r.open, 3);
    assert_reason(&s, "open");
    // A triangle of no area in the gap closes it.
    memcpy(s.tris + 39, (int32_t[]){0, 1, 8}, 3 * sizeof(int32_t));
    s.n_tris = 14;
    r = closed(&s);
    assert_true(r.closed);
    assert_int_equal(r.degenerate, 1);
    assert_int_equal(r.degenerate_tri, 13);
    assert_near(r.volume, 1, 1e-15);
}

static void test_branching(void **state)
{
    (void)state;
    soup s = {0};
    add_cube(&s, 0, 1, false);
    memcpy(s.tris + 36, (int32_t[]){0, 2, 6, 0, 6, 4}, 6 * sizeof(int32_t)); // a wall across
    s.n_tris = 14;
    tdClosedResult r = closed(&s);
    assert_true(r.crowded > 0);
    assert_int_equal(r.crowded_edge[0], 0);
    assert_int_equal(r.crowded_edge[1], 2);
    assert_reason(&s, "branches");
    memcpy(s.tris + 36, s.tris, 3 * sizeof(int32_t)); // the same triangle twice
    s.n_tris = 13;
    assert_reason(&s, "branches");
}

static void test_collapsed_triangles_do_no_harm(void **state)
{
    (void)state;
    soup s = {0};
    add_cube(&s, 0, 1, true);
    memcpy(s.tris + 36, (int32_t[]){0, 0, 1, 3, 4, 3, 2, 2, 2}, 9 * sizeof(int32_t));
    s.n_tris = 15;
    tdClosedResult r = closed(&s);
    assert_true(r.closed);
    assert_int_equal(r.parts, 1);
    assert_int_equal(r.degenerate, 3);
    assert_int_equal(r.degenerate_tri, 12);
    assert_int_equal(r.turned, 12);
    assert_closed(&s, 1);
}

static void test_flat(void **state)
{
    (void)state;
    soup s = {.n_nodes = 3, .n_tris = 2, .x = {0, 0, 0, 1, 0, 0, 0, 1, 0}, .tris = {0, 1, 2, 0, 1, 2}};
    tdClosedResult r = closed(&s);
    assert_true(r.closed);
    assert_int_equal(r.flat, 1);
    assert_int_equal(r.turned, 1);
    char text[400], cut[10];
    td_closed_reason(&r, s.x, text, sizeof text);
    assert_non_null(strstr(text, "flat"));
    td_closed_reason(&r, s.x, cut, sizeof cut);
    assert_int_equal(strlen(cut), 9);
}

static void test_too_many_parts(void **state)
{
    (void)state;
    enum
    {
        N = TD_CLOSED_PARTS + 1
    };
    static double x[12 * N];
    static int32_t tris[12 * N];
    for (int i = 0; i < N; i++) // tetrahedra in a row
        for (int k = 0; k < 12; k++)
        {
            x[12 * i + k] = (k == 3 || k == 7 || k == 11) + (k % 3 == 0 ? 2. * i : 0);
            tris[12 * i + k] = 4 * i + (int32_t[]){0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2}[k];
        }
    tdClosedResult result;
    tdError error = {0};
    assert_int_equal(td_surface_closed(4 * N, x, 4 * N, tris, &result, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "1001 separate parts"));
    assert_ok(td_surface_closed(4 * (N - 1), x, 4 * (N - 1), tris, &result, &error), error);
    assert_near(result.volume, (N - 1) / 6., 1e-9); // rounding of coordinates up to 2000
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cube),
        cmocka_unit_test(test_open_cube),
        cmocka_unit_test(test_flipped_triangles),
        cmocka_unit_test(test_two_parts),
        cmocka_unit_test(test_parts_within_parts),
        cmocka_unit_test(test_beside_is_not_within),
        cmocka_unit_test(test_moebius_strip),
        cmocka_unit_test(test_one_sided_without_edges),
        cmocka_unit_test(test_t_junction),
        cmocka_unit_test(test_branching),
        cmocka_unit_test(test_collapsed_triangles_do_no_harm),
        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_too_many_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
