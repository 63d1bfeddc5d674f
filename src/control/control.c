// SPDX-License-Identifier: Apache-2.0
// Closed loop: the model is steered to goal + I, the robot gets the model's actuation, and I takes up what the model
// gets wrong. With y the effector of the model, in the step that a measurement belongs to,
//
//     dI/dt = gain (y - measured - I)
//
// In reach y = goal + I, so that this is the integral law dI/dt = gain (goal - measured). Out of reach y is where the
// model stopped: I goes to y - measured, the error of the model there, and not beyond, however far the goal is. That
// is back-calculation: nothing is wound up, and nothing has to be unwound when the goal comes back. The delay of the
// measurement is that of y too (a Smith predictor): where it is known, it does not limit the gain.
//
// Orientations are composed: target = exp(I) goal. Of a direction I is across the goal, and the target is a unit
// vector.
#include "control/control.h"

#include "base/suggest.h"
#include "base/vector.h"
#include "constraint/constraint.h"
#include "core/measure.h"
#include "core/rotation.h"
#include "describe/path.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DELAY 100000 // steps

// What is controlled of one effector.
typedef struct Loop
{
    const tdSceneEffector *effector;
    int rows;
    double limit;
    int goal_column[3], measured_column[3]; // of the files; -1: none
    bool has_goal, has_measured;            // given by the caller
    double goal[3], measured[3];
    bool steered; // its target in the state is ours
    double correction[3];
    double next[3];   // the same once the step is done
    double *expected; // 3 x (delay + 1), a ring: y of past steps, NAN where it had no goal
} Loop;

// A column that a file of goals or measurements may have.
typedef struct Column
{
    const char *name;
    int effector, row;
} Column;

struct tdControl
{
    tdArena arena;
    const tdModel *model; // it was made for
    double h, gain;
    int n;
    Loop *loops;
    int n_columns;
    Column *columns;
    tdSceneMotion goals, measurements;
    int slots; // of the rings, delay + 1
    int64_t steps;
};

// ---------------------------------------------------------------- composition

static double norm3(const double v[3])
{
    return sqrt(td_dot3(v, v));
}

static void compose(const double a[3], const double b[3], double out[3])
{
    double p[4], q[4], r[4], back[3] = {-b[0], -b[1], -b[2]};
    td_rotation_from_vector(a, p);
    td_rotation_from_vector(back, q);
    td_rotation_difference(p, q, r);
    td_rotation_vector(r, NULL, out);
}

// Where the goal and a correction point to: before a direction is made a unit vector again.
static void corrected(const Loop *loop, const double *goal, const double *correction, double out[3])
{
    if (loop->effector->kind == TD_EFFECTOR_ORIENTATION)
    {
        compose(correction, goal, out);
        return;
    }
    for (int k = 0; k < 3; k++)
        out[k] = k < loop->rows ? goal[k] + correction[k] : 0;
}

// a - b - correction, in the sense of the effector.
static void surprise(const Loop *loop, const double *a, const double *b, const double *correction, double out[3])
{
    if (loop->effector->kind == TD_EFFECTOR_ORIENTATION)
    {
        double difference[3], back[3];
        for (int k = 0; k < 3; k++)
            back[k] = -b[k];
        compose(a, back, difference);
        for (int k = 0; k < 3; k++)
            back[k] = -correction[k];
        compose(difference, back, out);
        return;
    }
    for (int k = 0; k < 3; k++)
        out[k] = k < loop->rows ? a[k] - b[k] - correction[k] : 0;
}

static bool counts(const tdSceneEffector *effector, int row)
{
    return effector->kind >= TD_EFFECTOR_VOLUME || effector->axes >> row & 1; // those of one row
}

