// SPDX-License-Identifier: Apache-2.0
// Samples greedy: from the modes of the snapshots so far, the place where they are worst is looked for among
// candidates, its equilibrium is added, and so on until they are nowhere worse than the tolerance.
//
// An estimate falls as modes are added, nearly always; so one of an earlier pass is taken for a bound, and only those
// candidates are tried again whose old estimate lies above the worst of the new ones. Estimates are turned into errors
// by the ratio at the places that were added, where both are known. What was chosen and estimated is kept after each
// place; the same is chosen after a kill, and with any number of threads.
#include "reduce/offline/job_parts.h"

#include "base/log.h"
#include "reduce/offline/indicator.h"
#include "reduce/offline/pod.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POD_SHARE    0.1 // of the tolerance that the modes may leave of the snapshots: what counts is what these lack
#define KEPT_SIGMA   1e-10
#define EARLY        2 // places for each actuator, until which a reduced model that gets stuck counts as bad without more
#define FEWEST_KNOWN 3 // places from which the ratio of error and estimate is learned

/// One place that was added.
typedef struct Added
{
    int64_t candidate;
    double estimate, error; // NAN: not known
} Added;

typedef struct Greedy
{
    tdJob *job;
    tdSamplePath candidates;
    uint64_t key;
    tdPod *pod;
    int in_pod;     // trajectories whose snapshots it has
    double largest; // |d| of a snapshot
    double *d;      // of tries; the last n: of the worst
    // kept: by candidate, the last estimate and the number of places at which it was made; INFINITY, -1: none
    double *estimate;
    int64_t *made;
    int64_t n;
    Added *added; // count
} Greedy;

static const tdSceneReduction *given_of(const Greedy *greedy)
{
    return &greedy->job->model->scene.reduction;
}

// ---------------------------------------------------------------- kept work

static uint64_t hash_numbers(uint64_t key, const double *numbers, int64_t n)
{
    return td_work_key(key, numbers, (size_t)n * sizeof *numbers);
}

static uint64_t greedy_key(const Greedy *greedy)
{
    const tdSamplePath *start = &greedy->job->path, *candidates = &greedy->candidates;
    const tdSceneReduction *given = given_of(greedy);
    const int64_t counts[] = {start->count, given->steps_between, given->max_modes, given->memory};
    uint64_t key = td_work_key(greedy->job->equilibria, counts, sizeof counts);
    key = hash_numbers(key, start->values, start->count * start->n);
    key = hash_numbers(key, candidates->values, candidates->count * candidates->n);
    return hash_numbers(key, &given->greedy_tolerance, 1);
}

static int list_pieces(Greedy *greedy, tdWorkPart pieces[4])
{
    pieces[0] = (tdWorkPart){&greedy->n, sizeof greedy->n};
    pieces[1] = (tdWorkPart){greedy->estimate, (size_t)greedy->candidates.count * sizeof *greedy->estimate};
    pieces[2] = (tdWorkPart){greedy->made, (size_t)greedy->candidates.count * sizeof *greedy->made};
    // Of a fixed size, so that another `count` finds it.
    pieces[3] = (tdWorkPart){greedy->added, (size_t)greedy->candidates.count * sizeof *greedy->added};
    return 4;
}

static tdStatus create(tdJob *job, Greedy *greedy, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    tdArena *arena = &job->arena;
    *greedy = (Greedy){.job = job};
    TD_TRY(td_sample_candidates(job->model, arena, given->candidates, &greedy->candidates, error));
    greedy->key = greedy_key(greedy);
    int64_t count = greedy->candidates.count;
    greedy->estimate = TD_TAKE(arena, double, count);
    greedy->made = TD_TAKE(arena, int64_t, count);
    greedy->added = TD_TAKE(arena, Added, count);
    greedy->d = TD_TAKE(arena, double, (TD_ESTIMATES + 1) * job->trainee.n);
    if (greedy->estimate == NULL || greedy->made == NULL || greedy->added == NULL || greedy->d == NULL)
        return td_fail_memory(error, "the candidates of samples greedy");
    for (int64_t c = 0; c < count; c++)
    {
        greedy->estimate[c] = INFINITY;
        greedy->made[c] = -1;
    }
    // Between blocks more modes are kept than will be needed, as far as a quarter of the memory goes.
    double most = fmin(2.0 * given->max_modes + 64, (double)given->memory / 4 / (8 * (double)job->trainee.n));
    return td_pod_create(job->trainee.n, most < 1 ? 1 : (int)most, KEPT_SIGMA, &greedy->pod, error);
}

