// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include "mesh/generate.h"
#include "mesh/topology.h"

#define PI 3.14159265358979323846

static const double zero[3] = {0, 0, 0};

static tdSurfaceCheck check_of(const tdMesh *mesh)
{
    tdSurfaceCheck check;
    tdError error = {0};
    assert_ok(td_surface_check(mesh->n_nodes, mesh->x, mesh->cells[TD_CELL_TRI].count, mesh->cells[TD_CELL_TRI].nodes,
                               &check, &error),
              error);
    return check;
}

static void test_box(void **state)
{
    (void)state;
    const double min[3] = {-1, 0, 2}, max[3] = {1, 1, 2.5};
    const int n[3] = {4, 3, 2};
    for (int hexahedra = 0; hexahedra < 2; hexahedra++)
    {
        tdMesh mesh = {0};
        tdError error = {0};
        tdCellType type = hexahedra ? TD_CELL_HEX : TD_CELL_TET, face = hexahedra ? TD_CELL_QUAD : TD_CELL_TRI;
        assert_ok(td_mesh_box(min, max, n, hexahedra, &mesh, &error), error);
        assert_ok(td_mesh_check(&mesh, NULL, &error), error);
        assert_int_equal(mesh.n_nodes, 5 * 4 * 3);
        assert_int_equal(mesh.cells[type].count, 24 * (hexahedra ? 1 : 6));
        assert_int_equal(mesh.cells[face].count, (hexahedra ? 1 : 2) * 2 * (12 + 6 + 8));
        double volume = 0;
        for (int64_t c = 0; c < mesh.cells[type].count; c++)
        {
            assert_true(td_cell_volume(&mesh, type, c) > 0);
            volume += td_cell_volume(&mesh, type, c);
        }
        assert_near(volume, 1, 1e-13);
        assert_int_equal(mesh.n_groups, 7);
        assert_int_equal(mesh.groups[td_mesh_find_group(&mesh, "body")].count[type], mesh.cells[type].count);
        td_mesh_free(&mesh);
    }
}

// Every side lies in its plane, covers it, and is a face of the body: the boundary keeps all six groups whole.
static void test_box_sides(void **state)
{
    (void)state;
    const double max[3] = {2, 3, 4};
    static const char *const names[6] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
    for (int hexahedra = 0; hexahedra < 2; hexahedra++)
    {
        tdMesh mesh = {0}, boundary = {0};
        tdError error = {0};
        assert_ok(td_mesh_box(zero, max, (int[]){2, 3, 4}, hexahedra, &mesh, &error), error);
        assert_ok(td_mesh_boundary(&mesh, &boundary, &error), error);
        assert_null(boundary.notes);
        for (int s = 0; s < 6; s++)
        {
            const tdGroup *group = &boundary.groups[td_mesh_find_group(&boundary, names[s])];
            double normal[3] = {0};
            for (int64_t i = 0; i < group->count[TD_CELL_TRI]; i++)
            {
                const int32_t *t = boundary.cells[TD_CELL_TRI].nodes + 3 * group->cells[TD_CELL_TRI][i];
                const double *p[3] = {boundary.x + 3 * t[0], boundary.x + 3 * t[1], boundary.x + 3 * t[2]};
                for (int k = 0; k < 3; k++)
                {
                    assert_near(p[k][s / 2], s % 2 ? max[s / 2] : 0, 0);
                    int a = (k + 1) % 3, b = (k + 2) % 3;
                    normal[k] +=
                        0.5 * ((p[1][a] - p[0][a]) * (p[2][b] - p[0][b]) - (p[1][b] - p[0][b]) * (p[2][a] - p[0][a]));
                }
            }
            for (int k = 0; k < 3; k++)
                assert_near(normal[k], k == s / 2 ? (s % 2 ? 1 : -1) * 24 / max[k] : 0, 1e-12);
        }
        td_mesh_free(&boundary);
        // The sides as the generator oriented them, without the body.
        mesh.cells[TD_CELL_TET].count = mesh.cells[TD_CELL_HEX].count = 0;
        assert_ok(td_mesh_boundary(&mesh, &boundary, &error), error);
        tdSurfaceCheck check = check_of(&boundary);
        assert_true(check.closed);
        assert_near(check.volume, 24, 1e-12);
        td_mesh_free(&boundary);
        td_mesh_free(&mesh);
    }
}

