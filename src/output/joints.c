// SPDX-License-Identifier: Apache-2.0
#include "output/joints.h"

#include "body/articulated.h"
#include "output/csv.h"

#include <stdio.h>

// Joint k of body b, NULL: it has no single position.
static const tdLink *joint_of(const tdModel *model, int b, int l)
{
    const tdLink *link = &td_articulated_of(&model->bodies[b])->links[l];
    return link->columns == 1 ? link : NULL;
}

static int links_of(const tdModel *model, int b)
{
    return td_body_is_articulated(&model->bodies[b]) ? td_articulated_of(&model->bodies[b])->n_links : 0;
}

int td_joints(const tdModel *model)
{
    int n = 0;
    for (int b = 0; b < model->n_bodies; b++)
        for (int l = 0; l < links_of(model, b); l++)
            n += joint_of(model, b, l) != NULL;
    return n;
}

void td_joint_titles(const tdModel *model, tdText *header)
{
    char name[512];
    for (int b = 0; b < model->n_bodies; b++)
        for (int l = 0; l < links_of(model, b); l++)
        {
            const tdLink *link = joint_of(model, b, l);
            if (link == NULL)
                continue;
            bool slides = link->kind == TD_JOINT_PRISMATIC;
            snprintf(name, sizeof name, "%s.%s", model->bodies[b].name,
                     td_articulated_of(&model->bodies[b])->tree->links[l].joint);
            td_csv_title(header, name, "", slides ? "m" : "rad");
            td_csv_title(header, name, "_rate", slides ? "m/s" : "rad/s");
        }
}

void td_joint_values(const tdModel *model, const tdState *state, double *values)
{
    for (int b = 0; b < model->n_bodies; b++)
        for (int l = 0; l < links_of(model, b); l++)
        {
            const tdLink *link = joint_of(model, b, l);
            if (link == NULL)
                continue;
            int64_t i = model->bodies[b].first + link->coord;
            *values++ = link->ratio * state->q[i] + link->offset;
            *values++ = link->ratio * state->v[i];
        }
}
