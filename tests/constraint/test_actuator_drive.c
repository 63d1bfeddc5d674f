// SPDX-License-Identifier: Apache-2.0
// How actuators are driven: corners and friction, slack, limits and rates, redundancy and contradiction, held nodes
// by displacement and by effort, two bodies on one cable.
#include "actuators.h"

// ---------------------------------------------------------------- corners and friction

// The half of the beam at its root is held, so that nothing but the cable pulls at the node under the corner.
#define CORNER                                                                                                         \
    "bodies:\n  - name: beam\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [10, 2, 2]}\n"                    \
    "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.4}\n    fixed: [{box: [[0, 0, 0], [0.05, 1, 1]]}]\n"  \
    "actuators:\n  - {name: cable, type: cable, body: beam, path: [[0.1, 0.01, 0.02], [0, 0.01, 0.02]],\n"             \
    "     pull_point: [-0.03, 0.02, 0.06], %s}\n"

static const double corner[3] = {0, 0.01, 0.02}, pull[3] = {-0.03, 0.02, 0.06};

static int32_t node_at(const tdModel *model, const double p[3])
{
    const tdSoft *soft = scene_soft(model);
    for (int32_t i = 0; i < soft->n_nodes; i++)
        if (fabs(soft->rest[3 * i] - p[0]) + fabs(soft->rest[3 * i + 1] - p[1]) + fabs(soft->rest[3 * i + 2] - p[2]) <
            1e-9)
            return i;
    fail_msg("no node there");
    return -1;
}

static void unit(const double *from, const double *to, double t[3])
{
    double size = 0;
    for (int c = 0; c < 3; c++)
        size += (to[c] - from[c]) * (to[c] - from[c]);
    for (int c = 0; c < 3; c++)
        t[c] = (to[c] - from[c]) / sqrt(size);
}

// What holds the corner: -(T out + T' back), T' the tension of the tied segment. Returns T' of least squares.
static double tied_tension(const tdModel *model, const tdState *state, double *angle)
{
    double tip[3] = {0.1, 0.01, 0.02}, back[3], out[3], T = act_of(model, state, "cable").effort;
    memcpy(tip, state->q + 3 * (int64_t)node_at(model, tip), sizeof tip);
    const double *reaction = state->reaction + 3 * (int64_t)node_at(model, corner);
    unit(corner, tip, back);
    unit(corner, pull, out);
    double tied = 0, dot = 0;
    for (int c = 0; c < 3; c++)
    {
        tied -= (reaction[c] + T * out[c]) * back[c];
        dot -= back[c] * out[c];
    }
    *angle = acos(dot);
    for (int c = 0; c < 3; c++)
        assert_near(reaction[c], -T * out[c] - tied * back[c], 1e-9 * T);
    return tied;
}

static void corner_takes_the_tension_of_both_sides(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(ACT_STATIC CORNER, "drive: force");
    tdState *state = scene_state(model);
    double angle;
    for (int k = 1; k <= 5; k++)
    {
        act_step(model, state, "cable", 0.1 * k);
        assert_near(act_of(model, state, "cable").effort, 0.1 * k, 0);
        assert_near(tied_tension(model, state, &angle), 0.1 * k, 1e-10);
    }
    assert_true(angle > 0.7); // it does bend there
    scene_free(model, state);
}

