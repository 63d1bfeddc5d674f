// SPDX-License-Identifier: Apache-2.0
// The closed loop: a robot that is softer than its model and is measured late, limits, kinds of effectors, files.
#include "scenes.h"

#include "arm.h"
#include "control/control.h"
#include "core/rotation.h"

#define LAG 5

// The robot: as the model, but its modulus is 20 % less, and it hangs under its weight.
#define WEIGHT "gravity: [0, 0, -9.81]\n"
static const char model_text[] = ARM_BODY("250 kPa") ARM_CABLES("[0, 1]") ARM_TIP ARM_STATIC WEIGHT;
static const char robot_text[] = ARM_BODY("200 kPa") ARM_CABLES("[0, 1]") ARM_TIP ARM_STATIC WEIGHT;

typedef struct Loop
{
    tdModel *model, *robot;
    tdState *state, *real;
    tdControl *control;
    double seen[LAG + 1][3]; // newest first
    int steps;
} Loop;

static tdControl *make_control(const tdModel *model, tdControlSettings settings)
{
    tdControl *control = NULL;
    tdError error = {0};
    tdStatus status = td_control_create(model, &settings, &control, &error);
    assert_ok(status, error);
    return control;
}

static Loop open_loop(const char *delay_known)
{
    Loop loop = {.model = scene_parse(model_text), .robot = scene_parse(robot_text)};
    loop.state = scene_state(loop.model);
    loop.real = scene_state(loop.robot);
    tdControlSettings settings = td_default_control(loop.model);
    settings.delay = delay_known != NULL ? LAG * td_model_time_step(loop.model) : 0;
    loop.control = make_control(loop.model, settings);
    return loop;
}

static void close_loop(Loop *loop)
{
    td_control_free(loop->control);
    scene_free(loop->model, loop->state);
    scene_free(loop->robot, loop->real);
}

static double distance(const double *a, const double *b)
{
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

// One turn: measure what was LAG steps ago, step the model, hand its forces to the robot. Returns the robot's error.
static double turn(Loop *loop, const double goal[3])
{
    if (loop->steps > LAG)
        assert_int_equal(td_control_measure(loop->control, 0, loop->seen[LAG]), TD_OK);
    assert_int_equal(td_control_set_goal(loop->control, 0, goal), TD_OK);
    tdStatus status = td_control_step(loop->control, loop->model, loop->state);
    assert_ok(status, td_state_report(loop->state)->error);
    for (int a = 0; a < td_model_actuators(loop->model); a++)
        td_state_set_input(loop->robot, loop->real, td_model_actuator(loop->robot, a).input,
                           td_state_actuation(loop->model, loop->state, a).effort);
    status = td_step(loop->robot, loop->real);
    assert_ok(status, td_state_report(loop->real)->error);
    memmove(loop->seen[1], loop->seen[0], sizeof loop->seen - sizeof loop->seen[0]);
    td_state_effector(loop->robot, loop->real, 0, loop->seen[0]);
    loop->steps++;
    return distance(loop->seen[0], goal);
}

static const double near_goal[3] = {0.098, 0.006, -0.004}, other_goal[3] = {0.098, -0.004, -0.003};
static const double far_goal[3] = {0.06, 0.09, 0.02};

// Steps until the error has been below 0.1 mm for good: for 2 LAG steps, in which the newest error has been seen.
static int settle(Loop *loop, const double goal[3])
{
    int good = 0;
    for (int k = 1; k <= 400; k++)
    {
        good = turn(loop, goal) < 1e-4 ? good + 1 : 0;
        if (good == 2 * LAG)
            return k - 2 * LAG + 1;
    }
    double c[3];
    td_control_correction(loop->control, 0, c);
    fail_msg("the robot is still %g m off at %g %g %g; correction %g %g %g; %d bounds", distance(loop->seen[0], goal),
             loop->seen[0][0], loop->seen[0][1], loop->seen[0][2], c[0], c[1], c[2],
             td_state_report(loop->state)->active_bounds);
    return 0;
}

static void test_wrong_modulus_and_lag(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++)
    {
        Loop loop = open_loop(known ? "known" : NULL);
        double first = turn(&loop, near_goal);
        assert_true(first > 5e-4); // without correction the robot misses by far more than 0.1 mm
        int steps = settle(&loop, near_goal);
        print_message("error %.3g mm at first; below 0.1 mm after %d steps\n", 1e3 * first, steps);
        // It stays there, and gets nearer: the integral leaves nothing.
        for (int k = 0; k < 150; k++)
            assert_true(turn(&loop, near_goal) < 1e-4);
        assert_true(turn(&loop, near_goal) < 1e-6);
        // The model is not where the goal is: what it lacks is in the correction.
        double value[3], correction[3];
        td_state_effector(loop.model, loop.state, 0, value);
        td_control_correction(loop.control, 0, correction);
        for (int c = 0; c < 3; c++)
            assert_near(value[c], near_goal[c] + correction[c], 1e-7);
        close_loop(&loop);
    }
}

