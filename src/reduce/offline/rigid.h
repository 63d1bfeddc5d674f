// SPDX-License-Identifier: Apache-2.0
// Takes the motion of a body as a whole out of the positions of its nodes,
//
//     q = x + R (X + d)      X: positions at rest from the centre of mass
//
// with R such that sum m X x d = 0 and x such that sum m d = 0 (m: mass): of all rigid motions the one that leaves the
// least sum m |d|^2. Both are linear in d, so that modes made of such d keep them: they carry no momentum and, about
// the shape at rest, no angular momentum.
#pragma once
#include "base/memory.h"
#include "base/status.h"

struct tdSoft;

typedef struct tdRigid
{
    int64_t n_nodes;
    double centre[3];
    double *X;      ///< 3 n_nodes
    double *mX;     ///< mass times X
    double *weight; ///< n_nodes: shares in the mass, their sum is 1
} tdRigid;

tdStatus td_rigid_create(tdArena *arena, const struct tdSoft *soft, tdRigid *out, tdError *error);
void td_rigid_split(const tdRigid *rigid, const double *q, double x[3], double R[9], double *d);

/// Moves positions q as a whole, however far, until six coordinates that hold a body and no more, `held` (ascending or
/// not), stand where they do in `rest`. False: there is no such place near, as of a body that is bent too far.
bool td_rigid_seat(int32_t n_nodes, const double *rest, const int32_t held[6], double *q);
