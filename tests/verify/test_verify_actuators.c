// SPDX-License-Identifier: Apache-2.0
// Actuators against closed forms: a bar pulled by its end, a thick sphere under pressure, gas, work against stored
// energy, and rest shapes that do not depend on the time step.
#include "verify_actuators.h"

// ---------------------------------------------------------------- bar

#define LENGTH 0.1
#define SIDE   0.01
#define YOUNG  1e6

// Uniaxial stretch of the neo-Hookean law mu/2 (J^-2/3 I1 - 3) + kappa/2 (J - 1)^2: across, the stress vanishes.
// Returns the nominal stress along.
static double uniaxial(double mu, double kappa, double along)
{
    double across = 1 / sqrt(along), stress[2] = {0, 0};
    for (int k = 0; k < 60; k++)
    {
        double f[2];
        for (int i = 0; i < 2; i++)
        {
            double t = across + 1e-7 * i, J = along * t * t, I1 = along * along + 2 * t * t, b = pow(J, -2.0 / 3);
            // dW/dt at fixed stretch along; two directions across share it
            f[i] = mu * b * (2 * t - 2.0 / 3 * I1 / t) + kappa * (J - 1) * 2 * along * t;
            stress[i] = mu * b * (along - I1 / (3 * along)) + kappa * (J - 1) * t * t;
        }
        across -= f[0] / ((f[1] - f[0]) / 1e-7);
    }
    return stress[0];
}

// A quarter of a bar, held by its planes of symmetry so that the state is uniaxial and the same everywhere.
static tdModel *quarter_bar(const char *law, double nu, const char *actuator)
{
    return verify_model("tendril: 1\nintegrator: {method: static, tolerance: 1e-11}\nsolver: {type: cholesky}\n"
                        "bodies:\n  - name: bar\n    mesh: {box: [[0, 0, 0], [0.1, 0.01, 0.01]], cells: [10, 2, 2]}\n"
                        "    material: {law: %s, young: 1e6, poisson: %g}\n"
                        "    fixed: [{group: xmin, axes: x}, {group: ymin, axes: y}, {group: zmin, axes: z}]\n"
                        "actuators: [{name: pull, body: bar, %s}]\n",
                        law, nu, actuator);
}

static const char on_face[] = "type: force, group: xmax, on: surface, direction: [1, 0, 0], drive: %s";

static void test_uniform_bar(void **unused)
{
    (void)unused;
    char actuator[200];
    snprintf(actuator, sizeof actuator, on_face, "force");
    tdModel *model = quarter_bar("linear", 0.3, actuator);
    tdState *state = scene_state(model);
    double F = 0.3, area = SIDE * SIDE;
    act_step(model, state, "pull", F);
    verify_relative("bar, force on its end, linear law, displacement [m]", "F L / E A", F * LENGTH / (YOUNG * area),
                    act_of(model, state, "pull").displacement, 1e-9);
    scene_free(model, state);

    snprintf(actuator, sizeof actuator, on_face, "displacement");
    model = quarter_bar("neo_hookean", 0.4, actuator);
    state = scene_state(model);
    for (int k = 1; k <= 4; k++)
        act_step(model, state, "pull", 0.02 * k);
    verify_relative("bar, neo-Hookean, drawn to a stretch of 1.8: force [N]", "uniaxial closed form",
                    uniaxial(YOUNG / 2.8, YOUNG / 0.6, 1.8) * area, act_of(model, state, "pull").effort, 1e-9);
    scene_free(model, state);
}

