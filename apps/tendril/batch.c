// SPDX-License-Identifier: Apache-2.0
// tendril batch: many robots of a scene at once, on the CPU or on a GPU: how fast they go, and how far the GPU is from
// the CPU.
#include "base/memory.h"
#include "base/timer.h"
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril batch SCENE [options]\n\n"
    "Steps many robots of a scene at once and reports how many steps they take per second. Each robot moves "
    "differently:\n"
    "actuators that have a range move smoothly across it. With --check, robots are stepped on the CPU as "
    "well\n"
    "and compared.\n\n"
    "  --robots N[,N...]  how many (default: 1,64,1024)\n"
    "  --steps N          steps of a robot in a measurement (default: 100)\n"
    "  --hold N           steps that each row of inputs holds for (default: 1)\n"
    "  --device NAME      cpu (default) or gpu; docs/gpu.md lists what the GPU supports\n"
    "  --half             on the GPU: tangents in half precision, faster and less accurate\n"
    "  --gpu FILE         back end of the GPU (default: libtendril_gpu.so beside the program)\n"
    "  --check N          compare the first N robots with the CPU over these steps\n" CLI_ROM_HELP("        ") //
    "  --threads N        worker threads of the CPU (default: all cores)\n"
    "  --json             print one JSON object: batches with robots, steps_per_s, simulated_s_per_s, stopped;\n"
    "                     differences\n\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 out of memory.\n\n"
    "example: tendril batch robots/parallel/coarse.yaml --rom parallel.h5 --device gpu --robots 1024,65536 --check "
    "16\n";

enum
{
    MOST_SIZES = 16,
    MOST_ROBOTS = 4000000,
    RUNS = 5
};

typedef struct batchArguments
{
    const char *scene, *robots, *steps, *hold, *device, *gpu, *check, *threads;
    bool half;
} batchArguments;

typedef struct measurement
{
    int robots, stopped;
    double steps_per_s;
} measurement;

typedef struct batchWork
{
    tdModel *model;
    tdSettings settings;
    int n_sizes, sizes[MOST_SIZES];
    int steps, hold, check;
    measurement done[MOST_SIZES];
    double off[3]; ///< of the check: places, velocities, displacements of actuators
} batchWork;

// ---------------------------------------------------------------- inputs

// Input k of robot i at step t: within the range of its actuator, between a tenth and nine tenths of it; NaN leaves it
// to the scene.
static double input_of(const tdModel *model, int64_t robot, int step, int input)
{
    for (int a = 0; a < td_model_actuators(model); a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        const double *range = info.drive[0] == 'd' ? info.displacement : info.effort;
        if (info.input != input || !isfinite(range[0]) || !isfinite(range[1]))
            continue;
        double t = step * td_model_time_step(model), phase = 0.37 * (double)(robot % 1009) + 1.3 * input;
        double pace = 2 + 0.004 * (double)(robot % 251), rise = 1 - exp(-4 * t);
        return range[0] + (range[1] - range[0]) * rise * (0.4 + 0.35 * sin(pace * t + phase));
    }
    return NAN;
}

static double *make_inputs(const batchWork *work, int robots)
{
    int n = td_model_inputs(work->model), rows = work->steps / work->hold;
    double *inputs = td_take((size_t)robots * (size_t)rows * (size_t)n + 1, sizeof *inputs), *to = inputs;
    for (int i = 0; i < robots && inputs != NULL; i++)
        for (int t = 0; t < rows; t++)
            for (int k = 0; k < n; k++)
                *to++ = input_of(work->model, i, t * work->hold, k);
    return inputs;
}

static tdStatus roll(tdBatch *batch, const batchWork *work, const double *inputs, const tdSpan *out, int32_t *status,
                     tdError *error)
{
    int64_t n = td_model_inputs(work->model);
    tdRollout rollout = td_default_rollout();
    rollout.rows = work->steps / work->hold;
    rollout.hold = work->hold;
    rollout.inputs = (tdSpan){(double *)inputs, rollout.rows * n, n, 1};
    if (out != NULL)
        rollout.outputs = *out;
    rollout.status = status;
    return td_batch_rollout(batch, &rollout, error);
}

// ---------------------------------------------------------------- measuring

