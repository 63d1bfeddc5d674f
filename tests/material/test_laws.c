// SPDX-License-Identifier: Apache-2.0
// The quadratic laws and neo-Hookean (test_hyperelastic.c has the rest): P = d psi/dF and D = dP/dF by central
// differences over random F, zero stress and the right small-strain moduli at rest, objectivity, and the portable
// kernels against the AVX2 ones.
#include "laws.h"

#include "material/project.h"

static const tdSceneMaterial rubber = {.young = 450e3, .poisson = 0.45};
// Errors are taken relative to this modulus times the size of F squared.
static const double modulus = 450e3;

static void test_derivatives(void **state)
{
    (void)state;
    for (int kind = 0; kind <= TD_LAW_NEO_HOOKEAN; kind++)
        for (int isa = 0; isa <= (int)td_isa_pick(false); isa++)
            for (int trial = 0; trial < 60; trial++)
            {
                const tdLaw *law = td_law(kind);
                double parameters[TD_LAW_PARAMETERS] = {0}, F[9], R[9];
                assert_int_equal(law->parameters(&rubber, NULL, parameters, NULL), TD_OK);
                random_gradient(0.3, 2.0, F);
                random_rotation(R);
                point at = evaluate(law, isa, parameters, F, R);
                double scale = modulus;
                for (int i = 0; i < 9; i++)
                    for (int j = 0; j < 9; j++)
                        scale = fmax(scale, fabs(at.D[i][j]));
                const double h = 1e-5;
                for (int i = 0; i < 9; i++)
                {
                    double up[9], down[9];
                    memcpy(up, F, sizeof up);
                    memcpy(down, F, sizeof down);
                    up[i] += h;
                    down[i] -= h;
                    point a = evaluate(law, isa, parameters, up, R), b = evaluate(law, isa, parameters, down, R);
                    // Central differences: h^2 times the third derivative, and rounding / h.
                    assert_near(at.P[i], (a.psi - b.psi) / (2 * h), 1e-6 * scale);
                    for (int j = 0; j < 9; j++)
                        assert_near(at.D[i][j], (a.P[j] - b.P[j]) / (2 * h), 1e-6 * scale);
                }
            }
}