double td_control_error(const tdModel *model, int effector, const double *value, const double *goal)
{
    static const tdMeasureKind kinds[TD_EFFECTOR_KINDS] = {
        [TD_EFFECTOR_POSITION] = TD_MEASURE_POSITION,   [TD_EFFECTOR_ORIENTATION] = TD_MEASURE_ORIENTATION,
        [TD_EFFECTOR_DIRECTION] = TD_MEASURE_DIRECTION, [TD_EFFECTOR_VOLUME] = TD_MEASURE_VOLUME,
        [TD_EFFECTOR_LENGTH] = TD_MEASURE_LENGTH,       [TD_EFFECTOR_CONTACT] = TD_MEASURE_CONTACT,
        [TD_EFFECTOR_FRICTION] = TD_MEASURE_CONTACT,
    };
    const tdSceneEffector *given = &model->scene.effectors[effector];
    double error[3] = {0};
    td_measure_error(kinds[given->kind], value, goal, error);
    for (int k = 0; k < 3; k++)
        error[k] = counts(given, k) ? error[k] : 0;
    return norm3(error);
}

const char *td_effector_suffix(int rows, int row)
{
    static const char *const suffix[] = {".x", ".y", ".z"};
    return rows == 1 || row < 0 || row > 2 ? "" : suffix[row];
}

// ---------------------------------------------------------------- make

tdControlSettings td_default_control(const tdModel *model)
{
    // A twentieth of the error in a step: stable up to a delay of ten steps and more.
    return (tdControlSettings){.gain = 0.05 / td_model_time_step(model)};
}

static double default_limit(const tdModel *model, const tdSceneEffector *effector)
{
    double size = td_model_size(model);
    switch (effector->kind)
    {
    case TD_EFFECTOR_POSITION:
    case TD_EFFECTOR_LENGTH: return 0.1 * size;
    case TD_EFFECTOR_VOLUME: return 0.1 * size * size * size;
    default: return 0.5;
    }
}

static tdStatus check_settings(const tdModel *model, const tdControlSettings *settings, tdError *error)
{
    double h = td_model_time_step(model);
    if (!(settings->gain >= 0) || !(settings->gain * h <= 1))
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "gain",
                          "%g 1/s is not between 0 and %g 1/s, one over the time step; beyond, the loop cannot be "
                          "stable",
                          settings->gain, 1 / h);
    if (!(settings->limit >= 0) || isinf(settings->limit))
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "limit",
                          "the largest correction is a length of 0 or more, not %g", settings->limit);
    if (!(settings->delay >= 0) || !(settings->delay <= MOST_DELAY * h))
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "delay", "%g s is not between 0 and %d time steps",
                          settings->delay, MOST_DELAY);
    return TD_OK;
}

tdStatus td_control_check(const tdModel *model, tdError *error)
{
    if (td_model_effectors(model) == 0)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, 0, "effectors",
                          "the scene has no effector, so there is nothing to steer; add one, e.g. 'effectors: [{name: "
                          "tip, body: %s, point: [0, 0, 0.1]}]'",
                          model->n_bodies > 0 ? model->bodies[0].name : "robot");
    TD_TRY(td_inverse_suits(model, 0, error));
    for (int a = 0; a < td_model_actuators(model); a++)
        if (!td_model_actuator(model, a).driven)
            return TD_OK;
    return td_model_actuators(model) == 0
               ? td_fail_at(error, TD_ERROR_INPUT, model->scene.file, 0, "actuators",
                            "the scene has no actuator, so that nothing can steer its effectors; add a cable, a cavity "
                            "or another one")
               : td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.motion.line, "motion",
                            "the motion drives every actuator, so that none is free to steer the effectors; remove "
                            "some from the motion, or free them with --free all (or --free NAME,NAME)");
}

static const tdSceneActuator *find_actuator(const tdScene *scene, const char *name, size_t length)
{
    for (int a = 0; a < scene->n_actuators; a++)
        if (strlen(scene->actuators[a].name) == length && strncmp(scene->actuators[a].name, name, length) == 0)
            return &scene->actuators[a];
    return NULL;
}

