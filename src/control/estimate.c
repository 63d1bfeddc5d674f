// SPDX-License-Identifier: Apache-2.0
#include "control/estimate.h"

#include "control/workspace.h"
#include "describe/path.h"
#include "material/least_squares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 30

// ---------------------------------------------------------------- marks

static const char *const mark_columns[6] = {"x0", "y0", "z0", "x", "y", "z"};

typedef struct Reading
{
    int place[6], n;
} Reading;

static bool accept_column(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY])
{
    Reading *reading = context;
    *dim = TD_DIM_LENGTH;
    for (int k = 0; k < 6; k++)
        if (strcmp(name, mark_columns[k]) == 0)
        {
            reading->place[k] = reading->n++;
            return true;
        }
    snprintf(why, TD_UNIT_WHY,
             "found '%.60s'; the columns are x0, y0, z0 (the point at rest) and x, y, z (where it was measured)", name);
    return false;
}

tdStatus td_marks_read(const char *path, tdArena *arena, tdMarks *marks, tdError *error)
{
    const tdUnits si = {1, 1, 1};
    Reading reading = {{-1, -1, -1, -1, -1, -1}, 0};
    tdSceneMotion table = {0};
    *marks = (tdMarks){.file = path};
    TD_TRY(td_rows_load_csv(path, &si, accept_column, &reading, arena, &table, error));
    for (int k = 0; k < 6; k++)
        if (reading.place[k] < 0)
            return td_fail_at(error, TD_ERROR_INPUT, path, table.line, mark_columns[k], "the column '%s' is missing",
                              mark_columns[k]);
    if (table.n_times > TD_ESTIMATE_POINTS)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "%d points; at most %d are supported, thin them out",
                          table.n_times, TD_ESTIMATE_POINTS);
    marks->n = table.n_times;
    marks->rest = TD_TAKE(arena, double, 3 * marks->n);
    marks->measured = TD_TAKE(arena, double, 3 * marks->n);
    marks->line = TD_TAKE(arena, int, marks->n);
    if (marks->rest == NULL || marks->measured == NULL || marks->line == NULL)
        return td_fail_memory(error, "the measured points");
    for (int i = 0; i < marks->n; i++)
    {
        const double *row = table.values + 6 * (int64_t)i;
        marks->line[i] = (int)table.times[i];
        for (int c = 0; c < 3; c++)
        {
            marks->rest[3 * i + c] = row[reading.place[c]];
            marks->measured[3 * i + c] = row[reading.place[3 + c]];
        }
    }
    return TD_OK;
}

tdStatus td_marks_take(int n, const double *rest, const double *measured, tdArena *arena, tdMarks *marks,
                       tdError *error)
{
    *marks = (tdMarks){.file = "point", .n = n};
    if (n < 1 || rest == NULL || measured == NULL)
        return td_fail(error, TD_ERROR_USAGE, "there are no measured points; give a file, or arrays of them");
    if (n > TD_ESTIMATE_POINTS)
        return td_fail(error, TD_ERROR_USAGE, "%d points; at most %d are supported, thin them out", n,
                       TD_ESTIMATE_POINTS);
    marks->rest = TD_TAKE(arena, double, 3 * n);
    marks->measured = TD_TAKE(arena, double, 3 * n);
    marks->line = TD_TAKE(arena, int, n);
    if (marks->rest == NULL || marks->measured == NULL || marks->line == NULL)
        return td_fail_memory(error, "the measured points");
    for (int i = 0; i < 3 * n; i++)
        if (!isfinite(rest[i]) || !isfinite(measured[i]))
            return td_fail_at(error, TD_ERROR_INPUT, marks->file, i / 3 + 1, NULL, "a coordinate is not finite");
    memcpy(marks->rest, rest, 3 * (size_t)n * sizeof *rest);
    memcpy(marks->measured, measured, 3 * (size_t)n * sizeof *rest);
    for (int i = 0; i < n; i++)
        marks->line[i] = i + 1;
    return TD_OK;
}

