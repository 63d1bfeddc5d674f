// SPDX-License-Identifier: Apache-2.0
// The verification of materials and elements on finer meshes: minutes rather than seconds.
#include "verify_cook.h"
#include "verify_cylinder.h"

static void test_cook(void **context)
{
    (void)context;
    verify_cook_stress(256, 0.002);
    verify_cook_rubber(64);
    cook_calculix("quadratic tetrahedra", COOK_TET10, 0.4999, 32);
}

static void test_cylinder(void **context)
{
    (void)context;
    verify_cylinder_calculix(12);
    verify_cylinder_formulations(12, 6, 0.005, NULL);
    verify_cylinder_quadratic(12, 3, 0.005);
}

static void test_skin(void **context)
{
    (void)context;
    verify_skin(0.1, 8, 0.002);
    verify_skin(1, 8, 0.004);
    verify_skin(10, 8, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cook), cmocka_unit_test(test_cylinder),
                                       cmocka_unit_test(test_skin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
