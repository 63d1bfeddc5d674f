// SPDX-License-Identifier: Apache-2.0
// Bodies that sleep: they stay to the bit, bear what they bore, wake before a blow and by whatever else acts on them,
// and the motion after that is the one without sleep.
#include "scenes.h"

#include "contact/contact.h"

#define G      9.81
#define HEAD   "tendril: 1\ntime_step: 2 ms\nsteps: 10\n"
#define DOWN   "gravity: [0, 0, -9.81]\n"
#define SLEEPY "contact: {sleep: 5 mm/s}\n"
#define AWAKE  "contact: {}\n"
#define FLOOR  "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define STACK                                                                                                          \
    FLOOR "  - {name: low, type: rigid, shape: {box: [0.2, 0.2, 0.1]}, total_mass: 2, transform: {translate: [0, 0, "  \
          "0.05]}}\n"                                                                                                  \
          "  - {name: high, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, " \
          "0.15]}}\n"
// It comes in 0.6 s, to the middle of the upper box.
#define BALL                                                                                                           \
    "  - {name: ball, type: rigid, shape: {sphere: 0.03}, total_mass: 0.5, velocity: [2, 0, 2.943], transform: "       \
    "{translate: [-1.28, 0.01, 0.16]}}\n"

static void assert_at_rest(const tdModel *model, const tdState *state, int body, const double *q)
{
    const tdBody *b = &model->bodies[body];
    assert_memory_equal(state->q + b->first, q + b->first, (size_t)b->count * sizeof(double));
    for (int64_t i = b->first; i < b->first + b->count; i++)
        assert_true(state->v[i] == 0);
}

// Two boxes on each other: who bears what is known while they sleep, and nothing of them is solved.
static void test_rest(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(HEAD DOWN SLEEPY "bodies:\n" STACK "%s", "");
    tdState *state = scene_state(model);
    scene_steps(model, state, 10);
    assert_int_equal(state->report.asleep, 0);
    assert_true(state->report.constraints > 0);
    scene_steps(model, state, 200);
    assert_int_equal(state->report.asleep, 2);
    double q[16] = {0};
    assert_true(model->coords <= 16);
    memcpy(q, state->q, (size_t)model->coords * sizeof(double));
    for (int k = 0; k < 20; k++)
    {
        double force[3];
        scene_steps(model, state, 1);
        assert_int_equal(state->report.constraints, 0);
        assert_true(state->report.contacts_active >= 8);
        assert_at_rest(model, state, 1, q);
        assert_at_rest(model, state, 2, q);
        td_state_contact_force(state, 0, 1, force);
        assert_near(force[2], 3 * G, 1e-4 * 3 * G);
        td_state_contact_force(state, 1, 2, force);
        assert_near(force[2], 1 * G, 1e-4 * G);
        assert_near(hypot(force[0], force[1]), 0, 1e-6 * G);
    }
    scene_free(model, state);
}

// A ball hits the stack: above at 2 m/s, below so hard that the lower box is gone within a step. What it meets is
// awake, and moves as without sleep.
static void test_blow(void **unused)
{
    (void)unused;
    static const char *const balls[] = {
        BALL,
        "  - {name: ball, type: rigid, shape: {sphere: 0.03}, total_mass: 20, velocity: [100, 0, 2.943], transform: "
        "{translate: [-60, 0.01, 0.05]}, contact: {friction: 0}}\n"};
    static const int hit[] = {2, 1};
    for (int c = 0; c < 2; c++)
    {
        tdModel *sleepy = scene_model(HEAD DOWN SLEEPY "bodies:\n" STACK "%s", balls[c]);
        tdModel *awake = scene_model(HEAD DOWN AWAKE "bodies:\n" STACK "%s", balls[c]);
        tdState *a = scene_state(sleepy), *b = scene_state(awake);
        bool slept = false;
        double most = 0;
        for (int k = 0; k < 400; k++)
        {
            scene_steps(sleepy, a, 1);
            scene_steps(awake, b, 1);
            slept = slept || a->report.asleep == 2;
            for (int64_t i = 0; i < sleepy->coords; i++)
                assert_near(a->q[i], b->q[i], 2e-5 * fmax(1, fabs(b->q[i])));
            most = fmax(most, fabs(a->v[sleepy->bodies[hit[c]].first]));
        }
        assert_true(slept);
        assert_true(most > (c == 0 ? 0.3 : 50)); // it was a blow
        scene_free(sleepy, a);
        scene_free(awake, b);
    }
}

