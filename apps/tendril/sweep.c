// SPDX-License-Identifier: Apache-2.0
// tendril sweep SCENE --vary PATH=VALUES: the scene with some of its keys varied, one run for each combination, as many
// at a time as there are cores, each on one thread. What a run came to is kept as soon as it is known.
#include "sweep.h"

#include "base/hash.h"
#include "base/task.h"
#include "base/timer.h"
#include "folder.h"
#include "reduce/offline/work.h"
#include "simulate.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MOST_RUNS    1000000
#define MOST_OUTPUTS 256

static const char help[] =
    "usage: tendril sweep SCENE --vary PATH=VALUES [--vary ...] --out DIR [options]\n\n"
    "Runs a scene with some of its keys varied, in all combinations, on all cores. DIR/table.csv has one row per run "
    "with\n"
    "the varied values and the results; DIR/table.png plots them. If it is killed or interrupted, the same command "
    "resumes\n"
    "where it stopped, and the table is the same.\n\n"
    "  --vary PATH=VALUES  a key of the scene, as for --set, and its values:\n"
    "                      0.2,0.5,0.8            a list, of numbers in one unit or of words\n"
    "                      0.5..2 MPa:4           four values in equal steps; log 0.5..2 MPa:4: in equal ratios\n"
    "                      uniform(1 mm, 2 mm)    one draw for each seed; also normal(MEAN, DEVIATION) and\n"
    "                                             lognormal(MEDIAN, DEVIATION OF THE LOGARITHM)\n"
    "  --seeds N           draw N times, with the seeds 1 to N; with lists, N times for each combination\n"
    "  --outputs NAMES     columns of the table, e.g. 'probe:tip effort:north kinetic' (default: probes, effectors,\n"
    "                      actuators, sensors)\n"
    "  --take WHICH        which value: last, at the end of the run (default); mean, least or most over its steps\n"
    "  --steps N           end each run at step N (default: the scene's duration)\n"
    "  --time T            end each at time T in seconds, likewise\n"
    "  --out DIR           where the table goes\n" OUT_HELP("             ") //
    CLI_ROM_HELP("         ")                                                //
    "  --threads N         runs at a time (default: all cores); the table does not depend on it\n"
    "  --portable          use kernels without AVX2, for results that are the same on any machine\n"
    "  --json              print one JSON object: runs, failed, wall_s, processor_s, table\n"
    "  --quiet             no progress\n\n"
    "A run that fails numerically has its status in the table and no values; a value that the scene does not allow "
    "ends\n"
    "the sweep. Exit codes: 0 done, 2 usage, 3 bad input, 4 all runs failed, 5 out of memory, 6 a file could not be\n"
    "written, 130 interrupted.\n\n"
    "example: tendril sweep scene.yaml --vary contact.friction=0.2..0.8:4 --vary 'bodies[0].material.young=normal(1 "
    "MPa, 0.1 MPa)' --seeds 50 --out out/sweep\n";

typedef struct sweepArguments
{
    const char *scene, *seeds, *outputs, *take, *steps, *time, *out, *threads;
    cliWords vary;
    bool portable;
} sweepArguments;

typedef struct Job
{
    const sweepArguments *arguments;
    Sweep sweep;
    tdSettings settings; ///< of a run
    int n_outputs;
    const char *outputs[MOST_OUTPUTS];
    sweepTake take;
    tdWork work;
    bool one_by_one; ///< models are loaded: HDF5, of which reduced models are, has no threads
    pthread_mutex_t lock;
    // under the lock
    int64_t done;
    tdError error; ///< that ends it all
    int64_t culprit;
    atomic_bool stop;
} Job;

// ---------------------------------------------------------------- which runs

int sweep_index(const Sweep *sweep, int64_t run, int axis)
{
    int64_t rest = sweep->seeds > 0 ? run / sweep->seeds : run; // seeds go fastest, then the last axis
    for (int a = sweep->n_axes - 1; a > axis; a--)
        rest /= sweep->axis[a].n;
    return (int)(rest % sweep->axis[axis].n);
}

