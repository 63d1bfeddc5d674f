// SPDX-License-Identifier: Apache-2.0
// What is read of a state, by name: found once, then read without looking anything up.
#include "core/state.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum outputKind
{
    OUTPUT_TIME,
    OUTPUT_PROBE,
    OUTPUT_EFFECTOR,
    OUTPUT_INPUT,
    OUTPUT_EFFORT,
    OUTPUT_DISPLACEMENT,
    OUTPUT_REACTION,
    OUTPUT_CONTACT,
    OUTPUT_JOINT,
    OUTPUT_JOINT_RATE,
    OUTPUT_COORDS,
    OUTPUT_RATES,
    OUTPUT_POSITIONS,
    OUTPUT_KINETIC,
    OUTPUT_ELASTIC,
    OUTPUT_CONTACTS,
    OUTPUT_PENETRATION,
    OUTPUT_INDICATOR,
    OUTPUT_ROM_ERROR,
    OUTPUT_SENSOR,
    OUTPUT_KINDS
} outputKind;

/// What follows the colon.
typedef enum outputOf
{
    OF_NOTHING,
    OF_PROBE,
    OF_EFFECTOR,
    OF_INPUT,
    OF_ACTUATOR,
    OF_BODY,
    OF_PAIR,
    OF_JOINT,
    OF_SENSOR
} outputOf;

static const struct
{
    const char *name;
    outputOf of;
    const char *unit; // NULL: by what it is of
} kinds[OUTPUT_KINDS] = {
    [OUTPUT_TIME] = {"time", OF_NOTHING, "s"},
    [OUTPUT_PROBE] = {"probe", OF_PROBE, "m"},
    [OUTPUT_EFFECTOR] = {"effector", OF_EFFECTOR, NULL},
    [OUTPUT_INPUT] = {"input", OF_INPUT, ""},
    [OUTPUT_EFFORT] = {"effort", OF_ACTUATOR, NULL},
    [OUTPUT_DISPLACEMENT] = {"displacement", OF_ACTUATOR, NULL},
    [OUTPUT_REACTION] = {"reaction", OF_BODY, "N"},
    [OUTPUT_CONTACT] = {"contact", OF_PAIR, "N"},
    [OUTPUT_JOINT] = {"joint", OF_JOINT, NULL},
    [OUTPUT_JOINT_RATE] = {"joint_rate", OF_JOINT, NULL},
    [OUTPUT_COORDS] = {"coords", OF_BODY, ""},
    [OUTPUT_RATES] = {"rates", OF_BODY, ""},
    [OUTPUT_POSITIONS] = {"positions", OF_BODY, "m"},
    [OUTPUT_KINETIC] = {"kinetic", OF_NOTHING, "J"},
    [OUTPUT_ELASTIC] = {"elastic", OF_NOTHING, "J"},
    [OUTPUT_CONTACTS] = {"contacts", OF_NOTHING, ""},
    [OUTPUT_PENETRATION] = {"penetration", OF_NOTHING, "m"},
    [OUTPUT_INDICATOR] = {"indicator", OF_NOTHING, ""},
    [OUTPUT_ROM_ERROR] = {"rom_error", OF_NOTHING, ""},
    [OUTPUT_SENSOR] = {"sensor", OF_SENSOR, ""},
};

typedef struct output
{
    outputKind kind;
    int a, b; ///< of what: number; of a pair both, of a joint its body and itself
    char *name;
    const char *unit;
    int64_t first, count;
} output;

struct tdOutputs
{
    const tdModel *model;
    int n;
    int64_t width;
    output *list;
};

// ---------------------------------------------------------------- names

// Names of what there is, as much as fits.
static void list_names(const tdModel *model, outputOf of, char *text, size_t size)
{
    size_t at = 0;
    int n = of == OF_PROBE      ? model->n_probes
            : of == OF_EFFECTOR ? model->n_effectors
            : of == OF_INPUT    ? model->n_inputs
            : of == OF_ACTUATOR ? model->n_actuators
            : of == OF_SENSOR   ? td_model_sensors(model)
                                : model->n_bodies;
    snprintf(text, size, "none");
    for (int i = 0; i < n && at < size; i++)
    {
        const char *name = of == OF_PROBE      ? model->probes[i].name
                           : of == OF_EFFECTOR ? model->effectors[i].name
                           : of == OF_INPUT    ? model->inputs[i].name
                           : of == OF_ACTUATOR ? model->actuators[i].name
                           : of == OF_SENSOR   ? td_model_sensor(model, i).name
                                               : model->bodies[i].name;
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? ", " : "", name);
    }
}

