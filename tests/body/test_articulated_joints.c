// SPDX-License-Identifier: Apache-2.0
// Joints of articulated bodies: drives, limits, friction, mimics; points of links under constraints.
#include "rigid.h"

#include "base/vector.h"
#include "constraint/constraint.h"

#define STILL                    "gravity: [0, 0, 0]\nsteps: 1\n"
#define FALLING                  "gravity: [0, 0, -9.81]\nsteps: 1\n"
#define MIDPOINT                 "integrator: {method: midpoint, newton: true, tolerance: 1e-10}\n"
#define LIMIT(low, high, effort) "<limit lower=\"" low "\" upper=\"" high "\" effort=\"" effort "\" velocity=\"10\"/>"
// Turns about y; inertia about the joint: 0.5 + 2 0.3^2 = 0.68 kg m^2
#define SWING(type, more)                                                                                              \
    ROBOT(BASE LINK("arm", "2", "0 0 -0.3", "0.5", "0.5", "0.1")                                                       \
              JOINT("j", type, "base", "arm", "0 0 0", "0 1 0", more))
#define SLIDE(more)                                                                                                    \
    ROBOT(BASE LINK("car", "4", "0 0 0", "1", "1", "1") JOINT("j", "prismatic", "base", "car", "0 0 0", "1 0 0", more))

// ---------------------------------------------------------------- drives

// I q'' = k (target - q) - d q' from rest: an oscillation with damping. Midpoint is off by (h w)^2/12 of its phase.
static void servo_closed_form(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(
        SWING("continuous", ""), STILL "time_step: 0.5 ms\n" MIDPOINT, "",
        "actuators: [{name: m, type: joint, body: r, joint: j, drive: position, stiffness: 68 N*m/rad, damping: 2.72 "
        "N*m*s/rad}]\nmotion: {keyframes: [{t: 0, m: 0.5 rad}]}");
    tdState *state = robot_state(model);
    const double w0 = 10, zeta = 0.2, wd = w0 * sqrt(1 - zeta * zeta); // k = I w0^2, d = 2 zeta w0 I
    double worst = 0;
    for (int i = 1; i <= 2000; i++)
    {
        robot_steps(model, state, 1);
        double t = 0.5e-3 * i;
        double q = 0.5 * (1 - exp(-zeta * w0 * t) * (cos(wd * t) + zeta * w0 / wd * sin(wd * t)));
        worst = fmax(worst, fabs(state->q[0] - q));
    }
    printf("off by %.2e rad\n", worst);
    assert_true(worst < 1e-5);
    tdActuation told = td_state_actuation(model, state, 0);
    assert_near(told.displacement, state->q[0], 1e-15);
    assert_near(told.effort, 68 * (0.5 - state->q[0]) - 2.72 * state->v[0], 1e-9);
    td_state_free(state);
    td_model_free(model);
}

// One linearization a step takes the servo at the end of the step, however stiff it is: no overshoot, no blow-up. It
// ends where gravity and spring are in balance, k (target - q) = m g c sin q.
static void stiff_servo(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(SWING("continuous", ""), FALLING "time_step: 10 ms\n", "",
                                 "actuators: [{name: m, type: joint, body: r, joint: j, drive: position, stiffness: "
                                 "1e5, damping: 1e3}]\nmotion: {keyframes: [{t: 0, m: 1 rad}]}");
    tdState *state = robot_state(model);
    double most = 0;
    for (int i = 0; i < 300; i++)
    {
        robot_steps(model, state, 1);
        most = fmax(most, state->q[0]);
    }
    double q = state->q[0];
    assert_true(most < 1);
    assert_near(1e5 * (1 - q), 2 * 9.81 * 0.3 * sin(q), 1e-6);
    td_state_free(state);
    td_model_free(model);
}

// A servo whose effort is limited: full effort first, then as if it had no limits.
static void limited_servo(void **unused)
{
    (void)unused;
    for (int newton = 0; newton < 2; newton++)
    {
        tdModel *model = robot_model(
            SLIDE("<limit lower=\"-100\" upper=\"100\" effort=\"8\" velocity=\"1\"/>"),
            newton ? STILL "time_step: 1 ms\nintegrator: {method: backward_euler, newton: true}\n"
                   : STILL "time_step: 1 ms\n",
            "",
            "actuators: [{name: m, type: joint, body: r, joint: j, drive: position, stiffness: 1000 N/m, damping: 200 "
            "N*s/m}]\nmotion: {keyframes: [{t: 0, m: 1 m}]}");
        tdState *state = robot_state(model);
        robot_steps(model, state, 100);
        // a = 8 / 4 for 0.1 s
        assert_near(state->v[0], 0.2, 1e-9);
        assert_near(td_state_actuation(model, state, 0).effort, 8, 1e-9);
        robot_steps(model, state, 4000);
        assert_near(state->q[0], 1, 1e-5); // creeps in at k/d = 5 1/s after full effort
        td_state_free(state);
        td_model_free(model);
    }
}

