// SPDX-License-Identifier: Apache-2.0
// Near-rigid contact whatever rests on it: heavy on light, stacks, slopes, blows.
#include "contact_physics.h"

#include "body/articulated.h"
#include "contact/contact.h"

#define G     9.81
#define SIZE  0.1
#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"

typedef struct stackCase
{
    int n;
    double mass[5];
    bool soft[5];
    double slope, mu;
} stackCase;

// Cubes on each other, the lowest on the floor. Soft ones are narrower, each by as much as its place: where edges lie
// on edges, points come and go.
static tdModel *stack_model(const stackCase *c, double h)
{
    sceneText t = {0};
    scene_add(&t, "tendril: 1\ntime_step: %g\nsteps: 10\ngravity: [%.17g, 0, %.17g]\ncontact: {friction: %g}\n", h,
              G * sin(c->slope), -G * cos(c->slope), c->mu > 0 ? c->mu : 0.5);
    scene_add(&t, "bodies:\n" FLOOR);
    for (int i = 0; i < c->n; i++)
    {
        double half = 0.048 - 0.001 * i;
        if (c->soft[i])
            scene_add(&t,
                      "  - name: cube_%d\n    mesh: {box: [[%g, %g, %g], [%g, %g, %g]], cells: [2, 2, 2]}\n"
                      "    material: {law: corotational_lagged, young: 1 GPa, poisson: 0.3, density: %g}\n",
                      i, -half, -half, SIZE * i, half, half, SIZE * (i + 1), c->mass[i] / (4 * half * half * SIZE));
        else
            scene_add(&t,
                      "  - {name: cube_%d, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: %g, transform: "
                      "{translate: [0, 0, %g]}}\n",
                      i, c->mass[i], SIZE * (i + 0.5));
    }
    return scene_parse(t.text);
}

// Of a rigid or a soft cube.
static void middle_of(const tdModel *model, const tdState *state, int cube, double x[3])
{
    const tdBody *body = &model->bodies[1 + cube];
    if (td_body_is_articulated(body))
        memcpy(x, td_articulated_poses(body, state, state->q + body->first)[0].t, 3 * sizeof *x);
    else
        mean_position(model, state, 1 + cube, x);
}

// 300 steps of 5 ms, of which the last 50 at rest; the solver always arrives.
static void stack_rests(const stackCase *c)
{
    tdModel *model = stack_model(c, 5e-3);
    tdState *state = scene_state(model);
    double last[5][3], below = 0;
    for (int k = 0; k < 300; k++)
    {
        if (k == 250)
            for (int i = 0; i < c->n; i++)
                middle_of(model, state, i, last[i]);
        scene_steps(model, state, 1);
        assert_false(td_state_report(state)->contact_limit);
    }
    for (int i = 0; i < c->n; i++)
    {
        double x[3], sunk;
        middle_of(model, state, i, x);
        sunk = SIZE * (i + 0.5) - x[2];
        // A percent of the size for each contact below; soft ones of 1 GPa under a ton are pressed by 0.1 % more.
        assert_true(sunk - below > -1e-6 && sunk - below < 0.01 * SIZE);
        // In a quarter of a second. What is stuck creeps with its load, the more the higher it stands.
        assert_true(sqrt(td_square_between(x, last[i])) < 5e-4 * SIZE);
        below = sunk;
    }
    scene_free(model, state);
}

static void test_two(void **unused)
{
    (void)unused;
    for (double ratio = 1; ratio < 2e6; ratio *= 10)
    {
        stack_rests(&(stackCase){.n = 2, .mass = {1e-3, 1e-3 * ratio}});
        stack_rests(&(stackCase){.n = 2, .mass = {1e-3 * ratio, 1e-3}});
    }
}

static void test_five(void **unused)
{
    (void)unused;
    for (double ratio = 1; ratio < 2e6; ratio *= 100)
    {
        double m = 1e-3, M = 1e-3 * ratio;
        stack_rests(&(stackCase){.n = 5, .mass = {m, m, m, m, M}});
        stack_rests(&(stackCase){.n = 5, .mass = {m, M, m, M, m}});
        stack_rests(&(stackCase){.n = 5, .mass = {M, m, M, m, M}});
        stack_rests(
            &(stackCase){.n = 5, .mass = {m, m * sqrt(sqrt(ratio)), m * sqrt(ratio), M / sqrt(sqrt(ratio)), M}});
    }
}

static void test_soft(void **unused)
{
    (void)unused;
    for (double ratio = 1; ratio < 2e6; ratio *= 100)
    {
        double m = 1e-3, M = 1e-3 * ratio;
        stack_rests(&(stackCase){.n = 2, .mass = {m, M}, .soft = {true, false}});
        stack_rests(&(stackCase){.n = 2, .mass = {m, M}, .soft = {true, true}});
        stack_rests(&(stackCase){.n = 5, .mass = {m, M, m, M, m}, .soft = {true, false, false, true, true}});
    }
}

// From ratio to ratio heights change no faster than in proportion to the load.
static void test_continuous(void **unused)
{
    (void)unused;
    double before = 0;
    for (double ratio = 50; ratio < 3000; ratio *= 1.05)
    {
        stackCase c = {.n = 2, .mass = {1e-3, 1e-3 * ratio}};
        tdModel *model = stack_model(&c, 5e-3);
        tdState *state = scene_state(model);
        double x[3], again[3];
        scene_steps(model, state, 120);
        middle_of(model, state, 0, x);
        scene_steps(model, state, 1);
        middle_of(model, state, 0, again);
        assert_near(again[2], x[2], 1e-6);
        if (before != 0)
            assert_near(x[2], before, 0.1 * (0.5 * SIZE - before));
        before = x[2];
        scene_free(model, state);
    }
}

