// SPDX-License-Identifier: Apache-2.0
// Coarser surfaces: closed ones stay closed and keep their volume, rims and corners stay, nodes are those of the
// surface, and the distance is that of spheres and chords.
#include "test.h"

#include "mesh/decimate.h"
#include "mesh/generate.h"
#include "mesh/topology.h"

#include <math.h>

typedef struct coarse
{
    tdMesh mesh;
    tdSurface surface;
    int32_t *tris;
    int64_t n_tris, n_nodes;
} coarse;

static coarse make_box(int cells)
{
    coarse c = {0};
    tdError error = {0};
    assert_ok(td_mesh_box((double[3]){-1, -1, -1}, (double[3]){1, 1, 1}, (int[3]){cells, cells, cells}, false, &c.mesh,
                          &error),
              error);
    assert_ok(td_mesh_boundary_faces(&c.mesh, &c.surface, &error), error);
    return c;
}

// The box blown up to a ball.
static coarse make_ball(int cells)
{
    coarse c = make_box(cells);
    for (int64_t i = 0; i < c.mesh.n_nodes; i++)
    {
        double *x = c.mesh.x + 3 * i, most = fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2])));
        double size = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
        for (int k = 0; k < 3 && size > 0; k++)
            x[k] *= most / size;
    }
    return c;
}

static void decimate(coarse *c, int64_t nodes)
{
    tdError error = {0};
    free(c->tris);
    c->tris = malloc((3 * (size_t)c->surface.n_tris + 1) * sizeof *c->tris);
    assert_non_null(c->tris);
    assert_ok(td_surface_decimate(c->mesh.n_nodes, c->mesh.x, c->surface.n_tris, c->surface.tris, nodes, c->tris,
                                  &c->n_tris, &c->n_nodes, &error),
              error);
}

static tdSurfaceCheck check_of(const coarse *c)
{
    tdSurfaceCheck check;
    tdError error = {0};
    assert_ok(td_surface_check(c->mesh.n_nodes, c->mesh.x, c->n_tris, c->tris, &check, &error), error);
    return check;
}

static double distance_of(const coarse *c)
{
    double distance = 0;
    tdError error = {0};
    assert_ok(td_surface_distance(c->mesh.x, c->surface.n_tris, c->surface.tris, c->mesh.x, c->n_tris, c->tris,
                                  &distance, &error),
              error);
    return distance;
}

static void release(coarse *c)
{
    td_mesh_free(&c->mesh);
    td_surface_free(&c->surface);
    free(c->tris);
}

// Sides are flat: eight corners are the whole box, and no step on the way leaves it.
static void test_box(void **unused)
{
    (void)unused;
    coarse c = make_box(12);
    for (int64_t nodes = 400; nodes >= 8; nodes = nodes == 8 ? 0 : nodes < 16 ? 8 : nodes / 2)
    {
        decimate(&c, nodes);
        tdSurfaceCheck check = check_of(&c);
        assert_int_equal(c.n_nodes, nodes);
        assert_true(check.closed);
        assert_int_equal(c.n_tris, 2 * nodes - 4); // Euler
        assert_near(check.volume, 8, 1e-12);
        assert_true(distance_of(&c) < 1e-12);
    }
    release(&c);
}

// n nodes on a ball have triangles of area 4 pi / 2 n and edges with square 4 / sqrt(3) times that; their middles are
// a quarter of the square / 2 inside, those of longer edges more. The volume lacks about as much.
static void test_ball(void **unused)
{
    (void)unused;
    coarse c = make_ball(16);
    assert_true(c.mesh.n_nodes > 4000);
    double before = INFINITY;
    for (int64_t nodes = 64; nodes <= 1024; nodes *= 4)
    {
        decimate(&c, nodes);
        tdSurfaceCheck check = check_of(&c);
        double d = distance_of(&c), usual = 4 / sqrt(3.0) * 4 * M_PI / (2.0 * (double)nodes) / 8;
        assert_int_equal(c.n_nodes, nodes);
        assert_true(check.closed);
        assert_int_equal(c.n_tris, 2 * nodes - 4);
        assert_true(d > usual && d < 5 * usual);
        assert_true(d < 0.5 * before);
        assert_true(check.volume < 4.0 / 3 * M_PI && check.volume > 4.0 / 3 * M_PI * (1 - 6 * usual));
        before = d;
    }
    release(&c);
}

// The rim of an open sheet stays where it is, and its corners too.
static void test_rim(void **unused)
{
    (void)unused;
    coarse c = make_box(10);
    int64_t n = 0;
    for (int64_t t = 0; t < c.surface.n_tris; t++) // the side z = 1 alone
    {
        bool top = true;
        for (int k = 0; k < 3; k++)
            top = top && c.mesh.x[3 * (int64_t)c.surface.tris[3 * t + k] + 2] > 1 - 1e-9;
        if (top)
            memmove(c.surface.tris + 3 * n++, c.surface.tris + 3 * t, 3 * sizeof(int32_t));
    }
    c.surface.n_tris = n;
    assert_int_equal(n, 200);
    decimate(&c, 4);
    tdSurfaceCheck check = check_of(&c);
    assert_int_equal(c.n_nodes, 4);
    assert_int_equal(c.n_tris, 2);
    assert_near(check.area, 4, 1e-12);
    release(&c);
}

// Asked for fewer nodes than a closed surface can have, it ends with what does not fold; two parts stay two.
static void test_least(void **unused)
{
    (void)unused;
    coarse c = make_ball(4);
    decimate(&c, 1);
    tdSurfaceCheck check = check_of(&c);
    assert_true(check.closed && check.volume > 0);
    assert_true(c.n_nodes >= 4 && c.n_nodes < 12);
    decimate(&c, c.mesh.n_nodes);
    assert_int_equal(c.n_tris, c.surface.n_tris);
    assert_int_equal(memcmp(c.tris, c.surface.tris, 3 * (size_t)c.n_tris * sizeof *c.tris), 0);
    assert_true(distance_of(&c) == 0);
    release(&c);
}

// What would take many minutes if it were quadratic: 80 thousand nodes. Sanitizers see the same with fewer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LARGE 60
#else
#define LARGE 200
#endif
static void test_large(void **unused)
{
    (void)unused;
    int n = LARGE;
    coarse c = {0};
    for (int j = 0; j <= 2 * n; j++)
        for (int i = 0; i <= n; i++)
            assert_true(td_mesh_add_node(&c.mesh, i, j, 10 * sin(0.05 * i) * cos(0.04 * j)));
    c.surface.tris = malloc(3 * 4 * (size_t)n * (size_t)n * sizeof *c.surface.tris);
    assert_non_null(c.surface.tris);
    for (int j = 0; j < 2 * n; j++)
        for (int i = 0; i < n; i++)
        {
            int32_t a = j * (n + 1) + i, t[6] = {a, a + 1, a + n + 2, a, a + n + 2, a + n + 1};
            memcpy(c.surface.tris + 3 * c.surface.n_tris, t, sizeof t);
            c.surface.n_tris += 2;
        }
    decimate(&c, 2000);
    assert_int_equal(c.n_nodes, 2000);
    assert_true(distance_of(&c) < 2);
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box),   cmocka_unit_test(test_ball),  cmocka_unit_test(test_rim),
        cmocka_unit_test(test_least), cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