// A free chain whose second joint is given a motion that is too quick for its effort: it falls behind, and the slide at
// the end hits its stop. The servo of the first joint was foreseen at one end of its effort, as if the second kept up,
// and comes to lie at the other: it must brake all the same. Steps in which that happens are those of Newton's method,
// at which they are taken again. Taken as it was foreseen, the servo drives: the chain then has ten times the energy in
// these steps, and a hundred times in steps a quarter as long.
static void servo_brakes_when_another_falls_behind(void **unused)
{
    (void)unused;
#define PART(name, mass, across, along) LINK(name, mass, "0 0 0.14665", across, across, along)
#define BEND(name, from, to, rpy, axis, limits)                                                                        \
    "<joint name=\"" name "\" type=\"revolute\"><parent link=\"" from "\"/><child link=\"" to "\"/>"                   \
    "<origin xyz=\"0 0 0.29329\" rpy=\"" rpy "\"/><axis xyz=\"" axis "\"/><limit " limits                              \
    " effort=\"1000\" velocity=\"10\"/></joint>"
#define TAIL                                                                                                           \
    "<joint name=\"j3\" type=\"prismatic\"><parent link=\"l2\"/><child link=\"l3\"/>"                                  \
    "<origin xyz=\"0 0 0.29329\" rpy=\"-0.744 -0.227 0.682\"/><axis xyz=\"0 0 1\"/>"                                   \
    "<limit lower=\"-0.02583\" upper=\"0.1109\" effort=\"1000\" velocity=\"10\"/></joint>"
    const char *chain =
        ROBOT(PART("l0", "1.324", "0.01028", "0.00157") PART("l1", "1.437", "0.01115", "0.0017")
                  PART("l2", "1.618", "0.01256", "0.00192") PART("l3", "2.397", "0.0186", "0.00284")
                      BEND("j1", "l0", "l1", "0.479 0.253 -0.199", "0 1 0", "lower=\"-0.6182\" upper=\"1.388\"")
                          BEND("j2", "l1", "l2", "0.331 0.692 0.248", "1 0 0", "lower=\"-1.191\" upper=\"1.34\"") TAIL);
    double energy[2][2];
    int retries = 0;
    for (int quarter = 0; quarter < 2; quarter++)
        for (int newton = 0; newton < 2; newton++)
        {
            char settings[200];
            snprintf(settings, sizeof settings,
                     "gravity: [0, 0, 0]\ntime_step: %g\nduration: 15 ms\nintegrator: {newton: %s}\n",
                     quarter ? 0.000239 / 4 : 0.000239, newton ? "true" : "false");
            tdModel *model = robot_model(
                chain, settings, "base: free",
                "actuators:\n"
                "  - {name: a, type: joint, body: r, joint: j1, drive: position, stiffness: 3015 N*m/rad, damping: "
                "97.72 N*m*s/rad}\n"
                "  - {name: b, type: joint, body: r, joint: j2, drive: position}\n"
                "motion:\n  interpolation: smooth\n  keyframes:\n"
                "    - {t: 0, b: 0 rad}\n    - {t: 0.0136571, b: 1.0935 rad}\n    - {t: 0.0273143, b: 0.347069 rad}\n");
            tdState *state = robot_state(model);
            for (int i = 0; i < (quarter ? 240 : 60); i++)
            {
                assert_int_equal(td_step(model, state), TD_OK);
                retries += newton ? 0 : td_state_report(state)->retries;
            }
            double kinetic, elastic;
            td_state_energy(model, state, &kinetic, &elastic);
            energy[quarter][newton] = kinetic + elastic;
            td_state_free(state);
            td_model_free(model);
        }
    assert_true(retries > 0);
    for (int quarter = 0; quarter < 2; quarter++)
        assert_near(energy[quarter][0], energy[quarter][1], 1e-6 * energy[quarter][1]);
    assert_near(energy[0][0], energy[1][0], 0.1 * energy[1][0]);
}

static void velocity_drive(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(SWING("continuous", ""), STILL "time_step: 1 ms\n" MIDPOINT, "",
                                 "actuators: [{name: m, type: joint, body: r, joint: j, drive: velocity, damping: 6.8 "
                                 "N*m*s/rad}]\nmotion: {keyframes: [{t: 0, m: 3 rad/s}]}");
    tdState *state = robot_state(model);
    for (int i = 1; i <= 500; i++)
    {
        robot_steps(model, state, 1);
        assert_near(state->v[0], 3 * (1 - exp(-10 * 1e-3 * i)), 3e-5); // d / I = 10 1/s
    }
    td_state_free(state);
    td_model_free(model);
}

