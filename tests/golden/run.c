// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include "control/control.h"
#include "core/state.h"

#include <stdio.h>
#include <string.h>

static void set_method(goldenMethod method, tdSceneSettings *settings)
{
    static const struct
    {
        tdMethod method;
        double theta, theta_vq, beta, gamma;
    } of[] = {
        [GOLDEN_MIDPOINT] = {TD_METHOD_THETA, 0.5, 0.5, 0.25, 0.5},
        [GOLDEN_THETA] = {TD_METHOD_THETA, 0.6, 0.7, 0.25, 0.5},
        [GOLDEN_NEWMARK] = {TD_METHOD_NEWMARK, 1, 1, 0.25, 0.5},
        [GOLDEN_NEWMARK_DAMPED] = {TD_METHOD_NEWMARK, 1, 1, 0.3025, 0.6},
        [GOLDEN_SYMPLECTIC] = {TD_METHOD_THETA, 0, 1, 0.25, 0.5},
        [GOLDEN_STATIC] = {TD_METHOD_STATIC, 1, 1, 0.25, 0.5},
    };
    if (method == GOLDEN_AS_IT_IS)
        return;
    settings->method = of[method].method;
    settings->theta = of[method].theta;
    settings->theta_vq = of[method].theta_vq;
    settings->beta = of[method].beta;
    settings->gamma = of[method].gamma;
}

static tdStatus edit(void *context, tdScene *scene, tdError *error)
{
    const goldenCase *given = context;
    tdSceneSettings *settings = &scene->settings;
    set_method(given->method, settings);
    if (given->time_step > 0)
        settings->time_step = given->time_step;
    settings->newton = settings->newton || given->newton;
    // What counts is what a step converges to, not where its iterations happen to end.
    settings->tolerance = given->tolerance > 0 ? given->tolerance : 1e-11;
    settings->solver_tolerance = 1e-12;
    for (int i = 0; i < scene->motion.n_times && given->hurry > 0; i++)
        scene->motion.times[i] /= given->hurry;
    if (given->nlcp)
        scene->contact.solver = TD_CONTACT_NLCP;
    return given->goals != NULL ? td_control_free_actuators((void *)"all", scene, error) : TD_OK;
}

static tdStatus start_control(goldenRun *run, tdError *error)
{
    char path[1024];
    tdControlSettings settings = td_default_control(run->model);
    TD_TRY(td_control_create(run->model, &settings, &run->control, error));
    snprintf(path, sizeof path, TD_SOURCE_DIR "/%s", run->given->goals);
    return td_control_load_goals(run->control, run->model, path, error);
}

static tdStatus tie_spring(const goldenRun *run)
{
    int32_t last = td_model_body_nodes(run->model, 0) - 1;
    const double *x = td_state_positions(run->model, run->state, 0) + 3 * (int64_t)last;
    double away = 0.1 * td_model_size(run->model);
    tdSpring spring = {.nodes = {last, last, last}, .weights = {1, 0, 0}, .stiffness = 20};
    for (int c = 0; c < 3; c++)
        spring.anchor[c] = x[c] + away;
    return td_state_set_spring(run->model, run->state, 0, &spring);
}

tdStatus golden_load(const goldenCase *given, tdModel **out, tdError *error)
{
    char path[1024], rom[1024];
    tdSettings settings = td_default_settings();
    settings.rom_precision = TD_ROM_DOUBLE; // the roundings of single precision differ by more than is compared
    if (given->rom != NULL)
    {
        snprintf(rom, sizeof rom, TD_SOURCE_DIR "/%s", given->rom);
        settings.rom = rom;
    }
    snprintf(path, sizeof path, TD_SOURCE_DIR "/%s", given->scene);
    return td_model_load_edited(path, &settings, edit, (void *)given, out, error);
}

tdStatus golden_start(const goldenCase *given, const tdModel *model, int threads, bool portable, goldenRun *run,
                      tdError *error)
{
    *run = (goldenRun){.given = given, .model = model};
    tdSettings settings = td_default_settings();
    settings.threads = threads;
    settings.portable = portable;
    TD_TRY(td_state_create(model, &settings, &run->state, error));
    int own = td_model_steps(model);
    run->steps = given->steps > 0 ? given->steps : own < GOLDEN_STEPS ? own : GOLDEN_STEPS;
    if (given->spring)
        TD_TRY(tie_spring(run));
    return given->goals != NULL ? start_control(run, error) : TD_OK;
}

// The robot is what its model is, but shifted.
static tdStatus measure(goldenRun *run)
{
    for (int e = 0; e < td_model_effectors(run->model); e++)
    {
        double value[3];
        td_state_effector(run->model, run->state, e, value);
        value[0] += run->given->offset;
        TD_TRY(td_control_measure(run->control, e, value));
    }
    return TD_OK;
}

tdStatus golden_step(goldenRun *run, tdError *error)
{
    tdStatus status = TD_OK;
    if (run->control == NULL)
        status = td_step(run->model, run->state);
    else
    {
        if (run->given->offset != 0 && td_state_steps(run->state) > 0)
            TD_TRY(measure(run));
        status = td_control_step(run->control, run->model, run->state);
    }
    if (status != TD_OK)
        *error = td_state_report(run->state)->error;
    return status;
}

tdStatus golden_resume(goldenRun *run, int threads, const char *checkpoint, tdError *error)
{
    tdState *state = NULL;
    tdSettings settings = run->state->settings;
    settings.threads = threads;
    tdStatus status = td_state_create(run->model, &settings, &state, error);
    if (status == TD_OK)
        status = td_state_load(run->model, state, checkpoint, error);
    if (status != TD_OK)
    {
        td_state_free(state);
        return status;
    }
    td_state_free(run->state);
    run->state = state;
    return TD_OK;
}

void golden_end(goldenRun *run)
{
    td_control_free(run->control);
    td_state_free(run->state);
    *run = (goldenRun){0};
}