// Half of the error in a step, with a measurement that is five steps late: far beyond 1 / (2 lag), but a delay that is
// known does not limit the gain.
static void test_known_delay(void **state)
{
    (void)state;
    Loop loop = open_loop("known");
    tdControlSettings settings = {.gain = 0.5 / td_model_time_step(loop.model),
                                  .delay = LAG * td_model_time_step(loop.model)};
    td_control_free(loop.control);
    loop.control = make_control(loop.model, settings);
    int fast = settle(&loop, near_goal);
    print_message("below 0.1 mm after %d steps\n", fast);
    // Each LAG steps see what the model gets wrong of the last ones' correction, a quarter (modulus 20 % off): 2 mm,
    // 0.5 mm, 0.12 mm, 0.03 mm.
    assert_true(fast <= 4 * LAG + 2);
    td_control_free(loop.control);
    settings.delay = 0;
    loop.control = make_control(loop.model, settings);
    double largest = 0;
    for (int k = 0; k < 200; k++)
    {
        double error = turn(&loop, other_goal);
        largest = k < 150 ? 0 : fmax(largest, error);
    }
    assert_true(largest > 1e-3); // it swings
    close_loop(&loop);
}

static void no_windup(const char *delay_known)
{
    // The way from one goal in reach to another ...
    Loop inside = open_loop(delay_known);
    settle(&inside, near_goal);
    for (int k = 0; k < 200; k++)
        turn(&inside, near_goal);
    int without = settle(&inside, other_goal);
    close_loop(&inside);
    // ... and the same after 200 steps with one that is out of reach.
    Loop outside = open_loop(delay_known);
    settle(&outside, near_goal);
    double correction[3], largest = 0;
    for (int k = 0; k < 200; k++)
    {
        double error = turn(&outside, far_goal);
        assert_true(error > 0.02);
        assert_true(td_state_report(outside.state)->out_of_reach);
        td_control_correction(outside.control, 0, correction);
        largest = fmax(largest, distance(correction, (double[3]){0}));
    }
    int with = settle(&outside, other_goal);
    print_message("settles in %d steps, %d after 200 steps out of reach; correction up to %.3g mm\n", without, with,
                  1e3 * largest);
    // Only the error of the model, which is larger out there, has to be unlearned.
    assert_true(with <= without + 10);
    // An integral of the error, 200 * 0.05 * 20 mm and more, would end at the limit, 10 mm.
    assert_true(largest < 5e-3);
    close_loop(&outside);
}

static void test_no_windup(void **state)
{
    (void)state;
    no_windup(NULL);
    no_windup("known");
}

static void test_limit(void **state)
{
    (void)state;
    tdModel *model = scene_parse(model_text);
    tdState *mine = scene_state(model);
    tdControlSettings settings = td_default_control(model);
    settings.limit = 1e-3;
    tdControl *control = make_control(model, settings);
    td_control_set_goal(control, 0, near_goal);
    td_control_measure(control, 0, (double[3]){0.05, 0.05, 0.05});
    double correction[3];
    for (int k = 0; k < 20; k++)
    {
        assert_int_equal(td_control_step(control, model, mine), TD_OK);
        td_control_correction(control, 0, correction);
        assert_true(distance(correction, (double[3]){0}) <= 1e-3 * (1 + 1e-12));
    }
    assert_near(distance(correction, (double[3]){0}), 1e-3, 1e-12);
    // Without a measurement it is kept.
    td_control_measure(control, 0, NULL);
    double before[3];
    memcpy(before, correction, sizeof before);
    assert_int_equal(td_control_step(control, model, mine), TD_OK);
    td_control_correction(control, 0, correction);
    assert_near(distance(before, correction), 0, 0);
    td_control_free(control);
    scene_free(model, mine);
}

// ---------------------------------------------------------------- orientations and directions