// Triangles with normals along z that cover the rectangle; borders that run around it with it on their left.
static void test_rectangle(void **state)
{
    (void)state;
    static const char *const names[4] = {"xmin", "xmax", "ymin", "ymax"};
    const double min[2] = {-1, 2}, max[2] = {3, 2.5};
    const int n[2] = {4, 3};
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_rectangle(min, max, n, &mesh, &error), error);
    assert_ok(td_mesh_check(&mesh, NULL, &error), error);
    assert_int_equal(mesh.n_nodes, 5 * 4);
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 2 * 12);
    assert_int_equal(mesh.cells[TD_CELL_LINE].count, 2 * (4 + 3));
    assert_int_equal(mesh.n_groups, 5);
    assert_int_equal(mesh.groups[td_mesh_find_group(&mesh, "body")].count[TD_CELL_TRI], 24);
    assert_near(mesh.x[3], 0, 0); // the second node is the first one's neighbour along x
    assert_near(mesh.x[4], 2, 0);
    double area = 0;
    for (int64_t i = 0; i < 24; i++)
    {
        const int32_t *t = mesh.cells[TD_CELL_TRI].nodes + 3 * i;
        const double *a = mesh.x + 3 * t[0], *b = mesh.x + 3 * t[1], *c = mesh.x + 3 * t[2];
        double twice = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        assert_near(twice, 4 * 0.5 / 12, 1e-14);
        area += twice / 2;
    }
    assert_near(area, 2, 1e-14);
    double around = 0; // the same area by Green's formula
    for (int s = 0; s < 4; s++)
    {
        const tdGroup *group = &mesh.groups[td_mesh_find_group(&mesh, names[s])];
        assert_int_equal(group->dim, 1);
        assert_int_equal(group->count[TD_CELL_LINE], n[1 - s / 2]);
        for (int64_t i = 0; i < group->count[TD_CELL_LINE]; i++)
        {
            const int32_t *l = mesh.cells[TD_CELL_LINE].nodes + 2 * group->cells[TD_CELL_LINE][i];
            const double *a = mesh.x + 3 * l[0], *b = mesh.x + 3 * l[1];
            assert_near(a[s / 2], s % 2 ? max[s / 2] : min[s / 2], 0);
            assert_near(b[s / 2], a[s / 2], 0);
            assert_near(a[2], 0, 0);
            around += (a[0] * b[1] - a[1] * b[0]) / 2;
        }
    }
    assert_near(around, 2, 1e-14);
    td_mesh_free(&mesh);
    assert_int_equal(td_mesh_rectangle(min, max, (int[]){1, 0}, &mesh, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "a rectangle needs at least 1 cell along y"));
    assert_int_equal(td_mesh_rectangle(max, min, n, &mesh, &error), TD_ERROR_INPUT);
    td_mesh_free(&mesh);
}

static void test_sphere(void **state)
{
    (void)state;
    const double center[3] = {5, -3, 1};
    double last = 1;
    for (int level = 0; level <= 4; level++)
    {
        tdMesh mesh = {0};
        tdError error = {0};
        assert_ok(td_mesh_sphere_surface(center, 2, level, &mesh, &error), error);
        int64_t tris = 20LL << (2 * level);
        assert_int_equal(mesh.cells[TD_CELL_TRI].count, tris);
        assert_int_equal(mesh.n_nodes, tris / 2 + 2); // Euler's formula for a sphere
        for (int64_t i = 0; i < mesh.n_nodes; i++)
        {
            const double *p = mesh.x + 3 * i;
            assert_near(hypot(hypot(p[0] - 5, p[1] + 3), p[2] - 1), 2, 1e-14);
        }
        tdSurfaceCheck check = check_of(&mesh);
        assert_true(check.closed);
        double miss = 1 - check.volume / (4.0 / 3 * PI * 8);
        assert_true(miss > 0);
        if (level > 2)
            assert_near(last / miss, 4, 0.2); // the error goes with the square of the edge
        last = miss;
        td_mesh_free(&mesh);
    }
}

