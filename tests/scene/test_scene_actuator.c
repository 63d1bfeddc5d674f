// SPDX-License-Identifier: Apache-2.0
#include "scene_actuator.h"

// ---------------------------------------------------------------- actuators

static const char actuators[] = //
    HEAD
    "  - {name: north, type: cable, body: robot, path: [[0, 97, 45], [1 cm, 2, 3]], pull_point: [0, 10, 30], "
    "pull_body: base, drive: displacement, range: [-1, 40], effort_range: [1 N, 5 N], stiffness: 2 kN, friction: 0.1, "
    "slip: 0.1, displacement_rate: 20, effort_rate: 3 N/s}\n"
    "  - {name: pull, type: cable, body: robot, path: [[0, 0, 1]], pull_point: [0, 0, 9], drive: force, "
    "range: [0, 7 N]}\n"
    "  - {name: left, type: cavity, body: robot, surface: left.stl, drive: pressure, range: [0, 50], "
    "displacement_range: [none, 2 mL], effort_rate: 1 kPa/s, displacement_rate: 1 mL/s}\n"
    "  - {name: right, type: cavity, body: base, surface: right.stl, drive: volume, range: [-1 mL, 1 mL]}\n"
    "  - {name: air, type: cavity, body: robot, group: wall, drive: gas, range: [0, 5 mL], effort_range: [0, 1 bar], "
    "displacement_range: [0, 3 mL], ambient: 1 bar}\n"
    "  - {name: push, type: force, body: robot, sphere: {center: [1, 2, 3], radius: 4}, on: surface, "
    "direction: [0, 0, -2], drive: force, range: [-1 N, 2 N]}\n"
    "  - {name: poke, type: force, body: robot, point: [1, 2, 3], direction: [3, 0, 4], drive: displacement}\n"
    "  - {name: slide, type: translation, body: robot, group: foot, direction: [1, 0, 0], drive: displacement, "
    "range: [0, 5]}\n"
    "  - {name: twist, type: rotation, body: robot, all: true, axis: [0, 0, 5], center: [1, 2, 3], drive: angle, "
    "range: [-90 deg, 0.5 rad], effort_range: [-1 N*m, 2 J], effort_rate: 3 W, displacement_rate: 180 deg/s}\n"
    "  - {name: wring, type: rotation, body: sheet, nodes: [0, 2], axis: [0, 0, -1], center: [0, 0, 0], drive: torque, "
    "range: [0, 1 N*mm]}\n"
    "motion: {keyframes: [{t: 0, north: 0, left: 1, twist: 0}, {t: 1, north: 2 cm, left: 30 kPa, air: 2 mL, pull: 3, "
    "twist: 90 deg, wring: 1}]}\n";

static void check_cables(const tdSceneActuator *a)
{
    assert_string_equal(a[0].name, "first");
    assert_int_equal(a[0].line, 10);
    assert_int_equal(a[0].kind, TD_ACTUATOR_CABLE);
    assert_int_equal(a[0].n_path, 2);
    assert_false(a[0].has_pull);
    assert_int_equal(a[0].pull_body, -1);
    assert_near(a[0].stiffness + a[0].friction + a[0].slip, 0, 0);
    assert_pair(a[0].effort, 0, INFINITY);
    assert_pair(a[0].displacement, -INFINITY, INFINITY);
    assert_true(isinf(a[0].effort_rate) && isinf(a[0].displacement_rate));

    assert_string_equal(a[1].name, "north");
    assert_int_equal(a[1].line, 11);
    assert_int_equal(a[1].drive, TD_DRIVE_DISPLACEMENT);
    assert_int_equal(a[1].body, 0);
    assert_int_equal(a[1].n_path, 2);
    assert_vector(a[1].path, 0, 0.097, 0.045);
    assert_vector(a[1].path + 3, 0.01, 0.002, 0.003);
    assert_true(a[1].has_pull);
    assert_vector(a[1].pull, 0, 0.01, 0.03);
    assert_int_equal(a[1].pull_body, 1);
    assert_close(a[1].stiffness, 2000);
    assert_close(a[1].friction, 0.1);
    assert_close(a[1].slip, 1e-4);
    assert_pair(a[1].displacement, -1e-3, 0.04);
    assert_pair(a[1].effort, 1, 5);
    assert_close(a[1].displacement_rate, 0.02);
    assert_close(a[1].effort_rate, 3);

    assert_int_equal(a[2].drive, TD_DRIVE_EFFORT);
    assert_int_equal(a[2].pull_body, -1);
    assert_pair(a[2].effort, 0, 7);
    assert_pair(a[2].displacement, -INFINITY, INFINITY);
}

