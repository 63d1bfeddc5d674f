// SPDX-License-Identifier: Apache-2.0
// Training with contact (S1 section IV-B), on a worm of 24 hexahedra with three cables along its belly: it learns its
// shapes on a floor without friction, then crawls on one with friction as far as full order does.
#include "frames.h"

#include "base/file.h"
#include "reduce/offline/job.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT    "test_crawl.h5"
#define SCENE  "test_crawl.yaml"
#define CYCLES 3
#define CYCLE  120 // steps

#define CABLE(name, from, middle, to)                                                                                  \
    "  - {name: " name ", type: cable, body: worm, path: [[" from ", 0.01, 0], [" middle ", 0.01, 0], [" to            \
    ", 0.01, 0]], drive: force, range: [0, 0.5 N]}\n"
#define WORM(more, reduction, floor)                                                                                   \
    "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nduration: 3.8\n" floor                                      \
    "bodies:\n  - {name: worm, mesh: {box: [[0, 0, 0], [0.12, 0.02, 0.01]], cells: [12, 2, 1], elements: hexahedra}, " \
    "material: {law: corotational, young: 60 kPa, poisson: 0.4, density: 1000}, damping: {mass: 2 1/s}" more "}\n"     \
    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\nactuators:\n" CABLE(                           \
        "fore", "0.12", "0.1", "0.08") CABLE("middle", "0.08", "0.06", "0.04")                                         \
        CABLE("hind", "0.04", "0.02", "0") "reduction: {body: worm, " reduction                                        \
                                           "}\nvalidation: {random: {steps: 8, moves: 3, seed: 2}}\n"
#define FLOOR "contact: {friction: 0.5}\n"
#define USUAL "samples: corners, steps_between: 5, pod_tolerance: 3e-4, ecsw_tolerance: 0.01"

static void write_scene(const char *text)
{
    tdError error = {0};
    assert_ok(td_file_write(SCENE, text, strlen(text), &error), error);
}

static tdStatus reduce(int threads, bool restart, tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {.scene = SCENE, .out = OUT, .restart = restart, .settings = td_default_settings()};
    task.settings.threads = threads;
    *error = (tdError){0};
    return td_reduce(&task, report, error);
}

static tdModel *load(const char *rom)
{
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    tdError error = {0};
    settings.rom = rom;
    assert_ok(td_model_load(SCENE, &settings, &model, &error), error);
    return model;
}

// The same as the scene's motion.
static void add_motion(char *text, size_t size)
{
    static const int pulled[6][3] = {{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {0, 1, 1}, {0, 0, 1}, {0, 0, 0}};
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, size - n,
                          "motion: {interpolation: smooth, keyframes: [{t: 0.2, fore: 0, middle: 0, hind: 0}");
    for (int k = 0; k < 6 * CYCLES; k++)
        n += (size_t)snprintf(text + n, size - n, ", {t: %g, fore: %g, middle: %g, hind: %g}", 0.2 * (k + 2),
                              0.5 * pulled[k % 6][0], 0.5 * pulled[k % 6][1], 0.5 * pulled[k % 6][2]);
    n += (size_t)snprintf(text + n, size - n, "]}\n");
    assert_true(n < size);
}

// One after the other is pulled, and let go in the same order, in 0.2 s each.
static void pull(const tdModel *model, tdState *state, int step)
{
    static const char *const names[] = {"fore", "middle", "hind"};
    for (int k = 0; k < 3; k++)
    {
        double phase = (step % CYCLE) / 20.0 - k, share = phase < 0 ? 0 : phase < 1 ? phase : phase < 3 ? 1 : 4 - phase;
        share = fmax(share, 0);
        int input = td_model_find_input(model, names[k]);
        assert_int_equal(td_state_set_input(model, state, input, 0.5 * share * share * (3 - 2 * share)), TD_OK);
    }
}

static double centre(const tdModel *model, const tdState *state)
{
    const double *x = td_state_positions(model, state, 0);
    double sum = 0;
    for (int64_t i = 0; i < model->bodies[0].nodes; i++)
        sum += x[3 * i];
    return sum / (double)model->bodies[0].nodes;
}

// Where it is after each cycle.
static void crawl(const char *rom, double *at)
{
    tdModel *model = load(rom);
    tdState *state = scene_state(model);
    scene_steps(model, state, 20);
    at[0] = centre(model, state);
    for (int c = 0; c < CYCLES; c++)
    {
        for (int k = 1; k <= CYCLE; k++)
        {
            pull(model, state, k);
            scene_steps(model, state, 1);
        }
        at[c + 1] = centre(model, state);
    }
    scene_free(model, state);
}

