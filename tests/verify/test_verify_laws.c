// SPDX-License-Identifier: Apache-2.0
// Hyperelastic laws against CalculiX: one tetrahedron, all of its motion prescribed but for one component, which
// a force from our law must bring to its place. CalculiX gives seven digits.
#include "laws.h"
#include "verify_calculix.h"

typedef struct verified
{
    const char *card; // what CalculiX reads: keyword and constants; D = 2/kappa
    tdLawKind law;
    tdVolumetric volumetric;
    int n_terms;
    double value[4];
} verified;

// kappa = 4e5, so D = 5e-6. CalculiX takes (J - 1)^2/D for all but Arruda-Boyce.
static const verified laws[] = {
    {"NEO HOOKE\n4.5e4, 5e-6\n", TD_LAW_NEO_HOOKEAN, TD_VOLUMETRIC_SQUARE, 0, {9e4}},
    {"MOONEY-RIVLIN\n3e4, 1.5e4, 5e-6\n", TD_LAW_MOONEY_RIVLIN, TD_VOLUMETRIC_SQUARE, 0, {3e4, 1.5e4}},
    {"OGDEN, N=1\n9e4, 3.7, 5e-6\n", TD_LAW_OGDEN, TD_VOLUMETRIC_SQUARE, 1, {9e4, 3.7}},
    {"OGDEN, N=1\n9e4, -3.1, 5e-6\n", TD_LAW_OGDEN, TD_VOLUMETRIC_SQUARE, 1, {9e4, -3.1}},
    {"ARRUDA-BOYCE\n8e4, 2.8, 5e-6\n", TD_LAW_ARRUDA_BOYCE, TD_VOLUMETRIC_MIXED, 0, {8e4, 2.8}},
};

static const double F[9] = {1.3, 0.2, -0.1, 0.05, 0.85, 0.15, -0.12, 0.1, 1.1};

// Nodes 0, e1, e2, e3: u = (F - I) X, and the forces are V P grad N with V = 1/6 and unit gradients.
static void write_job(const char *path, const verified *it, double force)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "*NODE, NSET=NALL\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n"
            "*ELEMENT, TYPE=C3D4, ELSET=EALL\n1, 1, 2, 3, 4\n"
            "*MATERIAL, NAME=M\n*HYPERELASTIC, %s*SOLID SECTION, ELSET=EALL, MATERIAL=M\n"
            "*STEP, INC=1000, NLGEOM\n*STATIC\n0.1, 1.0, 1e-5, 0.2\n*CONTROLS, PARAMETERS=FIELD\n1e-8, 1e-8\n"
            "*BOUNDARY\n1, 1, 3, 0\n",
            it->card);
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++)
            if (a != 2 || i != 2)
                fprintf(f, "%d, %d, %d, %.15g\n", a + 2, i + 1, i + 1, F[3 * i + a] - (i == a));
    fprintf(f, "*CLOAD\n4, 3, %.15g\n*NODE PRINT, NSET=NALL, FREQUENCY=1000\nU, RF\n*END STEP\n", force);
    assert_int_equal(fclose(f), 0);
}

static void test_laws(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++)
    {
        const verified *it = &laws[k];
        tdError error = {0};
        tdSceneMaterial m = {.law = it->law, .young = NAN, .poisson = NAN, .bulk = 4e5, .volumetric = it->volumetric};
        m.n_terms = it->n_terms;
        memcpy(m.value, it->value, sizeof it->value);
        double parameters[TD_LAW_PARAMETERS] = {0};
        assert_ok(td_law(it->law)->parameters(&m, NULL, parameters, &error), error);
        point at = evaluate(td_law(it->law), TD_ISA_PORTABLE, parameters, F, NULL);
        char folder[256], path[300];
        make_folder(folder);
        snprintf(path, sizeof path, "%s/job.inp", folder);
        write_job(path, it, at.P[8] / 6);
        ccx_run(folder);
        snprintf(path, sizeof path, "%s/job.dat", folder);
        ccxResult r = ccx_read(path, 4, 1, 1);
        assert_near(r.u[11], F[8] - 1, 2e-6);
        double size = 0;
        for (int i = 0; i < 9; i++)
            size = fmax(size, fabs(at.P[i]) / 6);
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < 3; i++)
                if (a != 2 || i != 2)
                    assert_near(r.force[3 * (a + 1) + i], at.P[3 * i + a] / 6, 3e-6 * size);
        ccx_free(&r);
        remove_folder(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_laws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
