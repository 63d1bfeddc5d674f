// SPDX-License-Identifier: Apache-2.0
// What is looked at before a step is accepted: the balance of energy of every kind of body, steps that are attempted
// again, steps that are refused, and that the state left behind is good.
#include "rigid.h"
#include "scenes.h"

#include "step/monitor.h"

#define BEAM                                                                                                           \
    "    mesh: {box: [[0, 0, 0], [0.4, 0.05, 0.05]], cells: [8, 2, 2]}\n"                                              \
    "    fixed: [{box: [[-1, -1, -1], [0.001, 1, 1]]}]\n"

static double total_energy(const tdModel *model, tdState *state)
{
    double kinetic = 0, elastic = 0;
    td_state_energy(model, state, &kinetic, &elastic);
    return kinetic + elastic;
}

// Weight, a load, a driven end and a cable act on a body of the linear law, with an integrator that dissipates nothing:
// all work is found again as energy.
static void work_is_found_again(void **unused)
{
    (void)unused;
    const char *const methods[] = {"midpoint", "newmark"};
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 1 ms\nsteps: 400\ngravity: [0, 0, -9.81]\nintegrator: {method: %s}\nbodies:\n"
            "  - name: beam\n" BEAM "    material: {law: linear, young: 1e5, poisson: 0.3, density: 1000}\n"
            "    prescribed: [{name: shake, box: [[0.399, -1, -1], [1, 1, 1]], displacement: [0, 0.01, 0]}]\n"
            "motion: {keyframes: [{t: 0, shake: 0}, {t: 0.1, shake: 1}, {t: 0.2, shake: -1}, {t: 0.3, shake: 1}]}\n",
            methods[k]);
        tdState *state = scene_state(model);
        double work = 0, lost = 0, start = total_energy(model, state), most = 0;
        for (int i = 0; i < 400; i++)
        {
            scene_steps(model, state, 1);
            const tdReport *report = td_state_report(state);
            work += report->work;
            lost += report->dissipated;
            most = fmax(most, report->energy);
            assert_near(report->energy, total_energy(model, state), 1e-9 * most);
            assert_int_equal(report->doubts, 0);
        }
        assert_true(most > 1e-3);
        // Where the driven end changes its speed from one step to the next, half of what that takes is lost.
        const double change[] = {0.1, -0.3, 0.4, -0.2};
        double held = 0, jumps = 0;
        for (int32_t i = 0; i < scene_soft(model)->n_nodes; i++)
            held += scene_soft(model)->rest[3 * i] > 0.399 ? scene_soft(model)->node_mass[i] : 0;
        for (int i = 0; i < 4; i++)
            jumps += 0.5 * held * change[i] * change[i];
        assert_near(total_energy(model, state), start + work - lost, 1e-9 * most);
        assert_near(lost, jumps, 1e-6 * most);
        scene_free(model, state);
    }
}

// A clamped beam that swings freely. Lagged rotations with an integrator that does not damp once took it from 1 J to
// 1e103 J; now such steps are found and taken again, and the report says so.
static void swinging_beam_stays(void **unused)
{
    (void)unused;
    const char *const methods[] = {"midpoint", "newmark"};
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 2 ms\nsteps: 2000\nintegrator: {method: %s}\nbodies:\n  - name: beam\n" BEAM
            "    material: {law: corotational_lagged, young: 1e5, poisson: 0.4, density: 1000}\n"
            "    velocity: [0, 0, 1.5]\n",
            methods[k]);
        tdState *state = scene_state(model);
        double start = total_energy(model, state), most = 0;
        int retries = 0;
        unsigned doubts = 0;
        for (int i = 0; i < 2000; i++)
        {
            scene_steps(model, state, 1);
            most = fmax(most, td_state_report(state)->energy);
            retries += td_state_report(state)->retries;
            doubts |= td_state_report(state)->doubts;
        }
        assert_true(most < 1.12 * start); // 5 % are allowed of what it had, and of a step
        assert_true(retries > 0);
        assert_true(doubts & TD_DOUBT_ENERGY);
        scene_free(model, state);
    }
}

