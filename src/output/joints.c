// SPDX-License-Identifier: Apache-2.0
#include "output/joints.h"

#include "core/parts.h"
#include "core/state.h"
#include "output/csv.h"

#include <stdio.h>

static int joints_of(const tdModel *model, int b)
{
    return model->bodies[b].parts != NULL ? model->bodies[b].parts->n_joints : 0;
}

int td_joints(const tdModel *model)
{
    int n = 0;
    for (int b = 0; b < model->n_bodies; b++)
        n += joints_of(model, b);
    return n;
}

void td_joint_titles(const tdModel *model, tdText *header)
{
    char name[512];
    for (int b = 0; b < model->n_bodies; b++)
        for (int k = 0; k < joints_of(model, b); k++)
        {
            const tdBodyJoint *joint = &model->bodies[b].parts->joints[k];
            snprintf(name, sizeof name, "%s.%s", model->bodies[b].name, joint->name);
            td_csv_title(header, name, "", joint->slides ? "m" : "rad");
            td_csv_title(header, name, "_rate", joint->slides ? "m/s" : "rad/s");
        }
}

void td_joint_values(const tdModel *model, const tdState *state, double *values)
{
    for (int b = 0; b < model->n_bodies; b++)
        for (int k = 0; k < joints_of(model, b); k++)
        {
            const tdBodyJoint *joint = &model->bodies[b].parts->joints[k];
            int64_t i = model->bodies[b].first + joint->coord;
            *values++ = joint->ratio * state->q[i] + joint->offset;
            *values++ = joint->ratio * state->v[i];
        }
}
