// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/estimate.h"

#include "body/soft.h"
#include "constraint/constraint.h"
#include "core/state.h"
#include "reduce/offline/walker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What a reduced model found at one place.
typedef struct Found
{
    bool reached;
    double *q;      // of all nodes of all bodies, as coordinates of full order
    double *effort; // of actuators, and how cables slide
    double *slide;
    tdStatus status;
    tdError error;
} Found;

struct tdEstimator
{
    const tdTrainee *trainee;
    const char *scene, *file;
    char *alone;
    tdSettings settings;
    tdState *rest;             // of full order: K0
    tdState *state;            // of full order: forces
    tdModel *at_rest, *moving; // reduced
    double amplitude;
    Found found[TD_ESTIMATES];
    double *work, *u; // n, n_u
    // of the tries at hand
    const double *const *values;
};

tdStatus td_estimator_create(const tdTrainee *trainee, const char *scene, char *alone, const char *file,
                             const tdSettings *settings, tdEstimator **out, tdError *error)
{
    const tdModel *model = trainee->model;
    tdEstimator *e = *out = td_take(1, sizeof *e);
    if (e == NULL)
        return td_fail_memory(error, "the estimates of errors");
    *e = (tdEstimator){.trainee = trainee, .scene = scene, .alone = alone, .file = file, .settings = *settings};
    e->work = td_take((size_t)trainee->n, sizeof(double));
    e->u = td_take((size_t)trainee->n_u + 1, sizeof(double));
    bool good = e->work != NULL && e->u != NULL;
    for (int i = 0; i < TD_ESTIMATES && good; i++)
    {
        Found *found = &e->found[i];
        found->q = td_take((size_t)model->coords, sizeof(double));
        found->effort = td_take((size_t)model->n_actuators, sizeof(double));
        found->slide = td_take((size_t)model->n_actuators, sizeof(double));
        good = found->q != NULL && found->effort != NULL && found->slide != NULL;
    }
    if (!good)
        return td_fail_memory(error, "the estimates of errors");
    TD_TRY(td_state_create(model, settings, &e->state, error));
    TD_TRY(td_state_create(model, settings, &e->rest, error));
    tdStatus status = td_trainee_stiffness(trainee, e->rest, 1);
    if (status != TD_OK && error != NULL)
        *error = e->rest->report.error;
    return status;
}

static void free_models(tdEstimator *e)
{
    td_model_free(e->at_rest);
    td_model_free(e->moving);
    e->at_rest = e->moving = NULL;
}

void td_estimator_free(tdEstimator *e)
{
    if (e == NULL)
        return;
    free_models(e);
    td_state_free(e->rest);
    td_state_free(e->state);
    for (int i = 0; i < TD_ESTIMATES; i++)
    {
        free(e->found[i].q);
        free(e->found[i].effort);
        free(e->found[i].slide);
    }
    free(e->work);
    free(e->u);
    free(e);
}

tdStatus td_estimator_set(tdEstimator *e, const tdRom *rom, double amplitude, bool settle, tdError *error)
{
    tdSettings settings = e->settings;
    free_models(e);
    e->amplitude = amplitude;
    TD_TRY(td_rom_write(rom, e->file, error));
    settings.rom = e->file;
    settings.rom_whole = true;
    settings.log = NULL; // what there is to say of the scene has been said
    TD_TRY(td_model_load_edited(e->scene, &settings, td_walk_edit_static, e->alone, &e->at_rest, error));
    return settle ? td_model_load_edited(e->scene, &settings, td_walk_edit_moving, e->alone, &e->moving, error) : TD_OK;
}

// ---------------------------------------------------------------- one place

