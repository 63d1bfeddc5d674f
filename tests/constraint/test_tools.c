// SPDX-License-Identifier: Apache-2.0
// Differential inverse kinematics of tools on the arm with seven joints, and on small robots made for one question.
#include "rigid.h"

#include "base/vector.h"
#include "constraint/tool.h"
#include "core/rotation.h"

#include <stdlib.h>

// ---------------------------------------------------------------- scenes

static const double start_angles[7] = {0.2, 0.4, -0.1, -1.2, 0.3, 0.9, 0.1};

typedef struct armCase
{
    const char *settings, *tool, *rest;
    const double *start; ///< NULL: start_angles
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
                  "  - {name: a%d, type: joint, body: arm, joint: arm_%d, drive: position, stiffness: %d N*m/rad, "
                  "damping: %d N*m*s/rad}\n",
                  k + 1, k + 1, k < 4 ? 3000 : 300, k < 4 ? 300 : 30);
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
        assert_near(size3(at.miss), 0, 1e-9);
        assert_near(size3(at.miss + 3), 0, 1e-9);
    }
    scene_free(model, state);
}

// ---------------------------------------------------------------- who drives it

#define KEYFRAMES                                                                                                      \
    "motion:\n  keyframes:\n    - {t: 0, hand.x: 0, hand.z: 0, hand.ry: 0}\n"                                          \
    "    - {t: 1 s, hand.x: -100 mm, hand.z: 50 mm, hand.ry: 20 deg}\n"

// Keyframes, values set by the caller and a velocity that adds up to the same give the same commands.
static void test_script_and_caller(void **unused)
{
    (void)unused;
    tdModel *scripted = arm_model(&(armCase){.rest = KEYFRAMES}), *model = arm_model(&(armCase){0});
    tdState *a = scene_state(scripted), *b = scene_state(model), *c = scene_state(model);
    int x = model->tools[0].input;
    double angle = 20 * atan(1) / 45;
    const double twist[6] = {-0.1, 0, 0.05, 0, angle, 0};
    assert_int_equal(td_state_drive_tool(model, c, 0, twist), TD_OK);
    for (int i = 0; i < 100; i++)
    {
        double t = 0.01 * (i + 1);
        td_state_set_input(model, b, x, -0.1 * t);
        td_state_set_input(model, b, x + 2, 0.05 * t);
        td_state_set_input(model, b, x + 4, angle * t);
        checked_step(scripted, a);
        checked_step(model, b);
        checked_step(model, c);
    }
    for (int k = 0; k < 7; k++)
    {
        assert_near(a->q[k], b->q[k], 1e-12);
        assert_near(a->q[k], c->q[k], 1e-9); // sums of a hundred steps
    }
    assert_true(td_state_tool(model, c, 0).driven && !td_state_tool(model, b, 0).driven);
    // Back to its inputs, which are zero: it goes home.
    assert_int_equal(td_state_drive_tool(model, c, 0, NULL), TD_OK);
    for (int i = 0; i < 200; i++)
        checked_step(model, c);
    tdToolState home = td_state_tool(model, c, 0);
    for (int k = 0; k < 3; k++)
        assert_near(home.command[k], model->tools[0].start.t[k], 1e-9);
    td_state_free(c);
    scene_free(model, b);
    scene_free(scripted, a);
}

static void test_refused_by_caller(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(&(armCase){0});
    tdState *state = scene_state(model);
    const double bad[6] = {0, NAN, 0, 0, 0, 0}, worse[6] = {0, 0, 0, 0, 0, INFINITY};
    assert_int_equal(td_state_drive_tool(model, state, 1, bad), TD_ERROR_USAGE);
    assert_int_equal(td_state_drive_tool(model, state, -1, NULL), TD_ERROR_USAGE);
    assert_int_equal(td_state_drive_tool(model, state, 0, bad), TD_ERROR_USAGE);
    assert_int_equal(td_state_drive_tool(model, state, 0, worse), TD_ERROR_USAGE);
    assert_false(td_state_tool(model, state, 0).driven);
    scene_free(model, state);
}

// A target that is driven where the arm cannot follow waits for it, so that it turns round when the driver does.
static void test_leash(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(&(armCase){0});
    tdState *state = scene_state(model);
    double out[6] = {0.5, 0, 0, 0, 0, 0}, before;
    td_state_drive_tool(model, state, 0, out);
    for (int i = 0; i < 1000; i++) // five metres
        checked_step(model, state);
    tdToolState at = td_state_tool(model, state, 0);
    assert_true(size3(at.miss) <= 0.05 + 1e-9);
    before = at.command[0];
    out[0] = -0.5;
    td_state_drive_tool(model, state, 0, out);
    for (int i = 0; i < 60; i++) // away from the stretched arm, as fast as the elbow may
        checked_step(model, state);
    assert_true(td_state_tool(model, state, 0).command[0] < before - 0.05);
    scene_free(model, state);
}