// Given efforts: a slide with a = F / m, a joint with T / I, exact in the velocity.
static void efforts(void **unused)
{
    (void)unused;
    tdModel *slide = robot_model(SLIDE(LIMIT("-100", "100", "50")), STILL "time_step: 1 ms\n", "",
                                 "actuators: [{name: m, type: joint, body: r, joint: j, drive: effort}]\nmotion: "
                                 "{keyframes: [{t: 0, m: 10 N}]}");
    tdState *state = robot_state(slide);
    robot_steps(slide, state, 1000);
    assert_near(state->v[0], 2.5, 1e-12);
    assert_near(state->q[0], 1.25 + 0.5 * 1e-3 * 2.5, 1e-12); // backward Euler is half a step ahead
    assert_near(td_state_actuation(slide, state, 0).displacement, state->q[0], 0);
    td_state_free(state);
    td_model_free(slide);
    tdModel *swing =
        robot_model(SWING("continuous", "<dynamics armature=\"0.32\"/>"), STILL "time_step: 1 ms\n", "",
                    "actuators: [{name: m, type: joint, body: r, joint: j, drive: effort, range: [-3 N*m, 3 "
                    "N*m]}]\nmotion: {keyframes: [{t: 0, m: 5 N*m}]}");
    state = robot_state(swing);
    robot_steps(swing, state, 1000);
    assert_near(state->v[0], 3, 1e-12); // range holds; 0.68 + 0.32
    td_state_free(state);
    td_model_free(swing);
}

// A position without a stiffness is met at the end of every step, by whatever effort within the limits.
static void exact_position(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(SWING("revolute", LIMIT("-2", "2", "100")), FALLING "time_step: 5 ms\n", "",
                                 "actuators: [{name: m, type: joint, body: r, joint: j, drive: position}]\nmotion: "
                                 "{keyframes: [{t: 0, m: 0}, {t: 1, m: 1 rad}], interpolation: smooth}");
    tdState *state = robot_state(model);
    for (int i = 1; i <= 200; i++)
    {
        robot_steps(model, state, 1);
        double s = 5e-3 * i;
        assert_near(state->q[0], s * s * (3 - 2 * s), 1e-6);
    }
    robot_steps(model, state, 50);
    assert_near(td_state_actuation(model, state, 0).effort, 2 * 9.81 * 0.3 * sin(1), 1e-3);
    td_state_free(state);
    td_model_free(model);
}

// A joint of little inertia beside its friction: the effort of the last step alone would throw it far beyond its limit,
// and nothing of what it does there must be told of the way that is asked for.
static void exact_position_with_friction(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(ROBOT(BASE LINK("arm", "1e-4", "0 0 -0.01", "3e-9", "3e-9", "4e-10") JOINT(
                                     "j", "revolute", "base", "arm", "0 0 0", "0 1 0",
                                     LIMIT("-1", "2", "1000") "<dynamics damping=\"7e-4\" friction=\"5e-3\"/>")),
                                 STILL "time_step: 10 ms\n", "",
                                 "actuators: [{name: m, type: joint, body: r, joint: j, drive: position}]\n"
                                 "motion: {keyframes: [{t: 0, m: 0 rad}, {t: 1, m: 0.5 rad}]}");
    tdState *state = robot_state(model);
    for (int i = 1; i <= 50; i++)
    {
        robot_steps(model, state, 1);
        assert_near(state->q[0], 0.005 * i, 1e-9);
        double inertia = i == 1 ? 1.3e-8 * 0.5 / 0.01 : 0; // 3e-9 + 1e-4 0.01^2, from rest in the first step
        assert_near(td_state_actuation(model, state, 0).effort, 5e-3 + 7e-4 * 0.5 + inertia, 2e-6);
    }
    td_state_free(state);
    td_model_free(model);
}

// ---------------------------------------------------------------- limits, friction, damping

