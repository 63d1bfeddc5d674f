// SPDX-License-Identifier: Apache-2.0
// Fits of laws: known parameters come back from data made by a law, intervals cover, errors explain themselves.
#include "test.h"

#include "base/file.h"
#include "material/fit.h"
#include "material/least_squares.h"

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

enum
{
    MOST_POINTS = 1000
};

typedef struct Points
{
    tdFitData data;
    tdTest test[MOST_POINTS];
    double x[MOST_POINTS], stress[MOST_POINTS];
} Points;

static void begin(Points *p)
{
    *p = (Points){0};
    p->data.test = p->test;
    p->data.x = p->x;
    p->data.stress = p->stress;
}

static void add(Points *p, tdTest test, double x, double stress)
{
    tdFitData *d = &p->data;
    assert_true(d->n < MOST_POINTS);
    p->test[d->n] = test;
    p->x[d->n] = x;
    p->stress[d->n++] = stress;
    d->low[test] = d->count[test] == 0 ? x : fmin(d->low[test], x);
    d->high[test] = d->count[test] == 0 ? x : fmax(d->high[test], x);
    d->count[test]++;
}

// A law with given parameters: `value` in the scene's order.
typedef struct Truth
{
    tdLawKind law;
    int n;
    double value[6];
} Truth;

static tdSpecimen compile(const Truth *truth, double poisson, double *parameters)
{
    tdError error = {0};
    tdSceneMaterial m = {
        .law = truth->law, .young = NAN, .poisson = isnan(poisson) ? 0.4 : poisson, .bulk = NAN, .n_terms = 0};
    for (int i = 0; i < TD_LAW_VALUES; i++)
        m.value[i] = NAN;
    memcpy(m.value, truth->value, (size_t)truth->n * sizeof(double));
    m.n_terms = truth->law == TD_LAW_OGDEN ? truth->n / 2 : 0;
    assert_ok(td_law(truth->law)->parameters(&m, "test", parameters, &error), error);
    return (tdSpecimen){td_law(truth->law), parameters, isnan(poisson)};
}

static void measure(Points *p, const tdSpecimen *s, tdTest test, int n, double low, double high)
{
    for (int i = 0; i < n; i++)
    {
        double x = low + (high - low) * i / (n - 1), stress;
        assert_true(td_response(s, test, x, &stress, NULL));
        add(p, test, x, stress);
    }
}

static tdFitSettings settings_of(const Truth *truth, double poisson)
{
    return (tdFitSettings){.law = truth->law,
                           .terms = truth->law == TD_LAW_OGDEN ? truth->n / 2 : 1,
                           .incompressible = isnan(poisson),
                           .poisson = poisson};
}

static const Truth truths[] = {{TD_LAW_NEO_HOOKEAN, 1, {3.2e5}},
                               {TD_LAW_MOONEY_RIVLIN, 2, {1.6e5, 2.5e4}},
                               {TD_LAW_OGDEN, 2, {2e5, 2.7}},
                               {TD_LAW_OGDEN, 2, {2e5, -3.1}},
                               {TD_LAW_OGDEN, 4, {3e5, 1.4, 1.5e4, -4.2}},
                               {TD_LAW_OGDEN, 4, {3e5, 1.4, 2e3, 6.1}},
                               {TD_LAW_ARRUDA_BOYCE, 2, {2.5e5, 2.8}},
                               {TD_LAW_VERONDA_WESTMANN, 2, {4e3, 1.7}}};

static void test_recovers(void **state)
{
    (void)state;
    const double ratios[] = {(double)NAN, 0.45};
    for (int k = 0; k < N(ratios); k++)
        for (int c = 0; c < N(truths); c++)
        {
            Points p;
            tdFit fit;
            tdError error = {0};
            double parameters[TD_LAW_PARAMETERS];
            tdSpecimen s = compile(&truths[c], ratios[k], parameters);
            bool soft = truths[c].law == TD_LAW_VERONDA_WESTMANN;
            begin(&p);
            measure(&p, &s, TD_TEST_UNIAXIAL, 20, 0.8, soft ? 1.6 : 4);
            measure(&p, &s, TD_TEST_BIAXIAL, 10, 1, soft ? 1.3 : 2);
            measure(&p, &s, TD_TEST_SHEAR, 10, 0, 1);
            tdFitSettings settings = settings_of(&truths[c], ratios[k]);
            assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
            assert_true(fit.converged);
            assert_int_equal(fit.n, truths[c].n);
            for (int i = 0; i < fit.n; i++)
                assert_near(fit.value[i] / truths[c].value[i], 1, 1e-8);
            assert_near(fit.r2, 1, 1e-14);
            // At rest the law has the moduli that it was made with.
            double shear, bulk;
            td_response_moduli(&s, &shear, &bulk);
            double nu = k == 0 ? 0.5 : 0.45;
            assert_near(fit.young / (2 * shear * (1 + nu)), 1, 1e-7);
            assert_near(fit.poisson, nu, 1e-9);
        }
}

