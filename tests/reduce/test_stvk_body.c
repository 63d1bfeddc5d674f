// SPDX-License-Identifier: Apache-2.0
// Reduced St. Venant-Kirchhoff bodies in the step: against full order, energy, indefinite tangents, threads,
// checkpoints, files and what is refused.
#include "organ.h"
#include "reduced.h"

#include "reduce/offline/job.h"
#include "reduce/reduced_body.h"

#include <unistd.h>

// A block that bends by a third of its length under a force at a point, with one end that moves and gravity.
#define BLOCK                                                                                                          \
    "tendril: 1\ntime_step: 2 ms\nsteps: 9\ngravity: [0, 0, -9.81]\nintegrator: {%s}\nbodies:\n  - name: block\n"      \
    "    mesh: {box: [[0, 0, 0], [0.06, 0.02, 0.02]], cells: [3, 1, 1]}\n    fixed: [{group: xmin, axes: xy}]\n"       \
    "    prescribed: [{name: lift, group: xmin, axes: z, displacement: [0, 0, 0.01]}]\n%s"                             \
    "    material: {law: stvk, young: 60 kPa, poisson: 0.3, density: 1000}\n"                                          \
    "actuators: [{name: push, type: force, body: block, point: [0.06, 0.01, 0.01], direction: [0, 0.6, 0.8], drive: "  \
    "force, range: [-1, 1]}]\n"                                                                                        \
    "motion: {keyframes: [{t: 0, lift: 0, push: 0}, {t: 0.1, lift: 1, push: 0.7}, {t: 0.3, lift: 1, push: -0.5}, "     \
    "{t: 1, lift: 0, push: 0.3}, {t: 2, lift: 0.5, push: 0}]}\n"

static void block_text(char text[4000], const char *integrator, const char *damping)
{
    snprintf(text, 4000, BLOCK, integrator, damping);
}

static double farthest(const tdModel *a, const tdState *x, const tdModel *b, const tdState *y)
{
    const double *p = a->bodies[0].ops->nodes(a, &a->bodies[0], x), *q = b->bodies[0].ops->nodes(b, &b->bodies[0], y);
    double most = 0;
    for (int64_t i = 0; i < 3 * (int64_t)a->bodies[0].nodes; i++)
        most = fmax(most, fabs(p[i] - q[i]));
    return most;
}

// With all modes the motion is that of full order over 1,000 steps: what is left is the tolerance of Newton and
// rounding, which a motion of some twenty periods lets grow little. Stiffness damping is by another matrix at full
// order (docs/theory/damping.md), the same at rest.
static void full_basis(void **unused)
{
    (void)unused;
    static const char *const integrators[] = {"method: newmark, newton: true, tolerance: 1e-12", "method: newmark",
                                              "method: newmark, beta: 0.3025, gamma: 0.6", "method: backward_euler",
                                              "method: newmark"};
    for (int k = 0; k < 5; k++)
    {
        char text[4000];
        double off = 0, moved = 0;
        block_text(text, integrators[k],
                   k == 1   ? "    damping: {mass: 0.3}\n"
                   : k == 4 ? "    damping: {mass: 0.3, stiffness: 1 ms}\n"
                            : "");
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 0, 1);
        assert_int_equal(rom.n_u, 1);
        rom_polynomials(full, &rom);
        tdModel *model = rom_model(text, &rom, false);
        td_arena_free(&rom.arena);
        tdState *one = scene_state(full), *two = scene_state(model);
        for (int s = 0; s < 1000; s++)
        {
            scene_steps(full, one, 1);
            scene_steps(model, two, 1);
            off = fmax(off, farthest(full, one, model, two));
            for (int64_t i = 0; i < full->coords; i++)
                moved = fmax(moved, fabs(one->q[i] - scene_soft(full)->rest[i]));
            assert_int_equal(td_state_report(one)->projected_elements, 0);
        }
        assert_true(moved > 0.02);
        assert_near(off, 0, k == 4 ? 0.01 * moved : 1e-8 * 0.06);
        scene_free(full, one);
        scene_free(model, two);
    }
}