static void leave_motion(tdScene *scene, const char *name)
{
    for (int k = 0; k < scene->motion.n_names; k++)
        if (strcmp(scene->motion.names[k], name) == 0)
            scene->motion.names[k] = ""; // which nothing is named
}

tdStatus td_control_free_actuators(void *names, tdScene *scene, tdError *error)
{
    const char *list = names;
    for (int a = 0; strcmp(list, "all") == 0 && a < scene->n_actuators; a++)
        leave_motion(scene, scene->actuators[a].name);
    for (const char *at = list; strcmp(list, "all") != 0 && at != NULL; at = strchr(at, ','))
    {
        at += *at == ',';
        size_t length = strcspn(at, ",");
        const tdSceneActuator *actuator = find_actuator(scene, at, length);
        if (actuator == NULL)
            return td_fail(error, TD_ERROR_USAGE, "--free: there is no actuator '%.*s'%s%s", (int)length, at,
                           scene->n_actuators > 0 ? "; one is named " : "",
                           scene->n_actuators > 0 ? scene->actuators[0].name : "");
        leave_motion(scene, actuator->name);
    }
    return TD_OK;
}

static tdStatus name_columns(tdControl *control, tdError *error)
{
    control->columns = TD_TAKE(&control->arena, Column, 3 * control->n);
    if (control->columns == NULL)
        return td_fail_memory(error, "the control");
    for (int e = 0; e < control->n; e++)
        for (int row = 0; row < control->loops[e].rows; row++)
        {
            char name[300];
            snprintf(name, sizeof name, "%s%s", control->loops[e].effector->name,
                     td_effector_suffix(control->loops[e].rows, row));
            const char *copy = td_arena_copy(&control->arena, name);
            if (copy == NULL)
                return td_fail_memory(error, "the control");
            control->columns[control->n_columns++] = (Column){copy, e, row};
        }
    return TD_OK;
}

static tdStatus fill(tdControl *control, const tdModel *model, const tdControlSettings *settings, tdError *error)
{
    control->model = model;
    control->h = td_model_time_step(model);
    control->gain = settings->gain;
    control->slots = (int)lround(settings->delay / control->h) + 1;
    control->n = td_model_effectors(model);
    control->loops = TD_TAKE(&control->arena, Loop, control->n);
    double *rings = TD_TAKE(&control->arena, double, 3 * (int64_t)control->slots * control->n);
    if (control->loops == NULL || rings == NULL)
        return td_fail_memory(error, "the control");
    for (int e = 0; e < control->n; e++)
    {
        Loop *loop = &control->loops[e];
        loop->effector = &model->scene.effectors[e];
        loop->rows = td_model_effector(model, e).rows;
        loop->limit = settings->limit > 0 ? settings->limit : default_limit(model, loop->effector);
        loop->expected = rings + 3 * (int64_t)control->slots * e;
        for (int k = 0; k < 3; k++)
            loop->goal_column[k] = loop->measured_column[k] = -1;
    }
    return name_columns(control, error);
}

tdStatus td_control_create(const tdModel *model, const tdControlSettings *settings, tdControl **out, tdError *error)
{
    *out = NULL;
    tdControlSettings standard = td_default_control(model);
    settings = settings != NULL ? settings : &standard;
    TD_TRY(check_settings(model, settings, error));
    TD_TRY(td_control_check(model, error));
    tdControl *control = td_take(1, sizeof *control);
    if (control == NULL)
        return td_fail_memory(error, "the control");
    tdStatus status = fill(control, model, settings, error);
    if (status != TD_OK)
    {
        td_control_free(control);
        return status;
    }
    *out = control;
    return TD_OK;
}

void td_control_free(tdControl *control)
{
    if (control == NULL)
        return;
    td_arena_free(&control->arena);
    free(control);
}

// ---------------------------------------------------------------- files

// While the columns of a file are read.
typedef struct Reading
{
    tdControl *control;
    int (*place)[3]; // by effector: the column of each row
    int n;
} Reading;

