// SPDX-License-Identifier: Apache-2.0
// Reduced bodies that nothing holds, on a rigid frame: poses without force, momenta against differences and against
// nodes, free fall, tops, centrifugal stretch, and the full model in other coordinates.
#include "actuators.h"
#include "frames.h"

#include <unistd.h>

#define BAR                                                                                                            \
    "bodies:\n  - name: bar\n    mesh: {box: [[0.3, 0, 0], [0.36, 0.02, 0.03]], cells: [3, 1, 2]}\n"                   \
    "    material: {law: %s, young: %s, poisson: 0.3, density: 1000}\n"
#define SCENE "tendril: 1\ntime_step: %g\nsteps: 1\nintegrator: {%s}\nsolver: {type: cholesky}\n"
#define CABLE                                                                                                          \
    "actuators:\n  - {name: pull, type: cable, body: bar, path: [[0.302, 0.01, 0.028], [0.33, 0.01, 0.028], "          \
    "[0.358, 0.01, 0.028]], drive: %s}\n"

static tdModel *bar(const char *integrator, double h, const char *law, const char *young, const char *more)
{
    char text[4000];
    snprintf(text, sizeof text, SCENE BAR "%s", h, integrator, law, young, more);
    return scene_parse(text);
}

/// The same on a frame: r modes (0: all), every so manyth element.
static tdModel *floating(const char *integrator, double h, const char *law, const char *young, const char *more, int r,
                         int every)
{
    char text[4000];
    snprintf(text, sizeof text, SCENE BAR "%s", h, integrator, law, young, more);
    tdModel *full = scene_parse(text);
    tdRom rom = frame_rom(full, r, every);
    tdModel *model = rom_model(text, &rom, false);
    td_arena_free(&rom.arena);
    td_model_free(full);
    return model;
}

// ---------------------------------------------------------------- poses

// Far away and turned by a right angle, and by more, the body feels the same force as at rest, which is none; and bent,
// the same as where it was.
static void no_force(void **unused)
{
    (void)unused;
    const char *laws[] = {"corotational", "neo_hookean", "corotational_lagged", "stvk"};
    for (int k = 0; k < 4; k++)
    {
        tdModel *model = floating("newton: true", 0.01, laws[k], "100 kPa", "", 12, 2);
        tdState *state = scene_state(model);
        const tdBody *body = &model->bodies[0];
        const tdReduced *reduced = body->data;
        tdReducedState *mine = (tdReducedState *)state->bodies[0];
        int r = reduced->r;
        double bent[12] = {0}, stiffest = 0;
        for (int pass = 0; pass < 3; pass++)
        {
            for (int j = 0; j < r; j++)
                state->q[j] = pass == 0 ? 0 : 0.01 * sin(1 + j);
            for (int c = 0; c < 3 && pass != 1; c++)
                state->q[r + c] = 3 - 4 * c;
            mine->floating->turn[0] = mine->floating->turn[2] = pass == 1 ? 1 : sqrt(0.5);
            mine->floating->turn[2] *= pass != 1;
            state->q[r + 3] = pass == 2 ? 1 : 0;
            memcpy(state->q_e, state->q, (size_t)model->coords * sizeof(double));
            body->ops->begin(model, body, state);
            body->ops->kinematics(model, body, state);
            assert_int_equal(body->ops->forces(model, body, state, true), TD_OK);
            for (int j = 0; j < r; j++)
                stiffest = fmax(stiffest, mine->K[j * (reduced->stride + 1)]);
            // A displacement of the body's size, in some mode, would give this force.
            double unit = 1e-9 * stiffest * model->size;
            for (int j = 0; j < model->coords; j++)
                assert_near(state->force[j], pass < 2 || j >= r ? (j < r ? bent[j] * (pass == 2) : 0) : bent[j],
                            pass == 1 && j < r ? INFINITY : unit);
            memcpy(bent, state->force, sizeof bent);
        }
        assert_true(stiffest > 1 && fabs(bent[0]) > 1e-6 * stiffest);
        scene_free(model, state);
    }
}

