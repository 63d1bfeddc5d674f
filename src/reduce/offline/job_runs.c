// SPDX-License-Identifier: Apache-2.0
// Training with contact in scenes that differ: friction, slopes, places of other bodies, motions. Each run is a
// trajectory of its own along the motion of its scene; the first is in the scene as it is, the others have values all
// over the ranges of `reduction.vary`, a Latin hypercube whose outermost slices are the ends. One more scene, of values
// between those, is for the check.
#include "reduce/offline/job_parts.h"

#include "base/hash.h"
#include "base/log.h"
#include "reduce/offline/walker.h"
#include "reduce/reduced.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN 0.15 // of a range at each end: values of the check are between

static double next_share(uint64_t *seed)
{
    *seed = td_hash_mix(*seed + 1);
    return (double)(*seed >> 11) * 0x1p-53;
}

// For each number a random order of n values from 0 to 1.
static void fill(uint64_t *seed, int n_vary, int n, double *shares)
{
    for (int k = 0; k < n_vary; k++)
    {
        double *share = shares + (int64_t)k * n;
        for (int i = 0; i < n; i++)
            share[i] = n > 1 ? (double)i / (n - 1) : 0.5;
        for (int i = n - 1; i > 0; i--)
        {
            int j = (int)(next_share(seed) * (i + 1));
            double kept = share[i];
            share[i] = share[j];
            share[j] = kept;
        }
    }
}

// The changes of a run as lines of PATH=VALUE, behind those of the command line. share: of number k, shares[k *
// stride].
static tdStatus write_set(tdJob *job, const double *shares, int stride, const char **out, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    tdText text = {0};
    if (job->task->settings.set != NULL)
        td_text_format(&text, "%s\n", job->task->settings.set);
    for (int k = 0; k < given->n_vary; k++)
    {
        const tdSceneVary *vary = &given->vary[k];
        double share = shares[(int64_t)k * stride], value = vary->from + share * (vary->to - vary->from);
        int i = (int)(share * vary->n_values);
        if (vary->n_values > 0)
            td_text_format(&text, "%s=%s\n", vary->set, vary->values[i < vary->n_values ? i : vary->n_values - 1]);
        else
            td_text_format(&text, "%s=%.9g%s%s\n", vary->set, value, vary->unit[0] != '\0' ? " " : "", vary->unit);
    }
    *out = text.failed ? NULL : td_arena_copy(&job->arena, text.data);
    free(text.data);
    return *out != NULL ? TD_OK : td_fail_memory(error, "the runs of training");
}

// One trajectory for each run, for now all along the same places.
static tdStatus repeat(tdJob *job, int runs, tdError *error)
{
    tdSamplePath one = job->path, *all = &job->path;
    if (one.count > TD_SAMPLE_MOST / runs)
        return td_fail_at(error, TD_ERROR_INPUT, job->model->scene.file, job->model->scene.reduction.line,
                          "reduction.runs", "%d runs of %lld steps make more than %d snapshots; use fewer", runs,
                          (long long)one.count, TD_SAMPLE_MOST);
    all->count = runs * one.count;
    all->n_trajectories = runs;
    all->values = TD_TAKE(&job->arena, double, all->count *(one.n + 1));
    all->weight = TD_TAKE(&job->arena, double, all->count);
    all->start = TD_TAKE(&job->arena, int64_t, runs + 1);
    if (all->values == NULL || all->weight == NULL || all->start == NULL)
        return td_fail_memory(error, "the runs of training");
    for (int t = 0; t < runs; t++)
    {
        all->start[t + 1] = (t + 1) * one.count;
        memcpy(all->values + t * one.count * one.n, one.values, (size_t)(one.count * one.n) * sizeof(double));
        memcpy(all->weight + t * one.count, one.weight, (size_t)one.count * sizeof(double));
    }
    return TD_OK;
}

// A run without its changes of the command line.
static const char *own(const tdJob *job, const char *set)
{
    const char *given = job->task->settings.set;
    return given != NULL ? set + strlen(given) + 1 : set;
}

