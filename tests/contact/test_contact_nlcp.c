// SPDX-License-Identifier: Apache-2.0
// The second solver of contact in a step: Coulomb's law as it is. Against closed forms, and against the convex solver
// where both solve the same problem.
#include "scenes.h"

#include "contact/contact.h"

#define G     9.81
#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define RIGID                                                                                                          \
    "  - {name: block, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, velocity: [%g, 0, 0], transform: "   \
    "{translate: [0, 0, 0.05]}}\n"
#define SOFT                                                                                                           \
    "  - {name: block, mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [2, 2, 2]}, velocity: [%g, 0, 0], "  \
    "material: {law: corotational_lagged, young: 1 MPa, poisson: 0.3, density: 1000}}\n"

// A block on a slope.
static tdModel *slope_model(const char *solver, const char *block, double mu, double slope, double speed, double h)
{
    sceneText t = {0};
    scene_add(&t, "tendril: 1\ntime_step: %g\nsteps: 10\ngravity: [%.17g, 0, %.17g]\n", h, G * sin(slope),
              -G * cos(slope));
    scene_add(&t, "contact: {friction: %g, solver: %s}\nbodies:\n" FLOOR, mu, solver);
    scene_add(&t, block, speed);
    return scene_parse(t.text);
}

// Mean of a component over the nodes of body 1.
static double mean_of(const tdModel *model, const double *x, int axis)
{
    int n = td_model_body_nodes(model, 1);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[3 * i + axis] / n;
    return sum;
}

static double speed_of(const tdModel *model, const tdState *state)
{
    return mean_of(model, td_state_velocities(model, state, 1), 0);
}

static void converged(const tdModel *model, tdState *state, int steps)
{
    for (int k = 0; k < steps; k++)
    {
        scene_steps(model, state, 1);
        assert_false(state->report.contact_limit);
        assert_true(state->report.contact_residual <= 1e-4);
    }
}

static void incline(const char *block, double rest)
{
    double h = 1e-3, mu = 0.5;
    // 5 % below the angle of friction it rests: there is no creep.
    tdModel *model = slope_model("nlcp", block, mu, atan(0.95 * mu), 0, h);
    tdState *state = scene_state(model);
    converged(model, state, 300);
    assert_near(speed_of(model, state), 0, rest);
    assert_true(state->report.contacts_active >= 4 && state->report.contact_iterations > 0);
    scene_free(model, state);
    double slope = atan(1.05 * mu), expected = G * (sin(slope) - mu * cos(slope));
    model = slope_model("nlcp", block, mu, slope, 0, h);
    state = scene_state(model);
    converged(model, state, 300);
    double before = speed_of(model, state);
    converged(model, state, 200);
    assert_near((speed_of(model, state) - before) / (200 * h), expected, 0.02 * expected);
    scene_free(model, state);
}

static void test_incline_rigid(void **unused)
{
    (void)unused;
    incline(RIGID, 1e-8);
}

static void test_incline_soft(void **unused)
{
    (void)unused;
    incline(SOFT, 5e-6); // it still wobbles a little; creep of the convex solver may be 1e-5
}

// v^2 / (2 mu g), and meanwhile the block lies on the floor: the convex solver has it ride on a gap of h mu v.
static void test_stopping_distance(void **unused)
{
    (void)unused;
    double h = 1e-3, mu = 0.3, v = 1, distance = v * v / (2 * mu * G), gap[2];
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = slope_model(k == 0 ? "sap" : "nlcp", RIGID, mu, 0, v, h);
        tdState *state = scene_state(model);
        double start = mean_of(model, td_state_positions(model, state, 1), 0);
        scene_steps(model, state, 50);
        gap[k] = state->q[2] - 0.05;
        scene_steps(model, state, 450);
        assert_near(speed_of(model, state), 0, 1e-6);
        assert_near(mean_of(model, td_state_positions(model, state, 1), 0) - start, distance, 2 * v * h);
        scene_free(model, state);
    }
    double sliding = v - 50 * h * mu * G;
    assert_true(gap[0] > 0.9 * h * mu * sliding);
    assert_true(fabs(gap[1]) <= 1e-6); // g h^2 / 4 pi^2, the softness of near-rigid points, is 2.5e-7 m
}