// Nodes are where rotation and translation put them.
static void pose_of_nodes(void **unused)
{
    (void)unused;
    tdModel *model = floating("newton: true", 0.01, "stvk", "100 kPa", "", 5, 2);
    tdState *state = scene_state(model);
    const tdReduced *reduced = frame_of(model);
    const double *centre = reduced->floating->centre;
    assert_near(centre[0], 0.33, 1e-12);
    state->q[5] = 1;
    state->q[5 + 5] = 2 * atan(1); // a right angle about z: x goes to y
    const double *x = td_state_positions(model, state, 0);
    for (int64_t node = 0; node < model->bodies[0].nodes; node++)
    {
        double arm[3];
        td_subtract3(reduced->soft->rest + 3 * node, centre, arm);
        assert_near(x[3 * node], centre[0] + 1 - arm[1], 1e-14);
        assert_near(x[3 * node + 1], centre[1] + arm[0], 1e-14);
        assert_near(x[3 * node + 2], centre[2] + arm[2], 1e-14);
    }
    scene_free(model, state);
}

// exp, its derivative T, and the reference that takes it up.
static void rotations(void **unused)
{
    (void)unused;
    const double thetas[4][3] = {{0.3, -0.2, 0.9}, {1e-3, 2e-3, -4e-3}, {6e-3, 8e-3, 0}, {2, 1, -1}};
    for (int k = 0; k < 4; k++)
    {
        const double *theta = thetas[k], h = 1e-6;
        double none[3] = {0, 0, 0}, turn[4] = {0.5, 0.5, -0.5, 0.5}, start[4];
        memcpy(start, turn, sizeof turn);
        tdFramePose pose, folded;
        td_frame_pose_at(turn, theta, &pose);
        td_pose_turn(turn, theta);
        td_frame_pose_at(turn, none, &folded);
        for (int i = 0; i < 9; i++)
            assert_near(folded.R[i], pose.R[i], 1e-15 * 8);
        for (int c = 0; c < 3; c++)
        {
            double up[3], down[3], W[9];
            memcpy(up, theta, sizeof up);
            memcpy(down, theta, sizeof down);
            up[c] += h;
            down[c] -= h;
            tdFramePose a, b;
            td_frame_pose_at(start, up, &a);
            td_frame_pose_at(start, down, &b);
            for (int i = 0; i < 9; i++) // E'dE
                W[i] =
                    (pose.R[i / 3] * (a.R[i % 3] - b.R[i % 3]) + pose.R[3 + i / 3] * (a.R[3 + i % 3] - b.R[3 + i % 3]) +
                     pose.R[6 + i / 3] * (a.R[6 + i % 3] - b.R[6 + i % 3])) /
                    (2 * h);
            // Differences of 1e-6 leave rounding of 1e-10.
            assert_near(W[7], pose.T[c], 1e-9);
            assert_near(W[2], pose.T[3 + c], 1e-9);
            assert_near(W[3], pose.T[6 + c], 1e-9);
        }
    }
}

// ---------------------------------------------------------------- momenta

static void random_motion(const tdModel *model, tdState *state, double bend, double speed, uint64_t seed)
{
    int r = frame_of(model)->r;
    for (int i = 0; i < model->coords; i++)
    {
        state->q[i] = (i < r ? bend : 1) * next_random(&seed);
        state->v[i] = (i < r ? speed : 4) * next_random(&seed);
    }
}

static double kinetic_at(const tdModel *model, tdState *state)
{
    double kinetic, elastic;
    td_state_energy(model, state, &kinetic, &elastic);
    return kinetic;
}

