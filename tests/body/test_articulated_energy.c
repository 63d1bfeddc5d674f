// SPDX-License-Identifier: Apache-2.0
// Energy of articulated bodies: what nothing damps and nothing drives has no more of it than at the start, whatever the
// step; and how fast errors fall with the step (docs/theory/articulated-energy.md).
#include "trees.h"
#include "undamped.h"

// ---------------------------------------------------------------- Coriolis matrix

// b = 1/2 dM/dt v + G v with G skew, dM/dt by differences along v.
static void gyration_is_skew(void **unused)
{
    (void)unused;
    uint64_t seed = 11;
    double worst = 0;
    for (int round = 0; round < 200; round++)
    {
        treeFixture f;
        tree_random(&f, &seed, 1 + round % 12, round % 2 == 1);
        int64_t n = f.body.n;
        const double none[3] = {0, 0, 0}, e = 1e-5;
        double *G = TD_TAKE(&f.arena, double, n *n + 1), *M = TD_TAKE(&f.arena, double, 2 * n * n + 1);
        double *b = TD_TAKE(&f.arena, double, n + 1), *at = TD_TAKE(&f.arena, double, n + 1);
        td_tree_inverse(&f.body, f.v, NULL, none, &f.work, b);
        td_tree_gyration(&f.body, f.v, &f.work, G);
        for (int side = 0; side < 2; side++)
        {
            for (int64_t i = 0; i < n; i++)
                at[i] = f.q[i] + (side ? e : -e) * f.v[i];
            td_tree_kinematics(&f.body, at, f.reference, &f.work);
            td_tree_mass(&f.body, &f.work, M + side * n * n);
        }
        double size = 1e-6, fastest = 0;
        for (int64_t i = 0; i < n; i++)
            fastest = fmax(fastest, fabs(f.v[i]));
        for (int64_t i = 0; i < n; i++)
            size = fmax(size, fmax(fabs(b[i]), M[i * n + i] * fastest * fastest));
        for (int64_t i = 0; i < n; i++)
        {
            double sum = -b[i];
            for (int64_t j = 0; j < n; j++)
            {
                assert_true(G[i * n + j] == -G[j * n + i]);
                sum += (G[i * n + j] + 0.25 * (M[n * n + i * n + j] - M[i * n + j]) / e) * f.v[j];
            }
            worst = fmax(worst, fabs(sum) / size);
        }
        tree_free(&f);
    }
    printf("b is 1/2 dM/dt v + G v to %.1e\n", worst);
    assert_true(worst < 1e-6); // of differences
}

// Straight down, the stiffness of what hangs is that of gravity; straight up there is none.
static void hanging_stiffness(void **unused)
{
    (void)unused;
    for (int up = 0; up < 2; up++)
    {
        const double g[3] = {up ? -9.81 : 9.81, 0, 0}; // along the chain, as it is at zero
        tdModel *model = undamped_model(UNDAMPED_CHAIN, 6, 1e-3, "");
        tdState *state = robot_state(model);
        const tdArticulated *body = td_articulated_of(&model->bodies[0]);
        tdTreeWork *work = &td_articulated_mine(&model->bodies[0], state)->at;
        double K[36], H[36];
        td_tree_kinematics(body, state->q, NULL, work);
        td_tree_hanging_stiffness(body, g, work, H);
        td_tree_gravity_stiffness(body, g, work, K);
        for (int k = 0; k < 36; k++)
            assert_near(H[k], up ? 0 : K[k], 1e-12);
        td_state_free(state);
        td_model_free(model);
    }
}

// ---------------------------------------------------------------- energy that stays

typedef struct energyRange
{
    double above, below, scale; // [J] against the start; most kinetic energy
} energyRange;

static energyRange watch(const tdModel *model, tdState *state, double time)
{
    energyRange range = {0};
    double start = undamped_energy(model, state);
    int64_t steps = llround(time / model->scheme.h);
    for (int64_t i = 0; i < steps; i++)
    {
        robot_steps(model, state, 1);
        double kinetic = 0, energy = undamped_energy(model, state) - start;
        td_state_energy(model, state, &kinetic, NULL);
        assert_true(isfinite(energy));
        range.scale = fmax(range.scale, kinetic);
        range.above = fmax(range.above, energy);
        range.below = fmin(range.below, energy);
    }
    return range;
}