uint64_t sweep_seed(const Sweep *sweep, int64_t run)
{
    return sweep->seeds > 0 ? (uint64_t)(run % sweep->seeds) + 1 : 0;
}

static int read_axes(Job *job)
{
    const sweepArguments *arguments = job->arguments;
    Sweep *sweep = &job->sweep;
    char why[VARY_WHY];
    bool drawn = false;
    long seeds = 0;
    if (arguments->vary.n == 0 || arguments->vary.n > SWEEP_AXES)
        return cli_usage("nothing is varied: give --vary PATH=VALUES, 1 to %d times", SWEEP_AXES);
    for (; sweep->n_axes < arguments->vary.n; sweep->n_axes++)
    {
        varyAxis *axis = &sweep->axis[sweep->n_axes];
        if (!vary_parse(arguments->vary.word[sweep->n_axes], &sweep->arena, axis, why))
            return cli_usage("--vary '%s': %s", arguments->vary.word[sweep->n_axes], why);
        for (int a = 0; a < sweep->n_axes; a++)
            if (strcmp(sweep->axis[a].path, axis->path) == 0)
                return cli_usage("--vary '%s' is given twice; write its values as one list", axis->path);
        drawn = drawn || vary_is_drawn(axis);
    }
    if (arguments->seeds != NULL && !cli_integer("--seeds", arguments->seeds, 1, &seeds))
        return TD_ERROR_USAGE;
    if (drawn && seeds == 0)
        return cli_usage("the number of draws is missing: give --seeds N");
    if (!drawn && seeds > 0)
        return cli_usage("--seeds is for distributions, such as --vary 'contact.friction=uniform(0.2, 0.8)'");
    sweep->seeds = seeds;
    sweep->runs = seeds > 0 ? seeds : 1;
    for (int a = 0; a < sweep->n_axes; a++)
    {
        sweep->runs *= sweep->axis[a].n;
        if (sweep->runs > MOST_RUNS)
            return cli_usage("these are more than %d runs; vary less at a time", MOST_RUNS);
    }
    return -1;
}

static int read_take(Job *job)
{
    static const char *const words[] = {"last", "mean", "least", "most"};
    const char *given = job->arguments->take;
    for (int i = 0; i < 4 && given != NULL; i++)
        if (strcmp(words[i], given) == 0)
        {
            job->take = (sweepTake)i;
            return -1;
        }
    return given == NULL ? -1 : cli_usage("--take takes last, mean, least or most, not '%s'", given);
}

// The scene's own changes, and those of a run, by lines. free().
static char *changes_of(const Job *job, int64_t run)
{
    tdText text = {0};
    if (job->settings.set != NULL)
        td_text_append(&text, job->settings.set, strlen(job->settings.set));
    for (int a = 0; a < job->sweep.n_axes; a++)
    {
        char value[VARY_VALUE];
        double number;
        vary_value(&job->sweep.axis[a], sweep_index(&job->sweep, run, a), sweep_seed(&job->sweep, run), a, value,
                   &number);
        td_text_format(&text, "%s=%s\n", job->sweep.axis[a].path, value);
    }
    td_text_append(&text, "", 1); // the zero behind it
    if (!text.failed)
        return text.data;
    free(text.data);
    return NULL;
}

// ---------------------------------------------------------------- one run

static tdStatus load(Job *job, int64_t run, bool aloud, tdModel **model, tdError *error)
{
    tdSettings settings = job->settings;
    char *set = changes_of(job, run);
    if (set == NULL)
        return td_fail_memory(error, "a run");
    settings.set = set;
    if (!aloud)
        settings.log = NULL; // the first has said it
    if (job->one_by_one)
        pthread_mutex_lock(&job->lock);
    tdStatus status = td_model_load(job->arguments->scene, &settings, model, error);
    if (job->one_by_one)
        pthread_mutex_unlock(&job->lock);
    free(set);
    return status;
}