// Follows a goal with an arm whose measurements are turned by a constant rotation. The cables bend the arm and do not
// twist it, so that of an orientation only the turns about y and z can be reached.
static void turned(const char *kind, const double *goal)
{
    bool direction = strcmp(kind, "direction") == 0;
    tdModel *model =
        scene_model("%s%seffectors: [{name: tip, body: arm, type: %s, group: xmax%s}]\n%s", ARM_BODY("250 kPa"),
                    ARM_CABLES("[0, 1]"), kind, direction ? ", direction: [1, 0, 0]" : "", ARM_STATIC);
    tdState *mine = scene_state(model);
    tdControl *control = make_control(model, td_default_control(model));
    const double offset[3] = {0, -0.04, 0.03};
    double q[4], p[4], r[4], value[3], seen[3] = {0}, correction[3], error[3] = {0};
    td_rotation_from_vector(offset, q);
    assert_int_equal(td_control_set_goal(control, 0, goal), TD_OK);
    for (int k = 0; k < 300; k++)
    {
        tdStatus status = td_control_step(control, model, mine);
        assert_ok(status, td_state_report(mine)->error);
        td_state_effector(model, mine, 0, value);
        if (direction)
            td_rotation_apply(q, value, seen);
        else
        {
            td_rotation_from_vector((double[3]){-value[0], -value[1], -value[2]}, r);
            td_rotation_difference(q, r, p);
            td_rotation_vector(p, NULL, seen);
        }
        assert_int_equal(td_control_measure(control, 0, seen), TD_OK);
    }
    td_control_correction(control, 0, correction);
    assert_true(distance(correction, (double[3]){0}) > 0.03);
    td_measure_error(direction ? TD_MEASURE_DIRECTION : TD_MEASURE_ORIENTATION, seen, goal, error);
    print_message("%s: error %g %g %g\n", kind, error[0], error[1], error[2]);
    // What can be reached is where it should be, up to what the twist couples.
    assert_near(hypot(error[1], error[2]), 0, direction ? 1e-6 : 1e-3);
    td_control_free(control);
    scene_free(model, mine);
}

static void test_orientation(void **state)
{
    (void)state;
    turned("orientation", (double[3]){0, 0.06, 0.1});
}

static void test_direction(void **state)
{
    (void)state;
    const double size = sqrt(1 + 0.15 * 0.15 + 0.1 * 0.1);
    turned("direction", (double[3]){1 / size, 0.15 / size, -0.1 / size});
}

// ---------------------------------------------------------------- use