// Capstan law: wound in, the tied end has exp(-mu angle) of the pulling tension, let out exp(mu angle); between them
// the tension turns round over the slip distance without the body moving much.
static void friction_follows_the_capstan_law(void **unused)
{
    (void)unused;
    const double mu = 0.3, slip = 2e-4;
    tdModel *model = scene_model(ACT_STATIC CORNER, "drive: displacement, friction: 0.3, slip: 0.2 mm");
    tdState *state = scene_state(model);
    double angle, in[4], out[4], tip;
    for (int k = 1; k <= 8; k++)
    {
        act_step(model, state, "cable", 0.5e-3 * k);
        tip = tied_tension(model, state, &angle);
        assert_near(tip, exp(-mu * angle) * act_of(model, state, "cable").effort, 1e-10);
        if (k % 2 == 1)
            in[k / 2] = act_of(model, state, "cable").effort;
    }
    // Turning round: half the slip on, the sense of sliding has gone from 1 to 1/2.
    act_step(model, state, "cable", 4e-3 - 0.5 * slip);
    tip = tied_tension(model, state, &angle);
    assert_near(tip, exp(-0.5 * mu * angle) * act_of(model, state, "cable").effort, 1e-6);
    for (int k = 7; k >= 1; k -= 2)
    {
        act_step(model, state, "cable", 0.5e-3 * k);
        tip = tied_tension(model, state, &angle);
        assert_near(tip, exp(mu * angle) * act_of(model, state, "cable").effort, 1e-10);
        out[k / 2] = act_of(model, state, "cable").effort;
        // The same displacement is the same shape: friction alone tells the ways apart.
        assert_near(in[k / 2] / out[k / 2], exp(2 * mu * angle), 1e-7);
    }
    print_message("tension at 3.5 mm: %.6g N on the way in, %.6g N on the way out\n", in[3], out[3]);
    scene_free(model, state);
}

// Driven by force the sliding is part of the problem: turned round, the cable first sticks, then lets go.
static void friction_under_given_force(void **unused)
{
    (void)unused;
    const double mu = 0.3;
    tdModel *model = scene_model(ACT_STATIC CORNER, "drive: force, friction: 0.3, slip: 0.2 mm");
    tdState *state = scene_state(model);
    double angle, most = 0;
    for (int k = 1; k <= 22; k++)
    {
        double T = k <= 10 ? 0.1 * k : 1 - 0.05 * (k - 10);
        act_step(model, state, "cable", T);
        double tip = tied_tension(model, state, &angle), slide = state->constraint->slide[0];
        assert_near(tip, exp(-mu * angle * slide) * T, 1e-6 * T);
        most = fmax(most, act_of(model, state, "cable").displacement);
        if (k == 10)
            assert_near(slide, 1, 0);
    }
    tdActuation end = act_of(model, state, "cable");
    assert_near(state->constraint->slide[0], -1, 0);
    // exp(-2 mu angle) = 0.53: at 0.4 of the force it has come back by about a quarter.
    assert_true(end.displacement < 0.85 * most && end.displacement > 0.65 * most);
    scene_free(model, state);
}

// One linearization a step, as Newton has it: the sense of sliding does not swing, the cable does not creep.
static void friction_does_not_swing(void **unused)
{
    (void)unused;
    tdActuation a[2];
    double slide[2];
    for (int newton = 0; newton < 2; newton++)
    {
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {method: backward_euler, newton: "
                        "%s}\n" ACT_BEAM
                        "actuators: [{name: cable, type: cable, body: beam, path: [[0.1, 0.01, 0.018], [0.05, 0.01, "
                        "0.018], [0, 0.01, 0.018]], pull_point: [-0.01, 0.01, 0.04], drive: force, friction: 0.5}]\n",
                        newton ? "true" : "false");
        tdState *state = scene_state(model);
        for (int k = 1; k <= 300; k++)
            act_step(model, state, "cable", k < 100 ? k / 100.0 : k < 200 ? 1 : k < 250 ? 1 - (k - 200) / 100.0 : 0.5);
        a[newton] = act_of(model, state, "cable");
        slide[newton] = state->constraint->slide[0];
        scene_free(model, state);
    }
    assert_true(fabs(slide[1]) < 0.9); // it sticks, between the two senses
    assert_near(a[0].displacement, a[1].displacement, 1e-3 * a[1].displacement);
    assert_near(slide[0], slide[1], 0.01);
}