static int later(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tdStatus measure(batchWork *work, measurement *out, tdError *error)
{
    int n = out->robots;
    tdBatch *batch = NULL;
    double *inputs = make_inputs(work, n), times[RUNS];
    int32_t *status = td_take((size_t)n, sizeof *status);
    tdStatus result = inputs == NULL || status == NULL
                          ? td_fail(error, TD_ERROR_MEMORY, "no memory for %d robots", n)
                          : td_batch_create(work->model, &work->settings, n, &batch, error);
    for (int run = -1; run < RUNS && result == TD_OK; run++) // one to warm up
    {
        result = td_batch_reset(batch, NULL, error);
        double start = td_seconds();
        if (result == TD_OK)
            result = roll(batch, work, inputs, NULL, status, error);
        if (run >= 0)
            times[run] = td_seconds() - start;
    }
    if (result == TD_OK)
    {
        qsort(times, RUNS, sizeof times[0], later);
        out->steps_per_s = (double)n * work->steps / times[RUNS / 2];
        for (int i = 0; i < n; i++)
            out->stopped += status[i] != TD_OK;
        for (int i = 0; i < n && out->stopped > 0; i++)
            if (status[i] != TD_OK)
            {
                fprintf(stderr, "warning: robot %d of %d: %s\n", i, n, td_batch_error(batch, i)->message);
                break;
            }
    }
    td_batch_free(batch);
    free(inputs);
    free(status);
    return result;
}

// ---------------------------------------------------------------- comparing

// Largest difference beside the largest number, of columns first to last of all rows.
static double relative(const double *a, const double *b, int64_t rows, int64_t width, int64_t first, int64_t last)
{
    double most = 0, size = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = first; k < last; k++)
        {
            double d = fabs(a[i * width + k] - b[i * width + k]);
            most = d <= most ? most : d; // NaN stays
            size = fmax(size, fabs(a[i * width + k]));
        }
    return size > 0 ? most / size : most;
}

// The body that is compared: the first that moves.
static int moving(const tdModel *model)
{
    int b = 0;
    while (b + 1 < td_model_bodies(model) && td_model_body_coords(model, b) == 0)
        b++;
    return b;
}

static tdStatus roll_on(batchWork *work, tdBatchDevice device, const double *inputs, double *out, int64_t *width,
                        tdError *error)
{
    const tdModel *model = work->model;
    char names[2 + 64][300];
    const char *list[2 + 64];
    int n = 0;
    snprintf(names[n++], sizeof names[0], "coords:%s", td_model_body_name(model, moving(model)));
    snprintf(names[n++], sizeof names[0], "rates:%s", td_model_body_name(model, moving(model)));
    for (int a = 0; a < td_model_actuators(model) && n < 2 + 64; a++)
        snprintf(names[n++], sizeof names[0], "displacement:%s", td_model_actuator(model, a).name);
    for (int k = 0; k < n; k++)
        list[k] = names[k];
    tdBatch *batch = NULL;
    tdSettings settings = work->settings; // the CPU's tangent is that of the model
    settings.device = device;
    tdStatus status = td_batch_create(model, &settings, work->check, &batch, error);
    if (status == TD_OK)
        status = td_batch_choose_outputs(batch, n, list, error);
    if (status == TD_OK)
    {
        *width = td_outputs_width(td_batch_outputs(batch));
        tdSpan span = {out, work->steps / work->hold * *width, *width, 1};
        status = roll(batch, work, inputs, &span, NULL, error);
    }
    td_batch_free(batch);
    return status;
}

static tdStatus compare(batchWork *work, tdError *error)
{
    int64_t coords = td_model_body_coords(work->model, moving(work->model)),
            width = 2 * coords + td_model_actuators(work->model);
    int64_t rows = (int64_t)work->check * (work->steps / work->hold);
    double *inputs = make_inputs(work, work->check);
    double *a = td_take((size_t)(rows * width), sizeof *a), *b = td_take((size_t)(rows * width), sizeof *b);
    tdStatus status =
        inputs == NULL || a == NULL || b == NULL ? td_fail(error, TD_ERROR_MEMORY, "no memory to compare") : TD_OK;
    if (status == TD_OK)
        status = roll_on(work, TD_DEVICE_CPU, inputs, a, &width, error);
    if (status == TD_OK)
        status = roll_on(work, work->settings.device, inputs, b, &width, error);
    if (status == TD_OK)
    {
        work->off[0] = relative(a, b, rows, width, 0, coords);
        work->off[1] = relative(a, b, rows, width, coords, 2 * coords);
        work->off[2] = relative(a, b, rows, width, 2 * coords, width);
    }
    free(inputs);
    free(a);
    free(b);
    return status;
}

// ---------------------------------------------------------------- telling

