// SPDX-License-Identifier: Apache-2.0
// Time integration against what is known in closed form: order, energy, frequency, damping, free fall.
#include "scenes.h"

// ---------------------------------------------------------------- one degree of freedom

// A cube of which one corner may move along x alone: x'' + (alpha + beta w^2) x' + w^2 x = 0.
typedef struct oscillator
{
    tdModel *model;
    tdState *state;
    int at; // the coordinate
    double w;
} oscillator;

static oscillator make_oscillator(const char *integrator, double h, const char *damping)
{
    oscillator o = {.model = scene_model("tendril: 1\ntime_step: %.17g\nsteps: 1\nintegrator: %s\nbodies:\n"
                                         "  - name: cube\n"
                                         "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
                                         "    material: {law: linear, young: 1e4, poisson: 0.3, density: 1000}\n"
                                         "    damping: {%s}\n    velocity: [1, 0, 0]\n"
                                         "    fixed: [{nodes: [0, 1, 2, 3, 4, 5, 6]}, {nodes: [7], axes: yz}]\n",
                                         h, integrator, damping)};
    assert_int_equal(td_model_dofs(o.model), 1);
    o.state = scene_state(o.model);
    o.at = 21;
    const tdSoft *soft = scene_soft(o.model);
    double force[24];
    td_soft_gradients(soft, scene_mine(o.state), o.state, soft->rest, false);
    td_soft_forces(soft, scene_mine(o.state), o.state, force, scene_mine(o.state)->K);
    double *K = dense_of(&soft->pattern, scene_mine(o.state)->K);
    o.w = sqrt(K[o.at * 24 + o.at] / soft->node_mass[7]);
    free(K);
    return o;
}

static double displacement(const oscillator *o)
{
    return o->state->q[o->at] - scene_soft(o->model)->rest[o->at];
}

// Error of position and velocity after one and a third periods.
static double error_with(const char *integrator, int steps)
{
    oscillator o = make_oscillator(integrator, 1, "mass: 0");
    double time = 8.5 / o.w, w = o.w;
    scene_free(o.model, o.state);
    o = make_oscillator(integrator, time / steps, "mass: 0");
    scene_steps(o.model, o.state, steps);
    double dx = w * displacement(&o) - sin(w * time), dv = o.state->v[o.at] - cos(w * time);
    scene_free(o.model, o.state);
    return sqrt(dx * dx + dv * dv);
}

