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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cook_plane_stress), cmocka_unit_test(test_cook_rubber),
                                       cmocka_unit_test(test_cook_calculix), cmocka_unit_test(test_cantilever),
                                       cmocka_unit_test(test_skin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