// It waits at what is driven in a tenth of a second, be it a way or a turn, and no nearer.
static void test_leash_is_taken_up(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 2; turn++)
    {
        tdModel *model = arm_model(&(armCase){0});
        tdState *state = scene_state(model);
        double out[6] = {0}, rate = turn ? 1 : 0.5;
        out[turn ? 5 : 0] = rate;
        td_state_drive_tool(model, state, 0, out);
        for (int i = 0; i < 1000; i++) // five metres, ten radians
            checked_step(model, state);
        const tdTool *tool = &model->tools[0];
        const double *kept = state->tools->kept + tool->first;
        double ahead[3];
        tdToolState at = td_state_tool(model, state, 0);
        if (turn)
        {
            tdPose is = pose_at(model, state, kept + TD_TOOL_COMMAND);
            double q[4], between[4];
            td_rotation_from_matrix(is.R, q);
            td_rotation_difference(kept + TD_TOOL_TURN, q, between);
            td_rotation_vector(between, NULL, ahead);
        }
        else
            td_subtract3(at.target, at.command, ahead);
        assert_near(size3(ahead), 0.1 * rate, 0.02 * rate); // a step more is 0.01
        scene_free(model, state);
    }
}

static void test_speed(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(&(armCase){.tool = "speed: 100 mm/s, turning: 20 deg/s"});
    tdState *state = scene_state(model);
    int x = model->tools[0].input;
    td_state_set_input(model, state, x, -0.08);
    td_state_set_input(model, state, x + 2, 0.06);
    td_state_set_input(model, state, x + 5, 0.1);
    for (int i = 0; i < 99; i++)
    {
        double before[3];
        memcpy(before, td_state_tool(model, state, 0).command, sizeof before);
        checked_step(model, state);
        tdToolState at = td_state_tool(model, state, 0);
        double way[3], line[3], off[3];
        td_subtract3(at.command, before, way);
        assert_near(size3(way), 1e-3, 1e-8); // 100 mm at 100 mm/s: a hundred steps of 1 mm
        td_subtract3(at.command, model->tools[0].start.t, line);
        for (int k = 0; k < 3; k++)
            off[k] = line[k] - (k == 0 ? -0.8 : k == 2 ? 0.6 : 0) * size3(line);
        assert_near(size3(off), 0, 1e-7); // and straight
    }
    checked_step(model, state);
    checked_step(model, state);
    assert_near(size3(td_state_tool(model, state, 0).miss), 0, 1e-9);
    scene_free(model, state);
}

// A turn alone: 20 degrees a second, and what is left in the last step.
static void test_turning(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(&(armCase){.tool = "speed: 100 mm/s, turning: 20 deg/s"});
    tdState *state = scene_state(model);
    const tdTool *tool = &model->tools[0];
    const double *command = state->tools->kept + tool->first + TD_TOOL_COMMAND;
    double most = 20 * M_PI / 180 * model->scheme.h;
    td_state_set_input(model, state, tool->input + 5, 20.5 * most);
    tdPose was = pose_at(model, state, command);
    for (int i = 0; i < 22; i++)
    {
        checked_step(model, state);
        tdPose is = pose_at(model, state, command);
        double trace = 0;
        for (int k = 0; k < 9; k++)
            trace += was.R[k] * is.R[k];
        double angle = acos(fmin(1, 0.5 * (trace - 1)));
        assert_near(angle, i < 20 ? most : i == 20 ? 0.5 * most : 0, 0.01 * most);
        was = is;
    }
    scene_free(model, state);
}

// A joint that the caller sets stays where that says; the others make up for it.
static void test_joint_by_hand(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(&(armCase){0});
    tdState *state = scene_state(model);
    int a3 = td_model_find_input(model, "a3");
    for (int i = 0; i < 100; i++)
    {
        td_state_set_input(model, state, a3, start_angles[2] - 0.005 * i);
        checked_step(model, state);
    }
    scene_steps(model, state, 300);
    assert_near(state->q[2], start_angles[2] - 0.005 * 99, 1e-6);
    tdToolState at = td_state_tool(model, state, 0);
    assert_near(size3(at.error), 0, 1e-6);
    assert_near(size3(at.error + 3), 0, 1e-6);
    td_state_set_input(model, state, a3, NAN);
    td_state_set_input(model, state, model->tools[0].input, -0.1);
    for (int i = 0; i < 100; i++)
        checked_step(model, state);
    assert_near(size3(td_state_tool(model, state, 0).miss), 0, 1e-9);
    scene_free(model, state);
}

// ---------------------------------------------------------------- limits, other robots and integrators

