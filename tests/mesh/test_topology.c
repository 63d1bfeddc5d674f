// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include "mesh/generate.h"
#include "mesh/locate.h"
#include "mesh/topology.h"

static const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1}, size[3] = {1, 2, 3};

// Repeatable numbers in [-1, 1].
static double next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) / 4503599627370496.0 - 1.0;
}

static tdMesh box(int nx, int ny, int nz, bool hexahedra)
{
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_box(zero, size, (int[]){nx, ny, nz}, hexahedra, &mesh, &error), error);
    return mesh;
}

static tdSurface boundary_of(const tdMesh *mesh)
{
    tdSurface surface;
    tdError error = {0};
    assert_ok(td_mesh_boundary_faces(mesh, &surface, &error), error);
    return surface;
}

static tdSurfaceCheck check_of(const tdMesh *mesh, const tdSurface *surface)
{
    tdSurfaceCheck check;
    tdError error = {0};
    assert_ok(td_surface_check(mesh->n_nodes, mesh->x, surface->n_tris, surface->tris, &check, &error), error);
    return check;
}

static void test_boundary_of_a_box(void **state)
{
    (void)state;
    for (int hexahedra = 0; hexahedra < 2; hexahedra++)
    {
        tdMesh mesh = box(3, 4, 5, hexahedra);
        tdSurface surface = boundary_of(&mesh);
        assert_int_equal(surface.n_tris, 2 * 2 * (3 * 4 + 4 * 5 + 5 * 3));
        assert_int_equal(surface.crowded, 0);
        tdSurfaceCheck check = check_of(&mesh, &surface);
        assert_true(check.closed);
        assert_near(check.volume, 6, 1e-12); // outward: positive
        assert_near(check.area, 2 * (2 + 6 + 3), 1e-12);
        // Each triangle's nodes belong to the cell it names, and the order follows the cells.
        tdCellType type = hexahedra ? TD_CELL_HEX : TD_CELL_TET;
        int n = td_cell_nodes(type);
        for (int64_t i = 0; i < surface.n_tris; i++)
        {
            assert_true(i == 0 || surface.cell[i] >= surface.cell[i - 1]);
            for (int k = 0; k < 3; k++)
            {
                bool found = false;
                for (int c = 0; c < n; c++)
                    found |= mesh.cells[type].nodes[surface.cell[i] * n + c] == surface.tris[3 * i + k];
                assert_true(found);
            }
        }
        td_surface_free(&surface);
        td_mesh_free(&mesh);
    }
}

static void test_boundary_does_not_care_for_mirrored_cells(void **state)
{
    (void)state;
    tdMesh mesh = box(2, 2, 2, false);
    for (int64_t c = 0; c < mesh.cells[TD_CELL_TET].count; c += 2)
    {
        int32_t *n = mesh.cells[TD_CELL_TET].nodes + 4 * c, kept = n[0];
        n[0] = n[3];
        n[3] = kept;
    }
    tdSurface surface = boundary_of(&mesh);
    tdSurfaceCheck check = check_of(&mesh, &surface);
    assert_true(check.closed);
    assert_near(check.volume, 6, 1e-12);
    assert_int_equal(td_mesh_orient(&mesh), 24);
    assert_int_equal(td_mesh_orient(&mesh), 0);
    td_surface_free(&surface);
    td_mesh_free(&mesh);
}

static void test_orient_turns_hexahedra(void **state)
{
    (void)state;
    tdMesh mesh = box(1, 1, 1, true);
    int32_t *n = mesh.cells[TD_CELL_HEX].nodes, old[8];
    memcpy(old, n, sizeof old);
    memcpy(n, (int32_t[]){old[4], old[5], old[6], old[7], old[0], old[1], old[2], old[3]}, sizeof old);
    assert_near(td_cell_volume(&mesh, TD_CELL_HEX, 0), -6, 1e-14);
    assert_int_equal(td_mesh_orient(&mesh), 1);
    assert_near(td_cell_volume(&mesh, TD_CELL_HEX, 0), 6, 1e-14);
    td_mesh_free(&mesh);
}

