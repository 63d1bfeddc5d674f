// SPDX-License-Identifier: Apache-2.0
// Cantilevers of linear elasticity against beam theory: deflection and frequencies.
#include "verify_beam.h"

// Huang's equation against the first order of rotary inertia and shear by Rayleigh's quotient on the slender mode,
//     dw/w = -1/2 (r^2 + s^2) m,    m = L^2 |w'|^2 / |w|^2 = L^2 |w'''|^2 / |w''|^2 = 4.6478
// with r^2 = I/(A L^2) = 1/1200 and s^2 = 2.4 r^2 here. What is left is of second order, (dw/w)^2 = 4e-5.
static void test_reference(void **context)
{
    (void)context;
    verifyBeam slender = {"linear", 1, 0.001, 0.001, true, 1}, stout = {"linear", 1, 0.1, 0.1, true, 1};
    assert_near(timoshenko_frequency(&slender) / euler_frequency(&slender), 1, 5e-6);
    assert_near(timoshenko_frequency(&stout) / euler_frequency(&stout), 1 - 0.5 * 3.4 / 1200 * 4.6478, 1e-4);
}

// Linear tetrahedra bend too little; by how much is what a user of a coarse mesh has to know.
static void test_coarse(void **context)
{
    (void)context;
    verify_coarse(4, 0.16);
    verify_coarse(8, 0.046);
    verify_coarse(16, 0.012);
}

// A strip reaches the fine meshes that show the limit. Beam theory itself neglects the clamped end's
// hindered warping: parts of a thousand.
static void test_strip(void **context)
{
    (void)context;
    verify_deflection(true, VERIFY_SLOW ? 8 : 16, VERIFY_SLOW ? 0.02 : 0.005, VERIFY_SLOW ? 0.005 : 0.002);
}

// 12 cells over the height: 103,680 tetrahedra. The error falls with the square of that number.
static void test_square(void **context)
{
    (void)context;
    verify_deflection(false, VERIFY_SLOW ? 4 : 6, VERIFY_SLOW ? 0.06 : 0.03, VERIFY_SLOW ? 0.015 : 0.005);
}

// Masses at the nodes make a bar of n cells along low by (pi/2n)^2 / 24, less than the time step does.
static void test_bar(void **context)
{
    (void)context;
    verify_bar(4, 0.002);
}

static void test_swing(void **context)
{
    (void)context;
    verify_swing(VERIFY_SLOW ? 4 : 8, 100, VERIFY_SLOW ? 0.03 : 0.01, VERIFY_SLOW ? 0.005 : 0.002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_coarse),
                                       cmocka_unit_test(test_strip),     cmocka_unit_test(test_square),
                                       cmocka_unit_test(test_bar),       cmocka_unit_test(test_swing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
