// SPDX-License-Identifier: Apache-2.0
// The verification cases on finer meshes, with tighter tolerances.
#include "verify_beam.h"
#include "verify_convergence.h"

static void test_order(void **context)
{
    (void)context;
    verify_wave(4, 4);
}

static void test_strip(void **context)
{
    (void)context;
    verify_deflection(true, 32, 0.002, 0.001);
}

// 16 cells over the height: 245,760 tetrahedra.
static void test_square(void **context)
{
    (void)context;
    verify_deflection(false, 8, 0.015, 0.002);
}

// 40 times as long as high, so that shear and stretch are a quarter of those in the short test.
static void test_elastica(void **context)
{
    (void)context;
    verify_elastica("corotational", 40, 8, 0.004);
    verify_elastica("stvk", 40, 8, 0.004);
    verify_elastica("neo_hookean", 40, 8, 0.004);
}

static void test_frequencies(void **context)
{
    (void)context;
    verify_bar(8, 0.001);
    verify_swing(16, 200, 0.003, 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_strip),
                                       cmocka_unit_test(test_square), cmocka_unit_test(test_elastica),
                                       cmocka_unit_test(test_frequencies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