// Never above the start by more than rounding. Where a step resolves the motion, little is lost either: the energy of a
// step of first order swings by about h g p.
static void energy_stays(void **unused)
{
    (void)unused;
    static const struct
    {
        undampedKind kind;
        int n;
        const char *more;
        double h, least; // of the most kinetic energy that is lost
    } cases[] = {
        {UNDAMPED_PENDULUM, 0, "", 0.002, 0.02},
        {UNDAMPED_PENDULUM, 0, "", 0.02, 0.2},
        {UNDAMPED_FLAT, 3, "", 0.002, 0.03},
        {UNDAMPED_FLAT, 40, "", 0.02, INFINITY},
        {UNDAMPED_CHAIN, 3, "", 0.02, 0.2},
        {UNDAMPED_CHAIN, 10, "", 0.002, 0.05},
        {UNDAMPED_CHAIN, 40, "", 0.02, INFINITY},
        {UNDAMPED_HEAVY, 0, "", 0.002, 0.01},
        {UNDAMPED_HEAVY, 0, "", 0.02, 0.05},
        {UNDAMPED_FREE, 0, "", 0.002, 1e-9},
        {UNDAMPED_FREE, 0, "", 0.02, 1e-9},
        {UNDAMPED_BOXES, 0, "", 0.002, 1e-9},
        {UNDAMPED_BOXES, 0, "", 0.02, 1e-9},
        {UNDAMPED_PENDULUM, 0, "integrator: {newton: true}", 0.02, INFINITY},
        {UNDAMPED_CHAIN, 10, "integrator: {method: symplectic}", 0.01, INFINITY},
        {UNDAMPED_PENDULUM, 0, "integrator: {method: midpoint}", 0.02, 0.01},
        {UNDAMPED_CHAIN, 10, "integrator: {method: midpoint}", 0.005, 0.01},
        {UNDAMPED_HEAVY, 0, "integrator: {method: midpoint}", 0.005, 2e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdModel *model = undamped_model(cases[i].kind, cases[i].n, cases[i].h, cases[i].more);
        tdState *state = undamped_state(model, cases[i].kind);
        energyRange range = watch(model, state, 20);
        printf("%-16s %2d %4.0f ms %-34s: %.1e above, %.1e below, of %.3g J\n", undamped_names[cases[i].kind],
               cases[i].n, 1e3 * cases[i].h, cases[i].more, range.above / range.scale, -range.below / range.scale,
               range.scale);
        assert_true(range.above <= 1e-9 * range.scale);
        assert_true(-range.below <= cases[i].least * range.scale);
        td_state_free(state);
        td_model_free(model);
    }
}

// A step far too long for a chain would lift it above all the energy it has, where a motion that rounding turns this
// way or that is at its height: it goes a part of its way then, and the step is doubted.
static void steps_too_long(void **unused)
{
    (void)unused;
    int doubted = 0;
    for (int k = 0; k < 24; k++)
    {
        tdModel *model = undamped_model(UNDAMPED_FLAT, 40, 0.02, "");
        tdState *state = undamped_state(model, UNDAMPED_FLAT);
        double start = undamped_energy(model, state), most = 0, above = 0;
        for (int64_t i = 0; i < model->coords; i++)
            state->q[i] += 1e-13 * (double)(7 * k + i);
        for (int i = 0; i < 400; i++)
        {
            double kinetic = 0;
            robot_steps(model, state, 1);
            td_state_energy(model, state, &kinetic, NULL);
            most = fmax(most, kinetic);
            above = fmax(above, undamped_energy(model, state) - start);
            doubted += (td_state_report(state)->doubts & TD_DOUBT_LINEARIZATION) != 0;
        }
        assert_true(above <= 1e-9 * most);
        td_state_free(state);
        td_model_free(model);
    }
    assert_true(doubted > 0);
}

// Trees of all joints that fly or hang, thrown at random: fast, with friction and limits, between steps of 1 and 20 ms.
static void random_trees(void **unused)
{
    (void)unused;
    uint64_t seed = 5;
    double worst = 0;
    for (int round = 0; round < 60; round++)
    {
        bool flies = round % 2 == 0, limits = round % 3 == 0, friction = round % 5 < 2;
        char settings[200];
        double h = pow(10, -2.35 + 0.65 * next_random(&seed));
        snprintf(settings, sizeof settings, "gravity: [0, 0, -9.81]\ntime_step: %.17g\nsteps: 1%s", h,
                 round % 7 == 0 ? "\nintegrator: {method: symplectic}" : "");
        const char *text = undamped_tree(&seed, 1 + round % 9, limits, friction);
        tdModel *model = robot_model(text, settings, flies ? "base: free" : "base: fixed", "");
        tdState *state = robot_state(model);
        for (int64_t i = 0; i < model->coords; i++)
            state->v[i] = 15 * next_random(&seed);
        double start = undamped_energy(model, state), most = robot_sums(model, state, 0).kinetic;
        for (int i = 0; i < 200; i++)
        {
            robot_steps(model, state, 1);
            double elastic = 0;
            td_state_energy(model, state, NULL, &elastic);
            double energy = undamped_energy(model, state) + elastic;
            most = fmax(most, robot_sums(model, state, 0).kinetic);
            worst = fmax(worst, (energy - start) / most);
            assert_true(isfinite(energy));
        }
        td_state_free(state);
        td_model_free(model);
    }
    printf("random trees: %.1e above the start\n", worst);
    assert_true(worst < 1e-9);
}

// ---------------------------------------------------------------- order

// Where all links are after `time`; to be freed.
static double *places(tdModel *model, tdState *state, double time, int64_t *n)
{
    const tdBody *body = &model->bodies[0];
    robot_steps(model, state, (int)lround(time / model->scheme.h));
    *n = 3 * body->nodes;
    double *x = td_take((size_t)*n, sizeof *x);
    memcpy(x, body->ops->nodes(model, body, state), (size_t)*n * sizeof *x);
    td_state_free(state);
    td_model_free(model);
    return x;
}

// How far places are from those of Runge-Kutta with a short step; both are freed.
static double apart(double *x, double *reference, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(x[i] - reference[i]));
    free(x);
    free(reference);
    return worst;
}

