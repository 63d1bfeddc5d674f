// SPDX-License-Identifier: Apache-2.0
// Steps of a model, each timed: what benchmarks of whole scenes share. On one thread the time is that of the processor,
// so that other work on the machine does not count; on more it is the clock's.
#include "bench.h"

#include "control/control.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(int threads)
{
    return seconds_of(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

double bench_processor_seconds(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

// One step, along the scene's motion or towards goals.
static tdStatus step(const tdModel *model, tdState *state, tdControl *control)
{
    return control != NULL ? td_control_step(control, model, state) : td_step(model, state);
}

static tdStatus start(const tdModel *model, const benchSteps *how, tdState **state, tdControl **control, tdError *error)
{
    tdSettings settings = td_default_settings();
    settings.threads = how->threads;
    TD_TRY(td_state_create(model, &settings, state, error));
    if (how->goals == NULL)
        return TD_OK;
    tdControlSettings loop = td_default_control(model);
    TD_TRY(td_control_create(model, &loop, control, error));
    return td_control_load_goals(*control, model, how->goals, error);
}

tdStatus bench_time_steps(const tdModel *model, const benchSteps *how, benchTimes *out, tdError *error)
{
    double rates[BENCH_MOST_RUNS], *each = calloc((size_t)how->steps, sizeof *each);
    tdState *state = NULL;
    tdControl *control = NULL;
    tdStatus status = each == NULL ? td_fail(error, TD_ERROR_MEMORY, "no memory for the times of steps") : TD_OK;
    *out = (benchTimes){0};
    for (int run = 0; run < how->runs && status == TD_OK; run++)
    {
        bool stepping = (status = start(model, how, &state, &control, error)) == TD_OK;
        for (int k = 0; k < how->settle && status == TD_OK; k++)
            status = step(model, state, control);
        double begin = seconds(how->threads), last = begin;
        out->points = out->passes = 0;
        for (int k = 0; k < how->steps && status == TD_OK; k++)
        {
            status = step(model, state, control);
            double now = seconds(how->threads);
            each[k] = run == 0 ? now - last : fmin(each[k], now - last);
            last = now;
            out->points += (double)td_state_report(state)->contacts_active / how->steps;
            out->passes += (double)td_state_report(state)->contact_iterations / how->steps;
        }
        if (status != TD_OK && stepping)
            *error = td_state_report(state)->error;
        rates[run] = how->steps / (last - begin);
        td_control_free(control);
        td_state_free(state);
        control = NULL;
        state = NULL;
    }
    if (status == TD_OK)
    {
        spread steps = bench_spread(each, how->steps);
        out->rate = bench_spread(rates, how->runs).median;
        out->middle = steps.median;
        out->late = each[(how->steps - 1) * 99 / 100];
        out->worst = steps.high;
    }
    free(each);
    return status;
}
