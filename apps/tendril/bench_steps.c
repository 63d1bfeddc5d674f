// SPDX-License-Identifier: Apache-2.0
// Steps of a model, each timed: what benchmarks of whole scenes share. On one thread the time is that of the processor,
// so that other work on the machine does not count; on more it is the clock's.
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static double seconds(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

tdStatus bench_time_steps(const tdModel *model, const benchSteps *how, benchTimes *out, tdError *error)
{
    tdSettings settings = td_default_settings();
    double rates[BENCH_MOST_RUNS], *each = calloc((size_t)how->steps, sizeof *each);
    tdState *state = NULL;
    settings.threads = how->threads;
    tdStatus status = each == NULL ? td_fail(error, TD_ERROR_MEMORY, "no memory for the times of steps") : TD_OK;
    *out = (benchTimes){0};
    for (int run = 0; run < how->runs && status == TD_OK; run++)
    {
        status = td_state_create(model, &settings, &state, error);
        for (int k = 0; k < how->settle && status == TD_OK; k++)
            status = td_step(model, state);
        double start = seconds(how->threads), last = start;
        out->points = out->passes = 0;
        for (int k = 0; k < how->steps && status == TD_OK; k++)
        {
            status = td_step(model, state);
            double now = seconds(how->threads);
            each[k] = run == 0 ? now - last : fmin(each[k], now - last);
            last = now;
            out->points += (double)td_state_report(state)->contacts_active / how->steps;
            out->passes += (double)td_state_report(state)->contact_iterations / how->steps;
        }
        if (status != TD_OK && state != NULL)
            *error = td_state_report(state)->error;
        rates[run] = how->steps / (last - start);
        td_state_free(state);
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
