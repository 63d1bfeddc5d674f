// SPDX-License-Identifier: Apache-2.0
// tendril haptic: feel a scene by a device, or by a motion that was recorded of one.
#include "haptic/haptic.h"

#include "base/timer.h"
#include "folder.h"
#include "haptic/loop.h"
#include "signals.h"
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static const char help[] =
    "usage: tendril haptic SCENE --device DEVICE [options]\n\n"
    "Simulates a scene in real time and returns the forces on a tool, a rigid body with 'guided: true', to the\n"
    "user's hand at the rate of the device. The simulation and the device loop are threads that never wait for each\n"
    "other. At the end it reports the timing of the loop and whether the scene is too heavy.\n\n"
    "  --device DEVICE  trace:FILE.csv   a recorded motion: t, x, y, z (and rx [rad], ry [rad], rz [rad], grip),\n"
    "                                    displacements from the tool's initial pose; FILE.csv alone means the same\n"
    "                   hand:FILE.csv    a simulated hand that tries to follow such a motion\n"
    "                   udp:PORT         datagrams at 127.0.0.1, or udp:ADDRESS:PORT (docs/haptics.md)\n"
    "                   forcedimension, openhaptics   by the vendor's library\n"
    "                   haply            by the vendor's service; haply:PORT, haply:ADDRESS:PORT\n"
    "                   auto             the first of these three that is found\n"
    "                   NAME=DEVICE,NAME=DEVICE   two tools of the scene, or more, each with its device\n"
    "  --tool NAME      the body that the hand holds (default: the only guided one)\n"
    "  --rate HZ        of the loop (1000)\n"
    "  --stiffness K    of the coupling of device and tool [N/m] (1000)\n"
    "  --max-force F    of the device [N] (3)\n"
    "  --time T         end after T seconds (default: when the recording ends)\n"
    "  --inside         step the simulation inside the loop, before each tick: for fast enough reduced bodies. The "
    "scene's\n"
    "                   time_step must be the period of the loop\n"
    "  --lockstep       no threads and no clock: steps and ticks alternate, the same result each time\n"
    "  --out DIR        write forces.csv, one row per tick; with several tools forces_NAME.csv\n" OUT_HELP(
        "          ")      //
    CLI_ROM_HELP("      ") //
    "  --threads N      worker threads of the simulation (default: all cores)\n"
    "  --json           print one JSON object: percentiles of the loop, times of steps, what is too heavy\n"
    "  --quiet          no progress\n\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 out of memory, 6 a file could not be written,\n"
    "130 interrupted.\n\n"
    "example: tendril haptic scenes/haptic/cube.yaml --device scenes/haptic/press.csv --lockstep --out felt\n";

#define MOST_RECORDS (4 * 3600 * 1000)
#define ENDLESS      3600.0 // [s] that are recorded of a device without an end

typedef struct hapticArguments
{
    const char *scene, *device, *tool, *rate, *stiffness, *max_force, *time, *out, *threads;
    bool lockstep, inside;
} hapticArguments;

#define MOST_TOOLS 4

// A tool and the hand that holds it.
typedef struct tool
{
    char name[128]; ///< empty: the only one
    tdHaptic *haptic;
    tdDevice *device;
    tdLoop *loop;
    tdLoopReport report;
    tdLoopRecord *records; ///< of lockstep
    const tdLoopRecord *felt;
    int64_t n_felt, tick;
} tool;

typedef struct session
{
    const hapticArguments *arguments;
    tdModel *model;
    tdState *state;
    tool tools[MOST_TOOLS];
    tdHaptic *haptics[MOST_TOOLS];
    int n;
    double period, until;
    double *seconds, *work;    ///< by step: time taken, and time of the processor in it
    int64_t steps, room, late; ///< late: steps that took longer than the time step
    int64_t work_room;
    double stage[TD_STAGES];
    tdStatus status;
    tdError error; ///< what status failed by
    bool interrupted;
} session;

static const char *const files[] = {"forces.csv", NULL};

// ---------------------------------------------------------------- the simulation's side

