// SPDX-License-Identifier: Apache-2.0
// The reduced model against full order, where training has not been: both move along the held-out path and settle at
// its places, so that both are at stable equilibria and choose by themselves where there are several.
#include "reduce/offline/job_parts.h"

#include "body/soft.h"
#include "reduce/offline/indicator.h"
#include "reduce/offline/walker.h"

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
    double *shape[2];          // of a body that nothing holds: full order and reduced, without its motion as a whole
} Errors;

static void compare(const tdTrainee *trainee, const double *full, const double *reduced, double indicator,
                    Errors *errors)
{
    const double *rest = trainee->model->bodies[trainee->body].soft->rest;
    double off = 0, size = 0;
    bool held = trainee->frame == TD_FRAME_FIXED;
    if (!held)
    {
        td_trainee_split(trainee, full, NULL, errors->shape[0]);
        td_trainee_split(trainee, reduced, NULL, errors->shape[1]);
    }
    for (int64_t i = 0; i < trainee->n; i++)
    {
        double e = held ? reduced[i] - full[i] : errors->shape[1][i] - errors->shape[0][i];
        double d = held ? full[i] - rest[i] : errors->shape[0][i];
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

static tdStatus compare_trajectory(tdJob *job, const tdWalk *walk, int trajectory, Errors *errors, tdError *error)
{
    tdJobTrajectory data;
    tdWalker *walker = NULL;
    tdSettings quiet = job->task->settings;
    quiet.log = NULL; // that the model errs is what is measured here
    TD_TRY(td_job_take(job, &job->held_out, trajectory, true, &data, error));
    tdStatus status = td_job_load(job, "check-full", &job->held_out, trajectory, true, &data)
                          ? td_walker_create(walk, &quiet, &walker, error)
                          : td_fail_at(error, TD_ERROR_IO, job->work.folder, 0, NULL,
                                       "equilibria that were there are gone; start again with --restart");
    for (int64_t k = 0; status == TD_OK && k < data.found.reached; k++)
    {
        bool reached = false;
        const double *place = job->held_out.values + data.found.place[k] * job->held_out.n;
        status = td_walker_visit(walker, place, 1, &reached, error);
        if (status == TD_OK && reached)
            compare(&job->trainee, data.found.q + k * job->trainee.n, td_walker_nodes(walker, job->trainee.body),
                    td_walker_report(walker)->rom_indicator, errors);
        else if (status == TD_OK)
            errors->failed++;
    }
    errors->failed += data.found.failed;
    td_walker_free(walker);
    td_job_drop(&data);
    return status;
}

// The reduced model as it would be written now, static and moving.
static tdStatus compare_all(tdJob *job, Errors *errors, tdError *error)
{
    char path[PATH_MAX];
    tdModel *at_rest = NULL, *moving = NULL;
    tdSettings settings = job->task->settings;
    td_work_path(&job->work, "candidate.h5", path);
    TD_TRY(td_rom_write(&job->rom, path, error));
    settings.rom = path;
    settings.rom_whole = false;
    settings.log = NULL; // what there is to say of the scene has been said
    // Of a body that nothing holds there is no static one; it would not be used, as the walk settles from the start.
    tdStatus status = TD_OK;
    if (job->trainee.frame == TD_FRAME_FIXED && !job->trainee.touching)
        status = td_model_load_edited(job->task->scene, &settings, td_walk_edit_static, NULL, &at_rest, error);
    if (status == TD_OK)
        status = td_model_load_edited(job->task->scene, &settings, td_walk_edit_moving, NULL, &moving, error);
    const tdWalk walk = {at_rest != NULL ? at_rest : moving, moving, true};
    for (int t = 0; t < job->held_out.n_trajectories && status == TD_OK; t++)
        status = compare_trajectory(job, &walk, t, errors, error);
    td_model_free(at_rest);
    td_model_free(moving);
    if (status == TD_OK && job->rom.kind == TD_ROM_DOMAINS)
        status = td_job_precision(job, path, error);
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
    td_job_begin(job, TD_REDUCE_CHECK, td_work_key(job->training, &job->held_out.count, sizeof job->held_out.count),
                 job->held_out.count);
    TD_TRY(td_job_visit(job, "check-full", &job->held_out, true, error));
    if (job->stopped)
        return TD_OK;
    Errors errors = {
        .indicator = TD_TAKE(&job->arena, double, job->held_out.count),
        .found = TD_TAKE(&job->arena, double, job->held_out.count),
        .shape = {TD_TAKE(&job->arena, double, job->trainee.n), TD_TAKE(&job->arena, double, job->trainee.n)}};
    if (errors.indicator == NULL || errors.found == NULL || errors.shape[0] == NULL || errors.shape[1] == NULL)
        return td_fail_memory(error, "the check");
    tdStatus status = compare_all(job, &errors, error);
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
