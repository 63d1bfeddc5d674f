// SPDX-License-Identifier: Apache-2.0
// Each fault is put into a sound mesh and must be found; the sound mesh must have none.
#include "test.h"

#include "mesh/doctor.h"
#include "mesh/generate.h"

static const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1};

static tdMesh box(bool hexahedra)
{
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_box(zero, one, (int[]){3, 3, 3}, hexahedra, &mesh, &error), error);
    return mesh;
}

static tdMeshReport examine(const tdMesh *mesh)
{
    static tdMeshReport report;
    tdError error = {0};
    assert_ok(td_mesh_examine(mesh, &report, &error), error);
    return report;
}

static bool tells(const tdMeshReport *report, const char *what)
{
    for (int i = 0; i < report->n_problems; i++)
        if (strstr(report->problem[i].what, what) != NULL)
        {
            assert_true(report->problem[i].advice[0] != '\0');
            return true;
        }
    return false;
}

static void test_sound_meshes(void **state)
{
    (void)state;
    for (int hexahedra = 0; hexahedra < 2; hexahedra++)
    {
        tdMesh mesh = box(hexahedra);
        tdMeshReport r = examine(&mesh);
        tdCellType type = hexahedra ? TD_CELL_HEX : TD_CELL_TET;
        assert_int_equal(r.n_problems, 0);
        assert_int_equal(r.dim, 3);
        assert_int_equal(r.n_nodes, 64);
        assert_int_equal(r.count[type], hexahedra ? 27 : 162);
        assert_near(r.volume, 1, 1e-13);
        assert_near(r.area, 6, 1e-13);
        assert_near(r.diagonal, sqrt(3.0), 1e-15);
        assert_int_equal(r.components, 1);
        assert_true(r.surface.closed);
        assert_near(r.edge_min, 1.0 / 3, 1e-15);
        assert_near(r.edge_max, hexahedra ? 1.0 / 3 : sqrt(3.0) / 3, 1e-15);
        // Kuhn's tetrahedron: V = 1/6, Σ l² = 3 + 2*2 + 3, so 12 (1/2)^(2/3) / 10.
        assert_near(r.quality[type].mean, hexahedra ? 1 : 1.2 * cbrt(0.25), 1e-13);
        assert_int_equal(r.quality[type].bins[hexahedra ? 9 : 7], r.count[type]);
        td_mesh_free(&mesh);
    }
}

static void test_quality_of_regular_cells(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    const double corner[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    for (int i = 0; i < 4; i++)
        assert_true(td_mesh_add_node(&mesh, corner[i][0], corner[i][1], corner[i][2]));
    assert_true(td_mesh_add_node(&mesh, 1, 1, -1));
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TET, (int32_t[]){0, 2, 1, 3}));
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TRI, (int32_t[]){0, 1, 2}));
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TRI, (int32_t[]){0, 4, 1}));
    double tet = td_cell_quality(&mesh, TD_CELL_TET, 0);
    if (td_cell_volume(&mesh, TD_CELL_TET, 0) < 0)
    {
        assert_near(tet, 0, 0); // inverted
        assert_int_equal(td_mesh_orient(&mesh), 1);
        tet = td_cell_quality(&mesh, TD_CELL_TET, 0);
    }
    assert_near(tet, 1, 1e-14);
    assert_near(td_cell_quality(&mesh, TD_CELL_TRI, 0), 1, 1e-14);
    assert_near(td_cell_quality(&mesh, TD_CELL_TRI, 1), sqrt(3.0) / 2, 1e-14); // right isosceles
    td_mesh_free(&mesh);
}

