// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/walker.h"

#include "control/workspace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPROACH    3  // static steps from rest to the first place
#define LOAD_STEPS  4  // a static step is cut into as many at most: what takes more is beyond a limit point
#define ITERATIONS  20 // of Newton in each
#define TOLERANCE   1e-7
#define RAMP        30   // moving steps from rest to a place, or from place to place
#define SETTLE      200  // and as many at most until it rests:
#define AT_REST     1e-6 // no node moves more than this share of the size in a step
#define LONG_STEP   5    // moving: times the scene's time step, which damps what is faster
#define DAMPED_STEP 0.2  // share of the velocity that mass damping takes in a step

// ---------------------------------------------------------------- scenes

static bool moves(const tdScene *scene, int body)
{
    for (int a = 0; a < scene->n_actuators; a++)
        if (scene->actuators[a].body == body &&
            (scene->actuators[a].kind == TD_ACTUATOR_TRANSLATION || scene->actuators[a].kind == TD_ACTUATOR_ROTATION))
            return true;
    return false;
}

// Bodies that nothing holds have equilibria of their shape alone. Where there are no others, gravity has no effect.
static void set_adrift(tdScene *scene)
{
    bool all = true;
    for (int b = 0; b < scene->n_bodies; b++)
    {
        tdSceneBody *body = &scene->bodies[b];
        body->adrift = body->n_fixed + body->n_prescribed == 0 && body->plane == TD_PLANE_NONE && !moves(scene, b);
        all = all && body->adrift;
    }
    if (all)
        memset(scene->settings.gravity, 0, sizeof scene->settings.gravity);
}

// A scene that is static itself keeps its integrator, but for load steps.
tdStatus td_walk_edit_static(void *context, tdScene *scene, tdError *error)
{
    tdSceneSettings *settings = &scene->settings;
    if (settings->method != TD_METHOD_STATIC)
    {
        settings->max_iterations = ITERATIONS;
        settings->tolerance = TOLERANCE;
        settings->min_load_step_inverse = LOAD_STEPS;
    }
    if (settings->min_load_step_inverse > LOAD_STEPS)
        settings->min_load_step_inverse = LOAD_STEPS;
    set_adrift(scene);
    return td_workspace_edit(context, scene, error);
}

tdStatus td_walk_edit_moving(void *context, tdScene *scene, tdError *error)
{
    TD_TRY(td_workspace_edit(context, scene, error));
    set_adrift(scene);
    tdSceneSettings *settings = &scene->settings;
    settings->time_step *= LONG_STEP;
    settings->method = TD_METHOD_THETA;
    settings->theta = settings->theta_vq = 1;
    settings->newton = false;
    for (int b = 0; b < scene->n_bodies; b++)
        scene->bodies[b].damping_mass = DAMPED_STEP / settings->time_step;
    return TD_OK;
}

// ---------------------------------------------------------------- walker

struct tdWalker
{
    tdWalk walk;
    tdSettings settings;
    tdState *state;
    bool settling;  // with the moving model
    bool started;   // not at rest any more
    double *at;     // inputs of the place where it is
    double *values; // scratch
    char why[320];
};

static const tdModel *model_of(const tdWalker *walker)
{
    return walker->settling ? walker->walk.moving : walker->walk.at_rest;
}

tdStatus td_walker_create(const tdWalk *walk, const tdSettings *settings, tdWalker **out, tdError *error)
{
    size_t n = (size_t)walk->at_rest->n_inputs + 1;
    tdWalker *walker = td_take(1, sizeof *walker);
    *out = NULL;
    if (walker == NULL)
        return td_fail_memory(error, "a walk through equilibria");
    walker->walk = *walk;
    walker->settings = *settings;
    walker->settling = walk->settle;
    walker->at = td_take(n, sizeof(double));
    walker->values = td_take(n, sizeof(double));
    tdStatus status = walker->at == NULL || walker->values == NULL
                          ? td_fail_memory(error, "a walk through equilibria")
                          : td_state_create(model_of(walker), settings, &walker->state, error);
    if (status != TD_OK)
        td_walker_free(walker);
    else
        *out = walker;
    return status;
}

