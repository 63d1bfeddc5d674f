// SPDX-License-Identifier: Apache-2.0
// From a scene's material to a law: engineering constants are met at small strain, own parameters arrive where
// the kernels read them, everything bad is refused with its reason, and the stable range of a law is found.
#include "test.h"

#include "material/law.h"

static tdSceneMaterial nothing(tdLawKind law)
{
    tdSceneMaterial m = {.law = law, .line = 12, .young = NAN, .poisson = NAN, .bulk = NAN};
    for (int i = 0; i < TD_LAW_VALUES; i++)
        m.value[i] = NAN;
    return m;
}

static tdSceneMaterial own(tdLawKind law, int n, const double *value)
{
    tdSceneMaterial m = nothing(law);
    memcpy(m.value, value, (size_t)n * sizeof *value);
    m.bulk = 1e6;
    m.has_fibre = law == TD_LAW_COSTA;
    m.n_terms = law == TD_LAW_OGDEN ? n / 2 : 0;
    return m;
}

// Unused entries are NAN where the scene leaves them so, and zero in a structure that someone made by hand.
static void test_engineering_constants_are_met(void **state)
{
    (void)state;
    const double ratios[] = {-0.5, 0, 0.3, 0.45, 0.4999};
    for (int kind = 0; kind < TD_LAW_COSTA; kind++)
        for (size_t k = 0; k < 2 * (sizeof ratios / sizeof *ratios); k++)
        {
            tdError error = {0};
            tdSceneMaterial m = k % 2 == 0 ? nothing(kind) : (tdSceneMaterial){.law = kind};
            double parameters[TD_LAW_PARAMETERS] = {0}, young, poisson;
            m.young = 450e3;
            m.poisson = ratios[k / 2];
            assert_ok(td_law(kind)->parameters(&m, NULL, parameters, &error), error);
            td_law_engineering(td_law(kind), parameters, &young, &poisson);
            assert_near(young, 450e3, 1e-6);
            assert_near(poisson, m.poisson, 1e-12);
        }
}

// S3 Fig. 3: E = 1, nu = 0.45 is mu = 0.344, k0 = 3.33, and c1 = c2 = 0.086.
static void test_published_equivalents(void **state)
{
    (void)state;
    double p[TD_LAW_PARAMETERS];
    tdSceneMaterial m = nothing(TD_LAW_MOONEY_RIVLIN);
    m.young = 1;
    m.poisson = 0.45;
    assert_int_equal(td_law(TD_LAW_MOONEY_RIVLIN)->parameters(&m, NULL, p, NULL), TD_OK);
    assert_near(p[TD_PARAMETER_OWN], 0.0862, 5e-5);
    assert_near(p[TD_PARAMETER_OWN + 1], 0.0862, 5e-5);
    assert_near(p[TD_PARAMETER_KAPPA], 3.333, 5e-4);
    m.law = TD_LAW_NEO_HOOKEAN;
    assert_int_equal(td_law(TD_LAW_NEO_HOOKEAN)->parameters(&m, NULL, p, NULL), TD_OK);
    assert_near(p[TD_PARAMETER_OWN], 0.3448, 5e-5);
    m.law = TD_LAW_STVK;
    assert_int_equal(td_law(TD_LAW_STVK)->parameters(&m, NULL, p, NULL), TD_OK);
    assert_near(p[0], 0.3448, 5e-5);
    assert_near(p[1], 3.103, 5e-4);
}

