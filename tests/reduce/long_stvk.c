// SPDX-License-Identifier: Apache-2.0
// Reduced St. Venant-Kirchhoff bodies over long times: a beam in large vibration against full order, and the balance of
// energy of a driven one. Figures are in docs/theory/reduced-stvk.md.
#include "reduced.h"
#include "verify/verify_plot.h"

#include "reduce/offline/job.h"

#include <unistd.h>

// A beam of length 0.24 that a force at its tip pulls up for 0.3 s and lets go: it swings by a third to half of its
// length.
#define BEAM                                                                                                           \
    "tendril: 1\ntime_step: 1 ms\nsteps: 9\nintegrator: {method: newmark, newton: %s}\nbodies:\n  - name: beam\n"      \
    "    mesh: {box: [[0, 0, 0], [0.24, 0.02, 0.02]], cells: [24, 2, 2]}\n    fixed: [{group: xmin}]\n%s"              \
    "    material: {law: stvk, young: 450 kPa, poisson: 0.4, density: 1070}\n"                                         \
    "loads: [{name: push, type: point, body: beam, group: xmax, force: [0, 0, 1]}]\n"                                  \
    "reduction: {%s}\n"

enum
{
    STEPS = 2000,
    KINDS = 4,
    LOADS = 3
};

static double force_at(double most, double t)
{
    return t < 0.3 ? most * t / 0.3 : 0;
}

