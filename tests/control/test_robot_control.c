// SPDX-License-Identifier: Apache-2.0
// The robots follow their paths: the parallel robot a circle, the trunk a rising figure of eight with nine actuators,
// fingers a goal of their tips by pressure; dynamic and static, and what was found brings a forward run to the same
// place.
#include "robots.h"

#define PROMISE 1e-4 // [m] of the tip

typedef struct Follower
{
    tdModel *model, *replay; // replay: driven by the efforts that were found; NULL: none
    tdState *state, *copy;
    tdControl *control;
} Follower;

static Follower follow(const char *scene, const char *goals, robotEdit edit, bool replay)
{
    Follower f = {.model = robot_load(scene, edit)};
    f.state = scene_state(f.model);
    if (replay)
    {
        edit.forward = edit.effort = true;
        f.replay = robot_load(scene, edit);
        f.copy = scene_state(f.replay);
    }
    tdControlSettings settings = td_default_control(f.model);
    tdError error = {0};
    assert_ok(td_control_create(f.model, &settings, &f.control, &error), error);
    char path[512];
    snprintf(path, sizeof path, ROBOTS "%s", goals);
    assert_ok(td_control_load_goals(f.control, f.model, path, &error), error);
    return f;
}

static void let_go(Follower *f)
{
    td_control_free(f->control);
    scene_free(f->model, f->state);
    if (f->replay != NULL)
        scene_free(f->replay, f->copy);
}

static void replay_step(Follower *f)
{
    for (int a = 0; a < td_model_actuators(f->model); a++)
    {
        tdActuation found = td_state_actuation(f->model, f->state, a);
        bool slide = strcmp(td_model_actuator(f->model, a).kind, "translation") == 0;
        td_state_set_input(f->replay, f->copy, td_model_actuator(f->replay, a).input,
                           slide ? found.displacement : found.effort);
    }
    scene_steps(f->replay, f->copy, 1);
}

typedef struct Followed
{
    double worst, replayed, optimality; // largest error, distance of the replayed tip, violation of optimality
    int steps, out_of_reach;
} Followed;

// Along the goals, which are stretched across the robot's axis.
static Followed run_along(Follower *f, double stretch, double until)
{
    Followed out = {0};
    double goal[3], h = td_model_time_step(f->model);
    for (; td_state_time(f->state) < fmin(until, td_control_duration(f->control)) - 0.5 * h; out.steps++)
    {
        assert_true(td_control_goal(f->control, 0, td_state_time(f->state) + h, goal));
        goal[0] *= stretch;
        goal[1] *= stretch;
        double next[3] = {goal[0], goal[1], goal[2]};
        if (stretch != 1)
            assert_int_equal(td_control_set_goal(f->control, 0, next), TD_OK);
        tdStatus status = td_control_step(f->control, f->model, f->state);
        assert_ok(status, td_state_report(f->state)->error);
        td_control_set_goal(f->control, 0, NULL);
        const tdReport *report = td_state_report(f->state);
        assert_true(report->inverse && !report->inverse_limit);
        out.out_of_reach += report->out_of_reach;
        out.optimality = fmax(out.optimality, report->inverse_optimality);
        out.worst = fmax(out.worst, robot_probe_error(f->model, f->state, goal));
        if (f->replay == NULL)
            continue;
        replay_step(f);
        double tip[3];
        td_state_probe(f->model, f->state, 0, tip);
        out.replayed = fmax(out.replayed, robot_probe_error(f->replay, f->copy, tip));
    }
    return out;
}

// `replay`: how near a forward run with the efforts that were found has to come [m]; 0: none is made.
static void check_along(const char *scene, const char *goals, double stretch, robotEdit edit, double replay)
{
    Follower f = follow(scene, goals, edit, replay > 0);
    Followed out = run_along(&f, stretch, fmin(edit.newton ? (robot_all() ? 1.5 : 0.6) : INFINITY, ROBOT_UNTIL));
    print_message("%s, %s, x %g: %d steps, error at most %.2g mm, replayed %.2g mm from it, optimal to %.1e\n", scene,
                  edit.time_step > 0 ? "static" : (edit.newton ? "dynamic to convergence" : "dynamic"), stretch,
                  out.steps, 1e3 * out.worst, 1e3 * out.replayed, out.optimality);
    assert_int_equal(out.out_of_reach, 0);
    assert_true(out.worst <= PROMISE);
    // A position is linear in the nodes, so that every linearization that can be solved meets it to rounding.
    assert_true(out.worst <= 1e-9 * td_model_size(f.model));
    assert_true(out.optimality <= 1e-9);
    assert_true(out.replayed <= replay);
    let_go(&f);
}

