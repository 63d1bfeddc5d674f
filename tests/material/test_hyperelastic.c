// SPDX-License-Identifier: Apache-2.0
// Every hyperelastic law with every volumetric energy: derivatives by finite differences from strong tension
// to inverted elements, continuity where laws are extended, objectivity, rest, the form by invariants against
// the closed one, limits of one law that are another, and closed-form physics derived here from dW/dlambda.
#include "laws.h"

static const double modulus = 1e5; // the laws below are about this stiff [Pa]

typedef struct sample
{
    const char *what;
    tdLawKind kind;
    int n_terms;
    double value[8];
    double shear; // at small strain
} sample;

static const sample samples[] = {
    {"neo-Hookean", TD_LAW_NEO_HOOKEAN, 0, {9e4}, 9e4},
    {"Mooney-Rivlin", TD_LAW_MOONEY_RIVLIN, 0, {3e4, 1.5e4}, 9e4},
    {"Ogden, three terms", TD_LAW_OGDEN, 3, {6e4, 1.3, 5e3, 5.0, 2e4, -2.0}, 8.5e4},
    {"Ogden, one negative term", TD_LAW_OGDEN, 1, {9e4, -4.7}, 9e4},
    {"Arruda-Boyce", TD_LAW_ARRUDA_BOYCE, 0, {8e4, 2.8}, 0},
    {"Veronda-Westmann", TD_LAW_VERONDA_WESTMANN, 0, {5e4, 1.5}, 7.5e4},
    {"Costa", TD_LAW_COSTA, 0, {3e4, 6, 3, 2, 4, 3.5, 2.5}, 0},
};
enum
{
    SAMPLES = sizeof samples / sizeof *samples
};

// Parameters of a sample; returns the law.
static const tdLaw *compile(const sample *s, tdVolumetric volumetric, double *parameters)
{
    tdError error = {0};
    tdSceneMaterial m = {.law = s->kind, .young = NAN, .poisson = NAN, .bulk = 4e5, .volumetric = volumetric};
    m.n_terms = s->n_terms;
    m.has_fibre = s->kind == TD_LAW_COSTA;
    for (int i = 0; i < TD_LAW_VALUES; i++)
        m.value[i] = i < 8 ? s->value[i] : NAN;
    const tdLaw *law = td_law(s->kind);
    memset(parameters, 0, TD_LAW_PARAMETERS * sizeof *parameters);
    assert_ok(law->parameters(&m, NULL, parameters, &error), error);
    return law;
}

static double scale_of(const point *at)
{
    double scale = fmax(modulus, fabs(at->psi));
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            scale = fmax(scale, fabs(at->D[i][j]));
    return scale;
}

// Fourth-order differences: the error is h^4/30 of the fifth derivative beside rounding/h.
static void check_derivatives(const char *what, const tdLaw *law, tdIsa isa, const double *parameters, const double *F,
                              const double *R, double h, double tolerance)
{
    point at = evaluate(law, isa, parameters, F, R);
    double scale = scale_of(&at);
    for (int i = 0; i < 9; i++)
    {
        const double step[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1};
        double P = 0, D[9] = {0};
        for (int k = 0; k < 4; k++)
        {
            double moved[9];
            memcpy(moved, F, sizeof moved);
            moved[i] += step[k] * h;
            point near = evaluate(law, isa, parameters, moved, R);
            P += weight[k] * near.psi / (12 * h);
            for (int j = 0; j < 9; j++)
                D[j] += weight[k] * near.P[j] / (12 * h);
        }
        if (!(fabs(at.P[i] - P) <= tolerance * scale))
            fail_msg("%s: P[%d] = %.12g, by differences %.12g, J = %g", what, i, at.P[i], P, determinant(F));
        for (int j = 0; j < 9; j++)
            if (!(fabs(at.D[i][j] - D[j]) <= tolerance * scale))
                fail_msg("%s: D[%d][%d] = %.12g, by differences %.12g, J = %g (off %g of %g)", what, i, j, at.D[i][j],
                         D[j], determinant(F), at.D[i][j] - D[j], scale);
    }
}