// Into the numbers of the run.
static void collect(const Job *job, const double *now, int64_t step, double *values)
{
    for (int k = 0; k < job->sweep.width; k++)
        switch (job->take)
        {
        case SWEEP_LAST: values[k] = now[k]; break;
        case SWEEP_MEAN: values[k] = step == 1 ? now[k] : values[k] + (now[k] - values[k]) / (double)step; break;
        case SWEEP_LEAST: values[k] = step == 1 ? now[k] : fmin(values[k], now[k]); break;
        case SWEEP_MOST: values[k] = step == 1 ? now[k] : fmax(values[k], now[k]); break;
        }
}

static tdStatus step_through(Job *job, const tdModel *model, tdState *state, const tdOutputs *outputs, sweepRun *run,
                             double *values, tdError *error)
{
    int64_t until = 0;
    double *now = td_take((size_t)job->sweep.width + 1, sizeof *now);
    if (now == NULL)
        return td_fail_memory(error, "a run");
    if (!sim_last_step(job->arguments->steps, job->arguments->time, model, td_model_steps(model), &until))
        until = 0; // was said before the first run
    tdStatus status = TD_OK;
    while (run->steps < until && status == TD_OK && !atomic_load(&job->stop) && !sig_came())
    {
        status = td_step(model, state);
        if (status != TD_OK)
            break;
        run->steps++;
        if (job->take != SWEEP_LAST || run->steps == until)
        {
            td_outputs_read(outputs, model, state, now, 1);
            collect(job, now, run->steps, values);
        }
    }
    free(now);
    run->status = (int32_t)status;
    run->done = status != TD_CANCELLED && (status != TD_OK || run->steps == until);
    for (int k = 0; k < job->sweep.width && status != TD_OK; k++)
        values[k] = NAN; // what it came to is not what was asked for
    return TD_OK;
}

static tdStatus simulate(Job *job, int64_t i, sweepRun *run, double *values, tdError *error)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    tdOutputs *outputs = NULL;
    tdSettings settings = job->settings;
    settings.log = NULL;
    tdStatus status = load(job, i, false, &model, error);
    if (status == TD_OK)
        status = td_outputs_create(model, job->n_outputs, job->outputs, &outputs, error);
    if (status == TD_OK && td_outputs_width(outputs) != job->sweep.width)
        status = td_fail(error, TD_ERROR_INPUT, "it has %" PRId64 " values to read, and the first run has %d",
                         td_outputs_width(outputs), job->sweep.width);
    if (status == TD_OK)
        status = td_state_create(model, &settings, &state, error);
    if (status == TD_OK)
        status = step_through(job, model, state, outputs, run, values, error);
    td_outputs_free(outputs);
    td_state_free(state);
    td_model_free(model);
    return status;
}

// ---------------------------------------------------------------- all of them

static void name_part(int64_t run, char out[32])
{
    snprintf(out, 32, "run-%" PRId64 ".part", run + 1);
}

static void parts_of(Job *job, int64_t i, tdWorkPart parts[2])
{
    parts[0] = (tdWorkPart){&job->sweep.run[i], sizeof job->sweep.run[i]};
    parts[1] = (tdWorkPart){job->sweep.values + i * job->sweep.width, (size_t)job->sweep.width * sizeof(double)};
}

static void do_run(void *context, int i)
{
    Job *job = context;
    sweepRun *run = &job->sweep.run[i], fresh = {0};
    double *values = job->sweep.values + (int64_t)i * job->sweep.width;
    tdError error = {0};
    char name[32];
    tdWorkPart parts[2];
    if (run->done || atomic_load(&job->stop) || sig_came())
        return;
    tdStatus status = simulate(job, i, &fresh, values, &error);
    *run = fresh;
    name_part(i, name);
    parts_of(job, i, parts);
    if (status == TD_OK && run->done)
        status = td_work_save(&job->work, job->work.key, name, 2, parts, &error);
    pthread_mutex_lock(&job->lock);
    job->done += run->done;
    if (status != TD_OK && status != TD_CANCELLED && (job->error.status == TD_OK || i < job->culprit))
    {
        job->error = error;
        job->culprit = i;
        atomic_store(&job->stop, true);
    }
    if (run->done)
        cli_progress("runs", job->done, job->sweep.runs);
    pthread_mutex_unlock(&job->lock);
}

