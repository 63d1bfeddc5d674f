// SPDX-License-Identifier: Apache-2.0
// tendril bench batch: what a step costs in a batch of many robots beside the same step of one robot alone.
//
// All go through the same motion, of which there are as many as phases, from the same start, so that the work is the
// same to the bit however many robots there are. Batch and single robot take turns within one run, and what is compared
// is processor time inside the pieces of work, which other work on the machine does not change but through the caches
// that it shares. What is lost besides, because threads have nothing left to do, follows from the times of the pieces:
// dealt out in the order in which the batch deals them out, to as many threads, how long would all of them take? The
// clock's own ratio stands beside both, for a machine that does nothing else.
#include "bench.h"

#include "base/memory.h"
#include "base/task_watch.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "core/state.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum
{
    PHASES = 16,        // different motions
    STEPS = 40,         // of a motion
    LEAST = 20 * STEPS, // steps of a single robot between two looks at the batch
    MOST_THREADS = 256,
};

typedef struct batchRow
{
    const char *name, *scene; ///< NULL: the arm of `bench reduced`, made here
} batchRow;

static const batchRow rows[] = {
    {"arm", NULL},
    {"finger", "robots/finger/coarse.yaml"},
    {"trunk", "robots/trunk/coarse.yaml"},
    {"worm on a floor", "scenes/worm.yaml"},
};
static const int robots_of[] = {1, 16, 256, 1024, 4096};

enum
{
    ROWS = sizeof rows / sizeof rows[0],
    SIZES = sizeof robots_of / sizeof robots_of[0]
};

/// One robot, and the motions that all go through.
typedef struct subject
{
    const tdModel *model;
    tdState *alone;
    double *motion; ///< PHASES x STEPS x n_inputs
    double *spread; ///< the same for each robot of a batch
} subject;

/// Of one number of robots and one number of rows in a call.
typedef struct measured
{
    spread alone, cost; ///< processor time of a step alone [s]; that over the one in the batch
    spread busy;        ///< share of the time in which threads have work
    spread clock;       ///< steps a second by the clock, over those of one thread times threads
} measured;

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// ---------------------------------------------------------------- motions

// Actuators go out by some tenths of their range and back, each by its share, which differs from phase to phase.
static void make_motion(const tdModel *model, double *motion)
{
    const double turn = 6.283185307179586;
    for (int p = 0; p < PHASES; p++)
        for (int k = 0; k < STEPS; k++)
        {
            double *row = motion + ((int64_t)p * STEPS + k) * model->n_inputs;
            for (int i = 0; i < model->n_inputs; i++)
                row[i] = NAN;
            for (int a = 0; a < model->n_actuators; a++)
            {
                tdActuatorInfo info = td_model_actuator(model, a);
                const double *range = strcmp(info.drive, "effort") == 0         ? info.effort
                                      : strcmp(info.drive, "displacement") == 0 ? info.displacement
                                                                                : info.gas;
                bool ranged = isfinite(range[0]) && isfinite(range[1]);
                double low = ranged ? range[0] : 0, high = ranged ? range[1] : 8e-3; // else a cable of the arm
                double zero = fmin(fmax(0, low), high), far = high - zero > zero - low ? high : low;
                double out = 0.15 * (1 - cos(turn * (k + 1) / STEPS));
                double share = out * (1 + 0.5 * sin(turn * (p / (double)PHASES + a / (double)model->n_actuators)));
                row[info.input] = zero + share * (far - zero);
            }
        }
}

// ---------------------------------------------------------------- alone

static tdStatus steps_alone(const subject *s, const double *row, int n, tdError *error)
{
    for (int k = 0; k < n; k++)
    {
        for (int i = 0; i < s->model->n_inputs; i++)
            td_state_set_input(s->model, s->alone, i, row[k * s->model->n_inputs + i]);
        if (td_step(s->model, s->alone) != TD_OK)
        {
            *error = td_state_report(s->alone)->error;
            return error->status;
        }
    }
    return TD_OK;
}