// Volume of a hexahedron with bent faces against its definition, ∫ det J, by Gauss points.
static void test_volume_of_a_bent_hexahedron(void **state)
{
    (void)state;
    static const double x[8][3] = {{0, 0, 0.1},  {1, 0.2, 0},   {1.3, 1, 0.3}, {0, 1, 0},
                                   {0, -0.2, 1}, {1.1, 0, 1.2}, {1, 1.4, 1},   {0.2, 1, 0.8}};
    static const int sign[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                   {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};
    tdMesh mesh = {0};
    for (int i = 0; i < 8; i++)
        assert_true(td_mesh_add_node(&mesh, x[i][0], x[i][1], x[i][2]));
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_HEX, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7}));
    double sum = 0;
    for (int g = 0; g < 8; g++)
    {
        double J[3][3] = {{0}}, at[3];
        for (int k = 0; k < 3; k++)
            at[k] = sign[g][k] / sqrt(3.0);
        for (int i = 0; i < 8; i++)
            for (int d = 0; d < 3; d++)
            {
                double slope = sign[i][d] / 8.0;
                for (int k = 0; k < 3; k++)
                    slope *= k == d ? 1 : 1 + sign[i][k] * at[k];
                for (int r = 0; r < 3; r++)
                    J[r][d] += x[i][r] * slope;
            }
        sum += J[0][0] * (J[1][1] * J[2][2] - J[1][2] * J[2][1]) - J[0][1] * (J[1][0] * J[2][2] - J[1][2] * J[2][0]) +
               J[0][2] * (J[1][0] * J[2][1] - J[1][1] * J[2][0]);
    }
    assert_near(td_cell_volume(&mesh, TD_CELL_HEX, 0), sum, 1e-14);
    td_mesh_free(&mesh);
}

static void test_quadratic_tetrahedron_shows_its_middle_nodes(void **state)
{
    (void)state;
    static const double x[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const int middle[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    tdMesh mesh = {0};
    for (int i = 0; i < 4; i++)
        assert_true(td_mesh_add_node(&mesh, x[i][0], x[i][1], x[i][2]));
    for (int i = 0; i < 6; i++)
    {
        const double *a = x[middle[i][0]], *b = x[middle[i][1]];
        assert_true(td_mesh_add_node(&mesh, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (a[2] + b[2]) / 2));
    }
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TET10, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    tdSurface surface = boundary_of(&mesh);
    assert_int_equal(surface.n_tris, 16);
    tdSurfaceCheck check = check_of(&mesh, &surface);
    assert_true(check.closed);
    assert_near(check.volume, 1.0 / 6, 1e-15);
    assert_near(check.area, 1.5 + sqrt(3.0) / 2, 1e-14);
    td_surface_free(&surface);
    // A group given by the corners takes all four triangles of its face; a mirrored cell stays closed.
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TRI, (int32_t[]){2, 1, 0}));
    assert_true(td_mesh_group_add(&mesh, td_mesh_group(&mesh, "base", 2, 7), TD_CELL_TRI, 0));
    tdMesh boundary = {0};
    tdError error = {0};
    assert_ok(td_mesh_boundary(&mesh, &boundary, &error), error);
    assert_int_equal(boundary.n_groups, 1);
    assert_int_equal(boundary.groups[0].count[TD_CELL_TRI], 4);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
        {
            int32_t tri = boundary.groups[0].cells[TD_CELL_TRI][i];
            assert_near(boundary.x[3 * boundary.cells[TD_CELL_TRI].nodes[3 * tri + k] + 2], 0, 0);
        }
    td_mesh_free(&boundary);
    td_mesh_free(&mesh);
}