// From rest, so that what is found does not depend on other places.
static tdStatus find(const tdEstimator *e, const double *values, Found *found, tdError *error)
{
    const tdModel *model = e->trainee->model;
    const tdWalk walk = {e->at_rest, e->moving, false};
    tdSettings settings = e->settings;
    tdWalker *walker = NULL;
    settings.threads = 1;
    settings.log = NULL;
    TD_TRY(td_walker_create(&walk, &settings, &walker, error));
    tdStatus status = td_walker_visit(walker, values, 1, &found->reached, error);
    if (status == TD_OK && found->reached)
    {
        const tdConstraintState *cs = td_walker_state(walker)->constraint;
        size_t actuators = (size_t)model->n_actuators * sizeof(double);
        memcpy(found->effort, cs->effort, actuators);
        memcpy(found->slide, cs->slide, actuators);
        for (int b = 0; b < model->n_bodies; b++)
            memcpy(found->q + model->bodies[b].first, td_walker_nodes(walker, b),
                   (size_t)model->bodies[b].count * sizeof(double));
    }
    td_walker_free(walker);
    return status;
}

static void find_one(void *context, int i)
{
    tdEstimator *e = context;
    e->found[i].error = (tdError){0};
    e->found[i].status = find(e, e->values[i], &e->found[i], &e->found[i].error);
}

// The balance of forces of full order at what was found. Nothing is advanced.
static tdStatus residual(tdEstimator *e, const double *values, const Found *found)
{
    const tdModel *model = e->trainee->model;
    tdState *state = e->state;
    size_t coords = (size_t)model->coords * sizeof(double), actuators = (size_t)model->n_actuators * sizeof(double);
    memcpy(state->q, found->q, coords);
    memcpy(state->q_e, found->q, coords);
    memcpy(state->q_c, found->q, coords);
    memset(state->v_e, 0, coords);
    memset(state->inertia, 0, coords);
    memset(state->held, 0, coords);
    memcpy(state->input, values, (size_t)model->n_inputs * sizeof(double));
    memcpy(state->input_end, values, (size_t)model->n_inputs * sizeof(double));
    memcpy(state->constraint->effort, found->effort, actuators);
    memcpy(state->constraint->slide, found->slide, actuators);
    state->gravity = 1;
    state->bad_element = -1;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        body->ops->begin(model, body, state);
        body->ops->kinematics(model, body, state);
        TD_TRY(body->ops->forces(model, body, state, false));
    }
    td_constrain(model, state, false);
    return TD_OK;
}

static tdStatus judge(tdEstimator *e, const double *values, const Found *found, double *out, tdError *error)
{
    const tdTrainee *trainee = e->trainee;
    const tdBody *body = &trainee->model->bodies[trainee->body];
    double size = 0, *m = e->state->m + body->first;
    *out = INFINITY;
    if (!found->reached)
        return TD_OK;
    tdStatus status = residual(e, values, found);
    if (status == TD_OK && e->state->bad_element < 0)
    {
        for (int64_t i = 0; i < trainee->n; i++)
            m[i] *= trainee->loose[i];
        memset(e->work, 0, (size_t)trainee->n * sizeof(double));
        status = body->ops->apply_inverse(trainee->model, body, e->rest, 1, trainee->n, m, e->work);
        for (int64_t i = 0; i < trainee->n; i++)
            size += e->work[i] * e->work[i];
        *out = isfinite(size) ? sqrt(size) / e->amplitude : INFINITY;
    }
    if (status != TD_OK && error != NULL)
        *error = e->rest->report.error;
    return status;
}

tdStatus td_estimator_try(tdEstimator *e, tdTasks *tasks, int n, const double *const *values, double *out, double *d,
                          tdError *error)
{
    const tdTrainee *trainee = e->trainee;
    e->values = values;
    td_parallel(tasks, n, find_one, e);
    for (int i = 0; i < n; i++)
    {
        const Found *found = &e->found[i];
        if (found->status != TD_OK)
        {
            if (error != NULL)
                *error = found->error;
            return found->status;
        }
        TD_TRY(judge(e, values[i], found, &out[i], error));
        if (d != NULL)
            td_trainee_split(trainee, found->q + trainee->model->bodies[trainee->body].first, e->u, d + i * trainee->n);
    }
    return TD_OK;
}