// Of the thread that steps.
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool make_room(session *s, int64_t steps)
{
    return td_grow((void **)&s->seconds, &s->room, steps, sizeof *s->seconds) &&
           td_grow((void **)&s->work, &s->work_room, steps, sizeof *s->work);
}

static tdStatus one_step(session *s, double clock)
{
    double began = td_seconds(), worked = processor_seconds();
    tdStatus status = td_haptic_step_all(s->haptics, s->n, s->model, s->state, clock);
    double took = td_seconds() - began;
    worked = processor_seconds() - worked;
    if (status != TD_OK)
        s->error = td_state_report(s->state)->error;
    if (!make_room(s, s->steps + 1))
        return td_fail_memory(&s->error, "the times of steps");
    s->work[s->steps] = worked;
    s->seconds[s->steps++] = took;
    s->late += took > td_model_time_step(s->model);
    for (int k = 0; k < TD_STAGES; k++)
        s->stage[k] += td_state_report(s->state)->stage_seconds[k];
    return status;
}

static void run_lockstep(session *s)
{
    double h = td_model_time_step(s->model);
    int64_t most = (int64_t)fmin(MOST_RECORDS, s->until / s->period + 2);
    for (int i = 0; i < s->n; i++)
        if ((s->tools[i].records = calloc((size_t)most, sizeof *s->tools[i].records)) == NULL)
        {
            s->status = td_fail_memory(&s->error, "the forces");
            return;
        }
    for (int64_t k = 0; s->status == TD_OK && (double)k * h < s->until - 1e-9 && !sig_came(); k++)
    {
        s->status = one_step(s, (double)k * h);
        for (int i = 0; i < s->n; i++)
        {
            tool *t = &s->tools[i];
            td_loop_lockstep(t->haptic, t->device, s->period, &t->tick, fmin((double)(k + 1) * h, s->until), t->records,
                             most, &t->n_felt);
        }
        cli_progress("feeling", (int64_t)((double)(k + 1) * h), (int64_t)ceil(s->until));
    }
    for (int i = 0; i < s->n; i++)
    {
        s->tools[i].report.ticks = s->tools[i].tick;
        s->tools[i].felt = s->tools[i].records;
    }
}

static tdStatus step_inside(void *user, double clock)
{
    return one_step(user, clock);
}

static bool any_ended(const session *s)
{
    bool ended = false;
    for (int i = 0; i < s->n; i++)
        ended = ended || td_loop_ended(s->tools[i].loop);
    return ended;
}

// Steps keep to the clock as long as they can; what is late is not made up for.
static void step_by_clock(session *s)
{
    const tdLoop *loop = s->tools[0].loop;
    double h = td_model_time_step(s->model), next = 0;
    while (s->status == TD_OK && !any_ended(s) && !sig_came())
    {
        s->status = one_step(s, td_loop_clock(loop));
        next = fmax(next + h, td_loop_clock(loop) - h);
        double wait = next - td_loop_clock(loop);
        struct timespec pause = {.tv_sec = (time_t)wait, .tv_nsec = (long)(1e9 * (wait - floor(wait)))};
        if (wait > 0)
            nanosleep(&pause, NULL);
        if (isfinite(s->until))
            cli_progress("feeling", (int64_t)td_loop_clock(loop), (int64_t)ceil(s->until));
    }
}

// A thread for each tool.
static tdStatus run_threads(session *s, tdError *error)
{
    tdLoopSettings settings = td_default_loop(s->period);
    settings.duration = s->until;
    settings.records =
        s->arguments->out != NULL ? (int64_t)fmin(MOST_RECORDS, fmin(s->until, ENDLESS) / s->period + 10) : 0;
    if (s->arguments->inside)
    {
        // All that will be needed is taken before.
        int64_t most = (int64_t)fmin(MOST_RECORDS, fmin(s->until, ENDLESS) / s->period + 10);
        if (!make_room(s, most))
            return td_fail_memory(error, "the times of steps");
        settings.step = step_inside;
        settings.user = s;
    }
    tdStatus status = TD_OK;
    int started = 0;
    for (; started < s->n && status == TD_OK; started += status == TD_OK)
        status = td_loop_start(s->tools[started].haptic, s->tools[started].device, &settings, &s->tools[started].loop,
                               error);
    while (status == TD_OK && s->arguments->inside && !any_ended(s) && !sig_came())
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (status == TD_OK && !s->arguments->inside)
        step_by_clock(s);
    for (int i = 0; i < started; i++)
    {
        s->tools[i].report = *td_loop_stop(s->tools[i].loop);
        s->tools[i].felt = td_loop_records(s->tools[i].loop, &s->tools[i].n_felt);
    }
    s->status = s->arguments->inside ? s->tools[0].report.status : s->status;
    return status;
}

