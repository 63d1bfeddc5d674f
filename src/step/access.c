// SPDX-License-Identifier: Apache-2.0
// What a caller reads of a state and puts into it: coordinates, joints, parameters.
#include "body/soft.h"
#include "constraint/constraint.h"
#include "contact/contact.h"
#include "core/parts.h"
#include "core/state.h"
#include "step/monitor.h"
#include "step/sensor.h"
#include "step/stage.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const tdBody *body_of(const tdModel *model, int body)
{
    assert(body >= 0 && body < model->n_bodies);
    return &model->bodies[body];
}

// ---------------------------------------------------------------- surfaces

const double *td_model_body_rest(const tdModel *model, int body)
{
    return body_of(model, body)->soft->rest;
}

int64_t td_model_body_triangles(const tdModel *model, int body, const int32_t **triangles)
{
    const tdSoft *soft = body_of(model, body)->soft;
    *triangles = soft->surface;
    return soft->surface_tris;
}

// ---------------------------------------------------------------- coordinates

const double *td_state_coords(const tdModel *model, const tdState *state, int body)
{
    assert(state->model == model);
    return state->q + body_of(model, body)->first;
}

const double *td_state_rates(const tdModel *model, const tdState *state, int body)
{
    assert(state->model == model);
    return state->v + body_of(model, body)->first;
}

const double *td_state_turns(const tdModel *model, const tdState *state, int body)
{
    const tdBody *given = body_of(model, body);
    assert(state->model == model);
    return given->n_turns > 0 ? given->ops->turns(given, state) : NULL;
}

double td_state_input(const tdModel *model, const tdState *state, int input)
{
    assert(state->model == model && input >= 0 && input < model->n_inputs);
    return state->steps > 0 ? state->input_end[input] : td_input_value(model, input, state->time);
}

static tdStatus check_numbers(const tdBody *body, const char *what, int64_t n, const double *x, tdError *error)
{
    for (int64_t i = 0; x != NULL && i < n; i++)
        if (!isfinite(x[i]))
            return td_fail(error, TD_ERROR_INPUT, "%s %lld of body '%s' is %g; give finite numbers", what, (long long)i,
                           body->name, x[i]);
    return TD_OK;
}

// Held coordinates are not the caller's: they are where the scene holds or moves them.
static tdStatus check_held(const tdModel *model, const tdState *state, const tdBody *body, const double *coords,
                           const double *rates, tdError *error)
{
    for (int32_t k = 0; k < body->n_held; k++)
    {
        int32_t i = body->held[k];
        double q = state->q[body->first + i], v = state->v[body->first + i];
        bool moved = coords != NULL && fabs(coords[i] - q) > 1e-9 * model->size;
        bool moving = rates != NULL && fabs(rates[i] - v) > 1e-9 * model->size / model->scheme.h;
        if (moved || moving)
            return td_fail(error, TD_ERROR_INPUT,
                           "coordinate %d of body '%s' is held: its %s is %.9g and cannot be set to %.9g; leave held "
                           "coordinates as they are, or move them by the input that drives them",
                           i, body->name, moved ? "value" : "rate", moved ? q : v, moved ? coords[i] : rates[i]);
    }
    return TD_OK;
}

static tdStatus check_turns(const tdBody *body, const double *turns, tdError *error)
{
    for (int k = 0; turns != NULL && k < body->n_turns; k += 4)
    {
        const double *t = turns + k;
        if (!(t[0] * t[0] + t[1] * t[1] + t[2] * t[2] + t[3] * t[3] > 1e-12))
            return td_fail(error, TD_ERROR_INPUT, "reference rotation %d of body '%s' has no length", k / 4,
                           body->name);
    }
    return TD_OK;
}

// Where bodies are has changed without a step: what followed from the old places is measured anew or forgotten.
static tdStatus after_placing(const tdModel *model, tdState *state, const tdBody *body, tdError *error)
{
    TD_TRY(td_body_restore(model, body, state, error));
    state->report = (tdReport){0};
    td_constraint_measure(model, state);
    td_monitor_forget(model, state);
    td_contact_forget(model, state);
    td_sensors_forget(model, state);
    // Newmark goes on from accelerations: those of the new places, as in its first step.
    tdStatus status =
        model->scheme.method == TD_METHOD_NEWMARK && state->steps > 0 ? td_step_start(model, state) : TD_OK;
    if (status != TD_OK && error != NULL)
        *error = state->report.error;
    return status;
}

