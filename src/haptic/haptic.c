// SPDX-License-Identifier: Apache-2.0
#include "haptic/haptic.h"

#include "body/guided.h"
#include "contact/contact.h"
#include "core/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tdHapticSettings td_default_haptic(void)
{
    return (tdHapticSettings){.period = 1e-3,
                              .stiffness = 1000,
                              .angular_stiffness = INFINITY,
                              .max_force = 3,
                              .max_torque = 0.3,
                              .resolution = 1e-5,
                              .passive = true};
}

// ---------------------------------------------------------------- life

static tdStatus find_tool(const tdModel *model, const char *name, int *out, tdError *error)
{
    *out = -1;
    for (int b = 0; b < model->n_bodies; b++)
    {
        if (!td_body_is_guided(&model->bodies[b]) || (name != NULL && strcmp(model->bodies[b].name, name) != 0))
            continue;
        if (*out >= 0)
            return td_fail(error, TD_ERROR_USAGE, "bodies '%s' and '%s' are guided; say which one the hand holds",
                           model->bodies[*out].name, model->bodies[b].name);
        *out = b;
    }
    if (*out >= 0)
        return TD_OK;
    return name != NULL
               ? td_fail(error, TD_ERROR_INPUT, "there is no body '%s' with 'guided: true' that a hand could hold",
                         name)
               : td_fail(error, TD_ERROR_INPUT, "the scene has no tool: give it a rigid body with 'guided: true'");
}

static tdStatus check(const tdHapticSettings *s, tdError *error)
{
    bool good = s->period > 0 && s->period <= 0.1 && s->stiffness > 0 && s->angular_stiffness > 0 && s->max_force > 0 &&
                isfinite(s->max_force) && s->max_torque >= 0 && isfinite(s->max_torque) && s->slew >= 0 &&
                s->resolution >= 0 && isfinite(s->resolution);
    return good ? TD_OK
                : td_fail(error, TD_ERROR_USAGE,
                          "settings of haptics: period, stiffnesses and forces must be positive, the period 0.1 s at "
                          "most");
}

static void start_guard(tdHaptic *haptic)
{
    const tdHapticSettings *s = &haptic->settings;
    tdGuardSettings guard = td_default_guard(s->period, s->max_force);
    guard.max_torque = s->max_torque;
    guard.resolution = s->resolution;
    guard.slew = s->slew > 0 ? s->slew : guard.slew;
    guard.passive = s->passive;
    td_guard_start(&haptic->guard, &guard);
}

tdStatus td_haptic_create(const tdModel *model, const tdHapticSettings *settings, tdHaptic **out, tdError *error)
{
    int body = -1;
    *out = NULL;
    TD_TRY(check(settings, error));
    TD_TRY(find_tool(model, settings->tool, &body, error));
    if (model->scheme.method == TD_METHOD_STATIC)
        return td_fail(error, TD_ERROR_INPUT,
                       "a static scene has no time in which something could be felt; use 'integrator: "
                       "{method: backward_euler}'");
    tdHaptic *haptic = td_take(1, sizeof *haptic);
    if (haptic != NULL)
        haptic->locals = td_take(1, sizeof *haptic->locals);
    if (haptic == NULL || haptic->locals == NULL)
    {
        free(haptic);
        return td_fail_memory(error, "haptics");
    }
    haptic->settings = *settings;
    haptic->body = body;
    haptic->coupling = (tdCoupling){settings->stiffness, settings->angular_stiffness};
    tdStatus status = td_local_create(model, body, &haptic->coupling, &haptic->maker, error);
    if (status != TD_OK)
    {
        td_haptic_free(haptic);
        return status;
    }
    const tdGuided *guided = td_guided_of(&model->bodies[body]);
    const double none[6] = {0};
    for (int k = 0; k < 6; k++)
        haptic->input[k] = guided->input[k];
    haptic->start = haptic->device = td_guided_pose(guided, none);
    td_exchange_init(&haptic->locals->exchange);
    td_exchange_init(&haptic->poses);
    tdFeelSettings feel = td_default_feel();
    td_feel_start(&haptic->feel, &feel);
    start_guard(haptic);
    *out = haptic;
    return TD_OK;
}