static void test_inverted(void **state)
{
    (void)state;
    tdMesh mesh = box(false);
    int32_t *n = mesh.cells[TD_CELL_TET].nodes + 4 * 80, kept = n[1];
    n[1] = n[2];
    n[2] = kept;
    tdMeshReport r = examine(&mesh);
    assert_int_equal(r.inverted.count, 1);
    assert_int_equal(r.inverted.n, 1);
    assert_int_equal(r.inverted.type[0], TD_CELL_TET);
    assert_int_equal(r.inverted.cell[0], 80);
    assert_near(r.quality[TD_CELL_TET].min, 0, 0);
    assert_int_equal(r.quality[TD_CELL_TET].worst, 80);
    assert_true(tells(&r, "1 inverted or flat cell; the first is number 80"));
    assert_true(r.problem[0].blocks);
    // The whole mesh mirrored: all are listed up to the limit and counted.
    n[2] = n[1];
    n[1] = kept;
    for (int64_t i = 0; i < mesh.n_nodes; i++)
        mesh.x[3 * i] = -mesh.x[3 * i];
    r = examine(&mesh);
    assert_int_equal(r.inverted.count, 162);
    assert_int_equal(r.inverted.n, TD_REPORT_LIST);
    assert_int_equal(r.inverted.cell[TD_REPORT_LIST - 1], TD_REPORT_LIST - 1);
    assert_near(r.volume, -1, 1e-13);
    assert_true(tells(&r, "all of them"));
    td_mesh_free(&mesh);
}

static void test_hexahedron_with_a_bad_corner(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_box(zero, one, (int[]){1, 1, 1}, true, &mesh, &error), error);
    mesh.x[0] = mesh.x[1] = mesh.x[2] = 0.7; // pushed in beyond the plane of its neighbours
    tdMeshReport r = examine(&mesh);
    assert_true(td_cell_volume(&mesh, TD_CELL_HEX, 0) > 0);
    assert_int_equal(r.inverted.count, 1);
    td_mesh_free(&mesh);
}

static void test_degenerate(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    for (int i = 0; i < 3; i++)
        assert_true(td_mesh_add_node(&mesh, i == 1, i == 2, 0));
    assert_true(td_mesh_add_node(&mesh, 0.3, 0.3, 1e-8));
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TET, (int32_t[]){0, 1, 2, 3}));
    tdMeshReport r = examine(&mesh);
    assert_int_equal(r.inverted.count, 0);
    assert_int_equal(r.degenerate.count, 1);
    assert_true(tells(&r, "1 degenerate cell"));
    mesh.x[11] = 0; // flat: no volume at all
    r = examine(&mesh);
    assert_int_equal(r.inverted.count, 1);
    assert_int_equal(r.degenerate.count, 0);
    td_mesh_free(&mesh);
}

static void test_same_nodes(void **state)
{
    (void)state;
    tdMesh mesh = box(false);
    int64_t n = mesh.n_nodes;
    assert_true(td_mesh_add_node(&mesh, mesh.x[30], mesh.x[31], mesh.x[32]));
    assert_true(td_mesh_add_node(&mesh, mesh.x[60] + 1e-9, mesh.x[61], mesh.x[62] - 1e-9));
    assert_true(td_mesh_add_node(&mesh, mesh.x[60] + 1e-8, mesh.x[61], mesh.x[62])); // far enough
    tdMeshReport r = examine(&mesh);
    assert_int_equal(r.same.count, 1);
    assert_int_equal(r.same.first[0], 10);
    assert_int_equal(r.same.first[1], n);
    assert_int_equal(r.nearly_same.count, 1);
    assert_int_equal(r.nearly_same.first[0], 20);
    assert_int_equal(r.nearly_same.first[1], n + 1);
    assert_int_equal(r.unused, 3);
    assert_int_equal(r.first_unused, n);
    assert_true(tells(&r, "3 nodes belong to no cell"));
    td_mesh_free(&mesh);
}

// A crack: one cell torn off by nodes of its own. The parts and the nodes tell.
static void test_two_parts(void **state)
{
    (void)state;
    tdMesh mesh = box(false);
    int32_t own[4];
    for (int k = 0; k < 4; k++)
    {
        const double *p = mesh.x + 3 * mesh.cells[TD_CELL_TET].nodes[k];
        double x = p[0] + 5, y = p[1], z = p[2];
        own[k] = (int32_t)mesh.n_nodes;
        assert_true(td_mesh_add_node(&mesh, x, y, z));
    }
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TET, own));
    tdMeshReport r = examine(&mesh);
    assert_int_equal(r.components, 2);
    assert_true(r.surface.closed);
    assert_true(tells(&r, "2 parts"));
    td_mesh_free(&mesh);
}

