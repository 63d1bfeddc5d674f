// SPDX-License-Identifier: Apache-2.0
#include "haptic/haptic.h"

#include "base/vector.h"
#include "body/guided.h"
#include "contact/contact.h"
#include "core/rotation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSING 0.2 // [s] that a jaw takes from open to closed, however quickly a button is pressed

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

// "a, b": what a hand could hold; follows none.
static void list_tools(const tdModel *model, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].guided != NULL && model->bodies[b].guided->follows < 0 && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s'%s'", n > 0 ? ", " : "", model->bodies[b].name);
}

static tdStatus find_tool(const tdModel *model, const char *name, int *out, tdError *error)
{
    char known[200];
    *out = -1;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (body->guided == NULL || body->guided->follows >= 0 || (name != NULL && strcmp(body->name, name) != 0))
            continue;
        if (*out >= 0)
            return td_fail(error, TD_ERROR_USAGE,
                           "bodies '%s' and '%s' are guided; say which one the hand holds (--tool NAME), or give each "
                           "a device (--device %s=DEVICE,%s=DEVICE)",
                           model->bodies[*out].name, model->bodies[b].name, model->bodies[*out].name,
                           model->bodies[b].name);
        *out = b;
    }
    if (*out >= 0)
        return TD_OK;
    list_tools(model, known, sizeof known);
    return name != NULL && known[0] != '\0'
               ? td_fail(error, TD_ERROR_INPUT,
                         "there is no body '%s' with 'guided: true' that a hand could hold; there is %s", name, known)
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

// The first body that follows the tool and that a grip closes.
static void find_jaw(tdHaptic *haptic, const tdModel *model)
{
    haptic->jaw_input[0] = -1;
    for (int b = model->n_bodies - 1; b >= 0; b--)
    {
        const tdGuided *jaw = model->bodies[b].guided;
        if (jaw == NULL || jaw->follows != haptic->body || td_dot3(jaw->close, jaw->close) == 0)
            continue;
        for (int k = 0; k < 3; k++)
        {
            haptic->jaw_input[k] = jaw->input[k];
            haptic->jaw_close[k] = jaw->close[k];
        }
    }
}

