// SPDX-License-Identifier: Apache-2.0
// The offline stage of bodies that nothing holds: motion as a whole is told from shape, supports of training bear
// nothing, and what comes out moves as full order does, with its frame and with translations alone.
#include "actuators.h"
#include "frames.h"

#include "base/file.h"
#include "reduce/offline/job.h"
#include "reduce/offline/rigid.h"
#include "reduce/offline/walker.h"

#include <sys/stat.h>
#include <unistd.h>

#define OUT   "test_reduce_frame.h5"
#define SCENE "test_reduce_frame.yaml"

#define TEXT(law, reduction, more)                                                                                     \
    "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 5 ms\nduration: 0.6 s\nintegrator: {newton: true, "                \
    "max_iterations: 60}\nbodies:\n  - name: bar\n"                                                                    \
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [8, 2, 2]}\n"                                              \
    "    material: {law: " law ", young: 100 kPa, poisson: 0.4, density: 1000}\n"                                      \
    "    damping: {stiffness: 5 ms}\nactuators:\n"                                                                     \
    "  - {name: top, type: cable, body: bar, path: [[0.1, 0.01, 0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]],\n"        \
    "     drive: displacement, range: [0, 10 mm]}\n"                                                                   \
    "  - {name: side, type: cable, body: bar, path: [[0.1, 0.02, 0.01], [0.05, 0.02, 0.01], [0, 0.02, 0.01]],\n"       \
    "     drive: displacement, range: [0, 10 mm]}\n" more                                                              \
    "motion: {keyframes: [{t: 0, top: 0, side: 0}, {t: 0.3, top: 6 mm, side: 3 mm}, {t: 0.6, top: 2 mm, side: 8 "      \
    "mm}]}\nreduction: {" reduction "}\nvalidation: {random: {steps: 8, moves: 3, seed: 2}}\n"
#define USUAL "samples: grid, levels: 3, steps_between: 3, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3"

static tdModel *edited(const char *text, tdSceneEdit *edit)
{
    tdModel *model = NULL;
    tdError error = {0};
    assert_ok(td_model_parse_edited(text, strlen(text), "scene.yaml", NULL, NULL, edit, NULL, &model, &error), error);
    return model;
}

// ---------------------------------------------------------------- motion as a whole

static void moments(const tdSoft *soft, const double *d, double sum[3], double turn[3])
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    double *y = calloc((size_t)coords, sizeof *y);
    frame_mass(soft, d, y);
    memset(sum, 0, 3 * sizeof *sum);
    memset(turn, 0, 3 * sizeof *turn);
    for (int64_t i = 0; i < coords; i += 3)
    {
        double across[3];
        td_cross3(soft->rest + i, y + i, across);
        for (int c = 0; c < 3; c++)
        {
            sum[c] += y[i + c];
            turn[c] += across[c];
        }
    }
    free(y);
}

// q = x + R (X + d) with d that neither moves nor turns the whole; a rigid motion, however far, leaves none.
static void splits(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse(TEXT("stvk", USUAL, ""));
    const tdSoft *soft = model->bodies[0].soft;
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    tdArena arena = {0};
    tdError error = {0};
    tdRigid rigid;
    assert_ok(td_rigid_create(&arena, soft, &rigid, &error), error);
    double *q = TD_TAKE(&arena, double, coords), *d = TD_TAKE(&arena, double, coords), x[3], R[9], sum[3], turn[3];
    for (int bent = 0; bent < 2; bent++)
    {
        uint64_t seed = 6;
        const double theta[3] = {2, -2, 1}, reference[4] = {1, 0, 0, 0}; // almost half a turn
        tdFramePose pose;
        td_frame_pose_at(reference, theta, &pose);
        for (int64_t i = 0; i < coords; i += 3)
        {
            double y[3];
            for (int c = 0; c < 3; c++)
                y[c] = soft->rest[i + c] + bent * 0.01 * next_random(&seed);
            td_mat3_apply(pose.R, y, q + i);
            q[i] += 3;
        }
        td_rigid_split(&rigid, q, x, R, d);
        double most = 0, size = 0;
        for (int64_t i = 0; i < coords; i += 3)
        {
            double y[3], at[3];
            for (int c = 0; c < 3; c++)
            {
                y[c] = rigid.X[i + c] + d[i + c];
                size = fmax(size, fabs(d[i + c]));
            }
            td_mat3_apply(R, y, at);
            for (int c = 0; c < 3; c++)
                most = fmax(most, fabs(x[c] + at[c] - q[i + c]));
        }
        assert_near(most, 0, 1e-14 * 4);
        moments(soft, d, sum, turn);
        for (int c = 0; c < 3; c++)
        {
            assert_near(sum[c], 0, 1e-15);
            assert_near(turn[c], 0, 1e-15); // kg m m: rounding of 0.04 kg, 0.1 m and 3 m
        }
        assert_true(bent ? size > 0.005 : size < 1e-14 * 8);
    }
    td_arena_free(&arena);
    td_model_free(model);
}

