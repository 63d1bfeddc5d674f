// SPDX-License-Identifier: Apache-2.0
// What measure.c needs of lengths; see measure.h.
#pragma once
#include "core/measure.h"

double td_cable_length(const tdMeasure *measure, const double *x);
void td_cable_stiffness(const tdMeasure *measure, const double *x, const double *share, tdStiffnessFn emit,
                        void *context);
