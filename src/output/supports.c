// SPDX-License-Identifier: Apache-2.0
#include "output/supports.h"

#include "body/soft.h"

#include <stdio.h>

static bool drives(const tdBody *body, int input)
{
    const tdSoft *soft = body->soft;
    for (int32_t i = 0; body->ops->nodal && i < soft->n_driven; i++)
        if (soft->driven[i].input == input)
            return true;
    return false;
}

int td_supports(const tdModel *model, tdSupport *out)
{
    int n = 0;
    for (int b = 0; b < model->n_bodies; b++)
        for (int i = 0; i < model->n_inputs; i++)
            if (drives(&model->bodies[b], i))
                out[n++] = (tdSupport){b, i};
    return n;
}

void td_support_name(const tdModel *model, const tdSupport *support, char *out, size_t size)
{
    snprintf(out, size, "%s.%s", model->bodies[support->body].name, model->inputs[support->input].name);
}

void td_support_force(const tdModel *model, const tdState *state, const tdSupport *support, double force[3])
{
    const tdBody *body = &model->bodies[support->body];
    const tdSoft *soft = body->soft;
    force[0] = force[1] = force[2] = 0;
    for (int32_t i = 0; i < soft->n_driven; i++)
        if (soft->driven[i].input == support->input)
            force[soft->driven[i].coord % 3] += state->reaction[body->first + soft->driven[i].coord];
}