static tdStatus fail_unknown(const tdModel *model, const char *name, outputOf of, tdError *error)
{
    static const char *const what[] = {"",       "probes", "effectors", "inputs", "actuators",
                                       "bodies", "bodies", "bodies",    "sensors"};
    char names[300];
    list_names(model, of, names, sizeof names);
    return td_fail_at(error, TD_ERROR_INPUT, model->file, 0, name, "there is no such output; %s of this scene: %s%s",
                      what[of], names,
                      of == OF_PAIR    ? " (contact:A,B is the force on B by A)"
                      : of == OF_JOINT ? " (joint:BODY,JOINT)"
                                       : "");
}

static tdStatus fail_kind(const tdModel *model, const char *name, tdError *error)
{
    char names[300];
    size_t at = 0;
    for (int k = 0; k < OUTPUT_KINDS; k++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s%s", k > 0 ? ", " : "", kinds[k].name,
                               kinds[k].of == OF_NOTHING ? ""
                               : kinds[k].of == OF_PAIR  ? ":A,B"
                               : kinds[k].of == OF_JOINT ? ":BODY,JOINT"
                                                         : ":NAME");
    return td_fail_at(error, TD_ERROR_INPUT, model->file, 0, name, "there is no such output; there are: %s", names);
}

static bool starts_with(const char *text, const char *name, char end)
{
    size_t n = strlen(name);
    return strncmp(text, name, n) == 0 && text[n] == end;
}

// Names of bodies hold no comma.
static bool find_pair(const tdModel *model, const char *rest, output *out)
{
    for (out->a = 0; out->a < model->n_bodies; out->a++)
        if (starts_with(rest, model->bodies[out->a].name, ','))
            return (out->b = td_model_find_body(model, strchr(rest, ',') + 1)) >= 0;
    return false;
}

static bool find_joint(const tdModel *model, const char *rest, output *out)
{
    for (out->a = 0; out->a < model->n_bodies; out->a++)
    {
        const char *name = model->bodies[out->a].name;
        for (out->b = 0; starts_with(rest, name, ',') && out->b < td_model_joints(model, out->a); out->b++)
            if (strcmp(td_model_joint(model, out->a, out->b).name, rest + strlen(name) + 1) == 0)
                return true;
    }
    return false;
}

static bool find_rest(const tdModel *model, const char *rest, outputOf of, output *out)
{
    switch (of)
    {
    case OF_PROBE: return (out->a = td_model_find_probe(model, rest)) >= 0;
    case OF_EFFECTOR: return (out->a = td_model_find_effector(model, rest)) >= 0;
    case OF_INPUT: return (out->a = td_model_find_input(model, rest)) >= 0;
    case OF_ACTUATOR: return (out->a = td_model_find_actuator(model, rest)) >= 0;
    case OF_BODY: return (out->a = td_model_find_body(model, rest)) >= 0;
    case OF_PAIR: return find_pair(model, rest, out);
    case OF_JOINT: return find_joint(model, rest, out);
    case OF_SENSOR: return (out->a = td_model_find_sensor(model, rest)) >= 0;
    default: return true;
    }
}

static int64_t count_of(const tdModel *model, const output *out)
{
    switch (out->kind)
    {
    case OUTPUT_PROBE:
    case OUTPUT_REACTION:
    case OUTPUT_CONTACT: return 3;
    case OUTPUT_EFFECTOR: return td_model_effector(model, out->a).rows;
    case OUTPUT_SENSOR: return td_model_sensor(model, out->a).values;
    case OUTPUT_COORDS:
    case OUTPUT_RATES: return td_model_body_coords(model, out->a);
    case OUTPUT_POSITIONS: return 3 * (int64_t)td_model_body_nodes(model, out->a);
    default: return 1;
    }
}

static const char *unit_of(const tdModel *model, const output *out)
{
    switch (out->kind)
    {
    case OUTPUT_EFFECTOR: return td_model_effector(model, out->a).unit;
    case OUTPUT_EFFORT: return td_model_actuator(model, out->a).effort_unit;
    case OUTPUT_DISPLACEMENT: return td_model_actuator(model, out->a).displacement_unit;
    case OUTPUT_JOINT: return td_model_joint(model, out->a, out->b).slides ? "m" : "rad";
    case OUTPUT_JOINT_RATE: return td_model_joint(model, out->a, out->b).slides ? "m/s" : "rad/s";
    default: return kinds[out->kind].unit;
    }
}

static tdStatus find_output(const tdModel *model, const char *name, output *out, tdError *error)
{
    for (int k = 0; k < OUTPUT_KINDS; k++)
    {
        bool plain = kinds[k].of == OF_NOTHING;
        if (!starts_with(name, kinds[k].name, plain ? '\0' : ':'))
            continue;
        out->kind = (outputKind)k;
        if (!plain && !find_rest(model, name + strlen(kinds[k].name) + 1, kinds[k].of, out))
            return fail_unknown(model, name, kinds[k].of, error);
        out->count = count_of(model, out);
        out->unit = unit_of(model, out);
        out->name = strdup(name);
        return out->name == NULL ? td_fail_memory(error, "the outputs") : TD_OK;
    }
    return fail_kind(model, name, error);
}

