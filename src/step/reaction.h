// SPDX-License-Identifier: Apache-2.0
// Forces from outside on the parts of a body, as the last step had them: what is left of a change of momentum when they
// are counted is what supports and joints bear.
#pragma once
#include "core/model.h"

/// A force f [N] at the place x [m] of a part, where it is now, with a torque [N m] (NULL: none).
typedef void tdLoadVisit(void *context, int part, const double x[3], const double f[3], const double *torque);

/// All but gravity, of a body with parts: contacts, attachments and rods, cables and forces, springs.
void td_part_loads(const tdModel *model, const tdState *state, int body, tdLoadVisit *visit, void *context);