// Kinetic energy and momenta from the integrals are those of the nodes; the momenta are dT/dv, and the forces of
// inertia dT/dalpha, by differences (T is quadratic in both: only rounding is left).
static void momenta(void **unused)
{
    (void)unused;
    for (int consistent = 0; consistent < 2; consistent++)
    {
        tdModel *model =
            floating("newton: true", 0.01, "stvk", "100 kPa", consistent ? "    mass: consistent\n" : "", 9, 2);
        tdState *state = scene_state(model);
        const tdReduced *reduced = frame_of(model);
        tdFloatingState *mine = frame_mine(state);
        int r = reduced->r;
        random_motion(model, state, 0.02, 0.1, 3);
        mine->turn[0] = 0.6;
        mine->turn[3] = 0.8;
        frameMomenta nodes = frame_momenta(model, state);
        double kinetic = kinetic_at(model, state), l[3], p[9], slope[9], L[3], arm[3], orbit[3];
        assert_near(kinetic, nodes.kinetic, 1e-12 * kinetic);
        td_inertia_at(reduced->floating, state->q, &mine->at_e);
        td_inertia_momentum(&mine->at_e, r, reduced->M, reduced->stride, state->v, l, p);
        td_inertia_slope(reduced->floating, &mine->at_e, state->v, slope, NULL);
        tdFramePose pose;
        td_frame_pose_at(mine->turn, state->q + r + 3, &pose);
        td_mat3_apply(pose.R, l, L);
        for (int c = 0; c < 3; c++)
            arm[c] = reduced->floating->centre[c] + state->q[r + c];
        td_cross3(arm, nodes.p, orbit);
        for (int c = 0; c < 3; c++)
        {
            assert_near(nodes.p[c], reduced->floating->mass * state->v[r + c], 1e-12);
            assert_near(nodes.L[c], L[c] + orbit[c], 1e-12);
        }
        for (int i = 0; i < r + 6; i++)
        {
            double h = 1e-3, v = state->v[i], q = state->q[i];
            state->v[i] = v + h;
            double up = kinetic_at(model, state);
            state->v[i] = v - h;
            double down = kinetic_at(model, state);
            state->v[i] = v;
            double expected = i < r ? p[i] : i < r + 3 ? reduced->floating->mass * v : l[i - r - 3];
            assert_near((up - down) / (2 * h), expected, 1e-10);
            if (i >= r)
                continue;
            state->q[i] = q + h;
            up = kinetic_at(model, state);
            state->q[i] = q - h;
            down = kinetic_at(model, state);
            state->q[i] = q;
            assert_near((up - down) / (2 * h), slope[i], 1e-10);
        }
        scene_free(model, state);
    }
}

// Rows of constraints are derivatives of positions, also where theta is not zero: differences of 1e-6 of lengths.
static void rows(void **unused)
{
    (void)unused;
    char more[600];
    snprintf(more, sizeof more, CABLE, "force");
    tdModel *model = floating("newton: true", 0.01, "stvk", "100 kPa", more, 9, 2);
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    const tdMeasure *measure = &model->actuators[0].measure;
    const tdPointSet *set = measure->sets;
    random_motion(model, state, 0.02, 0, 5);
    double f[9], row[15], x[9], y[9], *q = state->q, h = 1e-6;
    assert_int_equal(set->n, 3);
    assert_int_equal(set->size, 15);
    for (int i = 0; i < 9; i++)
        f[i] = sin(3.0 + i);
    body->ops->pull(body, state, set, q, f, row);
    for (int i = 0; i < 15; i++)
    {
        double at = q[i];
        q[i] = at + h;
        body->ops->positions(body, state, set, q, x);
        q[i] = at - h;
        body->ops->positions(body, state, set, q, y);
        q[i] = at;
        assert_near((frame_dot(9, f, x) - frame_dot(9, f, y)) / (2 * h), row[i], 1e-9);
    }
    scene_free(model, state);
}