// Almost half a turn of all nodes, about an axis and by a way that have nothing to do with the body.
static void turn_nodes(int64_t coords, double *q)
{
    const double theta[3] = {2, -2, 1}, reference[4] = {1, 0, 0, 0};
    tdFramePose pose;
    td_frame_pose_at(reference, theta, &pose);
    for (int64_t i = 0; i < coords; i += 3)
    {
        double y[3];
        td_mat3_apply(pose.R, q + i, y);
        memcpy(q + i, y, sizeof y);
        q[i] += 3;
    }
}

// From anywhere back onto the supports of training, which then stand as at rest, without a change of the shape.
static void seats(void **unused)
{
    (void)unused;
    tdModel *model = edited(TEXT("stvk", USUAL, ""), td_walk_edit_static);
    const tdSoft *soft = model->bodies[0].soft;
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    double *q = calloc((size_t)coords, sizeof *q), *bent = calloc((size_t)coords, sizeof *bent);
    uint64_t seed = 6;
    assert_int_equal(soft->n_held, 6);
    for (int64_t i = 0; i < coords; i++)
    {
        double along = soft->rest[i / 3 * 3] / 0.1; // a tenth of the length, and noise
        q[i] = bent[i] = soft->rest[i] + (i % 3 == 2 ? 0.01 * along * along : 0) + 1e-3 * next_random(&seed);
    }
    turn_nodes(coords, q);
    assert_true(td_rigid_seat(soft->n_nodes, soft->rest, soft->held_list, q));
    for (int k = 0; k < 6; k++)
        assert_true(q[soft->held_list[k]] == soft->rest[soft->held_list[k]]);
    assert_near(frame_shape_difference(model, bent, q), 0, 1e-11); // rounding at 3 m, and where it stops
    for (int64_t i = 0; i < coords; i++)
        q[i] = NAN;
    assert_false(td_rigid_seat(soft->n_nodes, soft->rest, soft->held_list, q));
    free(q);
    free(bent);
    td_model_free(model);
}

// A free body that moves to a place, far from where it was at rest, is put on the supports of the static model there:
// what this finds is the shape of the static way.
static void walks(void **unused)
{
    (void)unused;
    const char *text = TEXT("corotational", USUAL, "");
    tdModel *at_rest = edited(text, td_walk_edit_static), *moving = edited(text, td_walk_edit_moving);
    tdSettings settings = td_default_settings();
    int64_t coords = at_rest->coords;
    double *values = calloc((size_t)at_rest->n_inputs, sizeof *values), *shape = calloc((size_t)coords, sizeof *shape);
    values[td_model_find_input(at_rest, "top")] = 0.006;
    values[td_model_find_input(at_rest, "side")] = 0.003;
    for (int settle = 0; settle < 2; settle++)
    {
        const tdWalk walk = {at_rest, moving, settle == 1};
        tdWalker *walker = NULL;
        tdError error = {0};
        bool reached = false;
        assert_ok(td_walker_create(&walk, &settings, &walker, &error), error);
        if (settle)
            turn_nodes(coords, ((tdState *)td_walker_state(walker))->q);
        assert_ok(td_walker_visit(walker, values, 1, &reached, &error), error);
        assert_true(reached);
        assert_ptr_equal(td_walker_state(walker)->model, at_rest);
        const double *x = td_walker_nodes(walker, 0);
        if (settle) // both are solved to 1e-7; it bends by 0.1 of its size
            assert_near(frame_shape_difference(at_rest, shape, x), 0, 1e-6);
        else
            memcpy(shape, x, (size_t)coords * sizeof *x);
        td_walker_free(walker);
    }
    free(values);
    free(shape);
    td_model_free(at_rest);
    td_model_free(moving);
}

