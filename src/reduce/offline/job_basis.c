// SPDX-License-Identifier: Apache-2.0
// Snapshots -> modes, and with them the states in which training looks at the forces of elements.
#include "reduce/offline/job_parts.h"

#include "reduce/modes.h"
#include "reduce/offline/pod.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_SIGMA 1e-10 // relative to the largest: what falls below is rounding

typedef tdStatus (*UseFn)(tdJob *job, const tdSnapshots *found, void *user, tdError *error);

// Moments of a motion, which have what inertia does to the shape, as one trajectory through `use`.
static tdStatus each_moment(tdJob *job, UseFn use, void *user, tdError *error)
{
    tdJobMotion motion = {0};
    if (!td_job_learns_motion(job))
        return TD_OK;
    tdStatus status = td_job_full_motion(job, true, &motion, error);
    int64_t n = job->trainee.n, n_u = job->trainee.n_u;
    tdSnapshots found = {.reached = motion.n,
                         .u = td_take((size_t)(motion.n * n_u + 1), sizeof(double)),
                         .d = td_take((size_t)(motion.n * n + 1), sizeof(double))};
    if (status == TD_OK && (found.u == NULL || found.d == NULL))
        status = td_fail_memory(error, "a motion of training");
    for (int64_t k = 0; k < motion.n && status == TD_OK; k++)
        td_trainee_split(&job->trainee, motion.q + k * n, found.u + k * n_u, found.d + k * n);
    if (status == TD_OK && motion.n > 0 && !job->stopped)
        status = use(job, &found, user, error);
    free(found.u);
    free(found.d);
    free(motion.q);
    return status;
}

// Snapshots of all trajectories through `use`, in order.
static tdStatus each_trajectory(tdJob *job, UseFn use, void *user, tdError *error)
{
    tdStatus status = TD_OK;
    for (int t = 0; t < job->path.n_trajectories && status == TD_OK; t++)
    {
        tdJobTrajectory data;
        TD_TRY(td_job_take(job, &job->path, t, false, &data, error));
        status = td_job_load(job, "snapshots", &job->path, t, false, &data)
                     ? use(job, &data.found, user, error)
                     : td_fail_at(error, TD_ERROR_IO, job->work.folder, 0, NULL,
                                  "existing snapshots have disappeared; start again with --restart");
        td_job_drop(&data);
    }
    return status == TD_OK ? each_moment(job, use, user, error) : status;
}

static tdStatus count_snapshots(tdJob *job, const tdSnapshots *found, void *user, tdError *error)
{
    (void)user;
    (void)error;
    tdReduceReport *report = job->report;
    if (found->place == NULL)
        report->moving_snapshots += found->reached;
    for (int64_t k = 0; k < found->reached && found->place != NULL; k++)
        report->weight_snapshots += job->path.weight[found->place[k]] < 1;
    if (found->failed > 0 && report->failures == 0)
    {
        snprintf(report->why, sizeof report->why, "%s", found->why);
        job->failure = found->failure;
    }
    report->failures += found->failed;
    report->iterations += found->place != NULL ? found->iterations : 0;
    job->n_found += found->reached;
    return TD_OK;
}

static tdStatus add_snapshots(tdJob *job, const tdSnapshots *found, void *user, tdError *error)
{
    TD_TRY(td_pod_add(user, job->tasks, (int)found->reached, found->d, error));
    td_job_progress(job, 1); // too short a phase to be stopped within
    return TD_OK;
}

// alpha = Phi' d
static tdStatus project_snapshots(tdJob *job, const tdSnapshots *found, void *user, tdError *error)
{
    (void)error;
    int64_t *at = user, n = job->trainee.n;
    int r = job->rom.r, n_u = job->trainee.n_u;
    for (int64_t k = 0; k < found->reached; k++, (*at)++)
    {
        double *alpha = job->alpha + *at * r;
        const double *d = found->d + k * n;
        memset(alpha, 0, (size_t)r * sizeof *alpha);
        for (int64_t i = 0; i < n; i++)
            for (int j = 0; j < r; j++)
                alpha[j] += job->rom.phi[i * r + j] * d[i];
        memcpy(job->u + *at * n_u, found->u + k * n_u, (size_t)n_u * sizeof(double));
    }
    return TD_OK;
}