static void test_settings(void **state)
{
    (void)state;
    tdModel *model = scene_parse(model_text);
    const tdControlSettings bad[] = {{.gain = -1},
                                     {.gain = 101},
                                     {.gain = NAN},
                                     {.gain = 1, .limit = -1},
                                     {.gain = 1, .limit = INFINITY},
                                     {.gain = 1, .delay = -1},
                                     {.gain = 1, .delay = 1e9},
                                     {.gain = 1, .delay = NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        tdControl *control = NULL;
        tdError error = {0};
        assert_int_equal(td_control_create(model, &bad[i], &control, &error), TD_ERROR_USAGE);
        assert_null(control);
        assert_true(strlen(error.message) > 10);
    }
    tdControl *control = make_control(model, td_default_control(model));
    double goal[3];
    assert_false(td_control_goal(control, 0, 0, goal));
    assert_int_equal(td_control_set_goal(control, 0, (double[3]){0, NAN, 0}), TD_ERROR_INPUT);
    assert_int_equal(td_control_measure(control, 0, (double[3]){0, 0, INFINITY}), TD_ERROR_INPUT);
    assert_false(td_control_goal(control, 0, 0, goal));
    td_control_free(control);
    td_model_free(model);
}

static void refused(const char *text, const char *field)
{
    tdModel *model = scene_parse(text);
    tdControl *control = NULL;
    tdError error = {0};
    assert_int_equal(td_control_create(model, NULL, &control, &error), TD_ERROR_INPUT);
    assert_string_equal(error.field, field);
    td_model_free(model);
}

static void test_nothing_to_control(void **state)
{
    (void)state;
    refused(ARM_BODY("250 kPa") ARM_CABLES("[0, 1]"), "effectors");
    refused(ARM_BODY("250 kPa") ARM_TIP, "actuators");
    refused(ARM_BODY("250 kPa") ARM_CABLES("[0, 1]") ARM_TIP
            "motion: {keyframes: [{t: 0, north: 0, south: 0, up: 0, down: 0}]}\n",
            "motion");
}

// ---------------------------------------------------------------- files

static char *write_csv(const char *text)
{
    static char path[SCENE_PATH];
    tdError error = {0};
    snprintf(path, sizeof path, TD_BUILD_DIR "/control_%d.csv", (int)getpid());
    tdStatus status = td_file_write(path, text, strlen(text), &error);
    assert_ok(status, error);
    return path;
}

static void test_goals_from_file(void **state)
{
    (void)state;
    tdModel *model = scene_parse(model_text);
    tdControl *control = make_control(model, td_default_control(model));
    tdError error = {0};
    char *path = write_csv("t, tip.x [mm], tip.y, tip.z [cm]\n0.1, 98, 0.001, 0.2\n0.3, 96, 0.003, 0.4\n");
    tdStatus status = td_control_load_goals(control, model, path, &error);
    assert_ok(status, error);
    assert_near(td_control_duration(control), 0.3, 0);
    const double times[] = {0, 0.1, 0.2, 0.3, 9}, x[] = {0.098, 0.098, 0.097, 0.096, 0.096};
    double goal[3];
    for (int k = 0; k < 5; k++)
    {
        assert_true(td_control_goal(control, 0, times[k], goal));
        assert_near(goal[0], x[k], 1e-15);
        assert_near(goal[1], 0.001 + (0.098 - x[k]), 1e-15);
        assert_near(goal[2], 0.002 + (0.098 - x[k]), 1e-15);
    }
    // The caller's goal comes before the file's.
    assert_int_equal(td_control_set_goal(control, 0, near_goal), TD_OK);
    assert_true(td_control_goal(control, 0, 0.2, goal));
    assert_near(distance(goal, near_goal), 0, 0);
    assert_int_equal(td_control_set_goal(control, 0, NULL), TD_OK);
    assert_true(td_control_goal(control, 0, 0.2, goal));
    assert_near(goal[0], 0.097, 1e-15);
    // Measurements are there in their time only.
    status = td_control_load_measurements(control, model, path, &error);
    assert_ok(status, error);
    assert_false(td_control_measured(control, 0, 0.05, goal));
    assert_true(td_control_measured(control, 0, 0.2, goal));
    assert_false(td_control_measured(control, 0, 0.35, goal));
    remove(path);
    td_control_free(control);
    td_model_free(model);
}

static void test_bad_files(void **state)
{
    (void)state;
    static const struct
    {
        const char *text;
        int line;
        const char *field;
    } bad[] = {
        {"t,tip.x,tip.y,tip.z\n0,1,2,3\n1,1,,3\n", 3, "tip.y"},
        {"t,tip.x,tip.y,tip.z\n0,1,2,3\n\n1,1,2,nan\n", 4, "tip.z"},
        {"t,tip.x,tip.y,tip.z\n0,inf,2,3\n", 2, "tip.x"},
        {"t,tip.x,tip.y,tip.z\n0,1 kg,2,3\n", 2, "tip.x"},
        {"t,tip.x,tip.y,tip.z\n0,1,2\n", 2, ""},
        {"t,tip.x,tip.y,tip.z\n1,1,2,3\n1,1,2,3\n", 3, "t"},
        {"t,tip.x,tip.y\n0,1,2\n", 1, "tip.z"},
        {"t,tap.x,tip.y,tip.z\n0,1,2,3\n", 1, "tap.x"},
        {"t,tip\n0,1\n", 1, "tip"},
        {"t,tip.x [kg],tip.y,tip.z\n0,1,2,3\n", 1, "tip.x"},
        {"time,tip.x\n0,1\n", 1, ""},
    };
    tdModel *model = scene_parse(model_text);
    tdControl *control = make_control(model, td_default_control(model));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        char *path = write_csv(bad[i].text);
        tdError error = {0};
        double goal[3];
        assert_int_equal(td_control_load_goals(control, model, path, &error), TD_ERROR_INPUT);
        assert_string_equal(error.file, path);
        assert_int_equal(error.line, bad[i].line);
        assert_string_equal(error.field, bad[i].field);
        assert_false(td_control_goal(control, 0, 0, goal));
        remove(path);
    }
    tdError error = {0};
    assert_int_equal(td_control_load_goals(control, model, "/nowhere.csv", &error), TD_ERROR_INPUT);
    td_control_free(control);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_modulus_and_lag),
        cmocka_unit_test(test_known_delay),
        cmocka_unit_test(test_no_windup),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_orientation),
        cmocka_unit_test(test_direction),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_nothing_to_control),
        cmocka_unit_test(test_goals_from_file),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
