// SPDX-License-Identifier: Apache-2.0
// A model that is far off says why, and names ranges within which it is not: a finger whose two cables may be pulled
// until it snaps through, which equilibria tell nothing of. And the guess of a shape from which the static walk sets
// out.
#include "test.h"

#include "base/file.h"
#include "body/soft.h"
#include "reduce/offline/job.h"
#include "reduce/offline/walker.h"
#include "reduce/rom.h"

#include <unistd.h>

#define SCENE "test_causes.yaml"
#define OUT   "test_causes.h5"

static void write_finger(double share)
{
    char text[2000];
    tdError error = {0};
    int n = snprintf(
        text, sizeof text,
        "tendril: 1\nunits: {length: mm, mass: kg, time: s}\ngravity: [0, 0, -9.81 m/s^2]\ntime_step: 10 ms\n"
        "duration: 2 s\nbodies:\n"
        "  - name: robot\n    mesh: {box: [[0, 0, 0], [67.05, 19.53, 14.35]], cells: [10, 2, 2]}\n"
        "    material: {law: neo_hookean, young: 808 kPa, poisson: 0.37, density: 1.20 g/cm^3}\n"
        "    damping: {mass: 2.1 1/s, stiffness: 5.6 ms}\n    fixed: [{group: xmin}]\nactuators:\n"
        "  - {name: below, type: cable, body: robot, drive: displacement, range: [0, %.4g],\n"
        "     path: [[63.7, 9.763, 2.152], [47.77, 9.763, 2.152], [31.85, 9.763, 2.152], [15.92, 9.763, 2.152], "
        "[0, 9.763, 2.152]]}\n"
        "  - {name: above, type: cable, body: robot, drive: displacement, range: [0, %.4g],\n"
        "     path: [[59.79, 9.763, 12.19], [44.84, 9.763, 12.19], [29.9, 9.763, 12.19], [14.95, 9.763, 12.19], "
        "[0, 9.763, 12.19]]}\n",
        39.95 * share, 28.56 * share);
    assert_true(n > 0 && (size_t)n < sizeof text);
    assert_ok(td_file_write(SCENE, text, (size_t)n, &error), error);
}

static tdStatus reduce(bool accept, tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {
        .scene = SCENE, .out = OUT, .restart = true, .accept = accept, .settings = td_default_settings()};
    task.settings.log = NULL;
    *error = (tdError){0};
    return td_reduce(&task, report, error);
}

static int warnings;

static void count_warnings(void *user, tdLogLevel level, const char *message)
{
    (void)user;
    warnings += level == TD_LOG_WARNING && strstr(message, "was off by") != NULL;
}

// At rest it is as good as any, along a motion it is not: refused with cause and ranges, which do. Accepted, it says so
// whenever it is loaded.
static void snaps_through(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    write_finger(1);
    assert_int_equal(reduce(false, &report, &error), TD_ERROR_NUMERIC);
    assert_true(access(OUT, F_OK) != 0);
    assert_true(report.held_out_error < 0.05 && report.motion_error > TD_REDUCE_ACCEPTED);
    assert_non_null(strstr(error.message, "along its validation motion"));
    assert_non_null(strstr(report.cause, "snaps through"));
    assert_non_null(strstr(error.message, "snaps through"));
    const char *within = strstr(report.advice, "within ");
    assert_non_null(within);
    double share = atof(within + strlen("within ")) / 100;
    print_message("%s; %s\n", report.cause, report.advice);
    assert_true(share > 0.3 && share < 1);

    assert_ok(reduce(true, &report, &error), error);
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    settings.rom = OUT;
    settings.log = count_warnings;
    assert_ok(td_model_load(SCENE, &settings, &model, &error), error);
    assert_int_equal(warnings, 1);
    td_model_free(model);
    unlink(OUT);

    write_finger(share);
    assert_ok(reduce(false, &report, &error), error);
    print_message("within %.0f %%: %.2g at rest, %.2g moving\n", 100 * share, report.held_out_error,
                  report.motion_error);
    assert_true(report.held_out_error < 0.05 && report.motion_error < 0.05);
    assert_int_equal(report.failures, 0);
    assert_int_equal(report.cause[0], '\0');
    unlink(OUT);
}