// More points than the starts are followed with.
static void test_many_points(void **state)
{
    (void)state;
    static Points p;
    tdFit fit;
    tdError error = {0};
    double parameters[TD_LAW_PARAMETERS];
    tdSpecimen s = compile(&truths[4], (double)NAN, parameters);
    begin(&p);
    measure(&p, &s, TD_TEST_UNIAXIAL, 990, 0.7, 4);
    measure(&p, &s, TD_TEST_BIAXIAL, 10, 1, 2);
    tdFitSettings settings = settings_of(&truths[4], (double)NAN);
    assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
    assert_int_equal(fit.dof, 996);
    for (int i = 0; i < fit.n; i++)
        assert_near(fit.value[i] / truths[4].value[i], 1, 1e-8);
    p.stress[3] = 1e200;
    assert_int_equal(td_fit(&p.data, &settings, &fit, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "more than any machine measures"));
}

static void test_engineering_laws(void **state)
{
    (void)state;
    const tdLawKind laws[] = {TD_LAW_LINEAR, TD_LAW_COROTATIONAL, TD_LAW_STVK};
    for (int c = 0; c < N(laws); c++)
    {
        Points p;
        tdFit fit;
        tdError error = {0};
        double parameters[TD_LAW_PARAMETERS];
        tdSceneMaterial m = {.law = laws[c], .young = 7e5, .poisson = 0.3};
        assert_ok(td_law(m.law)->parameters(&m, "test", parameters, &error), error);
        tdSpecimen s = {td_law(m.law), parameters, false};
        begin(&p);
        measure(&p, &s, TD_TEST_UNIAXIAL, 12, 0.8, 1.5);
        tdFitSettings settings = {.law = laws[c], .poisson = 0.3};
        assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
        assert_near(fit.value[0] / 7e5, 1, 1e-9);
        assert_near(fit.young / 7e5, 1, 1e-9);
    }
}

// ---------------------------------------------------------------- noise

static double uniform(uint64_t *seed)
{
    *seed += 0x9E3779B97F4A7C15u; // splitmix64
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *seed)
{
    double a = uniform(seed), b = uniform(seed);
    return sqrt(-2 * log(a)) * cos(2 * 3.14159265358979323846 * b);
}

static void test_intervals_cover(void **state)
{
    (void)state;
    const Truth cases[] = {truths[0], truths[1], truths[2], truths[6]};
    for (int c = 0; c < N(cases); c++)
    {
        Points clean, p;
        double parameters[TD_LAW_PARAMETERS];
        tdSpecimen s = compile(&cases[c], (double)NAN, parameters);
        begin(&clean);
        measure(&clean, &s, TD_TEST_UNIAXIAL, 10, 1.1, 3);
        measure(&clean, &s, TD_TEST_BIAXIAL, 6, 1.1, 2);
        tdFitSettings settings = settings_of(&cases[c], (double)NAN);
        int covered[2] = {0};
        for (uint64_t run = 0; run < 200; run++)
        {
            uint64_t seed = 1000 * run + 17;
            p = clean;
            p.data.test = p.test;
            p.data.x = p.x;
            p.data.stress = p.stress;
            for (int i = 0; i < p.data.n; i++)
                p.stress[i] += 8e3 * normal(&seed);
            tdFit fit;
            tdError error = {0};
            assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
            for (int i = 0; i < fit.n; i++)
                covered[i] += fabs(fit.value[i] - cases[c].value[i]) <= fit.half[i];
        }
        for (int i = 0; i < cases[c].n; i++)
            if (covered[i] < 180 || covered[i] > 198)
                fail_msg("%s: the interval of parameter %d covers %d of 200", s.law->name, i, covered[i]);
    }
}

