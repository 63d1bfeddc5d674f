// SPDX-License-Identifier: Apache-2.0
// Reduced bodies on frames in contact: rows against differences, momentum, landing turned and not, full order, replay.
#include "frames.h"

#include "contact/contact.h"

#define G     9.81
#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define SOFT                                                                                                           \
    "material: {law: corotational_lagged, young: 0.2 MPa, poisson: 0.3, density: 1000 kg/m^3}, damping: {mass: 1 1/s}"
#define HEAD(step, gravity) "tendril: 1\ntime_step: " step "\nsteps: 10\ngravity: " gravity "\n"
#define BLOCK(more)                                                                                                    \
    "  - {name: block, mesh: {box: [[-0.05, -0.03, 0.03], [0.05, 0.03, 0.07]], cells: [3, 2, 2]}, " SOFT more "}\n"
#define DROP                                                                                                           \
    HEAD("2 ms", "[0, 0, -9.81]")                                                                                      \
    "contact: {friction: 0.4, stiffness: 1e4 N/m, dissipation: 20 ms}\nbodies:\n" BLOCK(", velocity: [0.1, 0, 0]") FLOOR

// ---------------------------------------------------------------- rows

// A random place and motion, as they are at the start of a step, and a turn on the way of it.
static void scatter(const tdModel *model, tdState *state, uint64_t seed, double turn)
{
    int r = frame_of(model)->r;
    for (int i = 0; i < r + 6; i++)
    {
        state->q[i] = i < r ? 0.005 * next_random(&seed) : i < r + 3 ? next_random(&seed) : 0;
        state->v[i] = state->v_new[i] = next_random(&seed);
        state->q_c[i] = i < r + 3 ? state->q[i] : turn * state->v[i];
    }
    double size = 0, *q = frame_mine(state)->turn;
    for (int k = 0; k < 4; k++)
    {
        q[k] = next_random(&seed);
        size += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++)
        q[k] /= sqrt(size);
}

static void expand_shifted(const tdModel *model, tdState *state, double by, double *x)
{
    int64_t nodes = model->bodies[0].nodes, coords = model->bodies[0].count;
    for (int64_t i = 0; i < coords; i++)
        state->q[i] += by * state->v[i];
    memcpy(x, td_state_positions(model, state, 0), 3 * (size_t)nodes * sizeof *x);
    for (int64_t i = 0; i < coords; i++)
        state->q[i] -= by * state->v[i];
    for (int64_t i = coords - 3; i < coords; i++)
        state->q[i] = 0;
}

static void test_rows(void **unused)
{
    (void)unused;
    tdModel *full = scene_parse(DROP);
    tdRom rom = frame_rom(full, 7, 1);
    tdModel *model = rom_model(DROP, &rom, true);
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    const tdContactField *field = &model->contact->fields[0];
    int n = td_reduced_unknowns(frame_of(model));
    size_t bytes = 3 * (size_t)body->nodes * sizeof(double);
    double *x = malloc(bytes), *u = malloc(bytes), *before = malloc(bytes), *after = malloc(bytes);
    double *J = malloc(3 * (size_t)n * sizeof *J), *m = calloc((size_t)n, sizeof *m), e = 1e-5;
    int32_t *columns = malloc((size_t)n * sizeof *columns);
    for (int turned = 0; turned < 2; turned++)
    {
        scatter(model, state, 5 + (uint64_t)turned, 0.3 * turned);
        body->ops->surface(body, state, field->n_nodes, field->nodes, x, u);
        const double *at = td_state_positions(model, state, 0);
        for (int32_t k = 0; k < field->n_nodes; k++)
            for (int c = 0; c < 3; c++)
                assert_near(x[3 * field->nodes[k] + c], at[3 * field->nodes[k] + c], 1e-14);
        expand_shifted(model, state, -e, before);
        expand_shifted(model, state, e, after);
        for (int32_t k = 0; k < field->n_nodes; k++)
            for (int c = 0; c < 3; c++)
            {
                int64_t i = 3 * (int64_t)field->nodes[k] + c;
                assert_near(u[i], (after[i] - before[i]) / (2 * e), 1e-9);
            }
        // A point of a triangle: J v is its velocity, seen from the axes of a contact, wherever the frame has got to.
        const double weights[3] = {0.2, 0.5, 0.3}, normal[3] = {0.48, -0.6, 0.64}, f[3] = {0.3, -1, 2};
        const int32_t *corners = body->soft->surface + 9;
        double axes[3][3], drift[3] = {0, 0, 0};
        td_contact_frame(normal, axes);
        const tdTouchPoint point = {.n = 3, .node = corners, .weight = weights};
        tdBodyBlock block;
        assert_int_equal(body->ops->condense(body, state, &block), TD_OK);
        assert_int_equal(block.n, n);
        assert_int_equal(body->ops->touch(body, state, &point, -1, &block, -1, axes, J, columns, drift), n);
        for (int i = 0; i < 3; i++)
        {
            double along = 0, rate = 0;
            for (int k = 0; k < 3; k++)
                for (int c = 0; c < 3; c++)
                    along += weights[k] * axes[i][c] * u[3 * corners[k] + c];
            for (int j = 0; j < n; j++)
                rate += J[i * n + j] * state->v[j];
            assert_near(rate, -along, 1e-13);
            assert_true(drift[i] == 0);
        }
        // And a force there is pushed by the same rows.
        memset(m, 0, (size_t)n * sizeof *m);
        body->ops->push(body, state, &point, -1, f, m);
        for (int j = 0; j < n; j++)
        {
            double sum = 0;
            for (int i = 0; i < 3; i++)
                sum -= J[i * n + j] * (axes[i][0] * f[0] + axes[i][1] * f[1] + axes[i][2] * f[2]);
            assert_near(m[j], sum, 1e-13);
        }
    }
    free(x);
    free(u);
    free(before);
    free(after);
    free(J);
    free(columns);
    free(m);
    scene_free(model, state);
    td_model_free(full);
    td_rom_free(&rom);
}

