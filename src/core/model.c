// SPDX-License-Identifier: Apache-2.0
// What a compiled scene consists of, for callers.
#include "core/model.h"

#include <assert.h>
#include <string.h>

int td_model_bodies(const tdModel *model)
{
    return model->n_bodies;
}

const char *td_model_body_name(const tdModel *model, int body)
{
    assert(body >= 0 && body < model->n_bodies);
    return model->bodies[body].name;
}

int td_model_body_nodes(const tdModel *model, int body)
{
    assert(body >= 0 && body < model->n_bodies);
    return (int)model->bodies[body].nodes;
}

int td_model_body_elements(const tdModel *model, int body)
{
    assert(body >= 0 && body < model->n_bodies);
    return (int)model->bodies[body].elements;
}

int64_t td_model_dofs(const tdModel *model)
{
    return model->unknowns;
}

double td_model_time_step(const tdModel *model)
{
    return model->scheme.h;
}

int td_model_steps(const tdModel *model)
{
    return model->settings.steps;
}

int td_model_frames_every(const tdModel *model)
{
    return model->scene.output.every;
}

int td_model_checkpoint_every(const tdModel *model)
{
    return model->scene.output.checkpoint_every;
}

int td_model_probes(const tdModel *model)
{
    return model->n_probes;
}

const char *td_model_probe_name(const tdModel *model, int probe)
{
    assert(probe >= 0 && probe < model->n_probes);
    return model->probes[probe].name;
}

const char *td_model_body_kind(const tdModel *model, int body)
{
    assert(body >= 0 && body < model->n_bodies);
    return model->bodies[body].ops->kind;
}

int64_t td_model_body_coords(const tdModel *model, int body)
{
    assert(body >= 0 && body < model->n_bodies);
    return model->bodies[body].count;
}

int td_model_body_turns(const tdModel *model, int body)
{
    assert(body >= 0 && body < model->n_bodies);
    return model->bodies[body].n_turns;
}

double td_model_body_mass(const tdModel *model, int body)
{
    assert(body >= 0 && body < model->n_bodies);
    return model->bodies[body].mass;
}

int td_model_inputs(const tdModel *model)
{
    return model->n_inputs;
}

const char *td_model_input_name(const tdModel *model, int input)
{
    assert(input >= 0 && input < model->n_inputs);
    return model->inputs[input].name;
}

// ---------------------------------------------------------------- by name

int td_model_find_input(const tdModel *model, const char *name)
{
    assert(name != NULL);
    for (int i = 0; i < model->n_inputs; i++)
        if (strcmp(model->inputs[i].name, name) == 0)
            return i;
    return -1;
}

int td_model_find_body(const tdModel *model, const char *name)
{
    assert(name != NULL);
    for (int b = 0; b < model->n_bodies; b++)
        if (strcmp(model->bodies[b].name, name) == 0)
            return b;
    return -1;
}

int td_model_find_probe(const tdModel *model, const char *name)
{
    assert(name != NULL);
    for (int p = 0; p < model->n_probes; p++)
        if (strcmp(model->probes[p].name, name) == 0)
            return p;
    return -1;
}

int td_model_find_actuator(const tdModel *model, const char *name)
{
    assert(name != NULL);
    for (int a = 0; a < model->n_actuators; a++)
        if (strcmp(model->actuators[a].name, name) == 0)
            return a;
    return -1;
}
