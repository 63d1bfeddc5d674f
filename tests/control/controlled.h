// SPDX-License-Identifier: Apache-2.0
// A shipped scene under control, and a fresh simulation that is driven by what control found.
#pragma once
#include "scenes.h"

#include "control/control.h"

typedef struct Run
{
    tdModel *model;
    tdState *state, *fresh; // controlled; driven by what control found
    tdControl *control;
} Run;

static inline Run begin(const char *scene, const char *goals)
{
    Run run = {0};
    tdError error = {0};
    tdStatus status = td_model_load(scene, NULL, &run.model, &error);
    assert_ok(status, error);
    run.state = scene_state(run.model);
    run.fresh = scene_state(run.model);
    tdControlSettings settings = td_default_control(run.model);
    status = td_control_create(run.model, &settings, &run.control, &error);
    assert_ok(status, error);
    status = td_control_load_goals(run.control, run.model, goals, &error);
    assert_ok(status, error);
    return run;
}

static inline void finish(Run *run)
{
    td_control_free(run->control);
    td_state_free(run->fresh);
    scene_free(run->model, run->state);
}

// One step of control, and one of the simulation with the efforts, or displacements, that it found.
static inline void follow(Run *run)
{
    tdStatus status = td_control_step(run->control, run->model, run->state);
    assert_ok(status, td_state_report(run->state)->error);
    for (int a = 0; a < td_model_actuators(run->model); a++)
    {
        tdActuatorInfo info = td_model_actuator(run->model, a);
        if (info.driven || strcmp(info.kind, "joint") == 0)
            continue; // the motion's, or a spring of a joint: they do in both what they do
        tdActuation does = td_state_actuation(run->model, run->state, a);
        td_state_set_input(run->model, run->fresh, info.input,
                           strcmp(info.drive, "effort") == 0 ? does.effort : does.displacement);
    }
    status = td_step(run->model, run->fresh);
    assert_ok(status, td_state_report(run->fresh)->error);
}

static inline double off(const Run *run, int effector, const tdState *state, int row)
{
    double goal[3], value[3];
    assert_true(td_control_goal(run->control, effector, td_state_time(run->state), goal));
    td_state_effector(run->model, state, effector, value);
    return fabs(value[row] - goal[row]);
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