static void limits_hold(void **unused)
{
    (void)unused;
    static const char *const integrators[] = {"time_step: 10 ms\n", "time_step: 1 ms\n",
                                              "time_step: 1 ms\nintegrator: {method: midpoint, newton: true}\n",
                                              "time_step: 2 ms\nintegrator: {method: backward_euler, newton: true}\n"};
    for (size_t k = 0; k < sizeof integrators / sizeof integrators[0]; k++)
    {
        char settings[200];
        snprintf(settings, sizeof settings, FALLING "%s", integrators[k]);
        tdModel *model =
            robot_model(SWING("revolute", LIMIT("0.4", "3", "50")), settings, "joints: [{name: j, position: 2.5 rad}]",
                        "actuators: [{name: m, type: joint, body: r, joint: j, drive: effort}]\nmotion: "
                        "{keyframes: [{t: 0, m: 0}, {t: 3, m: 0}, {t: 3.1, m: -50 N*m}]}");
        tdState *state = robot_state(model);
        double deepest = 0;
        int resting = (int)lround(3 / model->scheme.h);
        for (int i = 0; i < resting; i++)
        {
            robot_steps(model, state, 1);
            deepest = fmax(deepest, 0.4 - state->q[0]);
        }
        double rest = 0.4 - state->q[0];
        // It swings in at 5 rad/s: some mrad, then the spring carries the weight's moment.
        const tdJointLimit *limit = td_articulated_of(&model->bodies[0])->limits;
        printf("deepest %.1e, rest %.1e rad\n", deepest, rest);
        assert_true(deepest < 0.01);
        assert_near(limit->stiffness * rest, 2 * 9.81 * 0.3 * sin(0.4), 0.05);
        assert_near(state->v[0], 0, 1e-6);
        robot_steps(model, state, resting);
        assert_true(0.4 - state->q[0] < 1.1e-3); // the drive's own effort and the weight
        td_state_free(state);
        td_model_free(model);
    }
}

// Dry friction: below its force the joint creeps at less than the slip rate, above it accelerates by the difference,
// and a motion without force ends after m v / F.
static void dry_friction(void **unused)
{
    (void)unused;
    for (int newton = 0; newton < 2; newton++)
    {
        const char *settings = newton ? STILL "time_step: 1 ms\nintegrator: {method: backward_euler, newton: true}\n"
                                      : STILL "time_step: 1 ms\n";
        tdModel *model = robot_model(
            SLIDE("<limit lower=\"-100\" upper=\"100\"/><dynamics friction=\"6\"/>"), settings, "",
            "actuators: [{name: m, type: joint, body: r, joint: j, drive: effort}]\nmotion: {keyframes: [{t: 0, m: 5 "
            "N}, {t: 0.999, m: 5 N}, {t: 1, m: 10 N}, {t: 1.999, m: 10 N}, {t: 2, m: 0}]}");
        tdState *state = robot_state(model);
        robot_steps(model, state, 990);
        assert_near(state->v[0], 1e-3 * 5 / sqrt(36 - 25), 1e-6); // slip rate times F / sqrt(F0^2 - F^2)
        robot_steps(model, state, 1000);
        double v = state->v[0]; // 10 - 6 N on 4 kg for 0.99 s, less what starting takes
        printf("%.4f m/s after 0.99 s\n", v);
        assert_near(v, 0.99, 0.03);
        robot_steps(model, state, 20);
        v = state->v[0];
        int steps = 0;
        while (state->v[0] > 2e-3 && steps < 5000)
        {
            robot_steps(model, state, 1);
            steps++;
        }
        assert_near(steps * 1e-3, 4 * v / 6, 0.02);
        td_state_free(state);
        td_model_free(model);
    }
}

static void viscous_damping(void **unused)
{
    (void)unused;
    tdModel *model =
        robot_model(SWING("continuous", "<dynamics damping=\"1.36\"/>"), STILL "time_step: 1 ms\n" MIDPOINT, "", "");
    tdState *state = robot_state(model);
    state->v[0] = 4;
    robot_steps(model, state, 1000);
    assert_near(state->v[0], 4 * exp(-2), 1e-6);
    td_state_free(state);
    td_model_free(model);
}

// Two rotors, the second geared to turn three times as fast the other way: I1 + 9 I2 at the first.
static void mimic_gears(void **unused)
{
    (void)unused;
    static const char gears[] =
        ROBOT(BASE LINK("one", "1", "0 0 0", "1", "1", "0.5") LINK("two", "1", "0 0 0", "1", "1", "0.1")
                  JOINT("a", "continuous", "base", "one", "0 0 0", "0 0 1", "")
                      JOINT("b", "continuous", "base", "two", "1 0 0", "0 0 1",
                            "<dynamics damping=\"0.2\"/><mimic joint=\"a\" multiplier=\"-3\" offset=\"0.5\"/>"));
    tdModel *model = robot_model(gears, STILL "time_step: 1 ms\n" MIDPOINT, "",
                                 "actuators: [{name: m, type: joint, body: r, joint: a, drive: effort}]\nmotion: "
                                 "{keyframes: [{t: 0, m: 2.8 N*m}]}");
    tdState *state = robot_state(model);
    assert_int_equal(model->coords, 1);
    robot_steps(model, state, 1000);
    // (0.5 + 0.9) w' = 2.8 - 9 0.2 w
    double rate = 1.8 / 1.4;
    assert_near(state->v[0], 2.8 / 1.8 * (1 - exp(-rate)), 1e-6);
    const tdPose *pose = td_articulated_poses(&model->bodies[0], state, state->q);
    double turned = -3 * state->q[0] + 0.5;
    assert_near(pose[2].R[0], cos(turned), 1e-12);
    assert_near(pose[2].R[3], sin(turned), 1e-12);
    td_state_free(state);
    td_model_free(model);
}