tdStatus td_haptic_create(const tdModel *model, const tdHapticSettings *settings, tdHaptic **out, tdError *error)
{
    int body = -1;
    *out = NULL;
    TD_TRY(check(settings, error));
    TD_TRY(find_tool(model, settings->tool, &body, error));
    if (model->scheme.method == TD_METHOD_STATIC)
        return td_fail(error, TD_ERROR_INPUT,
                       "nothing can be felt in a static scene, which has no time; use 'integrator: "
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
    const tdGuided *guided = haptic->guided = model->bodies[body].guided;
    haptic->coupling = (tdCoupling){settings->stiffness, settings->angular_stiffness, guided->through, {0, 0, 0}};
    memcpy(haptic->coupling.trocar, guided->trocar, sizeof guided->trocar);
    tdStatus status = td_local_create(model, body, &haptic->coupling, &haptic->maker, error);
    if (status != TD_OK)
    {
        td_haptic_free(haptic);
        return status;
    }
    const double none[6] = {0};
    for (int k = 0; k < 6; k++)
        haptic->input[k] = guided->input[k];
    find_jaw(haptic, model);
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

// Inputs of the tool, and of its jaw, from the newest pose of the device.
static tdStatus place_tool(tdHaptic *haptic, const tdModel *model, tdState *state)
{
    if (!td_exchange_take(&haptic->poses))
        return TD_OK;
    const tdHapticPose *pose = &haptic->pose[haptic->poses.reading];
    haptic->posed = pose->clock;
    for (int k = 0; k < 6; k++)
        TD_TRY(td_state_set_input(model, state, haptic->input[k], pose->q[k]));
    for (int k = 0; k < 3 && haptic->jaw_input[0] >= 0; k++)
        TD_TRY(td_state_set_input(model, state, haptic->jaw_input[k], pose->grip * haptic->jaw_close[k]));
    return TD_OK;
}

static tdStatus publish(tdHaptic *haptic, const tdModel *model, tdState *state, double clock)
{
    tdLocalSlots *slots = haptic->locals;
    tdLocal *local = &slots->slot[slots->exchange.writing];
    TD_TRY(td_local_make(haptic->maker, model, state, clock, local, &state->report.error));
    // Surfaces go on from when the tool was where the step has it.
    local->lead = fmin(fmax(clock - haptic->posed, 0), local->h);
    haptic->published++;
    haptic->left_out += local->left_out > 0;
    haptic->most_contacts = local->n > haptic->most_contacts ? local->n : haptic->most_contacts;
    td_exchange_publish(&slots->exchange);
    return TD_OK;
}

tdStatus td_haptic_step_all(tdHaptic *const *haptics, int n, const tdModel *model, tdState *state, double clock)
{
    for (int i = 0; i < n; i++)
        TD_TRY(place_tool(haptics[i], model, state));
    TD_TRY(td_step(model, state));
    for (int i = 0; i < n; i++)
        TD_TRY(publish(haptics[i], model, state, clock));
    return TD_OK;
}

tdStatus td_haptic_step(tdHaptic *haptic, const tdModel *model, tdState *state, double clock)
{
    return td_haptic_step_all(&haptic, 1, model, state, clock);
}

// ---------------------------------------------------------------- device

// A pose of the device as the tool's: a way from the start, in the world's axes.
static bool take_pose(tdHaptic *haptic, const double *position, const double *rotation)
{
    double size = 1, q[4] = {1, 0, 0, 0}, input[6];
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
    memcpy(input, position, 3 * sizeof *input);
    td_rotation_vector(q, haptic->turn, input + 3);
    haptic->device = td_guided_held(haptic->guided, input);
    if (haptic->guided->through)
        memcpy(haptic->turn, input + 3, sizeof haptic->turn);
    return true;
}

// Where the tool is, for the simulation. In a trocar its way is all: the simulation turns it.
static void tell_pose(tdHaptic *haptic, const tdPose *tool, double clock)
{
    tdHapticPose *pose = &haptic->pose[haptic->poses.writing];
    td_guided_coordinates(haptic->guided, tool, haptic->turn, pose->q);
    if (haptic->guided->through)
        memcpy(pose->q + 3, haptic->turn, sizeof haptic->turn);
    memcpy(haptic->turn, pose->q + 3, sizeof haptic->turn);
    pose->grip = haptic->grip;
    pose->clock = clock;
    td_exchange_publish(&haptic->poses);
}

void td_haptic_grip(tdHaptic *haptic, double grip)
{
    haptic->grip_target = grip > 0 ? fmin(grip, 1) : 0;
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
    double step = haptic->settings.period / CLOSING;
    haptic->grip += fmin(fmax(haptic->grip_target - haptic->grip, -step), step);
    if (good)
        tell_pose(haptic, &felt.tool, clock);
    haptic->ticks++;
    haptic->unsolved += !felt.converged;
    haptic->residual = felt.converged ? haptic->residual : fmax(haptic->residual, felt.residual);
    *out =
        (tdHapticForce){.contacts = felt.active, .slipping = felt.slipping, .sweeps = felt.sweeps, .fade = felt.fade};
    memcpy(out->force, felt.force, sizeof out->force);
    memcpy(out->asked, felt.force, sizeof out->asked);
    memcpy(out->torque, felt.torque, sizeof out->torque);
    memcpy(out->tool, felt.tool.t, sizeof out->tool);
    if (good && rotation != NULL)
        td_guard_turn(&haptic->guard, rotation);
    td_guard(&haptic->guard,
             position == NULL ? NULL
             : good           ? position
                              : nonsense,
             position != NULL, out->force, out->torque);
    out->fault = haptic->guard.fault;
    haptic->most_force = fmax(haptic->most_force, sqrt(td_dot3(out->force, out->force)));
}

const char *td_haptic_fault(int fault)
{
    return fault < 0 || fault > TD_GUARD_BAD_FORCE ? "unknown" : td_guard_fault((tdGuardFault)fault);
}