static void orders_of_accuracy(void **unused)
{
    (void)unused;
    const struct
    {
        const char *integrator;
        int order;
    } cases[] = {{"{method: backward_euler}", 1},
                 {"{method: midpoint}", 2},
                 {"{method: symplectic}", 1},
                 {"{method: newmark}", 2},
                 {"{method: newmark, beta: 0.3025, gamma: 0.6}", 1},
                 {"{method: theta, theta: 0.5, theta_vq: 0.5}", 2},
                 {"{method: theta, theta: 0.7, theta_vq: 0.6}", 1},
                 {"{method: midpoint, newton: true}", 2},
                 {"{method: newmark, newton: true}", 2}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
    {
        double coarse = error_with(cases[k].integrator, 2000), fine = error_with(cases[k].integrator, 4000);
        assert_near(log2(coarse / fine), cases[k].order, 0.1);
        assert_true(fine < (cases[k].order == 1 ? 0.02 : 2e-5));
    }
}

// exp(-zeta w t) sin(w_d t) / w_d with zeta = (alpha / w + beta w) / 2
static void rayleigh_damping_decays(void **unused)
{
    (void)unused;
    const char *const integrators[] = {"{method: newmark}", "{method: midpoint}", "{method: newmark, newton: true}"};
    const double alpha[] = {0.5, 0, 0.3}, beta[] = {0, 0.02, 0.01};
    for (int k = 0; k < 9; k++)
    {
        char damping[100];
        snprintf(damping, sizeof damping, "mass: %g, stiffness: %g", alpha[k / 3], beta[k / 3]);
        double h = 5e-4;
        oscillator o = make_oscillator(integrators[k % 3], h, damping);
        double zeta = 0.5 * (alpha[k / 3] / o.w + beta[k / 3] * o.w), damped = o.w * sqrt(1 - zeta * zeta);
        assert_true(zeta > 0.02 && zeta < 0.5 && o.w * h < 0.01);
        int steps = (int)(10 / (o.w * h));
        for (int s = 1; s <= steps; s++)
        {
            scene_steps(o.model, o.state, 1);
            double t = s * h, exact = exp(-zeta * o.w * t) * sin(damped * t) / damped;
            assert_near(displacement(&o), exact, 2e-4 / o.w);
        }
        scene_free(o.model, o.state);
    }
}

// ---------------------------------------------------------------- a vibrating bar

static tdModel *bar(const char *law, const char *integrator, double h, const char *more)
{
    return scene_model("tendril: 1\ntime_step: %.17g\nsteps: 1\nintegrator: %s\nsolver: {tolerance: 1e-12}\n"
                       "bodies:\n  - name: bar\n    mesh: {box: [[0, 0, 0], [4, 1, 1]], cells: [3, 1, 1]}\n"
                       "    material: {law: %s, young: 1e5, poisson: 0.3, density: 1000}\n%s",
                       h, integrator, law, more);
}

static double total_energy(const tdModel *model, tdState *state)
{
    double kinetic, elastic;
    td_state_energy(model, state, &kinetic, &elastic);
    return kinetic + elastic;
}

static void energy_is_kept(void **unused)
{
    (void)unused;
    const char *const integrators[] = {"{method: newmark}", "{method: midpoint}", "{method: symplectic}"};
    const char *const masses[] = {"lumped", "consistent"};
    for (int k = 0; k < 5; k++)
    {
        char more[200];
        bool explicit_step = k == 4;
        snprintf(more, sizeof more, "    velocity: [0.1, 0.2, 0.3]\n    fixed: [{group: xmin}]\n    mass: %s\n",
                 masses[explicit_step ? 0 : k / 2]);
        tdModel *model = bar("linear", integrators[explicit_step ? 2 : k % 2], explicit_step ? 5e-3 : 2e-2, more);
        tdState *state = scene_state(model);
        double first = total_energy(model, state), worst = 0;
        assert_true(first > 1);
        for (int s = 0; s < 10000; s++)
        {
            scene_steps(model, state, 1);
            if (s % 10 == 9)
                worst = fmax(worst, fabs(total_energy(model, state) / first - 1));
        }
        assert_true(worst > 0);
        if (explicit_step)
            assert_true(worst < 0.5); // swings with the fastest mode, but does not drift
        else
            assert_near(worst, 0, 1e-6);
        scene_free(model, state);
    }
}

// Lowest mode of K x = w^2 M x on the free coordinates, by inverse iteration with dense matrices.
static double lowest_mode(const tdModel *model, tdState *state, double *mode)
{
    const tdSoft *soft = scene_soft(model);
    tdSoftState *mine = scene_mine(state);
    int n = (int)model->coords;
    td_soft_gradients(soft, mine, state, soft->rest, false);
    double *force = td_scratch_take(state);
    td_soft_forces(soft, mine, state, force, mine->K);
    td_scratch_give(state, force);
    double *K = dense_of(&soft->pattern, mine->K), *Mx = calloc((size_t)n, sizeof *Mx), square = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (soft->held[i] || soft->held[j])
                K[i * n + j] = i == j;
    assert_true(dense_factor(n, K));
    for (int i = 0; i < n; i++)
        mode[i] = soft->held[i] ? 0 : soft->rest[i / 3 * 3] * (i % 3 == 2 ? 1 : 0.01);
    for (int k = 0; k < 500; k++)
    {
        td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, mode, Mx, false);
        for (int i = 0; i < n; i++)
            Mx[i] = soft->held[i] ? 0 : Mx[i];
        dense_solve(n, K, Mx, mode);
        double size = 0, above = 0;
        for (int i = 0; i < n; i++)
            above += mode[i] * Mx[i];
        td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, mode, Mx, false);
        for (int i = 0; i < n; i++)
            size += mode[i] * Mx[i];
        square = above / size;
        for (int i = 0; i < n; i++)
            mode[i] /= sqrt(size);
    }
    free(K);
    free(Mx);
    return sqrt(square);
}

