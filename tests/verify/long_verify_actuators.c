// SPDX-License-Identifier: Apache-2.0
// Actuators on finer meshes: the thick sphere of Lame and a balloon of rubber.
#include "verify_actuators.h"

static void test_sphere(void **unused)
{
    (void)unused;
    static const char *const kinds[2] = {"hexahedra", "tetrahedra"};
    for (int tets = 0; tets < 2; tets++)
    {
        char name[120];
        double coarse = sphere_growth(8, tets, 0), fine = sphere_growth(16, tets, 0);
        snprintf(name, sizeof name, "sphere, %s, 16 cells a quarter turn, growth of the cavity over the exact one",
                 kinds[tets]);
        verify_relative(name, "Lamé", 1, fine, 0.015);
        snprintf(name, sizeof name, "sphere, %s, limit of 8 and 16 cells", kinds[tets]);
        verify_relative(name, "Lamé", 1, verify_limit(coarse, fine), 0.002);
        snprintf(name, sizeof name, "sphere, %s, 16 cells, walls as a file of finer triangles (24 cells): the same",
                 kinds[tets]);
        verify_relative(name, "walls as a group", fine, sphere_growth(16, tets, 24), 0.002);
    }
}

static void test_rubber(void **unused)
{
    (void)unused;
    double exact = rubber_pressure(1.5), coarse = balloon_pressure(4, 1.5, 5), fine = balloon_pressure(8, 1.5, 5);
    verify_relative("rubber balloon, inner radius 1.5 times as large, 8 cells: pressure [Pa]",
                    "incompressible closed form", exact, fine, 0.01);
    verify_relative("rubber balloon, limit of 4 and 8 cells", "incompressible closed form", exact,
                    verify_limit(coarse, fine), 0.002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sphere), cmocka_unit_test(test_rubber)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