void td_job_ranges(tdJob *job)
{
    tdRom *rom = &job->rom;
    for (int j = 0; j < rom->r && job->n_k > 0; j++)
    {
        double sum = 0, squares = 0;
        rom->low[j] = rom->high[j] = 0;
        for (int64_t k = 0; k < job->n_k; k++)
        {
            double a = job->alpha[k * rom->r + j];
            rom->low[j] = fmin(rom->low[j], a);
            rom->high[j] = fmax(rom->high[j], a);
            sum += a;
        }
        for (int64_t k = 0; k < job->n_k; k++)
        {
            double off = job->alpha[k * rom->r + j] - sum / (double)job->n_k;
            squares += off * off;
        }
        rom->spread[j] = sqrt(squares / (double)job->n_k);
    }
}

/// What comes before the arrays of the part "basis".
typedef struct BasisHead
{
    int64_t r, n_sigma, n_lambda, vibrating; // the last: states of training
    double pod_error;
    double left[2], least[2]; // tdJob
} BasisHead;

static tdStatus take_basis(tdJob *job, const BasisHead *head, tdError *error)
{
    tdRom *rom = &job->rom;
    tdArena *arena = &job->round;
    rom->r = (int)head->r;
    rom->n_sigma = (int)head->n_sigma;
    rom->n_lambda = (int)head->n_lambda;
    rom->pod_error = head->pod_error;
    memcpy(job->left, head->left, sizeof job->left);
    memcpy(job->least, head->least, sizeof job->least);
    job->n_k = job->n_found + head->vibrating;
    rom->phi = TD_TAKE(arena, double, job->trainee.n * rom->r);
    rom->sigma = TD_TAKE(arena, double, rom->n_sigma);
    rom->lambda = TD_TAKE(arena, double, rom->n_lambda);
    job->alpha = TD_TAKE(arena, double, job->n_k * rom->r);
    job->u = TD_TAKE(arena, double, job->n_k *(job->trainee.n_u + 1));
    rom->low = TD_TAKE(arena, double, rom->r);
    rom->high = TD_TAKE(arena, double, rom->r);
    rom->spread = TD_TAKE(arena, double, rom->r);
    if (rom->phi == NULL || rom->sigma == NULL || rom->lambda == NULL || job->alpha == NULL || job->u == NULL ||
        rom->low == NULL || rom->high == NULL || rom->spread == NULL)
        return td_fail_memory(error, "the modes");
    return TD_OK;
}

#define BASIS_PIECES 5

static int list_basis(const tdJob *job, tdWorkPart pieces[BASIS_PIECES])
{
    const tdRom *rom = &job->rom;
    pieces[0] = (tdWorkPart){rom->phi, (size_t)(job->trainee.n * rom->r) * sizeof(double)};
    pieces[1] = (tdWorkPart){rom->sigma, (size_t)rom->n_sigma * sizeof(double)};
    pieces[2] = (tdWorkPart){job->alpha, (size_t)(job->n_k * rom->r) * sizeof(double)};
    pieces[3] = (tdWorkPart){job->u, (size_t)(job->n_k * job->trainee.n_u) * sizeof(double)};
    pieces[4] = (tdWorkPart){rom->lambda, (size_t)rom->n_lambda * sizeof(double)};
    return BASIS_PIECES;
}

// What r modes leave of the snapshots.
static double left_behind(const tdPod *pod, int r)
{
    const double *sigma = td_pod_sigma(pod);
    double left = 0, all = 0;
    for (int i = 0; i < td_pod_rank(pod); i++)
    {
        all += sigma[i] * sigma[i];
        left += i >= r ? sigma[i] * sigma[i] : 0;
    }
    return sqrt(left / all);
}

// How many modes the snapshots need, and what these leave.
static tdStatus count_modes(tdJob *job, const tdPod *pod, BasisHead *head, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    head->n_sigma = td_pod_rank(pod);
    head->r = td_pod_modes(pod, given->pod_tolerance, &head->pod_error);
    if (head->r > 0 && td_job_adapts(job))
    {
        int r = (int)head->r;
        TD_TRY(td_job_count_modes(job, pod, &r, error));
        memcpy(head->left, job->left, sizeof head->left);
        memcpy(head->least, job->least, sizeof head->least);
        if (r > head->r)
            head->pod_error = left_behind(pod, r);
        head->r = r;
    }
    if (head->r == 0)
        return td_fail_at(error, TD_ERROR_NUMERIC, job->model->scene.file, given->line, "reduction",
                          "body '%s' does not move in any of the %lld snapshots; do the actuators act on it?",
                          job->model->bodies[job->trainee.body].name, (long long)job->n_found);
    if (head->r <= given->max_modes)
        return TD_OK;
    head->r = given->max_modes;
    head->pod_error = left_behind(pod, given->max_modes);
    return TD_OK;
}

