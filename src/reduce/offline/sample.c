// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/sample.h"

#include "base/hash.h"
#include "control/workspace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRAJECTORY   36 // snapshots of one, about
#define WEIGHT_STEPS 4  // at least, in which gravity comes on
#define SHORT_WALK   12 // places of a trajectory of samples auto, so that there are some to be computed at a time
#define POOL         8  // of samples auto: so many places for each that is added near others

// ---------------------------------------------------------------- random numbers

/// Steele's splitmix64: the same numbers on every machine.
typedef struct Random
{
    uint64_t state;
} Random;

static uint64_t next_bits(Random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static double next_share(Random *random) // in [0, 1)
{
    return (double)(next_bits(random) >> 11) * 0x1p-53;
}

// ---------------------------------------------------------------- places of inputs

static double end_time(const tdModel *model)
{
    return model->scene.settings.steps * model->scheme.h;
}

static tdStatus take(const tdModel *model, tdArena *arena, int64_t count, tdSamplePath *out, tdError *error)
{
    out->n = model->n_inputs;
    out->count = count;
    out->values = TD_TAKE(arena, double, count *(out->n + 1));
    out->weight = TD_TAKE(arena, double, count);
    if (out->values == NULL || out->weight == NULL)
        return td_fail_memory(error, "the places of the samples");
    for (int64_t i = 0; i < count; i++)
        out->weight[i] = 1;
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < out->n; k++)
            out->values[i * out->n + k] = td_input_value(model, k, end_time(model));
    return TD_OK;
}

static tdStatus too_many(const tdModel *model, int64_t between, tdError *error)
{
    return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.reduction.line, "reduction",
                      "there would be more than %d snapshots, %lld for each move; use fewer steps_between or values, "
                      "or samples latin_hypercube",
                      TD_SAMPLE_MOST, (long long)between);
}

// Steps in which gravity comes on.
static int weight_steps(const tdModel *model, int64_t between)
{
    const double *g = model->scene.settings.gravity;
    if (model->scene.reduction.follow)
        return 0;
    if (g[0] == 0 && g[1] == 0 && g[2] == 0)
        return 0;
    return between > WEIGHT_STEPS ? (int)between : WEIGHT_STEPS;
}

// Gravity comes on with actuators at rest; then from each row of values to the next in `between` steps, which makes
// 1 + (n - 1) between places.
static tdStatus refine(const tdModel *model, tdArena *arena, const tdSamplePath *rows, int64_t between,
                       tdSamplePath *out, tdError *error)
{
    if (rows->count - 1 > TD_SAMPLE_MOST / between)
        return too_many(model, between, error);
    int before = weight_steps(model, between), n = rows->n;
    TD_TRY(take(model, arena, before + 1 + (rows->count - 1) * between, out, error));
    for (int64_t i = 0; i < before; i++)
    {
        out->weight[i] = (double)(i + 1) / (before + 1);
        memcpy(out->values + i * n, rows->values, (size_t)n * sizeof(double));
        for (int a = 0; a < model->n_actuators; a++)
            out->values[i * n + model->actuators[a].input] = 0;
    }
    for (int64_t i = before; i < out->count; i++)
    {
        int64_t row = (i - before) / between, part = (i - before) % between;
        const double *a = rows->values + row * n, *b = part > 0 ? a + n : a;
        for (int k = 0; k < n; k++)
            out->values[i * n + k] = part == 0 ? a[k] : a[k] + (double)part / (double)between * (b[k] - a[k]);
    }
    return TD_OK;
}

// Values of the axes as values of their actuators' inputs.
static void set_axes(const tdModel *model, int n, const tdWorkspaceAxis *axes, const double *place, double *values)
{
    for (int k = 0; k < n; k++)
        for (int j = 0; j < axes[k].n; j++)
            values[model->actuators[axes[k].actuators[j]].input] = axes[k].ratio[j] * place[k];
}

static tdStatus from_places(const tdModel *model, tdArena *arena, int n, const tdWorkspaceAxis *axes, int64_t count,
                            const double *places, tdSamplePath *out, tdError *error)
{
    TD_TRY(take(model, arena, count, out, error));
    for (int64_t i = 0; i < count; i++)
        set_axes(model, n, axes, places + i * n, out->values + i * out->n);
    return TD_OK;
}

