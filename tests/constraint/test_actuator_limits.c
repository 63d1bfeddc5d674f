// SPDX-License-Identifier: Apache-2.0
// Limits of actuators in forward drives and in inverse control: those of gas, those that nothing could keep, and what
// is told when they hold.
#include "actuators.h"

#include "base/file.h"
#include "output/actuation.h"

#define PUSH "type: force, body: beam, group: xmax, drive: force"

// ---------------------------------------------------------------- a block with a cavity

// A closed box from (25, 5, 5) to (75, 15, 15) mm inside the beam of actuators.h: 5 mL.
static const char *cavity_file(void)
{
    static const char name[] = "test_actuator_limits.obj";
    static const char text[] = "v 0.025 0.005 0.005\nv 0.075 0.005 0.005\nv 0.075 0.015 0.005\nv 0.025 0.015 0.005\n"
                               "v 0.025 0.005 0.015\nv 0.075 0.005 0.015\nv 0.075 0.015 0.015\nv 0.025 0.015 0.015\n"
                               "f 1 3 2\nf 1 4 3\nf 5 6 7\nf 5 7 8\nf 1 2 6\nf 1 6 5\n"
                               "f 3 4 8\nf 3 8 7\nf 1 5 8\nf 1 8 4\nf 2 3 7\nf 2 7 6\n";
    static char path[512];
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", TD_BUILD_DIR, name);
    assert_ok(td_file_write(path, text, sizeof text - 1, &error), error);
    return path;
}

static tdModel *cavity_model(const char *keys, const char *rest)
{
    tdModel *model = scene_model(ACT_STATIC ACT_BEAM "actuators:\n  - {name: air, type: cavity, body: beam, surface: "
                                                     "%s, drive: gas, %s}\n%s",
                                 cavity_file(), keys, rest);
    remove(cavity_file());
    return model;
}

// As the gas law has it: what was pumped in, as its volume at ambient pressure.
static double gas_of(const tdModel *model, const tdState *state)
{
    tdActuation air = act_of(model, state, "air");
    double rest = model->actuators[0].rest_value, ambient = 101325;
    return (air.effort + ambient) * (rest + air.displacement) / ambient - rest;
}

static void gas_stops_at_a_pressure(void **unused)
{
    (void)unused;
    tdModel *model = cavity_model("effort_range: [-2 kPa, 5 kPa]", "");
    tdState *state = scene_state(model);
    act_step(model, state, "air", 0.1e-6);
    assert_near(gas_of(model, state), 0.1e-6, 1e-12); // 1e-7 of the volume: Newton's tolerance
    act_step(model, state, "air", 3e-6);
    assert_near(act_of(model, state, "air").effort, 5e3, 1e-6);
    assert_int_equal(act_of(model, state, "air").effort_bound, 1);
    act_step(model, state, "air", -3e-6);
    assert_near(act_of(model, state, "air").effort, -2e3, 1e-6);
    scene_free(model, state);
}

static void gas_is_limited_in_inverse_control(void **unused)
{
    (void)unused;
    tdModel *model = cavity_model("range: [-0.1 mL, 0.5 mL]", "effectors: [{name: v, type: volume, actuator: air}]\n");
    tdState *state = scene_state(model);
    const double goals[] = {5.02e-6, 7e-6, 4e-6};
    for (int k = 0; k < 3; k++)
    {
        assert_int_equal(td_state_set_target(model, state, 0, &goals[k]), TD_OK);
        scene_steps(model, state, 1);
        assert_int_equal(td_state_report(state)->out_of_reach, k > 0);
        double gas = gas_of(model, state);
        print_message("gas %g mL\n", 1e6 * gas);
        if (k == 0)
            assert_true(gas > -0.1e-6 && gas < 0.5e-6);
        else
            assert_near(gas, k == 1 ? 0.5e-6 : -0.1e-6, 1e-12); // 1e-7 of the volume: Newton's tolerance
    }
    scene_free(model, state);
}

