// SPDX-License-Identifier: Apache-2.0
// Articulated bodies in the step against closed forms and references that are integrated here.
#include "rigid.h"

#include "base/vector.h"

#define FREE_FALL  "gravity: [0, 0, -9.81]"
#define NO_GRAVITY "gravity: [0, 0, 0]"
#define MIDPOINT   "integrator: {method: midpoint, newton: true, tolerance: 1e-10}\n"

// ---------------------------------------------------------------- double pendulum

#define PENDULUM                                                                                                       \
    ROBOT(BASE LINK("upper", "1.5", "0 0 -0.4", "0.1", "0.1", "0.001")                                                 \
              LINK("lower", "0.8", "0 0 -0.3", "0.03", "0.03", "0.001")                                                \
                  JOINT("a", "continuous", "base", "upper", "0 0 0", "0 1 0", "")                                      \
                      JOINT("b", "continuous", "upper", "lower", "0 0 -0.7", "0 1 0", ""))

// Closed-form equations in the absolute angles s = q1, t = q1 + q2 from hanging, positive about +y:
//   (I1 + m1 c1^2 + m2 L^2) s'' + m2 L c2 cos(s - t) t'' + m2 L c2 sin(s - t) t'^2 + (m1 c1 + m2 L) g sin s = 0
//   (I2 + m2 c2^2) t'' + m2 L c2 cos(s - t) s'' - m2 L c2 sin(s - t) s'^2 + m2 c2 g sin t = 0
static void pendulum_rates(const double y[4], double d[4])
{
    const double m1 = 1.5, c1 = 0.4, I1 = 0.1, m2 = 0.8, c2 = 0.3, I2 = 0.03, L = 0.7, g = 9.81;
    double s = y[0], t = y[1], k = m2 * L * c2;
    double a = I1 + m1 * c1 * c1 + m2 * L * L, b = k * cos(s - t), c = I2 + m2 * c2 * c2;
    double f = -k * sin(s - t) * y[3] * y[3] - (m1 * c1 + m2 * L) * g * sin(s);
    double h = k * sin(s - t) * y[2] * y[2] - m2 * c2 * g * sin(t), det = a * c - b * b;
    d[0] = y[2];
    d[1] = y[3];
    d[2] = (c * f - b * h) / det;
    d[3] = (a * h - b * f) / det;
}

// Runge-Kutta of order 4 with steps so small that their error is rounding.
static void pendulum_reference(double y[4], double time, int steps)
{
    double dt = time / steps;
    for (int i = 0; i < steps; i++)
    {
        double k[4][4], z[4];
        for (int s = 0; s < 4; s++)
        {
            for (int c = 0; c < 4; c++)
                z[c] = y[c] + (s == 0 ? 0 : (s == 3 ? 1 : 0.5) * dt * k[s - 1][c]);
            pendulum_rates(z, k[s]);
        }
        for (int c = 0; c < 4; c++)
            y[c] += dt / 6 * (k[0][c] + 2 * k[1][c] + 2 * k[2][c] + k[3][c]);
    }
}

static double pendulum_error(const char *integrator, double h, double time)
{
    char settings[300];
    snprintf(settings, sizeof settings, FREE_FALL "\ntime_step: %.17g\nsteps: 1\n%s", h, integrator);
    tdModel *model =
        robot_model(PENDULUM, settings, "joints: [{name: a, position: 1 rad}, {name: b, position: 0.7 rad}]", "");
    tdState *state = robot_state(model);
    double y[4] = {1, 1.7, 0, 0};
    pendulum_reference(y, time, 40000);
    robot_steps(model, state, (int)lround(time / h));
    double error = fmax(fabs(state->q[0] - y[0]), fabs(state->q[0] + state->q[1] - y[1]));
    td_state_free(state);
    td_model_free(model);
    return error;
}