// A light cube under a heavy one on a slope: below the angle of friction both stick; above it the heavy one slides, on
// the light one, which bears the less of the two contacts.
static void test_slope(void **unused)
{
    (void)unused;
    for (int steep = 0; steep < 2; steep++)
    {
        double h = 5e-3, mu = 0.2, slope = atan((steep ? 1.2 : 0.9) * mu), before[2][3], x[2][3];
        stackCase c = {.n = 2, .mass = {1e-3, 100}, .slope = slope, .mu = mu};
        tdModel *model = stack_model(&c, h);
        tdState *state = scene_state(model);
        scene_steps(model, state, 10);
        for (int i = 0; i < 2; i++)
            middle_of(model, state, i, before[i]);
        scene_steps(model, state, 50);
        for (int i = 0; i < 2; i++)
            middle_of(model, state, i, x[i]);
        double way = G * (sin(slope) - mu * cos(slope)) * h * h * (60 * 61 - 10 * 11) / 2;
        // Points creep by mu 4 pi^2 sigma / h times what they give way at most, each body on the one below.
        double creep = 50 * mu * 4 * M_PI * M_PI * 1e-3 * 0.005 * SIZE;
        if (steep)
            assert_near(x[1][0] - before[1][0], way, 0.02 * way);
        for (int i = 0; i < 2 && !steep; i++)
            assert_true(x[i][0] - before[i][0] > 0 && x[i][0] - before[i][0] < (i + 1) * creep);
        scene_free(model, state);
    }
}

// What falls on a light cube stops there.
static void test_blow(void **unused)
{
    (void)unused;
    for (double ratio = 1; ratio < 2e6; ratio *= 1000)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {}\nbodies:\n" FLOOR
            "  - {name: light, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1e-3, transform: {translate: "
            "[0, 0, 0.05]}}\n  - {name: heavy, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: %g, transform: "
            "{translate: [0.01, 0.02, 0.3]}, velocity: [0, 0, -10]}\n",
            1e-3 * ratio);
        tdState *state = scene_state(model);
        for (int k = 0; k < 100; k++)
        {
            double x[3];
            scene_steps(model, state, 1);
            for (int i = 0; i < 2; i++)
            {
                middle_of(model, state, i, x);
                assert_true(x[2] > SIZE * (i + 0.5) - 0.02 * SIZE);
            }
        }
        scene_free(model, state);
    }
}

// A stiffness that was given is kept, whatever rests on it: 10 kg on four points of 10 kN/m, by a cube of 1 g.
static void test_given_stiffness(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {stiffness: 10 kN/m, dissipation: 20 "
        "ms}\nbodies:\n" FLOOR
        "  - {name: light, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1e-3, transform: {translate: [0, 0, "
        "0.05]}}\n  - {name: heavy, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 10, transform: {translate: "
        "[0, 0, 0.15]}}\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 300);
    double x[3], sinks = 10.001 * G / 4e4;
    middle_of(model, state, 0, x);
    assert_near(0.05 - x[2], sinks, 0.01 * sinks);
    scene_free(model, state);
}

// Gauss-Seidel holds what it can solve: to a ratio of ten.
static void test_nlcp(void **unused)
{
    (void)unused;
    for (double ratio = 1; ratio < 20; ratio *= 10)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {solver: nlcp}\nbodies:\n" FLOOR
            "  - {name: light, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1e-3, transform: {translate: "
            "[0, 0, 0.05]}}\n  - {name: heavy, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: %g, transform: "
            "{translate: [0, 0, 0.15]}}\n",
            1e-3 * ratio);
        tdState *state = scene_state(model);
        scene_steps(model, state, 300);
        double x[3];
        assert_false(td_state_report(state)->contact_limit);
        middle_of(model, state, 0, x);
        assert_near(x[2], 0.5 * SIZE, 0.01 * SIZE);
        scene_free(model, state);
    }
}

static void test_threads_and_resume(void **unused)
{
    (void)unused;
    stackCase c = {.n = 5, .mass = {1e-3, 1, 1e-3, 100, 1e-2}, .soft = {true, false, false, true, false}};
    tdModel *model = stack_model(&c, 5e-3);
    tdState *one = scene_state_with(model, 1, false), *three = scene_state_with(model, 3, false),
            *again = scene_state_with(model, 1, false);
    char path[] = "/tmp/tendril_contact_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    tdError error = {0};
    size_t bytes = (size_t)model->coords * sizeof(double);
    scene_steps(model, one, 25);
    scene_steps(model, three, 50);
    assert_ok(td_state_save(model, one, path, &error), error);
    assert_ok(td_state_load(model, again, path, &error), error);
    unlink(path);
    scene_steps(model, one, 25);
    scene_steps(model, again, 25);
    assert_memory_equal(one->q, three->q, bytes);
    assert_memory_equal(one->v, three->v, bytes);
    assert_memory_equal(one->q, again->q, bytes);
    assert_memory_equal(one->v, again->v, bytes);
    td_state_free(one);
    td_state_free(three);
    td_state_free(again);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_five),
        cmocka_unit_test(test_soft),
        cmocka_unit_test(test_continuous),
        cmocka_unit_test(test_slope),
        cmocka_unit_test(test_blow),
        cmocka_unit_test(test_given_stiffness),
        cmocka_unit_test(test_nlcp),
        cmocka_unit_test(test_threads_and_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
