// SPDX-License-Identifier: Apache-2.0
// Why a model is off. At held-out places: does it have the equilibrium of full order and settle in another one, does
// the body buckle on the way there, or can the modes not make the shape? Along the motion: does full order snap
// through, or does it move in shapes that no equilibrium has? And within which share of the ranges nothing of it was
// seen.
#include "core/state.h"
#include "reduce/offline/job_parts.h"
#include "reduce/offline/walker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIED  8   // worst places, from which full order's shape is tried
#define CLOSER 0.5 // of its error: a model that stays so near to that shape has the equilibrium
#define MODES  0.5 // of an error: what modes leave, from which on they are to blame
#define SNAP   4   // times the usual speed of full order is a snap,
#define AROUND 4   // so many steps before the model is off, or after
#define SHARES 16  // shares of the ranges are multiples of a sixteenth
#define WAY    8   // static steps from rest to a place
#define LED    3   // worst places whose ways are looked at

/// One place with its error.
typedef struct Place
{
    double off, level; // level: share of the ranges
    int64_t place;
} Place;

static int by_error(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    return x->off != y->off ? (x->off < y->off ? 1 : -1) : (x->place > y->place) - (x->place < y->place);
}

// The largest share of its farthest value that an actuator has.
static double level_of(const tdModel *model, const double *most, const double *values)
{
    double level = 0;
    for (int a = 0; a < model->n_actuators; a++)
        if (most[a] > 0)
            level = fmax(level, fabs(values[model->actuators[a].input]) / most[a]);
    return level;
}

// The share of the ranges below a level at which the model is off: by a sixteenth or a part of one; or as far as
// equilibria lead on the way there.
static double share_below(double level, double way)
{
    double below = fmax(ceil(SHARES * level - 1e-9) - 1, 0) / SHARES;
    return way < 1 ? fmin(below, floor(SHARES * way * level + 1e-9) / SHARES) : below;
}

static int write_values(const tdModel *model, const double *values, char *out, size_t size)
{
    int n = 0;
    for (int a = 0; a < model->n_actuators && n >= 0 && (size_t)n + 40 < size; a++)
        n += snprintf(out + n, size - (size_t)n, "%s%.24s = %.3g", a > 0 ? ", " : "", model->actuators[a].name,
                      values[model->actuators[a].input]);
    return n;
}

// ---------------------------------------------------------------- at held-out places

/// The worst places, tried again from the shapes of full order.
typedef struct Retry
{
    tdJob *job;
    int n, other; // tried; at which the model stays nearer to full order than where it settled by itself
    const Place *place;
    tdWalker *walker;
    double *shape, *d, *u, *coords; // scratch
} Retry;

static const Place *find_tried(const Retry *retry, int64_t place)
{
    for (int i = 0; i < retry->n; i++)
        if (retry->place[i].place == place)
            return &retry->place[i];
    return NULL;
}

// From full order's shape q at a place at which the model stands.
static tdStatus try_shape(Retry *retry, const tdModel *reduced, const double *values, const double *q,
                          const Place *place, tdError *error)
{
    tdJob *job = retry->job;
    const tdTrainee *trainee = &job->trainee;
    const tdRom *rom = &job->rom;
    bool reached = false;
    double size = 0;
    td_trainee_split(trainee, q, retry->u, retry->d);
    const double *now = td_walker_state(retry->walker)->q + reduced->bodies[trainee->body].first;
    memcpy(retry->coords, now, (size_t)reduced->bodies[trainee->body].count * sizeof *now);
    for (int j = 0; j < rom->r; j++)
    {
        double sum = 0;
        for (int64_t i = 0; i < trainee->n; i++)
            sum += rom->phi[i * rom->r + j] * retry->d[i];
        retry->coords[j] = sum;
    }
    TD_TRY(td_walker_settle_from(retry->walker, values, trainee->body, retry->coords, &reached, error));
    double off = td_job_apart(trainee, q, td_walker_nodes(retry->walker, trainee->body), retry->shape, &size);
    retry->other += reached && off < CLOSER * place->off;
    return TD_OK;
}

static tdStatus retry_trajectory(Retry *retry, const tdWalk *walk, int trajectory, tdError *error)
{
    tdJob *job = retry->job;
    tdJobTrajectory data;
    tdSettings quiet = job->task->settings;
    quiet.log = NULL;
    TD_TRY(td_job_take(job, &job->held_out, trajectory, true, &data, error));
    bool there = td_job_load(job, "check-full", &job->held_out, trajectory, true, &data);
    tdStatus status = TD_OK;
    for (int64_t k = 0; there && status == TD_OK && k < data.found.reached; k++)
    {
        const Place *place = find_tried(retry, data.found.place[k]);
        const double *values = job->held_out.values + data.found.place[k] * job->held_out.n;
        bool reached = false;
        if (place == NULL)
            continue;
        status = td_walker_create(walk, &quiet, &retry->walker, error);
        if (status == TD_OK)
            status = td_walker_visit(retry->walker, values, 1, &reached, error);
        if (status == TD_OK && reached)
            status = try_shape(retry, walk->moving, values, data.found.q + k * job->trainee.n, place, error);
        td_walker_free(retry->walker);
        retry->walker = NULL;
    }
    td_job_drop(&data);
    return status;
}