tdStatus td_state_set_coords(const tdModel *model, tdState *state, int body, const double *coords, const double *rates,
                             const double *turns, tdError *error)
{
    const tdBody *given = body_of(model, body);
    assert(state->model == model);
    TD_TRY(check_numbers(given, "coordinate", given->count, coords, error));
    TD_TRY(check_numbers(given, "rate", given->count, rates, error));
    TD_TRY(check_numbers(given, "number of the rotations", given->n_turns, turns, error));
    TD_TRY(check_held(model, state, given, coords, rates, error));
    TD_TRY(check_turns(given, turns, error));
    size_t bytes = (size_t)given->count * sizeof(double);
    if (coords != NULL)
        memcpy(state->q + given->first, coords, bytes);
    if (rates != NULL)
        memcpy(state->v + given->first, rates, bytes);
    double *kept = turns != NULL && given->n_turns > 0 ? given->ops->turns(given, state) : NULL;
    for (int k = 0; kept != NULL && k < given->n_turns; k += 4)
    {
        const double *t = turns + k;
        double length = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2] + t[3] * t[3]);
        for (int c = 0; c < 4; c++)
            kept[k + c] = t[c] / length;
    }
    return after_placing(model, state, given, error);
}

// ---------------------------------------------------------------- joints

int td_model_joints(const tdModel *model, int body)
{
    const tdBodyParts *parts = body_of(model, body)->parts;
    return parts == NULL ? 0 : parts->n_joints;
}

static const tdBodyJoint *joint_of(const tdModel *model, int body, int joint)
{
    assert(joint >= 0 && joint < td_model_joints(model, body));
    return &model->bodies[body].parts->joints[joint];
}

tdJointInfo td_model_joint(const tdModel *model, int body, int joint)
{
    const tdBodyJoint *given = joint_of(model, body, joint);
    return (tdJointInfo){given->name, model->bodies[body].parts->names[given->part], given->slides, given->start};
}

void td_state_joint(const tdModel *model, const tdState *state, int body, int joint, double *position, double *rate)
{
    const tdBodyJoint *given = joint_of(model, body, joint);
    int64_t i = model->bodies[body].first + given->coord;
    assert(state->model == model);
    if (position != NULL)
        *position = given->ratio * state->q[i] + given->offset;
    if (rate != NULL)
        *rate = given->ratio * state->v[i];
}

// Joints that mimic others share a coordinate with them: what is given has to agree.
static tdStatus check_shared(const tdModel *model, int body, const double *x, bool rates, tdError *error)
{
    int n = td_model_joints(model, body);
    for (int i = 0; x != NULL && i < n; i++)
        for (int j = 0; j < i; j++)
        {
            const tdBodyJoint *a = joint_of(model, body, i), *b = joint_of(model, body, j);
            if (a->coord != b->coord)
                continue;
            double qa = (x[i] - (rates ? 0 : a->offset)) / a->ratio, qb = (x[j] - (rates ? 0 : b->offset)) / b->ratio;
            if (fabs(qa - qb) > 1e-9 * (1 + fabs(qa)))
                return td_fail(
                    error, TD_ERROR_INPUT,
                    "joint '%s' of body '%s' follows joint '%s', and the two are given %ss that do not agree", a->name,
                    model->bodies[body].name, b->name, rates ? "rate" : "position");
        }
    return TD_OK;
}

tdStatus td_state_set_joints(const tdModel *model, tdState *state, int body, const double *positions,
                             const double *rates, tdError *error)
{
    const tdBody *given = body_of(model, body);
    int n = td_model_joints(model, body);
    assert(state->model == model);
    if (n == 0)
        return td_fail(error, TD_ERROR_INPUT, "body '%s' has no joints", given->name);
    TD_TRY(check_numbers(given, "joint", n, positions, error));
    TD_TRY(check_numbers(given, "rate of joint", n, rates, error));
    TD_TRY(check_shared(model, body, positions, false, error));
    TD_TRY(check_shared(model, body, rates, true, error));
    for (int k = 0; k < n; k++)
    {
        const tdBodyJoint *joint = joint_of(model, body, k);
        int64_t i = given->first + joint->coord;
        if (positions != NULL)
            state->q[i] = (positions[k] - joint->offset) / joint->ratio;
        if (rates != NULL)
            state->v[i] = rates[k] / joint->ratio;
    }
    return after_placing(model, state, given, error);
}

// ---------------------------------------------------------------- parameters