// Three joints that slide: a target outside of the box of their ranges is met by the nearest corner, edge or face.
#define SLIDES                                                                                                         \
    ROBOT(BASE LINK("a", "1", "0 0 0", "1", "1", "1") LINK("b", "1", "0 0 0", "1", "1", "1")                           \
              LINK("c", "1", "0 0 0", "1", "1", "1") JOINT("x", "prismatic", "base", "a", "0 0 0", "1 0 0", LIMIT)     \
                  JOINT("y", "prismatic", "a", "b", "0 0 0.1", "0 1 0", LIMIT)                                         \
                      JOINT("z", "prismatic", "b", "c", "0 0 0.1", "0 0 1", LIMIT))
#define LIMIT "<limit lower=\"-0.1\" upper=\"0.1\" effort=\"1000\" velocity=\"0.5\"/>"
#define SLIDERS                                                                                                        \
    "actuators:\n"                                                                                                     \
    "  - {name: x, type: joint, body: r, joint: x, drive: position, stiffness: 1000, damping: 100}\n"                  \
    "  - {name: y, type: joint, body: r, joint: y, drive: position, stiffness: 1000, damping: 100}\n"                  \
    "  - {name: z, type: joint, body: r, joint: z, drive: position, stiffness: 1000, damping: 100, "                   \
    "displacement_range: "                                                                                             \
    "[0, 50 mm]}\n"                                                                                                    \
    "tools:\n  - {name: tip, body: r, link: c}\n"

static void test_box(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(SLIDES, SETTINGS, "", SLIDERS);
    tdState *state = robot_state(model);
    uint64_t seed = 5;
    for (int trial = 0; trial < 20; trial++)
    {
        double goal[3], *command = state->tools->kept + TD_TOOL_COMMAND;
        for (int k = 0; k < 3; k++)
        {
            goal[k] = 0.2 * next_random(&seed);
            td_state_set_input(model, state, model->tools[0].input + k, goal[k]);
        }
        for (int i = 0; i < 60; i++)
            checked_step(model, state);
        for (int k = 0; k < 3; k++)
            assert_near(command[k], fmin(fmax(goal[k], k == 2 ? 0 : -0.1), k == 2 ? 0.05 : 0.1), 1e-9);
    }
    scene_free(model, state);
}

// Static equilibria and the midpoint rule: where the arm ends is the same.
static void test_integrators(void **unused)
{
    (void)unused;
    static const char *const settings[] = {
        SETTINGS "integrator: {method: midpoint, newton: true}\n",
        SETTINGS "integrator: {method: newmark}\n",
        "gravity: [0, 0, 0]\ntime_step: 100 ms\nsteps: 1\nintegrator: {method: static}\n",
    };
    for (int s = 0; s < 3; s++)
    {
        tdModel *model = arm_model(&(armCase){.settings = settings[s], .rest = KEYFRAMES});
        tdState *state = scene_state(model);
        for (int i = 0; i < (s == 2 ? 12 : 500); i++)
            checked_step(model, state);
        tdToolState at = td_state_tool(model, state, 0);
        assert_near(size3(at.miss), 0, 1e-9);
        assert_near(size3(at.error), 0, 1e-6);
        assert_near(at.position[0] - model->tools[0].start.t[0], -0.1, 1e-6);
        scene_free(model, state);
    }
}

// The command does not feel loads: a failed step, and what came before a checkpoint, leave nothing behind.
static void test_checkpoint(void **unused)
{
    (void)unused;
    char path[64] = "/tmp/tendril_tool_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    tdModel *model = arm_model(&(armCase){.rest = KEYFRAMES, .tool = "speed: 0.2"});
    tdState *a = scene_state(model), *b = scene_state_with(model, 3, false);
    tdError error = {0};
    const double twist[6] = {0.05, 0.02, -0.1, 0.3, 0, 0.1};
    scene_steps(model, a, 20);
    td_state_drive_tool(model, a, 0, twist);
    scene_steps(model, a, 17);
    assert_ok(td_state_save(model, a, path, &error), error);
    assert_ok(td_state_load(model, b, path, &error), error);
    for (int pass = 0; pass < 2; pass++)
    {
        scene_steps(model, a, 30);
        scene_steps(model, b, 30);
        assert_memory_equal(a->q, b->q, (size_t)model->coords * sizeof(double));
        assert_memory_equal(a->tools->kept, b->tools->kept, (size_t)a->tools->count * sizeof(double));
        td_state_drive_tool(model, a, 0, NULL);
        td_state_drive_tool(model, b, 0, NULL);
    }
    // A file whose numbers are no pose.
    a->tools->kept[TD_TOOL_TURN] = 7;
    assert_ok(td_state_save(model, a, path, &error), error);
    assert_int_equal(td_state_load(model, b, path, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "tool 'hand'"));
    unlink(path);
    td_state_free(b);
    scene_free(model, a);
}