// Limits that a motion would go past are refused; without a motion inverse control keeps them.
static void limits_that_nothing_keeps(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *keys, *says;
    } cases[] = {
        {"type: translation, group: xmax, direction: [0, 0, 1], drive: displacement, effort_range: [0, 1 N]",
         "a translation that is driven by displacement"},
        {"type: rotation, group: xmax, axis: [1, 0, 0], center: [0, 0, 0], drive: angle, effort_rate: 1 N*m/s",
         "a rotation that is driven by angle"},
        {"type: cavity, surface: CAVITY, drive: gas, displacement_range: [none, 1 mL]", "grows as the gas makes it"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int driven = 0; driven < 2; driven++)
        {
            char keys[1024], text[4096];
            const char *at = strstr(cases[k].keys, "CAVITY");
            snprintf(keys, sizeof keys, "%.*s%s%s", at != NULL ? (int)(at - cases[k].keys) : 1000, cases[k].keys,
                     at != NULL ? cavity_file() : "", at != NULL ? at + strlen("CAVITY") : "");
            snprintf(text, sizeof text, ACT_STATIC ACT_BEAM "actuators: [{name: a, body: beam, %s}]\n%s", keys,
                     driven ? "motion: {keyframes: [{t: 0, a: 0}]}\n"
                            : "effectors: [{name: tip, body: beam, point: [0.1, 0.01, 0.01]}]\n");
            tdModel *model = NULL;
            tdError error = {0};
            tdStatus status = td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error);
            assert_int_equal(status, driven ? TD_ERROR_INPUT : TD_OK);
            assert_true(!driven || strstr(error.message, cases[k].says) != NULL);
            td_model_free(model);
        }
    remove(cavity_file());
}

// A stop holds back an actuator that is driven by effort, a limit of the pressure one that is filled with gas.
static void stops_are_told(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(ACT_STATIC ACT_BEAM "actuators:\n"
                                                     "  - {name: a, " PUSH
                                                     ", direction: [0, 0, 1], displacement_range: [none, 1 mm]}\n");
    tdState *state = scene_state(model);
    act_step(model, state, "a", 1e-3);
    assert_int_equal(td_actuation_saturated(model, state), -1);
    act_step(model, state, "a", 0.1);
    assert_int_equal(td_actuation_saturated(model, state), 0);
    scene_free(model, state);
    model = scene_model(ACT_STATIC ACT_BEAM "actuators:\n  - {name: a, type: translation, body: beam, group: xmax, "
                                            "direction: [0, 0, 1], drive: force, displacement_range: [0, 1 mm]}\n");
    state = scene_state(model);
    act_step(model, state, "a", 0);
    assert_int_equal(td_actuation_saturated(model, state), -1);
    act_step(model, state, "a", 1e-3);
    assert_int_equal(td_actuation_saturated(model, state), -1);
    act_step(model, state, "a", 1);
    assert_int_equal(td_actuation_saturated(model, state), 0);
    scene_free(model, state);
    model = cavity_model("effort_range: [0, 5 kPa]", "");
    state = scene_state(model);
    act_step(model, state, "air", 0);
    assert_int_equal(td_actuation_saturated(model, state), -1);
    act_step(model, state, "air", 3e-6);
    assert_int_equal(td_actuation_saturated(model, state), 0);
    scene_free(model, state);
}

// Nodes that are moved by a torque get it to what one linearization leaves: where there is no stop nothing is one.
static void torque_without_stops(void **unused)
{
    (void)unused;
    for (int stop = 0; stop < 2; stop++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 5 ms\nsteps: 30\n" ACT_BEAM
            "actuators:\n  - {name: a, type: rotation, body: beam, group: xmax, axis: [0, 1, 0], center: [0.1, 0.01, "
            "0.01], drive: torque%s}\n",
            stop ? ", displacement_range: [none, 0.2 rad]" : "");
        tdState *state = scene_state(model);
        bool off = false, told = false;
        for (int step = 1; step <= 30; step++)
        {
            act_step(model, state, "a", 0.002 * step);
            tdActuation now = td_state_actuation(model, state, 0);
            off = off || fabs(now.effort - 0.002 * step) > 1e-5 * now.effort;
            told = told || td_actuation_saturated(model, state) == 0;
        }
        assert_true(off);
        assert_true(told == (stop == 1));
        scene_free(model, state);
    }
}

