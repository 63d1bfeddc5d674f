// SPDX-License-Identifier: Apache-2.0
// Torsional and rolling friction against closed forms: what spins comes to rest after I w / (torsion N), what rolls
// after v^2 / 2a with a = (5/7) rolling g / r of a solid ball, and on a slope from tan = rolling / r on.
#include "rigid.h"

#include "base/vector.h"
#include "contact/contact.h"

#define G      9.81
#define RADIUS 0.1
#define H      1e-3
#define HEAD   "tendril: 1\ntime_step: 1 ms\nsteps: 10\n"
#define DOWN   "gravity: [0, 0, -9.81]\n"
#define FLOOR  "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define BALL   "  - {name: ball, type: rigid, shape: {sphere: 0.1}, total_mass: 2, transform: {translate: [0, 0, 0.1]}}\n"

static const double inertia = 0.4 * 2 * RADIUS * RADIUS; // of the ball [kg m^2]

static void settle(const tdModel *model, tdState *state)
{
    scene_steps(model, state, 50);
}

static double energy_of(const tdModel *model, tdState *state, int b)
{
    robotSums sums = robot_sums(model, state, b);
    return sums.kinetic + sums.potential;
}

// A ball that spins in place, and a box on its four corners, which share the torque. Nothing else resists: the box has
// no friction where it slides.
static void test_spin(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *body;
        double inertia;
    } cases[] = {{BALL, 0.4 * 2 * RADIUS * RADIUS},
                 {"  - {name: box, type: rigid, shape: {box: [0.2, 0.1, 0.1]}, total_mass: 2, transform: {translate: "
                  "[0, 0, 0.05]}, contact: {friction: 0}}\n",
                  2 * (0.04 + 0.01) / 12}};
    for (int i = 0; i < 2; i++)
    {
        tdModel *model =
            scene_model(HEAD DOWN "contact: {torsional_friction: 4 mm}\nbodies:\n" FLOOR "%s", cases[i].body);
        tdState *state = scene_state(model);
        const tdContactSum *sums = NULL;
        double slowing = 4e-3 * 2 * G / cases[i].inertia, turned = 0, force[3], torque[3], back[3];
        state->v[5] = slowing * 0.2; // it stops after 0.2 s
        settle(model, state);
        double before = state->v[5], energy = energy_of(model, state, 1);
        scene_steps(model, state, 100);
        assert_near(state->v[5], before - slowing * 0.1, 1e-3 * before);
        turned = before * 0.1 - 0.5 * slowing * 0.1 * 0.1;
        assert_int_equal(td_state_contact_sums(state, &sums), 1);
        assert_near(sums->torque[2], -4e-3 * 2 * G, 1e-3 * 4e-3 * 2 * G);
        td_state_contact_wrench(state, 0, 1, (double[]){0.3, 0.2, 0}, force, torque);
        td_state_contact_wrench(state, 1, 0, (double[]){0.3, 0.2, 0}, force, back);
        for (int k = 0; k < 3; k++)
            assert_near(torque[k], -back[k], 1e-12);
        while (state->steps < 300)
        {
            double last = state->v[5];
            scene_steps(model, state, 1);
            turned += H * 0.5 * (last + state->v[5]);
            double now = energy_of(model, state, 1);
            assert_true(now <= energy + 1e-9);
            energy = now;
        }
        assert_near(turned, before * before / (2 * slowing), 2e-3 * before * before / slowing);
        assert_near(state->v[5], 0, 1e-3 * before); // it creeps by no more than stiction allows
        scene_free(model, state);
    }
}

// A ball that rolls to rest.
static void test_roll(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(HEAD DOWN "contact: {rolling_friction: 2 mm}\nbodies:\n" FLOOR BALL "%s", "");
    tdState *state = scene_state(model);
    double a = 5.0 / 7 * 2e-3 * G / RADIUS, speed = 0.1;
    double along[2] = {0.6, 0.8}; // across the axes of the contact
    for (int k = 0; k < 2; k++)
        state->v[k] = speed * along[k];
    state->v[3] = -speed * along[1] / RADIUS;
    state->v[4] = speed * along[0] / RADIUS;
    settle(model, state);
    double from[2] = {state->q[0], state->q[1]}, energy = energy_of(model, state, 1);
    assert_near(hypot(state->v[0], state->v[1]), speed - a * 50 * H, 0.01 * speed);
    speed = hypot(state->v[0], state->v[1]);
    for (int k = 0; k < (int)(1.2 * speed / a / H); k++)
    {
        scene_steps(model, state, 1);
        double now = energy_of(model, state, 1);
        assert_true(now <= energy + 1e-9);
        energy = now;
    }
    double way[2] = {state->q[0] - from[0], state->q[1] - from[1]}, expected = speed * speed / (2 * a);
    assert_near(way[0] * along[0] + way[1] * along[1], expected, 0.01 * expected);
    assert_near(way[0] * along[1] - way[1] * along[0], 0, 1e-3 * expected);
    assert_near(hypot(state->v[0], state->v[1]), 0, 1e-3 * speed);
    scene_free(model, state);
}

