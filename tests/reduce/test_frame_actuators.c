// SPDX-License-Identifier: Apache-2.0
// Bodies on a free frame among the rest of the library: cables inside the body and to points in space, cavities, loads,
// inverse control, checkpoints, threads, and what is refused.
#include "actuators.h"
#include "frames.h"

#include <unistd.h>

#define SCENE "tendril: 1\ntime_step: %g\nsteps: 1\nintegrator: {%s}\nsolver: {type: cholesky}\n"
#define BAR                                                                                                            \
    "bodies:\n  - name: bar\n    mesh: {box: [[0.3, 0, 0], [0.36, 0.02, 0.03]], cells: [3, 1, 2]}\n"                   \
    "    material: {law: neo_hookean, young: 30 kPa, poisson: 0.3, density: 1000}\n%s"
#define INSIDE                                                                                                         \
    "  - {name: pull, type: cable, body: bar, path: [[0.302, 0.01, 0.028], [0.33, 0.01, 0.028], "                      \
    "[0.358, 0.01, 0.028]], drive: %s}\n"
#define OUTSIDE                                                                                                        \
    "  - {name: tie, type: cable, body: bar, path: [[0.302, 0.01, 0.002]], pull_point: [0.1, 0.05, 0.2], drive: %s}\n"

typedef struct pair
{
    tdModel *model[2]; // full, on a frame
    tdState *state[2];
} pair;

static pair make_pair(const char *text, int r, int every)
{
    pair p = {.model = {scene_parse(text)}};
    tdRom rom = frame_rom(p.model[0], r, every);
    p.model[1] = rom_model(text, &rom, every == 1);
    td_arena_free(&rom.arena);
    for (int k = 0; k < 2; k++)
        p.state[k] = scene_state(p.model[k]);
    return p;
}

static void free_pair(pair *p)
{
    for (int k = 0; k < 2; k++)
        scene_free(p->model[k], p->state[k]);
}

static double apart(const pair *p, bool shape)
{
    const double *x = td_state_positions(p->model[0], p->state[0], 0),
                 *y = td_state_positions(p->model[1], p->state[1], 0);
    double most = 0;
    for (int64_t i = 0; i < 3 * p->model[0]->bodies[0].nodes; i++)
        most = fmax(most, fabs(x[i] - y[i]));
    return shape ? frame_shape_difference(p->model[0], x, y) : most / p->model[0]->size;
}

static const char *bar_text(double h, const char *integrator, const char *body, const char *more)
{
    static char text[4000];
    snprintf(text, sizeof text, SCENE BAR "%s", h, integrator, body, more);
    return text;
}

// A bar whose ends a cable pulls together bends: at rest in the end, with the shape and the forces of full order,
// whatever the steps on the way, so that the residual of Newton's method alone remains.
static void cable_inside(void **unused)
{
    (void)unused;
    const char *drives[] = {"displacement", "force"};
    for (int k = 0; k < 2; k++)
    {
        char more[600];
        snprintf(more, sizeof more, "actuators:\n" INSIDE, drives[k]);
        pair p = make_pair(bar_text(0.01, "newton: true, tolerance: 1e-11, max_iterations: 60",
                                    "    damping: {mass: 40, stiffness: 5 ms}\n", more),
                           0, 1);
        for (int i = 0; i < 2; i++)
            for (int s = 1; s <= 150; s++)
                act_step(p.model[i], p.state[i], "pull", fmin(s / 20.0, 1) * (k == 0 ? 0.008 : 0.6));
        tdActuation a = act_of(p.model[0], p.state[0], "pull"), b = act_of(p.model[1], p.state[1], "pull");
        assert_true(a.displacement > 0.004 && a.effort > 0.1);
        assert_near(b.displacement, a.displacement, 1e-8 * a.displacement);
        assert_near(b.effort, a.effort, 1e-7 * a.effort);
        assert_near(apart(&p, true), 0, 1e-8);
        // No torque acted: it has not turned but for errors of the steps, and of those of full order.
        assert_near(apart(&p, false), 0, 5e-3);
        free_pair(&p);
    }
}