// 0: ordinary, 1: compressed, 2: beyond the limit of compression, 3: inverted, 4: stretched.
static void gradient_of_class(int class, double *F)
{
    static const double low[5] = {0.5, 0.3, 0.2, 0.3, 0.8}, high[5] = {1.8, 0.8, 0.36, 1.5, 3};
    do
    {
        random_gradient(low[class], high[class], F);
        for (int i = 0; class == 3 && i < 3; i++)
            F[i] = -F[i];
    } while (fabs(determinant(F) - TD_COMPRESSION) < 2e-3); // differences must not straddle the limit
}

static void test_derivatives(void **state)
{
    (void)state;
    for (int s = 0; s < SAMPLES; s++)
        for (int form = TD_VOLUMETRIC_SQUARE; form <= TD_VOLUMETRIC_MIXED; form++)
            for (int isa = 0; isa <= (int)td_isa_pick(false); isa++)
                for (int trial = 0; trial < 40; trial++)
                {
                    double parameters[TD_LAW_PARAMETERS], F[9], R[9];
                    const tdLaw *law = compile(&samples[s], form, parameters);
                    gradient_of_class(trial % 5, F);
                    random_rotation(R);
                    check_derivatives(samples[s].what, law, isa, parameters, F, R, 2e-5, 1e-8);
                }
}

// Energy, stress and tangent on both sides of the limit, and far beyond.
static void test_extension(void **state)
{
    (void)state;
    for (int s = 0; s < SAMPLES; s++)
        for (int form = TD_VOLUMETRIC_SQUARE; form <= TD_VOLUMETRIC_MIXED; form++)
        {
            double parameters[TD_LAW_PARAMETERS], F[9], R[9];
            const tdLaw *law = compile(&samples[s], form, parameters);
            for (int trial = 0; trial < 20; trial++)
            {
                double up[9], down[9];
                random_rotation(R);
                random_gradient(0.3, 0.6, F);
                double size = cbrt(TD_COMPRESSION / determinant(F));
                for (int i = 0; i < 9; i++)
                {
                    up[i] = F[i] * size * (1 + 1e-10);
                    down[i] = F[i] * size * (1 - 1e-10);
                }
                point a = evaluate(law, TD_ISA_PORTABLE, parameters, up, R);
                point b = evaluate(law, TD_ISA_PORTABLE, parameters, down, R);
                double scale = scale_of(&a);
                assert_near(a.psi, b.psi, 1e-8 * scale);
                for (int i = 0; i < 9; i++)
                {
                    assert_near(a.P[i], b.P[i], 1e-8 * scale);
                    for (int j = 0; j < 9; j++)
                        assert_near(a.D[i][j], b.D[i][j], 1e-7 * scale);
                }
            }
            // Nothing is ever infinite: collapsed to a plane, a line, a point; inside out; stretched absurdly.
            const double absurd[][3] = {{1, 1, 0},  {1, 0, 0},       {0, 0, 0},          {-1, 1, 1},   {-2, -2, -2},
                                        {-5, 5, 5}, {1e3, 1, 1},     {1e3, 1e3, 1e-3},   {1e-9, 1, 1}, {1e-9, 1e9, 1},
                                        {30, 1, 1}, {1e4, 1e4, 1e4}, {1e4, 1e-4, -1e-4}, {0.02, 1, 1}, {100, 0.1, 0.1}};
            for (size_t k = 0; k < sizeof absurd / sizeof *absurd; k++)
                for (int isa = 0; isa <= (int)td_isa_pick(false); isa++)
                {
                    gradient_of(absurd[k][0], absurd[k][1], absurd[k][2], F);
                    point at = evaluate(law, isa, parameters, F, R);
                    double sum = at.psi;
                    for (int i = 0; i < 9; i++)
                    {
                        sum += fabs(at.P[i]);
                        for (int j = 0; j < 9; j++)
                            sum += fabs(at.D[i][j]);
                    }
                    if (!isfinite(sum))
                        fail_msg("%s: not finite at stretches %g %g %g", samples[s].what, absurd[k][0], absurd[k][1],
                                 absurd[k][2]);
                }
        }
}

