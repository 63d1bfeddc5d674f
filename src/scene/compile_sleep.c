// SPDX-License-Identifier: Apache-2.0
// Which bodies may sleep (contact_sleep.c): rigid ones that only weight and contact act on.
#include "contact/contact.h"
#include "describe/together.h"
#include "scene/compile.h"

#include <math.h>

#define DROWSY 0.2 // [s] for which bodies are slow before they sleep

static bool is_rigid_and_free(const tdBody *body)
{
    return body->parts != NULL && body->parts->n == 1 && body->parts->n_joints == 0 && body->count == 6 &&
           body->unknowns == 6 && body->guided == NULL;
}

static bool of_contact(tdEffectorKind kind)
{
    return kind == TD_EFFECTOR_CONTACT || kind == TD_EFFECTOR_FRICTION;
}

// What becomes of each body where some sleep: those do that only weight and contact act on.
tdStatus td_compile_sleep(tdModel *model, tdError *error)
{
    const tdScene *scene = &model->scene;
    tdContactModel *contact = model->contact;
    if (!(scene->contact.sleep > 0))
        return TD_OK;
    const char *clash =
        td_part_clash(TD_PART_SLEEP, model->settings.newton ? TD_PART_STATIC : td_scheme_part(&model->scheme));
    if (clash != NULL)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->contact.sleep_line, "contact.sleep", "%s", clash);
    contact->rest = TD_TAKE(&model->arena, unsigned char, model->n_bodies);
    if (contact->rest == NULL)
        return td_fail_memory(error, "the colliders");
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        bool fixed = body->count == 0 && body->guided == NULL;
        contact->rest[b] = fixed ? TD_REST_FIXED : is_rigid_and_free(body) ? TD_REST_SLEEPS : TD_REST_NEVER;
    }
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdMeasure *measure = &model->actuators[a].measure;
        contact->rest[model->actuators[a].given->body] = TD_REST_NEVER;
        for (int k = 0; k < measure->n_sets; k++)
            if (measure->sets[k].body >= 0)
                contact->rest[measure->sets[k].body] = TD_REST_NEVER;
    }
    for (int i = 0; i < contact->n_bonds; i++)
        for (int s = 0; s < 2; s++)
            if (contact->bonds[i].side[s].body >= 0)
                contact->rest[contact->bonds[i].side[s].body] = TD_REST_NEVER;
    for (int e = 0; e < scene->n_effectors; e++)
        for (int s = 0; s < 2; s++)
            if (of_contact(scene->effectors[e].kind) && scene->effectors[e].bodies[s] >= 0)
                contact->rest[scene->effectors[e].bodies[s]] = TD_REST_NEVER;
    contact->sleep = scene->contact.sleep;
    contact->drowsy = (int64_t)fmin(ceil(DROWSY / model->scheme.h), 1e9) + 1;
    return TD_OK;
}
