// SPDX-License-Identifier: Apache-2.0
// tendril haptic: feel a scene by a device, or by a motion that was recorded of one.
#include "haptic_report.h"

#include "base/timer.h"
#include "folder.h"
#include "signals.h"
#include "simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const char *const files[] = {"forces.csv", NULL};

// ---------------------------------------------------------------- the simulation's side

// Of the thread that steps.
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool make_room(hapticSession *s, int64_t steps)
{
    return td_grow((void **)&s->seconds, &s->room, steps, sizeof *s->seconds) &&
           td_grow((void **)&s->work, &s->work_room, steps, sizeof *s->work);
}

static tdStatus one_step(hapticSession *s, double clock)
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

static void run_lockstep(hapticSession *s)
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
            hapticTool *t = &s->tools[i];
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

static bool any_ended(const hapticSession *s)
{
    bool ended = false;
    for (int i = 0; i < s->n; i++)
        ended = ended || td_loop_ended(s->tools[i].loop);
    return ended;
}

// Says when a hand loses its force, why, and when it is back: once a second at most, since faults may come and go by
// the tick.
static void tell_faults(hapticSession *s)
{
    for (int i = 0; i < s->n; i++)
    {
        hapticTool *t = &s->tools[i];
        double clock = td_loop_clock(t->loop);
        int fault = td_loop_fault(t->loop);
        if (fault == t->told || clock < t->told_when + 1)
            continue;
        const char *of = s->n > 1 ? " for tool " : "", *name = s->n > 1 ? t->name : "";
        if (fault != 0)
            fprintf(stderr, "warning: no force%s%s at %.2f s: %s (device %s)\n", of, name, clock,
                    td_haptic_fault(fault), t->device->name);
        else if (!cli_quiet())
            fprintf(stderr, "the force%s%s is back at %.2f s\n", of, name, clock);
        t->told = fault;
        t->told_when = clock;
    }
}

// Steps keep to the clock as long as they can; what is late is not made up for.
static void step_by_clock(hapticSession *s)
{
    const tdLoop *loop = s->tools[0].loop;
    double h = td_model_time_step(s->model), next = 0;
    while (s->status == TD_OK && !any_ended(s) && !sig_came())
    {
        s->status = one_step(s, td_loop_clock(loop));
        tell_faults(s);
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
static tdStatus run_threads(hapticSession *s, tdError *error)
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
    {
        tell_faults(s);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    if (status == TD_OK && !s->arguments->inside)
        step_by_clock(s);
    if (status == TD_OK)
        tell_faults(s);
    for (int i = 0; i < started; i++)
    {
        s->tools[i].report = *td_loop_stop(s->tools[i].loop);
        s->tools[i].felt = td_loop_records(s->tools[i].loop, &s->tools[i].n_felt);
    }
    s->status = s->arguments->inside ? s->tools[0].report.status : s->status;
    return status;
}

// ---------------------------------------------------------------- the command

static bool read_numbers(const hapticArguments *arguments, tdHapticSettings *settings, hapticSession *s)
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
    if (good && !(settings->stiffness > 0))
    {
        cli_usage("--stiffness %g is not above 0 N/m", settings->stiffness);
        return false;
    }
    if (good && !(settings->max_force > 0 && settings->max_force <= 1e4))
    {
        cli_usage("--max-force %g is not above 0 and up to 10000 N", settings->max_force);
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
static tdStatus open_tools(hapticSession *s, tdHapticSettings settings, const tdSettings *library, tdError *error)
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
        hapticTool *t = &s->tools[s->n];
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
        t->told_when = -1;
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

static int feel(hapticSession *s, const tdHapticSettings *settings, const tdSettings *library)
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
    int code = status == TD_OK ? haptic_tell(s) : cli_fail(&error);
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
    hapticSession s = {.arguments = &arguments, .until = INFINITY};
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