// psi(QF) = psi(F) for all laws; psi(FQ) = psi(F) for isotropic ones; a turned fibre frame turns with the body.
static void test_invariance(void **state)
{
    (void)state;
    for (int s = 0; s < SAMPLES; s++)
        for (int trial = 0; trial < 200; trial++)
        {
            double parameters[TD_LAW_PARAMETERS], F[9], R[9], Q[9], QF[9], FQ[9], QP[9], PQ[9], RQ[9];
            const tdLaw *law = compile(&samples[s], trial % 3, parameters);
            gradient_of_class(trial % 5, F);
            random_rotation(Q);
            random_rotation(R);
            multiply(Q, F, QF);
            multiply(F, Q, FQ);
            multiply(R, Q, RQ);
            point a = evaluate(law, TD_ISA_PORTABLE, parameters, F, R);
            point b = evaluate(law, TD_ISA_PORTABLE, parameters, QF, R);
            point c = evaluate(law, TD_ISA_PORTABLE, parameters, FQ, RQ);
            multiply(Q, a.P, QP);
            multiply(a.P, Q, PQ);
            double scale = scale_of(&a);
            assert_near(b.psi, a.psi, 1e-11 * scale);
            assert_near(c.psi, a.psi, 1e-11 * scale);
            for (int i = 0; i < 9; i++)
            {
                assert_near(b.P[i], QP[i], 1e-11 * scale);
                assert_near(c.P[i], PQ[i], 1e-11 * scale);
            }
        }
}

static void test_rest(void **state)
{
    (void)state;
    const double I[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int s = 0; s < SAMPLES; s++)
        for (int form = TD_VOLUMETRIC_SQUARE; form <= TD_VOLUMETRIC_MIXED; form++)
        {
            double parameters[TD_LAW_PARAMETERS], young, poisson;
            const tdLaw *law = compile(&samples[s], form, parameters);
            point at = evaluate(law, TD_ISA_PORTABLE, parameters, I, I);
            td_law_engineering(law, parameters, &young, &poisson);
            assert_near(at.psi, 0, 1e-10 * modulus);
            double mu = young / (2 * (1 + poisson)), bulk = young / (3 * (1 - 2 * poisson)), lambda = bulk - 2 * mu / 3;
            assert_near(bulk, 4e5, 1e-9 * modulus);
            if (samples[s].shear > 0)
                assert_near(mu, samples[s].shear, 1e-9 * modulus);
            for (int i = 0; i < 9; i++)
            {
                assert_near(at.P[i], 0, 1e-10 * modulus);
                for (int j = 0; j < 9 && samples[s].kind != TD_LAW_COSTA; j++)
                {
                    int a = i / 3, b = i % 3, c = j / 3, d = j % 3;
                    double expected = mu * ((a == c && b == d) + (a == d && b == c)) + lambda * (a == b && c == d);
                    assert_near(at.D[i][j], expected, 1e-9 * modulus);
                }
            }
        }
}

static void test_invariant_form_equals_closed_form(void **state)
{
    (void)state;
    int compared = 0;
    for (int s = 0; s < SAMPLES; s++)
        for (int isa = 0; isa <= (int)td_isa_pick(false); isa++)
            for (int trial = 0; trial < 300; trial++)
            {
                _Alignas(64) double f[36], psi[2][4], P[2][36], D[2][4 * TD_TANGENT], I1[4], I2[4], J[4], W[36], F[9];
                double parameters[TD_LAW_PARAMETERS];
                const tdLaw *law = compile(&samples[s], trial % 3, parameters);
                if (law->mjed[isa] == NULL)
                    continue;
                for (int l = 0; l < 4; l++)
                {
                    gradient_of_class((trial + l) % 5, F);
                    for (int i = 0; i < 9; i++)
                        f[4 * i + l] = F[i];
                }
                law->kernel[isa](parameters, f, NULL, psi[0], P[0], D[0]);
                td_mjed_invariants(isa)(f, I1, I2, J);
                law->mjed[isa](parameters, I1, I2, J, psi[1], W, true);
                td_mjed_expand(isa)(f, W, P[1], D[1]);
                for (int l = 0; l < 4; l++)
                {
                    double scale = modulus;
                    for (int i = 0; i < TD_TANGENT; i++)
                        scale = fmax(scale, fabs(D[0][4 * i + l]));
                    assert_near(psi[1][l], psi[0][l], 1e-11 * scale);
                    for (int i = 0; i < 9; i++)
                        assert_near(P[1][4 * i + l], P[0][4 * i + l], 1e-11 * scale);
                    for (int i = 0; i < TD_TANGENT; i++)
                        assert_near(D[1][4 * i + l], D[0][4 * i + l], 1e-11 * scale);
                }
                // Without second derivatives the first ones are the same and nothing else is written.
                double first[36], only[36];
                for (int i = 0; i < 36; i++)
                    first[i] = -7;
                law->mjed[isa](parameters, I1, I2, J, psi[0], first, false);
                td_mjed_expand(isa)(f, first, only, NULL);
                assert_memory_equal(first, W, 12 * sizeof *W);
                assert_memory_equal(only, P[1], sizeof only);
                for (int i = 12; i < 36; i++)
                    assert_true(first[i] == -7);
                compared++;
            }
    assert_true(compared >= 4 * 300);
}

