// SPDX-License-Identifier: Apache-2.0
// Which parts of a scene go together: one table, which the parser, the compiler, control and the reference of the scene
// file read.
#pragma once
#include "base/file.h"

typedef enum tdPart
{
    TD_PART_CONTACT,
    TD_PART_BONDS,          ///< attachments, couplings
    TD_PART_INVERSE,        ///< targets of effectors
    TD_PART_MOVED,          ///< nodes that a given effort, or inverse control, moves
    TD_PART_GUIDED,         ///< nodes that inverse control moves
    TD_PART_COULOMB,        ///< contact by solver nlcp
    TD_PART_TURNING,        ///< torsional and rolling friction
    TD_PART_SLEEP,          ///< bodies that sleep
    TD_PART_GIVEN_EFFORT,   ///< stops of an effort that is given
    TD_PART_CABLE_FRICTION, ///< friction of cables
    TD_PART_DISPLACEMENT,   ///< actuators whose displacement is given
    TD_PART_SOFT,           ///< bodies that deform
    TD_PART_BACKWARD_EULER,
    TD_PART_DAMPED,   ///< theta-methods and Newmark's in which a blow dies away
    TD_PART_UNDAMPED, ///< integrators in which it does not: midpoint, symplectic, plain Newmark
    TD_PART_RK4,
    TD_PART_STATIC,
    TD_PARTS
} tdPart;

/// "friction of cables"
const char *td_part_name(tdPart part);
/// NULL: they go together; else why not, and what to do.
const char *td_part_clash(tdPart a, tdPart b);
/// The table, in Markdown.
void td_part_table(tdText *out);
