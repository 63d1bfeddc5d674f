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
    assert_near(tip, exp(-0.5 * mu * angle) * act_of(model, state, "cable").effort, 1e-8);
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

// Stretch of an elastic cable: what is wound in is what the path gets shorter, and F L / EA.
static void elastic_cable_is_in_series(void **unused)
{
    (void)unused;
    tdModel *stiff = scene_model(ACT_STATIC ACT_BEAM "actuators: [{name: cable, " ACT_CABLE ", drive: displacement}]\n");
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
        print_message("%s: %.9g N alone, %.9g + %.9g N shared, never more than %.3g N\n", integrators[k], T, a, b, most);
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
        double *q = act_copy(model, state->q), *v = act_copy(model, state->v), effort = act_of(model, state, "a").effort;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corner_takes_the_tension_of_both_sides),
        cmocka_unit_test(friction_follows_the_capstan_law),
        cmocka_unit_test(elastic_cable_is_in_series),
        cmocka_unit_test(cables_only_pull),
        cmocka_unit_test(efforts_saturate),
        cmocka_unit_test(displacements_stop),
        cmocka_unit_test(rates_are_kept),
        cmocka_unit_test(same_cable_twice),
        cmocka_unit_test(contradictions_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