// ---------------------------------------------------------------- points

#define ARM                                                                                                            \
    ROBOT(LINK("body", "3", "0.1 0 0", "0.1", "0.2", "0.25") LINK("arm", "1", "0 0 0.3", "0.05", "0.04", "0.02")       \
              LINK("wrist", "0.5", "0.1 0 0.1", "0.01", "0.02", "0.015")                                               \
                  LINK("slide", "0.7", "0 0.1 0", "0.01", "0.01", "0.01")                                              \
                      JOINT("j1", "continuous", "body", "arm", "0.2 0 0.1", "1 2 0.5", "")                             \
                          JOINT("j2", "ball", "arm", "wrist", "0 0 0.6", "1 0 0", "")                                  \
                              JOINT("j3", "prismatic", "body", "slide", "-0.2 0 0", "0 1 1",                           \
                                    "<limit lower=\"-100\" upper=\"100\"/>"))

// Rows are transposed velocities: f . dx/dt = (J' f) . v, with dx/dt by differences of positions along q + t v (in the
// reference rotation, where a rate is an angular velocity).
static void rows_are_velocities(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(
        ARM, STILL "time_step: 1 ms\n", "base: free, transform: {rotate: [30 deg, 0, 50 deg], translate: [1, 2, 3]}",
        "probes: [{name: a, body: r, link: wrist, point: [1, 1, 4]}, {name: b, body: r, group: arm}, {name: c, "
        "body: r, link: slide, point: [0, 0, 0]}, {name: d, body: r, all: true}]");
    tdState *state = robot_state(model);
    const tdBody *body = &model->bodies[0];
    uint64_t seed = 4;
    for (int trial = 0; trial < 20; trial++)
    {
        double q[12], v[12], low[12], high[12];
        const double e = 1e-6;
        int n = (int)model->coords;
        assert_true(n <= 12);
        for (int i = 0; i < n; i++)
        {
            q[i] = next_random(&seed);
            v[i] = next_random(&seed);
        }
        td_tree_fold(td_articulated_of(body), q, td_articulated_mine(body, state)->reference);
        td_articulated_mine(body, state)->points_valid = false;
        for (int i = 0; i < n; i++)
        {
            low[i] = q[i] - e * v[i];
            high[i] = q[i] + e * v[i];
        }
        for (int p = 0; p < model->n_probes; p++)
        {
            const tdPointSet *set = &model->probes[p].point;
            double x[2][3], f[3], row[12], work = 0, power = 0;
            body->ops->positions(body, state, set, low, x[0]);
            body->ops->positions(body, state, set, high, x[1]);
            for (int k = 0; k < 3; k++)
            {
                f[k] = next_random(&seed);
                power += f[k] * (x[1][k] - x[0][k]) / (2 * e);
            }
            body->ops->pull(body, state, set, q, f, row);
            for (int64_t k = 0; k < set->size; k++)
                work += row[k] * v[set->coord[k]];
            assert_near(work, power, 1e-8);
        }
        // Twists, and velocities of nodes.
        memcpy(state->q, q, sizeof(double) * (size_t)n);
        memcpy(state->v, v, sizeof(double) * (size_t)n);
        const double *speed = body->ops->node_velocities(model, body, state);
        double *kept = malloc(3 * (size_t)body->nodes * sizeof *kept);
        memcpy(kept, speed, 3 * (size_t)body->nodes * sizeof *kept);
        memcpy(state->q, low, sizeof(double) * (size_t)n);
        const double *at = body->ops->nodes(model, body, state);
        double *before = malloc(3 * (size_t)body->nodes * sizeof *before);
        memcpy(before, at, 3 * (size_t)body->nodes * sizeof *before);
        memcpy(state->q, high, sizeof(double) * (size_t)n);
        at = body->ops->nodes(model, body, state);
        for (int64_t i = 0; i < 3 * body->nodes; i++)
            assert_near(kept[i], (at[i] - before[i]) / (2 * e), 1e-8);
        free(kept);
        free(before);
    }
    td_state_free(state);
    td_model_free(model);
}

