// SPDX-License-Identifier: Apache-2.0
// Snapshots -> modes, all at once and by all ranks, each with some of the rows (tsqr.h):
//
//     X = Q R,   R = U S V'        units of rows, a tree, and a small decomposition
//     Phi = X V S^-1               units of rows again
//     Phi <- Phi L'^-1             with Phi' Phi = L L'
//
// X V S^-1 is orthonormal to eps sigma_1 / sigma; modes are made where that is 1e-8 at most. Their Gram matrix is then
// I but for so little that nothing is lost by its factor, which is checked, and so is what comes out.
#include "reduce/offline/job_parts.h"

#include "base/lapack.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_SIGMA 1.5e-8 // relative to the largest, the root of rounding: below, X V / sigma is no mode
#define NEARLY     1e-3   // Phi' Phi - I before the correction, at most,
#define CLEAN      1e-11  // and after it
#define MOMENTS    "moments.part"

/// What a rank does with rows.
typedef struct Rows
{
    tdJob *job;
    const tdSamplePath *path;
    const int64_t *reached;
    tdJobTsqr about;
    tdTsqr plan;
    const double *W; // m x rank by columns: V S^-1
    tdDeal deal;
    tdStatus status; // guarded by the job's mutex
    tdError error;
} Rows;

static tdStatus read_rows(void *user, int64_t begin, int64_t end, double *out, tdError *error)
{
    const Rows *rows = user;
    const tdJob *job = rows->job;
    size_t bytes = (size_t)(end - begin) * sizeof(double), n = (size_t)job->trainee.n * sizeof(double);
    bool good = true;
    for (int t = 0; t < rows->path->n_trajectories && good; t++)
    {
        good = td_job_load_rows(job, "snapshots", rows->path, t, rows->reached[t], begin, end, out);
        out += rows->reached[t] * (end - begin);
    }
    if (good && rows->about.n_moments > 0)
        good = td_work_read(&job->work, rows->about.key, MOMENTS, rows->about.n_moments, (size_t)begin * sizeof(double),
                            n, bytes, out);
    return good ? TD_OK
                : td_fail_at(error, TD_ERROR_IO, job->work.folder, 0, NULL,
                             "existing snapshots have disappeared; start again with --restart");
}

static void name_unit(const Rows *rows, int64_t unit, char out[64])
{
    snprintf(out, 64, "tsqr%s-%05lld.part", rows->about.rank > 0 ? "-modes" : "", (long long)unit);
}

static size_t unit_bytes(const Rows *rows, int64_t unit)
{
    int64_t begin = 0, end = 0, m = rows->about.m;
    td_tsqr_rows(&rows->plan, unit, &begin, &end);
    return (size_t)(rows->about.rank > 0 ? (end - begin) * rows->about.rank : m * m) * sizeof(double);
}

// Rows of the modes, leaf by leaf, by columns of the unit's length.
static tdStatus expand(Rows *rows, int64_t unit, double *out, tdError *error)
{
    int64_t begin = 0, end = 0, leaf = rows->plan.leaf;
    int m = (int)rows->about.m, rank = (int)rows->about.rank;
    td_tsqr_rows(&rows->plan, unit, &begin, &end);
    double *block = td_take((size_t)(leaf * m), sizeof *block);
    if (block == NULL)
        return td_fail_memory(error, "a block of snapshots");
    tdStatus status = TD_OK;
    for (int64_t at = begin; at < end && status == TD_OK; at += leaf)
    {
        int64_t to = at + leaf < end ? at + leaf : end;
        status = read_rows(rows, at, to, block, error);
        if (status == TD_OK)
            cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)(to - at), rank, m, 1, block, (int)(to - at),
                        rows->W, m, 0, out + (at - begin), (int)(end - begin));
    }
    free(block);
    return status;
}

