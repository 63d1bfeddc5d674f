// SPDX-License-Identifier: Apache-2.0
// The scenes of manipulation: how far what is held has moved in the grip.
#pragma once
#include "rigid.h"

#include "base/vector.h"

#define GRASP   TD_SOURCE_DIR "/scenes/contact/grasp.yaml"
#define BUBBLES TD_SOURCE_DIR "/scenes/contact/bubbles.yaml"

typedef struct gripRun
{
    tdModel *model;
    tdState *state;
    double constraints, most; ///< mean since the start, most
    double iterations;
} gripRun;

static inline gripRun grip_start(const char *path, int threads)
{
    gripRun run = {0};
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.threads = threads;
    assert_ok(td_model_load(path, &settings, &run.model, &error), error);
    assert_ok(td_state_create(run.model, &settings, &run.state, &error), error);
    return run;
}

static inline void grip_end(gripRun *run)
{
    td_state_free(run->state);
    td_model_free(run->model);
}

/// The held body's probe, the first, beside a point of the hand, the second.
static inline void grip_place(const gripRun *run, double held[3], double beside[3])
{
    double hand[3];
    td_state_probe(run->model, run->state, 0, held);
    td_state_probe(run->model, run->state, 1, hand);
    td_subtract3(held, hand, beside);
}

/// Steps to a time; returns the farthest that the held body was from `from` beside the hand (NULL: not asked for).
static inline double grip_to(gripRun *run, double time, const double *from)
{
    double farthest = 0, held[3], beside[3], way[3];
    while (td_state_time(run->state) < time - 1e-9)
    {
        assert_ok(td_step(run->model, run->state), td_state_report(run->state)->error);
        const tdReport *report = td_state_report(run->state);
        assert_false(report->contact_limit);
        assert_int_equal(report->inverted_elements, 0);
        double n = (double)td_state_steps(run->state);
        run->constraints += (report->constraints - run->constraints) / n;
        run->most = fmax(run->most, report->constraints);
        run->iterations += (report->contact_iterations - run->iterations) / n;
        if (from == NULL)
            continue;
        grip_place(run, held, beside);
        td_subtract3(beside, from, way);
        farthest = fmax(farthest, sqrt(td_dot3(way, way)));
    }
    return farthest;
}
