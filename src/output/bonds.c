// SPDX-License-Identifier: Apache-2.0
#include "output/bonds.h"

#include <stdlib.h>
#include <string.h>

bool td_bond_frame_take(tdArena *arena, const tdModel *model, tdBondFrame *frame)
{
    int64_t n = td_model_attachments(model);
    frame->force = TD_TAKE(arena, double, 3 * n + 1);
    frame->torque = TD_TAKE(arena, double, 3 * n + 1);
    frame->point = TD_TAKE(arena, double, 3 * n + 1);
    frame->effort = TD_TAKE(arena, double, td_model_couplings(model) + 1);
    return frame->force != NULL && frame->torque != NULL && frame->point != NULL && frame->effort != NULL;
}

void td_bond_frame(const tdModel *model, const tdState *state, tdBondFrame *frame)
{
    for (int i = 0; i < td_model_attachments(model); i++)
        td_state_attachment_force(state, i, frame->force + 3 * (int64_t)i, frame->torque + 3 * (int64_t)i,
                                  frame->point + 3 * (int64_t)i);
    for (int i = 0; i < td_model_couplings(model); i++)
        frame->effort[i] = td_state_coupling_effort(state, i);
}

const char *td_coupling_unit(const tdModel *model, int coupling)
{
    const tdSceneCoupling *given = &model->scene.couplings[coupling];
    if (given->n_terms == 0)
        return "N";
    const tdTreeLink *link = &model->scene.bodies[given->terms[0].body].tree->links[given->terms[0].joint];
    return link->kind == TD_JOINT_PRISMATIC ? "N" : "N m";
}

// NAME.force_x and so on, in the order of the rows.
static const struct
{
    const char *suffix, *unit;
} columns[9] = {{".force_x", "N"},    {".force_y", "N"}, {".force_z", "N"}, {".torque_x", "N m"}, {".torque_y", "N m"},
                {".torque_z", "N m"}, {".x", "m"},       {".y", "m"},       {".z", "m"}};

void td_attachment_titles(const tdModel *model, tdText *header)
{
    for (int i = 0; i < td_model_attachments(model); i++)
        for (int k = 0; k < 9; k++)
            td_csv_title(header, td_model_attachment_name(model, i), columns[k].suffix, columns[k].unit);
}

void td_coupling_titles(const tdModel *model, tdText *header)
{
    for (int i = 0; i < td_model_couplings(model); i++)
        td_csv_title(header, td_model_coupling_name(model, i), "", td_coupling_unit(model, i));
}

tdStatus td_attachment_row(tdCsv *table, const tdModel *model, const tdState *state, const tdBondFrame *frame,
                           tdError *error)
{
    int n = td_model_attachments(model);
    double *row = calloc(9 * (size_t)n + 1, sizeof *row);
    if (row == NULL)
        return td_fail_memory(error, "the table of attachments");
    for (int i = 0; i < n; i++)
    {
        memcpy(row + 9 * (int64_t)i, frame->force + 3 * (int64_t)i, 3 * sizeof *row);
        memcpy(row + 9 * (int64_t)i + 3, frame->torque + 3 * (int64_t)i, 3 * sizeof *row);
        memcpy(row + 9 * (int64_t)i + 6, frame->point + 3 * (int64_t)i, 3 * sizeof *row);
    }
    tdStatus status = td_csv_row(table, state->steps, state->time, 9 * n, row, error);
    free(row);
    return status;
}

tdStatus td_coupling_row(tdCsv *table, const tdModel *model, const tdState *state, const tdBondFrame *frame,
                         tdError *error)
{
    return td_csv_row(table, state->steps, state->time, td_model_couplings(model), frame->effort, error);
}