// Explicit steps beyond the stable one: refused while the energy is still of the order of what there was.
static void unstable_steps_are_refused(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 4 ms\nsteps: 2000\nintegrator: {method: symplectic}\nbodies:\n  - name: beam\n" BEAM
        "    material: {law: corotational, young: 1e5, poisson: 0.3, density: 1000}\n    velocity: [0, 0, 0.1]\n");
    tdState *state = scene_state(model);
    double start = total_energy(model, state);
    tdStatus status = TD_OK;
    for (int i = 0; i < 2000 && status == TD_OK; i++)
        status = td_step(model, state);
    assert_int_equal(status, TD_ERROR_NUMERIC);
    const char *message = td_state_report(state)->error.message;
    assert_non_null(strstr(message, "'beam'"));
    assert_non_null(strstr(message, "from nothing"));
    assert_non_null(strstr(message, "time_step"));
    double left = total_energy(model, state);
    assert_true(isfinite(left) && left < 1e3 * start); // once: 1e100 and more
    scene_free(model, state);
}

// Explicit steps near the longest stable one: nothing grows, but the energy swings, and that is said. A quarter of the
// step is silent.
static void swings_of_explicit_steps_are_told(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\ntime_step: %g\nsteps: 100\nintegrator: {method: symplectic}\n"
                        "bodies:\n  - name: block\n    velocity: [0.01, 0.02, 0.03]\n"
                        "    mesh: {box: [[0, 0, 0], [0.03, 0.07, 0.06]], cells: [1, 2, 2], elements: hexahedra}\n"
                        "    material: {law: neo_hookean, young: 1.1e5, poisson: 0.35, density: 1000}\n"
                        "    fixed: [{group: xmin}]\n",
                        k == 0 ? 1.1e-3 : 0.25e-3);
        tdState *state = scene_state(model);
        unsigned doubts = 0;
        double start = total_energy(model, state), most = start;
        for (int i = 0; i < 100; i++)
        {
            scene_steps(model, state, 1);
            doubts |= td_state_report(state)->doubts;
            most = fmax(most, total_energy(model, state));
        }
        assert_int_equal(doubts & TD_DOUBT_ENERGY, k == 0 ? TD_DOUBT_ENERGY : 0);
        assert_true(k == 0 ? most > 1.1 * start && most < 2 * start : most < 1.1 * start);
        scene_free(model, state);
    }
}

// A stiff block is given a spin of 0.4 rad/s and left alone. One linearization takes it away again, to a tenth within a
// second: that is seen, and such steps are taken again by Newton's method. Laws whose forces have no torque, and what
// damping by mass takes, cause no other attempt.
static void spin_is_not_lost(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *law, *damping;
        double left; // of the kinetic energy, after a second
        bool again;
    } cases[] = {{"neo_hookean", "", 1, true},
                 {"corotational_lagged", "", 1, false},
                 {"corotational_lagged", "    damping: {mass: 0.5}\n", 0.37, false}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 240\nbodies:\n  - name: block\n"
                        "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 2]}\n"
                        "    material: {law: %s, young: 100 MPa, poisson: 0.3, density: 1000}\n%s"
                        "loads:\n  - {name: p, type: surface, body: block, group: xmin, traction: [0, -10 Pa, 0]}\n"
                        "  - {name: q, type: surface, body: block, group: xmax, traction: [0, 10 Pa, 0]}\n"
                        "motion: {keyframes: [{t: 0, p: 1, q: 1}, {t: 0.2, p: 1, q: 1}, {t: 0.2001, p: 0, q: 0}]}\n",
                        cases[k].law, cases[k].damping);
        tdState *state = scene_state(model);
        int again = 0;
        double given = 0, elastic;
        for (int i = 0; i < 240; i++)
        {
            scene_steps(model, state, 1);
            again += td_state_report(state)->retries;
            assert_int_equal(td_state_report(state)->doubts, 0);
            if (i == 40)
                td_state_energy(model, state, &given, &elastic);
        }
        double kinetic;
        td_state_energy(model, state, &kinetic, &elastic);
        assert_near(given, cases[k].damping[0] != '\0' ? 7.3e-4 : 8e-4, 1e-4);
        assert_near(kinetic / given, cases[k].left, 0.06);
        assert_int_equal(again > 0, cases[k].again);
        scene_free(model, state);
    }
}

