// SPDX-License-Identifier: Apache-2.0
// Hexahedra, quadratic tetrahedra, plane bodies and membranes against published values, beam theory and CalculiX.
#include "verify_cook.h"

// ---------------------------------------------------------------- Cook's membrane

static void test_cook_plane_stress(void **context)
{
    (void)context;
    verify_cook_stress(VERIFY_SLOW ? 32 : 64, 0.01);
}

static void test_cook_rubber(void **context)
{
    (void)context;
    verify_cook_rubber(VERIFY_SLOW ? 8 : 32);
}

// The same meshes in CalculiX: CPE3, C3D8 and C3D10 are integrated as ours are.
static void test_cook_calculix(void **context)
{
    (void)context;
    cook_calculix("triangles", COOK_TRI, 0.3, VERIFY_SLOW ? 4 : 12);
    cook_calculix("hexahedra", COOK_HEX, 0.4999, VERIFY_SLOW ? 4 : 12);
    cook_calculix("quadratic tetrahedra", COOK_TET10, 0.4999, VERIFY_SLOW ? 2 : 6);
}

// ---------------------------------------------------------------- plane stress at large strain

#define C10   15e3 // [Pa]
#define C01   5e3
#define KAPPA 400e3

// Nominal stress along axis a of Mooney-Rivlin at the stretches l.
static double nominal_stress(const double l[3], int a)
{
    double J = l[0] * l[1] * l[2], s[3] = {l[0] * l[0], l[1] * l[1], l[2] * l[2]};
    double I1 = s[0] + s[1] + s[2], I2 = s[0] * s[1] + s[1] * s[2] + s[2] * s[0];
    return 2 * C10 * pow(J, -2.0 / 3) * (l[a] - I1 / (3 * l[a])) +
           2 * C01 * pow(J, -4.0 / 3) * (l[a] * (I1 - s[a]) - 2 * I2 / (3 * l[a])) + KAPPA * (J - 1) * J / l[a];
}

// The third stretch of a stretched sheet is what leaves no stress across: by bisection.
static void free_thickness(double l[3])
{
    double low = 0.1, high = 1;
    for (int k = 0; k < 60; k++)
    {
        l[2] = 0.5 * (low + high);
        *(nominal_stress(l, 2) < 0 ? &low : &high) = l[2];
    }
}

// A square sheet stretched by 80 % and 40 %, 1 m thick.
static void test_sheet(void **context)
{
    (void)context;
    double l[3] = {1.8, 1.4, 1};
    free_thickness(l);
    tdModel *model = verify_model("tendril: 1\n"
                                  "integrator: {method: static, tolerance: 1e-10}\n"
                                  "bodies:\n"
                                  "  - name: sheet\n"
                                  "    mesh: {rectangle: [[0, 0], [1, 1]], cells: [3, 3]}\n"
                                  "    plane: stress\n"
                                  "    material: {law: mooney_rivlin, c10: %.17g, c01: %.17g, bulk: %.17g}\n"
                                  "    fixed: [{group: xmin, axes: x}, {group: ymin, axes: y}]\n"
                                  "    prescribed: [{group: xmax, axes: x, displacement: [0.8, 0, 0]},\n"
                                  "                 {group: ymax, axes: y, displacement: [0, 0.4, 0]}]\n",
                                  C10, C01, KAPPA);
    tdState *state = verify_state(model);
    verify_step(model, state);
    const tdSoft *soft = verify_soft(model);
    double force[2] = {0, 0};
    for (int64_t i = 0; i < soft->n_nodes; i++)
        for (int c = 0; c < 2; c++)
            force[c] += soft->rest[3 * i + c] > 0.99 ? state->reaction[3 * i + c] : 0;
    verify_relative("Mooney-Rivlin sheet in plane stress, stretched by 80 % and 40 %, force along x [N]",
                    "dψ/dλ₁ with dψ/dλ₃ = 0", nominal_stress(l, 0), force[0], 1e-8);
    verify_relative("the same, force along y [N]", "dψ/dλ₂ with dψ/dλ₃ = 0", nominal_stress(l, 1), force[1], 1e-8);
    td_state_free(state);
    td_model_free(model);
}

// Radius of a ball of membranes, 1 m at rest and 1 mm thick, under a pressure; 20 * 4^subdivisions triangles.
static double balloon(double pressure, int subdivisions)
{
    char folder[256];
    make_folder(folder);
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_sphere_surface((double[]){0, 0, 0}, 1, subdivisions, &mesh, &error), error);
    mesh_save(&mesh, folder, "ball.msh");
    tdModel *model = verify_model("tendril: 1\n"
                                  "integrator: {method: static}\n"
                                  "bodies:\n"
                                  "  - name: ball\n"
                                  "    mesh: %s/ball.msh\n"
                                  "    material: {law: linear, young: 1, poisson: 0}\n" // of no element
                                  "    materials: [{group: surface, element: membrane, thickness: 1 mm,\n"
                                  "                 law: mooney_rivlin, c10: %.17g, c01: %.17g, bulk: %.17g}]\n"
                                  "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}, axes: x},\n"
                                  "            {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, axes: y},\n"
                                  "            {plane: {point: [0, 0, 0], normal: [0, 0, 1]}, axes: z}]\n"
                                  "loads: [{type: surface, body: ball, all: true, pressure: %.17g}]\n",
                                  folder, C10, C01, KAPPA, -pressure);
    tdState *state = verify_state(model);
    verify_step(model, state);
    const double *q = td_state_positions(model, state, 0);
    int n = td_model_body_nodes(model, 0);
    double radius = 0;
    for (int i = 0; i < n; i++)
        radius += sqrt(q[3 * i] * q[3 * i] + q[3 * i + 1] * q[3 * i + 1] + q[3 * i + 2] * q[3 * i + 2]) / n;
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
    return radius;
}

// Laplace: p r = 2 N with the tension N = P t / l of the stretched skin, r = l R.
static void test_balloon(void **context)
{
    (void)context;
    double l[3] = {1.3, 1.3, 1};
    free_thickness(l);
    double pressure = 2 * nominal_stress(l, 0) * 1e-3 / (l[0] * l[0]);
    double coarse = balloon(pressure, 2), fine = balloon(pressure, 3);
    verify_relative("Mooney-Rivlin balloon of 1,280 triangles, radius [m]", "Laplace", l[0], fine, 0.005);
    verify_relative("the same, limit of 320 and 1,280 triangles", "Laplace", l[0], verify_limit(coarse, fine), 5e-4);
}

// ---------------------------------------------------------------- beams

static void test_cantilever(void **context)
{
    (void)context;
    verify_cantilever("hexahedra", CANTILEVER_HEX, VERIFY_SLOW ? 2 : 4, 0.005);
    verify_cantilever("quadratic tetrahedra", CANTILEVER_TET10, 1, 0.005);
}

static void test_skin(void **context)
{
    (void)context;
    verify_skin(0.1, 4, 0.01);
    verify_skin(1, 4, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cook_plane_stress),
                                       cmocka_unit_test(test_cook_rubber),
                                       cmocka_unit_test(test_cook_calculix),
                                       cmocka_unit_test(test_sheet),
                                       cmocka_unit_test(test_balloon),
                                       cmocka_unit_test(test_cantilever),
                                       cmocka_unit_test(test_skin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