static bool accept_column(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY])
{
    static const tdDim dims[TD_EFFECTOR_KINDS] = {
        [TD_EFFECTOR_POSITION] = {.length = 1}, [TD_EFFECTOR_ORIENTATION] = {.angle = 1},
        [TD_EFFECTOR_DIRECTION] = {0},          [TD_EFFECTOR_VOLUME] = {.length = 3},
        [TD_EFFECTOR_LENGTH] = {.length = 1},   [TD_EFFECTOR_CONTACT] = TD_DIM_FORCE,
        [TD_EFFECTOR_FRICTION] = {0},
    };
    Reading *reading = context;
    const tdControl *control = reading->control;
    for (int c = 0; c < control->n_columns; c++)
    {
        const Column *column = &control->columns[c];
        if (strcmp(column->name, name) != 0)
            continue;
        *dim = dims[control->loops[column->effector].effector->kind];
        reading->place[column->effector][column->row] = reading->n++;
        return true;
    }
    const char **names = malloc((size_t)control->n_columns * sizeof *names);
    for (int c = 0; names != NULL && c < control->n_columns; c++)
        names[c] = control->columns[c].name;
    const char *nearest = names != NULL ? td_suggest(name, names, control->n_columns) : NULL;
    if (nearest != NULL)
        snprintf(why, TD_UNIT_WHY, "no effector has a value '%.60s'; did you mean '%s'?", name, nearest);
    else
        snprintf(why, TD_UNIT_WHY, "no effector has a value '%.60s'; one of the scene's is '%s'", name,
                 control->columns[0].name);
    free(names);
    return false;
}

// An effector needs all numbers that count.
static tdStatus check_columns(const tdControl *control, int line, int (*place)[3], const char *path, tdError *error)
{
    for (int c = 0; c < control->n_columns; c++)
    {
        const Column *column = &control->columns[c];
        const int *at = place[column->effector];
        bool some = at[0] >= 0 || at[1] >= 0 || at[2] >= 0;
        if (some && at[column->row] < 0 && counts(control->loops[column->effector].effector, column->row))
            return td_fail_at(error, TD_ERROR_INPUT, path, line, column->name,
                              "the column '%s' is missing; an effector needs all its columns, or none", column->name);
    }
    return TD_OK;
}

static tdStatus check_directions(const tdControl *control, const tdSceneMotion *table, int (*place)[3],
                                 const char *path, tdError *error)
{
    for (int e = 0; e < control->n; e++)
    {
        if (control->loops[e].effector->kind != TD_EFFECTOR_DIRECTION)
            continue;
        for (int64_t i = 0; i < table->n_times; i++)
        {
            double size = 0;
            for (int k = 0; k < 3 && place[e][0] >= 0; k++)
                size += place[e][k] < 0 ? 0 : fabs(table->values[i * table->n_names + place[e][k]]);
            if (!(size > 0) && place[e][0] >= 0)
                return td_fail_at(error, TD_ERROR_INPUT, path, 0, control->loops[e].effector->name,
                                  "the direction at t = %g s is zero, which points nowhere", table->times[i]);
        }
    }
    return TD_OK;
}

static tdStatus load_table(tdControl *control, const char *path, bool measured, tdError *error)
{
    const tdUnits si = {1, 1, 1};
    tdSceneMotion table = {0};
    int(*place)[3] = malloc((size_t)control->n * sizeof *place);
    if (place == NULL)
        return td_fail_memory(error, "the control");
    memset(place, -1, (size_t)control->n * sizeof *place);
    Reading reading = {control, place, 0};
    tdStatus status = td_path_load_csv(path, &si, accept_column, &reading, &control->arena, &table, error);
    if (status == TD_OK)
        status = check_columns(control, table.line, place, path, error);
    if (status == TD_OK)
        status = check_directions(control, &table, place, path, error);
    for (int e = 0; status == TD_OK && e < control->n; e++)
    {
        Loop *loop = &control->loops[e];
        memcpy(measured ? loop->measured_column : loop->goal_column, place[e], sizeof place[e]);
    }
    if (status == TD_OK)
        *(measured ? &control->measurements : &control->goals) = table;
    free(place);
    return status;
}