// Through the first `phases` motions `passes` times; processor time and that of the clock, of a step [s].
static tdStatus run_alone(const subject *s, int phases, int passes, int per_call, double *processor, double *clock,
                          tdError *error)
{
    *processor = *clock = 0;
    for (int pass = 0; pass < passes; pass++)
        for (int p = 0; p < phases; p++)
        {
            TD_TRY(td_state_reset(s->model, s->alone, error));
            for (int k = 0; k < STEPS; k += per_call)
            {
                double wall = td_seconds(), start = bench_processor_seconds();
                TD_TRY(steps_alone(s, s->motion + ((int64_t)p * STEPS + k) * s->model->n_inputs, per_call, error));
                *processor += bench_processor_seconds() - start;
                *clock += td_seconds() - wall;
            }
        }
    *processor /= (double)passes * phases * STEPS;
    *clock /= (double)passes * phases * STEPS;
    return TD_OK;
}

// ---------------------------------------------------------------- in a batch

// How long `threads` of them take for pieces that are handed out one after the other.
static double makespan(const double *seconds, int n, int threads)
{
    double until[MOST_THREADS] = {0}, last = 0;
    for (int i = 0; i < n; i++)
    {
        int first = 0;
        for (int t = 1; t < threads; t++)
            first = until[t] < until[first] ? t : first;
        until[first] += seconds[i];
        last = fmax(last, until[first]);
    }
    return last;
}

typedef struct batchTimes
{
    double processor, clock; ///< of a step [s]
    double busy;
} batchTimes;

static tdStatus run_batch(const subject *s, tdBatch *batch, int passes, int per_call, double *pieces, batchTimes *out,
                          tdError *error)
{
    int n = td_batch_robots(batch), threads = td_tasks_threads(td_batch_tasks(batch)), inputs = s->model->n_inputs;
    double sum = 0, longest = 0;
    *out = (batchTimes){0};
    for (int pass = 0; pass < passes; pass++)
    {
        TD_TRY(td_batch_reset(batch, NULL, error));
        for (int k = 0; k < STEPS; k += per_call)
        {
            tdRollout rollout = td_default_rollout();
            rollout.rows = per_call;
            rollout.inputs = (tdSpan){s->spread + (int64_t)k * inputs, (int64_t)STEPS * inputs, inputs, 1};
            memset(pieces, 0, (size_t)n * sizeof *pieces);
            td_tasks_watch(td_batch_tasks(batch), pieces);
            double wall = td_seconds();
            tdStatus status = td_batch_rollout(batch, &rollout, error);
            out->clock += td_seconds() - wall;
            td_tasks_watch(td_batch_tasks(batch), NULL);
            TD_TRY(status);
            for (int i = 0; i < n; i++)
                sum += pieces[i];
            longest += makespan(pieces, n, threads);
        }
    }
    for (int i = 0; i < n; i++)
        if (td_batch_error(batch, i)->status != TD_OK)
        {
            *error = *td_batch_error(batch, i);
            return error->status;
        }
    double steps = (double)passes * n * STEPS;
    out->processor = sum / steps;
    out->clock /= steps;
    out->busy = sum / (longest * threads);
    return TD_OK;
}

// Every second robot back to its start, right after steps: processor time of the call for each [s].
static tdStatus reset_half(tdBatch *batch, double *seconds, tdError *error)
{
    int n = td_batch_robots(batch), count = (n + 1) / 2;
    uint8_t *mask = td_take((size_t)n, 1);
    if (mask == NULL)
        return td_fail_memory(error, "the benchmark");
    for (int i = 0; i < n; i += 2)
        mask[i] = 1;
    double start = now(CLOCK_PROCESS_CPUTIME_ID);
    tdStatus status = td_batch_reset(batch, mask, error);
    *seconds = (now(CLOCK_PROCESS_CPUTIME_ID) - start) / count;
    free(mask);
    return status;
}

// ---------------------------------------------------------------- one robot, one size