static void test_instruction_sets_agree(void **state)
{
    (void)state;
    if (td_isa_pick(false) == TD_ISA_PORTABLE)
        skip_because("this processor has no other instruction set than the portable one");
    for (int s = 0; s < SAMPLES; s++)
        for (int trial = 0; trial < 300; trial++)
        {
            double parameters[TD_LAW_PARAMETERS], F[9], R[9];
            const tdLaw *law = compile(&samples[s], trial % 3, parameters);
            gradient_of_class(trial % 5, F);
            random_rotation(R);
            point a = evaluate(law, TD_ISA_PORTABLE, parameters, F, R);
            point b = evaluate(law, TD_ISA_AVX2, parameters, F, R);
            double scale = scale_of(&a);
            assert_near(a.psi, b.psi, 1e-12 * scale);
            for (int i = 0; i < 9; i++)
            {
                assert_near(a.P[i], b.P[i], 1e-11 * scale);
                for (int j = 0; j < 9; j++)
                    assert_near(a.D[i][j], b.D[i][j], 1e-11 * scale);
            }
        }
}

// The scalar energy of volume is what the kernels add: the difference of a law with and without kappa.
static void test_volumetric(void **state)
{
    (void)state;
    for (int form = TD_VOLUMETRIC_SQUARE; form <= TD_VOLUMETRIC_MIXED; form++)
        for (int k = 0; k < 60; k++)
        {
            double parameters[TD_LAW_PARAMETERS], without[TD_LAW_PARAMETERS], F[9], U, d, dd, U2, d2, unused;
            const tdLaw *law = compile(&samples[0], form, parameters);
            memcpy(without, parameters, sizeof without);
            without[TD_PARAMETER_KAPPA] = 0;
            double J = -0.4 + 0.05 * k + 0.003, h = 1e-6;
            gradient_of(J, 1, 1, F);
            td_volumetric(parameters, J, &U, &d, &dd);
            double psi = evaluate(law, TD_ISA_PORTABLE, parameters, F, NULL).psi;
            assert_near(U, psi - evaluate(law, TD_ISA_PORTABLE, without, F, NULL).psi, 1e-10 * (fabs(psi) + modulus));
            td_volumetric(parameters, J + h, &U2, &d2, &unused);
            double U1, d1;
            td_volumetric(parameters, J - h, &U1, &d1, &unused);
            assert_near(d, (U2 - U1) / (2 * h), 1e-5 * dd);
            assert_near(dd, (d2 - d1) / (2 * h), 1e-5 * dd);
            // The textbook, where it applies.
            double ln = log(fabs(J)),
                   table[3] = {0.5 * (J - 1) * (J - 1), 0.5 * ln * ln, 0.5 * (0.5 * (J * J - 1) - ln)};
            if (J > TD_COMPRESSION)
                assert_near(U, 4e5 * table[form], 1e-9 * modulus);
        }
}

// ---------------------------------------------------------------- Ogden's repeated stretches