static void test_student(void **state)
{
    (void)state;
    const struct
    {
        int dof;
        double t;
    } table[] = {{1, 12.706205}, {2, 4.302653},   {3, 3.182446},    {5, 2.570582},    {10, 2.228139},
                 {30, 2.042272}, {120, 1.979930}, {1000, 1.962339}, {2000, 1.961151}, {5000, 1.960439}};
    for (int i = 0; i < N(table); i++)
        assert_near(td_student_95(table[i].dof), table[i].t, 2e-6);
    assert_true(isnan(td_student_95(0)));
}

static void test_not_identifiable(void **state)
{
    (void)state;
    Points p;
    tdFit fit;
    tdError error = {0};
    double parameters[TD_LAW_PARAMETERS];
    tdSpecimen s = compile(&truths[1], (double)NAN, parameters);
    begin(&p);
    measure(&p, &s, TD_TEST_UNIAXIAL, 12, 1.01, 1.1);
    uint64_t seed = 5;
    for (int i = 0; i < p.data.n; i++)
        p.stress[i] += 100 * normal(&seed);
    tdFitSettings settings = settings_of(&truths[1], (double)NAN);
    assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
    assert_true(fit.at_bound[0] || fit.at_bound[1] || fabs(fit.correlation) > 0.99);
    // In simple shear only the sum of the two counts: nothing tells them apart.
    begin(&p);
    measure(&p, &s, TD_TEST_SHEAR, 12, 0.1, 1);
    assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
    assert_near((fit.value[0] + fit.value[1]) / 1.85e5, 1, 1e-8);
    assert_true(isnan(fit.half[0]) && isnan(fit.half[1]));
    assert_near(fabs(fit.correlation), 1, 0);
}

static void test_bound(void **state)
{
    (void)state;
    Points p;
    tdFit fit;
    tdError error = {0};
    double parameters[TD_LAW_PARAMETERS];
    const Truth negative = {TD_LAW_MOONEY_RIVLIN, 2, {1e5, -1e4}};
    tdSpecimen s = compile(&negative, (double)NAN, parameters);
    begin(&p);
    measure(&p, &s, TD_TEST_UNIAXIAL, 12, 1.1, 3);
    tdFitSettings settings = settings_of(&negative, (double)NAN);
    assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
    assert_true(fit.at_bound[1] && !fit.at_bound[0]);
    assert_near(fit.value[1], 0, 0);
    assert_true(isnan(fit.half[1]) && fit.half[0] > 0);
    assert_int_equal(fit.dof, 11);
}

// The law that made the data wins, and with it neither a stiffer nor a richer one.
static void test_aic(void **state)
{
    (void)state;
    const tdFitSettings all[] = {{.law = TD_LAW_NEO_HOOKEAN, .incompressible = true},
                                 {.law = TD_LAW_MOONEY_RIVLIN, .incompressible = true},
                                 {.law = TD_LAW_ARRUDA_BOYCE, .incompressible = true},
                                 {.law = TD_LAW_VERONDA_WESTMANN, .incompressible = true},
                                 {.law = TD_LAW_OGDEN, .terms = 2, .incompressible = true}};
    const int made_by[] = {1, 6, 4};
    for (int c = 0; c < N(made_by); c++)
    {
        Points p;
        double parameters[TD_LAW_PARAMETERS], best = HUGE_VAL;
        const Truth *truth = &truths[made_by[c]];
        tdSpecimen s = compile(truth, (double)NAN, parameters);
        begin(&p);
        measure(&p, &s, TD_TEST_UNIAXIAL, 25, 0.7, 4);
        measure(&p, &s, TD_TEST_BIAXIAL, 20, 1.05, 2.2);
        uint64_t seed = 3;
        for (int i = 0; i < p.data.n; i++)
            p.stress[i] += 3e3 * normal(&seed);
        tdLawKind winner = TD_LAWS;
        for (int k = 0; k < N(all); k++)
        {
            tdFit fit;
            tdError error = {0};
            assert_ok(td_fit(&p.data, &all[k], &fit, &error), error);
            if (fit.aic < best)
            {
                best = fit.aic;
                winner = all[k].law;
            }
        }
        assert_int_equal(winner, truth->law);
    }
}

// ---------------------------------------------------------------- properties