// The places of a run: its motion may be another one.
static tdStatus place_run(tdJob *job, int t, const tdModel *own, tdError *error)
{
    tdSamplePath path, *all = &job->path;
    tdArena arena = {0};
    tdStatus status = td_sample_path(own, &arena, &path, error);
    assert(status != TD_OK || path.count == all->start[t + 1] - all->start[t]);
    if (status == TD_OK)
        memcpy(all->values + all->start[t] * all->n, path.values, (size_t)(path.count * path.n) * sizeof(double));
    td_arena_free(&arena);
    return status;
}

// Only what surrounds the body may differ, and the motion has to fit. t: the run whose places are set; -1: none.
static tdStatus check_run(tdJob *job, int t, const char *set, tdError *error)
{
    const tdModel *first = job->moving;
    const tdScene *scene = &job->model->scene;
    int body = scene->reduction.body, line = scene->reduction.vary[0].line;
    tdModel *model = NULL;
    tdError why = {0};
    tdStatus status = td_job_run_model(job, set, &model, &why);
    if (status != TD_OK)
        return td_fail_at(error, status, scene->file, line, "reduction.vary", "with %.200s: %.300s", own(job, set),
                          why.message);
    bool same = model->coords == first->coords && model->n_inputs == first->n_inputs &&
                td_soft_physics(model, body) == td_soft_physics(first, body);
    bool fits = model->scheme.h == first->scheme.h && model->scene.settings.steps == first->scene.settings.steps;
    if (same && fits && t >= 0)
        status = place_run(job, t, model, error);
    td_model_free(model);
    if (same && fits)
        return status;
    return td_fail_at(error, TD_ERROR_INPUT, scene->file, line, "reduction.vary",
                      "with %.200s %s; vary only what surrounds the body, such as friction, gravity and the places of "
                      "other bodies",
                      own(job, set), same ? "the scene has other time steps" : "the body itself differs");
}

tdStatus td_job_run_model(const tdJob *job, const char *set, tdModel **out, tdError *error)
{
    tdSettings settings = job->task->settings;
    settings.rom = NULL;
    settings.log = NULL;
    settings.set = set;
    return td_model_load_edited(job->task->scene, &settings, td_walk_edit_moving, job->alone, out, error);
}

tdStatus td_job_plan_runs(tdJob *job, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    int n = given->n_vary, runs = given->runs;
    uint64_t seed = td_hash_mix(given->seed + 0x72756e73U);
    job->report->runs = 1;
    if (n == 0)
        return TD_OK;
    if (!given->follow)
        return td_fail_at(error, TD_ERROR_INPUT, job->model->scene.file, given->vary[0].line, "reduction.vary",
                          "the body is trained alone, and nothing that varies touches it; remove 'vary', or --alone");
    job->runs = TD_TAKE(&job->arena, const char *, runs);
    double *shares = td_take((size_t)(n * (runs - 1)), sizeof *shares), *between = td_take((size_t)n, sizeof *between);
    tdStatus status = job->runs == NULL || shares == NULL || between == NULL
                          ? td_fail_memory(error, "the runs of training")
                          : repeat(job, runs, error);
    if (status == TD_OK)
    {
        fill(&seed, n, runs - 1, shares);
        for (int k = 0; k < n; k++)
            between[k] = BETWEEN + (1 - 2 * BETWEEN) * next_share(&seed);
    }
    for (int t = 1; t < runs && status == TD_OK; t++)
        status = write_set(job, shares + t - 1, runs - 1, &job->runs[t], error);
    if (status == TD_OK)
        status = write_set(job, between, 1, &job->unseen, error);
    for (int t = 1; t < runs && status == TD_OK; t++)
        status = check_run(job, t, job->runs[t], error);
    if (status == TD_OK)
        status = check_run(job, -1, job->unseen, error);
    job->n_runs = job->report->runs = runs;
    free(shares);
    free(between);
    return status;
}

uint64_t td_job_runs_hash(const tdJob *job)
{
    uint64_t hash = 0;
    for (int t = 1; t < job->n_runs; t++)
        hash = td_hash_mix(hash ^ td_hash_bytes(own(job, job->runs[t]), strlen(own(job, job->runs[t]))));
    return hash;
}