// Polynomials and sums over all elements are the same function.
static void as_whole(void **unused)
{
    (void)unused;
    char text[4000];
    block_text(text, "method: newmark, newton: true, tolerance: 1e-12", "    damping: {mass: 0.3}\n");
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 9, 1);
    rom_polynomials(full, &rom);
    tdModel *model = rom_model(text, &rom, false), *whole = rom_model(text, &rom, true);
    td_arena_free(&rom.arena);
    tdState *one = scene_state(model), *two = scene_state(whole);
    scene_steps(model, one, 300);
    scene_steps(whole, two, 300);
    assert_near(farthest(model, one, whole, two), 0, 1e-9 * 0.06);
    double kinetic[2], elastic[2];
    td_state_energy(model, one, &kinetic[0], &elastic[0]);
    td_state_energy(whole, two, &kinetic[1], &elastic[1]);
    assert_near(kinetic[0], kinetic[1], 1e-8 * (kinetic[0] + elastic[0]));
    assert_near(elastic[0], elastic[1], 1e-8 * (kinetic[0] + elastic[0]));
    td_model_free(full);
    scene_free(model, one);
    scene_free(whole, two);
}

// Newmark's trapezoidal rule keeps the energy of a linear body; without Q and S this one is linear. Rounding of 10,000
// steps adds up to some 1e-11.
static void linear_energy(void **unused)
{
    (void)unused;
    char text[2000];
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 2 ms\nsteps: 9\nintegrator: {method: newmark}\nbodies:\n  - name: block\n"
             "    mesh: {box: [[0, 0, 0], [0.06, 0.02, 0.02]], cells: [3, 1, 1]}\n    fixed: [{group: xmin}]\n"
             "    velocity: [0.1, 0.2, 0.3]\n"
             "    material: {law: stvk, young: 60 kPa, poisson: 0.3, density: 1000}\n");
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 12, 1);
    rom_polynomials(full, &rom);
    memset(rom.Q, 0, (size_t)td_stvk_triples(12) * sizeof(double));
    memset(rom.S, 0, (size_t)td_stvk_quadruples(12) * sizeof(double));
    tdModel *model = rom_model(text, &rom, false);
    td_arena_free(&rom.arena);
    tdState *state = scene_state(model);
    double kinetic, elastic, first, most_elastic = 0;
    td_state_energy(model, state, &kinetic, &elastic);
    first = kinetic + elastic;
    assert_true(first > 0);
    for (int s = 0; s < 10000; s++)
    {
        scene_steps(model, state, 1);
        if (s % 10 != 0)
            continue;
        td_state_energy(model, state, &kinetic, &elastic);
        most_elastic = fmax(most_elastic, elastic);
        assert_near(kinetic + elastic, first, 1e-6 * first);
    }
    assert_true(most_elastic > 0.3 * first);
    td_model_free(full);
    scene_free(model, state);
}

// A matrix with known eigenvalues: those below zero are gone, the others untouched. And one that is definite stays as
// it is, to the bit.
static void projection(void **unused)
{
    (void)unused;
    enum
    {
        R = 11,
        STRIDE = 12
    };
    tdSoft soft = {.n_nodes = 4};
    bool held[12] = {true};
    soft.held = held;
    soft.n_held = 1;
    tdRom rom = {0};
    rom_modes(&soft, &rom, R, 3); // orthonormal columns on eleven coordinates
    double K[STRIDE * STRIDE] = {0}, expected[STRIDE * STRIDE] = {0}, L[STRIDE * STRIDE], work[2 * R * R];
    for (int k = 0; k < R; k++)
        for (int i = 0; i < R; i++)
            for (int j = 0; j < R; j++)
            {
                double value = k == 3 ? 0 : 5 - k, part = rom.phi[(i + 1) * R + k] * rom.phi[(j + 1) * R + k];
                K[i * STRIDE + j] += value * part;
                expected[i * STRIDE + j] += fmax(value, 0) * part;
            }
    tdReduced reduced = {.r = R, .stride = STRIDE};
    tdReducedState mine = {.L = L, .polynomial = work};
    for (int isa = TD_ISA_PORTABLE; isa <= (int)td_isa_pick(false); isa++)
    {
        double copy[STRIDE * STRIDE], again[STRIDE * STRIDE];
        memcpy(copy, K, sizeof K);
        assert_true(td_reduced_stvk_project(&reduced, &mine, (tdIsa)isa, copy));
        for (int i = 0; i < STRIDE * STRIDE; i++)
            assert_near(copy[i], expected[i], 1e-13);
        for (int i = 0; i < R; i++)
            copy[i * STRIDE + i] += 1e-3;
        memcpy(again, copy, sizeof copy);
        assert_false(td_reduced_stvk_project(&reduced, &mine, (tdIsa)isa, copy));
        assert_memory_equal(again, copy, sizeof copy);
    }
    td_arena_free(&rom.arena);
}