// One line for each thing that the table depends on.
static tdStatus open_work(Job *job, const tdModel *first, tdError *error)
{
    const sweepArguments *arguments = job->arguments;
    char folder[PATH_MAX - 64];
    tdText about = {0};
    tdState *state = NULL;
    uint64_t text = 0, rom = 0;
    if (job->settings.text != NULL)
        text = td_work_key(0, job->settings.text, strlen(job->settings.text));
    else
        TD_TRY(td_work_key_file(arguments->scene, &text, error));
    if (job->settings.rom != NULL)
        TD_TRY(td_work_key_file(job->settings.rom, &rom, error));
    TD_TRY(td_state_create(first, &job->settings, &state, error));
    td_text_format(&about, "tendril %s\nscene %016" PRIx64 ", the first run's start %016" PRIx64 "\n", td_version(),
                   text, td_state_hash(first, state));
    td_state_free(state);
    td_text_format(&about, "changes %s\nreduced model %016" PRIx64 "%s%s%s\nkernels %s\n",
                   job->settings.set != NULL ? job->settings.set : "none", rom, job->settings.rom_whole ? " whole" : "",
                   job->settings.rom_precision == TD_ROM_DOUBLE ? " exact" : "",
                   job->settings.full_order ? " full order" : "", arguments->portable ? "portable" : "of this machine");
    td_text_format(&about, "steps %s, time %s, taken %d\n", arguments->steps != NULL ? arguments->steps : "",
                   arguments->time != NULL ? arguments->time : "", (int)job->take);
    for (int a = 0; a < arguments->vary.n; a++)
        td_text_format(&about, "vary %s\n", arguments->vary.word[a]);
    td_text_format(&about, "seeds %" PRId64 "\noutputs", job->sweep.seeds);
    for (int k = 0; k < job->n_outputs; k++)
        td_text_format(&about, " %s", job->outputs[k]);
    td_text_append(&about, "\n", 2);
    tdStatus status = about.failed ? td_fail_memory(error, "the work") : TD_OK;
    if (status == TD_OK && !td_path_join(folder, sizeof folder, arguments->out, "work"))
        status = td_fail_at(error, TD_ERROR_IO, arguments->out, 0, NULL, "the path is too long");
    if (status == TD_OK)
        status = td_work_open(folder, about.data, *cli_force(), &job->work, error);
    free(about.data);
    return status;
}

// What earlier calls did.
static void find_done(Job *job)
{
    for (int64_t i = 0; i < job->sweep.runs; i++)
    {
        char name[32];
        tdWorkPart parts[2];
        name_part(i, name);
        parts_of(job, i, parts);
        if (!td_work_load(&job->work, job->work.key, name, 2, parts))
            job->sweep.run[i] = (sweepRun){0};
        job->done += job->sweep.run[i].done;
    }
}

// ---------------------------------------------------------------- what is read

static void add_output(Job *job, const char *kind, const char *of)
{
    char name[400];
    snprintf(name, sizeof name, "%s:%s", kind, of);
    const char *copy = job->n_outputs < MOST_OUTPUTS ? td_arena_copy(&job->sweep.arena, name) : NULL;
    if (copy != NULL)
        job->outputs[job->n_outputs++] = copy;
}

static void choose_outputs(Job *job, const tdModel *model)
{
    if (job->arguments->outputs != NULL)
    {
        char *text = td_arena_copy(&job->sweep.arena, job->arguments->outputs), *rest = NULL;
        for (char *name = text != NULL ? strtok_r(text, " ", &rest) : NULL;
             name != NULL && job->n_outputs < MOST_OUTPUTS; name = strtok_r(NULL, " ", &rest))
            job->outputs[job->n_outputs++] = name;
        return;
    }
    for (int i = 0; i < td_model_probes(model); i++)
        add_output(job, "probe", td_model_probe_name(model, i));
    for (int i = 0; i < td_model_effectors(model); i++)
        add_output(job, "effector", td_model_effector(model, i).name);
    for (int i = 0; i < td_model_actuators(model); i++)
    {
        add_output(job, "effort", td_model_actuator(model, i).name);
        add_output(job, "displacement", td_model_actuator(model, i).name);
    }
    for (int i = 0; i < td_model_sensors(model); i++)
        add_output(job, "sensor", td_model_sensor(model, i).name);
}