// A cable pulled by a tenth of the body's length in one step. One linearization ends in 1e104 J; Newton's method takes
// the step, or it is refused and nothing has moved.
static void absurd_pull_leaves_a_good_state(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 10 ms\nsteps: 3\nbodies:\n  - name: beam\n" BEAM
        "    material: {law: neo_hookean, young: 1e5, poisson: 0.45, density: 1000}\n"
        "actuators:\n  - {name: pull, type: cable, body: beam, path: [[0.4, 0.025, 0.05], [0.2, 0.025, 0.05]],\n"
        "     pull_point: [0, 0.025, 0.05], drive: displacement, range: [0, 0.1]}\n"
        "motion: {keyframes: [{t: 0, pull: 0}, {t: 10 ms, pull: 0.04}]}\n");
    tdState *state = scene_state(model);
    for (int i = 0; i < 3; i++)
    {
        double before = total_energy(model, state);
        tdStatus status = td_step(model, state);
        double after = total_energy(model, state);
        assert_true(isfinite(after) && after < 1e2);
        if (status != TD_OK)
            assert_true(after == before);
    }
    scene_free(model, state);
}

// A free body of the lagged law pushed at a corner by 1e5 times its weight, in steps of 55 ms: what it stores is what
// was put in, or the report has a doubt.
static void violent_push_is_reported(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ntime_step: 55 ms\nsteps: 40\nbodies:\n  - name: jelly\n"
                                 "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [3, 3, 3]}\n"
                                 "    material: {law: corotational_lagged, young: 1e5, poisson: 0.4, density: 1000}\n"
                                 "loads:\n  - {name: push, body: jelly, type: point, force: [1e6, 0, 0], box: [[-1, "
                                 "-1, -1], [0.001, 1, 0.001]]}\n");
    tdState *state = scene_state(model);
    double work = 0;
    unsigned doubts = 0;
    for (int i = 0; i < 40 && td_step(model, state) == TD_OK; i++)
    {
        work += fabs(td_state_report(state)->work);
        doubts |= td_state_report(state)->doubts;
        double energy = total_energy(model, state);
        assert_true(isfinite(energy));
        assert_true(energy <= 1.1 * work || (doubts & TD_DOUBT_ENERGY));
    }
    assert_true(doubts & TD_DOUBT_ENERGY);
    scene_free(model, state);
}

// What the monitor knows is part of a checkpoint: a run that is resumed attempts the same steps again.
static void resumed_runs_judge_alike(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 2 ms\nsteps: 600\nintegrator: {method: newmark}\nbodies:\n  - name: beam\n" BEAM
        "    material: {law: corotational_lagged, young: 1e5, poisson: 0.4, density: 1000}\n    velocity: [0, 0, "
        "1.5]\n");
    tdState *one = scene_state(model), *two = scene_state(model);
    char path[] = "/tmp/tendril-monitor-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    tdError error = {0};
    scene_steps(model, one, 200);
    assert_ok(td_state_save(model, one, path, &error), error);
    assert_ok(td_state_load(model, two, path, &error), error);
    unlink(path);
    for (int i = 0; i < 200; i++)
    {
        scene_steps(model, one, 1);
        scene_steps(model, two, 1);
        assert_int_equal(td_state_report(one)->retries, td_state_report(two)->retries);
        assert_true(td_state_report(one)->energy_gain == td_state_report(two)->energy_gain);
    }
    assert_memory_equal(one->q, two->q, (size_t)model->coords * sizeof(double));
    assert_memory_equal(one->v, two->v, (size_t)model->coords * sizeof(double));
    td_state_free(two);
    scene_free(model, one);
}

// Elements that stay inside out are told of.
static void inversion_for_long_is_reported(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 60\nbodies:\n  - name: jelly\n"
                    "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 2]}\n"
                    "    material: {law: linear, young: 1e5, poisson: 0.3, density: 1000}\n    fixed: [{group: zmin}]\n"
                    "    prescribed: [{name: press, group: zmax, displacement: [0, 0, -1]}]\n"
                    "motion: {keyframes: [{t: 0, press: 0}, {t: 0.2, press: 0.15}]}\n");
    tdState *state = scene_state(model);
    unsigned doubts = 0;
    for (int i = 0; i < 60; i++)
    {
        scene_steps(model, state, 1);
        doubts |= td_state_report(state)->doubts;
        assert_true(i > 14 || !(doubts & TD_DOUBT_INVERSION));
    }
    assert_true(doubts & TD_DOUBT_INVERSION);
    scene_free(model, state);
}