static tdStatus cut(const tdModel *model, tdArena *arena, tdSamplePath *path, tdError *error)
{
    // A trajectory is kept in memory until it is written; a sixteenth of the memory is for those.
    const tdSceneReduction *reduction = &model->scene.reduction;
    double bytes = 24.0 * (double)model->bodies[reduction->body < 0 ? 0 : reduction->body].nodes;
    int64_t most = (int64_t)fmax(1, fmin(TRAJECTORY, (double)reduction->memory / 16 / bytes));
    if (reduction->follow) // its steps have to be taken one after the other
        most = path->count;
    path->n_trajectories = (int)((path->count + most - 1) / most);
    path->start = TD_TAKE(arena, int64_t, path->n_trajectories + 1);
    if (path->start == NULL)
        return td_fail_memory(error, "the places of the samples");
    for (int t = 0; t <= path->n_trajectories; t++)
        path->start[t] = t * path->count / path->n_trajectories;
    return TD_OK;
}

// ---------------------------------------------------------------- kinds of samples

static tdStatus grid_rows(const tdModel *model, tdArena *arena, int each, tdSamplePath *out, tdError *error)
{
    int n = 0;
    tdWorkspaceAxis *axes = NULL;
    double *places = NULL, size = 1;
    int64_t count = 0;
    TD_TRY(td_workspace_axes(model, arena, &n, &axes, error));
    for (int k = 0; k < n; k++)
        size *= each;
    if (size > TD_SAMPLE_MOST)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.reduction.line, "reduction.samples",
                          "%d values of each of %d actuators make more than %d samples; use samples latin_hypercube, "
                          "or a sequence",
                          each, n, TD_SAMPLE_MOST);
    TD_TRY(td_workspace_grid(arena, n, axes, each, &count, &places, error));
    return from_places(model, arena, n, axes, count, places, out, error);
}

// count places in the unit cube: each of count slices of every axis has one.
static void latin_hypercube(Random *random, int n, int64_t count, int64_t *slice, double *shares)
{
    for (int k = 0; k < n; k++)
    {
        for (int64_t i = 0; i < count; i++)
            slice[i] = i;
        for (int64_t i = count - 1; i > 0; i--)
        {
            int64_t j = (int64_t)(next_bits(random) % (uint64_t)(i + 1)), kept = slice[i];
            slice[i] = slice[j];
            slice[j] = kept;
        }
        for (int64_t i = 0; i < count; i++)
            shares[i * n + k] = ((double)slice[i] + next_share(random)) / (double)count;
    }
}

static tdStatus hypercube_rows(const tdModel *model, tdArena *arena, int64_t count, tdSamplePath *out, tdError *error)
{
    int n = 0;
    tdWorkspaceAxis *axes = NULL;
    TD_TRY(td_workspace_axes(model, arena, &n, &axes, error));
    if (count > TD_WORKSPACE_SAMPLES)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.reduction.line, "reduction.count",
                          "at most %d points of a Latin hypercube are allowed", TD_WORKSPACE_SAMPLES);
    double rest[TD_WORKSPACE_AXES], *shares = TD_TAKE(arena, double, count *n);
    int64_t *slice = TD_TAKE(arena, int64_t, count);
    if (shares == NULL || slice == NULL)
        return td_fail_memory(error, "the Latin hypercube");
    Random random = {model->scene.reduction.seed};
    latin_hypercube(&random, n, count, slice, shares);
    for (int k = 0; k < n; k++)
        rest[k] = td_workspace_rest(&axes[k]);
    td_workspace_walk(n, count, shares, rest);
    for (int64_t i = 0; i < count * n; i++)
        shares[i] = td_workspace_value(&axes[i % n], shares[i]);
    return from_places(model, arena, n, axes, count, shares, out, error);
}

static tdStatus sequence_rows(const tdModel *model, tdArena *arena, tdSamplePath *out, tdError *error)
{
    const tdSceneMotion *sequence = model->scene.reduction.sequence;
    TD_TRY(take(model, arena, sequence->n_times, out, error));
    for (int64_t i = 0; i < out->count; i++)
        for (int k = 0; k < sequence->n_names; k++)
            out->values[i * out->n + td_model_find_input(model, sequence->names[k])] =
                sequence->values[i * sequence->n_names + k];
    return TD_OK;
}

