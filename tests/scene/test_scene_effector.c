// SPDX-License-Identifier: Apache-2.0
#include "scene_actuator.h"

#include "describe/path.h"

// ---------------------------------------------------------------- effectors and control

static const char effectors[] = //
    NEXT(
        "type: cavity, body: robot, group: wall, drive: pressure") "  - {name: other, type: cable, body: robot, path: "
                                                                   "[[0, 0, 1], [0, 0, 2]], drive: force}\n"
                                                                   "  - {name: push, type: force, body: robot, all: "
                                                                   "true, direction: [1, 0, 0], drive: force}\n"
                                                                   "effectors:\n"
                                                                   "  - {name: tip, body: robot, point: [0, 0, 125], "
                                                                   "axes: xz, weight: 2, target: [1, 2, 3 cm]}\n" // 15
                                                                   "  - {name: top, type: position, body: robot, "
                                                                   "group: top}\n"
                                                                   "  - {name: head, type: orientation, body: robot, "
                                                                   "box: [[0, 0, 0], [1, 1, 1]], target: [0, 0, 180 "
                                                                   "deg]}\n"
                                                                   "  - {name: aim, type: direction, body: robot, all: "
                                                                   "true, direction: [0, 0, 2], target: [3, 0, 4]}\n"
                                                                   "  - {name: v, type: volume, actuator: next, "
                                                                   "target: 3 mL}\n"
                                                                   "  - {name: l, type: length, actuator: first, "
                                                                   "target: test_effector_l.csv}\n"
                                                                   "  - {name: trace, body: robot, point: [0, 0, 0], "
                                                                   "target: test_effector_trace.csv}\n"
                                                                   "  - {name: look, type: direction, body: robot, "
                                                                   "all: true, direction: [1, 0, 0], target: "
                                                                   "test_effector_look.csv}\n"
                                                                   "control:\n" // 23
                                                                   "  energy: s4\n"
                                                                   "  epsilon: 1e-2\n"
                                                                   "  max_iterations: 50\n"
                                                                   "  tolerance: 1 um\n"
                                                                   "  groups:\n"
                                                                   "    - {actuators: [other, first], ratio: [1, "
                                                                   "-0.5]}\n" // 29
                                                                   "    - {actuators: [next], ratio: [1], share: "
                                                                   "effort}\n"
                                                                   "motion: {keyframes: [{t: 0, push: 0}]}\n";

static void check_effectors(const tdSceneEffector *e)
{
    assert_string_equal(e[0].name, "tip");
    assert_int_equal(e[0].line, 15);
    assert_int_equal(e[0].kind, TD_EFFECTOR_POSITION);
    assert_int_equal(e[0].body, 0);
    assert_true(e[0].at_point);
    assert_vector(e[0].point, 0, 0, 0.125);
    assert_int_equal(e[0].axes, TD_AXIS_X | TD_AXIS_Z);
    assert_close(e[0].weight, 2);
    assert_true(e[0].has_target);
    assert_null(e[0].path);
    assert_vector(e[0].target, 1e-3, 2e-3, 0.03);

    assert_false(e[1].at_point);
    assert_int_equal(e[1].select.kind, TD_SELECT_GROUP);
    assert_int_equal(e[1].axes, TD_AXIS_ALL);
    assert_close(e[1].weight, 1);
    assert_false(e[1].has_target);

    assert_int_equal(e[2].kind, TD_EFFECTOR_ORIENTATION);
    assert_vector(e[2].target, 0, 0, 3.14159265358979323846);
    assert_int_equal(e[3].kind, TD_EFFECTOR_DIRECTION);
    assert_vector(e[3].direction, 0, 0, 1);
    assert_vector(e[3].target, 0.6, 0, 0.8);
    assert_int_equal(e[4].kind, TD_EFFECTOR_VOLUME);
    assert_int_equal(e[4].actuator, 1);
    assert_int_equal(e[4].body, -1);
    assert_close(e[4].target[0], 3e-6);

    assert_int_equal(e[5].kind, TD_EFFECTOR_LENGTH);
    assert_int_equal(e[5].actuator, 0);
    assert_int_equal(e[5].path->n_times, 2);
    assert_close(e[5].path->values[0], 0.1);
    assert_close(e[5].path->values[1], 0.09);
    assert_int_equal(e[6].path->n_names, 3);
    assert_string_equal(e[6].path->names[2], "z");
    assert_close(e[6].path->times[1], 2);
    assert_vector(e[6].path->values, 1e-3, 2e-2, 3e-3);
    assert_vector(e[6].path->values + 3, 4e-3, 5e-2, 6);
    assert_vector(e[7].path->values, 0, 0, 1);
    assert_vector(e[7].path->values + 3, 0.6, 0.8, 0);
}