// Work of the weight and of dead loads on the nodes where they are.
static double work_of_loads(const tdModel *model, const tdState *state)
{
    const tdSoft *soft = model->bodies[0].soft;
    const double *x = td_state_positions(model, state, 0);
    double work = 0;
    for (int64_t i = 0; i < 3 * (int64_t)soft->n_nodes; i++)
        work += soft->node_weight[i / 3] * model->scene.settings.gravity[i % 3] * x[i];
    for (int k = 0; k < soft->n_loads; k++)
        for (int32_t i = 0; i < soft->loads[k].n; i++)
            work += td_dot3(soft->loads[k].force + 3 * (int64_t)i, x + 3 * (int64_t)soft->loads[k].nodes[i]);
    return work;
}

// Loads on the coordinates are the derivatives of that work, and forces inside the body those of the elastic energy.
static void forces(void **unused)
{
    (void)unused;
    tdModel *model = floating("newton: true", 0.01, "neo_hookean", "100 kPa",
                              "gravity: [1, 2, -9.81]\nloads:\n"
                              "  - {name: push, type: point, body: bar, group: xmax, force: [0.3, 0.2, -0.1]}\n"
                              "  - {name: drag, type: surface, body: bar, group: zmin, force: [0, 0.5, 0]}\n",
                              9, 1);
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    random_motion(model, state, 0.004, 0, 9);
    memcpy(state->q_e, state->q, (size_t)model->coords * sizeof(double));
    state->gravity = state->input[0] = state->input[1] = 1;
    body->ops->begin(model, body, state);
    body->ops->kinematics(model, body, state);
    assert_int_equal(body->ops->forces(model, body, state, false), TD_OK);
    double load[15], force[15], h = 1e-6;
    memcpy(load, state->load, sizeof load);
    memcpy(force, state->force, sizeof force);
    for (int i = 0; i < model->coords; i++)
    {
        double at = state->q[i], kinetic, up, down;
        state->q[i] = at + h;
        double more = work_of_loads(model, state);
        td_state_energy(model, state, &kinetic, &up);
        state->q[i] = at - h;
        double less = work_of_loads(model, state);
        td_state_energy(model, state, &kinetic, &down);
        state->q[i] = at;
        assert_near((more - less) / (2 * h), load[i], 1e-8); // forces of a few N at differences of 1e-6
        assert_near((up - down) / (2 * h), force[i], 1e-7);
    }
    scene_free(model, state);
}

// A is the derivative of m for a body at rest, on which no gyroscopic term acts: bent, pulled together by its cable and
// held by another one to a point in space.
static void matrix(void **unused)
{
    (void)unused;
    char more[900];
    snprintf(more, sizeof more,
             CABLE "  - {name: tie, type: cable, body: bar, path: [[0.302, 0.01, 0.002]], pull_point: [0.2, 0.1, 0], "
                   "drive: force}\n",
             "force");
    tdModel *model = floating("newton: true, tolerance: 1e-12", 0.01, "stvk", "100 kPa", more, 9, 2);
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    int n = (int)model->coords;
    double y[15], up[15], down[15], x[15], *q = state->q, most = 0;
    random_motion(model, state, 0.004, 0, 7);
    memset(q + 12, 0, 3 * sizeof *q);
    memset(state->v, 0, sizeof y);
    for (int i = 0; i < n; i++)
    {
        for (int side = 0; side < 3; side++)
        {
            double h = 1e-5, *out = side == 0 ? y : side == 1 ? up : down;
            memset(x, 0, sizeof x);
            x[i] = side == 0 ? 1 : side == 1 ? h : -h;
            memset(state->v_new, 0, sizeof x);
            for (int j = 0; j < n && side > 0; j++)
                state->v_new[j] = x[j];
            td_scheme_evaluate(&model->scheme, n, q, state->v, state->a, state->v_new, state->q_e, state->v_e,
                               state->inertia);
            body->ops->begin(model, body, state);
            body->ops->kinematics(model, body, state);
            frame_mine(state)->looks = 2; // no first pass
            state->constraint->effort[0] = 5;
            state->constraint->effort[1] = 2;
            state->scale = 0;
            assert_int_equal(body->ops->forces(model, body, state, true), TD_OK);
            td_constrain(model, state, true);
            if (side > 0)
                memcpy(out, state->m, sizeof x);
            else
            {
                assert_int_equal(body->ops->free_motion(model, body, state), TD_OK);
                body->ops->multiply(model, body, state, x, out);
            }
        }
        for (int j = 0; j < n; j++)
            most = fmax(most, fabs(y[j]));
        // The step of the differences leaves 1e-6 of the stiffness over h^2.
        for (int j = 0; j < n; j++)
            assert_near((up[j] - down[j]) / 2e-5, y[j], 1e-6 * most);
    }
    scene_free(model, state);
}

