// SPDX-License-Identifier: Apache-2.0
// A shipped scene under control, and a fresh simulation that is driven by what control found.
#pragma once
#include "scenes.h"

#include "control/control.h"

typedef struct Run
{
    tdModel *model;
    tdState *state, *fresh; // controlled; driven by what control found
    tdState *same;          // the same, each step from where the controlled one began it
    tdControl *control;
} Run;

static inline tdStatus to_the_tolerance(void *context, tdScene *scene, tdError *error)
{
    (void)error;
    scene->settings.newton = scene->settings.newton || *(const bool *)context;
    return TD_OK;
}

static inline Run begin_edited(const char *scene, const char *goals, tdSceneEdit *edit, void *context)
{
    Run run = {0};
    tdError error = {0};
    tdStatus status = td_model_load_edited(scene, NULL, edit, context, &run.model, &error);
    assert_ok(status, error);
    run.state = scene_state(run.model);
    run.fresh = scene_state(run.model);
    run.same = scene_state(run.model);
    tdControlSettings settings = td_default_control(run.model);
    status = td_control_create(run.model, &settings, &run.control, &error);
    assert_ok(status, error);
    status = td_control_load_goals(run.control, run.model, goals, &error);
    assert_ok(status, error);
    return run;
}

// newton: to the tolerance, although the scene takes one linearization a step.
static inline Run begin_by(const char *scene, const char *goals, bool newton)
{
    return begin_edited(scene, goals, to_the_tolerance, &newton);
}

static inline Run begin(const char *scene, const char *goals)
{
    return begin_by(scene, goals, false);
}

static inline void finish(Run *run)
{
    td_control_free(run->control);
    td_state_free(run->fresh);
    td_state_free(run->same);
    scene_free(run->model, run->state);
}

// A step with the efforts, or displacements, that control found.
static inline void replay(const Run *run, tdState *state)
{
    for (int a = 0; a < td_model_actuators(run->model); a++)
    {
        tdActuatorInfo info = td_model_actuator(run->model, a);
        if (info.driven || strcmp(info.kind, "joint") == 0)
            continue; // the motion's, or a spring of a joint: they do in both what they do
        tdActuation does = td_state_actuation(run->model, run->state, a);
        td_state_set_input(run->model, state, info.input,
                           strcmp(info.drive, "effort") == 0 ? does.effort : does.displacement);
    }
    tdStatus status = td_step(run->model, state);
    assert_ok(status, td_state_report(state)->error);
}

// One step of control, and two of simulation with what it found: from the same state, and on from their own.
static inline void follow(Run *run)
{
    tdError error = {0};
    assert_ok(td_state_copy(run->model, run->same, run->state, &error), error);
    tdStatus status = td_control_step(run->control, run->model, run->state);
    assert_ok(status, td_state_report(run->state)->error);
    for (int e = 0; e < td_model_effectors(run->model); e++)
        td_state_set_target(run->model, run->same, e, NULL);
    replay(run, run->same);
    replay(run, run->fresh);
}

static inline double off(const Run *run, int effector, const tdState *state, int row)
{
    double goal[3], value[3];
    assert_true(td_control_goal(run->control, effector, td_state_time(run->state), goal));
    td_state_effector(run->model, state, effector, value);
    return fabs(value[row] - goal[row]);
}

// How far the step from the same state ends from where control said.
static inline double apart(const Run *run, int effector, int row)
{
    double said[3], is[3];
    td_state_effector(run->model, run->state, effector, said);
    td_state_effector(run->model, run->same, effector, is);
    return fabs(said[row] - is[row]);
}

static inline double pushed(const tdState *state)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += hypot(hypot(points[i].force[0], points[i].force[1]), points[i].force[2]);
    return sum;
}