static void test_ogden_with_close_stretches(void **state)
{
    (void)state;
    const double gaps[] = {0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2};
    for (int s = 2; s <= 3; s++)
        for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
            for (int trial = 0; trial < 12; trial++)
            {
                double parameters[TD_LAW_PARAMETERS], F[9], a = random_number(0.5, 1.6), gap = gaps[g];
                const tdLaw *law = compile(&samples[s], trial % 3, parameters);
                if (trial % 4 == 0)
                    gradient_of(a, a * (1 + gap), random_number(0.6, 1.5), F);
                else if (trial % 4 == 1)
                    gradient_of(a, a * (1 + gap), a * (1 - 0.7 * gap), F);
                else if (trial % 4 == 2)
                    gradient_of(1, 1 + gap, 1 + 0.3 * gap, F);
                else // exactly diagonal and nearly the identity
                    for (int i = 0; i < 9; i++)
                        F[i] = i % 4 == 0 ? 1 + gap * i : 0;
                check_derivatives("Ogden, close stretches", law, TD_ISA_PORTABLE, parameters, F, NULL, 2e-4, 1e-9);
            }
    // Flat elements: around and below the smallest stretch that the law takes as it is.
    const double thin[] = {0.05, 0.025, 0.0195, 0.01, 1e-3, 0};
    for (int s = 2; s <= 3; s++)
        for (size_t k = 0; k < sizeof thin / sizeof *thin; k++)
        {
            double parameters[TD_LAW_PARAMETERS], F[9];
            const tdLaw *law = compile(&samples[s], TD_VOLUMETRIC_SQUARE, parameters);
            gradient_of(1.1, 0.9, thin[k], F);
            check_derivatives("Ogden, flat", law, TD_ISA_PORTABLE, parameters, F, NULL, 1e-5, 1e-7);
            gradient_of(1.1, thin[k], thin[k], F);
            check_derivatives("Ogden, thread", law, TD_ISA_PORTABLE, parameters, F, NULL, 1e-5, 1e-7);
        }
}

static void assert_same(const point *a, const point *b, double tolerance)
{
    double scale = scale_of(a);
    assert_near(a->psi, b->psi, tolerance * scale);
    for (int i = 0; i < 9; i++)
    {
        assert_near(a->P[i], b->P[i], tolerance * scale);
        for (int j = 0; j < 9; j++)
            assert_near(a->D[i][j], b->D[i][j], tolerance * scale);
    }
}

// alpha = 2 is neo-Hookean and (2, -2) is Mooney-Rivlin with c10 = mu_1/2, c01 = mu_2/2, for every F;
// Arruda-Boyce with long chains is neo-Hookean (to the order of I1/lambda_m^2).
static void test_laws_that_are_others(void **state)
{
    (void)state;
    const sample ogden_2 = {"", TD_LAW_OGDEN, 1, {9e4, 2}, 0}, ogden_22 = {"", TD_LAW_OGDEN, 2, {6e4, 2, 3e4, -2}, 0};
    const sample long_chains = {"", TD_LAW_ARRUDA_BOYCE, 0, {9e4, 1e4}, 0};
    for (int trial = 0; trial < 200; trial++)
    {
        double p[TD_LAW_PARAMETERS], q[TD_LAW_PARAMETERS], F[9];
        const tdLaw *neo = compile(&samples[0], trial % 3, p), *ogden = compile(&ogden_2, trial % 3, q);
        gradient_of_class(trial % 5, F);
        point a = evaluate(neo, TD_ISA_PORTABLE, p, F, NULL), b = evaluate(ogden, TD_ISA_PORTABLE, q, F, NULL);
        assert_same(&a, &b, 1e-12);
        const tdLaw *mooney = compile(&samples[1], trial % 3, p);
        ogden = compile(&ogden_22, trial % 3, q);
        a = evaluate(mooney, TD_ISA_PORTABLE, p, F, NULL), b = evaluate(ogden, TD_ISA_PORTABLE, q, F, NULL);
        assert_same(&a, &b, 1e-11);
        gradient_of_class(0, F);
        neo = compile(&samples[0], trial % 3, p);
        const tdLaw *chains = compile(&long_chains, trial % 3, q);
        a = evaluate(neo, TD_ISA_PORTABLE, p, F, NULL), b = evaluate(chains, TD_ISA_PORTABLE, q, F, NULL);
        assert_same(&a, &b, 1e-6);
    }
}

// ---------------------------------------------------------------- closed-form physics

// dW/dI1bar and dW/dI2bar of the laws by invariants, written down anew.
static void invariant_slopes(const sample *s, double I1, double *w1, double *w2)
{
    const double *v = s->value;
    double l = v[1] * v[1];
    *w1 = *w2 = 0;
    switch (s->kind)
    {
    case TD_LAW_NEO_HOOKEAN: *w1 = v[0] / 2; break;
    case TD_LAW_MOONEY_RIVLIN: *w1 = v[0], *w2 = v[1]; break;
    case TD_LAW_ARRUDA_BOYCE:
        *w1 = v[0] * (1.0 / 2 + I1 / (10 * l) + 11 * I1 * I1 / (350 * l * l) + 19 * pow(I1, 3) / (1750 * pow(l, 3)) +
                      519 * pow(I1, 4) / (134750 * pow(l, 4)));
        break;
    case TD_LAW_VERONDA_WESTMANN: *w1 = v[0] * v[1] * exp(v[1] * (I1 - 3)), *w2 = -v[0] * v[1] / 2; break;
    case TD_LAW_OGDEN: break; // by principal stretches
    default: fail_msg("%s: its slopes are missing here", s->what);
    }
}