// Below the angle at which it begins to roll a ball stays; above it rolls down, and what was thrown up comes to rest
// sooner.
static void test_slope(void **unused)
{
    (void)unused;
    static const double share[] = {0.9, 1.2};
    for (int i = 0; i < 2; i++)
    {
        double slope = share[i] * 5e-3 / RADIUS, angle = atan(slope), c = cos(angle), s = sin(angle);
        tdModel *model = scene_model(
            HEAD "gravity: [%.17g, 0, %.17g]\ncontact: {rolling_friction: 5 mm}\nbodies:\n" FLOOR BALL, G * s, -G * c);
        tdState *state = scene_state(model);
        settle(model, state);
        double v = state->v[0], expected = i == 0 ? 0 : 5.0 / 7 * G * (s - c * 5e-3 / RADIUS) * 0.5;
        scene_steps(model, state, 500);
        assert_near(state->v[0] - v, expected, i == 0 ? 1e-4 : 0.01 * expected);
        td_state_free(state);
        state = scene_state(model);
        state->v[0] = -0.2;
        state->v[4] = -0.2 / RADIUS;
        settle(model, state);
        double a = 5.0 / 7 * G * (s + c * 5e-3 / RADIUS), from = state->q[0], up = state->v[0];
        while (state->v[0] < 0)
            scene_steps(model, state, 1);
        assert_near(from - state->q[0], up * up / (2 * a), 0.01 * up * up / (2 * a));
        scene_free(model, state);
    }
}

// Two balls meet in space, one of them spinning: what one loses of its spin the other gains.
static void test_third_law(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        HEAD
        "gravity: [0, 0, 0]\ncontact: {friction: 0, torsional_friction: 5 mm, rolling_friction: 1 mm}\nbodies:\n"
        "  - {name: a, type: rigid, shape: {sphere: 0.1}, total_mass: 2}\n"
        "  - {name: b, type: rigid, shape: {sphere: 0.1}, total_mass: 2, transform: {translate: [0.21, 0, 0]}}\n%s",
        "");
    tdState *state = scene_state(model);
    double *b = state->v + model->bodies[1].first, impulse = 2 * 0.5;
    b[0] = -1;
    b[3] = 20;
    b[4] = 3;
    scene_steps(model, state, 40);
    robotSums one = robot_sums(model, state, 0), two = robot_sums(model, state, 1);
    assert_near(one.angular[0] + two.angular[0], inertia * 20, 1e-10);
    assert_near(one.angular[1] + two.angular[1], inertia * 3, 1e-10);
    double met = -one.linear[0];
    assert_near(met, impulse, 0.05 * impulse);
    assert_near(state->v[3] * inertia, 5e-3 * met, 1e-5 * 5e-3 * met); // torsion times the impulse of the blow
    scene_free(model, state);
}

// A joint that a motor turns, with a foot on the floor: below the torque of friction it stands, above it turns with
// what is left. And a table that is led round takes the ball on it along.
static void test_joint(void **unused)
{
    (void)unused;
    const char *robot = ROBOT(
        BASE
        "<link name=\"foot\"><inertial><mass value=\"2\"/><inertia ixx=\"0.01\" ixy=\"0\" ixz=\"0\" iyy=\"0.01\" "
        "iyz=\"0\" izz=\"0.01\"/></inertial><collision><geometry><sphere radius=\"0.1\"/></geometry></collision>"
        "</link><link name=\"rod\"/>"
        "<joint name=\"lift\" type=\"prismatic\"><parent link=\"base\"/><child link=\"rod\"/><axis xyz=\"0 0 1\"/>"
        "<limit lower=\"-1\" upper=\"1\" effort=\"100\" velocity=\"100\"/></joint>"
        "<joint name=\"turn\" type=\"continuous\"><parent link=\"rod\"/><child link=\"foot\"/><axis xyz=\"0 0 1\"/>"
        "</joint>");
    for (int i = 0; i < 2; i++)
    {
        char rest[600];
        double torque = (i == 0 ? 0.8 : 1.5) * 4e-3 * 2 * G;
        snprintf(
            rest, sizeof rest,
            "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true, contact: {torsional_friction: 4 mm}}"
            "\nactuators: [{name: m, type: joint, body: r, joint: turn, drive: effort}]\nmotion: {keyframes: [{t: 0, "
            "m: %.17g}]}",
            torque);
        tdModel *model = robot_model(robot, "gravity: [0, 0, -9.81]\ntime_step: 1 ms\nsteps: 1\ncontact: {}",
                                     "base: fixed, transform: {translate: [0, 0, 0.1]}", rest);
        tdState *state = robot_state(model);
        robot_steps(model, state, 100);
        double before = state->v[1], expected = i == 0 ? 0 : (torque - 4e-3 * 2 * G) / 0.01 * 0.1;
        robot_steps(model, state, 100);
        assert_near(state->v[1] - before, expected, i == 0 ? 1e-5 : 0.01 * expected);
        robot_steps(model, state, 1);
        scene_free(model, state);
    }
}

