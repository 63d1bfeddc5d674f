// SPDX-License-Identifier: Apache-2.0
// The reduced model along a motion, step by step as it will be used: beside full order, which tells its error while it
// moves and what its indicator means then; and with both precisions of the tangent.
#include "core/state.h"
#include "reduce/offline/job_parts.h"

#include "control/workspace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 400 // reduced,
#define FULL_STEPS 100 // and beside full order

/// One motion with two models of the scene.
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

// rom: of each, NULL for full order.
static tdStatus make_pair(const tdJob *job, const char *const rom[2], const tdRomPrecision precision[2], Pair *pair,
                          tdError *error)
{
    tdSettings settings = job->task->settings;
    settings.rom_whole = false;
    settings.log = NULL;
    for (int p = 0; p < 2; p++)
    {
        settings.rom = rom[p];
        settings.rom_precision = precision[p];
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

static double apart(const tdTrainee *trainee, const Pair *pair, double *shape, double *size)
{
    return td_job_apart(trainee, td_state_positions(pair->model[0], pair->state[0], trainee->body),
                        td_state_positions(pair->model[1], pair->state[1], trainee->body), shape, size);
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

// Steps beside full order until one fails or the motion ends.
static tdStatus follow_full(tdJob *job, const Pair *pair, const tdSceneMotion *motion, double duration, double *shape,
                            tdJobErrors *errors, tdError *error)
{
    double h = pair->model[0]->scheme.h;
    for (int k = 1; k <= FULL_STEPS && k * h <= duration * (1 + 1e-9); k++)
    {
        for (int p = 0; p < 2; p++)
        {
            tdStatus status = step(pair->model[p], pair->state[p], motion, k * h);
            if (status == TD_CANCELLED)
            {
                *error = td_state_report(pair->state[p])->error;
                return status;
            }
            if (status != TD_OK)
                return TD_OK;
        }
        double size = 0, off = apart(&job->trainee, pair, shape, &size);
        td_job_add_error(errors, off, size, td_state_report(pair->state[1]));
        if (!td_job_progress(job, 1))
            return TD_OK;
    }
    return TD_OK;
}

// The motion of the validation; where friction remembers the way, the motion that was learned, unless there is one.
static tdStatus motion_of(tdJob *job, const tdSceneMotion **motion, double *duration, tdError *error)
{
    const tdScene *scene = &job->model->scene;
    if (scene->reduction.follow && scene->validation.line == 0)
    {
        *motion = &scene->motion;
        *duration = (double)scene->settings.steps * job->moving->scheme.h;
        return TD_OK;
    }
    return td_sample_validation(job->model, &job->arena, motion, duration, error);
}

int64_t td_job_motion_steps(const tdJob *job)
{
    const tdModel *model = job->model;
    bool moved = model->scene.validation.motion != NULL || model->n_actuators > 0;
    return moved ? FULL_STEPS : 0;
}

tdStatus td_job_motion(tdJob *job, const char *rom, tdJobErrors *errors, tdError *error)
{
    const tdSceneMotion *motion = NULL;
    double duration = 0;
    Pair pair = {0};
    if (td_job_motion_steps(job) == 0)
        return TD_OK;
    TD_TRY(motion_of(job, &motion, &duration, error));
    double *shape = td_take(2 * (size_t)job->trainee.n, sizeof *shape);
    tdStatus status = shape == NULL ? td_fail_memory(error, "the check along a motion")
                                    : make_pair(job, (const char *const[]){NULL, rom},
                                                (const tdRomPrecision[]){TD_ROM_DOUBLE, TD_ROM_DOUBLE}, &pair, error);
    // Of a static scene the places are what there is.
    if (status == TD_OK && pair.model[0]->scheme.method != TD_METHOD_STATIC)
        status = follow_full(job, &pair, motion, duration, shape, errors, error);
    free_pair(&pair);
    free(shape);
    return status;
}

tdStatus td_job_precision(tdJob *job, const char *rom, tdError *error)
{
    const tdSceneMotion *motion = NULL;
    double duration = 0;
    Pair pair = {0};
    TD_TRY(td_sample_validation(job->model, &job->arena, &motion, &duration, error));
    double *shape = td_take(2 * (size_t)job->trainee.n, sizeof *shape);
    tdStatus status = shape == NULL ? td_fail_memory(error, "the check of precision")
                                    : make_pair(job, (const char *const[]){rom, rom},
                                                (const tdRomPrecision[]){TD_ROM_DOUBLE, TD_ROM_SINGLE}, &pair, error);
    if (status == TD_OK)
        job->rom.single_error = follow(&job->trainee, &pair, motion, duration, shape);
    free_pair(&pair);
    free(shape);
    return status;
}