static void test_boundary_mesh_keeps_groups(void **state)
{
    (void)state;
    for (int hexahedra = 0; hexahedra < 2; hexahedra++)
    {
        tdMesh mesh = box(3, 3, 3, hexahedra), boundary = {0};
        tdError error = {0};
        // One face inside the body: not part of the boundary, so it is left out and noted.
        int inner = td_mesh_group(&mesh, "inner", 2, 50);
        const int32_t *n = mesh.cells[hexahedra ? TD_CELL_HEX : TD_CELL_TET].nodes + (hexahedra ? 8 * 13 : 4 * 6 * 13);
        tdCellType type = hexahedra ? TD_CELL_QUAD : TD_CELL_TRI;
        assert_true(td_mesh_add_cell(&mesh, type, n));
        assert_true(td_mesh_group_add(&mesh, inner, type, mesh.cells[type].count - 1));
        assert_ok(td_mesh_boundary(&mesh, &boundary, &error), error);
        assert_int_equal(boundary.n_nodes, 64 - 8);
        assert_int_equal(boundary.cells[TD_CELL_TRI].count, 108);
        assert_int_equal(boundary.cells[TD_CELL_TET].count + boundary.cells[TD_CELL_HEX].count, 0);
        assert_int_equal(boundary.n_groups, 6);
        assert_non_null(strstr(boundary.notes, "'inner': 1 of its faces"));
        int zmax = td_mesh_find_group(&boundary, "zmax");
        assert_true(zmax >= 0);
        assert_int_equal(boundary.groups[zmax].count[TD_CELL_TRI], 18);
        for (int i = 0; i < 18; i++)
            for (int k = 0; k < 3; k++)
            {
                int32_t tri = boundary.groups[zmax].cells[TD_CELL_TRI][i];
                assert_near(boundary.x[3 * boundary.cells[TD_CELL_TRI].nodes[3 * tri + k] + 2], 3, 0);
            }
        tdSurface faces = {.n_tris = 108, .tris = boundary.cells[TD_CELL_TRI].nodes};
        assert_true(check_of(&boundary, &faces).closed);
        td_mesh_free(&boundary);
        td_mesh_free(&mesh);
    }
}

static void test_a_surface_is_its_own_boundary(void **state)
{
    (void)state;
    tdMesh mesh = {0}, boundary = {0}, empty = {0};
    tdError error = {0};
    assert_ok(td_mesh_sphere_surface(zero, 1, 2, &mesh, &error), error);
    assert_true(td_mesh_add_node(&mesh, 5, 5, 5)); // unused
    assert_ok(td_mesh_boundary(&mesh, &boundary, &error), error);
    assert_int_equal(boundary.n_nodes, mesh.n_nodes - 1);
    assert_memory_equal(boundary.cells[TD_CELL_TRI].nodes, mesh.cells[TD_CELL_TRI].nodes, 320 * 3 * sizeof(int32_t));
    assert_int_equal(boundary.groups[0].count[TD_CELL_TRI], 320);
    td_mesh_free(&boundary);
    assert_true(td_mesh_add_node(&empty, 0, 0, 0));
    assert_int_equal(td_mesh_boundary(&empty, &boundary, &error), TD_ERROR_INPUT);
    td_mesh_free(&boundary);
    td_mesh_free(&empty);
    td_mesh_free(&mesh);
}

static void test_overlapping_cells_are_counted(void **state)
{
    (void)state;
    tdMesh mesh = box(1, 1, 1, false);
    int32_t copy[4];
    memcpy(copy, mesh.cells[TD_CELL_TET].nodes, sizeof copy);
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TET, copy));
    tdSurface surface = boundary_of(&mesh);
    assert_int_equal(surface.crowded, 2); // the two faces inside the box; the outer two cancel
    td_surface_free(&surface);
    td_mesh_free(&mesh);
}

static void test_surface_faults(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_torus_surface(2, 0.5, 12, 8, &mesh, &error), error);
    tdSurface faces = {.n_tris = mesh.cells[TD_CELL_TRI].count, .tris = mesh.cells[TD_CELL_TRI].nodes};
    tdSurfaceCheck check = check_of(&mesh, &faces);
    assert_true(check.closed);
    assert_int_equal(check.n_edges, 3 * faces.n_tris / 2);
    faces.n_tris--; // a hole of one triangle
    check = check_of(&mesh, &faces);
    assert_false(check.closed);
    assert_int_equal(check.open, 3);
    faces.n_tris++;
    int32_t *t = faces.tris + 30, kept = t[0];
    t[0] = t[1];
    t[1] = kept;
    check = check_of(&mesh, &faces);
    assert_int_equal(check.flipped, 3);
    assert_int_equal(check.open, 0);
    assert_false(check.closed);
    t[1] = t[0];
    t[0] = kept;
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TRI, (int32_t[]){0, 8, 50})); // a wall on an edge
    faces = (tdSurface){.n_tris = mesh.cells[TD_CELL_TRI].count, .tris = mesh.cells[TD_CELL_TRI].nodes};
    check = check_of(&mesh, &faces);
    assert_int_equal(check.crowded, 1);
    assert_int_equal(check.open, 2);
    faces.n_tris = 0;
    assert_false(check_of(&mesh, &faces).closed);
    td_mesh_free(&mesh);
}