// A probe is where the user put it, on a link anywhere, and stays with it.
static void points_at_rest(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(ARM, STILL "time_step: 1 ms\n", "base: free, transform: {rotate: [30 deg, 0, 50 deg]}",
                                 "probes: [{name: a, body: r, link: wrist, point: [1, -2, 4]}]");
    tdState *state = robot_state(model);
    double x[3];
    td_state_probe(model, state, 0, x);
    assert_near(x[0], 1, 1e-13);
    assert_near(x[1], -2, 1e-13);
    assert_near(x[2], 4, 1e-13);
    td_state_free(state);
    td_model_free(model);
}

// A force at the end of an arm that a servo holds: k (q - q0) = moment of force and weight; and a cable that pulls with
// a given tension: the same with its direction. Static.
static void forces_and_cables(void **unused)
{
    (void)unused;
    static const char rest[] =
        "actuators:\n"
        "  - {name: m, type: joint, body: r, joint: j, drive: position, stiffness: 50 N*m/rad}\n"
        "  - {name: f, type: force, body: r, link: arm, point: [0, 0, -1], direction: [-1, 0, 0], drive: force}\n"
        "  - {name: c, type: cable, body: r, path: [[0.05, 0, -0.05]], pull_point: [1, 0, 0], drive: force}\n"
        "motion: {keyframes: [{t: 0, m: 0.2 rad, f: 3 N, c: 20 N}]}";
    for (int method = 0; method < 2; method++)
    {
        tdModel *model = robot_model(SWING("continuous", "<dynamics damping=\"5\"/>"),
                                     method == 0 ? "gravity: [0, 0, -9.81]\nintegrator: {method: static}"
                                                 : FALLING "time_step: 10 ms\nintegrator: {method: backward_euler, "
                                                           "newton: true}",
                                     "", rest);
        tdState *state = robot_state(model);
        robot_steps(model, state, method == 0 ? 1 : 1500);
        double q = state->q[0], s = sin(q), c = cos(q);
        // About +y a point r = (x, z) moves as q' (z, -x).
        double weight = 2 * 9.81 * 0.3 * s;
        double end[2] = {-s, -c}, force = -3 * end[1];
        double tied[2] = {0.05 * c - 0.05 * s, -0.05 * s - 0.05 * c}, pull[2] = {1 - tied[0], -tied[1]};
        double length = hypot(pull[0], pull[1]), cable = 20 / length * (tied[1] * pull[0] - tied[0] * pull[1]);
        assert_near(50 * (0.2 - q) - weight + force + cable, 0, 1e-5);
        td_state_free(state);
        td_model_free(model);
    }
}

// A cable from a soft body to a link: both ends feel its tension. The soft end moves as under a force of that size, and
// the carriage, which a servo holds, by tension over stiffness. Static, both of them.
static void cable_to_a_soft_body(void **unused)
{
    (void)unused;
    static const char soft[] =
        "  - {name: bar, mesh: {box: [[-0.5, -0.05, -0.05], [-0.1, 0.05, 0.05]], cells: [8, 2, 2]}, "
        "material: {law: linear, young: 1 MPa, poisson: 0.3, density: 1000}, fixed: [{group: xmin}]}\n";
    static const char *const pulls[2] = {
        "type: cable, body: bar, path: [[-0.1, 0, 0]], pull_point: [0.05, 0, 0], "
        "pull_body: r, drive: force",
        "type: force, body: bar, point: [-0.1, 0, 0], direction: [1, 0, 0], drive: force"};
    char rest[1600];
    double moved[2][3];
    for (int k = 0; k < 2; k++)
    {
        snprintf(rest, sizeof rest,
                 "%sprobes: [{name: p, body: bar, point: [-0.1, 0, 0]}]\n"
                 "actuators:\n  - {name: m, type: joint, body: r, joint: j, drive: position, stiffness: 100 N/m}\n"
                 "  - {name: c, %s}\nmotion: {keyframes: [{t: 0, c: 7 N}]}",
                 soft, pulls[k]);
        tdModel *model = robot_model(SLIDE("<limit lower=\"-1\" upper=\"1\" effort=\"1000\"/>"),
                                     "integrator: {method: static}", "", rest);
        tdState *state = robot_state(model);
        robot_steps(model, state, 1);
        td_state_probe(model, state, 0, moved[k]);
        assert_near(state->q[0], k == 0 ? -7.0 / 100 : 0, 1e-9);
        td_state_free(state);
        td_model_free(model);
    }
    assert_true(moved[1][0] > -0.1 + 1e-4);
    for (int c = 0; c < 3; c++)
        assert_near(moved[0][c], moved[1][c], 1e-9);
}