static void test_scales_and_repeats(void **state)
{
    (void)state;
    Points p;
    tdFit fit, again;
    tdError error = {0};
    double parameters[TD_LAW_PARAMETERS];
    tdSpecimen s = compile(&truths[4], (double)NAN, parameters);
    begin(&p);
    measure(&p, &s, TD_TEST_UNIAXIAL, 30, 0.6, 4);
    uint64_t seed = 11;
    for (int i = 0; i < p.data.n; i++)
        p.stress[i] += 2e3 * normal(&seed);
    tdFitSettings settings = settings_of(&truths[4], (double)NAN);
    assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
    assert_ok(td_fit(&p.data, &settings, &again, &error), error);
    assert_memory_equal(fit.value, again.value, sizeof fit.value);
    for (int i = 0; i < p.data.n; i++)
        p.stress[i] *= 1e-6;
    assert_ok(td_fit(&p.data, &settings, &again, &error), error);
    for (int i = 0; i < 4; i++)
        assert_near(again.value[i] / fit.value[i], i % 2 == 0 ? 1e-6 : 1, i % 2 == 0 ? 1e-11 : 1e-5);
}

// Relative errors weigh the small stresses, so the small-strain modulus comes out better.
static void test_relative(void **state)
{
    (void)state;
    Points p;
    double parameters[TD_LAW_PARAMETERS], off[2];
    const Truth truth = {TD_LAW_OGDEN, 4, {3e5, 1.4, 2e3, 6.1}};
    tdSpecimen s = compile(&truth, (double)NAN, parameters);
    begin(&p);
    measure(&p, &s, TD_TEST_UNIAXIAL, 30, 1.02, 5);
    for (int k = 0; k < 2; k++)
    {
        tdFit fit;
        tdError error = {0};
        tdFitSettings settings = {.law = TD_LAW_NEO_HOOKEAN, .incompressible = true, .relative = k == 1};
        assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
        off[k] = fabs(fit.value[0] - 3.02e5);
    }
    assert_true(off[1] < off[0]);
}

static void test_treloar(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    tdArena arena = {0};
    tdFitData data;
    tdError error = {0};
    tdFit fit;
    assert_ok(td_file_read(TD_SOURCE_DIR "/scenes/data/treloar.csv", &text, &size, &error), error);
    assert_ok(td_fit_read_csv(text, size, "treloar.csv", TD_TESTS, &arena, &data, &error), error);
    assert_int_equal(data.n, 47);
    assert_int_equal(data.count[TD_TEST_UNIAXIAL], 23);
    assert_near(data.high[TD_TEST_UNIAXIAL], 7.61, 0);
    tdFitSettings settings = {.law = TD_LAW_OGDEN, .terms = 3, .incompressible = true};
    assert_ok(td_fit(&data, &settings, &fit, &error), error);
    assert_true(fit.converged);
    assert_true(fit.r2 > 0.998);
    for (int t = 0; t < TD_TESTS; t++)
        assert_true(fit.stable[t][1] > 4.9);
    // Ogden's own parameters of 1972 for these data, in our form, cannot be better.
    const Truth published = {TD_LAW_OGDEN, 6, {0.63e6 * 1.3 / 2, 1.3, 0.0012e6 * 5.0 / 2, 5.0, 0.01e6 * 2.0 / 2, -2.0}};
    double parameters[TD_LAW_PARAMETERS], square = 0, stress;
    tdSpecimen s = compile(&published, (double)NAN, parameters);
    for (int i = 0; i < data.n; i++)
    {
        assert_true(td_response(&s, data.test[i], data.x[i], &stress, NULL));
        square += (stress - data.stress[i]) * (stress - data.stress[i]);
    }
    double rms = sqrt(square / data.n);
    assert_true(rms < 0.4e6); // they do describe these data
    assert_true(fit.rms < rms);
    settings.law = TD_LAW_ARRUDA_BOYCE;
    assert_ok(td_fit(&data, &settings, &fit, &error), error);
    assert_near(fit.value[0], 0.27e6, 0.03e6); // as Arruda and Boyce 1993 report
    td_arena_free(&arena);
    free(text);
}

static void test_snippet(void **state)
{
    (void)state;
    tdFit fit = {.settings = {.law = TD_LAW_OGDEN, .terms = 2}, .n = 4, .value = {1.5e5, 1.3, -2, -3}};
    const char *const names[] = {"mu", "alpha"};
    fit.names = names;
    fit.material.poisson = 0.49;
    tdText text = {0};
    td_fit_snippet(&fit, &text);
    assert_string_equal(text.data,
                        "law: ogden, terms: [{mu: 150 kPa, alpha: 1.3}, {mu: -2 Pa, alpha: -3}], poisson: 0.49");
    free(text.data);
}