#define BOX_AT(name, z)                                                                                                \
    "  - {name: " name ", type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, " z \
    "]}}\n"

// Without friction both solve the same problem.
static void agree(const char *bodies, int steps, double tolerance)
{
    double q[2][512];
    for (int k = 0; k < 2; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 2 ms\nsteps: 10\ngravity: [1, 0, -9.81]\ncontact: {friction: "
                        "0, solver: %s}\nbodies:\n" FLOOR "%s",
                        k == 0 ? "sap" : "nlcp", bodies);
        tdState *state = scene_state(model);
        assert_true(model->coords <= 512);
        scene_steps(model, state, steps);
        memcpy(q[k], state->q, (size_t)model->coords * sizeof(double));
        for (int64_t i = 0; k == 1 && i < model->coords; i++)
            assert_near(q[1][i], q[0][i], tolerance);
        scene_free(model, state);
    }
}

static void test_agrees_without_friction(void **unused)
{
    (void)unused;
    agree(BOX_AT("a", "0.05") BOX_AT("b", "0.15"), 100, 1e-6);
    agree(
        "  - {name: block, mesh: {box: [[-0.05, -0.05, 0.01], [0.05, 0.05, 0.11]], cells: [2, 2, 2]}, material: {law: "
        "corotational_lagged, young: 1 MPa, poisson: 0.3, density: 1000}}\n",
        100, 1e-6);
}

// Driven joints, attachments and contact in one problem.
#define MIXED                                                                                                          \
    "tendril: 1\ntime_step: 2 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {friction: 0.5, solver: "                \
    "nlcp}\nbodies:\n" FLOOR                                                                                           \
    "  - {name: pad, mesh: {box: [[-0.05, -0.05, 0.005], [0.05, 0.05, 0.05]], cells: [2, 2, 1]}, material: "           \
    "{law: corotational_lagged, young: 1 MPa, poisson: 0.3, density: 1000}}\n"                                         \
    "  - {name: load, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, "       \
    "0.1]}}\nattachments: [{name: glue, a: pad, points: [[0, 0, 0.05], [0.04, 0, 0.05], [0, 0.04, 0.05]], b: "         \
    "load}]\n"

static void test_with_attachment(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse(MIXED);
    tdState *state = scene_state(model), *again = scene_state_with(model, 3, false);
    scene_steps(model, state, 400);
    scene_steps(model, again, 400);
    assert_memory_equal(state->q, again->q, (size_t)model->coords * sizeof(double));
    double force[3];
    td_state_contact_force(state, 0, 1, force);
    assert_near(force[2], (1 + 0.45) * G, 0.01 * 1.45 * G);
    td_state_attachment_force(state, 0, force, NULL, NULL);
    assert_near(force[2], -G, 0.01 * G);
    td_state_free(again);
    scene_free(model, state);
}

// A hundred kilograms on three boxes of one gram: sweeps carry forces from one to the next by and by. The bound is
// told.
static void test_bound_is_told(void **unused)
{
    (void)unused;
#define GRAM(name, z)                                                                                                  \
    "  - {name: " name                                                                                                 \
    ", type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: %s, transform: {translate: [0, 0, " z "]}}\n"
    tdModel *model = scene_model("tendril: 1\ntime_step: 2 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {friction: "
                                 "0.5, solver: nlcp}\nbodies:\n" FLOOR GRAM("a", "0.05") GRAM("b", "0.15")
                                     GRAM("c", "0.25") GRAM("d", "0.35"),
                                 "1 g", "1 g", "1 g", "100");
    tdState *state = scene_state(model);
    bool limit = false;
    for (int k = 0; k < 5; k++)
    {
        scene_steps(model, state, 1);
        limit = limit || state->report.contact_limit;
    }
    assert_true(limit);
    assert_true(state->report.contact_residual > 1e-6);
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_incline_rigid),     cmocka_unit_test(test_incline_soft),
        cmocka_unit_test(test_stopping_distance), cmocka_unit_test(test_agrees_without_friction),
        cmocka_unit_test(test_with_attachment),   cmocka_unit_test(test_bound_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
