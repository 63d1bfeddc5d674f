// SPDX-License-Identifier: Apache-2.0
// Triangular solves with four or eight right-hand sides in double precision.
#include "solve/substitute_panels.h"
