// SPDX-License-Identifier: Apache-2.0
// What a tool is attached to, in its local model. Points of attachments hold the tool by rows a with the directions E,
// and the tool moves by x, a way and a turn:
//
//     0 = b_a + C_aa lambda_a + C_ac lambda_c + E x
//
// However many points there are, a hand only moves the tool, and feels the sum w = E' lambda_a of what they do. With
// K = E' C_aa^-1 E, the stiffness that the tool finds, that is
//
//     0 = x + K^-1 w + K^-1 E' C_aa^-1 (b_a + C_ac lambda_c)
//
// six rows at most (K may hold the tool in fewer directions), through which contacts c are felt as well. The axes of w
// are those in which these rows and the coupling give way each by itself.
#pragma once
#include "haptic/local.h"
#include "solve/problem.h"

#define TD_LOCAL_BOND_BLOCKS 2 // contacts of a local model that they take the room of, three rows each

/// A row of what the tool is attached to.
typedef struct tdLocalBondRow
{
    int64_t at;                     ///< its row of the dual
    double direction[3], couple[3]; ///< how its effort pushes the tool, and with which torque about its origin
    double R;                       ///< of its law
    double keeps;                   ///< share of its velocity that the body which holds the tool keeps
    double rate;                    ///< as of contacts [m/s]
} tdLocalBondRow;

/// The tool, and all that follows it.
bool td_local_is_tool(const tdLocalMaker *maker, const tdModel *model, int body);
/// Whether a constraint of the step's problem is an attachment that holds the tool.
bool td_local_is_bond(const tdLocalMaker *maker, const tdModel *model, tdOwner owner);
/// Whether the scene has one.
bool td_local_has_bonds(const tdLocalMaker *maker, const tdModel *model);
/// Their rows, once the dual is known, and what they do to the tool. writes  bond_rows, bond_wrench, lever
tdStatus td_local_describe_bonds(tdLocalMaker *maker, const tdModel *model, const tdState *state, tdLocal *local,
                                 tdError *error);
/// W over n contact rows and the rows of bonds, row-major, becomes W over n + 6 rows, and the six become two members.
tdStatus td_local_reduce_bonds(tdLocalMaker *maker, const tdModel *model, const tdLocal *local, int n, const double *W,
                               double **out, tdError *error);