static void test_own_parameters(void **state)
{
    (void)state;
    double p[TD_LAW_PARAMETERS], young, poisson;
    tdError error = {0};
    const double terms[4] = {3e4, 1.3, 2e4, -2};
    tdSceneMaterial m = own(TD_LAW_OGDEN, 4, terms);
    m.volumetric = TD_VOLUMETRIC_LOG;
    assert_ok(td_law(TD_LAW_OGDEN)->parameters(&m, NULL, p, &error), error);
    assert_near(p[TD_PARAMETER_KAPPA], 1e6, 0);
    assert_near(p[TD_PARAMETER_VOLUMETRIC], TD_VOLUMETRIC_LOG, 0);
    assert_near(p[TD_PARAMETER_OWN], 2, 0);
    for (int i = 0; i < 4; i++)
        assert_near(p[TD_PARAMETER_OWN + 1 + i], terms[i], 0);
    // Poisson's ratio instead of the bulk modulus.
    m.bulk = NAN;
    m.poisson = 0.47;
    assert_ok(td_law(TD_LAW_OGDEN)->parameters(&m, NULL, p, &error), error);
    td_law_engineering(td_law(TD_LAW_OGDEN), p, &young, &poisson);
    assert_near(poisson, 0.47, 1e-12);
    assert_near(young, 5e4 * 2 * 1.47, 1e-6);
    // A parameter may be 0 where another carries the law.
    m = own(TD_LAW_MOONEY_RIVLIN, 2, (const double[]){5e4, 0});
    assert_ok(td_law(TD_LAW_MOONEY_RIVLIN)->parameters(&m, NULL, p, &error), error);
    // Costa with equal b is isotropic at small strain with shear modulus c b/2.
    m = own(TD_LAW_COSTA, 7, (const double[]){2e4, 5, 5, 5, 5, 5, 5});
    assert_ok(td_law(TD_LAW_COSTA)->parameters(&m, NULL, p, &error), error);
    td_law_engineering(td_law(TD_LAW_COSTA), p, &young, &poisson);
    assert_near(young / (2 * (1 + poisson)), 5e4, 1e-6);
    assert_near(young / (3 * (1 - 2 * poisson)), 1e6, 1e-3);
}

static void test_names(void **state)
{
    (void)state;
    int n;
    for (int kind = 0; kind < TD_LAWS; kind++)
    {
        const char *const *names = td_law_names(kind, &n);
        assert_true(n >= 0 && n <= TD_LAW_VALUES);
        for (int i = 0; i < n; i++)
            assert_true(names[i] != NULL && names[i][0] != '\0');
    }
    assert_string_equal(td_law_names(TD_LAW_COSTA, &n)[6], "b_sn");
    assert_int_equal(n, 7);
}

typedef struct bad
{
    tdLawKind law;
    int n;
    double value[14];
    double young, poisson, bulk; // 0: NAN
    const char *says;
} bad;