static void print_results(const batchArguments *arguments, const batchWork *work)
{
    double h = td_model_time_step(work->model);
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "status", "done");
        td_json_string(&json, "scene", arguments->scene);
        td_json_string(&json, "device", work->settings.device == TD_DEVICE_GPU ? "gpu" : "cpu");
        td_json_open(&json, "batches", '[');
        for (int k = 0; k < work->n_sizes; k++)
        {
            td_json_open(&json, NULL, '{');
            td_json_integer(&json, "robots", work->done[k].robots);
            td_json_number(&json, "steps_per_s", work->done[k].steps_per_s);
            td_json_number(&json, "simulated_s_per_s", work->done[k].steps_per_s * h);
            td_json_integer(&json, "stopped", work->done[k].stopped);
            td_json_close(&json, '}');
        }
        td_json_close(&json, ']');
        if (work->check > 0)
        {
            td_json_open(&json, "differences", '{');
            td_json_number(&json, "coords", work->off[0]);
            td_json_number(&json, "rates", work->off[1]);
            td_json_number(&json, "displacements", work->off[2]);
            td_json_close(&json, '}');
        }
        td_json_close(&json, '}');
        cli_print_json(&json);
        return;
    }
    printf("scene       %s\ndevice      %s\n\n", arguments->scene,
           work->settings.device == TD_DEVICE_GPU ? "gpu" : "cpu");
    printf("%10s %14s %18s %8s\n", "robots", "steps/s", "simulated s/s", "stopped");
    for (int k = 0; k < work->n_sizes; k++)
        printf("%10d %14.4g %18.4g %8d\n", work->done[k].robots, work->done[k].steps_per_s,
               work->done[k].steps_per_s * h, work->done[k].stopped);
    if (work->check > 0)
        printf("\ncompared with the CPU, %d robots over %d steps: coordinates %.1e, velocities %.1e, displacements of "
               "actuators %.1e\n",
               work->check, work->steps, work->off[0], work->off[1], work->off[2]);
}

// ---------------------------------------------------------------- the command

static bool read_sizes(const char *text, batchWork *work)
{
    static const int standard[] = {1, 64, 1024};
    for (int k = 0; k < 3 && text == NULL; k++)
        work->sizes[work->n_sizes++] = standard[k];
    while (text != NULL && *text != '\0')
    {
        char *end = NULL;
        long n = strtol(text, &end, 10);
        if (end == text || n < 1 || n > MOST_ROBOTS || work->n_sizes == MOST_SIZES || (*end != ',' && *end != '\0'))
            return false;
        work->sizes[work->n_sizes++] = (int)n;
        text = *end == ',' ? end + 1 : end;
    }
    return work->n_sizes > 0;
}

static int run(const batchArguments *arguments, batchWork *work)
{
    tdError error = {0};
    if (td_model_load(arguments->scene, &work->settings, &work->model, &error) != TD_OK)
        return cli_fail(&error);
    for (int k = 0; k < work->n_sizes; k++)
    {
        work->done[k].robots = work->sizes[k];
        if (measure(work, &work->done[k], &error) != TD_OK)
            return cli_fail(&error);
    }
    if (work->check > 0 && compare(work, &error) != TD_OK)
        return cli_fail(&error);
    print_results(arguments, work);
    return 0;
}

int cmd_batch(int argc, char **argv)
{
    batchArguments arguments = {0};
    static batchWork work;
    const cliOption options[] = {
        {"--robots", &arguments.robots, NULL},
        {"--steps", &arguments.steps, NULL},
        {"--device", &arguments.device, NULL},
        {"--gpu", &arguments.gpu, NULL},
        {"--check", &arguments.check, NULL},
        {"--threads", &arguments.threads, NULL},
        {"--hold", &arguments.hold, NULL},
        {"--half", NULL, &arguments.half},
        CLI_ROM_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &arguments.scene, 1, 1);
    if (code >= 0)
        return code;
    long steps = 100, hold = 1, check = 0, threads = 0;
    work.settings = cli_settings();
    if (arguments.device != NULL && strcmp(arguments.device, "cpu") != 0 && strcmp(arguments.device, "gpu") != 0)
        return cli_usage("--device takes cpu or gpu, not '%s'", arguments.device);
    if (!read_sizes(arguments.robots, &work))
        return cli_usage("--robots takes up to %d numbers from 1 to %d, with commas between them, not '%s'", MOST_SIZES,
                         MOST_ROBOTS, arguments.robots);
    if ((arguments.steps != NULL && !cli_integer("--steps", arguments.steps, 1, &steps)) ||
        (arguments.hold != NULL && !cli_integer("--hold", arguments.hold, 1, &hold)) ||
        (arguments.check != NULL && !cli_integer("--check", arguments.check, 1, &check)) ||
        (arguments.threads != NULL && !cli_integer("--threads", arguments.threads, 1, &threads)))
        return TD_ERROR_USAGE;
    if (hold > steps || steps % hold != 0)
        return cli_usage("--hold %ld: give a number that divides the %ld steps", hold, steps);
    work.steps = (int)steps;
    work.hold = (int)hold;
    work.check = (int)check;
    work.settings.threads = (int)threads;
    work.settings.gpu = arguments.gpu;
    work.settings.device =
        arguments.device != NULL && strcmp(arguments.device, "gpu") == 0 ? TD_DEVICE_GPU : TD_DEVICE_CPU;
    if (arguments.half && work.settings.device != TD_DEVICE_GPU)
        return cli_usage("--half is for --device gpu; on the CPU the reduced model sets the precision of the tangent");
    if (arguments.half)
        work.settings.rom_precision = TD_ROM_SINGLE;
    code = run(&arguments, &work);
    td_model_free(work.model);
    return code;
}