// A translation holds its nodes across too, so that only a material without Poisson's effect is uniaxial.
static void test_moved_end(void **unused)
{
    (void)unused;
    static const char *const drives[2] = {"force", "displacement"};
    double stiffness = YOUNG * SIDE * SIDE / LENGTH;
    for (int k = 0; k < 2; k++)
    {
        tdModel *model =
            verify_model("tendril: 1\nintegrator: {method: static}\nsolver: {type: cholesky}\nbodies:\n"
                         "  - name: bar\n    mesh: {box: [[0, 0, 0], [0.1, 0.01, 0.01]], cells: [10, 2, 2]}\n"
                         "    material: {law: linear, young: 1e6, poisson: 0}\n    fixed: [{group: xmin}]\n"
                         "actuators: [{name: end, body: bar, type: translation, group: xmax, direction: [1, 0, 0], "
                         "drive: %s}]\n",
                         drives[k]);
        tdState *state = scene_state(model);
        act_step(model, state, "end", k == 0 ? 0.3 : 0.001);
        tdActuation end = act_of(model, state, "end");
        if (k == 0)
            verify_relative("bar, end moved by 0.3 N, linear law, ν = 0: displacement [m]", "F L / E A",
                            0.3 / stiffness, end.displacement, 1e-9);
        else
            verify_relative("bar, end moved by 1 mm, linear law, ν = 0: force [N]", "E A u / L", stiffness * 0.001,
                            end.effort, 1e-9);
        scene_free(model, state);
    }
}

// The cable pulls at one point, and the stress is uniform only some widths away from it: there the bar's stretch is
// measured, between mean positions of two cross-sections. With the force given the end follows, with the end's way
// given the force does.
static tdModel *cable_bar(const char *law, const char *drive)
{
    return verify_model("tendril: 1\nintegrator: {method: static, tolerance: 1e-11}\nsolver: {type: cholesky}\n"
                        "bodies:\n  - name: bar\n    mesh: {box: [[0, 0, 0], [0.1, 0.01, 0.01]], cells: [20, 2, 2], "
                        "elements: hexahedra}\n"
                        "    material: {law: %s, young: 1e6, poisson: 0.4}\n"
                        "    fixed: [{group: xmin, axes: x}, {plane: {point: [0, 0.005, 0], normal: [0, 1, 0]}, "
                        "axes: y}, {plane: {point: [0, 0, 0.005], normal: [0, 0, 1]}, axes: z}]\n"
                        "actuators: [{name: pull, body: bar, type: cable, path: [[0.1, 0.005, 0.005]], "
                        "pull_point: [0.3, 0.005, 0.005], drive: %s}]\n"
                        "probes: [{name: a, body: bar, plane: {point: [0.02, 0, 0], normal: [1, 0, 0]}},\n"
                        "         {name: b, body: bar, plane: {point: [0.06, 0, 0], normal: [1, 0, 0]}}]\n",
                        law, drive);
}

static double middle_stretch(const tdModel *model, const tdState *state)
{
    double a[3], b[3];
    td_state_probe(model, state, 0, a);
    td_state_probe(model, state, 1, b);
    return (b[0] - a[0]) / 0.04;
}

static void test_bar_on_a_cable(void **unused)
{
    (void)unused;
    double area = SIDE * SIDE;
    tdModel *model = cable_bar("linear", "force");
    tdState *state = scene_state(model);
    act_step(model, state, "pull", 0.1);
    verify_relative("bar, cable at its end, linear law, strain away from it", "F / E A", 0.1 / (YOUNG * area),
                    middle_stretch(model, state) - 1, 1e-4);
    scene_free(model, state);

    model = cable_bar("neo_hookean", "force");
    state = scene_state(model);
    double F = 20, mu = YOUNG / 2.8, kappa = YOUNG / 0.6, low = 1, high = 3;
    for (int k = 1; k <= 5; k++)
        act_step(model, state, "pull", F * k / 5);
    for (int k = 0; k < 60; k++)
        *(uniaxial(mu, kappa, (low + high) / 2) * area < F ? &low : &high) = (low + high) / 2;
    verify_relative("bar, neo-Hookean, cable at its end with 20 N, stretch away from it", "uniaxial closed form", low,
                    middle_stretch(model, state), 1e-4);
    tdModel *back = cable_bar("neo_hookean", "displacement");
    tdState *driven = scene_state(back);
    // Shortening of the cable is the way of the end.
    double way = act_of(model, state, "pull").displacement;
    for (int k = 1; k <= 5; k++)
        act_step(back, driven, "pull", way * k / 5);
    verify_relative("the same, driven by the displacement that was found: force [N]", "the force given before", F,
                    act_of(back, driven, "pull").effort, 1e-8);
    assert_true(act_distance(model, state->q, driven->q) < 1e-9);
    scene_free(model, state);
    scene_free(back, driven);
}

