// SPDX-License-Identifier: Apache-2.0
// Viscoelasticity: relaxation and creep against closed forms, static equilibrium, checkpoints.
#include "elements.h"

#include <unistd.h>

#define G1    0.3
#define TAU1  0.05
#define G2    0.2
#define TAU2  0.4
#define TERMS "viscoelastic: [{modulus: 0.3, time: 50 ms}, {modulus: 0.2, time: 0.4 s}]"

static double relaxed(double t)
{
    return 1 - G1 - G2 + G1 * exp(-t / TAU1) + G2 * exp(-t / TAU2);
}

// A bar between rollers, pulled at once and held: the stress decays as the series says, for every integrator.
// All of S relaxes alike, so that with a held strain the ratio is exact for large strains too.
static void relaxation(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"stvk", "neo_hookean", "mooney_rivlin", "ogden"};
    static const char *const meshes[] = {"tetrahedra", "hexahedra"};
    for (int k = 0; k < 8; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 20 ms\nsteps: 20\nintegrator: {method: backward_euler, newton: true}\nbodies:\n"
            "  - name: a\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1], elements: %s}\n"
            "    material: {law: %s, young: 1e5, poisson: 0.3, density: 1e-3, " TERMS "}\n%s"
            "    prescribed: [{name: pull, all: true, axes: xyz, displacement: [0.3, 0, 0]}]\n",
            meshes[k % 2], laws[k / 2], k == 3 ? "    formulation: mean_dilatation\n" : "");
        tdState *state = scene_state(model);
        // Every node is moved by the same input; the far side further.
        tdSoft *soft = model->bodies[0].data;
        for (int32_t i = 0; i < soft->n_driven; i++)
            soft->driven[i].displacement *= soft->rest[soft->driven[i].coord / 3 * 3];
        double first = 0;
        for (int step = 1; step <= 20; step++)
        {
            scene_steps(model, state, 1);
            double pull = 0;
            for (int i = 0; i < soft->n_nodes; i++)
                pull += soft->rest[3 * i] > 0.5 ? state->reaction[3 * i] : 0;
            // The strain grows evenly over the first step: the mean of the relaxation over it.
            double h = 0.02, a1 = -expm1(-h / TAU1) * TAU1 / h, a2 = -expm1(-h / TAU2) * TAU2 / h, t = (step - 1) * h;
            double expected = 1 - G1 - G2 + G1 * a1 * exp(-t / TAU1) + G2 * a2 * exp(-t / TAU2);
            if (step == 1)
                first = pull / expected;
            assert_near(pull, first * expected, 2e-4 * fabs(first)); // the inertia of a light body in the first step
        }
        assert_true(first > 0.2e5);
        scene_free(model, state);
    }
}

// One term, a constant force at small strain: u(t)/u0 = 1/(1-g) - g/(1-g) exp(-t (1-g)/tau), J(t) of a standard
// linear solid. The scheme is of second order in the step.
static void creep(void **unused)
{
    (void)unused;
    const double g = 0.4, tau = 0.1;
    double errors[2];
    for (int fine = 0; fine < 2; fine++)
    {
        double h = fine ? 0.005 : 0.01;
        tdModel *model =
            scene_model("tendril: 1\ntime_step: %g\nsteps: 20\nintegrator: {newton: true, tolerance: 1e-8}\nbodies:\n"
                        "  - name: a\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
                        "    material: {law: neo_hookean, young: 1e5, poisson: 0.3, density: 1e-6, "
                        "viscoelastic: [{modulus: %g, time: %g}]}\n"
                        "    fixed: [{group: xmin, axes: x}, {group: ymin, axes: y}, {group: zmin, axes: z}]\n"
                        "loads: [{type: surface, body: a, group: xmax, traction: [1, 0, 0]}]\n"
                        "probes: [{name: p, body: a, point: [1, 0.5, 0.5]}]\n",
                        h, g, tau);
        tdState *state = scene_state(model);
        errors[fine] = 0;
        for (int step = 1; step <= (fine ? 60 : 30); step++)
        {
            scene_steps(model, state, 1);
            double p[3], t = step * h;
            td_state_probe(model, state, 0, p);
            double exact = 1e-5 * (1 / (1 - g) - g / (1 - g) * exp(-t * (1 - g) / tau));
            // The load comes at once, but the step takes it as growing over it: half a step late.
            double late = 1e-5 * (1 / (1 - g) - g / (1 - g) * exp(-(t - h / 2) * (1 - g) / tau));
            assert_near(p[0] - 1, exact, 0.05 * exact);
            errors[fine] = fmax(errors[fine], fabs(p[0] - 1 - late));
        }
        scene_free(model, state);
    }
    assert_true(errors[0] < 1e-4 * 1e-5); // 4e-5 of the scheme, 2e-5 of the law, which is not linear
    assert_true(errors[1] < 0.6 * errors[0]);
}

