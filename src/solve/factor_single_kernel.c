// SPDX-License-Identifier: Apache-2.0
// Products and divisions of fronts in single precision: twice as many numbers in a vector.
#define TD_SINGLE
#include "solve/factor_tiles.h"
