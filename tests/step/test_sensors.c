// SPDX-License-Identifier: Apache-2.0
// Sensors against closed forms: what joints, attachments, patches and links feel of weights and of steady turning.
#include "rigid.h"

#include "base/vector.h"
#include "output/sensors.h"
#include "step/sensor.h"

#define G    9.81
#define HEAD "gravity: [0, 0, -9.81]\ntime_step: 1 ms\nsteps: 1\n"

static const double *sensed(const tdModel *model, const tdState *state, const char *name)
{
    static double values[TD_SENSOR_VALUES];
    int i = td_model_find_sensor(model, name);
    assert_true(i >= 0);
    td_state_sensor(model, state, i, values);
    return values;
}

// An arm of two links: base, shoulder (about y), a bar of 2 kg with its center at 0.5 m, a fixed flange at 1 m that
// carries 3 kg with their center 0.1 m beyond.
#define ARM                                                                                                            \
    ROBOT(BASE LINK("bar", "2", "0.5 0 0", "0.01", "0.2", "0.2") LINK("load", "3", "0.1 0 0", "0.01", "0.02", "0.02")  \
              JOINT("shoulder", "revolute", "base", "bar", "0 0 0", "0 1 0",                                           \
                    "<limit lower=\"-9\" upper=\"9\" effort=\"1000\" velocity=\"100\"/>")                              \
                  JOINT("flange", "fixed", "bar", "load", "1 0 0", "1 0 0", ""))
#define ARM_SENSORS                                                                                                    \
    "sensors:\n  - {name: flange, type: force_torque, body: r, joint: flange}\n"                                       \
    "  - {name: shoulder, type: force_torque, body: r, joint: shoulder}\n"                                             \
    "  - {name: state, type: joint, body: r, joint: shoulder}\n"                                                       \
    "  - {name: imu, type: inertial, body: r, link: bar, point: [0.8, 0, 0]}\n"

// Held level by a servo: weights and their moments; level and at 30 degrees.
static void test_weights(void **unused)
{
    (void)unused;
    for (int tilted = 0; tilted < 2; tilted++)
    {
        double angle = tilted ? M_PI / 6 : 0, c = cos(angle), s = sin(angle);
        tdModel *model =
            robot_model(ARM, HEAD, tilted ? "joints: [{name: shoulder, position: 30 deg}]" : "",
                        "actuators: [{name: m, type: joint, body: r, joint: shoulder, drive: position}]\n" ARM_SENSORS);
        tdState *state = robot_state(model);
        assert_true(isnan(sensed(model, state, "imu")[0]));
        robot_steps(model, state, 20);
        // A positive angle about y leads down: the link's x axis is (c, 0, -s), its z axis (s, 0, c).
        const double *w = sensed(model, state, "flange");
        assert_near(w[0], -3 * G * s, 1e-6);
        assert_near(w[1], 0, 1e-9);
        assert_near(w[2], 3 * G * c, 1e-6);
        assert_near(w[3], 0, 1e-9);
        assert_near(w[4], -3 * G * c * 0.1, 1e-6);
        w = sensed(model, state, "shoulder");
        assert_near(w[2], 5 * G * c, 1e-6);
        assert_near(w[4], -(2 * 0.5 + 3 * 1.1) * G * c, 1e-5);
        w = sensed(model, state, "state");
        assert_near(w[0], angle, 1e-9);
        assert_near(w[1], 0, 1e-9);
        assert_near(w[2], -(2 * 0.5 + 3 * 1.1) * G * c, 1e-5);
        assert_near(w[2], td_state_actuation(model, state, 0).effort, 1e-5);
        w = sensed(model, state, "imu");
        assert_near(w[0], -G * s, 1e-6);
        assert_near(w[2], G * c, 1e-6);
        assert_near(w[4], 0, 1e-9);
        scene_free(model, state);
    }
}