// Principal nominal stress dW/dlambda_a at any stretches, isochoric part.
static double principal(const sample *s, const double *x, int a)
{
    double J = x[0] * x[1] * x[2], sum = 0;
    if (s->kind == TD_LAW_OGDEN)
    {
        for (int i = 0; i < s->n_terms; i++)
        {
            double mu = s->value[2 * i], alpha = s->value[2 * i + 1], bar[3], mean = 0;
            for (int b = 0; b < 3; b++)
            {
                bar[b] = pow(x[b] / cbrt(J), alpha);
                mean += bar[b] / 3;
            }
            sum += 2 * mu / alpha * (bar[a] - mean) / x[a];
        }
        return sum;
    }
    double c = pow(J, -2.0 / 3), w1, w2, I1 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    double I2 = x[0] * x[0] * x[1] * x[1] + x[1] * x[1] * x[2] * x[2] + x[2] * x[2] * x[0] * x[0];
    invariant_slopes(s, c * I1, &w1, &w2);
    return 2 * w1 * c * (x[a] - I1 / (3 * x[a])) + 2 * w2 * c * c * (x[a] * (I1 - x[a] * x[a]) - 2 * I2 / (3 * x[a]));
}

static void test_principal_stresses(void **state)
{
    (void)state;
    for (int s = 0; s < SAMPLES; s++)
        for (int trial = 0; trial < 100 && samples[s].kind != TD_LAW_COSTA; trial++)
        {
            double parameters[TD_LAW_PARAMETERS], x[3], F[9] = {0}, U, pressure, unused;
            const tdLaw *law = compile(&samples[s], trial % 3, parameters);
            for (int a = 0; a < 3; a++)
                F[4 * a] = x[a] = random_number(0.6, 2);
            td_volumetric(parameters, x[0] * x[1] * x[2], &U, &pressure, &unused);
            point at = evaluate(law, TD_ISA_PORTABLE, parameters, F, NULL);
            double scale = scale_of(&at);
            for (int a = 0; a < 3; a++)
                assert_near(at.P[4 * a], principal(&samples[s], x, a) + pressure * x[0] * x[1] * x[2] / x[a],
                            1e-12 * scale);
        }
}

// Incompressible textbook formulas: the pressure drops out of P11 - P33 lambda3/lambda1.
static void test_uniaxial_equibiaxial_and_shear(void **state)
{
    (void)state;
    for (int s = 0; s < SAMPLES; s++)
        for (int k = 0; k < 40 && samples[s].kind != TD_LAW_COSTA; k++)
        {
            double parameters[TD_LAW_PARAMETERS], l = 0.4 + 0.06 * k, w1, w2, expected = 0, r = 1 / sqrt(l);
            const sample *it = &samples[s];
            const tdLaw *law = compile(it, k % 3, parameters);
            double uniaxial[9] = {l, 0, 0, 0, r, 0, 0, 0, r};
            point at = evaluate(law, TD_ISA_PORTABLE, parameters, uniaxial, NULL);
            invariant_slopes(it, l * l + 2 / l, &w1, &w2);
            expected = 2 * (l - 1 / (l * l)) * (w1 + w2 / l);
            if (it->kind == TD_LAW_OGDEN)
                expected = 0;
            for (int i = 0; i < it->n_terms; i++)
            {
                double mu = it->value[2 * i], alpha = it->value[2 * i + 1];
                expected += 2 * mu / alpha * (pow(l, alpha - 1) - pow(l, -alpha / 2 - 1));
            }
            assert_near(at.P[0] - at.P[8] * r / l, expected, 1e-8 * modulus);

            double e = 0.6 + 0.03 * k, t = 1 / (e * e), equal[9] = {e, 0, 0, 0, e, 0, 0, 0, t};
            at = evaluate(law, TD_ISA_PORTABLE, parameters, equal, NULL);
            invariant_slopes(it, 2 * e * e + t * t, &w1, &w2);
            expected = it->kind == TD_LAW_OGDEN ? 0 : 2 * (e - pow(e, -5)) * (w1 + e * e * w2);
            for (int i = 0; i < it->n_terms; i++)
            {
                double mu = it->value[2 * i], alpha = it->value[2 * i + 1];
                expected += 2 * mu / alpha * (pow(e, alpha - 1) - pow(e, -2 * alpha - 1));
            }
            assert_near(at.P[0] - at.P[8] * t / e, expected, 1e-8 * modulus);

            // Simple shear: sigma12 = 2 (w1 + w2) g; Ogden through the principal stretches x, 1, 1/x.
            double g = 0.05 * k, shear[9] = {1, g, 0, 0, 1, 0, 0, 0, 1}, x = g / 2 + sqrt(1 + g * g / 4);
            at = evaluate(law, TD_ISA_PORTABLE, parameters, shear, NULL);
            invariant_slopes(it, 3 + g * g, &w1, &w2);
            expected = it->kind == TD_LAW_OGDEN ? 0 : 2 * (w1 + w2) * g;
            for (int i = 0; i < it->n_terms; i++)
            {
                double mu = it->value[2 * i], alpha = it->value[2 * i + 1];
                expected += 2 * mu / alpha * (pow(x, alpha) - pow(x, -alpha)) / (x + 1 / x);
            }
            assert_near(at.P[1], expected, 1e-8 * modulus); // sigma12 = P12 as F has a unit second row
        }
}

