// SPDX-License-Identifier: Apache-2.0
// Viscoelasticity (Prony series) of a cube of six linear tetrahedra: relaxation, creep, rate.
//
// The mass is so small that inertia is nothing. The scheme takes the elastic stress as linear within a step, so a
// jump in the first step is a ramp through it: its time is the middle of that step, up to (h/tau)^2/24.
#include "verify.h"

#define TAU   1.0 // [s]
#define G     0.6
#define YOUNG 1e5 // [Pa]

typedef struct cubeRun
{
    tdModel *model;
    tdState *state;
} cubeRun;

// A unit cube whose sides slide, so that its strain is the same everywhere. `drive`: the lines that load it.
static cubeRun cube(const char *material, double step, const char *drive)
{
    cubeRun r;
    r.model = verify_model("tendril: 1\n"
                           "time_step: %.17g\n"
                           "duration: 100\n"
                           "integrator: {method: backward_euler, newton: true, tolerance: 1e-9}\n"
                           "solver: {type: cholesky}\n"
                           "bodies:\n"
                           "  - name: cube\n"
                           "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
                           "    material: {%s, density: 1e-9}\n"
                           "    fixed: [{group: xmin, axes: x}, {group: ymin, axes: y}, {group: zmin, axes: z}]\n"
                           "%s",
                           step, material, drive);
    r.state = verify_state(r.model);
    return r;
}

static void cube_free(cubeRun *r)
{
    td_state_free(r->state);
    td_model_free(r->model);
}

// Force [N] on the pulled side.
static double cube_force(const cubeRun *r)
{
    const tdSoft *soft = verify_soft(r->model);
    double sum = 0;
    for (int64_t i = 0; i < soft->n_nodes; i++)
        sum += soft->rest[3 * i] > 0.5 ? r->state->reaction[3 * i] : 0;
    return sum;
}

static double cube_stretch(const cubeRun *r)
{
    double at[3];
    td_state_probe(r->model, r->state, 0, at);
    return at[0];
}

#define NEO_HOOKEAN "law: neo_hookean, young: 1e5, poisson: 0.3"

#define HELD                                                                                                           \
    "    prescribed: [{name: pull, group: xmax, axes: x, displacement: [1, 0, 0]}, {group: ymax, axes: y,\n"           \
    "                  displacement: [0, 0, 0]}, {group: zmax, axes: z, displacement: [0, 0, 0]}]\n"

// Relaxation at 30 % stretch, all nodes held: G(t)/G0 = 1 - sum g_i (1 - exp(-t/tau_i)) at any strain.
static void relax(const char *title, int terms, const double *g, const double *tau)
{
    const double step = 0.001;
    char prony[256] = NEO_HOOKEAN ", viscoelastic: [", name[128];
    for (int i = 0; i < terms; i++)
        snprintf(prony + strlen(prony), sizeof prony - strlen(prony), "%s{modulus: %g, time: %g}", i > 0 ? ", " : "",
                 g[i], tau[i]);
    strcat(prony, "]");
    cubeRun elastic = cube(NEO_HOOKEAN, step, HELD "motion: {keyframes: [{t: 0, pull: 0.3}]}\n");
    cubeRun r = cube(prony, step, HELD "motion: {keyframes: [{t: 0, pull: 0.3}]}\n");
    for (int k = 0; k < 3; k++) // past the inertia of the jump, small as it is
        verify_step(elastic.model, elastic.state);
    double once = cube_force(&elastic);
    static const double times[3] = {0.1, 1, 3};
    for (int k = 0; k < 3; k++)
    {
        while (td_state_time(r.state) < times[k] - step / 2)
            verify_step(r.model, r.state);
        double expected = 1;
        for (int i = 0; i < terms; i++)
            expected -= g[i] * (1 - exp(-(td_state_time(r.state) - step / 2) / tau[i]));
        snprintf(name, sizeof name, "%s, relaxed by t = %g s: G(t)/G0", title, times[k]);
        verify_absolute(name, "1 - Σ g (1 - exp(-t/τ))", expected, cube_force(&r) / once, 1e-6);
    }
    cube_free(&elastic);
    cube_free(&r);
}

static void test_relaxation(void **context)
{
    (void)context;
    relax("one term", 1, (double[]){G}, (double[]){TAU});
    relax("two terms", 2, (double[]){0.3, 0.4}, (double[]){0.5, 4});
}