tdStatus td_outputs_create(const tdModel *model, int n, const char *const *names, tdOutputs **out, tdError *error)
{
    *out = NULL;
    if (n < 0)
        return td_fail(error, TD_ERROR_USAGE, "%d outputs were requested", n);
    tdOutputs *outputs = td_take(1, sizeof *outputs);
    if (outputs != NULL)
        outputs->list = td_take((size_t)n + 1, sizeof *outputs->list);
    if (outputs == NULL || outputs->list == NULL)
    {
        free(outputs);
        return td_fail_memory(error, "the outputs");
    }
    outputs->model = model;
    tdStatus status = TD_OK;
    for (; outputs->n < n && status == TD_OK; outputs->n++)
    {
        output *one = &outputs->list[outputs->n];
        status = names[outputs->n] == NULL ? td_fail(error, TD_ERROR_USAGE, "output %d has no name", outputs->n)
                                           : find_output(model, names[outputs->n], one, error);
        one->first = outputs->width;
        outputs->width += one->count;
    }
    if (status != TD_OK)
    {
        td_outputs_free(outputs);
        return status;
    }
    *out = outputs;
    return TD_OK;
}

void td_outputs_free(tdOutputs *outputs)
{
    if (outputs == NULL)
        return;
    for (int i = 0; i < outputs->n; i++)
        free(outputs->list[i].name);
    free(outputs->list);
    free(outputs);
}

int td_outputs_count(const tdOutputs *outputs)
{
    return outputs->n;
}

int64_t td_outputs_width(const tdOutputs *outputs)
{
    return outputs->width;
}

tdOutputInfo td_outputs_info(const tdOutputs *outputs, int index)
{
    assert(index >= 0 && index < outputs->n);
    const output *one = &outputs->list[index];
    return (tdOutputInfo){one->name, one->unit, one->first, one->count};
}

// ---------------------------------------------------------------- reading

static double scalar(const output *out, const tdModel *model, tdState *state)
{
    double value = 0;
    switch (out->kind)
    {
    case OUTPUT_TIME: return td_state_time(state);
    case OUTPUT_INPUT: return td_state_input(model, state, out->a);
    case OUTPUT_EFFORT: return td_state_actuation(model, state, out->a).effort;
    case OUTPUT_DISPLACEMENT: return td_state_actuation(model, state, out->a).displacement;
    case OUTPUT_JOINT: td_state_joint(model, state, out->a, out->b, &value, NULL); return value;
    case OUTPUT_JOINT_RATE: td_state_joint(model, state, out->a, out->b, NULL, &value); return value;
    case OUTPUT_KINETIC: td_state_energy(model, state, &value, NULL); return value;
    case OUTPUT_ELASTIC: td_state_energy(model, state, NULL, &value); return value;
    case OUTPUT_CONTACTS: return td_state_report(state)->contacts_active;
    case OUTPUT_PENETRATION: return td_state_report(state)->penetration;
    case OUTPUT_INDICATOR: return td_state_report(state)->rom_indicator;
    case OUTPUT_ROM_ERROR: return td_state_report(state)->rom_error;
    default: return NAN;
    }
}

// The numbers of one where they lie, or put into `room`.
static const double *values_of(const output *out, const tdModel *model, tdState *state, double room[TD_SENSOR_VALUES])
{
    switch (out->kind)
    {
    case OUTPUT_PROBE: td_state_probe(model, state, out->a, room); return room;
    case OUTPUT_EFFECTOR: td_state_effector(model, state, out->a, room); return room;
    case OUTPUT_REACTION: td_state_reaction(model, state, out->a, room); return room;
    case OUTPUT_CONTACT: td_state_contact_force(state, out->a, out->b, room); return room;
    case OUTPUT_COORDS: return td_state_coords(model, state, out->a);
    case OUTPUT_RATES: return td_state_rates(model, state, out->a);
    case OUTPUT_POSITIONS: return td_state_positions(model, state, out->a);
    case OUTPUT_SENSOR: td_state_sensor(model, state, out->a, room); return room;
    default: room[0] = scalar(out, model, state); return room;
    }
}

void td_outputs_read(const tdOutputs *outputs, const tdModel *model, tdState *state, double *data, int64_t stride)
{
    assert(outputs->model == model && state->model == model);
    for (int i = 0; i < outputs->n; i++)
    {
        double room[TD_SENSOR_VALUES] = {0};
        const double *from = values_of(&outputs->list[i], model, state, room);
        double *to = data + outputs->list[i].first * stride;
        for (int64_t k = 0; k < outputs->list[i].count; k++)
            to[k * stride] = from[k];
    }
}
