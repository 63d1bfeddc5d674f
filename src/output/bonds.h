// SPDX-License-Identifier: Apache-2.0
// Attachments and couplings in the files of a run.
//
//   attachments.csv   of each attachment: NAME.force_x.. [N] on its side a, NAME.torque_x.. [N m] about NAME.x.. [m],
//                     the mean of the points of a
//   couplings.csv     NAME, the effort of each coupling [N], or [N m] where its first joint turns
#pragma once
#include "core/state.h"
#include "output/csv.h"

/// Arrays at a frame.
typedef struct tdBondFrame
{
    double *force, *torque, *point; ///< 3 by attachment
    double *effort;                 ///< by coupling
} tdBondFrame;

/// Takes the arrays. False: no memory.
bool td_bond_frame_take(tdArena *arena, const tdModel *model, tdBondFrame *frame);
/// Those of the last step.
void td_bond_frame(const tdModel *model, const tdState *state, tdBondFrame *frame);

const char *td_coupling_unit(const tdModel *model, int coupling);
void td_attachment_titles(const tdModel *model, tdText *header);
void td_coupling_titles(const tdModel *model, tdText *header);
tdStatus td_attachment_row(tdCsv *table, const tdModel *model, const tdState *state, const tdBondFrame *frame,
                           tdError *error);
tdStatus td_coupling_row(tdCsv *table, const tdModel *model, const tdState *state, const tdBondFrame *frame,
                         tdError *error);