static tdStatus retry_places(Retry *retry, tdError *error)
{
    tdJob *job = retry->job;
    tdModel *at_rest = NULL, *moving = NULL;
    size_t n = (size_t)job->trainee.n, more = (size_t)(job->trainee.n_u + job->rom.r + 16);
    retry->shape = td_take(3 * n + 2 * more, sizeof(double));
    if (retry->shape == NULL)
        return td_fail_memory(error, "the causes of errors");
    retry->d = retry->shape + 2 * n;
    retry->u = retry->d + n;
    retry->coords = retry->u + more;
    tdStatus status = td_job_candidate_models(job, false, &at_rest, &moving, error);
    const tdWalk walk = {at_rest, moving, true};
    for (int t = 0; t < job->held_out.n_trajectories && status == TD_OK; t++)
        status = retry_trajectory(retry, &walk, t, error);
    td_model_free(at_rest);
    td_model_free(moving);
    free(retry->shape);
    return status;
}

// Full order on the straight way from rest: which share of it the path of equilibria leads; 1: all of it.
static tdStatus lead_way(const tdJob *job, const double *values, double *share, tdError *error)
{
    const tdModel *model = job->model;
    *share = 1;
    if (job->trainee.frame != TD_FRAME_FIXED || job->trainee.touching)
        return TD_OK;
    const tdWalk walk = {model, NULL, false};
    tdSettings quiet = job->task->settings;
    quiet.log = NULL;
    tdWalker *walker = NULL;
    double *part = td_take((size_t)model->n_inputs + 1, sizeof *part);
    tdStatus status = part == NULL ? td_fail_memory(error, "the causes of errors") : TD_OK;
    if (status == TD_OK)
        status = td_walker_create(&walk, &quiet, &walker, error);
    bool reached = true;
    *share = 0;
    for (int k = 1; k <= WAY && status == TD_OK && reached; k++)
    {
        memcpy(part, values, (size_t)model->n_inputs * sizeof *part);
        for (int a = 0; a < model->n_actuators; a++)
            part[model->actuators[a].input] *= (double)k / WAY;
        status = td_walker_visit(walker, part, 1, &reached, error);
        *share = reached ? (double)k / WAY : *share;
    }
    td_walker_free(walker);
    free(part);
    return status;
}

// Places by error, the worst first; how many are off by more than is good.
static int64_t list_places(const tdJob *job, const double *most, Place *out)
{
    const tdJobErrors *errors = job->places;
    int64_t far = 0;
    for (int64_t i = 0; i < errors->n; i++)
    {
        const double *values = job->held_out.values + errors->place[i] * job->held_out.n;
        out[i] = (Place){errors->found[i], level_of(job->model, most, values), errors->place[i]};
        far += errors->found[i] > TD_JOB_FAR_OFF * errors->largest;
    }
    qsort(out, (size_t)errors->n, sizeof *out, by_error);
    return far;
}

static tdStatus of_places(tdJob *job, const double *most, char *out, size_t size, double *within, tdError *error)
{
    Place *places = td_take((size_t)job->places->n + 1, sizeof *places);
    if (places == NULL)
        return td_fail_memory(error, "the causes of errors");
    int64_t far = list_places(job, most, places);
    Retry retry = {.job = job, .n = far < TRIED ? (int)far : TRIED, .place = places};
    tdStatus status = TD_OK;
    if (job->trainee.frame == TD_FRAME_FIXED && !job->trainee.touching && job->rom.kind == TD_ROM_DOMAINS)
        status = retry_places(&retry, error);
    double way = 1;
    for (int i = 0; i < LED && i < far && status == TD_OK; i++)
    {
        double led = 1;
        status = lead_way(job, job->held_out.values + places[i].place * job->held_out.n, &led, error);
        way = i == 0 ? led : way;
        *within = fmin(*within, share_below(places[i].level, led));
    }
    int n = snprintf(out, size, "%lld of %lld held-out points are off by more than %.0f %%, the worst at ",
                     (long long)far, (long long)job->places->n, 100 * TD_JOB_FAR_OFF);
    n += write_values(job->model, job->held_out.values + places[0].place * job->held_out.n, out + n, size - (size_t)n);
    double modes = job->left[0], off = job->report->held_out_error;
    if (2 * retry.other > retry.n)
        snprintf(out + n, size - (size_t)n,
                 ": the body has several equilibria there (it buckles or snaps through), and the reduced model comes "
                 "to rest in another one than full order, which it has, too");
    else if (way < 1)
        snprintf(out + n, size - (size_t)n,
                 ": on the straight way there from rest equilibria end beyond %.0f %% of these values, as where a body "
                 "buckles, and where full order and the reduced model come to after that is not the same",
                 100 * way);
    else if (td_job_adapts(job) && modes > MODES * off)
        snprintf(out + n, size - (size_t)n, ": the modes lack %.2g of the shapes", modes);
    else if (td_job_adapts(job))
        snprintf(out + n, size - (size_t)n,
                 ": the modes lack only %.2g of the shapes, but small errors of forces move the model far from them",
                 modes);
    for (int64_t i = 0; i < far; i++)
        *within = fmin(*within, share_below(places[i].level, 1));
    free(places);
    return status;
}

