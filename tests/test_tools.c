// SPDX-License-Identifier: Apache-2.0
// Differential inverse kinematics of tools on the arm with seven joints, and on small robots made for one question.
#include "rigid.h"

#include "base/vector.h"
#include "constraint/rotation.h"
#include "constraint/tool.h"

#include <stdlib.h>

// ---------------------------------------------------------------- scenes

static const double start_angles[7] = {0.2, 0.4, -0.1, -1.2, 0.3, 0.9, 0.1};

typedef struct armCase
{
    const char *settings, *tool, *rest;
    const double *start; ///< NULL: start_angles
    double stiffness;
} armCase;

#define SETTINGS "gravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 10\n"

static void arm_text(const armCase *c, sceneText *t)
{
    const double *start = c->start != NULL ? c->start : start_angles;
    *t = (sceneText){0};
    scene_add(t, "tendril: 1\n%sbodies:\n  - name: arm\n    type: articulated\n    urdf: %s\n    joints:\n",
              c->settings != NULL ? c->settings : SETTINGS, TD_SOURCE_DIR "/scenes/contact/arm.urdf");
    for (int k = 0; k < 7; k++)
        scene_add(t, "      - {name: arm_%d, position: %.17g rad, friction: 0}\n", k + 1, start[k]);
    scene_add(t, "actuators:\n");
    for (int k = 0; k < 7; k++)
        scene_add(t,
                  "  - {name: a%d, type: joint, body: arm, joint: arm_%d, drive: position, stiffness: 3000 N*m/rad, "
                  "damping: 100 N*m*s/rad}\n",
                  k + 1, k + 1);
    scene_add(t, "tools:\n  - {name: hand, body: arm, link: flange%s%s}\n%s", c->tool != NULL ? ", " : "",
              c->tool != NULL ? c->tool : "", c->rest != NULL ? c->rest : "");
}

static tdModel *arm_model(const armCase *c)
{
    sceneText t;
    arm_text(c, &t);
    return scene_parse(t.text);
}

// Pose of the tool with the arm's joints at q.
static tdPose pose_at(const tdModel *model, const tdState *state, const double *q)
{
    return td_tool_pose(model, state, 0, q);
}

// Sets the six inputs so that the target is a pose.
static void aim(const tdModel *model, tdState *state, const tdPose *at)
{
    const tdTool *tool = &model->tools[0];
    double q[4], s[4], between[4], r[3];
    td_rotation_from_matrix(at->R, q);
    td_rotation_from_matrix(tool->start.R, s);
    td_rotation_difference(q, s, between);
    td_rotation_vector(between, NULL, r);
    for (int k = 0; k < 3; k++)
    {
        assert_int_equal(td_state_set_input(model, state, tool->input + k, at->t[k] - tool->start.t[k]), TD_OK);
        assert_int_equal(td_state_set_input(model, state, tool->input + 3 + k, r[k]), TD_OK);
    }
}

static double size3(const double *a)
{
    return sqrt(td_dot3(a, a));
}

// Commands within ranges, and their change within the rates.
static void check_bounds(const tdModel *model, const double *before, const double *after)
{
    for (int k = 0; k < model->tools[0].n; k++)
    {
        const tdToolJoint *joint = &model->tools[0].joints[k];
        assert_true(after[k] >= joint->lower && after[k] <= joint->upper);
        assert_true(fabs(after[k] - before[k]) <= joint->rate * model->scheme.h * (1 + 1e-12));
    }
}

// A step whose commands are checked. Returns the largest change of a command.
static double checked_step(const tdModel *model, tdState *state)
{
    const tdTool *tool = &model->tools[0];
    double before[16], most = 0, *command = state->tools->kept + tool->first + TD_TOOL_COMMAND;
    memcpy(before, command, (size_t)tool->n * sizeof *before);
    assert_ok(td_step(model, state), state->report.error);
    check_bounds(model, before, command);
    for (int k = 0; k < tool->n; k++)
        most = fmax(most, fabs(command[k] - before[k]));
    return most;
}

// ---------------------------------------------------------------- kinematics

// The Jacobian that the commands move by is the derivative of the pose: a small offset is met by a first step whose
// error is of second order.
static void test_info(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(&(armCase){.tool = "speed: 0.5, point: [0.3, 0.1, 1.2]"});
    tdState *state = scene_state(model);
    assert_int_equal(td_model_tools(model), 1);
    tdToolInfo info = td_model_tool(model, 0);
    assert_string_equal(info.name, "hand");
    assert_string_equal(info.link, "flange");
    assert_int_equal(info.joints, 7);
    assert_int_equal(td_model_find_tool(model, "hand"), 0);
    assert_int_equal(td_model_find_tool(model, "foot"), -1);
    static const char *const parts[6] = {"hand.x", "hand.y", "hand.z", "hand.rx", "hand.ry", "hand.rz"};
    for (int k = 0; k < 6; k++)
        assert_int_equal(td_model_find_input(model, parts[k]), info.input + k);
    for (int a = 0; a < 7; a++)
        assert_int_equal(td_model_actuator(model, a).tool, 0);
    assert_near(info.speed, 0.5, 0);
    assert_true(isinf(info.turning));
    tdToolState at = td_state_tool(model, state, 0);
    const double point[3] = {0.3, 0.1, 1.2};
    for (int k = 0; k < 3; k++)
    {
        assert_near(at.position[k], point[k], 1e-12);
        assert_near(at.target[k], point[k], 1e-12);
        assert_near(at.command[k], point[k], 1e-12);
    }
    for (int k = 0; k < 6; k++)
        assert_near(at.error[k], 0, 1e-12);
    scene_free(model, state);
}