// ---------------------------------------------------------------- cavity

static void test_sphere(void **unused)
{
    (void)unused;
    static const char *const kinds[2] = {"hexahedra", "tetrahedra"};
    for (int tets = 0; tets < 2; tets++)
    {
        char name[120];
        double coarse = sphere_growth(4, tets, 0), fine = sphere_growth(8, tets, 0), own = sphere_growth(4, tets, 4);
        snprintf(name, sizeof name, "sphere, %s, 8 cells a quarter turn, growth of the cavity over the exact one",
                 kinds[tets]);
        verify_relative(name, "Lamé", 1, fine, 0.06);
        snprintf(name, sizeof name, "sphere, %s, limit of 4 and 8 cells", kinds[tets]);
        verify_relative(name, "Lamé", 1, verify_limit(coarse, fine), 0.012);
        // The surface in single precision: seven digits.
        snprintf(name, sizeof name, "sphere, %s, 4 cells, walls as a file of the same triangles: the same",
                 kinds[tets]);
        verify_relative(name, "walls as a group", coarse, own, 1e-6);
    }
    verify_relative("sphere, tetrahedra, 4 cells, walls as a file of finer triangles (6 cells): the same",
                    "walls as a group", sphere_growth(4, true, 0), sphere_growth(4, true, 6), 0.02);
}

static const actBall small = {.n = 4, .layers = 2, .inner = SPHERE_INNER, .outer = SPHERE_OUTER, .tetrahedra = true};

static void test_pressure_and_volume(void **unused)
{
    (void)unused;
    tdModel *by_pressure = sphere_model(&small, 0, "neo_hookean", "pressure", "");
    tdModel *by_volume = sphere_model(&small, 0, "neo_hookean", "volume", "");
    tdState *a = scene_state(by_pressure), *b = scene_state(by_volume);
    double rest = by_pressure->actuators[0].rest_value;
    for (int k = 1; k <= 4; k++)
    {
        act_step(by_pressure, a, "air", 5e3 * k);
        act_step(by_volume, b, "air", act_of(by_pressure, a, "air").displacement);
    }
    verify_relative("balloon blown up by 20 kPa, then driven by the volume found: pressure [Pa]", "the pressure given",
                    20e3, act_of(by_volume, b, "air").effort, 1e-6);
    assert_true(act_of(by_pressure, a, "air").displacement > 0.2 * rest);
    assert_true(act_distance(by_pressure, a->q, b->q) < 1e-8);
    scene_free(by_pressure, a);
    scene_free(by_volume, b);
}

static void test_rubber(void **unused)
{
    (void)unused;
    verify_relative("rubber balloon, inner radius 1.5 times as large, 4 cells: pressure [Pa]",
                    "incompressible closed form", rubber_pressure(1.5), balloon_pressure(4, 1.5, 5), 0.02);
}

static void test_gas(void **unused)
{
    (void)unused;
    const double ambient = 2e4;
    tdModel *model =
        sphere_model(&small, 0, "neo_hookean", "gas, ambient: 20 kPa",
                     "loads:\n  - {name: squeeze, type: point, body: ball, box: [[-2, -2, 0.9], [2, 2, 2]], "
                     "force: [0, 0, -1 N]}\n"
                     "  - {name: squeeze_up, type: point, body: ball, box: [[-2, -2, -2], [2, 2, -0.9]], "
                     "force: [0, 0, 1 N]}\n");
    tdState *state = scene_state(model);
    double rest = model->actuators[0].rest_value, worst = 0, gas = 0;
    act_set(model, state, "squeeze", 0);
    act_set(model, state, "squeeze_up", 0);
    for (int k = 1; k <= 10; k++)
    {
        if (k <= 4)
            gas = 0.05 * k * rest;
        act_set(model, state, "squeeze", k <= 4 ? 0 : 1500.0 * (k - 4));
        act_set(model, state, "squeeze_up", k <= 4 ? 0 : 1500.0 * (k - 4));
        act_step(model, state, "air", gas);
        tdActuation air = act_of(model, state, "air");
        double amount = (air.effort + ambient) * (rest + air.displacement);
        worst = fmax(worst, fabs(amount / (ambient * (rest + gas)) - 1));
        if (k == 4)
            print_message("pumped: p = %g Pa, growth %g of the volume\n", air.effort, air.displacement / rest);
    }
    print_message("squeezed: p = %g Pa, growth %g of the volume\n", act_of(model, state, "air").effort,
                  act_of(model, state, "air").displacement / rest);
    verify_absolute("gas pumped into a balloon that is then squeezed: (p + ambient) V over its amount, less 1", "Boyle",
                    0, worst, 1e-8);
    scene_free(model, state);
}