const char *td_parameter_name(tdParameter parameter)
{
    static const char *const names[TD_PARAMETERS] = {"gravity_x", "gravity_y", "gravity_z", "friction",
                                                     "young",     "mass",      "damping",   "offset"};
    return parameter >= 0 && parameter < TD_PARAMETERS ? names[parameter] : "unknown";
}

// Where it is in state->parameters; -1: there is no such.
static int64_t place_of(const tdModel *model, tdParameter parameter, int index)
{
    if (parameter >= TD_PARAMETER_YOUNG && parameter <= TD_PARAMETER_DAMPING)
        return index < 0 || index >= model->n_bodies
                   ? -1
                   : 4 + TD_FACTORS * (int64_t)index + (int)parameter - TD_PARAMETER_YOUNG;
    if (parameter == TD_PARAMETER_OFFSET)
        return index < 0 || index >= model->n_inputs ? -1 : 4 + TD_FACTORS * (int64_t)model->n_bodies + index;
    return parameter >= 0 && parameter < TD_PARAMETERS && index == 0 ? (int64_t)parameter : -1;
}

static tdStatus check_factor(const tdBody *body, tdParameter parameter, double value, tdError *error)
{
    static const struct
    {
        unsigned bit;
        const char *why;
    } list[] = {{TD_VARIES_YOUNG, "it has no moduli of its own"},
                {TD_VARIES_MASS, "its inertia is compiled; set it in the scene"},
                {TD_VARIES_DAMPING, "it has no damping in the scene (damping: {mass: ..., stiffness: ...})"}};
    int k = (int)parameter - TD_PARAMETER_YOUNG;
    bool none = parameter == TD_PARAMETER_DAMPING ? !(value >= 0) : !(value > 0);
    if (none)
        return td_fail(error, TD_ERROR_INPUT, "the factor '%s' of body '%s' is %g, and has to be %s zero",
                       td_parameter_name(parameter), body->name, value,
                       parameter == TD_PARAMETER_DAMPING ? "at least" : "above");
    if (value != 1 && (body->ops->varies == NULL || !(body->ops->varies(body) & list[k].bit)))
        return td_fail(error, TD_ERROR_INPUT, "the factor '%s' of body '%s' cannot be set: %s",
                       td_parameter_name(parameter), body->name, list[k].why);
    return TD_OK;
}

// Gravity of a reduced body on a frame is read off the scene's own.
static tdStatus check_gravity(const tdModel *model, tdError *error)
{
    const double *g = model->settings.gravity;
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].modes != NULL && model->bodies[b].modes->framed && g[0] == 0 && g[1] == 0 && g[2] == 0)
            return td_fail(error, TD_ERROR_INPUT,
                           "gravity cannot be set: the scene has none, and its effect on the reduced body '%s' was not "
                           "compiled; give the scene a gravity",
                           model->bodies[b].name);
    return TD_OK;
}

tdStatus td_state_set_parameter(const tdModel *model, tdState *state, tdParameter parameter, int index, double value,
                                tdError *error)
{
    assert(state->model == model);
    int64_t place = place_of(model, parameter, index);
    if (place < 0)
        return td_fail(error, TD_ERROR_USAGE, "there is no parameter '%s' number %d", td_parameter_name(parameter),
                       index);
    if (!isfinite(value))
        return td_fail(error, TD_ERROR_INPUT, "the parameter '%s' is %g; give a finite number",
                       td_parameter_name(parameter), value);
    if (state->parameters[place] == value)
        return TD_OK;
    bool factor = parameter >= TD_PARAMETER_YOUNG && parameter <= TD_PARAMETER_DAMPING;
    if (factor)
        TD_TRY(check_factor(&model->bodies[index], parameter, value, error));
    if (parameter <= TD_PARAMETER_GRAVITY_Z)
        TD_TRY(check_gravity(model, error));
    if (parameter == TD_PARAMETER_FRICTION && value < 0)
        return td_fail(error, TD_ERROR_INPUT, "the factor 'friction' is %g, and has to be at least zero", value);
    state->parameters[place] = value;
    td_contact_wake(model, state);
    if (factor && model->bodies[index].ops->vary != NULL)
    {
        model->bodies[index].ops->vary(model, &model->bodies[index], state);
        td_monitor_forget(model, state); // its energy is another one at once
    }
    return TD_OK;
}

double td_state_parameter(const tdModel *model, const tdState *state, tdParameter parameter, int index)
{
    int64_t place = place_of(model, parameter, index);
    assert(state->model == model);
    return place < 0 ? NAN : state->parameters[place];
}
