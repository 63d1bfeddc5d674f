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

#define SLIGHT 1e-6 // displacement of a node, in sizes of the scene, that is none

void td_job_add_error(tdJobErrors *errors, double off, double size, const tdReport *report)
{
    errors->off += off * off;
    errors->size += size * size;
    errors->largest = fmax(errors->largest, size);
    errors->worst = fmax(errors->worst, off);
    errors->indicator[errors->n] = report->rom_indicator;
    errors->distance[errors->n] = report->rom_distance;
    errors->found[errors->n++] = off;
}

static tdStatus take_errors(tdArena *arena, int64_t most, tdJobErrors *out, tdError *error)
{
    *out = (tdJobErrors){
        .most = most, .indicator = TD_TAKE(arena, double, 3 * most), .place = TD_TAKE(arena, int64_t, most)};
    if (out->indicator == NULL || out->place == NULL)
        return td_fail_memory(error, "the check");
    out->distance = out->indicator + most;
    out->found = out->distance + most;
    return TD_OK;
}

double td_job_apart(const tdTrainee *trainee, const double *full, const double *reduced, double *shape, double *size)
{
    const double *rest = trainee->model->bodies[trainee->body].soft->rest;
    int64_t n = trainee->n;
    bool held = trainee->frame == TD_FRAME_FIXED;
    double off = 0, sum = 0;
    if (!held)
    {
        td_trainee_split(trainee, full, NULL, shape);
        td_trainee_split(trainee, reduced, NULL, shape + n);
    }
    for (int64_t i = 0; i < n; i++)
    {
        double e = held ? reduced[i] - full[i] : shape[n + i] - shape[i];
        double d = held ? full[i] - rest[i] : shape[i];
        off += e * e;
        sum += d * d;
    }
    *size = sqrt(sum);
    return sqrt(off);
}

/// The comparison as a whole.
typedef struct Check
{
    tdJobErrors *places, motion; // the first is of the job
    double *shape;               // room for td_job_apart
} Check;

static tdStatus compare_trajectory(tdJob *job, const tdWalk *walk, int trajectory, Check *check, tdError *error)
{
    tdJobTrajectory data;
    tdWalker *walker = NULL;
    tdSettings quiet = job->task->settings;
    quiet.log = NULL; // that the model errs is what is measured here
    TD_TRY(td_job_take(job, &job->held_out, trajectory, true, &data, error));
    tdStatus status = td_job_load(job, "check-full", &job->held_out, trajectory, true, &data)
                          ? td_walker_create(walk, &quiet, &walker, error)
                          : td_fail_at(error, TD_ERROR_IO, job->work.folder, 0, NULL,
                                       "existing equilibria have disappeared; start again with --restart");
    for (int64_t k = 0; status == TD_OK && k < data.found.reached; k++)
    {
        bool reached = false;
        const double *place = job->held_out.values + data.found.place[k] * job->held_out.n;
        status = td_walker_visit(walker, place, 1, &reached, error);
        if (status == TD_OK && reached)
        {
            double size = 0, off = td_job_apart(&job->trainee, data.found.q + k * job->trainee.n,
                                                td_walker_nodes(walker, job->trainee.body), check->shape, &size);
            check->places->place[check->places->n] = data.found.place[k];
            td_job_add_error(check->places, off, size, td_walker_report(walker));
        }
        else if (status == TD_OK)
            check->places->failed++;
    }
    check->places->failed += data.found.failed;
    td_walker_free(walker);
    td_job_drop(&data);
    return status;
}

void td_job_candidate(const tdJob *job, char out[PATH_MAX])
{
    td_work_path(&job->work, "candidate.h5", out);
}

tdStatus td_job_candidate_models(tdJob *job, bool whole, tdModel **at_rest, tdModel **moving, tdError *error)
{
    char rom[PATH_MAX];
    tdSettings settings = job->task->settings;
    td_job_candidate(job, rom);
    settings.rom = rom;
    settings.rom_whole = whole;
    settings.log = NULL; // what there is to say of the scene has been said
    *at_rest = *moving = NULL;
    // Of a body that nothing holds there is no static one; it would not be used, as the walk settles from the start.
    if (job->trainee.frame == TD_FRAME_FIXED && !job->trainee.touching)
        TD_TRY(td_model_load_edited(job->task->scene, &settings, td_walk_edit_static, job->alone, at_rest, error));
    return td_model_load_edited(job->task->scene, &settings, td_walk_edit_moving, job->alone, moving, error);
}

// At held-out places, with the candidate's elements or with all.
static tdStatus compare_places(tdJob *job, bool whole, Check *check, tdError *error)
{
    tdModel *at_rest = NULL, *moving = NULL;
    tdStatus status = td_job_candidate_models(job, whole, &at_rest, &moving, error);
    const tdWalk walk = {at_rest != NULL ? at_rest : moving, moving, true};
    for (int t = 0; t < job->held_out.n_trajectories && status == TD_OK; t++)
        status = compare_trajectory(job, &walk, t, check, error);
    td_model_free(at_rest);
    td_model_free(moving);
    return status;
}

