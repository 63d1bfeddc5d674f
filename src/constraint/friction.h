// SPDX-License-Identifier: Apache-2.0
// Friction of cables in a linearization. The sense of sliding, -1..1, turns round over the slip distance: a spring
// between the cable and its guides that is as stiff as the slip is short. Where the force is given it has to be found
// with the motion; taken at the start of a step it would swing from one side to the other. With b = s effort dF/dslide
//
//     slide = clamp(slide_start + (travel - travel_start) / slip),   travel = travel(v) + c J A^-1 b (slide -
//     slide_now)
//
// one cable after the other. Where the displacement is given, the travel is known.
#pragma once
#include "constraint/constraint.h"

/// reads rows, A, dv      writes dv, m, slide. *slid: whether there is such a cable.
tdStatus td_friction_solve(const tdModel *model, tdState *state, bool *slid);