// Adds the place of a candidate to the path.
static void append(Greedy *greedy, int64_t candidate)
{
    tdJob *job = greedy->job;
    const tdSamplePath *candidates = &greedy->candidates;
    // Numbers behind those of the start, which has at most two trajectories an actuator.
    td_sample_append(job->model, &job->path, candidates->values + candidate * candidates->n,
                     2 * job->model->n_actuators + 1 + (int)candidate);
}

// What an earlier run has chosen, as far as this one wants it.
static tdStatus resume(Greedy *greedy, tdError *error)
{
    tdWorkPart pieces[4];
    int64_t most = given_of(greedy)->count;
    if (!td_work_load(&greedy->job->work, greedy->key, "greedy.part", list_pieces(greedy, pieces), pieces))
        return TD_OK;
    if (greedy->n > most)
        return td_fail_at(
            error, TD_ERROR_INPUT, greedy->job->work.folder, 0, NULL,
            "%lld points were added there, more than 'count: %lld' allows; raise it, or start again with --restart",
            (long long)greedy->n, (long long)most);
    for (int64_t i = 0; i < greedy->n; i++)
        append(greedy, greedy->added[i].candidate);
    greedy->job->report->reused[TD_REDUCE_SEARCH] = greedy->n;
    return TD_OK;
}

// ---------------------------------------------------------------- modes

// Snapshots that the decomposition does not have yet.
static tdStatus decompose(Greedy *greedy, tdError *error)
{
    tdJob *job = greedy->job;
    tdStatus status = TD_OK;
    for (; greedy->in_pod < job->path.n_trajectories && status == TD_OK; greedy->in_pod++)
    {
        tdJobTrajectory data;
        TD_TRY(td_job_take(job, &job->path, greedy->in_pod, false, &data, error));
        status = td_job_load(job, "snapshots", &job->path, greedy->in_pod, false, &data)
                     ? td_pod_add(greedy->pod, job->tasks, (int)data.found.reached, data.found.d, error)
                     : td_fail_at(error, TD_ERROR_IO, job->work.folder, 0, NULL,
                                  "existing snapshots have disappeared; start again with --restart");
        for (int64_t k = 0; k < data.found.reached && status == TD_OK; k++)
        {
            double size = 0;
            for (int64_t i = 0; i < job->trainee.n; i++)
                size += data.found.d[k * job->trainee.n + i] * data.found.d[k * job->trainee.n + i];
            greedy->largest = fmax(greedy->largest, sqrt(size));
        }
        td_job_drop(&data);
    }
    return status;
}

static tdStatus set_modes(Greedy *greedy, tdError *error)
{
    tdJob *job = greedy->job;
    const tdSceneReduction *given = given_of(greedy);
    int64_t n = job->trainee.n;
    int r = td_pod_modes(greedy->pod, POD_SHARE * given->greedy_tolerance, NULL);
    r = r < given->max_modes ? r : given->max_modes;
    if (r == 0)
        return td_fail_at(error, TD_ERROR_NUMERIC, job->model->scene.file, given->line, "reduction",
                          "body '%s' does not move in any snapshot; do the actuators act on it?",
                          job->model->bodies[job->trainee.body].name);
    tdRom rom = job->rom;
    rom.kind = TD_ROM_DOMAINS;
    rom.r = r;
    rom.phi = td_take((size_t)n, (size_t)r * sizeof(double));
    rom.low = td_take(3 * (size_t)r, sizeof(double));
    tdStatus status = rom.phi == NULL || rom.low == NULL ? td_fail_memory(error, "the modes") : TD_OK;
    if (status == TD_OK)
    {
        rom.high = rom.low + r;
        rom.spread = rom.high + r;
        td_pod_basis(greedy->pod, r, rom.phi);
        for (int64_t i = 0; i < n * r; i++)
            rom.phi[i] *= job->trainee.loose[i / r];
        // The first modes are so few that the reduced model often gets stuck, and to move on takes long.
        bool settle = greedy->n >= EARLY * job->model->n_actuators;
        status = td_job_tries_set(job, &rom, greedy->largest, settle, error);
    }
    free(rom.phi);
    free(rom.low);
    return status;
}