// ---------------------------------------------------------------- motion

static void free_fall(void **unused)
{
    (void)unused;
    const struct
    {
        const char *integrator;
        double h;
    } cases[] = {{"method: backward_euler", 0.01},
                 {"newton: true", 0.01},
                 {"method: newmark", 0.01},
                 {"method: symplectic", 1e-4}};
    for (int k = 0; k < 4; k++)
    {
        double h = cases[k].h, time = 50 * h;
        tdModel *model = floating(cases[k].integrator, h, "neo_hookean", "100 kPa",
                                  "    velocity: [1, 2, 3]\ngravity: [0, 0, -9.81]\n", 12, 2);
        tdState *state = scene_state(model);
        scene_steps(model, state, 50);
        // Euler's methods: z = -g h^2 n (n + 1) / 2; Newmark is exact.
        double fall = -9.81 * h * h * (k != 2 ? 50 * 51 / 2 : 1250);
        const double *x = td_state_positions(model, state, 0), *v = td_state_velocities(model, state, 0);
        for (int64_t i = 0; i < 3 * model->bodies[0].nodes; i++)
        {
            double start = 1 + (double)(i % 3);
            assert_near(x[i] - model->bodies[0].soft->rest[i], start * time + (i % 3 == 2 ? fall : 0), 1e-12);
            assert_near(v[i], start - (i % 3 == 2 ? 9.81 * time : 0), 1e-11);
        }
        scene_free(model, state);
    }
}

// Euler's equations of a rigid body and its attitude, by Runge and Kutta's method in tiny steps.
static void rigid_top(const double J[9], double w[3], double turn[4], double duration, int steps)
{
    double h = duration / steps, inverse[9];
    for (int i = 0; i < 3; i++)
        td_cross3(J + 3 * ((i + 1) % 3), J + 3 * ((i + 2) % 3), inverse + 3 * i);
    double determinant = td_dot3(J, inverse);
    for (int s = 0; s < steps; s++)
    {
        double k[4][3], at[3], l[3], across[3], mean[3];
        for (int stage = 0; stage < 4; stage++)
        {
            for (int c = 0; c < 3; c++)
                at[c] = w[c] + (stage == 0 ? 0 : stage == 3 ? h : h / 2) * (stage == 0 ? 0 : k[stage - 1][c]);
            td_mat3_apply(J, at, l);
            td_cross3(l, at, across);
            td_mat3_back(inverse, across, k[stage]);
            for (int c = 0; c < 3; c++)
                k[stage][c] /= determinant;
        }
        for (int c = 0; c < 3; c++)
        {
            mean[c] = h * (w[c] + h / 2 * k[1][c]); // the midpoint of an attitude: second order is enough here
            w[c] += h / 6 * (k[0][c] + 2 * k[1][c] + 2 * k[2][c] + k[3][c]);
        }
        td_pose_turn(turn, mean);
    }
}

