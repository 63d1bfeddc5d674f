// SPDX-License-Identifier: Apache-2.0
// Attachments together with what is solved by columns: inverse control, friction of cables, stops of an effort, nodes
// moved by an effort. A beam of two pieces whose nodes coincide, welded, is the beam of one piece, whatever acts on it.
#include "scenes.h"

#include "constraint/bonded.h"
#include "constraint/constraint.h"
#include "contact/contact.h"

#include <string.h>

#define HEAD                                                                                                           \
    "tendril: 1\ntime_step: %g\nsteps: 10\ngravity: [0, 0, -9.81]\nintegrator: {newton: true, tolerance: 1e-7%s}\n"
#define PIECE(name, from, to, cells)                                                                                   \
    "  - {name: " name ", mesh: {box: [[" from ", 0, 0], [" to ", 0.02, 0.02]], cells: [" cells ", 2, 2]}, "           \
    "damping: {mass: 5}, material: {law: corotational, young: 0.5 MPa, poisson: 0.3, density: 1000}%s}\n"
#define CABLE "[[0.1, 0.01, 0.018], [0.075, 0.01, 0.018], [0.05, 0.01, 0.018]]"
#define HELD  ", fixed: [{group: xmin}]"
#define WELD  "attachments: [{name: seam, a: low, group: xmax, b: high}]\n"

// Runs the beam in one piece and in two, with the same actuators and effectors on its outer half (named "high" in
// both, so that the text is the same), and compares places, efforts and displacements.
static void compare(double h, const char *method, const char *held, const char *acts, int steps, double tolerance)
{
    tdModel *one = scene_model(HEAD "bodies:\n" PIECE("high", "0", "0.1", "8") "%s", h, method, held, acts);
    tdModel *two =
        scene_model(HEAD "bodies:\n" PIECE("low", "0", "0.05", "4") PIECE("high", "0.05", "0.1", "4") "%s" WELD, h,
                    method, held, "", acts);
    tdState *a = scene_state(one), *b = scene_state(two);
    assert_non_null(b->bonded);
    for (int k = 0; k < steps; k++)
    {
        scene_steps(one, a, 1);
        scene_steps(two, b, 1);
        const double *whole = td_state_positions(one, a, 0), *half = td_state_positions(two, b, 1);
        for (int64_t i = 0; i < two->bodies[1].nodes; i++) // 5 x 3 x 3 nodes of 9 x 3 x 3
            for (int c = 0; c < 3; c++)
                assert_near(half[3 * i + c], whole[3 * (i % 5 + 4 + i / 5 * 9) + c], tolerance);
        for (int i = 0; i < one->n_actuators; i++)
        {
            double effort = a->constraint->effort[i], displacement = a->constraint->displacement[i];
            assert_near(b->constraint->effort[i], effort, 1e-3 * (1e-3 + fabs(effort)));
            assert_near(b->constraint->displacement[i], displacement, 10 * tolerance);
        }
        assert_true(b->report.attachment_error <= 1e-6);
    }
    scene_free(one, a);
    scene_free(two, b);
}

// The tip, which would hang lower, is to be at 6 mm, by two cables on the outer half.
static void test_inverse(void **unused)
{
    (void)unused;
    const char *acts =
        "actuators:\n"
        "  - {name: up, type: cable, body: high, path: " CABLE ", drive: force}\n"
        "  - {name: down, type: cable, body: high, drive: force, path: [[0.1, 0.01, 0.002], [0.05, 0.01, 0.002]]}\n"
        "effectors: [{name: tip, body: high, group: xmax, axes: z, target: [0, 0, 6 mm]}]\n";
    // inverse control ends when the next pass would move nothing by more than 1e-5 of the size
    compare(1e-2, "", HELD, acts, 30, 1e-6);
    compare(1e-2, ", method: static", HELD, acts, 1, 1e-6);
}

static void test_friction(void **unused)
{
    (void)unused;
    compare(5e-3, "", HELD,
            "actuators: [{name: up, type: cable, body: high, path: " CABLE ", drive: force, friction: 0.5}]\n"
            "motion: {keyframes: [{t: 0, up: 0}, {t: 50 ms, up: 0.3}, {t: 100 ms, up: 0.1}]}\n",
            30, 1e-8);
}