static void test_duplicate_cells(void **state)
{
    (void)state;
    tdMesh mesh = box(true);
    int32_t turned[8];
    for (int k = 0; k < 8; k++) // the same cell, numbered from another corner
        turned[k] = mesh.cells[TD_CELL_HEX].nodes[8 * 5 + (k / 4) * 4 + (k + 1) % 4];
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_HEX, turned));
    tdMeshReport r = examine(&mesh);
    assert_int_equal(r.duplicate.count, 1);
    assert_int_equal(r.duplicate.cell[0], 27);
    assert_true(r.crowded_faces > 0);
    assert_true(tells(&r, "1 repeated cell"));
    // A face given twice, as for two groups, is worth a note only.
    assert_int_equal(r.lower_repeats, 0);
    int32_t face[4];
    memcpy(face, mesh.cells[TD_CELL_QUAD].nodes, sizeof face);
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_QUAD, face));
    r = examine(&mesh);
    assert_int_equal(r.lower_repeats, 1);
    assert_int_equal(r.duplicate.count, 1);
    td_mesh_free(&mesh);
}

static void test_open_surface(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_sphere_surface(zero, 1, 3, &mesh, &error), error);
    tdMeshReport r = examine(&mesh);
    assert_true(r.surface.closed);
    assert_near(r.volume, 4.16, 0.02);
    assert_int_equal(r.n_problems, 1); // that it is not a body
    mesh.cells[TD_CELL_TRI].count--;
    mesh.groups[0].count[TD_CELL_TRI]--;
    r = examine(&mesh);
    assert_false(r.surface.closed);
    assert_int_equal(r.surface.open, 3);
    assert_near(r.volume, 0, 0);
    assert_true(tells(&r, "3 edges have one triangle only"));
    for (int64_t i = 0; i < mesh.cells[TD_CELL_TRI].count; i++)
    {
        int32_t *t = mesh.cells[TD_CELL_TRI].nodes + 3 * i, kept = t[0];
        t[0] = t[1];
        t[1] = kept;
    }
    mesh.cells[TD_CELL_TRI].count++; // the last triangle alone faces outwards
    r = examine(&mesh);
    assert_int_equal(r.surface.flipped, 3);
    assert_true(tells(&r, "face opposite ways"));
    td_mesh_free(&mesh);
}

static void test_lower_cells_and_empty_groups(void **state)
{
    (void)state;
    tdMesh mesh = box(false);
    assert_true(td_mesh_add_node(&mesh, 4, 4, 4));
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_LINE, (int32_t[]){0, 64}));
    assert_true(td_mesh_group(&mesh, "nothing", 2, 9) >= 0);
    tdMeshReport r = examine(&mesh);
    assert_int_equal(r.loose, 1);
    assert_int_equal(r.unused, 0);
    assert_true(tells(&r, "group 'nothing' is empty"));
    assert_true(tells(&r, "1 nodes belong to cells of lower dimension"));
    td_mesh_free(&mesh);
}

static void test_hostile_numbers(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    tdMeshReport report;
    assert_int_equal(td_mesh_examine(&mesh, &report, &error), TD_ERROR_INPUT); // empty
    // A hundred thousand nodes at one place and one far away must not take quadratic time.
    for (int i = 0; i < 100000; i++)
        assert_true(td_mesh_add_node(&mesh, i * 1e-16, 0, 0));
    assert_true(td_mesh_add_node(&mesh, 1e6, 0, 0));
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_LINE, (int32_t[]){0, 100000}));
    tdMeshReport r = examine(&mesh);
    assert_int_equal(r.same.count + r.nearly_same.count, 99999);
    mesh.x[0] = 1e300;
    assert_int_equal(td_mesh_examine(&mesh, &report, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "scale"));
    mesh.x[0] = NAN;
    assert_int_equal(td_mesh_examine(&mesh, &report, &error), TD_ERROR_INPUT);
    for (int64_t i = 0; i < 3 * mesh.n_nodes; i++)
        mesh.x[i] = 2; // all at one place
    r = examine(&mesh);
    assert_int_equal(r.same.count, 100000);
    td_mesh_free(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_meshes),    cmocka_unit_test(test_quality_of_regular_cells),
        cmocka_unit_test(test_inverted),        cmocka_unit_test(test_hexahedron_with_a_bad_corner),
        cmocka_unit_test(test_degenerate),      cmocka_unit_test(test_same_nodes),
        cmocka_unit_test(test_two_parts),       cmocka_unit_test(test_duplicate_cells),
        cmocka_unit_test(test_open_surface),    cmocka_unit_test(test_lower_cells_and_empty_groups),
        cmocka_unit_test(test_hostile_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