// A stop holds though it is another actuator that takes the beam there, in the step in which it begins to.
static void stops_hold_against_others(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 10 ms\nsteps: 9\nintegrator: {newton: %s}\n" ACT_BEAM
            "actuators:\n  - {name: a, " PUSH ", direction: [0, 0, 1], displacement_rate: 1 mm/s}\n"
            "  - {name: cable, type: cable, body: beam, path: [[0.05, 0.01, 0.018]], pull_point: [0, 0.01, 0.018], "
            "drive: displacement}\n",
            k == 1 ? "true" : "false");
        tdState *state = scene_state(model);
        act_set(model, state, "a", 0);
        for (int s = 1; s <= 5; s++)
        {
            act_step(model, state, "cable", 5e-5 * s);
            assert_near(act_of(model, state, "cable").displacement, 5e-5 * s, 1e-7);
            assert_near(act_of(model, state, "a").displacement, 1e-5 * s, 1e-7);
            assert_true(act_of(model, state, "a").effort < 0);
        }
        scene_free(model, state);
    }
}

// Both stops hold, and rates, where contact points are followed too: steps that cross a whole range and back, with all
// solvers. The beam lies on a floor.
static void stops_hold_beside_contact(void **unused)
{
    (void)unused;
    const char *how[] = {"contact: {}\n", "contact: {solver: nlcp}\n", "contact: {}\nintegrator: {newton: true}\n"};
    const char *const limits[] = {"displacement_range: [-1 mm, 1 mm]", "displacement_rate: 0.1 m/s"};
    const char *const cable = "type: cable, body: beam, path: [[0.1, 0.01, 0.01]], pull_point: [-0.01, 0.01, 0.01], "
                              "stiffness: 200 N, drive: force";
    for (int k = 0; k < 12; k++)
    {
        bool elastic = k % 4 > 1;
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 9\n%s" ACT_BEAM
                        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true, transform: "
                        "{translate: [0, 0, 0]}}\nactuators: [{name: a, %s%s, %s}]\n",
                        how[k / 4], elastic ? cable : PUSH, elastic ? "" : ", direction: [1, 0, 0]", limits[k % 2]);
        tdState *state = scene_state(model);
        double before = 0;
        for (int s = 0; s < 4; s++)
        {
            double asked = elastic ? (s % 2 == 0 ? 20 : 0) : s % 2 == 0 ? 20 : -20;
            act_step(model, state, "a", asked);
            assert_true(state->joined);
            tdActuation a = act_of(model, state, "a");
            bool up = s % 2 == 0, rate = k % 2 == 1;
            double stop = rate ? before + (up ? 1e-3 : -1e-3) : up ? 1e-3 : -1e-3;
            if (!elastic || up) // slack, it goes back by itself
                assert_near(a.displacement, stop, k / 4 == 2 || elastic ? 3e-6 : 1e-7);
            assert_true(a.effort <= fmax(asked, 0) + 20 * !up && fabs(a.effort) < 20);
            before = a.displacement;
        }
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- reach

static void reach_does_not_depend_on_weights(void **unused)
{
    (void)unused;
    const char *const weights[] = {"1e-7", "1", "1e7"};
    for (int k = 0; k < 3; k++)
        for (int far = 0; far < 2; far++)
        {
            tdModel *model = scene_model(ACT_STATIC ACT_BEAM
                                         "actuators: [{name: push, " PUSH ", direction: [0, 0, 1], range: [-20 mN,"
                                         " 20 mN]}]\neffectors: [{name: tip, body: beam, group: xmax, axes: z, "
                                         "weight: %s, target: [0, 0, %s mm]}]\n",
                                         weights[k], far ? "20" : "10.5");
            tdState *state = scene_state(model);
            scene_steps(model, state, 1);
            assert_int_equal(td_state_report(state)->out_of_reach, far);
            double tip[3];
            td_state_effector(model, state, 0, tip);
            print_message("weight %s: tip at %g mm, %g N\n", weights[k], 1e3 * tip[2],
                          act_of(model, state, "push").effort);
            if (far)
                assert_near(act_of(model, state, "push").effort, 0.02, 1e-12);
            else
                assert_near(tip[2], 0.0105, 1e-7 * model->size); // a tenth of the tolerance of control
            scene_free(model, state);
        }
}

// A volume beside a position, both in reach but not within a step: both are reached in the end.
static void kinds_of_effectors_together(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\n" ACT_BEAM
                    "actuators:\n  - {name: air, type: cavity, body: beam, surface: %s, drive: pressure, range: [0, 4 "
                    "kPa]}\n"
                    "  - {name: push, " PUSH ", direction: [0, 0, 1], range: [-20 mN, 20 mN]}\n"
                    "effectors:\n  - {name: tip, body: beam, group: xmax, axes: z, target: [0, 0, 10.5 mm]}\n"
                    "  - {name: v, type: volume, actuator: air, target: 5.15 mL}\n",
                    cavity_file());
    remove(cavity_file());
    tdState *state = scene_state(model);
    for (int s = 0; s < 300; s++)
        scene_steps(model, state, 1);
    double tip[3], volume[3];
    td_state_effector(model, state, 0, tip);
    td_state_effector(model, state, 1, volume);
    print_message("tip %g mm, volume %g mL at %g kPa\n", 1e3 * tip[2], 1e6 * volume[0],
                  1e-3 * act_of(model, state, "air").effort);
    assert_near(tip[2], 10.5e-3, 1e-7); // control.tolerance, 1e-6 of the size
    assert_near(volume[0], 5.15e-6, 5e-12);
    assert_false(td_state_report(state)->out_of_reach);
    scene_free(model, state);
}

