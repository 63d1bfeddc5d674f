// SPDX-License-Identifier: Apache-2.0
// What is kept at points.
#pragma once
#include "body/soft.h"

/// td_soft_take_points() without F and R, which the caller has taken.
bool td_soft_take_history(tdArena *arena, const tdSoft *domain, tdSoftState *points);
