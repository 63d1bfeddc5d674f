// SPDX-License-Identifier: Apache-2.0
// What the offline stage may be asked for beside its usual way: samples where the model is worst, vibration modes, and
// other tolerances from work that is kept.
#define SCENE "test_reduce_choices.yaml"
#define OUT   "test_reduce_choices.h5"
#include "reduce_job.h"

// Cables pull at once, and nothing damps what comes of it. R: as above.
#define TEXT_DROP(R)                                                                                                   \
    "tendril: 1\n"                                                                                                     \
    "time_step: 2 ms\n"                                                                                                \
    "duration: 0.3 s\n"                                                                                                \
    "integrator: {method: midpoint}\n"                                                                                 \
    "bodies:\n"                                                                                                        \
    "  - name: arm\n"                                                                                                  \
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [10, 2, 2]}\n"                                             \
    "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n"                                 \
    "    fixed: [{group: xmin}]\n"                                                                                     \
    "actuators:\n"                                                                                                     \
    "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.02], [0, 0.01, 0.02]], drive: force,\n"             \
    "     range: [0, 0.5 N]}\n"                                                                                        \
    "  - {name: side, type: cable, body: arm, path: [[0.09, 0.02, 0.01], [0, 0.02, 0.01]], drive: force,\n"            \
    "     range: [0, 0.5 N]}\n"                                                                                        \
    "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n"                                                     \
    "motion: {keyframes: [{t: 0, top: 0.3 N, side: 0.1 N}]}\n"                                                         \
    "reduction: {" R "}\n"                                                                                             \
    "validation: {random: {steps: 12, moves: 4, seed: 2}}\n"

// Pulled at once and without damping, an arm moves as no equilibrium does: with vibration modes beside
// those of the snapshots the reduced model follows better. They are in the file, and trained: no step is warned of for
// leaving the ranges of equilibria.
static void test_drop(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    double off[3];
    static const char *const reductions[] = {TEXT_DROP(USUAL), TEXT_DROP(USUAL ", modes: 8"),
                                             TEXT_DROP("basis: modes, modes: 6, ecsw_tolerance: 1e-3")};
    for (int i = 0; i < 3; i++)
    {
        write_scene(reductions[i]);
        assert_ok(reduce(0, true, &report, &error), error);
        assert_int_equal(report.vibration_modes, i == 0 ? 0 : i == 1 ? 8 : 6);
        assert_true(report.ecsw_error <= 1e-3 && report.rid_elements < 240);
        off[i] = worst_on_the_way();
        print_message("%d modes, %lld elements, held out %g, off %g\n", report.modes, (long long)report.rid_elements,
                      report.held_out_error, off[i]);
    }
    assert_true(off[1] < 0.5 * off[0]);
}

// Vibrations of training go as far as was asked for: the first mode by the amplitude, the others by less, as their
// stiffness is higher. Of 24 random states one in each direction comes near; columns that mix the two bendings of a
// square arm go further by up to sqrt(2).
static void test_vibrations_reach_their_amplitude(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    tdRom rom = {0};
    write_scene(TEXT_DROP("basis: modes, modes: 6, derivatives: 0, columns: 6, amplitude: 4 mm, ecsw_tolerance: 1e-3"));
    assert_ok(reduce(0, true, &report, &error), error);
    assert_ok(td_rom_read(OUT, &rom, &error), error);
    assert_int_equal(rom.r, 6);
    double first = 0; // amplitude of the first column by which its tip moves by 4 mm
    for (int64_t i = 0; i < 3 * rom.n_nodes; i += 3)
    {
        const double *u = rom.phi + i * rom.r;
        first = fmax(first, sqrt(u[0] * u[0] + u[rom.r] * u[rom.r] + u[2 * rom.r] * u[2 * rom.r]));
    }
    first = 4e-3 / first;
    for (int j = 0; j < rom.r; j++)
    {
        double most = first * rom.lambda[0] / rom.lambda[j];
        // To one side nearly so far, to the other at least half as far: random numbers are few, and how they fall upon
        // two modes of one frequency is a matter of rounding.
        double near = fmin(-rom.low[j], rom.high[j]), far = fmax(-rom.low[j], rom.high[j]);
        assert_true(near > 0.5 * most && far > 0.8 * most && far < 1.5 * most);
    }
    td_rom_free(&rom);
}

#define BY(tau, norm) "samples: grid, levels: 4, pod_tolerance: 1e-4, ecsw_tolerance: " tau ", ecsw_norm: " norm

