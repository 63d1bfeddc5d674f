// SPDX-License-Identifier: Apache-2.0
// Inverse, then forward: control reaches what forward runs have reached, and what it found (efforts, and likewise
// displacements) brings a forward run back there. Out of reach it says so, and its answer is optimal.
#include "robots.h"

#define WAY   5    // equilibria on the way to a target
#define NEAR  1e-6 // of the robot's size
#define SHARE 0.6  // of the ranges that is used: beyond, forward runs do not always find an equilibrium

typedef struct Found
{
    double effort[WAY + 1][MOST_ROBOT_IO], displacement[WAY + 1][MOST_ROBOT_IO];
} Found;

static void set_inputs(const tdModel *model, tdState *state, const double *value)
{
    for (int a = 0; a < td_model_actuators(model); a++)
        td_state_set_input(model, state, td_model_actuator(model, a).input, value[a]);
}

// An actuation within the ranges and where it brings the tip.
static void make_target(const tdModel *model, uint64_t *seed, double tip[3])
{
    tdState *state = scene_state(model);
    double value[MOST_ROBOT_IO], now[MOST_ROBOT_IO];
    for (int a = 0; a < td_model_actuators(model); a++)
        value[a] = SHARE * td_model_actuator(model, a).displacement[1] * 0.5 * (1 + next_random(seed));
    for (int k = 1; k <= WAY; k++)
    {
        for (int a = 0; a < td_model_actuators(model); a++)
            now[a] = value[a] * k / WAY;
        set_inputs(model, state, now);
        scene_steps(model, state, 1);
    }
    td_state_effector(model, state, 0, tip);
    td_state_free(state);
}

// On a straight way from where the tip hangs.
static void reach(const tdModel *model, const double *target, const char *what, Found *found)
{
    tdState *state = scene_state(model);
    double start[3] = {0}, tip[3], goal[3];
    for (int k = 0; k <= WAY; k++)
    {
        if (k == 0)
            for (int a = 0; a < td_model_actuators(model); a++) // the weight, with all actuators at rest
                td_state_set_input(model, state, td_model_actuator(model, a).input, 0);
        for (int c = 0; c < 3; c++)
            goal[c] = start[c] + (target[c] - start[c]) * k / WAY;
        if (k > 0)
            assert_int_equal(td_state_set_target(model, state, 0, goal), TD_OK);
        scene_steps(model, state, 1);
        if (k == 0)
        {
            td_state_effector(model, state, 0, start);
            for (int a = 0; a < td_model_actuators(model); a++)
                td_state_set_input(model, state, td_model_actuator(model, a).input, NAN);
        }
        for (int a = 0; a < td_model_actuators(model); a++)
        {
            tdActuation actuation = td_state_actuation(model, state, a);
            found->effort[k][a] = actuation.effort;
            found->displacement[k][a] = actuation.displacement;
        }
    }
    td_state_probe(model, state, 0, tip);
    const tdReport *report = td_state_report(state);
    if (report->out_of_reach || !(robot_distance(tip, target) <= NEAR * td_model_size(model)))
        fail_msg("%s: the tip is %g mm from its target", what, 1e3 * robot_distance(tip, target));
    assert_true(report->inverse_optimality <= 1e-9);
    td_state_free(state);
}

// Distance of the tip from the target when the actuators go again the way that was found.
static double replay(const tdModel *model, const Found *found, bool effort, const double *target)
{
    tdState *state = scene_state(model);
    double value[MOST_ROBOT_IO];
    for (int k = 0; k <= WAY; k++)
    {
        for (int a = 0; a < td_model_actuators(model); a++)
            value[a] = effort && strcmp(td_model_actuator(model, a).drive, "effort") == 0 ? found->effort[k][a]
                                                                                          : found->displacement[k][a];
        set_inputs(model, state, value);
        scene_steps(model, state, 1);
    }
    double distance = robot_probe_error(model, state, target);
    td_state_free(state);
    return distance;
}