static void test_effectors_and_control(void **state)
{
    (void)state;
    write_file("test_effector_l.csv", "# pulled in\nt,value\n0,100\n1,9 cm\n");
    write_file("test_effector_trace.csv", "t,x,y [cm],z\n0,1,2,3\n2,4,5,6 m\n");
    write_file("test_effector_look.csv", "t,x,y,z\n0,0,0,9\n2,3,4,0\n");
    tdScene scene;
    tdError error = {0};
    char text[4096];
    // A group of one is refused; the same scene without it is right.
    assert_int_equal(parse(effectors, &scene, &error), TD_ERROR_INPUT);
    td_scene_free(&scene);
    assert_int_equal(error.line, 30);
    snprintf(text, sizeof text, "%s", effectors);
    memset(strstr(text, "    - {actuators: [next]"), '#', 1);
    assert_ok(parse(text, &scene, &error), error);
    assert_int_equal(scene.n_effectors, 8);
    check_effectors(scene.effectors);
    const tdSceneControl *c = &scene.control;
    assert_int_equal(c->line, 23);
    assert_int_equal(c->energy, TD_ENERGY_S4);
    assert_close(c->epsilon, 1e-2);
    assert_int_equal(c->solver, TD_INVERSE_QP);
    assert_int_equal(c->max_iterations, 50);
    assert_close(c->tolerance, 1e-6);
    assert_int_equal(c->n_groups, 1);
    assert_int_equal(c->groups[0].line, 29);
    assert_int_equal(c->groups[0].n, 2);
    assert_false(c->groups[0].effort);
    assert_int_equal(c->groups[0].actuators[0], 2);
    assert_int_equal(c->groups[0].actuators[1], 0);
    assert_close(c->groups[0].ratio[0], 1);
    assert_close(c->groups[0].ratio[1], -0.5);
    td_scene_free(&scene);
    remove(TD_BUILD_DIR "/test_effector_l.csv");
    remove(TD_BUILD_DIR "/test_effector_trace.csv");
    remove(TD_BUILD_DIR "/test_effector_look.csv");

    assert_ok(parse(HEAD "control: {solver: gauss_seidel}\n", &scene, &error), error);
    assert_int_equal(scene.control.solver, TD_INVERSE_GAUSS_SEIDEL);
    assert_int_equal(scene.control.max_iterations, 0);
    assert_near(scene.control.tolerance, 0, 0);
    td_scene_free(&scene);
    // Cable and force are both driven by newtons, so they may share an effort.
    assert_ok(parse(NEXT("type: force, body: robot, all: true, direction: [1, 0, 0], drive: force") //
                    "control: {groups: [{actuators: [first, next], share: effort}]}\n",
                    &scene, &error),
              error);
    assert_int_equal(scene.control.line, 12);
    assert_true(scene.control.groups[0].effort);
    assert_close(scene.control.groups[0].ratio[1], 1);
    td_scene_free(&scene);
    // Without any of this all is at its defaults.
    char bare[1024];
    snprintf(bare, sizeof bare, "%.*s", (int)(strstr(HEAD, "actuators:") - HEAD), HEAD);
    assert_ok(parse(bare, &scene, &error), error);
    assert_int_equal(scene.n_actuators + scene.n_effectors + scene.control.line, 0);
    assert_int_equal(scene.control.energy, TD_ENERGY_NULL_SPACE);
    assert_close(scene.control.epsilon, 1e-3);
    td_scene_free(&scene);
}

// ---------------------------------------------------------------- bad scenes

#define TIP(keys) HEAD "effectors:\n  - {name: tip, " keys "}\n"