// A block that is pressed to a third of its length: the law has no stiffness left there. Steps go on, and say so.
static void compressed(void **unused)
{
    (void)unused;
    char text[2000];
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 5 ms\nsteps: 9\nbodies:\n  - name: block\n"
             "    mesh: {box: [[0, 0, 0], [0.06, 0.02, 0.02]], cells: [3, 1, 1]}\n    fixed: [{group: xmin}]\n"
             "    prescribed: [{name: press, group: xmax, displacement: [-0.04, 0, 0]}]\n"
             "    damping: {stiffness: 5 ms}\n"
             "    material: {law: stvk, young: 600 kPa, poisson: 0.3, density: 1000}\n"
             "motion: {keyframes: [{t: 0, press: 0}, {t: 0.2, press: 1}]}\n");
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 0, 1);
    rom_polynomials(full, &rom);
    tdModel *model = rom_model(text, &rom, false);
    td_arena_free(&rom.arena);
    tdState *state = scene_state(model);
    int projected = 0;
    for (int s = 0; s < 80; s++)
    {
        scene_steps(model, state, 1);
        projected += td_state_report(state)->projected_elements;
    }
    assert_true(projected > 0);
    td_model_free(full);
    scene_free(model, state);
}

static void same_bits(void **unused)
{
    (void)unused;
    static const char *const integrators[] = {"method: newmark", "method: newmark, newton: true", "method: static"};
    char path[64];
    snprintf(path, sizeof path, "/tmp/tendril_stvk_%d.ckp", (int)getpid());
    for (int k = 0; k < 3; k++)
    {
        char text[4000];
        tdError error = {0};
        block_text(text, integrators[k], "    damping: {mass: 0.3, stiffness: 1 ms}\n");
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 11, 1);
        rom_polynomials(full, &rom);
        tdModel *model = rom_model(text, &rom, false), *other = rom_model(text, &rom, true);
        td_arena_free(&rom.arena);
        tdState *one = scene_state_with(model, 1, false), *two = scene_state_with(model, 2, false);
        tdState *stranger = scene_state(other), *slow = scene_state_with(model, 1, true);
        scene_steps(model, one, 30);
        assert_ok(td_state_save(model, one, path, &error), error);
        scene_steps(model, one, 30);
        scene_steps(model, two, 60);
        scene_steps(model, slow, 60);
        assert_near(farthest(model, one, model, slow), 0, 1e-8 * 0.06);
        size_t bytes = (size_t)model->coords * sizeof(double);
        assert_memory_equal(one->q, two->q, bytes);
        assert_memory_equal(one->v, two->v, bytes);
        assert_memory_equal(one->reaction, two->reaction, bytes);
        assert_ok(td_state_load(model, two, path, &error), error);
        scene_steps(model, two, 30);
        assert_memory_equal(one->q, two->q, bytes);
        assert_memory_equal(one->reaction, two->reaction, bytes);
        assert_int_not_equal(td_state_load(other, stranger, path, &error), TD_OK);
        td_state_free(two);
        td_state_free(slow);
        td_model_free(full);
        scene_free(other, stranger);
        scene_free(model, one);
    }
    unlink(path);
}

// ---------------------------------------------------------------- files

#define BEAM                                                                                                           \
    "tendril: 1\ntime_step: 5 ms\nsteps: 9\nbodies:\n  - name: beam\n"                                                 \
    "    mesh: {box: [[0, 0, 0], [0.2, 0.02, 0.02]], cells: [10, 1, 1]}\n    fixed: [{group: xmin}]\n"                 \
    "    material: {law: %s, young: 450 kPa, poisson: 0.3, density: 1000}\n"                                           \
    "actuators: [{name: push, type: force, body: beam, point: [0.2, 0.01, 0.01], direction: [0, 0, 1], drive: force, " \
    "range: [0, 0.02]}]\n"                                                                                             \
    "reduction: {%s}\n"

static tdStatus reduce(const char *law, const char *reduction, int threads, const char *out, tdReduceReport *report,
                       tdError *error)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/tendril_stvk_%d.yaml", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, BEAM, law, reduction);
    fclose(file);
    tdReduceTask task = {.scene = path, .out = out, .settings = td_default_settings()};
    task.settings.threads = threads;
    tdStatus status = td_reduce(&task, report, error);
    unlink(path);
    return status;
}