// Phi: the modes of the snapshots, then vibration modes; alpha and u.
static tdStatus fill_basis(tdJob *job, const tdPod *pod, BasisHead *head, const double *phi,
                           const tdJobVibrations *vibrations, tdError *error)
{
    int64_t n = job->trainee.n, at = 0;
    int own = (int)head->r, r = own + vibrations->n;
    head->r = r;
    head->n_lambda = vibrations->k;
    head->vibrating = vibrations->states;
    TD_TRY(take_basis(job, head, error));
    tdRom *rom = &job->rom;
    memcpy(rom->sigma, td_pod_sigma(pod), (size_t)head->n_sigma * sizeof(double));
    if (vibrations->k > 0)
        memcpy(rom->lambda, vibrations->modes->lambda, (size_t)vibrations->k * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < r; j++) // rounding leaves traces on held coordinates
            rom->phi[i * r + j] =
                job->trainee.loose[i] * (j < own ? phi[i * own + j] : vibrations->column[(j - own) * n + i]);
    TD_TRY(each_trajectory(job, project_snapshots, &at, error));
    return vibrations->k > 0 ? td_job_vibrate(job, vibrations, job->n_found, error) : TD_OK;
}

static tdStatus make_basis(tdJob *job, const tdPod *pod, tdError *error)
{
    BasisHead head = {0};
    tdJobVibrations vibrations = {0};
    TD_TRY(count_modes(job, pod, &head, error));
    double *phi = td_take((size_t)job->trainee.n, (size_t)head.r * sizeof *phi);
    tdStatus status = phi == NULL ? td_fail_memory(error, "the modes") : TD_OK;
    if (status == TD_OK)
    {
        td_pod_basis(pod, (int)head.r, phi);
        if (job->model->scene.reduction.modes > 0)
            status = td_job_vibrations_create(job, (int)head.r, phi, &vibrations, error);
    }
    if (status == TD_OK)
        status = fill_basis(job, pod, &head, phi, &vibrations, error);
    td_job_vibrations_free(&vibrations);
    free(phi);
    tdWorkPart pieces[BASIS_PIECES], about = {&head, sizeof head};
    if (status == TD_OK)
        status = td_work_save(&job->work, job->basis, "basis.part", list_basis(job, pieces), pieces, error);
    if (status == TD_OK)
        status = td_work_save(&job->work, job->basis, "basis-head.part", 1, &about, error);
    return status;
}

/// What the snapshots are, for td_job_tsqr.
typedef struct Listed
{
    int64_t *reached;
    int trajectory;
    int64_t n_moments;
    double *moments;
} Listed;

static tdStatus list_snapshots(tdJob *job, const tdSnapshots *found, void *user, tdError *error)
{
    Listed *listed = user;
    td_job_progress(job, 1);
    if (found->place != NULL)
    {
        listed->reached[listed->trajectory++] = found->reached;
        return TD_OK;
    }
    size_t bytes = (size_t)(found->reached * job->trainee.n) * sizeof(double);
    listed->moments = td_take(bytes + 1, 1);
    if (listed->moments == NULL)
        return td_fail_memory(error, "a motion of training");
    memcpy(listed->moments, found->d, bytes);
    listed->n_moments = found->reached;
    return TD_OK;
}

static tdStatus decompose_rows(tdJob *job, int most, tdPod **pod, tdError *error)
{
    Listed listed = {.reached = td_take((size_t)job->path.n_trajectories + 1, sizeof(int64_t))};
    tdStatus status = listed.reached == NULL ? td_fail_memory(error, "the decomposition of snapshots")
                                             : each_trajectory(job, list_snapshots, &listed, error);
    if (status == TD_OK)
        status = td_job_tsqr(job, listed.reached, listed.n_moments, listed.moments, most, pod, error);
    free(listed.reached);
    free(listed.moments);
    return status;
}

