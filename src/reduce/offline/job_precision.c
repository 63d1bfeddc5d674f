// SPDX-License-Identifier: Apache-2.0
// Whether a tangent in single precision is good enough: the reduced model moves along the validation motion with both,
// step by step as it will be used, and the largest distance between the two is kept in the file.
#include "core/state.h"
#include "reduce/offline/job_parts.h"

#include "control/workspace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 400

/// One motion with two precisions.
typedef struct Pair
{
    tdModel *model[2];
    tdState *state[2];
} Pair;

static void free_pair(Pair *pair)
{
    for (int p = 0; p < 2; p++)
    {
        td_state_free(pair->state[p]);
        td_model_free(pair->model[p]);
    }
}

static tdStatus make_pair(const tdJob *job, const char *rom, Pair *pair, tdError *error)
{
    static const tdRomPrecision precisions[2] = {TD_ROM_DOUBLE, TD_ROM_SINGLE};
    tdSettings settings = job->task->settings;
    settings.rom = rom;
    settings.rom_whole = false;
    settings.log = NULL;
    for (int p = 0; p < 2; p++)
    {
        settings.rom_precision = precisions[p];
        TD_TRY(
            td_model_load_edited(job->task->scene, &settings, td_workspace_edit_targets, NULL, &pair->model[p], error));
        TD_TRY(td_state_create(pair->model[p], &settings, &pair->state[p], error));
    }
    return TD_OK;
}

static tdStatus step(const tdModel *model, tdState *state, const tdSceneMotion *motion, double time)
{
    for (int k = 0; k < motion->n_names; k++)
    {
        int input = td_model_find_input(model, motion->names[k]);
        double value = td_motion_value(motion, k, time, model->inputs[input].standard);
        tdStatus status = td_state_set_input(model, state, input, value);
        if (status != TD_OK)
            return status;
    }
    return td_step(model, state);
}

// How far the two are apart, and how far the first is from rest. Where a body that nothing holds has gone is of no
// matter; `shape` has room for two of them.
static double apart(const tdTrainee *trainee, const Pair *pair, double *shape, double *size)
{
    const tdBody *body = &pair->model[0]->bodies[trainee->body];
    const double *a = pair->state[0]->q + body->first, *b = pair->state[1]->q + body->first;
    int64_t n = body->count;
    if (trainee->frame != TD_FRAME_FIXED)
    {
        n = trainee->n;
        for (int p = 0; p < 2; p++)
            td_trainee_split(trainee, td_state_positions(pair->model[p], pair->state[p], trainee->body), NULL,
                             shape + p * n);
        a = shape;
        b = shape + n;
    }
    double off = 0;
    *size = 0;
    for (int64_t i = 0; i < n; i++)
    {
        off += (a[i] - b[i]) * (a[i] - b[i]);
        *size += a[i] * a[i];
    }
    *size = sqrt(*size);
    return sqrt(off);
}

// The largest distance over the steps, relative to the largest displacement; 0 where steps fail or nothing moves.
static double follow(const tdTrainee *trainee, const Pair *pair, const tdSceneMotion *motion, double duration,
                     double *shape)
{
    double worst = 0, largest = 0, h = pair->model[0]->scheme.h;
    for (int k = 1; k <= MOST_STEPS && k * h <= duration * (1 + 1e-9); k++)
    {
        for (int p = 0; p < 2; p++)
            if (step(pair->model[p], pair->state[p], motion, k * h) != TD_OK)
                return 0;
        double size = 0;
        worst = fmax(worst, apart(trainee, pair, shape, &size));
        largest = fmax(largest, size);
    }
    // Never 0 when it was measured: that would say that it was not.
    return largest > 0 ? fmax(worst / largest, 1e-16) : 0;
}

tdStatus td_job_precision(tdJob *job, const char *rom, tdError *error)
{
    const tdSceneMotion *motion = NULL;
    double duration = 0;
    Pair pair = {0};
    TD_TRY(td_sample_validation(job->model, &job->arena, &motion, &duration, error));
    double *shape = td_take(2 * (size_t)job->trainee.n, sizeof *shape);
    tdStatus status =
        shape == NULL ? td_fail_memory(error, "the check of precision") : make_pair(job, rom, &pair, error);
    if (status == TD_OK)
        job->rom.single_error = follow(&job->trainee, &pair, motion, duration, shape);
    free_pair(&pair);
    free(shape);
    return status;
}