static void check_cavities(const tdScene *scene)
{
    const tdSceneActuator *a = scene->actuators;
    assert_int_equal(a[3].kind, TD_ACTUATOR_CAVITY);
    assert_int_equal(a[3].drive, TD_DRIVE_EFFORT);
    assert_string_equal(a[3].surface, TD_BUILD_DIR "/left.stl");
    assert_null(a[3].group);
    // The surface is in the coordinates of the body's mesh, which the transform scales by 2.
    assert_close(td_scene_file_scale(scene, &scene->bodies[a[3].body]), 2e-3);
    assert_pair(a[3].effort, 0, 50e3); // kg/(mm s^2) is kPa
    assert_pair(a[3].displacement, -INFINITY, 2e-6);
    assert_close(a[3].effort_rate, 1e3);
    assert_close(a[3].displacement_rate, 1e-6);
    assert_close(a[3].ambient, 101325);

    assert_int_equal(a[4].drive, TD_DRIVE_DISPLACEMENT);
    assert_close(td_scene_file_scale(scene, &scene->bodies[a[4].body]), 1e-3);
    assert_pair(a[4].displacement, -1e-6, 1e-6);
    assert_pair(a[4].effort, -INFINITY, INFINITY);

    assert_int_equal(a[5].drive, TD_DRIVE_GAS);
    assert_null(a[5].surface);
    assert_string_equal(a[5].group, "wall");
    assert_pair(a[5].gas, 0, 5e-6);
    assert_pair(a[5].effort, 0, 1e5);
    assert_pair(a[5].displacement, 0, 3e-6);
    assert_close(a[5].ambient, 1e5);
}

static void check_nodes(const tdSceneActuator *a)
{
    assert_int_equal(a[6].kind, TD_ACTUATOR_FORCE);
    assert_true(a[6].on_surface);
    assert_false(a[6].at_point);
    assert_int_equal(a[6].select.kind, TD_SELECT_SPHERE);
    assert_close(a[6].select.radius, 4e-3);
    assert_vector(a[6].direction, 0, 0, -1);
    assert_pair(a[6].effort, -1, 2);

    assert_true(a[7].at_point);
    assert_false(a[7].on_surface);
    assert_vector(a[7].point, 1e-3, 2e-3, 3e-3);
    assert_vector(a[7].direction, 0.6, 0, 0.8);
    assert_int_equal(a[7].drive, TD_DRIVE_DISPLACEMENT);
    assert_pair(a[7].effort, -INFINITY, INFINITY);

    assert_int_equal(a[8].kind, TD_ACTUATOR_TRANSLATION);
    assert_string_equal(a[8].select.group, "foot");
    assert_null(a[8].group);
    assert_pair(a[8].displacement, 0, 5e-3);

    const double degree = 3.14159265358979323846 / 180;
    assert_int_equal(a[9].kind, TD_ACTUATOR_ROTATION);
    assert_int_equal(a[9].drive, TD_DRIVE_DISPLACEMENT);
    assert_vector(a[9].direction, 0, 0, 1);
    assert_vector(a[9].center, 1e-3, 2e-3, 3e-3);
    assert_pair(a[9].displacement, -90 * degree, 0.5);
    assert_pair(a[9].effort, -1, 2);
    assert_close(a[9].effort_rate, 3);
    assert_close(a[9].displacement_rate, 180 * degree);

    assert_int_equal(a[10].body, 2);
    assert_int_equal(a[10].drive, TD_DRIVE_EFFORT);
    assert_int_equal(a[10].select.n_nodes, 2);
    assert_pair(a[10].effort, 0, 1e-3);
}

