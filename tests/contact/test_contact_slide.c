// SPDX-License-Identifier: Apache-2.0
// What slides: the convex law has it ride on a gap, the corrected one does not; both brake alike.
#include "scenes.h"

#include "contact/contact.h"

#define G 9.81

static tdModel *slider(const char *contact, double step, double speed, double friction)
{
    return scene_model(
        "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: %g ms\nsteps: 1\ncontact: {friction: %g%s}\nbodies:\n"
        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
        "  - {name: block, type: rigid, shape: {box: [0.2, 0.2, 0.1]}, total_mass: 2, velocity: [%g, 0, 0], "
        "transform: {translate: [0, 0, 0.05]}}\n",
        step, friction, contact, speed);
}

// A block that slides at 3 m/s, from where it touches: the convex law sends it up at mu v, to where it rides on a gap.
// The corrected one does not.
static void test_ride(void **unused)
{
    (void)unused;
    double ride = 0.4 * 3 * 2e-3;
    tdModel *model = slider("", 2, 3, 0.4);
    tdState *state = scene_state(model);
    scene_steps(model, state, 1);
    assert_near(state->q[2] - 0.05, ride, 0.2 * ride); // it slows down as it is thrown
    scene_free(model, state);
    model = slider(", sliding: corrected", 2, 3, 0.4);
    state = scene_state(model);
    for (int k = 0; k < 100; k++)
    {
        scene_steps(model, state, 1);
        assert_near(state->q[2] - 0.05, 0, 1e-2 * ride);
        assert_near(state->v[0], 3 - 0.4 * G * 2e-3 * (k + 1), 1e-2);
    }
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    double normal = 0, along = 0;
    for (int64_t i = 0; i < n; i++)
    {
        normal += points[i].force[2];
        along += points[i].force[0];
    }
    assert_near(normal, 2 * G, 1e-2 * 2 * G);
    assert_near(along, -0.4 * normal, 1e-3 * normal);
    // It stops where Coulomb's law has it stop, and stays.
    scene_steps(model, state, 400);
    assert_near(state->v[0], 0, 2e-5);
    assert_near(state->q[0], 9 / (2 * 0.4 * G), 0.01);
    assert_near(state->q[2], 0.05, 2e-5);
    scene_free(model, state);
}

// What falls on the floor while it is fast is stopped by it: no rounds too few, nothing sinks in.
static void test_blow(void **unused)
{
    (void)unused;
    static const double frictions[] = {0.1, 0.5, 1};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
        {
            tdModel *model = slider(", sliding: corrected", k == 0 ? 1 : k == 1 ? 5 : 20, 5, frictions[i]);
            tdState *state = scene_state(model);
            state->q[2] = 0.5;
            state->v[5] = 4; // and turns
            for (int n = 0; n < (k == 2 ? 100 : 400); n++)
            {
                scene_steps(model, state, 1);
                assert_true(state->q[2] > 0.045);
                assert_true(state->report.energy < 0.5 * 2 * 25 + 2 * G * 0.5 + 1);
                assert_int_equal(state->report.contact_limit, 0);
            }
            scene_free(model, state);
        }
}

static void test_refused(void **unused)
{
    (void)unused;
    tdModel *model = NULL;
    tdError error = {0};
    static const char text[] =
        "tendril: 1\ntime_step: 1 ms\nsteps: 1\ncontact: {solver: nlcp, sliding: corrected}\nbodies:\n"
        "  - {name: box, type: rigid, shape: {box: [1, 1, 1]}, total_mass: 1}\n";
    assert_int_equal(td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "remove 'sliding'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ride), cmocka_unit_test(test_blow),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