// What the table promises of a pair of law and integrator holds for a beam that swings, far and fast.
static void promises_of_pairs_hold(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST;
    const char *const integrators[] = {"{method: backward_euler}", "{method: backward_euler, newton: true}",
                                       "{method: midpoint}",       "{method: midpoint, newton: true}",
                                       "{method: newmark}",        "{method: theta, theta: 0.8, theta_vq: 0.8}"};
    int promised = 0, gained = 0;
    for (int k = 0; k < 30; k++)
    {
        tdModel *model = scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 150\nintegrator: %s\nbodies:\n"
                                     "  - name: beam\n    fixed: [{group: xmin}]\n    velocity: [0, 0, 2]\n"
                                     "    mesh: {box: [[0, 0, 0], [0.4, 0.05, 0.05]], cells: [6, 1, 1]}\n"
                                     "    material: {law: %s, young: 1e5, poisson: 0.3, density: 1000}\n",
                                     integrators[k / 5], laws[k % 5]);
        tdState *state = scene_state(model);
        double most = 0;
        for (int i = 0; i < 150 && td_step(model, state) == TD_OK; i++)
            most = fmax(most, td_state_report(state)->energy_gain);
        const tdLaw *law = scene_soft(model)->blocks[0].material.law;
        if (td_monitor_caveat(&model->scheme, model->scene.settings.newton, law) == NULL)
        {
            if (most > 1e-6)
                fail_msg("%s with %s gains %g", laws[k % 5], integrators[k / 5], most);
            promised++;
        }
        gained += most > 1e-6;
        scene_free(model, state);
    }
    assert_true(promised >= 6 && gained >= 5); // else nothing was looked at
}

// The linear law has no rotations. A beam that hangs down by most of its length gets longer; the run says so, once,
// with the body, the turn and the way out, in equilibria too. One that turns by some degrees is let alone.
static char told[4][512];
static int n_told;

static void hear(void *user, tdLogLevel level, const char *message)
{
    (void)user;
    if (level == TD_LOG_WARNING && n_told < 4)
        snprintf(told[n_told++], sizeof told[0], "%s", message);
}

static void linear_law_has_a_range(void **unused)
{
    (void)unused;
    static const char *const methods[] = {"backward_euler", "static"};
    for (int k = 0; k < 4; k++)
    {
        bool far = k < 2;
        tdModel *model = scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 40\ngravity: [0, 0, %g]\n"
                                     "integrator: {method: %s}\nbodies:\n  - name: beam\n" BEAM
                                     "    material: {law: linear, young: 1e5, poisson: 0.3, density: 1000}\n",
                                     far ? -9.81 : -0.5, methods[k % 2]);
        tdSettings settings = td_default_settings();
        tdState *state = NULL;
        tdError error = {0};
        settings.log = hear;
        n_told = 0;
        assert_ok(td_state_create(model, &settings, &state, &error), error);
        unsigned doubts = 0;
        for (int i = 0; i < 40; i++)
        {
            scene_steps(model, state, 1);
            doubts |= td_state_report(state)->doubts;
        }
        assert_int_equal(doubts & TD_DOUBT_LAW, far ? TD_DOUBT_LAW : 0);
        assert_int_equal(n_told, far ? 1 : 0);
        assert_true(!far || (strstr(told[0], "body 'beam' has left the range of 'law: linear'") != NULL &&
                             strstr(told[0], "use 'law: corotational'") != NULL && strstr(told[0], "t = ") != NULL));
        scene_free(model, state);
    }
}

// Of a linear body that its weight and a moved end bend, the work of the load steps is what it stores; of one that is
// squeezed to three quarters in twenty steps, but for their third order.
static void static_work_is_stored(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"linear", "neo_hookean"};
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 1\nsteps: 20\ngravity: [0, 0, -1]\nintegrator: {method: static}\nbodies:\n"
            "  - name: beam\n" BEAM "    material: {law: %s, young: 1e5, poisson: 0.3, density: 1000}\n"
            "    prescribed: [{name: press, box: [[0.399, -1, -1], [1, 1, 1]], displacement: [-0.1, 0, 0]}]\n"
            "motion: {keyframes: [{t: 0, press: 0}, {t: 20, press: 1}]}\n",
            laws[k]);
        tdState *state = scene_state(model);
        double work = 0;
        for (int i = 0; i < 20; i++)
        {
            scene_steps(model, state, 1);
            work += td_state_report(state)->work;
        }
        double stored = total_energy(model, state);
        assert_true(stored > 0.1);
        assert_near(work, stored, (k == 0 ? 1e-6 : 0.01) * stored);
        scene_free(model, state);
    }
}