tdStatus td_sample_motion(const tdModel *model, tdArena *arena, const tdSceneMotion *motion, double duration,
                          int64_t count, tdSamplePath *out, tdError *error)
{
    TD_TRY(take(model, arena, count, out, error));
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < motion->n_names; k++)
        {
            int input = td_model_find_input(model, motion->names[k]);
            double time = (double)(i + 1) / (double)count * duration;
            out->values[i * out->n + input] = td_motion_value(motion, k, time, model->inputs[input].standard);
        }
    return cut(model, arena, out, error);
}

// ---------------------------------------------------------------- paths that grow

// From one place to the next; actuators of the first are at rest where `from` is NULL.
static void append_way(const tdModel *model, tdSamplePath *path, const double *from, const double *values)
{
    int between = model->scene.reduction.steps_between, n = path->n;
    for (int k = 1; k <= between; k++)
    {
        double *place = path->values + path->count * n, share = (double)k / between;
        memcpy(place, values, (size_t)n * sizeof(double));
        for (int a = 0; a < model->n_actuators && k < between; a++)
        {
            int input = model->actuators[a].input;
            double begin = from != NULL ? from[input] : 0;
            place[input] = begin + share * (values[input] - begin);
        }
        path->weight[path->count++] = 1;
    }
}

static void end_trajectory(tdSamplePath *path, int number)
{
    path->number[path->n_trajectories++] = number;
    path->start[path->n_trajectories] = path->count;
}

void td_sample_append(const tdModel *model, tdSamplePath *path, const double *values, int number)
{
    append_way(model, path, NULL, values);
    end_trajectory(path, number);
}

// A path with room for places and trajectories, whose first trajectory has actuators at rest while gravity comes on.
// `values`: of all inputs, with actuators at rest.
static tdStatus begin_path(const tdModel *model, tdArena *arena, int64_t trajectories, tdSamplePath *out,
                           double **values, tdError *error)
{
    int between = model->scene.reduction.steps_between, before = weight_steps(model, between);
    if (trajectories > TD_SAMPLE_MOST / between)
        return too_many(model, between, error);
    TD_TRY(take(model, arena, before + 1 + trajectories * between, out, error));
    out->start = TD_TAKE(arena, int64_t, trajectories + 2);
    out->number = TD_TAKE(arena, int, trajectories + 1);
    *values = TD_TAKE(arena, double, out->n + 1);
    if (out->start == NULL || out->number == NULL || *values == NULL)
        return td_fail_memory(error, "the places of the samples");
    memcpy(*values, out->values, (size_t)out->n * sizeof(double));
    for (int a = 0; a < model->n_actuators; a++)
        (*values)[model->actuators[a].input] = 0;
    for (int i = 0; i <= before; i++)
    {
        memcpy(out->values + (int64_t)i * out->n, *values, (size_t)out->n * sizeof(double));
        out->weight[i] = (double)(i + 1) / (before + 1);
    }
    out->count = before + 1;
    end_trajectory(out, 0);
    return TD_OK;
}

// ---------------------------------------------------------------- greedy

// Gravity comes on; then each axis goes from rest to the ends of its range that are not rest.
static tdStatus greedy_start(const tdModel *model, tdArena *arena, tdSamplePath *out, tdError *error)
{
    int n = 0;
    tdWorkspaceAxis *axes = NULL;
    double *values = NULL;
    TD_TRY(td_workspace_axes(model, arena, &n, &axes, error));
    TD_TRY(begin_path(model, arena, 2 * (int64_t)n + model->scene.reduction.count, out, &values, error));
    for (int k = 0; k < n; k++)
        for (int end = 0; end < 2; end++)
        {
            if (axes[k].range[end] != 0)
            {
                set_axes(model, 1, axes + k, &axes[k].range[end], values);
                td_sample_append(model, out, values, out->n_trajectories);
            }
            set_axes(model, 1, axes + k, &(double){0}, values);
        }
    return TD_OK;
}