// Errors fall by h^2 with midpoint and Newmark, by h^4 with Runge-Kutta and by h with the others; one second is before
// chaos sets in.
static void double_pendulum(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *integrator;
        double h, most, low, high;
    } cases[] = {
        {MIDPOINT, 1e-3, 2e-5, 3.9, 4.1},
        {"integrator: {method: newmark, newton: true, tolerance: 1e-10}\n", 1e-3, 2e-5, 3.9, 4.1},
        {"integrator: {method: backward_euler, newton: true}\n", 1e-4, 5e-3, 1.8, 2.2},
        {"integrator: {method: backward_euler}\n", 1e-4, 5e-3, 1.8, 2.2},
        {"integrator: {method: symplectic}\n", 1e-4, 5e-3, 1.8, 2.2},
        {"integrator: {method: midpoint}\n", 1e-3, 2e-5, 3.9, 4.1},
        {"integrator: {method: rk4}\n", 5e-3, 2e-7, 14, 18},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        double coarse = pendulum_error(cases[i].integrator, cases[i].h, 1);
        double fine = pendulum_error(cases[i].integrator, cases[i].h / 2, 1);
        printf("%.2e %.2e ratio %.3f  %s", coarse, fine, coarse / fine, cases[i].integrator);
        assert_true(coarse < cases[i].most);
        assert_true(coarse / fine > cases[i].low && coarse / fine < cases[i].high);
    }
}

// Midpoint has no drift: what the energy is off by stays as large as h^2 allows.
static void pendulum_energy(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(PENDULUM, FREE_FALL "\ntime_step: 2 ms\nsteps: 1\n" MIDPOINT,
                                 "joints: [{name: a, position: 2.5 rad}, {name: b, position: 0.7 rad}]", "");
    tdState *state = robot_state(model);
    robotSums start = robot_sums(model, state, 0);
    double worst[2] = {0, 0}, total = start.potential, most = 0;
    for (int i = 0; i < 5000; i++)
    {
        robot_steps(model, state, 1);
        robotSums now = robot_sums(model, state, 0);
        most = fmax(most, now.kinetic);
        worst[i >= 2500] = fmax(worst[i >= 2500], fabs(now.kinetic + now.potential - total));
    }
    printf("energy off by %.2e and %.2e of %.1f J\n", worst[0], worst[1], most);
    assert_true(worst[0] < 2e-3 * most && worst[1] < 2e-3 * most);
    td_state_free(state);
    td_model_free(model);
}

// ---------------------------------------------------------------- tops

#define TOP(ixx, iyy, izz, turning)                                                                                    \
    robot_model(ROBOT(LINK("body", "2", "0 0 0", ixx, iyy, izz)),                                                      \
                NO_GRAVITY "\ntime_step: 0.5 ms\nsteps: 1\n" MIDPOINT, "base: free, angular_velocity: [" turning "]",  \
                "")

// A symmetric top: in its own axes the angular velocity goes round at (I3 - I1)/I1 w3, in space the axis of symmetry
// goes round the angular momentum at L/I1.
static void symmetric_top(void **unused)
{
    (void)unused;
    tdModel *model = TOP("0.02", "0.02", "0.05", "1 rad/s, 0, 8 rad/s");
    tdState *state = robot_state(model);
    const double I1 = 0.02, I3 = 0.05, w1 = 1, w3 = 8;
    const double slow = (I3 - I1) / I1 * w3, L[3] = {I1 * w1, 0, I3 * w3};
    double size = sqrt(td_dot3(L, L)), rate = size / I1, n[3] = {L[0] / size, 0, L[2] / size};
    double off = 0, apart = 0;
    const tdBody *body = &model->bodies[0];
    for (int i = 1; i <= 4000; i++)
    {
        robot_steps(model, state, 1);
        double t = 0.5e-3 * i, c = cos(rate * t), s = sin(rate * t);
        off = fmax(off, fabs(state->v[3] - w1 * cos(slow * t)) + fabs(state->v[4] - w1 * sin(slow * t)) +
                            fabs(state->v[5] - w3));
        // Rodrigues' formula: e3 turned about n.
        const tdPose *pose = td_articulated_poses(body, state, state->q);
        double e3[3] = {0, 0, 1}, across[3];
        td_cross3(n, e3, across);
        for (int k = 0; k < 3; k++)
        {
            double axis = e3[k] * c + across[k] * s + n[k] * n[2] * (1 - c);
            apart = fmax(apart, fabs(pose->R[3 * k + 2] - axis));
        }
    }
    printf("angular velocity off by %.2e rad/s, axis by %.2e\n", off, apart);
    assert_true(off < 1e-3 && apart < 1e-3); // (h rate)^2/12 of 40 rad
    td_state_free(state);
    td_model_free(model);
}