// Started in its lowest mode, the bar swings with the frequency of the discrete dispersion: for average
// acceleration and midpoint tan(w_h h / 2) = w h / 2, for symplectic steps sin(w_h h / 2) = w h / 2.
static void frequency_is_that_of_the_mode(void **unused)
{
    (void)unused;
    const char *const integrators[] = {"{method: newmark}", "{method: midpoint}", "{method: symplectic}"};
    for (int k = 0; k < 5; k++)
    {
        double h = k % 3 == 2 ? 0.03 : 0.1, mode[48];
        char more[100];
        snprintf(more, sizeof more, "    fixed: [{group: xmin}]\n    mass: %s\n", k < 3 ? "lumped" : "consistent");
        tdModel *model = bar("linear", integrators[k % 3], h, more);
        tdState *state = scene_state(model);
        assert_int_equal(model->coords, 48);
        double w = lowest_mode(model, state, mode), half = 0.5 * w * h;
        double expected = k % 3 == 2 ? 2 * asin(half) / h : 2 * atan(half) / h;
        memcpy(state->v, mode, (size_t)model->coords * sizeof(double));
        int follow = 0, crossings = 0;
        for (int i = 0; i < 48; i++)
            follow = fabs(mode[i]) > fabs(mode[follow]) ? i : follow;
        double last = 0, first_time = 0, last_time = 0;
        for (int s = 1; s <= 4000; s++)
        {
            scene_steps(model, state, 1);
            double x = state->q[follow] - scene_soft(model)->rest[follow];
            if (s > 1 && (x > 0) != (last > 0))
            {
                // The samples lie on a sinusoid of unknown frequency near the expected one.
                double ratio = sin(expected * h) / (x / last - cos(expected * h));
                double back = atan(ratio) / expected; // time from the crossing to the last sample
                last_time = (s - 1) * h - back;
                first_time = crossings == 0 ? last_time : first_time;
                crossings++;
            }
            last = x;
        }
        assert_true(crossings > 10);
        double measured = acos(-1) * (crossings - 1) / (last_time - first_time);
        assert_near(measured / expected, 1, 1e-6);
        // and it is not the frequency of the mode itself: the steps are large enough to tell them apart
        assert_true(fabs(measured / w - 1) > 1e-5);
        scene_free(model, state);
    }
}

