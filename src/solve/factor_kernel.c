// SPDX-License-Identifier: Apache-2.0
// Products and divisions of fronts in double precision.
#include "solve/factor_tiles.h"