// A taut cable within the body may not hinder it from turning, in steps of one linearization either: angular momentum
// stays to rounding, where full order loses what a linearization leaves.
static void spins_with_cable(void **unused)
{
    (void)unused;
    double lost[2][2];
    for (int k = 0; k < 2; k++)
    {
        char text[4000], more[600];
        snprintf(more, sizeof more, "actuators:\n" INSIDE, "force");
        snprintf(text, sizeof text, "%s", bar_text(k ? 5e-4 : 1e-3, "method: midpoint", "", more));
        pair p = make_pair(text, 0, 1);
        const tdReduced *reduced = frame_of(p.model[1]);
        double w[3] = {6, 5, -8};
        memcpy(p.state[1]->v + reduced->r + 3, w, sizeof w);
        frame_spin(p.state[0], p.model[0], reduced->floating->centre, w);
        for (int i = 0; i < 2; i++)
        {
            frameMomenta before = frame_momenta(p.model[i], p.state[i]), after;
            for (int s = 0; s < (k ? 200 : 100); s++)
                act_step(p.model[i], p.state[i], "pull", 0.3);
            after = frame_momenta(p.model[i], p.state[i]);
            double off[3];
            td_subtract3(after.L, before.L, off);
            lost[k][i] = sqrt(td_dot3(off, off) / td_dot3(before.L, before.L));
        }
        free_pair(&p);
    }
    assert_true(lost[0][1] < 1e-12 && lost[1][1] < 1e-12);
    assert_true(lost[1][0] < lost[0][0]);
}

// Forces from outside move and turn the body: a cable to a point in space, a load at a corner. Both formulations go the
// same way, but for errors of their steps, which fall with the step.
static void pulled_from_outside(void **unused)
{
    (void)unused;
    const struct
    {
        const char *method;
        int order;
    } methods[] = {{"method: midpoint, newton: true, tolerance: 1e-11, max_iterations: 60", 1}, // cables act at the end
                   {"method: newmark, newton: true, tolerance: 1e-11, max_iterations: 60", 2},
                   {"newton: true, tolerance: 1e-11, max_iterations: 60", 1},
                   {"method: backward_euler", 1}};
    for (int m = 0; m < 4; m++)
    {
        double errors[3], h = 2e-3, turned = 0;
        for (int k = 0; k < 3; k++, h /= 2)
        {
            char more[900];
            snprintf(
                more, sizeof more,
                "gravity: [0, 0, -9.81]\n"
                "loads: [{name: push, type: point, body: bar, box: [[0.35, -1, 0.02], [1, 1, 1]], force: [0, 0.05, "
                "0.02]}]\nactuators:\n" OUTSIDE,
                "force");
            pair p = make_pair(bar_text(h, methods[m].method, "    velocity: [0, 1, 0]\n", more), 0, 1);
            for (int i = 0; i < 2; i++)
            {
                act_set(p.model[i], p.state[i], "tie", 0.1);
                scene_steps(p.model[i], p.state[i], 32 << k);
            }
            errors[k] = apart(&p, false);
            turned = acos(fmin(fabs(frame_mine(p.state[1])->turn[0]), 1));
            free_pair(&p);
        }
        double falls = methods[m].order == 2 ? 0.35 : 0.62;
        assert_true(turned > 0.1 && errors[0] < 0.05);
        assert_true(errors[1] < falls * errors[0] && errors[2] < falls * errors[1]);
    }
}