/// Full order, static and moving, and a walk on it.
typedef struct Walk
{
    tdModel *at_rest, *moving;
    tdWalker *walker;
} Walk;

static void open_walk(Walk *walk)
{
    tdSettings settings = td_default_settings();
    tdError error = {0};
    settings.log = NULL;
    assert_ok(td_model_load_edited(SCENE, &settings, td_walk_edit_static, NULL, &walk->at_rest, &error), error);
    assert_ok(td_model_load_edited(SCENE, &settings, td_walk_edit_moving, NULL, &walk->moving, &error), error);
    const tdWalk way = {walk->at_rest, walk->moving, false};
    assert_ok(td_walker_create(&way, &settings, &walk->walker, &error), error);
}

static void close_walk(Walk *walk)
{
    td_walker_free(walk->walker);
    td_model_free(walk->at_rest);
    td_model_free(walk->moving);
}

// Iterations that the visit took.
static int64_t visit(Walk *walk, const double *values)
{
    bool reached = false;
    tdError error = {0};
    int64_t before = td_walker_iterations(walk->walker);
    assert_ok(td_walker_visit(walk->walker, values, 1, &reached, &error), error);
    assert_true(reached);
    return td_walker_iterations(walk->walker) - before;
}

static double apart(int64_t n, const double *a, const double *b)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

// From the equilibrium itself there is next to nothing to do, from a bad guess the way is the usual one, and the
// equilibrium is the same.
static void guesses(void **unused)
{
    (void)unused;
    static const double first[] = {2e-3, 1e-3}, second[] = {6e-3, 2e-3};
    Walk plain, good, bad;
    write_finger(0.5);
    open_walk(&plain);
    open_walk(&good);
    open_walk(&bad);
    int64_t n = plain.at_rest->bodies[0].count, usual = 0;
    double *loose = td_take((size_t)n, sizeof *loose), *wild = td_take((size_t)n, sizeof *wild);
    assert_non_null(loose);
    assert_non_null(wild);
    const double *rest = plain.at_rest->bodies[0].soft->rest;
    for (int64_t i = 0; i < n; i++)
    {
        loose[i] = plain.at_rest->bodies[0].soft->held[i] ? 0 : 1;
        wild[i] = rest[i] * (i % 3 == 0 ? -1 : 1); // inside out
    }
    visit(&plain, first);
    usual = visit(&plain, second);
    const double *found = td_walker_nodes(plain.walker, 0);
    visit(&good, first);
    td_walker_guess(good.walker, 0, found, loose);
    int64_t few = visit(&good, second);
    visit(&bad, first);
    td_walker_guess(bad.walker, 0, wild, loose);
    int64_t more = visit(&bad, second);
    print_message("%lld iterations, %lld from the equilibrium, %lld from a bad guess\n", (long long)usual,
                  (long long)few, (long long)more);
    assert_true(few < usual && few <= 3);
    assert_true(apart(n, found, td_walker_nodes(good.walker, 0)) < 1e-7);
    assert_true(apart(n, found, td_walker_nodes(bad.walker, 0)) < 1e-7);
    // It held for one visit.
    assert_int_equal(visit(&good, first), visit(&plain, first));
    free(loose);
    free(wild);
    close_walk(&plain);
    close_walk(&good);
    close_walk(&bad);
}

static int clean(void **unused)
{
    (void)unused;
    unlink(SCENE);
    unlink(OUT);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(snaps_through), cmocka_unit_test(guesses)};
    return cmocka_run_group_tests(tests, NULL, clean);
}