// Turning steadily about y without gravity: centripetal forces along the bar, nothing else. The error is that of the
// integrator, whose velocities are those of chords: (w h)^2 of them.
static void test_turning(void **unused)
{
    (void)unused;
    double rate = 10;
    tdModel *model = robot_model(ARM, "gravity: [0, 0, 0]\ntime_step: 1 ms\nsteps: 1\n", "", ARM_SENSORS);
    tdState *state = robot_state(model);
    state->v[0] = rate;
    for (int k = 0; k < 300; k++)
    {
        robot_steps(model, state, 1);
        const double *w = sensed(model, state, "flange");
        double scale = 3 * 1.1 * rate * rate;
        assert_near(w[0], -scale, 1e-4 * scale);
        assert_near(w[2], 0, 1e-4 * scale);
        assert_near(w[4], 0, 1e-4 * scale);
        w = sensed(model, state, "shoulder");
        scale = (2 * 0.5 + 3 * 1.1) * rate * rate;
        assert_near(w[0], -scale, 1e-4 * scale);
        assert_near(w[4], 0, 1e-4 * scale);
        w = sensed(model, state, "imu");
        assert_near(w[0], -0.8 * rate * rate, 1e-4 * 80);
        assert_near(w[2], 0, 1e-4 * 80);
        assert_near(w[4], rate, 1e-9);
        assert_near(sensed(model, state, "state")[1], rate, 1e-9);
    }
    scene_free(model, state);
}

// A given torque starts the arm from rest: the joint transmits it, all of it, and the flange what turns its load.
static void test_torque(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(ARM, "gravity: [0, 0, 0]\ntime_step: 1 ms\nsteps: 1\n", "",
                                 "actuators: [{name: m, type: joint, body: r, joint: shoulder, drive: effort}]\n"
                                 "motion: {keyframes: [{t: 0, m: 4}]}\n" ARM_SENSORS);
    tdState *state = robot_state(model);
    robot_steps(model, state, 1);
    double inertia = 0.2 + 2 * 0.25 + 0.02 + 3 * 1.21, turn = 4 / inertia;
    assert_near(sensed(model, state, "state")[2], 4, 1e-6);
    const double *w = sensed(model, state, "flange");
    assert_near(w[2], -3 * 1.1 * turn, 1e-4);
    assert_near(w[4], (0.02 + 3 * 0.01 + 3 * 0.1 * 1) * turn, 1e-4);
    scene_free(model, state);
}

// Forces from outside on what hangs on a joint do not count as the joint's: a cable-like force, a spring, an attachment
// and a contact at the end of the arm.
static void test_outside(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(
        ARM, HEAD, "",
        "actuators:\n  - {name: m, type: joint, body: r, joint: shoulder, drive: position}\n"
        "  - {name: lift, type: force, body: r, link: load, point: [1.2, 0, 0], direction: [0, 0, 1], drive: force}\n"
        "motion: {keyframes: [{t: 0, lift: 10}]}\n"
        "attachments: [{name: hook, a: r, link_a: load, points: [[1.1, 0, 0]], space: true, stiffness: 1 "
        "N/m}]\n" ARM_SENSORS "  - {name: hook, type: force_torque, attachment: hook}\n");
    tdState *state = robot_state(model);
    const int32_t node = 4 * 2; // the origin of the load's frame, at [1, 0, 0]
    tdSpring spring = {
        .body = 0, .nodes = {node, node, node}, .weights = {1, 0, 0}, .anchor = {1, 0, 0.5}, .stiffness = 8};
    assert_int_equal(td_state_set_spring(model, state, 0, &spring), TD_OK);
    robot_steps(model, state, 20);
    const double *w = sensed(model, state, "flange");
    assert_near(w[2], 3 * G - 10 - 4, 1e-3);
    assert_near(w[4], -(3 * G * 0.1 - 10 * 0.2), 1e-3);
    w = sensed(model, state, "hook");
    assert_near(w[2], 0, 1e-6); // level: its spring is not stretched
    scene_free(model, state);
}

static void check_columns(const tdModel *model, const char *name, const char *kind, int n,
                          const char *const (*wanted)[2])
{
    tdSensorInfo info = td_model_sensor(model, td_model_find_sensor(model, name));
    assert_string_equal(info.name, name);
    assert_string_equal(info.kind, kind);
    assert_int_equal(info.values, n);
    for (int k = 0; k < n; k++)
    {
        assert_string_equal(info.columns[k], wanted[k][0]);
        assert_string_equal(info.units[k], wanted[k][1]);
    }
}