static void test_bad_effectors(void **state)
{
    (void)state;
    const Bad cases[] = {
        {HEAD "effectors: [{body: robot, all: true}]\n", 11, "the key 'name' is missing"},
        {HEAD "effectors: [{name: a, body: robot, all: true}, {name: a, body: robot, all: true}]\n", 11,
         "the effector on line 11 has the same name 'a'"},
        {HEAD "effectors: [{name: t, body: robot, all: true}]\n", 11, "'t' is the time"},
        {HEAD "effectors: [{name: a.x, body: robot, all: true}]\n", 11, "taken for a component of 'a'"},
        {TIP("type: postion, body: robot, all: true"), 12, "did you mean 'position'?"},
        {TIP("all: true"), 12, "a position needs 'body'"},
        {TIP("body: robott, all: true"), 12, "did you mean 'robot'?"},
        {TIP("body: robot"), 12, "a position needs nodes; add 'point', or one of"},
        {TIP("body: robot, all: true, point: [0, 0, 0]"), 12, "exclude each other"},
        {TIP("body: robot, all: true, weight: 0"), 12, "must be > 0"},
        {TIP("body: robot, all: true, axes: xx"), 12, "letters of x, y and z"},
        {TIP("body: robot, all: true, direction: [0, 0, 1]"), 12,
         "a position takes no 'direction'; it is for type dir"},
        {TIP("body: robot, all: true, actuator: first"), 12, "it is for types volume and length"},
        {TIP("body: robot, all: true, target: [0, 0]"), 12, "expected a list of three numbers"},
        {TIP("body: robot, all: true, target: [0, 0, 1 deg]"), 12, "(angle), expected a length"},
        {TIP("body: robot, all: true, target: 5"), 12, "expected [x, y, z], or the path of a .csv file"},
        {TIP("body: robot, all: true, target: missing.csv"), 12, "/missing.csv' cannot be opened"},
        {TIP("body: robot, all: true, target: {x: 1}"), 12, "found a map, expected [x, y, z]"},
        {TIP("body: sheet, all: true, target: [0, 0, 1]"), 12, "does not leave z = 0"},
        {TIP("type: orientation, body: robot, point: [0, 0, 0]"), 12, "an orientation takes no 'point'"},
        {TIP("type: orientation, body: robot"), 12, "an orientation needs nodes; add one of"},
        {TIP("type: orientation, body: robot, all: true, axes: x"), 12, "takes no 'axes'; it is for type position"},
        {TIP("type: orientation, body: robot, all: true, target: [0, 0, 90]"), 12, "an angle needs one"},
        {TIP("type: direction, body: robot, all: true"), 12, "a direction needs 'direction'"},
        {TIP("type: direction, body: robot, all: true, direction: [0, 0, 0]"), 12, "the direction is zero"},
        {TIP("type: direction, body: robot, all: true, direction: [0, 0, 1], target: [0, 0, 0]"), 12,
         "the direction is zero"},
        {TIP("type: volume"), 12, "a volume needs 'actuator', the name of a cavity"},
        {TIP("type: volume, actuator: first"), 12, "'first' is an actuator of type cable; a volume is that of a cav"},
        {TIP("type: length, actuator: frist"), 12, "there is no actuator 'frist'; did you mean 'first'?"},
        {TIP("type: length, actuator: first, body: robot"), 12, "a length takes no 'body'"},
        {TIP("type: length, actuator: first, point: [0, 0, 0]"), 12, "takes no 'point'; it is for type position"},
        {TIP("type: length, actuator: first, all: true"), 12, "takes no 'all'"},
        {TIP("type: length, actuator: first, target: [1, 2, 3]"), 12, "found a list of 3, expected a length"},
        {TIP("type: length, actuator: first, target: -1"), 12, "a length must be > 0"},
        // nothing free to reach it
        {TIP("body: robot, all: true, target: [0, 0, 1]") "motion: {keyframes: [{t: 0, first: 1}]}\n", 12,
         "the motion drives every actuator"},
    };
    EXPECT_BAD(cases);
    char bare[1024];
    snprintf(bare, sizeof bare, "%.*s%s", (int)(strstr(HEAD, "actuators:") - HEAD), HEAD,
             "effectors: [{name: tip, body: robot, all: true, target: [0, 0, 1]}]\n");
    const Bad none[] = {{bare, 9, "there is no actuator that could reach it; add 'actuators'"}};
    EXPECT_BAD(none);
}

#define CONTROL(keys)                                                                                                  \
    NEXT("type: cable, body: robot, path: [[0, 0, 1], [0, 0, 2]], drive: force")                                       \
    "  - {name: hole, type: cavity, body: robot, group: a, drive: volume}\n"                                           \
    "control: {" keys "}\n"