// Two cables with friction that work against each other: forces up and down, one or both stick.
static void two_cables_with_friction(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        ACT_STATIC ACT_BEAM
        "actuators:\n"
        "  - {name: a, type: cable, body: beam, path: [[0.1, 0.01, 0.018], [0.05, 0.01, 0.018], [0, 0.01, 0.018]],\n"
        "     pull_point: [-0.01, 0.01, 0.04], drive: force, friction: 0.5}\n"
        "  - {name: b, type: cable, body: beam, path: [[0.1, 0.01, 0.002], [0.05, 0.01, 0.002], [0, 0.01, 0.002]],\n"
        "     pull_point: [-0.01, 0.01, -0.04], drive: force, friction: 0.5}\n");
    tdState *state = scene_state(model);
    static const double forces[8][2] = {{.3, .3}, {.8, .3}, {1, .2}, {.9, .3}, {.7, .5}, {.5, .7}, {.3, 1}, {.3, .3}};
    for (int k = 0; k < 8; k++)
    {
        act_set(model, state, "a", forces[k][0]);
        act_step(model, state, "b", forces[k][1]);
        assert_true(td_state_report(state)->newton_iterations < 12);
        assert_int_equal(td_state_report(state)->load_cuts, 0);
    }
    // The way back is not the way there.
    assert_true(act_of(model, state, "a").displacement > 2 * 0.9e-3);
    scene_free(model, state);
}

// An elastic cable stretches with the force that friction takes: there and back, without load steps being cut.
static void elastic_cable_with_friction(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(ACT_STATIC CORNER, "drive: displacement, friction: 0.3, slip: 0.2 mm, stiffness: 100");
    tdState *state = scene_state(model);
    double angle;
    int most = 0;
    for (int k = 1; k <= 16; k++)
    {
        act_step(model, state, "cable", 0.5e-3 * (k <= 8 ? k : 8 - 0.5 * (k - 8)));
        double tip = tied_tension(model, state, &angle), slide = state->constraint->slide[0];
        assert_near(tip, exp(-0.3 * angle * slide) * act_of(model, state, "cable").effort, 1e-5);
        assert_int_equal(td_state_report(state)->load_cuts, 0);
        most = td_state_report(state)->newton_iterations > most ? td_state_report(state)->newton_iterations : most;
    }
    print_message("elastic cable with friction: at most %d iterations\n", most);
    assert_true(most < 20);
    scene_free(model, state);
}

// Stretch of an elastic cable: what is wound in is what the path gets shorter, and F L / EA.
static void elastic_cable_is_in_series(void **unused)
{
    (void)unused;
    tdModel *stiff =
        scene_model(ACT_STATIC ACT_BEAM "actuators: [{name: cable, " ACT_CABLE ", drive: displacement}]\n");
    tdModel *elastic = scene_model(ACT_STATIC ACT_BEAM "actuators: [{name: cable, " ACT_CABLE
                                                       ", stiffness: 50 N, drive: displacement}]\n");
    tdState *a = scene_state(stiff), *b = scene_state(elastic);
    double length = 0.11;
    for (int k = 1; k <= 3; k++)
    {
        act_step(elastic, b, "cable", 3e-3 * k);
        tdActuation e = act_of(elastic, b, "cable");
        double shortening = 3e-3 * k - e.effort * length / 50;
        assert_near(e.displacement, 3e-3 * k, 1e-12);
        act_step(stiff, a, "cable", shortening);
        assert_near(act_of(stiff, a, "cable").effort, e.effort, 1e-7 * e.effort);
        assert_true(e.effort * length / 50 > 1e-4); // it does stretch
        assert_true(act_distance(stiff, a->q, b->q) < 1e-8);
    }
    scene_free(stiff, a);
    scene_free(elastic, b);
}

// ---------------------------------------------------------------- slack, limits, rates

static const char *const integrators[] = {"{method: static, tolerance: 1e-10}", "{method: backward_euler}",
                                          "{method: backward_euler, newton: true}"};

static tdModel *beam_with(int integrator, const char *actuator)
{
    return scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: %s\n" ACT_BEAM "actuators:\n  - {%s}\n",
                       integrators[integrator], actuator);
}