static void test_table(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        HEAD DOWN
        "contact: {torsional_friction: 4 mm}\nbodies:\n"
        "  - {name: table, type: rigid, shape: {box: [1, 1, 0.1]}, guided: true, transform: {translate: [0, 0, "
        "-0.05]}}\n" BALL "motion: {keyframes: [{t: 0, table.rz: 0 rad}, {t: 10, table.rz: 5 rad}]}\n%s",
        "");
    tdState *state = scene_state(model);
    const double *ball = state->v + model->bodies[1].first;
    settle(model, state);
    double before = ball[5], gain = 4e-3 * 2 * G / inertia * 0.02;
    scene_steps(model, state, 20);
    assert_near(ball[5] - before, fmin(gain, 0.5 - before), 0.01);
    scene_steps(model, state, 200);
    assert_near(ball[5], 0.5, 1e-3);
    scene_free(model, state);
}

// What points that give way can give back [J].
static double stored_in_points(const tdState *state)
{
    const tdContactPoint *points = NULL;
    double sum = 0;
    int64_t n = td_state_contacts(state, &points);
    for (int64_t i = 0; i < n; i++)
        sum += fmax(-points[i].distance, 0) * sqrt(td_dot3(points[i].force, points[i].force));
    return sum;
}

// Boxes and balls thrown onto the floor and onto each other, with both frictions: finite, at rest in the end, and never
// more energy than points that are pressed in give back. The same bits with three threads.
static void test_heap(void **unused)
{
    (void)unused;
    char text[4000];
    int n = snprintf(text, sizeof text,
                     HEAD DOWN "contact: {torsional_friction: 3 mm, rolling_friction: 3 mm}\nbodies:\n" FLOOR);
    for (int i = 0; i < 8; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "  - {name: b%d, type: rigid, shape: {%s}, total_mass: %g, velocity: [%g, %g, 0], transform: "
                      "{translate: [%g, %g, %g], rotate: [%d deg, %d deg, 0 deg]}}\n",
                      i, i % 2 == 0 ? "sphere: 0.05" : "box: [0.1, 0.08, 0.06]", 0.5 + 0.1 * i, 0.3 * (i % 3 - 1),
                      0.2 * (i % 2), 0.02 * i, 0.03 * (i % 3), 0.1 + 0.12 * i, 20 * i, 35 * i);
    tdModel *model = scene_model("%s", text);
    tdState *states[2];
    for (int i = 0; i < 2; i++)
    {
        tdSettings settings = td_default_settings();
        tdError error = {0};
        settings.threads = i == 0 ? 1 : 3;
        assert_ok(td_state_create(model, &settings, &states[i], &error), error);
    }
    double energy = INFINITY;
    for (int k = 0; k < 3000; k++)
    {
        double now = 0;
        scene_steps(model, states[0], 1);
        if (k < 400)
            scene_steps(model, states[1], 1);
        if (k < 400)
            assert_memory_equal(states[0]->v, states[1]->v, (size_t)model->coords * sizeof(double));
        for (int b = 1; b < model->n_bodies; b++)
            now += energy_of(model, states[0], b);
        assert_true(isfinite(now) && now <= energy + stored_in_points(states[0]) + 1e-9);
        energy = now;
    }
    for (int64_t i = 0; i < model->coords; i++)
        assert_near(states[0]->v[i], 0, 0.02);
    td_state_free(states[1]);
    scene_free(model, states[0]);
}

static void test_refused(void **unused)
{
    (void)unused;
    scene_refused(HEAD DOWN "contact: {torsional_friction: 1 mm, solver: nlcp}\nbodies:\n" FLOOR BALL,
                  "take solver: sap");
    scene_refused(
        "tendril: 1\nintegrator: {method: static}\nsteps: 1\ncontact: {rolling_friction: 1 mm}\nbodies:\n" FLOOR BALL,
        "resist a motion that goes on");
    scene_refused(HEAD DOWN
                  "contact: {}\nbodies:\n" FLOOR
                  "  - {name: block, mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}, material: {law: "
                  "corotational_lagged, young: 1e5, poisson: 0.3, density: 1000}, contact: {rolling_friction: 1 mm}}\n",
                  "a soft body touches at several points");
    scene_refused(HEAD DOWN "contact: {rolling_friction: -1 mm}\nbodies:\n" FLOOR BALL, "rolling_friction");
    // Where a body's own key is zero nothing is left that could clash.
    tdModel *model = scene_model(
        HEAD DOWN
        "contact: {solver: nlcp}\nbodies:\n" FLOOR
        "  - {name: ball, type: rigid, shape: {sphere: 0.1}, total_mass: 2, contact: {torsional_friction: 0}}\n%s",
        "");
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spin),  cmocka_unit_test(test_roll),
                                       cmocka_unit_test(test_slope), cmocka_unit_test(test_third_law),
                                       cmocka_unit_test(test_joint), cmocka_unit_test(test_table),
                                       cmocka_unit_test(test_heap),  cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