// Creep under a constant small load, sides free: with c = 1 - g,
//     strain(t) / strain at once = (1 - g exp(-c t/tau)) / c
static void test_creep(void **context)
{
    (void)context;
    const double step = 0.001, c = 1 - G, strain = 1e-6;
    char drive[256], material[128];
    snprintf(material, sizeof material, "%s, viscoelastic: [{modulus: %g, time: %g}]", NEO_HOOKEAN, G, TAU);
    snprintf(drive, sizeof drive,
             "probes: [{name: end, body: cube, group: xmax}]\n"
             "loads: [{type: surface, body: cube, group: xmax, force: [%.17g, 0, 0]}]\n",
             strain * YOUNG);
    cubeRun r = cube(material, step, drive);
    static const double times[3] = {0.1, 1, 3};
    for (int k = 0; k < 3; k++)
    {
        while (td_state_time(r.state) < times[k] - step / 2)
            verify_step(r.model, r.state);
        char name[128];
        snprintf(name, sizeof name, "creep by t = %g s: strain over that at once", times[k]);
        double t = td_state_time(r.state) - step / 2;
        verify_relative(name, "(1 - g exp(-(1-g) t/τ))/(1 - g)", (1 - G * exp(-c * t / TAU)) / c,
                        (cube_stretch(&r) - 1) / strain, 1e-5);
    }
    cube_free(&r);
}

// Second Piola-Kirchhoff stress S11 of the law at F = diag(1 + e, 1, 1).
static double elastic_stress(double e)
{
    double mu = YOUNG / 2.6, kappa = YOUNG / 1.2, x = 1 + e, I1 = x * x + 2;
    double P = mu * pow(x, -2.0 / 3) * (x - I1 / (3 * x)) + kappa * (x - 1); // J = x
    return P / x;
}

static const double ramp_time[4] = {0, 0.5, 1.5, 2.5}, ramp_value[4] = {0, 0.4, -0.2, 0.3};

static double ramp(double t)
{
    int k = t < ramp_time[1] ? 0 : t < ramp_time[2] ? 1 : 2;
    double s = (t - ramp_time[k]) / (ramp_time[k + 1] - ramp_time[k]);
    return ramp_value[k] + s * (ramp_value[k + 1] - ramp_value[k]);
}

// S(t) = S0(t) - g/tau int_0^t exp(-(t - s)/tau) S0(s) ds, Simpson's rule; kinks fall on points.
static double hereditary(double t)
{
    const int n = 20000;
    double h = t / n, sum = 0;
    for (int k = 0; k <= n; k++)
    {
        double s = k * h, weight = k == 0 || k == n ? 1 : k % 2 == 1 ? 4 : 2;
        sum += weight * h / 3 * exp(-(t - s) / TAU) * elastic_stress(ramp(s));
    }
    return (1 + ramp(t)) * (elastic_stress(ramp(t)) - G / TAU * sum);
}

// Stretched and squeezed at changing rates; the largest difference of the force over its largest value.
static double rate_error(int steps_a_second)
{
    char material[128];
    snprintf(material, sizeof material, "%s, viscoelastic: [{modulus: %g, time: %g}]", NEO_HOOKEAN, G, TAU);
    cubeRun r = cube(material, 1.0 / steps_a_second,
                     HELD "motion: {keyframes: [{t: 0, pull: 0}, {t: 0.5, pull: 0.4}, {t: 1.5, pull: -0.2},"
                          " {t: 2.5, pull: 0.3}]}\n");
    double worst = 0, largest = 0;
    for (int k = 1; k <= 10; k++)
    {
        while (td_state_time(r.state) < 0.25 * k - 1e-9)
            verify_step(r.model, r.state);
        double expected = hereditary(0.25 * k);
        worst = fmax(worst, fabs(cube_force(&r) - expected));
        largest = fmax(largest, fabs(expected));
    }
    cube_free(&r);
    return worst / largest;
}

static void test_rate(void **context)
{
    (void)context;
    double coarse = rate_error(40), fine = rate_error(80);
    verify_absolute("force at changing rates, 80 steps in τ, largest difference over the largest force",
                    "hereditary integral by Simpson", 0, fine, 1e-4);
    verify_absolute("the same, order from 40 to 80 steps", "linear stress in a step", 2, log2(coarse / fine), 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_relaxation), cmocka_unit_test(test_creep),
                                       cmocka_unit_test(test_rate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