// Forces that count by their energy: fewer elements for a smaller error. The same content for any number of threads,
// and when it was killed on the way; blocks of forces that were kept are those of one norm.
static void test_norm(void **unused)
{
    (void)unused;
    static const char *const texts[] = {TEXT("100 kPa", BY("0.02", "forces")), TEXT("100 kPa", BY("0.002", "forces")),
                                        TEXT("100 kPa", BY("0.005", "energy"))};
    tdReduceReport report[3], again;
    tdError error;
    for (int i = 0; i < 3; i++)
    {
        write_scene(texts[i]);
        assert_ok(reduce(1, true, &report[i], &error), error);
        print_message("%d modes, %lld elements, held out %.4f\n", report[i].modes, (long long)report[i].rid_elements,
                      report[i].held_out_error);
        assert_true(report[i].ecsw_error <= (i == 0 ? 0.02 : i == 1 ? 0.002 : 0.005));
    }
    assert_ok(reduce(3, true, &again, &error), error);
    assert_true(again.content == report[2].content);
    reduce_and_die(TD_REDUCE_ECSW, 5);
    write_scene(texts[0]);
    assert_ok(reduce(1, false, &again, &error), error);
    assert_true(again.content == report[0].content);
    assert_true(report[2].rid_elements < report[1].rid_elements);
    assert_true(report[2].held_out_error < report[0].held_out_error);
}

#define GREEDY "samples: greedy, candidates: 20, greedy_tolerance: 0.02, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3"