// Inverse control of joints: a tip is brought to a target by positions of two joints.
static void reaches_target(void **unused)
{
    (void)unused;
    static const char two[] = ROBOT(BASE LINK("upper", "1", "0.25 0 0", "0.02", "0.02", "0.02")
                                        LINK("lower", "1", "0.25 0 0", "0.02", "0.02", "0.02")
                                            JOINT("a", "continuous", "base", "upper", "0 0 0", "0 -1 0", "")
                                                JOINT("b", "continuous", "upper", "lower", "0.5 0 0", "0 -1 0", ""));
    tdModel *model = robot_model(
        two, FALLING "time_step: 10 ms\nintegrator: {method: backward_euler, newton: true}",
        "joints: [{name: a, position: 30 deg}, {name: b, position: -80 deg}]",
        "actuators: [{name: a, type: joint, body: r, joint: a, drive: position}, {name: b, type: joint, body: r, "
        "joint: "
        "b, drive: position}]\n"
        "effectors: [{name: tip, body: r, link: lower, point: [0.7544066, 0, -0.1330222], axes: xz, target: [0.6, 0, "
        "0.3]}]");
    tdState *state = robot_state(model);
    robot_steps(model, state, 30);
    double tip[3];
    td_state_effector(model, state, 0, tip);
    assert_near(tip[0], 0.6, 1e-5);
    assert_near(tip[2], 0.3, 1e-5);
    td_state_free(state);
    td_model_free(model);
}

// ---------------------------------------------------------------- state

// Steps after a checkpoint are the same bits: what a state is made of is in its arrays.
static void state_is_in_arrays(void **unused)
{
    (void)unused;
    tdModel *model =
        robot_model(ARM, FALLING "time_step: 2 ms\n", "base: free, angular_velocity: [1 rad/s, 2 rad/s, 0]",
                    "actuators: [{name: m, type: joint, body: r, joint: j1, drive: position, stiffness: 5, "
                    "damping: 0.1}]\nmotion: {keyframes: [{t: 0, m: 1 rad}]}");
    tdState *a = robot_state(model), *b = robot_state(model);
    tdStateArray from[64], to[64];
    tdError error = {0};
    robot_steps(model, a, 100);
    int n = td_state_arrays(model, a, from, 64);
    assert_int_equal(td_state_arrays(model, b, to, 64), n);
    for (int i = 0; i < n; i++)
        if (from[i].count > 0)
            memcpy(to[i].data, from[i].data, (size_t)from[i].count * sizeof(double));
    assert_ok(td_state_restore(model, b, &error), error);
    robot_steps(model, a, 100);
    robot_steps(model, b, 100);
    assert_memory_equal(a->q, b->q, (size_t)model->coords * sizeof(double));
    assert_memory_equal(a->v, b->v, (size_t)model->coords * sizeof(double));
    const double *x = td_state_positions(model, a, 0), *y = td_state_positions(model, b, 0);
    assert_memory_equal(x, y, 3 * (size_t)model->bodies[0].nodes * sizeof(double));
    td_state_free(a);
    td_state_free(b);
    td_model_free(model);
}

// A rigid body of the scene's own: thrown, turning, drawn by its shape; and one that is fixed and has no coordinates.
static void native_bodies(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ngravity: [0, 0, -10]\ntime_step: 1 ms\nsteps: 1\nintegrator: {method: midpoint, newton: true}\n"
        "bodies:\n"
        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
        "  - {name: ball, type: rigid, shape: {sphere: 0.1}, total_mass: 2, velocity: [1, 0, 5], angular_velocity: [0, "
        "0, "
        "3 rad/s], transform: {translate: [0, 0, 1]}}\n"
        "  - {name: can, type: rigid, shape: {cylinder: {radius: 0.1, length: 0.4}}, density: 1000}\n"
        "probes: [{name: p, body: ball, point: [0.1, 0, 1]}]\n");
    tdState *state = robot_state(model);
    assert_int_equal(model->coords, 12);
    robot_steps(model, state, 1000);
    assert_near(state->q[0], 1, 1e-9);
    assert_near(state->q[2], 1, 1e-9); // 1 + 5 - 10/2: midpoint is exact
    double x[3];
    td_state_probe(model, state, 0, x);
    assert_near(x[0], 1 + 0.1 * cos(3), 1e-9);
    assert_near(x[1], 0.1 * sin(3), 1e-9);
    const tdTreeLink *ball = &model->scene.bodies[1].tree->links[0], *can = &model->scene.bodies[2].tree->links[0];
    const double pi = acos(-1), mass = 1000 * pi * 0.01 * 0.4;
    assert_near(ball->inertia[0], 0.4 * 2 * 0.01, 1e-12);
    assert_near(can->mass, mass, 1e-9);
    assert_near(can->inertia[2], mass * 0.005, 1e-9);
    assert_near(can->inertia[0], mass * (0.0025 + 0.16 / 12), 1e-9);
    td_state_free(state);
    td_model_free(model);
}

