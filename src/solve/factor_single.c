// SPDX-License-Identifier: Apache-2.0
// Numbers of a factor in single precision: half the bytes and twice the arithmetic of a vector.
#define TD_SINGLE
#include "solve/factor_front.h"