static const bad table[] = {
    {TD_LAW_NEO_HOOKEAN, 0, {0}, -1, 0.3, 0, "young is -1 Pa, must be a positive"},
    {TD_LAW_NEO_HOOKEAN, 0, {0}, INFINITY, 0.3, 0, "must be a positive"},
    {TD_LAW_STVK, 0, {0}, 1e5, 0.5, 0, "poisson is 0.5, must be > -1 and < 0.5"},
    {TD_LAW_MOONEY_RIVLIN, 0, {0}, 1e5, -1, 0, "poisson is -1, must be"},
    {TD_LAW_LINEAR, 0, {0}, 1e5, 0, 0, "young needs poisson"},
    {TD_LAW_OGDEN, 0, {0}, 1e5, 0.3, 1e6, "bulk is given in addition to young"},
    {TD_LAW_LINEAR, 0, {0}, 0, 0, 0, "law 'linear' needs young and poisson"},
    {TD_LAW_LINEAR, 1, {1e5}, 1e5, 0.3, 0, "no parameters of its own"},
    {TD_LAW_NEO_HOOKEAN, 0, {0}, 0, 0.3, 1e6, "law 'neo_hookean' needs young and poisson, or mu and bulk"},
    {TD_LAW_NEO_HOOKEAN, 1, {1e5}, 1e5, 0.3, 0, "young and mu are both given"},
    {TD_LAW_NEO_HOOKEAN, 1, {-1e5}, 0, 0, 1e6, "mu is -100000 Pa, must be positive"},
    {TD_LAW_NEO_HOOKEAN, 1, {1e5}, 0, 0, 0, "needs the bulk modulus in addition to mu; give bulk or poisson"},
    {TD_LAW_NEO_HOOKEAN, 1, {1e5}, 0, 0.3, 1e6, "bulk and poisson are both given"},
    {TD_LAW_NEO_HOOKEAN, 1, {1e5}, 0, 0, -1e6, "bulk is -1e+06 Pa, must be a positive"},
    {TD_LAW_NEO_HOOKEAN, 1, {1e5}, 0, 0.6, 0, "poisson is 0.6, must be"},
    {TD_LAW_NEO_HOOKEAN, 2, {1e5, 2e5}, 0, 0, 1e6, "has only mu; a further parameter, 200000, belongs to another law"},
    {TD_LAW_NEO_HOOKEAN, 1, {INFINITY}, 0, 0, 1e6, "mu is not finite"},
    {TD_LAW_MOONEY_RIVLIN, 1, {1e5}, 0, 0, 1e6, "c01 is missing; it needs c10, c01"},
    {TD_LAW_MOONEY_RIVLIN, 2, {1e4, -2e4}, 0, 0, 1e6, "c10 + c01 is -10000 Pa, must be positive"},
    {TD_LAW_OGDEN, 2, {-1e5, 2}, 0, 0, 1e6, "the sum of mu is -100000 Pa, must be positive"},
    {TD_LAW_OGDEN, 4, {1e5, 2, -1e5, -2}, 0, 0, 1e6, "the sum of mu is 0 Pa"},
    {TD_LAW_OGDEN, 2, {1e5, 0}, 0, 0, 1e6, "alpha_1 is 0, must be between"},
    {TD_LAW_OGDEN, 4, {1e5, 2, 1e5, 80}, 0, 0, 1e6, "alpha_2 is 80, must be between"},
    {TD_LAW_OGDEN, 14, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, 0, 0, 1e6, "has 7 terms, must be 1 to 6"},
    {TD_LAW_ARRUDA_BOYCE, 2, {1e5, 1}, 0, 0, 1e6, "lambda_m is 1, must be > 1"},
    {TD_LAW_ARRUDA_BOYCE, 2, {-1e5, 3}, 0, 0, 1e6, "mu is -100000 Pa, must be positive"},
    {TD_LAW_VERONDA_WESTMANN, 2, {1e5, -1}, 0, 0, 1e6, "c2 is -1, must be positive"},
    {TD_LAW_VERONDA_WESTMANN, 2, {-1e5, 1}, 0, 0, 1e6, "c1 is -100000, must be positive"},
    {TD_LAW_COSTA, 7, {-1, 1, 1, 1, 1, 1, 1}, 0, 0, 1e6, "c is -1 Pa, must be positive"},
    {TD_LAW_COSTA, 7, {1e3, 1, 1, 1, -2, 1, 1}, 0, 0, 1e6, "b_fs is -2, must not be negative"},
    {TD_LAW_COSTA, 7, {1e3, 0, 0, 0, 0, 0, 0}, 0, 0, 1e6, "shear modulus at small strain would be 0"},
    {TD_LAW_COSTA, 7, {1e3, 1, 1, 1, 1, 1, 1}, 0, 0, 0, "needs the bulk modulus"},
    {TD_LAW_COSTA, 7, {1e3, 1, 1, 1, 1, 1, 1}, 0, 0.3, 0, "poisson has no meaning for it; give bulk"},
    {TD_LAW_COSTA, 0, {0}, 1e5, 0.3, 0, "young has no meaning for it"},
    {TD_LAW_COSTA, 0, {0}, 0, 0, 0, "law 'costa' needs c, b_ff"},
};

static void refused(const tdSceneMaterial *m, const char *says)
{
    tdError error = {0};
    double p[TD_LAW_PARAMETERS];
    if (td_law(m->law)->parameters(m, "scene.yaml", p, &error) != TD_ERROR_INPUT)
        fail_msg("%s: not refused, expected '%s'", td_law(m->law)->name, says);
    char text[1200];
    td_error_format(&error, text, sizeof text);
    if (strstr(text, says) == NULL || strstr(text, "scene.yaml") == NULL || strstr(text, "12") == NULL ||
        strstr(text, "material") == NULL)
        fail_msg("'%s' does not say '%s' with its place", text, says);
}

