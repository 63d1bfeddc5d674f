// SPDX-License-Identifier: Apache-2.0
// Works out what bodies are coloured by, in a thread of its own, so that neither the simulation nor the frames wait
// for it: a stress needs every element of a mesh of which a reduced body looks at a few. Of viscoelastic materials the
// relaxed stress is shown.
#pragma once
#include "view/describe.h"

typedef struct tdViewPainter tdViewPainter;

tdStatus td_view_painter_create(tdViewPainter **out, tdError *error);
void td_view_painter_free(tdViewPainter *painter);

/// Asks for fields (bits 1 << tdViewField) of a snapshot; false when it is at work still.
bool td_view_painter_ask(tdViewPainter *painter, const tdViewSnapshot *snapshot, unsigned wanted);
/// Hands out what has been asked for when it is done: the message of each field that was wanted, which the caller
/// frees. seconds: that it took.
bool td_view_painter_take(tdViewPainter *painter, tdText messages[TD_VIEW_FIELD_KINDS], double *seconds);