tdStatus td_control_load_goals(tdControl *control, const tdModel *model, const char *path, tdError *error)
{
    assert(control->model == model);
    (void)model; // without asserts
    return load_table(control, path, false, error);
}

tdStatus td_control_load_measurements(tdControl *control, const tdModel *model, const char *path, tdError *error)
{
    assert(control->model == model);
    (void)model; // without asserts
    return load_table(control, path, true, error);
}

double td_control_duration(const tdControl *control)
{
    return control->goals.n_times > 0 ? control->goals.times[control->goals.n_times - 1] : 0;
}

// ---------------------------------------------------------------- goals and measurements

static bool in_table(const int column[3])
{
    return column[0] >= 0 || column[1] >= 0 || column[2] >= 0;
}

static void read_table(const tdSceneMotion *table, const int column[3], double time, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = column[k] < 0 ? 0 : td_motion_value(table, column[k], time, 0);
}

static void make_unit(double v[3])
{
    double size = norm3(v);
    for (int k = 0; k < 3 && size > 0; k++)
        v[k] /= size;
}

static bool find_goal(const tdControl *control, const Loop *loop, double time, double goal[3])
{
    if (loop->has_goal)
        memcpy(goal, loop->goal, sizeof loop->goal);
    else if (in_table(loop->goal_column))
        read_table(&control->goals, loop->goal_column, time, goal);
    else
        return false;
    if (loop->effector->kind == TD_EFFECTOR_DIRECTION)
        make_unit(goal);
    return true;
}

bool td_control_measured(const tdControl *control, int effector, double time, double measured[3])
{
    const Loop *loop = &control->loops[effector];
    const tdSceneMotion *table = &control->measurements;
    double slack = 1e-6 * control->h; // a time that is one of the table's must not miss it by rounding
    if (loop->has_measured)
        memcpy(measured, loop->measured, sizeof loop->measured);
    else if (in_table(loop->measured_column) && time >= table->times[0] - slack &&
             time <= table->times[table->n_times - 1] + slack)
        read_table(table, loop->measured_column, time, measured);
    else
        return false;
    if (loop->effector->kind == TD_EFFECTOR_DIRECTION)
        make_unit(measured);
    return true;
}

int td_control_measured_in_vain(const tdControl *control)
{
    for (int e = 0; e < control->n; e++)
    {
        const Loop *loop = &control->loops[e];
        if (in_table(loop->measured_column) && !in_table(loop->goal_column) && !loop->has_goal)
            return e;
    }
    return -1;
}

// Takes over numbers of the caller; NULL takes them back.
static tdStatus take(const Loop *loop, const double *given, bool *has, double out[3])
{
    *has = false;
    if (given == NULL)
        return TD_OK;
    double sum = 0;
    for (int k = 0; k < loop->rows; k++)
        sum += fabs(given[k]);
    if (!isfinite(sum) || (loop->effector->kind == TD_EFFECTOR_DIRECTION && !(sum > 0)))
        return TD_ERROR_INPUT;
    for (int k = 0; k < 3; k++)
        out[k] = k < loop->rows ? given[k] : 0;
    *has = true;
    return TD_OK;
}

tdStatus td_control_set_goal(tdControl *control, int effector, const double *goal)
{
    assert(effector >= 0 && effector < control->n);
    Loop *loop = &control->loops[effector];
    return take(loop, goal, &loop->has_goal, loop->goal);
}

tdStatus td_control_measure(tdControl *control, int effector, const double *measured)
{
    assert(effector >= 0 && effector < control->n);
    Loop *loop = &control->loops[effector];
    return take(loop, measured, &loop->has_measured, loop->measured);
}