// ---------------------------------------------------------------- is it too heavy?

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile_of(const session *s, const double *sorted, double share)
{
    int64_t at = (int64_t)(share * (double)s->steps);
    return s->steps == 0 ? 0 : sorted[at < s->steps ? at : s->steps - 1];
}

static double step_quantile(const session *s, double share)
{
    return quantile_of(s, s->seconds, share);
}

// The body with most nodes: where to begin.
static int largest_body(const session *s)
{
    int largest = 0;
    for (int b = 1; b < td_model_bodies(s->model); b++)
        largest = td_model_body_nodes(s->model, b) > td_model_body_nodes(s->model, largest) ? b : largest;
    return largest;
}

static tdStage slowest(const session *s, double *share)
{
    tdStage worst = 0;
    double sum = 0;
    for (int k = 0; k < TD_STAGES; k++)
    {
        sum += s->stage[k];
        worst = s->stage[k] > s->stage[worst] ? (tdStage)k : worst;
    }
    *share = sum > 0 ? s->stage[worst] / sum : 0;
    return worst;
}

static const char *way_out(tdStage stage)
{
    switch (stage)
    {
    case TD_STAGE_COLLIDE:
        return "let bodies touch by fewer points: 'contact: {nodes: n}' of a body, a smaller 'points'";
    case TD_STAGE_SOLVE: return "let bodies touch by fewer points, or reduce the body ('tendril reduce')";
    case TD_STAGE_FORCES:
    case TD_STAGE_FREE: return "use a coarser mesh, or reduce the body ('tendril reduce' and --rom)";
    default: return "use a longer time_step, or a smaller scene";
    }
}

// One sentence; true: it is too heavy.
static bool judge(const session *s, char *out, size_t size)
{
    double h = td_model_time_step(s->model), p95 = step_quantile(s, 0.95), share = 0;
    tdStage stage = slowest(s, &share);
    double work = 0;
    for (int i = 0; i < s->n; i++)
        work = fmax(work, td_times_quantile(&s->tools[i].report.work, 0.999));
    if (work > 0.5 * s->period && !s->arguments->inside)
    {
        snprintf(out, size,
                 "too heavy for the device: 99.9 %% of the ticks take up to %.0f us of %.0f us; let fewer points of "
                 "the tool touch, or use a lower --rate",
                 1e6 * work, 1e6 * s->period);
        return true;
    }
    if (p95 <= h)
    {
        snprintf(out, size, "no: 95 %% of the steps take less than %.3g ms, and each has %.3g ms", 1e3 * p95, 1e3 * h);
        return false;
    }
    double worked = quantile_of(s, s->work, 0.95);
    if (worked <= 0.8 * h)
    {
        snprintf(out, size,
                 "on this busy machine yes: 5 %% of the steps take more than %.3g ms, and each has %.3g ms. But the "
                 "scene is "
                 "not the reason: 95 %% of the steps need less than %.3g ms of processor time and spend the rest "
                 "waiting for "
                 "a core. End the other programs that keep the cores busy",
                 1e3 * p95, 1e3 * h, 1e3 * worked);
        return true;
    }
    int body = largest_body(s);
    snprintf(
        out, size,
        "yes, %.2g times too heavy: 5 %% of the steps take more than %.3g ms, and each has %.3g ms. %.0f %% of it is "
        "the stage '%s': %s. The largest body is '%s' with %d nodes",
        p95 / h, 1e3 * p95, 1e3 * h, 100 * share, td_stage_name(stage), way_out(stage),
        td_model_body_name(s->model, body), td_model_body_nodes(s->model, body));
    return true;
}