// ---------------------------------------------------------------- along the motion

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The largest speed of full order around a step beside the usual one.
static double leap(const tdJob *job, const tdJobMotion *full, int64_t step, double *speed)
{
    int64_t n = job->trainee.n, count = 0;
    double most = 0;
    for (int64_t k = 1; k < full->n; k++)
    {
        const double *q = full->q + k * n, *before = q - n;
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += (q[i] - before[i]) * (q[i] - before[i]);
        speed[count++] = sqrt(sum);
        if (k >= step - AROUND && k <= step + AROUND)
            most = fmax(most, sqrt(sum));
    }
    qsort(speed, (size_t)count, sizeof *speed, compare_numbers);
    return count > 0 && speed[count / 2] > 0 ? most / speed[count / 2] : 0;
}

static tdStatus of_motion(tdJob *job, const double *most, char *out, size_t size, double *within, tdError *error)
{
    const tdModel *model = job->model;
    const tdSceneMotion *motion = NULL;
    const tdJobErrors *errors = job->motion;
    tdJobMotion full = {0};
    double duration = 0, h = job->model->scheme.h;
    int64_t step = 0;
    while (step < errors->n - 1 && !(errors->found[step] > TD_JOB_FAR_OFF * errors->largest))
        step++;
    TD_TRY(td_job_motion_of(job, &motion, &duration, error));
    TD_TRY(td_job_full_motion(job, false, &full, error));
    double *work = td_take((size_t)(full.n + model->n_inputs + 1), sizeof *work), *values = work + full.n;
    tdStatus status = work == NULL ? td_fail_memory(error, "the causes of errors") : TD_OK;
    if (status == TD_OK)
    {
        for (int i = 0; i < model->n_inputs; i++)
            values[i] = td_input_value(model, i, 0);
        for (int k = 0; k < motion->n_names; k++)
        {
            int input = td_model_find_input(model, motion->names[k]);
            values[input] = td_motion_value(motion, k, (double)(step + 1) * h, model->inputs[input].standard);
        }
        double times = leap(job, &full, step, work), level = level_of(model, most, values), way = 1;
        status = lead_way(job, values, &way, error);
        int n = snprintf(out, size, "along the motion it is off by more than %.0f %% from t = %.3g s on, at ",
                         100 * TD_JOB_FAR_OFF, (double)(step + 1) * h);
        n += write_values(model, values, out + n, size - (size_t)n);
        if (times > SNAP)
            snprintf(out + n, size - (size_t)n,
                     ": full order snaps through there (%.0f times as fast as usual), and no equilibrium of training "
                     "tells when and how",
                     times);
        else if (way < 1)
            snprintf(out + n, size - (size_t)n,
                     ": on the straight way there from rest equilibria end beyond %.0f %% of these values: it buckles",
                     100 * way);
        else
            snprintf(out + n, size - (size_t)n,
                     ": it moves in shapes that equilibria do not have; a slower motion, vibration modes "
                     "(reduction.modes) or damping help");
        *within = fmin(*within, share_below(level, way));
    }
    free(work);
    free(full.q);
    return status;
}

// ---------------------------------------------------------------- both

tdStatus td_job_find_cause(tdJob *job, char *out, size_t size, double *within, tdError *error)
{
    const tdReduceReport *report = job->report;
    size_t used = 0;
    *within = 1;
    out[0] = '\0';
    if (job->places == NULL || job->model->n_actuators == 0)
        return TD_OK;
    double *most = td_take((size_t)job->model->n_actuators, sizeof *most);
    if (most == NULL)
        return td_fail_memory(error, "the causes of errors");
    td_job_farthest(job, most);
    tdStatus status = TD_OK;
    if (report->held_out_error > TD_JOB_FAR_OFF && job->places->n > 0)
        status = of_places(job, most, out, size, within, error);
    used = strlen(out);
    if (status == TD_OK && report->motion_error > TD_JOB_FAR_OFF && !job->trainee.touching && used + 3 < size)
    {
        size_t gap = used > 0 ? 2 : 0;
        memcpy(out + used, "; ", gap);
        status = of_motion(job, most, out + used + gap, size - used - gap, within, error);
    }
    free(most);
    return status;
}