// A cavity: its volume does not know where the body is. A ball with thick walls, blown up while it tumbles.
static void cavity(void **unused)
{
    (void)unused;
    static char text[6000];
    char mesh[SCENE_PATH], surface[SCENE_PATH];
    const actBall ball = {.n = 2, .layers = 1, .inner = 0.06, .outer = 0.1, .tetrahedra = true};
    ball_files(&ball, 4, mesh, surface);
    const char *drives[] = {"pressure", "volume", "gas"};
    const double values[] = {4e3, 2e-4, 2e-3};
    for (int k = 0; k < 3; k++)
    {
        snprintf(text, sizeof text,
                 "tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {newton: true, tolerance: 1e-11, "
                 "max_iterations: 60}\nsolver: {type: cholesky}\nbodies:\n  - {name: ball, mesh: %s,\n"
                 "     material: {law: neo_hookean, young: 100 kPa, poisson: 0.3, density: 1000}, damping: {mass: 20, "
                 "stiffness: 5 ms}}\nactuators:\n  - {name: air, type: cavity, body: ball, group: inner, drive: %s}\n",
                 mesh, drives[k]);
        pair p = make_pair(text, 0, 1);
        double w[3] = {1, 0.5, 0.3};
        memcpy(p.state[1]->v + frame_of(p.model[1])->r + 3, w, sizeof w);
        for (int i = 0; i < 2; i++)
            for (int s = 1; s <= 60; s++)
                act_step(p.model[i], p.state[i], "air", fmin(s / 10.0, 1) * values[k]);
        tdActuation a = act_of(p.model[0], p.state[0], "air"), b = act_of(p.model[1], p.state[1], "air");
        assert_true(a.displacement > 0.02 * p.model[0]->actuators[0].size);
        // What is left of the tumbling stretches it by (w / lowest frequency)^2.
        assert_near(b.displacement, a.displacement, 1e-6 * a.displacement);
        assert_near(b.effort, a.effort, 1e-5 * a.effort);
        assert_near(apart(&p, true), 0, 1e-6);
        assert_true(fabs(frame_mine(p.state[1])->turn[0]) < 0.9999);
        free_pair(&p);
    }
}

// Inverse control brings the distance of the ends to a target, by the cable inside; and a tip to a place, by cables
// from outside.
static void inverse(void **unused)
{
    (void)unused;
    char more[1500];
    snprintf(more, sizeof more,
             "actuators:\n"
             "  - {name: east, type: cable, body: bar, path: [[0.358, 0.01, 0.015]], pull_point: [0.6, 0.01, 0.015], "
             "drive: force}\n"
             "  - {name: west, type: cable, body: bar, path: [[0.302, 0.01, 0.015]], pull_point: [0.06, 0.01, 0.015], "
             "drive: force}\n"
             "effectors: [{name: tip, type: position, body: bar, point: [0.36, 0.01, 0.015]}]\n");
    pair p = make_pair(
        bar_text(0.01, "newton: true, max_iterations: 60", "    damping: {mass: 5, stiffness: 5 ms}\n", more), 0, 1);
    const double target[3] = {0.364, 0.01, 0.015};
    double value[3];
    for (int k = 0; k < 2; k++)
    {
        assert_int_equal(td_state_set_target(p.model[k], p.state[k], 0, target), TD_OK);
        scene_steps(p.model[k], p.state[k], 60);
        td_state_effector(p.model[k], p.state[k], 0, value);
        assert_near(value[0], target[0], 1e-5);
    }
    free_pair(&p);
}

// ---------------------------------------------------------------- states

static tdModel *busy_bar(const char *integrator, int r, int every)
{
    char more[2000];
    snprintf(more, sizeof more,
             "gravity: [0, 0, -9.81]\nactuators:\n" INSIDE OUTSIDE
             "loads: [{name: push, type: point, body: bar, group: xmax, force: [0, 0.02, 0]}]\n",
             "displacement", "force");
    const char *text =
        bar_text(0.004, integrator, "    damping: {mass: 0.5, stiffness: 2 ms}\n    velocity: [0, 0, 1]\n", more);
    tdModel *full = scene_parse(text);
    tdRom rom = frame_rom(full, r, every);
    rom_check(full, &rom, 2, 1e-3);
    tdModel *model = rom_model(text, &rom, false);
    td_arena_free(&rom.arena);
    td_model_free(full);
    return model;
}