// Places where the reduced model is worst, instead of all corners: fewer snapshots, and no larger error elsewhere.
static void test_greedy(void **unused)
{
    (void)unused;
    tdReduceReport corners, report;
    tdError error;
    write_scene(TEXT("100 kPa", "samples: corners, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3"));
    assert_ok(reduce(0, true, &corners, &error), error);
    write_scene(TEXT("100 kPa", GREEDY));
    assert_ok(reduce(1, true, &report, &error), error);
    print_message("corners: %lld snapshots, off by %g; greedy: %lld, %g, estimated %g after %lld places\n",
                  (long long)corners.snapshots, corners.held_out_error, (long long)report.snapshots,
                  report.held_out_error, report.greedy_error, (long long)report.greedy_added);
    assert_true(report.snapshots < corners.snapshots);
    assert_true(report.held_out_error <= corners.held_out_error);
    assert_true(report.greedy_added > 0 && report.greedy_error <= 0.02);
    assert_int_equal(report.snapshots, 1 + 3 * (2 + report.greedy_added));

    // The same places after a kill, and with more threads.
    uint64_t content = report.content;
    static const killAt places[] = {{TD_REDUCE_SNAPSHOTS, 5}, {TD_REDUCE_SEARCH, 9}, {TD_REDUCE_SEARCH, 40},
                                    {TD_REDUCE_POD, 2},       {TD_REDUCE_ECSW, 3},   {TD_REDUCE_CHECK, 7}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    {
        reduce_and_die(places[i].phase, places[i].done);
        if (i % 2 == 0) // else it dies again later, without an end in between
            continue;
        assert_ok(reduce(2, false, &report, &error), error);
        assert_true(report.resumed && report.content == content);
    }
    // Few places are a warning, and more go on from there.
    tdReduceTask task = {
        .scene = SCENE, .out = OUT, .settings = td_default_settings(), .restart = true, .accept = true, .keep = true};
    write_scene(TEXT("100 kPa", GREEDY ", count: 1"));
    assert_ok(td_reduce(&task, &report, &error), error);
    assert_int_equal(report.greedy_added, 1);
    assert_true(report.greedy_error > 0.02 && report.content != content);
    write_scene(TEXT("100 kPa", GREEDY));
    assert_ok(reduce(0, false, &report, &error), error);
    assert_int_equal(report.reused[TD_REDUCE_SEARCH], 1);
    assert_true(report.content == content);
}

// As a whole, from nothing, in a folder of its own.
static uint64_t content_alone(tdReduceTask task)
{
    tdReduceReport report;
    tdError error = {0};
    task.out = "test_reduce_choices_alone.h5";
    task.work = NULL;
    task.restart = true;
    task.keep = false;
    assert_ok(td_reduce(&task, &report, &error), error);
    unlink(task.out);
    return report.content;
}

// Other tolerances and another validation take from the work what does not depend on them, and what comes out is what
// would have come from nothing.
static void test_reuse(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error = {0};
    write_scene(scene);
    tdReduceTask task = {
        .scene = SCENE, .out = OUT, .settings = td_default_settings(), .restart = true, .accept = true};
    task.work = "test_reduce_choices_work";
    assert_ok(td_reduce(&task, &report, &error), error);
    uint64_t usual = report.content;
    task.restart = false;
    int64_t all = report.snapshots + report.weight_snapshots;
    static const struct
    {
        double pod, ecsw;
        int modes;
        bool basis, training, domain; // that are found
    } cases[] = {{0, 0, 0, true, true, true},     {0, 0.05, 0, true, true, false},
                 {0, 0, 3, false, false, false},  {0, 0.01, 150, false, true, false}, // the same modes come out
                 {0, 0, 100, false, true, false}, {1e-2, 0, 0, false, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        task.pod_tolerance = cases[i].pod;
        task.ecsw_tolerance = cases[i].ecsw;
        task.max_modes = cases[i].modes;
        assert_ok(td_reduce(&task, &report, &error), error);
        assert_true(report.resumed && exists(task.work));
        assert_int_equal(report.reused[TD_REDUCE_SNAPSHOTS], all);
        assert_int_equal(report.reused[TD_REDUCE_POD], cases[i].basis);
        assert_int_equal(report.reused[TD_REDUCE_TRAINING], cases[i].training && !cases[i].domain ? 240 : 0);
        assert_int_equal(report.reused[TD_REDUCE_ECSW], cases[i].domain ? 2 : 0);
        assert_int_equal(report.reused[TD_REDUCE_CHECK], 12);
        if (i % 2 == 1) // each takes a while
            assert_true(report.content == content_alone(task));
        assert_true((report.content == usual) == (i == 0 || i == 4));
    }
    assert_true(report.modes < 8 && report.pod_error > 1e-4);

    // Another validation: only its places are visited. Another material: nothing is worth anything.
    task.pod_tolerance = 0;
    write_scene(TEXT_HELD("100 kPa", USUAL, "steps: 12, moves: 4, seed: 3"));
    assert_ok(td_reduce(&task, &report, &error), error);
    assert_int_equal(report.reused[TD_REDUCE_SNAPSHOTS], all);
    assert_int_equal(report.reused[TD_REDUCE_CHECK], 0);
    assert_true(report.content == content_alone(task));
    write_scene(TEXT("90 kPa", USUAL));
    expect(td_reduce(&task, &report, &error), &error, "was left by another job: it has 'scene ");
    assert_int_equal(system("rm -r test_reduce_choices_work"), 0);
}

// Cables of 90 mm that are to be drawn in by 150 mm: training fails, and names ranges within which it does not.
static void ranges_that_work(void **unused)
{
    (void)unused;
    static char text[4000];
    tdReduceReport report;
    tdError error = {0};
    double share = 0, most = 0.15;
    for (int second = 0; second < 2; second++)
    {
        char range[40], *at = NULL;
        snprintf(text, sizeof text, "%s", TEXT("100 kPa", "samples: corners, steps_between: 2"));
        snprintf(range, sizeof range, "range: [0,%6.3f]", floor(1e3 * most) / 1e3);
        while ((at = strstr(text, "range: [0, 10 mm]")) != NULL)
            memcpy(at, range, strlen("range: [0, 10 mm]"));
        write_scene(text);
        tdStatus status = reduce(2, true, &report, &error);
        if (second)
        {
            assert_int_equal(report.failures, 0);
            continue;
        }
        assert_int_equal(status, TD_ERROR_NUMERIC);
        print_message("%s\n", error.message);
        const char *found = strstr(error.message, "within "), *top = strstr(error.message, "units top up to ");
        assert_non_null(found);
        assert_non_null(top);
        share = atof(found + strlen("within "));
        most = atof(top + strlen("units top up to "));
        assert_near(most, 0.0015 * share, 1e-3);
    }
}

// A layer that hardly stretches under a soft arm: what both bear is many times their sum, and with the tolerance of
// forces that serves other bodies the model is far off. Tolerances that are found, and places where they are needed,
// hold the error that was asked for; and the same comes out after kills, with any number of threads.
static void error_asked_for_holds(void **unused)
{
    (void)unused;
    static char text[4000];
    static const char layer[] = "    materials: [{group: zmin, element: membrane, thickness: 0.2 mm, law: corotational,"
                                " young: 500 MPa, poisson: 0.3, density: 1000}]\n";
    static const char *const reductions[2] = {
        TEXT("100 kPa", "samples: corners, pod_tolerance: 1e-3, ecsw_tolerance: 0.05"), TEXT("100 kPa", "error: 0.02")};
    tdReduceReport report, again;
    tdError error = {0};
    for (int i = 0; i < 2; i++)
    {
        const char *at = strstr(reductions[i], "    damping:");
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - reductions[i]), reductions[i], layer, at);
        write_scene(text);
        assert_ok(reduce(0, true, &report, &error), error);
        print_message("%d rounds, %lld snapshots, %d modes, %lld elements, held out %g, moving %g\n", report.rounds,
                      (long long)report.snapshots, report.modes, (long long)report.rid_elements, report.held_out_error,
                      report.motion_error);
        assert_int_equal(report.reused[TD_REDUCE_CHECK], 0);
        assert_true(i == 0 ? report.rounds == 1 && report.held_out_error > 0.05
                           : report.rounds > 1 && report.held_out_error <= 0.02 && report.motion_error < 0.05);
    }
    static const killAt places[] = {{TD_REDUCE_SNAPSHOTS, 7}, {TD_REDUCE_CHECK, 30}, {TD_REDUCE_ECSW, 9}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        reduce_and_die(places[i].phase, places[i].done);
    assert_ok(reduce(2, false, &again, &error), error);
    assert_true(again.resumed && again.content == report.content && again.rounds == report.rounds);
    assert_int_equal(again.reused[TD_REDUCE_SNAPSHOTS], again.snapshots + again.weight_snapshots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drop),       cmocka_unit_test(test_vibrations_reach_their_amplitude),
        cmocka_unit_test(test_norm),       cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_reuse),      cmocka_unit_test(error_asked_for_holds),
        cmocka_unit_test(ranges_that_work)};
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