// ---------------------------------------------------------------- model

typedef struct Edit
{
    const char *body;
    tdMarks *marks;
} Edit;

static tdStatus find_body(const tdScene *scene, const char *name, int *out, tdError *error)
{
    *out = 0;
    if (name == NULL && scene->n_bodies == 1)
        return TD_OK;
    if (name == NULL)
        return td_fail(error, TD_ERROR_USAGE,
                       "the scene has %d bodies; say which of them the points are on (--body NAME)", scene->n_bodies);
    while (*out < scene->n_bodies && strcmp(scene->bodies[*out].name, name) != 0)
        (*out)++;
    if (*out < scene->n_bodies)
        return TD_OK;
    return td_fail(error, TD_ERROR_USAGE, "there is no body '%.60s'; the first of the scene is '%s'", name,
                   scene->bodies[0].name);
}

static bool by_motion(const tdScene *scene, const char *name)
{
    for (int k = 0; k < scene->motion.n_names; k++)
        if (strcmp(scene->motion.names[k], name) == 0)
            return true;
    return false;
}

// Efforts of translations and rotations are reactions; they stay where they are.
static bool is_unknown(const tdScene *scene, const tdSceneActuator *actuator)
{
    return !by_motion(scene, actuator->name) &&
           (actuator->kind == TD_ACTUATOR_FORCE || actuator->kind == TD_ACTUATOR_CAVITY ||
            actuator->kind == TD_ACTUATOR_CABLE);
}

static tdStatus check_unknowns(const tdScene *scene, const tdMarks *marks, tdError *error)
{
    int n = 0;
    for (int a = 0; a < scene->n_actuators; a++)
        n += is_unknown(scene, &scene->actuators[a]);
    if (n == 0)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, 0, "actuators",
                          "there is no unknown load: add an actuator of type force, cavity or cable that no motion "
                          "drives, e.g. 'actuators: [{name: push, type: force, body: %s, group: tip, direction: [0, 0, "
                          "1], drive: force}]'",
                          scene->bodies[0].name);
    if (n > TD_ESTIMATE_UNKNOWNS)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, 0, "actuators", "%d unknown loads; at most %d are found",
                          n, TD_ESTIMATE_UNKNOWNS);
    if (n > 3 * marks->n)
        return td_fail_at(error, TD_ERROR_INPUT, marks->file, 0, NULL,
                          "%d points have %d coordinates, too few for %d unknown loads", marks->n, 3 * marks->n, n);
    return TD_OK;
}

// Between reading and compiling: static, unknowns driven by effort, marks as effectors.
static tdStatus edit(void *context, tdScene *scene, tdError *error)
{
    const Edit *given = context;
    tdMarks *marks = given->marks;
    TD_TRY(td_workspace_edit(NULL, scene, error));
    TD_TRY(find_body(scene, given->body, &marks->body, error));
    TD_TRY(check_unknowns(scene, marks, error));
    for (int a = 0; a < scene->n_actuators; a++)
        if (is_unknown(scene, &scene->actuators[a]))
        {
            scene->actuators[a].drive = TD_DRIVE_EFFORT;
            scene->actuators[a].effort_rate = scene->actuators[a].displacement_rate = INFINITY;
        }
    scene->control = (tdSceneControl){.energy = TD_ENERGY_NULL_SPACE, .solver = TD_INVERSE_QP};
    scene->n_effectors = 0;
    scene->effectors = TD_TAKE(&scene->arena, tdSceneEffector, marks->n);
    if (scene->effectors == NULL)
        return td_fail_memory(error, "the measured points");
    for (int i = 0; i < marks->n; i++)
    {
        char name[32];
        snprintf(name, sizeof name, "mark.%d", i);
        tdSceneEffector *effector = &scene->effectors[scene->n_effectors++];
        *effector = (tdSceneEffector){.name = td_arena_copy(&scene->arena, name),
                                      .line = marks->line[i],
                                      .kind = TD_EFFECTOR_POSITION,
                                      .body = marks->body,
                                      .at_point = true,
                                      .axes = TD_AXIS_ALL,
                                      .weight = 1};
        memcpy(effector->point, marks->rest + 3 * i, sizeof effector->point);
        if (effector->name == NULL)
            return td_fail_memory(error, "the measured points");
    }
    return TD_OK;
}