// Largest error of the way of a cycle, relative.
static double crawl_apart(const char *text, int snapshots)
{
    tdReduceReport report;
    tdError error;
    double full[CYCLES + 1], reduced[CYCLES + 1], worst = 0;
    write_scene(text);
    assert_ok(reduce(0, true, &report, &error), error);
    assert_int_equal(report.failures, 0);
    assert_int_equal(report.snapshots, snapshots);
    assert_true(report.held_out_error < 0.2);
    tdRom rom = {0};
    assert_ok(td_rom_read(OUT, &rom, &error), error);
    assert_int_equal(rom.frame, TD_FRAME_FREE);
    td_rom_free(&rom);
    crawl(NULL, full);
    crawl(OUT, reduced);
    for (int c = 0; c < CYCLES; c++)
    {
        double way = full[c + 1] - full[c], its = reduced[c + 1] - reduced[c];
        print_message("cycle %d: %.3f mm at full order, %.3f mm reduced (%d modes)\n", c + 1, 1e3 * way, 1e3 * its,
                      report.modes);
        assert_true(way < -3e-3); // it goes where the cables begin to pull
        worst = fmax(worst, fabs(its / way - 1));
    }
    return worst;
}

// On the floor without friction training sees no shape that friction holds in place, which is all that is missing.
static void test_crawls(void **unused)
{
    (void)unused;
    assert_true(crawl_apart(WORM("", USUAL, FLOOR), 36) < 0.05);
    assert_true(crawl_apart(WORM("", USUAL ", contact_friction: 0.5", FLOOR), 36) < 0.02);
}

// Along its own motion training does what the scene does, and what it learns is that motion.
static void test_follows(void **unused)
{
    (void)unused;
    static char text[6000] = WORM("", "samples: motion, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3", FLOOR);
    add_motion(text, sizeof text);
    assert_true(crawl_apart(text, 20 + CYCLES * CYCLE) < 0.01);
}

static bool kill_late(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    (void)user;
    (void)total;
    if (phase == TD_REDUCE_SNAPSHOTS && done >= 30)
        kill(getpid(), SIGKILL);
    return true;
}

// The file does not depend on threads, nor on a job that was killed and went on.
static void test_resumes(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    write_scene(WORM("", "samples: corners, steps_between: 6, contact_friction: 0.1", FLOOR));
    assert_ok(reduce(1, true, &report, &error), error);
    uint64_t content = report.content;
    unlink(OUT);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
    {
        // With one thread: the second of two trajectories is cut short.
        tdReduceTask task = {.scene = SCENE, .out = OUT, .settings = td_default_settings()};
        task.settings.threads = 1;
        task.progress = kill_late;
        td_reduce(&task, &report, &error);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_ok(reduce(3, false, &report, &error), error);
    assert_true(report.resumed && report.reused[TD_REDUCE_SNAPSHOTS] > 0);
    assert_true(report.content == content);
    // Other friction, other equilibria.
    write_scene(WORM("", "samples: corners, steps_between: 6", FLOOR));
    assert_ok(reduce(2, true, &report, &error), error);
    assert_true(report.content != content);
}

// A worm that is held at one end, lifted by its cables and pressed down by its weight: the floor has a part in its
// shapes, and its frame is fixed.
static void test_held(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    double full[CYCLES + 1], reduced[CYCLES + 1];
    write_scene(WORM(", fixed: [{group: xmin}]", USUAL, "contact: {friction: 0}\n"));
    assert_ok(reduce(0, true, &report, &error), error);
    assert_int_equal(report.failures, 0);
    assert_true(report.held_out_error < 0.1);
    crawl(NULL, full);
    crawl(OUT, reduced);
    for (int c = 0; c <= CYCLES; c++)
        assert_near(reduced[c], full[c], 1e-4); // a hundredth of how far its end moves
}

static void test_refused(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    static const struct
    {
        const char *text, *words;
    } cases[] = {{WORM("", "samples: greedy", FLOOR), "greedy"},
                 {WORM("", "contact_friction: 0.3", ""), "no 'contact'"},
                 {WORM("", "samples: motion, count: 9", FLOOR "motion: {keyframes: [{t: 0, fore: 0}]}\n"), "all steps"},
                 {WORM("", "contact_friction: -1", FLOOR), ">= 0"}};
    for (int k = 0; k < 4; k++)
    {
        write_scene(cases[k].text);
        assert_int_equal(reduce(1, true, &report, &error), TD_ERROR_INPUT);
        if (strstr(error.message, cases[k].words) == NULL)
            fail_msg("'%s' is not in '%s'", cases[k].words, error.message);
    }
}

static int remove_files(void **unused)
{
    (void)unused;
    unlink(SCENE);
    unlink(OUT);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crawls), cmocka_unit_test(test_follows), cmocka_unit_test(test_resumes),
        cmocka_unit_test(test_held),   cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
