// SPDX-License-Identifier: Apache-2.0
// Friction of cables in a linearization. Rows of the problem push as they measure, by J'. A cable with friction pushes
// by F', which differs by what its guides take:
//
//     effort is given       F changes with the sense of sliding, -1..1, which turns round over the slip distance: a
//                           spring between the cable and its guides that is as stiff as the slip is short. It has to be
//                           found with the motion; taken at the start of a step it would swing from side to side.
//                           With b = s effort dF/dslide and Y = A^-1 b
//                               slide = clamp(slide_start + (travel - travel_start) / slip)
//                               travel = travel(v) + c J Y (slide - slide_now)
//     effort is unknown     beside contact the problem finds it with J'; s (F - J)' times its change is left over.
//                           Without contact its column is made with F, and nothing is left
//
// Both are part of the free motion, and the problem is solved again until nothing changes: friction takes a share of a
// tension, so that each round leaves a part of the change before.
#pragma once
#include "constraint/constraint.h"

tdStatus td_friction_create(const tdModel *model, tdState *state, tdError *error);
/// Whether a cable slides whose effort is given in this step.
bool td_friction_slides(const tdModel *model, const tdState *state);
/// After the free motion, before the problem.
/// reads rows, A, dv, m
tdStatus td_friction_start(const tdModel *model, tdState *state);
/// After a solution: whether friction has changed by it. Then dv and m are the free motion with that friction, and
/// efforts are what they were, so that the problem can be solved again; else all is as it was left.
/// reads dv      writes slide
bool td_friction_changed(const tdModel *model, tdState *state, int round);