static void test_components(void **state)
{
    (void)state;
    tdMesh mesh = box(1, 1, 1, false);
    int64_t n = 0;
    int32_t part[12];
    assert_int_equal(td_mesh_components(&mesh, 3, &n, part, NULL), TD_OK);
    assert_int_equal(n, 1);
    for (int i = 0; i < 4; i++)
        assert_true(td_mesh_add_node(&mesh, 10 + (i == 1), i == 2, i == 3));
    assert_true(td_mesh_add_cell(&mesh, TD_CELL_TET, (int32_t[]){8, 9, 10, 11}));
    assert_int_equal(td_mesh_components(&mesh, 3, &n, part, NULL), TD_OK);
    assert_int_equal(n, 2);
    assert_int_equal(part[0], 0);
    assert_int_equal(part[5], 0);
    assert_int_equal(part[6], 1);
    assert_int_equal(td_mesh_components(&mesh, 2, &n, NULL, NULL), TD_OK);
    assert_int_equal(n, 1);
    td_mesh_free(&mesh);
}

static void test_merge(void **state)
{
    (void)state;
    tdMesh mesh = box(2, 2, 2, false), soup = {0};
    // A soup of triangles as an STL file holds it: three nodes of its own for each.
    tdSurface surface = boundary_of(&mesh);
    for (int64_t i = 0; i < surface.n_tris; i++)
    {
        for (int k = 0; k < 3; k++)
        {
            const double *p = mesh.x + 3 * surface.tris[3 * i + k];
            assert_true(td_mesh_add_node(&soup, p[0], p[1] + 1e-12 * (double)(i % 3), p[2]));
        }
        int32_t at = (int32_t)(3 * i);
        assert_true(td_mesh_add_cell(&soup, TD_CELL_TRI, (int32_t[]){at, at + 1, at + 2}));
    }
    int64_t merged = 0;
    tdError error = {0};
    assert_ok(td_mesh_merge(&soup, 1e-9, &merged, &error), error);
    assert_int_equal(soup.n_nodes, 26);
    assert_int_equal(merged, 3 * 48 - 26);
    assert_ok(td_mesh_check(&soup, NULL, &error), error);
    tdSurface faces = {.n_tris = 48, .tris = soup.cells[TD_CELL_TRI].nodes};
    assert_true(check_of(&soup, &faces).closed);
    td_surface_free(&surface);
    td_mesh_free(&soup);
    td_mesh_free(&mesh);
}

// The nearest point of a box is known: clamp each coordinate.
static void test_locate(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdLocator locator;
    tdPlace place;
    tdError error = {0};
    assert_ok(td_mesh_box(zero, one, (int[]){4, 4, 4}, false, &mesh, &error), error);
    assert_ok(td_locator_make(&mesh, &locator, &error), error);
    assert_near(locator.size, 1, 0);
    uint64_t random = 7;
    for (int trial = 0; trial < 500; trial++)
    {
        double p[3], expected = 0, q[3] = {0};
        for (int k = 0; k < 3; k++)
        {
            p[k] = 1.5 * next(&random) + 0.5;
            double d = p[k] < 0 ? -p[k] : p[k] > 1 ? p[k] - 1 : 0;
            expected += d * d;
        }
        assert_true(td_locator_find(&locator, p, &place));
        assert_int_equal(place.type, TD_CELL_TET);
        assert_near(place.distance, sqrt(expected), 1e-12);
        double sum = 0;
        for (int i = 0; i < 4; i++)
        {
            assert_true(place.weights[i] >= -1e-12 && place.weights[i] <= 1 + 1e-12);
            sum += place.weights[i];
            for (int k = 0; k < 3; k++)
                q[k] += place.weights[i] * mesh.x[3 * mesh.cells[TD_CELL_TET].nodes[4 * place.cell + i] + k];
        }
        assert_near(sum, 1, 1e-12);
        for (int k = 0; k < 3; k++)
            assert_near(q[k], fmin(1, fmax(0, p[k])), 1e-12);
    }
    td_locator_free(&locator);
    td_mesh_free(&mesh);
    assert_ok(td_locator_make(&mesh, &locator, &error), error);
    assert_false(td_locator_find(&locator, zero, &place));
    td_locator_free(&locator);
}

