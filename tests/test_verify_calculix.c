// SPDX-License-Identifier: Apache-2.0
// The same irregular mesh solved by Tendril and by CalculiX.
#include "mesh/generate.h"
#include "verify_calculix.h"

#define LENGTH 0.2 // [m]
#define HEIGHT 0.04

// Moves a node by up to 15 % of a cell, within the end faces at the ends. A small generator of our own, so
// that the mesh is the same everywhere.
static double jitter(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return 0.15 * ((double)(*seed >> 11) / 4503599627370496.0 - 1);
}

// A bar with random nodes, written to `folder`.
static void write_bar(const char *folder, const int cells[3])
{
    tdMesh mesh = {0};
    tdError error = {0};
    double min[3] = {0, 0, 0}, max[3] = {LENGTH, HEIGHT, HEIGHT};
    assert_ok(td_mesh_box(min, max, cells, false, &mesh, &error), error);
    uint64_t seed = 7;
    for (int64_t i = 0; i < mesh.n_nodes; i++)
        for (int c = 0; c < 3; c++)
        {
            double shift = jitter(&seed) * max[c] / cells[c];
            bool end = mesh.x[3 * i] == 0 || mesh.x[3 * i] == LENGTH;
            mesh.x[3 * i + c] += c == 0 && end ? 0 : shift;
        }
    char path[300];
    snprintf(path, sizeof path, "%s/bar.vtu", folder);
    assert_ok(td_mesh_write(&mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error), error);
    td_mesh_free(&mesh);
}

typedef struct comparison
{
    double field;       // |u - u_ccx| / |u_ccx| over all nodes
    double tip;         // largest displacement by CalculiX [m]
    double tip_ours;    // at the same node [m]
    double force, ours; // x reaction of the nodes at the far end, by CalculiX and by us [N]
} comparison;

static comparison compare(const char *law, const char *ends, bool large)
{
    char folder[256];
    make_folder(folder);
    write_bar(folder, VERIFY_SLOW ? (int[]){10, 2, 2} : (int[]){20, 4, 4});
    tdModel *model = verify_model("tendril: 1\n"
                                  "integrator: {method: static, tolerance: 1e-9, max_iterations: 100}\n"
                                  "solver: {tolerance: 1e-12}\n"
                                  "bodies:\n"
                                  "  - name: bar\n"
                                  "    mesh: %s/bar.vtu\n"
                                  "    material: {law: %s, young: 100 kPa, poisson: 0.3}\n"
                                  "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}]\n"
                                  "%s",
                                  folder, law, ends);
    tdState *state = verify_state(model);
    verify_step(model, state);
    ccxResult theirs = ccx_solve(model, folder, large);
    const tdSoft *soft = verify_soft(model);
    const double *q = td_state_positions(model, state, 0);
    comparison r = {0};
    double square = 0;
    for (int64_t i = 0; i < soft->n_nodes; i++)
    {
        double size = 0, mine = 0;
        for (int c = 0; c < 3; c++)
        {
            double u = q[3 * i + c] - soft->rest[3 * i + c], v = theirs.u[3 * i + c];
            r.field += (u - v) * (u - v);
            size += v * v;
            mine += u * u;
        }
        square += size;
        if (sqrt(size) > r.tip)
        {
            r.tip = sqrt(size);
            r.tip_ours = sqrt(mine);
        }
        if (soft->rest[3 * i] == LENGTH)
        {
            r.force += theirs.force[3 * i];
            r.ours += state->reaction[3 * i];
        }
    }
    r.field = sqrt(r.field / square);
    ccx_free(&theirs);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
    return r;
}

#define FAR_END "plane: {point: [0.2, 0, 0], normal: [1, 0, 0]}"
#define CCX     "CalculiX, same mesh"

// Both solve the same equations on the same mesh. CalculiX prints seven digits, and both end their
// Newton iterations at residuals that leave less than this of a displacement.
#define SAME 1e-5

static void test_linear(void **context)
{
    (void)context;
    comparison r =
        compare("linear", "loads: [{type: point, body: bar, " FAR_END ", force: [0.2 N, 0.05 N, -0.1 N]}]\n", false);
    verify_relative("linear, jittered bar, largest displacement [m]", CCX, r.tip, r.tip_ours, SAME);
    verify_absolute("linear, jittered bar, all displacements, relative L2 difference", CCX, 0, r.field, SAME);
}

static void test_stretch(void **context)
{
    (void)context;
    comparison r = compare("neo_hookean", "    prescribed: [{" FAR_END ", displacement: [0.1, 0, 0]}]\n", true);
    verify_relative("neo-Hookean bar stretched by 50 %, reaction [N]", CCX, r.force, r.ours, SAME);
    verify_absolute("neo-Hookean bar stretched by 50 %, all displacements, relative L2 difference", CCX, 0, r.field,
                    SAME);
}

static void test_bend(void **context)
{
    (void)context;
    comparison r = compare("neo_hookean", "loads: [{type: point, body: bar, " FAR_END ", force: [0, 0, 3 N]}]\n", true);
    verify_relative("neo-Hookean bar bent far, largest displacement [m]", CCX, r.tip, r.tip_ours, SAME);
    verify_absolute("neo-Hookean bar bent far, all displacements, relative L2 difference", CCX, 0, r.field, SAME);
    assert_true(r.tip > 0.5 * LENGTH); // or it was not far
}

// With NLGEOM CalculiX pairs *ELASTIC with Green's strain and the second Piola-Kirchhoff stress, which is
// St. Venant-Kirchhoff.
static void test_stvk(void **context)
{
    (void)context;
    comparison r = compare("stvk", "loads: [{type: point, body: bar, " FAR_END ", force: [0, 0, 3 N]}]\n", true);
    verify_relative("StVK bar bent far, largest displacement [m]", CCX, r.tip, r.tip_ours, SAME);
    verify_absolute("StVK bar bent far, all displacements, relative L2 difference", CCX, 0, r.field, SAME);
    assert_true(r.tip > 0.5 * LENGTH);
}

// Pressure on one side, which turns with the bar: a follower load in both. On a surface that is not closed its
// tangent is not symmetric; Newton with the symmetric part gains a constant factor an iteration, and CalculiX gives
// up at 400 Pa.
static void test_pressure(void **context)
{
    (void)context;
    comparison r =
        compare("neo_hookean",
                "loads: [{type: surface, body: bar, box: [[-1, -1, 0.035], [1, 1, 1]], pressure: 250 Pa}]\n", true);
    verify_relative("neo-Hookean bar bent by pressure, largest displacement [m]", CCX, r.tip, r.tip_ours, SAME);
    verify_absolute("neo-Hookean bar bent by pressure, all displacements, relative L2 difference", CCX, 0, r.field,
                    SAME);
    assert_true(r.tip > 0.25 * LENGTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear), cmocka_unit_test(test_stretch),
                                       cmocka_unit_test(test_bend), cmocka_unit_test(test_stvk),
                                       cmocka_unit_test(test_pressure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