// Newmark's first step begins with M a = f, also with a consistent mass: v1 = h (a0 + a1) / 2.
static void start_acceleration(void **unused)
{
    (void)unused;
    for (int consistent = 0; consistent < 2; consistent++)
    {
        char more[300];
        snprintf(more, sizeof more,
                 "    fixed: [{group: xmin}]\n    mass: %s\n"
                 "loads: [{type: point, body: bar, nodes: [15], force: [100, -200, 300]}]\n",
                 consistent ? "consistent" : "lumped");
        tdModel *model = bar("corotational", "{method: newmark}", 1e-6, more);
        tdState *state = scene_state(model);
        const tdSoft *soft = scene_soft(model);
        scene_steps(model, state, 1);
        int n = 48;
        double *M = calloc(48 * 48, sizeof *M), a[48] = {0};
        for (int i = 0; i < 16; i++)
            for (int64_t b = soft->pattern.row[i]; b < soft->pattern.row[i + 1]; b++)
                for (int c = 0; c < 3; c++)
                {
                    int row = 3 * i + c, column = 3 * soft->pattern.column[b] + c;
                    bool held = soft->held[row] || soft->held[column];
                    M[row * n + column] = M[column * n + row] = held ? row == column : soft->mass[b];
                }
        assert_true(dense_factor(n, M));
        a[45] = 100;
        a[46] = -200;
        a[47] = 300;
        dense_solve(n, M, a, a);
        double largest = fmax(fabs(a[46]), fabs(a[47]));
        for (int i = 0; i < n; i++)
            assert_near(state->v[i] / 1e-6, a[i], 1e-6 * largest);
        free(M);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- free bodies

static void free_fall_is_exact(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST;
    const struct
    {
        const char *integrator;
        double ahead; // x = v0 t + g t (t + ahead h) / 2
    } cases[] = {{"{method: backward_euler}", 1},
                 {"{method: symplectic}", 1},
                 {"{method: midpoint}", 0},
                 {"{method: newmark}", 0},
                 {"{method: newmark, newton: true}", 0}};
    for (int l = 0; l < 5; l++)
        for (int k = 0; k < 5; k++)
        {
            double h = 1e-3, t = 0.1;
            tdModel *model = bar(laws[l], cases[k].integrator, h,
                                 l % 2 == 0 || k == 1 ? "    velocity: [1, 2, 3]\ngravity: [0, 4, -9.81]\n"
                                                      : "    velocity: [1, 2, 3]\n    mass: consistent\n"
                                                        "gravity: [0, 4, -9.81]\n");
            tdState *state = scene_state(model);
            scene_steps(model, state, 100);
            const double v0[3] = {1, 2, 3}, g[3] = {0, 4, -9.81};
            for (int i = 0; i < 48; i++)
            {
                double fall = 0.5 * g[i % 3] * t * (t + cases[k].ahead * h);
                assert_near(state->v[i], v0[i % 3] + g[i % 3] * t, 1e-9);
                assert_near(state->q[i], scene_soft(model)->rest[i] + v0[i % 3] * t + fall, 1e-10);
            }
            scene_free(model, state);
        }
}

static void momentum_of_free_body_is_kept(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST;
    const char *const integrators[] = {"{method: backward_euler}", "{method: midpoint}",
                                       "{method: newmark, newton: true, tolerance: 1e-11}", "{method: symplectic}"};
    for (int l = 0; l < 5; l++)
        for (int k = 0; k < 4; k++)
        {
            tdModel *model = bar(laws[l], integrators[k], k == 3 ? 1e-3 : 1e-2, "    damping: {stiffness: 1 ms}\n");
            tdState *state = scene_state(model);
            const tdSoft *soft = scene_soft(model);
            uint64_t seed = 31;
            double before[3] = {0}, after[3] = {0}, size = 0;
            for (int i = 0; i < 48; i++)
            {
                state->v[i] = 0.5 * next_random(&seed) + 0.2;
                before[i % 3] += soft->node_mass[i / 3] * state->v[i];
                size += soft->node_mass[i / 3] * fabs(state->v[i]);
            }
            scene_steps(model, state, 50);
            for (int i = 0; i < 48; i++)
                after[i % 3] += soft->node_mass[i / 3] * state->v[i];
            for (int c = 0; c < 3; c++)
                assert_near(after[c], before[c], 1e-9 * size);
            scene_free(model, state);
        }
}

// A free body that turns by more than a right angle keeps its shape, whatever the law does about rotation;
// the linear one does not.
static void turning_body_keeps_its_shape(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST;
    const double rate = 0.5, h = 0.01; // slow against the vibrations, so that the body hardly stretches
    for (int l = 0; l < 5; l++)
    {
        tdModel *model = bar(laws[l], "{method: midpoint}", h, "");
        tdState *state = scene_state(model);
        const double *X = scene_soft(model)->rest;
        for (int i = 0; i < 16; i++)
        {
            state->v[3 * i] = -rate * X[3 * i + 1];
            state->v[3 * i + 1] = rate * X[3 * i];
        }
        scene_steps(model, state, 400); // 2 rad
        double worst = 0;
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < i; j++)
            {
                double now = 0, rest = 0;
                for (int c = 0; c < 3; c++)
                {
                    now += pow(state->q[3 * i + c] - state->q[3 * j + c], 2);
                    rest += pow(X[3 * i + c] - X[3 * j + c], 2);
                }
                worst = fmax(worst, fabs(sqrt(now / rest) - 1));
            }
        double turned = atan2(state->q[10] - state->q[1], state->q[9] - state->q[0]); // of the edge along x
        if (l == 0)
            assert_true(worst > 0.2);
        else
        {
            assert_true(worst < 0.03);
            assert_near(turned, 2, 0.06);
        }
        scene_free(model, state);
    }
}

// A load that grows with time is taken where the method wants it: the momentum is the sum of h F(t + theta h),
// or, for average acceleration, of the mean of both ends.
static void growing_load_is_taken_in_time(void **unused)
{
    (void)unused;
    const struct
    {
        const char *integrator;
        double share; // of the step at which a load that grows linearly acts, on average
    } cases[] = {{"{method: backward_euler}", 1},
                 {"{method: symplectic}", 0},
                 {"{method: midpoint}", 0.5},
                 {"{method: newmark}", 0.5},
                 {"{method: theta, theta: 0.7, theta_vq: 0.6}", 0.7},
                 {"{method: backward_euler, newton: true}", 1}};
    for (int k = 0; k < 6; k++)
    {
        double h = 1e-3, momentum = 0, expected = 0;
        tdModel *model = bar("linear", cases[k].integrator, h,
                             "loads: [{name: push, type: surface, body: bar, group: xmax, force: [0, 0, 50]}]\n"
                             "motion: {keyframes: [{t: 0, push: 0}, {t: 1, push: 1}]}\n");
        tdState *state = scene_state(model);
        for (int s = 0; s < 20; s++)
        {
            scene_steps(model, state, 1);
            expected += h * 50 * h * (s + cases[k].share);
        }
        for (int i = 2; i < 48; i += 3)
            momentum += scene_soft(model)->node_mass[i / 3] * state->v[i];
        assert_near(momentum, expected, 1e-8 * expected);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- Newton and one linearization

// Largest difference in position between the two ways after 0.2 s.
static double newton_difference(const char *law, const char *method, double h)
{
    const char *const ends[] = {"}", ", newton: true, tolerance: 1e-10}"};
    double q[2][48];
    for (int k = 0; k < 2; k++)
    {
        char integrator[100];
        snprintf(integrator, sizeof integrator, "{method: %s%s", method, ends[k]);
        tdModel *model = bar(law, integrator, h, "    fixed: [{group: xmin}]\ngravity: [0, 0, -20]\n");
        tdState *state = scene_state(model);
        scene_steps(model, state, (int)(0.2 / h + 0.5));
        memcpy(q[k], state->q, sizeof q[k]);
        scene_free(model, state);
    }
    double largest = 0;
    for (int i = 0; i < 48; i++)
        largest = fmax(largest, fabs(q[0][i] - q[1][i]));
    return largest;
}

static void newton_and_linearized_meet(void **unused)
{
    (void)unused;
    const char *const laws[] = {"corotational", "stvk", "neo_hookean"}, *const methods[] = {"backward_euler",
                                                                                            "newmark"};
    for (int k = 0; k < 6; k++)
    {
        double coarse = newton_difference(laws[k / 2], methods[k % 2], 0.01);
        double fine = newton_difference(laws[k / 2], methods[k % 2], 0.005);
        assert_true(coarse > 1e-8); // they do differ
        assert_true(coarse < 0.05); // of about 0.3 m of sag
        if (!(fine < 0.6 * coarse))
            fail_msg("%s %s: %g, then %g", laws[k / 2], methods[k % 2], coarse, fine);
    }
}

static void newton_with_stiffness_damping(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST;
    for (int l = 0; l < 5; l++)
    {
        tdModel *model = bar(laws[l], "{method: backward_euler, newton: true, tolerance: 1e-9}", 0.02,
                             "    fixed: [{group: xmin}]\n    damping: {mass: 1, stiffness: 50 ms}\n"
                             "gravity: [0, 0, -3]\n");
        tdState *state = scene_state(model);
        for (int s = 0; s < 50; s++)
        {
            scene_steps(model, state, 1);
            assert_true(td_state_report(state)->newton_iterations <= 8);
            assert_true(td_state_report(state)->residual <= 1e-9);
        }
        scene_free(model, state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_of_accuracy),
        cmocka_unit_test(rayleigh_damping_decays),
        cmocka_unit_test(energy_is_kept),
        cmocka_unit_test(frequency_is_that_of_the_mode),
        cmocka_unit_test(start_acceleration),
        cmocka_unit_test(free_fall_is_exact),
        cmocka_unit_test(momentum_of_free_body_is_kept),
        cmocka_unit_test(turning_body_keeps_its_shape),
        cmocka_unit_test(growing_load_is_taken_in_time),
        cmocka_unit_test(newton_and_linearized_meet),
        cmocka_unit_test(newton_with_stiffness_damping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