// ---------------------------------------------------------------- auto

// Corners that tell early where there is no equilibrium: all of them where they are few, else all at most, and random
// ones with those across from them, so that every axis is at both of its ends. Shares of the ranges; how many.
static int pilot_corners(uint64_t seed, int n, double shares[][TD_WORKSPACE_AXES])
{
    Random random = {td_hash_mix(seed + 0x70696c6f74U)};
    bool all = n < 4;
    int count = all ? 1 << n : TD_SAMPLE_PILOT;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < n; k++)
            shares[i][k] = all          ? (double)((count - 1 - i) >> k & 1)
                           : i < 2      ? 1 - i
                           : i % 2 == 0 ? (double)(next_bits(&random) & 1)
                                        : 1 - shares[i - 1][k];
    return count;
}

// Places as shares of the ranges, in an order of short ways, as trajectories from rest.
static void append_walk(const tdModel *model, int n, const tdWorkspaceAxis *axes, int64_t count, double *shares,
                        double *values, tdSamplePath *path)
{
    double rest[TD_WORKSPACE_AXES], place[TD_WORKSPACE_AXES];
    for (int k = 0; k < n; k++)
        rest[k] = td_workspace_rest(&axes[k]);
    td_workspace_walk(n, count, shares, rest);
    for (int64_t i = 0; i < count; i++)
    {
        const double *last = path->values + (path->count - 1) * path->n;
        for (int k = 0; k < n; k++)
            place[k] = td_workspace_value(&axes[k], shares[i * n + k]);
        set_axes(model, n, axes, place, values);
        append_way(model, path, i % SHORT_WALK == 0 ? NULL : last, values);
        if (i % SHORT_WALK == SHORT_WALK - 1 || i == count - 1)
            end_trajectory(path, path->n_trajectories);
    }
}

// Gravity comes on; corners, each from rest; and a first Latin hypercube.
static tdStatus auto_start(const tdModel *model, tdArena *arena, tdSamplePath *out, tdError *error)
{
    const tdSceneReduction *reduction = &model->scene.reduction;
    double corners[TD_SAMPLE_PILOT][TD_WORKSPACE_AXES], place[TD_WORKSPACE_AXES], *values = NULL;
    int n = 0;
    tdWorkspaceAxis *axes = NULL;
    TD_TRY(td_workspace_axes(model, arena, &n, &axes, error));
    int64_t first = 8 + 4 * (int64_t)n;
    first = first < reduction->count ? first : reduction->count;
    TD_TRY(begin_path(model, arena, TD_SAMPLE_PILOT + (int64_t)reduction->count, out, &values, error));
    int pilots = pilot_corners(reduction->seed, n, corners);
    for (int i = 0; i < pilots; i++)
    {
        bool at_rest = true;
        for (int k = 0; k < n; k++)
        {
            place[k] = td_workspace_value(&axes[k], corners[i][k]);
            at_rest = at_rest && place[k] == 0;
        }
        set_axes(model, n, axes, place, values);
        if (!at_rest)
            td_sample_append(model, out, values, out->n_trajectories);
    }
    out->n_pilots = out->n_trajectories - 1;
    double *shares = TD_TAKE(arena, double, first *n);
    int64_t *slice = TD_TAKE(arena, int64_t, first);
    if (shares == NULL || slice == NULL)
        return td_fail_memory(error, "the Latin hypercube");
    Random random = {reduction->seed};
    latin_hypercube(&random, n, first, slice, shares);
    append_walk(model, n, axes, first, shares, values, out);
    out->spread = first;
    return TD_OK;
}

static double share_of(const tdModel *model, const tdWorkspaceAxis *axis, const double *values)
{
    double value = values[model->actuators[axis->actuators[0]].input] / axis->ratio[0];
    return (value - axis->range[0]) / (axis->range[1] - axis->range[0]);
}

// The place of the pool that is nearest to one with these values and was not taken.
static int64_t find_near(const tdModel *model, int n, const tdWorkspaceAxis *axes, const double *values, int64_t count,
                         const double *pool, const bool *taken)
{
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t i = 0; i < count; i++)
    {
        double sum = 0;
        for (int k = 0; k < n && !taken[i]; k++)
            sum += pow(pool[i * n + k] - share_of(model, &axes[k], values), 2);
        if (!taken[i] && sum < least)
        {
            least = sum;
            best = i;
        }
    }
    return best;
}