// An asymmetric top that turns about its middle axis, which is unstable: it tumbles. Midpoint keeps the energy to
// Newton's tolerance, and the momentum to h^2.
static void asymmetric_top(void **unused)
{
    (void)unused;
    tdModel *model = TOP("0.02", "0.05", "0.04", "0.001 rad/s, 0.001 rad/s, 10 rad/s");
    tdState *state = robot_state(model);
    robotSums start = robot_sums(model, state, 0);
    double energy = 0, momentum = 0, least = 10;
    for (int i = 0; i < 8000; i++)
    {
        robot_steps(model, state, 1);
        robotSums now = robot_sums(model, state, 0);
        energy = fmax(energy, fabs(now.kinetic / start.kinetic - 1));
        for (int k = 0; k < 3; k++)
            momentum = fmax(momentum, fabs(now.angular[k] - start.angular[k]) / start.angular[2]);
        least = fmin(least, state->v[5]);
    }
    printf("energy off by %.2e, momentum by %.2e, w3 down to %.2f rad/s\n", energy, momentum, least);
    assert_true(least < -9); // it did turn over
    assert_true(energy < 1e-9 && momentum < 1e-4);
    td_state_free(state);
    td_model_free(model);
}

// With one linearization a step gyroscopic forces are taken at the end of it, so that a body that tumbles gains no
// energy, however fast: backward Euler loses some, midpoint keeps it to the tolerance of 1e-6 a step, which goes both
// ways. 200 rad/s are two radians a step.
static void tumbling_is_stable(void **unused)
{
    (void)unused;
    static const char *const fast[] = {"10", "40", "200"};
    for (int k = 0; k < 6; k++)
    {
        bool midpoint = k >= 3;
        char settings[200], body[200];
        snprintf(settings, sizeof settings, NO_GRAVITY "\ntime_step: 10 ms\nsteps: 1\nintegrator: {method: %s}\n",
                 midpoint ? "midpoint" : "backward_euler");
        snprintf(body, sizeof body, "base: free, angular_velocity: [1 rad/s, 1 rad/s, %s rad/s]", fast[k % 3]);
        tdModel *model = robot_model(ROBOT(LINK("body", "2", "0 0 0", "0.02", "0.05", "0.04")), settings, body, "");
        tdState *state = robot_state(model);
        double first = robot_sums(model, state, 0).kinetic, last = first;
        for (int i = 0; i < 1000; i++)
        {
            robot_steps(model, state, 1);
            double now = robot_sums(model, state, 0).kinetic;
            if (!midpoint)
                assert_true(now <= last * (1 + 1e-5));
            last = now;
        }
        printf("%s rad/s: %.6f of the energy is left\n", fast[k % 3], last / first);
        if (midpoint)
            assert_near(last / first, 1, 1e-3);
        td_state_free(state);
        td_model_free(model);
    }
}

// ---------------------------------------------------------------- free trees