// ---------------------------------------------------------------- work

static void test_work(void **unused)
{
    (void)unused;
    const struct
    {
        const char *title, *actuator; // NULL: the cavity of the ball
        double most;
    } cases[] = {{"cable bends a beam", ACT_CABLE ", drive: displacement", 12e-3},
                 {"force at the end of a beam",
                  "type: force, body: beam, group: xmax, direction: [0, 1, 2], drive: "
                  "displacement",
                  20e-3},
                 {"end of a beam moved",
                  "type: translation, body: beam, group: xmax, direction: [1, 2, 0], drive: "
                  "displacement",
                  20e-3},
                 {"end of a beam turned",
                  "type: rotation, body: beam, group: xmax, axis: [1, 0.2, 0], center: [0.1, "
                  "0.01, 0.01], drive: angle",
                  1},
                 {"cavity blown up", NULL, 0.3}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    {
        double energy;
        tdModel *model = cases[c].actuator == NULL
                             ? sphere_model(&small, 0, "neo_hookean", "volume", "")
                             : scene_model("tendril: 1\nintegrator: {method: static, tolerance: 1e-12}\n"
                                           "solver: {type: cholesky}\n" ACT_BEAM "actuators: [{name: air, %s}]\n",
                                           cases[c].actuator);
        double coarse = work_and_energy(model, "air", cases[c].most, 16, &energy);
        double fine = work_and_energy(model, "air", cases[c].most, 32, &energy);
        td_model_free(model);
        char name[120];
        snprintf(name, sizeof name, "%s, 32 increments: work over stored energy, less 1", cases[c].title);
        verify_absolute(name, "power balance, Simpson's rule", 0, fine, 1e-6);
        snprintf(name, sizeof name, "%s: by how much that falls from 16 increments", cases[c].title);
        if (fabs(fine) > 1e-10) // below, rounding is as large
            verify_absolute(name, "order 4: sixteenfold", 16, coarse / fine, 3);
    }
}

// ---------------------------------------------------------------- Newton

// With its stiffness in A a pressure costs no more iterations than the law alone.
static void test_iterations(void **unused)
{
    (void)unused;
    int iterations[2];
    for (int without = 0; without < 2; without++)
    {
        tdModel *model = sphere_model(&small, 0, "neo_hookean", "pressure", "");
        model->settings.tolerance = 1e-8;
        model->settings.max_iterations = 1000;
        if (without)
        {
            tdSoft *soft = (tdSoft *)model->bodies[0].data;
            soft->n_coupled = 0;
            soft->coupled_row = NULL;
        }
        tdState *state = scene_state(model);
        iterations[without] = 0;
        for (int k = 1; k <= 4; k++)
        {
            act_step(model, state, "air", 5e3 * k);
            iterations[without] += td_state_report(state)->newton_iterations;
        }
        scene_free(model, state);
    }
    print_message("balloon, 4 steps of 5 kPa to 1e-8: %d iterations, %d without the stiffness of pressure\n",
                  iterations[0], iterations[1]);
    verify_below("balloon, iterations of Newton's method for 4 steps of 5 kPa to 1e-8", "quadratic convergence", 25,
                 iterations[0]);
    verify_above("the same without the stiffness of the pressure", "", 1.5 * iterations[0], iterations[1]);
}

// ---------------------------------------------------------------- rest does not depend on the time step

#define STEPS 3

static tdModel *settling(int actuator, double h, const char *integrator)
{
    static const char *const drives[] = {", drive: displacement", ", drive: force"};
    char head[300];
    snprintf(head, sizeof head, "tendril: 1\ntime_step: %g\nsteps: 1\nintegrator: {%s}\nsolver: {type: cholesky}\n", h,
             integrator);
    if (actuator < 2)
        return scene_model("%sbodies:\n  - name: beam\n"
                           "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 1, 1]}\n"
                           "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.4, density: 1000}\n"
                           "    damping: {mass: 60}\n    fixed: [{group: xmin}]\n"
                           "actuators: [{name: drive, " ACT_CABLE "%s}]\n",
                           head, drives[actuator]);
    char mesh[SCENE_PATH], surface[SCENE_PATH];
    const actBall ball = {.n = 2, .layers = 1, .inner = 0.06, .outer = 0.1, .tetrahedra = true};
    ball_files(&ball, 2, mesh, surface);
    tdModel *model =
        scene_model("%sbodies:\n  - name: ball\n    mesh: %s\n"
                    "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.3, density: 1000}\n"
                    "    damping: {mass: 60}\n    fixed: [%s]\n"
                    "actuators: [{name: drive, type: cavity, body: ball, group: inner, drive: pressure}]\n",
                    head, mesh, ball_support(0.06, 0.1));
    unlink(mesh);
    unlink(surface);
    return model;
}

static void test_time_steps(void **unused)
{
    (void)unused;
    static const char *const names[] = {"cable driven by displacement", "cable driven by force",
                                        "cavity driven by pressure"};
    const double values[] = {8e-3, 1.2, 2e4}, steps[STEPS] = {1e-3, 1e-2, 1e-1};
    for (int actuator = 0; actuator < 3; actuator++)
    {
        tdModel *model = settling(actuator, 1, "method: static, tolerance: 1e-11");
        tdState *state = scene_state(model);
        for (int k = 1; k <= 4; k++)
            act_step(model, state, "drive", values[actuator] * k / 4);
        double *rest = act_copy(model, state->q);
        scene_free(model, state);
        for (int newton = 0; newton < 2; newton++)
        {
            double worst = 0, held = 0;
            for (int k = 0; k < STEPS; k++)
            {
                model = settling(actuator, steps[k],
                                 newton ? "method: backward_euler, newton: true" : "method: backward_euler");
                state = scene_state(model);
                int ramp = steps[k] < 0.05 ? (int)lround(0.2 / steps[k]) : 4;
                for (int s = 1; s <= ramp; s++)
                {
                    act_step(model, state, "drive", values[actuator] * s / ramp);
                    if (newton)
                        held = fmax(held, td_state_report(state)->constraint_error);
                }
                act_settle(model, state, 1e-6, 6000);
                worst = fmax(worst, act_distance(model, rest, state->q));
                held = fmax(held, td_state_report(state)->constraint_error);
                scene_free(model, state);
            }
            char name[160];
            snprintf(name, sizeof name, "%s, %s: rest after steps of 1, 10 and 100 ms, distance / size",
                     names[actuator], newton ? "Newton" : "one linearization a step");
            verify_absolute(name, "static equilibrium", 0, worst, 1e-6);
            if (actuator == 0)
            {
                snprintf(name, sizeof name, "%s, %s: miss of the displacement / length", names[actuator],
                         newton ? "Newton, in every step" : "one linearization a step, at rest");
                verify_absolute(name, "what is asked for", 0, held, 1e-6);
            }
        }
        free(rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uniform_bar),
        cmocka_unit_test(test_moved_end),
        cmocka_unit_test(test_bar_on_a_cable),
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_pressure_and_volume),
        cmocka_unit_test(test_rubber),
        cmocka_unit_test(test_gas),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_time_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