static void test_stops(void **unused)
{
    (void)unused;
    compare(5e-3, "", HELD,
            "actuators: [{name: up, type: cable, body: high, path: " CABLE
            ", drive: force, displacement_range: [none, 0.4 mm]}]\n"
            "motion: {keyframes: [{t: 0, up: 0}, {t: 50 ms, up: 1}]}\n",
            30, 1e-8);
}

// The end of the low piece is held by a slide that a force pushes up; it is a spring of its own that it leans on.
static void test_moved_by_an_effort(void **unused)
{
    (void)unused;
    for (int fixed = 0; fixed < 2; fixed++)
    {
        const char *act = "actuators: [{name: slide, type: translation, body: %s, group: xmin, direction: [0, 0, 1], "
                          "drive: force}]\nmotion: {keyframes: [{t: 0, slide: 0}, {t: 50 ms, slide: 0.5}]}\n";
        char of_one[300], of_two[300];
        snprintf(of_one, sizeof of_one, act, "high");
        snprintf(of_two, sizeof of_two, act, "low");
        tdModel *one = scene_model(HEAD "bodies:\n" PIECE("high", "0", "0.1", "8") "%s", 5e-3, "",
                                   fixed ? ", fixed: [{group: xmax}]" : "", of_one);
        tdModel *two =
            scene_model(HEAD "bodies:\n" PIECE("low", "0", "0.05", "4") PIECE("high", "0.05", "0.1", "4") "%s" WELD,
                        5e-3, "", "", fixed ? ", fixed: [{group: xmax}]" : "", of_two);
        tdState *a = scene_state(one), *b = scene_state(two);
        for (int k = 0; k < 30; k++)
        {
            scene_steps(one, a, 1);
            scene_steps(two, b, 1);
            assert_near(b->constraint->displacement[0], a->constraint->displacement[0], 1e-8);
            const double *whole = td_state_positions(one, a, 0), *half = td_state_positions(two, b, 1);
            for (int64_t i = 0; i < two->bodies[1].nodes; i++)
                for (int c = 0; c < 3; c++)
                    assert_near(half[3 * i + c], whole[3 * (i % 5 + 4 + i / 5 * 9) + c], 1e-7);
        }
        scene_free(one, a);
        scene_free(two, b);
    }
}

// A scene that could touch and does not is the same scene: inverse control by cables with friction, to a target that
// comes suddenly.
static void test_idle_contact(void **unused)
{
    (void)unused;
    const char *const keys[] = {"", "contact: {}\n"};
    tdModel *model[2];
    tdState *state[2];
    for (int k = 0; k < 2; k++)
    {
        model[k] =
            scene_model(HEAD "%sbodies:\n" PIECE("low", "0", "0.05", "4") PIECE("high", "0.05", "0.1", "4") "%s" WELD,
                        1e-2, "", keys[k], HELD, "",
                        "actuators:\n"
                        "  - {name: up, type: cable, body: low, drive: force, friction: 0.1, path: "
                        "[[0.05, 0.01, 0.018], [0.025, 0.01, 0.018]], pull_point: [0, 0.01, 0.018]}\n"
                        "  - {name: down, type: cable, body: low, drive: force, friction: 0.1, path: "
                        "[[0.05, 0.01, 0.002], [0.025, 0.01, 0.002]], pull_point: [0, 0.01, 0.002]}\n"
                        "effectors: [{name: tip, body: high, group: xmax, axes: z, target: [0, 0, 14 mm]}]\n");
        state[k] = scene_state(model[k]);
    }
    for (int s = 0; s < 10; s++)
    {
        for (int k = 0; k < 2; k++)
            scene_steps(model[k], state[k], 1);
        assert_true(state[1]->joined);
        for (int a = 0; a < 2; a++)
        {
            double effort = state[0]->constraint->effort[a];
            assert_near(state[1]->constraint->effort[a], effort, 1e-3 * (1e-3 + fabs(effort)));
        }
        assert_int_equal(td_state_report(state[1])->out_of_reach, td_state_report(state[0])->out_of_reach);
        assert_near(state[1]->constraint->value[2], state[0]->constraint->value[2], 1e-6);
    }
    print_message("%.4f N, %.4f N; tip at %.4f mm\n", state[1]->constraint->effort[0], state[1]->constraint->effort[1],
                  1e3 * state[1]->constraint->value[2]);
    for (int k = 0; k < 2; k++)
        scene_free(model[k], state[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inverse), cmocka_unit_test(test_friction),
                                       cmocka_unit_test(test_stops), cmocka_unit_test(test_moved_by_an_effort),
                                       cmocka_unit_test(test_idle_contact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