// A stiff body that spins about no principal axis: angular momentum and energy are kept, and it moves as a rigid top.
static void top(void **unused)
{
    (void)unused;
    // The body is stretched by 6e-7 only, so that strains are rounded by 2.2e-16 / 6e-7 = 4e-10 of themselves, and the
    // residual cannot fall below some times this, the more or less as the compiler orders sums. 1e-8 is 25 times as
    // much.
    const char *integrators[] = {"method: midpoint, newton: true, tolerance: 1e-8, max_iterations: 60",
                                 "method: midpoint"};
    for (int k = 0; k < 2; k++)
    {
        double errors[2], h = 4e-3;
        for (int fine = 0; fine < 2; fine++, h /= 2)
        {
            tdModel *model = floating(integrators[k], h, "stvk", "1 GPa", "", 6, 1);
            tdState *state = scene_state(model);
            const tdReduced *reduced = frame_of(model);
            int r = reduced->r, steps = (int)lround(0.4 / h);
            double w[3] = {9, 7, 5}, turn[4] = {1, 0, 0, 0}, J[9];
            memcpy(state->v + r + 3, w, sizeof w);
            td_inertia_at(reduced->floating, state->q, &frame_mine(state)->at_e);
            memcpy(J, frame_mine(state)->at_e.J, sizeof J);
            frameMomenta before = frame_momenta(model, state), after;
            scene_steps(model, state, steps);
            after = frame_momenta(model, state);
            double size = sqrt(td_dot3(before.L, before.L));
            // Newton stops at 1e-8 of what turns in a step; after one linearization momentum is kept to rounding.
            for (int c = 0; c < 3; c++)
            {
                assert_near(after.p[c], 0, 1e-12 * size / model->size);
                assert_near(after.L[c], before.L[c], 1e-8 * size);
            }
            // The body is stretched by rho w^2 L^2 / E = 6e-7 of its length, of which energy takes a part.
            assert_near(after.kinetic, before.kinetic, 1e-8 * before.kinetic);
            rigid_top(J, w, turn, 0.4, 20000);
            tdFramePose rigid, pose;
            const double none[3] = {0, 0, 0};
            td_frame_pose_at(turn, none, &rigid);
            td_frame_pose_at(frame_mine(state)->turn, none, &pose);
            errors[fine] = 0;
            for (int i = 0; i < 9; i++)
                errors[fine] = fmax(errors[fine], fabs(rigid.R[i] - pose.R[i]));
            scene_free(model, state);
        }
        assert_true(errors[1] < 3e-3 && errors[1] < 0.3 * errors[0]); // second order
    }
}

static double farthest(const tdModel *a, const tdState *x, const tdModel *b, const tdState *y)
{
    const double *p = td_state_positions(a, x, 0), *q = td_state_positions(b, y, 0);
    double most = 0;
    for (int64_t i = 0; i < 3 * a->bodies[0].nodes; i++)
        most = fmax(most, fabs(p[i] - q[i]));
    return most / a->size;
}

// All modes are the full model in other coordinates. Small vibrations turn the body by the square of their size only:
// the two differ by that.
static void small_vibrations(void **unused)
{
    (void)unused;
    const char *integrators[] = {"method: backward_euler", "method: midpoint, newton: true, tolerance: 1e-13",
                                 "method: newmark, newton: true, tolerance: 1e-13"};
    for (int k = 0; k < 3; k++)
    {
        tdModel *full = bar(integrators[k], 1e-3, "linear", "100 kPa", ""),
                *model = floating(integrators[k], 1e-3, "linear", "100 kPa", "", 0, 1);
        tdState *a = scene_state(full), *b = scene_state(model);
        const tdReduced *reduced = frame_of(model);
        uint64_t seed = 8;
        double speed = 1e-4, moved = 0;
        for (int j = 0; j < reduced->r; j++)
        {
            b->v[j] = speed * next_random(&seed);
            for (int64_t i = 0; i < full->coords; i++)
                a->v[i] += reduced->basis[i * reduced->stride + j] * b->v[j];
        }
        for (int s = 0; s < 20; s++)
        {
            scene_steps(full, a, 1);
            scene_steps(model, b, 1);
            assert_near(farthest(full, a, model, b), 0, 1e-10);
        }
        for (int64_t i = 0; i < full->coords; i++)
            moved = fmax(moved, fabs(a->q[i] - full->bodies[0].soft->rest[i]));
        assert_true(moved > 1e-7 * full->size);
        scene_free(full, a);
        scene_free(model, b);
    }
}

