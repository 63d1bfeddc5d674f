// SPDX-License-Identifier: Apache-2.0
#include "view/stage.h"

#include "body/soft.h"
#include "constraint/constraint.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void td_view_stage_hold(tdViewStage *stage)
{
    atomic_fetch_add(&stage->holders, 1);
}

void td_view_stage_release(tdViewStage *stage)
{
    if (stage == NULL || atomic_fetch_sub(&stage->holders, 1) > 1)
        return;
    td_model_free(stage->model);
    td_arena_free(&stage->arena);
    free(stage);
}

// ---------------------------------------------------------------- actuators

double td_view_scene_value(const tdViewStage *stage, int a, double time)
{
    const tdModel *model = stage->model;
    if (stage->actuators[a].column < 0)
        return NAN;
    // Efforts act where the integrator takes forces, displacements are reached at the end of the step.
    bool effort = model->actuators[a].given->drive == TD_DRIVE_EFFORT;
    double when = time + (effort ? model->scheme.load_time : model->scheme.h);
    return td_motion_value(&model->scene.motion, stage->actuators[a].column, when,
                           model->inputs[model->actuators[a].input].standard);
}

// Of all that can move.
static double weight_of(const tdModel *model)
{
    double mass = 0;
    for (int b = 0; b < model->n_bodies; b++)
        mass += model->bodies[b].count > 0 ? model->bodies[b].soft->total_mass : 0;
    return 9.81 * mass;
}

// Planes have no size: where there is nothing else a metre of one is shown.
static void measure_bounds(tdViewStage *stage)
{
    double *least = stage->bounds, *most = stage->bounds + 3;
    for (int c = 0; c < 3; c++)
    {
        least[c] = INFINITY;
        most[c] = -INFINITY;
    }
    for (int m = 0; m < stage->n_meshes; m++)
    {
        const tdViewMesh *mesh = &stage->meshes[m];
        for (int32_t i = 0; i < mesh->n_vertices && mesh->kind == TD_VIEW_SURFACE; i++)
        {
            double x[3];
            td_view_vertex_rest(stage, mesh, i, x);
            for (int c = 0; c < 3; c++)
            {
                least[c] = fmin(least[c], x[c]);
                most[c] = fmax(most[c], x[c]);
            }
        }
    }
    for (int c = 0; c < 3; c++)
    {
        if (!(most[c] >= least[c]))
        {
            least[c] = -0.5;
            most[c] = 0.5;
        }
        stage->size = fmax(stage->size, most[c] - least[c]);
    }
    // A spring that a tenth of the robot's size long bears its weight: gentle, and still felt.
    stage->stiffness = weight_of(stage->model) / (0.1 * stage->size);
}

// Range of a slider: the scene's limits; where it gives none what its motion spans; else a guess by size and weight.
static void set_range(const tdViewStage *stage, const tdActuator *actuator, tdViewActuator *out)
{
    const tdModel *model = stage->model;
    static const double none[2] = {-INFINITY, INFINITY};
    const tdSceneActuator *given = actuator->given;
    const double *limit = given->drive == TD_DRIVE_EFFORT                 ? given->effort
                          : given->drive == TD_DRIVE_GAS                  ? given->gas
                          : given->drive == TD_DRIVE_SERVO && given->rate ? none
                                                                          : given->displacement;
    const tdSceneMotion *motion = &model->scene.motion;
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; out->column >= 0 && i < motion->n_times; i++)
    {
        double value = motion->values[(int64_t)i * motion->n_names + out->column];
        least = isnan(value) ? least : fmin(least, value);
        most = isnan(value) ? most : fmax(most, value);
    }
    if (!(most > least))
    {
        bool cavity = given->kind == TD_ACTUATOR_CAVITY;
        bool angle = given->kind == TD_ACTUATOR_ROTATION || given->kind == TD_ACTUATOR_JOINT;
        if (given->drive == TD_DRIVE_EFFORT)
            most = cavity ? 50e3 : weight_of(model) * (angle ? stage->size : 2);
        else
            most = angle ? 1.5707963267948966 : cavity ? fabs(actuator->rest_value) : 0.2 * stage->size;
        bool pulls = given->kind == TD_ACTUATOR_CABLE || given->drive == TD_DRIVE_GAS;
        least = pulls ? 0 : -most;
    }
    out->low = isfinite(limit[0]) ? limit[0] : fmin(least, isfinite(limit[1]) ? limit[1] : least);
    out->high = isfinite(limit[1]) ? limit[1] : fmax(most, out->low);
    if (!(out->high > out->low))
        out->high = out->low + 1;
}