// ---------------------------------------------------------------- errors

static void test_refuses(void **state)
{
    (void)state;
    Points p;
    tdFit fit;
    tdError error = {0};
    begin(&p);
    add(&p, TD_TEST_UNIAXIAL, 1.2, 1e5);
    add(&p, TD_TEST_UNIAXIAL, 1.5, 2e5);
    tdFitSettings settings = {.law = TD_LAW_MOONEY_RIVLIN, .incompressible = true};
    assert_int_equal(td_fit(&p.data, &settings, &fit, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "2 points for the 2 parameters of mooney_rivlin"));
    settings.law = TD_LAW_STVK;
    assert_int_equal(td_fit(&p.data, &settings, &fit, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "no incompressible form"));
    settings = (tdFitSettings){.law = TD_LAW_NEO_HOOKEAN, .poisson = 0.5};
    assert_int_equal(td_fit(&p.data, &settings, &fit, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "Poisson"));
    settings = (tdFitSettings){.law = TD_LAW_COSTA, .incompressible = true};
    assert_int_equal(td_fit(&p.data, &settings, &fit, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "fibres"));
    settings.law = TD_LAW_NEO_HOOKEAN;
    p.stress[0] = p.stress[1] = 0;
    assert_int_equal(td_fit(&p.data, &settings, &fit, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "all stresses are zero"));
    p.x[0] = p.x[1] = 1;
    p.stress[0] = 5;
    assert_int_equal(td_fit(&p.data, &settings, &fit, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "away from rest"));
}

static void test_pulls_backwards(void **state)
{
    (void)state;
    // Stress against the stretch: no positive modulus explains it. The modulus goes to zero, R^2 tells.
    Points p;
    tdFit fit;
    tdError error = {0};
    begin(&p);
    for (int i = 1; i < 6; i++)
        add(&p, TD_TEST_UNIAXIAL, 1 + 0.1 * i, -1e5 * i);
    tdFitSettings settings = {.law = TD_LAW_NEO_HOOKEAN, .incompressible = true};
    assert_ok(td_fit(&p.data, &settings, &fit, &error), error);
    assert_true(fit.value[0] < 1);
    assert_true(fit.r2 < 0);
}

static void read_fails(const char *text, tdTest test, int line, const char *field, const char *message)
{
    tdArena arena = {0};
    tdFitData data;
    tdError error = {0};
    tdStatus status = td_fit_read_csv(text, strlen(text), "data.csv", test, &arena, &data, &error);
    td_arena_free(&arena);
    if (status != TD_ERROR_INPUT || error.line != line || strcmp(error.field, field) != 0 ||
        strstr(error.message, message) == NULL)
        fail_msg("'%s': status %d, line %d, field '%s', message '%s'; expected line %d, field '%s', '%s'", text, status,
                 error.line, error.field, error.message, line, field, message);
    assert_string_equal(error.file, "data.csv");
}