// Along an axis of the fibre frame E is diagonal: T = dW/dlambda = c/2 exp(Q) dQ/dlambda. In simple shear of
// sheets over fibres Efs = g/2, Ess = g^2/2.
static void test_costa_along_its_axes(void **state)
{
    (void)state;
    const sample *it = samples;
    while (it->kind != TD_LAW_COSTA)
        it++;
    const double c = it->value[0], *b = it->value + 1;
    for (int axis = 0; axis < 3; axis++)
        for (int k = 0; k < 20; k++)
        {
            double parameters[TD_LAW_PARAMETERS], l = 0.7 + 0.03 * k, r = 1 / sqrt(l), R[9], F[9], T[9], Rt[9];
            const tdLaw *law = compile(it, k % 3, parameters);
            double S[9] = {r, 0, 0, 0, r, 0, 0, 0, r};
            S[4 * axis] = l;
            random_rotation(R);
            for (int i = 0; i < 9; i++)
                Rt[i] = R[3 * (i % 3) + i / 3];
            multiply(Rt, S, T); // F = R' S R stretches along row `axis` of R
            multiply(T, R, F);
            point at = evaluate(law, TD_ISA_PORTABLE, parameters, F, R);
            double Q = 0, dQ = 0, N[9];
            for (int a = 0; a < 3; a++)
            {
                double E = a == axis ? (l * l - 1) / 2 : (1 / l - 1) / 2, dE = a == axis ? l : -1 / (2 * l * l);
                Q += b[a] * E * E;
                dQ += 2 * b[a] * E * dE;
            }
            multiply(R, at.P, T);
            multiply(T, Rt, N);
            int o = (axis + 1) % 3, q = (axis + 2) % 3;
            double pull = N[4 * axis] - (N[4 * o] + N[4 * q]) * r / (2 * l);
            assert_near(pull, c / 2 * exp(Q) * dQ, 1e-8 * modulus);

            double g = 0.04 * k, shear[9] = {1, g, 0, 0, 1, 0, 0, 0, 1};
            at = evaluate(law, TD_ISA_PORTABLE, parameters, shear, NULL);
            Q = b[1] * pow(g, 4) / 4 + b[3] * g * g / 2;
            assert_near(at.psi, c / 2 * (exp(Q) - 1), 1e-9 * modulus);
            assert_near(at.P[1], c / 2 * exp(Q) * (b[1] * pow(g, 3) + b[3] * g), 1e-8 * modulus);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_extension),
        cmocka_unit_test(test_invariance),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_invariant_form_equals_closed_form),
        cmocka_unit_test(test_instruction_sets_agree),
        cmocka_unit_test(test_volumetric),
        cmocka_unit_test(test_ogden_with_close_stretches),
        cmocka_unit_test(test_laws_that_are_others),
        cmocka_unit_test(test_principal_stresses),
        cmocka_unit_test(test_uniaxial_equibiaxial_and_shear),
        cmocka_unit_test(test_costa_along_its_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