// ---------------------------------------------------------------- what is told

static tdStatus write_forces(const session *s, const tool *t, tdError *error)
{
    tdText text = {0};
    char name[160] = "forces.csv";
    if (s->n > 1)
        snprintf(name, sizeof name, "forces_%s.csv", t->name);
    td_text_format(&text, "time [s],device_x [m],device_y [m],device_z [m],tool_x [m],tool_y [m],tool_z [m],force_x "
                          "[N],force_y [N],force_z [N],asked_x [N],asked_y [N],asked_z [N],torque_x [N m],torque_y [N "
                          "m],torque_z [N m],contacts,slipping,fade,fault\n");
    for (int64_t i = 0; i < t->n_felt; i++)
    {
        const tdLoopRecord *r = &t->felt[i];
        td_text_format(&text, "%.9g", r->time);
        const double *const lists[] = {r->position, r->tool, r->force, r->asked, r->torque};
        for (int k = 0; k < 15; k++)
            td_text_format(&text, ",%.9g", lists[k / 3][k % 3]);
        td_text_format(&text, ",%d,%d,%.4g,%d\n", r->contacts, r->slipping, r->fade, r->fault);
    }
    tdStatus status = cli_write(s->arguments->out, name, &text, error);
    free(text.data);
    return status;
}

static const struct
{
    const char *name;
    double share;
} quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99_9", 0.999}, {"p99_99", 0.9999}};

static void json_times(tdJson *json, const char *key, const tdTimes *times)
{
    td_json_open(json, key, '{');
    td_json_number(json, "least_us", 1e6 * times->least);
    for (int k = 0; k < 4; k++)
    {
        char name[24];
        snprintf(name, sizeof name, "%s_us", quantiles[k].name);
        td_json_number(json, name, 1e6 * td_times_quantile(times, quantiles[k].share));
    }
    td_json_number(json, "most_us", 1e6 * times->most);
    td_json_close(json, '}');
}

// What is of one hand alone.
static void json_tool(tdJson *json, const tool *t)
{
    char told[300] = "";
    const tdHaptic *haptic = t->haptic;
    t->device->ops->tell(t->device, told, sizeof told);
    td_json_string(json, "device", t->device->name);
    td_json_string(json, "device_report", told);
    td_json_integer(json, "ticks", t->report.ticks);
    td_json_integer(json, "missed", t->report.missed);
    json_times(json, "late", &t->report.late);
    json_times(json, "work", &t->report.work);
    td_json_bool(json, "priority", t->report.priority);
    td_json_bool(json, "locked", t->report.locked);
    td_json_string(json, "not_granted", t->report.why);
    td_json_integer(json, "most_contacts", haptic->most_contacts);
    td_json_integer(json, "steps_with_contacts_left_out", haptic->left_out);
    td_json_number(json, "largest_force", haptic->most_force);
    td_json_integer(json, "unsolved_ticks", haptic->unsolved);
    td_json_number(json, "unsolved_residual", haptic->residual);
    td_json_integer(json, "limited_ticks", haptic->guard.limited);
    td_json_integer(json, "cut_ticks", haptic->guard.cuts);
    td_json_integer(json, "faults", haptic->guard.faults);
    td_json_number(json, "energy_given", haptic->guard.most);
}

