// SPDX-License-Identifier: Apache-2.0
// The reduced model along a motion, step by step as it will be used: beside full order, which tells its error while it
// moves and what its indicator means then; and with both precisions of the tangent.
#include "core/state.h"
#include "reduce/offline/job_parts.h"

#include "control/workspace.h"
#include "reduce/offline/walker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS  400 // reduced,
#define LEARN_EVERY 4   // of a motion of full order for training, so many steps apart

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

// The same file in double and in single precision.
static tdStatus make_pair(const tdJob *job, const char *rom, Pair *pair, tdError *error)
{
    tdSettings settings = job->task->settings;
    settings.rom = rom;
    settings.rom_whole = false;
    settings.log = NULL;
    for (int p = 0; p < 2; p++)
    {
        settings.rom_precision = p == 0 ? TD_ROM_DOUBLE : TD_ROM_SINGLE;
        TD_TRY(
            td_model_load_edited(job->task->scene, &settings, td_walk_edit_motion, job->alone, &pair->model[p], error));
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

// Without actuators there is nothing that could be moved at random: what moves the body is what the scene does.
static bool goes_by_itself(const tdModel *model)
{
    return model->scene.validation.motion == NULL && model->n_actuators == 0;
}

// The motion of the validation; where friction remembers the way, the motion that was learned, unless there is one.
tdStatus td_job_motion_of(tdJob *job, const tdSceneMotion **motion, double *duration, tdError *error)
{
    const tdScene *scene = &job->model->scene;
    if ((scene->reduction.follow && scene->validation.line == 0) || goes_by_itself(job->model))
    {
        *motion = &scene->motion;
        *duration = (double)scene->settings.steps * job->moving->scheme.h;
        return TD_OK;
    }
    return td_sample_validation(job->model, &job->arena, motion, duration, error);
}

bool td_job_learns_motion(const tdJob *job)
{
    const tdModel *model = job->model;
    const tdTrainee *trainee = &job->trainee;
    return model->scene.reduction.samples == TD_SAMPLE_AUTO && trainee->frame == TD_FRAME_FIXED && !trainee->touching &&
           model->n_actuators > 0;
}

// ---------------------------------------------------------------- full order

static uint64_t motion_key(const tdJob *job, const tdSceneMotion *motion, double duration)
{
    uint64_t key = td_work_key(job->equilibria, &duration, sizeof duration);
    int64_t rows = motion->n_times;
    if (rows > 0)
        key = td_work_key(key, motion->times, (size_t)rows * sizeof(double));
    if (rows * motion->n_names > 0)
        key = td_work_key(key, motion->values, (size_t)(rows * motion->n_names) * sizeof(double));
    for (int k = 0; k < motion->n_names; k++)
        key = td_work_key(key, motion->names[k], strlen(motion->names[k]));
    if (job->unseen != NULL)
        key = td_work_key(key, job->unseen, strlen(job->unseen));
    return key;
}

// False: the step failed, which is the end of what can be compared, or was cancelled, which *status tells.
static bool take_step(const tdModel *model, tdState *state, const tdSceneMotion *motion, double time, tdStatus *status,
                      tdError *error)
{
    tdStatus came = step(model, state, motion, time);
    if (came == TD_CANCELLED)
    {
        *error = td_state_report(state)->error;
        *status = came;
    }
    return came == TD_OK;
}

// Steps of full order until one fails or the motion ends; every one, or every `stride`-th, is kept.
static tdStatus run_full(tdJob *job, const tdSceneMotion *motion, double duration, int stride, tdJobMotion *out,
                         tdError *error)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    tdSettings settings = job->task->settings;
    settings.rom = NULL;
    settings.log = NULL;
    settings.set = job->unseen != NULL ? job->unseen : settings.set;
    tdStatus status = td_model_load_edited(job->task->scene, &settings, td_walk_edit_motion, job->alone, &model, error);
    if (status == TD_OK)
        status = td_state_create(model, &settings, &state, error);
    bool moves = status == TD_OK && model->scheme.method != TD_METHOD_STATIC; // else places are what there is
    double h = moves ? model->scheme.h : 1;
    int64_t n = job->trainee.n;
    for (int k = 1; moves && k <= TD_JOB_MOTION_STEPS && k * h <= duration * (1 + 1e-9); k++)
    {
        moves = take_step(model, state, motion, k * h, &status, error);
        if (!moves)
            break;
        if (k % stride == 0)
            memcpy(out->q + out->n++ * n, td_state_positions(model, state, job->trainee.body),
                   (size_t)n * sizeof(double));
        if (!td_job_progress(job, 1))
            break;
    }
    td_state_free(state);
    td_model_free(model);
    return status;
}

tdStatus td_job_full_motion(tdJob *job, bool training, tdJobMotion *out, tdError *error)
{
    const tdSceneMotion *motion = NULL;
    double duration = 0;
    int stride = training ? LEARN_EVERY : 1;
    const char *name = training ? "motion-learned.part" : "motion-check.part";
    *out = (tdJobMotion){0};
    TD_TRY(training ? td_sample_wander(job->model, &job->round, &motion, &duration, error)
                    : td_job_motion_of(job, &motion, &duration, error));
    size_t numbers = (size_t)(TD_JOB_MOTION_STEPS / stride * job->trainee.n);
    out->q = td_take(numbers, sizeof(double));
    if (out->q == NULL)
        return td_fail_memory(error, "a motion of full order");
    const tdWorkPart pieces[2] = {{&out->n, sizeof out->n}, {out->q, numbers * sizeof(double)}};
    uint64_t key = td_work_key(motion_key(job, motion, duration), &stride, sizeof stride);
    if (td_work_load(&job->work, key, name, 2, pieces))
        return TD_OK;
    tdStatus status = run_full(job, motion, duration, stride, out, error);
    return status == TD_OK && !job->stopped ? td_work_save(&job->work, key, name, 2, pieces, error) : status;
}

tdStatus td_job_look_at_motion(tdJob *job, bool training, tdJobMotion *out, tdError *error)
{
    int64_t before = job->done;
    TD_TRY(td_job_full_motion(job, training, out, error));
    td_job_progress(job, job->stopped ? 0 : TD_JOB_MOTION_STEPS - (job->done - before));
    return TD_OK;
}

// ---------------------------------------------------------------- beside the reduced model

static tdStatus follow_full(tdJob *job, const char *rom, const tdSceneMotion *motion, const tdJobMotion *full,
                            double *shape, tdJobErrors *errors, tdError *error)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    tdSettings settings = job->task->settings;
    settings.rom = rom;
    settings.rom_whole = false;
    settings.rom_precision = TD_ROM_DOUBLE;
    settings.log = NULL;
    settings.set = job->unseen != NULL ? job->unseen : settings.set;
    tdStatus status = td_model_load_edited(job->task->scene, &settings, td_walk_edit_motion, job->alone, &model, error);
    if (status == TD_OK)
        status = td_state_create(model, &settings, &state, error);
    for (int64_t k = 0; k < full->n && status == TD_OK; k++)
    {
        if (!take_step(model, state, motion, (double)(k + 1) * model->scheme.h, &status, error))
            break;
        double size = 0, off = td_job_apart(&job->trainee, full->q + k * job->trainee.n,
                                            td_state_positions(model, state, job->trainee.body), shape, &size);
        td_job_add_error(errors, off, size, td_state_report(state));
    }
    td_state_free(state);
    td_model_free(model);
    return status;
}

tdStatus td_job_motion(tdJob *job, const char *rom, tdJobErrors *errors, tdError *error)
{
    const tdSceneMotion *motion = NULL;
    double duration = 0;
    tdJobMotion full = {0};
    TD_TRY(td_job_motion_of(job, &motion, &duration, error));
    double *shape = td_take(2 * (size_t)job->trainee.n, sizeof *shape);
    tdStatus status = shape == NULL ? td_fail_memory(error, "the check along a motion")
                                    : td_job_look_at_motion(job, false, &full, error);
    if (status == TD_OK && !job->stopped)
        status = follow_full(job, rom, motion, &full, shape, errors, error);
    free(full.q);
    free(shape);
    return status;
}

tdStatus td_job_precision(tdJob *job, tdError *error)
{
    const tdSceneMotion *motion = NULL;
    double duration = 0;
    Pair pair = {0};
    char rom[PATH_MAX];
    if (job->rom.kind != TD_ROM_DOMAINS || job->held_out.count == 0)
        return TD_OK;
    td_job_candidate(job, rom);
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