// Free flight of a soft bar that spins and rings: integration errors of the two formulations differ, but vanish with
// the square of the step.
static void flight(void **unused)
{
    (void)unused;
    const char *method = "method: midpoint, newton: true, tolerance: 1e-12, max_iterations: 60";
    double errors[3], h = 2e-3, w[3] = {3, -2, 4};
    for (int k = 0; k < 3; k++, h /= 2)
    {
        const char *more = "    velocity: [1, 0, 2]\ngravity: [0, 0, -9.81]\n";
        tdModel *full = bar(method, h, "stvk", "30 kPa", more),
                *model = floating(method, h, "stvk", "30 kPa", more, 0, 1);
        tdState *a = scene_state(full), *b = scene_state(model);
        const tdReduced *reduced = frame_of(model);
        frame_spin(a, full, reduced->floating->centre, w);
        for (int64_t i = 0; i < full->coords; i++)
            a->v[i] += i % 3 == 0 ? 1 : i % 3 == 2 ? 2 : 0;
        memcpy(b->v + reduced->r + 3, w, sizeof w);
        scene_steps(full, a, 32 << k);
        scene_steps(model, b, 32 << k);
        errors[k] = farthest(full, a, model, b);
        scene_free(full, a);
        scene_free(model, b);
    }
    assert_true(errors[0] < 1e-2);
    assert_true(errors[1] < 0.35 * errors[0] && errors[2] < 0.35 * errors[1]);
}

// Spun up, the bar rings about the length at which its stiffness holds the ends: the mean over a while is that of full
// order, and about what a thin bar has, rho w^2 L^2 / (12 E).
static void centrifugal(void **unused)
{
    (void)unused;
    const char *method = "method: midpoint, newton: true, tolerance: 1e-11, max_iterations: 60";
    double w[3] = {0, 0, 50}, length[2] = {0, 0};
    tdModel *full = bar(method, 5e-4, "stvk", "30 kPa", ""),
            *model = floating(method, 5e-4, "stvk", "30 kPa", "", 0, 1);
    tdState *a = scene_state(full), *b = scene_state(model);
    const tdReduced *reduced = frame_of(model);
    frame_spin(a, full, reduced->floating->centre, w);
    memcpy(b->v + reduced->r + 3, w, sizeof w);
    for (int s = 0; s < 200; s++)
        for (int k = 0; k < 2; k++)
        {
            scene_steps(k ? model : full, k ? b : a, 1);
            const double *x = td_state_positions(k ? model : full, k ? b : a, 0),
                         *y = x + 3 * (full->bodies[0].nodes - 1);
            length[k] += sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2)) / 200;
        }
    double rest = sqrt(0.06 * 0.06 + 0.02 * 0.02 + 0.03 * 0.03), thin = 1000 * 2500 * 0.0036 / (12 * 30e3);
    assert_near(length[0] / rest - 1, thin, 0.5 * thin);
    assert_near(length[1] - rest, length[0] - rest, 0.01 * (length[0] - rest)); // errors of the steps
    scene_free(full, a);
    scene_free(model, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotations),        cmocka_unit_test(no_force),  cmocka_unit_test(pose_of_nodes),
        cmocka_unit_test(momenta),          cmocka_unit_test(rows),      cmocka_unit_test(forces),
        cmocka_unit_test(matrix),           cmocka_unit_test(free_fall), cmocka_unit_test(top),
        cmocka_unit_test(small_vibrations), cmocka_unit_test(flight),    cmocka_unit_test(centrifugal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
