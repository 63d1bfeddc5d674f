// SPDX-License-Identifier: Apache-2.0
// Triangular solves with eight right-hand sides in single precision: one vector.
#define TD_SINGLE
#include "solve/substitute_panels.h"