static void test_bad_values_are_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    {
        const bad *b = &table[k];
        tdSceneMaterial m = own(b->law, b->n, b->value);
        m.young = b->young != 0 ? b->young : NAN;
        m.poisson = b->poisson != 0 ? b->poisson : NAN;
        m.bulk = b->bulk != 0 ? b->bulk : NAN;
        refused(&m, b->says);
    }
    tdSceneMaterial m = own(TD_LAW_COSTA, 7, (const double[]){1e3, 1, 1, 1, 1, 1, 1});
    m.has_fibre = false;
    refused(&m, "needs the directions of the fibres");
    m = own(TD_LAW_NEO_HOOKEAN, 1, (const double[]){1e5});
    m.has_fibre = true;
    refused(&m, "fibres are only for law 'costa'");
    m.has_fibre = false;
    m.n_terms = 1;
    refused(&m, "has no terms");
    m.n_terms = 0;
    m.volumetric = (tdVolumetric)9;
    refused(&m, "none of square, log and mixed");
    m = nothing(TD_LAW_STVK);
    m.young = 1e5;
    m.poisson = 0.3;
    m.volumetric = TD_VOLUMETRIC_LOG;
    refused(&m, "does not split off the change of volume");
}

// StVK is soft under compression: in uniaxial stress P = E/2 (l^3 - l) turns at l = 1/sqrt(3). A Mooney-Rivlin
// material with c01 < 0 loses the slope of 2 (l - l^-2)(c10 + c01/l) under compression, one with c10 < 0 in
// tension. Laws with a convex energy are stable throughout.
static void test_stable_range(void **state)
{
    (void)state;
    double p[TD_LAW_PARAMETERS], range[2];
    tdSceneMaterial m = nothing(TD_LAW_STVK);
    m.young = 1e5;
    m.poisson = 0.1;
    assert_int_equal(td_law(TD_LAW_STVK)->parameters(&m, NULL, p, NULL), TD_OK);
    assert_int_equal(td_law_stable_range(td_law(TD_LAW_STVK), p, range), 1);
    assert_true(range[0] >= 1 / sqrt(3.0) - 0.01 && range[0] < 0.7); // two axes turn a little earlier

    m = own(TD_LAW_MOONEY_RIVLIN, 2, (const double[]){5e4, -2e4});
    assert_int_equal(td_law(TD_LAW_MOONEY_RIVLIN)->parameters(&m, NULL, p, NULL), TD_OK);
    assert_int_equal(td_law_stable_range(td_law(TD_LAW_MOONEY_RIVLIN), p, range), 1);
    double l = 1; // where the first of the two tests turns
    while (l > 0.1 && 5e4 * (1 + 2 / pow(l, 3)) - 2e4 * 3 / pow(l, 4) > 0)
        l -= 1e-4;
    double b = 1; // d/de of (e - e^-5)(c10 + e^2 c01), in tension
    while (b < 3 && 5e4 * (1 + 5 * pow(b, -6)) - 2e4 * (3 * b * b + 3 * pow(b, -4)) > 0)
        b += 1e-4;
    assert_near(range[0], l, 0.01);
    assert_near(range[1], b, 0.01);

    const struct
    {
        tdLawKind law;
        int n;
        double value[7];
    } stable[] = {{TD_LAW_NEO_HOOKEAN, 1, {1e5}},
                  {TD_LAW_MOONEY_RIVLIN, 2, {3e4, 1e4}},
                  {TD_LAW_OGDEN, 4, {3e4, 2, 1e4, -2}},
                  {TD_LAW_ARRUDA_BOYCE, 2, {1e5, 3}},
                  {TD_LAW_COSTA, 7, {1e4, 2, 2, 2, 2, 2, 2}}};
    for (size_t k = 0; k < sizeof stable / sizeof *stable; k++)
    {
        const tdLaw *law = td_law(stable[k].law);
        m = own(stable[k].law, stable[k].n, stable[k].value);
        assert_int_equal(law->parameters(&m, NULL, p, NULL), TD_OK);
        if (td_law_stable_range(law, p, range) != 0)
            fail_msg("%s: stable only in %g..%g", law->name, range[0], range[1]);
        assert_near(range[0], 0.1, 1e-12);
        assert_near(range[1], 10, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engineering_constants_are_met),
        cmocka_unit_test(test_published_equivalents),
        cmocka_unit_test(test_own_parameters),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bad_values_are_refused),
        cmocka_unit_test(test_stable_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