// Let out more than at rest a cable hangs slack: no force, and nothing moves. On the way it never pushes.
static void cables_only_pull(void **unused)
{
    (void)unused;
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = beam_with(k, "name: cable, " ACT_CABLE ", drive: displacement");
        tdState *state = scene_state(model);
        double least = INFINITY;
        for (int s = 0; s < 120; s++)
        {
            double target = s < 40 ? 5e-3 * (s + 1) / 40 : s < 80 ? 5e-3 - 10e-3 * (s - 39) / 40 : -5e-3;
            act_step(model, state, "cable", target);
            least = fmin(least, act_of(model, state, "cable").effort);
            assert_true(td_state_report(state)->constraint_error < (k == 1 ? 2e-3 : 1e-6));
        }
        assert_true(least == 0);
        tdActuation end = act_of(model, state, "cable");
        assert_near(end.effort, 0, 0);
        assert_int_equal(end.effort_bound, -1);
        // It comes to rest where it started, longer than it would have to be.
        for (int s = 0; k > 0 && s < 300; s++)
            scene_steps(model, state, 1);
        assert_near(act_of(model, state, "cable").displacement, 0, 1e-7);
        assert_near(state->report.constraint_error, 0, 0);
        scene_free(model, state);
    }
}

static void efforts_saturate(void **unused)
{
    (void)unused;
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = beam_with(k, "name: cable, " ACT_CABLE ", drive: displacement, effort_range: [0, 0.5]");
        tdModel *driven = beam_with(k, "name: cable, " ACT_CABLE ", drive: force");
        tdState *state = scene_state(model), *by_force = scene_state(driven);
        for (int s = 0; s < (k == 0 ? 3 : 500); s++)
        {
            act_step(model, state, "cable", 20e-3);
            act_step(driven, by_force, "cable", 0.5);
            assert_true(act_of(model, state, "cable").effort <= 0.5);
        }
        tdActuation a = act_of(model, state, "cable");
        assert_near(a.effort, 0.5, 0);
        assert_int_equal(a.effort_bound, 1);
        assert_true(a.displacement < 19e-3); // it stays behind
        assert_true(act_distance(model, state->q, by_force->q) < 1e-7);
        scene_free(model, state);
        scene_free(driven, by_force);
    }
}

static void displacements_stop(void **unused)
{
    (void)unused;
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = beam_with(k, "name: cable, " ACT_CABLE ", drive: force, displacement_range: [-1 mm, 4 mm]");
        tdModel *driven = beam_with(k, "name: cable, " ACT_CABLE ", drive: displacement");
        tdState *state = scene_state(model), *by_length = scene_state(driven);
        for (int s = 0; s < (k == 0 ? 3 : 500); s++)
        {
            act_step(model, state, "cable", 3);
            act_step(driven, by_length, "cable", 4e-3);
            assert_true(act_of(model, state, "cable").displacement < 4e-3 + (k == 1 ? 1e-4 : 1e-8));
        }
        tdActuation a = act_of(model, state, "cable");
        assert_near(a.displacement, 4e-3, 1e-9);
        assert_int_equal(a.displacement_bound, 1);
        assert_true(a.effort < 3 && a.effort > 0);
        assert_near(a.effort, act_of(driven, by_length, "cable").effort, 1e-6);
        // Less force than the stop takes: it lets go.
        act_set(model, state, "cable", 0.5 * a.effort);
        for (int s = 0; s < (k == 0 ? 1 : 500); s++)
            scene_steps(model, state, 1);
        assert_near(act_of(model, state, "cable").effort, 0.5 * a.effort, 1e-12);
        assert_true(act_of(model, state, "cable").displacement < 3.9e-3);
        scene_free(model, state);
        scene_free(driven, by_length);
    }
}

