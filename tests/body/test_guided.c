// SPDX-License-Identifier: Apache-2.0
// Rigid bodies whose motion is given: others feel it, nothing moves them, and what guides them is told.
#include "rigid.h"

#include "body/guided.h"

#define PLATE                                                                                                          \
    "  - {name: plate, type: rigid, shape: {box: [0.2, 0.2, 0.02]}, guided: true, transform: {translate: [0, 0, "      \
    "%s]}}\n"

// A column of Poisson's ratio 0 under a plate that comes down: E A d / L, and what guides the plate bears it.
static void test_press(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ngravity: [0, 0, 0]\nintegrator: {method: static}\nsteps: 4\n"
                                 "contact: {friction: 0}\nbodies:\n" PLATE "  - name: column\n"
                                 "    mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [2, 2, 2]}\n"
                                 "    material: {law: linear, young: 10 kPa, poisson: 0, density: 1000 kg/m^3}\n"
                                 "    fixed: [{box: [[-1, -1, -0.001], [1, 1, 0.001]]}]\n"
                                 "motion: {keyframes: [{t: 0, plate.z: 0}, {t: 1, plate.z: -4 mm}]}\n",
                                 "0.11");
    tdState *state = scene_state(model);
    double force[3];
    for (int k = 1; k <= 4; k++)
    {
        scene_steps(model, state, 1);
        double expected = 1e4 * 0.01 * (state->q[2] * -1) / 0.1;
        td_state_reaction(model, state, 0, force);
        assert_true(expected > 0);
        assert_near(force[2], -expected, 2e-3 * expected); // points give way by a little
        assert_near(force[0], 0, 1e-6 * expected);
        assert_near(state->reaction[2], -expected, 2e-3 * expected);
    }
    assert_near(state->q[2], -4e-3, 1e-15);
    scene_free(model, state);
}

// A block on a plate that starts to move goes along: at mu g first, then with the plate.
static void test_carry(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 1 ms\nsteps: 10\n"
                                 "contact: {friction: 0.2}\nbodies:\n" PLATE
                                 "  - {name: block, type: rigid, shape: {box: [0.02, 0.02, 0.02]}, total_mass: 1,\n"
                                 "     transform: {translate: [0, 0, 0.01]}}\n"
                                 "motion: {keyframes: [{t: 0, plate.x: 0}, {t: 10, plate.x: 1}]}\n",
                                 "-0.01");
    tdState *state = scene_state(model);
    scene_steps(model, state, 25);
    assert_near(state->v[6], 0.2 * 9.81 * 0.025, 0.02 * 0.2 * 9.81 * 0.025);
    scene_steps(model, state, 175);
    assert_near(state->v[6], 0.1, 1e-4); // stiction creeps
    assert_near(state->v[0], 0.1, 1e-12);
    scene_free(model, state);
}

// A block on a turntable: the way of points is that of a turn, not of its tangent.
static void test_turn(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 10\n"
                                 "contact: {friction: 1}\nbodies:\n" PLATE
                                 "  - {name: block, type: rigid, shape: {box: [0.02, 0.02, 0.02]}, total_mass: 1,\n"
                                 "     transform: {translate: [0.05, 0, 0.01]}}\n"
                                 "motion: {keyframes: [{t: 0, plate.rz: 0}, {t: 1, plate.rz: 90 deg}]}\n",
                                 "-0.01");
    tdState *state = scene_state(model);
    scene_steps(model, state, 100);
    double angle = atan2(state->q[7], state->q[6]), radius = hypot(state->q[6], state->q[7]);
    assert_near(radius, 0.05, 5e-4);
    assert_near(angle, M_PI / 2, 0.01);
    scene_free(model, state);
}

// Pose and twist: the second is the rate of the first, at large rotation vectors too.
static void test_twist(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\nsteps: 1\ntime_step: 1 ms\nbodies:\n" PLATE, "0.3");
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    assert_true(body->guided != NULL);
    uint64_t seed = 7;
    for (int trial = 0; trial < 20; trial++)
    {
        double q[6], v[6], ahead[6], behind[6], twist[6], step = 1e-6;
        for (int k = 0; k < 6; k++)
        {
            q[k] = (k < 3 ? 0.1 : 1.7) * next_random(&seed);
            v[k] = next_random(&seed);
            ahead[k] = q[k] + step * v[k];
            behind[k] = q[k] - step * v[k];
        }
        tdPose pose, next, last;
        body->ops->part(body, state, q, v, 0, &pose, twist);
        body->ops->part(body, state, ahead, NULL, 0, &next, NULL);
        body->ops->part(body, state, behind, NULL, 0, &last, NULL);
        const double local[3] = {0.1, -0.2, 0.3};
        double arm[3], x1[3], x0[3];
        td_turn(&pose, local, arm);
        td_place(&next, local, x1);
        td_place(&last, local, x0);
        const double expected[3] = {twist[0] + twist[4] * arm[2] - twist[5] * arm[1],
                                    twist[1] + twist[5] * arm[0] - twist[3] * arm[2],
                                    twist[2] + twist[3] * arm[1] - twist[4] * arm[0]};
        const double f[3] = {0.3, -0.7, 0.2};
        tdTouchPoint point = {.local = local};
        double m[6] = {0}, power = 0, work = 0;
        memcpy(state->q, q, sizeof q);
        body->ops->push(body, state, &point, 0, f, m);
        for (int k = 0; k < 3; k++)
        {
            assert_near((x1[k] - x0[k]) / (2 * step), expected[k], 1e-8);
            power += f[k] * expected[k];
        }
        for (int k = 0; k < 6; k++)
            work += m[k] * v[k];
        assert_near(work, power, 1e-12);
    }
    scene_free(model, state);
}