// A joint whose position is given, without a stiffness, holds its link in a static scene wherever that is, above the
// joint too: 2 kg at 0.3 m from it.
static void held_at_rest(void **unused)
{
    (void)unused;
    static const char turn[] = SWING("revolute", LIMIT("-3", "3", "1000"));
    tdModel *model = robot_model(turn, "gravity: [3, 0, -9.81]\nintegrator: {method: static}\ntime_step: 1 s\n", "",
                                 "actuators: [{name: m, type: joint, body: r, joint: j, drive: position}]\n"
                                 "motion: {keyframes: [{t: 0, m: 0 rad}, {t: 6 s, m: 2.4 rad}]}\n");
    tdState *state = robot_state(model);
    for (int i = 1; i <= 6; i++)
    {
        double angle = 0.4 * i;
        scene_steps(model, state, 1);
        assert_near(state->q[0], angle, 1e-7);
        assert_near(state->constraint->effort[0], 0.6 * (3 * cos(angle) + 9.81 * sin(angle)), 1e-5);
    }
    scene_free(model, state);
}

static void refused(void **unused)
{
    (void)unused;
    static const char turn[] = SWING("revolute", LIMIT("-1", "1", "10"));
    static const char settings[] = FALLING "time_step: 1 ms\n";
    robot_refused(turn, settings, "joints: [{name: x}]", "", "no joint 'x'");
    robot_refused(turn, settings, "joints: [{name: j, position: 2 rad}]", "", "is outside it");
    robot_refused(turn, settings, "joints: [{name: j, position: 2 mm}]", "", "angle");
    robot_refused(turn, settings, "material: {}", "", "takes no 'material'");
    robot_refused(turn, settings, "transform: {scale: 2}", "", "cannot be scaled");
    robot_refused(turn, settings, "velocity: [1, 0, 0]", "", "the body is fixed");
    robot_refused(turn, settings, "", "actuators: [{name: m, type: joint, body: r, joint: k, drive: effort}]",
                  "no joint 'k'");
    robot_refused(turn, settings, "", "actuators: [{name: m, type: joint, body: r, joint: j, drive: force}]",
                  "is by effort, position or velocity");
    robot_refused(turn, settings, "", "actuators: [{name: m, type: joint, body: r, joint: j, drive: velocity}]",
                  "needs 'damping'");
    robot_refused(turn, settings, "",
                  "actuators: [{name: m, type: joint, body: r, joint: j, drive: effort, stiffness: 3}]",
                  "has no servo");
    robot_refused(turn, settings, "",
                  "actuators: [{name: m, type: joint, body: r, joint: j, drive: position, stiffness: 3 N}]",
                  "stiffness");
    robot_refused(
        turn, settings, "",
        "actuators: [{name: m, type: rotation, body: r, all: true, axis: [0, 0, 1], center: [0, 0, 0], drive: "
        "angle}]",
        "is rigid");
    robot_refused(turn, settings, "", "loads: [{type: point, body: r, all: true, force: [0, 0, 1]}]", "is rigid");
    robot_refused(turn, settings, "", "probes: [{name: p, body: r, point: [9, 9, 9]}]", "on no link");
    robot_refused(turn, settings, "", "probes: [{name: p, body: r, link: hand, point: [9, 9, 9]}]", "no link 'hand'");
    robot_refused(turn, "gravity: [0, 0, -9.81]\nintegrator: {method: static}", "base: free", "", "nothing holds it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servo_closed_form),
        cmocka_unit_test(stiff_servo),
        cmocka_unit_test(limited_servo),
        cmocka_unit_test(servo_brakes_when_another_falls_behind),
        cmocka_unit_test(velocity_drive),
        cmocka_unit_test(efforts),
        cmocka_unit_test(exact_position),
        cmocka_unit_test(exact_position_with_friction),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(dry_friction),
        cmocka_unit_test(viscous_damping),
        cmocka_unit_test(mimic_gears),
        cmocka_unit_test(rows_are_velocities),
        cmocka_unit_test(points_at_rest),
        cmocka_unit_test(forces_and_cables),
        cmocka_unit_test(reaches_target),
        cmocka_unit_test(cable_to_a_soft_body),
        cmocka_unit_test(state_is_in_arrays),
        cmocka_unit_test(native_bodies),
        cmocka_unit_test(held_at_rest),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