// The 30 mm of the circle as its diameter and as its radius.
static void test_parallel_circle(void **context)
{
    (void)context;
    // One linearization a step: that of the forward run knows the new tension of the cables, that of control the last
    // one, and so they differ a little.
    check_along("parallel/coarse.yaml", "parallel/circle.csv", 1, (robotEdit){0}, PROMISE);
    check_along("parallel/coarse.yaml", "parallel/circle.csv", 2, (robotEdit){0}, 0);
}

static void test_parallel_circle_static(void **context)
{
    (void)context;
    check_along("parallel/coarse.yaml", "parallel/circle.csv", 1, (robotEdit){.time_step = 0.1}, 1e-7);
    check_along("parallel/coarse.yaml", "parallel/circle.csv", 2, (robotEdit){.time_step = 0.1}, 1e-7);
}

static void test_trunk_path(void **context)
{
    (void)context;
    check_along("trunk/coarse.yaml", "trunk/path.csv", 1, (robotEdit){0}, 0);
    check_along("trunk/coarse.yaml", "trunk/path.csv", 1, (robotEdit){.time_step = 0.1}, 1e-7);
}

// Steps to convergence leave no difference between control and the forward run but the tolerance: 1e-8 of the forces,
// over 150 steps less than 1e-6 of the robots' size.
static void test_converged_steps(void **context)
{
    (void)context;
    check_along("parallel/coarse.yaml", "parallel/circle.csv", 1, (robotEdit){.newton = true}, 1e-7);
    check_along("trunk/coarse.yaml", "trunk/path.csv", 1, (robotEdit){.newton = true}, 1e-7);
}

// ---------------------------------------------------------------- pressure

// Where the tips are under these pressures, reached in steps.
static void press(const char *scene, const double *pressure, int steps, double tips[3][3])
{
    tdModel *model = robot_load(scene, (robotEdit){.forward = true, .time_step = 0.01});
    tdState *state = scene_state(model);
    for (int k = 1; k <= steps; k++)
    {
        for (int a = 0; a < td_model_actuators(model); a++)
            td_state_set_input(model, state, td_model_actuator(model, a).input, pressure[a] * k / steps);
        scene_steps(model, state, 1);
    }
    for (int e = 0; e < td_model_effectors(model); e++)
        td_state_effector(model, state, e, tips[e]);
    scene_free(model, state);
}

// Control finds the pressures from where the tips are to be.
static void check_pressure(const char *scene, const double *pressure, int steps)
{
    double tips[3][3], start[3][3];
    press(scene, pressure, steps, tips);
    tdModel *model = robot_load(scene, (robotEdit){.time_step = 0.01});
    tdState *state = scene_state(model);
    int n = td_model_effectors(model);
    for (int k = 0; k <= steps; k++)
    {
        // First the weight alone, then a straight way to the goal: on it the tips come as near as they can.
        for (int e = 0; e < n && k > 0; e++)
        {
            double target[3], share = (double)k / steps;
            if (k == 1)
                td_state_effector(model, state, e, start[e]);
            for (int c = 0; c < 3; c++)
                target[c] = (1 - share) * start[e][c] + share * tips[e][c];
            assert_int_equal(td_state_set_target(model, state, e, target), TD_OK);
        }
        scene_steps(model, state, 1);
    }
    for (int e = 0; e < n; e++)
    {
        double tip[3];
        td_state_effector(model, state, e, tip);
        if (!(robot_distance(tip, tips[e]) <= 1e-6 * td_model_size(model)))
            fail_msg("%s: tip %d is %g mm off", scene, e, 1e3 * robot_distance(tip, tips[e]));
    }
    for (int a = 0; a < td_model_actuators(model); a++)
        assert_near(td_state_actuation(model, state, a).effort, pressure[a], 1e-4 * pressure[a]);
    scene_free(model, state);
}

static void test_pressure_to_tips(void **context)
{
    (void)context;
    check_pressure("finger/coarse.yaml", (const double[]){25e3}, 8);
    check_pressure("gripper/coarse.yaml", (const double[]){14e3, 9e3, 12e3}, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parallel_circle),  cmocka_unit_test(test_parallel_circle_static),
        cmocka_unit_test(test_trunk_path),       cmocka_unit_test(test_converged_steps),
        cmocka_unit_test(test_pressure_to_tips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