// What each kind calls its values, and their units, as tables and pages show them.
static void test_kinds(void **unused)
{
    (void)unused;
    static const char *const wrench[][2] = {{"force_x", "N"},    {"force_y", "N"},    {"force_z", "N"},
                                            {"torque_x", "N m"}, {"torque_y", "N m"}, {"torque_z", "N m"}};
    static const char *const touch[][2] = {{"force", "N"},   {"force_x", "N"}, {"force_y", "N"},
                                           {"force_z", "N"}, {"points", ""},   {"pressure", "Pa"}};
    static const char *const inertial[][2] = {{"acceleration_x", "m/s^2"}, {"acceleration_y", "m/s^2"},
                                              {"acceleration_z", "m/s^2"}, {"rate_x", "rad/s"},
                                              {"rate_y", "rad/s"},         {"rate_z", "rad/s"}};
    static const char *const turning[][2] = {{"position", "rad"}, {"rate", "rad/s"}, {"effort", "N m"}};
    static const char *const sliding[][2] = {{"position", "m"}, {"rate", "m/s"}, {"effort", "N"}};
    tdModel *model =
        robot_model(ROBOT(BASE LINK("bar", "2", "0.5 0 0", "0.01", "0.2", "0.2")
                              LINK("load", "3", "0.1 0 0", "0.01", "0.02", "0.02")
                                  JOINT("shoulder", "revolute", "base", "bar", "0 0 0", "0 1 0",
                                        "<limit lower=\"-9\" upper=\"9\" effort=\"1000\" velocity=\"100\"/>")
                                      JOINT("slide", "prismatic", "bar", "load", "1 0 0", "1 0 0",
                                            "<limit lower=\"-1\" upper=\"1\" effort=\"1000\" velocity=\"100\"/>")),
                    HEAD "contact: {friction: 0.5}\n", "",
                    "sensors:\n  - {name: wrist, type: force_torque, body: r, joint: slide}\n"
                    "  - {name: skin, type: touch, body: r, link: load, area: 0.02 m^2}\n"
                    "  - {name: imu, type: inertial, body: r, link: bar, point: [0.8, 0, 0]}\n"
                    "  - {name: turns, type: joint, body: r, joint: shoulder}\n"
                    "  - {name: slides, type: joint, body: r, joint: slide}\n");
    check_columns(model, "wrist", "force_torque", 6, wrench);
    check_columns(model, "skin", "touch", 6, touch);
    check_columns(model, "imu", "inertial", 6, inertial);
    check_columns(model, "turns", "joint", 3, turning);
    check_columns(model, "slides", "joint", 3, sliding);
    td_model_free(model);
}

// A block of 2 kg that lies half on a patch: the whole weight on the block, half of it on the patch of the table.
#define TABLE                                                                                                          \
    "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 2 ms\nsteps: 1\ncontact: {friction: 0.5}\nbodies:\n"               \
    "  - {name: table, type: rigid, shape: {box: [1, 1, 0.1]}, transform: {translate: [0, 0, -0.05]}, fixed: true}\n"  \
    "  - {name: block, type: rigid, shape: {box: [0.2, 0.1, 0.1]}, total_mass: 2, transform: {translate: [0, 0, "      \
    "0.0501]}}\n"