// ---------------------------------------------------------------- full order

// All modes are the full order in other coordinates, but for turns within a step: a block that lands flat is the same
// to the tolerance of the solver, one that lands on an edge to first order in the time step.
static double landing(const char *text, const char *moved, int steps, double *weight)
{
    char both[2000];
    snprintf(both, sizeof both, text, moved);
    tdModel *full = scene_parse(both);
    tdRom rom = frame_rom(full, 0, 1);
    tdModel *reduced = rom_model(both, &rom, true);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    double off = 0, size = 0;
    for (int k = 0; k < steps; k++)
    {
        double f[3], g[3];
        scene_steps(full, a, 1);
        scene_steps(reduced, b, 1);
        td_state_contact_force(a, 0, 1, f);
        td_state_contact_force(b, 0, 1, g);
        off += fabs(g[0] - f[0]) + fabs(g[1] - f[1]) + fabs(g[2] - f[2]);
        size += fabs(f[2]);
        *weight = -g[2];
    }
    scene_free(full, a);
    scene_free(reduced, b);
    td_rom_free(&rom);
    return off / size;
}

#define DROPPED(h)                                                                                                     \
    HEAD(h, "[0, 0, -9.81]")                                                                                           \
    "contact: {friction: 0.4, stiffness: 1e4 N/m, dissipation: 20 ms}\nbodies:\n" BLOCK(", velocity: [0.1, 0, 0]%s")   \
        FLOOR

static void test_lands_as_full_order(void **unused)
{
    (void)unused;
    double weight = 0, mass = 1000 * 0.1 * 0.06 * 0.04;
    double flat = landing(DROPPED("2 ms"), "", 200, &weight);
    assert_true(flat < 1e-4);
    assert_near(weight, mass * G, 0.1 * mass * G); // it has all but come to rest
    // The first corner meets the floor after 54 ms. Later on corners stick and slide by themselves, and what is apart
    // grows.
    static const char tilted[] = ", transform: {rotate: [12 deg, 8 deg, 0]}";
    assert_true(landing(DROPPED("2 ms"), tilted, 100, &weight) < 0.05);
    double coarse = landing(DROPPED("2 ms"), tilted, 34, &weight);
    double fine = landing(DROPPED("0.5 ms"), tilted, 132, &weight);
    assert_true(coarse < 5e-3);
    assert_true(fine < 0.5 * coarse);
}

// ---------------------------------------------------------------- momentum

#define STRUCK                                                                                                         \
    HEAD("1 ms", "[0, 0, 0]")                                                                                          \
    "contact: {friction: %s}\nbodies:\n  - {name: block, mesh: {box: [[-0.05, -0.03, -0.02], [0.05, 0.03, 0.02]], "    \
    "cells: [3, 2, 2]}, material: {law: corotational_lagged, young: 0.2 MPa, poisson: 0.3, density: 1000 kg/m^3}}\n"   \
    "  - {name: ball, type: rigid, shape: {sphere: 0.02}, total_mass: 0.1, velocity: [0.2, 0.1, -1], transform: "      \
    "{translate: [0.03, 0.01, 0.05]}}\n"