static tdModel *reduced_model(const char *text)
{
    char scene[64], out[64];
    tdError error = {0};
    snprintf(scene, sizeof scene, "/tmp/tendril_beam_%d.yaml", (int)getpid());
    snprintf(out, sizeof out, "/tmp/tendril_beam_%d.h5", (int)getpid());
    FILE *file = fopen(scene, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const tdReduceTask task = {.scene = scene, .out = out, .settings = td_default_settings()};
    tdReduceReport report;
    assert_ok(td_reduce(&task, &report, &error), error);
    tdSettings settings = td_default_settings();
    settings.rom = out;
    tdModel *model = NULL;
    assert_ok(td_model_load(scene, &settings, &model, &error), error);
    unlink(scene);
    unlink(out);
    return model;
}

// Positions of the tip's middle, x and z, of each step. A reduced body is fast enough for more, which would change
// nothing.
static void swing(const tdModel *model, int tip, double force, double (*path)[2])
{
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    int input = td_model_find_input(model, "push");
    for (int s = 0; s < STEPS; s++)
    {
        assert_int_equal(td_state_set_input(model, state, input, force_at(force, 1e-3 * (s + 1))), TD_OK);
        scene_steps(model, state, 1);
        const double *x = body->ops->nodes(model, body, state) + 3 * tip;
        path[s][0] = x[0];
        path[s][1] = x[2];
    }
    td_state_free(state);
}

static int find_tip(const tdModel *model)
{
    const tdSoft *soft = model->bodies[0].soft;
    const double point[3] = {0.24, 0.01, 0.01};
    for (int i = 0; i < soft->n_nodes; i++)
        if (hypot(hypot(soft->rest[3 * i] - point[0], soft->rest[3 * i + 1] - point[1]),
                  soft->rest[3 * i + 2] - point[2]) < 1e-9)
            return i;
    fail_msg("no node at the tip");
    return -1;
}

static void plot(double (*path)[STEPS][2], const char *const *names)
{
    static double t[STEPS], z[KINDS + 1][STEPS];
    tdSeries series[KINDS + 1];
    for (int k = 0; k <= KINDS; k++)
    {
        for (int s = 0; s < STEPS; s++)
        {
            t[s] = 1e-3 * (s + 1);
            z[k][s] = 1000 * (path[k][s][1] - 0.01);
        }
        series[k] = (tdSeries){
            .name = names[k], .n = STEPS, .x = t, .y = z[k], .line = k == 0 ? TD_LINE_SOLID : TD_LINE_DASHED};
    }
    tdPlotSettings settings = td_default_plot();
    settings.title = "Tip of a beam of 240 mm in large vibration";
    settings.x_label = "time [s]";
    settings.y_label = "height [mm]";
    verify_plot("stvk_beam.png", &settings, KINDS + 1, series);
}

// With derivatives 20 columns follow the full model within 2 % of the largest deflection for three periods. Without
// them the beam cannot turn without stretching: as many linear modes hardly move.
static void large_vibration(void **unused)
{
    (void)unused;
    static const char *const reductions[KINDS] = {
        "kind: stvk, modes: 6, columns: 20", "kind: stvk, modes: 5, columns: 12",
        "kind: stvk, modes: 20, derivatives: 0, columns: 20", "kind: stvk, modes: 6, derivatives: 0, columns: 6"};
    static const char *const names[KINDS + 1] = {"full order", "20 columns with derivatives",
                                                 "12 columns with derivatives", "20 linear modes", "6 linear modes"};
    static const double forces[LOADS] = {0.15, 0.2, 0.25};
    static double path[LOADS][KINDS + 1][STEPS][2];
    double error[LOADS][KINDS] = {{0}}, largest[LOADS] = {0};
    char text[2000];
    snprintf(text, sizeof text, BEAM, "true", "", "");
    tdModel *full = scene_parse(text);
    int tip = find_tip(full);
    for (int f = 0; f < LOADS; f++)
    {
        swing(full, tip, forces[f], path[f][0]);
        for (int s = 0; s < STEPS; s++)
            largest[f] = fmax(largest[f], hypot(path[f][0][s][0] - 0.24, path[f][0][s][1] - 0.01));
    }
    td_model_free(full);
    printf("ROW\tstvk-beam\tbasis");
    for (int f = 0; f < LOADS; f++)
        printf("\tdeflection %.0f %% of the length", 100 * largest[f] / 0.24);
    printf("\n");
    for (int k = 0; k < KINDS; k++)
    {
        printf("ROW\tstvk-beam\t%s", names[k + 1]);
        snprintf(text, sizeof text, BEAM, "true", "", reductions[k]);
        tdModel *model = reduced_model(text);
        for (int f = 0; f < LOADS; f++)
        {
            double(*to)[2] = path[f][k + 1], (*from)[2] = path[f][0];
            swing(model, tip, forces[f], to);
            for (int s = 0; s < STEPS; s++)
                error[f][k] = fmax(error[f][k], hypot(to[s][0] - from[s][0], to[s][1] - from[s][1]));
            printf("\t%.1f %%", 100 * error[f][k] / largest[f]);
        }
        printf("\n");
        td_model_free(model);
    }
    plot(path[1], names);
    verify_above("largest deflection of the beam over its length", "a third", 0.33, largest[1] / 0.24);
    verify_below("20 columns with derivatives, tip off by, over the largest deflection", "full order", 0.02,
                 error[1][0] / largest[1]);
    verify_above("20 linear modes, the same", "full order", 0.4, error[1][2] / largest[1]);
}

// ---------------------------------------------------------------- energy

/// Energy of a driven beam and the work done on it so far.
typedef struct Balance
{
    double most;   // energy
    double gained; // energy beyond the work since, from any step to any later one: out of nothing
    double work;   // all
    double damped; // at the end
} Balance;

static Balance drive(const tdModel *model, int steps, double size)
{
    tdState *state = scene_state(model);
    int input = td_model_find_input(model, "push"), n = (int)model->coords;
    double *q = calloc(2 * (size_t)n, sizeof *q), *load = q + n, kinetic, elastic, energy = 0;
    Balance b = {0};
    double low = 0; // of energy less work
    uint64_t seed = 4;
    double level = 0, period = 0;
    for (int s = 0; s < steps; s++)
    {
        // Jumps at random times and swings near the first frequency: neither knows of the motion.
        if (s % 137 == 0)
            level = size * next_random(&seed), period = 0.5 + 0.3 * next_random(&seed);
        double t = model->scheme.h * (s + 1), force = level + size * sin(2 * 3.14159265358979323846 * t / period);
        assert_int_equal(td_state_set_input(model, state, input, force), TD_OK);
        memcpy(q, state->q, (size_t)n * sizeof *q);
        scene_steps(model, state, 1);
        for (int i = 0; i < n; i++)
        {
            b.work += 0.5 * (load[i] + state->load[i]) * (state->q[i] - q[i]);
            load[i] = state->load[i];
        }
        td_state_energy(model, state, &kinetic, &elastic);
        energy = kinetic + elastic;
        b.most = fmax(b.most, energy);
        low = fmin(low, energy - b.work);
        b.gained = fmax(b.gained, energy - b.work - low);
    }
    b.damped = b.work - energy;
    free(q);
    td_state_free(state);
    return b;
}

// From no step to no later one does the energy grow by more than the work of the loads, by the trapezoidal rule, which
// is how Newmark's method (1/4, 1/2) averages forces over a step: for a linear body that is an identity. Of a nonlinear
// one the mean of the forces at both ends differs from the difference of energies by terms of the third order in the
// step, of either sign, which damping covers but for the first few steps: 1.6e-8 of the largest energy are left, and
// 1e-6 allowed.
static void driven(void **unused)
{
    (void)unused;
    static const char *const newton[2] = {"true", "false"};
    for (int k = 0; k < 2; k++)
    {
        char text[2000];
        snprintf(text, sizeof text, BEAM, newton[k], "    damping: {mass: 0.2, stiffness: 2 ms}\n",
                 "kind: stvk, modes: 5, columns: 12");
        tdModel *model = reduced_model(text);
        Balance b = drive(model, 100000, 0.15);
        verify_above(k == 0 ? "driven beam, Newton: energy that was damped, over the largest"
                            : "driven beam, one linearization a step: the same",
                     "large motion", 5, b.damped / b.most);
        verify_below(k == 0 ? "driven beam, Newton: energy beyond the work since any step, over the largest"
                            : "driven beam, one linearization a step: the same",
                     "none", 1e-6, b.gained / b.most);
        td_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_vibration), cmocka_unit_test(driven)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
