// SPDX-License-Identifier: Apache-2.0
// Reduced bodies among the rest of the library: cavities, inverse control, free bodies, threads, checkpoints, training,
// and what is refused.
#include "actuators.h"
#include "arm.h"
#include "reduced.h"

#include "base/task.h"

#include <unistd.h>

// ---------------------------------------------------------------- cavities

static const char *ball_scene(const char *integrator, const char *drive)
{
    static char text[6000];
    char mesh[SCENE_PATH], surface[SCENE_PATH];
    const actBall ball = {.n = 2, .layers = 1, .inner = 0.06, .outer = 0.1, .tetrahedra = true};
    ball_files(&ball, 4, mesh, surface);
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {%s}\nsolver: {type: cholesky}\nbodies:\n"
             "  - {name: ball, mesh: %s, material: {law: neo_hookean, young: 100 kPa, poisson: 0.3, density: 1000},\n"
             "     damping: {stiffness: 5 ms}, fixed: [{box: [[-1, -1, -1], [1, 1, -0.05]]}]}\n"
             "actuators:\n  - {name: air, type: cavity, body: ball, group: inner, drive: %s}\n"
             "  - {name: walls, type: cavity, body: ball, surface: %s, drive: pressure}\n",
             integrator, mesh, drive, surface);
    return text;
}

static double farthest(const tdModel *a, const tdState *x, const tdModel *b, const tdState *y)
{
    const double *p = td_state_positions(a, x, 0), *q = td_state_positions(b, y, 0);
    double most = 0;
    for (int64_t i = 0; i < 3 * a->bodies[0].nodes; i++)
        most = fmax(most, fabs(p[i] - q[i]));
    return most / a->size;
}

// The cubic of a reduced body against the triangles of the full one: a row, a law (volume or gas) and a second cavity
// with a given pressure, whose surface is a file of its own.
static void cavities(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *integrator, *drive;
        double value;
    } cases[] = {{"method: static, tolerance: 1e-11", "pressure", 4e3},
                 {"method: static, tolerance: 1e-11", "volume", 2e-4},
                 {"newton: true, tolerance: 1e-11", "gas", 2e-3},
                 {"method: backward_euler", "volume", 2e-4}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
    {
        const char *text = ball_scene(cases[k].integrator, cases[k].drive);
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 0, 1);
        tdModel *reduced = rom_model(text, &rom, true);
        td_arena_free(&rom.arena);
        tdState *a = scene_state(full), *b = scene_state(reduced);
        for (int s = 1; s <= 4; s++)
        {
            for (int i = 0; i < 2; i++)
            {
                act_set(i ? reduced : full, i ? b : a, "air", 0.25 * s * cases[k].value);
                act_set(i ? reduced : full, i ? b : a, "walls", 100 * s);
                scene_steps(i ? reduced : full, i ? b : a, 1);
            }
            assert_near(farthest(full, a, reduced, b), 0, 1e-10);
            for (int i = 0; i < 2; i++)
            {
                tdActuation x = td_state_actuation(full, a, i), y = td_state_actuation(reduced, b, i);
                assert_near(y.displacement, x.displacement, 1e-10 * full->actuators[i].size);
                assert_near(y.effort, x.effort, 1e-7 * (fabs(x.effort) + 100));
            }
        }
        tdActuation air = td_state_actuation(full, a, 0);
        assert_true(fabs(air.displacement) > 0.02 * full->actuators[0].size);
        scene_free(full, a);
        scene_free(reduced, b);
    }
}