// A stop holds a cable with friction as it does one without, whether its path is straight or bends: the effort is that
// of the same cable driven to the same length, and the supports bear what it says.
static void stops_hold_cables_with_friction(void **unused)
{
    (void)unused;
    const char *const paths[] = {"path: [[0.1, 0.01, 0.018], [0.05, 0.01, 0.018]], pull_point: [-0.01, 0.01, 0.018]",
                                 "path: [[0.1, 0.01, 0.018], [0.05, 0.01, 0.002]], pull_point: [-0.01, 0.01, 0.018]"};
    const char *const more[] = {"", ", stiffness: 100 N"};
    const char *const floor = "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n";
    for (int k = 0; k < 8; k++)
    {
        bool touches = k % 2 == 1, newton = k / 4 == 1;
        double efforts[2] = {0};
        for (int by_length = 0; by_length < 2; by_length++)
        {
            tdModel *model = scene_model(
                "tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {newton: %s}\n%s" ACT_BEAM "%s"
                "actuators: [{name: cable, type: cable, body: beam, %s, friction: 0.3, drive: %s%s}]\n",
                newton ? "true" : "false", touches ? "contact: {}\n" : "", touches ? floor : "", paths[k / 2 % 2],
                by_length ? "displacement" : "force, displacement_range: [none, 2 mm]", more[!newton]);
            tdState *state = scene_state(model);
            for (int s = 1; s <= 60; s++)
            {
                act_step(model, state, "cable", by_length ? fmin(2e-3, 1e-4 * s) : 0.1 * s);
                assert_true(act_of(model, state, "cable").displacement < 2.01e-3);
            }
            efforts[by_length] = act_of(model, state, "cable").effort;
            assert_near(act_of(model, state, "cable").displacement, 2e-3, 2e-6);
            scene_free(model, state);
        }
        print_message("%d: %.6f N, by its length %.6f N\n", k, efforts[0], efforts[1]);
        assert_true(efforts[0] > 0.01);
        assert_near(efforts[0], efforts[1], 0.02 * efforts[1]);
    }
}

static void rates_are_kept(void **unused)
{
    (void)unused;
    tdModel *model = beam_with(2, "name: cable, " ACT_CABLE ", drive: displacement, displacement_rate: 50 mm/s");
    tdState *state = scene_state(model);
    for (int s = 1; s <= 12; s++)
    {
        act_step(model, state, "cable", 5e-3);
        assert_near(act_of(model, state, "cable").displacement, fmin(0.5e-3 * s, 5e-3), 1e-9);
    }
    scene_free(model, state);
    model = beam_with(1, "name: cable, " ACT_CABLE ", drive: force, effort_rate: 10");
    state = scene_state(model);
    for (int s = 1; s <= 12; s++)
    {
        act_step(model, state, "cable", 1);
        assert_near(act_of(model, state, "cable").effort, fmin(0.1 * s, 1), 1e-12);
    }
    scene_free(model, state);
}

// ---------------------------------------------------------------- the same twice, contradictions

static void same_cable_twice(void **unused)
{
    (void)unused;
    for (int k = 0; k < 3; k++)
    {
        tdModel *one = beam_with(k, "name: a, " ACT_CABLE ", drive: displacement");
        tdModel *two = beam_with(k, "name: a, " ACT_CABLE ", drive: displacement}\n  - {name: b, " ACT_CABLE
                                    ", drive: displacement");
        tdState *s1 = scene_state(one), *s2 = scene_state(two);
        int steps = k == 0 ? 20 : 200;
        double most = 0;
        for (int s = 0; s < steps; s++)
        {
            double value = 6e-3 * fmin(1, (s + 1) / 20.0);
            act_step(one, s1, "a", value);
            act_set(two, s2, "b", value);
            act_step(two, s2, "a", value);
            most = fmax(most, act_of(two, s2, "b").effort);
        }
        double T = act_of(one, s1, "a").effort, a = act_of(two, s2, "a").effort, b = act_of(two, s2, "b").effort;
        print_message("%s: %.9g N alone, %.9g + %.9g N shared, never more than %.3g N\n", integrators[k], T, a, b,
                      most);
        assert_near(a + b, T, 1e-6 * T);
        assert_near(act_of(two, s2, "a").displacement, 6e-3, 1e-8);
        assert_true(act_distance(one, s1->q, s2->q) < 1e-7);
        // Of two that pull at the same points the shorter one does the work, the other hangs slack.
        act_set(two, s2, "b", 3e-3);
        for (int s = 0; s < (k == 0 ? 1 : 300); s++)
            scene_steps(two, s2, 1);
        assert_near(act_of(two, s2, "a").effort, T, 1e-6 * T);
        assert_near(act_of(two, s2, "b").effort, 0, 0);
        scene_free(one, s1);
        scene_free(two, s2);
    }
}

#define PUSH "type: force, body: beam, group: xmax, direction: [0, 0, 1], drive: displacement"