// Forces within the body, and loads whose push is borne by inertia, leave nothing for the supports of training.
static void supports_bear_nothing(void **unused)
{
    (void)unused;
    const char *text = TEXT("corotational", USUAL,
                            "loads: [{name: push, type: point, body: bar, group: xmax, force: [0.02, 0.01, 0.03]}]\n");
    for (int load = 0; load < 2; load++)
    {
        tdModel *model = edited(text, td_walk_edit_static);
        tdState *state = scene_state(model);
        assert_int_equal(model->bodies[0].n_held, 6);
        act_set(model, state, "top", load ? 0 : 0.008);
        act_set(model, state, "push", load);
        scene_steps(model, state, 1);
        double force = load ? 0.04 : act_of(model, state, "top").effort, most = 0, moved = 0;
        assert_true(force > 1e-3);
        for (int64_t i = 0; i < model->coords; i++)
        {
            most = fmax(most, fabs(state->reaction[i]));
            moved = fmax(moved, fabs(state->q[i] - model->bodies[0].soft->rest[i]));
        }
        assert_true(moved > 1e-3 * model->size);
        // The balance of a load is that of the shape at rest: what the body bends makes moments of second order.
        assert_near(most, 0, (load ? 0.1 : 1e-6) * force);
        scene_free(model, state);
        model = edited(text, td_walk_edit_moving);
        assert_int_equal(model->bodies[0].n_held, 0);
        td_model_free(model);
    }
}

// ---------------------------------------------------------------- from end to end

static const char *scene_path(const char *text)
{
    tdError error = {0};
    assert_ok(td_file_write(SCENE, text, strlen(text), &error), error);
    return SCENE;
}

static tdStatus reduce(const char *path, int threads, tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {.scene = path, .out = OUT, .restart = true, .accept = true, .settings = td_default_settings()};
    task.settings.threads = threads;
    *error = (tdError){0};
    return td_reduce(&task, report, error);
}

static tdModel *load(const char *path, const char *rom)
{
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    tdError error = {0};
    settings.rom = rom;
    assert_ok(td_model_load(path, &settings, &model, &error), error);
    return model;
}

/// Largest difference of the shapes along the scene's motion; *fell: of the centres of the bodies.
static double compare(const char *path, double *fell)
{
    tdModel *full = load(path, NULL), *reduced = load(path, OUT);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    double most = 0, *x = calloc((size_t)(3 * full->bodies[0].nodes), sizeof *x);
    int64_t coords = 3 * full->bodies[0].nodes;
    *fell = 0;
    for (int s = 0; s < td_model_steps(full); s++)
    {
        scene_steps(full, a, 1);
        scene_steps(reduced, b, 1);
        double mean[3] = {0, 0, 0};
        memcpy(x, td_state_positions(full, a, 0), (size_t)coords * sizeof *x);
        const double *y = td_state_positions(reduced, b, 0);
        most = fmax(most, frame_shape_difference(full, x, y));
        for (int64_t i = 0; i < coords; i++)
            mean[i % 3] += (x[i] - y[i]) * 3 / (double)coords;
        for (int c = 0; c < 3; c++)
            *fell = fmax(*fell, fabs(mean[c]));
    }
    free(x);
    scene_free(full, a);
    scene_free(reduced, b);
    return most;
}