// Hands the actuators to the viewer. The model is still the caller's alone: no state has been made of it.
static tdStatus take_actuators(tdViewStage *stage, tdError *error)
{
    tdModel *model = stage->model;
    stage->actuators = TD_TAKE(&stage->arena, tdViewActuator, model->n_actuators + 1);
    if (stage->actuators == NULL)
        return td_fail_memory(error, "the actuators of the viewer");
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuator *actuator = &model->actuators[a];
        stage->actuators[a].column = actuator->driven ? model->inputs[actuator->input].column : -1;
        set_range(stage, actuator, &stage->actuators[a]);
        if (stage->actuators[a].column >= 0)
        {
            actuator->driven = false;
            model->inputs[actuator->input].column = -1;
        }
    }
    tdError why = {0};
    if (model->n_effectors == 0 || model->n_actuators == 0)
        snprintf(stage->inverse, sizeof stage->inverse, "the scene has no %s",
                 model->n_effectors == 0 ? "effectors" : "actuators");
    else if (td_inverse_suits(model, 0, &why) != TD_OK)
        snprintf(stage->inverse, sizeof stage->inverse, "%s", why.message);
    // As the compiler asks of a scene whose translations and rotations are free.
    const tdScheme *scheme = &model->scheme;
    bool suits = scheme->method == TD_METHOD_STATIC ||
                 (scheme->method == TD_METHOD_THETA && scheme->theta == 1 && scheme->theta_vq == 1);
    for (int a = 0; a < model->n_actuators && !suits && stage->inverse[0] == '\0'; a++)
        if (model->actuators[a].held)
            snprintf(stage->inverse, sizeof stage->inverse,
                     "'%s' moves nodes as one piece, which inverse control does with the integrators backward_euler "
                     "and static only",
                     model->actuators[a].name);
    return TD_OK;
}

// ---------------------------------------------------------------- life

int td_view_stage_tools(const tdViewStage *stage)
{
    return stage->model->n_tools + stage->n_guides;
}

int td_view_stage_find_tool(const tdViewStage *stage, const char *name)
{
    const tdModel *model = stage->model;
    for (int g = 0; g < stage->n_guides; g++)
        if (strcmp(model->bodies[stage->guides[g].body].name, name) == 0)
            return model->n_tools + g;
    return td_model_find_tool(model, name);
}

// A body that follows another one is moved by it; one that a grip closes is its jaw, the first of several.
static tdStatus take_guides(tdViewStage *stage, tdError *error)
{
    const tdModel *model = stage->model;
    const tdSceneBody *bodies = model->scene.bodies;
    stage->guides = TD_TAKE(&stage->arena, tdViewGuide, model->n_bodies + 1);
    if (stage->guides == NULL)
        return td_fail_memory(error, "the viewer");
    for (int b = 0; b < model->scene.n_bodies; b++)
    {
        if (bodies[b].guided[0] == NULL || bodies[b].follows != NULL)
            continue;
        tdViewGuide *guide = &stage->guides[stage->n_guides++];
        *guide = (tdViewGuide){.body = b, .jaw = -1};
        for (int k = 0; k < 6; k++)
            guide->input[k] = td_model_find_input(model, bodies[b].guided[k]);
        for (int j = model->scene.n_bodies - 1; j >= 0; j--)
        {
            const tdSceneBody *jaw = &bodies[j];
            bool closes = jaw->close[0] != 0 || jaw->close[1] != 0 || jaw->close[2] != 0;
            if (jaw->guided[0] == NULL || jaw->follows == NULL || !closes || strcmp(jaw->follows, bodies[b].name) != 0)
                continue;
            guide->jaw = j;
            memcpy(guide->close, jaw->close, sizeof guide->close);
            for (int k = 0; k < 3; k++)
                guide->jaw_input[k] = td_model_find_input(model, jaw->guided[k]);
        }
    }
    return TD_OK;
}

tdStatus td_view_stage_make(tdModel *model, const char *path, const char *name, uint32_t generation, tdViewStage **out,
                            tdError *error)
{
    *out = NULL;
    tdViewStage *stage = td_take(1, sizeof *stage);
    if (stage == NULL)
    {
        td_model_free(model);
        return td_fail_memory(error, "the viewer");
    }
    stage->holders = 1;
    stage->generation = generation;
    stage->model = model;
    const char *slash = strrchr(path, '/');
    snprintf(stage->name, sizeof stage->name, "%s", name);
    snprintf(stage->file, sizeof stage->file, "%s", slash == NULL ? path : slash + 1);
    snprintf(stage->path, sizeof stage->path, "%s", path);
    tdStatus status = td_view_add_meshes(stage, error);
    if (status == TD_OK)
        measure_bounds(stage);
    if (status == TD_OK)
        status = take_actuators(stage, error);
    if (status == TD_OK)
        status = take_guides(stage, error);
    if (status != TD_OK)
    {
        td_view_stage_release(stage);
        return status;
    }
    for (int b = 0; b < stage->model->n_bodies; b++)
        stage->reduced = stage->reduced || stage->model->bodies[b].modes != NULL;
    *out = stage;
    return TD_OK;
}

tdStatus td_view_stage_load(const char *path, const char *name, const tdSettings *settings, uint32_t generation,
                            tdViewStage **out, tdError *error)
{
    tdModel *model = NULL;
    *out = NULL;
    TD_TRY(td_model_load(path, settings, &model, error));
    return td_view_stage_make(model, path, name, generation, out, error);
}