static void contradictions_are_told(void **unused)
{
    (void)unused;
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = beam_with(k, "name: a, " PUSH "}\n  - {name: b, " PUSH);
        tdState *state = scene_state(model);
        for (int s = 1; s <= 5; s++)
        {
            act_set(model, state, "b", 1e-4 * s);
            act_step(model, state, "a", 1e-4 * s);
        }
        double *q = act_copy(model, state->q), *v = act_copy(model, state->v),
               effort = act_of(model, state, "a").effort;
        act_set(model, state, "a", 2e-3);
        act_set(model, state, "b", -2e-3);
        tdStatus status = td_step(model, state);
        print_message("%s: %d, %s\n", integrators[k], (int)status, td_state_report(state)->error.message);
        assert_int_equal(status, TD_ERROR_NUMERIC);
        assert_non_null(strstr(td_state_report(state)->error.message, "contradict"));
        assert_memory_equal(q, state->q, (size_t)model->coords * sizeof *q);
        assert_memory_equal(v, state->v, (size_t)model->coords * sizeof *v);
        assert_true(act_of(model, state, "a").effort == effort);
        // With what can be done it goes on.
        act_set(model, state, "b", 6e-4);
        for (int s = 0; s < (k == 0 ? 1 : 200); s++)
            act_step(model, state, "a", 6e-4);
        assert_near(act_of(model, state, "b").displacement, 6e-4, 1e-9);
        free(q);
        free(v);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- held nodes

static double *final_shape(tdModel *model, const char *name, double value, int steps)
{
    tdState *state = scene_state(model);
    for (int s = 1; s <= steps; s++)
        act_step(model, state, name, value * s / steps);
    double *q = act_copy(model, state->q);
    scene_free(model, state);
    return q;
}

#define PRESCRIBED "    prescribed: [{name: end, group: xmax, displacement: [0.01, 0.02, 0]}]\n"
#define MOVE       "name: end, type: translation, body: beam, group: xmax, direction: [1, 2, 0]"
#define TURN       "name: end, type: rotation, body: beam, group: xmax, axis: [1, 0.2, 0], center: [0.1, 0.01, 0.01]"

static void translation_is_a_prescribed_motion(void **unused)
{
    (void)unused;
    for (int k = 0; k < 3; k++)
    {
        tdModel *given =
            scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: %s\n" ACT_BEAM PRESCRIBED, integrators[k]);
        double *by_scene = final_shape(given, "end", 1, 10);
        tdModel *moved = beam_with(k, MOVE ", drive: displacement");
        tdState *state = scene_state(moved);
        for (int s = 1; s <= 10; s++)
            act_step(moved, state, "end", 0.01 * sqrt(5) * s / 10);
        // The same motion from the same equations: only the rounding of the unit vector differs.
        assert_true(act_distance(moved, by_scene, state->q) < 1e-13);
        double force[3], along = 0;
        const tdBody *body = &moved->bodies[0];
        for (int32_t i = 0; i < body->n_held; i++)
        {
            int64_t c = body->held[i];
            if (scene_soft(moved)->rest[c - c % 3] > 0.09)
                along += state->reaction[c] * (c % 3 == 0 ? 1 : c % 3 == 1 ? 2 : 0) / sqrt(5);
        }
        td_state_reaction(moved, state, 0, force);
        assert_near(act_of(moved, state, "end").effort, along, 1e-12 * fabs(along));
        assert_true(along > 0.1);
        scene_free(moved, state);
        free(by_scene);
    }
}

static void rotation_turns_nodes(void **unused)
{
    (void)unused;
    tdModel *model = beam_with(0, TURN ", drive: angle");
    tdState *state = scene_state(model);
    for (int s = 1; s <= 8; s++)
        act_step(model, state, "end", 0.1 * s);
    double axis[3] = {1 / sqrt(1.04), 0.2 / sqrt(1.04), 0}, center[3] = {0.1, 0.01, 0.01}, q[4];
    const tdSoft *soft = scene_soft(model);
    q[0] = cos(0.4);
    for (int c = 0; c < 3; c++)
        q[1 + c] = sin(0.4) * axis[c];
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        double arm[3], t[3];
        if (soft->rest[3 * i] < 0.099)
            continue;
        for (int c = 0; c < 3; c++)
            arm[c] = soft->rest[3 * i + c] - center[c];
        for (int c = 0; c < 3; c++)
            t[c] = 2 * (q[1 + (c + 1) % 3] * arm[(c + 2) % 3] - q[1 + (c + 2) % 3] * arm[(c + 1) % 3]);
        for (int c = 0; c < 3; c++)
            assert_near(state->q[3 * i + c],
                        center[c] + arm[c] + q[0] * t[c] + q[1 + (c + 1) % 3] * t[(c + 2) % 3] -
                            q[1 + (c + 2) % 3] * t[(c + 1) % 3],
                        1e-14);
    }
    scene_free(model, state);
}