// A value that is read in the middle of sleep goes on to the same bits, through the blow, and so do more threads.
static void test_bits(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(HEAD DOWN SLEEPY "bodies:\n" STACK BALL "%s", "");
    tdState *one = scene_state(model), *three = scene_state_with(model, 3, false), *read = scene_state(model);
    tdError error = {0};
    size_t size = td_state_size(model, one);
    double *value = malloc(size);
    for (int from = 100; from < 130; from += 7) // in each of the phases in which they fall asleep
    {
        assert_ok(td_state_reset(model, one, &error), error);
        scene_steps(model, one, from);
        assert_ok(td_state_write(model, one, value, size, &error), error);
        assert_ok(td_state_read(model, read, value, size, &error), error);
        for (int k = from; k < 420; k++)
        {
            scene_steps(model, one, 1);
            scene_steps(model, read, 1);
            assert_int_equal(td_state_hash(model, one), td_state_hash(model, read));
            assert_int_equal(one->report.asleep, read->report.asleep);
            double a[3], b[3];
            td_state_contact_force(one, 2, 1, a);
            td_state_contact_force(read, 2, 1, b);
            assert_memory_equal(a, b, sizeof a);
        }
    }
    scene_steps(model, three, 420);
    assert_int_equal(td_state_hash(model, one), td_state_hash(model, three));
    free(value);
    td_state_free(read);
    td_state_free(three);
    scene_free(model, one);
}

// ---------------------------------------------------------------- what wakes

static tdState *asleep(const tdModel *model)
{
    tdState *state = scene_state(model);
    scene_steps(model, state, 220);
    assert_int_equal(state->report.asleep, 2);
    return state;
}

static double height(const tdModel *model, const tdState *state)
{
    return state->q[model->bodies[2].first + 2];
}

static void test_wake(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(HEAD DOWN SLEEPY "bodies:\n" STACK "%s", "");
    tdError error = {0};

    tdState *state = asleep(model); // a parameter
    assert_ok(td_state_set_parameter(model, state, TD_PARAMETER_GRAVITY_Z, 0, 1.0, &error), error);
    scene_steps(model, state, 100);
    assert_near(height(model, state), 0.15 + 0.5 * 1.0 * 0.04, 1e-3);
    td_state_free(state);

    state = asleep(model); // what bears it is taken away
    double away[6] = {1, 0, 0.05, 0, 0, 0};
    assert_ok(td_state_set_coords(model, state, 1, away, NULL, NULL, &error), error);
    scene_steps(model, state, 25);
    assert_near(height(model, state), 0.15 - 0.5 * G * 0.05 * 0.05, 1e-3);
    td_state_free(state);

    state = asleep(model); // a spring
    tdSpring spring = {.body = 2, .weights = {1, 0, 0}, .anchor = {0, 0, 1}, .stiffness = 100};
    assert_int_equal(td_state_set_spring(model, state, 0, &spring), TD_OK);
    scene_steps(model, state, 10);
    assert_true(height(model, state) > 0.151);
    scene_free(model, state);
}

// What nothing bears goes on, however slowly; what another moves along stays awake.
static void test_awake(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        HEAD SLEEPY "bodies:\n" FLOOR
                    "  - {name: far, type: rigid, shape: {sphere: 0.1}, total_mass: 2, velocity: [1 mm/s, 0, 0], "
                    "transform: {translate: [0, 0, 1]}}\n"
                    "  - {name: still, type: rigid, shape: {sphere: 0.1}, total_mass: 2, transform: {translate: [3, 0, "
                    "1]}}\n%s",
        "");
    tdState *state = scene_state(model);
    scene_steps(model, state, 500);
    assert_int_equal(state->report.asleep, 1); // the one that does not move at all
    assert_near(state->q[model->bodies[1].first], 1e-3, 1e-12);
    scene_free(model, state);

    model = scene_model(HEAD DOWN SLEEPY
                        "bodies:\n" FLOOR
                        "  - {name: block, mesh: {box: [[-0.1, -0.1, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 1]}, "
                        "material: {law: corotational_lagged, young: 1e5, poisson: 0.3, density: 1000}}\n"
                        "  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: "
                        "{translate: [0, 0, 0.15]}}\n%s",
                        "");
    state = scene_state(model);
    scene_steps(model, state, 500);
    assert_int_equal(state->report.asleep, 0);
    scene_free(model, state);
}

