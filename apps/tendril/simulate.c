// SPDX-License-Identifier: Apache-2.0
#include "simulate.h"

#include "base/file.h"
#include "base/timer.h"
#include "output/actuation.h"
#include "output/frames.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static tdStatus save(const tdModel *model, const tdState *state, tdOutput *output, const simOptions *options,
                     simResult *result, tdError *error)
{
    if (result->checkpoint[0] != '\0' && result->checkpoint_step == td_state_steps(state))
        return TD_OK;
    char path[sizeof result->checkpoint];
    const char *folder = options->checkpoint != NULL ? "." : options->out;
    if (!td_path_join(path, sizeof path, folder, options->checkpoint != NULL ? options->checkpoint : "checkpoint.h5"))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path of the checkpoint is too long");
    double start = td_seconds();
    // A checkpoint promises the frames up to it too.
    TD_TRY(td_output_flush(output, error));
    if (options->out != NULL)
        TD_TRY(td_folder_sync(options->out, error));
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
                         tdKeptState **kept, simResult *result, tdError *error)
{
    int64_t first = td_state_steps(state);
    while (td_state_steps(state) < options->until && !sig_came())
    {
        TD_TRY(td_state_keep(model, state, kept, error));
        double start = td_seconds();
        tdStatus status = options->step != NULL ? options->step(options->user, model, state) : td_step(model, state);
        double seconds = td_seconds() - start;
        result->wall_s += seconds;
        if (status == TD_CANCELLED)
        {
            TD_TRY(td_state_go_back(model, state, *kept, error));
            break;
        }
        if (status != TD_OK)
        {
            result->end = SIM_FAILED;
            result->error = td_state_report(state)->error;
            result->error.status = status;
            return TD_OK;
        }
        int64_t step = td_state_steps(state);
        td_totals_add(&result->totals, td_state_report(state));
        if (options->stepped != NULL)
            TD_TRY(options->stepped(options->user, model, state, seconds, error));
        count_saturation(model, state, result);
        if (output != NULL)
        {
            td_output_count(output, td_state_report(state));
            if (options->every > 0 && step % options->every == 0)
                TD_TRY(frame(output, state, result, error));
        }
        if (options->checkpoint_every > 0 && step % options->checkpoint_every == 0 &&
            (options->checkpoint != NULL || output != NULL))
            TD_TRY(save(model, state, output, options, result, error));
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
        TD_TRY(save(model, state, output, options, result, error));
    return TD_OK;
}

// Frames cannot be written, but the state may have another place: what was computed is not thrown away.
static void rescue(const tdModel *model, tdState *state, const simOptions *options, simResult *result)
{
    tdError error = {0};
    if (td_state_steps(state) == 0 || (options->checkpoint == NULL && options->out == NULL))
        return;
    if (save(model, state, NULL, options, result, &error) == TD_OK)
        fprintf(stderr, "tendril: the state after step %" PRId64 " was saved; to go on, add --resume %s\n",
                td_state_steps(state), result->checkpoint);
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

// A checkpoint may be ahead of the frames that a killed run got to write, or be of another run.
static void warn_about_hole(const tdOutput *output, const tdState *state, const simOptions *options)
{
    if (output == NULL || !options->resumed || options->every <= 0 || td_output_last(output) < 0)
        return;
    int64_t last = td_output_last(output), here = td_state_steps(state);
    if (here / options->every > last / options->every)
        fprintf(stderr,
                "tendril: warning: %s has frames up to step %" PRId64 " and the run continues from step %" PRId64
                ": those in between are missing; resume from a checkpoint at or before step %" PRId64
                ", or into a new folder\n",
                options->out, last, here, last);
}

tdStatus sim_run(const tdModel *model, tdState *state, const simOptions *options, simResult *result, tdError *error)
{
    *result = (simResult){0};
    tdOutput *output = NULL;
    TD_TRY(open_output(model, state, options, &output, error));
    warn_about_hole(output, state, options);
    double start_time = td_state_time(state);
    sigBefore before = sig_catch();
    tdStatus status = TD_OK;
    if (output != NULL && options->every > 0 && !options->resumed)
        status = frame(output, state, result, error);
    tdKeptState *kept = NULL;
    if (status == TD_OK)
        status = step_all(model, state, output, options, &kept, result, error);
    td_kept_state_free(kept);
    sig_writing();
    if (status == TD_OK)
        status = finish(model, state, output, options, result, error);
    else if (status == TD_ERROR_IO)
        rescue(model, state, options, result);
    sig_release(&before);
    td_state_energy(model, state, &result->totals.kinetic_energy, &result->totals.elastic_energy);
    result->simulated_s = td_state_time(state) - start_time;
    result->frames = output == NULL ? 0 : td_output_frames(output);
    tdStatus closed = td_output_close(output, status == TD_OK ? error : NULL);
    return status == TD_OK ? closed : status;
}

// ---------------------------------------------------------------- what commands share around the loop

bool sim_last_step(const char *steps_text, const char *time_text, const tdModel *model, int64_t standard, int64_t *out)
{
    *out = standard;
    if (steps_text != NULL)
    {
        long steps = 0;
        if (!cli_integer("--steps", steps_text, 1, &steps))
            return false;
        *out = steps;
    }
    if (time_text != NULL)
    {
        double time = 0;
        if (!cli_number("--time", time_text, &time))
            return false;
        // Rounding must not add a step to a time that is a multiple of the step.
        double steps = ceil(time / td_model_time_step(model) - 1e-6);
        if (!(time > 0) || !(steps <= 1e9))
        {
            cli_usage("--time takes a time above zero and below 1e9 steps of the scene, not '%s'", time_text);
            return false;
        }
        *out = (int64_t)steps;
    }
    return true;
}

int sim_check_common(const char *threads, const char *out, tdSettings *settings)
{
    long number = 0;
    if (out != NULL && out[0] == '\0')
        return cli_usage("--out takes a folder, not an empty text");
    if (threads == NULL)
        return -1;
    if (!cli_integer("--threads", threads, 1, &number))
        return TD_ERROR_USAGE;
    settings->threads = (int)number;
    return -1;
}

static double rate(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

void sim_json(tdJson *json, const char *scene, const tdModel *model, const tdState *state, const simResult *result)
{
    static const char *const ends[] = {"done", "failed", "interrupted"};
    td_json_string(json, "status", ends[result->end]);
    if (result->end == SIM_FAILED)
        cli_json_error(json, &result->error);
    td_json_string(json, "scene", scene);
    td_json_integer(json, "steps", result->totals.steps);
    td_json_integer(json, "last_step", td_state_steps(state));
    td_json_number(json, "time", td_state_time(state));
    td_json_number(json, "wall_s", result->wall_s);
    td_json_number(json, "output_s", result->output_s);
    td_json_number(json, "steps_per_s", rate((double)result->totals.steps, result->wall_s));
    td_json_number(json, "realtime_rate", rate(result->simulated_s, result->wall_s));
    td_json_integer(json, "dofs", td_model_dofs(model));
    td_json_open(json, "bodies", '[');
    for (int b = 0; b < td_model_bodies(model); b++)
    {
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", td_model_body_name(model, b));
        td_json_integer(json, "nodes", td_model_body_nodes(model, b));
        td_json_integer(json, "elements", td_model_body_elements(model, b));
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

void sim_print(const char *scene, const tdModel *model, const tdState *state, const simResult *result)
{
    const tdTotals *totals = &result->totals;
    printf("scene       %s\n", scene);
    for (int b = 0; b < td_model_bodies(model); b++)
        printf("%-11s %s: %d nodes, %d elements\n", b == 0 ? "bodies" : "", td_model_body_name(model, b),
               td_model_body_nodes(model, b), td_model_body_elements(model, b));
    printf("unknowns    %" PRId64 "\n", td_model_dofs(model));
    printf("steps       %" PRId64 " of %g s, up to step %" PRId64 " at %g s%s\n", totals->steps,
           td_model_time_step(model), td_state_steps(state), td_state_time(state),
           result->end == SIM_DONE ? "" : (result->end == SIM_FAILED ? " (failed)" : " (interrupted)"));
    printf("wall time   %.3g s: %.4g steps/s, %.3g times real time\n", result->wall_s,
           rate((double)totals->steps, result->wall_s), rate(result->simulated_s, result->wall_s));
}

int sim_end(const tdState *state, const simResult *result)
{
    if (result->end == SIM_FAILED)
    {
        fprintf(stderr, "tendril: step %" PRId64 " failed at %g s; the state before it was kept\n",
                td_state_steps(state) + 1, td_state_time(state));
        cli_fail(&result->error);
    }
    if (result->totals.inverted_elements > 0)
        fprintf(stderr,
                "warning: %d elements are inverted at the end, so the result cannot be trusted; use a smaller "
                "time_step, smaller loads or a finer mesh\n",
                result->totals.inverted_elements);
    if (result->totals.doubtful_steps > 0)
    {
        fprintf(stderr, "warning: %" PRId64 " of %" PRId64 " steps are doubtful:", result->totals.doubtful_steps,
                result->totals.steps);
        const char *between = " ";
        for (unsigned bit = 1; bit <= result->totals.doubts; bit <<= 1)
            if (result->totals.doubts & bit)
            {
                fprintf(stderr, "%s%s", between, td_doubt_name((tdDoubt)bit));
                between = ", ";
            }
        fprintf(stderr, " (spurious energy: at most %.2g %% of a body's)\n", 100 * result->totals.energy_gain);
    }
    if (result->totals.rom_warnings > 0)
    {
        fprintf(stderr,
                "warning: in %" PRId64 " of %" PRId64
                " steps the reduced model left its training range (indicator up to %.3g, distance up to %.3g",
                result->totals.rom_warnings, result->totals.steps, result->totals.rom_indicator,
                result->totals.rom_distance);
        if (result->totals.rom_local > 0)
            fprintf(stderr, ", contact forces off by up to about %.0f %%", 100 * result->totals.rom_local);
        fprintf(stderr, "); check with 'tendril compare', or train it for this motion\n");
    }
    if (result->end == SIM_INTERRUPTED)
        fprintf(stderr, "tendril: interrupted after step %" PRId64 "%s%s\n", td_state_steps(state),
                result->checkpoint[0] == '\0' ? "" : "; to go on, add --resume ", result->checkpoint);
    return sim_exit_code(result);
}

int sim_exit_code(const simResult *result)
{
    switch (result->end)
    {
    case SIM_DONE: return 0;
    case SIM_INTERRUPTED: return TD_CANCELLED;
    default: return result->error.status;
    }
}

int64_t sim_peak_memory(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}