// Targets that the joints can reach, from another posture: commands arrive to rounding, and the arm behind them.
static void test_reach(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(&(armCase){0});
    uint64_t seed = 3;
    for (int trial = 0; trial < 30; trial++)
    {
        tdState *state = scene_state(model);
        double q[7];
        for (int k = 0; k < 7; k++)
            q[k] = start_angles[k] + 0.6 * next_random(&seed);
        tdPose goal = pose_at(model, state, q);
        aim(model, state, &goal);
        double last = INFINITY;
        for (int i = 0; i < 200; i++)
        {
            checked_step(model, state);
            tdToolState at = td_state_tool(model, state, 0);
            double miss = td_dot3(at.miss, at.miss) + pow(model->tools[0].lever, 2) * td_dot3(at.miss + 3, at.miss + 3);
            assert_true(miss <= last * (1 + 1e-9) + 1e-24); // never away from the target
            last = miss;
        }
        tdToolState at = td_state_tool(model, state, 0);
        assert_near(size3(at.miss), 0, 1e-9);
        assert_near(size3(at.miss + 3), 0, 1e-9);
        for (int k = 0; k < 3; k++)
            assert_near(at.target[k], goal.t[k], 1e-12);
        for (int k = 0; k < 9; k++)
            assert_near(at.target_rotation[k], goal.R[k], 1e-12);
        scene_steps(model, state, 300);
        at = td_state_tool(model, state, 0);
        assert_near(size3(at.error), 0, 1e-6);
        assert_near(size3(at.error + 3), 0, 1e-6);
        td_state_free(state);
    }
    td_model_free(model);
}

// Far out of reach the arm stretches towards the target and rests there; when the target is back, so is the arm.
static void test_out_of_reach(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(&(armCase){.tool = "lever: 1 mm"});
    tdState *state = scene_state(model);
    int x = model->tools[0].input;
    td_state_set_input(model, state, x, 10);
    td_state_set_input(model, state, x + 1, 3);
    double moved = 0, travelled = 0;
    for (int i = 0; i < 1500; i++)
        moved = checked_step(model, state), travelled += i > 1000 ? moved : 0;
    assert_true(travelled < 0.05); // no dance at the end of the range
    tdToolState at = td_state_tool(model, state, 0);
    // The direction from the shoulder, which is 0.36 m up, to the target is that of the arm.
    double arm[3] = {at.command[0], at.command[1], at.command[2] - 0.36}, way[3];
    for (int k = 0; k < 3; k++)
        way[k] = at.target[k] - (k == 2 ? 0.36 : 0);
    assert_near(size3(arm), 0.8, 1e-3);
    assert_true(td_dot3(arm, way) > 0.9999 * size3(arm) * size3(way));
    td_state_set_input(model, state, x, 0);
    td_state_set_input(model, state, x + 1, 0);
    for (int i = 0; i < 1000; i++)
        checked_step(model, state);
    at = td_state_tool(model, state, 0);
    assert_near(size3(at.miss), 0, 1e-9);
    assert_near(size3(at.miss + 3), 0, 1e-9);
    scene_free(model, state);
}

// The stretched arm is singular: a small pull inwards must not throw it, and it gets there.
static void test_singular(void **unused)
{
    (void)unused;
    static const double straight[7] = {0};
    tdModel *model = arm_model(&(armCase){.start = straight, .settings = SETTINGS});
    tdState *state = scene_state(model);
    int x = model->tools[0].input;
    static const double goals[][6] = {
        {0, 0, -0.05, 0, 0, 0}, {0.1, 0, -0.1, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0.05, -0.02, 0.2, 0, 0.3}};
    for (int g = 0; g < 4; g++)
    {
        for (int k = 0; k < 6; k++)
            td_state_set_input(model, state, x + k, goals[g][k]);
        for (int i = 0; i < 2000; i++)
            checked_step(model, state);
        tdToolState at = td_state_tool(model, state, 0);
        print_message("goal %d: misses by %.2e m, %.2e rad\n", g, size3(at.miss), size3(at.miss + 3));
    }
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_out_of_reach),
        cmocka_unit_test(test_singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
