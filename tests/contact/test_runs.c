// SPDX-License-Identifier: Apache-2.0
// Training with contact in scenes that differ (`reduction.vary`): a worm on three cables crawls for half a cycle on
// floors of other friction and slope, with a bar somewhere on the floor.
#include "scenes.h"

#include "base/file.h"
#include "reduce/offline/job.h"

#include <unistd.h>

#define SCENE "test_runs.yaml"
#define OUT   "test_runs.h5"
#define STEPS 24

#define CABLE(name, from, to)                                                                                          \
    "  - {name: " name ", type: cable, body: worm, path: [[" from ", 0.01, 0], [" to                                   \
    ", 0.01, 0]], drive: force, range: [0, 0.5 N]}\n"
#define WORM(contact, reduction)                                                                                       \
    "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 24\n" contact "bodies:\n"                            \
    "  - {name: worm, mesh: {box: [[0, 0, 0], [0.12, 0.02, 0.01]], cells: [6, 1, 1], elements: hexahedra}, "           \
    "material: {law: corotational, young: 60 kPa, poisson: 0.4, density: 1000}, damping: {mass: 2 1/s}}\n"             \
    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"                                              \
    "  - {name: bar, type: rigid, shape: {box: [4 mm, 60 mm, 4 mm]}, fixed: true, transform: {translate: [0.06, 0, "   \
    "0]}}\nactuators:\n" CABLE("fore", "0.12", "0.08")                                                                 \
        CABLE("hind", "0.04",                                                                                          \
              "0") "motion: {keyframes: [{t: 0, fore: 0, hind: 0}, {t: 0.1, fore: 0.4, hind: 0}, {t: 0.24, fore: 0, "  \
                   "hind: 0.4}]}\n"                                                                                    \
                   "reduction: {body: worm, samples: motion, pod_tolerance: 1e-3, ecsw_tolerance: 1e-2" reduction      \
                   "}\n"
#define FLOOR    "contact: {friction: 0.5}\n"
#define FRICTION "{set: contact.friction, from: 0.2, to: 0.8}"
#define SLOPE    "{set: 'gravity[0]', from: -1, to: 1, unit: m/s^2}"
#define BAR      "{set: 'bodies[bar].transform.translate[0]', from: 30, to: 90, unit: mm}"

static tdStatus reduce(const char *text, int threads, bool alone, tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {
        .scene = SCENE, .out = OUT, .restart = true, .accept = true, .alone = alone, .settings = td_default_settings()};
    task.settings.threads = threads;
    task.settings.log = NULL;
    *error = (tdError){0};
    assert_ok(td_file_write(SCENE, text, strlen(text), error), *error);
    return td_reduce(&task, report, error);
}

// With the motion of the scene in a file.
static tdStatus reduce_csv(const char *text, int threads, tdReduceReport *report, tdError *error)
{
    static char edited[4000];
    const char *begin = strstr(text, "motion: {keyframes"), *end = strstr(text, "reduction:");
    assert_true(begin != NULL && end > begin && strlen(text) + 40 < sizeof edited);
    snprintf(edited, sizeof edited, "%.*smotion: {csv: test_runs_b.csv}\n%s", (int)(begin - text), text, end);
    return reduce(edited, threads, false, report, error);
}

// Each run has all steps; the model is the same for any number of threads, and not that of one run; the check is along
// the motion in a scene between those.
static void runs(void **unused)
{
    (void)unused;
    static const char varied[] = WORM(FLOOR, ", runs: 4, vary: [" FRICTION ", " SLOPE ", " BAR "]");
    static const char other[] = WORM(FLOOR, ", runs: 4, vary: [" FRICTION ", " SLOPE "]");
    tdReduceReport one, several, again, less;
    tdError error;
    assert_ok(reduce(WORM(FLOOR, ""), 1, false, &one, &error), error);
    assert_ok(reduce(varied, 1, false, &several, &error), error);
    assert_ok(reduce(varied, 3, false, &again, &error), error);
    assert_ok(reduce(other, 1, false, &less, &error), error);
    assert_int_equal(one.runs, 1);
    assert_int_equal(several.runs, 4);
    assert_int_equal(one.snapshots, STEPS);
    assert_int_equal(several.snapshots, 4 * STEPS);
    assert_true(several.content == again.content);
    assert_true(several.content != one.content && several.content != less.content);
    assert_int_equal(several.motion_steps, STEPS);
    print_message("one run: %d modes, %.1f %% off along its motion; four: %d modes, %.1f %% in another scene\n",
                  one.modes, 100 * one.motion_error, several.modes, 100 * several.motion_error);
    assert_true(several.motion_error > 0 && several.motion_error < 0.1);
    unlink(OUT);
}