// A ball strikes a free block off its centre: what one loses the other has. Bodies meet at points that are apart by the
// gap, which friction turns by; without it angular momentum is kept too.
static void test_momentum(void **unused)
{
    (void)unused;
    for (int rough = 0; rough < 2; rough++)
    {
        char text[1500];
        snprintf(text, sizeof text, STRUCK, rough ? "0.5" : "0");
        tdModel *full = scene_parse(text);
        tdRom rom = frame_rom(full, 9, 1);
        tdModel *model = rom_model(text, &rom, true);
        tdState *state = scene_state(model);
        int64_t ball = model->bodies[1].first;
        double p0[3] = {0.02, 0.01, -0.1}, x0[3] = {0.03, 0.01, 0.05}, L0[3], turned = 0;
        td_cross3(x0, p0, L0);
        bool met = false;
        for (int k = 0; k < 100; k++)
        {
            scene_steps(model, state, 1);
            met = met || state->report.contacts_active > 0;
            frameMomenta block = frame_momenta(model, state);
            double p[3], L[3], x[3];
            for (int c = 0; c < 3; c++)
            {
                p[c] = 0.1 * state->v[ball + c];
                x[c] = state->q[ball + c];
            }
            td_cross3(x, p, L);
            for (int c = 0; c < 3; c++)
            {
                // a ball of 0.1 kg and 20 mm: 2/5 m r^2
                double spin = 0.4 * 0.1 * 0.02 * 0.02 * state->v[ball + 3 + c];
                assert_near(block.p[c] + p[c], p0[c], 1e-10);
                if (!rough)
                    assert_near(block.L[c] + L[c] + spin, L0[c], 2e-6);
            }
            turned = fabs(block.L[0]) + fabs(block.L[1]);
        }
        assert_true(met && turned > 1e-4);
        scene_free(model, state);
        td_model_free(full);
        td_rom_free(&rom);
    }
}

// ---------------------------------------------------------------- turned

// Mesh and modes turned by a right angle about x, or the frame: the same landing.
#define TURNED(rotate)                                                                                                 \
    HEAD("2 ms", "[0, 0, -9.81]")                                                                                      \
    "contact: {friction: 0.4, stiffness: 1e4 N/m, dissipation: 20 ms}\nbodies:\n"                                      \
    "  - {name: block, mesh: {box: [[-0.05, -0.03, -0.02], [0.05, 0.03, 0.02]], cells: [3, 2, 2]}, transform: "        \
    "{rotate: [" rotate ", 0, 0], translate: [0, 0, 0.035]}, " SOFT "}\n" FLOOR

static void test_turned_by_a_right_angle(void **unused)
{
    (void)unused;
    static const char straight[] = TURNED("0"), turned[] = TURNED("90 deg");
    tdModel *full[2] = {scene_parse(straight), scene_parse(turned)};
    tdRom rom[2] = {frame_rom(full[0], 9, 1), frame_rom(full[1], 9, 1)};
    for (int64_t i = 0; i < 3 * rom[0].n_nodes; i += 3)
        for (int j = 0; j < 9; j++)
        {
            const double *from = rom[0].phi + i * 9 + j;
            rom[1].phi[i * 9 + j] = from[0];
            rom[1].phi[(i + 1) * 9 + j] = -from[18];
            rom[1].phi[(i + 2) * 9 + j] = from[9];
        }
    tdModel *model[2] = {rom_model(straight, &rom[0], true), rom_model(turned, &rom[1], true)};
    tdState *state[2] = {scene_state(model[0]), scene_state(model[1])};
    frame_mine(state[0])->turn[0] = frame_mine(state[0])->turn[1] = sqrt(0.5);
    double most = 0;
    for (int k = 0; k < 150; k++)
    {
        double f[3], g[3];
        for (int m = 0; m < 2; m++)
            scene_steps(model[m], state[m], 1);
        td_state_contact_force(state[0], 0, 1, f);
        td_state_contact_force(state[1], 0, 1, g);
        for (int c = 0; c < 3; c++)
            assert_near(f[c], g[c], 1e-5); // newton; tolerance of the solver and rounding, grown over steps
        most = fmax(most, fabs(f[2]));
    }
    assert_true(most > 1000 * 0.1 * 0.06 * 0.04 * G);
    for (int m = 0; m < 2; m++)
    {
        scene_free(model[m], state[m]);
        td_model_free(full[m]);
        td_rom_free(&rom[m]);
    }
}

// ---------------------------------------------------------------- replay

static void test_replay(void **unused)
{
    (void)unused;
    tdModel *full = scene_parse(DROP);
    tdRom rom = frame_rom(full, 9, 1);
    tdModel *model = rom_model(DROP, &rom, true);
    tdState *one = scene_state_with(model, 1, false), *three = scene_state_with(model, 3, false),
            *again = scene_state_with(model, 1, false);
    char path[] = "/tmp/tendril_touch_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    scene_steps(model, one, 60);
    scene_steps(model, three, 60);
    assert_true(one->report.contacts_active > 3);
    tdError error = {0};
    assert_ok(td_state_save(model, one, path, &error), error);
    assert_ok(td_state_load(model, again, path, &error), error);
    unlink(path);
    scene_steps(model, one, 40);
    scene_steps(model, three, 40);
    scene_steps(model, again, 40);
    size_t bytes = (size_t)model->coords * sizeof(double);
    assert_memory_equal(one->q, three->q, bytes);
    assert_memory_equal(one->v, three->v, bytes);
    assert_memory_equal(one->q, again->q, bytes);
    assert_memory_equal(one->v, again->v, bytes);
    td_state_free(one);
    td_state_free(three);
    td_state_free(again);
    td_model_free(model);
    td_model_free(full);
    td_rom_free(&rom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_lands_as_full_order),
        cmocka_unit_test(test_momentum), cmocka_unit_test(test_turned_by_a_right_angle),
        cmocka_unit_test(test_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
