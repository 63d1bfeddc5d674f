// SPDX-License-Identifier: Apache-2.0
// Reduced bodies at run time. With all modes and all elements they are the full model in other coordinates, so every
// stage of a step, every actuator and every integrator is compared with it; with few modes forces and tangents are
// checked against energies by differences.
#include "actuators.h"
#include "reduced.h"

// ---------------------------------------------------------------- the full model in other coordinates

#define BODY                                                                                                           \
    "bodies:\n  - name: beam\n    mesh: {box: [[0, 0, 0], [0.06, 0.02, 0.02]], cells: [3, 2, 2]}\n"                    \
    "    material: {law: %s, young: 100 kPa, poisson: 0.4, density: 1000}\n"                                           \
    "    damping: {mass: 2, stiffness: 0.01}\n    fixed: [{group: xmin}]\n"
#define CABLE                                                                                                          \
    "  - {name: pull, type: cable, body: beam, path: [[0.045, 0.01, 0.018], [0.025, 0.01, 0.018]], "                   \
    "pull_point: [-0.01, 0.01, 0.018]%s}\n"
#define END    "  - {name: end, type: translation, body: beam, group: xmax, direction: [0, 0, 1], drive: displacement}\n"
#define SOLVER "gravity: [0, 0, -9.81]\nsolver: {type: cholesky}\n"

static double worst_difference(const tdModel *full, const tdState *a, const tdModel *reduced, const tdState *b)
{
    const double *x = td_state_positions(full, a, 0), *y = td_state_positions(reduced, b, 0);
    const double *v = td_state_velocities(full, a, 0), *w = td_state_velocities(reduced, b, 0);
    double worst = 0, fastest = 0;
    for (int64_t i = 0; i < 3 * full->bodies[0].nodes; i++)
        fastest = fmax(fastest, fabs(v[i]));
    for (int64_t i = 0; i < 3 * full->bodies[0].nodes; i++)
    {
        worst = fmax(worst, fabs(x[i] - y[i]) / full->size);
        worst = fmax(worst, fastest > 0 ? fabs(v[i] - w[i]) / (full->size / full->scheme.h + fastest) : 0);
    }
    return worst;
}

// Runs both with the inputs of `drive` and compares positions, velocities, efforts and energies after every step.
static void compare(const char *text, int steps, void (*drive)(const tdModel *, tdState *, int), double tolerance)
{
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 0, 1);
    tdModel *reduced = rom_model(text, &rom, false);
    td_arena_free(&rom.arena);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    double moved = 0;
    for (int k = 0; k < steps; k++)
    {
        if (drive != NULL)
        {
            drive(full, a, k);
            drive(reduced, b, k);
        }
        scene_steps(full, a, 1);
        scene_steps(reduced, b, 1);
        assert_near(worst_difference(full, a, reduced, b), 0, tolerance);
        for (int i = 0; i < td_model_actuators(full); i++)
        {
            tdActuation x = td_state_actuation(full, a, i), y = td_state_actuation(reduced, b, i);
            assert_near(y.effort, x.effort, 1e3 * tolerance * (fabs(x.effort) + 1));
            assert_near(y.displacement, x.displacement, tolerance * full->actuators[i].size);
        }
        double ka, ea, kb, eb;
        td_state_energy(full, a, &ka, &ea);
        td_state_energy(reduced, b, &kb, &eb);
        assert_near(kb, ka, 1e3 * tolerance * (ka + ea));
        assert_near(eb, ea, 1e3 * tolerance * (ka + ea));
    }
    const double *x = td_state_positions(full, a, 0);
    for (int64_t i = 0; i < 3 * full->bodies[0].nodes; i++)
        moved = fmax(moved, fabs(x[i] - full->bodies[0].soft->rest[i]));
    assert_true(moved > 0.02 * full->size); // else there was nothing to compare
    scene_free(full, a);
    scene_free(reduced, b);
}

static void drive_cable(const tdModel *model, tdState *state, int step)
{
    act_set(model, state, "pull", 2e-4 * (step + 1));
}

static void drive_both(const tdModel *model, tdState *state, int step)
{
    act_set(model, state, "pull", 1e-4 * (step + 1));
    act_set(model, state, "end", 3e-4 * (step + 1));
}

// Every coordinate is turned by an orthonormal matrix: rounding alone differs, and grows with the condition of A
// (about 1e4) over the steps.
#define SAME 1e-10

static void same_motion(void **unused)
{
    (void)unused;
    const char *laws[] = {"linear", "corotational", "corotational_lagged", "stvk", "neo_hookean", "mooney_rivlin"};
    char text[4000];
    for (size_t k = 0; k < sizeof laws / sizeof laws[0]; k++)
    {
        snprintf(text, sizeof text, "tendril: 1\ntime_step: 5 ms\nsteps: 9\n" SOLVER BODY "actuators:\n" CABLE, laws[k],
                 ", drive: displacement");
        compare(text, 8, drive_cable, SAME);
    }
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 5 ms\nsteps: 9\nintegrator: {newton: true, tolerance: 1e-11}\n" SOLVER BODY
             "actuators:\n" CABLE END,
             "neo_hookean", ", drive: displacement");
    compare(text, 6, drive_both, SAME);
}

static void same_by_newmark(void **unused)
{
    (void)unused;
    char text[4000];
    snprintf(
        text, sizeof text,
        "tendril: 1\ntime_step: 2 ms\nsteps: 9\nintegrator: {method: newmark, beta: 0.3025, gamma: 0.6, newton: true, "
        "tolerance: 1e-11}\n" SOLVER BODY "    velocity: [0, 0, 1]\nactuators:\n" CABLE END,
        "corotational", ", drive: force");
    compare(text, 8, drive_both, SAME);
}

static void same_equilibrium(void **unused)
{
    (void)unused;
    char text[4000];
    snprintf(text, sizeof text,
             "tendril: 1\nintegrator: {method: static, tolerance: 1e-11}\n" SOLVER BODY "actuators:\n" CABLE END,
             "mooney_rivlin", ", drive: displacement");
    compare(text, 8, drive_both, SAME);
    snprintf(text, sizeof text,
             "tendril: 1\nintegrator: {method: static, tolerance: 1e-11}\n" SOLVER BODY "actuators:\n" CABLE END,
             "corotational_lagged", ", drive: force");
    compare(text, 8, drive_both, SAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_motion),
        cmocka_unit_test(same_by_newmark),
        cmocka_unit_test(same_equilibrium),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