// Effort gives the displacement and displacement gives the effort back.
static void efforts_move_held_nodes(void **unused)
{
    (void)unused;
    static const char *const kinds[2][2] = {{MOVE ", drive: force", MOVE ", drive: displacement"},
                                            {TURN ", drive: torque", TURN ", drive: angle"}};
    const double most[2] = {0.6, 3e-2};
    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; k < 3; k++)
        {
            tdModel *by_effort = beam_with(k, kinds[kind][0]), *by_travel = beam_with(k, kinds[kind][1]);
            tdState *a = scene_state(by_effort), *b = scene_state(by_travel);
            for (int s = 1; s <= (k == 0 ? 4 : 400); s++)
            {
                double effort = k == 0 ? most[kind] * s / 4 : most[kind];
                act_step(by_effort, a, "end", effort);
                tdActuation at = act_of(by_effort, a, "end");
                if (k != 1 || s == 400)
                    assert_near(at.effort, effort, 1e-7 * most[kind]);
                act_step(by_travel, b, "end", at.displacement);
            }
            tdActuation at = act_of(by_effort, a, "end"), back = act_of(by_travel, b, "end");
            print_message("%s %s: effort %.9g, displacement %.9g\n", integrators[k], kind == 0 ? "force" : "torque",
                          back.effort, at.displacement);
            assert_near(back.effort, most[kind], 1e-6 * most[kind]);
            assert_true(act_distance(by_effort, a->q, b->q) < 1e-7);
            scene_free(by_effort, a);
            scene_free(by_travel, b);
        }
}

// ---------------------------------------------------------------- two bodies on one cable

static void momentum(const tdModel *model, const tdState *state, double p[6])
{
    memset(p, 0, 6 * sizeof *p);
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdSoft *soft = model->bodies[b].data;
        for (int32_t i = 0; i < soft->n_nodes; i++)
        {
            const double *x = state->q + model->bodies[b].first + 3 * (int64_t)i;
            const double *v = state->v + model->bodies[b].first + 3 * (int64_t)i;
            for (int c = 0; c < 3; c++)
            {
                p[c] += soft->node_mass[i] * v[c];
                p[3 + c] += soft->node_mass[i] * (x[(c + 1) % 3] * v[(c + 2) % 3] - x[(c + 2) % 3] * v[(c + 1) % 3]);
            }
        }
    }
}

static void cable_between_free_bodies_keeps_momentum(void **unused)
{
    (void)unused;
    for (int drive = 0; drive < 2; drive++)
        for (int k = 1; k < 3; k++)
        {
            tdModel *model = scene_model(
                "tendril: 1\ntime_step: 5 ms\nsteps: 1\nintegrator: %s\nsolver: {type: cholesky}\nbodies:\n"
                "  - name: a\n    mesh: {box: [[0, 0, 0], [0.04, 0.02, 0.02]], cells: [2, 1, 1]}\n"
                "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.3, density: 1000}\n"
                "  - name: b\n    mesh: {box: [[0.1, 0.05, 0], [0.13, 0.07, 0.05]], cells: [2, 1, 2]}\n"
                "    material: {law: neo_hookean, young: 50 kPa, poisson: 0.3, density: 500}\n"
                "actuators: [{name: rope, type: cable, body: a, path: [[0.01, 0.02, 0.01], [0.04, 0.015, 0.01]], "
                "pull_point: [0.1, 0.06, 0.04], pull_body: b, drive: %s}]\n",
                integrators[k], drive == 0 ? "force" : "displacement");
            tdState *state = scene_state(model);
            double p[6], most[2] = {0}, size = 0;
            for (int s = 1; s <= 60; s++)
            {
                act_step(model, state, "rope", drive == 0 ? 0.02 : 4e-4 * s);
                momentum(model, state, p);
                for (int c = 0; c < 6; c++)
                    most[c / 3] = fmax(most[c / 3], fabs(p[c]));
                double mine = 0; // of one body
                const tdSoft *soft = model->bodies[0].data;
                for (int32_t i = 0; i < soft->n_nodes; i++)
                    mine += soft->node_mass[i] * state->v[3 * i];
                size = fmax(size, fabs(mine));
            }
            print_message("%s, %s: momentum %.2e of %.2e kg m/s, angular %.2e kg m^2/s\n", integrators[k],
                          drive == 0 ? "force" : "displacement", most[0], size, most[1]);
            // In one linearization each body expects the other to go on as it did, so that forces on the two differ in
            // the second order of the step.
            assert_true(most[0] < (k == 1 ? 1e-3 : 1e-6) * size);
            scene_free(model, state);
        }
}