// Whether a text has the word "rom", and not only as a part of another.
static bool has_rom(const char *text)
{
    for (const char *at = text; text != NULL && (at = strstr(at, "rom")) != NULL; at++)
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[3]) && at[3] != '_')
            return true;
    return false;
}

// Whether reduced models may be loaded: the scene or what changes it speaks of one.
static bool may_have_rom(const Job *job)
{
    char *data = NULL;
    size_t size = 0;
    bool found = job->settings.rom != NULL || has_rom(job->settings.set) || has_rom(job->settings.text);
    for (int a = 0; a < job->sweep.n_axes; a++)
        found = found || has_rom(job->arguments->vary.word[a]);
    if (found || job->settings.text != NULL)
        return found;
    found = td_file_read(job->arguments->scene, &data, &size, NULL) != TD_OK || has_rom(data);
    free(data);
    return found;
}

static tdStatus prepare(Job *job, tdError *error)
{
    Sweep *sweep = &job->sweep;
    tdModel *model = NULL;
    tdOutputs *outputs = NULL;
    job->one_by_one = may_have_rom(job);
    tdStatus status = load(job, 0, true, &model, error);
    int64_t until = 0;
    if (status == TD_OK && !sim_last_step(job->arguments->steps, job->arguments->time, model, 1, &until))
        status = td_fail(error, TD_ERROR_USAGE, "the scene has no end; give --steps or --time");
    if (status == TD_OK)
        choose_outputs(job, model);
    if (status == TD_OK && job->n_outputs == 0)
        status = td_fail(error, TD_ERROR_USAGE,
                         "the scene has neither probes, effectors, actuators nor sensors to read; select outputs, e.g. "
                         "--outputs 'kinetic elastic reaction:%s'",
                         td_model_body_name(model, 0));
    if (status == TD_OK)
        status = td_outputs_create(model, job->n_outputs, job->outputs, &outputs, error);
    if (status == TD_OK)
        status = sweep_titles(sweep, model, outputs, error);
    if (status == TD_OK)
        status = open_work(job, model, error);
    td_outputs_free(outputs);
    td_model_free(model);
    TD_TRY(status);
    sweep->run = TD_TAKE(&sweep->arena, sweepRun, sweep->runs);
    sweep->values = TD_TAKE(&sweep->arena, double, sweep->runs * sweep->width + 1);
    if (sweep->run == NULL || sweep->values == NULL)
        return td_fail_memory(error, "the table");
    find_done(job);
    return TD_OK;
}

// ---------------------------------------------------------------- the command

static double processor_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static int64_t count_failed(const Sweep *sweep)
{
    int64_t failed = 0;
    for (int64_t i = 0; i < sweep->runs; i++)
        failed += sweep->run[i].done && sweep->run[i].status != TD_OK;
    return failed;
}

static void print(const Job *job, int64_t resumed, double wall, double processor)
{
    const Sweep *sweep = &job->sweep;
    bool whole = job->done == sweep->runs;
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "status", whole ? "done" : "interrupted");
        td_json_string(&json, "scene", job->arguments->scene);
        td_json_integer(&json, "runs", sweep->runs);
        td_json_integer(&json, "done", job->done);
        td_json_integer(&json, "resumed", resumed);
        td_json_integer(&json, "failed", count_failed(sweep));
        td_json_integer(&json, "columns", sweep->width);
        td_json_number(&json, "wall_s", wall);
        td_json_number(&json, "processor_s", processor);
        td_json_string(&json, "out", job->arguments->out);
        td_json_close(&json, '}');
        cli_print_json(&json);
    }
    else if (whole)
    {
        printf("scene       %s\n", job->arguments->scene);
        printf("runs        %" PRId64 ", %" PRId64 " of them failed", sweep->runs, count_failed(sweep));
        printf(resumed > 0 ? "; %" PRId64 " were done before\n" : "\n", resumed);
        printf("time        %.3g s, %.3g s of processors\n", wall, processor);
        printf("table       %s/table.csv, %s/table.png\n", job->arguments->out, job->arguments->out);
    }
}