static tdStatus make_unit(Rows *rows, int64_t unit, tdError *error)
{
    char name[64];
    size_t bytes = unit_bytes(rows, unit);
    const tdWork *work = &rows->job->work;
    name_unit(rows, unit, name);
    if (td_work_has(work, rows->about.key, name, bytes))
        return TD_OK;
    double *out = td_take(bytes, 1);
    tdStatus status = out == NULL            ? td_fail_memory(error, "rows of the modes")
                      : rows->about.rank > 0 ? expand(rows, unit, out, error)
                                             : td_tsqr_unit(&rows->plan, unit, read_rows, rows, out, error);
    const tdWorkPart part = {out, bytes};
    if (status == TD_OK)
        status = td_work_save(work, rows->about.key, name, 1, &part, error);
    free(out);
    return status;
}

static void make_units(void *context, int thread)
{
    (void)thread;
    Rows *rows = context;
    tdJob *job = rows->job;
    for (int64_t unit = 0; (unit = td_deal_next(&rows->deal, 0)) >= 0;)
    {
        tdError error = {0};
        tdStatus status = make_unit(rows, unit, &error);
        pthread_mutex_lock(&job->mutex);
        if (status != TD_OK && rows->status == TD_OK)
        {
            rows->status = status;
            rows->error = error;
        }
        bool stop = job->stopped || rows->status != TD_OK;
        pthread_mutex_unlock(&job->mutex);
        if (stop)
            td_deal_stop(&rows->deal);
    }
}

// All ranks, or this process alone.
static tdStatus make_all(Rows *rows, tdError *error)
{
    tdJob *job = rows->job;
    rows->plan = td_tsqr_plan(job->trainee.n, (int)rows->about.m);
    double fits = (double)job->model->scene.reduction.memory / 4 / td_tsqr_bytes(&rows->plan);
    int threads = td_tasks_threads(job->tasks);
    threads = fits < threads ? (int)fits : threads;
    openblas_set_num_threads(1);
    td_deal_begin(&rows->deal, job->crew, rows->plan.units, NULL, NULL);
    td_parallel(job->tasks, threads < 1 ? 1 : threads, make_units, rows);
    td_deal_end(&rows->deal);
    tdStatus status = rows->status == TD_OK && job->stopped ? TD_CANCELLED : rows->status;
    if (status != TD_OK && error != NULL)
        *error = rows->error;
    return job->crew != NULL ? td_crew_agree(job->crew, status, error) : status;
}

// ---------------------------------------------------------------- ranks

// What the others need to read rows, and W for the second pass. room: whether this rank has room for them.
static tdStatus pass_all(tdJob *job, bool room, int64_t *reached, int64_t trajectories, double *W,
                         const tdJobTsqr *about, tdError *error)
{
    TD_TRY(td_crew_agree(job->crew, room ? TD_OK : td_fail_memory(error, "the decomposition of snapshots"), error));
    job->crew->back->broadcast(reached, trajectories * (int64_t)sizeof *reached);
    if (about->rank > 0)
        job->crew->back->broadcast(W, about->m * about->rank * (int64_t)sizeof *W);
    return TD_OK;
}

static tdStatus order(Rows *rows, tdError *error)
{
    tdJob *job = rows->job;
    if (job->crew == NULL)
        return TD_OK;
    tdJobHeard own;
    tdJobWay way = {"snapshots", rows->path, false, TD_REDUCE_SNAPSHOTS, NULL};
    td_job_order_tsqr(job, &rows->about);
    TD_TRY(td_job_pass_path(job, &way, &own, error));
    return pass_all(job, true, (int64_t *)(size_t)rows->reached, rows->path->n_trajectories, (double *)(size_t)rows->W,
                    &rows->about, error);
}

void td_job_follow_tsqr(tdJob *job, const tdJobTsqr *about)
{
    tdError error = {0};
    tdJobHeard heard = {0};
    tdJobWay way = {0};
    if (td_job_pass_path(job, &way, &heard, &error) == TD_OK)
    {
        int64_t *reached = td_take((size_t)heard.path.n_trajectories + 1, sizeof *reached);
        double *W = td_take((size_t)(about->m * about->rank) + 1, sizeof *W);
        bool room = reached != NULL && W != NULL;
        if (pass_all(job, room, reached, heard.path.n_trajectories, W, about, &error) == TD_OK)
        {
            Rows rows = {.job = job, .path = &heard.path, .reached = reached, .about = *about, .W = W};
            make_all(&rows, &error); // agreed upon: rank 0 acts on it
        }
        free(reached);
        free(W);
    }
    td_job_heard_free(&heard);
}