// Value, row and stiffness of a cavity on few modes, by differences of 1e-4: exact but for rounding, as V is a cubic
// and central differences of a cubic leave a term of h^2, here below 1e-7 of the whole.
static void volume_derivatives(void **unused)
{
    (void)unused;
    enum
    {
        R = 7
    };
    const char *text = ball_scene("method: static", "pressure");
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, R, 1);
    tdModel *model = rom_model(text, &rom, true);
    td_arena_free(&rom.arena);
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    const tdMeasure *measure = &model->actuators[0].measure;
    const tdReduced *reduced = body->data;
    tdReducedState *mine = (tdReducedState *)state->bodies[0];
    double q[R], row[R], up[R], down[R], h = 1e-4, size = 0;
    uint64_t seed = 4;
    for (int j = 0; j < R; j++)
        q[j] = 0.05 * next_random(&seed);
    // The triangles themselves, at the expanded positions.
    double *x = calloc((size_t)measure->n, 3 * sizeof *x),
           volume = body->ops->volume(body, state, measure->sets, q, row);
    double exact = 0;
    body->ops->positions(body, state, measure->sets, q, x);
    td_measure(measure, x, NULL, &exact, NULL);
    assert_near(volume, exact, 1e-13 * fabs(exact));
    free(x);
    body->ops->volume_stiffen(body, state, measure->sets, q, 1);
    for (int j = 0; j < R; j++)
        size = fmax(size, fabs(row[j]));
    for (int j = 0; j < R; j++)
    {
        double keep = q[j];
        q[j] = keep + h;
        double plus = body->ops->volume(body, state, measure->sets, q, up);
        q[j] = keep - h;
        double minus = body->ops->volume(body, state, measure->sets, q, down);
        q[j] = keep;
        assert_near((plus - minus) / (2 * h), row[j], 1e-6 * size);
        for (int i = 0; i < R; i++)
            assert_near((up[i] - down[i]) / (2 * h), mine->coupling[i * reduced->stride + j], 1e-6 * size);
    }
    td_model_free(full);
    scene_free(model, state);
}

// ---------------------------------------------------------------- inverse control

static void inverse_control(void **unused)
{
    (void)unused;
    const char *scenes[] = {ARM_BODY("250 kPa") ARM_CABLES("[0, 20]") ARM_TIP ARM_STATIC,
                            ARM_BODY("250 kPa") ARM_CABLES("[0, 20]") ARM_TIP};
    for (int k = 0; k < 2; k++)
    {
        tdModel *full = scene_parse(scenes[k]);
        tdRom rom = rom_of(full, 0, 1);
        tdModel *reduced = rom_model(scenes[k], &rom, true);
        td_arena_free(&rom.arena);
        tdState *a = scene_state(full), *b = scene_state(reduced);
        const double target[3] = {0.0985, 0.005, -0.003};
        assert_int_equal(td_state_set_target(full, a, 0, target), TD_OK);
        assert_int_equal(td_state_set_target(reduced, b, 0, target), TD_OK);
        scene_steps(full, a, 5);
        scene_steps(reduced, b, 5);
        assert_true(td_state_report(b)->inverse);
        // The full arm solves iteratively, to 1e-6 of the right-hand side.
        assert_near(farthest(full, a, reduced, b), 0, 1e-5);
        for (int i = 0; i < 4; i++)
            assert_near(td_state_actuation(reduced, b, i).effort, td_state_actuation(full, a, i).effort, 1e-2);
        double tip[3];
        const tdEffector *effector = &reduced->effectors[0];
        td_constraint_points(reduced, b, &effector->measure, b->q, tip);
        for (int c = 0; c < 3; c++)
            assert_near(tip[c], target[c], k == 0 ? 1e-7 : 1e-3); // static: reached; one linearization: nearly
        scene_free(full, a);
        scene_free(reduced, b);
    }
}

// ---------------------------------------------------------------- fields

// Stress and energy by element are those of the full model at the same positions.
static void fields(void **unused)
{
    (void)unused;
    const char *text = ARM_BODY("250 kPa") ARM_CABLES("[0, 20]") "solver: {type: cholesky}\n";
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 0, 1);
    tdModel *reduced = rom_model(text, &rom, true);
    td_arena_free(&rom.arena);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    act_set(full, a, "north", 2);
    act_set(reduced, b, "north", 2);
    scene_steps(full, a, 3);
    scene_steps(reduced, b, 3);
    int64_t n = full->bodies[0].elements;
    double *stress = calloc((size_t)(4 * n), sizeof *stress), *density = stress + n, most = 0;
    full->bodies[0].ops->fields(full, &full->bodies[0], a, stress, density);
    reduced->bodies[0].ops->fields(reduced, &reduced->bodies[0], b, stress + 2 * n, density + 2 * n);
    for (int64_t e = 0; e < n; e++)
        most = fmax(most, stress[e]);
    assert_true(most > 1e3);
    for (int64_t e = 0; e < n; e++)
    {
        assert_near(stress[2 * n + e], stress[e], 1e-8 * most);
        assert_near(density[2 * n + e], density[e], 1e-8 * most);
    }
    double force[3];
    td_state_reaction(reduced, b, 0, force);
    assert_true(isnan(force[0]) && isnan(force[1]) && isnan(force[2]));
    free(stress);
    scene_free(full, a);
    scene_free(reduced, b);
}