static void test_csv_errors(void **state)
{
    (void)state;
    read_fails("", TD_TESTS, 0, "", "empty");
    read_fails("# nothing\n\n", TD_TESTS, 2, "", "empty");
    read_fails("mode,stretch\n", TD_TESTS, 1, "stress", "missing");
    read_fails("mode,stress\n", TD_TESTS, 1, "stretch", "missing");
    read_fails("stretch,stress\n1,2\n", TD_TESTS, 1, "mode", "--mode");
    read_fails("mode,stretch,stress\n", TD_TEST_SHEAR, 1, "mode", "leave out --mode");
    read_fails("mode,strech,stress\n", TD_TESTS, 1, "", "did you mean 'stretch'");
    read_fails("mode,stretch,stretch,stress\n", TD_TESTS, 1, "stretch", "twice");
    read_fails("mode,stretch,strain,stress\n", TD_TESTS, 1, "strain", "exclude");
    read_fails("mode,stretch,stress [kN]\n", TD_TESTS, 1, "stress", "force");
    read_fails("mode,stretch,stress [kPa\n", TD_TESTS, 1, "stress [kPa", "']' is missing");
    read_fails("mode,stretch,stress\n", TD_TESTS, 1, "", "no line of values");
    read_fails("mode,stretch,stress\nuniaxal,1,2\n", TD_TESTS, 2, "mode", "did you mean 'uniaxial'");
    read_fails("mode,stretch,stress\nuniaxial,1.5,\n", TD_TESTS, 2, "stress", "empty");
    read_fails("mode,stretch,stress\nuniaxial,,5\n", TD_TESTS, 2, "stretch", "empty");
    read_fails("mode,stretch,stress\nuniaxial,1.5\n", TD_TESTS, 2, "", "2 cells, the header has 3");
    read_fails("mode,stretch,stress\nuniaxial,1.5,3,4\n", TD_TESTS, 2, "", "more cells");
    read_fails("mode,stretch,stress\n\n# x\nuniaxial,1.5,nan\n", TD_TESTS, 4, "stress", "found 'nan'");
    read_fails("mode,stretch,stress\nuniaxial,inf,1\n", TD_TESTS, 2, "stretch", "found 'inf'");
    read_fails("mode,stretch,stress\nuniaxial,1e999,1\n", TD_TESTS, 2, "stretch", "too large");
    read_fails("mode,stretch,stress\nuniaxial,text,1\n", TD_TESTS, 2, "stretch", "found 'text'");
    read_fails("mode,stretch,stress\nuniaxial,0,1\n", TD_TESTS, 2, "stretch", "must be > 0");
    read_fails("mode,strain [%],stress\nuniaxial,-100,1\n", TD_TESTS, 2, "strain", "must be > 0");
    read_fails("mode,stretch,stress\nuniaxial,1.5,3 kN\n", TD_TESTS, 2, "stress", "expected a pressure");
    read_fails("mode,stretch,stress\nshear,1.5,3\n", TD_TESTS, 2, "gamma", "needs the column 'gamma'");
    read_fails("mode,gamma,stress\nplanar,1.5,3\n", TD_TESTS, 2, "stretch", "needs the column 'stretch'");
    read_fails("mode,stretch,gamma,stress\nshear,1.5,0.5,3\n", TD_TESTS, 2, "stretch", "leave this cell empty");
    read_fails("mode;stretch;stress\nuniaxial;1,5;3\n", TD_TESTS, 2, "stretch", "decimal mark");
}

static void test_csv_reads(void **state)
{
    (void)state;
    const char text[] = "\xEF\xBB\xBF# made by hand\r\n mode , strain [%], gamma [-], stress [kPa] # units\r\n"
                        "uniaxial, 50,, 12\r\n\r\nbiaxial,-20 %,,-3 MPa\nshear,,-0.25,7.5e-1\nplanar,1e2,,0\n";
    tdArena arena = {0};
    tdFitData d;
    tdError error = {0};
    assert_ok(td_fit_read_csv(text, sizeof text - 1, "data.csv", TD_TESTS, &arena, &d, &error), error);
    assert_int_equal(d.n, 4);
    const tdTest tests[4] = {TD_TEST_UNIAXIAL, TD_TEST_BIAXIAL, TD_TEST_SHEAR, TD_TEST_PLANAR};
    const double x[4] = {1.5, 0.8, -0.25, 2}, stress[4] = {12e3, -3e6, 750, 0};
    for (int i = 0; i < 4; i++)
    {
        assert_int_equal(d.test[i], tests[i]);
        assert_near(d.x[i], x[i], 1e-15);
        assert_near(d.stress[i], stress[i], 1e-9);
        assert_int_equal(d.count[i], 1);
    }
    td_arena_free(&arena);
    const char plain[] = "strain\tstress\n0.1\t5\n0.2\t6";
    assert_ok(td_fit_read_csv(plain, sizeof plain - 1, "data.csv", TD_TEST_SHEAR, &arena, &d, &error), error);
    assert_int_equal(d.count[TD_TEST_SHEAR], 2);
    assert_near(d.high[TD_TEST_SHEAR], 0.2, 0);
    td_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recovers),
        cmocka_unit_test(test_many_points),
        cmocka_unit_test(test_engineering_laws),
        cmocka_unit_test(test_intervals_cover),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_not_identifiable),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_aic),
        cmocka_unit_test(test_scales_and_repeats),
        cmocka_unit_test(test_relative),
        cmocka_unit_test(test_treloar),
        cmocka_unit_test(test_snippet),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_pulls_backwards),
        cmocka_unit_test(test_csv_errors),
        cmocka_unit_test(test_csv_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