// Efforts of 1 and 2 N that are to be equal, and a stop a tenth of the beam away from where the force may push it.
static void contradictions_are_relative(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model(ACT_STATIC ACT_BEAM "actuators:\n  - {name: a, " PUSH ", direction: [0, 0, 1], range: [0, 0], "
                                        "displacement_range: [10 mm, 11 mm]}\n"
                                        "effectors: [{name: tip, body: beam, group: xmax, target: [0, 0, 10 mm]}]\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 1);
    assert_near(td_state_report(state)->bound_violation, 0.1, 1e-6);
    scene_free(model, state);
    model =
        scene_model(ACT_STATIC ACT_BEAM "actuators:\n  - {name: a, " PUSH ", direction: [0, 0, 1], range: [0, 1 mN]}\n"
                                        "  - {name: b, " PUSH ", direction: [0, 1, 0], range: [2 mN, 3 mN]}\n"
                                        "effectors: [{name: tip, body: beam, group: xmax, target: [0, 0, 10 mm]}]\n"
                                        "control: {groups: [{actuators: [a, b], share: effort}]}\n");
    state = scene_state(model);
    scene_steps(model, state, 1);
    assert_near(td_state_report(state)->bound_violation, 0.5, 1e-6);
    scene_free(model, state);
}

// Twice as long, or half way between two lines of a file: the same direction.
static void directions_have_no_length(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(ACT_STATIC ACT_BEAM
                                 "actuators:\n  - {name: a, " PUSH ", direction: [0, 0, 1]}\n"
                                 "effectors: [{name: aim, type: direction, body: beam, group: xmax, direction: [1, 0, "
                                 "0]}]\n");
    for (int k = 0; k < 3; k++)
    {
        tdState *state = scene_state(model);
        double length = k == 0 ? 1 : k == 1 ? 2 : 0.5, goal[3] = {length, 0, 0.05 * length};
        assert_int_equal(td_state_set_target(model, state, 0, goal), TD_OK);
        scene_steps(model, state, 1);
        double aim[3];
        td_state_effector(model, state, 0, aim);
        print_message("length %g: residual %g, slope %.9f\n", length, td_state_report(state)->inverse_residual,
                      aim[2] / aim[0]);
        assert_near(td_state_report(state)->inverse_residual, fabs(aim[1]), 1e-7); // across the force it may turn a bit
        assert_near(aim[2] / aim[0], 0.05, 1e-7);
        td_state_free(state);
    }
    td_model_free(model);
}

// With what damps the fastest motions the efforts settle; without, they would alternate for ever, and are refused.
static void integrators_of_inverse_control(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *integrator;
        bool good;
    } cases[] = {{"backward_euler", true},
                 {"theta, theta: 0.7, theta_vq: 0.7", true},
                 {"newmark, gamma: 0.8, beta: 0.4225", true},
                 {"newmark", false},
                 {"newmark, gamma: 1, beta: 0.5", false},
                 {"midpoint", false},
                 {"theta, theta: 1, theta_vq: 0.5", false},
                 {"symplectic", false}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int with_target = 0; with_target < 2; with_target++)
        {
            char text[4096];
            snprintf(text, sizeof text,
                     "tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {method: %s}\n" ACT_BEAM
                     "actuators: [{name: a, " PUSH ", direction: [0, 0, 1]}]\n"
                     "effectors: [{name: tip, body: beam, group: xmax, axes: z%s}]\n",
                     cases[k].integrator, with_target ? ", target: [0, 0, 10.5 mm]" : "");
            tdModel *model = NULL;
            tdError error = {0};
            tdStatus status = td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error);
            assert_int_equal(status, cases[k].good || !with_target ? TD_OK : TD_ERROR_INPUT);
            assert_true(status == TD_OK || strstr(error.message, "would oscillate") != NULL);
            if (status != TD_OK)
                continue;
            tdState *state = scene_state(model);
            const double goal[3] = {0, 0, 0.0105};
            assert_int_equal(td_state_set_target(model, state, 0, goal), cases[k].good ? TD_OK : TD_ERROR_USAGE);
            scene_steps(model, state, cases[k].good ? 400 : 0);
            if (cases[k].good)
                assert_near(act_of(model, state, "a").effort, 4.01887e-3, 1e-7); // that of the static scene above
            scene_free(model, state);
        }
}