static void drive_bar(const tdModel *model, tdState *state, int steps)
{
    act_set(model, state, "pull", 0.004);
    act_set(model, state, "tie", 0.3);
    scene_steps(model, state, steps);
}

// The reference of the turn belongs to the state: a run that goes on from a checkpoint, and one in other threads, is
// the same bit for bit.
static void same_bits(void **unused)
{
    (void)unused;
    const char *integrators[] = {"method: backward_euler", "method: midpoint, newton: true",
                                 "method: newmark, gamma: 0.6, beta: 0.3025, newton: true"};
    char path[64];
    snprintf(path, sizeof path, "/tmp/tendril_frame_%d.ckp", (int)getpid());
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = busy_bar(integrators[k], 14, 3);
        tdState *one = scene_state_with(model, 1, false), *two = scene_state_with(model, 2, false);
        tdError error = {0};
        double w[3] = {5, 4, 3};
        memcpy(one->v + 17, w, sizeof w);
        memcpy(two->v + 17, w, sizeof w);
        drive_bar(model, one, 20);
        assert_ok(td_state_save(model, one, path, &error), error);
        drive_bar(model, one, 20);
        drive_bar(model, two, 40);
        size_t bytes = (size_t)model->coords * sizeof(double), nodes = 3 * (size_t)model->bodies[0].nodes;
        assert_memory_equal(one->q, two->q, bytes);
        assert_memory_equal(one->v, two->v, bytes);
        assert_memory_equal(frame_mine(one)->turn, frame_mine(two)->turn, 4 * sizeof(double));
        assert_true(fabs(frame_mine(one)->turn[0]) < 0.99);
        assert_ok(td_state_load(model, two, path, &error), error);
        drive_bar(model, two, 20);
        assert_memory_equal(one->q, two->q, bytes);
        assert_memory_equal(one->v, two->v, bytes);
        assert_memory_equal(frame_mine(one)->turn, frame_mine(two)->turn, 4 * sizeof(double));
        assert_memory_equal(td_state_positions(model, one, 0), td_state_positions(model, two, 0),
                            nodes * sizeof(double));
        assert_true(td_state_report(one)->rom_distance > 0); // ranges are those of amplitudes, wherever the body is
        double force[3];
        td_state_reaction(model, one, 0, force);
        assert_true(force[0] == 0 && force[1] == 0 && force[2] == 0); // nothing holds it
        td_state_free(two);
        scene_free(model, one);
    }
    unlink(path);
}

// ---------------------------------------------------------------- refusals

static void refused(const char *text, const tdRom *rom, const char *why)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse_reduced(text, strlen(text), "scene.yaml", NULL, NULL, rom, &model, &error);
    assert_int_equal(status, TD_ERROR_INPUT);
    if (strstr(error.message, why) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, why);
}

static void refusals(void **unused)
{
    (void)unused;
    char text[4000], held[4000];
    snprintf(text, sizeof text, "%s", bar_text(0.01, "newton: true", "", ""));
    snprintf(held, sizeof held, "%s", bar_text(0.01, "newton: true", "    fixed: [{group: xmin}]\n", ""));
    tdModel *full = scene_parse(text), *fixed = scene_parse(held);
    tdRom rom = frame_rom(full, 5, 2);
    refused(held, &rom, "supports");
    rom.physics = td_soft_physics(fixed, 0);
    refused(held, &rom, "holds the body");
    td_arena_free(&rom.arena);
    td_model_free(full);
    td_model_free(fixed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cable_inside), cmocka_unit_test(spins_with_cable), cmocka_unit_test(pulled_from_outside),
        cmocka_unit_test(cavity),       cmocka_unit_test(inverse),          cmocka_unit_test(same_bits),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
