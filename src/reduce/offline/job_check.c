// SPDX-License-Identifier: Apache-2.0
// The reduced model against full order, at equilibria that training has not seen.
#include "reduce/offline/job_parts.h"

#include "body/soft.h"
#include "reduce/offline/indicator.h"
#include "state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Sums over the places at which both models have an equilibrium.
typedef struct Errors
{
    double off, size; // squares of the difference and of the displacement
    double worst;     // of a place, relative to the largest displacement of all
    double largest;
    int64_t n, failed;
    double *indicator, *found; // by place: of the reduced model, and how far off it is
} Errors;

static void compare(const tdTrainee *trainee, const double *full, const double *reduced, double indicator,
                    Errors *errors)
{
    const double *rest = trainee->model->bodies[trainee->body].soft->rest;
    double off = 0, size = 0;
    for (int64_t i = 0; i < trainee->n; i++)
    {
        double e = reduced[i] - full[i], d = full[i] - rest[i];
        off += e * e;
        size += d * d;
    }
    errors->off += off;
    errors->size += size;
    errors->largest = fmax(errors->largest, sqrt(size));
    errors->worst = fmax(errors->worst, sqrt(off));
    errors->indicator[errors->n] = indicator;
    errors->found[errors->n++] = sqrt(off);
}

static tdStatus visit(const tdModel *model, tdState *state, const double *values, bool *reached)
{
    for (int i = 0; i < model->n_inputs; i++)
        TD_TRY(td_state_set_input(model, state, i, values[i]));
    tdStatus status = td_step(model, state);
    *reached = status == TD_OK;
    return status == TD_ERROR_NUMERIC ? TD_OK : status;
}

static tdStatus compare_trajectory(tdJob *job, const tdModel *model, int trajectory, Errors *errors, tdError *error)
{
    tdJobTrajectory data;
    tdState *state = NULL;
    TD_TRY(td_job_take(job, &job->held_out, trajectory, true, &data, error));
    tdStatus status = td_job_load(job, "check-full", &job->held_out, trajectory, true, &data)
                          ? td_state_create(model, &job->task->settings, &state, error)
                          : td_fail_at(error, TD_ERROR_IO, job->work.folder, 0, NULL,
                                       "equilibria that were there are gone; start again with --restart");
    for (int64_t k = 0; status == TD_OK && k < data.found.reached; k++)
    {
        const tdBody *body = &model->bodies[job->trainee.body];
        bool reached = false;
        status = visit(model, state, job->held_out.values + data.found.place[k] * job->held_out.n, &reached);
        if (status == TD_OK && reached)
            compare(&job->trainee, data.found.q + k * job->trainee.n, body->ops->nodes(model, body, state),
                    td_state_report(state)->rom_indicator, errors);
        else if (status == TD_OK)
            errors->failed++;
        else if (error != NULL)
            *error = td_state_report(state)->error;
    }
    errors->failed += data.found.failed;
    td_state_free(state);
    td_job_drop(&data);
    return status;
}

// What the indicator of errors means, from the places that were visited.
static tdStatus calibrate(tdJob *job, Errors *errors, tdError *error)
{
    tdIndicatorFit fit;
    for (int64_t i = 0; i < errors->n; i++)
        errors->found[i] /= errors->largest;
    TD_TRY(td_indicator_calibrate(errors->n, errors->indicator, errors->found, &fit, error));
    job->rom.indicator_slope = fit.slope;
    job->rom.indicator_threshold = fit.threshold;
    return TD_OK;
}

tdStatus td_job_check(tdJob *job, tdError *error)
{
    tdReduceReport *report = job->report;
    job->rom.held_out_error = report->held_out_error = report->held_out_worst = NAN;
    if (job->held_out.count == 0)
        return TD_OK;
    td_job_begin(job, TD_REDUCE_CHECK, job->held_out.count);
    TD_TRY(td_job_visit(job, "check-full", &job->held_out, true, error));
    if (job->stopped)
        return TD_OK;
    char path[PATH_MAX];
    tdModel *model = NULL;
    tdSettings settings = job->task->settings;
    td_work_path(&job->work, "candidate.h5", path);
    TD_TRY(td_rom_write(&job->rom, path, error));
    settings.rom = path;
    settings.rom_whole = false;
    settings.log = NULL; // what there is to say of the scene has been said
    TD_TRY(td_model_load_edited(job->task->scene, &settings, td_snapshot_edit, NULL, &model, error));
    Errors errors = {.indicator = TD_TAKE(&job->arena, double, job->held_out.count),
                     .found = TD_TAKE(&job->arena, double, job->held_out.count)};
    tdStatus status = errors.indicator == NULL || errors.found == NULL ? td_fail_memory(error, "the check") : TD_OK;
    for (int t = 0; t < job->held_out.n_trajectories && status == TD_OK; t++)
        status = compare_trajectory(job, model, t, &errors, error);
    td_model_free(model);
    report->held_out_places = errors.n;
    report->held_out_failures = errors.failed;
    if (status == TD_OK && errors.n > 0 && errors.size > 0)
    {
        job->rom.held_out_error = report->held_out_error = sqrt(errors.off / errors.size);
        report->held_out_worst = errors.worst / errors.largest;
        status = calibrate(job, &errors, error);
    }
    return status;
}