// A static equilibrium is that of the moduli that are left.
static void equilibrium_is_relaxed(void **unused)
{
    (void)unused;
    double tip[2];
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\nintegrator: {method: static}\nbodies:\n"
            "  - name: a\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [2, 2, 2]}\n"
            "    material: {law: stvk, young: %g, poisson: 0.3%s}\n"
            "    fixed: [{group: xmin}]\nloads: [{type: surface, body: a, group: xmax, traction: [1000, 0, 500]}]\n"
            "probes: [{name: p, body: a, point: [1, 0.5, 0.5]}]\n",
            k ? 1e5 : 0.5e5, k ? ", " TERMS : "");
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        double p[3];
        td_state_probe(model, state, 0, p);
        tip[k] = p[0];
        scene_free(model, state);
    }
    assert_true(tip[0] > 1.01);
    assert_near(tip[0], tip[1], 1e-8);
}

// A run that stops and goes on from a file gives the same bits: the past of the material is in it.
static void checkpoint(void **unused)
{
    (void)unused;
    char path[SCENE_PATH];
    snprintf(path, sizeof path, TD_BUILD_DIR "/prony_%d.h5", (int)getpid());
    for (int k = 0; k < 2; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 20\ngravity: [0, 0, -10]\nintegrator: {%s}\nbodies:\n"
                        "  - name: a\n    mesh: {box: [[0, 0, 0], [4, 1, 1]], cells: [8, 2, 2], elements: %s}\n"
                        "    material: {law: mooney_rivlin, young: 1e5, poisson: 0.4, density: 1000, " TERMS "}\n"
                        "    fixed: [{group: xmin}]\n",
                        k ? "method: newmark, newton: true" : "method: backward_euler", k ? "hexahedra" : "tetrahedra");
        tdState *whole = scene_state(model), *half = scene_state(model), *rest = scene_state(model);
        tdError error = {0};
        scene_steps(model, whole, 12);
        scene_steps(model, half, 7);
        tdStatus status = td_state_save(model, half, path, &error);
        assert_ok(status, error);
        status = td_state_load(model, rest, path, &error);
        assert_ok(status, error);
        scene_steps(model, rest, 5);
        assert_memory_equal(whole->q, rest->q, (size_t)model->coords * sizeof(double));
        assert_memory_equal(whole->v, rest->v, (size_t)model->coords * sizeof(double));
        size_t bytes = (size_t)scene_soft(model)->history * sizeof(double);
        assert_true(bytes > 0);
        assert_memory_equal(scene_mine(whole)->history, scene_mine(rest)->history, bytes);
        td_state_free(whole);
        td_state_free(half);
        scene_free(model, rest);
        remove(path);
    }
}

// A step that fails leaves the past as it was.
static void failed_step_is_not_remembered(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 20\nintegrator: {newton: true}\nbodies:\n"
                    "  - name: a\n    mesh: {box: [[0, 0, 0], [2, 1, 1]], cells: [2, 1, 1]}\n"
                    "    material: {law: neo_hookean, young: 1e5, poisson: 0.4, density: 1000, " TERMS "}\n"
                    "    fixed: [{group: xmin}]\n"
                    "    prescribed: [{name: push, group: xmax, displacement: [0.01, 0, 0]}]\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 3);
    size_t bytes = (size_t)scene_soft(model)->history * sizeof(double);
    double *before = malloc(bytes);
    memcpy(before, scene_mine(state)->history, bytes);
    assert_int_equal(td_state_set_input(model, state, td_model_find_input(model, "push"), 1e300), TD_OK);
    assert_int_equal(td_step(model, state), TD_ERROR_NUMERIC);
    assert_memory_equal(before, scene_mine(state)->history, bytes);
    free(before);
    scene_free(model, state);
    assert_near(relaxed(1e9), 0.5, 1e-12);
}

static void refusals(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"linear", "corotational_lagged"};
    for (int k = 0; k < 2; k++)
    {
        char text[1000];
        tdModel *model = NULL;
        tdError error = {0};
        snprintf(text, sizeof text,
                 "tendril: 1\ntime_step: 5 ms\nsteps: 20\nbodies:\n"
                 "  - name: a\n    mesh: {box: [[0, 0, 0], [2, 1, 1]], cells: [2, 1, 1]}\n"
                 "    material: {law: %s, young: 1e5, poisson: 0.4, density: 1000, " TERMS "}\n",
                 laws[k]);
        assert_int_equal(td_model_parse(text, strlen(text), "bad.yaml", NULL, NULL, &model, &error), TD_ERROR_INPUT);
        assert_non_null(strstr(error.message, "neo_hookean"));
    }
}