// The reduced model as it would be written now, static and moving.
static tdStatus compare_all(tdJob *job, Check *check, tdError *error)
{
    char path[PATH_MAX];
    td_job_candidate(job, path);
    TD_TRY(td_rom_write(&job->rom, path, error));
    TD_TRY(compare_places(job, false, check, error));
    return job->stopped ? TD_OK : td_job_motion(job, path, &check->motion, error);
}

static double relative(const tdJobErrors *errors)
{
    return errors->n > 0 && errors->size > 0 ? sqrt(errors->off / errors->size) : NAN;
}

// A body that only falls as a whole keeps its shape, and what its nodes are off by is rounding.
static bool moves_at_all(const tdJob *job, const tdJobErrors *motion)
{
    return motion->largest > SLIGHT * job->model->size * sqrt((double)job->trainee.n / 3);
}

// What the indicator means, from the places that were visited and the steps of the motion, unless that is one the model
// does not follow. Both are relative to the larger of their largest displacements.
static tdStatus calibrate(tdJob *job, const Check *check, tdError *error)
{
    tdIndicatorFit fit;
    const tdJobErrors *parts[2] = {check->places, &check->motion};
    double largest = fmax(check->places->largest, check->motion.largest);
    tdJobErrors all;
    TD_TRY(take_errors(&job->round, check->places->n + check->motion.n, &all, error));
    int count = relative(&check->motion) <= TD_REDUCE_ACCEPTED ? 2 : 1;
    for (int k = 0; k < count; k++)
        for (int64_t i = 0; i < parts[k]->n; i++)
        {
            all.indicator[all.n] = parts[k]->indicator[i];
            all.distance[all.n] = parts[k]->distance[i];
            all.found[all.n++] = parts[k]->found[i] / largest;
        }
    TD_TRY(td_indicator_calibrate(all.n, all.indicator, all.distance, all.found, &fit, error));
    job->rom.indicator_slope = fit.slope;
    job->rom.indicator_offset = fit.offset;
    job->rom.indicator_threshold = fit.threshold;
    job->rom.distance_threshold = fit.far;
    return TD_OK;
}

tdStatus td_job_check(tdJob *job, tdError *error)
{
    tdReduceReport *report = job->report;
    tdArena *arena = &job->round;
    Check check = {.shape = TD_TAKE(arena, double, 2 * job->trainee.n), .places = TD_TAKE(arena, tdJobErrors, 2)};
    int64_t steps = TD_JOB_MOTION_STEPS;
    td_job_begin(job, TD_REDUCE_CHECK, td_work_key(job->training, &job->held_out.count, sizeof job->held_out.count),
                 job->held_out.count + steps);
    if (td_job_adapts(job)) // they were looked at before
        td_job_progress(job, job->held_out.count);
    else if (job->held_out.count > 0)
        TD_TRY(td_job_visit(job, "check-full", &job->held_out, true, error));
    if (job->stopped)
        return TD_OK;
    if (check.shape == NULL || check.places == NULL)
        return td_fail_memory(error, "the check");
    TD_TRY(take_errors(arena, job->held_out.count, check.places, error));
    TD_TRY(take_errors(arena, steps, &check.motion, error));
    TD_TRY(compare_all(job, &check, error));
    if (!moves_at_all(job, &check.motion))
        check.motion.n = 0;
    job->places = check.places;
    job->motion = check.places + 1;
    *job->motion = check.motion;
    const tdJobErrors *places = check.places, *motion = &check.motion;
    report->held_out_places = places->n;
    report->held_out_failures = places->failed;
    report->motion_steps = motion->n;
    job->rom.held_out_error = report->held_out_error = relative(places);
    job->rom.motion_error = report->motion_error = relative(motion);
    report->held_out_worst = places->n > 0 && places->largest > 0 ? places->worst / places->largest : NAN;
    report->motion_worst = motion->n > 0 && motion->largest > 0 ? motion->worst / motion->largest : NAN;
    return fmax(places->largest, motion->largest) > 0 ? calibrate(job, &check, error) : TD_OK;
}

tdStatus td_job_whole_error(tdJob *job, double *out, tdError *error)
{
    tdJobErrors places;
    Check check = {.shape = TD_TAKE(&job->round, double, 2 * job->trainee.n), .places = &places};
    if (check.shape == NULL)
        return td_fail_memory(error, "the check");
    TD_TRY(take_errors(&job->round, job->held_out.count, &places, error));
    TD_TRY(compare_places(job, true, &check, error));
    *out = relative(&places);
    return TD_OK;
}