// Two cables bend a bar that falls. The modes leave 1e-4 of the snapshots and the domain 1e-3 of the forces; the motion
// adds waves that no equilibrium has. The bar bends by a tenth of its size.
static void cables(void **unused)
{
    (void)unused;
    const struct
    {
        const char *text;
        tdFrameKind frame;
        int more; // modes
    } cases[] = {{TEXT("corotational", USUAL, ""), TD_FRAME_FREE, 0},
                 {TEXT("corotational", USUAL ", frame: free", ""), TD_FRAME_FREE, 0},
                 {TEXT("corotational", USUAL ", frame: translation", ""), TD_FRAME_TRANSLATION, 3},
                 {TEXT("stvk",
                       "kind: stvk, basis: snapshots, samples: grid, levels: 3, steps_between: 3, "
                       "pod_tolerance: 1e-4",
                       ""),
                  TD_FRAME_FREE, 0}};
    int modes = 0;
    for (int k = 0; k < 4; k++)
    {
        tdReduceReport report;
        tdError error;
        const char *path = scene_path(cases[k].text);
        assert_ok(reduce(path, 0, &report, &error), error);
        assert_int_equal(report.failures, 0);
        assert_int_equal(report.weight_snapshots, 0);
        assert_true(report.pod_error <= 1e-4 && report.held_out_error < 0.005);
        modes = k == 0 ? report.modes : modes;
        if (k < 3)
            assert_int_equal(report.modes, modes + cases[k].more);
        tdRom rom = {0};
        assert_ok(td_rom_read(OUT, &rom, &error), error);
        assert_int_equal(rom.frame, cases[k].frame);
        td_rom_free(&rom);
        double fell = 0, off = compare(path, &fell);
        assert_true(off < 3e-3);
        assert_near(fell, 0, 1e-3 * 0.1);
    }
}

// A cavity, whose walls are one force field; every thread count gives the same file.
static void cavity(void **unused)
{
    (void)unused;
    static char text[4000];
    char mesh[SCENE_PATH], surface[SCENE_PATH];
    const actBall ball = {.n = 2, .layers = 1, .inner = 0.06, .outer = 0.1, .tetrahedra = true};
    ball_files(&ball, 4, mesh, surface);
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 5 ms\nduration: 0.2 s\nintegrator: {newton: true, max_iterations: 60}\nbodies:\n"
             "  - {name: ball, mesh: %s, material: {law: neo_hookean, young: 100 kPa, poisson: 0.3, density: 1000},\n"
             "     damping: {stiffness: 5 ms}}\nactuators:\n"
             "  - {name: air, type: cavity, body: ball, group: inner, drive: pressure, range: [0, 5 kPa]}\n"
             "motion: {keyframes: [{t: 0, air: 0}, {t: 0.1, air: 4 kPa}]}\n"
             "reduction: {steps_between: 8, pod_tolerance: 1e-5, ecsw_tolerance: 1e-3}\n"
             "validation: {random: {steps: 4, moves: 2}}\n",
             mesh);
    tdReduceReport one, two;
    tdError error;
    const char *path = scene_path(text);
    assert_ok(reduce(path, 1, &one, &error), error);
    assert_ok(reduce(path, 2, &two, &error), error);
    assert_true(one.content == two.content);
    assert_true(one.held_out_error < 0.005);
    double fell = 0, off = compare(path, &fell);
    assert_true(off < 2e-3);
    assert_near(fell, 0, 1e-6);
}

static bool stop_there(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    (void)total;
    (void)done;
    return phase != *(tdReducePhase *)user;
}

// Stopped after the modes were made and started again, a job gives the same file: translations are put before them
// anew.
static void resumes(void **unused)
{
    (void)unused;
    const char *texts[] = {TEXT("corotational", USUAL, ""), TEXT("corotational", USUAL ", frame: translation", "")};
    for (int k = 0; k < 2; k++)
        for (int stop = 0; stop < 3; stop++)
        {
            static const tdReducePhase phases[] = {TD_REDUCE_SNAPSHOTS, TD_REDUCE_TRAINING, TD_REDUCE_CHECK};
            tdReducePhase phase = phases[stop];
            tdReduceReport whole, report;
            tdError error;
            tdReduceTask task = {.scene = scene_path(texts[k]), .out = OUT, .settings = td_default_settings()};
            assert_ok(reduce(task.scene, 0, &whole, &error), error);
            task.progress = stop_there;
            task.user = &phase;
            assert_ok(td_reduce(&task, &report, &error), error);
            assert_true(report.stopped);
            task.progress = NULL;
            assert_ok(td_reduce(&task, &report, &error), error);
            assert_true(report.resumed && report.content == whole.content);
        }
}