#define FLYING                                                                                                         \
    ROBOT(LINK("body", "3", "0.1 0 0", "0.1", "0.2", "0.25") LINK("arm", "1", "0 0 0.3", "0.05", "0.04", "0.02")       \
              LINK("wrist", "0.5", "0.1 0 0.1", "0.01", "0.02", "0.015")                                               \
                  LINK("slide", "0.7", "0 0.1 0", "0.01", "0.01", "0.01")                                              \
                      JOINT("j1", "continuous", "body", "arm", "0.2 0 0.1", "1 2 0.5", "")                             \
                          JOINT("j2", "ball", "arm", "wrist", "0 0 0.6", "1 0 0", "")                                  \
                              JOINT("j3", "prismatic", "body", "slide", "-0.2 0 0", "0 1 1",                           \
                                    "<limit lower=\"-100\" upper=\"100\"/>"))

static void flight(const char *settings, double *linear, double *angular, double *fall)
{
    tdModel *model = robot_model(FLYING, settings,
                                 "base: free, velocity: [1, 2, 3], angular_velocity: [1 rad/s, -2 rad/s, 0.5 rad/s], "
                                 "transform: {rotate: [20 deg, 30 deg, 0], translate: [1, 2, 3]}",
                                 "");
    tdState *state = robot_state(model);
    for (int i = 6; i < 11; i++)
        state->v[i] = i == 10 ? 0.3 : 0.7 * (i - 7);
    robotSums start = robot_sums(model, state, 0);
    const double *g = model->scene.settings.gravity;
    *linear = *angular = *fall = 0;
    while (state->time < 1 - 1e-9)
    {
        robot_steps(model, state, 1);
        robotSums now = robot_sums(model, state, 0);
        double t = state->time, p = 0, l = 0, c = 0, weight[3];
        // Gravity turns the momentum about the origin as if all mass were at its center.
        double way[3], turned[3], mass = 5.2;
        for (int k = 0; k < 3; k++)
        {
            way[k] = start.center[k] + t * start.linear[k] / mass / 2;
            weight[k] = mass * g[k] * t;
        }
        td_cross3(way, weight, turned);
        // L(t) - L(0) = integral of c x m g; with c = c0 + v t + g t^2/2: c0 x m g t + v x m g t^2/2
        for (int k = 0; k < 3; k++)
        {
            p = fmax(p, fabs(now.linear[k] - start.linear[k] - weight[k]));
            l = fmax(l, fabs(now.angular[k] - start.angular[k] - turned[k]));
            c = fmax(c, fabs(now.center[k] - start.center[k] - t * start.linear[k] / mass - 0.5 * g[k] * t * t));
        }
        *linear = fmax(*linear, p);
        *angular = fmax(*angular, l);
        *fall = fmax(*fall, c);
    }
    td_state_free(state);
    td_model_free(model);
}

// Momentum of a tree that nothing touches, and in free fall: off by h^2.
static void free_tree(void **unused)
{
    (void)unused;
    for (int falls = 0; falls < 2; falls++)
    {
        char settings[200];
        double off[2][3];
        for (int k = 0; k < 2; k++)
        {
            snprintf(settings, sizeof settings, "%s\ntime_step: %g ms\nsteps: 1\n" MIDPOINT,
                     falls ? FREE_FALL : NO_GRAVITY, k ? 1.0 : 2.0);
            flight(settings, &off[k][0], &off[k][1], &off[k][2]);
        }
        for (int c = 0; c < 3; c++)
        {
            printf("%.2e -> %.2e\n", off[0][c], off[1][c]);
            assert_true(off[1][c] < 2e-5);
            assert_true(off[0][c] / off[1][c] > 3.5 || off[1][c] < 1e-9);
        }
    }
}

// ---------------------------------------------------------------- bases