static tdStatus run_all(Job *job, tdError *error)
{
    tdTasks *tasks = NULL;
    long threads = job->settings.threads;
    job->settings.threads = 1;
    TD_TRY(td_tasks_create((int)threads, &tasks, error));
    sigBefore before = sig_catch();
    td_parallel(tasks, (int)job->sweep.runs, do_run, job);
    sig_release(&before);
    td_tasks_free(tasks);
    if (job->error.status == TD_OK)
        return TD_OK;
    char *set = changes_of(job, job->culprit), *own = set;
    size_t skip = job->settings.set != NULL ? strlen(job->settings.set) : 0;
    if (own != NULL && strlen(own) > 0)
        own[strlen(own) - 1] = '\0'; // the last end of a line
    *error = job->error;
    char message[sizeof error->message];
    snprintf(message, sizeof message, "run %" PRId64 " (%.100s): %.500s", job->culprit + 1,
             own != NULL ? own + skip : "", job->error.message);
    snprintf(error->message, sizeof error->message, "%s", message);
    free(set);
    return job->error.status;
}

static int sweep_all(Job *job)
{
    tdError error = {0};
    double start = td_seconds(), used = processor_seconds();
    if (prepare(job, &error) != TD_OK)
        return cli_fail(&error);
    int64_t resumed = job->done;
    tdStatus status = run_all(job, &error);
    bool whole = status == TD_OK && job->done == job->sweep.runs;
    if (whole)
        status = sweep_write(&job->sweep, job->arguments->out, &error);
    // What a wrong value leaves cannot be gone on with: the command will be another one.
    td_work_close(&job->work, status == TD_OK ? whole : status == TD_ERROR_INPUT);
    if (status != TD_OK)
        return cli_fail(&error);
    print(job, resumed, td_seconds() - start, processor_seconds() - used);
    int64_t failed = count_failed(&job->sweep);
    if (!whole)
        fprintf(stderr,
                "tendril: interrupted after %" PRId64 " of %" PRId64 " runs; the same command resumes from there\n",
                job->done, job->sweep.runs);
    else if (failed > 0)
        fprintf(stderr, "warning: %" PRId64 " of %" PRId64 " runs failed; 'status' in %s/table.csv says which\n",
                failed, job->sweep.runs, job->arguments->out);
    return !whole ? 130 : failed == job->sweep.runs ? TD_ERROR_NUMERIC : 0;
}

int cmd_sweep(int argc, char **argv)
{
    static const char *const files[] = {"table.csv", "table.png", NULL};
    sweepArguments arguments = {0};
    const cliOption options[] = {
        {"--vary", &arguments.vary.last, NULL},
        {"--seeds", &arguments.seeds, NULL},
        {"--outputs", &arguments.outputs, NULL},
        {"--take", &arguments.take, NULL},
        {"--steps", &arguments.steps, NULL},
        {"--time", &arguments.time, NULL},
        OUT_OPTIONS(arguments.out),
        {"--threads", &arguments.threads, NULL},
        {"--portable", NULL, &arguments.portable},
        CLI_ROM_OPTIONS,
    };
    cli_repeats(&arguments.vary);
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &arguments.scene, 1, 1);
    if (code >= 0)
        return code;
    Job job = {.arguments = &arguments, .settings = cli_settings(), .lock = PTHREAD_MUTEX_INITIALIZER};
    job.settings.portable = arguments.portable;
    if (arguments.out == NULL)
        return cli_usage("the output folder is missing; give --out DIR");
    code = sim_check_common(arguments.threads, arguments.out, &job.settings);
    if (code < 0)
        code = read_take(&job);
    if (code < 0)
        code = read_axes(&job);
    outFolder folder = {.lock = TD_UNLOCKED};
    if (code < 0)
        code = out_take(&folder, arguments.out, files, false);
    if (code < 0)
        code = sweep_all(&job);
    out_release(&folder);
    td_arena_free(&job.sweep.arena);
    return code;
}