static tdStatus decompose(tdJob *job, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    // Between blocks more modes are kept than will be needed, as far as a quarter of the memory goes.
    double fits = (double)given->memory / 4 / (8 * (double)job->trainee.n);
    int64_t most = 2 * (int64_t)given->max_modes + 64;
    most = job->n_found < most ? job->n_found : most;
    most = fits < (double)most ? (int64_t)fits : most;
    tdPod *pod = NULL;
    most = most < 1 ? 1 : most;
    tdStatus status = TD_OK;
    if (job->task->tsqr)
        status = decompose_rows(job, (int)most, &pod, error);
    else
        status = td_pod_create(job->trainee.n, (int)most, KEPT_SIGMA, &pod, error);
    if (status == TD_OK && !job->task->tsqr)
        status = each_trajectory(job, add_snapshots, pod, error);
    if (status == TD_OK)
        status = make_basis(job, pod, error);
    td_pod_free(pod);
    return status;
}

// Of the modes: all snapshots, and how many modes are made of them. Memory bounds what is kept between blocks.
static uint64_t basis_key(const tdJob *job)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    const int64_t counts[] = {given->max_modes, given->memory, given->modes, (int64_t)given->seed};
    uint64_t key = td_work_key(job->equilibria, counts, sizeof counts);
    key = td_work_key(key, &given->pod_tolerance, sizeof given->pod_tolerance);
    const double asked[] = {job->share, given->error};
    if (td_job_adapts(job))
        key = td_work_key(key, asked, sizeof asked);
    if (job->task->tsqr)
        key = td_work_key(key, "tsqr", 4);
    for (int t = 0; t < job->path.n_trajectories; t++)
    {
        uint64_t one = td_job_trajectory_key(job, &job->path, t, false);
        key = td_work_key(key, &one, sizeof one);
    }
    return key;
}

// Of forces in these modes: by their numbers, because other tolerances may give the same ones.
static uint64_t training_key(const tdJob *job)
{
    tdWorkPart pieces[BASIS_PIECES];
    int n = list_basis(job, pieces);
    uint64_t key = td_work_key(job->equilibria, &job->model->scene.reduction.seed, sizeof(uint64_t));
    for (int i = 0; i < n; i++)
        key = td_work_key(key, pieces[i].data, pieces[i].size);
    return key;
}

tdStatus td_job_pod(tdJob *job, tdError *error)
{
    tdReduceReport *report = job->report;
    TD_TRY(each_trajectory(job, count_snapshots, NULL, error));
    const tdScene *scene = &job->model->scene;
    if (2 * report->failures > job->path.count)
    {
        TD_TRY(td_job_explain(job, 1, report->advice, sizeof report->advice, error));
        return td_fail_at(error, TD_ERROR_NUMERIC, scene->file, scene->reduction.line, "reduction",
                          "%lld of %lld sample points have no equilibrium, the first at %.280s; %s",
                          (long long)report->failures, (long long)job->path.count, report->why, report->advice);
    }
    report->snapshots = job->rom.n_snapshots = job->n_found - report->weight_snapshots - report->moving_snapshots;
    job->basis = basis_key(job);
    td_job_begin(job, TD_REDUCE_POD, job->basis, job->path.n_trajectories + td_job_learns_motion(job));
    BasisHead head;
    tdWorkPart about = {&head, sizeof head}, pieces[BASIS_PIECES];
    bool found = td_work_load(&job->work, job->basis, "basis-head.part", 1, &about);
    if (found)
    {
        TD_TRY(take_basis(job, &head, error));
        found = td_work_load(&job->work, job->basis, "basis.part", list_basis(job, pieces), pieces);
    }
    if (found)
        td_job_progress(job, job->total);
    else
        TD_TRY(decompose(job, error));
    if (!job->later)
        report->reused[TD_REDUCE_POD] = found;
    TD_TRY(td_job_frame(job, error));
    job->training = training_key(job);
    td_job_ranges(job);
    report->modes = job->rom.r;
    report->vibration_modes = job->rom.n_lambda;
    report->frequency = job->rom.n_lambda > 0 ? td_modes_frequency(job->rom.lambda[0]) : 0;
    report->pod_error = job->rom.pod_error;
    return TD_OK;
}