void td_haptic_free(tdHaptic *haptic)
{
    if (haptic == NULL)
        return;
    td_local_free(haptic->maker);
    free(haptic->locals);
    free(haptic);
}

// ---------------------------------------------------------------- simulation

tdStatus td_haptic_step(tdHaptic *haptic, const tdModel *model, tdState *state, double clock)
{
    tdLocalSlots *slots = haptic->locals;
    if (td_exchange_take(&haptic->poses))
        for (int k = 0; k < 6; k++)
            TD_TRY(td_state_set_input(model, state, haptic->input[k], haptic->pose[haptic->poses.reading].q[k]));
    TD_TRY(td_step(model, state));
    tdLocal *local = &slots->slot[slots->exchange.writing];
    TD_TRY(td_local_make(haptic->maker, model, state, clock, local, &state->report.error));
    haptic->published++;
    haptic->left_out += local->left_out > 0;
    haptic->most_contacts = local->n > haptic->most_contacts ? local->n : haptic->most_contacts;
    td_exchange_publish(&slots->exchange);
    return TD_OK;
}

// ---------------------------------------------------------------- device

// A pose of the device as the tool's: a way from the start, in the world's axes.
static bool take_pose(tdHaptic *haptic, const double *position, const double *rotation)
{
    double size = 1, q[4] = {1, 0, 0, 0};
    for (int k = 0; k < 3; k++)
        if (!isfinite(position[k]))
            return false;
    if (rotation != NULL)
    {
        size = sqrt(rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2] +
                    rotation[3] * rotation[3]);
        if (!(size > 0.5 && size < 2))
            return false;
        for (int k = 0; k < 4; k++)
            q[k] = rotation[k] / size;
    }
    tdPose turn = {.t = {0, 0, 0}};
    td_rotation_matrix(q, turn.R);
    haptic->device = td_pose_multiply(&turn, &haptic->start);
    for (int k = 0; k < 3; k++)
        haptic->device.t[k] = haptic->start.t[k] + position[k];
    return true;
}

// Where the tool is, for the simulation.
static void tell_pose(tdHaptic *haptic, const tdPose *tool)
{
    double *q = haptic->pose[haptic->poses.writing].q, a[4], b[4], turn[4];
    td_rotation_from_matrix(tool->R, a);
    td_rotation_from_matrix(haptic->start.R, b);
    td_rotation_difference(a, b, turn);
    td_rotation_vector(turn, haptic->turn, q + 3);
    memcpy(haptic->turn, q + 3, sizeof haptic->turn);
    for (int k = 0; k < 3; k++)
        q[k] = tool->t[k] - haptic->start.t[k];
    td_exchange_publish(&haptic->poses);
}

void td_haptic_tick(tdHaptic *haptic, double clock, const double position[3], const double rotation[4],
                    tdHapticForce *out)
{
    tdFelt felt;
    bool good = position != NULL && take_pose(haptic, position, rotation);
    static const double nonsense[3] = {NAN, NAN, NAN};
    if (td_exchange_take(&haptic->locals->exchange))
    {
        td_feel_take(&haptic->feel, &haptic->locals->slot[haptic->locals->exchange.reading]);
        haptic->taken++;
    }
    td_feel(&haptic->feel, &haptic->coupling, &haptic->device, clock, &felt);
    if (good)
        tell_pose(haptic, &felt.tool);
    haptic->ticks++;
    haptic->unsolved += !felt.converged;
    *out =
        (tdHapticForce){.contacts = felt.active, .slipping = felt.slipping, .sweeps = felt.sweeps, .fade = felt.fade};
    memcpy(out->force, felt.force, sizeof out->force);
    memcpy(out->asked, felt.force, sizeof out->asked);
    memcpy(out->torque, felt.torque, sizeof out->torque);
    memcpy(out->tool, felt.tool.t, sizeof out->tool);
    td_guard(&haptic->guard,
             position == NULL ? NULL
             : good           ? position
                              : nonsense,
             position != NULL, out->force, out->torque);
    out->fault = haptic->guard.fault;
}

const char *td_haptic_fault(int fault)
{
    return fault < 0 || fault > TD_GUARD_BAD_FORCE ? "unknown" : td_guard_fault((tdGuardFault)fault);
}
