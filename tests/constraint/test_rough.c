// SPDX-License-Identifier: Apache-2.0
// Columns of driven actuators by a factor in single precision, corrected with the solution, beside exact ones
// (solver: cholesky): the same motion and efforts to the tolerance, whatever limits, slack and held nodes there are.
#include "actuators.h"

#define STEPS 24

// A bar that two cables bend, the second of them with little force to give, and whose root a slide moves: by a force
// where `slide` says so, so that its motion is unknown.
static tdModel *bar(const char *solver, const char *slide, const char *more)
{
    return scene_model(
        "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 30\nsolver: {%s}\nbodies:\n"
        "  - name: bar\n    mesh: {box: [[0, 0, 0], [0.2, 0.03, 0.03]], cells: [16, 3, 3]}\n"
        "    material: {law: corotational, young: 0.3 MPa, poisson: 0.4, density: 1000}\n%s"
        "actuators:\n"
        "  - {name: up, type: cable, body: bar, path: [[0, 0.015, 0.03], [0.1, 0.015, 0.03], [0.2, 0.015, 0.03]], "
        "drive: displacement}\n"
        "  - {name: side, type: cable, body: bar, path: [[0, 0.03, 0.015], [0.1, 0.03, 0.015], [0.2, 0.03, 0.015]], "
        "drive: displacement, effort_range: [0, 0.25]}\n"
        "  - {name: slack, type: cable, body: bar, path: [[0, 0, 0.015], [0.1, 0, 0.015], [0.2, 0, 0.015]], "
        "drive: displacement}\n"
        "  - {name: slide, type: translation, body: bar, box: [[-1, -1, -1], [1e-4, 1, 1]], direction: [1, 0, 0], %s}\n"
        "motion: {keyframes: [{t: 0, up: 0, side: 0, slack: 0, slide: 0}, "
        "{t: 0.24 s, up: 12e-3, side: 6e-3, slack: -1e-3, slide: 0.02}]}\n",
        solver, more, slide);
}

typedef struct outcome
{
    double q[3 * 17 * 4 * 4], effort[4], displacement[4];
    int64_t factorizations, iterations;
    double residual;
    int bounded; // steps in which a cable had no more force to give, or was slack
} outcome;

static void follow(const tdModel *model, tdState *state, int steps, outcome *out)
{
    assert_int_equal(model->coords, sizeof out->q / sizeof out->q[0]);
    for (int k = 0; k < steps; k++)
    {
        scene_steps(model, state, 1);
        const tdReport *report = td_state_report(state);
        out->factorizations += report->factorizations;
        out->iterations += report->cg_iterations;
        out->residual = fmax(out->residual, report->residual);
        for (int a = 0; a < 3; a++)
            out->bounded += td_state_actuation(model, state, a).effort_bound != 0;
    }
    memcpy(out->q, state->q, sizeof out->q);
    for (int a = 0; a < 4; a++)
    {
        out->effort[a] = td_state_actuation(model, state, a).effort;
        out->displacement[a] = td_state_actuation(model, state, a).displacement;
    }
}

static outcome run(const tdModel *model, int threads)
{
    outcome out = {0};
    tdState *state = scene_state_with(model, threads, false);
    follow(model, state, STEPS, &out);
    td_state_free(state);
    return out;
}

static void compare(const outcome *rough, const outcome *exact)
{
    double bent = 0;
    for (size_t i = 0; i < sizeof exact->q / sizeof exact->q[0]; i++)
    {
        bent = fmax(bent, fabs(exact->q[i]));
        assert_near(rough->q[i], exact->q[i], 2e-9);
    }
    assert_true(bent > 0.2);
    for (int a = 0; a < 4; a++)
    {
        assert_near(rough->effort[a], exact->effort[a], 1e-6 * fmax(fabs(exact->effort[a]), 0.1));
        assert_near(rough->displacement[a], exact->displacement[a], 1e-9);
    }
    assert_int_equal(rough->bounded, exact->bounded);
}

static void the_same_as_exact_columns(void **unused)
{
    (void)unused;
    static const char *const slides[] = {"drive: displacement", "drive: force"};
    for (int k = 0; k < 2; k++)
    {
        tdModel *exact = bar("type: cholesky", slides[k], ""), *model = bar("type: auto", slides[k], "");
        assert_true(scene_soft(model)->linear.rough);
        outcome reference = run(exact, 1), one = run(model, 1), two = run(model, 2);
        compare(&one, &reference);
        assert_true(reference.bounded > STEPS); // bounds are met, and by more than one cable
        // By one factor a step; a block of columns and one or two corrections.
        assert_int_equal(one.factorizations, STEPS);
        assert_true(one.iterations > STEPS && one.iterations <= 3 * STEPS);
        assert_true(one.residual > 1e-14 && one.residual <= 1e-8);
        assert_memory_equal(&one, &two, sizeof one);
        td_model_free(exact);
        td_model_free(model);
    }
}

// A tip so much stiffer than what carries it that seven digits do not do: columns are made exactly after all.
static void stiff_parts_fall_back(void **unused)
{
    (void)unused;
    const char *tip =
        "    materials: [{box: [[0.15, -1, -1], [1, 1, 1]], law: corotational, young: 1e10, poisson: 0.3, "
        "density: 1000}]\n";
    tdModel *exact = bar("type: cholesky", "drive: displacement", tip);
    tdModel *model = bar("type: auto", "drive: displacement", tip);
    outcome reference = {0}, other = {0};
    tdState *states[2] = {scene_state(exact), scene_state(model)};
    follow(exact, states[0], 6, &reference);
    follow(model, states[1], 6, &other);
    assert_true(other.factorizations > 6 && other.residual <= 1e-8);
    for (size_t i = 0; i < sizeof reference.q / sizeof reference.q[0]; i++)
        assert_near(other.q[i], reference.q[i], 1e-8);
    scene_free(exact, states[0]);
    scene_free(model, states[1]);
}

// A state that is written and read goes on with the same bits.
static void goes_on_from_a_value(void **unused)
{
    (void)unused;
    tdModel *model = bar("type: auto", "drive: force", "");
    tdState *first = scene_state(model), *second = scene_state(model);
    outcome a = {0}, b = {0};
    tdError error = {0};
    scene_steps(model, first, 9);
    size_t size = td_state_size(model, first);
    void *memory = test_malloc(size);
    assert_ok(td_state_write(model, first, memory, size, &error), error);
    assert_ok(td_state_read(model, second, memory, size, &error), error);
    follow(model, first, 6, &a);
    follow(model, second, 6, &b);
    assert_memory_equal(&a, &b, sizeof a);
    test_free(memory);
    td_state_free(second);
    scene_free(model, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_as_exact_columns),
        cmocka_unit_test(stiff_parts_fall_back),
        cmocka_unit_test(goes_on_from_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