static void print_json(const session *s, const char *heavy, bool is_heavy)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", s->status != TD_OK ? "failed" : s->interrupted ? "interrupted" : "done");
    if (s->status != TD_OK)
        cli_json_error(&json, &s->error);
    td_json_string(&json, "scene", s->arguments->scene);
    td_json_bool(&json, "lockstep", s->arguments->lockstep);
    td_json_bool(&json, "inside", s->arguments->inside);
    td_json_number(&json, "rate", 1 / s->period);
    if (s->n == 1)
        json_tool(&json, &s->tools[0]);
    else
        td_json_open(&json, "tools", '[');
    for (int i = 0; i < s->n && s->n > 1; i++)
    {
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "tool", s->tools[i].name);
        json_tool(&json, &s->tools[i]);
        td_json_close(&json, '}');
    }
    if (s->n > 1)
        td_json_close(&json, ']');
    td_json_integer(&json, "steps", s->steps);
    td_json_number(&json, "time", td_state_time(s->state));
    td_json_integer(&json, "late_steps", s->late);
    td_json_number(&json, "step_p50_ms", 1e3 * step_quantile(s, 0.5));
    td_json_number(&json, "step_p95_ms", 1e3 * step_quantile(s, 0.95));
    td_json_number(&json, "step_most_ms", 1e3 * step_quantile(s, 1));
    td_json_number(&json, "step_processor_p95_ms", 1e3 * quantile_of(s, s->work, 0.95));
    td_json_bool(&json, "too_heavy", is_heavy);
    td_json_string(&json, "too_heavy_why", heavy);
    td_json_integer(&json, "peak_rss", sim_peak_memory());
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static void print_times(const char *name, const tdTimes *times)
{
    printf("%-11s minimum %.0f us, median %.0f, p99 %.0f, p99.9 %.0f, p99.99 %.0f, maximum %.0f us\n", name,
           1e6 * times->least, 1e6 * td_times_quantile(times, 0.5), 1e6 * td_times_quantile(times, 0.99),
           1e6 * td_times_quantile(times, 0.999), 1e6 * td_times_quantile(times, 0.9999), 1e6 * times->most);
}

// Ticks by how late they began, in buckets that double.
static void print_histogram(const tdTimes *times)
{
    int low = 0;
    for (int high = 1; low < TD_LOOP_BUCKETS; low = high, high *= 2)
    {
        int64_t n = 0;
        for (int k = low; k < high && k < TD_LOOP_BUCKETS; k++)
            n += times->bucket[k];
        if (n > 0)
            printf("            %s%d us: %" PRId64 "\n", high < TD_LOOP_BUCKETS ? "less than " : "more than ",
                   high < TD_LOOP_BUCKETS ? high : low, n);
    }
}

static void print_tool(const session *s, const tool *t)
{
    char told[300] = "";
    struct utsname system = {0};
    const tdHaptic *haptic = t->haptic;
    uname(&system);
    t->device->ops->tell(t->device, told, sizeof told);
    if (s->n > 1)
        printf("tool        %s\n", t->name);
    printf("device      %s%s%s\n", t->device->name, told[0] != '\0' ? ": " : "", told);
    printf("force       %.3g N at most; %d contacts at most", haptic->most_force, haptic->most_contacts);
    if (haptic->left_out > 0)
        printf(" (more were in range in %lld steps)", (long long)haptic->left_out);
    printf(
        "\nguard       %lld ticks limited by passivity, %lld cut to the maximum, %lld faults; the hand was given %.3g "
        "mJ at most\n",
        (long long)haptic->guard.limited, (long long)haptic->guard.cuts, (long long)haptic->guard.faults,
        1e3 * haptic->guard.most);
    if (s->arguments->lockstep)
        return;
    printf("loop        %lld ticks at %g Hz, %lld missed\n", (long long)t->report.ticks, 1 / s->period,
           (long long)t->report.missed);
    print_times("late", &t->report.late);
    print_histogram(&t->report.late);
    print_times("work", &t->report.work);
    printf("system      %s %s; priority %s, memory %s%s%s\n", system.sysname, system.release,
           t->report.priority ? "granted" : "not granted", t->report.locked ? "locked" : "not locked",
           t->report.why[0] != '\0' ? " - " : "", t->report.why);
}

