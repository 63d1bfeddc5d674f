// SPDX-License-Identifier: Apache-2.0
// Friction of cables in a step of one linearization. The sense of sliding, -1..1, turns round over the slip distance: a
// spring between the cable and its guides that is as stiff as the slip is short. Where the force is given, taking it at
// the start of the step would let it swing from one side to the other. It is taken at the end:
//
//     slide = clamp(slide_start + (travel - travel_start) / slip),   travel = travel(v) + c J A^-1 b (slide -
//     slide_now)
//
// with b = s effort dF/dslide. Where the displacement is given, the travel is known and nothing swings.
#pragma once
#include "constraint/constraint.h"

/// reads rows, A, dv      writes dv, m, slide
tdStatus td_friction_end(const tdModel *model, tdState *state);