static void test_torus(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_torus_surface(2, 0.5, 200, 100, &mesh, &error), error);
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 40000);
    assert_int_equal(mesh.n_nodes, 20000); // Euler's formula for a torus
    tdSurfaceCheck check = check_of(&mesh);
    assert_true(check.closed);
    double volume = 2 * PI * PI * 2 * 0.25;
    assert_near(check.volume, volume, 2e-3 * volume);
    assert_near(check.area, 4 * PI * PI * 2 * 0.5, 2e-3 * check.area);
    td_mesh_free(&mesh);
}

static void test_torus_of_tetrahedra(void **state)
{
    (void)state;
    const int cells[3][3] = {{30, 10, 1}, {48, 14, 2}, {96, 20, 5}};
    const int64_t nodes[3] = {300, 1344, 9600}, tets[3] = {720, 48 * (12 + 28) * 3, 96 * (18 + 160) * 3};
    for (int k = 0; k < 3; k++)
    {
        tdMesh mesh = {0};
        tdError error = {0};
        assert_ok(td_mesh_torus(0.05, 0.015, cells[k], &mesh, &error), error);
        assert_int_equal(mesh.n_nodes, nodes[k]);
        assert_int_equal(mesh.cells[TD_CELL_TET].count, tets[k]);
        double sum = 0;
        for (int64_t e = 0; e < tets[k]; e++)
        {
            double volume = td_cell_volume(&mesh, TD_CELL_TET, e);
            assert_true(volume > 0);
            sum += volume;
        }
        // Its surface is that of the cells: closed, and it encloses them.
        tdSurfaceCheck check = check_of(&mesh);
        assert_true(check.closed);
        assert_near(sum, check.volume, 1e-12 * sum);
        double n = cells[k][0], m = cells[k][1]; // polygons instead of circles
        double section = 0.5 * m * sin(2 * PI / m) * 0.015 * 0.015;
        assert_near(sum, section * 2 * PI * 0.05, 2 * (2 * PI / n) * (2 * PI / n) * sum);
        td_mesh_free(&mesh);
    }
}

static void test_nonsense_is_refused(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    const double max[3] = {1, 1, 1}, bad[3] = {1, 0, 1}, nan3[3] = {1, NAN, 1};
    assert_int_equal(td_mesh_box(zero, bad, (int[]){1, 1, 1}, false, &mesh, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "along y"));
    assert_int_equal(td_mesh_box(zero, nan3, (int[]){1, 1, 1}, false, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(td_mesh_box(zero, max, (int[]){1, 1, 0}, false, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(td_mesh_box(zero, max, (int[]){100000, 100000, 100000}, false, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(td_mesh_sphere_surface(zero, 0, 2, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(td_mesh_sphere_surface(zero, 1, 9, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(td_mesh_torus_surface(1, 2, 10, 10, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(td_mesh_torus_surface(2, 1, 2, 10, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(td_mesh_torus(1, 2, (int[]){10, 10, 1}, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(td_mesh_torus(2, 1, (int[]){10, 10, 0}, &mesh, &error), TD_ERROR_INPUT);
    assert_int_equal(mesh.n_nodes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_box_sides),
        cmocka_unit_test(test_rectangle),
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_torus),
        cmocka_unit_test(test_nonsense_is_refused),
        cmocka_unit_test(test_torus_of_tetrahedra),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