static void test_bad_control(void **state)
{
    (void)state;
    const Bad cases[] = {
        {CONTROL("energy: least"), 13, "expected one of: null_space, s4"},
        {CONTROL("epsilon: 0.1"), 13, "is used by energy s4 only"},
        {CONTROL("energy: s4, epsilon: 0"), 13, "must be > 0 and < 1"},
        {CONTROL("solver: gauss_seidel, groups: [{actuators: [first, next]}]"), 13, "cannot move a group"},
        {CONTROL("solver: gauss_seidel") "motion: {keyframes: [{t: 0, first: 0}]}\n", 13,
         "cannot keep 'first' (line 10)"},
        {CONTROL("groups: [{actuators: [first, next]}]") "motion: {keyframes: [{t: 0, next: 0}]}\n", 13,
         "drives 'next' but not 'first'"},
        {CONTROL("solver: gauss_seidel, energy: s4"), 13, "solver gauss_seidel does not minimize energy"},
        {CONTROL("solver: gauss_seidel, energy: null_space"), 13, "solver gauss_seidel does not minimize energy"},
        {CONTROL("solver: simplex"), 13, "expected one of: qp, gauss_seidel"},
        {CONTROL("max_iterations: 0"), 13, "expected a whole number from 1"},
        {CONTROL("tolerance: 0"), 13, "must be > 0"},
        {CONTROL("tolerance: 1 s"), 13, "(time), expected a length"},
        {CONTROL("groups: {actuators: [first, next]}"), 13, "found a map, expected a list"},
        {CONTROL("groups: [{ratio: [1, 1]}]"), 13, "the key 'actuators' is missing"},
        {CONTROL("groups: [{actuators: [first]}]"), 13, "expected a list of at least two names"},
        {CONTROL("groups: [{actuators: first}]"), 13, "expected a list of at least two names"},
        {CONTROL("groups: [{actuators: [first, nxt]}]"), 13, "there is no actuator 'nxt'; did you mean 'next'?"},
        {CONTROL("groups: [{actuators: [first, [a]]}]"), 13, "expected the name of an actuator"},
        {CONTROL("groups: [{actuators: [first, first]}]"), 13, "'first' is listed twice"},
        {CONTROL("groups: [{actuators: [first, next]}, {actuators: [hole, next]}]"), 13,
         "'next' is already in the group on line 13"},
        {CONTROL("groups: [{actuators: [first, hole]}]"), 13, "'hole' is of type cavity but 'first' of type cable"},
        {CONTROL("groups: [{actuators: [first, hole], share: effort}]"), 13,
         "is a pressure but that of 'first' a force"},
        {CONTROL("groups: [{actuators: [first, next], share: force}]"), 13, "expected one of: displacement, effort"},
        {CONTROL("groups: [{actuators: [first, next], ratio: [1]}]"), 13, "1 numbers for 2 actuators"},
        {CONTROL("groups: [{actuators: [first, next], ratio: [1, 0]}]"), 13, "a ratio of 0 would hold the actuator"},
        {CONTROL("groups: [{actuators: [first, next], ratio: [1, 2 mm]}]"), 13, "expected a plain number"},
        {CONTROL("groups: [{actuators: [first, next], ratio: 2}]"), 13, "expected a list of numbers"},
    };
    EXPECT_BAD(cases);
    char bare[1024];
    snprintf(bare, sizeof bare, "%.*s%s", (int)(strstr(HEAD, "actuators:") - HEAD), HEAD, "control: {solver: qp}\n");
    const Bad none[] = {{bare, 9, "there is nothing to control"}};
    EXPECT_BAD(none);
}

// ---------------------------------------------------------------- files of targets

