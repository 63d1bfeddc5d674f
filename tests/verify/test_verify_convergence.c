// SPDX-License-Identifier: Apache-2.0
// Order of convergence under refinement of the mesh.
#include "verify_convergence.h"

// The rule must integrate what the errors and loads need: all monomials of degree 5 or less.
static void test_quadrature(void **context)
{
    (void)context;
    // Over the unit tetrahedron: a! b! c! / (a + b + c + 3)!
    static const double factorial[9] = {1, 1, 2, 6, 24, 120, 720, 5040, 40320};
    for (int a = 0; a <= 5; a++)
        for (int b = 0; a + b <= 5; b++)
            for (int c = 0; a + b + c <= 5; c++)
            {
                double sum = 0;
                for (int p = 0; p < RULE_POINTS; p++)
                {
                    double bary[4], weight;
                    rule_point(p, bary, &weight);
                    sum += weight / 6 * pow(bary[1], a) * pow(bary[2], b) * pow(bary[3], c);
                }
                // 16 digits of the points leave rounding only.
                assert_near(sum, factorial[a] * factorial[b] * factorial[c] / factorial[a + b + c + 3], 1e-16);
            }
}

// f = -div sigma by differences of the displacement, so that a slip in the formula cannot hide as an error
// of the element.
static void test_force(void **context)
{
    (void)context;
    const double x[3] = {0.31, 0.62, 0.17}, h = 1e-3;
    double mu = WAVE_YOUNG / (2 * (1 + WAVE_POISSON)), f[3], second[3][3][3]; // [i][j][k] = d2 u_i / dx_j dx_k
    double lambda = WAVE_YOUNG * WAVE_POISSON / ((1 + WAVE_POISSON) * (1 - 2 * WAVE_POISSON));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
            {
                second[i][j][k] = 0;
                for (int s = -1; s <= 1; s += 2)
                    for (int t = -1; t <= 1; t += 2)
                    {
                        double y[3] = {x[0], x[1], x[2]};
                        y[j] += s * h;
                        y[k] += t * h;
                        second[i][j][k] += s * t * wave(i, y) / (4 * h * h);
                    }
            }
    wave_force(x, f);
    for (int i = 0; i < 3; i++)
    {
        double expected = 0;
        for (int j = 0; j < 3; j++)
            expected -= mu * second[i][j][j] + (lambda + mu) * second[j][j][i];
        assert_near(f[i], expected, 1e-4 * WAVE_YOUNG * 0.01); // differences: k^2 h^2 / 3 of f
    }
}

static void test_order(void **context)
{
    (void)context;
    verify_wave(4, VERIFY_SLOW ? 2 : 3, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quadrature), cmocka_unit_test(test_force),
                                       cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