// The places of a run are those of its own motion, and one step of several is a snapshot.
static void motions(void **unused)
{
    (void)unused;
    static const char slow[] = "t,fore,hind\n0,0,0\n0.24,0.2,0.4\n",
                      fast[] = "t,fore,hind\n0,0,0\n0.1,0.4,0.4\n0.24,0,0\n";
    static const char both[] =
        WORM(FLOOR, ", runs: 3, vary: [{set: motion.csv, values: [test_runs_a.csv, test_runs_b.csv]}]");
    static const char same[] =
        WORM(FLOOR, ", runs: 3, vary: [{set: motion.csv, values: [test_runs_a.csv, test_runs_a.csv]}]");
    static const char some[] =
        WORM(FLOOR, ", every: 5, runs: 3, vary: [{set: motion.csv, values: [test_runs_a.csv, test_runs_b.csv]}]");
    static const char words[] = WORM(FLOOR, ", runs: 4, vary: [{set: contact.friction, values: [0.2, 0.5, 0.8]}]");
    static const char range[] = WORM(FLOOR, ", runs: 4, vary: [{set: contact.friction, from: 0.2, to: 0.8}]");
    tdReduceReport report, again, all, words_report, range_report;
    tdError error;
    assert_ok(td_file_write("test_runs_a.csv", slow, strlen(slow), &error), error);
    assert_ok(td_file_write("test_runs_b.csv", fast, strlen(fast), &error), error);
    assert_ok(reduce_csv(both, 1, &all, &error), error);
    assert_ok(reduce_csv(both, 3, &again, &error), error);
    assert_true(all.content == again.content);
    assert_int_equal(all.snapshots, 3 * STEPS);
    assert_ok(reduce_csv(same, 1, &report, &error), error);
    assert_true(report.modes > 0 && report.content != all.content);
    assert_ok(reduce_csv(some, 2, &report, &error), error);
    assert_int_equal(report.snapshots, 3 * (STEPS / 5));
    print_message("three motions: %d modes of all steps, %d of every fifth\n", all.modes, report.modes);
    assert_true(report.modes <= all.modes && report.motion_error < 0.1);
    assert_ok(reduce(words, 1, false, &words_report, &error), error);
    assert_ok(reduce(range, 1, false, &range_report, &error), error);
    // The same three values in the same order; only the check is elsewhere.
    assert_true(words_report.pod_error == range_report.pod_error);
    assert_int_equal(words_report.rid_elements, range_report.rid_elements);
    unlink("test_runs_a.csv");
    unlink("test_runs_b.csv");
    unlink(OUT);
}

static bool stop_after_a_run(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    (void)total;
    *(int64_t *)user = done;
    return phase != TD_REDUCE_SNAPSHOTS || done < STEPS + 5;
}

// Stopped within its second run it goes on there, to the same model.
static void goes_on(void **unused)
{
    (void)unused;
    static const char text[] = WORM(FLOOR, ", runs: 3, vary: [" SLOPE "]");
    tdReduceReport whole, part;
    tdError error;
    int64_t done = 0;
    assert_ok(reduce(text, 1, false, &whole, &error), error);
    tdReduceTask task = {.scene = SCENE,
                         .out = OUT,
                         .restart = true,
                         .accept = true,
                         .settings = td_default_settings(),
                         .progress = stop_after_a_run,
                         .user = &done};
    task.settings.threads = 1;
    assert_ok(td_reduce(&task, &part, &error), error);
    assert_true(part.stopped && done >= STEPS);
    task.progress = NULL;
    task.restart = false;
    assert_ok(td_reduce(&task, &part, &error), error);
    assert_int_equal(part.reused[TD_REDUCE_SNAPSHOTS], STEPS);
    assert_true(part.content == whole.content);
    unlink(OUT);
}

static void refused(const char *text, bool alone, const char *why)
{
    tdReduceReport report;
    tdError error;
    assert_int_equal(reduce(text, 1, alone, &report, &error), TD_ERROR_INPUT);
    if (strstr(error.message, why) == NULL)
        fail_msg("'%s' is not in: %s", why, error.message);
}

static void refusals(void **unused)
{
    (void)unused;
    refused(WORM(FLOOR, ", runs: 3"), false, "all runs would be the same");
    refused(WORM("", ", vary: [" SLOPE "]"), false, "in a scene with 'contact' only");
    refused(WORM(FLOOR, ", contact_friction: 0.3, vary: [" FRICTION "]"), false, "is that of all runs");
    refused(WORM(FLOOR, ", vary: [{set: contact.friction, from: 0.2}]"), false, "'to'");
    refused(WORM(FLOOR, ", vary: [{set: contact.friction, values: [0.2], to: 1}]"), false, "without 'values' only");
    refused(WORM(FLOOR, ", vary: [{set: contact.friction, values: 3}]"), false, "a list of values");
    refused(WORM(FLOOR, ", vary: [{set: motion.csv, values: [nowhere.csv]}]"), false, "nowhere.csv");
    refused(WORM("", ", every: 2"), false, "in a scene with 'contact' only");
    refused(WORM(FLOOR, ", vary: [{set: 'gravity[0]=3', from: 0.2, to: 1}]"), false, "without a value");
    refused(WORM(FLOOR, ", vary: [{set: 'bodies[worn].x', from: 0.2, to: 1}]"), false, "worn");
    refused(WORM(FLOOR, ", vary: [{set: contact.friction, from: -1, to: 1}]"), false, "with contact.friction=-");
    refused(WORM(FLOOR, ", vary: [{set: time_step, from: 5, to: 20, unit: ms}]"), false, "other time steps");
    refused(WORM(FLOOR, ", vary: [{set: 'bodies[worm].material.young', from: 50, to: 70, unit: kPa}]"), false,
            "the body itself differs");
    refused(WORM(FLOOR, ", vary: [" SLOPE "]"), true, "trained alone");
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs), cmocka_unit_test(motions), cmocka_unit_test(goes_on),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, clean);
}