// A beam that two cables bend, by the factor of the first step alone: a warning says so, once, and what to do; the
// others need none.
static void slow_solver_is_told(void **unused)
{
    (void)unused;
    static const char *const kinds[] = {"cg", "auto", "cholesky"};
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 10 ms\nsteps: 60\nsolver: {type: %s}\nbodies:\n  - name: beam\n" BEAM
            "    material: {law: corotational, young: 1e5, poisson: 0.3, density: 1000}\nactuators:\n"
            "  - {name: up, type: cable, body: beam, path: [[0.4, 0.025, 0.05], [0.2, 0.025, 0.05], [0, 0.025, 0.05]], "
            "drive: displacement}\n"
            "  - {name: side, type: cable, body: beam, path: [[0.4, 0.05, 0.025], [0.2, 0.05, 0.025], [0, 0.05, "
            "0.025]], "
            "drive: displacement}\n"
            "motion: {keyframes: [{t: 0, up: 0, side: 0}, {t: 0.4, up: 0.04, side: 0.02}]}\n",
            kinds[k]);
        tdSettings settings = td_default_settings();
        tdState *state = NULL;
        tdError error = {0};
        settings.threads = 1;
        settings.log = hear;
        n_told = 0;
        assert_ok(td_state_create(model, &settings, &state, &error), error);
        scene_steps(model, state, 60);
        assert_int_equal(n_told, k == 0 ? 1 : 0);
        if (k == 0 && (strstr(told[0], "conjugate gradients take") == NULL || strstr(told[0], "'type: auto'") == NULL))
            fail_msg("%s", told[0]);
        scene_free(model, state);
    }
}

// A body at rest on a mesh of no order has forces of rounding alone: no step is taken twice for them.
static void rest_is_not_doubtful(void **unused)
{
    (void)unused;
    tdModel *model = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    static const char text[] = "tendril: 1\nunits: {length: mm, mass: kg, time: s}\ngravity: [0, 0, 0]\ntime_step: 16 "
                               "ms\nsteps: 1\nbodies:\n  - {name: a, mesh: stomach.msh, material: {law: "
                               "corotational_lagged, young: 5 kPa, poisson: 0.4, density: 1050 kg/m^3}, fixed: [{box: "
                               "[[-90, -90, -30], [90, 90, -12]]}]}\n";
    assert_ok(
        td_model_parse(text, strlen(text), "scene.yaml", TD_SOURCE_DIR "/scenes/haptic", &settings, &model, &error),
        error);
    tdState *state = scene_state(model);
    for (int k = 0; k < 8; k++)
    {
        scene_steps(model, state, 1);
        assert_int_equal(td_state_report(state)->retries, 0);
        assert_int_equal(td_state_report(state)->doubts, 0);
    }
    scene_free(model, state);
}