static void test_actuators(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    assert_ok(parse(actuators, &scene, &error), error);
    assert_int_equal(scene.n_actuators, 11);
    check_cables(scene.actuators);
    check_cavities(&scene);
    check_nodes(scene.actuators);
    // Values are in the unit of what drives: north, left, twist, then air, pull, wring of the second keyframe.
    const tdSceneMotion *m = &scene.motion;
    assert_int_equal(m->n_names, 6);
    const double *row = m->values + 6;
    assert_close(m->values[1], 1e3);
    assert_true(isnan(m->values[3]));
    assert_close(row[0], 0.02);
    assert_close(row[1], 30e3);
    assert_close(row[2], 1.57079632679489662);
    assert_close(row[3], 2e-6);
    assert_close(row[4], 3e-3); // 3 kg mm/s^2
    assert_close(row[5], 1e-6); // 1 kg mm^2/s^2
    td_scene_free(&scene);
}

static void test_motion_of_actuators_from_csv(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    const char *text =
        NEXT("type: rotation, body: robot, all: true, axis: [0, 0, 1], center: [0, 0, 0], drive: angle") //
        "loads: [{name: load, type: point, body: robot, all: true, force: [0, 0, 1 N]}]\n"
        "motion: {csv: test_actuator_motion.csv}\n";
    write_file("test_actuator_motion.csv",
               "t [ms], first [cm], next [deg], load\n0,1,90,1\n500,,1 rad,50 %\n1 s,2 mm,,\n");
    assert_ok(parse(text, &scene, &error), error);
    const double *v = scene.motion.values;
    assert_close(scene.motion.times[1], 0.5);
    assert_close(scene.motion.times[2], 1);
    assert_close(v[0], 0.01);
    assert_close(v[1], 1.57079632679489662);
    assert_close(v[2], 1);
    assert_true(isnan(v[3]));
    assert_close(v[4], 1);
    assert_close(v[5], 0.5);
    assert_close(v[6], 2e-3);
    td_scene_free(&scene);
    write_file("test_actuator_motion.csv", "t,first\n0,3\n");
    assert_ok(parse(text, &scene, &error), error);
    assert_close(scene.motion.values[0], 3e-3); // bare: in the scene's units
    td_scene_free(&scene);

    const struct
    {
        const char *csv;
        int line;
        const char *field, *says;
    } bad[] = {
        {"t,first [kg]\n0,1\n", 1, "first", "found 'kg' (mass), expected a unit of length"},
        {"t,load [mm]\n0,1\n", 1, "load", "expected a unit of number"},
        {"t,next\n0,0\n1,5\n", 3, "next", "an angle needs one"},
        {"t,first\n0,1 N\n", 2, "first", "(force), expected a length"},
        {"t,frist\n0,1\n", 1, "frist", "did you mean 'first'?"},
        {"t [mm],first\n0,1\n", 1, "t", "expected a unit of time"},
        {"t,first [mm\n0,1\n", 1, "first [mm", "closed by ']'"},
        {"t,[mm]\n0,1\n", 1, "", "has a unit but no name"},
        {"t,first []\n0,1\n", 1, "first", "a unit is missing"},
        {"t,first [mm],first [m]\n0,1,1\n", 1, "first", "have the same name"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        write_file("test_actuator_motion.csv", bad[i].csv);
        assert_int_equal(parse(text, &scene, &error), TD_ERROR_INPUT);
        td_scene_free(&scene);
        if (error.line != bad[i].line || strstr(error.message, bad[i].says) == NULL ||
            strcmp(error.field, bad[i].field) != 0)
            fail_msg("%s\nsays line %d, %s: \"%s\"", bad[i].csv, error.line, error.field, error.message);
    }
    remove(TD_BUILD_DIR "/test_actuator_motion.csv");
}

// ---------------------------------------------------------------- bad scenes

#define CABLE(keys)    NEXT("type: cable, body: robot, " keys)
#define PATH2          "path: [[0, 0, 1], [0, 0, 2]], "
#define CAVITY(keys)   NEXT("type: cavity, body: robot, " keys)
#define PUSH(keys)     NEXT("type: force, body: robot, " keys)
#define ROTATION(keys) NEXT("type: rotation, body: robot, " keys)

// Each key that some types take is refused by all others, which name those that do.
static void test_keys_of_other_types(void **state)
{
    (void)state;
    static const char *const types[] = {"cable", "cavity", "force", "translation", "rotation", "joint"};
    static const char *const drives[] = {"force", "pressure", "force", "force", "torque", "effort"};
    static const struct
    {
        const char *key, *value, *of;
    } keys[] = {
        {"path", "[[0, 0, 1], [0, 0, 2]]", "cable"},
        {"pull_point", "[0, 0, 1]", "cable"},
        {"pull_body", "robot", "cable"},
        {"stiffness", "1", "cable joint"},
        {"damping", "1", "joint"},
        {"gravity_compensation", "true", "joint"},
        {"joint", "j", "joint"},
        {"friction", "0.1", "cable"},
        {"slip", "1 mm", "cable"},
        {"surface", "a.stl", "cavity"},
        {"ambient", "1 bar", "cavity"},
        {"on", "surface", "force"},
        {"point", "[0, 0, 1]", "force"},
        {"link", "l", "force"},
        {"direction", "[0, 0, 1]", "force translation"},
        {"axis", "[0, 0, 1]", "rotation"},
        {"center", "[0, 0, 1]", "rotation"},
        {"group", "a", "cavity force translation rotation"},
        {"all", "true", "force translation rotation"},
        {"box", "[[0, 0, 0], [1, 1, 1]]", "force translation rotation"},
        {"sphere", "{center: [0, 0, 0], radius: 1}", "force translation rotation"},
        {"plane", "{point: [0, 0, 0], normal: [0, 0, 1], distance: 1}", "force translation rotation"},
        {"nodes", "[0]", "force translation rotation"},
    };
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        {
            char text[2000], wanted[100];
            snprintf(text, sizeof text, NEXT("type: %s, body: robot, drive: %s, %s: %s"), types[t], drives[t],
                     keys[k].key, keys[k].value);
            snprintf(wanted, sizeof wanted, "takes no '%s'; it is for type", keys[k].key);
            tdScene scene;
            tdError error = {0};
            tdStatus status = parse(text, &scene, &error);
            bool refused = status != TD_OK && strstr(error.message, wanted) != NULL;
            if (refused == (strstr(keys[k].of, types[t]) != NULL))
                fail_msg("'%s' of type %s: %s", keys[k].key, types[t], error.message);
            td_scene_free(&scene);
        }
}

static void test_bad_actuators(void **state)
{
    (void)state;
    const Bad cases[] = {
        {NEXT("type: cabel, body: robot, drive: force"), 11, "did you mean 'cable'?"},
        {NEXT("body: robot, drive: force"), 11, "the key 'type' is missing"},
        {CABLE(PATH2 "range: [0, 1]"), 11, "the key 'drive' is missing"},
        {NEXT("type: cable, drive: force, path: [[0, 0, 1]]"), 11, "the key 'body' is missing"},
        {HEAD "  - {type: cable, body: robot, drive: force}\n", 11, "the key 'name' is missing"},
        {NEXT("type: cable, body: robto, drive: force, path: [[0, 0, 1]]"), 11, "did you mean 'robot'?"},
        {HEAD "  - {name: first, type: cable, body: robot, " PATH2 "drive: force}\n", 11,
         "already taken by the load, prescribed motion or actuator on line 10"},
        {HEAD "  - {name: t, type: cable, body: robot, " PATH2 "drive: force}\n", 11, "'t' is the time"},
        {HEAD "loads: [{name: first, type: point, body: robot, all: true, force: [0, 0, 1]}]\n", 10,
         "already taken by the load, prescribed motion or actuator on line 11"},
        {CABLE(PATH2 "drive: force, frition: 1"), 11, "did you mean 'friction'?"},
        // what a type does not take
        {CABLE(PATH2 "drive: force, surface: a.stl"), 11, "a cable takes no 'surface'; it is for type cavity"},
        {CABLE(PATH2 "drive: force, ambient: 1 bar"), 11, "it is for type cavity"},
        {CABLE(PATH2 "drive: force, all: true"), 11, "a cable takes no 'all'; it is for types force, translation and"},
        {CABLE(PATH2 "drive: force, group: a"), 11, "for types cavity, force, translation and rotation"},
        {CAVITY("group: a, drive: pressure, friction: 0.1"), 11, "a cavity takes no 'friction'; it is for type cable"},
        {CAVITY("all: true, drive: pressure"), 11, "a cavity takes no 'all'"},
        {CAVITY("group: a, drive: pressure, direction: [0, 0, 1]"), 11, "it is for types force and translation"},
        {PUSH("all: true, direction: [0, 0, 1], drive: force, path: [[0, 0, 1]]"), 11, "it is for type cable"},
        {PUSH("all: true, direction: [0, 0, 1], drive: force, center: [0, 0, 1]"), 11, "it is for type rotation"},
        {ROTATION("all: true, axis: [0, 0, 1], center: [0, 0, 0], drive: angle, direction: [0, 0, 1]"), 11,
         "a rotation takes no 'direction'"},
        {ROTATION("point: [0, 0, 1], axis: [0, 0, 1], center: [0, 0, 0], drive: angle"), 11,
         "a rotation takes no 'point'; it is for type force"},
        {NEXT("type: translation, body: robot, all: true, direction: [0, 0, 1], on: surface, drive: force"), 11,
         "a translation takes no 'on'"},
        // drive
        {CABLE(PATH2 "drive: pressure"), 11, "a cable is not driven by pressure; it is by displacement or force"},
        {CAVITY("group: a, drive: displacement"), 11, "it is by pressure, volume or gas"},
        {PUSH("all: true, direction: [0, 0, 1], drive: gas"), 11, "a force is not driven by gas"},
        {ROTATION("all: true, axis: [0, 0, 1], center: [0, 0, 0], drive: force"), 11, "it is by angle or torque"},
        {CABLE(PATH2 "drive: forse"), 11, "did you mean 'force'?"},
        // cable
        {CABLE("drive: force"), 11, "a cable needs 'path'"},
        {CABLE("drive: force, path: []"), 11, "found a list of 0, expected a list of points"},
        {CABLE("drive: force, path: 3"), 11, "found '3', expected a list of points"},
        {CABLE("drive: force, path: [0, 0, 1]"), 11, "expected a list of three numbers"},
        {CABLE("drive: force, path: [[0, 0, 1 N], [0, 0, 2]]"), 11, "(force), expected a length"},
        {CABLE("drive: force, path: [[0, 0, nan], [0, 0, 2]]"), 11, "found 'nan', expected a length"},
        {CABLE("drive: force, path: [[0, 0, 1]]"), 11, "a cable has two ends: add a 'pull_point'"},
        {CABLE("drive: force, path: [[0, 0, 1], [0, 0, 1 mm]]"), 11, "the same as the one before it"},
        {CABLE("drive: force, path: [[0, 0, 1]], pull_point: [0, 0, 1]"), 11, "is the last point of the path"},
        {CABLE(PATH2 "drive: force, pull_body: base"), 11, "there is no 'pull_point'"},
        {CABLE(PATH2 "drive: force, pull_point: [0, 0, 9], pull_body: robot"), 11, "on the cable's own body"},
        {CABLE(PATH2 "drive: force, pull_point: [0, 0, 9], pull_body: bass"), 11, "did you mean 'base'?"},
        {CABLE(PATH2 "drive: force, friction: 0.1"), 11, "friction acts where a cable bends"},
        {CABLE(PATH2 "drive: force, friction: -1"), 11, "must be >= 0"},
        {CABLE(PATH2 "drive: force, slip: 1"), 11, "a cable without friction slides freely"},
        {CABLE(PATH2 "drive: force, stiffness: 2 N/m"), 11, "(stiffness), expected a force"},
        {CABLE(PATH2 "drive: force, stiffness: 0"), 11, "must be > 0"},
        {NEXT("type: cable, body: sheet, drive: force, path: [[0, 0, 0], [0, 0, 1]]"), 11, "a plane body is at z = 0"},
        // cavity
        {CAVITY("drive: pressure"), 11, "a cavity needs 'surface', a mesh file, or 'group'"},
        {CAVITY("drive: pressure, surface: a.stl, group: b"), 11, "exclude each other"},
        {CAVITY("drive: pressure, group: b, ambient: 1 bar"), 11, "only a cavity driven by gas"},
        {CAVITY("drive: gas, group: b, ambient: 0"), 11, "must be > 0"},
        {NEXT("type: cavity, body: sheet, drive: pressure, group: b"), 11, "a plane body encloses no volume"},
        // force, translation, rotation
        {PUSH("direction: [0, 0, 1], drive: force"), 11, "a force needs nodes to act on; add 'point', or one of: all"},
        {PUSH("all: true, drive: force"), 11, "a force needs 'direction', e.g."},
        {PUSH("all: true, direction: [0, 0, 0], drive: force"), 11, "the direction is zero"},
        {PUSH("all: true, point: [0, 0, 0], direction: [0, 0, 1], drive: force"), 11, "exclude each other"},
        {PUSH("all: true, group: a, direction: [0, 0, 1], drive: force"), 11, "exclude each other"},
        {PUSH("all: false, direction: [0, 0, 1], drive: force"), 11, "'all: false' chooses nothing"},
        {PUSH("point: [0, 0, 0], on: surface, direction: [0, 0, 1], drive: force"), 11, "a point has no area"},
        {ROTATION("axis: [0, 0, 1], center: [0, 0, 0], drive: angle"), 11, "needs nodes to act on; add one of: all"},
        {ROTATION("all: true, center: [0, 0, 0], drive: angle"), 11, "a rotation needs 'axis'"},
        {ROTATION("all: true, axis: [0, 0, 1], drive: angle"), 11, "a rotation needs 'center'"},
        {ROTATION("all: true, axis: [0, 0, 0], center: [0, 0, 0], drive: angle"), 11, "the axis is zero"},
        {NEXT("type: rotation, body: sheet, all: true, axis: [1, 0, 0], center: [0, 0, 0], drive: angle"), 11,
         "rotates about z only"},
        {NEXT("type: translation, body: sheet, all: true, direction: [1, 0, 1], drive: force"), 11,
         "does not move along z"},
    };
    EXPECT_BAD(cases);
}

static void test_bad_limits(void **state)
{
    (void)state;
    const Bad cases[] = {
        {CABLE(PATH2 "drive: displacement, range: [3, 2]"), 11, "the minimum '3' is more than the maximum '2'"},
        {CABLE(PATH2 "drive: displacement, range: [1 cm, 2]"), 11, "the minimum '1 cm' is more than the maximum '2'"},
        {CABLE(PATH2 "drive: displacement, range: [nan, 2]"), 11, "found 'nan', expected a length"},
        {CABLE(PATH2 "drive: displacement, range: [0, .inf]"), 11, "found '.inf', expected a length"},
        {CABLE(PATH2 "drive: displacement, range: 3"), 11, "expected two numbers [minimum, maximum]"},
        {CABLE(PATH2 "drive: displacement, range: [1, 2, 3]"), 11, "expected two numbers [minimum, maximum]"},
        {CABLE(PATH2 "drive: displacement, range: [0, [1]]"), 11, "found a list of 1, expected a length"},
        {CABLE(PATH2 "drive: displacement, range: [0, 3 N]"), 11, "(force), expected a length"},
        {CABLE(PATH2 "drive: force, range: [0, 3 mm]"), 11, "(length), expected a force"},
        {CABLE(PATH2 "drive: force, range: [-1, 3]"), 11, "a cable only pulls"},
        {CABLE(PATH2 "drive: force, range: [none, 3]"), 11, "a cable only pulls"},
        {CABLE(PATH2 "drive: displacement, effort_range: [-2 N, 3 N]"), 11,
         "a cable only pulls: the minimum force is -2"},
        {CABLE(PATH2 "drive: displacement, range: [0, 3], displacement_range: [0, 1]"), 11,
         "'range' (line 11) is already that of the displacement"},
        {CABLE(PATH2 "drive: force, range: [0, 3], effort_range: [0, 1]"), 11, "is already that of the effort"},
        {CABLE(PATH2 "drive: force, effort_rate: 1 N"), 11, "(force), expected a force rate"},
        {CABLE(PATH2 "drive: force, effort_rate: 0"), 11, "must be > 0"},
        {CABLE(PATH2 "drive: force, displacement_rate: -1"), 11, "must be > 0"},
        {CABLE(PATH2 "drive: force, displacement_rate: [1]"), 11, "expected a velocity"},
        {CAVITY("group: a, drive: pressure, range: [0, 3 mL]"), 11, "(volume), expected a pressure"},
        {CAVITY("group: a, drive: volume, range: [0, 3 kPa]"), 11, "(pressure), expected a volume"},
        {CAVITY("group: a, drive: gas, range: [0, 3 kPa]"), 11, "(pressure), expected a volume"},
        {CAVITY("group: a, drive: pressure, displacement_rate: 3 mL"), 11, "(volume), expected a flow rate"},
        {ROTATION("all: true, axis: [0, 0, 1], center: [0, 0, 0], drive: angle, range: [0, 90]"), 11,
         "an angle needs one: '90 deg' or '90 rad'"},
        {ROTATION("all: true, axis: [0, 0, 1], center: [0, 0, 0], drive: torque, range: [0, 90 deg]"), 11,
         "expected an energy or torque"},
        // motions of actuators
        {HEAD "motion: {keyframes: [{t: 0, first: 3 N}]}\n", 11, "(force), expected a length"},
        {HEAD "motion: {keyframes: [{t: 0, firts: 3}]}\n", 11, "did you mean 'first'?"},
    };
    EXPECT_BAD(cases);
}

// A cable of more points than any robot has is refused before memory is taken for it.
static void test_most_points_of_a_cable(void **state)
{
    (void)state;
    tdText text = {0};
    td_text_format(&text, "%s  - {name: next, type: cable, body: robot, drive: force, path: [", HEAD);
    for (int i = 0; i <= 1000; i++)
        td_text_format(&text, "%s[0, 0, %d]", i > 0 ? ", " : "", i);
    td_text_format(&text, "]}\n");
    assert_false(text.failed);
    const Bad cases[] = {{text.data, 11, "1001 points; at most 1000 are allowed"}};
    EXPECT_BAD(cases);
    free(text.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actuators),           cmocka_unit_test(test_motion_of_actuators_from_csv),
        cmocka_unit_test(test_keys_of_other_types), cmocka_unit_test(test_bad_actuators),
        cmocka_unit_test(test_bad_limits),          cmocka_unit_test(test_most_points_of_a_cable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