static void print_report(const session *s, const char *heavy)
{
    printf("scene       %s, %lld steps of %g ms\n", s->arguments->scene, (long long)s->steps,
           1e3 * td_model_time_step(s->model));
    for (int i = 0; i < s->n; i++)
        print_tool(s, &s->tools[i]);
    printf("steps       median %.3g ms, 95 %% below %.3g ms, maximum %.3g ms; %lld were longer than the time step\n",
           1e3 * step_quantile(s, 0.5), 1e3 * step_quantile(s, 0.95), 1e3 * step_quantile(s, 1), (long long)s->late);
    printf("too heavy?  %s\n", heavy);
}

static int tell(session *s)
{
    char heavy[600];
    if (s->steps > 0)
    {
        qsort(s->seconds, (size_t)s->steps, sizeof *s->seconds, by_size);
        qsort(s->work, (size_t)s->steps, sizeof *s->work, by_size);
    }
    bool is_heavy = judge(s, heavy, sizeof heavy);
    tdError error = {0};
    for (int i = 0; i < s->n; i++)
    {
        tool *t = &s->tools[i];
        if (s->arguments->out != NULL && write_forces(s, t, &error) != TD_OK)
            return cli_fail(&error);
    }
    if (cli_json())
        print_json(s, heavy, is_heavy);
    else
        print_report(s, heavy);
    if (s->status != TD_OK)
        return cli_json() ? (int)s->status : cli_fail(&s->error);
    return s->interrupted ? 130 : 0;
}

// ---------------------------------------------------------------- the command

static bool read_numbers(const hapticArguments *arguments, tdHapticSettings *settings, session *s)
{
    double rate = 1000;
    bool good =
        (arguments->rate == NULL || cli_number("--rate", arguments->rate, &rate)) &&
        (arguments->stiffness == NULL || cli_number("--stiffness", arguments->stiffness, &settings->stiffness)) &&
        (arguments->max_force == NULL || cli_number("--max-force", arguments->max_force, &settings->max_force)) &&
        (arguments->time == NULL || cli_number("--time", arguments->time, &s->until));
    if (good && !(rate >= 10 && rate <= 10000))
    {
        cli_usage("--rate %g is not between 10 and 10000", rate);
        return false;
    }
    if (good && arguments->time != NULL && !(s->until > 0 && s->until <= 1e6))
    {
        cli_usage("--time %g is not between 0 and 1e6 seconds", s->until);
        return false;
    }
    settings->period = s->period = 1 / rate;
    settings->max_torque = 0.1 * settings->max_force;
    return good;
}

// When a recording ends, by asking it.
static double end_of(const tdDevice *device)
{
    double time = 1e-3;
    while (time < 1e6 && !device->ops->ended(device, time))
        time *= 2;
    if (!(time < 1e6))
        return INFINITY;
    double low = 0.5 * time;
    for (int k = 0; k < 60; k++)
    {
        double middle = 0.5 * (low + time);
        if (device->ops->ended(device, middle))
            time = middle;
        else
            low = middle;
    }
    return time;
}

// NAME=DEVICE,NAME=DEVICE, or a device alone. Opens what there is.
static tdStatus open_tools(session *s, tdHapticSettings settings, const tdSettings *library, tdError *error)
{
    const char *at = s->arguments->device;
    for (bool last = false; !last;)
    {
        char spec[600];
        size_t length = strcspn(at, ",");
        last = at[length] == '\0';
        if (s->n == MOST_TOOLS || length == 0 || length >= sizeof spec)
            return td_fail(error, TD_ERROR_USAGE, "--device '%.200s': %d devices at most, with commas between them",
                           s->arguments->device, MOST_TOOLS);
        memcpy(spec, at, length);
        spec[length] = '\0';
        tool *t = &s->tools[s->n];
        char *device = strchr(spec, '=');
        bool named = device != NULL && device - spec < (ptrdiff_t)sizeof t->name;
        if (!named && (s->n > 0 || !last))
            return td_fail(error, TD_ERROR_USAGE, "'%.200s': of several devices each is given as TOOL=DEVICE", spec);
        if (named)
        {
            *device++ = '\0';
            snprintf(t->name, sizeof t->name, "%.120s", spec);
            settings.tool = t->name;
        }
        s->n++; // before it is complete, so that a failure frees it
        for (int i = 0; i + 1 < s->n; i++)
            if (strcmp(s->tools[i].name, t->name) == 0)
                return td_fail(error, TD_ERROR_USAGE, "tool '%s' has two devices; give each tool one", t->name);
        TD_TRY(td_haptic_create(s->model, &settings, &t->haptic, error));
        TD_TRY(td_device_open(named ? device : spec, s->period, 0, library, &t->device, error));
        s->haptics[s->n - 1] = t->haptic;
        s->until = fmin(s->until, end_of(t->device));
        at += length + 1;
    }
    return TD_OK;
}

