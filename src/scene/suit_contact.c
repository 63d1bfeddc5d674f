// SPDX-License-Identifier: Apache-2.0
// What contact, attachments and couplings do not go together with.
#include "contact/contact.h"
#include "scene/compile.h"

#include <math.h>
#include <stdio.h>

// A constraint of the problem has two sides at most.
static tdStatus check_actuators(const tdModel *model, tdError *error)
{
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdMeasure *measure = &model->actuators[a].measure;
        int bodies[3] = {-1, -1, -1}, n = 0;
        for (int k = 0; k < measure->n_sets && !model->actuators[a].held; k++)
        {
            int b = measure->sets[k].body;
            if (b < 0 || b == bodies[0] || b == bodies[1])
                continue;
            if (n == 2)
                return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->actuators[a].given->line,
                                  "actuators",
                                  "actuator '%s' joins more than two bodies, which is not supported together with "
                                  "contact, attachments and couplings",
                                  model->actuators[a].name);
            bodies[n++] = b;
        }
    }
    return TD_OK;
}

// What touches or is tied needs the compliance of bodies, which only a factor gives.
static tdStatus check_factors(const tdModel *model, tdError *error)
{
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (!body->ops->nodal || body->soft == NULL || body->soft->linear.amg == NULL)
            continue;
        const tdLinearModel *linear = &body->soft->linear;
        char size[80] = "";
        if (linear->factor_bytes > 0 && isfinite(linear->factor_bytes))
            snprintf(size, sizeof size, " (%.2g GB, more than solver.memory)", 1e-9 * linear->factor_bytes);
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.bodies[b].line, "solver",
                          "contact, attachments and couplings need a factor of the matrix of body '%s'%s, but the body "
                          "uses multigrid instead; set 'solver: {type: cholesky}' with the 'memory' that it needs, a "
                          "coarser mesh, or a reduced model of the body",
                          body->name, size);
    }
    return TD_OK;
}

tdStatus td_contact_suits(const tdModel *model, tdError *error)
{
    TD_TRY(check_factors(model, error));
    return check_actuators(model, error);
}

// Of the first body that resists turning, by its own keys, those of the scene or its file.
tdStatus td_contact_turning_suits(const tdModel *model, int n_colliders, tdError *error)
{
    const tdScene *scene = &model->scene;
    bool coulomb = scene->contact.solver == TD_CONTACT_NLCP;
    const char *clash = td_part_clash(TD_PART_TURNING, coulomb ? TD_PART_COULOMB : td_scheme_part(&model->scheme));
    for (int b = 0; b < model->n_bodies && clash != NULL && model->turning; b++)
        for (int i = 0; i < n_colliders; i++)
        {
            const tdContactCollider *collider = &model->contact->colliders[i];
            if (collider->body == b && (collider->torsion > 0 || collider->rolling > 0))
                return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->bodies[b].line, model->bodies[b].name,
                                  "%s", clash);
        }
    return TD_OK;
}