tdStatus td_sample_more(const tdModel *model, tdArena *arena, int64_t count, int64_t n_near, const double *const *near,
                        tdSamplePath *path, tdError *error)
{
    int n = 0;
    tdWorkspaceAxis *axes = NULL;
    int64_t all = POOL * count;
    TD_TRY(td_workspace_axes(model, arena, &n, &axes, error));
    double *pool = TD_TAKE(arena, double, all *n), *shares = TD_TAKE(arena, double, count *n);
    double *values = TD_TAKE(arena, double, path->n + 1);
    int64_t *slice = TD_TAKE(arena, int64_t, all);
    bool *taken = TD_TAKE(arena, bool, all);
    if (pool == NULL || shares == NULL || values == NULL || slice == NULL || taken == NULL)
        return td_fail_memory(error, "the places of the samples");
    Random random = {td_hash_mix(model->scene.reduction.seed + (uint64_t)path->count)};
    latin_hypercube(&random, n, all, slice, pool);
    for (int64_t i = 0, next = 0; i < count; i++)
    {
        int64_t at = -1;
        if (n_near > 0 && i % 2 == 0)
            at = find_near(model, n, axes, near[i / 2 % n_near], all, pool, taken);
        while (at < 0 && taken[next])
            next++;
        at = at < 0 ? next : at;
        taken[at] = true;
        memcpy(shares + i * n, pool + at * n, (size_t)n * sizeof *shares);
    }
    memcpy(values, path->values, (size_t)path->n * sizeof *values); // inputs that are not sampled
    append_walk(model, n, axes, count, shares, values, path);
    path->spread += count;
    return TD_OK;
}

// ---------------------------------------------------------------- candidates

tdStatus td_sample_candidates(const tdModel *model, tdArena *arena, int64_t count, tdSamplePath *out, tdError *error)
{
    tdSamplePath corners = {0}, inner = {0};
    int n = 0;
    tdWorkspaceAxis *axes = NULL;
    *out = (tdSamplePath){0};
    TD_TRY(td_workspace_axes(model, arena, &n, &axes, error));
    if (n < 30 && (1 << n) <= TD_SAMPLE_CORNERS_MOST)
        TD_TRY(grid_rows(model, arena, 2, &corners, error));
    TD_TRY(hypercube_rows(model, arena, count, &inner, error));
    TD_TRY(take(model, arena, corners.count + inner.count, out, error));
    if (corners.count > 0)
        memcpy(out->values, corners.values, (size_t)(corners.count * out->n) * sizeof(double));
    memcpy(out->values + corners.count * out->n, inner.values, (size_t)(inner.count * out->n) * sizeof(double));
    return TD_OK;
}

// ---------------------------------------------------------------- the path

tdStatus td_sample_path(const tdModel *model, tdArena *arena, tdSamplePath *out, tdError *error)
{
    const tdSceneReduction *reduction = &model->scene.reduction;
    tdSamplePath rows = {0};
    *out = (tdSamplePath){0};
    switch (reduction->samples)
    {
    case TD_SAMPLE_GREEDY: return greedy_start(model, arena, out, error);
    case TD_SAMPLE_AUTO: return auto_start(model, arena, out, error);
    case TD_SAMPLE_CORNERS: TD_TRY(grid_rows(model, arena, 2, &rows, error)); break;
    case TD_SAMPLE_GRID: TD_TRY(grid_rows(model, arena, reduction->levels, &rows, error)); break;
    case TD_SAMPLE_LATIN_HYPERCUBE: TD_TRY(hypercube_rows(model, arena, reduction->count, &rows, error)); break;
    case TD_SAMPLE_SEQUENCE: TD_TRY(sequence_rows(model, arena, &rows, error)); break;
    case TD_SAMPLE_MOTION:
        TD_TRY(td_sample_motion(model, arena, &model->scene.motion, end_time(model),
                                reduction->count > 0 ? reduction->count : model->scene.settings.steps, &rows, error));
        break;
    }
    TD_TRY(refine(model, arena, &rows, reduction->steps_between, out, error));
    out->every = reduction->follow ? reduction->every : 0;
    return cut(model, arena, out, error);
}

