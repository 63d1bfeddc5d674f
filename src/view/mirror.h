// SPDX-License-Identifier: Apache-2.0
// How far a reduced body is from full order, point by point: the field "error". A thread of its own takes the same
// steps with the full model, at the actuation that the reduced one had and with the same springs, as fast as it can,
// and compares the shapes of the same step,
//
//     error = | x_full - (x_0 + Phi alpha + Psi u) |
//
// It starts from the reduced shape when somebody asks, and from rest after a reset. Where full order is slower than
// real time it falls behind, and shows the error of a moment that has passed; minutes behind it starts anew. What
// viscoelastic materials remember begins at zero.
#pragma once
#include "view/describe.h"
#include "view/log.h"

typedef struct tdViewMirror tdViewMirror;

/// log: where the simulation writes.
tdStatus td_view_mirror_create(const tdSettings *settings, tdViewLog *log, tdViewMirror **out, tdError *error);
void td_view_mirror_free(tdViewMirror *mirror);
/// The scene whose error is wanted, NULL: none. Costs nothing when it is the same again.
void td_view_mirror_want(tdViewMirror *mirror, tdViewStage *stage);
/// The newest message of the field, once; the caller frees it. False: there is none.
bool td_view_mirror_take(tdViewMirror *mirror, tdText *message);
/// Why there will be none, once; "" if nothing.
void td_view_mirror_why(tdViewMirror *mirror, char *out, size_t size);