// ---------------------------------------------------------------- free bodies

// The weight of every node, whichever way it points: with all modes the same equilibrium as at full order.
static void weight(void **unused)
{
    (void)unused;
    static const char text[] =
        "tendril: 1\ntime_step: 10 ms\nsteps: 1\ngravity: [3, -4, 5]\nintegrator: {method: static, tolerance: 1e-12}\n"
        "solver: {type: cholesky}\nbodies:\n  - name: arm\n"
        "    mesh: {box: [[0, 0, 0], [0.2, 0.1, 0.1]], cells: [2, 1, 1]}\n    fixed: [{group: xmax}]\n"
        "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.3, density: 1000}\n";
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 0, 1);
    tdModel *reduced = rom_model(text, &rom, true);
    td_arena_free(&rom.arena);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    scene_steps(full, a, 1);
    scene_steps(reduced, b, 1);
    double sag = 0;
    const double *x = td_state_positions(full, a, 0);
    for (int i = 0; i < 3; i++)
        sag = fmax(sag, fabs(x[i] - full->bodies[0].soft->rest[i]));
    assert_true(sag > 1e-3); // of the first node, which is free
    assert_near(farthest(full, a, reduced, b), 0, 1e-9);
    scene_free(full, a);
    scene_free(reduced, b);
}