// ---------------------------------------------------------------- validation

// Random places, spread so that each axis meets both ends of its range; the first is rest.
static void random_places(const tdSceneValidation *validation, uint64_t seed, int n, const tdWorkspaceAxis *axes,
                          double *places)
{
    Random random = {td_hash_mix(seed + 0x76616c6964U)}; // not the numbers of a Latin hypercube
    int rows = validation->moves + 1;
    for (int k = 0; k < n; k++)
        places[k] = td_workspace_rest(&axes[k]);
    for (int64_t i = n; i < (int64_t)rows * n; i++)
        places[i] = next_share(&random);
    for (int k = 0; k < n; k++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 1; i < rows; i++)
        {
            low = fmin(low, places[i * n + k]);
            high = fmax(high, places[i * n + k]);
        }
        for (int64_t i = 0; i < rows; i++)
        {
            double share = places[i * n + k];
            if (i > 0)
                share = high > low ? (share - low) / (high - low) : 0.5;
            places[i * n + k] = td_workspace_value(&axes[k], share);
        }
    }
}

static tdStatus random_motion(const tdModel *model, tdArena *arena, uint64_t seed, tdSceneMotion *motion,
                              double *duration, tdError *error)
{
    const tdSceneValidation *validation = &model->scene.validation;
    int n = 0, rows = validation->moves + 1;
    tdWorkspaceAxis *axes = NULL;
    TD_TRY(td_workspace_axes(model, arena, &n, &axes, error));
    int64_t inputs = model->n_inputs;
    motion->names = TD_TAKE(arena, const char *, model->n_actuators);
    motion->times = TD_TAKE(arena, double, rows);
    motion->values = TD_TAKE(arena, double, (int64_t)rows * model->n_actuators);
    double *places = TD_TAKE(arena, double, (int64_t)rows *n), *row = TD_TAKE(arena, double, inputs + 1);
    if (motion->names == NULL || motion->times == NULL || motion->values == NULL || places == NULL || row == NULL)
        return td_fail_memory(error, "the validation");
    random_places(validation, seed, n, axes, places);
    motion->n_names = model->n_actuators;
    motion->n_times = rows;
    *duration = validation->steps * model->scheme.h;
    for (int a = 0; a < model->n_actuators; a++)
        motion->names[a] = model->actuators[a].name;
    for (int i = 0; i < rows; i++)
    {
        motion->times[i] = i * *duration / validation->moves;
        set_axes(model, n, axes, places + (int64_t)i * n, row);
        for (int a = 0; a < model->n_actuators; a++)
            motion->values[(int64_t)i * motion->n_names + a] = row[model->actuators[a].input];
    }
    return TD_OK;
}

tdStatus td_sample_validation(const tdModel *model, tdArena *arena, const tdSceneMotion **motion, double *duration,
                              tdError *error)
{
    const tdSceneMotion *given = model->scene.validation.motion;
    if (given != NULL)
    {
        *motion = given;
        *duration = given->times[given->n_times - 1];
        if (!(*duration > 0))
            return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.validation.line, "validation",
                              "the motion ends where it begins; give it keyframes over some time");
        return TD_OK;
    }
    tdSceneMotion *made = TD_TAKE(arena, tdSceneMotion, 1);
    if (made == NULL)
        return td_fail_memory(error, "the validation");
    *motion = made;
    return random_motion(model, arena, model->scene.validation.seed, made, duration, error);
}

tdStatus td_sample_wander(const tdModel *model, tdArena *arena, const tdSceneMotion **motion, double *duration,
                          tdError *error)
{
    tdSceneMotion *made = TD_TAKE(arena, tdSceneMotion, 1);
    if (made == NULL)
        return td_fail_memory(error, "a motion of training");
    *motion = made;
    uint64_t seed = td_hash_mix(model->scene.reduction.seed + td_hash_mix(model->scene.validation.seed));
    return random_motion(model, arena, seed, made, duration, error);
}
