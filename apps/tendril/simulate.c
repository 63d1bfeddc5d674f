// SPDX-License-Identifier: Apache-2.0
#include "simulate.h"

#include "base/file.h"
#include "base/timer.h"
#include "output/actuation.h"
#include "output/frames.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/// The first signal asks for an orderly end; the handler is then gone, so that a second one ends at once.
typedef struct simSignals
{
    struct sigaction interrupt, terminate;
} simSignals;

static simSignals catch_signals(void)
{
    simSignals before;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    interrupted = 0;
    sigaction(SIGINT, &action, &before.interrupt);
    sigaction(SIGTERM, &action, &before.terminate);
    return before;
}

static void release_signals(const simSignals *before)
{
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGTERM, &before->terminate, NULL);
}

static tdStatus save(const tdModel *model, const tdState *state, const simOptions *options, simResult *result,
                     tdError *error)
{
    if (result->checkpoint[0] != '\0' && result->checkpoint_step == td_state_steps(state))
        return TD_OK;
    char path[sizeof result->checkpoint];
    const char *folder = options->checkpoint != NULL ? "." : options->out;
    if (!td_path_join(path, sizeof path, folder, options->checkpoint != NULL ? options->checkpoint : "checkpoint.h5"))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path of the checkpoint is too long");
    double start = td_seconds();
    TD_TRY(td_state_save(model, state, path, error));
    memcpy(result->checkpoint, path, sizeof path);
    result->checkpoint_step = td_state_steps(state);
    result->output_s += td_seconds() - start;
    return TD_OK;
}

static tdStatus frame(tdOutput *output, tdState *state, simResult *result, tdError *error)
{
    double start = td_seconds();
    tdStatus status = td_output_frame(output, state, error);
    result->output_s += td_seconds() - start;
    return status;
}

// Redrawing a bar thousands of times a second would cost more than the steps.
static void progress(const simOptions *options, int64_t done, int64_t total)
{
    if (total <= 0 || (done * 1000 / total == (done - 1) * 1000 / total && done < total))
        return;
    cli_progress(options->what, done, total);
}

static void count_saturation(const tdModel *model, const tdState *state, simResult *result)
{
    int actuator = td_actuation_saturated(model, state);
    if (actuator < 0)
        return;
    if (result->saturated_steps++ == 0)
    {
        result->saturated_actuator = actuator;
        result->saturated_time = td_state_time(state);
    }
}

static tdStatus step_all(const tdModel *model, tdState *state, tdOutput *output, const simOptions *options,
                         simResult *result, tdError *error)
{
    int64_t first = td_state_steps(state);
    while (td_state_steps(state) < options->until && !interrupted)
    {
        double start = td_seconds();
        tdStatus status = td_step(model, state);
        result->wall_s += td_seconds() - start;
        if (status != TD_OK)
        {
            result->end = SIM_FAILED;
            result->error = td_state_report(state)->error;
            result->error.status = status;
            return TD_OK;
        }
        int64_t step = td_state_steps(state);
        td_totals_add(&result->totals, td_state_report(state));
        count_saturation(model, state, result);
        if (output != NULL)
        {
            td_output_count(output, td_state_report(state));
            if (options->every > 0 && step % options->every == 0)
                TD_TRY(frame(output, state, result, error));
        }
        if (options->checkpoint_every > 0 && step % options->checkpoint_every == 0 &&
            (options->checkpoint != NULL || output != NULL))
            TD_TRY(save(model, state, options, result, error));
        progress(options, step - first, options->until - first);
    }
    if (td_state_steps(state) < options->until)
        result->end = SIM_INTERRUPTED;
    return TD_OK;
}

// The last state is always among the frames. A checkpoint is left when one was asked for, and after an
// early end wherever files may be written.
static tdStatus finish(const tdModel *model, tdState *state, tdOutput *output, const simOptions *options,
                       simResult *result, tdError *error)
{
    if (result->end != SIM_DONE && !cli_quiet() && isatty(STDERR_FILENO))
        fputs("\n", stderr); // behind the bar
    if (output != NULL)
        TD_TRY(frame(output, state, result, error));
    bool wanted = options->checkpoint_every > 0 || result->end != SIM_DONE;
    if (options->checkpoint != NULL || (options->out != NULL && wanted))
        TD_TRY(save(model, state, options, result, error));
    return TD_OK;
}

static tdStatus open_output(const tdModel *model, tdState *state, const simOptions *options, tdOutput **output,
                            tdError *error)
{
    if (options->out == NULL)
        return TD_OK;
    tdOutputSettings settings = td_default_output(model);
    settings.compressed = options->compressed;
    settings.keep = options->resumed ? td_state_steps(state) : -1;
    return td_output_open(model, options->out, &settings, output, error);
}

tdStatus sim_run(const tdModel *model, tdState *state, const simOptions *options, simResult *result, tdError *error)
{
    *result = (simResult){0};
    tdOutput *output = NULL;
    TD_TRY(open_output(model, state, options, &output, error));
    double start_time = td_state_time(state);
    simSignals before = catch_signals();
    tdStatus status = TD_OK;
    if (output != NULL && options->every > 0 && !options->resumed)
        status = frame(output, state, result, error);
    if (status == TD_OK)
        status = step_all(model, state, output, options, result, error);
    if (status == TD_OK)
        status = finish(model, state, output, options, result, error);
    release_signals(&before);
    td_state_energy(model, state, &result->totals.kinetic_energy, &result->totals.elastic_energy);
    result->simulated_s = td_state_time(state) - start_time;
    result->frames = output == NULL ? 0 : td_output_frames(output);
    tdStatus closed = td_output_close(output, status == TD_OK ? error : NULL);
    return status == TD_OK ? closed : status;
}

int sim_exit_code(const simResult *result)
{
    switch (result->end)
    {
    case SIM_DONE: return 0;
    case SIM_INTERRUPTED: return 130;
    default: return result->error.status == TD_ERROR_NUMERIC ? 4 : 3;
    }
}

int64_t sim_peak_memory(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}
