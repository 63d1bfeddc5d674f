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
                      "there would be more than %d snapshots, %lld for each move; take fewer steps_between or places, "
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
                          "%d values of each of %d actuators make more than %d places; take samples latin_hypercube, "
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
                          "at most %d places of a Latin hypercube are allowed", TD_WORKSPACE_SAMPLES);
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

// ---------------------------------------------------------------- greedy

void td_sample_append(const tdModel *model, tdSamplePath *path, const double *values, int number)
{
    int between = model->scene.reduction.steps_between, n = path->n;
    for (int k = 1; k <= between; k++)
    {
        double *place = path->values + path->count * n;
        memcpy(place, values, (size_t)n * sizeof(double));
        for (int a = 0; a < model->n_actuators; a++)
            if (k < between)
                place[model->actuators[a].input] *= (double)k / between;
        path->weight[path->count++] = 1;
    }
    path->number[path->n_trajectories++] = number;
    path->start[path->n_trajectories] = path->count;
}

// Gravity comes on; then each axis goes from rest to the ends of its range that are not rest.
static tdStatus greedy_start(const tdModel *model, tdArena *arena, tdSamplePath *out, tdError *error)
{
    int n = 0, between = model->scene.reduction.steps_between, before = weight_steps(model, between);
    tdWorkspaceAxis *axes = NULL;
    TD_TRY(td_workspace_axes(model, arena, &n, &axes, error));
    int64_t trajectories = 1 + 2 * (int64_t)n + model->scene.reduction.count;
    if (trajectories > TD_SAMPLE_MOST / between)
        return too_many(model, between, error);
    TD_TRY(take(model, arena, before + 1 + trajectories * between, out, error));
    out->start = TD_TAKE(arena, int64_t, trajectories + 1);
    out->number = TD_TAKE(arena, int, trajectories);
    double *values = TD_TAKE(arena, double, out->n + 1);
    if (out->start == NULL || out->number == NULL || values == NULL)
        return td_fail_memory(error, "the places of the samples");
    memcpy(values, out->values, (size_t)out->n * sizeof(double));
    for (int a = 0; a < model->n_actuators; a++)
        values[model->actuators[a].input] = 0;
    for (int i = 0; i <= before; i++)
    {
        memcpy(out->values + (int64_t)i * out->n, values, (size_t)out->n * sizeof(double));
        out->weight[i] = (double)(i + 1) / (before + 1);
    }
    out->count = out->start[1] = before + 1;
    out->n_trajectories = 1;
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
    return cut(model, arena, out, error);
}

// ---------------------------------------------------------------- validation

// Random places, spread so that each axis meets both ends of its range; the first is rest.
static void random_places(const tdSceneValidation *validation, int n, const tdWorkspaceAxis *axes, double *places)
{
    Random random = {td_hash_mix(validation->seed + 0x76616c6964U)}; // not the numbers of a Latin hypercube
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

static tdStatus random_motion(const tdModel *model, tdArena *arena, tdSceneMotion *motion, double *duration,
                              tdError *error)
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
    random_places(validation, n, axes, places);
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
    return random_motion(model, arena, made, duration, error);
}