// A block that is squeezed and then held while it relaxes, with its weight and inertia: work, what is stored and what
// is lost close, and all that relaxation takes is among the loss.
static void energy_closes(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 200\ngravity: [0, 0, -9.81]\nbodies:\n  - name: block\n"
                    "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 2]}\n    fixed: [{group: zmin}]\n"
                    "    material: {law: neo_hookean, young: 1e5, poisson: 0.3, density: 1000, " TERMS "}\n"
                    "    prescribed: [{name: press, group: zmax, axes: xyz, displacement: [0, 0, -0.02]}]\n"
                    "motion: {keyframes: [{t: 0, press: 0}, {t: 0.1, press: 1}, {t: 1, press: 1}]}\n");
    tdState *state = scene_state(model);
    double kinetic, elastic, start, work = 0, lost = 0, held = 0;
    td_state_energy(model, state, &kinetic, &elastic);
    start = kinetic + elastic;
    for (int i = 0; i < 200; i++)
    {
        scene_steps(model, state, 1);
        work += td_state_report(state)->work;
        lost += td_state_report(state)->dissipated;
        td_state_energy(model, state, &kinetic, &elastic);
        assert_near(td_state_report(state)->energy, kinetic + elastic, 1e-9 * work);
        assert_near(work, kinetic + elastic - start + lost, 1e-9 * work);
        held = i == 20 ? lost : held;
    }
    assert_true(lost > 0.2 * elastic && work > elastic); // half of the modulus relaxes
    assert_near(lost, held, 0.05 * lost);                // nothing is done while it is held
    scene_free(model, state);
}

// What is left after relaxation is known from the pass that accepts a step, and is what a pass of its own finds (after
// the fields, which leave nothing behind). Who asks, and when, does not change the motion by a bit.
static void energy_is_known(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *elements, *more;
        bool thickness; // depends on the length of a step: then it takes a pass of its own
    } cases[] = {
        {"tetrahedra", "", false},
        {"hexahedra", "    formulation: mean_dilatation\n", false},
        {"tetrahedra",
         "    materials: [{box: [[0, -1, -1], [0.05, 1, 1]], law: corotational_lagged, young: 3e5, poisson: 0.3, "
         "density: 1000}]\n",
         false},
        {"tetrahedra",
         "    materials: [{group: zmax, element: membrane, thickness: 1 mm, law: mooney_rivlin, young: 1e6, poisson: "
         "0.4, density: 1000, " TERMS "}]\n",
         true},
    };
    for (int k = 0; k < 8; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 20\ngravity: [0, 0, -9.81]\nintegrator: {%s}\nbodies:\n"
                        "  - name: a\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 1, 1], elements: %s}\n"
                        "    fixed: [{group: xmin}]\n"
                        "    material: {law: neo_hookean, young: 1e5, poisson: 0.4, density: 1000, " TERMS "}\n%s",
                        k < 4 ? "method: backward_euler" : "method: theta, theta: 0.6, theta_vq: 0.7",
                        cases[k % 4].elements, cases[k % 4].more);
        tdState *state = scene_state(model), *asked = scene_state(model);
        for (int step = 0; step < 12; step++)
        {
            double kinetic, elastic;
            scene_steps(model, state, 1);
            scene_steps(model, asked, 1);
            assert_true(isnan(scene_mine(state)->relaxed) == cases[k % 4].thickness);
            td_soft_fields(model, &model->bodies[0], asked, NULL, NULL);
            assert_true(isnan(scene_mine(asked)->relaxed));
            td_state_energy(model, asked, &kinetic, &elastic);
            assert_true(elastic > 0);
            assert_near(td_state_report(state)->energy, kinetic + elastic, 1e-9 * elastic); // a law has two forms
        }
        assert_true(td_state_hash(model, state) == td_state_hash(model, asked));
        td_state_free(asked);
        scene_free(model, state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_closes), cmocka_unit_test(relaxation),
        cmocka_unit_test(creep),         cmocka_unit_test(equilibrium_is_relaxed),
        cmocka_unit_test(checkpoint),    cmocka_unit_test(failed_step_is_not_remembered),
        cmocka_unit_test(refusals),      cmocka_unit_test(energy_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