// What another moves, or may move, never sleeps, nor does what rests on it: a table whose motion is given and begins
// after a second, what hangs on an attachment, a rod or an actuator.
static void test_moved(void **unused)
{
    (void)unused;
    static const char *const scenes[] = {
        "  - {name: table, type: rigid, shape: {box: [1, 1, 0.1]}, guided: true, transform: {translate: [0, 0, "
        "-0.05]}}\n"
        "  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, "
        "0.05]}}\nmotion: {keyframes: [{t: 0, table.x: 0}, {t: 1 s, table.x: 0}, {t: 2 s, table.x: 0.1}]}\n",
        FLOOR
        "  - {name: base, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, "
        "0.05]}}\n  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: "
        "[0, 0, 0.15]}}\nactuators: [{name: pull, type: force, body: box, point: [0, 0, 0.15], direction: [1, 0, 0], "
        "drive: force}]\nmotion: {keyframes: [{t: 0, pull: 0}, {t: 1 s, pull: 0}, {t: 2 s, pull: 20}]}\n",
        FLOOR
        "  - {name: base, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, "
        "0.05]}}\n  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: "
        "[0, 0, 0.15]}}\n  - {name: arm, type: rigid, shape: {box: [0.02, 0.02, 0.02]}, guided: true, transform: "
        "{translate: [0.3, 0, 0.15]}}\ncouplings: [{name: rod, rod: {a: box, point_a: [0.05, 0, 0.15], b: arm, "
        "point_b: "
        "[0.3, 0, 0.15]}}]\nmotion: {keyframes: [{t: 0, arm.x: 0}, {t: 1 s, arm.x: 0}, {t: 2 s, arm.x: 0.1}]}\n",
        FLOOR
        "  - {name: base, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, "
        "0.05]}}\n  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: "
        "[0, 0, 0.15]}}\n  - {name: arm, type: rigid, shape: {box: [0.1, 0.02, 0.02]}, guided: true, transform: "
        "{translate: [0.12, 0, 0.15]}}\nattachments: [{name: weld, a: box, points: [[0.05, 0, 0.15]], b: arm}]\n"
        "motion: {keyframes: [{t: 0, arm.x: 0}, {t: 1 s, arm.x: 0}, {t: 2 s, arm.x: 0.1}]}\n"};
    for (int i = 0; i < 4; i++)
    {
        tdModel *model = scene_model(HEAD DOWN SLEEPY "bodies:\n%s", scenes[i]);
        tdState *state = scene_state(model);
        int box = -1;
        for (int b = 0; b < model->n_bodies; b++)
            box = strcmp(model->bodies[b].name, "box") == 0 ? b : box;
        for (int k = 0; k < 1000; k++)
        {
            scene_steps(model, state, 1);
            assert_true(k >= 500 || state->report.asleep == 0);
        }
        assert_true(state->q[model->bodies[box].first] > 0.05);
        scene_free(model, state);
    }
}

// What can be asked of bodies that sleep is what it was in the last step before, with each law of contact.
static void test_told(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"", ", solver: nlcp", ", sliding: corrected",
                                       ", torsional_friction: 5 mm, rolling_friction: 1 mm"};
    for (int c = 0; c < 4; c++)
    {
        tdModel *model =
            scene_model(HEAD "gravity: [1.5, 0, -9.81]\nsensors: [{name: pad, type: touch, body: low}, {name: "
                             "imu, type: inertial, body: high}]\ncontact: {sleep: 5 mm/s%s}\nbodies:\n" STACK,
                        laws[c]);
        tdState *state = scene_state(model);
        double before[2][TD_SENSOR_VALUES] = {{0}}, now[2][TD_SENSOR_VALUES] = {{0}}, force[3], last[3] = {0};
        for (int k = 0; k < 300; k++)
        {
            scene_steps(model, state, 1);
            if (state->report.asleep == 0)
            {
                for (int i = 0; i < 2; i++)
                    td_state_sensor(model, state, i, before[i]);
                td_state_contact_force(state, 0, 1, last);
            }
        }
        assert_int_equal(state->report.asleep, 2);
        for (int i = 0; i < 2; i++)
        {
            int n = td_state_sensor(model, state, i, now[i]);
            for (int k = 0; k < n; k++)
                assert_near(now[i][k], before[i][k], 2e-3 * 3 * G);
        }
        td_state_contact_force(state, 0, 1, force);
        for (int k = 0; k < 3; k++)
            assert_near(force[k], last[k], 1e-3 * 3 * G);
        assert_near(force[0], -3 * 1.5, 1e-3 * 3 * G);
        assert_near(now[1][0], -1.5, 1e-4 * G); // it stands askew by as much as points give way
        assert_near(now[1][2], G, 1e-6 * G);
        scene_free(model, state);
    }
}

static void test_refused(void **unused)
{
    (void)unused;
    static const char *const integrators[] = {"{method: static}", "{method: newmark, beta: 0.4, gamma: 0.7}",
                                              "{method: theta, theta: 0.7, theta_vq: 0.7}",
                                              "{method: backward_euler, newton: true}"};
    for (int i = 0; i < 4; i++)
    {
        char text[1200];
        snprintf(text, sizeof text, HEAD DOWN SLEEPY "integrator: %s\nbodies:\n" STACK, integrators[i]);
        scene_refused(text, "bodies sleep in steps of backward_euler");
    }
    scene_refused(HEAD DOWN "contact: {sleep: -1 mm/s}\nbodies:\n" STACK, "contact.sleep");
    scene_refused(HEAD DOWN "contact: {sleep: 1 mm}\nbodies:\n" STACK, "contact.sleep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rest),  cmocka_unit_test(test_blow),
                                       cmocka_unit_test(test_bits),  cmocka_unit_test(test_wake),
                                       cmocka_unit_test(test_awake), cmocka_unit_test(test_moved),
                                       cmocka_unit_test(test_told),  cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
