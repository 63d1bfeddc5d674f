// SPDX-License-Identifier: Apache-2.0
// Any bytes as a scene: refused with a message or understood, never worse.
#include "describe/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What the compiler of scenes relies on.
static void check_actuator(const tdScene *scene, const tdSceneActuator *a)
{
    if (a->body < 0 || a->body >= scene->n_bodies || a->pull_body >= scene->n_bodies)
        abort();
    if (!(a->effort[0] <= a->effort[1]) || !(a->displacement[0] <= a->displacement[1]) || !(a->gas[0] <= a->gas[1]) ||
        !(a->effort_rate > 0) || !(a->displacement_rate > 0))
        abort();
    if (a->kind == TD_ACTUATOR_CABLE && (a->n_path + a->has_pull < 2 || !(a->effort[0] >= 0)))
        abort();
    const double *d = a->direction;
    if (a->kind >= TD_ACTUATOR_FORCE && !(fabs(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - 1) < 1e-12))
        abort();
    if (a->kind == TD_ACTUATOR_CAVITY && (a->surface == NULL) == (a->group == NULL))
        abort();
}

static void check_bonds(const tdScene *scene)
{
    for (int i = 0; i < scene->n_attachments; i++)
    {
        const tdSceneAttachment *a = &scene->attachments[i];
        bool self = a->a == a->b && (scene->bodies[a->a].type != TD_BODY_ARTICULATED || a->link == NULL);
        if (a->a < 0 || a->a >= scene->n_bodies || a->b >= scene->n_bodies || self || !(a->stiffness > 0))
            abort();
    }
    for (int i = 0; i < scene->n_couplings; i++)
    {
        const tdSceneCoupling *c = &scene->couplings[i];
        if (c->n_terms == 0 && (c->body[0] < 0 || c->body[0] >= scene->n_bodies || c->body[1] >= scene->n_bodies))
            abort();
        for (int k = 0; k < c->n_terms; k++)
            if (c->terms[k].factor == 0 || scene->bodies[c->terms[k].body].type != TD_BODY_ARTICULATED)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdScene scene;
    tdError error = {0};
    // Files named by the scene are looked for in a folder that does not exist.
    tdStatus status = td_scene_parse((const char *)data, size, "fuzz", "/nonexistent", &scene, &error);
    if (status != TD_OK && (error.message[0] == '\0' || strchr(error.message, '\n') != NULL))
        abort();
    if (status == TD_OK && (scene.n_bodies < 1 || scene.settings.steps < 1 || !(scene.settings.time_step > 0)))
        abort();
    for (int i = 0; status == TD_OK && i < scene.n_actuators; i++)
        check_actuator(&scene, &scene.actuators[i]);
    if (status == TD_OK)
        check_bonds(&scene);
    td_scene_free(&scene);
    return 0;
}
