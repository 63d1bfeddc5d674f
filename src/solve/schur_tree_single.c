// SPDX-License-Identifier: Apache-2.0
// See schur_tree.h: numbers in single precision.
#define TD_SINGLE
#include "solve/schur_tree_numbers.h"