static void test_touch(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse(TABLE "sensors:\n  - {name: all, type: touch, body: block, area: 0.02 m^2}\n"
                                       "  - {name: half, type: touch, body: table, box: [[0, -1, -1], [1, 1, 1]]}\n"
                                       "  - {name: none, type: touch, body: table, box: [[0.2, -1, -1], [1, 1, 1]]}\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 500);
    const double *w = sensed(model, state, "all");
    assert_near(w[0], 2 * G, 1e-3);
    assert_near(w[3], 2 * G, 1e-3);
    assert_near(w[4], 4, 0);
    assert_near(w[5], 2 * G / 0.02, 0.1);
    w = sensed(model, state, "half");
    assert_near(w[0], G, 1e-3);
    assert_near(w[3], -G, 1e-3);
    assert_near(w[4], 2, 0);
    assert_near(sensed(model, state, "none")[0], 0, 0);
    assert_int_equal(td_model_sensor(model, 0).values, 6);
    assert_int_equal(td_model_sensor(model, 1).values, 5); // without an area there is no pressure
    scene_free(model, state);
}

// The same of a soft block, whose patch is part of its boundary.
static void test_soft_touch(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse(
        "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 5 ms\nsteps: 1\ncontact: {friction: 0.5}\nbodies:\n"
        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
        "  - {name: pad, mesh: {box: [[0, 0, 0], [0.2, 0.1, 0.1]], cells: [4, 2, 2]}, damping: {stiffness: 20 ms}, "
        "material: {law: corotational_lagged, young: 0.5 MPa, poisson: 0.3, density: 1000}}\n"
        "sensors:\n  - {name: pad, type: touch, body: pad, area: 0.02 m^2}\n"
        "  - {name: left, type: touch, body: pad, box: [[-1, -1, -1], [0.099, 1, 1]]}\n"
        "  - {name: right, type: touch, body: pad, box: [[0.101, -1, -1], [1, 1, 1]]}\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 300);
    double weight = 2 * G;
    assert_near(sensed(model, state, "pad")[0], weight, 1e-2 * weight);
    double left = sensed(model, state, "left")[0], right = sensed(model, state, "right")[0];
    assert_near(left, right, 1e-2 * weight);
    assert_true(left > 0.2 * weight && left + right < weight);
    scene_free(model, state);
}

// Sensors change nothing, and a state that goes on from a checkpoint has the same values after its next step.
static void test_changes_nothing(void **unused)
{
    (void)unused;
    tdModel *with = robot_model(ARM, HEAD, "", ARM_SENSORS), *without = robot_model(ARM, HEAD, "", "");
    tdState *a = robot_state(with), *b = robot_state(without), *c = robot_state(with);
    robot_steps(with, a, 50);
    robot_steps(without, b, 50);
    assert_memory_equal(a->q, b->q, sizeof(double));
    assert_memory_equal(a->v, b->v, sizeof(double));
    tdError error = {0};
    char path[] = "/tmp/tendril_sensor_XXXXXX";
    close(mkstemp(path));
    assert_ok(td_state_save(with, a, path, &error), error);
    assert_ok(td_state_load(with, c, path, &error), error);
    unlink(path);
    assert_true(isnan(sensed(with, c, "state")[0]));
    robot_steps(with, a, 1);
    robot_steps(with, c, 1);
    for (int i = 0; i < with->n_sensors; i++)
        assert_memory_equal(a->sensors[i].values, c->sensors[i].values, (size_t)with->sensors[i].n * sizeof(double));
    td_state_free(c);
    scene_free(with, a);
    scene_free(without, b);
}

static void test_refusals(void **unused)
{
    (void)unused;
    static const char *const bad[][2] = {
        {"{name: s, type: force_torque, body: r}", "'joint' is missing"},
        {"{name: s, type: force_torque, body: r, joint: flangs}", "did you mean 'flange'"},
        {"{name: s, type: force_torque, attachment: hook}", "no attachment 'hook'"},
        {"{name: s, type: force_torque, body: r, joint: flange, link: bar}", "has no 'link'"},
        {"{name: s, type: joint, body: r, joint: flange}", "joints with one coordinate"},
        {"{name: s, type: inertial, body: r}", "has 3 links; say which one"},
        {"{name: s, type: inertial}", "'body' is missing"},
        {"{name: s, type: touch, body: r, link: bar}", "no contact that could be felt"},
        {"{name: s, type: smell, body: r}", "smell"},
        {"{name: s, type: inertial, body: r, link: bar}\n  - {name: s, type: inertial, body: r, link: bar}",
         "same name"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        char rest[256];
        snprintf(rest, sizeof rest, "sensors:\n  - %s\n", bad[i][0]);
        robot_refused(ARM, HEAD, "", rest, bad[i][1]);
    }
}

// Titles and values go together.
static void test_columns(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(ARM, HEAD, "", ARM_SENSORS);
    tdText titles = {0};
    td_sensor_titles(model, &titles);
    assert_non_null(strstr(titles.data, ",flange.force_x [N],"));
    assert_non_null(
        strstr(titles.data, ",state.position [rad],state.rate [rad/s],state.effort [N m],imu.acceleration_x"));
    assert_int_equal(td_sensor_values(model), 6 + 6 + 3 + 6);
    free(titles.data);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights),    cmocka_unit_test(test_turning),         cmocka_unit_test(test_torque),
        cmocka_unit_test(test_outside),    cmocka_unit_test(test_kinds),           cmocka_unit_test(test_touch),
        cmocka_unit_test(test_soft_touch), cmocka_unit_test(test_changes_nothing), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