// Bodies that fly side by side feel nothing of the cable that pulls them against a rod, whatever moves the other one.
static void cable_brakes_nothing(void **unused)
{
    (void)unused;
    const char *const schemes[] = {"{method: backward_euler}", "{method: theta, theta: 0.6, theta_vq: 0.6}"};
    const char *const others[] = {"total_mass: 3 kg, velocity: [0, 10, 0]", "guided: true"};
    for (int k = 0; k < 8; k++)
    {
        bool guided = k / 2 % 2 == 1, length = k / 4 == 1;
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 10 ms\nsteps: 100\nintegrator: %s\nbodies:\n"
            "  - {name: a, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1 kg, velocity: [0, 10, 0]}\n"
            "  - {name: b, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, transform: {translate: [0.5, 0, 0]}, %s}\n"
            "couplings: [{name: r, rod: {a: a, point_a: [0, 0, 0], b: b, point_b: [0.5, 0, 0], stiffness: 1e5 N/m}}]\n"
            "actuators: [{name: rope, type: cable, body: a, path: [[0, 0, 0]], pull_body: b, pull_point: [0.5, 0, 0], "
            "drive: %s}]\nmotion: {keyframes: [{t: 0, rope: %s%s}, {t: 1 s, rope: %s%s}]}\n",
            schemes[k % 2], others[guided], length ? "displacement" : "force", length ? "1 mm" : "100 N",
            guided ? ", b.y: 0" : "", length ? "1 mm" : "100 N", guided ? ", b.y: 10" : "");
        tdState *state = scene_state(model);
        scene_steps(model, state, 100);
        const tdBody *body = &model->bodies[0];
        double y = state->q[body->first + 1], v = state->v[body->first + 1];
        print_message("%d: %.9g m, %.9g m/s, %g N\n", k, y, v, act_of(model, state, "rope").effort);
        assert_near(act_of(model, state, "rope").effort, 100, 1);
        assert_near(y, 10, 1e-6);
        assert_near(v, 10, 1e-6);
        scene_free(model, state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corner_takes_the_tension_of_both_sides),
        cmocka_unit_test(friction_follows_the_capstan_law),
        cmocka_unit_test(friction_under_given_force),
        cmocka_unit_test(friction_does_not_swing),
        cmocka_unit_test(two_cables_with_friction),
        cmocka_unit_test(elastic_cable_with_friction),
        cmocka_unit_test(elastic_cable_is_in_series),
        cmocka_unit_test(cables_only_pull),
        cmocka_unit_test(efforts_saturate),
        cmocka_unit_test(displacements_stop),
        cmocka_unit_test(stops_hold_cables_with_friction),
        cmocka_unit_test(rates_are_kept),
        cmocka_unit_test(same_cable_twice),
        cmocka_unit_test(contradictions_are_told),
        cmocka_unit_test(translation_is_a_prescribed_motion),
        cmocka_unit_test(rotation_turns_nodes),
        cmocka_unit_test(efforts_move_held_nodes),
        cmocka_unit_test(cable_between_free_bodies_keeps_momentum),
        cmocka_unit_test(cable_brakes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