// ---------------------------------------------------------------- rank 0

static bool load_unit(const Rows *rows, int64_t unit, double *out)
{
    char name[64];
    const tdWorkPart part = {out, unit_bytes(rows, unit)};
    name_unit(rows, unit, name);
    td_work_await(&rows->job->work, name);
    return td_work_load(&rows->job->work, rows->about.key, name, 1, &part);
}

static tdStatus lost(const tdJob *job, tdError *error)
{
    return td_fail_at(error, TD_ERROR_IO, job->work.folder, 0, NULL,
                      "rows of the modes have disappeared; start the same command again");
}

// R of all units, then S and V' of it in its place.
static tdStatus find_sigma(Rows *rows, double *Vt, double *S, tdError *error)
{
    int m = (int)rows->about.m, one = 1, info = 0, lwork = 64 * m + 5 * m;
    tdTsqrTree *tree = NULL;
    const double *root = NULL;
    double *R = td_take((size_t)m * (size_t)m, sizeof *R), *work = td_take((size_t)lwork, sizeof *work);
    tdStatus status = R == NULL || work == NULL ? td_fail_memory(error, "the decomposition of snapshots")
                                                : td_tsqr_tree_create(m, &tree, error);
    for (int64_t u = 0; u < rows->plan.units && status == TD_OK; u++)
        status = load_unit(rows, u, R) ? td_tsqr_tree_add(tree, R, error) : lost(rows->job, error);
    if (status == TD_OK)
        status = td_tsqr_tree_end(tree, &root, error);
    if (status == TD_OK)
    {
        memcpy(R, root, (size_t)m * (size_t)m * sizeof *R);
        dgesvd_("N", "A", &m, &m, R, &m, S, NULL, &one, Vt, &m, work, &lwork, &info, 1, 1);
        if (info != 0 || !isfinite(S[0]))
            status = td_fail(error, TD_ERROR_NUMERIC,
                             "the decomposition of the snapshots did not converge; are they finite?");
    }
    td_tsqr_tree_free(tree);
    free(R);
    free(work);
    return status;
}

// How far Phi' Phi is from I, and the matrix itself.
static double gram(int64_t n, int r, const double *U, double *G)
{
    double most = 0;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, r, (int)n, 1, U, (int)n, 0, G, r);
    for (int j = 0; j < r; j++)
        for (int i = j; i < r; i++)
            most = fmax(most, fabs(G[i + (int64_t)r * j] - (i == j)));
    return most;
}

static tdStatus clean(int64_t n, int r, double *U, tdError *error)
{
    double *G = td_take((size_t)r * (size_t)r, sizeof *G);
    if (G == NULL)
        return td_fail_memory(error, "the modes");
    int info = 0;
    double before = gram(n, r, U, G), after = 0;
    if (before < NEARLY)
        dpotrf_("L", &r, G, &r, &info, 1);
    if (before < NEARLY && info == 0)
    {
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)n, r, 1, G, r, U, (int)n);
        after = gram(n, r, U, G);
    }
    free(G);
    if (before < NEARLY && info == 0 && after < CLEAN)
        return TD_OK;
    return td_fail(error, TD_ERROR_NUMERIC,
                   "modes by TSQR are orthonormal to %.1e only (%.1e before they were corrected); leave --tsqr out",
                   after > 0 ? after : before, before);
}