// Vibration modes stand in addition to those of the snapshots, on either frame; none of the translations is in them
// twice.
static void vibrations_beside(void **unused)
{
    (void)unused;
    const char *texts[] = {TEXT("corotational", USUAL ", modes: 4", ""),
                           TEXT("corotational", USUAL ", modes: 4, frame: translation", "")};
    for (int k = 0; k < 2; k++)
    {
        tdReduceReport report;
        tdError error;
        tdRom rom = {0};
        const char *path = scene_path(texts[k]);
        assert_ok(reduce(path, 0, &report, &error), error);
        assert_int_equal(report.vibration_modes, 4);
        assert_near(report.frequency, 21, 4); // as below: not that of the body on its supports
        assert_true(report.held_out_error < 0.005);
        assert_ok(td_rom_read(OUT, &rom, &error), error);
        assert_true(rom.single_error > 0);
        for (int i = 0; i < rom.r; i++)
            for (int j = 0; j <= i; j++)
            {
                double sum = 0;
                for (int64_t n = 0; n < 3 * rom.n_nodes; n++)
                    sum += rom.phi[n * rom.r + i] * rom.phi[n * rom.r + j];
                assert_near(sum, i == j, 1e-10);
            }
        td_rom_free(&rom);
        double fell = 0, off = compare(path, &fell);
        assert_true(off < 3e-3);
    }
}

// Vibration modes of a free body know nothing of the supports of training: they carry no momentum.
static void vibrations(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    const char *path = scene_path(TEXT("stvk", "kind: stvk, modes: 6, columns: 12", ""));
    assert_ok(reduce(path, 0, &report, &error), error);
    // The lowest mode of a free beam: (4.73 / L)^2 sqrt(E I / (rho A)) / (2 pi), less for one that is short; coarse
    // tetrahedra are too stiff.
    assert_near(report.frequency, 21, 4);
    tdModel *full = load(path, NULL), *model = load(path, OUT);
    tdState *state = scene_state(model);
    tdRom rom = {0};
    assert_ok(td_rom_read(OUT, &rom, &error), error);
    assert_int_equal(rom.frame, TD_FRAME_FREE);
    int64_t coords = 3 * rom.n_nodes;
    double *x = calloc((size_t)coords, sizeof *x), sum[3], turn[3];
    for (int j = 0; j < rom.r; j++)
    {
        for (int64_t i = 0; i < coords; i++)
            x[i] = rom.phi[i * rom.r + j];
        moments(full->bodies[0].soft, x, sum, turn);
        for (int c = 0; c < 3; c++) // 0.04 kg, and modes of unit length; the modes are good to 1e-9
        {
            assert_near(sum[c], 0, 1e-10);
            assert_near(turn[c], 0, 1e-11);
        }
    }
    scene_steps(model, state, 20);
    free(x);
    td_rom_free(&rom);
    td_model_free(full);
    scene_free(model, state);
}

// ---------------------------------------------------------------- refusals

static void refused(const char *text, const char *why)
{
    tdReduceReport report;
    tdError error;
    const char *path = scene_path(text);
    assert_int_equal(reduce(path, 0, &report, &error), TD_ERROR_INPUT);
    if (strstr(error.message, why) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, why);
}

static void refusals(void **unused)
{
    (void)unused;
    refused(TEXT("corotational", USUAL ", frame: fixed", ""), "cannot be fixed");
    refused(TEXT("corotational", USUAL,
                 "  - {name: tie, type: cable, body: bar, path: [[0, 0, 0]], pull_point: [-1, 0, 0], drive: force, "
                 "range: [0, 1]}\n"),
            "pulls from outside");
    refused(TEXT("corotational", USUAL,
                 "  - {name: push, type: force, body: bar, group: xmax, direction: [1, 0, 0], drive: force, range: [0, "
                 "1]}\n"),
            "pulls from outside");
    refused(TEXT("corotational", USUAL ", frame: free",
                 "  - {name: end, type: translation, body: bar, group: xmax, direction: [0, 0, 1], drive: "
                 "displacement, range: [0, 1 mm]}\n"),
            "something holds it");
    refused(TEXT("stvk", "kind: stvk, modes: 4, frame: translation", ""), "carried by a free frame");
    refused(TEXT("corotational", "samples: greedy, count: 3", ""), "judged by equilibria of the reduced body");
}

static int forget(void **unused)
{
    (void)unused;
    unlink(OUT);
    unlink(SCENE);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits),   cmocka_unit_test(supports_bear_nothing),
        cmocka_unit_test(seats),    cmocka_unit_test(walks),
        cmocka_unit_test(cables),   cmocka_unit_test(cavity),
        cmocka_unit_test(resumes),  cmocka_unit_test(vibrations),
        cmocka_unit_test(refusals), cmocka_unit_test(vibrations_beside),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
