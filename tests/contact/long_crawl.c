// SPDX-License-Identifier: Apache-2.0
// The multigait robot on the floor (S1 section IV-B): reduced from nothing, it crawls as far as at full order, and fast
// enough. Takes minutes.
#include "robots.h"

#include "base/timer.h"
#include "reduce/offline/job.h"

#include <time.h>
#include <unistd.h>

#define OUT    "long_crawl.h5"
#define SCENE  ROBOTS "multigait/crawl.yaml"
#define CYCLES 3
#define CYCLE  180 // steps
#define START  10
#define RATE   240 // steps a second: 20 times those of S1's model of 63 modes

typedef struct crawlRun
{
    double at[CYCLES + 1]; // mean of the feet along x, after each cycle
    double seconds;        // of a step, the median, processor time
} crawlRun;

static double feet(const tdModel *model, const tdState *state)
{
    double sum = 0;
    for (int k = 0; k < 4; k++)
    {
        char name[24];
        double x[3];
        snprintf(name, sizeof name, "foot_%d", k + 1);
        int probe = 0;
        while (strcmp(model->probes[probe].name, name) != 0)
            probe++;
        td_state_probe(model, state, probe, x);
        sum += x[0] / 4;
    }
    return sum;
}

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static crawlRun run(const char *rom, bool whole)
{
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    static double seconds[START + CYCLES * CYCLE];
    crawlRun out = {0};
    settings.threads = 1;
    settings.rom = rom;
    settings.rom_whole = whole;
    assert_ok(td_model_load(SCENE, &settings, &model, &error), error);
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    assert_int_equal(td_model_steps(model), START + CYCLES * CYCLE);
    for (int k = 0; k < START + CYCLES * CYCLE; k++)
    {
        double before = processor_time();
        tdStatus status = td_step(model, state);
        seconds[k] = processor_time() - before;
        assert_ok(status, td_state_report(state)->error);
        assert_int_equal(td_state_report(state)->inverted_elements, 0);
        if ((k + 1 - START) % CYCLE == 0)
            out.at[(k + 1 - START) / CYCLE] = feet(model, state);
    }
    qsort(seconds, sizeof seconds / sizeof seconds[0], sizeof seconds[0], ascending);
    out.seconds = seconds[sizeof seconds / sizeof seconds[0] / 2];
    scene_free(model, state);
    return out;
}

static void test_crawls(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error = {0};
    tdReduceTask task = {.scene = SCENE, .out = OUT, .restart = true, .settings = td_default_settings()};
    assert_ok(td_reduce(&task, &report, &error), error);
    print_message("%d modes, %lld elements\n", report.modes, (long long)report.rid_elements);
    assert_int_equal(report.failures, 0);
    crawlRun full = run(NULL, false), whole = run(OUT, true), reduced = run(OUT, false);
    unlink(OUT);
    for (int c = 0; c < CYCLES; c++)
    {
        double way = full.at[c + 1] - full.at[c], its = whole.at[c + 1] - whole.at[c];
        double few = reduced.at[c + 1] - reduced.at[c];
        print_message("cycle %d: %.3f mm at full order, %.3f mm reduced, %.3f mm hyper-reduced\n", c + 1, 1e3 * way,
                      1e3 * its, 1e3 * few);
        assert_true(way > 0.5e-3);
        assert_near(its, way, 0.05 * way); // the modes
        assert_near(few, way, 0.05 * way); // and the choice of elements: docs/reduction-robots.md
    }
    print_message("%.0f steps/s reduced, %.1f at full order (processor time, median)\n", 1 / reduced.seconds,
                  1 / full.seconds);
    assert_true(1 / reduced.seconds >= RATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_crawls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