// ---------------------------------------------------------------- the worst place

// Candidates with the largest estimates, `fresh` ones left out; the first of equal ones. How many there are.
static int find_largest(const Greedy *greedy, int most, double above, int64_t *out)
{
    int n = 0;
    for (int64_t c = 0; c < greedy->candidates.count; c++)
    {
        bool used = false;
        for (int64_t i = 0; i < greedy->n; i++)
            used = used || greedy->added[i].candidate == c;
        if (used || greedy->made[c] == greedy->n || greedy->estimate[c] <= above)
            continue;
        int at = n;
        while (at > 0 && greedy->estimate[out[at - 1]] < greedy->estimate[c])
            at--;
        if (at == most)
            continue;
        n = n < most ? n + 1 : most;
        memmove(out + at + 1, out + at, (size_t)(n - 1 - at) * sizeof *out);
        out[at] = c;
    }
    return n;
}

// Tries the most promising candidates, some at a time, until no old estimate is above the worst of the new ones.
static tdStatus find_worst(Greedy *greedy, int64_t *worst, tdError *error)
{
    tdJob *job = greedy->job;
    int64_t n = job->trainee.n, tries[TD_ESTIMATES];
    double most = -1, found[TD_ESTIMATES];
    const double *values[TD_ESTIMATES];
    *worst = -1;
    for (;;)
    {
        int count = find_largest(greedy, TD_ESTIMATES, most, tries);
        if (count == 0)
            return TD_OK;
        for (int i = 0; i < count; i++)
            values[i] = greedy->candidates.values + tries[i] * greedy->candidates.n;
        TD_TRY(td_job_tries_make(job, count, values, found, greedy->d, error));
        for (int i = 0; i < count; i++)
        {
            greedy->estimate[tries[i]] = found[i];
            greedy->made[tries[i]] = greedy->n;
            if (found[i] <= most)
                continue;
            most = found[i];
            *worst = tries[i];
            memcpy(greedy->d + TD_ESTIMATES * n, greedy->d + i * n, (size_t)n * sizeof(double));
        }
        if (!td_job_progress(job, count))
            return TD_OK;
    }
}

// Error for an estimate, as far as is known.
static tdStatus calibrate(const Greedy *greedy, double *slope, tdError *error)
{
    *slope = 1;
    double *pairs = td_take(2 * (size_t)greedy->n, sizeof *pairs);
    if (pairs == NULL)
        return td_fail_memory(error, "the estimates of errors");
    for (int64_t i = 0; i < greedy->n; i++)
    {
        pairs[i] = greedy->added[i].estimate;
        pairs[greedy->n + i] = greedy->added[i].error;
    }
    tdIndicatorFit fit;
    tdStatus status = td_indicator_calibrate(greedy->n, pairs, NULL, pairs + greedy->n, &fit, error);
    if (status == TD_OK && fit.n >= FEWEST_KNOWN && fit.slope > 0)
        *slope = fit.slope;
    free(pairs);
    return status;
}

