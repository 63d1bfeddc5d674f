// SPDX-License-Identifier: Apache-2.0
// What acts on a soft body: gravity, loads, pressure, prescribed motion; and what its supports feel.
#include "scenes.h"

// A bar of 2 x 1 x 1 m. `more` continues the body, `tail` the scene.
static tdModel *bar(const char *law, const char *settings, const char *more, const char *tail)
{
    return scene_model("tendril: 1\n%s\nbodies:\n  - name: bar\n    mesh: %s\n    material: {law: %s, young: 1e5, "
                       "poisson: 0.3, density: 1000}\n%s%s",
                       settings, scene_mesh((double[3]){2, 1, 1}, (int[3]){4, 2, 2}, 0.2, false), law, more, tail);
}

static void sum_of(const tdModel *model, const double *force, double out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (int64_t i = 0; i < model->coords; i++)
        out[i % 3] += force[i];
}

static void torque_of(const tdModel *model, const double *force, const double *x, double out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (int64_t i = 0; i < model->coords; i += 3)
        for (int c = 0; c < 3; c++)
            out[c] += x[i + (c + 1) % 3] * force[i + (c + 2) % 3] - x[i + (c + 2) % 3] * force[i + (c + 1) % 3];
}

// External forces at the positions x.
static void loads_at(const tdModel *model, tdState *state, const double *x)
{
    memmove(state->q_e, x, (size_t)model->coords * sizeof *x);
    state->gravity = 1;
    td_soft_loads(model, &model->bodies[0], state);
}

// ---------------------------------------------------------------- gravity

static void static_reaction_is_weight(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST;
    for (int l = 0; l < 5; l++)
    {
        tdModel *model = bar(laws[l],
                             "gravity: [0.3, 0, -2]\n"
                             "integrator: {method: static, tolerance: 1e-11, max_iterations: 200}",
                             "    fixed: [{group: xmin}]\n", "");
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        double force[3];
        td_state_reaction(model, state, 0, force);
        assert_near(force[0], -0.3 * 2000, 1e-6 * 2000);
        assert_near(force[1], 0, 1e-6 * 2000);
        assert_near(force[2], 2.0 * 2000, 1e-6 * 2000);
        // The same with moments: about the origin, at the deformed shape.
        double torque[3], weight[3];
        torque_of(model, state->reaction, state->q, torque);
        loads_at(model, state, state->q);
        torque_of(model, state->load, l == 0 ? scene_soft(model)->rest : state->q, weight);
        if (l == 0)
            torque_of(model, state->reaction, scene_soft(model)->rest, torque);
        for (int c = 0; c < 3; c++)
            assert_near(torque[c], -weight[c], 1e-5 * 2000);
        scene_free(model, state);
    }
}