bool td_control_goal(const tdControl *control, int effector, double time, double goal[3])
{
    assert(effector >= 0 && effector < control->n);
    return find_goal(control, &control->loops[effector], time, goal);
}

void td_control_correction(const tdControl *control, int effector, double correction[3])
{
    assert(effector >= 0 && effector < control->n);
    memcpy(correction, control->loops[effector].correction, 3 * sizeof *correction);
}

// ---------------------------------------------------------------- the step

// next = correction + h dI/dt, by what was measured at `time`.
static void integrate(const tdControl *control, Loop *loop, int effector, double time)
{
    double measured[3], change[3];
    memcpy(loop->next, loop->correction, sizeof loop->next);
    const double *expected = loop->expected + 3 * (control->steps % control->slots);
    if (control->steps < control->slots || isnan(expected[0]) ||
        !td_control_measured(control, effector, time, measured))
        return;
    surprise(loop, expected, measured, loop->correction, change);
    for (int k = 0; k < 3; k++)
        change[k] = counts(loop->effector, k) ? control->gain * control->h * change[k] : 0;
    if (loop->effector->kind == TD_EFFECTOR_ORIENTATION)
        compose(change, loop->correction, loop->next);
    else
        for (int k = 0; k < 3; k++)
            loop->next[k] += change[k];
    double size = norm3(loop->next);
    for (int k = 0; k < 3 && size > loop->limit; k++)
        loop->next[k] *= loop->limit / size;
}

static tdStatus steer(const tdControl *control, const tdModel *model, tdState *state, int effector, double time)
{
    Loop *loop = &control->loops[effector];
    double goal[3], target[3];
    if (!find_goal(control, loop, time, goal))
    {
        bool was = loop->steered;
        loop->steered = false;
        return was ? td_state_set_target(model, state, effector, NULL) : TD_OK;
    }
    if (loop->effector->kind == TD_EFFECTOR_DIRECTION)
    {
        double along = td_dot3(loop->next, goal); // would only be normalized away
        for (int k = 0; k < 3; k++)
            loop->next[k] -= along * goal[k];
    }
    corrected(loop, goal, loop->next, target);
    if (loop->effector->kind == TD_EFFECTOR_DIRECTION)
        make_unit(target);
    loop->steered = true;
    return td_state_set_target(model, state, effector, target);
}

// The targets could not be reached, for whatever limits the actuators: they fall short of them by more than what the
// weighted form leaves by design.
static bool is_limited(const tdModel *model, const tdReport *report)
{
    return report->inverse && report->out_of_reach &&
           (report->active_bounds > 0 || model->scene.control.energy == TD_ENERGY_NULL_SPACE);
}

static void expect(const tdControl *control, const tdModel *model, const tdState *state, int effector)
{
    Loop *loop = &control->loops[effector];
    double goal[3], *expected = loop->expected + 3 * (control->steps % control->slots);
    if (!find_goal(control, loop, td_state_time(state), goal))
        expected[0] = NAN;
    else if (is_limited(model, td_state_report(state)))
        td_state_effector(model, state, effector, expected);
    else
        corrected(loop, goal, loop->correction, expected);
}

tdStatus td_control_step(tdControl *control, const tdModel *model, tdState *state)
{
    assert(control->model == model);
    double time = td_state_time(state), end = (double)(td_state_steps(state) + 1) * control->h;
    for (int e = 0; e < control->n; e++)
    {
        integrate(control, &control->loops[e], e, time);
        TD_TRY(steer(control, model, state, e, end));
    }
    TD_TRY(td_step(model, state));
    for (int e = 0; e < control->n; e++)
    {
        memcpy(control->loops[e].correction, control->loops[e].next, sizeof control->loops[e].next);
        expect(control, model, state, e);
    }
    control->steps++;
    return TD_OK;
}