static tdStatus measure(const subject *s, tdBatch *batch, int per_call, int runs, double *pieces, measured *out,
                        spread *reset, tdError *error)
{
    static double alone[BENCH_MOST_RUNS], cost[BENCH_MOST_RUNS], busy[BENCH_MOST_RUNS], clock[BENCH_MOST_RUNS],
        resets[BENCH_MOST_RUNS];
    int n = td_batch_robots(batch), threads = td_tasks_threads(td_batch_tasks(batch));
    int phases = n < PHASES ? n : PHASES;
    int passes = (LEAST + phases * STEPS - 1) / (phases * STEPS),
        of_batch = n * STEPS < LEAST ? LEAST / (n * STEPS) : 1;
    for (int run = -1; run < runs; run++) // one to warm up
    {
        double before[2], after[2];
        batchTimes times;
        TD_TRY(run_alone(s, phases, passes, per_call, &before[0], &before[1], error));
        TD_TRY(run_batch(s, batch, of_batch, per_call, pieces, &times, error));
        TD_TRY(reset_half(batch, &resets[run < 0 ? 0 : run], error));
        TD_TRY(run_alone(s, phases, passes, per_call, &after[0], &after[1], error));
        if (run < 0)
            continue;
        alone[run] = 0.5 * (before[0] + after[0]);
        cost[run] = alone[run] / times.processor;
        busy[run] = times.busy;
        clock[run] = 0.5 * (before[1] + after[1]) / (times.clock * threads);
    }
    *out = (measured){bench_spread(alone, runs), bench_spread(cost, runs), bench_spread(busy, runs),
                      bench_spread(clock, runs)};
    *reset = bench_spread(resets, runs);
    return TD_OK;
}

static void write_measured(const measured *m, int n, int per_call, spread reset, bool print, tdJson *json)
{
    td_json_open(json, NULL, '{');
    td_json_integer(json, "robots", n);
    td_json_integer(json, "rows", per_call);
    bench_json_spread(json, "alone", m->alone);
    bench_json_spread(json, "cost", m->cost);
    bench_json_spread(json, "busy", m->busy);
    bench_json_spread(json, "clock", m->clock);
    bench_json_spread(json, "reset", reset);
    td_json_close(json, '}');
    if (print)
        printf("  %6d %5d %10.2f %8.1f (%5.1f to %5.1f) %8.1f %11.1f %8.1f (%5.1f to %5.1f) %9.2f\n", n, per_call,
               1e6 * m->alone.median, 100 * m->cost.median, 100 * m->cost.low, 100 * m->cost.high, 100 * m->busy.median,
               100 * m->cost.median * m->busy.median, 100 * m->clock.median, 100 * m->clock.low, 100 * m->clock.high,
               1e6 * reset.median);
}

static tdStatus measure_size(subject *s, int n, int runs, const tdSettings *settings, bool print, tdJson *json,
                             tdError *error)
{
    tdBatch *batch = NULL;
    int64_t motion = (int64_t)STEPS * s->model->n_inputs;
    double *pieces = td_take((size_t)n, sizeof *pieces);
    s->spread = td_take((size_t)(n * motion) + 1, sizeof *s->spread);
    tdStatus status = pieces != NULL && s->spread != NULL ? td_batch_create(s->model, settings, n, &batch, error)
                                                          : td_fail_memory(error, "the benchmark");
    for (int i = 0; i < n && status == TD_OK && motion > 0; i++)
        memcpy(s->spread + i * motion, s->motion + i % PHASES * motion, (size_t)motion * sizeof *s->spread);
    static const int per_call[] = {1, STEPS};
    for (int k = 0; k < 2 && status == TD_OK; k++)
    {
        measured m;
        spread reset;
        status = measure(s, batch, per_call[k], runs, pieces, &m, &reset, error);
        if (status == TD_OK)
            write_measured(&m, n, per_call[k], reset, print, json);
    }
    td_batch_free(batch);
    free(s->spread);
    free(pieces);
    s->spread = NULL;
    return status;
}

// ---------------------------------------------------------------- all of them