static void test_bad_target_files(void **state)
{
    (void)state;
    const struct
    {
        const char *keys, *csv;
        int line; ///< 0: no line of the file; negative: line of the scene
        const char *field, *says;
    } cases[] = {
        {"body: robot, all: true", "t,x,y\n0,1,2\n", 0, "", "the file has 2 columns behind t"},
        {"body: robot, all: true", "t,x,z,y\n0,1,2,3\n", 1, "z", "column 3 is named 'z'; the header of this target is"},
        {"body: robot, all: true", "t,x,y,z,w\n0,1,2,3,4\n", 1, "w", "the header of this target is 't,x,y,z'"},
        {"body: robot, all: true", "t,x,y,z\n0,1,,3\n", 2, "y", "the cell is empty"},
        {"body: robot, all: true", "t,x,y,z\n0,1,2,nan\n", 2, "z", "found 'nan', expected a length"},
        {"body: robot, all: true", "t,x,y,z\n0,1,2,inf\n", 2, "z", "found 'inf', expected a length"},
        {"body: robot, all: true", "t,x,y,z\n1,1,2,3\n0,1,2,3\n", 3, "t", "does not come after 1 s"},
        {"body: robot, all: true", "t,x [deg],y,z\n0,1,2,3\n", 1, "x", "(angle), expected a unit of length"},
        {"body: robot, all: true", "t,x,y,z\n", 1, "", "there is no line of values"},
        {"type: length, actuator: first", "t,x\n0,1\n", 1, "x", "the header of this target is 't,value'"},
        {"type: length, actuator: first", "t,value\n0,1\n1,0\n", -12, "effectors[0].target",
         "must be > 0, found 0 at t = 1 s"},
        {"type: orientation, body: robot, all: true", "t,x,y,z\n0,0,0,1\n", 2, "z", "an angle needs one"},
        {"type: direction, body: robot, all: true, direction: [0, 0, 1]", "t,x,y,z\n0,0,0,1\n1,0,0,0\n", -12,
         "effectors[0].target", "the direction at t = 1 s of the file is zero"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        char text[2048];
        tdScene scene;
        tdError error = {0};
        snprintf(text, sizeof text, "%seffectors:\n  - {name: tip, target: test_target.csv, %s}\n", HEAD,
                 cases[i].keys);
        write_file("test_target.csv", cases[i].csv);
        assert_int_equal(parse(text, &scene, &error), TD_ERROR_INPUT);
        td_scene_free(&scene);
        if (error.line != abs(cases[i].line) || strstr(error.message, cases[i].says) == NULL ||
            strcmp(error.field, cases[i].field) != 0)
            fail_msg("%s\nsays line %d, %s: \"%s\"", cases[i].csv, error.line, error.field, error.message);
        assert_non_null(strstr(error.file, cases[i].line < 0 ? "scene.yaml" : "test_target.csv"));
    }
    remove(TD_BUILD_DIR "/test_target.csv");
}

static bool any_length(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY])
{
    int *calls = context;
    ++*calls;
    *dim = TD_DIM_LENGTH;
    snprintf(why, TD_UNIT_WHY, "there is no '%s'", name);
    return strncmp(name, "tip.", 4) == 0;
}

static void test_strict_path(void **state)
{
    (void)state;
    tdArena arena = {0};
    tdSceneMotion path = {0};
    tdError error = {0};
    const tdUnits si = {1, 1, 1};
    int calls = 0;
    const char text[] = "\xEF\xBB\xBFt [ms], tip.x [mm] ,tip.y\r\n\r\n# from rest\r\n0,1,2\r\n500, 3 , 4 cm";
    assert_ok(td_path_parse_csv(text, sizeof text - 1, "p.csv", &si, any_length, &calls, &arena, &path, &error), error);
    assert_int_equal(calls, 2);
    assert_int_equal(path.n_names, 2);
    assert_int_equal(path.n_times, 2);
    assert_string_equal(path.names[0], "tip.x");
    assert_close(path.times[1], 0.5);
    assert_close(path.values[0], 1e-3);
    assert_close(path.values[1], 2);
    assert_close(path.values[2], 3e-3);
    assert_close(path.values[3], 0.04);
    td_arena_free(&arena);
    const char other[] = "t,top.x\n0,1\n", large[] = "t,tip.x [km]\n0,1e307\n", odd[] = "t,tip.x\n0,\x01\xFF\n";
    assert_int_equal(
        td_path_parse_csv(other, sizeof other - 1, "p.csv", &si, any_length, &calls, &arena, &path, &error),
        TD_ERROR_INPUT);
    assert_string_equal(error.message, "there is no 'top.x'");
    assert_int_equal(error.line, 1);
    assert_int_equal(
        td_path_parse_csv(large, sizeof large - 1, "p.csv", &si, any_length, &calls, &arena, &path, &error),
        TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "1e+18. Is it a slip of the unit"));
    // Bytes that cannot be printed do not reach the message.
    assert_int_equal(td_path_parse_csv(odd, sizeof odd - 1, "p.csv", &si, any_length, &calls, &arena, &path, &error),
                     TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "found ' ?'"));
    // A file that is none.
    assert_int_equal(td_path_load_csv("/dev/zero", &si, any_length, &calls, &arena, &path, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is not a plain file"));
    assert_string_equal(error.file, "/dev/zero");
    assert_int_equal(td_path_load_csv("/none.csv", &si, any_length, &calls, &arena, &path, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "cannot be opened"));
    td_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_effectors_and_control), cmocka_unit_test(test_bad_effectors),
        cmocka_unit_test(test_bad_control),           cmocka_unit_test(test_bad_target_files),
        cmocka_unit_test(test_strict_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