// A base that is free and very heavy moves as little as one that is fixed.
static void heavy_base_is_fixed(void **unused)
{
    (void)unused;
    static const char fixed[] =
        ROBOT(LINK("body", "1", "0 0 0", "1", "1", "1") LINK("arm", "1", "0.1 0 0.3", "0.05", "0.04", "0.02")
                  JOINT("j", "continuous", "body", "arm", "0.2 0 0", "0 1 0", ""));
    static const char heavy[] =
        ROBOT(LINK("body", "1e9", "0 0 0", "1e9", "1e9", "1e9") LINK("arm", "1", "0.1 0 0.3", "0.05", "0.04", "0.02")
                  JOINT("j", "continuous", "body", "arm", "0.2 0 0", "0 1 0", ""));
    double q[2];
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = robot_model(k ? heavy : fixed, "gravity: [0, 0, 0]\ntime_step: 1 ms\nsteps: 1\n" MIDPOINT,
                                     k ? "base: free" : "base: fixed",
                                     "actuators: [{name: m, type: joint, body: r, joint: j, drive: effort}]\nmotion: "
                                     "{keyframes: [{t: 0, m: 2 N*m}, {t: 0.3, m: -1 N*m}]}");
        tdState *state = robot_state(model);
        robot_steps(model, state, 500);
        q[k] = state->q[model->coords - 1];
        td_state_free(state);
        td_model_free(model);
    }
    assert_true(fabs(q[0]) > 0.1);
    assert_near(q[1], q[0], 1e-8); // the ratio of the masses, 1e-9
}

// The origin of a mesh is wherever its file has it. A body that turns keeps its momentum all the same, at any step, and
// starts with the velocity of that origin.
static void mesh_off_its_center(void **unused)
{
    (void)unused;
    char path[] = TD_BUILD_DIR "/wedge_XXXXXX.obj";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    fputs("v 0 0 0\nv 1 0 0\nv 1 0.7 0\nv 0 0.7 0\nv 0 0 0.5\nv 0 0.7 0.5\n"
          "f 1 4 3\nf 1 3 2\nf 1 2 5\nf 4 6 3\nf 1 5 6\nf 1 6 4\nf 2 3 6\nf 2 6 5\n",
          out);
    fclose(out);
    tdModel *model = scene_model("tendril: 1\ntime_step: 50 ms\nsteps: 1\nbodies:\n"
                                 "  - {name: r, type: rigid, shape: {mesh: %s}, density: 1000,\n"
                                 "     velocity: [0.1, 0, 0.2], angular_velocity: [3 rad/s, -1 rad/s, 5 rad/s],\n"
                                 "     transform: {rotate: [20 deg, 0, 70 deg], translate: [1, 2, 3]}}\n"
                                 "probes: [{name: corner, body: r, point: [1, 2, 3]}]\n",
                                 path);
    tdState *state = robot_state(model);
    robotSums start = robot_sums(model, state, 0);
    const double along[3] = {0.1, 0, 0.2}, turning[3] = {3, -1, 5};
    double lever[3], turn[3], corner[3];
    td_state_probe(model, state, 0, corner);
    td_subtract3(start.center, corner, lever);
    td_cross3(turning, lever, turn);
    assert_near(sqrt(td_dot3(lever, lever)), 0.51, 0.01); // a third, and half, of the wedge's sides
    for (int c = 0; c < 3; c++)
        assert_near(start.linear[c] / 175, along[c] + turn[c], 1e-12);
    for (int i = 0; i < 100; i++)
    {
        robot_steps(model, state, 1);
        robotSums now = robot_sums(model, state, 0);
        for (int c = 0; c < 3; c++)
        {
            assert_near(now.linear[c], start.linear[c], 1e-9);
            assert_near(now.center[c], start.center[c] + 0.05 * (i + 1) * start.linear[c] / 175, 1e-9);
        }
    }
    td_state_free(state);
    td_model_free(model);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(double_pendulum),     cmocka_unit_test(pendulum_energy),     cmocka_unit_test(symmetric_top),
        cmocka_unit_test(asymmetric_top),      cmocka_unit_test(tumbling_is_stable),  cmocka_unit_test(free_tree),
        cmocka_unit_test(heavy_base_is_fixed), cmocka_unit_test(mesh_off_its_center),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