static double places_off(undampedKind kind, int n, const char *more, double h, double time)
{
    tdModel *model = undamped_model(kind, n, h, more);
    tdModel *exact = undamped_model(kind, n, 1e-4, "integrator: {method: rk4}");
    int64_t count = 0;
    double *x = places(model, undamped_state(model, kind), time, &count);
    return apart(x, places(exact, undamped_state(exact, kind), time, &count), count);
}

// A chain with a servo, a joint that is damped and a force at its end, which all change with time.
static tdModel *driven_chain(const char *integrator, double h)
{
    char settings[300];
    snprintf(settings, sizeof settings, "gravity: [0, 0, -9.81]\ntime_step: %.17g\nsteps: 1\nintegrator: %s", h,
             integrator);
    return robot_model(
        undamped_chain(4, true), settings, "joints: [{name: j2, damping: 0.02 N*m*s/rad}]",
        "actuators:\n  - {name: turn, type: joint, body: r, joint: j1, drive: position, stiffness: 8 N*m/rad, damping: "
        "0.3 N*m*s/rad}\n  - {name: push, type: force, body: r, link: l4, point: [1, 0, 0], direction: [0, 1, 0], "
        "drive: "
        "force}\nmotion: {interpolation: smooth, keyframes: [{t: 0, turn: 0 rad, push: 0 N}, {t: 1, turn: 1 rad, push: "
        "3 "
        "N}]}");
}

static void order_with_forces(void **unused)
{
    (void)unused;
    double off[2];
    for (int k = 0; k < 2; k++)
    {
        int64_t n = 0;
        tdModel *model = driven_chain("{method: midpoint}", k == 0 ? 4e-3 : 2e-3);
        tdModel *exact = driven_chain("{method: rk4}", 1e-4);
        double *x = places(model, robot_state(model), 0.8, &n);
        off[k] = apart(x, places(exact, robot_state(exact), 0.8, &n), n);
    }
    printf("driven chain: %.2e %.2e ratio %.2f\n", off[0], off[1], off[0] / off[1]);
    assert_true(off[0] < 1e-3 && off[0] / off[1] > 3.7 && off[0] / off[1] < 4.3);
}