static int feel(session *s, const tdHapticSettings *settings, const tdSettings *library)
{
    tdError error = {0};
    tdStatus status = open_tools(s, *settings, library, &error);
    if (status != TD_OK)
        return cli_fail(&error);
    double h = td_model_time_step(s->model);
    if (s->arguments->inside && fabs(h - s->period) > 1e-9 * h)
        return cli_usage(
            "--inside takes a step a tick, so that the scene's time_step, %g ms, must be the period of the "
            "loop, %g ms; change one, or --rate",
            1e3 * h, 1e3 * s->period);
    if (s->arguments->inside && s->n > 1)
        return cli_usage("--inside is for one tool, whose loop steps the simulation");
    if (s->arguments->inside && s->arguments->lockstep)
        return cli_usage("--inside and --lockstep exclude each other; give one");
    if (s->arguments->lockstep && !isfinite(s->until))
        return cli_usage("--lockstep needs a recorded motion, or --time T");
    for (int i = 0; i < s->n && !cli_quiet() && !s->arguments->lockstep; i++)
        fprintf(stderr, "device %s; end with Ctrl-C\n", s->tools[i].device->name);
    sigBefore before = sig_catch();
    if (s->arguments->lockstep)
        run_lockstep(s);
    else
        status = run_threads(s, &error);
    s->interrupted = sig_came();
    sig_writing();
    int code = status == TD_OK ? tell(s) : cli_fail(&error);
    sig_release(&before);
    return code;
}

int cmd_haptic(int argc, char **argv)
{
    hapticArguments arguments = {0};
    const cliOption options[] = {
        {"--device", &arguments.device, NULL},
        {"--tool", &arguments.tool, NULL},
        {"--rate", &arguments.rate, NULL},
        {"--stiffness", &arguments.stiffness, NULL},
        {"--max-force", &arguments.max_force, NULL},
        {"--time", &arguments.time, NULL},
        {"--lockstep", NULL, &arguments.lockstep},
        OUT_OPTIONS(arguments.out),
        {"--threads", &arguments.threads, NULL},
        {"--inside", NULL, &arguments.inside},
        CLI_ROM_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &arguments.scene, 1, 1);
    if (code >= 0)
        return code;
    tdSettings library = cli_settings();
    tdHapticSettings settings = td_default_haptic();
    session s = {.arguments = &arguments, .until = INFINITY};
    outFolder folder;
    if (arguments.device == NULL)
        return cli_usage("--device is missing; --help lists the devices");
    if (!read_numbers(&arguments, &settings, &s))
        return TD_ERROR_USAGE;
    settings.tool = arguments.tool;
    code = sim_check_common(arguments.threads, arguments.out, &library);
    if (code >= 0)
        return code;
    code = out_take(&folder, arguments.out, files, false);
    if (code >= 0)
        return code;
    tdError error = {0};
    if (td_model_load(arguments.scene, &library, &s.model, &error) != TD_OK ||
        td_state_create(s.model, &library, &s.state, &error) != TD_OK)
        code = cli_fail(&error);
    else
        code = feel(&s, &settings, &library);
    for (int i = 0; i < s.n; i++)
    {
        td_loop_free(s.tools[i].loop);
        td_device_close(s.tools[i].device);
        td_haptic_free(s.tools[i].haptic);
        free(s.tools[i].records);
    }
    td_state_free(s.state);
    td_model_free(s.model);
    free(s.seconds);
    free(s.work);
    out_release(&folder);
    return code;
}