// The equilibrium of full order at the place that was added last, and how far the reduced model was off there.
static tdStatus visit_last(Greedy *greedy, tdError *error)
{
    tdJob *job = greedy->job;
    int last = job->path.n_trajectories - 1;
    Added *added = &greedy->added[greedy->n - 1];
    TD_TRY(td_job_visit_some(job, "snapshots", &job->path, last, NULL, false, error));
    if (job->stopped)
        return TD_OK;
    tdJobTrajectory data;
    TD_TRY(td_job_take(job, &job->path, last, false, &data, error));
    bool there = td_job_load(job, "snapshots", &job->path, last, false, &data);
    const tdSnapshots *found = &data.found;
    if (there && found->reached > 0 && found->place[found->reached - 1] == job->path.count - 1 &&
        isfinite(added->estimate))
    {
        int64_t n = job->trainee.n;
        const double *full = found->d + (found->reached - 1) * n, *reduced = greedy->d + TD_ESTIMATES * n;
        double off = 0;
        for (int64_t i = 0; i < n; i++)
            off += (full[i] - reduced[i]) * (full[i] - reduced[i]);
        added->error = sqrt(off) / greedy->largest;
    }
    td_job_drop(&data);
    tdWorkPart pieces[4];
    return td_work_save(&job->work, greedy->key, "greedy.part", list_pieces(greedy, pieces), pieces, error);
}

// ---------------------------------------------------------------- the loop

static tdStatus add_places(Greedy *greedy, tdError *error)
{
    tdJob *job = greedy->job;
    const tdSceneReduction *given = given_of(greedy);
    tdReduceReport *report = job->report;
    while (!job->stopped)
    {
        int64_t worst = -1;
        double slope = 1;
        TD_TRY(decompose(greedy, error));
        TD_TRY(set_modes(greedy, error));
        TD_TRY(find_worst(greedy, &worst, error));
        if (job->stopped || worst < 0)
            return TD_OK;
        TD_TRY(calibrate(greedy, &slope, error));
        report->greedy_added = greedy->n;
        report->greedy_error = slope * greedy->estimate[worst];
        td_log(&job->task->settings, TD_LOG_INFO,
               "samples greedy: %lld points added, largest error %.3g of %lld candidates", (long long)greedy->n,
               report->greedy_error, (long long)greedy->candidates.count);
        if (report->greedy_error <= given->greedy_tolerance)
            return TD_OK;
        if (greedy->n >= given->count || greedy->n >= greedy->candidates.count)
        {
            td_log(&job->task->settings, TD_LOG_WARNING,
                   "samples greedy: after %lld points the estimated error is %.3g, more than greedy_tolerance %g; "
                   "allow more points (count)",
                   (long long)greedy->n, report->greedy_error, given->greedy_tolerance);
            return TD_OK;
        }
        greedy->added[greedy->n++] = (Added){worst, greedy->estimate[worst], NAN};
        append(greedy, worst);
        TD_TRY(visit_last(greedy, error));
    }
    return TD_OK;
}

tdStatus td_job_greedy_plan(const tdJob *job, tdError *error)
{
    const tdScene *scene = &job->model->scene;
    if (scene->reduction.samples != TD_SAMPLE_GREEDY)
        return TD_OK;
    if (job->trainee.touching)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->reduction.line, "reduction.samples",
                          "greedy samples are judged by equilibria, and a scene with contact has none to compare with; "
                          "use 'samples: corners', 'grid' or 'latin_hypercube'");
    if (job->trainee.frame == TD_FRAME_FIXED)
        return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->reduction.line, "reduction.samples",
                      "greedy samples are judged by equilibria of the reduced body, and body '%s', which nothing "
                      "holds, has none once it is on a frame; use 'samples: grid' or 'latin_hypercube', or hold the "
                      "body",
                      job->model->bodies[job->trainee.body].name);
}

tdStatus td_job_greedy(tdJob *job, tdError *error)
{
    Greedy greedy;
    tdStatus status = create(job, &greedy, error);
    if (status == TD_OK)
        status = resume(&greedy, error);
    td_job_begin(job, TD_REDUCE_SNAPSHOTS, job->work.key, job->path.count);
    if (status == TD_OK)
        status = td_job_visit(job, "snapshots", &job->path, false, error);
    if (status == TD_OK && !job->stopped)
    {
        td_job_begin(job, TD_REDUCE_SEARCH, greedy.key, 0);
        status = td_job_tries_create(job, error);
    }
    if (status == TD_OK && !job->stopped)
        status = add_places(&greedy, error);
    td_job_tries_free(job);
    td_pod_free(greedy.pod);
    return status;
}