// Three translations before the other modes: moved as a whole the body feels no force, and it falls as a stone does.
static void translation(void **unused)
{
    (void)unused;
    const char *laws[] = {"corotational", "neo_hookean", "corotational_lagged"};
    for (int k = 0; k < 3; k++)
    {
        char text[2000];
        snprintf(text, sizeof text,
                 "tendril: 1\ntime_step: 10 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nbodies:\n  - name: cube\n"
                 "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 2]}\n    velocity: [1, 0, 0]\n"
                 "    material: {law: %s, young: 100 kPa, poisson: 0.4, density: 1000}\n",
                 laws[k]);
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 12, 2);
        rom.frame = TD_FRAME_TRANSLATION;
        int64_t coords = 3 * rom.n_nodes;
        for (int64_t i = 0; i < coords; i++)
            for (int c = 0; c < 3; c++)
                rom.phi[i * rom.r + c] = i % 3 == c ? 1 / sqrt((double)rom.n_nodes) : 0;
        for (int j = 3; j < rom.r; j++) // the others stay off them
            for (int c = 0; c < 3; c++)
            {
                double along = 0;
                for (int64_t i = c; i < coords; i += 3)
                    along += rom.phi[i * rom.r + j];
                for (int64_t i = c; i < coords; i += 3)
                    rom.phi[i * rom.r + j] -= along / (double)rom.n_nodes;
            }
        tdModel *model = rom_model(text, &rom, false);
        td_arena_free(&rom.arena);
        tdState *state = scene_state(model);
        const tdBody *body = &model->bodies[0];
        double stiffest = 0, most = 0;
        state->q_e[0] = 3;
        state->q_e[1] = -2;
        state->q_e[2] = 5;
        body->ops->begin(model, body, state);
        body->ops->kinematics(model, body, state);
        assert_int_equal(body->ops->forces(model, body, state, true), TD_OK);
        const tdReduced *reduced = body->data;
        for (int i = 0; i < reduced->n; i++)
        {
            stiffest = fmax(stiffest, ((tdReducedState *)state->bodies[0])->K[i * (reduced->stride + 1)]);
            most = fmax(most, fabs(state->force[i]));
        }
        assert_true(stiffest > 1);
        assert_near(most, 0, 1e-9 * stiffest * 5); // of what the same amplitude of another mode would give
        state->q_e[0] = state->q_e[1] = state->q_e[2] = 0;
        scene_steps(model, state, 50);
        // Backward Euler: z = -g h^2 n (n + 1) / 2. Rotations of the random modes take no part in a pure fall, because
        // lumped masses weigh on them as gravity does.
        const double *x = td_state_positions(model, state, 0), fall = -9.81 * 1e-4 * 50 * 51 / 2;
        for (int64_t i = 0; i < rom.n_nodes; i++)
        {
            const double *X = full->bodies[0].soft->rest + 3 * i;
            assert_near(x[3 * i] - X[0], 0.5, 1e-9);
            assert_near(x[3 * i + 1] - X[1], 0, 1e-9);
            assert_near(x[3 * i + 2] - X[2], fall, 1e-9);
        }
        td_model_free(full);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- threads, checkpoints

#define VISCO_ARM                                                                                                      \
    "tendril: 1\ntime_step: 10 ms\nsteps: 30\ngravity: [0, 0, -9.81]\nintegrator: {%s}\nbodies:\n  - name: arm\n"      \
    "    mesh: {box: [[0, -0.01, -0.01], [0.1, 0.01, 0.01]], cells: [8, 2, 2]}\n    fixed: [{group: xmin}]\n"          \
    "    prescribed: [{name: end, group: xmax, axes: z, displacement: [0, 0, 0.02]}]\n"                                \
    "    damping: {mass: 0.5, stiffness: 5 ms}\n"                                                                      \
    "    material: {law: neo_hookean, young: 250 kPa, poisson: 0.4, density: 1000, viscoelastic: [{modulus: 0.3, "     \
    "time: 50 ms}]}\n"                                                                                                 \
    "loads: [{name: push, type: point, body: arm, group: zmax, force: [0, 0.02, 0]}]\n"                                \
    "motion: {keyframes: [{t: 0, end: 0, push: 0}, {t: 0.3, end: 1, push: 1}]}\n" ARM_CABLES("[0, 20]")

static void same_bits(void **unused)
{
    (void)unused;
    const char *integrators[] = {"method: backward_euler", "newton: true", "method: newmark, newton: true",
                                 "method: static"};
    char path[64];
    snprintf(path, sizeof path, "/tmp/tendril_reduced_%d.ckp", (int)getpid());
    for (int k = 0; k < 4; k++)
    {
        char text[4000];
        tdError error = {0};
        snprintf(text, sizeof text, VISCO_ARM, integrators[k]);
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 20, 3);
        tdModel *model = rom_model(text, &rom, false), *other = rom_model(text, &rom, true);
        td_arena_free(&rom.arena);
        tdState *one = scene_state_with(model, 1, false), *two = scene_state_with(model, 2, false);
        tdState *stranger = scene_state(other);
        act_set(model, one, "north", 0.5);
        act_set(model, two, "north", 0.5);
        scene_steps(model, one, 12);
        assert_ok(td_state_save(model, one, path, &error), error);
        scene_steps(model, one, 12);
        scene_steps(model, two, 24);
        size_t bytes = (size_t)model->coords * sizeof(double);
        assert_memory_equal(one->q, two->q, bytes);
        assert_memory_equal(one->v, two->v, bytes);
        assert_memory_equal(one->reaction, two->reaction, bytes);
        assert_ok(td_state_load(model, two, path, &error), error);
        scene_steps(model, two, 12);
        assert_memory_equal(one->q, two->q, bytes);
        assert_memory_equal(one->reaction, two->reaction, bytes);
        // Another domain is another model.
        assert_int_not_equal(td_state_load(other, stranger, path, &error), TD_OK);
        td_state_free(two);
        td_state_free(stranger);
        td_model_free(other);
        td_model_free(full);
        scene_free(model, one);
    }
    unlink(path);
}