static void dynamics_settle_to_weight(void **unused)
{
    (void)unused;
    const char *const settings[] = {"integrator: {method: backward_euler}", "integrator: {method: newmark}",
                                    "integrator: {method: midpoint, newton: true}"};
    for (int k = 0; k < 3; k++)
    {
        char head[200];
        snprintf(head, sizeof head, "gravity: [0, 0, -1]\ntime_step: 20 ms\nsteps: 1\n%s", settings[k]);
        tdModel *model =
            bar("corotational", head, "    fixed: [{group: xmin}]\n    damping: {mass: 3 1/s, stiffness: 20 ms}\n", "");
        tdState *state = scene_state(model);
        scene_steps(model, state, 400);
        double force[3];
        td_state_reaction(model, state, 0, force);
        assert_near(force[0], 0, 1e-4 * 2000);
        assert_near(force[2], 2000, 1e-4 * 2000);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- momentum

// While it moves: supports and gravity change the momentum by what they add, in every integrator.
static void reactions_balance_momentum(void **unused)
{
    (void)unused;
    const char *const methods[] = {"{method: backward_euler}",
                                   "{method: midpoint}",
                                   "{method: newmark}",
                                   "{method: backward_euler, newton: true}",
                                   "{method: newmark, newton: true}",
                                   "{method: theta, theta: 0.7, theta_vq: 0.6}",
                                   "{method: symplectic}",
                                   "{method: theta, theta: 0.5, theta_vq: 0}"};
    for (int k = 0; k < 16; k++)
    {
        char head[400], more[400];
        bool consistent = k % 2 == 1 && strstr(methods[k / 2], "symplectic") == NULL, damped = k / 2 != 2;
        snprintf(head, sizeof head,
                 "gravity: [0, 0, -9.81]\ntime_step: 0.5 ms\nsteps: 1\nsolver: {tolerance: 1e-12}\nintegrator: %s",
                 methods[k / 2]);
        snprintf(more, sizeof more,
                 "    mass: %s\n    damping: {mass: 2 1/s, stiffness: %s}\n    fixed: [{group: xmin}]\n"
                 "    prescribed: [{name: pull, group: xmax, axes: xz, displacement: [0.1, 0, 0.2]}]\n",
                 consistent ? "consistent" : "lumped", damped ? "0.1 ms" : "0 ms");
        tdModel *model = bar("corotational", head, more,
                             "motion: {keyframes: [{t: 0, pull: 0}, {t: 20 ms, pull: 0.2}, {t: 40 ms, pull: 0}]}\n");
        tdState *state = scene_state(model);
        const tdSoft *soft = scene_soft(model);
        bool newmark = model->scheme.method == TD_METHOD_NEWMARK;
        double before[3] = {0}, size = 0;
        for (int step = 0; step < 60; step++)
        {
            scene_steps(model, state, 1);
            double now[3] = {0}, a_now[3] = {0}, force[3];
            td_state_reaction(model, state, 0, force);
            for (int64_t i = 0; i < model->coords; i++)
            {
                now[i % 3] += soft->node_mass[i / 3] * state->v[i];
                a_now[i % 3] += soft->node_mass[i / 3] * state->a[i];
            }
            double theta = newmark ? 1 : model->scheme.theta;
            for (int c = 0; c < 3; c++)
            {
                double v_e = theta * now[c] + (1 - theta) * before[c];
                double gain = newmark ? a_now[c] : (now[c] - before[c]) / model->scheme.h;
                double external = force[c] - 2 * v_e + (c == 2 ? -9.81 * 2000 : 0);
                size = fmax(size, fabs(force[c]));
                if (!newmark || step > 0)
                    assert_near(gain, external, 1e-7 * size);
            }
            memcpy(before, now, sizeof now);
        }
        scene_free(model, state);
    }
}

// A support that moves at a constant speed, with a body that moves along, feels nothing in the end.
static void steady_support_feels_nothing(void **unused)
{
    (void)unused;
    const char *const methods[] = {"backward_euler", "midpoint", "newmark"};
    for (int k = 0; k < 3; k++)
    {
        char head[200];
        snprintf(head, sizeof head, "time_step: 10 ms\nsteps: 1\nintegrator: {method: %s}", methods[k]);
        tdModel *model = bar("linear", head,
                             "    velocity: [1, 0, 0]\n"
                             "    prescribed: [{name: go, group: xmin, displacement: [100, 0, 0]}]\n"
                             "    damping: {stiffness: 400 ms}\n",
                             "motion: {keyframes: [{t: 0, go: 0}, {t: 100, go: 1}]}\n");
        tdState *state = scene_state(model);
        scene_steps(model, state, 1000);
        for (int64_t i = 0; i < model->coords; i++)
            assert_near(state->reaction[i], 0, 0.1); // of some 6,000 N at the start
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- surface loads

static void dead_loads_have_their_totals(void **unused)
{
    (void)unused;
    tdModel *model = bar("linear", "time_step: 1 ms\nsteps: 1", "",
                         "loads:\n"
                         "  - {name: a, type: surface, body: bar, group: xmax, traction: [1, 2, 3]}\n"
                         "  - {name: b, type: surface, body: bar, group: zmax, force: [4, 5, 6]}\n"
                         "  - {name: c, type: point, body: bar, group: ymin, force: [7, 8, 9]}\n"
                         "  - {name: d, type: point, body: bar, nodes: [0, 3], force_each: [10, 11, 12]}\n"
                         "  - {type: point, body: bar, nodes: [1], force: [100, 0, 0]}\n");
    tdState *state = scene_state(model);
    // total, and the point that it acts at
    const double total[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {20, 22, 24}};
    const double centre[2][3] = {{2, 0.5, 0.5}, {1, 0.5, 1}};
    for (int k = 0; k < 4; k++)
    {
        for (int i = 0; i < 4; i++)
            state->input[i] = i == k ? 0.5 : 0;
        loads_at(model, state, scene_soft(model)->rest);
        double sum[3], torque[3];
        sum_of(model, state->load, sum);
        sum[0] -= 100;
        for (int c = 0; c < 3; c++)
            assert_near(sum[c], 0.5 * total[k][c], 1e-12 * 100);
        if (k > 1)
            continue;
        state->load[3] -= 100; // node 1 carries the load without a name
        torque_of(model, state->load, scene_soft(model)->rest, torque);
        for (int c = 0; c < 3; c++)
        {
            int i = (c + 1) % 3, j = (c + 2) % 3;
            assert_near(torque[c], 0.5 * (centre[k][i] * total[k][j] - centre[k][j] * total[k][i]), 1e-11);
        }
    }
    scene_free(model, state);
}

static void shaken_positions(const tdModel *model, double *x)
{
    uint64_t seed = 23;
    for (int64_t i = 0; i < model->coords; i++)
        x[i] = scene_soft(model)->rest[i] + 0.1 * next_random(&seed);
}

static void pressure_on_closed_surface(void **unused)
{
    (void)unused;
    tdModel *model = bar("linear", "time_step: 1 ms\nsteps: 1", "",
                         "loads: [{name: p, type: surface, body: bar, all: true, pressure: 100}]\n");
    tdState *state = scene_state(model);
    const tdSoft *soft = scene_soft(model);
    state->input[0] = 0.7;
    double x[135], sum[3], torque[3], volume = 0, virial = 0;
    assert_int_equal(model->coords, 135);
    shaken_positions(model, x);
    loads_at(model, state, x);
    sum_of(model, state->load, sum);
    torque_of(model, state->load, x, torque);
    for (int c = 0; c < 3; c++)
    {
        assert_near(sum[c], 0, 1e-11);
        assert_near(torque[c], 0, 1e-11);
    }
    // sum f . x = -p times the integral of x . n over the surface = -3 p V
    for (int64_t e = 0; e < model->bodies[0].elements; e++)
    {
        const int32_t *n = soft->mesh.cells[TD_CELL_TET].nodes + 4 * e;
        double d[3][3];
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++)
                d[a][c] = x[3 * n[a + 1] + c] - x[3 * n[0] + c];
        for (int c = 0; c < 3; c++)
            volume += d[0][c] * (d[1][(c + 1) % 3] * d[2][(c + 2) % 3] - d[1][(c + 2) % 3] * d[2][(c + 1) % 3]) / 6;
    }
    for (int i = 0; i < 135; i++)
        virial += state->load[i] * x[i];
    assert_near(virial, -3 * 70 * volume, 1e-9 * 210);
    scene_free(model, state);
}

// The stiffness of pressure is the symmetric part of the derivative; on a closed surface all of it.
static void pressure_stiffness_is_derivative(void **unused)
{
    (void)unused;
    for (int closed = 0; closed < 2; closed++)
    {
        tdModel *model = bar("linear", "time_step: 1 ms\nsteps: 1", "",
                             closed ? "loads: [{name: p, type: surface, body: bar, all: true, pressure: 100}]\n"
                                    : "loads: [{name: p, type: surface, body: bar, group: xmax, pressure: 100}]\n");
        tdState *state = scene_state(model);
        const tdSoft *soft = scene_soft(model);
        state->input[0] = 0.7;
        int n = 135;
        double x[135], *numeric = malloc(135 * 135 * sizeof *numeric), h = 1e-4, skew = 0;
        shaken_positions(model, x);
        loads_at(model, state, x);
        double *values = calloc(9 * (size_t)soft->pattern.blocks, sizeof *values);
        td_soft_pressure_stiffness(model, &model->bodies[0], state, 2, values);
        double *K = dense_of(&soft->pattern, values);
        for (int j = 0; j < n; j++)
        {
            double keep = x[j], plus[135];
            x[j] = keep + h;
            loads_at(model, state, x);
            memcpy(plus, state->load, sizeof plus);
            x[j] = keep - h;
            loads_at(model, state, x);
            x[j] = keep;
            for (int i = 0; i < n; i++)
                numeric[i * n + j] = -2 * (plus[i] - state->load[i]) / (2 * h);
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
            {
                assert_near(K[i * n + j], 0.5 * (numeric[i * n + j] + numeric[j * n + i]), 1e-8 * 70);
                skew = fmax(skew, fabs(numeric[i * n + j] - numeric[j * n + i]));
            }
        assert_true(closed ? skew < 1e-8 * 70 : skew > 1);
        free(numeric);
        free(values);
        free(K);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- motion

static void prescribed_motion_follows_keyframes(void **unused)
{
    (void)unused;
    for (int smooth = 0; smooth < 2; smooth++)
    {
        char tail[300];
        snprintf(tail, sizeof tail,
                 "motion: {interpolation: %s, keyframes: [{t: 20 ms, up: 0}, {t: 60 ms, up: 1, side: 2}, "
                 "{t: 100 ms, up: -1, side: 3}]}\n",
                 smooth ? "smooth" : "linear");
        tdModel *model = bar("corotational", "time_step: 4 ms\nsteps: 1",
                             "    prescribed:\n"
                             "      - {name: up, group: xmax, axes: z, displacement: [0, 0, 0.05]}\n"
                             "      - {name: side, group: xmax, axes: y, displacement: [0, 0.02, 0]}\n",
                             tail);
        tdState *state = scene_state(model);
        const tdSoft *soft = scene_soft(model);
        double last_z = 0, last_y = 0;
        for (int step = 1; step <= 30; step++)
        {
            scene_steps(model, state, 1);
            double t = 0.004 * step;
            double s = fmin(fmax((t - 0.02) / 0.04, 0), 1), r = fmin(fmax((t - 0.06) / 0.04, 0), 1);
            if (smooth)
            {
                s = s * s * (3 - 2 * s);
                r = r * r * (3 - 2 * r);
            }
            double z = 0.05 * (s - 2 * r), y = 0.02 * (2 + r);
            for (int i = 0; i < soft->n_nodes; i++)
            {
                const double *X = soft->rest + 3 * i;
                if (X[0] < 2 - 1e-9)
                    continue;
                assert_near(state->q[3 * i + 2] - X[2], z, 1e-14);
                assert_near(state->q[3 * i + 1] - X[1], y, 1e-14);
                assert_near(state->v[3 * i + 2], (z - last_z) / 0.004, 1e-11);
                assert_near(state->v[3 * i + 1], (y - last_y) / 0.004, 1e-11);
            }
            last_z = z;
            last_y = y;
        }
        assert_near(td_state_time(state), 0.12, 1e-15);
        scene_free(model, state);
    }
}

static void inputs_drive_and_hand_back(void **unused)
{
    (void)unused;
    tdModel *model =
        bar("linear", "integrator: {method: static}\ntime_step: 1 s\nsteps: 4", "    fixed: [{group: xmin}]\n",
            "loads:\n  - {name: tip, type: point, body: bar, group: xmax, force: [0, 10, 0]}\n"
            "  - {name: press, type: surface, body: bar, group: xmax, traction: [3, 0, 0]}\n"
            "motion: {keyframes: [{t: 0, tip: 0}, {t: 4, tip: 1}]}\n");
    tdState *state = scene_state(model);
    int tip = td_model_find_input(model, "tip"), press = td_model_find_input(model, "press");
    assert_true(tip >= 0 && press >= 0 && tip != press);
    assert_int_equal(td_model_find_input(model, "top"), -1);
    const double set[6] = {NAN, NAN, -2, -2, NAN, NAN}, expected[6] = {0.25, 0.5, -2, -2, 1, 1};
    for (int k = 0; k < 6; k++)
    {
        assert_int_equal(td_state_set_input(model, state, tip, set[k]), TD_OK);
        scene_steps(model, state, 1);
        double force[3];
        td_state_reaction(model, state, 0, force);
        assert_near(force[0], -3, 1e-6);
        assert_near(force[1], -10 * expected[k], 1e-6);
    }
    assert_int_equal(td_state_set_input(model, state, -1, 0), TD_ERROR_USAGE);
    assert_int_equal(td_state_set_input(model, state, 2, 0), TD_ERROR_USAGE);
    assert_int_equal(td_state_set_input(model, state, tip, INFINITY), TD_ERROR_USAGE);
    scene_free(model, state);
}

// A load and a prescribed motion of one body: reactions and load balance, also on the driven nodes.
static void prescribed_reaction_balances_load(void **unused)
{
    (void)unused;
    tdModel *model = bar("neo_hookean", "integrator: {method: static, tolerance: 1e-11}",
                         "    fixed: [{group: xmin}]\n"
                         "    prescribed: [{group: xmax, axes: xy, displacement: [0.2, 0.1, 0]}]\n",
                         "loads:\n  - {type: surface, body: bar, group: zmax, traction: [0, 300, -500]}\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 1);
    double force[3], torque[3], load[3], pull = 0;
    td_state_reaction(model, state, 0, force);
    loads_at(model, state, state->q);
    assert_near(force[0], 0, 1e-6 * 1000);
    assert_near(force[1], -600, 1e-6 * 1000);
    assert_near(force[2], 1000, 1e-6 * 1000);
    torque_of(model, state->reaction, state->q, torque);
    torque_of(model, state->load, state->q, load);
    for (int c = 0; c < 3; c++)
        assert_near(torque[c], -load[c], 1e-6 * 1000);
    for (int i = 0; i < scene_soft(model)->n_nodes; i++)
    {
        pull += scene_soft(model)->rest[3 * i] > 2 - 1e-9 ? state->reaction[3 * i] : 0;
        assert_true(scene_soft(model)->held[3 * i + 2] || state->reaction[3 * i + 2] == 0);
    }
    assert_true(pull > 0.05 * 1e5 * 0.1); // stretched by a tenth: the driver pulls
    scene_free(model, state);
}

// A body of which every node is held or moved: nothing is left to solve for, and what holds it feels the shape at the
// end of the step, by one linearization as by Newton. The linear law knows no difference between the two.
static void all_held(void **unused)
{
    (void)unused;
    double told[2][3];
    for (int newton = 0; newton < 2; newton++)
    {
        tdModel *model = scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {newton: %s}\nbodies:\n"
                                     "  - name: block\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 2, 2]}\n"
                                     "    material: {law: linear, young: 1e6, poisson: 0.3, density: 1}\n"
                                     "    fixed: [{group: xmin}]\n"
                                     "actuators: [{name: pull, type: translation, body: block, group: xmax, direction: "
                                     "[1, 0, 0], drive: displacement}]\n"
                                     "motion: {keyframes: [{t: 0, pull: 0}, {t: 1, pull: 0.1}]}\n",
                                     newton ? "true" : "false");
        tdState *state = scene_state(model);
        for (int i = 1; i <= 3; i++)
        {
            scene_steps(model, state, 1);
            told[newton][i - 1] = td_state_actuation(model, state, 0).effort;
        }
        scene_free(model, state);
    }
    // Uniaxial strain: lambda + 2 mu over 1 m^2, one millimetre a step; the mass is nothing beside it.
    double modulus = 1e6 * 0.7 / (1.3 * 0.4);
    for (int i = 1; i <= 3; i++)
    {
        assert_near(told[0][i - 1], told[1][i - 1], 1e-6);
        assert_near(told[0][i - 1], i * 1e-3 * modulus, 1e-2 * modulus * 1e-3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_reaction_is_weight),
        cmocka_unit_test(dynamics_settle_to_weight),
        cmocka_unit_test(reactions_balance_momentum),
        cmocka_unit_test(steady_support_feels_nothing),
        cmocka_unit_test(dead_loads_have_their_totals),
        cmocka_unit_test(pressure_on_closed_surface),
        cmocka_unit_test(pressure_stiffness_is_derivative),
        cmocka_unit_test(prescribed_motion_follows_keyframes),
        cmocka_unit_test(inputs_drive_and_hand_back),
        cmocka_unit_test(prescribed_reaction_balances_load),
        cmocka_unit_test(all_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