tdStatus td_estimate_load(const char *scene, const char *body, tdMarks *marks, const tdSettings *settings,
                          tdModel **out, tdError *error)
{
    Edit given = {body, marks};
    tdError why = {0};
    tdStatus status = td_model_load_edited(scene, settings, edit, &given, out, &why);
    // An effector that is wrong was never in the scene: it is a line of the marks.
    if (status == TD_ERROR_INPUT && strncmp(why.field, "effectors[", strlen("effectors[")) == 0)
    {
        snprintf(why.file, sizeof why.file, "%s", marks->file);
        snprintf(why.field, sizeof why.field, "x0, y0, z0");
    }
    if (status != TD_OK && error != NULL)
        *error = why;
    return status;
}

// ---------------------------------------------------------------- solution

static void read_points(const tdModel *model, const tdState *state, double *out)
{
    for (int e = 0; e < td_model_effectors(model); e++)
        td_state_effector(model, state, e, out + 3 * (int64_t)e);
}

static double distance(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

static tdStatus step(const tdModel *model, tdState *state, tdEstimate *out, tdError *error)
{
    const tdEstimateSettings *what = out->what;
    if (what->progress != NULL && !what->progress(what->user, "estimating", out->steps, 0))
        return td_fail(error, TD_CANCELLED, "the estimate was stopped");
    out->steps++;
    tdStatus status = td_step(model, state);
    if (status != TD_OK && error != NULL)
        *error = td_state_report(state)->error;
    return status;
}

// One step with the targets at a share of the way from rest to the measured points.
static tdStatus approach(const tdModel *model, tdState *state, const tdMarks *marks, double share, tdEstimate *out,
                         tdError *error)
{
    for (int e = 0; e < marks->n; e++)
    {
        double target[3];
        for (int c = 0; c < 3; c++)
            target[c] = marks->rest[3 * e + c] + share * (marks->measured[3 * e + c] - marks->rest[3 * e + c]);
        TD_TRY(td_state_set_target(model, state, e, target));
    }
    return step(model, state, out, error);
}

// All at once, or where that fails in smaller and smaller steps; then on until the points stay where they are.
static tdStatus fit(const tdModel *model, tdState *state, const tdMarks *marks, double *last, tdEstimate *out,
                    tdError *error)
{
    double share = 0, next = 1;
    while (share < 1)
    {
        double to = fmin(share + next, 1);
        tdStatus status = approach(model, state, marks, to, out, error);
        if (status == TD_OK)
            share = to;
        else if (status != TD_ERROR_NUMERIC || next < 1.0 / 32)
            return status;
        else
            next *= 0.5;
    }
    read_points(model, state, out->fitted);
    for (int k = 0; k < MOST_STEPS; k++)
    {
        memcpy(last, out->fitted, 3 * (size_t)marks->n * sizeof *last);
        TD_TRY(step(model, state, out, error));
        read_points(model, state, out->fitted);
        if (distance(3 * (int64_t)marks->n, last, out->fitted) <= 1e-8 * sqrt(3.0 * marks->n) * td_model_size(model))
            return TD_OK;
    }
    return td_fail(error, TD_ERROR_NUMERIC,
                   "the estimate did not converge in %d steps; are the measured points those of this body?",
                   MOST_STEPS);
}

// ---------------------------------------------------------------- deviations

static tdStatus set_efforts(const tdModel *model, tdState *state, const tdEstimate *estimate, int changed, double by)
{
    for (int j = 0; j < estimate->n; j++)
        TD_TRY(td_state_set_input(model, state, td_model_actuator(model, estimate->actuator[j]).input,
                                  estimate->effort[j] + (j == changed ? by : 0)));
    return TD_OK;
}

// The points under the efforts of the estimate with one of them changed.
static tdStatus disturbed(const tdModel *model, tdState *state, tdEstimate *estimate, int changed, double by,
                          double *points, tdError *error)
{
    TD_TRY(set_efforts(model, state, estimate, changed, by));
    TD_TRY(step(model, state, estimate, error));
    read_points(model, state, points);
    return TD_OK;
}

// A change of an effort that moves the points by about 1e-4 of the body's size: far above rounding, far below where
// the response bends.
static tdStatus probe_change(const tdModel *model, tdState *state, tdEstimate *estimate, int j, double *points,
                             double *change, tdError *error)
{
    double largest = 0, aim = 1e-4 * td_model_size(model);
    for (int i = 0; i < estimate->n; i++)
        largest = fmax(largest, fabs(estimate->effort[i]));
    *change = 1e-3 * (estimate->effort[j] != 0 ? fabs(estimate->effort[j]) : largest > 0 ? largest : 1);
    TD_TRY(disturbed(model, state, estimate, j, *change, points, error));
    double moved = 0;
    for (int64_t i = 0; i < 3 * (int64_t)td_model_effectors(model); i++)
        moved = fmax(moved, fabs(points[i] - estimate->fitted[i]));
    if (moved > 0)
        *change *= fmin(fmax(aim / moved, 1e-3), 1e6);
    return TD_OK;
}

// E: 3 marks x n.
static tdStatus sensitivities(const tdModel *model, tdState *state, tdEstimate *estimate, double *points, double *E,
                              tdError *error)
{
    int64_t m = 3 * (int64_t)td_model_effectors(model);
    double *back = points + m;
    for (int j = 0; j < estimate->n; j++)
    {
        double change = 0, least = td_model_actuator(model, estimate->actuator[j]).effort[0];
        TD_TRY(probe_change(model, state, estimate, j, points, &change, error));
        // A cable cannot push: at its limit the difference is one-sided.
        double down = estimate->effort[j] - change >= least ? -change : 0;
        TD_TRY(disturbed(model, state, estimate, j, change, points, error));
        TD_TRY(disturbed(model, state, estimate, j, down, back, error));
        for (int64_t i = 0; i < m; i++)
            E[i * estimate->n + j] = (points[i] - back[i]) / (change - down);
    }
    return disturbed(model, state, estimate, -1, 0, points, error);
}

// deviation_j = sigma |row j of R^-1|, E = Q R. Columns are scaled to one unit first. Unknowns that do the same to all
// points would divide by rounding: rows of DAMPING below E bound what is not determined, by far more than NOT_TOLD.
#define DAMPING  1e-7
#define NOT_TOLD 1e5

// E has room for n more rows; inverse for n numbers.
static void deviations(tdEstimate *estimate, int64_t m, double *E, double *inverse)
{
    int n = estimate->n;
    double scale[TD_ESTIMATE_UNKNOWNS];
    for (int j = 0; j < n; j++)
    {
        double sum = 0;
        for (int64_t i = 0; i < m; i++)
            sum += E[i * n + j] * E[i * n + j];
        scale[j] = sqrt(sum);
        for (int64_t i = 0; i < m && scale[j] > 0; i++)
            E[i * n + j] /= scale[j];
        for (int i = 0; i < n; i++)
            E[(m + i) * n + j] = i == j ? DAMPING : 0;
        estimate->deviation[j] = 0;
    }
    td_triangulate((int)m + n, n, n, E);
    for (int k = 0; k < n; k++) // column k of R^-1
        for (int j = k; j >= 0; j--)
        {
            double sum = j == k ? 1 : 0;
            for (int i = j + 1; i <= k; i++)
                sum -= E[j * n + i] * inverse[i];
            inverse[j] = sum / E[j * n + j];
            estimate->deviation[j] += inverse[j] * inverse[j];
        }
    for (int j = 0; j < n; j++)
    {
        double factor = sqrt(estimate->deviation[j]);
        estimate->deviation[j] = scale[j] > 0 && factor < NOT_TOLD ? estimate->sigma * factor / scale[j] : INFINITY;
    }
}

// ---------------------------------------------------------------- the estimate

static tdStatus take(const tdModel *model, const tdMarks *marks, tdArena *arena, tdEstimate *out, tdError *error)
{
    *out = (tdEstimate){0};
    int most = td_model_actuators(model);
    out->actuator = TD_TAKE(arena, int, most);
    out->effort = TD_TAKE(arena, double, most);
    out->deviation = TD_TAKE(arena, double, most);
    out->bound = TD_TAKE(arena, bool, most);
    out->fitted = TD_TAKE(arena, double, 3 * marks->n);
    if (out->actuator == NULL || out->effort == NULL || out->deviation == NULL || out->bound == NULL ||
        out->fitted == NULL)
        return td_fail_memory(error, "the estimate");
    for (int a = 0; a < most; a++)
        if (is_unknown(&model->scene, &model->scene.actuators[a]))
            out->actuator[out->n++] = a;
    return TD_OK;
}

// All that is known acts as it does at the end of the scene; the unknown ones are free.
static tdStatus set_known(const tdModel *model, tdState *state, const tdEstimate *estimate)
{
    double end = td_model_steps(model) * td_model_time_step(model);
    TD_TRY(td_hold_inputs(model, state, end));
    for (int j = 0; j < estimate->n; j++)
        TD_TRY(td_state_set_input(model, state, td_model_actuator(model, estimate->actuator[j]).input, NAN));
    return TD_OK;
}

static tdStatus solve(const tdModel *model, tdState *state, const tdMarks *marks, double noise, double *work,
                      tdEstimate *out, tdError *error)
{
    int64_t m = 3 * (int64_t)marks->n;
    double *points = work, *E = work + 2 * m, *inverse = E + (m + out->n) * out->n;
    TD_TRY(set_known(model, state, out));
    TD_TRY(fit(model, state, marks, points, out, error));
    for (int j = 0; j < out->n; j++)
    {
        tdActuation does = td_state_actuation(model, state, out->actuator[j]);
        out->effort[j] = does.effort;
        out->bound[j] = does.effort_bound != 0 || does.displacement_bound != 0;
    }
    double miss = distance(m, out->fitted, marks->measured);
    out->residual = miss / sqrt((double)m);
    // Without a coordinate more than unknowns the residual tells nothing about the noise.
    out->sigma = !isnan(noise) ? noise : m > out->n ? miss / sqrt((double)(m - out->n)) : INFINITY;
    for (int e = 0; e < marks->n; e++)
        TD_TRY(td_state_set_target(model, state, e, NULL));
    TD_TRY(sensitivities(model, state, out, points, E, error));
    deviations(out, m, E, inverse);
    return TD_OK;
}

tdStatus td_estimate(const tdModel *model, tdState *state, const tdMarks *marks, const tdEstimateSettings *what,
                     tdArena *arena, tdEstimate *out, tdError *error)
{
    TD_TRY(take(model, marks, arena, out, error));
    out->what = what;
    int64_t m = 3 * (int64_t)marks->n;
    double *work = td_take((size_t)(2 * m + (m + out->n) * out->n + out->n), sizeof *work);
    if (work == NULL)
        return td_fail_memory(error, "the estimate");
    tdStatus status = solve(model, state, marks, what->noise, work, out, error);
    free(work);
    return status;
}