// Newmark starts with the acceleration of the loads at t = 0, be they loads or actuators.
static void newmark_starts_alike(void **unused)
{
    (void)unused;
    static const char head[] = "tendril: 1\ntime_step: 5 ms\nsteps: 20\nintegrator: {method: newmark}\n" ACT_BEAM;
    static const char motion[] = "motion: {keyframes: [{t: 0, a: 1}, {t: 10 ms, a: 0}]}\n";
    tdModel *load =
        scene_model("%sloads: [{name: a, type: point, body: beam, group: xmax, force: [0, 0, 0.1]}]\n%s", head, motion);
    tdModel *actuator = scene_model("%sactuators: [{name: a, " PUSH ", direction: [0, 0, 1]}]\n"
                                    "motion: {keyframes: [{t: 0, a: 0.1}, {t: 10 ms, a: 0}]}\n",
                                    head);
    tdState *by_load = scene_state(load), *by_actuator = scene_state(actuator);
    scene_steps(load, by_load, 20);
    scene_steps(actuator, by_actuator, 20);
    double off = act_distance(load, by_load->q, by_actuator->q);
    print_message("off by %g\n", off);
    assert_true(off < 1e-9); // the linear solver's tolerance
    scene_free(load, by_load);
    scene_free(actuator, by_actuator);
}