static void from_scene(void **unused)
{
    (void)unused;
    static const char *const reductions[] = {"kind: stvk", "kind: stvk, modes: 5, derivatives: 4, columns: 12",
                                             "kind: stvk, basis: snapshots, pod_tolerance: 1e-8"};
    char out[64], text[2000];
    tdError error = {0};
    snprintf(out, sizeof out, "/tmp/tendril_stvk_%d.h5", (int)getpid());
    for (int k = 0; k < 3; k++)
    {
        tdReduceReport report;
        uint64_t content = 0;
        for (int threads = 1; threads <= 2; threads++)
        {
            assert_ok(reduce("stvk", reductions[k], threads, out, &report, &error), error);
            assert_true(threads == 1 || report.content == content);
            content = report.content;
        }
        assert_string_equal(report.kind, "stvk");
        assert_true(report.polynomial_bytes > 0);
        assert_true(k == 2 ? report.vibration_modes == 0 : report.modes == (k == 0 ? 20 : 12));
        assert_true(report.held_out_error < 0.02);
        tdSettings settings = td_default_settings();
        settings.rom = out;
        tdModel *model = NULL;
        snprintf(text, sizeof text, BEAM, "stvk", reductions[k]);
        assert_ok(td_model_parse(text, strlen(text), "scene.yaml", NULL, &settings, &model, &error), error);
        assert_true(td_reduced_polynomial(model->bodies[0].data));
        tdState *state = scene_state(model);
        scene_steps(model, state, 20);
        scene_free(model, state);
    }
    unlink(out);
}

static void refused(const char *law, const char *reduction, int line, const char *because)
{
    tdReduceReport report;
    tdError error = {0};
    char out[64];
    snprintf(out, sizeof out, "/tmp/tendril_stvk_none_%d.h5", (int)getpid());
    assert_int_equal(reduce(law, reduction, 1, out, &report, &error), TD_ERROR_INPUT);
    assert_int_equal(error.line, line);
    if (strstr(error.message, because) == NULL)
        fail_msg("expected '%s' in '%s'", because, error.message);
    assert_int_equal(access(out, F_OK), -1);
}

static void refusals(void **unused)
{
    (void)unused;
    refused("corotational", "kind: stvk", 8, "polynomials with the law 'stvk' alone");
    refused("stvk", "kind: stvk, modes: 30, columns: 80, memory: 16 MB", 10, "polynomials of 80 modes need 1");
    refused("stvk", "kind: stvk, basis: snapshots, max_modes: 100, memory: 20 MB", 10, "and 20 MB are allowed");
    refused("stvk", "kind: stvk, modes: 4, columns: 15", 10, "14 directions, fewer than 15");
    refused("stvk", "kind: stvk, modes: 4, derivatives: 5", 10, "no more than these");
    refused("stvk", "kind: stvk, samples: grid", 10, "used by basis snapshots only");
    refused("stvk", "kind: stvk, ecsw_tolerance: 0.1", 10, "used by kind domains only");
    refused("stvk", "kind: stvk, basis: snapshots, modes: 4", 10, "used by basis modes only");
    refused("stvk", "kind: stvk, basis: snapshots, columns: 4", 10, "used by basis modes only");
    refused("stvk", "derivatives: 4", 10, "used by basis modes only");
    // A file of polynomials that are not the body's
    char text[4000];
    block_text(text, "method: newmark", "");
    tdModel *full = scene_parse(text), *model = NULL;
    tdRom rom = rom_of(full, 6, 1);
    rom_polynomials(full, &rom);
    tdError error = {0};
    rom.S = NULL;
    assert_int_equal(td_model_parse_reduced(text, strlen(text), "scene.yaml", NULL, NULL, &rom, &model, &error),
                     TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "no polynomials"));
    td_arena_free(&rom.arena);
    td_model_free(full);
}

// An indefinite tangent becomes the nearest one that is not: of its eigenvalues those below zero become zero, also
// where modes do not act on each other, and whatever the unit.
static void tangents_are_projected(void **unused)
{
    (void)unused;
    static const double units[] = {1e-12, 1, 1e12};
    for (int u = 0; u < 3; u++)
    {
        // Eigenvalues 3 and -1 of the first two, 5 of the third.
        double K[12] = {1, 2, 0, 0, 2, 1, 0, 0, 0, 0, 5, 0}, L[12], scratch[18];
        const double right[12] = {1.5, 1.5, 0, 0, 1.5, 1.5, 0, 0, 0, 0, 5, 0};
        const tdReduced reduced = {.r = 3, .stride = 4};
        tdReducedState mine = {.L = L, .polynomial = scratch};
        for (int i = 0; i < 12; i++)
            K[i] *= units[u];
        assert_true(td_reduced_stvk_project(&reduced, &mine, TD_ISA_PORTABLE, K));
        for (int i = 0; i < 12; i++)
            assert_near(K[i], units[u] * right[i], 1e-12 * units[u]);
        // One that is definite stays as it is.
        double good[12] = {2, 1, 0, 0, 1, 2, 0, 0, 0, 0, 5, 0};
        assert_false(td_reduced_stvk_project(&reduced, &mine, TD_ISA_PORTABLE, good));
        assert_near(good[1], 1, 0);
    }
}