static void test_rest_is_stress_free_with_the_given_moduli(void **state)
{
    (void)state;
    double I[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double mu = 450e3 / (2 * 1.45), lambda = 450e3 * 0.45 / (1.45 * 0.1);
    for (int kind = 0; kind <= TD_LAW_NEO_HOOKEAN; kind++)
    {
        const tdLaw *law = td_law(kind);
        double parameters[TD_LAW_PARAMETERS] = {0};
        assert_int_equal(law->parameters(&rubber, NULL, parameters, NULL), TD_OK);
        point at = evaluate(law, TD_ISA_PORTABLE, parameters, I, I);
        assert_near(at.psi, 0, 1e-9);
        for (int i = 0; i < 9; i++)
        {
            assert_near(at.P[i], 0, 1e-9);
            for (int j = 0; j < 9; j++)
            {
                int a = i / 3, b = i % 3, c = j / 3, d = j % 3;
                double expected = mu * ((a == c && b == d) + (a == d && b == c)) + lambda * (a == b && c == d);
                assert_near(at.D[i][j], expected, 1e-8 * modulus);
            }
        }
    }
}

static void test_objectivity(void **state)
{
    (void)state;
    for (int kind = 0; kind <= TD_LAW_NEO_HOOKEAN; kind++)
    {
        const tdLaw *law = td_law(kind);
        if (kind == TD_LAW_LINEAR || kind == TD_LAW_COROTATIONAL_LAGGED)
            continue; // by construction not objective
        double parameters[TD_LAW_PARAMETERS] = {0};
        assert_int_equal(law->parameters(&rubber, NULL, parameters, NULL), TD_OK);
        for (int trial = 0; trial < 200; trial++)
        {
            double F[9], Q[9], QF[9], QP[9];
            random_gradient(0.4, 1.8, F);
            random_rotation(Q);
            multiply(Q, F, QF);
            point a = evaluate(law, TD_ISA_PORTABLE, parameters, F, NULL);
            point b = evaluate(law, TD_ISA_PORTABLE, parameters, QF, NULL);
            multiply(Q, a.P, QP);
            assert_near(b.psi, a.psi, 1e-10 * modulus);
            for (int i = 0; i < 9; i++)
                assert_near(b.P[i], QP[i], 1e-9 * modulus);
        }
    }
}

static void test_polar_gives_the_nearest_rotation(void **state)
{
    (void)state;
    for (int isa = 0; isa <= (int)td_isa_pick(false); isa++)
        for (int trial = 0; trial < 4000; trial++)
        {
            _Alignas(64) double f[36], r[36];
            double F[4][9];
            for (int l = 0; l < 4; l++)
            {
                // Well-shaped, very stretched, nearly flat, and inverted (a small negative stretch).
                double low = l == 1 ? 0.02 : l == 2 ? 0.001 : 0.5, high = l == 1 ? 30 : 1.5;
                random_gradient(low, high, F[l]);
                if (l == 3)
                {
                    double U[9], V[9], T[9], S[9] = {1.3, 0, 0, 0, 0.9, 0, 0, 0, -0.2};
                    random_rotation(U);
                    random_rotation(V);
                    multiply(U, S, T);
                    multiply(T, V, F[l]);
                }
                for (int c = 0; c < 9; c++)
                    f[4 * c + l] = F[l][c];
            }
            td_polar(isa)(f, r);
            for (int l = 0; l < 4; l++)
            {
                double R[9], size = 0;
                for (int c = 0; c < 9; c++)
                {
                    R[c] = r[4 * c + l];
                    size += F[l][c] * F[l][c];
                }
                double det = R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
                             R[2] * (R[3] * R[7] - R[4] * R[6]);
                assert_near(det, 1, 1e-12);
                for (int i = 0; i < 3; i++)
                    for (int j = 0; j < 3; j++)
                    {
                        double rr = 0, s = 0, t = 0;
                        for (int k = 0; k < 3; k++)
                        {
                            rr += R[3 * k + i] * R[3 * k + j];
                            s += R[3 * k + i] * F[l][3 * k + j];
                            t += R[3 * k + j] * F[l][3 * k + i];
                        }
                        assert_near(rr, i == j, 1e-12);
                        assert_near(s, t, 1e-10 * sqrt(size)); // R'F symmetric
                    }
            }
        }
    // Special cases: identity, zero, and half turns, whose quaternion has no real part.
    _Alignas(64) double f[36] = {0}, r[36];
    double turns[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    for (int l = 0; l < 4; l++)
        for (int c = 0; c < 3; c++)
            f[16 * c + l] = turns[l][c];
    td_polar(TD_ISA_PORTABLE)(f, r);
    for (int i = 0; i < 36; i++)
        assert_near(r[i], f[i], 1e-14);
    memset(f, 0, sizeof f);
    td_polar(TD_ISA_PORTABLE)(f, r);
    for (int i = 0; i < 36; i++)
        assert_true(isfinite(r[i]));
}

static void test_instruction_sets_agree(void **state)
{
    (void)state;
    if (td_isa_pick(false) == TD_ISA_PORTABLE)
        skip_because("this processor has no other instruction set than the portable one");
    for (int kind = 0; kind <= TD_LAW_NEO_HOOKEAN; kind++)
        for (int trial = 0; trial < 500; trial++)
        {
            const tdLaw *law = td_law(kind);
            double parameters[TD_LAW_PARAMETERS] = {0}, F[9], R[9];
            assert_int_equal(law->parameters(&rubber, NULL, parameters, NULL), TD_OK);
            random_gradient(0.3, 2.0, F);
            random_rotation(R);
            point a = evaluate(law, TD_ISA_PORTABLE, parameters, F, R);
            point b = evaluate(law, TD_ISA_AVX2, parameters, F, R);
            double scale = modulus;
            for (int i = 0; i < 9; i++)
                scale = fmax(scale, fabs(a.D[i][i]));
            assert_near(a.psi, b.psi, 1e-12 * scale);
            for (int i = 0; i < 9; i++)
            {
                assert_near(a.P[i], b.P[i], 1e-11 * scale);
                for (int j = 0; j < 9; j++)
                    assert_near(a.D[i][j], b.D[i][j], 1e-11 * scale);
            }
        }
}

static void test_projection(void **state)
{
    (void)state;
    const tdLaw *law = td_law(TD_LAW_STVK);
    double parameters[TD_LAW_PARAMETERS] = {0};
    assert_int_equal(law->parameters(&rubber, NULL, parameters, NULL), TD_OK);
    int changed = 0;
    for (int trial = 0; trial < 200; trial++)
    {
        _Alignas(64) double f[36], psi[4], P[36], D[4 * TD_TANGENT], before[4 * TD_TANGENT];
        for (int l = 0; l < 4; l++)
        {
            double F[9];
            random_gradient(0.2, 1.2, F);
            for (int c = 0; c < 9; c++)
                f[4 * c + l] = F[c];
        }
        law->kernel[TD_ISA_PORTABLE](parameters, f, NULL, psi, P, D);
        memcpy(before, D, sizeof D);
        int mask = td_law_project(D);
        _Alignas(64) double four[4 * TD_TANGENT]; // all lanes at a time give the same
        memcpy(four, before, sizeof four);
        assert_int_equal(td_project4(four), mask);
        for (int i = 0; i < 4 * TD_TANGENT; i++)
            assert_near(four[i], D[i], 1e-9 * modulus);
        for (int l = 0; l < 4; l++)
        {
            if (mask & 1 << l)
                changed++;
            for (int k = 0; k < 20; k++)
            {
                double x[9], form = 0, original = 0, norm = 0;
                for (int i = 0; i < 9; i++)
                {
                    x[i] = random_number(-1, 1);
                    norm += x[i] * x[i];
                }
                for (int i = 0; i < 9; i++)
                    for (int j = 0; j < 9; j++)
                    {
                        int at = i >= j ? TD_PACKED(i, j) : TD_PACKED(j, i);
                        form += x[i] * x[j] * D[4 * at + l];
                        original += x[i] * x[j] * before[4 * at + l];
                    }
                assert_true(form >= -1e-9 * modulus * norm);
                assert_true(form >= original - 1e-9 * modulus * norm); // only lifted, never lowered
            }
        }
    }
    assert_true(changed > 50); // compression makes StVK indefinite
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_rest_is_stress_free_with_the_given_moduli),
        cmocka_unit_test(test_objectivity),
        cmocka_unit_test(test_polar_gives_the_nearest_rotation),
        cmocka_unit_test(test_instruction_sets_agree),
        cmocka_unit_test(test_projection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