// A body that follows another keeps its place against it while that one moves, turns and passes a trocar; its own
// inputs are a motion against it.
static void test_follow(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 1\nbodies:\n"
                                 "  - {name: jaw, type: rigid, shape: {sphere: 0.1}, guided: true, follows: tip, "
                                 "transform: {translate: [0.5, 0.2, "
                                 "-1]}}\n"
                                 "  - {name: tip, type: rigid, shape: {sphere: 0.1}, guided: true, trocar: [0, 0, 2], "
                                 "transform: {rotate: [0, 90 "
                                 "deg, 0], translate: [0, 0, -1]}}\n"
                                 "motion: {keyframes: [{t: 0, tip.x: 0, tip.y: 0, tip.z: 0, tip.rz: 0, jaw.x: 0}, {t: "
                                 "1, tip.x: 1.5, tip.y: -0.4, "
                                 "tip.z: 0.3, tip.rz: 30 deg, jaw.x: -0.1}]}\n");
    tdState *state = scene_state(model);
    for (int k = 0; k < 100; k++)
    {
        scene_steps(model, state, 1);
        double share = 0.01 * (k + 1);
        tdPose jaw = td_guided_pose(model->bodies[0].guided, state->q + model->bodies[0].first);
        tdPose tip = td_guided_pose(model->bodies[1].guided, state->q + model->bodies[1].first);
        double between[3], shaft[3] = {-tip.t[0], -tip.t[1], 2 - tip.t[2]}, was[3] = {-1, 0, 0}, now[3];
        assert_near(tip.t[0], 1.5 * share, 1e-12);
        for (int c = 0; c < 3; c++)
            between[c] = jaw.t[c] - tip.t[c];
        double x = 0.5 - 0.1 * share;
        assert_near(between[0] * between[0] + between[1] * between[1] + between[2] * between[2], x * x + 0.04, 1e-12);
        // The axis that went through the trocar at the start, -x of the turned tip, still does.
        td_turn(&tip, was, now);
        double length = sqrt(shaft[0] * shaft[0] + shaft[1] * shaft[1] + shaft[2] * shaft[2]);
        for (int c = 0; c < 3; c++)
            assert_near(now[c], shaft[c] / length, 1e-12);
        double along = between[0] * now[0] + between[1] * now[1] + between[2] * now[2];
        assert_near(along, 0, 1e-12); // as it was at the start
    }
    scene_free(model, state);
}

static void test_refusals(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *text, *says;
    } cases[] = {
        {"{name: a, type: rigid, shape: {sphere: 1}, guided: true, density: 1}", "whatever its mass"},
        {"{name: a, type: rigid, shape: {sphere: 1}, guided: true, fixed: true}", "fixed or guided"},
        {"{name: a, type: rigid, shape: {plane: true}, guided: true}", "a plane cannot move"},
        {"{name: a, type: rigid, shape: {sphere: 1}, guided: true, velocity: [1, 0, 0]}", "the body is guided"},
        {"{name: a, type: articulated, urdf: a.urdf, guided: true}", "takes no 'guided'"},
        {"{name: a, type: rigid, shape: {sphere: 1}}", "or 'guided: true'"},
        {"{name: a, type: rigid, shape: {sphere: 1}, fixed: true, trocar: [0, 0, 1]}", "add 'guided: true'"},
        {"{name: a, type: rigid, shape: {sphere: 1}, guided: true, trocar: [0, 0, 0]}", "has its tip"},
        {"{name: a, type: rigid, shape: {sphere: 1}, guided: true, follows: a}", "cannot follow 'a'"},
        {"{name: a, type: rigid, shape: {sphere: 1}, guided: true, follows: b}", "cannot follow 'b'"},
        {"{name: a, type: rigid, shape: {sphere: 1}, guided: true, close: [0, 0, 1]}", "add 'follows: BODY'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        char text[512];
        tdModel *model = NULL;
        tdError error = {0};
        tdSettings settings = td_default_settings();
        snprintf(text, sizeof text, "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - %s\n", cases[i].text);
        assert_int_equal(td_model_parse(text, strlen(text), "scene", NULL, &settings, &model, &error), TD_ERROR_INPUT);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", error.message, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_press), cmocka_unit_test(test_carry),    cmocka_unit_test(test_turn),
        cmocka_unit_test(test_twist), cmocka_unit_test(test_refusals), cmocka_unit_test(test_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