// The portable kernels agree with the fast ones to rounding.
static void portable(void **unused)
{
    (void)unused;
    char text[4000];
    snprintf(text, sizeof text, VISCO_ARM, "newton: true, tolerance: 1e-11");
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 21, 3);
    tdModel *model = rom_model(text, &rom, false);
    td_arena_free(&rom.arena);
    tdState *fast = scene_state_with(model, 1, false), *slow = scene_state_with(model, 1, true);
    scene_steps(model, fast, 20);
    scene_steps(model, slow, 20);
    assert_near(farthest(model, fast, model, slow), 0, 1e-10);
    td_state_free(slow);
    td_model_free(full);
    scene_free(model, fast);
}

// ---------------------------------------------------------------- training

// Columns of single elements add up to the force over all of them; the same bits for any number of threads.
static void training(void **unused)
{
    (void)unused;
    enum
    {
        R = 6,
        SNAPSHOTS = 3
    };
    const char *laws[] = {"corotational_lagged", "corotational", "mooney_rivlin"};
    for (int k = 0; k < 3; k++)
    {
        char text[3000];
        snprintf(
            text, sizeof text,
            "tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {method: static}\nbodies:\n  - name: arm\n"
            "    mesh: {box: [[0, 0, 0], [1, 0.4, 0.4]], cells: [3, 2, 2], elements: %s}\n    fixed: [{group: xmin}]\n"
            "    prescribed: [{name: end, group: xmax, axes: z, displacement: [0, 0, 0.3]}]\n"
            "    material: {law: %s, young: 250 kPa, poisson: 0.4, density: 1000}\n",
            k == 1 ? "hexahedra" : "tetrahedra", laws[k]);
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, R, 1);
        tdModel *model = rom_model(text, &rom, true);
        tdState *state = scene_state(model);
        tdError error = {0};
        int64_t elements = model->bodies[0].elements, rows = SNAPSHOTS * R;
        double alpha[SNAPSHOTS * R], u[SNAPSHOTS];
        uint64_t seed = 9;
        for (int i = 0; i < SNAPSHOTS * R; i++)
            alpha[i] = 0.2 * next_random(&seed);
        for (int i = 0; i < SNAPSHOTS; i++)
            u[i] = next_random(&seed);
        double *G = calloc((size_t)(elements * rows), sizeof *G), *H = calloc((size_t)(elements * rows), sizeof *H);
        tdTasks *tasks = NULL;
        assert_ok(td_tasks_create(2, &tasks, &error), error);
        assert_ok(td_reduced_training(full, 0, &rom, SNAPSHOTS, alpha, u, 0, elements, tasks, G, &error), error);
        assert_ok(td_reduced_training(full, 0, &rom, SNAPSHOTS, alpha, u, 0, elements, NULL, H, &error), error);
        assert_memory_equal(G, H, (size_t)(elements * rows) * sizeof *G);
        // In parts an element has other neighbours in its batch, whose iterations it shares: rounding differs.
        int64_t cut = elements / 3;
        assert_ok(td_reduced_training(full, 0, &rom, SNAPSHOTS, alpha, u, 0, cut, NULL, H, &error), error);
        assert_ok(td_reduced_training(full, 0, &rom, SNAPSHOTS, alpha, u, cut, elements, tasks, H + cut * rows, &error),
                  error);
        for (int64_t i = 0; i < elements * rows; i++)
            assert_near(H[i], G[i], 1e-9);
        const tdBody *body = &model->bodies[0];
        for (int s = 0; s < SNAPSHOTS; s++)
        {
            memcpy(state->q_e, alpha + s * R, R * sizeof *alpha);
            state->q_e[R] = u[s];
            body->ops->kinematics(model, body, state);
            assert_int_equal(body->ops->forces(model, body, state, false), TD_OK);
            double size = 0;
            for (int i = 0; i < R; i++)
                size = fmax(size, fabs(state->force[i]));
            assert_true(size > 1);
            for (int i = 0; i < R; i++)
            {
                double sum = 0;
                for (int64_t e = 0; e < elements; e++)
                    sum += G[e * rows + s * R + i];
                assert_near(sum, state->force[i], 1e-11 * size);
            }
        }
        assert_int_not_equal(td_reduced_training(full, 0, &rom, SNAPSHOTS, alpha, u, 0, elements + 1, tasks, G, &error),
                             TD_OK);
        td_tasks_free(tasks);
        td_arena_free(&rom.arena);
        free(G);
        free(H);
        td_model_free(full);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- refusals

#define BOX(law, more)                                                                                                 \
    "tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: box\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: "  \
    "[2, "                                                                                                             \
    "2, 2]}\n    material: {law: " law ", young: 1e5, poisson: 0.3, density: 1000}\n    fixed: [{group: zmin}]\n" more

static void refused(const char *text, const tdRom *rom, const char *because)
{
    tdModel *model = NULL;
    tdError error = {0};
    assert_int_equal(td_model_parse_reduced(text, strlen(text), "scene.yaml", NULL, NULL, rom, &model, &error),
                     TD_ERROR_INPUT);
    if (strstr(error.message, because) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, because);
    assert_null(model);
}

static void refusals(void **unused)
{
    (void)unused;
    const char *good = BOX("stvk", "");
    tdModel *full = scene_parse(good);
    tdRom rom = rom_of(full, 8, 2), bad;
    refused(BOX("corotational", ""), &rom, "is the materials;");
    refused(
        "tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: box\n    mesh: {box: [[0, 0, 0], [1, 1, 1.1]], "
        "cells: [2, 2, 2]}\n    material: {law: stvk, young: 1e5, poisson: 0.3, density: 1000}\n    fixed: [{group: "
        "zmax}]\n",
        &rom, "is the mesh, the supports or moved nodes;");
    refused(BOX("stvk", "    prescribed: [{name: up, group: zmax, axes: z, displacement: [0, 0, 1]}]\n"), &rom,
            "is the supports or moved nodes;");
    refused(BOX("stvk", "loads: [{type: surface, body: box, group: zmax, pressure: 10}]\n"), &rom, "pressure load");
    bad = rom;
    bad.body = "ball";
    refused(good, &bad, "'ball'");
    bad = rom;
    bad.n_nodes = 26;
    refused(good, &bad, "26 nodes");
    bad = rom;
    bad.r = 0;
    refused(good, &bad, "0 modes");
    bad = rom;
    bad.frame = TD_FRAME_FREE;
    refused(good, &bad, "frame that is free");
    int32_t element = rom.domains->element[1];
    rom.domains->element[1] = rom.domains->element[0];
    refused(good, &rom, "twice");
    rom.domains->element[1] = 1000;
    refused(good, &rom, "not one of");
    rom.domains->element[1] = element;
    double weight = rom.domains->weight[1];
    rom.domains->weight[1] = NAN;
    refused(good, &rom, "weight");
    rom.domains->weight[1] = weight;
    int64_t n = rom.domains->n;
    rom.domains->n = 0;
    refused(good, &rom, "no elements");
    rom.domains->n = n;
    rom.phi[full->bodies[0].soft->held_list[0] * (int64_t)rom.r] = 1e-3;
    refused(good, &rom, "holds");
    rom.phi[0] = INFINITY;
    refused(good, &rom, "finite");
    td_arena_free(&rom.arena);
    td_model_free(full);
    const char *turned =
        BOX("stvk", "actuators: [{name: turn, type: rotation, body: box, group: zmax, axis: [0, 0, 1], "
                    "center: [0, 0, 1], drive: angle}]\n");
    full = scene_parse(turned);
    rom = rom_of(full, 8, 2);
    refused(turned, &rom, "rotation actuator");
    td_arena_free(&rom.arena);
    td_model_free(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cavities),        cmocka_unit_test(volume_derivatives),
        cmocka_unit_test(inverse_control), cmocka_unit_test(fields),
        cmocka_unit_test(weight),          cmocka_unit_test(translation),
        cmocka_unit_test(same_bits),       cmocka_unit_test(portable),
        cmocka_unit_test(training),        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
