// SPDX-License-Identifier: Apache-2.0
// Scenes with articulated bodies for tests: URDF texts go to a file that lives as long as the model is made.
#pragma once
#include "scenes.h"

#include "body/articulated.h"

#include <stdio.h>
#include <unistd.h>

#define ROBOT(parts) "<robot name=\"r\">" parts "</robot>"
#define LINK(name, mass, center, ixx, iyy, izz)                                                                        \
    "<link name=\"" name "\"><inertial><origin xyz=\"" center "\"/><mass value=\"" mass "\"/><inertia ixx=\"" ixx      \
    "\" iyy=\"" iyy "\" izz=\"" izz "\"/></inertial><visual><geometry><box size=\"0.1 0.1 0.1\"/></geometry>"          \
    "</visual></link>"
#define BASE "<link name=\"base\"/>"
#define JOINT(name, type, parent, child, xyz, axis, more)                                                              \
    "<joint name=\"" name "\" type=\"" type "\"><parent link=\"" parent "\"/><child link=\"" child                     \
    "\"/><origin xyz=\"" xyz "\"/><axis xyz=\"" axis "\"/>" more "</joint>"

/// A model of a scene that names its robot as %s, by the URDF text. `rest` is the scene after `bodies: - {...}`.
static inline tdModel *robot_model(const char *urdf, const char *settings, const char *body, const char *rest)
{
    char path[64] = "/tmp/tendril_robot_XXXXXX";
    static char text[16384];
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, urdf, strlen(urdf)), (ssize_t)strlen(urdf));
    close(file);
    int n = snprintf(text, sizeof text, "tendril: 1\n%s\nbodies:\n  - {name: r, type: articulated, urdf: %s%s%s}\n%s\n",
                     settings, path, body[0] != '\0' ? ", " : "", body, rest);
    assert_true(n > 0 && (size_t)n < sizeof text);
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error);
    unlink(path);
    assert_ok(status, error);
    return model;
}

/// The same with the text of the error; the model must be refused.
static inline void robot_refused(const char *urdf, const char *settings, const char *body, const char *rest,
                                 const char *why)
{
    char path[64] = "/tmp/tendril_robot_XXXXXX", message[1200];
    static char text[16384];
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, urdf, strlen(urdf)), (ssize_t)strlen(urdf));
    close(file);
    snprintf(text, sizeof text, "tendril: 1\n%s\nbodies:\n  - {name: r, type: articulated, urdf: %s%s%s}\n%s\n",
             settings, path, body[0] != '\0' ? ", " : "", body, rest);
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error);
    unlink(path);
    td_error_format(&error, message, sizeof message);
    td_model_free(model);
    if (status == TD_OK || strstr(message, why) == NULL)
        fail_msg("expected '%s', found '%s'", why, status == TD_OK ? "no error" : message);
}

static inline tdState *robot_state(const tdModel *model)
{
    tdState *state = NULL;
    tdError error = {0};
    assert_ok(td_state_create(model, NULL, &state, &error), error);
    return state;
}

static inline void robot_steps(const tdModel *model, tdState *state, int n)
{
    for (int i = 0; i < n; i++)
        assert_ok(td_step(model, state), state->report.error);
}

/// Energy of motion and gravity, momentum and center of mass at the present state of body b.
typedef struct robotSums
{
    double kinetic, potential, linear[3], angular[3], center[3];
} robotSums;

static inline robotSums robot_sums(const tdModel *model, tdState *state, int b)
{
    const tdBody *body = &model->bodies[b];
    const tdArticulated *rigid = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    robotSums sums;
    td_tree_kinematics(rigid, state->q + body->first, mine->reference, &mine->at);
    td_tree_momentum(rigid, state->v + body->first, &mine->at, &sums.kinetic, sums.linear, sums.angular, sums.center);
    sums.potential = td_tree_potential(rigid, rigid->gravity, &mine->at);
    return sums;
}