// The modes from their units.
static tdStatus gather(Rows *rows, double *U, tdError *error)
{
    int64_t n = rows->job->trainee.n, rank = rows->about.rank;
    double *part = td_take(unit_bytes(rows, 0), 1);
    tdStatus status = part == NULL ? td_fail_memory(error, "the modes") : TD_OK;
    for (int64_t u = 0; u < rows->plan.units && status == TD_OK; u++)
    {
        int64_t begin = 0, end = 0;
        td_tsqr_rows(&rows->plan, u, &begin, &end);
        if (!load_unit(rows, u, part))
            status = lost(rows->job, error);
        for (int64_t j = 0; j < rank && status == TD_OK; j++)
            memcpy(U + j * n + begin, part + j * (end - begin), (size_t)(end - begin) * sizeof(double));
    }
    free(part);
    return status == TD_OK ? clean(n, (int)rank, U, error) : status;
}

static tdStatus make_modes(Rows *rows, const double *Vt, const double *S, int most, tdPod **out, tdError *error)
{
    int m = (int)rows->about.m, rank = 0;
    int64_t n = rows->job->trainee.n;
    double square = 0;
    for (int i = 0; i < m; i++)
        square += S[i] * S[i];
    while (rank < m && rank < n && rank < most && S[rank] > KEPT_SIGMA * S[0])
        rank++;
    double *W = td_take((size_t)m * (size_t)(rank + 1), sizeof *W), *U = td_take((size_t)n, (size_t)(rank + 1) * 8);
    tdStatus status = W == NULL || U == NULL ? td_fail_memory(error, "the modes") : TD_OK;
    for (int j = 0; j < rank && status == TD_OK; j++)
        for (int i = 0; i < m; i++)
            W[i + (int64_t)m * j] = Vt[j + (int64_t)m * i] / S[j];
    if (status == TD_OK && rank > 0)
    {
        rows->about.rank = rank;
        rows->W = W;
        status = order(rows, error);
        if (status == TD_OK)
            status = make_all(rows, error);
        if (status == TD_OK)
            status = gather(rows, U, error);
    }
    free(W);
    if (status == TD_OK)
        status = td_pod_adopt(n, rank, U, S, square, out, error);
    if (status != TD_OK)
        free(U);
    return status;
}

tdStatus td_job_tsqr(tdJob *job, const int64_t *reached, int64_t n_moments, const double *moments, int most,
                     tdPod **out, tdError *error)
{
    int64_t m = n_moments, n = job->trainee.n;
    for (int t = 0; t < job->path.n_trajectories; t++)
        m += reached[t];
    const tdTsqr plan = td_tsqr_plan(n, (int)m);
    double bytes = td_tsqr_bytes(&plan) + 8.0 * 3 * (double)(m * m);
    if (bytes > (double)job->model->scene.reduction.memory)
        return td_fail(error, TD_ERROR_INPUT,
                       "modes of %lld snapshots by TSQR need %.3g MB, and 'memory' is %.3g MB; allow more, or leave "
                       "--tsqr out",
                       (long long)m, 1e-6 * bytes, 1e-6 * (double)job->model->scene.reduction.memory);
    const int64_t sizes[] = {m, plan.leaf, plan.units};
    Rows rows = {.job = job, .path = &job->path, .reached = reached, .plan = plan};
    rows.about = (tdJobTsqr){.m = m, .n_moments = n_moments, .key = td_work_key(job->basis, sizes, sizeof sizes)};
    const tdWorkPart part = {moments, (size_t)(n_moments * n) * sizeof(double)};
    if (n_moments > 0)
        TD_TRY(td_work_save(&job->work, rows.about.key, MOMENTS, 1, &part, error));
    TD_TRY(order(&rows, error));
    TD_TRY(make_all(&rows, error));
    double *Vt = td_take((size_t)(m * m), sizeof *Vt), *S = td_take((size_t)m, sizeof *S);
    tdStatus status = Vt == NULL || S == NULL ? td_fail_memory(error, "the decomposition of snapshots")
                                              : find_sigma(&rows, Vt, S, error);
    if (status == TD_OK)
        status = make_modes(&rows, Vt, S, most, out, error);
    free(Vt);
    free(S);
    return status;
}