static void order_on_trees(void **unused)
{
    (void)unused;
    static const struct
    {
        undampedKind kind;
        int n;
        const char *more;
        double h, low, high;
    } cases[] = {
        {UNDAMPED_CHAIN, 5, "", 1e-3, 1.7, 2.3},
        {UNDAMPED_HEAVY, 0, "", 1e-3, 1.7, 2.3},
        {UNDAMPED_FREE, 0, "", 1e-3, 1.7, 2.3},
        {UNDAMPED_CHAIN, 5, "integrator: {method: midpoint}", 2e-3, 3.7, 4.3},
        {UNDAMPED_HEAVY, 0, "integrator: {method: midpoint}", 2e-3, 3.7, 4.3},
        {UNDAMPED_FREE, 0, "integrator: {method: midpoint}", 2e-3, 3.7, 4.3},
        {UNDAMPED_CHAIN, 5, "integrator: {method: midpoint, newton: true}", 2e-3, 3.7, 4.3},
        {UNDAMPED_CHAIN, 5, "integrator: {method: rk4}", 5e-3, 12, 20},
        {UNDAMPED_HEAVY, 0, "integrator: {method: rk4}", 5e-3, 12, 20},
        {UNDAMPED_FREE, 0, "integrator: {method: rk4}", 1e-2, 12, 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        double coarse = places_off(cases[i].kind, cases[i].n, cases[i].more, cases[i].h, 0.5);
        double fine = places_off(cases[i].kind, cases[i].n, cases[i].more, cases[i].h / 2, 0.5);
        printf("%-10s %-46s %.2e %.2e ratio %.2f\n", undamped_names[cases[i].kind], cases[i].more, coarse, fine,
               coarse / fine);
        assert_true(coarse / fine > cases[i].low && coarse / fine < cases[i].high);
    }
}

// ---------------------------------------------------------------- a body alone

#define BODY                                                                                                           \
    "<link name=\"body\"><inertial><mass value=\"2\"/><inertia ixx=\"0.02\" iyy=\"0.03\" izz=\"0.045\" ixy=\"0.002\" " \
    "ixz=\"-0.003\" iyz=\"0.001\"/></inertial><collision><geometry><box size=\"0.2 0.3 0.4\"/></geometry></collision>" \
    "</link>"
#define EYE "<link name=\"eye\"/>" JOINT("f", "fixed", "body", "eye", "0.1 0 0", "0 0 1", "")

// One free link has closed forms of its own: mass matrix, spin, rows of contact. With a link more that weighs nothing
// it is a tree like all others, and moves in the same way.
static void alone_as_a_tree(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *settings, *rest;
        double time;
    } cases[] = {
        {"integrator: {method: backward_euler}", "", 0.5},
        {"integrator: {method: midpoint}", "", 0.5},
        {"contact: {friction: 0.5}", "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}", 0.3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        char settings[200];
        robotSums end[2];
        bool touched[2] = {false, false};
        snprintf(settings, sizeof settings, "gravity: [0, 0, -9.81]\ntime_step: 2 ms\nsteps: 1\n%s", cases[i].settings);
        for (int tree = 0; tree < 2; tree++)
        {
            tdModel *model = robot_model(tree ? ROBOT(BODY EYE) : ROBOT(BODY), settings,
                                         "base: free, transform: {translate: [0, 0, 0.4]}, velocity: [0.5, 0.2, 0], "
                                         "angular_velocity: [3 rad/s, -2 rad/s, 4 rad/s]",
                                         cases[i].rest);
            tdState *state = robot_state(model);
            assert_int_equal(td_articulated_of(&model->bodies[0])->alone, !tree);
            for (int k = 0; k < (int)lround(cases[i].time / 2e-3); k++)
            {
                robot_steps(model, state, 1);
                touched[tree] = touched[tree] || td_state_report(state)->contacts_active > 0;
            }
            end[tree] = robot_sums(model, state, 0);
            td_state_free(state);
            td_model_free(model);
        }
        assert_true(touched[0] == touched[1] && touched[0] == (cases[i].rest[0] != '\0'));
        printf("alone and as a tree: energies %.9g and %.9g J\n", end[0].kinetic, end[1].kinetic);
        assert_near(end[0].kinetic, end[1].kinetic, 1e-9 * end[1].kinetic);
        for (int k = 0; k < 3; k++)
        {
            assert_near(end[0].center[k], end[1].center[k], 1e-9);
            assert_near(end[0].linear[k], end[1].linear[k], 1e-9 * 2);
            assert_near(end[0].angular[k], end[1].angular[k], 1e-9);
        }
    }
}

// ---------------------------------------------------------------- refused

static void rk4_is_for_references(void **unused)
{
    (void)unused;
    static const char settings[] = "gravity: [0, 0, -9.81]\ntime_step: 1 ms\nsteps: 1\nintegrator: {method: rk4}";
    static const struct
    {
        const char *rest, *why;
    } cases[] = {
        {"contact: {}", "it does not support contact"},
        {"actuators: [{name: p, type: joint, body: r, joint: j1, drive: position}]", "given efforts and servos only"},
        {"actuators: [{name: p, type: joint, body: r, joint: j1, drive: effort, displacement_range: [-1 rad, 1 rad]}]",
         "it does not support stops"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        robot_refused(undamped_chain(3, false), settings, "", cases[i].rest, cases[i].why);
    robot_refused(undamped_chain(3, false),
                  "gravity: [0, 0, -9.81]\ntime_step: 1 ms\nsteps: 1\nintegrator: {method: rk4, newton: true}", "", "",
                  "explicit; remove 'newton: true'");
    robot_refused(
        undamped_chain(3, false), settings, "",
        "  - {name: pad, mesh: {box: [[2, 0, 0], [3, 1, 1]], cells: [1, 1, 1]}, material: {law: linear, young: 1 "
        "MPa, poisson: 0.3, density: 1000}}",
        "soft bodies need an implicit method");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gyration_is_skew),      cmocka_unit_test(hanging_stiffness), cmocka_unit_test(energy_stays),
        cmocka_unit_test(steps_too_long),        cmocka_unit_test(random_trees),      cmocka_unit_test(order_on_trees),
        cmocka_unit_test(rk4_is_for_references), cmocka_unit_test(order_with_forces), cmocka_unit_test(alone_as_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