void td_walker_free(tdWalker *walker)
{
    if (walker == NULL)
        return;
    td_state_free(walker->state);
    free(walker->at);
    free(walker->values);
    free(walker);
}

const char *td_walker_why(const tdWalker *walker)
{
    return walker->why;
}

const double *td_walker_nodes(const tdWalker *walker, int body)
{
    return td_state_positions(model_of(walker), walker->state, body);
}

const tdReport *td_walker_report(const tdWalker *walker)
{
    return td_state_report(walker->state);
}

// One step at a share of the way from where it is to a place.
static tdStatus step(tdWalker *walker, const double *to, double share)
{
    const tdModel *model = model_of(walker);
    for (int i = 0; i < model->n_inputs; i++)
    {
        double value = share < 1 ? walker->at[i] + share * (to[i] - walker->at[i]) : to[i];
        tdStatus status = td_state_set_input(model, walker->state, i, value);
        if (status != TD_OK)
            return status;
    }
    tdStatus status = td_step(model, walker->state);
    if (status != TD_OK)
        snprintf(walker->why, sizeof walker->why, "%.300s", td_state_report(walker->state)->error.message);
    return status;
}

// Where actuators are at rest and all else acts as at the place.
static void start_at_rest(tdWalker *walker, const double *place)
{
    const tdModel *model = walker->walk.at_rest;
    memcpy(walker->at, place, (size_t)model->n_inputs * sizeof(double));
    for (int a = 0; a < model->n_actuators; a++)
        walker->at[model->actuators[a].input] = 0;
}

static tdStatus go_static(tdWalker *walker, const double *place)
{
    int steps = walker->started ? 1 : APPROACH;
    if (!walker->started)
        start_at_rest(walker, place);
    tdStatus status = TD_OK;
    for (int k = 1; k <= steps && status == TD_OK; k++)
        status = step(walker, place, (double)k / steps);
    return status;
}

static double largest_velocity(const tdWalker *walker)
{
    const tdModel *model = model_of(walker);
    double largest = 0;
    for (int64_t i = 0; i < model->coords; i++)
        largest = fmax(largest, fabs(walker->state->v[i]));
    return largest;
}

// The moving model goes to the place and waits there until it rests.
static tdStatus go_settling(tdWalker *walker, const double *place)
{
    const tdModel *model = walker->walk.moving;
    tdStatus status = TD_OK;
    for (int k = 1; k <= RAMP && status == TD_OK; k++)
        status = step(walker, place, (double)k / RAMP);
    for (int k = 0; k < SETTLE && status == TD_OK; k++)
    {
        status = step(walker, place, 1);
        if (status == TD_OK && largest_velocity(walker) * model->scheme.h <= AT_REST * model->size)
            return TD_OK;
    }
    if (status == TD_OK)
    {
        snprintf(walker->why, sizeof walker->why, "the body does not come to rest there");
        status = TD_ERROR_NUMERIC;
    }
    return status;
}

tdStatus td_walker_visit(tdWalker *walker, const double *values, double weight, bool *reached, tdError *error)
{
    tdStatus status = TD_ERROR_NUMERIC;
    walker->state->weight = weight;
    if (!walker->settling)
    {
        status = go_static(walker, values);
        if (status == TD_ERROR_NUMERIC)
        {
            td_state_free(walker->state);
            walker->state = NULL;
            walker->settling = true;
            TD_TRY(td_state_create(walker->walk.moving, &walker->settings, &walker->state, error));
            walker->state->weight = weight;
            start_at_rest(walker, values);
        }
    }
    else if (!walker->started)
        start_at_rest(walker, values);
    if (walker->settling)
        status = go_settling(walker, values);
    walker->started = true;
    memcpy(walker->at, values, (size_t)walker->walk.at_rest->n_inputs * sizeof(double));
    *reached = status == TD_OK;
    if (status != TD_OK && status != TD_ERROR_NUMERIC && error != NULL)
        *error = td_state_report(walker->state)->error;
    return status == TD_ERROR_NUMERIC ? TD_OK : status;
}