// ---------------------------------------------------------------- motors

// One motor for two cables on either side: it winds one in and lets the other out, which hangs slack.
static void antagonists(void **unused)
{
    (void)unused;
    static const char *const path[] = {"[0.1, 0.02, 0.01], [0.05, 0.02, 0.01], [0, 0.02, 0.01]",
                                       "[0.1, 0, 0.01], [0.05, 0, 0.01], [0, 0, 0.01]"};
    tdModel *model = scene_model(
        ACT_STATIC ACT_BEAM
        "actuators:\n"
        "  - {name: left, type: cable, body: beam, drive: displacement, range: [-0.02, 0.02], path: [%s]}\n"
        "  - {name: right, type: cable, body: beam, drive: displacement, range: [-0.02, 0.02], path: [%s]}\n"
        "effectors: [{name: tip, body: beam, point: [0.1, 0.01, 0.01], axes: y}]\n"
        "control: {groups: [{actuators: [left, right], ratio: [1, -1]}]}\n",
        path[0], path[1]);
    tdState *state = scene_state(model);
    for (int side = 0; side < 2; side++)
    {
        const double target[3] = {0.1, side == 0 ? 0.012 : 0.009, 0.01};
        assert_int_equal(td_state_set_target(model, state, 0, target), TD_OK);
        assert_int_equal(td_step(model, state), TD_OK);
        double tip[3];
        td_state_effector(model, state, 0, tip);
        assert_near(tip[1], target[1], 1e-9); // a thousandth of Newton's tolerance on the body's size
        assert_false(td_state_report(state)->out_of_reach);
        assert_true(act_of(model, state, side == 0 ? "left" : "right").effort > 0.01);
        assert_near(act_of(model, state, side == 0 ? "right" : "left").effort, 0, 0);
    }
    scene_free(model, state);
}

// A target a kilometre away is out of reach, and the robot does not fly after it.
static void far_targets(void **unused)
{
    (void)unused;
    static const char *const integrators[] = {"method: static", "method: backward_euler"};
    for (int k = 0; k < 2; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\nintegrator: {%s}\ntime_step: 0.01\nsteps: 1\n" ACT_BEAM
                        "actuators: [{name: push, " PUSH ", direction: [0, 0, 1], effort_range: [-0.2, 0.2]}]\n"
                        "effectors: [{name: tip, body: beam, point: [0.1, 0.01, 0.01]}]\n",
                        integrators[k]);
        tdState *state = scene_state(model);
        const double target[3] = {0, 0, 1000};
        assert_int_equal(td_state_set_target(model, state, 0, target), TD_OK);
        for (int s = 0; s < 20; s++)
            assert_int_equal(td_step(model, state), TD_OK);
        double tip[3];
        td_state_effector(model, state, 0, tip);
        assert_true(tip[2] > 0.011 && tip[2] < 0.2);
        assert_true(td_state_report(state)->out_of_reach);
        assert_near(act_of(model, state, "push").effort, 0.2, 1e-6);
        scene_free(model, state);
    }
}

// A force that inverse control finds stops where its displacement ends, at either end, however far weight has moved it
// before.
static void inverse_keeps_the_displacement_of_a_force(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\nintegrator: {method: static}\ngravity: [0, 0, -0.5]\ntime_step: 1\nsteps: 1\n" ACT_BEAM
            "actuators: [{name: push, " PUSH ", direction: [0, 0, 1], displacement_range: [-3 mm, 1 mm]}]\n"
            "effectors: [{name: tip, body: beam, point: [0.1, 0.01, 0.01]}]\n");
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        double sunk = act_of(model, state, "push").displacement;
        assert_true(sunk < -0.5e-3 && sunk > -3e-3);
        const double target[3] = {0.1, 0.01, k == 0 ? 0.03 : -0.01}; // beyond
        assert_int_equal(td_state_set_target(model, state, 0, target), TD_OK);
        scene_steps(model, state, 10);
        assert_true(td_state_report(state)->out_of_reach);
        assert_near(act_of(model, state, "push").displacement, k == 0 ? 1e-3 : -3e-3, 1e-6);
        scene_free(model, state);
    }
}