// ---------------------------------------------------------------- bad input

static void refused(const char *tool, const char *rest, int line, const char *says)
{
    sceneText t;
    arm_text(&(armCase){.rest = rest}, &t);
    char *at = strstr(t.text, "  - {name: hand");
    assert_non_null(at);
    char tail[8000];
    snprintf(tail, sizeof tail, "%s", strchr(at, '\n') + 1);
    snprintf(at, sizeof t.text - (size_t)(at - t.text), "%s%s", tool, tail);
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse(t.text, strlen(t.text), "scene.yaml", NULL, NULL, &model, &error);
    td_model_free(model);
    if (status == TD_OK)
        fail_msg("accepted: %s%s", tool, rest);
    assert_int_equal(status, TD_ERROR_INPUT);
    if (error.line != line || strstr(error.message, says) == NULL)
        fail_msg("%s\nsays line %d, %s: \"%s\"\nexpected line %d: \"%s\"", tool, error.line, error.field, error.message,
                 line, says);
    assert_string_equal(error.file, "scene.yaml");
}

static void test_bad_input(void **unused)
{
    (void)unused;
#define AT   26 // line of the tool in the scene
#define GOOD "  - {name: hand, body: arm, link: flange}\n"
    static const struct
    {
        const char *tool, *rest;
        int line;
        const char *says;
    } cases[] = {
        {"  - {name: hand, body: arm, link: flanje}\n", "", AT, "has no link 'flanje'; did you mean 'flange'?"},
        {"  - {name: hand, body: leg, link: flange}\n", "", AT, "there is no body 'leg'"},
        {"  - {name: hand, body: arm}\n", "", AT, "'link' is missing"},
        {"  - {name: hand, body: arm, link: flange, joints: [arm_1, arm_9]}\n", "", AT, "has no joint 'arm_9'"},
        {"  - {name: hand, body: arm, link: flange, joints: [arm_1, arm_1]}\n", "", AT, "listed twice"},
        {"  - {name: hand, body: arm, link: flange, joints: arm_1}\n", "", AT, "a list of names of joints"},
        {"  - {name: hand, body: arm, link: flange, joints: []}\n", "", AT, "no joint that moves link 'flange'"},
        {"  - {name: hand, body: arm, link: forearm, joints: [arm_6]}\n", "", AT, "does not move link 'forearm'"},
        {"  - {name: hand, body: arm, link: base}\n", "", AT, "no joint that moves link 'base'"},
        {"  - {name: hand, body: arm, link: flange, damping: 0}\n", "", AT, "must be > 0"},
        {"  - {name: hand, body: arm, link: flange, speed: -1}\n", "", AT, "must be > 0"},
        {"  - {name: hand, body: arm, link: flange, speed: 1 kg}\n", "", AT, "kg"},
        {"  - {name: a1.x, body: arm, link: flange}\n  - {name: a1.x, body: arm, link: forearm}\n", "", AT + 1,
         "the tool on line 26 has the same name"},
        {GOOD "  - {name: elbow, body: arm, link: forearm}\n", "", AT + 1,
         "joint 'arm_1' is already commanded by the tool 'hand' on line 26"},
        {GOOD, "motion: {keyframes: [{t: 0, a1: 0}, {t: 1, a1: 1 rad}]}\n", AT, "drives actuator 'a1'"},
        {GOOD, "motion: {keyframes: [{t: 0, hand.w: 0}, {t: 1, hand.w: 1}]}\n", AT + 1, "did you mean 'hand.x'?"},
        {GOOD, "motion: {keyframes: [{t: 0, hand.x: 1 deg}]}\n", AT + 1, "deg"},
        {GOOD, "motion: {keyframes: [{t: 0, hand.rx: 1}]}\n", AT + 1, "rad"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(cases[i].tool, cases[i].rest, cases[i].line, cases[i].says);
    // Joints without a position servo.
    robot_refused(SLIDES, SETTINGS, "", "tools: [{name: tip, body: r, link: c, joints: [x]}]",
                  "joint 'x' has no servo; add an actuator");
    robot_refused(SLIDES, SETTINGS, "",
                  "actuators: [{name: x, type: joint, body: r, joint: x, drive: velocity, damping: 10}]\n"
                  "tools: [{name: tip, body: r, link: c, joints: [x]}]",
                  "actuator 'x' of joint 'x' is not a position servo");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_out_of_reach),
        cmocka_unit_test(test_singular),
        cmocka_unit_test(test_script_and_caller),
        cmocka_unit_test(test_refused_by_caller),
        cmocka_unit_test(test_leash),
        cmocka_unit_test(test_leash_is_taken_up),
        cmocka_unit_test(test_speed),
        cmocka_unit_test(test_turning),
        cmocka_unit_test(test_joint_by_hand),
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_integrators),
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
