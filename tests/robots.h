// SPDX-License-Identifier: Apache-2.0
// The shipped robots, for tests: loaded with their actuators free for control, static or dynamic, driven as wished.
#pragma once
#include "scenes.h"

#include "control/control.h"

#define ROBOTS        TD_SOURCE_DIR "/robots/"
#define MOST_ROBOT_IO 9 // actuators of a robot

/// Under sanitizers, which make a step ten times as long, tests follow the start of a path and few targets; all of them
/// in "make test-long" (CMakeLists.txt sets the variable there).
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROBOT_UNTIL   0.3 // [s]
#define ROBOT_TARGETS 1
#else
#define ROBOT_UNTIL   INFINITY
#define ROBOT_TARGETS (robot_all() ? 10 : 2)
#endif

static inline bool robot_all(void)
{
    return getenv("TD_TEST_LONG") != NULL;
}

/// How a robot's scene is changed when it is loaded.
typedef struct robotEdit
{
    bool forward;     ///< its actuators stay driven, by displacement unless `effort`
    bool effort;      ///< drive cables and cavities by their effort
    bool newton;      ///< dynamic steps to convergence instead of one linearization
    double time_step; ///< static, with this time from one equilibrium to the next; 0: dynamic, as the scene says
} robotEdit;

static inline tdStatus robot_edit(void *context, tdScene *scene, tdError *error)
{
    const robotEdit *edit = context;
    if (edit->time_step > 0)
    {
        scene->settings.method = TD_METHOD_STATIC;
        scene->settings.time_step = edit->time_step;
    }
    scene->settings.newton = scene->settings.newton || edit->newton;
    for (int a = 0; a < scene->n_actuators && edit->effort; a++)
        if (scene->actuators[a].kind != TD_ACTUATOR_TRANSLATION)
            scene->actuators[a].drive = TD_DRIVE_EFFORT;
    return edit->forward ? TD_OK : td_control_free_actuators((void *)"all", scene, error);
}

/// `scene`: its path below robots/.
static inline tdModel *robot_load(const char *scene, robotEdit edit)
{
    char path[512];
    snprintf(path, sizeof path, ROBOTS "%s", scene);
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_load_edited(path, NULL, robot_edit, &edit, &model, &error);
    assert_ok(status, error);
    return model;
}

static inline double robot_distance(const double *a, const double *b)
{
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

/// Position of the material point of probe 0, which every robot has where its first effector is: by the nodes, past
/// all that control has to do with.
static inline double robot_probe_error(const tdModel *model, const tdState *state, const double *goal)
{
    double tip[3];
    td_state_probe(model, state, 0, tip);
    return robot_distance(tip, goal);
}