// One cell of a mesh alone, so that no tree decides where a point is looked for.
static double alone(const tdMesh *mesh, tdCellType type, int64_t cell, const double p[3], double *weights)
{
    tdMesh part = {.n_nodes = mesh->n_nodes, .x = mesh->x};
    int n = td_cell_nodes(type);
    part.cells[type] = (tdCells){.count = 1, .nodes = mesh->cells[type].nodes + n * cell};
    tdLocator locator;
    tdPlace place;
    tdError error = {0};
    assert_ok(td_locator_make(&part, &locator, &error), error);
    assert_true(td_locator_find(&locator, p, &place));
    memcpy(weights, place.weights, (size_t)n * sizeof *weights);
    td_locator_free(&locator);
    return place.distance;
}

// The tree finds what a look at every cell finds, to the bit: the least distance, of equal ones the first.
static void check_against_all(bool hexahedra, const int cells[3])
{
    tdMesh mesh = {0};
    tdLocator locator;
    tdPlace place;
    tdError error = {0};
    tdCellType type = hexahedra ? TD_CELL_HEX : TD_CELL_TET;
    assert_ok(td_mesh_box(zero, one, cells, hexahedra, &mesh, &error), error);
    uint64_t random = 11;
    for (int64_t i = 0; i < 3 * mesh.n_nodes; i++)
        mesh.x[i] += 0.02 * next(&random);
    assert_ok(td_locator_make(&mesh, &locator, &error), error);
    for (int trial = 0; trial < 60; trial++)
    {
        double p[3], best = INFINITY, weights[TD_SHAPE_NODES], kept[TD_SHAPE_NODES] = {0};
        int64_t first = -1;
        for (int k = 0; k < 3; k++)
            p[k] = 1.2 * next(&random) + 0.5;
        if (trial % 3 == 0) // a node: all cells around it are as near
            memcpy(p, mesh.x + 3 * (trial % mesh.n_nodes), sizeof p);
        for (int64_t cell = 0; cell < mesh.cells[type].count; cell++)
        {
            double d = alone(&mesh, type, cell, p, weights);
            if (d < best)
            {
                best = d;
                first = cell;
                memcpy(kept, weights, sizeof kept);
            }
        }
        assert_true(td_locator_find(&locator, p, &place));
        assert_int_equal(place.cell, first);
        assert_true(place.distance == best);
        assert_memory_equal(place.weights, kept, (size_t)td_cell_nodes(type) * sizeof *kept);
    }
    td_locator_free(&locator);
    td_mesh_free(&mesh);
}

static void test_locate_as_all(void **state)
{
    (void)state;
    check_against_all(false, (int[]){3, 4, 2});
    check_against_all(true, (int[]){5, 2, 4});
    check_against_all(false, (int[]){1, 1, 1});
}

// How many cells a look-up visits hardly grows with the mesh: 64 times the cells, not twice the visits.
static void test_locate_visits_few(void **state)
{
    (void)state;
    double visits[2] = {0};
    for (int fine = 0; fine < 2; fine++)
    {
        tdMesh mesh = {0};
        tdLocator locator;
        tdPlace place;
        tdError error = {0};
        int n = fine ? 32 : 8;
        assert_ok(td_mesh_box(zero, one, (int[]){n, n, n}, false, &mesh, &error), error);
        assert_ok(td_locator_make(&mesh, &locator, &error), error);
        uint64_t random = 5;
        for (int trial = 0; trial < 200; trial++)
        {
            double p[3];
            for (int k = 0; k < 3; k++)
                p[k] = 0.55 * next(&random) + 0.5; // some of them just outside
            assert_true(td_locator_find(&locator, p, &place));
            visits[fine] += (double)place.looked_at / 200;
        }
        td_locator_free(&locator);
        td_mesh_free(&mesh);
    }
    assert_true(visits[0] < 200 && visits[1] < 2 * visits[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundary_of_a_box),
        cmocka_unit_test(test_boundary_does_not_care_for_mirrored_cells),
        cmocka_unit_test(test_orient_turns_hexahedra),
        cmocka_unit_test(test_volume_of_a_bent_hexahedron),
        cmocka_unit_test(test_quadratic_tetrahedron_shows_its_middle_nodes),
        cmocka_unit_test(test_boundary_mesh_keeps_groups),
        cmocka_unit_test(test_a_surface_is_its_own_boundary),
        cmocka_unit_test(test_overlapping_cells_are_counted),
        cmocka_unit_test(test_surface_faults),
        cmocka_unit_test(test_components),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_locate),
        cmocka_unit_test(test_locate_as_all),
        cmocka_unit_test(test_locate_visits_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