// ---------------------------------------------------------------- where something touches

#define ORGAN_CELLS "6, 4, 3"
#define ORGAN_ROM   "/tmp/tendril_test_organ.h5"

// Modes and residual flexibility together are the response of full order to a force at a node; and what an organ bears
// where it is poked, squeezed and pulled is that of full order, or there is a warning.
static void touched_as_full_order(void **unused)
{
    (void)unused;
    for (int law = 0; law < 2; law++)
    {
        organ_reduce(law, ORGAN_CELLS, ORGAN_ROM);
        for (int action = 0; action < ORGAN_ACTIONS; action++)
        {
            char text[4000];
            uint64_t seed = 3;
            organPlace place = organ_place(action, 0.0015, &seed);
            organResult result[3];
            for (int kind = 0; kind < 3; kind++)
            {
                organ_text(law, ORGAN_CELLS, &place, kind == 1 ? "    enrichment: false\n" : "", text, sizeof text);
                tdModel *model = organ_model(text, kind == 0 ? NULL : ORGAN_ROM);
                result[kind] = organ_run(model, &place);
                td_model_free(model);
            }
            double off = fabs(result[2].force / result[0].force - 1), modes = result[1].force / result[0].force - 1;
            print_message("%s, law %d: %.4f N, enriched %+.1f %%, modes alone %+.0f %% (told %.0f %%)\n",
                          organ_actions[action], law, result[0].force, 100 * (result[2].force / result[0].force - 1),
                          100 * modes, 100 * result[1].local);
            assert_true(off < 0.06);
            assert_true(modes > 0.1 && result[1].warned && result[1].local > 0.1); // modes alone are too stiff
            assert_false(result[2].warned);
            for (int c = 0; c < 3; c++) // dents are part of the picture
                assert_near(result[2].moved[c], result[0].moved[c], 0.1 * place.way);
        }
    }
    unlink(ORGAN_ROM);
}

// Poked, left and copied on the way: dents go, and a copy goes on with the same bits.
static void dents_come_and_go(void **unused)
{
    (void)unused;
    char text[4000];
    tdError error = {0};
    const organPlace place = {.action = ORGAN_POKE, .at = {0.01, 0, 0.03}, .along = {0, 0, -1}, .way = 0.002};
    organ_reduce(0, ORGAN_CELLS, ORGAN_ROM);
    organ_text(0, ORGAN_CELLS, &place, "", text, sizeof text);
    tdModel *model = organ_model(text, ORGAN_ROM);
    unlink(ORGAN_ROM);
    tdState *state = scene_state(model), *copy = scene_state(model);
    int input = td_model_find_input(model, "one.z"), node = organ_nearest(model, place.at);
    double deepest = 0;
    for (int s = 0; s < 100; s++)
    {
        double share = s < 30 ? s / 30.0 : s < 60 ? 1 : fmax(0, 1 - (s - 60) / 10.0);
        td_state_set_input(model, state, input, -0.0026 * share);
        td_state_set_input(model, copy, input, -0.0026 * share);
        if (s == 45)
            assert_ok(td_state_copy(model, copy, state, &error), error);
        scene_steps(model, state, 1);
        if (s >= 45)
        {
            scene_steps(model, copy, 1);
            assert_memory_equal(state->q, copy->q, (size_t)model->coords * sizeof(double));
        }
        double z = model->bodies[0].ops->nodes(model, &model->bodies[0], state)[3 * node + 2] - 0.03;
        deepest = fmin(deepest, z);
    }
    const double *now = model->bodies[0].ops->nodes(model, &model->bodies[0], state);
    assert_true(deepest < -0.001);
    assert_near(now[3 * node + 2], 0.03, 2e-5);
    assert_true(td_reduced_mine(&model->bodies[0], state)->dents->node[0] < 0);
    td_state_free(copy);
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tangents_are_projected),
        cmocka_unit_test(full_basis),
        cmocka_unit_test(as_whole),
        cmocka_unit_test(linear_energy),
        cmocka_unit_test(projection),
        cmocka_unit_test(compressed),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(from_scene),
        cmocka_unit_test(refusals),
        cmocka_unit_test(touched_as_full_order),
        cmocka_unit_test(dents_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
