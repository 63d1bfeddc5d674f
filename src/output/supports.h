// SPDX-License-Identifier: Apache-2.0
// Forces behind prescribed motions: what the nodes that follow one input exert on a body. The force of a
// press is this, not the body's total reaction, in which press and base cancel.
#pragma once
#include "core/state.h"

typedef struct tdSupport
{
    int body, input;
} tdSupport;

/// Named prescribed motions by body. `out` has room for bodies x inputs; returns how many there are.
int td_supports(const tdModel *model, tdSupport *out);
/// "BODY.NAME"
void td_support_name(const tdModel *model, const tdSupport *support, char *out, size_t size);
/// Sum of the reactions [N] on the coordinates that the input drives.
void td_support_force(const tdModel *model, const tdState *state, const tdSupport *support, double force[3]);