// Newmark's method that damps keeps another energy than T + U: a stiff block that its weight is put on at once loses
// all but what its supports bear, without a doubt, and never gains. With a force on nodes that are moved, the first
// step knows what holds them.
static void newmark_loses(void **unused)
{
    (void)unused;
    static const char *const methods[] = {"gamma: 0.6, beta: 0.3025", "gamma: 0.8, beta: 0.45",
                                          "gamma: 0.5, beta: 0.3"};
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 10 ms\nsteps: 40\ngravity: [0, 0, -9.81]\nintegrator: {method: newmark, %s}\n"
            "bodies:\n  - name: block\n    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 2]}\n"
            "    fixed: [{group: zmax}]\n    material: {law: linear, young: 1 GPa, poisson: 0, density: 1000}\n",
            methods[k]);
        tdState *state = scene_state(model);
        for (int i = 0; i < 40; i++)
        {
            scene_steps(model, state, 1);
            assert_int_equal(td_state_report(state)->doubts, 0);
            assert_near(td_state_report(state)->energy_gain, 0, 1e-9);
        }
        scene_free(model, state);
    }
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 10 ms\nsteps: 40\nintegrator: {method: newmark}\nbodies:\n  - name: bar\n"
        "    mesh: {box: [[0, 0, 0], [0.3, 0.1, 0.1]], cells: [3, 1, 1]}\n"
        "    material: {law: corotational, young: 1 kPa, poisson: 0.3, density: 1000}\n"
        "    prescribed: [{name: left, group: xmin, displacement: [-0.01, 0, 0]}, {name: right, group: xmax, "
        "displacement: [0, 0, 0]}]\n"
        "actuators: [{name: c, type: cable, body: bar, path: [[0, 0.05, 0.05], [0.3, 0.05, 0.05]], drive: force}]\n"
        "motion: {keyframes: [{t: 0, left: 0, c: 10}, {t: 1, left: 1, c: 10}]}\n");
    tdState *state = scene_state(model);
    for (int i = 0; i < 40; i++)
    {
        scene_steps(model, state, 1);
        assert_int_equal(td_state_report(state)->doubts, 0);
        assert_true(td_state_report(state)->energy_gain < 1e-4);
    }
    scene_free(model, state);
}

// A pressure of an atmosphere drives a light block round the end of a rod, by several times its own size in a step: the
// rod is torn, and each such step says so.
static void torn_rods_are_told(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 0.0127\nsteps: 12\nbodies:\n  - name: block\n"
        "    mesh: {box: [[0, 0, 0], [0.03106, 0.02414, 0.02549]], cells: [3, 2, 2]}\n"
        "    material: {law: ogden, terms: [{mu: 5.186e+06, alpha: 3.6}, {mu: 5.762e+05, alpha: -3.63}], bulk: "
        "2.563e+07, density: 167.7}\n"
        "loads: [{name: push, type: surface, body: block, group: zmax, pressure: -1.339e+05}]\n"
        "couplings:\n  - {name: strut, rod: {a: block, point_a: [0.01553, 0.01207, 0.012745], point_b: [0.01553, "
        "0.01207, 0.07647]}}\n");
    tdState *state = scene_state(model);
    int torn = 0;
    for (int k = 0; k < 12 && td_step(model, state) == TD_OK; k++)
    {
        const tdReport *report = td_state_report(state);
        torn += report->attachment_error > 0.1;
        assert_int_equal((report->doubts & TD_DOUBT_TORN) != 0, report->attachment_error > 0.1);
    }
    assert_true(torn > 0);
    scene_free(model, state);
}

// Loads that follow a body do work on it without bound when it explodes, which its balance takes for honest.
static void nothing_is_faster_than_light(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 1 ms\nsteps: 2\nbodies:\n"
                        "  - {name: ball, type: rigid, shape: {sphere: 0.1}, total_mass: 1, velocity: [%g, "
                        "0, 0]}\n",
                        k == 0 ? 2.9e8 : 3.1e8);
        tdState *state = scene_state(model);
        assert_int_equal(td_step(model, state), k == 0 ? TD_OK : TD_ERROR_NUMERIC);
        if (k == 1)
            assert_non_null(strstr(td_state_report(state)->error.message, "faster than light"));
        td_state_free(state);
        td_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_is_not_doubtful),
        cmocka_unit_test(work_is_found_again),
        cmocka_unit_test(swinging_beam_stays),
        cmocka_unit_test(unstable_steps_are_refused),
        cmocka_unit_test(swings_of_explicit_steps_are_told),
        cmocka_unit_test(spin_is_not_lost),
        cmocka_unit_test(absurd_pull_leaves_a_good_state),
        cmocka_unit_test(violent_push_is_reported),
        cmocka_unit_test(resumed_runs_judge_alike),
        cmocka_unit_test(inversion_for_long_is_reported),
        cmocka_unit_test(promises_of_pairs_hold),
        cmocka_unit_test(linear_law_has_a_range),
        cmocka_unit_test(static_work_is_stored),
        cmocka_unit_test(slow_solver_is_told),
        cmocka_unit_test(newmark_loses),
        cmocka_unit_test(torn_rods_are_told),
        cmocka_unit_test(nothing_is_faster_than_light),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
