// SPDX-License-Identifier: Apache-2.0
// Fast bodies do not pass through thin ones, or it is told; and how deep bodies are in each other is told.
#include "contact_physics.h"

#define WALL(thick, middle)                                                                                            \
    "  - {name: wall, type: rigid, shape: {box: [2, 2, " thick                                                         \
    "]}, fixed: true, transform: {translate: [0, 0, " middle "]}}\n"
#define SPHERE                                                                                                         \
    "  - {name: body, type: rigid, shape: {sphere: 0.05}, total_mass: 1, velocity: [0.3, 0, %g], transform: "          \
    "{translate: [0.013, 0.007, 0.5]}}\n"
#define BOX                                                                                                            \
    "  - {name: body, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, velocity: [0.3, 0, %g], transform: "  \
    "{translate: [0.013, 0.007, 0.5], rotate: [10 deg, 20 deg, 30 deg]}}\n"
#define SOFT                                                                                                           \
    "  - {name: body, mesh: {box: [[-0.037, -0.043, 0.45], [0.063, 0.057, 0.55]], cells: [2, 2, 2]}, velocity: [0.3, " \
    "0, %g], material: {law: corotational_lagged, young: 0.5 MPa, poisson: 0.3, density: 500}}\n"

static const char *const walls[] = {"  - {name: wall, type: rigid, shape: {plane: true}, fixed: true}\n",
                                    WALL("0.01", "-0.005"), WALL("0.001", "-0.0005")};

// Flies a body at a wall; returns the lowest place of its middle. *crushed: elements were turned inside out.
static double fly(const char *wall, const char *body, double speed, double h, bool *crushed)
{
    sceneText t = {0};
    scene_add(&t, "tendril: 1\ntime_step: %g\nsteps: 10\ngravity: [0, 0, 0]\ncontact: {}\nbodies:\n%s", h, wall);
    scene_add(&t, body, -speed);
    tdModel *model = scene_parse(t.text);
    tdState *state = scene_state(model);
    double lowest = INFINITY, x[3];
    *crushed = false;
    for (int k = 0, n = (int)(0.6 / (speed * h)) + 20; k < n; k++)
    {
        scene_steps(model, state, 1);
        mean_position(model, state, 1, x);
        lowest = fmin(lowest, x[2]);
        *crushed = *crushed || td_state_report(state)->inverted_elements > 0;
        assert_int_equal(td_state_report(state)->tunnelled, 0);
    }
    scene_free(model, state);
    return lowest;
}

static void test_rigid_stops(void **unused)
{
    (void)unused;
    const double speeds[] = {1, 10, 100, 500, 1000}, steps[] = {1e-3, 5e-3, 20e-3};
    for (int w = 0; w < 3; w++)
        for (int s = 0; s < 5; s++)
            for (int k = 0; k < 3; k++)
            {
                bool crushed;
                // A ball and a cube of which all is above the wall, but for a percent.
                assert_true(fly(walls[w], SPHERE, speeds[s], steps[k], &crushed) > 0.049);
                assert_true(fly(walls[w], BOX, speeds[s], steps[k], &crushed) > 0.049);
            }
}

// A soft body stops too, or is crushed by the step in which it should: then its elements say so.
static void test_soft_stops(void **unused)
{
    (void)unused;
    const double speeds[] = {1, 10, 100, 500}, steps[] = {1e-3, 5e-3, 20e-3};
    for (int w = 0; w < 3; w++)
        for (int s = 0; s < 4; s++)
            for (int k = 0; k < 3; k++)
            {
                bool crushed;
                double lowest = fly(walls[w], SOFT, speeds[s], steps[k], &crushed);
                assert_true(crushed || lowest > 0);
                assert_true(speeds[s] > 10 || lowest > 0.01);
            }
}

// A body that gets its speed within the step goes farther than was looked: through a wall behind it, which is told;
// with a step in which it does not get that far it is stopped.
static void test_blow_is_told(void **unused)
{
    (void)unused;
    for (int fine = 0; fine < 2; fine++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: %g\nsteps: 10\ngravity: [0, 0, 0]\ncontact: {friction: 0}\nbodies:\n%s"
            "  - {name: target, type: rigid, shape: {sphere: 0.05}, total_mass: 0.1, transform: {translate: [0, 0, "
            "0.4]}}\n  - {name: shot, type: rigid, shape: {sphere: 0.05}, total_mass: 1, velocity: [0, 0, -500], "
            "transform: {translate: [0, 0, 0.6]}}\n",
            fine ? 1e-5 : 5e-3, walls[1]);
        tdState *state = scene_state(model);
        int told = 0;
        for (int k = 0; k < (fine ? 200 : 5); k++)
        {
            scene_steps(model, state, 1);
            told += td_state_report(state)->tunnelled;
        }
        double x[3];
        mean_position(model, state, 1, x);
        assert_true(fine ? x[2] > 0.049 && told == 0 : x[2] < 0 && told >= 1);
        scene_free(model, state);
    }
}

// Depth of a compliant contact, at the end of the step: weight over stiffness.
static void test_depth(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {stiffness: 1e3, dissipation: 0.1}\n"
        "bodies:\n%s  - {name: high, type: rigid, shape: {box: [0.1, 0.1, 0.2]}, total_mass: 1, transform: {translate: "
        "[0, 0, 0.3]}}\n",
        walls[0]);
    tdState *state = scene_state(model);
    const tdReport *report = td_state_report(state);
    scene_steps(model, state, 1);
    assert_true(report->penetration == 0 && report->penetration_ratio == 0);
    double depth = 9.81 / 4e3;
    for (int k = 0; k < 600; k++)
    {
        scene_steps(model, state, 1);
        if (report->contacts_active > 0) // it stands upright: its lower face is 0.1 m below the middle
            assert_near(report->penetration, fmax(0, 0.1 - state->q[model->bodies[1].first + 2]), 1e-9);
    }
    assert_near(report->penetration, depth, 0.01 * depth);
    assert_near(report->penetration_ratio, report->penetration / 0.2, 1e-12);
    assert_true(report->penetration_body[0] == 0 && report->penetration_body[1] == 1);
    // At rest the step finds what the one before left.
    assert_near(report->penetration_found, report->penetration_ratio, 0.01 * report->penetration_ratio);
    assert_true(report->penetration_found_body[0] == 0 && report->penetration_found_body[1] == 1);
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rigid_stops),
        cmocka_unit_test(test_soft_stops),
        cmocka_unit_test(test_blow_is_told),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