// The reduced model of a shipped scene, from the folder or made there.
static tdStatus load(const batchRow *row, const char *folder, tdSettings *settings, tdModel **out, tdError *error)
{
    char scene[PATH_MAX], rom[PATH_MAX], name[64];
    if (row->scene == NULL)
        return bench_arm_model(settings, 25, 150, out, error);
    if (!cli_shipped(row->scene, scene, sizeof scene))
        return td_fail(error, TD_ERROR_INPUT,
                       "%s was not found next to the program; run it from the build folder of the source tree, or "
                       "install it",
                       row->scene);
    snprintf(name, sizeof name, "%.*s.h5", (int)strcspn(row->name, " "), row->name);
    td_path_join(rom, sizeof rom, folder, name);
    if (access(rom, R_OK) != 0)
    {
        tdReductionSettings what = td_default_reduction();
        TD_TRY(td_model_reduce(scene, rom, &what, settings, NULL, error));
    }
    settings->rom = rom;
    tdStatus status = td_model_load(scene, settings, out, error);
    settings->rom = NULL;
    return status;
}

static tdStatus measure_row(const batchRow *row, const char *folder, int runs, const tdSettings *given, bool print,
                            tdJson *json, tdError *error)
{
    tdSettings settings = *given, one = *given;
    tdModel *model = NULL;
    subject s = {0};
    one.threads = 1;
    cli_progress(row->name, 0, SIZES);
    tdStatus status = load(row, folder, &settings, &model, error);
    if (status == TD_OK)
        status = td_state_create(model, &one, &s.alone, error);
    s.model = model;
    if (status == TD_OK && (s.motion = td_take((size_t)PHASES * STEPS * model->n_inputs + 1, sizeof(double))) == NULL)
        status = td_fail_memory(error, "the benchmark");
    if (status == TD_OK)
    {
        make_motion(model, s.motion);
        if (print)
            printf("  %s: a state of %llu bytes, %llu in memory\n", row->name,
                   (unsigned long long)td_state_size(model, s.alone), (unsigned long long)s.alone->arena.bytes);
    }
    td_json_open(json, row->name, '[');
    for (int i = 0; i < SIZES && status == TD_OK; i++)
    {
        cli_progress(row->name, i, SIZES);
        status = measure_size(&s, robots_of[i], runs, &settings, print, json, error);
    }
    td_json_close(json, ']');
    td_state_free(s.alone);
    free(s.motion);
    td_model_free(model);
    return status;
}

tdStatus bench_batch(const char *folder, int runs, const tdSettings *settings, bool print, tdJson *json, tdError *error)
{
    char own[] = "/tmp/tendril_bench_XXXXXX";
    if (folder == NULL && mkdtemp(own) == NULL)
        return td_fail(error, TD_ERROR_IO, "no folder can be made in /tmp");
    if (print)
        printf("Batches: processor time of a step alone over that of a step in the batch (cost), share of the time in\n"
               "which threads have work (busy), both together, and the same by the clock, which other work on the\n"
               "machine changes (%%, median of %d turns); every second robot set back right after steps (us each)\n\n"
               "  %6s %5s %10s %8s %17s %8s %11s %8s %17s %9s\n",
               runs, "robots", "rows", "alone us", "cost", "", "busy", "throughput", "clock", "", "reset us");
    td_json_open(json, "batch", '{');
    tdStatus status = TD_OK;
    for (int i = 0; i < ROWS && status == TD_OK; i++)
        status = measure_row(&rows[i], folder != NULL ? folder : own, runs, settings, print, json, error);
    td_json_close(json, '}');
    for (int i = 0; i < ROWS && folder == NULL; i++)
    {
        char path[PATH_MAX], name[64];
        snprintf(name, sizeof name, "%.*s.h5", (int)strcspn(rows[i].name, " "), rows[i].name);
        td_path_join(path, sizeof path, own, name);
        unlink(path);
    }
    if (folder == NULL)
        rmdir(own);
    if (print)
        printf("\n");
    return status;
}