static void check_robot(const char *scene)
{
    const double h = 0.01;
    tdModel *by_displacement = robot_load(scene, (robotEdit){.forward = true, .time_step = h});
    tdModel *by_effort = robot_load(scene, (robotEdit){.forward = true, .effort = true, .time_step = h});
    tdModel *inverse = robot_load(scene, (robotEdit){.time_step = h});
    assert_true(td_model_actuators(inverse) <= MOST_ROBOT_IO);
    double size = td_model_size(inverse), worst[2] = {0};
    uint64_t seed = 3;
    for (int t = 0; t < ROBOT_TARGETS; t++)
    {
        double target[3];
        Found found;
        make_target(by_displacement, &seed, target);
        reach(inverse, target, scene, &found);
        worst[0] = fmax(worst[0], replay(by_effort, &found, true, target) / size);
        worst[1] = fmax(worst[1], replay(by_displacement, &found, false, target) / size);
    }
    print_message("%s: %d targets; replayed by effort to %.1e, by displacement to %.1e of its size\n", scene,
                  ROBOT_TARGETS, worst[0], worst[1]);
    assert_true(worst[0] <= NEAR);
    assert_true(worst[1] <= NEAR);
    td_model_free(by_displacement);
    td_model_free(by_effort);
    td_model_free(inverse);
}

static void test_parallel(void **context)
{
    (void)context;
    check_robot("parallel/coarse.yaml");
}

static void test_trunk(void **context)
{
    (void)context;
    check_robot("trunk/coarse.yaml");
}

// ---------------------------------------------------------------- out of reach

// Goes towards a target that cannot be reached in steps; there it is said, with what is left, and limits hold.
static void check_out_of_reach(const char *scene, const double *target, int steps)
{
    tdModel *model = robot_load(scene, (robotEdit){.time_step = 0.01});
    tdState *state = scene_state(model);
    double start[3], goal[3], tip[3];
    td_state_effector(model, state, 0, start);
    for (int k = 1; k <= steps; k++)
    {
        for (int c = 0; c < 3; c++)
            goal[c] = start[c] + (target[c] - start[c]) * k / steps;
        td_state_set_target(model, state, 0, goal);
        scene_steps(model, state, 1);
    }
    const tdReport *report = td_state_report(state);
    td_state_effector(model, state, 0, tip);
    int held = 0;
    for (int a = 0; a < td_model_actuators(model); a++)
    {
        tdActuation actuation = td_state_actuation(model, state, a);
        held += actuation.effort_bound != 0 || actuation.displacement_bound != 0;
    }
    print_message("%s: %.3g mm left, %d limits hold, optimal to %.1e\n", scene, 1e3 * report->inverse_residual,
                  report->active_bounds, report->inverse_optimality);
    assert_true(report->inverse && report->out_of_reach && !report->inverse_limit);
    assert_true(report->inverse_residual > 1e-3);
    // What the last linearization says is left is what is left: it has converged.
    assert_near(report->inverse_residual, robot_distance(tip, target), 1e-5 * td_model_size(model));
    assert_true(report->active_bounds > 0 && held > 0);
    assert_true(report->inverse_optimality <= 1e-9);
    scene_free(model, state);
}

static void test_out_of_reach(void **context)
{
    (void)context;
    check_out_of_reach("parallel/coarse.yaml", (const double[3]){0.06, 0, 0.145}, 10);
    check_out_of_reach("trunk/coarse.yaml", (const double[3]){0, 0, -0.3}, 10);
    if (!robot_all())
        return;
    check_out_of_reach("parallel/coarse.yaml", (const double[3]){0, 0, 0.11}, 5);
    check_out_of_reach("trunk/coarse.yaml", (const double[3]){0.15, 0, -0.2}, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parallel), cmocka_unit_test(test_trunk),
                                       cmocka_unit_test(test_out_of_reach)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