// A target that is taken back is none any more, while another effector keeps its own: the robot moves as one whose
// second effector never had a target.
static void targets_are_taken_back(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\nintegrator: {method: static}\ntime_step: 1\nsteps: 1\n" ACT_BEAM
                                 "actuators: [{name: push, " PUSH ", direction: [0, 0, 1]}, "
                                 "{name: turn, " PUSH ", direction: [0, 1, 0]}]\n"
                                 "effectors: [{name: tip, body: beam, point: [0.1, 0.01, 0.01]}, "
                                 "{name: middle, body: beam, point: [0.05, 0.01, 0.01]}]\n");
    tdState *state = scene_state(model), *other = scene_state(model);
    const double tip[3] = {0.1, 0.012, 0.013}, middle[3] = {0.05, 0.002, 0.01};
    double target[3], one[3], two[3];
    for (int e = 0; e < 2; e++)
        assert_int_equal(td_state_set_target(model, state, e, e == 0 ? tip : middle), TD_OK);
    assert_int_equal(td_state_set_target(model, other, 0, tip), TD_OK);
    scene_steps(model, state, 1);
    assert_true(td_state_target(model, state, 1, target));
    assert_int_equal(td_state_set_target(model, state, 1, NULL), TD_OK);
    scene_steps(model, state, 3);
    scene_steps(model, other, 4);
    assert_true(td_state_target(model, state, 0, target));
    assert_false(td_state_target(model, state, 1, target));
    for (int e = 0; e < 2; e++)
    {
        td_state_effector(model, state, e, one);
        td_state_effector(model, other, e, two);
        for (int c = 0; c < 3; c++)
            assert_near(one[c], two[c], 1e-6);
    }
    td_state_free(other);
    scene_free(model, state);
}

// Before the first step an effector is where the body is at rest, and its error counts from there.
static void effectors_start_at_rest(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: arm\n"
                                 "    mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [4, 1, 1]}\n"
                                 "    material: {law: neo_hookean, young: 2e5, poisson: 0.3, density: 1000}\n"
                                 "    fixed: [{group: xmin}]\n"
                                 "effectors:\n  - {name: tip, body: arm, point: [0.4, 0.05, 0.02]}\n"
                                 "  - {name: height, body: arm, point: [0.3, 0.05, 0.07], axes: z}\n");
    tdState *state = scene_state(model);
    const double rest[2][3] = {{0.4, 0.05, 0.02}, {0.3, 0.05, 0.07}};
    for (int k = 0; k < 2; k++)
    {
        double value[3];
        td_state_effector(model, state, k, value);
        for (int r = 0; r < 3; r++)
            assert_near(value[r], rest[k][r], 1e-15);
    }
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_keeps_the_displacement_of_a_force),
        cmocka_unit_test(effectors_start_at_rest),
        cmocka_unit_test(targets_are_taken_back),
        cmocka_unit_test(gas_stops_at_a_pressure),
        cmocka_unit_test(gas_is_limited_in_inverse_control),
        cmocka_unit_test(limits_that_nothing_keeps),
        cmocka_unit_test(stops_are_told),
        cmocka_unit_test(torque_without_stops),
        cmocka_unit_test(stops_hold_against_others),
        cmocka_unit_test(stops_hold_beside_contact),
        cmocka_unit_test(reach_does_not_depend_on_weights),
        cmocka_unit_test(kinds_of_effectors_together),
        cmocka_unit_test(contradictions_are_relative),
        cmocka_unit_test(directions_have_no_length),
        cmocka_unit_test(integrators_of_inverse_control),
        cmocka_unit_test(newmark_starts_alike),
        cmocka_unit_test(antagonists),
        cmocka_unit_test(far_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
